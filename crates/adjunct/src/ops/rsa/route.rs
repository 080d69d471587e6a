//! Where a private operation goes beside the CPU that its caller has: into a batch of this process, or to a card.

use super::Part;
use crate::catalogue::Outcome;
use crate::error::Error;
use crate::memory::{WriteOnce, zeros};
use crate::slab::Entry;
use adjunct_base::registry::{Adapter, Route};
use adjunct_card_protocol::{Operation, wire};
use adjunct_cpu::rsa as cpu;
use adjunct_cpu::rsa_lanes;
use adjunct_lanes::rsa::{self as lanes, Prepared};
use zeroize::Zeroizing;

/// A key as lanes and cards take it, and which of them does.
#[derive(Debug)]
pub(super) struct Routed {
    route: Route,
    /// The key as lanes need it; `None` where neither they nor cards take it.
    prepared: Option<Entry<Prepared>>,
    /// The key as requests to cards contain it ([`wire`]), made for the first such request.
    wire: WriteOnce<Zeroizing<Vec<u8>>>,
}

impl Routed {
    /// Prepares a key; without one, the CPU does every operation.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn new(key: Option<&cpu::CpuRsaKey>) -> Result<Routed, Error> {
        let prepared = key.map(Prepared::new).transpose()?.flatten();
        Ok(Routed { route: Route::new(), prepared, wire: WriteOnce::default() })
    }

    /// The key, where an adapter that is online takes it.
    #[inline]
    pub(super) fn taken(&self) -> Option<Taken<'_>> {
        match self.route.find(|| self.prepared.as_ref().map(|prepared| prepared.adapter())) {
            Adapter::Lanes | Adapter::Card => {
                self.prepared.as_ref().map(|prepared| Taken { prepared, wire: &self.wire })
            }
            Adapter::Cpu => None,
        }
    }
}

/// A key that lanes or cards take.
pub(super) struct Taken<'a> {
    prepared: &'a Entry<Prepared>,
    wire: &'a WriteOnce<Zeroizing<Vec<u8>>>,
}

impl Taken<'_> {
    /// The length of the modulus in bytes.
    pub(super) fn size(&self) -> usize {
        self.prepared.size()
    }

    /// `input^d mod n`: in a batch; of an operation that is alone, by a card where that is faster, else by the CPU. `out` is as long as `input`.
    /// `None` where something is wrong with the key or the input: the caller has the CPU do it then, which says what.
    pub(super) fn private(&self, input: &[u8], out: &mut [u8]) -> Option<Outcome> {
        let key = self.prepared;
        let alone = match lanes::private(key, input, out)? {
            Ok(outcome) => return Some(outcome),
            Err(alone) => alone,
        };
        let operation = Operation::begin(key.queue());
        if let Some(operation) = operation.as_ref().filter(|_| alone.may_leave())
            && operation.by_card(key.queue(), key.number(), || self.wire(), input, out, |out| key.is_right(input, out))
        {
            // A card without lanes has done what this CPU would; one without dedicated instructions, what lanes here would.
            return Some(match rsa_lanes() {
                Some(lanes) if lanes.are_dedicated() => Outcome::Card,
                Some(_) => Outcome::Lanes,
                None => Outcome::Library,
            });
        }
        alone.run(|| key.key().private(input, out).map(|ran| ran.outcome)).ok()
    }

    /// The key as requests to cards bring it; `None` without the memory for it.
    fn wire(&self) -> Option<&[u8]> {
        let made = self.wire.get_or_make(|| {
            let (half, e) = (self.size() / 2, wire::E);
            let mut bytes = zeros(e + self.size() + 5 * half)?;
            let parts = [
                (Part::E, e),
                (Part::N, self.size()),
                (Part::P, half),
                (Part::Q, half),
                (Part::Dp, half),
                (Part::Dq, half),
            ];
            let mut rest = &mut bytes[..];
            for (part, length) in parts.into_iter().chain([(Part::Qinv, half)]) {
                let (place, after) = rest.split_at_mut(length);
                let number = self.prepared.key().number(part)?.unwrap_or_default();
                let zeros = length.checked_sub(number.len()).ok_or(Error::InvalidKey("sizes"))?;
                place[zeros..].copy_from_slice(&number);
                rest = after;
            }
            Ok::<_, Error>(bytes)
        });
        drop(made.ok()?);
        self.wire.get().map(|bytes| &bytes[..])
    }
}
