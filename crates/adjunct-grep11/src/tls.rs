//! TLS by rustls, with AWS-LC.

use crate::config::{Pem, Tls};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::sync::Arc;
use zeroize::Zeroizing;

fn text(pem: &Pem) -> Result<Zeroizing<Vec<u8>>, String> {
    match &pem.text {
        Some(text) => Ok(Zeroizing::new(text.clone().into_bytes())),
        None => {
            std::fs::read(&pem.from).map(Zeroizing::new).map_err(|error| format!("{}: {error}", pem.from.display()))
        }
    }
}

fn certificates(pem: &Pem) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = text(pem)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(format!("{}: no certificate in PEM form", pem.from.display())),
        Err(error) => Err(format!("{}: not a certificate in PEM form: {error}", pem.from.display())),
    }
}

/// What the server shows and asks of clients.
///
/// # Errors
/// One line: the file, and what is wrong with it.
pub fn config(tls: &Tls) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = match &tls.clients {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(pem)? {
                roots.add(root).map_err(|error| format!("{}: {error}", pem.from.display()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| format!("{}: {error}", pem.from.display()))?)
        }
    };
    let chain = certificates(&tls.certificate)?;
    let wrong =
        |error: &dyn std::fmt::Display| format!("{}: not a private key in PEM form: {error}", tls.key.from.display());
    let key = PrivateKeyDer::from_pem_slice(&text(&tls.key)?).map_err(|error| wrong(&error))?;
    let config = builder.with_single_cert(chain, key);
    let mut config = config.map_err(|error| {
        let (certificate, key) = (tls.certificate.from.display(), tls.key.from.display());
        format!("{certificate} and {key}: {error}")
    })?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}
