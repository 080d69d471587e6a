//! What `ssh -vvv` says of a session: what was negotiated, who logged in by which key, and why it failed.
//!
//! The log's words are those of OpenSSH 7 to 10. What a line does not say in the expected form is left out, never guessed.

/// The cipher and MAC of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The cipher.
    pub cipher: String,
    /// The MAC; `None` where the cipher authenticates by itself.
    pub mac: Option<String>,
}

/// The key that a user logged in with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserKey {
    /// The signature's algorithm (`rsa-sha2-512`), where the log says it.
    pub algorithm: Option<String>,
    /// The key's type as OpenSSH prints it: `RSA`, `ECDSA`, `ED25519-CERT`.
    pub kind: String,
    /// Its file or comment.
    pub name: String,
    /// Whether an agent or a token signs, not ssh.
    pub held_elsewhere: bool,
}

/// The facts that the log of a session tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The client: `OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.22 25 Aug 2026`.
    pub client: Option<String>,
    /// The server's software version: `OpenSSH_9.2p1 Debian-2`.
    pub server: Option<String>,
    /// The key exchange.
    pub key_exchange: Option<String>,
    /// The algorithm of the host key's signature.
    pub host_key: Option<String>,
    /// Client to server.
    pub to_server: Option<Stream>,
    /// Server to client.
    pub to_client: Option<Stream>,
    /// The key that was accepted last.
    pub user_key: Option<UserKey>,
    /// How the login was completed: `publickey`, `password`.
    pub method: Option<String>,
    /// Bytes sent and received, as ssh counts them.
    pub transferred: Option<(u64, u64)>,
    /// The last line that is no debugging message: ssh's reason where it failed.
    pub last: Option<String>,
    /// Whether the host key differs from the known one.
    pub host_key_changed: bool,
    /// Whether no host key is known, or none could be confirmed.
    pub host_key_unknown: bool,
}

impl Log {
    /// Reads a log.
    pub fn parse(text: &str) -> Log {
        let mut log = Log::default();
        for line in text.lines().map(str::trim_end) {
            log.line(line);
        }
        log
    }

    /// Whether the user was let in.
    pub fn authenticated(&self) -> bool {
        self.method.is_some()
    }

    fn line(&mut self, line: &str) {
        let (debug, line) = match line.strip_prefix("debug").and_then(|l| l.split_once(": ")) {
            Some((level, rest)) if level.len() == 1 => (true, rest),
            _ => (false, line),
        };
        self.program(line);
        self.negotiated(line);
        self.login(line);
        if let Some(rest) = line.strip_prefix("Transferred: sent ") {
            self.transferred = transferred(rest).or(self.transferred);
        }
        if !debug {
            self.failure(line);
        }
    }

    fn program(&mut self, line: &str) {
        if self.client.is_none() && line.starts_with("OpenSSH_") {
            self.client = Some(printable(line));
        }
        if let Some((_, version)) = line.split_once("remote software version ")
            && line.starts_with("Remote protocol version ")
        {
            self.server.get_or_insert_with(|| printable(version));
        }
    }

    fn negotiated(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("kex: ") else { return };
        // Later ones are of new keys in the same session.
        if let Some(name) = rest.strip_prefix("algorithm: ") {
            self.key_exchange.get_or_insert_with(|| printable(name));
        } else if let Some(name) = rest.strip_prefix("host key algorithm: ") {
            self.host_key.get_or_insert_with(|| printable(name));
        } else if let Some(rest) = rest.strip_prefix("server->client ") {
            self.to_client = self.to_client.take().or_else(|| stream(rest));
        } else if let Some(rest) = rest.strip_prefix("client->server ") {
            self.to_server = self.to_server.take().or_else(|| stream(rest));
        }
    }

    fn login(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Server accepts key: ") {
            self.user_key = user_key(rest);
        } else if let Some(rest) = line.strip_prefix("sign_and_send_pubkey: signing using ") {
            let name = rest.split_whitespace().next().unwrap_or_default();
            if let Some(key) = &mut self.user_key
                && !name.is_empty()
            {
                key.algorithm = Some(printable(name));
            }
        } else if line.starts_with("Authenticated to ") {
            let method = line.split('"').nth(1).unwrap_or("unknown");
            self.method = Some(printable(method));
        } else if let Some(rest) = line.strip_prefix("Authentication succeeded (") {
            // Up to OpenSSH 8.7 or so.
            self.method.get_or_insert_with(|| printable(rest.trim_end_matches(['.', ')'])));
        }
    }

    fn failure(&mut self, line: &str) {
        self.host_key_changed |= line.contains("REMOTE HOST IDENTIFICATION HAS CHANGED");
        self.host_key_unknown |= line.contains("host key is known for ");
        let noise = line.is_empty()
            || ["Warning:", "**", "@", "Authenticated to ", "Transferred: ", "Bytes per second: ", "OpenSSH_"]
                .iter()
                .any(|n| line.starts_with(n));
        if !noise {
            self.last = Some(printable(line));
        }
    }
}

/// `cipher: aes128-ctr MAC: umac-64@openssh.com compression: none`, and the older `aes128-ctr umac-64@openssh.com none`.
fn stream(rest: &str) -> Option<Stream> {
    let words: Vec<&str> =
        rest.split_whitespace().filter(|w| !matches!(*w, "cipher:" | "MAC:" | "compression:")).collect();
    let [cipher, mac, ..] = words[..] else { return None };
    let mac = (mac != "<implicit>").then(|| printable(mac));
    Some(Stream { cipher: printable(cipher), mac })
}

/// `/home/me/.ssh/my key ED25519 SHA256:... explicit agent`, and the older `pkalg ssh-ed25519 blen 51`.
fn user_key(rest: &str) -> Option<UserKey> {
    let words: Vec<&str> = rest.split(' ').collect();
    if let ["pkalg", algorithm, ..] = words[..] {
        return Some(UserKey { algorithm: Some(printable(algorithm)), ..UserKey::default() });
    }
    // The name may hold blanks: the fingerprint is what is sure.
    let print = words.iter().rposition(|w| w.starts_with("SHA256:") || w.starts_with("MD5:"))?;
    let kind = print.checked_sub(1)?;
    Some(UserKey {
        algorithm: None,
        kind: printable(words[kind]),
        name: printable(&words[..kind].join(" ")),
        held_elsewhere: words[print + 1..].iter().any(|w| matches!(*w, "agent" | "token")),
    })
}

/// `3000, received 2900 bytes, in 0.1 seconds`.
fn transferred(rest: &str) -> Option<(u64, u64)> {
    let (sent, rest) = rest.split_once(", received ")?;
    let (received, _) = rest.split_once(' ')?;
    Some((sent.parse().ok()?, received.parse().ok()?))
}

/// Text from the other side, for a terminal: no control characters, not without end.
fn printable(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
