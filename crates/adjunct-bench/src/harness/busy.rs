//! Whether something else used the processors while something was measured.
//!
//! Three things tell, since each of them misses something: the processor time of the whole machine that was not ours (/proc/stat), the time that a
//! hypervisor kept from it (steal, where it says so), and the wall time of a fixed piece of work, which is longer where another virtual machine or
//! program uses the same core, even if nothing reports that.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::time::Instant;

/// Part of all processor time in use by other programs that is worth a warning.
const MUCH: f64 = 0.10;
/// Median of the piece of work's times over its best time, above which the machine is called slow.
const SLOW: f64 = 1.25;
/// Number of looks below which they do not show what is usual.
const LOOKS: usize = 8;

/// Looks at the machine from its beginning on.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    machine: Option<Machine>,
    ours: f64,
    /// Wall seconds of the piece of work, look by look.
    looks: Vec<f64>,
}

/// Processor seconds of the whole machine since it started.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Machine {
    used: f64,
    stolen: f64,
    processors: usize,
}

impl Watch {
    /// Begins to watch.
    pub fn start() -> Watch {
        Watch { start: Instant::now(), machine: Machine::now(), ours: ours(), looks: Vec::new() }
    }

    /// Times the piece of work, a millisecond or so: to be called now and then, while nothing is being measured.
    pub fn look(&mut self) {
        let begin = Instant::now();
        let mut value = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..400_000 {
            value ^= value << 13;
            value ^= value >> 7;
            value = std::hint::black_box(value ^ value << 17);
        }
        self.looks.push(begin.elapsed().as_secs_f64());
    }

    /// What to say of it; nothing where the machine was quiet. What was started has to have ended, so that its time is ours.
    pub fn said(&self) -> Option<String> {
        let wall = self.start.elapsed().as_secs_f64();
        let others =
            self.machine.zip(Machine::now()).map(|(before, after)| after.others(before, ours() - self.ours, wall));
        said(others, slower(&self.looks))
    }
}

fn said(others: Option<f64>, slower: f64) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(part) = others.filter(|part| *part > MUCH) {
        parts.push(format!("others used {:.0} % of its processor time", part * 100.0));
    }
    if slower > SLOW {
        parts.push(format!("the same work took {slower:.1} times as long, by the wall clock, as at best"));
    }
    let what = "The machine was busy while this was measured";
    (!parts.is_empty())
        .then(|| format!("{what}: {}. Figures scatter; repeat it when it is quiet.", parts.join(", and ")))
}

/// How much longer the piece of work took in the middle than at best.
fn slower(looks: &[f64]) -> f64 {
    let mut sorted = looks.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.first() {
        Some(best) if sorted.len() >= LOOKS && *best > 0.0 => sorted[sorted.len() / 2] / best,
        _ => 1.0,
    }
}

impl Machine {
    fn now() -> Option<Machine> {
        Machine::read(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn read(text: &str) -> Option<Machine> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let mut lines = text.lines();
        let all: Vec<f64> =
            lines.next()?.strip_prefix("cpu ")?.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests' time is in the first two.
        let [user, nice, system, _, _, irq, soft, steal, ..] = all[..] else { return None };
        let processors = lines.take_while(|line| line.starts_with("cpu")).count();
        Some(Machine { used: (user + nice + system + irq + soft) / ticks, stolen: steal / ticks, processors })
    }

    /// The part of all processor time that others had in these wall seconds, of which `ours` seconds were ours.
    fn others(self, before: Machine, ours: f64, wall: f64) -> f64 {
        let used = (self.used - before.used - ours).max(0.0) + (self.stolen - before.stolen).max(0.0);
        used / (wall * self.processors as f64).max(1e-9)
    }
}

/// Processor seconds of this process and of those it has waited for.
fn ours() -> f64 {
    let of = |who| {
        let usage = getrusage(who).ok();
        usage.map_or(0.0, |u| (u.user_time().num_microseconds() + u.system_time().num_microseconds()) as f64 / 1e6)
    };
    of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_what_is_not_ours() {
        let ticks = rustix::param::clock_ticks_per_second();
        let text = |user: u64, steal: u64| {
            format!("cpu  {} 0 {ticks} 999 5 0 0 {} 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 1\n", user * ticks, steal * ticks)
        };
        let (before, after) = (Machine::read(&text(10, 0)).unwrap(), Machine::read(&text(22, 3)).unwrap());
        assert_eq!((before.used, before.processors), (11.0, 2));
        // Of 20 processor seconds 12 were used, 10 of them by us, and 3 were stolen.
        assert!((after.others(before, 10.0, 10.0) - 0.25).abs() < 1e-9);
        assert_eq!(before.others(before, 5.0, 10.0), 0.0);
        assert_eq!(Machine::read("cpu 1 2\n"), None);
    }

    #[test]
    fn a_busy_machine_is_said_by_either() {
        assert_eq!(said(Some(0.05), 1.1), None);
        assert_eq!(said(None, 1.0), None);
        assert!(said(Some(0.3), 1.0).unwrap().contains("others used 30 %"));
        let both = said(Some(0.3), 1.5).unwrap();
        assert!(both.contains("30 %") && both.contains("1.5 times as long, by the wall clock"), "{both}");
        assert_eq!(slower(&[1.0; 7]), 1.0);
        assert_eq!(slower(&[1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]), 2.0);
        let mut watch = Watch::start();
        watch.look();
        assert!(watch.looks[0] > 0.0);
    }
}
