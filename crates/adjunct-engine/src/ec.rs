//! `EC_KEY_METHOD`: ECDSA, ECDH and key generation on the curves that the core has.

use crate::libcrypto::{
    ComputeKey, Functions, Generate, Opaque, Sign, SignSetup, SignSig, Verify, VerifySig, functions,
};
use crate::tables::{self, Tables};
use crate::theirs;
use adjunct::Error;
use adjunct::ops;
use adjunct::ops::ec::{Curve, EcKey, Form, MAX_FIELD, MAX_POINT, MAX_SIGNATURE};
use adjunct_ossl::guard;
use adjunct_ossl::reason::ec as reason;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// `NID_X9_62_prime256v1`, `NID_secp384r1`, `NID_secp521r1`.
const CURVES: [(c_int, Curve); 3] = [(415, Curve::P256), (715, Curve::P384), (716, Curve::P521)];
/// `POINT_CONVERSION_UNCOMPRESSED`.
const UNCOMPRESSED: c_int = 4;

/// The functions in the table before the engine's were set.
struct Original {
    sign: Option<Sign>,
    setup: Option<SignSetup>,
    sign_sig: Option<SignSig>,
    verify: Option<Verify>,
    verify_sig: Option<VerifySig>,
    generate: Option<Generate>,
    compute_key: Option<ComputeKey>,
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
unsafe fn lay_over(f: &Functions) {
    if ORIGINAL.get().is_some() {
        return;
    }
    let (mut sign, mut setup, mut sign_sig) = (None, None, None);
    let (mut verify, mut verify_sig, mut generate, mut compute_key) = (None, None, None, None);
    // SAFETY: libcrypto's functions, on its own table; the places are ours.
    unsafe {
        let theirs = (f.ec_default)();
        (f.ec_meth_sign)(theirs, &raw mut sign, &raw mut setup, &raw mut sign_sig);
        (f.ec_meth_verify)(theirs, &raw mut verify, &raw mut verify_sig);
        (f.ec_meth_keygen)(theirs, &raw mut generate);
        (f.ec_meth_compute_key)(theirs, &raw mut compute_key);
    }
    let _ = ORIGINAL.set(Original { sign, setup, sign_sig, verify, verify_sig, generate, compute_key });
}

/// Sets what the core does in a table.
///
/// # Safety
/// `table` is an `EC_KEY_METHOD` of the libcrypto of `f` that may be written to.
unsafe fn fill(f: &Functions, table: Opaque) {
    // SAFETY: a table that may be written to.
    unsafe {
        (f.ec_meth_set_sign)(table, Some(sign), original().setup, Some(sign_sig));
        (f.ec_meth_set_verify)(table, Some(verify), Some(verify_sig));
        (f.ec_meth_set_keygen)(table, Some(generate));
        (f.ec_meth_set_compute_key)(table, Some(compute_key));
    }
}

/// The engine's method table: OpenSSL's, with what the core does replaced.
///
/// # Safety
/// `f` are libcrypto's functions.
pub unsafe fn method(f: &'static Functions) -> Option<Opaque> {
    // SAFETY: `f` are by the caller's word libcrypto's functions, called as documented; the new table is ours alone until it is given out.
    unsafe {
        lay_over(f);
        let ours = (f.ec_meth_new)((f.ec_default)());
        if ours.is_null() {
            return None;
        }
        fill(f, ours);
        TABLES.add(ours);
        Some(ours)
    }
}

/// Sets our functions in OpenSSL's own table, for all keys that have no other table.
///
/// # Safety
/// `f` are libcrypto's functions.
pub unsafe fn install(f: &'static Functions) -> bool {
    // SAFETY: `f` are by the caller's word libcrypto's functions, and the default table is made writable while it is changed; the setters
    // store a word each.
    unsafe {
        lay_over(f);
        let table = (f.ec_default)();
        TABLES.add(table);
        tables::writing(table, || fill(f, table))
    }
}

/// The curve of a key; `None` for one the core does not have, and for a key with another's table.
///
/// # Safety
/// `key` is a live EC_KEY of the libcrypto whose functions are known here.
unsafe fn curve(key: Opaque) -> Option<Curve> {
    // Where the provider has registered the engine, perhaps nothing of the core was asked for yet.
    adjunct::init();
    let f = functions();
    // SAFETY: a live key.
    let name = unsafe {
        if !TABLES.has((f.ec_table)(key)) {
            return None;
        }
        let group = (f.ec_group)(key);
        if group.is_null() { 0 } else { (f.group_name)(group) }
    };
    CURVES.iter().find(|(nid, _)| *nid == name).map(|&(_, curve)| curve)
}

/// Whether a key has no curve, which OpenSSL's own functions do not look for; raises the error that they have for a key without
/// a public point.
///
/// # Safety
/// `key` is a live EC_KEY of the libcrypto whose functions are known here.
unsafe fn lacks_curve(key: Opaque) -> bool {
    let f = functions();
    // SAFETY: a live key.
    let lacks = unsafe { (f.ec_group)(key).is_null() };
    if lacks {
        f.errors.raise(reason::MISSING_PARAMETERS);
    }
    lacks
}

/// Encodes a point, uncompressed, into `out`; `None` where that fails.
///
/// # Safety
/// `key` and `point` are live objects of the libcrypto whose functions are known here, and the point is on the key's curve.
unsafe fn encode(key: Opaque, point: Opaque, out: &mut [u8; MAX_POINT]) -> Option<&[u8]> {
    let f = functions();
    if point.is_null() {
        return None;
    }
    // SAFETY: live objects; pointer and length describe the buffer.
    let length =
        unsafe { (f.point_to_bytes)((f.ec_group)(key), point, UNCOMPRESSED, out.as_mut_ptr(), out.len(), null_mut()) };
    (length > 0).then(|| &out[..length])
}

/// Makes the core's key with the halves that `key` has: the private one, the public one, or both.
///
/// # Errors
/// Why the core does not take it, where that is known.
///
/// # Safety
/// `key` is a live EC_KEY of the libcrypto whose functions are known here.
unsafe fn convert(key: Opaque, private: bool) -> Result<EcKey, Option<Error>> {
    let f = functions();
    // SAFETY: a live key, and what it holds.
    unsafe {
        let curve = curve(key).ok_or(None)?;
        let mut point = [0; MAX_POINT];
        if !private {
            let public = encode(key, (f.ec_public)(key), &mut point);
            return Ok(EcKey::new(curve, Some(public.ok_or(None)?), None)?);
        }
        let scalar = (f.ec_private)(key);
        if scalar.is_null() {
            return Err(None);
        }
        if (f.bn_bits)(scalar) as usize > curve.field_len() * 8 {
            // It may be no scalar, which the core knows.
            let number = theirs::bytes(f, scalar)?;
            return Ok(EcKey::new(curve, encode(key, (f.ec_public)(key), &mut point), Some(&number))?);
        }
        let mut bytes = Zeroizing::new([0; MAX_FIELD]);
        let bytes = &mut bytes[..curve.field_len()];
        if (f.bn_to_bytes)(scalar, bytes.as_mut_ptr(), bytes.len() as c_int) < 0 {
            return Err(None);
        }
        Ok(EcKey::new(curve, None, Some(bytes))?)
    }
}

/// Whether OpenSSL's own function may do a private operation that the core has not done.
///
/// # Safety
/// `key` is a live EC_KEY of the libcrypto whose functions are known here.
unsafe fn may_leave(key: Opaque, why: &Option<Error>) -> bool {
    let f = functions();
    // SAFETY: a live key, and the number that it holds.
    unsafe { theirs::may(f, &theirs::EC, (f.ec_private)(key), why.as_ref()) }
}

unsafe fn slice<'a>(data: *const u8, length: c_int) -> Option<&'a [u8]> {
    let length = usize::try_from(length).ok()?;
    // SAFETY: the caller's buffer.
    Some(if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, length) } })
}

/// The key to sign with and the digest.
///
/// # Errors
/// Where OpenSSL should sign; with the core's error, where that is why.
///
/// # Safety
/// `digest` has `length` readable bytes while the result is used, if `length` is above 0; `given` are null or OpenSSL's numbers; `key` is a live EC_KEY.
unsafe fn to_sign<'a>(
    digest: *const u8,
    length: c_int,
    given: [Opaque; 2],
    key: Opaque,
) -> Result<(EcKey, &'a [u8]), Option<Error>> {
    if given.iter().any(|number| !number.is_null()) {
        return Err(None);
    }
    // SAFETY: OpenSSL's arguments.
    let both = unsafe { (convert(key, true)?, slice(digest, length).ok_or(None)?) };
    ops::attribute_now();
    Ok(both)
}

unsafe extern "C" fn sign(
    kind: c_int,
    digest: *const u8,
    length: c_int,
    signature: *mut u8,
    signature_length: *mut c_uint,
    kinv: Opaque,
    r: Opaque,
    key: Opaque,
) -> c_int {
    // SAFETY: OpenSSL's key.
    if unsafe { lacks_curve(key) } {
        return 0;
    }
    let done = guard(Err(None), || {
        // Who asks for the length alone gives no place.
        if signature.is_null() {
            return Err(None);
        }
        let mut out = [0; MAX_SIGNATURE];
        // SAFETY: OpenSSL's arguments; the caller's buffer has room for ECDSA_size.
        unsafe {
            let (key, digest) = to_sign(digest, length, [kinv, r], key)?;
            let made = key.sign(digest, &mut out)?;
            std::ptr::copy_nonoverlapping(made.as_ptr(), signature, made.len());
            *signature_length = made.len() as c_uint;
        }
        Ok(())
    });
    match (done, original().sign) {
        (Ok(()), _) => 1,
        // SAFETY: the caller's own arguments.
        (Err(why), Some(theirs)) if signature.is_null() || unsafe { may_leave(key, &why) } => unsafe {
            theirs(kind, digest, length, signature, signature_length, kinv, r, key)
        },
        (Err(_), _) => 0,
    }
}

unsafe extern "C" fn sign_sig(digest: *const u8, length: c_int, kinv: Opaque, r: Opaque, key: Opaque) -> Opaque {
    // SAFETY: OpenSSL's key.
    if unsafe { lacks_curve(key) } {
        return null_mut();
    }
    let f = functions();
    let made = guard(Err(None), || {
        let mut out = [0; 2 * MAX_FIELD];
        // SAFETY: OpenSSL's arguments; its objects are made and given away by its own functions.
        unsafe {
            let (key, digest) = to_sign(digest, length, [kinv, r], key)?;
            let pair = &mut out[..2 * key.group().field_len()];
            key.sign_pair(digest, pair)?;
            let (r, s) = pair.split_at(key.group().field_len());
            let [r, s] = [r, s].map(|n| (f.bn_from_bytes)(n.as_ptr(), n.len() as c_int, null_mut()));
            let made = (f.signature_new)();
            if !made.is_null() && !r.is_null() && !s.is_null() && (f.signature_set)(made, r, s) == 1 {
                return Ok(made);
            }
            (f.signature_free)(made);
            (f.bn_clear_free)(r);
            (f.bn_clear_free)(s);
            Err(None)
        }
    });
    match (made, original().sign_sig) {
        (Ok(made), _) => made,
        // SAFETY: the caller's own arguments.
        (Err(why), Some(theirs)) if unsafe { may_leave(key, &why) } => unsafe { theirs(digest, length, kinv, r, key) },
        (Err(_), _) => null_mut(),
    }
}

/// The key to verify with and the digest; `None` where OpenSSL should verify.
///
/// # Safety
/// `digest` has `length` readable bytes while the result is used, if `length` is above 0; `key` is a live EC_KEY.
unsafe fn to_verify<'a>(digest: *const u8, length: c_int, key: Opaque) -> Option<(EcKey, &'a [u8])> {
    // SAFETY: OpenSSL's arguments.
    let both = unsafe { (convert(key, false).ok()?, slice(digest, length)?) };
    ops::attribute_now();
    Some(both)
}

unsafe extern "C" fn verify(
    kind: c_int,
    digest: *const u8,
    length: c_int,
    signature: *const u8,
    signature_length: c_int,
    key: Opaque,
) -> c_int {
    // SAFETY: OpenSSL's key.
    if unsafe { lacks_curve(key) } {
        return -1;
    }
    let done = guard(None, || {
        // SAFETY: OpenSSL's arguments.
        let ((key, digest), signature) =
            unsafe { (to_verify(digest, length, key)?, slice(signature, signature_length)?) };
        // What is malformed is OpenSSL's: it knows the error.
        key.verify(digest, signature).ok().map(c_int::from)
    });
    match (done, original().verify) {
        (Some(result), _) => result,
        // SAFETY: the caller's own arguments.
        (None, Some(theirs)) => unsafe { theirs(kind, digest, length, signature, signature_length, key) },
        (None, None) => -1,
    }
}

unsafe extern "C" fn verify_sig(digest: *const u8, length: c_int, signature: Opaque, key: Opaque) -> c_int {
    // SAFETY: OpenSSL's key.
    if unsafe { lacks_curve(key) } {
        return -1;
    }
    let f = functions();
    let done = guard(None, || {
        if signature.is_null() {
            return None;
        }
        let mut numbers = [null_mut(); 2];
        let mut pair = [0; 2 * MAX_FIELD];
        // SAFETY: OpenSSL's arguments, and places for what a signature holds.
        unsafe {
            let [r, s] = &mut numbers;
            (f.signature_get)(signature, r, s);
            let field = curve(key)?.field_len();
            for (number, half) in numbers.into_iter().zip(pair.chunks_mut(field)) {
                // A number too long for the field, or null, is OpenSSL's to refuse.
                if number.is_null() || (f.bn_to_bytes)(number, half.as_mut_ptr(), field as c_int) < 0 {
                    return None;
                }
            }
            let (key, digest) = to_verify(digest, length, key)?;
            key.verify_pair(digest, &pair[..2 * field]).ok().map(c_int::from)
        }
    });
    match (done, original().verify_sig) {
        (Some(result), _) => result,
        // SAFETY: the caller's own arguments.
        (None, Some(theirs)) => unsafe { theirs(digest, length, signature, key) },
        (None, None) => -1,
    }
}

unsafe extern "C" fn generate(key: Opaque) -> c_int {
    // SAFETY: OpenSSL's key.
    if unsafe { lacks_curve(key) } {
        return 0;
    }
    let f = functions();
    let done = guard(false, || {
        // SAFETY: OpenSSL's key; its objects are made, copied from and freed by its own functions.
        unsafe {
            let Some(curve) = curve(key) else { return false };
            ops::attribute_now();
            let Ok(fresh) = EcKey::generate(curve) else { return false };
            let mut point = [0; MAX_POINT];
            let (Some(private), Some(public)) = (fresh.private(), fresh.public(Form::Uncompressed, &mut point)) else {
                return false;
            };
            let scalar = (f.bn_from_bytes)(private.as_ptr(), private.len() as c_int, null_mut());
            let place = (f.point_new)((f.ec_group)(key));
            let set = !scalar.is_null()
                && !place.is_null()
                && (f.point_from_bytes)((f.ec_group)(key), place, public.as_ptr(), public.len(), null_mut()) == 1
                && (f.ec_set_private)(key, scalar) == 1
                && (f.ec_set_public)(key, place) == 1;
            (f.bn_clear_free)(scalar);
            (f.point_free)(place);
            set
        }
    });
    match (done, original().generate) {
        (true, _) => 1,
        // SAFETY: the caller's own argument.
        (false, Some(theirs)) => unsafe { theirs(key) },
        (false, None) => 0,
    }
}

unsafe extern "C" fn compute_key(secret: *mut *mut u8, length: *mut usize, peer: Opaque, key: Opaque) -> c_int {
    // SAFETY: OpenSSL's key.
    if unsafe { lacks_curve(key) } {
        return 0;
    }
    let f = functions();
    let done = guard(Err(None), || {
        let mut out = Zeroizing::new([0; MAX_FIELD]);
        let mut point = [0; MAX_POINT];
        // SAFETY: OpenSSL's arguments; the secret is given to the caller in OpenSSL's own memory.
        unsafe {
            let ours = convert(key, true)?;
            let theirs = EcKey::new(ours.group(), Some(encode(key, peer, &mut point).ok_or(None)?), None)?;
            ops::attribute_now();
            let made = ours.shared_secret(&theirs, &mut out)?;
            let place = (f.malloc)(made.len(), c"adjunct".as_ptr(), 0).cast::<u8>();
            if place.is_null() {
                return Err(None);
            }
            std::ptr::copy_nonoverlapping(made.as_ptr(), place, made.len());
            (*secret, *length) = (place, made.len());
        }
        Ok(())
    });
    match (done, original().compute_key) {
        (Ok(()), _) => 1,
        // SAFETY: the caller's own arguments.
        (Err(why), Some(theirs)) if unsafe { may_leave(key, &why) } => unsafe { theirs(secret, length, peer, key) },
        (Err(_), _) => 0,
    }
}
