//! `icastats`: what was used, hardware and software, per user and function; and what `adjunct stats` and other watchers read of it.

mod account;
mod host;
mod json;
mod rows;
pub mod sample;
mod table;

pub use account::{User, require_root};
pub use host::{Host, facts as host_facts};
pub use json::{ica_json, with_tabs};
pub use rows::{Line, Rows, lines, order, queues};
pub use table::ica_table;

use account::Scope;
use adjunct::counters::{self, Snapshot};
use adjunct_tool::{Failure, output};
use std::process::ExitCode;

const OF_Z: &str = "\
Rows that this tool does not have on IBM Z (AES CCM, RSA-3072, ...) are shown once they have counted.

Exit status: 0 done, 1 it failed or the command line is wrong, as there.

See also: adjunct stats.";

/// Whose counters, and what to do with them: the options both names share.
#[derive(Debug, Clone, clap::Args)]
pub struct Selection {
    /// Set your own function counters (or those of --user) to zero
    #[arg(short, long, group = "action")]
    reset: bool,
    /// Reset the statistics of all users (root user only)
    #[arg(short = 'R', long, group = "action", group = "whole")]
    reset_all: bool,
    /// Delete your own statistics (or those of --user)
    #[arg(short, long, group = "action")]
    delete: bool,
    /// Delete the statistics of all users (root user only)
    #[arg(short = 'D', long, group = "action", group = "whole")]
    delete_all: bool,
    /// Show the statistics of one user (root user only)
    #[arg(short = 'U', long, value_name = "USER", conflicts_with = "whole")]
    user: Option<String>,
    /// Show the accumulated statistics of all users (root user only)
    #[arg(short = 'S', long, conflicts_with_all = ["action", "user"])]
    summary: bool,
    /// Show statistics per key size
    #[arg(short, long)]
    pub key_sizes: bool,
    /// Output the statistics in JSON format
    #[arg(short, long)]
    json: bool,
}

/// Shows whether cryptographic functions ran in hardware or in software, per function and mode of operation
#[derive(Debug, clap::Parser)]
#[command(name = "icastats", version, disable_version_flag = true, after_help = OF_Z)]
pub struct IcaStats {
    #[command(flatten)]
    selection: Selection,
    /// Show the statistic tables of all users (root user only)
    #[arg(short = 'A', long, conflicts_with_all = ["action", "user", "summary"])]
    all: bool,
    /// Output version information
    #[arg(short, long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// How one of the two names shows what was found.
pub trait View {
    /// The name the command was called by.
    const NAME: &str;
    /// Whether it says what the tool of that name does not say on IBM Z.
    const REMARKS: bool;
    /// Whether all users' tables are wanted.
    fn all_users(&self) -> bool;
    /// What a user used, as a table.
    fn table(&self, user: &User, snapshot: &Snapshot) -> String;
    /// What users used, as JSON.
    fn json(&self, users: &[(User, Snapshot)]) -> String;
    /// The line that says that the counters of `user` were changed.
    fn done(&self, what: &str, user: &User) -> String;
}

impl View for IcaStats {
    const NAME: &str = "icastats";
    const REMARKS: bool = false;

    fn all_users(&self) -> bool {
        self.all
    }

    fn table(&self, user: &User, snapshot: &Snapshot) -> String {
        let head = if self.all { format!("user: {user}\n") } else { String::new() };
        head + &ica_table(snapshot, self.selection.key_sizes)
    }

    fn json(&self, users: &[(User, Snapshot)]) -> String {
        ica_json(&host::facts(), users, self.selection.key_sizes)
    }

    fn done(&self, _: &str, _: &User) -> String {
        String::new()
    }
}

impl IcaStats {
    /// Runs `icastats`.
    ///
    /// # Errors
    /// [`Failure`]: no permission, an unknown user, damaged counters.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        self.selection.run(self)
    }
}

impl Selection {
    fn scope(&self, all_users: bool) -> Result<Scope, Failure> {
        if self.reset_all || self.delete_all || all_users || self.summary {
            account::require_root("the statistics of all users")?;
            return Ok(Scope::All);
        }
        Ok(Scope::One(match &self.user {
            Some(name) => account::permitted(User::from_name(name)?)?,
            None => User::myself(),
        }))
    }

    /// Does what was asked for, and shows it as `view` does.
    ///
    /// # Errors
    /// [`Failure`]: no permission, an unknown user, damaged counters.
    pub fn run<V: View>(&self, view: &V) -> Result<ExitCode, Failure> {
        let users = self.scope(view.all_users())?.users()?;
        if self.reset || self.reset_all {
            return each::<V>(users, |user| {
                counters::reset(user.uid).map_err(Failure::because)?;
                output::print(&view.done("reset", user))
            });
        }
        if self.delete || self.delete_all {
            return each::<V>(users, |user| {
                counters::delete(user.uid).map_err(Failure::because)?;
                output::print(&view.done("deleted", user))
            });
        }
        let mut found = Vec::new();
        let code = each::<V>(users, |user| {
            // Programs say nothing of what keeps them from counting: it is said here.
            for remark in counters::remarks(user.uid).into_iter().filter(|_| V::REMARKS) {
                Failure::new(remark.to_string()).report(V::NAME);
            }
            let snapshot = counters::read(user.uid).map_err(Failure::because)?;
            found.push((user.clone(), snapshot.unwrap_or_else(|| Snapshot::new(user.uid))));
            Ok(())
        })?;
        if self.summary {
            let sum = found.iter().fold(Snapshot::new(0), |sum, (_, snapshot)| sum.plus(snapshot));
            found = vec![(User::everyone(), sum)];
        }
        if self.json {
            output::print(&view.json(&found))?;
        } else {
            let tables: Vec<String> = found.iter().map(|(user, snapshot)| view.table(user, snapshot)).collect();
            output::print(&tables.concat())?;
        }
        Ok(code)
    }
}

/// Does `work` for every user: one whose counters are damaged is reported and does not keep the others from their turn.
fn each<V: View>(users: Vec<User>, mut work: impl FnMut(&User) -> Result<(), Failure>) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for user in &users {
        match work(user) {
            Err(failure) if users.len() > 1 => {
                failure.report(V::NAME);
                code = ExitCode::from(failure.status());
            }
            other => other?,
        }
    }
    Ok(code)
}
