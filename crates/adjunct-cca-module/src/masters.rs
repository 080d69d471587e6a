//! Master keys, as verbs see them.

use crate::error::{Fault, Result, fail};
use crate::pattern::{self, Mkvp};
use crate::wrap::Wrapper;
use adjunct_cca_wire::code::Code;
use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::{Kind, MasterKey, Registers};
use adjunct_coprocessor::roles::Rules;
use adjunct_coprocessor::state::{Domain as Kept, State};
use adjunct_coprocessor::unit::Setting;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The setting of a domain that has the access control points that are off: a bit for each, the first of a byte the most significant. Without it all are on.
pub const POINTS_OFF: u32 = 0x0100;

/// A master key, made ready.
pub struct Master {
    key: Arc<MasterKey>,
    mkvp: Mkvp,
    /// Of a SYM master key.
    wrapper: Option<Wrapper>,
}

adjunct::opaque_debug!(Master);

impl Master {
    fn new(key: &Arc<MasterKey>) -> Result<Master> {
        let secret = key.secret();
        let (mkvp, wrapper) = match (key.kind(), secret.first_chunk()) {
            (Kind::Sym, Some(secret)) => (pattern::of_sym(secret)?, Some(Wrapper::new(secret)?)),
            _ => (pattern::of_long(secret), None),
        };
        Ok(Master { key: key.clone(), mkvp, wrapper })
    }

    /// The pattern that tokens have.
    #[must_use]
    pub fn mkvp(&self) -> Mkvp {
        self.mkvp
    }

    /// The bytes.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        self.key.secret()
    }

    /// What wraps DES keys.
    ///
    /// # Errors
    /// 16/336 for a key of another kind: a defect.
    pub fn wrapper(&self) -> Result<&Wrapper> {
        self.wrapper.as_ref().ok_or(Fault(Code::INTERNAL))
    }
}

/// The registers of a kind.
#[derive(Debug, Default)]
pub struct Set {
    /// The key in use.
    pub current: Option<Master>,
    /// The key before.
    pub old: Option<Master>,
    /// The key that comes, where it is whole.
    pub new: Option<Master>,
    /// Whether the register of the new key has parts of one.
    pub partial: bool,
}

impl Set {
    fn of(registers: Option<&Registers>) -> Result<Set> {
        let Some(registers) = registers else { return Ok(Set::default()) };
        let master = |key: Option<&Arc<MasterKey>>| key.map(Master::new).transpose();
        let new = master(registers.next().and_then(|next| next.key()))?;
        let partial = registers.next().is_some() && new.is_none();
        Ok(Set { current: master(registers.current())?, old: master(registers.old())?, new, partial })
    }

    /// The key that new tokens are wrapped by.
    ///
    /// # Errors
    /// 12/764.
    pub fn sealing(&self) -> Result<&Master> {
        self.current.as_ref().ok_or(Fault(Code::NO_MASTER_KEY))
    }

    /// The key that a token with such a pattern is opened by, and whether it is the old one.
    ///
    /// # Errors
    /// 12/764 where no key is in use; 8/48, for the new one's pattern too.
    pub fn opening(&self, mkvp: &Mkvp) -> Result<(&Master, bool)> {
        let current = self.sealing()?;
        if current.mkvp == *mkvp {
            return Ok((current, false));
        }
        match &self.old {
            Some(old) if old.mkvp == *mkvp => Ok((old, true)),
            _ => fail(Code::MASTER_KEY_PATTERN),
        }
    }
}

/// What a domain has at a moment.
#[derive(Debug, Default)]
pub struct Domain {
    /// What wraps DES keys.
    pub sym: Set,
    /// What wraps old forms of RSA keys.
    pub asym: Set,
    /// What wraps AES and HMAC keys.
    pub aes: Set,
    /// What wraps RSA and ECC keys.
    pub apka: Set,
    off: Vec<u8>,
}

impl Domain {
    fn of(domain: &Kept) -> Result<Domain> {
        let set = |kind| Set::of(domain.registers(kind));
        let off = match domain.unit.setting(POINTS_OFF) {
            Some(Setting::Bytes(off)) => off.clone(),
            _ => Vec::new(),
        };
        Ok(Domain { sym: set(Kind::Sym)?, asym: set(Kind::Asym)?, aes: set(Kind::Aes)?, apka: set(Kind::Apka)?, off })
    }

    /// Checks an access control point.
    ///
    /// # Errors
    /// 8/90 where it is off.
    pub fn allows(&self, point: u16) -> Result {
        let off = self.off.get(usize::from(point / 8)).is_some_and(|byte| byte & (0x80 >> (point % 8)) != 0);
        if off { fail(Code::ACCESS) } else { Ok(()) }
    }
}

/// The domains of a state, made ready when they are first asked for.
struct Ready {
    of: Arc<State>,
    domains: BTreeMap<u8, Arc<Domain>>,
}

/// The domains of a card, by who keeps them.
pub struct Masters {
    keeper: Arc<Keeper>,
    rules: Rules,
    ready: RwLock<Option<Ready>>,
}

adjunct::opaque_debug!(Masters);

impl Masters {
    /// The domains of a keeper, and who may load and set master keys.
    #[must_use]
    pub fn new(keeper: Arc<Keeper>, rules: Rules) -> Masters {
        Masters { keeper, rules, ready: RwLock::new(None) }
    }

    /// Who keeps the state.
    #[must_use]
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Who may load and set.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A domain as it is now.
    ///
    /// # Errors
    /// 12/764 where it has not been made.
    pub fn domain(&self, number: u8) -> Result<Arc<Domain>> {
        let state = self.keeper.state();
        {
            let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
            let same = ready.as_ref().filter(|ready| Arc::ptr_eq(&ready.of, &state));
            if let Some(domain) = same.and_then(|ready| ready.domains.get(&number)) {
                return Ok(domain.clone());
            }
        }
        let domain = Arc::new(Domain::of(state.domain(number).ok_or(Fault(Code::NO_MASTER_KEY))?)?);
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *ready {
            Some(ready) if Arc::ptr_eq(&ready.of, &state) => drop(ready.domains.insert(number, domain.clone())),
            other => *other = Some(Ready { of: state, domains: BTreeMap::from([(number, domain.clone())]) }),
        }
        Ok(domain)
    }
}
