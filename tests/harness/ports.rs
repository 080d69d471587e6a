//! Ports on loopback.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};

/// A listener at a free port that no other part of this program gets soon: between a test's finding a port free and its server's binding it, the
/// system would give the same one to any caller.
pub fn listener() -> TcpListener {
    static GIVEN: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = port(&listener);
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.contains(&port) {
            given.push_back(port);
            if given.len() > 500 {
                given.pop_front();
            }
            return listener;
        }
    }
}

/// A free port for a server that binds it itself.
pub fn free() -> u16 {
    port(&listener())
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("an address").port()
}

/// A port that refuses connections for as long as this lives: it is taken, and no socket listens there.
#[derive(Debug)]
pub struct Refusing {
    /// The port.
    pub port: u16,
    _holding: [TcpStream; 2],
}

impl Refusing {
    /// Takes a port.
    pub fn new() -> Refusing {
        let listener = listener();
        let port = port(&listener);
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection to ourselves");
        // The server's port, not the client's: that one the kernel may choose again, for who then connects to himself.
        let (accepted, _) = listener.accept().expect("a connection of ours");
        Refusing { port, _holding: [stream, accepted] }
    }
}

impl Default for Refusing {
    fn default() -> Refusing {
        Refusing::new()
    }
}
