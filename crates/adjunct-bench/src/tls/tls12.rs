//! Clients of TLS 1.2 with one suite, `TLS_RSA_WITH_AES_256_GCM_SHA384` (RFC 5246, RFC 5288): that of IBM's papers, which newer libraries
//! have left out. libssl still has it, but its client takes as much CPU time as a server with lanes, and would be what is measured.
//!
//! This is for the load of a benchmark on the loopback. A client encrypts one secret once and sends it in each of its handshakes, which
//! costs a server as much as any other.

mod records;

use super::application::Talk as _;
use super::{NAME, Transaction};
use aws_lc_rs::digest::{SHA384, digest};
use aws_lc_rs::rand;
use aws_lc_rs::rsa::{Pkcs1PublicEncryptingKey, PublicEncryptingKey};
use aws_lc_rs::signature::{RSA_PKCS1_SHA384, RsaKeyPair};
use aws_lc_rs::tls_prf::{P_SHA384, Secret};
use records::{ALERT, CHANGE_CIPHER_SPEC, Direction, HANDSHAKE, Records};
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;

const VERSION: [u8; 2] = [3, 3];
/// The suite, and the empty renegotiation_info (RFC 5746).
const SUITE: [u8; 2] = [0x00, 0x9d];
const SUITES: [u8; 6] = [0, 4, SUITE[0], SUITE[1], 0x00, 0xff];
/// signature_algorithms, for servers that ask for a certificate: RSA (PKCS#1 v1.5) with SHA-384 and SHA-256, ECDSA with both.
const EXTENSIONS: [u8; 16] = [0, 14, 0, 13, 0, 10, 0, 8, 5, 1, 4, 1, 5, 3, 4, 3];
const RSA_SHA384: [u8; 2] = [5, 1];

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_REQUEST: u8 = 13;
const SERVER_HELLO_DONE: u8 = 14;
const CERTIFICATE_VERIFY: u8 = 15;
const CLIENT_KEY_EXCHANGE: u8 = 16;
const FINISHED: u8 = 20;

/// The pre-master secret, and the master secret of a session.
type Secret48 = [u8; 48];

/// A secret for a server's certificate.
struct Encrypted {
    certificate: Vec<u8>,
    secret: Secret48,
    text: Vec<u8>,
}

/// A client with a session of its own.
pub(super) struct Client {
    transaction: Transaction,
    /// The authorities by which the server's certificate is verified; `None` where it is not.
    roots: Option<RootCertStore>,
    /// The client's certificate and key, where it has one.
    own: Option<(CertificateDer<'static>, RsaKeyPair)>,
    encrypted: Option<Encrypted>,
    /// The number of a session that may be resumed, and its master secret.
    session: Option<(Vec<u8>, Secret48)>,
}

/// The keys of both directions and the master secret.
struct Keys {
    client: Direction,
    server: Direction,
    master: Secret48,
}

fn unspecified(_: aws_lc_rs::error::Unspecified) -> String {
    "AWS-LC refuses an operation of TLS 1.2".to_owned()
}

fn derive<const N: usize>(secret: &[u8], label: &str, seeds: [&[u8]; 2]) -> Result<[u8; N], String> {
    let secret = Secret::new(&P_SHA384, secret).map_err(unspecified)?;
    let derived = secret.derive_with_seed_concatination(label.as_bytes(), seeds[0], seeds[1], N);
    derived.and_then(<[u8; N]>::try_from).map_err(unspecified)
}

impl Keys {
    fn new(master: Secret48, client: &[u8; 32], server: &[u8; 32]) -> Result<Keys, String> {
        let block: [u8; 72] = derive(&master, "key expansion", [server, client])?;
        let direction = |key: usize, iv: usize| Direction::new(&block[key..key + 32], &block[iv..iv + 4]);
        Ok(Keys { client: direction(0, 64)?, server: direction(32, 68)?, master })
    }
}

/// The contents of a side's Finished message, over all messages before it (RFC 5246, 7.4.9).
fn verify_data(master: &Secret48, label: &str, transcript: &[u8]) -> Result<[u8; 12], String> {
    derive(master, label, [digest(&SHA384, transcript).as_ref(), &[]])
}

/// A number in N bytes, big-endian.
fn length<const N: usize>(value: usize) -> [u8; N] {
    let bytes = (value as u64).to_be_bytes();
    std::array::from_fn(|at| bytes[bytes.len() - N + at])
}

/// A handshake message.
fn message(kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let all: usize = body.iter().map(|part| part.len()).sum();
    [&[&[kind][..], &length::<3>(all)].concat(), &body.concat()[..]].concat()
}

fn malformed() -> String {
    "the server says what TLS 1.2 does not".to_owned()
}

/// A handshake under way.
struct Handshake<'a> {
    records: &'a mut Records,
    transcript: Vec<u8>,
}

impl Handshake<'_> {
    fn send(&mut self, message: &[u8]) -> Result<(), String> {
        self.transcript.extend_from_slice(message);
        self.records.put(HANDSHAKE, message)
    }

    /// The next message: its kind and its body.
    fn next(&mut self) -> Result<(u8, Vec<u8>), String> {
        let message = self.records.message()?;
        self.transcript.extend_from_slice(&message);
        Ok((message[0], message[4..].to_vec()))
    }

    fn expect(&mut self, kind: u8) -> Result<Vec<u8>, String> {
        match self.next()? {
            (found, body) if found == kind => Ok(body),
            _ => Err(malformed()),
        }
    }

    fn finish(&mut self, master: &Secret48, keys: Direction) -> Result<(), String> {
        self.records.put(CHANGE_CIPHER_SPEC, &[1])?;
        self.records.sealing = Some(keys);
        let data = verify_data(master, "client finished", &self.transcript)?;
        self.send(&message(FINISHED, &[&data]))?;
        self.records.flush()
    }

    fn finished(&mut self, master: &Secret48, keys: Direction) -> Result<(), String> {
        self.records.change_cipher_spec()?;
        self.records.opening = Some(keys);
        let data = verify_data(master, "server finished", &self.transcript)?;
        if self.expect(FINISHED)? == data { Ok(()) } else { Err("the server's Finished is wrong".to_owned()) }
    }
}

impl Client {
    /// A client.
    ///
    /// # Errors
    /// What is wrong with a certificate or a key.
    pub fn new(transaction: &Transaction, verified: bool) -> Result<Client, String> {
        let mut roots = None;
        if verified {
            let authority = CertificateDer::from_pem_file(&transaction.authority).map_err(|e| e.to_string())?;
            let mut store = RootCertStore::empty();
            store.add(authority).map_err(|e| e.to_string())?;
            roots = Some(store);
        }
        let mut own = None;
        if let Some((certificate, key)) = &transaction.certificate {
            let certificate = CertificateDer::from_pem_file(certificate).map_err(|e| e.to_string())?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|e| e.to_string())?;
            let key = RsaKeyPair::from_pkcs8(key.secret_der()).map_err(|e| format!("the client's key: {e}"))?;
            own = Some((certificate, key));
        }
        Ok(Client { transaction: transaction.clone(), roots, own, encrypted: None, session: None })
    }

    fn verify(&self, certificate: &CertificateDer<'_>) -> Result<(), String> {
        let Some(roots) = &self.roots else { return Ok(()) };
        let words = |e: rustls::Error| e.to_string();
        let parsed = ParsedCertificate::try_from(certificate).map_err(words)?;
        let algorithms = default_provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, &[], UnixTime::now(), algorithms).map_err(words)?;
        let name = ServerName::try_from(NAME).map_err(|e| e.to_string())?;
        verify_server_name(&parsed, &name).map_err(words)
    }

    /// A secret for the server's first certificate, encrypted with its key: the one of the handshake before, where that had the same.
    fn encrypted(&mut self, list: &[u8]) -> Result<&Encrypted, String> {
        let size = list.get(3..6).map(|size| u32::from_be_bytes([0, size[0], size[1], size[2]]) as usize);
        let certificate = size.and_then(|size| list.get(6..6 + size)).ok_or_else(malformed)?;
        if self.encrypted.as_ref().is_none_or(|known| known.certificate != certificate) {
            let der = CertificateDer::from(certificate);
            self.verify(&der)?;
            let parsed = ParsedCertificate::try_from(&der).map_err(|e| e.to_string())?;
            let key = PublicEncryptingKey::from_der(parsed.subject_public_key_info().as_ref());
            let key = key.map_err(|_| "the server's key is not one of RSA".to_owned())?;
            let key = Pkcs1PublicEncryptingKey::new(key).map_err(unspecified)?;
            let mut secret = [0; 48];
            rand::fill(&mut secret).map_err(unspecified)?;
            secret[..2].copy_from_slice(&VERSION);
            let mut text = vec![0; key.ciphertext_size()];
            key.encrypt(&secret, &mut text).map_err(unspecified)?;
            self.encrypted = Some(Encrypted { certificate: certificate.to_vec(), secret, text });
        }
        self.encrypted.as_ref().ok_or_else(malformed)
    }

    /// A handshake; whether a session was resumed.
    fn handshake(&mut self, records: &mut Records) -> Result<bool, String> {
        let mut random = [0; 32];
        rand::fill(&mut random).map_err(unspecified)?;
        let known = self.session.take();
        let id = known.as_ref().map_or(&[][..], |(id, _)| id);
        let mut handshake = Handshake { records, transcript: Vec::new() };
        let hello: [&[u8]; 7] = [&VERSION, &random, &length::<1>(id.len()), id, &SUITES, &[1, 0], &EXTENSIONS];
        handshake.send(&message(CLIENT_HELLO, &hello))?;
        handshake.records.flush()?;
        let hello = handshake.expect(SERVER_HELLO)?;
        let server: [u8; 32] = hello.get(2..34).and_then(|r| r.try_into().ok()).ok_or_else(malformed)?;
        let end = 35 + usize::from(*hello.get(34).ok_or_else(malformed)?);
        let (new, suite) = hello.get(35..end).zip(hello.get(end..end + 2)).ok_or_else(malformed)?;
        if hello[..2] != VERSION || suite != SUITE {
            return Err("the server agrees on another version or suite".to_owned());
        }
        if let Some((id, master)) = known.filter(|(id, _)| id == new) {
            let keys = Keys::new(master, &random, &server)?;
            handshake.finished(&master, keys.server)?;
            handshake.finish(&master, keys.client)?;
            self.session = Some((id, master));
            return Ok(true);
        }
        let certificates = handshake.expect(CERTIFICATE)?;
        let (mut kind, _) = handshake.next()?;
        let asked = kind == CERTIFICATE_REQUEST;
        if asked {
            (kind, _) = handshake.next()?;
        }
        if kind != SERVER_HELLO_DONE {
            return Err(malformed());
        }
        if asked {
            let own = self.own.as_ref().map_or(&[][..], |(certificate, _)| certificate);
            let one = if own.is_empty() { Vec::new() } else { [&length::<3>(own.len())[..], own].concat() };
            handshake.send(&message(CERTIFICATE, &[&length::<3>(one.len()), &one]))?;
        }
        let Encrypted { secret, text, .. } = self.encrypted(&certificates)?;
        handshake.send(&message(CLIENT_KEY_EXCHANGE, &[&length::<2>(text.len()), text]))?;
        let master: Secret48 = derive(secret, "master secret", [&random, &server])?;
        if let Some((_, key)) = self.own.as_ref().filter(|_| asked) {
            let mut signature = vec![0; key.public_modulus_len()];
            let random = rand::SystemRandom::new();
            key.sign(&RSA_PKCS1_SHA384, &random, &handshake.transcript, &mut signature).map_err(unspecified)?;
            let body: [&[u8]; 3] = [&RSA_SHA384, &length::<2>(signature.len()), &signature];
            handshake.send(&message(CERTIFICATE_VERIFY, &body))?;
        }
        let keys = Keys::new(master, &random, &server)?;
        handshake.finish(&keys.master, keys.client)?;
        handshake.finished(&keys.master, keys.server)?;
        if self.transaction.resumed && !new.is_empty() {
            self.session = Some((new.to_vec(), master));
        }
        Ok(false)
    }
}

impl super::Client for Client {
    fn once(&mut self) -> Result<bool, String> {
        let mut records = Records::new(self.transaction.connect()?);
        let resumed = self.handshake(&mut records)?;
        self.transaction.application.within(&mut records)?;
        // Where the server has gone already, nobody is left to tell.
        let _ = records.put(ALERT, &[1, 0]).and_then(|()| records.flush());
        Ok(resumed)
    }
}
