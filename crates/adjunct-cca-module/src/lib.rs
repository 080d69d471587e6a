//! What a CCA coprocessor does with a request: on Z the firmware of the card.
//!
//! A request and its reply are messages of [`adjunct_cca_wire`]. There are no sockets, processes and files here: who calls ([`Module::call`]) brings a request with
//! the caller, and [`masters`] has the master keys by who keeps them.
//!
//! * [`token`]: key tokens. [`vector`], [`wrap`], [`aeskw`]: what binds a key to its use, and how keys are wrapped. [`pattern`]: verification patterns. [`des`]: DES
//!   with keys of one to three parts.
//! * [`masters`]: master keys and access control points. [`context`]: what every verb has: opened keys above all.
//! * [`verbs`]: the verbs, a file for each family, and the one table of them. [`rules`]: rule arrays.
#![forbid(unsafe_code)]

pub mod aeskw;
pub mod context;
pub mod des;
pub mod error;
pub mod masters;
pub mod pattern;
pub mod rules;
pub mod token;
pub mod vector;
pub mod verbs;
pub mod wrap;

use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::{self, Request, Results};
use adjunct_cca_wire::verb::Verb;
use adjunct_coprocessor::roles::Caller;
use context::Context;
use error::{Fault, Result};
use masters::Masters;
use std::panic::{AssertUnwindSafe, catch_unwind};
use zeroize::Zeroizing;

/// The module. All of it may be called by many threads at a time.
#[derive(Debug)]
pub struct Module {
    masters: Masters,
}

impl Module {
    /// A module over the master keys of domains.
    #[must_use]
    pub fn new(masters: Masters) -> Module {
        Module { masters }
    }

    /// The master keys.
    #[must_use]
    pub fn masters(&self) -> &Masters {
        &self.masters
    }

    /// Does a request of any bytes. The reply to what is no request is one of its verb with 16/339, or of CSUACFV where no verb is in it. 16/336 is a defect of the
    /// module.
    pub fn call(&self, caller: &Caller, domain: u8, request: &[u8]) -> Zeroizing<Vec<u8>> {
        let Some(parsed) = Request::parse(request) else {
            let verb = message::verb(request).unwrap_or(Verb::CSUACFV);
            return message::reply(verb, Code::MESSAGE, &Results::default());
        };
        // The card has other users: what fails so for one is an answer to that one.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(caller, domain, &parsed)));
        let (code, results) =
            answer.unwrap_or(Err(Fault(Code::INTERNAL))).unwrap_or_else(|Fault(code)| (code, Results::default()));
        message::reply(parsed.verb, code, &results)
    }

    fn answer(&self, caller: &Caller, number: u8, request: &Request<'_>) -> Result<(Code, Results)> {
        let domain = self.masters.domain(number)?;
        let results = Results::default();
        let mut context = Context { module: self, caller, number, domain, request, results, renewed: false };
        let code = verbs::run(&mut context)?;
        let code = if code == Code::OK && context.renewed { Code::OLD_MASTER_KEY } else { code };
        Ok((code, context.results))
    }
}
