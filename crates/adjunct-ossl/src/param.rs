//! `OSSL_PARAM`: named values passed in arrays, in both directions; for code that OpenSSL calls and code that calls OpenSSL.

use std::ffi::{CStr, c_char, c_uint, c_void};

/// `OSSL_PARAM`.
#[repr(C)]
#[derive(Debug)]
pub struct Param {
    /// The name; null ends an array.
    pub key: *const c_char,
    /// `OSSL_PARAM_*` type.
    pub data_type: c_uint,
    /// The value, or where to put it.
    pub data: *mut c_void,
    /// Its size in bytes.
    pub data_size: usize,
    /// Size in bytes of the value that was written.
    pub return_size: usize,
}

// SAFETY: only constant tables of descriptions are shared, and they are never written to.
unsafe impl Sync for Param {}

/// `OSSL_PARAM_INTEGER`.
pub const INTEGER: c_uint = 1;
/// `OSSL_PARAM_UNSIGNED_INTEGER`.
pub const UNSIGNED: c_uint = 2;
/// `OSSL_PARAM_UTF8_STRING`.
pub const UTF8: c_uint = 4;
/// `OSSL_PARAM_OCTET_STRING`.
pub const OCTETS: c_uint = 5;
/// `OSSL_PARAM_UTF8_PTR`.
pub const UTF8_PTR: c_uint = 6;
/// `OSSL_PARAM_OCTET_PTR`.
pub const OCTETS_PTR: c_uint = 7;
/// `OSSL_PARAM_UNMODIFIED`.
pub const UNMODIFIED: usize = usize::MAX;

/// Byte `i` of a number in memory, the least significant first.
fn byte(bytes: &[u8], i: usize) -> Option<u8> {
    match cfg!(target_endian = "little") {
        true => bytes.get(i).copied(),
        false => bytes.len().checked_sub(i + 1).map(|i| bytes[i]),
    }
}

/// Whether a signed number is below 0.
fn is_negative(bytes: &[u8]) -> bool {
    bytes.len().checked_sub(1).and_then(|top| byte(bytes, top)).is_some_and(|top| top & 0x80 != 0)
}

/// A number of any width, as OpenSSL takes it, in 64 bits. Bytes above these 64 bits must be `fill`, which also extends a narrower number. `None`
/// where the number does not fit. A number of no bytes is 0.
#[inline]
fn narrow(bytes: &[u8], fill: u8) -> Option<u64> {
    if let Ok(word) = bytes.try_into() {
        return Some(u64::from_ne_bytes(word));
    }
    let mut value = [fill; 8];
    for i in 0..bytes.len() {
        let byte = byte(bytes, i)?;
        match value.get_mut(i) {
            Some(place) => *place = byte,
            None if byte != fill => return None,
            None => {}
        }
    }
    Some(u64::from_le_bytes(value))
}

impl Param {
    /// The end of an array.
    pub const END: Param =
        Param { key: std::ptr::null(), data_type: 0, data: std::ptr::null_mut(), data_size: 0, return_size: 0 };

    /// A description for a gettable or settable table.
    pub const fn describe(key: &'static CStr, data_type: c_uint, data_size: usize) -> Param {
        Param { key: key.as_ptr(), data_type, data: std::ptr::null_mut(), data_size, return_size: UNMODIFIED }
    }

    /// An octet string to give, or room for one; `data` has `size` bytes while this is used.
    pub const fn octets(key: &'static CStr, data: *mut u8, size: usize) -> Param {
        Param { data: data.cast(), ..Param::describe(key, OCTETS, size) }
    }

    /// A text to give, which lives while this is used.
    pub const fn text(key: &'static CStr, value: &CStr) -> Param {
        let data = value.as_ptr().cast_mut().cast();
        Param { data, ..Param::describe(key, UTF8, value.to_bytes().len()) }
    }

    /// An unsigned number to give or to get, which lives while this is used.
    pub const fn number(key: &'static CStr, value: *mut c_uint) -> Param {
        Param { data: value.cast(), ..Param::describe(key, UNSIGNED, size_of::<c_uint>()) }
    }

    /// The name.
    pub fn name(&self) -> &CStr {
        // SAFETY: the key of an entry before the end of an array is a C string.
        unsafe { CStr::from_ptr(self.key) }
    }

    /// Reads an unsigned integer of any width OpenSSL uses; a negative or too wide one is `None`.
    pub fn get_u64(&self) -> Option<u64> {
        if self.data.is_null() {
            return None;
        }
        // SAFETY: data points to data_size bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.data_size) };
        match self.data_type {
            UNSIGNED => narrow(bytes, 0),
            INTEGER if !is_negative(bytes) => narrow(bytes, 0),
            _ => None,
        }
    }

    /// Reads an `unsigned int`; a wider number is `None` even where its type has the room.
    pub fn get_u32(&self) -> Option<u32> {
        u32::try_from(self.get_u64()?).ok()
    }

    /// Reads a `size_t`, `unsigned int` or non-negative `int`.
    pub fn get_usize(&self) -> Option<usize> {
        usize::try_from(self.get_u64()?).ok()
    }

    /// Reads a signed integer.
    pub fn get_i64(&self) -> Option<i64> {
        if self.data_type == UNSIGNED {
            return i64::try_from(self.get_u64()?).ok();
        }
        if self.data.is_null() || self.data_type != INTEGER {
            return None;
        }
        // SAFETY: data points to data_size bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.data_size) };
        let negative = is_negative(bytes);
        let value = narrow(bytes, if negative { 0xff } else { 0 })?.cast_signed();
        ((value < 0) == negative).then_some(value)
    }

    /// Reads an octet string (or the string an octet pointer points to).
    pub fn get_octets(&self) -> Option<&[u8]> {
        let data = match self.data_type {
            OCTETS => self.data.cast::<u8>().cast_const(),
            // SAFETY: data points to a pointer.
            OCTETS_PTR if !self.data.is_null() => unsafe { *self.data.cast::<*const u8>() },
            _ => return None,
        };
        if data.is_null() {
            return (self.data_size == 0).then_some(&[]);
        }
        // SAFETY: data points to data_size bytes.
        Some(unsafe { std::slice::from_raw_parts(data, self.data_size) })
    }

    /// Reads a UTF-8 string (or the string a UTF-8 pointer points to).
    pub fn get_str(&self) -> Option<&str> {
        let data = match self.data_type {
            UTF8 => self.data.cast::<c_char>().cast_const(),
            // SAFETY: data points to a pointer.
            UTF8_PTR if !self.data.is_null() => unsafe { *self.data.cast::<*const c_char>() },
            _ => return None,
        };
        if data.is_null() {
            return None;
        }
        // SAFETY: data points to data_size bytes; the string may or may not have its terminator within them.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), self.data_size) };
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).ok()
    }

    /// Reads an unsigned big number (native byte order) as big-endian bytes without leading zeros.
    pub fn get_bignum(&self) -> Option<Vec<u8>> {
        if self.data_type != UNSIGNED || self.data.is_null() {
            return None;
        }
        // SAFETY: data points to data_size bytes.
        let data = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.data_size) };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(data.len()).ok()?;
        bytes.extend_from_slice(data);
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        let zeros = bytes.iter().take_while(|&&b| b == 0).count();
        bytes.drain(..zeros);
        Some(bytes)
    }

    /// Reads an unsigned big number (native byte order) into big-endian bytes of a fixed length, in time that depends on
    /// the lengths only; `None` where it is too big.
    pub fn get_number(&self, out: &mut [u8]) -> Option<()> {
        if self.data_type != UNSIGNED || self.data.is_null() {
            return None;
        }
        // SAFETY: data points to data_size bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.data_size) };
        let mut excess = 0;
        out.fill(0);
        for i in 0..bytes.len() {
            let byte = if cfg!(target_endian = "little") { bytes[i] } else { bytes[bytes.len() - 1 - i] };
            match out.len().checked_sub(i + 1) {
                Some(place) => out[place] = byte,
                None => excess |= byte,
            }
        }
        (excess == 0).then_some(())
    }

    /// Answers a big-number request with all of `big_endian`, leading zeros included, so that the size does not tell the
    /// value.
    pub fn set_number(&mut self, big_endian: &[u8]) -> bool {
        if self.data.is_null() {
            self.return_size = big_endian.len();
            return self.data_type == UNSIGNED;
        }
        if self.data_size < big_endian.len() {
            return false;
        }
        self.data_size = big_endian.len();
        self.set_bignum(big_endian)
    }

    /// Answers an integer request.
    pub fn set_u64(&mut self, value: u64) -> bool {
        if !matches!(self.data_type, INTEGER | UNSIGNED) {
            self.return_size = 0;
            return false;
        }
        self.return_size = 8;
        if self.data.is_null() {
            return true;
        }
        let limit = if self.data_type == INTEGER { 1 } else { 0 };
        match self.data_size {
            4 if value >> (32 - limit) == 0 => {
                self.return_size = 4;
                // SAFETY: data points to 4 bytes.
                unsafe { self.data.cast::<u32>().write_unaligned(value as u32) };
            }
            8 if limit == 0 || value >> 63 == 0 => {
                // SAFETY: data points to 8 bytes.
                unsafe { self.data.cast::<u64>().write_unaligned(value) };
            }
            4 | 8 => return false,
            size => {
                // As OpenSSL, integers of any size, where the value has room.
                let used = (64 - value.leading_zeros() + limit).div_ceil(8) as usize;
                if size < used {
                    return false;
                }
                self.return_size = size;
                // SAFETY: data points to data_size bytes.
                let out = unsafe { std::slice::from_raw_parts_mut(self.data.cast::<u8>(), size) };
                out.fill(0);
                let bytes = value.to_le_bytes();
                let little = bytes.iter().take(size);
                if cfg!(target_endian = "little") {
                    out.iter_mut().zip(little).for_each(|(o, b)| *o = *b);
                } else {
                    out.iter_mut().rev().zip(little).for_each(|(o, b)| *o = *b);
                }
            }
        }
        true
    }

    /// Answers a signed integer request.
    pub fn set_i64(&mut self, value: i64) -> bool {
        if let Ok(value) = u64::try_from(value) {
            return self.set_u64(value);
        }
        self.return_size = self.data_size;
        if self.data_type != INTEGER {
            return false;
        }
        match (self.data.is_null(), self.data_size) {
            (true, _) => self.return_size = 8,
            // SAFETY: data points to data_size bytes.
            (_, 8) => unsafe { self.data.cast::<i64>().write_unaligned(value) },
            (_, 4) => match i32::try_from(value) {
                // SAFETY: `data` is not null and points to `data_size` bytes, here 4, by the word of whoever made the parameter.
                Ok(value) => unsafe { self.data.cast::<i32>().write_unaligned(value) },
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    /// Answers a `size_t` or `int` request.
    pub fn set_usize(&mut self, value: usize) -> bool {
        self.set_u64(value as u64)
    }

    /// Answers an octet-string request with a copy, or an octet-pointer request with the address.
    pub fn set_octets(&mut self, value: &[u8]) -> bool {
        self.return_size = value.len();
        match self.data_type {
            _ if self.data.is_null() => true,
            OCTETS if self.data_size >= value.len() => {
                // SAFETY: data points to data_size bytes, apart from `value`.
                unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), self.data.cast(), value.len()) };
                true
            }
            OCTETS_PTR => {
                // SAFETY: data points to a pointer; the caller answers for the life of `value`.
                unsafe { *self.data.cast::<*const u8>() = value.as_ptr() };
                true
            }
            _ => false,
        }
    }

    /// Answers a string request with a copy (and its terminator), or a pointer request with the address.
    pub fn set_str(&mut self, value: &'static CStr) -> bool {
        let bytes = value.to_bytes();
        self.return_size = bytes.len();
        match self.data_type {
            UTF8_PTR if !self.data.is_null() => {
                // SAFETY: data points to a pointer.
                unsafe { *self.data.cast::<*const c_char>() = value.as_ptr() };
                true
            }
            UTF8_PTR => true,
            UTF8 => self.set_utf8(bytes),
            _ => false,
        }
    }

    /// Answers a string request with a copy of `bytes`, terminated if there is room.
    pub fn set_utf8(&mut self, bytes: &[u8]) -> bool {
        self.return_size = bytes.len();
        if self.data.is_null() {
            return self.data_type == UTF8;
        }
        if self.data_type != UTF8 || self.data_size < bytes.len() {
            return false;
        }
        // SAFETY: data points to data_size bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data.cast(), bytes.len());
            if self.data_size > bytes.len() {
                *self.data.cast::<u8>().add(bytes.len()) = 0;
            }
        }
        true
    }

    /// Answers a big-number request from big-endian bytes.
    pub fn set_bignum(&mut self, big_endian: &[u8]) -> bool {
        let value = &big_endian[big_endian.iter().take_while(|&&b| b == 0).count()..];
        self.return_size = value.len().max(1);
        if self.data_type != UNSIGNED {
            return false;
        }
        if self.data.is_null() {
            return true;
        }
        if self.data_size < value.len() {
            return false;
        }
        self.return_size = self.data_size;
        // SAFETY: data points to data_size bytes.
        let out = unsafe { std::slice::from_raw_parts_mut(self.data.cast::<u8>(), self.data_size) };
        out.fill(0);
        if cfg!(target_endian = "little") {
            for (o, b) in out.iter_mut().zip(value.iter().rev()) {
                *o = *b;
            }
        } else {
            let start = out.len() - value.len();
            out[start..].copy_from_slice(value);
        }
        true
    }
}

/// The entries of an array OpenSSL passes in; null is an empty array.
///
/// # Safety
/// `array` is null or ends with an entry whose key is null, and lives as long as the result.
pub unsafe fn iter<'a>(array: *const Param) -> impl Iterator<Item = &'a Param> {
    let mut next = array;
    std::iter::from_fn(move || {
        // SAFETY: the caller answers for the array: null, or ended by an entry with a null key, which `next` never passes.
        unsafe {
            if next.is_null() || (*next).key.is_null() {
                return None;
            }
            let current = &*next;
            next = next.add(1);
            Some(current)
        }
    })
}

/// The entry called `name`.
///
/// # Safety
/// As for [`iter`].
pub unsafe fn find<'a>(array: *const Param, name: &CStr) -> Option<&'a Param> {
    // SAFETY: the caller answers for the array: null, or ended by an entry with a null key, and alive as long as the result.
    unsafe { iter(array) }.find(|p| p.name() == name)
}

/// The entries of an array to answer.
///
/// # Safety
/// As for [`iter`], and nothing else refers to the entries.
pub unsafe fn iter_mut<'a>(array: *mut Param) -> impl Iterator<Item = &'a mut Param> {
    let mut next = array;
    std::iter::from_fn(move || {
        // SAFETY: the caller answers for the array: null, or ended by an entry with a null key, with nothing else that refers to its
        // entries, each of which is handed out once.
        unsafe {
            if next.is_null() || (*next).key.is_null() {
                return None;
            }
            let current = &mut *next;
            next = next.add(1);
            Some(current)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(data_type: u32, bytes: &mut [u8]) -> Param {
        Param { data: bytes.as_mut_ptr().cast(), ..Param::describe(c"number", data_type, bytes.len()) }
    }

    #[test]
    fn numbers_of_any_width_are_read() {
        for width in 1..=24 {
            for number in [
                0i128,
                1,
                0x7f,
                0x80,
                0xff,
                0x1234,
                0x8000,
                i64::MAX.into(),
                i64::MIN.into(),
                -1,
                -128,
                -129,
                u64::MAX.into(),
            ] {
                let wide = [number.to_le_bytes(), [if number < 0 { 0xff } else { 0 }; 16]].concat();
                let mut bytes = wide[..width].to_vec();
                let fits = |fill: u8| wide[width..].iter().all(|&b| b == fill);
                if cfg!(target_endian = "big") {
                    bytes.reverse();
                }
                let negative = number < 0;
                if !negative && fits(0) {
                    let read = param(UNSIGNED, &mut bytes);
                    assert_eq!(read.get_u64(), u64::try_from(number).ok(), "{number} in {width}");
                }
                // In as many bits as it takes with its sign.
                let signed = if negative { fits(0xff) } else { fits(0) };
                let top = wide[width - 1] & 0x80 != 0;
                if signed && top == negative {
                    let read = param(INTEGER, &mut bytes);
                    assert_eq!(read.get_i64(), i64::try_from(number).ok(), "{number} in {width}");
                    assert_eq!(read.get_u64(), u64::try_from(number).ok(), "{number} in {width}");
                }
            }
        }
        assert_eq!(param(UNSIGNED, &mut []).get_u64(), Some(0));
        assert_eq!(param(INTEGER, &mut []).get_i64(), Some(0));
        assert_eq!(param(OCTETS, &mut [1; 8]).get_u64(), None);
    }
}
