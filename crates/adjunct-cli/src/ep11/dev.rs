//! `adjunct ep11 dev`: a private coprocessor in the foreground, for who tries or tests a program.

use crate::cards::coprocessor::{HONEST, order};
use adjunct_card_protocol::crowd::Page;
use adjunct_card_state::control::Device;
use adjunct_card_state::folder::Folder;
use adjunct_card_state::state;
use adjunct_tool::escape::shown;
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::{Failure, output};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

/// How long a card may take to start.
const STARTS_IN: Duration = Duration::from_secs(30);
/// The card and its domain.
const DEVICE: Device = Device { card: 0, domain: Some(0) };
/// The credential of that card.
const CREDENTIAL: &str = "ep11-00";
/// Folders of libraries, beside that of this program.
const LIBRARIES: [&str; 3] = ["/usr/lib/adjunct", "/usr/lib", "/usr/lib64"];

/// Run a private coprocessor in the foreground, without root and configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Starts adjunctd with one EP11 coprocessor, domain 0000, with a random wrapping key, in $XDG_RUNTIME_DIR/adjunct or in a temporary folder, and says how programs reach \
it. It runs on any CPU. Ctrl-C ends it, and its keys are gone; with --keep they are in that folder, sealed by a key that lies beside them: for tests, nothing else.

Examples:
  adjunct ep11 dev
  adjunct ep11 dev --keep ~/ep11

Exit status: 0 it was ended, 1 it failed (one line says why), 2 the command line is wrong.")]
pub(super) struct Args {
    /// Keep wrapping keys, control points and the audit log in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// A private adjunctd; it ends with this value.
struct Daemon {
    child: Child,
    folder: Folder,
}

/// A private coprocessor, which ends with this value.
pub(crate) struct Coprocessor {
    daemon: Daemon,
    keys: Value,
    files: PathBuf,
    keep: Option<PathBuf>,
    _temporary: tempfile::TempDir,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let limit = Instant::now() + Duration::from_secs(10);
        while Instant::now() < limit && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Page::remove(self.folder.path());
    }
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    |error| Failure::new(format!("{}: {}", shown(path), adjunct_tool::failure::cause(&error)))
}

/// A file beside this program, or in the folders where packages put it.
pub(crate) fn beside(names: &[&str]) -> Option<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).collect::<Vec<_>>();
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    let folders = own.into_iter().chain(LIBRARIES.map(PathBuf::from)).chain([triple]).chain(programs);
    folders.flat_map(|folder| names.iter().map(move |name| folder.join(name))).find(|path| path.is_file())
}

/// The user's runtime folder, where no daemon runs there.
fn runtime() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty())?);
    let folder = folder.is_absolute().then(|| folder.join("adjunct"))?;
    let is_free = matches!(state::read(&Folder::at(&folder).state()), Err(state::Error::NotRunning));
    (is_free && DirBuilder::new().recursive(true).mode(0o700).create(&folder).is_ok()).then_some(folder)
}

/// The credential that seals a vault which is kept, made where there is none.
fn make_credential(keep: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(keep).map_err(at(keep))?;
    let path = keep.join(CREDENTIAL);
    let made = File::options().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = match made {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        made => made.map_err(at(&path))?,
    };
    let mut secret = zeroize::Zeroizing::new([0; 32]);
    let source = Path::new("/dev/urandom");
    File::open(source).and_then(|mut random| random.read_exact(&mut secret[..])).map_err(at(source))?;
    file.write_all(&secret[..]).and_then(|()| file.sync_all()).map_err(at(&path))
}

/// Runs the subcommand.
pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    catch_interrupts();
    let mut coprocessor = Coprocessor::start(args.keep.as_deref())?;
    output::print(&format!("{}Library: {}\n", coprocessor.told(), library()))?;
    loop {
        if interrupted().is_err() {
            return Ok(ExitCode::SUCCESS);
        }
        coprocessor.runs()?;
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn library() -> String {
    let library = beside(&["libep11.so.4", "libep11.so"]);
    library.map_or_else(|| "libep11.so.4 (not found: the package adjunct brings it)".to_owned(), |path| shown(&path))
}

impl Coprocessor {
    /// Starts one, which keeps its keys in that folder or forgets them, and waits until it serves.
    ///
    /// # Errors
    /// Why it does not.
    pub(crate) fn start(keep: Option<&Path>) -> Result<Coprocessor, Failure> {
        let program =
            beside(&["adjunctd"]).ok_or_else(|| Failure::new("adjunctd is not beside this program, nor in PATH"))?;
        let temporary =
            tempfile::Builder::new().prefix("adjunct-ep11-").tempdir().map_err(at(&std::env::temp_dir()))?;
        let folder = Folder::at(runtime().unwrap_or_else(|| temporary.path().to_owned()));
        let seal = match keep {
            Some(keep) => {
                make_credential(keep)?;
                "credential"
            }
            None => "none",
        };
        let config = temporary.path().join("cards.conf");
        let text = format!("[[card]]\nid = 0\nmode = \"ep11\"\nseal = \"{seal}\"\nmode-bits = \"0600\"\n");
        std::fs::write(&config, text).map_err(at(&config))?;
        let mut command = Command::new(&program);
        command.arg("--folder").arg(folder.path()).arg("--config").arg(&config);
        // Whatever ends this process ends the daemon.
        command.arg("--parent").arg(std::process::id().to_string());
        let files = keep.map_or_else(|| temporary.path().join("files"), Path::to_owned);
        command.arg("--files").arg(&files);
        if let Some(keep) = keep {
            command.env("CREDENTIALS_DIRECTORY", std::path::absolute(keep).map_err(at(keep))?);
        }
        let child = command.spawn().map_err(at(&program))?;
        let mut daemon = Daemon { child, folder };
        let keys = started(&mut daemon)?;
        Ok(Coprocessor { daemon, keys, files, keep: keep.map(Path::to_owned), _temporary: temporary })
    }

    /// Whether it runs.
    ///
    /// # Errors
    /// That it has ended.
    pub(crate) fn runs(&mut self) -> Result<(), Failure> {
        match self.daemon.child.try_wait() {
            Ok(Some(status)) => Err(Failure::new(format!("adjunctd has ended: {status}"))),
            _ => Ok(()),
        }
    }

    /// The folder of its sockets.
    pub(crate) fn folder(&self) -> &Path {
        self.daemon.folder.path()
    }

    /// What who tries it must know.
    pub(crate) fn told(&self) -> String {
        let kept = match &self.keep {
            Some(keep) => format!("Its keys stay in {}, whose own files open them.", shown(keep)),
            None => "Its keys are gone when it ends.".to_owned(),
        };
        let pattern = self.keys["current"].as_str().map_or_else(|| "none".to_owned(), shown);
        format!(
            "EP11 coprocessor 00, domain 0000, wrapping key {pattern}. Ctrl-C ends it. {kept}\n{HONEST}\n\n\
             export ADJUNCT_CARDS_DIR={}\nAudit log: {}\n",
            adjunct_tool::escape::word(self.folder()),
            shown(&self.files.join("ep11-00.audit")),
        )
    }
}

/// Waits for the card, and gives its domain a wrapping key where it has none.
fn started(daemon: &mut Daemon) -> Result<Value, Failure> {
    let limit = Instant::now() + STARTS_IN;
    loop {
        interrupted()?;
        if let Ok(Some(status)) = daemon.child.try_wait() {
            return Err(Failure::new(format!("adjunctd does not start: {status}")));
        }
        let machine = state::read(&daemon.folder.state()).ok();
        let card = machine.as_ref().and_then(|machine| machine.cards.first());
        if let Some(why) = card.map(|card| &card.remark).filter(|remark| !remark.is_empty()) {
            return Err(Failure::new(shown(why)));
        }
        if card.is_some_and(|card| card.confined.is_some()) {
            break;
        }
        if Instant::now() > limit {
            return Err(Failure::new(format!("the card is not ready after {} s", STARTS_IN.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let keys = order(&daemon.folder, DEVICE, json!({ "order": "wk-show" }))?;
    if keys["current"].is_null() { order(&daemon.folder, DEVICE, json!({ "order": "wk-begin" })) } else { Ok(keys) }
}
