//! The catalogue: every countable function, a row of `icainfo` and `icastats`, plus what the world uses since.
//!
//! Each row says which instructions make it hardware on each architecture and where its software comes from. The order is
//! that of the Z tools; what they do not have stands at the end.

mod class;
mod feature;
mod outcome;
mod path;
mod queue;
mod refusal;

pub use class::{CLASSES, Class};
pub use feature::{Arch, Feature, HERE};
pub use outcome::Outcome;
pub use path::{Direction, Path, Reason};
pub use queue::{LANES, Queue};
pub use refusal::Refusal;

use Feature::*;

/// How a function's operations are split in the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterSplit {
    /// A single direction (CRYPT): digests, public-key operations, random.
    Crypt,
    /// Encrypt and decrypt are counted apart (ENC, DEC).
    Cipher,
}

/// The origin of a function's software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    /// AWS-LC, the CPU library. (Of these functions, some modes of DES are offered to libica's programs only: OpenSSL's serve
    /// themselves.)
    AwsLc,
    /// OpenSSL: its default provider, by not offering the function or by handing the operation over; for libica's programs, the
    /// libcrypto of the system. (PKCS #11's programs, which need no OpenSSL, have ML-KEM and ML-DSA of AWS-LC.)
    OpenSsl,
}

impl Software {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Software::AwsLc => "AWS-LC",
            Software::OpenSsl => "OpenSSL",
        }
    }
}

/// A row of the catalogue.
#[derive(Debug)]
pub struct Info {
    /// The row's name in `icainfo`.
    pub name: &'static str,
    /// The row's name in `icastats` where it differs (`RSA-ME`).
    pub stats_name: &'static str,
    /// The split of its counters.
    pub kind: CounterSplit,
    /// The key sizes `icastats -k` lists, in bits; empty where the function has none.
    pub sizes: &'static [u16],
    /// Instructions that all together make the function hardware on x86-64; empty: no dedicated instruction there.
    pub x86: &'static [Feature],
    /// Instructions that all together make the function hardware on arm64; empty: no dedicated instruction there.
    pub arm: &'static [Feature],
    /// The instructions of CPACF on s390x that it takes, empty where there are none. They have functions by algorithm and key
    /// size, which are asked for besides.
    pub s390: &'static [Feature],
    /// The origin of the function's software.
    pub software: Software,
    /// Whether the Z tools know the row.
    pub z: bool,
}

const AES_SIZES: &[u16] = &[128, 192, 256];
const XTS_SIZES: &[u16] = &[128, 256];
const EC_SIZES: &[u16] = &[160, 192, 224, 256, 320, 384, 512, 521];
const RSA_SIZES: &[u16] = &[512, 1024, 2048, 3072, 4096];

macro_rules! catalogue {
    ($($variant:ident $name:literal $stats:literal $kind:ident $sizes:expr, $x86:expr, $arm:expr, $s390:expr, $sw:ident $z:literal;)*) => {
        /// A countable function.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Function { $(#[doc = $name] $variant),* }

        impl Function {
            /// Every function, in the order of the tables.
            pub const ALL: &[Function] = &[$(Function::$variant),*];
        }

        static INFO: &[Info] = &[$(Info {
            name: $name, stats_name: $stats, kind: CounterSplit::$kind, sizes: $sizes, x86: $x86, arm: $arm, s390: $s390,
            software: Software::$sw, z: $z,
        }),*];

        // The numbers of key sizes at compile time, to lay out the counters.
        const SIZE_COUNTS: &[usize] = &[$({ let sizes: &[u16] = $sizes; sizes.len() }),*];
    };
}

catalogue! {
    Sha1 "SHA-1" "SHA-1" Crypt &[], &[Sha], &[ArmSha1], &[Kimd, Klmd], AwsLc true;
    Sha224 "SHA-224" "SHA-224" Crypt &[], &[Sha], &[ArmSha256], &[Kimd, Klmd], AwsLc true;
    Sha256 "SHA-256" "SHA-256" Crypt &[], &[Sha], &[ArmSha256], &[Kimd, Klmd], AwsLc true;
    Sha384 "SHA-384" "SHA-384" Crypt &[], &[Sha512], &[ArmSha512], &[Kimd, Klmd], AwsLc true;
    Sha512 "SHA-512" "SHA-512" Crypt &[], &[Sha512], &[ArmSha512], &[Kimd, Klmd], AwsLc true;
    Sha512_224 "SHA-512/224" "SHA-512/224" Crypt &[], &[Sha512], &[ArmSha512], &[Kimd, Klmd], AwsLc true;
    Sha512_256 "SHA-512/256" "SHA-512/256" Crypt &[], &[Sha512], &[ArmSha512], &[Kimd, Klmd], AwsLc true;
    Sha3_224 "SHA3-224" "SHA3-224" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc true;
    Sha3_256 "SHA3-256" "SHA3-256" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc true;
    Sha3_384 "SHA3-384" "SHA3-384" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc true;
    Sha3_512 "SHA3-512" "SHA3-512" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc true;
    Shake128 "SHAKE-128" "SHAKE-128" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc true;
    Shake256 "SHAKE-256" "SHAKE-256" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc true;
    Ghash "GHASH" "GHASH" Crypt &[], &[Pclmul], &[ArmPmull], &[], AwsLc true;
    Prng "P_RNG" "P_RNG" Crypt &[], &[Aes], &[ArmAes], &[Prno], AwsLc true;
    DrbgSha512 "DRBG-SHA-512" "DRBG-SHA-512" Crypt &[], &[Sha512], &[ArmSha512], &[Kimd, Klmd], AwsLc true;
    Ecdh "ECDH" "ECDH" Crypt EC_SIZES, &[], &[], &[Pcc], AwsLc true;
    EcdsaSign "ECDSA Sign" "ECDSA Sign" Crypt EC_SIZES, &[Avx512, Ifma], &[], &[Kdsa], AwsLc true;
    EcdsaVerify "ECDSA Verify" "ECDSA Verify" Crypt EC_SIZES, &[], &[], &[Kdsa], AwsLc true;
    EcKeygen "EC Keygen" "EC Keygen" Crypt EC_SIZES, &[Avx512, Ifma], &[], &[Pcc], AwsLc true;
    Ed25519Keygen "Ed25519 Keygen" "Ed25519 Keygen" Crypt &[], &[Avx512, Ifma], &[], &[Pcc], AwsLc true;
    Ed25519Sign "Ed25519 Sign" "Ed25519 Sign" Crypt &[], &[], &[], &[Kdsa], AwsLc true;
    Ed25519Verify "Ed25519 Verify" "Ed25519 Verify" Crypt &[], &[], &[], &[Kdsa], AwsLc true;
    Ed448Keygen "Ed448 Keygen" "Ed448 Keygen" Crypt &[], &[], &[], &[Pcc], OpenSsl true;
    Ed448Sign "Ed448 Sign" "Ed448 Sign" Crypt &[], &[], &[], &[Kdsa], OpenSsl true;
    Ed448Verify "Ed448 Verify" "Ed448 Verify" Crypt &[], &[], &[], &[Kdsa], OpenSsl true;
    X25519Keygen "X25519 Keygen" "X25519 Keygen" Crypt &[], &[Avx512, Ifma], &[], &[Pcc], AwsLc true;
    X25519Derive "X25519 Derive" "X25519 Derive" Crypt &[], &[], &[], &[Pcc], AwsLc true;
    X448Keygen "X448 Keygen" "X448 Keygen" Crypt &[], &[], &[], &[Pcc], OpenSsl true;
    X448Derive "X448 Derive" "X448 Derive" Crypt &[], &[], &[], &[Pcc], OpenSsl true;
    RsaKeygenMe "RSA Keygen ME" "RSA Keygen ME" Crypt RSA_SIZES, &[Avx512, Ifma], &[], &[], AwsLc true;
    RsaKeygenCrt "RSA Keygen CRT" "RSA Keygen CRT" Crypt RSA_SIZES, &[Avx512, Ifma], &[], &[], AwsLc true;
    RsaMe "RSA ME" "RSA-ME" Crypt RSA_SIZES, &[], &[], &[], AwsLc true;
    RsaCrt "RSA CRT" "RSA-CRT" Crypt RSA_SIZES, &[Avx512, Ifma], &[], &[], AwsLc true;
    DesEcb "DES ECB" "DES ECB" Cipher &[], &[], &[], &[Km], AwsLc true;
    DesCbc "DES CBC" "DES CBC" Cipher &[], &[], &[], &[Kmc], AwsLc true;
    DesOfb "DES OFB" "DES OFB" Cipher &[], &[], &[], &[Km], AwsLc true;
    DesCfb "DES CFB" "DES CFB" Cipher &[], &[], &[], &[Km], AwsLc true;
    DesCtr "DES CTR" "DES CTR" Cipher &[], &[], &[], &[Km], AwsLc true;
    DesCmac "DES CMAC" "DES CMAC" Cipher &[], &[], &[], &[Kmac, Pcc], AwsLc true;
    TdesEcb "3DES ECB" "3DES ECB" Cipher &[], &[], &[], &[Km], AwsLc true;
    TdesCbc "3DES CBC" "3DES CBC" Cipher &[], &[], &[], &[Kmc], AwsLc true;
    TdesOfb "3DES OFB" "3DES OFB" Cipher &[], &[], &[], &[Km], AwsLc true;
    TdesCfb "3DES CFB" "3DES CFB" Cipher &[], &[], &[], &[Km], AwsLc true;
    TdesCtr "3DES CTR" "3DES CTR" Cipher &[], &[], &[], &[Km], AwsLc true;
    TdesCmac "3DES CMAC" "3DES CMAC" Cipher &[], &[], &[], &[Kmac, Pcc], AwsLc true;
    AesEcb "AES ECB" "AES ECB" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Km], AwsLc true;
    AesCbc "AES CBC" "AES CBC" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Kmc], AwsLc true;
    AesOfb "AES OFB" "AES OFB" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Kmo], AwsLc true;
    AesCfb "AES CFB" "AES CFB" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Kmf], AwsLc true;
    AesCtr "AES CTR" "AES CTR" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Kmctr], AwsLc true;
    AesCmac "AES CMAC" "AES CMAC" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Kmac, Pcc], AwsLc true;
    AesXts "AES XTS" "AES XTS" Cipher XTS_SIZES, &[Aes], &[ArmAes], &[Km], AwsLc true;
    AesGcm "AES GCM" "AES GCM" Cipher AES_SIZES, &[Aes, Pclmul], &[ArmAes, ArmPmull], &[Kma, Km, Kimd], AwsLc true;
    AesCcm "AES CCM" "AES CCM" Cipher AES_SIZES, &[Aes], &[ArmAes], &[Kmctr, Kmac], AwsLc false;
    ChaCha20 "ChaCha20" "ChaCha20" Cipher &[], &[], &[], &[], AwsLc false;
    ChaCha20Poly1305 "ChaCha20-Poly1305" "ChaCha20-Poly1305" Cipher &[], &[], &[], &[], AwsLc false;
    Md5 "MD5" "MD5" Crypt &[], &[], &[], &[], AwsLc false;
    HmacMd5 "HMAC-MD5" "HMAC-MD5" Crypt &[], &[], &[], &[], AwsLc false;
    HmacSha1 "HMAC-SHA-1" "HMAC-SHA-1" Crypt &[], &[Sha], &[ArmSha1], &[Kimd, Klmd], AwsLc false;
    HmacSha2_256 "HMAC-SHA-256" "HMAC-SHA-256" Crypt &[], &[Sha], &[ArmSha256], &[Kimd, Klmd], AwsLc false;
    HmacSha2_512 "HMAC-SHA-512" "HMAC-SHA-512" Crypt &[], &[Sha512], &[ArmSha512], &[Kimd, Klmd], AwsLc false;
    HmacSha3 "HMAC-SHA3" "HMAC-SHA3" Crypt &[], &[], &[ArmSha3], &[Kimd, Klmd], AwsLc false;
    MlKemKeygen "ML-KEM Keygen" "ML-KEM Keygen" Crypt &[512, 768, 1024], &[], &[], &[], OpenSsl false;
    MlKemEncapsulate "ML-KEM Encaps" "ML-KEM Encaps" Crypt &[512, 768, 1024], &[], &[], &[], OpenSsl false;
    MlKemDecapsulate "ML-KEM Decaps" "ML-KEM Decaps" Crypt &[512, 768, 1024], &[], &[], &[], OpenSsl false;
    MlDsaKeygen "ML-DSA Keygen" "ML-DSA Keygen" Crypt &[44, 65, 87], &[], &[], &[], OpenSsl false;
    MlDsaSign "ML-DSA Sign" "ML-DSA Sign" Crypt &[44, 65, 87], &[], &[], &[], OpenSsl false;
    MlDsaVerify "ML-DSA Verify" "ML-DSA Verify" Crypt &[44, 65, 87], &[], &[], &[], OpenSsl false;
}

impl Function {
    /// The row's description.
    #[inline]
    pub const fn info(self) -> &'static Info {
        &INFO[self as usize]
    }

    /// The function whose `icainfo` or `icastats` name this is.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|f| f.info().name == name || f.info().stats_name == name)
    }

    /// The instructions, x86-64's, on which operations with a key of `bits` (0: of any size) run in batches; empty where they do
    /// not. One alone is software, but for those that use the same instructions: RSA, ECDSA signatures and key pairs.
    pub fn batch_instructions(self, bits: usize) -> &'static [Feature] {
        let sizes: &[usize] = match self {
            Function::RsaCrt => &[0, 2048, 3072, 4096],
            Function::Ecdh | Function::EcdsaSign | Function::EcKeygen => &[0, 256, 384, 521],
            Function::X25519Derive | Function::X25519Keygen | Function::Ed25519Sign | Function::Ed25519Keygen => &[0],
            _ => &[],
        };
        if sizes.contains(&bits) { &[Avx512, Ifma] } else { &[] }
    }

    /// The counter row of an operation with a key of `bits`; sizes the tables do not list share one row, which counts in
    /// the function's total. Functions without key sizes take any value.
    #[inline]
    pub fn row(self, bits: usize) -> Row {
        self.row_of(bits).0
    }

    /// The counter row of an operation with a key of `bits`, as [`Function::row`] gives it, and whether keys of `bits` have that row to
    /// themselves.
    #[inline]
    pub fn row_of(self, bits: usize) -> (Row, bool) {
        let sizes = self.info().sizes;
        let place = sizes.iter().position(|&s| s as usize == bits);
        (Row((FIRST_ROW[self as usize] + place.unwrap_or(sizes.len())) as u16), place.is_some())
    }

    /// The rows of this function with the key size of each: `None` for the row that holds all other sizes.
    pub fn rows(self) -> impl Iterator<Item = (Option<u16>, Row)> {
        let sizes = self.info().sizes;
        let first = FIRST_ROW[self as usize];
        (0..=sizes.len()).map(move |i| (sizes.get(i).copied(), Row((first + i) as u16)))
    }
}

/// A row of counters: a function and a key size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row(u16);

impl Row {
    /// The number of rows.
    pub const COUNT: usize = FIRST_ROW[Function::ALL.len()];

    /// The row's place in a block of counters, below [`Row::COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

const FIRST_ROW: [usize; Function::ALL.len() + 1] = {
    let mut first = [0; Function::ALL.len() + 1];
    let mut i = 0;
    while i < Function::ALL.len() {
        first[i + 1] = first[i] + SIZE_COUNTS[i] + 1;
        i += 1;
    }
    first
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_dense_and_distinct() {
        let mut seen = vec![false; Row::COUNT];
        for &function in Function::ALL {
            for (size, row) in function.rows() {
                assert!(!std::mem::replace(&mut seen[row.index()], true));
                if let Some(size) = size {
                    assert_eq!(function.row(size.into()), row);
                }
            }
        }
        assert!(seen.into_iter().all(|s| s));
    }

    #[test]
    fn an_unlisted_size_is_not_counted_as_another() {
        let rsa = Function::RsaCrt;
        assert_ne!(rsa.row(2047), rsa.row(2048));
        assert_ne!(rsa.row(3072), rsa.row(2048));
        assert_eq!(rsa.row(2047), rsa.row(1536));
    }

    #[test]
    fn names_find_their_function() {
        for &function in Function::ALL {
            assert_eq!(Function::from_name(function.info().name), Some(function));
            assert_eq!(Function::from_name(function.info().stats_name), Some(function));
        }
    }
}
