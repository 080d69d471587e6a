//! Counters of one process tree, apart from those of all other programs, so that connections may run side by side and each still be asked what it
//! counted.

use crate::system::{is_root, target};
use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls and bytes of one function, hardware and software.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Operations that ran on dedicated instructions.
    pub hardware: u64,
    /// Operations that ran without dedicated instructions.
    pub software: u64,
    /// Bytes of both.
    pub bytes: u64,
}

impl Count {
    /// Operations, wherever they ran.
    pub fn calls(self) -> u64 {
        self.hardware + self.software
    }
}

/// What was counted, by function; only what is not zero.
pub type Counts = BTreeMap<String, Count>;

/// A name for counters; they are deleted when it is dropped.
#[derive(Debug)]
pub struct Counted {
    key: String,
}

impl Counted {
    /// New counters, all zero.
    pub fn new() -> Counted {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Counted { key: format!("e2e-{}-{number}", std::process::id()) }
    }

    /// The environment variable that leads programs to these counters.
    pub fn environment(&self) -> (String, String) {
        ("ADJUNCT_STATS_KEY".to_owned(), self.key.clone())
    }

    /// What was counted, all users together.
    pub fn read(&self) -> Counts {
        self.report("-S").into_values().next().unwrap_or_default()
    }

    /// What was counted, by user's number.
    pub fn users(&self) -> BTreeMap<Option<u64>, Counts> {
        self.report("-A")
    }

    /// Operations that cards did, and those that no card did, all users together.
    pub fn on_cards(&self) -> (u64, u64) {
        let report = self.json("-S");
        let users = report["users"].as_array().into_iter().flatten();
        let queues: Vec<_> = users.flat_map(|user| user["accelerator"].as_array().into_iter().flatten()).collect();
        let sum = |key: &str| queues.iter().map(|queue| queue[key].as_u64().unwrap_or(0)).sum();
        (sum("cards"), sum("not_on_cards"))
    }

    /// Operations that were to go to cards and did not, by the reason, all users together.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        let report = self.json("-S");
        let users = report["users"].as_array().into_iter().flatten();
        let queues = users.flat_map(|user| user["accelerator"].as_array().into_iter().flatten());
        let mut sums = BTreeMap::new();
        for (reason, count) in queues.filter_map(|queue| queue["refused"].as_object()).flatten() {
            *sums.entry(reason.clone()).or_default() += count.as_u64().unwrap_or(0);
        }
        sums.retain(|_, count| *count != 0);
        sums
    }

    fn report(&self, which: &str) -> BTreeMap<Option<u64>, Counts> {
        let report = self.json(which);
        let users = report["users"].as_array().into_iter().flatten();
        users.map(|user| (user["uid"].as_u64(), rows(user))).collect()
    }

    fn json(&self, which: &str) -> serde_json::Value {
        let out = self.stats(&[which, "--json"]);
        serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|e| panic!("adjunct stats: {e}: {}", String::from_utf8_lossy(&out.stderr)))
    }

    fn stats(&self, args: &[&str]) -> Output {
        let adjunct = target().join("adjunct");
        let mut command = Command::new(&adjunct);
        command.arg("stats").args(args).envs([self.environment()]).stdin(Stdio::null());
        command.output().unwrap_or_else(|e| panic!("{}: {e}; run ./check", adjunct.display()))
    }
}

fn rows(user: &serde_json::Value) -> Counts {
    let mut counts = Counts::new();
    for row in user["functions"].as_array().into_iter().flatten() {
        let sum = |side: &str, bytes: bool| -> u64 {
            let cells = row.as_object().into_iter().flatten();
            let wanted = cells.filter(|(k, _)| k.starts_with(side) && k.ends_with("bytes") == bytes);
            wanted.map(|(_, v)| v.as_u64().unwrap_or(0)).sum()
        };
        let (hardware, software) = (sum("hw-", false), sum("sw-", false));
        if hardware + software > 0 {
            let count = Count { hardware, software, bytes: sum("hw-", true) + sum("sw-", true) };
            counts.insert(row["function"].as_str().unwrap_or_default().to_owned(), count);
        }
    }
    counts
}

impl Default for Counted {
    fn default() -> Counted {
        Counted::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.stats(&[if is_root() { "--delete-all" } else { "--delete" }]);
    }
}
