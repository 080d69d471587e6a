//! A card or one of its domains as the tools show it.

use super::table::{Column, Side, Table};
use adjunct_card_state::machine::{Bus, Card, Machine, Mode, Queue};
use serde_json::{Value, json};

/// Bits of `ap_functions`, and the letters that stand for them.
const FUNCTIONS: [(u32, char); 10] = [
    (0x8000_0000, 'S'),
    (0x4000_0000, 'M'),
    (0x2000_0000, 'C'),
    (COPROCESSOR, 'D'),
    (ACCELERATOR, 'A'),
    (EP11, 'X'),
    (0x0200_0000, 'N'),
    (STATELESS, 'H'),
    (FULL, 'F'),
    (RESTRICTED, 'R'),
];
/// Public-key operations of 4096 bits.
pub const RSA_4K: u32 = 0x6000_0000;
/// IBM's CCA.
pub const COPROCESSOR: u32 = 0x1000_0000;
/// Clear keys.
pub const ACCELERATOR: u32 = 0x0800_0000;
/// Enterprise PKCS #11.
pub const EP11: u32 = 0x0400_0000;
/// Filters requests by itself.
pub const STATELESS: u32 = 0x0100_0000;
/// Has all functions.
pub const FULL: u32 = 0x0080_0000;
/// Has some alone.
pub const RESTRICTED: u32 = 0x0040_0000;

/// A card, or one of its domains.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    /// The card.
    pub card: &'a Card,
    /// The domain, where it is one.
    pub queue: Option<&'a Queue>,
}

impl<'a> Device<'a> {
    /// Every card, each before its domains.
    pub fn all(machine: &'a Machine) -> impl Iterator<Item = Device<'a>> {
        machine.cards.iter().flat_map(|card| {
            let queues = card.queues.iter().map(move |queue| Device { card, queue: Some(queue) });
            std::iter::once(Device { card, queue: None }).chain(queues)
        })
    }

    /// `02`, `02.0005`.
    pub fn id(&self) -> String {
        match self.queue {
            None => format!("{:02x}", self.card.id),
            Some(queue) => format!("{:02x}.{:04x}", self.card.id, queue.domain),
        }
    }

    /// Type of the device's card.
    pub fn kind(&self) -> String {
        adjunct_tool::escape::shown(&self.card.kind)
    }

    /// The mode of the card by its functions, as lszcrypt names it.
    pub fn mode(&self) -> &'static str {
        let has = |bit| self.card.functions & bit != 0;
        match () {
            () if has(COPROCESSOR) => "CCA-Coproc",
            () if has(ACCELERATOR) => "Accelerator",
            () if has(EP11) => "EP11-Coproc",
            () => "Unknown",
        }
    }

    /// Whether the device is set to take operations: a domain is not while its card is not.
    pub fn set_online(&self) -> bool {
        self.card.online && self.queue.is_none_or(|queue| queue.online)
    }

    /// Whether the device takes operations, as the attribute `online` shows it.
    pub fn online(&self) -> bool {
        self.card.is_online() && self.set_online()
    }

    /// Status of the device in a word.
    pub fn status(&self) -> &'static str {
        match self.card {
            card if !card.config => "deconfig",
            card if card.chkstop => "chkstop",
            _ if self.set_online() => "online",
            _ => "offline",
        }
    }

    /// Operations that were queued.
    pub fn requests(&self) -> u64 {
        self.queue.map_or(self.card.requests, |queue| queue.requests)
    }

    fn sum(&self, of: impl Fn(&Queue) -> u64) -> u64 {
        self.queue.map_or_else(|| self.card.queues.iter().map(&of).fold(0, u64::wrapping_add), &of)
    }

    /// Operations that wait.
    pub fn requestq(&self) -> u64 {
        self.sum(|queue| queue.requestq)
    }

    /// Operations that are worked on.
    pub fn pendingq(&self) -> u64 {
        self.sum(|queue| queue.pendingq)
    }

    /// The weights of what is under way.
    pub fn load(&self) -> u64 {
        self.sum(|queue| queue.load)
    }

    /// Functions of the device, a letter each.
    pub fn functions(&self) -> String {
        FUNCTIONS.iter().map(|&(bit, letter)| if self.card.functions & bit == 0 { '-' } else { letter }).collect()
    }

    /// The driver that serves the device: scripts ask for the names that the kernel has for them.
    pub fn driver(&self) -> &'static str {
        if self.queue.is_some() { "cex4queue" } else { "cex4card" }
    }

    /// Whether a secure guest has bound it.
    fn bound(&self) -> &'static str {
        match (self.queue, self.card.functions, self.card.functions >> 14 & 3) {
            (None, ..) => "-",
            (_, 0, _) => "invalid",
            (.., 0) => "usable",
            (.., 1) => "bound",
            (.., 2) => "unbound",
            _ => "illicit",
        }
    }

    /// Writes the device as a row of `table`.
    pub fn row(&self, table: &Table) -> String {
        let counted = |number: u64| if self.card.config { number.to_string() } else { "-".to_owned() };
        table.row([
            self.id(),
            self.kind(),
            self.mode().to_owned(),
            self.status().to_owned(),
            counted(self.requests()),
            counted(self.pendingq().wrapping_add(self.requestq())),
            self.card.hwtype.to_string(),
            format!("{:02}", self.card.depth),
            self.functions(),
            self.driver().to_owned(),
            self.bound().to_owned(),
        ])
    }

    /// Writes the device as JSON, with every column that a row may have.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "device": self.id(),
            "card": self.card.id,
            "domain": self.queue.map(|queue| queue.domain),
            "type": self.card.kind,
            "mode": self.mode(),
            "status": self.status(),
            "online": self.online(),
            "requests": self.requests(),
            "requestq": self.requestq(),
            "pendingq": self.pendingq(),
            "hwtype": self.card.hwtype,
            "qdepth": self.card.depth,
            "functions": self.functions(),
            "driver": self.driver(),
        });
        if self.queue.is_none() && !self.card.serial.is_empty() {
            value["serial"] = json!(self.card.serial);
        }
        if self.queue.is_none() && !self.card.remark.is_empty() {
            value["remark"] = json!(self.card.remark);
        }
        value
    }
}

/// Whether the bus has domains that a secure guest binds.
pub fn has_binding(bus: &Bus) -> bool {
    bus.features.iter().any(|feature| feature == "APSB")
}

/// The table of devices.
pub fn table(machine: &Machine, verbose: bool) -> Table {
    const COLUMNS: [Column; 11] = [
        ("CARD.DOM", Side::Left, 8),
        ("TYPE", Side::Left, 5),
        ("MODE", Side::Left, 11),
        ("STATUS", Side::Left, 10),
        ("REQUESTS", Side::Right, 8),
        ("PENDING", Side::Right, 8),
        ("HWTYPE", Side::Right, 6),
        ("QDEPTH", Side::Right, 6),
        ("FUNCTIONS", Side::Left, 10),
        ("DRIVER", Side::Left, 11),
        ("SESTAT", Side::Left, 11),
    ];
    Table::new(match (verbose, has_binding(&machine.bus)) {
        (false, _) => &COLUMNS[..5],
        (true, false) => &COLUMNS[..10],
        (true, true) => &COLUMNS,
    })
}

/// What a mode is called in statistics.
pub fn in_statistics(mode: Mode) -> &'static str {
    match mode {
        Mode::Accelerator => "Accelerator",
        Mode::Cca => "CCA co-processor",
        Mode::Ep11 => "EP11 co-processor",
    }
}

/// What stands below a table where the default domain is not one that may be used.
pub fn warning_of_domain(bus: &Bus) -> Option<String> {
    if bus.default_domain.is_some_and(|domain| bus.usage_domains.has(domain)) {
        return None;
    }
    // A domain that is not set is -1, and was never meant to be written down in hexadecimal.
    let domain = bus.default_domain.map_or(u64::MAX, u64::from);
    Some(format!("Warning: Default domain 0x{domain:02x} is not available.\n"))
}
