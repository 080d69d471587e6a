//! Removes padding and MAC from a TLS record under a CBC cipher, in constant time (RFC 5246, 6.2.3.2; RFC 6101, 5.2.3.2). `tests/constant_time`
//! checks that.

use adjunct_cpu as cpu;
use std::hint::black_box;

/// The longest MAC, in bytes.
pub const MAX_MAC: usize = 64;

/// All ones if `a < b`, else zero; both below 2^31.
#[inline]
fn below(a: u32, b: u32) -> u32 {
    black_box(((a.wrapping_sub(b) as i32) >> 31) as u32)
}

/// All ones if `a == b`, else zero; both below 2^31.
#[inline]
fn same(a: u32, b: u32) -> u32 {
    below(a ^ b, 1)
}

/// [`open_with`] random bytes made here. `None` also for a MAC that is longer than [`MAX_MAC`].
pub fn open(record: &[u8], mac_size: usize, minimal: Option<usize>) -> Option<(usize, Option<[u8; MAX_MAC]>)> {
    let mut random = [0; MAX_MAC];
    cpu::random(random.get_mut(..mac_size)?);
    open_with(record, mac_size, minimal, &random)
}

/// Takes padding and MAC off a decrypted record: the payload's length and the MAC.
///
/// Runs in constant time for a given record and MAC length: neither timing nor memory access tells whether the padding
/// was right or how long it is (Lucky 13, POODLE). Where it was wrong, the MAC is `random`, so that the record fails
/// like one with a wrong MAC. With no MAC inside (encrypt-then-MAC has authenticated the record) `None` tells of bad
/// padding.
///
/// `minimal`: SSL 3.0, whose padding is shorter than this block and otherwise arbitrary.
pub fn open_with(
    record: &[u8],
    mac_size: usize,
    minimal: Option<usize>,
    random: &[u8; MAX_MAC],
) -> Option<(usize, Option<[u8; MAX_MAC]>)> {
    let len = u32::try_from(record.len()).ok().filter(|&l| l < 1 << 30)?;
    let mac_len = mac_size as u32;
    let overhead = 1 + mac_len;
    if len < overhead {
        return None;
    }
    let pad = u32::from(record[record.len() - 1]);
    let mut good = !below(len, overhead + pad);
    match minimal {
        Some(block) => good &= below(pad, block as u32),
        None => {
            // All bytes that could be padding are looked at, whatever the padding says of its length.
            let mut wrong = 0;
            for (i, &b) in record.iter().rev().take(256).enumerate() {
                wrong |= !below(pad, i as u32) & (pad ^ u32::from(b));
            }
            good &= same(wrong, 0);
        }
    }
    let mac_end = len - (good & (pad + 1));
    if mac_size == 0 {
        return (good != 0).then_some((mac_end as usize, None));
    }
    let mac_start = mac_end - mac_len;

    // The MAC begins at one of 256 places. One pass lays its bytes down at their place modulo its length, as yet rotated.
    let first = record.len().saturating_sub(mac_size + 256);
    let mut rotated = [0u8; MAX_MAC];
    let (mut place, mut offset) = (0u32, 0u32);
    for (i, &b) in record.iter().enumerate().skip(first) {
        let i = i as u32;
        let inside = !below(i, mac_start) & below(i, mac_end);
        offset |= place & same(i, mac_start);
        rotated[place as usize] |= b & inside as u8;
        // The place depends on the public lengths only.
        place = if place + 1 == mac_len { 0 } else { place + 1 };
    }
    // Turn it back by `offset`, one binary digit at a time.
    for digit in 0..6 {
        let mask = (black_box(0u32.wrapping_sub(offset >> digit & 1))) as u8;
        let mut turned = [0u8; MAX_MAC];
        // Where the byte to come to `j` stands, round the MAC's end without a division.
        let mut from = 1 << digit;
        for (j, t) in turned[..mac_size].iter_mut().enumerate() {
            while from >= mac_size {
                from -= mac_size;
            }
            *t = (rotated[from] & mask) | (rotated[j] & !mask);
            from += 1;
        }
        rotated = turned;
    }
    let good = good as u8;
    for (m, r) in rotated.iter_mut().zip(random) {
        *m = (*m & good) | (r & !good);
    }
    Some((mac_start as usize, Some(rotated)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: [u8; MAX_MAC] = [0x5A; MAX_MAC];

    fn record(payload: usize, mac: usize, pad: usize) -> Vec<u8> {
        let mut r = vec![0xAA; payload];
        r.extend((0..mac).map(|i| i as u8 + 1));
        r.extend(std::iter::repeat_n(pad as u8, pad + 1));
        r
    }

    #[test]
    fn every_padding_and_mac_length_opens() {
        for mac in [0, 16, 20, 32, 48, 64] {
            for pad in 0..256 {
                for payload in [0, 1, 15, 400] {
                    let (length, found) = open_with(&record(payload, mac, pad), mac, None, &RANDOM).unwrap();
                    assert_eq!(length, payload, "mac {mac} pad {pad}");
                    let expected: Vec<u8> = (0..mac as u8).map(|i| i + 1).collect();
                    assert_eq!(found.map_or(Vec::new(), |m| m[..mac].to_vec()), expected);
                }
            }
        }
    }

    #[test]
    fn bad_padding_gives_a_wrong_mac_and_not_an_error() {
        for bad in 0..=40 {
            let mut r = record(100, 20, 40);
            let at = r.len() - 1 - bad;
            r[at] ^= 0x80;
            let (_, mac) = open_with(&r, 20, None, &RANDOM).unwrap();
            assert_ne!(mac.unwrap()[..20], (1..=20).collect::<Vec<u8>>()[..], "byte {bad} from the end");
            let mut r = record(100, 0, 40);
            let at = r.len() - 1 - bad;
            r[at] ^= 0x80;
            assert_eq!(open_with(&r, 0, None, &RANDOM), None);
        }
        assert_eq!(open_with(&[0; 20], 20, None, &RANDOM), None);
    }

    #[test]
    fn ssl3_padding_is_arbitrary_but_short() {
        let mut r = record(50, 20, 7);
        let end = r.len();
        r[end - 8..end - 1].copy_from_slice(b"padding");
        assert_eq!(open_with(&r, 20, Some(16), &RANDOM).unwrap().0, 50);
        let long = record(50, 20, 16);
        assert_eq!(open_with(&long, 20, Some(16), &RANDOM).unwrap().0, long.len() - 20);
    }
}
