//! The life of store tokens through the C interface. The module is a process's own, so each scenario runs in a process of its own: this
//! program, called for the one test that runs scenarios.

mod common;

use common::{Attributes, Handle, Mechanism, Result, Session, check, input, length};
use cryptoki_sys::*;
use std::io::{BufRead as _, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SLOT: CK_SLOT_ID = 3;
const SO_PIN: &[u8] = b"so pin 87654321";
const PIN: &[u8] = b"12345678";
const RW: CK_FLAGS = CKF_SERIAL_SESSION | CKF_RW_SESSION;
const RO: CK_FLAGS = CKF_SERIAL_SESSION;

fn data() -> PathBuf {
    std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).expect("a directory")
}

fn file() -> PathBuf {
    data().join("adjunct/tokens/default.token")
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn command(scenario: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["scenario", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("SCENARIO", scenario).env("XDG_DATA_HOME", home).env("XDG_CONFIG_HOME", home).env("HOME", home);
    command
}

fn run(scenario: &str, home: &Path) -> Output {
    let output = command(scenario, home).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{scenario}: {}\n{out}\n{err}", output.status);
    out.lines().filter_map(|line| line.split_once("# ")).for_each(|(_, said)| println!("{scenario}: {said}"));
    output
}

// What scenarios do.

fn open(flags: CK_FLAGS) -> Session {
    Session::open_in(SLOT, flags).unwrap()
}

fn login(session: &Session, user: CK_USER_TYPE, pin: &[u8]) -> Result {
    check(p11!(C_Login(session.0, user, input(pin), length(pin))))
}

fn logout(session: &Session) -> Result {
    check(p11!(C_Logout(session.0)))
}

fn set_pin(session: &Session, old: &[u8], new: &[u8]) -> Result {
    check(p11!(C_SetPIN(session.0, input(old), length(old), input(new), length(new))))
}

fn init_token(pin: &[u8]) -> Result {
    let mut label = *b"a token                         ";
    check(p11!(C_InitToken(SLOT, input(pin), length(pin), label.as_mut_ptr())))
}

fn token_info() -> Result<CK_TOKEN_INFO> {
    let mut info = CK_TOKEN_INFO::default();
    check(p11!(C_GetTokenInfo(SLOT, &raw mut info))).map(|()| info)
}

const PIN_FLAGS: CK_FLAGS = CKF_USER_PIN_COUNT_LOW
    | CKF_USER_PIN_FINAL_TRY
    | CKF_USER_PIN_LOCKED
    | CKF_SO_PIN_COUNT_LOW
    | CKF_SO_PIN_FINAL_TRY
    | CKF_SO_PIN_LOCKED;

fn pin_flags() -> CK_FLAGS {
    token_info().unwrap().flags & PIN_FLAGS
}

/// A token with both PINs.
fn new_token() {
    init_token(SO_PIN).unwrap();
    let session = open(RW);
    login(&session, CKU_SO, SO_PIN).unwrap();
    check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
    logout(&session).unwrap();
}

/// A session with the user logged in.
fn entered() -> Session {
    let session = open(RW);
    login(&session, CKU_USER, PIN).unwrap();
    session
}

fn data_object(label: &str, private: bool) -> Attributes {
    let object = Attributes::new().number(CKA_CLASS, CKO_DATA).bytes(CKA_LABEL, label.as_bytes());
    object.flag(CKA_TOKEN, true).flag(CKA_PRIVATE, private).bytes(CKA_VALUE, b"some bytes")
}

fn labelled(session: &Session, label: &str) -> Vec<Handle> {
    session.find(&Attributes::new().bytes(CKA_LABEL, label.as_bytes())).unwrap()
}

fn ec_pair(session: &Session, label: &str) -> Result<(Handle, Handle)> {
    let params = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let own = |attributes: Attributes| attributes.flag(CKA_TOKEN, true).bytes(CKA_LABEL, label.as_bytes());
    let public = own(Attributes::new().bytes(CKA_EC_PARAMS, &params)).flag(CKA_PRIVATE, false);
    session.generate_pair(&Mechanism::new(CKM_EC_KEY_PAIR_GEN), &public, &own(Attributes::new()).flag(CKA_SIGN, true))
}

fn sign(session: &Session, private: Handle, public: Handle) {
    let ecdsa = Mechanism::new(CKM_ECDSA);
    let signature = session.sign(&ecdsa, private, &[7; 32]).unwrap();
    session.verify(&ecdsa, public, &[7; 32], &signature).unwrap();
}

fn life() {
    let slots = || {
        let (mut list, mut count) = ([0; 8], 8);
        check(p11!(C_GetSlotList(CK_TRUE, list.as_mut_ptr(), &raw mut count))).unwrap();
        list[..count as usize].to_vec()
    };
    assert_eq!(slots(), [1, SLOT]);
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

fn again() {
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
    let found = open(RO).find(&Attributes::new()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(open(RO).number(found[0], CKA_PROFILE_ID), Ok(CKP_BASELINE_PROVIDER));
}

/// A token's PINs, of which each process tries one.
fn wrong() {
    let session = open(RW);
    let tried = pin_flags();
    match tried {
        0 => assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT)),
        CKF_USER_PIN_COUNT_LOW => assert_eq!(set_pin(&session, b"wrong", b"new pin"), Err(CKR_PIN_INCORRECT)),
        CKF_USER_PIN_FINAL_TRY => assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT)),
        _ => assert_eq!(tried, CKF_USER_PIN_LOCKED),
    }
    if tried == CKF_USER_PIN_LOCKED {
        assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_LOCKED));
        assert_eq!(set_pin(&session, PIN, b"new pin"), Err(CKR_PIN_LOCKED));
        // The security officer opens it again.
        login(&session, CKU_SO, SO_PIN).unwrap();
        check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
        logout(&session).unwrap();
        assert_eq!(pin_flags(), 0);
        login(&session, CKU_USER, PIN).unwrap();
        logout(&session).unwrap();
        drop(session);
        for left in [CKF_SO_PIN_COUNT_LOW, CKF_SO_PIN_FINAL_TRY, CKF_SO_PIN_LOCKED] {
            assert_eq!(init_token(b"wrong"), Err(CKR_PIN_INCORRECT));
            assert_eq!(pin_flags(), left);
        }
        assert_eq!(init_token(SO_PIN), Err(CKR_PIN_LOCKED));
    }
}

fn killed_while_trying() {
    let session = open(RW);
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(20));
        std::process::abort();
    });
    let _ = login(&session, CKU_USER, PIN);
    std::thread::sleep(Duration::from_secs(5));
}

fn count_low() {
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
}

fn context() {
    new_token();
    let session = entered();
    let key = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET).bytes(CKA_VALUE, &[1; 32]);
    assert_eq!(login(&session, CKU_CONTEXT_SPECIFIC, PIN), Err(CKR_OPERATION_NOT_INITIALIZED));
    drop(key);
    let (_, private) = ec_pair(&session, "pair").unwrap();
    let careful = Attributes::new().flag(CKA_ALWAYS_AUTHENTICATE, true);
    // It can only be said when a key is made.
    assert_eq!(session.set_attributes(private, &careful), Err(CKR_ATTRIBUTE_READ_ONLY));
    let params = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let (public, private) = (
        Attributes::new().bytes(CKA_EC_PARAMS, &params).flag(CKA_TOKEN, true).flag(CKA_PRIVATE, false),
        careful.flag(CKA_TOKEN, true).flag(CKA_SIGN, true),
    );
    let (_, private) = session.generate_pair(&Mechanism::new(CKM_EC_KEY_PAIR_GEN), &public, &private).unwrap();
    session.sign_init(&Mechanism::new(CKM_ECDSA), private).unwrap();
    assert_eq!(session.sign_once(&[1; 32]), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(login(&session, CKU_CONTEXT_SPECIFIC, b"wrong"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
    login(&session, CKU_CONTEXT_SPECIFIC, PIN).unwrap();
    assert_eq!(pin_flags(), 0);
    session.sign_once(&[1; 32]).unwrap();
}

fn two_processes() {
    new_token();
    let session = entered();
    let mine = session.create(&data_object("mine", true)).unwrap();
    run("other", &data());
    assert_eq!(labelled(&session, "theirs").len(), 1);
    assert_eq!(labelled(&session, "changed"), [mine]);
    session.destroy(mine).unwrap();
    run("other_after", &data());
    assert_eq!(session.attribute(labelled(&session, "theirs")[0], CKA_VALUE).unwrap(), b"some bytes");
    // Many at once: all that was made is there.
    let writers: Vec<_> =
        (0..4).map(|at| command("many", &data()).env("NUMBER", at.to_string()).spawn().unwrap()).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(session.find(&Attributes::new().bytes(CKA_APPLICATION, b"many")).unwrap().len(), 100);
    drop(session);
    // A new token, by another process, ends what was: whoever is logged in to the old one is not to this.
    let session = entered();
    run("initialize", &data());
    assert_eq!(session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap(), []);
    assert_eq!(session.create(&data_object("x", false)), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(logout(&session), Err(CKR_USER_NOT_LOGGED_IN));
}

fn other() {
    let session = entered();
    let theirs = labelled(&session, "mine")[0];
    session.set_attributes(theirs, &Attributes::new().bytes(CKA_LABEL, b"changed")).unwrap();
    session.create(&data_object("theirs", true)).unwrap();
}

fn other_after() {
    let session = entered();
    assert_eq!((labelled(&session, "changed").len(), labelled(&session, "theirs").len()), (0, 1));
}

fn many() {
    let session = entered();
    let number = std::env::var("NUMBER").unwrap();
    for at in 0..25 {
        session.create(&data_object(&format!("{number} {at}"), at % 2 == 0).bytes(CKA_APPLICATION, b"many")).unwrap();
    }
}

fn initialize() {
    init_token(SO_PIN).unwrap();
}

fn endless() {
    let session = entered();
    for at in 0.. {
        let (public, _) = ec_pair(&session, &format!("pair {} {at}", std::process::id())).unwrap();
        if at % 3 == 0 {
            session.destroy(public).unwrap();
        }
        println!("\n+ {} {at}", std::process::id());
        std::io::stdout().flush().unwrap();
    }
}

/// What processes said that were killed is there, and nothing half.
fn after_kills() {
    let session = entered();
    let said = std::fs::read_to_string(data().join("said")).unwrap();
    for line in said.lines() {
        let (process, at) = line.split_once(' ').unwrap();
        let found = labelled(&session, &format!("pair {process} {at}"));
        let expected = if at.parse::<u64>().unwrap() % 3 == 0 { 1 } else { 2 };
        assert_eq!(found.len(), expected, "{line}");
    }
    // A pair of which only half was made would have another number.
    let all = session.find(&Attributes::new().number(CKA_CLASS, CKO_PRIVATE_KEY)).unwrap();
    assert!(all.len() >= said.lines().count());
    println!("# {} of {} pairs were acknowledged", said.lines().count(), all.len());
}

fn limited() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let session = entered();
    let (before, limits) = (std::fs::read(file()).unwrap(), getrlimit(Resource::Fsize));
    for more in 0..700 {
        let current = Some((before.len() + more) as u64);
        setrlimit(Resource::Fsize, Rlimit { current, maximum: limits.maximum }).unwrap();
        match session.create(&data_object("limited", true)) {
            Ok(_) => {
                assert!(more > 300);
                break;
            }
            Err(rv) => assert_eq!(rv, CKR_DEVICE_MEMORY),
        }
        assert_eq!(std::fs::read(file()).unwrap(), before);
        assert_eq!(labelled(&session, "limited"), []);
    }
    assert_eq!(labelled(&session, "limited").len(), 1);
}

/// In a file system that is full.
fn full() {
    new_token();
    let session = entered();
    let filler = data().join("filler");
    let mut made = 0;
    while session.create(&data_object("some", true)).is_ok() && made < 1000 {
        made += 1;
    }
    assert!(made < 1000);
    assert_eq!(session.create(&data_object("some", true)), Err(CKR_DEVICE_MEMORY));
    assert_eq!(labelled(&session, "some").len(), made);
    // PINs are counted and checked all the same.
    logout(&session).unwrap();
    assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
    login(&session, CKU_USER, PIN).unwrap();
    assert_eq!(labelled(&session, "some").len(), made);
    // Destroying takes room, too, but less.
    let _ = std::fs::remove_file(filler);
    println!("# {made} objects in a full file system");
}

fn read_only() {
    let flags = token_info().unwrap().flags;
    assert!(flags & CKF_WRITE_PROTECTED != 0 && flags & CKF_TOKEN_INITIALIZED != 0);
    let session = entered();
    assert_eq!(labelled(&session, "private").len(), 1);
    assert_eq!(session.create(&data_object("x", true)), Err(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!(session.destroy(labelled(&session, "private")[0]), Err(CKR_TOKEN_WRITE_PROTECTED));
    session.copy(labelled(&session, "private")[0], &Attributes::new().flag(CKA_TOKEN, false)).unwrap();
    assert_eq!(set_pin(&session, PIN, b"new pin"), Err(CKR_TOKEN_WRITE_PROTECTED));
    logout(&session).unwrap();
    for _ in 0..3 {
        assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT));
    }
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_LOCKED));
}

fn no_place() {
    // A home that cannot be written to.
    assert_eq!(token_info().unwrap().flags & (CKF_WRITE_PROTECTED | CKF_TOKEN_INITIALIZED), CKF_WRITE_PROTECTED);
    assert_eq!(init_token(SO_PIN), Err(CKR_TOKEN_WRITE_PROTECTED));
    common::Session::open();
}

fn with_private() {
    new_token();
    entered().create(&data_object("private", true)).unwrap();
}

fn refused() {
    let expected: CK_RV = std::env::var("EXPECTED").unwrap().parse().unwrap();
    assert_eq!(token_info().err(), Some(expected));
    assert_eq!(Session::open_in(SLOT, RO).err(), Some(expected));
    assert_eq!(init_token(SO_PIN), Err(expected));
    // The others go on.
    common::Session::open();
}

fn safe_functions() -> &'static CK_FUNCTION_LIST_3_2 {
    common::functions();
    let mut interface = std::ptr::null_mut();
    let mut version = CK_VERSION { major: 3, minor: 2 };
    let (flags, name) = (CKF_INTERFACE_FORK_SAFE, std::ptr::null_mut());
    // SAFETY: the arguments live; the list of an interface of version 3.2 is of this type, and lives for good.
    #[allow(unsafe_code)]
    unsafe {
        assert_eq!(adjunct_pkcs11::C_GetInterface(name, &raw mut version, &raw mut interface, flags), CKR_OK);
        &*(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>()
    }
}

/// Runs `body` in a child; whether it ended well within its time.
#[allow(unsafe_code)]
fn in_child(body: impl FnOnce()) -> bool {
    // SAFETY: the child does what the module's interface promises it may, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(30);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
            libc::_exit(if done { 0 } else { 1 });
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        status == 0
    }
}

/// Calls a function of the interface that goes on in children.
macro_rules! safe {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = safe_functions().$name.expect(stringify!($name));
        // SAFETY: the arguments are what the standard says.
        #[allow(unsafe_code)]
        unsafe { function($($argument),*) }
    }};
}

/// Creates an object, and finds it, in a child that goes on with its parent's session.
fn go_on(session: CK_SESSION_HANDLE, label: &str) {
    let mut handle = 0;
    let made =
        data_object(label, true).with(|list, count| safe!(C_CreateObject(session, list, count, &raw mut handle)));
    assert_eq!(made, CKR_OK);
    let template = Attributes::new().bytes(CKA_LABEL, label.as_bytes());
    assert_eq!(template.with(|list, count| safe!(C_FindObjectsInit(session, list, count))), CKR_OK);
    let (mut found, mut count) = ([0; 4], 0);
    assert_eq!(safe!(C_FindObjects(session, found.as_mut_ptr(), 4, &raw mut count)), CKR_OK);
    assert_eq!((count, found[0]), (1, handle));
    assert_eq!(safe!(C_FindObjectsFinal(session)), CKR_OK);
}

fn fork() {
    new_token();
    let session = entered();
    let (public, private) = ec_pair(&session, "pair").unwrap();
    sign(&session, private, public);
    safe_functions();
    assert!(in_child(|| {
        assert_eq!(p11!(C_FindObjectsInit(session.0, std::ptr::null_mut(), 0)), CKR_CRYPTOKI_NOT_INITIALIZED);
        // As nginx's workers are: the token is found all the same.
        // SAFETY: the child has one thread.
        #[allow(unsafe_code)]
        unsafe {
            libc::clearenv();
        }
        assert_eq!(p11!(C_Initialize(std::ptr::null_mut())), CKR_OK);
        let own = open(RW);
        assert_eq!(labelled(&own, "pair").len(), 1);
        login(&own, CKU_USER, PIN).unwrap();
        let found = labelled(&own, "pair");
        assert_eq!(found.len(), 2);
        own.create(&data_object("of a strict child", true)).unwrap();
    }));
    assert!(in_child(|| go_on(session.0, "of a child that goes on")));
    assert_eq!(labelled(&session, "of a strict child").len(), 1);
    assert_eq!(labelled(&session, "of a child that goes on").len(), 1);
    // Forks while other threads are within.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (stop, session) = (&stop, &session);
            scope.spawn(move || {
                let own = open(RW);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    match thread {
                        0 => session.destroy(session.create(&data_object("short", true)).unwrap()).unwrap(),
                        1 => drop(own.find(&Attributes::new()).unwrap()),
                        _ => drop(token_info().unwrap()),
                    }
                }
            });
        }
        let well = (0..30).filter(|at| in_child(|| go_on(session.0, &format!("child {at}")))).count();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(well, 30);
    });
    for at in 0..30 {
        assert_eq!(labelled(&session, &format!("child {at}")).len(), 1);
    }
}

fn fill() {
    new_token();
    let session = entered();
    let begin = Instant::now();
    for at in 0..10_000 {
        session.create(&data_object(&format!("object {at}"), at % 2 == 0)).unwrap();
    }
    println!("# 10,000 objects made one by one in {:?}", begin.elapsed());
}

fn filled() {
    let begin = Instant::now();
    common::functions();
    println!("# C_Initialize beside 10,000 objects: {:?}", begin.elapsed());
    let session = open(RW);
    let begin = Instant::now();
    assert_eq!(labelled(&session, "object 5001").len(), 1);
    println!("# first search, which reads the public ones: {:?}", begin.elapsed());
    let begin = Instant::now();
    login(&session, CKU_USER, PIN).unwrap();
    println!("# C_Login: {:?}", begin.elapsed());
    for label in ["object 5000", "object 77"] {
        let begin = Instant::now();
        assert_eq!(labelled(&session, label).len(), 1);
        println!("# search by label: {:?}", begin.elapsed());
    }
    let begin = Instant::now();
    for _ in 0..100_000 {
        open(RO);
    }
    println!("# session opened and closed: {:?}", begin.elapsed() / 100_000);
}

/// Not a test: what the tests call this program for.
#[test]
fn scenario() {
    let Ok(name) = std::env::var("SCENARIO") else { return };
    macro_rules! scenarios {
        ($($scenario:ident)*) => {
            match &name[..] {
                $(stringify!($scenario) => $scenario(),)*
                _ => panic!("{name}"),
            }
        };
    }
    scenarios! {
        life again wrong killed_while_trying count_low context two_processes other other_after many initialize endless
        after_kills limited full read_only no_place with_private refused fork fill filled new_token
    }
}

// The tests.

#[test]
fn a_token_lives_as_the_standard_says() {
    let home = home();
    run("life", home.path());
    run("again", home.path());
}

#[test]
fn wrong_pins_count_across_processes() {
    let home = home();
    run("new_token", home.path());
    (0..4).for_each(|_| _ = run("wrong", home.path()));
}

#[test]
fn a_try_counts_before_it_is_made() {
    let home = home();
    run("new_token", home.path());
    assert!(!command("killed_while_trying", home.path()).output().unwrap().status.success());
    run("count_low", home.path());
}

#[test]
fn a_key_that_wants_the_pin_each_time_gets_it() {
    run("context", home().path());
}

#[test]
fn processes_see_each_others_objects() {
    run("two_processes", home().path());
}

#[test]
fn what_was_acknowledged_outlives_kills() {
    let home = home();
    run("new_token", home.path());
    let mut said = String::new();
    for round in 0..20_u64 {
        let mut command = command("endless", home.path());
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        // A kill while the PIN is tried counts as a try.
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut output = String::new();
        while !output.contains("\n+ ") {
            assert!(out.read_line(&mut output).unwrap() > 0);
        }
        std::thread::sleep(Duration::from_micros(1000 + 3777 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        out.read_to_string(&mut output).unwrap();
        // A last line without its end is none.
        let whole = &output[..output.rfind('\n').map_or(0, |at| at + 1)];
        whole.lines().filter_map(|line| line.strip_prefix("+ ")).for_each(|line| said += &format!("{line}\n"));
    }
    std::fs::write(home.path().join("said"), said).unwrap();
    run("after_kills", home.path());
}

#[test]
fn a_file_that_may_not_grow_stays_what_it_is() {
    let home = home();
    run("new_token", home.path());
    run("limited", home.path());
}

#[test]
fn a_full_file_system_loses_nothing() {
    let home = home();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(home.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let output = command("full", home.path()).output().unwrap();
    let unmounted = Command::new("umount").arg(home.path()).status().unwrap();
    assert!(output.status.success() && unmounted.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_store_that_cannot_be_written_to_works() {
    let home = home();
    run("with_private", home.path());
    let tokens = home.path().join("adjunct/tokens");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let root = rustix::process::geteuid().is_root();
    let mut command = command("read_only", home.path());
    if root {
        // Root may write anywhere: somebody else, then, who may read.
        [home.path(), &home.path().join("adjunct"), &tokens].into_iter().for_each(|path| mode(path, 0o755));
        mode(&tokens.join("default.token"), 0o644);
        command.uid(65534).gid(65534);
    } else {
        mode(&tokens.join("default.token"), 0o400);
        mode(&tokens, 0o500);
    }
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("not tried: {error}"),
    }
    // The same by word of the administrator.
    let text =
        format!("[[token]]\nslot = 3\npath = \"{}\"\nread-only = true\n", tokens.join("default.token").display());
    std::fs::write(home.path().join("conf"), text).unwrap();
    mode(&tokens, 0o700);
    let mut command = self::command("read_only", home.path());
    let output = command.env("ADJUNCT_PKCS11_CONF", home.path().join("conf")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_home_that_cannot_be_written_to_is_no_error() {
    run("no_place", Path::new("/proc/self/nothing"));
}

#[test]
fn a_file_that_is_not_trusted_is_refused_in_a_line() {
    let home = home();
    run("with_private", home.path());
    let tokens = home.path().join("adjunct/tokens");
    let file = tokens.join("default.token");
    let refused = |words: &str, rv: CK_RV| {
        let output = command("refused", home.path()).env("EXPECTED", rv.to_string()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}: {err}");
        let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("adjunct: ")).collect();
        assert!(lines.len() == 1 && lines[0].contains(words), "{words}: {lines:?}");
    };
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(&file, 0o660);
    refused("writable by others", CKR_DEVICE_ERROR);
    mode(&file, 0o600);
    mode(&tokens, 0o777);
    refused("writable by others", CKR_DEVICE_ERROR);
    mode(&tokens, 0o700);
    let whole = std::fs::read(&file).unwrap();
    let mut bytes = whole.clone();
    bytes[300] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    refused("damaged", CKR_DEVICE_ERROR);
    let mut bytes = whole.clone();
    bytes[16] = 2;
    let crc = crc32fast::hash(&bytes[..124]);
    bytes[124..128].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&file, &bytes).unwrap();
    refused("newer adjunct (version 2 of the format)", CKR_TOKEN_NOT_RECOGNIZED);
    std::fs::write(&file, &whole).unwrap();
    std::fs::rename(&file, tokens.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(tokens.join("elsewhere"), &file).unwrap();
    refused("is a link", CKR_DEVICE_ERROR);
}

#[test]
fn children_go_on_or_begin_anew() {
    run("fork", home().path());
}

#[test]
fn ten_thousand_objects() {
    // In memory where that can be: how long a disk takes is not of interest.
    let home = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| home());
    run("fill", home.path());
    run("filled", home.path());
}
