//! What a card's process gives up before it serves programs: core dumps, inspection by other processes, and all system calls except those it needs.

#![allow(unsafe_code)]

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use std::io;

/// The most that a card's process may map for a worker, in bytes, of which most is never touched: its stack, and the 128 MB that malloc reserves to
/// keep 64 of them. [`OF_ALL`] is for all workers: what is mapped at the start, the keys and the requests that wait.
const OF_A_WORKER: u64 = 136 << 20;
const OF_ALL: u64 = 64 << 20;

/// Has malloc keep what is freed. Where it gives a part of a thread's heap back, glibc first reads how the system commits memory, in a file:
/// the filter would end the process for that, whenever enough requests had waited.
pub fn keep_freed_memory() {
    // SAFETY: no pointers; other threads of this process do not exist yet.
    unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, -1) };
}

/// Descriptors that a card has at most: each connection is one.
const DESCRIPTORS: u64 = 65_536;

/// Has as many descriptors as the limits allow.
pub fn have_descriptors() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(u64::MAX).min(DESCRIPTORS);
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// Keeps keys out of core dumps and of other processes' eyes.
///
/// # Errors
/// What the system says.
pub fn hide_memory() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Keeps keys out of the swap where the limit of locked memory allows it; whether it does. All that is mapped counts for that limit, touched or not, and an
/// allocation that it refuses ends the process: where it is not enough for all that so many threads may map, and these further bytes, nothing is locked.
///
/// # Errors
/// What the system says.
pub fn lock_memory(threads: usize, further: usize) -> io::Result<bool> {
    if !may_lock(OF_ALL + threads as u64 * OF_A_WORKER + further as u64) {
        return Ok(false);
    }
    // SAFETY: no pointers. What is mapped later is locked when it is first touched.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) } == 0;
    if !locked {
        // Half done, it would have later allocations refused for the limit.
        // SAFETY: no pointers.
        unsafe { libc::munlockall() };
    }
    Ok(locked)
}

/// Whether `bytes` bytes may be locked: by the limit, or by the capability that lifts it.
fn may_lock(bytes: u64) -> bool {
    let free = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    free || getrlimit(Resource::Memlock).current.is_none_or(|limit| limit >= bytes)
}

/// Ends the process at any system call but those that a card works with, and those that its service adds, in all its threads; `groups` says whether
/// the groups of programs are read, `bulk` whether messages come and go in files. Whether there is such a filter for this architecture.
///
/// # Errors
/// What the system or the filter's compiler says.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn close_filter(further: &[libc::c_long], groups: bool, bulk: bool) -> io::Result<bool> {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch, apply_filter_all_threads,
    };
    const PROT_EXEC: u64 = libc::PROT_EXEC as u64;
    #[cfg(target_arch = "x86_64")]
    const HERE: TargetArch = TargetArch::x86_64;
    #[cfg(target_arch = "aarch64")]
    const HERE: TargetArch = TargetArch::aarch64;
    let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let equal = |argument, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).map_err(|e| failed(&e))
    };
    let rule = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions).map_err(|e| failed(&e));
    let no_code = || {
        SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(PROT_EXEC), 0).map_err(|e| failed(&e))
    };
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        PLAIN.iter().chain(further).map(|&call| (call, Vec::new())).collect();
    // Programs that have connected, and who they are: no socket is made here.
    let who = [Some(libc::SO_PEERCRED), groups.then_some(libc::SO_PEERGROUPS)];
    let who = who.into_iter().flatten().map(|option| {
        rule(vec![equal(1, u64::from(libc::SOL_SOCKET.cast_unsigned()))?, equal(2, u64::from(option.cast_unsigned()))?])
    });
    rules.insert(libc::SYS_getsockopt, who.collect::<io::Result<Vec<_>>>()?);
    if bulk {
        rules.insert(libc::SYS_memfd_create, Vec::new());
        rules.insert(libc::SYS_ftruncate, Vec::new());
        let seals = [libc::F_GET_SEALS, libc::F_ADD_SEALS, libc::F_DUPFD_CLOEXEC];
        let seals = seals.into_iter().map(|command| rule(vec![equal(1, u64::from(command.cast_unsigned()))?]));
        rules.insert(libc::SYS_fcntl, seals.collect::<io::Result<Vec<_>>>()?);
    }
    // Memory without a file.
    rules.insert(libc::SYS_mmap, vec![rule(vec![equal(4, 0xffff_ffff)?, no_code()?])?]);
    rules.insert(libc::SYS_mprotect, vec![rule(vec![no_code()?])?]);
    let filter = SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, HERE);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| failed(&e))?;
    apply_filter_all_threads(&program).map_err(|e| failed(&e))?;
    Ok(true)
}

/// System calls that every card makes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const PLAIN: &[libc::c_long] = &[
    // aarch64 has none of these, but the calls of the next lines alone.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_ctl,
    libc::SYS_ppoll,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_close,
    libc::SYS_futex,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_sched_yield,
    // How a thread is scheduled, before its first operation in a batch, and on which CPU it runs.
    libc::SYS_sched_getattr,
    libc::SYS_getcpu,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// There is no filter for this architecture: false.
///
/// # Errors
/// None.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn close_filter(_further: &[libc::c_long], _groups: bool, _bulk: bool) -> io::Result<bool> {
    Ok(false)
}
