//! How `--help` looks: `-h` is the short one, with the examples; `--help` has all, wrapped for the terminal it is read on.

use clap::Command;
use std::io::IsTerminal;

/// The most columns of a line, as in [`crate::Cli`], and those where it is not known how many there are (clap's).
const WIDEST: usize = 110;
const USUAL: usize = 100;

/// The last line of a short help that leaves something out.
const MORE: &str = "--help has the rest.";

/// Takes the text that stands below the options of a command, and of each below it, as paragraphs: its line breaks are the source's,
/// and clap breaks the lines anew. The short help keeps the first paragraph, the examples.
pub(crate) fn dressed(command: Command) -> Command {
    dressed_for(command, columns())
}

fn dressed_for(command: Command, columns: usize) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let dress = |command: Command, name: &String| command.mut_subcommand(name, |sub| dressed_for(sub, columns));
    let command = below.iter().fold(command, dress);
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let whole = hanging(&paragraphs(&text), columns);
    let short = match whole.split_once("\n\n") {
        Some((first, _)) if first.starts_with("Examples:") => format!("{first}\n\n{MORE}"),
        Some(_) => MORE.to_owned(),
        None => whole.clone(),
    };
    command.after_help(short).after_long_help(whole)
}

/// The columns that help has: the terminal's, or those that COLUMNS names, as clap finds them.
fn columns() -> usize {
    let stdout = std::io::stdout();
    let size = if stdout.is_terminal() { rustix::termios::tcgetwinsize(&stdout).ok() } else { None };
    let terminal = size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(named).unwrap_or(USUAL).min(WIDEST)
}

/// Breaks indented lines of two columns (a command and its description) that are too long, so that the second column continues below itself.
fn hanging(text: &str, columns: usize) -> String {
    let mut out = Vec::new();
    for line in text.lines() {
        let second = line.trim_start().find("  ").map(|gap| {
            let from = line.len() - line.trim_start().len() + gap;
            from + line[from..].len() - line[from..].trim_start().len()
        });
        let fits = |second: &usize| {
            let longest = line[*second..].split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
            second + longest.max(20) < columns
        };
        match second.filter(|second| line.starts_with(' ') && line.chars().count() > columns && fits(second)) {
            None => out.push(line.to_owned()),
            Some(second) => {
                let mut rest = line[..second].to_owned();
                for word in line[second..].split_whitespace() {
                    if rest.chars().count() + 1 + word.chars().count() > columns {
                        out.push(std::mem::replace(&mut rest, " ".repeat(second)));
                    }
                    rest += if rest.ends_with(' ') { "" } else { " " };
                    rest += word;
                }
                out.push(rest);
            }
        }
    }
    out.join("\n")
}

/// Joins the lines of each paragraph. Indented lines (examples, lists) stay as they are, and so does what stands above one.
fn paragraphs(text: &str) -> String {
    let text_line = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out += line.trim_end();
        match lines.peek() {
            Some(next) if text_line(line) && text_line(next) => out.push(' '),
            Some(_) => out.push('\n'),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;

    #[test]
    fn paragraphs_are_joined_and_examples_stay() {
        let text = "Examples:\n  a b   does\n  c\n\nOne line\nof a paragraph:\n  item\n\nThe\nlast";
        assert_eq!(paragraphs(text), "Examples:\n  a b   does\n  c\n\nOne line of a paragraph:\n  item\n\nThe last");
    }

    #[test]
    fn a_second_column_goes_on_below_itself() {
        let text = "Examples:\n  adjunct x --why   what it is that this does\n  short   one";
        let below = " ".repeat(20);
        assert_eq!(
            hanging(text, 41),
            format!("Examples:\n  adjunct x --why   what it is that this\n{below}does\n  short   one")
        );
        assert_eq!(hanging(text, 30), text, "too narrow for two columns: clap breaks it");
    }

    #[test]
    fn the_short_help_is_shorter_and_nothing_is_lost() {
        let mut command = dressed_for(Cli::command(), 80);
        let setup = command.find_subcommand_mut("setup").unwrap();
        let (short, long) = (setup.render_help().to_string(), setup.render_long_help().to_string());
        assert!(short.contains("adjunct setup --undo") && short.trim_end().ends_with(MORE), "{short}");
        assert!(short.lines().count() < long.lines().count() && long.contains("Exit status:"), "{long}");
    }

    /// The help of the whole command: `-h` fits a screen, a line for each subcommand; `--help` says when to use which.
    #[test]
    fn the_short_help_at_the_top_fits_a_screen() {
        let mut command = dressed_for(Cli::command(), 80).term_width(80);
        let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        assert!(short.lines().count() <= 32, "{short}");
        let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set()).count();
        let lines =
            short.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty()).count();
        assert_eq!(lines, subcommands, "one line each, that of help among them: {short}");
        assert!(short.trim_end().ends_with(MORE) && !short.contains("Exit status") && long.contains("Exit status:"));
        assert!(long.contains("What to do when:") && long.lines().count() > short.lines().count() + 10, "{long}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        fn check(command: &mut clap::Command) {
            let help = command.clone().term_width(80).render_long_help().to_string();
            let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", command.get_name());
            command.get_subcommands_mut().for_each(check);
        }
        check(&mut dressed_for(Cli::command(), 80));
    }
}
