//! Digests as signatures name them, and the digest of a message that is signed.

use super::Method;
use crate::adapter::cpu::awslc::digest::{Digest, MD5, SHA1};
use crate::catalogue::Direction;
use crate::ops::Tally;

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

/// The digest of a message that is signed, or whose signature is verified, in progress. It counts as a function of its own when it
/// is finished, but for TLS 1.0's, which has no row.
#[derive(Debug, Clone)]
pub struct MessageDigest {
    digest: Digest,
    /// SHA-1 beside MD5, for TLS 1.0; on the heap because hardly any signature has it.
    beside: Option<Box<Digest>>,
    /// Bytes taken in.
    taken: usize,
}

impl MessageDigest {
    /// A digest of nothing yet.
    pub fn new(hash: Hash) -> MessageDigest {
        let (method, beside) = match hash {
            Hash::One(method) => (method, None),
            Hash::Md5Sha1 => (&MD5, Some(Box::new(Digest::new(&SHA1)))),
        };
        MessageDigest { digest: Digest::new(method), beside, taken: 0 }
    }

    /// Whether nothing was taken in yet.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Takes in `data`.
    pub fn update(&mut self, data: &[u8]) {
        self.taken += data.len();
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
        } else {
            Tally::new(self.digest.method().function, 0).count(Direction::Encrypt, self.taken);
        }
        self.taken = 0;
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
