//! The digest of a message that is signed or verified.

use super::Tally;
use crate::adapter::cpu::awslc::digest::Digest;
pub use crate::adapter::cpu::awslc::digest::{MAX_SIZE as MAX_DIGEST, Method};
use crate::catalogue::Direction;

/// The digest of a message, which passes through piece by piece. It counts as an operation of its own, beside the signature's.
#[derive(Debug, Clone)]
pub struct Signed {
    digest: Digest,
    length: usize,
}

impl Signed {
    /// Of a message of which nothing has passed.
    pub fn new(method: &'static Method) -> Signed {
        Signed { digest: Digest::new(method), length: 0 }
    }

    /// Takes the next piece.
    pub fn update(&mut self, data: &[u8]) {
        self.digest.update(data);
        self.length += data.len();
    }

    /// How much has passed, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The digest of what has passed, which may go on passing: the part of `out` that was written.
    pub fn digest<'a>(&self, out: &'a mut [u8; MAX_DIGEST]) -> &'a [u8] {
        let method = self.digest.method();
        self.digest.clone().finish(out);
        Tally::new(method.function, 0).count(Direction::Encrypt, self.length);
        &out[..method.size]
    }
}
