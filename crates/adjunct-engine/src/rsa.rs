//! `RSA_METHOD`: RSA_private_encrypt and its three sisters, under which `RSA_sign` and `RSA_verify` lie.

use crate::libcrypto::{Functions, Opaque, RsaOperation, functions};
use crate::tables::{self, Tables};
use crate::theirs;
use adjunct::Error;
use adjunct::memory::{self, Shared};
use adjunct::ops;
use adjunct::ops::rsa::{Crt, Encryption, MAX_SIZE, Numbers, RsaKey, SHA1, Signature, pkcs1_decode_implicit};
use adjunct_ossl::guard;
use adjunct_ossl::reason::rsa as reason;
use std::ffi::{c_int, c_long};
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// `CRYPTO_EX_INDEX_RSA`.
const EX_INDEX: c_int = 9;
/// `RSA_PKCS1_PADDING`, `RSA_NO_PADDING`, `RSA_PKCS1_OAEP_PADDING`.
const PKCS1: c_int = 1;
const NONE: c_int = 3;
const OAEP: c_int = 4;
/// The first OpenSSL whose PKCS#1 v1.5 decryption rejects implicitly.
const IMPLICIT_REJECTION: u64 = 0x3020_0000;

/// The functions in the table before an engine's were set.
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

/// The tables that hold our functions.
static TABLES: Tables = Tables::new();

/// Notes OpenSSL's own functions, once, before any of ours is set.
///
/// # Safety
/// `f` are the functions of a loaded libcrypto.
unsafe fn lay_over(f: &Functions) -> Option<()> {
    if ORIGINAL.get().is_some() {
        return Some(());
    }
    // SAFETY: libcrypto's functions, on its own table.
    unsafe {
        let theirs = (f.rsa_default)();
        let index = (f.ex_new_index)(EX_INDEX, 0, null_mut(), std::ptr::null(), Some(leave), Some(forget));
        let _ = ORIGINAL.set(Original {
            pub_enc: (f.rsa_meth_pub_enc)(theirs)?,
            pub_dec: (f.rsa_meth_pub_dec)(theirs)?,
            priv_enc: (f.rsa_meth_priv_enc)(theirs)?,
            priv_dec: (f.rsa_meth_priv_dec)(theirs)?,
            index,
            implicit: (f.version)() >= IMPLICIT_REJECTION,
        });
    }
    Some(())
}

/// Sets our four operations in a table.
///
/// # Safety
/// `table` is an `RSA_METHOD` of the libcrypto of `f` that may be written to.
unsafe fn fill(f: &Functions, table: Opaque) -> bool {
    // SAFETY: a table that may be written to.
    unsafe {
        (f.rsa_meth_set_pub_enc)(table, public_encrypt) == 1
            && (f.rsa_meth_set_pub_dec)(table, public_decrypt) == 1
            && (f.rsa_meth_set_priv_enc)(table, private_encrypt) == 1
            && (f.rsa_meth_set_priv_dec)(table, private_decrypt) == 1
    }
}

/// The engine's method table: OpenSSL's, with the four operations replaced.
///
/// # Safety
/// `f` are libcrypto's functions.
pub unsafe fn method(f: &'static Functions) -> Option<Opaque> {
    // SAFETY: `f` are by the caller's word libcrypto's functions, called as documented; the new table is ours alone until it is given out.
    unsafe {
        lay_over(f)?;
        let ours = (f.rsa_meth_dup)((f.rsa_default)());
        let set = !ours.is_null() && (f.rsa_meth_set_name)(ours, c"adjunct RSA".as_ptr()) == 1 && fill(f, ours);
        set.then(|| {
            TABLES.add(ours);
            ours
        })
    }
}

/// Sets the four operations in OpenSSL's own table, for all keys that have no other table.
///
/// # Safety
/// `f` are libcrypto's functions.
pub unsafe fn install(f: &'static Functions) -> bool {
    // SAFETY: `f` are by the caller's word libcrypto's functions, and the default table is made writable while it is changed; the setters
    // store a word each.
    unsafe {
        let table = (f.rsa_default)();
        if lay_over(f).is_none() {
            return false;
        }
        TABLES.add(table);
        tables::writing(table, || {
            fill(f, table);
        })
    }
}

/// A key made ready, and the numbers it was made of: an application may change them under us.
struct Ready {
    numbers: Zeroizing<Vec<u8>>,
    key: Option<Shared<RsaKey>>,
}

type Slot = Mutex<Option<Ready>>;

/// Leaves the slot of a duplicated key empty: the duplicate prepares its own.
///
/// # Safety
/// `slot` leads to the pointer that libcrypto duplicates.
unsafe extern "C" fn leave(_: Opaque, _: Opaque, slot: *mut Opaque, _: c_int, _: c_long, _: Opaque) -> c_int {
    // SAFETY: the place of the duplicate's pointer, which CRYPTO_dup_ex_data has on its stack.
    unsafe { *slot = null_mut() };
    1
}

/// Frees what was kept with a key.
///
/// # Safety
/// `slot` is null or a pointer that [`slot()`] has put there, which is not used any more.
unsafe extern "C" fn forget(_: Opaque, slot: Opaque, _: Opaque, _: c_int, _: c_long, _: Opaque) {
    if !slot.is_null() {
        guard((), || {
            // SAFETY: put there by `slot`, once.
            drop(unsafe { Box::from_raw(slot.cast::<Slot>()) });
        });
    }
}

/// The place where an RSA object keeps its key; `None` where it cannot.
///
/// # Safety
/// `rsa` is a live RSA object of the libcrypto whose functions are known here, which outlives the result.
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
                let new = Box::into_raw(memory::boxed(Slot::new(None)).ok()?);
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
///
/// # Safety
/// `rsa` is a live RSA object of the libcrypto whose functions are known here.
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
    let length = |number: Opaque| match number.is_null() {
        true => 0,
        // SAFETY: libcrypto gave the number, which the key holds.
        false => unsafe { (f.bn_bits)(number) as usize }.div_ceil(8),
    };
    // Room for all, so that no copy is left behind by a growing vector.
    let mut all = memory::zeros(bn.map(|number| length(number) + 4).iter().sum()).ok()?;
    all.clear();
    for number in bn {
        let length = length(number);
        all.extend_from_slice(&(length as u32).to_le_bytes());
        let at = all.len();
        all.resize(at + length, 0);
        // SAFETY: a number that has a length is a live one of the RSA object; the function writes `length` bytes, which `all` has from `at` on.
        if length > 0 && unsafe { (f.bn_to_bytes)(number, all[at..].as_mut_ptr(), length as c_int) } < 0 {
            return None;
        }
    }
    Some(all)
}

/// The core's key of these numbers.
fn build(mut numbers: &[u8]) -> Result<RsaKey, Error> {
    let parts: [&[u8]; 8] = std::array::from_fn(|_| {
        let (length, rest) = numbers.split_first_chunk().expect("made by `numbers`");
        let (part, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        numbers = rest;
        part
    });
    let [n, e, d, p, q, dp, dq, qinv] = parts;
    let some = |part: &[u8]| !part.is_empty();
    let crt = [p, q, dp, dq, qinv].into_iter().all(some).then_some(Crt { p, q, dp, dq, qinv });
    RsaKey::new(&Numbers { n, e, d: some(d).then_some(d), crt })
}

/// The core's key of an RSA object, made at the first use and again when its numbers have changed.
///
/// # Errors
/// Why the core does not take it, where that is known.
///
/// # Safety
/// `rsa` is a live RSA object of the libcrypto whose functions are known here.
unsafe fn key(rsa: Opaque) -> Result<Shared<RsaKey>, Option<Error>> {
    // SAFETY: a live RSA object.
    let (numbers, slot) = unsafe { (numbers(rsa).ok_or(None)?, slot(rsa)) };
    let make = || build(&numbers).and_then(Shared::new).map_err(Some);
    let Some(slot) = slot else { return make() };
    // Never waited for: a fork in another thread may have left it locked for ever.
    let Ok(mut ready) = slot.try_lock() else { return make() };
    match &*ready {
        Some(ready) if bool::from(ready.numbers.ct_eq(&numbers)) => ready.key.clone().ok_or(None),
        _ => {
            let key = make();
            *ready = Some(Ready { numbers, key: key.as_ref().ok().cloned() });
            key
        }
    }
}

/// The result of a padding check of OpenSSL's; as in its own method, a further error follows that of the check. It is raised
/// in any case and taken back, for what the padding was is not to be told by the time that takes.
fn checked(f: &Functions, length: c_int) -> c_int {
    f.errors.raise_unless(length >= 0, || f.errors.raise(reason::PADDING_CHECK_FAILED));
    length
}

/// Whether a key has no modulus, or, where `exponent` says that one is needed, no public exponent: OpenSSL's own functions
/// read either without looking.
///
/// # Safety
/// `rsa` is a live RSA object of the libcrypto of `f`.
unsafe fn lacks(f: &Functions, rsa: Opaque, exponent: bool) -> bool {
    let (mut n, mut e) = (null_mut(), null_mut());
    // SAFETY: a live RSA object, and places for what it holds.
    unsafe { (f.rsa_key)(rsa, &raw mut n, &raw mut e, null_mut()) };
    n.is_null() || (exponent && e.is_null())
}

/// The caller's input.
///
/// # Safety
/// `from` has `length` readable bytes while the result is used, if `length` is above 0.
unsafe fn input<'a>(from: *const u8, length: c_int) -> Option<&'a [u8]> {
    match usize::try_from(length).ok()? {
        0 => Some(&[]),
        // SAFETY: the caller's buffer.
        length => Some(unsafe { std::slice::from_raw_parts(from, length) }),
    }
}

/// The caller's input, if it is as long as the modulus.
///
/// # Safety
/// `from` has `length` readable bytes while the result is used, if `length` is above 0.
unsafe fn block<'a>(key: &RsaKey, from: *const u8, length: c_int) -> Option<&'a [u8]> {
    // SAFETY: the caller's buffer.
    unsafe { input(from, length) }.filter(|input| input.len() == key.size())
}

/// Writes a result, which is of our own: the caller's input and output may be one.
///
/// # Safety
/// `to` has room for it.
unsafe fn put(result: &[u8], to: *mut u8) -> c_int {
    // SAFETY: the caller has room for the result at `to`; `result` is ours, so the two do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), to, result.len()) };
    result.len() as c_int
}

/// Does one of RSA_METHOD's four operations: ours, which counts for the effective user, or with `None` OpenSSL's, which also raises the errors.
/// `public`: it needs the public exponent.
///
/// # Safety
/// The arguments are those that OpenSSL gave to the operation: a live `rsa`, `length` readable bytes at `from`, and room for the modulus at `to`.
unsafe fn either(
    (length, from, to, rsa, padding): (c_int, *const u8, *mut u8, Opaque, c_int),
    (theirs, public): (RsaOperation, bool),
    ours: impl FnOnce(&RsaKey, &mut Zeroizing<[u8; MAX_SIZE]>) -> Result<c_int, Option<Error>>,
) -> c_int {
    let done = guard(Err(None), || {
        // Where the provider has registered the engine, perhaps nothing of the core was asked for yet.
        adjunct::init();
        let f = functions();
        // SAFETY: a live RSA object.
        unsafe {
            if lacks(f, rsa, public) {
                f.errors.raise(reason::VALUE_MISSING);
                return Ok(-1);
            }
            if !TABLES.has((f.rsa_table)(rsa)) {
                return Err(None);
            }
            let key = key(rsa)?;
            ops::attribute_now();
            ours(&key, &mut Zeroizing::new([0; MAX_SIZE]))
        }
    });
    let f = functions();
    let mut d = null_mut();
    // SAFETY: a live RSA object, and a place for what it holds; then the caller's own arguments.
    done.unwrap_or_else(|why| unsafe {
        if !public {
            (f.rsa_key)(rsa, null_mut(), null_mut(), &raw mut d);
        }
        if theirs::may(f, &theirs::RSA, d, why.as_ref()) { theirs(length, from, to, rsa, padding) } else { -1 }
    })
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
        either((length, from, to, rsa, padding), (original().priv_enc, false), |key, signature| {
            let scheme = match padding {
                PKCS1 => Signature::Pkcs1(None),
                NONE => Signature::Raw,
                _ => return Err(None),
            };
            let signature = &mut signature[..key.size()];
            key.sign(scheme, input(from, length).ok_or(None)?, signature)?;
            Ok(put(signature, to))
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
        either((length, from, to, rsa, padding), (original().priv_dec, false), |key, plain| {
            let size = key.size();
            if !matches!(padding, PKCS1 | NONE | OAEP) {
                return Err(None);
            }
            let input = block(key, from, length).ok_or(None)?;
            let plain = &mut plain[..size];
            key.private(input, plain)?;
            let num = size as c_int;
            Ok(match padding {
                NONE => put(plain, to),
                PKCS1 if original().implicit => match pkcs1_decode_implicit(key, input, plain) {
                    Ok(length) => put(&plain[..length], to),
                    Err(_) => -1,
                },
                PKCS1 => checked(f, (f.check_type_2)(to, num, plain.as_ptr(), num, num)),
                _ => checked(f, (f.check_oaep)(to, num, plain.as_ptr(), num, num, std::ptr::null(), 0)),
            })
        })
    }
}

unsafe extern "C" fn public_encrypt(length: c_int, from: *const u8, to: *mut u8, rsa: Opaque, padding: c_int) -> c_int {
    // SAFETY: OpenSSL's arguments; `to` has room for the modulus.
    unsafe {
        either((length, from, to, rsa, padding), (original().pub_enc, true), |key, ciphertext| {
            // Padded by the core's generator: OpenSSL's functions for it would draw from that of the default library context,
            // where a program with contexts of its own need not have any.
            let scheme = match padding {
                PKCS1 => Encryption::Pkcs1,
                OAEP => Encryption::Oaep { hash: &SHA1, mgf1: &SHA1, label: &[] },
                NONE => Encryption::Raw,
                _ => return Err(None),
            };
            let ciphertext = &mut ciphertext[..key.size()];
            key.encrypt(scheme, input(from, length).ok_or(None)?, ciphertext)?;
            Ok(put(ciphertext, to))
        })
    }
}

unsafe extern "C" fn public_decrypt(length: c_int, from: *const u8, to: *mut u8, rsa: Opaque, padding: c_int) -> c_int {
    let f = functions();
    // SAFETY: OpenSSL's arguments; `to` has room for the modulus.
    unsafe {
        either((length, from, to, rsa, padding), (original().pub_dec, true), |key, opened| {
            let size = key.size();
            if !matches!(padding, PKCS1 | NONE) {
                return Err(None);
            }
            let opened = &mut opened[..size];
            key.public(block(key, from, length).ok_or(None)?, opened)?;
            let num = size as c_int;
            if padding == PKCS1 {
                return Ok(checked(f, (f.check_type_1)(to, num, opened.as_ptr(), num, num)));
            }
            Ok(put(opened, to))
        })
    }
}
