//! How `--help` looks: `-h` is the short one, with the examples; `--help` has all, wrapped for the terminal it is read on.

use clap::Command;

/// The last line of a short help that leaves something out.
const MORE: &str = "--help has the rest.";

/// Takes the text that stands below the options of a command, and of each below it, as paragraphs: its line breaks are the source's,
/// and clap breaks the lines anew. The short help keeps the first paragraph, the examples.
pub(crate) fn dressed(command: Command) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = below.iter().fold(command, |command, name| command.mut_subcommand(name, dressed));
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let whole = paragraphs(&text);
    let short = match whole.split_once("\n\n") {
        Some((first, _)) if first.starts_with("Examples:") => format!("{first}\n\n{MORE}"),
        Some(_) => MORE.to_owned(),
        None => whole.clone(),
    };
    command.after_help(short).after_long_help(whole)
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
    fn the_short_help_is_shorter_and_nothing_is_lost() {
        let mut command = dressed(Cli::command());
        let setup = command.find_subcommand_mut("setup").unwrap();
        let (short, long) = (setup.render_help().to_string(), setup.render_long_help().to_string());
        assert!(short.contains("adjunct setup --undo") && short.trim_end().ends_with(MORE), "{short}");
        assert!(short.lines().count() < long.lines().count() && long.contains("Exit status:"), "{long}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        fn check(command: &mut clap::Command) {
            let help = command.clone().term_width(80).render_long_help().to_string();
            let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", command.get_name());
            command.get_subcommands_mut().for_each(check);
        }
        check(&mut dressed(Cli::command()));
    }
}
