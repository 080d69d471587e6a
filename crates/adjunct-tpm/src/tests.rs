//! With a TPM in software (swtpm), where one is installed.

use super::*;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

struct Software {
    process: Child,
    folder: TempDir,
}

impl Software {
    fn new() -> Option<Software> {
        let folder = tempfile::tempdir().unwrap();
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
        let software = Software { process, folder };
        while Connection::open(software.tpm().path()).is_err() {
            std::thread::yield_now();
        }
        Some(software)
    }

    fn tpm(&self) -> Tpm {
        Tpm::new(Some(self.folder.path().join("tpm")))
    }
}

impl Drop for Software {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const AUTH: [u8; 32] = [0x5a; 32];
const SECRET: [u8; 32] = *b"what nobody on the bus may read.";

#[test]
fn a_secret_comes_back_from_its_tpm_alone() {
    let (Some(one), Some(other)) = (Software::new(), Software::new()) else { return };
    let (auth, secret) = (Zeroizing::new(AUTH), Zeroizing::new(SECRET));
    let sealed = one.tpm().seal(&auth, &secret).unwrap();
    // More often than a TPM has places for: none stays taken.
    for _ in 0..5 {
        assert_eq!(one.tpm().unseal(&sealed, &auth), Ok(Some(secret.clone())));
    }
    assert_eq!(other.tpm().unseal(&sealed, &auth), Err(Fault::Other));
    let forged = Sealed { parent: other.tpm().identity().unwrap(), ..sealed.clone() };
    assert_eq!(other.tpm().unseal(&forged, &auth), Err(Fault::Other));
    // It counts wrong tries itself.
    let wrong = Zeroizing::new([7; 32]);
    let mut tried = 0;
    let refused = loop {
        match one.tpm().unseal(&sealed, &wrong) {
            Ok(None) => tried += 1,
            refused => break refused,
        }
        assert!(tried < 100);
    };
    assert_eq!((refused, tried > 0), (Err(Fault::Refused(0x921)), true));
    assert_eq!(one.tpm().unseal(&sealed, &auth), Err(Fault::Refused(0x921)));
    assert!(Fault::Refused(0x921).to_string().contains("lockout"));
    let absent = Tpm::new(Some(one.folder.path().join("none")));
    assert_eq!(absent.identity(), Err(Fault::Absent(Errno::NOENT)));
}

/// Forwards one connection after the other, records what it receives, and changes the last byte of long responses to `change`.
fn listener(path: PathBuf, to: PathBuf, heard: Arc<Mutex<Vec<u8>>>, change: Option<u32>) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut tpm) = (client.unwrap(), UnixStream::connect(&to).unwrap());
            while let Some(command) = message(&mut client) {
                tpm.write_all(&command).unwrap();
                let mut answer = message(&mut tpm).unwrap();
                heard.lock().unwrap().extend([&command[..], &answer].concat());
                if change.is_some_and(|code| command[6..10] == code.to_be_bytes()) {
                    let last = answer.len() - 40;
                    answer[last] ^= 1;
                }
                client.write_all(&answer).unwrap();
            }
        }
    });
}

fn message(from: &mut UnixStream) -> Option<Vec<u8>> {
    let mut bytes = vec![0; wire::HEAD];
    from.read_exact(&mut bytes).ok()?;
    let length = In(&bytes[2..]).u32().unwrap() as usize;
    bytes.resize(length, 0);
    from.read_exact(&mut bytes[wire::HEAD..]).ok()?;
    Some(bytes)
}

#[test]
fn the_bus_carries_no_secret_and_takes_no_change() {
    let Some(software) = Software::new() else { return };
    let (auth, secret) = (Zeroizing::new(AUTH), Zeroizing::new(SECRET));
    let through = |name: &str, change| {
        let (path, heard) = (software.folder.path().join(name), Arc::new(Mutex::new(Vec::new())));
        listener(path.clone(), software.folder.path().join("tpm"), heard.clone(), change);
        (Tpm::new(Some(path)), heard)
    };
    let (tpm, heard) = through("heard", None);
    let sealed = tpm.seal(&auth, &secret).unwrap();
    assert_eq!(tpm.unseal(&sealed, &auth), Ok(Some(secret.clone())));
    let heard = heard.lock().unwrap();
    assert!(heard.len() > 1000);
    for hidden in [&SECRET[..16], &AUTH[..16]] {
        assert!(!heard.windows(16).any(|part| part == hidden));
    }
    for code in [wire::UNSEAL, wire::CREATE] {
        let (changed, _) = through(&format!("changed {code}"), Some(code));
        let done = if code == wire::UNSEAL {
            changed.unseal(&sealed, &auth).map(drop)
        } else {
            changed.seal(&auth, &secret).map(drop)
        };
        assert_eq!(done, Err(Fault::Nonsense), "{code:#x}");
    }
}
