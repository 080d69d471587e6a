//! `adjunct token list`.

use adjunct_pkcs11::admin::{self, Examined, User};
use adjunct_tool::{Failure, output};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show the tokens there are, initialized or not
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

/// A PIN's state.
#[derive(Debug, Serialize)]
pub(super) struct Pin {
    pub set: bool,
    pub sealed_by_tpm: bool,
    pub tries_left: Option<u8>,
}

impl From<&User> for Pin {
    fn from(user: &User) -> Pin {
        Pin { set: user.has_pin, sealed_by_tpm: user.sealed, tries_left: user.tries_left }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub slot: u64,
    pub state: &'static str,
    pub label: Option<String>,
    pub serial: Option<String>,
    pub file: PathBuf,
    pub bytes: u64,
    pub objects: Option<usize>,
    pub writable: bool,
    pub user_pin: Pin,
    pub so_pin: Pin,
}

/// A token's state in a word or two.
pub(super) fn state(seen: &Examined) -> &'static str {
    match seen {
        Examined { exists: false, .. } => "not initialized",
        Examined { damaged: true, .. } => "damaged",
        Examined { newer: true, .. } => "of a newer version",
        Examined { trouble: Some(_), .. } => "not readable",
        Examined { older: Some(_), .. } => "older copy",
        Examined { foreign: Some(_), .. } => "to be repaired",
        Examined { users: [User { has_pin: true, tries_left: Some(0), .. }, _], .. } => "user PIN locked",
        Examined { users: [User { has_pin: false, .. }, _], .. } => "no user PIN",
        // Whether its changes fit together shows at a login.
        Examined { checked: false, .. } => "not checked",
        _ => "ready",
    }
}

pub(super) fn row(token: &admin::Configured) -> Row {
    let seen = admin::examine(token);
    Row {
        #[allow(clippy::useless_conversion, reason = "32 bits elsewhere")]
        slot: token.slot.into(),
        state: state(&seen),
        user_pin: (&seen.users[0]).into(),
        so_pin: (&seen.users[1]).into(),
        label: seen.label,
        serial: seen.serial,
        file: token.path.clone(),
        bytes: seen.bytes,
        objects: seen.objects,
        writable: seen.writable && !token.read_only,
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let tokens = admin::tokens();
    let rows: Vec<Row> = tokens.tokens.iter().map(row).collect();
    if let Some(wrong) = &tokens.wrong {
        super::say(wrong);
    }
    if args.json {
        output::print_json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{:<5} {:<32} {:<18} {:>7}  {}\n", "slot", "label", "state", "objects", "file");
    for row in &rows {
        let label = row.label.as_deref().unwrap_or("-");
        let objects = row.objects.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let _ = writeln!(text, "{:<5} {label:<32} {:<18} {objects:>7}  {}", row.slot, row.state, row.file.display());
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
