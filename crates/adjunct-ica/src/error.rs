//! libica's errors: the numbers of errno.h.

use std::ffi::c_int;

/// A return code that is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub c_int);

impl Errno {
    /// A null pointer, a length, a key or a direction that cannot be.
    pub const INVALID: Errno = Errno(libc::EINVAL);
    /// The size, curve or mode is not served.
    pub const PERMISSION: Errno = Errno(libc::EPERM);
    /// No hardware serves the function, and fallbacks are off; or no card answers that has the key.
    pub const NO_DEVICE: Errno = Errno(libc::ENODEV);
    /// The operation failed.
    pub const IO: Errno = Errno(libc::EIO);
    /// Out of memory.
    pub const NO_MEMORY: Errno = Errno(libc::ENOMEM);
    /// A verification failed.
    pub const FAULT: Errno = Errno(libc::EFAULT);
}

impl From<adjunct::error::Error> for Errno {
    fn from(error: adjunct::error::Error) -> Errno {
        use adjunct::error::Error;
        match error {
            Error::Length { .. } | Error::InvalidKey(_) | Error::CardKey(_) | Error::CardInput { .. } => Errno::INVALID,
            Error::Device { .. } => Errno::NO_DEVICE,
            Error::Unsupported(_) => Errno::PERMISSION,
            Error::Verify => Errno::FAULT,
            Error::Memory => Errno::NO_MEMORY,
            _ => Errno::IO,
        }
    }
}
