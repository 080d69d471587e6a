//! `pkcsconf` with modules: ours, whose accelerator token has no PINs, and SoftHSM, whose tokens have them.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
#[path = "../../adjunct-cli/tests/own_pkcs11/mod.rs"]
mod own_pkcs11;

use adjunct_pkcs11_client::Module;
use copy::copy;
use own_pkcs11::own_pkcs11;
use rustix::fs::{Mode, OFlags};
use rustix::termios::LocalModes;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ZTOOLS: &str = env!("CARGO_BIN_EXE_adjunct-ztools");
const SOFTHSM: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// How a run ended, and what it said.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    status: i32,
    out: String,
    err: String,
}

fn said(output: Output) -> Said {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { status: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn expected(status: i32, out: &str, err: &str) -> Said {
    Said { status, out: out.to_owned(), err: err.to_owned() }
}

fn run(command: &mut Command, input: &str) -> Said {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // What ends before it has read all is no failure.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    said(child.wait_with_output().unwrap())
}

/// The program with a module beside it.
struct Ours {
    dir: TempDir,
}

impl Ours {
    fn new() -> Option<Ours> {
        let module = own_pkcs11()?;
        let dir = tempfile::tempdir().unwrap();
        copy(ZTOOLS, &dir.path().join("pkcsconf"));
        copy(module, &dir.path().join("adjunct-pkcs11.so"));
        Some(Ours { dir })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.dir.path().join("pkcsconf"));
        command.arg0("pkcsconf").args(args).env_remove("PKCSLIB").env("ADJUNCT_STATS", "off");
        command
    }

    fn run(&self, args: &[&str], input: &str) -> Said {
        run(&mut self.command(args), input)
    }
}

const USAGE: &str = "usage:\tpkcsconf [-itsmIupPh] [-c slotnumber -U userPIN -S SOPin -n newpin]\n\
    \t-i display PKCS11 info\n\t-t display token info\n\t-s display slot info\n\t-m display mechanism list\n\
    \t-l display slot description\n\t-I initialize token \n\t-u initialize user PIN\n\t-p set the user PIN\n\
    \t-P set the SO PIN\n\t-h show this help\n";

fn bare(args: &[&str]) -> Said {
    let mut command = Command::new(ZTOOLS);
    said(command.arg0("pkcsconf").args(args).env("PKCSLIB", "/nowhere/module.so").output().unwrap())
}

#[test]
fn the_usage_answers_whatever_makes_no_sense() {
    for args in [&["-h"][..], &[], &["-I"], &["-u", "-t"], &["-S", "12345678"]] {
        assert_eq!(bare(args), expected(255, USAGE, ""), "{args:?}");
    }
    // As the papers write it: refused by today's openCryptoki.
    assert_eq!(bare(&["-m", "-c", "1", "n"]), expected(255, USAGE, "pkcsconf: unrecognized option --- 'n'\n"));
    assert_eq!(bare(&["-t", "-c", "x"]), expected(255, USAGE, "pkcsconf: Must specify a decimal number as slot.\n"));
    assert_eq!(bare(&["-c1", "-c1"]), expected(255, USAGE, "pkcsconf: Must specify a single slot.\n"));
    assert_eq!(bare(&["-x"]), expected(255, USAGE, "pkcsconf: invalid option -- 'x'\n"));
}

#[test]
fn a_module_that_does_not_load_is_6() {
    let absent = bare(&["-t"]);
    let (first, rest) = absent.err.split_once('\n').unwrap();
    assert_eq!((absent.status, absent.out.as_str(), first), (6, "", "pkcsconf: Error loading PKCS#11 library"));
    assert!(rest.starts_with("pkcsconf: /nowhere/module.so: "), "{rest}");
    for (name, words) in [("libnowhere.so", "pkcsconf: dlopen error: "), ("libc.so.6", "symbol not found")] {
        let mut command = Command::new(ZTOOLS);
        let output = said(command.arg0("pkcsconf").arg("-t").env("PKCSLIB", name).output().unwrap());
        assert!(output.status == 6 && output.err.contains(words) && output.out.is_empty(), "{output:?}");
    }
}

#[test]
fn the_accelerator_token_is_shown() {
    let Some(ours) = Ours::new() else { return };
    let shown = |args: &[&str]| {
        let Said { status, out, err } = ours.run(args, "");
        assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
        out
    };
    let info = shown(&["-i"]);
    assert!(info.starts_with("PKCS#11 Info\n\tVersion 3.2 \n\tManufacturer: adjunct "), "{info}");
    assert!(info.contains(" \n\tFlags: 0x0  \n\tLibrary Description: ") && info.lines().count() == 7, "{info}");
    let slot = shown(&["-s", "-c", "1"]);
    assert!(slot.starts_with("Slot #1 Info\n\tDescription: adjunct ICA  "), "{slot}");
    assert!(slot.contains("\n\tFlags: 0x1 (TOKEN_PRESENT|\x08)\n"), "{slot}");
    let description = slot.lines().nth(1).unwrap();
    assert_eq!(shown(&["-l", "-c1"]), format!("1:{description}\n"));
    assert!(shown(&["-l"]).starts_with(&format!("1:{description}\n")));
    let token = shown(&["-tc", "1"]);
    let lines: Vec<_> = token.lines().collect();
    assert_eq!(lines[..2], ["Token #1 Info:", &format!("\tLabel: {:<32}", "icatok")], "{token}");
    assert_eq!(lines[3], format!("\tModel: {:<16}", "ICA"), "{token}");
    assert!(lines[5].contains(" (RNG|") && lines[5].contains("|TOKEN_INITIALIZED|\x08)"), "{token}");
    assert_eq!(lines[6], "\tSessions: 0/[effectively infinite]", "{token}");
    assert!(lines[14].contains("manufacturer=adjunct;model=ICA;") && lines[14].ends_with("token=icatok"), "{token}");
    assert_eq!(lines.len(), 15, "{token}");
    // In openCryptoki's order, whatever that of the options.
    let all = shown(&["-ti"]);
    assert!(all.starts_with(&info) && all[info.len()..].starts_with(&token), "{all}");
}

/// Every mechanism of the module's list is there, at its place, by its name.
#[test]
fn all_mechanisms_are_shown() {
    let Some(ours) = Ours::new() else { return };
    let mut module = Module::load(ours.dir.path().join("adjunct-pkcs11.so")).unwrap();
    module.initialize().unwrap();
    let mechanisms = module.mechanisms(1, module.mechanism_count(1).unwrap()).unwrap();
    assert!(!mechanisms.is_empty());
    let listed = ours.run(&["-m", "-c", "1"], "");
    assert_eq!((listed.status, listed.err.as_str()), (0, ""));
    let rows: Vec<_> = listed.out.lines().collect();
    assert_eq!(rows.len(), 4 * mechanisms.len());
    for (place, (&mechanism, row)) in mechanisms.iter().zip(rows.chunks(4)).enumerate() {
        let name = adjunct_mechanisms::names::mechanism(mechanism).unwrap();
        let info = module.mechanism_info(1, mechanism).unwrap();
        assert_eq!(row[0], format!("Mechanism #{place}"));
        assert_eq!(row[1], format!("\tMechanism: 0x{mechanism:X} ({name})"));
        assert_eq!(row[2], format!("\tKey Size: {}-{}", info.ulMinKeySize, info.ulMaxKeySize));
        assert!(row[3].starts_with(&format!("\tFlags: 0x{:X} (CKF_", info.flags)), "{}", row[3]);
    }
    assert!(ours.run(&["-m"], "").out.starts_with("Mechanism Info for Slot #1:\nMechanism #0\n"));
}

#[test]
fn a_token_without_pins_says_so() {
    let Some(ours) = Ours::new() else { return };
    let no_pins = "pkcsconf: This token has no PINs: it needs no login and no initialization.\n";
    let initialized = ours.run(&["-I", "-c", "1", "-S", "87654321"], "label\n");
    assert_eq!((initialized.status, initialized.out.as_str()), (84, "Enter a unique token label: "));
    let line = "pkcsconf: Error initializing token: 0x54 (CKR_FUNCTION_NOT_SUPPORTED)\n";
    // The module's own line, which names a token that would do, comes first.
    let (module, own) = initialized.err.split_once('\n').unwrap();
    assert!(module.contains("is an accelerator") && module.contains("'adjunct token init --slot 3"), "{module}");
    assert_eq!(own, format!("{line}{no_pins}"));
    let officer = ours.run(&["-u", "-c", "1", "-S", "87654321", "-n", "1234"], "");
    assert!(officer.status != 0 && officer.err.ends_with(no_pins), "{officer:?}");
    let unknown = expected(3, "", "pkcsconf: Error getting token info: 0x3 (CKR_SLOT_ID_INVALID)\n");
    assert_eq!(ours.run(&["-t", "-c", "77"], ""), unknown);
}

/// SoftHSM with one uninitialized token.
struct SoftHsm {
    dir: TempDir,
}

impl SoftHsm {
    fn new() -> Option<SoftHsm> {
        if !Path::new(SOFTHSM).is_file() {
            eprintln!("SKIPPED: {SOFTHSM} is not installed");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let tokens = dir.path().join("tokens");
        std::fs::create_dir(&tokens).unwrap();
        let conf = format!("directories.tokendir = {}\nobjectstore.backend = file\n", tokens.display());
        std::fs::write(dir.path().join("softhsm2.conf"), conf).unwrap();
        Some(SoftHsm { dir })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(ZTOOLS);
        command.arg0("pkcsconf").args(args).env("PKCSLIB", SOFTHSM).env("ADJUNCT_STATS", "off");
        command.env("SOFTHSM2_CONF", self.dir.path().join("softhsm2.conf"));
        command
    }

    fn run(&self, args: &[&str], input: &str) -> Said {
        run(&mut self.command(args), input)
    }

    /// The token with this label as `-t` shows it, and its slot, which gets a new number when SoftHSM initializes it.
    fn token(&self, label: &str) -> (String, String) {
        let all = self.run(&["-t"], "").out;
        let tokens = all.split("Token #").find(|token| token.contains(&format!("\tLabel: {label:<32}\n")));
        let token = tokens.unwrap_or_else(|| panic!("{label}: {all}"));
        (token.split(' ').next().unwrap().to_owned(), token.to_owned())
    }
}

/// A token's life: initialized, PINs given and changed, wrong ones refused, exact to the byte.
#[test]
fn a_token_is_set_up_with_pins() {
    let Some(hsm) = SoftHsm::new() else { return };
    let fresh = hsm.run(&["-t", "-c", "0"], "");
    assert!(fresh.status == 0 && fresh.out.starts_with("Token #0 Info:\n"), "{fresh:?}");
    let ended = hsm.run(&["-I", "-c", "0"], "");
    let line = "pkcsconf: No PIN was entered: standard input has ended.\n";
    assert_eq!(ended, expected(80, "Enter the SO PIN: \n", line));
    let ended = hsm.run(&["-I", "-c", "0", "-S", "87654321"], "");
    let line = "pkcsconf: No label was entered: standard input has ended.\n";
    assert_eq!(ended, expected(80, "Enter a unique token label: \n", line));
    let asked = "Enter the SO PIN: \nEnter a unique token label: ";
    assert_eq!(hsm.run(&["-I", "-c", "0"], "87654321\r\npapers\n"), expected(0, asked, ""));
    let (slot, token) = hsm.token("papers");
    assert!(token.contains("LOGIN_REQUIRED|") && token.contains("|TOKEN_INITIALIZED|\x08)\n"), "{token}");
    assert!(token.contains(";token=papers\n"), "{token}");
    // The slots stand as SoftHSM lists them: that of the token, with its high number, before the free one.
    let listed = hsm.run(&["-l"], "").out;
    let numbers: Vec<u64> = listed.lines().map(|line| line.split(':').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, [slot.parse().unwrap(), 1], "{listed}");
    let slot = slot.as_str();
    let new = "Enter the new user PIN: \nRe-enter the new user PIN: \n";
    let wrong = hsm.run(&["-u", "-c", slot], "wrong-pin\n1234\n1234\n");
    assert_eq!((wrong.status, wrong.out), (160, format!("Enter the SO PIN: \n{new}")));
    assert!(wrong.err.starts_with("pkcsconf: Incorrect PIN entered.\n"), "{}", wrong.err);
    let differ = hsm.run(&["-u", "-c", slot, "-S", "87654321"], "1234\n1235\n");
    assert_eq!(differ, expected(161, new, "pkcsconf: Invalid new user pin\n"));
    let given = hsm.run(&["-u", "-c", slot], "87654321\n1234\n1234\n");
    assert_eq!(given, expected(0, &format!("Enter the SO PIN: \n{new}"), ""));
    let changed = hsm.run(&["-p", "-c", slot], "1234\n123456\n123456\n");
    assert_eq!(changed, expected(0, &format!("Enter user PIN: \n{new}"), ""));
    let officer = hsm.run(&["-P", "-c", slot], "87654321\n76543210\n76543210\n");
    let asked = "Enter the SO PIN: \nEnter the new SO PIN: \nRe-enter the new SO PIN: \n";
    assert_eq!(officer, expected(0, asked, ""));
    assert_eq!(hsm.run(&["-P", "-c", slot], "76543210\n\n\n").err, "pkcsconf: Invalid new so pin\n");
}

/// On a terminal, PINs are not shown. Its echo is on again after the question, and after a signal that ends the program there.
#[test]
fn a_terminal_shows_no_pin() {
    let Some(hsm) = SoftHsm::new() else { return };
    let link = hsm.dir.path().join("pkcsconf");
    std::os::unix::fs::symlink(ZTOOLS, &link).unwrap();
    let line = format!("{} -I -c 0; echo \"<$?>\"; stty -a", link.display());
    let session = |answers: &[(&str, &str)]| {
        // A run of the tests in the background may have SIGINT ignored, which programs inherit. The shell goes on after one.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT", "script"])
            .args(["-qec", &format!("tty; stty echo; trap : INT; {line}"), "/dev/null"])
            .env("PKCSLIB", SOFTHSM)
            .env("SHELL", "/bin/sh");
        command.env("SOFTHSM2_CONF", hsm.dir.path().join("softhsm2.conf")).env("ADJUNCT_STATS", "off");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut shown = Vec::new();
        for (question, answer) in answers {
            while !String::from_utf8_lossy(&shown).contains(question) {
                let mut byte = [0];
                assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&shown));
                shown.push(byte[0]);
            }
            if question.ends_with("PIN: ") {
                // Right after the question the echo goes off, and what was typed before is thrown away.
                let said = String::from_utf8_lossy(&shown);
                let name = said.lines().next().unwrap().trim();
                let terminal = rustix::fs::open(name, OFlags::RDONLY | OFlags::NOCTTY, Mode::empty()).unwrap();
                let echoes = || rustix::termios::tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO);
                let began = Instant::now();
                while echoes() {
                    assert!(began.elapsed() < Duration::from_secs(60), "the echo stays on: {said}");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            input.write_all(answer.as_bytes()).unwrap();
        }
        output.read_to_end(&mut shown).unwrap();
        drop(input);
        child.wait().unwrap();
        String::from_utf8(shown).unwrap()
    };
    let done = session(&[("SO PIN: ", "87654321\n"), ("label: ", "typed-label\n")]);
    assert!(!done.contains("87654321") && done.contains("typed-label") && done.contains("<0>"), "{done}");
    assert!(done.contains(" echo ") && !done.contains("-echo "), "{done}");
    let interrupted = session(&[("SO PIN: ", "8765\x03")]);
    assert!(interrupted.contains(" echo ") && !interrupted.contains("-echo "), "{interrupted}");
    assert!(!interrupted.contains("8765") && interrupted.contains("<130>"), "{interrupted}");
}

#[test]
fn both_pins_are_not_set_at_once() {
    let Some(ours) = Ours::new() else { return };
    let line = "pkcsconf: Setting the SO and user PINs are mutually exclusive.\n";
    assert_eq!(ours.run(&["-pP", "-c", "1"], ""), expected(6, "", line));
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let Some(ours) = Ours::new() else { return };
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = said(ours.command(&["-i"]).stdout(full).output().unwrap());
    assert!(output.status == 1 && output.err.starts_with("pkcsconf: standard output: "), "{output:?}");
}
