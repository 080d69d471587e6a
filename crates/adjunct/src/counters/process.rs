//! What this process and its threads do to count: find the user's segment, take a slot, give it back.
//!
//! Nothing here waits: a child may be forked while another thread is anywhere in this code, and finds every lock open.
#![forbid(unsafe_code)]

use super::layout::{Block, Claim, Event, Owner, Place, Segment};
use super::memory::{self, Access, Mapping};
use super::reader::{self, Settings};
use super::thread::{self, Thread};
use crate::accelerator::Queue;
use crate::route::Direction;
use rustix::process::getpid;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize};

/// Users a process can count for. A daemon that becomes more than these in one life counts the others to the last.
const USERS: usize = 32;
/// Tries to map a user's segment; in a sandbox, each is one system call that is refused.
const TRIES: u64 = 3;
/// geteuid costs as much as 500 counts here. A process that changes its user does so soon after it starts.
const EAGER: u16 = 256;
const BETWEEN_CHECKS: u16 = 63;
/// Counts in the shared slot before a thread looks again for one of its own.
const PATIENCE: u16 = 4096;
/// Slots owned from which on a comer looks for dead owners, and from which on it also looks for reused pids.
const CROWDED: usize = super::layout::SLOTS / 16;
const FULL: usize = super::layout::SLOTS / 2;
/// Owners a comer asks for at most, and start times it looks up at most: loading the module must stay quick.
const ASKED: usize = 256;
const LOOKUPS: usize = 32;

static STATE: AtomicU32 = AtomicU32::new(NEW);
const NEW: u32 = 0;
const OPENING: u32 = 1;
const OPEN: u32 = 2;

static MAPPINGS: [Mapping; USERS] = [const { Mapping::new() }; USERS];
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// The epoch of the process that is changing the table; that of a parent that was forked meanwhile counts for nothing.
static MAPPING_IN: AtomicU64 = AtomicU64::new(0);
/// The mapping that threads start with, plus 1.
static LAST: AtomicU32 = AtomicU32::new(0);
static NEXT_EPOCH: AtomicU64 = AtomicU64::new(1);
static KEY_PREFIX: AtomicU32 = AtomicU32::new(0);

// What identifies this process to others; see `Owner`.
static NAMESPACES: AtomicU16 = AtomicU16::new(0);
static START: AtomicU16 = AtomicU16::new(0);
static IMAGE: AtomicU16 = AtomicU16::new(0);

/// See [`super::open`].
pub(super) fn open() {
    if STATE.compare_exchange(NEW, OPENING, AcqRel, Relaxed).is_err() {
        return;
    }
    let Settings::On { prefix } = reader::settings() else { return };
    let uid = memory::effective_user();
    KEY_PREFIX.store(prefix, Relaxed);
    NAMESPACES.store(proc::namespaces(), Relaxed);
    START.store(proc::own_start(), Relaxed);
    IMAGE.store(memory::image().into(), Relaxed);
    if !memory::start_epochs() {
        crate::diag::warn("no memory for the counters; nothing is counted");
        return;
    }
    let Some(epoch) = renew() else { return };
    let key = reader::key(prefix, uid);
    match memory::map(key, uid, Access::Create) {
        Ok(Some(segment)) => {
            let claims = segment.claims();
            // The owners first, then the question: whoever owned a slot then and is alive has the segment mapped still.
            if memory::alone(&segment) {
                claims.iter().for_each(|c| _ = segment.release(*c));
            } else {
                reclaim(&segment, claims, ASKED);
            }
            enter(0, uid, Some(segment.keep()));
        }
        Ok(None) => enter(0, uid, None),
        Err(wrong) => {
            crate::diag::warn(&format!("{}; nothing is counted", reader::explain(uid, key, &wrong)));
            enter(0, uid, None);
        }
    }
    STATE.store(OPEN, Release);
    // The loading thread's slot now, not in a sandbox later.
    thread::with(|t| {
        look(t, epoch);
        take_slot(t, epoch);
    });
}

fn enter(at: usize, uid: u32, segment: Option<&'static Segment>) {
    let Some(entry) = MAPPINGS.get(at) else { return };
    entry.uid.store(uid.into(), Relaxed);
    if let Some(segment) = segment {
        entry.set_segment(segment);
    }
    MAPPED.fetch_max(at + 1, Release);
}

/// This process's epoch, a new one if it was just forked; `None` while nothing is open.
fn current_epoch() -> Option<u64> {
    if STATE.load(Acquire) != OPEN {
        return None;
    }
    match memory::epoch().load(Acquire) {
        0 => renew(),
        epoch => Some(epoch),
    }
}

fn renew() -> Option<u64> {
    // Only a new process comes here after `open`: its start time is not known, and asking is not allowed everywhere.
    if STATE.load(Acquire) == OPEN {
        START.store(0, Relaxed);
        // The first of a new pid namespace, made by unshare and fork: its pids mean nothing where it came from.
        if getpid().is_init() {
            NAMESPACES.store(0, Relaxed);
        }
    }
    let fresh = NEXT_EPOCH.fetch_add(1, Relaxed);
    match memory::epoch().compare_exchange(0, fresh, AcqRel, Acquire) {
        Ok(_) => Some(fresh),
        Err(other) => Some(other),
    }
}

fn this_process(namespaces: u16, start: u16, image: u8) -> Option<Owner> {
    let pid = u32::try_from(getpid().as_raw_nonzero().get()).ok()?;
    Owner::new(pid, namespaces, start, image)
}

/// Who this process is.
pub(super) fn me() -> Option<Owner> {
    this_process(NAMESPACES.load(Relaxed), START.load(Relaxed), IMAGE.load(Relaxed) as u8)
}

/// This process as the holder of the reset lock. `call` tells its calls apart.
pub(super) fn holder(call: u8) -> Option<Owner> {
    this_process(proc::namespaces(), proc::own_start(), call)
}

/// Whether the process behind such a word lives; `None` where that cannot be told from here. Calls kill and opens files.
pub(super) fn lives(holder: Owner) -> Option<bool> {
    if holder.pid() == 0 || holder.namespaces() == 0 || holder.namespaces() != proc::namespaces() {
        return None;
    }
    Some(!memory::is_gone(holder.pid()) && (holder.start() == 0 || !is_reused(holder)))
}

/// Whether the pid of an owner whose start is known is another process's by now.
fn is_reused(owner: Owner) -> bool {
    proc::start(owner.pid()).is_some_and(|start| start != owner.start())
}

/// Counts where the quick way does not lead: the thread's first count, the first after a fork, no slot, no counters.
#[cold]
#[inline(never)]
pub(super) fn count_slowly(thread: &Thread, place: Place, direction: Direction, calls: u64, bytes: u64) {
    match find_block(thread) {
        Some((block, true)) => block.add_alone(place, direction, calls, bytes),
        Some((block, false)) => block.add_shared(place, direction, calls, bytes),
        None => {}
    }
}

/// The same for the accelerator.
#[cold]
#[inline(never)]
pub(super) fn note_slowly(thread: &Thread, queue: Queue, event: Event) {
    match find_block(thread) {
        Some((block, true)) => block.note_alone(queue, event),
        Some((block, false)) => block.note_shared(queue, event),
        None => {}
    }
}

/// Where the thread counts, and whether it is the only one there.
fn find_block(thread: &Thread) -> Option<(&'static Block, bool)> {
    let epoch = current_epoch()?;
    if thread.attributed.get() != epoch {
        look(thread, epoch);
    }
    take_slot(thread, epoch);
    match thread.slot(epoch) {
        Some(slot) => Some((slot, true)),
        None => segment_of(thread).map(|segment| (segment.shared_slot(), false)),
    }
}

fn segment_of(thread: &Thread) -> Option<&'static Segment> {
    MAPPINGS.get((thread.mapping.get() as usize).wrapping_sub(1))?.segment()
}

fn take_slot(thread: &Thread, epoch: u64) {
    if thread.slot(epoch).is_some() || thread.finished.get() {
        return;
    }
    let patience = thread.patience.get();
    if patience > 0 {
        thread.patience.set(patience - 1);
        return;
    }
    let Some(segment) = segment_of(thread) else { return };
    if !thread::free_at_exit() {
        thread.finished.set(true);
        return;
    }
    let claim = me().and_then(|me| segment.claim(me));
    match claim.and_then(|c| Some((c, segment.slot(c.place)?))) {
        Some((claim, slot)) => thread.hold(slot, claim, epoch),
        None => thread.patience.set(PATIENCE),
    }
}

fn free_slot(thread: &Thread) {
    // In a forked child the slot is the parent's: the epoch tells, and drop_slot gives nothing out.
    let epoch = memory::epoch().load(Acquire);
    if let (Some(claim), Some(segment)) = (thread.drop_slot(epoch), segment_of(thread)) {
        segment.release(claim);
    }
}

/// The thread's destructors run. It may count again all the same, in a later one: then in the shared slot.
pub(super) fn thread_ends() {
    thread::with(|t| {
        t.finished.set(true);
        free_slot(t);
    });
}

/// See [`super::attribute`].
#[inline]
pub(super) fn attribute(thread: &Thread) {
    let left = thread.unchecked.get();
    if left > 0 && thread.attributed.get() == memory::epoch().load(Relaxed) {
        thread.unchecked.set(left - 1);
    } else {
        attribute_now(thread);
    }
}

/// See [`super::attribute_now`].
#[cold]
#[inline(never)]
pub(super) fn attribute_now(thread: &Thread) {
    if let Some(epoch) = current_epoch() {
        look(thread, epoch);
    }
}

/// Looks who the effective user is, and has the thread count for them.
fn look(thread: &Thread, epoch: u64) {
    let uid = memory::effective_user();
    let first = thread.attributed.replace(epoch) != epoch;
    if first {
        thread.eager.set(EAGER);
        thread.patience.set(0);
    }
    let eager = thread.eager.get();
    thread.eager.set(eager.saturating_sub(1));
    thread.unchecked.set(if eager > 0 { 0 } else { BETWEEN_CHECKS });
    if thread.mapping.get() == 0 {
        thread.mapping.set(LAST.load(Relaxed).max(1));
    } else if thread.uid.get() == uid {
        return;
    }
    match mapping(uid, epoch) {
        Found::At(at) => {
            let number = at as u32 + 1;
            if thread.mapping.get() != number {
                free_slot(thread);
                thread.patience.set(0);
                thread.mapping.set(number);
            }
            LAST.store(number, Relaxed);
            thread.uid.set(uid);
        }
        // Goes on for the user it counted for so far: in sshd's sandbox that is root, who started it.
        Found::Refused => thread.uid.set(uid),
        // Asks again at the next look.
        Found::Busy => thread.uid.set(!uid),
    }
}

enum Found {
    At(usize),
    Refused,
    Busy,
}

/// Finds the mapping of a user, maps their segment if it must. No system calls but those of [`memory::map`].
fn mapping(uid: u32, epoch: u64) -> Found {
    let known = |count: usize| MAPPINGS[..count].iter().position(|m| m.uid.load(Relaxed) == u64::from(uid));
    let refused = |at: usize| MAPPINGS[at].segment().is_none() && MAPPINGS[at].tries.load(Relaxed) >= TRIES;
    match known(MAPPED.load(Acquire).min(USERS)) {
        Some(at) if MAPPINGS[at].segment().is_some() => return Found::At(at),
        Some(at) if refused(at) => return Found::Refused,
        _ => {}
    }
    let holder = MAPPING_IN.load(Relaxed);
    if holder == epoch || MAPPING_IN.compare_exchange(holder, epoch, Acquire, Relaxed).is_err() {
        return Found::Busy;
    }
    let count = MAPPED.load(Acquire).min(USERS);
    let at = known(count).unwrap_or(count);
    let found = match MAPPINGS.get(at) {
        None => Found::Refused,
        Some(entry) if entry.segment().is_some() => Found::At(at),
        Some(entry) => match memory::map(reader::key(KEY_PREFIX.load(Relaxed), uid), uid, Access::Create) {
            Ok(Some(segment)) => {
                enter(at, uid, Some(segment.keep()));
                Found::At(at)
            }
            _ => {
                entry.tries.fetch_add(1, Relaxed);
                enter(at, uid, None);
                Found::Refused
            }
        },
    };
    MAPPING_IN.store(0, Release);
    found
}

/// Frees the slots of dead owners, when few are left: their counts stay where they are. Calls kill and opens files: only
/// while the module loads. Asks for `asked` owners at most, not always the same.
fn reclaim(segment: &Segment, mut claims: Vec<Claim>, asked: usize) {
    let Some(me) = me() else { return };
    let taken = claims.len();
    if taken < CROWDED || me.namespaces() == 0 {
        return;
    }
    claims.rotate_left(me.pid() as usize % taken);
    claims.retain(|c| c.owner.namespaces() == me.namespaces());
    let mut living = Vec::new();
    for claim in claims.into_iter().take(asked) {
        let owner = claim.owner;
        // Our own pid in another image: that was us, before exec.
        let dead = if owner.pid() == me.pid() { owner.image() != me.image() } else { memory::is_gone(owner.pid()) };
        if dead {
            segment.release(claim);
        } else {
            living.push(claim);
        }
    }
    if taken < FULL || me.start() == 0 {
        return;
    }
    let known = living.into_iter().filter(|c| c.owner.start() != 0 && c.owner.pid() != me.pid());
    for claim in known.take(LOOKUPS) {
        if is_reused(claim.owner) {
            segment.release(claim);
        }
    }
}

/// What /proc says of processes.
mod proc {
    use rustix::process::getpid;

    /// 16 bits of the pid namespace and the time namespace (which start times are relative to); 0 where not known.
    pub(super) fn namespaces() -> u16 {
        let inode = |path| rustix::fs::stat(path).map_or(0, |s| s.st_ino as u32);
        let pid = inode("/proc/self/ns/pid");
        // No such file: a kernel without time namespaces, or one in which all are in the first.
        let time = inode("/proc/self/ns/time");
        if pid == 0 { 0 } else { (pid ^ time.wrapping_mul(0x9e37)) as u16 }
    }

    /// This process's start time as in [`start`]; 0 where not known.
    pub(super) fn own_start() -> u16 {
        // A /proc of another pid namespace shows other processes under these numbers.
        let pid = std::fs::read_link("/proc/self").ok().and_then(|p| p.to_str()?.parse().ok());
        let me = getpid().as_raw_nonzero().get() as u32;
        if pid == Some(me) { start(me).unwrap_or(0) } else { 0 }
    }

    /// A process's start time in clock ticks, as a number from 1 to 4095: that of its first thread, which is the same. For
    /// qemu's user mode makes up the file that is named for the process, with another start time in each thread.
    pub(super) fn start(pid: u32) -> Option<u16> {
        let line = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
        parse_start(&line)
    }

    fn parse_start(line: &str) -> Option<u16> {
        // The second field is a name in parentheses, which may hold blanks and parentheses; this is the 22nd.
        let (_, rest) = line.rsplit_once(')')?;
        let ticks: u64 = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
        Some((ticks % 4095 + 1) as u16)
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn a_name_cannot_shift_the_fields() {
            let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4095 20";
            for name in ["a", "a b", ") S 1 2 (", ")"] {
                assert_eq!(super::parse_start(&format!("12 ({name}) {rest}")), Some(1));
            }
            for bad in ["", "12 (a", "12 (a) S 1", "12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"] {
                assert_eq!(super::parse_start(bad), None);
            }
        }

        #[test]
        fn this_process_has_a_start_and_a_namespace() {
            assert_ne!(super::own_start(), 0);
            assert_ne!(super::namespaces(), 0);
        }

        #[test]
        fn every_thread_sees_the_same_start() {
            let first = super::own_start();
            // Some clock ticks.
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert_eq!(std::thread::spawn(super::own_start).join().unwrap(), first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A segment of the test's own, removed when it ends.
    struct Scratch(memory::Mapped);

    impl Scratch {
        fn new(name: u32) -> Scratch {
            NAMESPACES.store(proc::namespaces(), Relaxed);
            START.store(proc::own_start(), Relaxed);
            IMAGE.store(memory::image().into(), Relaxed);
            let key = reader::key(0x7e57_0000 ^ std::process::id() << 4 ^ name, 0);
            Scratch(memory::map(key, memory::effective_user(), Access::Create).unwrap().unwrap())
        }

        fn claim(&self, pid: u32, namespaces: u16, start: u16, image: u8) -> Claim {
            self.0.claim(Owner::new(pid, namespaces, start, image).unwrap()).unwrap()
        }

        fn places(&self) -> Vec<usize> {
            self.0.claims().iter().map(|c| c.place).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            memory::remove(self.0.id).unwrap();
        }
    }

    /// For who starts processes, and for who counts those that have a segment mapped: where vfork is a fork, as in qemu's user
    /// mode, a child has its parent's segments mapped until it runs its own program.
    fn one_at_a_time() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dead_pid() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    /// A start time that is not this one, nor 0, which is none.
    fn other_start(start: u16) -> u16 {
        if start == 1 { 2 } else { 1 }
    }

    #[test]
    fn only_slots_of_the_dead_are_taken_back() {
        let _turn = one_at_a_time();
        let scratch = Scratch::new(1);
        let (me, dead) = (me().unwrap(), dead_pid());
        let mut living = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let ns = me.namespaces();
        let kept = [
            scratch.claim(living.id(), ns, 0, 0),
            scratch.claim(me.pid(), ns, me.start(), me.image()),
            scratch.claim(dead, ns ^ 1, 0, 0),
            scratch.claim(dead, 0, 0, 0),
        ]
        .map(|c| c.place);
        scratch.claim(me.pid(), ns, me.start(), me.image() ^ 1);
        scratch.claim(dead, ns, 7, 7);
        // Few are taken: nobody looks.
        reclaim(&scratch.0, scratch.0.claims(), usize::MAX);
        assert_eq!(scratch.places().len(), 6);
        (0..CROWDED).for_each(|i| _ = scratch.claim(dead, ns, i as u16 & 0xfff, i as u8));
        reclaim(&scratch.0, scratch.0.claims(), usize::MAX);
        living.kill().unwrap();
        living.wait().unwrap();
        assert_eq!(scratch.places(), kept);
    }

    #[test]
    fn a_reused_pid_is_told_by_its_start() {
        let _turn = one_at_a_time();
        let scratch = Scratch::new(2);
        let me = me().unwrap();
        let mut living = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let start = proc::start(living.id()).unwrap();
        let other = other_start(start);
        let kept: Vec<_> = (0..FULL).map(|_| scratch.claim(living.id(), me.namespaces(), start, 0).place).collect();
        let reused: Vec<_> = (0..20).map(|_| scratch.claim(living.id(), me.namespaces(), other, 0).place).collect();
        let left = |scratch: &Scratch| reused.iter().filter(|p| scratch.places().contains(p)).count();
        // A comer looks some of them up; where it begins depends on its pid, which here stays the same.
        let mut all = scratch.0.claims();
        for _ in 0..=all.len() / LOOKUPS {
            reclaim(&scratch.0, all.clone(), ASKED);
            all.rotate_left(LOOKUPS);
        }
        living.kill().unwrap();
        living.wait().unwrap();
        assert_eq!(left(&scratch), 0);
        assert_eq!(scratch.places(), kept);
    }

    #[test]
    fn a_lock_is_left_by_the_dead_alone() {
        let _turn = one_at_a_time();
        let me = holder(7).unwrap();
        assert_eq!(lives(me), Some(true));
        let with = |pid, namespaces, start| lives(Owner::new(pid, namespaces, start, 7).unwrap());
        assert_eq!(with(dead_pid(), me.namespaces(), me.start()), Some(false));
        assert_eq!(
            with(me.pid(), me.namespaces(), other_start(me.start())),
            Some(false),
            "the pid is another process's now"
        );
        assert_eq!(with(me.pid(), me.namespaces(), 0), Some(true), "nothing but the pid is known");
        assert_eq!(with(me.pid(), me.namespaces() ^ 1, me.start()), None);
        assert_eq!(lives(Owner::from_word(0)), None);
    }

    #[test]
    fn who_is_alone_with_a_segment_knows_it() {
        let _turn = one_at_a_time();
        let scratch = Scratch::new(3);
        let uid = memory::effective_user();
        assert!(memory::alone(&scratch.0));
        let key = reader::key(0x7e57_0000 ^ std::process::id() << 4 ^ 3, 0);
        let second = memory::map(key, uid, Access::Read).unwrap().unwrap();
        assert!(!memory::alone(&scratch.0));
        drop(second);
        assert!(memory::alone(&scratch.0));
    }

    #[test]
    fn a_released_slot_is_not_released_for_its_next_owner() {
        let scratch = Scratch::new(4);
        let first = scratch.claim(10, 1, 1, 1);
        assert!(scratch.0.release(first));
        let second = scratch.claim(10, 1, 1, 1);
        assert_eq!(first.place, second.place);
        assert!(!scratch.0.release(first), "the use count tells them apart");
        assert!(scratch.0.release(second));
    }
}
