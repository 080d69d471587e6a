//! Children of fork.

use super::*;

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

pub fn another_user() {
    new_token();
    assert!(token_info().unwrap().flags & CKF_TOKEN_INITIALIZED != 0);
    assert!(in_child(|| {
        // SAFETY: the child has one thread.
        #[allow(unsafe_code)]
        let become_another = unsafe { libc::setgid(65534) == 0 && libc::setuid(65534) == 0 };
        assert!(become_another && p11!(C_Initialize(std::ptr::null_mut())) == CKR_OK);
        assert_eq!(Session::open_in(SLOT, RO).err(), Some(CKR_DEVICE_ERROR));
        common::Session::open();
    }));
}

/// A child that has become another user, as nginx's workers, says what it cannot read though its parent could.
#[test]
fn a_child_that_has_become_another_user_says_what_it_cannot_read() {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED: only root becomes another user");
    }
    let home = home();
    let output = run("another_user", home.path());
    let err = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("adjunct: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("user 65534 may not look into its directory"), "{lines:?}");
}

pub fn fork() {
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
    // Forks while other threads are within, some of which write together.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..5 {
            let (stop, session) = (&stop, &session);
            scope.spawn(move || {
                let own = open(RW);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    match thread {
                        0 => drop(own.find(&Attributes::new()).unwrap()),
                        1 => drop(token_info().unwrap()),
                        _ => session.destroy(session.create(&data_object("short", true)).unwrap()).unwrap(),
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

#[test]
fn children_go_on_or_begin_anew() {
    run("fork", home().path());
}
