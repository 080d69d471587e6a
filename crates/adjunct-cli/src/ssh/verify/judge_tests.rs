//! Verdicts on made-up counters.

use super::*;
use crate::ssh::verify::log::UserKey;

const BYTES: u64 = 1_000_000;

fn log(cipher: &str, mac: Option<&str>) -> Log {
    let stream = Stream { cipher: cipher.to_owned(), mac: mac.map(str::to_owned) };
    Log {
        key_exchange: Some("ecdh-sha2-nistp256".to_owned()),
        host_key: Some("rsa-sha2-512".to_owned()),
        to_server: Some(stream.clone()),
        to_client: Some(stream),
        user_key: Some(UserKey { kind: "ED25519".to_owned(), ..UserKey::default() }),
        method: Some("publickey".to_owned()),
        ..Log::default()
    }
}

fn counted(cells: &[(Function, usize, bool, Direction, u64, u64)]) -> Snapshot {
    let mut moved = Snapshot::new(0);
    for &(function, bits, hardware, direction, calls, bytes) in cells {
        *moved.row_mut(function.row(bits)).cell_mut(hardware, direction) = Cell { calls, bytes };
    }
    moved
}

fn end(role: Role, seen: Seen) -> End {
    let modules = Some(vec![PathBuf::from("/m/adjunct.so")]);
    let program = Program::OpenSsh(9, 2);
    End { role, program, openssl: None, seen, modules, configured: Configured::Unknown }
}

fn verdict(what: What, log: &Log, end: &End) -> (Served, Option<Cause>) {
    let verdict = Judge { log, bytes: BYTES }.verdict(what, end);
    (verdict.served, verdict.cause)
}

const HARDWARE: (Served, Option<Cause>) = (Served::Hardware, None);

#[test]
fn each_direction_needs_its_own_bytes() {
    let log = log("aes256-ctr", Some("hmac-sha2-256-etm@openssh.com"));
    // Keys in memory are encrypted with it, too: some kilobytes in the other direction.
    let moved = counted(&[
        (Function::AesCtr, 256, true, Direction::Encrypt, 80, BYTES + 900),
        (Function::AesCtr, 256, true, Direction::Decrypt, 6, 3424),
        (Function::Sha256, 0, true, Direction::Encrypt, 300, 2 * BYTES + 40_000),
    ]);
    let client = end(Role::Client, Seen::Exactly(moved.clone()));
    assert_eq!(verdict(What::CipherToServer, &log, &client), HARDWARE);
    assert_eq!(verdict(What::CipherToClient, &log, &client), (Served::NotByAdjunct, Some(Cause::NotCounted)));
    assert_eq!(verdict(What::MacToServer, &log, &client), HARDWARE);
    // What the client encrypts the server decrypts.
    let server = end(Role::Server, Seen::Exactly(moved));
    assert_eq!(verdict(What::CipherToClient, &log, &server), HARDWARE);
    assert_eq!(verdict(What::CipherToServer, &log, &server), (Served::NotByAdjunct, Some(Cause::NotCounted)));
}

#[test]
fn a_key_of_another_size_is_no_proof() {
    let log = log("aes128-ctr", Some("umac-64@openssh.com"));
    let moved = counted(&[(Function::AesCtr, 256, true, Direction::Encrypt, 80, BYTES)]);
    let client = end(Role::Client, Seen::Exactly(moved));
    assert_eq!(verdict(What::CipherToServer, &log, &client).0, Served::NotByAdjunct);
    assert_eq!(verdict(What::MacToServer, &log, &client), (Served::NotByAdjunct, Some(Cause::BuiltIn)));
}

#[test]
fn a_counter_of_both_directions_must_hold_both() {
    let log = log("aes128-gcm@openssh.com", None);
    let half = counted(&[(Function::Sha256, 0, true, Direction::Encrypt, 9, BYTES)]);
    assert_eq!(
        verdict(What::MacToClient, &log, &end(Role::Client, Seen::Exactly(half))),
        (Served::Nothing, Some(Cause::Authenticated))
    );
    let chacha = self::log("chacha20-poly1305@openssh.com", None);
    let half = counted(&[(Function::ChaCha20, 0, false, Direction::Encrypt, 9, BYTES)]);
    assert_eq!(
        verdict(What::CipherToClient, &chacha, &end(Role::Client, Seen::Exactly(half))),
        (Served::Partly, Some(Cause::Incomplete))
    );
}

#[test]
fn hardware_and_software_together_are_not_hardware() {
    let log = log("aes128-gcm@openssh.com", None);
    let of = |hardware, software| {
        let moved = counted(&[
            (Function::AesGcm, 128, true, Direction::Encrypt, 9, hardware),
            (Function::AesGcm, 128, false, Direction::Encrypt, 9, software),
        ]);
        verdict(What::CipherToServer, &log, &end(Role::Client, Seen::Exactly(moved))).0
    };
    assert_eq!(of(BYTES, 0), Served::Hardware);
    assert_eq!(of(BYTES, BYTES / 4), Served::Partly);
    assert_eq!(of(0, BYTES), Served::Software);
}

#[test]
fn the_reason_of_software_is_the_counters_own() {
    let log = log("aes128-gcm@openssh.com", None);
    let mut moved = counted(&[(Function::AesGcm, 128, false, Direction::Encrypt, 9, BYTES)]);
    *moved.fallbacks_mut(Function::AesGcm, Reason::CpuLacks) = Cell { calls: 9, bytes: BYTES };
    let client = end(Role::Client, Seen::Exactly(moved));
    assert_eq!(verdict(What::CipherToServer, &log, &client), (Served::Software, Some(Cause::CpuLacks)));
}

#[test]
fn others_traffic_is_no_proof_for_a_server_without_the_module() {
    let log = log("aes128-gcm@openssh.com", None);
    let moved = || counted(&[(Function::AesGcm, 128, true, Direction::Decrypt, 99, 50 * BYTES)]);
    let ordinary = |login, bulk| Seen::Ordinary { moved: moved(), login, bulk };
    let mut server = end(Role::Server, ordinary(true, true));
    assert_eq!(verdict(What::CipherToServer, &log, &server), HARDWARE);
    server.modules = Some(Vec::new());
    assert_eq!(verdict(What::CipherToServer, &log, &server), (Served::NotByAdjunct, Some(Cause::NotEnabled)));
    // The session's user sees the data, not the login.
    let server = end(Role::Server, ordinary(false, true));
    assert_eq!(verdict(What::CipherToServer, &log, &server), HARDWARE);
    assert_eq!(verdict(What::HostKey, &log, &server), (Served::NotVisible, Some(Cause::NotVisible)));
    assert_eq!(verdict(What::UserKey, &log, &server), (Served::NotByAdjunct, Some(Cause::BuiltIn)));
}

#[test]
fn public_keys_and_their_ways() {
    let log = log("aes128-gcm@openssh.com", None);
    let none = || Seen::Exactly(Snapshot::new(0));
    let old = end(Role::Server, none());
    assert_eq!(verdict(What::HostKey, &log, &old), (Served::NotByAdjunct, Some(Cause::NeedsEngine)));
    assert_eq!(verdict(What::KeyExchange, &log, &old), (Served::NotByAdjunct, Some(Cause::NeedsEngine)));
    let new = End { program: Program::OpenSsh(10, 0), ..end(Role::Server, none()) };
    assert_eq!(verdict(What::HostKey, &log, &new), (Served::NotByAdjunct, Some(Cause::NotCounted)));
    let other = End { program: Program::Other, ..end(Role::Server, none()) };
    assert_eq!(verdict(What::HostKey, &log, &other), (Served::NotByAdjunct, Some(Cause::UnknownProgram)));
    let signed = counted(&[(Function::RsaCrt, 3072, true, Direction::Encrypt, 1, 0)]);
    assert_eq!(verdict(What::HostKey, &log, &end(Role::Server, Seen::Exactly(signed))), HARDWARE);
    // The client checks: another function.
    let signed = counted(&[(Function::RsaCrt, 3072, true, Direction::Encrypt, 1, 0)]);
    assert_eq!(verdict(What::HostKey, &log, &end(Role::Client, Seen::Exactly(signed))).0, Served::NotByAdjunct);
}

#[test]
fn who_logged_in_without_a_key_has_none() {
    let mut log = log("aes128-gcm@openssh.com", None);
    let client = end(Role::Client, Seen::Exactly(Snapshot::new(0)));
    log.user_key = Some(UserKey { kind: "RSA".to_owned(), held_elsewhere: true, ..UserKey::default() });
    assert_eq!(verdict(What::UserKey, &log, &client), (Served::NotByAdjunct, Some(Cause::Elsewhere)));
    // A key that was tried before the password is not the session's.
    log.method = Some("password".to_owned());
    assert_eq!(verdict(What::UserKey, &log, &client), (Served::Nothing, Some(Cause::NoKey)));
}

#[test]
fn the_gap_of_openssl_3_5_is_named() {
    let log = log("aes256-ctr", Some("hmac-sha2-256"));
    let client = End {
        program: Program::OpenSsh(10, 0),
        openssl: Some("OpenSSL 3.5.7 9 Jun 2026".to_owned()),
        ..end(Role::Client, Seen::Exactly(Snapshot::new(0)))
    };
    assert_eq!(verdict(What::CipherToServer, &log, &client), (Served::NotByAdjunct, Some(Cause::KeptByOpenssl)));
}
