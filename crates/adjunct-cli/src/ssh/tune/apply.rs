//! Puts adjunct's files in place and takes them away: tried before, checked after, all or none.

use super::algorithms::AlgorithmKind;
use super::config::Program;
use super::order::Lists;
use super::plan::{FOLDER_MADE, Ground, Plan, current};
use super::system::effective;
use crate::ssh::lab::Programs;
use crate::ssh::measure::{Rig, Side};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::files;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::{last_line, run};
use adjunct_tool::scratch;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tries the planned files on copies: `sshd -t` and `ssh -G`, then real logins over loopback, the new client to the new
/// server and each to the other's defaults. Gives what was tried, a line each.
///
/// # Errors
/// [`Failure`] where one fails.
pub fn try_out(ground: &Ground<'_>, rig: &mut Rig, side: &Side, plans: &[Plan]) -> Result<Vec<String>, Failure> {
    let mut tried = Vec::new();
    let mut lists = Vec::new();
    for program in [Program::Ssh, Program::Sshd] {
        let text = match plans.iter().find(|p| p.program == program) {
            Some(plan) => plan.text.clone(),
            None => current(ground, program)?,
        };
        let (tree, effective) = ground.with(program, text.as_deref())?;
        if program == Program::Sshd {
            let mut command = Command::new(&ground.programs.sshd);
            command.args(["-t", "-h"]).arg(ground.host_key).arg("-f").arg(tree.main());
            let outcome = run(&mut command).map_err(Failure::new)?;
            if !outcome.success {
                let said = tree.in_real_names(&outcome.stderr);
                return Err(Failure::new(format!("sshd -t refuses the new files: {}", last_line(&said))));
            }
        }
        lists.push(effective.lists);
    }
    tried.push("ssh -G and sshd -t accept the new files".to_owned());
    let lines: Vec<Vec<String>> = lists.iter().map(config_lines).collect();
    for (what, client, server) in [
        ("ssh and sshd with the new files", &lines[0][..], &lines[1][..]),
        ("ssh as OpenSSH comes to sshd with the new files", &[], &lines[1]),
        ("ssh with the new files to sshd as OpenSSH comes", &lines[0], &[]),
    ] {
        let login = rig.login_with(side, client, server);
        interrupted()?;
        login.map_err(|e| Failure::new(format!("no login: {what}: {e}")))?;
        tried.push(format!("a login works: {what}"));
    }
    Ok(tried)
}

fn config_lines(lists: &Lists) -> Vec<String> {
    let given = |kind: &AlgorithmKind| !lists.get(*kind).is_empty();
    AlgorithmKind::ALL
        .into_iter()
        .filter(given)
        .map(|kind| format!("{} {}", kind.keyword(), lists.get(kind).join(",")))
        .collect()
}

/// Writes the files, all or none, and reads them back as the programs do.
///
/// # Errors
/// [`Failure`]; everything is then as it was.
pub fn apply(ground: &Ground<'_>, plans: &[Plan]) -> Result<(), Failure> {
    let before = real_sshd(ground);
    let mut done: Vec<&Plan> = Vec::new();
    let result = plans.iter().filter(|p| p.changes()).try_for_each(|plan| {
        interrupted()?;
        if current(ground, plan.program)? != plan.old {
            let file = plan.file.display();
            return Err(Failure::new(format!("{file}: another program changed it meanwhile")));
        }
        put(&ground.real(&plan.file), plan.text.as_deref(), None)?;
        done.push(plan);
        Ok(())
    });
    let result = result.and_then(|()| done.iter().try_for_each(|plan| in_force(ground, plan)));
    let result = result.and_then(|()| match (before, real_sshd(ground)) {
        (Some(Ok(())), Some(Err(why))) => Err(Failure::new(format!("sshd -t refuses the new files: {why}"))),
        _ => interrupted(),
    });
    let Err(why) = result else { return Ok(()) };
    for plan in done {
        put(&ground.real(&plan.file), plan.old.as_deref(), plan.text.as_deref())?;
    }
    Err(Failure::new(format!("{why}; nothing was changed")))
}

/// Whether a file that was just written is in force.
fn in_force(ground: &Ground<'_>, plan: &Plan) -> Result<(), Failure> {
    let text = current(ground, plan.program)?;
    let tree = super::config::read(plan.program, ground.root, ground.stage, text.as_deref())?;
    let effective = effective(plan.program, ground.programs, &tree, ground.service, ground.host_key)?;
    if effective.lists == plan.then {
        return Ok(());
    }
    Err(Failure::new(format!("{}: is not in force as it was planned", plan.file.display())))
}

/// What `sshd -t` says of the real files; `None` where they are not this system's, or not ours to test.
fn real_sshd(ground: &Ground<'_>) -> Option<Result<(), String>> {
    if ground.root != Path::new("/") || !nix::unistd::geteuid().is_root() {
        return None;
    }
    let outcome = run(Command::new(&ground.programs.sshd).arg("-t")).ok()?;
    Some(if outcome.success { Ok(()) } else { Err(last_line(&outcome.stderr).to_owned()) })
}

/// Takes adjunct's files away; those that were there.
///
/// # Errors
/// [`Failure`] where one cannot be removed; what was removed before it is back then.
pub fn undo(ground: &Ground<'_>, programs: &[Program]) -> Result<Vec<PathBuf>, Failure> {
    let mut there = Vec::new();
    for &program in programs {
        if let Some(text) = current(ground, program)? {
            there.push((program.drop_in(), text));
        }
    }
    for (index, (file, text)) in there.iter().enumerate() {
        let removed = interrupted().and_then(|()| put(&ground.real(file), None, Some(text)));
        if let Err(why) = removed {
            for (file, text) in &there[..index] {
                put(&ground.real(file), Some(text), None)?;
            }
            return Err(why);
        }
    }
    Ok(there.into_iter().map(|(file, _)| file).collect())
}

/// Replaces a file in one step, or removes it. `was` is what adjunct wrote there: it says whether the folder goes, too.
fn put(path: &Path, text: Option<&str>, was: Option<&str>) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let failed = |e: &std::io::Error| failed(path, e);
    match text {
        Some(text) => {
            if text.lines().any(|l| l == FOLDER_MADE) && !folder.is_dir() {
                fs::create_dir(folder).map_err(|e| failed(&e))?;
                fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(|e| failed(&e))?;
            }
            let new = scratch::whole(folder, text.as_bytes(), 0o644).map_err(|e| failed(&e))?;
            new.persist(path).map_err(|e| failed(&e.error))?;
        }
        None => match fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed(&e)),
            _ if was.is_some_and(|w| w.lines().any(|l| l == FOLDER_MADE)) => {
                // Only where nobody else put anything there.
                let _ = fs::remove_dir(folder);
            }
            _ => {}
        },
    }
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let denied = error.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root();
    let hint = if denied { "; run it as root, or put the lines into your ~/.ssh/config" } else { "" };
    Failure::new(format!("{}: {}{hint}", path.display(), cause(error)))
}

/// Whether the files could be written: asked before minutes are spent on measuring.
///
/// # Errors
/// [`Failure`] with the reason.
pub fn writable(ground: &Ground<'_>, programs: &[Program]) -> Result<(), Failure> {
    for program in programs {
        current(ground, *program)?;
        let folder = ground.real(Path::new(program.folder()));
        let parent = folder.parent().unwrap_or(Path::new("/"));
        let there = if folder.is_dir() { &folder } else { parent };
        scratch::beside(there, 0o600).map_err(|e| failed(there, &e))?;
    }
    Ok(())
}

/// How a running sshd is told of the new files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reload(Vec<String>);

impl Reload {
    /// Finds how this system's sshd is told; `None` where no sshd runs.
    pub fn find() -> Option<Reload> {
        for unit in ["ssh", "sshd"] {
            let mut command = Command::new("systemctl");
            let service = format!("{unit}.service");
            if run(command.args(["is-active", "--quiet", &service])).is_ok_and(|o| o.success) {
                return Some(Reload(["systemctl", "reload", unit].map(str::to_owned).to_vec()));
            }
        }
        let pid = ["/run/sshd.pid", "/var/run/sshd.pid"].iter().find_map(|f| files::text(Path::new(f)).ok())?;
        let pid: u32 = pid.trim().parse().ok()?;
        let name = files::text(Path::new(&format!("/proc/{pid}/comm"))).ok()?;
        (name.trim() == "sshd").then(|| Reload(vec!["kill".to_owned(), "-HUP".to_owned(), pid.to_string()]))
    }

    /// The command.
    pub fn command(&self) -> String {
        self.0.join(" ")
    }

    /// Tells sshd.
    ///
    /// # Errors
    /// [`Failure`] with its own words.
    pub fn run(&self) -> Result<(), Failure> {
        let outcome = run(Command::new(&self.0[0]).args(&self.0[1..])).map_err(Failure::new)?;
        if outcome.success { Ok(()) } else { Err(Failure::new(format!("{}: {}", self.command(), outcome.why()))) }
    }
}

/// The programs, where undoing needs none: a system without OpenSSH can still be cleaned.
pub fn no_programs() -> Programs {
    let nothing = PathBuf::from("/nonexistent");
    Programs { ssh: nothing.clone(), sshd: nothing.clone(), keygen: nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_made_goes_again_and_another_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new.d/10-adjunct.conf");
        let text = format!("# x\n{FOLDER_MADE}\n");
        put(&file, Some(&text), None).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o644);
        put(&file, None, Some(&text)).unwrap();
        assert!(!file.parent().unwrap().exists());
        fs::create_dir(file.parent().unwrap()).unwrap();
        put(&file, Some("a"), None).unwrap();
        put(&file, Some("b"), Some("a")).unwrap();
        put(&file, None, Some("b")).unwrap();
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 0);
        assert!(put(&dir.path().join("none.d/x"), Some("a"), None).is_err(), "no folder, and none asked for");
    }
}
