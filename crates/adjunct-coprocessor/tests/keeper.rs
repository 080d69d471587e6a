//! The state of a card over restarts: what was changed and answered is there, in the audit log too, and an older vault or a cut log shows.

mod common;
#[path = "../../adjunct-tpm/tests/software/mod.rs"]
mod software;

use adjunct_coprocessor::audit::{self, Broken, Detail, Record};
use adjunct_coprocessor::keeper::{Change, Error, Finding, Keeper};
use adjunct_coprocessor::registers::{Kind, Place, Wrong};
use adjunct_coprocessor::seal::{Method, Opener};
use adjunct_coprocessor::state::{Mode, State};
use adjunct_coprocessor::{control::ControlPoints, vault};
use adjunct_tpm::{Connection, Fault};
use common::*;
use software::Software;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

fn change(keeper: &Keeper, byte: u8) -> Result<(), Change<Wrong>> {
    keeper.change(&caller(5), Some(0), "set", |state| set_key(state, 0, byte))
}

/// The records of a folder's log, which has to be whole.
fn records(folder: &Path, known: Option<(u64, [u8; 32])>) -> Vec<Record> {
    let mut records = Vec::new();
    let log = BufReader::new(file(folder, "audit"));
    audit::verify(log, (0, [0; 32]), known, |record| records.push(record)).unwrap();
    records
}

#[test]
fn what_was_changed_is_there_after_a_restart_and_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = keeper(folder);
    assert_eq!((first.method(), first.sequence(), first.findings()), (Method::Credential, Some(1), vec![]));
    let identity = *first.state().identity();
    change(&first, 7).unwrap();
    assert_eq!(first.find(0, Kind::Wrapping, &key(7).id()).map(|(place, _)| place), Some(Place::Current));
    // One that is refused changes nothing, and is in the log.
    let refused = first.change(&caller(6), Some(0), "finalize", |state| {
        set_key(state, 0, 9)?;
        state.domain_mut(0).unwrap().registers_mut(Kind::Wrapping).unwrap().finalize(&[0; 32])
    });
    assert!(matches!(refused, Err(Change::Refused(Wrong::NotCommitted))));
    assert_eq!(first.read(current), Some(7));
    first.note(&caller(8), None, "refused", "no such domain", Detail::new(), false).unwrap();
    assert!(matches!(
        Keeper::open(file(folder, "vault"), &by(), None, None, new_state()),
        Err(Error::Vault(vault::Error::Busy))
    ));
    first.checkpoint().unwrap();
    let last = first.last_audited();
    drop(first);
    let again = keeper(folder);
    assert_eq!((again.read(current), again.sequence(), again.findings()), (Some(7), Some(3), vec![]));
    assert_eq!((again.state().identity(), Some(again.state().last_audited())), (&identity, last));
    let records = records(folder, last);
    let told: Vec<_> = records.iter().map(|r| (&r.event[..], r.uid, r.domain, &r.result[..], r.vault)).collect();
    let refused = (("finalize"), 6, Some(0), "the next master key is not committed", Some(2));
    assert_eq!(told, [("set", 5, Some(0), "done", Some(2)), refused, ("refused", 8, None, "no such domain", Some(2))]);
}

/// Were it not written, no other change would be made.
#[test]
fn a_record_that_is_too_long_is_written_in_short() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = keeper(folder.path());
    let long = keeper.change_with(&caller(1), None, "long", |_, detail| {
        detail.insert("text".to_owned(), "x".repeat(100_000).into());
        Ok::<(), String>(())
    });
    assert!(long.is_ok());
    assert!(keeper.change(&caller(1), None, "refused", |_| Err::<(), _>("\u{e9}".repeat(100_000))).is_err());
    change(&keeper, 1).unwrap();
    let records = records(folder.path(), keeper.last_audited());
    let lengths: Vec<_> = records.iter().map(|record| (&record.event[..], record.result.chars().count())).collect();
    assert_eq!(lengths, [("long", 4), ("refused", 1000), ("set", 4)]);
    assert_eq!((records[0].detail.len(), keeper.findings()), (1, vec![]));
}

#[test]
fn a_vault_of_another_mode_or_secret_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(keeper(folder.path()));
    let open = |by: &Opener<'_>, mode| {
        Keeper::open(file(folder.path(), "vault"), by, None, None, State::new(mode, ControlPoints::ALL)).map(drop)
    };
    assert!(matches!(open(&by(), Mode::Cca), Err(Error::Mode)));
    let other = Opener::credential(b"another credential").unwrap();
    assert!(matches!(open(&other, Mode::Ep11), Err(Error::Vault(vault::Error::Secret))));
    open(&by(), Mode::Ep11).unwrap();
}

#[test]
fn without_a_vault_all_is_in_memory() {
    let keeper = Keeper::volatile(new_state(), None);
    change(&keeper, 3).unwrap();
    assert_eq!((keeper.read(current), keeper.method(), keeper.sequence()), (Some(3), Method::Volatile, None));
    assert!(keeper.checkpoint().is_ok() && keeper.last_audited().is_none());
}

#[test]
fn an_older_vault_shows_by_the_log_and_a_cut_log_by_the_vault() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let open = keeper(folder);
    change(&open, 1).unwrap();
    let older = std::fs::read(folder.join("vault")).unwrap();
    change(&open, 2).unwrap();
    drop(open);
    let newer = std::fs::read(folder.join("vault")).unwrap();
    std::fs::write(folder.join("vault"), older).unwrap();
    let open = keeper(folder);
    assert_eq!((open.read(current), open.findings()), (Some(1), vec![Finding::OlderThanLog(2, 3)]));
    open.accept(&caller(0)).unwrap();
    assert_eq!(open.findings(), []);
    drop(open);
    assert_eq!(keeper(folder).findings(), []);
    assert_eq!(records(folder, None).iter().filter(|record| record.event == "vault-check").count(), 1);
    // The log is taken away: its numbers and its chain go on.
    std::fs::write(folder.join("vault"), newer).unwrap();
    let whole = std::fs::read(folder.join("audit")).unwrap();
    std::fs::write(folder.join("audit"), &whole[..0]).unwrap();
    let open = keeper(folder);
    assert_eq!(open.findings(), [Finding::LogCut(0, 1)]);
    change(&open, 4).unwrap();
    let log = || BufReader::new(file(folder, "audit"));
    assert!(matches!(audit::verify(log(), (0, [0; 32]), None, drop), Err(Broken::Chain(1))));
    // The line that the vault knew is the first of the log that was taken away.
    let first = whole.split_inclusive(|&byte| byte == b'\n').next().unwrap();
    let before = audit::verify(first, (0, [0; 32]), None, drop).unwrap();
    assert_eq!(Some(audit::verify(log(), before, None, drop).unwrap()), open.last_audited());
}

fn connected(tpm: &Software) -> Arc<Connection> {
    Arc::new(Connection::open(&tpm.socket()).unwrap())
}

/// The keeper of a folder's vault, which a TPM seals and counts.
fn by_tpm(folder: &Path, tpm: &Software, counted: bool) -> Result<Keeper, Error> {
    let tpm = connected(tpm);
    let counter = counted.then(|| tpm.clone());
    Keeper::open(file(folder, "vault"), &Opener::Tpm(&tpm), None, counter, new_state())
}

#[test]
fn a_tpm_seals_the_vault_and_tells_an_older_copy() {
    let (Some(tpm), Some(other)) = (Software::new(), Software::new()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let open = by_tpm(folder, &tpm, true).unwrap();
    assert_eq!((open.method(), open.findings()), (Method::Tpm, vec![]));
    change(&open, 1).unwrap();
    let older = std::fs::read(folder.join("vault")).unwrap();
    change(&open, 2).unwrap();
    change(&open, 3).unwrap();
    drop(open);
    let open = by_tpm(folder, &tpm, true).unwrap();
    assert_eq!((open.read(current), open.findings()), (Some(3), vec![]));
    drop(open);
    // A card that ended between the vault and the counter: it counts now.
    let open = by_tpm(folder, &tpm, false).unwrap();
    assert_eq!(open.findings(), [Finding::NoTpm]);
    change(&open, 4).unwrap();
    drop(open);
    let newest = std::fs::read(folder.join("vault")).unwrap();
    assert_eq!(by_tpm(folder, &tpm, true).unwrap().findings(), []);
    // The copy of before three changes.
    std::fs::write(folder.join("vault"), &older).unwrap();
    let open = by_tpm(folder, &tpm, true).unwrap();
    assert_eq!((open.read(current), open.findings()), (Some(1), vec![Finding::RolledBack(3)]));
    change(&open, 5).unwrap();
    drop(open);
    let open = by_tpm(folder, &tpm, true).unwrap();
    assert_eq!(open.findings(), [Finding::RolledBack(3)], "as long as nobody has looked into it");
    open.accept(&caller(0)).unwrap();
    change(&open, 6).unwrap();
    drop(open);
    let open = by_tpm(folder, &tpm, true).unwrap();
    assert_eq!((open.read(current), open.findings()), (Some(6), vec![]));
    // Another TPM opens nothing.
    drop(open);
    let elsewhere = by_tpm(folder, &other, true);
    assert!(matches!(elsewhere, Err(Error::Vault(vault::Error::Tpm(Fault::Other)))));
    // The vault of after the change before last is an older copy too.
    std::fs::write(folder.join("vault"), newest).unwrap();
    assert!(matches!(by_tpm(folder, &tpm, true).unwrap().findings()[..], [Finding::RolledBack(_)]));
    // A vault that was sealed by the TPM and is by a credential from now on.
    let open = by_tpm(folder, &tpm, true).unwrap();
    open.accept(&caller(0)).unwrap();
    open.reseal(&caller(0), &by()).unwrap();
    drop(open);
    let tpm = connected(&tpm);
    let open = Keeper::open(file(folder, "vault"), &by(), None, Some(tpm), new_state()).unwrap();
    assert_eq!((open.read(current), open.findings(), open.method()), (Some(4), vec![], Method::Credential));
}

#[test]
fn a_tpm_that_goes_away_lets_one_change_pass_uncounted() {
    let Some(tpm) = Software::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let open = by_tpm(folder.path(), &tpm, true).unwrap();
    drop(tpm);
    change(&open, 1).unwrap();
    assert!(matches!(open.findings()[..], [Finding::NoCounter(_)]));
    assert!(matches!(change(&open, 2), Err(Change::Counter(_))));
    assert_eq!((open.read(current), open.sequence()), (Some(1), Some(3)));
}

#[test]
fn what_cannot_be_written_is_not_done_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    change(&keeper(folder), 1).unwrap();
    let reading = |name: &str| std::fs::File::open(folder.join(name)).unwrap();
    // The log.
    let read_only = adjunct_coprocessor::audit::Log::open(reading("audit")).unwrap();
    let open = Keeper::open(file(folder, "vault"), &by(), Some(read_only), None, new_state()).unwrap();
    assert!(matches!(change(&open, 2), Err(Change::Log(_))));
    assert_eq!((open.read(current), open.sequence(), open.findings()), (Some(1), Some(2), vec![Finding::Lost(1)]));
    assert!(open.note(&caller(1), None, "start", "done", Detail::new(), true).is_err());
    assert_eq!(open.findings(), [Finding::Lost(2)]);
    drop(open);
    // The vault.
    let open = Keeper::open(reading("vault"), &by(), Some(log(folder)), None, new_state()).unwrap();
    assert!(matches!(change(&open, 2), Err(Change::Vault(vault::Error::Io(_)))));
    assert!(matches!(change(&open, 2), Err(Change::Vault(vault::Error::Unsure))));
    assert_eq!((open.read(current), open.findings()), (Some(1), vec![Finding::Unsure]));
    drop(open);
    let open = keeper(folder);
    assert_eq!((open.read(current), open.findings()), (Some(1), vec![]));
    let failed = records(folder, None).into_iter().filter(|record| record.result.starts_with("the vault: "));
    assert_eq!(failed.count(), 2);
}

/// Readers see a state of before or after a change, and at once, while writers wait for the disk.
#[test]
fn readers_go_on_while_the_state_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = keeper(folder.path());
    let both = |state: &mut State, byte| set_key(state, 0, byte).and_then(|()| set_key(state, 1, byte));
    keeper.change(&caller(0), None, "set", |state| both(state, 1)).unwrap();
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !end.load(Relaxed) {
                    let state = keeper.state();
                    let of = |domain| state.domain(domain).unwrap().registers(Kind::Wrapping).unwrap().current();
                    assert_eq!(of(0).unwrap().secret(), of(1).unwrap().secret());
                }
            });
        }
        for byte in 2..60 {
            keeper.change(&caller(0), None, "set", |state| both(state, byte)).unwrap();
            // While a change is being made, readers are not kept waiting.
            let seen = keeper.change(&caller(0), None, "look", |_| Err::<(), _>(format!("{:?}", keeper.read(current))));
            assert!(matches!(seen, Err(Change::Refused(seen)) if seen == format!("Some({byte})")));
        }
        end.store(true, Relaxed);
    });
}
