//! The MAC of a TLS record in CBC whose content's length is secret (CVE-2013-0169).

use super::private;
use aws_lc_sys as lc;

/// The digests that there is such a MAC of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
    Sha384,
}

/// Writes the MAC; its length, `None` where it could not be made. `record` is content, MAC and padding together, `content` the length of the
/// first, at most that of the record; `key` is HMAC's, as long as the digest's block. Neither timing nor memory accesses tell the length.
pub(crate) fn mac(
    hash: Hash,
    key: &[u8],
    header: &[u8; 13],
    record: &[u8],
    content: usize,
    out: &mut [u8; 64],
) -> Option<usize> {
    let mut length = 0;
    // SAFETY: the digests are immutable statics; the pointers and lengths describe the slices; the longest result fits.
    let done = unsafe {
        let md = match hash {
            Hash::Sha1 => lc::EVP_sha1(),
            Hash::Sha256 => lc::EVP_sha256(),
            Hash::Sha384 => lc::EVP_sha384(),
        };
        private::EVP_tls_cbc_digest_record(
            md,
            out.as_mut_ptr(),
            &raw mut length,
            header.as_ptr(),
            record.as_ptr(),
            content,
            record.len(),
            key.as_ptr(),
            key.len() as u32,
        )
    };
    (done == 1).then_some(length)
}
