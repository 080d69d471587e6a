//! The tools for cards beside IBM's own, which run on a tree that `adjunct cards sysfs` made: output, errors and exit statuses byte for byte.
//!
//! `tests/zcrypt` fetches IBM's tools and runs this with `ADJUNCT_TEST_S390_TOOLS`, a folder in which `run NAME ARGS...` runs one of them
//! with `SYSFS_ROOT` as the root of sysfs.

mod compare;
mod stats;
#[path = "../zcrypt_stage/mod.rs"]
mod zcrypt_stage;

use compare::{Differences, Older, Said, ibm, tree, without_reasons};
use zcrypt_stage::{Stage, machines, mixed};

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
