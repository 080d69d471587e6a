//! The PKCS #11 module's interface: calls in any order, of any mechanisms with any parameters, with handles of other calls or none,
//! templates of any attributes, buffers of any length.
#![no_main]

mod p11;

use cryptoki_sys::*;
use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use p11::mechanism::{self, byte, data, one, size};
use p11::{ACCELERATOR, Memory, attribute, functions, number};
use std::ptr::null_mut;
use std::sync::OnceLock;

macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = functions().$name.expect(stringify!($name));
        // SAFETY: what is pointed to lives in the target's memory, and is as long as the call says.
        unsafe { function($($argument),*) }
    }};
}

/// All mechanisms there are.
fn mechanisms() -> &'static [CK_MECHANISM_TYPE] {
    static ALL: OnceLock<Vec<CK_MECHANISM_TYPE>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut count = 0;
        assert_eq!(call!(C_GetMechanismList(ACCELERATOR, null_mut(), &raw mut count)), CKR_OK);
        let mut list = vec![0; count as usize];
        assert_eq!(call!(C_GetMechanismList(ACCELERATOR, list.as_mut_ptr(), &raw mut count)), CKR_OK);
        list
    })
}

const FLAGS: [CK_ATTRIBUTE_TYPE; 16] = [
    CKA_TOKEN,
    CKA_PRIVATE,
    CKA_SENSITIVE,
    CKA_EXTRACTABLE,
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_VERIFY,
    CKA_WRAP,
    CKA_UNWRAP,
    CKA_DERIVE,
    CKA_MODIFIABLE,
    CKA_COPYABLE,
    CKA_DESTROYABLE,
    CKA_WRAP_WITH_TRUSTED,
    CKA_ALWAYS_AUTHENTICATE,
];
const CLASSES: [CK_OBJECT_CLASS; 6] =
    [CKO_SECRET_KEY, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_DATA, CKO_CERTIFICATE, CKO_PROFILE];
const KEY_TYPES: [CK_KEY_TYPE; 12] = [
    CKK_AES,
    CKK_GENERIC_SECRET,
    CKK_RSA,
    CKK_EC,
    CKK_DES3,
    CKK_EC_EDWARDS,
    CKK_EC_MONTGOMERY,
    CKK_ML_DSA,
    CKK_ML_KEM,
    CKK_CHACHA20,
    CKK_AES_XTS,
    CKK_SHA256_HMAC,
];
const TEXTS: [CK_ATTRIBUTE_TYPE; 12] = [
    CKA_LABEL,
    CKA_ID,
    CKA_VALUE,
    CKA_EC_PARAMS,
    CKA_EC_POINT,
    CKA_MODULUS,
    CKA_PUBLIC_EXPONENT,
    CKA_APPLICATION,
    CKA_SUBJECT,
    CKA_START_DATE,
    CKA_PUBLIC_KEY_INFO,
    CKA_UNIQUE_ID,
];
const ARRAYS: [CK_ATTRIBUTE_TYPE; 3] = [CKA_WRAP_TEMPLATE, CKA_UNWRAP_TEMPLATE, CKA_DERIVE_TEMPLATE];
const P256: [u8; 10] = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const ED25519: [u8; 5] = [6, 3, 0x2b, 0x65, 0x70];
const ED448: [u8; 5] = [6, 3, 0x2b, 0x65, 0x71];

/// Bits of an RSA key that is made quickly, or that cannot be made at all.
const BITS: [CK_ULONG; 5] = [512, 512, 600, 0, CK_ULONG::MAX];

fn template(memory: &mut Memory, u: &mut Unstructured<'_>, depth: u32) -> Vec<CK_ATTRIBUTE> {
    let mut list = Vec::new();
    for _ in 0..byte(u) % 8 {
        let next = match byte(u) % 9 {
            0 => {
                let class = one(u, &CLASSES);
                number(memory, CKA_CLASS, class)
            }
            1 => {
                let kind = one(u, &KEY_TYPES);
                number(memory, CKA_KEY_TYPE, kind)
            }
            2 | 3 => {
                let (kind, value) = (one(u, &FLAGS), byte(u) % 5);
                // Mostly true.
                attribute(memory, kind, &[if value > 1 { 1 } else { value }])
            }
            4 => {
                let (kind, bytes) = (one(u, &TEXTS), data(u, 16));
                attribute(memory, kind, &bytes)
            }
            5 => {
                let length = one(u, &[16, 32, 24, 1, 64]);
                number(memory, CKA_VALUE_LEN, length)
            }
            6 => {
                let curve: &[u8] = match byte(u) % 4 {
                    0 | 2 => &P256,
                    1 => &ED25519,
                    _ => &ED448,
                };
                attribute(memory, CKA_EC_PARAMS, curve)
            }
            7 if depth < 3 => {
                let inner = template(memory, u, depth + 1);
                let (kind, length) = (one(u, &ARRAYS), size_of_val(inner.as_slice()) as CK_ULONG);
                CK_ATTRIBUTE { type_: kind, pValue: memory.list(inner).cast(), ulValueLen: length }
            }
            _ => {
                let (kind, value) = (one(u, &[CKA_PARAMETER_SET, CKA_MODULUS_BITS, CKA_HW_FEATURE_TYPE]), byte(u) % 4);
                let value = if kind == CKA_MODULUS_BITS { one(u, &BITS) } else { value.into() };
                number(memory, kind, value)
            }
        };
        list.push(next);
    }
    list
}

/// What one input has open, and has made.
struct World {
    memory: Memory,
    sessions: Vec<CK_SESSION_HANDLE>,
    objects: Vec<CK_OBJECT_HANDLE>,
    state: Vec<u8>,
}

/// Where a result goes: memory of exactly the length that is told, nothing, or too little.
struct Room {
    pointer: *mut u8,
    length: *mut CK_ULONG,
    told: CK_ULONG,
}

impl Room {
    /// What came of it fits.
    fn check(&self, rv: CK_RV) {
        // SAFETY: the number was made in the target's memory, which outlives every call of the input.
        let length = unsafe { *self.length };
        if rv == CKR_OK && !self.pointer.is_null() {
            assert!(length <= self.told, "{length} bytes into {}", self.told);
        }
    }

    fn get(&self) -> Vec<u8> {
        // SAFETY: the caller has seen that the pointer is not null, and `check` that no more than its `told` bytes were written; both the
        // number and the bytes are in the target's memory.
        unsafe { std::slice::from_raw_parts(self.pointer, *self.length as usize).to_vec() }
    }
}

impl World {
    fn session(&self, u: &mut Unstructured<'_>) -> CK_SESSION_HANDLE {
        if byte(u) % 32 == 31 { size(u) } else { one(u, &self.sessions) }
    }

    fn object(&self, u: &mut Unstructured<'_>) -> CK_OBJECT_HANDLE {
        if self.objects.is_empty() || byte(u) % 32 == 31 { size(u) } else { one(u, &self.objects) }
    }

    fn mechanism(&mut self, u: &mut Unstructured<'_>) -> *mut CK_MECHANISM {
        let all = mechanisms();
        let kind = match byte(u) {
            255 => return null_mut(),
            254 => size(u),
            _ => all[usize::from(u.arbitrary::<u16>().unwrap_or(0)) % all.len()],
        };
        let made = mechanism::of(&mut self.memory, u, kind, &self.objects);
        self.memory.value(made)
    }

    fn template(&mut self, u: &mut Unstructured<'_>) -> (*mut CK_ATTRIBUTE, CK_ULONG) {
        let list = template(&mut self.memory, u, 0);
        let count = list.len() as CK_ULONG;
        (self.memory.list(list), count)
    }

    fn data(&mut self, u: &mut Unstructured<'_>) -> (*mut u8, CK_ULONG) {
        let bytes = data(u, 64);
        let length = bytes.len() as CK_ULONG;
        (self.memory.bytes(bytes), length)
    }

    fn room(&mut self, u: &mut Unstructured<'_>) -> Room {
        let told = match byte(u) % 4 {
            0 => CK_ULONG::from(byte(u)),
            _ => 8192,
        };
        let pointer = if byte(u).is_multiple_of(8) { null_mut() } else { self.memory.bytes(vec![0; told as usize]) };
        Room { pointer, length: self.memory.value(told), told }
    }

    fn keep(&mut self, rv: CK_RV, place: *mut CK_OBJECT_HANDLE) {
        if rv == CKR_OK && !place.is_null() {
            // SAFETY: not null; the handle was made in the target's memory, which outlives every call of the input.
            self.objects.push(unsafe { *place });
        }
    }

    fn objects(&mut self, u: &mut Unstructured<'_>) {
        let (session, object) = (self.session(u), self.object(u));
        let place: *mut CK_OBJECT_HANDLE = self.memory.value(0);
        match byte(u) % 8 {
            0 => {
                let (list, count) = self.template(u);
                let rv = call!(C_CreateObject(session, list, count, place));
                self.keep(rv, place);
            }
            1 => {
                let (list, count) = self.template(u);
                let rv = call!(C_CopyObject(session, object, list, count, place));
                self.keep(rv, place);
            }
            2 => _ = call!(C_DestroyObject(session, object)),
            3 => _ = call!(C_GetObjectSize(session, object, self.memory.value(0))),
            4 => {
                // Arrays are asked for without room for their entries: what is given here has no pointers to follow.
                let mut list = Vec::new();
                for _ in 0..byte(u) % 8 {
                    let kind = if byte(u).is_multiple_of(2) { one(u, &TEXTS) } else { one(u, &FLAGS) };
                    let room = usize::from(byte(u));
                    let pointer = if byte(u).is_multiple_of(2) { null_mut() } else { self.memory.bytes(vec![0; room]) };
                    list.push(CK_ATTRIBUTE { type_: kind, pValue: pointer.cast(), ulValueLen: room as CK_ULONG });
                }
                list.push(CK_ATTRIBUTE { type_: one(u, &ARRAYS), pValue: null_mut(), ulValueLen: 0 });
                let count = list.len() as CK_ULONG;
                call!(C_GetAttributeValue(session, object, self.memory.list(list), count));
            }
            5 => {
                let (list, count) = self.template(u);
                call!(C_SetAttributeValue(session, object, list, count));
            }
            6 => {
                let (list, count) = self.template(u);
                call!(C_FindObjectsInit(session, list, count));
            }
            _ => {
                let (found, count) = (self.memory.list(vec![0; 4]), self.memory.value(0));
                call!(C_FindObjects(session, found, 4, count));
                if byte(u).is_multiple_of(2) {
                    call!(C_FindObjectsFinal(session));
                }
            }
        }
    }

    fn keys(&mut self, u: &mut Unstructured<'_>) {
        let (session, object, other) = (self.session(u), self.object(u), self.object(u));
        let mechanism = self.mechanism(u);
        let (list, count) = self.template(u);
        let place: *mut CK_OBJECT_HANDLE = self.memory.value(0);
        let rv = match byte(u) % 9 {
            0 => call!(C_GenerateKey(session, mechanism, list, count, place)),
            1 => {
                let (private, privates) = self.template(u);
                let second: *mut CK_OBJECT_HANDLE = self.memory.value(0);
                let rv = call!(C_GenerateKeyPair(session, mechanism, list, count, private, privates, place, second));
                self.keep(rv, second);
                rv
            }
            2 => call!(C_DeriveKey(session, mechanism, object, list, count, place)),
            3 => {
                let room = self.room(u);
                let rv = call!(C_WrapKey(session, mechanism, object, other, room.pointer, room.length));
                self.result(rv, &room);
                return;
            }
            4 => {
                let (wrapped, length) = self.input(u);
                call!(C_UnwrapKey(session, mechanism, object, wrapped, length, list, count, place))
            }
            5 => {
                let ((aad, aads), room) = (self.data(u), self.room(u));
                let (pointer, length) = (room.pointer, room.length);
                let rv = call!(C_WrapKeyAuthenticated(session, mechanism, object, other, aad, aads, pointer, length));
                self.result(rv, &room);
                return;
            }
            6 => {
                let ((aad, aads), (wrapped, length)) = (self.data(u), self.input(u));
                let data = (wrapped, length, list, count, aad, aads);
                call!(C_UnwrapKeyAuthenticated(
                    session, mechanism, object, data.0, data.1, data.2, data.3, data.4, data.5, place
                ))
            }
            7 => {
                let room = self.room(u);
                let (pointer, length) = (room.pointer, room.length);
                let rv = call!(C_EncapsulateKey(session, mechanism, object, list, count, pointer, length, place));
                self.result(rv, &room);
                rv
            }
            _ => {
                let (cipher, length) = self.input(u);
                call!(C_DecapsulateKey(session, mechanism, object, list, count, cipher, length, place))
            }
        };
        self.keep(rv, place);
    }

    /// Makes a key that operations can use.
    fn prepare(&mut self, u: &mut Unstructured<'_>) {
        let session = one(u, &self.sessions);
        let place: *mut CK_OBJECT_HANDLE = self.memory.value(0);
        let second: *mut CK_OBJECT_HANDLE = self.memory.value(0);
        let plain = |kind| CK_MECHANISM { mechanism: kind, pParameter: null_mut(), ulParameterLen: 0 };
        let (curve, kind) = match byte(u) % 4 {
            0 => (&P256[..], CKM_EC_KEY_PAIR_GEN),
            1 => (&ED25519[..], CKM_EC_EDWARDS_KEY_PAIR_GEN),
            2 => {
                let kind = one(u, &[CKK_AES, CKK_GENERIC_SECRET, CKK_DES3, CKK_CHACHA20, CKK_AES_XTS]);
                let length = match kind {
                    CKK_DES3 => 24,
                    CKK_AES_XTS => 64,
                    _ => 32,
                };
                let bytes: Vec<u8> = (0..length).collect();
                let list = vec![
                    number(&mut self.memory, CKA_CLASS, CKO_SECRET_KEY),
                    number(&mut self.memory, CKA_KEY_TYPE, kind),
                    attribute(&mut self.memory, CKA_VALUE, &bytes),
                ];
                let (count, list) = (list.len() as CK_ULONG, self.memory.list(list));
                let rv = call!(C_CreateObject(session, list, count, place));
                return self.keep(rv, place);
            }
            _ => {
                let set = number(&mut self.memory, CKA_PARAMETER_SET, CKP_ML_KEM_512);
                let (list, mechanism) =
                    (self.memory.list(vec![set]), self.memory.value(plain(CKM_ML_KEM_KEY_PAIR_GEN)));
                let rv = call!(C_GenerateKeyPair(session, mechanism, list, 1, null_mut(), 0, place, second));
                self.keep(rv, place);
                return self.keep(rv, second);
            }
        };
        let params = attribute(&mut self.memory, CKA_EC_PARAMS, curve);
        let (list, mechanism) = (self.memory.list(vec![params]), self.memory.value(plain(kind)));
        let rv = call!(C_GenerateKeyPair(session, mechanism, list, 1, null_mut(), 0, place, second));
        self.keep(rv, place);
        self.keep(rv, second);
    }

    /// What a call has given before, or anything.
    fn input(&mut self, u: &mut Unstructured<'_>) -> (*mut u8, CK_ULONG) {
        if self.state.is_empty() || byte(u).is_multiple_of(3) {
            return self.data(u);
        }
        let mut bytes = self.state.clone();
        if byte(u).is_multiple_of(2) {
            let at = usize::from(byte(u)) % bytes.len();
            bytes[at] ^= byte(u);
        }
        let length = bytes.len() as CK_ULONG;
        (self.memory.bytes(bytes), length)
    }

    /// Checks a result, and keeps it for [`World::input`].
    fn result(&mut self, rv: CK_RV, room: &Room) {
        room.check(rv);
        if rv == CKR_OK && !room.pointer.is_null() {
            self.state = room.get();
        }
    }

    fn begin(&mut self, u: &mut Unstructured<'_>) {
        let (session, key, mechanism) = (self.session(u), self.object(u), self.mechanism(u));
        let (signature, length) = self.input(u);
        _ = match byte(u) % 12 {
            0 => call!(C_EncryptInit(session, mechanism, key)),
            1 => call!(C_DecryptInit(session, mechanism, key)),
            2 => call!(C_DigestInit(session, mechanism)),
            3 => call!(C_SignInit(session, mechanism, key)),
            4 => call!(C_VerifyInit(session, mechanism, key)),
            5 => call!(C_SignRecoverInit(session, mechanism, key)),
            6 => call!(C_VerifyRecoverInit(session, mechanism, key)),
            7 => call!(C_MessageEncryptInit(session, mechanism, key)),
            8 => call!(C_MessageDecryptInit(session, mechanism, key)),
            9 => call!(C_MessageSignInit(session, mechanism, key)),
            10 => call!(C_MessageVerifyInit(session, mechanism, key)),
            _ => call!(C_VerifySignatureInit(session, mechanism, key, signature, length)),
        };
    }

    fn go_on(&mut self, u: &mut Unstructured<'_>) {
        let session = self.session(u);
        let (((data, size), (other, others)), room) = ((self.input(u), self.input(u)), self.room(u));
        let (out, length) = (room.pointer, room.length);
        let rv = match byte(u) % 26 {
            0 => call!(C_Encrypt(session, data, size, out, length)),
            1 => call!(C_EncryptUpdate(session, data, size, out, length)),
            2 => call!(C_EncryptFinal(session, out, length)),
            3 => call!(C_Decrypt(session, data, size, out, length)),
            4 => call!(C_DecryptUpdate(session, data, size, out, length)),
            5 => call!(C_DecryptFinal(session, out, length)),
            6 => call!(C_Digest(session, data, size, out, length)),
            7 => call!(C_DigestFinal(session, out, length)),
            8 => call!(C_Sign(session, data, size, out, length)),
            9 => call!(C_SignFinal(session, out, length)),
            10 => call!(C_SignRecover(session, data, size, out, length)),
            11 => call!(C_VerifyRecover(session, data, size, out, length)),
            12 => call!(C_DigestEncryptUpdate(session, data, size, out, length)),
            13 => call!(C_DecryptDigestUpdate(session, data, size, out, length)),
            14 => call!(C_SignEncryptUpdate(session, data, size, out, length)),
            15 => call!(C_DecryptVerifyUpdate(session, data, size, out, length)),
            16 => call!(C_GetOperationState(session, out, length)),
            step => {
                let key = self.object(u);
                _ = match step {
                    17 => call!(C_DigestUpdate(session, data, size)),
                    18 => call!(C_SignUpdate(session, data, size)),
                    19 => call!(C_Verify(session, data, size, other, others)),
                    20 => call!(C_VerifyUpdate(session, data, size)),
                    21 => call!(C_VerifyFinal(session, data, size)),
                    22 => call!(C_VerifySignature(session, data, size)),
                    23 => call!(C_VerifySignatureUpdate(session, data, size)),
                    24 => call!(C_VerifySignatureFinal(session)),
                    _ => call!(C_SetOperationState(session, data, size, key, key)),
                };
                return;
            }
        };
        self.result(rv, &room);
    }

    fn message(&mut self, u: &mut Unstructured<'_>) {
        let (session, (data, size), (aad, aads)) = (self.session(u), self.input(u), self.data(u));
        let (parameter, parameters) = match byte(u) % 4 {
            0 => (null_mut(), 0),
            1 => {
                let ccm = CK_CCM_MESSAGE_PARAMS {
                    ulDataLen: size,
                    pNonce: self.memory.bytes(vec![byte(u); 12]),
                    ulNonceLen: 12,
                    ulNonceFixedBits: fixed_bits(u),
                    nonceGenerator: CK_ULONG::from(byte(u) % 5),
                    pMAC: self.memory.bytes(vec![0; 16]),
                    ulMACLen: one(u, &[16, 8, 0]),
                };
                (self.memory.value(ccm).cast(), size_of::<CK_CCM_MESSAGE_PARAMS>() as CK_ULONG)
            }
            _ => {
                let gcm = CK_GCM_MESSAGE_PARAMS {
                    pIv: self.memory.bytes(vec![byte(u); 12]),
                    ulIvLen: 12,
                    ulIvFixedBits: fixed_bits(u),
                    ivGenerator: CK_ULONG::from(byte(u) % 5),
                    pTag: self.memory.bytes(vec![0; 16]),
                    ulTagBits: one(u, &[128, 96, 0, 120]),
                };
                (self.memory.value(gcm).cast(), size_of::<CK_GCM_MESSAGE_PARAMS>() as CK_ULONG)
            }
        };
        let (room, flags) = (self.room(u), CK_ULONG::from(byte(u) % 2));
        let (out, length) = (room.pointer, room.length);
        let rv = match byte(u) % 16 {
            0 => call!(C_EncryptMessage(session, parameter, parameters, aad, aads, data, size, out, length)),
            1 => call!(C_DecryptMessage(session, parameter, parameters, aad, aads, data, size, out, length)),
            2 => call!(C_EncryptMessageNext(session, parameter, parameters, data, size, out, length, flags)),
            3 => call!(C_DecryptMessageNext(session, parameter, parameters, data, size, out, length, flags)),
            4 => call!(C_SignMessage(session, parameter, parameters, data, size, out, length)),
            5 => call!(C_SignMessageNext(session, parameter, parameters, data, size, out, length)),
            step => {
                let given = (session, parameter, parameters);
                _ = match step {
                    6 => call!(C_EncryptMessageBegin(given.0, given.1, given.2, aad, aads)),
                    7 => call!(C_DecryptMessageBegin(given.0, given.1, given.2, aad, aads)),
                    8 => call!(C_SignMessageBegin(given.0, given.1, given.2)),
                    9 => call!(C_VerifyMessageBegin(given.0, given.1, given.2)),
                    10 => call!(C_VerifyMessage(given.0, given.1, given.2, data, size, aad, aads)),
                    11 => call!(C_VerifyMessageNext(given.0, given.1, given.2, data, size, aad, aads)),
                    12 => call!(C_MessageEncryptFinal(session)),
                    13 => call!(C_MessageDecryptFinal(session)),
                    14 => call!(C_MessageSignFinal(session)),
                    _ => call!(C_MessageVerifyFinal(session)),
                };
                return;
            }
        };
        self.result(rv, &room);
    }

    fn others(&mut self, u: &mut Unstructured<'_>) {
        let (session, (data, size), object) = (self.session(u), self.data(u), self.object(u));
        match byte(u) % 9 {
            0 => {
                let handle: *mut CK_SESSION_HANDLE = self.memory.value(0);
                let flags = CK_FLAGS::from(byte(u));
                if call!(C_OpenSession(ACCELERATOR, flags, null_mut(), None, handle)) == CKR_OK {
                    // SAFETY: the handle was made in the target's memory, which outlives every call of the input.
                    self.sessions.push(unsafe { *handle });
                }
            }
            1 => _ = call!(C_CloseSession(session)),
            2 => {
                let info = self.memory.value(CK_SESSION_INFO::default());
                call!(C_GetSessionInfo(session, info));
            }
            3 => _ = call!(C_SessionCancel(session, self::size(u))),
            4 => _ = call!(C_Login(session, CK_USER_TYPE::from(byte(u) % 4), data, size)),
            5 => _ = call!(C_Logout(session)),
            6 => _ = call!(C_DigestKey(session, object)),
            7 => {
                let (room, info) = (self.room(u), self.memory.value(CK_MECHANISM_INFO::default()));
                if !room.pointer.is_null() {
                    call!(C_GenerateRandom(session, room.pointer, room.told));
                }
                call!(C_GetMechanismInfo(ACCELERATOR, self::size(u), info));
            }
            _ => {
                let (old, olds) = self.data(u);
                call!(C_SetPIN(session, old, olds, data, size));
                call!(C_InitPIN(session, data, size));
                call!(C_SeedRandom(session, data, size));
                call!(C_GetSessionValidationFlags(session, 1, self.memory.value(0)));
            }
        }
    }
}

/// Bits of a fixed part of a vector.
fn fixed_bits(u: &mut Unstructured<'_>) -> CK_ULONG {
    one(u, &[0, 32, 96, 97, CK_ULONG::MAX])
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let mut first = 0;
    let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
    assert_eq!(call!(C_OpenSession(ACCELERATOR, flags, null_mut(), None, &raw mut first)), CKR_OK);
    let mut world = World { memory: Memory::default(), sessions: vec![first], objects: Vec::new(), state: Vec::new() };
    for _ in 0..byte(&mut u) % 4 {
        world.prepare(&mut u);
    }
    for _ in 0..40 {
        if u.is_empty() {
            break;
        }
        match byte(&mut u) % 9 {
            0 => world.objects(&mut u),
            1 => world.keys(&mut u),
            2 | 3 => world.begin(&mut u),
            4 | 5 => world.go_on(&mut u),
            6 => world.message(&mut u),
            _ => world.others(&mut u),
        }
    }
    assert_eq!(call!(C_CloseAllSessions(ACCELERATOR)), CKR_OK);
});
