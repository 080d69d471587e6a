//! The configurations of a private OpenSSH.

use super::{HOST, Place, Setup};
use std::path::{Path, PathBuf};

/// The home of sessions; it also tells their processes from all others.
pub(super) fn home(folder: &Path) -> PathBuf {
    folder.join("home")
}

/// The text of `sshd_config`. sshd takes the first value that it reads: the caller's lines win. `more` are further lines.
///
/// StrictModes would refuse keys below /tmp, which all users may write; the folder itself is 0700. Without PAM nothing of the system records the
/// login.
///
/// `SetEnv` keeps the user's startup files out of a session. sshd runs every command by the login shell of the account
/// (`shell -c COMMAND`), and what that reads first may take longer than all the rest, print, or never end:
///
/// * bash reads `/etc/bash.bashrc` and `~/.bashrc` where sshd started it, but only as the outermost shell (`SHLVL` below 2);
/// * zsh reads `.zshenv` in `ZDOTDIR`, csh and tcsh `.cshrc` and `.tcshrc` in `HOME`, fish `fish/` in `XDG_CONFIG_HOME`;
/// * dash and ksh read nothing without a terminal but, in some versions, what `ENV` names.
///
/// So the session gets a home of its own, in which nothing is. One line, because sshd takes the first of its kind. What an
/// administrator set up for every shell of the machine (`/etc/zsh/zshenv`, `/etc/fish`, `/etc/csh.cshrc`) is still read.
pub(super) fn server(place: &Place, setup: &Setup, more: &str) -> String {
    let home = home(place.dir());
    let home = home.display();
    format!(
        "{}\n{more}AuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPubkeyAuthentication yes\nPermitRootLogin prohibit-password\n\
         AllowUsers {}\nPermitUserRC no\nPrintMotd no\nPrintLastLog no\nX11Forwarding no\nAllowTcpForwarding no\n\
         PermitUserEnvironment no\n\
         SetEnv HOME={home} ZDOTDIR={home} XDG_CONFIG_HOME={home} SHLVL=2 ENV=/dev/null BASH_ENV=/dev/null\n\
         LogLevel VERBOSE\n",
        setup.lines.join("\n"),
        place.authorized_keys().display(),
        place.user,
    )
}

/// The options by which a client finds the server at `port`, knows its key, and asks no question.
fn way(place: &Place, port: u16) -> [(&'static str, String); 13] {
    let word = str::to_owned;
    [
        ("HostName", word("127.0.0.1")),
        ("HostKeyAlias", word(HOST)),
        ("Port", port.to_string()),
        ("User", place.user.clone()),
        ("UserKnownHostsFile", place.path("known_hosts").display().to_string()),
        ("GlobalKnownHostsFile", word("/dev/null")),
        ("StrictHostKeyChecking", word("yes")),
        ("CheckHostIP", word("no")),
        ("IdentitiesOnly", word("yes")),
        ("IdentityAgent", word("none")),
        ("BatchMode", word("yes")),
        ("PreferredAuthentications", word("publickey")),
        ("ConnectTimeout", word("20")),
    ]
}

/// The options by which a client finds the server at `port`, as values of `-o`, for a client that reads its user's configuration.
pub(in crate::ssh) fn client_options(place: &Place, port: u16) -> Vec<String> {
    way(place, port).map(|(name, value)| format!("{name}={value}")).to_vec()
}

/// The text of `ssh_config`. ssh takes the first value that it reads: the caller's lines win. `more` are further lines.
pub(super) fn client(place: &Place, port: u16, setup: &Setup, more: &str) -> String {
    let way: String = way(place, port).map(|(name, value)| format!("{name} {value}\n")).concat();
    format!(
        "Host {HOST}\n{}\n{more}{way}UpdateHostKeys no\nControlMaster no\nControlPath none\nCompression no\n\
         ForwardAgent no\nForwardX11 no\n",
        setup.lines.join("\n")
    )
}
