//! In place of the crate `libfuzzer-sys`: its macro `fuzz_target!` becomes an ordinary test that runs the target on its seeds, and
//! on what fuzzing on this machine has kept and found (`fuzz/corpus`, `fuzz/artifacts`).

pub use arbitrary;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Runs `target` on every input there is for the fuzz target in the module `module`, and on none at all. One target at a time:
/// some change settings of the process, as they may where each is a program.
///
/// # Panics
/// Where the target does: the message is preceded by the file it fails on. Where there are no seeds.
pub fn replay(module: &str, target: impl Fn(&[u8])) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let name = module.rsplit("::").next().unwrap_or(module);
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder fuzz");
    let seeds = files(&fuzz.join("seeds").join(name));
    assert!(!seeds.is_empty(), "no seeds of {name}");
    target(&[]);
    for file in [seeds, files(&fuzz.join("corpus").join(name)), files(&fuzz.join("artifacts").join(name))].concat() {
        let input = std::fs::read(&file).expect("an input");
        // Seen only where the test fails.
        println!("{}", file.display());
        target(&input);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// As `libfuzzer_sys::fuzz_target!`: a target of bytes, or of values made of bytes as the fuzzer makes them.
#[macro_export]
macro_rules! fuzz_target {
    (init: $init:expr, |$data:ident: &[u8]| $body:expr) => {
        #[test]
        fn seeds() {
            $init;
            $crate::replay(module_path!(), |$data: &[u8]| $body);
        }
    };
    (|$data:ident: &[u8]| $body:expr) => {
        #[test]
        fn seeds() {
            $crate::replay(module_path!(), |$data: &[u8]| $body);
        }
    };
    (|$data:ident: $kind:ty| $body:expr) => {
        #[test]
        fn seeds() {
            $crate::replay(module_path!(), |bytes: &[u8]| {
                let bytes = $crate::arbitrary::Unstructured::new(bytes);
                if let Ok($data) = <$kind as $crate::arbitrary::Arbitrary>::arbitrary_take_rest(bytes) {
                    $body
                }
            });
        }
    };
}
