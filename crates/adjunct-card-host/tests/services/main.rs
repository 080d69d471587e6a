//! Cards of any service, as programs and administrators have them: an adjunctd with services of tests. This program is that adjunctd, too, and its
//! cards' processes.

mod long;
mod served;

use adjunct_card_protocol::crowd::Page;
use adjunct_card_protocol::frame::{self, Frame, Head, Service};
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::control::{self, Device, Reply, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Card, Machine, Mode};
use adjunct_card_state::state;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use serde_json::{Value, json};
use served::{BYTES, COUNT, ECHO, FORBIDDEN, SLOW, USER, VAULT};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Two cards that all programs share, two with domains, and one that does not serve.
const CARDS: &str = "\
waiting = 4
[[card]]
id = 0
workers = 1
[[card]]
id = 1
mode = \"ep11\"
domains = [5, 255]
workers = 1
mode-bits = \"0666\"
[[card]]
id = 2
mode = \"cca\"
[[card]]
id = 3
workers = 1
";
/// A user and a group that this test may become.
const OTHER: u32 = 54_322;

type Test = (&'static str, fn());

const TESTS: [Test; 14] = [
    ("each_mode_gets_its_own_requests", each_mode_gets_its_own_requests),
    ("a_domain_has_a_socket_for_whom_the_configuration_says", a_domain_has_a_socket_for_whom_the_configuration_says),
    ("what_is_not_for_a_domain_ends_a_connection", what_is_not_for_a_domain_ends_a_connection),
    ("a_service_knows_uid_gid_and_groups", a_service_knows_uid_gid_and_groups),
    ("one_card_that_cannot_serve_goes_alone", one_card_that_cannot_serve_goes_alone),
    ("who_has_no_room_waits_or_is_refused", who_has_no_room_waits_or_is_refused),
    ("files_come_before_the_filter", files_come_before_the_filter),
    ("administrators_get_answers", administrators_get_answers),
    ("a_service_has_its_own_counters", a_service_has_its_own_counters),
    ("a_card_that_cannot_be_killed_holds_up_nobody", long::a_card_that_cannot_be_killed_holds_up_nobody),
    ("long_messages_go_in_files", long::long_messages_go_in_files),
    (
        "files_that_are_not_as_they_should_be_end_a_connection",
        long::files_that_are_not_as_they_should_be_end_a_connection,
    ),
    ("a_user_has_a_limit_for_long_messages", long::a_user_has_a_limit_for_long_messages),
    ("the_client_gets_replies_of_any_length", long::the_client_gets_replies_of_any_length),
];

fn main() -> ExitCode {
    let first = std::env::args().nth(1).unwrap_or_default();
    if first == adjunct_card_host::daemon::CARD || first == "--folder" {
        return adjunct_card_host::run(&served::SERVICES);
    }
    if first == long::CLIENT {
        long::client();
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if std::env::args().any(|word| word == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    for (name, test) in TESTS {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            println!("test {name} ...");
            test();
        }
    }
    println!("test result: ok");
    ExitCode::SUCCESS
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < limit, "{what}: not within 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// An adjunctd of these services.
struct Daemon {
    folder: tempfile::TempDir,
    child: Child,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Page::remove(self.folder.path());
    }
}

fn command(folder: &Path, config: &str) -> Command {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.join("cards.conf"), config).unwrap();
    let mut command = Command::new("/proc/self/exe");
    command.arg("--folder").arg(folder).arg("--config").arg(folder.join("cards.conf"));
    command
}

impl Daemon {
    fn start(config: &str) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let child = command(folder.path(), config).spawn().unwrap();
        let daemon = Daemon { folder, child };
        until("cards that are ready", || {
            let ready = |card: &Card| card.confined.is_some() || !card.config;
            state::read(&daemon.of().state()).is_ok_and(|machine| machine.cards.iter().all(ready))
        });
        daemon
    }

    fn of(&self) -> Folder {
        Folder::at(self.folder.path())
    }

    fn machine(&self) -> Machine {
        state::read(&self.of().state()).unwrap()
    }

    /// The process of a card.
    fn card_process(&self, id: u8) -> i32 {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let of = |child: &&str| {
            let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            let words: Vec<_> = words.split(|byte| *byte == 0).collect();
            words.get(4).is_some_and(|word| *word == id.to_string().as_bytes())
        };
        let children = std::fs::read_to_string(children).unwrap();
        children.split_whitespace().find(of).unwrap().parse().unwrap()
    }

    fn card(&self, id: u8) -> Card {
        self.machine().cards.into_iter().find(|card| card.id == id).unwrap()
    }

    fn domain(&self, domain: u8) -> Program {
        let path = self.of().domain_socket(Mode::Ep11, 1, domain);
        Program { socket: connect(&path).unwrap(), service: Service::Test, domain }
    }

    fn shared(&self) -> Program {
        Program { socket: connect(&self.of().socket()).unwrap(), service: Service::Accelerator, domain: 0 }
    }

    fn administer(&self, device: Device, order: Value) -> Reply {
        control::ask(&self.of().control(), &Request::Administer(device, order)).unwrap()
    }
}

fn connect(path: &Path) -> Option<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let socket = socket.unwrap();
    rustix::net::connect(&socket, &SocketAddrUnix::new(path).unwrap()).ok()?;
    Some(socket)
}

/// A program with a connection.
struct Program {
    socket: OwnedFd,
    service: Service,
    domain: u8,
}

/// The reply to a request: its status, what came back, the user, and the requests of the connection so far.
type Answer = (u16, Vec<u8>, String, u64);

impl Program {
    fn send(&self, call: u16, bytes: &[u8]) {
        let head = Head { service: self.service, domain: self.domain, call, status: 0, number: 77 };
        let mut message = vec![0; frame::length(&[(BYTES, bytes)]).unwrap()];
        frame::write(&mut message, &head, &[(BYTES, bytes)]).unwrap();
        let _ = rustix::net::send(&self.socket, &message, SendFlags::NOSIGNAL);
    }

    /// The answer; `None` where the connection has ended.
    fn answer(&self) -> Option<Answer> {
        let mut buffer = vec![0; 200_000];
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert!(poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&limit)).unwrap() > 0, "no answer in 20 s");
        let (length, _) = rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT).ok()?;
        let frame = Frame::parse(&buffer[..length])?;
        assert_eq!((frame.head.service, frame.head.domain, frame.head.number), (self.service, self.domain, 77));
        let field = |tag| frame.field(tag).unwrap_or_default().to_vec();
        let count = field(COUNT).try_into().map_or(0, u64::from_le_bytes);
        Some((frame.head.status, field(BYTES), String::from_utf8(field(USER)).unwrap(), count))
    }

    fn ask(&self, call: u16, bytes: &[u8]) -> Option<Answer> {
        self.send(call, bytes);
        self.answer()
    }
}

fn each_mode_gets_its_own_requests() {
    let daemon = Daemon::start(CARDS);
    let requests = |id| daemon.card(id).requests;
    // One after the other: a connection is for the card with the fewest requests so far.
    for _ in 0..100 {
        assert_eq!(daemon.shared().ask(ECHO, b"x").unwrap().0, Status::Done as u16);
    }
    assert_eq!((requests(0) + requests(3), requests(1)), (100, 0));
    assert!(requests(0) > 0 && requests(3) > 0, "both cards of the mode serve");
    assert_eq!(daemon.domain(5).ask(ECHO, b"y").unwrap().1, b"y");
    assert_eq!((requests(0) + requests(3), requests(1)), (100, 1));
    // Where no card of the mode takes programs, none of another does.
    for card in [0, 3] {
        let offline = Request::SetOnline(Device { card, domain: None }, false);
        assert_eq!(control::ask(&daemon.of().control(), &offline).unwrap(), Reply::Done);
    }
    assert_eq!(daemon.shared().ask(ECHO, b"x"), None);
    assert_eq!(requests(1), 1);
    let (page, _) = Page::find(daemon.folder.path()).unwrap();
    assert_eq!(page.cards(), 0, "programs count the cards that they share");
    // A domain that is offline serves nobody, and the other goes on.
    let offline = Request::SetOnline(Device { card: 1, domain: Some(5) }, false);
    assert_eq!(control::ask(&daemon.of().control(), &offline).unwrap(), Reply::Done);
    assert_eq!(daemon.domain(5).ask(ECHO, b"x"), None);
    assert_eq!(daemon.domain(255).ask(ECHO, b"x").unwrap().1, b"x");
}

fn a_domain_has_a_socket_for_whom_the_configuration_says() {
    let mut daemon = Daemon::start(CARDS);
    let [first, second] = [5, 255].map(|domain| daemon.of().domain_socket(Mode::Ep11, 1, domain));
    assert!(first.ends_with("ep11-01.0005.sock") && second.ends_with("ep11-01.00ff.sock"));
    for path in [&first, &second] {
        let found = std::fs::metadata(path).unwrap();
        assert_eq!((found.mode() & 0o7777, found.uid()), (0o666, rustix::process::geteuid().as_raw()));
    }
    // They go with the daemon.
    // SAFETY: no pointers.
    unsafe { libc::kill(daemon.child.id().cast_signed(), libc::SIGTERM) };
    assert!(daemon.child.wait().unwrap().success());
    assert!(!first.exists() && !second.exists());
    if is_root() {
        let owned = "[[card]]\nid = 1\nmode = \"ep11\"\nowner = \"54321\"\ngroup = \"54322\"\nmode-bits = \"0640\"\n";
        let daemon = Daemon::start(owned);
        let found = std::fs::metadata(daemon.of().domain_socket(Mode::Ep11, 1, 0)).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (54_321, 54_322, 0o640));
    }
    for (line, why) in [
        ("owner = \"nobody-of-this-name\"", "card 1: there is no user nobody-of-this-name"),
        ("group = \"nobody-of-this-name\"", "card 1: there is no group nobody-of-this-name"),
        ("mode-bits = \"0777\"", "mode-bits"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = format!("[[card]]\nid = 1\nmode = \"ep11\"\n{line}\n");
        let output = command(folder.path(), &config).stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(why) && text.lines().count() == 1, "{text}");
        Page::remove(folder.path());
    }
}

fn what_is_not_for_a_domain_ends_a_connection() {
    let daemon = Daemon::start(CARDS);
    let connection = |service, domain| Program { service, domain, ..daemon.domain(5) };
    assert_eq!(connection(Service::Test, 6).ask(ECHO, b"x"), None, "another domain");
    assert_eq!(connection(Service::Test, 255).ask(ECHO, b"x"), None, "a domain of the same card");
    assert_eq!(connection(Service::Accelerator, 5).ask(ECHO, b"x"), None, "another service");
    assert_eq!(connection(Service::Test, 5).ask(99, b"x"), None, "no such call");
    let long = vec![7; 99_000];
    let program = daemon.domain(5);
    assert_eq!(program.ask(ECHO, &long).unwrap().1, long, "more than an accelerator's operation");
    assert_eq!(program.ask(ECHO, &vec![7; 102_400]), None, "longer than a request may be");
}

fn a_service_knows_uid_gid_and_groups() {
    let daemon = Daemon::start(CARDS);
    let (_, _, user, _) = daemon.domain(5).ask(ECHO, b"").unwrap();
    let groups: Vec<u32> = rustix::process::getgroups().unwrap().into_iter().map(|gid| gid.as_raw()).collect();
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    assert!(user.starts_with(&format!("{uid} {gid} [")), "{user} {groups:?}");
    if !is_root() {
        println!("SKIPPED: only root can be several users");
        return;
    }
    // Rights of this thread alone, as they were when it connected: more groups than are looked for at first.
    let many: Vec<u32> = (70_000..70_100).collect();
    let user = std::thread::scope(|scope| {
        let asks = || {
            // SAFETY: the list lives, and is as long as is said; the other two have no pointers.
            let changed = unsafe {
                libc::syscall(libc::SYS_setgroups, many.len(), many.as_ptr())
                    | libc::syscall(libc::SYS_setresgid, -1, OTHER, -1)
                    | libc::syscall(libc::SYS_setresuid, -1, OTHER, -1)
            };
            assert_eq!(changed, 0);
            let program = daemon.domain(5);
            program.ask(ECHO, b"").unwrap();
            program.ask(ECHO, b"").unwrap()
        };
        scope.spawn(asks).join().unwrap()
    });
    assert_eq!((user.2, user.3), (format!("{OTHER} {OTHER} {many:?}"), 2));
    // One that needs no groups does not ask for them.
    let (_, _, user, _) = daemon.shared().ask(ECHO, b"").unwrap();
    assert_eq!(user, format!("{uid} {gid} []"));
}

fn one_card_that_cannot_serve_goes_alone() {
    let daemon = Daemon::start(CARDS);
    let machine = daemon.machine();
    assert_eq!(machine.cards.iter().map(|card| card.config).collect::<Vec<_>>(), [true, true, false, true]);
    let card = daemon.card(2);
    assert_eq!((card.remark.as_str(), card.confined), ("No machine has what this needs.", None));
    assert!(machine.remark.is_empty(), "others serve: {}", machine.remark);
    assert_eq!(daemon.shared().ask(ECHO, b"x").unwrap().1, b"x");
    // It is asked again, and says so again.
    assert_eq!(control::ask(&daemon.of().control(), &Request::SetConfig(2, true)).unwrap(), Reply::Done);
    until("a card that is off again", || !daemon.card(2).config && !daemon.card(2).remark.is_empty());
    // Alone on the machine, it is the machine's reason.
    let daemon = Daemon::start("[[card]]\nid = 2\nmode = \"cca\"\n");
    assert_eq!(daemon.machine().remark, "No machine has what this needs.");
}

fn who_has_no_room_waits_or_is_refused() {
    let daemon = Daemon::start(CARDS);
    let status = |program: &Program| program.answer().map(|answer| answer.0);
    let (many, done, busy) = (40, Some(Status::Done as u16), Some(Status::Busy as u16));
    // Refused, where a service says nothing else.
    let offline = Request::SetOnline(Device { card: 3, domain: None }, false);
    assert_eq!(control::ask(&daemon.of().control(), &offline).unwrap(), Reply::Done);
    let shared: Vec<Program> = (0..many).map(|_| daemon.shared()).collect();
    shared.iter().for_each(|program| program.send(SLOW, &[20]));
    let answers: Vec<_> = shared.iter().map(status).collect();
    let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
    assert!(count(done) >= 4 && count(busy) > 0 && count(done) + count(busy) == many, "{answers:?}");
    // Read no further, where it does: all are done, and no more wait in the card than may.
    let domains: Vec<Program> = (0..many).map(|_| daemon.domain(5)).collect();
    domains.iter().for_each(|program| program.send(SLOW, &[20]));
    until("requests that wait", || daemon.card(1).queues[0].requestq >= 3);
    let begin = Instant::now();
    if is_root() {
        // Another user does not wait behind them.
        let other = std::thread::scope(|scope| {
            let asks = || {
                // SAFETY: no pointers; the rights of this thread alone.
                assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, -1, OTHER, -1) }, 0);
                daemon.domain(5).ask(ECHO, b"x").unwrap().0
            };
            scope.spawn(asks).join().unwrap()
        });
        assert_eq!((other, daemon.card(1).queues[0].requestq >= 1), (0, true), "{:?}", begin.elapsed());
    }
    let mut most = 0;
    for program in &domains {
        assert_eq!(status(program), done);
        most = most.max(daemon.card(1).queues[0].requestq);
    }
    assert!(most <= 4, "{most}");
    // Some that go while they wait, and one that asks again.
    let domains: Vec<Program> = (0..many).map(|_| daemon.domain(5)).collect();
    domains.iter().for_each(|program| program.send(SLOW, &[5]));
    let stays = daemon.domain(5);
    stays.send(SLOW, &[5]);
    drop(domains);
    assert_eq!(status(&stays), done);
    assert_eq!(stays.ask(ECHO, b"x").unwrap().3, 2);
    until("nothing under way", || daemon.card(1).queues.iter().all(|q| q.requestq + q.pendingq + q.load == 0));
}

fn files_come_before_the_filter() {
    let daemon = Daemon::start(CARDS);
    let path = daemon.folder.path().join("files/ep11-01.vault");
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!((found.mode() & 0o7777, found.len()), (0o600, 0));
    assert!(daemon.folder.path().join("files/ep11-01.audit").exists());
    assert_eq!(daemon.domain(5).ask(VAULT, b"first").unwrap().1, b"");
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    let confined = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    assert_eq!(daemon.card(1).confined, Some(confined));
    if confined {
        assert_eq!(daemon.domain(5).ask(FORBIDDEN, b""), None, "the process is ended");
    }
    // The next has the file, too.
    until("a card that serves again", || daemon.domain(5).ask(ECHO, b"x").is_some());
    assert_eq!(daemon.domain(5).ask(VAULT, b"later").unwrap().1, b"first");
}

fn administrators_get_answers() {
    let daemon = Daemon::start(CARDS);
    let (card, domain) = (Device { card: 1, domain: None }, Device { card: 1, domain: Some(255) });
    let refused = |reply: Reply| match reply {
        Reply::Refused(number, why) => (number, why),
        other => panic!("{other:?}"),
    };
    let groups = rustix::process::getgroups().unwrap().len();
    let who =
        |domain: Option<u8>| json!({ "uid": rustix::process::geteuid().as_raw(), "groups": groups, "domain": domain });
    assert_eq!(daemon.administer(card, json!({ "order": "who" })), Reply::Administered(who(None)));
    assert_eq!(daemon.administer(domain, json!({ "order": "who" })), Reply::Administered(who(Some(255))));
    assert_eq!(refused(daemon.administer(card, json!("nothing"))), (libc::EINVAL, "no such order".into()));
    assert_eq!(refused(daemon.administer(Device { card: 9, domain: None }, json!(1))).0, libc::ENODEV);
    assert_eq!(refused(daemon.administer(Device { card: 1, domain: Some(6) }, json!(1))).0, libc::ENODEV);
    assert_eq!(refused(daemon.administer(Device { card: 2, domain: None }, json!("self-test"))).0, libc::ENODEV);
    // One that ends before it has answered.
    let (number, why) = refused(daemon.administer(card, json!({ "order": "end" })));
    assert_eq!((number, why.as_str()), (libc::ENODEV, "the card has ended"));
    until("a card that serves again", || daemon.domain(5).ask(ECHO, b"x").is_some());
    // The self-test: once more, and then it fails.
    assert_eq!(
        daemon.administer(card, json!("self-test")),
        Reply::Administered(json!({ "passed": true, "why": null }))
    );
    let failed = json!({ "passed": false, "why": "the third test" });
    assert_eq!(daemon.administer(card, json!("self-test")), Reply::Administered(failed));
    until("a card that is stopped", || daemon.card(1).chkstop);
    assert_eq!(daemon.card(1).remark, "the third test");
}

fn a_service_has_its_own_counters() {
    let daemon = Daemon::start(CARDS);
    assert_eq!(daemon.card(0).counters, ["Quick", "Slow"]);
    let program = daemon.domain(255);
    for (call, times) in [(ECHO, 3), (SLOW, 2)] {
        (0..times).for_each(|_| assert_eq!(program.ask(call, &[1]).unwrap().0, 0));
    }
    let card = daemon.card(1);
    assert_eq!((card.hwtype, card.kind.as_str(), card.max_message), (13, "ADJ8P", 1 << 20));
    assert_eq!(card.counters, ["Symm. Complete", "Asym. Slow"]);
    let done = |queue: usize| card.queues[queue].counters.iter().map(|work| work.operations).collect::<Vec<_>>();
    assert_eq!((done(0), done(1)), (vec![0, 0], vec![3, 2]));
    assert!(card.queues[1].counters[1].busy >= 2_000_000);
}
