//! EP11 coprocessors under load, by libep11's own calls.
//!
//! [`row`] names what is measured, and [`express`] has the figures of IBM's card; [`library`] has the calls; [`Subject`] does them, in a process that has
//! loaded the library and knows a daemon's folder.

pub mod express;
pub mod library;
pub mod row;

use crate::Error;
use crate::load::{self, Done, Thread, Why};
use adjunct_pkcs11_client::sys::*;
use library::{Direction, Functions, Mechanism, Target, Template};
use row::{Cipher, Curve, Hash, Key, Row, What};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const VENDOR: CK_ULONG = 0x8000_0000;
const ED25519: CK_ULONG = VENDOR + 0x1_001c;
const ED448: CK_ULONG = VENDOR + 0x1_001f;
const DILITHIUM: CK_ULONG = VENDOR + 0x1_0023;
const SHA3_256_HMAC: CK_ULONG = VENDOR + 0x1_0026;
const SHA3_512_HMAC: CK_ULONG = VENDOR + 0x1_0028;
const PQC_PARAMS: CK_ULONG = VENDOR + 0x1_000e;
/// 1.3.6.1.4.1.2.267.1.6.5, DER: round 2, 6-5.
const ROUND_2_65: &[u8] = &[6, 11, 0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 1, 6, 5];
/// The longest result of what is not encryption, and what ciphers and RSA add to data.
const LONGEST: usize = 16384;
/// Bytes that are signed, and those that RSA encrypts.
const SHORT: usize = 32;

/// A key of a row: its blob, and its public half's.
#[derive(Debug, Clone)]
struct Made {
    key: Vec<u8>,
    public: Vec<u8>,
}

/// The library with targets of one card and of two, and the keys that rows have asked for.
#[derive(Debug)]
pub struct Subject {
    functions: Functions,
    /// By the number of cards, from one on.
    targets: Vec<Target>,
    keys: BTreeMap<String, Made>,
    ready: Option<(Row, Ready)>,
}

/// What a row's calls are made with.
#[derive(Debug)]
struct Ready {
    call: Call,
    mechanism: Mechanism,
    template: [Template; 2],
    /// The key, or what is unwrapped.
    key: Vec<u8>,
    /// The key that wraps or unwraps.
    by: Vec<u8>,
    data: Vec<u8>,
    signature: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Crypt(Direction),
    Verify,
    Wrap,
    Unwrap,
    GeneratePair,
}

impl Curve {
    /// The identifier, DER.
    fn parameters(self) -> &'static [u8] {
        match self {
            Curve::Brainpool192 => &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 3],
            Curve::Brainpool256 => &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 7],
            Curve::Brainpool512 => &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 13],
            Curve::P192 => &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 1],
            Curve::P256 => &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
            Curve::P521 => &[6, 5, 0x2b, 0x81, 4, 0, 0x23],
            Curve::Ed448 => &[6, 3, 0x2b, 0x65, 0x71],
            Curve::Ed25519 => &[6, 3, 0x2b, 0x65, 0x70],
        }
    }

    fn signing(self) -> CK_ULONG {
        match self {
            Curve::Ed448 => ED448,
            Curve::Ed25519 => ED25519,
            _ => CKM_ECDSA,
        }
    }
}

impl Key {
    fn signing(self) -> CK_ULONG {
        match self {
            Key::Ec(curve) => curve.signing(),
            Key::Dilithium => DILITHIUM,
            _ => CKM_RSA_PKCS,
        }
    }

    /// The mechanism that makes such a key, and the templates of a public half and of a private or secret one.
    fn generation(self) -> (CK_ULONG, [Template; 2]) {
        let private = Template::default().yes(&[CKA_SIGN, CKA_EXTRACTABLE]);
        let public = Template::default().yes(&[CKA_VERIFY]);
        match self {
            Key::Rsa(bits) => (
                CKM_RSA_PKCS_KEY_PAIR_GEN,
                [
                    public
                        .number(CKA_MODULUS_BITS, bits.into())
                        .bytes(CKA_PUBLIC_EXPONENT, &[1, 0, 1])
                        .yes(&[CKA_ENCRYPT, CKA_WRAP]),
                    private.yes(&[CKA_DECRYPT, CKA_UNWRAP]),
                ],
            ),
            Key::Ec(curve) => (CKM_EC_KEY_PAIR_GEN, [public.bytes(CKA_EC_PARAMS, curve.parameters()), private]),
            Key::Dilithium => (DILITHIUM, [public.bytes(PQC_PARAMS, ROUND_2_65), private]),
            Key::Aes => {
                let uses = [CKA_ENCRYPT, CKA_DECRYPT, CKA_WRAP, CKA_UNWRAP, CKA_EXTRACTABLE];
                (CKM_AES_KEY_GEN, [Template::default(), Template::default().number(CKA_VALUE_LEN, 32).yes(&uses)])
            }
        }
    }
}

impl Hash {
    fn hmac(self) -> CK_ULONG {
        match self {
            Hash::Sha256 => CKM_SHA256_HMAC,
            Hash::Sha512 => CKM_SHA512_HMAC,
            Hash::Sha3_256 => SHA3_256_HMAC,
            Hash::Sha3_512 => SHA3_512_HMAC,
        }
    }
}

fn plain(number: CK_ULONG) -> Mechanism {
    Mechanism { number, parameter: Vec::new() }
}

fn cbc(number: CK_ULONG, block: usize) -> Mechanism {
    Mechanism { number, parameter: vec![1; block] }
}

impl Subject {
    /// Loads the library, which finds the daemon of its environment, with as many cards.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(library: &Path, cards: u8) -> Result<Subject, Error> {
        let functions = Functions::load(library)?;
        let targets = (1..=cards).map(|count| functions.target(&(0..count).collect::<Vec<_>>()));
        Ok(Subject { functions, targets: targets.collect::<Result<_, _>>()?, keys: BTreeMap::new(), ready: None })
    }

    /// A key that rows share.
    fn pair(&mut self, key: Key) -> Result<Made, Why> {
        let (mechanism, [public, private]) = key.generation();
        self.made(format!("{key:?}"), |functions, target| {
            let mechanism = plain(mechanism);
            if key == Key::Aes {
                return Ok((functions.generate(&mechanism, &private, target)?, Vec::new()));
            }
            functions.generate_pair(&mechanism, &public, &private, target)
        })
    }

    fn secret(&mut self, name: &str, mechanism: CK_ULONG, bytes: Option<CK_ULONG>) -> Result<Vec<u8>, Why> {
        let uses = Template::default().yes(&[CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN, CKA_VERIFY]);
        let template = bytes.into_iter().fold(uses, |template, bytes| template.number(CKA_VALUE_LEN, bytes));
        let make =
            |functions: &Functions, target| Ok((functions.generate(&plain(mechanism), &template, target)?, Vec::new()));
        self.made(name.to_owned(), make).map(|made| made.key)
    }

    fn made(
        &mut self,
        name: String,
        make: impl FnOnce(&Functions, Target) -> Result<(Vec<u8>, Vec<u8>), Why>,
    ) -> Result<Made, Why> {
        if let Some(made) = self.keys.get(&name) {
            return Ok(made.clone());
        }
        let target = *self.targets.first().ok_or_else(|| Why::Failed("no card".to_owned()))?;
        let (key, public) = make(&self.functions, target)?;
        Ok(self.keys.entry(name).or_insert(Made { key, public }).clone())
    }

    /// Does one call by which another is prepared.
    fn once(&self, direction: Direction, key: &[u8], mechanism: &Mechanism, data: &[u8]) -> Result<Vec<u8>, Why> {
        let mut output = vec![0; data.len() + LONGEST];
        let length = self.functions.crypt(direction, key, mechanism, data, &mut output, self.targets[0])?;
        output.truncate(length);
        Ok(output)
    }

    /// Makes what a row needs.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn prepare(&mut self, row: &Row) -> Result<(), Why> {
        if self.ready.as_ref().is_some_and(|(of, _)| of == row) {
            return Ok(());
        }
        let data = vec![7; row.size.unwrap_or(SHORT)];
        let crypt = |direction, key, mechanism, data| Ready {
            call: Call::Crypt(direction),
            mechanism,
            template: Default::default(),
            key,
            by: Vec::new(),
            data,
            signature: Vec::new(),
        };
        let ready = match row.what {
            What::Cbc(Cipher::Aes) => {
                let key = self.secret("AES-128", CKM_AES_KEY_GEN, Some(16))?;
                crypt(Direction::Encrypt, key, cbc(CKM_AES_CBC, 16), data)
            }
            What::Cbc(Cipher::Des3) => {
                let key = self.secret("DES3", CKM_DES3_KEY_GEN, None)?;
                crypt(Direction::Encrypt, key, cbc(CKM_DES3_CBC, 8), data)
            }
            What::Mac(hash) | What::VerifyMac(hash) => {
                let key = self.secret("HMAC", CKM_GENERIC_SECRET_KEY_GEN, Some(64))?;
                self.signed(plain(hash.hmac()), (key.clone(), key), data, matches!(row.what, What::VerifyMac(_)))?
            }
            What::Encrypt(bits) => {
                let made = self.pair(Key::Rsa(bits))?;
                crypt(Direction::Encrypt, made.public, plain(CKM_RSA_PKCS), data)
            }
            What::Decrypt(bits) => {
                let made = self.pair(Key::Rsa(bits))?;
                let encrypted = self.once(Direction::Encrypt, &made.public, &plain(CKM_RSA_PKCS), &data)?;
                crypt(Direction::Decrypt, made.key, plain(CKM_RSA_PKCS), encrypted)
            }
            What::Sign(key) | What::Verify(key) => {
                let made = self.pair(key)?;
                let verify = matches!(row.what, What::Verify(_));
                self.signed(plain(key.signing()), (made.key, made.public), data, verify)?
            }
            What::Wrap(key) | What::Unwrap(key) => self.wrapped(key, matches!(row.what, What::Unwrap(_)))?,
            What::Generate(key) => {
                let (mechanism, template) = key.generation();
                let none = crypt(Direction::Sign, Vec::new(), plain(mechanism), Vec::new());
                Ready { call: Call::GeneratePair, template, ..none }
            }
        };
        self.ready = Some((*row, ready));
        Ok(())
    }

    /// Signs, or verifies what was signed.
    fn signed(
        &self,
        mechanism: Mechanism,
        (key, public): (Vec<u8>, Vec<u8>),
        data: Vec<u8>,
        verify: bool,
    ) -> Result<Ready, Why> {
        let signature = self.once(Direction::Sign, &key, &mechanism, &data)?;
        let (call, key) = if verify { (Call::Verify, public) } else { (Call::Crypt(Direction::Sign), key) };
        Ok(Ready { call, mechanism, template: Default::default(), key, by: Vec::new(), data, signature })
    }

    /// Wraps a key, or unwraps it.
    fn wrapped(&mut self, by: Key, unwrap: bool) -> Result<Ready, Why> {
        let aes = self.pair(Key::Aes)?;
        // What is wrapped, and the two halves of what wraps it.
        let (key, halves, mechanism) = match by {
            Key::Rsa(_) => {
                let pair = self.pair(by)?;
                (aes.key, [pair.public, pair.key], plain(CKM_RSA_PKCS))
            }
            Key::Aes => (aes.key.clone(), [aes.key.clone(), aes.key], cbc(CKM_AES_CBC_PAD, 16)),
            Key::Ec(_) | Key::Dilithium => {
                let pair = self.pair(by)?;
                (pair.key, [aes.key.clone(), aes.key], cbc(CKM_AES_CBC_PAD, 16))
            }
        };
        let template = match by {
            Key::Rsa(_) | Key::Aes => Template::default()
                .number(CKA_CLASS, CKO_SECRET_KEY)
                .number(CKA_KEY_TYPE, CKK_AES)
                .number(CKA_VALUE_LEN, 32)
                .yes(&[CKA_ENCRYPT, CKA_DECRYPT]),
            _ => Template::default().number(CKA_CLASS, CKO_PRIVATE_KEY).number(CKA_KEY_TYPE, CKK_EC).yes(&[CKA_SIGN]),
        };
        let [wraps, unwraps] = halves;
        let mut output = vec![0; LONGEST];
        let length = self.functions.wrap(&key, &wraps, &mechanism, &mut output, self.targets[0])?;
        output.truncate(length);
        let (call, key, by) = if unwrap { (Call::Unwrap, output, unwraps) } else { (Call::Wrap, key, wraps) };
        let template = [template, Template::default()];
        Ok(Ready { call, mechanism, template, key, by, data: Vec::new(), signature: Vec::new() })
    }

    /// Has so many threads do a row's call for so long, at so many cards.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn run(&mut self, row: &Row, threads: usize, cards: u8, length: Duration) -> Result<Done, Why> {
        self.prepare(row)?;
        let none = || Why::Failed("no such target".to_owned());
        let target = *usize::from(cards).checked_sub(1).and_then(|at| self.targets.get(at)).ok_or_else(none)?;
        let (_, ready) = self.ready.as_ref().ok_or_else(none)?;
        let functions = &self.functions;
        load::load(threads, length, |_| {
            let output = vec![0; ready.data.len() + LONGEST];
            Ok(Job { functions, ready, output, target })
        })
    }
}

/// A thread's share.
struct Job<'a> {
    functions: &'a Functions,
    ready: &'a Ready,
    output: Vec<u8>,
    target: Target,
}

impl Thread for Job<'_> {
    fn operation(&mut self) -> Result<(), Why> {
        let Job { functions, ready, output, target } = self;
        let Ready { mechanism, template: [first, second], key, by, data, signature, .. } = ready;
        match ready.call {
            Call::Crypt(direction) => functions.crypt(direction, key, mechanism, data, output, *target).map(|_| ()),
            Call::Verify => functions.verify(key, mechanism, data, signature, *target),
            Call::Wrap => functions.wrap(key, by, mechanism, output, *target).map(|_| ()),
            Call::Unwrap => functions.unwrap(key, by, (mechanism, first), output, *target).map(|_| ()),
            Call::GeneratePair => functions.generate_pair(mechanism, first, second, *target).map(|_| ()),
        }
    }

    fn end(self) -> Result<(), Why> {
        Ok(())
    }
}
