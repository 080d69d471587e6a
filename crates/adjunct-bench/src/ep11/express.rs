//! What a Crypto Express7S card as EP11 coprocessor (CEX7P) of an IBM z15 does: operations a second with 1 job and with 8, in IBM's figures ("IBM z15
//! Performance of Cryptographic Operations", 3.3.8 and 3.3.9). Those of two cards are not published.

use super::row::{Cipher, Curve, Hash, Key, What};

/// Sizes of messages in bytes, in the order of the tables.
pub const SIZES: [usize; 6] = [64, 256, 1024, 4096, 65536, 1 << 20];

type Sizes = [[f64; 2]; 6];

const AES: Sizes = [[10034., 14720.], [9833., 14993.], [9102., 14036.], [7007., 11124.], [531., 882.], [38.2, 63.3]];
const DES3: Sizes = [[10120., 15100.], [9827., 15019.], [8978., 13922.], [6591., 10185.], [492., 848.], [35.0, 59.5]];

/// HMACs of SHA-256, SHA-512, SHA3-256 and SHA3-512, each size with 1 job and with 8.
const GENERATE: [Sizes; 4] = [
    [[9049., 13599.], [8953., 13597.], [8554., 12949.], [7257., 11313.], [596., 968.7], [45.2, 72.44]],
    [[9056., 13512.], [8942., 13341.], [8568., 12993.], [7357., 11476.], [586., 943.2], [45.3, 71.97]],
    [[8924., 12946.], [8828., 12871.], [8494., 12543.], [7386., 10976.], [508., 790.7], [38.9, 60.11]],
    [[8853., 12990.], [8737., 12855.], [8462., 12339.], [7358., 11011.], [518., 809.4], [39.9, 61.52]],
];
const VERIFY: [Sizes; 4] = [
    [[9109., 13718.], [8922., 13695.], [8549., 13179.], [7196., 11293.], [591., 960.], [45.1, 72.6]],
    [[9134., 13682.], [9047., 13507.], [8623., 13046.], [7252., 11222.], [584., 944.9], [45.2, 71.77]],
    [[8997., 13199.], [8927., 13162.], [8543., 12542.], [7291., 10993.], [507., 790.9], [38.8, 59.65]],
    [[8980., 13235.], [8999., 13018.], [8551., 12626.], [7291., 10979.], [518., 805.3], [40.0, 61.5]],
];

/// Operations of public keys.
const PUBLIC: [(What, [f64; 2]); 42] = [
    (What::Decrypt(1024), [3941., 12531.]),
    (What::Decrypt(2048), [1502., 10121.]),
    (What::Decrypt(4096), [264., 1658.]),
    (What::Encrypt(1024), [4832., 9585.]),
    (What::Encrypt(2048), [3352., 7215.]),
    (What::Encrypt(4096), [1636., 3917.]),
    (What::Sign(Key::Rsa(1024)), [3811., 11711.]),
    (What::Sign(Key::Rsa(2048)), [1466., 9746.]),
    (What::Sign(Key::Rsa(4096)), [262., 1656.]),
    (What::Sign(Key::Ec(Curve::Brainpool192)), [2818., 12190.]),
    (What::Sign(Key::Ec(Curve::Brainpool256)), [2273., 11687.]),
    (What::Sign(Key::Ec(Curve::Brainpool512)), [921., 6484.]),
    (What::Sign(Key::Ec(Curve::P192)), [3374., 12374.]),
    (What::Sign(Key::Ec(Curve::P256)), [2737., 12207.]),
    (What::Sign(Key::Ec(Curve::P521)), [1333., 9556.]),
    (What::Sign(Key::Dilithium), [120., 235.]),
    (What::Sign(Key::Ec(Curve::Ed448)), [20.1, 39.9]),
    (What::Sign(Key::Ec(Curve::Ed25519)), [60.2, 120.]),
    (What::Verify(Key::Rsa(1024)), [3944., 7084.]),
    (What::Verify(Key::Rsa(2048)), [2556., 5018.]),
    (What::Verify(Key::Rsa(4096)), [1141., 2442.]),
    (What::Verify(Key::Ec(Curve::Brainpool192)), [1668., 8962.]),
    (What::Verify(Key::Ec(Curve::Brainpool256)), [1339., 8288.]),
    (What::Verify(Key::Ec(Curve::Brainpool512)), [474., 3255.]),
    (What::Verify(Key::Ec(Curve::P192)), [2133., 9629.]),
    (What::Verify(Key::Ec(Curve::P256)), [1617., 8734.]),
    (What::Verify(Key::Ec(Curve::P521)), [714., 5138.]),
    (What::Verify(Key::Dilithium), [219., 424.]),
    (What::Verify(Key::Ec(Curve::Ed448)), [20.5, 40.7]),
    (What::Verify(Key::Ec(Curve::Ed25519)), [59.0, 116.]),
    (What::Wrap(Key::Rsa(1024)), [4405., 8247.]),
    (What::Wrap(Key::Rsa(2048)), [3135., 6249.]),
    (What::Wrap(Key::Rsa(4096)), [1606., 3569.]),
    (What::Wrap(Key::Aes), [4407., 8449.]),
    (What::Wrap(Key::Ec(Curve::Ed448)), [6394., 8855.]),
    (What::Wrap(Key::Ec(Curve::Ed25519)), [6518., 9176.]),
    (What::Unwrap(Key::Rsa(1024)), [3124., 7838.]),
    (What::Unwrap(Key::Rsa(2048)), [1364., 7016.]),
    (What::Unwrap(Key::Rsa(4096)), [257., 1642.]),
    (What::Unwrap(Key::Aes), [3222., 4601.]),
    (What::Unwrap(Key::Ec(Curve::Ed448)), [3665., 4756.]),
    (What::Unwrap(Key::Ec(Curve::Ed25519)), [4067., 5197.]),
];

/// Key pairs a second, with one job alone.
const PAIRS: [(Key, f64); 12] = [
    (Key::Rsa(1024), 143.),
    (Key::Rsa(2048), 40.8),
    (Key::Rsa(4096), 3.9),
    (Key::Ec(Curve::Brainpool192), 2246.),
    (Key::Ec(Curve::Brainpool256), 1828.),
    (Key::Ec(Curve::Brainpool512), 833.),
    (Key::Ec(Curve::P192), 2547.),
    (Key::Ec(Curve::P256), 2179.),
    (Key::Ec(Curve::P521), 1176.),
    (Key::Dilithium, 190.),
    (Key::Ec(Curve::Ed448), 41.1),
    (Key::Ec(Curve::Ed25519), 116.),
];

/// The card's rows: what, of how many bytes if that matters, and the rates with 1 job and with 8, as far as there are any.
pub fn rows() -> impl Iterator<Item = (What, Option<usize>, [Option<f64>; 2])> {
    let sizes = |what: What, rates: &'static Sizes| {
        SIZES.iter().zip(rates).map(move |(size, rates)| (what, Some(*size), rates.map(Some)))
    };
    let hmac = move |what: fn(Hash) -> What, rates: &'static [Sizes; 4]| {
        Hash::ALL.into_iter().zip(rates).flat_map(move |(hash, rates)| sizes(what(hash), rates))
    };
    let bulk = sizes(What::Cbc(Cipher::Aes), &AES).chain(sizes(What::Cbc(Cipher::Des3), &DES3));
    let macs = hmac(What::Mac, &GENERATE).chain(hmac(What::VerifyMac, &VERIFY));
    let public = PUBLIC.iter().map(|(what, rates)| (*what, None, rates.map(Some)));
    let pairs = PAIRS.iter().map(|(key, rate)| (What::Generate(*key), None, [Some(*rate), None]));
    bulk.chain(macs).chain(public).chain(pairs)
}
