//! CSUACFV and CSUACFQ: what the coprocessor is, and the state of its master keys.

use crate::context::Context;
use crate::error::Result;
use crate::masters::{Domain, Set};
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// The version, of 8 characters: programs use what came with a version, so that it rises with what is built.
const VERSION: &[u8; 8] = b"7.1.0z  ";
/// The date of the build, as the library and the card both tell it.
const BUILT: &[u8; 8] = b"20261128";
/// The one role, which everybody has.
const ROLE: &[u8; 8] = b"DFLT0000";
pub(super) fn version(context: &mut Context<'_>) -> Result<Code> {
    let text = [&VERSION[..], BUILT, &[0]].concat();
    context.give(0, Zeroizing::new(text))?;
    Ok(Code::OK)
}

fn element(text: &[u8]) -> [u8; 8] {
    let mut out = [b' '; 8];
    out.iter_mut().zip(text).for_each(|(out, byte)| *out = *byte);
    out
}

/// NEW: 1 empty, 2 partly full, 3 full. CURRENT and OLD: 1 empty, 2 full.
fn states(set: &Set) -> [[u8; 8]; 3] {
    let new = match (&set.new, set.partial) {
        (Some(_), _) => b"3",
        (None, true) => b"2",
        (None, false) => b"1",
    };
    let full = |there: bool| element(if there { b"2" } else { b"1" });
    [element(new), full(set.current.is_some()), full(set.old.is_some())]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Query {
    Cca,
    CcaExtended,
    Aes,
    Apka,
    Card,
}

pub(super) fn facility(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 2)?;
    let query = rules.needed(&[
        (b"STATCCA ", Query::Cca),
        (b"STATCCAE", Query::CcaExtended),
        (b"STATAES ", Query::Aes),
        (b"STATAPKA", Query::Apka),
        (b"STATCRD2", Query::Card),
    ])?;
    rules.one(&[(b"ADAPTER ", ()), (b"ADAPTER1", ())])?;
    rules.end()?;
    let Domain { sym, asym, aes, apka, .. } = &*context.domain;
    let out: Vec<[u8; 8]> = match query {
        Query::Cca => [&states(sym)[..], &[*VERSION, *BUILT, *ROLE]].concat(),
        Query::CcaExtended => [&states(sym)[..], &[*VERSION, *BUILT, *ROLE], &states(asym)].concat(),
        Query::Aes => states(aes).to_vec(),
        Query::Apka => states(apka).to_vec(),
        Query::Card => card(&serial(context)),
    };
    context.results.set_bytes(0, &out.concat());
    Ok(Code::OK)
}

/// The serial number: 8 digits of what tells the card from all others.
fn serial(context: &Context<'_>) -> [u8; 8] {
    let state = context.module.masters().keeper().state();
    let digits: String = state.identity()[..4].iter().map(|byte| format!("{byte:02X}")).collect();
    element(digits.as_bytes())
}

/// Number of adapters, levels of DES and RSA, versions and sizes of hardware that is not there, the serial number.
fn card(serial: &[u8; 8]) -> Vec<[u8; 8]> {
    let mut out = vec![element(b""); 15];
    (out[0], out[4], out[14]) = (element(b"1"), element(b"adjunct"), *serial);
    out
}
