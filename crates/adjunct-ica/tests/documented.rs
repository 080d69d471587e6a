//! The documentation names every symbol of the interface, once, in the table that says what it is tested against.

#[test]
fn the_table_has_every_symbol_once_and_no_other() {
    let symbol = |word: &&str| word.starts_with("ica_") || word.starts_with("ICA_DRBG");
    let map = include_str!("../libica.map").split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut exported: Vec<&str> = map.filter(symbol).collect();
    exported.sort_unstable();
    let table = include_str!("../../../docs/ica.md").split("\n## Every function").nth(1).expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let functions = rows.map(|row| row.split('|').nth(1).expect("a first column"));
    let mut listed: Vec<&str> = functions.flat_map(|names| names.split('`')).filter(symbol).collect();
    listed.sort_unstable();
    assert_eq!(listed, exported);
    assert!(exported.len() > 120);
}
