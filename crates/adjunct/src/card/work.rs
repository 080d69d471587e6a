//! The work of a card: keys made of requests' bytes, and batches of operations of one kind.

use crate::catalogue::LANES;
use crate::catalogue::Outcome;
use crate::error::Error;
use crate::slab::Entry;
use adjunct_base::registry::{self, Adapter};
use adjunct_card_protocol::wire::{E, Kind};
use adjunct_cpu as cpu;
use adjunct_cpu::rsa::{CpuRsaKey, Crt, Numbers};
use adjunct_lanes as lanes;
use adjunct_lanes::rsa::{Prepared, Private};
use zeroize::Zeroizing;

/// A key that requests came with, prepared. Wiped when its last owner is dropped.
#[derive(Debug, Clone)]
pub struct RequestedKey(Kind, Entry<Prepared>);

/// A request of a batch: its key, and its input or, where it is done, its output.
#[derive(Debug)]
pub struct Job {
    /// The key.
    pub key: RequestedKey,
    /// Input, then result: [`Kind::size`] bytes.
    pub block: Zeroizing<Vec<u8>>,
    /// Whether the block holds the output.
    pub done: bool,
}

/// How a batch was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Whether the batch was done in lanes; else one by one.
    pub in_lanes: bool,
    /// Number of jobs that came out of the lanes wrong and were done again.
    pub wrong: usize,
}

/// Whether this CPU has lanes, without which a card makes nothing faster.
pub fn available() -> bool {
    lanes::available()
}

/// The most jobs of a batch here.
pub fn width() -> usize {
    cpu::rsa_lanes().map_or(1, cpu::RsaLanes::width)
}

/// Has this process do a card's work on a CPU without lanes, too: all one by one.
pub fn do_without_lanes() {
    registry::set_online(Adapter::Card, true);
}

impl RequestedKey {
    /// Makes a key of the bytes of a request.
    ///
    /// # Errors
    /// [`Error::InvalidKey`], [`Error::Unsupported`] where the numbers are not a key's, [`Error::Memory`].
    pub fn new(kind: Kind, bytes: &[u8]) -> Result<RequestedKey, Error> {
        let (size, half) = (kind.size(), kind.size() / 2);
        if bytes.len() != kind.key() {
            return Err(Error::Length { what: "key", got: bytes.len(), expected: "that of its kind" });
        }
        let (e, rest) = bytes.split_at(E);
        let (n, rest) = rest.split_at(size);
        let mut halves = rest.chunks_exact(half);
        let mut next = || halves.next().unwrap_or_default();
        let crt = Crt { p: next(), q: next(), dp: next(), dq: next(), qinv: next() };
        let key = CpuRsaKey::from_crt(&Numbers { n, e, d: None, crt: Some(crt) })?;
        Prepared::new(&key)?
            .filter(|prepared| prepared.size() == size)
            .map(|prepared| RequestedKey(kind, prepared))
            .ok_or(Error::InvalidKey("sizes"))
    }

    /// The kind of operations that the key is for.
    pub fn kind(&self) -> Kind {
        self.0
    }
}

/// Does jobs of one kind, up to [`width`] of them: in lanes where that pays, else one by one. With `checked`, a result that the lanes got wrong is
/// not given out but done again; without, the programs find out, which check each result.
pub fn batch(kind: Kind, jobs: &mut [Job], checked: bool) -> Batch {
    let private = |job: &Job| match (Private::new(&job.key.1, &job.block), checked) {
        (private, true) => private,
        (private, false) => private.unchecked(),
    };
    let mut privates: Vec<Private> = jobs.iter().take(LANES).map(private).collect();
    let done = match kind {
        Kind::Rsa2048 => run::<lanes::rsa::Rsa2048>(&mut privates),
        Kind::Rsa3072 => run::<lanes::rsa::Rsa3072>(&mut privates),
        Kind::Rsa4096 => run::<lanes::rsa::Rsa4096>(&mut privates),
    };
    for (job, private) in jobs.iter_mut().zip(&mut privates) {
        let size = job.block.len();
        job.done = private.output(size).map(|output| job.block.copy_from_slice(output)).is_some();
        private.wipe();
    }
    done
}

fn run<K: lanes::Kind<Job = Private>>(privates: &mut [Private]) -> Batch {
    let in_lanes = lanes::do_now::<K>(privates);
    let right = in_lanes.unwrap_or(0);
    let mut wrong = 0;
    for (place, private) in privates.iter_mut().enumerate() {
        if right >> place & 1 == 0 {
            let _: Outcome = K::scalar(private);
            // What the CPU could not do either was wrong when it came.
            wrong += usize::from(in_lanes.is_some() && private.output(0).is_some());
        }
    }
    Batch { in_lanes: in_lanes.is_some(), wrong }
}
