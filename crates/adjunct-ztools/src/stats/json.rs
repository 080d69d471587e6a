//! The statistics as the JSON of `icastats -j`: its keys are those of Z.

use super::host::Host;
use super::{Line, Rows, User, lines};
use adjunct::counters::Snapshot;
use serde::Serialize;

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

/// JSON with the tabs of Z.
pub fn with_tabs(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"\t");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
    // Plain structs with string keys written to memory: there is nothing that could fail.
    let _ = value.serialize(&mut serializer);
    text.push(b'\n');
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::sample::sample;
    use serde_json::Value;

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
}
