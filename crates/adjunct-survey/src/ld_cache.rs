//! `/etc/ld.so.cache`: the libraries that ldconfig found, by name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Larger than any cache.
const LONGEST: u64 = 64 << 20;
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// What stood at the beginning until glibc 2.32, with a table of its own before the one read here.
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0\0";
const HEADER: usize = 48;
const ENTRY: usize = 24;
const OLD_HEADER: usize = 16;
const OLD_ENTRY: usize = 12;

/// The libraries by name; several of one name serve different kinds of machine code.
pub type Cache = HashMap<String, Vec<PathBuf>>;

/// The cache of this machine; empty where there is none, as with other loaders than glibc's.
pub fn of_this_machine() -> Cache {
    let read = adjunct_tool::files::read(Path::new("/etc/ld.so.cache"), LONGEST);
    read.ok().and_then(|bytes| parse(&bytes)).unwrap_or_default()
}

/// Reads a cache, little endian as the machines adjunct runs on. `None` where it is none.
pub fn parse(bytes: &[u8]) -> Option<Cache> {
    let table = match bytes.strip_prefix(OLD_MAGIC) {
        None => bytes,
        Some(_) => {
            let count = number(bytes, 12)?;
            let end = count.checked_mul(OLD_ENTRY)?.checked_add(OLD_HEADER)?;
            bytes.get(end.checked_next_multiple_of(8)?..)?
        }
    };
    if !table.starts_with(MAGIC) {
        return None;
    }
    let count = number(table, 20)?;
    let entries = table.get(HEADER..HEADER.checked_add(count.checked_mul(ENTRY)?)?)?;
    let mut cache = Cache::new();
    for entry in entries.chunks_exact(ENTRY) {
        // Variants for newer CPUs lie in folders of their own; they stand beside the plain one, which says the same here.
        let plain = entry.get(16..24)? == [0; 8];
        // Offsets count from the beginning of this table.
        if let (true, Some(name), Some(path)) =
            (plain, string(table, number(entry, 4)?), string(table, number(entry, 8)?))
        {
            cache.entry(name.to_owned()).or_default().push(Path::new(path).to_owned());
        }
    }
    Some(cache)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}

fn string(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    // A path is no longer than this; without the limit, a broken cache costs its length squared.
    let rest = &rest[..rest.len().min(4096)];
    std::str::from_utf8(&rest[..rest.iter().position(|&b| b == 0)?]).ok().filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(&str, &str, u64)]) -> Vec<u8> {
        let mut strings = Vec::new();
        let base = HEADER + entries.len() * ENTRY;
        let mut table = MAGIC.to_vec();
        table.extend((entries.len() as u32).to_le_bytes());
        table.resize(HEADER, 0);
        for (name, path, hwcap) in entries {
            table.extend(0x303_u32.to_le_bytes());
            for text in [name, path] {
                table.extend(((base + strings.len()) as u32).to_le_bytes());
                strings.extend(text.as_bytes());
                strings.push(0);
            }
            table.extend(0_u32.to_le_bytes());
            table.extend(hwcap.to_le_bytes());
        }
        table.extend(strings);
        table
    }

    #[test]
    fn a_cache_is_read_in_both_formats() {
        let new = cache(&[("liba.so.1", "/lib/liba.so.1", 0), ("liba.so.1", "/lib/v3/liba.so.1", 1 << 62)]);
        let expected = [("liba.so.1".to_owned(), vec![PathBuf::from("/lib/liba.so.1")])];
        assert_eq!(parse(&new).unwrap(), Cache::from(expected.clone()));
        let mut old = OLD_MAGIC.to_vec();
        old.extend(1_u32.to_le_bytes());
        old.resize((OLD_HEADER + OLD_ENTRY).next_multiple_of(8), 0);
        old.extend(&new);
        assert_eq!(parse(&old).unwrap(), Cache::from(expected));
    }

    #[test]
    fn a_broken_cache_is_none() {
        let good = cache(&[("a", "/a", 0)]);
        for length in 0..good.len() {
            let _ = parse(&good[..length]);
        }
        let mut many = good.clone();
        many[20..24].copy_from_slice(&[0xff; 4]);
        assert_eq!(parse(&many), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn the_machines_own_cache_names_its_c_library() {
        let cache = of_this_machine();
        assert!(cache.is_empty() || cache.contains_key("libc.so.6"), "{} names", cache.len());
    }
}
