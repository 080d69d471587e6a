//! Counters that a TPM keeps (NV indices of type counter): they only go up, and one that is made after another was removed begins above it. Who keeps a
//! number beside one sees when his file is an older copy.
//!
//! Whoever may speak to the TPM with the owner's authorization can remove a counter, which shows; to count with it takes its authorization value.

use crate::connection::Connection;
use crate::session::{DECRYPT, authorization, name, no_password};
use crate::wire::{self, In, Out};
use crate::{Fault, Result, Secret};
use adjunct::ops::random::random;
use zeroize::Zeroizing;

/// Attributes: a counter (type 1), written and read with its own authorization value, of which wrong ones do not count for the lockout.
const ATTRIBUTES: u32 = 1 << 2 | 1 << 4 | 1 << 18 | 1 << 25;
/// It has counted once.
const WRITTEN: u32 = 1 << 29;
/// Where owners have their indices (TCG registry of reserved handles).
const FIRST: u32 = 0x0180_0000;
const COUNT: u32 = 0x0040_0000;
/// Numbers that are tried until one is free.
const TRIES: usize = 8;
/// TPM_RC_NV_DEFINED: there is an index with that number.
const DEFINED: u32 = 0x14c;

/// A counter in a TPM, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter(u32);

impl Counter {
    /// The counter of a number; `None` for a number that no counter of ours has.
    #[must_use]
    pub fn with_number(number: u32) -> Option<Counter> {
        (FIRST..FIRST + COUNT).contains(&number).then_some(Counter(number))
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// What is in a public area of an index: whether it is a counter such as are made here, and whether it has counted.
pub(crate) fn is_counter(public: &[u8]) -> Option<bool> {
    let mut rest = In(public);
    let number = rest.u32().ok()?;
    let (hash, attributes) = (rest.u16().ok()?, rest.u32().ok()?);
    let (policy, size) = (rest.sized().ok()?, rest.u16().ok()?);
    let ours = Counter::with_number(number).is_some() && hash == wire::SHA256 && attributes & !WRITTEN == ATTRIBUTES;
    (ours && policy.is_empty() && size == 8 && rest.0.is_empty()).then_some(attributes & WRITTEN != 0)
}

impl Connection {
    /// Makes a counter, by the owner's empty authorization; `auth` is wanted to count and to read. It has counted once.
    ///
    /// # Errors
    /// [`Fault`]: `Refused(0x14b)` where the TPM has no room.
    pub fn make_counter(&self, auth: &Secret) -> Result<Counter> {
        let parent = self.parent()?;
        for _ in 0..TRIES {
            let mut number = [0; 4];
            random(&mut number);
            let counter = Counter(FIRST + u32::from_be_bytes(number) % COUNT);
            let public = Out::default().u32(counter.0).u16(wire::SHA256).u32(ATTRIBUTES).u16(0).u16(8).0;
            // The value is a command's first parameter, which a session encrypts.
            let mut parameters = Zeroizing::new(Out::default().sized(&authorization(auth)[..]).sized(&public).0);
            // Of a handle that is always there, the number is the name.
            let owner = wire::OWNER.to_be_bytes();
            let session = self.session(&parent)?;
            let objects = [(wire::OWNER, &owner[..])];
            match session.run(wire::NV_DEFINE_SPACE, &objects, &[], DECRYPT, &mut parameters) {
                Ok(_) => {
                    let counted = self.increment(counter, auth).map(|()| counter);
                    if counted.is_err() {
                        let _ = self.remove_counter(counter);
                    }
                    return counted;
                }
                Err(Fault::Refused(DEFINED)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::Refused(DEFINED))
    }

    /// The public area of a counter, with the name that it gives.
    fn counter(&self, counter: Counter) -> Result<Vec<u8>> {
        let answer = match self.transact(&wire::command(wire::NV_READ_PUBLIC, &[counter.0], &[], &[])) {
            // TPM_RC_HANDLE: there is none, or no more.
            Err(Fault::Refused(code)) if code & 0xbf == 0x8b => return Err(Fault::Other),
            answer => answer?,
        };
        let response = wire::response(&answer, false)?;
        let public = In(response.parameters).sized()?;
        if is_counter(public).is_none() || public[..4] != counter.0.to_be_bytes() {
            return Err(Fault::Other);
        }
        Ok(name(public))
    }

    /// Counts one up.
    ///
    /// # Errors
    /// [`Fault`]; [`Fault::Other`] where the TPM has no such counter, or `auth` is not its authorization value.
    pub fn increment(&self, counter: Counter, auth: &Secret) -> Result<()> {
        self.of_counter(wire::NV_INCREMENT, counter, auth, &mut []).map(drop)
    }

    /// The value of a counter. The answer is the TPM's own, whatever is between it and the processor.
    ///
    /// # Errors
    /// [`Fault`]; [`Fault::Other`] where the TPM has no such counter, or `auth` is not its authorization value.
    pub fn read(&self, counter: Counter, auth: &Secret) -> Result<u64> {
        let mut parameters = Out::default().u16(8).u16(0).0;
        let done = self.of_counter(wire::NV_READ, counter, auth, &mut parameters)?;
        let bytes = In(&done).sized()?;
        bytes.try_into().map(u64::from_be_bytes).map_err(|_| Fault::Nonsense)
    }

    fn of_counter(
        &self,
        code: u32,
        counter: Counter,
        auth: &Secret,
        parameters: &mut [u8],
    ) -> Result<Zeroizing<Vec<u8>>> {
        let name = self.counter(counter)?;
        let parent = self.parent()?;
        let session = self.session(&parent)?;
        let objects = [(counter.0, &name[..]), (counter.0, &name[..])];
        match session.run(code, &objects, &authorization(auth)[..], 0, parameters) {
            // The authorization failed.
            Err(Fault::Refused(code)) if matches!(code & 0xbf, 0x8e | 0xa2) => Err(Fault::Other),
            done => done,
        }
    }

    /// Removes a counter, by the owner's empty authorization.
    ///
    /// # Errors
    /// [`Fault`]; [`Fault::Other`] where the TPM has no such counter.
    pub fn remove_counter(&self, counter: Counter) -> Result<()> {
        self.counter(counter)?;
        let handles = [wire::OWNER, counter.0];
        self.transact(&wire::command(wire::NV_UNDEFINE_SPACE, &handles, &no_password(), &[])).map(drop)
    }
}
