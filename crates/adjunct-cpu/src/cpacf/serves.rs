//! Which of CPACF's functions serve a function of the catalogue.

use adjunct_base::catalogue::Function;
use adjunct_kernels::cpacf::{Cipher, Edwards, Functions, Hash, Instruction, Montgomery, Nist};

/// The digest that `function` is, or uses.
pub(crate) const fn hash(function: Function) -> Option<Hash> {
    use Function::*;
    Some(match function {
        Sha1 | HmacSha1 => Hash::Sha1,
        Sha224 | Sha256 | HmacSha2_256 => Hash::Sha256,
        Sha384 | Sha512 | Sha512_224 | Sha512_256 | HmacSha2_512 | DrbgSha512 => Hash::Sha512,
        Sha3_224 => Hash::Sha3_224,
        Sha3_256 => Hash::Sha3_256,
        Sha3_384 => Hash::Sha3_384,
        Sha3_512 => Hash::Sha3_512,
        // Extension 6 brings all of SHA-3.
        HmacSha3 => Hash::Sha3_256,
        Shake128 => Hash::Shake128,
        Shake256 => Hash::Shake256,
        _ => return None,
    })
}

/// Whether `functions` have all that `function` takes with a key of `bits`; 0: with one of any size.
pub(crate) fn serves(functions: &Functions, function: Function, bits: usize) -> bool {
    use Instruction::*;
    if let Some(hash) = hash(function) {
        return functions.has(Kimd, hash.code()) && functions.has(Klmd, hash.code());
    }
    let cipher = |instructions: &[Instruction], cipher: Cipher| {
        instructions.iter().all(|&instruction| functions.has(instruction, cipher.code()))
    };
    let aes = |instructions: &[Instruction]| {
        let sizes = [16, 24, 32].into_iter().filter(|size| bits == 0 || size * 8 == bits);
        sizes.filter_map(Cipher::aes).any(|aes| cipher(instructions, aes))
    };
    let nist = |instruction, code: fn(Nist) -> u8| {
        let size = |curve: &Nist| match curve {
            Nist::P521 => 521,
            curve => curve.length() * 8,
        };
        let mut curves = Nist::ALL.into_iter().filter(|curve| bits == 0 || bits == size(curve));
        curves.any(|curve| functions.has(instruction, code(curve)))
    };
    let edwards = |instruction, code| functions.has(instruction, code);
    use Function as F;
    match function {
        F::Ghash => functions.has(Kimd, 65),
        F::Prng => functions.has(Prno, 114),
        F::Ecdh | F::EcKeygen => nist(Pcc, Nist::multiply_code),
        F::EcdsaSign => nist(Kdsa, Nist::sign_code),
        F::EcdsaVerify => nist(Kdsa, Nist::verify_code),
        F::X25519Keygen | F::X25519Derive => functions.has(Pcc, Montgomery::X25519.code()),
        F::X448Keygen | F::X448Derive => functions.has(Pcc, Montgomery::X448.code()),
        F::Ed25519Keygen => edwards(Pcc, Edwards::Ed25519.multiply_code()),
        F::Ed25519Sign => edwards(Kdsa, Edwards::Ed25519.sign_code()),
        F::Ed25519Verify => edwards(Kdsa, Edwards::Ed25519.verify_code()),
        F::Ed448Keygen => edwards(Pcc, Edwards::Ed448.multiply_code()),
        F::Ed448Sign => edwards(Kdsa, Edwards::Ed448.sign_code()),
        F::Ed448Verify => edwards(Kdsa, Edwards::Ed448.verify_code()),
        F::DesEcb => cipher(&[Km], Cipher::Des),
        F::DesCbc => cipher(&[Kmc], Cipher::Des),
        // Their streams are made of single blocks.
        F::DesOfb | F::DesCfb | F::DesCtr => cipher(&[Km], Cipher::Des),
        F::DesCmac => cipher(&[Kmac, Pcc], Cipher::Des),
        F::TdesEcb => cipher(&[Km], Cipher::TripleDes),
        F::TdesCbc => cipher(&[Kmc], Cipher::TripleDes),
        F::TdesOfb | F::TdesCfb | F::TdesCtr => cipher(&[Km], Cipher::TripleDes),
        F::TdesCmac => cipher(&[Kmac, Pcc], Cipher::TripleDes),
        F::AesEcb => aes(&[Km]),
        F::AesCbc => aes(&[Kmc]),
        F::AesOfb => aes(&[Kmo]),
        F::AesCfb => aes(&[Kmf]),
        F::AesCtr => aes(&[Kmctr]),
        F::AesCmac => aes(&[Kmac, Pcc]),
        F::AesCcm => aes(&[Kmctr, Kmac]),
        // The tweak, and the end of a unit that is not of whole blocks, are ECB.
        F::AesXts => [(16, 50), (32, 52)].into_iter().any(|(length, code)| {
            (bits == 0 || bits == length * 8) && functions.has(Km, code) && functions.has(Km, code - 32)
        }),
        F::AesGcm => aes(&[Kma, Km]) && functions.has(Kimd, 65),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_kernels::cpacf::{Machine, Query, Registers};

    /// A machine whose instructions answer as given.
    struct Answers(&'static [(Instruction, &'static [u8])]);

    impl Machine for Answers {
        fn facility(&self, _bit: usize) -> bool {
            true
        }

        unsafe fn execute(&self, instruction: Instruction, registers: &mut Registers) -> u8 {
            let codes = self.0.iter().find(|(i, _)| *i == instruction).map_or(&[0u8][..], |(_, codes)| codes);
            // SAFETY: the block of a query.
            unsafe { *registers.parameters.cast() = Query::of(codes) };
            0
        }
    }

    #[test]
    fn only_what_the_query_has_is_hardware() {
        use Instruction::*;
        // As qemu's user mode answers, and nothing at all.
        let emulated = Functions::of(&Answers(&[(Kimd, &[0, 3]), (Klmd, &[0, 3]), (Prno, &[0, 114])]));
        let family = [Function::Sha384, Function::Sha512, Function::Sha512_224, Function::Sha512_256];
        let also = [Function::HmacSha2_512, Function::DrbgSha512, Function::Prng];
        for &function in Function::ALL {
            let expected = family.contains(&function) || also.contains(&function);
            assert_eq!(serves(&emulated, function, 0), expected, "{function:?}");
            assert!(!serves(&Functions::default(), function, 0), "{function:?}");
        }
        // One key size, one curve.
        let some: &[(Instruction, &[u8])] =
            &[(Km, &[18, 50]), (Kmc, &[20]), (Kma, &[18]), (Kimd, &[65]), (Kdsa, &[10]), (Kmac, &[18]), (Pcc, &[18])];
        let some = Functions::of(&Answers(some));
        for (function, bits, expected) in [
            (Function::AesEcb, 128, true),
            (Function::AesEcb, 256, false),
            (Function::AesEcb, 0, true),
            (Function::AesCbc, 128, false),
            (Function::AesCbc, 256, true),
            (Function::AesXts, 128, true),
            (Function::AesXts, 256, false),
            (Function::AesGcm, 128, true),
            (Function::AesGcm, 192, false),
            (Function::AesCmac, 128, true),
            (Function::AesCcm, 128, false),
            (Function::EcdsaSign, 384, true),
            (Function::EcdsaSign, 256, false),
            (Function::EcdsaSign, 192, false),
            (Function::EcdsaVerify, 384, false),
            (Function::RsaCrt, 2048, false),
        ] {
            assert_eq!(serves(&some, function, bits), expected, "{function:?} {bits}");
        }
    }

    #[test]
    fn every_instruction_that_serves_is_named_by_the_catalogue() {
        use adjunct_base::catalogue::{Arch, Feature};
        struct All;
        impl Machine for All {
            fn facility(&self, _bit: usize) -> bool {
                true
            }
            unsafe fn execute(&self, _: Instruction, registers: &mut Registers) -> u8 {
                // SAFETY: the block of a query.
                unsafe { registers.parameters.write_bytes(0xff, 16) };
                0
            }
        }
        let all = Functions::of(&All);
        let ours: Vec<Feature> = Feature::ALL.iter().copied().filter(|f| f.arch() == Arch::S390).collect();
        assert_eq!(ours.len(), Instruction::ALL.len());
        for &function in Function::ALL {
            let named = function.info().s390;
            // What the core does not have CPACF do yet is named by nothing.
            if named.is_empty() {
                continue;
            }
            assert!(serves(&all, function, 0), "{function:?}");
            for (&feature, instruction) in ours.iter().zip(Instruction::ALL) {
                assert!(format!("{instruction:?}").eq_ignore_ascii_case(feature.name()));
                let mut less = all;
                less.mask(instruction);
                assert_eq!(serves(&less, function, 0), !named.contains(&feature), "{function:?}");
            }
        }
    }
}
