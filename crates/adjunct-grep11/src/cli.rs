//! The command line.

use crate::config::{FILE, Settings, domains};
use crate::log;
use crate::{server, tokens};
use clap::{CommandFactory, Parser, Subcommand};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// EP11 coprocessors over gRPC (GREP11)
#[derive(Debug, Parser)]
#[command(
    name = "adjunct-grep11",
    version,
    after_help = "\
Without --config it reads /etc/ep11server/ep11server.yaml where that exists, as IBM's container does, and else serves plaintext on 127.0.0.1:9876. It asks coprocessors \
that adjunctd runs here (adjunct cards enable --ep11; for tests: adjunct grep11 dev).

Examples:
  adjunct-grep11
  adjunct-grep11 --config /etc/ep11server/ep11server.yaml --status 127.0.0.1:9877
  adjunct-grep11 token backup

Exit status: 0 it was ended, 1 it failed (one line says why), 2 the command line is wrong."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// The configuration, of the form that IBM's container has
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where clients connect; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The coprocessors' domains, such as 01.00,02.00; by default all that have one wrapping key
    #[arg(long, value_name = "CARD.DOMAIN,...")]
    domain: Option<String>,
    /// A file of tokens, of which each call must have one
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Where health and metrics are told: /ready, /metrics, and gRPC's health
    #[arg(long, value_name = "ADDRESS:PORT")]
    status: Option<SocketAddr>,
    /// Serve plaintext although other machines reach the address
    #[arg(long)]
    insecure_plaintext: bool,
    /// End when this process has ended
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<i32>,
}

/// What it does instead of serving.
#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token: it goes to its client, and the line to the file of tokens
    Token {
        /// Who has it, as the log is to name it
        name: String,
    },
    /// Say whether a configuration is right, and end
    Check,
    /// Write the man page to standard output
    #[command(hide = true)]
    Man {
        /// The date below the page; by default none
        #[arg(long, default_value = "", hide_default_value = true)]
        date: String,
    },
    /// Write the completions of a shell to standard output
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn read(path: &Path) -> Result<Settings, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (settings, unknown) = Settings::parse(path, &text)?;
    settings.level.set();
    unknown.iter().for_each(|line| log::always(line));
    Ok(settings)
}

impl Cli {
    fn settings(&self) -> Result<Settings, String> {
        let mut settings = match &self.config {
            Some(path) => read(path)?,
            None if Path::new(FILE).exists() => read(Path::new(FILE))?,
            None => Settings::default(),
        };
        if let Some(listen) = self.listen {
            settings.listen = listen;
        }
        if let Some(text) = &self.domain {
            settings.domains = domains(text).map_err(|why| format!("--domain: {why}"))?;
        }
        settings.tokens = self.tokens.clone().or(settings.tokens);
        settings.status = self.status.or(settings.status);
        settings.insecure_plaintext |= self.insecure_plaintext;
        Ok(settings)
    }

    /// Does what the command line says.
    ///
    /// # Errors
    /// One line: why not.
    pub fn run(self) -> Result<(), String> {
        match &self.command {
            None => {
                if let Some(parent) = self.parent {
                    let asked = set_parent_process_death_signal(Some(Signal::TERM)).is_ok();
                    let is = getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get() == parent);
                    if !asked || !is {
                        return Ok(());
                    }
                }
                server::start(self.settings()?)
            }
            Some(Command::Check) => server::check(&self.settings()?),
            Some(Command::Token { name }) => {
                let is_word = !name.is_empty() && !name.starts_with('#') && name.chars().all(|c| c.is_ascii_graphic());
                if !is_word {
                    return Err("a name is one word of visible ASCII characters".to_owned());
                }
                let (token, line) = tokens::make(name)?;
                println!("token for {name}, shown once: {token}\nline for the file of tokens: {line}");
                Ok(())
            }
            Some(Command::Man { date }) => {
                let page = clap_mangen::Man::new(Cli::command()).section("1").date(date.as_str());
                page.render(&mut std::io::stdout()).map_err(|error| error.to_string())
            }
            Some(Command::Completions { shell }) => {
                clap_complete::generate(*shell, &mut Cli::command(), "adjunct-grep11", &mut std::io::stdout());
                Ok(())
            }
        }
    }
}
