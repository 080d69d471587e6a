//! The contents of adjunct's block, given the rest of the file; or why the file cannot be edited safely.

use super::expand::escape;
use super::groups::{TlsGroups, sets_groups};
use super::lexer::is_name;
use super::property::{self, Clause};
use super::{Entry, Model, Place, Refused};

const PREFERRED: &str = "?provider=adjunct";
/// The property query that keeps random generators away from adjunct, by a property that adjunct's algorithms alone have. A clause on providers would
/// replace what the default query says of them, and the generator of a provider that a program brings would never be used.
const NOT_FOR_RANDOM: &str = "adjunct.own!=yes";
/// The name of the section that Node reads in place of `openssl_conf`'s, since version 18 (`node --help`: `--openssl-shared-config`).
const NODE: &[u8] = b"nodejs_conf";

/// The contents to write into the module's section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    module: String,
    algorithms: String,
    engine: Option<String>,
    groups: Option<TlsGroups>,
    node: bool,
    one_program: bool,
}

impl Options {
    /// The module's path, and the `algorithms` keywords (ALL by default).
    pub fn new(module: &str, algorithms: Option<&str>) -> Options {
        Options {
            module: module.to_owned(),
            algorithms: algorithms.unwrap_or("ALL").to_owned(),
            engine: None,
            groups: None,
            node: false,
            one_program: false,
        }
    }

    /// Sets the engine that the module registers for `groups` (`default_algorithms` keywords); `None`: no engine.
    pub fn with_engine(self, groups: Option<&str>) -> Options {
        Options { engine: groups.map(str::to_owned), ..self }
    }

    /// Sets the TLS groups that programs are to offer and to take first.
    pub fn with_groups(self, groups: Option<TlsGroups>) -> Options {
        Options { groups, ..self }
    }

    /// Sets whether the options hold for Node too, which reads a section of its own.
    pub fn with_node(self, node: bool) -> Options {
        Options { node, ..self }
    }

    /// Sets whether the options are for one program that is known to load no provider of its own.
    pub fn for_one_program(self, one_program: bool) -> Options {
        Options { one_program, ..self }
    }

    /// The module's path.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// The TLS groups.
    pub fn groups(&self) -> Option<&TlsGroups> {
        self.groups.as_ref()
    }
}

/// A provider as a file configures it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderState {
    /// Its name for OpenSSL.
    pub name: Vec<u8>,
    /// Whether the provider is activated.
    pub active: bool,
    /// The module's path, where one is given.
    pub module: Option<Vec<u8>>,
    /// The value of `algorithms`.
    pub algorithms: Option<Vec<u8>>,
    /// The value of `engine`: what the engine that the module registers serves.
    pub engine: Option<Vec<u8>>,
    /// Whether the provider steps back in programs that bring a provider of their own (`yield`).
    pub yields: bool,
    section: Vec<u8>,
    certain: bool,
    place: Place,
    switched_off: Option<Place>,
}

impl ProviderState {
    /// The section that configures it.
    pub fn section(&self) -> &[u8] {
        &self.section
    }
}

/// The configuration in a file, as far as it matters to adjunct.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The providers listed.
    pub providers: Vec<ProviderState>,
    /// adjunct's entry, if there is one.
    pub adjunct: Option<ProviderState>,
    /// Whether the default provider is activated by name.
    pub default_active: bool,
    /// The default property query.
    pub default_properties: Option<Vec<u8>>,
    /// The property query of OpenSSL's own random generator.
    pub random_properties: Option<Vec<u8>>,
    /// The engines configured by their own sections, by their identity; they are asked before providers.
    pub engines: Vec<Vec<u8>>,
    /// The list of TLS groups that every program gets that sets none itself.
    pub groups: Option<Vec<u8>>,
    /// Whether the section that Node reads (`nodejs_conf`) gives it adjunct.
    pub node: bool,
}

impl State {
    /// Whether adjunct is loaded, preferred and kept away from the random generator, and the default provider stands by.
    pub fn works(&self) -> bool {
        self.adjunct.as_ref().is_some_and(|a| a.active && a.module.is_some())
            && self.default_active
            && self.default_properties.as_deref().is_some_and(prefers_adjunct)
            && self.random_properties.as_deref().is_some_and(keeps_adjunct_out)
    }
}

fn prefers_adjunct(query: &[u8]) -> bool {
    let wanted = |c: &Clause| c.optional && c.name == "provider" && c.equal && c.value == "adjunct";
    property::parse(query).is_some_and(|clauses| clauses.iter().any(wanted))
}

fn keeps_adjunct_out(query: &[u8]) -> bool {
    let wanted = |c: &Clause| {
        let by_provider = c.name == "provider" && (c.equal != (c.value == "adjunct"));
        !c.optional && (by_provider || c.name == "adjunct.own" && !c.equal && c.value == "yes")
    };
    property::parse(query).is_some_and(|clauses| clauses.iter().any(wanted))
}

/// The configuration in a file.
pub fn state(model: &Model) -> State {
    State { node: state_for(model, NODE).works(), ..state_for(model, b"openssl_conf") }
}

/// What a file configures for programs that read the section which `name` names.
fn state_for(model: &Model, name: &[u8]) -> State {
    let mut state = State::default();
    let Some(init) = model.entry(b"default", name).map(|e| e.value.clone()) else { return state };
    let named = |name: &[u8]| model.entry(&init, name).map(|e| e.value.clone());
    if let Some(section) = named(b"providers") {
        state.providers = providers(model, &section);
    }
    state.adjunct = state.providers.iter().find(|p| p.name == b"adjunct").cloned();
    state.default_active = state.providers.iter().any(|p| p.name == b"default" && p.active);
    let value = |section: Option<Vec<u8>>, name: &[u8]| model.entry(&section?, name).map(|e| e.value.clone());
    state.default_properties = value(named(b"alg_section"), b"default_properties");
    state.random_properties = value(named(b"random"), b"properties");
    state.engines = named(b"engines").map(|section| engines(model, &section)).unwrap_or_default();
    let tls = named(b"ssl_conf").and_then(|section| Some(model.entry(&section, b"system_default")?.value.clone()));
    state.groups = tls.and_then(|section| Some(groups(model, &section)?.value.clone()));
    state
}

/// The command that sets the TLS groups last, in a section of libssl's commands.
fn groups<'a>(model: &'a Model, section: &[u8]) -> Option<&'a Entry> {
    model.section(section)?.filter(|entry| sets_groups(after_dot(&entry.name))).last()
}

fn engines(model: &Model, section: &[u8]) -> Vec<Vec<u8>> {
    let identity = |entry: &Entry| {
        let given = model.section(&entry.value).into_iter().flatten().find(|e| after_dot(&e.name) == b"engine_id");
        given.map_or_else(|| after_dot(&entry.name).to_vec(), |e| e.value.clone())
    };
    model.section(section).into_iter().flatten().map(identity).collect()
}

fn providers(model: &Model, section: &[u8]) -> Vec<ProviderState> {
    let Some(entries) = model.section(section) else { return Vec::new() };
    entries.map(|entry| provider(model, entry)).collect()
}

/// The part of a name after its first dot: `1.activate` is `activate`.
fn after_dot(name: &[u8]) -> &[u8] {
    name.iter().position(|&c| c == b'.').map_or(name, |dot| &name[dot + 1..])
}

fn provider(model: &Model, entry: &Entry) -> ProviderState {
    let mut state = ProviderState {
        name: after_dot(&entry.name).to_vec(),
        active: false,
        module: None,
        algorithms: None,
        engine: None,
        yields: false,
        section: entry.value.clone(),
        certain: entry.certain,
        place: entry.place.clone(),
        switched_off: None,
    };
    for setting in model.section(&entry.value).into_iter().flatten() {
        match after_dot(&setting.name) {
            b"identity" => {
                state.name.clone_from(&setting.value);
                state.certain &= setting.certain;
            }
            b"module" => state.module = Some(setting.value.clone()),
            b"algorithms" => state.algorithms = Some(setting.value.clone()),
            b"engine" => state.engine = Some(setting.value.clone()),
            b"yield" => state.yields = setting.value == b"yes",
            b"activate" => {
                // Before 3.2 any value activates; since then only these do, and 0 or no keep it off.
                let words: &[&[u8]] = &[b"1", b"yes", b"YES", b"true", b"TRUE", b"on", b"ON"];
                state.active = words.contains(&setting.value.as_slice());
                state.switched_off = (!state.active).then(|| setting.place.clone());
                state.certain &= setting.certain;
            }
            _ => {}
        }
    }
    state
}

/// The first provider that a file activates before the default provider, leaving out those that only complete it.
fn before_default(listed: &[ProviderState]) -> Option<&ProviderState> {
    let active = listed.iter().filter(|p| p.active && ![&b"legacy"[..], b"base"].contains(&p.name.as_slice()));
    active.into_iter().next().filter(|p| p.name != b"default")
}

/// The lines of the block.
///
/// # Errors
/// [`Refused`] where the file's contents conflict with adjunct, or their meaning is not certain.
pub(super) fn block_lines(model: &Model, options: &Options) -> Result<Vec<String>, Refused> {
    let mut plan = Plan { model, lines: Vec::new(), names: Vec::new() };
    let init = plan.module_section(None)?;
    let random = plan.module_section(Some((&init, "random", "adjunct_random")))?;
    let providers = plan.module_section(Some((&init, "providers", "adjunct_providers")))?;
    let algorithms = plan.module_section(Some((&init, "alg_section", "adjunct_properties")))?;
    plan.providers(&providers, options)?;
    plan.default_properties(&algorithms)?;
    plan.random(&random)?;
    if let Some(groups) = &options.groups {
        plan.groups(&init, groups)?;
    }
    if options.node {
        plan.node(&providers, &algorithms, &random);
    }
    plan.distinct()?;
    Ok(plan.render())
}

struct Plan<'a> {
    model: &'a Model,
    /// Section, name, value: what is to be added, in order.
    lines: Vec<(String, String, String)>,
    /// The sections that must be different ones, and where each is named.
    names: Vec<(String, Option<Place>)>,
}

impl Plan<'_> {
    fn set(&mut self, section: &str, name: &str, value: &str) {
        self.lines.push((section.to_owned(), name.to_owned(), value.to_owned()));
    }

    /// Finds the section that a module of the initialization section names, or (for `None`) that section itself. Where nothing is named, plans a
    /// section of adjunct's and the line that names it.
    fn module_section(&mut self, module: Option<(&str, &str, &str)>) -> Result<String, Refused> {
        let (holder, key, ours) = module.unwrap_or(("default", "openssl_conf", "adjunct_init"));
        if module.is_some() {
            self.no_dotted(holder, key)?;
        }
        let section = match self.model.entry(holder.as_bytes(), key.as_bytes()) {
            Some(entry) => {
                let name = writable_name(entry)?;
                self.names.push((name.clone(), Some(entry.place.clone())));
                name
            }
            None => {
                let name = self.fresh(ours);
                self.set(holder, key, &name);
                self.names.push((name.clone(), None));
                name
            }
        };
        Ok(section)
    }

    /// `providers.x = ...` runs the module once more; then it is not clear which list is in force.
    fn no_dotted(&self, holder: &str, key: &str) -> Result<(), Refused> {
        let dotted = |e: &&Entry| e.name.strip_prefix(key.as_bytes()).is_some_and(|rest| rest.starts_with(b"."));
        match self.model.section(holder.as_bytes()).into_iter().flatten().find(dotted) {
            None => Ok(()),
            Some(entry) => Err(Refused::Conflict(
                entry.place.clone(),
                format!("'{}': more than one '{key}' is configured", String::from_utf8_lossy(&entry.name)),
            )),
        }
    }

    /// Makes a section name that is not in use.
    fn fresh(&self, wanted: &str) -> String {
        let taken =
            |name: &str| self.model.section(name.as_bytes()).is_some() || self.names.iter().any(|(n, _)| n == name);
        let mut name = wanted.to_owned();
        let mut number = 2;
        while taken(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
    }

    fn providers(&mut self, section: &str, options: &Options) -> Result<(), Refused> {
        let listed = providers(self.model, section.as_bytes());
        for provider in &listed {
            if !provider.certain {
                let text = "which provider this is depends on the environment";
                return Err(Refused::Uncertain(provider.place.clone(), text.to_owned()));
            }
            if provider.name == b"adjunct" {
                let text = "adjunct is configured by hand here; take that out first";
                return Err(Refused::Conflict(provider.place.clone(), text.to_owned()));
            }
        }
        if let Some(first) = before_default(&listed).filter(|_| !options.one_program) {
            let name = String::from_utf8_lossy(&first.name);
            let text = format!(
                "'{name}' is activated here and not after 'default': programs take what both have from it, and would get adjunct's; list \
                 'default' before it, or enable adjunct for single programs (--for sshd, --for ssh)"
            );
            return Err(Refused::Conflict(first.place.clone(), text));
        }
        self.default_provider(section, &listed)?;
        self.name_is_free(section, "adjunct")?;
        let own = self.fresh("adjunct_sect");
        self.set(section, "adjunct", &own);
        self.set(&own, "identity", "adjunct");
        self.set(&own, "module", &escape(&options.module));
        self.set(&own, "activate", "1");
        self.set(&own, "algorithms", &escape(&options.algorithms));
        if let Some(engine) = &options.engine {
            self.set(&own, "engine", &escape(engine));
        }
        // Where this block alone activates providers, programs that bring one of their own are to get what they got without it.
        if !listed.iter().any(|p| p.active || p.switched_off.is_some()) {
            self.set(&own, "yield", "yes");
        }
        self.names.push((own, None));
        Ok(())
    }

    /// A provider of another identity may be listed under a name that is needed here.
    fn name_is_free(&self, section: &str, name: &str) -> Result<(), Refused> {
        match self.model.entry(section.as_bytes(), name.as_bytes()) {
            None => Ok(()),
            Some(entry) => {
                let text = format!("the name '{name}' is taken by another provider");
                Err(Refused::Conflict(entry.place.clone(), text))
            }
        }
    }

    /// Has the default provider activated by name. OpenSSL activates it by itself only as long as no provider is activated by name, as adjunct is;
    /// programs without it have no random numbers.
    fn default_provider(&mut self, section: &str, listed: &[ProviderState]) -> Result<(), Refused> {
        let Some(default) = listed.iter().find(|p| p.name == b"default") else {
            self.name_is_free(section, "default")?;
            let own = self.fresh("adjunct_default");
            self.set(section, "default", &own);
            self.set(&own, "activate", "1");
            self.names.push((own, None));
            return Ok(());
        };
        if let Some(place) = &default.switched_off {
            let text = "the default provider is switched off here; adjunct falls back on it";
            return Err(Refused::Conflict(place.clone(), text.to_owned()));
        }
        let own_file = |e: &Entry| e.place.file.is_none();
        let here = self.model.section(&default.section).into_iter().flatten();
        let activated_here = default.active && here.filter(|e| after_dot(&e.name) == b"activate").any(own_file);
        if activated_here && default.place.file.is_none() {
            return Ok(());
        }
        // Not activated, or only by an included file, which belongs to someone else and may change.
        if listed.iter().any(|p| p.name != b"default" && p.section == default.section) {
            let text = "the default provider shares its section with another one";
            return Err(Refused::Conflict(default.place.clone(), text.to_owned()));
        }
        let name = writable(&default.section, &default.place)?;
        self.set(&name, "activate", "1");
        self.names.push((name, Some(default.place.clone())));
        Ok(())
    }

    fn default_properties(&mut self, section: &str) -> Result<(), Refused> {
        if let Some(fips) = self.model.entry(section.as_bytes(), b"fips_mode")
            && !matches!(fips.value.to_ascii_lowercase().as_slice(), b"no" | b"false" | b"n" | b"0")
        {
            let text = "FIPS mode is on, and adjunct is no FIPS module";
            return Err(Refused::Conflict(fips.place.clone(), text.to_owned()));
        }
        let Some(entry) = self.model.entry(section.as_bytes(), b"default_properties") else {
            self.set(section, "default_properties", PREFERRED);
            return Ok(());
        };
        let (text, clauses) = query(entry)?;
        for clause in &clauses {
            let conflict = |text: &str| Err(Refused::Conflict(entry.place.clone(), text.to_owned()));
            match (clause.name.as_str(), clause.optional, clause.equal) {
                ("provider", true, true) if clause.value == "adjunct" => return Ok(()),
                ("provider", false, true) => {
                    return conflict("the property query requires one provider; adjunct would never be chosen");
                }
                ("provider", ..) => return conflict("the property query speaks of providers already"),
                ("fips", _, true) if clause.value != "no" => {
                    return conflict("the property query asks for FIPS, and adjunct is no FIPS module");
                }
                _ => {}
            }
        }
        let value = if clauses.is_empty() { PREFERRED.to_owned() } else { format!("{},{PREFERRED}", escape(&text)) };
        self.set(section, "default_properties", &value);
        Ok(())
    }

    fn random(&mut self, section: &str) -> Result<(), Refused> {
        let Some(entry) = self.model.entry(section.as_bytes(), b"properties") else {
            self.set(section, "properties", NOT_FOR_RANDOM);
            return Ok(());
        };
        let (text, clauses) = query(entry)?;
        if keeps_adjunct_out(&entry.value) {
            return Ok(());
        }
        if clauses.iter().any(|c| c.name == "provider") {
            let text = "the random generator's property query speaks of providers already".to_owned();
            return Err(Refused::Conflict(entry.place.clone(), text));
        }
        let value =
            if clauses.is_empty() { NOT_FOR_RANDOM.to_owned() } else { format!("{},{NOT_FOR_RANDOM}", escape(&text)) };
        self.set(section, "properties", &value);
        Ok(())
    }

    /// Puts the groups into the commands that libssl runs for every program. An existing list stays, followed by ours, which replaces it; where ours
    /// cannot be taken, the existing one stays in force. (In the name of a command the part before a dot does not count.)
    fn groups(&mut self, init: &str, wanted: &TlsGroups) -> Result<(), Refused> {
        let names = self.module_section(Some((init, "ssl_conf", "adjunct_ssl")))?;
        let commands = self.module_section(Some((&names, "system_default", "adjunct_tls")))?;
        let before = groups(self.model, commands.as_bytes());
        let value = wanted.after(before)?;
        self.set(&commands, if before.is_some() { "adjunct.Groups" } else { "Groups" }, &escape(&value));
        Ok(())
    }

    /// Gives Node what serves every other program, but neither its TLS settings nor other providers. A section that the user has written for Node is
    /// left alone.
    fn node(&mut self, providers: &str, algorithms: &str, random: &str) {
        if self.model.entry(b"default", NODE).is_some() {
            return;
        }
        let listed = |name: &str| self.lines.iter().find(|(s, n, _)| s == providers && n == name).map(|l| l.2.clone());
        let there =
            self.model.entry(providers.as_bytes(), b"default").map(|e| String::from_utf8_lossy(&e.value).into_owned());
        let (Some(default), Some(own)) = (listed("default").or(there), listed("adjunct")) else { return };
        let others =
            self.model.section(providers.as_bytes()).into_iter().flatten().any(|e| after_dot(&e.name) != b"default");
        let name = self.fresh("adjunct_nodejs");
        self.set("default", "nodejs_conf", &name);
        let list = if others { self.fresh("adjunct_nodejs_providers") } else { providers.to_owned() };
        self.set(&name, "providers", &list);
        self.set(&name, "alg_section", algorithms);
        self.set(&name, "random", random);
        if others {
            self.set(&list, "default", &escape(&default));
            self.set(&list, "adjunct", &own);
        }
    }

    /// Refuses a section that serves two purposes: it cannot take a line for one of them.
    fn distinct(&self) -> Result<(), Refused> {
        for (index, (name, place)) in self.names.iter().enumerate() {
            let again = self.names[..index].iter().any(|(other, _)| other == name) || name == "default";
            if again {
                let text = format!("section '{name}' serves two purposes");
                return Err(Refused::Conflict(place.clone().unwrap_or(Place { file: None, line: 1 }), text));
            }
        }
        Ok(())
    }

    /// The planned lines, one section after the other in the order they were first needed.
    fn render(self) -> Vec<String> {
        let mut sections: Vec<&str> = Vec::new();
        for (section, ..) in &self.lines {
            if !sections.contains(&section.as_str()) {
                sections.push(section);
            }
        }
        let mut text = Vec::new();
        for section in sections {
            text.push(format!("[{section}]"));
            let of_section = self.lines.iter().filter(|(s, ..)| s == section);
            text.extend(of_section.map(|(_, name, value)| format!("{name} = {value}")));
        }
        text
    }
}

/// Parses a property query of the file into its text and clauses.
fn query(entry: &Entry) -> Result<(String, Vec<Clause>), Refused> {
    if !entry.certain {
        let text = "the property query depends on the environment".to_owned();
        return Err(Refused::Uncertain(entry.place.clone(), text));
    }
    let text = String::from_utf8(entry.value.clone()).ok().filter(|t| !t.contains(['\n', '\r', '\x08']));
    match (text, property::parse(&entry.value)) {
        (Some(text), Some(clauses)) => Ok((text, clauses)),
        _ => Err(Refused::Conflict(entry.place.clone(), "the property query cannot be understood".to_owned())),
    }
}

/// The name of the section that `entry` points to, if it can be written between brackets as it is.
fn writable_name(entry: &Entry) -> Result<String, Refused> {
    if !entry.certain {
        let text = format!("the section of '{}' depends on the environment", String::from_utf8_lossy(&entry.name));
        return Err(Refused::Uncertain(entry.place.clone(), text));
    }
    writable(&entry.value, &entry.place)
}

fn writable(name: &[u8], place: &Place) -> Result<String, Refused> {
    if !name.is_empty() && name.iter().all(|&c| is_name(c)) {
        return Ok(String::from_utf8_lossy(name).into_owned());
    }
    let text = format!("the section name '{}' cannot be written back safely", name.escape_ascii());
    Err(Refused::Conflict(place.clone(), text))
}
