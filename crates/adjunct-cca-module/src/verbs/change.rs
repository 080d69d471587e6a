//! CSNBKTC and CSNBKTC2: tokens from the old master key to the current one (RTCMK), and before a change from the current to the new one (RTNMK).

use crate::context::{Context, seal_des};
use crate::error::{Fault, Result, ensure};
use crate::masters::Master;
use crate::token::{aes, variable as token};
use adjunct::InOut;
use adjunct::ops::cipher::once::{self, Aes};
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Current,
    New,
}

pub(super) const TO: [(&[u8; 8], To); 2] = [(b"RTCMK   ", To::Current), (b"RTNMK   ", To::New)];

fn new(master: &Option<Master>) -> Result<&Master> {
    master.as_ref().ok_or(Fault(Code::NO_MASTER_KEY))
}

pub(super) fn fixed(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 2)?;
    let to = rules.needed(&TO)?;
    let of_aes = rules.one(&[(b"AES     ", true), (b"DES     ", false)])?.unwrap_or(false);
    rules.end()?;
    let domain = context.domain.clone();
    if of_aes {
        let key = context.aes_data_key(1)?;
        if to == To::New {
            let master = new(&domain.aes.new)?;
            let mut wrapped = Zeroizing::new([0; 32]);
            wrapped[..key.len()].copy_from_slice(&key);
            once::cbc::<Aes, 16>(master.secret(), &mut [0; 16], true, InOut::in_place(&mut wrapped[..]))?;
            let token = aes::Token { contents: aes::Contents::Wrapped(master.mkvp(), *wrapped), length: key.len() };
            context.results.set_bytes(1, &token.to_bytes()[..]);
        }
    } else {
        let key = context.any_des_key(1)?;
        if to == To::New {
            let master = new(&domain.sym.new)?;
            let mut token = key.token.clone();
            token.mkvp = master.mkvp();
            seal_des(&mut token, master.wrapper()?, key.key())?;
            context.results.set_bytes(1, &token.to_bytes());
        }
    }
    // The token that comes back is what was asked for, and no warning.
    context.renewed = false;
    Ok(Code::OK)
}

pub(super) fn variable(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 2, 2)?;
    let to = rules.needed(&TO)?;
    let algorithm = rules.needed(&[(b"AES     ", token::Algorithm::Aes), (b"HMAC    ", token::Algorithm::Hmac)])?;
    rules.end()?;
    let (mut token, key) = context.variable_key(1)?;
    ensure(token.algorithm == algorithm, Code::KEYWORDS)?;
    if to == To::New {
        let domain = context.domain.clone();
        let master = new(&domain.aes.new)?;
        token.state = token::State::Wrapped(master.mkvp());
        token.payload = crate::aeskw::wrap(master.secret(), &token.associated(), &key, token.block(key.len()))?;
        context.results.set(1, token.to_bytes());
    }
    context.renewed = false;
    Ok(Code::OK)
}
