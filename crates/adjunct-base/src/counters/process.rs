//! What this process and its threads do to count: find the user's segment, take a slot, give it back.
//!
//! Nothing here waits: a child may be forked while another thread is anywhere in this code, and finds no lock held. After [`open`] the only system
//! call is geteuid, in processes that were loaded as root where no filter was in force.
#![forbid(unsafe_code)]

use super::find::Sought;
use super::layout::{Block, Event, Place, SLOTS};
use super::memory::{self, Kept, Kind, Mapped};
use super::owner::{Claim, Owner, Owners};
use super::proc;
use super::segment::Segment;
use super::settings::{self, Settings};
use super::switched::Switched;
use super::thread::{self, AtEnd, Thread};
use crate::catalogue::Direction;
use crate::catalogue::Queue;
use crate::fork;
use crate::sandbox;
use rustix::process::getpid;
use std::ffi::c_void;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32};

/// geteuid costs as much as 500 counts here. A process that changes its user does so soon after it starts.
const EAGER: u16 = 256;
const BETWEEN_CHECKS: u16 = 63;
/// Counts in the shared slot before a thread looks again for one of its own.
const PATIENCE: u16 = 4096;
/// Numbers of owned slots from which on a new owner looks for dead owners, and from which on it also looks for reused pids.
const CROWDED: usize = SLOTS / 16;
const FULL: usize = SLOTS / 2;
/// The number of owned slots from which on a new owner looks for dead owners where a slot belongs to one user for good: slots of dead owners have to
/// be freed before the next user takes new ones.
const CROWDED_BY_USERS: usize = 8;
/// Owners that a new owner checks at most, and start times it looks up at most: loading the module must stay quick.
const ASKED: usize = 256;
const LOOKUPS: usize = 32;

static STATE: AtomicU32 = AtomicU32::new(NEW);
const NEW: u32 = 0;
const OPENING: u32 = 1;
const OPEN: u32 = 2;

/// The segment of the user the module was loaded as.
static OWN: Kept<Segment> = Kept::none();
static BORN: AtomicU32 = AtomicU32::new(0);
/// The segment of switched users: where there is none, all is counted for the user the module was loaded as.
static SWITCHED: Kept<Switched> = Kept::none();
/// Whether the effective user is looked up.
static LOOKS: AtomicBool = AtomicBool::new(false);
/// The process, by its generation, whose pid namespace has been looked at.
static LOOKED: AtomicU32 = AtomicU32::new(0);

// What identifies this process to others; see `Owner`.
static NAMESPACES: AtomicU16 = AtomicU16::new(0);
static START: AtomicU16 = AtomicU16::new(0);
static IMAGE: AtomicU16 = AtomicU16::new(0);

/// See [`super::open`].
pub(super) fn open() {
    if STATE.compare_exchange(NEW, OPENING, AcqRel, Relaxed).is_err() {
        return;
    }
    let Settings::On { prefix, even_filtered } = settings::settings() else { return };
    let filtered = sandbox::filtered();
    if filtered && !even_filtered {
        return;
    }
    let uid = memory::effective_user();
    sandbox::compare();
    NAMESPACES.store(proc::namespaces(), Relaxed);
    START.store(proc::own_start(), Relaxed);
    IMAGE.store(memory::image().into(), Relaxed);
    if !fork::prime() {
        return;
    }
    fork::this_process().pid.store(getpid().as_raw_nonzero().get().cast_unsigned(), Relaxed);
    let generation = fork::generation();
    LOOKED.store(generation, Release);
    let epoch = u64::from(generation);
    // Nothing is said where there are no counters: it is not this program's user who can mend that. `adjunct stats` says it.
    let Ok(own) = Sought::of(prefix, uid).open() else { return };
    tidy(&own, own.owners(), CROWDED);
    OWN.set(own);
    BORN.store(uid, Relaxed);
    // Only who starts as root becomes another user; and a filter that is in force may kill for geteuid.
    if uid == 0
        && !filtered
        && let Ok(switched) = Sought::switched(prefix).open()
    {
        tidy(&switched, switched.owners(), CROWDED_BY_USERS);
        SWITCHED.set(switched);
        LOOKS.store(true, Relaxed);
    }
    STATE.store(OPEN, Release);
    // The loading thread's slot now: its memory, and the note to free it, are there before a sandbox closes.
    thread::with(|t| {
        t.uid.set(uid);
        free_at_exit_of_process();
        look(t, epoch);
        take_slot(t, epoch);
    });
}

/// Frees the slots of dead owners.
fn tidy<T: Kind>(segment: &Mapped<T>, owners: Owners<'_>, crowded: usize) {
    let claims = owners.claims();
    // The owners first, then the question: whoever owned a slot then and is alive has the segment mapped still.
    if memory::alone(segment, 1) {
        claims.iter().for_each(|c| _ = owners.release(*c));
    } else if claims.len() >= crowded {
        reclaim(owners, claims, ASKED);
    }
}

/// Whether the effective user is looked up in this process.
#[inline]
pub(super) fn looks() -> bool {
    LOOKS.load(Relaxed)
}

/// How many mappings of the segment of switched users this process has by itself.
pub(super) fn switched_mappings() -> u64 {
    SWITCHED.get().is_some().into()
}

/// Generation of this process; `None` while nothing is open.
fn current_epoch() -> Option<u64> {
    if STATE.load(Acquire) != OPEN {
        return None;
    }
    let generation = fork::generation();
    if LOOKED.load(Acquire) != generation {
        // The first of a new pid namespace, made by unshare and fork: its pids mean nothing where it came from.
        if sandbox::thread_id() == Some(1) {
            NAMESPACES.store(0, Relaxed);
        }
        LOOKED.store(generation, Release);
    }
    Some(generation.into())
}

/// This process as the owner of a slot; in a child, whose pid would take a system call to know, the thread, which owns the slot no longer than it
/// lives. `None` where the C library does not tell that either.
pub(super) fn me() -> Option<Owner> {
    let (namespaces, image) = (NAMESPACES.load(Relaxed), IMAGE.load(Relaxed) as u8);
    match fork::this_process().pid.load(Relaxed) {
        0 => Owner::new(sandbox::thread_id()?, namespaces, 0, image),
        pid => Owner::new(pid, namespaces, START.load(Relaxed), image),
    }
}

/// The word that names this process as the holder of the reset lock. `call` tells its calls apart.
pub(super) fn holder(call: u8) -> Option<Owner> {
    let pid = u32::try_from(getpid().as_raw_nonzero().get()).ok()?;
    Owner::new(pid, proc::namespaces(), proc::own_start(), call)
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

/// Notes an event of the accelerator where the quick way does not lead: the thread's first count, the first after a fork, no slot, no
/// counters.
#[cold]
#[inline(never)]
pub(super) fn note_slowly(thread: &Thread, queue: Queue, event: Event) {
    match find_block(thread) {
        Some((block, true)) => block.note_alone(queue, event),
        Some((block, false)) => block.note_shared(queue, event),
        None => {}
    }
}

/// Finds the block in which the thread counts, and whether it is the only one there.
fn find_block(thread: &Thread) -> Option<(&'static Block, bool)> {
    let epoch = current_epoch()?;
    if thread.attributed.get() != epoch {
        look(thread, epoch);
    }
    take_slot(thread, epoch);
    match thread.slot(epoch) {
        Some(slot) => Some((slot, true)),
        None if switched(thread) => SWITCHED.get().map(|s| (s.shared_slot(), false)),
        None => OWN.get().map(|s| (s.shared_slot(), false)),
    }
}

/// Whether the thread counts for another user than the one the module was loaded as.
fn switched(thread: &Thread) -> bool {
    looks() && thread.uid.get() != BORN.load(Relaxed)
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
    if !ENDS.ask() {
        thread.patience.set(PATIENCE);
        return;
    }
    let switched = switched(thread);
    let taken = me().and_then(|me| {
        if switched {
            let segment = SWITCHED.get()?;
            let claim = segment.claim(me, thread.uid.get())?;
            Some((claim, segment.slot(claim.place)?))
        } else {
            let segment = OWN.get()?;
            let claim = segment.owners().claim(me, |_| true)?;
            Some((claim, segment.slot(claim.place)?))
        }
    });
    match taken {
        Some((claim, slot)) => thread.hold(slot, claim, switched, epoch),
        None => thread.patience.set(PATIENCE),
    }
}

fn free_slot(thread: &Thread) {
    // In a forked child the slot is the parent's: the epoch tells, and drop_slot gives nothing out.
    let epoch = fork::this_process().number();
    let Some((claim, switched)) = thread.drop_slot(epoch) else { return };
    let owners = if switched { SWITCHED.get().map(Switched::owners) } else { OWN.get().map(Segment::owners) };
    if let Some(owners) = owners {
        owners.release(claim);
    }
}

/// The thread's destructors run. It may count again all the same, in a later one: then in the shared slot.
fn thread_ends() {
    thread::with(|t| {
        t.finished.set(true);
        free_slot(t);
    });
}

/// Has the slots of threads freed when they end.
static ENDS: AtEnd = AtEnd::new(ends);

extern "C" fn ends(_: *mut c_void) {
    thread_ends();
}

/// Frees the loading thread's slot when the process ends, or that thread before it.
struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        thread_ends();
    }
}

thread_local! {
    static AT_EXIT: AtExit = const { AtExit };
}

/// Has the slot of the thread that loads the module freed when the process ends as well. Std allocates memory here, which can be had at that time,
/// and keeps the module mapped until then.
fn free_at_exit_of_process() {
    let _ = AT_EXIT.try_with(|_| ());
}

/// See [`super::attribute`].
#[inline]
pub(super) fn attribute(thread: &Thread) {
    let left = thread.unchecked.get();
    if left > 0 && thread.attributed.get() == fork::this_process().number() {
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
    if thread.attributed.replace(epoch) != epoch {
        thread.eager.set(EAGER);
        thread.patience.set(0);
    }
    if !looks() {
        return;
    }
    let eager = thread.eager.get();
    thread.eager.set(eager.saturating_sub(1));
    thread.unchecked.set(if eager > 0 { 0 } else { BETWEEN_CHECKS });
    let uid = memory::effective_user();
    if thread.uid.replace(uid) != uid {
        free_slot(thread);
        thread.patience.set(0);
    }
}

/// Frees the slots of dead owners: their counts stay where they are. Calls kill and opens files: only while the module loads. Checks at most `asked`
/// owners, in varying order.
fn reclaim(owners: Owners<'_>, mut claims: Vec<Claim>, asked: usize) {
    let Some(me) = me() else { return };
    let taken = claims.len();
    if taken == 0 || me.namespaces() == 0 {
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
            owners.release(claim);
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
            owners.release(claim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A segment of the test's own, removed when it ends.
    struct Scratch<T: Kind = Segment>(Mapped<T>);

    impl<T: Kind> Scratch<T> {
        fn of(sought: &Sought<T>) -> Scratch<T> {
            NAMESPACES.store(proc::namespaces(), Relaxed);
            START.store(proc::own_start(), Relaxed);
            IMAGE.store(memory::image().into(), Relaxed);
            fork::this_process().pid.store(std::process::id(), Relaxed);
            Scratch(sought.open().unwrap())
        }
    }

    fn prefix(name: u32) -> u32 {
        0x7e57_0000 ^ std::process::id() << 4 ^ name
    }

    impl Scratch {
        fn new(name: u32) -> Scratch {
            Scratch::of(&Sought::of(prefix(name), memory::effective_user()))
        }

        fn claim(&self, pid: u32, namespaces: u16, start: u16, image: u8) -> Claim {
            self.0.owners().claim(Owner::new(pid, namespaces, start, image).unwrap(), |_| true).unwrap()
        }

        fn places(&self) -> Vec<usize> {
            self.0.owners().claims().iter().map(|c| c.place).collect()
        }
    }

    impl<T: Kind> Drop for Scratch<T> {
        fn drop(&mut self) {
            memory::remove(self.0.id).unwrap();
        }
    }

    /// Lock for tests that start processes and tests that count those that have a segment mapped: where vfork is a fork, as in qemu's user mode, a
    /// child has its parent's segments mapped until it runs its own program.
    fn one_at_a_time() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dead_pid() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    /// A start time that differs from `start` and is not 0, which is none.
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
        // Few are taken: nobody looks. The second mapping stands for another process.
        let _second = Sought::of(prefix(1), memory::effective_user()).open().unwrap();
        tidy(&scratch.0, scratch.0.owners(), CROWDED);
        assert_eq!(scratch.places().len(), 6);
        (0..CROWDED).for_each(|i| _ = scratch.claim(dead, ns, i as u16 & 0xfff, i as u8));
        reclaim(scratch.0.owners(), scratch.0.owners().claims(), usize::MAX);
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
        let mut all = scratch.0.owners().claims();
        for _ in 0..=all.len() / LOOKUPS {
            reclaim(scratch.0.owners(), all.clone(), ASKED);
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
        assert!(memory::alone(&scratch.0, 1));
        let second = Sought::of(prefix(3), uid).open().unwrap();
        assert_eq!(second.id, scratch.0.id);
        assert!(!memory::alone(&scratch.0, 1) && memory::alone(&scratch.0, 2));
        drop(second);
        assert!(memory::alone(&scratch.0, 1));
    }

    #[test]
    fn a_released_slot_is_not_released_for_its_next_owner() {
        let scratch = Scratch::new(4);
        let first = scratch.claim(10, 1, 1, 1);
        assert!(scratch.0.owners().release(first));
        let second = scratch.claim(10, 1, 1, 1);
        assert_eq!(first.place, second.place);
        assert!(!scratch.0.owners().release(first), "the use count tells them apart");
        assert!(scratch.0.owners().release(second));
    }

    #[test]
    fn a_slot_of_switched_users_stays_its_first_users() {
        use crate::catalogue::Function;
        use crate::catalogue::{Path, Reason};
        if memory::effective_user() != 0 {
            return println!("SKIPPED: root alone has this segment");
        }
        let scratch = Scratch::of(&Sought::switched(prefix(5)));
        let segment = &*scratch.0;
        let me = me().unwrap();
        let place = Place::new(Function::Sha256.row(0), Function::Sha256, Path::Software(Reason::Delegated));
        let count = |uid: u32, calls: u64| {
            let claim = segment.claim(me, uid).unwrap();
            segment.slot(claim.place).unwrap().add_alone(place, Direction::Encrypt, calls, 0);
            assert!(segment.owners().release(claim));
            claim.place
        };
        let calls = |uid: u32| segment.read(uid).function(Function::Sha256).software_calls();
        let (first, second) = (count(1000, 5), count(1001, 7));
        assert_ne!(first, second);
        assert_eq!((count(1000, 1), count(1001, 1), count(u32::MAX - 1, 1)), (first, second, second + 1));
        segment.shared_slot().add_shared(place, Direction::Encrypt, 2, 0);
        assert_eq!((calls(1000), calls(1001), calls(u32::MAX - 1), calls(0), calls(7)), (6, 8, 1, 2, 0));
        assert_eq!(segment.users(), [0, 1000, 1001, u32::MAX - 1]);
        assert_eq!(segment.take(1000).function(Function::Sha256).software_calls(), 6);
        assert_eq!((calls(1000), calls(1001)), (0, 8));
        assert_eq!(segment.users(), [0, 1001, u32::MAX - 1]);
        count(1000, 3);
        assert_eq!(calls(1000), 3);
    }
}
