//! Ends waits that another user's descriptors cause.
//!
//! A message may carry descriptors (SCM_RIGHTS). A card uses none, but receiving such a message, or closing a socket in which one waits, closes the
//! descriptors, and to close the last descriptor of a TCP socket with SO_LINGER takes as long as its owner has asked for, an hour or a year. Linux
//! 6.16 and later refuse such messages ([`refuse_descriptors`]). Before that, the wait ends with a signal: a thread sends one to each thread that has
//! neither waited for events nor made progress for [`TICK`]. A thread that computes is not disturbed by it.

#![allow(unsafe_code)]

use rustix::fd::{AsFd, AsRawFd};
use std::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;
use std::{io, thread};

/// Time that a thread may take between two waits before it is sent a signal.
const TICK: Duration = Duration::from_millis(10);
/// Ticks in which nothing happened, after which nothing wakes this process any more.
const QUIET: u32 = 5;
/// Threads that there is room for at first: about as many as a card has.
const MANY: usize = 256;
/// The signal that ends a wait. It is ignored where no handler is installed.
const SIGNAL: libc::c_int = libc::SIGURG;

/// A thread that is watched.
#[derive(Debug)]
struct Pace {
    id: libc::pid_t,
    /// Counter that changes whenever the thread begins or ends to wait for events; odd while it works.
    step: AtomicU64,
}

#[derive(Debug)]
struct Watch {
    paces: Mutex<Vec<&'static Pace>>,
    watcher: OnceLock<Thread>,
    sleeps: AtomicBool,
}

static WATCH: Watch = Watch { paces: Mutex::new(Vec::new()), watcher: OnceLock::new(), sleeps: AtomicBool::new(false) };

thread_local! {
    static PACE: Cell<Option<&'static Pace>> = const { Cell::new(None) };
}

extern "C" fn nothing(_: libc::c_int) {}

/// Has the system refuse descriptors in messages to a socket, or to those that are accepted from it, where it can.
pub fn refuse_descriptors(socket: impl AsFd) {
    take_descriptors(socket, false);
}

/// Says whether the system is to take descriptors in such messages.
pub fn take_descriptors(socket: impl AsFd, takes: bool) {
    /// `SO_PASSRIGHTS`, which libc does not name yet.
    const PASS_RIGHTS: libc::c_int = 83;
    let takes = libc::c_int::from(takes);
    let (level, size) = (libc::SOL_SOCKET, size_of_val(&takes) as libc::socklen_t);
    // SAFETY: the descriptor is open, and the number lives. Older systems do not know the option, and say so.
    unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, PASS_RIGHTS, (&raw const takes).cast(), size) };
}

/// Starts to watch, before a filter of system calls is closed. Once in a process.
///
/// # Errors
/// What the system says.
pub fn start() -> io::Result<()> {
    // SAFETY: all zeros is no flags, so that waits end, and an empty mask; the handler does nothing.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut())
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let ready = Arc::new(Barrier::new(2));
    let watcher = thread::Builder::new().name("watch".into()).spawn({
        let ready = Arc::clone(&ready);
        move || WATCH.run(&ready)
    })?;
    ready.wait();
    let _ = WATCH.watcher.set(watcher.thread().clone());
    Ok(())
}

/// Has this thread watched from now on.
pub fn this_thread() {
    // SAFETY: no requirements.
    let id = unsafe { libc::gettid() };
    let pace: &'static Pace = Box::leak(Box::new(Pace { id, step: AtomicU64::new(1) }));
    PACE.set(Some(pace));
    WATCH.paces.lock().unwrap_or_else(PoisonError::into_inner).push(pace);
    WATCH.wake();
}

/// Waits for events, or for another thread: as long as it likes.
pub fn waits<R>(wait: impl FnOnce() -> R) -> R {
    let Some(pace) = PACE.get() else { return wait() };
    pace.step.fetch_add(1, SeqCst);
    let done = wait();
    pace.step.fetch_add(1, SeqCst);
    WATCH.wake();
    done
}

impl Watch {
    fn wake(&self) {
        if self.sleeps.load(SeqCst) && self.sleeps.swap(false, SeqCst) {
            self.watcher.get().inspect(|watcher| watcher.unpark());
        }
    }

    fn run(&self, ready: &Barrier) {
        // Before a filter is closed: for the first memory of a thread malloc reads how many CPUs there are.
        let (mut before, mut now, mut quiet) = (Vec::with_capacity(MANY), Vec::with_capacity(MANY), 0);
        ready.wait();
        loop {
            let paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
            now.clear();
            now.extend(paces.iter().map(|pace| pace.step.load(SeqCst)));
            for ((pace, now), before) in paces.iter().zip(&now).zip(&before) {
                if now == before && now % 2 == 1 {
                    // SAFETY: a thread of this process, which lives as long as that.
                    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), pace.id, SIGNAL) };
                }
            }
            drop(paces);
            let happens = now != before || now.iter().any(|step| step % 2 == 1);
            quiet = if happens { 0 } else { quiet + 1 };
            if quiet == QUIET {
                // Whoever comes to work after this sees it; who came before is seen at the next tick.
                self.sleeps.store(true, SeqCst);
            } else if quiet > QUIET {
                while self.sleeps.load(SeqCst) {
                    thread::park();
                }
                quiet = 0;
            }
            std::mem::swap(&mut before, &mut now);
            // Not by sleep(3), whose system call a card's filter does not know.
            thread::park_timeout(TICK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    /// A connection whose first socket takes half a minute to close: the second does not read what was sent (SO_LINGER).
    fn lingering() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sends = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let takes = listener.accept().unwrap().0;
        sends.set_nonblocking(true).unwrap();
        while sends.write(&[0; 65536]).is_ok() {}
        let linger = libc::linger { l_onoff: 1, l_linger: 30 };
        let (level, size) = (libc::SOL_SOCKET, size_of_val(&linger) as libc::socklen_t);
        // SAFETY: the descriptor is open, and the structure lives.
        let set =
            unsafe { libc::setsockopt(sends.as_raw_fd(), level, libc::SO_LINGER, (&raw const linger).cast(), size) };
        assert_eq!(set, 0);
        (sends, takes)
    }

    #[test]
    fn a_wait_that_nobody_wanted_ends() {
        start().unwrap();
        thread::spawn(|| {
            this_thread();
            for _ in 0..3 {
                // Also after a time in which nothing happens.
                waits(|| thread::sleep(TICK * (QUIET + 40)));
                let (sends, _takes) = lingering();
                let sends = OwnedFd::from(sends);
                let begin = Instant::now();
                drop(sends);
                assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
            }
        })
        .join()
        .unwrap();
    }
}
