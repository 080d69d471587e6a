//! The cards of a machine as the tools show them: values alone, with the words of the Linux driver (zcrypt) that administrators of IBM Z
//! know. [`crate::state`] reads them from what the daemon and the card processes write.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use std::fmt;

/// Adapters and domains are numbered from 0 to 255.
pub const NUMBERS: usize = 256;

/// A set of adapters or domains: 256 bits, of which bit 0 is the leftmost where the set is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mask(pub [u64; 4]);

impl Mask {
    /// The mask with all bits set.
    pub const ALL: Mask = Mask([u64::MAX; 4]);

    /// Whether `number` is in the set.
    pub fn has(&self, number: u8) -> bool {
        self.0[usize::from(number) / 64] >> (63 - number % 64) & 1 == 1
    }

    /// Adds `number`, or takes it out.
    pub fn set(&mut self, number: u8, there: bool) {
        let bit = 1 << (63 - number % 64);
        let word = &mut self.0[usize::from(number) / 64];
        *word = if there { *word | bit } else { *word & !bit };
    }

    /// The numbers in the set, in ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|&number| self.has(number))
    }
}

impl FromIterator<u8> for Mask {
    fn from_iter<T: IntoIterator<Item = u8>>(numbers: T) -> Mask {
        let mut mask = Mask::default();
        numbers.into_iter().for_each(|number| mask.set(number, true));
        mask
    }
}

/// Writes a mask as the driver's attributes show it: `0x` and 64 hexadecimal digits.
impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

/// The mode of a card: the requests that it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Public-key operations with clear keys.
    Accelerator,
    /// A coprocessor with secure keys, by IBM's CCA.
    Cca,
    /// A coprocessor with secure keys, by Enterprise PKCS #11.
    Ep11,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 3] = [Mode::Accelerator, Mode::Cca, Mode::Ep11];

    /// The word for it, as in `cards.conf` and in the names of sockets.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Accelerator => "accelerator",
            Mode::Cca => "cca",
            Mode::Ep11 => "ep11",
        }
    }

    /// The mode with a word.
    pub fn named(word: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.word() == word)
    }

    /// Whether keys belong to a domain, so that each has a socket of its own; else all programs share one, and any card serves any program.
    pub const fn is_by_domain(self) -> bool {
        !matches!(self, Mode::Accelerator)
    }

    /// The letter at the end of a card's type.
    pub fn letter(self) -> char {
        match self {
            Mode::Accelerator => 'A',
            Mode::Cca => 'C',
            Mode::Ep11 => 'P',
        }
    }
}

/// The AP bus, as the driver calls it: settings that hold for all cards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bus {
    /// The default domain; `None` where none is set.
    pub default_domain: Option<u8>,
    /// The domains that operations may be sent to, and those that may be administered.
    pub usage_domains: Mask,
    /// See `usage_domains`.
    pub control_domains: Mask,
    /// Adapters that programs of this machine may use, a bit each.
    pub apmask: Mask,
    /// See `apmask`.
    pub aqmask: Mask,
    /// Seconds between two looks at the configuration; kept because tools set and show it.
    pub config_time: u32,
    /// Whether a thread polls for replies; kept because tools set and show it. Nothing polls here.
    pub poll_thread: bool,
    /// Nanoseconds between two polls; kept because tools set and show it.
    pub poll_timeout: u64,
    /// How often the configuration was read.
    pub scans: u64,
    /// The features of the bus, as the driver names them.
    pub features: Vec<String>,
}

/// The names of an accelerator's counters, in this order: those of zcryptstats.
pub const ACCELERATOR_COUNTERS: [&str; 6] =
    ["RSA 1024 ME", "RSA 2048 ME", "RSA 1024 CRT", "RSA 2048 CRT", "RSA 4096 ME", "RSA 4096 CTR"];

/// The counters of one kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Operations done.
    pub operations: u64,
    /// Nanoseconds that workers of the card were busy with the operations.
    pub busy: u64,
}

/// A domain of a card: what operations are sent to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The domain's number.
    pub domain: u8,
    /// Whether the queue was set to take operations; it takes none where its card does not.
    pub online: bool,
    /// Operations queued since the daemon started, or since the count was reset.
    pub requests: u64,
    /// Operations that wait to be given to the card.
    pub requestq: u64,
    /// Operations that the card works on.
    pub pendingq: u64,
    /// The weights of what is under way.
    pub load: u64,
    /// Work by the counters of its card ([`Card::counters`]).
    pub counters: Vec<Work>,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The adapter's number.
    pub id: u8,
    /// The card's mode: the requests that it serves.
    pub mode: Mode,
    /// Its type as tools show it, five characters: `ADJ8A`, `CEX8A`.
    pub kind: String,
    /// The number of its generation: 14 is that of the Crypto Express8S.
    pub hwtype: u32,
    /// Operations that a queue of it works on at a time.
    pub depth: u32,
    /// The card's functions, as bits of the driver's `ap_functions`.
    pub functions: u32,
    /// Whether the card was set to take operations.
    pub online: bool,
    /// Whether the card is configured: its process runs.
    pub config: bool,
    /// Whether the card was stopped for faults.
    pub chkstop: bool,
    /// Operations queued, of all its domains.
    pub requests: u64,
    /// The longest message it takes, in bytes.
    pub max_message: u32,
    /// Its serial number; empty for accelerators.
    pub serial: String,
    /// The names of its counters, by its service.
    pub counters: Vec<String>,
    /// Whether its process may make few system calls alone; `None` while none serves.
    pub confined: Option<bool>,
    /// Why it does not serve, where its own process has said so: a sentence.
    pub remark: String,
    /// Its domains, in ascending order.
    pub queues: Vec<Queue>,
}

impl Card {
    /// Whether the card takes operations: it is set online, configured and not stopped for faults.
    pub fn is_online(&self) -> bool {
        self.online && self.config && !self.chkstop
    }
}

/// The message of a machine that cannot have cards.
pub const NO_LANES: &str = "This CPU has neither AVX-512 IFMA nor AVX2 and FMA, without which an accelerator would be no faster than programs alone.";

/// All cards of the machine, and the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Settings that hold for all cards.
    pub bus: Bus,
    /// The cards, by ascending number.
    pub cards: Vec<Card>,
    /// Why no card can serve, where none can: a sentence.
    pub remark: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_0_of_a_mask_is_the_leftmost() {
        let mask: Mask = [0, 5, 255].into_iter().collect();
        assert_eq!(mask.to_string(), format!("0x84{}1", "0".repeat(61)));
        assert_eq!(mask.numbers().collect::<Vec<_>>(), [0, 5, 255]);
        let mut mask = Mask::ALL;
        mask.set(64, false);
        assert!(!mask.has(64) && mask.has(63) && mask.has(65));
    }
}
