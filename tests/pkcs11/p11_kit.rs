//! p11-kit: a module configured by its user, and a token reached through p11-kit's server by another program.

use adjunct_e2e::lab::spawn;
use adjunct_e2e::listener::until;
use adjunct_e2e::system::{System, TESTER_ID, is_root};
use adjunct_e2e::token::{LABEL, PIN, Token, line, succeed};
use std::process::{Child, Command};

#[test]
fn a_user_configures_the_module() {
    let token = Token::new();
    let modules = token.lab.path(".config/pkcs11/modules");
    std::fs::create_dir_all(&modules).expect("a folder of the home");
    std::fs::write(modules.join("adjunct.module"), format!("module: {}\n", token.module())).expect("a configuration");
    // p11-kit reads root's home for nobody.
    let mut command = Command::new("p11-kit");
    if is_root() {
        command = Command::new("setpriv");
        command.args([&format!("--reuid={TESTER_ID}"), &format!("--regid={TESTER_ID}"), "--clear-groups", "p11-kit"]);
    }
    let mut command = token.with(command);
    let said = succeed(command.arg("list-modules").env("XDG_CONFIG_HOME", token.path(".config")));
    let ours = said.split_once("adjunct-pkcs11.so").unwrap_or_else(|| panic!("{said}")).1;
    assert!(line(ours, "library-manufacturer").contains("adjunct") && ours.contains("model: ICA"), "{said}");
    assert!(ours.contains("token: icatok"), "{said}");
}

/// `p11-kit server`, ended when dropped.
struct Server(Child);

impl Server {
    fn start(token: &Token, system: &System, socket: &str) -> Server {
        let mut command = token.command(system, "p11-kit");
        command.args(["server", "--foreground", "--name", socket, "--provider", token.module()]);
        let server = Server(spawn(command.arg(format!("pkcs11:token={LABEL}")).arg("pkcs11:token=icatok")));
        until("p11-kit's server listens", || std::path::Path::new(socket).exists());
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_token_through_the_server() {
    let token = Token::new();
    token.pair("rsa:2048", "rsa", "01");
    token.lab.write("data", "signed\n");
    for system in System::all() {
        let socket = token.path(&format!("socket-{}", system.name));
        let _server = Server::start(&token, &system, &socket);
        let client = format!("/usr/lib/{}-linux-gnu/pkcs11/p11-kit-client.so", std::env::consts::ARCH);
        let tool = |args: &[&str]| {
            let mut command = token.command(&system, "pkcs11-tool");
            // The client alone knows where the token is.
            command.env_remove("ADJUNCT_PKCS11_CONF").env("P11_KIT_SERVER_ADDRESS", format!("unix:path={socket}"));
            succeed(command.args(["--module", &client, "--token-label", LABEL, "--login", "--pin", PIN]).args(args))
        };
        let said = tool(&["-O"]);
        assert!(said.contains("Private Key Object; RSA"), "{}: {said}", system.name);
        let said = tool(&["--session-rw", "--test-ec", "--id", "88", "--key-type", "EC:prime256v1"]);
        assert!(said.contains("==> OK"), "{}: {said}", system.name);
        let before = token.calls("RSA-CRT");
        let (data, signature) = (token.path("data"), token.path("signature"));
        let sign = ["-m", "SHA256-RSA-PKCS", "--id", "01", "-i", &data];
        tool(&[&["--sign"], &sign[..], &["-o", &signature]].concat());
        let said = tool(&[&["--verify"], &sign[..], &["--signature-file", &signature]].concat());
        assert!(said.contains("Signature is valid"), "{}: {said}", system.name);
        assert!(token.calls("RSA-CRT") > before, "{:?}", token.lab.counters());
    }
}
