//! One token, from its initialization on.

use super::*;
use std::os::unix::fs::MetadataExt as _;

pub fn life() {
    assert_eq!(order::listed(), [1, SLOT]);
    let info = token_info().unwrap();
    assert_eq!(info.flags, CKF_RNG | CKF_LOGIN_REQUIRED | CKF_DUAL_CRYPTO_OPERATIONS);
    assert_eq!((info.label, info.serialNumber), ([b' '; 32], *b"0000000000000003"));
    assert_eq!(Session::open_in(SLOT, RW).unwrap_err(), CKR_TOKEN_NOT_INITIALIZED);
    assert_eq!(std::fs::read_dir(data()).unwrap().count(), 0, "nothing is made before somebody writes");
    assert_eq!(init_token(b"123"), Err(CKR_PIN_LEN_RANGE));

    init_token(SO_PIN).unwrap();
    let info = token_info().unwrap();
    assert_eq!(&info.label, b"a token                         ");
    assert!(info.flags & CKF_TOKEN_INITIALIZED != 0 && info.flags & CKF_USER_PIN_INITIALIZED == 0);
    assert!(info.serialNumber != *b"0000000000000003" && info.serialNumber.iter().all(u8::is_ascii_hexdigit));
    for (path, mode) in
        [(file(), 0o600), (file().with_extension("token.lock"), 0o600), (data().join("adjunct/tokens"), 0o700)]
    {
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, mode, "{path:?}");
    }

    let session = open(RW);
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_USER_PIN_NOT_INITIALIZED));
    assert_eq!(session.create(&data_object("x", false)), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(init_token(SO_PIN), Err(CKR_SESSION_EXISTS));
    let reader = open(RO);
    assert_eq!(login(&session, CKU_SO, SO_PIN), Err(CKR_SESSION_READ_ONLY_EXISTS));
    drop(reader);
    login(&session, CKU_SO, SO_PIN).unwrap();
    assert_eq!(Session::open_in(SLOT, RO).unwrap_err(), CKR_SESSION_READ_WRITE_SO_EXISTS);
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_USER_ANOTHER_ALREADY_LOGGED_IN));
    check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
    // What only the security officer may say.
    let trusted = Attributes::secret(CKK_AES, &[1; 16]).flag(CKA_TOKEN, true).flag(CKA_PRIVATE, false);
    let trusted = trusted.flag(CKA_TRUSTED, true).bytes(CKA_LABEL, b"trusted");
    session.create(&trusted).unwrap();
    assert_eq!(session.create(&data_object("private", true)), Err(CKR_USER_NOT_LOGGED_IN));
    logout(&session).unwrap();

    login(&session, CKU_USER, PIN).unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_USER_ALREADY_LOGGED_IN));
    assert_eq!(session.create(&trusted), Err(CKR_ATTRIBUTE_READ_ONLY));
    let copied = session.copy(labelled(&session, "trusted")[0], &Attributes::new().bytes(CKA_LABEL, b"copy")).unwrap();
    assert!(session.flag(copied, CKA_TRUSTED).unwrap());
    let (public, private) = ec_pair(&session, "pair").unwrap();
    sign(&session, private, public);
    assert!(session.flag(private, CKA_PRIVATE).unwrap() && session.flag(private, CKA_SENSITIVE).unwrap());
    let one = session.create(&data_object("one", true)).unwrap();
    session.set_attributes(one, &Attributes::new().bytes(CKA_LABEL, b"two")).unwrap();
    assert_eq!((labelled(&session, "one"), labelled(&session, "two")), (vec![], vec![one]));
    let open_object = session.create(&data_object("open", false)).unwrap();
    let gone = session.create(&data_object("gone", true)).unwrap();
    session.destroy(gone).unwrap();
    assert_eq!(session.destroy(gone), Err(CKR_OBJECT_HANDLE_INVALID));
    let reader = open(RO);
    assert_eq!(reader.create(&data_object("x", false)), Err(CKR_SESSION_READ_ONLY));
    assert_eq!(reader.destroy(one), Err(CKR_SESSION_READ_ONLY));
    let volatile = data_object("session", true);
    let volatile =
        session.copy(one, &Attributes::new().flag(CKA_TOKEN, false).bytes(CKA_LABEL, b"session")).map(|_| volatile);
    assert!(volatile.is_ok() && labelled(&reader, "session").len() == 1);

    // What a session remembers of a private key is of no use to who has logged out.
    let template = Attributes::secret(CKK_AES, &[1; 32]).flag(CKA_TOKEN, true).flag(CKA_PRIVATE, true);
    let (private, gcm) = (session.create(&template).unwrap(), Mechanism::gcm(b"twelve bytes", b"", 128));
    for _ in 0..3 {
        session.encrypt(&gcm, private, b"text").unwrap();
    }
    logout(&session).unwrap();
    assert_eq!(session.encrypt_init(&gcm, private), Err(CKR_KEY_HANDLE_INVALID));
    login(&session, CKU_USER, PIN).unwrap();
    logout(&session).unwrap();
    assert_eq!((labelled(&session, "two"), labelled(&session, "session")), (vec![], vec![]));
    assert_eq!(labelled(&session, "open"), [open_object]);
    assert_eq!(session.attribute(one, CKA_LABEL), Err(CKR_OBJECT_HANDLE_INVALID));
    assert_eq!(session.destroy(open_object), Err(CKR_USER_NOT_LOGGED_IN));

    assert_eq!(set_pin(&reader, PIN, b"new pin"), Err(CKR_SESSION_READ_ONLY));
    assert_eq!(set_pin(&session, PIN, b"new"), Err(CKR_PIN_LEN_RANGE));
    set_pin(&session, PIN, b"new pin").unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
    login(&session, CKU_USER, b"new pin").unwrap();
    assert_eq!(pin_flags(), 0);
    assert_eq!(labelled(&session, "two").len(), 1);
    set_pin(&session, b"new pin", PIN).unwrap();
    drop((session, reader));
    // The last session closed: nobody is logged in.
    let session = open(RW);
    assert_eq!(labelled(&session, "two"), []);
    login(&session, CKU_SO, SO_PIN).unwrap();
    assert_eq!(labelled(&session, "two"), []);
    set_pin(&session, SO_PIN, b"other so pin").unwrap();
    set_pin(&session, b"other so pin", SO_PIN).unwrap();
}

pub fn again() {
    let session = entered();
    let private =
        session.find(&Attributes::new().bytes(CKA_LABEL, b"pair").number(CKA_CLASS, CKO_PRIVATE_KEY)).unwrap();
    let public = session.find(&Attributes::new().bytes(CKA_LABEL, b"pair").number(CKA_CLASS, CKO_PUBLIC_KEY)).unwrap();
    sign(&session, private[0], public[0]);
    assert!(session.flag(private[0], CKA_ALWAYS_SENSITIVE).unwrap());
    assert_eq!(session.attribute(private[0], CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
    for (label, count) in [("two", 1), ("trusted", 1), ("copy", 1), ("gone", 0), ("session", 0)] {
        assert_eq!(labelled(&session, label).len(), count, "{label}");
    }
    // No key is written in clear, whoever may see it.
    let bytes = std::fs::read(file()).unwrap();
    assert!(!bytes.windows(16).any(|part| part == [1; 16]));
    drop(session);
    assert_eq!(init_token(b"wrong so pin"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_SO_PIN_COUNT_LOW);
    init_token(SO_PIN).unwrap();
    assert_eq!(token_info().unwrap().flags & CKF_USER_PIN_INITIALIZED, 0);
    let session = open(RO);
    let found = session.find(&Attributes::new()).unwrap();
    assert!(found.iter().all(|object| session.number(*object, CKA_CLASS) == Ok(CKO_PROFILE)));
}

#[test]
fn a_token_lives_as_the_standard_says() {
    let home = home();
    run("life", home.path());
    run("again", home.path());
}
