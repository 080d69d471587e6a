//! A domain, or the card that it is of, as administration by signed commands has it: what is asked, what is ordered, and why it was refused.

use super::signer::Signer;
use adjunct_ep11::admin::blocks::{Failed, For, reason};
use adjunct_ep11::admin::calls::{Asked, Replied, pairs};
use adjunct_ep11::library::{Library, Target};
use adjunct_ep11::targets::{Member, Members};
use adjunct_ep11::transport::Sockets;
use adjunct_tool::Failure;
use std::collections::BTreeMap;

/// Numbers of attributes.
pub(super) mod attribute {
    pub const SIGN_THRESHOLD: u32 = 1;
    pub const REVOKE_THRESHOLD: u32 = 2;
    pub const PERMISSIONS: u32 = 3;
    pub const MODE: u32 = 4;
}

/// The bit of the mode that is set when imprint mode is left.
const AUTHENTICATED: u32 = 1;

/// The domain, or the card by this domain's socket.
pub(super) struct Unit {
    library: Library<Sockets>,
    target: Target,
    pub card: u8,
    pub domain: u8,
    pub of_domain: bool,
}

/// Why a command was refused, in words.
fn words(reason: u32) -> Option<&'static str> {
    Some(match reason {
        1 => "the domain has no key that parts are encrypted for",
        2 | 3 | 4 | 6 | 7 | 10 | 20 | 23 => "the parts have another form than this card's",
        9 => "each part has to be signed by an administrator: give a --key for it",
        12 => "this domain's socket does not take unsigned commands of the card: that of the card's first domain does",
        13..=19 => "the card was changed meanwhile: say it again",
        22 => "a signature is of no administrator of it",
        28..=30 => "the parts do not fit together",
        31 => "the parts do not give the key whose pattern they name",
        33 => "there is no such administrator",
        34 | 85 => "the card has to leave imprint mode first: its administrators rule its domains (--card)",
        35 | 36 => "it is not in imprint mode",
        38 => "it is an administrator already",
        39 => "there is no room for another administrator",
        40 => "the certificate is none of RSA (2048 bits and more) or of P-256, P-384 or P-521, or its key is too weak",
        45 => "a control point among them is never on here",
        46 => "no control point is added: ADD_CPBS is off",
        47 => "no control point is taken away: DELETE_CPBS is off",
        49 => "it has no wrapping key",
        50 => "it has no next wrapping key",
        52 => "its permissions do not allow random wrapping keys",
        53 => "it has a next wrapping key: commit and finalize it, or clear it",
        56 => "outside of imprint mode the revocation threshold is one at least",
        57 | 58 => "there are fewer administrators than a threshold asks for",
        64 => "the next wrapping key is not committed",
        66 => "fewer administrators would be left than a threshold asks for",
        67 => "a single administrator would be left, and its permissions do not allow that",
        68 => "it is the last administrator",
        69..=72 | 74 => "it may not be changed any more",
        76 | 77 => "a threshold of zero is for imprint mode alone",
        78 | 79 => "its permissions do not allow a threshold of one",
        80 => "wrapping keys are not imported here, by its permissions or by cards.conf (dual-control, groups)",
        81 => "its permissions do not allow a wrapping key of a single part",
        90 => "there is no such control point",
        _ => return None,
    })
}

impl Unit {
    pub(super) fn new(card: u8, domain: u8, of_domain: bool) -> Unit {
        let members = Members::List(vec![Member { card, domain }]);
        Unit { library: Library::new(Sockets), target: Target { flags: 0, members }, card, domain, of_domain }
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match self.of_domain {
            true => format!("domain {:02x}.{:04x}", self.card, self.domain),
            false => format!("card {:02x}", self.card),
        }
    }

    fn asked(&self) -> Asked<'_, Sockets> {
        let (library, target) = (&self.library, &self.target);
        Asked { library, target, domain: self.domain.into(), of_domain: self.of_domain }
    }

    fn silent(&self) -> Failure {
        Failure::new(format!(
            "{:02x}.{:04x} does not answer: 'adjunct ep11 domains' says who may use its socket, 'adjunct cards status' what is wrong",
            self.card, self.domain
        ))
    }

    /// What a reply gives, or why it gives nothing.
    fn output(&self, reply: Result<Replied, Failed>) -> Result<Vec<u8>, Failure> {
        let reply = reply.map_err(|_| self.silent())?;
        let said = reply.said().map_err(|_| self.silent())?;
        if said.rv == 0 {
            return Ok(said.output.to_vec());
        }
        let why = match reason(&said) {
            21 => self.too_few(),
            code => words(code).map_or_else(|| format!("return value {:#x}, reason {code}", said.rv), str::to_owned),
        };
        Err(Failure::new(format!("{}: {why}", self.name())))
    }

    fn too_few(&self) -> String {
        let attributes = self.attributes().unwrap_or_default();
        match attributes.get(&attribute::SIGN_THRESHOLD) {
            _ if is_in_imprint(&attributes) => {
                "only its socket's owner and the groups of cards.conf may change it".to_owned()
            }
            Some(count) => format!("it takes the signatures of {count} of its administrators: give a --key for each"),
            None => "it takes signatures of administrators: give a --key for each".to_owned(),
        }
    }

    /// Asks a query.
    pub(super) fn query(&self, number: u32, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        self.output(self.asked().ask(number, payload))
    }

    /// Asks a query whose refusal says that there is nothing.
    pub(super) fn query_any(&self, number: u32, payload: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let reply = self.asked().ask(number, payload).map_err(|_| self.silent())?;
        let said = reply.said().map_err(|_| self.silent())?;
        Ok((said.rv == 0).then(|| said.output.to_vec()))
    }

    /// Has a command done that all of `signers` sign.
    pub(super) fn order(&self, number: u32, payload: &[u8], signers: &[Signer]) -> Result<Vec<u8>, Failure> {
        let sign = |block: &[u8]| {
            let infos = signers.iter().map(|signer| signer.info(block)).collect::<Result<Vec<_>, Failed>>()?;
            Ok(infos.concat())
        };
        self.output(self.asked().order(number, None, payload, Some(&sign)))
    }

    /// Has a command done for a state of before, unsigned.
    pub(super) fn order_for(&self, number: u32, of: For, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        self.output(self.asked().order(number, Some(of), payload, None))
    }

    /// What a command is made for now.
    pub(super) fn now(&self) -> Result<For, Failure> {
        self.asked().now().map_err(|_| self.silent())
    }

    /// Its attributes.
    pub(super) fn attributes(&self) -> Result<BTreeMap<u32, u32>, Failure> {
        let reply = self.asked().attributes().map_err(|_| self.silent())?;
        let said = reply.said().map_err(|_| self.silent())?;
        Ok(pairs(said.output).map_err(|_| self.silent())?.collect())
    }
}

/// Whether a unit with these attributes is in imprint mode: it has no administrators that rule it yet.
pub(super) fn is_in_imprint(attributes: &BTreeMap<u32, u32>) -> bool {
    attributes.get(&attribute::MODE).is_some_and(|mode| mode & AUTHENTICATED == 0)
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
