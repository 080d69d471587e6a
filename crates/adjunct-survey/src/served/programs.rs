//! Programs: whether one is served when it is started now.

use super::plugins::{self, Part};
use super::script::{self, Script};
use super::{Standing, State, Verdict};
use crate::loader::NotSeen;
use crate::maps::{self, Other};
use crate::{Cause, Gets, Given, Inspector, Made, Program};
use adjunct_tool::escape::{shown, word};
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// No script's interpreter is a script's interpreter's interpreter's ...
const DEPTH: u32 = 4;

/// A program, the verdict on it and the notes to show.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The file, without symbolic links.
    pub path: PathBuf,
    /// Whether the program is served when it is started now.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Notes, one line each.
    pub notes: Vec<String>,
    /// The facts about its use of OpenSSL, where it uses OpenSSL itself.
    pub openssl: Option<Box<Program>>,
}

/// Looks at programs, each once.
pub struct Programs<'a> {
    inspector: Inspector<'a>,
    standing: &'a Standing,
    known: HashMap<PathBuf, Judged>,
}

impl<'a> Programs<'a> {
    /// Judged by what is enabled.
    pub fn new(standing: &'a Standing) -> Programs<'a> {
        Programs { inspector: Inspector::new(&standing.reach), standing, known: HashMap::new() }
    }

    /// Judges a program.
    pub fn judge(&mut self, path: &Path) -> Judged {
        self.deeper(path, 0)
    }

    /// The provider and engine that the configuration at `config` gives.
    pub fn given(&mut self, config: &Path) -> Given {
        self.inspector.given(config)
    }

    /// Whether a library that a process has loaded has an OpenSSL of its own inside.
    pub fn has_openssl_inside(&mut self, library: &Path) -> bool {
        self.plugin(library).cause == Some(Cause::Wheel)
    }

    fn deeper(&mut self, path: &Path, depth: u32) -> Judged {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let real = script::wrapped(path, &real).unwrap_or(real);
        if let Some(known) = self.known.get(&real) {
            return known.clone();
        }
        let judged = self.fresh(&real, depth);
        self.known.insert(real, judged.clone());
        judged
    }

    fn fresh(&mut self, path: &Path, depth: u32) -> Judged {
        let plain = |verdict| Judged { path: path.to_owned(), verdict, notes: Vec::new(), openssl: None };
        let made = match self.inspector.look(path, false) {
            Ok(made) => made,
            Err(NotSeen::NotElf) => return self.script(path, depth),
            Err(NotSeen::Broken) => return plain(Verdict::unknown(Cause::NoCrypto, "it is a broken ELF file")),
            Err(NotSeen::Unreadable(why)) => {
                return plain(Verdict::unknown(Cause::Permission, format!("its file: {why}")));
            }
        };
        let parts = plugins::of(path);
        if let Some(program) = &made.program {
            let mut judged = plain(self.openssl(program));
            judged.notes.clone_from(&program.notes);
            judged.openssl = Some(Box::new(program.clone()));
            return judged;
        }
        if !parts.is_empty() {
            return self.parts(path, &parts, depth);
        }
        plain(library(path, &made))
    }

    fn script(&mut self, path: &Path, depth: u32) -> Judged {
        let plain = |verdict| Judged { path: path.to_owned(), verdict, notes: Vec::new(), openssl: None };
        match script::of(path, &script::search_path()) {
            _ if depth > DEPTH => plain(Verdict::unknown(Cause::Script, "scripts run each other")),
            Some(Script::Of(program) | Script::Shim(program)) => {
                let mut judged = self.deeper(&program, depth + 1);
                judged.notes.insert(0, format!("{} is run by {}", path.display(), judged.path.display()));
                judged
            }
            Some(Script::Shell(shell)) => {
                let why = format!("it is a script of {}, and may start anything", shown(&shell));
                plain(Verdict::unknown(Cause::Script, why))
            }
            None => plain(Verdict::unknown(Cause::NoCrypto, "it is no program")),
        }
    }

    /// A program that uses OpenSSL, itself or by a library.
    fn openssl(&self, program: &Program) -> Verdict {
        let version = program.version.as_deref().unwrap_or("OpenSSL");
        let config = program.config.as_deref().map(shown).unwrap_or_else(|| "no openssl.cnf".to_owned());
        let by = |what: &str| {
            let through = program.through.as_ref().map(|t| format!(" through {}", shown(t))).unwrap_or_default();
            // Node is the one program of which that is known.
            let inside = if program.libcrypto.is_none() { " inside it" } else { "" };
            let section = if program.libcrypto.is_none() { "the section nodejs_conf of " } else { "" };
            Verdict::served(format!("the {what} in {}{inside}{through}, which reads {section}{config}", shown(version)))
        };
        match program.gets {
            Gets::Both => by("provider and the engine"),
            Gets::Provider => by("provider"),
            Gets::Engine => by("engine"),
            Gets::Neither => self.not(program),
            Gets::Unknown => Verdict::unknown(program.cause.unwrap_or(Cause::Static), shown(&program.provider.why)),
        }
    }

    fn not(&self, program: &Program) -> Verdict {
        let why = shown(&program.provider.why);
        match program.cause {
            Some(Cause::NotEnabled) if self.standing.enabled && !self.standing.working => {
                let why = self.standing.problems.first().cloned().unwrap_or(why);
                Verdict::not_in(
                    self.standing,
                    Cause::NotInForce,
                    format!("adjunct is enabled, not in force: {}", shown(&why)),
                )
            }
            Some(Cause::OtherConfig) => {
                let not = Verdict::not(Cause::OtherConfig, format!("its OpenSSL reads another file: {why}"));
                let Some(config) = program.config.as_deref().map(crate::trust::enabling) else { return not };
                let instead = word(&self.standing.reach.config);
                not.advising(format!("enable it there: {config}; or start it with OPENSSL_CONF={instead}"))
            }
            // Once it is enabled, whoever would not be served then has another reason.
            Some(Cause::NotEnabled) if program.could_get == Gets::Neither => Verdict::not(
                Cause::LowLevel,
                "it calls low-level functions alone, which neither provider nor engine serves",
            ),
            Some(Cause::NotEnabled) => Verdict::not_in(self.standing, Cause::NotEnabled, why),
            Some(cause) => Verdict::not(cause, why),
            None => Verdict::not(Cause::LowLevel, why),
        }
    }

    /// A program that has its plugins, or other programs, encrypt.
    fn parts(&mut self, path: &Path, parts: &[Part], depth: u32) -> Judged {
        let mut all: Vec<(&Part, Verdict)> = Vec::new();
        for part in parts {
            let verdict = match &part.off {
                Some((why, advice)) => Verdict::not(Cause::PluginOff, why.clone()).advising(advice.clone()),
                None if part.program => self.deeper(&part.path, depth + 1).verdict,
                None => self.plugin(&part.path),
            };
            let verdict = match verdict.advice.as_deref().and_then(|advice| advice.strip_suffix("NAME NAME")) {
                Some(advice) => verdict.clone().advising(format!("{advice}{0} {0}", word(&part.name))),
                None => verdict,
            };
            if !all.iter().any(|(other, known)| other.name == part.name && *known == verdict) {
                all.push((part, verdict));
            }
        }
        // A package's modules that do not encrypt say nothing of it.
        let computes: Vec<String> =
            all.iter().filter(|(_, v)| v.cause != Some(Cause::NoCrypto)).map(|(p, _)| p.name.clone()).collect();
        all.retain(|(part, verdict)| verdict.cause != Some(Cause::NoCrypto) || !computes.contains(&part.name));
        let (first, others) = all.split_at(1);
        let (part, verdict) = &first[0];
        let purpose = part.purpose.filter(|purpose| *purpose != part.name);
        let name = purpose.map_or_else(|| part.name.clone(), |purpose| format!("{} ({purpose})", part.name));
        let main = match verdict.state {
            State::Served | State::ServedThroughPlugin => Verdict::through(format!("{name}: {}", verdict.because)),
            _ => Verdict { because: format!("{name}: {}", verdict.because), ..verdict.clone() },
        };
        let note = |(part, verdict): &(&Part, Verdict)| {
            let purpose =
                part.purpose.filter(|purpose| *purpose != part.name).map(|p| format!(" ({p})")).unwrap_or_default();
            format!("{}{purpose}, {}: {}", part.name, shown(&part.path), verdict.sentence())
        };
        Judged { path: path.to_owned(), verdict: main, notes: others.iter().map(note).collect(), openssl: None }
    }

    fn plugin(&mut self, path: &Path) -> Verdict {
        match self.inspector.look(path, true) {
            Ok(Made { program: Some(program), .. }) => self.openssl(&program),
            Ok(made) => library(path, &made),
            Err(NotSeen::Unreadable(why)) => Verdict::unknown(Cause::Permission, why),
            Err(_) => Verdict::unknown(Cause::NoCrypto, "it is no library"),
        }
    }
}

/// A program without OpenSSL.
fn library(path: &Path, made: &Made) -> Verdict {
    let named = |wanted: Other| made.libraries.iter().find(|name| maps::other(name) == Some(wanted)).map(shown);
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    // No text tells the tools for IBM Z from others.
    if made.inside.adjunct || (made.inside.boringssl && file == "adjunctd") || file == "adjunct-ztools" {
        return Verdict::served("adjunct's own code, which it is made of");
    }
    if made.go {
        return if made.inside.go_tls {
            Verdict::not(Cause::Go, "Go's own crypto/tls encrypts for it")
        } else {
            Verdict::not(Cause::Go, "it is a Go program, and what it encrypts Go's own code does")
        };
    }
    if matches!(&*file, "java" | "javaw" | "jshell" | "keytool" | "jarsigner") || named(Other::Java).is_some() {
        return Verdict::not(Cause::Java, "Java's own code (JSSE, JCE) encrypts for it, and takes PKCS #11 alone");
    }
    if let Some(library) = named(Other::Gnutls) {
        return Verdict::not(Cause::GnuTls, format!("GnuTLS encrypts for it ({library})"));
    }
    if let Some(library) = named(Other::Nss) {
        return Verdict::not(Cause::Nss, format!("NSS encrypts for it ({library})"));
    }
    if made.inside.rustls {
        return Verdict::not(Cause::Rustls, "rustls, which is linked into it, encrypts for it");
    }
    if made.inside.boringssl {
        return Verdict::not(Cause::BoringSsl, "BoringSSL or AWS-LC, which is linked into it, encrypts for it");
    }
    if let Some(library) = named(Other::Library) {
        return Verdict::not(Cause::OtherLibrary, format!("another library encrypts for it ({library})"));
    }
    let why = "it uses no OpenSSL that can be seen: neither among its libraries nor inside it";
    Verdict::not(Cause::NoCrypto, why)
}
