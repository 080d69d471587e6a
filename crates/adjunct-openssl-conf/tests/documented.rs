//! What docs/openssl.md says that `enable` writes is what it writes.

use adjunct_openssl_conf::{NoIncludes, Options, enable};

#[test]
fn the_lines_by_hand_are_those_of_enable() {
    let page = include_str!("../../../docs/openssl.md");
    let section = page.split_once("\n### By hand\n").expect("the section").1;
    let code = section.lines().skip_while(|line| !line.starts_with("    ")).map_while(|line| line.strip_prefix("    "));
    let printed: Vec<&str> = code.collect();
    let module = "/usr/lib/x86_64-linux-gnu/ossl-modules/adjunct.so";
    let options = Options::new(module, None).with_engine(Some("auto")).with_node(true);
    let written = String::from_utf8(enable(b"", &options, &NoIncludes).expect("enabled")).expect("text");
    let written: Vec<&str> = written.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(printed, written);
}
