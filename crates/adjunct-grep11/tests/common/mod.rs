//! A private coprocessor, servers before it, and their clients. It needs `adjunct` and `adjunctd` beside the server's program.
#![allow(dead_code, reason = "each test program uses a part")]

use adjunct_grep11::failure::grep11_error;
use adjunct_grep11::pb::attribute_value::OneAttr;
use adjunct_grep11::pb::crypto_client::CryptoClient;
use adjunct_grep11::pb::mechanism::Parameter;
use adjunct_grep11::pb::{AttributeValue, Grep11Error, KeyBlob, Mechanism};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

pub type Client = CryptoClient<Channel>;
pub type Attributes = BTreeMap<u64, AttributeValue>;

/// A program beside the server's.
pub fn beside(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_adjunct-grep11")).with_file_name(name);
    assert!(path.exists(), "{}: cargo build --workspace makes it", path.display());
    path
}

/// A private coprocessor.
pub struct Card {
    child: Child,
    pub runtime: tempfile::TempDir,
}

impl Drop for Card {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Ends a process that these tests started, and waits for it.
fn end(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let _ = child.wait();
}

impl Card {
    pub fn start() -> Card {
        let runtime = tempfile::tempdir().unwrap();
        let mut command = Command::new(beside("adjunct"));
        command.args(["ep11", "dev"]).env("XDG_RUNTIME_DIR", runtime.path()).env_remove("ADJUNCT_CARDS_DIR");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("Library: ")), "it does not start");
        Card { child, runtime }
    }

    pub fn folder(&self) -> PathBuf {
        self.runtime.path().join("adjunct")
    }

    /// Runs `adjunct ep11`.
    pub fn order(&self, words: &[&str]) -> Output {
        let mut command = Command::new(beside("adjunct"));
        command.arg("ep11").args(words).env("ADJUNCT_CARDS_DIR", self.folder()).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

/// A server's program.
pub fn program(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-grep11"));
    command.args(words).env("ADJUNCT_CARDS_DIR", folder).stdin(Stdio::null());
    command
}

/// A server.
pub struct Server {
    pub child: Child,
    pub address: String,
    pub status: Option<String>,
    errors: Option<ChildStderr>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn start(folder: &Path, words: &[&str]) -> Server {
        let mut child = program(folder, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut status = None;
        let mut errors = child.stderr.take();
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap) {
            let after = |words: &str| line.split_once(words).map(|(_, rest)| rest.to_owned());
            status = status.or(after("health and metrics on "));
            if let Some(rest) = after("listening on ") {
                let address = rest.split(',').next().unwrap().to_owned();
                return Server { child, address, status, errors };
            }
        }
        let mut text = String::new();
        errors.as_mut().unwrap().read_to_string(&mut text).unwrap();
        let _ = child.wait();
        panic!("it does not serve: {text}");
    }

    pub async fn client(&self) -> Client {
        CryptoClient::new(Endpoint::new(format!("http://{}", self.address)).unwrap().connect().await.unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; whether it ended well, and what it logged.
    pub fn ended(mut self) -> (bool, String) {
        let mut text = String::new();
        self.errors.take().unwrap().read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().success(), text)
    }
}

pub fn mechanism(number: u64) -> Option<Mechanism> {
    Some(Mechanism { mechanism: number, parameter: None })
}

pub fn with(number: u64, parameter: Parameter) -> Option<Mechanism> {
    Some(Mechanism { mechanism: number, parameter: Some(parameter) })
}

pub fn with_bytes(number: u64, bytes: &[u8]) -> Option<Mechanism> {
    with(number, Parameter::ParameterB(bytes.to_vec()))
}

pub fn yes() -> OneAttr {
    OneAttr::AttributeTf(true)
}

pub fn attributes<const N: usize>(all: [(u64, OneAttr); N]) -> Attributes {
    all.map(|(kind, value)| (kind, AttributeValue { one_attr: Some(value) })).into()
}

pub fn key(bytes: &[u8]) -> Option<KeyBlob> {
    Some(KeyBlob { key_blobs: vec![bytes.to_vec()], ..KeyBlob::default() })
}

/// What a failed call says.
#[track_caller]
pub fn error<T: std::fmt::Debug>(done: Result<T, Status>) -> Grep11Error {
    grep11_error(&done.unwrap_err()).expect("a Grep11Error")
}
