//! What opens a vault. The vault's own key is random; it stands in the file encrypted under a key that is made of a passphrase (Argon2id, RFC 9106) or of a
//! credential (HKDF, RFC 5869), or that a TPM 2.0 has sealed.
//!
//! ```text
//! seal:  method (4) | costs of Argon2id (3 times 4) | salt, random (32) | tag (16) | the vault's key, AES-256-GCM (32) | of a TPM: its parts
//! of a TPM:  storage key's point (64) | public area: length (2) bytes | private area: length (2) bytes
//! ```

use crate::crypt::{Secret, TAG, decrypt, encrypt, hmac};
use adjunct::ops::random::random;
use adjunct_tpm::{Connection, Fault, Sealed, Tries};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroizing;

const SALT: usize = 32;
/// Bytes before the salt, before the tag, and before what a TPM adds.
const COSTS_END: usize = 16;
const HEAD: usize = COSTS_END + SALT;
const FIXED: usize = HEAD + TAG + 32;
/// The costs of Argon2id: KiB of memory, passes, lanes. A fraction of a second, once, when the card is unlocked. A card's memory is locked, so that more
/// may not be had.
const COSTS: [u32; 3] = [64 << 10, 6, 1];
/// The most that a file may ask for: a changed bit must not take all memory.
const MOST: [u32; 3] = [1 << 20, 64, 16];
/// The shortest credential, in bytes.
const CREDENTIAL: usize = 16;

/// How the key of a vault is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Method {
    /// There is no file: keys are gone when the card ends.
    Volatile = 0,
    /// By a passphrase, which an administrator enters after each start (`adjunct cards unlock`).
    Passphrase = 1,
    /// By a credential that systemd gives the service: the machine's TPM or its host key protects that.
    Credential = 2,
    /// By the machine's TPM 2.0.
    Tpm = 3,
}

impl Method {
    fn with_number(number: u32) -> Option<Method> {
        [Method::Passphrase, Method::Credential, Method::Tpm].into_iter().find(|&method| method as u32 == number)
    }

    /// The method as a word, for tables and settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Method::Volatile => "volatile",
            Method::Passphrase => "passphrase",
            Method::Credential => "credential",
            Method::Tpm => "tpm",
        }
    }

    /// What it is that seals, within a sentence.
    #[must_use]
    pub fn by(self) -> &'static str {
        match self {
            Method::Volatile => "nothing",
            Method::Passphrase => "a passphrase",
            Method::Credential => "a credential of systemd's",
            Method::Tpm => "the TPM",
        }
    }

    /// What it means, as a sentence for the administrator.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Method::Volatile => "Master keys are in memory alone: they are gone when the card ends.",
            Method::Passphrase => {
                "Master keys are encrypted under a passphrase: after each start, `adjunct cards unlock` asks for it."
            }
            Method::Credential => {
                "Master keys are encrypted under a credential of systemd's: a copy of the file alone opens nothing."
            }
            Method::Tpm => {
                "Master keys are sealed by this machine's TPM: a copy of the file opens on no other machine."
            }
        }
    }
}

/// A method with what it needs.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Opener<'a> {
    /// A passphrase.
    Passphrase(&'a [u8]),
    /// A credential's bytes.
    Credential(&'a [u8]),
    /// A TPM, which is connected. Whoever started the process opened it: no path is opened here.
    Tpm(&'a Connection),
}

adjunct::opaque_debug!(Opener<'_>);

impl<'a> Opener<'a> {
    /// Opens by a passphrase; `None` for an empty one.
    #[must_use]
    pub fn passphrase(secret: &'a [u8]) -> Option<Opener<'a>> {
        (!secret.is_empty()).then_some(Opener::Passphrase(secret))
    }

    /// Opens by a credential; `None` for one of fewer than 16 bytes, which can be guessed.
    #[must_use]
    pub fn credential(secret: &'a [u8]) -> Option<Opener<'a>> {
        (secret.len() >= CREDENTIAL).then_some(Opener::Credential(secret))
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        match self {
            Opener::Passphrase(_) => Method::Passphrase,
            Opener::Credential(_) => Method::Credential,
            Opener::Tpm(_) => Method::Tpm,
        }
    }
}

/// Why a seal was not made or opened.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Passphrase or credential is another.
    Secret,
    /// It is none.
    Damaged,
    Memory,
    Tpm(Fault),
    /// It is of the first method, and was to be opened by the second.
    Method(Method, Method),
}

/// The key that the vault's key is encrypted under, from a secret that is given.
fn made_of(opener: &Opener<'_>, costs: [u32; 3], salt: &[u8]) -> Result<Option<Secret>, Failed> {
    match opener {
        Opener::Passphrase(secret) => stretched(secret, salt, costs).map(Some),
        Opener::Credential(secret) => {
            let extracted = hmac(salt, &[secret]).ok_or(Failed::Memory)?;
            hmac(&extracted[..], &[b"adjunct vault", &[1]]).ok_or(Failed::Memory).map(Some)
        }
        Opener::Tpm(_) => Ok(None),
    }
}

/// Argon2id of a passphrase.
fn stretched(secret: &[u8], salt: &[u8], costs: [u32; 3]) -> Result<Secret, Failed> {
    if costs.iter().zip(MOST).any(|(cost, most)| *cost > most) {
        return Err(Failed::Damaged);
    }
    let params = Params::new(costs[0], costs[1], costs[2], Some(32)).map_err(|_| Failed::Damaged)?;
    let mut blocks = Zeroizing::new(Vec::new());
    blocks.try_reserve_exact(params.block_count()).map_err(|_| Failed::Memory)?;
    blocks.resize(params.block_count(), Block::new());
    let mut key = Zeroizing::new([0; 32]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into_with_memory(secret, salt, &mut key[..], &mut blocks[..]).map_err(|_| Failed::Secret)?;
    Ok(key)
}

/// What a TPM's seal wants to be opened by. There is nothing secret in it: the TPM is what is needed.
fn authorization(salt: &[u8]) -> Result<Secret, Failed> {
    hmac(salt, &[b"adjunct vault, TPM"]).ok_or(Failed::Memory)
}

/// The method of a seal; `None` for bytes that are none.
pub(crate) fn method(sealed: &[u8]) -> Option<Method> {
    Method::with_number(u32::from_le_bytes(*sealed.first_chunk()?))
}

/// Seals a vault's key. `file` names the file that it is for.
pub(crate) fn seal(opener: &Opener<'_>, file: &[u8], key: &Secret) -> Result<Vec<u8>, Failed> {
    let costs = if opener.method() == Method::Passphrase { COSTS } else { [0; 3] };
    let mut sealed = vec![0; FIXED];
    sealed[..4].copy_from_slice(&(opener.method() as u32).to_le_bytes());
    for (to, cost) in sealed[4..COSTS_END].chunks_exact_mut(4).zip(costs) {
        to.copy_from_slice(&cost.to_le_bytes());
    }
    random(&mut sealed[COSTS_END..HEAD]);
    let by = match (opener, made_of(opener, costs, &sealed[COSTS_END..HEAD])?) {
        (Opener::Tpm(tpm), _) => {
            let mut by = Zeroizing::new([0; 32]);
            random(&mut by[..]);
            let auth = authorization(&sealed[COSTS_END..HEAD])?;
            let Sealed { parent, public, private } = tpm.seal(&auth, &by, Tries::Uncounted).map_err(Failed::Tpm)?;
            sealed.extend(parent);
            for part in [public, private] {
                sealed.extend((part.len() as u16).to_le_bytes());
                sealed.extend(part);
            }
            by
        }
        (_, by) => by.ok_or(Failed::Damaged)?,
    };
    let (head, rest) = sealed.split_at_mut(HEAD);
    let (tag, rest) = rest.split_at_mut(TAG);
    let (place, of_tpm) = rest.split_at_mut(32);
    let mut text = key.clone();
    tag.copy_from_slice(&encrypt(&by, &[file, head, of_tpm].concat(), &mut text[..]).ok_or(Failed::Memory)?);
    place.copy_from_slice(&text[..]);
    Ok(sealed)
}

/// The parts of a TPM's seal.
fn of_tpm(mut rest: &[u8]) -> Option<Sealed> {
    let mut take = |count| {
        let (front, behind) = rest.split_at_checked(count)?;
        rest = behind;
        Some(front)
    };
    let parent = take(64)?.try_into().ok()?;
    let mut sized = || {
        let length = u16::from_le_bytes(take(2)?.try_into().ok()?);
        take(length.into()).map(<[u8]>::to_vec)
    };
    let (public, private) = (sized()?, sized()?);
    rest.is_empty().then_some(Sealed { parent, public, private })
}

/// Opens a vault's key.
pub(crate) fn open(opener: &Opener<'_>, file: &[u8], sealed: &[u8]) -> Result<Secret, Failed> {
    let by = method(sealed).ok_or(Failed::Damaged)?;
    if by != opener.method() {
        return Err(Failed::Method(by, opener.method()));
    }
    let (head, rest) = sealed.split_at_checked(HEAD).ok_or(Failed::Damaged)?;
    let (tag, rest) = rest.split_first_chunk::<TAG>().ok_or(Failed::Damaged)?;
    let (text, behind) = rest.split_first_chunk::<32>().ok_or(Failed::Damaged)?;
    let (costs, salt) = head.split_at(COSTS_END);
    let mut numbers = costs[4..].chunks_exact(4).map(|cost| cost.iter().rev().fold(0, |n, b| n << 8 | u32::from(*b)));
    let costs = std::array::from_fn(|_| numbers.next().unwrap_or(0));
    let by = match (opener, made_of(opener, costs, salt)?) {
        (Opener::Tpm(tpm), _) => {
            let parts = of_tpm(behind).ok_or(Failed::Damaged)?;
            tpm.unseal(&parts, &authorization(salt)?).map_err(Failed::Tpm)?.ok_or(Failed::Damaged)?
        }
        (_, by) => by.ok_or(Failed::Damaged)?,
    };
    let mut key = Zeroizing::new(*text);
    decrypt(&by, &[file, head, behind].concat(), &mut key[..], tag).ok_or(Failed::Secret)?;
    Ok(key)
}
