//! IBM's tools run on a tree of the cards, and what they say compared with what ours say.

use super::zcrypt_stage::{Stage, mixed, said};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a command said: standard output, standard error, exit status.
pub type Said = (String, String, i32);

/// The folder that has IBM's tools.
pub fn tools() -> PathBuf {
    std::env::var_os("ADJUNCT_TEST_S390_TOOLS").expect("tests/zcrypt sets ADJUNCT_TEST_S390_TOOLS").into()
}

/// What IBM's tool says, with the paths of a real system.
pub fn ibm(root: &Path, name: &str, args: &[&str]) -> Said {
    let output = Command::new(tools().join("run"))
        .arg(name)
        .args(args)
        .env("SYSFS_ROOT", root)
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let (text, errors, status) = said(&output);
    let plain = |text: String| text.replace(root.to_str().unwrap(), "/sys");
    (plain(text), plain(errors), status)
}

/// A tree of the cards as they are now.
pub fn tree(stage: &Stage, name: &str) -> PathBuf {
    let dir = stage.path().join(name);
    assert_eq!(stage.prints("adjunct", &["cards", "sysfs", dir.to_str().unwrap()]), "");
    dir
}

/// Differences of older IBM tools from version 2.43, whose words ours are: up to 2.40 one more than the depth of a queue, the default domain with as
/// many digits as it needs, no warning where that is not to be used, and, without cards, an error in place of an empty table.
pub struct Older {
    depth: bool,
    domain: bool,
    warning: bool,
    empty: bool,
}

impl Older {
    /// Finds which differences the installed tools have.
    pub fn of_tools() -> Older {
        let mut machine = mixed();
        machine.bus.default_domain = Some(9);
        let stage = Stage::new(machine);
        let root = tree(&stage, "tree");
        let depth = ibm(&root, "lszcrypt", &["-V"]).0.lines().nth(2).is_some_and(|row| row.contains(" 14     09 "));
        let bus = ibm(&root, "lszcrypt", &["-b"]).0;
        let mut machine = mixed();
        machine.cards.clear();
        stage.becomes(machine);
        let none = tree(&stage, "none");
        Older {
            depth,
            domain: bus.contains("ap_domain=0x9"),
            warning: !bus.contains("(unavailable)"),
            empty: ibm(&none, "lszcrypt", &[]).2 == 1,
        }
    }

    /// Has the tree such that they show what 2.43 shows of the one it was.
    pub fn prepare(&self, root: &Path) {
        for card in std::fs::read_dir(root.join("devices/ap")).unwrap().filter(|_| self.depth) {
            let file = card.unwrap().path().join("depth");
            let depth: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, format!("{}\n", depth - 1)).unwrap();
        }
    }

    /// What ours say, as they would.
    pub fn words(&self, (text, errors, status): Said, none: bool) -> Said {
        if self.empty && none && text.lines().count() == 2 && text.starts_with("CARD.DOM TYPE ") && status == 0 {
            return (String::new(), "lszcrypt: No crypto card devices found.\n".to_owned(), 1);
        }
        let line = |line: &str| match line.strip_prefix("ap_domain=") {
            _ if self.warning && line.starts_with("Warning: Default domain ") => String::new(),
            Some(domain) if self.warning => {
                let number = if domain.starts_with("-1") { "0xffffffffffffffff" } else { &domain[..4] };
                let number = if self.domain { number.replace("0x0", "0x") } else { number.to_owned() };
                format!("ap_domain={number}\n")
            }
            _ => format!("{line}\n"),
        };
        (text.lines().map(line).collect(), errors, status)
    }
}

/// What differs, of all that was compared.
#[derive(Default)]
pub struct Differences {
    compared: usize,
    found: Vec<String>,
}

impl Differences {
    /// Compares what both said of a command line.
    pub fn compare(&mut self, what: &str, ours: &Said, ibm: &Said) {
        self.compared += 1;
        if ours != ibm {
            self.found.push(format!("{what}\n  ours: {ours:?}\n  IBM's: {ibm:?}"));
        }
    }

    /// Fails where anything differs.
    pub fn none(self) {
        println!("{} command lines compared", self.compared);
        assert!(self.found.is_empty(), "{} differ\n{}", self.found.len(), self.found.join("\n"));
    }
}

/// Our output without the lines that say why there are no cards and why something was refused, which IBM's tools do not have.
pub fn without_reasons(name: &str, said: Said, ibm: &Said) -> Said {
    let (text, errors, status) = said;
    let extra = errors.strip_prefix(ibm.1.as_str()).filter(|extra| extra.starts_with(&format!("{name}: ")));
    let errors = if extra.is_some_and(|extra| extra.lines().count() == 1) { ibm.1.clone() } else { errors };
    (text, errors, status)
}
