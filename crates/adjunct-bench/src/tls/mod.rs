//! The load of `adjunct bench tls`: clients that do one whole TLS transaction after the other, each with a connection of its own.
//!
//! A transaction is that of IBM's papers: a TLS session is set up, [`LENGTH`] bytes come from the server, the session ends. TLS 1.3 is
//! rustls (`tls13`); the one suite of TLS 1.2 that the papers have is our own (`tls12`). Both cost a client's CPU a fraction of what a
//! server takes, so that the server is what is measured.
//!
//! [`check`] verifies the server's certificate and signature; the clients of a load do not.

mod application;
mod load;
mod tls12;
mod tls13;

pub use application::LENGTH;
pub use load::{Loaded, run};

use crate::Error;
use application::Talk as _;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

/// A server that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// The name in the servers' certificates.
const NAME: &str = "localhost";

/// The version of TLS, with the one suite that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// TLS 1.2 with `TLS_RSA_WITH_AES_256_GCM_SHA384`: the client sends a secret that it has encrypted with the certificate's key.
    Tls12,
    /// TLS 1.3 with `TLS_AES_256_GCM_SHA384`.
    Tls13,
}

/// The key exchange of TLS 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Group {
    X25519,
    P256,
    X25519MlKem768,
}

impl Group {
    /// Name of the group, as OpenSSL has it.
    pub fn name(self) -> &'static str {
        match self {
            Group::X25519 => "X25519",
            Group::P256 => "P-256",
            Group::X25519MlKem768 => "X25519MLKEM768",
        }
    }
}

/// The application protocol within TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Application {
    /// HTTP/1.0: `GET /data`.
    Http,
    /// PostgreSQL: TLS is asked for first; then a session of a user `bench`, and `SELECT repeat('x', 2048)`.
    Postgres,
}

/// The transaction that clients repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// The server's port on loopback.
    pub port: u16,
    /// The version of TLS.
    pub protocol: Protocol,
    /// Its key exchange, where it is TLS 1.3.
    pub group: Group,
    /// The application protocol.
    pub application: Application,
    /// Whether sessions are resumed: all but a client's first.
    pub resumed: bool,
    /// The authority that [`check`] trusts, as PEM.
    pub authority: PathBuf,
    /// The client's own certificate and key, as PEM, where the server asks for them.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// A client that does transactions.
trait Client: Send {
    /// Does a transaction; whether its session was resumed.
    fn once(&mut self) -> Result<bool, String>;
}

impl Transaction {
    /// Makes a client, which verifies the server or not.
    fn client(&self, verified: bool) -> Result<Box<dyn Client>, Error> {
        match self.protocol {
            Protocol::Tls12 => tls12::Client::new(self, verified).map(|client| Box::new(client) as Box<dyn Client>),
            Protocol::Tls13 => tls13::Client::new(self, verified).map(|client| Box::new(client) as Box<dyn Client>),
        }
        .map_err(Error::Operation)
    }

    /// A connection on which TLS may begin.
    fn connect(&self) -> Result<TcpStream, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        };
        let mut stream = connect().map_err(|error: std::io::Error| format!("connect: {}", crate::cause(&error)))?;
        self.application.before(&mut stream)?;
        Ok(stream)
    }
}

/// Does two transactions, with the server's certificate and its signature verified; the second is to be resumed or not as the load's are.
///
/// # Errors
/// [`Error::Operation`] in the client's words.
pub fn check(transaction: &Transaction) -> Result<(), Error> {
    let mut client = transaction.client(true)?;
    client.once().map_err(Error::Operation)?;
    let resumed = client.once().map_err(Error::Operation)?;
    match (resumed, transaction.resumed) {
        (false, true) => Err(Error::Operation("sessions are not resumed".to_owned())),
        (true, false) => Err(Error::Operation("a session was resumed that nobody asked to resume".to_owned())),
        _ => Ok(()),
    }
}
