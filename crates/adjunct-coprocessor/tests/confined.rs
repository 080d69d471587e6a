//! The system calls that the crate names are all that it makes: everything is done in a process that is killed at any other.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod common;
#[path = "../../adjunct-tpm/tests/software/mod.rs"]
mod software;

use adjunct_coprocessor::CALLS;
use adjunct_coprocessor::audit::{Detail, Log};
use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::seal::Opener;
use adjunct_tpm::Connection;
use common::*;
use software::Software;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Memory, locks, clock, randomness, and the end.
const PLAIN: &[libc::c_long] = &[
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_close,
    libc::SYS_exit_group,
];

/// Ends the process at any other call of this thread.
#[allow(unsafe_code)]
fn confine() {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let equal = |k: u32, jt: u8| libc::sock_filter { jt, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k) };
    let calls: Vec<_> = PLAIN.iter().chain(CALLS).collect();
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    program.extend(calls.iter().enumerate().map(|(at, call)| equal(**call as u32, (calls.len() - at) as u8)));
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_KILL_PROCESS));
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the filter.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        assert_eq!(libc::syscall(libc::SYS_seccomp, mode, 0, &raw const filter), 0, "no filter");
    }
}

/// All that a card does after it has given up the other calls; only where [`nothing_else_is_called`] starts it.
#[test]
fn child() {
    let Some(folder) = std::env::var_os("ADJUNCT_TEST_CONFINED") else { return };
    let folder = Path::new(&folder);
    adjunct::init();
    // Half a line at the log's end, as a crash leaves it.
    std::fs::write(folder.join("audit"), "{\"number\":1").unwrap();
    let (vault, again, audit) = (file(folder, "vault"), file(folder, "vault"), file(folder, "audit"));
    // A log that takes no line.
    let full = File::open(folder.join("audit")).unwrap();
    let tpm = std::env::var_os("ADJUNCT_TEST_TPM").map(|path| Arc::new(Connection::open(Path::new(&path)).unwrap()));
    confine();
    let phrase = Opener::passphrase(b"correct horse").unwrap();
    let log = Log::open(audit).unwrap();
    let keeper = Keeper::open(vault, &phrase, Some(log), tpm.clone(), new_state()).unwrap();
    keeper.change(&caller(1), Some(0), "set", |state| set_key(state, 0, 1)).unwrap();
    keeper.change(&caller(1), Some(0), "refused", |_| Err::<(), _>("no")).unwrap_err();
    keeper.note(&caller(1), None, "start", "done", Detail::new(), true).unwrap();
    keeper.reseal(&caller(1), &tpm.as_ref().map_or(by(), |tpm| Opener::Tpm(tpm))).unwrap();
    keeper.checkpoint().unwrap();
    drop(keeper);
    let opener = tpm.as_ref().map_or(by(), |tpm| Opener::Tpm(tpm));
    let log = Log::open(full).unwrap();
    let keeper = Keeper::open(again, &opener, Some(log), tpm.clone(), new_state()).unwrap();
    assert_eq!(keeper.read(current), Some(1));
    assert!(keeper.change(&caller(1), Some(0), "set", |state| set_key(state, 0, 2)).is_err());
    assert!(!keeper.findings().is_empty());
    println!("all was done");
    std::process::exit(0);
}

#[test]
fn nothing_else_is_called() {
    let tpm = Software::new();
    for tpm in [None, tpm.as_ref()] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture"]).env("ADJUNCT_TEST_CONFINED", folder.path());
        if let Some(tpm) = tpm {
            command.env("ADJUNCT_TEST_TPM", tpm.socket());
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("all was done"), "{output:?}");
    }
}
