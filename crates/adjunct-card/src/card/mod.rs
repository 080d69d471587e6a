//! A card's process: it tests itself, gives up what it does not need, and works for the programs whose connections the daemon hands it.
//!
//! It parses nothing but messages of fixed layouts ([`adjunct_card_protocol::wire`]). Keys are in its memory alone, which is in no core dump, and
//! locked where the limit allows it.

mod confine;
mod connections;
mod keys;
mod known;
mod load;
mod parked;
pub mod pending;
mod reader;
mod worker;

use crate::config::Limits;
use crate::link::Report;
use crate::state::Shared;
use crate::watch;
use adjunct::card::work;
use adjunct_card_protocol::crowd::Page;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use worker::Card;

pub use known::known_request;
pub use worker::{refuse, weight};

/// The memory, sockets and settings that the daemon gives to a card's process.
#[derive(Debug)]
pub struct Setup {
    /// The shared memory in which the card counts.
    pub state: Shared,
    /// The page on which the card notes what it finds.
    pub page: &'static Page,
    /// The link to the daemon.
    pub daemon: OwnedFd,
    /// Its threads.
    pub workers: usize,
    /// The limits of each user.
    pub limits: Limits,
    /// Whether the card serves where the CPU has no lanes.
    pub without_lanes: bool,
}

/// Runs a card; does not come back but for an error.
///
/// # Errors
/// What the system says.
pub fn run(setup: Setup) -> io::Result<()> {
    // What is done here is counted by the programs it is done for.
    adjunct::counters::switch(false);
    let workers = setup.workers.max(1);
    let (page, without_lanes) = (setup.page, setup.without_lanes);
    confine::keep_freed_memory();
    confine::have_descriptors();
    let card = Arc::new(Card::new(setup)?);
    if without_lanes {
        work::do_without_lanes();
    } else if !work::available() {
        card.report(Report::NoLanes);
        return Ok(());
    }
    if !known::answers_are_found(page) {
        card.report(Report::Faulty);
        return Ok(());
    }
    // With the one that watches.
    if !confine::hide_memory(workers + 1)? {
        eprintln!("adjunctd: a card's memory is not locked (RLIMIT_MEMLOCK): keys may get into the swap");
    }
    watch::start()?;
    let gate = Arc::new(std::sync::Barrier::new(workers));
    for _ in 1..workers {
        let (card, gate) = (Arc::clone(&card), Arc::clone(&gate));
        std::thread::Builder::new().name("worker".into()).spawn(move || {
            wake_in_time();
            watch::this_thread();
            // Started, and then: confined.
            gate.wait();
            gate.wait();
            card.work();
        })?;
    }
    wake_in_time();
    watch::this_thread();
    gate.wait();
    confine::close_filter()?;
    card.report(Report::Ready);
    gate.wait();
    card.work();
    Ok(())
}

/// Has this thread's short waits end when they are over, and not up to 50 microseconds later, which is the system's default.
fn wake_in_time() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
