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
                let curve: &[u8] = if byte(u).is_multiple_of(2) { &P256 } else { &ED25519 };
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
        // SAFETY: it lives in the memory.
        let length = unsafe { *self.length };
        if rv == CKR_OK && !self.pointer.is_null() {
            assert!(length <= self.told, "{length} bytes into {}", self.told);
        }
    }

    fn get(&self) -> Vec<u8> {
        // SAFETY: as above; the length was checked.
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
            // SAFETY: it lives in the memory.
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
        let place = self.memory.value(0);
        let rv = match byte(u) % 9 {
            0 => call!(C_GenerateKey(session, mechanism, list, count, place)),
            1 => {
                let (private, private_count) = self.template(u);
                let second = self.memory.value(0);
                let rv = call!(C_GenerateKeyPair(session, mechanism, list, 1, null_mut(), 0, one, two));
                self.keep(rv, one);
                self.keep(rv, two);
                return;
            }
        };
        let class = number(memory, CKA_CLASS, CKO_SECRET_KEY);
        let extractable = attribute(memory, CKA_EXTRACTABLE, &[1]);
        let list = [list, vec![class, extractable]].concat();
        let (count, place) = (list.len() as CK_ULONG, memory.value(0));
        let rv = call!(C_CreateObject(session, memory.list(list), count, place));
        self.keep(rv, place);
    }
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
