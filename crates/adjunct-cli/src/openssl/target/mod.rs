//! The programs that adjunct is enabled for: all programs, sshd alone, or this user's ssh alone.
//!
//! All programs read the system's openssl.cnf. One program alone reads a configuration of its own that includes the
//! system's, because `OPENSSL_CONF` in its environment says so: sshd's is set by its service (`sshd`, `service`,
//! `environment`), ssh's by small scripts before it in this user's `PATH` (`ssh`). `steps` makes changes of several
//! files or none.

mod environment;
mod service;
mod ssh;
mod sshd;
mod steps;

use super::change::{self, Done};
use super::file::ConfigFile;
use super::standing::accepted;
use super::{DisableArgs, EnableArgs};
use adjunct_openssl_conf::{Model, Options, State};
use adjunct_survey::FromDisk;
use adjunct_survey::{programs, trust};
use adjunct_tool::Failure;
use adjunct_tool::files;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The programs that a change is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Every program: the system's openssl.cnf
    All,
    /// sshd alone: a configuration of its own, named in its service's environment
    Sshd,
    /// This user's ssh, scp and sftp alone, and what calls ssh (git, rsync); needs no root
    Ssh,
}

/// The state of a target, as `status` reports it.
#[derive(Debug, Clone, Serialize)]
pub struct TargetState {
    /// The target.
    #[serde(rename = "for")]
    pub target: Target,
    /// Whether anything of the target is there.
    pub enabled: bool,
    /// Whether the target is in force: its programs come to a configuration in which the module loads and is preferred.
    pub working: bool,
    /// The configuration.
    pub config: PathBuf,
    /// Further files that belong to the target.
    pub files: Vec<PathBuf>,
    /// The programs it is about, by their own files.
    pub programs: Vec<PathBuf>,
    /// The groups that the module's engine serves, where the module registers one.
    pub engine: Option<String>,
    /// Reasons why the target is not in force, one line each.
    pub problems: Vec<String>,
    /// Notes, one line each.
    pub notes: Vec<String>,
}

/// The targets that are one program's, enabled or not.
pub fn states() -> Vec<TargetState> {
    vec![sshd::state(), ssh::state()]
}

/// The lines of a file of environment variables that set something, for fuzzing.
pub fn lines_that_set(environment: &[u8]) -> Vec<usize> {
    environment::settings(environment).into_iter().map(|setting| setting.line).collect()
}

/// `enable` for the target of the command line.
pub(super) fn enable(args: &EnableArgs) -> Result<Done, Failure> {
    match args.target {
        Target::All => change::enable(args),
        Target::Sshd => sshd::enable(args),
        Target::Ssh => ssh::enable(args),
    }
}

/// `disable` for one target.
pub(super) fn disable(target: Target, args: &DisableArgs) -> Result<Done, Failure> {
    match target {
        Target::All => change::disable(args),
        Target::Sshd => sshd::disable(args),
        Target::Ssh => ssh::disable(args),
    }
}

/// Whether there is something to take away for a target. Where that cannot be read, [`disable`] reports it.
pub(crate) fn is_enabled(target: Target) -> bool {
    match target {
        Target::All => system_config().is_ok_and(|file| adjunct_openssl_conf::contains_block(&file.bytes)),
        Target::Sshd => sshd::is_there(),
        Target::Ssh => ssh::is_there(),
    }
}

/// The system's openssl.cnf.
fn system_config() -> Result<ConfigFile, Failure> {
    ConfigFile::open(&programs::openssl_dir()?.join("openssl.cnf"))
}

/// The state that a configuration on disk describes; `None` where it cannot be read.
fn state_of(config: &Path) -> Option<State> {
    let bytes = files::config(config).ok()?;
    Model::read(&bytes, &FromDisk).ok().map(|model| adjunct_openssl_conf::state(&model))
}

/// The text of a configuration that includes the system's, before adjunct's block.
fn base(whom: &str, system: &Path, header: &[String]) -> Result<Vec<u8>, Failure> {
    let path = system.to_str().filter(|p| !p.chars().any(char::is_control));
    let path = path.ok_or_else(|| Failure::new(format!("{}: a path that cannot be written down", system.display())))?;
    let mut text = format!("# OpenSSL's configuration for {whom}: the system's, then what adjunct adds.\n");
    header.iter().for_each(|line| text += &format!("{line}\n"));
    text += &adjunct_openssl_conf::include(path);
    text.push('\n');
    Ok(text.into_bytes())
}

/// Finds out whether a target's own configuration is in force, which problems prevent that, and what its engine serves.
fn look(target: &mut TargetState) {
    let config = target.config.as_path();
    match state_of(config) {
        None => target.problems.push(format!("{}: cannot be read", config.display())),
        Some(state) => {
            let module = state.adjunct.as_ref().and_then(|adjunct| adjunct.module.as_deref());
            let module = module.map(String::from_utf8_lossy);
            let bytes = files::config(config).unwrap_or_default();
            let accepted = accepted(adjunct_openssl_conf::contains_block(&bytes), module.as_deref());
            let runs = trust::runs_under(config, &bytes, accepted);
            if !state.works() {
                let text = "adjunct is not in force in it; enable it again";
                target.problems.push(format!("{}: {text}", config.display()));
            } else if let Err(why) = &runs {
                target.problems.push(why.to_string());
            } else if programs::providers(config).map_or(true, |l| !l.iter().any(|p| p.name == "adjunct" && p.active)) {
                target.problems.push(super::explain::not_loaded(config));
            }
            target.engine = super::engine::of(&state);
            target.notes.extend(runs.ok().and_then(|()| super::engine::missing(&state, config)));
        }
    }
    target.working = target.problems.is_empty();
}

/// A note where a configuration of a program's own was made from another text of the system's than exists now.
fn outdated(config: &Path, base: &[u8]) -> Option<String> {
    let there = files::config(config).ok()?;
    let adjunct = state_of(config)?.adjunct?;
    let text = |value: &Option<Vec<u8>>| value.as_deref().map(|v| String::from_utf8_lossy(v).into_owned());
    let options = Options::new(&text(&adjunct.module)?, text(&adjunct.algorithms).as_deref());
    let now =
        adjunct_openssl_conf::enable(base, &options.with_engine(text(&adjunct.engine).as_deref()), &FromDisk).ok()?;
    let what = "the system's configuration has changed since; enable it again to follow it";
    (there != now).then(|| format!("{}: {what}", config.display()))
}
