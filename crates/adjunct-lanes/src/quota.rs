//! The number of CPUs that this process may use: those of its affinity, and no more than its control group's quota has time for.
//!
//! Every program does this at its start, so it opens as few files as tell it; the standard library's `available_parallelism`, which tells
//! the same, takes three times as long.
#![forbid(unsafe_code)]

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Folder where control groups are mounted: those of version 2, and in a folder of the controller's name those of version 1.
const MOUNTED: &str = "/sys/fs/cgroup";
/// Groups above one another that are looked at, from the process's own.
const DEEP: usize = 16;

/// The CPUs this process may use. Opens files: only while the module loads.
pub(super) fn cpus() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize).max(1);
    if allowed == 1 {
        return 1;
    }
    let mut space = [0; 4096];
    let limit = read("/proc/self/cgroup", &mut space).and_then(|groups| quota(groups, contents));
    limit.map_or(allowed, |limit| limit.clamp(1, allowed))
}

fn read<'a>(path: &str, space: &'a mut [u8]) -> Option<&'a str> {
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let length = loop {
        match rustix::io::read(&file, &mut *space) {
            Err(Errno::INTR) => {}
            other => break other.ok()?,
        }
    };
    std::str::from_utf8(space.get(..length)?).ok()
}

/// The numbers of a small file: a word that is no number is none.
fn contents(path: &str) -> Option<[Option<u64>; 2]> {
    let mut space = [0; 64];
    let mut words = read(path, &mut space)?.split_ascii_whitespace().map(|word| word.parse().ok());
    Some([words.next().flatten(), words.next().flatten()])
}

/// The number of CPUs that the groups' quotas have time for: `groups` is the text of /proc/self/cgroup (cgroups(7)), and `contents` reads a file.
/// `None` where there is no quota.
fn quota(groups: &str, contents: impl Fn(&str) -> Option<[Option<u64>; 2]>) -> Option<usize> {
    let group = |line: &'_ str| -> Option<(Option<String>, String)> {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let controller = match controllers {
            "" => None,
            named if named.split(',').any(|name| name == "cpu") => Some(named.to_owned()),
            _ => return None,
        };
        Some((controller, path.to_owned()))
    };
    // A process has a group of each hierarchy; the controller is in one of them.
    let found: Vec<_> = groups.lines().filter_map(group).collect();
    let (controller, path) = found.iter().find(|(controller, _)| controller.is_some()).or(found.first())?;
    let mounted = match controller {
        None => MOUNTED.to_owned(),
        // Mounted by its own name, of which the one with all names may be a link.
        Some(_) => format!("{MOUNTED}/cpu"),
    };
    let limit_of = |folder: &str| -> Option<usize> {
        let [quota, period] = match controller {
            // "max 100000", "150000 100000"
            None => contents(&format!("{folder}/cpu.max"))?,
            // -1 is none.
            Some(_) => {
                let quota = contents(&format!("{folder}/cpu.cfs_quota_us"))?[0]?;
                [Some(quota), contents(&format!("{folder}/cpu.cfs_period_us"))?[0]]
            }
        };
        // Part of a CPU's time is a CPU.
        let whole = quota?.checked_div(period?)?.max(1);
        Some(usize::try_from(whole).unwrap_or(usize::MAX))
    };
    let mut least = None;
    let mut at = path.trim_end_matches('/');
    for _ in 0..DEEP {
        let limit = limit_of(&format!("{mounted}{at}"));
        least = [least, limit].into_iter().flatten().min();
        let Some((above, _)) = at.rsplit_once('/') else { break };
        at = above;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: &str, files: &[(&str, [Option<u64>; 2])]) -> Option<usize> {
        quota(groups, |path| files.iter().find(|(name, _)| *name == path).map(|(_, numbers)| *numbers))
    }

    #[test]
    fn the_least_quota_up_the_way_holds() {
        let two = ("/sys/fs/cgroup/a/b/cpu.max", [Some(250_000), Some(100_000)]);
        let max = ("/sys/fs/cgroup/a/b/cpu.max", [None, Some(100_000)]);
        let one = ("/sys/fs/cgroup/a/cpu.max", [Some(20_000), Some(100_000)]);
        assert_eq!(of("0::/a/b\n", &[two]), Some(2));
        assert_eq!(of("0::/a/b\n", &[two, one]), Some(1));
        assert_eq!(of("0::/a/b\n", &[max]), None);
        assert_eq!(of("0::/a/b\n", &[max, one]), Some(1));
        // In a container the own group is the root of what it sees.
        assert_eq!(of("0::/\n", &[("/sys/fs/cgroup/cpu.max", [Some(300_000), Some(100_000)])]), Some(3));
    }

    #[test]
    fn the_first_version_has_the_controller_in_one_hierarchy() {
        let groups = "3:cpuacct,cpu:/x\n2:cpuset:/y\n1:name=systemd:/z\n0::/\n";
        let files = [
            ("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", [Some(400_000), None]),
            ("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", [Some(100_000), None]),
        ];
        assert_eq!(of(groups, &files), Some(4));
        assert_eq!(of("2:cpuset:/y\n", &files), None);
        assert_eq!(of("1:cpu:/x\n", &[("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", [None, None])]), None);
    }

    #[test]
    fn what_makes_no_sense_is_no_quota() {
        for text in ["", "x", "::", "0::", "0::/a:b\n"] {
            assert_eq!(of(text, &[]), None, "{text:?}");
        }
        assert_eq!(of("0::/a\n", &[("/sys/fs/cgroup/a/cpu.max", [Some(5), Some(0)])]), None);
    }

    #[test]
    fn the_standard_library_says_the_same() {
        assert_eq!(cpus(), std::thread::available_parallelism().map_or(1, |n| n.get()));
    }
}
