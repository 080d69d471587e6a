//! The machine's segments of shared memory, as the kernel lists them.

use std::collections::BTreeSet;

/// Segments at one moment. Some may be of a process that has long ended, whose number another has now.
pub struct Segments {
    /// The number of each, and the process that made it.
    all: BTreeSet<(String, String)>,
}

impl Segments {
    pub fn now() -> Segments {
        let table = std::fs::read_to_string("/proc/sysvipc/shm").expect("a table");
        let column = |wanted: &str| table.split_whitespace().position(|name| name == wanted).expect("a column");
        let (id, maker) = (column("shmid"), column("cpid"));
        let words = table.lines().skip(1).map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        Segments { all: words.map(|words| (words[id].clone(), words[maker].clone())).collect() }
    }

    /// How many more a process has made by now that are still there.
    pub fn made_since(&self, process: u32) -> usize {
        let process = process.to_string();
        Segments::now().all.difference(&self.all).filter(|(_, maker)| *maker == process).count()
    }
}
