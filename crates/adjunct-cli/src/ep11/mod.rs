//! `adjunct ep11`: wrapping keys, control points and administrators of EP11 coprocessors, and a coprocessor for development.

mod admins;
pub(crate) mod dev;
mod names;
mod parts;
mod signer;
mod unit;

use crate::cards::coprocessor::{HONEST, cards, of_domain, order};
use adjunct_card_state::control::Device;
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Mode;
use adjunct_tool::escape::shown;
use adjunct_tool::{Failure, output};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use unit::Unit;

const EXAMPLES: &str = "\
An EP11 coprocessor is a card that does what programs ask with keys that they never see. Keys leave it only under a domain's wrapping key.

Examples:
  adjunct ep11 dev                        a private one, without root and configuration, until Ctrl-C
  sudo adjunct cards enable --ep11        one for the machine
  sudo adjunct ep11 wk generate 00.0000   a random wrapping key, as the next one
  sudo adjunct ep11 wk commit 00.0000     and in use by these two
  sudo adjunct ep11 wk finalize 00.0000
  sudo adjunct ep11 domains               each domain, its socket and keys
  adjunct ep11 cps 00.0000                what a domain allows
  adjunct ep11 admins list 00.0000        who rules it

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.";

/// EP11 coprocessors: wrapping keys, domains, one for development
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Dev(dev::Args),
    Wk(Wk),
    Domains(Domains),
    Cps(admins::Cps),
    Admins(admins::Admins),
}

/// Show, make and change wrapping keys
#[derive(Debug, clap::Args)]
struct Wk {
    #[command(subcommand)]
    command: WkCommand,
}

#[derive(Debug, clap::Subcommand)]
enum WkCommand {
    /// Show the patterns of a domain's keys
    Show(Which),
    /// Make a random key the next one, or with --in-use a domain's first
    Generate(Generate),
    Part(parts::NewPart),
    Import(parts::Import),
    /// Commit the next key: keys can be re-encrypted to it
    Commit(Which),
    /// Put the next key in use: keys under the former open no more
    Finalize(Which),
    /// Clear the next key
    Clear(Which),
}

#[derive(Debug, clap::Args)]
struct Generate {
    /// Put it in use at once, where the domain has none
    #[arg(long)]
    in_use: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Card and domain in hexadecimal digits, as lszcrypt shows them (01.0005); the only one without it
    #[arg(value_name = "CARD.DOMAIN", value_parser = device)]
    device: Option<(u8, u8)>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Show each domain, who may use its socket, and its keys
#[derive(Debug, clap::Args)]
struct Domains {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn device(text: &str) -> Result<(u8, u8), String> {
    let wrong = || "card and domain as lszcrypt shows them, such as 01.0005".to_owned();
    let digits =
        |text: &str, most| text.len() <= most && !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let (card, domain) =
        text.split_once('.').filter(|(card, domain)| digits(card, 2) && digits(domain, 4)).ok_or_else(wrong)?;
    let number = |text| u16::from_str_radix(text, 16).ok().and_then(|number| u8::try_from(number).ok());
    number(card).zip(number(domain)).ok_or_else(wrong)
}

impl Which {
    fn device(&self, folder: &Folder) -> Result<Device, Failure> {
        if let Some((card, domain)) = self.device {
            return Ok(Device { card, domain: Some(domain) });
        }
        let cards = cards(folder)?;
        match &cards[..] {
            [card] if card.queues.len() == 1 => Ok(Device { card: card.id, domain: Some(card.queues[0].domain) }),
            _ => Err(Failure::new("there are several domains: name one, as adjunct ep11 domains shows them")),
        }
    }

    fn order(&self, name: &str) -> Result<(Device, Value), Failure> {
        let folder = Folder::found();
        let device = self.device(&folder)?;
        Ok((device, order(&folder, device, json!({ "order": name }))?))
    }

    fn tell(&self, answer: &Value, line: &str) -> Result<ExitCode, Failure> {
        if self.json { output::print_json(answer) } else { output::print(&format!("{line}\n")) }?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The domain that is meant, or its card.
fn unit_of(which: &Which, card: bool) -> Result<Unit, Failure> {
    let device = which.device(&Folder::found())?;
    Ok(Unit::new(device.card, device.domain.unwrap_or_default(), !card))
}

/// Whether a domain has a wrapping key, as every program that may use its socket is told.
///
/// # Errors
/// Where it does not answer.
pub(crate) fn has_wrapping_key(card: u8, domain: u8) -> Result<bool, Failure> {
    let found = Unit::new(card, domain, true).query_any(adjunct_ep11_wire::admin::query::WK, &[])?;
    Ok(found.is_some())
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Dev(args) => dev::run(args),
        Command::Domains(args) => domains(args),
        Command::Cps(args) => admins::cps(args),
        Command::Admins(args) => admins::admins(args),
        Command::Wk(Wk { command }) => {
            let (which, name) = match command {
                WkCommand::Part(args) => return parts::new(args),
                WkCommand::Import(args) => return parts::import(args),
                WkCommand::Show(which) => (which, "wk-show"),
                WkCommand::Generate(Generate { in_use, which }) => {
                    (which, if *in_use { "wk-begin" } else { "wk-generate" })
                }
                WkCommand::Commit(which) => (which, "wk-commit"),
                WkCommand::Finalize(which) => (which, "wk-finalize"),
                WkCommand::Clear(which) => (which, "wk-clear"),
            };
            let (device, answer) = which.order(name)?;
            which.tell(&answer, &of_domain(device.card, &answer))
        }
    }
}

fn domains(args: &Domains) -> Result<ExitCode, Failure> {
    let folder = Folder::found();
    let (mut all, mut text) = (Vec::new(), String::new());
    for card in cards(&folder)? {
        for queue in &card.queues {
            let path = folder.domain_socket(Mode::Ep11, card.id, queue.domain);
            let device = Device { card: card.id, domain: Some(queue.domain) };
            let keys = order(&folder, device, json!({ "order": "wk-show" }));
            let access = std::fs::metadata(&path).ok().map(|found| (found.uid(), found.gid(), found.mode() & 0o777));
            let words = match &keys {
                Ok(keys) => of_domain(card.id, keys),
                Err(why) => format!("{:02x}.{:04x}  {why}", card.id, queue.domain),
            };
            let who = access.map_or_else(
                || "no socket".to_owned(),
                |(uid, gid, mode)| format!("owner {uid}, group {gid}, mode {mode:04o}"),
            );
            text += &format!("{words}\n         {}: {who}\n", shown(&path));
            all.push(json!({
                "card": card.id,
                "domain": queue.domain,
                "online": card.is_online() && queue.online,
                "socket": path.to_string_lossy(),
                "owner": access.map(|(uid, ..)| uid),
                "group": access.map(|(_, gid, _)| gid),
                "mode": access.map(|(.., mode)| format!("{mode:04o}")),
                "keys": keys.as_ref().ok(),
                "why": keys.as_ref().err().map(ToString::to_string),
            }));
        }
    }
    if args.json {
        output::print_json(&json!({ "domains": all }))
    } else {
        output::print(&format!("{text}{HONEST}\n"))
    }?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_tools_show_them() {
        assert_eq!(device("01.0005"), Ok((1, 5)));
        assert_eq!(device("a.ff"), Ok((10, 255)));
        for wrong in ["01", "01.", ".5", "001.0005", "01.0100", "01.00005", "+1.5", "0x1.5", ""] {
            assert!(device(wrong).is_err(), "{wrong}");
        }
    }
}
