//! A token of our PKCS #11 module in a lab, for programs that load such modules.

use crate::lab::{Lab, feed};
use crate::system::{System, target};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The user's PIN.
pub const PIN: &str = "1234";

/// The security officer's.
pub const SO_PIN: &str = "12345678";

/// The label of the store token.
pub const LABEL: &str = "mine";

/// The slot of the accelerator token.
pub const ACCELERATOR: &str = "1";

/// The slot of the store token.
pub const STORE: &str = "3";

/// The module in a lab of its own, with an accelerator token in slot 1 and a store token in slot 3.
#[derive(Debug)]
pub struct Token {
    /// The folder, and the counters of all that is run here.
    pub lab: Lab,
    module: PathBuf,
}

impl Token {
    /// The store token is initialized and has both PINs.
    pub fn new() -> Token {
        let token = Token::uninitialized();
        token.tool(&["--slot", STORE, "--init-token", "--label", LABEL, "--so-pin", SO_PIN]);
        token.tool(&["--slot", STORE, "--init-pin", "--so-pin", SO_PIN, "--pin", PIN]);
        token
    }

    /// Makes a home without a store token yet.
    pub fn uninitialized() -> Token {
        let lab = Lab::new();
        let built = target().join("libadjunct_pkcs11.so");
        let module = lab.path("adjunct-pkcs11.so");
        std::fs::copy(&built, &module).unwrap_or_else(|e| panic!("{}: {e}; run ./check", built.display()));
        let store = lab.path("store/mine.token");
        lab.write("tokens.conf", format!("[[token]]\nslot = {STORE}\npath = \"{}\"\n", store.display()));
        lab.write("pin", PIN);
        Token { lab, module }
    }

    /// The module.
    pub fn module(&self) -> &str {
        self.module.to_str().expect("the lab's path is text")
    }

    /// A path in the lab.
    pub fn path(&self, name: &str) -> String {
        self.lab.path(name).display().to_string()
    }

    /// The environment that leads programs to the tokens and to the lab's counters, and away from the home of the user who runs this.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut set = self.lab.environment();
        set.push(("ADJUNCT_PKCS11_CONF".to_owned(), self.path("tokens.conf")));
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            set.push((name.to_owned(), self.lab.dir().display().to_string()));
        }
        set
    }

    /// A program of `system` with this environment, OpenSSL's default provider alone, and no input.
    pub fn command(&self, system: &System, program: &str) -> Command {
        self.with(Command::new(system.program(program)))
    }

    /// A command with this environment, OpenSSL's default provider alone, and no input.
    pub fn with(&self, mut command: Command) -> Command {
        command.envs(self.environment()).env("OPENSSL_CONF", self.lab.stock()).env_remove("SSH_AUTH_SOCK");
        command.current_dir(self.lab.dir()).stdin(Stdio::null());
        command
    }

    /// Runs this machine's `pkcs11-tool` with the module.
    pub fn tool(&self, args: &[&str]) -> String {
        self.tool_of(&System::here(), args)
    }

    /// Runs the `pkcs11-tool` of `system` with the module.
    pub fn tool_of(&self, system: &System, args: &[&str]) -> String {
        succeed(self.command(system, "pkcs11-tool").args(["--module", self.module()]).args(args))
    }

    /// Runs the `pkcs11-tool` of `system` in the store token, with its user logged in.
    pub fn store(&self, system: &System, args: &[&str]) -> String {
        self.tool_of(system, &[&["--slot", STORE, "--login", "--pin", PIN], args].concat())
    }

    /// Makes a key pair in the store token.
    pub fn pair(&self, kind: &str, label: &str, id: &str) {
        self.store(&System::here(), &["--keypairgen", "--key-type", kind, "--label", label, "--id", id]);
    }

    /// The URI of an object of the store token: `private`, `public` or `cert`.
    pub fn uri(&self, label: &str, kind: &str) -> String {
        format!("pkcs11:token={LABEL};object={label};type={kind}")
    }

    /// Operations counted for a function, wherever they ran.
    pub fn calls(&self, function: &str) -> u64 {
        self.lab.counters().get(function).map_or(0, |&(hardware, software)| hardware + software)
    }
}

impl Default for Token {
    fn default() -> Token {
        Token::new()
    }
}

/// Runs a command, which must succeed; gives what it printed.
pub fn succeed(command: &mut Command) -> String {
    let out = feed(command, b"");
    assert!(out.status.success(), "{command:?}: {}\n{}", out.status, said(&out));
    said(&out)
}

/// All that a program printed.
pub fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

/// The first line of `text` in which `word` is.
pub fn line<'t>(text: &'t str, word: &str) -> &'t str {
    text.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("no line with {word}: {text}"))
}
