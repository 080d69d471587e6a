//! CPACF on s390x: the functions there are, and the ways to them.
//!
//! The module is compiled on every architecture, so that its callers need not know which it is: elsewhere [`here`] is always `None`, and the compiler
//! leaves out what depends on it.
//!
//! * `host`: what executes the instructions.
//! * `words`: which there are, as `features` reads it.
//! * `serves`: which functions a function of the catalogue takes.
//! * `cipher`, `digest`, `curve`: AES and DES with a key, digests on a state, the NIST curves. GCM, the other curves and random numbers
//!   are the drivers' own.

pub(crate) mod cipher;
pub(crate) mod curve;
pub(crate) mod digest;
pub(crate) mod host;
#[cfg(all(target_arch = "s390x", test))]
mod paths;
mod serves;
#[cfg(target_arch = "s390x")]
pub(crate) mod words;

use adjunct_base::catalogue::{Function, Reason};
use adjunct_kernels::cpacf::Assist;
use host::Host;
use std::ops::Deref;

/// Proof that there is CPACF: no value of it exists on another architecture. It stands for the processor's functions, less the instructions that
/// `ADJUNCT_CPU` takes away; any of them may be missing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Here {
    #[cfg(target_arch = "s390x")]
    Here,
}

/// CPACF, if the processor has it.
#[inline(always)]
pub(crate) fn here() -> Option<Here> {
    #[cfg(target_arch = "s390x")]
    return Some(Here::Here);
    #[cfg(not(target_arch = "s390x"))]
    None
}

impl Deref for Here {
    type Target = Assist<Host>;

    #[inline(always)]
    fn deref(&self) -> &Assist<Host> {
        match *self {
            #[cfg(target_arch = "s390x")]
            Here::Here => assist(),
        }
    }
}

/// The processor's functions, less the instructions that `ADJUNCT_CPU` takes away.
#[cfg(target_arch = "s390x")]
pub(crate) fn assist() -> &'static Assist<Host> {
    use adjunct_base::catalogue::{Arch, Feature};
    use adjunct_kernels::cpacf::Instruction;
    static ASSIST: std::sync::LazyLock<Assist<Host>> = std::sync::LazyLock::new(|| {
        let mut assist = Assist::new(Default::default());
        // None of this but what an emulator has was run before it was released.
        for (instruction, code) in assist.check() {
            let text = format!("{instruction:?} gives a wrong answer for function {code}, which is not used");
            adjunct_base::diag::warn(&text);
        }
        let ours = Feature::ALL.iter().filter(|f| f.arch() == Arch::S390);
        for (feature, instruction) in ours.zip(Instruction::ALL) {
            if !crate::features().has(*feature) {
                assist.mask(instruction);
            }
        }
        assist
    });
    &ASSIST
}

/// Why the functions there are do not serve `function` with a key of `bits`, if so; nothing lacks where no function is to serve.
pub(crate) fn lacking(function: Function, bits: usize) -> Option<Reason> {
    let here = here()?;
    if serves::serves(here.functions(), function, bits) {
        return None;
    }
    Some(if serves::serves(here.functions(), function, 0) { Reason::Parameter } else { Reason::CpuLacks })
}
