//! docs/ep11.md's five minutes: a private coprocessor, and the example in C that signs with a key that it never sees.

use adjunct_e2e::listener::until;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// What cargo has built, by its name.
fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_adjunct-probe")).with_file_name(name)
}

/// `adjunct ep11 dev`, and the folder that it says.
struct Dev {
    child: Child,
    cards: PathBuf,
}

impl Dev {
    fn start(runtime: &Path, words: &[&str]) -> Dev {
        let mut command = Command::new(built("adjunct"));
        command.args(["ep11", "dev"]).args(words).env("XDG_RUNTIME_DIR", runtime).env_remove("ADJUNCT_CARDS_DIR");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("Library: ") {
            assert!(output.read_line(&mut text).unwrap() > 0, "{text}");
        }
        let cards = text.lines().find_map(|line| line.strip_prefix("export ADJUNCT_CARDS_DIR=")).unwrap().into();
        Dev { child, cards }
    }

    fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compiles the example as the page does; the program.
fn compiled(folder: &Path) -> PathBuf {
    std::fs::copy(built("libadjunct_ep11.so"), folder.join("libep11.so.4")).unwrap();
    symlink("libep11.so.4", folder.join("libep11.so")).unwrap();
    let program = folder.join("sign");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror"]).arg("-I").arg(checkout("crates/adjunct-ep11/include"));
    // Where no package has brought a pkcs11.h.
    cc.arg("-idirafter").arg(checkout("crates/adjunct-ep11/tests/interface"));
    cc.arg(checkout("examples/ep11/sign.c")).arg("-L").arg(folder).args(["-lep11", "-o"]).arg(&program);
    assert!(cc.status().unwrap().success());
    program
}

fn sign(program: &Path, cards: &Path) -> Output {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", program.parent().unwrap()).env("ADJUNCT_CARDS_DIR", cards).output().unwrap()
}

#[test]
fn the_first_signature_is_as_the_page_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path());
    let dev = Dev::start(folder.path(), &[]);
    let output = sign(&program, &dev.cards);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(checkout("docs/ep11.md")).unwrap();
    let shown: String = page
        .lines()
        .skip_while(|line| *line != "    $ ./sign")
        .skip(1)
        .take_while(|line| line.starts_with("    "))
        .map(|line| format!("{}\n", &line[4..]))
        .collect();
    assert_eq!(said, shown);
    let cards = dev.cards.clone();
    dev.end();
    // Without the coprocessor there is a clear error, and no key of another kind.
    until("the socket is gone", || !cards.join("ep11-00.0000.sock").exists());
    let output = sign(&program, &cards);
    assert!(!output.status.success() && output.stdout.is_empty());
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.starts_with("m_GenerateKeyPair: 0x") && why.lines().count() == 1, "{why}");
}
