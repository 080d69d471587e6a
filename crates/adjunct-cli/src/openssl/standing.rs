//! What is enabled for OpenSSL on this machine, whether it is in force, and which programs read it: the facts that `status` reports and by which
//! `adjunct doctor` judges programs.

use super::file::ConfigFile;
use super::target::{self, TargetState};
use super::{engine, explain, groups};
use crate::ssh::lab;
use adjunct::config::{Group, Groups};
use adjunct_openssl_conf::{Model, State};
use adjunct_survey::FromDisk;
use adjunct_survey::served::Standing;
use adjunct_survey::{Given, Own, Reach, programs, trust};
use adjunct_tool::Failure;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A configuration of OpenSSL, and what it makes of adjunct.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Configuration {
    pub(super) config: PathBuf,
    /// Whether the configuration names adjunct.
    pub(super) enabled: bool,
    /// Whether `adjunct openssl enable` wrote it.
    pub(super) by_enable: bool,
    /// Whether adjunct is in force: the module loads, is preferred, and the default provider stands by.
    pub(super) working: bool,
    pub(super) module: Option<String>,
    pub(super) version: Option<String>,
    pub(super) loads: bool,
    /// The groups that the module's engine serves, where the configuration has it register one.
    pub(super) engine: Option<String>,
    pub(super) algorithms: Vec<&'static str>,
    /// The groups of algorithms that are not offered.
    pub(super) algorithms_off: Vec<&'static str>,
    /// Instruction sets that this machine lacks or that are masked.
    pub(super) instructions_off: Vec<&'static str>,
    pub(super) default_properties: Option<String>,
    pub(super) random_properties: Option<String>,
    /// The TLS groups of programs that set none themselves, where the configuration has a list.
    pub(super) tls_groups: Option<String>,
    /// Whether adjunct steps back in programs that bring a provider of their own.
    pub(super) yields: bool,
    /// Whether Node, which reads a section of its own, gets it.
    pub(super) node: bool,
    pub(super) openssl: String,
    pub(super) openssh: Option<String>,
    /// Reasons why the configuration is not in force, one line each.
    pub(super) problems: Vec<String>,
    /// Notes, one line each.
    pub(super) notes: Vec<String>,
    /// Programs with a configuration of their own.
    #[serde(rename = "for")]
    pub(super) targets: Vec<TargetState>,
}

impl Configuration {
    /// Looks at the configuration in `path`; where it is the system's and none was `named`, also at the configurations that programs have of their
    /// own.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be read.
    pub(super) fn look(path: &Path, openssl: String, named: bool) -> Result<Configuration, Failure> {
        let file = ConfigFile::open(path)?;
        let mut problems = Vec::new();
        let state = match Model::read(&file.bytes, &FromDisk) {
            Ok(model) => adjunct_openssl_conf::state(&model),
            Err(refused) => {
                problems.push(refused.to_string());
                State::default()
            }
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let module = state.adjunct.as_ref().and_then(|a| a.module.as_deref()).map(text);
        let by_enable = adjunct_openssl_conf::contains_block(&file.bytes);
        let runs = trust::runs_under(&file.path, &file.bytes, accepted(by_enable, module.as_deref()));
        let listed = runs.as_ref().map_err(ToString::to_string).and_then(|()| programs::providers(&file.path));
        let listed = listed.unwrap_or_else(|line| {
            problems.push(line);
            Vec::new()
        });
        let loaded = listed.iter().find(|p| p.name == "adjunct" && p.active);
        let enabled = state.adjunct.is_some();
        if enabled {
            problems.extend(why_not(&state, module.as_deref()));
            if loaded.is_none() && runs.is_ok() {
                problems.push(explain::not_loaded(&file.path));
            }
        }
        let value = state.adjunct.as_ref().and_then(|a| a.algorithms.as_deref()).map(text);
        let (groups, errors) = value.as_deref().map_or((Groups::default(), Vec::new()), Groups::parse);
        problems.extend(errors.iter().map(ToString::to_string));
        let words = |on: bool| {
            Group::ALL
                .iter()
                .filter(move |(group, _)| enabled && groups.has(*group) == on)
                .map(|(_, word)| *word)
                .collect()
        };
        let facts = adjunct_ztools::info::Facts::of_this_machine();
        Ok(Configuration {
            config: file.path.clone(),
            enabled,
            by_enable,
            working: state.works() && loaded.is_some(),
            module,
            version: loaded.map(|p| p.version.clone()),
            loads: loaded.is_some(),
            engine: engine::of(&state),
            algorithms: words(true),
            algorithms_off: words(false),
            instructions_off: facts.masked.iter().chain(&facts.missing).copied().collect(),
            default_properties: state.default_properties.as_deref().map(text),
            random_properties: state.random_properties.as_deref().map(text),
            tls_groups: groups::of(&state),
            yields: state.adjunct.as_ref().is_some_and(|adjunct| adjunct.yields),
            node: state.node && loaded.is_some(),
            openssl,
            openssh: lab::Programs::find(None, None).ok().and_then(|p| p.versions().ok()).map(|(ssh, _)| ssh),
            problems,
            notes: runs
                .ok()
                .and_then(|()| engine::missing(&state, &file.path))
                .into_iter()
                .chain(super::elsewhere(&file.path))
                .collect(),
            targets: if named { Vec::new() } else { target::states() },
        })
    }

    /// Whether adjunct is on for any program.
    pub(super) fn enabled_for_any(&self) -> bool {
        self.enabled || self.targets.iter().any(|target| target.enabled)
    }

    /// Works out which programs read the configuration, and what it gives them.
    fn reach(&self, named: bool) -> Reach {
        let modified = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
        let modules: Vec<PathBuf> = self.module.iter().map(PathBuf::from).collect();
        let systems = programs::openssl_dir().ok().and_then(|dir| std::fs::canonicalize(dir.join("openssl.cnf")).ok());
        Reach {
            config: self.config.clone(),
            given: Given { node: self.node, ..Given::provider(self.working, self.engine.as_deref()) },
            by_environment: named && systems.as_ref() != Some(&self.config),
            own: self.targets.iter().filter(|t| t.enabled).flat_map(own).collect(),
            since: modules.iter().chain([&self.config]).filter_map(|path| modified(path)).max(),
            modules,
        }
    }
}

/// What is enabled in the system's configuration, or in the one that is named.
///
/// # Errors
/// [`Failure`] where there is no `openssl` to ask, or no such file.
pub(crate) fn standing(config: Option<&Path>) -> Result<Standing, Failure> {
    let openssl = programs::openssl_version()?;
    let path =
        config.map_or_else(|| programs::openssl_dir().map(|dir| dir.join("openssl.cnf")), |c| Ok(c.to_owned()))?;
    Ok(of(&Configuration::look(&path, openssl, config.is_some())?, config.is_some()))
}

/// Makes the standing of a configuration, which may be one that was `named`.
pub(super) fn of(found: &Configuration, named: bool) -> Standing {
    let problems = found.problems.clone();
    let (enabled, working, yields) = (found.enabled, found.working, found.yields);
    Standing { enabled, working, problems, yields, reach: found.reach(named) }
}

/// The programs of a target, and what their configuration gives.
fn own(target: &TargetState) -> impl Iterator<Item = Own> {
    let given = Given::provider(target.working, target.engine.as_deref());
    target.programs.iter().map(move |program| Own { program: program.clone(), config: target.config.clone(), given })
}

/// The module that root has said to trust, or had no need to: `enable` has written it into a file that root alone changes.
pub(super) fn accepted(by_enable: bool, module: Option<&str>) -> Option<&Path> {
    module.filter(|_| by_enable).map(Path::new)
}

/// Reasons why an enabled adjunct is not in force.
fn why_not(state: &State, module: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    match module {
        None => lines.push("the configuration names no module".to_owned()),
        Some(path) if !Path::new(path).is_file() => lines.push(format!("{path}: no such module")),
        Some(_) => {}
    }
    if !state.default_active {
        lines.push("OpenSSL's default provider is not activated".to_owned());
    }
    if !state.works() && state.default_active && module.is_some() {
        lines.push("adjunct is not preferred, or the random generator is not kept away from it".to_owned());
    }
    lines
}
