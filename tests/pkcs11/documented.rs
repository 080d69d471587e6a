//! Every command of docs/pkcs11.md and docs/token.md, run as it is printed there: lines of code that begin with `$`, one after the other, in
//! a home without tokens. What is printed below a command is an example; the first word of each of its lines has to be in what came.

use adjunct_e2e::lab::feed;
use adjunct_e2e::skipped;
use adjunct_e2e::system::{System, is_root, target};
use adjunct_e2e::token::{Token, said};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

/// Path of the module in the documents.
const INSTALLED: &str = "/usr/lib/x86_64-linux-gnu/pkcs11/adjunct-pkcs11.so";
const PIN: &str = "1234";
const SO_PIN: &str = "12345678";

/// What is not run here, and where it is.
const ELSEWHERE: [(&str, &str); 4] = [
    ("ssh -I ", "openssh.rs logs in to a server"),
    ("ssh-add -s ", "openssh.rs has an agent"),
    ("p11-kit server ", "p11_kit.rs has the server, and ends it"),
    ("adjunct bench pkcs11", "tests/pkcs11.rs of adjunct-bench: minutes"),
];

/// Programs of the pages: a line of code that begins with one is a command.
const PROGRAMS: [&str; 16] = [
    "adjunct",
    "pkcs11-tool",
    "ssh-keygen",
    "ssh-add",
    "ssh",
    "openssl",
    "certutil",
    "modutil",
    "p11tool",
    "p11-kit",
    "pkcsconf",
    "sudo",
    "chmod",
    "chgrp",
    "export",
    "mkdir",
];

/// A command of a page.
#[derive(Debug)]
struct Printed {
    line: usize,
    /// The words in bold, or the heading, that come before it.
    under: String,
    text: String,
    /// The lines below the command.
    below: Vec<String>,
}

fn printed(page: &str) -> Vec<Printed> {
    let (mut all, mut under, mut open) = (Vec::<Printed>::new(), String::new(), false);
    for (at, line) in page.lines().enumerate() {
        let Some(code) = line.strip_prefix("    ") else {
            open = false;
            if let Some(bold) = line.strip_prefix("**").and_then(|rest| rest.split("**").next()) {
                under = bold.to_owned();
            } else if line.starts_with('#') {
                under = line.to_owned();
            }
            continue;
        };
        if let Some(text) = code.strip_prefix("$ ") {
            all.push(Printed { line: at + 1, under: under.clone(), text: text.to_owned(), below: Vec::new() });
            open = true;
            continue;
        }
        let first = code.split_whitespace().next().unwrap_or_default();
        assert!(!PROGRAMS.contains(&first), "line {}: a command without its $: {code}", at + 1);
        if let Some(command) = all.last_mut().filter(|_| open) {
            command.below.push(code.to_owned());
        }
    }
    all
}

/// A home, the commands' folder, and the files that they find there.
struct Stage {
    token: Token,
    /// Assignments of the page, which later commands see.
    said: String,
}

impl Stage {
    fn new() -> Stage {
        let token = Token::uninitialized();
        let lab = &token.lab;
        std::fs::create_dir(lab.path("bin")).expect("a folder");
        symlink(target().join("adjunct"), lab.path("bin/adjunct")).expect("the command");
        // OpenSSL's two ways to keys of the token, by the page's files.
        let ours = |text: &str| text.replace(INSTALLED, token.module());
        let example = ours(include_str!("../../examples/pkcs11/openssl.cnf"));
        let pin = format!(
            "pkcs11-module-token-pin = file:{}\npkcs11-module-encode-provider-uri-to-pem = true",
            token.path("pin")
        );
        let example = example.replace("# pkcs11-module-token-pin = file:/etc/ssl/private/token.pin", &pin);
        assert!(example.contains(&pin), "the example has a line for the PIN");
        lab.write("provider.cnf", example + "\n[req]\ndistinguished_name = dn\n[dn]\n");
        let engine = ours(include_str!("../../examples/pkcs11/engine.cnf"));
        let engine = engine.replace("x86_64-linux-gnu", &format!("{}-linux-gnu", std::env::consts::ARCH));
        let with_pin = engine.replace("# PIN = 1234", &format!("PIN = {PIN}"));
        assert!(with_pin != engine, "the example has a line for the PIN");
        lab.write("engine.cnf", with_pin);
        // Of the machine: what nginx's section has in /etc/adjunct.
        lab.write("tokens.conf", format!("[[token]]\nslot = 4\npath = \"{}/www.token\"\n", token.path("keys")));
        // What the pages take for granted: a key with its certificate, in a file.
        let here = System::here();
        lab.write("req.cnf", "[req]\ndistinguished_name = dn\n[dn]\n");
        let (key, pem) = (token.path("key.pem"), token.path("cert.pem"));
        lab.openssl(
            &here,
            lab.stock(),
            &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key],
            b"",
        );
        let request =
            ["req", "-x509", "-config", &token.path("req.cnf"), "-subj", "/CN=web", "-key", &key, "-out", &pem];
        lab.openssl(&here, lab.stock(), &request, b"");
        let both = [key, pem].map(|path| std::fs::read(path).expect("what OpenSSL wrote")).concat();
        lab.write("key.pem", both);
        Stage { token, said: String::new() }
    }

    /// `openssl` of a newer suite, which has pkcs11-provider, in the folder that it is called in; whether it can be had.
    fn newer_openssl(&self) -> bool {
        let Some(system) = System::all().into_iter().nth(1) else { return false };
        let root = system.program("openssl").with_file_name("../root");
        let inside = "cd \"$0\" && exec /usr/bin/openssl \"$@\"";
        let script = format!(
            "#!/bin/sh\nexec unshare --mount sh -c 'r={} && mount --rbind /dev \"$r/dev\" && mount --rbind /proc \"$r/proc\" && \
             mount --bind /tmp \"$r/tmp\" && i=$1 && shift && exec chroot \"$r\" /bin/sh -c \"$i\" \"$@\"' sh '{inside}' \"$PWD\" \"$@\"\n",
            root.display()
        );
        std::fs::create_dir_all(self.token.lab.path("newer")).expect("a folder");
        let place = self.token.lab.write("newer/openssl", script);
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).expect("mode");
        true
    }

    fn bash(&self, command: &Printed) -> Command {
        let lab = &self.token.lab;
        let text = command.text.replace(INSTALLED, self.token.module()).replace("/srv/keys", &self.token.path("keys"));
        let mut bash = self.token.with(Command::new("bash"));
        bash.args(["-c", &format!("{}\n{text}", self.said)]);
        // The user's own token, and none that a configuration names.
        bash.env_remove("ADJUNCT_PKCS11_CONF");
        if command.under.contains("nginx") {
            bash.env("ADJUNCT_PKCS11_CONF", lab.path("tokens.conf"));
        }
        let mut path = format!("{}:{}", self.token.path("bin"), std::env::var("PATH").unwrap_or_default());
        if command.under.contains("pkcs11-provider") {
            path = format!("{}:{path}", self.token.path("newer"));
            bash.env("OPENSSL_CONF", lab.path("provider.cnf"));
        } else if command.under.contains("engine") {
            bash.env("OPENSSL_CONF", lab.path("engine.cnf"));
        }
        bash.env("PATH", path);
        bash
    }

    fn run(&mut self, page: &str, command: &Printed) {
        let Printed { line, text, below, .. } = command;
        let at = format!("{page}:{line}: {text}");
        if let Some((_, why)) = ELSEWHERE.iter().find(|(begin, _)| text.starts_with(begin)) {
            println!("not here: {at}: {why}");
            return;
        }
        if text.starts_with("chgrp") && !is_root() {
            return skipped(&format!("{at}: only root gives files away"));
        }
        if command.under.contains("pkcs11-provider") && !self.newer_openssl() {
            return skipped(&format!("{at}: no pkcs11-provider"));
        }
        let assigned = text.strip_prefix("export ").unwrap_or(text).split_once('=');
        if assigned.is_some_and(|(name, value)| name.chars().all(|it| it.is_ascii_uppercase()) && !value.contains(' '))
        {
            self.said += &format!(
                "export {}\n",
                text.strip_prefix("export ").unwrap_or(text).replace(INSTALLED, self.token.module())
            );
            return;
        }
        // What the page shows may need a PIN that has been given wrongly: then it is.
        let wrong = below.iter().any(|line| line.contains("wrong PIN"));
        if below.iter().any(|line| line.contains("locked after three wrong ones")) {
            let lock =
                Printed { line: *line, under: String::new(), text: "adjunct token objects".into(), below: Vec::new() };
            (0..3).for_each(|_| _ = feed(&mut self.bash(&lock), b"wrong\n"));
        }
        // A pipe is asked without questions, and once.
        let answers = below.iter().filter_map(|line| match line.trim_end() {
            "New PIN of the security officer:" | "PIN of the security officer:" => Some(SO_PIN),
            "PIN of the user:" if wrong => Some("wrong"),
            "New PIN of the user:" | "PIN of the user:" => Some(PIN),
            _ => None,
        });
        let answers: String = answers.map(|answer| format!("{answer}\n")).collect();
        let out = feed(&mut self.bash(command), answers.as_bytes());
        let fails = below.iter().any(|line| line.starts_with("adjunct: ") || line.starts_with("problem"));
        assert!(out.status.success() != fails, "{at}: {}\n{}", out.status, said(&out));
        for line in below.iter().filter(|line| !line.trim_end().ends_with(':') || line.starts_with("Available")) {
            let first = line.split_whitespace().next().unwrap_or_default();
            let word = first.chars().all(|it| it.is_ascii_alphabetic() || it == '-') && !first.is_empty();
            assert!(!word || said(&out).contains(first), "{at}: nothing like '{line}' in\n{}", said(&out));
        }
    }
}

#[test]
fn the_page_of_the_module() {
    let page = include_str!("../../docs/pkcs11.md");
    let (commands, mut stage) = (printed(page), Stage::new());
    assert!(commands.len() > 20, "{}", commands.len());
    commands.iter().for_each(|command| stage.run("docs/pkcs11.md", command));
}

#[test]
fn the_page_of_the_command() {
    let page = include_str!("../../docs/token.md");
    let (commands, mut stage) = (printed(page), Stage::new());
    assert!(commands.len() > 4, "{}", commands.len());
    commands.iter().for_each(|command| stage.run("docs/token.md", command));
}
