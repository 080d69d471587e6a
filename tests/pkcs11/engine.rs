//! libp11's engine in OpenSSL 3: requests, signatures and decryption by keys of a store token.

use adjunct_e2e::lab::stock_conf;
use adjunct_e2e::system::System;
use adjunct_e2e::token::{PIN, Token};

#[test]
fn keys_of_a_token_by_engine() {
    let token = Token::new();
    // libp11 0.4.12 lists no keys of a token that has one on Edwards' curve; without that key it lists them.
    for (kind, label, id) in [("rsa:2048", "rsa", "01"), ("EC:prime256v1", "ec", "02"), ("EC:secp384r1", "p384", "03")]
    {
        token.pair(kind, label, id);
    }
    let engine = format!("/usr/lib/{}-linux-gnu/engines-3/pkcs11.so", std::env::consts::ARCH);
    let lines = format!(
        "engines = engine_sect\n[engine_sect]\npkcs11 = pkcs11_sect\n[pkcs11_sect]\nengine_id = pkcs11\ndynamic_path = {engine}\n\
         MODULE_PATH = {}\nPIN = {PIN}\ninit = 0\n[req]\ndistinguished_name = dn\n[dn]\n",
        token.module()
    );
    let conf = token.lab.write("engine.cnf", stock_conf(&lines));
    let run = |args: &[&str]| {
        let mut command = token.command(&System::here(), "openssl");
        adjunct_e2e::token::succeed(command.env("OPENSSL_CONF", &conf).args(args))
    };
    let by_engine = ["-engine", "pkcs11", "-keyform", "engine"];
    let path = |name: &str| token.path(name);
    let (data, made, opened) = (path("data"), path("made"), path("opened"));
    token.lab.write("data", "a message");
    for (label, function) in [("rsa", "RSA-CRT"), ("ec", "ECDSA Sign"), ("p384", "ECDSA Sign")] {
        let key = token.uri(label, "private");
        let before = token.calls(function);
        run(&[&["req"], &by_engine[..], &["-new", "-key", &key, "-subj", "/CN=engine", "-out", &made]].concat());
        assert!(token.calls(function) > before, "{label}: {:?}", token.lab.counters());
        run(&["req", "-verify", "-noout", "-in", &made]);
    }
    let (private, public) = (token.uri("rsa", "private"), token.uri("rsa", "public"));
    let pss = ["-sha256", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"];
    run(&[&["dgst"], &by_engine[..], &["-sign", &private], &pss[..], &["-out", &made, &data]].concat());
    run(&[&["dgst"], &by_engine[..], &["-verify", &public], &pss[..], &["-signature", &made, &data]].concat());
    for padding in ["pkcs1", "oaep"] {
        let padding = format!("rsa_padding_mode:{padding}");
        let files = |from: &str, to: &str| ["-pkeyopt", &padding, "-in", from, "-out", to].map(str::to_owned);
        let sealing = files(&data, &made);
        let sealing: Vec<&str> = sealing.iter().map(String::as_str).collect();
        run(&[&["pkeyutl", "-encrypt", "-pubin"], &by_engine[..], &["-inkey", &public], &sealing].concat());
        let opening = files(&made, &opened);
        let opening: Vec<&str> = opening.iter().map(String::as_str).collect();
        run(&[&["pkeyutl", "-decrypt"], &by_engine[..], &["-inkey", &private], &opening].concat());
        assert_eq!(std::fs::read(&opened).expect("what was decrypted"), b"a message", "{padding}");
    }
}
