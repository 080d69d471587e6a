//! The programs, the sides that are compared, and what the report says of both.

use super::report::{Column, Header, Served};
use adjunct::catalogue::Feature;
use adjunct::cpu;
use adjunct_cli::counted::Counted;
use adjunct_cli::ssh::lab::{Environment, Place, Programs};
use adjunct_cli::ssh::measure::side::{Modules, SOFTWARE_IA32CAP};
use adjunct_cli::ssh::measure::{Side, openssl_conf};
use adjunct_tool::Failure;
use std::path::Path;

/// The sides, in the order of [`Column::ALL`]; software is missing where nothing is known that takes instructions away.
pub type Sides = [Option<Side>; 3];

/// The variable that takes the crypto instructions away from OpenSSL on this machine.
pub fn mask() -> Option<(&'static str, &'static str)> {
    if cfg!(target_arch = "x86_64") {
        Some(("OPENSSL_ia32cap", SOFTWARE_IA32CAP))
    } else if cfg!(target_arch = "aarch64") {
        // NEON alone: without AES, PMULL and the SHA instructions.
        Some(("OPENSSL_armcap", "1"))
    } else {
        None
    }
}

/// The sides, with their OpenSSL configurations in the private folder.
///
/// # Errors
/// [`Failure`] where those cannot be written.
pub fn sides(place: &Place, provider: &Path, counted: &Counted) -> Result<Sides, Failure> {
    let modules = Modules { provider: Some(provider.to_owned()), engine: Some("RSA,EC".to_owned()) };
    let stock = place.write("bench_stock.cnf", &openssl_conf(&Modules::default()))?;
    let adjunct = place.write("bench_adjunct.cnf", &openssl_conf(&modules))?;
    let side = |column: Column, conf: &Path| {
        let side = Side::with_conf(column.text(), conf);
        // What the user has set for other runs must not make a side what it is not called.
        let others = ["OPENSSL_ia32cap", "OPENSSL_armcap", "ADJUNCT_CPU"].map(str::to_owned).to_vec();
        side.with(&Environment { remove: others, ..counted.environment() })
    };
    Ok([
        mask().map(|(name, value)| side(Column::Software, &stock).and(name, value)),
        Some(side(Column::Stock, &stock)),
        Some(side(Column::Adjunct, &adjunct)),
    ])
}

/// What the report says of the machine; `data`, `method` and `served` are the run's to fill in.
///
/// # Errors
/// [`Failure`] where ssh does not run.
pub fn header(programs: &Programs) -> Result<Header, Failure> {
    let (openssh, openssl) = programs.versions()?;
    let features = cpu::features();
    let instructions = Feature::ALL.iter().filter(|&&f| features.has(f)).map(|f| f.text().to_owned()).collect();
    let uname = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let engine = if openssl.starts_with("OpenSSL 3.") || openssl.starts_with("OpenSSL 1.") {
        "RSA and EC, beside the provider"
    } else {
        "none, this OpenSSL has no engines"
    };
    Ok(Header {
        cpu: cpu::model_name(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        instructions,
        system: format!("{} {}", word(uname.sysname()), word(uname.release())),
        openssh,
        openssl,
        adjunct: env!("CARGO_PKG_VERSION").to_owned(),
        engine: engine.to_owned(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        command: command_line(),
        data: String::new(),
        method: String::new(),
        mask: mask().map_or_else(String::new, |(name, value)| format!("{name}={value}")),
        served: Served::default(),
        default_ciphers: offered(programs, "ciphers"),
        starts: std::collections::BTreeMap::new(),
        estimated_s: 0.0,
        took_s: 0.0,
        busy: None,
    })
}

/// What the client offers where nothing is asked for: `ciphers` or `macs`, the first first.
pub fn offered(programs: &Programs, what: &str) -> Vec<String> {
    let mut command = std::process::Command::new(&programs.ssh);
    command.args(["-F", "/dev/null", "-G", "localhost"]);
    let text = adjunct_tool::process::run(&mut command).map(|done| done.text()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
    line.map_or_else(Vec::new, |line| line.split(',').map(str::to_owned).collect())
}

/// This command's line as a shell takes it.
fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,@+:".contains(c);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    std::iter::once("adjunct".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
