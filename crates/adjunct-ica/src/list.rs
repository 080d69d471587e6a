//! The function list: libica's numbers of the functions it counts, each with what serves it on this machine.
//!
//! This file has only the numbers and their order; [`route::served`] says, by the core's catalogue, what serves a function.

use crate::serve;
use adjunct::catalogue::Function;
use adjunct::ops::choice as route;
use adjunct::ops::choice::Served;

/// `ICA_FLAG_SHW`: the processor's own instructions.
pub const STATIC: u32 = 4;
/// `ICA_FLAG_DHW`: a card, or the batches that stand for one.
pub const DYNAMIC: u32 = 2;
/// `ICA_FLAG_SW`: software.
pub const SOFTWARE: u32 = 1;

/// `ICA_PROPERTY_EC_BP`, `_NIST` and `_ED`.
const EC: (u32, u32, u32) = (1, 2, 4);
/// `ICA_PROPERTY_RSA_ALL`, and `_FIPS`: 2048 bits and more.
const RSA: (u32, u32) = (0xf, 0xc);

/// `libica_func_list_element`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// The function's number.
    pub number: u32,
    /// Flags that say what serves the function.
    pub flags: u32,
    /// Key lengths and curves; 0 where nothing serves it.
    pub property: u32,
}

/// The numbers of the header that stand in the list, in the original's order. The others there are forms of these (CBC-CS of CBC,
/// CTRLST of CTR) and counted with them.
const NUMBERS: &[(u32, Function)] = {
    use Function::*;
    &[
        (1, Sha1),
        (2, Sha224),
        (3, Sha256),
        (4, Sha384),
        (5, Sha512),
        (95, Sha512_224),
        (96, Sha512_256),
        (6, Sha3_224),
        (7, Sha3_256),
        (8, Sha3_384),
        (9, Sha3_512),
        (11, Shake128),
        (12, Shake256),
        (10, Ghash),
        (20, DesEcb),
        (21, DesCbc),
        (23, DesOfb),
        (24, DesCfb),
        (25, DesCtr),
        (28, DesCmac),
        (41, TdesEcb),
        (42, TdesCbc),
        (44, TdesOfb),
        (45, TdesCfb),
        (46, TdesCtr),
        (49, TdesCmac),
        (60, AesEcb),
        (61, AesCbc),
        (63, AesOfb),
        (64, AesCfb),
        (65, AesCtr),
        (68, AesCmac),
        (69, AesCcm),
        (70, AesGcm),
        // AES_GCM_KMA, the same by a context.
        (72, AesGcm),
        (71, AesXts),
        (80, Prng),
        (85, Ecdh),
        (86, EcdsaSign),
        (87, EcdsaVerify),
        (88, EcKeygen),
        (100, Ed25519Keygen),
        (101, Ed25519Sign),
        (102, Ed25519Verify),
        (103, Ed448Keygen),
        (104, Ed448Sign),
        (105, Ed448Verify),
        (106, X25519Keygen),
        (107, X25519Derive),
        (108, X448Keygen),
        (109, X448Derive),
        (90, RsaMe),
        (91, RsaCrt),
        (92, RsaKeygenMe),
        (93, RsaKeygenCrt),
        (94, DrbgSha512),
    ]
};

/// How many elements the list has.
pub const LENGTH: usize = NUMBERS.len();

/// The list, now: what serves a function depends on the modes that the program has chosen.
pub fn elements() -> impl Iterator<Item = Element> {
    NUMBERS.iter().map(|&(number, function)| element(number, function))
}

fn element(number: u32, function: Function) -> Element {
    let Served { instructions, batches, .. } = route::served(function, 0);
    let software = serve::in_software(function);
    let flags = [(instructions, STATIC), (batches, DYNAMIC), (software, SOFTWARE)];
    let flags = flags.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum();
    Element { number, flags, property: if flags == 0 { 0 } else { property(function, software) } }
}

/// The key lengths and curves of a function; of hardware alone unless software serves the others.
fn property(function: Function, software: bool) -> u32 {
    use Function::*;
    match function {
        Ecdh | EcdsaSign | EcdsaVerify | EcKeygen => EC.1 | if software { EC.0 } else { 0 },
        Ed25519Keygen | Ed25519Sign | Ed25519Verify | Ed448Keygen | Ed448Sign | Ed448Verify => EC.2,
        X25519Keygen | X25519Derive | X448Keygen | X448Derive => EC.2,
        RsaMe | RsaCrt | RsaKeygenMe | RsaKeygenCrt => {
            if software {
                RSA.0
            } else {
                RSA.1
            }
        }
        // ICA_PROPERTY_AES_128, _192 and _256; functions without a key have no sizes, nor has DES.
        _ => function.info().sizes.iter().map(|bits| 1 << ((bits - 128) / 64)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_z_is_in_the_list() {
        let missing = Function::ALL.iter().filter(|f| f.info().z && !NUMBERS.iter().any(|(_, g)| g == *f));
        assert_eq!(missing.map(|f| f.info().name).collect::<Vec<_>>(), Vec::<&str>::new());
        let mut numbers: Vec<_> = NUMBERS.iter().map(|(number, _)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!((numbers.len(), LENGTH), (LENGTH, 56));
    }

    #[test]
    fn properties_are_those_of_the_header() {
        let of = |function| property(function, true);
        assert_eq!((of(Function::AesCbc), of(Function::AesXts), of(Function::AesCcm)), (7, 5, 7));
        assert_eq!((of(Function::DesEcb), of(Function::Sha256)), (0, 0));
        assert_eq!((of(Function::Ecdh), property(Function::Ecdh, false)), (3, 2));
        assert_eq!((of(Function::RsaCrt), property(Function::RsaCrt, false)), (15, 12));
        assert_eq!((of(Function::Ed448Sign), of(Function::X25519Derive)), (4, 4));
    }
}
