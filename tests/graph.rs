//! The walls: crates depend on each other as ARCHITECTURE.md's table says, unsafe code is forbidden where it says so, and no feature opens one.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// A crate's row: what it depends on, and whether unsafe code is forbidden.
type Row = (BTreeSet<String>, bool);

/// The words between backticks.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn of_the_table(text: &str) -> BTreeMap<String, Row> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| crate | depends on |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, above, unsafe_code] = cells[..] else { panic!("{line}") };
            (name.trim_matches('`').to_owned(), (names(above), unsafe_code == "forbidden"))
        })
        .collect()
}

fn metadata(root: &Path) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn of_cargo(root: &Path) -> BTreeMap<String, Row> {
    let metadata = metadata(root);
    let packages = metadata["packages"].as_array().unwrap();
    let members: BTreeSet<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let row = |package: &Value| {
        let asked = package["dependencies"].as_array().unwrap().iter().filter(|asked| asked["kind"].is_null());
        let asked = asked.map(|asked| text(&asked["name"])).filter(|name| members.contains(name)).collect();
        let ships =
            |target: &&Value| ["lib", "staticlib", "cdylib", "bin"].iter().any(|kind| target["kind"][0] == *kind);
        let mut roots =
            package["targets"].as_array().unwrap().iter().filter(ships).map(|target| text(&target["src_path"]));
        let forbidden = roots.all(|path| std::fs::read_to_string(path).unwrap().contains("#![forbid(unsafe_code)]"));
        (asked, forbidden)
    };
    packages.iter().map(|package| (text(&package["name"]), row(package))).collect()
}

#[test]
fn the_graph_is_that_of_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table = of_the_table(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    let mut cargo = of_cargo(&root);
    // It has the fuzz targets as tests, and nothing else.
    cargo.remove("adjunct-fuzz-replay");
    for (name, (above, forbidden)) in &cargo {
        let above: Vec<&str> = above.iter().map(String::as_str).collect();
        println!("{name} -> {}{}", above.join(", "), if *forbidden { "; unsafe code is forbidden" } else { "" });
    }
    assert_eq!(cargo, table, "what Cargo says, and ARCHITECTURE.md");
}

/// The kernels have one for their tests alone, with which arithmetic goes wrong.
#[test]
fn no_feature_opens_a_wall() {
    let metadata = metadata(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let packages = metadata["packages"].as_array().unwrap().iter();
    let features = packages.flat_map(|package| {
        let names = package["features"].as_object().unwrap().keys();
        names.map(|feature| format!("{}/{feature}", text(&package["name"])))
    });
    assert_eq!(features.collect::<Vec<_>>(), ["adjunct-kernels/fault"]);
}
