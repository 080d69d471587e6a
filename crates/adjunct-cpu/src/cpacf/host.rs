//! What executes CPACF's instructions: the processor. In this crate's own tests on s390x a model of it, which has all functions, so
//! that the ways to them are run where the processor's are not. On any other architecture there is none.

#[cfg(all(target_arch = "s390x", not(test)))]
pub(crate) use adjunct_kernels::cpacf::Processor as Host;
#[cfg(all(target_arch = "s390x", test))]
pub(crate) use model::Model as Host;

#[cfg(all(target_arch = "s390x", test))]
#[path = "../../../adjunct-kernels/tests/cpacf/model/mod.rs"]
pub(super) mod model;

/// No such machine can be.
#[cfg(not(target_arch = "s390x"))]
#[derive(Debug)]
pub(crate) enum Host {}

#[cfg(not(target_arch = "s390x"))]
impl adjunct_kernels::cpacf::Machine for Host {
    fn facility(&self, _: usize) -> bool {
        match *self {}
    }

    unsafe fn execute(&self, _: adjunct_kernels::cpacf::Instruction, _: &mut adjunct_kernels::cpacf::Registers) -> u8 {
        match *self {}
    }
}

/// The level of the message-security assist, by the facilities that are installed: the highest extension's number, 1 for the assist alone, 0 without
/// it. Masked functions count.
pub(crate) fn level() -> u32 {
    #[cfg(target_arch = "s390x")]
    return adjunct_kernels::cpacf::level(&adjunct_kernels::cpacf::Processor);
    #[cfg(not(target_arch = "s390x"))]
    0
}
