//! Makes Rust of the proto files, without protoc.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(["grep11/crypto.proto", "grep11/errors.proto"], ["proto"])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    std::fs::write(out.join("grep11.bin"), prost::Message::encode_to_vec(&files))?;
    // Templates have one order, so that a request is the same each time.
    tonic_prost_build::configure().btree_map(".").build_transport(false).compile_fds(files)?;
    Ok(())
}
