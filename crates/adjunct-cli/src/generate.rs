//! Man pages and shell completions, made from the same definitions as `--help`. For packagers; hidden from the help.

use crate::Cli;
use adjunct_tool::{Failure, output};
use adjunct_ztools::Name;
use clap::CommandFactory;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What packagers make.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Write the man pages, or adjunct(1) to standard output
    #[command(hide = true)]
    Man {
        /// The folder that takes adjunct.1, adjunct-info.1, ..., icainfo.1 the other names' pages, and adjunctd.1
        dir: Option<PathBuf>,
        /// The date below the pages, as in 2026-11-21; by default none
        #[arg(long, default_value = "", hide_default_value = true)]
        date: String,
    },
    /// Write the completions of a shell to standard output
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
        /// The name that is completed
        #[arg(default_value = "adjunct", value_parser = names())]
        name: String,
    },
}

/// The names of all commands that the packages bring.
fn names() -> Vec<&'static str> {
    ["adjunct"].into_iter().chain(Name::ALL.map(Name::text)).collect()
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Man { dir: Some(dir), date } => Pages { dir, date }.write()?,
        Command::Man { dir: None, date } => output::print(&page(Cli::command(), date, None)?)?,
        Command::Completions { shell, name } => {
            let mut text = Vec::new();
            let mut command = Name::of(name.as_ref()).map_or_else(crate::parser, Name::parser);
            clap_complete::generate(*shell, &mut command, name.as_str(), &mut text);
            output::print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The pages of all commands, on their way to a folder.
struct Pages<'a> {
    dir: &'a Path,
    date: &'a str,
}

impl Pages<'_> {
    fn write(&self) -> Result<(), Failure> {
        std::fs::create_dir_all(self.dir).map_err(|e| Failure::new(format!("{}: {e}", self.dir.display())))?;
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        self.tree(&command, "adjunct", None)?;
        for name in Name::ALL {
            let see = name.subcommand().map_or_else(|| "adjunct".to_owned(), |sub| format!("adjunct-{sub}"));
            self.page(name.text(), name.parser(), Some(&see))?;
        }
        self.page("adjunctd", adjunct_card_state::arguments::Arguments::command(), Some("adjunct-cards"))
    }

    fn tree(&self, command: &clap::Command, name: &str, parent: Option<&str>) -> Result<(), Failure> {
        self.page(name, command.clone().name(leak(name)).bin_name(name.replace('-', " ")), parent)?;
        for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            self.tree(sub, &format!("{name}-{}", sub.get_name()), Some(name))?;
        }
        Ok(())
    }

    fn page(&self, name: &str, command: clap::Command, parent: Option<&str>) -> Result<(), Failure> {
        let path = self.dir.join(format!("{name}.1"));
        let page = page(command, self.date, parent)?;
        std::fs::write(&path, page).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
    }
}

/// clap keeps names as statics; a dozen page names in a command that ends at once may stay.
fn leak(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

/// The page of a command. `parent` is the page to see beside the pages of its subcommands, which it names itself.
fn page(mut command: clap::Command, date: &str, parent: Option<&str>) -> Result<String, Failure> {
    let name = command.get_name().to_owned();
    let below = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let subcommands = command.get_subcommands().any(|c| !c.is_hide_set());
    // The version stands in the page's last line, where one looks for it, and not beside the name. Built before it is taken away: clap
    // wants one where an option shows it.
    command.build();
    let man = clap_mangen::Man::new(command.version(None::<&str>));
    let mut text = Vec::new();
    let done = man
        .render_name_section(&mut text)
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| man.render_options_section(&mut text))
        .and_then(|()| if subcommands { man.render_subcommands_section(&mut text) } else { Ok(()) });
    done.map_err(|e| Failure::new(format!("man page: {e}")))?;
    let title = format!(".TH \"{name}\" 1 \"{date}\" \"adjunct {}\" \"\"\n", env!("CARGO_PKG_VERSION"));
    let body = String::from_utf8_lossy(&text).into_owned();
    let see = parent.map(|parent| format!("{}(1)", plain(parent)));
    Ok(title + &body + &below.map_or_else(String::new, |below| sections(&below)) + &see_also(see))
}

fn see_also(page: Option<String>) -> String {
    page.map_or_else(String::new, |page| format!(".SH SEE ALSO\n{page}\n"))
}

/// The text below the options as sections: its examples and the exit status have their own, as in all manuals.
fn sections(text: &str) -> String {
    let (mut notes, mut examples, mut status) = (String::new(), String::new(), String::new());
    for paragraph in text.split("\n\n") {
        if let Some(rest) = paragraph.strip_prefix("Examples:\n") {
            examples += &kept(rest);
        } else if let Some(rest) = paragraph.strip_prefix("Exit status:") {
            status += &format!(".PP\n{}\n", plain(rest.trim_start()));
        } else if paragraph.lines().any(|l| l.starts_with(' ')) {
            notes += &kept(paragraph);
        } else if !paragraph.starts_with("See also: ") {
            notes += &format!(".PP\n{}\n", plain(paragraph));
        }
    }
    let section = |name: &str, text: String| if text.is_empty() { text } else { format!(".SH {name}\n{text}") };
    section("NOTES", notes) + &section("EXIT STATUS", status) + &section("EXAMPLES", examples)
}

/// Lines of a man page that stay as they are.
fn kept(lines: &str) -> String {
    format!(".PP\n.nf\n{}\n.fi\n", plain(lines.trim_end()))
}

/// Text that holds no request and no escape.
fn plain(text: &str) -> String {
    let line = |line: &str| {
        // A leading dot or quote would be a request, a backslash an escape.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{guard}{}", line.replace('\\', "\\e").replace('-', "\\-"))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
