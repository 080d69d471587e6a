//! The board on which threads meet: the gates, with a slot for each thread's job. It lies in one mapping, which a child of fork finds zeroed, and
//! zeros are an empty board.

use super::function;
use super::gate::{Arrival, Leave, SLOTS, Slots, State, Word};
use super::kind::{Kind, MAX_JOB};
use super::own::Own;
use super::presence::{self, Entries};
use super::work::{Done, Work};
use super::{Engine, memory};
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{LANES, Queue};
use adjunct_base::clock;
use adjunct_base::counters::{self, Event};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::time::Duration;

/// Gates of a function: a thread takes the first that has a free slot, from [`first_gate`] on.
const GATES: usize = 4;
/// Number of CPUs that are told apart; where there are more, some are taken for the same.
const CPUS: usize = 127;

/// See the module's words.
#[repr(C, align(4096))]
pub(super) struct Board {
    /// Threads that lead, at any gate; and (`leading_on`) the CPUs on which they began to.
    leading: AtomicU32,
    leading_on: [AtomicU8; CPUS],
    pub(super) present: Entries,
    gates: [[Gate; GATES]; Queue::ALL.len()],
}

/// The meeting place of threads that ask for the same function.
#[repr(C, align(128))]
pub(super) struct Gate {
    word: AtomicU64,
    /// Slot from which a leader begins to take others' jobs.
    turn: AtomicU32,
    /// Slots that have an owner.
    owned: AtomicU64,
    /// Counts wakes: who slept is woken by a change.
    wakes: AtomicU32,
    /// The CPUs of the owners of slots, as far as one can tell.
    places: Places,
    slots: [Slot; SLOTS],
}

/// A thread's job.
#[repr(C, align(128))]
struct Slot {
    state: AtomicU8,
    /// The outcome of the job: a [`Result`] without its job.
    result: AtomicU8,
    /// Time at which the job was done, in microseconds of [`clock::monotonic`].
    done_at: AtomicU32,
    job: UnsafeCell<Room>,
}

/// Room for any job.
#[repr(C, align(64))]
pub(super) struct Room([u64; MAX_JOB / 8]);

impl Room {
    pub(super) const fn new() -> Room {
        Room([0; MAX_JOB / 8])
    }
}

/// For the owner of each slot: the CPU on which it began to wait, and whether it was woken from there and has not run since.
///
/// The system wakes a thread on the CPU where it slept, or on that of the thread that wakes it: where these are the same, the CPU that it waits for
/// is known. Nothing but the size of batches depends on it.
#[repr(C, align(64))]
struct Places([AtomicU8; SLOTS]);

impl Places {
    const WOKEN: u8 = 0x80;

    fn of(cpu: usize) -> u8 {
        (cpu % CPUS) as u8 + 1
    }

    /// The owner of `slot` is about to wait, or is on its way out, on this CPU.
    fn waits(&self, slot: usize, cpu: usize) {
        self.0[slot].store(Places::of(cpu), Relaxed);
    }

    fn runs(&self, slot: usize) {
        self.0[slot].store(0, Relaxed);
    }

    /// The owner of `slot` is woken by a thread on this CPU.
    fn woken(&self, slot: usize, cpu: usize) {
        let here = Places::of(cpu);
        let place = if self.0[slot].load(Relaxed) == here { here | Places::WOKEN } else { 0 };
        self.0[slot].store(place, Relaxed);
    }

    /// The slots whose owners wait on another CPU, one on which no thread leads.
    fn away(&self, cpu: usize, leads_on: impl Fn(usize) -> bool) -> Slots {
        let is = |place: u8| {
            (1..Places::WOKEN).contains(&place) && place != Places::of(cpu) && !leads_on(usize::from(place) - 1)
        };
        self.0.iter().enumerate().fold(0, |slots, (slot, place)| slots | u64::from(is(place.load(Relaxed))) << slot)
    }

    /// Whether a thread was woken on this CPU and waits for it: it runs when the calling thread sleeps.
    fn any_next(&self, cpu: usize) -> bool {
        let sought = Places::of(cpu) | Places::WOKEN;
        self.0.iter().any(|place| place.load(Relaxed) == sought)
    }
}

// SAFETY: a job is touched by its owner until it has arrived and after it is done, and by the one who has taken it in between.
unsafe impl Sync for Board {}

/// The outcome of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Result {
    InLanes = 0,
    ByInstructions,
    Alone,
    /// A lane went wrong.
    Wrong,
    /// The job was not done: its leader had no memory, or this is a forked child.
    Not,
}

impl Result {
    const ALL: [Result; 5] = [Result::InLanes, Result::ByInstructions, Result::Alone, Result::Wrong, Result::Not];

    pub(super) fn of(done: Option<Done>, at: usize) -> Result {
        match done.map(|done| done[at]) {
            None => Result::Not,
            Some(None) => Result::Wrong,
            Some(Some(Outcome::Lanes)) => Result::InLanes,
            Some(Some(Outcome::Instructions)) => Result::ByInstructions,
            // No job of a batch is sent to a card.
            Some(Some(Outcome::Library | Outcome::Software(_) | Outcome::Card)) => Result::Alone,
        }
    }

    pub(super) fn from_number(number: u8) -> Result {
        Result::ALL.get(usize::from(number)).copied().unwrap_or(Result::Not)
    }

    /// How the job was done; `None` where it is to be done again.
    pub(super) fn outcome(self) -> Option<Outcome> {
        match self {
            Result::InLanes => Some(Outcome::Lanes),
            Result::ByInstructions => Some(Outcome::Instructions),
            Result::Alone => Some(Outcome::Library),
            Result::Wrong | Result::Not => None,
        }
    }
}

/// The numbers of set bits, lowest first.
fn each(mut slots: Slots) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = (slots != 0).then(|| slots.trailing_zeros() as usize)?;
        slots &= slots - 1;
        Some(slot)
    })
}

/// The gate at which a thread first looks for a free slot. Where there are enough threads for two batches on each CPU, threads of the same CPU meet
/// at one gate: a leader then wakes threads that slept on its own CPU, which costs less than waking others. Fewer all meet at one gate, and fill
/// batches.
fn first_gate(work: &Work, engine: &Engine) -> usize {
    let many = work.function().inside() >= 2 * work.width() * engine.cpus;
    if many { memory::cpu() % engine.cpus.min(GATES) } else { 0 }
}

/// Wraps after an hour.
fn microseconds(time: Duration) -> u32 {
    time.as_micros() as u32
}

/// The bit by which the owner of a slot is woken. Of more than 32 slots two share one: the other looks, and sleeps again.
fn wake_bit(slot: usize) -> u32 {
    1 << (slot % 32)
}

impl Board {
    /// Maps an empty board for this process; `None` where the system cannot empty it in children.
    pub(super) fn map() -> Option<&'static Board> {
        let place = adjunct_base::fork::memory_wiped_in_children(size_of::<Board>())?;
        // SAFETY: memory of that length, aligned to a page and never unmapped; zeros are a board, of atomic words and bytes that only hold
        // what was written there.
        Some(unsafe { &*place.cast::<Board>() })
    }

    /// Puts `job` into a slot of `K`'s gates, has it done there, and takes it out again; `None` where there is no free slot. The caller has its
    /// signals blocked.
    pub(super) fn serve<K: Kind>(&self, engine: &Engine, job: Own<K::Job>) -> Option<(Option<Own<K::Job>>, Result)> {
        const { assert!(size_of::<K::Job>() <= MAX_JOB && align_of::<K::Job>() <= 64) }
        let (before, from) = self.gates[K::QUEUE as usize].split_at(first_gate(Work::of::<K>(), engine));
        let (gate, own) = from.iter().chain(before).find_map(|gate| Some((gate, gate.claim()?)))?;
        let slot = &gate.slots[own];
        // SAFETY: the slot is this thread's, holds no job, and has the room and alignment.
        unsafe { slot.job.get().cast::<K::Job>().write(*job) };
        drop(job);
        slot.state.store(State::Waits as u8, Release);
        let caller =
            Caller { gate, board: self, engine, work: Work::of::<K>(), generation: adjunct_base::fork::generation() };
        match caller.wait_or_lead(own) {
            Ended::Done => {}
            // A child's board is empty, and what was given up is its leader's.
            Ended::Forked | Ended::GivenUp => return Some((None, Result::Not)),
        }
        // SAFETY: the job is done, and this thread's again: it is copied, and wiped there.
        let job = unsafe {
            let place = slot.job.get().cast::<K::Job>();
            let job = Own::new(place.read());
            caller.work.wipe(place.cast());
            job
        };
        let result = Result::from_number(slot.result.load(Relaxed));
        gate.free(own);
        caller.leave();
        Some((Some(job), result))
    }

    /// Jobs of threads that wait to be taken.
    pub(super) fn waiting(&self) -> usize {
        let gates = self.gates.iter().flatten();
        gates.map(|gate| Word(gate.word.load(SeqCst)).waiting().count_ones() as usize).sum()
    }
}

impl Gate {
    /// A slot for the calling thread.
    fn claim(&self) -> Option<usize> {
        let free = |owned: u64| (owned.trailing_ones() < SLOTS as u32).then_some(owned | (owned + 1));
        let before = self.owned.fetch_update(Acquire, Relaxed, free).ok()?;
        Some(before.trailing_ones() as usize)
    }

    /// The slot has no owner any more, and its job is wiped.
    fn free(&self, slot: usize) {
        self.state(slot).store(State::Free as u8, Relaxed);
        self.places.runs(slot);
        self.owned.fetch_and(!(1 << slot), Release);
    }

    /// Carries a decision out.
    fn change<D>(&self, decide: impl Fn(Word) -> Option<(Word, D)>) -> Option<D> {
        let mut word = self.word.load(SeqCst);
        loop {
            let (next, decision) = decide(Word(word))?;
            match self.word.compare_exchange_weak(word, next.0, SeqCst, SeqCst) {
                Ok(_) => return Some(decision),
                Err(changed) => word = changed,
            }
        }
    }

    fn turn(&self) -> usize {
        self.turn.load(Relaxed) as usize % SLOTS
    }

    fn state(&self, slot: usize) -> &AtomicU8 {
        &self.slots[slot].state
    }

    /// Wakes the owners of these slots, whose states have changed.
    fn wake(&self, slots: Slots) {
        if slots != 0 {
            self.wakes.fetch_add(1, SeqCst);
            memory::wake(&self.wakes, each(slots).fold(0, |bits, slot| bits | wake_bit(slot)));
        }
    }
}

/// How a thread's wait at a gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The job is done, and the thread is awake.
    Done,
    /// The wait ended because this is the thread of a forked child.
    Forked,
    /// The thread has waited for too long, and given its job up to a leader.
    GivenUp,
}

/// A thread at a gate.
struct Caller<'a> {
    gate: &'a Gate,
    board: &'a Board,
    engine: &'a Engine,
    work: &'static Work,
    generation: u32,
}

impl Caller<'_> {
    /// Whether a CPU has nothing to do, as far as this engine knows.
    fn idle(&self) -> bool {
        (self.board.leading.load(Relaxed) as usize) < self.engine.cpus
    }

    /// Slots whose owners should be called to lead in place of the calling thread: this CPU has other threads to run, and the owners wait on a CPU on
    /// which no thread leads.
    fn elsewhere(&self, cpu: usize) -> Slots {
        let leads_on = |cpu: usize| self.board.leading_on[cpu % CPUS].load(Relaxed) > 0;
        let led = leads_on(cpu);
        if !led && !self.gate.places.any_next(cpu) {
            return 0;
        }
        let away = self.gate.places.away(cpu, leads_on);
        // A leader has had to let this thread run: the system gives who is called the idle CPU.
        if led && away == 0 { Slots::MAX } else { away }
    }

    /// Has the job in slot `own` done: leads, or sleeps while others do.
    fn wait_or_lead(&self, own: usize) -> Ended {
        let gate = self.gate;
        let (cpu, width) = (memory::cpu(), self.work.width());
        gate.places.waits(own, cpu);
        let arrival = gate.change(|word| {
            let idle = self.idle();
            let enough = if idle && !gate.places.any_next(cpu) { self.work.function().enough(width) } else { width };
            let elsewhere = if idle { self.elsewhere(cpu) } else { 0 };
            Some(word.arrive(own, idle, elsewhere, enough, width, gate.turn()))
        });
        match arrival {
            Some(Arrival::Leads(taken)) => return self.lead(taken, own),
            Some(Arrival::Calls(slot)) if !self.call(slot) => self.leave(),
            _ => {}
        }
        let (waits, called, done) = (State::Waits as u8, State::Called as u8, State::Done as u8);
        let begin = clock::monotonic();
        // What was never measured has no time that is too long.
        let patience = self.engine.measures().then(|| begin + self.work.function().patience());
        loop {
            let seen = gate.wakes.load(SeqCst);
            let state = gate.state(own).load(SeqCst);
            if state == done {
                let now = clock::monotonic();
                let since = microseconds(now).wrapping_sub(gate.slots[own].done_at.load(Relaxed));
                let function = self.work.function();
                // Awake all that time, and others with it at the gate.
                if patience.is_some() && Duration::from_micros(since.into()) > function.patience() {
                    presence::is_late();
                }
                function.waited(now.saturating_sub(begin));
                return Ended::Done;
            }
            if state != called {
                let woken = memory::sleep(&gate.wakes, seen, wake_bit(own), patience);
                match if woken { None } else { self.insist(own, begin) } {
                    Some(ended) => return ended,
                    None => continue,
                }
            }
            if gate.state(own).compare_exchange(called, waits, SeqCst, SeqCst).is_err() {
                continue;
            }
            match gate.change(|word| word.lead(own, width, gate.turn())) {
                Some(taken) => return self.lead(taken, own),
                // Taken meanwhile: this call is answered by leaving, to sleep on.
                None => self.leave(),
            }
        }
    }

    /// The job in slot `own` has waited since `begin`, for too long: leads, or gives it up where a leader has it. `None` where neither is
    /// to be: it was called or served meanwhile.
    fn insist(&self, own: usize, begin: Duration) -> Option<Ended> {
        let gate = self.gate;
        let state = gate.state(own).load(SeqCst);
        if state == State::Waits as u8
            && let Some(taken) = gate.change(|word| word.insist(own, self.work.width(), gate.turn()))
        {
            return Some(self.lead(taken, own));
        }
        let given_up =
            |from: State| gate.state(own).compare_exchange(from as u8, State::GivenUp as u8, SeqCst, SeqCst).is_ok();
        (given_up(State::Waits) || given_up(State::Taken)).then(|| {
            self.work.function().failed(clock::monotonic().saturating_sub(begin));
            Ended::GivenUp
        })
    }

    /// Does the jobs in these slots, `own` among them, and wakes their owners.
    fn lead(&self, mut taken: Slots, own: usize) -> Ended {
        let gate = self.gate;
        let on = &self.board.leading_on[memory::cpu() % CPUS];
        self.board.leading.fetch_add(1, Relaxed);
        on.fetch_add(1, Relaxed);
        let (mut jobs, mut count, mut uncounted, mut given_up) = ([std::ptr::null_mut(); LANES], 0, 0, 0);
        for slot in each(taken) {
            let before = gate.state(slot).swap(State::Taken as u8, SeqCst);
            if before == State::GivenUp as u8 {
                given_up |= 1 << slot;
                continue;
            }
            // The owner of a called job is among those awake already.
            uncounted += usize::from(before != State::Called as u8);
            jobs[count] = gate.slots[slot].job.get().cast::<u8>();
            count += 1;
        }
        taken &= !given_up;
        self.free_all(given_up);
        let last = each(taken & !(1 << own)).last().map_or(own, |last| last + 1);
        gate.turn.store(last as u32, Relaxed);
        let measured = self.work.function();
        let lanes = self.work.pays(count, self.engine.measures());
        let still = || adjunct_base::fork::generation() == self.generation;
        // SAFETY: these slots are taken, by this thread, and their jobs of this kind.
        let (done, time) = function::timed(|| unsafe { self.work.run(&jobs[..count], lanes, &still) });
        if !still() {
            return Ended::Forked;
        }
        measured.took(count, lanes, time);
        measured.led(count, lanes);
        if lanes && done.is_some() {
            counters::note(self.work.queue, Event::Batch(count));
        }
        self.board.leading.fetch_sub(1, Relaxed);
        on.fetch_sub(1, Relaxed);
        gate.change(|word| Some((word.finish(uncounted), ())));
        let (cpu, now) = (memory::cpu(), microseconds(clock::monotonic()));
        each(taken & !(1 << own)).for_each(|slot| gate.places.woken(slot, cpu));
        let mut left = 0;
        for (at, slot) in each(taken).enumerate() {
            gate.slots[slot].result.store(Result::of(done, at) as u8, Relaxed);
            gate.slots[slot].done_at.store(now, Relaxed);
            if gate.state(slot).swap(State::Done as u8, SeqCst) == State::GivenUp as u8 {
                left |= 1 << slot;
            }
        }
        gate.wake(taken & !(left | 1 << own));
        if given_up | left != 0 {
            presence::is_late();
        }
        self.free_all(left);
        // Counted as awake, and gone.
        each(left).for_each(|_| self.leave());
        Ended::Done
    }

    /// Wipes and frees slots whose owners have given their jobs up.
    fn free_all(&self, slots: Slots) {
        for slot in each(slots) {
            // SAFETY: a job of this kind, which its owner has left to the one who has taken it: this thread.
            unsafe { self.work.wipe(self.gate.slots[slot].job.get().cast()) };
            self.gate.free(slot);
        }
    }

    /// Notes that this thread is no longer awake at the gate.
    fn leave(&self) {
        let gate = self.gate;
        while let Some(Leave::Calls(slot)) = gate.change(|word| Some(word.leave(self.idle(), gate.turn()))) {
            if self.call(slot) {
                return;
            }
        }
    }

    /// Calls the owner of a slot to lead, which takes this thread's place among those awake; false where its job does not wait any more.
    fn call(&self, slot: usize) -> bool {
        let (waits, called) = (State::Waits as u8, State::Called as u8);
        let calls = self.gate.state(slot).compare_exchange(waits, called, SeqCst, SeqCst).is_ok();
        if calls {
            self.gate.wake(1 << slot);
        }
        calls
    }
}
