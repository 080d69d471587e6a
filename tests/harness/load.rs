//! A load: clients that come one after the other, many at a time, none of which may fail.

use crate::listener::until;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A load under way.
#[derive(Debug, Default)]
pub struct Load {
    begun: AtomicUsize,
    done: AtomicUsize,
    over: AtomicBool,
    failed: Mutex<Vec<String>>,
}

impl Load {
    /// Has `client` called by `at_once` threads, again and again with a number, while `meanwhile` runs, and until there were `least`; how many
    /// there were. Panics where one has failed.
    pub fn run(
        at_once: usize,
        least: usize,
        client: impl Fn(usize) -> Result<(), String> + Sync,
        meanwhile: impl FnOnce(&Load),
    ) -> usize {
        let load = Load::default();
        std::thread::scope(|scope| {
            let ending = Ending(&load);
            for _ in 0..at_once {
                scope.spawn(|| load.clients(&client));
            }
            meanwhile(&load);
            until("enough clients", || load.is_over() || load.done() >= least);
            drop(ending);
        });
        let failed = load.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert!(failed.is_empty(), "{} of {} failed: {}", failed.len(), load.begun.into_inner(), failed[0]);
        load.done.into_inner()
    }

    fn clients(&self, client: impl Fn(usize) -> Result<(), String>) {
        // A client that panics ends the load, too.
        let ending = Ending(self);
        while !self.is_over() {
            match client(self.begun.fetch_add(1, Relaxed)) {
                Ok(()) => _ = self.done.fetch_add(1, Relaxed),
                Err(why) => {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).push(why);
                    break;
                }
            }
        }
        drop(ending);
    }

    /// Clients that have been served.
    pub fn done(&self) -> usize {
        self.done.load(Relaxed)
    }

    /// Whether no further clients are started: there were enough, or one has failed.
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Waits until `clients` more clients have been served.
    pub fn more(&self, clients: usize) {
        let before = self.done();
        until("more clients", || self.is_over() || self.done() >= before + clients);
    }
}

/// Ends the load when it is dropped.
struct Ending<'a>(&'a Load);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Relaxed);
    }
}
