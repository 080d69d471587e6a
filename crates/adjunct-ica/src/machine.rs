//! What processor this is (`libica_hw_info`).

use std::sync::OnceLock;

/// A processor, each field a string of at most 15 bytes with zeros behind it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Manufacturer of the processor.
    pub vendor: [u8; 16],
    /// Its type.
    pub machine: [u8; 16],
}

/// The processor of this machine; `None` where nothing tells it. Found out while the library is loaded: later there may be no file to read.
pub fn machine() -> Option<Machine> {
    static FOUND: OnceLock<Option<Machine>> = OnceLock::new();
    *FOUND.get_or_init(find)
}

fn string(value: &[u8]) -> [u8; 16] {
    let mut string = [0; 16];
    let length = value.len().min(15);
    string[..length].copy_from_slice(&value[..length]);
    string
}

/// The processor says so itself, quicker than the file that Linux makes of the same, and anywhere.
#[cfg(target_arch = "x86_64")]
fn find() -> Option<Machine> {
    use std::arch::x86_64::__cpuid;
    let (names, version) = (__cpuid(0), __cpuid(1).eax);
    let vendor: Vec<u8> = [names.ebx, names.edx, names.ecx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let (family, low, high) = (version >> 8 & 15, version >> 4 & 15, version >> 12 & 0xF0);
    let model = if matches!(family, 6 | 15) { high | low } else { low };
    Some(Machine { vendor: string(&vendor), machine: string(model.to_string().as_bytes()) })
}

#[cfg(not(target_arch = "x86_64"))]
fn find() -> Option<Machine> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |names: [&str; 3]| {
        let found = text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| names.contains(&name.trim()));
        string(found.map_or(&b""[..], |(_, value)| value.trim().as_bytes()))
    };
    Some(Machine {
        vendor: field(["vendor_id", "CPU implementer", ""]),
        machine: field(["model", "CPU part", "machine"]),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_file_says_the_same() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let machine = super::machine().unwrap();
        for (name, value) in [("vendor_id", machine.vendor), ("model", machine.machine)] {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
            let value = String::from_utf8_lossy(&value).into_owned();
            assert_eq!(line.unwrap().trim(), value.trim_end_matches('\0'));
        }
    }
}
