//! Link flags of libep11: the core has those that are the same for every module. Its name is that of IBM's library.
fn main() {
    let link = concat!(env!("CARGO_MANIFEST_DIR"), "/../adjunct/link");
    println!("cargo:rustc-cdylib-link-arg=@{link}/module.args");
    println!("cargo:rustc-cdylib-link-arg=-L{link}/unwind");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{link}/module.ld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libep11.so.4");
    println!("cargo:rerun-if-changed={link}");
    println!("cargo:rerun-if-changed=build.rs");
}
