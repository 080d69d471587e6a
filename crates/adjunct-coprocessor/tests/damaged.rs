//! Files that were damaged at random places: states, vaults and audit logs, those that fuzzing begins with. Nothing panics.

use std::path::Path;

#[test]
fn damaged_files_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/coprocessor");
    let (mut number, mut seeds) = (1_u64, 0);
    let mut random = |below: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as usize % below
    };
    for entry in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        adjunct_coprocessor::fuzz(&seed);
        seeds += 1;
        for _ in 0..500 {
            let mut bytes = seed.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(4) {
                    0 => bytes.truncate(at + 1),
                    1 => bytes[at] = random(256) as u8,
                    2 => bytes[at] ^= 1 << random(8),
                    _ => bytes.extend_from_within(at..bytes.len().min(at + 40)),
                }
            }
            adjunct_coprocessor::fuzz(&bytes);
        }
    }
    assert!(seeds >= 4);
}
