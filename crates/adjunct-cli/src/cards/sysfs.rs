//! `adjunct cards sysfs`: the cards as the files that the kernel of IBM Z shows: /sys/bus/ap, /sys/devices/ap and /sys/class/zcrypt, for
//! programs that read those (IBM's own tools with `SYSFS_ROOT`, libica, plug-ins of container schedulers).
//!
//! A new tree appears whole, by the name of its folder. In one that is brought up to date, every file changes whole, and a card or node appears
//! whole; the folder itself stays the same, so that it may be mounted elsewhere meanwhile. A file in it says whose it is: what another program made
//! is never changed.

mod tree;

use super::{coprocessor, failed};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Mode;
use adjunct_card_state::state;
use adjunct_tool::{Failure, interrupt, output};
use adjunct_ztools::cards::tool::unreadable;
use adjunct_ztools::cards::zcryptctl;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tree::Tree;

/// The file that marks a folder as adjunct's to change.
const MARK: &str = ".adjunct-cards-sysfs";
/// How often the files are brought up to date.
const PERIOD: Duration = Duration::from_secs(1);
/// Interval in which it is asked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(50);

/// Write the cards as the files that programs for IBM Z read
#[derive(Debug, clap::Args)]
#[command(after_help = "\
DIR then has bus/ap, devices/ap and class/zcrypt, as /sys has them on IBM Z. Reading the files shows the cards; writing to them changes \
nothing but the file. class/zcrypt has the nodes where adjunctd tells who asks of them, as it does root.

DIR must not exist, or be what this command made for the same user. While no daemon runs, the tree of --watch is empty.

Examples:
  adjunct cards sysfs /run/ap
  SYSFS_ROOT=/run/ap lszcrypt -V                          IBM's own lszcrypt
  sudo adjunct cards sysfs /run/ap --watch                brought up to date each second, until interrupted
  podman run -v /run/ap/bus/ap:/sys/bus/ap:ro ...         what a container sees of the cards

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.")]
pub(super) struct Args {
    /// The folder
    dir: PathBuf,
    /// Bring it up to date each second, until interrupted
    #[arg(long)]
    watch: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`]: no daemon, or a folder that is not ours or cannot be written.
pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    interrupt::catch_interrupts();
    let dir = args.dir.components().collect::<PathBuf>();
    let mut tree = match read() {
        Ok(tree) => tree,
        Err(state::Error::NotRunning) if args.watch => Tree::default(),
        Err(error) => return Err(Failure::new(unreadable(&error))),
    };
    write(&dir, &tree)?;
    if !args.watch {
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&format!(
        "{} is brought up to date each second, until interrupted\n",
        adjunct_tool::escape::shown(&dir)
    ))?;
    while wait() {
        let now = match read() {
            Ok(now) => now,
            Err(state::Error::NotRunning) => Tree::default(),
            Err(error) => return Err(Failure::new(unreadable(&error))),
        };
        if now != tree {
            check(&dir)?;
            update(&dir, &now).map_err(|error| failed(&dir, &error))?;
            tree = now;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read() -> Result<Tree, state::Error> {
    let folder = Folder::found();
    let machine = state::read(&folder.state())?;
    let mut tree = Tree::of(&machine, &zcryptctl::visible());
    for card in machine.cards.iter().filter(|card| card.mode == Mode::Ep11) {
        for queue in &card.queues {
            // Only root and the daemon's user are told.
            tree.wrapping_keys(card, queue, coprocessor::keys(&folder, card, queue.domain).as_ref());
        }
    }
    Ok(tree)
}

/// Waits; false where the user wants an end.
fn wait() -> bool {
    for _ in 0..PERIOD.as_millis() / LOOK.as_millis() {
        if interrupt::interrupted().is_err() {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    interrupt::interrupted().is_ok()
}

/// Whether a folder is one that we made: its owner and its mark are ours.
fn check(dir: &Path) -> Result<(), Failure> {
    let own = |path: &Path| {
        let meta = fs::symlink_metadata(path)?;
        io::Result::Ok(meta.uid() == rustix::process::geteuid().as_raw()).map(|own| (own, meta))
    };
    let (own_dir, meta) = own(dir).map_err(|error| failed(dir, &error))?;
    let marked = matches!(own(&dir.join(MARK)), Ok((true, mark)) if mark.is_file());
    if meta.is_dir() && own_dir && marked {
        return Ok(());
    }
    let shown = adjunct_tool::escape::shown(dir);
    Err(Failure::new(format!("{shown} exists and was not made by this command: name a folder that does not exist")))
}

/// Makes the tree, or brings it up to date.
fn write(dir: &Path, tree: &Tree) -> Result<(), Failure> {
    match fs::symlink_metadata(dir) {
        Ok(_) => {
            check(dir)?;
            update(dir, tree).map_err(|error| failed(dir, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(dir, tree).map_err(|error| failed(dir, &error)),
        Err(error) => Err(failed(dir, &error)),
    }
}

/// Makes the tree aside, and gives it its name when it is whole.
fn create(dir: &Path, tree: &Tree) -> io::Result<()> {
    let parent = match dir.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let aside = tempfile::Builder::new().prefix(".adjunct-cards-").tempdir_in(parent)?;
    fs::write(aside.path().join(MARK), "Made by adjunct cards sysfs, which may change and remove what is here.\n")?;
    tree.entries().try_for_each(|(path, entry)| entry.write(&aside.path().join(path)))?;
    fs::set_permissions(aside.path(), fs::Permissions::from_mode(0o755))?;
    match rustix::fs::renameat_with(CWD, aside.path(), CWD, dir, RenameFlags::NOREPLACE) {
        // Where the file system has no such renaming: an empty folder that appeared meanwhile is then replaced.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(aside.path(), dir)?,
        renamed => renamed?,
    }
    let _ = aside.keep();
    Ok(())
}

/// Brings an existing tree up to date.
fn update(dir: &Path, tree: &Tree) -> io::Result<()> {
    // What is aside is in the folder itself, so that it can be renamed, and by a name that no reader looks for.
    let aside = tempfile::Builder::new().prefix(".adjunct-").tempdir_in(dir)?;
    tree.update(dir, aside.path())
}
