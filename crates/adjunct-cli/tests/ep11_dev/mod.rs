//! A coprocessor that `adjunct ep11 dev` runs. It needs adjunctd beside the program.
#![allow(dead_code)]

use adjunct_card_state::folder::Folder;
use adjunct_card_state::state;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// The coprocessor, and what was said when it began.
pub struct Dev {
    pub child: Child,
    output: BufReader<ChildStdout>,
    pub folder: PathBuf,
    pub text: String,
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn adjunct(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.args(words).env_remove("XDG_RUNTIME_DIR").env_remove("ADJUNCT_CARDS_DIR");
    command
}

impl Dev {
    pub fn start(words: &[&str], runtime: Option<&Path>) -> Dev {
        let mut command = adjunct(&[&["ep11", "dev"], words].concat());
        command.envs(runtime.map(|runtime| ("XDG_RUNTIME_DIR", runtime)));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("Library: ") {
            assert!(output.read_line(&mut text).unwrap() > 0, "{text}");
        }
        let folder = text.lines().find_map(|line| line.strip_prefix("export ADJUNCT_CARDS_DIR=")).unwrap().into();
        Dev { child, output, folder, text }
    }

    pub fn run(&self, words: &[&str]) -> Output {
        adjunct(words).env("ADJUNCT_CARDS_DIR", &self.folder).stdin(Stdio::null()).output().unwrap()
    }

    pub fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Ends it as Ctrl-C does; whether it ended well.
    pub fn end(mut self) -> bool {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let ended = self.child.wait().unwrap().success();
        let mut rest = String::new();
        while self.output.read_line(&mut rest).unwrap() > 0 {}
        assert_eq!(rest, "");
        ended && matches!(state::read(&Folder::at(&self.folder).state()), Err(state::Error::NotRunning))
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
