//! Tokens sealed by a TPM: one in software (swtpm), where it is installed.

use super::*;
use std::process::{Child, Stdio};

struct Software {
    process: Child,
    folder: TempDir,
}

impl Software {
    fn new() -> Option<Software> {
        let folder = home();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut command = Command::new("swtpm");
        command.args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"]);
        command.arg("--tpmstate").arg(format!("dir={}", folder.path().display()));
        command.arg("--server").arg(format!("type=unixio,path={}", path("tpm")));
        command.arg("--ctrl").arg(format!("type=unixio,path={}", path("control")));
        let Ok(process) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            println!("not tried: there is no swtpm");
            return None;
        };
        while std::os::unix::net::UnixStream::connect(folder.path().join("tpm")).is_err() {
            std::thread::yield_now();
        }
        Some(Software { process, folder })
    }

    /// Names the software TPM in the configuration of a home.
    fn configure(&self, home: &Path) {
        let (file, tpm) = (home.join("adjunct/tokens/default.token"), self.folder.path().join("tpm"));
        let text = format!("[[token]]\nslot = 3\npath = \"{}\"\ntpm = \"{}\"\n", file.display(), tpm.display());
        std::fs::create_dir_all(home.join("adjunct")).unwrap();
        std::fs::write(home.join("adjunct/tokens.conf"), text).unwrap();
    }
}

impl Drop for Software {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A sealed token is opened by this machine alone, also after each change of PINs.
pub fn sealed() {
    new_token();
    let session = entered();
    session.create(&data_object("private", true)).unwrap();
    logout(&session).unwrap();
    assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
    set_pin(&session, PIN, b"new pin").unwrap();
    login(&session, CKU_USER, b"new pin").unwrap();
    assert_eq!(labelled(&session, "private").len(), 1);
    set_pin(&session, b"new pin", PIN).unwrap();
}

pub fn sealed_again() {
    let session = entered();
    assert_eq!(labelled(&session, "private").len(), 1);
}

/// The right PIN, elsewhere or without the TPM: an error, and no try.
pub fn sealed_elsewhere() {
    let session = open(RW);
    for pin in [PIN, b"wrong"] {
        assert_eq!(login(&session, CKU_USER, pin), Err(CKR_DEVICE_ERROR));
        assert_eq!(login(&session, CKU_SO, pin), Err(CKR_DEVICE_ERROR));
    }
    assert_eq!(pin_flags(), 0);
}

#[test]
fn a_sealed_token_opens_with_its_tpm_alone() {
    let (Some(here), Some(elsewhere)) = (Software::new(), Software::new()) else { return };
    let home = home();
    here.configure(home.path());
    run("sealed", home.path());
    run("sealed_again", home.path());
    elsewhere.configure(home.path());
    run("sealed_elsewhere", home.path());
    drop(elsewhere);
    run("sealed_elsewhere", home.path());
    here.configure(home.path());
    run("sealed_again", home.path());
}
