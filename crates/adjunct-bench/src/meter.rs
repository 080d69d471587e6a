//! The environment of the run itself: set before there is another thread.

use adjunct_cli::counted::Counted;

/// Sets a variable of this process, which its children inherit. Call it before the core is set up and before there is another
/// thread.
pub fn set_before_threads(name: &str, value: &str) {
    // SAFETY: no other thread reads or changes the environment.
    unsafe { std::env::set_var(name, value) };
}

/// Counters of this process's own, and of all that it starts. Call it before the counters are opened and before there is another thread.
pub fn count_apart() -> Counted {
    let counted = Counted::apart("bench");
    for (name, value) in counted.variables() {
        set_before_threads(name, value);
    }
    counted
}

/// Has the threads of this process share batches, as `accelerator = always` does. Call it before the core is set up and before
/// there is another thread.
pub fn have_threads_share_batches() {
    set_before_threads("ADJUNCT_ACCELERATOR", "always");
}
