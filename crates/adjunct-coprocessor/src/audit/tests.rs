use super::*;
use std::io::Cursor;

fn appended(path: &std::path::Path) -> Log {
    Log::open(File::options().read(true).append(true).create(true).open(path).unwrap()).unwrap()
}

fn event(name: &str) -> Event<'_> {
    let detail = [("by".to_owned(), "\",\"chain\":\"".into())].into_iter().collect();
    Event { event: name, uid: 7, domain: Some(5), result: "done", vault: Some(3), detail }
}

/// A log of three lines, written by three processes.
fn log() -> (Vec<u8>, (u64, Chain)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let mut last = (0, [0; 32]);
    for name in ["one", "two", "three"] {
        let mut log = appended(&path);
        assert_eq!(log.last(), last);
        log.write(&event(name), true).unwrap();
        last = log.last();
    }
    (std::fs::read(path).unwrap(), last)
}

fn names(log: &[u8], known: Option<(u64, Chain)>) -> Result<Vec<String>, Broken> {
    let mut names = Vec::new();
    verify(Cursor::new(log), (0, [0; 32]), known, |record| names.push(record.event)).map(|_| names)
}

#[test]
fn events_come_back_in_their_order() {
    let (bytes, last) = log();
    assert_eq!(names(&bytes, Some(last)).unwrap(), ["one", "two", "three"]);
    assert_eq!(names(b"", None).unwrap(), [""; 0]);
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap();
    let (record, ..) = parsed(first).unwrap();
    assert_eq!((record.number, record.uid, record.domain, record.detail.len()), (1, 7, Some(5), 1));
}

#[test]
fn each_change_shows() {
    let (bytes, last) = log();
    for at in 0..bytes.len() - 1 {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(names(&other, Some(last)).is_err(), "{at}");
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let (without, twice, turned) = ([lines[0], lines[2]], [lines[0], lines[0]], [lines[1], lines[0]]);
    for other in [without, twice, turned] {
        assert!(matches!(names(&other.concat(), None), Err(Broken::Chain(_))));
    }
    assert!(matches!(names(&lines[..2].concat(), Some(last)), Err(Broken::Cut(2, 3))));
    assert!(matches!(names(&lines.concat(), Some((3, [1; 32]))), Err(Broken::Other(3))));
    assert!(matches!(names(&vec![b' '; LONGEST as usize + 1], None), Err(Broken::Line(1))));
}

#[test]
fn a_line_that_a_crash_has_cut_goes_and_the_chain_goes_on() {
    let (bytes, _) = log();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    for cut in [1, 10, 100] {
        std::fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
        let mut log = appended(&path);
        assert_eq!(log.last().0, 2);
        log.write(&event("after"), false).unwrap();
        let (whole, last) = (std::fs::read(&path).unwrap(), log.last());
        assert_eq!(names(&whole, Some(last)).unwrap(), ["one", "two", "after"]);
    }
    std::fs::write(&path, "something else\n").unwrap();
    let refused = Log::open(File::options().read(true).append(true).open(&path).unwrap()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_long_log_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let mut log = appended(&path);
    (0..2000).for_each(|_| log.write(&event("one of many"), false).unwrap());
    let last = log.last();
    assert_eq!((last.0, appended(&path).last()), (2000, last));
    let long = serde_json::Map::from_iter([("text".to_owned(), "x".repeat(1 << 16).into())]);
    assert!(log.write(&Event { detail: long, ..event("long") }, false).is_err());
    assert_eq!(appended(&path).last(), last);
}
