//! Ciphers that authenticate, and what they have in common behind OpenSSL's interfaces: the headers of TLS records, and tags compared.

pub mod ccm;
pub mod chacha;
pub mod gcm;
pub mod gcm_parts;

/// The additional data of a TLS record: sequence number, type, version, length.
pub const TLS_AAD: usize = 13;
/// The part of a TLS 1.2 nonce of GCM and CCM that travels in the record; in GCM the invocation field of SP 800-38D 8.2.1.
pub const EXPLICIT_IV: usize = 8;
/// Bytes of the IV that stay for a connection.
pub const FIXED_IV: usize = 4;
/// The length of an IV or nonce where the caller sets none.
pub const DEFAULT_IV: usize = 12;

/// Fills an IV with random bytes.
pub fn random_iv(iv: &mut [u8]) {
    adjunct_cpu::random(iv);
}

/// The length in the header of a TLS record.
#[inline]
pub fn tls_length(aad: &[u8; TLS_AAD]) -> usize {
    usize::from(u16::from_be_bytes([aad[TLS_AAD - 2], aad[TLS_AAD - 1]]))
}

/// Takes `overhead` off the length in the header of a TLS record; `None` where that is shorter.
#[inline]
pub fn shorten_tls(aad: &mut [u8; TLS_AAD], overhead: usize) -> Option<()> {
    let length = tls_length(aad).checked_sub(overhead)?;
    aad[TLS_AAD - 2..].copy_from_slice(&(length as u16).to_be_bytes());
    Some(())
}

/// Whether the first `length` bytes of two tags are the same. In one comparison of 128 bits: the time tells nothing of
/// where they differ, and it costs a few nanoseconds where a comparison byte by byte takes longer than a short message.
#[inline]
pub fn same_tag(a: &[u8; 16], b: &[u8; 16], length: usize) -> bool {
    let kept = if length >= 16 { u128::MAX } else { (1 << (8 * length)) - 1 };
    std::hint::black_box((u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b)) & kept) == 0
}

#[cfg(test)]
mod tests {
    use super::{TLS_AAD, same_tag, shorten_tls, tls_length};

    #[test]
    fn a_tag_is_compared_as_far_as_it_goes() {
        let (a, mut b) = ([7; 16], [7; 16]);
        b[12] = 8;
        assert!(same_tag(&a, &b, 12) && !same_tag(&a, &b, 13) && !same_tag(&a, &b, 16));
        assert!(same_tag(&a, &a, 16) && same_tag(&a, &[0; 16], 0));
    }

    #[test]
    fn a_header_is_shortened_as_far_as_it_goes() {
        let mut aad = [0; TLS_AAD];
        (aad[TLS_AAD - 2], aad[TLS_AAD - 1]) = (1, 4);
        assert_eq!((shorten_tls(&mut aad, 8), tls_length(&aad)), (Some(()), 252));
        assert_eq!((shorten_tls(&mut aad, 253), tls_length(&aad)), (None, 252));
    }
}
