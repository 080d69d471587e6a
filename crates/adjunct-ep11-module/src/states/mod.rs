//! Operations of several calls. The module keeps nothing of them: each call gives a state, which the program brings to the next one.
//!
//! A state is sealed as a key's blob is, for a purpose of its own, so that neither is taken for the other. Its public part has the session and the attributes of
//! the key; that of a digest has none. It keeps its length from the first call on, also under another wrapping key. A program that brings an older state goes
//! back to where the operation was then.
//!
//! What a state has encrypted, numbers big-endian:
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 1 | the form, 1 |
//! | 1 | 1 | the operation: 1 digest, 2 encrypt, 3 decrypt, 4 sign, 5 verify |
//! | 2 | 1 | whether a part has been taken in |
//! | 3 | 1 | whether the key's attributes are vouched for |
//! | 4 | 2 | bytes of the mechanism |
//! | 6 | 2 | bytes of the running operation, at most 512 |
//! | 8 | 4 | class of the key, 0 of a digest |
//! | 12 | 4 | its type |
//! | 16 | 4 | bytes of its value |
//! | 20 | 12 | 0 |
//! | 32 | | mechanism, value, running operation, zeros |

use crate::blob::{self, BLOCK, Head};
use crate::context::{Bytes, Context, Results, filled};
use crate::error::{Result, Rv, ensure, fail};
use crate::key::{Key, Material};
use crate::keys::{Purpose, WrappingKey};
use crate::mechanisms::{Wanted, flags};
use crate::{cipher, digest, sign, strength};
use adjunct_ep11_wire::codes::{key as k, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_mechanisms::operation::{Again, Cipher, Digester, Signer, Verifier};
use zeroize::Zeroizing;

const FORM: u8 = 1;
/// Where the mechanism begins.
const FIELDS: usize = 32;
/// Room for the running operation: a hash with its begun block, data as long as RSA's longest modulus.
const ROOM: usize = 512;
/// The longest mechanism.
const LONGEST_MECHANISM: usize = 1024;
/// The longest state: what openCryptoki has room for.
pub const LONGEST: usize = 12_288;
/// The longest state of a digest.
pub const LONGEST_DIGEST: usize = 1024;

/// An operation of several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Digest = 1,
    Encrypt = 2,
    Decrypt = 3,
    Sign = 4,
    Verify = 5,
}

impl Kind {
    fn flag(self) -> u32 {
        match self {
            Kind::Digest => flags::DIGEST,
            Kind::Encrypt => flags::ENCRYPT,
            Kind::Decrypt => flags::DECRYPT,
            Kind::Sign => flags::SIGN,
            Kind::Verify => flags::VERIFY,
        }
    }
}

/// What a call does with a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Init,
    Update,
    Final,
    /// All data in one part, and the end.
    Whole,
}

/// Which operation and call a function is.
fn of(function: Function) -> Option<(Kind, Call)> {
    use Function as F;
    Some(match function {
        F::DigestInit => (Kind::Digest, Call::Init),
        F::DigestUpdate => (Kind::Digest, Call::Update),
        F::DigestFinal => (Kind::Digest, Call::Final),
        F::Digest => (Kind::Digest, Call::Whole),
        F::EncryptInit => (Kind::Encrypt, Call::Init),
        F::EncryptUpdate => (Kind::Encrypt, Call::Update),
        F::EncryptFinal => (Kind::Encrypt, Call::Final),
        F::Encrypt => (Kind::Encrypt, Call::Whole),
        F::DecryptInit => (Kind::Decrypt, Call::Init),
        F::DecryptUpdate => (Kind::Decrypt, Call::Update),
        F::DecryptFinal => (Kind::Decrypt, Call::Final),
        F::Decrypt => (Kind::Decrypt, Call::Whole),
        F::SignInit => (Kind::Sign, Call::Init),
        F::SignUpdate => (Kind::Sign, Call::Update),
        F::SignFinal => (Kind::Sign, Call::Final),
        F::Sign => (Kind::Sign, Call::Whole),
        F::VerifyInit => (Kind::Verify, Call::Init),
        F::VerifyUpdate => (Kind::Verify, Call::Update),
        F::VerifyFinal => (Kind::Verify, Call::Final),
        F::Verify => (Kind::Verify, Call::Whole),
        _ => return None,
    })
}

/// A function of an operation of several calls.
pub(crate) fn call(context: &Context<'_>) -> Result<Results> {
    match of(context.function) {
        Some((kind, Call::Init)) => init(context, kind),
        Some((kind, Call::Update)) => update(context, kind),
        Some((kind, call)) => end(context, kind, call),
        None => fail(rv::FUNCTION_NOT_SUPPORTED),
    }
}

/// A running operation.
enum Operation {
    Digest(Box<dyn Digester>),
    Cipher(Box<dyn Cipher>),
    Sign(Box<dyn Signer>),
    Verify(Box<dyn Verifier>),
}

impl Operation {
    /// Begins the operation with a key that may be used so.
    fn begin(context: &Context<'_>, kind: Kind, mechanism: &Wanted<'_>, key: Option<&Key>) -> Result<Operation> {
        let key = || key.ok_or(Rv(rv::IBM_BLOB_ERROR));
        Ok(match kind {
            Kind::Digest => Operation::Digest(mechanism.core()?.digester()?),
            Kind::Encrypt | Kind::Decrypt => {
                Operation::Cipher(cipher::begin(context, mechanism, key()?, kind == Kind::Encrypt)?)
            }
            Kind::Sign => Operation::Sign(sign::signer(context, mechanism, key()?)?),
            Kind::Verify => Operation::Verify(sign::verifier(context, mechanism, key()?)?),
        })
    }

    fn again(&mut self) -> &mut dyn Again {
        match self {
            Operation::Digest(operation) => &mut **operation,
            Operation::Cipher(operation) => &mut **operation,
            Operation::Sign(operation) => &mut **operation,
            Operation::Verify(operation) => &mut **operation,
        }
    }

    /// Takes in a part; what a cipher gives of it.
    fn update(&mut self, data: &[u8]) -> Result<Option<Bytes>> {
        match self {
            Operation::Digest(operation) => operation.update(data),
            Operation::Sign(operation) => operation.update(data)?,
            Operation::Verify(operation) => operation.update(data)?,
            Operation::Cipher(operation) => {
                return filled(operation.update_length(data.len()), |out| operation.update(data, out)).map(Some);
            }
        }
        Ok(None)
    }

    /// Ends the operation; `signature` is what is verified.
    fn end(&mut self, signature: &[u8]) -> Result<Option<Bytes>> {
        Ok(Some(match self {
            Operation::Digest(operation) => digest::finish(&mut **operation)?,
            Operation::Sign(operation) => filled(operation.length(), |out| operation.finish(out))?,
            Operation::Cipher(operation) => filled(operation.final_length(), |out| operation.finish(out))?,
            Operation::Verify(operation) => {
                operation.finish(signature)?;
                return Ok(None);
            }
        }))
    }
}

/// A state's contents.
struct State {
    kind: Kind,
    begun: bool,
    mechanism: Vec<u8>,
    key: Option<Key>,
    running: Zeroizing<Vec<u8>>,
}

impl State {
    /// The public part: the key's.
    fn head(&self) -> Head {
        self.key.as_ref().map(|key| key.head).unwrap_or_default()
    }

    fn seal(&self, with: &WrappingKey) -> Result<Bytes> {
        let value: &[u8] = self.key.as_ref().map_or(&[], |key| &key.material.value);
        let (mechanism, running) = (&self.mechanism, &self.running);
        ensure(mechanism.len() <= LONGEST_MECHANISM, rv::MECHANISM_PARAM_INVALID)?;
        ensure(running.len() <= ROOM, rv::DATA_LEN_RANGE)?;
        let length = (FIELDS + mechanism.len() + value.len() + ROOM).next_multiple_of(BLOCK);
        let mut inner = adjunct::memory::zeros(length)?;
        inner[..3].copy_from_slice(&[FORM, self.kind as u8, u8::from(self.begun)]);
        inner[4..6].copy_from_slice(&(mechanism.len() as u16).to_be_bytes());
        inner[6..8].copy_from_slice(&(running.len() as u16).to_be_bytes());
        if let Some(key) = &self.key {
            inner[3] = u8::from(key.vouched);
            inner[8..12].copy_from_slice(&key.material.class.to_be_bytes());
            inner[12..16].copy_from_slice(&key.material.kind.to_be_bytes());
        }
        inner[16..20].copy_from_slice(&(value.len() as u32).to_be_bytes());
        let mut at = FIELDS;
        for part in [mechanism, value, running] {
            inner[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let sealed = blob::seal(with, Purpose::State, &self.head(), &inner)?;
        let most = if self.kind == Kind::Digest { LONGEST_DIGEST } else { LONGEST };
        ensure(sealed.len() <= most, rv::KEY_SIZE_RANGE)?;
        Ok(sealed)
    }

    fn open(with: &WrappingKey, sealed: &[u8]) -> Result<State> {
        let (head, inner) = blob::open(with, Purpose::State, sealed)?;
        State::of_inner(head, &inner).ok_or(Rv(rv::IBM_BLOB_ERROR))
    }

    fn of_inner(head: Head, inner: &[u8]) -> Option<State> {
        let (fields, mut rest) = inner.split_at_checked(FIELDS)?;
        let word = |at: usize| fields.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word));
        let half = |at: usize| fields.get(at..)?.first_chunk().map(|half| u16::from_be_bytes(*half));
        let kinds = [Kind::Digest, Kind::Encrypt, Kind::Decrypt, Kind::Sign, Kind::Verify];
        let kind = kinds.into_iter().find(|kind| *kind as u8 == fields[1]).filter(|_| fields[0] == FORM)?;
        let mut take = |length: usize| {
            let (part, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(part)
        };
        let mechanism = take(half(4)?.into())?.to_vec();
        let value = take(word(16)? as usize)?;
        let running = Zeroizing::new(take(half(6)?.into())?.to_vec());
        let copy = || Zeroizing::new(value.to_vec());
        let material = match word(8)? {
            0 => None,
            k::SECRET => Some(Material::secret(word(12)?, copy()).ok()?),
            k::PRIVATE => Some(Material::of_pkcs8(value).ok()?),
            k::PUBLIC => Some(Material::of_spki(value).ok()?),
            _ => return None,
        };
        let key = material.map(|material| Key { material, head, vouched: fields[3] == 1 });
        (key.is_some() == (kind != Kind::Digest)).then_some(())?;
        Some(State { kind, begun: fields[2] == 1, mechanism, key, running })
    }
}

/// The first call: a mechanism, and a key but for digests.
fn init(context: &Context<'_>, kind: Kind) -> Result<Results> {
    let bytes = context.argument(0);
    let mechanism = Wanted::read(bytes, kind.flag())?;
    let (with, key) = match kind {
        Kind::Digest => (None, None),
        _ => {
            let (with, key) = context.key_with(context.argument(1))?;
            (with, Some(Key::clone(&key)))
        }
    };
    // A state lives as long as its key: one of a key under the committed next wrapping key is under that.
    let with = with.map_or_else(|| context.domain.sealing().map(|with| &**with), Ok)?;
    // What the mechanism refuses is refused now.
    Operation::begin(context, kind, &mechanism, key.as_ref())?;
    let state = State { kind, begun: false, mechanism: bytes.to_vec(), key, running: Zeroizing::default() };
    Ok(vec![state.seal(with)?])
}

/// The state of a call, with the wrapping key that it is sealed by, and the operation where the state says.
fn opened<'a>(context: &'a Context<'_>, kind: Kind) -> Result<(&'a WrappingKey, State, Operation)> {
    let sealed = context.argument(0);
    let with = blob::key_of(&context.domain, sealed)?;
    let state = State::open(with, sealed)?;
    ensure(state.kind == kind, rv::OPERATION_NOT_INITIALIZED)?;
    if let Some(key) = &state.key {
        if key.material.class != k::PUBLIC {
            context.session(&key.head.session)?;
            strength::allow(context.domain.points, key)?;
        } else if key.head.session != [0; 32] {
            context.session(&key.head.session)?;
        }
    }
    let mechanism = Wanted::read(&state.mechanism, kind.flag())?;
    let mut operation = Operation::begin(context, kind, &mechanism, state.key.as_ref())?;
    if state.begun {
        operation.again().resume(&state.running).or(fail(rv::IBM_BLOB_ERROR))?;
    }
    Ok((with, state, operation))
}

/// Goes on with a part.
fn update(context: &Context<'_>, kind: Kind) -> Result<Results> {
    let (with, mut state, mut operation) = opened(context, kind)?;
    // A mechanism whose message comes at once takes none.
    ensure(operation.again().running().is_some(), rv::FUNCTION_NOT_SUPPORTED)?;
    let out = operation.update(context.argument(1))?;
    state.running = operation.again().running().ok_or(Rv(rv::DATA_LEN_RANGE))?;
    state.begun = true;
    Ok([Some(state.seal(with)?), out].into_iter().flatten().collect())
}

/// Ends the operation, with all data or without more.
fn end(context: &Context<'_>, kind: Kind, call: Call) -> Result<Results> {
    let (_, state, mut operation) = opened(context, kind)?;
    let whole = call == Call::Whole;
    ensure(!(whole && state.begun), rv::OPERATION_ACTIVE)?;
    let signature = context.argument(if whole { 2 } else { 1 });
    if !whole {
        return Ok(operation.end(signature)?.into_iter().collect());
    }
    let data = context.argument(1);
    match &mut operation {
        Operation::Cipher(operation) => Ok(vec![cipher::once(&mut **operation, data)?]),
        Operation::Sign(operation) => Ok(vec![sign::once(&mut **operation, data)?]),
        other => {
            other.update(data)?;
            Ok(other.end(signature)?.into_iter().collect())
        }
    }
}
