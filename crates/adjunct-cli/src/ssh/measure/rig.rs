//! One real connection, measured.

use super::data::Data;
use super::side::Side;
use crate::ssh::lab::keys::Type;
use crate::ssh::lab::{Login, Place, Programs, Setup, runtime, ssh};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::{Spent, tree};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The algorithms of a connection, by OpenSSH's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// The cipher.
    pub cipher: String,
    /// The MAC; without effect beside a cipher that authenticates by itself, and may be empty there.
    pub mac: String,
    /// The key exchange.
    pub kex: String,
    /// The algorithm of the host key.
    pub host_key: String,
    /// The algorithm of the user's key.
    pub user_key: String,
    /// The length of RSA keys.
    pub rsa_bits: u32,
}

impl Default for Suite {
    fn default() -> Suite {
        Suite {
            cipher: "aes128-ctr".to_owned(),
            mac: "hmac-sha2-256-etm@openssh.com".to_owned(),
            kex: "curve25519-sha256".to_owned(),
            host_key: "ssh-ed25519".to_owned(),
            user_key: "ssh-ed25519".to_owned(),
            rsa_bits: 3072,
        }
    }
}

/// The time and processor time of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Time from the client's start to its end, in seconds.
    pub seconds: f64,
    /// Time of the login in seconds: from the client's start to the first byte of data, or to the end where there was none.
    pub first: f64,
    /// Processor seconds of the client.
    pub client: f64,
    /// Processor seconds of the server: sshd from its start on, with the remote command.
    pub server: f64,
}

/// Measured connections with the keys of a private folder, which is gone when this is dropped.
#[derive(Debug)]
pub struct Rig {
    place: Place,
}

/// Data that should come, and a function that is told each piece's length.
type Expected<'a> = Option<(&'a Data, &'a mut dyn FnMut(u64))>;

impl Rig {
    /// Makes the folder, the first keys, and the runtime folder without which sshd does not start.
    ///
    /// # Errors
    /// [`Failure`] with the one line: the folder cannot be made, or sshd does not start.
    pub fn new(programs: Programs) -> Result<Rig, Failure> {
        let place = Place::new(programs)?;
        let key = place.key(Type::Ed25519)?;
        let config = place.write("measure_sshd", &format!("HostKey {}\n", key.display()))?;
        tree::adopt();
        runtime::provide(&place.programs.sshd, &config)?;
        Ok(Rig { place })
    }

    /// The folder with the keys.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Logs in, runs a command that does nothing, and logs out.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words.
    pub fn login(&mut self, side: &Side, suite: &Suite) -> Result<Cost, Failure> {
        self.connect(side, suite, "exit 0", None)
    }

    /// Logs in and has `data` sent, which is compared byte for byte. `progress` is told of each piece's length in bytes.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words, or where the data differs.
    pub fn transfer(
        &mut self,
        side: &Side,
        suite: &Suite,
        data: &Data,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Cost, Failure> {
        self.connect(side, suite, &data.command(), Some((data, progress)))
    }

    /// Logs in where each side is told its algorithms by lines of its own configuration (none: OpenSSH's defaults), and
    /// logs out: whether two configurations understand each other. The keys are Ed25519, ECDSA and RSA ones.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words.
    pub fn login_with(&mut self, side: &Side, client: &[String], server: &[String]) -> Result<Cost, Failure> {
        let (mut client, mut server) = (client.to_vec(), server.to_vec());
        for kind in [Type::Ed25519, Type::Ecdsa(256), Type::Rsa(3072)] {
            let key = self.place.key(kind)?;
            client.push(format!("IdentityFile {}", key.display()));
            server.push(format!("HostKey {}", key.display()));
        }
        self.run(side, client, server, "exit 0", None)
    }

    fn connect(&mut self, side: &Side, suite: &Suite, command: &str, expect: Expected<'_>) -> Result<Cost, Failure> {
        let host = self.place.key_for(&suite.host_key, suite.rsa_bits)?;
        let user = self.place.key_for(&suite.user_key, suite.rsa_bits)?;
        let both = [
            ("Ciphers", &suite.cipher),
            ("MACs", &suite.mac),
            ("KexAlgorithms", &suite.kex),
            ("HostKeyAlgorithms", &suite.host_key),
            ("PubkeyAcceptedKeyTypes", &suite.user_key),
        ];
        let both = both.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name} {value}"));
        let with = |line: String| both.clone().chain([line]).collect::<Vec<_>>();
        let client = with(format!("IdentityFile {}", user.display()));
        let server = with(format!("HostKey {}", host.display()));
        self.run(side, client, server, command, expect)
    }

    fn run(
        &self,
        side: &Side,
        client: Vec<String>,
        server: Vec<String>,
        remote: &str,
        mut expect: Expected<'_>,
    ) -> Result<Cost, Failure> {
        interrupted()?;
        let idle = Spent::by_children();
        let client = Setup::new(client, &side.client);
        let mut login = Login::alone(&self.place, &client, ssh(&self.place, remote))?;
        login.answer(&Setup::new(server, &side.server))?;
        let got = login.read("the connection stalled: nothing for a minute", |place, got| {
            let Some((data, progress)) = &mut expect else { return false };
            let same = data.same(place, got);
            if same {
                progress(got.len() as u64);
            }
            same
        });
        let expected = expect.map_or(0, |(data, _)| data.bytes());
        let got = got.and_then(|(bytes, first)| match bytes {
            _ if bytes < expected => Err(Failure::new(format!("the data ends after {bytes} of {expected} bytes"))),
            _ => Ok(first),
        });
        let status = login.end_client(got.is_err())?;
        let seconds = login.start.elapsed().as_secs_f64();
        let after_client = Spent::by_children();
        login.end_server()?;
        tree::reap("sshd", Duration::from_secs(10));
        interrupted()?;
        // The client's own words say more than the data that did not come.
        if !status.success() && (got.is_ok() || status.code() == Some(255)) {
            return Err(login.explain(None));
        }
        let (client, server) = (after_client.since(idle).all(), Spent::by_children().since(after_client).all());
        Ok(Cost { seconds, first: got?.unwrap_or(seconds), client, server })
    }
}
