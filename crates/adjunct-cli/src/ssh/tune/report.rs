//! What `adjunct ssh tune` shows: the measurement, the files it would write, what the choice buys.

use super::algorithms::AlgorithmKind;
use super::gain::Gain;
use super::left::Left;
use super::order::Lists;
use super::plan::Plan;
use super::survey::{Login, Pair, Survey};
use crate::diff::{painted, unified};
use crate::ssh::measure::Spread;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The whole result for `--json`; `--from` reads `survey` back.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// The measurement.
    pub survey: &'a Survey,
    /// The policy's name.
    pub policy: String,
    /// The planned files.
    pub plans: Vec<Planned<'a>>,
    /// The gain of the choice: the first line of `gain`.
    pub buys: Option<String>,
    /// The gain by the order of algorithms and the gain by adjunct, separately.
    pub gain: Option<&'a Gain>,
    /// Why ssh's order of ciphers is left as it is, where no policy was asked for; `None` where it changes.
    pub left: Option<&'a Left>,
    /// Whether the files were written.
    pub applied: bool,
}

/// A planned file.
#[derive(Debug, Serialize)]
pub struct Planned<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    /// Whether the file differs from the existing one.
    changes: bool,
    in_force: BTreeMap<&'static str, &'a [String]>,
    then_in_force: BTreeMap<&'static str, &'a [String]>,
}

impl<'a> Planned<'a> {
    /// Makes what is shown of a plan.
    pub fn of(plan: &'a Plan) -> Planned<'a> {
        Planned { plan, changes: plan.changes(), in_force: named(&plan.now), then_in_force: named(&plan.then) }
    }
}

fn named(lists: &Lists) -> BTreeMap<&'static str, &[String]> {
    AlgorithmKind::ALL.into_iter().map(|kind| (kind.keyword(), lists.get(kind))).collect()
}

/// The measurement as tables.
pub fn tables(survey: &Survey, style: Style) -> String {
    let mut out = String::new();
    let rows = [
        ("CPU", survey.cpu.as_str()),
        ("OpenSSH", &survey.openssh),
        ("OpenSSL", &survey.openssl),
        ("adjunct", &survey.adjunct),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "{name:<10}{value}");
    }
    let rounds = |counts: &mut dyn Iterator<Item = usize>| counts.min().unwrap_or(0);
    let copies = rounds(&mut survey.pairs.iter().map(|p| p.mb_s.count));
    let logins = rounds(&mut survey.kex.iter().map(|p| p.seconds.count));
    let _ = writeln!(
        out,
        "{:<10}medians of {copies} interleaved copies and {logins} logins each, in {:.0} s; +- is about 95 % sure\n",
        "measured", survey.took
    );
    let head = format!(
        "{:<32}{:<32}{:>8}{:>7}{:>9}{:>9}{:>9}{:>7}",
        "cipher", "MAC", "MB/s", "+-", "client", "server", "CPU s/GB", "+-"
    );
    let _ = writeln!(out, "{}", style.strong(&head));
    let mut pairs: Vec<&Pair> = survey.pairs.iter().collect();
    pairs.sort_by(|a, b| a.cpu_s_per_gb.median.total_cmp(&b.cpu_s_per_gb.median));
    for pair in pairs {
        let cpu = pair.cpu_s_per_gb;
        let _ = writeln!(
            out,
            "{:<32}{:<32}{:>8.0}{:>7}{:>9.2}{:>9.2}{:>9.2}{:>7}",
            pair.cipher,
            pair.mac.as_deref().unwrap_or("-"),
            pair.mb_s.median,
            percent(&pair.mb_s),
            pair.client_s_per_gb.median,
            pair.server_s_per_gb.median,
            cpu.median,
            percent(&cpu)
        );
    }
    for (what, rows) in
        [("key exchange", &survey.kex), ("host key", &survey.host_keys), ("user key", &survey.user_keys)]
    {
        out += &login_table(what, rows, style);
    }
    if !survey.skipped.is_empty() {
        out += "\nnot measured:\n";
        for skipped in &survey.skipped {
            let _ = writeln!(out, "  {}: {}", skipped.what, skipped.why);
        }
    }
    out
}

fn login_table(what: &str, rows: &[Login], style: Style) -> String {
    let mut out = String::new();
    if rows.is_empty() {
        return out;
    }
    let head = format!(
        "{what:<40}{:>9}{:>7}{:>10}{:>10}{:>10}{:>7}",
        "logins/s", "+-", "client ms", "server ms", "CPU ms", "+-"
    );
    let _ = writeln!(out, "\n{}", style.strong(&head));
    let mut rows: Vec<&Login> = rows.iter().collect();
    rows.sort_by(|a, b| a.cpu_s.median.total_cmp(&b.cpu_s.median));
    for row in rows {
        let cpu = row.cpu_s;
        let _ = writeln!(
            out,
            "{:<40}{:>9.1}{:>7}{:>10.1}{:>10.1}{:>10.1}{:>7}",
            row.algorithm,
            1.0 / row.seconds.median.max(1e-9),
            percent(&row.seconds),
            row.client_s.median * 1e3,
            row.server_s.median * 1e3,
            cpu.median * 1e3,
            percent(&cpu)
        );
    }
    out
}

fn percent(spread: &Spread) -> String {
    match spread.relative() * 100.0 {
        part if part <= 100.0 => format!("{:.0}%", part.ceil()),
        _ => ">100%".to_owned(),
    }
}

/// The planned files as diffs, with what to know.
pub fn plans(plans: &[Plan], style: Style) -> String {
    let mut out = String::new();
    for plan in plans {
        let _ = writeln!(out, "\n{}", style.strong(plan.program.name()));
        if let Some(why) = &plan.blocked {
            let _ = writeln!(out, "{}", style.notice(why));
        }
        for note in &plan.notes {
            let _ = writeln!(out, "note: {note}");
        }
        match (plan.changes(), &plan.text) {
            (true, _) => {
                let text = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
                out += &painted(&unified(&plan.file, &text(&plan.old), &text(&plan.text)), style);
            }
            (false, Some(_)) => {
                let _ = writeln!(out, "{} is as it should be", plan.file.display());
            }
            (false, None) if plan.blocked.is_none() => out += "nothing to change\n",
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(median: f64) -> Spread {
        Spread { median, error: median * 0.01, count: 5 }
    }

    fn pair(cipher: &str, mb_s: f64, cpu: f64) -> Pair {
        let half = spread(cpu / 2.0);
        Pair {
            cipher: cipher.to_owned(),
            mac: None,
            mb_s: spread(mb_s),
            client_s_per_gb: half,
            server_s_per_gb: half,
            cpu_s_per_gb: spread(cpu),
        }
    }

    #[test]
    fn a_figure_that_is_no_surer_than_itself_is_no_percentage() {
        assert_eq!(percent(&Spread { median: 0.0, error: 1.0, count: 2 }), ">100%");
    }

    #[test]
    fn tables_show_every_row() {
        let survey = Survey { pairs: vec![pair("slow", 1.0, 9.0), pair("fast", 9.0, 1.0)], ..Survey::default() };
        let text = tables(&survey, Style::PLAIN);
        assert!(text.find("fast").unwrap() < text.find("slow").unwrap(), "{text}");
    }
}
