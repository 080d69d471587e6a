//! Cards: adapters in processes of their own, which all programs of the machine share.
//!
//! * [`machine`]: the cards as tools show them.
//! * [`state`]: the file that shows them.
//! * [`control`]: what tools ask of the daemon.
//! * [`folder`]: the folder with these files and sockets.
//! * [`config`]: which cards there are.
//! * [`daemon`]: adjunctd. It holds what is configured and counted, no keys, and hands connections of programs to cards.
//! * [`card`]: a card's process.
//!
//! What tools read and ask is the crate `adjunct-card-state`.

pub mod card;
pub mod daemon;
mod link;
mod watch;

pub use adjunct_card_state::{arguments, config, control, folder, machine, state};
