//! How crowded the machine is with private-key operations, seen by all programs at once: a page of shared memory that adjunctd makes.
//!
//! Every operation that a program does alone or has a card do adds the time it took, waiting included, to the window of its end. The times
//! of the operations that ended in a second, divided by a second, are how many were under way on average (Little's law). So nobody has
//! to say that an operation has begun, and who is killed leaves nothing behind.
//!
//! # The decision
//! An operation goes to a card where cards are faster ([`Page::pays`]): from what the card processes measured of an operation alone, of a
//! batch and of handing one over, and from how many are under way. What they find while they work can end that for a while ([`Page::found`]).
//!
//! How many are under way says too little of servers with more processes than CPUs: an operation alone ends within the time slice in which
//! it began, so that few are seen at a time, though many processes would have one soon if those that have one slept. Where private
//! operations take a noticeable part of the machine's time, it is *tried*: for some milliseconds all of a kind go to cards, and go on
//! going there as long as cards find that they are faster. Else the next trial is later, by twice the time, at first sixteen times as long
//! as the trial; so trials cost less than the noise.
//!
//! # Outages
//! Whoever finds that nobody listens, or that no answer comes, notes it in the page; all others then leave cards alone until one of them, once
//! a second, has asked again. A note counts only until a card has answered anybody: a card that works is there, whatever others found.
//!
//! # Who writes there
//! Everybody. Wrong numbers make others choose the slower of two ways, no more: nothing read here is a length, an index or an address.
//! It is a segment of SysV shared memory, which cannot be truncated under those who have it mapped, and needs neither a descriptor nor a
//! path in a chroot.

#![allow(unsafe_code)]

pub use crate::clock::cpu_time;

use super::wire::Kind;
use crate::catalogue::LANES;
use crate::clock;
use std::io;
use std::path::Path;
use std::ptr::null;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Windows of a kind, and milliseconds of one.
const WINDOWS: usize = 16;
const WINDOW: u64 = 4;
const KINDS: usize = Kind::ALL.len();
/// The first word, of which the key is made too: it changes with the layout, and programs of another version have a page of their own.
const MAGIC: u64 = u64::from_le_bytes(*b"ADJCRO\x00\x03");
/// How much faster cards are to be before operations go there.
const GAIN: f32 = 1.1;
/// Jobs that cards have done of late before their rate is believed.
const FEW: u64 = 24;
/// The part of one CPU's time that private operations of a kind take before cards are tried.
const NOTICEABLE: f32 = 0.2;
/// Milliseconds of the shortest trial, and for which operations go on going to cards that were found to be faster.
const SHORTEST_TRIAL: u64 = 10;
const LONGEST_TRIAL: u64 = 150;
const KEPT: u64 = 100;
/// Milliseconds for which operations stay with their programs where cards were found to be slower, at first and at most; and after a first
/// trial, times its length.
const FIRST_PAUSE: u64 = 50;
const AFTER_TRIAL: u64 = 16;
const LAST_PAUSE: u64 = 25_600;
/// A load so many times as high as that of the last trial is another one.
const OTHER_LOAD: f32 = 2.0;
/// Nanoseconds that each side of a connection is expected to need for it until it has measured that.
const CONNECTING: u64 = 14_000;
/// What stands there of a side that has nothing to do with it.
const FREE: u64 = 1;
/// Milliseconds before somebody asks again where nobody was there.
const OUTAGE: u64 = 1000;

/// Whose CPU time a connection takes, from its making to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Side {
    Program,
    Daemon,
    Card,
}

const SIDES: usize = Side::Card as usize + 1;

/// What is known of a kind, in nanoseconds, and what is decided.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Measured {
    /// An operation alone, a batch of eight, handing one over.
    alone: AtomicU64,
    batch: AtomicU64,
    handing: AtomicU64,
    /// Of cards' work since it was last judged: jobs, and the time of workers that they took.
    jobs: AtomicU64,
    busy: AtomicU64,
    /// What each took when it was last judged, handing over included.
    each: AtomicU64,
    /// Milliseconds of the clock until which operations stay with their programs though by what is under way cards were faster, for they
    /// were found to be slower; and how long that was.
    until: AtomicU64,
    pause: AtomicU64,
    /// Milliseconds of the clock before which there is no trial, and how long that was.
    next: AtomicU64,
    rest: AtomicU64,
    /// Milliseconds of the clock until which all operations go to cards: a trial, or because they were found to be faster.
    sent: AtomicU64,
    /// The operations under way, in hundredths, when the last trial began.
    load: AtomicU64,
    /// How many times as long as its CPU time a batch takes, in hundredths: other tasks want the CPUs as well. 0 where none was done.
    stretch: AtomicU64,
}

/// The times of the operations that ended in a window: its number, above 32 bits of microseconds.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Windows([AtomicU64; WINDOWS]);

/// The page.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Page {
    magic: AtomicU64,
    /// Cards that take operations.
    cards: AtomicU64,
    /// CPUs of the machine.
    cpus: AtomicU64,
    /// Milliseconds of the clock when a card last answered anybody, and when somebody last found nobody there.
    answered: AtomicU64,
    nobody: AtomicU64,
    /// What a connection costs each side, in nanoseconds; 0 where that has not been measured.
    connecting: [AtomicU64; SIDES],
    measured: [Measured; KINDS],
    windows: [Windows; KINDS],
}

/// Milliseconds of a clock that all programs of the machine share.
pub fn now() -> u64 {
    clock::monotonic().as_millis() as u64
}

/// The key of the segment of the daemon with this folder: its FNV-1a hash, whatever way its path is written.
fn key(folder: &Path) -> libc::key_t {
    use std::os::unix::ffi::OsStrExt;
    let parts = folder.components().flat_map(|part| [&b"/"[..], part.as_os_str().as_bytes()]);
    let layout = MAGIC.to_le_bytes();
    let bytes = [&b"adjunct cards"[..], &layout].into_iter().chain(parts).flatten();
    let hash = bytes.fold(0x811c_9dc5u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // 0 is no key.
    hash.max(1).cast_signed()
}

impl Page {
    /// Finds the page of the daemon with this folder, with the uid of who made it. Calls shmget, shmctl, shmat and no other.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::InvalidData`] for a segment that is none of ours.
    pub fn find(folder: &Path) -> io::Result<(&'static Page, u32)> {
        map(key(folder), 0)
    }

    /// Finds or makes it. It stays when the daemon ends, for programs that have it mapped.
    ///
    /// # Errors
    /// As for [`Page::find`].
    pub fn make(folder: &Path) -> io::Result<(&'static Page, u32)> {
        map(key(folder), libc::IPC_CREAT | 0o666)
    }

    /// Removes the page of the daemon with this folder: for tests. Programs that have it mapped go on.
    pub fn remove(folder: &Path) {
        // SAFETY: no pointers.
        unsafe {
            let id = libc::shmget(key(folder), 0, 0);
            if id >= 0 {
                libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
            }
        }
    }

    /// Says how many cards take operations, and on how many CPUs.
    pub fn set_cards(&self, cards: usize, cpus: usize) {
        self.cpus.store(cpus as u64, Relaxed);
        self.nobody.store(0, Relaxed);
        self.cards.store(cards as u64, Relaxed);
    }

    /// The cards that take operations now.
    pub fn cards(&self) -> u64 {
        self.cards.load(Relaxed)
    }

    /// Says how long an operation alone and a batch of eight take on this machine, in nanoseconds.
    pub fn set_times(&self, kind: Kind, alone: u64, batch: u64) {
        let measured = &self.measured[kind as usize];
        measured.alone.store(alone, Relaxed);
        measured.batch.store(batch, Relaxed);
        let expected = 15_000;
        let _ = measured.handing.compare_exchange(0, expected, Relaxed, Relaxed);
    }

    /// How long an operation alone, a batch and handing one over take, in nanoseconds.
    pub(super) fn times(&self, kind: Kind) -> [u64; 3] {
        let measured = &self.measured[kind as usize];
        [&measured.alone, &measured.batch, &measured.handing].map(|word| word.load(Relaxed))
    }

    /// A batch took so many nanoseconds of the clock for so many of CPU time.
    pub fn took(&self, kind: Kind, clock: u64, cpu: u64) {
        let now = (clock.saturating_mul(100) / cpu.max(1)).clamp(100, 10_000);
        let word = &self.measured[kind as usize].stretch;
        let before = word.load(Relaxed).clamp(100, 10_000);
        // At once where it gets longer, slowly where it gets shorter: a fifth of a second where cards have most to do.
        word.store(now.max(before - (before - now.min(before)).div_ceil(256)), Relaxed);
    }

    /// How many times as long as its CPU time a batch takes.
    pub(super) fn stretch(&self, kind: Kind) -> f32 {
        self.measured[kind as usize].stretch.load(Relaxed).clamp(100, 10_000) as f32 / 100.0
    }

    /// A connection has taken so many nanoseconds of the CPU time of a side.
    pub fn connected(&self, side: Side, nanoseconds: u64) {
        let word = &self.connecting[side as usize];
        let after = match word.load(Relaxed) {
            0 | FREE => nanoseconds,
            before => (before - before / 16).saturating_add(nanoseconds / 16),
        };
        word.store(after.max(FREE), Relaxed);
    }

    /// The daemon has nothing to do with connections any more, until it says what they take.
    pub fn daemon_is_free(&self) {
        self.connecting[Side::Daemon as usize].store(FREE, Relaxed);
    }

    /// What a connection costs all sides together, in nanoseconds.
    pub fn connecting(&self) -> u64 {
        let known = |word: &AtomicU64| match word.load(Relaxed) {
            0 => CONNECTING,
            time => time,
        };
        self.connecting.iter().map(known).fold(0, u64::saturating_add)
    }

    /// An operation that took so many microseconds has ended.
    #[inline]
    pub fn ended(&self, kind: Kind, now: u64, microseconds: u64) {
        let number = now / WINDOW;
        let window = &self.windows[kind as usize].0[number as usize % WINDOWS];
        let time = microseconds.min(u64::from(u32::MAX) / 64);
        let before = window.load(Relaxed);
        if before >> 32 == number & 0xffff_ffff {
            window.fetch_add(time, Relaxed);
        } else {
            // Of two that begin a window at the same time, one is not counted.
            let _ = window.compare_exchange(before, number << 32 | time, Relaxed, Relaxed);
        }
    }

    /// The operations of a kind that are under way, on average of the last windows.
    pub fn under_way(&self, kind: Kind, now: u64) -> f32 {
        let number = now / WINDOW;
        let recent = |word: u64| (number.wrapping_sub(word >> 32) & 0xffff_ffff) < WINDOWS as u64;
        let words = self.windows[kind as usize].0.iter().map(|window| window.load(Relaxed));
        let time: u64 = words.filter(|&word| recent(word)).map(|word| word & 0xffff_ffff).sum();
        // The last window is not over.
        let span = (WINDOWS as u64 - 1) * WINDOW + now % WINDOW + 1;
        time as f32 / (span * 1000) as f32
    }

    /// Whether a card is likely to be faster for an operation of this kind than its program alone. `connected`: the program has a connection,
    /// or does so many operations that making one costs nothing.
    #[inline]
    pub fn pays(&self, kind: Kind, now: u64, connected: bool) -> bool {
        let measured = &self.measured[kind as usize];
        let alone = measured.alone.load(Relaxed);
        if self.cards.load(Relaxed) == 0 || alone == 0 {
            return false;
        }
        let sent = measured.sent.load(Relaxed);
        if now < sent && sent - now <= KEPT.max(LONGEST_TRIAL) {
            return connected || measured.connecting_pays(self.connecting());
        }
        let here = self.under_way(kind, now);
        if self.gain(kind, now, here) > GAIN {
            return now >= measured.until.load(Relaxed) && (connected || measured.connecting_pays(self.connecting()));
        }
        let rests = now < measured.next.load(Relaxed) && !measured.is_another_load(here, now);
        here >= NOTICEABLE && !rests && measured.begin_trial(here, now, sent)
    }

    /// How many times as fast cards are, by what is under way.
    fn gain(&self, kind: Kind, now: u64, here: f32) -> f32 {
        let measured = &self.measured[kind as usize];
        let all: f32 = Kind::ALL.iter().map(|&kind| self.under_way(kind, now)).sum();
        let cpus = self.cpus() as f32;
        if all <= cpus {
            return 0.0;
        }
        let time = |word: &AtomicU64| word.load(Relaxed) as f32;
        let (alone, batch, handing) = (time(&measured.alone), time(&measured.batch), time(&measured.handing));
        // The CPUs that are this kind's, and those that batches keep busy.
        let own = (cpus * here / all).min(here).max(f32::MIN_POSITIVE);
        // Programs are spread over the cards, and batches are of one card's.
        let cards = (self.cards.load(Relaxed) as f32).max(1.0);
        let jobs = (here / cards).clamp(1.0, LANES as f32);
        let busy = own.min((here / jobs).max(1.0));
        busy * alone / (own * (batch / jobs + handing))
    }

    /// The machine's CPUs.
    pub fn cpus(&self) -> u64 {
        self.cpus.load(Relaxed).clamp(1, 4096)
    }

    /// A card has done so many jobs in so many nanoseconds of a worker, and took so many more for handing each over, while so many tasks of
    /// the machine could run, its own included: where that is fewer than it has CPUs, some of them were left idle. Where cards turn out
    /// to be slower than programs alone, operations stay with them for a while, and longer the next time.
    pub fn found(&self, kind: Kind, now: u64, jobs: u64, busy: u64, handing: u64, runnable: u64) {
        let measured = &self.measured[kind as usize];
        self.answered.store(now, Relaxed);
        let before = measured.handing.load(Relaxed);
        measured.handing.store(before - before / 16 + handing / 16, Relaxed);
        let cpus = self.cpus();
        let busy = busy.saturating_mul(cpus) / runnable.clamp(1, cpus);
        let jobs = measured.jobs.fetch_add(jobs, Relaxed).saturating_add(jobs);
        let busy = measured.busy.fetch_add(busy, Relaxed).saturating_add(busy);
        if jobs < FEW {
            return;
        }
        measured.forget_jobs();
        let each = busy / jobs + measured.handing.load(Relaxed);
        measured.each.store(each, Relaxed);
        if each < measured.alone.load(Relaxed) {
            measured.pause.store(0, Relaxed);
            measured.until.store(0, Relaxed);
            measured.rest.store(0, Relaxed);
            measured.next.store(0, Relaxed);
            measured.sent.store(now + KEPT, Relaxed);
            return;
        }
        measured.sent.store(now, Relaxed);
        measured.begin_pause(now);
        // A trial has counted on that.
        if measured.next.load(Relaxed) <= now {
            measured.load.store((self.under_way(kind, now) * 100.0) as u64, Relaxed);
            measured.begin_rest(now);
        }
    }

    /// Notes that nobody is there.
    pub fn nobody(&self, now: u64) {
        self.nobody.store(now, Relaxed);
    }

    /// Whether somebody found nobody there, and no card has answered since. Once a second one of those that ask this is told no, and is to
    /// find out.
    #[inline]
    pub fn is_out(&self, now: u64) -> bool {
        let since = self.nobody.load(Relaxed);
        if since == 0 || self.answered.load(Relaxed) > since {
            return false;
        }
        // A time that has not come is no time.
        let over = now.wrapping_sub(since) >= OUTAGE;
        !over || self.nobody.compare_exchange(since, now, Relaxed, Relaxed).is_err()
    }

    /// Whether a card has answered anybody since.
    pub fn answers(&self, since: u64) -> bool {
        self.answered.load(Relaxed) >= since
    }
}

impl Measured {
    /// Milliseconds in which, of a load that is just noticeable, enough are done to judge.
    fn trial(&self) -> u64 {
        let alone = self.alone.load(Relaxed).min(1 << 32) as f32 / 1e6;
        ((2 * FEW) as f32 * alone / NOTICEABLE).clamp(SHORTEST_TRIAL as f32, LONGEST_TRIAL as f32) as u64
    }

    /// Begins a trial, unless another has. If nothing is found while it lasts, cards were slower.
    fn begin_trial(&self, here: f32, now: u64, sent: u64) -> bool {
        let end = now + self.trial();
        if self.sent.compare_exchange(sent, end, Relaxed, Relaxed).is_err() {
            return false;
        }
        if self.is_another_load(here, now) {
            self.rest.store(0, Relaxed);
        }
        self.forget_jobs();
        self.each.store(0, Relaxed);
        self.load.store((here * 100.0) as u64, Relaxed);
        self.begin_rest(end);
        true
    }

    /// No trial for a while, longer each time.
    fn begin_rest(&self, now: u64) {
        let rest = (2 * self.rest.load(Relaxed).min(LAST_PAUSE)).clamp(AFTER_TRIAL * self.trial(), LAST_PAUSE);
        self.rest.store(rest, Relaxed);
        self.next.store(now + rest, Relaxed);
    }

    /// What is under way is not believed for a while, longer each time.
    fn begin_pause(&self, now: u64) {
        let pause = (2 * self.pause.load(Relaxed).min(LAST_PAUSE)).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.pause.store(pause, Relaxed);
        self.until.store(now + pause, Relaxed);
    }

    /// Whether so many more are under way than at the last trial that it says nothing any more, some time after it.
    fn is_another_load(&self, here: f32, now: u64) -> bool {
        let begun = self.sent.load(Relaxed);
        here > NOTICEABLE.max(OTHER_LOAD * self.load.load(Relaxed) as f32 / 100.0)
            && now.saturating_sub(begun) > AFTER_TRIAL * self.trial()
    }

    /// Whether cards are faster even where each operation needs a connection of its own, which costs so much.
    fn connecting_pays(&self, connecting: u64) -> bool {
        let handing = self.handing.load(Relaxed);
        let each = match self.each.load(Relaxed) {
            0 => self.batch.load(Relaxed) / LANES as u64 + handing,
            each => each,
        };
        // What changes of tasks cost that a connection brings, nobody measures.
        each.saturating_add(connecting) as f32 * GAIN < self.alone.load(Relaxed) as f32
    }

    fn forget_jobs(&self) {
        self.jobs.store(0, Relaxed);
        self.busy.store(0, Relaxed);
    }
}

fn map(key: libc::key_t, flags: libc::c_int) -> io::Result<(&'static Page, u32)> {
    let last = || io::Error::last_os_error();
    // SAFETY: the buffer has the size IPC_STAT writes, and all zeros is a valid value of it. The segment is at least as large as a page of
    // ours, is never unmapped, and consists of atomic words, for which any bytes are valid and which others may change.
    unsafe {
        let id = libc::shmget(key, size_of::<Page>(), flags);
        if id < 0 {
            return Err(last());
        }
        let mut stat = std::mem::zeroed::<libc::shmid_ds>();
        if libc::shmctl(id, libc::IPC_STAT, &raw mut stat) < 0 {
            return Err(last());
        }
        let (owner, maker, size) = (stat.shm_perm.uid, stat.shm_perm.cuid, stat.shm_segsz as usize);
        if owner != maker || size != size_of::<Page>() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let place = libc::shmat(id, null(), 0);
        if place as isize == -1 {
            return Err(last());
        }
        let page = &*place.cast::<Page>();
        if flags != 0 {
            let _ = page.magic.compare_exchange(0, MAGIC, Relaxed, Relaxed);
        }
        if page.magic.load(Relaxed) != MAGIC {
            libc::shmdt(place);
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok((page, maker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RSA-2048 on a Zen 5: 193 microseconds, a batch 428.
    fn page(cpus: usize) -> Page {
        let page = Page::default();
        page.set_cards(1, cpus);
        page.set_times(Kind::Rsa2048, 193_000, 428_000);
        page
    }

    /// So many programs do one operation after the other, alone, for 64 milliseconds from `begin`.
    fn load(page: &Page, programs: u64, begin: u64) -> u64 {
        (begin..begin + 64).for_each(|now| page.ended(Kind::Rsa2048, now, programs * 1000));
        begin + 63
    }

    #[test]
    fn what_is_under_way_is_known_from_what_has_ended() {
        let page = page(2);
        for (programs, begin) in [(16, 1_000_000), (1, 2_000_000), (400, 3_000_000)] {
            let now = load(&page, programs, begin);
            let found = page.under_way(Kind::Rsa2048, now);
            assert!((found - programs as f32).abs() < 0.1 * programs as f32, "{found} for {programs}");
        }
        assert_eq!(page.under_way(Kind::Rsa2048, 4_000_000), 0.0);
        assert_eq!(page.under_way(Kind::Rsa3072, 3_000_063), 0.0);
    }

    /// How many times as fast cards are, by what is under way.
    fn gain(page: &Page, now: u64) -> f32 {
        page.gain(Kind::Rsa2048, now, page.under_way(Kind::Rsa2048, now))
    }

    #[test]
    fn a_crowded_machine_asks_cards_at_once() {
        for (programs, cpus, expected) in [
            (0, 2, false),
            (1, 2, false),
            (2, 2, false),
            (4, 2, false),
            (8, 2, true),
            (16, 2, true),
            (64, 2, true),
            (16, 16, false),
        ] {
            let page = page(cpus);
            let now = load(&page, programs, 1 << 20);
            assert_eq!(gain(&page, now) > GAIN, expected, "{programs} programs, {cpus} CPUs");
            page.set_cards(0, cpus);
            assert!(!page.pays(Kind::Rsa2048, now, true), "no card");
        }
    }

    /// One program after the other, which all together keep half a CPU busy: nothing is under way, though many programs may be.
    fn servers(page: &Page, begin: u64) -> u64 {
        (begin..begin + 64).for_each(|now| page.ended(Kind::Rsa2048, now, 500));
        begin + 63
    }

    #[test]
    fn cards_are_tried_and_kept_while_they_are_faster() {
        let page = page(2);
        let now = servers(&page, 1 << 20);
        assert!(gain(&page, now) == 0.0 && page.pays(Kind::Rsa2048, now, true), "a trial");
        assert!(page.pays(Kind::Rsa2048, now + 1, true), "all of the trial");
        // Of batches of three, on a machine all of whose CPUs have something to do.
        (0..8).for_each(|_| page.found(Kind::Rsa2048, now + 5, 3, 428_000, 15_000, 9));
        assert!(page.pays(Kind::Rsa2048, now + 5 + KEPT - 1, true));
        // Those that have to connect first would be slower, unless that costs little.
        assert!(!page.pays(Kind::Rsa2048, now + 5 + KEPT - 1, false));
        page.daemon_is_free();
        [Side::Program, Side::Card].into_iter().for_each(|side| page.connected(side, 5000));
        assert!(page.connecting() == 10_001 && page.pays(Kind::Rsa2048, now + 5 + KEPT - 1, false));
        // Nothing is heard any more: the next trial.
        let later = servers(&page, now + 200);
        assert!(page.pays(Kind::Rsa2048, later, true) && measured(&page).next.load(Relaxed) > later);
        // A load that takes no notable part of a CPU is not tried.
        let now = later + 100_000;
        (now..now + 64).for_each(|now| page.ended(Kind::Rsa2048, now, 100));
        assert!(!page.pays(Kind::Rsa2048, now + 63, true));
    }

    fn measured(page: &Page) -> &Measured {
        &page.measured[Kind::Rsa2048 as usize]
    }

    #[test]
    fn trials_cost_less_than_the_noise() {
        // Whether cards say that they are slower or nothing at all.
        for said in [true, false] {
            let page = page(2);
            let (begin, mut sent, mut now) = (1u64 << 20, 0, 1u64 << 20);
            while now < begin + 60_000 {
                page.ended(Kind::Rsa2048, now, 500);
                let on_card = page.pays(Kind::Rsa2048, now, true);
                sent += u64::from(on_card);
                if said && on_card {
                    page.found(Kind::Rsa2048, now, 3, 3 * 193_000, 30_000, 2);
                }
                now += 1;
            }
            assert!(sent > 10 && sent < if said { 60 } else { 400 }, "{sent} of 60000 ms");
            // A load that is another one is tried soon.
            let pause = measured(&page).next.load(Relaxed).saturating_sub(now);
            assert!(pause > 3000, "{pause}");
            let tried = (now..now + pause).find(|&now| {
                page.ended(Kind::Rsa2048, now, 1500);
                page.pays(Kind::Rsa2048, now, true)
            });
            assert!(tried.is_some_and(|tried| tried < now + 100), "{tried:?} {now}");
        }
    }

    #[test]
    fn cards_that_leave_cpus_idle_are_slower() {
        let page = page(2);
        let now = servers(&page, 1 << 20);
        assert!(page.pays(Kind::Rsa2048, now, true));
        (0..6).for_each(|_| page.found(Kind::Rsa2048, now, 4, 428_000, 30_000, 1));
        assert!(!page.pays(Kind::Rsa2048, now + 1, true));
    }

    #[test]
    fn cards_that_are_slower_are_left_for_a_while_and_longer_each_time() {
        let page = page(2);
        let (mut now, mut pauses) = (1 << 20, Vec::new());
        for _ in 0..12 {
            now = load(&page, 16, now);
            assert!(page.pays(Kind::Rsa2048, now, true));
            page.found(Kind::Rsa2048, now, 64, 64 * 250_000, 10_000, 2);
            let until = measured(&page).until.load(Relaxed);
            pauses.push(until - now);
            assert!(!page.pays(Kind::Rsa2048, now, true));
            now = until;
        }
        assert!(pauses[..3] == [50, 100, 200] && pauses[11] == LAST_PAUSE, "{pauses:?}");
        // Those that are faster are not left.
        now = load(&page, 16, now);
        page.found(Kind::Rsa2048, now, 64, 64 * 54_000, 10_000, 2);
        assert!(page.pays(Kind::Rsa2048, now, true));
    }

    #[test]
    fn where_nobody_is_one_asks_again_each_second() {
        let page = page(2);
        let asks = |from: u64, to: u64| (from..to).filter(|&now| !page.is_out(now)).count();
        assert_eq!(asks(5000, 5010), 10);
        page.nobody(6000);
        assert_eq!(asks(6000, 7000), 0);
        // The first that asks after a second is to find out; if it does not come back, the next one.
        assert_eq!(asks(7000, 8000), 1);
        assert_eq!(asks(8000, 9000), 1);
        // A card that answers anybody is there, whatever somebody found before; and so is a daemon that starts.
        page.found(Kind::Rsa2048, 9001, 1, 1, 1, 2);
        assert_eq!(asks(9001, 9011), 10);
        page.nobody(9020);
        page.set_cards(1, 2);
        assert_eq!(asks(9021, 9031), 10);
    }

    #[test]
    fn a_page_is_made_once_and_found() {
        let folder = Path::new("/nonexistent/adjunct").join(std::process::id().to_string());
        assert!(Page::find(&folder).is_err());
        let (made, _) = Page::make(&folder).unwrap();
        made.set_cards(3, 2);
        let (found, owner) = Page::find(&folder).unwrap();
        let same = found.cards.load(Relaxed) == 3;
        Page::remove(&folder);
        assert!(same && owner == rustix::process::geteuid().as_raw());
        assert!(Page::find(&folder).is_err());
    }
}
