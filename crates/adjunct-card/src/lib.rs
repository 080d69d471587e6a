//! Cards: adapters in processes of their own, which all programs of the machine share.
//!
//! * [`machine`]: the cards as tools show them.
//! * [`state`]: the file that shows them.
//! * [`control`]: what tools ask of the daemon.
//! * [`folder`]: the folder with these files and sockets.
//! * [`config`]: which cards there are.
//! * [`daemon`]: adjunctd. It holds what is configured and counted, no keys, and hands connections of programs to cards.
//! * [`card`]: a card's process.
//! * [`arguments`]: its command line.

pub mod arguments;
pub mod card;
pub mod config;
pub mod control;
pub mod daemon;
pub mod folder;
mod link;
pub mod machine;
pub mod state;
mod watch;
