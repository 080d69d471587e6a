//! Parameter arrays to hand out.

use crate::param::{self, Param};
use std::ffi::{CStr, c_uint};
use zeroize::Zeroizing;

/// An array under construction; it owns the values, and clears them when dropped. If memory for a value runs out, the array cannot be finished.
#[derive(Default)]
pub struct Builder {
    entries: Vec<Param>,
    values: Vec<Zeroizing<Vec<u8>>>,
    failed: bool,
}

impl std::fmt::Debug for Builder {
    /// Shows no values, which may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

impl Builder {
    /// Adds `value`, of which `length` bytes count.
    fn push(&mut self, key: &'static CStr, data_type: c_uint, value: &[u8], length: usize) {
        // One byte more, so that the address of an empty string is one as well.
        let mut copy = Vec::new();
        let room = copy.try_reserve_exact(value.len() + 1).is_ok()
            && self.entries.try_reserve(1).is_ok()
            && self.values.try_reserve(1).is_ok();
        if !room {
            self.failed = true;
            return;
        }
        copy.extend_from_slice(value);
        let mut value = Zeroizing::new(copy);
        // The heap buffer stays where it is when the vector that holds it moves.
        let data = value.as_mut_ptr().cast();
        let return_size = param::UNMODIFIED;
        self.entries.push(Param { key: key.as_ptr(), data_type, data, data_size: length, return_size });
        self.values.push(value);
    }

    /// Adds a string.
    pub fn utf8(&mut self, key: &'static CStr, value: &CStr) {
        self.push(key, param::UTF8, value.to_bytes_with_nul(), value.to_bytes().len());
    }

    /// Adds an `int`.
    pub fn int(&mut self, key: &'static CStr, value: i32) {
        self.push(key, param::INTEGER, &value.to_ne_bytes(), 4);
    }

    /// Adds an octet string.
    pub fn octets(&mut self, key: &'static CStr, value: &[u8]) {
        self.push(key, param::OCTETS, value, value.len());
    }

    /// Adds an unsigned number from big-endian bytes, leading zeros and all: its size does not tell its value.
    pub fn number(&mut self, key: &'static CStr, big_endian: &[u8]) {
        self.push(key, param::UNSIGNED, big_endian, big_endian.len());
        if cfg!(target_endian = "little")
            && !self.failed
            && let Some(value) = self.values.last_mut()
        {
            value.reverse();
        }
    }

    /// Ends the array; valid as long as `self` and until something is added. `None` where there was no memory.
    pub fn finish(&mut self) -> Option<*mut Param> {
        if self.failed || self.entries.try_reserve(1).is_err() {
            return None;
        }
        self.entries.push(Param::END);
        Some(self.entries.as_mut_ptr())
    }
}
