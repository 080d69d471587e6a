//! RSA in the `openssl` program: keys from files, certificates, CMS. Each step by the program with our provider preferred
//! and by the stock one, each reading what the other wrote.

mod common;

use common::{config, errors};
use std::path::Path;
use std::process::{Command, Output};

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let ours = format!(
            "{}[req]\ndistinguished_name = name\n[name]\n",
            config("ALL").replace(
                "[init]\n",
                "[init]\nalg_section = choice\n[choice]\ndefault_properties = ?provider=adjunct\n[init]\n"
            )
        );
        std::fs::write(folder.path().join("ours.cnf"), ours).unwrap();
        std::fs::write(folder.path().join("stock.cnf"), "[req]\ndistinguished_name = name\n[name]\n").unwrap();
        std::fs::write(folder.path().join("message"), "a message\n".repeat(300)).unwrap();
        Desk { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, who: &str, line: &str) -> Output {
        Command::new("openssl")
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .env("OPENSSL_CONF", self.path(&format!("{who}.cnf")))
            .output()
            .unwrap()
    }

    /// Runs a command that must succeed, and gives its output.
    fn ok(&self, who: &str, line: &str) -> Vec<u8> {
        let out = self.run(who, line);
        assert!(out.status.success(), "{who}: openssl {line}\n{}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    }

    fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap()
    }
}

const BOTH: [(&str, &str); 2] = [("ours", "stock"), ("stock", "ours")];

#[test]
fn the_provider_is_in_use() {
    let desk = Desk::new();
    let listed = String::from_utf8(desk.ok("ours", "list -signature-algorithms")).unwrap();
    assert!(listed.contains("RSA, rsaEncryption } @ adjunct"), "{listed}");
    assert_eq!(errors(), "");
}

#[test]
fn key_files_of_every_kind_load() {
    let desk = Desk::new();
    for (maker, user) in BOTH {
        desk.ok(maker, "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out pkcs8.pem");
        desk.ok(maker, "pkey -in pkcs8.pem -pubout -out public.pem");
        desk.ok(maker, "rsa -in pkcs8.pem -traditional -out pkcs1.pem");
        desk.ok(maker, "rsa -in pkcs8.pem -pubout -RSAPublicKey_out -out public1.pem");
        desk.ok(maker, "pkey -in pkcs8.pem -outform DER -out key.der");
        desk.ok(maker, "pkcs8 -topk8 -in pkcs8.pem -v2 aes-256-cbc -passout pass:secret -out encrypted.pem");
        desk.ok(maker, "rsa -in pkcs8.pem -traditional -aes128 -passout pass:secret -out encrypted1.pem");
        for key in ["pkcs8.pem", "pkcs1.pem", "key.der", "encrypted.pem", "encrypted1.pem"] {
            desk.ok(user, &format!("dgst -sha384 -sign {key} -passin pass:secret -out signature message"));
            for who in ["ours", "stock"] {
                desk.ok(who, "dgst -sha384 -verify public.pem -signature signature message");
                assert!(
                    !desk.run(who, "dgst -sha256 -verify public.pem -signature signature message").status.success()
                );
            }
            desk.ok(user, &format!("pkey -in {key} -passin pass:secret -check -noout"));
            assert_eq!(
                desk.ok("ours", &format!("pkey -in {key} -passin pass:secret -text -noout")),
                desk.ok("stock", &format!("pkey -in {key} -passin pass:secret -text -noout"))
            );
        }
    }
}

#[test]
fn keys_of_three_primes_work() {
    let desk = Desk::new();
    desk.ok("stock", "genrsa -primes 3 -out key.pem 2048");
    for (one, other) in BOTH {
        desk.ok(one, "pkey -in key.pem -pubout -out public.pem");
        desk.ok(one, "dgst -sha256 -sigopt rsa_padding_mode:pss -sign key.pem -out signature message");
        desk.ok(other, "dgst -sha256 -sigopt rsa_padding_mode:pss -verify public.pem -signature signature message");
    }
    desk.ok("ours", "genrsa -primes 3 -out made.pem 2048");
    desk.ok("stock", "pkey -in made.pem -check -noout");
}

#[test]
fn certificates_are_made_and_checked() {
    let desk = Desk::new();
    for (maker, user) in BOTH {
        for options in [
            "",
            "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest",
            "-sigopt rsa_padding_mode:pss -sigopt rsa_mgf1_md:sha1",
        ] {
            desk.ok(
                maker,
                &format!("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -subj /CN=ca -sha384 -out ca.pem {options}"),
            );
            desk.ok(
                maker,
                &format!(
                    "req -new -newkey rsa:3072 -nodes -keyout leaf.key -subj /CN=leaf -sha512 -out leaf.csr {options}"
                ),
            );
            desk.ok(user, "req -in leaf.csr -verify -noout");
            desk.ok(
                maker,
                &format!(
                    "x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -sha256 -out leaf.pem {options}"
                ),
            );
            desk.ok(user, "verify -CAfile ca.pem leaf.pem");
            assert_eq!(
                desk.ok("ours", "x509 -in leaf.pem -noout -text"),
                desk.ok("stock", "x509 -in leaf.pem -noout -text")
            );
        }
    }
}

#[test]
fn cms_and_smime() {
    let desk = Desk::new();
    desk.ok("stock", "req -x509 -newkey rsa:2048 -nodes -keyout a.key -subj /CN=a -out a.pem");
    desk.ok("stock", "req -x509 -newkey rsa:2048 -nodes -keyout b.key -subj /CN=b -out b.pem");
    let message = desk.read("message");
    for (one, other) in BOTH {
        for options in ["", "-keyopt rsa_padding_mode:pss"] {
            desk.ok(one, &format!("cms -sign -binary -in message -signer a.pem -inkey a.key {options} -out signed"));
            desk.ok(other, "cms -verify -binary -in signed -CAfile a.pem -purpose any -out opened");
            assert_eq!(desk.read("opened"), message, "{one} {options}");
        }
        for options in ["", "-keyopt rsa_padding_mode:oaep", "-keyopt rsa_padding_mode:oaep -keyopt rsa_oaep_md:sha256"]
        {
            desk.ok(one, &format!("cms -encrypt -binary -aes256 -in message -recip a.pem {options} -out sealed"));
            desk.ok(other, "cms -decrypt -in sealed -recip a.pem -inkey a.key -out opened");
            assert_eq!(desk.read("opened"), message, "{one} {options}");
        }
        desk.ok(one, "smime -encrypt -binary -aes256 -in message -out sealed a.pem b.pem");
        for name in ["a", "b"] {
            desk.ok(other, &format!("smime -decrypt -in sealed -recip {name}.pem -inkey {name}.key -out opened"));
            assert_eq!(desk.read("opened"), message);
        }
    }
}

#[test]
fn raw_operations_of_pkeyutl() {
    let desk = Desk::new();
    desk.ok("stock", "genrsa -out key.pem 2048");
    desk.ok("stock", "rsa -in key.pem -pubout -out public.pem");
    std::fs::write(desk.path("digest"), [7; 32]).unwrap();
    for (one, other) in BOTH {
        for options in [
            "",
            "-pkeyopt digest:sha256",
            "-pkeyopt rsa_padding_mode:pss -pkeyopt digest:sha256",
            "-pkeyopt digest:sha256 -pkeyopt rsa_padding_mode:x931",
        ] {
            desk.ok(one, &format!("pkeyutl -sign -inkey key.pem -in digest {options} -out signature"));
            desk.ok(
                other,
                &format!("pkeyutl -verify -pubin -inkey public.pem -in digest -sigfile signature {options}"),
            );
            if !options.contains("pss") {
                desk.ok(
                    other,
                    &format!("pkeyutl -verifyrecover -pubin -inkey public.pem -in signature {options} -out recovered"),
                );
                assert_eq!(desk.read("recovered"), [7; 32]);
            }
        }
        for options in [
            "",
            "-pkeyopt rsa_padding_mode:oaep",
            "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha384 -pkeyopt rsa_mgf1_md:sha1",
        ] {
            desk.ok(one, &format!("pkeyutl -encrypt -pubin -inkey public.pem -in digest {options} -out sealed"));
            desk.ok(other, &format!("pkeyutl -decrypt -inkey key.pem -in sealed {options} -out opened"));
            assert_eq!(desk.read("opened"), [7; 32]);
        }
    }
}
