//! What is checked: every kernel of ours that meets a secret.

// All of one kind: a kernel is called only where its case's features are.
#![allow(clippy::undocumented_unsafe_blocks)]

mod aes;
mod curve;
mod des;
mod nist;
mod padding;
mod rsa;
mod stream;

use adjunct::catalogue::Feature;

/// A kernel and how to call it.
pub struct Case {
    /// What is printed.
    pub name: String,
    /// What the CPU must have.
    pub needs: &'static [Feature],
    /// Whether valgrind knows the instructions.
    pub memcheck: bool,
    /// Makes a call whose secrets follow from the seed, and everything else does not.
    pub prepare: Box<dyn Fn(u64) -> Prepared>,
}

impl Case {
    /// Whether the case takes minutes: the larger curves, whose code is that of P-256 with other numbers, and RSA.
    pub fn is_long(&self) -> bool {
        ["P-384", "P-521", "RSA-2048", "2048-bit"].iter().any(|name| self.name.starts_with(name))
    }
}

/// A call that is ready.
pub struct Prepared {
    /// Addresses and lengths of the secrets.
    pub secrets: Vec<(*const u8, usize)>,
    /// The call.
    pub run: Box<dyn FnMut()>,
}

/// Every case.
pub fn all() -> Vec<Case> {
    let mut cases = aes::cases();
    cases.extend(stream::cases());
    cases.extend(des::cases());
    cases.extend(nist::cases());
    cases.extend(padding::cases());
    cases.extend(rsa::cases());
    cases.extend(curve::cases());
    cases
}

/// Bytes that follow from the seed: the extremes, then random ones.
pub fn bytes<const N: usize>(seed: u64) -> Box<[u8; N]> {
    let mut state = seed;
    let mut next = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u8
    };
    let mut out = Box::new([0; N]);
    out.fill_with(|| match seed {
        0 => 0,
        1 => 0xff,
        _ => next(),
    });
    out
}

/// The region of an object.
pub fn region<T: ?Sized>(object: &T) -> (*const u8, usize) {
    (std::ptr::from_ref(object).cast(), size_of_val(object))
}

/// A call over a key, a chaining value and data, all secret.
pub fn call<const K: usize, const I: usize, const D: usize>(
    seed: u64,
    run: impl Fn(&[u8; K], &mut [u8; I], &mut [u8; D]) + 'static,
) -> Prepared {
    let (key, mut chain, mut data) = (bytes::<K>(seed), bytes::<I>(seed), bytes::<D>(seed));
    let secrets = vec![region(&*key), region(&*chain), region(&*data)];
    Prepared { secrets, run: Box::new(move || run(&key, &mut chain, &mut data)) }
}
