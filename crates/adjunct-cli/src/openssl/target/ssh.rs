//! This user's ssh alone: a configuration in the user's own folder, and small scripts before ssh, scp and sftp in `PATH`
//! that name it. Nothing else reaches ssh alone: its own configuration cannot set its environment, and a variable set at
//! login reaches every program. scp and sftp call ssh by its full path, git and rsync by its name.

use super::steps::Steps;
use super::{Target, TargetState};
use crate::diff;
use crate::openssl::change::{self, Done};
use crate::openssl::check::{self, Check, Depth, Verdict};
use crate::openssl::file::{ConfigFile, failed};
use crate::openssl::report::ChangeReport;
use crate::openssl::{DisableArgs, EnableArgs};
use adjunct_survey::{FromDisk, trust};
use adjunct_tool::Failure;
use adjunct_tool::escape::word;
use adjunct_tool::files;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::run;
use adjunct_tool::progress::Progress;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that get a script.
const PROGRAMS: [&str; 3] = ["ssh", "scp", "sftp"];
/// The second line of a script: whose it is.
const MARK: &str = "# Made by 'adjunct openssl enable --for ssh'; 'adjunct openssl disable --for ssh' removes it.";
/// Begins a line of the configuration that names the folder of the scripts.
const SCRIPTS: &str = "# The scripts that name it are in: ";
/// Begins a line of the configuration for each folder that was made.
const MADE: &str = "# A folder made for it: ";

/// Folders of the user who runs the command.
struct Home {
    home: PathBuf,
    config: PathBuf,
}

impl Home {
    fn find() -> Result<Home, Failure> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let user = || nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
        let home = absolute("HOME").or_else(|| user().map(|u| u.dir));
        let home = home.ok_or_else(|| Failure::new("this user has no home folder: HOME is not set"))?;
        let folder = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        Ok(Home { config: folder.join("adjunct/ssh.cnf"), home })
    }

    /// Refuses a home that is another user's: `sudo` keeps the caller's on many systems.
    fn is_own(&self) -> Result<(), Failure> {
        let about = fs::metadata(&self.home).map_err(|e| failed(&self.home, &e))?;
        if about.uid() == nix::unistd::geteuid().as_raw() {
            return Ok(());
        }
        let text = "is another user's; '--for ssh' is for the user who runs it, without sudo";
        Err(Failure::new(format!("{}: {text}", self.home.display())))
    }
}

impl Home {
    /// Whether the configuration is this user's, or root's.
    fn config_is_own(&self) -> bool {
        fs::metadata(&self.config).is_ok_and(|m| m.uid() == nix::unistd::geteuid().as_raw() || m.uid() == 0)
    }
}

/// The folders of `PATH`.
fn path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).filter(|p| p.is_absolute()).collect()
}

/// The first file of that name in `folders` that is no script of adjunct's.
fn real(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|dir| dir.join(name)).find(|p| is_program(p) && !is_ours(p))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0)
}

fn is_ours(path: &Path) -> bool {
    files::config(path).is_ok_and(|text| text.split(|&b| b == b'\n').nth(1) == Some(MARK.as_bytes()))
}

/// The folder for the scripts: `~/.local/bin` or `~/bin`, the one that `PATH` names before the real ssh's; not one of a
/// tool's that happens to be there.
fn folder(home: &Path, folders: &[PathBuf], ssh: &Path) -> PathBuf {
    let before = folders.iter().take_while(|dir| Some(dir.as_path()) != ssh.parent());
    let usual = [home.join(".local/bin"), home.join("bin")];
    let mut own = before.filter(|dir| usual.contains(dir) && dir.is_dir());
    own.next().cloned().unwrap_or_else(|| usual[0].clone())
}

fn script(program: &Path, config: &Path) -> Result<String, Failure> {
    let quoted = |path: &Path| {
        let text = path.to_str().filter(|p| !p.chars().any(char::is_control));
        let text = text.ok_or_else(|| Failure::new(format!("{}: cannot be written into a script", path.display())));
        text.map(|text| format!("'{}'", text.replace('\'', "'\\''")))
    };
    let (program, config) = (quoted(program)?, quoted(config)?);
    Ok(format!(
        "#!/bin/sh\n{MARK}\n[ -n \"${{OPENSSL_CONF+set}}\" ] || OPENSSL_CONF={config}\nexport OPENSSL_CONF\nexec {program} \
         \"$@\"\n"
    ))
}

/// `adjunct openssl enable --for ssh`.
pub(super) fn enable(args: &EnableArgs) -> Result<Done, Failure> {
    let home = Home::find()?;
    home.is_own()?;
    let system = super::system_config()?;
    let mut report = ChangeReport::new("enable", Target::Ssh, &home.config, args.consent.dry_run);
    if super::state_of(&system.path).is_some_and(|s| s.adjunct.is_some()) {
        report.notes.push(format!("it is enabled for all programs, ssh among them, in {}", system.path.display()));
        return Ok(Done { report, state: "has nothing to add for your ssh" });
    }
    let folders = path();
    let ssh = real("ssh", &folders)
        .ok_or_else(|| Failure::new("no ssh found in PATH; install it: apt-get install openssh-client"))?;
    let known = if config_is_ours(&home.config) { lines(&home.config, SCRIPTS) } else { Vec::new() };
    let scripts = known.into_iter().next().unwrap_or_else(|| folder(&home.home, &folders, &ssh));
    let missing = missing_folders(&[&scripts, home.config.parent().unwrap_or(&home.home)]);
    let wanted = change::wanted(args, &super::base("ssh", &system.path, &[])?)?;
    // What was made for it before is still there, and still to be removed in the end.
    let made = missing.into_iter().chain(lines(&home.config, MADE));
    let header: Vec<String> = std::iter::once(format!("{SCRIPTS}{}", scripts.display()))
        .chain(made.map(|dir| format!("{MADE}{}", dir.display())))
        .collect();
    let base = super::base("ssh", &system.path, &header)?;
    let config = adjunct_openssl_conf::enable(&base, &wanted.options, &FromDisk)
        .map_err(|refused| Failure::new(format!("the system's configuration with adjunct's: {refused}")))?;
    trust::runs_under(&system.path, &system.bytes, None)?;
    trust::runs_under(&home.config, &config, Some(&wanted.module))?;
    let mut files = vec![(home.config.clone(), config, 0o644)];
    for name in PROGRAMS {
        if let Some(program) = real(name, &folders) {
            files.push((scripts.join(name), script(&program, &home.config)?.into_bytes(), 0o755));
        }
    }
    files.iter().try_for_each(|(path, ..)| may_be_made(path))?;
    report.module = Some(wanted.module);
    report.notes = wanted.notes;
    report.files = files.iter().map(|(path, ..)| path.clone()).collect();
    let old = |path: &Path| files::config(path).unwrap_or_default();
    report.changed = files.iter().any(|(path, new, _)| old(path) != *new);
    report.diff = files.iter().map(|(path, new, _)| diff::unified(path, &old(path), new)).collect();
    let ask = format!("Make {} and the scripts in {}?", home.config.display(), scripts.display());
    if report.changed && change::agreed(&report, args.consent, args.common.json, &ask)? {
        report.checks = make(&files, &system.path)?;
    }
    report.notes.extend(reached(&home.home, &scripts, &ssh, args.consent.dry_run));
    Ok(Done { report, state: if args.consent.dry_run { "is not enabled" } else { "is enabled for your ssh" } })
}

/// The folders that have to be made for `wanted`.
fn missing_folders(wanted: &[&Path]) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for folder in wanted {
        let above = folder.ancestors().take_while(|dir| !dir.exists()).map(Path::to_path_buf);
        let new: Vec<PathBuf> = above.filter(|dir| !missing.contains(dir)).collect();
        missing.extend(new.into_iter().rev());
    }
    missing
}

/// The rest of each line of a file that begins with `key`.
fn lines(path: &Path, key: &str) -> Vec<PathBuf> {
    let text = files::config(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix(key)).map(PathBuf::from).collect()
}

/// Refuses a file of that name that is not ours.
fn may_be_made(path: &Path) -> Result<(), Failure> {
    let ours = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(path, &e)),
        Ok(about) => about.is_file() && (is_ours(path) || config_is_ours(path)),
    };
    let text =
        "is there already and not adjunct's; move it away, or use 'adjunct openssl enable --config FILE' with it";
    if ours { Ok(()) } else { Err(Failure::new(format!("{}: {text}", path.display()))) }
}

fn config_is_ours(path: &Path) -> bool {
    files::config(path).is_ok_and(|bytes| adjunct_openssl_conf::contains_block(&bytes))
        && !lines(path, SCRIPTS).is_empty()
}

type NewFile = (PathBuf, Vec<u8>, u32);

/// Makes the files, the configuration first; takes all back where something fails that worked before.
fn make(files: &[NewFile], system: &Path) -> Result<Vec<Check>, Failure> {
    let nothing = |why: String| Failure::new(format!("{why}; nothing was changed"));
    let wait = Progress::waiting("checking");
    let before = check::before(|| Ok(check::all(&wait, system, false, Depth::Full)))?;
    let (config, new, _) = &files[0];
    let tried = check::judged(&before, change::elsewhere(&wait, new, true, Depth::Quick)?);
    interrupted().map_err(|e| nothing(e.to_string()))?;
    if let Some(why) = check::first_failure(&tried) {
        return Err(nothing(why));
    }
    let mut steps = Steps::default();
    let made = files.iter().try_for_each(|(path, bytes, mode)| {
        steps.folder(path.parent().unwrap_or(Path::new("/")))?;
        if path.exists() { steps.replace(&ConfigFile::open(path)?, bytes) } else { steps.create(path, bytes, *mode) }
    });
    let checked = made.and_then(|()| {
        let mut after = check::judged(&before, check::all(&wait, config, true, Depth::Full));
        after.push(scripts_run(&files[1..]));
        interrupted()?;
        check::first_failure(&after).map_or(Ok(after), |why| Err(Failure::new(why)))
    });
    match checked {
        Ok(after) => {
            steps.keep();
            Ok(after)
        }
        Err(why) => Err(Failure::new(format!("{}; everything was put back", steps.back(why)))),
    }
}

/// The scripts do what the programs do.
fn scripts_run(scripts: &[NewFile]) -> Check {
    let ssh = scripts.iter().map(|(path, ..)| path).find(|p| p.file_name() == Some(OsStr::new("ssh")));
    let tried = ssh.map_or(Err("there is none".to_owned()), |ssh| {
        let mut command = Command::new(ssh);
        run(command.arg("-V").env_remove("OPENSSL_CONF"))
    });
    let verdict = match tried {
        Ok(outcome) if outcome.success => Verdict::Passed(outcome.stderr.trim().to_owned()),
        Ok(outcome) => Verdict::Failed(outcome.why()),
        Err(why) => Verdict::Failed(why),
    };
    Check { check: "the script runs ssh", verdict }
}

/// Whether the user's shells find the scripts first in `PATH`; a sentence with what to do where they do not.
fn reached(home: &Path, scripts: &Path, ssh: &Path, dry: bool) -> Option<String> {
    let own = scripts.join("ssh");
    if first_in_path().as_deref() == Some(&own) {
        return Some("shells that ran ssh before remember where: 'hash -r' makes them look again".to_owned());
    }
    if dry {
        return None;
    }
    let (folder, word, other) = (scripts.display(), word(scripts), ssh.display());
    Some(match startup_file_with(home, scripts) {
        Some(file) => {
            format!(
                "from your next login on, if {} puts {folder} into PATH as it seems to; here: PATH={word}:$PATH",
                file.display()
            )
        }
        None => {
            format!("PATH leads to {other}, not to {folder}: add PATH={word}:$PATH to ~/.profile and log in again")
        }
    })
}

/// The ssh that `PATH` leads to here.
fn first_in_path() -> Option<PathBuf> {
    path().iter().map(|dir| dir.join("ssh")).find(|p| is_program(p))
}

/// The startup file of a login shell that names the folder of the scripts. It is read, not run: what the user's shells do when
/// they start is not for this command to set off.
fn startup_file_with(home: &Path, scripts: &Path) -> Option<PathBuf> {
    const FILES: [&str; 8] = [
        ".profile",
        ".bash_profile",
        ".bash_login",
        ".zprofile",
        ".zshenv",
        ".login",
        ".config/fish/config.fish",
        ".pam_environment",
    ];
    let below_home = scripts.strip_prefix(home).ok()?.to_str()?;
    let whole = scripts.to_str()?;
    let forms =
        [whole.to_owned(), format!("$HOME/{below_home}"), format!("${{HOME}}/{below_home}"), format!("~/{below_home}")];
    FILES.iter().map(|file| home.join(file)).find(|file| {
        let text = files::text(file).unwrap_or_default();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        lines.any(|line| forms.iter().any(|form| line.contains(form.as_str())))
    })
}

/// Whether anything of the target is there.
pub(super) fn is_there() -> bool {
    Home::find().is_ok_and(|home| config_is_ours(&home.config))
}

/// The existing scripts of a configuration that adjunct wrote.
fn scripts_of(config: &Path) -> Vec<PathBuf> {
    let folders = lines(config, SCRIPTS);
    let all = folders.iter().flat_map(|dir| PROGRAMS.map(|name| dir.join(name)));
    all.filter(|path| is_ours(path)).collect()
}

/// `adjunct openssl disable --for ssh`.
pub(super) fn disable(args: &DisableArgs) -> Result<Done, Failure> {
    let home = Home::find()?;
    let mut report = ChangeReport::new("disable", Target::Ssh, &home.config, args.consent.dry_run);
    if !config_is_ours(&home.config) {
        return Ok(Done { report, state: "is not enabled for your ssh" });
    }
    home.is_own()?;
    // The scripts first: without them nothing leads to the configuration.
    report.files = scripts_of(&home.config);
    report.files.push(home.config.clone());
    report.changed = true;
    for path in &report.files {
        report.diff += &diff::unified(path, &files::config(path).map_err(|e| failed(path, &e))?, b"");
    }
    if !change::agreed(&report, args.consent, args.common.json, "Remove these files?")? {
        return Ok(Done { report, state: "is enabled for your ssh" });
    }
    let made = lines(&home.config, MADE);
    for path in &report.files {
        fs::remove_file(path).map_err(|e| failed(path, &e))?;
    }
    // Only what was made for it, the deepest first, and only what is empty.
    made.iter().rev().for_each(|dir| drop(fs::remove_dir(dir)));
    Ok(Done { report, state: "is disabled for your ssh" })
}

/// The state of ssh as a target, for `status`.
pub(super) fn state() -> TargetState {
    // OpenSSL is run under it: not under another user's, who could have any code run so.
    let home = Home::find().ok().filter(|home| home.is_own().is_ok() && home.config_is_own());
    let config = home.map(|h| h.config).unwrap_or_default();
    let enabled = config_is_ours(&config);
    let mut state = TargetState {
        target: Target::Ssh,
        enabled,
        working: false,
        files: if enabled { scripts_of(&config) } else { Vec::new() },
        programs: real("ssh", &path()).and_then(|p| fs::canonicalize(p).ok()).into_iter().collect(),
        engine: None,
        problems: Vec::new(),
        notes: Vec::new(),
        config,
    };
    if !enabled {
        return state;
    }
    let scripts = lines(&state.config, SCRIPTS);
    let own = scripts.first().map(|dir| dir.join("ssh"));
    if !state.files.iter().any(|f| Some(f) == own.as_ref()) {
        state.problems.push("the script before ssh is gone; enable it again".to_owned());
    } else if first_in_path() != own {
        let found = first_in_path().map_or("nothing".to_owned(), |p| p.display().to_string());
        let script = own.unwrap_or_default();
        state.problems.push(format!("PATH leads to {found} here, not to {}", script.display()));
    }
    super::look(&mut state);
    let made = lines(&state.config, MADE).into_iter().map(|dir| format!("{MADE}{}", dir.display()));
    let header: Vec<String> = scripts.iter().map(|dir| format!("{SCRIPTS}{}", dir.display())).chain(made).collect();
    let system = super::system_config().map(|file| file.path);
    let base = system.and_then(|system| super::base("ssh", &system, &header));
    state.notes.extend(base.ok().and_then(|base| super::outdated(&state.config, &base)));
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_take_any_path_and_what_is_set() {
        let text = script(Path::new("/usr/bin/s'sh"), Path::new("/home/a b/c.cnf")).unwrap();
        assert!(text.starts_with("#!/bin/sh\n") && text.contains("'/home/a b/c.cnf'\n"));
        assert!(text.ends_with("exec '/usr/bin/s'\\''sh' \"$@\"\n"), "{text}");
        assert!(script(Path::new("/a\nb"), Path::new("/c")).is_err());
    }

    #[test]
    fn the_folder_comes_before_the_real_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        fs::create_dir(home.join("bin")).unwrap();
        let folders = [PathBuf::from("/opt/bin"), home.join("none"), home.join("bin"), PathBuf::from("/usr/bin")];
        assert_eq!(folder(home, &folders, Path::new("/usr/bin/ssh")), home.join("bin"));
        assert_eq!(folder(home, &folders, Path::new("/opt/bin/ssh")), home.join(".local/bin"));
        let missing = missing_folders(&[&home.join(".local/bin"), &home.join(".local/x")]);
        assert_eq!(missing, [home.join(".local"), home.join(".local/bin"), home.join(".local/x")]);
    }
}
