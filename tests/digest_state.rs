//! Digests in progress as bytes, which OpenSSL 4 writes and reads: ours as its default provider's (`digest_state/program.c`).

use adjunct_e2e::lab::Lab;
use adjunct_e2e::system::System;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn either_provider_goes_on_from_what_the_other_wrote() {
    let Some(system) = System::without_engines() else { return };
    let lab = Lab::new();
    let program = lab.path("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("digest_state/program.c");
    let built =
        Command::new("cc").args(["-O1", "-Wall", "-o"]).arg(&program).arg(source).arg("-ldl").output().expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut command = Command::new(system.program("run"));
    command.arg(&program).env("OPENSSL_CONF", lab.adjunct()).envs(lab.environment()).stdin(Stdio::null());
    let out = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{}: {said}{}", out.status, String::from_utf8_lossy(&out.stderr));
}
