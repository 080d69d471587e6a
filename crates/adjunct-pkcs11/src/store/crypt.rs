//! The keys of a store: the token key, what is derived from it, and how a PIN opens it.

use super::format::{HEADER, Kind, Link, RECORD_BOUND, RECORD_HEAD, Record, Role, Uid, close_record, record_head};
use super::secret::{Secret, hmac};
use super::tpm::Tpm;
use super::trouble::Trouble;
use adjunct::InOut;
use adjunct::ops::aead::gcm_parts;
use adjunct::ops::random::random;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

type Result<T> = std::result::Result<T, Trouble>;

/// What a derivation takes at least of a processor's time, on the machine where the PIN is set, however busy that is.
const LEAST: Duration = Duration::from_millis(60);
/// KiB of memory of a derivation.
const MEMORY: u32 = 64 << 10;
/// The most that a file may ask for.
const MOST: [u32; 3] = [4 << 20, 1 << 16, 64];

/// The keys of an open token; wiped when dropped.
pub struct Keys {
    id: Uid,
    token: Secret,
    chain: Secret,
}

adjunct::opaque_debug!(Keys);

/// AES-256-GCM in place; the tag.
fn gcm(key: &Secret, encrypt: bool, nonce: &[u8; 12], aad: &[u8], text: &mut [u8]) -> Result<[u8; 16]> {
    let mut tag = [0; 16];
    gcm_parts::within(&key[..], encrypt, nonce, aad, InOut::in_place(text), &mut tag).map_err(|_| Trouble::TooLong)?;
    Ok(tag)
}

/// What this thread has spent.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The key of a PIN.
fn derive(pin: &[u8], salt: &[u8], cost: [u32; 3]) -> Result<Secret> {
    let fits = cost.iter().zip(MOST).all(|(cost, most)| *cost <= most);
    let params = Params::new(cost[0], cost[1], cost[2], Some(32)).ok().filter(|_| fits).ok_or(Trouble::Damaged)?;
    let mut blocks = Zeroizing::new(Vec::new());
    blocks.try_reserve_exact(params.block_count())?;
    blocks.resize(params.block_count(), Block::new());
    let mut key = Zeroizing::new([0; 32]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into_with_memory(pin, salt, &mut key[..], &mut blocks[..]).map_err(|_| Trouble::Damaged)?;
    Ok(key)
}

/// What a TPM wants to hear for the secret that it has sealed for a PIN, by the PIN's key.
fn authorization(key: &Secret) -> Secret {
    hmac(&key[..], &[b"adjunct token TPM authorization"])
}

/// The key of a PIN and of that secret.
fn with_secret(key: &Secret, secret: &Secret) -> Secret {
    hmac(&key[..], &[b"adjunct token TPM key", &secret[..]])
}

/// What the token key of a role is bound to.
fn bound(id: &Uid, which: u8, role: &Role) -> Vec<u8> {
    [&id[..], &[which], &role.bound()].concat()
}

impl Keys {
    /// New ones, for a new token.
    pub fn new(id: Uid) -> Keys {
        let mut token = Zeroizing::new([0; 32]);
        random(&mut token[..]);
        Keys::of(id, token)
    }

    fn of(id: Uid, token: Secret) -> Keys {
        let chain = hmac(&token[..], &[b"adjunct token chain", &id]);
        Keys { id, token, chain }
    }

    /// Those of a token that fuzzing and its seeds are made with.
    pub fn fixed() -> Keys {
        Keys::of([7; 16], Zeroizing::new([7; 32]))
    }

    /// The token that they open.
    pub fn id(&self) -> &Uid {
        &self.id
    }

    /// Those that a PIN opens; `None` if it is wrong.
    ///
    /// # Errors
    /// [`Trouble::Memory`]; [`Trouble::Damaged`] of a role that cannot be; [`Trouble::Tpm`].
    pub fn open(id: Uid, which: u8, role: &Role, pin: &[u8], tpm: &Tpm) -> Result<Option<Keys>> {
        let mut key = derive(pin, &role.salt, role.cost)?;
        if let Some(sealed) = &role.tpm {
            match tpm.unseal(sealed, &authorization(&key))? {
                Some(secret) => key = with_secret(&key, &secret),
                None => return Ok(None),
            }
        }
        let mut token = Zeroizing::new(role.sealed);
        let tag = gcm(&key, false, &role.nonce, &bound(&id, which, role), &mut token[..])?;
        Ok(bool::from(tag.ct_eq(&role.tag)).then(|| Keys::of(id, token)))
    }

    /// A role that a PIN opens, with a derivation that takes this machine long enough, and where there is a TPM only with that.
    ///
    /// # Errors
    /// [`Trouble::Memory`], [`Trouble::Tpm`].
    pub fn role(&self, which: u8, pin: &[u8], tpm: Option<&Tpm>) -> Result<Role> {
        let (mut salt, mut nonce) = ([0; 32], [0; 12]);
        random(&mut salt);
        random(&mut nonce);
        let mut passes = 1;
        let (mut key, cost) = loop {
            let (begin, cost) = (thread_time(), [MEMORY, passes, 1]);
            let key = derive(pin, &salt, cost)?;
            let spent = thread_time().saturating_sub(begin);
            if spent >= LEAST || passes == MOST[1] {
                break (key, cost);
            }
            // Less than half of what it takes is memory that comes for the first time.
            passes = (passes * 2).max((LEAST.as_micros() / spent.as_micros().max(1)) as u32 * passes).min(MOST[1]);
        };
        let mut role = Role { cost, salt, nonce, sealed: *self.token, tag: [0; 16], tpm: None };
        if let Some(tpm) = tpm {
            let mut secret = Zeroizing::new([0; 32]);
            random(&mut secret[..]);
            role.tpm = Some(tpm.seal(&authorization(&key), &secret)?);
            key = with_secret(&key, &secret);
        }
        let bound = bound(&self.id, which, &role);
        role.tag = gcm(&key, true, &nonce, &bound, &mut role.sealed)?;
        Ok(role)
    }

    /// The key of a record, and what it authenticates.
    fn of_record(&self, head: &[u8], open_body: &[u8]) -> (Secret, Vec<u8>) {
        let key = hmac(&self.token[..], &[b"adjunct token record", &self.id, &head[8..RECORD_BOUND]]);
        (key, [&self.id[..], &head[..RECORD_BOUND], open_body].concat())
    }

    /// Adds a record to `to`.
    ///
    /// # Errors
    /// [`Trouble::Memory`], [`Trouble::TooLong`].
    pub fn seal(&self, to: &mut Vec<u8>, kind: Kind, uid: &Uid, version: u64, body: &[u8]) -> Result<()> {
        if u32::try_from(body.len()).is_err() {
            return Err(Trouble::TooLong);
        }
        let sealed = matches!(kind, Kind::Private | Kind::Sealed);
        let head = record_head(kind, uid, version, body.len());
        let mut nonce = [0; 12];
        random(&mut nonce);
        let (key, aad) = self.of_record(&head, if sealed { &[] } else { body });
        let at = to.len();
        to.try_reserve(RECORD_HEAD + body.len())?;
        to.extend(head);
        to.extend_from_slice(body);
        let text = if sealed { &mut to[at + RECORD_HEAD..] } else { &mut [] };
        let tag = gcm(&key, true, &nonce, &aad, text)?;
        close_record(&mut to[at..at + RECORD_HEAD], &nonce, &tag);
        Ok(())
    }

    /// The body of a record.
    ///
    /// # Errors
    /// [`Trouble::Damaged`] where it is not what was written; [`Trouble::Memory`].
    pub fn unseal(&self, record: &Record<'_>) -> Result<Zeroizing<Vec<u8>>> {
        let sealed = matches!(record.kind, Kind::Private | Kind::Sealed);
        let (key, aad) = self.of_record(record.head, if sealed { &[] } else { record.body });
        let mut body = Zeroizing::new(Vec::new());
        body.try_reserve_exact(record.body.len())?;
        body.extend_from_slice(record.body);
        let text = if sealed { &mut body[..] } else { &mut [] };
        let tag = gcm(&key, false, &record.nonce(), &aad, text)?;
        if bool::from(tag.ct_eq(&record.tag())) { Ok(body) } else { Err(Trouble::Damaged) }
    }

    /// The link that the first frame follows.
    pub fn first_link(&self, header: &[u8; HEADER]) -> Link {
        self.link_of(&[header])
    }

    /// The link of a frame.
    pub fn link<'a>(&self, before: &'a Link, head: &'a [u8], records: impl Iterator<Item = &'a [u8]>) -> Link {
        let heads: Vec<&[u8]> = [&before[..], head].into_iter().chain(records).collect();
        self.link_of(&heads)
    }

    fn link_of(&self, parts: &[&[u8]]) -> Link {
        let mut link = [0; 16];
        link.copy_from_slice(&hmac(&self.chain[..], parts)[..16]);
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::records;

    #[test]
    fn the_right_pin_opens_and_takes_its_time() {
        let (keys, tpm) = (Keys::new([7; 16]), Tpm::new(None));
        let role = keys.role(1, b"1234", None).unwrap();
        assert_eq!(Role::decode(&role.encode()).unwrap(), role);
        let begin = thread_time();
        let opened = Keys::open([7; 16], 1, &role, b"1234", &tpm).unwrap().unwrap();
        let spent = thread_time() - begin;
        println!("derivation: {spent:?} with {:?}", role.cost);
        assert!(*opened.token == *keys.token && spent >= Duration::from_millis(30));
        assert!(Keys::open([7; 16], 1, &role, b"1235", &tpm).unwrap().is_none());
        assert!(Keys::open([7; 16], 2, &role, b"1234", &tpm).unwrap().is_none());
        assert!(Keys::open([8; 16], 1, &role, b"1234", &tpm).unwrap().is_none());
        let other = Role { cost: [u32::MAX, 1, 1], ..role };
        assert_eq!(Keys::open([7; 16], 1, &other, b"1234", &tpm).err(), Some(Trouble::Damaged));
    }

    #[test]
    fn no_bit_of_a_record_can_be_changed() {
        let keys = Keys::new([7; 16]);
        for kind in [Kind::Open, Kind::Private, Kind::Sealed] {
            let mut bytes = Vec::new();
            keys.seal(&mut bytes, kind, &[1; 16], 5, b"attributes").unwrap();
            assert_eq!(bytes.windows(10).any(|part| part == b"attributes"), kind == Kind::Open);
            assert_eq!(**keys.unseal(&records(&bytes).unwrap()[0]).unwrap(), *b"attributes");
            // The last four bytes of the head are nobody's, and those of its length cannot be cut.
            for at in (0..60).chain(64..bytes.len()).filter(|at| !(4..8).contains(at)) {
                bytes[at] ^= 1;
                let read = records(&bytes).and_then(|records| keys.unseal(&records[0]).map(drop));
                assert_eq!(read, Err(Trouble::Damaged), "{at}");
                bytes[at] ^= 1;
            }
        }
    }
}
