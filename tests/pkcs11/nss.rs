//! NSS: modutil adds the module, certutil makes keys and certificates in its token, cmsutil and NSS's TLS server use them.

use adjunct_e2e::lab::feed;
use adjunct_e2e::system::System;
use adjunct_e2e::tls::Server;
use adjunct_e2e::token::{LABEL, Token, line, said, succeed};

#[test]
fn keys_certificates_messages_and_a_server() {
    for system in System::all() {
        let token = Token::new();
        let path = |name: &str| token.path(name);
        let database = format!("sql:{}", path("nss"));
        let command = |program: &str, args: &[&str]| {
            let mut command = token.command(&system, program);
            command.args(["-d", &database, "-f", &path("pin")]).args(args);
            command
        };
        let certutil = |args: &[&str]| succeed(&mut command("certutil", args));
        let modutil = |args: &[&str]| succeed(token.command(&system, "modutil").args(["-dbdir", &database]).args(args));
        std::fs::create_dir(path("nss")).expect("a folder");
        succeed(token.command(&system, "certutil").args(["-N", "--empty-password", "-d", &database]));
        // Without FRIENDLY, NSS looks for a certificate only after a login, for which certutil does not give the PIN everywhere.
        modutil(&["-add", "adjunct", "-libfile", token.module(), "-mechanisms", "FRIENDLY", "-force"]);
        let listed = modutil(&["-list"]);
        assert!(line(&listed, "library name").contains(token.module()), "{listed}");
        assert!(listed.contains("token: icatok") && listed.contains(&format!("token: {LABEL}")), "{listed}");
        token.lab.write("noise", adjunct_e2e::random(64));
        token.lab.write("data", "a message");
        let (noise, request, certificate) = (path("noise"), path("request"), path("certificate"));
        let kept = ["-h", LABEL];
        let made = ["-z", &noise, "-v", "3"];
        let ca = ["-S", "-n", "ca", "-s", "CN=ca", "-x", "-t", "CTu,Cu,Cu", "-k", "rsa", "-g", "2048", "-m", "1"];
        certutil(&[&ca[..], &kept, &made].concat());
        let ec = ["-R", "-s", "CN=localhost", "-k", "ec", "-q", "nistp256", "-z", &noise, "-a", "-o", &request];
        certutil(&[&ec[..], &kept].concat());
        token.lab.openssl(&System::here(), token.lab.stock(), &["req", "-verify", "-noout", "-in", &request], b"");
        let ca = format!("{LABEL}:ca");
        certutil(&["-C", "-c", &ca, "-a", "-i", &request, "-o", &certificate, "-m", "2"]);
        certutil(&[&["-A", "-n", "ec", "-t", "u,u,u", "-a", "-i", &certificate], &kept[..]].concat());
        let ec = format!("{LABEL}:ec");
        let valid = certutil(&["-V", "-n", &ec, "-u", "V"]);
        assert!(valid.contains("certificate is valid"), "{valid}");
        let keys = certutil(&[&["-K"], &kept[..]].concat());
        assert!(line(&keys, &ca).contains("rsa") && line(&keys, &ec).contains("ec"), "{keys}");
        if system.name != "here" {
            continue;
        }
        let cmsutil = |args: &[&str]| succeed(&mut command("cmsutil", args));
        let (data, sealed) = (path("data"), path("sealed"));
        cmsutil(&["-S", "-N", &ca, "-i", &data, "-o", &sealed]);
        assert_eq!(cmsutil(&["-D", "-i", &sealed]), "a message");
        cmsutil(&["-E", "-r", &ca, "-i", &data, "-o", &sealed]);
        assert_eq!(cmsutil(&["-D", "-i", &sealed]), "a message");
        let server =
            Server::start(&token.lab, |port| command("selfserv", &["-n", &ca, "-e", &ec, "-p", &port.to_string()]));
        let before = token.calls("ECDSA Sign");
        let mut client = token.command(&System::here(), "openssl");
        client.args(["s_client", "-connect", &format!("127.0.0.1:{}", server.port), "-brief"]);
        let out = feed(client.args(["-sigalgs", "ecdsa_secp256r1_sha256"]), b"GET / HTTP/1.0\r\n\r\n");
        assert!(said(&out).contains("Signature type: ECDSA"), "{}\n{}", said(&out), server.log());
        assert!(token.calls("ECDSA Sign") > before, "{:?}", token.lab.counters());
    }
}
