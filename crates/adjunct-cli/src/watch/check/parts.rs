//! What is checked, each by itself.

use super::report::{Level, Part, Perf};
use super::{Args, Since};
use crate::cards::serving::{Cause, Serving};
use crate::watch::ledger::Values;
use crate::watch::sample::{Cards, Counted};
use adjunct::catalogue::{Feature, Function, HERE, Reason};
use adjunct::{cpu, ops};
use adjunct_survey::module::{self, Purpose};
use adjunct_survey::programs;
use adjunct_ztools::stats::{order, queues};
use std::collections::BTreeMap;
use std::path::Path;

const HARDWARE: &str = "hardware";
const SOFTWARE: &str = "software";
const FAULTS: &str = "faults";
const REFUSED: &str = "refused";
const ON_CARDS: &str = "cards";

/// The values of a user's counters that are kept from one run to the next.
pub(super) fn values(counted: &Counted) -> Values {
    let snapshot = &counted.snapshot;
    let mut values = Values::new();
    let mut put = |name: &'static str, label: String, value: u64| {
        if value > 0 {
            let sum = values.entry((name, label)).or_default();
            *sum = sum.saturating_add(value);
        }
    };
    for function in order() {
        let counts = snapshot.function(function);
        put(HARDWARE, String::new(), counts.hardware_calls());
        for &reason in Reason::ALL {
            put(
                SOFTWARE,
                format!("{} {}", reason.key(), function.info().stats_name),
                snapshot.fallbacks(function, reason).calls,
            );
        }
    }
    for (_, lanes) in queues(snapshot) {
        put(FAULTS, String::new(), lanes.corrupted);
        put(REFUSED, String::new(), lanes.refused());
        put(ON_CARDS, String::new(), lanes.on_card);
    }
    values
}

/// The operations counted in a period, by the names of [`values`].
#[derive(Debug, Default)]
pub(super) struct Counts(pub(super) BTreeMap<(String, String), u64>);

impl Counts {
    fn all(&self, name: &str) -> u64 {
        let found = self.0.iter().filter(|((known, _), _)| known == name);
        found.fold(0, |sum, (_, value)| sum.saturating_add(*value))
    }

    /// Software by reason and function, the most first, without the reasons that are ignored.
    fn software(&self, ignored: &[Reason]) -> Vec<(Reason, &str, u64)> {
        let parts = self.0.iter().filter(|((name, _), value)| name == SOFTWARE && **value > 0);
        let found = parts.filter_map(|((_, label), value)| {
            let (key, function) = label.split_once(' ')?;
            let reason = *Reason::ALL.iter().find(|reason| reason.key() == key)?;
            let function = Function::from_name(function)?.info().stats_name;
            (!ignored.contains(&reason)).then_some((reason, function, *value))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(_, _, value)| std::cmp::Reverse(*value));
        found
    }
}

/// The share of software in what was counted.
pub(super) fn software(
    counts: &Counts,
    since: &Since,
    args: &Args,
    perf: &mut Vec<Perf>,
    details: &mut Vec<String>,
) -> Part {
    let by_reason = counts.software(&args.ignore);
    let software = by_reason.iter().fold(0u64, |sum, (_, _, value)| sum.saturating_add(*value));
    let all = software.saturating_add(counts.all(HARDWARE));
    let share = if all == 0 { 0.0 } else { software as f64 * 100.0 / all as f64 };
    let level = match (&args.critical, &args.warning) {
        _ if all < args.min_operations => Level::Ok,
        (Some(range), _) if range.alerts(share) => Level::Critical,
        (_, Some(range)) if range.alerts(share) => Level::Warning,
        _ => Level::Ok,
    };
    let ranges =
        [&args.warning, &args.critical].map(|range| range.as_ref().map_or_else(String::new, ToString::to_string));
    perf.push(Perf { label: "software", value: format!("{share:.1}%;{};{};0;100", ranges[0], ranges[1]) });
    perf.push(Perf { label: "operations", value: all.to_string() });
    let few = if all < args.min_operations && all > 0 { " (too few to judge)" } else { "" };
    let few_reasons = by_reason.iter().take(5);
    details.extend(
        few_reasons.map(|(reason, function, value)| format!("{function} in software {value}: {}", reason.text())),
    );
    let text = match all {
        0 => format!("nothing was counted {since}"),
        _ => format!("{share:.1}% of {all} operations in software {since}{few}"),
    };
    Part { name: "software", level, text }
}

/// Lanes that went wrong, and what cards refused.
pub(super) fn faults(counts: &Counts, perf: &mut Vec<Perf>) -> Option<Part> {
    let (faults, refused, on_cards) = (counts.all(FAULTS), counts.all(REFUSED), counts.all(ON_CARDS));
    perf.push(Perf { label: "lane_faults", value: format!("{faults};0;0;0") });
    if on_cards > 0 || refused > 0 {
        perf.push(Perf { label: "on_cards", value: on_cards.to_string() });
        perf.push(Perf { label: "refused_by_cards", value: refused.to_string() });
    }
    let text = format!("{faults} lanes gave wrong results, which were done again");
    (faults > 0).then_some(Part { name: "lanes", level: Level::Critical, text })
}

/// The cards.
pub(super) fn cards(cards: &Cards, wanted: Option<usize>, perf: &mut Vec<Perf>) -> Part {
    let part = |level, text: String| Part { name: "cards", level, text };
    let machine = match cards {
        Cards::Running(machine) => machine,
        Cards::Unreadable(line) => return part(Level::Unknown, format!("cards: {line}")),
        Cards::NotRunning if wanted.is_some_and(|wanted| wanted > 0) => {
            return part(Level::Critical, "adjunctd does not run".to_owned());
        }
        Cards::NotRunning => return part(Level::Ok, "no cards".to_owned()),
    };
    let online = machine.cards.iter().filter(|card| card.is_online()).count();
    perf.push(Perf { label: "cards_online", value: format!("{online};;;0;{}", machine.cards.len()) });
    let named = |what: &dyn Fn(&adjunct_card_state::machine::Card) -> bool| {
        let found = machine.cards.iter().filter(|card| what(card)).map(|card| format!("{:02x}", card.id));
        found.collect::<Vec<_>>().join(", ")
    };
    let (stopped, off) = (named(&|card| card.chkstop), named(&|card| !card.chkstop && !card.is_online()));
    let mut text = format!("{online} of {} cards online", machine.cards.len());
    if !stopped.is_empty() {
        text += &format!(", check-stopped: {stopped}");
    }
    if !off.is_empty() {
        text += &format!(", offline: {off}");
    }
    let level = match wanted {
        _ if !stopped.is_empty() => Level::Critical,
        Some(wanted) if online < wanted => Level::Critical,
        None if !off.is_empty() => Level::Warning,
        _ => Level::Ok,
    };
    part(level, text)
}

/// The domains of EP11 coprocessors; none where there are none.
pub(super) fn coprocessors(all: &[Serving], perf: &mut Vec<Perf>, details: &mut Vec<String>) -> Option<Part> {
    if all.is_empty() {
        return None;
    }
    let idle: Vec<&Serving> = all.iter().filter(|one| one.cause.is_some()).collect();
    perf.push(Perf { label: "ep11_domains", value: format!("{};;;0;{}", all.len() - idle.len(), all.len()) });
    details.extend(idle.iter().map(|one| one.line()));
    let text = format!("{} of {} EP11 domains serve", all.len() - idle.len(), all.len());
    // Cards that are down are judged as all cards are; what a user may not use is no fault of the card's.
    let is_fault = |one: &Serving| !matches!(one.cause, Some(Cause::CardDown | Cause::SocketPermission));
    let faults = idle.iter().any(|one| is_fault(one));
    let level = if faults { Level::Critical } else { Level::Ok };
    Some(Part { name: "ep11", level, text })
}

/// Whether OpenSSL loads the module.
pub(super) fn module(args: &module::Args) -> Part {
    let part = |level, text: String| Part { name: "module", level, text };
    let module = match module::find(args.choice(), Purpose::Run, programs::modules_dir) {
        Ok(module) => module,
        Err(failure) => return part(Level::Critical, format!("no module to load: {failure}")),
    };
    if let Err(failure) = programs::openssl_version() {
        return part(Level::Unknown, format!("the module was not tried: {failure}"));
    }
    match loads(&module) {
        Ok(version) => part(Level::Ok, format!("module {version} loads")),
        Err(line) => part(Level::Critical, format!("the module does not load: {line}")),
    }
}

/// The version of the module, as OpenSSL shows it under a configuration that has nothing else.
fn loads(module: &Path) -> Result<String, String> {
    let text = format!(
        "openssl_conf = adjunct_check\n[adjunct_check]\nproviders = all\n[all]\ndefault = active\nadjunct = ours\n[active]\n\
         activate = 1\n[ours]\nmodule = {}\nactivate = 1\n",
        module.display()
    );
    let config = adjunct_tool::scratch::config(text.as_bytes()).map_err(|error| error.to_string())?;
    let listed = programs::providers(config.path())?;
    let ours = listed.into_iter().find(|provider| provider.name == "adjunct" && provider.active);
    ours.map(|provider| provider.version).ok_or_else(|| format!("OpenSSL passes over {}", module.display()))
}

/// A requirement on the machine, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Required {
    /// Instructions.
    Instructions(Feature),
    /// AVX-512 IFMA and all else that lanes take.
    Lanes,
}

impl std::str::FromStr for Required {
    type Err = String;

    fn from_str(name: &str) -> Result<Required, String> {
        if name.eq_ignore_ascii_case("lanes") {
            return Ok(Required::Lanes);
        }
        let mut here = Feature::ALL.iter().copied().filter(|feature| Some(feature.arch()) == HERE);
        let found = here.clone().find(|f| f.name().eq_ignore_ascii_case(name) || f.text().eq_ignore_ascii_case(name));
        found.map(Required::Instructions).ok_or_else(|| {
            let known: Vec<_> = here.by_ref().map(Feature::name).collect();
            format!("known here: {} lanes", known.join(" "))
        })
    }
}

/// Whether the required instructions are there: a virtual machine may be moved to a host that lacks them.
pub(super) fn required(all: &[Required]) -> Option<Part> {
    let missing = |required: &&Required| match required {
        Required::Instructions(feature) => !cpu::features().has(*feature),
        Required::Lanes => !ops::batches::available(),
    };
    let name = |required: &Required| match required {
        Required::Instructions(feature) => feature.text(),
        Required::Lanes => "lanes",
    };
    let lacking: Vec<_> = all.iter().filter(missing).map(name).collect();
    let (level, text) = match (all.is_empty(), lacking.is_empty()) {
        (true, _) => return None,
        (false, true) => (Level::Ok, "the CPU has what is required".to_owned()),
        (false, false) => (Level::Critical, format!("the CPU lacks {}", lacking.join(", "))),
    };
    Some(Part { name: "cpu", level, text })
}
