//! Digests as signatures name them, and the digest of a message that is signed.

use crate::ops::digest::{Digest, MAX_SIZE, MD5, Method, Part, SHA1};

/// A digest as signatures name it: a method, or TLS 1.0's MD5 and SHA-1 side by side, which has no DigestInfo.
#[derive(Debug, Clone, Copy)]
pub enum Hash {
    /// A single digest.
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

    /// Length in bytes of the encoded digest in a PKCS #1 v1.5 signature: a DigestInfo; for TLS 1.0 the two digests.
    pub fn coded_size(self) -> usize {
        let around = match self {
            Hash::One(method) => oid(method).map_or(0, |oid| oid.len() + 10),
            Hash::Md5Sha1 => 0,
        };
        around + self.size()
    }

    /// OpenSSL's first name of the hash.
    pub fn name(self) -> &'static str {
        match self {
            Hash::One(method) => method.name,
            Hash::Md5Sha1 => "MD5-SHA1",
        }
    }
}

/// The digest of a message that is signed, or whose signature is verified, in progress. It counts as a function of its own when it
/// is finished, but for TLS 1.0's, which has no row.
#[derive(Debug, Clone)]
// Nearly all are of the large variant, which lies within its signature's context.
#[allow(clippy::large_enum_variant)]
pub enum MessageDigest {
    /// A single digest.
    One(Digest),
    /// MD5 beside SHA-1, on the heap because hardly any signature has it, and whether something was taken in.
    Two(Box<[Part; 2]>, bool),
}

impl MessageDigest {
    /// A digest of nothing yet.
    pub fn new(hash: Hash) -> MessageDigest {
        match hash {
            Hash::One(method) => MessageDigest::One(Digest::new(method)),
            Hash::Md5Sha1 => MessageDigest::Two(Box::new([Part::new(&MD5), Part::new(&SHA1)]), false),
        }
    }

    /// Whether nothing was taken in yet.
    pub fn is_empty(&self) -> bool {
        match self {
            MessageDigest::One(digest) => digest.is_empty(),
            MessageDigest::Two(_, begun) => !begun,
        }
    }

    /// Takes in `data`.
    pub fn update(&mut self, data: &[u8]) {
        match self {
            MessageDigest::One(digest) => digest.update(data),
            MessageDigest::Two(both, begun) => {
                both.iter_mut().for_each(|digest| digest.update(data));
                *begun |= !data.is_empty();
            }
        }
    }

    /// Writes the result to the front of `out`, gives its length and begins anew.
    pub fn finish(&mut self, out: &mut [u8; MAX_SIZE]) -> usize {
        match self {
            MessageDigest::One(digest) => {
                digest.finish(out);
                digest.reset();
                digest.method().size
            }
            MessageDigest::Two(both, begun) => {
                *begun = false;
                both.iter_mut().fold(0, |length, digest| {
                    digest.finish(&mut out[length..]);
                    digest.reset();
                    length + digest.method().size
                })
            }
        }
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
