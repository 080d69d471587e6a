//! OpenSC's pkcs11-tool: its own tests, and keys used there and by openssl.

use adjunct_e2e::deep;
use adjunct_e2e::system::System;
use adjunct_e2e::token::{ACCELERATOR, LABEL, PIN, STORE, Token, line};

#[test]
fn its_own_tests() {
    let token = Token::new();
    // It tests signatures with the first key it finds, and with RSA alone.
    token.pair("rsa:2048", "rsa", "01");
    for system in System::all() {
        let said = token.store(&system, &["--test"]);
        assert!(said.contains("No errors"), "{}: {said}", system.name);
        for passed in ["SHA256: OK", "SHA1-RSA-PKCS: OK", "RSA-X-509: OK", "RSA-PKCS: OK"] {
            assert!(said.contains(passed), "{} {passed}: {said}", system.name);
        }
        assert!(!said.to_lowercase().contains("error:") && !said.contains("ERR"), "{}: {said}", system.name);
        let said = token.tool_of(&system, &["--slot", ACCELERATOR, "--test"]);
        assert!(said.contains("No errors"), "{}: {said}", system.name);
        // It wants a login, which the accelerator token asks of nobody, but not a session in which keys can be made.
        let curve = ["--session-rw", "--test-ec", "--id", "77", "--key-type", "EC:prime256v1"];
        let said = token.store(&system, &curve);
        assert!(said.contains("==> OK"), "{}: {said}", system.name);
        let said = token.store(&system, &["--test-fork"]);
        assert!(said.contains("in forked child process ***"), "{}: {said}", system.name);
        if deep() {
            // It sleeps for half a minute. All but the first thread find the module initialized, which it calls an error.
            let said =
                token.tool_of(&system, &["--test-threads", "IL", "--test-threads", "ILGISLT0", "--test-threads", "IN"]);
            let ended = (0..3).all(|thread| said.contains(&format!("Test thread {thread} returning rv")));
            assert!(ended && said.contains("cleanup finished"), "{}: {said}", system.name);
        }
    }
}

#[test]
fn what_there_is() {
    let token = Token::new();
    token.pair("EC:prime256v1", "ec", "02");
    for system in System::all() {
        let said = token.tool_of(&system, &["-I"]);
        assert!(line(&said, "Cryptoki version").contains("3.2"), "{said}");
        let said = token.tool_of(&system, &["--list-interfaces"]);
        let of = |version: &str| said.matches(&format!("version: {version}")).count();
        assert_eq!((of("3.2"), of("3.0"), of("2.40")), (2, 2, 2), "{said}");
        assert_eq!(said.matches("flags=0x1").count(), 3, "{said}");
        let said = token.tool_of(&system, &["-L"]);
        assert!(said.contains("icatok") && said.contains(LABEL), "{said}");
        let mechanisms = |slot: &str| token.tool_of(&system, &["--slot", slot, "-M"]);
        for slot in [ACCELERATOR, STORE] {
            let said = mechanisms(slot);
            assert!(said.contains("RSA-PKCS-KEY-PAIR-GEN, keySize={512,16384}, generate_key_pair"), "{said}");
            assert!(line(&said, "  ECDSA,").contains("sign, verify, EC F_P"), "{said}");
        }
        // Private objects are for whoever has logged in.
        let said = token.tool_of(&system, &["--slot", STORE, "-O"]);
        assert!(said.contains("Public Key Object") && !said.contains("Private Key Object"), "{said}");
        let said = token.store(&system, &["-O"]);
        assert!(line(&said, "CKP_BASELINE_PROVIDER").contains('1') && said.contains("Private Key Object"), "{said}");
    }
}

/// Signatures and ciphertexts go from the one to the other.
#[test]
fn keys_work_with_openssl() {
    let token = Token::new();
    let here = System::here();
    let path = |name: &str| token.path(name);
    let openssl = |args: &[&str]| token.lab.openssl(&here, token.lab.stock(), args, b"");
    let data = adjunct_e2e::random(3000);
    token.lab.write("data", &data);
    token.lab.write("key", &data[..32]);
    // On P-256: pkcs11-tool of Debian 12 cannot write down a public key on another curve, whosever the module.
    for (kind, label, id) in [("rsa:2048", "rsa", "01"), ("EC:prime256v1", "ec", "02")] {
        token.pair(kind, label, id);
        token.store(&here, &["--read-object", "--type", "pubkey", "--id", id, "-o", &path(&format!("{label}.der"))]);
        let (der, pem) = (path(&format!("{label}.der")), path(&format!("{label}.pem")));
        openssl(&["pkey", "-pubin", "-inform", "DER", "-in", &der, "-out", &pem]);
    }
    for (key, id, mechanism, more) in [
        ("rsa", "01", "SHA256-RSA-PKCS", &[][..]),
        ("rsa", "01", "SHA512-RSA-PKCS-PSS", &["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:64"][..]),
        ("ec", "02", "ECDSA-SHA256", &[][..]),
    ] {
        let digest = if mechanism.contains("256") { "-sha256" } else { "-sha512" };
        let (signed, data, pem) = (path("signature"), path("data"), path(&format!("{key}.pem")));
        let files = ["--sign", "-m", mechanism, "--id", id, "-i", &data, "-o", &signed];
        token.store(&here, &[&files[..], &["--signature-format", "openssl"]].concat());
        let check = ["dgst", digest, "-verify", &pem, "-signature", &signed];
        openssl(&[&check, more, &[data.as_str()]].concat());
        let verify = ["--verify", "-m", mechanism, "--id", id, "-i", &data, "--signature-file", &signed];
        let said = token.store(&here, &[&verify[..], &["--signature-format", "openssl"]].concat());
        assert!(said.contains("Signature is valid"), "{mechanism}: {said}");
    }
    for (mechanism, padding, more) in [
        ("RSA-PKCS", "rsa_padding_mode:pkcs1", &[][..]),
        ("RSA-PKCS-OAEP", "rsa_padding_mode:oaep", &["--hash-algorithm", "SHA-1"][..]),
    ] {
        let (key, sealed, opened, pem) = (path("key"), path("sealed"), path("opened"), path("rsa.pem"));
        let encrypt = ["pkeyutl", "-encrypt", "-pubin", "-inkey", &pem, "-in", &key, "-out", &sealed, "-pkeyopt"];
        openssl(&[&encrypt[..], &[padding]].concat());
        let decrypt = ["--decrypt", "-m", mechanism, "--id", "01", "-i", &sealed, "-o", &opened];
        token.store(&here, &[&decrypt[..], more].concat());
        assert!(std::fs::read(&opened).expect("what was decrypted") == data[..32], "{mechanism}");
    }
    // A secret of both: pkcs11-tool takes the other's public key.
    let (own, other, secret) = (path("own.pem"), path("other.der"), path("secret"));
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &own]);
    openssl(&["pkey", "-in", &own, "-pubout", "-outform", "DER", "-out", &other]);
    token.store(&here, &["--derive", "-m", "ECDH1-DERIVE", "--id", "02", "-i", &other, "-o", &secret]);
    let theirs = openssl(&["pkeyutl", "-derive", "-inkey", &own, "-peerkey", &path("ec.pem")]);
    assert!(std::fs::read(&secret).expect("the secret") == theirs, "the secrets differ");
    // AES and HMAC of a generated key cannot be told from outside; that of a known one can.
    let hex: String = data[..32].iter().map(|byte| format!("{byte:02x}")).collect();
    token.store(
        &here,
        &["--write-object", &path("key"), "--type", "secrkey", "--key-type", "AES:32", "--id", "05", "--sensitive"],
    );
    let (plain, sealed) = (path("data"), path("sealed"));
    token.store(
        &here,
        &["--encrypt", "-m", "AES-CBC-PAD", "--iv", &"0".repeat(32), "--id", "05", "-i", &plain, "-o", &sealed],
    );
    let zero = "0".repeat(32);
    let opened = openssl(&["enc", "-d", "-aes-256-cbc", "-K", &hex, "-iv", &zero, "-in", &sealed]);
    assert!(opened == data, "AES-CBC-PAD");
}

#[test]
fn keys_and_certificates_are_imported() {
    let token = Token::new();
    let here = System::here();
    let path = |name: &str| token.path(name);
    let openssl = |args: &[&str]| token.lab.openssl(&here, token.lab.stock(), args, b"");
    token.lab.write("req.cnf", "[req]\ndistinguished_name = dn\n[dn]\n");
    token.lab.write("data", "signed\n");
    for (id, kind, mechanism) in [
        ("11", &["RSA", "rsa_keygen_bits:3072"], "SHA256-RSA-PKCS"),
        ("12", &["EC", "ec_paramgen_curve:P-256"], "ECDSA-SHA256"),
    ] {
        let (key, pem, der, pub_, signed) =
            (path("k.pem"), path("c.pem"), path("c.der"), path("p.pem"), path("signature"));
        openssl(&["genpkey", "-algorithm", kind[0], "-pkeyopt", kind[1], "-out", &key]);
        openssl(&["req", "-x509", "-config", &path("req.cnf"), "-subj", "/CN=imported", "-key", &key, "-out", &pem]);
        openssl(&["x509", "-in", &pem, "-outform", "DER", "-out", &der]);
        openssl(&["pkey", "-in", &key, "-pubout", "-out", &pub_]);
        for (what, file) in [("privkey", &key), ("pubkey", &pub_), ("cert", &der)] {
            token.store(&here, &["--write-object", file, "--type", what, "--id", id, "--label", "imported"]);
        }
        let back = path("back.der");
        token.tool(&["--slot", STORE, "--read-object", "--type", "cert", "--id", id, "-o", &back]);
        assert!(std::fs::read(back).expect("read") == std::fs::read(der).expect("written"), "the certificate differs");
        let sign = ["--sign", "-m", mechanism, "--id", id, "-i", &path("data"), "-o", &signed];
        token.store(&here, &[&sign[..], &["--signature-format", "openssl"]].concat());
        openssl(&["dgst", "-sha256", "-verify", &pub_, "-signature", &signed, &path("data")]);
        let said = token.tool(&["--slot", STORE, "-O", "--type", "cert", "--id", id]);
        assert!(line(&said, "subject:").contains("CN=imported"), "{said}");
        for what in ["privkey", "pubkey", "cert"] {
            token.store(&here, &["--delete-object", "--type", what, "--id", id]);
        }
    }
    let said = token.store(&here, &["-O"]);
    assert!(!said.contains("imported"), "{said}");
    // The PIN is changed, and the old one is one no more.
    token.tool(&["--slot", STORE, "--login", "--pin", PIN, "--change-pin", "--new-pin", "4321"]);
    token.tool(&["--slot", STORE, "--login", "--pin", "4321", "-O"]);
    let mut old = token.command(&here, "pkcs11-tool");
    old.args(["--module", token.module(), "--slot", STORE, "--login", "--pin", PIN, "-O"]);
    let refused = adjunct_e2e::lab::feed(&mut old, b"");
    assert!(!refused.status.success() && adjunct_e2e::token::said(&refused).contains("CKR_PIN_INCORRECT"));
}
