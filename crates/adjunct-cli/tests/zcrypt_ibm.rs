//! The tools for cards beside IBM's own, which run on a tree that `adjunct cards sysfs` made: output, errors and exit statuses byte for byte.
//!
//! `tests/zcrypt` fetches IBM's tools and runs this with `ADJUNCT_TEST_S390_TOOLS`, a folder in which `run NAME ARGS...` runs one of them
//! with `SYSFS_ROOT` as the root of sysfs.

mod zcrypt_stage;

use adjunct_card::machine::{Machine, Mode};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use zcrypt_stage::{Stage, machines, mixed, said};

/// What a command said: standard output, standard error, exit status.
type Said = (String, String, i32);

fn tools() -> PathBuf {
    std::env::var_os("ADJUNCT_TEST_S390_TOOLS").expect("tests/zcrypt sets ADJUNCT_TEST_S390_TOOLS").into()
}

/// What IBM's tool says, with the paths of a real system.
fn ibm(root: &Path, name: &str, args: &[&str]) -> Said {
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
fn tree(stage: &Stage, name: &str) -> PathBuf {
    let dir = stage.path().join(name);
    assert_eq!(stage.prints("adjunct", &["cards", "sysfs", dir.to_str().unwrap()]), "");
    dir
}

/// What IBM's tools show in another way than 2.43, whose words ours are: up to 2.40 one more than the depth of a queue, the default domain
/// with as many digits as it needs, no warning where that is not to be used, and, of no cards, an error in place of an empty table.
struct Older {
    depth: bool,
    domain: bool,
    warning: bool,
    empty: bool,
}

impl Older {
    fn of_tools() -> Older {
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
    fn prepare(&self, root: &Path) {
        for card in std::fs::read_dir(root.join("devices/ap")).unwrap().filter(|_| self.depth) {
            let file = card.unwrap().path().join("depth");
            let depth: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, format!("{}\n", depth - 1)).unwrap();
        }
    }

    /// What ours say, as they would.
    fn words(&self, (text, errors, status): Said, none: bool) -> Said {
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
struct Differences {
    compared: usize,
    found: Vec<String>,
}

impl Differences {
    fn compare(&mut self, what: &str, ours: &Said, ibm: &Said) {
        self.compared += 1;
        if ours != ibm {
            self.found.push(format!("{what}\n  ours: {ours:?}\n  IBM's: {ibm:?}"));
        }
    }

    fn none(self) {
        println!("{} command lines compared", self.compared);
        assert!(self.found.is_empty(), "{} differ\n{}", self.found.len(), self.found.join("\n"));
    }
}

/// Ours says why there are no cards, and what it was refused for, on lines of its own below IBM's.
fn without_reasons(name: &str, said: Said, ibm: &Said) -> Said {
    let (text, errors, status) = said;
    let extra = errors.strip_prefix(ibm.1.as_str()).filter(|extra| extra.starts_with(&format!("{name}: ")));
    let errors = if extra.is_some_and(|extra| extra.lines().count() == 1) { ibm.1.clone() } else { errors };
    (text, errors, status)
}

const LSZCRYPT: [&[&str]; 66] = [
    &[],
    &["-V"],
    &["-VV"],
    &["--verbose"],
    &["--accelonly"],
    &["--ccaonly"],
    &["--ep11only"],
    &["--ep11only", "-V"],
    &["--cardonly"],
    &["--queueonly"],
    &["--queueonly", "-V"],
    &["--cardonly", "--ccaonly", "-V"],
    &["--cardonly", "--queueonly"],
    &["--accelonly", "--ccaonly"],
    &["--accelonly", "--accelonly"],
    &["-b"],
    &["--bus"],
    &["-bx"],
    &["-Vb"],
    &["-d"],
    &["--dom"],
    &["-s"],
    &["-ds"],
    &["--serial"],
    &["-c", "0"],
    &["-c", "00"],
    &["-c", "1"],
    &["-c", "2"],
    &["-c", "31"],
    &["-c", "0x1f"],
    &["-c", "1f"],
    &["-c", "08"],
    &["-c", "0x"],
    &["-c", "-1"],
    &["-c", "256"],
    &["-c", "99"],
    &["-c", ""],
    &["-c", "card01"],
    &["-c", "00.0005"],
    &["-c", "0.5"],
    &["-c", "0.9"],
    &["-c", "1f.c8"],
    &["--capability", "1.5"],
    &["--cap=2"],
    &["-c"],
    &["-Vc"],
    &["--capability"],
    &["00"],
    &["0"],
    &["0x00"],
    &["2", "-V"],
    &["1f.c8"],
    &["00.0005", "00.002f", "0"],
    &["00.5", "77", "0"],
    &["0.5.5"],
    &["0.", "0x"],
    &["-1"],
    &["--", "-1"],
    &["card00"],
    &["zz"],
    &["x5", "0"],
    &["00.0009"],
    &["--cardonly", "00.0005"],
    &["-x"],
    &["--nope"],
    &["--c"],
];

#[test]
#[ignore = "tests/zcrypt has IBM's tools"]
fn lszcrypt_is_ibms() {
    let (mut differences, older) = (Differences::default(), Older::of_tools());
    for (machine, cards) in machines() {
        let stage = Stage::new(cards);
        let root = tree(&stage, "tree");
        older.prepare(&root);
        for args in LSZCRYPT {
            let ibm = ibm(&root, "lszcrypt", args);
            let ours = without_reasons("lszcrypt", older.words(stage.said("lszcrypt", args), machine == "none"), &ibm);
            differences.compare(&format!("{machine}: lszcrypt {}", args.join(" ")), &ours, &ibm);
        }
    }
    // A domain of all cards; that some lack it is an error there, and not here.
    for (machine, domain) in
        [("one", ".0005"), ("one", ".5"), ("one", ".9"), ("many", ".aa"), ("mixed", ".5"), ("none", ".5")]
    {
        let cards = machines().into_iter().find(|(name, _)| *name == machine).unwrap().1;
        let stage = Stage::new(cards);
        let ibm = ibm(&tree(&stage, "tree"), "lszcrypt", &[domain]);
        let ours = without_reasons("lszcrypt", stage.said("lszcrypt", &[domain]), &ibm);
        differences.compare(&format!("{machine}: lszcrypt {domain}"), &ours, &ibm);
    }
    differences.none();
}

const CHZCRYPT: [&[&str]; 52] = [
    &["-Ve", "00"],
    &["-Vd", "00"],
    &["-Vd", "0x0", "card1", "1f.c8"],
    &["-e", "02"],
    &["-Ve", "02.0005", "00"],
    &["-Vd", "02"],
    &["-d", "00.002f", "-V"],
    &["-Vd", "00.2f", "00.9"],
    &["-d", "77"],
    &["-d", "77.5"],
    &["-d", "card"],
    &["-d", "cardx"],
    &["-d", "card0a"],
    &["-d", "0x"],
    &["-d", "foo"],
    &["-d", "123"],
    &["-d", "1f.c8z"],
    &["-d", "."],
    &["-d", ""],
    &["-d"],
    &["-e", "-V"],
    &["-a"],
    &["-V"],
    &[],
    &["-ed", "-V", "1"],
    &["--config-on", "02", "-V"],
    &["--config-on", "01"],
    &["--config-off", "-V", "card01", "0x1f"],
    &["--config_off", "02"],
    &["--config-off", "02.0005"],
    &["--config-off", "77"],
    &["--config-o", "1"],
    &["--config-off"],
    &["-Vp"],
    &["-Vn"],
    &["--poll-thread-enable"],
    &["-Vc", "60"],
    &["-c", "60x"],
    &["-c", "x"],
    &["-c"],
    &["--config-time=60", "-V"],
    &["-Vt", "30000"],
    &["-t", ""],
    &["-Vq", "47"],
    &["-Vq", "0x7"],
    &["-q", "256"],
    &["-q", "-1"],
    &["--se-bind"],
    &["--se-bind", "00.0005"],
    &["--se-associate", "1"],
    &["--se-associate"],
    &["-Z"],
];

#[test]
#[ignore = "tests/zcrypt has IBM's tools"]
fn chzcrypt_is_ibms() {
    let (mut differences, older) = (Differences::default(), Older::of_tools());
    for args in CHZCRYPT {
        // What one does is not to be seen by the other.
        let stage = Stage::new(mixed());
        let ibm = ibm(&tree(&stage, "tree"), "chzcrypt", args);
        let ours = without_reasons("chzcrypt", older.words(stage.said("chzcrypt", args), false), &ibm);
        differences.compare(&format!("chzcrypt {}", args.join(" ")), &ours, &ibm);
    }
    let mut secure = mixed();
    secure.bus.features.push("APSB".into());
    for args in [
        &["--se-bind", "x"][..],
        &["--se-bind", "00.0009"],
        &["--se-bind", "00.0005"],
        &["--se-unbind", "00.0005"],
        &["--se-associate", "x", "00.0005"],
        &["--se-associate", "70000", "00.0005"],
        &["--se-associate", "7", "00.0005"],
    ] {
        let stage = Stage::new(secure.clone());
        let ibm = ibm(&tree(&stage, "tree"), "chzcrypt", args);
        differences.compare(&format!("chzcrypt {}", args.join(" ")), &stage.said("chzcrypt", args), &ibm);
    }
    // All cards: in the order of the folder there, in their own here.
    let stage = Stage::new(mixed());
    let sorted = |(text, errors, status): Said| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        (lines.join("\n"), errors, status)
    };
    let ibm = ibm(&tree(&stage, "tree"), "chzcrypt", &["-Vda"]);
    differences.compare("chzcrypt -Vda", &sorted(stage.said("chzcrypt", &["-Vda"])), &sorted(ibm));
    differences.none();
}

/// The nodes zcrypt_0 and web are there; the file `config` is in the folder.
const ZCRYPTCTL: [&[&str]; 46] = [
    &[],
    &["nope"],
    &["-x"],
    &["--nope", "list"],
    &["list"],
    &["nope", "list"],
    &["listconfig"],
    &["create"],
    &["create", "other"],
    &["create", "/dev/other"],
    &["destroy"],
    &["destroy", "web"],
    &["destroy", "/dev/web"],
    &["destroy", "unknown"],
    &["addap", "web", "5"],
    &["addap", "web", "0,5"],
    &["addap", "web", "0x10"],
    &["addap", "web", "010"],
    &["addap", "web", "all"],
    &["delap", "web", "ALL"],
    &["delap", "web", "255"],
    &["addap", "web", "256"],
    &["addap", "web", "-1"],
    &["addap", "web", "x"],
    &["addap", "web"],
    &["addap", "unknown"],
    &["addap", "unknown", "1"],
    &["addap"],
    &["adddom", "web", "5"],
    &["deldom", "web", "300"],
    &["deldom", "web", "ALL"],
    &["adddom", "web"],
    &["addctrl", "web", "5"],
    &["delctrl", "web", "x"],
    &["delctrl", "web", "all"],
    &["addctrl", "web"],
    &["addioctl", "web", "ICARSACRT"],
    &["addioctl", "web", "zsecsendcprb"],
    &["delioctl", "web", "0x81"],
    &["addioctl", "web", "ALL"],
    &["addioctl", "web", "nope"],
    &["addioctl", "web", "300"],
    &["addioctl", "web"],
    &["config"],
    &["config", "/nowhere/config"],
    &["addap", "web", "5", "6"],
];

/// Files for `zcryptctl config`.
const CONFIGS: [&str; 16] = [
    "",
    "# nothing\n\n   \n",
    "node = a\n",
    "node=a\naps=1,2 3\tALL\ndoms = 0x10 , 7\nctrls = 1\nioctls = ICARSACRT, 7,8 # more\n",
    "node = a # more\n aps = 5#6\n",
    "aps = 1\n",
    "doms",
    "node\n",
    "node web\n",
    "nodes = x\n",
    "node = \n",
    "node = a\naps 1\n",
    "node = a\naps = ,1\n",
    "node = a\nioctls = ,1\n",
    "node = a\naps = 1,300,2\ndoms = 1\n",
    "rubbish",
];

#[test]
#[ignore = "tests/zcrypt has IBM's tools"]
fn zcryptctl_is_ibms() {
    let mut differences = Differences::default();
    let stage = || {
        let stage = Stage::new(mixed());
        for args in [
            &["create"][..],
            &["create", "web"],
            &["addap", "zcrypt_0", "0"],
            &["addap", "zcrypt_0", "31"],
            &["adddom", "zcrypt_0", "ALL"],
            &["addctrl", "zcrypt_0", "255"],
            &["addioctl", "zcrypt_0", "ICARSAMODEXPO"],
            &["addioctl", "zcrypt_0", "7"],
        ] {
            stage.prints("zcryptctl", args);
        }
        stage
    };
    // In the order of the folder there, and with the place of the device, which is a socket here.
    let comparable = |args: &[&str], (text, errors, status): Said| {
        let text = text.replace("/run/adjunct/nodes/", "/dev/");
        let start = if args.contains(&"listconfig") { "node = " } else { "zcrypt node name:" };
        if !args.iter().any(|word| word.starts_with("list")) {
            return (text, errors, status);
        }
        let mut nodes: Vec<_> = text.split(start).map(str::to_owned).collect();
        nodes.sort();
        (nodes.join(start), errors, status)
    };
    for args in ZCRYPTCTL {
        let stage = stage();
        let ibm = comparable(args, ibm(&tree(&stage, "tree"), "zcryptctl", args));
        let ours = without_reasons("zcryptctl", comparable(args, stage.said("zcryptctl", args)), &ibm);
        differences.compare(&format!("zcryptctl {}", args.join(" ")), &ours, &ibm);
    }
    for text in CONFIGS {
        let stage = stage();
        let file = stage.path().join("config");
        std::fs::write(&file, text).unwrap();
        // Writing to a node that is not there: IBM's tool looks for its files.
        stage.prints("zcryptctl", &["create", "a"]);
        let root = tree(&stage, "tree");
        stage.prints("zcryptctl", &["destroy", "a"]);
        let args = ["config", file.to_str().unwrap()];
        let ibm = ibm(&root, "zcryptctl", &args);
        differences.compare(&format!("zcryptctl config: {text:?}"), &stage.said("zcryptctl", &args), &ibm);
    }
    let none = Stage::new(mixed());
    let ibm = ibm(&tree(&none, "tree"), "zcryptctl", &["list"]);
    differences.compare("zcryptctl list without nodes", &none.said("zcryptctl", &["list"]), &ibm);
    differences.none();
}

#[test]
#[ignore = "tests/zcrypt has IBM's tools"]
fn without_the_daemon_the_first_line_is_ibms() {
    let mut differences = Differences::default();
    let mut stage = Stage::new(mixed());
    stage.ends();
    let empty = stage.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (name, args) in [
        ("lszcrypt", &[][..]),
        ("lszcrypt", &["-b"]),
        ("lszcrypt", &["-d"]),
        ("lszcrypt", &["-s"]),
        ("lszcrypt", &["-c0"]),
        ("lszcrypt", &["0"]),
        ("chzcrypt", &["-e", "0"]),
        ("chzcrypt", &["-q", "0"]),
        ("chzcrypt", &[]),
        ("zcryptctl", &["list"]),
        ("zcryptctl", &["addap"]),
        ("zcryptstats", &[]),
        ("zcryptstats", &["-i", "x"]),
        ("zcryptstats", &["-tT"]),
        ("zcryptstats", &["-AO"]),
        ("zcryptstats", &["-o", "TABLE", "-t"]),
        ("zcryptstats", &["-V"]),
    ] {
        let ibm = ibm(&empty, name, args);
        let ours = without_reasons(name, stage.said(name, args), &ibm);
        differences.compare(&format!("{name} {}", args.join(" ")), &ours, &ibm);
    }
    differences.none();
}

/// The firmware's unit of time in the blocks, 2^-9 seconds, in nanoseconds: what IBM's tool multiplies by in single precision is exact.
const TICK: u64 = 1_953_125;

/// What a queue's counters start with and grow by, in the order of the mode's counters.
fn growth(place: usize, counter: usize) -> [u64; 4] {
    let number = (place * 10 + counter) as u64;
    [TICK * number, 100 + number, TICK * (number % 7) * (number + 1), 7 * (number % 7)]
}

/// The counters of the cards as the firmware's measurement blocks, for IBM's tool.
fn blocks(machine: &Machine) -> String {
    let mut text = String::new();
    let mut place = 0;
    for card in &machine.cards {
        let (mode, count) = match card.mode {
            Mode::Accelerator => (8, 6),
            Mode::Cca => (9, 2),
            Mode::Ep11 => (10, 5),
        };
        let mut sums = vec![[0; 4]; count];
        let mut queues = String::new();
        for queue in &card.queues {
            let counters: Vec<_> = (0..count).map(|counter| growth(place, counter)).collect();
            for (sum, counter) in sums.iter_mut().zip(&counters) {
                sum.iter_mut().zip(counter).for_each(|(sum, one)| *sum += one);
            }
            let head = format!("{} {} 1 {} {mode} {count}", card.id, queue.domain, card.hwtype);
            queues += &line(&head, &counters);
            place += 1;
        }
        text += &line(&format!("{} 0 0 {} {mode} {count}", card.id, card.hwtype), &sums);
        text += &queues;
    }
    text
}

fn line(head: &str, counters: &[[u64; 4]]) -> String {
    let ticks = |[time, number, more_time, more]: &[u64; 4]| [time / TICK, *number, more_time / TICK, *more];
    let counters = counters.iter().flat_map(ticks).map(|number| number.to_string()).collect::<Vec<_>>();
    format!("{head} {}\n", counters.join(" "))
}

/// Without what differs between two runs: the time, what depends on how long an interval took, and the machine's name.
fn timeless(args: &[&str], (text, errors, status): Said) -> Said {
    let csv = args.contains(&"csv");
    let digits = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || b"./:".contains(&byte));
    let field = |place: usize, word: &str| match word {
        "x86_64" | "aarch64" | "s390x" | "\"x86_64\"," | "\"aarch64\"," | "\"s390x\"," => "MACHINE".to_owned(),
        word if word.contains('/') || word.matches(':').count() == 2 => "TIME".to_owned(),
        // Of a row, the last but three and but two numbers; in CSV, the fourth and fifth field.
        word if csv && (place == 3 || place == 4) && digits(word.trim_end_matches(" %")) => "N".to_owned(),
        word => word.to_owned(),
    };
    let row = |line: &str| {
        if csv {
            return line.split(',').enumerate().map(|(place, word)| field(place, word)).collect::<Vec<_>>().join(",");
        }
        let mut line = line.to_owned();
        // RATE and UTILIZATION, of which the width stays.
        if let Some(percent) = line.find(" %").filter(|_| line.contains("sec")) {
            let start = line[..percent].rfind(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(0) + 1;
            let rate_end = line[..start].trim_end().len();
            let rate = line[..rate_end].rfind(' ').unwrap_or(0) + 1;
            line = format!("{}{}{}", &line[..rate], " ".repeat(percent - rate), &line[percent..]);
        }
        for key in ["\"rate\": ", "\"utilization\": "] {
            if let Some(start) = line.find(key).map(|start| start + key.len()) {
                let end = start + line[start..].find(',').unwrap_or(0);
                line.replace_range(start..end, "N");
            }
        }
        line.split(' ')
            .map(|word| word.split('\t').map(|word| field(0, word)).collect::<Vec<_>>().join("\t"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    (text.lines().map(|line| row(line) + "\n").collect(), errors, status)
}

#[test]
#[ignore = "tests/zcrypt has IBM's tools"]
fn zcryptstats_is_ibms() {
    let mut differences = Differences::default();
    let machine = {
        let mut machine = mixed();
        machine.cards[1].queues.push(zcrypt_stage::queue(47, 0));
        machine
    };
    let stage = Stage::new(machine.clone());
    let root = tree(&stage, "tree");
    let file = stage.path().join("counters");
    std::fs::write(&file, blocks(&machine)).unwrap();
    let queues = machine.cards.iter().map(|card| card.queues.len()).sum();
    for args in [
        &[][..],
        &["-T"],
        &["-t"],
        &["-a"],
        &["-O"],
        &["-A"],
        &["-o", "json"],
        &["-o", "JSON", "-T", "1"],
        &["-o", "JSON", "-t", "1"],
        &["-o", "table"],
        &["-o", "csv"],
        &["-o", "csv", "1f", "0.5"],
        &["-o", "csv", ".2f"],
        &["-o", "csv", "-a", "-O"],
        &["1", "00"],
        &["-M", "15:8=14:8", "-o", "csv"],
        &["3f"],
        &["40"],
        &["zz"],
        &["1.101"],
        &["-M", "x"],
        &["-M", "14:8=14:8"],
        &["-M", "15:8=2:8"],
        &["-i", "0"],
        &["-c", "0"],
        &["-c", ""],
        &["-o", "xml"],
        &["-o", "csv", "-t"],
        &["-AO"],
    ] {
        let all = [&["-i", "1", "-c", "1"][..], args].concat();
        let mut theirs = Command::new(tools().join("run"));
        theirs.arg("zcryptstats").args(&all).env("SYSFS_ROOT", &root).env("TZ", "UTC").env("CHSC_COUNTERS", &file);
        let ibm = timeless(args, said(&theirs.output().unwrap()));
        // Half an interval after the first look, everything grows.
        let mut ours = stage.command("zcryptstats", &all);
        let ours = ours.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        for place in 0..queues {
            for counter in 0..6 {
                let [_, _, busy, operations] = growth(place, counter);
                stage.shared().count(place, counter, operations, busy);
            }
        }
        let ours = timeless(args, said(&ours.wait_with_output().unwrap()));
        let mut ours = without_reasons("zcryptstats", ours, &ibm);
        // That there is nothing to show is a failure here.
        if args == ["3f"] {
            assert_eq!(ours.2, 1);
            ours.2 = ibm.2;
        }
        differences.compare(&format!("zcryptstats {}", all.join(" ")), &ours, &ibm);
    }
    differences.none();
}
