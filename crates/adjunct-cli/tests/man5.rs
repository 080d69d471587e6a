//! The manual pages of files (docs/man): each names every key that the file's parser knows, and both formatters take them.

use adjunct::config::{Group, Setting, engine_methods};
use adjunct_card_state::config::Config;
use adjunct_card_state::machine::Mode;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: [&str; 3] = ["cards.conf", "tokens.conf", "adjunct-openssl.cnf"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/man/{name}.5"))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// The keys that a page describes: the words of its entries.
fn described(page: &str) -> BTreeSet<String> {
    let entries = page.lines().filter_map(|line| line.strip_prefix(".It Ic "));
    entries.flat_map(|entry| entry.split(" , Ic ")).map(|word| word.trim().to_owned()).collect()
}

/// The keys that a parser of TOML says it knows, once it has met one that it does not.
fn known(error: &str) -> BTreeSet<String> {
    let list = error.split_once(": unknown field `unknown`, expected ").unwrap_or_else(|| panic!("{error}")).1;
    let words: BTreeSet<String> = list.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!words.is_empty(), "{error}");
    words
}

#[test]
fn the_page_of_cards_conf_has_each_key_of_the_parser_and_no_other() {
    let wrong = |text: &str| Config::parse(text, &Mode::ALL).unwrap_err();
    let mut keys = known(&wrong("unknown = 1\n"));
    keys.extend(known(&wrong("[[card]]\nid = 0\nunknown = 1\n")));
    assert!(keys.len() > 10 && keys.contains("without-lanes") && keys.contains("mode-bits"), "{keys:?}");
    let page = page("cards.conf");
    assert_eq!(described(&page), keys);
    for mode in Mode::ALL {
        assert!(page.contains(mode.word()), "{}", mode.word());
    }
}

#[test]
fn the_page_of_tokens_conf_has_each_key_of_the_parser_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    let wrong = |text: &str| {
        let file = home.path().join("tokens.conf");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
        command.args(["token", "explain"]).env("HOME", home.path()).env("ADJUNCT_PKCS11_CONF", &file);
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        // It says what is wrong in one line.
        said.lines()
            .find(|line| line.starts_with("problem  configuration"))
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    };
    let mut keys = known(&wrong("unknown = 1\n"));
    keys.extend(known(&wrong("[[token]]\nslot = 4\npath = \"/a/b\"\nunknown = 1\n")));
    assert!(keys.len() > 5 && keys.contains("read-only") && keys.contains("slots"), "{keys:?}");
    assert_eq!(described(&page("tokens.conf")), keys);
}

#[test]
fn the_page_of_the_providers_section_has_each_setting_with_its_words() {
    let page = page("adjunct-openssl.cnf");
    let mut settings: BTreeSet<String> = Setting::ALL.map(|setting| setting.name().to_owned()).into();
    settings.extend(["identity", "module", "activate"].map(str::to_owned));
    assert_eq!(described(&page), settings);
    let words = Group::ALL.iter().map(|(_, word)| *word).chain(engine_methods::ALL.iter().map(|(_, word)| *word));
    for word in words {
        let is_entry = |line: &str| line.split([' ', ',']).any(|part| part == word);
        assert!(page.lines().any(|line| line.starts_with(".It Li") && is_entry(line)), "no entry of {word}");
    }
}

#[test]
fn both_formatters_take_the_pages_without_a_warning() {
    for name in PAGES {
        for (command, options) in
            [("mandoc", &["-Tlint", "-Wwarning"][..]), ("groff", &["-mandoc", "-ww", "-Tutf8", "-Z"][..])]
        {
            let Ok(output) = Command::new(command).args(options).arg(path(name)).output() else {
                println!("SKIPPED: no {command} here");
                continue;
            };
            let said = String::from_utf8_lossy(&output.stderr);
            let lint = if command == "mandoc" { String::from_utf8_lossy(&output.stdout) } else { "".into() };
            assert!(output.status.success() && said.is_empty() && lint.is_empty(), "{command} {name}: {said}{lint}");
        }
    }
}

/// What a page refers to is there: another of these, or a page that the command makes.
#[test]
fn pages_refer_to_pages_that_are_there() {
    let made = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_adjunct")).arg("man").arg(made.path()).status().unwrap();
    assert!(status.success());
    for name in PAGES {
        for line in page(name).lines().filter_map(|line| line.strip_prefix(".Xr ")) {
            let mut words = line.split(' ');
            if let (Some(page), Some("1")) = (words.next(), words.next()) {
                assert!(made.path().join(format!("{page}.1")).exists(), "{name}(5) refers to {page}(1)");
            }
        }
    }
}
