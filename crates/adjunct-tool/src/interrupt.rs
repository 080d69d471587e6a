//! Signals that ask the command to end: it ends the programs that it started, removes temporary files and exits; a second signal ends it at once.

use crate::Failure;
use crate::process::tree::{descendants, kill};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long the command may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);
/// Time that undoing a half-made change may take.
const HELD: Duration = Duration::from_secs(120);

/// Time after the first signal in which further signals mean the same.
const TOGETHER: Duration = Duration::from_millis(300);

/// How many changes are half made.
static HOLDS: AtomicUsize = AtomicUsize::new(0);

/// A scope in which the command is given longer to end: a change is on disk that may have to be taken back.
#[derive(Debug)]
pub struct Hold(());

impl Hold {
    /// Begins the scope.
    pub fn begin() -> Hold {
        HOLDS.fetch_add(1, Ordering::SeqCst);
        Hold(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Functions to call before the process is ended at once, besides removing temporary folders.
static REMOVED: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

fn lock(list: &Mutex<Vec<fn()>>) -> MutexGuard<'_, Vec<fn()>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers `remove`, once, to be called before a second signal ends the process at once: it removes what would outlive the process.
pub fn at_the_end(remove: fn()) {
    let mut list = lock(&REMOVED);
    if !list.iter().any(|&there| std::ptr::fn_addr_eq(there, remove)) {
        list.push(remove);
    }
}

/// Makes an interrupt, a termination or a hangup no longer end the process at once: [`interrupted`] reports it, so that the command can end programs
/// and remove files. A second one ends the process at once, after the functions of [`at_the_end`].
pub fn catch_interrupts() {
    flag();
}

/// The flag that a signal sets, for code that cannot call [`interrupted`].
pub fn signalled() -> Arc<AtomicBool> {
    Arc::clone(flag())
}

/// Whether the user wants the command to end.
///
/// # Errors
/// [`Failure`] once a signal has come.
pub fn interrupted() -> Result<(), Failure> {
    if flag().load(Ordering::Relaxed) { Err(Failure::new("interrupted")) } else { Ok(()) }
}

/// A failure as it is to be told. An interrupt at a terminal reaches the programs that were started, too: what then went wrong with one of them
/// is not what the user has to know first.
pub fn named(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(line) if interrupted().is_err() && !line.contains("interrupted") => {
            Failure::Failed(format!("interrupted: {line}"))
        }
        other => other,
    }
}

fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let pipe = UnixStream::pair().ok();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
            if let Some(end) = pipe.as_ref().and_then(|(_, write)| write.try_clone().ok()) {
                let _ = signal_hook::low_level::pipe::register(signal, end);
            }
        }
        if let Some((read, _)) = pipe {
            let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || watch(read));
        }
        flag
    })
}

/// Ends the process where it does not end by itself after a signal, or where a second one comes: it may wait in a system call that a file or another
/// program does not let return.
fn watch(mut signals: UnixStream) {
    if !matches!(signals.read(&mut [0]), Ok(1)) {
        return;
    }
    let start = Instant::now();
    let _ = signals.set_read_timeout(Some(Duration::from_millis(50)));
    let mut again = false;
    loop {
        // A terminal that closes sends several signals at once: they are one wish.
        let comes = matches!(signals.read(&mut [0]), Ok(1));
        again = again || (comes && start.elapsed() > TOGETHER);
        let held = HOLDS.load(Ordering::SeqCst) > 0;
        let limit = match (held, again) {
            (true, _) => HELD,
            (false, true) => Duration::ZERO,
            (false, false) => GRACE,
        };
        if start.elapsed() >= limit {
            break;
        }
    }
    for pid in descendants(std::process::id()) {
        kill(pid, Signal::KILL);
    }
    crate::scratch::remove_all();
    for remove in lock(&REMOVED).iter() {
        remove();
    }
    let _ = signal_hook::low_level::emulate_default_handler(SIGTERM);
}
