//! Arithmetic that no library has: pure functions over slices and lanes, no allocation, no I/O, no policy.
