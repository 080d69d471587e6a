//! `adjunct doctor` about real programs and what runs of them, in a mount namespace with an /etc/ssl of its own in which adjunct is
//! enabled for all. The system's own files are read and never written.

use adjunct_e2e::lab::{Lab, copy_program};
use adjunct_e2e::listener::until;
use adjunct_e2e::system::{is_root, target};
use adjunct_e2e::{ports, skipped, tls};
use adjunct_tool::process::descendants;
use serde_json::Value;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A mount namespace, held open by a process.
struct Machine {
    lab: Lab,
    holder: Child,
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl Machine {
    /// `None`, with the reason printed, where there can be none.
    fn new() -> Option<Machine> {
        let works = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        };
        if !is_root() || !works(&["unshare", "--mount", "true"]) || !works(&["nsenter", "--version"]) {
            skipped("no mount namespaces here (not root, or a container that forbids them)");
            return None;
        }
        let lab = Lab::new();
        assert!(works(&["cp", "-a", "/etc/ssl", lab.path("ssl").to_str().unwrap()]), "/etc/ssl is not copied");
        let ready = lab.path("ready");
        let script = "mount --make-rprivate / && mount --bind \"$1\" /etc/ssl && : >\"$2\" && exec sleep 600";
        let mut command = Command::new("unshare");
        let holder = command.args(["--mount", "sh", "-c", script, "sh"]).arg(lab.path("ssl")).arg(&ready);
        let holder = holder.spawn().expect("unshare");
        until("the namespace", || ready.exists());
        let machine = Machine { lab, holder };
        let module = machine.lab.module();
        let out =
            machine.adjunct(&["openssl", "enable", "--trust-module", "--yes", "--module", module.to_str().unwrap()]);
        assert!(out.status.success(), "{}{}", text(&out.stdout), text(&out.stderr));
        Some(machine)
    }

    /// A program that sees this /etc/ssl.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("-t").arg(self.holder.id().to_string()).args(["-m", "--"]).arg(program);
        command.envs(self.lab.environment()).env_remove("OPENSSL_CONF").env_remove("NODE_OPTIONS").stdin(Stdio::null());
        command
    }

    fn adjunct(&self, args: &[&str]) -> Output {
        self.command(&target().join("adjunct")).args(args).output().expect("adjunct")
    }

    /// Runs `adjunct doctor` on `subject`; its exit status has to agree with the state.
    fn doctor(&self, subject: &str) -> Value {
        let out = self.adjunct(&["doctor", "--json", subject]);
        let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{subject}: {e}: {out:?}"));
        let code = match report["state"].as_str() {
            Some("served" | "served-through-plugin") => 0,
            Some("not-served") => 1,
            _ => 2,
        };
        assert_eq!(out.status.code(), Some(code), "{report}");
        // In words it says the same, in one line for each; but of a program other tests' processes may have come or gone meanwhile.
        let said = self.adjunct(&["doctor", subject]);
        let same = report["kind"] == "program" || said.status.code() == Some(code);
        assert!(same && said.stderr.is_empty(), "{said:?}");
        report
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A process that ends with the test.
struct Runs(Child);

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn real_programs_are_told_apart() {
    let Some(machine) = Machine::new() else { return };
    let first = |places: &[&str]| places.iter().find(|place| Path::new(place).is_file()).map(ToString::to_string);
    let gnutls = |program: &str| {
        let said = Command::new("ldd").arg(program).output().map(|out| text(&out.stdout)).unwrap_or_default();
        said.contains("libgnutls") && !said.contains("libssl.so")
    };
    // The places, the program whose libraries decide, the state, the cause.
    let table: &[(&[&str], &str, &str, Option<&str>)] = &[
        (&["/usr/bin/curl"], "", "served", None),
        (&["/usr/bin/openssl"], "", "served", None),
        (&["/usr/sbin/sshd"], "", "served", None),
        (&["/usr/sbin/nginx"], "", "served", None),
        (&["/usr/bin/python3"], "", "served-through-plugin", None),
        (&["/usr/sbin/apache2"], "", "served-through-plugin", None),
        (&["/usr/bin/node"], "", "served", None),
        (&["/usr/bin/git"], "/usr/lib/git-core/git-remote-https", "not-served", Some("gnutls")),
        (&["/usr/bin/wget"], "/usr/bin/wget", "not-served", Some("gnutls")),
        (&["/usr/bin/gnutls-cli"], "/usr/bin/gnutls-cli", "not-served", Some("gnutls")),
        (&["/usr/bin/apt"], "/usr/lib/apt/methods/https", "not-served", Some("gnutls")),
        (&["/usr/bin/certutil"], "", "not-served", Some("nss")),
        (&["/usr/bin/java"], "", "not-served", Some("java")),
        (&["/usr/local/go/bin/go", "/usr/lib/go/bin/go"], "", "not-served", Some("go")),
        (&["/bin/true"], "", "not-served", Some("no-crypto")),
    ];
    for (places, by, state, cause) in table {
        let Some(program) = first(places).filter(|_| by.is_empty() || gnutls(by)) else {
            skipped(&format!("{}: not here, or made otherwise", places[0]));
            continue;
        };
        // Apache's module is switched on by a link where Debian's configuration is there.
        let off = program.ends_with("apache2") && Path::new("/etc/apache2/mods-available/ssl.load").exists();
        // Node with the system's libcrypto, or none of its own section, is another case.
        let node = program.ends_with("node");
        let report = machine.doctor(&program);
        if (off && !Path::new("/etc/apache2/mods-enabled/ssl.load").exists()) || (node && report["state"] != *state) {
            skipped(&format!("{program}: {}", report["sentence"]));
            continue;
        }
        let found = (report["program"]["state"].as_str(), report["program"]["cause"].as_str());
        assert_eq!(found, (Some(*state), *cause), "{report:#}");
    }
    // `status` says the same, and names a cause where it once said nothing.
    let said = text(&machine.adjunct(&["openssl", "status", "--program", "/usr/bin/python3"]).stdout);
    assert!(!Path::new("/usr/bin/python3").exists() || said.contains("served through _ssl"), "{said}");
    assert!(said.contains("for sshd:       enabled for all programs"), "{said}");
    let own = machine.doctor(target().join("adjunct").to_str().unwrap());
    assert_eq!(own["state"], "served", "{own}");
}

/// A TLS server of `openssl`'s, asked once.
fn server(machine: &Machine, conf: Option<&Path>) -> (Runs, u16) {
    let port = ports::free();
    let mut command = machine.command(Path::new("openssl"));
    command.args(["s_server", "-quiet", "-www", "-accept", &format!("127.0.0.1:{port}")]);
    command.arg("-cert").arg(machine.lab.path("rsa.pem")).arg("-key").arg(machine.lab.path("rsa.key"));
    if let Some(conf) = conf {
        command.env("OPENSSL_CONF", conf);
    }
    let server = Runs(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("openssl s_server"));
    until("s_server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (server, port)
}

#[test]
fn what_runs_is_told_apart() {
    let Some(machine) = Machine::new() else { return };
    tls::certificates(&machine.lab);
    let (served, port) = server(&machine, None);
    for subject in [format!("localhost:{port}"), served.0.id().to_string()] {
        let report = machine.doctor(&subject);
        assert_eq!((report["state"].as_str(), report["cause"].as_str()), (Some("served"), None), "{report:#}");
        assert_eq!(report["processes"][0]["pid"], served.0.id());
    }
    let stock = machine.lab.stock().to_owned();
    let (other, _) = server(&machine, Some(&stock));
    let report = machine.doctor(&other.0.id().to_string());
    assert_eq!(
        (report["state"].as_str(), report["cause"].as_str()),
        (Some("not-served"), Some("environment-config")),
        "{report:#}"
    );
    assert!(report["sentence"].as_str().unwrap().contains(stock.to_str().unwrap()), "{report}");
    // An upgrade: the module is replaced by rename.
    let restarts = || text(&machine.adjunct(&["doctor", "--restarts"]).stdout);
    let mine = format!("process {})", served.0.id());
    assert!(!restarts().contains(&mine), "{}", restarts());
    let (new, module) = (machine.lab.path("new.so"), machine.lab.module());
    copy_program(&module, &new);
    std::fs::rename(&new, &module).unwrap();
    let report = machine.doctor(&served.0.id().to_string());
    assert_eq!(
        (report["state"].as_str(), report["cause"].as_str()),
        (Some("served"), Some("module-replaced")),
        "{report:#}"
    );
    assert!(restarts().lines().any(|l| l.contains(&mine) && l.contains("the code of adjunct")), "{}", restarts());
    // What was started before it was enabled.
    let again = std::fs::File::options().append(true).open(machine.lab.path("ssl/openssl.cnf")).unwrap();
    let program: PathBuf = machine.lab.path("sleeper");
    let source = machine
        .lab
        .write("sleeper.c", "int EVP_sha256(); int pause(); int main() { EVP_sha256(); pause(); return 0; }");
    let libcrypto = text(&Command::new("sh").args(["-c", "ldd $(command -v openssl)"]).output().unwrap().stdout);
    let libcrypto = libcrypto.split_whitespace().find(|w| w.starts_with('/') && w.contains("libcrypto.so")).unwrap();
    let built = Command::new("cc").args(["-w", "-o"]).arg(&program).arg(source).arg(libcrypto).status();
    if !built.is_ok_and(|status| status.success()) {
        return skipped("no compiler here");
    }
    let sleeper = Runs(machine.command(&program).spawn().unwrap());
    let maps = || std::fs::read_to_string(format!("/proc/{}/maps", sleeper.0.id())).unwrap_or_default();
    until("the program", || maps().contains("libcrypto"));
    again.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(3600)).unwrap();
    // It calls nothing that providers serve: that comes first.
    let report = machine.doctor(&sleeper.0.id().to_string());
    assert_eq!(report["cause"], "low-level", "{report:#}");
    let nobody = machine.adjunct(&["doctor", &format!("localhost:{}", ports::free())]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("nothing listens there"), "{nobody:?}");
}

#[test]
fn the_whole_machine_and_disabling() {
    let Some(machine) = Machine::new() else { return };
    let said = machine.adjunct(&["doctor"]);
    let said_text = text(&said.stdout);
    assert!(said_text.starts_with("adjunct: enabled and in force in /etc/ssl/openssl.cnf\n"), "{said:?}");
    assert!(said_text.contains("\nserved\n"), "{said_text}");
    let report: Value = serde_json::from_slice(&machine.adjunct(&["doctor", "--json"]).stdout).unwrap();
    let states: Vec<&str> =
        report["entries"].as_array().unwrap().iter().map(|e| e["state"].as_str().unwrap()).collect();
    let rank =
        |state: &&str| ["not-served", "unknown", "served-through-plugin", "served"].iter().position(|s| s == state);
    assert!(states.is_sorted_by_key(rank), "{states:?}");
    // Node's lines go with the others.
    let edited = std::fs::read_to_string(machine.lab.path("ssl/openssl.cnf")).unwrap();
    assert!(edited.contains("\nnodejs_conf = adjunct_nodejs\n") || edited.contains("nodejs_conf ="), "{edited}");
    if Path::new("/usr/bin/node").exists() {
        let before = machine.lab.counters();
        let code = "require('crypto').createHash('sha256').update('x').digest()";
        let out = machine.command(Path::new("/usr/bin/node")).args(["-e", code]).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        // A node with the libcrypto of the system is served, too.
        machine.lab.moved("node", &before, &["SHA-256"]);
    }
    assert!(machine.adjunct(&["openssl", "disable", "--yes"]).status.success());
    let restored = std::fs::read(machine.lab.path("ssl/openssl.cnf")).unwrap();
    let stock = std::fs::read("/etc/ssl/openssl.cnf").unwrap();
    assert_eq!(text(&restored), text(&stock));
    let report = machine.doctor("/usr/bin/openssl");
    assert_eq!(report["program"]["cause"], "not-enabled", "{report}");
}

/// A container: its own root and processes, with this machine's /usr. What else its root has is said in `more`, folders of this machine's.
fn container(machine: &Machine, name: &str, more: &[&Path]) -> Runs {
    let root = machine.lab.path(name);
    std::fs::create_dir_all(root.join("usr")).unwrap();
    for link in ["bin", "lib", "lib64", "sbin"] {
        std::os::unix::fs::symlink(format!("usr/{link}"), root.join(link)).unwrap();
    }
    let port = ports::free();
    let mut script =
        "mount --make-rprivate / && mount --bind \"$0\" \"$0\" && cd \"$0\" && mkdir -p proc old etc/ssl && \
                      mount --rbind /usr usr && mount -t proc proc proc && "
            .to_owned();
    for folder in more {
        script += &format!("mkdir -p .{0} && mount --bind {0} .{0} && ", folder.display());
    }
    // Nothing of the old root stays.
    script += &format!(
        "pivot_root . old && umount -l old && exec openssl s_server -quiet -www -accept 127.0.0.1:{port} -cert /rsa.pem -key /rsa.key"
    );
    for file in ["rsa.pem", "rsa.key"] {
        std::fs::copy(machine.lab.path(file), root.join(file)).unwrap();
    }
    let words = ["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", &script];
    let mut command = machine.command(Path::new("unshare"));
    command.args(words).arg(&root).stdout(Stdio::null()).stderr(Stdio::null());
    let runs = Runs(command.spawn().expect("unshare"));
    until("s_server in a container", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    runs
}

#[test]
fn a_process_in_a_container_is_seen_from_outside() {
    let Some(machine) = Machine::new() else { return };
    tls::certificates(&machine.lab);
    let (module, folder) = (machine.lab.module(), machine.lab.module().parent().unwrap().to_owned());
    // Without the module, and with it.
    let cases: [(&str, Vec<&Path>, &str); 2] = [
        ("without", vec![], "is not; install adjunct there"),
        ("with", vec![&folder], "is and another openssl.cnf decides; run 'adjunct doctor' there"),
    ];
    for (name, more, words) in cases {
        let runs = container(&machine, name, &more);
        let inside = descendants(runs.0.id());
        let server = inside.into_iter().find(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == "openssl")
        });
        let report = machine.doctor(&server.expect("the server").to_string());
        assert_eq!(
            (report["state"].as_str(), report["cause"].as_str()),
            (Some("not-served"), Some("container")),
            "{report:#}"
        );
        let sentence = report["sentence"].as_str().unwrap();
        assert!(
            sentence.contains(&format!("it runs in a container, where {} {words}", module.display())),
            "{sentence}"
        );
        assert_eq!(report["processes"][0]["unit"], Value::Null, "{report:#}");
    }
    // One that is set up itself.
    let etc = machine.lab.path("enabled/etc/ssl");
    std::fs::create_dir_all(&etc).unwrap();
    std::fs::copy(machine.lab.path("ssl/openssl.cnf"), etc.join("openssl.cnf")).unwrap();
    let runs = container(&machine, "enabled", &[&folder]);
    let server = *descendants(runs.0.id()).last().expect("the server");
    let report = machine.doctor(&server.to_string());
    assert_eq!((report["state"].as_str(), report["cause"].as_str()), (Some("served"), None), "{report:#}");
}

/// Programs in another network and another set of processes, as on another machine (two namespaces and a cable), are not judged.
#[test]
fn another_machine_is_not_judged() {
    let Some(machine) = Machine::new() else { return };
    tls::certificates(&machine.lab);
    let hold = |name: &str| {
        let ready = machine.lab.path(name);
        let mut command = machine.command(Path::new("unshare"));
        command.args([
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            ": >\"$0\"; exec sleep 600",
        ]);
        let holder = Runs(command.arg(&ready).spawn().expect("unshare"));
        until("a namespace", || ready.exists());
        let inside = *descendants(holder.0.id()).first().expect("its first process");
        (holder, inside.to_string())
    };
    let ((_here, here), (_there, there)) = (hold("here"), hold("there"));
    let run = |of: &str, spaces: &[&str], words: &[&str]| {
        let mut command = Command::new("nsenter");
        command.args(["-t", of]).args(spaces).arg("--").args(words).envs(machine.lab.environment());
        command.env_remove("OPENSSL_CONF").stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let done = |of: &str, words: &[&str]| run(of, &["-n"], words).output().expect("nsenter");
    let made = done(&here, &["ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", &there]);
    if !made.status.success() {
        return skipped(&format!("no pair of network interfaces here: {}", text(&made.stderr)));
    }
    for (of, address) in [(&here, "192.0.2.1/24"), (&there, "192.0.2.2/24")] {
        for words in
            [["ip", "address", "add", address, "dev", "cable"].as_slice(), &["ip", "link", "set", "cable", "up"]]
        {
            let out = done(of, words);
            assert!(out.status.success(), "{words:?}: {out:?}");
        }
    }
    let (cert, key) = (machine.lab.path("rsa.pem"), machine.lab.path("rsa.key"));
    let words = ["openssl", "s_server", "-quiet", "-www", "-accept", "192.0.2.2:4433", "-cert"];
    let words = [&words[..], &[cert.to_str().unwrap(), "-key", key.to_str().unwrap()]].concat();
    let _server = Runs(run(&there, &["-m", "-n", "-p"], &words).spawn().expect("s_server"));
    let asks = ["openssl", "s_client", "-connect", "192.0.2.2:4433"];
    until("s_server on the other side", || {
        run(&here, &["-m", "-n", "-p"], &asks).output().is_ok_and(|o| o.status.success())
    });
    let adjunct = target().join("adjunct");
    let asked = |of: &str| {
        let words = [adjunct.to_str().unwrap(), "doctor", "--json", "192.0.2.2:4433"];
        let out = run(of, &["-m", "-n", "-p"], &words).output().expect("adjunct");
        let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        (out.status.code(), report)
    };
    let (code, report) = asked(&here);
    assert_eq!(
        (code, &report["state"], &report["cause"]),
        (Some(2), &"unknown".into(), &"permission".into()),
        "{report:#}"
    );
    let sentence = report["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("192.0.2.2 is another machine") && sentence.contains("run 'adjunct doctor' there"),
        "{sentence}"
    );
    assert_eq!(report["processes"], Value::Array(Vec::new()), "{report:#}");
    // There it is known.
    let (code, report) = asked(&there);
    assert_eq!(
        (code, &report["state"], &report["kind"]),
        (Some(0), &"served".into(), &"listener".into()),
        "{report:#}"
    );
}
