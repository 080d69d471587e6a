//! The configuration and the command line of each server.

use super::plan::{Case, ServerKind};
use super::stage::{Stage, own_key, user};
use crate::tls::Protocol;
use adjunct_tool::Failure;
use adjunct_tool::failure::cannot_write;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The suites, in the names of TLS 1.2 and of TLS 1.3.
const SUITE: &str = "AES256-GCM-SHA384";
const SUITE13: &str = "TLS_AES_256_GCM_SHA384";
/// Folders where distributions have Apache's modules.
const APACHE: [&str; 4] =
    ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules", "/usr/libexec/apache2"];

/// The set-up that a server is wanted with.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub stage: &'a Stage<'a>,
    pub case: Case,
    pub port: u16,
    /// A folder of its own.
    pub place: &'a Path,
    /// Whether HAProxy works asynchronously.
    pub asynchronous: bool,
}

impl Wanted<'_> {
    fn is_13(&self) -> bool {
        self.case.protocol == Protocol::Tls13
    }

    fn certificate(&self) -> PathBuf {
        self.stage.certificates.certificate(self.case.key)
    }

    fn key(&self) -> PathBuf {
        self.stage.certificates.key(self.case.key)
    }

    /// The group that clients offer. None is named for TLS 1.2 with RSA: stock OpenSSL may not know it.
    fn group(&self) -> Option<&'static str> {
        self.is_13().then(|| self.case.group.name())
    }

    fn file(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.place.join(name);
        std::fs::write(&path, text).map_err(|e| cannot_write(&path, &e))?;
        Ok(path)
    }
}

/// Writes a server's configuration, and gives its command the words that lead there.
///
/// # Errors
/// [`Failure`] where a file cannot be written.
pub fn write(kind: ServerKind, wanted: &Wanted<'_>, command: &mut Command) -> Result<(), Failure> {
    match kind {
        ServerKind::Nginx => {
            let config = wanted.file("nginx.conf", &nginx(wanted))?;
            command.arg("-p").arg(wanted.place).arg("-c").arg(config).args(["-e", "stderr"]);
        }
        ServerKind::Apache => {
            let config = wanted.file("apache.conf", &apache(wanted, apache_modules()?))?;
            command.arg("-DFOREGROUND").arg("-f").arg(config);
        }
        ServerKind::Haproxy => {
            let config = wanted.file("haproxy.cfg", &haproxy(wanted))?;
            command.arg("-db").arg("-f").arg(config);
        }
        ServerKind::Postgresql => {
            let key = wanted.place.join("server.key");
            own_key(&wanted.key(), &key)?;
            let certificate = if wanted.case.authenticated { " clientcert=verify-ca" } else { "" };
            let access = wanted.file("pg_hba.conf", &format!("hostssl all all 127.0.0.1/32 trust{certificate}\n"))?;
            command.arg("-D").arg(wanted.place.join("data"));
            for setting in postgresql(wanted, &key, &access) {
                command.arg("-c").arg(setting);
            }
        }
        ServerKind::SServer => {
            command.args(s_server(wanted));
        }
    }
    Ok(())
}

fn nginx(wanted: &Wanted<'_>) -> String {
    let Wanted { stage, case, port, place, .. } = wanted;
    let (place, folder) = (place.display(), stage.folder.display());
    let user = user().map_or_else(String::new, |(user, group)| format!("user {user} {group};\n"));
    let mut tls = match wanted.group() {
        Some(group) => {
            format!("ssl_protocols TLSv1.3;\nssl_ecdh_curve {group};\nssl_conf_command Ciphersuites {SUITE13};\n")
        }
        None => format!("ssl_protocols TLSv1.2;\nssl_ciphers {SUITE};\n"),
    };
    tls += match (case.resumed, case.protocol) {
        (false, _) => "ssl_session_cache off;\nssl_session_tickets off;\n",
        (true, Protocol::Tls12) => "ssl_session_cache shared:sessions:4m;\nssl_session_tickets off;\n",
        (true, Protocol::Tls13) => "ssl_session_cache off;\nssl_session_tickets on;\n",
    };
    if case.authenticated {
        let authority = stage.certificates.authority();
        let _ = writeln!(tls, "ssl_client_certificate {};\nssl_verify_client on;", authority.display());
    }
    format!(
        "daemon off;\n{user}worker_processes {};\npid {place}/pid;\nerror_log stderr error;\n\
         events {{ worker_connections 2048; }}\n\
         http {{\naccess_log off;\nclient_body_temp_path {place}/body;\nproxy_temp_path {place}/proxy;\n\
         fastcgi_temp_path {place}/fastcgi;\nuwsgi_temp_path {place}/uwsgi;\nscgi_temp_path {place}/scgi;\n\
         server {{\nlisten 127.0.0.1:{port} ssl backlog=1024;\nroot {folder};\n\
         ssl_certificate {};\nssl_certificate_key {};\n{tls}}}\n}}\n",
        stage.processors,
        wanted.certificate().display(),
        wanted.key().display(),
    )
}

/// The folder of Apache's modules, which has prefork.
///
/// # Errors
/// [`Failure`] where there is none.
pub fn apache_modules() -> Result<&'static Path, Failure> {
    let needed = ["mod_mpm_prefork.so", "mod_ssl.so", "mod_authz_core.so", "mod_socache_shmcb.so"];
    let mut folders = APACHE.iter().map(Path::new).filter(|folder| folder.is_dir());
    let found = folders.find(|folder| needed.iter().all(|name| folder.join(name).is_file()));
    found
        .ok_or_else(|| Failure::new("Apache's modules mpm_prefork, ssl and socache_shmcb are not in its usual folders"))
}

fn apache(wanted: &Wanted<'_>, modules: &Path) -> String {
    let Wanted { stage, case, port, place, .. } = wanted;
    let (place, folder, clients) = (place.display(), stage.folder.display(), stage.clients);
    let load = ["mpm_prefork", "authz_core", "ssl", "socache_shmcb"]
        .map(|name| format!("LoadModule {name}_module {}/mod_{name}.so\n", modules.display()))
        .concat();
    let user = user().map_or_else(String::new, |(user, group)| format!("User {user}\nGroup {group}\n"));
    let mut tls = match wanted.group() {
        Some(group) => {
            format!("SSLProtocol TLSv1.3\nSSLCipherSuite TLSv1.3 {SUITE13}\nSSLOpenSSLConfCmd Groups {group}\n")
        }
        None => format!("SSLProtocol TLSv1.2\nSSLCipherSuite {SUITE}\n"),
    };
    tls += &match (case.resumed, case.protocol) {
        (false, _) => "SSLSessionCache none\nSSLSessionTickets off\n".to_owned(),
        (true, Protocol::Tls12) => format!("SSLSessionCache shmcb:{place}/sessions(512000)\nSSLSessionTickets off\n"),
        (true, Protocol::Tls13) => "SSLSessionCache none\nSSLSessionTickets on\n".to_owned(),
    };
    if case.authenticated {
        let authority = stage.certificates.authority();
        let _ = writeln!(tls, "SSLCACertificateFile {}\nSSLVerifyClient require", authority.display());
    }
    let most = clients + 8;
    format!(
        "{load}{user}ServerRoot {place}\nServerName localhost\nDefaultRuntimeDir {place}\nPidFile {place}/pid\n\
         ErrorLog /dev/stderr\nLogLevel error\nListenBackLog 1024\nListen 127.0.0.1:{port}\nDocumentRoot {folder}\n\
         KeepAlive Off\nServerLimit {most}\nMaxRequestWorkers {most}\nStartServers {clients}\nMinSpareServers 1\n\
         MaxSpareServers {most}\nMaxConnectionsPerChild 0\nSSLEngine on\nSSLCertificateFile {}\n\
         SSLCertificateKeyFile {}\n{tls}",
        wanted.certificate().display(),
        wanted.key().display(),
    )
}

fn haproxy(wanted: &Wanted<'_>) -> String {
    let Wanted { stage, case, port, asynchronous, .. } = wanted;
    let mut bind = format!("crt {}", stage.certificates.both(case.key).display());
    bind += &match wanted.group() {
        Some(group) => {
            format!(" ssl-min-ver TLSv1.3 ssl-max-ver TLSv1.3 ciphersuites {SUITE13} curves {group}")
        }
        None => format!(" ssl-min-ver TLSv1.2 ssl-max-ver TLSv1.2 ciphers {SUITE}"),
    };
    if !(case.resumed && case.protocol == Protocol::Tls13) {
        bind += " no-tls-tickets";
    }
    if case.authenticated {
        let _ = write!(bind, " ca-file {} verify required", stage.certificates.authority().display());
    }
    let cache = if case.resumed { "" } else { " tune.ssl.cachesize 0\n" };
    let mode = if *asynchronous { " ssl-mode-async\n" } else { "" };
    format!(
        "global\n maxconn {}\n nbthread {}\n{cache}{mode}defaults\n mode http\n timeout client 60s\n timeout connect 60s\n \
         timeout server 60s\nfrontend bench\n bind 127.0.0.1:{port} backlog 1024 ssl {bind}\n http-request return status 200 \
         content-type application/octet-stream file {}\n",
        2 * stage.clients + 100,
        stage.processors,
        stage.folder.join("data").display(),
    )
}

fn postgresql(wanted: &Wanted<'_>, key: &Path, access: &Path) -> Vec<String> {
    let Wanted { stage, case, port, .. } = wanted;
    let version = if wanted.is_13() { "TLSv1.3" } else { "TLSv1.2" };
    let mut settings: Vec<String> = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "ssl=on",
        "fsync=off",
        "autovacuum=off",
        "jit=off",
        "shared_buffers=16MB",
        "log_min_messages=fatal",
    ]
    .map(str::to_owned)
    .into();
    settings.push(format!("port={port}"));
    settings.push(format!("max_connections={}", 2 * stage.clients + 16));
    settings.push(format!("ssl_cert_file={}", wanted.certificate().display()));
    settings.push(format!("ssl_key_file={}", key.display()));
    settings.push(format!("hba_file={}", access.display()));
    settings.push(format!("ssl_ciphers={SUITE}"));
    settings.push(format!("ssl_min_protocol_version={version}"));
    settings.push(format!("ssl_max_protocol_version={version}"));
    if case.authenticated {
        settings.push(format!("ssl_ca_file={}", stage.certificates.authority().display()));
    }
    settings
}

fn s_server(wanted: &Wanted<'_>) -> Vec<String> {
    let Wanted { stage, case, port, .. } = wanted;
    let path = |path: PathBuf| path.display().to_string();
    let mut words: Vec<String> = ["s_server", "-WWW", "-quiet", "-accept"].map(str::to_owned).into();
    words.push(format!("127.0.0.1:{port}"));
    words.extend(["-cert".to_owned(), path(wanted.certificate()), "-key".to_owned(), path(wanted.key())]);
    match wanted.group() {
        Some(group) => words.extend(["-tls1_3", "-ciphersuites", SUITE13, "-groups", group].map(str::to_owned)),
        None => words.extend(["-tls1_2", "-cipher", SUITE].map(str::to_owned)),
    }
    match (case.resumed, case.protocol) {
        (false, _) => words.extend(["-no_cache", "-no_ticket"].map(str::to_owned)),
        (true, Protocol::Tls12) => words.push("-no_ticket".to_owned()),
        (true, Protocol::Tls13) => {}
    }
    if case.authenticated {
        words.extend(["-Verify", "3", "-verify_return_error", "-CAfile"].map(str::to_owned));
        words.push(path(stage.certificates.authority()));
    }
    words
}
