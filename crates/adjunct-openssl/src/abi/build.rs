//! Parameter arrays to hand out.

use super::param::{self, Param};
use adjunct::opaque_debug;
use std::ffi::{CStr, c_uint};
use zeroize::Zeroizing;

/// An array under construction; it owns the values, and clears them when dropped.
#[derive(Default)]
pub struct Builder {
    entries: Vec<Param>,
    values: Vec<Zeroizing<Vec<u8>>>,
}

opaque_debug!(Builder);

impl Builder {
    fn push(&mut self, key: &'static CStr, data_type: c_uint, value: Vec<u8>, length: usize) {
        let mut value = Zeroizing::new(value);
        // The heap buffer stays where it is when the vector that holds it moves.
        let data = value.as_mut_ptr().cast();
        let return_size = param::UNMODIFIED;
        self.entries.push(Param { key: key.as_ptr(), data_type, data, data_size: length, return_size });
        self.values.push(value);
    }

    /// Adds a string.
    pub fn utf8(&mut self, key: &'static CStr, value: &CStr) {
        self.push(key, param::UTF8, value.to_bytes_with_nul().to_vec(), value.to_bytes().len());
    }

    /// Adds an `int`.
    pub fn int(&mut self, key: &'static CStr, value: i32) {
        self.push(key, param::INTEGER, value.to_ne_bytes().to_vec(), 4);
    }

    /// Adds an octet string.
    pub fn octets(&mut self, key: &'static CStr, value: &[u8]) {
        // One byte more, so that the address of an empty string is one as well.
        let mut copy = Vec::with_capacity(value.len() + 1);
        copy.extend_from_slice(value);
        self.push(key, param::OCTETS, copy, value.len());
    }

    /// Adds an unsigned number from big-endian bytes, leading zeros and all: its size does not tell its value.
    pub fn number(&mut self, key: &'static CStr, big_endian: &[u8]) {
        let mut value = big_endian.to_vec();
        if cfg!(target_endian = "little") {
            value.reverse();
        }
        self.push(key, param::UNSIGNED, value, big_endian.len());
    }

    /// Ends the array; valid as long as `self` and until something is added.
    pub fn finish(&mut self) -> *mut Param {
        self.entries.push(Param::END);
        self.entries.as_mut_ptr()
    }
}
