//! Operations with keys that only a card can use: the client, and what it says to a card's service in frames ([`crate::frame`]).
//!
//! A request has the key's blob ([`Field::Key`]), the parameters and the input; its reply has the output and status 0, or another status
//! ([`Status`]) and no field. The calls are those of [`Call`]:
//!
//! | call | parameters | input | output |
//! | --- | --- | --- | --- |
//! | 1 public half | - | - | RSA: length of e (4, little-endian), e, n; curves of short Weierstrass form: the point, uncompressed; else the public key |
//! | 2 RSA, private | - | c, as long as the modulus | c^d mod n, as long |
//! | 3 ECDSA | - | digest | r, s |
//! | 4 ECDH | - | the other point, uncompressed | x |
//! | 5 Ed25519, Ed448 | 0 (the message), 1 (its context is used), 2 (its digest); context | message | signature |
//! | 6 X25519, X448 | - | the other public key | shared secret |
//! | 7 ML-DSA | 0 or 1 (deterministic); what stands before the message (FIPS 204, 5.2 and 5.4) | message | signature |
//! | 8 ML-KEM, decapsulation | - | ciphertext | shared secret |
//! | 9 HMAC | name of the digest | message | MAC |
//! | 10 CMAC | - | message | MAC |
//! | 11 a mode of AES | mode ([`Mode`]); 0 or 1 (encrypt); IV (16) | data | IV of what follows (16), data |
//!
//! Every card and domain has a socket `MODE-CC.DDDD.sock` in a daemon's folder, with card and domain in hexadecimal digits. Those of the key's mode are asked
//! one after the other until one opens the blob; that one is asked first from then on. A key has no fallback: a busy card is waited for, up to
//! [`PATIENCE`] milliseconds in all, and whatever else happens is an error that says whether key, caller or device is at fault.
//!
//! Under a filter of system calls, or where one is to be expected, cards are asked only if `ADJUNCT_CARDS` is `on`, and with `off` never. The mode `test` is for
//! tests: its sockets count only in a folder of the user's own that is not the machine's ([`crate::SYSTEM`]).
#![forbid(unsafe_code)]

use crate::connection::{self, Peer, Refused};
use crate::frame::{self, FIELD, Frame, Head, Service};
use crate::reference::{self, Class, Reference};
use crate::{SUFFIX, crowd};
use adjunct_base::catalogue::Refusal;
use adjunct_base::environment::secure_env;
use adjunct_base::memory::zeros;
use adjunct_base::{Error, sandbox};
use rustix::net::SocketAddrUnix;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use zeroize::Zeroizing;

/// Milliseconds that a request takes at most, with all cards that are asked.
pub const PATIENCE: u64 = 10_000;
/// The most bytes of input and parameters together.
pub const MAX_INPUT: usize = 96 * 1024;
/// The most bytes of a message, as a socket takes them.
pub const MAX_MESSAGE: usize = MAX_INPUT + reference::LONGEST + 1024;

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Field {
    /// The key's blob.
    Key = 1,
    /// Parameters of the call.
    Parameters,
    /// The input.
    Input,
    /// The output.
    Output,
}

/// An operation, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)]
pub enum Call {
    Public = 1,
    RsaPrivate,
    EcSign,
    EcDerive,
    EdSign,
    XDerive,
    MlDsaSign,
    MlKemDecapsulate,
    Hmac,
    Cmac,
    Aes,
}

impl Call {
    /// Every call, with its name in errors.
    pub const ALL: [(Call, &str); 11] = [
        (Call::Public, "request for a public key"),
        (Call::RsaPrivate, "RSA operation"),
        (Call::EcSign, "ECDSA signature"),
        (Call::EcDerive, "ECDH"),
        (Call::EdSign, "EdDSA signature"),
        (Call::XDerive, "key agreement"),
        (Call::MlDsaSign, "ML-DSA signature"),
        (Call::MlKemDecapsulate, "ML-KEM decapsulation"),
        (Call::Hmac, "HMAC"),
        (Call::Cmac, "CMAC"),
        (Call::Aes, "AES operation"),
    ];

    /// The call of a number.
    pub fn with_number(number: u16) -> Option<Call> {
        Call::ALL.into_iter().map(|(call, _)| call).find(|&call| call as u16 == number)
    }

    fn name(self) -> &'static str {
        Call::ALL[self as usize - 1].1
    }
}

/// A mode of AES, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Mode {
    Ecb = 1,
    Cbc,
    Ctr,
}

/// Why a request was not done, by its number in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// The request was done.
    Done = 0,
    /// The card has enough to do.
    Busy,
    /// The card goes offline: another one may do it.
    Again,
    /// The input or the parameters cannot be worked with.
    Input,
    /// The card could not do it.
    Failed,
    /// The card does not open the blob: it is another card's.
    Unknown,
    /// The key does not do such operations, or not for this user.
    Refused,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 7] =
        [Status::Done, Status::Busy, Status::Again, Status::Input, Status::Failed, Status::Unknown, Status::Refused];
}

/// A reply to a request with this service, call and number: the output, or why there is none. `None` for what is no such reply.
pub fn reply(message: &[u8], service: Service, call: Call, number: u64) -> Option<Result<&[u8], Status>> {
    let frame = Frame::parse(message)?;
    let head = frame.head;
    if head.service != service || head.call != call as u16 || head.number != number {
        return None;
    }
    match Status::ALL.into_iter().find(|&status| status as u16 == head.status)? {
        Status::Done => frame.field(Field::Output as u16).map(Ok),
        status => Some(Err(status)),
    }
}

/// What does not change in the life of a process.
pub(crate) struct Settings {
    pub(crate) folders: Vec<PathBuf>,
    /// Whether this program's user has switched cards off.
    pub(crate) off: bool,
    /// Whether cards are asked at all.
    on: bool,
    under_filters: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

pub(crate) fn settings() -> &'static Settings {
    SETTINGS.get_or_init(|| {
        let asked = secure_env("ADJUNCT_CARDS");
        let under_filters = asked.as_deref() == Some("on");
        let off = asked.as_deref() == Some("off");
        let on = under_filters || !off && !sandbox::filtered() && !sandbox::expected();
        Settings { folders: crate::folders(), off, on, under_filters }
    })
}

/// Notes the environment, which a program may change later.
pub(crate) fn prime() {
    settings();
}

/// A card and domain of a mode, as a number: card, then domain.
pub(crate) type Place = u32;

/// The socket of a card and domain; `None` where the path is too long.
pub(crate) fn address(folder: &Path, mode: &str, place: Place) -> Option<SocketAddrUnix> {
    SocketAddrUnix::new(folder.join(crate::socket_name(mode, (place >> 16) as u8, place as u16) + SUFFIX)).ok()
}

/// The card and domain of a socket's name, of that mode.
fn place(name: &str, mode: &str) -> Option<Place> {
    let digits = |text: &str, count: usize| {
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = text.len() == count && text.bytes().all(lower);
        fits.then(|| u32::from_str_radix(text, 16).ok()).flatten()
    };
    let (card, domain) = name.strip_prefix(mode)?.strip_prefix('-')?.strip_suffix(SUFFIX)?.split_once('.')?;
    Some(digits(card, 2)? << 16 | digits(domain, 4)?)
}

/// A socket, as a number among those that this process asks.
pub(crate) fn number_of(service: Service, folder: usize, place: Place) -> u32 {
    (service as u32) << 24 | place ^ (folder as u32) << 31
}

/// Whether a folder's sockets of test services count.
pub(crate) fn is_for_tests(folder: &Path) -> bool {
    let real = folder.canonicalize();
    let own = folder.metadata().is_ok_and(|folder| folder.uid() == rustix::process::geteuid().as_raw());
    own && real.is_ok_and(|real| real != Path::new(crate::SYSTEM) && real != Path::new("/var/run/adjunct"))
}

/// The cards and domains of a mode in a folder, ascending.
pub(crate) fn places(folder: &Path, mode: &str) -> Vec<Place> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<Place> =
        entries.flatten().filter_map(|entry| place(entry.file_name().to_str()?, mode)).collect();
    found.sort_unstable();
    found
}

/// A key that cards of one mode can use. Threads share it.
pub struct Key {
    service: Service,
    mode: &'static str,
    class: Class,
    blob: Vec<u8>,
    /// The folder and the place of the card that last opened the blob, plus 1; 0 before.
    last: AtomicU64,
}

adjunct_kernels::opaque_debug!(Key);

/// What a card, or its absence, says to a request.
enum Said {
    Done(Zeroizing<Vec<u8>>),
    /// No card is to be asked after this one.
    Failed(Error),
    /// The card does not open the blob.
    Unknown,
    /// The next card may do it.
    Not(Refusal),
}

impl Key {
    /// Makes the key of a reference. No card is asked.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::CardKey`] for a service that has no such keys.
    pub fn new(reference: &Reference<'_>) -> Result<Key, Error> {
        let mode = reference::mode(reference.service).ok_or(Error::CardKey("its service has none"))?;
        let mut blob = zeros(reference.blob.len())?;
        blob.copy_from_slice(reference.blob);
        let blob = std::mem::take(&mut *blob);
        Ok(Key { service: reference.service, mode, class: reference.class, blob, last: AtomicU64::new(0) })
    }

    /// The mode of the cards that can use the key.
    pub fn mode(&self) -> &'static str {
        self.mode
    }

    /// How the key is kept.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether both are the same blob of one service.
    pub fn is(&self, other: &Key) -> bool {
        (self.service, &self.blob) == (other.service, &other.blob)
    }

    /// Has a card do a call. The output has at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Device`] where no card does it; [`Error::CardKey`] where no card opens the blob, or the key does not do such operations;
    /// [`Error::CardInput`] for an input that the card refuses, or of more than [`MAX_INPUT`] bytes; [`Error::Memory`].
    #[cold]
    #[inline(never)]
    pub fn ask(&self, call: Call, parameters: &[u8], input: &[u8], most: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let settings = settings();
        if parameters.len() + input.len() > MAX_INPUT {
            return Err(Error::CardInput { mode: self.mode, what: call.name() });
        }
        if !settings.on {
            return Err(Error::Device { mode: self.mode, why: Refusal::Nobody });
        }
        let head = Head {
            service: self.service,
            domain: 0,
            call: call as u16,
            status: 0,
            number: NUMBER.fetch_add(1, Relaxed),
        };
        let until = crowd::now() + PATIENCE;
        let mut pause = Duration::from_millis(1);
        loop {
            let (mut unknown, mut refusal) = (false, None);
            for (folder, place) in self.candidates(settings) {
                match self.ask_one(settings, (folder, place), head, (call, parameters, input, most), until)? {
                    Said::Done(output) => {
                        self.last.store(((folder as u64) << 32) | (u64::from(place) + 1), Relaxed);
                        return Ok(output);
                    }
                    Said::Failed(error) => return Err(error),
                    Said::Unknown => unknown = true,
                    // That one has enough to do is worth more than that another is not there.
                    Said::Not(why) if refusal == Some(Refusal::Busy) || why == Refusal::Nobody && refusal.is_some() => {
                    }
                    Said::Not(why) => refusal = Some(why),
                }
            }
            match refusal {
                Some(Refusal::Busy) if crowd::now() < until => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
                None if unknown => return Err(Error::CardKey("no card opens it")),
                why => return Err(Error::Device { mode: self.mode, why: why.unwrap_or(Refusal::Nobody) }),
            }
        }
    }

    /// The cards to ask: the one that last opened the blob, then those that are there, by folder.
    fn candidates<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = (usize, Place)> + 'a {
        let last = self.last.load(Relaxed);
        let first = last.checked_sub(1).map(|last| ((last >> 32) as usize, last as u32));
        let folders = settings.folders.iter().enumerate();
        let folders = folders.filter(|(_, folder)| self.service != Service::Test || is_for_tests(folder));
        let all = folders.flat_map(|(at, folder)| places(folder, self.mode).into_iter().map(move |place| (at, place)));
        first.into_iter().chain(all.filter(move |&one| Some(one) != first))
    }

    /// Asks one card and domain.
    fn ask_one(
        &self,
        settings: &Settings,
        (folder, place): (usize, Place),
        head: Head,
        (call, parameters, input, most): (Call, &[u8], &[u8], usize),
        until: u64,
    ) -> Result<Said, Error> {
        let path = settings.folders.get(folder);
        let found = path.and_then(|path| Some((path, address(path, self.mode, place)?)));
        let Some((path, address)) = found else { return Ok(Said::Not(Refusal::Nobody)) };
        let head = Head { domain: place as u8, ..head };
        let fields: [(u16, &[u8]); 3] =
            [(Field::Key as u16, &self.blob), (Field::Parameters as u16, parameters), (Field::Input as u16, input)];
        let mut message = zeros(frame::length(&fields).unwrap_or_default())?;
        frame::write(&mut message, &head, &fields).ok_or(Error::Failed("frame"))?;
        let mut answer = zeros(frame::HEAD + FIELD + most)?;
        let peer = Peer::of_domain(&address, number_of(self.service, folder, place), path, settings.under_filters);
        let is_reply = |message: &[u8]| reply(message, self.service, call, head.number).is_some();
        let length = match connection::converse(&peer, &message, &mut answer, until, is_reply) {
            Ok(length) => length,
            Err(refused) => return Ok(Said::Not(why(refused))),
        };
        Ok(match reply(&answer[..length], self.service, call, head.number) {
            Some(Ok(output)) => {
                let mut copy = zeros(output.len())?;
                copy.copy_from_slice(output);
                Said::Done(copy)
            }
            Some(Err(Status::Unknown)) => Said::Unknown,
            Some(Err(Status::Refused)) => Said::Failed(Error::CardKey("its card does not do that with it")),
            Some(Err(Status::Input)) => Said::Failed(Error::CardInput { mode: self.mode, what: call.name() }),
            Some(Err(Status::Busy)) => Said::Not(Refusal::Busy),
            Some(Err(Status::Again)) => Said::Not(Refusal::Offline),
            Some(Err(Status::Failed | Status::Done)) => Said::Not(Refusal::Invalid),
            None => Said::Not(Refusal::Gone),
        })
    }

    /// The error of a result that a card got wrong, as a check shows it.
    pub fn wrong(&self) -> Error {
        Error::Device { mode: self.mode, why: Refusal::Wrong }
    }
}

/// The reason of a connection's failure.
fn why(refused: Refused) -> Refusal {
    match refused {
        Refused::Full => Refusal::Busy,
        Refused::Gone => Refusal::Gone,
        Refused::Silent | Refused::NotAccepted => Refusal::Silent,
        Refused::Unreachable | Refused::Nobody | Refused::Said(_) | Refused::Unfit => Refusal::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_known_by_their_names() {
        assert_eq!(place("ep11-0a.001f.sock", "ep11"), Some(0x0a_001f));
        assert_eq!(place("test-00.0000.sock", "test"), Some(0));
        for other in ["ep11-0a.001f", "ep11-a.001f.sock", "ep11-0A.001f.sock", "cca-0a.001f.sock", "ep11-+a.001f.sock"]
        {
            assert_eq!(place(other, "ep11"), None, "{other}");
        }
        assert!(!is_for_tests(Path::new(crate::SYSTEM)));
    }

    #[test]
    fn replies_are_those_of_their_requests() {
        let head = Head { service: Service::Test, domain: 0, call: Call::EcSign as u16, status: 0, number: 5 };
        let mut message = [0; 64];
        let mut write = |head: &Head, fields: &[(u16, &[u8])]| {
            let length = frame::write(&mut message, head, fields).unwrap();
            message[..length].to_vec()
        };
        let done = write(&head, &[(Field::Output as u16, b"signature")]);
        assert_eq!(reply(&done, Service::Test, Call::EcSign, 5), Some(Ok(&b"signature"[..])));
        assert_eq!(reply(&done, Service::Test, Call::EcSign, 6), None);
        assert_eq!(reply(&done, Service::Test, Call::EcDerive, 5), None);
        assert_eq!(reply(&done, Service::Ep11, Call::EcSign, 5), None);
        assert_eq!(reply(&write(&head, &[]), Service::Test, Call::EcSign, 5), None);
        for status in &Status::ALL[1..] {
            let said = write(&Head { status: *status as u16, ..head }, &[]);
            assert_eq!(reply(&said, Service::Test, Call::EcSign, 5), Some(Err(*status)));
        }
        assert_eq!(reply(&write(&Head { status: 99, ..head }, &[]), Service::Test, Call::EcSign, 5), None);
        for (at, (call, _)) in Call::ALL.into_iter().enumerate() {
            assert_eq!((call as usize, Call::with_number(call as u16)), (at + 1, Some(call)));
        }
    }

    #[test]
    fn a_key_without_a_card_says_that_none_answers() {
        let reference = Reference { service: Service::Ep11, class: Class::Secure, blob: &[1; 8] };
        let key = Key::new(&reference).unwrap();
        let error = Error::Device { mode: "ep11", why: Refusal::Nobody };
        assert_eq!(key.ask(Call::EcSign, &[], &[0; 32], 64).map(drop), Err(error));
        let long = key.ask(Call::EcSign, &[], &vec![0; MAX_INPUT + 1], 64).map(drop);
        assert!(matches!(long, Err(Error::CardInput { .. })));
    }
}
