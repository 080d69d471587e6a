//! Which instructions and functions there are.

use super::{Machine, Registers};

/// An instruction of the message-security assist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Instruction {
    /// CIPHER MESSAGE.
    Km,
    /// CIPHER MESSAGE WITH CHAINING.
    Kmc,
    /// CIPHER MESSAGE WITH COUNTER.
    Kmctr,
    /// CIPHER MESSAGE WITH CIPHER FEEDBACK.
    Kmf,
    /// CIPHER MESSAGE WITH OUTPUT FEEDBACK.
    Kmo,
    /// CIPHER MESSAGE WITH AUTHENTICATION.
    Kma,
    /// COMPUTE MESSAGE AUTHENTICATION CODE.
    Kmac,
    /// COMPUTE INTERMEDIATE MESSAGE DIGEST.
    Kimd,
    /// COMPUTE LAST MESSAGE DIGEST.
    Klmd,
    /// PERFORM CRYPTOGRAPHIC COMPUTATION.
    Pcc,
    /// PERFORM RANDOM NUMBER OPERATION.
    Prno,
    /// COMPUTE DIGITAL SIGNATURE AUTHENTICATION.
    Kdsa,
}

impl Instruction {
    /// All instructions.
    pub const ALL: [Instruction; 12] = {
        use Instruction::*;
        [Km, Kmc, Kmctr, Kmf, Kmo, Kma, Kmac, Kimd, Klmd, Pcc, Prno, Kdsa]
    };

    /// The facility with the instruction: the message-security assist (17) or its extension 4 (77), 5 (57), 8 (146) or 9 (155).
    pub const fn facility(self) -> usize {
        use Instruction::*;
        match self {
            Km | Kmc | Kmac | Kimd | Klmd => 17,
            Kmctr | Kmf | Kmo | Pcc => 77,
            Prno => 57,
            Kma => 146,
            Kdsa => 155,
        }
    }
}

/// An instruction's answer to function code 0: one bit a function, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Query([u8; 16]);

const _: () = assert!(size_of::<Query>() == 16);

impl Query {
    /// The answer that has exactly the functions with these codes.
    pub const fn of(codes: &[u8]) -> Query {
        let (mut query, mut i) = (Query([0; 16]), 0);
        while i < codes.len() {
            query.0[codes[i] as usize / 8] |= 0x80 >> (codes[i] % 8);
            i += 1;
        }
        query
    }

    /// Whether the function of that code is installed.
    #[inline]
    pub const fn has(&self, code: u8) -> bool {
        code < 128 && self.0[code as usize / 8] & (0x80 >> (code % 8)) != 0
    }

    /// The codes there are.
    pub fn codes(&self) -> impl Iterator<Item = u8> {
        (0..128).filter(|&code| self.has(code))
    }
}

/// The functions of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Functions([Query; Instruction::ALL.len()]);

impl Functions {
    /// Asks `machine`. An instruction whose facility is not installed is not executed.
    pub fn of<M: Machine>(machine: &M) -> Functions {
        let mut functions = Functions::default();
        for instruction in Instruction::ALL {
            if machine.facility(instruction.facility()) {
                let query = &mut functions.0[instruction as usize];
                // SAFETY: the instruction is installed, and every one has function 0, which fills a block of 16 bytes and
                // looks at no operand.
                unsafe { machine.execute(instruction, &mut Registers::new(0, query)) };
            }
        }
        functions
    }

    /// Whether `instruction` has the function of that code.
    #[inline]
    pub const fn has(&self, instruction: Instruction, code: u8) -> bool {
        // Function 0, the query itself, is nothing to work with.
        code != 0 && self.0[instruction as usize].has(code)
    }

    /// The answer of `instruction` to its query function.
    pub const fn query(&self, instruction: Instruction) -> &Query {
        &self.0[instruction as usize]
    }

    /// Takes a function away.
    pub(super) const fn remove(&mut self, instruction: Instruction, code: u8) {
        self.0[instruction as usize].0[code as usize / 8] &= !(0x80 >> (code % 8));
    }

    /// Takes an instruction away.
    pub const fn mask(&mut self, instruction: Instruction) {
        self.0[instruction as usize] = Query([0; 16]);
    }
}

/// The level of the message-security assist that facilities stand for: 0 without it, else the highest extension's number. Extensions 1, 2, 6, 7, 10,
/// 11 and 13 have no facility of their own: they are functions of earlier instructions.
pub fn level<M: Machine>(machine: &M) -> u32 {
    [(86, 12), (155, 9), (146, 8), (57, 5), (77, 4), (76, 3), (17, 1)]
        .into_iter()
        .find(|&(facility, _)| machine.facility(facility))
        .map_or(0, |(_, level)| level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_highest() {
        let query = Query::of(&[0, 3, 18, 127]);
        assert_eq!(query.0[0], 0x90);
        assert_eq!(query.0[2], 0x20);
        assert_eq!(query.0[15], 0x01);
        assert_eq!(query.codes().collect::<Vec<_>>(), [0, 3, 18, 127]);
        assert!(!query.has(128 + 3));
    }

    struct Old(Vec<usize>);

    impl Machine for Old {
        fn facility(&self, bit: usize) -> bool {
            self.0.contains(&bit)
        }

        unsafe fn execute(&self, instruction: Instruction, registers: &mut Registers) -> u8 {
            assert!(self.facility(instruction.facility()), "{instruction:?} would raise SIGILL");
            assert_eq!(registers.function, 0);
            // SAFETY: the block of a query.
            unsafe { *registers.parameters.cast() = Query::of(&[0, 18]) };
            0
        }
    }

    #[test]
    fn what_is_not_installed_is_not_executed() {
        for (facilities, expected) in [(vec![], 0), (vec![17], 1), (vec![17, 76, 77], 4), (vec![17, 146, 155], 9)] {
            let machine = Old(facilities);
            assert_eq!(level(&machine), expected);
            let functions = Functions::of(&machine);
            for instruction in Instruction::ALL {
                assert_eq!(functions.has(instruction, 18), machine.facility(instruction.facility()));
                assert!(!functions.has(instruction, 0) && !functions.has(instruction, 19));
            }
        }
    }

    #[test]
    fn a_masked_instruction_is_gone() {
        let mut functions = Functions::of(&Old(vec![17]));
        functions.mask(Instruction::Km);
        assert!(!functions.has(Instruction::Km, 18) && functions.has(Instruction::Kmc, 18));
    }
}
