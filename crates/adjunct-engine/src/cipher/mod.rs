//! Ciphers as an engine offers them: `EVP_CIPHER` methods, an interface from before providers, which OpenSSL still asks before any provider.
//!
//! GCM, XTS and ChaCha20 are offered where the configuration asks for ciphers. The modes whose IV libcrypto keeps are not, until `ciphers = all` says
//! so: `EVP_CIPHER_CTX_get_updated_iv` of OpenSSL 3 fails for every engine's cipher, whatever the engine does, and sshd up to 9.x drops a login at
//! that (it hands its connection to another process, IVs and all). Left out altogether: ECB, which libcrypto's own random generator would fetch here;
//! CCM and ChaCha20-Poly1305, which the provider has.

mod gcm;
mod simple;
mod unit;

use crate::bulk::{self, Made, bulk};
use crate::libcrypto::Opaque;
use adjunct_ossl::guard;
use std::ffi::{c_int, c_ulong, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// `EVP_CIPH_*_MODE`.
mod mode {
    use std::ffi::c_ulong;
    pub const STREAM: c_ulong = 0;
    pub const CBC: c_ulong = 2;
    pub const CFB: c_ulong = 3;
    pub const OFB: c_ulong = 4;
    pub const CTR: c_ulong = 5;
    pub const GCM: c_ulong = 6;
    pub const XTS: c_ulong = 0x10001;
}

/// `EVP_CIPH_*` flags.
mod flag {
    use std::ffi::c_ulong;
    pub const CUSTOM_IV: c_ulong = 0x10;
    pub const ALWAYS_CALL_INIT: c_ulong = 0x20;
    pub const RAND_KEY: c_ulong = 0x200;
    pub const CUSTOM_COPY: c_ulong = 0x400;
    pub const CUSTOM_IV_LENGTH: c_ulong = 0x800;
    pub const LENGTH_BITS: c_ulong = 0x2000;
    pub const CUSTOM_CIPHER: c_ulong = 0x10_0000;
    pub const AEAD: c_ulong = 0x20_0000;
}

/// `EVP_CTRL_COPY`.
const COPY: c_int = 8;
/// The result of a control function for an unknown command.
const UNSUPPORTED: c_int = -1;

/// A cipher in a context of libcrypto.
trait Cipher: Clone {
    /// A context without key and IV.
    fn new() -> Self;

    /// Takes the key, the IV (of the method's length, or as long as was set), or both.
    ///
    /// # Safety
    /// `context` is libcrypto's, and a pointer that is not null is valid for the method's length.
    unsafe fn init(&mut self, context: Opaque, key: *const u8, iv: *const u8, encrypt: bool) -> bool;

    /// Works as `EVP_CIPHER_meth_set_do_cipher` has it for the method's flags.
    ///
    /// # Safety
    /// `context` is libcrypto's; the buffers are valid for `length`, or null.
    unsafe fn run(&mut self, context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int;

    /// The result of [`Cipher::run`] after a failure.
    const FAILED: c_int = 0;

    /// Answers a command.
    ///
    /// # Safety
    /// The pointer is what the command says it is.
    unsafe fn control(&mut self, _command: c_int, _argument: c_int, _pointer: *mut c_void) -> c_int {
        UNSUPPORTED
    }
}

/// The cipher of a context; made, where `make` says so and it is not there yet.
///
/// # Safety
/// `context` is a live cipher context of libcrypto with a method of this engine, used by no other thread.
unsafe fn held<'a, C: Cipher>(context: Opaque, make: bool) -> Option<&'a mut C> {
    // SAFETY: a context of libcrypto with a method of ours.
    unsafe {
        let place = bulk::place::<C>((bulk().cipher_data)(context))?;
        if place.is_null() && make {
            adjunct::ops::attribute();
            *place = Box::into_raw(Box::new(C::new()));
        }
        place.as_mut()
    }
}

unsafe extern "C" fn init<C: Cipher>(context: Opaque, key: *const u8, iv: *const u8, encrypt: c_int) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto's arguments.
        unsafe { held::<C>(context, true).is_some_and(|cipher| cipher.init(context, key, iv, encrypt != 0)).into() }
    })
}

unsafe extern "C" fn run<C: Cipher>(context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int {
    guard(C::FAILED, || {
        // SAFETY: libcrypto's arguments.
        unsafe { held::<C>(context, false).map_or(C::FAILED, |cipher| cipher.run(context, out, input, length)) }
    })
}

unsafe extern "C" fn cleanup<C: Cipher>(context: Opaque) -> c_int {
    guard(1, || {
        // SAFETY: libcrypto passes a context whose method is one of this module, with data of a pointer's size, and forgets the data after this call.
        if let Some(place) = unsafe { bulk::place::<C>((bulk().cipher_data)(context)) } {
            // SAFETY: put there by `held` or `control`.
            unsafe { bulk::release(place) };
        }
        1
    })
}

unsafe extern "C" fn control<C: Cipher>(context: Opaque, command: c_int, argument: c_int, pointer: Opaque) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto's arguments.
        unsafe {
            if command != COPY {
                return held::<C>(context, true).map_or(0, |cipher| cipher.control(command, argument, pointer));
            }
            // The other context's data is a copy of ours, byte by byte: a pointer to what is not its own.
            let Some(place) = bulk::place::<C>((bulk().cipher_data)(pointer)) else { return 1 };
            *place = std::ptr::null_mut();
            if let Some(cipher) = held::<C>(context, false) {
                *place = Box::into_raw(Box::new(cipher.clone()));
            }
            1
        }
    })
}

/// An `EVP_CIPHER`: lengths in bytes; `C` always has its context copied.
fn method<C: Cipher>(nid: c_int, [block, key, iv]: [usize; 3], flags: c_ulong) -> Opaque {
    let b = bulk();
    // SAFETY: libcrypto's functions on an object just made.
    unsafe {
        let method = (b.cipher_new)(nid, block as c_int, key as c_int);
        if method.is_null() {
            return method;
        }
        let set = (b.cipher_set_iv_length)(method, iv as c_int) == 1
            && (b.cipher_set_flags)(method, flags | flag::CUSTOM_COPY) == 1
            && (b.cipher_set_size)(method, std::mem::size_of::<*mut C>() as c_int) == 1
            && (b.cipher_set_init)(method, init::<C>) == 1
            && (b.cipher_set_run)(method, run::<C>) == 1
            && (b.cipher_set_cleanup)(method, cleanup::<C>) == 1
            && (b.cipher_set_control)(method, control::<C>) == 1;
        if set {
            return method;
        }
        (b.cipher_free)(method);
        std::ptr::null_mut()
    }
}

macro_rules! ciphers {
    ($($nid:literal $cipher:ty, $lengths:expr, $flags:expr;)*) => {
        const NIDS: &[c_int] = &[$($nid),*];
        type Make = fn() -> Opaque;
        static CIPHERS: [(Make, Made); NIDS.len()] =
            [$((|| method::<$cipher>($nid, $lengths, $flags), Made::new())),*];
    };
}

use adjunct::ops::cipher::aes::{Cbc, Cfb, Cfb1, Cfb8, Ctr, Ofb};
use adjunct::ops::cipher::des;
use flag::{AEAD, ALWAYS_CALL_INIT, CUSTOM_CIPHER, CUSTOM_IV, CUSTOM_IV_LENGTH, RAND_KEY};
use simple::Simple;

const GCM: c_ulong = mode::GCM | CUSTOM_IV | ALWAYS_CALL_INIT | CUSTOM_CIPHER | CUSTOM_IV_LENGTH | AEAD;
const XTS: c_ulong = mode::XTS | CUSTOM_IV | ALWAYS_CALL_INIT;

/// How many of the ciphers keep their IV themselves; they come first.
const SAFE: usize = 6;

// The numbers are obj_mac.h's NIDs.
ciphers! {
    895 gcm::EngineGcm<128>, [1, 16, 12], GCM;
    898 gcm::EngineGcm<192>, [1, 24, 12], GCM;
    901 gcm::EngineGcm<256>, [1, 32, 12], GCM;
    913 unit::EngineCipher<128>, [1, 32, 16], XTS;
    914 unit::EngineCipher<256>, [1, 64, 16], XTS;
    1019 unit::Stream, [1, 32, 16], mode::STREAM | CUSTOM_IV | ALWAYS_CALL_INIT;
    419 Simple<Cbc, 128>, [16, 16, 16], mode::CBC;
    423 Simple<Cbc, 192>, [16, 24, 16], mode::CBC;
    427 Simple<Cbc, 256>, [16, 32, 16], mode::CBC;
    904 Simple<Ctr, 128>, [1, 16, 16], mode::CTR;
    905 Simple<Ctr, 192>, [1, 24, 16], mode::CTR;
    906 Simple<Ctr, 256>, [1, 32, 16], mode::CTR;
    421 Simple<Cfb, 128>, [1, 16, 16], mode::CFB;
    425 Simple<Cfb, 192>, [1, 24, 16], mode::CFB;
    429 Simple<Cfb, 256>, [1, 32, 16], mode::CFB;
    653 Simple<Cfb8, 128>, [1, 16, 16], mode::CFB;
    654 Simple<Cfb8, 192>, [1, 24, 16], mode::CFB;
    655 Simple<Cfb8, 256>, [1, 32, 16], mode::CFB;
    650 Simple<Cfb1, 128>, [1, 16, 16], mode::CFB;
    651 Simple<Cfb1, 192>, [1, 24, 16], mode::CFB;
    652 Simple<Cfb1, 256>, [1, 32, 16], mode::CFB;
    420 Simple<Ofb, 128>, [1, 16, 16], mode::OFB;
    424 Simple<Ofb, 192>, [1, 24, 16], mode::OFB;
    428 Simple<Ofb, 256>, [1, 32, 16], mode::OFB;
    44 Simple<des::Cbc, 192>, [8, 24, 8], mode::CBC | RAND_KEY;
}

static OFFER_ALL: AtomicBool = AtomicBool::new(false);

/// Takes the value of `ciphers =`: `safe` or `all`; false for any other.
pub fn offer(value: &str) -> bool {
    let all = value.eq_ignore_ascii_case("all");
    if all || value.eq_ignore_ascii_case("safe") {
        OFFER_ALL.store(all, Ordering::Relaxed);
        return true;
    }
    false
}

/// What `ENGINE_set_ciphers` takes.
///
/// # Safety
/// Called by libcrypto.
pub unsafe extern "C" fn selector(_engine: Opaque, method: *mut Opaque, nids: *mut *const c_int, nid: c_int) -> c_int {
    guard(0, || {
        let give = |index: usize| {
            let (make, made) = &CIPHERS[index];
            made.get(make, bulk().cipher_free)
        };
        let offered = if OFFER_ALL.load(Ordering::Relaxed) { NIDS } else { &NIDS[..SAFE] };
        // SAFETY: libcrypto's arguments.
        unsafe { bulk::select(method, nids, offered, give, nid) }
    })
}
