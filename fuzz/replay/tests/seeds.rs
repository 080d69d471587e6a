//! Every fuzz target on its seeds. `fuzz/run`, and `./check deep fuzz`, fuzz them.

#![allow(
    missing_docs,
    clippy::duplicate_mod,
    reason = "the fuzz targets are programs, each with what they share in it"
)]

#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/algorithms.rs"]
mod algorithms;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/arguments.rs"]
mod arguments;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/cards.rs"]
mod cards;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/cca_call.rs"]
mod cca_call;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/coprocessor.rs"]
mod coprocessor;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/cpu_mask.rs"]
mod cpu_mask;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/environment.rs"]
mod environment;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ep11_admin.rs"]
mod ep11_admin;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ep11_call.rs"]
mod ep11_call;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ica_aead.rs"]
mod ica_aead;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ica_cipher.rs"]
mod ica_cipher;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ica_ec.rs"]
mod ica_ec;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ica_hash_mac.rs"]
mod ica_hash_mac;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ica_library.rs"]
mod ica_library;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ica_rsa.rs"]
mod ica_rsa;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/java_files.rs"]
mod java_files;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/key_files.rs"]
mod key_files;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/openssl_cnf.rs"]
mod openssl_cnf;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/params.rs"]
mod params;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/pkcs11.rs"]
mod pkcs11;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/pkcs11_blobs.rs"]
mod pkcs11_blobs;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/programs.rs"]
mod programs;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/references.rs"]
mod references;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ssh_config.rs"]
mod ssh_config;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ssh_log.rs"]
mod ssh_log;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/ssh_policy.rs"]
mod ssh_policy;
#[allow(unused_attributes, reason = "a program of its own where it is fuzzed")]
#[path = "../../fuzz_targets/token_store.rs"]
mod token_store;

/// A target that was added is to be listed above.
#[test]
fn every_target_is_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz_targets");
    let here = include_str!("seeds.rs");
    for entry in std::fs::read_dir(folder).expect("the targets").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        assert!(entry.path().is_dir() || here.contains(&format!("fuzz_targets/{name}\"")), "{name} is missing");
    }
}
