//! PKCS #11 modules under load: the operations that are measured, and the threads that do them.
//!
//! [`row`] names what is measured; [`token`] makes a token ready; [`Subject`] does it, in a process that has loaded the module. [`provider`] measures
//! adjunct's provider through EVP.

pub mod provider;
pub mod row;
pub mod token;

use crate::load::{self, Thread};
pub use crate::load::{Done, Why};
use crate::{Error, clock};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Mechanism, Module, Rv, Session, Template};
use row::{By, Pair, Row, What};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use token::Token;

impl Why {
    fn of(call: &str, error: Rv) -> Why {
        let text = format!("{call}: {:#x}", error.0);
        match error.0 {
            CKR_MECHANISM_INVALID
            | CKR_FUNCTION_NOT_SUPPORTED
            | CKR_MECHANISM_PARAM_INVALID
            | CKR_CURVE_NOT_SUPPORTED
            | CKR_TOKEN_WRITE_PROTECTED => Why::Missing(text),
            _ => Why::Failed(text),
        }
    }
}

/// The longest that the objects of a row may take to be made.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Data of messages, and what results are written to.
const LONGEST: usize = 16384;

/// A module with a token that is ready, and the keys that rows have asked for. Its process is for nothing else.
#[derive(Debug)]
pub struct Subject {
    path: PathBuf,
    module: &'static Module,
    token: Token,
    /// The session that logged in; session objects belong to it.
    session: Session<'static>,
    keys: BTreeMap<String, CK_OBJECT_HANDLE>,
    /// Objects that were made to be looked for: this many of the session, and this many of the token.
    objects: usize,
    stored: usize,
}

/// The module, token, key and objects that the threads of a row work with.
#[derive(Debug, Clone, Copy)]
struct Work<'a> {
    row: &'a Row,
    module: &'a Module,
    token: &'a Token,
    key: Option<CK_OBJECT_HANDLE>,
    objects: usize,
}

impl Subject {
    /// Loads a module, and makes its token ready.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub fn open(wanted: &adjunct_cli::bench::pkcs11::Wanted) -> Result<Subject, Error> {
        let mut module = Module::load(&wanted.path).map_err(|e| Error::Module(wanted.path.clone(), e.to_string()))?;
        module.initialize_for_threads().map_err(|e| token::failed("C_Initialize", e))?;
        let token = Token::ready(&module, wanted)?;
        // To the end of the process: threads and sessions have it.
        let module: &'static Module = Box::leak(Box::new(module));
        let session = module.open_session(token.slot).map_err(|e| token::failed("C_OpenSession", e))?;
        token.login(&session).map_err(|e| token::failed("C_Login", e))?;
        Ok(Subject { path: wanted.path.clone(), module, token, session, keys: BTreeMap::new(), objects: 0, stored: 0 })
    }

    /// The module's own description and version.
    pub fn name(&self) -> String {
        let Ok(info) = self.module.info() else { return "?".to_owned() };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches([' ', '\0']).to_owned();
        let CK_VERSION { major, minor } = info.libraryVersion;
        let (manufacturer, description) = (text(&info.manufacturerID), text(&info.libraryDescription));
        // Some descriptions begin with it.
        let manufacturer = if description.starts_with(&manufacturer) { String::new() } else { manufacturer + " " };
        format!("{manufacturer}{description} {major}.{minor}")
    }

    /// The module's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The slot of the token that is measured.
    pub fn slot(&self) -> CK_SLOT_ID {
        self.token.slot
    }

    /// Makes what a row needs.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn prepare(&mut self, row: &Row) -> Result<(), Why> {
        let stays = row.what == What::Start;
        let made = if stays { &mut self.stored } else { &mut self.objects };
        let start = Instant::now();
        while *made < row.beside {
            self.session.create(&named(*made, stays)).map_err(|e| Why::of("C_CreateObject", e))?;
            *made += 1;
            if start.elapsed() > PATIENCE {
                return Err(Why::Failed(format!("{made} objects took {} s", PATIENCE.as_secs())));
            }
        }
        if !row.own_key
            && let Some(name) = row.what.key()
            && !self.keys.contains_key(&name)
        {
            let key = make_key(&self.session, row.what, false)?;
            self.keys.insert(name, key);
        }
        Ok(())
    }

    /// Loads the module with a row's threads for so long.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn run(&mut self, row: &Row, length: Duration) -> Result<Done, Why> {
        if row.what == What::Initialize {
            return initialize(&self.path, length);
        }
        let key = row.what.key().and_then(|name| self.keys.get(&name).copied());
        let work = Work { row, module: self.module, token: &self.token, key, objects: row.beside };
        load::load(row.threads.into(), length, |number| State::new(work, number))
    }
}

/// C_Finalize ends what the process has of the module: nothing but this can be measured in it any more.
fn initialize(path: &Path, length: Duration) -> Result<Done, Why> {
    let mut module = Module::load(path).map_err(|e| Why::Failed(e.to_string()))?;
    // It may be initialized, as it was loaded before.
    let _ = module.finalize();
    let (start, cpu, mut done) = (Instant::now(), clock::of_thread(), Done::default());
    while start.elapsed() < length {
        module.initialize_for_threads().map_err(|e| Why::of("C_Initialize", e))?;
        module.finalize().map_err(|e| Why::of("C_Finalize", e))?;
        done.operations += 1;
    }
    (done.wall, done.cpu) = (start.elapsed(), clock::of_thread() - cpu);
    Ok(done)
}

/// Measures [`What::Start`] in a process that has not used the module: loads and initializes it, opens a session and looks for one of `objects`
/// objects.
///
/// # Errors
/// [`Why`] it cannot be measured.
pub fn start(path: &Path, slot: CK_SLOT_ID, objects: usize) -> Result<Done, Why> {
    let (start, cpu) = (Instant::now(), clock::of_thread());
    let mut module = Module::load(path).map_err(|e| Why::Failed(e.to_string()))?;
    module.initialize_for_threads().map_err(|e| Why::of("C_Initialize", e))?;
    let session = module.open_session(slot).map_err(|e| Why::of("C_OpenSession", e))?;
    find(&session, &Template::new().with(CKA_LABEL, label(objects / 2).as_bytes()), 2, 1)?;
    Ok(Done { operations: 1, wall: start.elapsed(), cpu: clock::of_thread() - cpu })
}

/// Looks for at most `most` objects, of which `there` exist.
fn find(session: &Session<'_>, wanted: &Template, most: usize, there: usize) -> Result<(), Why> {
    let found = session.find_first(wanted, most).map_err(|e| Why::of("C_FindObjects", e))?;
    if found.len() == there { Ok(()) } else { Err(Why::Failed(format!("{} objects found", found.len()))) }
}

/// The label of object `number` of those that are searched for.
fn label(number: usize) -> String {
    format!("object {number}")
}

/// Template of object `number` among those that are looked for: a key of the session, or data in the token that is seen without a login.
fn named(number: usize, stays: bool) -> Template {
    let label = label(number);
    let template = if stays {
        Template::new().with_number(CKA_CLASS, CKO_DATA).with_flag(CKA_TOKEN, true).with(CKA_VALUE, b"data")
    } else {
        key_of(CKK_GENERIC_SECRET, [CKA_SIGN, CKA_VERIFY]).with(CKA_ID, &number.to_be_bytes())
    };
    template.with_flag(CKA_PRIVATE, false).with(CKA_LABEL, label.as_bytes())
}

fn secret(kind: CK_KEY_TYPE) -> Template {
    Template::new()
        .with_number(CKA_CLASS, CKO_SECRET_KEY)
        .with_number(CKA_KEY_TYPE, kind)
        .with_flag(CKA_TOKEN, false)
        .with_flag(CKA_SENSITIVE, false)
        .with_flag(CKA_EXTRACTABLE, true)
}

/// A session object that is a key with a value.
fn key_of(kind: CK_KEY_TYPE, usage: [CK_ATTRIBUTE_TYPE; 2]) -> Template {
    usage.into_iter().fold(secret(kind), |template, usage| template.with_flag(usage, true)).with(CKA_VALUE, &[7; 32])
}

/// The DER of a curve's name.
fn curve(pair: Pair) -> Option<&'static [u8]> {
    match pair {
        Pair::Rsa(_) => None,
        Pair::P256 => Some(&[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]),
        Pair::P384 => Some(&[6, 5, 0x2b, 0x81, 4, 0, 0x22]),
        Pair::Ed25519 => Some(b"\x13\x0cedwards25519"),
    }
}

fn generate_pair(session: &Session<'_>, pair: Pair, stays: bool) -> Result<CK_OBJECT_HANDLE, Why> {
    let public = Template::new().with_flag(CKA_TOKEN, stays).with_flag(CKA_VERIFY, true);
    let private = Template::new().with_flag(CKA_TOKEN, stays).with_flag(CKA_PRIVATE, true).with_flag(CKA_SIGN, true);
    let (mechanism, public) = match pair {
        Pair::Rsa(bits) => (
            CKM_RSA_PKCS_KEY_PAIR_GEN,
            public.with_number(CKA_MODULUS_BITS, bits.into()).with(CKA_PUBLIC_EXPONENT, &[1, 0, 1]),
        ),
        Pair::Ed25519 => (CKM_EC_EDWARDS_KEY_PAIR_GEN, public),
        _ => (CKM_EC_KEY_PAIR_GEN, public),
    };
    let public = curve(pair).into_iter().fold(public, |public, curve| public.with(CKA_EC_PARAMS, curve));
    let made = session.generate_pair(Mechanism::Plain(mechanism), &public, &private);
    made.map(|(_, private)| private).map_err(|e| Why::of("C_GenerateKeyPair", e))
}

/// A key for `what`: one that all share stays in the token where it signs, a thread's own goes with its session.
fn make_key(session: &Session<'_>, what: What, own: bool) -> Result<CK_OBJECT_HANDLE, Why> {
    let template = match what {
        What::Sign(pair) => return generate_pair(session, pair, !own),
        What::Gcm(_) | What::Cbc(_) | What::Ctr(_) => key_of(CKK_AES, [CKA_ENCRYPT, CKA_DECRYPT]),
        What::Cmac(_) => key_of(CKK_AES, [CKA_SIGN, CKA_VERIFY]),
        _ => key_of(CKK_GENERIC_SECRET, [CKA_SIGN, CKA_VERIFY]),
    };
    session.create(&template).map_err(|e| Why::of("C_CreateObject", e))
}

/// The state of a thread: its session, key and buffers.
struct State<'a> {
    work: Work<'a>,
    session: Session<'a>,
    key: Option<CK_OBJECT_HANDLE>,
    buffers: Buffers,
}

struct Buffers {
    number: usize,
    out: Vec<u8>,
    data: Vec<u8>,
}

impl<'a> State<'a> {
    fn new(work: Work<'a>, number: usize) -> Result<State<'a>, Why> {
        let session = work.module.open_session(work.token.slot).map_err(|e| Why::of("C_OpenSession", e))?;
        let key = if work.row.own_key { Some(make_key(&session, work.row.what, true)?) } else { work.key };
        let buffers = Buffers { number, out: vec![0; LONGEST + 64], data: vec![0x5a; LONGEST] };
        Ok(State { work, session, key, buffers })
    }
}

impl Thread for State<'_> {
    fn operation(&mut self) -> Result<(), Why> {
        let work = self.work;
        if work.row.new_session {
            let own = work.module.open_session(work.token.slot).map_err(|e| Why::of("C_OpenSession", e))?;
            self.buffers.in_session(work, &own, self.key)?;
            return own.close().map_err(|e| Why::of("C_CloseSession", e));
        }
        self.buffers.in_session(work, &self.session, self.key)
    }

    fn end(self) -> Result<(), Why> {
        self.session.close().map_err(|e| Why::of("C_CloseSession", e))
    }
}

impl Buffers {
    fn in_session(&mut self, work: Work<'_>, session: &Session<'_>, key: Option<CK_OBJECT_HANDLE>) -> Result<(), Why> {
        let (out, key) = (&mut self.out[..], key.unwrap_or(0));
        match work.row.what {
            What::Sign(pair) => {
                let (mechanism, length) = match pair {
                    Pair::Rsa(_) => (CKM_SHA256_RSA_PKCS, 32),
                    Pair::P256 => (CKM_ECDSA, 32),
                    Pair::P384 => (CKM_ECDSA, 48),
                    Pair::Ed25519 => (CKM_EDDSA, 32),
                };
                let signed = session.sign(Mechanism::Plain(mechanism), key, &self.data[..length], out);
                signed.map(drop).map_err(|e| Why::of("C_Sign", e))
            }
            What::Gcm(size) => {
                self.number += 1;
                let mut iv = [0; 12];
                iv[4..].copy_from_slice(&self.number.to_be_bytes());
                let done = session.encrypt(Mechanism::Gcm { iv: &iv, aad: &[] }, key, &self.data[..size], out);
                done.map(drop).map_err(|e| Why::of("C_Encrypt", e))
            }
            What::Cbc(size) => {
                let done = session.encrypt(Mechanism::Iv(CKM_AES_CBC, &[7; 16]), key, &self.data[..size], out);
                done.map(drop).map_err(|e| Why::of("C_Encrypt", e))
            }
            What::Ctr(size) => {
                let done = session.encrypt(Mechanism::Ctr { block: [7; 16], bits: 128 }, key, &self.data[..size], out);
                done.map(drop).map_err(|e| Why::of("C_Encrypt", e))
            }
            What::Cmac(size) => {
                let made = session.sign(Mechanism::Plain(CKM_AES_CMAC), key, &self.data[..size], out);
                made.map(drop).map_err(|e| Why::of("C_Sign", e))
            }
            What::Hmac(size) => {
                let made = session.sign(Mechanism::Plain(CKM_SHA256_HMAC), key, &self.data[..size], out);
                made.map(drop).map_err(|e| Why::of("C_Sign", e))
            }
            What::Sha256(size) => {
                let made = session.digest(Mechanism::Plain(CKM_SHA256), &self.data[..size], out);
                made.map(drop).map_err(|e| Why::of("C_Digest", e))
            }
            What::Random => session.random(&mut out[..32]).map_err(|e| Why::of("C_GenerateRandom", e)),
            What::Generate(pair) => {
                let key = generate_pair(session, pair, false)?;
                session.destroy(key).map_err(|e| Why::of("C_DestroyObject", e))
            }
            What::GenerateAes => {
                let template = secret(CKK_AES).with_number(CKA_VALUE_LEN, 32);
                let key = session.generate(Mechanism::Plain(CKM_AES_KEY_GEN), &template);
                let key = key.map_err(|e| Why::of("C_GenerateKey", e))?;
                session.destroy(key).map_err(|e| Why::of("C_DestroyObject", e))
            }
            What::Create => {
                let template = key_of(CKK_AES, [CKA_ENCRYPT, CKA_DECRYPT]);
                let key = session.create(&template).map_err(|e| Why::of("C_CreateObject", e))?;
                session.destroy(key).map_err(|e| Why::of("C_DestroyObject", e))
            }
            What::CreateToken => {
                let template = Template::new()
                    .with_number(CKA_CLASS, CKO_DATA)
                    .with_flag(CKA_TOKEN, true)
                    .with_flag(CKA_PRIVATE, false)
                    .with(CKA_LABEL, b"made")
                    .with(CKA_VALUE, b"data");
                let object = session.create(&template).map_err(|e| Why::of("C_CreateObject", e))?;
                session.destroy(object).map_err(|e| Why::of("C_DestroyObject", e))
            }
            What::Find(by) => {
                self.number = (self.number + 7919) % work.objects.max(1);
                let (wanted, most) = match by {
                    By::Label => (Template::new().with(CKA_LABEL, label(self.number).as_bytes()), 2),
                    By::Id => (Template::new().with(CKA_ID, &self.number.to_be_bytes()), 2),
                    By::Class => (Template::new().with_number(CKA_CLASS, CKO_SECRET_KEY), 1),
                };
                find(session, &wanted, most, 1)
            }
            What::Login => {
                session.logout().map_err(|e| Why::of("C_Logout", e))?;
                work.token.login(session).map_err(|e| Why::of("C_Login", e))
            }
            What::Session => {
                let own = work.module.open_session(work.token.slot).map_err(|e| Why::of("C_OpenSession", e))?;
                own.close().map_err(|e| Why::of("C_CloseSession", e))
            }
            What::Initialize | What::Start => Ok(()),
        }
    }
}
