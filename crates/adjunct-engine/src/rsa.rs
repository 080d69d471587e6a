//! `RSA_METHOD`: RSA_private_encrypt and its three sisters, under which `RSA_sign` and `RSA_verify` lie.

use crate::libcrypto::{Functions, Opaque, RsaOperation, functions};
use adjunct::awslc::rsa::{Crt, Key, MAX_SIZE, Numbers};
use adjunct::awslc::rsa_padding::{pkcs1_decode_implicit, pkcs1_sign};
use adjunct::foreign::guard;
use adjunct::route::{Direction, Tally};
use std::ffi::{c_int, c_long};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// `CRYPTO_EX_INDEX_RSA`.
const EX_INDEX: c_int = 9;
/// `RSA_PKCS1_PADDING`, `RSA_NO_PADDING`, `RSA_PKCS1_OAEP_PADDING`.
const PKCS1: c_int = 1;
const NONE: c_int = 3;
const OAEP: c_int = 4;
/// `RSA_R_PADDING_CHECK_FAILED`.
const PADDING_CHECK_FAILED: c_int = 114;
const ERR_LIB_RSA: c_int = 4;
/// The first OpenSSL whose PKCS#1 v1.5 decryption rejects implicitly.
const IMPLICIT_REJECTION: u64 = 0x3020_0000;

/// What an engine's methods were laid over.
struct Original {
    pub_enc: RsaOperation,
    pub_dec: RsaOperation,
    priv_enc: RsaOperation,
    priv_dec: RsaOperation,
    index: c_int,
    implicit: bool,
}

static ORIGINAL: OnceLock<Original> = OnceLock::new();

fn original() -> &'static Original {
    ORIGINAL.get().expect("set before the method is registered")
}

/// Our method table: OpenSSL's, with the four operations replaced.
///
/// # Safety
/// `f` are libcrypto's functions.
pub unsafe fn method(f: &'static Functions) -> Option<Opaque> {
    // SAFETY: see above.
    unsafe {
        let theirs = (f.rsa_default)();
        if ORIGINAL.get().is_none() {
            let index = (f.ex_new_index)(EX_INDEX, 0, null_mut(), std::ptr::null(), std::ptr::null(), Some(forget));
            let _ = ORIGINAL.set(Original {
                pub_enc: (f.rsa_meth_pub_enc)(theirs)?,
                pub_dec: (f.rsa_meth_pub_dec)(theirs)?,
                priv_enc: (f.rsa_meth_priv_enc)(theirs)?,
                priv_dec: (f.rsa_meth_priv_dec)(theirs)?,
                index,
                implicit: (f.version)() >= IMPLICIT_REJECTION,
            });
        }
        let ours = (f.rsa_meth_dup)(theirs);
        let set = !ours.is_null()
            && (f.rsa_meth_set_name)(ours, c"adjunct RSA".as_ptr()) == 1
            && (f.rsa_meth_set_pub_enc)(ours, public_encrypt) == 1
            && (f.rsa_meth_set_pub_dec)(ours, public_decrypt) == 1
            && (f.rsa_meth_set_priv_enc)(ours, private_encrypt) == 1
            && (f.rsa_meth_set_priv_dec)(ours, private_decrypt) == 1;
        set.then_some(ours)
    }
}

/// A key made ready, and the numbers it was made of: an application may change them under us.
struct Ready {
    numbers: Zeroizing<Vec<u8>>,
    key: Option<Arc<Key>>,
}

type Slot = Mutex<Option<Ready>>;

/// Frees what was kept with a key.
unsafe extern "C" fn forget(_: Opaque, slot: Opaque, _: Opaque, _: c_int, _: c_long, _: Opaque) {
    if !slot.is_null() {
        guard((), || {
            // SAFETY: put there by `slot`, once.
            drop(unsafe { Box::from_raw(slot.cast::<Slot>()) });
        });
    }
}

/// Where an RSA object keeps its key; `None` where it cannot.
unsafe fn slot<'a>(rsa: Opaque) -> Option<&'a Slot> {
    let (f, index) = (functions(), original().index);
    if index < 0 {
        return None;
    }
    // Two threads with the same new key would each put one there; one of them would be lost, and freed under its user.
    static MAKING: Mutex<()> = Mutex::new(());
    // SAFETY: a live RSA object; what its place holds is a slot of ours, which lives as long as the object.
    unsafe {
        let mut found = (f.rsa_ex_data)(rsa, index);
        if found.is_null() {
            let _making = MAKING.try_lock().ok()?;
            found = (f.rsa_ex_data)(rsa, index);
            if found.is_null() {
                let new = Box::into_raw(Box::new(Slot::new(None)));
                if (f.rsa_set_ex_data)(rsa, index, new.cast()) != 1 {
                    drop(Box::from_raw(new));
                    return None;
                }
                found = new.cast();
            }
        }
        found.cast::<Slot>().as_ref()
    }
}

/// The numbers of a key, one after the other, each with its length in front: n, e, d, p, q, dp, dq, qinv; absent ones empty.
unsafe fn numbers(rsa: Opaque) -> Option<Zeroizing<Vec<u8>>> {
    let f = functions();
    let mut bn = [null_mut(); 8];
    // SAFETY: a live RSA object, and places for what it holds.
    unsafe {
        let [n, e, d, p, q, dp, dq, qinv] = &mut bn;
        if (f.rsa_extra_primes)(rsa) != 0 {
            return None;
        }
        (f.rsa_key)(rsa, n, e, d);
        (f.rsa_factors)(rsa, p, q);
        (f.rsa_crt)(rsa, dp, dq, qinv);
    }
    // Room for all, so that no copy is left behind by a growing vector.
    let mut all = Zeroizing::new(Vec::with_capacity(8 * (MAX_SIZE + 4)));
    for number in bn {
        // SAFETY: a live number, or null.
        let length = if number.is_null() { 0 } else { unsafe { (f.bn_bits)(number) as usize }.div_ceil(8) };
        if length > MAX_SIZE {
            return None;
        }
        all.extend_from_slice(&(length as u32).to_le_bytes());
        let at = all.len();
        all.resize(at + length, 0);
        // SAFETY: as above; the length is the place's.
        if length > 0 && unsafe { (f.bn_to_bytes)(number, all[at..].as_mut_ptr(), length as c_int) } < 0 {
            return None;
        }
    }
    Some(all)
}

/// The core's key of these numbers; `None` where it does not take them.
fn build(mut numbers: &[u8]) -> Option<Key> {
    let parts: [&[u8]; 8] = std::array::from_fn(|_| {
        let (length, rest) = numbers.split_first_chunk().expect("made by `numbers`");
        let (part, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        numbers = rest;
        part
    });
    let [n, e, d, p, q, dp, dq, qinv] = parts;
    let some = |part: &[u8]| !part.is_empty();
    let crt = [p, q, dp, dq, qinv].into_iter().all(some).then_some(Crt { p, q, dp, dq, qinv });
    Key::new(&Numbers { n, e, d: some(d).then_some(d), crt }).ok()
}

/// The core's key of an RSA object, made at the first use and again when its numbers have changed.
unsafe fn key(rsa: Opaque) -> Option<Arc<Key>> {
    // SAFETY: a live RSA object.
    let (numbers, slot) = unsafe { (numbers(rsa)?, slot(rsa)) };
    let Some(slot) = slot else { return build(&numbers).map(Arc::new) };
    // Never waited for: a fork in another thread may have left it locked for ever.
    let Ok(mut ready) = slot.try_lock() else { return build(&numbers).map(Arc::new) };
    match &*ready {
        Some(ready) if bool::from(ready.numbers.ct_eq(&numbers)) => ready.key.clone(),
        _ => {
            let key = build(&numbers).map(Arc::new);
            *ready = Some(Ready { numbers, key: key.clone() });
            key
        }
    }
}

/// The result of a padding check of OpenSSL's; as in its own method, a further error follows that of the check.
unsafe fn checked(f: &Functions, length: c_int) -> c_int {
    if length < 0 {
        // SAFETY: libcrypto's functions; no text follows.
        unsafe {
            (f.error_new)();
            (f.error_set)(ERR_LIB_RSA, PADDING_CHECK_FAILED, std::ptr::null());
        }
    }
    length
}

/// Counts an operation to the user of now.
fn count(tally: Tally, direction: Direction) {
    adjunct::counters::attribute_now();
    tally.count(direction, 0);
}

/// Input as long as the modulus.
unsafe fn block<'a>(key: &Key, from: *const u8, length: c_int) -> Option<&'a [u8]> {
    let length = usize::try_from(length).ok().filter(|&l| l == key.size())?;
    // SAFETY: the caller's buffer.
    Some(unsafe { std::slice::from_raw_parts(from, length) })
}

/// The one shape of the four operations: ours, or `None` for OpenSSL's, which also raises the errors.
unsafe fn either(
    (length, from, to, rsa, padding): (c_int, *const u8, *mut u8, Opaque, c_int),
    theirs: RsaOperation,
    ours: impl FnOnce(&Key, &mut Zeroizing<[u8; MAX_SIZE]>) -> Option<c_int>,
) -> c_int {
    let done = guard(None, || {
        // SAFETY: a live RSA object.
        let key = unsafe { key(rsa) }?;
        ours(&key, &mut Zeroizing::new([0; MAX_SIZE]))
    });
    // SAFETY: the caller's own arguments.
    done.unwrap_or_else(|| unsafe { theirs(length, from, to, rsa, padding) })
}

unsafe extern "C" fn private_encrypt(
    length: c_int,
    from: *const u8,
    to: *mut u8,
    rsa: Opaque,
    padding: c_int,
) -> c_int {
    // SAFETY: OpenSSL's arguments; `to` has room for the modulus.
    unsafe {
        either((length, from, to, rsa, padding), original().priv_enc, |key, encoded| {
            let size = key.size();
            match padding {
                PKCS1 => {
                    let data = std::slice::from_raw_parts(from, usize::try_from(length).ok()?);
                    pkcs1_sign(None, data, &mut encoded[..size]).ok()?;
                }
                NONE => encoded[..size].copy_from_slice(block(key, from, length)?),
                _ => return None,
            }
            key.private_transform(&encoded[..size], std::slice::from_raw_parts_mut(to, size)).ok()?;
            count(key.private_tally(), Direction::Encrypt);
            Some(size as c_int)
        })
    }
}

unsafe extern "C" fn private_decrypt(
    length: c_int,
    from: *const u8,
    to: *mut u8,
    rsa: Opaque,
    padding: c_int,
) -> c_int {
    let f = functions();
    // SAFETY: OpenSSL's arguments; `to` has room for the modulus.
    unsafe {
        either((length, from, to, rsa, padding), original().priv_dec, |key, plain| {
            let size = key.size();
            if !matches!(padding, PKCS1 | NONE | OAEP) {
                return None;
            }
            let input = block(key, from, length)?;
            let plain = &mut plain[..size];
            key.private_transform(input, plain).ok()?;
            count(key.private_tally(), Direction::Encrypt);
            let num = size as c_int;
            Some(match padding {
                NONE => {
                    std::ptr::copy_nonoverlapping(plain.as_ptr(), to, size);
                    num
                }
                PKCS1 if original().implicit => match pkcs1_decode_implicit(key, input, plain) {
                    Ok(length) => {
                        std::ptr::copy_nonoverlapping(plain.as_ptr(), to, length);
                        length as c_int
                    }
                    Err(_) => -1,
                },
                PKCS1 => (f.check_type_2)(to, num, plain.as_ptr(), num, num),
                _ => checked(f, (f.check_oaep)(to, num, plain.as_ptr(), num, num, std::ptr::null(), 0)),
            })
        })
    }
}

unsafe extern "C" fn public_encrypt(length: c_int, from: *const u8, to: *mut u8, rsa: Opaque, padding: c_int) -> c_int {
    let f = functions();
    // SAFETY: OpenSSL's arguments; `to` has room for the modulus.
    unsafe {
        either((length, from, to, rsa, padding), original().pub_enc, |key, encoded| {
            let size = key.size();
            let encoded = &mut encoded[..size];
            let (at, num) = (encoded.as_mut_ptr(), size as c_int);
            let padded = match padding {
                PKCS1 => (f.pad_type_2)(at, num, from, length),
                OAEP => (f.pad_oaep)(at, num, from, length, std::ptr::null(), 0),
                NONE => {
                    encoded.copy_from_slice(block(key, from, length)?);
                    1
                }
                _ => return None,
            };
            if padded != 1 {
                return Some(-1);
            }
            key.public_transform(encoded, std::slice::from_raw_parts_mut(to, size)).ok()?;
            count(key.public_tally(), Direction::Encrypt);
            Some(num)
        })
    }
}

unsafe extern "C" fn public_decrypt(length: c_int, from: *const u8, to: *mut u8, rsa: Opaque, padding: c_int) -> c_int {
    let f = functions();
    // SAFETY: OpenSSL's arguments; `to` has room for the modulus.
    unsafe {
        either((length, from, to, rsa, padding), original().pub_dec, |key, opened| {
            let size = key.size();
            if !matches!(padding, PKCS1 | NONE) {
                return None;
            }
            let opened = &mut opened[..size];
            key.public_transform(block(key, from, length)?, opened).ok()?;
            count(key.public_tally(), Direction::Encrypt);
            let num = size as c_int;
            if padding == PKCS1 {
                return Some(checked(f, (f.check_type_1)(to, num, opened.as_ptr(), num, num)));
            }
            std::ptr::copy_nonoverlapping(opened.as_ptr(), to, size);
            Some(num)
        })
    }
}
