//! The requests that wait for a worker, and which are done next.
//!
//! Requests of one kind share a batch. A batch begins when eight of a kind wait, or when nobody works and any waits: two workers that
//! begin at once with half a batch each would do half as much. While one works, others gather. Where nobody works and fewer than eight wait,
//! a worker may first see whether more are on their way ([`Choice::Gather`]): those whose programs have just been answered.
//!
//! *Users.* Those of a batch are taken round the users that wait, so that one with many requests does not keep another waiting for more
//! than its own. A user may have only so many requests waiting, and take only a share of the workers' time; beyond it requests are refused,
//! and their programs do them by themselves, in their own time.
#![forbid(unsafe_code)]

use adjunct::card::wire::Kind;
use adjunct::catalogue::LANES;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Over how long a user's share of the workers' time is measured.
const PERIOD: Duration = Duration::from_secs(1);

/// What one user may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that wait.
    pub waiting: usize,
    /// Of the time of all workers, in hundredths.
    pub share: u32,
}

/// A request that waits.
#[derive(Debug)]
pub struct Waiting<T> {
    /// Whose it is.
    pub uid: u32,
    /// The queue it came to: its place in the state.
    pub queue: u16,
    /// What is to be done.
    pub work: T,
    /// Which one it is, of all.
    number: u64,
}

/// What a user has.
#[derive(Debug)]
struct User {
    waiting: usize,
    /// Time of workers since the period began.
    busy: Duration,
    began: Instant,
}

/// What a worker is to do.
#[derive(Debug)]
pub enum Choice<T> {
    /// These requests. It counts as one that works until [`Pending::done`].
    Batch(Kind, Vec<Waiting<T>>),
    /// So many of a kind wait, and nobody works: these, unless more are on their way.
    Gather(Kind, usize),
    /// To wait.
    Nothing,
}

/// All requests that wait.
#[derive(Debug)]
pub struct Pending<T> {
    kinds: [VecDeque<Waiting<T>>; Kind::ALL.len()],
    users: HashMap<u32, User>,
    limits: Limits,
    workers: usize,
    running: usize,
    number: u64,
}

impl<T> Pending<T> {
    /// None yet, for so many workers.
    pub fn new(workers: usize, limits: Limits) -> Pending<T> {
        Pending { kinds: Default::default(), users: HashMap::new(), limits, workers, running: 0, number: 0 }
    }

    /// Takes a request in; gives it back where its user has too much already.
    pub fn push(&mut self, kind: Kind, uid: u32, queue: u16, work: T, now: Instant) -> Result<(), T> {
        let user = self.users.entry(uid).or_insert(User { waiting: 0, busy: Duration::ZERO, began: now });
        if now.duration_since(user.began) >= PERIOD {
            (user.busy, user.began) = (Duration::ZERO, now);
        }
        let most = PERIOD * self.workers as u32 * self.limits.share / 100;
        if user.waiting >= self.limits.waiting || user.busy >= most {
            return Err(work);
        }
        user.waiting += 1;
        self.number += 1;
        self.kinds[kind as usize].push_back(Waiting { uid, queue, work, number: self.number });
        Ok(())
    }

    /// What a worker that has nothing to do is to do now; `gathered` where it has waited for more already.
    pub fn choose(&mut self, gathered: bool) -> Choice<T> {
        if self.running >= self.workers {
            return Choice::Nothing;
        }
        let enough = if self.running == 0 { 1 } else { LANES };
        let ready = Kind::ALL.into_iter().filter(|&kind| self.waiting(kind) >= enough);
        let oldest = |kind: &Kind| self.kinds[*kind as usize].front().map(|first| first.number);
        let Some(kind) = ready.min_by_key(oldest) else { return Choice::Nothing };
        if !gathered && self.waiting(kind) < LANES {
            return Choice::Gather(kind, self.waiting(kind));
        }
        self.running += 1;
        Choice::Batch(kind, self.take(kind))
    }

    /// The requests of a kind that wait.
    pub fn waiting(&self, kind: Kind) -> usize {
        self.kinds[kind as usize].len()
    }

    /// Up to eight of a kind: the oldest of each user, then the next of each, and so on.
    fn take(&mut self, kind: Kind) -> Vec<Waiting<T>> {
        let waiting = &mut self.kinds[kind as usize];
        if waiting.len() <= LANES || self.users.values().filter(|user| user.waiting > 0).nth(1).is_none() {
            let taken: Vec<_> = waiting.drain(..waiting.len().min(LANES)).collect();
            self.taken(&taken);
            return taken;
        }
        let mut ranks = Vec::new();
        let mut of_user = HashMap::new();
        for (place, request) in waiting.iter().enumerate() {
            let rank = of_user.entry(request.uid).and_modify(|rank| *rank += 1).or_insert(0usize);
            ranks.push((*rank, place));
            // More than all of a batch from each of those before cannot be wanted.
            if ranks.len() >= 64 * LANES {
                break;
            }
        }
        ranks.sort_unstable();
        let mut places: Vec<_> = ranks.into_iter().take(LANES).map(|(_, place)| place).collect();
        places.sort_unstable();
        // From the last to the first: those before keep their places.
        let mut taken: Vec<_> = places.into_iter().rev().filter_map(|place| waiting.remove(place)).collect();
        taken.reverse();
        self.taken(&taken);
        taken
    }

    fn taken(&mut self, requests: &[Waiting<T>]) {
        for request in requests {
            if let Some(user) = self.users.get_mut(&request.uid) {
                user.waiting = user.waiting.saturating_sub(1);
            }
        }
    }

    /// A worker is done with requests of these users, which took it so long together.
    pub fn done(&mut self, users: &[u32], busy: Duration) {
        self.running = self.running.saturating_sub(1);
        for uid in users {
            if let Some(user) = self.users.get_mut(uid) {
                user.busy += busy / users.len() as u32;
            }
        }
        if self.users.len() > 1024 {
            self.users.retain(|_, user| user.waiting > 0 || user.began.elapsed() < PERIOD);
        }
    }

    /// Takes out what waits for a queue, or everything.
    pub fn flush(&mut self, queue: Option<u16>) -> Vec<Waiting<T>> {
        let mut out = Vec::new();
        for waiting in &mut self.kinds {
            let (flushed, kept) =
                waiting.drain(..).partition(|request| queue.is_none_or(|queue| request.queue == queue));
            *waiting = kept;
            out.extend::<VecDeque<_>>(flushed);
        }
        self.taken(&out);
        out
    }

    /// Whether nothing waits and nobody works.
    pub fn is_idle(&self) -> bool {
        self.running == 0 && self.kinds.iter().all(VecDeque::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { waiting: 64, share: 100 };

    fn push(pending: &mut Pending<u32>, uid: u32, works: std::ops::Range<u32>) {
        let now = Instant::now();
        works.for_each(|work| pending.push(Kind::Rsa2048, uid, 0, work, now).unwrap());
    }

    fn works(pending: &mut Pending<u32>) -> Vec<u32> {
        match pending.choose(true) {
            Choice::Batch(_, taken) => taken.into_iter().map(|request| request.work).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_second_worker_waits_for_a_whole_batch() {
        let mut pending = Pending::new(2, LIMITS);
        assert!(works(&mut pending).is_empty() && pending.is_idle());
        push(&mut pending, 1, 0..3);
        assert!(matches!(pending.choose(false), Choice::Gather(Kind::Rsa2048, 3)), "more may come");
        assert_eq!(works(&mut pending), [0, 1, 2]);
        push(&mut pending, 1, 3..10);
        assert!(works(&mut pending).is_empty(), "seven, and one works");
        push(&mut pending, 1, 10..12);
        assert_eq!(works(&mut pending), [3, 4, 5, 6, 7, 8, 9, 10]);
        push(&mut pending, 1, 12..28);
        assert!(works(&mut pending).is_empty(), "all work");
        pending.done(&[1; 3], Duration::from_millis(1));
        assert_eq!(works(&mut pending).len(), 8);
        assert!(!pending.is_idle());
    }

    #[test]
    fn users_are_served_in_turns() {
        let mut pending = Pending::new(1, LIMITS);
        push(&mut pending, 1, 0..16);
        push(&mut pending, 2, 100..102);
        push(&mut pending, 3, 200..201);
        let batch = works(&mut pending);
        assert_eq!(batch, [0, 1, 2, 3, 4, 100, 101, 200]);
    }

    #[test]
    fn a_user_has_limits() {
        let mut pending = Pending::new(1, Limits { waiting: 16, share: 50 });
        push(&mut pending, 1, 0..16);
        let now = Instant::now();
        assert_eq!(pending.push(Kind::Rsa4096, 1, 0, 16, now), Err(16));
        assert_eq!(pending.push(Kind::Rsa4096, 2, 0, 17, now), Ok(()));
        // Half of a second of one worker is used up, by one of the two.
        assert_eq!(works(&mut pending).len(), 8);
        pending.done(&[1; 8], Duration::from_millis(501));
        assert_eq!(pending.push(Kind::Rsa2048, 1, 0, 18, now), Err(18));
        assert_eq!(pending.push(Kind::Rsa2048, 2, 0, 19, now), Ok(()));
        assert_eq!(pending.push(Kind::Rsa2048, 1, 0, 20, now + PERIOD), Ok(()));
    }

    #[test]
    fn a_queue_is_flushed_alone() {
        let mut pending = Pending::new(1, LIMITS);
        let now = Instant::now();
        for (queue, work) in [(0, 1), (1, 2), (0, 3)] {
            pending.push(Kind::Rsa3072, 1, queue, work, now).unwrap();
        }
        assert_eq!(pending.flush(Some(0)).into_iter().map(|request| request.work).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(works(&mut pending), [2]);
        assert!(pending.flush(None).is_empty());
    }
}
