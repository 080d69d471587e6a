//! What an operation is counted by: its path, hardware or software and why, and its direction.

/// Why an operation ran in software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// No instruction for this function exists on this architecture.
    NoInstruction = 0,
    /// The CPU lacks the instruction, or the operating system or `OPENSSL_ia32cap` hides it.
    CpuLacks = 1,
    /// `ADJUNCT_CPU` took the instruction away.
    Masked = 2,
    /// The hardware path does not take this parameter (key size, curve, mode).
    Parameter = 3,
    /// The operation was handed to OpenSSL's default provider.
    Delegated = 4,
    /// The operation was in no batch, and only batches run on the instruction: no other operation was asked for at the same time, or one alone was
    /// faster.
    Alone = 5,
    /// The operation was in a batch of vectors without dedicated instructions.
    Batch = 6,
}

impl Reason {
    /// Every reason.
    pub const ALL: &[Reason] = &[
        Reason::NoInstruction,
        Reason::CpuLacks,
        Reason::Masked,
        Reason::Parameter,
        Reason::Delegated,
        Reason::Alone,
        Reason::Batch,
    ];

    /// The words of the reports.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::NoInstruction => "no instruction for it on this architecture",
            Reason::CpuLacks => "this CPU lacks the instruction",
            Reason::Masked => "masked by ADJUNCT_CPU",
            Reason::Parameter => "no hardware path for this key size or parameter",
            Reason::Delegated => "handed to OpenSSL's default provider",
            Reason::Alone => "ran alone; batches of it run on IFMA instructions",
            Reason::Batch => "ran in a batch by AVX2 and FMA, which are no dedicated instructions",
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
            Reason::Batch => "batch",
        }
    }
}

/// Whether hardware or software serves an operation, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Dedicated instructions.
    Hardware,
    /// Software, with the reason.
    Software(Reason),
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
