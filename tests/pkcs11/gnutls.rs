//! GnuTLS: p11tool makes keys in a token and tries them, certtool makes certificates and requests with them.

use adjunct_e2e::system::System;
use adjunct_e2e::token::{LABEL, PIN, SO_PIN, Token, line, succeed};

const TEMPLATE: &str = "cn = gnutls\nca\ncert_signing_key\ntls_www_server\nexpiration_days = 3\n";

#[test]
fn keys_certificates_and_requests() {
    for system in System::all() {
        let token = Token::new();
        let path = |name: &str| token.path(name);
        let gnutls = |program: &str, args: &[&str]| {
            let mut command = token.command(&system, program);
            command.env("GNUTLS_PIN", PIN).env("GNUTLS_SO_PIN", SO_PIN).args(["--provider", token.module()]);
            succeed(command.args(args))
        };
        let here = |args: &[&str]| token.lab.openssl(&System::here(), token.lab.stock(), args, b"");
        let of = format!("pkcs11:token={LABEL}");
        token.lab.write("template", TEMPLATE);
        let tokens = gnutls("p11tool", &["--list-tokens"]);
        assert!(tokens.contains("token=icatok") && tokens.contains(&format!("token={LABEL}")), "{tokens}");
        let mut kinds = vec![("rsa", &["--bits=2048"][..]), ("ecdsa", &["--curve=secp384r1"])];
        // GnuTLS of Debian 12 asks for a key of CKM_EDDSA, which makes signatures and no keys.
        if system.name != "here" {
            kinds.push(("ed25519", &[]));
        }
        for (kind, more) in kinds {
            let generate = format!("--generate-privkey={kind}");
            let label = format!("--label={kind}");
            let public = path(&format!("{kind}.public"));
            gnutls("p11tool", &[&["--login", &generate, &label, "--outfile", &public], more, &[of.as_str()]].concat());
            let (private, public) = (token.uri(kind, "private"), token.uri(kind, "public"));
            // p11tool would try Ed25519 with SHA-256, which there is not.
            if kind != "ed25519" {
                let said = gnutls("p11tool", &["--login", "--test-sign", &private]);
                assert_eq!(said.matches("... ok").count(), 3, "{} {kind}: {said}", system.name);
            }
            let (certificate, request) = (path(&format!("{kind}.pem")), path(&format!("{kind}.csr")));
            let template = path("template");
            let with = ["--template", &template, "--load-privkey", &private, "--load-pubkey", &public];
            gnutls("certtool", &[&["--generate-self-signed"], &with[..], &["--outfile", &certificate]].concat());
            here(&["verify", "-CAfile", &certificate, &certificate]);
            gnutls("certtool", &[&["--generate-request"], &with[..], &["--outfile", &request]].concat());
            here(&["req", "-verify", "-noout", "-in", &request]);
            let label = format!("--label={kind}");
            gnutls("p11tool", &["--login", "--write", "--load-certificate", &certificate, &label, &of]);
            let listed = gnutls("p11tool", &["--list-all-certs", &of]);
            assert!(line(&listed, "object=").contains(&format!("object={kind};type=cert")), "{listed}");
            let back = gnutls("p11tool", &["--export", &token.uri(kind, "cert")]);
            let pem = std::fs::read_to_string(&certificate).expect("the certificate");
            let begin = pem.find("-----BEGIN").expect("PEM");
            assert!(back.contains(pem[begin..].trim_end()), "{kind}: the certificate differs");
            for what in ["cert", "private", "public"] {
                gnutls("p11tool", &["--login", "--delete", "--batch", &token.uri(kind, what)]);
            }
        }
        let random = gnutls("p11tool", &["--generate-random=16", "--outfile", &path("random"), "pkcs11:token=icatok"]);
        assert_eq!(std::fs::metadata(path("random")).map(|file| file.len()).ok(), Some(16), "{random}");
    }
}

#[test]
fn a_token_is_initialized() {
    for system in System::all() {
        let token = Token::uninitialized();
        let gnutls = |args: &[&str]| {
            let mut command = token.command(&system, "p11tool");
            command.env("GNUTLS_PIN", PIN).env("GNUTLS_SO_PIN", SO_PIN).args(["--provider", token.module()]);
            succeed(command.args(args))
        };
        gnutls(&["--initialize", "--label", LABEL, "--set-so-pin", SO_PIN, "pkcs11:model=Store"]);
        gnutls(&["--initialize-pin", "--set-so-pin", SO_PIN, "--set-pin", PIN, &format!("pkcs11:token={LABEL}")]);
        assert!(token.store(&system, &["-O"]).contains("CKP_BASELINE_PROVIDER"), "{}", system.name);
    }
}
