//! A card for tests: a process that makes keys, keeps them to itself, and does operations with them for programs that have references to them.
//!
//! `adjunct-test-card FOLDER VAULT` listens on `FOLDER/test-00.0000.sock`. The keys are in `VAULT`, made at the first start; what all may know of them is in
//! `FOLDER/keys`, a line each: the name, the reference, and the public half, in hexadecimal digits; of a secret key what a block of zeros encrypts to, or the
//! HMAC of "check".

use adjunct::InOut;
use adjunct::ops::cipher::{Chain, Counted, Mode as CipherMode, aes};
use adjunct::ops::digest::{MAX_SIZE, Method};
use adjunct::ops::ec::{self, Form, Group, MAX_FIELD, MAX_POINT};
use adjunct::ops::ecx::{Private, ed25519, x25519};
use adjunct::ops::mac::{BlockCipher, Cmac, hmac_within};
use adjunct::ops::reference::{Class, Reference, Service};
use adjunct::ops::rsa::{self, Crt, Numbers, Part};
use adjunct::ops::{mldsa, mlkem, random};
use adjunct_card_protocol::frame::{self, Frame, Head};
use adjunct_card_protocol::secure::{Call, Field, MAX_MESSAGE, Mode, Status};
use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::path::Path;
use std::sync::Arc;

/// The size of the RSA key.
const BITS: usize = 2048;
const NAMES: [&str; 10] = ["rsa", "p256", "p384", "p521", "ed25519", "x25519", "mldsa65", "mlkem768", "aes", "hmac"];

/// A key that this process alone has.
enum Key {
    Rsa(rsa::RsaKey),
    Ec(ec::EcKey),
    Ed25519(Private<32>, [u8; 32]),
    X25519(Private<32>, [u8; 32]),
    MlDsa(mldsa::MlDsaKey),
    MlKem(mlkem::MlKemKey),
    Secret(Vec<u8>),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(digits).collect()
}

fn group(name: &str) -> Group {
    match name {
        "p256" => Group::P256,
        "p384" => Group::P384,
        _ => Group::P521,
    }
}

/// Makes the parts of a new key.
fn generate(name: &str) -> Vec<Vec<u8>> {
    let secret = |length| {
        let mut bytes = vec![0; length];
        random::random(&mut bytes);
        vec![bytes]
    };
    match name {
        "rsa" => {
            let key = rsa::RsaKey::generate(BITS, &[1, 0, 1], None).expect("a key");
            let parts = [Part::N, Part::E, Part::D, Part::P, Part::Q, Part::Dp, Part::Dq, Part::Qinv];
            parts.map(|part| key.number(part).expect("memory").expect("a number").to_vec()).into()
        }
        "p256" | "p384" | "p521" => {
            let key = ec::EcKey::generate(group(name)).expect("a key");
            let mut point = [0; MAX_POINT];
            let point = key.public(Form::Uncompressed, &mut point).expect("a point").to_vec();
            vec![point, key.private().expect("a scalar").to_vec()]
        }
        "mldsa65" => secret(mldsa::SEED),
        "mlkem768" => secret(mlkem::SEED),
        "hmac" => secret(40),
        _ => secret(32),
    }
}

impl Key {
    fn new(name: &str, parts: &[Vec<u8>]) -> Key {
        let secret = || <[u8; 32]>::try_from(&parts[0][..]).expect("32 bytes");
        match name {
            "rsa" => {
                let [n, e, d, p, q, dp, dq, qinv] = parts else { panic!("parts of an RSA key") };
                let numbers = Numbers { n, e, d: Some(d), crt: Some(Crt { p, q, dp, dq, qinv }) };
                Key::Rsa(rsa::RsaKey::new(&numbers).expect("a key"))
            }
            "p256" | "p384" | "p521" => {
                Key::Ec(ec::EcKey::new(group(name), Some(&parts[0]), Some(&parts[1])).expect("a key"))
            }
            "ed25519" => {
                let private = Private::new(&secret());
                let public = ed25519::other_half(&private).expect("its public half");
                Key::Ed25519(private, public)
            }
            "x25519" => {
                let private = Private::new(&secret());
                let public = x25519::other_half(&private).expect("its public half");
                Key::X25519(private, public)
            }
            "mldsa65" => Key::MlDsa(mldsa::MlDsaKey::of_seed(mldsa::Set::MlDsa65, &secret()).expect("a key")),
            "mlkem768" => {
                let seed = parts[0][..].try_into().expect("a seed");
                Key::MlKem(mlkem::MlKemKey::of_seed(mlkem::Set::MlKem768, seed).expect("a key"))
            }
            _ => Key::Secret(parts[0].clone()),
        }
    }

    /// The public half, as [`Call::Public`] gives it.
    fn public(&self) -> Option<Vec<u8>> {
        Some(match self {
            Key::Rsa(key) => {
                let number = |part| key.number(part).ok().flatten();
                let (e, n) = (number(Part::E)?, number(Part::N)?);
                [&(e.len() as u32).to_le_bytes()[..], &e, &n].concat()
            }
            Key::Ec(key) => key.public(Form::Uncompressed, &mut [0; MAX_POINT])?.to_vec(),
            Key::Ed25519(_, public) | Key::X25519(_, public) => public.to_vec(),
            Key::MlDsa(key) => key.public_bytes().to_vec(),
            Key::MlKem(key) => key.public_bytes().to_vec(),
            Key::Secret(_) => return None,
        })
    }

    fn run(&self, call: Call, parameters: &[u8], input: &[u8]) -> Result<Vec<u8>, Status> {
        let refused = |_| Status::Input;
        match (call, self) {
            (Call::Public, key) => key.public().ok_or(Status::Refused),
            (Call::RsaPrivate, Key::Rsa(key)) => {
                let mut out = vec![0; key.size()];
                key.private(input, &mut out).map_err(refused).map(|()| out)
            }
            (Call::EcSign, Key::Ec(key)) => {
                let mut out = vec![0; 2 * key.group().field_len()];
                key.sign_pair(input, &mut out).map_err(refused).map(|()| out)
            }
            (Call::EcDerive, Key::Ec(key)) => {
                let peer = ec::EcKey::new(key.group(), Some(input), None).map_err(refused)?;
                key.shared_secret(&peer, &mut [0; MAX_FIELD]).map_err(refused).map(<[u8]>::to_vec)
            }
            (Call::EdSign, Key::Ed25519(private, public)) => {
                let (form, context) = parameters.split_first().ok_or(Status::Input)?;
                let form = (*form != 0).then_some(ed25519::Form { prehash: *form == 2, context });
                let signature = match form {
                    None => ed25519::sign(private, public, input),
                    Some(form) => ed25519::sign_form(form, private, public, input),
                };
                signature.map_err(refused).map(|signature| signature.to_vec())
            }
            (Call::XDerive, Key::X25519(private, _)) => {
                let peer = input.try_into().map_err(|_| Status::Input)?;
                x25519::shared_secret(private, peer).map_err(refused).map(|secret| secret.to_vec())
            }
            (Call::MlDsaSign, Key::MlDsa(key)) => {
                let [deterministic, hashed, length, rest @ ..] = parameters else { return Err(Status::Input) };
                let (context, oid) = rest.split_at_checked(usize::from(*length)).ok_or(Status::Input)?;
                let form = mldsa::Form { context, digest: (*hashed != 0).then_some(oid) };
                let mut out = vec![0; key.set().signature()];
                key.sign(form, input, *deterministic != 0, &mut out).map_err(refused).map(|()| out)
            }
            (Call::MlKemDecapsulate, Key::MlKem(key)) => {
                key.decapsulate(input).map_err(refused).map(|secret| secret.to_vec())
            }
            (Call::Hmac, Key::Secret(key)) => {
                let name = std::str::from_utf8(parameters).map_err(|_| Status::Input)?;
                let method = Method::from_name(name).ok_or(Status::Input)?;
                let mut out = vec![0; MAX_SIZE];
                hmac_within(method, key, &[input], &mut out).map_err(refused)?;
                out.truncate(method.size);
                Ok(out)
            }
            (Call::Cmac, Key::Secret(key)) => {
                let mac = Cmac::new(BlockCipher::Aes(key.len()), key).map_err(refused)?;
                let mut out = vec![0; 16];
                mac.whole(input, &mut out).map_err(refused)?;
                Ok(out)
            }
            (Call::Aes, Key::Secret(key)) => {
                let [mode, encrypt, iv @ ..] = parameters else { return Err(Status::Input) };
                let iv = iv.try_into().map_err(|_| Status::Input)?;
                let encrypt = *encrypt != 0;
                match *mode {
                    mode if mode == Mode::Ecb as u8 => aes_run::<aes::Ecb>(key, encrypt, iv, input),
                    mode if mode == Mode::Cbc as u8 => aes_run::<aes::Cbc>(key, encrypt, iv, input),
                    mode if mode == Mode::Ctr as u8 => aes_run::<aes::Ctr>(key, encrypt, iv, input),
                    _ => Err(Status::Input),
                }
            }
            _ => Err(Status::Refused),
        }
    }
}

fn aes_run<M: CipherMode>(key: &[u8], encrypt: bool, mut iv: [u8; 16], input: &[u8]) -> Result<Vec<u8>, Status> {
    if !input.len().is_multiple_of(16) {
        return Err(Status::Input);
    }
    let mut cipher = Counted::<M>::default();
    cipher.set_key(key, encrypt).map_err(|_| Status::Input)?;
    let mut data = input.to_vec();
    let chain = Chain { iv: &mut iv, stream: &mut [0; 16], used: &mut 0, bits: false };
    cipher.run(encrypt, chain, InOut::in_place(&mut data)).map_err(|_| Status::Input)?;
    Ok([&iv[..], &data].concat())
}

/// The keys of the vault, which is made where there is none.
fn keys(vault: &Path) -> Vec<Key> {
    if !vault.exists() {
        let line = |name: &&str| generate(name).iter().map(|part| hex(part)).collect::<Vec<_>>().join(" ");
        std::fs::write(vault, NAMES.iter().map(line).collect::<Vec<_>>().join("\n")).expect("a vault");
    }
    let text = std::fs::read_to_string(vault).expect("the vault");
    let parts = |line: &str| line.split(' ').map(unhex).collect::<Vec<_>>();
    text.lines().zip(NAMES).map(|(line, name)| Key::new(name, &parts(line))).collect()
}

/// What a program is given to know a key by.
fn blob(at: usize) -> [u8; 8] {
    (at as u64 + 1).to_be_bytes()
}

fn publish(path: &Path, keys: &[Key]) {
    let line = |(at, key): (usize, &Key)| {
        let public = match NAMES[at] {
            "aes" => key
                .run(Call::Aes, &[&[Mode::Ecb as u8, 1][..], &[0; 16]].concat(), &[0; 16])
                .map(|out| out[16..].to_vec()),
            "hmac" => key.run(Call::Hmac, b"SHA2-256", b"check"),
            _ => key.run(Call::Public, &[], &[]),
        };
        let reference = Reference { service: Service::Test, class: Class::Secure, blob: &blob(at) };
        let reference = reference.encode(0).expect("a reference");
        format!("{} {} {}\n", NAMES[at], hex(&reference), hex(&public.unwrap_or_default()))
    };
    std::fs::write(path, keys.iter().enumerate().map(line).collect::<String>()).expect("a list of keys");
}

/// Answers one program until it goes.
fn serve(socket: &OwnedFd, keys: &[Key]) {
    let (mut message, mut answer) = (vec![0; MAX_MESSAGE], vec![0; MAX_MESSAGE]);
    while let Ok((length @ 1.., _)) = net::recv(socket, &mut message[..], RecvFlags::empty()) {
        let Some(frame) = Frame::parse(&message[..length]) else { return };
        let field = |field: Field| frame.field(field as u16).unwrap_or_default();
        let found = (0..keys.len()).find(|&at| blob(at) == field(Field::Key));
        let done = match (found, Call::with_number(frame.head.call)) {
            (None, _) => Err(Status::Unknown),
            (_, None) => Err(Status::Refused),
            (Some(at), Some(call)) => keys[at].run(call, field(Field::Parameters), field(Field::Input)),
        };
        let status = done.as_ref().err().map_or(0, |status| *status as u16);
        let output = done.unwrap_or_default();
        let fields = [(Field::Output as u16, &output[..])];
        let fields = if status == 0 { &fields[..] } else { &[] };
        let Some(length) = frame::write(&mut answer, &Head { status, ..frame.head }, fields) else { return };
        if net::send(socket, &answer[..length], SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder, vault] = &arguments[..] else { panic!("adjunct-test-card FOLDER VAULT") };
    let (folder, vault) = (Path::new(folder), Path::new(vault));
    adjunct::init();
    let keys = Arc::new(keys(vault));
    publish(&folder.join("keys"), &keys);
    let socket = folder.join("test-00.0000.sock");
    let _ = std::fs::remove_file(&socket);
    let listener = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let listener = listener.expect("a socket");
    net::bind(&listener, &SocketAddrUnix::new(&socket).expect("an address")).expect("an address that is free");
    net::listen(&listener, 16).expect("a socket that listens");
    println!("ready");
    while let Ok(socket) = net::accept_with(&listener, SocketFlags::CLOEXEC) {
        let keys = keys.clone();
        std::thread::spawn(move || serve(&socket, &keys));
    }
}
