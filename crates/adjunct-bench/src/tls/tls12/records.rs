//! TLS 1.2's records, in the clear and in AES-256-GCM (RFC 5288).

use super::super::application;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::io::{BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;

pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The longest record, with what encryption adds.
const LONGEST: usize = (1 << 14) + 2048;
const HEAD: usize = 5;
/// The part of a nonce that is sent, and the tag.
const EXPLICIT: usize = 8;
const TAG: usize = 16;

/// One direction's key.
pub struct Direction {
    key: LessSafeKey,
    salt: [u8; 4],
    sequence: u64,
}

impl Direction {
    /// Makes a direction of a key of 32 bytes and the 4 bytes of the nonce that are not sent.
    pub fn new(key: &[u8], salt: &[u8]) -> std::result::Result<Direction, String> {
        let wrong = || "a key that is none".to_owned();
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).map_err(|_| wrong())?);
        Ok(Direction { key, salt: salt.try_into().map_err(|_| wrong())?, sequence: 0 })
    }

    fn nonce(&self, explicit: [u8; EXPLICIT]) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.salt);
        nonce[4..].copy_from_slice(&explicit);
        Nonce::assume_unique_for_key(nonce)
    }

    /// The additional authenticated data of one record; counts its sequence number.
    fn additional(&mut self, kind: u8, length: usize) -> [u8; 13] {
        let mut data = [0; 13];
        data[..8].copy_from_slice(&self.sequence.to_be_bytes());
        data[8..11].copy_from_slice(&[kind, 3, 3]);
        data[11..].copy_from_slice(&(length as u16).to_be_bytes());
        self.sequence += 1;
        data
    }
}

/// A connection's records.
pub struct Records {
    stream: BufReader<TcpStream>,
    /// Bytes that wait to be sent.
    out: Vec<u8>,
    /// Handshake messages and data that have come and were not asked for.
    messages: Vec<u8>,
    data: Vec<u8>,
    /// The keys in force.
    pub sealing: Option<Direction>,
    pub opening: Option<Direction>,
}

fn wrong(words: &str) -> Error {
    Error::other(words)
}

impl Records {
    /// Makes the records of a new connection, without keys.
    pub fn new(stream: TcpStream) -> Records {
        let stream = BufReader::with_capacity(4096, stream);
        Records { stream, out: Vec::new(), messages: Vec::new(), data: Vec::new(), sealing: None, opening: None }
    }

    /// Adds a record to what is to be sent.
    ///
    /// # Errors
    /// Where it cannot be encrypted.
    pub fn put(&mut self, kind: u8, bytes: &[u8]) -> std::result::Result<(), String> {
        let Some(direction) = &mut self.sealing else {
            self.out.extend_from_slice(&[kind, 3, 3]);
            self.out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
            self.out.extend_from_slice(bytes);
            return Ok(());
        };
        let explicit = direction.sequence.to_be_bytes();
        let (nonce, additional) = (direction.nonce(explicit), direction.additional(kind, bytes.len()));
        let mut text = bytes.to_vec();
        let sealed = direction.key.seal_in_place_append_tag(nonce, Aad::from(additional), &mut text);
        sealed.map_err(|_| "AWS-LC refuses to encrypt".to_owned())?;
        self.out.extend_from_slice(&[kind, 3, 3]);
        self.out.extend_from_slice(&((EXPLICIT + text.len()) as u16).to_be_bytes());
        self.out.extend_from_slice(&explicit);
        self.out.extend_from_slice(&text);
        Ok(())
    }

    /// Sends the records that wait.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&mut self) -> std::result::Result<(), String> {
        let sent = self.stream.get_mut().write_all(&self.out);
        self.out.clear();
        sent.map_err(|error| application::failed(&error))
    }

    /// The next record: its kind, and its text in the clear.
    fn record(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head)?;
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if head[1] != 3 || length > LONGEST {
            return Err(wrong("the server does not speak TLS"));
        }
        let mut text = vec![0; length];
        self.stream.read_exact(&mut text)?;
        let kind = head[0];
        if let Some(direction) = &mut self.opening {
            let length = text.len().checked_sub(EXPLICIT + TAG).ok_or_else(|| wrong("a record that is too short"))?;
            let explicit: [u8; EXPLICIT] = text[..EXPLICIT].try_into().unwrap_or_default();
            let (nonce, additional) = (direction.nonce(explicit), direction.additional(kind, length));
            let opened = direction.key.open_in_place(nonce, Aad::from(additional), &mut text[EXPLICIT..]);
            opened.map_err(|_| wrong("a record that is not authentic"))?;
            text.drain(..EXPLICIT);
            text.truncate(length);
        }
        if kind == ALERT && text.get(1) != Some(&0) {
            return Err(wrong(&format!("the server's alert {}", text.get(1).copied().unwrap_or_default())));
        }
        Ok((kind, text))
    }

    /// The next handshake message, with its head.
    ///
    /// # Errors
    /// What the server's alert says, or the system.
    pub fn message(&mut self) -> std::result::Result<Vec<u8>, String> {
        loop {
            if let [_, first, second, third, ..] = self.messages[..] {
                let length = 4 + u32::from_be_bytes([0, first, second, third]) as usize;
                if self.messages.len() >= length {
                    let rest = self.messages.split_off(length);
                    return Ok(std::mem::replace(&mut self.messages, rest));
                }
            }
            match self.record().map_err(|error| application::failed(&error))? {
                (HANDSHAKE, text) => self.messages.extend(text),
                _ => return Err(super::malformed()),
            }
        }
    }

    /// The record after which the server encrypts.
    ///
    /// # Errors
    /// Where another comes.
    pub fn change_cipher_spec(&mut self) -> std::result::Result<(), String> {
        match self.record().map_err(|error| application::failed(&error))? {
            (CHANGE_CIPHER_SPEC, _) if self.messages.is_empty() => Ok(()),
            _ => Err(super::malformed()),
        }
    }
}

impl Read for Records {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        while self.data.is_empty() {
            match self.record()? {
                (DATA, text) => self.data = text,
                (ALERT, _) => return Ok(0),
                // A HelloRequest may be ignored.
                (HANDSHAKE, _) => {}
                _ => return Err(ErrorKind::InvalidData.into()),
            }
        }
        let length = to.len().min(self.data.len());
        to[..length].copy_from_slice(&self.data[..length]);
        self.data.drain(..length);
        Ok(length)
    }
}

impl Write for Records {
    fn write(&mut self, from: &[u8]) -> Result<usize> {
        let from = &from[..from.len().min(1 << 14)];
        self.put(DATA, from).and_then(|()| Records::flush(self)).map_err(Error::other)?;
        Ok(from.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
