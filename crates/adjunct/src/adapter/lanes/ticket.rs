//! A request's life on the board, for callers who wait there and for those who come by to ask.

use super::board::{Board, State};
use super::engine::Entered;
use super::kind::Kind;
use super::work::Work;
use super::{Engine, engine, memory};
use crate::adapter::Outcome;
use crate::counters::{self, Event};

/// What became of a job on the board.
enum Result<J> {
    Done(J, Outcome),
    /// A lane went wrong.
    Wrong,
    /// Not done: the leader died or had no memory, or this is a forked child.
    Not,
}

/// A job on the board.
#[derive(Debug)]
struct Request {
    slot: usize,
    ticket: u64,
    epoch: u64,
}

impl Request {
    /// Whether the slot is still this request's, and in which state.
    fn state(&self, board: &Board) -> Option<State> {
        let word = board.word(self.slot);
        let ours = board.epoch.load(std::sync::atomic::Ordering::Acquire) == self.epoch;
        (ours && word.ticket() == self.ticket).then(|| word.state())
    }

    /// Picks the settled job up.
    ///
    /// # Safety
    /// It is a job of `K`.
    unsafe fn pick<K: Kind>(&self, board: &Board) -> Result<K::Job> {
        let word = board.word(self.slot);
        let settled = self.state(board).is_some_and(State::is_settled);
        // SAFETY: by the caller's word.
        let job = if settled { unsafe { board.pick::<K::Job>(self.slot, word) } } else { None };
        match (job, word.state()) {
            (Some(job), State::DoneInLanes) => Result::Done(job, Outcome::Lanes),
            (Some(job), State::DoneByInstructions) => Result::Done(job, Outcome::Instructions),
            (Some(job), State::DoneAlone) => Result::Done(job, Outcome::Library),
            (Some(_), State::Wrong) => Result::Wrong,
            _ => Result::Not,
        }
    }
}

/// Ends a request: the result as it is, or done again here. Counts it either way.
fn conclude<K: Kind>(result: Result<K::Job>, job: &mut K::Job) -> Outcome {
    let outcome = match result {
        Result::Done(done, outcome) => {
            *job = done;
            outcome
        }
        again => {
            if matches!(again, Result::Wrong) {
                counters::note(K::QUEUE, Event::Corrupted);
            }
            K::scalar(job)
        }
    };
    counters::note(K::QUEUE, super::done(outcome));
    outcome
}

/// Does a job that did not find the engine idle.
#[cold]
#[inline(never)]
pub(super) fn together<K: Kind>(engine: &Engine, job: &mut K::Job) -> Outcome {
    let board = engine.board;
    let copy = job.clone();
    let result = match (Entered::new(), board.open()) {
        (Some(_entered), Some(epoch)) => match board.put(copy, Work::of::<K>(), 0, engine::near()) {
            Ok((slot, word)) => {
                let request = Request { slot, ticket: word.ticket(), epoch };
                board.ring(engine.places);
                if board.serve(slot, epoch, engine.places) {
                    // SAFETY: it was put there just now.
                    let result = unsafe { request.pick::<K>(board) };
                    board.ring(engine.places);
                    result
                } else {
                    Result::Not
                }
            }
            Err(_) => Result::Not,
        },
        _ => Result::Not,
    };
    conclude::<K>(result, job)
}

/// A request that waits to be taken along, while its owner does something else; see [`super::enqueue`].
pub struct Ticket<K: Kind> {
    job: Option<K::Job>,
    engine: &'static Engine,
    request: Request,
}

impl<K: Kind> std::fmt::Debug for Ticket<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("request", &self.request).finish_non_exhaustive()
    }
}

impl<K: Kind> Ticket<K> {
    pub(super) fn new(engine: &'static Engine, job: K::Job) -> std::result::Result<Ticket<K>, K::Job> {
        let board = engine.board;
        let Some(epoch) = board.open() else { return Err(job) };
        let visitor = memory::thread_id();
        let mut copy = job.clone();
        // A second try where the slots were full of what the dead left.
        for last in [false, true] {
            match board.put(copy, Work::of::<K>(), visitor, engine::near()) {
                Ok((slot, word)) => {
                    let request = Request { slot, ticket: word.ticket(), epoch };
                    board.ring(engine.places);
                    return Ok(Ticket { job: Some(job), engine, request });
                }
                Err(back) => copy = back,
            }
            if !last {
                board.clear_the_dead();
            }
        }
        Err(job)
    }

    /// Whether [`Ticket::finish`] has nothing left to wait for.
    pub fn is_done(&self) -> bool {
        self.request.state(self.engine.board).is_none_or(State::is_settled)
    }

    /// The job, done: if it is not yet, leads the batch it is in, or waits for whoever does.
    pub fn finish(mut self) -> (K::Job, Outcome) {
        let Some(mut job) = self.job.take() else { unreachable!("only finish takes it") };
        let (board, request) = (self.engine.board, &self.request);
        let mut done = self.is_done();
        if !done && let Some(_entered) = Entered::new() {
            done = board.serve(request.slot, request.epoch, self.engine.places);
        }
        // SAFETY: it was put there in `new`.
        let result = if done { unsafe { request.pick::<K>(board) } } else { Result::Not };
        let outcome = conclude::<K>(result, &mut job);
        (job, outcome)
    }
}

impl<K: Kind> Drop for Ticket<K> {
    fn drop(&mut self) {
        let board = self.engine.board;
        if self.request.state(board).is_some() {
            board.abandon(self.request.slot, self.request.ticket);
        }
    }
}
