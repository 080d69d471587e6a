//! The manual pages of section 3: made of their sources and the header, complete, and clean for both formatters.

#![cfg(target_os = "linux")]

mod common;

use common::{here, run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the pages.
fn made() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ica-man3");
        _ = std::fs::remove_dir_all(&folder);
        run(Command::new(here().join("man/make")).arg("2026-11-25").arg(&folder));
        folder
    })
}

/// The pages themselves, without the links: their names and texts.
fn pages() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(made()).expect("a folder").map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a name");
            (name, std::fs::read_to_string(entry.path()).expect("a page"))
        })
        .collect()
}

/// The names that a page is about.
fn names(page: &str) -> Vec<&str> {
    let section = page.split(".Sh NAME\n").nth(1).and_then(|rest| rest.split("\n.Nd").next()).expect("NAME");
    section.lines().filter_map(|line| line.strip_prefix(".Nm ")?.split(' ').next()).collect()
}

/// What the libraries export (tests/symbols.rs holds that list against them).
fn exported() -> BTreeSet<&'static str> {
    let lines = include_str!("../symbols.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split([' ', '@']).nth(1).expect("a name")).collect()
}

#[test]
fn every_exported_symbol_has_a_page_and_no_other_name_has() {
    let pages = pages();
    let all: Vec<&str> = pages.values().flat_map(|page| names(page)).filter(|&name| name != "libica").collect();
    let once: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), once.len(), "a name is on two pages");
    assert_eq!(once, exported());
    for name in once {
        assert!(made().join(format!("{name}.3")).exists(), "man 3 {name} finds nothing");
    }
}

/// An argument's name in a prototype: `const unsigned char priv[32]`.
fn argument(declared: &str) -> &str {
    let bare = declared.split('[').next().unwrap_or_default();
    bare.rsplit([' ', '*']).next().unwrap_or_default()
}

#[test]
fn each_page_names_every_argument_of_its_functions_and_no_other() {
    for (file, page) in pages() {
        let (synopsis, text) = page.split_once(".Sh DESCRIPTION\n").expect("DESCRIPTION");
        let quoted = synopsis.lines().filter_map(|line| line.strip_prefix(".Fa \"")?.strip_suffix('"'));
        let mut wanted: BTreeSet<&str> = quoted.filter(|&declared| declared != "void").map(argument).collect();
        let lines = text.lines().filter(|line| line.contains("Fa "));
        let named: BTreeSet<&str> =
            lines.flat_map(|line| line.split("Fa ").skip(1)).filter_map(|rest| rest.split(' ').next()).collect();
        assert_eq!(named.difference(&wanted).collect::<Vec<_>>(), Vec::<&&str>::new(), "{file}: no such argument");
        wanted.retain(|name| !named.contains(name));
        assert!(wanted.is_empty(), "{file} does not say what {wanted:?} is");
    }
}

#[test]
fn each_page_has_the_sections_of_a_manual_in_their_order() {
    for (file, page) in pages() {
        let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".Sh ")).collect();
        let known =
            ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUES", "ENVIRONMENT", "SEE ALSO", "STANDARDS"].as_slice();
        let places: Vec<_> = sections.iter().map(|section| known.iter().position(|name| name == section)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{file}: {sections:?}");
        for needed in ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUES", "SEE ALSO"] {
            assert!(sections.contains(&needed), "{file} has no {needed}");
        }
        // Of ours, each page that it refers to is there.
        for line in page.lines().filter_map(|line| line.strip_prefix(".Xr ")) {
            let mut words = line.split(' ');
            if let (Some(name), Some("3")) = (words.next(), words.next()) {
                assert!(made().join(format!("{name}.3")).exists(), "{file} refers to {name}(3)");
            }
        }
    }
}

/// Whether a command is here; what is not is said.
fn there(command: &str) -> bool {
    let there = Command::new("sh").args(["-c", "command -v \"$0\" >/dev/null", command]).status();
    let there = there.is_ok_and(|status| status.success());
    if !there {
        println!("SKIPPED: no {command} here");
    }
    there
}

#[test]
fn both_formatters_take_the_pages_without_a_warning() {
    let paths: Vec<_> = pages().into_keys().map(|name| made().join(name)).collect();
    if there("mandoc") {
        run(Command::new("mandoc").args(["-Tlint", "-Wwarning"]).args(&paths));
    }
    if there("groff") {
        for path in paths {
            let output = Command::new("groff").args(["-mandoc", "-ww", "-Tutf8"]).arg(&path).output().expect("groff");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{}: {said}", path.display());
        }
    }
}

#[test]
fn bad_input_gets_one_line() {
    for arguments in [&["today", "out"][..], &["2026-11-25"]] {
        let output = Command::new(here().join("man/make")).args(arguments).output().expect("make");
        assert_eq!(output.status.code(), Some(2));
        assert!(!output.stderr.is_empty());
    }
}
