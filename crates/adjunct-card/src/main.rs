//! `adjunctd`: the daemon of the cards, and by its first argument a card's process.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    adjunct_card_host::run(&adjunct_card::SERVICES)
}
