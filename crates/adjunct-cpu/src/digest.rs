//! Message digests: the library's low-level functions on a state held in place, without allocation.

pub(super) mod sha256;
mod sha512;
mod state;

mod keccak;
mod once;
use crate::awslc::sha::{self, Keccak, Md5, SHA_CTX, SHA256_CTX, SHA512_CTX};
use crate::cpacf;
use adjunct_base::catalogue::Function;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// The words of the largest state, that of SHA-3 and SHAKE: room for any method's.
pub const WORDS: usize = size_of::<Keccak>().div_ceil(8);

/// A digest algorithm.
pub struct Method {
    /// The name OpenSSL prints (`SHA2-256`).
    pub name: &'static str,
    /// All names and object identifiers OpenSSL's default provider knows it by, separated by colons.
    pub names: &'static CStr,
    /// OpenSSL's number for it (`NID_*` of `obj_mac.h`).
    pub nid: i32,
    /// The row it counts in.
    pub function: Function,
    /// The row an HMAC over it counts in; none is computed over an extendable-output function.
    pub hmac: Option<Function>,
    /// Length of the result in bytes; for an extendable-output function that of its usual use.
    pub size: usize,
    /// Length of a block in bytes.
    pub block: usize,
    /// Whether the length of the result can be chosen.
    pub xof: bool,
    /// Bytes of the state in use.
    length: usize,
    // They cannot fail on a state of their own type.
    init: unsafe fn(*mut c_void),
    update: unsafe fn(*mut c_void, *const u8, usize),
    finish: unsafe fn(*mut c_void, *mut u8, usize),
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! methods {
    ($($ident:ident $name:literal $names:literal $nid:literal $function:ident $hmac:expr, $size:literal $block:literal $xof:literal $state:ty,
        |$c:ident, $data:ident, $length:ident, $out:ident| $init:expr, $update:expr, $finish:expr;)*) => {
        $(
            #[doc = $name]
            pub static $ident: Method = Method {
                name: $name,
                names: $names,
                nid: $nid,
                function: Function::$function,
                hmac: $hmac,
                size: $size,
                block: $block,
                xof: $xof,
                length: size_of::<$state>(),
                init: |$c| {
                    // SAFETY: the caller gives a state of this method's type, which may be uninitialised.
                    unsafe { $init };
                },
                update: |$c, $data, $length| {
                    // SAFETY: the caller gives an initialised state of this method's type, and the pointer and length of a slice.
                    unsafe { $update };
                },
                finish: |$c, $out, $length| {
                    let _ = $length;
                    // SAFETY: the caller gives an initialised state of this method's type, and the pointer of a slice that has room for the
                    // result.
                    unsafe { $finish };
                },
            };
        )*

        /// The names of each method as OpenSSL wants them (C strings).
        pub mod names {
            use std::ffi::CStr;
            $(
                #[doc = $name]
                pub const $ident: &CStr = $names;
            )*
        }

        /// Every method.
        pub static METHODS: &[&Method] = &[$(&$ident),*];
    };
}

use Function::{HmacMd5, HmacSha1, HmacSha2_256, HmacSha2_512, HmacSha3};

methods! {
    MD5 "MD5" c"MD5:SSL3-MD5:1.2.840.113549.2.5" 4 Md5 Some(HmacMd5), 16 64 false Md5,
        |c, data, length, out| sha::md5_init(c),
        sha::md5_update(c, data, length), sha::md5_finish(out, c);
    SHA1 "SHA1" c"SHA1:SHA-1:SSL3-SHA1:1.3.14.3.2.26" 64 Sha1 Some(HmacSha1), 20 64 false SHA_CTX,
        |c, data, length, out| sha::sha1_init(c),
        sha::sha1_update(c, data, length), sha::sha1_finish(out, c);
    SHA224 "SHA2-224" c"SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4" 675 Sha224 Some(HmacSha2_256), 28 64 false SHA256_CTX,
        |c, data, length, out| sha::sha224_init(c),
        sha::sha224_update(c, data, length), sha::sha224_finish(out, c);
    SHA256 "SHA2-256" c"SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1" 672 Sha256 Some(HmacSha2_256), 32 64 false SHA256_CTX,
        |c, data, length, out| sha::sha256_init(c),
        sha256::update(c, data, length), sha256::finish(out, c);
    SHA384 "SHA2-384" c"SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2" 673 Sha384 Some(HmacSha2_512), 48 128 false SHA512_CTX,
        |c, data, length, out| sha::sha384_init(c),
        sha512::update(c, data, length), sha512::finish(out, c);
    SHA512 "SHA2-512" c"SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3" 674 Sha512 Some(HmacSha2_512), 64 128 false SHA512_CTX,
        |c, data, length, out| sha::sha512_init(c),
        sha512::update(c, data, length), sha512::finish(out, c);
    SHA512_224 "SHA2-512/224" c"SHA2-512/224:SHA-512/224:SHA512-224:2.16.840.1.101.3.4.2.5" 1094 Sha512_224 Some(HmacSha2_512), 28 128 false SHA512_CTX,
        |c, data, length, out| sha::sha512_224_init(c),
        sha512::update(c, data, length), sha512::finish(out, c);
    SHA512_256 "SHA2-512/256" c"SHA2-512/256:SHA-512/256:SHA512-256:2.16.840.1.101.3.4.2.6" 1095 Sha512_256 Some(HmacSha2_512), 32 128 false SHA512_CTX,
        |c, data, length, out| sha::sha512_256_init(c),
        sha512::update(c, data, length), sha512::finish(out, c);
    SHA3_224 "SHA3-224" c"SHA3-224:2.16.840.1.101.3.4.2.7" 1096 Sha3_224 Some(HmacSha3), 28 144 false Keccak,
        |c, data, length, out| sha::sha3_init(c, 224), keccak::update(c, data, length), keccak::finish(out, c);
    SHA3_256 "SHA3-256" c"SHA3-256:2.16.840.1.101.3.4.2.8" 1097 Sha3_256 Some(HmacSha3), 32 136 false Keccak,
        |c, data, length, out| sha::sha3_init(c, 256), keccak::update(c, data, length), keccak::finish(out, c);
    SHA3_384 "SHA3-384" c"SHA3-384:2.16.840.1.101.3.4.2.9" 1098 Sha3_384 Some(HmacSha3), 48 104 false Keccak,
        |c, data, length, out| sha::sha3_init(c, 384), keccak::update(c, data, length), keccak::finish(out, c);
    SHA3_512 "SHA3-512" c"SHA3-512:2.16.840.1.101.3.4.2.10" 1099 Sha3_512 Some(HmacSha3), 64 72 false Keccak,
        |c, data, length, out| sha::sha3_init(c, 512), keccak::update(c, data, length), keccak::finish(out, c);
    SHAKE128 "SHAKE-128" c"SHAKE-128:SHAKE128:2.16.840.1.101.3.4.2.11" 1100 Shake128 None, 16 168 true Keccak,
        |c, data, length, out| sha::shake_init(c, 168), keccak::update_xof(c, data, length), keccak::squeeze(out, c, length);
    SHAKE256 "SHAKE-256" c"SHAKE-256:SHAKE256:2.16.840.1.101.3.4.2.12" 1101 Shake256 None, 32 136 true Keccak,
        |c, data, length, out| sha::shake_init(c, 136), keccak::update_xof(c, data, length), keccak::squeeze(out, c, length);
}

impl Method {
    /// Words of the state.
    #[inline]
    pub const fn words(&self) -> usize {
        self.length.div_ceil(8)
    }

    /// The length of what OpenSSL lays out alike (`MD5_CTX`, `SHA_CTX`, `SHA256_CTX`, `SHA512_CTX`), and a digest here begins with: all that
    /// changes. It ends with the number of bytes in the block that is begun. `None` where the layout is another.
    pub fn openssl_state(&self) -> Option<usize> {
        const MD5: usize = size_of::<Md5>();
        const SHA1: usize = size_of::<SHA_CTX>();
        const SHA256: usize = size_of::<SHA256_CTX>();
        const SHA512: usize = size_of::<SHA512_CTX>();
        match self.length {
            MD5 | SHA1 => Some(self.length),
            // Behind the number stands the length of the result.
            SHA256 | SHA512 => Some(self.length - size_of::<u32>()),
            _ => None,
        }
    }

    /// The method OpenSSL knows by this name or object identifier, in any case.
    pub fn from_name(name: &str) -> Option<&'static Method> {
        METHODS
            .iter()
            .copied()
            .find(|m| m.names.to_bytes().split(|&b| b == b':').any(|n| n.eq_ignore_ascii_case(name.as_bytes())))
    }
}

pub(super) use state::Family;

/// The longest chaining value, in bytes: that of SHA-3 and SHAKE.
pub const MAX_CHAIN: usize = 200;

/// The longest digest in progress as it is saved, in bytes.
pub const MAX_SAVED: usize = MAX_CHAIN + 16 + MAX_BLOCK;

/// The longest result of a method that is not an extendable-output function, in bytes.
pub const MAX_SIZE: usize = 64;
/// The longest block, in bytes.
pub const MAX_BLOCK: usize = 168;

/// A digest in progress, with room for a state of ROOM words, by default for any. The state is wiped when it is dropped.
///
/// The state lies first, here and in what holds a digest for OpenSSL: that of MD5, SHA-1 and SHA-2 is laid out as in OpenSSL's default
/// provider, and there are programs that read and write it there (older versions of Go's module golang-fips/openssl).
#[repr(C)]
pub struct Digest<const ROOM: usize = WORDS> {
    /// The state in the library's own layout.
    state: [MaybeUninit<u64>; ROOM],
    method: &'static Method,
}

impl<const ROOM: usize> std::fmt::Debug for Digest<ROOM> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digest").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<const ROOM: usize> Clone for Digest<ROOM> {
    #[inline]
    fn clone(&self) -> Self {
        let mut copy = MaybeUninit::uninit();
        self.clone_into_place(&mut copy);
        // SAFETY: just filled.
        unsafe { copy.assume_init() }
    }
}

impl<const ROOM: usize> Drop for Digest<ROOM> {
    fn drop(&mut self) {
        wipe(&mut self.state, self.method.length);
    }
}

/// Overwrites the first `length` bytes of a state so that the compiler cannot leave it out.
#[inline]
fn wipe(state: &mut [MaybeUninit<u64>], length: usize) {
    // SAFETY: zeros are a value of any integer, and `length` is at most the size of the state.
    unsafe { state.as_mut_ptr().cast::<u8>().write_bytes(0, length) };
    std::hint::black_box(state);
}

impl Digest {
    /// A digest of nothing yet.
    #[inline]
    pub fn new(method: &'static Method) -> Digest {
        let mut digest = Digest { state: [const { MaybeUninit::uninit() }; WORDS], method };
        digest.reset();
        digest
    }
}

impl<const ROOM: usize> Digest<ROOM> {
    /// Makes a digest of nothing yet where it is to live: for contexts on the heap, whose copy would cost more.
    ///
    /// # Panics
    /// Where there is less room than the method's state takes.
    #[inline]
    pub fn new_in_place<'a>(place: &'a mut MaybeUninit<Self>, method: &'static Method) -> &'a mut Self {
        assert!(method.words() <= ROOM, "room for the state");
        let raw = place.as_mut_ptr();
        // SAFETY: the method is written, a state may be uninitialised memory, and `reset` fills it.
        unsafe {
            (&raw mut (*raw).method).write(method);
            (*raw).reset();
            &mut *raw
        }
    }

    /// Copies this digest to where the copy is to live; only the part of the state in use is copied.
    #[inline]
    pub fn clone_into_place<'a>(&self, place: &'a mut MaybeUninit<Self>) -> &'a mut Self {
        let raw = place.as_mut_ptr();
        // SAFETY: the method is written and the part of the state in use is copied; the methods' states are plain data without pointers, so
        // the copy is a state.
        unsafe {
            (&raw mut (*raw).method).write(self.method);
            let to = (&raw mut (*raw).state).cast::<u8>();
            std::ptr::copy_nonoverlapping(self.state.as_ptr().cast::<u8>(), to, self.method.length);
            &mut *raw
        }
    }

    /// Takes over the state of `other`, which must be of the same method.
    ///
    /// # Panics
    /// Where the methods differ.
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        assert!(std::ptr::eq(self.method, other.method), "digests of one method");
        let to = self.state.as_mut_ptr().cast::<u8>();
        // SAFETY: both states are of this method's type.
        unsafe { std::ptr::copy_nonoverlapping(other.state.as_ptr().cast::<u8>(), to, self.method.length) };
    }

    /// The algorithm.
    #[inline]
    pub fn method(&self) -> &'static Method {
        self.method
    }

    /// Begins anew.
    #[inline]
    pub fn reset(&mut self) {
        // SAFETY: the state is of this method's type.
        unsafe { (self.method.init)(self.state.as_mut_ptr().cast()) };
    }

    /// Begins anew, and wipes what was taken in.
    #[inline]
    pub fn clear(&mut self) {
        wipe(&mut self.state, self.method.length);
        self.reset();
    }

    /// Takes in `data`; not to be called after [`Digest::finish`] or [`Digest::squeeze`] without a [`Digest::reset`].
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        if let Some(served) = cpacf::digest::served(self.method.function) {
            return self.update_by(served, data);
        }
        // SAFETY: the state is of this method's type.
        unsafe { (self.method.update)(self.state.as_mut_ptr().cast(), data.as_ptr(), data.len()) };
    }

    /// Writes the result: all of `out` by an extendable-output function, else the first [`Method::size`] bytes.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        assert!(self.method.xof || out.len() >= self.method.size, "room for the digest");
        if let Some(served) = cpacf::digest::served(self.method.function) {
            return self.finish_by(served, out);
        }
        // SAFETY: the state is of this method's type, and `out` has the room.
        unsafe { (self.method.finish)(self.state.as_mut_ptr().cast(), out.as_mut_ptr(), out.len()) };
    }

    /// Writes the next bytes of an extendable-output function's result.
    ///
    /// # Panics
    /// Where the method is not one.
    #[inline]
    pub fn squeeze(&mut self, out: &mut [u8]) {
        assert!(self.method.xof, "an extendable-output function");
        self.finish(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn standard_vectors() {
        // FIPS 180-4, FIPS 202 and RFC 1321 examples of "abc".
        for (method, expected) in [
            (&MD5, "900150983cd24fb0d6963f7d28e17f72"),
            (&SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (&SHA224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
            (&SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (&SHA512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
            (&SHA512_224, "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"),
            (&SHA3_256, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
            (&SHAKE128, "5881092dd818bf5cf8a3ddb793fbcba7"),
        ] {
            let mut digest = Digest::new(method);
            digest.update(b"a");
            let mut copy = digest.clone();
            copy.update(b"bc");
            let mut out = vec![0; method.size];
            copy.finish(&mut out);
            assert_eq!(hex(&out), expected, "{method:?}");
            digest.copy_from(&Digest::new(method));
            digest.update(b"abc");
            digest.finish(&mut out);
            assert_eq!(hex(&out), expected, "{method:?}");
        }
    }

    #[test]
    fn squeezing_in_pieces_gives_the_same_stream() {
        for method in [&SHAKE128, &SHAKE256] {
            let mut whole = Digest::new(method);
            whole.update(b"seed");
            let mut pieces = whole.clone();
            let (mut a, mut b) = ([0; 1000], [0; 1000]);
            whole.squeeze(&mut a);
            let mut rest = &mut b[..];
            for length in [1, 167, 168, 0, 169, 136, 300, 59] {
                let (now, later) = rest.split_at_mut(length);
                pieces.squeeze(now);
                rest = later;
            }
            assert!(rest.is_empty());
            assert_eq!(a, b);
        }
    }

    #[test]
    fn a_digest_goes_on_from_its_chaining_value() {
        let message: Vec<u8> = (0..2000u32).map(|i| (i * 7) as u8).collect();
        for method in METHODS {
            let mut first = Digest::new(method);
            let at = 3 * method.block;
            first.update(&message[..at]);
            let mut place = [0; MAX_CHAIN];
            let Some(chain) = first.chain(&mut place) else {
                assert!(std::ptr::eq(*method, &MD5) && Digest::new(method).resume(&[], 0).is_err());
                continue;
            };
            let mut second = Digest::new(method);
            assert!(second.resume(&chain[1..], at as u128).is_err());
            second.resume(chain, at as u128).expect("a chaining value");
            let (mut a, mut b) = ([0; MAX_SIZE], [0; MAX_SIZE]);
            for (digest, out) in [(&mut first, &mut a), (&mut second, &mut b)] {
                digest.update(&message[at..]);
                digest.finish(&mut out[..method.size]);
            }
            assert_eq!(a, b, "{method:?}");
        }
    }

    #[test]
    fn a_digest_goes_on_from_what_was_saved() {
        let message: Vec<u8> = (0..700u32).map(|i| (i * 11) as u8).collect();
        for method in METHODS {
            for at in [0, 1, method.block - 1, method.block, method.block + 1, 3 * method.block, 500] {
                let (mut first, mut second) = (Digest::new(method), Digest::new(method));
                first.update(&message[..at]);
                let mut place = [0; MAX_SAVED];
                let saved = first.save(&mut place);
                second.update(b"something else");
                second.restore(saved).expect("what was saved");
                assert!(second.clone().restore(&saved[..10]).is_err());
                assert!(second.clone().restore(&[saved, &[0; MAX_BLOCK]].concat()).is_err());
                let (mut a, mut b) = ([0; MAX_SIZE], [0; MAX_SIZE]);
                for (digest, out) in [(&mut first, &mut a), (&mut second, &mut b)] {
                    digest.update(&message[at..]);
                    digest.finish(&mut out[..method.size]);
                }
                assert_eq!(a, b, "{method:?} at {at}");
            }
        }
    }

    #[test]
    fn names_find_their_method() {
        assert!(std::ptr::eq(Method::from_name("sha256").expect("known"), &SHA256));
        assert!(std::ptr::eq(Method::from_name("1.3.14.3.2.26").expect("known"), &SHA1));
        assert!(Method::from_name("RIPEMD160").is_none());
        assert!(Method::from_name("").is_none());
    }
}
