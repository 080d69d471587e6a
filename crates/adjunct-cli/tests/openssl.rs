//! `adjunct openssl` on copies of configuration files, judged by the real OpenSSL and OpenSSH. The system's own file is
//! read and never written.

mod copy;
mod module;
mod outcome;
mod script;

use adjunct_openssl_conf::{NoIncludes, Options, enable};
use copy::copy;
use module::module;
use outcome::{failed, good};
use script::script;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

struct Scene {
    dir: TempDir,
    config: PathBuf,
    module: PathBuf,
}

impl Scene {
    fn new(config: &[u8]) -> Option<Scene> {
        let module = module()?;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().join("openssl.cnf");
        fs::write(&path, config).unwrap();
        Some(Scene { config: path, dir, module })
    }

    fn command(&self, action: &str, args: &[&str]) -> Command {
        let mut command = Command::new(ADJUNCT);
        command.args(["openssl", action, "--config"]).arg(&self.config).args(args);
        let asks =
            ["enable", "disable"].contains(&action) && !args.iter().any(|a| ["-n", "--dry-run", "--yes"].contains(a));
        command.args(asks.then_some("--yes"));
        // What the checks compute is not the user's use of the module.
        command.env_remove("OPENSSL_CONF").env("ADJUNCT_STATS", "off");
        command
    }

    fn run(&self, action: &str, args: &[&str]) -> Output {
        self.command(action, args).output().unwrap()
    }

    fn enable(&self, args: &[&str]) -> Output {
        let module = self.module.to_str().unwrap().to_owned();
        // Tests put modules below the folder for temporary files, which everybody may write.
        self.run("enable", &[&["--trust-module", "--module", &module], args].concat())
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.config).unwrap()
    }

    /// The files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What OpenSSL lists under the configuration.
    fn providers(&self) -> String {
        let mut command = Command::new("openssl");
        let output = command
            .args(["list", "-providers"])
            .env("OPENSSL_CONF", &self.config)
            .env("ADJUNCT_STATS", "off")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn the_stock_file_is_enabled_used_and_restored() {
    let stock = fs::read("/etc/ssl/openssl.cnf").unwrap_or_else(|_| b"openssl_conf = i\n[i]\n".to_vec());
    let Some(scene) = Scene::new(&stock) else { return };
    fs::set_permissions(&scene.config, fs::Permissions::from_mode(0o640)).unwrap();
    let said = good(&scene.enable(&[]));
    assert!(said.contains("+# BEGIN adjunct") && said.contains("the module loads: yes"), "{said}");
    assert_eq!(fs::metadata(&scene.config).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::read(scene.dir.path().join("openssl.cnf.adjunct-backup")).unwrap(), stock);
    let providers = scene.providers();
    assert!(providers.contains("\n  adjunct\n") && providers.contains("\n  default\n"), "{providers}");
    let status =
        scene.run("status", &["--json", "--below", scene.dir.path().to_str().unwrap(), "--proc", "/nonexistent"]);
    let value: serde_json::Value = serde_json::from_str(&good(&status)).unwrap();
    assert_eq!((value["enabled"].as_bool(), value["working"].as_bool()), (Some(true), Some(true)));
    assert!(good(&scene.enable(&[])).contains("enabled already"));
    assert!(good(&scene.run("disable", &[])).contains("byte for byte"));
    assert_eq!(scene.bytes(), stock);
    assert_eq!(scene.names(), ["openssl.cnf"]);
    assert_eq!(
        scene.run("status", &["--below", scene.dir.path().to_str().unwrap(), "--proc", "/nonexistent"]).status.code(),
        Some(3)
    );
    // What a change has left that was killed before it changed anything goes; a backup of something else stays.
    let backup = scene.dir.path().join("openssl.cnf.adjunct-backup");
    fs::write(&backup, &stock).unwrap();
    good(&scene.run("disable", &[]));
    assert_eq!(scene.names(), ["openssl.cnf"]);
    fs::write(&backup, "something else").unwrap();
    good(&scene.run("disable", &[]));
    assert_eq!(scene.names(), ["openssl.cnf", "openssl.cnf.adjunct-backup"]);
}

#[test]
fn set_ups_of_many_shapes_keep_what_they_had() {
    let shapes: [&[u8]; 7] = [
        b"",
        b"openssl_conf = i\r\n[i]\r\nssl_conf = s\r\n[s]\r\nx = y\r\n[y]\r\nMinProtocol = TLSv1.2\r\n",
        b"# no line end",
        b"openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\nbase = b\n[d]\nactivate = 1\n[b]\nactivate = 1",
        b"openssl_conf = i\n[i]\nalg_section = a\nrandom = r\n[a]\ndefault_properties = ?x=y\n[r]\nrandom = HASH-DRBG\n",
        b"p = prov\nopenssl_conf = 'i'\n[i]\nproviders = $p\n[prov]\ndefault = d\n[d]\nactivate = \\\n1\n",
        b"config_diagnostics = 1\nopenssl_conf = i\n[i]\nengines = e\n[e]\n",
    ];
    for shape in shapes {
        let Some(scene) = Scene::new(shape) else { return };
        // The edit alone: with all its checks the command takes a second or two a file.
        let options = Options::new(scene.module.to_str().unwrap(), None);
        fs::write(&scene.config, enable(shape, &options, &NoIncludes).unwrap()).unwrap();
        let providers = scene.providers();
        assert!(providers.contains("\n  adjunct\n") && providers.contains("\n  default\n"), "{providers}");
        assert_eq!(providers.contains("\n  base\n"), shape.windows(4).any(|w| w == b"base"));
        good(&scene.run("disable", &["--yes"]));
        assert_eq!(scene.bytes(), shape);
    }
}

/// A file with a byte order mark is edited or refused, since OpenSSL learnt late to read one; a change never leaves a file that does not work.
#[test]
fn a_byte_order_mark_is_served_or_refused() {
    let config = b"\xef\xbb\xbfopenssl_conf = i\n[i]\n";
    let Some(scene) = Scene::new(config) else { return };
    let output = scene.enable(&[]);
    if output.status.success() {
        assert!(scene.providers().contains("\n  adjunct\n"));
        good(&scene.run("disable", &[]));
    } else {
        failed(&output);
    }
    assert_eq!((scene.bytes(), scene.names()), (config.to_vec(), vec!["openssl.cnf".to_owned()]));
}

#[test]
fn what_is_refused_is_left_alone() {
    for (config, words) in [
        (&b"openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = provider=default\n"[..], "line 5"),
        (b".include x.cnf\n", "relative path"),
        (b"[open\n", "cannot read"),
        (b"# BEGIN adjunct\n", "has no end"),
        (b"a = \0\n", "NUL"),
        (b"openssl_conf = i\n[i]\nssl_conf = s\n[s]\n", "ssl section empty"),
    ] {
        let Some(scene) = Scene::new(config) else { return };
        let line = failed(&scene.enable(&[]));
        assert!(line.contains(words) && line.contains("openssl.cnf"), "{line}");
        assert_eq!(scene.bytes(), config);
        assert_eq!(scene.names(), ["openssl.cnf"]);
    }
}

#[test]
fn a_module_that_does_not_load_changes_nothing() {
    let Some(mut scene) = Scene::new(b"a = b\n") else { return };
    let broken = scene.dir.path().join("broken.so");
    fs::write(&broken, "no library").unwrap();
    scene.module = broken;
    let line = failed(&scene.enable(&[]));
    assert!(line.contains("broken.so: is not a provider of OpenSSL 3: no ELF file"), "{line}");
    scene.module = scene.dir.path().join("missing.so");
    assert!(failed(&scene.enable(&[])).contains("No such file"));
    assert_eq!(scene.bytes(), b"a = b\n");
    assert_eq!(scene.names(), ["broken.so", "openssl.cnf"]);
}

/// A module that takes its program with it must not reach the file: sshd would not start any more.
#[test]
fn a_module_that_crashes_changes_nothing() {
    let Some(mut scene) = Scene::new(b"a = b\n") else { return };
    let (source, module) = (scene.dir.path().join("crash.c"), scene.dir.path().join("crash.so"));
    fs::write(&source, "#include <stdlib.h>\nint OSSL_provider_init(void) { abort(); }\n").unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&module).arg(&source).status();
    if !built.is_ok_and(|s| s.success()) {
        return eprintln!("no C compiler: not tested");
    }
    scene.module = module;
    let line = failed(&scene.enable(&[]));
    assert!(line.contains("crashed (signal 6)") && line.contains("unchanged"), "{line}");
    assert_eq!((scene.bytes(), scene.names().len()), (b"a = b\n".to_vec(), 3));
}

/// A program that fails only once the real file is changed has the change taken back.
#[test]
fn a_failure_after_the_change_puts_the_file_back() {
    let Some(scene) = Scene::new(b"a = b\n") else { return };
    let bin = scene.dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let real = ["/usr/bin/openssl", "/usr/local/bin/openssl"].into_iter().find(|p| Path::new(p).is_file()).unwrap();
    let text = format!(
        "#!/bin/sh\ncase $1:$OPENSSL_CONF in dgst:{}) grep -q BEGIN \"$OPENSSL_CONF\" && exit 7;; esac\nexec {real} \"$@\"\n",
        scene.config.display()
    );
    script(&bin.join("openssl"), &text);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = scene
        .command("enable", &["--trust-module", "--module", scene.module.to_str().unwrap()])
        .env("PATH", path)
        .output()
        .unwrap();
    let line = failed(&output);
    assert!(line.contains("openssl computes: no") && line.contains("was put back"), "{line}");
    assert_eq!(scene.bytes(), b"a = b\n");
    assert_eq!(scene.names(), ["bin", "openssl.cnf"]);
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let Some(scene) = Scene::new(b"a = b\n") else { return };
    assert!(good(&scene.enable(&["--dry-run"])).contains("+default_properties = ?provider=adjunct"));
    assert_eq!((scene.bytes(), scene.names()), (b"a = b\n".to_vec(), vec!["openssl.cnf".to_owned()]));
    let report: serde_json::Value = serde_json::from_str(&good(&scene.enable(&["-n", "--json"]))).unwrap();
    assert_eq!((report["changed"].as_bool(), report["dry_run"].as_bool()), (Some(true), Some(true)));
}

/// Nobody's silence is a yes: without a terminal, and with JSON on standard output, nothing is changed and the flag is named.
#[test]
fn without_a_terminal_nothing_is_changed_unless_told() {
    let Some(scene) = Scene::new(b"a = b\n") else { return };
    let refused = |command: &str, more: &[&str], why: &str| {
        let before = (scene.bytes(), scene.names());
        let mut asks = Command::new(ADJUNCT);
        asks.args(["openssl", command, "--config"]).arg(&scene.config).args(more).env_remove("OPENSSL_CONF");
        let output = asks.env("ADJUNCT_STATS", "off").stdin(Stdio::null()).output().unwrap();
        let line = format!("adjunct: {why}: say --yes, or --dry-run to change nothing; nothing was changed\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), line);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!((scene.bytes(), scene.names()), before);
    };
    let module = ["--trust-module", "--module", scene.module.to_str().unwrap()];
    refused("enable", &module, "there is no terminal to ask at");
    refused("enable", &[&module[..], &["--json"]].concat(), "--json cannot ask");
    good(&scene.enable(&[]));
    refused("disable", &[], "there is no terminal to ask at");
    refused("disable", &["--json"], "--json cannot ask");
}

#[test]
fn changes_of_the_user_survive() {
    let Some(scene) = Scene::new(b"a = b") else { return };
    good(&scene.enable(&["--algorithms", "ciphers,digests"]));
    let mut text = scene.bytes();
    assert!(String::from_utf8_lossy(&text).contains("algorithms = CIPHERS,DIGESTS\n"));
    good(&scene.enable(&["--algorithms", "ALL"]));
    assert_eq!(fs::read(scene.dir.path().join("openssl.cnf.adjunct-backup")).unwrap(), b"a = b");
    text.clone_from(&scene.bytes());
    assert!(String::from_utf8_lossy(&text).contains("algorithms = ALL\n"));
    text.extend_from_slice(b"[mine]\nc = d\n");
    fs::write(&scene.config, &text).unwrap();
    let said = good(&scene.run("disable", &[]));
    assert!(said.contains("only adjunct's block was taken out"), "{said}");
    assert_eq!(scene.bytes(), b"a = b\n[mine]\nc = d\n");
}

#[test]
fn a_link_is_followed_and_stays() {
    let Some(mut scene) = Scene::new(b"a = b\n") else { return };
    let link = scene.dir.path().join("link.cnf");
    symlink("openssl.cnf", &link).unwrap();
    scene.config = link;
    good(&scene.enable(&[]));
    assert!(fs::symlink_metadata(&scene.config).unwrap().is_symlink());
    assert!(scene.names().contains(&"openssl.cnf.adjunct-backup".to_owned()));
    good(&scene.run("disable", &[]));
    assert_eq!(scene.bytes(), b"a = b\n");
}

#[test]
fn words_that_are_wrong_are_2() {
    let Some(scene) = Scene::new(b"") else { return };
    assert_eq!(scene.enable(&["--algorithms", "CYPHERS"]).status.code(), Some(2));
    assert_eq!(scene.enable(&["--yes", "--dry-run"]).status.code(), Some(2));
    assert_eq!(scene.run("enabled", &[]).status.code(), Some(2));
}

/// A folder that the user may not write and a full disk each end in one line of error. Both need root to be set up.
#[test]
fn no_permission_and_no_space_are_one_line() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let stock = vec![b'#'; 12_000];
    let Some(scene) = Scene::new(&stock) else { return };
    let (program, module) = (scene.dir.path().join("adjunct"), scene.dir.path().join("module.so"));
    copy(ADJUNCT, &program);
    fs::copy(&scene.module, &module).unwrap();
    let as_nobody = Command::new(&program)
        .args(["openssl", "enable", "--yes", "--config"])
        .arg(&scene.config)
        .arg("--module")
        .arg(&module)
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    assert!(failed(&as_nobody).contains("run it as root"), "{as_nobody:?}");
    assert_eq!(scene.bytes(), stock);

    let full = scene.dir.path().join("full");
    fs::create_dir(&full).unwrap();
    // Without room for the backup, and with room for no more than that.
    for size in ["16k", "28k"] {
        let script = "mount -t tmpfs -o size=$5 none \"$1\" || exit 77; cp \"$2\" \"$1/a.cnf\" || exit 77; \
                      \"$3\" openssl enable --yes --trust-module --config \"$1/a.cnf\" --module \"$4\"; s=$?; cmp \"$2\" \"$1/a.cnf\" || exit 99; \
                      ls -A \"$1\"; exit $s";
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", script, "sh"])
            .args([&full, &scene.config, &program, &module])
            .arg(size)
            .output();
        match output {
            Ok(output) if output.status.code() == Some(1) && !output.stderr.starts_with(b"unshare") => {
                assert!(failed(&output).contains("the disk is full"), "{output:?}");
                assert!(String::from_utf8_lossy(&output.stdout).ends_with("\na.cnf\n"), "{size}: {output:?}");
            }
            Ok(output) => assert_ne!(output.status.code(), Some(99), "{output:?}"),
            Err(_) => eprintln!("no unshare: the full disk is not tested"),
        }
    }
}

/// Of several commands at once one makes the change, and the backup that it names stays.
#[test]
fn commands_at_once_wait_for_each_other() {
    let Some(scene) = Scene::new(b"a = b\n") else { return };
    let words = ["--trust-module", "--module", scene.module.to_str().unwrap()];
    let start = || scene.command("enable", &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let commands: Vec<_> = (0..3).map(|_| start()).collect();
    let said: Vec<String> = commands.into_iter().map(|command| good(&command.wait_with_output().unwrap())).collect();
    let count = |words: &str| said.iter().filter(|said| said.contains(words)).count();
    assert_eq!((count("backup: "), count("enabled already")), (1, 2), "{said:?}");
    assert_eq!(scene.names(), ["openssl.cnf", "openssl.cnf.adjunct-backup"]);
    good(&scene.run("disable", &[]));
    assert_eq!((scene.bytes(), scene.names()), (b"a = b\n".to_vec(), vec!["openssl.cnf".to_owned()]));
}

/// Root runs no program under a configuration that others can change, or that includes a file or names a module that they can.
#[test]
fn as_root_nothing_runs_under_what_others_can_change() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root is asked for that");
    }
    let Some(scene) = Scene::new(b"") else { return };
    let path = |name: &str| scene.dir.path().join(name);
    let (source, evil, mark) = (path("evil.c"), path("u/evil.so"), path("u/ran"));
    fs::create_dir(path("u")).unwrap();
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) void f(void) {{ FILE *o = fopen(\"{}\", \"a\"); if (o) \
         fclose(o); }}\nint OSSL_provider_init(void) {{ return 0; }}\n",
        mark.display()
    );
    fs::write(&source, code).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&evil).arg(&source).status();
    if !built.is_ok_and(|s| s.success()) {
        return eprintln!("no C compiler: not tested");
    }
    let init = "openssl_conf = o\n[o]\n";
    let provider = format!("{init}providers = p\n[p]\ndefault = d\nevil = e\n[d]\nactivate = 1\n[e]\n");
    let evil_path = evil.display();
    fs::write(path("u/inc.cnf"), format!("[e]\nmodule = {evil_path}\nactivate = 1\n")).unwrap();
    let shapes = [
        format!("{provider}module = {evil_path}\nactivate = 1\n"),
        format!("{provider}1.module = {evil_path}\nactivate = 1\n"),
        format!("{provider}module = ../../../../../../..{evil_path}\nactivate = 1\n"),
        format!("{provider}identity = ../../../../../../..{evil_path}\nactivate = 1\n"),
        format!("{provider}activate = 0\n.include {}\n", path("u/inc.cnf").display()),
        format!("{provider}activate = 0\n.include {}\n", path("u").display()),
        format!("{init}engines = g\n[g]\nx = y\n[y]\nengine_id = x\ndynamic_path = {evil_path}\ninit = 1\n"),
        format!("{init}engines = g\n[g]\nx = y\n[y]\nengine_id = dynamic\nSO_PATH = {evil_path}\nLOAD = EMPTY\n"),
        format!("{init}x = y\n[y]\npath = {evil_path}\n"),
    ];
    chown(path("u"), Some(65534), Some(65534)).unwrap();
    for file in [&evil, &path("u/inc.cnf")] {
        chown(file, Some(65534), Some(65534)).unwrap();
    }
    let survey = ["--below", path("u").to_str().unwrap(), "--proc", "/nonexistent"].map(str::to_owned);
    let survey: Vec<&str> = survey.iter().map(String::as_str).collect();
    for shape in &shapes {
        fs::write(&scene.config, shape).unwrap();
        let line = failed(&scene.enable(&[]));
        assert!(line.contains("root runs nothing under it"), "{shape}: {line}");
        let status = scene.run("status", &survey);
        let said = String::from_utf8_lossy(&status.stdout);
        assert!(said.contains("root runs nothing under it"), "{shape}: {said}");
        let mut doctor = Command::new(ADJUNCT);
        doctor.args(["doctor", "--config"]).arg(&scene.config).arg("openssl").env_remove("OPENSSL_CONF");
        doctor.output().unwrap();
        assert!(!mark.exists(), "{shape}");
        assert_eq!(scene.bytes(), shape.as_bytes());
    }
    // The file itself, though nothing is wrong with what it says.
    fs::write(&scene.config, "a = b\n").unwrap();
    chown(&scene.config, Some(65534), Some(65534)).unwrap();
    for (action, args) in [("disable", &[][..]), ("enable", &["--trust-module"][..])] {
        let line = failed(&scene.run(action, args));
        assert!(line.contains("is another user's than root's"), "{line}");
        assert_eq!(line.lines().count(), 1);
    }
    assert_eq!(scene.bytes(), b"a = b\n");
}

/// What root's doctor advises about a process of another user's is no command of that user's making.
#[test]
fn advice_about_anothers_file_is_for_its_owner_and_one_word() {
    let Some(scene) = Scene::new(b"") else { return };
    let config = scene.dir.path().join("a;touch PWNED;'.cnf");
    fs::write(&config, "[a]\n").unwrap();
    let proc = scene.dir.path().join("proc/4242");
    fs::create_dir_all(&proc).unwrap();
    fs::write(scene.dir.path().join("proc/stat"), "btime 1000000000\n").unwrap();
    fs::write(proc.join("stat"), "4242 (prog) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 1 1 0\n").unwrap();
    fs::write(proc.join("comm"), "prog\n").unwrap();
    fs::write(proc.join("maps"), "7f00-7f01 r-xp 0 fe:00 3 /usr/lib/libcrypto.so.3\n").unwrap();
    fs::write(proc.join("environ"), [b"OPENSSL_CONF=", config.as_os_str().as_bytes(), b"\0"].concat()).unwrap();
    let said = || {
        let mut command = Command::new(ADJUNCT);
        command.args(["doctor", "4242", "--proc"]).arg(scene.dir.path().join("proc")).env_remove("OPENSSL_CONF");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let word = format!("'{}'", config.display().to_string().replace('\'', "'\\''"));
    assert!(said().contains(&format!("adjunct openssl enable --config {word}")), "{}", said());
    if nix::unistd::geteuid().is_root() {
        assert!(said().contains("sudo adjunct"), "{}", said());
        chown(&config, Some(65534), Some(65534)).unwrap();
        assert!(!said().contains("sudo") && said().contains("as the user whose file it is"), "{}", said());
    }
}

/// At a terminal a change that takes long says what is checked: each check by itself is too short to be shown.
#[test]
fn at_a_terminal_what_is_checked_is_shown() {
    let Some(scene) = Scene::new(b"a = b\n") else { return };
    if Command::new("script").arg("--version").output().is_err() {
        return println!("SKIPPED: no script(1) here");
    }
    let bin = scene.dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let real = ["/usr/bin/openssl", "/usr/local/bin/openssl"].into_iter().find(|p| Path::new(p).is_file()).unwrap();
    script(&bin.join("openssl"), &format!("#!/bin/sh\nsleep 1.2\nexec {real} \"$@\"\n"));
    let words =
        ["openssl", "enable", "--yes", "--trust-module", "--module", scene.module.to_str().unwrap(), "--config"];
    let line = format!("{ADJUNCT} {} {}", words.join(" "), scene.config.display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_remove("OPENSSL_CONF").env("ADJUNCT_STATS", "off");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The terminal stays until the command has ended.
    let stdin = child.stdin.take();
    let said = good(&child.wait_with_output().unwrap());
    drop(stdin);
    assert!(said.contains("checking, ") && said.contains("backup: "), "{said}");
}
