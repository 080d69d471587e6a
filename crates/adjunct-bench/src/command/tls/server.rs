//! A real server of one side: started with a configuration and an environment of its own, watched, ended.

use super::configuration::{self, Wanted};
use super::plan::{Case, ServerKind, Side};
use super::stage::{Stage, own, without_rights};
use crate::crew;
use adjunct_cli::counted::Counted;
use adjunct_cli::ssh::lab::locate;
use adjunct_tool::Failure;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::halves::{Halves, free_port};
use adjunct_tool::process::{Running, last_line, run};
use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(30);
/// Time that a server may take to end when it is asked to.
const END: Duration = Duration::from_secs(5);
/// The number of tries with another port where one was taken meanwhile.
const PORTS: usize = 3;

/// A server's programs.
#[derive(Debug)]
pub struct Programs {
    pub kind: ServerKind,
    pub server: PathBuf,
    /// Name and version of the server as it names itself.
    pub version: String,
}

impl Programs {
    /// Looks for the programs.
    ///
    /// # Errors
    /// [`Failure`] that names what is missing, and the package that has it.
    pub fn find(kind: ServerKind) -> Result<Programs, Failure> {
        let (server, option) = match kind {
            ServerKind::Nginx => (locate("nginx", None, "nginx")?, "-v"),
            ServerKind::Apache => {
                let server =
                    locate("apache2", None, "apache2").or_else(|why| locate("httpd", None, "").map_err(|_| why))?;
                configuration::apache_modules()?;
                (server, "-v")
            }
            ServerKind::Haproxy => (locate("haproxy", None, "haproxy")?, "-v"),
            ServerKind::Postgresql => (postgres()?, "--version"),
            ServerKind::SServer => (locate("openssl", None, "openssl")?, "version"),
        };
        let done = run(Command::new(&server).arg(option)).map_err(Failure::new)?;
        let said = done.text() + &done.stderr;
        Ok(Programs { kind, server, version: version(kind.title(), &said) })
    }

    /// Path of the program `name` in the folder of the server's program.
    fn beside(&self, name: &str) -> PathBuf {
        self.server.with_file_name(name)
    }
}

/// A server's title with the first version number that its program says.
fn version(title: &str, said: &str) -> String {
    let words = said.split([' ', '/', '-', '+', '\n', '~']);
    let number = words.map(str::trim).find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    number.map_or_else(|| title.to_owned(), |number| format!("{title} {number}"))
}

/// PostgreSQL's server: Debian has a folder for each version.
fn postgres() -> Result<PathBuf, Failure> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest = versions.map(|version| version.path()).max_by_key(|path| number(path));
    let server = newest.map(|folder| folder.join("bin/postgres")).filter(|server| server.is_file());
    let server = server.map_or_else(|| locate("postgres", None, "postgresql"), Ok)?;
    let initdb = server.with_file_name("initdb");
    if initdb.is_file() { Ok(server) } else { Err(Failure::new(format!("{}: there is none", initdb.display()))) }
}

/// Further settings of a side's server.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    pub side: Side,
    /// The folder of the side's cards.
    pub cards: Option<&'a Path>,
    /// Whether cards are asked for each operation.
    pub always: bool,
}

/// A server that runs. Dropped, it ends, and its files go.
#[derive(Debug)]
pub struct Server {
    running: Running,
    place: PathBuf,
    log: PathBuf,
    pub port: u16,
    pub counted: Counted,
}

impl Server {
    /// Starts a server and waits until it listens.
    ///
    /// # Errors
    /// [`Failure`] in its own words.
    pub fn start(stage: &Stage<'_>, programs: &Programs, case: Case, told: &Told<'_>) -> Result<Server, Failure> {
        let mut last = None;
        for _ in 0..PORTS {
            match Server::start_at(stage, programs, case, told, free_port()?) {
                // Between looking for a free port and binding it, another program may take it.
                Err(failure) if failure.to_string().to_lowercase().contains("address already in use") => {
                    last = Some(failure);
                }
                done => return done,
            }
        }
        Err(last.unwrap_or_else(|| Failure::new("no port on the loopback")))
    }

    fn start_at(
        stage: &Stage<'_>,
        programs: &Programs,
        case: Case,
        told: &Told<'_>,
        port: u16,
    ) -> Result<Server, Failure> {
        let name = programs.kind.name();
        let place = stage.folder.join(format!("{name}-{}-{port}", told.side.name()));
        let log = place.join("log");
        let made = fs::create_dir(&place).and_then(|()| fs::File::create(&log));
        let file = made.map_err(|e| cannot_write(&place, &e))?;
        if programs.kind == ServerKind::Postgresql {
            database(stage, programs, &place)?;
        }
        let wanted = Wanted { stage, case, port, place: &place, asynchronous: told.side != Side::Stock };
        let mut server = Command::new(&programs.server);
        configuration::write(programs.kind, &wanted, &mut server)?;
        let (conf, cards) = match told.side {
            Side::Stock => (stage.stock, None),
            _ => (stage.adjunct, Some(told.cards.map_or("off", |_| "on"))),
        };
        server.env("OPENSSL_CONF", conf);
        for variable in ["ADJUNCT_CARDS", "ADJUNCT_CARDS_DIR", "ADJUNCT_ACCELERATOR", "OPENSSL_MODULES"] {
            server.env_remove(variable);
        }
        let counted = Counted::apart(&format!("tls-{}", told.side.name()));
        server.envs(counted.environment().set);
        match (cards, told.cards) {
            (_, Some(folder)) => {
                server.env("ADJUNCT_CARDS_DIR", folder);
                if told.always {
                    server.env("ADJUNCT_CARDS", "always");
                }
            }
            (Some(off), None) => _ = server.env("ADJUNCT_CARDS", off),
            (None, None) => {}
        }
        let server = if programs.kind == ServerKind::Postgresql { without_rights(&server) } else { server };
        let mut command = Halves::pinned(stage.on, &server);
        // s_server serves files of the folder it is in.
        command
            .current_dir(if programs.kind == ServerKind::SServer { stage.folder } else { &place })
            .stdin(Stdio::null());
        command.stdout(file.try_clone().map_err(|e| cannot_write(&log, &e))?).stderr(file);
        // Apache ends all its group when it is told to end.
        command.process_group(0);
        let failed = |e: std::io::Error| Failure::new(format!("{}: {}", programs.server.display(), cause(&e)));
        let child = crew::ends_with_us(&mut command).spawn().map_err(failed)?;
        let mut running = Running::new(child);
        running.ask_first(END);
        let mut server = Server { running, place, log, port, counted };
        let begin = Instant::now();
        loop {
            interrupted()?;
            if !server.running.runs() || begin.elapsed() > START {
                return Err(Failure::new(format!("it does not start: {}", server.last_words())));
            }
            if TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), Duration::from_secs(1)).is_ok() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Number of the server's first process.
    pub fn pid(&self) -> u32 {
        self.running.id()
    }

    /// Whether the server still runs.
    pub fn runs(&mut self) -> bool {
        self.running.runs()
    }

    /// The last line that the server wrote.
    pub fn last_words(&self) -> String {
        last_line(&fs::read_to_string(&self.log).unwrap_or_default()).to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.running.runs() {
            adjunct_tool::process::tree::kill(self.running.id(), rustix::process::Signal::TERM);
            let _ = self.running.wait(END);
        }
        self.running.kill();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// A copy of the run's database, with a key that is its user's, in `place`.
fn database(stage: &Stage<'_>, programs: &Programs, place: &Path) -> Result<(), Failure> {
    let done = |mut command: Command| match run(&mut command).map_err(Failure::new)? {
        done if done.success => Ok(()),
        done => Err(Failure::new(format!("{}: {}", command.get_program().display(), done.why()))),
    };
    let template = stage.folder.join("database");
    if !template.exists() {
        fs::create_dir(&template).map_err(|e| cannot_write(&template, &e))?;
        own(&template)?;
        let mut initdb = Command::new(programs.beside("initdb"));
        initdb.arg("-D").arg(&template).args(["-U", "bench", "--auth=trust", "--no-sync", "--locale=C"]);
        initdb.arg("--encoding=UTF8").env("OPENSSL_CONF", stage.stock);
        let mut initdb = without_rights(&initdb);
        initdb.current_dir(stage.folder);
        if let Err(failure) = done(initdb) {
            let _ = fs::remove_dir_all(&template);
            return Err(failure);
        }
    }
    own(place)?;
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(&template).arg(place.join("data"));
    done(copy)
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_found_in_what_servers_say() {
        for (said, found) in [
            ("nginx version: nginx/1.22.1\n", "x 1.22.1"),
            ("Server version: Apache/2.4.71 (Debian)\nServer built:   2026-11-12T08:58:41\n", "x 2.4.71"),
            ("HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n", "x 2.6.12"),
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", "x 15.18"),
            ("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)\n", "x 3.0.19"),
            ("what?", "x"),
        ] {
            assert_eq!(version("x", said), found);
        }
    }
}
