//! `adjunct cards status`: one sentence on whether there are cards and how many operations they did; another on how many no card did, and why.

use super::coprocessor;
use adjunct::catalogue::{Queue, Refusal};
use adjunct::counters;
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Card, Machine};
use adjunct_card_state::state;
use adjunct_tool::{Failure, output};
use adjunct_ztools::cards::device::Device;
use adjunct_ztools::cards::tool::unreadable;
use serde_json::json;
use std::process::ExitCode;

/// Show in one sentence whether there are cards, and what they did
#[derive(Debug, clap::Args)]
#[command(after_help = "\
That adjunctd does not run is an answer, and not a failure: programs then do everything themselves.

Examples:
  adjunct cards status
  adjunct cards status --json | jq -e .running

Exit status: 0 done, 1 the state could not be read, 2 the command line is wrong.")]
pub(super) struct Args {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The number of operations that the cards did.
fn operations(machine: &Machine) -> u64 {
    let queues = machine.cards.iter().flat_map(|card| &card.queues);
    queues.flat_map(|queue| &queue.counters).fold(0, |sum, work| sum.wrapping_add(work.operations))
}

/// How many operations that were to go to cards were not done by one, by the reason, as programs counted them: of all users whose counters can
/// be read, which for root are all.
fn refused() -> Vec<(Refusal, u64)> {
    let users = counters::users().unwrap_or_default();
    let snapshots: Vec<_> = users.into_iter().filter_map(|uid| counters::read(uid).ok().flatten()).collect();
    let of = |refusal: Refusal| {
        let queues = snapshots.iter().flat_map(|snapshot| Queue::ALL.iter().map(|&(queue, _)| snapshot.lanes(queue)));
        queues.fold(0u64, |sum, lanes| sum.wrapping_add(lanes.not_on_card[refusal as usize]))
    };
    Refusal::ALL.into_iter().map(|refusal| (refusal, of(refusal))).collect()
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] where the state cannot be read.
pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let folder = Folder::found();
    let machine = match state::read(&folder.state()) {
        Ok(machine) => Some(machine),
        Err(state::Error::NotRunning) => None,
        Err(error) => return Err(Failure::new(unreadable(&error))),
    };
    let refused = refused();
    if args.json {
        let refused: serde_json::Map<_, _> =
            refused.iter().map(|(refusal, count)| (refusal.word().to_owned(), (*count).into())).collect();
        let cards = machine.as_ref().map(|machine| &machine.cards[..]).unwrap_or_default();
        output::print_json(&json!({
            "running": machine.is_some(),
            "cards": cards.len(),
            "online": cards.iter().filter(|card| card.is_online()).count(),
            "requests": cards.iter().fold(0u64, |sum, card| sum.wrapping_add(card.requests)),
            "operations": machine.as_ref().map_or(0, operations),
            "refused": refused,
            "remark": machine.as_ref().map_or("", |machine| &machine.remark),
            "remarks": remarks(cards),
            "unconfined": unconfined(cards).collect::<Vec<_>>(),
            "coprocessors": coprocessor::statuses(&folder, cards),
        }))?;
    } else {
        let sentence = machine.as_ref().map_or_else(not_running, sentence);
        let cards = machine.as_ref().map(|machine| &machine.cards[..]).unwrap_or_default();
        let coprocessors = coprocessor::sentences(&folder, cards);
        output::print(&format!("{sentence}\n{}{}{coprocessors}", of_cards(cards), reasons(&refused)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why cards do not serve that said so, by their numbers.
fn remarks(cards: &[Card]) -> serde_json::Map<String, serde_json::Value> {
    let told = cards.iter().filter(|card| !card.remark.is_empty());
    told.map(|card| (format!("{:02x}", card.id), card.remark.clone().into())).collect()
}

/// The cards whose processes run without a filter of system calls, by their numbers.
fn unconfined(cards: &[Card]) -> impl Iterator<Item = String> {
    cards.iter().filter(|card| card.confined == Some(false)).map(|card| format!("{:02x}", card.id))
}

/// A line for each card that does not serve and has said why, and one for those without a filter.
fn of_cards(cards: &[Card]) -> String {
    let told = cards.iter().filter(|card| !card.remark.is_empty());
    let why = |card: &Card| format!("Card {:02x}: {}\n", card.id, adjunct_tool::escape::shown(&card.remark));
    let mut text: String = told.map(why).collect();
    let unconfined: Vec<_> = unconfined(cards).collect();
    if !unconfined.is_empty() {
        text += "No filter of system calls is in force, which this architecture has not, in card ";
        text += &format!("{}.\n", unconfined.join(", "));
    }
    text
}

/// A line with the reasons; empty where there are none.
fn reasons(refused: &[(Refusal, u64)]) -> String {
    let all = refused.iter().fold(0u64, |sum, (_, count)| sum.wrapping_add(*count));
    let reasons: Vec<_> =
        refused.iter().filter(|(_, n)| *n != 0).map(|(refusal, n)| format!("{n} {}", refusal.text())).collect();
    if reasons.is_empty() {
        return String::new();
    }
    format!("Programs did {} themselves that no card did: {}.\n", count(all, "operation"), reasons.join(", "))
}

fn not_running() -> String {
    format!("There are no cards: {}.", "adjunctd does not run (`adjunct cards enable` starts it)")
}

fn sentence(machine: &Machine) -> String {
    let cards = &machine.cards;
    if cards.is_empty() {
        return match machine.remark.trim_end_matches('.') {
            "" => "adjunctd runs without a card.".to_owned(),
            remark => format!("adjunctd runs without a card: {}.", adjunct_tool::escape::shown(remark)),
        };
    }
    let off = cards.iter().filter(|card| !card.is_online()).map(|card| {
        let device = Device { card, queue: None };
        format!("{} {}", device.id(), device.status())
    });
    let off: Vec<_> = off.collect();
    let off = if off.is_empty() { String::new() } else { format!(" ({})", off.join(", ")) };
    let total = cards.len() as u64;
    let done = count(operations(machine), "operation");
    format!("adjunctd runs with {}{off}, which did {done} since counting began.", count(total, "card"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_said_where_there_are_any() {
        assert_eq!(reasons(&[(Refusal::Busy, 0)]), "");
        let refused = [(Refusal::Nobody, 1), (Refusal::Gone, 0), (Refusal::Silent, 2)];
        let said = "Programs did 3 operations themselves that no card did: 1 nobody listened, 2 no answer in time.\n";
        assert_eq!(reasons(&refused), said);
    }
}
