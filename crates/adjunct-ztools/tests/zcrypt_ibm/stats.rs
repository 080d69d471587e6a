//! `zcryptstats`: counters that grow while it looks at them, as the firmware's measurement blocks for IBM's.

use super::compare::{Differences, Said, tools, tree, without_reasons};
use super::zcrypt_stage::{Stage, mixed, queue, said};
use adjunct_card_state::machine::{Machine, Mode};
use std::process::{Command, Stdio};
use std::time::Duration;

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

/// Output without what differs between two runs: the time, what depends on how long an interval took, and the machine's name.
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
        machine.cards[1].queues.push(queue(47, 0));
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
