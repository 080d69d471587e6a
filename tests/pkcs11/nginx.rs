//! nginx with a key in a token, and workers that have given up root: they read the token's file by their group's right. Debian 12's nginx by
//! libp11's engine; a newer suite's by a file of pkcs11-provider's that stands for the key.

use adjunct_e2e::lab::{feed, stock_conf};
use adjunct_e2e::skipped;
use adjunct_e2e::system::{System, is_root};
use adjunct_e2e::tls::Server;
use adjunct_e2e::token::{LABEL, PIN, Token, said, succeed};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Debian's `www-data`.
const GROUP: u32 = 33;

fn serve(token: &Token, system: &System, conf: &Path, key: &str) -> Server {
    let dir = token.lab.dir().display();
    Server::start(&token.lab, |port| {
        let config = format!(
            "daemon off;\nuser www-data;\nworker_processes 2;\npid {dir}/nginx.pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\nclient_body_temp_path {dir}/body;\nproxy_temp_path {dir}/proxy;\n\
             fastcgi_temp_path {dir}/fastcgi;\nuwsgi_temp_path {dir}/uwsgi;\nscgi_temp_path {dir}/scgi;\n\
             server {{\nlisten 127.0.0.1:{port} ssl;\nroot {dir};\nssl_session_cache off;\n\
             ssl_certificate {dir}/www.pem;\nssl_certificate_key {key};\n}}\n}}\n"
        );
        let config = token.lab.write("nginx.conf", config);
        let mut command = token.command(system, "nginx");
        command.env("OPENSSL_CONF", conf).arg("-c").arg(config).args(["-e", "stderr"]);
        command
    })
}

/// Lets the workers' group read the token, as docs/pkcs11.md has it.
fn open_to_workers(token: &Token) {
    for (name, mode) in [("store", 0o750), ("store/mine.token", 0o640)] {
        let path = token.lab.path(name);
        std::os::unix::fs::chown(&path, None, Some(GROUP)).expect("a group");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("rights");
    }
}

fn fetch(token: &Token, server: &Server) -> Result<(), String> {
    let mut curl = token.command(&System::here(), "curl");
    curl.args(["-sS", "--noproxy", "*", "--max-time", "20", "--cacert", &token.path("www.pem")]);
    let out = feed(curl.arg(format!("https://localhost:{}/data", server.port)), b"");
    if out.stdout == b"served\n" { Ok(()) } else { Err(format!("{}\n{}", said(&out), server.log())) }
}

fn fetch_all(token: &Token, server: &Server) {
    let before = token.calls("RSA-CRT");
    (0..6).for_each(|_| fetch(token, server).unwrap_or_else(|error| panic!("{error}")));
    assert!(token.calls("RSA-CRT") >= before + 6, "{:?}", token.lab.counters());
}

fn token() -> Option<Token> {
    if !is_root() {
        skipped("nginx gives up root only where it has it");
        return None;
    }
    let token = Token::new();
    token.pair("rsa:2048", "rsa", "01");
    token.lab.write("data", "served\n");
    Some(token)
}

#[test]
fn workers_by_engine() {
    let Some(token) = token() else { return };
    let engine = format!("/usr/lib/{}-linux-gnu/engines-3/pkcs11.so", std::env::consts::ARCH);
    // nginx initializes no engine: the configuration has to.
    let conf = stock_conf(&format!(
        "engines = engine_sect\n[engine_sect]\npkcs11 = pkcs11_sect\n[pkcs11_sect]\ndynamic_path = {engine}\nMODULE_PATH = {}\n\
         PIN = {PIN}\ninit = 1\n[req]\ndistinguished_name = dn\n[dn]\n",
        token.module()
    ));
    let conf = token.lab.write("engine.cnf", conf);
    let (key, pem) = (token.uri("rsa", "private"), token.path("www.pem"));
    let request = ["-new", "-x509", "-key", &key, "-subj", "/CN=localhost", "-days", "3", "-out", &pem];
    let mut command = token.command(&System::here(), "openssl");
    succeed(command.env("OPENSSL_CONF", &conf).args(["req", "-engine", "pkcs11", "-keyform", "engine"]).args(request));
    open_to_workers(&token);
    let server = serve(&token, &System::here(), &conf, &format!("\"engine:pkcs11:{key}\""));
    fetch_all(&token, &server);
}

#[test]
fn workers_by_a_file_that_stands_for_the_key() {
    let Some(system) = System::all().into_iter().nth(1) else { return };
    let Some(token) = token() else { return };
    let lines = format!(
        "[req]\ndistinguished_name = dn\n[dn]\n[pkcs11_sect]\nmodule = /usr/lib/{}-linux-gnu/ossl-modules/pkcs11.so\n\
         pkcs11-module-path = {}\npkcs11-module-token-pin = file:{}\npkcs11-module-encode-provider-uri-to-pem = true\nactivate = 1\n",
        std::env::consts::ARCH,
        token.module(),
        token.path("pin"),
    );
    let conf = stock_conf("").replace("[default_sect]", &format!("pkcs11 = pkcs11_sect\n{lines}[default_sect]"));
    let conf = token.lab.write("provider.cnf", conf);
    let openssl = |args: &[&str]| succeed(token.command(&system, "openssl").env("OPENSSL_CONF", &conf).args(args));
    let (key, pem, file) = (token.uri("rsa", "private"), token.path("www.pem"), token.path("www.key"));
    openssl(&["req", "-new", "-x509", "-key", &key, "-subj", "/CN=localhost", "-days", "3", "-out", &pem]);
    openssl(&["pkey", "-in", &key, "-out", &file]);
    let text = std::fs::read_to_string(&file).expect("what stands for the key");
    assert!(text.contains("PKCS#11 PROVIDER URI"), "{text}");
    // Root's alone: the master process finds the key, and no worker does.
    let server = serve(&token, &system, &conf, &file);
    let refused = fetch(&token, &server).expect_err("no worker reads the token");
    assert!(refused.contains("SSL_do_handshake() failed"), "{refused}");
    drop(server);
    open_to_workers(&token);
    let server = serve(&token, &system, &conf, &file);
    fetch_all(&token, &server);
    // What changes the token and writes its file anew leaves the group its right.
    let change = ["--token-label", LABEL, "--login", "--pin", PIN, "--change-pin", "--new-pin", "4321"];
    token.tool(&change);
    token.lab.write("pin", "4321");
    drop(server);
    let server = serve(&token, &system, &conf, &file);
    fetch_all(&token, &server);
}
