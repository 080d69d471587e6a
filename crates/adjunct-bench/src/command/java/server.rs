//! Open Liberty with the hello-world application, one server for each row, and what is seen of it from outside.

use super::fetch::Fetched;
use adjunct_cli::counted::Counted;
use adjunct_cli::java::jdk::{Jdk, PASSWORD};
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::Running;
use adjunct_tool::process::halves::{Halves, free_port};
use adjunct_tool::{Failure, process};
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long a server may take until it answers.
pub(super) const START: Duration = Duration::from_secs(180);
/// Time that the server's ports may take once it says that it is ready.
const PORTS: Duration = Duration::from_secs(20);
/// The message by which the server says that it is ready.
const READY: &str = "CWWKF0011I";
/// The message about a port that the server did not get; it goes on without.
const PORT_TAKEN: &str = "CWWKO0221E";

/// The settings that all servers have in common.
#[derive(Debug)]
pub(super) struct Common<'a> {
    pub jdk: &'a Jdk,
    pub fetched: &'a Fetched,
    pub halves: Option<&'a Halves>,
    pub folder: &'a Path,
    pub key: PathBuf,
    /// `TLSv1.2` or `TLSv1.3`.
    pub protocol: &'static str,
    pub suite: &'static str,
    pub heap: u32,
    /// How long a server may take until it answers.
    pub start: Duration,
}

impl Common<'_> {
    /// The file of the key that all servers have.
    ///
    /// # Errors
    /// [`Failure`] with keytool's words.
    pub fn make_key(jdk: &Jdk, folder: &Path, bits: u32) -> Result<PathBuf, Failure> {
        let file = folder.join("server.p12");
        let done = jdk.make_key(&file, 30, &["-keyalg", "RSA", "-keysize", &bits.to_string()])?;
        if done.success {
            return Ok(file);
        }
        // It tells its errors on standard output.
        let said = done.text();
        let said = said.lines().map(str::trim).find(|line| !line.is_empty()).map_or_else(|| done.why(), str::to_owned);
        Err(Failure::new(format!("keytool: {said}")))
    }
}

/// A server that runs.
#[derive(Debug)]
pub(super) struct Server {
    running: Running,
    pub counted: Counted,
    pub http: u16,
    pub https: u16,
    log: PathBuf,
    start: Duration,
}

impl Server {
    /// Starts a server; it answers later ([`Server::ready`]). `options` are the JVM's own, `environment` the module's.
    ///
    /// # Errors
    /// [`Failure`]: its files cannot be written, Java cannot be run.
    pub fn start(
        common: &Common<'_>,
        name: &str,
        options: &[String],
        environment: &[(String, String)],
    ) -> Result<Server, Failure> {
        let folder = common.folder.join(name);
        let place = folder.join("servers").join("hello");
        fs::create_dir_all(place.join("apps/hello.war")).map_err(|e| cannot_write(&place, &e))?;
        let (http, https) = (free_port()?, free_port()?);
        let write = |path: PathBuf, text: &str| fs::write(&path, text).map_err(|e| cannot_write(&path, &e));
        // A folder in the place of the archive is taken, too.
        write(place.join("apps/hello.war/index.html"), "Hello, world!\n")?;
        write(place.join("server.xml"), &configuration(common, http, https))?;
        let log = folder.join("log");
        let file = fs::File::create(&log).map_err(|e| cannot_write(&log, &e))?;
        let mut java = common.jdk.java();
        let heap = common.heap;
        java.args([format!("-Xms{heap}m"), format!("-Xmx{heap}m")]).args(options);
        java.arg(temporary(&folder));
        java.arg("-jar").arg(common.fetched.liberty.join("bin/tools/ws-server.jar")).arg("hello");
        java.env("WLP_USER_DIR", &folder).env_remove("JVM_ARGS");
        let counted = Counted::apart(&format!("java-bench-{name}"));
        java.envs(counted.environment().set).envs(environment.iter().cloned());
        let mut command = Halves::pinned(common.halves.map(|h| h.server.as_str()), &java);
        command.current_dir(&folder).stdin(Stdio::null());
        command.stdout(file.try_clone().map_err(|e| cannot_write(&log, &e))?).stderr(file);
        let child = command.spawn().map_err(|e| Failure::new(format!("cannot run Java: {}", cause(&e))))?;
        Ok(Server { running: Running::new(child), counted, http, https, log, start: common.start })
    }

    /// Waits until the server answers on both ports. Its own messages come first: a port that it did not get belongs to another program, which
    /// answers, too.
    ///
    /// # Errors
    /// [`Failure`] with the words of its log that tell why.
    pub fn ready(&mut self, name: &str) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut said_ready = None;
        let answers = |port| TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), Duration::from_secs(1)).is_ok();
        loop {
            interrupted()?;
            // In this order: what it said last is read, too.
            let ended = self.running.ended()?;
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let failed = |how: &str| Err(Failure::new(format!("Open Liberty ({name}) {how}: {}", last_words(&log))));
            if let Some(status) = ended {
                return failed(&format!("ended ({status})"));
            }
            if let Some(line) = log.lines().find(|line| line.contains(PORT_TAKEN)) {
                return Err(Failure::new(format!("Open Liberty ({name}) did not get its port: {}", line.trim())));
            }
            let is_ready = log.contains(READY);
            if is_ready && answers(self.http) && answers(self.https) {
                return Ok(());
            }
            let mute = is_ready && said_ready.get_or_insert_with(Instant::now).elapsed() > PORTS;
            if mute || begun.elapsed() > self.start {
                return failed(if is_ready { "does not answer" } else { "does not start" });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Whether the server still runs.
    pub fn runs(&mut self) -> bool {
        self.running.runs()
    }

    /// Processor seconds so far.
    pub fn cpu(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.running.id())).unwrap_or_default();
        // Behind the name, which may have blanks: the state is the first field, the two times are the 12th and the 13th.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64
    }

    /// Memory in use, MiB.
    pub fn rss(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.running.id())).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap_or_default();
        line.split_whitespace().next().and_then(|k| k.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    }

    /// Live heap after a collection, in MiB.
    pub fn heap(&self, jdk: &Jdk) -> Option<f64> {
        let id = self.running.id().to_string();
        process::run(jdk.program("jcmd").args([&id, "GC.run"])).ok()?;
        let done = process::run(jdk.program("jstat").args(["-gc", &id])).ok()?.text();
        let mut lines = done.lines();
        let (names, values) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
        let used = names.zip(values).filter(|(name, _)| ["S0U", "S1U", "EU", "OU"].contains(name));
        Some(used.filter_map(|(_, value)| value.parse::<f64>().ok()).sum::<f64>() / 1024.0)
    }
}

/// The option by which Java's temporary files lie in a folder that is removed.
pub(super) fn temporary(folder: &Path) -> String {
    format!("-Djava.io.tmpdir={}", folder.display())
}

fn last_words(log: &str) -> String {
    let told = |l: &&str| l.contains("Exception") || l.contains("[ERROR") || l.contains("Error");
    let line = log.lines().find(told).or_else(|| log.lines().rfind(|l| !l.trim().is_empty()));
    line.map_or_else(|| "its log is empty".to_owned(), |line| line.trim().to_owned())
}

fn configuration(common: &Common<'_>, http: u16, https: u16) -> String {
    let Common { protocol, suite, .. } = common;
    let key = common.key.display();
    format!(
        "<server>\n\
         <featureManager><feature>servlet-6.0</feature><feature>transportSecurity-1.0</feature></featureManager>\n\
         <httpEndpoint id=\"defaultHttpEndpoint\" host=\"127.0.0.1\" httpPort=\"{http}\" httpsPort=\"{https}\">\
         <httpOptions maxKeepAliveRequests=\"-1\"/></httpEndpoint>\n\
         <keyStore id=\"defaultKeyStore\" location=\"{key}\" type=\"PKCS12\" password=\"{PASSWORD}\"/>\n\
         <ssl id=\"defaultSSLConfig\" keyStoreRef=\"defaultKeyStore\" sslProtocol=\"{protocol}\" enabledCiphers=\"{suite}\"/>\n\
         <webApplication location=\"hello.war\" contextRoot=\"/\"/>\n\
         <applicationMonitor updateTrigger=\"disabled\"/><config updateTrigger=\"disabled\"/>\n\
         </server>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_why() {
        assert_eq!(last_words("a\nb: java.lang.Exception: c\nd\n"), "b: java.lang.Exception: c");
        assert_eq!(last_words("a\n\n"), "a");
        assert_eq!(last_words(""), "its log is empty");
    }
}
