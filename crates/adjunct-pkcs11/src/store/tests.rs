//! Files that were cut, changed and filled: what is read of them. The keys are made without a PIN's derivation, which takes its time.

use super::format::{Header, Kind, Role};
use super::*;
use crate::object::Object;
use crate::object::attributes::Attributes;
use crate::object::complete::{Defaults, Origin};
use crate::object::search;
use crate::rv::Rv;
use std::collections::BTreeSet;
use std::path::Path;

fn keys() -> Keys {
    // All keys of an identifier are the same here only if they are one value: tests that open a file again keep it.
    Keys::new([7; 16])
}

fn some_role() -> Role {
    Role { cost: [8, 1, 1], salt: [0; 32], nonce: [0; 12], sealed: [0; 32], tag: [0; 16], tpm: None }
}

/// A token in a new file, with the officer logged in as if by PIN.
pub(super) fn new_store(path: &Path, login: &Arc<Login>) -> Store {
    let role = some_role();
    let header = Header { id: [7; 16], serial: *b"0123456789abcdef", label: [b'x'; 32] };
    let roles = [(Holder::SecurityOfficer, role.clone()), (Holder::User, role)];
    let parts = write::new_file(&header, &login.keys, &roles).unwrap();
    std::fs::write(path, parts.concat()).unwrap();
    store(path, login)
}

pub(super) fn store(path: &Path, login: &Arc<Login>) -> Store {
    let store = Store::new(path.to_owned(), false, None);
    store.set_login(Some(login.clone()));
    store
}

pub(super) fn login() -> Arc<Login> {
    Arc::new(Login { keys: keys(), holder: Holder::User })
}

pub(super) fn object(label: &str, class: CK_OBJECT_CLASS, private: bool) -> Object {
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, class).unwrap();
    attributes.set(CKA_LABEL, label.as_bytes()).unwrap();
    attributes.set_bool(CKA_TOKEN, true).unwrap();
    attributes.set_bool(CKA_PRIVATE, private).unwrap();
    attributes.set(CKA_VALUE, b"some bytes").unwrap();
    if class == CKO_SECRET_KEY {
        attributes.set_number(CKA_KEY_TYPE, CKK_GENERIC_SECRET).unwrap();
    }
    Defaults { open: false }.object(attributes, Origin::Created).unwrap()
}

pub(super) fn labels(objects: &Table) -> BTreeSet<String> {
    let found = search::all(objects, &Attributes::default(), true).into_iter().map(|handle| {
        let object = objects.get(handle).unwrap().object();
        String::from_utf8(object.attributes.bytes(CKA_LABEL).unwrap().to_vec()).unwrap()
    });
    found.collect()
}

/// A file after some changes: its lengths and what it held after each.
fn history(path: &Path, login: &Arc<Login>) -> Vec<(u64, BTreeSet<String>)> {
    let (store, objects) = (new_store(path, login), Table::new());
    store.refresh(&objects).unwrap();
    let mut history = Vec::new();
    let mut note = |objects: &Table| history.push((std::fs::metadata(path).unwrap().len(), labels(objects)));
    note(&objects);
    let one = store.change(&objects, vec![Change::New(object("one", CKO_DATA, false))]).unwrap()[0];
    note(&objects);
    let pair = [object("public", CKO_DATA, false), object("private", CKO_SECRET_KEY, true)];
    store.change(&objects, pair.into_iter().map(Change::New).collect()).unwrap();
    note(&objects);
    let mut attributes = objects.get(one).unwrap().object().attributes.clone();
    attributes.set(CKA_LABEL, b"changed").unwrap();
    store.change(&objects, vec![Change::Replaced(Object::new(attributes))]).unwrap();
    note(&objects);
    store.change(&objects, vec![Change::New(object("sealed", CKO_SECRET_KEY, false))]).unwrap();
    note(&objects);
    store.change(&objects, vec![Change::Removed(objects.get(one).unwrap().object())]).unwrap();
    note(&objects);
    history
}

#[test]
fn a_file_cut_at_any_byte_holds_what_was_acknowledged() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(history.last().unwrap().1, ["private", "public", "sealed"].map(String::from).into());
    let cut = directory.path().join("cut");
    for zeros in [0, 5, 4096] {
        for length in history[0].0..=whole.len() as u64 {
            if zeros > 0 && length % 5 != 0 {
                continue;
            }
            let mut bytes = whole[..length as usize].to_vec();
            // Behind a cut a power failure may leave zeros.
            bytes.resize(length as usize + zeros, 0);
            std::fs::write(&cut, &bytes).unwrap();
            let expected = &history.iter().rev().find(|(end, _)| *end <= length).unwrap().1;
            let (store, objects) = (store(&cut, &login), Table::new());
            store.refresh(&objects).unwrap();
            assert_eq!(&labels(&objects), expected, "{length} and {zeros} zeros");
            // It goes on from there.
            if length % 64 == 0 {
                store.change(&objects, vec![Change::New(object("next", CKO_DATA, false))]).unwrap();
                let (again, seen) = (super::tests::store(&cut, &login), Table::new());
                again.refresh(&seen).unwrap();
                assert!(labels(&seen).contains("next") && labels(&seen).is_superset(expected), "{length}");
            }
        }
    }
}

#[test]
fn a_file_that_was_changed_is_found_out() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let (whole, changed) = (std::fs::read(&path).unwrap(), directory.path().join("changed"));
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&changed, &bytes).unwrap();
        let (store, objects) = (store(&changed, &login), Table::new());
        match store.refresh(&objects) {
            // The counters are there twice, and zeros mean nothing.
            Ok(_) => assert!((128..FRAMES).contains(&at), "{at}"),
            Err(Rv(rv)) => assert_eq!(rv, CKR_DEVICE_ERROR, "{at}"),
        }
    }
    // A frame taken out; one put elsewhere.
    let ends: Vec<usize> = history.iter().map(|(end, _)| *end as usize).collect();
    for bytes in [
        [&whole[..ends[1]], &whole[ends[2]..]].concat(),
        [&whole[..ends[1]], &whole[ends[2]..ends[3]], &whole[ends[1]..ends[2]]].concat(),
        [&whole[..ends[3]], &whole[ends[2]..ends[3]]].concat(),
    ] {
        std::fs::write(&changed, &bytes).unwrap();
        assert_eq!(store(&changed, &login).refresh(&Table::new()), Err(Rv(CKR_DEVICE_ERROR)));
    }
}

#[test]
fn frames_made_anew_without_the_keys_are_found_out() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    history(&path, &login);
    let mut bytes = std::fs::read(&path).unwrap();
    let number = format::frames(&bytes[FRAMES..], 0).unwrap().last().unwrap().number;
    // The bytes of a frame that says an object is gone, of somebody else's keys.
    let mut records = Vec::new();
    keys().seal(&mut records, Kind::Gone, &[1; 16], number + 1, &[]).unwrap();
    bytes.extend(format::frame(number + 1, &records, |_| [0; 16]).unwrap().0);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(store(&path, &login).refresh(&Table::new()), Err(Rv(CKR_DEVICE_ERROR)));
}

#[test]
fn a_file_is_written_anew_when_most_of_it_counts_no_more() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    let (one, two) = (new_store(&path, &login), store(&path, &login));
    let (objects, others) = (Table::new(), Table::new());
    one.refresh(&objects).unwrap();
    let kept = one.change(&objects, vec![Change::New(object("kept", CKO_SECRET_KEY, true))]).unwrap()[0];
    two.refresh(&others).unwrap();
    let (mut longest, mut shorter) = (0, 0);
    for round in 0..400 {
        let handle = one.change(&objects, vec![Change::New(object("more", CKO_DATA, false))]).unwrap()[0];
        let gone = objects.get(handle).unwrap().object();
        one.change(&objects, vec![Change::Removed(gone)]).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        shorter += usize::from(length < longest);
        longest = length.max(longest);
        if round % 7 == 0 {
            two.refresh(&others).unwrap();
            assert_eq!(labels(&others), ["kept".to_owned()].into(), "{round}");
        }
    }
    assert!(shorter > 0 && longest < 100_000, "{shorter} {longest}");
    assert!(objects.get(kept).is_ok());
    let (fresh, seen) = (store(&path, &login), Table::new());
    fresh.refresh(&seen).unwrap();
    assert_eq!(labels(&seen), ["kept".to_owned()].into());
    assert!(fresh.with_state(|state| state.token.as_ref().is_some_and(|token| token.link.is_some())));
}

#[test]
fn counters_outlive_a_torn_write() {
    let (first, at) = format::Counters::default().next([1, 2]);
    let mut bytes = vec![0; FRAMES];
    bytes[at..at + format::COUNTER].copy_from_slice(&first.encode());
    let (second, other) = first.next([2, 2]);
    assert_ne!(at, other);
    for cut in 0..format::COUNTER {
        bytes[other..other + cut].copy_from_slice(&second.encode()[..cut]);
        let read = format::Counters::decode(&bytes).unwrap();
        assert!(read.tries == [1, 2] || read.tries == [2, 2], "{cut}");
    }
    bytes[other..other + format::COUNTER].copy_from_slice(&second.encode());
    assert_eq!(format::Counters::decode(&bytes).unwrap(), second);
}

#[test]
fn many_objects() {
    const COUNT: usize = 10_000;
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    let (writer, objects) = (new_store(&path, &login), Table::new());
    writer.refresh(&objects).unwrap();
    let begin = std::time::Instant::now();
    for some in (0..COUNT).collect::<Vec<_>>().chunks(100) {
        let new = some.iter().map(|at| Change::New(object(&format!("object {at}"), CKO_SECRET_KEY, at % 2 == 0)));
        writer.change(&objects, new.collect()).unwrap();
    }
    println!("{COUNT} objects, 100 at a time: written in {:?}", begin.elapsed());
    let (reader, seen) = (store(&path, &login), Table::new());
    let begin = std::time::Instant::now();
    reader.refresh(&seen).unwrap();
    println!("{} bytes: read, opened and indexed in {:?}", std::fs::metadata(&path).unwrap().len(), begin.elapsed());
    let begin = std::time::Instant::now();
    for _ in 0..1000 {
        reader.refresh(&seen).unwrap();
    }
    println!("looked for what is new in {:?}", begin.elapsed() / 1000);
    let mut template = Attributes::default();
    template.set(CKA_LABEL, b"object 5000").unwrap();
    let begin = std::time::Instant::now();
    assert_eq!(search::all(&seen, &template, true).len(), 1);
    println!("found by label in {:?}", begin.elapsed());
    assert_eq!(labels(&seen).len(), COUNT);
}

/// Of a file with one byte changed, wherever, all is there after a repair but what that byte was part of.
#[test]
fn repair_keeps_all_but_what_was_changed() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    let (changed, none) = (directory.path().join("changed"), || Role { tpm: None, ..some_role() });
    let repaired = |bytes: &[u8]| {
        let header = repair::header(bytes).unwrap();
        let made = repair::salvage(bytes, &header, &login.keys, |_| Ok(none())).unwrap();
        std::fs::write(&changed, made.parts.concat()).unwrap();
        let (store, objects) = (store(&changed, &login), Table::new());
        store.refresh(&objects).unwrap();
        let held = repair::check(&made.parts.concat(), &login).unwrap();
        assert_eq!(labels(&objects).len(), held.objects);
        (labels(&objects), made.lost, made.without)
    };
    let all: BTreeSet<String> = ["private", "public", "sealed"].map(String::from).into();
    assert_eq!(repaired(&whole), (all.clone(), 0, None));
    let (mut less, mut roles, mut back) = (0, 0, 0);
    let step = if std::env::var_os("ADJUNCT_DEEP").is_some() { 1 } else { 5 };
    for at in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        if repair::header(&bytes).is_err() {
            panic!("{at}: no header");
        }
        let (kept, lost, without) = repaired(&bytes);
        let missing = all.difference(&kept).count();
        // What was removed last is there again where that cannot be read; it had been changed once, which may be what is not read.
        let again = kept.difference(&all).count();
        // An identifier that was changed is one more that is missed.
        assert!(missing + again <= 1 && lost <= missing + 1, "{at}: {kept:?}, {lost} lost");
        less += missing;
        back += again;
        roles += usize::from(without.is_some());
    }
    assert!(less > 0 && roles > 0 && back > 0, "{less} {roles} {back}");
    // A hole, and what lies behind it.
    let end = whole.len() - 700;
    let kept = repaired(&[&whole[..end], &[0xa5; 100], &whole[end..]].concat()).0;
    assert!(kept.contains("sealed"), "{kept:?}");
}

/// Records of one token in another order, or twice, with sums that fit, are no token's.
#[test]
fn records_put_elsewhere_are_found_out() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    let frames = format::frames(&whole[FRAMES..], 0).unwrap();
    let forged = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut records: Vec<Vec<Vec<u8>>> =
            frames.iter().map(|frame| frame.records.iter().map(|record| record.whole.to_vec()).collect()).collect();
        records.iter_mut().for_each(change);
        let mut bytes = whole[..FRAMES].to_vec();
        for (frame, records) in frames.iter().zip(records) {
            bytes.extend(format::frame(frame.number, &records.concat(), |_| frame.link).unwrap().0);
        }
        std::fs::write(&path, bytes).unwrap();
        store(&path, &login).refresh(&Table::new())
    };
    assert_eq!(forged(&|_| ()), Ok(true));
    let older = frames[1].records[0].whole.to_vec();
    for change in [
        &|records: &mut Vec<Vec<u8>>| records.reverse() as _,
        &|records: &mut Vec<Vec<u8>>| records.truncate(1) as _,
        // One object under another's name.
        &|records: &mut Vec<Vec<u8>>| {
            if records.len() == 2 && records[0][0] != Kind::Role as u8 {
                let uid = records[1][8..24].to_vec();
                records[0][8..24].copy_from_slice(&uid);
            }
        },
        // An object as it was before.
        &|records: &mut Vec<Vec<u8>>| {
            if records.len() == 1 && records[0][8..24] == older[8..24] {
                records[0] = older.clone();
            }
        },
    ] as [&dyn Fn(&mut Vec<Vec<u8>>); 4]
    {
        assert_eq!(forged(change), Err(Rv(CKR_DEVICE_ERROR)));
    }
}

/// Where fuzzing begins: a file of a token whose keys are no secret.
#[test]
fn the_seed_of_fuzzing_is_a_token() {
    let (directory, login) =
        (tempfile::tempdir().unwrap(), Arc::new(Login { keys: Keys::fixed(), holder: Holder::User }));
    let path = directory.path().join("store");
    history(&path, &login);
    if let Some(folder) = std::env::var_os("ADJUNCT_WRITE_SEEDS") {
        std::fs::copy(&path, Path::new(&folder).join("token")).unwrap();
    }
    let seed = include_bytes!("../../../../fuzz/seeds/token_store/token");
    assert_eq!(repair::check(seed, &login).unwrap().objects, 3);
    admin::fuzz(seed);
}

/// Seeds with some bytes changed, moved and cut, as fuzzing would do it; `ADJUNCT_RANDOM` says how many.
#[test]
fn random_changes_do_no_harm() {
    let seed = include_bytes!("../../../../fuzz/seeds/token_store/token");
    let count = std::env::var("ADJUNCT_RANDOM").ok().and_then(|count| count.parse().ok()).unwrap_or(3000_u64);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    for _ in 0..count {
        let mut bytes = seed.to_vec();
        for _ in 0..=random(4) {
            let (at, length) = (random(bytes.len()), random(200));
            let end = (at + length).min(bytes.len());
            match random(6) {
                0 => bytes[at] ^= 1 << random(8),
                1 => bytes[at..end].fill([0, 0xff, 0x5a][random(3)]),
                2 => drop(bytes.drain(at..end)),
                3 => bytes.truncate(at.max(1)),
                4 => {
                    let part = bytes[at..end].to_vec();
                    let to = random(bytes.len());
                    bytes.splice(to..to, part);
                }
                _ => bytes[at] = random(256) as u8,
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        admin::fuzz(&bytes);
    }
}
