//! The statistics as JSON. The keys of `icastats -j` are kept; `adjunct stats --json` adds to them.

use super::host::Host;
use super::{Line, Rows, User, lines};
use adjunct::catalogue::{Reason, Refusal};
use adjunct::counters::{Cell, Lanes, Snapshot};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The output of `icastats -j`, with the keys, their order and the tabs of IBM Z.
pub fn ica_json(host: &Host, users: &[(User, Snapshot)], key_sizes: bool) -> String {
    let users = users.iter().map(|(user, snapshot)| IcaUser {
        user: user.name.clone(),
        functions: lines(snapshot, key_sizes, Rows::OfZ).iter().map(ica_row).collect(),
    });
    with_tabs(&IcaReport { host, users: users.collect() })
}

#[derive(Serialize)]
struct IcaReport<'a> {
    host: &'a Host,
    users: Vec<IcaUser>,
}

#[derive(Serialize)]
struct IcaUser {
    user: String,
    functions: Vec<IcaRow>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum IcaRow {
    Crypt {
        function: String,
        #[serde(rename = "hw-crypt")]
        hardware: u64,
        #[serde(rename = "sw-crypt")]
        software: u64,
    },
    Cipher {
        function: String,
        #[serde(rename = "hw-enc")]
        hardware_encrypt: u64,
        #[serde(rename = "sw-enc")]
        software_encrypt: u64,
        #[serde(rename = "hw-dec")]
        hardware_decrypt: u64,
        #[serde(rename = "sw-dec")]
        software_decrypt: u64,
    },
}

fn ica_row(line: &Line) -> IcaRow {
    let [hardware, hardware_decrypt] = line.counts.hardware.map(|c| c.calls);
    let [software, software_decrypt] = line.counts.software.map(|c| c.calls);
    let function = line.json_name();
    if !line.is_cipher() {
        return IcaRow::Crypt { function, hardware, software };
    }
    IcaRow::Cipher {
        function,
        hardware_encrypt: hardware,
        software_encrypt: software,
        hardware_decrypt,
        software_decrypt,
    }
}

fn with_tabs(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"\t");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
    // Plain structs with string keys written to memory: there is nothing that could fail.
    let _ = value.serialize(&mut serializer);
    text.push(b'\n');
    String::from_utf8_lossy(&text).into_owned()
}

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
    let all = super::rows::queues(snapshot).filter(|(_, lanes)| !used || !lanes.is_zero());
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
    use super::super::rows::tests::sample;
    use super::*;

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
    fn icastats_json_is_that_of_z() {
        let text = ica_json(&host(), &users(), false);
        assert!(text.starts_with(
            "{\n\t\"host\": {\n\t\t\"nodename\": \"host\",\n\t\t\"sysname\": \"Linux\",\n\t\t\"release\": \"6.18\",\n\
             \t\t\"machine\": \"x86_64\",\n\t\t\"date\": \"2026-11-21T08:38:39Z\"\n\t},\n\t\"users\": [\n\t\t{\n\
             \t\t\t\"user\": \"alice\",\n\t\t\t\"functions\": [\n\t\t\t\t{\n\t\t\t\t\t\"function\": \"SHA-1\",\n\
             \t\t\t\t\t\"hw-crypt\": 0,\n\t\t\t\t\t\"sw-crypt\": 0\n\t\t\t\t},\n"
        ));
        assert!(text.contains(
            "\"function\": \"AES GCM\",\n\t\t\t\t\t\"hw-enc\": 7,\n\t\t\t\t\t\"sw-enc\": 0,\n\
             \t\t\t\t\t\"hw-dec\": 5,\n\t\t\t\t\t\"sw-dec\": 0\n"
        ));
    }

    #[test]
    fn key_sizes_have_the_names_of_z() {
        let value: Value = serde_json::from_str(&ica_json(&host(), &users(), true)).unwrap();
        let rows = value["users"][0]["functions"].as_array().unwrap();
        let named = |name: &str| rows.iter().find(|r| r["function"] == name).unwrap();
        assert_eq!(named("RSA-CRT - 2048")["hw-crypt"], 3);
        assert_eq!(named("ECDSA Sign - 160")["hw-crypt"], 0);
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
