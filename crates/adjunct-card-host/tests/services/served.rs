//! Services of tests: one whose keys belong to domains, one that all programs share, and one that the machine lacks something for.

use adjunct_card_host::peer::Peer;
use adjunct_card_host::process::{Batch, Request};
use adjunct_card_host::service::{Entry, Facts, Service, Start, Taken, Unfit};
use adjunct_card_protocol::frame::{self, Frame};
use adjunct_card_protocol::secure::Field;
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::machine::Mode;
use rustix::fd::OwnedFd;
use serde_json::{Value, json};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The calls: what came goes back; that, after the milliseconds that it says; it goes to the vault and comes out of it; a file is opened.
pub const ECHO: u16 = 1;
pub const SLOW: u16 = 2;
pub const VAULT: u16 = 3;
pub const FORBIDDEN: u16 = 4;
/// A coprocessor's, as its client makes it: the first byte says whether the input comes back (0), what is longer than a card sends (1), or the input after the hundreds of
/// milliseconds that the second byte says (2).
pub const COPROCESSOR: u16 = 0x100;
/// The fields: what is sent and comes back, the user as the service sees it, the session's requests so far.
pub const BYTES: u16 = 1;
pub const USER: u16 = 2;
pub const COUNT: u16 = 3;

pub static SERVICES: [Entry; 3] = [Entry::of::<Shared>(), Entry::of::<Domains>(), Entry::of::<Absent>()];

#[derive(Debug)]
pub struct Work {
    call: u16,
    bytes: Vec<u8>,
    count: u64,
}

fn take(session: &mut u64, frame: &Frame<'_>) -> Taken<Work> {
    let call = frame.head.call;
    let field = if call == COPROCESSOR { Field::Input as u16 } else { BYTES };
    let Some(bytes) = frame.field(field) else { return Taken::Answer(Status::Invalid) };
    *session += 1;
    match call {
        ECHO | VAULT | FORBIDDEN | COPROCESSOR => Taken::Work(0, Work { call, bytes: bytes.to_vec(), count: *session }),
        SLOW => Taken::Work(1, Work { call, bytes: bytes.to_vec(), count: *session }),
        _ => Taken::NoRequest,
    }
}

fn serve(requests: Vec<Request<Work>>, batch: &mut Batch<'_>, vault: Option<&OwnedFd>) {
    let begin = Instant::now();
    let done = requests.into_iter().map(|Request { asker, work }| {
        let mut bytes = work.bytes;
        match work.call {
            SLOW => _ = rustix::event::poll(&mut [], Some(&milliseconds(&bytes))),
            VAULT => {
                let before = bytes.clone();
                bytes = vault.map_or_else(Vec::new, |vault| in_vault(vault, &before));
            }
            COPROCESSOR => match bytes[..] {
                [1, ..] => bytes = vec![1; 2 << 20],
                [2, hundreds, ..] => {
                    (0..hundreds).for_each(|_| _ = rustix::event::poll(&mut [], Some(&milliseconds(&[100]))));
                }
                _ => {}
            },
            FORBIDDEN => _ = std::fs::File::open("/etc/passwd"),
            _ => {}
        }
        let user = asker.peer().map_or_else(String::new, |Peer { uid, gid, groups }| format!("{uid} {gid} {groups:?}"));
        (asker, work.call, bytes, user, work.count)
    });
    let done: Vec<_> = done.collect();
    batch.computed(begin.elapsed());
    for (asker, call, bytes, user, count) in done {
        if call == COPROCESSOR {
            asker.answer(Status::Done, &[(Field::Output as u16, &bytes)]);
            continue;
        }
        asker.answer(Status::Done, &[(BYTES, &bytes), (USER, user.as_bytes()), (COUNT, &count.to_le_bytes())]);
    }
}

fn milliseconds(bytes: &[u8]) -> rustix::event::Timespec {
    let time = Duration::from_millis(bytes.first().copied().unwrap_or(0).into());
    rustix::event::Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() }
}

/// What was in the vault; what is new is there afterwards.
fn in_vault(vault: &OwnedFd, new: &[u8]) -> Vec<u8> {
    let mut before = vec![0; 64];
    let length = rustix::io::pread(vault, &mut before[..], 0).unwrap_or(0);
    before.truncate(length);
    let _ = rustix::io::pwrite(vault, new, 0);
    let _ = rustix::fs::fdatasync(vault);
    before
}

/// Its keys would belong to domains; users wait for room.
pub struct Domains {
    files: Vec<OwnedFd>,
    tests: AtomicU64,
}

impl Service for Domains {
    const FACTS: Facts = Facts {
        mode: Mode::Ep11,
        service: frame::Service::Test,
        hwtype: 13,
        depth: 2,
        functions: 0x0680_0000,
        max_message: 1 << 20,
        counters: &["Symm. Complete", "Asym. Slow"],
        files: &["vault", "audit"],
    };
    const MAX_REQUEST: usize = 100 << 10;
    const MAX_BULK: usize = 1 << 20;
    const KINDS: usize = 2;
    const BACKPRESSURE: bool = true;
    const GROUPS: bool = true;
    const CALLS: &'static [libc::c_long] = &[libc::SYS_pwrite64, libc::SYS_fdatasync];
    type Session = u64;
    type Work = Work;

    fn start(start: Start<'_>) -> Result<Domains, Unfit> {
        assert_eq!(start.files.len(), 2);
        Ok(Domains { files: start.files, tests: AtomicU64::new(0) })
    }

    fn self_test(&self) -> Result<(), Unfit> {
        // Wrong from the third time on.
        let tests = self.tests.fetch_add(1, Relaxed);
        if tests < 2 { Ok(()) } else { Err(Unfit::Faulty("the third test".into())) }
    }

    fn take(&self, session: &mut u64, _peer: &Peer, frame: &Frame<'_>) -> Taken<Work> {
        take(session, frame)
    }

    fn serve(&self, _kind: usize, requests: Vec<Request<Work>>, batch: &mut Batch<'_>) {
        serve(requests, batch, self.files.first());
    }

    fn administer(&self, from: &Peer, domain: Option<u8>, order: &Value) -> Result<Value, String> {
        match order["order"].as_str() {
            Some("who") => Ok(json!({ "uid": from.uid, "groups": from.groups.len(), "domain": domain })),
            // Ends before it answers.
            // SAFETY: nothing of this process is to be kept.
            Some("end") => unsafe { libc::_exit(3) },
            _ => Err("no such order".into()),
        }
    }
}

/// All programs share it; who has too many requests is refused.
pub struct Shared;

impl Service for Shared {
    const FACTS: Facts = Facts {
        mode: Mode::Accelerator,
        service: frame::Service::Accelerator,
        hwtype: 14,
        depth: 8,
        functions: 0xEA80_0000,
        max_message: 4096,
        counters: &["Quick", "Slow"],
        files: &[],
    };
    const MAX_REQUEST: usize = 4096;
    const KINDS: usize = 2;
    type Session = u64;
    type Work = Work;

    fn start(_start: Start<'_>) -> Result<Shared, Unfit> {
        Ok(Shared)
    }

    fn self_test(&self) -> Result<(), Unfit> {
        Ok(())
    }

    fn take(&self, session: &mut u64, _peer: &Peer, frame: &Frame<'_>) -> Taken<Work> {
        take(session, frame)
    }

    fn serve(&self, _kind: usize, requests: Vec<Request<Work>>, batch: &mut Batch<'_>) {
        serve(requests, batch, None);
    }

    fn administer(&self, _from: &Peer, _domain: Option<u8>, _order: &Value) -> Result<Value, String> {
        Err("none".into())
    }
}

/// No machine has what it needs.
pub struct Absent;

impl Service for Absent {
    const FACTS: Facts = Facts {
        mode: Mode::Cca,
        service: frame::Service::Cca,
        hwtype: 14,
        depth: 8,
        functions: 0x9380_0000,
        max_message: 4096,
        counters: &["All"],
        files: &[],
    };
    const MAX_REQUEST: usize = 4096;
    const KINDS: usize = 1;
    type Session = ();
    type Work = ();

    fn start(_start: Start<'_>) -> Result<Absent, Unfit> {
        Err(Unfit::Here("No machine has what this needs.".into()))
    }

    fn self_test(&self) -> Result<(), Unfit> {
        Ok(())
    }

    fn take(&self, _session: &mut (), _peer: &Peer, _frame: &Frame<'_>) -> Taken<()> {
        Taken::NoRequest
    }

    fn serve(&self, _kind: usize, _requests: Vec<Request<()>>, _batch: &mut Batch<'_>) {}

    fn administer(&self, _from: &Peer, _domain: Option<u8>, _order: &Value) -> Result<Value, String> {
        Err("none".into())
    }
}
