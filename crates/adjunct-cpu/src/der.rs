//! `Ecdsa-Sig-Value` (RFC 3279, 2.2.3): a signature's r and s in DER.

/// The longest DER signature, in bytes.
pub const MAX_SIGNATURE: usize = 139;

/// Encodes r and s, which stand one after the other and are as long as each other: the part of `out` that was written.
pub fn encode<'a>(pair: &[u8], out: &'a mut [u8; MAX_SIGNATURE]) -> &'a [u8] {
    // A header of three bytes, of which a short signature needs two.
    let mut at = 3;
    for number in pair.chunks(pair.len() / 2) {
        // The lengths of r and s tell of them what the signature tells anyway.
        let number = &number[number.iter().take_while(|b| **b == 0).count().min(number.len() - 1)..];
        let sign = usize::from(number[0] >> 7);
        (out[at], out[at + 1], out[at + 2]) = (0x02, (sign + number.len()) as u8, 0);
        at += 2 + sign;
        out[at..at + number.len()].copy_from_slice(number);
        at += number.len();
    }
    let length = (at - 3) as u8;
    if length < 0x80 {
        out.copy_within(1..at, 0);
        at -= 1;
        (out[0], out[1]) = (0x30, length);
    } else {
        (out[0], out[1], out[2]) = (0x30, 0x81, length);
    }
    &out[..at]
}

/// Decodes the one DER encoding of a signature, as OpenSSL does: r and s fill the halves of `pair`. If one of them is longer than that, both become
/// 0, which is no signature's r or s either. `None` for what is no such encoding.
pub fn decode(der: &[u8], pair: &mut [u8]) -> Option<()> {
    let mut rest = der;
    let mut body = element(&mut rest, 0x30).filter(|_| rest.is_empty())?;
    let numbers = [natural(&mut body)?, natural(&mut body)?];
    if !body.is_empty() {
        return None;
    }
    pair.fill(0);
    let length = pair.len() / 2;
    if numbers.iter().all(|number| number.len() <= length) {
        for (number, half) in numbers.iter().zip(pair.chunks_mut(length)) {
            half[length - number.len()..].copy_from_slice(number);
        }
    }
    Some(())
}

/// The contents of the element of that tag that comes first, which is taken off `rest`; its length in the shortest form, of at most
/// four bytes (X.690, 10.1).
fn element<'a>(rest: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&[found, short], mut after) = rest.split_first_chunk()?;
    let mut length = usize::from(short);
    if short >= 0x80 {
        let (bytes, behind) =
            after.split_at_checked(length - 0x80).filter(|(bytes, _)| matches!(bytes.len(), 1..=4))?;
        length = bytes.iter().try_fold(0usize, |all, &byte| Some(all.checked_mul(256)? + usize::from(byte)))?;
        if bytes[0] == 0 || length < 0x80 {
            return None;
        }
        after = behind;
    }
    let (contents, after) = after.split_at_checked(length).filter(|_| found == tag)?;
    *rest = after;
    Some(contents)
}

/// Reads an INTEGER that is not negative, in the shortest form, without the zero that stands for its sign.
fn natural<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    match element(rest, 0x02)? {
        [0x80..=0xFF, ..] | [0, 0..=0x7F, ..] => None,
        [0, number @ ..] => Some(number),
        number => (!number.is_empty()).then_some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_sys as lc;

    fn short(n: &[u8]) -> Vec<u8> {
        let n: Vec<u8> = n.iter().copied().skip_while(|b| *b == 0).collect();
        let n = if n.first().is_none_or(|b| *b > 0x7F) { [&[0][..], &n].concat() } else { n };
        [&[2, n.len() as u8][..], &n].concat()
    }

    #[test]
    fn signatures_are_encoded_as_the_library_does() {
        for (r, s) in [
            (vec![0x7F; 32], vec![0x80; 32]),
            (vec![0; 32], vec![0xFF; 32]),
            ((0..32).collect(), vec![0; 32]),
            (vec![1; 66], vec![1; 66]),
            (vec![1; 58], vec![0x80; 58]),
            (vec![1; 62], vec![1; 62]),
            (vec![1; 61], vec![1; 61]),
        ] {
            let (pair, mut out) = ([&r[..], &s].concat(), [0xAA; MAX_SIGNATURE]);
            let ours = encode(&pair, &mut out);
            let body = [short(&r), short(&s)].concat();
            let header = [0x30, 0x81, body.len() as u8];
            let header = if body.len() < 128 { vec![header[0], header[2]] } else { header.to_vec() };
            assert_eq!(ours, [header, body].concat());
            let mut back = vec![0xAA; pair.len()];
            assert_eq!((decode(ours, &mut back), back), (Some(()), pair));
        }
    }

    /// What AWS-LC, which takes the DER of X.690 alone, makes of it.
    fn librarys(der: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut pair = vec![0; 2 * length];
        let (r, s) = pair.split_at_mut(length);
        // SAFETY: pointers and lengths describe the slices.
        unsafe {
            let made = lc::ECDSA_SIG_from_bytes(der.as_ptr(), der.len());
            if made.is_null() {
                lc::ERR_clear_error();
                return None;
            }
            let fits = lc::BN_bn2bin_padded(r.as_mut_ptr(), length, lc::ECDSA_SIG_get0_r(made)) == 1
                && lc::BN_bn2bin_padded(s.as_mut_ptr(), length, lc::ECDSA_SIG_get0_s(made)) == 1;
            lc::ECDSA_SIG_free(made);
            if !fits {
                lc::ERR_clear_error();
                pair.fill(0);
            }
        }
        Some(pair)
    }

    #[test]
    fn what_is_an_encoding_is_what_the_library_says() {
        const LENGTH: usize = 66;
        let (mut taken, mut refused) = (0, 0);
        let mut check = |der: &[u8]| {
            let mut pair = vec![0xAA; 2 * LENGTH];
            let ours = decode(der, &mut pair).map(|()| pair);
            *(if ours.is_some() { &mut taken } else { &mut refused }) += 1;
            assert_eq!(ours, librarys(der, LENGTH), "{der:02x?}");
        };
        for lengths in [[1, 1], [3, 32], [32, 33], [62, 62], [66, 66], [67, 1], [120, 5], [200, 200]] {
            for first in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
                let [r, s] = lengths.map(|length| {
                    let mut number = vec![0x5A; length];
                    number[0] = first;
                    number
                });
                let tagged = |tag: u8, body: &[u8], form: usize| {
                    let length = body.len();
                    let header = match form {
                        0 if length < 0x80 => vec![length as u8],
                        0 | 1 if length < 0x100 => vec![0x81, length as u8],
                        5 => vec![0x80],
                        6 => vec![0x85, 0, 0, 0, 0, length as u8],
                        3 => vec![0x83, 0, (length >> 8) as u8, length as u8],
                        4 => vec![0x84, 0, 0, (length >> 8) as u8, length as u8],
                        _ => vec![0x82, (length >> 8) as u8, length as u8],
                    };
                    [&[tag][..], &header, body].concat()
                };
                for form in 0..7 {
                    let whole = tagged(0x30, &[tagged(2, &r, 0), tagged(2, &s, 0)].concat(), form);
                    check(&whole);
                    check(&tagged(0x30, &[tagged(2, &r, form), tagged(2, &s, 0)].concat(), 0));
                    check(&tagged(0x30, &[tagged(2, &r, 0), tagged(2, &s, 0), vec![5, 0]].concat(), 0));
                    check(&[&whole[..], &[0]].concat());
                }
                let whole = tagged(0x30, &[tagged(2, &r, 0), tagged(2, &s, 0)].concat(), 0);
                for at in 0..whole.len().min(80) {
                    check(&whole[..at]);
                    for flip in [0x01, 0x80, 0xFF] {
                        let mut other = whole.clone();
                        other[at] ^= flip;
                        check(&other);
                    }
                }
            }
        }
        check(&[0x30, 4, 2, 0, 2, 0]);
        assert!(taken > 500 && refused > 500, "{taken} {refused}");
    }
}
