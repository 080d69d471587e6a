//! The configuration: the file of IBM's container (`ep11server.yaml`), and what it lacks under the key `adjunct`.

mod yaml;

use crate::log::Level;
use adjunct_ep11_client::targets::Member;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use yaml::{Node, Section};

/// Where IBM's container has it.
pub const FILE: &str = "/etc/ep11server/ep11server.yaml";
/// The port of GREP11.
pub const PORT: u16 = 9876;

/// A PEM text: where it is said, and the text where it is in the configuration itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pem {
    /// The file that has it, or the place in the configuration.
    pub from: PathBuf,
    /// The text, where the configuration has it.
    pub text: Option<String>,
}

/// TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate, and those between it and its root.
    pub certificate: Pem,
    /// Its private key.
    pub key: Pem,
    /// The roots of clients' certificates, where clients must have one.
    pub clients: Option<Pem>,
}

/// How much at once, how large and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message.
    pub message: usize,
    /// Calls that run at a time.
    pub requests: usize,
    /// Calls of one connection at a time.
    pub requests_per_connection: u32,
    /// Connections.
    pub connections: usize,
    /// The longest that a call takes.
    pub deadline: Duration,
    /// The longest that the server waits for calls that run when it is ended.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message: 4 << 20,
            requests: 64,
            requests_per_connection: 256,
            connections: 1024,
            deadline: Duration::from_secs(120),
            drain: Duration::from_secs(30),
        }
    }
}

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How much is logged.
    pub level: Level,
    /// Where clients connect.
    pub listen: SocketAddr,
    /// How they are encrypted; plaintext without.
    pub tls: Option<Tls>,
    /// Plaintext is wanted although other machines reach the address.
    pub insecure_plaintext: bool,
    /// The file of tokens; without one whoever connects may call.
    pub tokens: Option<PathBuf>,
    /// After so long without a word from a client it is asked whether it is there, and has so long to answer.
    pub keepalive: Option<(Duration, Duration)>,
    /// The domains that are asked; all that have one wrapping key where there is none.
    pub domains: Vec<Member>,
    /// Where health and metrics are told; nowhere without.
    pub status: Option<SocketAddr>,
    /// Limits.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            level: Level::Info,
            listen: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT),
            tls: None,
            insecure_plaintext: false,
            tokens: None,
            keepalive: Some((Duration::from_secs(30), Duration::from_secs(5))),
            domains: Vec::new(),
            status: None,
            limits: Limits::default(),
        }
    }
}

/// Domains, as `card.domain` in hexadecimal, with commas between.
///
/// # Errors
/// Why they are none.
pub fn domains(text: &str) -> Result<Vec<Member>, String> {
    let byte = |digits: &str| {
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() { Some(0) } else { u8::from_str_radix(digits, 16).ok() }
    };
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let member = word.split_once('.').and_then(|(card, domain)| {
                (!card.is_empty() && !domain.is_empty()).then_some(())?;
                Some(Member { card: byte(card)?, domain: byte(domain)? })
            });
            member.ok_or_else(|| format!("{word} is no card.domain: hexadecimal, such as 01.a9"))
        })
        .collect()
}

/// The addresses of a listener as two keys give them.
#[derive(Default)]
struct Place {
    address: Option<IpAddr>,
    port: Option<u16>,
}

/// What the keys of `tls` say.
#[derive(Default)]
struct GivenTls {
    enabled: bool,
    mutual: bool,
    certificate: Option<Pem>,
    key: Option<Pem>,
    clients: Option<Pem>,
}

impl GivenTls {
    fn read(&mut self, key: &str, node: &Node<'_>) -> Result<bool, String> {
        let file = |node: &Node<'_>| Ok::<_, String>(Some(Pem { from: node.text()?.into(), text: None }));
        let text = |node: &Node<'_>| Ok::<_, String>(Some(Pem { from: node.place().into(), text: Some(node.text()?) }));
        match key {
            "enabled" => self.enabled = node.boolean()?,
            "mutual" => self.mutual = node.boolean()?,
            "certfile" => self.certificate = file(node)?,
            "certfilebytes" => self.certificate = text(node)?,
            "keyfile" => self.key = file(node)?,
            "keyfilebytes" => self.key = text(node)?,
            "cacert" => self.clients = file(node)?,
            "cacertbytes" => self.clients = text(node)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn all(self, file: &Path) -> Result<Option<Tls>, String> {
        if !self.enabled {
            return Ok(None);
        }
        let lacks = |what: &str| format!("{}: ep11crypto.connection.tls is enabled without {what}", file.display());
        let clients = match (self.mutual, self.clients) {
            (true, None) => return Err(lacks("cacert, which mutual: true needs")),
            (true, clients) => clients,
            (false, _) => None,
        };
        let certificate = self.certificate.ok_or_else(|| lacks("certfile"))?;
        Ok(Some(Tls { certificate, key: self.key.ok_or_else(|| lacks("keyfile"))?, clients }))
    }
}

impl Settings {
    /// Reads the text of a file; the settings, and lines about what it says that nothing comes of.
    ///
    /// # Errors
    /// One line: the file, the line in it, and what is wrong.
    pub fn parse(file: &Path, text: &str) -> Result<(Settings, Vec<String>), String> {
        let mut settings = Settings::default();
        let mut unknown = Vec::new();
        let (mut listen, mut status, mut tls) = (Place::default(), Place::default(), GivenTls::default());
        let (mut time, mut timeout) = (30, 5);
        let mut enabled = true;
        yaml::read(file, text, &mut unknown, |path, node| {
            match path {
                ["logging", "levels", "entry"] => {
                    let named = Level::named(&node.text()?);
                    settings.level = named.ok_or_else(|| node.no("level: error, warning, info or debug"))?;
                }
                // Levels of parts that this server does not have.
                ["logging", "levels", _] => {}
                ["ep11crypto", "enabled"] => enabled = node.boolean()?,
                ["ep11crypto", "connection", "address"] => listen.address = Some(node.address()?),
                ["ep11crypto", "connection", "port"] => listen.port = Some(node.port()?),
                ["ep11crypto", "connection", "tls", key] => return tls.read(key, node),
                ["ep11crypto", "connection", "keepalive", "serverKeepaliveTime"] => time = node.number()?,
                ["ep11crypto", "connection", "keepalive", "serverKeepaliveTimeout"] => timeout = node.number()?,
                ["ep11crypto", "domain"] => {
                    settings.domains = domains(&node.text()?).map_err(|why| node.wrong(&why))?;
                }
                ["adjunct", "insecurePlaintext"] => settings.insecure_plaintext = node.boolean()?,
                ["adjunct", "tokens"] => settings.tokens = Some(node.text()?.into()),
                ["adjunct", "status", "address"] => status.address = Some(node.address()?),
                ["adjunct", "status", "port"] => status.port = Some(node.port()?),
                ["adjunct", "limits", key] => return settings.limits.read(key, node),
                _ => return Ok(Section::is(path)),
            }
            Ok(true)
        })?;
        if !enabled {
            return Err(format!("{}: ep11crypto.enabled is false, and this server has nothing else", file.display()));
        }
        let all = IpAddr::V4(Ipv4Addr::LOCALHOST);
        settings.listen = SocketAddr::new(listen.address.unwrap_or(all), listen.port.unwrap_or(PORT));
        settings.status = status.port.map(|port| SocketAddr::new(status.address.unwrap_or(all), port));
        settings.tls = tls.all(file)?;
        settings.keepalive = (time > 0).then(|| (Duration::from_secs(time), Duration::from_secs(timeout.max(1))));
        Ok((settings, unknown))
    }

    /// Whether other machines could read what clients send.
    pub fn is_exposed(&self) -> bool {
        self.tls.is_none() && !self.listen.ip().is_loopback()
    }
}

impl Limits {
    fn read(&mut self, key: &str, node: &Node<'_>) -> Result<bool, String> {
        let count = |least: u64, most: u64| {
            let number = node.number()?;
            let fits = (least..=most).contains(&number);
            if fits { Ok(number) } else { Err(node.wrong(&format!("a number from {least} to {most}"))) }
        };
        match key {
            "message" => self.message = count(1024, 48 << 20)? as usize,
            "requests" => self.requests = count(1, 4096)? as usize,
            "requestsPerConnection" => self.requests_per_connection = count(1, 65536)? as u32,
            "connections" => self.connections = count(1, 100_000)? as usize,
            "deadline" => self.deadline = Duration::from_secs(count(1, 600)?),
            "drain" => self.drain = Duration::from_secs(count(1, 600)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(Settings, Vec<String>), String> {
        Settings::parse(Path::new("s.yaml"), text)
    }

    #[test]
    fn the_file_of_ibms_container_is_read() {
        let text = "\
# as a container has it
logging:
  levels:
    entry: debug
    other: error
ep11crypto:
  enabled: true
  connection:
    address: 0.0.0.0
    port: 9877
    tls:
      enabled: true
      certfile: /cfg/server.pem
      keyfile: /cfg/server-key.pem
      mutual: true
      cacert: /cfg/ca.pem
      cacertbytes:
      certfilebytes:
      keyfilebytes:
    keepalive:
      serverKeepaliveTime: 60
      serverKeepaliveTimeout: 7
  domain: \"01.a9,c.10\"
";
        let (settings, unknown) = parse(text).unwrap();
        assert_eq!(unknown, [""; 0]);
        let pem = |file: &str| Pem { from: file.into(), text: None };
        let tls = Tls {
            certificate: pem("/cfg/server.pem"),
            key: pem("/cfg/server-key.pem"),
            clients: Some(pem("/cfg/ca.pem")),
        };
        let wanted = Settings {
            level: Level::Debug,
            listen: "0.0.0.0:9877".parse().unwrap(),
            tls: Some(tls),
            keepalive: Some((Duration::from_secs(60), Duration::from_secs(7))),
            domains: vec![Member { card: 1, domain: 0xa9 }, Member { card: 0xc, domain: 0x10 }],
            ..Settings::default()
        };
        assert_eq!(settings, wanted);
        assert!(!settings.is_exposed());
    }

    #[test]
    fn our_own_settings_are_read() {
        let text = "\
ep11crypto: {connection: {tls: {enabled: true, certfilebytes: \"-----BEGIN\", keyfile: k}}}
adjunct:
  insecurePlaintext: true
  tokens: /etc/adjunct/tokens
  status: {address: 0.0.0.0, port: 9878}
  limits: {message: 65536, requests: 8, requestsPerConnection: 4, connections: 16, deadline: 3, drain: 5}
";
        let (settings, unknown) = parse(text).unwrap();
        assert_eq!(unknown, [""; 0]);
        assert!(settings.insecure_plaintext);
        assert_eq!(settings.status, Some("0.0.0.0:9878".parse().unwrap()));
        assert_eq!(settings.limits.deadline, Duration::from_secs(3));
        let tls = settings.tls.unwrap();
        assert_eq!((tls.certificate.text.as_deref(), tls.clients), (Some("-----BEGIN"), None));
        assert_eq!(tls.certificate.from, Path::new("s.yaml:1"));
        let (settings, _) = parse("").unwrap();
        assert_eq!(settings, Settings::default());
        assert!(!settings.is_exposed());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, why) in [
            ("ep11crypto:\n  connection:\n    port: many\n", "s.yaml:3: ep11crypto.connection.port: many is no port"),
            ("ep11crypto:\n  domain: \"x\"\n", "s.yaml:2: ep11crypto.domain: x is no card.domain"),
            ("ep11crypto: {enabled: maybe}", "s.yaml:1: ep11crypto.enabled: maybe"),
            ("ep11crypto: {enabled: false}", "nothing else"),
            ("ep11crypto:\n  - a\n", "s.yaml:2: ep11crypto"),
            ("a: b: c", "s.yaml:1"),
            ("\tx", "s.yaml:1"),
            ("logging: {levels: {entry: loud}}", "s.yaml:1: logging.levels.entry: loud"),
            ("ep11crypto: {connection: {address: here}}", "here is no IP address"),
            ("ep11crypto: {connection: {tls: {enabled: true, keyfile: k}}}", "without certfile"),
            ("ep11crypto: {connection: {tls: {enabled: true, certfile: c, keyfile: k, mutual: true}}}", "cacert"),
            ("adjunct: {limits: {requests: 0}}", "1 to 4096"),
            // What says who is let in is never left out.
            ("adjunct: {token: t}", "s.yaml:1: adjunct.token: no key"),
            ("adjunct:\n  tokens: [t]\n", "s.yaml:2: adjunct.tokens: no key"),
            ("adjunct: {tokens: }", "s.yaml:1: adjunct.tokens: a value is wanted"),
            (
                "ep11crypto: {connection: {tls: {enabled: true, mutal: true}}}",
                "ep11crypto.connection.tls.mutal: no key",
            ),
            ("ep11crypto: {domain: \"01.05\"}\n---\nadjunct: {tokens: t}\n", "s.yaml:3: a second document"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(why) && told.lines().count() == 1, "{text}: {told}");
        }
        let (_, unknown) = parse("ep11crypto:\n  conection: {port: 1}\nother: 2\nadjunct: {limits: {x: 1}}\n").unwrap();
        assert_eq!(
            unknown,
            [
                "s.yaml:2: unknown key ep11crypto.conection: nothing comes of it",
                "s.yaml:3: unknown key other: nothing comes of it",
                "s.yaml:4: unknown key adjunct.limits.x: nothing comes of it",
            ]
        );
    }
}
