//! PKCS #11 modules under load: what is done with one, and by how many threads.
//!
//! [`row`] names what is measured; [`token`] makes a token ready; [`Subject`] does it, in a process that has loaded the module.

pub mod row;
pub mod token;

use crate::Error;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Mechanism, Module, Rv, Session, Template};
use row::{Pair, Row, What};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};
use token::Token;

/// Why a row is not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The module does not have it.
    Missing(String),
    /// A call failed.
    Failed(String),
}

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

/// What a slice came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Operations of all threads.
    pub operations: u64,
    /// Wall time.
    pub wall: Duration,
    /// CPU time of the threads.
    pub cpu: Duration,
}

/// The longest that the objects of a row may take to be made.
const PATIENCE: Duration = Duration::from_secs(30);
/// Data of messages, and what results are written to.
const LONGEST: usize = 16384;

/// A module with a token that is ready, and the keys that rows have asked for. Its process is for nothing else.
#[derive(Debug)]
pub struct Subject {
    path: PathBuf,
    module: &'static Module,
    token: Token,
    /// Who is logged in, and whose objects the session's are.
    session: Session<'static>,
    keys: BTreeMap<String, CK_OBJECT_HANDLE>,
    objects: usize,
}

/// What a row's threads work with.
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
    pub fn open(wanted: &token::Wanted) -> Result<Subject, Error> {
        let mut module = Module::load(&wanted.path).map_err(|e| Error::Module(wanted.path.clone(), e.to_string()))?;
        module.initialize_for_threads().map_err(|e| token::failed("C_Initialize", e))?;
        let token = Token::ready(&module, wanted)?;
        // To the end of the process: threads and sessions have it.
        let module: &'static Module = Box::leak(Box::new(module));
        let session = module.open_session(token.slot).map_err(|e| token::failed("C_OpenSession", e))?;
        token.login(&session).map_err(|e| token::failed("C_Login", e))?;
        Ok(Subject { path: wanted.path.clone(), module, token, session, keys: BTreeMap::new(), objects: 0 })
    }

    /// What the module calls itself.
    pub fn name(&self) -> String {
        let Ok(info) = self.module.info() else { return "?".to_owned() };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches([' ', '\0']).to_owned();
        let CK_VERSION { major, minor } = info.libraryVersion;
        format!("{} {} {major}.{minor}", text(&info.manufacturerID), text(&info.libraryDescription))
    }

    /// Makes what a row needs.
    ///
    /// # Errors
    /// [`Why`] it cannot be measured.
    pub fn prepare(&mut self, row: &Row) -> Result<(), Why> {
        if row.beside > self.objects {
            let start = Instant::now();
            for number in self.objects..row.beside {
                let object = named(number);
                self.session.create(&object).map_err(|e| Why::of("C_CreateObject", e))?;
                self.objects = number + 1;
                if start.elapsed() > PATIENCE {
                    let text = format!("{number} objects took {} s", PATIENCE.as_secs());
                    return Err(Why::Failed(text));
                }
            }
        }
        if !row.own_key
            && let Some(name) = row.what.key()
            && !self.keys.contains_key(&name)
        {
            let key = make_key(&self.session, row.what)?;
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
        load(work, length)
    }
}

/// C_Finalize ends what the process has of the module: nothing but this can be measured in it any more.
fn initialize(path: &Path, length: Duration) -> Result<Done, Why> {
    let mut module = Module::load(path).map_err(|e| Why::Failed(e.to_string()))?;
    // It may be initialized, as it was loaded before.
    let _ = module.finalize();
    let (start, cpu, mut done) = (Instant::now(), thread_time(), Done::default());
    while start.elapsed() < length {
        module.initialize_for_threads().map_err(|e| Why::of("C_Initialize", e))?;
        module.finalize().map_err(|e| Why::of("C_Finalize", e))?;
        done.operations += 1;
    }
    (done.wall, done.cpu) = (start.elapsed(), thread_time() - cpu);
    Ok(done)
}

fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Object `number` of those that are looked for.
fn named(number: usize) -> Template {
    Template::new()
        .with_number(CKA_CLASS, CKO_DATA)
        .with_flag(CKA_TOKEN, false)
        .with_flag(CKA_PRIVATE, false)
        .with(CKA_LABEL, format!("object {number}").as_bytes())
        .with(CKA_VALUE, b"data")
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

fn make_key(session: &Session<'_>, what: What) -> Result<CK_OBJECT_HANDLE, Why> {
    let template = match what {
        What::Sign(pair) => return generate_pair(session, pair, true),
        What::Gcm(_) => key_of(CKK_AES, [CKA_ENCRYPT, CKA_DECRYPT]),
        _ => key_of(CKK_GENERIC_SECRET, [CKA_SIGN, CKA_VERIFY]),
    };
    session.create(&template).map_err(|e| Why::of("C_CreateObject", e))
}

/// Runs `work` in its threads for so long, each with a session of its own.
fn load(work: Work<'_>, length: Duration) -> Result<Done, Why> {
    let threads = usize::from(work.row.threads);
    let (barrier, stop, failed) = (&Barrier::new(threads + 1), &AtomicBool::new(false), &Mutex::new(None::<Why>));
    let (operations, cpu) = (&AtomicU64::new(0), &AtomicU64::new(0));
    // Held until all threads are there; then whether they are.
    let begin = &Mutex::new(false);
    let wall = std::thread::scope(|scope| {
        let mut start = begin.lock().unwrap_or_else(PoisonError::into_inner);
        for number in 0..threads {
            let body = move || {
                if !*begin.lock().unwrap_or_else(PoisonError::into_inner) {
                    return;
                }
                if let Err(why) = one(work, number, barrier, stop, operations, cpu) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                }
            };
            let made = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, body);
            made.map_err(|e| Why::Failed(format!("no {threads} threads: {}", crate::cause(&e))))?;
        }
        *start = true;
        drop(start);
        // All have their sessions and keys.
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(length);
        stop.store(true, Ordering::Relaxed);
        barrier.wait();
        Ok(start.elapsed())
    })?;
    if let Some(why) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(why);
    }
    let cpu = Duration::from_nanos(cpu.load(Ordering::Relaxed));
    Ok(Done { operations: operations.load(Ordering::Relaxed), wall, cpu })
}

/// One thread's share. It meets the others twice, whatever happens.
fn one(
    work: Work<'_>,
    number: usize,
    barrier: &Barrier,
    stop: &AtomicBool,
    operations: &AtomicU64,
    cpu: &AtomicU64,
) -> Result<(), Why> {
    let ready = (|| {
        let session = work.module.open_session(work.token.slot).map_err(|e| Why::of("C_OpenSession", e))?;
        let key = if work.row.own_key { Some(make_key(&session, work.row.what)?) } else { work.key };
        let mut state = State { number, out: vec![0; LONGEST + 64], data: vec![0x5a; LONGEST] };
        // Once before it counts.
        state.operation(work, &session, key)?;
        Ok((session, key, state))
    })();
    barrier.wait();
    let result = ready.and_then(|(session, key, mut state)| {
        let (start, mut count) = (thread_time(), 0);
        let mut result = Ok(());
        while result.is_ok() && !stop.load(Ordering::Relaxed) {
            result = state.operation(work, &session, key);
            count += 1;
        }
        cpu.fetch_add((thread_time() - start).as_nanos() as u64, Ordering::Relaxed);
        operations.fetch_add(count, Ordering::Relaxed);
        result.map(|()| session)
    });
    barrier.wait();
    if let Ok(session) = result {
        return session.close().map_err(|e| Why::of("C_CloseSession", e));
    }
    result.map(drop)
}

/// What a thread has besides.
struct State {
    number: usize,
    out: Vec<u8>,
    data: Vec<u8>,
}

impl State {
    fn operation(&mut self, work: Work<'_>, session: &Session<'_>, key: Option<CK_OBJECT_HANDLE>) -> Result<(), Why> {
        if work.row.new_session {
            let own = work.module.open_session(work.token.slot).map_err(|e| Why::of("C_OpenSession", e))?;
            self.in_session(work, &own, key)?;
            return own.close().map_err(|e| Why::of("C_CloseSession", e));
        }
        self.in_session(work, session, key)
    }

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
            What::Find => {
                self.number = (self.number + 7919) % work.objects.max(1);
                let label = format!("object {}", self.number);
                let template = Template::new().with(CKA_LABEL, label.as_bytes());
                let found = session.find_first(&template, 2).map_err(|e| Why::of("C_FindObjects", e))?;
                if found.len() == 1 { Ok(()) } else { Err(Why::Failed(format!("{} objects found", found.len()))) }
            }
            What::Login => {
                session.logout().map_err(|e| Why::of("C_Logout", e))?;
                work.token.login(session).map_err(|e| Why::of("C_Login", e))
            }
            What::Session => {
                let own = work.module.open_session(work.token.slot).map_err(|e| Why::of("C_OpenSession", e))?;
                own.close().map_err(|e| Why::of("C_CloseSession", e))
            }
            What::Initialize => Ok(()),
        }
    }
}
