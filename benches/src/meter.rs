//! The environment of the run itself: set before there is another thread.

/// Sets a variable of this process, which its children inherit. Call it before the core is set up and before there is another
/// thread.
pub fn set_before_threads(name: &str, value: &str) {
    // SAFETY: no other thread reads or changes the environment.
    unsafe { std::env::set_var(name, value) };
}

/// Has the threads of this process share batches, as `accelerator = always` does. Call it before the core is set up and before
/// there is another thread.
pub fn have_threads_share_batches() {
    set_before_threads("ADJUNCT_ACCELERATOR", "always");
}
