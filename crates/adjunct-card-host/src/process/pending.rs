//! The requests that wait for a worker, and which are done next.
//!
//! *Users.* Users are served in turns, by the time of workers that they have had: the one that has had the least is next, with its oldest request.
//! The rest of the batch is filled with requests of the same kind, round the users that wait. However many requests and connections one user has,
//! another's waits for the batches that run when it comes and for its own. A user that comes back after a while begins with the time of the user
//! whose turn it is, so that no user saves up time.
//!
//! *Batches.* A batch begins when eight of a kind wait, or when no worker is busy and any request waits: two workers that begin at once with half a
//! batch each would do half as much. While one works, others gather; but where other kinds have whole batches, a kind is passed over only until the
//! next batch ends. Where no worker is busy and fewer than eight requests wait, a worker may first see whether more are on their way
//! ([`Choice::Gather`]): those whose programs have just been answered. Without lanes a batch makes nothing faster, and is one request.
//!
//! *Limits.* A user may have only so many requests waiting, and take only a share of the workers' time; beyond it requests are refused, and
//! their programs do them by themselves, in their own time.
#![forbid(unsafe_code)]

use adjunct_card_state::config::Limits;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Over how long a user's share of the workers' time is measured.
const PERIOD: Duration = Duration::from_secs(1);
/// The most users that are remembered though no request of theirs waits.
const REMEMBERED: usize = 1024;
/// The time of a worker that a request of a kind is expected to take before any was done, in nanoseconds.
const FIRST_COST: u64 = 100_000;

/// The number of a kind of requests, by the service's numbers.
pub type Kind = usize;

/// A request that waits.
#[derive(Debug)]
pub struct Waiting<T> {
    /// The user who asked.
    pub uid: u32,
    /// The queue it came to: its place in the state.
    pub queue: u16,
    /// The request's work.
    pub work: T,
    /// Number of the request among all requests.
    number: u64,
    /// Number of batches that had ended when the request came.
    ended: u64,
}

/// A user's waiting requests, and the workers' time that the user has had.
#[derive(Debug)]
struct User<T> {
    /// Requests of the user, by kind.
    requests: Vec<VecDeque<Waiting<T>>>,
    waiting: usize,
    /// Nanoseconds of workers that the user has had, of a clock that all users share.
    time: u64,
    /// Time of workers since the period began.
    busy: Duration,
    began: Instant,
}

/// The next task of a worker.
#[derive(Debug)]
pub enum Choice<T> {
    /// Work on these requests. They count as a worker's until [`Pending::done`].
    Batch(Kind, Vec<Waiting<T>>),
    /// This many requests of a kind wait and no worker is busy: take them, unless more are on their way.
    Gather(Kind, usize),
    /// Wait: there is nothing to do.
    Nothing,
}

/// All requests that wait.
#[derive(Debug)]
pub struct Pending<T> {
    users: HashMap<u32, User<T>>,
    /// The users that have requests waiting.
    active: Vec<u32>,
    counts: Vec<usize>,
    limits: Limits,
    workers: usize,
    /// Requests of a batch.
    batch: usize,
    running: usize,
    number: u64,
    /// Number of batches that have ended.
    ended: u64,
    /// Time of the user that was last chosen because it was its turn.
    time: u64,
    /// A worker's time for a request of each kind, in nanoseconds.
    costs: Vec<u64>,
}

impl<T> Pending<T> {
    /// Makes an empty set of so many kinds, for so many workers, whose batches have at most so many requests.
    pub fn new(kinds: usize, workers: usize, batch: usize, limits: Limits) -> Pending<T> {
        Pending {
            users: HashMap::new(),
            active: Vec::new(),
            counts: vec![0; kinds],
            limits,
            workers,
            batch,
            running: 0,
            number: 0,
            ended: 0,
            time: 0,
            costs: vec![FIRST_COST; kinds],
        }
    }

    /// The time of workers that a user may have in a period.
    fn most(&self) -> Duration {
        PERIOD * self.workers as u32 * self.limits.share / 100
    }

    /// Whether a request of a user would be taken in.
    pub fn has_room(&self, uid: u32, now: Instant) -> bool {
        self.users.get(&uid).is_none_or(|user| {
            let is_old = now.duration_since(user.began) >= PERIOD;
            user.waiting < self.limits.waiting && (is_old || user.busy < self.most())
        })
    }

    /// Takes a request in; gives it back where its user has too much already.
    pub fn push(&mut self, kind: Kind, uid: u32, queue: u16, work: T, now: Instant) -> Result<(), T> {
        let (kinds, most) = (self.counts.len(), self.most());
        let new = || User {
            requests: (0..kinds).map(|_| VecDeque::new()).collect(),
            waiting: 0,
            time: 0,
            busy: Duration::ZERO,
            began: now,
        };
        let user = self.users.entry(uid).or_insert_with(new);
        if now.duration_since(user.began) >= PERIOD {
            (user.busy, user.began) = (Duration::ZERO, now);
        }
        if user.waiting >= self.limits.waiting || user.busy >= most {
            return Err(work);
        }
        if user.waiting == 0 {
            user.time = user.time.max(self.time);
            self.active.push(uid);
        }
        user.waiting += 1;
        self.number += 1;
        self.counts[kind] += 1;
        let (number, ended) = (self.number, self.ended);
        user.requests[kind].push_back(Waiting { uid, queue, work, number, ended });
        Ok(())
    }

    /// Chooses what an idle worker does now; `gathered` where it has already waited for more requests.
    pub fn choose(&mut self, gathered: bool) -> Choice<T> {
        if self.running >= self.workers {
            return Choice::Nothing;
        }
        let Some((mut kind, came)) = self.next(|_| true) else { return Choice::Nothing };
        let is_whole = |kind| self.waiting(kind) >= self.batch;
        if !is_whole(kind) {
            let others = self.next(is_whole);
            // Passed over once: while the batches that ran when it came go on.
            let is_due = others.is_some() && came < self.ended;
            if self.running > 0 && !is_due {
                let Some((other, _)) = others else { return Choice::Nothing };
                kind = other;
            } else if self.running == 0 && others.is_none() && !gathered {
                return Choice::Gather(kind, self.waiting(kind));
            }
        }
        self.running += 1;
        Choice::Batch(kind, self.take(kind))
    }

    /// The kind of the oldest request of the user whose turn it is, and the batches that had ended when that came; of these kinds alone.
    fn next(&self, of: impl Fn(Kind) -> bool) -> Option<(Kind, u64)> {
        let fronts = self.active.iter().filter_map(|uid| self.users.get(uid)).flat_map(|user| {
            let of = &of;
            (0..self.counts.len()).filter(move |&kind| of(kind)).filter_map(move |kind| {
                let first = user.requests[kind].front()?;
                Some((user.time, first.number, kind, first.ended))
            })
        });
        fronts.min_by_key(|&(time, number, ..)| (time, number)).map(|(_, _, kind, ended)| (kind, ended))
    }

    /// The requests of a kind that wait.
    pub fn waiting(&self, kind: Kind) -> usize {
        self.counts[kind]
    }

    /// A batch of a kind: the oldest of each user, then the next of each, and so on, from the user on whose turn it is.
    fn take(&mut self, kind: Kind) -> Vec<Waiting<T>> {
        let turn = |uid: &u32| {
            let user = self.users.get(uid)?;
            Some((user.time, user.requests[kind].front()?.number, *uid))
        };
        let mut turns: Vec<_> = self.active.iter().filter_map(turn).collect();
        turns.sort_unstable();
        if let Some((time, ..)) = turns.first() {
            self.time = self.time.max(*time);
        }
        let mut taken = Vec::with_capacity(self.batch);
        while taken.len() < self.batch && self.counts[kind] > 0 {
            for &(_, _, uid) in turns.iter().take(self.batch - taken.len()) {
                let Some(user) = self.users.get_mut(&uid) else { continue };
                let Some(request) = user.requests[kind].pop_front() else { continue };
                user.time += self.costs[kind];
                self.left(kind, uid);
                taken.push(request);
            }
            turns.retain(|(_, _, uid)| self.users.get(uid).is_some_and(|user| !user.requests[kind].is_empty()));
        }
        taken
    }

    /// Notes that a request of this kind and user no longer waits.
    fn left(&mut self, kind: Kind, uid: u32) {
        self.counts[kind] -= 1;
        if let Some(user) = self.users.get_mut(&uid) {
            user.waiting -= 1;
            if user.waiting == 0 {
                self.active.retain(|other| *other != uid);
            }
        }
    }

    /// A worker is done with requests of a kind and of these users, which took it so long together.
    pub fn done(&mut self, kind: Kind, users: &[u32], busy: Duration) {
        self.running = self.running.saturating_sub(1);
        self.ended += 1;
        let each = busy / users.len().max(1) as u32;
        let cost = &mut self.costs[kind];
        *cost = *cost - *cost / 8 + u64::try_from(each.as_nanos()).unwrap_or(u64::MAX) / 8;
        for uid in users {
            if let Some(user) = self.users.get_mut(uid) {
                user.busy += each;
            }
        }
        if self.users.len() > REMEMBERED + self.active.len() {
            self.users.retain(|_, user| user.waiting > 0 || user.began.elapsed() < PERIOD);
        }
    }

    /// Takes a request of a user out that is not wanted any more.
    pub fn cancel(&mut self, uid: u32, is: impl Fn(&T) -> bool) -> Option<Waiting<T>> {
        let user = self.users.get_mut(&uid)?;
        let found = (0..self.counts.len()).find_map(|kind| {
            let requests = &mut user.requests[kind];
            let at = requests.iter().rposition(|request| is(&request.work))?;
            Some((kind, requests.remove(at)?))
        });
        let (kind, request) = found?;
        self.left(kind, uid);
        Some(request)
    }

    /// Takes out what waits for a queue, or everything.
    pub fn flush(&mut self, queue: Option<u16>) -> Vec<Waiting<T>> {
        let mut out = Vec::new();
        for kind in 0..self.counts.len() {
            for uid in self.active.clone() {
                let Some(user) = self.users.get_mut(&uid) else { continue };
                let requests = &mut user.requests[kind];
                let (flushed, kept): (VecDeque<_>, _) =
                    requests.drain(..).partition(|request| queue.is_none_or(|queue| request.queue == queue));
                *requests = kept;
                (0..flushed.len()).for_each(|_| self.left(kind, uid));
                out.extend(flushed);
            }
        }
        out
    }

    /// Whether no request waits and no worker is busy.
    pub fn is_idle(&self) -> bool {
        self.running == 0 && self.active.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Three kinds, and batches of eight.
    const LANES: usize = 8;
    const RSA_2048: Kind = 0;
    const RSA_4096: Kind = 2;
    const KINDS: usize = 3;

    const LIMITS: Limits = Limits { waiting: 64, share: 100, connections: 64, bulk: 0, bulk_of_user: 0 };

    fn pending(workers: usize) -> Pending<u32> {
        Pending::new(KINDS, workers, LANES, LIMITS)
    }

    fn push_of(pending: &mut Pending<u32>, kind: Kind, uid: u32, works: std::ops::Range<u32>) {
        let now = Instant::now();
        works.for_each(|work| pending.push(kind, uid, 0, work, now).unwrap());
    }

    fn push(pending: &mut Pending<u32>, uid: u32, works: std::ops::Range<u32>) {
        push_of(pending, RSA_2048, uid, works);
    }

    fn works(pending: &mut Pending<u32>) -> Vec<u32> {
        match pending.choose(true) {
            Choice::Batch(_, taken) => taken.into_iter().map(|request| request.work).collect(),
            _ => Vec::new(),
        }
    }

    fn done(pending: &mut Pending<u32>, users: &[u32]) {
        pending.done(RSA_2048, users, Duration::from_millis(1));
    }

    #[test]
    fn a_second_worker_waits_for_a_whole_batch() {
        let mut pending = pending(2);
        assert!(works(&mut pending).is_empty() && pending.is_idle());
        push(&mut pending, 1, 0..3);
        assert!(matches!(pending.choose(false), Choice::Gather(RSA_2048, 3)), "more may come");
        assert_eq!(works(&mut pending), [0, 1, 2]);
        push(&mut pending, 1, 3..10);
        assert!(works(&mut pending).is_empty(), "seven, and one works");
        push(&mut pending, 1, 10..12);
        assert_eq!(works(&mut pending), [3, 4, 5, 6, 7, 8, 9, 10]);
        push(&mut pending, 1, 12..28);
        assert!(works(&mut pending).is_empty(), "all work");
        done(&mut pending, &[1; 3]);
        assert_eq!(works(&mut pending).len(), 8);
        assert!(!pending.is_idle());
    }

    #[test]
    fn users_are_served_in_turns() {
        let mut pending = pending(1);
        push(&mut pending, 1, 0..16);
        push(&mut pending, 2, 100..102);
        push(&mut pending, 3, 200..201);
        assert_eq!(works(&mut pending), [0, 100, 200, 1, 101, 2, 3, 4]);
        assert!(pending.waiting(RSA_2048) == 11);
    }

    #[test]
    fn one_user_s_requests_keep_no_other_waiting() {
        // However many they are: the next batch begins with the other's.
        for kind in 0..KINDS {
            let mut pending: Pending<u32> = Pending::new(KINDS, 2, LANES, Limits { waiting: 5000, ..LIMITS });
            push_of(&mut pending, RSA_4096, 1, 0..4000);
            for _ in 0..20 {
                works(&mut pending);
                works(&mut pending);
                pending.done(RSA_4096, &[1; 8], Duration::from_millis(4));
                pending.done(RSA_4096, &[1; 8], Duration::from_millis(4));
            }
            works(&mut pending);
            works(&mut pending);
            push_of(&mut pending, kind, 2, 9000..9001);
            pending.done(RSA_4096, &[1; 8], Duration::from_millis(4));
            assert!(works(&mut pending).contains(&9000), "{kind:?}");
            // And where a worker was free when it came, once the other has ended, though one works all the time.
            pending.done(RSA_4096, &[1; 8], Duration::from_millis(4));
            push_of(&mut pending, kind, 2, 9001..9002);
            let first = works(&mut pending);
            pending.done(RSA_4096, &[1; 8], Duration::from_millis(4));
            assert!(first.contains(&9001) || works(&mut pending).contains(&9001), "{kind:?}");
        }
    }

    #[test]
    fn a_kind_is_passed_over_once_where_others_have_whole_batches() {
        let mut pending = pending(2);
        push_of(&mut pending, RSA_4096, 1, 0..40);
        push_of(&mut pending, RSA_2048, 1, 100..103);
        push_of(&mut pending, RSA_4096, 1, 40..60);
        assert_eq!((works(&mut pending).len(), works(&mut pending).len()), (8, 8));
        // It is the oldest of its user by now, and is not gathered for while another kind has a whole batch.
        for expected in [[16, 17, 18], [24, 25, 26], [32, 33, 34], [100, 101, 102]] {
            pending.done(RSA_4096, &[1; 8], Duration::from_millis(4));
            assert_eq!(works(&mut pending)[..3], expected);
        }
    }

    #[test]
    fn users_get_the_same_time_whatever_they_ask_for() {
        let mut pending: Pending<u32> = Pending::new(KINDS, 1, 1, LIMITS);
        let mut had = [Duration::ZERO; 2];
        for round in 0..400 {
            for (uid, kind) in [(1, RSA_4096), (2, RSA_2048)] {
                while pending.waiting(kind) < 4 {
                    push_of(&mut pending, kind, uid, round..round + 1);
                }
            }
            let Choice::Batch(kind, taken) = pending.choose(false) else { panic!("something waits") };
            let time = Duration::from_micros(if kind == RSA_4096 { 2000 } else { 300 });
            had[taken[0].uid as usize - 1] += time;
            pending.done(kind, &[taken[0].uid], time);
        }
        let ratio = had[0].as_secs_f64() / had[1].as_secs_f64();
        assert!((0.8..1.25).contains(&ratio), "{had:?}");
    }

    #[test]
    fn without_lanes_each_request_is_a_batch_and_no_worker_waits() {
        let mut pending: Pending<u32> = Pending::new(KINDS, 2, 1, LIMITS);
        push(&mut pending, 1, 0..3);
        assert_eq!([works(&mut pending), works(&mut pending), works(&mut pending)], [vec![0], vec![1], vec![]]);
        done(&mut pending, &[1]);
        assert!(matches!(pending.choose(false), Choice::Batch(_, taken) if taken[0].work == 2));
    }

    #[test]
    fn a_user_has_limits() {
        let mut pending = Pending::new(KINDS, 1, LANES, Limits { waiting: 16, share: 50, ..LIMITS });
        push(&mut pending, 1, 0..16);
        let now = Instant::now();
        assert_eq!(pending.push(RSA_4096, 1, 0, 16, now), Err(16));
        assert_eq!(pending.push(RSA_4096, 2, 0, 17, now), Ok(()));
        // Half of a second of one worker is used up, by one of the two.
        assert_eq!(works(&mut pending).len(), 8);
        pending.done(RSA_2048, &[1; 8], Duration::from_millis(501));
        assert_eq!(pending.push(RSA_2048, 1, 0, 18, now), Err(18));
        assert_eq!(pending.push(RSA_2048, 2, 0, 19, now), Ok(()));
        assert_eq!(pending.push(RSA_2048, 1, 0, 20, now + PERIOD), Ok(()));
    }

    #[test]
    fn a_queue_is_flushed_alone() {
        let mut pending: Pending<u32> = pending(1);
        let now = Instant::now();
        for (queue, work) in [(0, 1), (1, 2), (0, 3)] {
            pending.push(1, 1, queue, work, now).unwrap();
        }
        assert_eq!(pending.flush(Some(0)).into_iter().map(|request| request.work).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(works(&mut pending), [2]);
        assert!(pending.flush(None).is_empty());
    }

    #[test]
    fn what_is_cancelled_is_not_done() {
        let mut pending = pending(1);
        push(&mut pending, 1, 0..3);
        assert_eq!(pending.cancel(1, |work| *work == 1).map(|request| request.work), Some(1));
        assert!(pending.cancel(1, |work| *work == 1).is_none() && pending.cancel(2, |_| true).is_none());
        assert_eq!(works(&mut pending), [0, 2]);
        done(&mut pending, &[1; 2]);
        assert!(pending.is_idle());
    }
}
