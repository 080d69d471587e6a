//! The end of a run: what is shown and kept, whole or not.

use super::config::Program;
use super::left::Left;
use super::options::Args;
use super::plan::{Plan, Wish};
use super::policy::Policy;
use super::survey::Survey;
use super::{apply, gain, report};
use adjunct_tool::Failure;
use adjunct_tool::output::{self, Style};
use adjunct_tool::sink::{Ended, Sink};
use std::process::ExitCode;

/// Shows what was measured until the run was ended; nothing is changed by that.
pub(super) fn partly(
    policy: &Policy,
    survey: &Survey,
    mut ended: Ended,
    json: Option<&Sink>,
) -> Result<ExitCode, Failure> {
    let (plans, policy) = (Vec::new(), policy.name());
    let document = report::Document { survey, policy, plans, buys: None, gain: None, left: None, applied: false };
    let written = ended.write_json(json, &document);
    let shown = match json {
        Some(Sink::Stdout) => Ok(()),
        _ => output::print(&report::tables(survey, Style::of_stdout())),
    };
    ended.told(written.and(shown)).map(|()| ExitCode::FAILURE)
}

/// The outcome of a run, besides the files.
pub(super) struct Told<'a> {
    pub gain: Option<&'a gain::Gain>,
    /// Why ssh's order of ciphers is left as it is.
    pub left: Option<&'a Left>,
    /// Logins that were tried, a line each.
    pub tried: &'a [String],
    /// Reasons to doubt the figures, a line each.
    pub doubts: &'a [String],
}

/// Shows survey, plans and gain, writes files where that is wanted, and ends the run.
pub(super) fn finish(
    (args, json): (&Args, Option<&Sink>),
    wish: &Wish<'_>,
    survey: &Survey,
    plans: &[Plan],
    outcome: &Told<'_>,
    reload: Option<&apply::Reload>,
) -> Result<ExitCode, Failure> {
    let policy = wish.policy;
    let Told { gain, tried, doubts, .. } = *outcome;
    let applied = args.apply && plans.iter().any(Plan::changes);
    let server = plans.iter().any(|p| p.program == Program::Sshd && p.changes());
    let told = applied && server && args.reload && reload.is_some();
    if told && let Some(reload) = reload {
        reload.run()?;
    }
    let document = report::Document {
        survey,
        policy: policy.name(),
        plans: plans.iter().map(report::Planned::of).collect(),
        buys: gain.map(|gain| gain.copying.clone()),
        gain,
        left: outcome.left,
        applied,
    };
    match json {
        Some(Sink::Stdout) => {
            output::print_json(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(sink) => sink.write_json(&document)?,
        None => {}
    }
    let style = Style::of_stdout();
    let mut text = if args.from.is_some() { String::new() } else { report::tables(survey, style) };
    for note in doubts {
        text += &format!("\nnote: {note}\n");
    }
    if let Some(note) = policy.note().filter(|_| wish.asked) {
        text += &format!("\nnote: {note}\n");
    }
    text += &report::plans(plans, style);
    let buys = gain
        .map_or_else(|| "what it buys is not known: not all of it was measured".to_owned(), |g| g.lines().join("\n"));
    text += &format!("\n{buys}\n");
    for line in tried {
        text += &format!("{}: {line}\n", style.good("ok"));
    }
    text += &last_words(args, plans, reload.filter(|_| !told), told);
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The last lines: what was done, and what the user still has to do.
fn last_words(args: &Args, plans: &[Plan], reload: Option<&apply::Reload>, told: bool) -> String {
    if !plans.iter().any(Plan::changes) {
        return "nothing has to be changed\n".to_owned();
    }
    if !args.apply {
        return "nothing was changed; --apply puts the files in place (keep the figures by --json=FILE, and use them by \
                --from FILE)\n"
            .to_owned();
    }
    let mut text = "the files are in place; adjunct ssh tune --undo takes them away\n".to_owned();
    let server = plans.iter().any(|p| p.program == Program::Sshd && p.changes());
    match reload {
        Some(reload) if server => text += &format!("the running sshd does not know yet: {}\n", reload.command()),
        _ if told => text += "the running sshd was told\n",
        _ => {}
    }
    text
}
