//! The engine that the module registers when its section says so: for the low-level RSA and EC functions, which no
//! provider ever sees.

use super::{EnableArgs, Target};
use adjunct::config::engine_methods;
use adjunct_openssl_conf::State;
use adjunct_survey::programs;
use adjunct_tool::Failure;
use std::path::Path;

/// The engine's functions where the command line names none: those that the programs of the target call, or, for all programs, those that each calls
/// by itself.
fn usual(target: Target) -> &'static str {
    match target {
        Target::All => "auto",
        Target::Sshd | Target::Ssh => "RSA,EC",
    }
}

/// The value of `engine =` to write, and a note about it for the user.
pub(super) fn choose(args: &EnableArgs, state: Option<&State>) -> Result<(Option<String>, Option<String>), Failure> {
    if args.no_engine {
        return Ok((None, None));
    }
    let words = args.engine.as_deref().map(keywords).transpose()?.unwrap_or_else(|| usual(args.target).to_owned());
    if state.is_some_and(|s| s.engines.iter().any(|id| id == b"adjunct")) {
        let note = "adjunct's engine has a section of its own in this configuration, which is left as it is";
        return Ok((None, Some(note.to_owned())));
    }
    if !programs::has_engines() {
        let note =
            "this OpenSSL has no engines: the provider serves what goes through EVP, nothing else can be reached";
        return Ok((None, Some(note.to_owned())));
    }
    Ok((Some(words), None))
}

/// The keywords as they are written into the file.
fn keywords(list: &str) -> Result<String, Failure> {
    let (methods, errors) = adjunct::config::engine(list);
    if let Some(error) = errors.first() {
        return Err(Failure::Words(error.to_string()));
    }
    let words = engine_methods::ALL.iter().filter(|(method, _)| methods & method != 0).map(|(_, word)| *word);
    let words: Vec<&str> = words.collect();
    if words.is_empty() {
        return Err(Failure::Words("--engine: no keyword given; known: auto ALL RSA EC DH RAND".to_owned()));
    }
    Ok(words.join(","))
}

/// The groups that a configuration has the module's engine serve.
pub(super) fn of(state: &State) -> Option<String> {
    let value = state.adjunct.as_ref()?.engine.as_deref()?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Whether the engine is registered in every program: `openssl engine` shows no other.
pub(super) fn named(words: &str) -> bool {
    adjunct::config::engine(words).0 & !engine_methods::AUTO != 0
}

/// Whether OpenSSL has adjunct's engine under a configuration.
///
/// # Errors
/// Why not.
pub(super) fn registered(config: &Path) -> Result<String, String> {
    let outcome = programs::openssl(&["engine", "adjunct"], Some(config))?;
    let text = outcome.text();
    match text.lines().find(|line| line.starts_with("(adjunct)")) {
        Some(line) => Ok(line.to_owned()),
        None if !programs::has_engines() => Err("this OpenSSL has no engines".to_owned()),
        None => Err("the module registers none".to_owned()),
    }
}

/// A note where the engine that a configuration asks for is not registered.
pub(super) fn missing(state: &State, config: &Path) -> Option<String> {
    of(state).filter(|words| named(words))?;
    registered(config).err().map(|why| format!("the engine is not there: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_written_in_one_way() {
        assert_eq!(keywords("ec, rsa").unwrap(), usual(Target::Sshd));
        assert_eq!(keywords("AUTO").unwrap(), usual(Target::All));
        assert_eq!(keywords("all").unwrap(), "RSA,EC,DH,RAND");
        assert!(keywords("digests").unwrap_err().to_string().contains("'DIGESTS' is refused"));
        assert!(keywords("DSA").unwrap_err().to_string().contains("'DSA'"));
        assert!(keywords(" ").is_err());
    }
}
