//! `adjunct openssl`: lets OpenSSL, and with it OpenSSH, use adjunct, by an edit of openssl.cnf that is checked before it
//! stays and can be taken back byte for byte.

pub mod check;
pub mod file;
pub mod target;

mod change;
mod engine;
mod explain;
mod groups;
mod lock;
pub(crate) mod report;
pub(crate) mod standing;
mod status;

pub use adjunct_survey::programs;
use adjunct_tool::interrupt::catch_interrupts;
use adjunct_tool::{Failure, ask, output};
use change::Done;
use std::path::PathBuf;
use std::process::ExitCode;
pub use target::Target;

const EXAMPLES: &str = "\
Examples:
  sudo adjunct openssl enable          change the system's openssl.cnf, check it, keep a backup
  adjunct openssl status               whether it is in force, and what is off
  sudo adjunct openssl disable         take all of it back, byte for byte

'adjunct openssl enable --help' says what is changed, and how it is checked; 'sudo adjunct setup' does this and ssh's part in one.

Exit status: 0 done (status: all that is enabled is in force), 1 it failed, 2 the command line is wrong, 3 (status only)
nothing is enabled.";

const OF_ENABLE: &str = "\
Examples:
  adjunct openssl enable --dry-run     show the change of the system's openssl.cnf, make none
  sudo adjunct openssl enable          change it, check it, keep a backup
  sudo adjunct openssl enable --for sshd --restart       for sshd alone, and restart it
  sudo adjunct openssl enable --groups X25519MLKEM768    TLS offers and takes this post-quantum group, too
  adjunct openssl enable --for ssh     for your ssh, scp and sftp alone; needs no root
  adjunct openssl enable --config my.cnf && OPENSSL_CONF=$PWD/my.cnf ssh HOST      only for this ssh
  adjunct openssl enable --yes         in a script: without a terminal to ask at, --yes is needed

--for all (the default) changes the system's openssl.cnf. --for sshd writes /etc/adjunct/sshd.cnf, which includes the
system's, and names it in the file of variables that sshd's service reads (/etc/default/ssh on Debian), or in a drop-in of
the unit where it reads none. --for ssh writes ~/.config/adjunct/ssh.cnf and scripts before ssh, scp and sftp in a folder of
yours that PATH names first; git and rsync come through them, ssh-agent does not.

Beside the provider comes an engine, for the low-level RSA and EC functions that no provider sees (OpenSSH up to 9.8): the
module itself registers it, where OpenSSL has engines, for sshd and ssh and, with --for all, in the programs that call such
functions themselves; --engine RSA,EC asks for it in all of them. No 'engines' line is written, for that stops every program once
OpenSSL has none (4.0) or the engine's file is gone.

enable adds one block at the end of the file and touches nothing else. It makes sure that OpenSSL's default provider stays
active, that adjunct is preferred and never required, that OpenSSL's own random generator does not use it, and that programs which
load a provider of their own ('openssl -provider tpm2') get what they got before; it names the providers that are installed. Then it
checks that the module loads, that ssh and sshd accept the configuration, and that a login over loopback works; if one of
these fails that worked before, the file is put back. Where a file cannot be edited safely it is left alone. What the checks
encrypt and hash counts in the statistics like any other use.

Exit status: 0 done, 1 it failed and nothing is changed, 2 the command line is wrong.";

const OF_DISABLE: &str = "\
Examples:
  sudo adjunct openssl disable --dry-run    show what would be taken back
  sudo adjunct openssl disable              wherever it is on: for all programs, sshd, your ssh
  adjunct openssl disable --for ssh         for your ssh, scp and sftp alone; needs no root
  adjunct openssl disable --config my.cnf   in this file alone
  sudo adjunct openssl disable --yes        in a script: without a terminal to ask at, --yes is needed

A file that was not changed since is then what it was before enable, byte for byte, and its backup goes; of another only adjunct's block is
taken out. Programs that run keep what they have loaded until they are started again.

Exit status: 0 done, or it was not enabled, 1 it failed (one line says why), 2 the command line is wrong.";

const OF_STATUS: &str = "\
Examples:
  adjunct openssl status                    whether it is in force, what is off, and who gets it
  adjunct openssl status --programs         each program by itself: what it gets and why
  adjunct openssl status --program nginx    this program alone
  adjunct openssl status --below /opt/app   the programs and plugins below a folder
  adjunct openssl status --json | jq .working

'adjunct doctor' says the same of one program, process, service or listener in a sentence, with what to do.

Exit status: 0 all that is enabled is in force, 1 it is not, or it failed, 2 the command line is wrong, 3 nothing is enabled.";

/// Let OpenSSL and OpenSSH use it, undo that, or show whether they do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Switch adjunct on for all programs, sshd or your ssh, check that everything works, and take it back if not
    Enable(EnableArgs),
    /// Switch adjunct off again, byte for byte, wherever it is on
    Disable(DisableArgs),
    /// Show whether adjunct is in force, its module, the versions, and what is off
    Status(StatusArgs),
}

/// The options of `enable`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = OF_ENABLE)]
pub struct EnableArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    module: adjunct_survey::module::Args,
    /// What adjunct offers: ALL, or any of RSA, EC, CIPHERS, DIGESTS, MACS, KEM, RAND, ECB, separated by commas
    #[arg(long, value_name = "LIST")]
    algorithms: Option<String>,
    /// Whom to switch it on for
    #[arg(long = "for", value_name = "WHOM", default_value = "all", conflicts_with = "config")]
    target: Target,
    /// What the engine serves, where OpenSSL has engines: RSA, EC, DH, RAND, ALL, or auto (what the program itself calls of RSA
    /// and EC); by default RSA,EC for sshd and ssh, and auto for all
    #[arg(long, value_name = "LIST", conflicts_with = "no_engine")]
    engine: Option<String>,
    /// The provider alone
    #[arg(long)]
    no_engine: bool,
    /// TLS groups that programs offer and take first, before those in force: X25519MLKEM768, SecP256r1MLKEM768,
    /// SecP384r1MLKEM1024, or any other, separated by commas; for programs that set no groups themselves
    #[arg(long, value_name = "LIST")]
    groups: Option<String>,
    /// With --for sshd: restart sshd, see that it runs, and take everything back if it does not
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    consent: Consent,
}

/// The options of `disable`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = OF_DISABLE)]
pub struct DisableArgs {
    #[command(flatten)]
    common: Common,
    /// Whom to switch it off for; by default for all that it is on for
    #[arg(long = "for", value_name = "WHOM", conflicts_with = "config")]
    target: Option<Target>,
    #[command(flatten)]
    consent: Consent,
}

/// The options of `status`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = OF_STATUS)]
pub struct StatusArgs {
    #[command(flatten)]
    common: Common,
    /// Show each program by itself: what it gets and why, what bypasses adjunct, which processes run it
    #[arg(long)]
    programs: bool,
    /// Show this program (or plugin) alone; a name is looked for in PATH
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// Show the programs and plugins below this folder alone, and what runs of them
    #[arg(long, value_name = "FOLDER", conflicts_with = "program")]
    below: Option<PathBuf>,
    /// Where the kernel tells of processes
    #[arg(long, value_name = "FOLDER", default_value = "/proc", hide = true)]
    proc: PathBuf,
}

#[derive(Debug, Clone, clap::Args)]
struct Common {
    /// The configuration file; by default the system's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::Args)]
struct Consent {
    /// Show the change and make none
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask; needed without a terminal, and with --json
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

/// A note where `OPENSSL_CONF` leads programs started from here to another file than `config`.
fn elsewhere(config: &std::path::Path) -> Option<String> {
    let other = std::env::var_os("OPENSSL_CONF").filter(|v| !v.is_empty()).map(PathBuf::from)?;
    if std::fs::canonicalize(&other).is_ok_and(|o| o == config) {
        return None;
    }
    let (other, config) = (other.display(), config.display());
    Some(format!("OPENSSL_CONF is {other} here: programs started from here do not read {config}"))
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    catch_interrupts();
    match &args.command {
        Command::Enable(args) => enable(args),
        Command::Disable(args) => disable(args),
        Command::Status(args) => status::run(args),
    }
}

fn enable(args: &EnableArgs) -> Result<ExitCode, Failure> {
    if args.restart && args.target != Target::Sshd {
        return Err(Failure::Words("--restart goes with --for sshd; nothing else is restarted".to_owned()));
    }
    if args.groups.is_some() && args.target != Target::All {
        return Err(Failure::Words("--groups goes with --for all: ssh and sshd do not speak TLS".to_owned()));
    }
    let done = target::enable(args)?;
    let code = told(&done, args.common.json)?;
    if done.report.changed
        && args.target == Target::All
        && !args.common.json
        && !args.consent.dry_run
        && args.common.config.is_none()
    {
        output::print(&to_restart())?;
    }
    if !args.common.json && !args.consent.dry_run && args.common.config.is_none() {
        output::print(NEXT)?;
    }
    Ok(code)
}

/// A line for each service and process that goes on without adjunct until it is started again. Where nothing can be found out, nothing is said.
fn to_restart() -> String {
    let wait = adjunct_tool::progress::Progress::waiting("looking at processes");
    let found = crate::doctor::to_restart(None, std::path::Path::new("/proc")).map(|(all, _)| all).unwrap_or_default();
    drop(wait);
    adjunct_survey::served::text::outdated(&found)
        .lines()
        .fold(String::new(), |text, line| text + "note: " + line + "\n")
}

/// Enabling alone changes no session: what OpenSSH takes by itself, ChaCha20-Poly1305, no instruction serves.
const NEXT: &str = "\
next: sudo adjunct ssh tune --quick --apply --reload   OpenSSH's first choice, ChaCha20, has no hardware: the fastest goes first
then: adjunct ssh verify                               a real session, and for each part of it who computed it
";

fn told(done: &Done, json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::print_json(&done.report)?;
    } else {
        output::print(&change::text(done))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes adjunct out of all that is on, one after the other, where the command line names no target and no file. What fails for one does not keep the
/// others on.
fn disable(args: &DisableArgs) -> Result<ExitCode, Failure> {
    if args.target.is_some() || args.common.config.is_some() {
        return told(&target::disable(args.target.unwrap_or(Target::All), args)?, args.common.json);
    }
    let on: Vec<Target> =
        [Target::Ssh, Target::Sshd, Target::All].into_iter().filter(|&target| target::is_enabled(target)).collect();
    if on.is_empty() {
        // It tells of a configuration by hand. Without any configuration there is nothing to take away.
        match target::disable(Target::All, args) {
            Ok(done) if !args.common.json => return told(&done, false),
            _ if args.common.json => {}
            _ => output::print("adjunct is not enabled\n")?,
        }
    }
    if !on.is_empty() && !args.consent.dry_run {
        ask::can_consent(args.consent.yes, args.common.json)?;
    }
    let (mut reports, mut failure) = (Vec::new(), None);
    for target in on {
        match target::disable(target, args) {
            Ok(done) if args.common.json => reports.push(done.report),
            Ok(done) => output::print(&change::text(&done))?,
            Err(why) => failure = failure.or(Some(why)),
        }
    }
    if args.common.json {
        output::print_json(&reports)?;
    }
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

impl Common {
    /// The file the command line is about.
    fn config(&self) -> Result<PathBuf, Failure> {
        match &self.config {
            Some(path) => Ok(path.clone()),
            None => Ok(programs::openssl_dir()?.join("openssl.cnf")),
        }
    }
}
