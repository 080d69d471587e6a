//! The Armv8 crypto extension: that it is found, that what it serves is counted as hardware, and that it computes what the
//! plain code does.

#![cfg(target_arch = "aarch64")]

mod runner;

use adjunct::InOut;
use adjunct::catalogue::Feature;
use adjunct::catalogue::Function;
use adjunct::catalogue::Path;
use adjunct::cpu;
use adjunct::ops::choice::path;
use adjunct_cpu::cipher::gcm::Gcm;
use adjunct_cpu::digest::{Digest, Method};

const EXTENSION: [Feature; 6] =
    [Feature::ArmAes, Feature::ArmPmull, Feature::ArmSha1, Feature::ArmSha256, Feature::ArmSha512, Feature::ArmSha3];

const NEEDS: [(Function, Feature); 10] = [
    (Function::AesCbc, Feature::ArmAes),
    (Function::AesCtr, Feature::ArmAes),
    (Function::AesXts, Feature::ArmAes),
    (Function::AesCmac, Feature::ArmAes),
    (Function::AesGcm, Feature::ArmPmull),
    (Function::Sha1, Feature::ArmSha1),
    (Function::Sha256, Feature::ArmSha256),
    (Function::Sha512, Feature::ArmSha512),
    (Function::Sha3_256, Feature::ArmSha3),
    (Function::HmacSha3, Feature::ArmSha3),
];

/// What the kernel says of the processor (<asm/hwcap.h>).
fn kernel_has(feature: Feature) -> bool {
    let bit = match feature {
        Feature::ArmAes => 3,
        Feature::ArmPmull => 4,
        Feature::ArmSha1 => 5,
        Feature::ArmSha256 => 6,
        Feature::ArmSha3 => 17,
        _ => 21,
    };
    // SAFETY: reads the process's auxiliary vector.
    unsafe { libc::getauxval(libc::AT_HWCAP) >> bit & 1 == 1 }
}

#[test]
fn what_the_kernel_reports_is_found_and_served_in_hardware() {
    let mask = std::env::var("ADJUNCT_CPU").unwrap_or_default();
    let has =
        |feature: Feature| kernel_has(feature) && !mask.split(',').any(|word| word == format!("-{}", feature.name()));
    for feature in EXTENSION {
        assert_eq!(cpu::features().has(feature), has(feature), "{}", feature.name());
        assert!(!runner::emulated() || kernel_has(feature), "qemu's highest model has {}", feature.name());
    }
    for (function, feature) in NEEDS {
        let by_design = feature == Feature::ArmSha3 && adjunct_cpu::neoverse();
        let aes = function != Function::AesGcm || has(Feature::ArmAes);
        assert_eq!(path(function, 256) == Path::Hardware, has(feature) && aes && !by_design, "{function:?}");
    }
}

/// A value over all that the extension computes here, for messages of many lengths.
fn value() -> Vec<u8> {
    let text: Vec<u8> = (0..2000u32).map(|i| ((i * i) >> 3) as u8).collect();
    let mut all = Vec::new();
    for name in ["SHA1", "SHA2-256", "SHA2-512", "SHA3-256"] {
        let method = Method::from_name(name).expect("a digest");
        for length in [0, 1, 63, 64, 111, 136, 1999] {
            let mut digest = Digest::new(method);
            digest.update(&text[..length]);
            let mut out = vec![0; method.size];
            digest.finish(&mut out);
            all.extend(out);
        }
    }
    for length in [0, 1, 16, 100, 256, 2000] {
        let mut gcm = Gcm::default();
        gcm.set_key(&text[..32]).expect("a key");
        gcm.set_iv(&text[..12]);
        gcm.aad(&text[..20]).expect("data");
        let mut message = text[..length].to_vec();
        gcm.encrypt(InOut::in_place(&mut message)).expect("text");
        all.extend(message);
        all.extend(gcm.tag());
    }
    all
}

#[test]
#[ignore = "the part that the test below plays with instructions masked"]
fn player() {
    let hex: String = value().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("value {hex}");
}

#[test]
fn plain_code_gives_the_same() {
    let said = |mask: &str| {
        let output = runner::itself()
            .args(["--exact", "player", "--ignored", "--nocapture", "-q"])
            .env("ADJUNCT_CPU", mask)
            .output()
            .expect("this program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find_map(|line| line.strip_prefix("value ")).expect("a value").to_owned()
    };
    let with = said("");
    for feature in EXTENSION {
        assert_eq!(said(&format!("-{}", feature.name())), with, "{}", feature.name());
    }
    assert_eq!(said("-aes,-pmull,-sha1,-sha256,-sha512,-sha3"), with);
}
