use super::*;
use crate::lanes::{MASK, constant, montgomery};

fn supported() -> bool {
    crate::lanes::tests::here()
}

/// A table of the first multiples of every `bits`th doubling, computed by the multiplication that needs none.
#[target_feature(enable = "avx512f,avx512ifma")]
fn table<C: Curve<N>, const N: usize>(places: usize, bits: usize, multiples: usize) -> Vec<u8> {
    let generator = C::GENERATOR.each_ref().map(|c| field::enter::<C, N>(&constant(c)));
    let generator = Affine { x: generator[0], y: generator[1] };
    let mut out = Vec::new();
    for place in 0..places {
        let mut entries = Vec::new();
        for group in 0..multiples / LANES {
            let scalars: [[u64; N]; LANES] = std::array::from_fn(|lane| {
                let multiple = (group * LANES + lane + 1) as u64;
                let power = montgomery::power_of_two(bits * place, &C::ORDER);
                times(&power, multiple, &C::ORDER)
            });
            let sum = point::multiply::<C, N>(&gather(&scalars), &generator);
            let affine = point::affine::<C, N>(&sum.point, &field::invert::<C, N>(&sum.point.z));
            let x = scatter(&field::canonical::<C, N>(&affine.x));
            let y = scatter(&field::canonical::<C, N>(&affine.y));
            entries.extend(x.into_iter().zip(y));
        }
        for limb in 0..N {
            out.extend(entries.iter().flat_map(|e| e.0[limb].to_le_bytes()));
        }
        for limb in 0..N {
            out.extend(entries.iter().flat_map(|e| e.1[limb].to_le_bytes()));
        }
    }
    out
}

/// `a` * `by` modulo `m`, by additions.
fn times<const N: usize>(a: &[u64; N], by: u64, m: &[u64; N]) -> [u64; N] {
    let mut out = [0; N];
    for _ in 0..by {
        let mut over = 0;
        for (o, a) in out.iter_mut().zip(a) {
            over += *o + a;
            *o = over & MASK;
            over >>= 52;
        }
        let less = montgomery::minus(&out, m);
        if less[N - 1] >> 63 == 0 {
            out = less;
        }
    }
    out
}

/// Checks the stored tables of a curve, that of the comb and the shared one. With ADJUNCT_WRITE_TABLES set, after a change of the layout,
/// writes the tables instead.
fn check<C: Curve<N>, const N: usize>(name: &str) {
    if !supported() {
        return;
    }
    // SAFETY: `supported` has found AVX-512 IFMA.
    let (comb, shared) = unsafe {
        let windows = point::digits::<C, N>(comb::WINDOW).div_ceil(2);
        let comb = table::<C, N>(windows, 2 * comb::WINDOW, comb::ENTRIES);
        (comb, table::<C, N>(shared::places::<C, N>(), shared::WINDOW, shared::ENTRIES))
    };
    if std::env::var_os("ADJUNCT_WRITE_TABLES").is_some() {
        let path = format!("{}/src/nist/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(format!("{path}.bin"), &comb).unwrap();
        std::fs::write(format!("{path}-shared.bin"), &shared).unwrap();
    } else {
        assert!(C::TABLE == comb && C::SHARED_TABLE == shared);
    }
}

/// Checks the stored shared table of a curve that has no comb. With ADJUNCT_WRITE_TABLES set, after a change of the layout, writes the
/// table instead.
fn check_shared<C: Curve<N>, const N: usize>(name: &str) {
    if !supported() {
        return;
    }
    // SAFETY: `supported` has found AVX-512 IFMA.
    let shared = unsafe { table::<C, N>(shared::places::<C, N>(), shared::WINDOW, shared::ENTRIES) };
    if std::env::var_os("ADJUNCT_WRITE_TABLES").is_some() {
        let path = format!("{}/src/nist/{name}-shared.bin", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, &shared).unwrap();
    } else {
        assert!(C::SHARED_TABLE == shared);
    }
}

#[test]
fn tables_are_multiples_of_the_generator() {
    check_shared::<P192, 4>("p192");
    check_shared::<BrainpoolP256, 5>("bp256");
    check_shared::<BrainpoolP384, 8>("bp384");
    check_shared::<BrainpoolP512, 10>("bp512");
    check::<P256, 5>("p256");
    check::<P384, 8>("p384");
    check::<P521, 11>("p521");
}

/// Keys of extreme digits, and random ones: as eight lanes do each. What is out of range is refused by both.
#[target_feature(enable = "avx512f,avx512ifma")]
fn one_as_eight<C: Curve<N>, const N: usize>() {
    let order = {
        let mut bytes = vec![0; C::BYTES];
        crate::lanes::limbs_to_be(&C::ORDER, &mut bytes);
        bytes
    };
    let near = |by: i16| {
        let mut number = order.clone();
        let last = number.len() - 1;
        number[last] = (i16::from(number[last]) + by) as u8;
        number
    };
    let small = |value: u8| {
        let mut number = vec![0; C::BYTES];
        number[C::BYTES - 1] = value;
        number
    };
    let mut keys = vec![order.clone(), near(-1), near(-2), near(1), small(0), small(1), small(2), small(32), small(33)];
    keys.extend([0x20, 0x41, 0x55, 0x82, 0x08, 0xAA, 0x7F, 0xFF].map(|byte| {
        let mut number = vec![byte; C::BYTES];
        number[0] &= (0xFFu32 >> (8 * C::BYTES - C::BITS)) as u8;
        number
    }));
    for bit in 0..C::BITS {
        let mut number = vec![0; C::BYTES];
        number[C::BYTES - 1 - bit / 8] = 1 << (bit % 8);
        keys.push(number.clone());
        // n - 2^bit, for the carries.
        let mut over = 0i16;
        for (n, o) in number.iter_mut().zip(&order).rev() {
            let d = i16::from(*o) - i16::from(*n) + over;
            (*n, over) = (d as u8, d >> 8);
        }
        keys.push(number);
    }
    for _ in 0..200 {
        let mut number = vec![0; C::BYTES];
        // SAFETY: the pointer and length describe the bytes.
        unsafe { aws_lc_sys::RAND_bytes(number.as_mut_ptr(), number.len()) };
        number[0] &= (0xFFu32 >> (8 * C::BYTES - C::BITS)) as u8;
        keys.push(number);
    }
    let mut digest = vec![0x9D; C::BYTES];
    digest[0] &= (0xFFu32 >> (8 * C::BYTES - C::BITS)) as u8;
    for (private, nonce) in keys.iter().zip(keys.iter().skip(7).chain(&keys[..7])) {
        let (mut one, mut other) = (vec![0xAA; 2 * C::BYTES], vec![0x55; 2 * C::BYTES]);
        let good = sign_shared::<C, N>(&mut SignJob { private, digest: &digest, nonce, signature: &mut one });
        let bits = sign::<C, N>(&mut [SignJob { private, digest: &digest, nonce, signature: &mut other }]);
        assert_eq!((good, &one), (bits == 1, &other), "{private:x?}");
        let in_range = |number: &[u8]| number.iter().any(|b| *b != 0) && number < &order[..];
        assert_eq!(good, in_range(private) && in_range(nonce), "{private:x?} {nonce:x?}");
    }
    for private in &keys {
        let (mut one, mut other) = (vec![0xAA; 2 * C::BYTES], vec![0x55; 2 * C::BYTES]);
        let good = public_shared::<C, N>(private, &mut one);
        let bits = public::<C, N>(&mut [PublicJob { private, public: &mut other }]);
        assert_eq!((good, &one), (bits == 1, &other), "{private:x?}");
        assert_eq!(good, private.iter().any(|b| *b != 0) && private < &order, "{private:x?}");
    }
    for wrong in 0..4 {
        let cut = |field: usize| usize::from(field == wrong);
        let (mut signature, key) = (vec![0xAA; 2 * C::BYTES], &keys[1]);
        assert!(!sign_shared::<C, N>(&mut SignJob {
            private: &key[cut(0)..],
            digest: &digest[cut(1)..],
            nonce: &key[cut(2)..],
            signature: &mut signature[cut(3)..],
        }));
        assert!(signature[1..].iter().all(|byte| *byte == 0), "field {wrong}");
    }
    assert!(!public_shared::<C, N>(&keys[1][1..], &mut vec![0; 2 * C::BYTES]));
    assert!(!public_shared::<C, N>(&keys[1], &mut vec![0; 2 * C::BYTES - 1]));
}

#[test]
fn a_shared_key_is_what_eight_lanes_make_of_it() {
    if supported() {
        // SAFETY: `supported` has found AVX-512 IFMA.
        unsafe { (one_as_eight::<P256, 5>(), one_as_eight::<P384, 8>(), one_as_eight::<P521, 11>()) };
    }
}

/// The library's curve, as the reference.
fn group<C: Curve<N>, const N: usize>() -> *const aws_lc_sys::EC_GROUP {
    // SAFETY: immutable statics.
    unsafe {
        match C::BITS {
            256 => aws_lc_sys::EC_group_brainpoolP256r1(),
            384 => aws_lc_sys::EC_group_brainpoolP384r1(),
            512 => aws_lc_sys::EC_group_brainpoolP512r1(),
            _ => std::ptr::null(),
        }
    }
}

/// x and y of the library's multiple of its generator.
fn multiple(group: *const aws_lc_sys::EC_GROUP, scalar: &[u8]) -> Vec<u8> {
    use aws_lc_sys as lc;
    let mut out = vec![0; 1 + 2 * scalar.len()];
    // SAFETY: objects made and freed here.
    unsafe {
        let null = std::ptr::null_mut();
        let (point, number) = (lc::EC_POINT_new(group), lc::BN_bin2bn(scalar.as_ptr(), scalar.len(), null));
        assert_eq!(lc::EC_POINT_mul(group, point, number, std::ptr::null(), std::ptr::null(), null.cast()), 1);
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        assert_eq!(lc::EC_POINT_point2oct(group, point, form, out.as_mut_ptr(), out.len(), null.cast()), out.len());
        lc::EC_POINT_free(point);
        lc::BN_free(number);
    }
    out.split_off(1)
}

/// Public keys of extreme scalars and random ones are the library's, for all but P-192, which it does not know; and signatures fulfil the
/// equation, since only such leave.
#[target_feature(enable = "avx512f,avx512ifma")]
fn alone_as_the_library<C: Curve<N>, const N: usize>() {
    let mut order = vec![0; C::BYTES];
    crate::lanes::limbs_to_be(&C::ORDER, &mut order);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for bit in 0..C::BITS {
        let mut number = vec![0; C::BYTES];
        number[C::BYTES - 1 - bit / 8] = 1 << (bit % 8);
        keys.push(number.clone());
        let mut over = 0i16;
        for (n, o) in number.iter_mut().zip(&order).rev() {
            let d = i16::from(*o) - i16::from(*n) + over;
            (*n, over) = (d as u8, d >> 8);
        }
        keys.push(number);
    }
    keys.extend([0x20, 0x41, 0x55, 0x82, 0x08, 0xAA, 0x7F, 0xFF].map(|byte| vec![byte; C::BYTES]));
    for _ in 0..200 {
        let mut number = vec![0; C::BYTES];
        // SAFETY: the pointer and length describe the bytes.
        unsafe { aws_lc_sys::RAND_bytes(number.as_mut_ptr(), number.len()) };
        keys.push(number);
    }
    keys.extend([vec![0; C::BYTES], order.clone()]);
    let good = |key: &[u8]| key.iter().any(|b| *b != 0) && key < &order[..];
    let group = group::<C, N>();
    let digest = vec![0xFD; C::BYTES];
    for (private, nonce) in keys.iter().zip(keys.iter().skip(7).chain(&keys[..7])) {
        let mut public = vec![0xAA; 2 * C::BYTES];
        assert_eq!(public_shared::<C, N>(private, &mut public), good(private), "{private:x?}");
        if !good(private) {
            assert!(public.iter().all(|byte| *byte == 0));
        } else if !group.is_null() {
            assert_eq!(public, multiple(group, private), "{private:x?}");
        }
        let mut signature = vec![0xAA; 2 * C::BYTES];
        let signed = sign_shared::<C, N>(&mut SignJob { private, digest: &digest, nonce, signature: &mut signature });
        assert_eq!(signed, good(private) && good(nonce), "{private:x?} {nonce:x?}");
    }
}

#[test]
fn other_curves_are_the_librarys() {
    if supported() {
        // SAFETY: `supported` has found AVX-512 IFMA.
        unsafe {
            alone_as_the_library::<P192, 4>();
            alone_as_the_library::<BrainpoolP256, 5>();
            alone_as_the_library::<BrainpoolP384, 8>();
            alone_as_the_library::<BrainpoolP512, 10>();
        }
    }
}

/// The bounds of [`field::shrink`] where p is any number: values as far from 0 as it takes, and multiples of p with their neighbours.
#[target_feature(enable = "avx512f,avx512ifma")]
fn shrinks<C: Curve<N>, const N: usize>() {
    let number = |multiple: i64, more: i64| {
        let mut limbs: Number<N> = constant(&C::P);
        for limb in &mut limbs {
            // The limbs of so many p, loose.
            let mut words = [0i64; LANES];
            // SAFETY: a vector's 64 bytes.
            unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), *limb) };
            *limb = _mm512_set1_epi64(words[0] * multiple);
        }
        limbs[0] = _mm512_add_epi64(limbs[0], _mm512_set1_epi64(more));
        limbs
    };
    let rest = |number: &Number<N>| scatter(&field::canonical::<C, N>(number))[0];
    for multiple in -127..=127 {
        for more in [-1, 0, 1, 1 << 51, -(1 << 51)] {
            let shrunk = field::shrink::<C, N>(number(multiple, more));
            let limbs = scatter(&shrunk)[0];
            assert!(limbs.iter().all(|limb| *limb <= MASK), "{multiple} {more}");
            let above = montgomery::minus(&limbs, &C::P);
            let above = montgomery::minus(&above, &C::P);
            // Below 2.1 p: not 2 p, or little more.
            assert!(above[N - 1] >> 63 == 1 || above[N - 1] <= C::P[N - 1] / 10, "{multiple} {more}");
            assert_eq!(rest(&shrunk), rest(&field::shrink::<C, N>(number(0, more))), "{multiple} {more}");
        }
    }
}

#[test]
fn any_value_is_shrunk() {
    if supported() {
        // SAFETY: `supported` has found AVX-512 IFMA.
        unsafe {
            shrinks::<P192, 4>();
            shrinks::<P256, 5>();
            shrinks::<BrainpoolP256, 5>();
            shrinks::<BrainpoolP384, 8>();
            shrinks::<BrainpoolP512, 10>();
        }
    }
}

/// A wipe reaches all that an operation alone writes to the stack.
#[target_feature(enable = "avx512f,avx512ifma")]
fn stack_of_one_is_reached<C: Curve<N>, const N: usize>() {
    let mut number = vec![0x5A; C::BYTES];
    number[0] &= 1;
    let mut pair = vec![0; 2 * C::BYTES];
    let (private, digest, nonce) = (&number[..], &number[..], &number[..]);
    let shared = [
        crate::wipe::depth(|| _ = public_lane::<C, N>(private, &mut pair)),
        crate::wipe::depth(|| _ = sign_lane::<C, N>(&mut SignJob { private, digest, nonce, signature: &mut pair })),
    ];
    assert!(shared.iter().all(|depth| *depth <= 8 * SHARED_STACK * N), "{shared:?} bytes");
}

/// A wipe reaches all that an operation writes to the stack.
#[target_feature(enable = "avx512f,avx512ifma")]
fn stack_is_reached<C: Curve<N>, const N: usize>() {
    let mut number = vec![0x5A; C::BYTES];
    number[0] &= 1;
    let (mut pair, mut secret, mut peer) = (vec![0; 2 * C::BYTES], vec![0; C::BYTES], vec![0; 2 * C::BYTES]);
    assert!(public_shared::<C, N>(&number, &mut peer));
    stack_of_one_is_reached::<C, N>();
    let (private, digest, nonce) = (&number[..], &number[..], &number[..]);
    let eight = [
        crate::wipe::depth(|| _ = public_jobs::<C, N>(&mut [PublicJob { private, public: &mut pair }])),
        crate::wipe::depth(|| _ = sign_jobs::<C, N>(&mut [SignJob { private, digest, nonce, signature: &mut pair }])),
        crate::wipe::depth(|| _ = derive_jobs::<C, N>(&mut [DeriveJob { private, peer: &peer, secret: &mut secret }])),
    ];
    assert!(eight.iter().all(|depth| *depth <= 8 * STACK * N), "{eight:?} bytes");
}

#[test]
fn what_is_left_on_the_stack_is_overwritten() {
    // As the code is that people run: without optimization it takes more.
    if supported() && !cfg!(debug_assertions) {
        // SAFETY: `supported` has found AVX-512 IFMA.
        unsafe {
            stack_is_reached::<P256, 5>();
            stack_is_reached::<P384, 8>();
            stack_is_reached::<P521, 11>();
            stack_of_one_is_reached::<P192, 4>();
            stack_of_one_is_reached::<BrainpoolP256, 5>();
            stack_of_one_is_reached::<BrainpoolP384, 8>();
            stack_of_one_is_reached::<BrainpoolP512, 10>();
        }
    }
}
