//! How a request gets to a domain of a card.

use adjunct_card_protocol::coprocessor::{self, EP11_REQUEST, Place};
use adjunct_card_protocol::frame::Service;
use std::time::Duration;
use zeroize::Zeroizing;

pub use adjunct_card_protocol::coprocessor::Failed;

/// A way to domains of cards.
pub trait Transport {
    /// Has a domain do a request, which is waited for that long; its reply. Both are DER ([`adjunct_ep11_wire::message`]).
    ///
    /// # Errors
    /// [`Failed`] where there is no reply.
    fn call(&self, card: u8, domain: u8, request: &[u8], patience: Duration) -> Result<Zeroizing<Vec<u8>>, Failed>;

    /// The domains of a card that may be there, ascending.
    fn domains(&self) -> Vec<(u8, u8)>;
}

/// The sockets of the cards' daemon.
#[derive(Debug)]
pub struct Sockets;

impl Transport for Sockets {
    fn call(&self, card: u8, domain: u8, request: &[u8], patience: Duration) -> Result<Zeroizing<Vec<u8>>, Failed> {
        coprocessor::exchange(Service::Ep11, Place { card, domain }, EP11_REQUEST, request, patience)
    }

    fn domains(&self) -> Vec<(u8, u8)> {
        coprocessor::places(Service::Ep11).into_iter().map(|place| (place.card, place.domain)).collect()
    }
}
