use super::super::file::Place;
use super::*;
use std::path::PathBuf;

fn place(folder: &Path) -> Place {
    Place { path: folder.join("a.token"), read_only: false }
}

fn opened(path: &Path) -> OwnedFd {
    fs::open(path, OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, OURS).unwrap()
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

/// A file that takes the token's place is locked from before it does until its writer ends.
#[test]
fn a_new_file_is_its_writers_until_the_end() {
    let (_folder, path) = folder();
    let place = place(&path);
    let taken = || FileLock::try_lock(opened(&place.path)).unwrap().is_err();
    place
        .exclusively(|held| {
            place.create(held, &[b"first"]).unwrap();
            assert!(taken());
            std::fs::remove_file(place.beside(".lock")).unwrap();
            place.replace(held, &[b"second"], Old::Wiped).unwrap();
            assert!(taken());
        })
        .unwrap();
    assert!(!taken());
    assert_eq!((bytes(&place.path), place.beside(NEW).exists()), (b"second".to_vec(), false));
}

/// A file that another writer has just made is not taken for one that a killed writer left.
#[test]
fn what_a_living_writer_makes_stays() {
    let (_folder, path) = folder();
    let place = place(&path);
    place.exclusively(|held| place.create(held, &[b"first"]).unwrap()).unwrap();
    let new = place.beside(NEW);
    std::fs::write(&new, "another's").unwrap();
    let other = FileLock::try_lock(opened(&new)).unwrap().unwrap();
    let refused = place.exclusively(|held| place.replace(held, &[b"second"], Old::Wiped)).unwrap();
    assert!(matches!(refused, Err(Trouble::Busy(_))), "{refused:?}");
    assert_eq!((bytes(&place.path), bytes(&new)), (b"first".to_vec(), b"another's".to_vec()));
    drop(other);
    let left = opened(&new);
    place.exclusively(|_| ()).unwrap();
    assert!(!new.exists());
    let overwritten = super::super::file::read(&left, 0, 64).unwrap();
    assert_eq!(overwritten, [0; 9], "what a killed writer left is overwritten");
}

/// A token's file that is not the one which the writer has locked is not replaced.
#[test]
fn a_file_that_came_in_between_stays() {
    let (_folder, path) = folder();
    let place = place(&path);
    place.exclusively(|held| place.create(held, &[b"first"]).unwrap()).unwrap();
    let done = place.exclusively(|held| {
        std::fs::rename(&place.path, path.join("moved")).unwrap();
        std::fs::write(&place.path, "another's").unwrap();
        place.replace(held, &[b"second"], Old::Wiped)
    });
    assert!(matches!(done.unwrap(), Err(Trouble::Busy(_))));
    assert_eq!((bytes(&place.path), bytes(&path.join("moved"))), (b"another's".to_vec(), b"first".to_vec()));
    assert!(!place.beside(NEW).exists());
}
