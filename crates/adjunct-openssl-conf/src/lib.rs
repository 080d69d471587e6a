//! OpenSSL's configuration format (config(5)): read as OpenSSL reads it, edited without touching a byte that was there.
//!
//! All that adjunct needs stands in one block at the end of the file. That is enough, because a section may be opened
//! again and the last value of a name wins; so the edit is an addition, and taking the block away gives the file back byte
//! for byte, even after the user has edited the rest.
//!
//! * `lexer`: physical lines to statements, with OpenSSL's quirks.
//! * `expand`: quotes, escapes, variables.
//! * [`Model`]: what OpenSSL would know after reading the file, where each value stands, and what of it is certain.
//! * `groups`: lists of TLS groups.
//! * `plan`: what the block must say, or why the file cannot be edited safely.
//! * `block`: adding and removing it.

#![forbid(unsafe_code)]

mod block;
mod expand;
mod groups;
mod lexer;
mod model;
mod plan;
mod property;
mod refused;

pub use block::{append, contains_block, is_original, strip};
pub use groups::TlsGroups;
pub use model::{Entry, Includes, Model, NoIncludes, Place};
pub use plan::{Options, ProviderState, State, state};
pub use refused::Refused;

/// The file `config` with adjunct enabled. Stripped again by [`strip`] it is `config`, byte for byte.
///
/// # Errors
/// [`Refused`] where the file cannot be edited safely; nothing is to be written then.
pub fn enable(config: &[u8], options: &Options, includes: &dyn Includes) -> Result<Vec<u8>, Refused> {
    if contains_block(config) {
        return Err(Refused::AlreadyEnabled);
    }
    let model = Model::read(config, includes)?;
    let lines = plan::block_lines(&model, options)?;
    let edited = block::append(config, &lines);
    // The proof of the edit: read the result as OpenSSL will, and see that it says what was meant.
    let result = state(&Model::read(&edited, includes)?);
    let module_is_ours =
        result.adjunct.as_ref().is_some_and(|a| a.module.as_deref() == Some(options.module().as_bytes()));
    let groups = options.groups().is_none_or(|groups| {
        let text = result.groups.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        groups.names().iter().all(|name| text.contains(name))
    });
    if !result.works() || !module_is_ours || !groups {
        return Err(Refused::NoEffect);
    }
    Ok(edited)
}

/// The line that includes the file `path`.
pub fn include(path: &str) -> String {
    format!(".include {}", expand::escape(path))
}

/// [`enable`] with a module path and no included files, for fuzzing and tests.
///
/// # Errors
/// As [`enable`].
pub fn edit_enable(config: &[u8]) -> Result<Vec<u8>, Refused> {
    enable(config, &Options::new("/usr/lib/ossl-modules/adjunct.so", None), &NoIncludes)
}

/// The file without adjunct's block, if it has one: what `disable` writes.
///
/// # Errors
/// [`Refused::Damaged`] where a block has no end.
pub fn edit_disable(config: &[u8]) -> Result<Option<Vec<u8>>, Refused> {
    strip(config)
}

#[cfg(test)]
mod tests;
