//! Keys and signatures of Dilithium: "CRYSTALS-Dilithium, Algorithm Specifications and Supporting Documentation", round 2 (2019-03-30) and round 3
//! (2021-02-08, 3.1). The rounds differ in sizes, in hashes, and in how a challenge is written; signatures are deterministic in both.

use super::params::Set;
use super::ring::{N, Poly, Q};
use crate::own::Secret;
use adjunct::ops::digest::{Method, Part, SHAKE128, SHAKE256};
use adjunct::ops::random::random;
use zeroize::Zeroizing;

type Vector = Zeroizing<Vec<Poly>>;

/// A public key: the seed of the matrix, and the high bits of t.
#[derive(Clone)]
pub(super) struct Public {
    pub(super) rho: [u8; 32],
    /// Packed.
    pub(super) t1: Vec<u8>,
}

/// A private key.
pub(super) struct Private {
    pub(super) key: Zeroizing<[u8; 32]>,
    pub(super) tr: Vec<u8>,
    pub(super) s1: Vector,
    pub(super) s2: Vector,
    pub(super) t0: Vector,
}

/// The result of an extendable-output function.
fn xof(method: &'static Method, parts: &[&[u8]], length: usize) -> Secret {
    let (mut digest, mut out) = (Part::new(method), Secret::new(vec![0; length]));
    parts.iter().for_each(|part| digest.update(part));
    digest.finish(&mut out);
    out
}

/// Coefficients that `take` makes of an extendable-output function's bytes, `unit` at a time.
fn sampled(method: &'static Method, parts: &[&[u8]], unit: usize, mut take: impl FnMut(&[u8], &mut Vec<i32>)) -> Poly {
    let mut length = 1008;
    loop {
        let bytes = xof(method, parts, length);
        let mut found = Vec::with_capacity(N + 2);
        for chunk in bytes.chunks_exact(unit) {
            take(chunk, &mut found);
            if found.len() >= N {
                let mut poly = Poly::default();
                poly.0.copy_from_slice(&found[..N]);
                zeroize::Zeroize::zeroize(&mut found);
                return poly;
            }
        }
        zeroize::Zeroize::zeroize(&mut found);
        length *= 2;
    }
}

/// The matrix, transformed, row by row.
fn matrix(set: &Set, rho: &[u8; 32]) -> Vec<Vec<Poly>> {
    let entry = |row: usize, column: usize| {
        sampled(&SHAKE128, &[rho, &[column as u8, row as u8]], 3, |bytes, found| {
            let number = i32::from(bytes[0]) | i32::from(bytes[1]) << 8 | (i32::from(bytes[2]) & 0x7f) << 16;
            if number < Q {
                found.push(number);
            }
        })
    };
    (0..set.k).map(|row| (0..set.l).map(|column| entry(row, column)).collect()).collect()
}

/// The product of the matrix and a transformed vector, transformed.
fn product(matrix: &[Vec<Poly>], vector: &[Poly]) -> Vector {
    let row = |row: &Vec<Poly>| {
        let sum = row.iter().zip(vector).fold(Poly::default(), |sum, (entry, one)| sum.plus(&entry.times(one)));
        sum.reduced()
    };
    Zeroizing::new(matrix.iter().map(row).collect())
}

fn transformed(vector: &[Poly]) -> Vector {
    Zeroizing::new(vector.iter().map(|one| one.transformed()).collect())
}

/// Secret coefficients.
fn small(set: &Set, seed: &[u8], nonce: u16) -> Poly {
    let (eta, bits) = (set.eta, set.secret_bits());
    sampled(&SHAKE256, &[seed, &nonce.to_le_bytes()], 1, |bytes, found| {
        for number in [bytes[0] & ((1 << bits) - 1), bytes[0] >> (8 - bits)] {
            if i32::from(number) <= 2 * eta {
                found.push(eta - i32::from(number));
            }
        }
    })
}

/// The mask of a response.
fn mask(set: &Set, seed: &[u8], nonce: u16) -> Poly {
    let parts: [&[u8]; 2] = [seed, &nonce.to_le_bytes()];
    let most = set.mask();
    if !set.second {
        let bytes = xof(&SHAKE256, &parts, 32 * set.response_bits() as usize);
        return Poly::unpack(&bytes, set.response_bits(), |one| Some(most - one)).unwrap_or_default();
    }
    sampled(&SHAKE256, &parts, 5, |bytes, found| {
        let byte = |at: usize| i32::from(bytes[at]);
        for number in [(byte(0) | byte(1) << 8 | byte(2) << 16) & 0xf_ffff, byte(2) >> 4 | byte(3) << 4 | byte(4) << 12]
        {
            if number <= 2 * most {
                found.push(most - number);
            }
        }
    })
}

/// The high part of a standard coefficient, and what it leaves.
fn decomposed(set: &Set, number: i32) -> (i32, i32) {
    let rounded = (number + 127) >> 7;
    let high = if set.commitment_bits() == 4 {
        ((rounded * 1025 + (1 << 21)) >> 22) & 15
    } else {
        let high = (rounded * 11_275 + (1 << 23)) >> 24;
        high ^ ((43 - high) >> 31) & high
    };
    let low = number - high * 2 * set.gamma2;
    (high, low - ((((Q - 1) / 2 - low) >> 31) & Q))
}

/// A challenge: its polynomial, and as a signature has it.
fn challenge(set: &Set, mu: &[u8], commitment: &[u8]) -> (Poly, Vec<u8>) {
    if set.second {
        let poly = ball(set, &[mu, commitment]);
        let mut bytes = vec![0; N / 8 + 8];
        let (mut signs, mut at) = (0_u64, 0);
        for (place, one) in poly.0.iter().enumerate().filter(|(_, one)| **one != 0) {
            bytes[place / 8] |= 1 << (place % 8);
            signs |= u64::from(*one < 0) << at;
            at += 1;
        }
        bytes[N / 8..].copy_from_slice(&signs.to_le_bytes());
        return (poly, bytes);
    }
    let seed = xof(&SHAKE256, &[mu, commitment], 32).to_vec();
    (ball(set, &[&seed]), seed)
}

/// A polynomial of few coefficients that are 1 or -1.
fn ball(set: &Set, parts: &[&[u8]]) -> Poly {
    let mut length = 272;
    loop {
        let bytes = xof(&SHAKE256, parts, length);
        let (signs, rest) = bytes.split_at(8);
        let mut signs = signs.first_chunk().map_or(0, |signs| u64::from_le_bytes(*signs));
        let (mut poly, mut rest) = (Poly::default(), rest.iter());
        let mut done = true;
        for place in N - set.tau..N {
            let Some(other) = rest.find(|byte| usize::from(**byte) <= place) else {
                done = false;
                break;
            };
            poly.0[place] = poly.0[usize::from(*other)];
            poly.0[usize::from(*other)] = 1 - 2 * (signs & 1) as i32;
            signs >>= 1;
        }
        if done {
            return poly;
        }
        length *= 2;
    }
}

/// The high parts of a commitment, packed.
fn packed_commitment(set: &Set, high: &[Poly]) -> Vec<u8> {
    let mut out = Vec::new();
    high.iter().for_each(|one| one.pack(set.commitment_bits(), &mut out, |one| one));
    out
}

/// A new key.
pub(super) fn generate(set: &Set) -> (Public, Private) {
    let mut seed = Zeroizing::new([0; 32]);
    random(&mut seed[..]);
    let all = xof(&SHAKE256, &[&seed[..]], 128);
    let (mut rho, mut key) = ([0; 32], Zeroizing::new([0; 32]));
    rho.copy_from_slice(&all[..32]);
    key.copy_from_slice(&all[96..]);
    let secret = |count: usize, first: usize| -> Vector {
        Zeroizing::new((first..first + count).map(|nonce| small(set, &all[32..96], nonce as u16)).collect())
    };
    let (s1, s2) = (secret(set.l, 0), secret(set.k, set.l));
    let (t1, t0) = halves(set, &rho, &s1, &s2);
    let public = Public { rho, t1 };
    let tr = hash(set, &public);
    (public, Private { key, tr, s1, s2, t0 })
}

/// The hash of a public key.
pub(super) fn hash(set: &Set, public: &Public) -> Vec<u8> {
    xof(&SHAKE256, &[&public.rho, &public.t1], set.hash()).to_vec()
}

/// The high bits of t, packed, and its low ones.
pub(super) fn halves(set: &Set, rho: &[u8; 32], s1: &[Poly], s2: &[Poly]) -> (Vec<u8>, Vector) {
    let d = set.dropped();
    let t = product(&matrix(set, rho), &transformed(s1));
    let mut high = Vec::new();
    let mut low = Vec::with_capacity(set.k);
    for (one, s2) in t.iter().zip(s2) {
        let one = Zeroizing::new(one.back().plus(s2).standard());
        let up = |one: i32| (one + (1 << (d - 1)) - 1) >> d;
        one.pack(set.public_bits(), &mut high, up);
        let mut rest = Poly::default();
        rest.0.iter_mut().zip(one.0).for_each(|(rest, one)| *rest = one - (up(one) << d));
        low.push(rest);
    }
    (high, Zeroizing::new(low))
}

/// Signs.
pub(super) fn sign(set: &Set, rho: &[u8; 32], private: &Private, data: &[u8]) -> Vec<u8> {
    let mu = xof(&SHAKE256, &[&private.tr, data], set.seed());
    let seed = xof(&SHAKE256, &[&private.key[..], &mu], set.seed());
    let matrix = matrix(set, rho);
    let (s1, s2, t0) = (transformed(&private.s1), transformed(&private.s2), transformed(&private.t0));
    let mut nonce = 0_u16;
    loop {
        let masks: Vector =
            Zeroizing::new((0..set.l).map(|at| mask(set, &seed, nonce.wrapping_add(at as u16))).collect());
        nonce = nonce.wrapping_add(set.l as u16);
        let w = product(&matrix, &transformed(&masks));
        let (mut high, mut low) = (vec![Poly::default(); set.k], Zeroizing::new(vec![Poly::default(); set.k]));
        for ((w, high), low) in w.iter().zip(&mut high).zip(low.iter_mut()) {
            let w = Zeroizing::new(w.back().standard());
            for ((w, high), low) in w.0.iter().zip(&mut high.0).zip(&mut low.0) {
                (*high, *low) = decomposed(set, *w);
            }
        }
        let (poly, bytes) = challenge(set, &mu, &packed_commitment(set, &high));
        let c = poly.transformed();
        let with = |one: &Poly| c.times(one).back();
        let response: Vector =
            Zeroizing::new(s1.iter().zip(masks.iter()).map(|(s1, mask)| with(s1).plus(mask).reduced()).collect());
        if !response.iter().all(|one| one.is_below(set.gamma1 - set.beta)) {
            continue;
        }
        let rest: Vector =
            Zeroizing::new(s2.iter().zip(low.iter()).map(|(s2, low)| low.minus(&with(s2)).reduced()).collect());
        if !rest.iter().all(|one| one.is_below(set.gamma2 - set.beta)) {
            continue;
        }
        let carried: Vector = Zeroizing::new(t0.iter().map(|t0| with(t0).reduced()).collect());
        if !carried.iter().all(|one| one.is_below(set.gamma2)) {
            continue;
        }
        let hints: Vec<Vec<u8>> = (0..set.k)
            .map(|row| {
                let sum = rest[row].plus(&carried[row]);
                (0..N).filter(|at| hint(set, sum.0[*at], high[row].0[*at])).map(|at| at as u8).collect()
            })
            .collect();
        if hints.iter().map(Vec::len).sum::<usize>() <= set.omega {
            return packed(set, &bytes, &response, &hints);
        }
    }
}

/// Whether adding the low part changes the high one.
fn hint(set: &Set, low: i32, high: i32) -> bool {
    low > set.gamma2 || low < -set.gamma2 || low == -set.gamma2 && high != 0
}

/// A signature: of round 2 its challenge is last.
fn packed(set: &Set, challenge: &[u8], response: &[Poly], hints: &[Vec<u8>]) -> Vec<u8> {
    let mut out = if set.second { Vec::new() } else { challenge.to_vec() };
    response.iter().for_each(|one| one.pack(set.response_bits(), &mut out, |one| set.mask() - one));
    let mut places = vec![0; set.omega + set.k];
    let mut count = 0;
    for (row, hints) in hints.iter().enumerate() {
        places[count..count + hints.len()].copy_from_slice(hints);
        count += hints.len();
        places[set.omega + row] = count as u8;
    }
    out.extend_from_slice(&places);
    if set.second {
        out.extend_from_slice(challenge);
    }
    out
}

/// The places of hints, row by row; none where they are not in their one form.
fn hints<'a>(set: &Set, bytes: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let (places, ends) = bytes.split_at_checked(set.omega)?;
    let mut from = 0;
    let mut rows = Vec::with_capacity(set.k);
    for end in ends {
        let row = places.get(from..usize::from(*end))?;
        row.windows(2).all(|pair| pair[0] < pair[1]).then_some(())?;
        rows.push(row);
        from = usize::from(*end);
    }
    places[from..].iter().all(|place| *place == 0).then_some(rows)
}

/// Whether a signature is one of the data.
pub(super) fn verify(set: &Set, public: &Public, data: &[u8], signature: &[u8]) -> bool {
    checked(set, public, data, signature).unwrap_or(false)
}

fn checked(set: &Set, public: &Public, data: &[u8], signature: &[u8]) -> Option<bool> {
    (signature.len() == set.signature()).then_some(())?;
    let (given, rest) = if set.second {
        let (rest, given) = signature.split_at(signature.len() - N / 8 - 8);
        (given, rest)
    } else {
        signature.split_at(32)
    };
    let bytes = 32 * set.response_bits() as usize;
    let (responses, rest) = rest.split_at(set.l * bytes);
    let hints = hints(set, rest)?;
    let read = |bytes| Poly::unpack(bytes, set.response_bits(), |one| Some(set.mask() - one));
    let response: Option<Vec<Poly>> = responses.chunks(bytes).map(read).collect();
    let response = response?;
    response.iter().all(|one| one.is_below(set.gamma1 - set.beta)).then_some(())?;
    let c = if set.second { challenge_of(set, given)? } else { ball(set, &[given]) }.transformed();
    let az = product(&matrix(set, &public.rho), &transformed(&response));
    let bytes = 32 * set.public_bits() as usize;
    let mut high = Vec::with_capacity(set.k);
    for ((az, t1), hints) in az.iter().zip(public.t1.chunks(bytes)).zip(hints) {
        let t1 = Poly::unpack(t1, set.public_bits(), Some)?.shifted(set.dropped()).transformed();
        let w = az.minus(&c.times(&t1)).reduced().back().standard();
        let (mut one, mut at) = (Poly::default(), hints.iter().peekable());
        for (place, (out, w)) in one.0.iter_mut().zip(w.0).enumerate() {
            let (part, low) = decomposed(set, w);
            let count = (Q - 1) / (2 * set.gamma2);
            let hinted = at.next_if(|hint| usize::from(**hint) == place).is_some();
            *out = match (hinted, low > 0) {
                (false, _) => part,
                (true, true) => (part + 1) % count,
                (true, false) => (part + count - 1) % count,
            };
        }
        high.push(one);
    }
    let mu = xof(&SHAKE256, &[&hash(set, public), data], set.seed());
    let (_, own) = challenge(set, &mu, &packed_commitment(set, &high));
    Some(own == given)
}

/// A challenge of round 2 as a signature has it.
fn challenge_of(set: &Set, bytes: &[u8]) -> Option<Poly> {
    let (places, signs) = bytes.split_at_checked(N / 8)?;
    let mut signs = signs.first_chunk().map(|signs| u64::from_le_bytes(*signs))?;
    let (mut poly, mut count) = (Poly::default(), 0);
    for (at, one) in poly.0.iter_mut().enumerate() {
        if places[at / 8] >> (at % 8) & 1 == 1 {
            *one = 1 - 2 * (signs & 1) as i32;
            signs >>= 1;
            count += 1;
        }
    }
    (count == set.tau && signs == 0).then_some(poly)
}
