//! What programs do to a module: fork beside its threads, end it while they are inside, unload it, close its descriptors.

#![allow(unsafe_code)]

mod loaded;

use cryptoki_sys::*;
use loaded::{ACCELERATOR, Functions, STORE, deep, functions, inside, load};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Forks; `body` runs in the child, which ends with its result. A child that hangs is ended by a signal.
fn child(body: impl FnOnce() -> Result<(), String>) -> libc::pid_t {
    // SAFETY: the child calls the module, which is made for that, and writes a line before it ends without anything of this program's.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0, "fork");
        if pid == 0 {
            libc::alarm(60);
            let code = match body() {
                Ok(()) => 0,
                Err(words) => {
                    libc::write(2, words.as_ptr().cast(), words.len());
                    1
                }
            };
            libc::_exit(code);
        }
        pid
    }
}

fn wait(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: a child of this process; the status lives.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    status
}

/// A child by the standard: it initializes the module, and then has nothing of its parent's.
fn strict_child(strict: Functions, session: CK_SESSION_HANDLE, number: u64) -> Result<(), String> {
    let rv = at!(strict, C_GetSessionInfo(session, &mut CK_SESSION_INFO::default()));
    if rv != CKR_CRYPTOKI_NOT_INITIALIZED {
        return Err(format!("before C_Initialize: {rv:#x}"));
    }
    if number.is_multiple_of(4) {
        // As pkcs11-provider does.
        let rv = at!(strict, C_Finalize(null_mut()));
        if rv != CKR_CRYPTOKI_NOT_INITIALIZED {
            return Err(format!("C_Finalize before C_Initialize: {rv:#x}"));
        }
    }
    strict.initialize()?;
    let rv = at!(strict, C_GetSessionInfo(session, &mut CK_SESSION_INFO::default()));
    if rv != CKR_SESSION_HANDLE_INVALID {
        return Err(format!("the parent's session: {rv:#x}"));
    }
    let own = strict.open(ACCELERATOR)?;
    let key = strict.pair(own)?;
    strict.everything(key)?;
    strict.finalize()
}

/// A child that uses the interface with CKF_INTERFACE_FORK_SAFE goes on with a copy of its parent's sessions and objects.
fn inheriting_child(
    safe: Functions,
    session: CK_SESSION_HANDLE,
    key: CK_OBJECT_HANDLE,
    number: u64,
) -> Result<(), String> {
    safe.sign(session, CKM_ECDSA, key)?;
    safe.everything(key)?;
    if number % 4 == 1 {
        safe.close(session)?;
    }
    if number % 8 == 3 {
        let rv = at!(safe, C_CloseAllSessions(ACCELERATOR));
        if rv != CKR_OK {
            return Err(format!("C_CloseAllSessions: {rv:#x}"));
        }
    }
    safe.finalize()
}

#[test]
fn children_of_a_busy_process_work() {
    if !inside("children_of_a_busy_process_work") {
        return;
    }
    let (strict, safe) = (functions(0), functions(CKF_INTERFACE_FORK_SAFE));
    strict.initialize().unwrap();
    let session = strict.open(ACCELERATOR).unwrap();
    let key = strict.pair(session).unwrap();
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    strict.everything(key).unwrap();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let forks = if deep() { 1000 } else { 50 };
        let mut wrong = Vec::new();
        for number in 0..forks {
            let pid = child(|| match number % 2 {
                0 => strict_child(strict, session, number),
                _ => inheriting_child(safe, session, key, number),
            });
            let status = wait(pid);
            if status != 0 {
                wrong.push((number, status));
            }
        }
        // The parent has noticed nothing.
        let before = rounds.load(Ordering::Relaxed);
        while rounds.load(Ordering::Relaxed) < before + 8 {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(wrong, [], "of {forks} children, by number and status");
        println!("# {forks} of {forks} children");
    });
    strict.sign(session, CKM_ECDSA, key).unwrap();
    strict.finalize().unwrap();
}

/// Children of children, and children that end without C_Finalize.
#[test]
fn grandchildren_work() {
    if !inside("grandchildren_work") {
        return;
    }
    let (strict, safe) = (functions(0), functions(CKF_INTERFACE_FORK_SAFE));
    strict.initialize().unwrap();
    let session = strict.open(ACCELERATOR).unwrap();
    let key = strict.pair(session).unwrap();
    let status = wait(child(|| {
        safe.sign(session, CKM_ECDSA, key)?;
        let status = wait(child(|| {
            safe.sign(session, CKM_ECDSA, key)?;
            let status = wait(child(|| strict_child(strict, session, 0)));
            if status == 0 { Ok(()) } else { Err(format!("a great-grandchild: {status:#x}")) }
        }));
        if status == 0 { Ok(()) } else { Err(format!("a grandchild: {status:#x}")) }
    }));
    assert_eq!(status, 0);
    // What the children did is not seen here.
    strict.sign(session, CKM_ECDSA, key).unwrap();
}

#[test]
fn threads_that_are_inside_survive_the_end() {
    if !inside("threads_that_are_inside_survive_the_end") {
        return;
    }
    let module = functions(0);
    let (stop, inside) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // Handles of before the end are wrong after it, wherever the thread was.
                    if let Err(words) = module.everything(0) {
                        let ended = ["0x190", "0xb3", "0x60", "0x82", "0x91"]
                            .iter()
                            .any(|rv| words.ends_with(&format!(": {rv}")));
                        assert!(ended || words.contains("objects found"), "{words}");
                    }
                    inside.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..if deep() { 5000 } else { 500 } {
            module.initialize().unwrap();
            let before = inside.load(Ordering::Relaxed);
            while inside.load(Ordering::Relaxed) < before + 3 {
                std::thread::yield_now();
            }
            module.finalize().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    module.initialize().unwrap();
    module.everything(0).unwrap();
    // Nothing is left of the sessions.
    let mut info = CK_TOKEN_INFO::default();
    assert_eq!(at!(module, C_GetTokenInfo(ACCELERATOR, &mut info)), CKR_OK);
    assert_eq!((info.ulSessionCount, info.ulRwSessionCount), (0, 0));
}

#[test]
fn it_is_loaded_and_unloaded_again_and_again() {
    if !inside("it_is_loaded_and_unloaded_again_and_again") {
        return;
    }
    type Get = unsafe extern "C" fn(*mut *mut CK_FUNCTION_LIST) -> CK_RV;
    for number in 0..100 {
        let library = load();
        let mut list = null_mut();
        // SAFETY: the function of that name is of this type, and gives a list that lives at least as long as the library is loaded.
        let list = unsafe {
            let get = library.get::<Get>(b"C_GetFunctionList").unwrap();
            assert_eq!(get(&raw mut list), CKR_OK);
            &*list
        };
        let rv = at!(list, C_Initialize(null_mut()));
        // Who unloads it without C_Finalize finds it as it was.
        let left = number % 3 == 1;
        assert_eq!(rv, if left { CKR_CRYPTOKI_ALREADY_INITIALIZED } else { CKR_OK }, "{number}");
        let (mut session, mut out) = (0, [0; 8]);
        assert_eq!(at!(list, C_OpenSession(ACCELERATOR, loaded::RW, null_mut(), None, &mut session)), CKR_OK);
        assert_eq!(at!(list, C_GenerateRandom(session, out.as_mut_ptr(), 8)), CKR_OK);
        if number % 3 != 0 {
            assert_eq!(at!(list, C_Finalize(null_mut())), CKR_OK);
        }
        drop(library);
    }
}

#[test]
fn closed_descriptors_are_not_missed() {
    if !inside("closed_descriptors_are_not_missed") {
        return;
    }
    let module = functions(0);
    module.initialize().unwrap();
    let mut label = *b"descriptors                     ";
    let (mut so, mut pin) = (*b"87654321", *b"12345678");
    assert_eq!(at!(module, C_InitToken(STORE, so.as_mut_ptr(), 8, label.as_mut_ptr())), CKR_OK);
    let store = module.open(STORE).unwrap();
    assert_eq!(at!(module, C_Login(store, CKU_SO, so.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(at!(module, C_InitPIN(store, pin.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(at!(module, C_Logout(store)), CKR_OK);
    assert_eq!(at!(module, C_Login(store, CKU_USER, pin.as_mut_ptr(), 8)), CKR_OK);
    let session = module.open(ACCELERATOR).unwrap();
    let key = module.pair(session).unwrap();
    module.everything(key).unwrap();
    // As closefrom(3) does; then the program's own files get the numbers.
    // SAFETY: this process has nothing else open that it needs.
    unsafe { libc::close_range(3, u32::MAX, 0) };
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..64)
        .map(|number| {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, b"the program's").unwrap();
            let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
            assert!(file.as_raw_fd() >= 3);
            (path, file)
        })
        .collect();
    module.everything(key).unwrap();
    module.sign(session, CKM_ECDSA, key).unwrap();
    // What stays is written where it belongs, or refused.
    let (class, yes, value) = (CKO_DATA, CK_TRUE, *b"value");
    let mut template = [
        loaded::attribute(CKA_CLASS, &class),
        loaded::attribute(CKA_TOKEN, &yes),
        loaded::attribute(CKA_LABEL, b"closed.."),
        loaded::attribute(CKA_VALUE, &value),
    ];
    let mut object = 0;
    let rv = at!(module, C_CreateObject(store, template.as_mut_ptr(), 4, &mut object));
    assert_eq!(rv, CKR_OK);
    assert_eq!(module.find(store, b"closed.."), Ok(1));
    assert_eq!(at!(module, C_Logout(store)), CKR_OK);
    assert_eq!(at!(module, C_Login(store, CKU_USER, pin.as_mut_ptr(), 8)), CKR_OK);
    module.finalize().unwrap();
    module.initialize().unwrap();
    let store = module.open(STORE).unwrap();
    assert_eq!(at!(module, C_Login(store, CKU_USER, pin.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(module.find(store, b"closed.."), Ok(1));
    module.finalize().unwrap();
    for (path, _) in &files {
        assert_eq!(std::fs::read(path).unwrap(), b"the program's", "{}", path.display());
    }
}

/// Keys of lattices: what a thread of a program with small stacks asks for.
fn lattices(module: Functions, session: CK_SESSION_HANDLE) -> Result<(), String> {
    for (make, sign, set) in
        [(CKM_ML_DSA_KEY_PAIR_GEN, Some(CKM_ML_DSA), CKP_ML_DSA_87), (CKM_ML_KEM_KEY_PAIR_GEN, None, CKP_ML_KEM_1024)]
    {
        let mut mechanism = CK_MECHANISM { mechanism: make, pParameter: null_mut(), ulParameterLen: 0 };
        let (mut public, mut keys) = ([loaded::attribute(CKA_PARAMETER_SET, &set)], (0, 0));
        let (first, second) = (&raw mut keys.0, &raw mut keys.1);
        let rv = at!(
            module,
            C_GenerateKeyPair(session, &raw mut mechanism, public.as_mut_ptr(), 1, null_mut(), 0, first, second)
        );
        if rv != CKR_OK {
            return Err(format!("C_GenerateKeyPair: {rv:#x}"));
        }
        let Some(kind) = sign else { continue };
        let mut mechanism = CK_MECHANISM { mechanism: kind, pParameter: null_mut(), ulParameterLen: 0 };
        let (mut data, mut out, mut length) = ([9; 32], vec![0; 8192], 8192);
        let rvs = [
            at!(module, C_SignInit(session, &raw mut mechanism, keys.1)),
            at!(module, C_Sign(session, data.as_mut_ptr(), 32, out.as_mut_ptr(), &raw mut length)),
            at!(module, C_VerifyInit(session, &raw mut mechanism, keys.0)),
            at!(module, C_Verify(session, data.as_mut_ptr(), 32, out.as_mut_ptr(), length)),
        ];
        if rvs != [CKR_OK; 4] {
            return Err(format!("{rvs:x?}"));
        }
    }
    Ok(())
}

#[test]
fn threads_may_have_small_stacks() {
    if !inside("threads_may_have_small_stacks") {
        return;
    }
    let module = functions(0);
    module.initialize().unwrap();
    let session = module.open(ACCELERATOR).unwrap();
    let key = module.pair(session).unwrap();
    let within = |kib: usize, work: fn(Functions, CK_SESSION_HANDLE, CK_OBJECT_HANDLE) -> Result<(), String>| {
        let thread = std::thread::Builder::new().stack_size(kib << 10).spawn(move || work(module, session, key));
        thread.unwrap().join().unwrap().unwrap();
    };
    within(64, |module, session, key| {
        module.pair(session)?;
        module.everything(key)
    });
    // AWS-LC has the vectors of ML-DSA-87 on the stack, 120 KB, for which there is a stack of the module's own where it can switch.
    let switches = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    within(if switches { 64 } else { 128 }, |module, session, _| lattices(module, session));
}

/// A session is closed while another thread has used it last and is still its owner: its operations end, and its number becomes invalid in all
/// threads.
#[test]
fn sessions_that_threads_used_last_are_closed_whole() {
    if !inside("sessions_that_threads_used_last_are_closed_whole") {
        return;
    }
    let module = functions(0);
    module.initialize().unwrap();
    for _ in 0..20 {
        let session = module.open(ACCELERATOR).unwrap();
        let (barrier, other) = (&Barrier::new(2), &AtomicU64::new(0));
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let key = module.pair(session).unwrap();
                let mut mechanism = CK_MECHANISM { mechanism: CKM_ECDSA, pParameter: null_mut(), ulParameterLen: 0 };
                assert_eq!(at!(module, C_SignInit(session, &raw mut mechanism, key)), CKR_OK);
                barrier.wait();
                barrier.wait();
                // The session is gone, and so is the key that was to end with it; another is none of it.
                assert!(module.random(session).is_err());
                let (next, mut size) = (other.load(Ordering::SeqCst), 0);
                assert_eq!(at!(module, C_GetObjectSize(next, key, &raw mut size)), CKR_OBJECT_HANDLE_INVALID);
                module.random(next).unwrap();
            });
            barrier.wait();
            assert_eq!(at!(module, C_CloseSession(session)), CKR_OK);
            assert_eq!(at!(module, C_CloseSession(session)), CKR_SESSION_HANDLE_INVALID);
            let next = module.open(ACCELERATOR).unwrap();
            assert_ne!(next, session);
            other.store(next, Ordering::SeqCst);
            barrier.wait();
            thread.join().unwrap();
            assert_eq!(at!(module, C_CloseSession(next)), CKR_OK);
        });
    }
    module.finalize().unwrap();
}
