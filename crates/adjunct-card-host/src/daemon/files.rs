//! Files that cards keep when their processes end, and the sockets of domains: what the daemon opens for cards, and who may use it.
#![forbid(unsafe_code)]

use super::listen::listen;
use crate::peer::Peer;
use crate::watch::take_descriptors;
use adjunct_card_state::config::{Access, CardConfig, Config};
use adjunct_card_state::folder::{Folder, socket_name};
use adjunct_card_state::machine::Mode;
use nix::unistd::{Group, User};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Gid, Mode as Permissions, OFlags, Uid};
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder of files of the machine's daemon, which systemd makes (`StateDirectory=`).
const SYSTEM: &str = "/var/lib/adjunct/cards";

/// The folder of the files that cards of a daemon keep.
pub fn folder(named: Option<PathBuf>, folder: &Folder) -> PathBuf {
    let own = || match folder.path() == Path::new(adjunct_card_state::folder::SYSTEM) {
        true => PathBuf::from(SYSTEM),
        false => folder.path().join("files"),
    };
    named.unwrap_or_else(own)
}

/// Opens the files of a card (`MODE-CC.NAME`), which are made where they are not there; only the daemon's user may read them.
///
/// # Errors
/// What the system says, with the file.
pub fn opened(folder: &Path, mode: Mode, card: u8, names: &[&str]) -> io::Result<Vec<OwnedFd>> {
    if !names.is_empty() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
    }
    let open = |name: &&str| {
        let path = folder.join(format!("{}-{card:02x}.{name}", mode.word()));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(CWD, &path, flags, Permissions::from_raw_mode(0o600));
        let is_file = |file: &OwnedFd| {
            let stat = rustix::fs::fstat(file)?;
            let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile;
            if is_file { Ok(()) } else { Err(Errno::INVAL) }
        };
        opened.and_then(|file| is_file(&file).map(|()| file)).map_err(|error| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })
    };
    names.iter().map(open).collect()
}

/// The socket of a domain of a card.
#[derive(Debug)]
pub struct DomainSocket {
    /// The card's number.
    pub card: u8,
    /// The domain's.
    pub domain: u8,
    /// Where it is; `None` where it is systemd's, and stays.
    pub path: Option<PathBuf>,
    /// The socket.
    pub socket: OwnedFd,
}

/// Makes the sockets of a card's domains, or takes those that systemd gives; `bulk` says whether messages to them may bring descriptors.
///
/// # Errors
/// A sentence: a user or group that there is not, what the system says.
pub fn domain_sockets(
    folder: &Folder,
    card: &CardConfig,
    given: &mut Vec<(String, OwnedFd)>,
    bulk: bool,
) -> io::Result<Vec<DomainSocket>> {
    let id = card.id;
    let owner =
        owner(&card.access).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, format!("card {id}: {why}")))?;
    let make = |&domain: &u8| {
        let name = socket_name(card.mode, id, domain);
        if let Some(at) = given.iter().position(|(given, _)| *given == name) {
            let socket = given.remove(at).1;
            take_descriptors(&socket, bulk);
            return Ok(DomainSocket { card: id, domain, path: None, socket });
        }
        let path = folder.domain_socket(card.mode, id, domain);
        // Nobody connects before it is its owner's.
        let made = listen(&path, 0o600).and_then(|socket| {
            let (uid, gid) = owner;
            rustix::fs::chownat(CWD, &path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
            let mode = Permissions::from_raw_mode(card.access.mode);
            rustix::fs::chmodat(CWD, &path, mode, AtFlags::empty())?;
            take_descriptors(&socket, bulk);
            Ok(socket)
        });
        let why = |error: Errno| match error {
            Errno::PERM => "only root may give it to another owner, or to a group that adjunctd is not in".to_owned(),
            _ => io::Error::from(error).to_string(),
        };
        let failed = |error: Errno| {
            let _ = std::fs::remove_file(&path);
            io::Error::new(io::Error::from(error).kind(), format!("{}: {}", path.display(), why(error)))
        };
        let socket = made.map_err(failed)?;
        Ok(DomainSocket { card: id, domain, path: Some(path.clone()), socket })
    };
    card.domains.iter().map(make).collect()
}

fn number(name: &str) -> Option<u32> {
    name.parse::<u32>().ok().filter(|&number| number != u32::MAX)
}

/// The number of a group.
fn group(name: &String) -> Result<u32, String> {
    let found = || Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw());
    number(name).or_else(found).ok_or_else(|| format!("there is no group {name}"))
}

/// Puts numbers in the place of the names of groups that load master keys: a card's process looks nothing up.
///
/// # Errors
/// A sentence: a group that there is not.
pub fn number_groups(config: &mut Config) -> Result<(), String> {
    for card in &mut config.cards {
        for name in card.coprocessor.iter_mut().flat_map(|settings| settings.groups.iter_mut().flatten()) {
            *name = group(name).map_err(|why| format!("card {}: {why}", card.id))?.to_string();
        }
    }
    Ok(())
}

/// The owner and group of a domain's socket, as numbers.
fn owner(access: &Access) -> Result<(Option<Uid>, Option<Gid>), String> {
    let user = |name: &String| {
        let found = || User::from_name(name).ok().flatten().map(|user| user.uid.as_raw());
        number(name).or_else(found).ok_or_else(|| format!("there is no user {name}"))
    };
    let uid = access.owner.as_ref().map(user).transpose()?.map(Uid::from_raw);
    let gid = access.group.as_ref().map(group).transpose()?.map(Gid::from_raw);
    Ok((uid, gid))
}

/// Whether a user may change cards: root, and the user of the daemon.
pub fn may_change(peer: &Peer) -> bool {
    peer.uid == 0 || peer.uid == rustix::process::geteuid().as_raw()
}
