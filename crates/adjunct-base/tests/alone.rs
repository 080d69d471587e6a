//! What is left out in a process of one thread. A program of its own: the tests of a harness are threads.

use adjunct_base::fork;
use adjunct_base::lock::Lock;
use adjunct_base::thread::{ask_whether_alone, is_alone};

static LOCK: Lock<u64> = Lock::new(0);

fn main() {
    assert!(!is_alone(), "nobody has asked yet");
    if !ask_whether_alone() {
        return println!("this C library does not say whether a process has one thread");
    }
    assert!(is_alone());

    // Alone: the lock says who is inside, is left at the end and by a panic, and tells of a thread that a fork has not taken along.
    LOCK.hold_unnoted(|value, taken| {
        *value += 1;
        assert!(!taken.abandoned && taken.generation == fork::generation());
        assert_eq!(LOCK.try_hold(1, |_, _| ()), None);
    });
    let panics = || LOCK.hold_unnoted(|_, _| std::panic::resume_unwind(Box::new(())));
    assert!(std::panic::catch_unwind(panics).is_err());
    LOCK.pretend(fork::generation() + 1);
    LOCK.hold_unnoted(|_, taken| assert!(taken.abandoned));
    LOCK.hold_unnoted(|_, taken| assert!(!taken.abandoned));

    // What was begun alone keeps out a thread that is started meanwhile.
    let other = LOCK.hold_unnoted(|value, _| {
        let other = std::thread::spawn(|| LOCK.hold_unnoted(|value, _| *value));
        std::thread::sleep(std::time::Duration::from_millis(20));
        *value = 100;
        other
    });
    assert_eq!(other.join().unwrap(), 100);

    // No longer alone: one at a time.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert!(!is_alone());
                (0..20_000).for_each(|_| LOCK.hold_unnoted(|value, _| *value += 1));
            });
        }
    });
    assert_eq!(LOCK.hold_unnoted(|value, _| *value), 160_100);
}
