//! TLS with the groups of a configuration: real handshakes on loopback, with the module, and without it, as in a program that cannot
//! load it.

use adjunct_openssl_conf::State;
use adjunct_tool::process::{Outcome, Running, last_line, run_within, wait_for};
use adjunct_tool::scratch;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time after which a program is taken to hang.
const LIMIT: Duration = Duration::from_secs(20);

/// The list of TLS groups that a configuration with adjunct's block sets.
pub(super) fn of(state: &State) -> Option<String> {
    state.groups.as_deref().map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The groups of a list that no OpenSSL before 3.5 has: those of ML-KEM.
fn quantum_safe(list: &str) -> Vec<&str> {
    let names = list.split([':', '/']).map(|name| name.trim().trim_start_matches(['?', '*']));
    names.filter(|name| name.to_ascii_uppercase().contains("MLKEM")).collect()
}

/// A key and a certificate for a server.
struct Place {
    dir: scratch::Folder,
}

impl Place {
    fn new() -> Result<Place, String> {
        let place = Place { dir: scratch::folder().map_err(|e| e.to_string())? };
        let request = "[req]\ndistinguished_name = dn\n[dn]\n";
        std::fs::write(place.path("req.cnf"), request).map_err(|e| format!("a temporary file: {e}"))?;
        let mut command = openssl(Path::new("/dev/null"));
        command.args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-batch",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ]);
        command.arg("-config").arg(place.path("req.cnf")).arg("-keyout").arg(place.path("key.pem"));
        let made = run_within(LIMIT, command.arg("-out").arg(place.path("cert.pem")))?;
        if made.success { Ok(place) } else { Err(format!("openssl req: {}", made.why())) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn openssl(config: &Path) -> Command {
    let mut command = Command::new("openssl");
    command.env("OPENSSL_CONF", config).stdin(Stdio::null());
    command
}

/// `openssl s_server` on a free port of loopback. Dropped, it is ended.
struct Server {
    process: Running,
    log: PathBuf,
    port: u16,
}

impl Server {
    fn start(place: &Place, config: &Path, args: &[&str]) -> Result<Server, String> {
        let log = place.path("server.log");
        let failed = |e: std::io::Error| format!("a temporary file: {e}");
        let file = File::create(&log).map_err(failed)?;
        let mut command = openssl(config);
        command.args(["s_server", "-www", "-accept", "127.0.0.1:0"]).args(args);
        command.arg("-cert").arg(place.path("cert.pem")).arg("-key").arg(place.path("key.pem"));
        command.stdout(file.try_clone().map_err(failed)?).stderr(file);
        let child = command.spawn().map_err(|e| format!("openssl s_server: {e}"))?;
        let mut server = Server { process: Running::new(child), log, port: 0 };
        let mut ended = false;
        wait_for(LIMIT, || {
            server.port = port_of(&server.said()).unwrap_or(0);
            ended = !server.process.runs();
            server.port != 0 || ended
        });
        if server.port == 0 {
            return Err(format!("openssl s_server: {}", last_line(&server.said())));
        }
        Ok(server)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Checks that a client completes a handshake with the server.
    fn meets(&self, config: &Path, args: &[&str]) -> Result<(), String> {
        let address = format!("{}:{}", Ipv4Addr::LOCALHOST, self.port);
        let outcome: Outcome = run_within(LIMIT, openssl(config).args(["s_client", "-connect", &address]).args(args))?;
        let agreed =
            outcome.text().lines().any(|line| line.starts_with("New, TLSv1") || line.starts_with("Reused, TLSv1"));
        if outcome.success && agreed { Ok(()) } else { Err(format!("openssl s_client: {}", outcome.why())) }
    }
}

/// The port of the line `ACCEPT 127.0.0.1:12345`.
fn port_of(said: &str) -> Option<u16> {
    said.lines().find_map(|line| line.strip_prefix("ACCEPT ")?.rsplit_once(':')?.1.trim().parse().ok())
}

/// Whether a server and a client under `config` take and offer each group of ML-KEM in its list, and still agree with others on TLS 1.3
/// and 1.2.
///
/// # Errors
/// Why not.
pub(super) fn agreed(config: &Path, list: &str) -> Result<String, String> {
    let (place, stock) = (Place::new()?, Path::new("/dev/null"));
    let names = quantum_safe(list);
    let server = Server::start(&place, config, &[])?;
    for name in &names {
        let tried = server.meets(config, &["-tls1_3", "-groups", name]);
        tried.map_err(|why| format!("a server does not take {name}: {why}"))?;
    }
    others(&server, stock).map_err(|why| format!("a server with these groups and a client without: {why}"))?;
    drop(server);
    if let Some(first) = names.first() {
        let server = Server::start(&place, config, &["-tls1_3", "-groups", first])?;
        server.meets(config, &[]).map_err(|why| format!("a client does not offer {first}: {why}"))?;
    }
    let server = Server::start(&place, stock, &[])?;
    others(&server, config).map_err(|why| format!("a client with these groups and a server without: {why}"))?;
    Ok(if names.is_empty() { "TLS 1.3 and 1.2".to_owned() } else { format!("{}, TLS 1.3 and 1.2", names.join(", ")) })
}

/// Whether programs that do not load the module still speak TLS with such groups configured.
///
/// # Errors
/// Why not.
pub(super) fn without_module(config: &Path, state: &State) -> Result<String, String> {
    let section = state.adjunct.as_ref().map(|adjunct| String::from_utf8_lossy(adjunct.section()).into_owned());
    let section = section.ok_or("adjunct is not in the configuration")?;
    let text = adjunct_tool::files::config(config).map_err(|e| format!("{}: {e}", config.display()))?;
    // The last value of a name is in force.
    let other = format!("\n\n[{section}]\nmodule = /nonexistent/adjunct.so\n");
    let copy = scratch::config(&[&text, other.as_bytes()].concat()).map_err(|e| format!("a temporary file: {e}"))?;
    let (place, stock) = (Place::new()?, Path::new("/dev/null"));
    for (client, server) in [(copy.path(), stock), (stock, copy.path()), (copy.path(), copy.path())] {
        others(&Server::start(&place, server, &[])?, client)?;
    }
    Ok("TLS 1.3 and 1.2".to_owned())
}

/// Tries TLS with groups that every program has.
fn others(server: &Server, client: &Path) -> Result<(), String> {
    ["-tls1_3", "-tls1_2"].iter().try_for_each(|version| server.meets(client, &[version]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_mlkem_are_found_in_lists() {
        assert_eq!(quantum_safe("X25519MLKEM768:X25519"), ["X25519MLKEM768"]);
        assert_eq!(quantum_safe("?*SecP256r1MLKEM768:?MLKEM768 / ?*X25519"), ["SecP256r1MLKEM768", "MLKEM768"]);
        assert!(quantum_safe("X25519:P-256").is_empty());
    }

    #[test]
    fn the_port_is_read() {
        assert_eq!(port_of("Using default temp DH parameters\nACCEPT 127.0.0.1:4712\n"), Some(4712));
        assert_eq!(port_of("ACCEPT"), None);
    }
}
