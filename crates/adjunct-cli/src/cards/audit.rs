//! `adjunct cards audit`: what was done on a coprocessor, by whom, and whether the log is whole.

use super::coprocessor::{audit_file, cards, last_audited, number};
use super::failed;
use adjunct_card_state::folder::Folder;
use adjunct_coprocessor::audit::{Record, verify};
use adjunct_tool::escape::shown;
use adjunct_tool::{Failure, output};
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show or check what was done on a coprocessor
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line of the log has a hash of the line before it. `verify` fails where a line was changed, taken out or put in, and, while the card runs, where the end was \
cut off. Only root and adjunctd's user read the log.

Examples:
  sudo adjunct cards audit show                     what was done, one line each
  sudo adjunct cards audit show --json | jq .event
  sudo adjunct cards audit verify                   whether the log is whole

Exit status: 0 done, 1 the log is not whole or cannot be read (one line says why), 2 the command line is wrong.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show the records
    Show(Which),
    /// Check that the log is whole
    Verify(Which),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The card, in hexadecimal digits; the only one without it
    #[arg(value_parser = number)]
    card: Option<u8>,
    /// A log elsewhere, as a copy of one
    #[arg(long, value_name = "FILE", conflicts_with = "card")]
    file: Option<PathBuf>,
    /// Print as JSON: each record as a line
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (which, shows) = match &args.command {
        Command::Show(which) => (which, true),
        Command::Verify(which) => (which, false),
    };
    let folder = Folder::found();
    let (path, known) = match (&which.file, which.card) {
        (Some(file), _) => (file.clone(), None),
        (None, Some(card)) => (audit_file(&folder, card), last_audited(&folder, card)),
        (None, None) => match &cards(&folder)?[..] {
            [one] => (audit_file(&folder, one.id), last_audited(&folder, one.id)),
            _ => return Err(Failure::new("there are several coprocessors: name one, as lszcrypt shows them")),
        },
    };
    let file = File::open(&path).map_err(|error| failed(&path, &error))?;
    let (mut printed, mut text) = (Ok(()), String::new());
    let each = |record: Record| {
        if shows && printed.is_ok() {
            text += &line(&record, which.json);
            if text.len() > 1 << 16 {
                printed = output::print(&std::mem::take(&mut text));
            }
        }
    };
    let verified = verify(BufReader::new(file), (0, [0; 32]), known, each);
    printed?;
    output::print(&text)?;
    let whole = verified.map_err(|broken| Failure::new(format!("{}: {broken}", shown(&path))));
    match (whole, shows, which.json) {
        (Ok(_), true, _) => {}
        (Ok((last, _)), false, false) => output::print(&format!("{last} lines, each follows from the one before\n"))?,
        (Ok((last, _)), false, true) => output::print_json(&json!({ "whole": true, "lines": last, "why": null }))?,
        (Err(failure), false, true) => {
            output::print_json(&json!({ "whole": false, "why": failure.to_string() }))?;
            return Ok(ExitCode::FAILURE);
        }
        (Err(failure), ..) => return Err(failure),
    }
    Ok(ExitCode::SUCCESS)
}

fn line(record: &Record, json: bool) -> String {
    if json {
        return serde_json::to_string(record).unwrap_or_default() + "\n";
    }
    let domain = record.domain.map_or_else(|| "-".to_owned(), |domain| format!("{domain:04x}"));
    let detail = if record.detail.is_empty() {
        String::new()
    } else {
        format!("  {}", shown(&serde_json::to_string(&record.detail).unwrap_or_default()))
    };
    let Record { number, time, event, uid, result, .. } = record;
    format!("{number:>6}  {}  {domain:>4}  uid {uid}  {}: {}{detail}\n", shown(time), shown(event), shown(result))
}
