//! Files that were cut, changed and filled, and what is read of them. The keys are made without the derivation from a PIN, which is slow.

use super::format::{Header, RecordKind, Slot, Version};
use super::read::Eyes;
use super::role::{Grip, Wrapped};
use super::*;
use crate::table::search;
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::{Defaults, Origin};
use adjunct_mechanisms::rv::Rv;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn header(version: Version) -> Header {
    let key = if version == Version::Two { [9; 16] } else { [0; 16] };
    Header { version, id: admin::FIXED_ID, key, serial: *b"0123456789abcdef", label: [b'x'; 32] }
}

fn keys() -> Keys {
    // All keys of an identifier are the same here only if they are one value: tests that open a file again keep it.
    Keys::new(&header(Version::Two))
}

fn some_role() -> Role {
    let nothing = Wrapped { nonce: [0; 12], sealed: [0; 32], tag: [0; 16] };
    let grip = Some(Grip { ephemeral: [0; 32], token: nothing, peer: nothing });
    Role { cost: [8, 1, 1], salt: [0; 32], secret: nothing, pair: true, grip, tpm: None }
}

/// The frames of a file.
pub(super) fn frames(bytes: &[u8]) -> Vec<format::Frame<'_>> {
    let header = Header::decode(bytes).unwrap();
    let joint = format::joint(&header.encode());
    let before = format::Before { version: header.version, number: 0, joint };
    format::frames(&bytes[FRAMES..], before).unwrap().frames
}

fn check(bytes: &[u8], login: &Login) -> std::result::Result<repair::Contents, Trouble> {
    repair::check(bytes, Eyes { keys: login.keys(), private: true })
}

/// A token in a new file, with the officer logged in as if by PIN.
pub(super) fn new_store(path: &Path, login: &Arc<Login>) -> Store {
    let roles = [Some(some_role()), Some(some_role())];
    let parts = write::new_file(&header(Version::Two), &login.keys(), &roles).unwrap();
    std::fs::write(path, parts.concat()).unwrap();
    store(path, login)
}

pub(super) fn store(path: &Path, login: &Arc<Login>) -> Store {
    let store = Store::new(path.to_owned(), false, None);
    store.set_login(Some(login.clone()));
    store
}

pub(super) fn login() -> Arc<Login> {
    Arc::new(Login::new(keys(), Holder::User))
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

/// A file after some changes: after each, its length, the objects in it and its bytes.
fn history(path: &Path, login: &Arc<Login>) -> Vec<(u64, BTreeSet<String>, Vec<u8>)> {
    let (store, objects) = (new_store(path, login), Table::new());
    store.refresh(&objects).unwrap();
    let mut history = Vec::new();
    let mut note = |objects: &Table| {
        let bytes = std::fs::read(path).unwrap();
        history.push((bytes.len() as u64, labels(objects), bytes));
    };
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
            // As it is while a change is written: what that ends can be opened until all of it is there.
            let step = history.iter().filter(|(end, ..)| *end < length).count();
            let (end, _, before) = &history[step.saturating_sub(1)];
            let mut bytes = [before, &history[step].2[*end as usize..length as usize]].concat();
            // Behind a cut a power failure may leave zeros.
            bytes.resize(length as usize + zeros, 0);
            std::fs::write(&cut, &bytes).unwrap();
            let expected = &history.iter().rev().find(|(end, ..)| *end <= length).unwrap().1;
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

/// An object stays destroyed though the file was cut before the frame that says so.
#[test]
fn a_cut_brings_nothing_back() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    for (end, held, _) in &history {
        std::fs::write(&path, &whole[..*end as usize]).unwrap();
        let (store, objects) = (store(&path, &login), Table::new());
        store.refresh(&objects).unwrap();
        let left: BTreeSet<String> =
            held.iter().filter(|label| !["one", "changed"].contains(&&label[..])).cloned().collect();
        assert_eq!(labels(&objects), left, "{end}");
    }
    // Nor does anybody who has the token key open it.
    let gone: Vec<_> =
        frames(&whole).into_iter().flat_map(|frame| frame.records).filter(|record| record.is_end()).collect();
    assert_eq!(gone.len(), 3);
    assert!(gone.iter().all(|record| login.keys().unseal(record).unwrap().is_empty()));
}

/// A record that a killed writer had not ended is ended by the next writer.
#[test]
fn what_a_killed_writer_left_is_ended_by_the_next() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let (before, after) = (&history[history.len() - 2].2, &history[history.len() - 1].2);
    std::fs::write(&path, [before, &after[before.len()..]].concat()).unwrap();
    let live = || {
        let bytes = std::fs::read(&path).unwrap();
        frames(&bytes).iter().flat_map(|frame| &frame.records).filter(|record| record.state() == Slot::Live).count()
    };
    assert_eq!(live(), 4);
    let (store, objects) = (store(&path, &login), Table::new());
    store.change(&objects, vec![Change::New(object("next", CKO_DATA, false))]).unwrap();
    assert_eq!(live(), 4);
    assert_eq!(labels(&objects), ["next", "private", "public", "sealed"].map(String::from).into());
}

/// Foreign bytes behind the frames hide nothing, and are reported.
#[test]
fn what_is_behind_the_last_frame_hides_nothing() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    for junk in [1, 3, 23, 24, 25, 60, 5000] {
        std::fs::write(&path, [&whole[..], &vec![0xa5; junk]].concat()).unwrap();
        std::fs::remove_file(directory.path().join("whole.lock")).unwrap();
        let told = store(&path, &login).check(|_| false).unwrap();
        assert!(told.contains(&format!(": {junk} bytes at its end are not adjunct's")), "{told}");
        let (store, objects) = (store(&path, &login), Table::new());
        store.refresh(&objects).unwrap();
        assert_eq!(labels(&objects).len(), 3, "{junk}");
        assert_eq!(check(&std::fs::read(&path).unwrap(), &login), Err(Trouble::Damaged));
        // A writer goes on from the last frame.
        store.change(&objects, vec![Change::New(object("next", CKO_DATA, false))]).unwrap();
        assert_eq!(check(&std::fs::read(&path).unwrap(), &login).unwrap().objects, 4, "{junk}");
    }
    // But a frame of ours whose head cannot be read is no bytes of nobody's, for who can tell.
    let last = frames(&whole).last().unwrap().at + FRAMES - format::FRAME_HEAD;
    let mut bytes = whole.clone();
    bytes[last + 1] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(store(&path, &login).refresh(&Table::new()), Err(Rv(CKR_DEVICE_ERROR)));
    assert!(store(&path, &login).check(|_| false).is_some());
}

/// Frames of two writers that knew nothing of each other are whole, but follow something else: they are found without a PIN.
#[test]
fn frames_that_do_not_follow_each_other_are_found_out_without_a_pin() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let (one, objects) = (new_store(&path, &login), Table::new());
    one.change(&objects, vec![Change::New(object("one", CKO_DATA, false))]).unwrap();
    let before = std::fs::read(&path).unwrap();
    one.change(&objects, vec![Change::New(object("two", CKO_DATA, false))]).unwrap();
    let end = std::fs::metadata(&path).unwrap().len() as usize;
    one.change(&objects, vec![Change::New(object("three", CKO_DATA, false))]).unwrap();
    let third = std::fs::read(&path).unwrap()[end..].to_vec();
    std::fs::write(&path, &before).unwrap();
    let (other, objects) = (store(&path, &login), Table::new());
    other.change(&objects, vec![Change::New(object("TWO", CKO_DATA, false))]).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len() as usize, end);
    std::fs::write(&path, [std::fs::read(&path).unwrap(), third].concat()).unwrap();
    let fresh = Store::new(path.clone(), false, None);
    assert!(fresh.check(|_| false).unwrap().contains("damaged"));
    assert_eq!(fresh.refresh(&Table::new()), Err(Rv(CKR_DEVICE_ERROR)));
}

#[test]
fn a_file_that_was_changed_is_found_out() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let (whole, changed) = (std::fs::read(&path).unwrap(), directory.path().join("changed"));
    let records = frames(&whole).into_iter().flat_map(|frame| frame.records);
    let ended = records.filter(|record| record.state() == Slot::Ended).map(|record| record.slot.as_ptr() as usize);
    let ended: Vec<_> = ended.map(|at| at - whole.as_ptr() as usize).map(|at| at..at + format::SLOT).collect();
    assert_eq!(ended.len(), 2);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&changed, &bytes).unwrap();
        let (store, objects) = (store(&changed, &login), Table::new());
        match store.refresh(&objects) {
            // The counters are there twice, and zeros mean nothing; nor does what a record that no longer counts was ended by.
            Ok(_) => assert!((128..FRAMES).contains(&at) || ended.iter().any(|slot| slot.contains(&at)), "{at}"),
            Err(Rv(rv)) => assert_eq!(rv, CKR_DEVICE_ERROR, "{at}"),
        }
    }
    // A frame taken out; one put elsewhere.
    let ends: Vec<usize> = history.iter().map(|(end, ..)| *end as usize).collect();
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
    let (number, joint) = frames(&bytes).last().map(|frame| (frame.number, format::joint(frame.tail))).unwrap();
    // The bytes of a frame that says an object is gone, of somebody else's keys.
    let mut records = Vec::new();
    keys().seal(&mut records, RecordKind::Gone, &[1; 16], number + 1, &[]).unwrap();
    let before = format::Before { version: Version::Two, number, joint };
    bytes.extend(format::frame(before, &records, |_| [0; 16]).unwrap().0);
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
    let (first, at) = format::Counters::default().next([1, 2], 3);
    let mut bytes = vec![0; FRAMES];
    bytes[at..at + format::COUNTER].copy_from_slice(&first.encode());
    let (second, other) = first.next([2, 2], 3);
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

/// After any one byte of a file was changed, a repair keeps all but the record that the byte was part of.
#[test]
fn repair_keeps_all_but_what_was_changed() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    let (changed, none) = (directory.path().join("changed"), || Role { tpm: None, ..some_role() });
    let repaired = |bytes: &[u8]| {
        let header = repair::header(bytes).unwrap();
        let made = repair::salvage(bytes, &header, &login.keys(), |_| Ok(none())).unwrap();
        std::fs::write(&changed, made.parts.concat()).unwrap();
        let (store, objects) = (store(&changed, &login), Table::new());
        store.refresh(&objects).unwrap();
        let held = check(&made.parts.concat(), &login).unwrap();
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
        // What was removed stays so, also where that cannot be read.
        let again = kept.difference(&all).count();
        // An identifier that was changed is one more that is missed.
        assert!(missing + again <= 1 && lost <= missing + 1, "{at}: {kept:?}, {lost} lost");
        less += missing;
        back += again;
        roles += usize::from(without.is_some());
    }
    assert!(less > 0 && roles > 0 && back == 0, "{less} {roles} {back}");
    // A hole, and what lies behind it.
    let end = history[3].0 as usize - 30;
    let kept = repaired(&[&whole[..end], &[0xa5; 100], &whole[end..]].concat()).0;
    assert!(kept.contains("sealed"), "{kept:?}");
}

/// A forged head of a frame with the highest number there is does not end the numbers.
#[test]
fn no_number_is_too_high_to_go_on() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    let history = history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    let all: BTreeSet<String> = ["private", "public", "sealed"].map(String::from).into();
    for number in [u64::MAX, u64::MAX - 1, format::MOST_FRAMES, format::MOST_FRAMES - 1] {
        let before = format::Before { version: Version::Two, number: number - 1, joint: 1 };
        // As long as one that is read may be.
        let made = format::frame(format::Before { number: 1, ..before }, &[], |_| [0; 16]).unwrap().0;
        let mut head = made[..format::FRAME_HEAD].to_vec();
        head[8..16].copy_from_slice(&number.to_le_bytes());
        let crc = crc32fast::hash(&head[..format::FRAME_HEAD - 4]);
        head[format::FRAME_HEAD - 4..].copy_from_slice(&crc.to_le_bytes());
        let bytes = [&whole[..], &[1; 7], &head, &made[format::FRAME_HEAD..]].concat();
        let repaired = repair::salvage(&bytes, &repair::header(&bytes).unwrap(), &login.keys(), |_| Ok(some_role()));
        let repaired = repaired.unwrap();
        assert_eq!(check(&repaired.parts.concat(), &login).unwrap().objects, 3, "{number}");
        std::fs::write(&path, repaired.parts.concat()).unwrap();
        let (store, objects) = (store(&path, &login), Table::new());
        store.refresh(&objects).unwrap();
        assert_eq!(labels(&objects), all);
        store.change(&objects, vec![Change::New(object("next", CKO_DATA, false))]).unwrap();
        let (again, seen) = (super::tests::store(&path, &login), Table::new());
        again.refresh(&seen).unwrap();
        assert!(labels(&seen).contains("next"), "{number}");
        // Alone in a file without any key it is read, or refused.
        let _ = Initialized::read(&[&whole[..FRAMES], &head, &made[format::FRAME_HEAD..]].concat(), None);
    }
    assert!(!history.is_empty());
}

/// Records of a token that stand in another order, or twice, are found out though their sums fit.
#[test]
fn records_put_elsewhere_are_found_out() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("whole");
    history(&path, &login);
    let whole = std::fs::read(&path).unwrap();
    let frames = frames(&whole);
    let forged = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut records: Vec<Vec<Vec<u8>>> =
            frames.iter().map(|frame| frame.records.iter().map(|record| record.whole.to_vec()).collect()).collect();
        records.iter_mut().for_each(change);
        let mut bytes = whole[..FRAMES].to_vec();
        let mut before = format::Before { version: Version::Two, number: 0, joint: format::joint(&whole[..128]) };
        for (frame, records) in frames.iter().zip(records) {
            let made = format::frame(before, &records.concat(), |_| frame.link).unwrap().0;
            before = format::Before { number: frame.number, joint: format::joint(format::tail(&made)), ..before };
            bytes.extend(made);
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
            if records.len() == 2 && records[0][0] != RecordKind::Role as u8 {
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

/// The seed of fuzzing is a file of a token whose keys are no secret.
#[test]
fn the_seed_of_fuzzing_is_a_token() {
    let (directory, login) =
        (tempfile::tempdir().unwrap(), Arc::new(Login::new(Keys::fixed(&header(Version::Two)), Holder::User)));
    let path = directory.path().join("store");
    history(&path, &login);
    if let Some(folder) = std::env::var_os("ADJUNCT_WRITE_SEEDS") {
        std::fs::copy(&path, Path::new(&folder).join("token")).unwrap();
    }
    let seed = include_bytes!("../../../../fuzz/seeds/token_store/token");
    assert_eq!(check(seed, &login).unwrap().objects, 3);
    admin::fuzz(seed);
    // Of a module of version 1 of the format.
    let seed = include_bytes!("../../../../fuzz/seeds/token_store/token_1");
    let login = Login::new(Keys::fixed(&header(Version::One)), Holder::User);
    assert_eq!(check(seed, &login).unwrap().objects, 3);
    admin::fuzz(seed);
}

/// Seeds with some bytes changed, moved and cut, as fuzzing would do it; `ADJUNCT_RANDOM` says how many.
#[test]
fn random_changes_do_no_harm() {
    let seeds: [&[u8]; 2] = [
        include_bytes!("../../../../fuzz/seeds/token_store/token"),
        include_bytes!("../../../../fuzz/seeds/token_store/token_1"),
    ];
    let count = std::env::var("ADJUNCT_RANDOM").ok().and_then(|count| count.parse().ok()).unwrap_or(3000_u64);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    for round in 0..count {
        let mut bytes = seeds[round as usize % 2].to_vec();
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
