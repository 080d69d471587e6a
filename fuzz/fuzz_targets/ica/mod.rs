//! What the targets of libica's interface share: numbers that are mostly right and sometimes wild, and buffers of exactly the
//! length a function is told, at any address, null, or lying over each other. A panic ends the target before the interface's
//! guard can make it an error; AddressSanitizer sees what is read or written beside a buffer.

#![allow(dead_code, reason = "each target uses its part")]

use libfuzzer_sys::arbitrary::Unstructured;

pub const OK: u32 = 0;
pub const INVALID: u32 = 22;
pub const PERMISSION: u32 = 1;
pub const IO: u32 = 5;
pub const FAULT: u32 = 14;
pub const NO_MEMORY: u32 = 12;

/// The fuzzer's bytes as choices; zeros when they are used up.
pub struct Choices<'a>(Unstructured<'a>);

impl<'a> Choices<'a> {
    pub fn new(data: &'a [u8]) -> Choices<'a> {
        Choices(Unstructured::new(data))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.0.arbitrary::<u16>().unwrap_or(0)) % end.max(1)
    }

    /// Once in `times`.
    pub fn seldom(&mut self, times: usize) -> bool {
        usize::from(self.byte()) % times == times - 1
    }

    /// One of them, or seldom any number at all.
    pub fn one_of(&mut self, legit: &[u32]) -> u32 {
        if self.seldom(16) { self.wild() } else { legit[self.below(legit.len())] }
    }

    pub fn wild(&mut self) -> u32 {
        match self.below(4) {
            0 => self.below(300) as u32,
            1 => 1 << self.below(32),
            2 => u32::MAX - self.below(40) as u32,
            _ => self.0.arbitrary().unwrap_or(0),
        }
    }

    /// A length: often of whole blocks, or beside that.
    pub fn length(&mut self, most: usize) -> usize {
        let length = match self.below(4) {
            0 => self.below(40),
            1 => self.below(most),
            2 => self.below(most / 16) * 16,
            _ => (self.below(most / 8) * 8 + self.below(3)).saturating_sub(1),
        };
        length.min(most)
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        // Mostly from a seed: the fuzzer's own bytes are better spent on the choices.
        let mut bytes = vec![0; length];
        if self.seldom(4) {
            bytes.iter_mut().for_each(|byte| *byte = self.byte());
        } else {
            let mut state = self.0.arbitrary::<u32>().unwrap_or(0);
            for byte in &mut bytes {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
        }
        bytes
    }

    /// A buffer with some contents.
    pub fn buffer(&mut self, length: usize) -> Buffer {
        let bytes = self.bytes(length);
        self.holding(&bytes)
    }

    /// A buffer with these, at any alignment, seldom null.
    pub fn holding(&mut self, bytes: &[u8]) -> Buffer {
        let shift = self.below(16);
        let null = self.seldom(64);
        Buffer::new(bytes, shift, null)
    }
}

/// A buffer that ends where its memory does.
pub struct Buffer {
    memory: Box<[u8]>,
    shift: usize,
    pub null: bool,
}

impl Buffer {
    pub fn new(bytes: &[u8], shift: usize, null: bool) -> Buffer {
        let mut memory = vec![0xA5; shift + bytes.len()].into_boxed_slice();
        memory[shift..].copy_from_slice(bytes);
        Buffer { memory, shift, null }
    }

    pub fn pointer(&mut self) -> *mut u8 {
        if self.null { std::ptr::null_mut() } else { self.memory[self.shift..].as_mut_ptr() }
    }

    pub fn get(&self) -> &[u8] {
        assert!(self.memory[..self.shift].iter().all(|&byte| byte == 0xA5), "written before a buffer");
        &self.memory[self.shift..]
    }

    pub fn len(&self) -> usize {
        self.memory.len() - self.shift
    }

    pub fn set(&mut self, bytes: &[u8]) {
        self.memory[self.shift..].copy_from_slice(bytes);
    }
}

/// An input and an output that lie apart, are the same, or overlap in part.
pub struct Pair {
    memory: Box<[u8]>,
    input: usize,
    output: usize,
    lengths: [usize; 2],
    pub null: [bool; 2],
}

impl Pair {
    pub fn new(choices: &mut Choices<'_>, input: &[u8], room: usize) -> Pair {
        let from = match choices.below(4) {
            0 => 0,
            1 => choices.below(room + 1),
            _ => room,
        };
        let backwards = choices.seldom(2);
        // The one begins where the memory does or the other ends, the other where the one ends or before.
        let (at, to) = if backwards { (input.len().saturating_sub(from), 0) } else { (from, 0) };
        let (input_at, output_at) = if backwards { (to, at) } else { (at, to) };
        let all = (input_at + input.len()).max(output_at + room);
        let mut memory = vec![0xEE; all].into_boxed_slice();
        memory[input_at..input_at + input.len()].copy_from_slice(input);
        let null = [choices.seldom(64), choices.seldom(64)];
        Pair { memory, input: input_at, output: output_at, lengths: [input.len(), room], null }
    }

    pub fn input(&mut self) -> *mut u8 {
        if self.null[0] { std::ptr::null_mut() } else { self.memory.as_mut_ptr().wrapping_add(self.input) }
    }

    pub fn output(&mut self) -> *mut u8 {
        if self.null[1] { std::ptr::null_mut() } else { self.memory.as_mut_ptr().wrapping_add(self.output) }
    }

    pub fn any_null(&self) -> bool {
        self.null.iter().any(|&null| null)
    }

    pub fn get(&self) -> &[u8] {
        &self.memory[self.output..self.output + self.lengths[1]]
    }

    pub fn all(&self) -> Vec<u8> {
        self.memory.to_vec()
    }
}
