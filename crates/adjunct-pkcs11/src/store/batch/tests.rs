//! Changes of several threads that wait for the same writer.

use super::super::tests::{labels, login, new_store, object, store};
use super::super::{FRAMES, Holder, Keys, Store, format};
use super::*;
use crate::object::table::Table;
use std::path::Path;
use std::thread::{Scope, ScopedJoinHandle};

/// The records of each frame of a file.
fn frames(path: &Path) -> Vec<usize> {
    let bytes = std::fs::read(path).unwrap();
    format::frames(&bytes[FRAMES..], 0).unwrap().iter().map(|frame| frame.records.len()).collect()
}

fn waiting(store: &Store) -> usize {
    store.queue.hold(|waiting| waiting.len())
}

/// Makes changes in a thread, which has to wait: comes back once they are in the queue.
fn change<'scope>(
    scope: &'scope Scope<'scope, '_>,
    (store, objects): (&'scope Store, &'scope Table),
    changes: Vec<Change>,
) -> ScopedJoinHandle<'scope, Result<Vec<Handle>>> {
    let before = waiting(store);
    let thread = scope.spawn(move || store.change(objects, changes));
    while waiting(store) == before {
        std::thread::yield_now();
    }
    thread
}

fn new(label: &str) -> Vec<Change> {
    vec![Change::New(object(label, CKO_DATA, false))]
}

#[test]
fn what_waits_is_written_in_one_frame() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    let (one, objects) = (&new_store(&path, &login), &Table::new());
    one.refresh(objects).unwrap();
    std::thread::scope(|scope| {
        let threads = one.place.exclusively(|_| {
            let threads: Vec<_> =
                (0..8).map(|at| (at, change(scope, (one, objects), new(&format!("object {at}"))))).collect();
            assert!(threads.iter().all(|(_, thread)| !thread.is_finished()));
            threads
        });
        for (at, thread) in threads.unwrap() {
            // Each has its own object's handle.
            let handles = thread.join().unwrap().unwrap();
            let object = objects.get(handles[0]).unwrap().object();
            assert_eq!(
                (handles.len(), object.attributes.bytes(CKA_LABEL).unwrap()),
                (1, format!("object {at}").as_bytes())
            );
        }
    });
    // The roles, and all objects.
    assert_eq!(frames(&path), [2, 8]);
    let (other, seen) = (store(&path, &login), Table::new());
    other.refresh(&seen).unwrap();
    assert_eq!((labels(&seen).len(), labels(&seen)), (8, labels(objects)));
}

#[test]
fn changes_of_one_object_keep_their_order() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    let (one, objects) = (&new_store(&path, &login), &Table::new());
    one.refresh(objects).unwrap();
    let handle = one.change(objects, new("first")).unwrap()[0];
    let first = objects.get(handle).unwrap().object();
    let renamed = |label: &str| {
        let mut attributes = first.attributes.clone();
        attributes.set(CKA_LABEL, label.as_bytes()).unwrap();
        vec![Change::Replaced(Object::new(attributes))]
    };
    std::thread::scope(|scope| {
        let threads = one.place.exclusively(|_| {
            [renamed("second"), renamed("third"), new("other"), vec![Change::Removed(first.clone())], renamed("late")]
                .map(|changes| change(scope, (one, objects), changes))
        });
        let [second, third, other, removed, late] = threads.unwrap().map(|thread| thread.join().unwrap());
        assert_eq!((second, third, removed), (Ok(vec![handle]), Ok(vec![handle]), Ok(vec![])));
        assert_eq!(late, fail(CKR_OBJECT_HANDLE_INVALID));
        assert_ne!(other.unwrap(), [handle]);
    });
    // "late" failed alone, in a batch of its own.
    assert_eq!(frames(&path), [2, 1, 1, 2, 1]);
    assert_eq!(labels(objects), ["other".to_owned()].into());
}

#[test]
fn one_that_fails_takes_no_other_with_it() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    let (one, objects) = (&new_store(&path, &login), &Table::new());
    one.refresh(objects).unwrap();
    let nowhere = Arc::new(object("nowhere", CKO_DATA, false));
    std::thread::scope(|scope| {
        let threads = one.place.exclusively(|_| {
            [new("before"), vec![Change::Removed(nowhere.clone())], new("behind")]
                .map(|changes| change(scope, (one, objects), changes))
        });
        let [before, none, behind] = threads.unwrap().map(|thread| thread.join().unwrap());
        assert!(before.is_ok() && behind.is_ok());
        assert_eq!(none, fail(CKR_OBJECT_HANDLE_INVALID));
    });
    assert_eq!(frames(&path), [2, 2]);
    assert_eq!(labels(objects), ["before", "behind"].map(String::from).into());
}

#[test]
fn logins_do_not_share_a_frame() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    let (one, objects) = (&new_store(&path, &login), &Table::new());
    one.refresh(objects).unwrap();
    std::thread::scope(|scope| {
        let threads = one.place.exclusively(|_| {
            let first = change(scope, (one, objects), new("of the first"));
            // Another token's keys.
            one.set_login(Some(Arc::new(Login { keys: Keys::new([8; 16]), holder: Holder::User })));
            [first, change(scope, (one, objects), new("of the second"))]
        });
        let [first, second] = threads.unwrap().map(|thread| thread.join().unwrap());
        assert!(first.is_ok() && second.is_err());
    });
    assert_eq!(frames(&path), [2, 1]);
}

#[test]
fn a_request_that_cannot_be_written_is_taken_back() {
    let (directory, login) = (tempfile::tempdir().unwrap(), login());
    let path = directory.path().join("store");
    drop(new_store(&path, &login));
    let (one, objects) = (Store::new(path.clone(), true, None), Table::new());
    one.set_login(Some(login));
    assert_eq!(one.change(&objects, new("one")), fail(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!((waiting(&one), frames(&path)), (0, vec![2]));
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
