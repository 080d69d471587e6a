//! `cards.conf` with a coprocessor that it had not.

use super::failed;
use adjunct_card_state::config::Config;
use adjunct_card_state::machine::Mode;
use adjunct_tool::{Failure, scratch};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The text of the configuration with an EP11 coprocessor; `None` where it has one. All that stands there stays as it is; without a file, the accelerator that there would be stands in the
/// new one, where the CPU has lanes for it.
///
/// # Errors
/// One line: no number is free, or the file cannot be read.
pub(super) fn with_coprocessor(path: &Path, config: &Config, has_lanes: bool) -> Result<Option<String>, Failure> {
    if config.cards.iter().any(|card| card.mode == Mode::Ep11) {
        return Ok(None);
    }
    let (before, taken) = match std::fs::read_to_string(path) {
        Ok(text) => (text, config.cards.iter().map(|card| card.id).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound && has_lanes => ("[[card]]\nid = 0\n".to_owned(), vec![0]),
        Err(error) if error.kind() == ErrorKind::NotFound => (String::new(), Vec::new()),
        Err(error) => return Err(failed(path, &error)),
    };
    let id = (0..=u8::MAX).find(|id| !taken.contains(id)).ok_or_else(|| Failure::new("all 256 cards are taken"))?;
    Ok(Some(added(&before, id)))
}

fn added(before: &str, id: u8) -> String {
    let line = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let gap = if before.is_empty() { "" } else { "\n" };
    format!("{before}{line}{gap}[[card]]\nid = {id}\nmode = \"ep11\"\nseal = \"none\"\n")
}

/// Writes the file whole, in place of the one that is there, whose owner and mode it keeps; where a link leads to it, the link stays.
///
/// # Errors
/// What the system says.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || {
        let real = match path.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            real => real?,
        };
        let folder = real.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder)?;
        let before = match std::fs::metadata(&real) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            before => Some(before?),
        };
        let mode = before.as_ref().map_or(0o644, |file| file.mode() & 0o7777);
        let new = scratch::whole(folder, text.as_bytes(), mode)?;
        if let Some(before) = before {
            std::os::unix::fs::fchown(new.as_file(), Some(before.uid()), Some(before.gid()))?;
        }
        new.persist(&real).map_err(|error| error.error)?;
        std::fs::File::open(folder)?.sync_all()
    };
    written().map_err(|error| failed(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_card_state::config::SERVED;

    #[test]
    fn a_coprocessor_is_added_once_and_all_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etc/cards.conf");
        let read = || Config::read(&path, false, &SERVED).unwrap();
        let modes = |text: &str| {
            let config = Config::parse(text, &SERVED).unwrap();
            config.cards.iter().map(|card| (card.id, card.mode)).collect::<Vec<_>>()
        };
        let both = with_coprocessor(&path, &read(), true).unwrap().unwrap();
        assert_eq!(modes(&both), [(0, Mode::Accelerator), (1, Mode::Ep11)]);
        let alone = with_coprocessor(&path, &read(), false).unwrap().unwrap();
        assert_eq!(modes(&alone), [(0, Mode::Ep11)]);
        write(&path, "# mine\nwaiting = 7\n[[card]]\nid = 0\n[[card]]\nid = 2").unwrap();
        let more = with_coprocessor(&path, &read(), true).unwrap().unwrap();
        assert!(more.starts_with("# mine\nwaiting = 7\n[[card]]\nid = 0\n[[card]]\nid = 2\n"), "{more}");
        assert_eq!(modes(&more), [(0, Mode::Accelerator), (1, Mode::Ep11), (2, Mode::Accelerator)]);
        write(&path, &more).unwrap();
        assert_eq!(with_coprocessor(&path, &read(), true).unwrap(), None);
    }
}
