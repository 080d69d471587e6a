//! The parts of a row: of a function its processes, users, key sizes and reasons; of a process its functions; of a process's function its reasons.
//! All of it is what was counted between two samples.

use super::table::{Cell, Table, column};
use super::table::{Column, Unit};
use super::views::{BYTES, HW, OPS, Period, SHARE, SW, shown};
use super::work::Work;
use crate::watch::sample::Cards;
use adjunct::catalogue::{Function, Queue, Reason};
use adjunct::counters::{Cell as Counted, Snapshot};
use adjunct_card_state::machine;
use adjunct_ztools::stats::order;

/// A user or a process that counted something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// A user, by uid.
    User(u32),
    /// A process, by its number and its user; processes that cannot be told apart have no number.
    Process(Option<u32>, u32),
}

/// The thing that a row stands for, whose parts can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A function, of all.
    Function(Function),
    /// A function in software for a reason, of all.
    Reason(Function, Reason),
    /// All operations of a user or process.
    Of(Who),
    /// A function of a user or process.
    FunctionOf(Who, Function),
    /// A queue of private-key operations.
    Queue(Queue),
    /// A domain of a card.
    Device(u32, u32),
}

const PARTS: &[Column] =
    &[column("PART", "part", Unit::Text), column("NAME", "name", Unit::Text), OPS, HW, SW, SHARE, BYTES];

impl Period {
    /// The parts of a row, as a table.
    pub(super) fn parts(&self, part: Part) -> Table {
        let rows = match part {
            Part::Function(function) => {
                let sum = self.all();
                let mut rows =
                    self.everybody(|who| Work::of(who.function(function)), |who| Part::FunctionOf(who, function));
                rows.extend(self.sizes(&sum, function));
                rows.extend(self.reasons_of(&sum, function, |reason| Some(Part::Reason(function, reason))));
                rows
            }
            Part::Reason(function, reason) => self
                .everybody(|who| in_software(who.fallbacks(function, reason)), |who| Part::FunctionOf(who, function)),
            Part::Of(who) => self.counted_by(who).map_or_else(Vec::new, |counted| self.of(who, &counted)),
            Part::FunctionOf(who, function) => self.counted_by(who).map_or_else(Vec::new, |counted| {
                let mut rows = self.sizes(&counted, function);
                rows.extend(self.reasons_of(&counted, function, |_| None));
                rows
            }),
            Part::Queue(queue) => self.of_queue(queue),
            Part::Device(card, domain) => self.of_device(card, domain),
        };
        let empty = "nothing of it in this time".to_owned();
        Table { columns: PARTS, main: 2, rows, empty }
    }

    /// The title above a row's parts.
    pub(super) fn title(&self, part: Part) -> String {
        match part {
            Part::Function(function) | Part::FunctionOf(_, function) => function.info().stats_name.to_owned(),
            Part::Reason(function, reason) => format!("{}, {}", function.info().stats_name, reason.text()),
            Part::Of(Who::User(uid)) => {
                let user = self.now.users.iter().find(|counted| counted.user.uid == uid);
                user.map_or_else(|| uid.to_string(), |counted| shown(&counted.user.name))
            }
            Part::Of(Who::Process(pid, uid)) => {
                let doing = self.processes.iter().find(|doing| doing.pid == pid && doing.uid == uid);
                match (doing, pid) {
                    (Some(doing), _) => doing.label(),
                    (None, Some(pid)) => format!("{pid} (did nothing in this time)"),
                    (None, None) => "those that cannot be told apart".to_owned(),
                }
            }
            Part::Queue(queue) => {
                Queue::ALL.iter().find(|(known, _)| *known == queue).map_or("queue", |(_, name)| name).to_owned()
            }
            Part::Device(card, domain) => format!("{card:02x}.{domain:04x}"),
        }
    }

    /// Sums the counters of all users.
    fn all(&self) -> Snapshot {
        self.grown.iter().fold(Snapshot::new(0), |sum, one| sum.plus(one))
    }

    /// The counts of a user or process.
    fn counted_by(&self, who: Who) -> Option<Snapshot> {
        match who {
            Who::User(uid) => {
                let users = self.now.users.iter().zip(&self.grown);
                users.into_iter().find(|(counted, _)| counted.user.uid == uid).map(|(_, grown)| grown.clone())
            }
            Who::Process(pid, uid) => {
                let doing = self.processes.iter().find(|doing| doing.pid == pid && doing.uid == uid);
                doing.map(|doing| doing.counted.clone())
            }
        }
    }

    /// Rows of the processes and users that did some of the work.
    fn everybody(&self, work: impl Fn(&Snapshot) -> Work, part: impl Fn(Who) -> Part) -> Vec<Vec<Cell>> {
        let processes = self
            .processes
            .iter()
            .map(|doing| (Who::Process(doing.pid, doing.uid), "process", doing.label(), work(&doing.counted)));
        let users = self.now.users.iter().zip(&self.grown);
        let users =
            users.map(|(counted, grown)| (Who::User(counted.user.uid), "user", shown(&counted.user.name), work(grown)));
        let did = processes.chain(users).filter(|(.., work)| work.operations() > 0);
        did.map(|(who, kind, name, work)| self.row(kind, &name, work, Some(part(who)))).collect()
    }

    /// Functions, processes and reasons of a user or process.
    fn of(&self, who: Who, counted: &Snapshot) -> Vec<Vec<Cell>> {
        let function = |function: Function| {
            let work = Work::of(counted.function(function));
            let part = Part::FunctionOf(who, function);
            (work.operations() > 0).then(|| self.row("function", function.info().stats_name, work, Some(part)))
        };
        let mut rows: Vec<_> = order().filter_map(function).collect();
        if let Who::User(uid) = who {
            let theirs = self.processes.iter().filter(|doing| doing.uid == uid && doing.work.operations() > 0);
            rows.extend(theirs.map(|doing| {
                self.row("process", &doing.label(), doing.work, Some(Part::Of(Who::Process(doing.pid, uid))))
            }));
        }
        rows
    }

    /// The key sizes of a function, where it has several.
    fn sizes(&self, counted: &Snapshot, function: Function) -> Vec<Vec<Cell>> {
        if function.info().sizes.is_empty() {
            return Vec::new();
        }
        let size = |(bits, row): (Option<u16>, _)| {
            let work = Work::of(counted.row(row));
            let name = bits.map_or_else(|| "other".to_owned(), |bits| format!("{bits} bits"));
            (work.operations() > 0).then(|| self.row("key size", &name, work, None))
        };
        function.rows().filter_map(size).collect()
    }

    fn reasons_of(
        &self,
        counted: &Snapshot,
        function: Function,
        part: impl Fn(Reason) -> Option<Part>,
    ) -> Vec<Vec<Cell>> {
        let reason = |&reason: &Reason| {
            let work = in_software(counted.fallbacks(function, reason));
            (work.operations() > 0).then(|| self.row("reason", reason.text(), work, part(reason)))
        };
        Reason::ALL.iter().filter_map(reason).collect()
    }

    fn of_queue(&self, queue: Queue) -> Vec<Vec<Cell>> {
        let operations = |counted: &Snapshot| {
            let lanes = counted.lanes(queue);
            let hardware = lanes.in_lanes.saturating_add(lanes.alone).saturating_add(lanes.on_card);
            Work { hardware, ..Work::default() }
        };
        let mut rows = self.everybody(operations, Part::Of);
        // What ran an operation that was alone is the function's matter: the queue does not know.
        rows.iter_mut().flat_map(|row| row.iter_mut().skip(3).take(4)).for_each(|cell| *cell = Cell::Real(None));
        rows
    }

    fn of_device(&self, card: u32, domain: u32) -> Vec<Vec<Cell>> {
        let counters = |cards: &Cards| match cards {
            Cards::Running(machine) => {
                let card = machine.cards.iter().find(|known| u32::from(known.id) == card).cloned();
                let queue =
                    |queues: Vec<machine::Queue>| queues.into_iter().find(|queue| u32::from(queue.domain) == domain);
                card.and_then(|card| Some((card.counters, queue(card.queues)?.counters))).unwrap_or_default()
            }
            Cards::NotRunning | Cards::Unreadable(_) => Default::default(),
        };
        let ((names, now), (_, before)) = (counters(&self.now.cards), counters(&self.before.cards));
        let row = |(at, (name, work)): (usize, (&String, &machine::Work))| {
            let earlier = before.get(at).map_or(0, |work| work.operations);
            let done = work.operations.checked_sub(earlier).unwrap_or(work.operations);
            let name = name.replace("CTR", "CRT");
            (done > 0).then(|| self.row("operation", &name, Work { hardware: done, ..Work::default() }, None))
        };
        names.iter().zip(&now).enumerate().filter_map(row).collect()
    }

    fn row(&self, kind: &str, name: &str, work: Work, part: Option<Part>) -> Vec<Cell> {
        let texts = [kind, name].map(|text| Cell::Text(text.to_owned()));
        texts.into_iter().chain(work.cells(self.seconds)).chain(part.map(Cell::Part)).collect()
    }
}

fn in_software(cell: Counted) -> Work {
    Work { hardware: 0, software: cell.calls, bytes: cell.bytes }
}
