//! What a run of the program says on standard error, and what it leaves behind.

use std::path::Path;
use std::process::Output;

/// Standard error.
pub fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Processes that have to do with a folder, and what is in it.
pub fn left(temporary: &Path) -> Vec<String> {
    let folder = temporary.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
        let line = String::from_utf8_lossy(&std::fs::read(process.path().join("cmdline")).ok()?).replace('\0', " ");
        line.contains(folder).then_some(line)
    });
    let files = std::fs::read_dir(temporary).unwrap().flatten().map(|file| file.path().display().to_string());
    processes.chain(files).collect()
}
