//! `adjunct ssh verify`: its verdicts against real sessions, old and new OpenSSH, with and without adjunct on either side, and
//! what it says when there is no session.

use adjunct_cli::ssh::lab::Sshd;
use adjunct_e2e::lab::{Lab, adjunct_conf, has_hardware};
use adjunct_e2e::ports::Refusing;
use adjunct_e2e::session::LIMIT;
use adjunct_e2e::skipped;
use adjunct_e2e::ssh::Ssh;
use adjunct_e2e::system::{System, is_root, target};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const GCM: &str = "Ciphers=aes128-gcm@openssh.com";
const SIZE: u64 = 300_000;

/// `adjunct ssh verify` with the client's OpenSSL configuration.
fn verify(lab: &Lab, conf: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(target().join("adjunct"));
    command.args(["ssh", "verify"]);
    if !args.contains(&"--size") {
        command.args(["--size", &SIZE.to_string()]);
    }
    command.args(args);
    command.env("OPENSSL_CONF", conf).envs(lab.environment()).env_remove("ADJUNCT_CPU").stdin(Stdio::null());
    command
}

/// `ssh verify` with a private server, both of `system`.
fn private(lab: &Lab, system: &System, conf: &Path, options: &[&str]) -> Command {
    let mut command = verify(lab, conf, &["--private", "--json"]);
    command.arg("--ssh").arg(system.program("ssh")).arg("--sshd").arg(system.program("sshd"));
    for option in options {
        command.args(["-o", option]);
    }
    command
}

/// Runs `ssh verify`; gives its report and its exit status, which must agree with the report.
fn report(command: &mut Command) -> (Value, i32) {
    let out = command.output().expect("adjunct runs");
    let (said, code) = (String::from_utf8_lossy(&out.stderr).into_owned(), out.status.code().unwrap_or(-1));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {code}: {said}"));
    assert_eq!(code, if report["bulk_in_hardware"] == true { 0 } else { 3 }, "{report:#}");
    (report, code)
}

fn part<'a>(report: &'a Value, name: &str, end: &str) -> &'a Value {
    let parts = report["parts"].as_array().expect("parts");
    &parts.iter().find(|p| p["part"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))[end]
}

fn algorithm<'a>(report: &'a Value, name: &str) -> &'a Value {
    let parts = report["parts"].as_array().expect("parts");
    &parts.iter().find(|p| p["part"] == name).expect("the part")["algorithm"]
}

/// What a part is at an end: `hardware`, or `software cpu-lacks`.
fn served(report: &Value, name: &str, end: &str) -> String {
    let part = part(report, name, end);
    let word = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("served"), word("cause")).trim().to_owned()
}

/// What this machine must be found to do for a function in bulk.
fn expected(function: &str) -> &'static str {
    if has_hardware(function) { "hardware" } else { "software" }
}

const CIPHERS: [&str; 2] = ["cipher-to-server", "cipher-to-client"];
const MACS: [&str; 2] = ["mac-to-server", "mac-to-client"];
const ENDS: [&str; 2] = ["client", "server"];

#[test]
fn gcm_on_both_sides_is_hardware_with_its_proof() {
    for system in System::all() {
        let lab = Lab::new();
        let (report, code) = report(&mut private(&lab, &system, lab.adjunct(), &[GCM]));
        assert_eq!(code == 0, has_hardware("AES GCM"), "{}: {report:#}", system.name);
        for (name, directions) in CIPHERS.iter().zip([["enc", "dec"], ["dec", "enc"]]) {
            assert_eq!(algorithm(&report, name), "aes128-gcm@openssh.com");
            for (end, direction) in ENDS.iter().zip(directions) {
                assert!(served(&report, name, end).starts_with(expected("AES GCM")), "{}: {report:#}", system.name);
                let proof = &part(&report, name, end)["proof"][0];
                assert_eq!(
                    (&proof["function"], &proof["bits"], &proof["direction"]),
                    (&"AES GCM".into(), &128.into(), &direction.into())
                );
                let bytes = proof["hw_bytes"].as_u64().expect("bytes") + proof["sw_bytes"].as_u64().expect("bytes");
                // The session's data and little else.
                assert!((SIZE..SIZE + 100_000).contains(&bytes), "{}: {name} {end}: {bytes}", system.name);
            }
        }
        for (name, end) in MACS.iter().flat_map(|m| ENDS.map(|e| (m, e))) {
            assert_eq!(served(&report, name, end), "nothing authenticated", "{}", system.name);
        }
        // OpenSSH's own to 10.2, EVP from 10.3 on.
        let own = system.name != "sid";
        let key = served(&report, "host-key", "server");
        assert!(
            if own { key == "not-by-adjunct built-in" } else { key.starts_with("software") },
            "{}: {key}",
            system.name
        );
        assert_eq!(served(&report, "key-exchange", "client"), "not-by-adjunct built-in", "{}", system.name);
        assert_eq!(report["bytes"], SIZE);
    }
}

#[test]
fn a_mac_of_its_own_is_judged_of_its_own() {
    for system in System::all() {
        let lab = Lab::new();
        let with_mac = |mac: &str| report(&mut private(&lab, &system, lab.adjunct(), &["Ciphers=aes128-ctr", mac]));
        let (report, code) = with_mac("MACs=hmac-sha2-256-etm@openssh.com");
        for (name, end) in MACS.iter().flat_map(|m| ENDS.map(|e| (m, e))) {
            assert!(served(&report, name, end).starts_with(expected("SHA-256")), "{}: {report:#}", system.name);
        }
        assert_eq!(code == 0, has_hardware("AES CTR") && has_hardware("SHA-256"), "{}: {report:#}", system.name);
        let (report, code) = with_mac("MACs=umac-64-etm@openssh.com");
        assert_eq!(served(&report, MACS[0], "client"), "not-by-adjunct built-in", "{}", system.name);
        assert_eq!(code, 3, "{}: OpenSSH's own MAC", system.name);
        assert!(report["advice"][0].as_str().expect("advice").contains("umac-64-etm"), "{report:#}");
    }
}

#[test]
fn chacha20_is_software_and_a_mask_is_named() {
    let (lab, system) = (Lab::new(), System::here());
    let (chacha, code) = report(&mut private(&lab, &system, lab.adjunct(), &["Ciphers=chacha20-poly1305@openssh.com"]));
    assert_eq!(code, 3);
    for (name, end) in CIPHERS.iter().flat_map(|c| ENDS.map(|e| (c, e))) {
        assert_eq!(served(&chacha, name, end), "software no-instruction", "{chacha:#}");
    }
    let mut masked = private(&lab, &system, lab.adjunct(), &[GCM]);
    let mask = if cfg!(target_arch = "aarch64") { "-aes,-pmull" } else { "-aes,-pclmul" };
    let (masked, code) = report(masked.env("ADJUNCT_CPU", mask));
    assert_eq!(code, 3);
    if has_hardware("AES GCM") {
        assert_eq!(served(&masked, CIPHERS[0], "client"), "software masked", "{masked:#}");
        assert_eq!(served(&masked, CIPHERS[1], "server"), "software masked", "{masked:#}");
    }
}

#[test]
fn public_keys_take_the_engine_or_the_provider_by_version() {
    for system in System::all() {
        let lab = Lab::new();
        let engine = lab.write("engine.cnf", adjunct_conf(&lab.module(), "engine = RSA,EC", ""));
        let options = [
            GCM,
            "KexAlgorithms=ecdh-sha2-nistp384",
            "HostKeyAlgorithms=ecdsa-sha2-nistp384",
            "PubkeyAcceptedAlgorithms=rsa-sha2-512",
        ];
        let (with, _) = report(&mut private(&lab, &system, &engine, &options));
        for name in ["key-exchange", "host-key", "user-key"] {
            for end in ENDS {
                let served = served(&with, name, end);
                assert!(
                    served.starts_with("software") || served.starts_with("hardware"),
                    "{}: {name} {end}: {with:#}",
                    system.name
                );
            }
        }
        assert_eq!(part(&with, "host-key", "server")["proof"][0]["function"], "ECDSA Sign");
        assert_eq!(part(&with, "user-key", "client")["proof"][0]["function"], "RSA CRT");
        let (without, _) = report(&mut private(&lab, &system, lab.adjunct(), &options));
        // ECDH passes providers by in every version; signatures up to 9.8.
        assert_eq!(served(&without, "key-exchange", "client"), "not-by-adjunct needs-engine", "{}", system.name);
        let signature = served(&without, "host-key", "server");
        if system.name == "here" && old(&without) {
            assert_eq!(signature, "not-by-adjunct needs-engine");
        } else {
            let served = signature.starts_with("software") || signature.starts_with("hardware");
            assert!(served, "{}: {signature}", system.name);
        }
    }
}

/// Whether the server is older than OpenSSH 9.9.
fn old(report: &Value) -> bool {
    let version = report["server"].as_str().unwrap_or_default().trim_start_matches("OpenSSH_").to_owned();
    let number: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let (major, minor) = number.split_once('.').expect("a version");
    (major.parse::<u32>().expect("major"), minor.parse::<u32>().expect("minor")) < (9, 9)
}

/// A running server, and a client's configuration file that leads to it by the name `peer`.
fn peer(ssh: &Ssh, lab: &Lab, conf: &Path, more: &str) -> (Sshd, PathBuf) {
    let sshd = ssh.serve(lab, conf, &["AllowTcpForwarding yes".to_owned()]);
    let dir = ssh.place.dir().display();
    let text = format!(
        "Host *\nHostKeyAlias adjunct-private\nUser {}\nIdentityFile {}\nIdentitiesOnly yes\nIdentityAgent none\n\
         UserKnownHostsFile {dir}/known_hosts\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n{more}\n\
         Host peer jump\nHostName 127.0.0.1\nPort {}\n",
        ssh.place.user,
        ssh.key().display(),
        sshd.port()
    );
    (sshd, ssh.place.write("peer_config", &text).expect("ssh_config"))
}

fn with_peer(lab: &Lab, system: &System, conf: &Path, config: &Path) -> Command {
    let mut command = verify(lab, conf, &["peer", "--json", "-o", GCM, "-F"]);
    command.arg(config).arg("--ssh").arg(system.program("ssh"));
    command
}

/// Each side of a server that others run on this machine is seen in the ordinary counters. Old and new, on one side each.
#[test]
fn each_side_is_seen_for_itself() {
    if !is_root() {
        skipped("only root reads sshd's counters");
        return;
    }
    let here = System::here();
    let newest = System::all().pop().expect("at least this machine");
    for (client, server) in [(&here, &newest), (&newest, &here)] {
        let lab = Lab::new();
        let ssh = Ssh::new(client, server);
        let (stock_server, config) = peer(&ssh, &lab, lab.stock(), "");
        let (only_client, code) = report(&mut with_peer(&lab, client, lab.adjunct(), &config));
        assert_eq!(code, 3, "{only_client:#}");
        assert!(served(&only_client, CIPHERS[0], "client").starts_with(expected("AES GCM")), "{only_client:#}");
        assert_eq!(served(&only_client, CIPHERS[0], "server"), "not-by-adjunct not-enabled", "{only_client:#}");
        stock_server.stop().expect("sessions end");
        let (_server, config) = peer(&ssh, &lab, lab.adjunct(), "");
        let (only_server, code) = report(&mut with_peer(&lab, client, lab.stock(), &config));
        assert_eq!(code, 3, "{only_server:#}");
        assert_eq!(served(&only_server, CIPHERS[0], "client"), "not-by-adjunct not-enabled", "{only_server:#}");
        assert!(served(&only_server, CIPHERS[1], "server").starts_with(expected("AES GCM")), "{only_server:#}");
        let (both, code) = report(&mut with_peer(&lab, client, lab.adjunct(), &config));
        assert_eq!(code == 0, has_hardware("AES GCM"), "{both:#}");
        assert!(both["notes"][0].as_str().expect("a note").contains("ordinary counters"), "{both:#}");
    }
}

/// An ssh on the way, of a jump host, is no part of the session.
#[test]
fn a_jump_host_is_not_counted() {
    let (lab, system) = (Lab::new(), System::here());
    let ssh = Ssh::new(&system, &system);
    let jump = |how: &str| format!("Match host peer\n{how}\nMatch all\n");
    for how in ["ProxyJump jump", "ProxyCommand ssh -F %d/none -W %h:%p jump"] {
        // The second needs the file by its name, which is known only here.
        let path = ssh.place.path("peer_config");
        let how = how.replace("%d/none", &path.display().to_string());
        let (server, config) = peer(&ssh, &lab, lab.adjunct(), "");
        let text = std::fs::read_to_string(&config).expect("ssh_config");
        std::fs::write(&config, jump(&how) + &text).expect("ssh_config");
        let (report, _) = report(&mut with_peer(&lab, &system, lab.adjunct(), &config));
        let proof = &part(&report, CIPHERS[0], "client")["proof"][0];
        let bytes = proof["hw_bytes"].as_u64().expect("bytes") + proof["sw_bytes"].as_u64().expect("bytes");
        assert!((SIZE..SIZE + 100_000).contains(&bytes), "{how}: {bytes}: {report:#}");
        server.stop().expect("sessions end");
    }
}

/// A signature that an agent made is not looked for in ssh's counters.
#[test]
fn an_agent_signs_for_itself() {
    let (lab, system) = (Lab::new(), System::here());
    let ssh = Ssh::new(&system, &system);
    let socket = ssh.place.path("agent");
    let agent =
        lab.command(&system, "ssh-agent", lab.stock()).args(["-D", "-a"]).arg(&socket).stdout(Stdio::null()).spawn();
    let mut agent = agent.expect("ssh-agent runs");
    let start = Instant::now();
    let added = loop {
        let mut add = lab.command(&system, "ssh-add", lab.stock());
        let out = add.env("SSH_AUTH_SOCK", &socket).arg(ssh.key()).output().expect("ssh-add runs");
        if out.status.success() || start.elapsed() > LIMIT {
            break out;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (_server, config) = peer(&ssh, &lab, lab.adjunct(), "");
    // The first value wins: the agent, and no file's private half.
    let text = std::fs::read_to_string(&config).expect("ssh_config");
    let first = format!("IdentityAgent {}\n", socket.display());
    std::fs::write(&config, first + &text).expect("ssh_config");
    let mut command = with_peer(&lab, &system, lab.adjunct(), &config);
    let report = report(&mut command);
    agent.kill().expect("kill");
    agent.wait().expect("wait");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    assert_eq!(served(&report.0, "user-key", "client"), "not-by-adjunct elsewhere", "{:#}", report.0);
}

#[test]
fn a_forced_command_is_said() {
    let (lab, system) = (Lab::new(), System::here());
    let ssh = Ssh::new(&system, &system);
    let keys = ssh.place.authorized_keys();
    let key = std::fs::read_to_string(&keys).expect("the public key");
    std::fs::write(keys, format!("command=\"true\" {key}")).expect("authorized keys");
    let (_server, config) = peer(&ssh, &lab, lab.adjunct(), "");
    let (report, _) = report(&mut with_peer(&lab, &system, lab.adjunct(), &config));
    assert_eq!(report["bytes"], 0);
    assert_eq!(served(&report, CIPHERS[0], "server"), "not-visible not-visible", "{report:#}");
    assert!(report["notes"].to_string().contains("forced command"), "{report:#}");
}

/// Without a host, `ssh verify` takes a server that listens on this machine.
#[test]
fn this_machines_own_server_is_preferred() {
    let (lab, system) = (Lab::new(), System::here());
    let ssh = Ssh::new(&system, &system);
    let server = ssh.serve(&lab, lab.adjunct(), &["AllowTcpForwarding yes".to_owned()]);
    let (port, key) = (server.port().to_string(), ssh.key());
    let out = verify(&lab, lab.adjunct(), &["-F", "none", "-p", &port, "-o", GCM, "-o", "IdentityAgent=none", "-i"])
        .arg(key)
        .output()
        .expect("adjunct runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code() == Some(0), has_hardware("AES GCM"), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert!(text.contains("with this machine's sshd (127.0.0.1)") && text.contains("AES GCM 128 enc: "), "{text}");
    assert!(text.contains("the cipher authenticates by itself"), "{text}");
}

/// Data go to this machine's own server and back without a shell of the account's, which would run its startup files; a server
/// that does not allow it is not used.
#[test]
fn this_machines_own_server_runs_no_shell() {
    let (lab, system) = (Lab::new(), System::here());
    let ssh = Ssh::new(&system, &system);
    let keys = ssh.place.authorized_keys();
    let key = std::fs::read_to_string(&keys).expect("the public key");
    let ran = lab.path("ran");
    let server = ssh.serve(&lab, lab.adjunct(), &["AllowTcpForwarding yes".to_owned()]);
    let port = server.port().to_string();
    let run = |options: &str| {
        std::fs::write(&keys, format!("{options} {key}")).expect("authorized keys");
        let mut command = verify(&lab, lab.adjunct(), &["--json", "-F", "none", "-p", &port, "-o", GCM, "-i"]);
        command.arg(ssh.key()).args(["-o", "IdentityAgent=none"]).output().expect("adjunct runs")
    };
    // A forced command runs in the shell whenever any command or shell is asked for.
    let forced = format!("command=\"echo >{}\"", ran.display());
    let out = run(&forced);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("a report");
    assert_eq!((report["target"].as_str(), report["bytes"].as_u64()), (Some("own"), Some(300_000)), "{report:#}");
    assert_eq!(report["bulk_in_hardware"], has_hardware("AES GCM"), "{report:#}");
    assert!(!ran.exists(), "a shell ran");
    refused(&run(&format!("restrict,{forced}")), 1, "forwards no connection (AllowTcpForwarding");
    assert!(!ran.exists(), "a shell ran");
}

/// Checks for an exit status, one line on standard error, and nothing on standard output.
fn refused(out: &Output, code: i32, words: &str) {
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{said}");
    assert!(out.stdout.is_empty() && said.contains(words), "'{words}' not in: {said}");
    assert!(code == 2 || said.lines().count() == 1, "{said}");
}

#[test]
fn no_session_is_one_line() {
    let (lab, system) = (Lab::new(), System::here());
    let ssh = Ssh::new(&system, &system);
    let (server, config) = peer(&ssh, &lab, lab.stock(), "");
    let config = config.to_str().expect("a path");
    let run = |args: &[&str]| verify(&lab, lab.stock(), args).output().expect("adjunct runs");
    let to_peer = |more: &[&str]| run(&[&["-F", config, "peer"], more].concat());

    refused(&run(&["-F", config, "no.such.host.invalid"]), 1, "check the name");
    refused(&to_peer(&["-o", "Ciphers=3des-cbc"]), 1, "in common");
    refused(&to_peer(&["-l", "nobody"]), 1, "Permission denied");
    refused(&to_peer(&["-o", "HostKeyAlias=unknown"]), 1, "not known here");
    refused(&to_peer(&["-o", "Ciphers=nonsense"]), 1, "Bad SSH2 cipher spec");
    refused(&to_peer(&["-o", "Nonsense=1"]), 1, "Bad configuration option");
    refused(&run(&["-F", "/nonexistent/config", "peer"]), 1, "/nonexistent/config");
    refused(&run(&["--ssh", "/nonexistent/ssh", "peer"]), 1, "no such program");
    refused(&run(&["--ssh", "/bin/true", "peer"]), 1, "is no OpenSSH");
    refused(&run(&["--private", "--sshd", "/nonexistent/sshd"]), 1, "no such program");
    refused(&run(&["--private", "-i", "/nonexistent/key"]), 1, "/nonexistent/key.pub");
    refused(&run(&["--private", "peer"]), 2, "cannot be used with");
    refused(&run(&["--size", "0", "peer"]), 2, "from 1 byte");
    refused(&run(&["--", "-oProxyCommand=true"]), 2, "not a host");

    let known = ssh.place.keygen(&ssh.place.path("another"), "ed25519", 256).expect("a key");
    ssh.place.write("known_hosts", &format!("adjunct-private {known}")).expect("known_hosts");
    refused(&to_peer(&[]), 1, "not the known one");
    drop(server);
    // The port it had may be another test's server's by now.
    let refusing = Refusing::new();
    let port = refusing.port.to_string();
    refused(&to_peer(&["-p", &port]), 1, "no SSH server listens");
    refused(&run(&["-p", &port]), 1, "no SSH server listens");
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    adjunct_tool::process::descendants(pid)
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let lab = Lab::new();
    // It takes the connection and never says a word.
    let silent = adjunct_e2e::ports::listener();
    let port = silent.local_addr().expect("an address").port().to_string();
    let temp = lab.path("temp");
    std::fs::create_dir(&temp).expect("a folder");
    let mut command = verify(&lab, lab.stock(), &["-F", "none", "-p", &port, "127.0.0.1"]);
    let child =
        command.env("TMPDIR", &temp).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("adjunct runs");
    let start = Instant::now();
    while std::fs::read_dir(&temp).expect("the folder").flatten().all(|e| !e.path().join("ssh_log").exists()) {
        assert!(start.elapsed() < LIMIT, "ssh did not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    let started = children(child.id());
    // SAFETY: a signal to a child of ours.
    unsafe { libc::kill(i32::try_from(child.id()).expect("pid"), libc::SIGINT) };
    let out = child.wait_with_output().expect("it ends");
    refused(&out, 1, "interrupted");
    for pid in started {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is left");
    }
    assert_eq!(std::fs::read_dir(&temp).expect("the folder").count(), 0, "a folder is left");
}
