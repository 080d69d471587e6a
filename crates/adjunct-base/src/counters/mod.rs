//! Calls and bytes per user and function, shared by all processes of the machine.
//!
//! # Where they live
//! One segment of SysV shared memory per user (`segment.rs`), and one of root's for switched users (`switched.rs`): what processes that were loaded
//! as root count while they run as another user. Not a file in /dev/shm: a segment cannot be truncated under those who have it mapped (no SIGBUS),
//! needs no mounted file system with room, no descriptor that a daemon may close, and no path that a chroot hides. A segment is used only if its
//! owner *and* its creator are the user, its mode is 0600, its size exact and its first word (magic, version, hash of the layout and of the owner)
//! ours; else the next of several keys is tried, and last a segment without a key (`find.rs`). So no user can take the place of another's segment,
//! and two versions with different layouts never read each other's numbers. Nothing read from a segment is used as an index, length or pointer.
//!
//! How often mechanisms of PKCS #11 were used has segments of its own (`uses.rs`), found and trusted in the same way.
//!
//! A module does not report in a foreign program what keeps it from counting; `adjunct stats` does, by [`remarks`].
//!
//! # What stands in it
//! ```text
//! identity | reset lock | resets | 1024 owner words | 2 baselines | 1024 slots
//! ```
//! A slot is a 64-byte line per catalogue row (hardware, software x encrypt, decrypt x calls, bytes), the fallbacks by function and reason (calls,
//! bytes), and the accelerator's queues (batches by lanes filled, operations in lanes and alone, lanes that went wrong). A thread owns a slot and is
//! the only one to write there: counting is plain loads and stores on lines that no other thread touches. Slot 0 is shared, with atomic additions, by
//! threads that find no free slot.
//!
//! *Counters are never moved.* A slot's next owner adds to the numbers of the last one; what was counted is the sum over all slots at any moment,
//! whichever process was killed when. Numbers are never moved from slot to slot, and so not lost on the way. An owner is one word and changes hands
//! in one instruction. A reset does not touch the slots either: the sums are written as the new baseline, into the one of two that is out of force,
//! and one instruction puts it in force.
//!
//! # Slots of the dead
//! A thread gives its slot back when it ends. Slots of killed processes are freed when slots get scarce, by a process while it opens the counters,
//! never later: a sandbox may kill a process for asking whether another lives. An owner is dead if its pid is gone, was reused (start time), has
//! called exec since (AT_RANDOM), or if no other process has the segment mapped. An owner in another pid or time namespace is left alone. If all are
//! taken, counts go to slot 0: slower, still exact.
//!
//! # Fork
//! The process's generation ([`crate::fork`]) is the *epoch*; a thread's slot is valid in the epoch it was taken in. So a child's
//! first count sees that the slot is its parent's, and takes its own with memory operations alone:
//! its owner word says the thread, whose id the C library knows ([`crate::sandbox`]), since the page with the pid is wiped too.
//! Nothing waits for a lock, so it does not matter where the parent's other threads were.
//!
//! # Whose counts
//! The effective user's, per thread. Only a process that was loaded as root becomes another, so only such a process looks, in
//! [`attribute`], when a context is made: at each of a thread's first 256 after start or fork, then at every 64th, since geteuid
//! costs as much as many operations. While it is another user it counts in slots of the segment of switched users, each of which
//! belongs to the first user who counted there. That segment was mapped while the module loaded, so becoming a user takes no
//! system call but geteuid; and where a filter of system calls was in force then, nothing is counted and none is made at all.
//! Nothing in memory tells that the effective user has changed, so geteuid stays: a filter that a program loaded as root closes
//! later has to allow it.
//!
//! *Why a segment of its own.* Its slots are sticky, so many users would use up root's. It can be read by root and with CAP_IPC_OWNER alone: a reader
//! sees the size of each record of other users' connections while they last, which can reveal typed passwords and visited pages. So what sshd does
//! for a user is shown to root (`adjunct stats -U`); users see what their own programs do. A process that gives up root keeps root's segments mapped,
//! this and root's own, and may falsify the numbers there but nothing else: the mappings cannot be given up without a system call, and pages taken
//! away could be mapped again.
//!
//! # Known limits
//! * A process that is forked into a new pid namespace without exec records ids of that namespace as if of its parent's
//!   (except the namespace's first process), and could be taken for dead: two writers in one slot may lose single counts. So could
//!   a child made by a bare clone, past the C library, once its parent is gone.
//! * A child killed after fork without exec leaves a slot without start time: it stays taken while its id is reused.
//! * With no slot left for another user (1023, of all users together, and of each as many as once counted at the same time) what
//!   switched users do counts as root's.
//! * Programs loaded as another user than root count for that user alone, whatever they become later.
//! * A service or container with an IPC namespace of its own (`PrivateIPC=yes`) has counters of its own, seen from inside.
//! * systemd-logind removes the shared memory of a user who has logged out of their last session, unless a process still
//!   has it mapped or `RemoveIPC=no` stands in logind.conf. It spares root and system users, so daemons' counters stay.
//!
//! # Environment
//! `ADJUNCT_STATS=off` switches counting off; `on` counts also under a filter of system calls, which then has to allow shmget, shmctl and shmat.
//! `ADJUNCT_STATS_KEY=<any word>` gives tests counters of their own: it is hashed into the keys; the test that sets it removes the segments in the
//! end ([`delete`]). Both are ignored in programs that run with another's rights.

mod find;
mod layout;
mod memory;
mod owner;
mod proc;
mod process;
mod reader;
mod segment;
mod settings;
mod slot;
mod snapshot;
mod switched;
mod table;
mod thread;
mod uses;

pub use layout::{Event, Place};
pub use slot::{Place as SlotPlace, Slot};
pub use snapshot::{Cell, Counts, Lanes, Snapshot};
pub use table::{Strength, Use};

use crate::catalogue::{Direction, Queue};
use crate::error::Error;
use crate::fork;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The size of a segment in bytes. Only what is used of it takes memory.
pub const SEGMENT_SIZE: usize = size_of::<segment::Segment>();

/// Whether this process counts. Of this copy of the code alone: a provider beside libica has its own.
static COUNTING: AtomicBool = AtomicBool::new(true);

/// Sets whether this process counts, operations as well as what the accelerator does (`ica_set_stats_mode`).
pub fn switch(on: bool) {
    COUNTING.store(on, Relaxed);
}

#[inline]
fn counting() -> bool {
    COUNTING.load(Relaxed)
}

/// Maps the counters of the effective user, and for root those of the users it may become. Never fails and says nothing: where none can be opened,
/// nothing is counted, and [`remarks`] say why.
pub fn open() {
    process::open();
}

/// Attributes operations of this thread from now on to the effective user: call it where a context is created. The user is not looked up each time,
/// which costs more than counting does; [`attribute_now`] looks it up.
#[inline]
pub fn attribute() {
    if counting() && process::looks() {
        thread::with(process::attribute);
    }
}

/// Attributes this thread's operations to the effective user, as [`attribute`] does, but looks the user up each time: for contexts that are rare
/// beside what they cost (public-key operations).
pub fn attribute_now() {
    if counting() && process::looks() {
        thread::with(process::attribute_now);
    }
}

/// Counts `calls` calls and `bytes` bytes.
#[inline]
pub fn add(place: Place, direction: Direction, calls: u64, bytes: u64) {
    if !counting() {
        return;
    }
    thread::with(|t| match t.slot(fork::this_process().number()) {
        Some(slot) => slot.add_alone(place, direction, calls, bytes),
        None => process::count_slowly(t, place, direction, calls, bytes),
    });
}

/// Counts what the accelerator did.
#[inline]
pub fn note(queue: Queue, event: Event) {
    if !counting() {
        return;
    }
    thread::with(|t| match t.slot(fork::this_process().number()) {
        Some(slot) => slot.note_alone(queue, event),
        None => process::note_slowly(t, queue, event),
    });
}

/// Whether this process may read the counters of all users: root's, or one with CAP_IPC_OWNER, which the system requires to map others' shared
/// memory.
pub fn reads_all() -> bool {
    reader::reads_all()
}

/// The users who have counters, by uid in ascending order. Other users are seen only if [`reads_all`] is true.
///
/// # Errors
/// [`Error::Counters`] where the system refuses.
pub fn users() -> Result<Vec<u32>, Error> {
    reader::users(settings::prefix())
}

/// What `uid` has counted since the last reset; `None` where the user has no counters.
///
/// # Errors
/// [`Error::Counters`] with the cause: no permission, or the system gives no list of its segments.
pub fn read(uid: u32) -> Result<Option<Snapshot>, Error> {
    reader::read(settings::prefix(), uid)
}

/// How many processes have the counters of `uid` mapped, that is, have a module of adjunct loaded as that user: a program loaded as root counts as
/// root's, whichever user it becomes. A process with several modules counts for each.
///
/// # Errors
/// [`Error::Counters`] where the system gives no list of its segments.
pub fn attached(uid: u32) -> Result<u64, Error> {
    reader::attached(settings::prefix(), uid)
}

/// The slots in which anything was ever counted for `uid`, with who counts there now: of two such lists it follows what each process
/// counted between them.
///
/// # Errors
/// As for [`read`].
pub fn slots(uid: u32) -> Result<Vec<Slot>, Error> {
    reader::slots(settings::prefix(), uid)
}

/// Sets the counters of `uid` to zero and returns what they were: a call is in one such answer, or still in the counters,
/// never lost between them and never in two.
///
/// # Errors
/// As for [`read`]; another process that has been resetting them for half a minute, as a stopped one does; one that writes
/// there what adjunct does not.
pub fn take(uid: u32) -> Result<Option<Snapshot>, Error> {
    reader::take(settings::prefix(), uid)
}

/// Sets the counters of `uid` to zero; what running processes count from now on is kept.
///
/// # Errors
/// As for [`read`].
pub fn reset(uid: u32) -> Result<(), Error> {
    take(uid).map(|_| ())
}

/// Removes the counters of `uid`; processes that have them mapped go on, uncounted.
///
/// # Errors
/// As for [`read`]; damaged counters are removed too.
pub fn delete(uid: u32) -> Result<(), Error> {
    delete_of(settings::prefix(), uid)
}

fn delete_of(prefix: u32, uid: u32) -> Result<(), Error> {
    reader::delete(prefix, uid)?;
    if prefix != 0 {
        // A test's: with its counters all goes that it has made.
        uses::delete(prefix, uid)?;
    }
    Ok(())
}

/// What keeps the programs of `uid` from counting, or did so in their first place: another user's segment in the way, a damaged
/// one, the system's limits, a filter of system calls. Programs themselves say nothing of it.
pub fn remarks(uid: u32) -> Vec<Error> {
    reader::remarks(settings::prefix(), uid)
}

/// Segments in the way of the programs of `uid`: the part of [`remarks`] that does not depend on the process that asks, which may run under a filter
/// of system calls itself, as a service does.
///
/// # Errors
/// As for [`read`].
pub fn obstacles(uid: u32) -> Result<Vec<Error>, Error> {
    reader::obstacles(settings::prefix(), uid)
}

/// Has this process count uses of mechanisms for the current effective user. Never fails and says nothing.
pub fn open_uses() {
    uses::open();
}

/// Counts a use of a mechanism of PKCS #11, where [`open_uses`] has been called.
#[inline]
pub fn count_use(slot: u32, mechanism: u32, strength: Strength) {
    uses::count(slot, mechanism, strength);
}

/// How often `uid` used mechanisms since the last reset; `None` where the user has no such counters.
///
/// # Errors
/// As for [`read`].
pub fn uses(uid: u32) -> Result<Option<Vec<Use>>, Error> {
    uses::read(settings::prefix(), uid)
}

/// Sets the uses of `uid` to zero, of all slots or of one; whether there are any counters. A use is in an answer before it or still there.
///
/// # Errors
/// As for [`read`].
pub fn reset_uses(uid: u32, slot: Option<u32>) -> Result<bool, Error> {
    uses::reset(settings::prefix(), uid, slot)
}

/// Removes the counters of uses of `uid`; whether there were any. Programs that have them mapped go on, uncounted.
///
/// # Errors
/// As for [`read`].
pub fn delete_uses(uid: u32) -> Result<bool, Error> {
    uses::delete(settings::prefix(), uid)
}

/// The users who have counters of uses, by uid in ascending order. Other users are seen only if [`reads_all`] is true.
///
/// # Errors
/// [`Error::Counters`] where the system refuses.
pub fn users_of_uses() -> Result<Vec<u32>, Error> {
    uses::users(settings::prefix())
}

/// The key of the shared memory segment with the counters of `uid`, as `ipcs -m` lists it: the first of those that are tried.
pub fn key(uid: u32) -> i32 {
    reader::key(settings::prefix(), uid)
}

/// The counters of programs that run with another `ADJUNCT_STATS_KEY` than this one: a program that starts others with a key of their own reads here
/// what those counted, and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apart {
    prefix: u32,
}

impl Apart {
    /// The counters under `ADJUNCT_STATS_KEY=word`; an empty word leads to the users' ordinary counters.
    pub fn of(word: &str) -> Apart {
        Apart { prefix: settings::prefix_of(word) }
    }

    /// The key of the shared memory segment with the counters of `uid` ([`key()`]), under this word.
    pub fn key(&self, uid: u32) -> i32 {
        reader::key(self.prefix, uid)
    }

    /// The users who have counters under this word, by uid in ascending order ([`users()`]).
    ///
    /// # Errors
    /// As [`users`].
    pub fn users(&self) -> Result<Vec<u32>, Error> {
        reader::users(self.prefix)
    }

    /// What `uid` has counted under this word since the last reset; `None` where the user has no counters ([`read()`]).
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, uid: u32) -> Result<Option<Snapshot>, Error> {
        reader::read(self.prefix, uid)
    }

    /// Removes the counters of `uid` under this word; processes that have them mapped go on, uncounted ([`delete()`]).
    ///
    /// # Errors
    /// As [`delete`].
    pub fn delete(&self, uid: u32) -> Result<(), Error> {
        delete_of(self.prefix, uid)
    }
}
