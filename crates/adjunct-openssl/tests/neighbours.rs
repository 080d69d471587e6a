//! Programs that bring a provider of their own find what they found before adjunct was enabled: each scenario of `neighbours/program.c`
//! runs under a configuration that activates nothing, as Debian's, and under the same with adjunct's lines.

mod foreign;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A folder with `foreign.so`, the programs and the two configurations.
struct Place {
    folder: tempfile::TempDir,
    program: PathBuf,
    asking: PathBuf,
    looking: PathBuf,
}

fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::copy(foreign::compile_library("neighbours/provider.c", "foreign.so"), folder.path().join("foreign.so"))
            .expect("the provider is copied");
        let stock = "openssl_conf = main\n[main]\nproviders = providers\n[providers]\ndefault = stock\n[stock]\n";
        std::fs::write(folder.path().join("stock.cnf"), stock).expect("a configuration");
        let with_adjunct = format!(
            "{stock}[main]\nalg_section = query\nrandom = generator\n[providers]\nadjunct = ours\n[stock]\nactivate = 1\n[ours]\n\
             module = {}\nactivate = 1\nyield = yes\n[query]\ndefault_properties = ?provider=adjunct\n[generator]\n\
             properties = adjunct.own!=yes\n",
            foreign::module().display()
        );
        std::fs::write(folder.path().join("adjunct.cnf"), with_adjunct).expect("a configuration");
        Place {
            folder,
            program: foreign::compile("neighbours"),
            asking: foreign::compile_with("neighbours", "neighbours-asking", &["-DASKS"]),
            looking: foreign::compile_with("neighbours", "neighbours-looking", &["-DLOOKS"]),
        }
    })
}

fn run(program: &Path, configuration: &str, scenario: &str) -> String {
    let folder = place().folder.path();
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).arg(scenario);
    command.env("OPENSSL_CONF", folder.join(configuration)).env("OPENSSL_MODULES", folder);
    if scenario.contains("legacy") {
        // OpenSSL's own folder has it.
        command.env_remove("OPENSSL_MODULES");
    }
    let output = command.output().expect("the program runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{scenario}, {configuration}: {}: {out}{err}", output.status);
    out.into_owned()
}

/// Runs a scenario with and without adjunct, which has to find the same, but adjunct in place of `default` wherever that is found; gives what it
/// finds with adjunct.
fn same(scenario: &str) -> String {
    let (stock, ours) = (run(&place().program, "stock.cnf", scenario), run(&place().program, "adjunct.cnf", scenario));
    assert_eq!(ours.replace(": adjunct", ": default"), stock, "{scenario}");
    ours
}

#[test]
fn a_provider_that_the_program_loads_first_serves_it_alone() {
    for scenario in ["foreign", "own context", "foreign, fork", "foreign, walk"] {
        let found = same(scenario);
        assert!(found.contains("SHA256: foreign\n") && found.contains("SHA512: nobody's\n"), "{scenario}: {found}");
        assert_eq!(found.contains("adjunct"), scenario == "own context", "{scenario}: {found}");
    }
}

#[test]
fn default_loaded_after_it_serves_the_rest() {
    for scenario in ["foreign, default", "foreign, search, default"] {
        let found = same(scenario);
        assert!(found.contains("SHA256: foreign\n") && found.contains("SHA512: default\n"), "{scenario}: {found}");
        assert!(!found.contains("adjunct"), "{found}");
    }
}

#[test]
fn who_has_default_before_it_has_adjunct() {
    for scenario in ["none", "default, foreign", "search, foreign", "legacy, default"] {
        let found = same(scenario);
        assert!(found.contains("SHA256: adjunct\n") && found.contains("EC: adjunct\n"), "{scenario}: {found}");
    }
}

#[test]
fn who_asks_for_a_provider_beside_default_has_both() {
    let [stock, ours] = ["stock.cnf", "adjunct.cnf"].map(|conf| run(&place().asking, conf, "beside"));
    assert!(ours.contains("SHA512: adjunct\n"), "{ours}");
    assert_eq!(ours.replace(": adjunct", ": default"), stock);
}

/// OpenSSL loads `default` for the question which providers there are, so that it may not be taken away.
#[test]
fn who_looks_at_providers_keeps_default() {
    let [stock, ours] = ["stock.cnf", "adjunct.cnf"].map(|conf| run(&place().looking, conf, "available"));
    assert!(ours.contains("SHA512: default\n") && ours.contains("FOREIGN: foreign\n"), "{ours}");
    assert_eq!(ours, stock);
}

/// A program's own default query stays, so that `default` cannot be hidden by adjunct's.
#[test]
fn a_program_with_a_query_of_its_own_keeps_it() {
    let found = run(&place().program, "adjunct.cnf", "foreign, own query");
    assert!(found.contains("SHA256: foreign\n") && found.contains("SHA512: default\n"), "{found}");
}

/// In a program with threads, too, `default` stays for what the program's provider lacks.
#[test]
fn threads_that_search_first_together_find_the_same() {
    for _ in 0..if std::env::var_os("ADJUNCT_DEEP").is_some() { 2000 } else { 50 } {
        run(&place().program, "adjunct.cnf", "threads");
    }
}

#[test]
fn library_contexts_come_and_go() {
    for scenario in ["many contexts", "exit", "foreign, unloaded"] {
        run(&place().program, "adjunct.cnf", scenario);
    }
}
