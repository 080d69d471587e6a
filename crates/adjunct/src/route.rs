//! Which of hardware and software serves a function on this machine: resolved once, when a context gets its key.

use crate::accelerator::{self, Outcome};
use crate::awslc;
use crate::catalogue::{Function, Row};
use crate::counters;
use crate::cpu::{self, Arch, Feature};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Why an operation ran in software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// No instruction for this function exists on this architecture.
    NoInstruction = 0,
    /// This CPU lacks the instruction, or the operating system or `OPENSSL_ia32cap` hides it.
    CpuLacks = 1,
    /// `ADJUNCT_CPU` took the instruction away.
    Masked = 2,
    /// The hardware path does not take this parameter (key size, curve, mode).
    Parameter = 3,
    /// The operation was handed to OpenSSL's default provider.
    Delegated = 4,
    /// Not in a batch, and only batches run on the instruction: nobody asked for another at the same time, or its caller shares
    /// none ([`accelerator`]: a plain thread, unless the configuration says otherwise).
    Alone = 5,
}

impl Reason {
    /// Every reason.
    pub const ALL: &[Reason] =
        &[Reason::NoInstruction, Reason::CpuLacks, Reason::Masked, Reason::Parameter, Reason::Delegated, Reason::Alone];

    /// The words of the reports.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::NoInstruction => "no instruction for it on this architecture",
            Reason::CpuLacks => "this CPU lacks the instruction",
            Reason::Masked => "masked by ADJUNCT_CPU",
            Reason::Parameter => "no hardware path for this key size or parameter",
            Reason::Delegated => "handed to OpenSSL's default provider",
            Reason::Alone => "ran alone; batches of it run on AVX-512 IFMA",
        }
    }

    /// The key in `--json`.
    pub const fn key(self) -> &'static str {
        match self {
            Reason::NoInstruction => "no-instruction",
            Reason::CpuLacks => "cpu-lacks",
            Reason::Masked => "masked",
            Reason::Parameter => "parameter",
            Reason::Delegated => "delegated",
            Reason::Alone => "alone",
        }
    }
}

/// What serves an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Dedicated instructions.
    Hardware,
    /// Everything else, and why.
    Software(Reason),
}

/// A path that has been found out, or not yet.
struct Known(AtomicU8);

/// The path of each row.
static KNOWN: [Known; Row::COUNT] = [const { Known(AtomicU8::new(Known::NOT_YET)) }; Row::COUNT];

impl Known {
    const NOT_YET: u8 = 0;
    const HARDWARE: u8 = 1;
    const SOFTWARE: u8 = 2;

    /// Threads that ask at the same time find out the same.
    #[inline]
    fn get(&self, find: impl FnOnce() -> Path) -> Path {
        match self.0.load(Relaxed) {
            Known::HARDWARE => Path::Hardware,
            Known::NOT_YET => {
                let path = find();
                self.0.store(Known::word(path), Relaxed);
                path
            }
            reason => Path::Software(Reason::ALL[(reason - Known::SOFTWARE) as usize]),
        }
    }

    const fn word(path: Path) -> u8 {
        match path {
            Path::Hardware => Known::HARDWARE,
            Path::Software(reason) => Known::SOFTWARE + reason as u8,
        }
    }
}

/// The direction of a counted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// Encrypt; also the one direction of digests and public-key operations.
    Encrypt = 0,
    /// Decrypt.
    Decrypt = 1,
}

/// Where a context counts: a row and a path. Copy it into the context once the key is known; [`Tally::count`] is then a
/// few instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    row: Row,
    function: Function,
    path: Path,
    place: counters::Place,
}

impl Tally {
    /// The tally of an operation of `function` with a key of `bits` (0 where it has none), on the path that serves it here.
    #[inline]
    pub fn new(function: Function, bits: usize) -> Tally {
        let (row, listed) = function.row_of(bits);
        // Rows of one size, or of functions without any: the answer is always the same, and asked for at every call of libica.
        let path = if bits == 0 && function.info().sizes.is_empty() || listed {
            KNOWN[row.index()].get(|| path(function, bits))
        } else {
            path(function, bits)
        };
        Tally::at(path, function, row)
    }

    /// The same operation, handed to OpenSSL's default provider.
    pub fn delegated(function: Function, bits: usize) -> Tally {
        Tally::on(Path::Software(Reason::Delegated), function, bits)
    }

    /// The same operation on a curve that has no lanes, though another of its size has.
    pub fn without_lanes(function: Function, bits: usize) -> Tally {
        Tally::on(Path::Software(Reason::Parameter), function, bits)
    }

    /// The same for an operation that the batches of its function do not take (a nonce that is given, a long message): alone or
    /// not, it is software.
    #[must_use]
    pub fn out_of_batches(self) -> Tally {
        match self.path {
            Path::Software(Reason::Alone) => Tally::at(Path::Software(Reason::Parameter), self.function, self.row),
            _ => self,
        }
    }

    fn on(path: Path, function: Function, bits: usize) -> Tally {
        Tally::at(path, function, function.row(bits))
    }

    // The only place that makes one: `place` follows from the other three.
    fn at(path: Path, function: Function, row: Row) -> Tally {
        Tally { row, function, path, place: counters::Place::new(row, function, path) }
    }

    /// Where it counts.
    #[inline]
    pub(crate) const fn place(self) -> counters::Place {
        self.place
    }

    /// The tally of RSA private operations with the Chinese remainder theorem: AWS-LC's AVX-512 IFMA exponentiation takes
    /// two primes of 1024, 1536 or 2048 bits each, whatever the size of their product (RSA-2047 can have two of 1024).
    pub fn rsa_crt(bits: usize, p_bits: usize, q_bits: usize) -> Tally {
        let path = match path(Function::RsaCrt, 0) {
            Path::Hardware if !(p_bits == q_bits && matches!(p_bits, 1024 | 1536 | 2048)) => {
                Path::Software(Reason::Parameter)
            }
            path => path,
        };
        Tally::on(path, Function::RsaCrt, bits)
    }

    /// Where one public-key operation counts, by what has done it: in lanes it was hardware, alone it is what such an operation
    /// is here, unless instructions that serve others have left this one to software.
    pub fn ran(self, outcome: Outcome) -> Tally {
        match (outcome, self.path) {
            (Outcome::Lanes, _) => Tally::at(Path::Hardware, self.function, self.row),
            (Outcome::Software(reason), Path::Hardware) => Tally::at(Path::Software(reason), self.function, self.row),
            _ => self,
        }
    }

    /// Whether such operations of plain threads run in batches on this machine, so that one is software only where it is alone.
    pub fn batches(self) -> bool {
        self.path == Path::Software(Reason::Alone) && accelerator::of_threads()
    }

    /// The path counted.
    pub const fn path(self) -> Path {
        self.path
    }

    /// The row counted.
    pub const fn row(self) -> Row {
        self.row
    }

    /// The function counted.
    pub const fn function(self) -> Function {
        self.function
    }

    /// Counts one operation over `bytes` bytes (0 for public-key operations).
    #[inline]
    pub fn count(self, direction: Direction, bytes: usize) {
        counters::add(self, direction, 1, bytes as u64);
    }

    /// Counts `bytes` more bytes of an operation already counted.
    #[inline]
    pub fn count_bytes(self, direction: Direction, bytes: usize) {
        counters::add(self, direction, 0, bytes as u64);
    }
}

/// The instructions that make `function` hardware on this architecture; empty where none exist.
pub fn instructions(function: Function) -> &'static [Feature] {
    match cpu::HERE {
        Some(Arch::X86) => function.info().x86,
        Some(Arch::Arm) => function.info().arm,
        Some(Arch::S390) => function.info().s390,
        None => &[],
    }
}

/// What serves `function` with a key of `bits` on this machine, one operation at a time.
pub fn path(function: Function, bits: usize) -> Path {
    let needed = instructions(function);
    if needed.is_empty() {
        let batches = function.batch_instructions(bits);
        if batches.is_empty() || cpu::HERE != Some(Arch::X86) {
            return Path::Software(Reason::NoInstruction);
        }
        return Path::Software(lacking(batches).unwrap_or(Reason::Alone));
    }
    if let Some(reason) = lacking(needed) {
        return Path::Software(reason);
    }
    #[cfg(target_arch = "s390x")]
    if let Some(reason) = crate::cpacf::lacking(function, bits) {
        return Path::Software(reason);
    }
    // AWS-LC's SHA-NI code for SHA-1, unlike that for SHA-256, also wants SSSE3, and goes without SHA-NI where it is masked.
    let sha1 = matches!(function, Function::Sha1 | Function::HmacSha1);
    if cfg!(target_arch = "x86_64")
        && sha1
        && let Some(reason) = lacking(&[Feature::Ssse3])
    {
        return Path::Software(reason);
    }
    // AWS-LC's Keccak leaves the SHA3 instructions of Arm's Neoverse cores alone: there they are slower than plain ones.
    if cfg!(target_arch = "aarch64") && needed == [Feature::ArmSha3] && awslc::caps::neoverse() {
        return Path::Software(Reason::Parameter);
    }
    // AWS-LC's AVX-512 IFMA exponentiation exists for primes of 1024, 1536 and 2048 bits; `Tally::rsa_crt` looks at them.
    if function == Function::RsaCrt && !matches!(bits, 2048 | 3072 | 4096) && bits != 0 {
        return Path::Software(Reason::Parameter);
    }
    Path::Hardware
}

/// What of this machine's hardware serves a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Dedicated instructions, one operation at a time: *static* in the tables of the Z tools.
    pub instructions: bool,
    /// Batches of several threads' operations, which stand for a card: *dynamic* there. Only where the configuration asks for
    /// them; and where nothing but a card is hardware, what the instructions of batches do alone, too.
    pub batches: bool,
    /// Batches of asynchronous jobs' operations.
    pub jobs: bool,
}

/// What serves `function` with a key of `bits` (0: of any size) on this machine.
pub fn served(function: Function, bits: usize) -> Served {
    let batches = function.batch_instructions(bits);
    let (path, only) = (path(function, bits), cpu::batches_only());
    let lanes = cpu::HERE == Some(Arch::X86) && !batches.is_empty() && lacking(batches).is_none();
    Served {
        instructions: path == Path::Hardware && !only,
        batches: lanes && (accelerator::of_threads() || only && path == Path::Hardware),
        jobs: lanes && accelerator::on(),
    }
}

/// Why not all of `needed` can be used, if so.
fn lacking(needed: &[Feature]) -> Option<Reason> {
    let features = cpu::features();
    let missing = needed.iter().find(|&&feature| !features.has(feature))?;
    Some(if features.masked(*missing) { Reason::Masked } else { Reason::CpuLacks })
}
