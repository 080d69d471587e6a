//! The adapters of this process: which of them take operations, and a word that changes whenever one comes or goes.
//!
//! A key knows the adapter that its operations go to ([`Route`]): found out at its first operation, and again after the word has changed. An
//! operation finds out that the word has not changed by one relaxed load. Symmetric operations, which only the CPU runs, ask nothing: the CPU is
//! always online.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// An adapter: it runs operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Adapter {
    /// The CPU, at once: instructions, or software. Always online.
    Cpu = 0,
    /// Batches in this process, or in a card where that is faster.
    Lanes = 1,
    /// Cards alone, which take keys of a CPU without lanes where the program, or the card's own process, asks for that.
    Card = 2,
}

impl Adapter {
    const ALL: [Adapter; 3] = [Adapter::Cpu, Adapter::Lanes, Adapter::Card];

    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// A change counts as one here, above the bits of the adapters that are online.
const CHANGE: u32 = 1 << 8;

/// The adapters that are online, and how often that has changed.
#[derive(Debug)]
struct State(AtomicU32);

static STATE: State = State::new();

impl State {
    const fn new() -> State {
        State(AtomicU32::new(CHANGE | Adapter::Cpu.bit()))
    }

    fn set_online(&self, adapter: Adapter, online: bool) {
        let change = |state: u32| {
            let next = if online { state | adapter.bit() } else { state & !adapter.bit() };
            (next != state).then_some(next.wrapping_add(CHANGE))
        };
        let _ = self.0.fetch_update(SeqCst, Relaxed, change);
    }
}

/// Whether `adapter` takes operations.
#[inline]
pub fn online(adapter: Adapter) -> bool {
    STATE.0.load(Relaxed) & adapter.bit() != 0
}

/// Sets whether `adapter` takes operations from now on; it finishes those that it has been given.
pub fn set_online(adapter: Adapter, online: bool) {
    STATE.set_online(adapter, online);
}

/// The adapter that a key's operations go to.
#[derive(Debug, Default)]
pub struct Route(AtomicU64);

impl Clone for Route {
    fn clone(&self) -> Route {
        Route(AtomicU64::new(self.0.load(Relaxed)))
    }
}

impl Route {
    /// Makes a route that is not known yet.
    pub const fn new() -> Route {
        Route(AtomicU64::new(0))
    }

    /// Finds the adapter for a key: the one that `takes` gives, if it is online, else the CPU. Threads that ask at the same time find the same one.
    #[inline]
    pub fn find(&self, takes: impl FnOnce() -> Option<Adapter>) -> Adapter {
        self.find_in(STATE.0.load(Relaxed), takes)
    }

    #[inline]
    fn find_in(&self, state: u32, takes: impl FnOnce() -> Option<Adapter>) -> Adapter {
        let known = self.0.load(Relaxed);
        if known >> 32 == u64::from(state) {
            return Adapter::ALL[known as u8 as usize % Adapter::ALL.len()];
        }
        let adapter = takes().filter(|adapter| state & adapter.bit() != 0).unwrap_or(Adapter::Cpu);
        self.0.store(u64::from(state) << 32 | adapter as u64, Relaxed);
        adapter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_found_again_only_after_a_change() {
        let (state, route) = (State::new(), Route::new());
        let find = |takes: Option<Adapter>| {
            let mut asked = false;
            let found = route.find_in(state.0.load(Relaxed), || {
                asked = true;
                takes
            });
            (found, asked)
        };
        assert_eq!(find(Some(Adapter::Lanes)), (Adapter::Cpu, true));
        assert_eq!(find(Some(Adapter::Lanes)), (Adapter::Cpu, false));
        state.set_online(Adapter::Lanes, true);
        assert_eq!(find(Some(Adapter::Lanes)), (Adapter::Lanes, true));
        // What is said twice is no change.
        state.set_online(Adapter::Lanes, true);
        assert_eq!(find(None), (Adapter::Lanes, false));
        state.set_online(Adapter::Lanes, false);
        assert_eq!(find(Some(Adapter::Lanes)), (Adapter::Cpu, true));
        state.set_online(Adapter::Lanes, true);
        assert_eq!(find(None), (Adapter::Cpu, true));
        assert_eq!(find(None), (Adapter::Cpu, false));
    }
}
