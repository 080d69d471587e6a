//! Link flags of adjunct-panics: the modules' unwinder.
fn main() {
    let link = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/adjunct/link/unwind");
    println!("cargo:rustc-link-arg-bin=adjunct-panics=-L{link}");
    println!("cargo:rustc-link-arg-bin=adjunct-panics=-Wl,--wrap=_dl_find_object");
    println!("cargo:rerun-if-changed={link}");
    println!("cargo:rerun-if-changed=build.rs");
}
