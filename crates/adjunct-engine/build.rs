//! Link flags of the engine module.
fn main() {
    // Thread-exit destructors and fork handlers of the crypto library must outlive dlclose: the module stays mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
    println!("cargo:rerun-if-changed=build.rs");
}
