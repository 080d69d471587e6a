//! Faults at the Nth call by which a thread changes files: it is killed there, in the middle of a write, it stops there, or the call fails.
//!
//! A filter of system calls (seccomp) hands such calls to a signal handler in the same thread, which makes the call or does not. So nothing of the
//! module is changed for it, nor does it matter whether a call goes by way of libc.

#![allow(unsafe_code)]

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI32, AtomicU32};

/// What happens at the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed before it.
    Kill,
    /// The process is killed when half of the bytes are written.
    Half,
    /// The call fails once.
    Once(i32),
    /// The call fails, and each later one.
    From(i32),
    /// The process stops before it (SIGSTOP), until another lets it go on.
    Pause,
    /// The process stops so before it exchanges two files, whichever call that is, or right afterwards.
    PauseBeforeExchange,
    PauseAfterExchange,
}

impl Fault {
    /// All faults that are tried, with their names.
    pub const ALL: [(&str, Fault); 6] = [
        ("kill", Fault::Kill),
        ("half", Fault::Half),
        ("full once", Fault::Once(libc::ENOSPC)),
        ("broken once", Fault::Once(libc::EIO)),
        ("full", Fault::From(libc::ENOSPC)),
        ("broken", Fault::From(libc::EIO)),
    ];

    pub fn kills(self) -> bool {
        matches!(self, Fault::Kill | Fault::Half)
    }
}

static CALLS: AtomicU32 = AtomicU32::new(0);
static AT: AtomicU32 = AtomicU32::new(u32::MAX);
static KIND: AtomicI32 = AtomicI32::new(0);
static EXCHANGES: AtomicU32 = AtomicU32::new(0);
static ERRNO: AtomicI32 = AtomicI32::new(0);

#[cfg(target_arch = "x86_64")]
mod filter {
    use super::*;

    /// Mark in a sixth argument, which none of these calls has: calls of the handler's own.
    const OURS: u64 = 0x6164_6a75_6e63_7421;
    const CALLS_THAT_CHANGE: [libc::c_long; 15] = [
        libc::SYS_pwrite64,
        libc::SYS_write,
        libc::SYS_fdatasync,
        libc::SYS_fsync,
        libc::SYS_ftruncate,
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_link,
        libc::SYS_linkat,
        libc::SYS_unlink,
        libc::SYS_unlinkat,
        libc::SYS_fchmod,
        libc::SYS_fchown,
        libc::SYS_mkdir,
    ];

    fn call(number: i64, arguments: [i64; 5]) -> i64 {
        let [a, b, c, d, e] = arguments;
        // SAFETY: the arguments are those of a call that the thread was about to make.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            let mut made = libc::syscall(number, a, b, c, d, e, OURS);
            if made == -1 {
                made = -i64::from(*errno);
            }
            *errno = before;
            made
        }
    }

    extern "C" fn handler(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel gives the state of the thread that made the call, which nobody else uses meanwhile.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        // SAFETY: of this signal the number of the call stands behind the address (8) that follows the first 16 bytes.
        let number = i64::from(unsafe { *info.cast::<i32>().add(6) });
        let places = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8];
        let mut arguments = places.map(|place| registers[place as usize]);
        let at = CALLS.fetch_add(1, SeqCst) + 1;
        let (wanted, kind) = (AT.load(SeqCst), KIND.load(SeqCst));
        let made = match kind {
            0 | 1 if at == wanted => {
                if kind == 1 && number == libc::SYS_pwrite64 {
                    arguments[2] /= 2;
                    call(number, arguments);
                }
                // SAFETY: ends this process.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                0
            }
            4..=6
                if match kind {
                    4 => at == wanted,
                    5 => number == libc::SYS_renameat2 && EXCHANGES.fetch_add(1, SeqCst) == 0,
                    _ => number != libc::SYS_renameat2 && EXCHANGES.swap(0, SeqCst) != 0,
                } =>
            {
                // SAFETY: stops this process until another continues it.
                unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
                call(number, arguments)
            }
            6 if number == libc::SYS_renameat2 => {
                EXCHANGES.store(1, SeqCst);
                call(number, arguments)
            }
            2 if at == wanted => -i64::from(ERRNO.load(SeqCst)),
            3 if at >= wanted => {
                // What takes something away goes on.
                let takes = [libc::SYS_unlink, libc::SYS_unlinkat, libc::SYS_ftruncate].contains(&number);
                if takes { call(number, arguments) } else { -i64::from(ERRNO.load(SeqCst)) }
            }
            _ => call(number, arguments),
        };
        registers[libc::REG_RAX as usize] = made;
    }

    pub fn install() {
        let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let jump = |k: u32, jt: u8, jf: u8| libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt,
            jf,
            k,
        };
        let load = |at: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at);
        let done = |what: u32| statement(libc::BPF_RET | libc::BPF_K, what);
        let count = CALLS_THAT_CHANGE.len() as u8;
        let mut program = vec![load(0)];
        for (at, number) in CALLS_THAT_CHANGE.iter().enumerate() {
            program.push(jump(*number as u32, count - at as u8, 0));
        }
        program.push(done(libc::SECCOMP_RET_ALLOW));
        // The sixth argument: its lower and its upper half.
        program.extend([load(56), jump(OURS as u32, 0, 2), load(60), jump((OURS >> 32) as u32, 1, 0)]);
        program.extend([done(libc::SECCOMP_RET_TRAP), done(libc::SECCOMP_RET_ALLOW)]);
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the handler is a function of this program, and the filter is copied by the kernel.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            assert_eq!(libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()), 0);
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            let mode = libc::SECCOMP_SET_MODE_FILTER;
            assert_eq!(libc::syscall(libc::SYS_seccomp, mode, 0, &raw const filter), 0, "no filter");
        }
    }
}

/// Whether faults can be injected here.
pub fn is_possible() -> bool {
    if !cfg!(target_arch = "x86_64") {
        println!("SKIPPED: faults are put in by the registers of x86-64");
    }
    cfg!(target_arch = "x86_64")
}

/// Runs `body` in this thread, with a fault at a call (1 the first); what it returns, and how many calls it made. Once in a process.
pub fn with_fault<R>(at: u32, fault: Fault, body: impl FnOnce() -> R) -> (R, u32) {
    let (kind, errno) = match fault {
        Fault::Kill => (0, 0),
        Fault::Half => (1, 0),
        Fault::Once(errno) => (2, errno),
        Fault::From(errno) => (3, errno),
        Fault::Pause => (4, 0),
        Fault::PauseBeforeExchange => (5, 0),
        Fault::PauseAfterExchange => (6, 0),
    };
    #[cfg(target_arch = "x86_64")]
    filter::install();
    KIND.store(kind, SeqCst);
    ERRNO.store(errno, SeqCst);
    CALLS.store(0, SeqCst);
    EXCHANGES.store(0, SeqCst);
    AT.store(at, SeqCst);
    let done = body();
    KIND.store(-1, SeqCst);
    (done, CALLS.load(SeqCst))
}
