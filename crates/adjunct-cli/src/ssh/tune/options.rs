//! The command line of `adjunct ssh tune`.

use super::config::Program;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  adjunct ssh tune --quick                       measure 45 seconds, show what would be written
  adjunct ssh tune --json=tune.json              measure all there is, in four minutes, and keep the figures
  sudo adjunct ssh tune --from tune.json --apply use them: try the files, then put them in place
  sudo adjunct ssh tune --undo                   take the files away again
  adjunct ssh tune --quick --module              as if adjunct were enabled
  adjunct ssh tune --from tune.json --policy my.toml

Policies, for --policy:
  compat  all that is in force stays; what today's OpenSSH could do without comes last
  modern  authenticated encryption or encrypt-then-MAC; no CBC, 3DES, SHA-1, MD5; post-quantum key exchange first, 64-bit MACs last.
          What a client or server that adjunct knows by name needs besides stays, at the end
  strict  modern without those
  fips    AES-GCM, AES-CTR, HMAC-SHA-2, NIST curves and groups
or a file:
  base = \"modern\"                            # compat, modern, strict or fips; compat if nothing is said
  [ciphers]                                  # also [macs], [kex], [host-keys]
  deny  = [\"aes192-*\"]                       # patterns with * and ?
  allow = [\"aes*\", \"chacha20-*\"]             # if given, only these
  first = [\"aes256-gcm@openssh.com\"]         # whatever they cost; last likewise
Without --policy it is compat, and only for ssh: a list is written where it was measured to cost clearly less, and nobody is refused.
The client's order decides, so sshd's lists bring nothing by their order. With --policy the files of both are written as the policy
has them. Whom it refuses is said by name before anything is written, and in --json (peers). About 50 versions are known, from OpenSSH
7.4 on: OpenSSH, curl's libssh2 and libssh, paramiko, JSch, PuTTY, WinSCP, FileZilla, Dropbear, AsyncSSH, Go, Cisco and others.

A list never gets anything that is not in force without adjunct's file: what OpenSSH leaves out by default, what the RHEL
family's crypto-policies or an administrator's own settings forbid stays out. The order of host keys is left to ssh, which prefers
the type that known_hosts has.

Exit status: 0 done or shown, 1 it failed and nothing was changed (one line says why), 2 the command line or the policy file
is wrong.";

/// Measure this machine's ssh and sshd, and order their algorithms by what they cost, within a policy
///
/// Measures every cipher and MAC, every key exchange and every type of key through the machine's own programs on loopback,
/// in turns and repeatedly, with the OpenSSL configuration in force for each. Then shows the files for ssh_config.d and
/// sshd_config.d that put the cheapest first, and what that buys. Changes nothing without --apply.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// compat, modern, strict, fips, or a file: write its lists, for ssh and sshd, even where they bring nothing [default: compat, for
    /// ssh, where it clearly brings something]
    #[arg(long, value_name = "POLICY")]
    pub(super) policy: Option<String>,
    /// Measure only what today's OpenSSH needs, or what --policy allows, in 45 seconds
    #[arg(long, conflicts_with = "from")]
    pub(super) quick: bool,
    /// How long to measure: no measurement is begun after that. Each algorithm is measured once at least, however long that takes; where there is
    /// time for fewer measurements than usual, it says so [default: 240, with --quick 45]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3600), conflicts_with = "from")]
    pub(super) time: Option<u64>,
    /// Whose files
    #[arg(long = "for", value_enum, default_value_t = For::All, value_name = "PROGRAM")]
    pub(super) whose: For,
    /// Measure with adjunct whether it is enabled or not; the module beside this program or in OpenSSL's folder, or this one
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "from")]
    #[allow(clippy::option_option)]
    pub(super) module: Option<Option<PathBuf>>,
    /// With --module: sshd alone has adjunct
    #[arg(long, requires = "module", hide = true)]
    pub(super) module_for_sshd: bool,
    /// With --module, as root: take it though others than root could change it, or a folder above it
    #[arg(long, requires = "module")]
    pub(super) trust_module: bool,
    /// Take the figures of an earlier --json instead of measuring
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    /// Put the files in place, after trying them
    #[arg(long)]
    pub(super) apply: bool,
    /// Take adjunct's files away
    #[arg(long, conflicts_with_all = ["apply", "from", "quick", "module", "time", "json"])]
    pub(super) undo: bool,
    /// With --apply or --undo: tell the running sshd, too
    #[arg(long)]
    pub(super) reload: bool,
    /// Report as JSON, to this file (beside the tables) or, without a file, to standard output instead of them
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option)]
    pub(super) json: Option<Option<PathBuf>>,
    /// The ssh client to use
    #[arg(long)]
    pub(super) ssh: Option<PathBuf>,
    /// The sshd to use
    #[arg(long)]
    pub(super) sshd: Option<PathBuf>,
    /// The system whose /etc is meant, as of an image; the programs are this system's
    #[arg(long, default_value = "/", value_name = "FOLDER")]
    pub(super) root: PathBuf,
}

/// Whose files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum For {
    /// The client's: ssh_config.d
    Ssh,
    /// The server's: sshd_config.d
    Sshd,
    /// Both
    All,
}

impl For {
    pub(super) fn programs(self) -> &'static [Program] {
        match self {
            For::Ssh => &[Program::Ssh],
            For::Sshd => &[Program::Sshd],
            For::All => &[Program::Ssh, Program::Sshd],
        }
    }
}
