//! TLS by `openssl s_server` and `s_client`, nginx and curl: adjunct on either side, stock on the other.

use adjunct_e2e::lab::{Lab, adjunct_conf, feed, stock_conf};
use adjunct_e2e::random;
use adjunct_e2e::system::System;
use adjunct_e2e::tls::{KINDS, Server, certificates, fetch};
use std::path::Path;

/// A lab with certificates and a file to serve.
fn lab(len: usize) -> (Lab, Vec<u8>) {
    let lab = Lab::new();
    certificates(&lab);
    let data = random(len);
    lab.write("data", &data);
    (lab, data)
}

fn suites(lab: &Lab, system: &System, args: &[&str]) -> Vec<String> {
    let out = lab.openssl(system, lab.stock(), &[&["ciphers", "-s"], args].concat(), b"");
    let text = String::from_utf8_lossy(&out).into_owned();
    text.trim().split(':').map(str::to_owned).collect()
}

/// The counted function of a suite that authenticates by itself.
fn function(suite: &str) -> &'static [&'static str] {
    match suite {
        s if s.contains("AES") && s.contains("GCM") => &["AES GCM"],
        s if s.contains("AES") && s.contains("CCM") => &["AES CCM"],
        s if s.contains("CHACHA20") => &["ChaCha20-Poly1305"],
        _ => &[],
    }
}

/// Every TLS 1.2 suite; `more` goes into the configuration of the server.
fn every_tls12_suite(system: &System, more: &str, only: &str) {
    let (lab, data) = lab(200_000);
    let stock = lab.write("stock-more.cnf", stock_conf(more));
    let adjunct = lab.write("adjunct-more.cnf", adjunct_conf(&lab.module(), "", more));
    let all = "ALL:@SECLEVEL=0:!PSK:!SRP:!aNULL:!ADH:!AECDH:!aDSS";
    let suites = suites(&lab, system, &["-tls1_2", all]);
    assert!(suites.len() > 30, "{suites:?}");
    for (client, server) in [(lab.adjunct(), stock.as_path()), (lab.stock(), adjunct.as_path())] {
        let server = Server::s_server(&lab, system, server, &["-tls1_2", "-cipher", all]);
        for suite in suites.iter().filter(|s| only.is_empty() || (s.contains(only) && !s.contains("GCM"))) {
            let before = lab.counters();
            let cipher = format!("{suite}:@SECLEVEL=0");
            let said = fetch(&lab, system, client, &server, &["-tls1_2", "-cipher", &cipher], &data);
            assert!(said.contains(suite.as_str()), "{suite}: {said}");
            lab.moved(suite, &before, function(suite));
        }
    }
}

#[test]
fn every_tls12_suite_here() {
    every_tls12_suite(&System::here(), "", "");
}

#[test]
fn every_tls12_suite_newer() {
    for system in System::all().iter().skip(1) {
        every_tls12_suite(system, "", "");
    }
}

/// MAC-then-encrypt: padding and MAC are removed inside the cipher, a path of its own in libssl and in the provider.
#[test]
fn tls12_without_encrypt_then_mac() {
    let off = "ssl_conf = ssl_sect\n[ssl_sect]\nsystem_default = tls_sect\n[tls_sect]\nOptions = -EncryptThenMac";
    for system in System::all() {
        every_tls12_suite(&system, off, "SHA");
    }
}

#[test]
fn every_tls13_suite_and_group() {
    for system in System::all() {
        let (lab, data) = lab(200_000);
        let all = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:\
                   TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256";
        for (client, server) in [(lab.adjunct(), lab.stock()), (lab.stock(), lab.adjunct())] {
            let groups = if system.name == "here" {
                "X25519:P-256:P-384:P-521:X448"
            } else {
                "X25519:P-256:P-384:P-521:X448:X25519MLKEM768"
            };
            let options = ["-tls1_3", "-ciphersuites", all, "-groups", groups, "-cipher", "DEFAULT:@SECLEVEL=0"];
            let server = Server::s_server(&lab, &system, server, &options);
            for suite in all.split(':') {
                let before = lab.counters();
                let options = ["-tls1_3", "-ciphersuites", suite, "-cipher", "DEFAULT:@SECLEVEL=0"];
                let said = fetch(&lab, &system, client, &server, &options, &data);
                assert!(said.contains(suite), "{suite}: {said}");
                lab.moved(suite, &before, function(suite));
            }
            for group in groups.split(':') {
                fetch(&lab, &system, client, &server, &["-tls1_3", "-groups", group], &data);
            }
        }
    }
}

#[test]
fn certificates_of_every_kind_on_both_sides() {
    for system in System::all() {
        let (lab, data) = lab(20_000);
        let path = |name: &str, end: &str| lab.path(&format!("{name}.{end}")).display().to_string();
        for (client, server) in [(lab.adjunct(), lab.stock()), (lab.stock(), lab.adjunct())] {
            for (name, _) in KINDS {
                let (cert, key) = (path(name, "pem"), path(name, "key"));
                let args = ["-cert", &cert, "-key", &key, "-Verify", "3", "-verify_return_error"];
                let server = Server::s_server(&lab, &system, server, &args);
                for version in ["-tls1_2", "-tls1_3"] {
                    fetch(&lab, &system, client, &server, &[version, "-cert", &cert, "-key", &key], &data);
                }
                // Without a certificate the server must refuse: it did check.
                let mut command = lab.command(&system, "openssl", client);
                command.args(["s_client", "-tls1_2", "-connect", &format!("127.0.0.1:{}", server.port)]);
                assert!(!feed(&mut command, b"").status.success(), "{name}: accepted without a certificate");
            }
        }
    }
}

#[test]
fn sessions_are_resumed() {
    for system in System::all() {
        let (lab, data) = lab(20_000);
        let session = lab.path("session").display().to_string();
        for (client, server) in [(lab.adjunct(), lab.stock()), (lab.stock(), lab.adjunct())] {
            let server = Server::s_server(&lab, &system, server, &[]);
            for version in ["-tls1_2", "-tls1_3"] {
                let said = fetch(&lab, &system, client, &server, &[version, "-sess_out", &session], &data);
                assert!(said.contains("\nNew, "), "{said}");
                let said = fetch(&lab, &system, client, &server, &[version, "-sess_in", &session], &data);
                assert!(said.contains("\nReused, "), "{} {version}: not resumed: {said}", system.name);
            }
        }
    }
}

fn nginx(lab: &Lab, system: &System, conf: &Path) -> Server {
    let dir = lab.dir().display();
    Server::start(lab, |port| {
        let config = format!(
            "daemon off;\nuser root;\nworker_processes 1;\npid {dir}/nginx.pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\nclient_body_temp_path {dir}/body;\nproxy_temp_path {dir}/proxy;\n\
             fastcgi_temp_path {dir}/fastcgi;\nuwsgi_temp_path {dir}/uwsgi;\nscgi_temp_path {dir}/scgi;\n\
             server {{\nlisten 127.0.0.1:{port} ssl;\nroot {dir};\nssl_protocols TLSv1.2 TLSv1.3;\n\
             ssl_certificate {dir}/rsa.pem;\nssl_certificate_key {dir}/rsa.key;\n\
             ssl_certificate {dir}/ecdsa.pem;\nssl_certificate_key {dir}/ecdsa.key;\n\
             ssl_client_certificate {dir}/ca.pem;\nssl_verify_client optional;\nssl_session_cache shared:s:1m;\n\
             location /private {{\nif ($ssl_client_verify != SUCCESS) {{ return 403; }}\nalias {dir}/data;\n}}\n}}\n}}\n"
        );
        let config = lab.write("nginx.conf", config);
        let mut command = lab.command(system, "nginx", conf);
        command.arg("-c").arg(config).args(["-e", "stderr"]);
        command
    })
}

#[test]
fn nginx_and_curl() {
    for system in System::all() {
        let (lab, data) = lab(3_000_000);
        let path = |name: &str| lab.path(name).display().to_string();
        for (client, server) in [(lab.adjunct(), lab.stock()), (lab.stock(), lab.adjunct())] {
            let before = lab.counters();
            let server = nginx(&lab, &system, server);
            let curl = |args: &[&str], what: &str| {
                let url = format!("https://localhost:{}/{what}", server.port);
                let mut command = lab.command(&system, "curl", client);
                command.args([
                    "-sS",
                    "--fail",
                    "--noproxy",
                    "*",
                    "--resolve",
                    &format!("localhost:{}:127.0.0.1", server.port),
                ]);
                feed(command.arg("--cacert").arg(path("ca.pem")).args(args).args([&url, &url]), b"")
            };
            let twice = [data.as_slice(), &data].concat();
            let rounds: [&[&str]; 5] = [
                &["--tlsv1.3"],
                &["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"],
                &["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"],
                &["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES256-SHA384"],
                &["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-CHACHA20-POLY1305"],
            ];
            for args in rounds {
                let out = curl(args, "data");
                assert!(
                    out.status.success(),
                    "{} {args:?}: {}{}",
                    system.name,
                    String::from_utf8_lossy(&out.stderr),
                    server.log()
                );
                assert!(out.stdout == twice, "{} {args:?}: the data differs", system.name);
            }
            assert!(!curl(&[], "private").status.success(), "served without a certificate");
            for kind in ["rsa", "ecdsa"] {
                let (cert, key) = (path(&format!("{kind}.pem")), path(&format!("{kind}.key")));
                let out = curl(&["--cert", &cert, "--key", &key], "private");
                assert!(out.stdout == twice, "{} {kind}: {}", system.name, String::from_utf8_lossy(&out.stderr));
            }
            lab.moved(system.name, &before, &["AES GCM", "SHA-256"]);
        }
    }
}
