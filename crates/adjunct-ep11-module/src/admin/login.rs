//! Sessions whose PIN travels encrypted (m_LoginExtended, m_LogoutExtended; FIPS 2021).
//!
//! A program asks for the domain's importer, a key on P-256 or P-521 with a counter, and encrypts the PIN for it with the counter plus one:
//!
//! ```text
//! importer:  SEQUENCE { SKI (32) | SubjectPublicKeyInfo | counter (16) }
//! structure: SEQUENCE { OID, DER | algorithm (4): 2 | parent session (32) | recipient | attributes | context }
//! recipient: SEQUENCE { 1 (4) | SKI of the importer (32) | SubjectPublicKeyInfo of the sender }
//! PIN:       AES-256 key wrap with padding (RFC 5649) of SEQUENCE { 1 (4) | function (4) | counter + 1 (16) | PIN }
//!            under SHA-256(00000001 00000001, ECDH's first coordinate, first coordinate of the sender's point)
//! ```
//!
//! The answer is the session's modifier (32) and salt (16), wrapped by the same key. Program and card make the PIN blob of them: wrapped under
//! SHA-256(00000001 00000003, PIN, 00, salt), with a mark in its fifth byte. Its first 32 bytes are the session; key blobs show them, so that the rest counts too. Modifier and salt are derived of the wrapping
//! key, the PIN, the nonce and the parent session, so that cards with one wrapping key give one PIN blob.

use super::der;
use super::importer::{agree, crypt, nist_pair};
use super::reason::Refused;
use super::signers::ski;
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure, fail};
use crate::key::Material;
use crate::keys::{Purpose, hmac};
use crate::sessions::Id;
use adjunct::ops::digest::sha256;
use adjunct_coprocessor::unit::Ski;
use adjunct_ep11_wire::blob::SESSION;
use adjunct_ep11_wire::codes::{key as k, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::{fields, number, sequence};
use cryptoki_sys::CKM_AES_KEY_WRAP_KWP;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// An importer on P-256.
pub const P256: u32 = 1;
/// An importer on P-521.
pub const P521: u32 = 2;
/// 1.3.6.1.4.1.2.267.999.4.1, DER.
const SESSION_INFO: &[u8] = &[6, 12, 0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 0x87, 0x67, 4, 1];
/// The algorithm of FIPS 2021.
const ALGORITHM: u32 = 2;
/// Lengths of a PIN.
const PIN: std::ops::RangeInclusive<usize> = 8..=64;
const NONCE: usize = 64;
/// Bytes of modifier and salt, and of the PIN blob that is made of them.
const CLEAR: usize = 48;
/// Bytes of a PIN blob.
pub const PIN_BLOB: usize = CLEAR + 8;
/// The PIN blobs that are kept before those without a session go.
const MOST_BLOBS: usize = 4096;
/// Where a PIN blob is marked, and how.
const MARK: (usize, u8) = (4, 0xab);

/// An importer with its counter.
struct Importer {
    key: Material,
    spki: Vec<u8>,
    ski: Ski,
    counter: u128,
}

impl Importer {
    fn new(kind: u32) -> Result<Importer> {
        let key = nist_pair(kind == P521).map_err(refused)?;
        let spki = key.spki()?;
        let ski = ski(&spki).ok_or(Rv(rv::FUNCTION_FAILED))?;
        Ok(Importer { key, spki, ski, counter: 0 })
    }
}

/// What a PIN blob has behind the session's identifier, which key blobs show: who has only these has no PIN blob.
type Rest = [u8; PIN_BLOB - SESSION];

/// The importers of PINs of a card's domains: made when they are first asked for, and gone when the card ends, as sessions are.
#[derive(Default)]
pub struct Logins {
    importers: Mutex<HashMap<(u8, u32), Importer>>,
    /// The rest of PIN blobs, by domain and session.
    blobs: Mutex<HashMap<(u8, Id), Rest>>,
}

adjunct::opaque_debug!(Logins);

fn refused(error: Refused) -> Rv {
    Rv(error.rv)
}

impl Logins {
    fn with<T>(&self, domain: u8, kind: u32, run: impl FnOnce(&mut Importer) -> Result<T>) -> Result<T> {
        ensure(matches!(kind, P256 | P521), rv::ARGUMENTS_BAD)?;
        let mut all = self.importers.lock().unwrap_or_else(PoisonError::into_inner);
        run(match all.entry((domain, kind)) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => place.insert(Importer::new(kind)?),
        })
    }

    fn blobs(&self) -> MutexGuard<'_, HashMap<(u8, Id), Rest>> {
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what tells a session's PIN blob from others.
    fn keep(&self, context: &Context<'_>, id: Id, rest: Rest) {
        let mut blobs = self.blobs();
        // Those of sessions that were removed go when room is needed.
        if blobs.len() >= MOST_BLOBS {
            blobs.retain(|(domain, id), _| context.module.sessions.check(*domain, id).is_ok());
        }
        blobs.insert((context.number, id), rest);
    }

    /// What a program is told of an importer.
    ///
    /// # Errors
    /// `CKR_ARGUMENTS_BAD` for a kind that there is not.
    pub fn importer(&self, domain: u8, kind: u32) -> Result<Bytes> {
        self.with(domain, kind, |one| Ok(sequence(&[&one.ski, &one.spki, &one.counter.to_be_bytes()])))
    }
}

/// The structure of a request.
struct Extended<'a> {
    parent: &'a [u8; 32],
    importer: &'a Ski,
    sender: &'a [u8],
}

fn extended(bytes: &[u8]) -> Option<Extended<'_>> {
    let outer = fields(bytes)?;
    let (head, optional) = outer.all().split_first_chunk::<4>()?;
    let [version, algorithm, parent, recipient] = head;
    (*version == SESSION_INFO && number(algorithm)? == ALGORITHM && optional.len() <= 2).then_some(())?;
    // No attribute of a session and no context is served.
    optional.iter().all(|field| field.iter().all(|byte| *byte == 0)).then_some(())?;
    let inner = fields(recipient)?;
    let [one, importer, sender] = inner.all() else { return None };
    (number(one)? == 1).then_some(())?;
    Some(Extended { parent: (*parent).try_into().ok()?, importer: (*importer).try_into().ok()?, sender })
}

/// A PIN that came encrypted, and the key that it came under.
struct Came {
    pin: Zeroizing<Vec<u8>>,
    with: Material,
    parent: [u8; 32],
}

/// Decrypts a PIN, and counts.
fn receive(context: &Context<'_>, encrypted: &[u8], structure: &[u8]) -> Result<Came> {
    let keeping = context.module.keys.administration().ok_or(Rv(rv::FUNCTION_NOT_SUPPORTED))?;
    let extended = extended(structure).ok_or(Rv(rv::ARGUMENTS_BAD))?;
    let sender = Material::of_spki(extended.sender).or(fail(rv::ARGUMENTS_BAD))?;
    let kind = match (sender.kind, sender.bits) {
        (k::EC, 256) => P256,
        (k::EC, 521) => P521,
        _ => return fail(rv::ARGUMENTS_BAD),
    };
    keeping.logins().with(context.number, kind, |importer| {
        ensure(*extended.importer == importer.ski, rv::DATA_INVALID)?;
        let point = der::key_bits(extended.sender).ok_or(Rv(rv::ARGUMENTS_BAD))?;
        let shared = agree(&importer.key, point).or(fail(rv::ARGUMENTS_BAD))?;
        let length = (point.len() - 1) / 2;
        let x = point.get(1..1 + length).filter(|_| point[0] == 4).ok_or(Rv(rv::ARGUMENTS_BAD))?;
        let one = 1_u32.to_be_bytes();
        let with = Material::secret(k::AES, Zeroizing::new(sha256(&[&one, &one, &shared, x]).to_vec()))?;
        let clear = crypt(CKM_AES_KEY_WRAP_KWP, with.held.clone(), false, encrypted).or(fail(rv::PIN_INCORRECT))?;
        let padded = fields(&clear).ok_or(Rv(rv::PIN_INCORRECT))?;
        let [version, function, counter, pin] = padded.all() else { return fail(rv::PIN_INCORRECT) };
        ensure(number(version) == Some(1), rv::PIN_INCORRECT)?;
        ensure(number(function) == Some(context.function as u32), rv::PIN_INCORRECT)?;
        let next = importer.counter.wrapping_add(1);
        // Another program was faster, or a request came twice.
        ensure(**counter == next.to_be_bytes(), rv::DATA_INVALID)?;
        ensure(PIN.contains(&pin.len()), rv::PIN_LEN_RANGE)?;
        importer.counter = next;
        Ok(Came { pin: Zeroizing::new(pin.to_vec()), with, parent: *extended.parent })
    })
}

/// Modifier and salt of a session.
fn modifier(context: &Context<'_>, came: &Came, nonce: &[u8]) -> Result<Zeroizing<[u8; CLEAR]>> {
    ensure(nonce.len() <= NONCE, rv::ARGUMENTS_BAD)?;
    let key = context.domain.sealing()?.encrypting(Purpose::Session);
    let mut clear = Zeroizing::new([0; CLEAR]);
    let (mut out, mut salt) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
    let length = [came.pin.len() as u8];
    for (number, out) in [(1, &mut out), (2, &mut salt)] {
        hmac(key, &[b"extended", &[number], &length, &came.pin, &came.parent, nonce], out)?;
    }
    clear[..32].copy_from_slice(&out[..]);
    clear[32..].copy_from_slice(&salt[..CLEAR - 32]);
    // Programs look for the mark here too.
    clear[MARK.0] = MARK.1;
    Ok(clear)
}

/// The PIN blob that program and card make of modifier and salt.
fn pin_blob(clear: &[u8; CLEAR], pin: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let key = sha256(&[&1_u32.to_be_bytes(), &3_u32.to_be_bytes(), pin, &[0], &clear[32..]]);
    let with = Material::secret(k::AES, Zeroizing::new(key.to_vec()))?;
    let mut blob = crypt(CKM_AES_KEY_WRAP_KWP, with.held, true, clear)?;
    blob[MARK.0] = MARK.1;
    if blob[0] == 0x30 {
        blob[0] = 0xcc;
    }
    Ok(blob)
}

/// The two parts of a PIN blob: the session, and the rest.
fn split(blob: &[u8]) -> Option<(&Id, &Rest)> {
    let (id, rest) = blob.split_first_chunk()?;
    Some((id, rest.try_into().ok()?))
}

/// The identifier of the session of a PIN blob of [`PIN_BLOB`] bytes.
///
/// # Errors
/// `CKR_PIN_INCORRECT` for one that no login gave; `CKR_SESSION_CLOSED`.
pub(crate) fn open(context: &Context<'_>, blob: &[u8]) -> Result<Id> {
    let incorrect = Rv(rv::PIN_INCORRECT);
    let keeping = context.module.keys.administration().ok_or(incorrect)?;
    let (id, rest) = split(blob).ok_or(incorrect)?;
    context.module.sessions.check(context.number, id)?;
    let blobs = keeping.logins().blobs();
    let known = blobs.get(&(context.number, *id)).ok_or(incorrect)?;
    ensure(bool::from(known.ct_eq(rest)), rv::PIN_INCORRECT)?;
    Ok(*id)
}

/// m_LoginExtended.
pub(crate) fn login(context: &Context<'_>) -> Result<Results> {
    let (encrypted, nonce, structure) = (context.argument(0), context.argument(1), context.argument(2));
    let came = receive(context, encrypted, structure)?;
    if came.parent != [0; 32] {
        context.module.sessions.check(context.number, &came.parent)?;
    }
    let clear = modifier(context, &came, nonce)?;
    let blob = pin_blob(&clear, &came.pin)?;
    let (id, rest) = split(&blob).ok_or(Rv(rv::FUNCTION_FAILED))?;
    context.module.sessions.add(context.number, *id)?;
    if let Some(keeping) = context.module.keys.administration() {
        keeping.logins().keep(context, *id, *rest);
    }
    Ok(vec![crypt(CKM_AES_KEY_WRAP_KWP, came.with.held, true, &clear[..])?])
}

/// m_LogoutExtended.
pub(crate) fn logout(context: &Context<'_>) -> Result<Results> {
    debug_assert_eq!(context.function, Function::LogoutExtended);
    let (encrypted, nonce, structure) = (context.argument(1), context.argument(2), context.argument(3));
    let came = receive(context, encrypted, structure)?;
    let clear = modifier(context, &came, nonce)?;
    let blob = pin_blob(&clear, &came.pin)?;
    let (id, _) = split(&blob).ok_or(Rv(rv::FUNCTION_FAILED))?;
    ensure(context.module.sessions.remove(context.number, id), rv::SESSION_CLOSED)?;
    Ok(Vec::new())
}
