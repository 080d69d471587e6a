//! The accelerator: private-key operations with the clear keys that programs send, in batches ([`wire`]).
//!
//! It parses nothing but messages of fixed layouts.
#![forbid(unsafe_code)]

mod gather;
mod keys;
mod known;
mod load;

use adjunct::card::work::{self, Job, RequestedKey};
use adjunct_card_host::peer::Peer;
use adjunct_card_host::process::{Asker, Batch, Request};
use adjunct_card_host::service::{Facts, Patience, Service, Start, Taken, Unfit};
use adjunct_card_protocol::crowd::{self, Page, Side, cpu_time};
use adjunct_card_protocol::frame::{self, Frame};
use adjunct_card_protocol::wire::{self, Asked, Kind, MAX_REQUEST, Status};
use adjunct_card_state::machine::{ACCELERATOR_COUNTERS, Mode, NO_LANES};
use gather::Gathering;
use keys::{Keys, Secret, Tag};
use load::Load;
use serde_json::{Value, json};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use zeroize::Zeroizing;

pub use known::known_request;

/// Wrong results out of the lanes after which the card is not to be used any more.
const FAULTS: u32 = 3;
/// The results of one batch in this many are checked in the card until one was wrong; programs check every result.
const CHECKED: u32 = 16;

/// What is known of a program's connection: the keys that it has brought, by place, and the period in which it last asked.
#[derive(Debug, Default)]
pub struct Session {
    keys: [Option<Tag>; wire::PLACES],
    asked: gather::Asked,
}

/// The work of a request: its key and input.
#[derive(Debug)]
pub struct Work {
    key: Wanted,
    input: Zeroizing<Vec<u8>>,
}

/// The key of a request.
#[derive(Debug)]
enum Wanted {
    /// The key is among those that are kept.
    There(RequestedKey),
    /// The key as the request brought it, and the tag by which it will be found.
    Bytes(Zeroizing<Vec<u8>>, Tag),
}

/// An accelerator.
#[derive(Debug)]
pub struct Accelerator {
    page: &'static Page,
    secret: Secret,
    keys: Mutex<Keys>,
    faults: AtomicU32,
    batches: AtomicU32,
    load: Load,
    gathering: Gathering,
}

/// Locks, also after a thread panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kind with a number.
fn kind_of(number: usize) -> Kind {
    Kind::ALL.get(number).copied().unwrap_or(Kind::Rsa4096)
}

impl Service for Accelerator {
    const FACTS: Facts = Facts {
        mode: Mode::Accelerator,
        service: frame::Service::Accelerator,
        hwtype: 14,
        depth: 8,
        // S, M, C, A, N, F.
        functions: 0xEA80_0000,
        max_message: 12 << 10,
        counters: &ACCELERATOR_COUNTERS,
        files: &[],
    };
    const MAX_REQUEST: usize = MAX_REQUEST;
    const KINDS: usize = Kind::ALL.len();

    type Session = Session;
    type Work = Work;

    fn start(start: Start<'_>) -> Result<Accelerator, Unfit> {
        adjunct::init();
        // What is done here is counted by the programs it is done for.
        adjunct::counters::switch(false);
        if start.without_lanes {
            work::do_without_lanes();
        } else if !work::available() {
            return Err(Unfit::Here(NO_LANES.to_owned()));
        }
        let (page, _) = Page::find(start.folder)?;
        Ok(Accelerator {
            page,
            secret: Secret::new(),
            keys: Mutex::new(Keys::new()),
            faults: AtomicU32::new(0),
            batches: AtomicU32::new(0),
            load: Load::open(),
            gathering: Gathering::new(),
        })
    }

    fn self_test(&self) -> Result<(), Unfit> {
        let found = known::answers_are_found(self.page);
        found.then_some(()).ok_or_else(|| Unfit::Faulty("a known answer was not found".to_owned()))
    }

    fn width(&self) -> usize {
        work::width()
    }

    /// The driver's figures for a Crypto Express8S accelerator (CRT 2k and 4k).
    fn weight(kind: usize) -> u64 {
        match kind_of(kind) {
            Kind::Rsa2048 => 54,
            Kind::Rsa3072 | Kind::Rsa4096 => 362,
        }
    }

    /// Operations of 3072 bits count with those of 4096.
    fn counter(kind: usize) -> usize {
        match kind_of(kind) {
            Kind::Rsa2048 => 3,
            Kind::Rsa3072 | Kind::Rsa4096 => 5,
        }
    }

    fn take(&self, session: &mut Session, peer: &Peer, frame: &Frame<'_>) -> Taken<Work> {
        let Some(Asked { kind, place, key, input }) = wire::asked(frame) else { return Taken::NoRequest };
        self.gathering.asks(&mut session.asked, crowd::now());
        if let Some(key) = key {
            session.keys[place] = Some(self.secret.tag(peer.uid, kind, key));
        }
        // A tag is of one kind.
        let found = session.keys[place].map(|tag| (tag, lock(&self.keys).get(&tag)));
        let key = match (found, key) {
            (Some((_, Some(there))), _) if there.kind() == kind => Wanted::There(there),
            (Some((tag, _)), Some(key)) => Wanted::Bytes(Zeroizing::new(key.to_vec()), tag),
            _ => return Taken::Answer(Status::NoKey),
        };
        Taken::Work(kind as usize, Work { key, input: Zeroizing::new(input.to_vec()) })
    }

    fn serve(&self, kind: usize, requests: Vec<Request<Work>>, batch: &mut Batch<'_>) {
        let kind = kind_of(kind);
        let new = requests.iter().any(|request| matches!(request.work.key, Wanted::Bytes(..)));
        let mut jobs: Vec<Job> = Vec::with_capacity(requests.len());
        let mut askers: Vec<Asker> = Vec::with_capacity(requests.len());
        for Request { asker, work } in requests {
            match asker.peer().and_then(|peer| self.key(kind, peer.uid, work.key)) {
                Some(key) => {
                    jobs.push(Job { key, block: work.input, done: false });
                    askers.push(asker);
                }
                None => asker.answer(Status::Invalid, &[]),
            }
        }
        // Making the form of a key is no part of handing an operation over.
        let (computing, computing_cpu) = (Instant::now(), cpu_time());
        let done = work::batch(kind, &mut jobs, self.checks(new));
        let (computed, computed_cpu) = (computing.elapsed(), cpu_time().saturating_sub(computing_cpu));
        // Now, when those that wait for an answer do not run.
        // A batch that is not nearly full is what a few programs give that all wait for it: other tasks' time is no gain of theirs.
        let runnable = if 4 * jobs.len() < 3 * work::width() { 1 } else { self.runnable() };
        batch.computed(computed);
        for (job, asker) in jobs.iter().zip(askers) {
            match job.done {
                true => asker.answer(Status::Done, &wire::output(&job.block)),
                false => asker.answer(Status::Invalid, &[]),
            }
        }
        if done.wrong > 0 && self.faults.fetch_add(1, Relaxed) + 1 >= FAULTS {
            batch.is_faulty("results were wrong");
        }
        let count = jobs.len() as u64;
        if count > 0 {
            // To receive a request takes the worker about as long as to answer it, and the other side both.
            let outside = cpu_time().saturating_sub(computing_cpu).saturating_sub(computed_cpu);
            self.page.found(kind, crowd::now(), count, computed_cpu, 4 * outside / count, runnable);
            self.page.took(kind, computed.as_nanos() as u64, computed_cpu);
        }
    }

    fn administer(&self, _from: &Peer, _domain: Option<u8>, order: &Value) -> Result<Value, String> {
        match order.as_str() {
            Some("statistics") => Ok(json!({
                "keys": lock(&self.keys).count(),
                "batches": self.batches.load(Relaxed),
                "faults": self.faults.load(Relaxed),
                "width": work::width(),
            })),
            _ => Err("an accelerator knows the orders \"self-test\" and \"statistics\"".to_owned()),
        }
    }

    fn patience(&self, kind: usize, waiting: usize, since: Instant) -> Patience {
        self.gathering.patience(self.page, kind_of(kind), waiting, since, || self.runnable())
    }

    fn gathered(&self, whole: bool) {
        self.gathering.learn(whole);
    }

    fn connected(&self, cost: u64) {
        self.page.connected(Side::Card, cost);
    }

    fn keeps(&self) -> bool {
        !lock(&self.keys).is_empty()
    }

    fn forget(&self) {
        lock(&self.keys).clear();
    }
}

impl Accelerator {
    /// Tasks of the machine that can run, this thread included.
    fn runnable(&self) -> u64 {
        self.load.runnable().unwrap_or(1)
    }

    /// Whether the results of a batch are to be checked; where its keys have not been used yet, they are.
    fn checks(&self, new: bool) -> bool {
        self.batches.fetch_add(1, Relaxed).is_multiple_of(CHECKED) || new || self.faults.load(Relaxed) > 0
    }

    fn key(&self, kind: Kind, uid: u32, wanted: Wanted) -> Option<RequestedKey> {
        match wanted {
            Wanted::There(key) => Some(key),
            Wanted::Bytes(bytes, tag) => {
                // Another of the same batch may have brought it.
                if let Some(key) = lock(&self.keys).get(&tag) {
                    return Some(key);
                }
                let key = RequestedKey::new(kind, &bytes).ok()?;
                lock(&self.keys).put(tag, uid, key.clone());
                Some(key)
            }
        }
    }
}
