//! What is spoken within TLS: a question, and an answer of [`LENGTH`] bytes.

use super::Application;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// Bytes that come from the server in each transaction.
pub const LENGTH: usize = 2048;

const GET: &[u8] = b"GET /data HTTP/1.0\r\nHost: localhost\r\n\r\n";
/// PostgreSQL's request for TLS, and what grants it.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// A session of protocol 3.0.
const STARTUP: &[u8] = b"\0\0\0\x26\0\x03\0\0user\0bench\0database\0postgres\0\0";
const QUERY: &[u8] = b"Q\0\0\0\x1dSELECT repeat('x', 2048)\0";
const TERMINATE: &[u8] = b"X\0\0\0\x04";

pub(super) trait Talk {
    /// The exchange on the connection before TLS begins.
    fn before(self, stream: &mut TcpStream) -> Result<(), String>;
    /// The talk inside TLS; it ends when the server closes.
    fn within(self, stream: &mut (impl Read + Write)) -> Result<(), String>;
}

pub(super) fn failed(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the server says nothing".to_owned(),
        ErrorKind::UnexpectedEof => "the server ended the connection".to_owned(),
        _ => crate::cause(error),
    }
}

impl Talk for Application {
    fn before(self, stream: &mut TcpStream) -> Result<(), String> {
        if self == Application::Postgres {
            let mut answer = [0];
            stream
                .write_all(&SSL_REQUEST)
                .and_then(|()| stream.read_exact(&mut answer))
                .map_err(|error| failed(&error))?;
            if answer != *b"S" {
                return Err("PostgreSQL refuses TLS".to_owned());
            }
        }
        Ok(())
    }

    fn within(self, stream: &mut (impl Read + Write)) -> Result<(), String> {
        match self {
            Application::Http => http(stream)?,
            Application::Postgres => postgres(stream)?,
        }
        // The server ends first, so that no port of a client stays taken. How it ends is its own affair.
        let mut rest = [0; 64];
        while stream.read(&mut rest).is_ok_and(|length| length > 0) {}
        Ok(())
    }
}

fn http(stream: &mut (impl Read + Write)) -> Result<(), String> {
    stream.write_all(GET).map_err(|error| failed(&error))?;
    let mut answer = [0; 2 * LENGTH];
    let mut length = 0;
    loop {
        match stream.read(&mut answer[length..]) {
            Ok(0) => return Err(format!("an answer of {length} bytes")),
            Ok(more) => length += more,
            Err(error) => return Err(failed(&error)),
        }
        let answer = &answer[..length];
        let Some(head) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        if answer.get(8..12) != Some(b" 200") {
            let line = answer.split(|&byte| byte == b'\r').next().unwrap_or_default();
            return Err(format!("HTTP: {}", String::from_utf8_lossy(line)));
        }
        if length - head - 4 == LENGTH {
            return Ok(());
        }
    }
}

fn postgres(stream: &mut (impl Read + Write)) -> Result<(), String> {
    stream.write_all(STARTUP).map_err(|error| failed(&error))?;
    let mut buffer = Vec::new();
    messages(stream, &mut buffer)?;
    stream.write_all(QUERY).map_err(|error| failed(&error))?;
    let longest = messages(stream, &mut buffer)?;
    if longest < LENGTH {
        return Err(format!("PostgreSQL: an answer of {longest} bytes"));
    }
    stream.write_all(TERMINATE).map_err(|error| failed(&error))
}

/// Reads messages until the server is ready for the next query; the length of the longest row. What came besides stays in `buffer`.
fn messages(stream: &mut (impl Read + Write), buffer: &mut Vec<u8>) -> Result<usize, String> {
    let mut longest = 0;
    loop {
        let (kind, text) = loop {
            if let Some(length) = buffer.get(1..5) {
                let length = u32::from_be_bytes(length.try_into().unwrap_or_default()) as usize + 1;
                if length > 16 * LENGTH {
                    return Err("PostgreSQL: a message that is too long".to_owned());
                }
                if buffer.len() >= length {
                    let rest = buffer.split_off(length);
                    let message = std::mem::replace(buffer, rest);
                    break (message[0], message);
                }
            }
            let mut more = [0; 2 * LENGTH];
            match stream.read(&mut more) {
                Ok(0) => return Err("PostgreSQL ended the session".to_owned()),
                Ok(length) => buffer.extend_from_slice(&more[..length]),
                Err(error) => return Err(failed(&error)),
            }
        };
        match kind {
            b'Z' => return Ok(longest),
            b'D' => longest = longest.max(text.len()),
            b'E' => {
                // Fields, each a letter and text; M is the message.
                let fields = text[5..].split(|&byte| byte == 0);
                let message = fields.clone().find_map(|field| field.strip_prefix(b"M")).unwrap_or_default();
                return Err(format!("PostgreSQL: {}", String::from_utf8_lossy(message)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that has said all before it is asked.
    struct Said<'a>(&'a [u8], Vec<u8>);

    impl Read for Said<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            // In pieces, as they come from a network.
            let piece = to.len().min(1000);
            self.0.read(&mut to[..piece])
        }
    }

    impl Write for Said<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn within(application: Application, said: &[u8]) -> (Result<(), String>, Vec<u8>) {
        let mut server = Said(said, Vec::new());
        (application.within(&mut server), server.1)
    }

    #[test]
    fn lengths_of_what_is_sent_are_right() {
        assert_eq!(STARTUP.len(), usize::from(STARTUP[3]));
        assert_eq!(QUERY.len(), 1 + usize::from(QUERY[4]));
    }

    #[test]
    fn an_answer_over_http_has_all_its_bytes() {
        let answer = |head: &str, length| [head.as_bytes(), b"\r\nServer: x\r\n\r\n", &vec![7; length]].concat();
        let (done, sent) = within(Application::Http, &answer("HTTP/1.1 200 OK", LENGTH));
        assert_eq!((done, sent.as_slice()), (Ok(()), GET));
        let (done, _) = within(Application::Http, &answer("HTTP/1.1 200 OK", LENGTH - 1));
        assert!(done.unwrap_err().starts_with("an answer of"));
        let (done, _) = within(Application::Http, &answer("HTTP/1.1 404 Not Found", LENGTH));
        assert_eq!(done.unwrap_err(), "HTTP: HTTP/1.1 404 Not Found");
    }

    #[test]
    fn an_answer_of_postgresql_has_all_its_bytes() {
        let message = |kind: u8, body: &[u8]| [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat();
        let hello = [message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), message(b'Z', b"I")].concat();
        let row = |length| [message(b'T', &[0; 30]), message(b'D', &vec![b'x'; length]), message(b'Z', b"I")].concat();
        let (done, sent) = within(Application::Postgres, &[hello.clone(), row(LENGTH)].concat());
        assert_eq!((done, sent), (Ok(()), [STARTUP, QUERY, TERMINATE].concat()));
        let (done, _) = within(Application::Postgres, &[hello, row(100)].concat());
        assert!(done.unwrap_err().starts_with("PostgreSQL: an answer"));
        let (done, _) = within(Application::Postgres, &message(b'E', b"SFATAL\0C28000\0Mno such user\0\0"));
        assert_eq!(done.unwrap_err(), "PostgreSQL: no such user");
    }
}
