//! Who works, who waits, and who wakes whom.
//!
//! * A request that finds nobody works at once, alone, on the scalar path, and nobody ever waits for it: [`run`] costs two
//!   atomic instructions there, and no system call.
//! * One that finds another puts its job on the board and takes a place to lead from, or sleeps at the place of one who
//!   leads. As many places as CPUs.
//! * Who leads takes the oldest job and up to seven more of its kind, does them, hands them back, gives up the place, and
//!   wakes the owners and one more sleeper to lead what has come meanwhile. If its own job was not among them, it leads on.
//!
//! Nobody is forgotten: who sleeps at a place sleeps there while it is held, is woken when the holder dies (see
//! [`super::memory`]), and for every place given up while somebody waits, somebody awake is on the way to take it: the one
//! woken, who if it is served meanwhile wakes the next ([`Slot::called`](super::board::Slot)). The oldest goes first,
//! whatever its kind, so none starves.
//!
//! *Full lanes.* A leader that is done asks again, mostly, while those it served are just waking up, and would find itself
//! alone. So a leader who sees jobs on the board that are done and not yet picked up sleeps until their owners have picked
//! them up or a batch is full; they are awake, so they will; and by then most have asked again. An owner may not be awake:
//! its job was done between its last look and its sleep, which no word that it sleeps at shows. Every wake counts whom it
//! found, and where that is fewer than it was for, nobody waits for those.
//!
//! *Death.* While a thread has others wait for it, signals are put off: no handler ends it, jumps out or forks. A thread
//! that ends all the same, in a kernel, leaves a robust lock: the next to look at it ([`Board::take_place`]) tells those
//! whose jobs it had to do them again themselves.
//!
//! *Fork.* A child finds the board empty. One that was forked inside a kernel sees that the epoch is not its own any more,
//! leaves the board alone and does its job again.

use super::board::{Board, PLACES, SLOTS, Seat, State, Word};
use super::memory::{Quiet, Taken};
use crate::adapter::Outcome;
use crate::catalogue::{LANES, Queue};
use crate::counters::{self, Event};
use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Requests without company until the engine takes itself for idle again.
const BUSY: u32 = 256;

thread_local! {
    /// Whether this thread is on the board: a request from a kernel or a handler works alone.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The slot this thread had last: still in its cache.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// This thread, as a number that is never 0.
fn this_thread() -> u64 {
    INSIDE.with(|mark| std::ptr::from_ref(mark) as u64)
}

/// Entered the board: signals put off, requests from inside work alone. `None` inside already.
pub(super) struct Entered {
    quiet: Option<Quiet>,
}

impl Entered {
    pub(super) fn new() -> Option<Entered> {
        if INSIDE.replace(true) {
            return None;
        }
        Some(Entered { quiet: Some(Quiet::new()) })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        INSIDE.set(false);
        // Last: a signal that was put off may end the thread here.
        self.quiet.take();
    }
}

/// Works alone, without anybody waiting for it.
pub(super) struct Alone<'a> {
    board: &'a Board,
    me: u64,
}

impl Drop for Alone<'_> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.board.alone.compare_exchange(self.me, 0, Release, Relaxed);
    }
}

/// Where this thread last put a job.
pub(super) fn near() -> usize {
    LAST.get()
}

impl Board {
    /// Whether nobody works or has lately worked at the same time as another; if so the caller works alone, and says when it
    /// is done by dropping the answer. Only a guess: any answer is safe.
    #[inline]
    pub(super) fn enter_alone(&self) -> Option<Alone<'_>> {
        let me = this_thread();
        let before = self.alone.swap(me, AcqRel);
        // Left by this thread itself: a handler inside an operation, or one that jumped out of it.
        let other = before != 0 && before != me;
        if other {
            self.busy.store(BUSY, Relaxed);
        }
        if other || self.busy.load(Relaxed) != 0 {
            let _ = self.alone.compare_exchange(me, 0, Release, Relaxed);
            return None;
        }
        Some(Alone { board: self, me })
    }

    /// Readies the board in a process that has not used it; says the process's epoch. `None` while another thread does it.
    pub(super) fn open(&self) -> Option<u64> {
        match self.epoch.load(Acquire) {
            0 => {}
            epoch => return Some(epoch),
        }
        if self.setting_up.swap(true, SeqCst) {
            return None;
        }
        let sound = self.places.iter().all(|p| p.lock.set_up()) && self.places[0].lock.is_as_expected();
        if !sound {
            return None;
        }
        let fresh = u64::from(crate::fork::generation());
        self.epoch.store(fresh, Release);
        Some(fresh)
    }

    /// Has the job in `slot` done: leads, or sleeps while others do. False in a forked child.
    pub(super) fn serve(&self, slot: usize, epoch: u64, places: usize) -> bool {
        LAST.set(slot);
        let mut first = true;
        let mut slept_at = slot % places;
        loop {
            let word = self.word(slot);
            match word.state() {
                State::Waiting => match self.take_place(slept_at, places) {
                    Some(place) => {
                        if !self.lead(place, Some(slot), first, epoch, places) {
                            return false;
                        }
                        first = false;
                    }
                    None => slept_at = self.sleep(slot, slept_at, word, places),
                },
                State::Taken => slept_at = self.sleep(slot, word.place(), word, places),
                _ => return true,
            }
        }
    }

    /// Takes a free place, `near` first.
    pub(super) fn take_place(&self, near: usize, places: usize) -> Option<usize> {
        (0..places).map(|i| (near + i) % places).find(|&at| self.take_this(at))
    }

    fn take_this(&self, at: usize) -> bool {
        let lock = &self.places[at].lock;
        if lock.holder().is_some() {
            return false;
        }
        match lock.take() {
            Taken::Free => true,
            Taken::FromTheDead => {
                self.bury(at);
                lock.mend();
                // So rare that it need not be told who has reason to wake.
                self.places.iter().for_each(|p| _ = p.lock.wake(u32::MAX));
                true
            }
            Taken::No => false,
        }
    }

    /// Tells those whose jobs the dead leader of `place` had taken.
    fn bury(&self, place: usize) {
        for (at, word, slot) in self.iter() {
            if word.state() == State::Taken && word.place() == place {
                slot.late.store(true, SeqCst);
                self.change(at, word, word.with(State::Lost));
                if slot.dropped.load(SeqCst) {
                    self.clear(at, word.with(State::Lost));
                }
            }
        }
        if let Some(own) = (self.places[place].own.swap(0, SeqCst) as usize).checked_sub(1) {
            self.abandon(own, self.word(own).ticket());
        }
        self.busy.store(BUSY, Relaxed);
    }

    /// Sleeps at `place` until something happens to the job in `slot`, or there; says where it slept.
    fn sleep(&self, slot: usize, place: usize, word: Word, places: usize) -> usize {
        let lock = &self.places[place].lock;
        let (me, seat) = (self.slot(slot), self.sit(place));
        me.sleeps_in(Some(seat));
        // If it changes from here on, the wake may come before the sleep: `wake_served`.
        if self.word(slot) == word {
            lock.sleep(seat.bit());
        }
        me.sleeps_in(None);
        self.rise(seat);
        // The kernel wakes one for a dead leader, whosever job it had.
        if lock.is_orphan() && self.take_this(place) {
            self.give_up(place, 0, places);
        }
        if me.called.swap(false, SeqCst) && self.word(slot).state() != State::Waiting {
            self.call(places);
        }
        place
    }

    /// Leads one batch from `place`, which is the caller's: the oldest job and those that go with it. False in a forked
    /// child.
    pub(super) fn lead(&self, place: usize, own: Option<usize>, gather: bool, epoch: u64, places: usize) -> bool {
        self.places[place].own.store(own.map_or(0, |o| o as u32 + 1), SeqCst);
        if gather {
            self.gather(place);
        }
        // Served meanwhile: it must not go into a kernel, where it might die, while others wait for it to ask again.
        if own.is_some_and(|slot| self.word(slot).state().is_settled()) {
            self.places[place].own.store(0, SeqCst);
            self.give_up(place, 0, places);
            return true;
        }
        let mut batch = [(0usize, self.word(0)); LANES];
        let count = self.take_batch(place, &mut batch, places);
        let batch = &batch[..count];
        let mut settled = 0;
        if let Some(work) = batch.first().and_then(|b| self.work(b.0)) {
            let mut jobs = [std::ptr::null_mut(); LANES];
            jobs.iter_mut().zip(batch).for_each(|(job, b)| *job = self.job(b.0));
            let lanes = count >= work.break_even.max(2);
            let still = || self.epoch.load(Acquire) == epoch;
            // SAFETY: these slots are taken, by this place, and their jobs of this kind.
            let done = unsafe { work.run(&jobs[..count], lanes, &still) };
            if !still() {
                return false;
            }
            if lanes && done.is_some() {
                counters::note(work.queue, Event::Batch(count));
            }
            for (i, &(slot, word)) in batch.iter().enumerate() {
                let state = match done.map(|done| done[i]) {
                    None => State::Lost,
                    Some(None) => State::Wrong,
                    Some(Some(Outcome::Lanes)) => State::DoneInLanes,
                    Some(Some(Outcome::Instructions)) => State::DoneByInstructions,
                    Some(Some(Outcome::Library | Outcome::Software(_))) => State::DoneAlone,
                };
                self.change(slot, word, word.with(state));
                settled |= 1u64 << (slot % 64);
                if self.slot(slot).dropped.load(SeqCst) {
                    self.clear(slot, word.with(state));
                }
            }
        }
        self.places[place].own.store(0, SeqCst);
        self.give_up(place, settled, places);
        true
    }

    /// The jobs that wait, and the threads that have been served and are on their way.
    fn traffic(&self) -> (usize, usize) {
        let (mut waiting, mut coming) = (0, 0);
        for (at, word, slot) in self.iter() {
            match word.state() {
                State::Waiting => waiting += 1,
                State::Free | State::Filling | State::Taken => {}
                // Who leads is in a kernel, for long, perhaps for ever.
                _ if self.places.iter().any(|p| p.own.load(SeqCst) == at as u32 + 1) => {}
                _ if slot.visitor.load(Relaxed) == 0 && !slot.late.load(SeqCst) => coming += 1,
                _ => {}
            }
        }
        (waiting, coming)
    }

    /// Jobs that wait to be taken.
    pub(super) fn waiting(&self) -> usize {
        self.iter().filter(|(_, word, _)| word.state() == State::Waiting).count()
    }

    /// Those of one queue.
    pub(super) fn waiting_in(&self, queue: Queue) -> usize {
        let of_queue = |at| self.work(at).is_some_and(|work| work.queue == queue);
        self.iter().filter(|&(at, word, _)| word.state() == State::Waiting && of_queue(at)).count()
    }

    /// Sleeps at `place`, its own, while there are threads on their way and room for them.
    fn gather(&self, place: usize) {
        let bell = &self.places[place].bell;
        for _ in 0..LANES {
            self.gathering.fetch_add(1, SeqCst);
            bell.set();
            let (waiting, coming) = self.traffic();
            let enough = waiting >= LANES || coming == 0;
            if !enough {
                bell.sleep();
            }
            bell.clear();
            self.gathering.fetch_sub(1, SeqCst);
            if enough {
                return;
            }
        }
    }

    /// Wakes the leaders who gather, if what they wait for has come. Called by who has just asked, and by who is on its way.
    pub(super) fn ring(&self, places: usize) {
        if self.gathering.load(SeqCst) == 0 {
            return;
        }
        let (waiting, coming) = self.traffic();
        if waiting < LANES && coming > 0 {
            return;
        }
        for place in &self.places[..places] {
            if place.bell.ring() && coming > 0 {
                return;
            }
        }
    }

    /// Takes the oldest job, and as many of its kind as there are lanes if they pay: of those first the ones whose owners
    /// sleep at this place, so that nobody must be woken to sleep elsewhere.
    fn take_batch(&self, place: usize, batch: &mut [(usize, Word); LANES], places: usize) -> usize {
        loop {
            let mut waiting = [(false, 0, 0, Word::NONE); SLOTS];
            let (mut found, mut others, mut oldest) = (0, false, usize::MAX);
            for (at, word, slot) in self.iter() {
                let sleeps = slot.asleep().map(Seat::place);
                if sleeps == Some(place) {
                    self.places[place].lock.watch();
                }
                match word.state() {
                    State::Waiting => {
                        let elsewhere = sleeps.is_some_and(|at| at != place);
                        waiting[found] = (elsewhere, word.ticket(), at, word);
                        if oldest == usize::MAX || word.ticket() < waiting[oldest].1 {
                            oldest = found;
                        }
                        found += 1;
                    }
                    State::Free => {}
                    _ => others = true,
                }
            }
            if found == 0 {
                return 0;
            }
            // One request and nobody else in sight, a few times in a row: the next may work alone again.
            let crowd = found > 1 || others;
            self.busy.store(if crowd { BUSY } else { self.busy.load(Relaxed).saturating_sub(1) }, Relaxed);
            let first = waiting[oldest].1;
            let work = self.work(waiting[oldest].2);
            let same = |at: usize| match (self.work(at), work) {
                (Some(a), Some(b)) => std::ptr::eq(a, b),
                _ => false,
            };
            let mut fit = 0;
            for i in 0..found {
                if same(waiting[i].2) {
                    waiting[fit] = waiting[i];
                    fit += 1;
                }
            }
            let fits = &mut waiting[..fit];
            fits.sort_unstable_by_key(|w| (w.1 != first, w.0, w.1));
            let wanted = if fit < work.map_or(2, |w| w.break_even) { 1 } else { LANES };
            let mut taken = 0;
            for &(_, _, at, word) in fits.iter().take(wanted) {
                let mine = word.taken_by(place);
                if self.change(at, word, mine) {
                    batch[taken] = (at, mine);
                    taken += 1;
                }
            }
            if taken > 0 {
                if found > taken {
                    self.call(places);
                }
                return taken;
            }
        }
    }

    /// Gives `place` up and wakes those who have something to do: the owners of what was settled, those who sleep here for
    /// what somebody else does, and one to lead if anything waits.
    fn give_up(&self, place: usize, settled: u64, places: usize) {
        self.places[place].lock.give();
        self.wake_served(place, settled, places);
        self.call(places);
    }

    /// Wakes whose jobs do not wait any more. Who has looked at its job before it was settled and sleeps only after this
    /// is not woken, and will be when the place it sleeps at is given up. The one who holds that must not wait for it
    /// meanwhile: where a wake has not found all it was for, they are marked.
    fn wake_served(&self, place: usize, settled: u64, places: usize) {
        let (mut sleepers, mut count) = ([(0, Seat::NOWHERE); SLOTS], 0);
        let mut found = [(0u32, 0usize); PLACES];
        for (at, word, slot) in self.iter() {
            let Some(seat) = slot.asleep() else { continue };
            if word.state() == State::Waiting || seat.is_leaving() {
                continue;
            }
            let done = word.state().is_settled() && settled >> (at % 64) & 1 == 1;
            if done || seat.place() == place {
                sleepers[count] = (at, seat);
                count += 1;
                let (bits, weight) = &mut found[seat.place()];
                *bits |= seat.bit();
                *weight += seat.weight();
            }
        }
        let mut missed = 0u64;
        for (at, (bits, weight)) in found.into_iter().enumerate().take(places) {
            missed |= u64::from(self.places[at].lock.wake(bits) < weight) << at;
        }
        for &(at, seat) in &sleepers[..count] {
            let slot = self.slot(at);
            match missed >> seat.place() & 1 {
                0 => slot.is_up(seat),
                _ if slot.asleep() == Some(seat) => slot.late.store(true, SeqCst),
                _ => {}
            }
        }
        if missed != 0 {
            self.ring(places);
        }
    }

    /// Wakes the oldest sleeper whose job waits, if there is a place for it; the next, where that one was not asleep yet.
    fn call(&self, places: usize) {
        let mut after = 0;
        while self.places[..places].iter().any(|p| p.lock.holder().is_none()) {
            let sleepers = self.iter().filter_map(|(at, word, slot)| {
                let waits = word.state() == State::Waiting && word.ticket() > after;
                slot.asleep().filter(|_| waits).map(|seat| (word.ticket(), at, seat))
            });
            let Some((ticket, at, seat)) = sleepers.min_by_key(|sleeper| sleeper.0) else { return };
            let (slot, lock) = (self.slot(at), &self.places[seat.place()].lock);
            slot.called.store(true, SeqCst);
            let woken = if seat.is_leaving() { 0 } else { lock.wake(seat.bit()) };
            if woken >= seat.weight() {
                slot.is_up(seat);
            }
            // On its way, and has not looked yet whether it was called.
            if woken > 0 || seat.is_leaving() && slot.asleep() == Some(seat) {
                return;
            }
            after = ticket;
        }
    }
}
