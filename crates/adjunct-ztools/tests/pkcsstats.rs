//! `pkcsstats` as administrators of openCryptoki call it, of uses that a program with our module has counted.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
#[path = "../../adjunct-cli/tests/own_pkcs11/mod.rs"]
mod own_pkcs11;

use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Module, Session, Template};
use copy::copy;
use own_pkcs11::own_pkcs11;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use tempfile::TempDir;

const ZTOOLS: &str = env!("CARGO_BIN_EXE_adjunct-ztools");
const MODULE: &str = "ADJUNCT_TEST_MODULE";

/// The program with a module beside it, and counters of its own.
struct Stage {
    dir: TempDir,
    key: String,
}

impl Stage {
    fn new(name: &str) -> Option<Stage> {
        let module = own_pkcs11()?;
        let dir = tempfile::tempdir().unwrap();
        copy(ZTOOLS, &dir.path().join("pkcsstats"));
        copy(module, &dir.path().join("adjunct-pkcs11.so"));
        Some(Stage { dir, key: format!("{name}-{}", std::process::id()) })
    }

    fn of(&self, command: &mut Command) -> Output {
        let command = command.env("ADJUNCT_STATS_KEY", &self.key).env("XDG_DATA_HOME", self.dir.path());
        command.env_remove("ADJUNCT_STATS").env_remove("PKCSLIB").output().unwrap()
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(self.dir.path().join("pkcsstats"));
        let output = self.of(command.arg0("pkcsstats").args(args));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn use_keys(&self, stats: Option<&str>) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "use_a_few_keys", "--ignored"]);
        command.env(MODULE, self.dir.path().join("adjunct-pkcs11.so")).env("ADJUNCT_STATS_KEY", &self.key);
        command.env("XDG_DATA_HOME", self.dir.path());
        match stats {
            Some(word) => command.env("ADJUNCT_STATS", word),
            None => command.env_remove("ADJUNCT_STATS"),
        };
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.run(&["-d"]);
        let mut command = Command::new(ZTOOLS);
        self.of(command.arg0("icastats").arg("-d"));
    }
}

/// Not a test: the process whose uses the others look for.
#[test]
#[ignore = "run by the other tests"]
fn use_a_few_keys() {
    let mut module = Module::load(std::env::var_os(MODULE).unwrap()).unwrap();
    module.initialize().unwrap();
    let session = module.open_session(1).unwrap();
    let aes = |session: &Session<'_>, bytes| {
        session.generate(CKM_AES_KEY_GEN, &Template::new().with_number(CKA_VALUE_LEN, bytes)).unwrap();
    };
    (0..3).for_each(|_| aes(&session, 32));
    aes(&session, 16);
    let public = Template::new().with_number(CKA_MODULUS_BITS, 2048);
    session.generate_pair(CKM_RSA_PKCS_KEY_PAIR_GEN, &public, &Template::new()).unwrap();
    let weak = Template::new().with_number(CKA_MODULUS_BITS, 1024);
    session.generate_pair(CKM_RSA_PKCS_KEY_PAIR_GEN, &weak, &Template::new()).unwrap();
    // What fails is no use.
    assert!(session.generate(CKM_AES_KEY_GEN, &Template::new().with_number(CKA_VALUE_LEN, 5)).is_err());
}

fn row(name: &str, counts: [u64; 5]) -> String {
    let counts: String = counts.iter().map(|count| format!(" {count:>15}")).collect();
    format!("{name:<30} |{counts}\n")
}

/// Name of the user who runs the tests.
fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn uses_are_shown_by_strength_reset_and_deleted() {
    let Some(stage) = Stage::new("uses") else { return };
    stage.use_keys(None);
    stage.use_keys(None);
    let (status, out, err) = stage.run(&["-s", "1"]);
    let rule = format!("{}+{}\n", "-".repeat(31), "-".repeat(81));
    let expected = format!(
        "User: {}\n\nSlot: 1 (label: 'icatok' model: 'ICA')\n\n{rule}\
         mechanism                      | strength 0      strength 112    strength 128    strength 192    strength 256    \n\
         {:31}| or no key\n{rule}{}{}{rule}\n",
        user(),
        "",
        row("CKM_AES_KEY_GEN", [0, 0, 2, 0, 6]),
        row("CKM_RSA_PKCS_KEY_PAIR_GEN", [2, 2, 0, 0, 0]),
    );
    assert_eq!((status, out.as_str(), err.as_str()), (0, expected.as_str(), ""));
    let (status, out, _) = stage.run(&["-j"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let slot = &json["users"][0]["slots"][0];
    assert_eq!((status, &slot["slot"], &slot["token-present"]), (0, &1.into(), &true.into()));
    assert_eq!(slot["mechanisms"][0]["mechanism"], "CKM_AES_KEY_GEN");
    assert_eq!(slot["mechanisms"][0]["strength-256"], 6);
    assert_eq!(json["users"][0]["slots"][1]["mechanisms"], serde_json::json!([]));
    let all = stage.run(&["--all-mechs", "--slot=1"]).1;
    assert!(all.contains(&row("CKM_SHA256_HMAC", [0; 5])) && all.contains("CKM_AES_KEY_GEN"));
    // Of one slot, then of all.
    let whose = format!("for user '{}'", user());
    assert_eq!(stage.run(&["-r", "-s", "3"]).1, format!("Resetted statistics {whose} and slot 3\n"));
    assert_eq!(stage.run(&["-s", "1"]).1, expected);
    assert_eq!(stage.run(&["-r"]).1, format!("Resetted statistics {whose}\n"));
    assert!(stage.run(&["-s1"]).1.contains("\n[no mechanisms were used]      |\n"));
    assert_eq!(stage.run(&["-d"]), (0, format!("Deleted statistics {whose}\n"), String::new()));
    let none = format!("pkcsstats: No statistics are available {whose}\n");
    assert_eq!(stage.run(&["--delete"]), (1, String::new(), none));
}

#[test]
fn nothing_is_counted_where_statistics_are_off() {
    let Some(stage) = Stage::new("uses-off") else { return };
    stage.use_keys(Some("off"));
    assert!(stage.run(&["-d"]).2.contains("No statistics are available"));
}

#[test]
fn wrong_command_lines_are_said_in_its_words() {
    let run = |args: &[&str]| {
        let mut command = Command::new(ZTOOLS);
        let output = command.arg0("pkcsstats").args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (args, words) in [
        (&["-x"][..], "pkcsstats: invalid option -- 'x'\n"),
        (&["--slot"], "pkcsstats: option '--slot' requires an argument\n"),
        (&["-s", "-1"], "pkcsstats: Slot parameter invalid: '-1'\n"),
        (&["word"], "pkcsstats: unrecognized option 'word'\n"),
        (&["-U", "nobodyx"], "pkcsstats: The username 'nobodyx' is not known on this system\n"),
        (&["-d", "-s1"], "pkcsstats: Options -s/--slot and -d/--delete can not be specified together\n"),
    ] {
        assert_eq!(run(args), (Some(1), words.to_owned()), "{args:?}");
    }
    assert_eq!(run(&["-h"]), (Some(0), String::new()));
}
