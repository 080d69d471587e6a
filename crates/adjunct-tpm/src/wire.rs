//! Commands and responses of a TPM 2.0 as bytes (TPM 2.0 Library, part 1, 18; part 3): what sealing and counting need of them. Numbers are big endian.

use crate::Fault;

type Result<T> = std::result::Result<T, Fault>;

pub const NO_SESSIONS: u16 = 0x8001;
pub const SESSIONS: u16 = 0x8002;

/// Commands.
pub const CREATE_PRIMARY: u32 = 0x131;
pub const CREATE: u32 = 0x153;
pub const LOAD: u32 = 0x157;
pub const UNSEAL: u32 = 0x15e;
pub const NV_UNDEFINE_SPACE: u32 = 0x122;
pub const NV_DEFINE_SPACE: u32 = 0x12a;
pub const NV_INCREMENT: u32 = 0x134;
pub const NV_READ: u32 = 0x14e;
pub const NV_READ_PUBLIC: u32 = 0x169;
pub const FLUSH_CONTEXT: u32 = 0x165;
pub const START_AUTH_SESSION: u32 = 0x176;

/// Handles that are always there.
pub const OWNER: u32 = 0x4000_0001;
pub const NULL: u32 = 0x4000_0007;
pub const PASSWORD: u32 = 0x4000_0009;

/// Algorithms and a curve.
pub const AES: u16 = 0x6;
pub const KEYED_HASH: u16 = 0x8;
pub const SHA256: u16 = 0xb;
pub const NONE: u16 = 0x10;
pub const ECC: u16 = 0x23;
pub const CFB: u16 = 0x43;
pub const P256: u16 = 0x3;

/// No response is longer.
pub const LONGEST: usize = 4096;
/// Bytes that every command and response begins with: tag, length, code.
pub const HEAD: usize = 10;

/// Numbers and sized bytes, one behind the other.
#[derive(Debug, Default)]
pub struct Out(pub Vec<u8>);

impl Out {
    pub fn u8(mut self, value: u8) -> Out {
        self.0.push(value);
        self
    }

    pub fn u16(mut self, value: u16) -> Out {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Out {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Out {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends a length and the bytes. None of ours are longer than the length can say.
    pub fn sized(self, bytes: &[u8]) -> Out {
        self.u16(bytes.len() as u16).bytes(bytes)
    }
}

/// The bytes of a command: header, handles, sessions and parameters.
pub fn command(code: u32, handles: &[u32], sessions: &[u8], parameters: &[u8]) -> Vec<u8> {
    let session_bytes = if sessions.is_empty() { 0 } else { 4 + sessions.len() };
    let length = HEAD + 4 * handles.len() + session_bytes + parameters.len();
    let tag = if sessions.is_empty() { NO_SESSIONS } else { SESSIONS };
    let mut out = Out::default().u16(tag).u32(length as u32).u32(code);
    for handle in handles {
        out = out.u32(*handle);
    }
    if !sessions.is_empty() {
        out = out.u32(sessions.len() as u32).bytes(sessions);
    }
    out.bytes(parameters).0
}

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub struct In<'a>(pub &'a [u8]);

impl<'a> In<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(Fault::Nonsense)?;
        self.0 = rest;
        Ok(front)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Fault::Nonsense)
    }

    pub fn u16(&mut self) -> Result<u16> {
        self.number().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.number().map(u32::from_be_bytes)
    }

    /// Takes a length and the bytes behind it.
    pub fn sized(&mut self) -> Result<&'a [u8]> {
        let length = self.u16()?;
        self.take(length.into())
    }
}

/// A response that reports success.
#[derive(Debug)]
pub struct Response<'a> {
    pub handle: Option<u32>,
    pub parameters: &'a [u8],
    /// The response of the session that authorized the command: its nonce, its attributes, its HMAC.
    pub session: Option<(&'a [u8], u8, &'a [u8])>,
}

/// Takes a response apart; `handle`: one stands in it.
///
/// # Errors
/// [`Fault::Refused`] with the TPM's code; [`Fault::Nonsense`].
pub fn response(bytes: &[u8], handle: bool) -> Result<Response<'_>> {
    let mut rest = In(bytes);
    let (tag, length, code) = (rest.u16()?, rest.u32()?, rest.u32()?);
    if length as usize != bytes.len() || !matches!(tag, NO_SESSIONS | SESSIONS) {
        return Err(Fault::Nonsense);
    }
    if code != 0 {
        return Err(Fault::Refused(code));
    }
    let handle = if handle { Some(rest.u32()?) } else { None };
    if tag == NO_SESSIONS {
        return Ok(Response { handle, parameters: rest.0, session: None });
    }
    let length = rest.u32()?;
    let parameters = rest.take(usize::try_from(length).map_err(|_| Fault::Nonsense)?)?;
    let session = (rest.sized()?, rest.take(1)?[0], rest.sized()?);
    if rest.0.is_empty() { Ok(Response { handle, parameters, session: Some(session) }) } else { Err(Fault::Nonsense) }
}

/// The point of a public key on a curve, in the public area of the storage key.
///
/// # Errors
/// [`Fault::Nonsense`] of another kind of key.
pub fn point(public: &[u8]) -> Result<[&[u8]; 2]> {
    let mut rest = In(public);
    let (kind, hash) = (rest.u16()?, rest.u16()?);
    rest.u32()?;
    rest.sized()?;
    let (cipher, bits, mode) = (rest.u16()?, rest.u16()?, rest.u16()?);
    let (scheme, curve, kdf) = (rest.u16()?, rest.u16()?, rest.u16()?);
    let point = [rest.sized()?, rest.sized()?];
    let expected = (kind, hash, cipher, bits, mode) == (ECC, SHA256, AES, 128, CFB);
    let expected = expected && (scheme, curve, kdf) == (NONE, P256, NONE) && rest.0.is_empty();
    if expected && point.iter().all(|part| part.len() <= 32) { Ok(point) } else { Err(Fault::Nonsense) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_cut_or_longer_is_none() {
        let whole = Out::default().u16(SESSIONS).u32(0).u32(0).u32(7).u32(3).bytes(b"abc").sized(b"nonce").u8(1);
        let mut whole = whole.sized(b"hmac").0;
        let length = whole.len() as u32;
        whole[2..6].copy_from_slice(&length.to_be_bytes());
        let read = response(&whole, true).unwrap();
        assert_eq!((read.handle, read.parameters), (Some(7), &b"abc"[..]));
        assert_eq!(read.session, Some((&b"nonce"[..], 1, &b"hmac"[..])));
        for cut in 0..whole.len() {
            let mut bytes = whole[..cut].to_vec();
            assert_eq!(response(&bytes, true).err(), Some(Fault::Nonsense), "{cut}");
            if cut >= 6 {
                bytes[2..6].copy_from_slice(&(cut as u32).to_be_bytes());
                assert_eq!(response(&bytes, true).err(), Some(Fault::Nonsense), "{cut}");
            }
        }
        let refused = Out::default().u16(NO_SESSIONS).u32(10).u32(0x98e).0;
        assert_eq!(response(&refused, false).err(), Some(Fault::Refused(0x98e)));
    }
}
