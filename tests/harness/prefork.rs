//! Servers that have a process for each connection: Apache's prefork and PostgreSQL.

use crate::lab::{Lab, feed};
use crate::listener::until;
use crate::system::{System, is_root};
use crate::tls::Server;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user that Debian has for programs with no rights, and its group: PostgreSQL does not run as root.
const NOBODY: u32 = 65534;
/// Connections at a time that servers take.
const MOST: usize = 256;

/// Apache's prefork with the lab's RSA certificate, which serves the files of the lab. Its processes take a few connections each.
pub fn apache(lab: &Lab, conf: &Path, environment: Vec<(String, String)>) -> Server {
    let dir = lab.dir().display();
    let modules = ["mpm_prefork", "authz_core", "ssl"];
    let load =
        modules.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")).concat();
    let user = if is_root() { format!("User #{NOBODY}\nGroup #{NOBODY}\n") } else { String::new() };
    Server::start(lab, |port| {
        let config = format!(
            "{load}{user}ServerRoot {dir}\nServerName localhost\nDefaultRuntimeDir {dir}\nPidFile {dir}/apache.pid\n\
             ErrorLog /dev/stderr\nLogLevel warn\nListen 127.0.0.1:{port}\nDocumentRoot {dir}\nKeepAlive Off\n\
             ServerLimit {MOST}\nMaxRequestWorkers {MOST}\nStartServers 8\nMaxConnectionsPerChild 20\n\
             SSLEngine on\nSSLCertificateFile {dir}/rsa.pem\nSSLCertificateKeyFile {dir}/rsa.key\n\
             SSLSessionCache none\nSSLSessionTickets off\n"
        );
        let config = lab.write("apache.conf", config);
        let mut command = lab.command(&System::here(), "apache2", conf);
        // It ends its whole group of processes when it is told to end.
        command.arg("-DFOREGROUND").arg("-f").arg(config).envs(environment).process_group(0);
        command
    })
}

/// Fetches the lab's file `data` from Apache by curl, in a handshake of its own, and compares it.
pub fn fetch(lab: &Lab, server: &Server, data: &[u8]) -> Result<(), String> {
    let mut curl = lab.command(&System::here(), "curl", lab.stock());
    curl.args(["-sS", "--fail", "--noproxy", "*", "--max-time", "250"]);
    curl.arg("--resolve").arg(format!("localhost:{}:127.0.0.1", server.port)).arg("--cacert").arg(lab.path("ca.pem"));
    let out = feed(curl.arg(format!("https://localhost:{}/data", server.port)), b"");
    if out.status.success() && out.stdout == data {
        return Ok(());
    }
    Err(format!("curl: {}, {} bytes: {}", out.status, out.stdout.len(), String::from_utf8_lossy(&out.stderr)))
}

/// PostgreSQL with the lab's RSA certificate.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    programs: PathBuf,
}

impl Postgres {
    /// Makes a database in the lab and starts its server, whose processes for connections are forks of it.
    pub fn start(lab: &Lab, conf: &Path, environment: Vec<(String, String)>) -> Postgres {
        let programs = programs();
        let (folder, key) = (lab.path("postgres"), lab.path("postgres.key"));
        std::fs::create_dir(&folder).expect("a folder for the database");
        std::fs::copy(lab.path("rsa.key"), &key).expect("the key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("mode of the key");
        if is_root() {
            for path in [&folder, &key] {
                chown(path, Some(NOBODY), Some(NOBODY)).expect("the database's user");
            }
        }
        let mut initdb = without_rights(lab, &programs.join("initdb"));
        initdb.arg("-D").arg(&folder).args(["-U", USER, "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"]);
        let out = feed(initdb.env("OPENSSL_CONF", lab.stock()), b"");
        assert!(out.status.success(), "initdb: {}", String::from_utf8_lossy(&out.stderr));
        let server = Server::start(lab, |port| {
            let mut command = without_rights(lab, &programs.join("postgres"));
            let certificate = lab.path("rsa.pem");
            let settings = [
                format!("port={port}"),
                format!("max_connections={MOST}"),
                format!("ssl_cert_file={}", certificate.display()),
                format!("ssl_key_file={}", key.display()),
            ];
            let fixed = [
                "listen_addresses=127.0.0.1",
                "unix_socket_directories=",
                "ssl=on",
                "fsync=off",
                "shared_buffers=16MB",
            ];
            command.arg("-D").arg(&folder);
            for setting in settings.iter().map(String::as_str).chain(fixed) {
                command.args(["-c", setting]);
            }
            command.env("OPENSSL_CONF", conf).envs(lab.environment()).envs(environment);
            command
        });
        let postgres = Postgres { server, programs };
        // It listens before it serves.
        until("a database that serves", || postgres.ask(lab, 0).is_ok());
        postgres
    }

    /// Asks something by psql, in a connection and a handshake of its own, and looks at the answer.
    pub fn ask(&self, lab: &Lab, number: usize) -> Result<(), String> {
        // Debian's own psql is a script that looks for the right one.
        let mut psql = Command::new(self.programs.join("psql"));
        let (port, ca) = (self.server.port, lab.path("ca.pem"));
        psql.args([
            "-X",
            "-A",
            "-t",
            "-q",
            "-c",
            &format!("select 2 * {number}, ssl from pg_stat_ssl where pid = pg_backend_pid()"),
        ]);
        psql.arg(format!(
            "host=localhost hostaddr=127.0.0.1 port={port} user={USER} dbname=postgres connect_timeout=250 \
             sslmode=verify-full sslrootcert={}",
            ca.display()
        ));
        let out = feed(psql.env("OPENSSL_CONF", lab.stock()), b"");
        if out.status.success() && out.stdout == format!("{}|t\n", 2 * number).into_bytes() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Err(format!("psql: {}: {}{}", out.status, text(&out.stdout), text(&out.stderr)))
    }

    /// What the server wrote.
    pub fn log(&self) -> String {
        self.server.log()
    }
}

/// The database's user.
const USER: &str = "tester";

/// The folder of PostgreSQL's programs: Debian has one for each version.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    let found = folders.filter(|folder| folder.join("initdb").exists()).max();
    found.expect("PostgreSQL in /usr/lib/postgresql; run ./check")
}

/// Makes a command for a program that does not run as root, in the lab's folder.
fn without_rights(lab: &Lab, program: &Path) -> Command {
    let mut command = if is_root() {
        let mut setpriv = Command::new("setpriv");
        let nobody = NOBODY.to_string();
        setpriv.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]).arg(program);
        setpriv
    } else {
        Command::new(program)
    };
    command.current_dir(lab.dir());
    command
}
