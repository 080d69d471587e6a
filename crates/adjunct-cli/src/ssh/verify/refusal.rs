//! The one line that explains why there was no session: what is wrong, where, and what to do.

use super::log::Log;

/// Ssh's words, with what to do.
const HINTS: [(&str, &str); 15] = [
    ("Could not resolve hostname", "check the name, or Host in ssh_config"),
    ("Connection refused", "no SSH server listens there; check the port (-p)"),
    ("timed out", "check address, port and firewall"),
    ("No route to host", "check address and network"),
    ("Network is unreachable", "check address and network"),
    ("no matching", "client and server have no such algorithm in common; see ssh -Q and sshd -T"),
    ("Permission denied", "check user and key: ssh -v HOST; without a terminal no password is asked"),
    ("Too many authentication failures", "name one key: -i FILE -o IdentitiesOnly=yes"),
    ("Bad configuration option", "check the -o option and ssh_config"),
    ("Bad owner or permissions", "ssh refuses that file; chmod 600"),
    ("UNPROTECTED PRIVATE KEY FILE", "chmod 600 the key"),
    ("Connection reset", "the server hung up; its log says why"),
    ("Connection closed by", "the server hung up; its log says why"),
    ("Invalid SSH identification string", "what listens there is no SSH server"),
    ("invalid format", "what listens there is no SSH server"),
];

/// The line for a session with `host` that did not come about.
pub(super) fn explain(log: &Log, host: &str) -> String {
    if log.host_key_changed {
        return format!(
            "{host}: the host key is not the known one: somebody may be in between, or the host was installed anew; \
             ssh-keygen -R HOST forgets the old key"
        );
    }
    let said = log.last.as_deref().unwrap_or("ssh gave no reason");
    if log.host_key_unknown || said.starts_with("Host key verification failed") {
        return format!("{host}: its host key is not known here: connect once by hand (ssh HOST) and confirm it");
    }
    let said = said.strip_prefix("ssh: ").unwrap_or(said).trim_end_matches('.');
    match HINTS.iter().find(|(words, _)| said.contains(words)) {
        Some((_, hint)) => format!("{host}: {said}; {hint}"),
        None => format!("{host}: {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_line() {
        let cases = [
            ("ssh: Could not resolve hostname x: Name or service not known", "check the name"),
            ("ssh: connect to host x port 1: Connection refused", "no SSH server listens"),
            ("x@y: Permission denied (publickey).", "check user and key"),
            (
                "No ED25519 host key is known for x and you have requested strict checking.\nHost key verification failed.",
                "not known here",
            ),
            (
                "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.",
                "not the known one",
            ),
            ("Unable to negotiate with x port 22: no matching cipher found. Their offer: a,b", "in common"),
            (
                "kex_exchange_identification: Connection closed by remote host\nConnection closed by 1.2.3.4 port 22",
                "hung up",
            ),
            ("something new", "x: something new"),
            ("debug1: only this", "no reason"),
        ];
        for (text, words) in cases {
            let line = explain(&Log::parse(text), "x");
            assert!(line.contains(words) && !line.contains('\n'), "{text}: {line}");
        }
    }
}
