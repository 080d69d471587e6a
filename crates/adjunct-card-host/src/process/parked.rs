//! Connections that are refused and answered later: a program that connects again after each refusal would otherwise take a worker's time, and keep
//! others waiting to be accepted.
#![forbid(unsafe_code)]

use super::client::refuse;
use adjunct_card_protocol::frame::Service;
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time by which a refusal is delayed.
const WHILE: Duration = Duration::from_millis(200);
/// The most connections that are parked, and the divisor of the most connections in all.
const MOST: usize = 1024;
const PART: usize = 8;

/// Connections without a request, the oldest first, which a thread watches.
#[derive(Debug)]
pub struct Parked {
    all: VecDeque<(Instant, OwnedFd)>,
    most: usize,
    /// The service that refuses them.
    service: Service,
}

impl Parked {
    /// Makes an empty set, for a card with at most so many `connections` in all.
    pub fn new(connections: usize, service: Service) -> Parked {
        Parked { all: VecDeque::new(), most: MOST.min(connections / PART), service }
    }

    /// The most connections that are parked.
    pub fn most(&self) -> usize {
        self.most
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Parks a connection. Where there is no room it is refused at once, and `false` returned.
    pub fn park(&mut self, socket: OwnedFd, now: Instant) -> bool {
        if self.all.len() < self.most {
            self.all.push_back((now, socket));
            return true;
        }
        refuse(&socket, self.service);
        false
    }

    /// Refuses and closes the connections that have been parked for `WHILE`.
    pub fn release(&mut self, now: Instant) {
        while self.all.front().is_some_and(|(since, _)| now.duration_since(*since) >= WHILE) {
            if let Some((_, socket)) = self.all.pop_front() {
                refuse(&socket, self.service);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).unwrap()
    }

    fn received(program: &OwnedFd) -> Result<usize, Errno> {
        recv(program, &mut [0; 64][..], RecvFlags::DONTWAIT).map(|(length, _)| length)
    }

    #[test]
    fn a_refusal_is_told_after_a_while_and_at_once_where_there_is_no_room() {
        let (mut parked, begin) = (Parked::new(2 * PART, Service::Test), Instant::now());
        let programs: Vec<OwnedFd> = (0..3)
            .map(|number| {
                let (program, card) = pair();
                assert_eq!(parked.park(card, begin), number < 2);
                program
            })
            .collect();
        assert!(received(&programs[2]).unwrap() > 0);
        parked.release(begin + WHILE / 2);
        assert_eq!(received(&programs[0]), Err(Errno::AGAIN));
        parked.release(begin + WHILE);
        assert!(parked.is_empty());
        for program in &programs[..2] {
            assert!(received(program).unwrap() > 0);
            assert_eq!(received(program), Ok(0));
        }
    }
}
