//! Ciphers, digests and MACs: one message of a given size, as a program would process it.

use super::libcrypto::{Owned, Params, Side};
use super::measure::Work;
use crate::Error;
use std::ffi::{CString, c_int, c_uint};
use std::ptr::{null, null_mut};

const SET_IV_LENGTH: c_int = 0x9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;
/// Bytes of a tag.
pub const TAG: usize = 16;
/// The associated data of every AEAD message.
pub const AAD: [u8; 13] = [0x17; 13];
/// The IV of every message, or its beginning.
pub const IV: [u8; 16] = [0x5a; 16];

/// How a cipher is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A message starts with its IV: `EVP_CipherInit_ex2` with the IV alone, then one `EVP_CipherUpdate`.
    PerMessage,
    /// One stream without end: `EVP_Cipher` alone, as OpenSSH and TLS 1.2 call it for every packet.
    Continued,
    /// IV, 13 bytes of associated data, data, final, tag.
    Aead,
    /// IV, data, final, tag, without associated data.
    NoData,
    /// The calls of [`Mode::Aead`], after the length of the message has been announced.
    Ccm,
}

/// A cipher and a direction.
#[derive(Debug, Clone)]
pub struct Cipher {
    /// OpenSSL's name.
    pub name: String,
    /// How OpenSSL's functions are called.
    pub mode: Mode,
    /// The direction.
    pub encrypt: bool,
}

impl Cipher {
    /// Every cipher the provider offers, each direction that differs from the other.
    pub fn all() -> Vec<Cipher> {
        let mut all = Vec::new();
        let mut add = |name: String, modes: &[Mode], both: bool| {
            for &mode in modes {
                for encrypt in if both { &[true, false][..] } else { &[true] } {
                    all.push(Cipher { name: name.clone(), mode, encrypt: *encrypt });
                }
            }
        };
        use Mode::{Aead, Ccm, Continued, PerMessage};
        for bits in [128, 192, 256] {
            add(format!("AES-{bits}-GCM"), &[Aead], true);
            add(format!("AES-{bits}-CTR"), &[PerMessage, Continued], false);
            add(format!("AES-{bits}-CBC"), &[PerMessage, Continued], true);
            add(format!("AES-{bits}-CFB"), &[PerMessage, Continued], true);
            add(format!("AES-{bits}-OFB"), &[PerMessage, Continued], false);
            add(format!("AES-{bits}-CCM"), &[Ccm], true);
            if bits != 192 {
                add(format!("AES-{bits}-XTS"), &[PerMessage], true);
            }
            add(format!("AES-{bits}-ECB"), &[Continued], true);
        }
        add("DES-EDE3-CBC".to_owned(), &[PerMessage, Continued], true);
        add("ChaCha20".to_owned(), &[PerMessage, Continued], false);
        add("ChaCha20-Poly1305".to_owned(), &[Aead], true);
        all
    }

    /// The row's name.
    pub fn title(&self) -> String {
        let direction = if self.encrypt { "encrypt" } else { "decrypt" };
        let suffix = if self.mode == Mode::Continued && !self.name.ends_with("ECB") { " (continued)" } else { "" };
        format!("{} {direction}{suffix}", self.name)
    }

    fn fetch(&self, side: Side) -> Option<Owned> {
        let f = side.f;
        let name = CString::new(self.name.as_str()).unwrap_or_default();
        // SAFETY: terminated strings, a live context.
        let fetched = unsafe { (f.EVP_CIPHER_fetch)(side.context, name.as_ptr(), side.query.as_ptr()) };
        let cipher = side.own(fetched, f.EVP_CIPHER_free);
        if cipher.is_none() {
            f.errors();
        }
        cipher
    }

    /// A message of `size` bytes, encrypted, with an AEAD's tag; `None` where the side does not have the cipher.
    pub fn sealed(&self, side: Side, size: usize) -> Result<Option<Vec<u8>>, Error> {
        let Some(cipher) = self.fetch(side) else { return Ok(None) };
        Message::new(side, &cipher, self.mode, true, pattern(size))?.sealed(&self.title()).map(Some)
    }

    /// The work on a message of `size` bytes; `None` where the side does not have the cipher.
    pub fn work(&self, side: Side, size: usize) -> Result<Option<Work>, Error> {
        let Some(cipher) = self.fetch(side) else { return Ok(None) };
        if self.encrypt {
            let mut message = Message::new(side, &cipher, self.mode, true, pattern(size))?;
            let proof = message.sealed(&self.title())?;
            return Ok(Some(Work::new(proof, move |n| message.run(n))));
        }
        // What is decrypted was encrypted by the same side; both sides' plaintexts are compared.
        let Some(mut sealed) = self.sealed(side, size)? else { return Ok(None) };
        let tag = sealed.split_off(size);
        let mut message = Message::new(side, &cipher, self.mode, false, sealed)?;
        message.tag[..tag.len()].copy_from_slice(&tag);
        let proof = message.sealed(&self.title())?;
        Ok(Some(Work::new(proof, move |n| message.run(n))))
    }
}

struct Message {
    side: Side,
    context: Owned,
    mode: Mode,
    encrypt: bool,
    iv: [u8; 16],
    tag: [u8; TAG],
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Message {
    fn new(side: Side, cipher: &Owned, mode: Mode, encrypt: bool, input: Vec<u8>) -> Result<Message, Error> {
        let f = side.f;
        // SAFETY: no arguments.
        let context = side.own(unsafe { (f.EVP_CIPHER_CTX_new)() }, f.EVP_CIPHER_CTX_free);
        let context = context.ok_or_else(|| side.failure("context"))?;
        let output = vec![0; input.len() + 32];
        let message = Message { side, context, mode, encrypt, iv: IV, tag: [0; TAG], input, output };
        let ctx = message.context.get();
        // SAFETY: key and IV are as long as the cipher says; all buffers live through the calls.
        unsafe {
            let key = key((f.EVP_CIPHER_get_key_length)(cipher.get()) as usize);
            side.check("init", (f.EVP_CipherInit_ex2)(ctx, cipher.get(), null(), null(), encrypt.into(), null()))?;
            if mode == Mode::Ccm {
                side.check("iv length", (f.EVP_CIPHER_CTX_ctrl)(ctx, SET_IV_LENGTH, 12, null_mut()))?;
                side.check("tag length", (f.EVP_CIPHER_CTX_ctrl)(ctx, SET_TAG, TAG as c_int, null_mut()))?;
            }
            let has_iv = (f.EVP_CIPHER_get_iv_length)(cipher.get()) > 0;
            let iv = if has_iv { message.iv.as_ptr() } else { null() };
            side.check("key", (f.EVP_CipherInit_ex2)(ctx, null_mut(), key.as_ptr(), iv, encrypt.into(), null()))?;
            if matches!(mode, Mode::PerMessage | Mode::Continued) {
                (f.EVP_CIPHER_CTX_set_padding)(ctx, 0);
            }
        }
        Ok(message)
    }

    /// The output of one message and, when encrypting with an AEAD, its tag.
    fn sealed(&mut self, title: &str) -> Result<Vec<u8>, Error> {
        if !self.run(1) {
            return Err(self.side.failure(title));
        }
        let mut out = self.output[..self.input.len()].to_vec();
        if self.encrypt && matches!(self.mode, Mode::Aead | Mode::NoData | Mode::Ccm) {
            out.extend_from_slice(&self.tag);
        }
        Ok(out)
    }

    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the context is keyed; input, output, IV and tag are ours and long enough.
        unsafe {
            match self.mode {
                Mode::PerMessage => (0..times).all(|_| self.message()),
                Mode::Continued => (0..times).all(|_| self.packet()),
                Mode::Aead | Mode::NoData | Mode::Ccm => (0..times).all(|_| self.aead()),
            }
        }
    }

    #[inline]
    unsafe fn message(&mut self) -> bool {
        let (f, ctx) = (self.side.f, self.context.get());
        let mut n = 0;
        // SAFETY: `new` has given the context its key; the IV has 16 bytes, and the output has room for the input and 32 bytes more.
        unsafe {
            (f.EVP_CipherInit_ex2)(ctx, null_mut(), null(), self.iv.as_ptr(), -1, null()) == 1
                && (f.EVP_CipherUpdate)(
                    ctx,
                    self.output.as_mut_ptr(),
                    &mut n,
                    self.input.as_ptr(),
                    self.input.len() as c_int,
                ) == 1
        }
    }

    #[inline]
    unsafe fn packet(&mut self) -> bool {
        let (f, ctx) = (self.side.f, self.context.get());
        // SAFETY: `new` has given the context its key and IV; the output has room for the input and 32 bytes more.
        unsafe { (f.EVP_Cipher)(ctx, self.output.as_mut_ptr(), self.input.as_ptr(), self.input.len() as c_uint) > 0 }
    }

    #[inline]
    unsafe fn aead(&mut self) -> bool {
        let (f, ctx) = (self.side.f, self.context.get());
        let (out, input, length) = (self.output.as_mut_ptr(), self.input.as_ptr(), self.input.len() as c_int);
        let tag = self.tag.as_mut_ptr().cast();
        let mut n = 0;
        // SAFETY: `new` has given the context its key; the IV has 16 bytes, the tag `TAG`, and the output has room for the input and 32
        // bytes more.
        unsafe {
            let mut ok = (f.EVP_CipherInit_ex2)(ctx, null_mut(), null(), self.iv.as_ptr(), -1, null()) == 1;
            if !self.encrypt {
                ok &= (f.EVP_CIPHER_CTX_ctrl)(ctx, SET_TAG, TAG as c_int, tag) == 1;
            }
            if self.mode == Mode::Ccm {
                ok &= (f.EVP_CipherUpdate)(ctx, null_mut(), &mut n, null(), length) == 1;
            }
            if self.mode != Mode::NoData {
                ok &= (f.EVP_CipherUpdate)(ctx, null_mut(), &mut n, AAD.as_ptr(), AAD.len() as c_int) == 1;
            }
            ok &= (f.EVP_CipherUpdate)(ctx, out, &mut n, input, length) == 1;
            // CCM authenticates in the update; a final after decryption is neither needed nor usual there.
            if self.encrypt || self.mode != Mode::Ccm {
                ok &= (f.EVP_CipherFinal_ex)(ctx, out.add(self.input.len()), &mut n) == 1;
            }
            if self.encrypt {
                ok &= (f.EVP_CIPHER_CTX_ctrl)(ctx, GET_TAG, TAG as c_int, tag) == 1;
            }
            ok
        }
    }
}

/// The digests, by OpenSSL's name.
pub const DIGESTS: &[&str] = &[
    "SHA1",
    "SHA2-224",
    "SHA2-256",
    "SHA2-384",
    "SHA2-512",
    "SHA2-512/224",
    "SHA2-512/256",
    "SHA3-224",
    "SHA3-256",
    "SHA3-384",
    "SHA3-512",
    "SHAKE-128",
    "SHAKE-256",
    "MD5",
];

/// One digest of `size` bytes: init, update, final.
pub fn digest(side: Side, name: &str, size: usize) -> Result<Option<Work>, Error> {
    let f = side.f;
    let terminated = CString::new(name).unwrap_or_default();
    // SAFETY: terminated strings, a live context.
    let fetched = unsafe { (f.EVP_MD_fetch)(side.context, terminated.as_ptr(), side.query.as_ptr()) };
    let Some(digest) = side.own(fetched, f.EVP_MD_free) else {
        f.errors();
        return Ok(None);
    };
    // SAFETY: no arguments.
    let context = side.own(unsafe { (f.EVP_MD_CTX_new)() }, f.EVP_MD_CTX_free).ok_or_else(|| side.failure(name))?;
    let (input, xof) = (pattern(size), name.starts_with("SHAKE"));
    let once = move |out: &mut [u8; 64]| {
        let ctx = context.get();
        // SAFETY: the objects live in this closure; 64 bytes hold every digest.
        unsafe {
            (f.EVP_DigestInit_ex2)(ctx, digest.get(), null()) == 1
                && (f.EVP_DigestUpdate)(ctx, input.as_ptr(), input.len()) == 1
                && 1 == if xof {
                    (f.EVP_DigestFinalXOF)(ctx, out.as_mut_ptr(), 32)
                } else {
                    (f.EVP_DigestFinal_ex)(ctx, out.as_mut_ptr(), null_mut())
                }
        }
    };
    let mut proof = [0; 64];
    if !once(&mut proof) {
        return Err(side.failure(name));
    }
    Ok(Some(Work::new(proof.to_vec(), move |n| (0..n).all(|_| once(&mut [0; 64])))))
}

/// The MACs: OpenSSL's name, its parameter and that one's value, and the key's length.
pub const MACS: &[(&str, &str, usize)] = &[
    ("HMAC", "SHA1", 20),
    ("HMAC", "SHA2-224", 28),
    ("HMAC", "SHA2-256", 32),
    ("HMAC", "SHA2-384", 48),
    ("HMAC", "SHA2-512", 64),
    ("HMAC", "SHA3-256", 32),
    ("HMAC", "MD5", 16),
    ("CMAC", "AES-128-CBC", 16),
    ("CMAC", "AES-192-CBC", 24),
    ("CMAC", "AES-256-CBC", 32),
];

/// The row's name.
pub fn mac_title(name: &str, inner: &str) -> String {
    format!("{name}-{}", inner.trim_end_matches("-CBC"))
}

/// One MAC of `size` bytes under a key set before: init, update, final.
pub fn mac(side: Side, (name, inner, key): (&str, &str, usize), size: usize) -> Result<Option<Work>, Error> {
    let f = side.f;
    let terminated = CString::new(name).unwrap_or_default();
    // SAFETY: terminated strings, a live context.
    let fetched = unsafe { (f.EVP_MAC_fetch)(side.context, terminated.as_ptr(), side.query.as_ptr()) };
    let Some(mac) = side.own(fetched, f.EVP_MAC_free) else {
        f.errors();
        return Ok(None);
    };
    // SAFETY: the MAC was just fetched.
    let context = side.own(unsafe { (f.EVP_MAC_CTX_new)(mac.get()) }, f.EVP_MAC_CTX_free);
    let context = context.ok_or_else(|| side.failure(name))?;
    let parameter = if name == "CMAC" { c"cipher" } else { c"digest" };
    let mut parameters = Params::default().text(parameter, inner);
    let key = self::key(key);
    // SAFETY: key and parameters live through the call.
    let set = unsafe { (f.EVP_MAC_init)(context.get(), key.as_ptr(), key.len(), parameters.array()) };
    side.check(&mac_title(name, inner), set)?;
    let input = pattern(size);
    let once = move |out: &mut [u8; 64]| {
        let (ctx, mut length) = (context.get(), 0);
        // SAFETY: the objects live in this closure; 64 bytes hold every MAC.
        unsafe {
            (f.EVP_MAC_init)(ctx, null(), 0, null()) == 1
                && (f.EVP_MAC_update)(ctx, input.as_ptr(), input.len()) == 1
                && (f.EVP_MAC_final)(ctx, out.as_mut_ptr(), &mut length, out.len()) == 1
        }
    };
    let mut proof = [0; 64];
    if !once(&mut proof) {
        return Err(side.failure(&mac_title(name, inner)));
    }
    Ok(Some(Work::new(proof.to_vec(), move |n| (0..n).all(|_| once(&mut [0; 64])))))
}

/// A key of `size` bytes: 1, 2, 3...
pub fn key(size: usize) -> Vec<u8> {
    (1..=size).map(|i| i as u8).collect()
}

/// The message of `size` bytes.
pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 31 + (i >> 8)) as u8).collect()
}
