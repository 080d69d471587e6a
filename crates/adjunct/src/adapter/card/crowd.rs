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
//! # Who writes there
//! Everybody. Wrong numbers make others choose the slower of two ways, no more: nothing read here is a length, an index or an address.
//! It is a segment of SysV shared memory, which cannot be truncated under those who have it mapped, and needs neither a descriptor nor a
//! path in a chroot.

#![allow(unsafe_code)]

use super::wire::Kind;
use crate::catalogue::LANES;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::path::Path;
use std::ptr::null;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Windows of a kind, and milliseconds of one.
const WINDOWS: usize = 16;
const WINDOW: u64 = 4;
const KINDS: usize = Kind::ALL.len();
/// The first word: `ADJCROWD` changes with the layout.
const MAGIC: u64 = u64::from_le_bytes(*b"ADJCRO\x00\x01");
/// How much faster cards are to be before operations go there.
const GAIN: f32 = 1.1;
/// Jobs that cards have done of late before their rate is believed.
const FEW: u64 = 64;
/// Milliseconds for which operations stay with their programs where cards were found to be slower, at first and at most.
const FIRST_PAUSE: u64 = 50;
const LAST_PAUSE: u64 = 12_800;

/// What is known of a kind, in nanoseconds, and what is decided.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Measured {
    /// An operation alone, a batch of eight, handing one over.
    alone: AtomicU64,
    batch: AtomicU64,
    handing: AtomicU64,
    /// Of cards' work of late: jobs, and the time that each took of a worker.
    jobs: AtomicU64,
    each: AtomicU64,
    /// Milliseconds of the clock until which operations stay with their programs, and how long that was.
    until: AtomicU64,
    pause: AtomicU64,
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
    measured: [Measured; KINDS],
    windows: [Windows; KINDS],
}

/// Milliseconds of a clock that all programs of the machine share.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1000 + time.tv_nsec.cast_unsigned() / 1_000_000
}

/// The key of the segment of the daemon with this folder: its FNV-1a hash, whatever way its path is written.
fn key(folder: &Path) -> libc::key_t {
    use std::os::unix::ffi::OsStrExt;
    let parts = folder.components().flat_map(|part| [&b"/"[..], part.as_os_str().as_bytes()]);
    let bytes = std::iter::once(&b"adjunct cards"[..]).chain(parts).flatten();
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

    /// Whether a card is likely to be faster for an operation of this kind than its program alone.
    #[inline]
    pub fn pays(&self, kind: Kind, now: u64) -> bool {
        let measured = &self.measured[kind as usize];
        if self.cards.load(Relaxed) == 0 || now < measured.until.load(Relaxed) {
            return false;
        }
        let here = self.under_way(kind, now);
        let all: f32 = Kind::ALL.iter().map(|&kind| self.under_way(kind, now)).sum();
        let cpus = self.cpus.load(Relaxed).clamp(1, 4096) as f32;
        let time = |word: &AtomicU64| word.load(Relaxed) as f32;
        let (alone, batch, handing) = (time(&measured.alone), time(&measured.batch), time(&measured.handing));
        if all <= cpus || alone == 0.0 {
            return false;
        }
        // The CPUs that are this kind's, and those that batches keep busy.
        let own = (cpus * here / all).min(here).max(f32::MIN_POSITIVE);
        // Programs are spread over the cards, and batches are of one card's.
        let cards = (self.cards.load(Relaxed) as f32).max(1.0);
        let jobs = (here / cards).clamp(1.0, LANES as f32);
        let busy = own.min((here / jobs).max(1.0));
        busy * alone / (own * (batch / jobs + handing)) > GAIN
    }

    /// A card has done so many jobs in so many nanoseconds of a worker, and took so many more for handing each over. Where that turns out to
    /// be slower than programs alone, operations stay with them for a while, and longer the next time.
    pub fn found(&self, kind: Kind, now: u64, jobs: u64, busy: u64, handing: u64) {
        let measured = &self.measured[kind as usize];
        let average = |word: &AtomicU64, sample: u64| {
            let before = word.load(Relaxed);
            word.store(if before == 0 { sample } else { before - before / 16 + sample / 16 }, Relaxed);
        };
        average(&measured.each, busy / jobs.max(1));
        average(&measured.handing, handing);
        if measured.jobs.fetch_add(jobs, Relaxed) + jobs < FEW {
            return;
        }
        measured.jobs.store(0, Relaxed);
        let each = measured.each.load(Relaxed) + measured.handing.load(Relaxed);
        if each < measured.alone.load(Relaxed) {
            measured.pause.store(0, Relaxed);
            return;
        }
        let pause = (2 * measured.pause.load(Relaxed)).clamp(FIRST_PAUSE, LAST_PAUSE);
        measured.pause.store(pause, Relaxed);
        measured.each.store(0, Relaxed);
        measured.until.store(now + pause, Relaxed);
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

    #[test]
    fn only_a_crowded_machine_asks_cards() {
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
            assert_eq!(page.pays(Kind::Rsa2048, now), expected, "{programs} programs, {cpus} CPUs");
            page.set_cards(0, cpus);
            assert!(!page.pays(Kind::Rsa2048, now), "no card");
        }
    }

    #[test]
    fn cards_that_are_slower_are_left_for_a_while_and_longer_each_time() {
        let page = page(2);
        let (mut now, mut pauses) = (1 << 20, Vec::new());
        for _ in 0..12 {
            now = load(&page, 16, now);
            assert!(page.pays(Kind::Rsa2048, now));
            page.found(Kind::Rsa2048, now, 64, 64 * 250_000, 10_000);
            let until = (now..).find(|&later| now < later && page.measured[0].until.load(Relaxed) <= later).unwrap();
            pauses.push(until - now);
            assert!(!page.pays(Kind::Rsa2048, now));
            now = until;
        }
        assert!(pauses[..3] == [50, 100, 200] && pauses[11] == LAST_PAUSE, "{pauses:?}");
        // Those that are faster are not left.
        now = load(&page, 16, now);
        page.found(Kind::Rsa2048, now, 64, 64 * 54_000, 10_000);
        assert!(page.pays(Kind::Rsa2048, now));
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
