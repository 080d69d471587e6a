//! The instructions themselves, by their encodings: no target feature is needed to assemble them.

use super::{Instruction, Machine, Registers};
use std::arch::asm;

/// The processor this runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processor;

/// Number of doublewords that hold the facilities looked at here.
const FACILITIES: usize = 4;

/// The list of installed facilities (STORE FACILITY LIST EXTENDED, which is older than any machine Rust's code runs on).
fn facilities() -> [u64; FACILITIES] {
    let mut list = [0; FACILITIES];
    // SAFETY: register 0 holds the number of doublewords less one; no more are stored.
    unsafe {
        asm!(
            ".insn s,0xb2b00000,0({list})",
            list = in(reg_addr) list.as_mut_ptr(),
            inout("r0") FACILITIES as u64 - 1 => _,
            options(nostack),
        );
    }
    list
}

/// Runs an instruction once; the condition code is fetched before anything can change it.
macro_rules! execute {
    ($registers:ident, $instruction:literal) => {{
        let condition: u64;
        asm!(
            $instruction,
            "ipm {condition}",
            condition = out(reg) condition,
            inout("r0") $registers.function,
            inout("r1") $registers.parameters => _,
            inout("r2") $registers.destination,
            inout("r3") $registers.destination_length,
            inout("r4") $registers.source,
            inout("r5") $registers.source_length,
            inout("r6") $registers.third,
            inout("r7") $registers.third_length,
            options(nostack),
        );
        (condition >> 28) as u8 & 3
    }};
}

impl Machine for Processor {
    fn facility(&self, bit: usize) -> bool {
        facilities().get(bit / 64).is_some_and(|word| word & 1 << 63 >> (bit % 64) != 0)
    }

    unsafe fn execute(&self, instruction: Instruction, registers: &mut Registers) -> u8 {
        // SAFETY: the instruction is installed and its operands are right, as the caller says. The destination is in registers
        // 2 and 3, the source in 4 and 5, the third operand in 6 and 7; what has no destination names register 0 for it.
        unsafe {
            match instruction {
                Instruction::Km => execute!(registers, ".insn rre,0xb92e0000,%r2,%r4"),
                Instruction::Kmc => execute!(registers, ".insn rre,0xb92f0000,%r2,%r4"),
                Instruction::Kmctr => execute!(registers, ".insn rrf,0xb92d0000,%r2,%r4,%r6,0"),
                Instruction::Kmf => execute!(registers, ".insn rre,0xb92a0000,%r2,%r4"),
                Instruction::Kmo => execute!(registers, ".insn rre,0xb92b0000,%r2,%r4"),
                Instruction::Kma => execute!(registers, ".insn rrf,0xb9290000,%r2,%r4,%r6,0"),
                Instruction::Kmac => execute!(registers, ".insn rre,0xb91e0000,%r0,%r4"),
                Instruction::Kimd => execute!(registers, ".insn rre,0xb93e0000,%r0,%r4"),
                Instruction::Klmd => execute!(registers, ".insn rre,0xb93f0000,%r2,%r4"),
                Instruction::Pcc => execute!(registers, ".insn rre,0xb92c0000,%r0,%r0"),
                Instruction::Prno => execute!(registers, ".insn rre,0xb93c0000,%r2,%r4"),
                Instruction::Kdsa => execute!(registers, ".insn rre,0xb93a0000,%r0,%r4"),
            }
        }
    }
}
