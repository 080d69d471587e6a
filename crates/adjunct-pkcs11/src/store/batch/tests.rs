//! Changes of several threads that wait for the same writer.

use super::super::format::Version;
use super::super::tests::{frames, header, labels, login, new_store, object, store};
use super::super::{Header, Holder, Keys, Store};
use super::*;
use crate::table::Table;
use std::path::PathBuf;
use tempfile::TempDir;

/// A token in a file of its own, and what is known of it.
struct Stage {
    directory: TempDir,
    login: Arc<Login>,
    store: Store,
    objects: Table,
}

impl Stage {
    fn new() -> Stage {
        let (directory, login, objects) = (tempfile::tempdir().unwrap(), login(), Table::new());
        let store = new_store(&directory.path().join("store"), &login);
        store.refresh(&objects).unwrap();
        Stage { directory, login, store, objects }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// The records of each frame of the file.
    fn frames(&self) -> Vec<usize> {
        let bytes = std::fs::read(self.path()).unwrap();
        frames(&bytes).iter().map(|frame| frame.records.len()).collect()
    }

    /// Makes changes in threads of their own, which come one after the other and all wait for the same writer: what became of each. `then`
    /// runs each time that one more is in the queue.
    fn change_together<const N: usize>(&self, changes: [Vec<Change>; N], then: impl Fn()) -> [Result<Vec<Handle>>; N] {
        std::thread::scope(|scope| {
            let threads = self.store.place.exclusively(|_| {
                let threads = changes.map(|changes| {
                    let before = waiting(&self.store);
                    let thread = scope.spawn(move || self.store.change(&self.objects, changes));
                    while waiting(&self.store) == before {
                        std::thread::yield_now();
                    }
                    then();
                    thread
                });
                assert!(threads.iter().all(|thread| !thread.is_finished()));
                threads
            });
            threads.unwrap().map(|thread| thread.join().unwrap())
        })
    }
}

fn waiting(store: &Store) -> usize {
    store.queue.hold(|waiting| waiting.len())
}

fn new(label: &str) -> Vec<Change> {
    vec![Change::New(object(label, CKO_DATA, false))]
}

#[test]
fn what_waits_is_written_in_one_frame() {
    let stage = Stage::new();
    let changes: [Vec<Change>; 8] = std::array::from_fn(|at| new(&format!("object {at}")));
    for (at, done) in stage.change_together(changes, || ()).into_iter().enumerate() {
        // Each has its own object's handle.
        let handles = done.unwrap();
        let object = stage.objects.get(handles[0]).unwrap().object();
        let label = object.attributes.bytes(CKA_LABEL).unwrap();
        assert_eq!((handles.len(), label), (1, format!("object {at}").as_bytes()));
    }
    // The roles, and all objects.
    assert_eq!(stage.frames(), [2, 8]);
    let (other, seen) = (store(&stage.path(), &stage.login), Table::new());
    other.refresh(&seen).unwrap();
    assert_eq!((labels(&seen).len(), labels(&seen)), (8, labels(&stage.objects)));
}

#[test]
fn changes_of_one_object_keep_their_order() {
    let stage = Stage::new();
    let handle = stage.store.change(&stage.objects, new("first")).unwrap()[0];
    let first = stage.objects.get(handle).unwrap().object();
    let renamed = |label: &str| {
        let mut attributes = first.attributes.clone();
        attributes.set(CKA_LABEL, label.as_bytes()).unwrap();
        vec![Change::Replaced(Object::new(attributes))]
    };
    let removed = vec![Change::Removed(first.clone())];
    let changes = [renamed("second"), renamed("third"), new("other"), removed, renamed("late")];
    let [second, third, other, removed, late] = stage.change_together(changes, || ());
    assert_eq!((second, third, removed), (Ok(vec![handle]), Ok(vec![handle]), Ok(vec![])));
    assert_eq!(late, fail(CKR_OBJECT_HANDLE_INVALID));
    assert_ne!(other.unwrap(), [handle]);
    // "late" failed alone, in a batch of its own.
    assert_eq!(stage.frames(), [2, 1, 1, 2, 1]);
    assert_eq!(labels(&stage.objects), ["other".to_owned()].into());
}

#[test]
fn one_that_fails_takes_no_other_with_it() {
    let stage = Stage::new();
    let nowhere = vec![Change::Removed(Arc::new(object("nowhere", CKO_DATA, false)))];
    let [before, none, behind] = stage.change_together([new("before"), nowhere, new("behind")], || ());
    assert!(before.is_ok() && behind.is_ok());
    assert_eq!(none, fail(CKR_OBJECT_HANDLE_INVALID));
    assert_eq!(stage.frames(), [2, 2]);
    assert_eq!(labels(&stage.objects), ["before", "behind"].map(String::from).into());
}

#[test]
fn logins_do_not_share_a_frame() {
    let stage = Stage::new();
    // Another token's keys.
    let other = Header { id: [8; 16], ..header(Version::Two) };
    let other = || Arc::new(Login::new(Keys::new(&other), Holder::User));
    let [first, second] =
        stage.change_together([new("of the first"), new("of the second")], || stage.store.set_login(Some(other())));
    assert!(first.is_ok() && second.is_err());
    assert_eq!(stage.frames(), [2, 1]);
}

#[test]
fn a_request_that_cannot_be_written_is_taken_back() {
    let stage = Stage::new();
    let (one, objects) = (Store::new(stage.path(), true, None), Table::new());
    one.set_login(Some(stage.login.clone()));
    assert_eq!(one.change(&objects, new("one")), fail(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!((waiting(&one), stage.frames()), (0, vec![2]));
}

#[test]
fn a_request_that_its_writer_drops_has_failed() {
    let queue = Queue::new();
    let request = queue.add(login(), new("one")).unwrap();
    let other = queue.add(request.login.clone(), new("two")).unwrap();
    assert!(queue.withdraw(&other) && !queue.withdraw(&other));
    drop(queue.next());
    assert_eq!(request.wait(), fail(CKR_FUNCTION_FAILED));
    assert!(!queue.withdraw(&request) && queue.next().is_empty());
}

#[test]
fn a_child_of_fork_has_no_requests() {
    let queue = Queue::new();
    let request = queue.add(login(), new("one")).unwrap();
    queue.0.hold(|waiting, taken| waiting.generation = taken.generation + 1);
    assert!(queue.next().is_empty() && !request.is_done());
}

#[test]
fn who_is_woken_before_it_sleeps_does_not_sleep() {
    let request = Request::new(login(), new("one")).unwrap();
    request.wake();
    assert_eq!(request.state.load(Acquire), WOKEN);
    assert!(!request.is_done_after_sleep());
    assert_eq!(request.state.load(Acquire), WAITS);
    request.finish(Ok(Vec::new()));
    request.wake();
    assert!(request.is_done() && request.is_done_after_sleep());
    assert_eq!(request.wait(), Ok(Vec::new()));
}
