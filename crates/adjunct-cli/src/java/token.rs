//! The token that a SunPKCS11 configuration names: by its place, by its label, or the one that keeps keys.

use super::choose;
use adjunct_pkcs11::ACCELERATOR;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Module, Rv};
use adjunct_survey::module::is_own_pkcs11;
use adjunct_tool::Failure;
use adjunct_ztools::pkcsconf::show;
use std::path::Path;

/// The options of the command line about the token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Its place in the module's list.
    pub index: Option<u32>,
    /// Its label.
    pub label: Option<&'a str>,
    /// Whether keys are stored in the token.
    pub keys: bool,
}

/// A token of the module.
#[derive(Debug)]
struct Token {
    /// The slot's place in the module's list, tokens or not, which Java counts by.
    place: usize,
    slot: CK_SLOT_ID,
    label: String,
    /// Whether the token may keep keys.
    keeps: bool,
}

/// The line of the configuration that chooses the token.
///
/// # Errors
/// [`Failure`]: no token is meant, or several are; it says which there are.
pub(super) fn line(module: &Path, wanted: Wanted<'_>) -> Result<String, Failure> {
    if wanted.index.is_some() || (wanted.label.is_none() && !wanted.keys) {
        return Ok(choose::slot(module, wanted.index));
    }
    let own = is_own_pkcs11(module);
    let token = chosen(tokens(module, own)?, wanted.label, own).map_err(Failure::new)?;
    // Our slots' numbers stay; another module's may be new at each start, as the list may.
    Ok(if own { format!("slot = {}", token.slot) } else { format!("slotListIndex = {}", token.place) })
}

fn chosen(tokens: Vec<Token>, label: Option<&str>, own: bool) -> Result<Token, String> {
    let fits = |token: &Token| label.map_or(token.keeps, |label| token.label == label);
    let (mut fitting, others): (Vec<Token>, Vec<Token>) = tokens.into_iter().partition(fits);
    let labels = |tokens: &[Token]| tokens.iter().map(|t| format!("'{}'", t.label)).collect::<Vec<_>>().join(", ");
    match (fitting.len(), label) {
        (1, _) => Ok(fitting.remove(0)),
        (0, Some(label)) if others.is_empty() => Err(format!("--token {label}: the module has no token")),
        (0, Some(label)) => Err(format!("--token {label}: the module has no such token; it has {}", labels(&others))),
        (_, Some(label)) => {
            Err(format!("--token {label}: several tokens have that label; --slot-index tells them apart"))
        }
        (0, None) if own => {
            Err("--token-keys: no token keeps keys yet; 'adjunct token init --label NAME' makes one".to_owned())
        }
        (0, None) => Err("--token-keys: the module has no token that is initialized".to_owned()),
        (_, None) => Err(format!("--token-keys: several tokens keep keys; say which by --token: {}", labels(&fitting))),
    }
}

/// The module's tokens.
fn tokens(path: &Path, own: bool) -> Result<Vec<Token>, Failure> {
    let failed =
        |why: &str| Failure::new(format!("{}: {why}; --slot-index needs no look at its tokens", path.display()));
    let refused = |Rv(rv): Rv| failed(show::return_value(rv));
    let mut module = Module::load(path).map_err(|e| failed(&e.to_string()))?;
    module.initialize().map_err(refused)?;
    let mut tokens = Vec::new();
    for (place, slot) in module.slots(false).map_err(refused)?.into_iter().enumerate() {
        let Ok(info) = module.token_info(slot) else { continue };
        let accelerator = own && slot == ACCELERATOR;
        let keeps = info.flags & CKF_TOKEN_INITIALIZED != 0 && !accelerator;
        tokens.push(Token { place, slot, label: show::text(&info.label).trim_end().to_owned(), keeps });
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_taken_and_of_several_the_labels_are_told() {
        let all = |labels: &[(&str, bool)]| {
            let token = |(place, &(label, keeps)): (usize, &(&str, bool))| Token {
                place,
                slot: 7 + place as CK_SLOT_ID,
                label: label.to_owned(),
                keeps,
            };
            labels.iter().enumerate().map(token).collect::<Vec<_>>()
        };
        let slot = |labels: &[(&str, bool)], label| chosen(all(labels), label, true).map(|token| token.slot);
        assert_eq!(slot(&[("icatok", false), ("web", true)], None), Ok(8));
        assert_eq!(slot(&[("icatok", false), ("web", true)], Some("icatok")), Ok(7));
        let two = [("a", true), ("icatok", false), ("b", true)];
        assert_eq!(slot(&two, Some("b")), Ok(9));
        let told = slot(&two, None).unwrap_err();
        assert!(told.ends_with("say which by --token: 'a', 'b'"), "{told}");
        let told = slot(&two, Some("c")).unwrap_err();
        assert!(told.ends_with("it has 'a', 'icatok', 'b'"), "{told}");
        assert!(slot(&[("icatok", false)], None).unwrap_err().contains("adjunct token init"));
        assert!(slot(&[("a", true), ("a", true)], Some("a")).unwrap_err().contains("--slot-index"));
    }
}
