//! What would be written: adjunct's file for one program, and why a list is in it or not.

use super::algorithms::AlgorithmKind;
use super::config::{Program, Setting, Tree, read};
use super::order::{Lists, ordered};
use super::peers::effect::{self, Effect, Kept};
use super::peers::{self, Peer};
use super::policy::Policy;
use super::survey::Survey;
use super::system::{Effective, Service, effective, key_types};
use crate::ssh::lab::Programs;
use adjunct_tool::Failure;
use adjunct_tool::files;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The first line of every file of adjunct's.
pub const MARK: &str = "# Written by `adjunct ssh tune --apply`; `adjunct ssh tune --undo` takes it away.";

/// The beginning of the line that names the policy.
const POLICY: &str = "# Policy ";

/// The line in a file for which `--apply` also made the folder.
pub const FOLDER_MADE: &str = "# Its folder was made with it.";

/// The beginning of the last line, which tells whether the file was changed since.
const SEAL: &str = "# sha256 ";

/// Adds the line by which a file that was changed by hand is recognized.
pub fn sealed(text: &str) -> String {
    format!("{text}{SEAL}{}\n", digest(text))
}

/// Whether a file is as adjunct wrote it.
pub fn untouched(text: &str) -> bool {
    text.rsplit_once(SEAL).is_some_and(|(above, seal)| seal == format!("{}\n", digest(above)))
}

fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Facts that a plan is made of.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// OpenSSH's programs.
    pub programs: &'a Programs,
    /// The folder that /etc is below.
    pub root: &'a Path,
    /// A folder for copies.
    pub stage: &'a Path,
    /// The options and environment that sshd's service adds.
    pub service: &'a Service,
    /// A key that sshd may take.
    pub host_key: &'a Path,
}

impl Ground<'_> {
    /// A file's real place.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads the configuration of `program` with adjunct's file as given, and asks the program what it means.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be read, or the program refuses it.
    pub fn with(&self, program: Program, drop_in: Option<&str>) -> Result<(Tree, Effective), Failure> {
        let tree = read(program, self.root, self.stage, drop_in)?;
        let effective = effective(program, self.programs, &tree, self.service, self.host_key)?;
        Ok((tree, effective))
    }
}

/// The plan for one program.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The program.
    pub program: Program,
    /// Adjunct's file.
    pub file: PathBuf,
    /// Text of the existing file, if there is one.
    #[serde(skip)]
    pub old: Option<String>,
    /// The planned contents; `None` where no file is needed.
    pub text: Option<String>,
    /// Why nothing can be done.
    pub blocked: Option<String>,
    /// Notes, a line each.
    pub notes: Vec<String>,
    /// The effect of the plan on the known clients and servers.
    pub peers: Effect,
    /// The lists that are in force now.
    #[serde(skip)]
    pub now: Lists,
    /// The lists that are in force afterwards.
    #[serde(skip)]
    pub then: Lists,
}

impl Plan {
    /// Whether the file has to be written or removed.
    pub fn changes(&self) -> bool {
        self.blocked.is_none() && self.old != self.text
    }
}

/// Adjunct's file as it is on disk; `None` where there is none.
///
/// # Errors
/// [`Failure`] where it cannot be read, or is another's.
pub fn current(ground: &Ground<'_>, program: Program) -> Result<Option<String>, Failure> {
    let path = program.drop_in();
    match files::text(&ground.real(&path)) {
        Ok(text) if text.starts_with(MARK) && untouched(&text) => Ok(Some(text)),
        Ok(text) if text.starts_with(MARK) => Err(Failure::new(format!(
            "{}: was changed since adjunct wrote it; it is left alone: remove it, or move it away, by hand",
            path.display()
        ))),
        Ok(_) => Err(Failure::new(format!("{}: was not written by adjunct; it is left alone", path.display()))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::new(format!("{}: {}", path.display(), adjunct_tool::failure::cause(&e)))),
    }
}

/// The policy, and whether the user asked for it.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Whether the user asked for the policy. Where not, lists are put in order where that clearly brings something, and nothing is left out.
    pub asked: bool,
    /// The clients and servers that are known.
    pub peers: &'a [Peer],
}

impl Wish<'_> {
    /// The policy for a program that has adjunct's file already: the one that this file was written by, where no other is asked for.
    ///
    /// # Errors
    /// [`Failure`] where that was a file and is no longer there.
    fn policy(&self, old: Option<&str>) -> Result<Policy, Failure> {
        let named = old.and_then(|text| text.lines().find_map(|l| l.strip_prefix(POLICY)?.split_once(';')));
        match named.filter(|_| !self.asked) {
            Some((name, _)) => Policy::named(name),
            None => Ok(self.policy.clone()),
        }
    }
}

/// Plans adjunct's file for one program, with the lists that `wanted` names; other lists stay as they are.
///
/// # Errors
/// [`Failure`] where the configuration cannot be read, or the policy leaves nothing of a list.
pub fn plan(
    ground: &Ground<'_>,
    program: Program,
    wish: &Wish<'_>,
    survey: &Survey,
    wanted: &dyn Fn(AlgorithmKind) -> bool,
) -> Result<Plan, Failure> {
    let old = current(ground, program)?;
    let (_, now) = ground.with(program, old.as_deref())?;
    let (tree, base) = ground.with(program, None)?;
    let mut plan = Plan {
        program,
        file: program.drop_in(),
        text: old.clone(),
        blocked: if AlgorithmKind::ALL.into_iter().any(wanted) { blocked(program, &tree) } else { None },
        notes: notes(program, &tree, ground),
        peers: Effect::default(),
        then: now.lists.clone(),
        now: now.lists,
        old,
    };
    let policy = wish.policy(plan.old.as_deref())?;
    let host_keys = key_types(ground.root, &base.host_keys);
    let known = effect::Ground { program, peers: wish.peers, host_keys: host_keys.as_deref() };
    let (lists, kept) = known.kept(&policy, &base.lists, ordered(&policy, &base.lists, survey));
    for kind in [AlgorithmKind::Ciphers, AlgorithmKind::Macs, AlgorithmKind::Kex] {
        if lists.get(kind).is_empty() && !base.lists.get(kind).is_empty() {
            return Err(nothing_left(&policy, kind, &tree, program, &base.lists));
        }
    }
    if plan.blocked.is_some() {
        plan.peers = known.effect(&base.lists, &plan.then);
        return Ok(plan);
    }
    let mut lines = Vec::new();
    for kind in AlgorithmKind::ALL {
        if !wanted(kind) {
            lines.extend(plan.old.iter().flat_map(|old| old.lines()).filter(|l| of_kind(l, kind)).map(str::to_owned));
            continue;
        }
        let Some(value) = value(ground, program, kind, &lists, &base, &tree) else { continue };
        match value.and_then(|value| keeps_out(program, kind, &tree, ground.service).map_or(Ok(value), Err)) {
            Ok(value) => {
                lines.push(format!("{} {value}", kind.keyword()));
                let later = tree.settings.iter().find(|s| s.kind == kind && s.only.is_none());
                plan.notes.extend(later.map(|s| {
                    format!("{}: goes before {}, and lists nothing that is not allowed there", kind.keyword(), s.at)
                }));
            }
            Err(why) => plan.notes.push(format!("{}: {why}", kind.keyword())),
        }
    }
    let new = (!lines.is_empty()).then(|| text(ground, program, &policy, survey, &lines));
    // A file whose lists stay as they are is not written anew for other remarks.
    if settings(new.as_deref()) != settings(plan.old.as_deref()) {
        plan.text = new;
    }
    let (_, then) = ground.with(program, plan.text.as_deref())?;
    plan.then = then.lists;
    let in_force = |kept: &Kept| {
        AlgorithmKind::ALL.iter().any(|k| k.keyword() == kept.list && plan.then.get(*k).contains(&kept.algorithm))
    };
    plan.peers = Effect {
        kept: kept.into_iter().filter(|kept| wanted_by_name(wanted, kept.list) && in_force(kept)).collect(),
        ..known.effect(&base.lists, &plan.then)
    };
    plan.notes.extend(peers::notes(program, &policy, &plan.peers, &own_lists(&tree, ground, program)));
    Ok(plan)
}

/// Whether a line sets a list of this kind.
fn of_kind(line: &str, kind: AlgorithmKind) -> bool {
    line.strip_prefix(kind.keyword()).is_some_and(|rest| rest.starts_with(' '))
}

/// The settings in a file of adjunct's.
fn settings(text: Option<&str>) -> Vec<&str> {
    text.into_iter().flat_map(str::lines).filter(|line| !line.starts_with('#')).collect()
}

fn wanted_by_name(wanted: &dyn Fn(AlgorithmKind) -> bool, keyword: &str) -> bool {
    AlgorithmKind::ALL.into_iter().any(|kind| kind.keyword() == keyword && wanted(kind))
}

/// Places where the lists in force were set, if they are not OpenSSH's own.
fn own_lists(tree: &Tree, ground: &Ground<'_>, program: Program) -> Vec<String> {
    let mut places: Vec<String> = tree.settings.iter().filter(|s| s.only.is_none()).map(|s| s.at.to_string()).collect();
    if program == Program::Sshd {
        let set = AlgorithmKind::ALL.into_iter().filter_map(|kind| ground.service.sets(kind));
        places.extend(set.map(|file| file.display().to_string()));
    }
    places.sort();
    places.dedup();
    places
}

/// The value of a list's line, why there should be none, or nothing where nothing has to change.
fn value(
    ground: &Ground<'_>,
    program: Program,
    kind: AlgorithmKind,
    lists: &Lists,
    base: &Effective,
    tree: &Tree,
) -> Option<Result<String, String>> {
    let (new, old) = (lists.get(kind), base.lists.get(kind));
    if new == old {
        return None;
    }
    if kind != AlgorithmKind::HostKeys {
        return Some(Ok(new.join(",")));
    }
    let gone: Vec<&str> = old.iter().filter(|n| !new.contains(n)).map(String::as_str).collect();
    if gone.is_empty() {
        return None;
    }
    if program == Program::Ssh {
        // A list of its own would end ssh's preference for the type of key that known_hosts has, and a host known by
        // another type would look like a stranger; taking away keeps it.
        return Some(match tree.settings.iter().find(|s| s.kind == kind) {
            Some(set) => Err(format!("{} sets it, and it stays", set.at)),
            None => Ok(format!("-{}", gone.join(","))),
        });
    }
    let served = key_types(ground.root, &base.host_keys)
        .is_some_and(|keys| keys.iter().any(|key| new.iter().any(|algorithm| effect::signs(algorithm, key))));
    Some(match served {
        true => Ok(new.join(",")),
        false => Err("is left as it is: no host key is known to be of a type the policy allows".to_owned()),
    })
}

/// Why a list cannot go into adjunct's file: something that is read before it wins, or it would win over something meant
/// for some hosts only.
fn keeps_out(program: Program, kind: AlgorithmKind, tree: &Tree, service: &Service) -> Option<String> {
    if let Some(file) = service.sets(kind).filter(|_| program == Program::Sshd) {
        return Some(format!("{} sets it on sshd's command line, which wins over every file", file.display()));
    }
    let order = tree.reached.as_ref().map_or(usize::MAX, |r| r.order);
    let of_kind = || tree.settings.iter().filter(|s| s.kind == kind);
    if let Some(first) = of_kind().find(|s| s.only.is_none() && s.order < order) {
        return Some(format!("{} is read before adjunct's file and stays in force", first.at));
    }
    let special = |s: &&Setting| s.only.is_some() && s.order >= order;
    let special = of_kind().find(special).filter(|_| program == Program::Ssh)?;
    let only = special.only.as_deref().unwrap_or_default();
    Some(format!("{} sets it below '{only}', and a file read before would win over that; move it up", special.at))
}

/// Why the program would not read adjunct's file.
fn blocked(program: Program, tree: &Tree) -> Option<String> {
    let (main, folder) = (program.main_file(), program.folder());
    match &tree.reached {
        None => Some(format!("{main} does not read {folder}: add the line 'Include {folder}/*.conf' at its top")),
        Some(reached) => reached.only.as_ref().map(|only| {
            format!("{main} reads {folder} only below '{only}': move the line 'Include {folder}/*.conf' to its top")
        }),
    }
}

fn notes(program: Program, tree: &Tree, ground: &Ground<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(file) = &tree.crypto_policy {
        let name = ["etc/crypto-policies/state/current", "etc/crypto-policies/config"].iter().find_map(|file| {
            let text = files::text(&ground.root.join(file)).ok()?;
            text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned)
        });
        let name = name.map_or_else(String::new, |n| format!(" {n}"));
        notes.push(format!("crypto-policies{name} ({}): only what it allows is listed", file.display()));
    }
    if program == Program::Ssh {
        notes.push("what a user's own ~/.ssh/config says still wins".to_owned());
    }
    notes
}

fn nothing_left(policy: &Policy, kind: AlgorithmKind, tree: &Tree, program: Program, base: &Lists) -> Failure {
    let by = tree.settings.iter().find(|s| s.kind == kind && s.only.is_none());
    let by = by.map_or_else(|| "OpenSSH's default".to_owned(), |s| s.at.to_string());
    Failure::new(format!(
        "policy {} leaves no {} for {}: {by} allows {}; nothing was changed",
        policy.name(),
        kind.noun(),
        program.name(),
        base.get(kind).join(",")
    ))
}

fn text(ground: &Ground<'_>, program: Program, policy: &Policy, survey: &Survey, lines: &[String]) -> String {
    let order = if program == Program::Ssh {
        "The first that the server has too is taken."
    } else {
        "The client's order decides."
    };
    let folder = ground.real(Path::new(program.folder())).is_dir();
    let made = if folder { String::new() } else { format!("{FOLDER_MADE}\n") };
    sealed(&format!(
        "{MARK}\n{made}{POLICY}{}; within it, what costs fewer processor seconds here comes first. {order}\n\
         # Measured on {}, {}, {}.\n# After an upgrade of OpenSSH tune again: a list knows nothing of newer algorithms.\n{}\n",
        one_line(&policy.name()),
        one_line(&survey.cpu),
        one_line(&survey.openssh),
        one_line(&survey.openssl),
        lines.join("\n")
    ))
}

/// Text from elsewhere, on one line.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_by_hand_is_seen() {
        let text = sealed("# x\nCiphers a\n");
        assert!(untouched(&text));
        for changed in
            [text.replace("Ciphers a", "Ciphers b"), format!("{text}# more\n"), "# x\n".to_owned(), String::new()]
        {
            assert!(!untouched(&changed), "{changed}");
        }
    }

    #[test]
    fn a_file_goes_on_by_the_policy_that_it_was_written_by() {
        let compat = Policy::named("compat").unwrap();
        let wish = |asked| Wish { policy: &compat, asked, peers: &[] };
        let old = Some("# x\n# Policy fips; within it, what costs\nCiphers a\n");
        assert_eq!(wish(false).policy(old).unwrap().name(), "fips");
        assert_eq!(wish(true).policy(old).unwrap().name(), "compat");
        assert_eq!(wish(false).policy(None).unwrap().name(), "compat");
        assert!(wish(false).policy(Some("# Policy /nonexistent/p.toml; within it\n")).is_err());
        assert_eq!(settings(old), ["Ciphers a"]);
    }

    #[test]
    fn what_is_read_from_elsewhere_stays_on_its_line() {
        assert_eq!(one_line("a\nCiphers b"), "a Ciphers b");
    }
}
