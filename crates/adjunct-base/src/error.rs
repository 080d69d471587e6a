//! The one error type of the core.

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
}
