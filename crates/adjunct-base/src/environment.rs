//! The environment, as far as a program that runs with another's rights may trust it.

/// An environment variable, unless the program runs with another's rights (setuid, file capabilities).
pub fn secure_env(name: &str) -> Option<String> {
    // SAFETY: getauxval only reads the process's auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    std::env::var(name).ok()
}
