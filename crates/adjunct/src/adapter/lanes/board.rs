//! Where threads put their jobs down and pick them up again. All of it lies in one mapping that a fork's child finds zeroed,
//! which is an empty board.
//!
//! A slot has one word that says what state its job is in, and changes hands in one instruction:
//! ```text
//!             owner            leader              leader              owner
//! free -> filling -> waiting -> taken(by) -> done in lanes, alone -> filling -> free
//!                                         \-> wrong (a lane that went wrong), lost (the leader died or had no memory)
//! ```
//! Only who has a slot in `filling` (its owner), or in `taken` (the leader), touches the job in it. The word also holds the
//! ticket of the request, unique in the life of a process and of its children: a word that has changed hands is never
//! mistaken for the one before.

use super::kind::MAX_JOB;
use super::memory::{Bell, Lock};
use super::work::Work;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};

/// Requests that can wait at the same time; a thread that finds no slot does its job alone.
pub(super) const SLOTS: usize = 256;
/// Leaders at the same time, on machines with more CPUs too.
pub(super) const PLACES: usize = 64;

/// What state a slot is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    Free = 0,
    Filling,
    Waiting,
    Taken,
    DoneInLanes,
    /// By its leader, one by one: with the instructions of its function, or without.
    DoneByInstructions,
    DoneAlone,
    /// A lane went wrong: the owner does it again.
    Wrong,
    /// The leader died, or had no memory: the owner does it itself.
    Lost,
}

impl State {
    const ALL: [State; 9] = [
        State::Free,
        State::Filling,
        State::Waiting,
        State::Taken,
        State::DoneInLanes,
        State::DoneByInstructions,
        State::DoneAlone,
        State::Wrong,
        State::Lost,
    ];

    /// Whether the job is the owner's again.
    pub(super) fn is_settled(self) -> bool {
        self as u8 >= State::DoneInLanes as u8
    }
}

/// A slot's word: ticket (54 bits), place of the leader (6), state (4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    const TICKET: u32 = 10;
    /// The word of a slot nobody has.
    pub(super) const NONE: Word = Word(0);

    pub(super) fn state(self) -> State {
        State::ALL.get((self.0 & 0xf) as usize).copied().unwrap_or(State::Lost)
    }

    /// The leader's place; means something while taken.
    pub(super) fn place(self) -> usize {
        (self.0 >> 4) as usize & (PLACES - 1)
    }

    /// The request; a smaller one came earlier.
    pub(super) fn ticket(self) -> u64 {
        self.0 >> Word::TICKET
    }

    pub(super) fn with(self, state: State) -> Word {
        Word(self.0 & !0xf | state as u64)
    }

    pub(super) fn taken_by(self, place: usize) -> Word {
        Word(self.0 & !0x3ff | (place as u64) << 4 | State::Taken as u64)
    }
}

/// What belongs to a slot beside its word.
#[repr(C, align(128))]
pub(super) struct Slot {
    work: AtomicPtr<Work>,
    /// Where the owner sleeps: a [`Seat`], at no place while it does not.
    sleeps: AtomicU64,
    /// The owner was woken to lead: if it need not any more, it calls another.
    pub(super) called: AtomicBool,
    /// The owner does not wait for it but comes by to ask; its thread's id, else 0.
    pub(super) visitor: AtomicU32,
    /// Nobody will ever ask for it.
    pub(super) dropped: AtomicBool,
    /// It is settled and the owner may have gone to sleep all the same: no leader waits for it to come.
    pub(super) late: AtomicBool,
    job: UnsafeCell<Room>,
}

impl Slot {
    /// Where its owner sleeps, or is about to, or is just waking up.
    pub(super) fn asleep(&self) -> Option<Seat> {
        Some(Seat(self.sleeps.load(SeqCst))).filter(|seat| seat.0 & Seat::AT != 0)
    }

    /// For its owner: in `seat` from now on, or awake.
    pub(super) fn sleeps_in(&self, seat: Option<Seat>) {
        let next = (self.sleeps.load(SeqCst) & Seat::TIMES).wrapping_add(Seat::ONCE);
        self.sleeps.store(next | seat.map_or(0, |seat| seat.0), SeqCst);
    }

    /// The owner was asleep in `seat`, and has been woken.
    pub(super) fn is_up(&self, seat: Seat) {
        let _ = self.sleeps.compare_exchange(seat.0, seat.0 | Seat::UP, SeqCst, SeqCst);
    }
}

/// Where one sleeps: at the lock of a place, with a bit that nobody else there has, so that the kernel's answer to a wake says
/// whether all that it was for were asleep. Place plus 1 (8 bits), number (5), whether woken (1), and how often the owner has
/// changed it (50): who has seen it once cannot mistake a later sleep for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat(u64);

impl Seat {
    pub(super) const NOWHERE: Seat = Seat(0);
    const AT: u64 = 0xff;
    const NUMBER: u32 = 8;
    const UP: u64 = 1 << 13;
    const ONCE: u64 = 1 << 14;
    const TIMES: u64 = !(Seat::ONCE - 1);
    /// For any number of sleepers, when all others are taken.
    const SHARED: u32 = 31;

    fn new(place: usize, number: u32) -> Seat {
        Seat((1 + place as u64) | (u64::from(number) << Seat::NUMBER))
    }

    fn number(self) -> u32 {
        (self.0 >> Seat::NUMBER) as u32 & 31
    }

    pub(super) fn place(self) -> usize {
        ((self.0 & Seat::AT) as usize).saturating_sub(1) % PLACES
    }

    pub(super) fn bit(self) -> u32 {
        1 << self.number()
    }

    /// Whether its owner has been woken, and has not come round yet.
    pub(super) fn is_leaving(self) -> bool {
        self.0 & Seat::UP != 0
    }

    /// How many sleepers a wake must have found before it is sure that this one is awake.
    pub(super) fn weight(self) -> usize {
        if self.number() == Seat::SHARED { SLOTS } else { 1 }
    }
}

/// Room for any job.
#[repr(C, align(64))]
struct Room([u64; MAX_JOB / 8]);

/// Where one leads.
#[repr(C, align(128))]
pub(super) struct Place {
    pub(super) lock: Lock,
    /// The leader's own slot, plus 1.
    pub(super) own: AtomicU32,
    /// Where the leader sleeps while its batch gathers.
    pub(super) bell: Bell,
    /// Seats taken, a bit each.
    seats: AtomicU32,
}

/// See the module's words.
#[repr(C, align(4096))]
pub(super) struct Board {
    /// A number that is another one in each process along a line of forks; 0 until a process first needs the board.
    pub(super) epoch: AtomicU64,
    pub(super) setting_up: AtomicBool,
    /// Who works alone just now, without anybody waiting for it; see [`super::engine`].
    pub(super) alone: AtomicU64,
    /// Requests have come at the same time lately; counts down to 0 when they do not any more.
    pub(super) busy: AtomicU32,
    /// Leaders who gather.
    pub(super) gathering: AtomicU32,
    /// Slots from here on were never used.
    top: AtomicU32,
    pub(super) places: [Place; PLACES],
    words: [AtomicU64; SLOTS],
    slots: [Slot; SLOTS],
}

// SAFETY: the jobs are touched only by who the words name.
unsafe impl Sync for Board {}

impl Board {
    /// Every slot that may be in use, with its word.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Word, &Slot)> {
        let top = (self.top.load(SeqCst) as usize).min(SLOTS);
        let pairs = self.words.iter().zip(&self.slots).enumerate().take(top);
        pairs.map(|(at, (word, slot))| (at, Word(word.load(SeqCst)), slot))
    }

    /// A seat at `place`, for the caller until [`Board::rise`].
    pub(super) fn sit(&self, place: usize) -> Seat {
        let free = |taken: u32| (taken.trailing_ones() < Seat::SHARED).then_some(taken | (taken + 1));
        let before = self.places[place].seats.fetch_update(SeqCst, SeqCst, free);
        Seat::new(place, before.map_or(Seat::SHARED, u32::trailing_ones))
    }

    pub(super) fn rise(&self, seat: Seat) {
        if seat.number() != Seat::SHARED {
            self.places[seat.place()].seats.fetch_and(!seat.bit(), SeqCst);
        }
    }

    pub(super) fn slot(&self, at: usize) -> &Slot {
        &self.slots[at % SLOTS]
    }

    pub(super) fn word(&self, at: usize) -> Word {
        Word(self.words[at % SLOTS].load(SeqCst))
    }

    /// Changes a slot's word if it is still `from`.
    pub(super) fn change(&self, at: usize, from: Word, to: Word) -> bool {
        self.words[at % SLOTS].compare_exchange(from.0, to.0, SeqCst, SeqCst).is_ok()
    }

    /// The kind of the job in a slot; `None` before its first use.
    pub(super) fn work(&self, at: usize) -> Option<&'static Work> {
        let work = self.slot(at).work.load(Acquire);
        // SAFETY: null, or a reference to a constant, put there by `put`.
        unsafe { work.as_ref() }
    }

    /// Where a slot's job stands.
    pub(super) fn job(&self, at: usize) -> *mut u8 {
        self.slot(at).job.get().cast()
    }

    /// Puts a job into a free slot, looking from `near` on, and says which and its word; gives it back if none is free.
    pub(super) fn put<J>(&self, job: J, work: &'static Work, visitor: u32, near: usize) -> Result<(usize, Word), J> {
        const { assert!(size_of::<J>() <= MAX_JOB && align_of::<J>() <= 64) }
        // Not on the board: it must go on in a child.
        static TICKETS: AtomicU64 = AtomicU64::new(1);
        let top = (self.top.load(Relaxed) as usize).clamp(1, SLOTS);
        // Those ever used first, so that all stay near each other.
        let order = (0..top).map(|i| (near + i) % top).chain(top..SLOTS);
        for at in order {
            if self.words[at].load(Relaxed) != 0 {
                continue;
            }
            let filling = Word(TICKETS.fetch_add(1, Relaxed) << Word::TICKET).with(State::Filling);
            if !self.change(at, Word::NONE, filling) {
                continue;
            }
            let slot = self.slot(at);
            slot.work.store(std::ptr::from_ref(work).cast_mut(), Release);
            slot.sleeps_in(None);
            slot.called.store(false, Relaxed);
            slot.visitor.store(visitor, Relaxed);
            slot.dropped.store(false, Relaxed);
            slot.late.store(false, Relaxed);
            // SAFETY: the slot is this thread's, holds no job, and has the room and alignment (64 divides 128).
            unsafe { self.job(at).cast::<J>().write(job) };
            self.top.fetch_max(at as u32 + 1, SeqCst);
            let waiting = filling.with(State::Waiting);
            self.words[at].store(waiting.0, SeqCst);
            return Ok((at, waiting));
        }
        Err(job)
    }

    /// Takes a settled job out of its slot, if `word` is still its word, and frees the slot.
    ///
    /// # Safety
    /// `J` is the type that was put there.
    pub(super) unsafe fn pick<J>(&self, at: usize, word: Word) -> Option<J> {
        if !word.state().is_settled() || !self.change(at, word, word.with(State::Filling)) {
            return None;
        }
        // SAFETY: the slot is this thread's, with a job in it; it is moved out, and wiped.
        let job = unsafe {
            let job = self.job(at).cast::<J>().read();
            super::work::wipe(self.job(at), size_of::<J>());
            job
        };
        self.words[at % SLOTS].store(0, SeqCst);
        Some(job)
    }

    /// Drops the job in a slot nobody has, if `word` is still its word, and frees the slot.
    pub(super) fn clear(&self, at: usize, word: Word) -> bool {
        let theirs = word.state() == State::Waiting || word.state().is_settled();
        if !theirs || !self.change(at, word, word.with(State::Filling)) {
            return false;
        }
        if let Some(work) = self.work(at) {
            // SAFETY: the slot is this thread's, with a job of this kind in it.
            unsafe { work.end(self.job(at)) };
        }
        self.words[at % SLOTS].store(0, SeqCst);
        true
    }

    /// Has the job of a request that nobody will pick up dropped, by the leader if one has it.
    pub(super) fn abandon(&self, at: usize, ticket: u64) {
        self.slot(at).dropped.store(true, SeqCst);
        let word = self.word(at);
        if word.ticket() == ticket {
            self.clear(at, word);
        }
    }

    /// Frees the slots of visitors who have ended.
    pub(super) fn clear_the_dead(&self) {
        for (at, word, slot) in self.iter() {
            let visitor = slot.visitor.load(SeqCst);
            if visitor != 0 && super::memory::has_ended(visitor) {
                self.clear(at, word);
            }
        }
    }
}
