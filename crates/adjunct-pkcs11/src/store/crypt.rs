//! The keys of a store: the token key, what is derived from it, and how a PIN opens it.

use super::format::{
    HEADER, Header, Link, RECORD_BOUND, RECORD_HEAD, Record, RecordKind, SLOT, SLOT_RANDOM, Slot, Uid, Version,
    close_record, ended_slot, live_slot, record_head,
};
use super::role::{Grip, Role, Wrapped};
use super::secret::{Secret, hmac};
use super::trouble::Trouble;
use adjunct::InOut;
use adjunct::ops::aead::gcm_parts;
use adjunct::ops::ecx::{Private, x25519};
use adjunct::ops::random::random;
use adjunct_tpm::Tpm;
use argon2::{Algorithm, Argon2, Block, Params};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

type Result<T> = std::result::Result<T, Trouble>;

/// The least processor time of a derivation, on the machine where the PIN is set, however busy it is.
const LEAST: Duration = Duration::from_millis(60);
/// KiB of memory of a derivation.
const MEMORY: u32 = 64 << 10;
/// The most that a file may ask for of Argon2id, by far more than any machine sets: a changed bit in a damaged file must not keep a repair for hours,
/// or take all memory.
const MOST: [u32; 3] = [1 << 20, 1 << 8, 64];

/// The keys of an open token; wiped when dropped.
pub struct Keys {
    version: Version,
    id: Uid,
    /// Identifier of the token key.
    key: Uid,
    token: Secret,
    chain: Secret,
    /// The secret of the role that they were opened by, and its number.
    own: Option<Own>,
}

adjunct::opaque_debug!(Keys);

/// The secret of a role, which a PIN opens.
#[derive(Clone)]
pub struct Own {
    role: u8,
    secret: Secret,
}

adjunct::opaque_debug!(Own);

/// AES-256-GCM in place; the tag.
fn gcm(key: &Secret, encrypt: bool, nonce: &[u8; 12], aad: &[u8], text: &mut [u8]) -> Result<[u8; 16]> {
    let mut tag = [0; 16];
    gcm_parts::within(&key[..], encrypt, nonce, aad, InOut::in_place(text), &mut tag).map_err(|_| Trouble::TooLong)?;
    Ok(tag)
}

/// The CPU time of this thread.
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
    let argon2 = Argon2::new(Algorithm::Argon2id, argon2::Version::V0x13, params);
    argon2.hash_password_into_with_memory(pin, salt, &mut key[..], &mut blocks[..]).map_err(|_| Trouble::Damaged)?;
    Ok(key)
}

/// The authorization value with which a TPM releases the secret that it has sealed for a PIN, derived from the PIN's key.
fn authorization(key: &Secret) -> Secret {
    hmac(&key[..], &[b"adjunct token TPM authorization"])
}

/// The key of a PIN and of that secret.
fn with_secret(key: &Secret, secret: &Secret) -> Secret {
    hmac(&key[..], &[b"adjunct token TPM key", &secret[..]])
}

/// The additional authenticated data of a role's secret.
fn bound(id: &Uid, which: u8, role: &Role) -> Vec<u8> {
    [&id[..], &[which], &role.bound()].concat()
}

fn wrap(key: &Secret, aad: &[u8], secret: &Secret) -> Result<Wrapped> {
    let mut wrapped = Wrapped { nonce: [0; 12], sealed: **secret, tag: [0; 16] };
    random(&mut wrapped.nonce);
    wrapped.tag = gcm(key, true, &wrapped.nonce, aad, &mut wrapped.sealed)?;
    Ok(wrapped)
}

/// `None` under another key.
fn unwrap(key: &Secret, aad: &[u8], wrapped: &Wrapped) -> Result<Option<Secret>> {
    let mut secret = Zeroizing::new(wrapped.sealed);
    let tag = gcm(key, false, &wrapped.nonce, aad, &mut secret[..])?;
    Ok(bool::from(tag.ct_eq(&wrapped.tag)).then_some(secret))
}

/// Derives the key that wraps a role's token key, from the secret that both sides share.
fn grip_key(shared: &[u8], aad: &[u8], ephemeral: &[u8; 32], public: &[u8]) -> Secret {
    hmac(shared, &[b"adjunct token role", aad, ephemeral, public])
}

impl Keys {
    /// Makes new keys, for a new token or in place of others.
    pub fn new(header: &Header) -> Keys {
        let mut token = Zeroizing::new([0; 32]);
        random(&mut token[..]);
        Keys::of(header, token)
    }

    fn of(header: &Header, token: Secret) -> Keys {
        let (version, id, key) = (header.version, header.id, header.key);
        let chain = match version {
            Version::One => hmac(&token[..], &[b"adjunct token chain", &id]),
            Version::Two => hmac(&token[..], &[b"adjunct token chain", &id, &key]),
        };
        Keys { version, id, key, token, chain, own: None }
    }

    /// Fixed keys of a token, for fuzzing and its seeds.
    pub fn fixed(header: &Header) -> Keys {
        Keys::of(header, Zeroizing::new([7; 32]))
    }

    /// Identifier of the token that the keys open.
    pub fn id(&self) -> &Uid {
        &self.id
    }

    /// Whether the keys are those of a file with this header.
    pub fn fit(&self, header: &Header) -> bool {
        (self.version, &self.id, &self.key) == (header.version, &header.id, &header.key)
    }

    /// Adds the secret of a role.
    pub fn owned(mut self, own: Own) -> Keys {
        self.own = Some(own);
        self
    }

    /// Opens a token's keys with a PIN; `None` if it is wrong.
    ///
    /// # Errors
    /// [`Trouble::Memory`]; [`Trouble::Damaged`] of a role that cannot be; [`Trouble::Tpm`].
    pub fn open(header: &Header, which: u8, role: &Role, pin: &[u8], tpm: &Tpm) -> Result<Option<Keys>> {
        let mut key = derive(pin, &role.salt, role.cost)?;
        if let Some(sealed) = &role.tpm {
            match tpm.unseal(sealed, &authorization(&key))? {
                Some(secret) => key = with_secret(&key, &secret),
                None => return Ok(None),
            }
        }
        let Some(secret) = unwrap(&key, &bound(&header.id, which, role), &role.secret)? else { return Ok(None) };
        // The PIN is right: if nothing opens by it, it is not the PIN's fault.
        Keys::by_secret(header, role, Own { role: which, secret })?.map_or(Err(Trouble::Damaged), |keys| Ok(Some(keys)))
    }

    /// Opens a token's keys with the secret of a role; `None` if the secret is not this role's.
    fn by_secret(header: &Header, role: &Role, own: Own) -> Result<Option<Keys>> {
        let Some(grip) = &role.grip else {
            let token = own.secret.clone();
            return Ok((header.version == Version::One).then(|| Keys::of(header, token).owned(own)));
        };
        let aad = Keys::aad(header, own.role);
        let key = if role.pair {
            let private = Private::new(&own.secret);
            let Ok(shared) = x25519::shared_secret_within(&private, &grip.ephemeral) else { return Ok(None) };
            let own = x25519::other_half(&private).map_err(|_| Trouble::Damaged)?;
            grip_key(&shared[..], &aad, &grip.ephemeral, &own)
        } else {
            grip_key(&own.secret[..], &aad, &grip.ephemeral, &[])
        };
        Ok(unwrap(&key, &aad, &grip.token)?.map(|token| Keys::of(header, token).owned(own)))
    }

    fn aad(header: &Header, which: u8) -> Vec<u8> {
        [&header.id[..], &header.key, &[which]].concat()
    }

    /// Keys of a file that was written anew under another key since `self` was opened; `None` where the role's PIN has been changed.
    pub fn follow(&self, header: &Header, roles: &[Option<Role>; 2]) -> Option<Keys> {
        let own = self.own.clone().filter(|_| self.id == header.id)?;
        let role = roles.get(usize::from(own.role).checked_sub(1)?)?.as_ref()?;
        Keys::by_secret(header, role, own).ok().flatten()
    }

    /// Makes the data by which a role with this secret or public half opens these keys.
    fn grip(&self, header: &Header, which: u8, pair: bool, peer: &Secret) -> Result<Grip> {
        let aad = Keys::aad(header, which);
        let mut ephemeral = [0; 32];
        let key = if pair {
            let mut private = Zeroizing::new([0; 32]);
            random(&mut private[..]);
            let private = Private::new(&private);
            ephemeral = x25519::other_half(&private).map_err(|_| Trouble::Damaged)?;
            let shared = x25519::shared_secret_within(&private, peer).map_err(|_| Trouble::Damaged)?;
            grip_key(&shared[..], &aad, &ephemeral, &peer[..])
        } else {
            grip_key(&peer[..], &aad, &ephemeral, &[])
        };
        Ok(Grip { ephemeral, token: wrap(&key, &aad, &self.token)?, peer: wrap(&self.peer_key(which), &aad, peer)? })
    }

    fn peer_key(&self, which: u8) -> Secret {
        hmac(&self.token[..], &[b"adjunct token peer", &self.id, &self.key, &[which]])
    }

    /// A role of before, whose holder is not here, for the file of `header` under the keys `new`.
    ///
    /// # Errors
    /// [`Trouble::Damaged`].
    pub fn hand_over(&self, old: &Header, which: u8, role: &Role, header: &Header, new: &Keys) -> Result<Role> {
        let peer = match &role.grip {
            None => self.token.clone(),
            Some(grip) => {
                let peer = unwrap(&self.peer_key(which), &Keys::aad(old, which), &grip.peer)?;
                peer.ok_or(Trouble::Damaged)?
            }
        };
        Ok(Role { grip: Some(new.grip(header, which, role.pair, &peer)?), ..role.clone() })
    }

    /// Makes a role that a PIN opens, with a derivation that takes this machine long enough, and with a TPM's secret where there is a TPM.
    ///
    /// # Errors
    /// [`Trouble::Memory`], [`Trouble::Tpm`].
    pub fn role(&self, header: &Header, which: u8, pin: &[u8], tpm: Option<&Tpm>) -> Result<(Role, Own)> {
        let (mut salt, mut secret) = ([0; 32], Zeroizing::new([0; 32]));
        random(&mut salt);
        let pair = self.version == Version::Two;
        if pair {
            random(&mut secret[..]);
        } else {
            secret.clone_from(&self.token);
        }
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
        let nothing = Wrapped { nonce: [0; 12], sealed: [0; 32], tag: [0; 16] };
        let mut role = Role { cost, salt, secret: nothing, pair, grip: None, tpm: None };
        if let Some(tpm) = tpm {
            let mut secret = Zeroizing::new([0; 32]);
            random(&mut secret[..]);
            role.tpm = Some(tpm.seal(&authorization(&key), &secret)?);
            key = with_secret(&key, &secret);
        }
        role.secret = wrap(&key, &bound(&self.id, which, &role), &secret)?;
        if pair {
            let public = x25519::other_half(&Private::new(&secret)).map_err(|_| Trouble::Damaged)?;
            let public = Zeroizing::new(public);
            role.grip = Some(self.grip(header, which, true, &public)?);
        }
        Ok((role, Own { role: which, secret }))
    }

    /// The bytes by which the slot of an ended record is overwritten.
    pub fn ended(&self, uid: &Uid, version: u64) -> [u8; SLOT] {
        let proof = hmac(&self.token[..], &[b"adjunct token end", &self.id, uid, &version.to_le_bytes()]);
        let mut bytes = [0; SLOT_RANDOM];
        bytes.copy_from_slice(&proof[..SLOT_RANDOM]);
        ended_slot(&bytes)
    }

    /// The key of a record, and the data that its tag authenticates.
    fn of_record(&self, head: &[u8], slot: &[u8], open_body: &[u8]) -> (Secret, Vec<u8>) {
        let slot = slot.get(..SLOT_RANDOM).unwrap_or_default();
        let key = hmac(&self.token[..], &[b"adjunct token record", &self.id, &head[8..RECORD_BOUND], slot]);
        (key, [&self.id[..], &head[..RECORD_BOUND], open_body].concat())
    }

    /// Adds a record to `to`.
    ///
    /// # Errors
    /// [`Trouble::Memory`], [`Trouble::TooLong`].
    pub fn seal(&self, to: &mut Vec<u8>, kind: RecordKind, uid: &Uid, version: u64, body: &[u8]) -> Result<()> {
        if u32::try_from(body.len()).is_err() {
            return Err(Trouble::TooLong);
        }
        let head = record_head(kind, uid, version, body.len());
        let (mut nonce, mut slot) = ([0; 12], None);
        random(&mut nonce);
        if kind.is_object() && self.version == Version::Two {
            let mut bytes = [0; SLOT_RANDOM];
            random(&mut bytes);
            slot = Some(live_slot(&bytes));
        }
        let slot = slot.as_ref().map_or(&[][..], |slot| slot);
        let (key, aad) = self.of_record(&head, slot, if kind.is_sealed() { &[] } else { body });
        let at = to.len();
        to.try_reserve(RECORD_HEAD + slot.len() + body.len())?;
        to.extend(head);
        to.extend(slot);
        to.extend_from_slice(body);
        let text = if kind.is_sealed() { &mut to[at + RECORD_HEAD + slot.len()..] } else { &mut [] };
        let tag = gcm(&key, true, &nonce, &aad, text)?;
        close_record(&mut to[at..at + RECORD_HEAD], &nonce, &tag);
        Ok(())
    }

    /// The body of a record; nothing of one that was ended in place.
    ///
    /// # Errors
    /// [`Trouble::Damaged`] where it is not what was written; [`Trouble::Memory`].
    pub fn unseal(&self, record: &Record<'_>) -> Result<Zeroizing<Vec<u8>>> {
        let mut body = Zeroizing::new(Vec::new());
        match record.state() {
            Slot::Torn => return Err(Trouble::Damaged),
            Slot::Ended => {
                let genuine = bool::from(self.ended(&record.uid, record.version)[..].ct_eq(record.slot));
                return if genuine { Ok(body) } else { Err(Trouble::Damaged) };
            }
            Slot::None | Slot::Live => {}
        }
        let sealed = record.kind.is_sealed();
        let (key, aad) = self.of_record(record.head, record.slot, if sealed { &[] } else { record.body });
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

    fn header(version: Version, key: u8) -> Header {
        Header { version, id: [7; 16], key: [key; 16], serial: [b'0'; 16], label: [b' '; 32] }
    }

    #[test]
    fn the_right_pin_opens_and_takes_its_time() {
        for version in [Version::One, Version::Two] {
            let (header, tpm) = (header(version, 1), Tpm::new(None));
            let keys = Keys::new(&header);
            let (role, _) = keys.role(&header, 1, b"1234", None).unwrap();
            assert_eq!(Role::decode(&role.encode(), version).unwrap(), role);
            let begin = thread_time();
            let opened = Keys::open(&header, 1, &role, b"1234", &tpm).unwrap().unwrap();
            let spent = thread_time() - begin;
            println!("derivation: {spent:?} with {:?}", role.cost);
            assert!(*opened.token == *keys.token && spent >= Duration::from_millis(30));
            assert!(Keys::open(&header, 1, &role, b"1235", &tpm).unwrap().is_none());
            assert!(Keys::open(&header, 2, &role, b"1234", &tpm).unwrap().is_none());
            let elsewhere = Header { id: [8; 16], ..header.clone() };
            assert!(Keys::open(&elsewhere, 1, &role, b"1234", &tpm).unwrap().is_none());
            let other = Role { cost: [u32::MAX, 1, 1], ..role };
            assert_eq!(Keys::open(&header, 1, &other, b"1234", &tpm).err(), Some(Trouble::Damaged));
        }
    }

    /// When one of two holders gets a new PIN and the token a new key, the other's PIN and logins go on, and the old PIN opens nothing.
    #[test]
    fn a_new_key_is_handed_over_to_the_other_role() {
        for version in [Version::One, Version::Two] {
            let (old, tpm) = (header(version, 1), Tpm::new(None));
            let keys = Keys::new(&old);
            let (user, _) = keys.role(&old, 1, b"1234", None).unwrap();
            let (officer, own) = keys.role(&old, 2, b"5678", None).unwrap();
            let in_by_officer = Keys::of(&old, keys.token.clone()).owned(own);
            let new = header(Version::Two, 2);
            let renewed = Keys::new(&new);
            let officer = keys.hand_over(&old, 2, &officer, &new, &renewed).unwrap();
            let (other_user, own) = renewed.role(&new, 1, b"other", None).unwrap();
            let roles = [Some(other_user.clone()), Some(officer.clone())];
            assert!(*in_by_officer.follow(&new, &roles).unwrap().token == *renewed.token);
            assert!(*Keys::open(&new, 2, &officer, b"5678", &tpm).unwrap().unwrap().token == *renewed.token);
            assert!(*Keys::open(&new, 1, &other_user, b"other", &tpm).unwrap().unwrap().token == *renewed.token);
            assert!(Keys::open(&new, 1, &other_user, b"1234", &tpm).unwrap().is_none());
            // What the old PIN opens opens nothing of the new, also with the new role's other half.
            let before = Keys::open(&old, 1, &user, b"1234", &tpm).unwrap().unwrap();
            assert!(before.follow(&new, &roles).is_none());
            let mixed = Role { grip: other_user.grip, ..user };
            assert!(!matches!(Keys::open(&new, 1, &mixed, b"1234", &tpm), Ok(Some(_))));
            drop(own);
        }
    }

    #[test]
    fn no_bit_of_a_record_can_be_changed() {
        for version in [Version::One, Version::Two] {
            let keys = Keys::new(&header(version, 1));
            for kind in [RecordKind::Open, RecordKind::Private, RecordKind::Sealed] {
                let mut bytes = Vec::new();
                keys.seal(&mut bytes, kind, &[1; 16], 5, b"attributes").unwrap();
                assert_eq!(bytes.windows(10).any(|part| part == b"attributes"), kind == RecordKind::Open);
                assert_eq!(**keys.unseal(&records(&bytes, version).unwrap()[0]).unwrap(), *b"attributes");
                // The last four bytes of the head are nobody's, and those of its length cannot be cut.
                for at in (0..60).chain(64..bytes.len()).filter(|at| !(4..8).contains(at)) {
                    bytes[at] ^= 1;
                    let read = records(&bytes, version).and_then(|records| keys.unseal(&records[0]).map(drop));
                    assert_eq!(read, Err(Trouble::Damaged), "{at}");
                    bytes[at] ^= 1;
                }
            }
        }
    }

    #[test]
    fn a_record_that_was_ended_opens_no_more() {
        let keys = Keys::new(&header(Version::Two, 1));
        let mut bytes = Vec::new();
        keys.seal(&mut bytes, RecordKind::Private, &[1; 16], 5, b"attributes").unwrap();
        let slot = RECORD_HEAD..RECORD_HEAD + SLOT;
        bytes[slot.clone()].copy_from_slice(&keys.ended(&[1; 16], 5));
        let ended = &records(&bytes, Version::Two).unwrap()[0];
        assert!(ended.is_end() && keys.unseal(ended).unwrap().is_empty());
        // Another record's end, and half of one.
        bytes[slot.clone()].copy_from_slice(&keys.ended(&[1; 16], 6));
        assert_eq!(keys.unseal(&records(&bytes, Version::Two).unwrap()[0]), Err(Trouble::Damaged));
        bytes[slot].fill(0);
        let torn = &records(&bytes, Version::Two).unwrap()[0];
        assert!(!torn.is_end() && torn.state() == Slot::Torn);
    }
}
