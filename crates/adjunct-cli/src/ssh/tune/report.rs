//! What `adjunct ssh tune` shows: the measurement, the files it would write, what the choice buys.

use super::algorithms::{Kind, measured_as};
use super::order::Lists;
use super::plan::Plan;
use super::survey::{Login, Pair, Survey};
use super::system::agreed;
use crate::openssl::report::{painted, unified};
use crate::output::Style;
use crate::ssh::measure::Spread;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Everything, for `--json`; `--from` reads `survey` back.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// The measurement.
    pub survey: &'a Survey,
    /// The policy's name.
    pub policy: String,
    /// The planned files.
    pub plans: Vec<Planned<'a>>,
    /// What the choice buys.
    pub buys: Option<String>,
    /// Whether the files were written.
    pub applied: bool,
}

/// One planned file.
#[derive(Debug, Serialize)]
pub struct Planned<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    /// Whether the file differs from what is there.
    changes: bool,
    in_force: BTreeMap<&'static str, &'a [String]>,
    then_in_force: BTreeMap<&'static str, &'a [String]>,
}

impl<'a> Planned<'a> {
    /// Of a plan.
    pub fn of(plan: &'a Plan) -> Planned<'a> {
        Planned { plan, changes: plan.changes(), in_force: named(&plan.now), then_in_force: named(&plan.then) }
    }
}

fn named(lists: &Lists) -> BTreeMap<&'static str, &[String]> {
    Kind::ALL.into_iter().map(|kind| (kind.keyword(), lists.get(kind))).collect()
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
            (false, None) if plan.blocked.is_none() => {
                out += "nothing to change: what is in force is the best choice\n"
            }
            _ => {}
        }
    }
    out
}

/// Figures that are no surer than this say nothing.
const USELESS: f64 = 0.5;

/// One line: what copying costs then and now, by the measurement. Measured with a module, "now" is without it where it is not in
/// force.
pub fn buys(survey: &Survey, before: (&Lists, &Lists), after: (&Lists, &Lists)) -> Option<String> {
    let agreed_pair = |(client, server): (&Lists, &Lists)| {
        let cipher = agreed(Kind::Ciphers, client, server)?;
        let mac = agreed(Kind::Macs, client, server).unwrap_or_default();
        survey.pair(measured_as(&cipher), &mac)
    };
    let (old, new) = (survey.today.as_ref().or_else(|| agreed_pair(before))?, agreed_pair(after)?);
    let seconds = |pair: &Pair| 1000.0 / pair.mb_s.median.max(1e-9);
    let (old_cpu, new_cpu) = (old.cpu_s_per_gb, new.cpu_s_per_gb);
    if old_cpu.relative().max(new_cpu.relative()) > USELESS {
        return Some(
            "what it buys cannot be told: the figures scatter too much; measure on a quieter machine".to_owned(),
        );
    }
    if old == new {
        return Some(format!(
            "copying 1 GB stays at {:.1} s and {:.1} CPU s: {} is taken already",
            seconds(new),
            new_cpu.median,
            new.name()
        ));
    }
    let names = match &survey.today {
        Some(today) if today.name() == new.name() => {
            format!("({} with adjunct instead of as configured now)", new.name())
        }
        Some(today) => format!("({} with adjunct instead of {} as configured now)", new.name(), today.name()),
        None => format!("({} instead of {})", new.name(), old.name()),
    };
    let doubt = match new_cpu.clearly_below(&old_cpu) {
        true => "",
        false if old_cpu.clearly_below(&new_cpu) => "; the policy costs that",
        false => "; no clear difference in CPU time",
    };
    let cpu = (new_cpu.median, old_cpu.median);
    if old.mb_s.relative().max(new.mb_s.relative()) > USELESS {
        return Some(format!("copying 1 GB: {:.1} CPU s instead of {:.1} {names}{doubt}", cpu.0, cpu.1));
    }
    Some(format!(
        "copying 1 GB: {:.1} s and {:.1} CPU s instead of {:.1} s and {:.1} {names}{doubt}",
        seconds(new),
        cpu.0,
        seconds(old),
        cpu.1
    ))
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

    fn lists(ciphers: &[&str]) -> Lists {
        let mut lists = Lists::default();
        *lists.get_mut(Kind::Ciphers) = ciphers.iter().map(|&c| c.to_owned()).collect();
        lists
    }

    #[test]
    fn one_line_says_what_it_buys() {
        let survey = Survey { pairs: vec![pair("a", 345.0, 1.9), pair("b", 625.0, 0.9)], ..Survey::default() };
        let (old, new) = (lists(&["a", "b"]), lists(&["b", "a"]));
        let line = buys(&survey, (&old, &old), (&new, &old)).unwrap();
        assert_eq!(line, "copying 1 GB: 1.6 s and 0.9 CPU s instead of 2.9 s and 1.9 (b instead of a)");
        assert!(buys(&survey, (&old, &old), (&old, &new)).unwrap().contains("taken already"));
        assert!(buys(&survey, (&new, &new), (&old, &new)).unwrap().contains("the policy costs that"));
        assert_eq!(buys(&survey, (&old, &old), (&lists(&["c"]), &old)), None);
    }

    #[test]
    fn with_a_module_it_is_compared_with_what_is_in_force() {
        let pairs = vec![pair("a", 345.0, 1.9), pair("b", 625.0, 0.9)];
        let survey = Survey { pairs, today: Some(pair("a", 300.0, 2.5)), ..Survey::default() };
        let (old, new) = (lists(&["a", "b"]), lists(&["b", "a"]));
        let line = buys(&survey, (&old, &old), (&new, &old)).unwrap();
        let figures = "copying 1 GB: 1.6 s and 0.9 CPU s instead of 3.3 s and 2.5";
        assert_eq!(line, format!("{figures} (b with adjunct instead of a as configured now)"));
        let line = buys(&survey, (&old, &old), (&old, &old)).unwrap();
        assert!(line.ends_with("2.5 (a with adjunct instead of as configured now)"), "{line}");
    }

    #[test]
    fn what_is_not_sure_is_not_claimed() {
        let mut survey = Survey { pairs: vec![pair("a", 345.0, 1.9), pair("b", 625.0, 0.9)], ..Survey::default() };
        survey.pairs[1].cpu_s_per_gb.error = 0.8;
        let (old, new) = (lists(&["a"]), lists(&["b", "a"]));
        assert!(buys(&survey, (&old, &new), (&new, &new)).unwrap().contains("cannot be told"));
        survey.pairs[1].cpu_s_per_gb.error = 0.1;
        survey.pairs[1].mb_s.error = 600.0;
        let line = buys(&survey, (&old, &new), (&new, &new)).unwrap();
        assert_eq!(line, "copying 1 GB: 0.9 CPU s instead of 1.9 (b instead of a)", "no seconds that are not sure");
        assert_eq!(percent(&Spread { median: 0.0, error: 1.0, count: 2 }), ">100%");
    }

    #[test]
    fn tables_show_every_row() {
        let survey = Survey { pairs: vec![pair("slow", 1.0, 9.0), pair("fast", 9.0, 1.0)], ..Survey::default() };
        let text = tables(&survey, Style::PLAIN);
        assert!(text.find("fast").unwrap() < text.find("slow").unwrap(), "{text}");
    }
}
