//! The state of a card, kept by the coprocessor's keeper, as the module asks for it.

use super::login::Logins;
use super::reason::{Done, Refused};
use super::{Administration, initial_points, role};
use crate::context::Caller;
use crate::control::Points;
use crate::keys::{Domain, Keys, WrappingKey};
use adjunct_coprocessor::audit::{Chain, Detail};
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::keeper::{Change, Keeper};
use adjunct_coprocessor::registers::{Kind, MasterKey, Next};
use adjunct_coprocessor::roles::Rules;
use adjunct_coprocessor::state::{self, Mode, State};
use adjunct_ep11_wire::codes::rv;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Domains as the module has them, of one state.
struct Derived {
    of: Arc<State>,
    domains: HashMap<u8, Domain>,
}

/// A card's state, and what the settings say of its domains.
pub struct Kept {
    keeper: Arc<Keeper>,
    rules: Box<dyn Fn(u8) -> Rules + Send + Sync>,
    card: Option<u8>,
    logins: Logins,
    derived: RwLock<Option<Derived>>,
}

adjunct::opaque_debug!(Kept);

/// The state of a new card with such domains, which have no wrapping key.
#[must_use]
pub fn initial(domains: impl IntoIterator<Item = u8>) -> State {
    let points = ControlPoints::from_bytes(initial_points().0);
    let mut state = State::new(Mode::Ep11, points);
    for domain in domains {
        state.domain_or_new(domain, points);
    }
    state
}

fn wrapping(key: &MasterKey) -> Option<Arc<WrappingKey>> {
    WrappingKey::new(key.secret().try_into().ok()?).ok().map(Arc::new)
}

fn derived(domain: &state::Domain) -> Option<Domain> {
    let registers = domain.registers(Kind::Wrapping)?;
    let next = registers.next();
    Some(Domain {
        current: registers.current().and_then(|key| wrapping(key)),
        next: next.and_then(Next::key).and_then(|key| wrapping(key)),
        committed: next.is_some_and(Next::is_committed),
        points: Points(domain.unit.points().to_bytes()),
    })
}

impl Kept {
    /// The state of a keeper; `rules` says who may load and set a domain's wrapping keys. Commands of the card that nobody signs are taken by the socket of its
    /// first domain ([`Kept::ruled_by`]).
    pub fn new(keeper: Arc<Keeper>, rules: impl Fn(u8) -> Rules + Send + Sync + 'static) -> Kept {
        let card = keeper.state().domains().map(|(number, _)| number).next();
        Kept { keeper, rules: Box::new(rules), card, logins: Logins::default(), derived: RwLock::default() }
    }

    /// With another domain by whose socket commands of the card are taken that nobody signs; none, where they are not taken at all.
    #[must_use]
    pub fn ruled_by(self, domain: Option<u8>) -> Kept {
        Kept { card: domain, ..self }
    }

    /// Who keeps it.
    pub fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }
}

impl Keys for Kept {
    fn domain(&self, domain: u8) -> Option<Domain> {
        let state = self.keeper.state();
        let read = self.derived.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.as_ref().filter(|known| Arc::ptr_eq(&known.of, &state)) {
            return known.domains.get(&domain).cloned();
        }
        drop(read);
        let domains: HashMap<u8, Domain> =
            state.domains().filter_map(|(number, domain)| Some((number, derived(domain)?))).collect();
        let found = domains.get(&domain).cloned();
        let mut derived = self.derived.write().unwrap_or_else(PoisonError::into_inner);
        // Not what has been replaced meanwhile.
        if Arc::ptr_eq(&self.keeper.state(), &state) {
            *derived = Some(Derived { of: state, domains });
        }
        found
    }

    fn forget(&self) {
        *self.derived.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn administration(&self) -> Option<&dyn Administration> {
        Some(self)
    }
}

impl Administration for Kept {
    fn state(&self) -> Arc<State> {
        self.keeper.state()
    }

    fn change(
        &self,
        caller: &Caller,
        domain: Option<u8>,
        event: &str,
        change: &mut dyn FnMut(&mut State, &mut Detail) -> Done,
    ) -> Done {
        let done = self.keeper.change_with(&role(caller), domain, event, change);
        done.map_err(|error| match error {
            Change::Refused(refused) => refused,
            // It was done; that its record is missing is the keeper's to tell.
            _ => Refused { rv: rv::DEVICE_ERROR, reason: 0 },
        })
    }

    fn rules(&self, domain: u8) -> Rules {
        (self.rules)(domain)
    }

    fn rules_card(&self, domain: u8) -> bool {
        self.card == Some(domain)
    }

    fn last_audited(&self) -> Option<(u64, Chain)> {
        self.keeper.last_audited()
    }

    fn logins(&self) -> &Logins {
        &self.logins
    }
}
