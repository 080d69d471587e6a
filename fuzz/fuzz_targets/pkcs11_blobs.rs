//! What the PKCS #11 module reads of others' bytes: wrapped private keys, saved states of operations, keys of attributes, files of
//! tokens. The first byte says as what the rest is read.
#![no_main]

mod p11;

use cryptoki_sys::*;
use libfuzzer_sys::fuzz_target;
use p11::{ACCELERATOR, FILE, Memory, attribute, functions as p11_functions, number};
use std::ptr::null_mut;

macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = p11_functions().$name.expect(stringify!($name));
        // SAFETY: what is pointed to lives in the target's memory, and is as long as the call says.
        unsafe { function($($argument),*) }
    }};
}

fn create(session: CK_SESSION_HANDLE, template: &mut [CK_ATTRIBUTE]) -> Option<CK_OBJECT_HANDLE> {
    let mut handle = 0;
    let rv = call!(C_CreateObject(session, template.as_mut_ptr(), template.len() as CK_ULONG, &raw mut handle));
    (rv == CKR_OK).then_some(handle)
}

/// A key that came of bytes is used once each way, and read back whole.
fn use_key(memory: &mut Memory, session: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) {
    for mechanism in [CKM_RSA_PKCS, CKM_ECDSA, CKM_EDDSA, CKM_ML_DSA] {
        let mechanism = memory.value(CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 });
        let mut data = [7u8; 32];
        if call!(C_SignInit(session, mechanism, key)) == CKR_OK {
            let (mut out, mut length) = (vec![0u8; 8192], 8192);
            call!(C_Sign(session, data.as_mut_ptr(), 32, out.as_mut_ptr(), &raw mut length));
        }
        if call!(C_VerifyInit(session, mechanism, key)) == CKR_OK {
            let mut signature = [1u8; 64];
            call!(C_Verify(session, data.as_mut_ptr(), 32, signature.as_mut_ptr(), 64));
        }
    }
    let kinds = [CKA_VALUE, CKA_MODULUS, CKA_EC_POINT, CKA_PUBLIC_KEY_INFO, CKA_PRIME_1, CKA_SEED, CKA_CHECK_VALUE];
    for kind in kinds {
        let mut asked = CK_ATTRIBUTE { type_: kind, pValue: null_mut(), ulValueLen: 0 };
        if call!(C_GetAttributeValue(session, key, &raw mut asked, 1)) == CKR_OK {
            asked.pValue = memory.bytes(vec![0; asked.ulValueLen as usize]).cast();
            assert_eq!(call!(C_GetAttributeValue(session, key, &raw mut asked, 1)), CKR_OK, "{kind:#x}");
        }
    }
}

/// The bytes as what was under a key: they are made a secret key, wrapped, and unwrapped as a private one.
fn unwrap(memory: &mut Memory, session: CK_SESSION_HANDLE, data: &[u8], key_type: CK_KEY_TYPE) {
    let yes = [CK_TRUE];
    let mut own = vec![
        number(memory, CKA_CLASS, CKO_SECRET_KEY),
        number(memory, CKA_KEY_TYPE, CKK_AES),
        attribute(memory, CKA_VALUE, &[3; 16]),
        attribute(memory, CKA_WRAP, &yes),
        attribute(memory, CKA_UNWRAP, &yes),
    ];
    let mut hidden = vec![
        number(memory, CKA_CLASS, CKO_SECRET_KEY),
        number(memory, CKA_KEY_TYPE, CKK_GENERIC_SECRET),
        attribute(memory, CKA_VALUE, data),
        attribute(memory, CKA_EXTRACTABLE, &yes),
    ];
    let (Some(own), Some(hidden)) = (create(session, &mut own), create(session, &mut hidden)) else { return };
    let iv = memory.bytes(vec![9; 16]);
    let with = memory.value(CK_MECHANISM { mechanism: CKM_AES_CBC_PAD, pParameter: iv.cast(), ulParameterLen: 16 });
    let (mut wrapped, mut length) = (vec![0u8; data.len() + 32], data.len() as CK_ULONG + 32);
    assert_eq!(call!(C_WrapKey(session, with, own, hidden, wrapped.as_mut_ptr(), &raw mut length)), CKR_OK);
    let mut template = vec![
        number(memory, CKA_CLASS, CKO_PRIVATE_KEY),
        number(memory, CKA_KEY_TYPE, key_type),
        attribute(memory, CKA_EXTRACTABLE, &yes),
        attribute(memory, CKA_SENSITIVE, &[CK_FALSE]),
    ];
    let (count, mut key) = (template.len() as CK_ULONG, 0);
    let (pointer, place) = (wrapped.as_mut_ptr(), template.as_mut_ptr());
    if call!(C_UnwrapKey(session, with, own, pointer, length, place, count, &raw mut key)) == CKR_OK {
        use_key(memory, session, key);
        // What was read can be written.
        let (mut again, mut length) = (vec![0u8; 16384], 16384);
        assert_eq!(call!(C_WrapKey(session, with, own, key, again.as_mut_ptr(), &raw mut length)), CKR_OK);
    }
}

/// The bytes as attributes, each with its kind before it and its length.
fn public(memory: &mut Memory, session: CK_SESSION_HANDLE, mut data: &[u8], key_type: CK_KEY_TYPE, class: u64) {
    let mut template = vec![number(memory, CKA_CLASS, class as CK_ULONG), number(memory, CKA_KEY_TYPE, key_type)];
    let kinds = [
        CKA_EC_PARAMS,
        CKA_EC_POINT,
        CKA_VALUE,
        CKA_MODULUS,
        CKA_PUBLIC_EXPONENT,
        CKA_PRIVATE_EXPONENT,
        CKA_PRIME_1,
        CKA_PRIME_2,
        CKA_EXPONENT_1,
        CKA_EXPONENT_2,
        CKA_COEFFICIENT,
        CKA_PUBLIC_KEY_INFO,
        CKA_PARAMETER_SET,
        CKA_SEED,
        CKA_ALLOWED_MECHANISMS,
        CKA_START_DATE,
    ];
    while let [kind, high, low, rest @ ..] = data {
        let length = (usize::from(*high) << 8 | usize::from(*low)).min(rest.len());
        template.push(attribute(memory, kinds[usize::from(*kind) % kinds.len()], &rest[..length]));
        data = &rest[length..];
    }
    if let Some(key) = create(session, &mut template) {
        use_key(memory, session, key);
    }
}

fn state(session: CK_SESSION_HANDLE, data: &[u8]) {
    let mut data = data.to_vec();
    if call!(C_SetOperationState(session, data.as_mut_ptr(), data.len() as CK_ULONG, 0, 0)) == CKR_OK {
        let (mut out, mut length) = ([0u8; 64], 64);
        call!(C_DigestFinal(session, out.as_mut_ptr(), &raw mut length));
    }
}

/// The bytes as the file of a token.
fn token(data: &[u8]) {
    std::fs::write(p11::folder().join("fuzzed.token"), data).expect("a file");
    let mut info = CK_TOKEN_INFO::default();
    call!(C_GetTokenInfo(FILE, &raw mut info));
    let mut session = 0;
    if call!(C_OpenSession(FILE, CKF_SERIAL_SESSION | CKF_RW_SESSION, null_mut(), None, &raw mut session)) != CKR_OK {
        return;
    }
    if call!(C_FindObjectsInit(session, null_mut(), 0)) == CKR_OK {
        let (mut found, mut count) = ([0; 16], 0);
        call!(C_FindObjects(session, found.as_mut_ptr(), 16, &raw mut count));
    }
    call!(C_CloseSession(session));
}

fuzz_target!(|data: &[u8]| {
    let [how, kind, rest @ ..] = data else { return };
    p11_functions();
    let types = [CKK_RSA, CKK_EC, CKK_EC_EDWARDS, CKK_EC_MONTGOMERY, CKK_ML_DSA, CKK_ML_KEM, CKK_AES];
    let key_type = types[usize::from(*kind) % types.len()];
    let mut session = 0;
    let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
    assert_eq!(call!(C_OpenSession(ACCELERATOR, flags, null_mut(), None, &raw mut session)), CKR_OK);
    let mut memory = Memory::default();
    match how % 5 {
        0 => unwrap(&mut memory, session, rest, key_type),
        1 => public(&mut memory, session, rest, key_type, CKO_PUBLIC_KEY),
        2 => public(&mut memory, session, rest, key_type, CKO_PRIVATE_KEY),
        3 => state(session, rest),
        _ => token(rest),
    }
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
});
