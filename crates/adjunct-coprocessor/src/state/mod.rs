//! The state of a coprocessor: its domains with their master keys, and the card itself. This is what a vault holds.
//!
//! A copy is cheap: domains and keys are shared until they are changed, so that no secret is twice in memory.

mod layout;

use crate::audit::Chain;
use crate::control::ControlPoints;
use crate::crypt::BoxedSecret;
use crate::registers::{KeyId, Kind, MasterKey, Place, Registers};
use crate::unit::Unit;
use crate::vault::Contents;
use adjunct::ops::random::random;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a card is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// An EP11 coprocessor.
    Ep11 = 1,
    /// A CCA coprocessor.
    Cca = 2,
}

impl Mode {
    /// The kinds of master keys that its domains have.
    #[must_use]
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Mode::Ep11 => &[Kind::Wrapping],
            Mode::Cca => &[Kind::Aes, Kind::Apka, Kind::Sym, Kind::Asym],
        }
    }

    fn with_number(number: u8) -> Option<Mode> {
        [Mode::Ep11, Mode::Cca].into_iter().find(|&mode| mode as u8 == number)
    }
}

/// A domain.
#[derive(Debug, Clone)]
pub struct Domain {
    /// What administrators rule.
    pub unit: Unit,
    registers: Vec<Registers>,
}

impl Domain {
    /// A domain with such control points, whose registers are empty.
    #[must_use]
    pub fn new(mode: Mode, points: ControlPoints) -> Domain {
        Domain { unit: Unit::new(points), registers: mode.kinds().iter().map(|&kind| Registers::new(kind)).collect() }
    }

    /// The registers of a kind; `None` for a kind of another mode.
    #[must_use]
    pub fn registers(&self, kind: Kind) -> Option<&Registers> {
        self.registers.iter().find(|registers| registers.kind() == kind)
    }

    /// The registers of a kind, to be changed.
    pub fn registers_mut(&mut self, kind: Kind) -> Option<&mut Registers> {
        self.registers.iter_mut().find(|registers| registers.kind() == kind)
    }

    /// The registers of all kinds.
    #[must_use]
    pub fn all_registers(&self) -> &[Registers] {
        &self.registers
    }

    /// The key of a kind with an id, and the register that it is in.
    #[must_use]
    pub fn find(&self, kind: Kind, id: &KeyId) -> Option<(Place, &Arc<MasterKey>)> {
        self.registers(kind)?.find(id)
    }
}

/// A counter of a TPM's, and how it stands beside the numbers of the vault's contents.
pub(crate) struct Anchor {
    /// The counter's number in the TPM.
    pub counter: u32,
    /// The counter's value less the contents' number.
    pub base: u64,
    /// What the counter is used with.
    pub auth: BoxedSecret,
}

adjunct::opaque_debug!(Anchor);

/// The state of a card.
#[derive(Debug, Clone)]
pub struct State {
    mode: Mode,
    identity: [u8; 16],
    /// The card, as its administrators rule it. Copied when it is changed.
    card: Arc<Unit>,
    domains: BTreeMap<u8, Arc<Domain>>,
    /// The line that the audit log ended with when this was written.
    pub(crate) audit: (u64, Chain),
    pub(crate) anchor: Option<Arc<Anchor>>,
}

impl State {
    /// A card without domains, with a random identity.
    #[must_use]
    pub fn new(mode: Mode, points: ControlPoints) -> State {
        let mut identity = [0; 16];
        random(&mut identity);
        let card = Arc::new(Unit::new(points));
        State { mode, identity, card, domains: BTreeMap::new(), audit: (0, [0; 32]), anchor: None }
    }

    /// Reads what [`State::encode`] writes; `None` for all else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<State> {
        layout::parse(bytes)
    }

    /// The state as bytes, which are wiped when they are dropped; no other copy of a secret is made. `None` where memory runs out.
    #[must_use]
    pub fn encode(&self) -> Option<Contents> {
        layout::encode(self)
    }

    /// What the card is.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What tells the card from all others: random, made with it.
    #[must_use]
    pub fn identity(&self) -> &[u8; 16] {
        &self.identity
    }

    /// The card, as its administrators rule it.
    #[must_use]
    pub fn card(&self) -> &Unit {
        &self.card
    }

    /// The card, to be changed.
    pub fn card_mut(&mut self) -> &mut Unit {
        Arc::make_mut(&mut self.card)
    }

    /// A domain that has been made.
    #[must_use]
    pub fn domain(&self, number: u8) -> Option<&Domain> {
        self.domains.get(&number).map(Arc::as_ref)
    }

    /// A domain that has been made, to be changed.
    pub fn domain_mut(&mut self, number: u8) -> Option<&mut Domain> {
        self.domains.get_mut(&number).map(Arc::make_mut)
    }

    /// The domains that have been made, by number.
    pub fn domains(&self) -> impl Iterator<Item = (u8, &Domain)> {
        self.domains.iter().map(|(number, domain)| (*number, domain.as_ref()))
    }

    /// A domain, made with such control points where it was not.
    pub fn domain_or_new(&mut self, number: u8, points: ControlPoints) -> &mut Domain {
        let mode = self.mode;
        Arc::make_mut(self.domains.entry(number).or_insert_with(|| Arc::new(Domain::new(mode, points))))
    }

    /// Removes a domain with all that it has: zeroize. Whether it was there.
    pub fn remove_domain(&mut self, number: u8) -> bool {
        self.domains.remove(&number).is_some()
    }

    /// The master key of a kind with an id, in a domain, and the register that it is in.
    #[must_use]
    pub fn find(&self, domain: u8, kind: Kind, id: &KeyId) -> Option<(Place, &Arc<MasterKey>)> {
        self.domain(domain)?.find(kind, id)
    }

    /// Number and chain value of the line that the audit log ended with when this state was written.
    #[must_use]
    pub fn last_audited(&self) -> (u64, Chain) {
        self.audit
    }
}
