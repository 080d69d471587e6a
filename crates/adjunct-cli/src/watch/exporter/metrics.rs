//! What is exported: names, labels and help of every metric, made of a sample.
//!
//! What Prometheus' conventions ask for: base units, `_total` behind counters, one label a dimension, series that are bounded. Functions,
//! queues and reasons are the catalogue's; users are bounded by the ledger, mechanisms by their names, slots by [`SLOTS`].

use super::families::{Family, FamilyKind, Value, labels};
use crate::watch::ledger::{Ledger, Values};
use crate::watch::sample::{Cards, Counted, Sample};
use adjunct::catalogue::{CounterSplit as Split, Feature, HERE, Reason, Refusal};
use adjunct::counters::{self, Cell, Strength};
use adjunct::cpu;
use adjunct_card_state::machine::{Card, Machine};
use adjunct_ztools::pkcsconf::show::mechanism_name;
use adjunct_ztools::stats::{order, queues};
use std::collections::BTreeMap;

/// Slots of tokens with a label of their own; those with higher numbers are `other`.
const SLOTS: u32 = 32;

/// Counters of users: name and help.
const OF_USERS: [(&str, &str); 9] = [
    (
        OPERATIONS,
        "Operations by function, direction and what ran them: hardware is dedicated instructions, software all else.",
    ),
    (BYTES, "Bytes that operations worked on; public-key operations have none."),
    (REASONS, "Operations in software by function and by why no hardware ran them."),
    (
        REASONS_BYTES,
        "Bytes worked on in software by function and by why no hardware did; public-key operations have none.",
    ),
    (
        ACCELERATED,
        "Private-key operations by queue and by what did them: lanes (in a batch), alone (one at a time), card.",
    ),
    (BATCHES, "Batches run in lanes, by queue and by how many of the eight lanes were filled."),
    (FAULTS, "Lanes whose result was wrong; each operation was done again before anybody saw it."),
    (REFUSALS, "Operations that a card was asked for and did not do; the program did them itself."),
    (USES, "Uses of mechanisms of PKCS #11 by slot and by the strength of the key in bits."),
];
const OPERATIONS: &str = "adjunct_operations";
const BYTES: &str = "adjunct_bytes";
const REASONS: &str = "adjunct_software_operations";
const REASONS_BYTES: &str = "adjunct_software_bytes";
const ACCELERATED: &str = "adjunct_accelerator_operations";
const BATCHES: &str = "adjunct_accelerator_batches";
const FAULTS: &str = "adjunct_accelerator_lane_faults";
const REFUSALS: &str = "adjunct_card_refusals";
const USES: &str = "adjunct_pkcs11_mechanism_uses";

/// All metrics of a sample.
pub(super) fn of(sample: &Sample, ledger: &mut Ledger) -> Vec<Family> {
    let mut families = of_users(sample, ledger);
    families.extend(of_cards(&sample.cards));
    families.extend(of_this_program(sample));
    families
}

fn of_users(sample: &Sample, ledger: &mut Ledger) -> Vec<Family> {
    let mut found: BTreeMap<&str, Vec<(String, u64)>> = BTreeMap::new();
    let mut now = BTreeMap::new();
    let mut attached: BTreeMap<String, u64> = BTreeMap::new();
    for counted in &sample.users {
        let uid = counted.user.uid;
        let label = ledger.label(uid, &counted.user.name);
        let programs = attached.entry(labels(&[("user", label)])).or_default();
        *programs = programs.saturating_add(counted.attached);
        now.insert(uid, values(counted, label));
    }
    for ((name, labels), value) in ledger.add(now) {
        if let Some((name, _)) = OF_USERS.iter().find(|(known, _)| *known == name) {
            found.entry(name).or_default().push((labels, value));
        }
    }
    let families = OF_USERS.map(|(name, help)| {
        let mut family = Family::new(name, help, FamilyKind::Counter);
        found.remove(name).unwrap_or_default().into_iter().for_each(|(labels, value)| family.put(labels, value));
        family
    });
    let mut programs =
        Family::new("adjunct_processes", "Processes that have a module of adjunct loaded.", FamilyKind::Gauge);
    attached.into_iter().for_each(|(labels, value)| programs.put(labels, value));
    if programs.series.is_empty() {
        programs.put(String::new(), 0);
    }
    families.into_iter().chain([programs]).collect()
}

/// Values of a user. For a function that was used all series are there, those at 0 too: a rate of a series that appears with its first event does not
/// show that event.
fn values(counted: &Counted, user: &str) -> Values {
    let mut values = Values::new();
    let mut put = |name: &'static str, pairs: &[(&str, &str)], value: u64| {
        let pairs: Vec<_> = pairs.iter().copied().chain([("user", user)]).collect();
        let sum = values.entry((name, labels(&pairs))).or_default();
        *sum = sum.saturating_add(value);
    };
    let snapshot = &counted.snapshot;
    for function in order() {
        let counts = snapshot.function(function);
        let name = function.info().stats_name;
        if counts.is_zero() {
            continue;
        }
        let directions: &[&str] =
            if function.info().kind == Split::Cipher { &["encrypt", "decrypt"] } else { &["crypt"] };
        for (place, direction) in directions.iter().enumerate() {
            for (path, cells) in [("hardware", counts.hardware), ("software", counts.software)] {
                let pairs = [("function", name), ("direction", *direction), ("path", path)];
                put(OPERATIONS, &pairs, cells[place].calls);
                put(BYTES, &pairs, cells[place].bytes);
            }
        }
        for &reason in Reason::ALL {
            let software = snapshot.fallbacks(function, reason);
            if software != Cell::default() {
                let pairs = [("function", name), ("reason", reason.key())];
                put(REASONS, &pairs, software.calls);
                put(REASONS_BYTES, &pairs, software.bytes);
            }
        }
    }
    for (queue, lanes) in queues(snapshot).filter(|(_, lanes)| !lanes.is_zero()) {
        for (by, operations) in [("lanes", lanes.in_lanes), ("alone", lanes.alone), ("card", lanes.on_card)] {
            put(ACCELERATED, &[("queue", queue), ("by", by)], operations);
        }
        for (filled, batches) in (1u32..).zip(lanes.batches) {
            put(BATCHES, &[("queue", queue), ("lanes", &filled.to_string())], batches);
        }
        put(FAULTS, &[("queue", queue)], lanes.corrupted);
        for (refusal, count) in Refusal::ALL.iter().zip(lanes.not_on_card) {
            put(REFUSALS, &[("queue", queue), ("reason", refusal.word())], count);
        }
    }
    for one in &counted.uses {
        let slot = if one.slot < SLOTS { one.slot.to_string() } else { "other".to_owned() };
        let mechanism = mechanism_name(one.mechanism.into()).unwrap_or("other");
        for (strength, uses) in Strength::ALL.iter().zip(one.by_strength).filter(|(_, uses)| *uses > 0) {
            let pairs = [("slot", &*slot), ("mechanism", mechanism), ("strength", &strength.bits().to_string())];
            put(USES, &pairs, uses);
        }
    }
    values
}

fn of_cards(cards: &Cards) -> Vec<Family> {
    let mut up = Family::new("adjunct_cards_up", "Whether adjunctd, the daemon of the cards, runs.", FamilyKind::Gauge);
    let machine = match cards {
        Cards::Running(machine) => Some(machine),
        Cards::NotRunning | Cards::Unreadable(_) => None,
    };
    up.put(String::new(), machine.is_some().into());
    let mut families = vec![up];
    if let Some(machine) = machine {
        families.extend(states_of(machine));
        families.extend(queues_of(machine));
    }
    families
}

fn id(card: &Card) -> String {
    format!("{:02x}", card.id)
}

/// The metrics of the cards' states.
fn states_of(machine: &Machine) -> Vec<Family> {
    type Gauge = (&'static str, &'static str, fn(&Card) -> u64);
    let gauges: [Gauge; 4] = [
        ("adjunct_card_online", "Whether a card takes operations.", |card| card.is_online().into()),
        ("adjunct_card_configured", "Whether a card is configured: its process runs.", |card| card.config.into()),
        ("adjunct_card_checkstopped", "Whether a card was stopped for faults.", |card| card.chkstop.into()),
        ("adjunct_card_depth", "Operations that a domain of a card works on at a time, at most.", |card| {
            card.depth.into()
        }),
    ];
    let gauges = gauges.map(|(name, help, value)| {
        let mut family = Family::new(name, help, FamilyKind::Gauge);
        machine
            .cards
            .iter()
            .for_each(|card| family.put(labels(&[("card", &id(card)), ("type", &card.kind)]), value(card)));
        family
    });
    gauges.into()
}

/// Metrics of the cards' domains.
fn queues_of(machine: &Machine) -> Vec<Family> {
    let gauge = |name, help| Family::new(name, help, FamilyKind::Gauge);
    let counter = |name, help| Family::new(name, help, FamilyKind::Counter);
    let mut online = gauge("adjunct_card_domain_online", "Whether a domain was set to take operations.");
    let mut waiting = gauge("adjunct_card_waiting", "Operations that wait for a card.");
    let mut pending = gauge("adjunct_card_pending", "Operations that a card works on.");
    let mut requests = counter("adjunct_card_requests", "Requests that were sent to a card.");
    let mut operations = counter("adjunct_card_operations", "Operations that a card did.");
    let mut busy = counter(
        "adjunct_card_busy_seconds",
        "Time that workers of a card were busy; its rate is how many were, on average.",
    );
    for card in &machine.cards {
        let names = &card.counters;
        for queue in &card.queues {
            let (card, domain) = (id(card), format!("{:04x}", queue.domain));
            let pairs = [("card", &*card), ("domain", &*domain)];
            online.put(labels(&pairs), queue.online.into());
            waiting.put(labels(&pairs), queue.requestq);
            pending.put(labels(&pairs), queue.pendingq);
            requests.put(labels(&pairs), queue.requests);
            for (name, work) in names.iter().zip(&queue.counters) {
                // zcryptstats' list has the last name as IBM's has it.
                let name = name.replace("CTR", "CRT");
                let pairs = labels(&[pairs[0], pairs[1], ("operation", &name)]);
                operations.put(pairs.clone(), work.operations);
                busy.series.push((pairs, Value::Real(work.busy as f64 / 1e9)));
            }
        }
    }
    vec![online, waiting, pending, requests, operations, busy]
}

/// The metrics of this machine, and of what this program could read of it.
fn of_this_program(sample: &Sample) -> Vec<Family> {
    let gauge = |name, help, value: u64| {
        let mut family = Family::new(name, help, FamilyKind::Gauge);
        family.put(String::new(), value);
        family
    };
    let mut build = Family::new("adjunct_build", "The version of the exporter.", FamilyKind::Info);
    build.put(labels(&[("version", env!("CARGO_PKG_VERSION"))]), 1);
    let features = cpu::features();
    let mut instructions =
        Family::new("adjunct_cpu_instructions", "Whether this machine's CPU has the instructions.", FamilyKind::Gauge);
    for &feature in Feature::ALL.iter().filter(|feature| Some(feature.arch()) == HERE) {
        instructions.put(labels(&[("instructions", feature.text())]), features.has(feature).into());
    }
    let unreadable = sample.unread().len() as u64;
    let obstacles = |counted: &Counted| counters::obstacles(counted.user.uid).map_or(0, |found| found.len() as u64);
    let in_the_way = sample.users.iter().map(obstacles).sum();
    vec![
        build,
        instructions,
        gauge("adjunct_users", "Users who have counters that the exporter reads.", sample.users.len() as u64),
        gauge(
            "adjunct_reads_all_users",
            "Whether the exporter may read the counters of all users.",
            counters::reads_all().into(),
        ),
        gauge(
            "adjunct_read_errors",
            "What could not be read: counters that are damaged, cards of another version.",
            unreadable,
        ),
        gauge(
            "adjunct_counting_obstacles",
            "Shared memory of others, or damaged, where programs would count; `adjunct stats` says which.",
            in_the_way,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::families::{Format, text};
    use super::*;
    use adjunct::counters::Use;
    use adjunct_card_state::machine::{ACCELERATOR_COUNTERS, Bus, Mask, Mode, Queue, Work};
    use adjunct_ztools::stats::User;
    use adjunct_ztools::stats::sample::sample as counted;

    fn machine() -> Machine {
        let bus = Bus {
            default_domain: Some(0),
            usage_domains: Mask::ALL,
            control_domains: Mask::ALL,
            apmask: Mask::ALL,
            aqmask: Mask::ALL,
            config_time: 30,
            poll_thread: false,
            poll_timeout: 0,
            scans: 1,
            features: Vec::new(),
        };
        let mut counters = vec![Work::default(); ACCELERATOR_COUNTERS.len()];
        counters[3] = Work { operations: 6, busy: 1_500_000_000 };
        let queue = Queue { domain: 5, online: true, requests: 7, requestq: 1, pendingq: 2, load: 0, counters };
        let card = Card {
            id: 0x1f,
            mode: Mode::Accelerator,
            kind: "ADJ8A".into(),
            hwtype: 14,
            depth: 8,
            functions: 0,
            online: true,
            config: true,
            chkstop: true,
            requests: 7,
            max_message: 0,
            serial: String::new(),
            counters: ACCELERATOR_COUNTERS.map(String::from).to_vec(),
            confined: Some(true),
            remark: String::new(),
            queues: vec![queue],
        };
        Machine { bus, cards: vec![card], remark: String::new() }
    }

    fn sample() -> Sample {
        let user = |uid: u32, name: &str| Counted {
            user: User { uid, name: name.into() },
            attached: 2,
            snapshot: counted(),
            uses: vec![
                Use { slot: 3, mechanism: 0x1041, by_strength: [0, 0, 9, 0, 0] },
                Use { slot: 99, mechanism: 0x1234_5678, by_strength: [1, 0, 0, 0, 0] },
                Use { slot: 98, mechanism: 0x1234_5679, by_strength: [1, 0, 0, 0, 0] },
            ],
        };
        let users = vec![user(0, "root"), user(1000, "a\"b")];
        Sample { users, cards: Cards::Running(machine()), wrong: vec!["broken".into()] }
    }

    fn page(by_user: bool) -> String {
        text(&of(&sample(), &mut Ledger::new(by_user)), Format::Text)
    }

    #[test]
    fn users_are_summed_up() {
        let page = page(false);
        for line in [
            "# TYPE adjunct_operations_total counter",
            "adjunct_operations_total{function=\"AES GCM\",direction=\"encrypt\",path=\"hardware\"} 14",
            "adjunct_operations_total{function=\"AES GCM\",direction=\"decrypt\",path=\"software\"} 0",
            "adjunct_bytes_total{function=\"SHA-512\",direction=\"crypt\",path=\"software\"} 2816",
            "adjunct_software_operations_total{function=\"SHA-512\",reason=\"no-instruction\"} 22",
            "adjunct_accelerator_operations_total{queue=\"RSA-2048 CRT\",by=\"lanes\"} 38",
            "adjunct_accelerator_batches_total{queue=\"RSA-2048 CRT\",lanes=\"8\"} 4",
            "adjunct_accelerator_lane_faults_total{queue=\"RSA-2048 CRT\"} 2",
            "adjunct_card_refusals_total{queue=\"RSA-2048 CRT\",reason=\"busy\"} 4",
            "adjunct_card_refusals_total{queue=\"RSA-2048 CRT\",reason=\"silent\"} 2",
            "adjunct_pkcs11_mechanism_uses_total{slot=\"3\",mechanism=\"CKM_ECDSA\",strength=\"128\"} 18",
            "adjunct_pkcs11_mechanism_uses_total{slot=\"other\",mechanism=\"other\",strength=\"0\"} 4",
            "adjunct_processes 4",
            "adjunct_card_online{card=\"1f\",type=\"ADJ8A\"} 0",
            "adjunct_card_checkstopped{card=\"1f\",type=\"ADJ8A\"} 1",
            "adjunct_card_waiting{card=\"1f\",domain=\"0005\"} 1",
            "adjunct_card_busy_seconds_total{card=\"1f\",domain=\"0005\",operation=\"RSA 2048 CRT\"} 1.5",
            "adjunct_read_errors 1",
            "adjunct_users 2",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("user=") && !page.contains("SHA-1\""));
    }

    #[test]
    fn or_stand_by_themselves() {
        let page = page(true);
        for line in [
            "adjunct_operations_total{function=\"AES GCM\",direction=\"encrypt\",path=\"hardware\",user=\"root\"} 7",
            "adjunct_operations_total{function=\"AES GCM\",direction=\"encrypt\",path=\"hardware\",user=\"a\\\"b\"} 7",
            "adjunct_processes{user=\"root\"} 2",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
    }

    /// A user whose counters are gone (a logout, a reset) keeps series, and goes on from there when counters come again.
    #[test]
    fn who_has_left_stays_in_the_sums() {
        let mut ledger = Ledger::new(true);
        let all = sample();
        of(&all, &mut ledger);
        let without = Sample { users: all.users[..1].to_vec(), ..all.clone() };
        let page = text(&of(&without, &mut ledger), Format::Text);
        let line = |user: &str, count: u32| {
            format!(
                "adjunct_operations_total{{function=\"AES GCM\",direction=\"encrypt\",path=\"hardware\",user=\"{user}\"}} {count}"
            )
        };
        for line in [line("root", 7), line("a\\\"b", 7), "adjunct_users 1".to_owned()] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("adjunct_processes{user=\"a"), "no process of theirs runs");
        let page = text(&of(&all, &mut ledger), Format::Text);
        assert!(page.lines().any(|found| found == line("a\\\"b", 14)), "{page}");
    }

    /// What the dashboard and the rules in `packaging/monitoring` name is exported, or recorded by the rules.
    #[test]
    fn the_dashboard_and_the_rules_name_what_there_is() {
        const RULES: &str = include_str!("../../../../../packaging/monitoring/adjunct.rules.yml");
        const DASHBOARD: &str = include_str!("../../../../../packaging/monitoring/grafana-dashboard.json");
        let page = page(false);
        let exported: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let named = |text: &'static str| text.split(move |c| !word(c)).filter(|name| name.starts_with("adjunct_"));
        let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
        assert_eq!(dashboard["templating"]["list"][0]["type"], "datasource");
        assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
        let panels = dashboard["panels"].as_array().unwrap();
        let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
        assert!(queries.clone().count() > 20);
        assert!(queries.into_iter().all(|query| query["datasource"]["uid"] == "${datasource}"));
        for name in named(RULES).chain(named(DASHBOARD)) {
            assert!(exported.contains(&name), "{name} is not exported");
        }
    }

    #[test]
    fn a_machine_that_has_counted_nothing_says_so() {
        let empty = Sample { users: Vec::new(), cards: Cards::NotRunning, wrong: Vec::new() };
        let page = text(&of(&empty, &mut Ledger::new(false)), Format::Text);
        assert!(page.contains("\nadjunct_cards_up 0\n") && page.contains("\nadjunct_users 0\n"), "{page}");
        assert!(page.contains("\nadjunct_processes 0\n") && page.contains("adjunct_build_info{version="), "{page}");
    }
}
