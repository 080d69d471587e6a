//! Commands and queries that are sent: what a program would do by blocks and `m_admin`, in one call.

use super::blocks::{self, Failed, For, Said, error};
use crate::error::int;
use crate::library::{self, Library, Target};
use crate::transport::Transport;
use adjunct_ep11_wire::admin::{QUERY, command, query};
use adjunct_ep11_wire::codes::{control as c, rv};
use adjunct_ep11_wire::function::Function;
use zeroize::Zeroizing;

/// Bytes of a set of control points.
pub const POINTS: usize = 16;

/// A domain, or the card that it is of, which is asked.
pub struct Asked<'a, T> {
    /// The library.
    pub library: &'a Library<T>,
    /// The domain: no group.
    pub target: &'a Target,
    /// Its number.
    pub domain: u32,
    /// Whether the domain is meant, or the card.
    pub of_domain: bool,
}

/// A reply.
pub struct Replied(Zeroizing<Vec<u8>>);

impl Replied {
    /// What it says.
    ///
    /// # Errors
    /// XCP_EINVALID, for what is no reply.
    pub fn said(&self) -> Result<Said<'_>, Failed> {
        blocks::reply(&self.0)
    }
}

/// What signs a block: SignerInfos.
pub type Sign<'a> = dyn Fn(&[u8]) -> Result<Vec<u8>, Failed> + 'a;

impl<T: Transport> Asked<'_, T> {
    /// Sends a block.
    ///
    /// # Errors
    /// XCP_ERESPONSE where no card replies.
    fn send(&self, block: &[u8], signatures: &[u8]) -> Result<Replied, Failed> {
        let block = blocks::inward(block, !signatures.is_empty());
        match self.library.run(self.target, Function::Admin, &[&block, signatures]) {
            Ok(library::Said::Done(answer)) => {
                let reply = answer.result(0).map_err(|_| int::RESPONSE)?;
                Ok(Replied(Zeroizing::new(blocks::outward(reply).into_owned())))
            }
            _ => Err(int::RESPONSE.into()),
        }
    }

    /// Asks a query, without [`QUERY`]; the reply, which may be a refusal.
    ///
    /// # Errors
    /// XCP_ERESPONSE.
    pub fn ask(&self, number: u32, payload: &[u8]) -> Result<Replied, Failed> {
        self.send(&blocks::query(QUERY | number, self.domain, payload), &[])
    }

    /// Asks a query; the reply, which is none of a refusal.
    ///
    /// # Errors
    /// XCP_ERESPONSE; XCP_ADMERR_QUERY_FAILED.
    pub fn query(&self, number: u32, payload: &[u8]) -> Result<Replied, Failed> {
        let reply = self.ask(number, payload)?;
        if reply.said()?.rv == rv::OK { Ok(reply) } else { Err(Failed(error::QUERY_FAILED)) }
    }

    /// What a command is made for now.
    ///
    /// # Errors
    /// As for [`Asked::query`].
    pub fn state(&self) -> Result<Replied, Failed> {
        self.query(if self.of_domain { query::DOM_ATTRS } else { query::ATTRS }, &[])
    }

    /// Has a command done, for a state that is given or asked for; the reply.
    ///
    /// # Errors
    /// Those of [`Asked::state`] and of signing; XCP_ERESPONSE.
    pub fn order(
        &self,
        number: u32,
        of: Option<For>,
        payload: &[u8],
        sign: Option<&Sign<'_>>,
    ) -> Result<Replied, Failed> {
        let of = match of {
            Some(of) => of,
            None => self.now()?,
        };
        let block = blocks::command(number, &of, None, payload)?;
        let signatures = sign.map(|sign| sign(&block)).transpose()?.unwrap_or_default();
        self.send(&block, &signatures)
    }

    /// The state, as a command takes it.
    ///
    /// # Errors
    /// As for [`Asked::query`].
    pub fn now(&self) -> Result<For, Failed> {
        let reply = self.state()?;
        let head = reply.said()?.head;
        Ok(For { domain: head.domain, instance: head.instance, module: head.module, counter: head.counter })
    }

    /// Has a command done that is to succeed; its output.
    ///
    /// # Errors
    /// As for [`Asked::order`]; XCP_ADMERR_COMMAND_FAILED.
    pub fn done(&self, number: u32, payload: &[u8], sign: Option<&Sign<'_>>) -> Result<Vec<u8>, Failed> {
        let reply = self.order(number, None, payload, sign)?;
        let said = reply.said()?;
        if said.rv == rv::OK { Ok(said.output.to_vec()) } else { Err(Failed(error::COMMAND_FAILED)) }
    }

    /// The attributes: numbers and values.
    ///
    /// # Errors
    /// As for [`Asked::query`].
    pub fn attributes(&self) -> Result<Replied, Failed> {
        self.query(if self.of_domain { query::DOM_ATTRS } else { query::ATTRS }, &[])
    }

    /// An attribute.
    ///
    /// # Errors
    /// As for [`Asked::query`]; XCP_EARG for one that the card does not have.
    pub fn attribute(&self, number: u32) -> Result<u32, Failed> {
        let reply = self.attributes()?;
        let found = pairs(reply.said()?.output)?.find(|(of, _)| *of == number);
        found.map(|(_, value)| value).ok_or(int::ARG.into())
    }

    /// Sets bits of an attribute.
    ///
    /// # Errors
    /// As for [`Asked::done`].
    pub fn enable(&self, number: u32, bits: u32, sign: Option<&Sign<'_>>) -> Result<(), Failed> {
        let value = self.attribute(number)? | bits;
        let payload = [number, value].map(u32::to_be_bytes).concat();
        self.done(if self.of_domain { command::DOM_SET_ATTR } else { command::SET_ATTR }, &payload, sign).map(drop)
    }

    /// The domain's control points.
    ///
    /// # Errors
    /// XCP_ADMERR_CARD_CPS_QUERY for those of the card; as for [`Asked::query`]; XCP_EINVALID.
    pub fn points(&self) -> Result<(Replied, [u8; POINTS]), Failed> {
        if !self.of_domain {
            return Err(Failed(error::CARD_CPS));
        }
        let reply = self.query(query::DOM_CTRLPOINTS, &[])?;
        let mut points = [0; POINTS];
        let output = reply.said()?.output;
        points.get_mut(..output.len()).ok_or(int::INVALID)?.copy_from_slice(output);
        Ok((reply, points))
    }
}

/// The pairs of number and value in packed attributes.
///
/// # Errors
/// XCP_EINVALID for what are none.
pub fn pairs(packed: &[u8]) -> Result<impl Iterator<Item = (u32, u32)>, Failed> {
    let (words, rest) = packed.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(int::INVALID.into());
    }
    Ok(words.iter().map(|word| u64::from_be_bytes(*word)).map(|word| ((word >> 32) as u32, word as u32)))
}

/// A mode of compliance: its bit, the control points that it bars, and those that it needs.
type Mode = (u64, &'static [u8], &'static [u8]);

/// The modes, but for FIPS 2009, which every set of control points has.
const MODES: [Mode; 6] = [
    (2, &[c::NBSI2009, c::NON_ATTRBOUND], &[]),
    (4, &[c::NFIPS2011, 24, 29], &[]),
    (8, &[c::NBSI2011, c::NON_ATTRBOUND, 24], &[]),
    (
        0x40,
        &[c::NON_ATTRBOUND, c::RNG_SEED, 29, 37, 38, 39, 40, 41, 42, 43, 44, c::WRAP_RAW_SPKI],
        &[2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 21, 24, 25, 26, 27, 28, 30, 31, 32, 33, 34, 35, 36, 46, 47],
    ),
    (0x80, &[35, 24, 29, 68, 55, 65, 66, 67, 48, 60, 33, 70, 71, 8, 10, 73, 74], &[]),
    (0x100, &[35, 24, 29, 68, 55, 65, 66, 67, 48, 60, 33, 69, 70, 71, 8, 10, 73, 74], &[]),
];

fn has(points: &[u8; POINTS], point: u8) -> bool {
    points[usize::from(point / 8)] & 0x80 >> (point % 8) != 0
}

/// The modes that control points comply with.
pub fn compliance(points: &[u8; POINTS]) -> u64 {
    let complies = |(_, barred, needed): &&Mode| {
        !barred.iter().any(|point| has(points, *point)) && needed.iter().all(|point| has(points, *point))
    };
    MODES.iter().filter(complies).fold(1, |modes, (mode, ..)| modes | mode)
}

/// Control points changed so that they comply with modes.
///
/// # Errors
/// XCP_ADMERR_COMPLIANCE_MODE_CONFLICT where one bars what another needs, and for an unknown mode.
pub fn comply(points: &[u8; POINTS], modes: u64) -> Result<[u8; POINTS], Failed> {
    let conflict = Failed(error::COMPLIANCE_CONFLICT);
    let known = MODES.iter().fold(1, |known, (mode, ..)| known | mode);
    let mut points = *points;
    for (_, barred, needed) in MODES.iter().filter(|(mode, ..)| modes & mode != 0) {
        barred.iter().for_each(|point| points[usize::from(point / 8)] &= !(0x80 >> (point % 8)));
        needed.iter().for_each(|point| points[usize::from(point / 8)] |= 0x80 >> (point % 8));
    }
    if modes & !known == 0 && compliance(&points) & modes == modes { Ok(points) } else { Err(conflict) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_found_and_set() {
        let all = [0xff; POINTS];
        assert_eq!(compliance(&all), 1);
        for mode in [2, 4, 8, 0x80, 0x100, 2 | 4 | 8, 0x80 | 0x100] {
            let points = comply(&all, mode).unwrap();
            assert_eq!(compliance(&points) & mode, mode);
        }
        let conflict = Err(Failed(error::COMPLIANCE_CONFLICT));
        assert_eq!(comply(&all, 2 | 0x40), conflict);
        assert_eq!(comply(&all, 0x1000), conflict);
        assert_eq!(comply(&all, 1), Ok(all));
        assert_eq!(pairs(&[0, 0, 0, 3, 0, 0, 1, 0]).unwrap().collect::<Vec<_>>(), [(3, 256)]);
        assert!(pairs(&[0; 7]).is_err());
    }
}
