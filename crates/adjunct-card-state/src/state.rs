//! The file that shows the state of the cards (`DIR/cards`, mode 0644): the daemon and the card processes write it in shared memory, tools read it
//! with pread(2), without a request to either.
//!
//! # Layout
//! 64-bit words of the machine's byte order, [`WORDS`] in all: [`HEAD`] of the bus, then [`CARD`] for each of [`MAX_CARDS`] cards, then [`QUEUE`] for
//! each of [`MAX_QUEUES`] domains of cards. [`Bus`], [`Card`] and [`Queue`] name the words; the first is [`MAGIC`], which changes with the version of
//! the layout. What a queue counts is its card's service's: the words of a card say how many counters its queues have, and their names.
//!
//! # Who writes what
//! The daemon alone writes what is configured or set, between two increments of [`Bus::Changes`]: a reader reads again while that word is odd, and if
//! it has changed meanwhile. The card processes write what is counted, each word by itself with atomic additions.
//!
//! The daemon holds a write lock (OFD) on the file while it lives; a reader tests for the lock, and so knows whether the daemon runs. A daemon that
//! starts makes a new file.

#![allow(unsafe_code)]

use crate::machine::{self, Machine, Mask, Mode, Work};
use rustix::fs::{CWD, Mode as Permissions, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// The version of the layout: `ADJCARD` and a number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ADJCARD\x02");
/// Words of the bus.
pub const HEAD: usize = 96;
/// Words of a card.
pub const CARD: usize = 80;
/// Words of a queue.
pub const QUEUE: usize = 32;
/// The most cards.
pub const MAX_CARDS: usize = 64;
/// The most domains of all cards.
pub const MAX_QUEUES: usize = 256;
/// All words.
pub const WORDS: usize = HEAD + MAX_CARDS * CARD + MAX_QUEUES * QUEUE;
/// The most counters of a queue.
pub const MAX_COUNTERS: usize = 12;
/// Words of a remark, and of a counter's name.
const REMARK: usize = 32;
const NAME: usize = 2;
/// The word of the default domain where none is set.
const NO_DOMAIN: u64 = u64::MAX;

/// Words of the bus. Masks take four words, the remark 32.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub enum Bus {
    Magic = 0,
    /// Odd while the daemon changes what is not a count.
    Changes,
    /// The daemon's process.
    Pid,
    Cards,
    Queues,
    DefaultDomain,
    ConfigTime,
    PollThread,
    PollTimeout,
    Scans,
    Features,
    UsageDomains = 16,
    ControlDomains = 20,
    Apmask = 24,
    Aqmask = 28,
    Remark = 32,
}

/// Words of a card.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub enum Card {
    Id = 0,
    Mode,
    /// Five characters.
    Kind,
    Hwtype,
    Depth,
    Functions,
    Online,
    Config,
    Chkstop,
    /// Number of the card's process; 0 while there is none.
    Pid,
    MaxMessage,
    /// Sixteen characters.
    Serial,
    Serial2,
    /// 1 where the card's process is confined, 2 where it is not, 0 while none serves.
    Confined,
    /// How many counters each queue has.
    Counters,
    /// Their names, 16 characters each.
    Names = 16,
    /// 256 characters.
    Remark = 40,
}

/// Words of a queue. Counters take two words each: operations, and nanoseconds busy.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub enum Queue {
    /// The place of the card in the file.
    Card = 0,
    Domain,
    Online,
    Requests,
    Requestq,
    Pendingq,
    Load,
    /// Batches done; one of several queues' requests counts in that of its first.
    Batches,
    Counters = 8,
}

const _: () = assert!(Bus::Remark as usize + REMARK <= HEAD && Card::Remark as usize + REMARK <= CARD);
const _: () = assert!(Card::Names as usize + MAX_COUNTERS * NAME <= Card::Remark as usize);
const _: () = assert!(Queue::Counters as usize + 2 * MAX_COUNTERS <= QUEUE);

/// The features of the bus by their bits.
const FEATURES: [&str; 5] = ["APSC", "APXA", "QACT", "RC8A", "APSB"];

pub use crate::figures::{Figures, figures};

/// Why the state cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no state file, or no daemon writes it.
    #[error("no cards: adjunctd does not run (`adjunct cards enable` starts it)")]
    NotRunning,
    /// The file is of another version.
    #[error("{0} was written by another version of adjunctd: restart it")]
    Version(String),
    /// The file says what cannot be.
    #[error("{0} is damaged: restart adjunctd")]
    Damaged(String),
    /// The system says no.
    #[error("{0}: {1}")]
    Io(String, io::Error),
}

/// Text of at most 8 bytes in a word.
fn text_word(text: &str) -> u64 {
    word_of(text.as_bytes(), 0)
}

/// The word in a place of a text, of which the rest is zeros.
fn word_of(text: &[u8], place: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(text.iter().skip(8 * place)).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(bytes)
}

/// The text of words, to the first zero; what is not printable ASCII becomes `?`.
fn text(words: impl Iterator<Item = u64>) -> String {
    let bytes = words.flat_map(u64::to_le_bytes).take_while(|&byte| byte != 0);
    bytes.map(|byte| if byte == b' ' || byte.is_ascii_graphic() { char::from(byte) } else { '?' }).collect()
}

/// The state in memory that others see.
#[derive(Debug)]
pub struct Shared(&'static [AtomicU64]);

impl Shared {
    /// Makes a new file in place of an existing one, and locks it until the second of the two files given back is closed. The first is for the card
    /// processes, to [`Shared::map`] it. `fill` writes what readers find there from the beginning.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(path: &Path, fill: impl FnOnce(&Shared)) -> io::Result<(Shared, File, File)> {
        // A file of its own, which nobody else can have locked; readers of the old one go on with that.
        let new = path.with_extension("new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options().read(true).write(true).create_new(true).open(&new)?;
        file.set_len(8 * WORDS as u64)?;
        // The system keeps an open file for each mapping of it, and with it the locks: so the lock is another's.
        let owner = File::options().read(true).write(true).open(&new)?;
        lock(&owner)?;
        let shared = Shared::map(&file)?;
        shared.0[Bus::Magic as usize].store(MAGIC, Relaxed);
        // Not 0644 by the mask of whoever started the daemon: everybody may read it.
        rustix::fs::fchmod(&file, Permissions::from_raw_mode(0o644))?;
        fill(&shared);
        std::fs::rename(&new, path)?;
        Ok((shared, file, owner))
    }

    /// Maps the state's file, which was made. It stays mapped until the process ends.
    ///
    /// # Errors
    /// What the system says.
    pub fn map(file: impl AsFd) -> io::Result<Shared> {
        if rustix::fs::fstat(&file)?.st_size < 8 * WORDS as i64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (protection, size) = (ProtFlags::READ | ProtFlags::WRITE, 8 * WORDS);
        // SAFETY: a new mapping, which is never unmapped. The file lies in the daemon's own folder, where nobody else can shorten it. Others
        // that have it mapped change its words by atomic instructions alone, and any bytes are valid words.
        let words = unsafe {
            let place = rustix::mm::mmap(std::ptr::null_mut(), size, protection, MapFlags::SHARED, file, 0)?;
            std::slice::from_raw_parts(place.cast::<AtomicU64>(), WORDS)
        };
        Ok(Shared(words))
    }

    /// A word of the bus.
    pub fn bus(&self, field: Bus) -> &AtomicU64 {
        &self.0[field as usize]
    }

    /// A word of the card in a place.
    pub fn card(&self, place: usize, field: Card) -> &AtomicU64 {
        &self.0[HEAD + place % MAX_CARDS * CARD + field as usize]
    }

    /// A word of the queue in a place.
    pub fn queue(&self, place: usize, field: Queue) -> &AtomicU64 {
        self.queue_word(place, field as usize)
    }

    fn queue_word(&self, place: usize, word: usize) -> &AtomicU64 {
        &self.0[HEAD + MAX_CARDS * CARD + place % MAX_QUEUES * QUEUE + word]
    }

    /// Counts operations of a kind, and the nanoseconds that a worker was busy with them.
    pub fn count(&self, queue: usize, counter: usize, operations: u64, busy: u64) {
        let word = Queue::Counters as usize + 2 * counter.min(MAX_COUNTERS - 1);
        self.queue_word(queue, word).fetch_add(operations, Relaxed);
        self.queue_word(queue, word + 1).fetch_add(busy, Relaxed);
    }

    /// Writes what is not counted. Cards keep their places, and so do the queues of a card: what is counted stays.
    pub fn publish(&self, machine: &Machine) {
        let changes = self.bus(Bus::Changes);
        changes.fetch_add(1, AcqRel);
        let set = |word: &AtomicU64, value: u64| word.store(value, Relaxed);
        let bus = &machine.bus;
        set(self.bus(Bus::Pid), std::process::id().into());
        set(self.bus(Bus::DefaultDomain), bus.default_domain.map_or(NO_DOMAIN, u64::from));
        set(self.bus(Bus::ConfigTime), bus.config_time.into());
        set(self.bus(Bus::PollThread), bus.poll_thread.into());
        set(self.bus(Bus::PollTimeout), bus.poll_timeout);
        set(self.bus(Bus::Scans), bus.scans);
        let bit = |(bit, name): (usize, &&str)| u64::from(bus.features.iter().any(|f| f == name)) << bit;
        set(self.bus(Bus::Features), FEATURES.iter().enumerate().map(bit).sum());
        let masks = [
            (Bus::UsageDomains, bus.usage_domains),
            (Bus::ControlDomains, bus.control_domains),
            (Bus::Apmask, bus.apmask),
            (Bus::Aqmask, bus.aqmask),
        ];
        for (field, mask) in masks {
            self.0[field as usize..].iter().zip(mask.0).for_each(|(word, value)| set(word, value));
        }
        let write = |words: &[AtomicU64], text: &str| {
            words.iter().enumerate().for_each(|(place, word)| set(word, word_of(text.as_bytes(), place)));
        };
        write(&self.0[Bus::Remark as usize..][..REMARK], &machine.remark);
        let mut queues = 0;
        for (place, card) in machine.cards.iter().take(MAX_CARDS).enumerate() {
            let words = [
                (Card::Id, u64::from(card.id)),
                (Card::Mode, card.mode as u64),
                (Card::Kind, text_word(&card.kind)),
                (Card::Hwtype, card.hwtype.into()),
                (Card::Depth, card.depth.into()),
                (Card::Functions, card.functions.into()),
                (Card::Online, card.online.into()),
                (Card::Config, card.config.into()),
                (Card::Chkstop, card.chkstop.into()),
                (Card::MaxMessage, card.max_message.into()),
                (Card::Serial, text_word(&card.serial)),
                (Card::Serial2, text_word(card.serial.get(8..).unwrap_or_default())),
                (Card::Confined, card.confined.map_or(0, |confined| if confined { 1 } else { 2 })),
                (Card::Counters, card.counters.len().min(MAX_COUNTERS) as u64),
            ];
            words.into_iter().for_each(|(field, value)| set(self.card(place, field), value));
            let all = &self.0[HEAD + place * CARD..][..CARD];
            for (name, words) in card.counters.iter().zip(all[Card::Names as usize..].chunks(NAME)).take(MAX_COUNTERS) {
                write(words, name);
            }
            write(&all[Card::Remark as usize..][..REMARK], &card.remark);
            for queue in card.queues.iter().take(MAX_QUEUES - queues) {
                set(self.queue(queues, Queue::Card), place as u64);
                set(self.queue(queues, Queue::Domain), queue.domain.into());
                set(self.queue(queues, Queue::Online), queue.online.into());
                queues += 1;
            }
        }
        set(self.bus(Bus::Cards), machine.cards.len().min(MAX_CARDS) as u64);
        set(self.bus(Bus::Queues), queues as u64);
        changes.fetch_add(1, AcqRel);
    }

    /// Puts counts of before in a queue's place.
    pub fn restore(&self, place: usize, queue: &machine::Queue) {
        self.queue(place, Queue::Requests).store(queue.requests, Relaxed);
        for (counter, work) in queue.counters.iter().enumerate() {
            self.count(place, counter, work.operations, work.busy);
        }
    }

    /// The present state.
    pub fn read(&self) -> Option<Machine> {
        consistent(|| Some(self.0.iter().map(|word| word.load(Acquire)).collect()))
    }
}

fn write_lock() -> libc::flock {
    // SAFETY: numbers alone: all zeros is valid, and means the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock
}

/// Locks the file for writing until it is closed everywhere.
fn lock(file: &File) -> io::Result<()> {
    let wanted = write_lock();
    // SAFETY: a descriptor that is open, and a lock that is read.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const wanted) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether another process has locked the file for writing.
fn is_locked(file: &File) -> bool {
    let mut lock = write_lock();
    // A lock for reading would be refused by one for writing alone, and may be asked about without the right to write.
    lock.l_type = libc::F_RDLCK as libc::c_short;
    // SAFETY: a descriptor that is open, and a lock that is written.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    asked == 0 && libc::c_int::from(lock.l_type) != libc::F_UNLCK
}

/// Reads the state from its file.
///
/// # Errors
/// [`Error`].
pub fn read(path: &Path) -> Result<Machine, Error> {
    let name = || path.display().to_string();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = match rustix::fs::openat(CWD, path, flags, Permissions::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Err(Error::NotRunning),
        Err(error) => return Err(Error::Io(name(), error.into())),
    };
    if !is_locked(&file) {
        return Err(Error::NotRunning);
    }
    let mut failure = None;
    let machine = consistent(|| {
        let mut bytes = vec![0; 8 * WORDS];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Some(
                bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect(),
            ),
            Err(error) => {
                failure = Some(error);
                None
            }
        }
    });
    match (failure, machine) {
        (Some(error), _) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Error::Version(name())),
        (Some(error), _) => Err(Error::Io(name(), error)),
        (None, Some(machine)) => Ok(machine),
        (None, None) => {
            let mut first = [0; 8];
            let read = file.read_exact_at(&mut first, 0);
            let same = read.is_ok() && u64::from_ne_bytes(first) == MAGIC;
            Err(if same { Error::Damaged(name()) } else { Error::Version(name()) })
        }
    }
}

/// The state that the last daemon left in the file, if it can be read.
pub fn last(path: &Path) -> Option<Machine> {
    of_bytes(&std::fs::read(path).ok()?)
}

/// Reads the state out of the bytes of a file; `None` where they are no state.
pub fn of_bytes(bytes: &[u8]) -> Option<Machine> {
    let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    parse(&words.collect::<Vec<_>>())
}

/// Reads words until no change fell into the reading.
fn consistent(mut words: impl FnMut() -> Option<Vec<u64>>) -> Option<Machine> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let (first, second) = (words()?, words()?);
        let changes = first[Bus::Changes as usize];
        if changes.is_multiple_of(2) && second[Bus::Changes as usize] == changes {
            return parse(&first);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    None
}

fn parse(words: &[u64]) -> Option<Machine> {
    let bus = |field: Bus| words[field as usize];
    if words.len() != WORDS || bus(Bus::Magic) != MAGIC {
        return None;
    }
    let mask = |field: Bus| Some(Mask(words[field as usize..][..4].try_into().ok()?));
    let byte = |word: u64| u8::try_from(word).ok();
    let small = |word: u64| u32::try_from(word).ok();
    let features = FEATURES.iter().enumerate().filter(|(bit, _)| bus(Bus::Features) >> bit & 1 == 1);
    let mut machine = Machine {
        bus: machine::Bus {
            default_domain: byte(bus(Bus::DefaultDomain)),
            usage_domains: mask(Bus::UsageDomains)?,
            control_domains: mask(Bus::ControlDomains)?,
            apmask: mask(Bus::Apmask)?,
            aqmask: mask(Bus::Aqmask)?,
            config_time: small(bus(Bus::ConfigTime))?,
            poll_thread: bus(Bus::PollThread) != 0,
            poll_timeout: bus(Bus::PollTimeout),
            scans: bus(Bus::Scans),
            features: features.map(|(_, name)| (*name).to_owned()).collect(),
        },
        cards: Vec::new(),
        remark: text(words[Bus::Remark as usize..][..REMARK].iter().copied()),
    };
    let (cards, queues) = (usize::try_from(bus(Bus::Cards)).ok()?, usize::try_from(bus(Bus::Queues)).ok()?);
    if cards > MAX_CARDS || queues > MAX_QUEUES {
        return None;
    }
    for place in 0..cards {
        let all = &words[HEAD + place * CARD..][..CARD];
        let card = |field: Card| all[field as usize];
        let counters = usize::try_from(card(Card::Counters)).ok().filter(|&counters| counters <= MAX_COUNTERS)?;
        let names = all[Card::Names as usize..].chunks(NAME).take(counters);
        machine.cards.push(machine::Card {
            id: byte(card(Card::Id))?,
            mode: Mode::ALL.into_iter().find(|&mode| mode as u64 == card(Card::Mode))?,
            kind: text([card(Card::Kind)].into_iter()),
            hwtype: small(card(Card::Hwtype))?,
            depth: small(card(Card::Depth))?,
            functions: small(card(Card::Functions))?,
            online: card(Card::Online) != 0,
            config: card(Card::Config) != 0,
            chkstop: card(Card::Chkstop) != 0,
            requests: 0,
            max_message: small(card(Card::MaxMessage))?,
            serial: text([card(Card::Serial), card(Card::Serial2)].into_iter()),
            counters: names.map(|name| text(name.iter().copied())).collect(),
            confined: match card(Card::Confined) {
                1 => Some(true),
                2 => Some(false),
                _ => None,
            },
            remark: text(all[Card::Remark as usize..][..REMARK].iter().copied()),
            queues: Vec::new(),
        });
    }
    for place in 0..queues {
        let word = |word: usize| words[HEAD + MAX_CARDS * CARD + place * QUEUE + word];
        let queue = |field: Queue| word(field as usize);
        let counter = |at: usize| Work {
            operations: word(Queue::Counters as usize + 2 * at),
            busy: word(Queue::Counters as usize + 2 * at + 1),
        };
        let card = machine.cards.get_mut(usize::try_from(queue(Queue::Card)).ok()?)?;
        card.requests = card.requests.wrapping_add(queue(Queue::Requests));
        card.queues.push(machine::Queue {
            domain: byte(queue(Queue::Domain))?,
            online: queue(Queue::Online) != 0,
            requests: queue(Queue::Requests),
            requestq: queue(Queue::Requestq),
            pendingq: queue(Queue::Pendingq),
            load: queue(Queue::Load),
            counters: (0..card.counters.len()).map(counter).collect(),
        });
    }
    Some(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn machine() -> Machine {
        let queue = |domain, counters| machine::Queue {
            domain,
            online: true,
            requests: 0,
            requestq: 0,
            pendingq: 0,
            load: 0,
            counters: vec![Work::default(); counters],
        };
        let card = |id, mode: Mode, domains: &[u8], counters: &[&str]| machine::Card {
            id,
            mode,
            kind: format!("ADJ8{}", mode.letter()),
            hwtype: 14,
            depth: 8,
            functions: 0xEA80_0000,
            online: true,
            config: true,
            chkstop: false,
            requests: 0,
            max_message: 12 << 10,
            serial: if mode == Mode::Accelerator { String::new() } else { "0123456789ABCDEF".into() },
            counters: counters.iter().map(|&name| name.into()).collect(),
            confined: (mode == Mode::Accelerator).then_some(id > 3),
            remark: if id == 0 { String::new() } else { "Another sentence.".into() },
            queues: domains.iter().map(|&domain| queue(domain, counters.len())).collect(),
        };
        Machine {
            bus: machine::Bus {
                default_domain: Some(5),
                usage_domains: [5, 47].into_iter().collect(),
                control_domains: Mask::default(),
                apmask: Mask::ALL,
                aqmask: Mask::ALL,
                config_time: 30,
                poll_thread: false,
                poll_timeout: 250_000,
                scans: 1,
                features: vec!["APSC".into(), "QACT".into()],
            },
            cards: vec![
                card(0, Mode::Accelerator, &[5, 47], &machine::ACCELERATOR_COUNTERS),
                card(7, Mode::Ep11, &[5], &["Asym. Slow", "Symm. Complete"]),
            ],
            remark: "A sentence.".into(),
        }
    }

    #[test]
    fn what_is_written_is_read_and_counts_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cards");
        assert!(matches!(read(&path), Err(Error::NotRunning)));
        let mut expected = machine();
        let (shared, _file, owner) = Shared::create(&path, |shared| shared.publish(&expected)).unwrap();
        assert_eq!(read(&path).unwrap(), expected);
        shared.queue(1, Queue::Requests).fetch_add(3, Relaxed);
        shared.count(1, 3, 2, 1000);
        shared.queue(0, Queue::Batches).fetch_add(1, Relaxed);
        shared.card(1, Card::Pid).store(77, Relaxed);
        assert_eq!(figures(&path).unwrap(), Figures { operations: 2, batches: 1, processes: vec![77] });
        expected.cards[0].online = false;
        shared.publish(&expected);
        expected.cards[0].requests = 3;
        expected.cards[0].queues[1].requests = 3;
        expected.cards[0].queues[1].counters[3] = Work { operations: 2, busy: 1000 };
        assert_eq!((read(&path).unwrap(), shared.read()), (expected.clone(), Some(expected)));
        // Any bytes: an error, and no panic.
        shared.card(0, Card::Counters).store(MAX_COUNTERS as u64 + 1, Relaxed);
        assert!(matches!(read(&path), Err(Error::Damaged(_))));
        shared.card(0, Card::Counters).store(0, Relaxed);
        shared.bus(Bus::Cards).store(u64::MAX, Relaxed);
        assert!(matches!(read(&path), Err(Error::Damaged(_))));
        shared.bus(Bus::Magic).store(1, Relaxed);
        assert!(matches!(read(&path), Err(Error::Version(_))));
        drop(owner);
        assert!(matches!(read(&path), Err(Error::NotRunning)));
    }
}
