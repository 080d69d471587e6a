//! What is measured: servers, the cases of each, and the sides of a case.

use crate::tls::{Application, Group, Protocol};
use adjunct::catalogue::Function;
pub use adjunct_cli::bench::tls::{ServerKind, Side};

/// The key of the server's certificate, and of the client's where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateKey {
    Rsa2048,
    P256,
    P384,
}

impl CertificateKey {
    pub const ALL: [CertificateKey; 3] = [CertificateKey::Rsa2048, CertificateKey::P256, CertificateKey::P384];

    /// Name of the key.
    pub fn name(self) -> &'static str {
        match self {
            CertificateKey::Rsa2048 => "RSA-2048",
            CertificateKey::P256 => "P-256",
            CertificateKey::P384 => "P-384",
        }
    }

    /// Beginning of the names of the key's files.
    pub fn file(self) -> &'static str {
        match self {
            CertificateKey::Rsa2048 => "rsa",
            CertificateKey::P256 => "p256",
            CertificateKey::P384 => "p384",
        }
    }

    /// The words of `openssl genpkey` that make one.
    pub fn words(self) -> [&'static str; 4] {
        match self {
            CertificateKey::Rsa2048 => ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            CertificateKey::P256 => ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            CertificateKey::P384 => ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
        }
    }

    /// Function that the key's private-key operation is counted as.
    pub fn function(self) -> Function {
        match self {
            CertificateKey::Rsa2048 => Function::RsaCrt,
            CertificateKey::P256 | CertificateKey::P384 => Function::EcdsaSign,
        }
    }
}

/// One of the things that are done with each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub protocol: Protocol,
    pub key: CertificateKey,
    pub group: Group,
    /// Whether sessions are resumed.
    pub resumed: bool,
    /// Whether clients have certificates, which the server verifies.
    pub authenticated: bool,
}

const TLS12: Case = Case {
    protocol: Protocol::Tls12,
    key: CertificateKey::Rsa2048,
    group: Group::X25519,
    resumed: false,
    authenticated: false,
};
const TLS13: Case = Case { protocol: Protocol::Tls13, ..TLS12 };

impl Case {
    /// All cases, in the order of the table: the papers' first.
    pub const ALL: [Case; 9] = [
        TLS12,
        Case { authenticated: true, ..TLS12 },
        Case { resumed: true, ..TLS12 },
        TLS13,
        Case { group: Group::X25519MlKem768, ..TLS13 },
        Case { key: CertificateKey::P256, ..TLS13 },
        Case { key: CertificateKey::P256, authenticated: true, ..TLS13 },
        Case { key: CertificateKey::P256, resumed: true, ..TLS13 },
        Case { key: CertificateKey::P384, ..TLS13 },
    ];

    /// The version of TLS.
    pub fn version(self) -> &'static str {
        match self.protocol {
            Protocol::Tls12 => "1.2",
            Protocol::Tls13 => "1.3",
        }
    }

    /// Key exchange of the case: `RSA` where that is the certificate's key.
    pub fn exchange(self) -> &'static str {
        match self.protocol {
            Protocol::Tls12 => "RSA",
            Protocol::Tls13 => self.group.name(),
        }
    }

    /// Name of the case in the table.
    pub fn title(self) -> String {
        let mut title = format!("TLS {} {}", self.version(), self.key.name());
        if self.protocol == Protocol::Tls13 {
            title = format!("{title} {}", self.group.name());
        }
        let more = match (self.resumed, self.authenticated) {
            (true, _) => " resumed",
            (_, true) => " client cert",
            _ => "",
        };
        title + more
    }

    /// What a server does of it.
    ///
    /// # Errors
    /// Why it does not.
    pub fn with(self, kind: ServerKind) -> Result<Case, &'static str> {
        if kind != ServerKind::Postgresql {
            return Ok(self);
        }
        match (self.resumed, self.group) {
            (true, _) => Err("it resumes no sessions"),
            (_, Group::X25519MlKem768) => Err("it has no setting for the group"),
            _ => Ok(Case { group: Group::P256, ..self }),
        }
    }

    /// Whether it has a side: a resumed session asks for no private-key operation, so that cards have nothing to do.
    pub fn has(self, side: Side) -> bool {
        !self.resumed || side.cards() == 0
    }
}

/// What is spoken within TLS.
pub fn application(kind: ServerKind) -> Application {
    match kind {
        ServerKind::Postgresql => Application::Postgres,
        _ => Application::Http,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_tell_cases_apart() {
        let mut titles: Vec<String> = Case::ALL.iter().map(|case| case.title()).collect();
        assert_eq!(titles[0], "TLS 1.2 RSA-2048");
        assert_eq!(titles[4], "TLS 1.3 RSA-2048 X25519MLKEM768");
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), Case::ALL.len());
    }

    #[test]
    fn postgresql_has_its_own_group_and_resumes_nothing() {
        let of = |case: Case| case.with(ServerKind::Postgresql).map(Case::exchange);
        assert_eq!((of(TLS12), of(TLS13)), (Ok("RSA"), Ok("P-256")));
        assert!(of(Case { resumed: true, ..TLS13 }).is_err());
        assert_eq!(TLS13.with(ServerKind::Nginx), Ok(TLS13));
    }
}
