//! The domains that calls go to.

use crate::failure::Failure;
use adjunct_ep11_client::library::{Answer, Library, Said, Target};
use adjunct_ep11_client::targets::{Member, Members};
use adjunct_ep11_client::transport::Sockets;
use adjunct_ep11_wire::admin::{Block, Head, Reply, command};
use adjunct_ep11_wire::blob;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::query::domain_flag;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the sockets of cards are looked for, where the configuration names no domain.
const LOOKED_FOR: Duration = Duration::from_secs(1);
/// How long a domain may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// The domains, and the way to them.
pub struct Engine {
    library: Library<Sockets>,
    /// What the configuration names.
    named: Vec<Member>,
    found: Mutex<Found>,
}

/// What was found where the configuration names nothing.
#[derive(Default)]
struct Found {
    at: Option<Instant>,
    /// All domains that have a socket.
    all: Vec<Member>,
    /// Those of them that calls go to.
    members: Vec<Member>,
}

impl Engine {
    /// Asks those domains; for none all that this process may use and that have one wrapping key.
    pub fn new(named: Vec<Member>) -> Engine {
        Engine { library: Library::new(Sockets), named, found: Mutex::default() }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The domains that calls go to now.
    pub fn members(&self) -> Vec<Member> {
        if !self.named.is_empty() {
            return self.named.clone();
        }
        let mut found = self.found();
        if found.at.is_none_or(|at| at.elapsed() > LOOKED_FOR) {
            let all = self.library.everybody();
            if found.at.is_none() || found.all != all {
                found.members = self.of_one_key(&all);
                found.all = all;
            }
            // Without a domain that serves, the next call looks again.
            found.at = (!found.members.is_empty()).then(Instant::now);
        }
        found.members.clone()
    }

    /// The domains that have the wrapping key of the first that has one.
    fn of_one_key(&self, all: &[Member]) -> Vec<Member> {
        let mut key = None;
        let mut members = Vec::new();
        for member in all {
            let Some(domain) = self.library.domain(*member, PATIENCE) else { continue };
            if domain.flags & domain_flag::CURRENT_WK != 0 && *key.get_or_insert(domain.wk) == domain.wk {
                members.push(*member);
            }
        }
        members
    }

    /// Whether calls are done: a domain of those that calls go to answers, and has a wrapping key.
    pub fn serves(&self) -> bool {
        let has_key = |member: &Member| {
            let domain = self.library.domain(*member, PATIENCE);
            domain.is_some_and(|domain| domain.flags & domain_flag::CURRENT_WK != 0)
        };
        self.members().iter().any(has_key)
    }

    /// The identifiers of the domains' wrapping keys.
    pub fn wkids(&self) -> Vec<[u8; blob::WKID_LENGTH]> {
        let domains = self.members().into_iter().filter_map(|member| self.library.domain(member, PATIENCE));
        domains.filter_map(|domain| domain.wk.first_chunk().copied()).collect()
    }

    /// Has a domain do a function.
    ///
    /// # Errors
    /// What the card says; CKR_IBM_TARGET_INVALID where none serves.
    pub fn run(&self, function: Function, arguments: &[&[u8]]) -> Result<Answer, Failure> {
        self.ask(self.members(), function, arguments)
    }

    fn ask(&self, members: Vec<Member>, function: Function, arguments: &[&[u8]]) -> Result<Answer, Failure> {
        let target = Target { flags: 0, members: Members::List(members) };
        match self.library.run(&target, function, arguments) {
            Ok(Said::Done(answer)) => Ok(answer),
            Ok(_) => Err(Failure::new(rv::GENERAL_ERROR, "")),
            Err(error) => {
                if matches!(error.0, rv::IBM_WKID_MISMATCH | rv::IBM_WK_NOT_INITIALIZED | rv::IBM_TARGET_INVALID) {
                    // Keys have changed, or cards: which domains belong together is looked at again.
                    self.found().at = None;
                }
                Err(error.into())
            }
        }
    }

    /// A blob under the committed next wrapping key. A public key without a MAC is under none, and stays.
    ///
    /// # Errors
    /// What the card says; CKR_IBM_WK_NOT_INITIALIZED where no next wrapping key is committed.
    pub fn rewrap(&self, blob: &[u8]) -> Result<Vec<u8>, Failure> {
        const NOT_COMMITTED: u32 = 64;
        if blob.first() == Some(&0x30) && adjunct_ep11_wire::spki::Maced::parse(blob).is_none() {
            return Ok(blob.to_vec());
        }
        let mut failure = Failure::new(rv::IBM_TARGET_INVALID, "");
        for member in self.members() {
            let head = Head {
                number: command::REENCRYPT,
                domain: member.domain.into(),
                instance: 0,
                module: [0; 16],
                counter: [0; 16],
            };
            let block = Block { head, payload: blob }.to_bytes();
            let answer = match self.ask(vec![member], Function::Admin, &[&block, &[]]) {
                Ok(answer) => answer,
                Err(refused) => {
                    failure = refused;
                    continue;
                }
            };
            let reply = Reply::parse(answer.result(0)?).ok_or(Failure::new(rv::DEVICE_ERROR, ""))?;
            let reason = reply.output.first_chunk().map(|reason| u32::from_be_bytes(*reason));
            return match (reply.rv, reason) {
                (rv::OK, _) => Ok(reply.output.to_vec()),
                (_, Some(NOT_COMMITTED)) => Err(Failure::new(
                    rv::IBM_WK_NOT_INITIALIZED,
                    "no next wrapping key is committed: adjunct ep11 wk generate, then commit",
                )),
                (code, _) => Err(Failure::new(code, "")),
            };
        }
        Err(failure)
    }
}
