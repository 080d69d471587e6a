//! The state of one gate (which threads lead, wait or are awake) as one word, and the decisions about it: functions of that word alone, each carried
//! out by one compare-and-exchange.
//!
//! A *gate* is where threads that ask for the same function meet. A thread that has put its job into a slot of the gate either *leads* (does a batch
//! of jobs, its own and those of others) or *waits* (sleeps until its job is done, or until it is called to lead). A thread at the gate that does
//! neither is *awake*: it has been served or called, and is on its way out. All of them have their signals blocked until they have left the gate, so
//! that none leaves it by a jump or ends inside.
//!
//! # The argument
//! *No job is forgotten.* Whenever the word says that a job waits, it says that a thread is awake or leads:
//! * a thread that arrives waits only where another is awake or leads ([`Word::arrive`]);
//! * a leader is awake when its batch is done ([`Word::finish`]);
//! * the last thread awake does not leave while a job waits and no thread leads: it hands its place in the count of those awake to the owner of a job
//!   that waits, which it wakes ([`Word::leave`]); that thread leads, or finds that another leader has taken its job meanwhile, and leaves in the
//!   same way.
//!
//! A thread that is awake or leads makes progress: it runs no code of the program's, and waits for nothing. So every job that waits is taken.
//!
//! *No job starves.* A leader takes its own job and up to seven others, going round the slots from where the last leader stopped. There are [`SLOTS`]
//! slots: fewer than `SLOTS / 7` batches run before a job that waits is taken.
//!
//! *No thread waits for long.* A thread that is awake or leads may still not get a CPU: its control group has a small share, a thread of a higher
//! scheduling class has its CPU, or a filter of system calls has ended it. So a thread waits for a limited time, many times the usual wait
//! ([`super::function`]). If its job still waits by then, it leads, even if others are awake ([`Word::insist`]). If a leader has taken the job, it
//! gives the job up and does it alone: the leader then empties the slot, and gives back the place among those awake that it counted for the owner.
//! The argument above does not need this limit: it holds where no thread ever gives up.
//!
//! *Batches are full.* Threads that are awake mostly come back with the next job: a thread that arrives waits for that, and the eighth leads. Where a
//! CPU is idle, it matters where they are: if they were woken on the CPU of the thread that arrives, they run when it sleeps, and it waits; otherwise
//! they may be waiting for a CPU on which a thread leads, until that batch is over, and the seventh leads, or the sixth where batches are short.
//! (Giving the CPU to them by sched_yield(2) fills two batches on two CPUs better; but beside a program that uses the CPU all the time it did an
//! eighth of the work.) Where no thread is awake and a CPU is idle, a thread that arrives leads.
//!
//! *CPUs do not idle.* Linux is slow to move a runnable thread to an idle CPU, but wakes a sleeping one there. So where a CPU is idle and this one
//! has other threads to run, the thread that should lead calls the owner of a job that waits to lead instead: one that sleeps on a CPU on which no
//! thread leads ([`Arrival::Calls`]). It is among those awake until then.
//!
//! The tests at the end go through all interleavings of a few threads, with these functions.

use adjunct_base::catalogue::LANES;

/// Slots of a gate.
pub(super) const SLOTS: usize = 40;

/// A bit for each slot with a job that waits to be taken (40), threads that are awake (12), and that lead (12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Word(pub(super) u64);

/// Slots, a bit each.
pub(super) type Slots = u64;

/// The next step of a thread that has brought a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The thread leads, and has taken these jobs, its own among them.
    Leads(Slots),
    Waits,
    /// The thread waits, and is among those awake until it has called the owner of the job in this slot to lead.
    Calls(usize),
}

/// The next step of a thread whose job is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// The thread goes.
    Goes,
    /// The thread calls the owner of the job in this slot to lead, in its place: the word stays as it is.
    Calls(usize),
}

impl Word {
    const AWAKE: u64 = 1 << SLOTS;
    const LEADS: u64 = 1 << (SLOTS + 12);

    /// The jobs that wait.
    pub(super) fn waiting(self) -> Slots {
        self.0 & (Word::AWAKE - 1)
    }

    fn awake(self) -> u64 {
        (self.0 / Word::AWAKE) & 0xfff
    }

    fn leading(self) -> u64 {
        self.0 / Word::LEADS
    }

    /// Changes the word for the thread that has put a job into slot `own`. `idle` says whether a CPU has nothing to do, `elsewhere` whose owners are
    /// to be called in its place, because the idle CPU is not this one; `enough` how many jobs are worth a batch at once, `full` how many are the
    /// most, `turn` from which slot on others' jobs are taken.
    pub(super) fn arrive(
        self,
        own: usize,
        idle: bool,
        elsewhere: Slots,
        enough: usize,
        full: usize,
        turn: usize,
    ) -> (Word, Arrival) {
        let filled = self.waiting().count_ones() as usize + 1 >= enough;
        if !filled && (self.awake() > 0 || self.leading() > 0 && !idle) {
            return (Word(self.0 | 1 << own), Arrival::Waits);
        }
        let called = some(self.waiting() & elsewhere, 1, turn);
        if called != 0 {
            return (Word((self.0 | 1 << own) + Word::AWAKE), Arrival::Calls(called.trailing_zeros() as usize));
        }
        let others = some(self.waiting(), full - 1, turn);
        (Word((self.0 & !others) + Word::LEADS), Arrival::Leads(others | 1 << own))
    }

    /// The owner of slot `own`, which was called and is awake, leads; `None` where its job has been taken.
    pub(super) fn lead(self, own: usize, full: usize, turn: usize) -> Option<(Word, Slots)> {
        if self.waiting() >> own & 1 == 0 {
            return None;
        }
        let taken = some(self.waiting() & !(1 << own), full - 1, turn) | 1 << own;
        Some((Word((self.0 & !taken) + Word::LEADS - Word::AWAKE), taken))
    }

    /// The owner of slot `own` has waited for too long, and leads; `None` where its job has been taken.
    pub(super) fn insist(self, own: usize, full: usize, turn: usize) -> Option<(Word, Slots)> {
        self.lead(own, full, turn).map(|(word, taken)| (Word(word.0 + Word::AWAKE), taken))
    }

    /// A leader is done. From here on it is awake, and so are those whose jobs it did: `woken` of all these, which are not counted yet.
    pub(super) fn finish(self, woken: usize) -> Word {
        Word(self.0 - Word::LEADS + woken as u64 * Word::AWAKE)
    }

    /// A thread that is awake leaves, or calls another.
    pub(super) fn leave(self, idle: bool, turn: usize) -> (Word, Leave) {
        if self.awake() == 1 && self.waiting() != 0 && (self.leading() == 0 || idle) {
            return (self, Leave::Calls(some(self.waiting(), 1, turn).trailing_zeros() as usize));
        }
        (Word(self.0 - Word::AWAKE), Leave::Goes)
    }
}

/// Up to `count` of `slots`, from `turn` on, round.
fn some(slots: Slots, count: usize, turn: usize) -> Slots {
    let (mut rest, mut taken) = (slots, 0);
    for _ in 0..count.min(LANES) {
        let from = rest >> turn << turn;
        let next = if from != 0 { from } else { rest };
        let bit = next & next.wrapping_neg();
        taken |= bit;
        rest &= !bit;
    }
    taken
}

/// The state of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum State {
    Free = 0,
    /// The job waits to be taken; its owner sleeps, or is about to arrive or to sleep.
    Waits,
    /// The job is to be taken; its owner was called to lead, and is among those awake. The call applies to the owner that the slot has by then: it
    /// may have been made for an earlier owner, and serves the one that is about to arrive as well.
    Called,
    /// A leader does the job.
    Taken,
    Done,
    /// A leader has taken the job, or is about to, and its owner waits for it no more: the slot is that leader's to free.
    GivenUp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{DefaultHasher, Hash, Hasher};

    #[test]
    fn jobs_are_taken_round() {
        assert_eq!(some(0b1011_0110, 3, 4), 0b1011_0000);
        assert_eq!(some(0b1011_0110, 4, 5), 0b1010_0110);
        assert_eq!(some(0b110, 7, 39), 0b110);
        assert_eq!(some(0, 7, 3), 0);
    }

    /// The step that a thread of the model is at.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Step {
        /// Works elsewhere.
        Out,
        /// The job is in its slot; the thread arrives next.
        Arrives,
        /// Has read the count of wakes, and looks at its slot.
        Looks {
            wakes: u8,
        },
        /// Asleep unless the count has changed.
        Sleeps {
            wakes: u8,
        },
        /// Has waited for too long.
        Insists,
        /// The thread has waited for too long, and another thread has taken its job.
        GivesUp,
        /// Called, and has taken the call back from its slot.
        IsCalled,
        /// The leader takes these jobs, one after the other; so many of their owners have yet to be counted.
        Takes {
            left: Slots,
            all: Slots,
            woken: u8,
        },
        /// The leader does the jobs.
        Works {
            all: Slots,
            woken: u8,
        },
        /// The leader says of each job that it is done; so many were given up.
        Says {
            left: Slots,
            gone: u8,
        },
        /// Counts the wake, after which it wakes.
        Counts {
            gone: u8,
        },
        Wakes {
            gone: u8,
        },
        /// The thread is awake, for itself and for as many others that have gone.
        Leaves(Way),
        /// Calls the owner of a slot.
        Calls {
            slot: u8,
            way: Way,
        },
        CountsCall(Way),
        WakesCalled(Way),
        /// Ended by the system while it led.
        Dead,
    }

    /// A thread's steps after it has left: `back` where it sleeps again, and how many times it leaves for others before.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    struct Way {
        back: bool,
        others: u8,
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    struct Thread {
        step: Step,
        /// Jobs that are still to be brought.
        jobs: u8,
        slot: u8,
        /// How many times the thread may still give up waiting.
        impatience: u8,
    }

    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Model {
        word: Word,
        wakes: u8,
        threads: Vec<Thread>,
        slots: Vec<State>,
        /// Threads that sleep in the kernel.
        asleep: u64,
        turn: u8,
        /// Leaders that can die.
        deaths: u8,
    }

    const FULL: usize = 2;

    impl Model {
        /// Makes a model of threads with this many jobs each, each of which can give up waiting `impatience` times.
        fn new(jobs: &[u8], impatience: u8, deaths: u8) -> Model {
            let thread = |&jobs| Thread { step: Step::Out, jobs, slot: 0, impatience };
            // A slot that was given up is not free at once.
            let slots = jobs.len() + usize::from(impatience.min(1));
            Model {
                word: Word::default(),
                wakes: 0,
                threads: jobs.iter().map(thread).collect(),
                slots: vec![State::Free; slots],
                asleep: 0,
                turn: 0,
                deaths,
            }
        }

        /// Every state after a step of thread `me`; none where it cannot go on.
        fn steps(&self, me: usize) -> Vec<Model> {
            let Thread { step, jobs, slot, impatience } = self.threads[me];
            let (own, turn) = (usize::from(slot), self.turn.into());
            let to = |change: &dyn Fn(&mut Model)| {
                let mut next = self.clone();
                change(&mut next);
                next
            };
            let at = |step: Step| to(&|m| m.threads[me].step = step);
            let looks = |m: &mut Model| m.threads[me].step = Step::Looks { wakes: m.wakes };
            let wake = |m: &mut Model| {
                // Whoever is woken looks again. All: which bits are woken changes nothing for those that need it.
                for (thread, Thread { step, .. }) in m.threads.iter_mut().enumerate() {
                    if m.asleep >> thread & 1 == 1 {
                        *step = Step::Looks { wakes: m.wakes };
                    }
                }
                m.asleep = 0;
            };
            let left = |m: &mut Model, way: Way| match way {
                Way { others: 1.., back } => m.threads[me].step = Step::Leaves(Way { others: way.others - 1, back }),
                Way { back: true, .. } => looks(m),
                Way { back: false, .. } => {
                    m.threads[me].step = Step::Out;
                    m.slots[own] = State::Free;
                }
            };
            match step {
                Step::Dead => vec![],
                Step::Out if jobs == 0 => vec![],
                Step::Out => vec![to(&|m| {
                    m.threads[me].jobs = jobs - 1;
                    // Without a slot it works alone.
                    if let Some(free) = m.slots.iter().position(|&state| state == State::Free) {
                        m.slots[free] = State::Waits;
                        (m.threads[me].slot, m.threads[me].step) = (free as u8, Step::Arrives);
                    }
                })],
                Step::Arrives => {
                    [(false, 0, FULL), (true, 0, FULL), (true, 0, 1), (true, Slots::MAX, FULL), (true, 0b101, 1)]
                        .iter()
                        .map(|&(idle, elsewhere, enough)| {
                            let (word, arrival) = self.word.arrive(own, idle, elsewhere, enough, FULL, turn);
                            to(&|m| {
                                m.word = word;
                                m.threads[me].step = match arrival {
                                    Arrival::Waits => Step::Looks { wakes: m.wakes },
                                    Arrival::Leads(all) => Step::Takes { left: all, all, woken: 0 },
                                    Arrival::Calls(slot) => {
                                        Step::Calls { slot: slot as u8, way: Way { back: true, others: 0 } }
                                    }
                                };
                            })
                        })
                        .collect()
                }
                Step::Looks { wakes } => match self.slots[own] {
                    State::Done => vec![at(Step::Leaves(Way { back: false, others: 0 }))],
                    State::Called => vec![to(&|m| {
                        m.slots[own] = State::Waits;
                        m.threads[me].step = Step::IsCalled;
                    })],
                    _ => vec![at(Step::Sleeps { wakes })],
                },
                Step::Sleeps { wakes } => {
                    let late = (impatience > 0).then(|| {
                        to(&|m| {
                            m.asleep &= !(1 << me);
                            m.threads[me].impatience -= 1;
                            m.threads[me].step = Step::Insists;
                        })
                    });
                    let woken = if self.asleep >> me & 1 == 1 {
                        None
                    } else if wakes != self.wakes {
                        Some(to(&looks))
                    } else {
                        Some(to(&|m| m.asleep |= 1 << me))
                    };
                    late.into_iter().chain(woken).collect()
                }
                Step::Insists => vec![match (self.slots[own], self.word.insist(own, FULL, turn)) {
                    (State::Waits, Some((word, all))) => to(&|m| {
                        m.word = word;
                        m.threads[me].step = Step::Takes { left: all, all, woken: 0 };
                    }),
                    (State::Waits, None) | (State::Taken, _) => at(Step::GivesUp),
                    _ => to(&looks),
                }],
                Step::GivesUp => vec![match self.slots[own] {
                    State::Waits | State::Taken => to(&|m| {
                        m.slots[own] = State::GivenUp;
                        m.threads[me].step = Step::Out;
                    }),
                    _ => to(&looks),
                }],
                Step::IsCalled => match self.word.lead(own, FULL, turn) {
                    Some((word, all)) => vec![to(&|m| {
                        m.word = word;
                        m.threads[me].step = Step::Takes { left: all, all, woken: 0 };
                    })],
                    None => vec![at(Step::Leaves(Way { back: true, others: 0 }))],
                },
                Step::Takes { left: 0, all, woken } => vec![at(Step::Works { all, woken })],
                Step::Takes { left, all, woken } => {
                    let slot = left.trailing_zeros() as usize;
                    vec![to(&|m| {
                        let before = std::mem::replace(&mut m.slots[slot], State::Taken);
                        let (left, mut all) = (left & (left - 1), all);
                        match before {
                            State::GivenUp => {
                                m.slots[slot] = State::Free;
                                all &= !(1 << slot);
                            }
                            State::Waits | State::Called => {}
                            other => panic!("{other:?}"),
                        }
                        let woken = woken + u8::from(before == State::Waits);
                        m.threads[me].step = Step::Takes { left, all, woken };
                        m.turn = (slot as u8 + 1) % m.slots.len() as u8;
                    })]
                }
                Step::Works { all, woken } => {
                    let dies = (self.deaths > 0).then(|| {
                        to(&|m| {
                            m.deaths -= 1;
                            m.threads[me].step = Step::Dead;
                        })
                    });
                    let done = to(&|m| {
                        m.word = m.word.finish(woken.into());
                        m.threads[me].step = Step::Says { left: all, gone: 0 };
                    });
                    dies.into_iter().chain([done]).collect()
                }
                Step::Says { left: 0, gone } => vec![at(Step::Counts { gone })],
                Step::Says { left, gone } => vec![to(&|m| {
                    let slot = left.trailing_zeros() as usize;
                    let before = std::mem::replace(&mut m.slots[slot], State::Done);
                    assert!(matches!(before, State::Taken | State::GivenUp), "{before:?}");
                    if before == State::GivenUp {
                        m.slots[slot] = State::Free;
                    }
                    let gone = gone + u8::from(before == State::GivenUp);
                    m.threads[me].step = Step::Says { left: left & (left - 1), gone };
                })],
                Step::Counts { gone } => vec![to(&|m| {
                    m.wakes = m.wakes.wrapping_add(1);
                    m.threads[me].step = Step::Wakes { gone };
                })],
                Step::Wakes { gone } => vec![to(&|m| {
                    wake(m);
                    m.threads[me].step = Step::Leaves(Way { back: false, others: gone });
                })],
                Step::Leaves(way) => [false, true]
                    .iter()
                    .map(|&idle| match self.word.leave(idle, turn) {
                        (word, Leave::Goes) => to(&|m| {
                            m.word = word;
                            left(m, way);
                        }),
                        (_, Leave::Calls(slot)) => at(Step::Calls { slot: slot as u8, way }),
                    })
                    .collect(),
                Step::Calls { slot, way } => vec![match self.slots[slot as usize] {
                    State::Waits => to(&|m| {
                        m.slots[slot as usize] = State::Called;
                        m.threads[me].step = Step::CountsCall(way);
                    }),
                    _ => at(Step::Leaves(way)),
                }],
                Step::CountsCall(way) => vec![to(&|m| {
                    m.wakes = m.wakes.wrapping_add(1);
                    m.threads[me].step = Step::WakesCalled(way);
                })],
                Step::WakesCalled(way) => vec![to(&|m| {
                    wake(m);
                    left(m, way);
                })],
            }
        }

        fn is_sound(&self) {
            // A called owner whose job is taken before it leads counts twice until it sleeps again: as called, and as served. Those that a
            // leader leaves for count once more.
            let most = 3 * self.threads.len() as u64;
            assert!(self.word.leading() <= self.threads.len() as u64 && self.word.awake() <= most, "{self:?}");
            assert!(self.word.waiting() == 0 || self.word.awake() + self.word.leading() > 0, "{self:?}");
        }

        /// Whether all living threads have brought their jobs and got them back.
        fn is_over(&self) -> bool {
            self.threads.iter().all(|thread| thread.step == Step::Dead || (thread.step, thread.jobs) == (Step::Out, 0))
        }

        /// 128 bits that identify a state: of some 10^8 states no two have the same, but for one case in 10^22. Which thread is where makes no
        /// difference: no step asks for a thread's number.
        fn fingerprint(&self) -> (u64, u64) {
            let of = |begin: u8| {
                let hashed = |part: &dyn Fn(&mut DefaultHasher)| {
                    let mut hasher = DefaultHasher::new();
                    hasher.write_u8(begin);
                    part(&mut hasher);
                    hasher.finish()
                };
                let each = self.threads.iter().enumerate();
                let mut threads: Vec<u64> =
                    each.map(|(me, thread)| hashed(&|h| (thread, self.asleep >> me & 1).hash(h))).collect();
                threads.sort_unstable();
                hashed(&|h| (self.word, self.wakes, &self.slots, self.turn, self.deaths, &threads).hash(h))
            };
            (of(0), of(1))
        }

        /// Counts the states that the model can come to: `None` where all threads wait for each other.
        fn explore(self) -> usize {
            let (mut seen, mut todo) = (HashSet::from([self.fingerprint()]), vec![self]);
            while let Some(model) = todo.pop() {
                model.is_sound();
                let next: Vec<_> = (0..model.threads.len()).flat_map(|me| model.steps(me)).collect();
                if next.is_empty() {
                    assert!(model.is_over(), "stuck: {model:?}");
                    if model.threads.iter().all(|thread| thread.step == Step::Out) {
                        assert_eq!(model.word, Word::default());
                        assert!(model.slots.iter().all(|&state| state == State::Free), "{model:?}");
                    }
                }
                todo.extend(next.into_iter().filter(|next| seen.insert(next.fingerprint())));
            }
            seen.len()
        }
    }

    /// Explores the models of `some`, and those of `deep` where the deep layer runs.
    fn explore_all(some: &[&[u8]], deep: &[&[u8]], impatience: u8, deaths: u8) {
        let deep = if std::env::var_os("ADJUNCT_DEEP").is_some() { deep } else { &[] };
        for jobs in some.iter().chain(deep) {
            println!("{jobs:?}: {} states", Model::new(jobs, impatience, deaths).explore());
        }
    }

    #[test]
    fn all_jobs_are_done_whatever_comes_first() {
        explore_all(&[&[3], &[4, 4], &[2, 1, 1]], &[&[2, 2, 2], &[1, 1, 1, 1]], 0, 0);
    }

    /// Each thread may give its first job up; all the next ones have to be done by the argument alone.
    #[test]
    fn who_gives_up_leaves_nobody_waiting() {
        explore_all(&[&[2, 2], &[1, 1, 1]], &[&[3, 3], &[2, 1, 1]], 1, 0);
    }

    /// Threads that waited for a leader that ended go on.
    #[test]
    fn a_leader_that_ends_is_nobodys_end() {
        explore_all(&[&[2, 2], &[1, 1, 1]], &[&[2, 1, 1]], 4, 1);
    }
}
