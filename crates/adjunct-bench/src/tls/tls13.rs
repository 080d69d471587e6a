//! Clients of TLS 1.3: rustls over AWS-LC.

use super::application::Talk as _;
use super::{Group, NAME, Transaction};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, RootCertStore, SignatureScheme, Stream,
};
use std::sync::Arc;

/// A client with tickets of its own.
pub(super) struct Client {
    transaction: Transaction,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Takes a server at its word.
#[derive(Debug)]
struct Unverified(Vec<SignatureScheme>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 was not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}

impl Client {
    /// A client.
    ///
    /// # Errors
    /// What rustls says of a certificate or a key.
    pub fn new(transaction: &Transaction, verified: bool) -> Result<Client, String> {
        let words = |error: rustls::Error| error.to_string();
        let group = match transaction.group {
            Group::X25519 => aws_lc_rs::kx_group::X25519,
            Group::P256 => aws_lc_rs::kx_group::SECP256R1,
            Group::X25519MlKem768 => aws_lc_rs::kx_group::X25519MLKEM768,
        };
        let provider = CryptoProvider {
            cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384],
            kx_groups: vec![group],
            ..aws_lc_rs::default_provider()
        };
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(words)?;
        let builder = if verified {
            let mut roots = RootCertStore::empty();
            let authority = CertificateDer::from_pem_file(&transaction.authority).map_err(|e| e.to_string())?;
            roots.add(authority).map_err(words)?;
            builder.with_root_certificates(roots)
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(schemes)))
        };
        let mut config = match &transaction.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let certificate = CertificateDer::from_pem_file(certificate).map_err(|e| e.to_string())?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|e| e.to_string())?;
                builder.with_client_auth_cert(vec![certificate], key).map_err(words)?
            }
        };
        config.resumption = match transaction.resumed {
            true => Resumption::store(Arc::new(ClientSessionMemoryCache::new(8))),
            false => Resumption::disabled(),
        };
        let name = ServerName::try_from(NAME).map_err(|e| e.to_string())?;
        Ok(Client { transaction: transaction.clone(), config: Arc::new(config), name })
    }
}

impl super::Client for Client {
    fn once(&mut self) -> Result<bool, String> {
        let mut stream = self.transaction.connect()?;
        let words = |error: rustls::Error| error.to_string();
        let mut session = ClientConnection::new(Arc::clone(&self.config), self.name.clone()).map_err(words)?;
        self.transaction.application.within(&mut Stream::new(&mut session, &mut stream))?;
        let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
        session.send_close_notify();
        // Where the server has gone already, nobody is left to tell.
        let _ = session.write_tls(&mut stream);
        Ok(resumed)
    }
}
