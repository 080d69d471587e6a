//! Requests: what a program's call becomes, which domain does it, and what comes back.

use crate::error::Rv;
use crate::targets::{Member, Members, Targets, flag};
use crate::transport::{Failed, Transport};
use adjunct_card_protocol::coprocessor::LIMIT;
use adjunct_card_protocol::crowd::now;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::{self, Reply};
use adjunct_ep11_wire::query;
use std::time::Duration;
use zeroize::Zeroizing;

/// The version of the interface that requests name (`XCP_API_ORDINAL`).
pub const API: u16 = 6;
/// The version of the host library whose interface this is: major, minor, correction.
pub const VERSION: [u8; 3] = [4, 2, 0];
/// How long one domain of several is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest arguments of a request together: none of a card's is longer.
const LONGEST: usize = adjunct_card_protocol::coprocessor::LONGEST - 4096;
/// Bytes of a request's function, tag and length included, before which only the SEQUENCE's tag and length stand.
const FUNCTION: usize = 6;

/// A target as a call names it: flags, and the domains.
#[derive(Debug, Clone)]
pub struct Target {
    /// [`flag`].
    pub flags: u64,
    /// The domains of which one is asked.
    pub members: Members,
}

/// What came of a request.
pub enum Said {
    /// The reply of a card that has done it.
    Done(Answer),
    /// The request, which was to be given out and not sent.
    Captured(Zeroizing<Vec<u8>>),
    /// The request's length, which was asked for.
    Length(usize),
}

/// A reply with the return value CKR_OK.
pub struct Answer(Zeroizing<Vec<u8>>);

impl Answer {
    /// The result at a place; [`Function::results`] says what it is.
    ///
    /// # Errors
    /// [`Rv::DEVICE`] where there is none: replies are looked at when they come.
    pub fn result(&self, place: usize) -> Result<&[u8], Rv> {
        Reply::parse(&self.0).and_then(|reply| reply.results().get(place).copied()).ok_or(Rv::DEVICE)
    }

    /// Bytes of the result at a place.
    ///
    /// # Errors
    /// As for [`Answer::result`].
    pub fn length(&self, place: usize) -> Result<usize, Rv> {
        self.result(place).map(<[u8]>::len)
    }
}

/// The library's state in a program.
#[derive(Debug)]
pub struct Library<T> {
    /// What the program has added.
    pub targets: Targets,
    transport: T,
}

impl<T: Transport> Library<T> {
    /// No target yet.
    pub const fn new(transport: T) -> Library<T> {
        Library { targets: Targets::new(), transport }
    }

    /// All domains that may be there.
    pub fn everybody(&self) -> Vec<Member> {
        self.transport.domains().into_iter().map(|(card, domain)| Member { card, domain }).collect()
    }

    /// Has one of a target's domains do a function.
    ///
    /// # Errors
    /// What the card says; [`Rv::TARGET`] where nobody serves the target.
    pub fn run(&self, target: &Target, function: Function, arguments: &[&[u8]]) -> Result<Said, Rv> {
        let all = arguments.iter().try_fold(0_usize, |sum, argument| sum.checked_add(argument.len()));
        if all.is_none_or(|all| all > LONGEST) {
            return Err(Rv(rv::IBM_TRANSPORT_LIMIT));
        }
        let mut request = message::request(API, function, 0, arguments);
        if target.flags & (flag::CAPTURE | flag::CAPTURE_SIZE) != 0 {
            let member = self.targets.order(&target.members, now()).next().ok_or(Rv::TARGET)?;
            name(&mut request, member.domain);
            return Ok(match target.flags & flag::CAPTURE_SIZE {
                0 => Said::Captured(request),
                _ => Said::Length(request.len()),
            });
        }
        let twice = function != Function::Admin;
        let (reply, member) = self.send(&target.members, Request::Naming(&mut request), twice)?;
        let parsed = Reply::parse(&reply).ok_or(Rv::DEVICE)?;
        if parsed.function != function || parsed.domain != u32::from(member.domain) {
            return Err(Rv::DEVICE);
        }
        if parsed.rv == rv::OK { Ok(Said::Done(Answer(reply))) } else { Err(Rv(parsed.rv)) }
    }

    /// Has one of a target's domains do a request as it is; the reply as it is.
    ///
    /// # Errors
    /// As for [`Library::run`], but for what the reply says.
    pub fn pass(&self, target: &Target, request: &[u8]) -> Result<Zeroizing<Vec<u8>>, Rv> {
        self.send(&target.members, Request::AsItIs(request), false).map(|(reply, _)| reply)
    }

    /// Sends a request to the domains in turn until one replies. One that may have done it is the last where it is not to be done `twice`.
    fn send(
        &self,
        members: &Members,
        mut request: Request<'_>,
        twice: bool,
    ) -> Result<(Zeroizing<Vec<u8>>, Member), Rv> {
        let alone = self.targets.count(members) == 1;
        let mut failed = None;
        for member in self.targets.order(members, now()) {
            let request = request.to(member);
            let patience = if alone { LIMIT } else { PATIENCE };
            match self.transport.call(member.card, member.domain, request, patience) {
                Ok(reply) => {
                    self.targets.note(member, true, now());
                    return Ok((reply, member));
                }
                Err(why) => {
                    self.targets.note(member, why == Failed::TooLong, now());
                    // The first that was there says more than those that were not.
                    if failed.is_none_or(|before| before == Failed::Nobody) {
                        failed = Some(why);
                    }
                    if !why.another_may() || why != Failed::Nobody && !twice {
                        break;
                    }
                }
            }
        }
        Err(failed.map_or(Rv::TARGET, Rv::from))
    }

    /// What a domain's module says of itself; `None` where it does not answer.
    pub fn module(&self, member: Member) -> Option<query::Module> {
        let target = Target { flags: 0, members: Members::List(vec![member]) };
        let query = query::number::MODULE.to_be_bytes();
        match self.run(&target, Function::GetInfo, &[&query, &[0; 4]]).ok()? {
            Said::Done(answer) => query::Module::parse(answer.result(0).ok()?),
            _ => None,
        }
    }

    /// What a domain says of itself; `None` where it does not answer in that time.
    pub fn domain(&self, member: Member, patience: Duration) -> Option<query::Domain> {
        let arguments: [&[u8]; 2] = [&query::number::DOMAIN.to_be_bytes(), &[0; 4]];
        let request = message::request(API, Function::GetInfo, member.domain.into(), &arguments);
        let reply = self.transport.call(member.card, member.domain, &request, patience).ok()?;
        let reply = Reply::parse(&reply).filter(|reply| reply.function == Function::GetInfo && reply.rv == rv::OK)?;
        query::Domain::parse(reply.results().first()?)
    }
}

/// A request on its way.
enum Request<'a> {
    /// One that names the domain it goes to.
    Naming(&'a mut [u8]),
    /// One that stays as it is.
    AsItIs(&'a [u8]),
}

impl Request<'_> {
    /// The request for a domain.
    fn to(&mut self, member: Member) -> &[u8] {
        match self {
            Request::Naming(bytes) => name(bytes, member.domain),
            Request::AsItIs(bytes) => bytes,
        }
    }
}

/// Writes the domain into a request.
fn name(request: &mut [u8], domain: u8) -> &[u8] {
    let place = message::element(request).map(|(_, contents, _)| request.len() - contents.len() + FUNCTION + 2);
    if let Some(field) = place.and_then(|place| request.get_mut(place..place + 4)) {
        field.copy_from_slice(&u32::from(domain).to_be_bytes());
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_ep11_wire::message::Request;
    use std::sync::Mutex;

    /// What a domain says instead of its reply.
    type Lie = fn(u8, &[u8]) -> Zeroizing<Vec<u8>>;

    /// Cards that reply with what is set, and the requests that came.
    struct Cards {
        down: Mutex<Vec<(u8, Failed)>>,
        asked: Mutex<Vec<(u8, u8)>>,
        rv: u32,
        lie: Option<Lie>,
    }

    impl Transport for Cards {
        fn call(&self, card: u8, domain: u8, request: &[u8], _: Duration) -> Result<Zeroizing<Vec<u8>>, Failed> {
            self.asked.lock().unwrap().push((card, domain));
            if let Some((_, why)) = self.down.lock().unwrap().iter().find(|(down, _)| *down == card) {
                return Err(*why);
            }
            if let Some(lie) = self.lie {
                return Ok(lie(domain, request));
            }
            let request = Request::parse(request).unwrap();
            assert_eq!((request.domain, request.api), (u32::from(domain), API));
            let results: Vec<&[u8]> = request.function.results().iter().map(|name| name.as_bytes()).collect();
            let results = if self.rv == 0 { &results[..] } else { &[] };
            Ok(message::reply(request.api, request.function, request.domain, self.rv, results))
        }

        fn domains(&self) -> Vec<(u8, u8)> {
            vec![(1, 5), (2, 6)]
        }
    }

    fn library(rv: u32) -> (Library<Cards>, Target) {
        let library = Library::new(Cards { down: Mutex::default(), asked: Mutex::default(), rv, lie: None });
        let members = library.everybody();
        (library, Target { flags: 0, members: Members::List(members) })
    }

    impl Library<Cards> {
        fn asked(&self) -> Vec<(u8, u8)> {
            std::mem::take(&mut self.transport.asked.lock().unwrap())
        }
    }

    fn done(said: Result<Said, Rv>) -> Vec<u8> {
        let Ok(Said::Done(answer)) = said else { panic!("no reply") };
        answer.result(0).unwrap().to_vec()
    }

    #[test]
    fn requests_go_to_all_domains_of_a_group() {
        let (library, target) = library(0);
        for _ in 0..4 {
            assert_eq!(done(library.run(&target, Function::SignSingle, &[b"k", b"m", b"d"])), b"signature");
        }
        let mut asked = library.asked();
        asked.sort_unstable();
        assert_eq!(asked, [(1, 5), (1, 5), (2, 6), (2, 6)]);
    }

    #[test]
    fn a_domain_that_goes_is_passed_over() {
        let (library, target) = library(0);
        library.transport.down.lock().unwrap().push((1, Failed::Gone));
        for _ in 0..3 {
            done(library.run(&target, Function::SignSingle, &[b"k", b"m", b"d"]));
        }
        assert_eq!(library.asked().iter().filter(|(card, _)| *card == 1).count(), 1);
        // What changes a card is not done by another as well.
        let (library, target) = self::library(0);
        library.transport.down.lock().unwrap().extend([(1, Failed::Gone), (2, Failed::Gone)]);
        let said = library.run(&target, Function::Admin, &[b"block", b""]);
        assert_eq!(said.err(), Some(Rv(rv::IBM_TRANSPORT_ERROR)));
        assert_eq!(library.asked().len(), 1);
        let (library, target) = self::library(0);
        library.transport.down.lock().unwrap().extend([(1, Failed::Nobody), (2, Failed::Nobody)]);
        assert_eq!(library.run(&target, Function::Admin, &[b"block", b""]).err(), Some(Rv::TARGET));
        assert_eq!(library.asked().len(), 2);
    }

    #[test]
    fn what_a_card_says_comes_back() {
        let (library, target) = library(rv::KEY_FUNCTION_NOT_PERMITTED);
        let said = library.run(&target, Function::SignSingle, &[b"k", b"m", b"d"]);
        assert_eq!(said.err(), Some(Rv(rv::KEY_FUNCTION_NOT_PERMITTED)));
        assert_eq!(library.asked().len(), 1);
    }

    #[test]
    fn what_is_no_reply_to_the_request_is_an_error_of_the_device() {
        let lies: [Lie; 6] = [
            |_, _| Zeroizing::default(),
            |_, request| request.to_vec().into(),
            // Another function, another domain, another number of results.
            |domain, _| message::reply(API, Function::Sign, domain.into(), 0, &[b"signature"]),
            |domain, _| message::reply(API, Function::SignSingle, u32::from(domain) + 1, 0, &[b"signature"]),
            |domain, _| message::reply(API, Function::SignSingle, domain.into(), 0, &[]),
            |domain, _| message::reply(API, Function::SignSingle, domain.into(), 0, &[b"signature", b"more"]),
        ];
        for lie in lies {
            let (mut library, target) = library(0);
            library.transport.lie = Some(lie);
            let said = library.run(&target, Function::SignSingle, &[b"k", b"m", b"d"]);
            assert_eq!(said.err(), Some(Rv::DEVICE));
            assert_eq!(library.asked().len(), 1);
        }
    }

    #[test]
    fn a_captured_request_is_the_one_that_would_be_sent() {
        let (library, mut target) = library(0);
        target.members = Members::List(vec![Member { card: 2, domain: 6 }]);
        target.flags = flag::CAPTURE;
        let Ok(Said::Captured(request)) = library.run(&target, Function::Logout, &[b"session"]) else { panic!() };
        assert_eq!(Request::parse(&request).unwrap().domain, 6);
        target.flags = flag::CAPTURE | flag::CAPTURE_SIZE;
        let said = library.run(&target, Function::Logout, &[b"session"]);
        assert!(matches!(said, Ok(Said::Length(length)) if length == request.len()));
        assert!(library.asked().is_empty());
        target.flags = 0;
        let reply = library.pass(&target, &request).unwrap();
        assert_eq!(Reply::parse(&reply).unwrap().function, Function::Logout);
    }
}
