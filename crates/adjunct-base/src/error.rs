//! The one error type of the core.

use crate::catalogue::Refusal;

/// An error of the core, with the words that a user sees.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A word in a configuration value is not one of those known.
    #[error("{place}: unknown word '{word}'; known: {known}")]
    UnknownWord {
        /// Place of the word, for example `algorithms` or `ADJUNCT_CPU`.
        place: &'static str,
        /// The word itself.
        word: String,
        /// The words that would have been right.
        known: String,
    },
    /// A word in a configuration value is known and not taken.
    #[error("{place}: '{word}' is refused: {why}")]
    RefusedWord {
        /// Place of the word.
        place: &'static str,
        /// The word itself.
        word: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A key, nonce, tag or buffer has a length the algorithm does not take.
    #[error("{what}: {got} bytes, expected {expected}")]
    Length {
        /// The input of wrong length.
        what: &'static str,
        /// The length given, in bytes.
        got: usize,
        /// The lengths that are allowed.
        expected: &'static str,
    },
    /// An authentication tag, signature or padding does not verify.
    #[error("verification failed")]
    Verify,
    /// The CPU library has no such parameter (curve, size, digest): the caller falls back.
    #[error("not supported here: {0}")]
    Unsupported(&'static str),
    /// A key is not valid (point off the curve, even modulus, inconsistent factors, ...).
    #[error("invalid key: {0}")]
    InvalidKey(&'static str),
    /// The counters cannot be used; the text says why and what to do.
    #[error("counters of user {uid}: {cause}")]
    Counters {
        /// User whose counters they are.
        uid: u32,
        /// What is wrong and what to do.
        cause: String,
    },
    /// Memory ran out.
    #[error("out of memory")]
    Memory,
    /// The CPU library refused for no reason it tells (internal error, or memory).
    #[error("{0} failed")]
    Failed(&'static str),
    /// A key that only a card can use (protected or secure) does not do that: its reference is damaged, no card opens it, or the operation is none for
    /// such a key.
    #[error("key of a card: {0}")]
    CardKey(&'static str),
    /// A card has opened a key, and refused the input or the parameters of the operation.
    #[error("a card of mode {mode} refused the {what}")]
    CardInput {
        /// The mode of the card.
        mode: &'static str,
        /// The operation.
        what: &'static str,
    },
    /// No card does the operation that only a card can do.
    #[error("no card of mode {mode} answers: {}", why.text())]
    Device {
        /// The mode of the cards that were asked.
        mode: &'static str,
        /// What the last card that was asked did.
        why: Refusal,
    },
}

/// Who has to change something, so that an operation that failed succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The key: it is not valid, or does not do such operations.
    Key,
    /// The caller: its input, parameters or settings.
    Caller,
    /// The card that the key needs.
    Device,
    /// This process: memory, or what its CPU library has.
    Here,
}

impl Error {
    /// Who is at fault.
    pub const fn fault(&self) -> Fault {
        match self {
            Error::InvalidKey(_) | Error::CardKey(_) => Fault::Key,
            Error::Length { .. }
            | Error::Verify
            | Error::CardInput { .. }
            | Error::UnknownWord { .. }
            | Error::RefusedWord { .. } => Fault::Caller,
            Error::Device { .. } => Fault::Device,
            Error::Unsupported(_) | Error::Counters { .. } | Error::Memory | Error::Failed(_) => Fault::Here,
        }
    }

    /// Whether the operation may be done by something else, with the same bytes: OpenSSL's default provider, the function that was in a table before,
    /// software. Never where a card's key is concerned: the bytes that stand for it are none to compute with.
    pub const fn may_fall_back(&self) -> bool {
        !matches!(self, Error::CardKey(_) | Error::CardInput { .. } | Error::Device { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_who_is_at_fault_and_what_is_a_cards_stays_there() {
        let device = Error::Device { mode: "ep11", why: Refusal::Nobody };
        assert_eq!(device.to_string(), "no card of mode ep11 answers: nobody listened");
        let input = Error::CardInput { mode: "cca", what: "RSA operation" };
        for (error, fault) in [(device, Fault::Device), (Error::CardKey("damaged"), Fault::Key), (input, Fault::Caller)]
        {
            assert_eq!((error.fault(), error.may_fall_back()), (fault, false), "{error}");
        }
        for (error, fault) in [
            (Error::InvalidKey("even"), Fault::Key),
            (Error::Verify, Fault::Caller),
            (Error::Unsupported("size"), Fault::Here),
            (Error::Memory, Fault::Here),
        ] {
            assert_eq!((error.fault(), error.may_fall_back()), (fault, true), "{error}");
        }
    }
}
