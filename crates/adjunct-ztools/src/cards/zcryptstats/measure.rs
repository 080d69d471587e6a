//! Intervals: the numbers at both ends, and their differences.

use super::print::{Printer, Row, Subject};
use super::select::Selection;
use super::{TOOL, Wanted};
use crate::cards::device::Device;
use crate::cards::tool::{Stop, unreadable};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Machine, Mode, Work};
use adjunct_card_state::state;
use adjunct_tool::interrupt;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Interval in which it is asked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(50);

/// A card, or one of its domains, by numbers: a card stands before its domains.
type Key = (u8, Option<u8>);

/// The counts of a device, with the device.
#[derive(Debug, Clone)]
struct Sample {
    subject: Subject,
    mode: Mode,
    /// The names of the counters.
    names: Vec<String>,
    counters: Vec<Work>,
}

impl Sample {
    fn of(device: &Device<'_>) -> Sample {
        let mut sum = vec![Work::default(); device.card.counters.len()];
        let queues =
            device.card.queues.iter().filter(|queue| device.queue.is_none_or(|one| one.domain == queue.domain));
        for queue in queues {
            for (sum, one) in sum.iter_mut().zip(&queue.counters) {
                sum.operations = sum.operations.wrapping_add(one.operations);
                sum.busy = sum.busy.wrapping_add(one.busy);
            }
        }
        let names = device.card.counters.iter().map(adjunct_tool::escape::shown).collect();
        Sample { subject: Subject::of(device), mode: device.card.mode, names, counters: sum }
    }

    /// The work since `before`; `None` where it is another card by now, or was restarted.
    fn since(&self, before: &Sample) -> Option<Vec<Work>> {
        if (self.mode, &self.subject, &self.names) != (before.mode, &before.subject, &before.names) {
            return None;
        }
        let done = |(now, before): (&Work, &Work)| {
            let operations = now.operations.checked_sub(before.operations)?;
            Some(Work { operations, busy: now.busy.checked_sub(before.busy)? })
        };
        self.counters.iter().zip(&before.counters).map(done).collect()
    }
}

/// The rows of a device, by the names of its counters. The first counter of a CCA coprocessor is of all operations; the others count some again.
fn rows(mode: Mode, names: &[String], done: &[Work], seconds: f64, wanted: &Wanted) -> (Vec<Row>, Option<Row>) {
    let row = |name: &str, work: Work| {
        let busy = work.busy as f64 / 1e9;
        let operations = work.operations as f64;
        Row {
            name: name.to_owned(),
            operations: work.operations,
            rate: operations / seconds,
            utilization: busy / seconds,
            duration: if work.operations > 0 { busy / operations } else { 0.0 },
        }
    };
    let each = names.iter().zip(done).map(|(name, work)| row(name, *work));
    let total = match (mode, done.first()) {
        (Mode::Cca, Some(all)) => *all,
        _ => done.iter().fold(Work::default(), |sum, one| Work {
            operations: sum.operations.wrapping_add(one.operations),
            busy: sum.busy.wrapping_add(one.busy),
        }),
    };
    (if wanted.counters { each.collect() } else { Vec::new() }, wanted.totals.then(|| row("Total", total)))
}

/// Measures as often as wanted, or until the user wants an end.
pub(super) fn run(wanted: &Wanted, selection: &Selection) -> Result<(), Stop> {
    interrupt::catch_interrupts();
    let path = Folder::found().state();
    wanted.say(&format!("Device '{}' has been opened successfully", adjunct_tool::escape::shown(&path)));
    let printer = Printer::new(wanted.format);
    printer.start()?;
    let start = Instant::now();
    let (mut before, mut last) = (BTreeMap::new(), start);
    let mut interval = 0u64;
    let ended = loop {
        wanted.say(&format!("Interval {interval}"));
        let now = Instant::now();
        let machine = match state::read(&path) {
            Ok(machine) => machine,
            Err(error) => break Err(gone(&unreadable(&error))),
        };
        let samples = samples(&machine, wanted, selection);
        changed(&before, &samples, wanted);
        let shown = show(&printer, wanted, interval, now.duration_since(last).as_secs_f64(), &before, &samples)?;
        if !shown && interval > 0 {
            wanted.say("No data was reported in this interval");
            break Err(gone("no card is left to show"));
        }
        (before, last) = (samples, now);
        if wanted.count > 0 && interval >= wanted.count {
            wanted.say("Interval limit reached");
            break Ok(());
        }
        interval += 1;
        if !wait(
            start,
            Duration::from_secs(wanted.interval).saturating_mul(u32::try_from(interval).unwrap_or(u32::MAX)),
        ) {
            wanted.say("Measurement stopped by user");
            break Ok(());
        }
    };
    printer.end()?;
    ended
}

fn gone(why: &str) -> Stop {
    TOOL.stop(&format!("Failed to get card crypto measurement data: No such device\n{}: {why}", TOOL.0))
}

fn samples(machine: &Machine, wanted: &Wanted, selection: &Selection) -> BTreeMap<Key, Sample> {
    let mut samples = BTreeMap::new();
    for card in &machine.cards {
        let device = Device { card, queue: None };
        if !selection.has(&device, wanted) {
            continue;
        }
        samples.insert((card.id, None), Sample::of(&device));
        for queue in card.queues.iter().filter(|_| wanted.queues) {
            let device = Device { card, queue: Some(queue) };
            if selection.has(&device, wanted) {
                samples.insert((card.id, Some(queue.domain)), Sample::of(&device));
            }
        }
    }
    samples
}

/// Prints the cards and domains that appeared and those that disappeared.
fn changed(before: &BTreeMap<Key, Sample>, now: &BTreeMap<Key, Sample>, wanted: &Wanted) {
    let name = |(card, domain): &Key| match domain {
        None => format!("Card {card:02x}"),
        Some(domain) => format!("APQN {card:02x}.{domain:04x}"),
    };
    now.keys().filter(|key| !before.contains_key(*key)).for_each(|key| wanted.say(&format!("{} added", name(key))));
    before.keys().filter(|key| !now.contains_key(*key)).for_each(|key| wanted.say(&format!("{} removed", name(key))));
}

/// Prints an interval; whether there was a card to print.
fn show(
    printer: &Printer,
    wanted: &Wanted,
    interval: u64,
    seconds: f64,
    before: &BTreeMap<Key, Sample>,
    now: &BTreeMap<Key, Sample>,
) -> Result<bool, Stop> {
    let done = |(key, sample): (&Key, &Sample)| {
        let work = sample.since(before.get(key)?)?;
        let (rows, total) = rows(sample.mode, &sample.names, &work, seconds, wanted);
        Some((sample.subject.clone(), rows, total))
    };
    let devices: Vec<_> = now.iter().filter_map(done).collect();
    if !devices.is_empty() {
        printer.interval(interval, &devices)?;
    }
    Ok(!devices.is_empty())
}

/// Waits until that long after the start; false where the user wants an end before.
fn wait(start: Instant, until: Duration) -> bool {
    loop {
        if interrupt::interrupted().is_err() {
            return false;
        }
        match until.checked_sub(start.elapsed()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(LOOK)),
            _ => return true,
        }
    }
}
