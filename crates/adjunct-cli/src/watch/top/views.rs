//! What happened between two samples, as tables.

use super::parts::{Part, Who};
use super::processes::{Doing, Processes};
use super::table::{Cell, Column, Table, Unit, column};
use super::work::Work;
use crate::watch::sample::{Cards, Counted, Sample};
use adjunct::catalogue::{Function, Queue as Lane, Reason};
use adjunct::counters::{Snapshot, Strength, Use};
use adjunct_card_state::machine::{Card, Machine, Queue};
use adjunct_ztools::pkcsconf::show::mechanism_name;
use adjunct_ztools::stats::{order, queues};
use std::collections::BTreeMap;

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum View {
    Functions,
    Users,
    Processes,
    Reasons,
    Lanes,
    Cards,
    Tokens,
}

impl View {
    /// All views in the order of their keys, 1 to 7.
    pub(super) const ALL: [View; 7] =
        [View::Functions, View::Users, View::Processes, View::Reasons, View::Lanes, View::Cards, View::Tokens];

    /// The name, on its tab and in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            View::Functions => "functions",
            View::Users => "users",
            View::Processes => "processes",
            View::Reasons => "reasons",
            View::Lanes => "lanes",
            View::Cards => "cards",
            View::Tokens => "tokens",
        }
    }
}

/// The operations counted between two samples.
#[derive(Debug)]
pub(super) struct Period {
    /// Length of the period in seconds.
    pub(super) seconds: f64,
    pub(super) now: Sample,
    pub(super) before: Sample,
    pub(super) processes: Vec<Doing>,
    /// The operations counted by each user, in the order of `now`.
    pub(super) grown: Vec<Snapshot>,
}

pub(super) const OPS: Column = column("OPS/S", "operations_per_second", Unit::Rate);
pub(super) const HW: Column = column("HW/S", "hardware_per_second", Unit::Rate);
pub(super) const SW: Column = column("SW/S", "software_per_second", Unit::Rate);
pub(super) const SHARE: Column = column("HW%", "hardware_share", Unit::Share);
pub(super) const BYTES: Column = column("BYTES/S", "bytes_per_second", Unit::Bytes);
const TOTAL: Column = column("TOTAL", "operations", Unit::Count);

const FUNCTIONS: &[Column] = &[column("FUNCTION", "function", Unit::Text), OPS, HW, SW, SHARE, BYTES, TOTAL];
const USERS: &[Column] =
    &[column("USER", "user", Unit::Text), column("PROCS", "processes", Unit::Count), OPS, HW, SW, SHARE, BYTES, TOTAL];
const PROCESSES: &[Column] = &[
    column("PID", "pid", Unit::Text),
    column("PROCESS", "process", Unit::Text),
    column("USER", "user", Unit::Text),
    OPS,
    SHARE,
    BYTES,
    HW,
    SW,
    column("THREADS", "threads", Unit::Count),
];
const REASONS: &[Column] = &[
    column("FUNCTION", "function", Unit::Text),
    SW,
    BYTES,
    TOTAL,
    column("IN SOFTWARE, BECAUSE", "reason", Unit::Text),
];
const LANES: &[Column] = &[
    column("QUEUE", "queue", Unit::Text),
    OPS,
    column("LANES/S", "lanes_per_second", Unit::Rate),
    column("ALONE/S", "alone_per_second", Unit::Rate),
    column("CARD/S", "cards_per_second", Unit::Rate),
    column("FILLED", "lanes_filled", Unit::Mean),
    column("REFUSED", "refused_by_cards", Unit::Count),
    column("FAULTS", "faults", Unit::Count),
];
const CARDS: &[Column] = &[
    column("CARD.DOM", "device", Unit::Text),
    column("TYPE", "type", Unit::Text),
    column("STATUS", "status", Unit::Text),
    OPS,
    column("BUSY", "workers_busy", Unit::Mean),
    column("WAITING", "waiting", Unit::Count),
    column("IN WORK", "in_work", Unit::Count),
    column("REQUESTS", "requests", Unit::Count),
];
const TOKENS: &[Column] = &[
    column("SLOT", "slot", Unit::Count),
    column("MECHANISM", "mechanism", Unit::Text),
    column("USER", "user", Unit::Text),
    column("USES/S", "uses_per_second", Unit::Rate),
    column("TOTAL", "uses", Unit::Count),
    column("BITS", "strength", Unit::Text),
];

/// What `now` has more than `before`. Numbers that fell were reset, and all of them are new.
pub(super) fn grown(now: &Snapshot, before: Option<&Snapshot>) -> Snapshot {
    let Some(before) = before else { return now.clone() };
    let cells = |snapshot: &Snapshot, function: Function| {
        let counts = snapshot.function(function);
        [counts.hardware[0], counts.hardware[1], counts.software[0], counts.software[1]].map(|cell| cell.calls)
    };
    let fell = |function: Function| {
        cells(now, function).iter().zip(cells(before, function)).any(|(now, before)| *now < before)
    };
    if Function::ALL.iter().any(|&function| fell(function)) { now.clone() } else { now.since(before) }
}

impl Period {
    /// Makes the period from one sample to the next, `seconds` later.
    pub(super) fn new(before: Sample, now: Sample, seconds: f64, processes: Vec<Doing>) -> Period {
        let find =
            |uid: u32| before.users.iter().find(|counted| counted.user.uid == uid).map(|counted| &counted.snapshot);
        let grown = now.users.iter().map(|counted| grown(&counted.snapshot, find(counted.user.uid))).collect();
        // Two samples are never at the same moment; a clock that says so is not divided by.
        Period { seconds: seconds.max(0.001), now, before, processes, grown }
    }

    /// All operations of the period.
    pub(super) fn work(&self) -> Work {
        self.grown.iter().map(Work::all).fold(Work::default(), Work::plus)
    }

    /// A view's table.
    pub(super) fn table(&self, view: View) -> Table {
        match view {
            View::Functions => self.functions(),
            View::Users => self.users(),
            View::Processes => self.of_processes(),
            View::Reasons => self.reasons(),
            View::Lanes => self.lanes(),
            View::Cards => self.cards(),
            View::Tokens => self.tokens(),
        }
    }

    /// Sums the counters of all users: counted until now, and counted in this time.
    fn sums(&self) -> (Snapshot, Snapshot) {
        let sum = |all: &mut dyn Iterator<Item = &Snapshot>| all.fold(Snapshot::new(0), |sum, one| sum.plus(one));
        (sum(&mut self.now.users.iter().map(|counted| &counted.snapshot)), sum(&mut self.grown.iter()))
    }

    fn functions(&self) -> Table {
        let (now, grown) = self.sums();
        let row = |function: Function| {
            let total = Work::of(now.function(function)).operations();
            let name = Cell::Text(function.info().stats_name.to_owned());
            let rates = Work::of(grown.function(function)).cells(self.seconds);
            let last = [Cell::Count(total), Cell::Part(Part::Function(function))];
            (total > 0).then(|| std::iter::once(name).chain(rates).chain(last).collect())
        };
        Table {
            columns: FUNCTIONS,
            main: 1,
            rows: order().filter_map(row).collect(),
            empty: nothing("nothing was counted"),
        }
    }

    fn users(&self) -> Table {
        let row = |(counted, grown): (&Counted, &Snapshot)| {
            let first = [Cell::Text(shown(&counted.user.name)), Cell::Count(counted.attached)];
            let rates = Work::all(grown).cells(self.seconds);
            let total = Cell::Count(Work::all(&counted.snapshot).operations());
            let part = Cell::Part(Part::Of(Who::User(counted.user.uid)));
            first.into_iter().chain(rates).chain([total, part]).collect()
        };
        let rows = self.now.users.iter().zip(&self.grown).map(row).collect();
        Table { columns: USERS, main: 2, rows, empty: nothing("no user has counters") }
    }

    fn of_processes(&self) -> Table {
        let row = |doing: &Doing| {
            let [operations, hardware, software, share, bytes] = doing.work.cells(self.seconds);
            let texts = [
                doing.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
                shown(&doing.name),
                shown(&doing.user),
            ];
            let numbers = [operations, share, bytes, hardware, software, Cell::Count(doing.threads)];
            let part = Cell::Part(Part::Of(Who::Process(doing.pid, doing.uid)));
            texts.map(Cell::Text).into_iter().chain(numbers).chain([part]).collect()
        };
        let rows = self.processes.iter().map(row).collect();
        Table { columns: PROCESSES, main: 3, rows, empty: nothing("no process counts") }
    }

    fn reasons(&self) -> Table {
        let (now, grown) = self.sums();
        let mut rows = Vec::new();
        for function in order() {
            for &reason in Reason::ALL {
                let total = now.fallbacks(function, reason).calls;
                let rates = grown.fallbacks(function, reason);
                let [rate, bytes] =
                    [rates.calls, rates.bytes].map(|count| Cell::Real(Some(count as f64 / self.seconds)));
                if total > 0 {
                    let name = function.info().stats_name;
                    let texts = [name, reason.text()].map(|text| Cell::Text(text.to_owned()));
                    let [name, text] = texts;
                    let part = Cell::Part(Part::Reason(function, reason));
                    rows.push(vec![name, rate, bytes, Cell::Count(total), text, part]);
                }
            }
        }
        Table { columns: REASONS, main: 1, rows, empty: nothing("nothing ran in software") }
    }

    fn lanes(&self) -> Table {
        let (now, grown) = self.sums();
        let mut rows = Vec::new();
        for (name, total) in queues(&now).filter(|(_, lanes)| !lanes.is_zero()) {
            let queue = Lane::ALL.iter().find(|(_, known)| *known == name).map(|(queue, _)| *queue);
            let lanes = queue.map(|queue| grown.lanes(queue)).unwrap_or_default();
            let rate = |number: u64| Cell::Real(Some(number as f64 / self.seconds));
            let batches: u64 = lanes.batches.iter().sum();
            let filled = (batches > 0).then(|| lanes.in_lanes as f64 / batches as f64);
            rows.push(vec![
                Cell::Text(name.to_owned()),
                rate(lanes.in_lanes.saturating_add(lanes.alone).saturating_add(lanes.on_card)),
                rate(lanes.in_lanes),
                rate(lanes.alone),
                rate(lanes.on_card),
                Cell::Real(filled),
                Cell::Count(total.refused()),
                Cell::Count(total.corrupted),
            ]);
            if let (Some(queue), Some(row)) = (queue, rows.last_mut()) {
                row.push(Cell::Part(Part::Queue(queue)));
            }
        }
        Table { columns: LANES, main: 1, rows, empty: nothing("no private-key operation was counted") }
    }

    fn cards(&self) -> Table {
        let table = |rows, empty: &str| Table { columns: CARDS, main: 3, rows, empty: empty.to_owned() };
        let machine = match &self.now.cards {
            Cards::Running(machine) => machine,
            Cards::NotRunning => {
                return table(Vec::new(), "no cards: adjunctd does not run (`adjunct cards enable` starts it)");
            }
            Cards::Unreadable(line) => return table(Vec::new(), line),
        };
        let before = match &self.before.cards {
            Cards::Running(machine) => Some(machine),
            Cards::NotRunning | Cards::Unreadable(_) => None,
        };
        let mut rows = Vec::new();
        for card in &machine.cards {
            rows.extend(card.queues.iter().map(|queue| self.queue(card, queue, before)));
        }
        table(rows, if machine.remark.is_empty() { "no cards" } else { &machine.remark })
    }

    fn queue(&self, card: &Card, queue: &Queue, before: Option<&Machine>) -> Vec<Cell> {
        let done = |queue: &Queue| {
            let sums = queue.counters.iter().fold((0u64, 0u64), |(operations, busy), work| {
                (operations.saturating_add(work.operations), busy.saturating_add(work.busy))
            });
            (sums.0, sums.1)
        };
        let earlier = before.and_then(|before| {
            let card = before.cards.iter().find(|known| known.id == card.id)?;
            card.queues.iter().find(|known| known.domain == queue.domain).map(done)
        });
        let (now, earlier) = (done(queue), earlier.unwrap_or((0, 0)));
        // A daemon that was started anew counts from zero.
        let since = |now: u64, earlier: u64| now.checked_sub(earlier).unwrap_or(now) as f64 / self.seconds;
        let status = match () {
            () if card.chkstop => "chkstop",
            () if !card.config => "deconfig",
            () if card.online && queue.online => "online",
            () => "offline",
        };
        vec![
            Cell::Text(format!("{:02x}.{:04x}", card.id, queue.domain)),
            Cell::Text(shown(&card.kind)),
            Cell::Text(status.to_owned()),
            Cell::Real(Some(since(now.0, earlier.0))),
            Cell::Real(Some(since(now.1, earlier.1) / 1e9)),
            Cell::Count(queue.requestq),
            Cell::Count(queue.pendingq),
            Cell::Count(queue.requests),
            Cell::Part(Part::Device(card.id.into(), queue.domain.into())),
        ]
    }

    fn tokens(&self) -> Table {
        let all = |one: &Use| one.by_strength.iter().fold(0u64, |sum, uses| sum.saturating_add(*uses));
        let before: BTreeMap<(u32, u32, u32), u64> = self
            .before
            .users
            .iter()
            .flat_map(|counted| counted.uses.iter().map(|one| ((counted.user.uid, one.slot, one.mechanism), all(one))))
            .collect();
        let mut rows = Vec::new();
        for counted in &self.now.users {
            for one in &counted.uses {
                let total = all(one);
                let earlier = before.get(&(counted.user.uid, one.slot, one.mechanism)).copied().unwrap_or(0);
                let rate = total.checked_sub(earlier).unwrap_or(total) as f64 / self.seconds;
                let known = Strength::ALL.iter().zip(one.by_strength).filter(|(_, uses)| *uses > 0);
                let bits: Vec<_> = known.map(|(strength, _)| strength.bits().to_string()).collect();
                let name = mechanism_name(one.mechanism.into())
                    .map_or_else(|| format!("0x{:X}", one.mechanism), ToOwned::to_owned);
                rows.push(vec![
                    Cell::Count(one.slot.into()),
                    Cell::Text(name),
                    Cell::Text(shown(&counted.user.name)),
                    Cell::Real(Some(rate)),
                    Cell::Count(total),
                    Cell::Text(bits.join(" ")),
                ]);
            }
        }
        Table { columns: TOKENS, main: 3, rows, empty: nothing("no mechanism of PKCS #11 was used") }
    }
}

/// The text of an empty table; a user who does not see others' counters is told that.
fn nothing(what: &str) -> String {
    let whose = if adjunct::counters::reads_all() { "" } else { " of yours (root sees all users')" };
    format!("{what}{whose}")
}

pub(super) fn shown(text: &str) -> String {
    adjunct_tool::escape::shown(text)
}

/// Takes samples, and makes periods of them.
#[derive(Debug, Default)]
pub(super) struct Watch {
    sampler: crate::watch::sample::Sampler,
    processes: Processes,
    last: Option<(std::time::Instant, Sample)>,
}

impl Watch {
    /// What happened since the last call; none for the first.
    ///
    /// # Errors
    /// Where nothing can be read.
    pub(super) fn next(&mut self) -> Result<Option<Period>, adjunct_tool::Failure> {
        let (at, sample) = (std::time::Instant::now(), self.sampler.take()?);
        let processes = self.processes.next(&sample);
        let before = self.last.replace((at, sample.clone()));
        Ok(before
            .map(|(earlier, before)| Period::new(before, sample, at.duration_since(earlier).as_secs_f64(), processes)))
    }
}
