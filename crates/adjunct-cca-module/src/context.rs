//! What every verb has: the caller, the domain as it is, the parameters, and the keys in them.

use crate::Module;
use crate::error::{Fault, Result, ensure, fail};
use crate::masters::Domain;
use crate::rules::Rules;
use crate::token::{self, Class, aes, des, variable};
use crate::vector::Type;
use crate::wrap::Wrapper;
use crate::{aeskw, des as cipher};
use adjunct::InOut;
use adjunct::ops::cipher::once::{self, Aes};
use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::{Request, Results};
use adjunct_coprocessor::roles::Caller;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A key as bytes, wiped when it goes.
pub type Bytes = Zeroizing<Vec<u8>>;

/// A request that is being done.
pub struct Context<'a> {
    /// The module.
    pub module: &'a Module,
    /// Who asks.
    pub caller: &'a Caller,
    /// The number of the domain.
    pub number: u8,
    /// The domain as it was when the request began.
    pub domain: Arc<Domain>,
    /// The request.
    pub request: &'a Request<'a>,
    /// What is given back.
    pub results: Results,
    /// Whether the token of a key was re-enciphered: 0/10001.
    pub renewed: bool,
}

/// A DES key that was opened.
pub struct DesKey {
    /// What its token says.
    pub token: des::Token,
    key: cipher::Whole,
}

adjunct::opaque_debug!(DesKey);

impl DesKey {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key[..self.token.length]
    }
}

impl<'a> Context<'a> {
    /// The rule array, of so many keywords.
    ///
    /// # Errors
    /// 8/35.
    pub fn rules(&self, at: usize, least: usize, most: usize) -> Result<Rules<'a>> {
        Rules::new(self.request.bytes(at), least, most)
    }

    /// Bytes of a fixed number.
    ///
    /// # Errors
    /// 8/72 where the program gave no pointer.
    pub fn fixed<const N: usize>(&self, at: usize) -> Result<&'a [u8; N]> {
        self.request.bytes(at).first_chunk().ok_or(Fault(Code::LENGTH))
    }

    /// Sets a result, where it fits into the program's buffer.
    ///
    /// # Errors
    /// 8/72.
    pub fn give(&mut self, at: usize, bytes: Bytes) -> Result {
        ensure(bytes.len() <= self.request.room(at), Code::LENGTH)?;
        self.results.set(at, bytes);
        Ok(())
    }

    /// Gives a token back, wrapped by the current master key.
    pub(crate) fn renew(&mut self, at: usize, token: &[u8]) {
        self.results.set_bytes(at, token);
        self.renewed = true;
    }

    /// What an identifier is, which has to be the token of a key under the master key.
    pub(crate) fn operational(&self, at: usize) -> Result<&'a [u8]> {
        let identifier = self.request.bytes(at);
        match token::class(identifier)? {
            Class::Internal | Class::PkaInternal => Ok(identifier),
            // Key storage is the host's.
            Class::Label => fail(Code::LABEL),
            Class::Null | Class::External | Class::PkaExternal => fail(Code::TOKEN),
        }
    }

    /// Opens the DES key of an internal token, whatever it is for.
    ///
    /// # Errors
    /// 8/48, 12/764; as [`des::Token::parse`].
    pub fn any_des_key(&mut self, at: usize) -> Result<DesKey> {
        let token = des::Token::parse(self.operational(at)?)?;
        ensure(token.present && !token.external, Code::TOKEN)?;
        let domain = self.domain.clone();
        let (master, old) = domain.sym.opening(&token.mkvp)?;
        let mut key = cipher::Whole::default();
        let length = token.length;
        key[..length].copy_from_slice(&token.wrapped[..length]);
        master.wrapper()?.unwrap(token.method, &token.vectors, &mut key[..length])?;
        if old {
            let renewed = self.sealed_des(token.clone(), &key[..length])?;
            self.renew(at, &renewed.to_bytes());
        }
        Ok(DesKey { token, key })
    }

    /// Opens the DES key of an internal token, of one of some types.
    ///
    /// # Errors
    /// 8/39 for another type; as [`Context::any_des_key`].
    pub fn des_key(&mut self, at: usize, kinds: &[Type]) -> Result<DesKey> {
        let key = self.any_des_key(at)?;
        ensure(key.token.kind().is_some_and(|kind| kinds.contains(&kind)), Code::CONTROL_VECTOR)?;
        Ok(key)
    }

    /// A DES key under the master key in use.
    ///
    /// # Errors
    /// 12/764.
    pub fn sealed_des(&self, mut token: des::Token, key: &[u8]) -> Result<des::Token> {
        let master = self.domain.sym.sealing()?;
        (token.external, token.present, token.mkvp) = (false, true, master.mkvp());
        seal_des(&mut token, master.wrapper()?, key)?;
        Ok(token)
    }

    /// An AES DATA key under the master key in use.
    ///
    /// # Errors
    /// 12/764; 8/43 for a key of another length.
    pub fn sealed_aes(&self, key: &[u8]) -> Result<aes::Token> {
        ensure(matches!(key.len(), 16 | 24 | 32), Code::KEY_LENGTH)?;
        let master = self.domain.aes.sealing()?;
        let mut wrapped = [0; 32];
        wrapped[..key.len()].copy_from_slice(key);
        once::cbc::<Aes, 16>(master.secret(), &mut [0; 16], true, InOut::in_place(&mut wrapped))?;
        Ok(aes::Token { contents: aes::Contents::Wrapped(master.mkvp(), wrapped), length: key.len() })
    }

    /// A key in a token of variable length under the master key in use.
    ///
    /// # Errors
    /// 12/764; 8/43.
    pub fn sealed_variable(&self, mut token: variable::Token, key: &[u8]) -> Result<variable::Token> {
        let master = self.domain.aes.sealing()?;
        let block = token.block(key.len());
        (token.state, token.bits) = (variable::State::Wrapped(master.mkvp()), block * 8);
        token.payload = aeskw::wrap(master.secret(), &token.associated(), key, block)?;
        Ok(token)
    }

    /// Opens the key of a token of variable length, whatever it is for.
    ///
    /// # Errors
    /// 8/48, 12/764, 8/47; as [`variable::Token::parse`].
    pub fn variable_key(&mut self, at: usize) -> Result<(variable::Token, Bytes)> {
        let token = variable::Token::parse(self.operational(at)?)?;
        let variable::State::Wrapped(mkvp) = token.state else { return fail(Code::TOKEN) };
        let domain = self.domain.clone();
        let (master, old) = domain.aes.opening(&mkvp)?;
        let key = aeskw::unwrap(master.secret(), &token.associated(), &token.payload)?;
        ensure(token.block(key.len()) == token.payload.len(), Code::TOKEN)?;
        if old {
            let token = self.sealed_variable(token.clone(), &key)?;
            self.renew(at, &token.to_bytes());
        }
        Ok((token, key))
    }

    /// Opens an AES key that encrypts or decrypts: of a DATA or a CIPHER token.
    ///
    /// # Errors
    /// 8/39 for a key that may not; 8/48, 12/764; as the tokens are read.
    pub fn aes_key(&mut self, at: usize, encrypt: bool) -> Result<Bytes> {
        let identifier = self.operational(at)?;
        if variable::Token::is(identifier) {
            let (token, key) = self.variable_key(at)?;
            let bit = if encrypt { 0x8000 } else { 0x4000 };
            let may =
                token.usage.first().is_some_and(|usage| usage & bit != 0 && usage & 0x1000 == 0) && token.is_complete();
            let cipher = token.algorithm == variable::Algorithm::Aes && token.kind == variable::CIPHER;
            ensure(cipher && may, Code::CONTROL_VECTOR)?;
            return Ok(key);
        }
        self.aes_data_key(at)
    }

    /// Opens the key of an AES DATA token.
    ///
    /// # Errors
    /// 8/48, 12/764; as [`aes::Token::parse`].
    pub fn aes_data_key(&mut self, at: usize) -> Result<Bytes> {
        let token = aes::Token::parse(self.operational(at)?)?;
        let aes::Contents::Wrapped(mkvp, wrapped) = &token.contents else { return fail(Code::TOKEN) };
        let domain = self.domain.clone();
        let (master, old) = domain.aes.opening(mkvp)?;
        let mut key = Zeroizing::new(wrapped.to_vec());
        once::cbc::<Aes, 16>(master.secret(), &mut [0; 16], false, InOut::in_place(&mut key))?;
        let padding = key[token.length..].iter().fold(0, |all, byte| all | byte);
        ensure(padding == 0, Code::TOKEN)?;
        key.truncate(token.length);
        if old {
            let token = self.sealed_aes(&key)?;
            self.renew(at, &token.to_bytes()[..]);
        }
        Ok(key)
    }

    /// Opens an HMAC key that makes MACs, or verifies them.
    ///
    /// # Errors
    /// 8/39 for a key that may not; as [`Context::variable_key`].
    pub fn hmac_key(&mut self, at: usize, generate: bool) -> Result<Bytes> {
        let (token, key) = self.variable_key(at)?;
        let of_hmac = token.algorithm == variable::Algorithm::Hmac && token.kind == variable::MAC;
        let usage = token.usage.first().copied().unwrap_or(0);
        // A key that generates verifies too.
        let may = if generate { usage & 0x8000 != 0 } else { usage & 0xc000 != 0 };
        ensure(of_hmac && may && token.is_complete(), Code::CONTROL_VECTOR)?;
        Ok(key)
    }
}

/// Wraps a key into its token.
///
/// # Errors
/// 8/43 where it is not as long as the token says.
pub fn seal_des(token: &mut des::Token, under: &Wrapper, key: &[u8]) -> Result {
    ensure(key.len() == token.length, Code::KEY_LENGTH)?;
    token.wrapped = [0; 24];
    token.wrapped[..key.len()].copy_from_slice(key);
    let (method, vectors) = (token.method, token.vectors);
    let wrapped = under.wrap(method, &vectors, &mut token.wrapped[..key.len()]);
    if wrapped.is_err() {
        token.wrapped = [0; 24];
    }
    wrapped
}
