//! Domains of cards whose socket this process has: each answers by a function.

use adjunct_card_protocol::bulk;
use adjunct_card_protocol::frame::{self, Frame};
use adjunct_card_protocol::secure::Field;
use adjunct_card_protocol::socket_name;
use adjunct_ep11_wire::admin::{self, Block};
use adjunct_ep11_wire::attributes::{Template, Value};
use adjunct_ep11_wire::codes::{attribute, flag, mechanism, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use adjunct_ep11_wire::message::{self, Request, put_octets};
use adjunct_ep11_wire::{blob, query, spki};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{RecvAncillaryBuffer, SendAncillaryBuffer, SendAncillaryMessage};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// What a domain makes of a request: its reply, or nothing, and then it goes away.
pub type Answer = dyn Fn(u8, &[u8]) -> Option<Vec<u8>> + Send + Sync;

/// A domain that is served until it is dropped.
pub struct Served {
    path: PathBuf,
    stopped: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<OwnedFd>>>,
    /// How many requests have come.
    pub asked: Arc<AtomicUsize>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stopped.store(true, SeqCst);
        _ = std::fs::remove_file(&self.path);
        for connection in self.connections.lock().expect("the connections").drain(..) {
            _ = net::shutdown(connection, net::Shutdown::Both);
        }
    }
}

/// Serves a domain of a card.
pub fn serve(folder: &Path, card: u8, domain: u8, answer: Arc<Answer>) -> Served {
    let path = folder.join(socket_name("ep11", card, domain.into()) + adjunct_card_protocol::SUFFIX);
    let socket =
        net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
    net::bind(&socket, &SocketAddrUnix::new(&path).expect("an address")).expect("a name");
    net::listen(&socket, 16).expect("listening");
    let (stopped, asked, connections) = (Arc::default(), Arc::default(), Arc::default());
    let served = Served {
        path,
        stopped: Arc::clone(&stopped),
        asked: Arc::clone(&asked),
        connections: Arc::clone(&connections),
    };
    std::thread::spawn(move || {
        while let Ok(connection) = net::accept_with(&socket, SocketFlags::CLOEXEC) {
            if stopped.load(SeqCst) {
                return;
            }
            connections.lock().expect("the connections").push(connection.try_clone().expect("a copy"));
            let (answer, asked, stopped) = (Arc::clone(&answer), Arc::clone(&asked), Arc::clone(&stopped));
            std::thread::spawn(move || converse(&connection, domain, &*answer, &asked, &stopped));
        }
    });
    served
}

fn converse(connection: &OwnedFd, domain: u8, answer: &Answer, asked: &AtomicUsize, stopped: &AtomicBool) {
    while let Some(message) = receive(connection) {
        if stopped.load(SeqCst) {
            return;
        }
        let request = Frame::parse(&message).expect("a frame");
        asked.fetch_add(1, SeqCst);
        assert_eq!(request.head.domain, domain);
        assert_eq!(request.head.call, 0x100);
        let input = request.field(Field::Input as u16).expect("an input");
        let Some(reply) = answer(domain, input) else {
            _ = net::shutdown(connection, net::Shutdown::Both);
            return;
        };
        let fields: [(u16, &[u8]); 1] = [(Field::Output as u16, &reply)];
        let mut out = vec![0; frame::length(&fields).expect("a length")];
        frame::write(&mut out, &request.head, &fields).expect("a frame");
        if !send(connection, &request.head, &out) {
            return;
        }
    }
}

/// Takes a frame, which may come in a file.
fn receive(connection: &OwnedFd) -> Option<Vec<u8>> {
    let mut message = vec![0; 200 << 10];
    let mut room = [MaybeUninit::uninit(); bulk::ROOM];
    let mut rights = RecvAncillaryBuffer::new(&mut room);
    let mut into = [IoSliceMut::new(&mut message)];
    let length = net::recvmsg(connection, &mut into, &mut rights, RecvFlags::CMSG_CLOEXEC).ok()?.bytes;
    let frame = Frame::parse(message.get(..length).filter(|message| !message.is_empty())?).expect("a frame");
    let Some(whole) = bulk::covered(&frame) else {
        message.truncate(length);
        return Some(message);
    };
    let file = bulk::descriptor(&mut rights).expect("one file").expect("a file");
    Some(bulk::opened(file, &frame.head, whole).expect("a sealed file").to_vec())
}

/// Sends a frame, in a file where it is long.
fn send(connection: &OwnedFd, head: &frame::Head, message: &[u8]) -> bool {
    if message.len() <= bulk::INLINE {
        return net::send(connection, message, SendFlags::NOSIGNAL).is_ok();
    }
    let file = bulk::lent(message).expect("a file");
    let files = [file.as_fd()];
    let mut room = [MaybeUninit::uninit(); bulk::ROOM];
    let mut rights = SendAncillaryBuffer::new(&mut room);
    assert!(rights.push(SendAncillaryMessage::ScmRights(&files)));
    let cover = bulk::cover(head, message.len());
    net::sendmsg(connection, &[IoSlice::new(&cover)], &mut rights, SendFlags::NOSIGNAL).is_ok()
}

/// A blob as cards have it.
fn a_blob(flags: u32, fill: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![fill; length];
    bytes[..32].fill(0);
    bytes[blob::ATTRIBUTES..blob::MODE].fill(0);
    bytes[blob::ATTRIBUTES + 4..blob::MODE].copy_from_slice(&flags.to_be_bytes());
    bytes[blob::MODE..blob::VERSION].copy_from_slice(&1_u64.to_be_bytes());
    bytes[blob::VERSION..blob::VERSION + 2].copy_from_slice(&blob::MAGIC);
    bytes
}

fn vouched(der: &[u8], flags: u32) -> Vec<u8> {
    let attributes = [spki::HEADER, 0x7f_ffff_u32.to_be_bytes(), flags.to_be_bytes()].concat();
    let mut out = der.to_vec();
    for field in [&[1; 16][..], &[0; 32], &[3; 8], &1_u64.to_be_bytes(), &attributes, &[4; 32]] {
        put_octets(&mut out, field);
    }
    out
}

fn xored(data: &[u8]) -> Vec<u8> {
    data.iter().map(|byte| byte ^ 0x55).collect()
}

/// Something that depends on every byte.
fn sum(parts: &[&[u8]]) -> Vec<u8> {
    let mut sum = [0_u32; 5];
    for (at, byte) in parts.concat().iter().enumerate() {
        sum[at % 5] = sum[at % 5].wrapping_mul(31).wrapping_add(u32::from(*byte) + 1);
    }
    sum.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn module() -> query::Module {
    query::Module {
        firmware_api: 0x0906,
        firmware_id: 1,
        firmware_version: [8, 40],
        csp_version: [0, 0],
        firmware_config: [1; 32],
        xcp_config: [2; 32],
        csp_config: [3; 32],
        serial: *b"serial number 16",
        utc_time: *b"2026112812000000",
        op_mode2: 0,
        op_mode1: 0,
        flags: 0,
        extended_flags: 0,
        domains: 16,
        symmetric_state_bytes: 200,
        digest_state_bytes: 200,
        pin_block_bytes: 80,
        symmetric_key_bytes: 192,
        spki_bytes: 0,
        private_key_bytes: 0,
        max_payload_bytes: 1 << 16,
        cp_profile_bytes: 16,
        control_points: 80,
    }
}

/// A card that does nothing secret: it encrypts by an XOR, and keys are all the same. What it is given has to be as cards have it.
pub fn pretending(domain: u8, request: &[u8]) -> Option<Vec<u8>> {
    let request = Request::parse(request).expect("a request");
    assert_eq!((request.domain, request.api), (domain.into(), 6));
    let reply = |rv: u32, results: &[&[u8]]| {
        Some(message::reply(request.api, request.function, request.domain, rv, results).to_vec())
    };
    let ok = |results: &[Vec<u8>]| reply(rv::OK, &results.iter().map(|result| &result[..]).collect::<Vec<_>>());
    let arguments = request.arguments();
    let is_key =
        |key: &[u8]| assert!(blob::is_blob(key) || spki::Maced::parse(key).is_some_and(|key| !key.is_swapped()));
    match request.function {
        Function::GenerateRandom => ok(&[vec![42; message::number(arguments[0]).unwrap() as usize]]),
        Function::GetInfo => match message::number(arguments[0]).unwrap() {
            query::number::MODULE => ok(&[module().to_bytes()]),
            query::number::DOMAIN => {
                let flags = query::domain_flag::CURRENT_WK;
                let domain = query::Domain { domain: 5, wk: [7; 32], next_wk: [0; 32], flags, mode: [0; 8] };
                ok(&[domain.to_bytes()])
            }
            _ => reply(rv::ARGUMENTS_BAD, &[]),
        },
        Function::GetMechanismList => {
            let all = [mechanism::AES_CBC, mechanism::ECDSA, mechanism::IBM_ML_KEM];
            ok(&[all.map(u32::to_be_bytes).concat()])
        }
        Function::GetMechanismInfo => ok(&[[16_u32, 32, 0x300].map(u32::to_be_bytes).concat()]),
        Function::GenerateKey => {
            let template = Template::parse(arguments[1]).expect("a template");
            assert_eq!((template.number(attribute::VALUE_LEN), template.values.len()), (Some(32), 1));
            assert_eq!((template.mask, template.flags), (flag::ENCRYPT | flag::EXTRACTABLE, flag::ENCRYPT));
            ok(&[a_blob(template.flags, 9, 192), vec![1, 2, 3, 0, 0, 1, 0]])
        }
        Function::EncryptSingle | Function::DecryptSingle => {
            is_key(arguments[0]);
            let given = Mechanism::parse(arguments[1]).expect("a mechanism");
            assert!(matches!(given.parameter, Parameter::Bytes(iv) if iv.len() == 16));
            ok(&[xored(arguments[2])])
        }
        Function::EncryptInit => {
            is_key(arguments[1]);
            ok(&[a_blob(0, 1, 200)])
        }
        Function::EncryptUpdate => {
            is_key(arguments[0]);
            ok(&[a_blob(0, arguments[0][150] + 1, 200), xored(arguments[1])])
        }
        Function::EncryptFinal => {
            is_key(arguments[0]);
            assert_eq!(arguments[0][150], 2);
            ok(&[b"end".to_vec()])
        }
        Function::DigestSingle => ok(&[sum(arguments)]),
        Function::SignSingle => {
            is_key(arguments[0]);
            let given = Mechanism::parse(arguments[1]).expect("a mechanism");
            assert_eq!(given.parameter, Parameter::Pss { hash: 0x250, mgf: 2, salt: 32 });
            ok(&[sum(arguments)])
        }
        Function::VerifySingle => {
            is_key(arguments[0]);
            let right = arguments[2] == arguments[3] || sum(&arguments[..3]) == arguments[3];
            if right { ok(&[]) } else { reply(rv::SIGNATURE_INVALID, &[]) }
        }
        Function::WrapKey => {
            arguments[..2].iter().for_each(|key| is_key(key));
            assert!(arguments[2].is_empty());
            ok(&[xored(arguments[0])])
        }
        Function::UnwrapKey => {
            assert!(arguments[2].is_empty() && arguments[3].is_empty());
            let template = Template::parse(arguments[5]).expect("a template");
            if Mechanism::parse(arguments[4]).expect("a mechanism").kind == mechanism::IBM_TRANSPORTKEY {
                return ok(&[vouched(arguments[0], template.flags), vec![0; 7]]);
            }
            is_key(arguments[1]);
            assert_eq!(template.number(attribute::KEY_TYPE), Some(0x1f));
            ok(&[xored(arguments[0]), vec![1, 2, 3, 0, 0, 1, 0]])
        }
        Function::GetAttributeValue => {
            is_key(arguments[0]);
            let asked = Template::parse(arguments[1]).expect("a template");
            let mut answer =
                Template { mask: asked.mask, flags: blob::flags(arguments[0]).unwrap() & asked.mask, ..asked.clone() };
            answer.values = asked.values.iter().map(|(of, _)| (*of, Value::Number(1))).collect();
            ok(&[answer.to_bytes()])
        }
        Function::SetAttributeValue => {
            is_key(arguments[0]);
            let wanted = Template::parse(arguments[1]).expect("a template");
            let flags = blob::flags(arguments[0]).unwrap() & !wanted.mask | wanted.flags;
            ok(&[a_blob(flags, 9, arguments[0].len())])
        }
        Function::Login => ok(&[vec![5; 80]]),
        Function::Logout => {
            if arguments[0].len() == 80 {
                ok(&[])
            } else {
                reply(rv::SESSION_CLOSED, &[])
            }
        }
        Function::Admin => ok(&[administered(domain, arguments[0], arguments[1]), Vec::new()]),
        _ => reply(rv::FUNCTION_NOT_SUPPORTED, &[]),
    }
}

/// What the pretending card's wrapping keys have as their pattern.
const PATTERN: [u8; 32] = [6; 32];

/// The reply to a block.
fn administered(domain: u8, block: &[u8], signatures: &[u8]) -> Vec<u8> {
    use admin::{QUERY, command, query};
    let Block { head: asked, payload } = Block::parse(block).expect("a block");
    assert_eq!(asked.domain, u32::from(domain));
    let mut head = admin::Head { instance: 3, module: [8; 16], ..asked };
    let (mut rv, mut output) = (rv::OK, Vec::new());
    let is_command = asked.number & QUERY == 0;
    if !is_command {
        head.counter = 4_u128.to_be_bytes();
    } else if asked.number != command::REENCRYPT {
        assert_eq!((asked.instance, asked.module), (3, [8; 16]));
        assert!(u128::from_be_bytes(asked.counter) >= 5);
    }
    match (asked.number & !QUERY, is_command) {
        (command::REENCRYPT, true) => {
            assert!(blob::is_blob(payload));
            output = payload.to_vec();
        }
        (command::GEN_WK, true) => output = PATTERN.to_vec(),
        (command::COMMIT_WK | command::FINALIZE_WK, true) => assert_eq!(payload, PATTERN),
        (command::IMPORT_WK, true) => {
            assert!(signatures.is_empty());
            let mut rest = payload;
            while let Some((0x30, _, after)) = message::element(rest) {
                let part = message::fields(&rest[..rest.len() - after.len()]).expect("a part");
                let [function, of, block, _signatures] = part.all() else { panic!("fields of a part") };
                assert_eq!((message::number(function), message::number(of)), (Some(6 << 16 | 41), Some(5)));
                assert_eq!(Block::parse(block).expect("its block").head, asked);
                rest = after;
            }
            assert!(rest.is_empty());
            output = PATTERN.to_vec();
        }
        (command::EXPORT_WK, true) => {
            // A file's head, and sections: the numbers of parts, and a certificate.
            assert_eq!(payload[..8], [0, 0, 0, 4, 0, 0, 0, 0]);
            assert!(payload.ends_with(&[&[0, 29, 0, 0, 0, 1][..], b"certificate"].concat()));
            let mut sections = Vec::new();
            put_octets(&mut sections, &[0, 27, 0, 0, 0, 0, 0, 0, 0, 1]);
            put_octets(&mut sections, &[&[0, 25, 0, 0, 0, 1][..], b"part"].concat());
            output = [&[0x30, sections.len() as u8][..], &sections].concat();
        }
        (command::DOM_SET_ATTR, true) => assert_eq!(payload.len(), 8),
        (command::DOM_CTRLPOINT_SET, true) => assert_eq!(payload.len(), 16),
        (query::ATTRS | query::DOM_ATTRS, false) => {
            output = [1_u32, 0, 2, 0, 3, 0x11, 4, 0x4_0200].map(u32::to_be_bytes).concat();
        }
        (query::DOM_CTRLPOINTS, false) => output = vec![0xff; 16],
        (query::WK, false) => output = PATTERN.to_vec(),
        (query::NEXT_WK, false) => {
            rv = rv::FUNCTION_CANCELED;
            output = 50_u32.to_be_bytes().to_vec();
        }
        (number, _) => panic!("{number:x}"),
    }
    admin::Reply { head, rv, output: &output }.to_bytes().to_vec()
}
