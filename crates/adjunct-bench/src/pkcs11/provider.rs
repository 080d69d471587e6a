//! adjunct's provider under the same load as modules of PKCS #11: through EVP, each thread with contexts that it keeps.

use super::row::{Pair, Row, What};
use super::{Error, Why};
use crate::libcrypto::{Functions, Side};
use crate::load::{self, Done, Thread};
use crate::measure::Work;
use crate::publickey::{self, KeyType, Keys, Operation, Padding};
use crate::symmetric::{self, Cipher, Mode};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The provider in a library context of its own, and the keys that rows have asked for.
#[derive(Debug)]
pub struct Provider {
    side: Side,
    /// OpenSSL's default provider, which makes keys and checks signatures.
    stock: Side,
    keys: BTreeMap<String, Keys>,
}

/// The operation of a row, as it is called through EVP.
#[derive(Debug, Clone)]
enum Subject {
    Cipher(Cipher, usize),
    Mac((&'static str, &'static str, usize), usize),
    Digest(&'static str, usize),
    PublicKey(publickey::Row),
}

/// A thread's operation, with its own contexts.
struct Worker(Work);

impl Thread for Worker {
    #[inline]
    fn operation(&mut self) -> Result<(), Why> {
        if self.0.once() { Ok(()) } else { Err(Why::Failed("an operation failed".to_owned())) }
    }

    fn end(self) -> Result<(), Why> {
        Ok(())
    }
}

fn failed(error: Error) -> Why {
    Why::Failed(error.to_string())
}

fn kind(pair: Pair) -> KeyType {
    match pair {
        Pair::Rsa(bits) => KeyType::new("RSA", "RSA", "", bits.into()),
        Pair::P256 => KeyType::new("P-256", "EC", "P-256", 0),
        Pair::P384 => KeyType::new("P-384", "EC", "P-384", 0),
        Pair::Ed25519 => KeyType::new("Ed25519", "ED25519", "", 0),
    }
}

impl Subject {
    /// Makes the subject of a row; `None` where EVP has no such function, or no context that could be kept for it.
    fn of(row: &Row) -> Option<Subject> {
        if row.new_session || row.beside > 0 {
            return None;
        }
        let cipher = |name: &str, mode| Cipher { name: name.to_owned(), mode, encrypt: true };
        Some(match row.what {
            What::Sign(pair) => {
                let operation = match pair {
                    Pair::Rsa(_) => Operation::Sign(Padding::Pkcs1),
                    Pair::P256 | Pair::P384 => Operation::Sign(Padding::None),
                    Pair::Ed25519 => Operation::SignMessage,
                };
                Subject::PublicKey(publickey::Row { kind: kind(pair), operation })
            }
            What::Generate(pair) => {
                Subject::PublicKey(publickey::Row { kind: kind(pair), operation: Operation::Generate })
            }
            What::Gcm(size) => Subject::Cipher(cipher("AES-256-GCM", Mode::NoData), size),
            What::Cbc(size) => Subject::Cipher(cipher("AES-256-CBC", Mode::PerMessage), size),
            What::Ctr(size) => Subject::Cipher(cipher("AES-256-CTR", Mode::PerMessage), size),
            What::Cmac(size) => Subject::Mac(("CMAC", "AES-256-CBC", 32), size),
            What::Hmac(size) => Subject::Mac(("HMAC", "SHA2-256", 32), size),
            What::Sha256(size) => Subject::Digest("SHA2-256", size),
            _ => return None,
        })
    }
}

impl Provider {
    /// Loads the system's libcrypto, and the provider into it.
    ///
    /// # Errors
    /// [`Error::Library`], [`Error::Module`].
    pub fn open(module: &Path) -> Result<Provider, Error> {
        let f = Functions::load(None)?;
        Ok(Provider { side: Side::adjunct(f, module)?, stock: Side::stock(f)?, keys: BTreeMap::new() })
    }

    /// Name of the provider, with the libcrypto that it serves.
    pub fn name(&self) -> String {
        format!("adjunct's provider, {}", self.side.f.version())
    }

    /// Makes the key that a row's threads share.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn prepare(&mut self, row: &Row) -> Result<(), Why> {
        let subject = Subject::of(row).ok_or_else(|| Why::Missing("no such function of EVP's".to_owned()))?;
        if let (Subject::PublicKey(public), Some(name)) = (subject, row.what.key())
            && !row.own_key
            && !self.keys.contains_key(&name)
        {
            self.keys.insert(name, self.new_keys(public)?);
        }
        Ok(())
    }

    fn new_keys(&self, row: publickey::Row) -> Result<Keys, Why> {
        let keys = row.keys(self.side, self.stock).map_err(failed)?;
        keys.ok_or_else(|| Why::Missing("no such keys".to_owned()))
    }

    /// Loads the provider with a row's threads for `length`.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn run(&self, row: &Row, length: Duration) -> Result<Done, Why> {
        let missing = || Why::Missing("no such function of EVP's".to_owned());
        let subject = Subject::of(row).ok_or_else(missing)?;
        let keys = row.what.key().and_then(|name| self.keys.get(&name));
        load::load(row.threads.into(), length, |_| {
            let work = match &subject {
                Subject::Cipher(cipher, size) => cipher.work(self.side, *size),
                Subject::Mac(mac, size) => symmetric::mac(self.side, *mac, *size),
                Subject::Digest(name, size) => symmetric::digest(self.side, name, *size),
                Subject::PublicKey(public) if public.operation == Operation::Generate => {
                    public.work(self.side, self.stock)
                }
                Subject::PublicKey(public) => {
                    let keys = keys.filter(|_| !row.own_key).cloned().map_or_else(|| self.new_keys(*public), Ok)?;
                    public.work_with(self.side, self.stock, keys)
                }
            };
            work.map_err(failed)?.map(Worker).ok_or_else(missing)
        })
    }
}
