//! `adjunct doctor --restarts`: lists, asks, and restarts services by systemctl alone. The machine is a made-up /proc, systemd a script.

mod script;

use script::script;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    /// Processes with the control group of each; all of them run an old libcrypto.
    fn new(processes: &[(u32, &str)]) -> Machine {
        let machine = Machine { dir: tempfile::tempdir().unwrap() };
        let file = |name: String, text: &str| {
            let path = machine.dir.path().join("proc").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("stat".to_owned(), "btime 1000000000\n");
        file("1/cgroup".to_owned(), "0::/init.scope\n");
        for (pid, cgroup) in processes {
            file(
                format!("{pid}/stat"),
                &format!("{pid} (prog) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 1 1 0\n"),
            );
            file(format!("{pid}/comm"), "prog\n");
            file(format!("{pid}/cgroup"), &format!("0::{cgroup}\n"));
            file(format!("{pid}/maps"), "7f00-7f01 r-xp 0 fe:00 3 /usr/lib/libcrypto.so.3 (deleted)\n");
        }
        let log = machine.dir.path().join("log");
        fs::write(&log, "").unwrap();
        // One service does not come up again, and one cannot be restarted.
        let text = format!(
            "#!/bin/sh\necho \"$*\" >>'{}'\ncase \"$*\" in\n\
             'restart -- broken.service') echo 'Job for broken.service failed.' >&2; exit 1;;\n\
             'is-active -- broken.service'|'is-active -- down.service') echo failed; exit 3;;\n\
             is-active*) echo active;;\nesac\n",
            log.display()
        );
        script(&machine.dir.path().join("systemctl"), &text);
        machine
    }

    fn path(&self) -> String {
        format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.dir.path().display())
    }

    fn words(&self) -> [String; 4] {
        let proc = self.dir.path().join("proc").display().to_string();
        ["doctor".to_owned(), "--restarts".to_owned(), "--proc".to_owned(), proc]
    }

    fn runs(&self, more: &[&str]) -> Output {
        let mut command = Command::new(ADJUNCT);
        command.args(self.words()).args(more).env("PATH", self.path()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Runs at a terminal where `answers` is typed; gives what is shown.
    fn asks(&self, answers: &str) -> String {
        let line = format!("'{ADJUNCT}' {}; echo status=$?", self.words().map(|word| format!("'{word}'")).join(" "));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("PATH", self.path()).env("SHELL", "/bin/sh").env("TERM", "dumb");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(answers.as_bytes()).unwrap();
        // The terminal stays until the command has ended.
        let output = child.wait_with_output();
        drop(stdin);
        String::from_utf8_lossy(&output.unwrap().stdout).replace('\r', "")
    }

    /// What systemctl was told, and forgets it.
    fn log(&self) -> Vec<String> {
        let path = self.dir.path().join("log");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, "").unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn root() -> bool {
    nix::unistd::geteuid().is_root() || {
        println!("SKIPPED: only root restarts services");
        false
    }
}

#[test]
fn without_a_terminal_it_lists_and_with_yes_it_restarts() {
    if !root() {
        return;
    }
    let machine = Machine::new(&[
        (4242, "/system.slice/nginx.service"),
        (4243, "/system.slice/nginx.service"),
        (4244, "/system.slice/dbus.service"),
        (4245, "/user.slice/user-1000.slice/session-3.scope"),
    ]);
    let listed = machine.runs(&[]);
    assert!(listed.status.success() && machine.log().is_empty());
    let told = String::from_utf8_lossy(&listed.stderr).into_owned();
    let listed = text(&listed);
    for line in ["nginx.service (processes 4242, 4243) still runs", "dbus.service (process 4244)", "log in again"] {
        assert!(listed.contains(line), "{listed}");
    }
    assert!(!listed.contains('?'), "nobody is asked: {listed}");
    assert!(told.contains("there is no terminal to ask at; --yes restarts the services listed"), "{told}");
    let done = machine.runs(&["--yes"]);
    assert!(done.status.success());
    let said = text(&done);
    assert!(said.contains("nginx.service: restarted, active\n"), "{said}");
    assert!(said.contains("dbus.service: left as it is: its restart ends sessions"), "{said}");
    assert!(said.ends_with("restarted 1, left 1, failed 0\n"), "{said}");
    assert_eq!(machine.log(), ["restart -- nginx.service", "is-active -- nginx.service"]);
    let refused = machine.runs(&["--yes", "--json"]);
    assert_eq!((refused.status.code(), machine.log().len()), (Some(2), 0));
}

#[test]
fn what_does_not_come_up_again_is_told() {
    if !root() {
        return;
    }
    let machine = Machine::new(&[
        (4242, "/system.slice/broken.service"),
        (4243, "/system.slice/down.service"),
        (4244, "/system.slice/up.service"),
    ]);
    let done = machine.runs(&["--yes"]);
    let said = text(&done);
    assert_eq!(done.status.code(), Some(1), "{said}");
    for line in [
        "broken.service: Job for broken.service failed.; see: systemctl status broken.service\n",
        "down.service: restarted, and is failed; see: systemctl status down.service\n",
        "up.service: restarted, active\n",
        "restarted 1, left 0, failed 2\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn at_a_terminal_each_is_asked_for() {
    if !root() {
        return;
    }
    if Command::new("script").arg("--version").output().is_err() {
        return println!("SKIPPED: no script(1) here");
    }
    let machine = Machine::new(&[
        (4242, "/system.slice/apache2.service"),
        (4243, "/system.slice/dbus.service"),
        (4244, "/system.slice/nginx.service"),
    ]);
    let shown = machine.asks("n\ny\n\n");
    for line in [
        "restart apache2.service? [y/N, q to end]",
        "apache2.service: left as it is",
        "dbus.service: restarted, active",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.contains("restarted 1, left 2, failed 0") && shown.contains("status=0"), "{shown}");
    assert_eq!(machine.log(), ["restart -- dbus.service", "is-active -- dbus.service"]);
    let shown = machine.asks("q\n");
    assert!(shown.contains("restart apache2.service?") && !shown.contains("restart nginx.service?"), "{shown}");
    assert!(machine.log().is_empty());
}

#[test]
fn a_number_has_its_page() {
    let page = |word: &str| Command::new(ADJUNCT).args(["doctor", word]).output().unwrap();
    let shown = page("ADJ-D004");
    assert!(text(&shown).starts_with("## ADJ-D004: started-before\n") && shown.status.success());
    let none = page("ADJ-D999");
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no such advice"));
}
