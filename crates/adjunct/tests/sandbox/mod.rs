//! Programs that close a filter of system calls which kills: for the tests of each module. `filter.h` is their other half.

#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeSet;
use std::process::{Command, Output};

pub type Calls = BTreeSet<libc::c_long>;

/// Programs with this library close filters, and share no batches. (The dynamic loader takes it for preloading where it is.)
pub const LIBSECCOMP: &str = "libseccomp.so.2";

/// What the heap takes and gives back, and how a process ends: which of them a run does depends on its allocations.
const ANY: [libc::c_long; 8] = [
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_write,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Whether this test runs as root, who alone becomes another user.
pub fn root() -> bool {
    // SAFETY: no requirements.
    unsafe { libc::geteuid() == 0 }
}

pub fn said(output: &Output) -> String {
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}: {}{}", output.status, words(&output.stdout), words(&output.stderr))
}

/// The calls that a program makes once its sandbox is closed; `None` where processes may not be traced.
pub fn recorded(command: &mut Command) -> Option<Calls> {
    let output = command.output().expect("the program runs");
    if output.status.code() == Some(77) {
        println!("SKIPPED: no process may be traced here");
        return None;
    }
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    Some(line.split(',').filter_map(|number| number.parse().ok()).chain(ANY).collect())
}

/// What a run of `steps` does or does not do by which of its threads and processes comes first: a parent waits before its child has
/// closed the sandbox or after it (F); threads are waited for or have ended, and are told of another user by a signal, or have ended
/// (P, T).
pub fn by_chance(steps: &str) -> Calls {
    let mut calls = Calls::new();
    if steps.contains('F') {
        calls.insert(libc::SYS_wait4);
    }
    if steps.contains(['P', 'T']) {
        calls.extend([libc::SYS_futex, libc::SYS_rt_sigreturn]);
    }
    calls
}

pub fn list(calls: &Calls) -> String {
    calls.iter().map(|call| format!("{call},")).collect()
}

/// systemd's `SystemCallFilter=~@ipc`, which kills for these.
#[cfg(target_arch = "x86_64")]
pub fn without_ipc() -> String {
    use libc::*;
    let calls = [
        SYS_memfd_create,
        SYS_mq_getsetattr,
        SYS_mq_notify,
        SYS_mq_open,
        SYS_mq_timedreceive,
        SYS_mq_timedsend,
        SYS_mq_unlink,
        SYS_msgctl,
        SYS_msgget,
        SYS_msgrcv,
        SYS_msgsnd,
        SYS_pipe,
        SYS_pipe2,
        SYS_process_madvise,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_semctl,
        SYS_semget,
        SYS_semop,
        SYS_semtimedop,
        SYS_shmat,
        SYS_shmctl,
        SYS_shmdt,
        SYS_shmget,
    ];
    format!("!{}", list(&calls.into_iter().collect()))
}

/// systemd's `SystemCallFilter=@system-service`, which kills for all others: the calls of that group that programs like these
/// could make at all.
#[cfg(target_arch = "x86_64")]
pub fn system_service() -> String {
    use libc::*;
    let calls = [
        // @default
        SYS_arch_prctl,
        SYS_brk,
        SYS_clock_getres,
        SYS_clock_gettime,
        SYS_clock_nanosleep,
        SYS_execve,
        SYS_exit,
        SYS_exit_group,
        SYS_futex,
        SYS_get_robust_list,
        SYS_getegid,
        SYS_geteuid,
        SYS_getgid,
        SYS_getgroups,
        SYS_getpgid,
        SYS_getpgrp,
        SYS_getpid,
        SYS_getppid,
        SYS_getrandom,
        SYS_getresgid,
        SYS_getresuid,
        SYS_getrlimit,
        SYS_getsid,
        SYS_gettid,
        SYS_gettimeofday,
        SYS_getuid,
        SYS_membarrier,
        SYS_mmap,
        SYS_mprotect,
        SYS_munmap,
        SYS_nanosleep,
        SYS_pause,
        SYS_prlimit64,
        SYS_restart_syscall,
        SYS_rseq,
        SYS_rt_sigreturn,
        SYS_sched_getaffinity,
        SYS_sched_yield,
        SYS_set_robust_list,
        SYS_set_tid_address,
        SYS_time,
        // @basic-io, @file-system
        SYS_close,
        SYS_dup,
        SYS_dup2,
        SYS_dup3,
        SYS_lseek,
        SYS_pread64,
        SYS_pwrite64,
        SYS_read,
        SYS_readv,
        SYS_write,
        SYS_writev,
        SYS_access,
        SYS_faccessat,
        SYS_fcntl,
        SYS_fstat,
        SYS_fstatfs,
        SYS_getcwd,
        SYS_getdents64,
        SYS_lstat,
        SYS_newfstatat,
        SYS_open,
        SYS_openat,
        SYS_readlink,
        SYS_readlinkat,
        SYS_stat,
        SYS_statfs,
        SYS_statx,
        SYS_unlink,
        // @io-event, @ipc, @process, @resources, @setuid, @signal, @sync, @timer and single ones
        SYS_poll,
        SYS_eventfd2,
        SYS_epoll_create1,
        SYS_epoll_ctl,
        SYS_epoll_wait,
        SYS_memfd_create,
        SYS_pipe,
        SYS_pipe2,
        SYS_semget,
        SYS_shmat,
        SYS_shmctl,
        SYS_shmdt,
        SYS_shmget,
        SYS_clone,
        SYS_clone3,
        SYS_fork,
        SYS_getrusage,
        SYS_kill,
        SYS_prctl,
        SYS_tgkill,
        SYS_unshare,
        SYS_vfork,
        SYS_wait4,
        SYS_waitid,
        SYS_sched_setaffinity,
        SYS_setrlimit,
        SYS_setuid,
        SYS_setgid,
        SYS_setresuid,
        SYS_setresgid,
        SYS_setreuid,
        SYS_rt_sigaction,
        SYS_rt_sigprocmask,
        SYS_rt_sigpending,
        SYS_sigaltstack,
        SYS_fsync,
        SYS_fdatasync,
        SYS_alarm,
        SYS_setitimer,
        SYS_madvise,
        SYS_mincore,
        SYS_mlock,
        SYS_mremap,
        SYS_ioctl,
        SYS_flock,
        SYS_getcpu,
        SYS_sysinfo,
        SYS_umask,
        SYS_uname,
        SYS_sched_getparam,
        SYS_sched_getscheduler,
    ];
    list(&calls.into_iter().collect())
}
