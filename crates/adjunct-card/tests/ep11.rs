//! The EP11 coprocessor as programs and administrators have it: an adjunctd with such a card.

use adjunct_card_protocol::bulk;
use adjunct_card_protocol::coprocessor::EP11_REQUEST;
use adjunct_card_protocol::crowd::Page;
use adjunct_card_protocol::frame::{self, Frame, Head, Service};
use adjunct_card_protocol::secure::Field;
use adjunct_card_state::control::{self, Device, Reply, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Card, Mode};
use adjunct_card_state::state;
use adjunct_ep11_wire::attributes::{self, Template};
use adjunct_ep11_wire::codes::{attribute, mechanism, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use adjunct_ep11_wire::message;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketAddrUnix, SocketFlags, SocketType,
};
use serde_json::{Value, json};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn until(what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < limit, "{what}: not within 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Daemon {
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
        Page::remove(self.folder.path());
    }
}

/// A reply of the module: its code and results.
type Answer = (u32, Vec<Vec<u8>>);

impl Daemon {
    fn start(settings: &str) -> Daemon {
        let mut daemon = Daemon { folder: tempfile::tempdir().unwrap(), child: None };
        daemon.again(settings);
        daemon
    }

    fn command(&self, settings: &str) -> Command {
        let config = self.folder.path().join("cards.conf");
        let workers = if settings.contains("workers") { "" } else { "workers = 2\n" };
        let card = format!("[[card]]\nid = 1\nmode = \"ep11\"\ndomains = [5, 6]\n{workers}{settings}\n");
        std::fs::write(&config, card).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunctd"));
        command.arg("--folder").arg(self.folder.path()).arg("--config").arg(config);
        command.env("CREDENTIALS_DIRECTORY", self.folder.path());
        command
    }

    fn again(&mut self, settings: &str) {
        self.end();
        self.child = Some(self.command(settings).spawn().unwrap());
        until("a card that is ready", || {
            let ready = |card: &Card| card.confined.is_some() || !card.remark.is_empty();
            state::read(&self.of().state()).is_ok_and(|machine| machine.cards.iter().all(ready))
        });
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            // SAFETY: no pointers; a process of this test's own.
            unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
            let _ = child.wait();
        }
    }

    fn of(&self) -> Folder {
        Folder::at(self.folder.path())
    }

    fn card(&self) -> Card {
        state::read(&self.of().state()).unwrap().cards.remove(0)
    }

    fn order(&self, domain: Option<u8>, order: Value) -> Result<Value, String> {
        match control::ask(&self.of().control(), &Request::Administer(Device { card: 1, domain }, order)).unwrap() {
            Reply::Administered(value) => Ok(value),
            Reply::Refused(_, why) => Err(why),
            other => panic!("{other:?}"),
        }
    }

    fn wk(&self, order: &str) -> Result<Value, String> {
        self.order(Some(5), json!({ "order": order }))
    }

    fn program(&self, domain: u8) -> Program {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let path = self.of().domain_socket(Mode::Ep11, 1, domain);
        rustix::net::connect(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        Program { socket, domain }
    }

    fn audited(&self) -> Vec<String> {
        let log = std::fs::File::open(self.folder.path().join("files/ep11-01.audit")).unwrap();
        let mut events = Vec::new();
        let log = std::io::BufReader::new(log);
        adjunct_coprocessor::audit::verify(log, (0, [0; 32]), None, |record| events.push(record.event)).unwrap();
        events
    }
}

struct Program {
    socket: OwnedFd,
    domain: u8,
}

impl Program {
    /// The status of the frame, and the field of its output.
    fn ask(&self, input: &[u8]) -> Option<(u16, Vec<u8>)> {
        let head = Head { service: Service::Ep11, domain: self.domain, call: EP11_REQUEST, status: 0, number: 9 };
        let fields: [(u16, &[u8]); 1] = [(Field::Input as u16, input)];
        let mut message = vec![0; frame::length(&fields).unwrap()];
        frame::write(&mut message, &head, &fields).unwrap();
        let mut space = [MaybeUninit::uninit(); bulk::ROOM];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let file = bulk::sealed(&message).unwrap();
        let list = [file.as_fd()];
        if message.len() > bulk::INLINE {
            message = bulk::cover(&head, message.len()).to_vec();
            assert!(rights.push(SendAncillaryMessage::ScmRights(&list)));
        }
        rustix::net::sendmsg(&self.socket, &[IoSlice::new(&message)], &mut rights, SendFlags::NOSIGNAL).ok()?;
        let (mut buffer, mut space) = (vec![0; 200_000], [MaybeUninit::uninit(); bulk::ROOM]);
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = rustix::net::recvmsg(&self.socket, &mut [IoSliceMut::new(&mut buffer)], &mut rights, flags);
        buffer.truncate(received.ok()?.bytes);
        if let Some(file) = bulk::descriptor(&mut rights).unwrap() {
            let cover = Frame::parse(&buffer).unwrap();
            buffer = bulk::borrowed(file, &cover.head, bulk::covered(&cover).unwrap()).unwrap().to_vec();
        }
        let frame = Frame::parse(&buffer)?;
        Some((frame.head.status, frame.field(Field::Output as u16).unwrap_or_default().to_vec()))
    }

    fn call(&self, function: Function, arguments: &[&[u8]]) -> Answer {
        let request = message::request(0x0906, function, self.domain.into(), arguments);
        let (status, output) = self.ask(&request).unwrap();
        assert_eq!(status, 0);
        let reply = message::Reply::parse(&output).unwrap();
        (reply.rv, reply.results().iter().map(|result| result.to_vec()).collect())
    }

    fn aes_key(&self) -> Answer {
        let mut template = Template::default();
        for kind in [attribute::ENCRYPT, attribute::DECRYPT] {
            template.set_flag(kind, true).unwrap();
        }
        template.values.push((attribute::VALUE_LEN, attributes::Value::Number(32)));
        let generate = Mechanism::plain(mechanism::AES_KEY_GEN).to_bytes();
        self.call(Function::GenerateKey, &[&generate, &template.to_bytes(), b""])
    }

    fn cipher(&self, function: Function, key: &[u8], data: &[u8]) -> Answer {
        let cbc = Mechanism { kind: mechanism::AES_CBC, parameter: Parameter::Bytes(&[7; 16]) };
        self.call(function, &[key, &cbc.to_bytes(), data])
    }
}

#[test]
fn a_domain_serves_its_own_keys_of_any_length_of_data() {
    let daemon = Daemon::start("");
    let card = daemon.card();
    assert_eq!((card.remark.as_str(), card.kind.as_str(), card.hwtype), ("", "ADJ8P", 14));
    assert_eq!(card.counters, ["Asym. Slow", "Asym. Fast", "Symm. Partial", "Symm. Complete", "Asym. Key-gen."]);
    let [first, second] = [5, 6].map(|domain| daemon.program(domain));
    assert_eq!(first.aes_key().0, rv::IBM_WK_NOT_INITIALIZED);
    let begun = daemon.wk("wk-begin").unwrap();
    assert_eq!(begun["current"].as_str().map(str::len), Some(32));
    assert!(daemon.wk("wk-begin").unwrap_err().contains("has a wrapping key"));
    daemon.order(Some(6), json!({ "order": "wk-begin" })).unwrap();
    let key = first.aes_key();
    assert_eq!(key.0, rv::OK);
    let key = &key.1[0];
    for length in [16, 96 << 10, 300 << 10, 1 << 20] {
        let data = vec![3; length];
        let (code, text) = first.cipher(Function::EncryptSingle, key, &data);
        assert_eq!((code, text[0].len()), (rv::OK, length));
        assert_ne!(text[0], data);
        assert_eq!(first.cipher(Function::DecryptSingle, key, &text[0]), (rv::OK, vec![data]));
    }
    assert_eq!(second.cipher(Function::EncryptSingle, key, &[0; 16]).0, rv::IBM_WKID_MISMATCH);
    // What it did is counted by category, failures by code.
    let done: Vec<u64> = daemon.card().queues[0].counters.iter().map(|work| work.operations).collect();
    assert_eq!(done, [0, 0, 8, 2, 0]);
    let status = daemon.order(None, json!({ "order": "status" })).unwrap();
    assert_eq!(status["failures"][format!("{:#010x}", rv::IBM_WK_NOT_INITIALIZED)], 1);
    assert_eq!((&status["seal"], &status["locked"]), (&json!("volatile"), &json!(false)));
    // What is no request of EP11.
    let (status, output) = first.ask(b"no DER").unwrap();
    let reply = message::Reply::parse(&output).unwrap();
    assert_eq!((status, reply.rv), (0, rv::IBM_TRANSPORT_ERROR));
    assert!(daemon.order(None, json!({ "order": "nothing" })).unwrap_err().contains("no order \"nothing\""));
    assert_eq!(daemon.audited(), ["start", "wk-begin", "wk-begin", "wk-begin"]);
}

/// Eight programs at once encipher so much by triple DES that the card's threads do it in lanes: the card's filter of system calls lets them.
#[test]
fn threads_of_a_card_share_lanes() {
    let daemon = Daemon::start("workers = 8");
    daemon.wk("wk-begin").unwrap();
    let generate = Mechanism::plain(mechanism::DES3_KEY_GEN).to_bytes();
    let mut template = Template::default();
    template.set_flag(attribute::ENCRYPT, true).unwrap();
    let (code, key) = daemon.program(5).call(Function::GenerateKey, &[&generate, &template.to_bytes(), b""]);
    assert_eq!(code, rv::OK);
    let cbc = Mechanism { kind: mechanism::DES3_CBC, parameter: Parameter::Bytes(&[7; 8]) }.to_bytes();
    let (data, key) = (vec![3; 32 << 10], &key[0]);
    let begin = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let program = daemon.program(5);
                begin.wait();
                for _ in 0..40 {
                    assert_eq!(program.call(Function::EncryptSingle, &[key, &cbc, &data]).0, rv::OK);
                }
            });
        }
    });
    assert_eq!(daemon.audited().iter().filter(|event| *event == "start").count(), 1);
}

#[test]
fn a_wrapping_key_is_changed_by_generate_commit_and_finalize() {
    let daemon = Daemon::start("");
    assert!(daemon.wk("wk-commit").unwrap_err().contains("no whole key"));
    let generated = daemon.wk("wk-generate").unwrap();
    assert_eq!((&generated["next_state"], &generated["current"]), (&json!("full"), &Value::Null));
    assert!(daemon.wk("wk-finalize").unwrap_err().contains("not committed"));
    assert_eq!(daemon.wk("wk-commit").unwrap()["next_state"], "committed");
    let done = daemon.wk("wk-finalize").unwrap();
    assert_eq!((&done["current"], &done["next_state"]), (&generated["next"], &json!("empty")));
    daemon.wk("wk-generate").unwrap();
    assert_eq!(daemon.wk("wk-clear").unwrap()["next"], Value::Null);
    let points = daemon.order(Some(5), json!({ "order": "cps" })).unwrap();
    assert!(points["on"].as_array().is_some_and(|points| points.len() > 30));
}

#[test]
fn dual_control_refuses_one_user_alone() {
    let daemon = Daemon::start("dual-control = true\nfirst-group = \"0\"");
    for order in ["wk-generate", "wk-begin"] {
        let why = daemon.wk(order).unwrap_err();
        assert!(why.contains("one user may not load a whole key (dual control)"), "{why}");
    }
}

#[test]
fn a_vault_opens_by_its_passphrase_alone_and_outlives_the_process() {
    let settings = "seal = \"passphrase\"";
    let mut daemon = Daemon::start(settings);
    let unlock =
        |daemon: &Daemon, passphrase: &str| daemon.order(None, json!({ "order": "unlock", "passphrase": passphrase }));
    let locked = |daemon: &Daemon| daemon.order(None, json!({ "order": "status" })).unwrap()["locked"] == true;
    assert!(locked(&daemon));
    assert_ne!(daemon.program(5).ask(b"x").unwrap().0, 0);
    assert!(daemon.wk("wk-begin").unwrap_err().contains("adjunct cards unlock"));
    assert!(unlock(&daemon, "").unwrap_err().contains("empty"));
    assert_eq!(unlock(&daemon, "correct horse").unwrap()["seal"], "passphrase");
    let pattern = daemon.wk("wk-begin").unwrap()["current"].clone();
    let key = daemon.program(5).aes_key().1.remove(0);
    let vault = std::fs::metadata(daemon.folder.path().join("files/ep11-01.vault")).unwrap();
    assert_eq!((vault.mode() & 0o777, vault.len() > 0), (0o600, true));
    daemon.again(settings);
    assert!(locked(&daemon));
    assert!(unlock(&daemon, "another").unwrap_err().contains("does not open it"));
    assert_eq!(unlock(&daemon, "correct horse").unwrap()["domains"][0]["current"], pattern);
    assert!(unlock(&daemon, "correct horse").unwrap_err().contains("is unlocked"));
    assert_eq!(daemon.program(5).cipher(Function::EncryptSingle, &key, &[0; 16]).0, rv::OK);
    assert_eq!(daemon.audited().iter().filter(|event| *event == "start").count(), 2);
    // Another setting does not begin a new vault beside it.
    daemon.again("seal = \"none\"");
    let remark = daemon.card().remark;
    assert!(remark.contains("sealed by a passphrase") && remark.contains("\"none\""), "{remark}");
}

#[test]
fn a_vault_opens_by_a_credential() {
    let mut daemon = Daemon::start("seal = \"credential\"");
    let remark = daemon.card().remark;
    assert!(remark.contains("credential") && remark.contains("ep11-01"), "{remark}");
    std::fs::write(daemon.folder.path().join("ep11-01"), [0x33; 32]).unwrap();
    daemon.again("seal = \"credential\"");
    let pattern = daemon.wk("wk-begin").unwrap()["current"].clone();
    daemon.again("seal = \"credential\"");
    assert_eq!(daemon.wk("wk-show").unwrap()["current"], pattern);
    std::fs::write(daemon.folder.path().join("ep11-01"), [0x34; 32]).unwrap();
    daemon.again("seal = \"credential\"");
    assert!(daemon.card().remark.contains("does not open it"), "{}", daemon.card().remark);
}

#[test]
fn a_group_that_there_is_not_is_one_line() {
    let daemon = Daemon { folder: tempfile::tempdir().unwrap(), child: None };
    let mut command = daemon.command("set-group = \"nobody-of-this-name\"");
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let right = text.contains("card 1: there is no group nobody-of-this-name") && text.lines().count() == 1;
    assert!(!output.status.success() && right, "{text}");
}
