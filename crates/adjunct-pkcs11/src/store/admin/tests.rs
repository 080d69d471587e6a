use super::*;
use tempfile::TempDir;

const PIN: &[u8] = b"12345678";
const SO_PIN: &[u8] = b"so pin 8765";

/// A token of a folder's, with both PINs.
fn token(folder: &TempDir) -> Configured {
    let path = folder.path().join("tokens/one.token");
    let token = Configured { slot: 3, path, read_only: false, tpm: None, named: false, machines: false };
    let (store, objects) = (Store::new(token.path.clone(), false, None), Table::new());
    store.initialize(&objects, SO_PIN, &[b'x'; 32], false).unwrap();
    store.log_in(&objects, Holder::SecurityOfficer, SO_PIN, || true).unwrap();
    store.initialize_pin(&objects, PIN).unwrap();
    token
}

fn words<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().0
}

#[test]
fn a_damaged_token_is_repaired_with_either_pin() {
    let folder = tempfile::tempdir().unwrap();
    let token = token(&folder);
    assert_eq!(repair(&token, false, PIN), Ok(Repaired::Whole(Contents { objects: 0, changes: 2 })));
    let whole = std::fs::read(&token.path).unwrap();
    // The counters of tries, the header, the user's role.
    let user = FRAMES + 24 + 64 + 70;
    for (round, at) in [140, 20 + 16, user].into_iter().enumerate() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&token.path, &bytes).unwrap();
        let seen = examine(&token);
        assert_eq!((seen.damaged, seen.exists), (round > 0, true), "{at}");
        if round == 0 {
            continue;
        }
        let repaired = repair(&token, true, SO_PIN).unwrap();
        let Repaired::Anew { kept: 0, lost: 0, without_user, officer_as_given: false, aside } = repaired else {
            panic!("{repaired:?}")
        };
        assert_eq!((without_user, std::fs::read(aside).unwrap()[at]), (at == user, bytes[at]));
        assert!(matches!(repair(&token, true, SO_PIN), Ok(Repaired::Whole(_))));
    }
    // The officer's role: the user's PIN takes its place.
    let mut bytes = whole.clone();
    bytes[whole.len() - 60] ^= 1;
    std::fs::write(&token.path, &bytes).unwrap();
    assert!(matches!(repair(&token, false, PIN), Ok(Repaired::Anew { officer_as_given: true, .. })));
    assert!(matches!(repair(&token, true, PIN), Ok(Repaired::Whole(_))));
    std::fs::write(&token.path, &whole[..100]).unwrap();
    assert!(words(repair(&token, false, PIN)).contains("first bytes"));
}

#[test]
fn tries_count_in_repair() {
    let folder = tempfile::tempdir().unwrap();
    let token = token(&folder);
    assert_eq!(words(repair(&token, false, b"wrong")), "wrong PIN of the user; 2 tries left");
    assert_eq!(examine(&token).users.map(|user| user.tries_left), [Some(2), Some(3)]);
    assert_eq!(words(repair(&token, false, b"wrong")), "wrong PIN of the user; one try left");
    assert!(words(repair(&token, false, b"wrong")).contains("0 tries left"));
    assert_eq!(words(repair(&token, false, PIN)), "the user's PIN is locked");
}

/// A bit that flipped in the record by which a PIN is checked makes no right PIN wrong, nor does it cost a try.
#[test]
fn a_damaged_record_makes_no_pin_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let token = token(&folder);
    let whole = std::fs::read(&token.path).unwrap();
    let role = FRAMES + 24;
    // The record's head, the role's cost, salt and secret, and how that opens the token key.
    for at in [role + 9, role + 24, role + 64 + 2, role + 64 + 20, role + 64 + 60, role + 64 + 100, role + 64 + 150] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&token.path, &bytes).unwrap();
        for _ in 0..4 {
            let refused = words(repair(&token, false, PIN));
            assert!(!refused.contains("wrong PIN"), "{at}: {refused}");
        }
        assert_eq!(examine(&token).users[0].tries_left, Some(3), "{at}");
        assert!(matches!(repair(&token, true, SO_PIN), Ok(Repaired::Anew { .. })), "{at}");
        for left in token.path.parent().unwrap().read_dir().unwrap().flatten() {
            std::fs::remove_file(left.path()).unwrap();
        }
    }
    // Where the record is whole a wrong PIN is wrong, and counts.
    let mut bytes = whole.clone();
    bytes[20 + 16] ^= 1;
    std::fs::write(&token.path, &bytes).unwrap();
    assert_eq!(words(repair(&token, false, b"wrong")), "wrong PIN of the user; 2 tries left");
    for pin in [&b""[..], b"123", &[b'x'; 256]] {
        assert_eq!(words(repair(&token, false, pin)), "a PIN has 4 to 255 bytes; no try was counted");
    }
    assert_eq!(examine(&token).users[0].tries_left, Some(2));
}

#[test]
fn a_backup_is_restored_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let token = token(&folder);
    let bytes = backup(&token, 1_800_000_000).unwrap();
    let elsewhere = Configured { path: folder.path().join("other/two.token"), ..token.clone() };
    for cut in (0..bytes.len()).step_by(7) {
        assert!(content(&bytes[..cut]).is_err(), "{cut}");
        let mut changed = bytes.clone();
        changed[cut] ^= 4;
        assert!(content(&changed).is_err(), "{cut}");
    }
    assert_eq!(words(restore(&elsewhere, &bytes[..300], false, PIN, false)), "the file is not whole, or was changed");
    assert_eq!(words(restore(&elsewhere, &bytes, false, b"wrong", false)), "wrong PIN of the user");
    assert!(!elsewhere.path.exists());
    let restored = restore(&elsewhere, &bytes, false, PIN, false).unwrap();
    assert_eq!((restored.contents.changes, restored.seconds, restored.newer), (2, 1_800_000_000, None));
    assert!(words(restore(&token, &bytes, true, SO_PIN, false)).ends_with("there is a token already"));
    // Whoever changes it and its sum has not the keys.
    let mut changed = bytes[..bytes.len() - SUM].to_vec();
    let at = changed.len() - 30;
    changed[at] ^= 1;
    let end = changed.len();
    let crc = crc32fast::hash(&changed[BACKUP_HEAD + FRAMES..end - 4]);
    changed[end - 4..].copy_from_slice(&crc.to_le_bytes());
    let sum = sum(&changed);
    changed.extend(sum);
    assert_eq!(
        words(restore(&token, &changed, true, SO_PIN, true)),
        "the file was changed by somebody without the PIN"
    );
    // The token has one change more than the file that was made of it: `newer` says so.
    let (store, objects) = (Store::new(token.path.clone(), false, None), Table::new());
    store.log_in(&objects, Holder::SecurityOfficer, SO_PIN, || true).unwrap();
    store.initialize_pin(&objects, b"other pin").unwrap();
    assert_eq!(restore(&token, &bytes, true, SO_PIN, true).unwrap().newer, Some(1));
    assert!(store.check_pin(&objects, Holder::User, PIN).is_ok());
}
