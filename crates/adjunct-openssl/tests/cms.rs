//! CMS with several RSA recipients, decrypted by the key alone: libcrypto then tries every recipient, and the message can be read only if a wrong
//! recipient gives what libcrypto expects.

mod common;

use common::config;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Recipients `0.pem` to `3.pem` with their keys, and messages to all of them.
struct Mail {
    folder: tempfile::TempDir,
}

const RECIPIENTS: usize = 4;
const MESSAGES: usize = 3;

impl Mail {
    fn new() -> Mail {
        let folder = tempfile::tempdir().unwrap();
        let rest = "[req]\ndistinguished_name = name\n[name]\n";
        let preferred = |more: &str| {
            let all = "[init]\nalg_section = choice\n[choice]\ndefault_properties = ?provider=adjunct\n[init]\n";
            // The module's section is the last.
            format!("{}{more}{rest}", config("ALL").replace("[init]\n", all))
        };
        std::fs::write(folder.path().join("stock.cnf"), rest).unwrap();
        std::fs::write(folder.path().join("ours.cnf"), preferred("")).unwrap();
        std::fs::write(folder.path().join("implicit.cnf"), preferred("implicit-rejection = yes\n")).unwrap();
        std::fs::write(folder.path().join("message"), "a message\n".repeat(30)).unwrap();
        let mail = Mail { folder };
        for i in 0..RECIPIENTS {
            let names = format!("-subj /CN={i} -keyout {i}.key -out {i}.pem");
            mail.ok("stock", &format!("req -x509 -newkey rsa:1024 -nodes {names}"));
        }
        for i in 0..MESSAGES {
            mail.ok("stock", &format!("cms -encrypt -binary -aes256 -in message -out {i}.cms 0.pem 1.pem 2.pem 3.pem"));
        }
        mail
    }

    fn run(&self, who: &str, line: &str) -> Output {
        let mut command = Command::new("openssl");
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.env("OPENSSL_CONF", self.path(format!("{who}.cnf"))).output().unwrap()
    }

    fn ok(&self, who: &str, line: &str) {
        let out = self.run(who, line);
        assert!(out.status.success(), "{who}: openssl {line}\n{}", String::from_utf8_lossy(&out.stderr));
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How many of the messages each recipient can read.
    fn read(&self, who: &str) -> usize {
        let message = std::fs::read(self.path("message")).unwrap();
        let pairs = (0..RECIPIENTS).flat_map(|key| (0..MESSAGES).map(move |at| (key, at)));
        pairs
            .filter(|(key, at)| {
                let _ = std::fs::remove_file(self.path("opened"));
                let out = self.run(who, &format!("cms -decrypt -binary -in {at}.cms -inkey {key}.key -out opened"));
                out.status.success() && std::fs::read(self.path("opened")).is_ok_and(|opened| opened == message)
            })
            .count()
    }
}

#[test]
fn mail_is_read_without_naming_the_recipient_as_with_stock() {
    let mail = Mail::new();
    assert_eq!(mail.read("stock"), RECIPIENTS * MESSAGES);
    assert_eq!(mail.read("ours"), RECIPIENTS * MESSAGES);
    // From 3.2 on, CMS turns implicit rejection off where it tries recipients; before, it does not know of it.
    // SAFETY: functions without arguments.
    let version = unsafe { (common::OPENSSL_version_major(), common::OPENSSL_version_minor()) };
    let read = mail.read("implicit");
    assert_eq!(read == RECIPIENTS * MESSAGES, version >= (3, 2), "with the key in the module's section: {read}");
}
