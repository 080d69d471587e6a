//! How a card comes to its state: out of a vault that something opens, or new and in memory alone.

use adjunct_card_state::coprocessor::{Coprocessor, Seal};
use adjunct_coprocessor::audit::{Detail, Log};
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::roles::{Caller, Rules};
use adjunct_coprocessor::seal::{Method, Opener};
use adjunct_coprocessor::state::State;
use adjunct_coprocessor::vault;
use adjunct_ep11_module::admin::{initial_points, kept};
use adjunct_ep11_module::keys::Keys;
use adjunct_ep11_module::{Module, Settings};
use adjunct_tpm::Tpm;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The folder in which systemd gives credentials.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// A card whose state is there.
pub struct Open {
    pub keeper: Arc<Keeper>,
    pub module: Module,
}

/// A card before its state is there.
pub struct Closed {
    pub card: u8,
    pub domains: Vec<u8>,
    pub settings: Coprocessor,
    pub vault: File,
    pub audit: File,
}

/// The method of a setting.
pub fn method(seal: Seal) -> Method {
    match seal {
        Seal::None => Method::Volatile,
        Seal::Passphrase => Method::Passphrase,
        Seal::Credential => Method::Credential,
        Seal::Tpm => Method::Tpm,
    }
}

/// The credential of a card.
fn credential(card: u8) -> Result<Zeroizing<Vec<u8>>, String> {
    let name = format!("ep11-{card:02x}");
    let folder = std::env::var_os(CREDENTIALS).map(PathBuf::from).ok_or_else(|| {
        format!("systemd has given no credentials: the unit needs LoadCredentialEncrypted={name}:FILE (systemd-creds encrypt)")
    })?;
    let path = folder.join(name);
    std::fs::read(&path).map(Zeroizing::new).map_err(|error| format!("credential {}: {error}", path.display()))
}

impl Closed {
    /// Whether somebody has to enter a passphrase.
    pub fn waits(&self) -> bool {
        self.settings.seal == Seal::Passphrase
    }

    /// Whether there is a vault already; so that an other setting than before does not begin a new one beside it.
    pub fn is_sealed(&self) -> Result<Option<Method>, String> {
        vault::method(&self.vault).map_err(|error| format!("the vault: {error}"))
    }

    /// Opens the state by what the settings say; a passphrase is given.
    ///
    /// # Errors
    /// Why not: a sentence's end.
    pub fn open(&self, passphrase: Option<&[u8]>) -> Result<Open, String> {
        let wanted = method(self.settings.seal);
        if let Some(found) = self.is_sealed()?.filter(|&found| found != wanted) {
            return Err(format!(
                "the vault is sealed by {}, and cards.conf says seal = \"{}\"",
                found.by(),
                self.settings.seal.word()
            ));
        }
        let copy = |file: &File| file.try_clone().map_err(|error| error.to_string());
        let log = Log::open(copy(&self.audit)?).map_err(|error| format!("the audit log: {error}"))?;
        let new = || kept::initial(self.domains.iter().copied());
        if self.settings.seal == Seal::None {
            return self.with(Keeper::volatile(new(), Some(log)));
        }
        let open = |opener: &Opener<'_>, tpm| {
            let vault = copy(&self.vault)?;
            Keeper::open(vault, opener, Some(log), tpm, new()).map_err(|error| format!("the vault: {error}"))
        };
        let keeper = match self.settings.seal {
            Seal::None => return Err("there is no vault".to_owned()),
            Seal::Passphrase => {
                let opener = passphrase.and_then(Opener::passphrase).ok_or("the passphrase is empty")?;
                open(&opener, None)?
            }
            Seal::Credential => {
                let secret = credential(self.card)?;
                let opener = Opener::credential(&secret).ok_or("the credential has fewer than 16 bytes")?;
                open(&opener, None)?
            }
            Seal::Tpm => {
                let tpm = Tpm::new(self.settings.tpm.as_ref().map(PathBuf::from));
                let connection = tpm.connect().map_err(|fault| format!("the TPM {}: {fault}", tpm.path().display()))?;
                let connection = Arc::new(connection);
                open(&Opener::Tpm(&connection), Some(Arc::clone(&connection)))?
            }
        };
        self.with(keeper)
    }

    fn with(&self, keeper: Keeper) -> Result<Open, String> {
        let (keeper, us) = (Arc::new(keeper), caller());
        let missing: Vec<u8> = keeper
            .read(|state| self.domains.iter().copied().filter(|&domain| state.domain(domain).is_none()).collect());
        if !missing.is_empty() {
            let points = ControlPoints::from_bytes(initial_points().0);
            let make = |state: &mut State| {
                missing.iter().for_each(|&domain| _ = state.domain_or_new(domain, points));
                Ok::<(), String>(())
            };
            keeper.change(&us, None, "domains-made", make).map_err(|error| error.to_string())?;
        }
        let detail = Detail::from_iter([("seal".to_owned(), self.settings.seal.word().into())]);
        keeper.note(&us, None, "start", "done", detail, true).map_err(|error| format!("the audit log: {error}"))?;
        let rules = self.rules();
        let kept: Arc<dyn Keys> = Arc::new(kept::Kept::new(Arc::clone(&keeper), move |_| rules));
        let settings = Settings { cached_keys: self.settings.keys, sessions: self.settings.sessions };
        Ok(Open { keeper, module: Module::new(kept, settings) })
    }

    /// Who may load and set wrapping keys.
    pub fn rules(&self) -> Rules {
        let group = |at: usize| self.settings.groups[at].as_ref().and_then(|group| group.parse().ok());
        let owner = Some(caller().uid);
        let [first, middle, last, set] = [0, 1, 2, 3].map(group);
        Rules { first, middle, last, set, distinct: self.settings.dual_control, owner }
    }
}

/// The card itself, as the audit log names it.
pub fn caller() -> Caller {
    Caller { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw(), groups: Vec::new() }
}
