//! Man pages and shell completions, made from the same definitions as `--help`. For packagers; hidden from the help.

use crate::{Cli, Failure, info, output, stats};
use clap::CommandFactory;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What packagers make.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Write the man pages, or adjunct(1) to standard output
    #[command(hide = true)]
    Man {
        /// The folder that takes adjunct.1, adjunct-info.1, ..., icainfo.1 and icastats.1
        dir: Option<PathBuf>,
    },
    /// Write the completions of a shell to standard output
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Man { dir: Some(dir) } => write_pages(dir)?,
        Command::Man { dir: None } => output::print(&page(Cli::command())?)?,
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "adjunct", &mut text);
            output::print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_pages(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|e| Failure::new(format!("{}: {e}", dir.display())))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_tree(dir, &command, "adjunct")?;
    write_page(dir, "icainfo", info::IcaInfo::command())?;
    write_page(dir, "icastats", stats::IcaStats::command())
}

fn write_tree(dir: &Path, command: &clap::Command, name: &str) -> Result<(), Failure> {
    write_page(dir, name, command.clone().name(leak(name)).bin_name(name.replace('-', " ")))?;
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        write_tree(dir, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}

/// clap keeps names as statics; a dozen page names in a command that ends at once may stay.
fn leak(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

fn write_page(dir: &Path, name: &str, command: clap::Command) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let examples = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let man = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    let done = man
        .render_title(&mut text)
        .and_then(|()| man.render_name_section(&mut text))
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| man.render_options_section(&mut text))
        .and_then(|()| man.render_subcommands_section(&mut text));
    done.map_err(|e| Failure::new(format!("man page: {e}")))?;
    let page = String::from_utf8_lossy(&text).into_owned();
    Ok(page + &examples.map_or_else(String::new, |examples| notes(&examples)))
}

/// The text below the options, its lines left as they are: most are command lines.
fn notes(text: &str) -> String {
    let mut section = ".SH NOTES\n.nf\n".to_owned();
    for line in text.lines() {
        // A leading dot or quote would be a request, a backslash an escape.
        section += if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        section += &line.replace('\\', "\\e").replace('-', "\\-");
        section.push('\n');
    }
    section + ".fi\n"
}
