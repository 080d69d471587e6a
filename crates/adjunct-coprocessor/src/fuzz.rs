//! What fuzzing calls.

use crate::audit::{self, Log};
use crate::seal::Opener;
use crate::state::State;
use crate::vault::{self, Vault};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;

/// What the vaults among the seeds are opened by.
const CREDENTIAL: &[u8] = b"a credential of systemd's";

/// A file in memory.
fn file(bytes: &[u8]) -> Option<File> {
    let mut file = File::from(memfd_create("adjunct-fuzz", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(bytes).ok()?;
    Some(file)
}

/// Takes bytes for a state, for a vault's file, and for an audit log. For fuzzing; it must never panic.
///
/// # Panics
/// Where what was read is not what is written, or an audit log that is whole cannot be gone on with.
pub fn fuzz(bytes: &[u8]) {
    if let Some(state) = State::parse(bytes) {
        assert!(state.encode().is_some_and(|written| written[..] == *bytes));
    }
    for bytes in [bytes, &vault::made_whole(bytes)] {
        let Some(file) = file(bytes) else { return };
        let _ = vault::method(&file);
        let opened = Vault::open(file, &Opener::Credential(CREDENTIAL));
        if let Ok((mut vault, contents)) = opened {
            let _ = State::parse(&contents);
            let sequence = vault.sequence();
            if sequence < u64::MAX && vault.write(&contents).is_ok() {
                assert_eq!(vault.sequence(), sequence + 1);
            }
        }
    }
    let whole = audit::verify(bytes, (0, [0; 32]), None, drop);
    let Some(log) = file(bytes) else { return };
    let opened = Log::open(log);
    if let Ok(last) = whole {
        assert_eq!(opened.expect("a log that is whole").last(), last);
    }
}
