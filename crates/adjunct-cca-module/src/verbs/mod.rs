//! The verbs.
//!
//! A verb is in the table when it works; all else is answered with 8/90, as by a card whose access control points for it are off.

mod build;
mod change;
mod clear;
mod des;
mod generate;
mod hash;
mod hmac;
mod mac;
mod master;
mod pka;
mod query;
mod random;
mod sym;
mod test;

use crate::context::Context;
use crate::error::{Result, fail};
use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::verb::Verb;

/// What does a verb: the code of one that is done, which may be a warning.
type Run = fn(&mut Context<'_>) -> Result<Code>;

/// What does a verb, and the access control point that it needs beside those of keywords.
fn find(verb: Verb) -> Option<(Run, Option<u16>)> {
    Some(match verb {
        Verb::CSUACFV => (query::version, None),
        Verb::CSUACFQ => (query::facility, None),
        Verb::CSNBMKP => (master::process, None),
        Verb::CSNBRNG => (random::eight, None),
        Verb::CSNBRNGL => (random::long, None),
        Verb::CSNBOWH => (hash::run, None),
        Verb::CSNBENC => (des::encipher, Some(0x000e)),
        Verb::CSNBDEC => (des::decipher, Some(0x000f)),
        Verb::CSNBSAE => (sym::encipher, Some(0x012a)),
        Verb::CSNBSAD => (sym::decipher, Some(0x012b)),
        Verb::CSNBMGN => (mac::generate, Some(0x0010)),
        Verb::CSNBMVR => (mac::verify, Some(0x0011)),
        Verb::CSNBHMG => (hmac::generate, None),
        Verb::CSNBHMV => (hmac::verify, None),
        Verb::CSNBMGN2 => (hmac::generate2, None),
        Verb::CSNBMVR2 => (hmac::verify2, None),
        Verb::CSNBCKI => (clear::des_data, Some(0x00c3)),
        Verb::CSNBCKM => (clear::data, None),
        Verb::CSNBKPI2 => (clear::parts, None),
        Verb::CSNBKGN => (generate::fixed, Some(0x008e)),
        Verb::CSNBKGN2 => (generate::variable, None),
        Verb::CSNBKIM => (generate::import, Some(0x0012)),
        Verb::CSNBKEX => (generate::export, Some(0x0013)),
        Verb::CSNBKTR => (generate::translate, Some(0x001b)),
        Verb::CSNBKTB => (build::fixed, None),
        Verb::CSNBKTB2 => (build::variable, None),
        Verb::CSNBKTC => (change::fixed, None),
        Verb::CSNBKTC2 => (change::variable, None),
        Verb::CSNBKYT2 => (test::run, None),
        Verb::CSNDPKB => (pka::build::run, None),
        Verb::CSNDPKG => (pka::generate, Some(0x0103)),
        Verb::CSNDPKX => (pka::extract, None),
        Verb::CSNDKTC => (pka::change, None),
        Verb::CSNDDSG => (pka::sign::generate, Some(0x0100)),
        Verb::CSNDDSV => (pka::sign::verify, Some(0x0101)),
        Verb::CSNDPKD => (pka::decipher, Some(0x011f)),
        Verb::CSNDPKE => (pka::encipher, Some(0x011e)),
        _ => return None,
    })
}

/// Does the verb of a request.
///
/// # Errors
/// Why not.
pub fn run(context: &mut Context<'_>) -> Result<Code> {
    let Some((run, point)) = find(context.request.verb) else { return fail(Code::ACCESS) };
    if let Some(point) = point {
        context.domain.allows(point)?;
    }
    run(context)
}
