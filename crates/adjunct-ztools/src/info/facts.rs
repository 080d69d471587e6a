//! What `info` reports, as plain values: made from the core once, then only rendered.

use adjunct::catalogue::Feature;
use adjunct::catalogue::Path;
use adjunct::catalogue::{Arch, Function, HERE, Software};
use adjunct::cpu::{self, Features, RsaLanes};
use adjunct::ops::choice as route;
use adjunct::ops::choice::Served;
use serde::Serialize;

/// The facts that `info` knows of a machine.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// The CPU's own name.
    pub cpu: String,
    /// The architecture, as `uname -m` names it.
    pub architecture: &'static str,
    /// The instruction sets in force, in the vendor's spelling.
    pub instructions: Vec<&'static str>,
    /// Instruction sets that the machine has and `ADJUNCT_CPU` takes away.
    pub masked: Vec<&'static str>,
    /// Instruction sets of this architecture that the CPU lacks, or that something outside adjunct hides.
    pub missing: Vec<&'static str>,
    /// The consequences of a missing instruction set, one line each.
    pub notes: Vec<String>,
    /// The lanes for private-key operations that are asked for at the same time; null where there are none.
    pub lanes: Option<LanesFacts>,
    /// Every function, those the Z tools know first and in their order.
    pub functions: Vec<FunctionFacts>,
    /// The elliptic curves.
    pub curves: Vec<Curve>,
}

/// The instructions that batches of private-key operations run on.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LanesFacts {
    /// The instructions.
    pub instructions: &'static str,
    /// The most operations of a batch of RSA.
    pub width: usize,
    /// Whether the lanes have dedicated instructions, so that batches are hardware.
    pub hardware: bool,
    /// Whether elliptic curves have lanes, too.
    pub curves: bool,
}

/// The hardware or software that serves a function.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionFacts {
    /// The name in `icainfo`.
    pub function: &'static str,
    /// Whether dedicated instructions serve it, at least for some key sizes.
    pub hardware: bool,
    /// Whether operations that several threads ask for at the same time are served by batches, which stand for a card.
    pub batches: bool,
    /// Whether batches serve operations of asynchronous jobs.
    pub batches_of_jobs: bool,
    /// Instruction sets that do the function's work; empty where it is software.
    pub instructions: Vec<&'static str>,
    /// The key sizes in bits that run in hardware, where not all do.
    pub hardware_sizes: Option<Vec<u16>>,
    /// The instructions that would make it hardware on this architecture; empty where there are none.
    pub needs: Vec<&'static str>,
    /// Why the function is software; `None` where it is hardware.
    pub reason: Option<&'static str>,
    /// Why, in words; empty where it is hardware.
    #[serde(skip)]
    pub reason_text: &'static str,
    /// The library its software comes from.
    pub software: &'static str,
}

/// The hardware or software that serves an elliptic curve.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Curve {
    /// OpenSSL's short name.
    pub curve: &'static str,
    /// Whether dedicated instructions serve it, one operation at a time.
    pub hardware: bool,
    /// Whether batches do.
    pub batches: bool,
    /// The library its software comes from.
    pub software: &'static str,
    /// The function that stands for what it is used for.
    #[serde(skip)]
    pub(super) function: Function,
    /// Whether libica has it.
    #[serde(skip)]
    pub(super) z: bool,
}

impl Facts {
    /// The facts of the machine this runs on.
    pub fn of_this_machine() -> Facts {
        let features = cpu::features();
        let mine = |f: &Feature| Some(f.arch()) == HERE;
        let list = |keep: &dyn Fn(Feature) -> bool| {
            Feature::ALL.iter().copied().filter(mine).filter(|&f| keep(f)).map(Feature::text).collect()
        };
        route::from_environment();
        Facts {
            cpu: cpu::model_name(),
            architecture: std::env::consts::ARCH,
            instructions: list(&|f| features.has(f)),
            masked: list(&|f| features.masked(f)),
            missing: list(&|f| !features.has(f) && !features.masked(f)),
            notes: notes(features),
            lanes: cpu::rsa_lanes().map(|lanes| LanesFacts {
                instructions: lanes.text(),
                width: lanes.width(),
                hardware: lanes.are_dedicated(),
                curves: lanes == RsaLanes::Ifma,
            }),
            functions: Function::ALL.iter().map(|&f| FunctionFacts::of(f, features)).collect(),
            curves: CURVES.iter().map(Curve::of).collect(),
        }
    }
}

/// The curves by OpenSSL's short name, those of `icainfo` first and in its order; a function that stands for each, the key size by
/// which hardware knows it (none for a curve without), and who computes on it.
const CURVES: &[(&str, Function, Option<usize>, Software)] = &[
    ("prime192v1", Function::Ecdh, None, Software::AwsLc),
    ("secp224r1", Function::Ecdh, None, Software::AwsLc),
    ("prime256v1", Function::Ecdh, Some(256), Software::AwsLc),
    ("secp384r1", Function::Ecdh, Some(384), Software::AwsLc),
    ("secp521r1", Function::Ecdh, Some(521), Software::AwsLc),
    ("brainpoolP160r1", Function::Ecdh, None, Software::AwsLc),
    ("brainpoolP192r1", Function::Ecdh, None, Software::AwsLc),
    ("brainpoolP224r1", Function::Ecdh, None, Software::AwsLc),
    ("brainpoolP256r1", Function::Ecdh, None, Software::AwsLc),
    ("brainpoolP320r1", Function::Ecdh, None, Software::AwsLc),
    ("brainpoolP384r1", Function::Ecdh, None, Software::AwsLc),
    ("brainpoolP512r1", Function::Ecdh, None, Software::AwsLc),
    ("ED25519", Function::Ed25519Sign, Some(0), Software::AwsLc),
    ("ED448", Function::Ed448Sign, Some(0), Software::OpenSsl),
    ("X25519", Function::X25519Derive, Some(0), Software::AwsLc),
    ("X448", Function::X448Derive, Some(0), Software::OpenSsl),
    (NOT_ON_Z, Function::Ecdh, None, Software::OpenSsl),
];

/// The curve that libica does not have.
const NOT_ON_Z: &str = "secp256k1";

impl Curve {
    fn of(&(curve, function, bits, software): &(&'static str, Function, Option<usize>, Software)) -> Curve {
        let none = Served { instructions: false, batches: false, jobs: false };
        let served = bits.map_or(none, |bits| route::served(function, bits));
        let (hardware, batches) = (served.instructions, served.batches);
        Curve { curve, hardware, batches, software: software.name(), function, z: curve != NOT_ON_Z }
    }
}

impl FunctionFacts {
    fn of(function: Function, features: Features) -> FunctionFacts {
        let info = function.info();
        let needs = match route::instructions(function) {
            [] if HERE == Some(Arch::X86) => function.batch_instructions(0),
            needs => needs,
        };
        let (path, served) = (route::path(function, 0), route::served(function, 0));
        let hardware = path == Path::Hardware;
        let in_hardware = |&bits: &u16| route::path(function, usize::from(bits)) == Path::Hardware;
        let sizes: Vec<u16> = info.sizes.iter().copied().filter(in_hardware).collect();
        let (reason, reason_text) = match path {
            Path::Hardware => (None, ""),
            Path::Software(reason) => (Some(reason.key()), reason.text()),
        };
        let used = needs.iter().chain(widest(function, features)).filter(|_| hardware);
        FunctionFacts {
            function: info.name,
            hardware,
            batches: served.batches,
            batches_of_jobs: served.jobs,
            instructions: used.map(|f| f.text()).collect(),
            hardware_sizes: (hardware && sizes.len() != info.sizes.len()).then_some(sizes),
            needs: needs.iter().map(|f| f.text()).collect(),
            reason,
            reason_text,
            software: info.software.name(),
        }
    }
}

/// The wider instructions for `function`, if the CPU has all that the kernels ask for: they dispatch on VAES, VPCLMULQDQ and AVX2 together, and use
/// 512 bits with AVX-512. CBC and CFB are wide only when decrypting.
fn widest(function: Function, features: Features) -> &'static [Feature] {
    let all = [Feature::Vaes, Feature::Vpclmul, Feature::Avx2].iter().all(|&f| features.has(f));
    match function {
        Function::AesGcm if all => &[Feature::Vaes, Feature::Vpclmul],
        Function::AesEcb | Function::AesCbc | Function::AesCfb | Function::AesCtr | Function::AesXts if all => {
            &[Feature::Vaes]
        }
        _ => &[],
    }
}

/// Notes about instructions that this machine lacks, and what it uses instead.
fn notes(features: Features) -> Vec<String> {
    if HERE != Some(Arch::X86) {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let mut note = |wanted: &[Feature], cost: &str| {
        let lacking: Vec<_> = wanted.iter().filter(|&&f| !features.has(f)).copied().collect();
        if lacking.is_empty() {
            return;
        }
        let names = lacking.iter().map(|f| f.text()).collect::<Vec<_>>().join(", ");
        let masked = lacking.iter().all(|&f| features.masked(f));
        let why = if masked { "masked by ADJUNCT_CPU" } else { "not in this CPU" };
        notes.push(format!("{names}: {why}; {cost}"));
    };
    if features.has(Feature::Aes) {
        let wide = [Feature::Vaes, Feature::Vpclmul, Feature::Avx2];
        if wide.iter().all(|&f| features.has(f)) {
            note(&[Feature::Avx512], "AES uses VAES on two blocks an instruction instead of four");
        } else {
            note(&wide, "AES uses AES-NI, one block an instruction instead of two or four");
        }
    } else {
        note(&[Feature::Aes], "all of AES is software");
    }
    note(&[Feature::Pclmul], "AES GCM is software");
    let (avx2, wide) = (features.has(Feature::Avx2) && features.has(Feature::Bmi2), features.has(Feature::Avx512));
    let code = |ours: &'static str| if avx2 { ours } else { "AWS-LC's code" };
    let by_avx2 = code("our code for AVX2 and BMI2");
    note(&[Feature::Sha], &format!("SHA-1, SHA-224 and SHA-256 are software, the latter two by {by_avx2}"));
    let by_avx512 = if wide { code("our code for AVX-512") } else { by_avx2 };
    note(&[Feature::Sha512], &format!("SHA-384 and SHA-512 are software, by {by_avx512}"));
    note(&[Feature::Avx512, Feature::Ifma], "RSA is software, and EC, X25519 and Ed25519 have no lanes");
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_agree_with_the_core() {
        let facts = Facts::of_this_machine();
        assert_eq!(facts.functions.len(), Function::ALL.len());
        for (row, &function) in facts.functions.iter().zip(Function::ALL) {
            assert_eq!(row.hardware, route::path(function, 0) == Path::Hardware, "{}", row.function);
            assert_eq!(row.hardware, row.reason.is_none());
            assert_eq!(row.hardware, !row.instructions.is_empty());
            for used in &row.instructions {
                assert!(facts.instructions.contains(used), "{} is not in force", used);
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn rsa_tells_which_sizes_are_hardware() {
        let facts = Facts::of_this_machine();
        let crt = facts.functions.iter().find(|f| f.function == "RSA CRT").unwrap();
        if crt.hardware {
            assert_eq!(crt.hardware_sizes.as_deref(), Some(&[2048, 3072, 4096][..]));
        }
    }
}
