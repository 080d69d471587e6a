//! `lszcrypt`, `chzcrypt`, `zcryptctl` and `zcryptstats` as scripts for IBM Z call them: their columns, words and exit statuses.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
mod zcrypt_stage;

use adjunct_card_state::control::{Device, Item, Request};
use adjunct_card_state::machine::{Machine, Mask};
use adjunct_card_state::state;
use std::sync::atomic::Ordering::Relaxed;
use zcrypt_stage::{Stage, bus, mixed, said};

fn failed(stage: &Stage, name: &str, args: &[&str]) -> String {
    let (_, errors, status) = stage.said(name, args);
    assert_eq!(status, 1, "{name} {args:?}: {errors}");
    errors
}

const TRY: &str = "for more information.\n";

#[test]
fn lszcrypt_shows_cards_and_domains() {
    let stage = Stage::new(mixed());
    let table = "\
CARD.DOM TYPE  MODE        STATUS     REQUESTS
----------------------------------------------
00       CEX8A Accelerator online           20
00.0005  CEX8A Accelerator online           12
00.002f  CEX8A Accelerator offline           8
01       CEX8C CCA-Coproc  online            4
01.0005  CEX8C CCA-Coproc  online            4
02       CEX8P EP11-Coproc deconfig          -
02.0005  CEX8P EP11-Coproc deconfig          -
1f       CEX8P EP11-Coproc chkstop    123456795
1f.0005  CEX8P EP11-Coproc chkstop           6
1f.00c8  CEX8P EP11-Coproc chkstop    123456789
";
    assert_eq!(stage.prints("lszcrypt", &[]), table);
    let verbose = "\
CARD.DOM TYPE  MODE        STATUS     REQUESTS  PENDING HWTYPE QDEPTH FUNCTIONS  DRIVER     \n\
--------------------------------------------------------------------------------------------\n\
00       CEX8A Accelerator online           20        3     14     08 SMC-A-N-F- cex4card   \n\
02.0005  CEX8P EP11-Coproc deconfig          -        -     14     08 -----XN-F- cex4queue  \n";
    assert_eq!(stage.prints("lszcrypt", &["-V", "--cardonly", "0"]).lines().nth(2), verbose.lines().nth(2));
    assert_eq!(stage.prints("lszcrypt", &["--card", "-V", "00", "0x02.5"]).lines().nth(2), verbose.lines().nth(2));
    assert_eq!(stage.prints("lszcrypt", &["-V", "02.0005"]), lines(verbose, &[0, 1, 3]));
    assert_eq!(stage.prints("lszcrypt", &["2"]), lines(table, &[0, 1, 7, 8]));
    assert_eq!(stage.prints("lszcrypt", &[".0005"]), lines(table, &[0, 1, 3, 6, 8, 10]));
    // Not on every card.
    assert_eq!(stage.prints("lszcrypt", &[".2f"]), lines(table, &[0, 1, 4]));
    assert_eq!(stage.prints("lszcrypt", &["--ep11only", "--queueonly"]), lines(table, &[0, 1, 8, 10, 11]));
    assert_eq!(stage.prints("lszcrypt", &["zz"]), lines(table, &[0, 1]) + "Invalid adpater id!\n");
}

/// Some lines of a text, by their places.
fn lines(text: &str, places: &[usize]) -> String {
    let all: Vec<_> = text.lines().collect();
    places.iter().map(|&place| format!("{}\n", all[place])).collect()
}

#[test]
fn lszcrypt_shows_the_bus_and_what_cards_can_do() {
    let stage = Stage::new(mixed());
    assert_eq!(
        stage.prints("lszcrypt", &["-Vb", "--nope"]),
        "features: APSC APXA QACT RC8A\nap_domain=0x05\nap_max_domain_id=0xff\nap_interrupts are enabled\nconfig_time=30 (seconds)\n\
         poll_thread is disabled\npoll_timeout=250000 (nanoseconds)\n"
    );
    let domains = stage.prints("lszcrypt", &["-d"]);
    let rows: Vec<_> = domains.lines().collect();
    assert_eq!(rows[0], "DOMAIN 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f");
    assert_eq!(rows[2], "    00  .  .  .  .  .  B  C  .  .  .  .  .  .  .  .  .");
    assert_eq!(rows[4], "    20  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  U");
    assert_eq!(
        rows[18..],
        ["-".repeat(54).as_str(), "C: Control domain", "U: Usage domain", "B: Both (Control + Usage domain)"]
    );
    assert_eq!(
        stage.prints("lszcrypt", &["-s"]),
        "CARD.DOM TYPE  MODE        STATUS     SERIALNR\n----------------------------------------------\n\
         01       CEX8C CCA-Coproc  online     93AA01QR\n02       CEX8P EP11-Coproc deconfig   93AA02QR\n\
         1f       CEX8P EP11-Coproc chkstop    93AA1FQR\n"
    );
    assert_eq!(
        stage.prints("lszcrypt", &["-c", "0"]),
        "card00 provides capability for:\nRSA 4K Clear Key\nAP bus max message size limit 12 Kb\n"
    );
    // A card in decimal here, or behind 0x.
    for id in ["31", "0x1f"] {
        let text = "card1f provides capability for:\nEP11 Secure Key\nAP bus max message size limit 12 Kb\n";
        assert_eq!(stage.prints("lszcrypt", &["-c", id]), text);
    }
    assert_eq!(
        stage.prints("lszcrypt", &["--capability=1"]),
        "card01 provides capability for:\nRSA 4K Clear Key\nCCA Secure Key (full function set)\n\
         Hardware support for stateless filtering\nLong RNG\nAP bus max message size limit 12 Kb\n"
    );
    assert_eq!(stage.prints("lszcrypt", &["-c", "1f.c8"]), "queue 1f.00c8 capabilities:\n");
}

#[test]
fn lszcrypt_says_what_is_wrong_as_there() {
    let stage = Stage::new(mixed());
    let say = |args: &[&str], words: &str| assert_eq!(failed(&stage, "lszcrypt", args), format!("lszcrypt: {words}"));
    say(&["09"], "Error - cryptographic device card09 does not exist.\n");
    say(&["09.5"], "Error - cryptographic device /sys/devices/ap/card09/09.0005 does not exist.\n");
    say(&[".9"], "No queue devices with given domain value found.\n");
    say(&["-c", "card01"], "Error - 'card01' is an invalid cryptographic device id.\n");
    say(&["-c", "9"], "Error - cryptographic device card09 does not exist.\n");
    say(&["-c", "1.9"], "Error - cryptographic queue device 01.0009 does not exist.\n");
    say(&["--ccaonly", "--ep11only"], "Only one of --accelonly or --ccaonly or --ep11only can be specified\n");
    say(&["--cardonly", "--queueonly"], "Only one of --cardonly or --queueonly can be specified\n");
    say(&["-x"], &format!("Invalid option '-x'\nTry 'lszcrypt --help' {TRY}"));
    say(&["--nope"], &format!("Invalid option '--nope'\nTry 'lszcrypt --help' {TRY}"));
    say(&["-c"], &format!("Option '-c' requires an argument\nTry 'lszcrypt --help' {TRY}"));
    say(&["-c", "\u{1b}[2J"], "Error - '\\u{1b}[2J' is an invalid cryptographic device id.\n");
    // What stood before is printed.
    let (text, _, _) = stage.said("lszcrypt", &["1.5", "7"]);
    assert_eq!(text.lines().count(), 3);
    let version = stage.prints("lszcrypt", &["-v"]);
    assert!(version.starts_with("lszcrypt version 2.43.0\n"), "{version}");
}

#[test]
fn a_default_domain_that_is_not_there_is_a_warning() {
    let mut machine = mixed();
    machine.bus.default_domain = Some(9);
    let stage = Stage::new(machine);
    for args in [&[][..], &["-d"]] {
        assert!(stage.prints("lszcrypt", args).ends_with("\nWarning: Default domain 0x09 is not available.\n"));
    }
    assert!(stage.prints("lszcrypt", &["-b"]).contains("ap_domain=0x09 (unavailable)\n"));
    assert_eq!(
        stage.prints("chzcrypt", &["-q", "0x7", "-V"]),
        "Setting default domain to 7.\nWarning: Default domain 0x07 is not available.\n"
    );
    assert_eq!(stage.prints("chzcrypt", &["-q47"]), "");
    assert!(stage.prints("lszcrypt", &["-b"]).contains("ap_domain=0x2f\n"));
}

#[test]
fn without_cards_there_is_a_sentence_why() {
    let machine = Machine { bus: bus(), cards: Vec::new(), remark: "This CPU has no AVX-512 IFMA.".to_owned() };
    let stage = Stage::new(machine);
    let (text, errors, status) = stage.said("lszcrypt", &[]);
    assert_eq!((text.lines().count(), errors.as_str(), status), (2, "lszcrypt: This CPU has no AVX-512 IFMA.\n", 0));
    let none = "lszcrypt: No crypto card devices found.\nlszcrypt: This CPU has no AVX-512 IFMA.\n";
    assert_eq!(failed(&stage, "lszcrypt", &["-s"]), none);
    assert_eq!(failed(&stage, "lszcrypt", &[".5"]).lines().next(), none.lines().next());
    assert!(
        failed(&stage, "chzcrypt", &["-ea"]).starts_with("chzcrypt: Error - missing cryptographic device id(s).\n")
    );
    assert!(failed(&stage, "zcryptstats", &[]).starts_with("zcryptstats: No crypto card devices found\n"));
    let status = stage.prints("adjunct", &["cards", "status"]);
    assert_eq!(status, "adjunctd runs without a card: This CPU has no AVX-512 IFMA.\n");
}

#[test]
fn without_the_daemon_the_words_of_z_and_what_to_do() {
    let mut stage = Stage::new(mixed());
    stage.ends();
    for (name, args) in [
        ("lszcrypt", &[][..]),
        ("lszcrypt", &["-b"]),
        ("lszcrypt", &["-d"]),
        ("lszcrypt", &["-s"]),
        ("lszcrypt", &["-c", "0"]),
        ("lszcrypt", &["00"]),
        ("chzcrypt", &["-e", "00"]),
        ("adjunct", &["cards", "list"]),
    ] {
        let what = "no cards: adjunctd does not run (`adjunct cards enable` starts it)";
        let words = format!("{name}: Crypto device driver not available.\n{name}: {what}\n");
        assert_eq!(failed(&stage, name, args), words);
    }
    let words =
        "zcryptctl: Directory class/zcrypt is missing in sysfs.\nMultiple zcrypt node support is not available\n";
    assert!(failed(&stage, "zcryptctl", &["list"]).starts_with(words));
    assert!(failed(&stage, "zcryptstats", &[]).starts_with("zcryptstats: Crypto device driver is not available\n"));
    let status = stage.prints("adjunct", &["cards", "status"]);
    assert_eq!(status, "There are no cards: adjunctd does not run (`adjunct cards enable` starts it).\n");
    assert!(stage.prints("adjunct", &["cards", "status", "--json"]).contains("\"running\": false"));
    assert_eq!(failed(&stage, "adjunct", &["cards", "sysfs", "/nowhere/x"]).lines().count(), 1);
}

#[test]
fn chzcrypt_asks_for_what_is_named() {
    let stage = Stage::new(mixed());
    let say = |args: &[&str], words: &str| assert_eq!(stage.prints("chzcrypt", args), words, "{args:?}");
    say(
        &["-Vd", "00.002f", "card01"],
        "Setting cryptographic device card00/00.002f offline\nSetting cryptographic device card01 offline\n",
    );
    let offline = |card, domain| Request::SetOnline(Device { card, domain }, false);
    assert_eq!(stage.asked(), [offline(0, Some(47)), offline(1, None)]);
    assert!(!stage.machine().cards[1].online);
    say(&["-e", "0x1"], "");
    say(&["-V", "--config-off", "01"], "Setting cryptographic device card01 config off\n");
    say(&["--config_on", "1"], "");
    assert!(stage.machine().cards[1].config);
    say(&["-Vp"], "Enabling poll thread.\n");
    say(&["--poll-thread-dis", "-V"], "Disabling poll thread.\n");
    say(&["-Vt", "30000"], "Setting poll timeout to 30000 seconds.\n");
    say(&["-V", "-c60"], "Setting configuration timer to 60 seconds.\n");
    let bus = stage.machine().bus;
    assert_eq!((bus.poll_thread, bus.poll_timeout, bus.config_time), (false, 30_000, 60));
    stage.asked();
    say(
        &["-Vda"],
        &["00", "01", "02", "1f"].map(|id| format!("Setting cryptographic device card{id} offline\n")).concat(),
    );
    assert_eq!(stage.asked(), [0, 1, 2, 0x1f].map(|card| offline(card, None)));
}

#[test]
fn chzcrypt_says_what_is_wrong_as_there() {
    let stage = Stage::new(mixed());
    let say = |args: &[&str], words: &str| assert_eq!(failed(&stage, "chzcrypt", args), format!("chzcrypt: {words}"));
    say(&[], &format!("Error - missing argument.\nTry 'chzcrypt --help' {TRY}"));
    say(&["-e"], "Need to specify at least one device ID.\n");
    say(&["-e", "card07"], "Error - cryptographic device card07 does not exist.\n");
    say(&["-e", "00.0009"], "Error - cryptographic device card00/00.0009 does not exist.\n");
    say(&["-e", "foo"], "Error - cryptographic device foo malformed.\n");
    say(&["-e", "cardx"], "Error - unable to parse 'cardx'.\n");
    say(
        &["--config-off", "02.0005"],
        "Error - invalid device 02.0005\n Config on/off is only valid for card devices.\n",
    );
    say(&["-q", "300"], "Error - invalid default domain '300'.\n");
    say(&["-q", "x"], "Error - invalid default domain 'x'.\n");
    say(&["-c", "x"], "Error - invalid configuration timeout 'x'.\n");
    say(&["-t", "x"], "Error - invalid poll timeout 'x'.\n");
    say(&["-t", "200000000000"], "Error - unable to change poll timeout setting.\nchzcrypt: this cannot be\n");
    say(&["-t", "-1"], "Error - unable to change poll timeout setting.\n");
    say(&["-c", "3"], "Error - unable to change configuration timer setting.\nchzcrypt: this cannot be\n");
    say(&["--se-bind"], "Error - The --se-bind needs a queue device given.\n");
    say(&["--se-associate", "1", "00.0005"], "Error - AP bus: SE bind support is not available.\n");
    say(&["--se-associate"], &format!("Option '--se-associate' requires an argument\nTry 'chzcrypt --help' {TRY}"));
    assert_eq!(stage.asked().len(), 2);
    // What is no error: what cannot be, and what is so already.
    let warned = |args: &[&str], words: &str| {
        let (text, errors, status) = stage.said("chzcrypt", args);
        assert_eq!((text.as_str(), errors.as_str(), status), ("", words, 0));
    };
    warned(&["-Ve", "02"], "chzcrypt: Warning - device 02 is deconfigured, can't set to online.\n\n");
    warned(&["-V", "--config-on", "1"], "chzcrypt: Warning - device card01 is already config on.\n");
    assert_eq!(stage.asked(), []);
    stage.prints("chzcrypt", &["-d", "1"]);
    let (text, errors, status) = stage.said("chzcrypt", &["-Ve", "01.0005"]);
    assert_eq!(text, "Setting cryptographic device card01/01.0005 online\n");
    let words =
        "chzcrypt: Error - unable to set cryptographic device card01/01.0005 online.\nchzcrypt: its card is offline\n";
    assert_eq!((errors.as_str(), status), (words, 1));
}

#[test]
fn zcryptctl_makes_nodes() {
    let stage = Stage::new(mixed());
    let say = |args: &[&str], words: &str| assert_eq!(stage.prints("zcryptctl", args), words, "{args:?}");
    say(&["list"], "No additional zcrypt device nodes defined\n");
    say(&["create"], "Device node created\n");
    say(&["create", "/dev/web"], "Device node created\n");
    // The first number is taken, and what follows it is not looked at.
    say(&["addap", "zcrypt_0", "0,5"], "Adapter 0 added\n");
    say(&["addap", "zcrypt_0", "0x5"], "Adapter 5 added\n");
    say(&["adddom", "zcrypt_0", "010"], "Domain 8 added\n");
    say(&["addctrl", "zcrypt_0", "255"], "Control domain 255 added\n");
    say(&["addioctl", "zcrypt_0", "icarsacrt"], "Ioctl icarsacrt added\n");
    say(&["addioctl", "zcrypt_0", "7"], "Ioctl 7 added\n");
    say(&["adddom", "web", "all"], "All domains added\n");
    say(&["deldom", "web", "ALL"], "All domains removed\n");
    say(&["delap", "zcrypt_0", "5"], "Adapter 5 removed\n");
    say(
        &["list"],
        "zcrypt node name:\tzcrypt_0\n  device node:\t/run/adjunct/nodes/zcrypt_0\n  major:minor:\t0:0\n  adapter:\t0\n  domains:\t8\n  \
         control domains:\t255\n  ioctls:\tICARSACRT,7\nzcrypt node name:\tweb\n  device node:\t/run/adjunct/nodes/web\n  \
         major:minor:\t0:0\n  adapter:\n  domains:\n  control domains:\n  ioctls:\n",
    );
    let config = stage.prints("zcryptctl", &["listconfig"]);
    assert_eq!(
        lines(&config, &[0, 1, 2, 3, 4]),
        "node = zcrypt_0\n aps = 0\n doms = 8\n ctrls = 255\n ioctls = ICARSACRT,7\n"
    );
    let nodes: serde_json::Value = serde_json::from_str(&stage.prints("zcryptctl", &["list", "--json"])).unwrap();
    assert_eq!(nodes[0]["ioctls"], serde_json::json!(["ICARSACRT", "7"]));
    say(&["destroy", "web"], "Device node 'web' marked for destruction\n");
    // What listconfig prints is what config reads.
    say(&["destroy", "zcrypt_0"], "Device node 'zcrypt_0' marked for destruction\n");
    let file = stage.path().join("config");
    std::fs::write(&file, &config).unwrap();
    say(
        &["config", file.to_str().unwrap()],
        "Device node created\nAdapter 0 added\nDomain 8 added\nControl domain 255 added\nIoctl ICARSACRT added\nIoctl 7 added\n\
         Device node created\n",
    );
    assert_eq!(stage.prints("zcryptctl", &["listconfig"]), config);
    assert!(stage.asked().contains(&Request::ChangeNode("zcrypt_0".into(), Item::Ioctl(6), true)));
}

#[test]
fn zcryptctl_says_what_is_wrong_as_there() {
    let stage = Stage::new(mixed());
    stage.prints("zcryptctl", &["create", "web"]);
    let say = |args: &[&str], words: &str| assert_eq!(failed(&stage, "zcryptctl", args), format!("zcryptctl: {words}"));
    say(&[], "Missing or invalid command argument\n");
    say(&["nope"], "Missing or invalid command argument\n");
    say(&["destroy"], "Missing node name argument\n");
    say(&["destroy", "x"], "Invalid or unknown nodename 'x'\n");
    say(&["addap", "web"], "Missing adapter argument\n");
    say(&["delctrl", "web"], "Missing domain argument\n");
    say(&["addioctl", "web"], "Missing ioctl argument\n");
    say(&["addap", "web", "300"], "Adapter argument '300' out of range [0..255]\n");
    say(&["addctrl", "web", "999"], "Domain argument '999' out of range [0..255]\n");
    say(&["addioctl", "web", "x"], "Invalid ioctl argument 'x'\n");
    say(&["config"], "Missing filename argument\n");
    let exists = "zcryptctl: there is one of that name\n";
    say(&["create", "web"], &format!("Could not write into sysfs entry to create zdev node\n{exists}"));
    let file = stage.path().join("config");
    let file = file.to_str().unwrap();
    for (text, words) in [
        ("aps = 1\n", "Missing node=... before processing any aps=... statements in line 1 'aps = 1\n'\n"),
        ("# x\n\nnode web\n", "Missing '=' at ' web\n   ...' in line 3 'node web\n'\n"),
        ("nodes", "Missing '=' at 's       ...' in line 1 'nodes'\n"),
        ("node = \n", "Missing node name at '\n       ...' in line 1 'node = \n'\n"),
        ("rubbish and more", "Unknown keyword 'rubbish ...' in line 1 'rubbish and more'\n"),
    ] {
        std::fs::write(file, text).unwrap();
        say(&["config", file], words);
    }
    std::fs::write(file, "node = a # and no more\n aps = 1,,2\tALL # all\ndoms = 1 300\n").unwrap();
    let (text, errors, status) = stage.said("zcryptctl", &["config", file]);
    assert_eq!(text, "Device node created\nAdapter 1 added\nAdapter 2 added\nAll adapters added\nDomain 1 added\n");
    assert_eq!((errors.as_str(), status), ("zcryptctl: Domain argument '300' out of range [0..255]\n", 1));
    assert!(
        failed(&stage, "zcryptctl", &["config", "/nowhere"]).starts_with("zcryptctl: Could not open file '/nowhere'\n")
    );
    // Its help is that of a command, where there is one.
    assert!(stage.prints("zcryptctl", &["addap", "-h"]).starts_with("Usage: zcryptctl addap NODE NUMBER\n"));
}

#[test]
fn zcryptstats_shows_intervals() {
    let stage = Stage::new(mixed());
    let shared = stage.shared();
    let counting = std::sync::atomic::AtomicBool::new(true);
    let text = std::thread::scope(|scope| {
        scope.spawn(|| {
            while counting.load(Relaxed) {
                shared.count(0, 3, 8, 3_000_000);
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        let text = ["", "JSON", "table", "CSV"].map(|format| {
            let mut args = vec!["-i", "1", "-c", "1", "00"];
            args.extend(if format.is_empty() { vec![] } else { vec!["-o", format] });
            stage.prints("zcryptstats", &args)
        });
        counting.store(false, Relaxed);
        text
    });
    let [report, json, table, csv] = text;
    let rows: Vec<_> = report.lines().collect();
    assert!(rows[0].starts_with("Linux ") && rows[1].is_empty() && rows[2] == "*".repeat(68), "{report}");
    assert!(rows[3].starts_with("TIME: ") && rows[3].ends_with("\t\tINTERVAL: 1"), "{report}");
    assert_eq!(rows[5], "DEVICE        TYPE                              TIMESTAMP           ");
    assert!(rows[7].starts_with("00      CARD  CEX8A (Accelerator)               "), "{report}");
    assert_eq!(rows[9], "    COUNTER                   OPS         RATE  UTILIZATION    AVG.DURATION");
    let crt = rows.iter().find(|row| row.contains("RSA 2048 CRT")).unwrap();
    assert!(crt.ends_with("    375.000 usec"), "{report}");
    assert!(
        report.contains("00.0005 APQN  CEX8A (Accelerator)  ") && report.contains("        RSA 4096 CTR  "),
        "{report}"
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let device = &json["zcryptstats"]["host"]["statistics"][0]["devices"][0];
    assert_eq!((&device["device"], &device["type"]), (&"00".into(), &"CEX8A (Accelerator)".into()));
    let total = device["counters"].as_array().unwrap().last().unwrap();
    assert!(total["ops"].as_u64().unwrap() > 0 && total["counter"] == "Total", "{json}");
    assert_eq!(
        table.lines().nth(2).unwrap().trim_end(),
        "TIMESTAMP            DEVICE         OPS         RATE  UTILIZATION    AVG.DURATION"
    );
    let csv: Vec<_> = csv.lines().map(|line| line.split(',').collect::<Vec<_>>()).collect();
    assert_eq!(csv[0].join(","), "TIMESTAMP,DEVICE,OPS,RATE,UTILIZATION,AVG.DURATION");
    assert_eq!(csv[1..].iter().map(|row| row[1]).collect::<Vec<_>>(), ["00", "00.0005", "00.002f"]);
    assert_eq!(csv[1][5], "0.000375000");
}

#[test]
fn zcryptstats_chooses_and_says_what_is_wrong() {
    let stage = Stage::new(mixed());
    let csv = |args: &[&str]| {
        let text = stage.prints("zcryptstats", &[&["-i1", "-c1", "-oCSV"][..], args].concat());
        let ids = text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(csv(&[".2f", "1"]), "00 00.002f 01 01.0005 02 1f");
    assert_eq!(csv(&["-a", "-O"]), "00 01");
    let say =
        |args: &[&str], words: &str| assert_eq!(failed(&stage, "zcryptstats", args), format!("zcryptstats: {words}"));
    say(&["-i", "0"], &format!("Invalid value for '--interval'|'-i': '0'\nTry 'zcryptstats --help' {TRY}"));
    say(&["-c", "1x"], &format!("Invalid value for '--count'|'-c': '1x'\nTry 'zcryptstats --help' {TRY}"));
    say(&["-o", "xml"], &format!("Invalid value for '--output'|'-o': 'xml'\nTry 'zcryptstats --help' {TRY}"));
    say(&["-tT"], "Either --no-totals or --only-totals can be specified, but not both\n");
    say(&["-AO"], "Either --only-online or --all can be specified, but not both\n");
    say(&["99"], "Invalid card specified: 99\n");
    say(&["00.100"], "Invalid domain specified: 00.100\n");
    say(&["zz"], "Invalid device ID specified: zz\n");
    say(&["-M", "1"], "Invalid type mapping: 1\n");
    say(&["-M", "14:8=13:8"], "Cannot map a known type/mode to another type/mode: 14:8=13:8\n");
    say(&["-M", "15:8=1:8"], "Cannot map a type/mode to an unknown type/mode: 15:8=1:8\n");
}

#[test]
fn a_damaged_state_is_one_line() {
    let stage = Stage::new(mixed());
    let all = |end: &str| {
        for (name, args) in [
            ("lszcrypt", &["-V"][..]),
            ("chzcrypt", &["-e", "0"]),
            ("zcryptctl", &["list"]),
            ("zcryptstats", &["-c1"]),
            ("adjunct", &["cards", "status"]),
            ("adjunct", &["cards", "sysfs", "/nowhere/x"]),
        ] {
            let words = failed(&stage, name, args);
            assert_eq!(words.lines().count(), 1, "{words}");
            assert!(words.starts_with(&format!("{name}: ")) && words.trim_end().ends_with(end), "{words}");
        }
    };
    stage.shared().bus(state::Bus::Cards).store(u64::MAX, Relaxed);
    all("/cards is damaged: restart adjunctd");
    stage.shared().bus(state::Bus::Magic).store(7, Relaxed);
    all("/cards was written by another version of adjunctd: restart it");
}

#[test]
fn what_others_say_is_no_harm() {
    let stage = Stage::new(mixed());
    let long = "A".repeat(60_000);
    for raw in [
        &b""[..],
        b"{",
        b"{\"nodes\": 5}",
        b"\xff\xfe",
        long.as_bytes(),
        b"{\"refused\":[1,\"\\u001b[2Jno\\nway\"]}",
        b"{\"refused\":[-2147483648,\"\"]}",
    ] {
        stage.says(raw);
        for (name, args) in [
            ("chzcrypt", &["-d", "0"][..]),
            ("chzcrypt", &["-p"]),
            ("zcryptctl", &["list"]),
            ("zcryptctl", &["create"]),
        ] {
            let words = failed(&stage, name, args);
            assert!(
                words.lines().count() <= 3 && !words.contains('\u{1b}') && words.starts_with(name),
                "{raw:?}: {words}"
            );
        }
    }
    let name = "../\\u001b[2J\\n";
    let mask = serde_json::to_string(&Mask::ALL).unwrap();
    let node = format!(
        r#"{{"nodes":[{{"name":"{name}","path":"{name}","adapters":{mask},"domains":{mask},"controls":{mask},"ioctls":{mask}}}]}}"#
    );
    stage.says(node.as_bytes());
    let text = stage.prints("zcryptctl", &["list"]);
    assert!(text.starts_with("zcrypt node name:\t../\\u{1b}[2J\\n\n") && text.lines().count() == 7, "{text}");
    // Neither does it lead out of a tree.
    let dir = stage.path().join("tree");
    stage.prints("adjunct", &["cards", "sysfs", dir.to_str().unwrap()]);
    assert_eq!(std::fs::read_dir(dir.join("class/zcrypt")).unwrap().count(), 2);
}

/// Runs only as root, who alone can become another user.
#[test]
fn who_may_not_is_told() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let stage = Stage::new(mixed());
    let set = |name: &str, mode| {
        std::fs::set_permissions(stage.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("", 0o755);
    set("control.sock", 0o600);
    let copy = stage.path().join("copy");
    copy::copy(env!("CARGO_BIN_EXE_adjunct-ztools"), &copy);
    let nobody = |name: &str, args: &[&str]| {
        let mut command = std::process::Command::new(&copy);
        said(
            &command
                .arg0(name)
                .args(args)
                .env("ADJUNCT_CARDS_DIR", stage.path())
                .uid(65534)
                .gid(65534)
                .output()
                .unwrap(),
        )
    };
    let (text, errors, status) = nobody("lszcrypt", &[]);
    assert_eq!((text.lines().count(), errors.as_str(), status), (12, "", 0));
    let (text, errors, status) = nobody("chzcrypt", &["-Vd", "00"]);
    let words = "chzcrypt: Error - can't write to /sys/bus/ap/devices/card00/online.\n Wrong permissions or wrong tools version.\n";
    assert!(errors.starts_with(words) && errors.ends_with(" may be used by root alone\n"), "{errors}");
    assert_eq!((text.as_str(), status), ("", 1));
    assert!(nobody("zcryptctl", &["list"]).1.ends_with(" may be used by root alone\n"));
    set("cards", 0o600);
    let (_, errors, status) = nobody("lszcrypt", &[]);
    assert!(errors.ends_with("/cards: Permission denied\n") && errors.lines().count() == 1 && status == 1, "{errors}");
}

/// An empty or relative `XDG_RUNTIME_DIR` names no folder: whose the working folder is, shows no cards of theirs.
#[test]
fn the_working_folder_has_no_cards() {
    let stage = Stage::new(mixed());
    let here = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(stage.path(), here.path().join("adjunct")).unwrap();
    let of = |runtime: &str| {
        let mut command = stage.command("lszcrypt", &[]);
        command.env_remove("ADJUNCT_CARDS_DIR").env("XDG_RUNTIME_DIR", runtime).current_dir(here.path());
        said(&command.output().unwrap()).0
    };
    let theirs = "1f.00c8  CEX8P EP11-Coproc chkstop    123456789";
    for runtime in ["", "."] {
        assert!(!of(runtime).contains(theirs), "XDG_RUNTIME_DIR={runtime}");
    }
    // The machine's own cards, where it has some, come first.
    if !std::path::Path::new("/run/adjunct/cards").exists() {
        assert!(of(here.path().to_str().unwrap()).contains(theirs));
    }
}

#[test]
fn json_has_all_that_a_table_has() {
    let stage = Stage::new(mixed());
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&stage.prints("lszcrypt", &[args, &["--json"]].concat())).unwrap()
    };
    let all = json(&[]);
    let first = &all["devices"][0];
    assert_eq!((&first["device"], &first["status"], &first["requests"]), (&"00".into(), &"online".into(), &20.into()));
    assert_eq!(all["devices"].as_array().unwrap().len(), 10);
    assert_eq!(all["bus"]["config_time"], 30);
    assert_eq!(json(&["--ccaonly"])["devices"].as_array().unwrap().len(), 2);
    assert_eq!(json(&["-b"])["default_domain"], 5);
    assert_eq!(json(&["-d"])["usage"], serde_json::json!([5, 47]));
    assert_eq!(json(&["-s"])[0]["serial"], "93AA01QR00000000");
    assert_eq!(json(&["-c", "0"])["capabilities"][0], "RSA 4K Clear Key");
    assert_eq!(stage.prints("adjunct", &["cards", "list"]), stage.prints("lszcrypt", &["-V"]));
    let status: serde_json::Value =
        serde_json::from_str(&stage.prints("adjunct", &["cards", "status", "--json"])).unwrap();
    assert_eq!((&status["cards"], &status["online"]), (&4.into(), &2.into()));
    stage.shared().count(0, 3, 41, 1);
    stage.shared().count(2, 0, 1, 1);
    let words = "adjunctd runs with 4 cards (02 deconfig, 1f chkstop), which did 42 operations since counting began.\n";
    // What this user's programs did themselves may come after it.
    assert!(stage.prints("adjunct", &["cards", "status"]).starts_with(words));
    assert!(status["refused"]["silent"].is_u64(), "{status}");
}
