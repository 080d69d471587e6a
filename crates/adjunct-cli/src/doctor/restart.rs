//! `adjunct doctor --restarts`: does the restarts that it lists, one by one, each after a yes. systemd's services alone are restarted, by systemctl;
//! other programs that run old code are named and left alone.

use adjunct_survey::process::Unit;
use adjunct_survey::served::Outdated;
use adjunct_tool::escape::{shown, word};
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::output::{self, Style};
use adjunct_tool::process::run_within;
use adjunct_tool::progress::Progress;
use adjunct_tool::{Failure, ask};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// How long a service may take to stop and to start; systemd's own limit is 90 seconds for each.
const LIMIT: Duration = Duration::from_secs(200);

/// Services whose restart ends sessions, or cuts off the user who asks for it. They are restarted only after a question that names them.
const SESSIONS: [&str; 12] = [
    "dbus",
    "dbus-broker",
    "systemd-logind",
    "display-manager",
    "gdm",
    "gdm3",
    "lightdm",
    "sddm",
    "NetworkManager",
    "systemd-networkd",
    "wpa_supplicant",
    "docker",
];

/// The result of a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Restarted,
    Left,
    Failed,
}

/// Restarts the services among `all`: asks for each, or, with `yes`, restarts all but those that end sessions.
///
/// # Errors
/// [`Failure`] where the user interrupts it.
pub(super) fn offer(all: &[Outdated], yes: bool) -> Result<ExitCode, Failure> {
    let mut done = Vec::new();
    for one in all {
        interrupted()?;
        let Some(unit) = &one.unit else { continue };
        if let Some(why) = refusal(unit, yes) {
            output::print(&format!("{}: left as it is: {why}\n", shown(&unit.name)))?;
            done.push(Done::Left);
            continue;
        }
        if !yes {
            match ask::line(&format!("restart {}? [y/N, q to end]", unit.name))?.as_str() {
                "q" | "quit" => break,
                answer if ask::is_yes(answer) => {}
                _ => {
                    output::print(&format!("{}: left as it is\n", shown(&unit.name)))?;
                    done.push(Done::Left);
                    continue;
                }
            }
        }
        done.push(restart(unit)?);
    }
    let count = |what: Done| done.iter().filter(|done| **done == what).count();
    let (restarted, left, failed) = (count(Done::Restarted), count(Done::Left), count(Done::Failed));
    if !done.is_empty() {
        output::print(&format!("restarted {restarted}, left {left}, failed {failed}\n"))?;
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Why the unit is not restarted from here; `None` where it is.
fn refusal(unit: &Unit, yes: bool) -> Option<String> {
    let me = nix::unistd::geteuid();
    let command = unit.restart();
    let bare = unit.name.strip_suffix(".service").unwrap_or(&unit.name);
    match unit.of_user {
        None if !me.is_root() => Some(format!("that takes root: sudo {command}")),
        Some(uid) if uid != me.as_raw() => Some(format!("it is a user's own service: {command}, as that user")),
        _ if yes && (SESSIONS.contains(&bare) || bare.starts_with("getty@") || bare.starts_with("user@")) => {
            Some(format!("its restart ends sessions or connections; when that suits: {command}"))
        }
        _ => None,
    }
}

fn restart(unit: &Unit) -> Result<Done, Failure> {
    let systemctl = |words: &[&str]| {
        let mut command = Command::new("systemctl");
        if unit.of_user.is_some() {
            command.arg("--user");
        }
        command.args(words).arg("--").arg(&unit.name).stdin(Stdio::null());
        command
    };
    let wait = Progress::waiting(&format!("restarting {}", unit.name));
    let restarted = run_within(LIMIT, &mut systemctl(&["restart"]));
    // One that was started in vain is told of as failed, whatever `restart` said.
    let active = run_within(LIMIT, &mut systemctl(&["is-active"]));
    drop(wait);
    interrupted()?;
    let state = active.map(|outcome| outcome.text().trim().to_owned()).unwrap_or_default();
    let style = Style::of_stdout();
    let name = shown(&unit.name);
    let (done, line) = match restarted {
        Ok(outcome) if outcome.success && state == "active" => {
            (Done::Restarted, format!("{name}: {}", style.good("restarted, active")))
        }
        Ok(outcome) if outcome.success => {
            let state = if state.is_empty() { "not active" } else { &state };
            (Done::Failed, format!("{name}: {}", style.bad(&format!("restarted, and is {}", shown(state)))))
        }
        Ok(outcome) => (Done::Failed, format!("{name}: {}", style.bad(&shown(&outcome.why())))),
        Err(why) => (Done::Failed, format!("{name}: {}", style.bad(&shown(&why)))),
    };
    let more =
        if done == Done::Failed { format!("; see: systemctl status {}", word(&unit.name)) } else { String::new() };
    output::print(&format!("{line}{more}\n"))?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_sessions_is_restarted_by_nobody_unseen() {
        let unit = |name: &str, of_user| Unit { name: name.to_owned(), of_user };
        let root = nix::unistd::geteuid().is_root();
        for name in ["dbus.service", "systemd-logind.service", "getty@tty1.service"] {
            assert!(refusal(&unit(name, None), true).is_some());
            assert_eq!(refusal(&unit(name, None), false).is_none(), root, "asked for by its name");
        }
        assert_eq!(refusal(&unit("nginx.service", None), true).is_none(), root);
        let other = nix::unistd::geteuid().as_raw() + 1;
        assert!(refusal(&unit("sync.service", Some(other)), false).unwrap().contains("systemctl --user restart sync"));
    }
}
