//! Administrators' keys and certificates, in PEM files.

use super::unit::hex;
use adjunct::ops::ec::MAX_SIGNATURE;
use adjunct_ep11::admin::blocks::Failed;
use adjunct_ep11::admin::der;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::key::{Curve, ObjectKey};
use adjunct_mechanisms::object::{Held, Object, pkcs8, spki};
use adjunct_pkcs11_client::sys::{CKA_EC_PARAMS, CKM_SHA256_RSA_PKCS};
use adjunct_tool::Failure;
use adjunct_tool::escape::shown;
use adjunct_ztools::pem::{self, Part, encrypted};
use adjunct_ztools::pkcsconf::prompt;
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The most bytes of a file that is read.
const LONGEST: u64 = 1 << 20;
const RSA: u64 = CKM_SHA256_RSA_PKCS;
/// ECDSA with SHA-256, and behind it with SHA-384 and SHA-512.
const ECDSA: u64 = 0x1044;

/// A signing key of an administrator.
pub(super) struct Signer {
    held: Held,
    ski: [u8; 32],
    mechanism: u64,
}

/// The parts of a PEM file.
fn parts(path: &Path) -> Result<Vec<Part>, Failure> {
    let wrong = |why: &str| Failure::new(format!("{}: {why}", shown(path)));
    let failed = |error: std::io::Error| wrong(&adjunct_tool::failure::cause(&error));
    let text = Zeroizing::new(adjunct_tool::files::read(path, LONGEST).map_err(failed)?);
    let text = std::str::from_utf8(&text).map_err(|_| wrong("it is no PEM file"))?;
    pem::parts(text).filter(|parts| !parts.is_empty()).ok_or_else(|| wrong("it is no PEM file"))
}

/// The one part with a label.
pub(super) fn part(path: &Path, labels: &[&str], what: &str) -> Result<Part, Failure> {
    let found = parts(path)?.into_iter().find(|part| labels.contains(&part.label.as_str()));
    found.ok_or_else(|| Failure::new(format!("{}: it has no {what}", shown(path))))
}

/// What a passphrase has sealed in a part of a file.
pub(super) fn opened(path: &Path, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Failure> {
    if adjunct_tool::ask::somebody() {
        adjunct_tool::output::note(&format!("Passphrase of {}: ", shown(path)));
    }
    let line = prompt::hidden_line()?;
    let line = line.ok_or_else(|| Failure::new(format!("standard input has no passphrase of {}", shown(path))))?;
    let part = Part { label: encrypted::LABEL.to_owned(), headers: Vec::new(), bytes: Zeroizing::new(bytes.to_vec()) };
    encrypted::open(&part, &line).map_err(|why| Failure::new(format!("{}: {}", shown(path), why.words())))
}

/// The identifier of a public key: SHA-256 of the contents of its BIT STRING.
pub(super) fn ski(spki: &[u8]) -> Option<[u8; 32]> {
    der::public_bits(spki).ok().map(|(_, bits)| Sha256::digest(bits).into())
}

/// An administrator's certificate, DER, and the identifier of its key.
pub(super) fn certificate(path: &Path) -> Result<(Vec<u8>, [u8; 32]), Failure> {
    let part = part(path, &["CERTIFICATE"], "certificate (BEGIN CERTIFICATE)")?;
    let key = adjunct_mechanisms::der::certificate(&part.bytes).and_then(|certificate| ski(certificate.key));
    let ski = key.ok_or_else(|| Failure::new(format!("{}: it is no certificate", shown(path))))?;
    Ok((part.bytes.to_vec(), ski))
}

/// An administrator by a certificate's file, or by the identifier in hexadecimal digits.
pub(super) fn named(text: &str) -> Result<[u8; 32], Failure> {
    let digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits {
        return certificate(Path::new(text)).map(|(_, ski)| ski);
    }
    let mut ski = [0; 32];
    for (to, digits) in ski.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *to = u8::from_str_radix(digits, 16).map_err(|_| Failure::new("no identifier"))?;
    }
    Ok(ski)
}

impl Signer {
    /// Reads a private key, PKCS #8, whose passphrase is asked for where it has one.
    pub(super) fn read(path: &Path) -> Result<Signer, Failure> {
        let wrong = |why: &str| Failure::new(format!("{}: {why}", shown(path)));
        let labels = ["PRIVATE KEY", encrypted::LABEL];
        let part = part(path, &labels, "private key (PKCS #8: openssl pkcs8 -topk8 -in KEY -out FILE makes one)")?;
        let bytes = if encrypted::is(&part) { opened(path, &part.bytes)? } else { part.bytes };
        let kind = || wrong("it is no key of RSA, P-256, P-384 or P-521");
        let attributes = pkcs8::from_der(&bytes).map_err(|_| kind())?;
        let curve = attributes.bytes(CKA_EC_PARAMS).map(Curve::of).transpose().map_err(|_| kind())?;
        let held = Held::Own(Arc::new(Object::new(attributes)));
        let key = held.key().map_err(|_| kind())?;
        let mechanism = match &*key {
            ObjectKey::Rsa(_) => RSA,
            ObjectKey::Ec(key) => match key.group().field_len() {
                32 => ECDSA,
                48 => ECDSA + 1,
                66 => ECDSA + 2,
                _ => return Err(kind()),
            },
            _ => return Err(kind()),
        };
        let public = spki::of(&key, curve).ok().flatten();
        let ski = public.and_then(|spki| ski(&spki)).ok_or_else(|| wrong("it lacks its public half"))?;
        drop(key);
        Ok(Signer { held, ski, mechanism })
    }

    /// Reads several.
    pub(super) fn all(paths: &[std::path::PathBuf]) -> Result<Vec<Signer>, Failure> {
        paths.iter().map(|path| Signer::read(path)).collect()
    }

    /// Who signs.
    pub(super) fn name(&self) -> String {
        hex(&self.ski)
    }

    /// A SignerInfo of a block.
    pub(super) fn info(&self, block: &[u8]) -> Result<Vec<u8>, Failed> {
        let failed = Failed(adjunct_ep11::admin::blocks::error::SIGNING_FAILED);
        let signature = self.sign(block).ok_or(failed)?;
        der::signer_info(&self.ski, &signature, self.mechanism, None)
    }

    fn sign(&self, block: &[u8]) -> Option<Vec<u8>> {
        if self.mechanism == RSA {
            let mut signer = Mechanism::new(RSA, Params::None).signer(self.held.clone()).ok()?;
            signer.update(block).ok()?;
            let mut out = vec![0; signer.length()];
            let length = signer.finish(&mut out).ok()?;
            out.truncate(length);
            return Some(out);
        }
        let key = self.held.key().ok()?;
        let ObjectKey::Ec(key) = &*key else { return None };
        let digest = match self.mechanism - ECDSA {
            0 => Sha256::digest(block).to_vec(),
            1 => Sha384::digest(block).to_vec(),
            _ => Sha512::digest(block).to_vec(),
        };
        let mut room = [0; MAX_SIGNATURE];
        key.sign(&digest, &mut room).ok().map(<[u8]>::to_vec)
    }
}
