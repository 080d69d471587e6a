//! An open connection to a TPM.

use crate::wire;
use crate::{Fault, Result};
use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// The longest wait for a TPM on a socket, which is one in software.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of times that a command is repeated for which the TPM had no time.
const TRIES: u32 = 60;
/// The wait before it is repeated: 50 ms.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// An open connection to a TPM.
#[derive(Debug)]
pub struct Connection {
    file: OwnedFd,
    socket: bool,
}

/// An object or session in the TPM, until this is dropped.
#[derive(Debug)]
pub(crate) struct Flushed<'a> {
    pub connection: &'a Connection,
    pub number: u32,
}

impl Drop for Flushed<'_> {
    fn drop(&mut self) {
        // What stays is the kernel's to take out when the device is closed.
        let command = wire::command(wire::FLUSH_CONTEXT, &[], &[], &self.number.to_be_bytes());
        let _ = self.connection.transact(&command);
    }
}

impl Connection {
    /// Opens a device, or connects to the socket of a TPM in software.
    ///
    /// # Errors
    /// [`Fault::Absent`].
    pub fn open(path: &Path) -> Result<Connection> {
        let socket = FileType::from_raw_mode(rustix::fs::stat(path)?.st_mode) == FileType::Socket;
        if !socket {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
            return Ok(Connection { file: rustix::fs::open(path, flags, Mode::empty())?, socket });
        }
        let stream = UnixStream::connect(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Connection::over(stream.into())
    }

    /// Takes a descriptor that is open: of a device for reading and writing, or of a stream socket that is connected.
    ///
    /// # Errors
    /// [`Fault::Absent`].
    pub fn over(file: OwnedFd) -> Result<Connection> {
        let socket = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::Socket;
        if !socket {
            return Ok(Connection { file, socket });
        }
        let stream = UnixStream::from(file);
        let timed = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        timed.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Connection { file: stream.into(), socket })
    }

    /// What is to be taken out of the TPM when it is dropped.
    pub(crate) fn flushed(&self, number: u32) -> Flushed<'_> {
        Flushed { connection: self, number }
    }

    /// Gives a command; a response that tells of success.
    pub(crate) fn transact(&self, command: &[u8]) -> Result<Vec<u8>> {
        let mut tries = 0;
        loop {
            self.send(command)?;
            let answer = self.receive()?;
            match wire::response(&answer, false) {
                // TPM_RC_YIELDED, TESTING, RETRY, NV_RATE: later.
                Err(Fault::Refused(0x908 | 0x90a | 0x920 | 0x922)) if tries < TRIES => {
                    tries += 1;
                    // A wait that every filter of system calls lets pass.
                    let _ = poll(&mut [] as &mut [PollFd<'_>], Some(&PAUSE));
                }
                Err(Fault::Refused(code)) => return Err(Fault::Refused(code)),
                _ => return Ok(answer),
            }
        }
    }

    fn send(&self, mut command: &[u8]) -> Result<()> {
        while !command.is_empty() {
            let sent = if self.socket {
                // Without the signal for a peer that has gone.
                rustix::net::send(self.file.as_fd(), command, SendFlags::NOSIGNAL)
            } else {
                rustix::io::write(&self.file, command)
            };
            match sent {
                Ok(sent) => command = &command[sent..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn receive(&self) -> Result<Vec<u8>> {
        let mut room = Zeroizing::new([0; wire::LONGEST]);
        let mut got = 0;
        let wanted = |bytes: &[u8]| match bytes.get(2..6) {
            Some(length) => length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
            None => wire::HEAD,
        };
        while got < wanted(&room[..got]) {
            match rustix::io::read(&self.file, &mut room[got..]) {
                Ok(0) => return Err(Fault::Nonsense),
                Ok(more) => got += more,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(room[..got].to_vec())
    }
}
