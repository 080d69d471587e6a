//! What `pkcsstats` prints, as text or as JSON, byte for byte as openCryptoki's.

use crate::pkcsconf::show::mechanism_name;
use crate::stats::{User, host_facts};
use adjunct::counters::{Strength, Use};
use adjunct_tool::{Failure, output};
use std::fmt::Write;

/// A slot, as it stands above its table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u32,
    /// The label and the model of the token.
    pub(super) token: Option<(String, String)>,
    /// All that the token can do.
    pub(super) mechanisms: Vec<u64>,
}

/// A report that is being printed.
#[derive(Debug)]
pub(super) struct PkcsstatsReport {
    json: bool,
    /// Mechanisms that were not used are shown too.
    all: bool,
    users: usize,
    slots: usize,
}

/// A string of JSON, in quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn line() -> String {
    format!("{}+{}-\n", "-".repeat(31), "-".repeat(16 * Strength::ALL.len()))
}

impl PkcsstatsReport {
    pub(super) fn new(json: bool, all: bool) -> PkcsstatsReport {
        PkcsstatsReport { json, all, users: 0, slots: 0 }
    }

    pub(super) fn start(&self) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        let host = host_facts();
        let facts = [
            ("nodename", &host.nodename),
            ("sysname", &host.sysname),
            ("release", &host.release),
            ("machine", &host.machine),
            ("date", &host.date),
        ];
        let facts = facts.map(|(name, value)| format!("\t\t\"{name}\": {}", quoted(value)));
        output::print(&format!("{{\n\t\"host\": {{\n{}\n\t}},\n\t\"users\": [\n", facts.join(",\n")))
    }

    pub(super) fn end(&self) -> Result<(), Failure> {
        if self.json { output::print("\n\t]\n}\n") } else { Ok(()) }
    }

    /// Begins with a user, or with all of them.
    pub(super) fn user(&mut self, user: Option<&User>) -> Result<(), Failure> {
        let first = self.users == 0;
        (self.users, self.slots) = (self.users + 1, 0);
        let name = user.map_or_else(|| "(all users)".to_owned(), |user| user.name.clone());
        output::print(&match (self.json, user) {
            (true, _) => {
                let comma = if first { "" } else { ",\n" };
                format!("{comma}\t\t{{\n\t\t\t\"user\": {},\n\t\t\t\"slots\": [", quoted(&name))
            }
            (false, Some(_)) => format!("User: {name}\n\n"),
            (false, None) => "Summary (all users):\n\n".to_owned(),
        })
    }

    pub(super) fn end_user(&self) -> Result<(), Failure> {
        if self.json { output::print("\n\t\t\t]\n\t\t}") } else { Ok(()) }
    }

    /// Prints a slot with a user's uses of it.
    pub(super) fn slot(&mut self, slot: &Slot, uses: &[Use]) -> Result<(), Failure> {
        self.slots += 1;
        let rows = self.rows(slot, uses);
        output::print(&if self.json { json(slot, &rows, self.slots == 1) } else { table(slot, &rows) })
    }

    /// The mechanisms to be shown, by their names, in which lines between words do not count.
    fn rows(&self, slot: &Slot, uses: &[Use]) -> Vec<(String, [u64; 5])> {
        let used = uses.iter().filter(|one| one.slot == slot.number);
        let mut rows: Vec<_> = used.map(|one| (u64::from(one.mechanism), one.by_strength)).collect();
        if self.all {
            let unused = slot.mechanisms.iter().filter(|&&one| !rows.iter().any(|(known, _)| *known == one));
            let unused: Vec<_> = unused.map(|&one| (one, [0; 5])).collect();
            rows.extend(unused);
        }
        let named = |number| mechanism_name(number).map_or_else(|| format!("0x{number:X}"), ToOwned::to_owned);
        let mut rows: Vec<(String, _)> = rows.into_iter().map(|(number, counts)| (named(number), counts)).collect();
        rows.sort_by_cached_key(|(name, _)| name.replace('_', ""));
        rows
    }
}

fn table(slot: &Slot, rows: &[(String, [u64; 5])]) -> String {
    let number = slot.number;
    let mut text = match &slot.token {
        Some((label, model)) => format!("Slot: {number} (label: '{label}' model: '{model}')\n\n"),
        None => format!("Slot: {number} (no token present)\n\n"),
    };
    text += &line();
    text += "mechanism                      | strength 0      ";
    for strength in &Strength::ALL[1..] {
        let _ = write!(text, "strength {:<5}  ", strength.bits());
    }
    text += "\n                               | or no key\n";
    text += &line();
    for (name, counts) in rows {
        let _ = write!(text, "{name:<30} |");
        for count in counts {
            let shown = if *count == u64::MAX { "[saturated]".to_owned() } else { count.to_string() };
            let _ = write!(text, " {shown:>15}");
        }
        text.push('\n');
    }
    if rows.is_empty() {
        text += "[no mechanisms were used]      |\n";
    }
    text + &line() + "\n"
}

fn json(slot: &Slot, rows: &[(String, [u64; 5])], first: bool) -> String {
    let mut text = format!("{}\n\t\t\t\t{{\n\t\t\t\t\t\"slot\": {},\n", if first { "" } else { "," }, slot.number);
    match &slot.token {
        Some((label, model)) => {
            let _ = write!(
                text,
                "\t\t\t\t\t\"token-present\": true,\n\t\t\t\t\t\"label\": {},\n\t\t\t\t\t\"model\": {},\n",
                quoted(label),
                quoted(model)
            );
        }
        None => text += "\t\t\t\t\t\"token-present\": false,\n",
    }
    text += "\t\t\t\t\t\"mechanisms\": [";
    for (place, (name, counts)) in rows.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n\t\t\t\t\t\t{{\n\t\t\t\t\t\t\t\"mechanism\": {},\n", quoted(name));
        let words = Strength::ALL.iter().zip(counts).flat_map(|(strength, &count)| {
            let bits = strength.bits();
            let saturated = (count == u64::MAX).then(|| format!("\"strength-{bits}-saturated\": true"));
            [Some(format!("\"strength-{bits}\": {count}")), saturated]
        });
        let words: Vec<_> = words.flatten().map(|word| format!("\t\t\t\t\t\t\t{word}")).collect();
        text += &words.join(",\n");
        text += "\n\t\t\t\t\t\t}";
    }
    text + "\n\t\t\t\t\t]\n\t\t\t\t}"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Slot {
        Slot { number: 3, token: Some(("icatok".into(), "Soft".into())), mechanisms: vec![0x250, 0x1082] }
    }

    const USES: [Use; 2] = [
        Use { slot: 3, mechanism: 0x1082, by_strength: [0, 0, 2, 0, u64::MAX] },
        Use { slot: 1, mechanism: 0x250, by_strength: [7, 0, 0, 0, 0] },
    ];

    #[test]
    fn a_table_as_opencryptoki_prints_it() {
        let rule = format!("{}+{}\n", "-".repeat(31), "-".repeat(81));
        let head = format!(
            "Slot: 3 (label: 'icatok' model: 'Soft')\n\n{rule}\
             mechanism                      | strength 0      strength 112    strength 128    strength 192    strength 256    \n\
             {:31}| or no key\n{rule}",
            ""
        );
        let rows = PkcsstatsReport::new(false, false).rows(&slot(), &USES);
        let row = "CKM_AES_CBC                    |               0               0               2               0     [saturated]\n";
        assert_eq!(table(&slot(), &rows), format!("{head}{row}{rule}\n"));
        assert_eq!(table(&slot(), &[]), format!("{head}[no mechanisms were used]      |\n{rule}\n"));
        let none = Slot { token: None, ..slot() };
        assert!(table(&none, &[]).starts_with("Slot: 3 (no token present)\n\n---"));
        let all = PkcsstatsReport::new(false, true).rows(&slot(), &USES);
        assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["CKM_AES_CBC", "CKM_SHA256"]);
    }

    #[test]
    fn json_as_opencryptoki_prints_it() {
        let rows = PkcsstatsReport::new(true, false).rows(&slot(), &USES);
        let text = json(&slot(), &rows, false);
        let expected = ",
				{
					\"slot\": 3,
					\"token-present\": true,
					\"label\": \"icatok\",
					\"model\": \"Soft\",
					\"mechanisms\": [
						{
							\"mechanism\": \"CKM_AES_CBC\",
							\"strength-0\": 0,
							\"strength-112\": 0,
							\"strength-128\": 2,
							\"strength-192\": 0,
							\"strength-256\": 18446744073709551615,
							\"strength-256-saturated\": true
						}
					]
				}";
        assert_eq!(text, expected);
        assert!(
            json(&Slot { token: None, ..slot() }, &[], true).ends_with("\"mechanisms\": [\n\t\t\t\t\t]\n\t\t\t\t}")
        );
    }
}
