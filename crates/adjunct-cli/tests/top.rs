//! `adjunct top`: printed once, and live on a pseudo-terminal that it leaves as it was.

mod counted;

use counted::{ADJUNCT, Counters};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

#[test]
fn once_for_programs_and_for_people() {
    let counters = Counters::new("top");
    counters.count();
    let report: serde_json::Value =
        serde_json::from_str(&counters.prints(&["top", "--once", "--json", "--interval", "0.1"])).unwrap();
    let rows = report["functions"].as_array().unwrap();
    let gcm = rows.iter().find(|row| row["function"] == "AES GCM").unwrap();
    assert_eq!((&gcm["operations"], &gcm["operations_per_second"]), (&3.into(), &0.0.into()), "{gcm}");
    assert_eq!(report["reasons"][0]["reason"], "handed to OpenSSL's default provider");
    assert_eq!(report["users"][0]["operations"], 5);
    assert!(report["seconds"].as_f64().unwrap() >= 0.1 && report["cards"].as_array().unwrap().is_empty());
    let text = counters.prints(&["top", "--once", "--interval", "0.1", "--filter", "gcm"]);
    assert!(text.starts_with("FUNCTION ") && text.contains("\nAES GCM ") && !text.contains("RSA"), "{text}");
    let text = counters.prints(&["top", "--once", "--interval", "0.1", "--view", "cards"]);
    assert!(text.starts_with("no cards: adjunctd does not run"), "{text}");
    for (args, words) in
        [(&["top"][..], "--once"), (&["top", "--interval", "0"], "0.1 to 3600"), (&["top", "--json"], "--once")]
    {
        let output = counters.adjunct(args).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(words), "{args:?}");
    }
}

/// Not a test: a process that counts until it is ended.
#[test]
#[ignore = "run by rates_are_of_what_happens_now"]
fn count_on_and_on() {
    adjunct::init();
    let gcm = counted::tally::Tally::new(adjunct::catalogue::Function::AesGcm, 256);
    loop {
        gcm.count(adjunct::catalogue::Direction::Encrypt, 16);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn rates_are_of_what_happens_now_and_of_the_process_that_does_it() {
    let counters = Counters::new("rates");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "count_on_and_on", "--ignored"]).stdout(Stdio::null()).env("ADJUNCT_STATS", "on");
    let mut counting = counters.in_here(command);
    let mut child = counting.env("ADJUNCT_STATS", "on").spawn().unwrap();
    let start = Instant::now();
    let found = loop {
        let text = counters.prints(&["top", "--once", "--json", "--interval", "0.5"]);
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rate = |row: &serde_json::Value| row["operations_per_second"].as_f64().unwrap_or(0.0);
        let of_function = report["functions"].as_array().unwrap().iter().map(rate).sum::<f64>();
        if of_function > 5.0 {
            break report;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{report}");
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let pid = child.id().to_string();
    let row = found["processes"].as_array().unwrap().iter().find(|row| row["pid"] == pid.as_str()).cloned();
    let row = row.unwrap_or_else(|| panic!("{found}"));
    assert!(row["operations_per_second"].as_f64().unwrap() > 5.0 && row["threads"] == 1, "{row}");
    assert!(row["bytes_per_second"].as_f64().unwrap() > 80.0, "{row}");
    assert_eq!(found["users"][0]["processes"], 1, "{found}");
}

/// A program on a pseudo-terminal of 80 columns and 24 lines, which script(1) makes.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn new(counters: &Counters, plain: bool) -> Terminal {
        let mut command = Command::new("script");
        let inner = format!(
            "stty cols 80 rows 24; echo before=$(stty -g); sh -c 'echo pid=$$=; exec \"{ADJUNCT}\" top -i 0.2'; \
             echo status=$?=; echo after=$(stty -g)"
        );
        command.args(["-qec", &inner, "/dev/null"]).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        let mut command = counters.in_here(command);
        if plain {
            // Whatever the value says.
            command.env("NO_COLOR", "1");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut output, (sender, receiver)) = (child.stdout.take().unwrap(), channel());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let _ = sender.send(buffer[..count].to_vec());
            }
        });
        let keys = child.stdin.take();
        Terminal { child, keys, output: receiver, seen: String::new() }
    }

    /// Waits for some text, which is looked for from where the last was found.
    fn sees(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let some: String = self.seen.chars().take(2000).collect();
            assert!(start.elapsed() < Duration::from_secs(60), "no {text:?} in {some:?}");
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
                self.seen += &String::from_utf8_lossy(&bytes);
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn setting(&mut self, name: &str) -> String {
        self.sees(&format!("{name}="));
        self.sees("\n").trim().to_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_terminal_is_left_as_it_was() {
    if Command::new("script").arg("--version").output().is_err() {
        return println!("SKIPPED: no script(1) here");
    }
    let counters = Counters::new("terminal");
    counters.count();
    for how in ["q", "signal", "plain"] {
        let mut terminal = Terminal::new(&counters, how == "plain");
        let before = terminal.setting("before");
        terminal.sees("pid=");
        let pid = terminal.sees("=").trim_end_matches('=').to_owned();
        let drawn = terminal.sees("\x1b[?1049h") + &terminal.sees("GCM");
        assert!(drawn.contains("RSA-CRT"), "{drawn:?}");
        if how == "signal" {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        } else {
            terminal.press("2");
            terminal.sees("PROCS");
            terminal.press("q");
        }
        let left = terminal.sees("\x1b[?1049l");
        let coloured =
            (drawn + &left).split("\x1b[").skip(1).any(|code| code.starts_with("38;") || code.starts_with("32m"));
        assert!(!(how == "plain" && coloured), "{left:?}");
        terminal.sees("status=");
        let status = terminal.sees("=");
        assert_eq!(status, if how == "signal" { "1=" } else { "0=" }, "{how}");
        assert_eq!(terminal.setting("after"), before, "{how}");
    }
}
