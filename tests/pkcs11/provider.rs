//! pkcs11-provider under OpenSSL 3: requests, CMS, TLS by keys of a store token, and nginx with workers. Debian 12 has none; the newer
//! suites that the tests know do.

use adjunct_e2e::lab::{feed, stock_conf};
use adjunct_e2e::system::System;
use adjunct_e2e::tls::Server;
use adjunct_e2e::token::{Token, said, succeed};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Kinds of keys, with the name of each and the function that counts its signatures.
const KEYS: [(&str, &str, &str); 4] = [
    ("rsa:2048", "rsa", "RSA-CRT"),
    ("EC:prime256v1", "ec", "ECDSA Sign"),
    ("EC:secp384r1", "p384", "ECDSA Sign"),
    ("EC:edwards25519", "ed25519", "Ed25519 Sign"),
];

/// A token with keys, and a configuration of OpenSSL in which they are.
fn token() -> (Token, PathBuf) {
    let token = Token::new();
    for (at, (kind, label, _)) in KEYS.iter().enumerate() {
        token.pair(kind, label, &format!("0{at}"));
    }
    let conf = configured(&token);
    (token, conf)
}

/// A configuration of OpenSSL with the token.
fn configured(token: &Token) -> PathBuf {
    let lines = format!(
        "[req]\ndistinguished_name = dn\n[dn]\n[pkcs11_sect]\nmodule = /usr/lib/{}-linux-gnu/ossl-modules/pkcs11.so\n\
         pkcs11-module-path = {}\npkcs11-module-token-pin = file:{}\nactivate = 1\n",
        std::env::consts::ARCH,
        token.module(),
        token.path("pin"),
    );
    let conf = stock_conf("").replace("[default_sect]", &format!("pkcs11 = pkcs11_sect\n{lines}[default_sect]"));
    token.lab.write("provider.cnf", conf)
}

/// The systems that have the provider for PKCS #11.
fn systems() -> impl Iterator<Item = System> {
    System::all().into_iter().skip(1)
}

#[test]
fn requests_and_messages() {
    for system in systems() {
        let (token, conf) = token();
        let path = |name: &str| token.path(name);
        let run = |args: &[&str]| succeed(token.command(&system, "openssl").env("OPENSSL_CONF", &conf).args(args));
        let (data, made, opened) = (path("data"), path("made"), path("opened"));
        token.lab.write("data", "a message");
        for (_, label, function) in KEYS {
            let (key, pem) = (token.uri(label, "private"), path(&format!("{label}.pem")));
            let before = token.calls(function);
            run(&["req", "-new", "-key", &key, "-subj", "/CN=provider", "-out", &made]);
            token.lab.openssl(&System::here(), token.lab.stock(), &["req", "-verify", "-noout", "-in", &made], b"");
            run(&["req", "-new", "-x509", "-key", &key, "-subj", "/CN=provider", "-days", "3", "-out", &pem]);
            assert!(token.calls(function) >= before + 2, "{label}: {:?}", token.lab.counters());
            // The provider names no digest of its own for Ed25519.
            let digest: &[&str] = if label == "ed25519" { &["-md", "sha512"] } else { &[] };
            run(&[&["cms", "-sign", "-in", &data, "-signer", &pem, "-inkey", &key, "-out", &made], digest].concat());
            // Verified without the token.
            let verify = ["cms", "-verify", "-in", &made, "-CAfile", &pem, "-purpose", "any", "-out", &opened];
            token.lab.openssl(&system, token.lab.stock(), &verify, b"");
            if label == "ed25519" {
                continue;
            }
            token.lab.openssl(
                &system,
                token.lab.stock(),
                &["cms", "-encrypt", "-in", &data, "-aes256", "-out", &made, &pem],
                b"",
            );
            run(&["cms", "-decrypt", "-in", &made, "-inkey", &key, "-recip", &pem, "-out", &opened]);
            let opened = std::fs::read_to_string(&opened).expect("what was decrypted");
            assert_eq!(opened.trim_end(), "a message", "{label}");
        }
    }
}

/// A key that may be used with RSA-PSS alone gets a certificate of that, beside a key without a list of mechanisms: the provider asks for the lists
/// of all keys, and takes a missing list for a fault of the token's.
#[test]
fn keys_with_a_list_of_mechanisms() {
    for system in systems() {
        let token = Token::new();
        token.pair("rsa:2048", "rsa", "01");
        let pss = ["--keypairgen", "--key-type", "rsa:2048", "--label", "pss", "--id", "02", "--allowed-mechanisms"];
        token.store(&System::here(), &[&pss[..], &["RSA-PKCS-PSS,SHA256-RSA-PKCS-PSS"]].concat());
        let conf = configured(&token);
        let openssl = |args: &[&str]| {
            let mut command = token.command(&system, "openssl");
            feed(command.env("OPENSSL_CONF", &conf).args(args), b"")
        };
        let path = |name: &str| token.path(name);
        for (label, kind, padding) in [("rsa", "rsaEncryption", "pkcs1"), ("pss", "rsassaPss", "pss")] {
            let (key, pem) = (token.uri(label, "private"), path(&format!("{label}.pem")));
            let padding = format!("rsa_padding_mode:{padding}");
            let request =
                ["req", "-new", "-x509", "-key", &key, "-sigopt", &padding, "-subj", "/CN=localhost", "-days", "3"];
            let out = openssl(&[&request[..], &["-out", &pem]].concat());
            assert!(out.status.success(), "{label}: {}", said(&out));
            let text = token.lab.openssl(&system, token.lab.stock(), &["x509", "-noout", "-text", "-in", &pem], b"");
            let text = String::from_utf8_lossy(&text).into_owned();
            assert!(text.contains(&format!("Public Key Algorithm: {kind}\n")), "{label}: {text}");
        }
        token.lab.write("data", "a message");
        let sign = |digest: &str, padding: &str| {
            let padding = format!("rsa_padding_mode:{padding}");
            let key = token.uri("pss", "private");
            let args = ["dgst", digest, "-sigopt", &padding, "-sign", &key, "-out", &path("signed"), &path("data")];
            openssl(&args).status.success()
        };
        assert_eq!([sign("-sha256", "pss"), sign("-sha256", "pkcs1"), sign("-sha512", "pss")], [true, false, false]);
        // One server with both.
        let (rsa, pss) = (token.uri("rsa", "private"), token.uri("pss", "private"));
        let server = Server::start(&token.lab, |port| {
            let mut command = token.command(&system, "openssl");
            command.env("OPENSSL_CONF", &conf).args(["s_server", "-WWW", "-accept", &format!("127.0.0.1:{port}")]);
            command.args(["-cert", &path("rsa.pem"), "-key", &rsa, "-dcert", &path("pss.pem"), "-dkey", &pss]);
            command
        });
        for (algorithm, label) in [("rsa_pss_rsae_sha256", "rsa"), ("rsa_pss_pss_sha256", "pss")] {
            let mut client = token.command(&System::here(), "openssl");
            client.args([
                "s_client",
                "-connect",
                &format!("127.0.0.1:{}", server.port),
                "-verify_return_error",
                "-brief",
            ]);
            client.args(["-sigalgs", algorithm, "-CAfile", &path(&format!("{label}.pem"))]);
            let out = feed(&mut client, b"");
            assert!(said(&out).contains("Verification: OK"), "{algorithm}: {}\n{}", said(&out), server.log());
        }
    }
}

/// Whether this system's nginx takes keys by their URI, which it does from 1.29 on.
fn nginx_takes_uris(system: &System) -> bool {
    let output = Command::new(system.program("nginx")).arg("-v").stdin(Stdio::null()).output().expect("nginx -v");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, version) = words.split_once("nginx/").unwrap_or_else(|| panic!("not the words of nginx: {words}"));
    let numbers: Vec<u32> = version.trim().split('.').map_while(|it| it.parse().ok()).collect();
    numbers >= vec![1, 29]
}

/// nginx's workers, made by fork after the master process has found the keys and without an environment, use them.
#[test]
fn nginx_with_workers() {
    for system in systems().filter(nginx_takes_uris) {
        let (token, conf) = token();
        let dir = token.lab.dir().display();
        token.lab.write("data", "served\n");
        let mut certificates = String::new();
        for label in ["rsa", "ec"] {
            let (key, pem) = (token.uri(label, "private"), token.path(&format!("{label}.pem")));
            let request = ["req", "-new", "-x509", "-key", &key, "-subj", "/CN=localhost", "-days", "3", "-out", &pem];
            succeed(token.command(&system, "openssl").env("OPENSSL_CONF", &conf).args(request));
            certificates += &format!("ssl_certificate {pem};\nssl_certificate_key \"store:{key}\";\n");
        }
        let server = Server::start(&token.lab, |port| {
            let config = format!(
                "daemon off;\nuser root;\nworker_processes 4;\npid {dir}/nginx.pid;\nerror_log stderr;\nevents {{}}\n\
                 http {{\naccess_log off;\nclient_body_temp_path {dir}/body;\nproxy_temp_path {dir}/proxy;\n\
                 fastcgi_temp_path {dir}/fastcgi;\nuwsgi_temp_path {dir}/uwsgi;\nscgi_temp_path {dir}/scgi;\n\
                 server {{\nlisten 127.0.0.1:{port} ssl reuseport;\nroot {dir};\nssl_protocols TLSv1.2 TLSv1.3;\n\
                 ssl_session_cache off;\n{certificates}}}\n}}\n"
            );
            let config = token.lab.write("nginx.conf", config);
            let mut command = token.command(&system, "nginx");
            command.env("OPENSSL_CONF", &conf).arg("-c").arg(config).args(["-e", "stderr"]);
            command
        });
        let url = format!("https://localhost:{}/data", server.port);
        for (label, function, more) in [
            ("rsa", "RSA-CRT", &["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"][..]),
            ("ec", "ECDSA Sign", &["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]),
            ("ec", "ECDSA Sign", &["--tlsv1.3"]),
        ] {
            let before = token.calls(function);
            let connections = 12;
            for _ in 0..connections {
                let mut curl = token.command(&System::here(), "curl");
                curl.args(["-sS", "--noproxy", "*", "--cacert", &token.path(&format!("{label}.pem"))]).args(more);
                let out = feed(curl.arg(&url), b"");
                assert!(out.stdout == b"served\n", "{} {label}: {}\n{}", system.name, said(&out), server.log());
            }
            let made = token.calls(function) - before;
            assert!(made >= connections, "{label}: {made} of {connections}: {:?}", token.lab.counters());
        }
        assert!(!server.log().contains("[crit]") && !server.log().contains("signal"), "{}", server.log());
    }
}
