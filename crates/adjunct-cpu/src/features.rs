//! What this CPU has, less what `ADJUNCT_CPU` takes away.
//!
//! `ADJUNCT_CPU=-vaes,-aes` takes instructions away from the code that runs, the CPU library's included: the mask is written into the words its
//! dispatchers read, and detection reads the same words back. So a feature reported absent here is not executed, no matter what removed it
//! (`ADJUNCT_CPU`, `OPENSSL_ia32cap`, the hypervisor or the operating system).

use super::awslc::caps;
use adjunct_base::catalogue::{Arch, Feature, HERE, LANES};
use adjunct_base::environment::secure_env;
use adjunct_base::error::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The set of features in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    present: u64,
    masked: u64,
}

impl Features {
    /// Whether the code that runs may use `feature`.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        self.present & (1 << feature as u32) != 0
    }

    /// Whether the machine has `feature` and `ADJUNCT_CPU` took it away.
    #[inline]
    pub const fn masked(self, feature: Feature) -> bool {
        self.masked & (1 << feature as u32) != 0
    }

    /// The features in force, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&f| self.has(f))
    }
}

/// Whether instructions other than those of batches are masked, besides the mask of `ADJUNCT_CPU`.
static BATCHES_ONLY: AtomicBool = AtomicBool::new(false);

/// Takes every dedicated instruction away from this process but those of the accelerator's batches: for an interface in which only
/// cards are hardware. To be called before anything else is.
pub fn mask_all_but_batches() {
    BATCHES_ONLY.store(true, Ordering::Relaxed);
}

/// Whether only the accelerator's batches count as hardware here ([`mask_all_but_batches`]).
#[inline]
pub fn batches_only() -> bool {
    BATCHES_ONLY.load(Ordering::Relaxed)
}

/// Whether kernels in eight lanes run here: they take AVX-512 and its IFMA extension.
#[inline]
pub fn lanes() -> bool {
    features().has(Feature::Avx512) && features().has(Feature::Ifma)
}

/// The instructions that lanes of RSA's private operations run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RsaLanes {
    /// AVX-512 and its IFMA extension: eight lanes.
    Ifma,
    /// IFMA on vectors of 256 bits, without AVX-512: four lanes.
    AvxIfma,
    /// AVX2 and FMA: four lanes of double precision.
    Fma,
}

impl RsaLanes {
    /// The lanes of a batch.
    #[inline]
    pub const fn width(self) -> usize {
        match self {
            RsaLanes::Ifma => LANES,
            RsaLanes::AvxIfma | RsaLanes::Fma => 4,
        }
    }

    /// Whether these are dedicated instructions, which make a batch hardware.
    #[inline]
    pub const fn are_dedicated(self) -> bool {
        matches!(self, RsaLanes::Ifma | RsaLanes::AvxIfma)
    }

    /// The instructions, for reports.
    pub const fn text(self) -> &'static str {
        match self {
            RsaLanes::Ifma => "AVX-512 IFMA",
            RsaLanes::AvxIfma => "AVX-IFMA",
            RsaLanes::Fma => "AVX2 and FMA",
        }
    }
}

/// The lanes of RSA's private operations here; `None` where there are none.
pub fn rsa_lanes() -> Option<RsaLanes> {
    static LANES: OnceLock<Option<RsaLanes>> = OnceLock::new();
    *LANES.get_or_init(|| {
        let has = |feature| features().has(feature);
        if lanes() {
            Some(RsaLanes::Ifma)
        } else if has(Feature::AvxIfma) {
            Some(RsaLanes::AvxIfma)
        } else if has(Feature::Avx2) && has(Feature::Fma) {
            Some(RsaLanes::Fma)
        } else {
            None
        }
    })
}

/// The features in force: detected once, on first use, after the mask of `ADJUNCT_CPU` has been applied.
pub fn features() -> Features {
    static FEATURES: OnceLock<Features> = OnceLock::new();
    *FEATURES.get_or_init(|| {
        let before = detect();
        let mut wanted = Vec::new();
        if BATCHES_ONLY.load(Ordering::Relaxed) {
            use Feature::{
                Aes, ArmAes, ArmPmull, ArmSha1, ArmSha3, ArmSha256, ArmSha512, Pclmul, Sha, Sha512, Vaes, Vpclmul,
            };
            let dedicated =
                [Aes, Vaes, Pclmul, Vpclmul, Sha, Sha512, ArmAes, ArmPmull, ArmSha1, ArmSha256, ArmSha512, ArmSha3];
            wanted.extend(here().filter(|f| dedicated.contains(f) || f.arch() == Arch::S390));
        }
        if let Some(value) = secure_env("ADJUNCT_CPU") {
            match parse_mask(&value) {
                Ok(mask) => wanted.extend(mask),
                Err(error) => adjunct_base::diag::warn(&format!("{error}; the mask is ignored")),
            }
        }
        for feature in wanted {
            let (word, bits) = feature.place();
            caps::clear(word, bits);
        }
        let present = detect();
        Features { present, masked: before & !present }
    })
}

/// Parses `-vaes,-aes`: the features to take away, with those that cannot stand without them (VAES without AES-NI).
///
/// # Errors
/// [`Error::UnknownWord`] with the names this architecture knows.
pub fn parse_mask(text: &str) -> Result<Vec<Feature>, Error> {
    let mut mask = Vec::new();
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let found = word.strip_prefix('-').and_then(|name| here().find(|f| f.name().eq_ignore_ascii_case(name)));
        let Some(feature) = found else {
            return Err(Error::UnknownWord {
                place: "ADJUNCT_CPU",
                word: word.to_owned(),
                known: here().map(|f| format!("-{}", f.name())).collect::<Vec<_>>().join(" "),
            });
        };
        mask.push(feature);
        mask.extend(dependents(feature));
    }
    Ok(mask)
}

fn here() -> impl Iterator<Item = Feature> {
    Feature::ALL.iter().copied().filter(|f| Some(f.arch()) == HERE)
}

fn dependents(feature: Feature) -> &'static [Feature] {
    use Feature::{Aes, Avx, Avx2, Avx512, AvxIfma, Fma, Ifma, Pclmul, Sha512, Vaes, Vpclmul};
    match feature {
        Aes => &[Vaes],
        Pclmul => &[Vpclmul],
        Avx => &[Avx2, Fma, Avx512, Ifma, Vaes, Vpclmul, AvxIfma, Sha512],
        Avx2 => &[Avx512, Ifma, Vaes, Vpclmul, AvxIfma, Sha512],
        Avx512 => &[Ifma],
        _ => &[],
    }
}

fn detect() -> u64 {
    let words = caps::read();
    let mut set = 0;
    for feature in here() {
        let (word, bits) = feature.place();
        if words[word] & bits == bits {
            set |= 1 << feature as u32;
        }
    }
    set
}

/// The level of the message-security assist, by the facilities that are installed: the highest extension's number, 1 for the assist alone, 0 without
/// it, as on every machine but IBM Z. Masked functions count.
pub fn msa_level() -> u32 {
    super::cpacf::host::level()
}

/// The CPU's own name, for reports.
pub fn model_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        text.lines().find_map(|l| {
            let (k, v) = l.split_once(':')?;
            (k.trim() == key).then(|| v.trim().to_owned())
        })
    };
    field("model name").or_else(|| field("Model")).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The features that are not masked are those of the standard library's detection, with the operating system's support for the registers.
    #[test]
    fn features_are_those_of_this_cpu() {
        use std::arch::is_x86_feature_detected as detected;
        if std::env::var_os("OPENSSL_ia32cap").is_some() {
            return println!("SKIPPED: OPENSSL_ia32cap takes away what the standard library sees");
        }
        let features = features();
        for (feature, here) in [
            (Feature::Avx2, detected!("avx2")),
            (Feature::Fma, detected!("fma")),
            (Feature::Bmi2, detected!("bmi2")),
            (Feature::Aes, detected!("aes")),
            (Feature::Ifma, detected!("avx512ifma")),
            (Feature::AvxIfma, detected!("avxifma")),
            (Feature::Sha512, detected!("sha512")),
        ] {
            assert_eq!(features.has(feature) || features.masked(feature), here, "{feature:?}");
        }
    }

    #[test]
    fn a_mask_names_features_and_what_stands_on_them() {
        assert_eq!(parse_mask(" -sha , ").unwrap(), [Feature::Sha]);
        assert_eq!(parse_mask("-aes").unwrap(), [Feature::Aes, Feature::Vaes]);
        assert_eq!(parse_mask("-fma,-avxifma,-sha512").unwrap(), [Feature::Fma, Feature::AvxIfma, Feature::Sha512]);
        let wide = parse_mask("-avx").unwrap();
        for feature in [Feature::Fma, Feature::Avx2, Feature::Ifma, Feature::AvxIfma, Feature::Sha512] {
            assert!(wide.contains(&feature), "{feature:?} takes the registers of AVX");
        }
        assert_eq!(parse_mask("").unwrap(), []);
        for bad in ["aes", "-nope", "--aes", "-"] {
            assert!(parse_mask(bad).unwrap_err().to_string().contains("-vaes"), "{bad}");
        }
    }
}
