//! Keys that want the PIN for each use (CKA_ALWAYS_AUTHENTICATE).

use super::*;
use common::asked;
use std::ptr::null_mut;

const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];

fn careful() -> Attributes {
    Attributes::new().flag(CKA_ALWAYS_AUTHENTICATE, true)
}

fn ec_private(session: &Session, private: &Attributes) -> Result<Handle> {
    let public = Attributes::new().bytes(CKA_EC_PARAMS, P256);
    session.generate_pair(&Mechanism::new(CKM_EC_KEY_PAIR_GEN), &public, private).map(|(_, private)| private)
}

fn again(session: &Session) -> Result {
    login(session, CKU_CONTEXT_SPECIFIC, PIN)
}

const REFUSED: CK_RV = CKR_USER_NOT_LOGGED_IN;

/// Without the PIN an operation ends with its first call that does work; with the PIN it stays active until it has done its work.
pub fn operations() {
    new_token();
    let session = entered();
    assert_eq!(again(&session), Err(CKR_OPERATION_NOT_INITIALIZED));
    let (_, careless) = ec_pair(&session, "pair").unwrap();
    let ecdsa = Mechanism::new(CKM_ECDSA_SHA256);
    session.sign_init(&ecdsa, careless).unwrap();
    assert_eq!(again(&session), Err(CKR_OPERATION_NOT_INITIALIZED));
    session.sign_once(b"x").unwrap();
    // It can only be said when a key is made.
    assert_eq!(session.set_attributes(careless, &careful()), Err(CKR_ATTRIBUTE_READ_ONLY));

    let key = ec_private(&session, &careful().flag(CKA_TOKEN, true)).unwrap();
    let once = |room: usize| {
        let (mut out, mut size) = (vec![0; 64], room as CK_ULONG);
        let place = if room == 0 { null_mut() } else { out.as_mut_ptr() };
        (p11!(C_Sign(session.0, input(b"x"), 1, place, &raw mut size)), size)
    };
    session.sign_init(&ecdsa, key).unwrap();
    // Who asks how long the signature is uses no key.
    assert_eq!([once(0), once(63)], [(CKR_OK, 64), (CKR_BUFFER_TOO_SMALL, 64)]);
    assert_eq!(once(64).0, REFUSED);
    assert_eq!(once(64).0, CKR_OPERATION_NOT_INITIALIZED, "the operation has ended");
    assert_eq!(again(&session), Err(CKR_OPERATION_NOT_INITIALIZED));
    session.sign_init(&ecdsa, key).unwrap();
    assert_eq!(session.sign_update(b"x"), Err(REFUSED));
    assert_eq!(session.sign_final(), Err(CKR_OPERATION_NOT_INITIALIZED));

    session.sign_init(&ecdsa, key).unwrap();
    assert_eq!(login(&session, CKU_CONTEXT_SPECIFIC, b"wrong"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
    again(&session).unwrap();
    assert_eq!(pin_flags(), 0);
    session.sign_update(b"x").unwrap();
    session.sign_final().unwrap();
    // Once, in each session.
    session.sign_init(&ecdsa, key).unwrap();
    assert_eq!(once(64).0, REFUSED);

    // One PIN is for one use, the last that began.
    let public = Attributes::new().number(CKA_MODULUS_BITS, 2048);
    let pair = Mechanism::new(CKM_RSA_PKCS_KEY_PAIR_GEN);
    let (public, rsa) = session.generate_pair(&pair, &public, &careful()).unwrap();
    let pkcs = Mechanism::new(CKM_RSA_PKCS);
    let sealed = session.encrypt(&pkcs, public, b"text").unwrap();
    session.sign_init(&ecdsa, key).unwrap();
    session.decrypt_init(&pkcs, rsa).unwrap();
    again(&session).unwrap();
    assert_eq!(session.decrypt_once(&sealed).unwrap(), b"text");
    again(&session).unwrap();
    assert_eq!(once(64).0, CKR_OK);
    session.decrypt_init(&pkcs, rsa).unwrap();
    let mut size = 256;
    let mut out = [0; 256];
    let rv = p11!(C_DecryptUpdate(session.0, input(&sealed), length(&sealed), out.as_mut_ptr(), &raw mut size));
    assert_eq!((rv, out), (REFUSED, [0; 256]));
    size = 256;
    session.sign_recover_init(&pkcs, rsa).unwrap();
    assert_eq!(p11!(C_SignRecover(session.0, input(b"x"), 1, out.as_mut_ptr(), &raw mut size)), REFUSED);
    session.sign_recover_init(&pkcs, rsa).unwrap();
    again(&session).unwrap();
    let signature = session.sign_recover(b"x").unwrap();
    session.verify_recover_init(&pkcs, public).unwrap();
    assert_eq!(session.verify_recover(&signature).unwrap(), b"x");

    // Messages with one key: the PIN is for one, at once or in parts.
    session.message_sign_init(&ecdsa, key).unwrap();
    let message = || asked(|out, made| p11!(C_SignMessage(session.0, null_mut(), 0, input(b"x"), 1, out, made)));
    assert_eq!(message(), Err(REFUSED));
    assert_eq!(p11!(C_SignMessageBegin(session.0, null_mut(), 0)), REFUSED);
    again(&session).unwrap();
    message().unwrap();
    assert_eq!(message(), Err(REFUSED));
    again(&session).unwrap();
    let begin = || p11!(C_SignMessageBegin(session.0, null_mut(), 0));
    assert_eq!(begin(), CKR_OK);
    let next = |out: *mut CK_BYTE, size: *mut CK_ULONG| {
        p11!(C_SignMessageNext(session.0, null_mut(), 0, input(b"x"), 1, out, size))
    };
    assert_eq!(next(null_mut(), null_mut()), CKR_OK);
    let (mut signature, mut size) = ([0; 64], 64);
    assert_eq!(next(signature.as_mut_ptr(), &raw mut size), CKR_OK);
    assert_eq!((begin(), message()), (REFUSED, Err(REFUSED)));
    assert_eq!(p11!(C_MessageSignFinal(session.0)), CKR_OK);
    session.message_sign_init(&ecdsa, key).unwrap();
    assert_eq!(message(), Err(REFUSED));
}

/// Calls that begin and end by themselves are refused until the PIN is given.
pub fn calls() {
    new_token();
    let session = entered();
    let generic = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET).number(CKA_VALUE_LEN, 32);
    let each = |name: &str, call: &dyn Fn() -> Result| {
        assert_eq!(call(), Err(REFUSED), "{name}");
        assert_eq!(call(), Err(REFUSED), "{name}");
        again(&session).unwrap();
        assert_eq!(call(), Ok(()), "{name}");
        assert_eq!(call(), Err(REFUSED), "{name}: the PIN was for one use");
    };

    let public = Attributes::new().number(CKA_MODULUS_BITS, 2048).flag(CKA_WRAP, true);
    let pair = Mechanism::new(CKM_RSA_PKCS_KEY_PAIR_GEN);
    let (public, rsa) = session.generate_pair(&pair, &public, &careful().flag(CKA_UNWRAP, true)).unwrap();
    let secret = session.create(&Attributes::secret(CKK_AES, &[1; 32]).flag(CKA_EXTRACTABLE, true)).unwrap();
    let pkcs = Mechanism::new(CKM_RSA_PKCS);
    let wrapped = session.wrap(&pkcs, public, secret).unwrap();
    let aes = Attributes::key(CKO_SECRET_KEY, CKK_AES);
    each("C_UnwrapKey", &|| session.unwrap(&pkcs, rsa, &wrapped, &aes).map(drop));

    let ec = ec_private(&session, &careful().flag(CKA_DERIVE, true)).unwrap();
    let info = session.attribute(ec, CKA_PUBLIC_KEY_INFO).unwrap();
    let point = &info[info.len() - 65..];
    let agree = CK_ECDH1_DERIVE_PARAMS {
        kdf: CKD_NULL,
        ulSharedDataLen: 0,
        pSharedData: null_mut(),
        ulPublicDataLen: length(point),
        pPublicData: input(point),
    };
    each("C_DeriveKey", &|| session.derive(&Mechanism::with(CKM_ECDH1_DERIVE, agree), ec, &generic).map(drop));
    // The PIN that was given for one key is for no other.
    let other = ec_private(&session, &careful().flag(CKA_DERIVE, true)).unwrap();
    again(&session).unwrap();
    assert_eq!(session.derive(&Mechanism::with(CKM_ECDH1_DERIVE, agree), other, &generic), Err(REFUSED));
    assert_eq!(session.derive(&Mechanism::with(CKM_ECDH1_DERIVE, agree), ec, &generic), Err(REFUSED));

    let (set, pair) =
        (Attributes::new().number(CKA_PARAMETER_SET, CKP_ML_KEM_768), Mechanism::new(CKM_ML_KEM_KEY_PAIR_GEN));
    let (public, kem) = session.generate_pair(&pair, &set, &careful()).unwrap();
    let mlkem = Mechanism::new(CKM_ML_KEM);
    let (_, ciphertext) = session.encapsulate(&mlkem, public, &generic).unwrap();
    each("C_DecapsulateKey", &|| session.decapsulate(&mlkem, kem, &generic, &ciphertext).map(drop));

    // Under another key it would leave for a place where nobody asks.
    let leaving = ec_private(&session, &careful().flag(CKA_EXTRACTABLE, true)).unwrap();
    let wrapping = session.create(&Attributes::secret(CKK_AES, &[1; 32]).flag(CKA_WRAP, true)).unwrap();
    let pad = Mechanism::new(CKM_AES_KEY_WRAP_PAD);
    each("C_WrapKey", &|| session.wrap(&pad, wrapping, leaving).map(drop));
    let aad = Mechanism::gcm(&[7; 12], b"", 128);
    each("C_WrapKeyAuthenticated", &|| session.wrap_authenticated(&aad, wrapping, leaving, b"aad").map(drop));
}

/// The PIN can be asked for of a private object's user alone.
pub fn privacy() {
    new_token();
    let session = entered();
    let open = careful().flag(CKA_PRIVATE, false);
    assert_eq!(ec_private(&session, &open), Err(CKR_TEMPLATE_INCONSISTENT));
    let key = ec_private(&session, &careful()).unwrap();
    assert_eq!(session.flag(key, CKA_PRIVATE), Ok(true));
    assert_eq!(session.copy(key, &Attributes::new().flag(CKA_PRIVATE, false)), Err(CKR_TEMPLATE_INCONSISTENT));
    let value = Attributes::key(CKO_PRIVATE_KEY, CKK_EC).bytes(CKA_EC_PARAMS, P256).bytes(CKA_VALUE, &[1; 32]);
    let with = |private| value.clone().flag(CKA_PRIVATE, private).flag(CKA_ALWAYS_AUTHENTICATE, true);
    assert_eq!(session.create(&with(false)), Err(CKR_TEMPLATE_INCONSISTENT));
    session.create(&with(true)).unwrap();
    // The accelerator has no user, and lets in whoever logs in; there, too, such a key is private.
    let free = Session::open();
    assert_eq!(ec_private(&free, &open), Err(CKR_TEMPLATE_INCONSISTENT));
    let key = ec_private(&free, &careful()).unwrap();
    assert_eq!(free.flag(key, CKA_PRIVATE), Ok(true));
    free.sign_init(&Mechanism::new(CKM_ECDSA_SHA256), key).unwrap();
    again(&free).unwrap();
    free.sign_once(b"x").unwrap();
}

/// The try that locks the PIN reports that, and logs out.
pub fn locked() {
    new_token();
    let session = entered();
    let key = ec_private(&session, &careful()).unwrap();
    session.sign_init(&Mechanism::new(CKM_ECDSA_SHA256), key).unwrap();
    for rv in [CKR_PIN_INCORRECT, CKR_PIN_INCORRECT, CKR_PIN_LOCKED] {
        assert_eq!(login(&session, CKU_CONTEXT_SPECIFIC, b"wrong"), Err(rv));
    }
    assert_eq!(session.sign_once(b"x"), Err(REFUSED));
    assert_eq!(session.sign_init(&Mechanism::new(CKM_ECDSA_SHA256), key), Err(CKR_KEY_HANDLE_INVALID));
    assert_eq!(logout(&session), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_LOCKED));
}

#[test]
fn operations_wait_for_the_pin_and_end_without() {
    run("operations", home().path());
}

#[test]
fn calls_that_use_a_key_at_once_wait_for_the_pin() {
    run("calls", home().path());
}

#[test]
fn a_key_that_wants_the_pin_is_private() {
    run("privacy", home().path());
}

#[test]
fn a_pin_that_is_locked_for_one_use_is_for_all() {
    run("locked", home().path());
}
