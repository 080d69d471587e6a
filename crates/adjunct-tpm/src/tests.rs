//! With a TPM in software (swtpm), where one is installed.

use super::*;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

#[path = "../tests/software/mod.rs"]
mod software;
use software::Software;

impl Software {
    fn tpm(&self) -> Tpm {
        Tpm::new(Some(self.socket()))
    }
}

const AUTH: [u8; 32] = [0x5a; 32];
const SECRET: [u8; 32] = *b"what nobody on the bus may read.";

#[test]
fn a_secret_comes_back_from_its_tpm_alone() {
    let (Some(one), Some(other)) = (Software::new(), Software::new()) else { return };
    let (auth, secret) = (Zeroizing::new(AUTH), Zeroizing::new(SECRET));
    let sealed = one.tpm().seal(&auth, &secret).unwrap();
    // More often than a TPM has places for: none stays taken.
    for _ in 0..5 {
        assert_eq!(one.tpm().unseal(&sealed, &auth), Ok(Some(secret.clone())));
    }
    assert_eq!(other.tpm().unseal(&sealed, &auth), Err(Fault::Other));
    let forged = Sealed { parent: other.tpm().identity().unwrap(), ..sealed.clone() };
    assert_eq!(other.tpm().unseal(&forged, &auth), Err(Fault::Other));
    // It counts wrong tries itself.
    let wrong = Zeroizing::new([7; 32]);
    let mut tried = 0;
    let refused = loop {
        match one.tpm().unseal(&sealed, &wrong) {
            Ok(None) => tried += 1,
            refused => break refused,
        }
        assert!(tried < 100);
    };
    assert_eq!((refused, tried > 0), (Err(Fault::Refused(0x921)), true));
    assert_eq!(one.tpm().unseal(&sealed, &auth), Err(Fault::Refused(0x921)));
    assert!(Fault::Refused(0x921).to_string().contains("lockout"));
    let absent = Tpm::new(Some(one.file("none")));
    assert_eq!(absent.identity(), Err(Fault::Absent(Errno::NOENT)));
}

/// Forwards one connection after the other, records what it receives, and changes the last byte of long responses to `change`.
fn listener(path: PathBuf, to: PathBuf, heard: Arc<Mutex<Vec<u8>>>, change: Option<u32>) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut tpm) = (client.unwrap(), UnixStream::connect(&to).unwrap());
            while let Some(command) = message(&mut client) {
                tpm.write_all(&command).unwrap();
                let mut answer = message(&mut tpm).unwrap();
                heard.lock().unwrap().extend([&command[..], &answer].concat());
                if change.is_some_and(|code| command[6..10] == code.to_be_bytes()) {
                    let last = answer.len() - 40;
                    answer[last] ^= 1;
                }
                client.write_all(&answer).unwrap();
            }
        }
    });
}

fn message(from: &mut UnixStream) -> Option<Vec<u8>> {
    let mut bytes = vec![0; wire::HEAD];
    from.read_exact(&mut bytes).ok()?;
    let length = In(&bytes[2..]).u32().unwrap() as usize;
    bytes.resize(length, 0);
    from.read_exact(&mut bytes[wire::HEAD..]).ok()?;
    Some(bytes)
}

#[test]
fn the_bus_carries_no_secret_and_takes_no_change() {
    let Some(software) = Software::new() else { return };
    let (auth, secret) = (Zeroizing::new(AUTH), Zeroizing::new(SECRET));
    let through = |name: &str, change| {
        let (path, heard) = (software.file(name), Arc::new(Mutex::new(Vec::new())));
        listener(path.clone(), software.socket(), heard.clone(), change);
        (Tpm::new(Some(path)), heard)
    };
    let (tpm, heard) = through("heard", None);
    let sealed = tpm.seal(&auth, &secret).unwrap();
    assert_eq!(tpm.unseal(&sealed, &auth), Ok(Some(secret.clone())));
    let heard = heard.lock().unwrap();
    assert!(heard.len() > 1000);
    for hidden in [&SECRET[..16], &AUTH[..16]] {
        assert!(!heard.windows(16).any(|part| part == hidden));
    }
    for code in [wire::UNSEAL, wire::CREATE] {
        let (changed, _) = through(&format!("changed {code}"), Some(code));
        let done = if code == wire::UNSEAL {
            changed.unseal(&sealed, &auth).map(drop)
        } else {
            changed.seal(&auth, &secret).map(drop)
        };
        assert_eq!(done, Err(Fault::Nonsense), "{code:#x}");
    }
}

/// A descriptor that another has opened.
fn connected(software: &Software) -> Connection {
    Connection::over(UnixStream::connect(software.socket()).unwrap().into()).unwrap()
}

#[test]
fn an_open_descriptor_is_enough_and_uncounted_tries_lock_nothing() {
    let Some(software) = Software::new() else { return };
    let (auth, secret, wrong) = (Zeroizing::new(AUTH), Zeroizing::new(SECRET), Zeroizing::new([7; 32]));
    let tpm = connected(&software);
    let sealed = tpm.seal(&auth, &secret, Tries::Uncounted).unwrap();
    for _ in 0..50 {
        assert_eq!(tpm.unseal(&sealed, &wrong), Ok(None));
    }
    assert_eq!(tpm.unseal(&sealed, &auth), Ok(Some(secret)));
    assert_eq!(tpm.identity(), Ok(sealed.parent));
}

#[test]
fn a_counter_goes_up_alone_and_never_below_one_that_was() {
    let (Some(software), Some(other)) = (Software::new(), Software::new()) else { return };
    let (auth, wrong) = (Zeroizing::new(AUTH), Zeroizing::new([7; 32]));
    let tpm = connected(&software);
    let counter = tpm.make_counter(&auth).unwrap();
    let first = tpm.read(counter, &auth).unwrap();
    for more in 1..=3 {
        tpm.increment(counter, &auth).unwrap();
        assert_eq!(tpm.read(counter, &auth), Ok(first + more));
    }
    // Who has not the value neither counts nor reads, and locks nothing.
    for _ in 0..50 {
        assert_eq!(tpm.increment(counter, &wrong), Err(Fault::Other));
    }
    assert_eq!(tpm.read(counter, &wrong), Err(Fault::Other));
    // The socket takes one connection at a time.
    drop(tpm);
    let tpm = connected(&software);
    assert_eq!(tpm.read(Counter::with_number(counter.number()).unwrap(), &auth), Ok(first + 3));
    assert_eq!(connected(&other).read(counter, &auth), Err(Fault::Other));
    let second = tpm.make_counter(&auth).unwrap();
    assert_ne!(counter, second);
    tpm.remove_counter(counter).unwrap();
    assert_eq!(tpm.read(counter, &auth), Err(Fault::Other));
    assert_eq!(tpm.remove_counter(counter), Err(Fault::Other));
    let third = tpm.make_counter(&auth).unwrap();
    assert!(tpm.read(third, &auth).unwrap() > first + 3);
    assert!(Counter::with_number(0x8100_0001).is_none());
}

#[test]
fn a_counters_value_and_authorization_are_not_the_bus_s() {
    let Some(software) = Software::new() else { return };
    let auth = Zeroizing::new(AUTH);
    let through = |name: &str, change| {
        let (path, heard) = (software.file(name), Arc::new(Mutex::new(Vec::new())));
        listener(path.clone(), software.socket(), heard.clone(), change);
        (Connection::open(&path).unwrap(), heard)
    };
    let (tpm, heard) = through("heard", None);
    let counter = tpm.make_counter(&auth).unwrap();
    drop(tpm);
    assert!(!heard.lock().unwrap().windows(16).any(|part| part == &AUTH[..16]));
    // A response that was changed on its way: of reading, in its HMAC or what this is of.
    let (tpm, _) = through("changed", Some(wire::NV_READ));
    assert_eq!(tpm.read(counter, &auth), Err(Fault::Nonsense));
}
