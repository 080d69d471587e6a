//! The token that is measured: one that is there, or one that is made in a folder of its own.

use crate::Error;
use adjunct_cli::bench::pkcs11::Wanted;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Module, Rv, Session};
use std::path::{Path, PathBuf};

/// Label of tokens that are made for a run.
const LABEL: &str = "adjunct-bench";
const SO_PIN: &[u8] = b"87654321";
const PIN: &[u8] = b"12345678";

/// A token, and the PIN of its user.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token's slot.
    pub slot: CK_SLOT_ID,
    pin: Vec<u8>,
    /// Whether a login is needed.
    locked: bool,
}

/// The error of a call that was needed.
pub(super) fn failed(call: &str, error: Rv) -> Error {
    Error::Operation(format!("{call}: {:#x}", error.0))
}

/// Writes the configurations by which modules that are known keep their tokens in `folder`; the variables of the environment that lead
/// there.
///
/// # Errors
/// [`Error::Io`].
pub fn apart(folder: &Path) -> Result<Vec<(&'static str, PathBuf)>, Error> {
    let (soft, kryoptic, own) = (folder.join("softhsm2.conf"), folder.join("kryoptic.conf"), folder.join("own"));
    let tokens = folder.join("softhsm");
    std::fs::create_dir_all(&tokens).and_then(|()| std::fs::create_dir_all(&own)).map_err(Error::Io)?;
    let text = format!("directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n", tokens.display());
    std::fs::write(&soft, text).map_err(Error::Io)?;
    let database = folder.join("kryoptic.sql");
    let text = format!("[[slots]]\nslot = 0\ndbtype = \"sqlite\"\ndbargs = \"{}\"\n", database.display());
    std::fs::write(&kryoptic, text).map_err(Error::Io)?;
    Ok(vec![
        ("SOFTHSM2_CONF", soft),
        ("KRYOPTIC_CONF", kryoptic),
        ("XDG_DATA_HOME", own.clone()),
        ("XDG_CONFIG_HOME", own),
    ])
}

impl Token {
    /// The token that was asked for; else the one of an earlier process of this run; else the first that is not initialized, which is done here.
    ///
    /// # Errors
    /// [`Error::Operation`] where there is none, or it cannot be initialized.
    pub fn ready(module: &Module, wanted: &Wanted) -> Result<Token, Error> {
        if let Some(slot) = wanted.slot {
            let info = module.token_info(slot).map_err(|e| failed("C_GetTokenInfo", e))?;
            let pin = wanted.pin.clone().map_or_else(|| PIN.to_vec(), String::into_bytes);
            return Ok(Token { slot, pin, locked: info.flags & CKF_LOGIN_REQUIRED != 0 });
        }
        if let Some(slot) = labelled(module)? {
            return Ok(Token { slot, pin: PIN.to_vec(), locked: true });
        }
        let slots = module.slots(true).map_err(|e| failed("C_GetSlotList", e))?;
        let fresh =
            |slot: &CK_SLOT_ID| module.token_info(*slot).is_ok_and(|info| info.flags & CKF_TOKEN_INITIALIZED == 0);
        let none = "it has no token that nobody has initialized: name the slot, as in --module PATH,slot=N,pin=PIN";
        let slot = slots.into_iter().find(fresh).ok_or_else(|| Error::Operation(none.to_owned()))?;
        let mut label = [b' '; 32];
        label[..LABEL.len()].copy_from_slice(LABEL.as_bytes());
        module.init_token(slot, SO_PIN, label).map_err(|e| failed("C_InitToken", e))?;
        let gone = || Error::Operation("the token that was initialized is not there".to_owned());
        let slot = labelled(module)?.ok_or_else(gone)?;
        let session = module.open_session(slot).map_err(|e| failed("C_OpenSession", e))?;
        session.login(CKU_SO, SO_PIN).map_err(|e| failed("C_Login", e))?;
        session.init_pin(PIN).map_err(|e| failed("C_InitPIN", e))?;
        session.logout().map_err(|e| failed("C_Logout", e))?;
        session.close().map_err(|e| failed("C_CloseSession", e))?;
        Ok(Token { slot, pin: PIN.to_vec(), locked: true })
    }

    /// Logs the token's user in, where a login is needed.
    ///
    /// # Errors
    /// What the module returns.
    pub fn login(&self, session: &Session<'_>) -> Result<(), Rv> {
        if self.locked { session.login(CKU_USER, &self.pin) } else { Ok(()) }
    }
}

/// The slot of a token that an earlier process of this run has made.
fn labelled(module: &Module) -> Result<Option<CK_SLOT_ID>, Error> {
    let slots = module.slots(true).map_err(|e| failed("C_GetSlotList", e))?;
    let ours = |slot: &CK_SLOT_ID| module.token_info(*slot).is_ok_and(|info| info.label.starts_with(LABEL.as_bytes()));
    Ok(slots.into_iter().find(ours))
}
