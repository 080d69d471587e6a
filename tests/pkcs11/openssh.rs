//! OpenSSH: keys of a token listed, used by `ssh -I`, and held by the agent.

use adjunct_e2e::lab::{feed, spawn};
use adjunct_e2e::listener::until;
use adjunct_e2e::ssh::{Ssh, tail};
use adjunct_e2e::system::System;
use adjunct_e2e::token::{PIN, Token, said, succeed};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Kinds of keys, as pkcs11-tool calls them, with what OpenSSH calls them and the function that counts their signatures.
const KEYS: [(&str, &str, &str); 4] = [
    ("rsa:2048", "ssh-rsa", "RSA-CRT"),
    ("EC:prime256v1", "ecdsa-sha2-nistp256", "ECDSA Sign"),
    ("EC:secp384r1", "ecdsa-sha2-nistp384", "ECDSA Sign"),
    ("EC:edwards25519", "ssh-ed25519", "Ed25519 Sign"),
];

/// Kinds of keys that this OpenSSH takes from a token: Ed25519 came with 10.1.
fn keys(system: &System) -> &'static [(&'static str, &'static str, &'static str)] {
    if system.versions().0 >= (10, 1) { &KEYS } else { &KEYS[..3] }
}

/// A token with a key of each kind, its kind as the label.
fn token() -> Token {
    let token = Token::new();
    for (at, (kind, name, _)) in KEYS.iter().enumerate() {
        token.pair(kind, name, &format!("0{at}"));
    }
    token
}

/// Has PINs asked for by a program, which writes down each question.
fn answers(token: &Token, command: &mut Command, pin: &str) {
    let asked = token.path("asked");
    let program = token.lab.write("askpass", format!("#!/bin/sh\necho \"$1\" >>{asked}\necho {pin}\n"));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("mode");
    command.envs(token.environment()).env("SSH_ASKPASS", program).env("SSH_ASKPASS_REQUIRE", "force");
}

/// The questions since the last call.
fn asked(token: &Token) -> String {
    let path = token.lab.path("asked");
    let questions = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    questions
}

/// What `ssh-keygen -D` lists, on a terminal, where it could ask for a PIN.
fn listed(token: &Token, system: &System) -> String {
    let keygen = format!("{} -D {}", system.program("ssh-keygen").display(), token.module());
    succeed(token.with(Command::new("script")).args(["-qec", &keygen, "/dev/null"])).replace('\r', "")
}

/// The line of a key of this type, as a file that lets it in alone.
fn authorize(token: &Token, listed: &str, name: &str) -> String {
    let line = listed.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{listed}"));
    token.lab.write(&format!("{name}.pub"), format!("{line}\n")).display().to_string()
}

#[test]
fn keys_are_listed_without_a_question() {
    let token = token();
    for system in System::all() {
        let listed = listed(&token, &system);
        assert!(!listed.contains("PIN"), "{}: {listed}", system.name);
        for (_, name, _) in keys(&system) {
            // Its label is the comment.
            assert!(
                listed.lines().any(|line| line.starts_with(&format!("{name} ")) && line.ends_with(&format!(" {name}")))
            );
        }
    }
}

#[test]
fn a_login_by_a_key_of_a_token() {
    let token = token();
    for system in System::all() {
        let listed = listed(&token, &system);
        let ssh = Ssh::new(&system, &System::here());
        for (_, name, function) in keys(&system) {
            let authorized = authorize(&token, &listed, name);
            let sshd = ssh.serve(&token.lab, token.lab.stock(), &[format!("AuthorizedKeysFile {authorized}")]);
            let options = ["BatchMode no".to_owned(), format!("IdentityFile {authorized}")];
            let before = token.calls(function);
            let mut client = ssh.client(&token.lab, token.lab.stock(), sshd.port(), &options);
            answers(&token, &mut client, PIN);
            let out = feed(client.args(["-I", token.module(), "echo logged in"]), b"");
            let what = format!("{} {name}: {}\n{}", system.name, said(&out), tail(&sshd.log()));
            assert!(out.status.success() && out.stdout == b"logged in\n", "{what}");
            assert_eq!(asked(&token), "Enter PIN for 'mine': \n", "{what}");
            assert!(token.calls(function) > before, "{what}: {:?}", token.lab.counters());
        }
    }
}

/// An agent, ended when dropped.
struct Agent(Child);

impl Agent {
    fn start(token: &Token, system: &System, args: &[&str]) -> Agent {
        let socket = token.path("agent");
        let _ = std::fs::remove_file(&socket);
        let mut command = token.command(system, "ssh-agent");
        let agent = spawn(command.args(["-D", "-a", &socket]).args(args).stdout(Stdio::null()).stderr(Stdio::null()));
        until("the agent listens", || Path::new(&socket).exists());
        Agent(agent)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_agent_holds_the_keys_of_a_token() {
    let token = token();
    for system in System::all() {
        let add = |args: &[&str], pin: &str| {
            let mut add = token.command(&system, "ssh-add");
            answers(&token, &mut add, pin);
            feed(add.env("SSH_AUTH_SOCK", token.path("agent")).args(args), b"")
        };
        let listed = listed(&token, &system);
        {
            // By itself it takes modules of the system's folders alone.
            let _agent = Agent::start(&token, &system, &[]);
            assert!(!add(&["-s", token.module()], PIN).status.success());
        }
        let allowed = token.path("*");
        let _agent = Agent::start(&token, &system, &["-P", &allowed]);
        let wrong = add(&["-s", token.module()], "4321");
        assert!(!wrong.status.success(), "{}", said(&wrong));
        let added = add(&["-s", token.module()], PIN);
        assert!(added.status.success(), "{}: {}", system.name, said(&added));
        let held = said(&add(&["-L"], PIN));
        let ssh = Ssh::new(&system, &System::here());
        for (_, name, function) in keys(&system) {
            let authorized = authorize(&token, &listed, name);
            assert!(held.lines().any(|line| line.starts_with(&format!("{name} "))), "{held}");
            let sshd = ssh.serve(&token.lab, token.lab.stock(), &[format!("AuthorizedKeysFile {authorized}")]);
            let options = [format!("IdentityAgent {}", token.path("agent")), format!("IdentityFile {authorized}")];
            let before = token.calls(function);
            for _ in 0..2 {
                let mut client = ssh.client(&token.lab, token.lab.stock(), sshd.port(), &options);
                let out = feed(client.arg("echo logged in"), b"");
                let what = format!("{} {name}: {}\n{}", system.name, said(&out), tail(&sshd.log()));
                assert!(out.status.success() && out.stdout == b"logged in\n", "{what}");
            }
            assert!(token.calls(function) >= before + 2, "{}: {:?}", system.name, token.lab.counters());
        }
        let removed = add(&["-e", token.module()], PIN);
        assert!(removed.status.success(), "{}: {}", system.name, said(&removed));
        assert!(said(&add(&["-L"], PIN)).contains("no identities"));
    }
}
