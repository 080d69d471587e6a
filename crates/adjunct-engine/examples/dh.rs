//! Whether Diffie-Hellman should go to the CPU library: its modular exponentiation, of which DH consists, beside that of the
//! system's libcrypto, on the groups that OpenSSH uses (RFC 3526; group exchange offers primes of the same lengths), with
//! secret exponents of 512 bits, as OpenSSH asks for.
//!
//!     cargo run --release -p adjunct-engine --example dh
//!
//! One exchange is two exponentiations, of 2 and of the peer's number. Interleaved; processor time; medians.

use aws_lc_sys as lc;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

const EXPONENT: usize = 512;

type Number = *mut c_void;

/// What is used of a library that has OpenSSL's functions for numbers.
struct Library {
    read: unsafe extern "C" fn(*const u8, usize) -> Number,
    new: unsafe extern "C" fn() -> Number,
    context: unsafe extern "C" fn() -> *mut c_void,
    montgomery: unsafe extern "C" fn(Number, *mut c_void) -> *mut c_void,
    power: unsafe extern "C" fn(Number, Number, Number, Number, *mut c_void, *mut c_void) -> c_int,
    write: unsafe extern "C" fn(Number, *mut u8) -> usize,
}

mod openssl {
    use super::{Number, c_char, c_int, c_void};
    #[link(name = "crypto")]
    unsafe extern "C" {
        pub fn BN_new() -> Number;
        pub fn BN_bin2bn(data: *const u8, length: c_int, to: Number) -> Number;
        pub fn BN_bn2bin(number: Number, to: *mut u8) -> c_int;
        pub fn BN_CTX_new() -> *mut c_void;
        pub fn BN_MONT_CTX_new() -> *mut c_void;
        pub fn BN_MONT_CTX_set(mont: *mut c_void, modulus: Number, context: *mut c_void) -> c_int;
        pub fn BN_mod_exp_mont_consttime(
            result: Number,
            base: Number,
            exponent: Number,
            modulus: Number,
            context: *mut c_void,
            mont: *mut c_void,
        ) -> c_int;
        pub fn BN_get_rfc3526_prime_2048(to: Number) -> Number;
        pub fn BN_get_rfc3526_prime_3072(to: Number) -> Number;
        pub fn BN_get_rfc3526_prime_4096(to: Number) -> Number;
        pub fn BN_get_rfc3526_prime_6144(to: Number) -> Number;
        pub fn BN_get_rfc3526_prime_8192(to: Number) -> Number;
        pub fn OpenSSL_version(what: c_int) -> *const c_char;
    }
}

/// The system's libcrypto.
fn theirs() -> Library {
    unsafe extern "C" fn read(data: *const u8, length: usize) -> Number {
        // SAFETY: the caller's bytes.
        unsafe { openssl::BN_bin2bn(data, length as c_int, null_mut()) }
    }
    unsafe extern "C" fn montgomery(modulus: Number, context: *mut c_void) -> *mut c_void {
        // SAFETY: live objects.
        unsafe {
            let mont = openssl::BN_MONT_CTX_new();
            assert_eq!(openssl::BN_MONT_CTX_set(mont, modulus, context), 1);
            mont
        }
    }
    unsafe extern "C" fn write(number: Number, to: *mut u8) -> usize {
        // SAFETY: room for the number.
        unsafe { openssl::BN_bn2bin(number, to) as usize }
    }
    let (new, context) = (openssl::BN_new, openssl::BN_CTX_new);
    Library { read, new, context, montgomery, power: openssl::BN_mod_exp_mont_consttime, write }
}

/// The CPU library.
fn ours() -> Library {
    unsafe extern "C" fn read(data: *const u8, length: usize) -> Number {
        // SAFETY: the caller's bytes.
        unsafe { lc::BN_bin2bn(data, length, null_mut()).cast() }
    }
    unsafe extern "C" fn new() -> Number {
        // SAFETY: no arguments.
        unsafe { lc::BN_new().cast() }
    }
    unsafe extern "C" fn context() -> *mut c_void {
        // SAFETY: no arguments.
        unsafe { lc::BN_CTX_new().cast() }
    }
    unsafe extern "C" fn montgomery(modulus: Number, context: *mut c_void) -> *mut c_void {
        // SAFETY: live objects.
        unsafe { lc::BN_MONT_CTX_new_consttime(modulus.cast(), context.cast()).cast() }
    }
    unsafe extern "C" fn power(r: Number, b: Number, e: Number, m: Number, c: *mut c_void, mont: *mut c_void) -> c_int {
        // SAFETY: live objects.
        unsafe { lc::BN_mod_exp_mont_consttime(r.cast(), b.cast(), e.cast(), m.cast(), c.cast(), mont.cast()) }
    }
    unsafe extern "C" fn write(number: Number, to: *mut u8) -> usize {
        // SAFETY: room for the number.
        unsafe { lc::BN_bn2bin(number.cast(), to) }
    }
    Library { read, new, context, montgomery, power, write }
}

/// The prime of a group, as big-endian bytes.
fn prime(bits: usize) -> Vec<u8> {
    let make = match bits {
        2048 => openssl::BN_get_rfc3526_prime_2048,
        3072 => openssl::BN_get_rfc3526_prime_3072,
        4096 => openssl::BN_get_rfc3526_prime_4096,
        6144 => openssl::BN_get_rfc3526_prime_6144,
        _ => openssl::BN_get_rfc3526_prime_8192,
    };
    let mut bytes = vec![0; bits / 8];
    // SAFETY: a number of that length.
    unsafe { openssl::BN_bn2bin(make(null_mut()), bytes.as_mut_ptr()) };
    bytes
}

/// A side, ready to be timed.
struct Side {
    library: Library,
    prime: Number,
    two: Number,
    peer: Number,
    exponent: Number,
    result: Number,
    context: *mut c_void,
    montgomery: *mut c_void,
}

impl Side {
    fn new(library: Library, prime: &[u8], peer: &[u8], exponent: &[u8]) -> Side {
        // SAFETY: bytes of the lengths given; nothing is freed before the program ends.
        unsafe {
            let read = |bytes: &[u8]| (library.read)(bytes.as_ptr(), bytes.len());
            let (prime, two, peer, exponent) = (read(prime), read(&[2]), read(peer), read(exponent));
            let context = (library.context)();
            let montgomery = (library.montgomery)(prime, context);
            let result = (library.new)();
            Side { prime, two, peer, exponent, result, context, montgomery, library }
        }
    }

    /// The processor seconds of one exchange.
    fn exchange(&self) -> f64 {
        let start = processor_time();
        for base in [self.two, self.peer] {
            let (r, e, p) = (self.result, self.exponent, self.prime);
            // SAFETY: live objects.
            assert_eq!(unsafe { (self.library.power)(r, base, e, p, self.context, self.montgomery) }, 1);
        }
        processor_time() - start
    }

    fn secret(&self) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        // SAFETY: room for the longest.
        let length = unsafe { (self.library.write)(self.result, bytes.as_mut_ptr()) };
        bytes.truncate(length);
        bytes
    }
}

fn processor_time() -> f64 {
    // SAFETY: a `timespec` has integers alone, for which zero bytes are values.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the function writes a `timespec` into a local of that type.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2] * 1e3
}

fn main() {
    // SAFETY: a string of libcrypto's.
    let version = unsafe { std::ffi::CStr::from_ptr(openssl::OpenSSL_version(0)) }.to_string_lossy();
    println!("{version}; aws-lc-sys 0.47. Processor milliseconds of an exchange, exponents of {EXPONENT} bits");
    println!("{:>6} {:>9} {:>9} {:>16}", "bits", "OpenSSL", "AWS-LC", "AWS-LC/OpenSSL");
    let exponent: Vec<u8> = (0..EXPONENT / 8).map(|i| 0xa5 ^ i as u8).collect();
    for bits in [2048, 3072, 4096, 6144, 8192] {
        let p = prime(bits);
        let peer: Vec<u8> = (0..p.len()).map(|i| (i * 89 + 1) as u8 & 0x7f).collect();
        let sides = [theirs(), ours()].map(|library| Side::new(library, &p, &peer, &exponent));
        sides.iter().for_each(|side| _ = side.exchange());
        assert_eq!(sides[0].secret(), sides[1].secret());
        let runs = (200 * 2048 / bits).max(21);
        let (theirs, ours) = (0..runs).map(|_| (sides[0].exchange(), sides[1].exchange())).unzip();
        let (theirs, ours) = (median(theirs), median(ours));
        println!("{bits:>6} {theirs:>9.2} {ours:>9.2} {:>16.2}", ours / theirs);
    }
}
