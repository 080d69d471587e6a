//! `--class`: measures both sides as on another class of CPU, by masks that have to be in the environment before either library is loaded. So the
//! command executes itself again.

use adjunct::catalogue::{Class, Feature};
use adjunct::cpu;
use adjunct_tool::Failure;
use adjunct_tool::output::{self, Style};
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The variables that mask instructions for either side.
const MASKS: [&str; 3] = ["ADJUNCT_CPU", "OPENSSL_ia32cap", "OPENSSL_armcap"];

/// The option that the command gives to itself, after the masks.
const MASKED: &str = "--masked";

/// The class that a report was measured as.
#[derive(Debug, Clone, Serialize)]
pub struct Imitated {
    /// The class.
    name: &'static str,
    text: &'static str,
    /// CPUs of the class.
    cpus: &'static str,
    /// The instructions that were taken away; empty where this CPU is of the class.
    masked: Vec<&'static str>,
    /// How, for each side.
    masks: Vec<String>,
}

impl Imitated {
    /// The class that is in force, in the process that was started for it.
    ///
    /// # Errors
    /// [`Failure`] where the masks did not do what they are for.
    pub fn here(class: &'static Class) -> Result<Imitated, Failure> {
        let features = cpu::features();
        let lacking = class.lacking(|feature| features.has(feature));
        let excess = class.excess(|feature| features.has(feature));
        if !lacking.is_empty() || !excess.is_empty() {
            let both = [lacking, excess].concat();
            return Err(Failure::new(format!(
                "the masks of {} are not in force: {}",
                class.name,
                texts(&both).join(", ")
            )));
        }
        let given =
            |name: &&str| Some(format!("{name}={}", std::env::var(name).ok().filter(|value| !value.is_empty())?));
        let masked = Feature::ALL.iter().copied().filter(|&feature| features.masked(feature)).collect::<Vec<_>>();
        Ok(Imitated {
            name: class.name,
            text: class.text,
            cpus: class.cpus,
            masked: texts(&masked),
            masks: MASKS.iter().filter_map(given).collect(),
        })
    }

    /// Whether this CPU is of the class.
    pub fn is_this_cpu(&self) -> bool {
        self.masks.is_empty()
    }

    /// A line about the class, for people.
    pub fn line(&self) -> String {
        let Imitated { name, text, cpus, .. } = self;
        if self.is_this_cpu() {
            return format!("class {name}: {text} ({cpus}); this CPU is one");
        }
        format!(
            "class {name}: {text} ({cpus}); imitated, by {}: the speed of what is left is this CPU's",
            self.masks.join(" ")
        )
    }
}

fn texts(features: &[Feature]) -> Vec<&'static str> {
    features.iter().map(|feature| feature.text()).collect()
}

/// Puts this command in its own place, with the masks of `class` for both sides.
///
/// # Errors
/// [`Failure`] where this CPU cannot imitate the class, where the environment has masks, or where the command cannot be started.
pub fn start(class: &'static Class) -> Result<(), Failure> {
    if let Some(set) = MASKS.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Err(Failure::new(format!("{set} is set: --class takes instructions away by itself; unset it")));
    }
    let features = cpu::features();
    let lacking = class.lacking(|feature| features.has(feature));
    if !lacking.is_empty() {
        return Err(Failure::new(cannot(class, &lacking)));
    }
    let excess = class.excess(|feature| features.has(feature));
    // What started this program, a loader of another system for example, starts it again.
    let words = std::fs::read("/proc/self/cmdline").map_err(|e| Failure::new(format!("/proc/self/cmdline: {e}")))?;
    let mut words = words.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect::<Vec<_>>();
    // Behind the last zero is nothing.
    words.pop();
    let mut command = Command::new("/proc/self/exe");
    command.args(words.iter().skip(1)).arg(MASKED);
    if let Some(name) = words.first() {
        command.arg0(name);
    }
    if !excess.is_empty() {
        command.env("ADJUNCT_CPU", Class::mask(&excess));
    }
    if let Some((variable, value)) = class.stock_mask(&excess) {
        command.env(variable, value);
    }
    Err(Failure::new(format!("this command cannot be started again: {}", command.exec())))
}

fn cannot(class: &Class, lacking: &[Feature]) -> String {
    let here = Class::here().any(|known| std::ptr::eq(known, class));
    if !here {
        return format!("class {} is of another architecture than this CPU", class.name);
    }
    format!("this CPU cannot imitate {} ({}): it lacks {}", class.name, class.text, texts(lacking).join(", "))
}

/// Shows the classes of this architecture, which of them this CPU can imitate, and by what.
///
/// # Errors
/// [`Failure`] where standard output takes nothing.
pub fn list() -> Result<(), Failure> {
    let (features, style) = (cpu::features(), Style::of_stdout());
    let mut text = format!("{}\n", cpu::model_name());
    for class in Class::here() {
        let lacking = class.lacking(|feature| features.has(feature));
        let excess = class.excess(|feature| features.has(feature));
        let how = if !lacking.is_empty() {
            format!("cannot be imitated: this CPU lacks {}", texts(&lacking).join(", "))
        } else if excess.is_empty() {
            "this CPU is one".to_owned()
        } else {
            let stock = class.stock_mask(&excess).map(|(variable, value)| format!(" {variable}={value}"));
            format!("ADJUNCT_CPU={}{}", Class::mask(&excess), stock.unwrap_or_default())
        };
        let _ = writeln!(
            text,
            "{} {} ({})\n{:12} {how}",
            style.strong(&format!("{:<12}", class.name)),
            class.text,
            class.cpus,
            ""
        );
    }
    output::print(&text)
}
