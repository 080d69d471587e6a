//! A lab: a folder with a copy of the module, OpenSSL configurations, and counters apart from those of other programs.

use crate::counted::Counted;
use crate::system::{System, target};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

/// A lab; its folder and its counters go when it is dropped.
#[derive(Debug)]
pub struct Lab {
    dir: tempfile::TempDir,
    counted: Counted,
    stock: PathBuf,
    adjunct: PathBuf,
}

/// What of adjunct a configuration loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modules {
    /// No adjunct.
    Stock,
    /// The provider alone.
    Provider,
    /// The engine alone, as in the papers.
    Engine,
    /// The provider, and the engine that it brings along, as `adjunct openssl enable` has it.
    Both,
}

/// Calls counted, by function: hardware and software.
pub type Counters = BTreeMap<String, (u64, u64)>;

impl Lab {
    /// A new lab, below `/tmp`, which every [`System`] sees.
    pub fn new() -> Lab {
        let dir = tempfile::Builder::new().prefix("adjunct-e2e-").tempdir_in("/tmp").expect("a folder in /tmp");
        // Programs that drop root's rights still open the module and the configuration.
        open_to_all(dir.path());
        let built = target().join("libadjunct_openssl.so");
        let module = dir.path().join("adjunct.so");
        std::fs::copy(&built, &module).unwrap_or_else(|e| panic!("{}: {e}; run ./check", built.display()));
        let mut lab = Lab { dir, counted: Counted::new(), stock: PathBuf::new(), adjunct: PathBuf::new() };
        lab.stock = lab.write("stock.cnf", stock_conf(""));
        lab.adjunct = lab.write("adjunct.cnf", adjunct_conf(&module, "", ""));
        lab
    }

    /// Writes a configuration with one of adjunct's modules, or both.
    pub fn conf(&self, modules: Modules) -> PathBuf {
        let name = format!("{modules:?}.cnf");
        let text = match modules {
            Modules::Stock => return self.stock.clone(),
            Modules::Provider => return self.adjunct.clone(),
            Modules::Engine => stock_conf(&engine_conf(&self.engine())),
            Modules::Both => adjunct_conf(&self.module(), "engine = RSA,EC", ""),
        };
        // Whole at every moment, for those who read it while another thread writes it.
        let path = self.path(&name);
        let unfinished = self.write(&format!("{name}-{:?}", std::thread::current().id()), text);
        std::fs::rename(unfinished, &path).expect("the configuration is moved to its place");
        path
    }

    /// The engine.
    fn engine(&self) -> PathBuf {
        static COPYING: Mutex<()> = Mutex::new(());
        let _one = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = self.path("adjunct-engine.so");
        if !engine.exists() {
            let built = target().join("libadjunct_engine.so");
            std::fs::copy(&built, &engine).unwrap_or_else(|e| panic!("{}: {e}; run ./check", built.display()));
        }
        engine
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, data: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// The module.
    pub fn module(&self) -> PathBuf {
        self.path("adjunct.so")
    }

    /// The configuration of OpenSSL's default provider alone.
    pub fn stock(&self) -> &Path {
        &self.stock
    }

    /// The configuration with adjunct.
    pub fn adjunct(&self) -> &Path {
        &self.adjunct
    }

    /// The environment that leads to this lab's counters.
    pub fn environment(&self) -> Vec<(String, String)> {
        vec![self.counted.environment(), ("ADJUNCT_STATS".to_owned(), "on".to_owned())]
    }

    /// A program of `system` with one of the configurations and this lab's counters.
    pub fn command(&self, system: &System, program: &str, conf: &Path) -> Command {
        let mut command = Command::new(system.program(program));
        command.env("OPENSSL_CONF", conf).envs(self.environment()).env_remove("SSL_CERT_FILE").stdin(Stdio::null());
        command
    }

    /// Runs `openssl` with `input` on its standard input; its output, which must be a success.
    pub fn openssl(&self, system: &System, conf: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
        let out = self.try_openssl(system, conf, args, input);
        let (name, conf) = (system.name, conf.display());
        assert!(
            out.status.success(),
            "openssl {} ({name}, {conf}): {}{}",
            args.join(" "),
            out.status,
            String::from_utf8_lossy(&out.stderr)
        );
        out.stdout
    }

    /// Runs `openssl` with `input` on its standard input; what comes of it, be it a success or not.
    pub fn try_openssl(&self, system: &System, conf: &Path, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(system, "openssl", conf);
        command.args(args);
        feed(&mut command, input)
    }

    /// What was counted in this lab, all users together; only what is not zero.
    pub fn counters(&self) -> Counters {
        let counts = self.counted.read().into_iter();
        counts.map(|(function, count)| (function, (count.hardware, count.software))).collect()
    }

    /// Bytes counted for a function in this lab, all users, paths and directions together.
    pub fn bytes(&self, function: &str) -> u64 {
        self.counted.read().get(function).map_or(0, |count| count.bytes)
    }

    /// The counters.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// Asserts that every function named was counted since `before` on the path this machine has for it, and only there.
    pub fn moved(&self, what: &str, before: &Counters, functions: &[&str]) {
        let after = self.counters();
        for &name in functions {
            let (hw0, sw0) = before.get(name).copied().unwrap_or_default();
            let (hw, sw) = after.get(name).copied().unwrap_or_default();
            if has_hardware(name) {
                assert!(hw > hw0, "{what}: {name}: hardware not counted: {hw0} -> {hw} (software {sw0} -> {sw})");
                assert_eq!(sw, sw0, "{what}: {name}: counted as software on a machine with the instructions");
            } else {
                assert!(sw > sw0, "{what}: {name}: software not counted: {sw0} -> {sw}");
                assert_eq!(hw, hw0, "{what}: {name}: counted as hardware on a machine without the instructions");
            }
        }
    }
}

impl Default for Lab {
    fn default() -> Lab {
        Lab::new()
    }
}

/// Whether this machine's processor has the instructions for a function, from what the kernel says of it.
pub fn has_hardware(function: &str) -> bool {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|l| l.starts_with("flags") || l.starts_with("Features")).unwrap_or_default();
    let has = |flag: &str| line.split_whitespace().any(|f| f == flag);
    let arm = cfg!(target_arch = "aarch64");
    match function {
        "AES GCM" => has("aes") && has(if arm { "pmull" } else { "pclmulqdq" }),
        name if name.starts_with("AES") => has("aes"),
        "SHA-1" => has(if arm { "sha1" } else { "sha_ni" }),
        "SHA-224" | "SHA-256" => has(if arm { "sha2" } else { "sha_ni" }),
        _ => false,
    }
}

/// Copies a program that is then run, by a process of its own: what other threads start meanwhile inherits a descriptor of ours that writes, for as
/// long as it has not become another program, and a file that is open for writing cannot be run (ETXTBSY).
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).stdin(Stdio::null()).output().expect("cp runs");
    assert!(copied.status.success(), "{}; run ./check", String::from_utf8_lossy(&copied.stderr));
}

/// Runs `command` with `input` on its standard input.
pub fn feed(command: &mut Command, input: &[u8]) -> Output {
    let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        // A program that ends early closes its end: not the writer's failure.
        scope.spawn(move || stdin.map(|mut s| s.write_all(input)));
        child.wait_with_output().expect("wait")
    })
}

/// Starts `command`.
pub fn spawn(command: &mut Command) -> Child {
    command.spawn().unwrap_or_else(|e| panic!("{}: {e}", command.get_program().display()))
}

/// A configuration of the default provider; `more` are further lines of the initial section and sections.
pub fn stock_conf(more: &str) -> String {
    format!(
        "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\n{more}\n[provider_sect]\n\
         default = default_sect\n[default_sect]\nactivate = 1\n"
    )
}

/// A configuration with adjunct from `module`; `keys` are further lines of its section.
pub fn adjunct_conf(module: &Path, keys: &str, more: &str) -> String {
    format!(
        "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\nalg_section = evp_sect\n{more}\n\
         [provider_sect]\ndefault = default_sect\nadjunct = adjunct_sect\n[default_sect]\nactivate = 1\n\
         [adjunct_sect]\nmodule = {}\nactivate = 1\n{keys}\n[evp_sect]\ndefault_properties = ?provider=adjunct\n",
        module.display()
    )
}

/// The lines that load the engine, in the papers' words.
fn engine_conf(engine: &Path) -> String {
    format!(
        "engines = engine_sect\n[engine_sect]\nadjunct = adjunct_engine\n[adjunct_engine]\nengine_id = adjunct\n\
         dynamic_path = {}\nsoft_load = 1\ndefault_algorithms = RSA,EC\ninit = 1\n",
        engine.display()
    )
}

fn open_to_all(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).expect("mode of the lab's folder");
}
