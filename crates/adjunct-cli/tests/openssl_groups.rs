//! `adjunct openssl enable --groups` on copies of configuration files, judged by the real OpenSSL.

mod module;
mod outcome;

use module::module;
use outcome::good;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

struct Scene {
    _dir: TempDir,
    config: PathBuf,
    module: PathBuf,
}

impl Scene {
    fn new(config: &[u8]) -> Option<Scene> {
        let (module, dir) = (module()?, tempfile::tempdir().unwrap());
        let path = dir.path().join("openssl.cnf");
        std::fs::write(&path, config).unwrap();
        Some(Scene { _dir: dir, config: path, module })
    }

    fn run(&self, action: &str, args: &[&str]) -> Output {
        let mut command = Command::new(ADJUNCT);
        command.args(["openssl", action, "--config"]).arg(&self.config).args(args);
        command.args((!args.contains(&"--dry-run") && action != "status").then_some("--yes"));
        command.env_remove("OPENSSL_CONF").env("ADJUNCT_STATS", "off").output().unwrap()
    }

    fn enable(&self, args: &[&str]) -> Output {
        let module = self.module.to_str().unwrap();
        self.run("enable", &[&["--trust-module", "--module", module], args].concat())
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.config).unwrap()
    }
}

/// Major and minor number of the system's OpenSSL.
fn version() -> (u32, u32) {
    let out = Command::new("openssl").arg("version").output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut numbers = text.split_whitespace().nth(1).unwrap().split('.').map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// The command that the block sets groups by.
fn line(text: &str) -> &str {
    let block = text.split_once("# BEGIN adjunct").expect("a block").1;
    block.lines().find(|line| line.contains("Groups = ")).expect("a list of groups")
}

#[test]
fn groups_are_set_shown_tried_and_taken_back() {
    let stock = std::fs::read("/etc/ssl/openssl.cnf").unwrap_or_else(|_| b"openssl_conf = i\n[i]\n".to_vec());
    let Some(scene) = Scene::new(&stock) else { return };
    let shown = good(&scene.enable(&["--groups", "x25519mlkem768,SecP384r1MLKEM1024", "--dry-run"]));
    assert!(shown.contains("+[adjunct_tls]\n+Groups = ") && scene.text().as_bytes() == stock, "{shown}");
    let said = good(&scene.enable(&["--groups", "x25519mlkem768,SecP384r1MLKEM1024"]));
    for check in [
        "TLS agrees on the groups: yes (X25519MLKEM768, SecP384r1MLKEM1024, TLS 1.3 and 1.2)",
        "TLS works without the module: yes (TLS 1.3 and 1.2)",
    ] {
        // A newer OpenSSL has groups of its own in the list.
        let check = if version() < (3, 5) { check } else { check.split(" (").next().unwrap() };
        assert!(said.contains(check), "{said}");
    }
    let marks = if version() < (3, 3) { "" } else { "?" };
    let text = scene.text();
    let list = line(&text).strip_prefix("Groups = ").unwrap();
    assert!(
        list.trim_start_matches("?*")
            .starts_with(&format!("{}X25519MLKEM768:", if version() < (3, 5) { marks } else { "" })),
        "{list}"
    );
    assert!(list.contains(&format!(":{marks}SecP384r1MLKEM1024")) && list.contains("X25519") && list.contains("X448"));
    let status = scene.run(
        "status",
        &["--json", "--below", scene.config.parent().unwrap().to_str().unwrap(), "--proc", "/nonexistent"],
    );
    let value: serde_json::Value = serde_json::from_str(&good(&status)).unwrap();
    assert_eq!(value["tls_groups"].as_str(), Some(list));
    // Enabled again without them, they are gone; disabled, all is.
    good(&scene.enable(&[]));
    assert!(!scene.text().contains("Groups"));
    good(&scene.enable(&["--groups", "X25519MLKEM768"]));
    assert!(good(&scene.run("disable", &[])).contains("byte for byte"));
    assert_eq!(scene.text().as_bytes(), stock);
}

/// A list that is configured already stays in force wherever adjunct's cannot be taken.
#[test]
fn a_list_that_stands_there_is_kept() {
    let config = "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\nMinProtocol = TLSv1.2\nCurves = P-384:P-256\n";
    let Some(scene) = Scene::new(config.as_bytes()) else { return };
    good(&scene.enable(&["--groups", "SecP384r1MLKEM1024"]));
    let text = scene.text();
    let expected = match version() {
        (3, 0..=2) => "adjunct.Groups = SecP384r1MLKEM1024:P-384:P-256",
        (3, 3 | 4) => "adjunct.Groups = ?SecP384r1MLKEM1024:?P-384:?P-256",
        _ => "adjunct.Groups = ?*SecP384r1MLKEM1024 / ?P-384:?P-256",
    };
    assert_eq!(line(&text), expected);
    // The module gone, the server takes what the file named, and nothing else.
    let gone = text.replace(scene.module.to_str().unwrap(), "/nonexistent/adjunct.so");
    let path = scene.config.with_file_name("gone.cnf");
    std::fs::write(&path, gone).unwrap();
    let agreed = |group: &str| handshake(&path, group);
    assert!(agreed("P-384") && agreed("P-256") && !agreed("X25519"));
    good(&scene.run("disable", &[]));
    assert_eq!(scene.text(), config);
}

/// Whether a server under the configuration takes a group.
fn handshake(config: &Path, group: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("req.cnf"), "[req]\ndistinguished_name = dn\n[dn]\n").unwrap();
    let openssl = |config: &Path| {
        let mut command = Command::new("openssl");
        command.env("OPENSSL_CONF", config).stdin(std::process::Stdio::null());
        command
    };
    let (key, cert, request) = (path("key.pem"), path("cert.pem"), path("req.cnf"));
    let make =
        ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-batch", "-subj", "/CN=localhost", "-config", &request];
    let made = openssl(Path::new("/dev/null")).args(make).args(["-keyout", &key, "-out", &cert]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut server = openssl(config);
    server.args(["s_server", "-www", "-accept", "127.0.0.1:0", "-key", &key, "-cert", &cert]);
    let log = std::fs::File::create(path("log")).unwrap();
    let mut server = server.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let start = std::time::Instant::now();
    let port = loop {
        let said = std::fs::read_to_string(path("log")).unwrap();
        let found = said.lines().find_map(|line| line.strip_prefix("ACCEPT ")).and_then(|a| a.rsplit(':').next());
        if let Some(port) = found {
            break port.trim().to_owned();
        }
        assert!(start.elapsed().as_secs() < 60 && server.try_wait().unwrap().is_none(), "{said}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let mut client = openssl(Path::new("/dev/null"));
    client.args(["s_client", "-tls1_3", "-groups", group, "-connect", &format!("127.0.0.1:{port}")]);
    let done = client.output().unwrap().status.success();
    server.kill().unwrap();
    server.wait().unwrap();
    done
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let config = "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\nGroups = $ENV::LIST\n";
    let Some(scene) = Scene::new(config.as_bytes()) else { return };
    let refused = |args: &[&str], code: i32| {
        let output = scene.enable(args);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(scene.text(), config);
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["--groups", "X25519MLKEM768,kyber"], 2).contains("unknown word 'kyber'"));
    assert!(refused(&["--groups", ","], 2).contains("no group given"));
    let line = refused(&["--groups", "X25519MLKEM768"], 1);
    assert!(line.contains("line 7: the list of TLS groups depends on the environment"), "{line}");
    let mut command = Command::new(ADJUNCT);
    let output = command.args(["openssl", "enable", "--for", "ssh", "--groups", "X25519MLKEM768"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // A module that does not offer them: the handshake fails, and nothing is changed.
    if version() < (3, 5) {
        std::fs::write(&scene.config, "openssl_conf = i\n[i]\n").unwrap();
        let output = scene.enable(&["--groups", "X25519MLKEM768", "--algorithms", "RSA,EC"]);
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(line.contains("TLS agrees on the groups: no: ") && line.contains("is unchanged"), "{line}");
        assert_eq!(scene.text(), "openssl_conf = i\n[i]\n");
    }
}
