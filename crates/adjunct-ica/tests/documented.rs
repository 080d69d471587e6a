//! The documentation names every symbol of the interface, once, in the table that says what it is tested against; and every one is in a
//! fuzz target.

use std::collections::BTreeSet;

fn symbols(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut symbols: Vec<_> = words.filter(|word| word.starts_with("ica_") || word.starts_with("ICA_DRBG")).collect();
    symbols.sort_unstable();
    symbols
}

#[test]
fn every_symbol_is_fuzzed() {
    let targets = [
        include_str!("../../../fuzz/fuzz_targets/ica_aead.rs"),
        include_str!("../../../fuzz/fuzz_targets/ica_cipher.rs"),
        include_str!("../../../fuzz/fuzz_targets/ica_ec.rs"),
        include_str!("../../../fuzz/fuzz_targets/ica_hash_mac.rs"),
        include_str!("../../../fuzz/fuzz_targets/ica_library.rs"),
        include_str!("../../../fuzz/fuzz_targets/ica_rsa.rs"),
    ];
    let called: BTreeSet<&str> = targets.iter().flat_map(|target| symbols(target)).collect();
    let missing: Vec<_> =
        symbols(include_str!("../libica.map")).into_iter().filter(|name| !called.contains(name)).collect();
    assert!(missing.is_empty(), "in no fuzz target: {missing:?}");
}

#[test]
fn the_table_has_every_symbol_once_and_no_other() {
    let exported = symbols(include_str!("../libica.map"));
    let table = include_str!("../../../docs/ica.md").split("\n## Every function").nth(1).expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let functions = rows.map(|row| row.split('|').nth(1).expect("a first column"));
    let named: String = functions.collect();
    assert_eq!(symbols(&named), exported);
    assert!(exported.len() > 120);
}
