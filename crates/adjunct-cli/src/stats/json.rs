//! The statistics as JSON: the keys of `icastats -j`, and more.

use adjunct::catalogue::{Reason, Refusal};
use adjunct::counters::{Cell, Lanes, Snapshot};
use adjunct_ztools::stats::{Host, Line, Rows, User, lines, queues, with_tabs};
use serde_json::{Map, Value, json};

/// What `adjunct stats --json` prints: the keys of Z, and per row the bytes and why software ran, in calls and in bytes.
pub fn report_json(host: &Host, users: &[(User, Snapshot)], key_sizes: bool, used: bool) -> String {
    let users: Vec<Value> = users
        .iter()
        .map(|(user, snapshot)| {
            let rows = lines(snapshot, key_sizes, if used { Rows::Used } else { Rows::All });
            let functions: Vec<Value> = rows.iter().map(|line| report_row(line, snapshot)).collect();
            let uid = (user.uid != u32::MAX).then_some(user.uid);
            json!({ "user": user.name, "uid": uid, "functions": functions, "accelerator": accelerator(snapshot, used) })
        })
        .collect();
    with_tabs(&json!({ "host": host, "users": users }))
}

/// The accelerator's counters, by queue.
fn accelerator(snapshot: &Snapshot, used: bool) -> Vec<Value> {
    let all = queues(snapshot).filter(|(_, lanes)| !used || !lanes.is_zero());
    all.map(|(name, lanes)| {
        json!({
            "queue": name,
            "lanes": lanes.in_lanes,
            "alone": lanes.alone,
            "corrupted": lanes.corrupted,
            "batches": lanes.batches,
            "cards": lanes.on_card,
            "not_on_cards": lanes.refused(),
            "refused": refusals(lanes),
        })
    })
    .collect()
}

/// Operations that were to go to cards and did not, by the reason.
fn refusals(lanes: Lanes) -> Map<String, Value> {
    Refusal::ALL.iter().zip(lanes.not_on_card).map(|(refusal, count)| (refusal.word().into(), count.into())).collect()
}

fn report_row(line: &Line, snapshot: &Snapshot) -> Value {
    let mut row = Map::new();
    let mut put = |key: String, value: Value| row.insert(key, value);
    put("function".into(), line.json_name().into());
    if let Some(bits) = line.size.filter(|&bits| bits > 0) {
        put("key-size".into(), bits.into());
    }
    let directions: &[(usize, &str)] = if line.is_cipher() { &[(0, "enc"), (1, "dec")] } else { &[(0, "crypt")] };
    for &(place, direction) in directions {
        for (side, cells) in [("hw", line.counts.hardware), ("sw", line.counts.software)] {
            let Cell { calls, bytes } = cells[place];
            put(format!("{side}-{direction}"), calls.into());
            put(format!("{side}-{direction}-bytes"), bytes.into());
        }
    }
    if line.size.is_none() {
        let reasons = Reason::ALL.iter().map(|&reason| (reason.key(), snapshot.fallbacks(line.function, reason)));
        let reasons: Vec<(&str, Cell)> = reasons.filter(|(_, cell)| *cell != Cell::default()).collect();
        for (key, value) in
            [("fallbacks", (|cell| cell.calls) as fn(&Cell) -> u64), ("fallback-bytes", |cell| cell.bytes)]
        {
            let told = reasons.iter().map(|(reason, cell)| ((*reason).to_owned(), value(cell).into()));
            put(key.into(), told.collect::<Map<String, Value>>().into());
        }
    }
    Value::Object(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_ztools::stats::sample::sample;

    fn host() -> Host {
        Host {
            nodename: "host".into(),
            sysname: "Linux".into(),
            release: "6.18".into(),
            machine: "x86_64".into(),
            date: "2026-11-21T08:38:39Z".into(),
        }
    }

    fn users() -> Vec<(User, Snapshot)> {
        vec![(User { uid: 1000, name: "alice".into() }, sample())]
    }

    #[test]
    fn the_report_adds_bytes_and_reasons() {
        let value: Value = serde_json::from_str(&report_json(&host(), &users(), true, true)).unwrap();
        assert_eq!(value["users"][0]["uid"], 1000);
        let rows = value["users"][0]["functions"].as_array().unwrap();
        let named = |name: &str| rows.iter().find(|r| r["function"] == name).unwrap();
        assert_eq!(named("AES GCM")["hw-enc-bytes"], 114_688);
        assert_eq!(named("AES GCM - 256")["key-size"], 256);
        assert_eq!(named("SHA-512")["fallbacks"], json!({"no-instruction": 11}));
        assert_eq!(named("SHA-512")["fallback-bytes"], json!({"no-instruction": 1408}));
        assert_eq!(named("RSA-CRT")["fallback-bytes"], json!({"parameter": 0}));
        assert_eq!(named("AES GCM")["fallback-bytes"], json!({}));
        assert!(rows.iter().all(|r| r["function"] != "SHA-1"));
        let queues = value["users"][0]["accelerator"].as_array().unwrap();
        assert_eq!(queues.len(), 1);
        assert_eq!(queues[0]["queue"], "RSA-2048 CRT");
        assert_eq!(
            (&queues[0]["lanes"], &queues[0]["alone"], &queues[0]["corrupted"]),
            (&19.into(), &4.into(), &1.into())
        );
        assert_eq!(queues[0]["batches"], json!([0, 0, 0, 1, 0, 0, 0, 2]));
    }
}
