//! ML-KEM in TLS: this machine's OpenSSL, which has none of its own, with adjunct, and its nginx, HAProxy and curl, with the peers that
//! have it: OpenSSL 3.5 and later, and Chromium.

use adjunct_e2e::lab::{Counters, Lab, adjunct_conf, copy_program, feed, stock_conf};
use adjunct_e2e::random;
use adjunct_e2e::skipped;
use adjunct_e2e::system::{NEWEST, System, target};
use adjunct_e2e::tls::{Server, certificates, fetch};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The groups, as TLS counts them.
const GROUPS: [(&str, u16); 6] = [
    ("X25519MLKEM768", 0x11EC),
    ("SecP256r1MLKEM768", 0x11EB),
    ("SecP384r1MLKEM1024", 0x11ED),
    ("MLKEM512", 0x0200),
    ("MLKEM768", 0x0201),
    ("MLKEM1024", 0x0202),
];

/// What `adjunct openssl enable --groups X25519MLKEM768` writes for libssl.
const LIST: &str = "ssl_conf = ssl_sect\n[ssl_sect]\nsystem_default = tls_sect\n[tls_sect]\n\
                    Groups = X25519MLKEM768:X25519:P-256:X448:P-521:P-384";

/// A system whose OpenSSL has ML-KEM itself.
fn newest() -> Option<System> {
    System::suite(NEWEST)
}

/// Whether this machine's OpenSSL has none.
fn older() -> bool {
    System::here().versions().1 < (3, 5)
}

fn lab() -> (Lab, Vec<u8>) {
    let lab = Lab::new();
    certificates(&lab);
    let data = random(20_000);
    lab.write("data", &data);
    (lab, data)
}

/// Configurations with adjunct and the list of groups; and with the list alone, in a program that cannot load the module.
fn with_list(lab: &Lab) -> [PathBuf; 2] {
    let modules = [("list.cnf", lab.module()), ("unloaded.cnf", PathBuf::from("/nonexistent/adjunct.so"))];
    modules.map(|(name, module)| lab.write(name, adjunct_conf(&module, "", LIST)))
}

fn calls(counters: &Counters, function: &str) -> u64 {
    counters.get(function).map_or(0, |(hardware, software)| hardware + software)
}

/// Checks that one side has counted its part of exchanges by ML-KEM since `before`, in software, and nothing of the other's part.
#[track_caller]
fn counted(lab: &Lab, before: &Counters, server: bool) {
    let (of_client, of_server): (&[&str], &[&str]) = (&["ML-KEM Keygen", "ML-KEM Decaps"], &["ML-KEM Encaps"]);
    let (done, others) = if server { (of_server, of_client) } else { (of_client, of_server) };
    lab.moved("ML-KEM", before, done);
    let after = lab.counters();
    others.iter().for_each(|name| assert_eq!(calls(&after, name), calls(before, name), "{name}"));
}

/// The tests of the provider, with an OpenSSL that has the same of its own beside it.
#[test]
fn keys_and_operations_beside_newer_openssls_own() {
    let built = target().join("deps");
    let programs = std::fs::read_dir(&built).expect("the folder of test programs").flatten();
    let named = |path: &PathBuf| path.extension().is_none() && name(path).starts_with("kem_evp-");
    fn name(path: &Path) -> &str {
        path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
    // What stands there may be of several builds.
    let newest = programs
        .map(|entry| entry.path())
        .filter(named)
        .max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok());
    let program = newest.unwrap_or_else(|| panic!("{}: no kem_evp; run ./check", built.display()));
    for system in System::all().iter().skip(1) {
        let lab = Lab::new();
        let copy = lab.path("kem_evp");
        copy_program(&program, &copy);
        std::fs::copy(lab.module(), lab.path("libadjunct_openssl.so")).expect("the module");
        let out = system.run(&copy).env("OPENSSL_CONF", "/dev/null").output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && said.contains("0 failed"), "{}: {said}", system.name);
    }
}

#[test]
fn every_group_with_openssls_own() {
    let (here, Some(newer)) = (System::here(), newest()) else { return };
    let (lab, data) = lab();
    for (name, _) in GROUPS {
        // Both sides adjunct's under this OpenSSL; each side alone; adjunct beside the newer one's own.
        let groups: &[&str] = &["-tls1_3", "-groups", name];
        let sides = [
            (&here, lab.adjunct(), &here, lab.adjunct()),
            (&newer, lab.stock(), &here, lab.adjunct()),
            (&here, lab.adjunct(), &newer, lab.stock()),
            (&newer, lab.adjunct(), &newer, lab.stock()),
            (&newer, lab.stock(), &newer, lab.adjunct()),
        ];
        for (client, client_conf, server, server_conf) in sides {
            let server = Server::s_server(&lab, server, server_conf, groups);
            let before = lab.counters();
            let said = fetch(&lab, client, client_conf, &server, groups, &data);
            if client.name != "here" {
                assert!(said.contains(&format!("Negotiated TLS1.3 group: {name}\n")), "{said}");
            }
            match (client_conf == lab.adjunct(), server_conf == lab.adjunct()) {
                (true, false) => counted(&lab, &before, false),
                (false, true) => counted(&lab, &before, true),
                _ => lab.moved(name, &before, &["ML-KEM Keygen", "ML-KEM Encaps", "ML-KEM Decaps"]),
            }
        }
    }
}

/// Groups that no list names are neither offered nor taken; TLS 1.2 does not know them.
#[test]
fn no_group_is_offered_that_nobody_names() {
    if !older() {
        return;
    }
    let here = System::here();
    let (lab, data) = lab();
    let server = Server::s_server(&lab, &here, lab.adjunct(), &["-msg"]);
    let before = lab.counters();
    fetch(&lab, &here, lab.adjunct(), &server, &["-tls1_3"], &data);
    assert_eq!(calls(&lab.counters(), "ML-KEM Keygen"), calls(&before, "ML-KEM Keygen"));
    let mut command = lab.command(&here, "openssl", lab.adjunct());
    let address = format!("127.0.0.1:{}", server.port);
    let out = feed(command.args(["s_client", "-tls1_3", "-groups", "X25519MLKEM768", "-connect", &address]), b"");
    assert!(!out.status.success(), "a server takes what its list does not name");
    let [list, _] = with_list(&lab);
    let server = Server::s_server(&lab, &here, &list, &[]);
    let before = lab.counters();
    fetch(&lab, &here, &list, &server, &["-tls1_2"], &data);
    assert_eq!(calls(&lab.counters(), "ML-KEM Keygen"), calls(&before, "ML-KEM Keygen"));
    fetch(&lab, &here, lab.stock(), &server, &["-tls1_3"], &data);
    fetch(&lab, &here, &list, &server, &["-tls1_3"], &data);
    lab.moved("the list", &before, &["ML-KEM Keygen", "ML-KEM Encaps", "ML-KEM Decaps"]);
}

/// Without the KEM keyword the groups with ML-KEM are not offered, and every other group is.
#[test]
fn the_keyword_switches_them_off() {
    if !older() {
        return;
    }
    let here = System::here();
    let (lab, data) = lab();
    let off = lab.write("off.cnf", adjunct_conf(&lab.module(), "algorithms = RSA,EC,CIPHERS,DIGESTS,MACS", ""));
    let only = lab.write("only.cnf", adjunct_conf(&lab.module(), "algorithms = KEM", ""));
    let list = |conf: &Path| {
        String::from_utf8_lossy(&lab.openssl(&here, conf, &["list", "-kem-algorithms"], b"")).into_owned()
    };
    assert!(!list(&off).contains("MLKEM") && list(&only).contains("X25519MLKEM768 @ adjunct"));
    let out = lab.try_openssl(&here, &off, &["s_client", "-groups", "X25519MLKEM768"], b"");
    assert!(!out.status.success());
    for conf in [&off, &only] {
        let server = Server::s_server(&lab, &here, conf, &[]);
        for group in ["X25519", "P-256", "P-384", "X448", "ffdhe2048"] {
            fetch(&lab, &here, conf, &server, &["-tls1_3", "-groups", group], &data);
        }
    }
    let groups: &[&str] = &["-tls1_3", "-groups", "X25519MLKEM768"];
    fetch(&lab, &here, &only, &Server::s_server(&lab, &here, &only, groups), groups, &data);
}

fn nginx(lab: &Lab, conf: &Path, more: &str) -> Server {
    let dir = lab.dir().display();
    Server::start(lab, |port| {
        let config = format!(
            "daemon off;\nuser root;\nworker_processes 1;\npid {dir}/nginx.pid;\nerror_log stderr warn;\nevents {{}}\n\
             http {{\naccess_log off;\nclient_body_temp_path {dir}/body;\nproxy_temp_path {dir}/proxy;\n\
             fastcgi_temp_path {dir}/fastcgi;\nuwsgi_temp_path {dir}/uwsgi;\nscgi_temp_path {dir}/scgi;\n\
             server {{\nlisten 127.0.0.1:{port} ssl;\nssl_protocols TLSv1.2 TLSv1.3;\n{more}\n\
             ssl_certificate {dir}/rsa.pem;\nssl_certificate_key {dir}/rsa.key;\n\
             location / {{\ndefault_type text/plain;\nreturn 200 \"agreed on $ssl_protocol $ssl_curve.\";\n}}\n}}\n}}\n"
        );
        let config = lab.write(&format!("nginx-{port}.conf"), config);
        let mut command = lab.command(&System::here(), "nginx", conf);
        command.arg("-c").arg(config).args(["-e", "stderr"]);
        command
    })
}

fn haproxy(lab: &Lab, conf: &Path, global: &str, more: &str) -> Server {
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect("a certificate");
    let pem = lab.write("both.pem", read("rsa.pem") + &read("rsa.key"));
    Server::start(lab, |port| {
        let config = format!(
            "global\n maxconn 100\n {global}\ndefaults\n mode http\n timeout client 60s\n timeout connect 60s\n timeout server 60s\n\
             frontend f\n bind 127.0.0.1:{port} ssl crt {} {more}\n http-request return status 200 content-type \
             text/plain lf-string \"agreed on %[ssl_fc_protocol] .\"\n",
            pem.display()
        );
        let mut command = lab.command(&System::here(), "haproxy", conf);
        command.arg("-db").arg("-f").arg(lab.write(&format!("haproxy-{port}.cfg"), config));
        command
    })
}

/// What `openssl s_client` says of a connection.
fn client(lab: &Lab, system: &System, server: &Server, args: &[&str]) -> String {
    let mut command = lab.command(system, "openssl", lab.stock());
    let address = format!("127.0.0.1:{}", server.port);
    let out = feed(command.args(["s_client", "-connect", &address]).args(args), b"");
    assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&out.stderr), server.log());
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

fn curl(lab: &Lab, system: &System, conf: &Path, port: u16, args: &[&str]) -> String {
    let mut command = lab.command(system, "curl", conf);
    let resolve = format!("localhost:{port}:127.0.0.1");
    command.args(["-sS", "--fail", "--noproxy", "*", "--resolve", &resolve, "--cacert"]).arg(lab.path("ca.pem"));
    let out = feed(command.args(args).arg(format!("https://localhost:{port}/")), b"");
    assert!(out.status.success(), "{} {args:?}: {}", system.name, String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Servers of this Debian with newer clients agree on ML-KEM, by the system's list and by lists of their own.
#[test]
fn servers_of_this_debian_with_newer_clients() {
    let (here, Some(newer)) = (System::here(), newest()) else { return };
    if !older() {
        return;
    }
    let (lab, _) = lab();
    let [list, _] = with_list(&lab);
    let (nginx_own, haproxy_own) =
        ("ssl_ecdh_curve X25519MLKEM768:X25519:P-256;", "curves X25519MLKEM768:X25519:P-256");
    // In HAProxy's asynchronous mode handshakes run in fibers, whose stacks are too small for ML-KEM.
    let set_ups = [(list.as_path(), "", "", ""), (lab.adjunct(), nginx_own, "ssl-mode-async", haproxy_own)];
    for (conf, for_nginx, global, for_haproxy) in set_ups {
        for (what, server) in
            [("nginx", nginx(&lab, conf, for_nginx)), ("haproxy", haproxy(&lab, conf, global, for_haproxy))]
        {
            let before = lab.counters();
            // OpenSSL 3.6's own choice is X25519MLKEM768.
            let said = client(&lab, &newer, &server, &[]);
            assert!(said.contains("Negotiated TLS1.3 group: X25519MLKEM768\n"), "{what}: {said}");
            counted(&lab, &before, true);
            let said = curl(&lab, &newer, lab.stock(), server.port, &["--tlsv1.3"]);
            // nginx 1.22 has no name for a group that OpenSSL's table of numbers lacks.
            let curve = if what == "nginx" { "0x11ec" } else { "" };
            assert_eq!(said, format!("agreed on TLSv1.3 {curve}."), "{what}");
            // What has no ML-KEM agrees as before.
            client(&lab, &here, &server, &["-tls1_3"]);
            client(&lab, &here, &server, &["-tls1_2"]);
            assert!(!server.log().contains("alert"), "{what}: {}", server.log());
        }
    }
}

#[test]
fn curl_of_this_debian_with_a_newer_server() {
    let (here, Some(newer)) = (System::here(), newest()) else { return };
    let (lab, _) = lab();
    let [list, _] = with_list(&lab);
    let only = Server::s_server(&lab, &newer, lab.stock(), &["-tls1_3", "-groups", "X25519MLKEM768", "-www"]);
    let before = lab.counters();
    assert!(curl(&lab, &here, &list, only.port, &[]).contains("TLSv1.3"));
    counted(&lab, &before, false);
    let before = lab.counters();
    curl(&lab, &here, lab.adjunct(), only.port, &["--curves", "X25519MLKEM768:X25519"]);
    counted(&lab, &before, false);
}

#[test]
fn chromium_with_the_servers_of_this_debian() {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let Some(program) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs) else {
        return skipped("no Chromium here");
    };
    let (lab, _) = lab();
    let [list, _] = with_list(&lab);
    for (what, server) in [("nginx", nginx(&lab, &list, "")), ("haproxy", haproxy(&lab, &list, "", ""))] {
        let before = lab.counters();
        let mut command = Command::new(program);
        let profile = lab.path(&format!("profile-{what}"));
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--ignore-certificate-errors"]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg("--dump-dom").env("HOME", lab.dir());
        let out = feed(command.arg(format!("https://127.0.0.1:{}/", server.port)), b"");
        let page = String::from_utf8_lossy(&out.stdout).into_owned();
        let curve = if what == "nginx" && older() { "0x11ec" } else { "" };
        assert!(page.contains(&format!("agreed on TLSv1.3 {curve}")), "{page}{}", server.log());
        counted(&lab, &before, true);
    }
}

/// With a list that names a group of the module's, programs that cannot load the module go on as without the list.
#[test]
fn nobody_is_locked_out_where_the_module_does_not_load() {
    let here = System::here();
    let (lab, data) = lab();
    let [_, unloaded] = with_list(&lab);
    let server = Server::s_server(&lab, &here, &unloaded, &[]);
    for (client, args) in
        [(lab.stock(), "-tls1_3"), (lab.stock(), "-tls1_2"), (&unloaded, "-tls1_3"), (&unloaded, "-tls1_2")]
    {
        fetch(&lab, &here, client, &server, &[args], &data);
    }
    for (what, server) in [("nginx", nginx(&lab, &unloaded, "")), ("haproxy", haproxy(&lab, &unloaded, "", ""))] {
        assert!(curl(&lab, &here, &unloaded, server.port, &[]).starts_with("agreed on TLSv1.3"));
        assert_eq!(server.log(), "", "{what}");
    }
    // Since 3.4 a list that cannot be taken may end a program; so there are question marks.
    let marks = "ssl_conf = ssl_sect\n[ssl_sect]\nsystem_default = tls_sect\n[tls_sect]\nGroups = ?*NOTTHERE / ?*X25519:?secp256r1";
    for system in System::all().iter().skip(1) {
        let text = format!("config_diagnostics = 1\n{}", stock_conf(marks));
        let conf = lab.write("marks.cnf", text);
        let server = Server::s_server(&lab, system, &conf, &[]);
        fetch(&lab, system, &conf, &server, &["-tls1_3"], &data);
    }
}

/// Changes a side's first record on its way to the other; gives what the other answers.
fn between(server: u16, start_client: impl FnOnce(u16) -> Command, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let mut command = start_client(port);
    std::thread::scope(|scope| {
        scope.spawn(move || feed(&mut command, b""));
        let (mut client, _) = listener.accept().expect("the client");
        let mut head = [0; 5];
        client.read_exact(&mut head).expect("a record");
        let mut record = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        client.read_exact(&mut record).expect("all of it");
        change(&mut record);
        let mut server = TcpStream::connect(("127.0.0.1", server)).expect("the server");
        server.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        server.write_all(&[&head[..], &record].concat()).expect("sent");
        let mut answer = vec![0; 7];
        server.read_exact(&mut answer).expect("an answer");
        answer
    })
}

#[test]
fn shares_that_are_no_keys_are_illegal_parameters() {
    let here = System::here();
    let (lab, _) = lab();
    for (name, number) in GROUPS {
        let groups = ["-tls1_3", "-groups", name];
        let server = Server::s_server(&lab, &here, lab.adjunct(), &groups);
        let answer = |change: &dyn Fn(&mut [u8])| {
            between(
                server.port,
                |port| {
                    let mut command = lab.command(&here, "openssl", lab.adjunct());
                    command.args(["s_client", "-connect", &format!("127.0.0.1:{port}")]).args(groups);
                    command
                },
                |record| {
                    // The entry of the group in the extension: its number, the share's length, the share.
                    let entry = |w: &[u8]| w[..2] == number.to_be_bytes() && u16::from_be_bytes([w[2], w[3]]) > 700;
                    let at = record.windows(4).position(entry).expect("the share");
                    let length = usize::from(u16::from_be_bytes([record[at + 2], record[at + 3]]));
                    change(&mut record[at + 4..at + 4 + length]);
                },
            )
        };
        // As it came: a handshake record.
        assert_eq!(answer(&|_| {})[0], 22, "{name}");
        let mlkem = match name {
            "SecP256r1MLKEM768" => 65,
            "SecP384r1MLKEM1024" => 97,
            _ => 0,
        };
        let alert = [21, 3, 3, 0, 2, 2, 47];
        assert_eq!(answer(&|share| share[mlkem..mlkem + 3].fill(0xff)), alert, "{name}: not reduced");
        if mlkem != 0 {
            assert_eq!(answer(&|share| share[9] ^= 1), alert, "{name}: off the curve");
            assert_eq!(answer(&|share| share[0] = 6), alert, "{name}: another form");
        }
        if name == "X25519MLKEM768" {
            assert_eq!(answer(&|share| share[1184..].fill(0)), alert, "{name}: a point of small order");
        }
    }
}
