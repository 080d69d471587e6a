//! The EP11 coprocessor: what `adjunct-ep11-module` does, for programs that ask a card's process.
//!
//! A request is the call [`EP11_REQUEST`] of [`adjunct_card_protocol::coprocessor`], with the bytes of libep11's message; its reply has those of the module's. A card
//! that waits for its passphrase does no request.
#![forbid(unsafe_code)]

mod administer;
mod opening;

use adjunct_card_host::peer::Peer;
use adjunct_card_host::process::{Batch, Request};
use adjunct_card_host::service::{Facts, Service, Start, Taken, Unfit};
use adjunct_card_protocol::bulk::INLINE;
use adjunct_card_protocol::coprocessor::EP11_REQUEST;
use adjunct_card_protocol::frame::{self, Frame};
use adjunct_card_protocol::secure::Field;
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::machine::Mode;
use adjunct_coprocessor::roles::Rules;
use adjunct_coprocessor::seal::Method;
use adjunct_ep11_module::keys::{Domain, Keys};
use adjunct_ep11_module::{Caller, Category, Module, Settings, category};
use adjunct_ep11_wire::message::Reply;
use opening::{Closed, Open};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use zeroize::Zeroizing;

/// The longest request or reply.
const LONGEST: usize = 64 << 20;
/// Codes of which failures are counted, each by itself.
const CODES: usize = 256;

/// The names of the counters of the categories ([`Category`]), which are zcryptstats' own.
const COUNTERS: [&str; 5] = ["Asym. Slow", "Asym. Fast", "Symm. Partial", "Symm. Complete", "Asym. Key-gen."];

/// The keys of a module that tests itself: none.
struct Without;

impl Keys for Without {
    fn domain(&self, _domain: u8) -> Option<Domain> {
        None
    }
}

/// An EP11 coprocessor.
pub struct Ep11 {
    closed: Closed,
    open: OnceLock<Open>,
    /// One unlocks at a time.
    unlocking: Mutex<()>,
    /// Failures by their codes.
    failures: Mutex<BTreeMap<u32, u64>>,
}

adjunct_kernels::opaque_debug!(Ep11);

/// A request of a program; wiped when it is done.
pub struct Work(Zeroizing<Vec<u8>>);

adjunct_kernels::opaque_debug!(Work);

impl Ep11 {
    fn opened(&self) -> Result<&Open, String> {
        self.open.get().ok_or_else(|| "the card waits for its passphrase: adjunct cards unlock".to_owned())
    }

    fn unlock(&self, passphrase: &[u8]) -> Result<(), String> {
        let _alone = self.unlocking.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.closed.waits() {
            return Err("the card is sealed by no passphrase".to_owned());
        }
        if self.open.get().is_some() {
            return Err("the card is unlocked".to_owned());
        }
        let open = self.closed.open(Some(passphrase))?;
        let _ = self.open.set(open);
        Ok(())
    }

    fn rules(&self) -> Rules {
        self.closed.rules()
    }

    fn seal(&self) -> Method {
        opening::method(self.closed.settings.seal)
    }

    fn failures(&self) -> BTreeMap<String, u64> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.iter().map(|(code, count)| (format!("{code:#010x}"), *count)).collect()
    }

    /// Counts what a reply says.
    fn note(&self, reply: &[u8]) {
        let code = Reply::parse(reply).map_or(0, |reply| reply.rv);
        if code != 0 {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            if failures.len() < CODES || failures.contains_key(&code) {
                *failures.entry(code).or_default() += 1;
            }
        }
    }
}

impl Service for Ep11 {
    const FACTS: Facts = Facts {
        mode: Mode::Ep11,
        service: frame::Service::Ep11,
        hwtype: 14,
        depth: 8,
        // X, N, F.
        functions: 0x0680_0000,
        max_message: LONGEST as u32,
        counters: &COUNTERS,
        files: &["vault", "audit"],
    };
    const MAX_REQUEST: usize = INLINE;
    const MAX_BULK: usize = LONGEST;
    const KINDS: usize = COUNTERS.len();
    const BACKPRESSURE: bool = true;
    const GROUPS: bool = true;
    /// Vault and audit log.
    const CALLS: &'static [libc::c_long] = &[
        libc::SYS_pwrite64,
        libc::SYS_fdatasync,
        libc::SYS_fsync,
        libc::SYS_fallocate,
        libc::SYS_flock,
        libc::SYS_lseek,
        libc::SYS_dup,
        libc::SYS_geteuid,
        libc::SYS_getegid,
    ];
    type Session = ();
    type Work = Work;

    fn start(start: Start<'_>) -> Result<Ep11, Unfit> {
        adjunct::init();
        // What is done here is counted by the card.
        adjunct::counters::switch(false);
        let settings = start.coprocessor.cloned().ok_or_else(|| Unfit::Here("It has no settings.".to_owned()))?;
        let (card, domains) = (start.card, start.domains.to_vec());
        let [vault, audit]: [_; 2] = start.files.try_into().map_err(|_| Unfit::Here("It has no files.".to_owned()))?;
        let closed = Closed { card, domains, settings, vault: File::from(vault), audit: File::from(audit) };
        let here = |why: String| Unfit::Here(format!("Card {card:02x}: {why}."));
        let open = OnceLock::new();
        if !closed.waits() {
            let _ = open.set(closed.open(None).map_err(here)?);
        } else if let Some(other) = closed.is_sealed().map_err(here)?.filter(|&found| found != Method::Passphrase) {
            return Err(here(format!("the vault is sealed by {}, and cards.conf says a passphrase", other.by())));
        }
        Ok(Ep11 { closed, open, unlocking: Mutex::new(()), failures: Mutex::default() })
    }

    fn self_test(&self) -> Result<(), Unfit> {
        // Also before there are keys.
        let module = Module::new(Arc::new(Without), Settings { cached_keys: 1, sessions: 1 });
        module.self_test().map_err(|what| Unfit::Faulty(format!("the self-test failed: {what}")))
    }

    /// Private keys and pairs take longer than all else.
    fn weight(kind: usize) -> u64 {
        match kind {
            _ if kind == Category::AsymmetricSlow as usize => 300,
            _ if kind == Category::AsymmetricKeyGeneration as usize => 800,
            _ => 100,
        }
    }

    fn take(&self, _session: &mut (), _peer: &Peer, frame: &Frame<'_>) -> Taken<Work> {
        let (true, Some(input)) = (frame.head.call == EP11_REQUEST, frame.field(Field::Input as u16)) else {
            return Taken::NoRequest;
        };
        if self.open.get().is_none() {
            return Taken::Answer(Status::Failed);
        }
        let mut copy = Zeroizing::new(Vec::new());
        if copy.try_reserve_exact(input.len()).is_err() {
            return Taken::Answer(Status::Busy);
        }
        copy.extend_from_slice(input);
        Taken::Work(category(input) as usize, Work(copy))
    }

    fn serve(&self, _kind: usize, requests: Vec<Request<Work>>, batch: &mut Batch<'_>) {
        let begin = Instant::now();
        let mut done = Vec::with_capacity(requests.len());
        for Request { asker, work } in requests {
            let caller = asker.peer().map(|peer| Caller { uid: peer.uid, gid: peer.gid, groups: peer.groups.clone() });
            let (Some(caller), Ok(open)) = (caller, self.opened()) else { continue };
            let reply = open.module.call(&caller, asker.head().domain, &work.0);
            self.note(&reply);
            done.push((asker, reply));
        }
        batch.computed(begin.elapsed());
        for (asker, reply) in done {
            asker.answer(Status::Done, &[(Field::Output as u16, &reply)]);
        }
    }

    fn administer(&self, from: &Peer, domain: Option<u8>, order: &Value) -> Result<Value, String> {
        self.ordered(from, domain, order)
    }
}
