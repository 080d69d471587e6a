//! RFC 8017's encodings around the raw RSA operations, and OpenSSL's two additions to PKCS#1 v1.5 decryption: implicit
//! rejection and the TLS premaster form.
//!
//! What is decrypted is secret until a decoding succeeded: nothing here branches on it or uses it as an index before.

use super::digest::{Digest, MD5, Method, SHA1, SHA256};
use super::rsa::{Key, MAX_SIZE};
use crate::error::Error;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};
use zeroize::Zeroizing;

/// A digest as signatures name it: a method, or TLS 1.0's MD5 and SHA-1 side by side, which has no DigestInfo.
#[derive(Debug, Clone, Copy)]
pub enum Hash {
    /// One digest.
    One(&'static Method),
    /// MD5 followed by SHA-1.
    Md5Sha1,
}

impl PartialEq for Hash {
    fn eq(&self, other: &Hash) -> bool {
        match (self, other) {
            (Hash::One(a), Hash::One(b)) => std::ptr::eq(*a, *b),
            (Hash::Md5Sha1, Hash::Md5Sha1) => true,
            _ => false,
        }
    }
}

impl Hash {
    /// The digest of this name or object identifier; `None` for those not known here and for extendable-output functions.
    pub fn from_name(name: &str) -> Option<Hash> {
        if name.eq_ignore_ascii_case("MD5-SHA1") {
            return Some(Hash::Md5Sha1);
        }
        Method::from_name(name).filter(|m| !m.xof).map(Hash::One)
    }

    /// The digest, where it is a single one.
    pub fn method(self) -> Option<&'static Method> {
        match self {
            Hash::One(method) => Some(method),
            Hash::Md5Sha1 => None,
        }
    }

    /// The length of the result in bytes.
    pub fn size(self) -> usize {
        match self {
            Hash::One(method) => method.size,
            Hash::Md5Sha1 => MD5.size + SHA1.size,
        }
    }

    /// OpenSSL's first name of it.
    pub fn name(self) -> &'static str {
        match self {
            Hash::One(method) => method.name,
            Hash::Md5Sha1 => "MD5-SHA1",
        }
    }
}

/// A `Hash` in progress.
#[derive(Debug, Clone)]
pub struct Hasher {
    digest: Digest,
    /// SHA-1 beside MD5, for TLS 1.0; on the heap because hardly any signature has it.
    beside: Option<Box<Digest>>,
}

impl Hasher {
    /// A digest of nothing yet.
    pub fn new(hash: Hash) -> Hasher {
        match hash {
            Hash::One(method) => Hasher { digest: Digest::new(method), beside: None },
            Hash::Md5Sha1 => Hasher { digest: Digest::new(&MD5), beside: Some(Box::new(Digest::new(&SHA1))) },
        }
    }

    /// Takes in `data`.
    pub fn update(&mut self, data: &[u8]) {
        self.digest.update(data);
        if let Some(beside) = &mut self.beside {
            beside.update(data);
        }
    }

    /// Writes the result to the front of `out`, gives its length and begins anew.
    pub fn finish(&mut self, out: &mut [u8; 64]) -> usize {
        let mut length = self.digest.method().size;
        self.digest.finish(out);
        self.digest.reset();
        if let Some(beside) = &mut self.beside {
            beside.finish(&mut out[length..]);
            beside.reset();
            length += beside.method().size;
        }
        length
    }
}

/// The DER object identifier of a digest (its content octets): RFC 8017 appendix B.1 and NIST's for SHA-3.
pub fn oid(method: &Method) -> Option<&'static [u8]> {
    const NIST: [[u8; 9]; 10] = {
        let mut all = [[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 0]; 10];
        let mut i = 0;
        while i < 10 {
            all[i][8] = i as u8 + 1;
            i += 1;
        }
        all
    };
    Some(match method.name {
        "MD5" => &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2, 5],
        "SHA1" => &[0x2b, 0x0e, 3, 2, 0x1a],
        "SHA2-256" => &NIST[0],
        "SHA2-384" => &NIST[1],
        "SHA2-512" => &NIST[2],
        "SHA2-224" => &NIST[3],
        "SHA2-512/224" => &NIST[4],
        "SHA2-512/256" => &NIST[5],
        "SHA3-224" => &NIST[6],
        "SHA3-256" => &NIST[7],
        "SHA3-384" => &NIST[8],
        "SHA3-512" => &NIST[9],
        _ => return None,
    })
}

const TOO_LONG: Error = Error::Unsupported("data too large for the RSA key");

/// EMSA-PKCS1-v1_5 (RFC 8017, 9.2) of a digest, or of `data` as it stands without one.
///
/// # Errors
/// [`Error::Unsupported`] where it does not fit into `block`, which is of the modulus's length.
pub fn pkcs1_sign(hash: Option<Hash>, data: &[u8], block: &mut [u8]) -> Result<(), Error> {
    let mut prefix = [0; 19];
    let mut length = 0;
    if let Some(Hash::One(method)) = hash {
        // DigestInfo: SEQUENCE { SEQUENCE { OID, NULL }, OCTET STRING digest }.
        let oid = oid(method).ok_or(Error::Unsupported("digest"))?;
        let (id, total) = (oid.len() + 4, oid.len() + 8 + data.len());
        prefix[..6].copy_from_slice(&[0x30, total as u8, 0x30, id as u8, 6, oid.len() as u8]);
        prefix[6..6 + oid.len()].copy_from_slice(oid);
        prefix[6 + oid.len()..][..4].copy_from_slice(&[5, 0, 4, data.len() as u8]);
        length = oid.len() + 10;
    }
    let padding = block.len().checked_sub(length + data.len() + 3).filter(|&l| l >= 8).ok_or(TOO_LONG)?;
    block[..2].copy_from_slice(&[0, 1]);
    block[2..2 + padding].fill(0xff);
    block[2 + padding] = 0;
    let rest = &mut block[3 + padding..];
    rest[..length].copy_from_slice(&prefix[..length]);
    rest[length..].copy_from_slice(data);
    Ok(())
}

/// What a PKCS#1 v1.5 signature block carries, without looking into it. Signatures are public.
pub fn pkcs1_signed(block: &[u8]) -> Option<&[u8]> {
    let rest = block.strip_prefix(&[0, 1])?;
    let padding = rest.iter().take_while(|&&b| b == 0xff).count();
    (padding >= 8 && rest.get(padding) == Some(&0)).then(|| &rest[padding + 1..])
}

/// MGF1 (RFC 8017, B.2.1) of `seed`, added to `out`.
fn mgf1_xor(method: &'static Method, seed: &[u8], out: &mut [u8]) {
    let mut mask = Zeroizing::new([0; 64]);
    let mut digest = Digest::new(method);
    for (counter, chunk) in out.chunks_mut(method.size).enumerate() {
        digest.update(seed);
        digest.update(&(counter as u32).to_be_bytes());
        digest.finish(&mut mask[..]);
        digest.reset();
        chunk.iter_mut().zip(mask.iter()).for_each(|(o, m)| *o ^= m);
    }
}

/// How long a PSS salt is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salt {
    /// Exactly this many bytes.
    Bytes(usize),
    /// When signing as many as fit, when verifying as many as there are.
    Auto,
}

/// The longest PSS salt for a modulus of `bits` and a digest of `hash` bytes; `None` where not even an empty one fits.
pub fn pss_max_salt(bits: usize, hash: usize) -> Option<usize> {
    (bits - 1).div_ceil(8).checked_sub(hash + 2)
}

/// EMSA-PSS (RFC 8017, 9.1.1) of a digest into `block`, which is of the length of the modulus of `bits`.
///
/// # Errors
/// [`Error::Unsupported`] where salt and digest do not fit.
pub fn pss_sign(
    bits: usize,
    method: &'static Method,
    mgf1: &'static Method,
    salt: Salt,
    hashed: &[u8],
    block: &mut [u8],
) -> Result<(), Error> {
    let most = pss_max_salt(bits, method.size).ok_or(TOO_LONG)?;
    let length = match salt {
        Salt::Auto => most,
        Salt::Bytes(length) if length <= most => length,
        Salt::Bytes(_) => return Err(TOO_LONG),
    };
    // A modulus of 8k + 1 bits has an encoding one byte shorter than itself.
    let (lead, encoding) = block.split_at_mut(block.len() - (bits - 1).div_ceil(8));
    lead.fill(0);
    let (db, rest) = encoding.split_at_mut(encoding.len() - method.size - 1);
    let start = db.len() - length;
    db[..start - 1].fill(0);
    db[start - 1] = 1;
    super::random(&mut db[start..]);
    let mut digest = Digest::new(method);
    digest.update(&[0; 8]);
    digest.update(hashed);
    digest.update(&db[start..]);
    digest.finish(rest);
    rest[method.size] = 0xbc;
    mgf1_xor(mgf1, &rest[..method.size], db);
    db[0] &= top_mask(bits);
    Ok(())
}

/// The bits of an encoding's first byte that may be set.
fn top_mask(bits: usize) -> u8 {
    match (bits - 1) % 8 {
        0 => 0xff,
        used => 0xff >> (8 - used),
    }
}

/// EMSA-PSS verification (RFC 8017, 9.1.2). `block` is what the signature opens to, and is used up. Signatures are public.
pub fn pss_verify(
    bits: usize,
    method: &'static Method,
    mgf1: &'static Method,
    salt: Salt,
    hashed: &[u8],
    block: &mut [u8],
) -> bool {
    let length = (bits - 1).div_ceil(8);
    let (lead, encoding) = block.split_at_mut(block.len() - length);
    let fits = pss_max_salt(bits, method.size).is_some_and(|most| !matches!(salt, Salt::Bytes(n) if n > most));
    if !fits || hashed.len() != method.size || lead.iter().any(|&b| b != 0) || encoding[0] & !top_mask(bits) != 0 {
        return false;
    }
    let (db, rest) = encoding.split_at_mut(length - method.size - 1);
    if rest[method.size] != 0xbc {
        return false;
    }
    mgf1_xor(mgf1, &rest[..method.size], db);
    db[0] &= top_mask(bits);
    let zeros = db.iter().take_while(|&&b| b == 0).count();
    if db.get(zeros) != Some(&1) || matches!(salt, Salt::Bytes(n) if n != db.len() - zeros - 1) {
        return false;
    }
    let mut digest = Digest::new(method);
    let mut expected = [0; 64];
    digest.update(&[0; 8]);
    digest.update(hashed);
    digest.update(&db[zeros + 1..]);
    digest.finish(&mut expected);
    expected[..method.size] == rest[..method.size]
}

/// EME-OAEP encoding (RFC 8017, 7.1.1) into `block`, which is of the modulus's length.
///
/// # Errors
/// [`Error::Unsupported`] where the message does not fit.
pub fn oaep_encode(
    method: &'static Method,
    mgf1: &'static Method,
    label: &[u8],
    message: &[u8],
    block: &mut [u8],
) -> Result<(), Error> {
    let hash = method.size;
    block.len().checked_sub(2 * hash + 2).filter(|&most| message.len() <= most).ok_or(TOO_LONG)?;
    block[0] = 0;
    let (seed, db) = block[1..].split_at_mut(hash);
    super::random(seed);
    let mut digest = Digest::new(method);
    digest.update(label);
    digest.finish(db);
    let start = db.len() - message.len();
    db[hash..start - 1].fill(0);
    db[start - 1] = 1;
    db[start..].copy_from_slice(message);
    mgf1_xor(mgf1, seed, db);
    mgf1_xor(mgf1, db, seed);
    Ok(())
}

/// EME-OAEP decoding (RFC 8017, 7.1.2): the message within `block`, which is used up. Which check failed stays secret.
///
/// # Errors
/// [`Error::Verify`].
pub fn oaep_decode<'a>(
    method: &'static Method,
    mgf1: &'static Method,
    label: &[u8],
    block: &'a mut [u8],
) -> Result<&'a [u8], Error> {
    let hash = method.size;
    if block.len() < 2 * hash + 2 {
        return Err(Error::Verify);
    }
    let (lead, rest) = block.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(hash);
    mgf1_xor(mgf1, db, seed);
    mgf1_xor(mgf1, seed, db);
    let mut expected = [0; 64];
    let mut digest = Digest::new(method);
    digest.update(label);
    digest.finish(&mut expected);
    let mut good = lead[0].ct_eq(&0) & db[..hash].ct_eq(&expected[..hash]);
    let mut looking = Choice::from(1);
    let mut start = 0u32;
    for (i, &byte) in db.iter().enumerate().skip(hash) {
        let one = byte.ct_eq(&1);
        start.conditional_assign(&(i as u32 + 1), looking & one);
        looking &= !one;
        good &= !looking | byte.ct_eq(&0);
    }
    good &= !looking;
    // Whether the encoding was valid is what the caller learns; only for a valid one the length is.
    if bool::from(good) { Ok(&db[start as usize..]) } else { Err(Error::Verify) }
}

/// EME-PKCS1-v1_5 encoding (RFC 8017, 7.2.1) into `block`, which is of the modulus's length.
///
/// # Errors
/// [`Error::Unsupported`] where the message does not fit.
pub fn pkcs1_encode(message: &[u8], block: &mut [u8]) -> Result<(), Error> {
    let padding = block.len().checked_sub(message.len() + 3).filter(|&l| l >= 8).ok_or(TOO_LONG)?;
    block[..2].copy_from_slice(&[0, 2]);
    let filler = &mut block[2..2 + padding];
    super::random(filler);
    for byte in filler {
        while *byte == 0 {
            super::random(std::slice::from_mut(byte));
        }
    }
    block[2 + padding] = 0;
    block[3 + padding..].copy_from_slice(message);
    Ok(())
}

/// Whether a block is a valid EME-PKCS1-v1_5 encoding, and where its message begins; in constant time.
fn pkcs1_scan(block: &[u8]) -> (Choice, u32) {
    let mut good = block[0].ct_eq(&0) & block[1].ct_eq(&2);
    let mut looking = Choice::from(1);
    let mut zero = 0u32;
    for (i, &byte) in block.iter().enumerate().skip(2) {
        let is_zero = byte.ct_eq(&0);
        zero.conditional_assign(&(i as u32), looking & is_zero);
        looking &= !is_zero;
    }
    // At least eight bytes of padding.
    good &= !looking & !zero.ct_lt(&10);
    (good, zero + 1)
}

/// All ones for a true choice, else all zeros: to select many bytes at the price of one look at the choice.
fn mask(choice: Choice) -> u8 {
    // Hidden from the compiler, which might branch on a mask it knows to be one of two.
    std::hint::black_box(0u8.wrapping_sub(choice.unwrap_u8()))
}

/// Moves `block` to the left by `count` bytes in a time that does not tell `count`, which is at most its length.
fn shift_left(block: &mut [u8], count: u32) {
    for bit in 0..=block.len().ilog2() {
        let moved = mask(Choice::from((count >> bit & 1) as u8));
        let step = 1 << bit;
        let rest = block.len() - step;
        for i in 0..rest {
            block[i] ^= moved & (block[i] ^ block[i + step]);
        }
        block[rest..].iter_mut().for_each(|byte| *byte &= !moved);
    }
}

/// EME-PKCS1-v1_5 decoding (RFC 8017, 7.2.2): moves the message to the front of `block` and gives its length.
///
/// This tells whether the padding was right, which is what Bleichenbacher's attack needs; it is for callers who turned
/// implicit rejection off.
///
/// # Errors
/// [`Error::Verify`].
pub fn pkcs1_decode(block: &mut [u8]) -> Result<usize, Error> {
    if block.len() < 11 {
        return Err(Error::Verify);
    }
    let (good, start) = pkcs1_scan(block);
    let start = u32::conditional_select(&(block.len() as u32), &start, good);
    shift_left(block, start);
    if bool::from(good) { Ok(block.len() - start as usize) } else { Err(Error::Verify) }
}

/// HMAC-SHA256 with the two key blocks taken in beforehand.
struct Hmac {
    inner: Digest,
    outer: Digest,
}

impl Hmac {
    fn new(key: &[u8; 32]) -> Hmac {
        let mut block = Zeroizing::new([0x36; 64]);
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        let mut inner = Digest::new(&SHA256);
        inner.update(&block[..]);
        block.iter_mut().for_each(|b| *b ^= 0x36 ^ 0x5c);
        let mut outer = Digest::new(&SHA256);
        outer.update(&block[..]);
        Hmac { inner, outer }
    }

    fn mac(&self, parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        let mut out = Zeroizing::new([0; 32]);
        let mut digest = self.inner.clone();
        parts.iter().for_each(|part| digest.update(part));
        digest.finish(&mut out[..]);
        digest.copy_from(&self.outer);
        digest.update(&out[..]);
        digest.finish(&mut out[..]);
        out
    }

    /// The pseudo-random function of implicit rejection.
    fn expand(&self, label: &[u8], out: &mut [u8]) {
        let bits = (out.len() as u16).wrapping_mul(8).to_be_bytes();
        for (i, chunk) in out.chunks_mut(32).enumerate() {
            let block = self.mac(&[&(i as u16).to_be_bytes(), label, &bits]);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

/// EME-PKCS1-v1_5 decoding with implicit rejection: a wrong padding gives a message too, one derived from the key and the
/// ciphertext, so that nobody can tell by the result. The derivation is OpenSSL's (since 3.2; draft-irtf-cfrg-rsa-guidance,
/// section 7): both give the same messages.
///
/// `ciphertext` and `block`, what it decrypted to, are of the modulus's length. Moves the message to the front of `block`
/// and gives its length.
///
/// # Errors
/// [`Error::Length`] for blocks below 11 bytes, which no key has.
pub fn pkcs1_decode_implicit(key: &Key, ciphertext: &[u8], block: &mut [u8]) -> Result<usize, Error> {
    let size = block.len();
    if !(11..=MAX_SIZE).contains(&size) {
        return Err(Error::Length { what: "RSA block", got: size, expected: "the modulus's" });
    }
    let kdk = Hmac::new(key.d_hash()).mac(&[ciphertext]);
    let hmac = Hmac::new(&kdk);
    let mut lengths = Zeroizing::new([0; 256]);
    hmac.expand(b"length", &mut lengths[..]);
    let mut synthetic = Zeroizing::new([0; MAX_SIZE]);
    let synthetic = &mut synthetic[..size];
    hmac.expand(b"message", synthetic);

    // The last of 128 candidates that is a possible length.
    let most = size as u32 - 10;
    let wide = (most + 1).next_power_of_two() - 1;
    let mut length = 0u32;
    for pair in lengths.chunks_exact(2) {
        let candidate = u32::from(u16::from_be_bytes([pair[0], pair[1]])) & wide;
        length.conditional_assign(&candidate, candidate.ct_lt(&most));
    }

    let (good, start) = pkcs1_scan(block);
    let start = u32::conditional_select(&(size as u32 - length), &start, good);
    let bad = mask(!good);
    for (byte, other) in block.iter_mut().zip(synthetic.iter()) {
        *byte ^= bad & (*byte ^ other);
    }
    shift_left(block, start);
    Ok(size - start as usize)
}

/// The length of a TLS premaster secret, in bytes.
pub const PREMASTER: usize = 48;

/// PKCS#1 v1.5 decoding of a TLS premaster secret (RFC 5246, 7.4.7.1): where the padding or the version within it is
/// wrong, a random secret comes out. `alternative` is the version some clients send instead (0: none).
///
/// # Errors
/// [`Error::Verify`] for a modulus too small for any premaster secret, which is public.
pub fn premaster_decode(client: u32, alternative: u32, block: &[u8], out: &mut [u8; PREMASTER]) -> Result<(), Error> {
    if block.len() < PREMASTER + 11 {
        return Err(Error::Verify);
    }
    let mut random = Zeroizing::new([0; PREMASTER]);
    super::random(&mut random[..]);
    premaster_choose(client, alternative, block, &random, out);
    Ok(())
}

/// The premaster secret in `block`, of at least 59 bytes, or `random`, in constant time.
pub fn premaster_choose(
    client: u32,
    alternative: u32,
    block: &[u8],
    random: &[u8; PREMASTER],
    out: &mut [u8; PREMASTER],
) {
    let start = block.len() - PREMASTER;
    let mut good = block[0].ct_eq(&0) & block[1].ct_eq(&2) & block[start - 1].ct_eq(&0);
    for byte in &block[2..start - 1] {
        good &= !byte.ct_eq(&0);
    }
    let is = |version: u32| block[start].ct_eq(&((version >> 8) as u8)) & block[start + 1].ct_eq(&(version as u8));
    let mut version = is(client);
    if alternative > 0 {
        version |= is(alternative);
    }
    good &= version;
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = u8::conditional_select(&random[i], &block[start + i], good);
    }
}
