//! The table of `adjunct info`: the facts of `icainfo` with the instructions and the library named.

use adjunct_tool::output::Style;
use adjunct_ztools::info::{Facts, FunctionFacts};
use std::fmt::Write;

/// The whole report.
pub(super) fn render(facts: &Facts, style: Style) -> String {
    let mut text = String::new();
    let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let _ = writeln!(text, "CPU:           {} ({})", facts.cpu, facts.architecture);
    let _ = writeln!(text, "Instructions:  {}", list(&facts.instructions));
    if !facts.masked.is_empty() {
        let _ = writeln!(text, "Masked:        {} (by ADJUNCT_CPU)", style.notice(&list(&facts.masked)));
    }
    if !facts.missing.is_empty() {
        let _ = writeln!(text, "Not present:   {}", list(&facts.missing));
    }
    if let Some(lanes) = &facts.lanes {
        let of = if lanes.curves { "RSA and curves" } else { "RSA" };
        let counted = if lanes.hardware { "hardware" } else { "software" };
        let (width, by) = (lanes.width, lanes.instructions);
        let _ = writeln!(text, "Lanes:         {width} operations of {of} at once, a batch, by {by} ({counted})");
    }
    for note in &facts.notes {
        let _ = writeln!(text, "Note:          {note}");
    }
    text.push('\n');
    let cells: Vec<(String, bool)> = facts.functions.iter().map(|f| (hardware(f), f.hardware)).collect();
    let wide = cells.iter().map(|(c, _)| c.len()).max().unwrap_or(0);
    let name = facts.functions.iter().map(|f| f.function.len()).max().unwrap_or(0);
    let heading = format!("{:<name$}  {:<wide$}  software", "function", "hardware");
    let _ = writeln!(text, "{}", style.strong(&heading));
    for (row, (cell, hardware)) in facts.functions.iter().zip(&cells) {
        let padded = format!("{cell:<wide$}");
        let painted = if *hardware { style.good(&padded) } else { style.faint(&padded) };
        let _ = writeln!(text, "{:<name$}  {painted}  {}", row.function, row.software);
    }
    text
}

fn hardware(row: &FunctionFacts) -> String {
    if !row.hardware {
        return match row.reason {
            Some("no-instruction") | None => "no".to_owned(),
            Some("alone") => {
                let whose = match (row.batches, row.batches_of_jobs) {
                    (true, _) => "in batches",
                    (false, true) => "in batches of async jobs",
                    (false, false) => "no: batches are off",
                };
                format!("{whose}: {}", row.needs.join(", "))
            }
            _ => format!("no: {} ({})", row.reason_text, row.needs.join(", ")),
        };
    }
    let sizes = match &row.hardware_sizes {
        None => String::new(),
        Some(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(u16::to_string).collect();
            format!(" ({} bits)", sizes.join(", "))
        }
    };
    format!("yes: {}{sizes}", row.instructions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_by_what_and_why_not() {
        let row = |hardware, reason, sizes| FunctionFacts {
            function: "AES GCM",
            hardware,
            batches: false,
            batches_of_jobs: true,
            instructions: if hardware { vec!["AES-NI", "PCLMULQDQ"] } else { vec![] },
            hardware_sizes: sizes,
            needs: vec!["AES-NI", "PCLMULQDQ"],
            reason,
            reason_text: "masked by ADJUNCT_CPU",
            software: "AWS-LC",
        };
        assert_eq!(hardware(&row(true, None, None)), "yes: AES-NI, PCLMULQDQ");
        assert_eq!(hardware(&row(true, None, Some(vec![128, 256]))), "yes: AES-NI, PCLMULQDQ (128, 256 bits)");
        assert_eq!(hardware(&row(false, Some("masked"), None)), "no: masked by ADJUNCT_CPU (AES-NI, PCLMULQDQ)");
        assert_eq!(hardware(&row(false, Some("no-instruction"), None)), "no");
        let alone = row(false, Some("alone"), None);
        assert!(hardware(&alone).starts_with("in batches of async jobs: "));
        assert!(hardware(&FunctionFacts { batches: true, ..alone.clone() }).starts_with("in batches: "));
        assert!(hardware(&FunctionFacts { batches_of_jobs: false, ..alone }).starts_with("no: batches are off: "));
    }

    #[test]
    fn plain_output_has_no_escapes() {
        let facts = Facts::of_this_machine();
        assert!(!render(&facts, Style::PLAIN).contains('\x1b'));
        assert!(render(&facts, Style::COLOUR).contains('\x1b'));
    }
}
