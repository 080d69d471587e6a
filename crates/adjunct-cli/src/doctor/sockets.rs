//! The processes that listen at a port, by `/proc/net/tcp` and `tcp6` and their descriptors.

use adjunct_survey::process::Processes;
use adjunct_tool::files;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::path::Path;

/// The state of a socket that listens (`TCP_LISTEN`).
const LISTENS: &str = "0A";

/// A place on the network, as `HOST:PORT` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// `HOST:PORT`, `[::1]:443` or `:443`; `None` where it is none.
    pub fn parse(text: &str) -> Option<Endpoint> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|&port| port > 0)?;
        let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if inner.is_none() && host.contains(':') {
            return None;
        }
        let host = inner.unwrap_or(host);
        Some(Endpoint { host: if host.is_empty() || host == "*" { "localhost" } else { host }.to_owned(), port })
    }

    /// Addresses of the endpoint.
    ///
    /// # Errors
    /// One line: it has none.
    pub fn addresses(&self) -> Result<Vec<IpAddr>, String> {
        // Not every root of a container has a file of hosts.
        if self.host.eq_ignore_ascii_case("localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        match (self.host.as_str(), self.port).to_socket_addrs() {
            Ok(all) => Ok(all.map(|address| address.ip()).collect()),
            Err(e) => Err(format!("{}: no such host ({e})", self.host)),
        }
    }
}

/// Whether an address is one of this machine's: only of such a one a socket can be bound.
pub fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// A socket that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    address: IpAddr,
    port: u16,
    inode: u64,
}

impl Listener {
    /// Whether a connection to this address and port reaches the listening socket.
    fn takes(&self, address: IpAddr, port: u16) -> bool {
        let any =
            self.address.is_unspecified() && (self.address.is_ipv4() == address.is_ipv4() || self.address.is_ipv6());
        self.port == port && (self.address == address || any)
    }
}

/// The sockets of `/proc/net/tcp` or `tcp6` that listen.
pub fn listeners(text: &str) -> Vec<Listener> {
    text.lines().skip(1).filter_map(listener).collect()
}

/// `sl local remote state tx:rx tr:when retransmits uid timeout inode ...`, addresses as hexadecimal words in the machine's order.
fn listener(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != LISTENS {
        return None;
    }
    let (address, port) = fields.get(1)?.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = address
        .as_bytes()
        .chunks(8)
        .map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok().map(u32::to_ne_bytes))
        .collect();
    let bytes = words?.concat();
    let address = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?)),
    };
    let address = address.to_canonical();
    Some(Listener { address, port: u16::from_str_radix(port, 16).ok()?, inode: fields.get(9)?.parse().ok()? })
}

/// Listeners at an address.
#[derive(Debug, Default)]
pub struct Found {
    /// The processes that hold such a socket.
    pub pids: Vec<u32>,
    /// Whether there is such a socket at all; without a process it belongs to another user, or to a container.
    pub listens: bool,
}

/// The processes that listen at one of the addresses. `proc` is the kernel's file system of processes.
pub fn find(proc: &Path, addresses: &[IpAddr], port: u16, processes: &Processes) -> Found {
    let mut inodes = BTreeSet::new();
    for name in ["net/tcp", "net/tcp6"] {
        let text = files::of_process(&proc.join(name)).unwrap_or_default();
        let all = listeners(&String::from_utf8_lossy(&text));
        inodes.extend(all.iter().filter(|l| addresses.iter().any(|&a| l.takes(a, port))).map(|l| l.inode));
    }
    let holds = |pid: u32| {
        let open = fs::read_dir(proc.join(pid.to_string()).join("fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| {
            let inode = link.to_str().and_then(|l| l.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok());
            inode.is_some_and(|inode| inodes.contains(&inode))
        })
    };
    let pids = processes.list.iter().map(|p| p.pid).filter(|&pid| !inodes.is_empty() && holds(pid)).collect();
    Found { pids, listens: !inodes.is_empty() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let of = |text| Endpoint::parse(text).map(|e| (e.host, e.port));
        assert_eq!(of("localhost:443"), Some(("localhost".into(), 443)));
        assert_eq!(of("[::1]:22"), Some(("::1".into(), 22)));
        assert_eq!(of(":8443"), Some(("localhost".into(), 8443)));
        for wrong in ["nginx", "::1", "a:0", "a:70000", "a:b", "/x:y"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn listeners_are_read() {
        let word = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let text = format!(
            "  sl  local_address rem_address   st\n   0: {}:0016 00000000:0000 0A 0:0 0:0 0 0 0 1234 1 0\n   1: {}:0050 \
             00000000:0000 01 0:0 0:0 0 0 0 99 1 0\n   2: {}:01BB 0:0 0A 0:0 0:0 0 0 0 77 1 0\nbroken\n",
            word([127, 0, 0, 1]),
            word([127, 0, 0, 1]),
            word([0; 4]).repeat(4),
        );
        let all = listeners(&text);
        assert_eq!(all.iter().map(|l| (l.port, l.inode)).collect::<Vec<_>>(), [(22, 1234), (443, 77)]);
        let here = IpAddr::from([127, 0, 0, 1]);
        assert!(all[0].takes(here, 22) && !all[0].takes(IpAddr::from([10, 0, 0, 1]), 22));
        assert!(all[1].takes(here, 443));
    }

    #[test]
    fn a_socket_of_this_process_is_found() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let found = find(Path::new("/proc"), &[IpAddr::from([127, 0, 0, 1])], port, &Processes::default());
        assert!(found.listens && found.pids.is_empty());
        assert!(is_here(IpAddr::from([127, 0, 0, 1])));
        // An address of documentation (RFC 5737).
        assert!(!is_here(IpAddr::from([192, 0, 2, 1])));
    }
}
