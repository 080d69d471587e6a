//! Link flags of the provider module; the core has the flags, which are the same for every module.
fn main() {
    let link = concat!(env!("CARGO_MANIFEST_DIR"), "/../adjunct/link");
    println!("cargo:rustc-cdylib-link-arg=@{link}/module.args");
    println!("cargo:rustc-cdylib-link-arg=-L{link}/unwind");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{link}/module.ld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{link}/hot.ld");
    println!("cargo:rerun-if-changed={link}");
    println!("cargo:rerun-if-changed=build.rs");
}
