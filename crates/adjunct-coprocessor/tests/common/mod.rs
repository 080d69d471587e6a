//! What the tests share.

#![allow(dead_code, reason = "each test program uses a part")]

use adjunct_coprocessor::audit::Log;
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::{Kind, MasterKey, Wrong};
use adjunct_coprocessor::roles::Caller;
use adjunct_coprocessor::seal::Opener;
use adjunct_coprocessor::state::{Mode, State};
use std::fs::File;
use std::path::Path;

pub const CREDENTIAL: &[u8] = b"a credential of systemd's";

pub fn by() -> Opener<'static> {
    Opener::credential(CREDENTIAL).unwrap()
}

pub fn caller(uid: u32) -> Caller {
    Caller { uid, gid: uid, groups: Vec::new() }
}

pub fn new_state() -> State {
    State::new(Mode::Ep11, ControlPoints::ALL)
}

/// A file that is made where it is not there, as adjunctd hands it to a card.
pub fn file(folder: &Path, name: &str) -> File {
    File::options().read(true).write(true).create(true).truncate(false).open(folder.join(name)).unwrap()
}

pub fn log(folder: &Path) -> Log {
    Log::open(file(folder, "audit")).unwrap()
}

/// The keeper of a folder's vault and log.
pub fn keeper(folder: &Path) -> Keeper {
    Keeper::open(file(folder, "vault"), &by(), Some(log(folder)), None, new_state()).unwrap()
}

/// A key whose bytes are all the same.
pub fn key(byte: u8) -> MasterKey {
    MasterKey::new(Kind::Wrapping, &[byte; 32]).unwrap()
}

/// Puts a key in use in a domain.
pub fn set_key(state: &mut State, domain: u8, byte: u8) -> Result<(), Wrong> {
    let domain = state.domain_or_new(domain, ControlPoints::ALL);
    domain.registers_mut(Kind::Wrapping).ok_or(Wrong::Key)?.set_current(key(byte))
}

/// The byte of the key that is in use in domain 0.
pub fn current(state: &State) -> Option<u8> {
    let key = state.domain(0)?.registers(Kind::Wrapping)?.current()?;
    assert_eq!(key.secret(), [key.secret()[0]; 32]);
    Some(key.secret()[0])
}
