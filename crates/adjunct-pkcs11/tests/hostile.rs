//! Arguments that no program means: null, huge, misaligned, handles of nothing, for every function of version 3.2, before and while
//! operations run.

#![allow(unsafe_code)]

mod loaded;

use cryptoki_sys::*;
use loaded::{ACCELERATOR, Functions, functions, inside};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The functions in the order of the list, and their arguments: a session, an object, a slot, a number, flags, a truth value (Z), a callback (0);
/// pointers to bytes (b), to values (p) and to anything (v).
const ALL: [(&str, &str); 104] = [
    ("C_Initialize", "v"),
    ("C_Finalize", "v"),
    ("C_GetInfo", "p"),
    ("C_GetFunctionList", "p"),
    ("C_GetSlotList", "Zpp"),
    ("C_GetSlotInfo", "Lp"),
    ("C_GetTokenInfo", "Lp"),
    ("C_GetMechanismList", "Lpp"),
    ("C_GetMechanismInfo", "LNp"),
    ("C_InitToken", "LbNb"),
    ("C_InitPIN", "SbN"),
    ("C_SetPIN", "SbNbN"),
    ("C_OpenSession", "LFv0p"),
    ("C_CloseSession", "S"),
    ("C_CloseAllSessions", "L"),
    ("C_GetSessionInfo", "Sp"),
    ("C_GetOperationState", "Sbp"),
    ("C_SetOperationState", "SbNOO"),
    ("C_Login", "SNbN"),
    ("C_Logout", "S"),
    ("C_CreateObject", "SpNp"),
    ("C_CopyObject", "SOpNp"),
    ("C_DestroyObject", "SO"),
    ("C_GetObjectSize", "SOp"),
    ("C_GetAttributeValue", "SOpN"),
    ("C_SetAttributeValue", "SOpN"),
    ("C_FindObjectsInit", "SpN"),
    ("C_FindObjects", "SpNp"),
    ("C_FindObjectsFinal", "S"),
    ("C_EncryptInit", "SpO"),
    ("C_Encrypt", "SbNbp"),
    ("C_EncryptUpdate", "SbNbp"),
    ("C_EncryptFinal", "Sbp"),
    ("C_DecryptInit", "SpO"),
    ("C_Decrypt", "SbNbp"),
    ("C_DecryptUpdate", "SbNbp"),
    ("C_DecryptFinal", "Sbp"),
    ("C_DigestInit", "Sp"),
    ("C_Digest", "SbNbp"),
    ("C_DigestUpdate", "SbN"),
    ("C_DigestKey", "SO"),
    ("C_DigestFinal", "Sbp"),
    ("C_SignInit", "SpO"),
    ("C_Sign", "SbNbp"),
    ("C_SignUpdate", "SbN"),
    ("C_SignFinal", "Sbp"),
    ("C_SignRecoverInit", "SpO"),
    ("C_SignRecover", "SbNbp"),
    ("C_VerifyInit", "SpO"),
    ("C_Verify", "SbNbN"),
    ("C_VerifyUpdate", "SbN"),
    ("C_VerifyFinal", "SbN"),
    ("C_VerifyRecoverInit", "SpO"),
    ("C_VerifyRecover", "SbNbp"),
    ("C_DigestEncryptUpdate", "SbNbp"),
    ("C_DecryptDigestUpdate", "SbNbp"),
    ("C_SignEncryptUpdate", "SbNbp"),
    ("C_DecryptVerifyUpdate", "SbNbp"),
    ("C_GenerateKey", "SppNp"),
    ("C_GenerateKeyPair", "SppNpNpp"),
    ("C_WrapKey", "SpOObp"),
    ("C_UnwrapKey", "SpObNpNp"),
    ("C_DeriveKey", "SpOpNp"),
    ("C_SeedRandom", "SbN"),
    ("C_GenerateRandom", "SbN"),
    ("C_GetFunctionStatus", "S"),
    ("C_CancelFunction", "S"),
    ("C_WaitForSlotEvent", "Fpv"),
    ("C_GetInterfaceList", "pp"),
    ("C_GetInterface", "bppF"),
    ("C_LoginUser", "SNbNbN"),
    ("C_SessionCancel", "SF"),
    ("C_MessageEncryptInit", "SpO"),
    ("C_EncryptMessage", "SvNbNbNbp"),
    ("C_EncryptMessageBegin", "SvNbN"),
    ("C_EncryptMessageNext", "SvNbNbpF"),
    ("C_MessageEncryptFinal", "S"),
    ("C_MessageDecryptInit", "SpO"),
    ("C_DecryptMessage", "SvNbNbNbp"),
    ("C_DecryptMessageBegin", "SvNbN"),
    ("C_DecryptMessageNext", "SvNbNbpF"),
    ("C_MessageDecryptFinal", "S"),
    ("C_MessageSignInit", "SpO"),
    ("C_SignMessage", "SvNbNbp"),
    ("C_SignMessageBegin", "SvN"),
    ("C_SignMessageNext", "SvNbNbp"),
    ("C_MessageSignFinal", "S"),
    ("C_MessageVerifyInit", "SpO"),
    ("C_VerifyMessage", "SvNbNbN"),
    ("C_VerifyMessageBegin", "SvN"),
    ("C_VerifyMessageNext", "SvNbNbN"),
    ("C_MessageVerifyFinal", "S"),
    ("C_EncapsulateKey", "SpOpNbpp"),
    ("C_DecapsulateKey", "SpOpNbNp"),
    ("C_VerifySignatureInit", "SpObN"),
    ("C_VerifySignature", "SbN"),
    ("C_VerifySignatureUpdate", "SbN"),
    ("C_VerifySignatureFinal", "S"),
    ("C_GetSessionValidationFlags", "SNp"),
    ("C_AsyncComplete", "Sbp"),
    ("C_AsyncGetID", "Sbp"),
    ("C_AsyncJoin", "SbNbN"),
    ("C_WrapKeyAuthenticated", "SpOObNbp"),
    ("C_UnwrapKeyAuthenticated", "SpObNpNbNp"),
];

/// Functions that do nothing when their arguments say nothing.
const FALLBACKS: [&str; 8] = [
    "C_GetFunctionList",
    "C_GetInterfaceList",
    "C_GetInterface",
    "C_GetFunctionStatus",
    "C_CancelFunction",
    "C_AsyncComplete",
    "C_AsyncGetID",
    "C_AsyncJoin",
];

type Any =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> CK_RV;

/// Calls function `at` of the list. No function has more arguments; those that it has not are not looked at by the conventions of our
/// targets.
fn call(list: Functions, at: usize, a: &[usize; 12]) -> CK_RV {
    const ENTRIES: usize = size_of::<CK_FUNCTION_LIST_3_2>() / size_of::<usize>();
    const { assert!(ENTRIES == 105) };
    // SAFETY: the list is its version, padded, and 104 pointers to functions. Arguments are as the test says: what the module has to refuse.
    unsafe {
        let entries = &*std::ptr::from_ref(list.0).cast::<[Option<Any>; ENTRIES]>();
        let function = entries[1 + at].expect("a function");
        function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11])
    }
}

/// Memory that arguments point to: zeros, a page each.
struct Memory(Vec<u64>);

impl Memory {
    fn new() -> Memory {
        Memory(vec![0; 12 * 512])
    }

    fn at(&mut self, argument: usize) -> usize {
        self.0[512 * argument..][..512].fill(0);
        self.0[512 * argument..].as_mut_ptr().addr()
    }
}

/// A kind of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    /// Null and 0.
    Nothing,
    /// Null, and lengths that are not 0.
    NullWithLengths,
    /// Pointers to memory, and lengths that no memory has.
    Huge,
    /// Lengths whose product with a size runs over.
    Overflowing,
    /// Pointers that are not aligned; those to bytes are good, and short.
    Misaligned,
    /// Good pointers to zeros, short lengths, handles of nothing.
    NoSuchHandles,
    /// Good pointers to zeros, short lengths.
    Zeros,
}

const KINDS: [ArgumentKind; 7] = [
    ArgumentKind::Nothing,
    ArgumentKind::NullWithLengths,
    ArgumentKind::Huge,
    ArgumentKind::Overflowing,
    ArgumentKind::Misaligned,
    ArgumentKind::NoSuchHandles,
    ArgumentKind::Zeros,
];

fn arguments(kind: ArgumentKind, types: &str, session: CK_SESSION_HANDLE, memory: &mut Memory) -> [usize; 12] {
    let mut all = [0; 12];
    for (at, type_) in types.bytes().enumerate() {
        all[at] = match (kind, type_) {
            (ArgumentKind::NoSuchHandles, b'S') => session as usize ^ 1 << 40,
            (_, b'S') => session as usize,
            (ArgumentKind::NoSuchHandles, b'O') => usize::MAX,
            (_, b'O' | b'0' | b'Z' | b'F') => 0,
            (ArgumentKind::NoSuchHandles, b'L') => usize::MAX,
            (_, b'L') => ACCELERATOR as usize,
            (ArgumentKind::Nothing | ArgumentKind::NullWithLengths, b'b' | b'p' | b'v')
            | (ArgumentKind::Nothing, b'N') => 0,
            (ArgumentKind::NullWithLengths | ArgumentKind::Huge, b'N') => usize::MAX,
            (ArgumentKind::Overflowing, b'N') => usize::MAX / 24 + 2,
            (_, b'N') => 16,
            (ArgumentKind::Misaligned, b'p' | b'v') => memory.at(at) + 1,
            _ => memory.at(at),
        };
    }
    all
}

/// Begins what can run beside each other in a session.
fn begin(list: Functions, session: CK_SESSION_HANDLE, keys: [CK_OBJECT_HANDLE; 2]) {
    let [aes, hmac] = keys;
    let mut iv = [0_u8; 16];
    let mut cbc = CK_MECHANISM { mechanism: CKM_AES_CBC_PAD, pParameter: iv.as_mut_ptr().cast(), ulParameterLen: 16 };
    let plain = |mechanism| CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 };
    let (mut mac, mut sha, mut gcm) = (plain(CKM_SHA256_HMAC), plain(CKM_SHA256), plain(CKM_AES_GCM));
    // Whatever runs already goes on.
    at!(list, C_EncryptInit(session, &raw mut cbc, aes));
    at!(list, C_DecryptInit(session, &raw mut cbc, aes));
    at!(list, C_SignInit(session, &raw mut mac, hmac));
    at!(list, C_VerifyInit(session, &raw mut mac, hmac));
    at!(list, C_DigestInit(session, &raw mut sha));
    at!(list, C_FindObjectsInit(session, null_mut(), 0));
    at!(list, C_MessageEncryptInit(session, &raw mut gcm, aes));
    at!(list, C_MessageDecryptInit(session, &raw mut gcm, aes));
    at!(list, C_MessageSignInit(session, &raw mut mac, hmac));
    at!(list, C_MessageVerifyInit(session, &raw mut mac, hmac));
}

fn ready(list: Functions) -> (CK_SESSION_HANDLE, [CK_OBJECT_HANDLE; 2]) {
    let session = list.open(ACCELERATOR).unwrap();
    let key = |kind, label| list.secret(session, kind, label).unwrap();
    (session, [key(CKK_AES, b"aes....."), key(CKK_GENERIC_SECRET, b"hmac....")])
}

#[test]
fn every_function_refuses_what_nobody_means() {
    if !inside("every_function_refuses_what_nobody_means") {
        return;
    }
    let mut memory = Memory::new();
    for flags in [0, CKF_INTERFACE_FORK_SAFE] {
        let list = functions(flags);
        // Before C_Initialize.
        for (at, (name, types)) in ALL.iter().enumerate() {
            let expected = match *name {
                "C_Initialize" => continue,
                name if FALLBACKS[..3].contains(&name) => CKR_ARGUMENTS_BAD,
                name if FALLBACKS.contains(&name) => continue,
                _ => CKR_CRYPTOKI_NOT_INITIALIZED,
            };
            assert_eq!(call(list, at, &arguments(ArgumentKind::Nothing, types, 1, &mut memory)), expected, "{name}");
        }
        list.initialize().unwrap();
        let (mut session, mut keys) = ready(list);
        for active in [false, true] {
            for (at, (name, types)) in ALL.iter().enumerate() {
                for kind in KINDS {
                    // C_Finalize is meant so. All slots' tokens would be initialized; that of this one cannot be.
                    if *name == "C_Finalize" && !matches!(kind, ArgumentKind::Zeros | ArgumentKind::Misaligned) {
                        continue;
                    }
                    if active {
                        begin(list, session, keys);
                    }
                    let rv = call(list, at, &arguments(kind, types, session, &mut memory));
                    let what = format!("{name} with {kind:?}, active {active}: {rv:#x}");
                    // The second is what is said of a panic.
                    assert!(rv < 0x300 && rv != CKR_GENERAL_ERROR, "{what}");
                    if kind == ArgumentKind::NoSuchHandles && types.starts_with('S') && !FALLBACKS.contains(name) {
                        assert_eq!(rv, CKR_SESSION_HANDLE_INVALID, "{what}");
                    }
                    if ["C_GetFunctionStatus", "C_CancelFunction"].contains(name) {
                        assert_eq!(rv, CKR_FUNCTION_NOT_PARALLEL, "{what}");
                    }
                    // The one writes no more than it has found, the other ends what runs without a mechanism.
                    let pairs = (types.contains("bN") || types.contains("pN"))
                        && !["C_FindObjects", "C_VerifySignatureInit"].contains(name);
                    if matches!(kind, ArgumentKind::NullWithLengths | ArgumentKind::Huge | ArgumentKind::Overflowing)
                        && pairs
                    {
                        assert_ne!(rv, CKR_OK, "{what}");
                    }
                    if at!(list, C_GetSessionInfo(session, &mut CK_SESSION_INFO::default())) != CKR_OK {
                        (session, keys) = ready(list);
                    }
                }
            }
        }
        // It works as before.
        list.everything(0).unwrap();
        list.finalize().unwrap();
    }
}

#[test]
fn what_initializes_is_looked_at() {
    if !inside("what_initializes_is_looked_at") {
        return;
    }
    unsafe extern "C" fn lock(_: *mut c_void) -> CK_RV {
        CKR_OK
    }
    let list = functions(0);
    let initialize =
        |arguments: &mut CK_C_INITIALIZE_ARGS| at!(list, C_Initialize(std::ptr::from_mut(arguments).cast()));
    let good = CK_C_INITIALIZE_ARGS { flags: CKF_OS_LOCKING_OK, ..Default::default() };
    for reserved in [1, 8, 0xdead_beef, usize::MAX, usize::MAX & !7, list.0.version.major as usize] {
        let rv =
            initialize(&mut CK_C_INITIALIZE_ARGS { pReserved: std::ptr::without_provenance_mut(reserved), ..good });
        assert_eq!(rv, CKR_ARGUMENTS_BAD, "{reserved:#x}");
    }
    // Some of the callbacks; all of them, without the system's locks.
    assert_eq!(initialize(&mut CK_C_INITIALIZE_ARGS { LockMutex: Some(lock), ..good }), CKR_ARGUMENTS_BAD);
    for wrong in [1, 3, 5, 7, usize::MAX] {
        assert_eq!(at!(list, C_Initialize(std::ptr::without_provenance_mut(wrong))), CKR_ARGUMENTS_BAD, "{wrong:#x}");
    }
    assert_eq!(initialize(&mut { good }), CKR_OK);
    assert_eq!(initialize(&mut { good }), CKR_CRYPTOKI_ALREADY_INITIALIZED);
    assert_eq!(at!(list, C_Finalize(std::ptr::without_provenance_mut(8))), CKR_ARGUMENTS_BAD);
    list.everything(0).unwrap();
    list.finalize().unwrap();
}
