//! TLS 1.0 to 1.2 (RFC 2246, RFC 5246, RFC 7627, RFC 5705): master secrets, keys, exported material, Finished messages.

use super::{Derive, Secret};
use crate::mechanism::hash::Hash;
use crate::mechanism::params::{Params, Shape};
use crate::mechanism::registry::{Entry, LONG};
use crate::mechanism::{Mechanism, digest, generate};
use crate::object::attributes::Attributes;
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::kdf;
use adjunct::ops::random::random;
use cryptoki_sys::*;

/// The length of master secrets, and of premaster secrets of RSA, in bytes.
pub const SECRET: usize = 48;

/// A derivation of a secret of 48 bytes.
const fn of_secret(kind: CK_MECHANISM_TYPE, derive: Derive) -> Entry {
    Entry::new(kind, SECRET as CK_ULONG, SECRET as CK_ULONG, CKF_DERIVE, Shape::Derive(derive))
}

/// A derivation of a secret of any length.
const fn of_any(kind: CK_MECHANISM_TYPE, derive: Derive) -> Entry {
    Entry::new(kind, 1, LONG, CKF_DERIVE, Shape::Derive(derive))
}

pub(crate) const ENTRIES: &[Entry] = &[
    of_secret(CKM_TLS_MASTER_KEY_DERIVE, Derive::TlsMaster { rsa: true }),
    of_any(CKM_TLS_MASTER_KEY_DERIVE_DH, Derive::TlsMaster { rsa: false }),
    of_secret(CKM_TLS_KEY_AND_MAC_DERIVE, Derive::TlsKeys),
    of_any(CKM_TLS_PRF, Derive::TlsPrf),
    of_secret(CKM_TLS12_MASTER_KEY_DERIVE, Derive::Tls12Master { rsa: true }),
    of_any(CKM_TLS12_MASTER_KEY_DERIVE_DH, Derive::Tls12Master { rsa: false }),
    of_secret(CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE, Derive::Tls12Extended { rsa: true }),
    of_any(CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH, Derive::Tls12Extended { rsa: false }),
    of_secret(CKM_TLS12_KEY_AND_MAC_DERIVE, Derive::Tls12Keys { ivs: true }),
    of_secret(CKM_TLS12_KEY_SAFE_DERIVE, Derive::Tls12Keys { ivs: false }),
    of_any(CKM_TLS12_KDF, Derive::TlsKdf),
    of_any(CKM_TLS_KDF, Derive::TlsKdf),
    Entry::new(CKM_TLS_PRE_MASTER_KEY_GEN, SECRET as CK_ULONG, SECRET as CK_ULONG, CKF_GENERATE, Shape::Version)
        .secret(premaster),
];

/// A premaster secret of RSA: the version, and random bytes.
fn premaster(mechanism: Mechanism<'_>, template: &Attributes) -> Result<generate::Secret> {
    let Params::Version(version) = mechanism.params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
    let given = template.number(CKA_VALUE_LEN);
    ensure(given.is_none_or(|length| length == SECRET as CK_ULONG), CKR_TEMPLATE_INCONSISTENT)?;
    let mut value = adjunct::memory::zeros(SECRET)?;
    random(&mut value);
    value[..2].copy_from_slice(&version);
    Ok((CKK_GENERIC_SECRET, value))
}

/// A pseudo-random function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prf {
    /// TLS 1.0's and 1.1's.
    Tls10,
    /// TLS 1.2's.
    Tls12(Hash),
}

impl Prf {
    /// The pseudo-random function of a mechanism.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID` where it is no hash.
    pub fn of(mechanism: CK_MECHANISM_TYPE) -> Result<Prf> {
        if mechanism == CKM_TLS_PRF { Ok(Prf::Tls10) } else { Ok(Prf::Tls12(digest::hash_of(mechanism)?)) }
    }

    /// Gives `length` pseudo-random bytes of a secret and a seed in parts.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn bytes(self, secret: &[u8], seed: &[&[u8]], length: usize) -> Result<Secret> {
        let mut out = adjunct::memory::zeros(length)?;
        match self {
            Prf::Tls10 => kdf::tls10_prf(secret, seed, &mut out)?,
            Prf::Tls12(hash) => kdf::tls12_prf(hash.method(), secret, seed, &mut out)?,
        }
        Ok(out)
    }
}

/// CK_SSL3_RANDOM_DATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Randoms<'a> {
    /// The client's.
    pub client: &'a [u8],
    /// The server's.
    pub server: &'a [u8],
}

/// A master secret of a premaster secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Master<'a> {
    /// The pseudorandom function.
    pub prf: Prf,
    /// What the function is applied to.
    pub seed: MasterSeed<'a>,
    /// The premaster secret is RSA's: of 48 bytes, of which the first two tell the version.
    pub rsa: bool,
}

/// The further input of a master secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MasterSeed<'a> {
    /// The randoms of both sides.
    Randoms(Randoms<'a>),
    /// The hash of the handshake (RFC 7627).
    Session(&'a [u8]),
}

impl Master<'_> {
    /// Derives the master secret from a premaster secret.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE` for a premaster secret of RSA of another length; `CKR_TEMPLATE_INCONSISTENT` for another length asked for.
    pub fn derive(&self, base: &[u8], wanted: Option<usize>) -> Result<Secret> {
        ensure(!self.rsa || base.len() == SECRET, CKR_KEY_SIZE_RANGE)?;
        ensure(wanted.is_none_or(|wanted| wanted == SECRET), CKR_TEMPLATE_INCONSISTENT)?;
        match self.seed {
            MasterSeed::Randoms(Randoms { client, server }) => {
                self.prf.bytes(base, &[b"master secret", client, server], SECRET)
            }
            MasterSeed::Session(hash) => self.prf.bytes(base, &[b"extended master secret", hash], SECRET),
        }
    }
}

/// CK_TLS12_KEY_MAT_PARAMS, CK_SSL3_KEY_MAT_PARAMS; lengths in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys<'a> {
    /// The pseudorandom function.
    pub prf: Prf,
    /// The randoms of both sides.
    pub randoms: Randoms<'a>,
    /// Bytes of a MAC key.
    pub mac: usize,
    /// Bytes of a key.
    pub key: usize,
    /// Bytes of an IV.
    pub iv: usize,
}

/// The key block, in the order of RFC 5246, 6.3: the client's part stands before the server's.
#[derive(Debug)]
pub struct Block {
    block: Secret,
    mac: usize,
    key: usize,
    iv: usize,
}

impl Keys<'_> {
    /// Derives the key block from a master secret.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn derive(&self, base: &[u8]) -> Result<Block> {
        let Keys { mac, key, iv, randoms, .. } = *self;
        let length = mac.checked_add(key).and_then(|sum| sum.checked_add(iv)?.checked_mul(2));
        let length = length.ok_or(Rv(CKR_MECHANISM_PARAM_INVALID))?;
        let block = self.prf.bytes(base, &[b"key expansion", randoms.server, randoms.client], length)?;
        Ok(Block { block, mac, key, iv })
    }
}

impl Block {
    /// The two MAC keys.
    pub fn macs(&self) -> [&[u8]; 2] {
        self.pair(0, self.mac)
    }

    /// The two keys.
    pub fn keys(&self) -> [&[u8]; 2] {
        self.pair(2 * self.mac, self.key)
    }

    /// The two IVs.
    pub fn ivs(&self) -> [&[u8]; 2] {
        self.pair(2 * (self.mac + self.key), self.iv)
    }

    fn pair(&self, start: usize, length: usize) -> [&[u8]; 2] {
        let both = &self.block[start..start + 2 * length];
        [&both[..length], &both[length..]]
    }
}

/// CK_TLS_KDF_PARAMS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kdf<'a> {
    /// The pseudorandom function.
    pub prf: Prf,
    /// The label.
    pub label: &'a [u8],
    /// The randoms of both sides.
    pub randoms: Randoms<'a>,
    /// The context. An empty one gives other bytes than none (RFC 5705, 4).
    pub context: Option<&'a [u8]>,
}

impl Kdf<'_> {
    /// Derives bytes from a master secret.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID` for a context of more than 65535 bytes.
    pub fn derive(&self, base: &[u8], wanted: usize) -> Result<Secret> {
        let Randoms { client, server } = self.randoms;
        let mut seed = vec![self.label, client, server];
        let length =
            u16::try_from(self.context.unwrap_or_default().len()).map_err(|_| Rv(CKR_MECHANISM_PARAM_INVALID))?;
        let length = length.to_be_bytes();
        if let Some(context) = self.context {
            seed.extend([&length[..], context]);
        }
        self.prf.bytes(base, &seed, wanted)
    }
}

/// CK_TLS_PRF_PARAMS: TLS 1.0's pseudo-random function for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed<'a> {
    /// The label.
    pub label: &'a [u8],
    /// The seed.
    pub seed: &'a [u8],
    /// Bytes of the result.
    pub length: usize,
}

impl Seed<'_> {
    /// Derives bytes from a secret, for the caller.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn derive(&self, base: &[u8]) -> Result<Secret> {
        Prf::Tls10.bytes(base, &[self.label, self.seed], self.length)
    }
}
