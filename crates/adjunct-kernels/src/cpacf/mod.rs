//! CPACF, the CP Assist for Cryptographic Functions of IBM Z: drivers of its instructions (z/Architecture Principles of
//! Operation, the message-security assist and its extensions).
//!
//! Every instruction takes a function code in register 0, the address of a parameter block in register 1 and its operands in
//! even/odd pairs of registers, an address and a length each. It may end before its work is done (condition code 3), with
//! addresses, lengths and parameter block moved on, to be executed again. Function code 0 tells which functions there are; the
//! facility list tells whether there is the instruction at all. An [`Assist`] asks once, and refuses what is not there before
//! anything is executed: nothing here can raise SIGILL, and no handler of it is ever installed.
//!
//! The drivers know the instructions only as a [`Machine`]. On s390x that is `Processor`; in the tests also a model in
//! software, which works on the same parameter blocks and operands and ends its work in parts. docs/cpacf.md says which
//! functions have run where.
//!
//! All parameter blocks are big-endian bytes, so that their layout is one on every architecture. Those with secrets are wiped.

mod block;
mod check;
mod cipher;
mod curve;
mod digest;
mod gcm;
mod mac;
#[cfg(target_arch = "s390x")]
mod processor;
mod query;
mod random;
mod signature;
mod xts;

pub use block::{
    ChainBlock, CmacBlock, DigestBlock, DrbgBlock, GcmBlock, GhashBlock, KeyBlock, LastDigestBlock, Page, XtsBlock,
    XtsParameterBlock,
};
pub use cipher::Cipher;
pub use curve::{Montgomery, Nist};
pub use digest::Hash;
pub use gcm::Gcm;
#[cfg(target_arch = "s390x")]
pub use processor::Processor;
pub use query::{Functions, Instruction, Query, level};
pub use signature::Edwards;

/// The registers of an instruction, before it and after.
#[derive(Debug, Clone, Copy)]
pub struct Registers {
    /// Register 0: function code, modifier and flags.
    pub function: u64,
    /// Register 1: the address of the parameter block.
    pub parameters: *mut u8,
    /// The first operand's address: the destination.
    pub destination: *mut u8,
    /// The first operand's length in bytes, where the instruction looks at it.
    pub destination_length: usize,
    /// The second operand's address: the source.
    pub source: *const u8,
    /// The second operand's length in bytes.
    pub source_length: usize,
    /// The third operand's address: counters, additional data.
    pub third: *const u8,
    /// The third operand's length in bytes, where the instruction looks at it.
    pub third_length: usize,
}

impl Registers {
    /// A function on a parameter block, without operands yet.
    pub fn new<T>(function: u64, parameters: &mut T) -> Registers {
        Registers {
            function,
            parameters: std::ptr::from_mut(parameters).cast(),
            destination: std::ptr::null_mut(),
            destination_length: 0,
            source: std::ptr::null(),
            source_length: 0,
            third: std::ptr::null(),
            third_length: 0,
        }
    }

    /// Sets the source.
    #[must_use]
    pub fn source(mut self, data: &[u8]) -> Registers {
        (self.source, self.source_length) = (data.as_ptr(), data.len());
        self
    }

    /// Sets the source, and a destination of the same length.
    #[must_use]
    pub fn in_out(mut self, io: &crate::InOut<'_>) -> Registers {
        (self.destination, self.source, self.source_length) = (io.output(), io.input(), io.len());
        self
    }
}

/// The processor, or a model of it, that executes the instructions.
pub trait Machine {
    /// Whether the facility of that number is installed.
    fn facility(&self, bit: usize) -> bool;

    /// Executes `instruction` once, and gives its condition code. The registers are left as the instruction leaves them.
    ///
    /// # Safety
    /// The instruction is installed, and has the function; parameter block and operands are as the function demands.
    unsafe fn execute(&self, instruction: Instruction, registers: &mut Registers) -> u8;
}

/// Why a driver did not do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The instruction or the function is not there, or has been taken away. Nothing was done.
    Absent,
    /// The instruction ended with another condition code than that of success.
    Condition(u8),
}

/// Bit 0x80 of the function code: decrypt, or take the nonce that is given.
const MODIFIER: u64 = 0x80;

/// A machine and the functions it has.
#[derive(Debug, Clone)]
pub struct Assist<M> {
    machine: M,
    functions: Functions,
}

impl<M: Machine> Assist<M> {
    /// Asks `machine` for its facilities and functions.
    pub fn new(machine: M) -> Assist<M> {
        let functions = Functions::of(&machine);
        Assist { machine, functions }
    }

    /// The functions there are.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Takes an instruction away.
    pub fn mask(&mut self, instruction: Instruction) {
        self.functions.mask(instruction);
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Executes an instruction until its work is done, and gives the condition code.
    ///
    /// # Safety
    /// Parameter block and operands are as the function demands.
    unsafe fn run(&self, instruction: Instruction, registers: &mut Registers) -> Result<u8, Refused> {
        // The modifier and the flags choose what a function does; the query answers for its code.
        if !self.functions.has(instruction, (registers.function & 0x7f) as u8) {
            return Err(Refused::Absent);
        }
        loop {
            // SAFETY: the function is there; the caller of this method gives a parameter block and operands as the function demands.
            match unsafe { self.machine.execute(instruction, registers) } {
                PARTLY => {}
                condition => return Ok(condition),
            }
        }
    }

    /// Executes an instruction until its work is done, where only condition code 0 is success.
    ///
    /// # Safety
    /// Parameter block and operands are as the function demands.
    unsafe fn run_to_end(&self, instruction: Instruction, registers: &mut Registers) -> Result<(), Refused> {
        // SAFETY: the caller of this method gives a parameter block and operands as the function demands.
        match unsafe { self.run(instruction, registers) }? {
            0 => Ok(()),
            condition => Err(Refused::Condition(condition)),
        }
    }
}

/// The condition code of work done in part.
const PARTLY: u8 = 3;

fn modifier(set: bool) -> u64 {
    if set { MODIFIER } else { 0 }
}
