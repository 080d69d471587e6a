//! What an EP11 coprocessor does with a request: on Z the firmware of the card, its "module".
//!
//! A request and its reply are messages of [`adjunct_ep11_wire`]. There are no sockets, processes and files here: who calls ([`Module::call`]) brings a
//! request with the caller, and [`keys::Keys`] has the wrapping keys and control points of the domains.
//!
//! * [`blob`], [`spki`], [`key`]: keys that have left the module, and how they come back. [`keys`]: what they are wrapped by. [`states`]: operations
//!   of several calls.
//! * [`control`], [`strength`]: what a domain allows. [`attributes`]: what a key is for. [`sessions`]: who is logged in.
//! * [`admin`]: commands of administrators, and the state that they rule. `queries`: what the module is and can do.
//! * [`mechanisms`]: the one table of mechanisms. A file for each family of functions: `cipher`, `sign`, `digest`, `generate`, `wrap`, `unwrap`, `derive`, ...
#![forbid(unsafe_code)]

pub mod admin;
pub mod attributes;
pub mod blob;
mod bound;
mod category;
mod cipher;
pub mod context;
pub mod control;
mod der;
mod derive;
mod digest;
mod empty;
pub mod error;
mod foreign;
mod generate;
mod hierarchy;
pub mod key;
pub mod keys;
pub mod mechanisms;
mod object;
mod own;
mod point;
mod queries;
mod random;
mod reencrypt;
mod self_test;
pub mod sessions;
mod sign;
pub mod spki;
pub mod states;
pub mod strength;
mod tree;
mod unwrap;
mod wrap;
mod x931;

pub use category::{Category, category};
pub use context::Caller;

use adjunct_coprocessor::cache::{Cache, Report};
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::{self, Request};
use context::{Context, Results};
use error::{Result, Rv};
use key::Key;
use keys::Keys;
use sessions::Sessions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The version of the interface: that of a CEX8P's module.
pub const API: u16 = 0x0906;

/// Bytes that an opened key may take on average, where as many are kept as may be.
const BYTES: usize = 4096;

/// Limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most opened keys that are kept.
    pub cached_keys: usize,
    /// The most sessions of a domain.
    pub sessions: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { cached_keys: 4096, sessions: 1024 }
    }
}

/// The module. All of it may be called by many threads at a time.
pub struct Module {
    keys: Arc<dyn Keys>,
    settings: Settings,
    /// Opened keys. Whether their wrapping keys and sessions are still there is checked at each use.
    cache: Cache<Key>,
    /// Who is logged in.
    pub sessions: Sessions,
}

adjunct::opaque_debug!(Module);

impl Module {
    /// A module over the wrapping keys of domains.
    pub fn new(keys: Arc<dyn Keys>, settings: Settings) -> Module {
        let cache = Cache::new(settings.cached_keys, settings.cached_keys.saturating_mul(BYTES));
        let sessions = Sessions::new(settings.sessions);
        Module { keys, settings, cache, sessions }
    }

    /// The limits.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many opened keys are kept, and how often that was of use.
    pub fn cached(&self) -> Report {
        self.cache.report()
    }

    /// Forgets all opened keys: for a domain whose keys are cleared.
    pub fn forget(&self) {
        self.cache.wipe();
        self.keys.forget();
    }

    /// Known answers of AES, SHA-2, HMAC, RSA, ECDSA, the random generator.
    ///
    /// # Errors
    /// Which of them failed.
    pub fn self_test(&self) -> std::result::Result<(), String> {
        self_test::run()
    }

    /// Does a request of any bytes. The reply is one of [`message`]; where the request is none, it names the function [`Function::GetInfo`] and
    /// `CKR_IBM_TRANSPORT_ERROR`. `CKR_IBM_INTERNAL_ERROR` is a defect of the module.
    pub fn call(&self, caller: &Caller, domain: u8, request: &[u8]) -> Zeroizing<Vec<u8>> {
        let Some(request) = Request::parse(request) else {
            return message::reply(API, Function::GetInfo, domain.into(), rv::IBM_TRANSPORT_ERROR, &[]);
        };
        let (api, function) = (request.api, request.function);
        // The card has other users: what fails so for one is an answer to that one.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(caller, domain, &request)));
        let answer = answer.unwrap_or(Err(Rv(rv::IBM_INTERNAL_ERROR)));
        match answer {
            Ok(results) => {
                let results: Vec<&[u8]> = results.iter().map(|result| &result[..]).collect();
                message::reply(api, function, domain.into(), rv::OK, &results)
            }
            Err(Rv(error)) => message::reply(api, function, domain.into(), error, &[]),
        }
    }

    fn answer(&self, caller: &Caller, number: u8, request: &Request<'_>) -> Result<Results> {
        let domain = self.keys.domain(number).ok_or(Rv(rv::IBM_TARGET_INVALID))?;
        let (api, function) = (request.api, request.function);
        let context = Context { module: self, caller, number, domain, api, function, arguments: request.arguments() };
        let results = dispatch(&context)?;
        debug_assert_eq!(results.len(), function.results().len(), "{function:?}");
        Ok(results)
    }
}

fn dispatch(context: &Context<'_>) -> Result<Results> {
    match context.function {
        Function::Login => sessions::login(context),
        Function::Logout => sessions::logout(context),
        Function::GetMechanismList => mechanisms::list(context),
        Function::GetMechanismInfo => mechanisms::information(context),
        Function::GenerateRandom => random::generate(context),
        Function::SeedRandom => random::seed(context),
        Function::DigestSingle => digest::single(context),
        Function::EncryptSingle => cipher::single(context, true),
        Function::DecryptSingle => cipher::single(context, false),
        Function::ReencryptSingle => reencrypt::single(context),
        Function::SignSingle => sign::single(context),
        Function::VerifySingle => sign::verify_single(context),
        Function::GenerateKey => generate::secret(context),
        Function::GenerateKeyPair => generate::pair(context),
        Function::WrapKey => wrap::wrap(context),
        Function::UnwrapKey => unwrap::unwrap(context),
        Function::DeriveKey => derive::derive(context),
        Function::GetAttributeValue => object::get(context),
        Function::SetAttributeValue => object::set(context),
        Function::GetInfo => queries::information(context),
        Function::Admin => admin::admin(context),
        Function::LoginExtended => admin::login::login(context),
        Function::LogoutExtended => admin::login::logout(context),
        _ => states::call(context),
    }
}
