//! Which of hardware and software serves a function on this CPU, one operation at a time, and what its batches are.

use crate::{RsaLanes, awslc, cpacf, features, rsa_lanes};
use adjunct_base::catalogue::{Arch, Feature, Function, HERE, Path, Reason, Row};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A path that has been found out, or not yet.
struct Known(AtomicU8);

/// The path of each row.
static KNOWN: [Known; Row::COUNT] = [const { Known(AtomicU8::new(Known::NOT_YET)) }; Row::COUNT];

impl Known {
    const NOT_YET: u8 = 0;
    const HARDWARE: u8 = 1;
    const SOFTWARE: u8 = 2;

    /// The path, found out at the first call. Threads that ask at the same time find out the same.
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

/// What serves an operation of `row`, whose answer is always the same: asked for once.
#[inline]
pub fn known(function: Function, bits: usize, row: Row) -> Path {
    KNOWN[row.index()].get(|| path(function, bits))
}

/// The instructions that make `function` hardware on this architecture; empty where none exist.
pub fn instructions(function: Function) -> &'static [Feature] {
    match HERE {
        Some(Arch::X86) => function.info().x86,
        Some(Arch::Arm) => function.info().arm,
        Some(Arch::S390) => function.info().s390,
        None => &[],
    }
}

/// Whether hardware or software serves `function` with a key of `bits` on this machine, one operation at a time.
pub fn path(function: Function, bits: usize) -> Path {
    let needed = instructions(function);
    if let Some(path) = rsa_keygen(function, bits) {
        return path;
    }
    // There is no kernel for the other curves.
    let batches = function.batch_instructions(bits);
    let of_curves = matches!(function, Function::EcKeygen | Function::EcdsaSign);
    let kernel = !of_curves || HERE != Some(Arch::X86) || !batches.is_empty();
    if needed.is_empty() || !kernel {
        if batches.is_empty() || HERE != Some(Arch::X86) {
            return Path::Software(Reason::NoInstruction);
        }
        return Path::Software(lacking(batches).unwrap_or(Reason::Alone));
    }
    if let Some(reason) = lacking(needed) {
        let reason = if has_lanes_of_its_own(function, bits) { Reason::Alone } else { reason };
        return Path::Software(reason);
    }
    if let Some(reason) = cpacf::lacking(function, bits) {
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
    // Of a key that is there, the primes tell ([`rsa_crt`]); those of the usual ones are halves.
    if function == Function::RsaCrt && bits != 0 && !ifma_takes_primes(bits / 2, bits.div_ceil(2)) {
        return Path::Software(Reason::Parameter);
    }
    Path::Hardware
}

/// What serves the generation of RSA keys, whose candidates of one key are a batch; `None` for other functions, and without dedicated
/// instructions for it.
fn rsa_keygen(function: Function, bits: usize) -> Option<Path> {
    let lanes = rsa_lanes().filter(|lanes| lanes.are_dedicated());
    if !matches!(function, Function::RsaKeygenMe | Function::RsaKeygenCrt) || lanes.is_none() {
        return None;
    }
    let of_lanes = matches!(bits, 0 | 2048 | 3072 | 4096);
    Some(if of_lanes { Path::Hardware } else { Path::Software(Reason::Parameter) })
}

/// Whether batches of a function run on dedicated instructions that one operation alone does not: AVX-IFMA, of RSA.
pub fn has_lanes_of_its_own(function: Function, bits: usize) -> bool {
    function == Function::RsaCrt
        && !function.batch_instructions(bits).is_empty()
        && rsa_lanes() == Some(RsaLanes::AvxIfma)
}

/// What a batch in lanes is counted as. Lanes without dedicated instructions have RSA alone.
#[inline]
pub fn lanes() -> Path {
    match rsa_lanes() {
        Some(lanes) if !lanes.are_dedicated() => Path::Software(Reason::Batch),
        _ => Path::Hardware,
    }
}

/// Whether hardware or software serves RSA's private operations with two primes of these sizes.
#[inline]
pub fn rsa_crt(p_bits: usize, q_bits: usize) -> Path {
    match path(Function::RsaCrt, 0) {
        Path::Hardware if !ifma_takes_primes(p_bits, q_bits) => Path::Software(Reason::Parameter),
        path => path,
    }
}

/// Whether AWS-LC's `BN_mod_exp_mont_consttime_x2` (fipsmodule/bn/exponentiation.c) has a path with AVX-512 IFMA for two primes of
/// these sizes, whatever the size of their product (RSA-2047 can have two of 1024 bits).
fn ifma_takes_primes(p_bits: usize, q_bits: usize) -> bool {
    p_bits == q_bits && matches!(p_bits, 1024 | 1536 | 2048)
}

/// Why not all of `needed` can be used, if so.
pub fn lacking(needed: &[Feature]) -> Option<Reason> {
    let features = features();
    let missing = needed.iter().find(|&&feature| !features.has(feature))?;
    Some(if features.masked(*missing) { Reason::Masked } else { Reason::CpuLacks })
}
