//! The `openssl` command: every algorithm with adjunct against the default provider, random inputs, random chunking.

use adjunct_e2e::lab::Lab;
use adjunct_e2e::random;
use adjunct_e2e::system::System;

/// A small random number below `limit`.
fn below(limit: usize) -> usize {
    let bytes: [u8; 8] = random(8).try_into().expect("eight bytes");
    usize::try_from(u64::from_ne_bytes(bytes) % limit as u64).expect("a usize")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Words in the output of an `openssl list`.
fn list(lab: &Lab, system: &System, what: &str) -> Vec<String> {
    let out = lab.openssl(system, lab.stock(), &["list", what], b"");
    String::from_utf8_lossy(&out).split_whitespace().map(str::to_owned).collect()
}

/// What `openssl` says with adjunct and without, which must be the same; its output.
fn same(lab: &Lab, system: &System, args: &[&str], input: &[u8]) -> Vec<u8> {
    let stock = lab.try_openssl(system, lab.stock(), args, input);
    let ours = lab.try_openssl(system, lab.adjunct(), args, input);
    let said = String::from_utf8_lossy(&ours.stderr);
    assert_eq!(ours.status.code(), stock.status.code(), "{} openssl {args:?}: {said}", system.name);
    assert!(ours.stdout == stock.stdout, "{} openssl {args:?}: other output; {said}", system.name);
    ours.stdout
}

#[test]
fn every_cipher() {
    for system in System::all() {
        let lab = Lab::new();
        let before = lab.counters();
        let known = list(&lab, &system, "-cipher-commands");
        assert!(known.len() > 20, "{known:?}");
        // `enc` knows more than it lists.
        let more =
            ["chacha20", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "aes-128-cfb1", "aes-256-cfb8", "aes-128-ofb"];
        for cipher in known.iter().map(String::as_str).chain(more) {
            for _ in 0..3 {
                let data = random(below(20_000));
                let (key, iv) = (hex(&random(32)), hex(&random(16)));
                let chunk = (1 + below(3000)).to_string();
                let args = ["enc", &format!("-{cipher}"), "-K", &key, "-iv", &iv, "-bufsize", &chunk];
                let encrypted = same(&lab, &system, &args, &data);
                let back = same(&lab, &system, &[&args[..], &["-d"]].concat(), &encrypted);
                assert!(encrypted.is_empty() || back == data, "{cipher}");
            }
        }
        lab.moved(system.name, &before, &["AES CBC", "AES CTR"]);
    }
}

#[test]
fn every_digest() {
    for system in System::all() {
        let lab = Lab::new();
        let before = lab.counters();
        let mut digests = list(&lab, &system, "-digest-commands");
        digests.extend(["sha512-224", "sha512-256", "sha3-256", "md5-sha1"].map(str::to_owned));
        for digest in &digests {
            for _ in 0..3 {
                let data = random(below(50_000));
                same(&lab, &system, &["dgst", &format!("-{digest}"), "-r"], &data);
                same(&lab, &system, &["dgst", &format!("-{digest}"), "-hmac", &hex(&random(1 + below(150)))], &data);
            }
        }
        for xof in ["shake128", "shake256"] {
            let len = (1 + below(1000)).to_string();
            same(&lab, &system, &["dgst", &format!("-{xof}"), "-xoflen", &len], &random(below(5000)));
        }
        lab.moved(system.name, &before, &["SHA-1", "SHA-256", "SHA-512", "SHA3-256"]);
    }
}

#[test]
fn every_mac() {
    for system in System::all() {
        let lab = Lab::new();
        for digest in
            ["MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "SHA512-256", "SHA3-256", "RIPEMD160", "SM3"]
        {
            let key = format!("hexkey:{}", hex(&random(1 + below(200))));
            same(&lab, &system, &["mac", "-digest", digest, "-macopt", &key, "HMAC"], &random(below(5000)));
        }
        for (cipher, len) in [("AES-128-CBC", 16), ("AES-192-CBC", 24), ("AES-256-CBC", 32), ("DES-EDE3-CBC", 24)] {
            let key = format!("hexkey:{}", hex(&random(len)));
            same(&lab, &system, &["mac", "-cipher", cipher, "-macopt", &key, "CMAC"], &random(below(5000)));
        }
        for (mac, len) in [("Poly1305", 32), ("SipHash", 16), ("KMAC128", 32)] {
            let key = format!("hexkey:{}", hex(&random(len)));
            same(&lab, &system, &["mac", "-macopt", &key, mac], &random(below(5000)));
        }
        let key = format!("hexkey:{}", hex(&random(32)));
        let iv = format!("hexiv:{}", hex(&random(12)));
        same(
            &lab,
            &system,
            &["mac", "-cipher", "AES-256-GCM", "-macopt", &key, "-macopt", &iv, "GMAC"],
            &random(below(5000)),
        );
    }
}

#[test]
fn key_derivation() {
    for system in System::all() {
        let lab = Lab::new();
        let secret = format!("hexkey:{}", hex(&random(40)));
        let salt = format!("hexsalt:{}", hex(&random(20)));
        for digest in ["SHA1", "SHA256", "SHA384", "SHA512", "SHA3-512"] {
            let digest = format!("digest:{digest}");
            let base = ["kdf", "-keylen", "77", "-kdfopt", &digest, "-kdfopt", &salt, "-kdfopt"];
            same(&lab, &system, &[&base[..], &[&secret, "HKDF"]].concat(), b"");
            same(&lab, &system, &[&base[..], &["pass:secret", "-kdfopt", "iter:100", "PBKDF2"]].concat(), b"");
        }
        same(&lab, &system, &["passwd", "-6", "-salt", "abcdefgh", "secret"], b"");
        let scrypt = ["kdf", "-keylen", "64", "-kdfopt", "pass:x", "-kdfopt", &salt, "-kdfopt", "n:1024", "-kdfopt"];
        same(&lab, &system, &[&scrypt[..], &["r:8", "-kdfopt", "p:2", "SCRYPT"]].concat(), b"");
    }
}

/// A key made on one side: `NAME.key` and `NAME.pub` in the lab.
fn keypair(lab: &Lab, system: &System, ours: bool, name: &str, args: &[&str]) -> (String, String) {
    let (private, public) = (lab.path(&format!("{name}.key")), lab.path(&format!("{name}.pub")));
    let (private, public) = (private.display().to_string(), public.display().to_string());
    let conf = if ours { lab.adjunct() } else { lab.stock() };
    lab.openssl(system, conf, &[&["genpkey", "-out", &private], args].concat(), b"");
    let taken = same(lab, system, &["pkey", "-in", &private, "-pubout"], b"");
    std::fs::write(&public, taken).expect("the public key");
    same(lab, system, &["pkey", "-in", &private, "-check", "-noout", "-text"], b"");
    (private, public)
}

/// Kinds of key: a name, what generates it, whether it signs a digest.
const SIGNERS: [(&str, &[&str], &[&str]); 10] = [
    ("rsa1024", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], &["SHA1", "SHA256"]),
    ("rsa2048", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], &["MD5", "SHA224", "SHA384", "SHA3-256"]),
    ("rsa3072", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"], &["SHA512", "RIPEMD160"]),
    ("rsapss", &["-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"], &["SHA256"]),
    ("p256", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], &["SHA256", "SHA1", "SHA512"]),
    ("p384", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], &["SHA384"]),
    ("p521", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"], &["SHA512", "SHA3-512"]),
    ("k256", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], &["SHA256"]),
    ("brainpool", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:brainpoolP384r1"], &["SHA384"]),
    (
        "explicit",
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"],
        &["SHA256"],
    ),
];

#[test]
fn signatures_verify_on_the_other_side() {
    for system in System::all() {
        let lab = Lab::new();
        let message = random(5000);
        let file = lab.write("message", &message).display().to_string();
        let signature = lab.path("signature").display().to_string();
        for (name, args, digests) in SIGNERS {
            for (made_here, signer, verifier) in
                [(true, lab.stock(), lab.adjunct()), (false, lab.adjunct(), lab.stock())]
            {
                let (private, public) = keypair(&lab, &system, made_here, name, args);
                for digest in digests {
                    let digest = format!("-{digest}");
                    let pss: &[&[&str]] = if name.starts_with("rsa") && name != "rsapss" {
                        &[
                            &[],
                            &["-sigopt", "rsa_padding_mode:pss"],
                            &["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:11"],
                        ]
                    } else {
                        &[&[]]
                    };
                    for &options in pss {
                        let sign = ["dgst", &digest, "-sign", &private, "-out", &signature];
                        lab.openssl(&system, signer, &[&sign, options, &[&file]].concat(), b"");
                        let verify = ["dgst", &digest, "-verify", &public, "-signature", &signature];
                        lab.openssl(&system, verifier, &[&verify, options, &[&file]].concat(), b"");
                        // And both refuse it for another message.
                        let other = lab.write("other", random(100)).display().to_string();
                        for conf in [signer, verifier] {
                            let out = lab.try_openssl(&system, conf, &[&verify, options, &[&other]].concat(), b"");
                            assert!(!out.status.success(), "{} {name} {digest} verifies another message", system.name);
                        }
                    }
                }
            }
        }
        for name in ["ED25519", "ED448"] {
            for (signer, verifier) in [(lab.stock(), lab.adjunct()), (lab.adjunct(), lab.stock())] {
                let (private, public) = keypair(&lab, &system, signer == lab.stock(), name, &["-algorithm", name]);
                let sign = ["pkeyutl", "-sign", "-rawin", "-inkey", &private, "-in", &file, "-out", &signature];
                lab.openssl(&system, signer, &sign, b"");
                let verify =
                    ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", &public, "-in", &file, "-sigfile", &signature];
                lab.openssl(&system, verifier, &verify, b"");
            }
        }
    }
}

#[test]
fn shared_secrets_agree() {
    for system in System::all() {
        let lab = Lab::new();
        let curves = ["P-224", "P-256", "P-384", "P-521", "secp256k1", "brainpoolP256r1"];
        let kinds = curves.map(|c| {
            vec!["-algorithm".to_owned(), "EC".to_owned(), "-pkeyopt".to_owned(), format!("ec_paramgen_curve:{c}")]
        });
        let more = ["X25519", "X448"].map(|a| vec!["-algorithm".to_owned(), a.to_owned()]);
        for kind in kinds.iter().chain(&more) {
            let args: Vec<&str> = kind.iter().map(String::as_str).collect();
            let (ours, ours_public) = keypair(&lab, &system, true, "ours", &args);
            let (theirs, theirs_public) = keypair(&lab, &system, false, "theirs", &args);
            let a = same(&lab, &system, &["pkeyutl", "-derive", "-inkey", &ours, "-peerkey", &theirs_public], b"");
            let b = same(&lab, &system, &["pkeyutl", "-derive", "-inkey", &theirs, "-peerkey", &ours_public], b"");
            assert!(a == b && !a.is_empty(), "{} {kind:?}", system.name);
        }
    }
}

#[test]
fn rsa_encryption_crosses() {
    for system in System::all() {
        let lab = Lab::new();
        for bits in ["1024", "2048", "3072", "4096"] {
            let size = format!("rsa_keygen_bits:{bits}");
            let (private, public) =
                keypair(&lab, &system, bits != "4096", bits, &["-algorithm", "RSA", "-pkeyopt", &size]);
            let modes: [&[&str]; 4] = [
                &["-pkeyopt", "rsa_padding_mode:pkcs1"],
                &["-pkeyopt", "rsa_padding_mode:oaep"],
                &["-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:sha256"],
                &[
                    "-pkeyopt",
                    "rsa_padding_mode:oaep",
                    "-pkeyopt",
                    "rsa_oaep_md:sha1",
                    "-pkeyopt",
                    "rsa_mgf1_md:sha256",
                ],
            ];
            for mode in modes {
                for (sender, receiver) in [(lab.stock(), lab.adjunct()), (lab.adjunct(), lab.stock())] {
                    let message = random(below(50));
                    let encrypt = [&["pkeyutl", "-encrypt", "-pubin", "-inkey", &public], mode].concat();
                    let sent = lab.openssl(&system, sender, &encrypt, &message);
                    let decrypt = [&["pkeyutl", "-decrypt", "-inkey", &private], mode].concat();
                    assert_eq!(lab.openssl(&system, receiver, &decrypt, &sent), message, "{bits} {mode:?}");
                }
            }
            // Raw, both ways, is deterministic.
            let mut block = random(bits.parse::<usize>().expect("a number") / 8);
            block[0] = 0;
            let raw = ["-pkeyopt", "rsa_padding_mode:none"];
            same(&lab, &system, &[&["pkeyutl", "-encrypt", "-pubin", "-inkey", &public][..], &raw].concat(), &block);
            same(&lab, &system, &[&["pkeyutl", "-decrypt", "-inkey", &private][..], &raw].concat(), &block);
            same(&lab, &system, &[&["pkeyutl", "-sign", "-inkey", &private][..], &raw].concat(), &block);
        }
    }
}

#[test]
fn documents_cross() {
    for system in System::all() {
        let lab = Lab::new();
        adjunct_e2e::tls::certificates(&lab);
        let path = |name: &str| lab.path(name).display().to_string();
        let message = random(30_000);
        let ca = path("ca.pem");
        for kind in ["rsa", "ecdsa", "p384"] {
            let (cert, key) = (path(&format!("{kind}.pem")), path(&format!("{kind}.key")));
            for (one, other) in [(lab.stock(), lab.adjunct()), (lab.adjunct(), lab.stock())] {
                let sign =
                    ["cms", "-sign", "-binary", "-nodetach", "-outform", "DER", "-signer", &cert, "-inkey", &key];
                let signed = lab.openssl(&system, one, &sign, &message);
                let verify = ["cms", "-verify", "-binary", "-inform", "DER", "-CAfile", &ca, "-purpose", "any"];
                assert!(lab.openssl(&system, other, &verify, &signed) == message, "{kind}: signed message");
                for cipher in ["-aes128", "-aes-256-gcm", "-des3"] {
                    let encrypt = ["cms", "-encrypt", "-binary", "-outform", "DER", cipher, &cert];
                    let sealed = lab.openssl(&system, one, &encrypt, &message);
                    let decrypt = ["cms", "-decrypt", "-binary", "-inform", "DER", "-recip", &cert, "-inkey", &key];
                    assert!(
                        lab.openssl(&system, other, &decrypt, &sealed) == message,
                        "{kind} {cipher}: sealed message"
                    );
                }
                let export = ["pkcs12", "-export", "-in", &cert, "-inkey", &key, "-passout", "pass:x", "-name", "e2e"];
                let bag = lab.openssl(&system, one, &export, b"");
                let import = ["pkcs12", "-passin", "pass:x", "-nodes", "-nocerts"];
                let text = lab.openssl(&system, other, &import, &bag);
                assert!(String::from_utf8_lossy(&text).contains("PRIVATE KEY"), "{kind}: PKCS#12");
                let wrap = ["pkey", "-in", &key, "-aes256", "-passout", "pass:x"];
                let wrapped = lab.openssl(&system, one, &wrap, b"");
                let unwrap = ["pkey", "-passin", "pass:x", "-pubout"];
                let public = lab.openssl(&system, other, &unwrap, &wrapped);
                assert!(public == same(&lab, &system, &["pkey", "-in", &key, "-pubout"], b""), "{kind}: encrypted key");
            }
            same(&lab, &system, &["verify", "-CAfile", &ca, &cert], b"");
            same(&lab, &system, &["x509", "-in", &cert, "-noout", "-text"], b"");
        }
    }
}
