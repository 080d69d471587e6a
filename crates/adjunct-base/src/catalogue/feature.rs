//! The instruction-set extensions that make functions hardware.

macro_rules! features {
    ($($variant:ident $name:literal $text:literal $arch:ident $word:literal $bits:expr;)*) => {
        /// An instruction-set extension that makes a function hardware, or that the software paths use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Feature { $(#[doc = $text] $variant),* }

        impl Feature {
            /// Every feature, of every architecture.
            pub const ALL: &[Feature] = &[$(Feature::$variant),*];
            /// The lower-case name, as `ADJUNCT_CPU` and `--json` use it.
            pub const fn name(self) -> &'static str { match self { $(Feature::$variant => $name),* } }
            /// The name in the vendor's spelling.
            pub const fn text(self) -> &'static str { match self { $(Feature::$variant => $text),* } }
            /// The architecture that has it.
            pub const fn arch(self) -> Arch { match self { $(Feature::$variant => Arch::$arch),* } }
            /// The word of the CPU library's capabilities that tells of it, and its bits there.
            pub const fn place(self) -> (usize, u32) { match self { $(Feature::$variant => ($word, $bits)),* } }
        }
    };
}

/// The architectures the catalogue speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arch {
    /// x86-64.
    X86,
    /// arm64.
    Arm,
    /// s390x: the instructions of the message-security assist. Which functions each has, its query says.
    S390,
}

/// The architecture this build runs on.
pub const HERE: Option<Arch> = if cfg!(target_arch = "x86_64") {
    Some(Arch::X86)
} else if cfg!(target_arch = "aarch64") {
    Some(Arch::Arm)
} else if cfg!(target_arch = "s390x") {
    Some(Arch::S390)
} else {
    None
};

// x86 words: 0 = leaf 1 EDX, 1 = leaf 1 ECX, 2 = leaf 7 EBX, 3 = leaf 7 ECX, 4 = leaf 7 subleaf 1 EAX. BMI2 stands for
// BMI1, too: no CPU has it alone. Arm: AWS-LC's ARMV8_* bits in word 0. S390: the
// number of the instruction as a bit of word 0.
features! {
    Ssse3 "ssse3" "SSSE3" X86 1 1 << 9;
    Avx "avx" "AVX" X86 1 1 << 28;
    Avx2 "avx2" "AVX2" X86 2 1 << 5;
    Fma "fma" "FMA" X86 1 1 << 12;
    Bmi2 "bmi2" "BMI2" X86 2 1 << 8 | 1 << 3;
    Adx "adx" "ADX" X86 2 1 << 19;
    Avx512 "avx512" "AVX-512" X86 2 0xC003_0000;
    Aes "aes" "AES-NI" X86 1 1 << 25;
    Pclmul "pclmul" "PCLMULQDQ" X86 1 1 << 1;
    Vaes "vaes" "VAES" X86 3 1 << 9;
    Vpclmul "vpclmul" "VPCLMULQDQ" X86 3 1 << 10;
    Sha "sha" "SHA-NI" X86 2 1 << 29;
    Ifma "ifma" "AVX-512 IFMA" X86 2 1 << 21;
    AvxIfma "avxifma" "AVX-IFMA" X86 4 1 << 23;
    Sha512 "sha512" "SHA512" X86 4 1 << 0;
    Rdrand "rdrand" "RDRAND" X86 1 1 << 30;
    ArmAes "aes" "ARMv8 AES" Arm 0 1 << 2;
    ArmPmull "pmull" "ARMv8 PMULL" Arm 0 1 << 5;
    ArmSha1 "sha1" "ARMv8 SHA1" Arm 0 1 << 3;
    ArmSha256 "sha256" "ARMv8 SHA256" Arm 0 1 << 4;
    ArmSha512 "sha512" "ARMv8 SHA512" Arm 0 1 << 6;
    ArmSha3 "sha3" "ARMv8 SHA3" Arm 0 1 << 11;
    ArmRng "rng" "ARMv8 RNDR" Arm 0 1 << 17;
    Km "km" "KM" S390 0 1 << 0;
    Kmc "kmc" "KMC" S390 0 1 << 1;
    Kmctr "kmctr" "KMCTR" S390 0 1 << 2;
    Kmf "kmf" "KMF" S390 0 1 << 3;
    Kmo "kmo" "KMO" S390 0 1 << 4;
    Kma "kma" "KMA" S390 0 1 << 5;
    Kmac "kmac" "KMAC" S390 0 1 << 6;
    Kimd "kimd" "KIMD" S390 0 1 << 7;
    Klmd "klmd" "KLMD" S390 0 1 << 8;
    Pcc "pcc" "PCC" S390 0 1 << 9;
    Prno "prno" "PRNO" S390 0 1 << 10;
    Kdsa "kdsa" "KDSA" S390 0 1 << 11;
}
