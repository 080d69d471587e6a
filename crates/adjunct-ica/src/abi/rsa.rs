//! `ica_rsa_*`.

use super::{bytes, code};
use crate::error::Errno;
use crate::rsa::{self, MAX_BITS, MAX_LENGTH, MIN_LENGTH};
use adjunct::ops::rsa::{Crt, Form, Generated};
use std::ffi::{c_int, c_uint};
use zeroize::Zeroizing;

/// `ica_rsa_key_mod_expo_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct ModExpoKey {
    pub key_length: c_uint,
    pub modulus: *mut u8,
    pub exponent: *mut u8,
}

/// `ica_rsa_key_crt_t`. The modulus has `key_length` bytes; q and dq half of that, p, dp and qInverse 8 more in front.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CrtKey {
    pub key_length: c_uint,
    pub p: *mut u8,
    pub q: *mut u8,
    pub dp: *mut u8,
    pub dq: *mut u8,
    pub qinv: *mut u8,
}

/// The zeros in front of p, dp and qInverse.
const PADDING: usize = 8;

/// How long a key's numbers are: the modulus, and the shorter ones of the Chinese-remainder form.
#[derive(Clone, Copy)]
struct Lengths {
    whole: usize,
    half: usize,
}

impl Lengths {
    fn of(key_length: c_uint) -> Result<Lengths, Errno> {
        match key_length as usize {
            0..MIN_LENGTH => Err(Errno::INVALID),
            whole @ ..=MAX_LENGTH => Ok(Lengths { whole, half: whole.div_ceil(2) }),
            _ => Err(Errno::PERMISSION),
        }
    }

    fn longer(self) -> usize {
        self.half + PADDING
    }
}

impl ModExpoKey {
    fn is_whole(&self) -> bool {
        !self.modulus.is_null() && !self.exponent.is_null()
    }
}

impl CrtKey {
    fn is_whole(&self) -> bool {
        ![self.p, self.q, self.dp, self.dq, self.qinv].iter().any(|number| number.is_null())
    }

    /// The key's numbers where they stand.
    ///
    /// # Safety
    /// They are readable, and nobody writes them while the result lives.
    unsafe fn numbers<'a>(&self, lengths: Lengths) -> Result<Crt<'a>, Errno> {
        let (half, longer) = (lengths.half, lengths.longer());
        // SAFETY: the caller has the numbers readable for these lengths, and unwritten while the result lives; `bytes` refuses a null pointer.
        unsafe {
            Ok(Crt {
                p: bytes(self.p, longer)?,
                q: bytes(self.q, half)?,
                dp: bytes(self.dp, longer)?,
                dq: bytes(self.dq, half)?,
                qinv: bytes(self.qinv, longer)?,
            })
        }
    }

    /// Writes the key's numbers, with zeros in front.
    ///
    /// # Safety
    /// None is null, and there is room.
    unsafe fn put(&self, lengths: Lengths, crt: &Crt<'_>) {
        let (half, longer) = (lengths.half, lengths.longer());
        // SAFETY: by the caller's word no number is null, and there is room for these lengths.
        unsafe {
            put(self.p, longer, crt.p);
            put(self.q, half, crt.q);
            put(self.dp, longer, crt.dp);
            put(self.dq, half, crt.dq);
            put(self.qinv, longer, crt.qinv);
        }
    }
}

/// Writes a number into a field of `length` bytes. Of a longer one the end, which is all that is not zero.
///
/// # Safety
/// The field is writable.
unsafe fn put(field: *mut u8, length: usize, number: &[u8]) {
    let number = &number[number.len().saturating_sub(length)..];
    // SAFETY: the field has by the caller's word `length` writable bytes, and `number`, which is no longer than that, is ours and apart
    // from the field.
    unsafe {
        field.write_bytes(0, length - number.len());
        field.add(length - number.len()).copy_from_nonoverlapping(number.as_ptr(), number.len());
    }
}

/// The caller's structure, if there is one.
///
/// # Safety
/// Null or readable.
unsafe fn read<T: Copy>(place: *const T) -> Result<T, Errno> {
    if place.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: `place` is not null, so by the caller's word readable; it need not be aligned.
    Ok(unsafe { place.read_unaligned() })
}

/// Own buffers for the input and the output of an operation, because the caller's may overlap with each other and the key.
struct Block {
    input: Zeroizing<[u8; MAX_LENGTH]>,
    output: Zeroizing<[u8; MAX_LENGTH]>,
}

impl Block {
    /// # Safety
    /// `length` bytes, at most [`MAX_LENGTH`], are readable.
    unsafe fn new(input: *const u8, length: usize) -> Block {
        let mut block = Block { input: Zeroizing::new([0; MAX_LENGTH]), output: Zeroizing::new([0; MAX_LENGTH]) };
        // SAFETY: the caller has `length` readable bytes at `input`, which are at most [`MAX_LENGTH`], the room of the block.
        unsafe { input.copy_to_nonoverlapping(block.input.as_mut_ptr(), length) };
        block
    }
}

/// # Safety
/// The key's numbers, the input and the output have the length the key says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_rsa_mod_expo(
    _handle: c_int,
    input: *const u8,
    key: *const ModExpoKey,
    output: *mut u8,
) -> c_uint {
    // SAFETY: the caller's pointers are null or valid: the key's numbers, the input and the output have the length that the key says.
    code(|| unsafe {
        let key = read(key)?;
        if input.is_null() || output.is_null() || !key.is_whole() {
            return Err(Errno::INVALID);
        }
        let Lengths { whole, .. } = Lengths::of(key.key_length)?;
        let mut block = Block::new(input, whole);
        let (modulus, exponent) = (bytes(key.modulus, whole)?, bytes(key.exponent, whole)?);
        rsa::mod_expo(&block.input[..whole], exponent, modulus, &mut block.output[..whole])?;
        output.copy_from_nonoverlapping(block.output.as_ptr(), whole);
        Ok(())
    })
}

/// Raises `input` to the private exponent. A key with p below q is served as it is, and, unlike in IBM's libica, the caller's structure is only read,
/// since other threads may be using it.
///
/// # Safety
/// The key's numbers, the input and the output have the length the key says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_rsa_crt(_handle: c_int, input: *const u8, key: *const CrtKey, output: *mut u8) -> c_uint {
    // SAFETY: the caller's pointers are null or valid: the key's numbers, the input and the output have the length that the key says.
    code(|| unsafe {
        let key = read(key)?;
        if input.is_null() || output.is_null() || !key.is_whole() {
            return Err(Errno::INVALID);
        }
        let lengths = Lengths::of(key.key_length)?;
        let mut block = Block::new(input, lengths.whole);
        rsa::crt(&block.input[..lengths.whole], &key.numbers(lengths)?, &mut block.output[..lengths.whole])?;
        output.copy_from_nonoverlapping(block.output.as_ptr(), lengths.whole);
        Ok(())
    })
}

/// # Safety
/// The key's numbers have the lengths that the key says, and are the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_rsa_crt_key_check(key: *mut CrtKey) -> c_uint {
    let mut code_of_turned = 0;
    let failed = code(|| {
        // SAFETY: the caller's key is null or valid, and its numbers have the lengths that it says; what is written is copied before.
        unsafe {
            let key = read(key)?;
            if !key.is_whole() {
                return Err(Errno::INVALID);
            }
            let lengths = Lengths::of(key.key_length)?;
            let crt = key.numbers(lengths)?;
            let Some(qinv) = rsa::turned(&crt)? else { return Ok(()) };
            // In front of p are zeros, for it is below q; dp has to be below p.
            if crt.dp[..PADDING].iter().fold(0, |all, b| all | b) != 0 {
                return Err(Errno::INVALID);
            }
            let mut room = Zeroizing::new([[0; MAX_LENGTH / 2 + PADDING]; 4]);
            let mut numbers = [crt.q, crt.p, crt.dq, crt.dp];
            for (number, copy) in numbers.iter_mut().zip(room.iter_mut()) {
                copy[..number.len()].copy_from_slice(number);
                *number = &copy[..number.len()];
            }
            let [p, q, dp, dq] = numbers;
            key.put(lengths, &Crt { p, q, dp, dq, qinv: &qinv });
            code_of_turned = 1;
            Ok(())
        }
    });
    if failed == 0 { code_of_turned } else { failed }
}

/// Reads the public exponent that a program has chosen, 0 for none. Programs of IBM Z, where that is big-endian, store an `unsigned long` there, the
/// original's own samples too. Such a number of less than 57 bits cannot be mistaken for a big-endian one, which would be even; the key that is
/// written has it big-endian.
fn chosen(bytes: [u8; MIN_LENGTH]) -> u64 {
    let (written, stored) = (u64::from_be_bytes(bytes), u64::from_ne_bytes(bytes));
    if written & 0xFF == 0 && stored & 1 == 1 { stored } else { written }
}

/// Makes a key for one form or the other, and writes its public half.
///
/// # Safety
/// The public key's numbers have the length that it says.
unsafe fn generate(
    form: Form,
    modulus_bits: c_uint,
    public: &ModExpoKey,
    private_length: c_uint,
) -> Result<(Lengths, Generated), Errno> {
    if modulus_bits as usize > MAX_BITS {
        return Err(Errno::PERMISSION);
    }
    if !public.is_whole() || public.key_length != private_length || modulus_bits.div_ceil(8) != public.key_length {
        return Err(Errno::INVALID);
    }
    let lengths = Lengths::of(public.key_length)?;
    // SAFETY: the public key's pointers are not null, and by the caller's word its numbers have the length that it says.
    let (front, last) = unsafe { bytes(public.exponent, lengths.whole)? }.split_at(lengths.whole - MIN_LENGTH);
    let last: [u8; MIN_LENGTH] = last.try_into().map_err(|_| Errno::INVALID)?;
    if front.iter().any(|&b| b != 0) {
        return Err(Errno::INVALID);
    }
    let mut exponent = chosen(last);
    let key = rsa::generate(form, modulus_bits as usize, &mut exponent)?;
    // SAFETY: the public key's pointers are not null, and by the caller's word its numbers have the length that it says.
    unsafe {
        put(public.exponent, lengths.whole, &exponent.to_be_bytes());
        put(public.modulus, lengths.whole, &key.n);
    }
    Ok((lengths, key))
}

/// # Safety
/// The keys' numbers have the length that the keys say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_rsa_key_generate_mod_expo(
    _handle: c_int,
    modulus_bits: c_uint,
    public: *mut ModExpoKey,
    private: *mut ModExpoKey,
) -> c_uint {
    // SAFETY: the caller's keys are null or valid, and their numbers have the length that the keys say.
    code(|| unsafe {
        let (public, private) = (read(public)?, read(private)?);
        if !private.is_whole() {
            return Err(Errno::INVALID);
        }
        let (lengths, key) = generate(Form::ModExpo, modulus_bits, &public, private.key_length)?;
        put(private.modulus, lengths.whole, &key.n);
        put(private.exponent, lengths.whole, &key.d);
        Ok(())
    })
}

/// # Safety
/// The keys' numbers have the lengths that the keys say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_rsa_key_generate_crt(
    _handle: c_int,
    modulus_bits: c_uint,
    public: *mut ModExpoKey,
    private: *mut CrtKey,
) -> c_uint {
    // SAFETY: the caller's keys are null or valid, and their numbers have the lengths that the keys say.
    code(|| unsafe {
        let (public, private) = (read(public)?, read(private)?);
        if !private.is_whole() {
            return Err(Errno::INVALID);
        }
        let (lengths, key) = generate(Form::Crt, modulus_bits, &public, private.key_length)?;
        private.put(lengths, &key.crt());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_may_be_stored_as_numbers() {
        for e in [3u64, 65537, 0x00FE_DCBA_9876_5431] {
            assert_eq!((chosen(e.to_be_bytes()), chosen(e.to_ne_bytes())), (e, e));
        }
        // These could be either, or are neither.
        for e in [0, 1, 2, 0x10, 0x0300_0000_0000_0005, u64::MAX] {
            assert_eq!(chosen(e.to_be_bytes()), e);
        }
    }
}
