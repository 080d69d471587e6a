//! The report for people.

use super::judge::{Gets, listed, some};
use super::program::Program;
use super::survey::Survey;
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The width of the first column, as in the rest of `status`.
const FIRST: usize = 16;
/// Names are wrapped at this width.
const WIDTH: usize = 110;

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Programs in groups that get the same.
    Groups,
    /// Every program by itself.
    Programs,
    /// A single program.
    One,
}

/// The report as text; `enabled` says whether adjunct is enabled at all.
pub fn text(survey: &Survey, detail: Detail, enabled: bool, style: Style) -> String {
    let mut text = String::new();
    match detail {
        Detail::One => {
            survey.list.iter().for_each(|program| one(&mut text, program, enabled, style));
            return text;
        }
        Detail::Groups => {
            kind(&mut text, survey, false, enabled, style);
            kind(&mut text, survey, true, enabled, style);
        }
        Detail::Programs => {
            survey.list.iter().for_each(|program| one(&mut text, program, enabled, style));
            text.push('\n');
        }
    }
    running(&mut text, survey, style);
    unseen(&mut text, survey);
    text
}

fn line(text: &mut String, name: &str, value: &str) {
    let name = if name.is_empty() { String::new() } else { format!("{name}:") };
    let _ = writeln!(text, "{name:<FIRST$}{value}");
}

/// Programs, or plugins, in groups that get the same.
fn kind(text: &mut String, survey: &Survey, plugin: bool, enabled: bool, style: Style) {
    let mut groups: BTreeMap<(Gets, String), Vec<&Program>> = BTreeMap::new();
    for program in survey.list.iter().filter(|p| p.plugin == plugin) {
        let gets = if enabled { program.gets } else { program.could_get };
        let refused = enabled && matches!(gets, Gets::Neither | Gets::Unknown);
        let why = if refused { program.provider.why.clone() } else { String::new() };
        groups.entry((gets, why)).or_default().push(program);
    }
    let count: usize = groups.values().map(Vec::len).sum();
    if count == 0 && plugin {
        return;
    }
    let heading = match (count, enabled) {
        (0, _) => "none uses OpenSSL".to_owned(),
        (_, true) => format!("{count} use OpenSSL and get"),
        (_, false) => format!("{count} use OpenSSL and get nothing of adjunct; once it is enabled, they get"),
    };
    line(text, if plugin { "plugins" } else { "programs" }, &style.strong(&heading));
    for ((gets, why), programs) in groups {
        let head = paint(gets, &format!("{} {}", programs.len(), gets.words()), style);
        let why = if why.is_empty() { String::new() } else { format!(" ({})", shown(&why)) };
        line(text, "", &format!("{head}{why}:"));
        wrap(text, &bundled(&programs));
    }
}

/// The names of programs; many from one place, or through one library, are counted.
fn bundled(programs: &[&Program]) -> Vec<String> {
    const MANY: usize = 3;
    let place = |program: &Program| match (&program.through, program.path.parent()) {
        (Some(library), _) => Some(format!("through {}", shown(library))),
        (None, Some(folder)) if program.plugin || !plain(folder) => Some(format!("in {}", shown(folder))),
        _ => None,
    };
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for place in programs.iter().filter_map(|p| place(p)) {
        *places.entry(place).or_default() += 1;
    }
    places.retain(|_, count| *count >= MANY);
    let alone = programs.iter().filter(|p| place(p).is_none_or(|place| !places.contains_key(&place)));
    let alone: Vec<String> = alone.map(|p| name(p)).collect();
    alone.into_iter().chain(places.iter().map(|(place, count)| format!("{count} {place}"))).collect()
}

/// Whether a shell finds programs there by their names.
fn plain(folder: &Path) -> bool {
    super::find::PROGRAMS.iter().any(|program| Path::new(program) == folder)
}

fn paint(gets: Gets, words: &str, style: Style) -> String {
    match gets {
        Gets::Both | Gets::Provider | Gets::Engine => style.good(words),
        Gets::Neither | Gets::Unknown => style.notice(words),
    }
}

/// The name alone for what a shell finds by it, else the path.
fn name(program: &Program) -> String {
    match (program.path.parent(), program.path.file_name()) {
        (Some(folder), Some(name)) if plain(folder) => shown(name),
        _ => shown(&program.path),
    }
}

fn wrap(text: &mut String, names: &[String]) {
    let indent = FIRST + 4;
    let mut column = 0;
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 < names.len() { "," } else { "" };
        let length = name.chars().count() + 2;
        if column > 0 && column + length > WIDTH {
            text.push('\n');
            column = 0;
        }
        if column == 0 {
            let _ = write!(text, "{:indent$}{name}{comma}", "");
            column = indent + length;
        } else {
            let _ = write!(text, " {name}{comma}");
            column += length;
        }
    }
    text.push('\n');
}

fn one(text: &mut String, program: &Program, enabled: bool, style: Style) {
    let _ = writeln!(text, "\n{}", style.strong(&shown(&program.path)));
    let mut put = |name: &str, value: &str| line(text, &format!("  {name}"), value);
    let once = format!("; once adjunct is enabled: {}", program.could_get.words());
    let once = if enabled { "" } else { &once };
    put("gets", &format!("{}{once}", paint(program.gets, program.gets.words(), style)));
    if !program.names.is_empty() {
        let names: Vec<_> = program.names.iter().map(shown).collect();
        put("also called", &some(&names));
    }
    let version = shown(program.version.as_deref().unwrap_or("a version it does not tell"));
    let place = match &program.libcrypto {
        Some(path) => shown(path),
        None => "part of the program".to_owned(),
    };
    let through = program.through.as_ref().map(|library| format!(", through {}", shown(library))).unwrap_or_default();
    put("OpenSSL", &format!("{version}, {place}{through}"));
    if let Some(config) = &program.config {
        put("reads", &shown(config));
    }
    let verdict = |gets: bool, why: &str| format!("{}: {}", if gets { "yes" } else { "no" }, shown(why));
    put("provider", &verdict(program.provider.gets, &program.provider.why));
    put("engine", &verdict(program.engine.gets, &program.engine.why));
    if !program.engine_calls.is_empty() && !program.engine.gets {
        put("low-level", &shown(&listed(&program.engine_calls)));
    }
    if !program.bypasses.is_empty() {
        put("bypasses", &shown(&listed(&program.bypasses)));
    }
    for note in &program.notes {
        put("note", &shown(note));
    }
    for process in &program.processes {
        let loaded = if process.loaded { "adjunct is loaded" } else { "adjunct is not loaded" };
        let restart = process.restart.map(|why| format!("; start it again: {why}")).unwrap_or_default();
        put("process", &format!("{} (uid {}): {loaded}{restart}", process.pid, process.uid));
    }
}

fn running(text: &mut String, survey: &Survey, style: Style) {
    let of_programs = survey.list.iter().flat_map(|program| program.processes.iter().map(move |p| (program, p)));
    let others = survey.other_processes.len();
    let loaded = of_programs.clone().filter(|(_, p)| p.loaded).count();
    let loaded = loaded + survey.other_processes.iter().filter(|p| p.loaded).count();
    let all = of_programs.clone().count() + others;
    line(text, "processes", &format!("{all} with OpenSSL loaded, {loaded} of them with adjunct"));
    let mut restart: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (program, process) in of_programs {
        if let Some(why) = process.restart {
            restart.entry(why).or_default().push(format!("{} ({})", name(program), process.pid));
        }
    }
    for (why, names) in restart {
        line(text, "", &format!("{} ({why}):", style.notice(&format!("{} to start again", names.len()))));
        wrap(text, &names);
    }
    let elsewhere = survey.other_processes.iter().filter(|p| p.elsewhere).count();
    if elsewhere > 0 {
        line(text, "", &format!("{elsewhere} in containers, which have a configuration of their own"));
    }
}

fn unseen(text: &mut String, survey: &Survey) {
    let mut put = |count: usize, one: &str, more: &str| {
        if count > 0 {
            line(text, "not seen", &format!("{count} {}", if count == 1 { one } else { more }));
        }
    };
    if nix::unistd::geteuid().is_root() {
        let (one, more) = ("process that root may not look at either", "processes that root may not look at either");
        put(survey.hidden_processes, &format!("{one}, from here"), &format!("{more}, from here"));
    } else {
        put(survey.hidden_processes, "process of another user's; ask as root", "processes of other users; ask as root");
    }
    put(
        survey.unreadable.len(),
        "file that may be a program and cannot be read",
        "files that may be programs and cannot be read",
    );
    put(survey.unread_folders.len(), "folder that cannot be read", "folders that cannot be read");
    put(survey.broken.len(), "broken ELF file", "broken ELF files");
    let what =
        "programs outside PATH and the system's folders that do not run, and what loads OpenSSL by its own search";
    line(text, "not seen", what);
}
