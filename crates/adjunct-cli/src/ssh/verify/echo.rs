//! The other end of a session with this machine's own sshd: a listener on loopback, to which sshd forwards the connection (`ssh -W`, RFC 4254 7.2).
//! No shell of the account runs for it, so that none of its startup files is read.

use super::here::{Here, MARK};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;

/// The most connections that are served: one is sshd's, the others come from any program that finds the port.
const MOST: usize = 16;

/// A listener that sends back what it gets, until it is dropped.
#[derive(Debug)]
pub(super) struct Echo {
    /// The listening socket, of which only `shutdown` is used.
    socket: TcpStream,
    address: SocketAddr,
}

impl Echo {
    /// Starts the listener.
    ///
    /// # Errors
    /// [`Failure`]: no port, no thread.
    pub(super) fn start() -> Result<Echo, Failure> {
        let failed = |e: io::Error| Failure::new(format!("no listener on loopback: {}", cause(&e)));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let socket = TcpStream::from(OwnedFd::from(listener.try_clone().map_err(failed)?));
        thread::Builder::new().spawn(move || accept(&listener, address)).map_err(failed)?;
        Ok(Echo { socket, address })
    }

    /// Address of the listener, as `ssh -W` takes it.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // Ends the thread's accept.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, address: SocketAddr) {
    for _ in 0..MOST {
        let Ok((stream, peer)) = listener.accept() else { return };
        // Without a thread the connection is closed, and the session says that nothing came.
        let _ = thread::Builder::new().spawn(move || serve(stream, peer, address));
    }
}

/// Writes the line about the other side of the connection, then sends back all that comes.
fn serve(mut stream: TcpStream, peer: SocketAddr, address: SocketAddr) -> io::Result<()> {
    let Some((uid, pid)) = connected(peer, address) else { return Ok(()) };
    stream.write_all(introduction(uid, pid).as_bytes())?;
    io::copy(&mut &stream, &mut &stream)?;
    stream.shutdown(Shutdown::Write)
}

/// The line with which a session's command introduces itself, made for the process that made the connection. Root sees every process of the machine;
/// a process that root does not see, or sees in another container, counts elsewhere. Other users see only their own.
fn introduction(uid: u32, pid: Option<u32>) -> String {
    let Here { boot, ipc, pids } = Here::new();
    let its =
        pid.and_then(|pid| fs::read_link(format!("/proc/{pid}/ns/ipc")).ok()).map(|link| link.display().to_string());
    let root = rustix::process::geteuid().is_root();
    let ipc = its.unwrap_or_else(|| if root { "unknown".to_owned() } else { ipc });
    let pid = pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
    format!("{MARK}{boot} {ipc} {pids} {uid} {pid}\n")
}

/// The user of the socket on the other side of a connection over loopback, and the process that holds it, where this user may
/// see that.
fn connected(peer: SocketAddr, address: SocketAddr) -> Option<(u32, Option<u32>)> {
    let (SocketAddr::V4(peer), SocketAddr::V4(address)) = (peer, address) else { return None };
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let (uid, inode) = table.lines().find_map(|line| entry(line, peer, address))?;
    let socket = format!("socket:[{inode}]");
    let holds = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == socket.as_str()))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Some((uid, processes.find(holds)))
}

/// Owner and inode of the socket, where a line of /proc/net/tcp is of the one that is connected from `peer` to `address`
/// (proc_pid_net(5): the second and third field are local and remote address, the eighth the owner, the tenth the inode).
fn entry(line: &str, peer: SocketAddrV4, address: SocketAddrV4) -> Option<(u32, u64)> {
    // The address is a number of the machine's own byte order.
    let text = |a: SocketAddrV4| format!("{:08X}:{:04X}", u32::from_ne_bytes(a.ip().octets()), a.port());
    let words: Vec<&str> = line.split_whitespace().collect();
    let matches = words.get(1)? == &text(peer) && words.get(2)? == &text(address);
    matches.then_some(())?;
    Some((words.get(7)?.parse().ok()?, words.get(9)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh::verify::here::there;
    use std::io::Read;

    #[test]
    fn it_says_who_connected_and_sends_back() {
        let echo = Echo::start().unwrap();
        let mut stream = TcpStream::connect(echo.address()).unwrap();
        stream.write_all(b"some data").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let (there, rest) = there(&all).unwrap();
        assert_eq!((there.uid, there.pid), (rustix::process::geteuid().as_raw(), Some(std::process::id())));
        assert!(there.here);
        assert_eq!(&all[rest..], b"some data");
        let address = echo.address();
        drop(echo);
        assert!(adjunct_tool::process::wait_for(std::time::Duration::from_secs(5), || TcpStream::connect(&address)
            .is_err()));
    }

    #[test]
    fn a_line_of_the_table_is_read() {
        let (a, b) = (SocketAddrV4::new(Ipv4Addr::LOCALHOST, 43210), SocketAddrV4::new(Ipv4Addr::LOCALHOST, 22));
        let local = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        let line = format!(
            "  1: {local}:A8CA {local}:0016 01 00000000:00000000 02:000006D9 00000000  1000        0 4711 2 0 20 4 30 10 -1"
        );
        assert_eq!(entry(&line, a, b), Some((1000, 4711)));
        assert_eq!(entry(&line, b, a), None);
        assert_eq!(entry("  sl  local_address rem_address   st tx_queue", a, b), None);
        assert_eq!(entry("", a, b), None);
    }
}
