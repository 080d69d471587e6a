//! `adjunct top`: the operations of the last interval, by user, process and hardware.

mod app;
mod draw;
mod live;
mod parts;
mod processes;
mod table;
#[cfg(test)]
mod tests;
mod views;
mod work;

use adjunct::counters;
use adjunct_tool::{Failure, output};
use adjunct_ztools::stats::host_facts;
use app::App;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;
use views::{Period, View, Watch};

const EXAMPLES: &str = "\
Shows what happened between two looks at the counters, as rates: functions, users, processes, why software ran, lanes, cards, and mechanisms of \
PKCS #11 by slot. HW/S is what dedicated instructions, lanes and cards did, SW/S what software did, HW% the part of hardware. Root sees all \
users; anybody else what is counted for them.

Counters are kept by user, so that what a process did is told from the slots of its threads: processes that ended meanwhile, those in \
containers and those that share a slot stand together in one row.

Keys: q quit, 1 to 7 or Tab the view, < and > the column to sort by, r the other way round, / a filter, space to pause, ? help. It works on a \
terminal of 80 columns and 24 lines, over ssh, and without colours where NO_COLOR is set.

Examples:
  sudo adjunct top                          live, every 2 seconds
  ssh -t HOST sudo adjunct top              of another machine
  adjunct top --view cards --interval 0.5   begins with the cards, twice a second
  adjunct top --once --filter rsa           one second's rates as tables
  adjunct top --once --json | jq '.functions[] | select(.software_per_second > 0)'

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong, or this is no terminal.";

/// Show live what runs: functions, users, processes, lanes, cards
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Seconds between two looks (2; 1 with --once)
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    interval: Option<Duration>,
    /// Begin with this view; with --once, print this one alone
    #[arg(short, long, value_name = "VIEW", value_enum)]
    view: Option<View>,
    /// Only rows with this text in them
    #[arg(short, long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,
    /// Print what happened in one interval, and end
    #[arg(long)]
    once: bool,
    /// With --once: print as JSON
    #[arg(long, requires = "once")]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a number from 0.1 to 3600 is needed".to_owned())
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.once {
        return once(args);
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::Words(
            "top needs a terminal to show what it sees; --once prints it, --once --json for programs".to_owned(),
        ));
    }
    let app = App::new(args.view.unwrap_or(View::Functions), args.filter.clone());
    live::run(app, args.interval.unwrap_or(Duration::from_secs(2)))?;
    Ok(ExitCode::SUCCESS)
}

fn once(args: &Args) -> Result<ExitCode, Failure> {
    let mut watch = Watch::default();
    watch.next()?;
    std::thread::sleep(args.interval.unwrap_or(Duration::from_secs(1)));
    let Some(period) = watch.next()? else { return Ok(ExitCode::SUCCESS) };
    let views: Vec<View> = args.view.map_or_else(|| View::ALL.to_vec(), |view| vec![view]);
    if args.json {
        output::print_json(&as_json(&period, &views, &args.filter))?;
    } else {
        output::print(&as_text(&period, &views, &args.filter))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the tables, one below the other. Tables without rows are left out unless there is only one.
fn as_text(period: &Period, views: &[View], filter: &str) -> String {
    /// The columns of a page or a mail.
    const WIDTH: usize = 120;
    let mut text = String::new();
    for &view in views {
        let table = period.table(view);
        let rows = table.shown(filter, table.main, table.descends(table.main));
        if rows.is_empty() && (views.len() > 1 && view != View::Functions) {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        if rows.is_empty() {
            let _ = writeln!(text, "{}", if table.rows.is_empty() { &table.empty } else { "no row has that text" });
        } else {
            let lines = table.lines(&rows, WIDTH);
            lines.iter().flat_map(|line| &line.texts).for_each(|line| _ = writeln!(text, "{line}"));
        }
    }
    text
}

fn as_json(period: &Period, views: &[View], filter: &str) -> Value {
    let mut report = Map::new();
    report.insert("host".into(), json!(host_facts()));
    report.insert("seconds".into(), json!((period.seconds * 1000.0).round() / 1000.0));
    report.insert("all_users".into(), json!(counters::reads_all()));
    report.insert("unreadable".into(), json!(period.now.unread()));
    for &view in views {
        let table = period.table(view);
        let rows = table.shown(filter, table.main, table.descends(table.main));
        report.insert(view.name().into(), table.json(&rows));
    }
    Value::Object(report)
}
