use super::*;
use std::io::Write;

const SECRET: &[u8] = b"a credential of systemd's";

fn by() -> Opener<'static> {
    Opener::credential(SECRET).unwrap()
}

/// A file that is gone when it is closed.
fn file() -> File {
    tempfile::tempfile().unwrap()
}

fn bytes_of(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn copy_of(file: &File) -> File {
    with(&bytes_of(file))
}

fn with(bytes: &[u8]) -> File {
    let mut copy = file();
    copy.write_all(bytes).unwrap();
    copy
}

fn opened(file: File) -> Result<(u64, Vec<u8>), Error> {
    Vault::open(file, &by()).map(|(vault, contents)| (vault.sequence(), contents.to_vec()))
}

fn contents(bytes: &[u8]) -> Option<Contents> {
    Some(Zeroizing::new(bytes.to_vec()))
}

#[test]
fn what_was_written_last_is_there_again() {
    let mut vault = Vault::create(file(), &by(), 5000, b"first").unwrap();
    let copy = |vault: &Vault| opened(copy_of(&vault.file)).unwrap();
    assert_eq!(copy(&vault), (1, b"first".to_vec()));
    for number in 2..6_u64 {
        let contents = vec![number as u8; number as usize * 1000 - 1];
        vault.write(&contents).unwrap();
        assert_eq!(copy(&vault), (number, contents));
    }
    assert!(matches!(vault.write(&[0; 5001]), Err(Error::Room(5001))));
    vault.write(&[]).unwrap();
    assert_eq!((copy(&vault), vault.method()), ((6, Vec::new()), Method::Credential));
    vault.write(&[1; 5000]).unwrap();
    assert_eq!(copy(&vault), (7, vec![1; 5000]));
    assert!(matches!(Vault::create(file(), &by(), 10, &[0; 11]), Err(Error::Room(11))));
    assert!(matches!(Vault::create(file(), &by(), MOST + 1, &[]), Err(Error::Room(_))));
}

#[test]
fn an_empty_file_becomes_a_vault_and_any_other_stays() {
    let file = file();
    assert_eq!(method(&file).unwrap(), None);
    let clone = file.try_clone().unwrap();
    drop(Vault::open_or_create(file, &by(), 100, || contents(b"new")).unwrap());
    assert_eq!(method(&clone).unwrap(), Some(Method::Credential));
    let (vault, found) = Vault::open_or_create(clone, &by(), 100, || contents(b"newer")).unwrap();
    assert_eq!((vault.sequence(), &found[..]), (1, &b"new"[..]));
    for other in [&b"x"[..], b"ADJV\x01", b"a text of somebody's", &[1; 9000]] {
        let file = with(other);
        let clone = file.try_clone().unwrap();
        assert!(matches!(method(&file), Err(Error::NoVault)));
        assert!(matches!(Vault::open_or_create(file, &by(), 100, || contents(b"new")), Err(Error::NoVault)));
        assert_eq!(bytes_of(&clone), other);
        assert!(matches!(Vault::create(clone, &by(), 100, b"new"), Err(Error::NoVault)));
    }
    assert!(matches!(opened(with(b"")), Err(Error::NoVault)));
}

#[test]
fn a_write_that_is_cut_at_any_place_leaves_the_contents_of_before() {
    let mut vault = Vault::create(file(), &by(), 9000, b"before").unwrap();
    let before = copy_of(&vault.file);
    vault.write(&[7; 6000]).unwrap();
    let length = PAGE + text_length(6000);
    let at = place(1, 9000);
    let mut slot = vec![0; length];
    vault.file.read_exact_at(&mut slot, at).unwrap();
    let cuts = (0..200).chain([SUM, SUM + 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, length - 1]);
    for written in cuts {
        let cut = copy_of(&before);
        cut.write_all_at(&slot[..written], at).unwrap();
        assert_eq!(opened(cut).unwrap(), (1, b"before".to_vec()), "{written}");
    }
    let whole = copy_of(&before);
    whole.write_all_at(&slot, at).unwrap();
    assert_eq!(opened(whole).unwrap(), (2, vec![7; 6000]));
    // In another order: the head is there, and the text is that of before.
    let mixed = copy_of(&before);
    mixed.write_all_at(&slot[..PAGE], at).unwrap();
    assert_eq!(opened(mixed).unwrap(), (1, b"before".to_vec()));
}

#[test]
fn a_changed_bit_gives_the_other_slot_or_an_error_and_never_other_contents() {
    let mut vault = Vault::create(file(), &by(), 64, b"one").unwrap();
    vault.write(b"two").unwrap();
    let bytes = bytes_of(&vault.file);
    let second = place(1, 64) as usize;
    for at in (0..200).chain(SUM..PAGE + 300).chain(second - 40..second + 300).chain([bytes.len() - 1]) {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        match opened(with(&other)) {
            Ok(found) => assert!(at >= PAGE && [(2, b"two".to_vec()), (1, b"one".to_vec())].contains(&found), "{at}"),
            Err(Error::NoVault | Error::Version(_) | Error::Damaged) => assert!(at < PAGE, "{at}"),
            Err(error) => panic!("{at}: {error}"),
        }
    }
    for cut in [0, 7, 100, PAGE - 1, PAGE, PAGE + 10] {
        assert!(matches!(opened(with(&bytes[..cut])), Err(Error::NoVault | Error::Damaged)), "{cut}");
    }
}

/// What is whole and was made by somebody without the key.
#[test]
fn a_forged_slot_is_refused() {
    let vault = Vault::create(file(), &by(), 64, b"one").unwrap();
    let mut bytes = bytes_of(&vault.file);
    let first = place(0, 64) as usize;
    bytes[first + 8] = 9;
    let sum = sha256(&[&bytes[first..first + SUM], &bytes[first + PAGE..first + 2 * PAGE]]);
    bytes[first + SUM..first + PAGE].copy_from_slice(&sum);
    assert!(matches!(opened(with(&bytes)), Err(Error::Damaged)));
}

#[test]
fn another_secret_method_or_file_opens_nothing() {
    let vault = Vault::create(file(), &by(), 64, b"one").unwrap();
    let tried = |opener: &Opener<'_>| Vault::open(copy_of(&vault.file), opener).map(drop);
    assert!(matches!(tried(&Opener::credential(b"another credential").unwrap()), Err(Error::Secret)));
    let refused = tried(&Opener::passphrase(SECRET).unwrap()).unwrap_err();
    assert!(matches!(refused, Error::Method(Method::Credential, Method::Passphrase)));
    assert_eq!(refused.to_string(), "it is sealed by a credential of systemd's, and is to be opened by a passphrase");
    assert!(Opener::credential(b"too short").is_none() && Opener::passphrase(b"").is_none());
    // A slot of another vault.
    let other = Vault::create(file(), &by(), 64, b"two").unwrap();
    let mixed = copy_of(&vault.file);
    let mut slot = vec![0; 2 * PAGE];
    other.file.read_exact_at(&mut slot, PAGE as u64).unwrap();
    mixed.write_all_at(&slot, PAGE as u64).unwrap();
    assert!(matches!(opened(mixed), Err(Error::Secret)));
}

#[test]
fn a_passphrase_opens_it_and_is_not_in_the_file() {
    let phrase = |text| Opener::passphrase(text).unwrap();
    let mut vault = Vault::create(file(), &phrase(b"correct horse battery"), 64, b"contents of it").unwrap();
    let mut bytes = bytes_of(&vault.file);
    let holds = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
    assert!(!holds(b"horse") && !holds(b"contents") && !holds(&vault.key[..]));
    let (opened, contents) = Vault::open(with(&bytes), &phrase(b"correct horse battery")).unwrap();
    assert_eq!((&contents[..], opened.method()), (&b"contents of it"[..], Method::Passphrase));
    assert!(matches!(Vault::open(with(&bytes), &phrase(b"wrong horse")).map(drop), Err(Error::Secret)));
    // Costs that no machine has are refused at once.
    let first = place(0, 64) as usize;
    bytes[first + SEAL + 4..first + SEAL + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    let sum = sha256(&[&bytes[first..first + SUM], &bytes[first + PAGE..first + 2 * PAGE]]);
    bytes[first + SUM..first + PAGE].copy_from_slice(&sum);
    assert!(matches!(Vault::open(with(&bytes), &phrase(b"correct horse battery")).map(drop), Err(Error::Damaged)));
    // Sealed anew, it is opened by the new alone, from both slots.
    vault.reseal(&by(), b"contents of it").unwrap();
    assert_eq!(vault.method(), Method::Credential);
    vault.write(b"later").unwrap();
    for destroyed in 0..2 {
        let copy = copy_of(&vault.file);
        copy.write_all_at(&[0; 100], place(destroyed, 64)).unwrap();
        assert!(matches!(
            Vault::open(copy.try_clone().unwrap(), &phrase(b"correct horse battery")),
            Err(Error::Method(..))
        ));
        let (_, contents) = Vault::open(copy, &by()).unwrap();
        assert!([&b"later"[..], b"contents of it"].contains(&&contents[..]));
    }
}

#[test]
fn a_file_that_cannot_be_written_gives_an_error_and_keeps_its_contents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let made = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    drop(Vault::create(made, &by(), 64, b"one").unwrap());
    let (mut vault, _) = Vault::open(File::open(&path).unwrap(), &by()).unwrap();
    assert!(matches!(vault.write(b"two"), Err(Error::Io(_))));
    assert!(matches!(vault.write(b"three"), Err(Error::Unsure)));
    assert!(matches!(opened(File::open(&path).unwrap()), Err(Error::Busy)));
    drop(vault);
    assert_eq!(opened(File::open(&path).unwrap()).unwrap(), (1, b"one".to_vec()));
}
