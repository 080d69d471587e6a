//! What mechanisms give: operations that run a message in parts or at once.

use crate::mechanism::params::Params;
use crate::rv::{Result, fail};
use cryptoki_sys::CKR_SAVED_STATE_INVALID;
use zeroize::Zeroizing;

/// Whether another message may follow by the same operation, and as long as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// No other message may follow.
    Never,
    /// Another message may follow at any time.
    Always,
    /// Another message may follow as long as the key at this address is kept. The operation owns that key, so no other object gets the
    /// address.
    While {
        /// The address.
        key: usize,
        /// Whether only a user who is logged in sees the key.
        private: bool,
    },
}

/// The use of an operation for another message after its own has ended.
pub trait Again {
    /// Whether another message may follow, by [`Again::again`]. Of one that may, a short message takes a few microseconds at most.
    fn follows(&self) -> Follows {
        Follows::Never
    }

    /// Leaves nothing of a message that has ended.
    fn rest(&mut self) {}

    /// Begins another message with these parameters, without asking for memory and without computing anything. False where that cannot be:
    /// then it may be asked for another.
    fn again(&mut self, _params: &Params<'_>) -> bool {
        false
    }

    /// Where the message is, in as many bytes as it takes: for [`Again::resume`] of an operation that the same mechanism, key and direction began. It may be
    /// as secret as the message. The key is not in it. `None` for an operation whose message has to come at once.
    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    /// Goes on where another operation was ([`Again::running`]).
    ///
    /// # Errors
    /// `CKR_SAVED_STATE_INVALID` for what is none of such an operation.
    fn resume(&mut self, _running: &[u8]) -> Result {
        fail(CKR_SAVED_STATE_INVALID)
    }
}

/// Makes a signature or a MAC.
pub trait Signer: Again + Send {
    /// Takes a part of the data.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE` where the mechanism accepts no further data.
    fn update(&mut self, data: &[u8]) -> Result;

    /// The longest result, in bytes.
    fn length(&self) -> usize;

    /// Writes the result into `out`, [`Signer::length`] bytes; how long it is.
    ///
    /// # Errors
    /// As the mechanism has them.
    fn finish(&mut self, out: &mut [u8]) -> Result<usize>;

    /// All of a message at once, of which nothing has come yet: as [`Signer::update`] and [`Signer::finish`].
    ///
    /// # Errors
    /// As those.
    fn once(&mut self, data: &[u8], out: &mut [u8]) -> Result<usize> {
        self.update(data)?;
        self.finish(out)
    }

    /// The saved state (C_GetOperationState); `None` for an operation that cannot be saved.
    fn state(&self) -> Option<Zeroizing<Vec<u8>>> {
        None
    }
}

/// Checks a signature or a MAC.
pub trait Verifier: Again + Send {
    /// Takes a part of the data.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE` where the mechanism accepts no further data.
    fn update(&mut self, data: &[u8]) -> Result;

    /// Ends the message, and checks its signature or MAC.
    ///
    /// # Errors
    /// `CKR_SIGNATURE_INVALID`, `CKR_SIGNATURE_LEN_RANGE`.
    fn finish(&mut self, signature: &[u8]) -> Result;

    /// The saved state (C_GetOperationState); `None` for an operation that cannot be saved.
    fn state(&self) -> Option<Zeroizing<Vec<u8>>> {
        None
    }
}

/// Encrypts or decrypts.
pub trait Cipher: Again + Send {
    /// The most bytes that an update with `input` bytes more gives.
    fn update_length(&self, input: usize) -> usize;

    /// Takes a part, and writes its result; gives the result's length. `out` has [`Cipher::update_length`] bytes.
    ///
    /// # Errors
    /// As the mechanism has them.
    fn update(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize>;

    /// The most bytes that the end gives.
    fn final_length(&self) -> usize;

    /// Ends the message, and writes what is left; gives its length. `out` has [`Cipher::final_length`] bytes.
    ///
    /// # Errors
    /// As the mechanism has them.
    fn finish(&mut self, out: &mut [u8]) -> Result<usize>;

    /// Whether the lengths that the operation tells are those of the results. Else results may be shorter, which only shows when they are made.
    fn exact(&self) -> bool {
        true
    }

    /// The most bytes that a whole message gives at once.
    fn once_length(&self, input: usize) -> usize {
        self.update_length(input) + self.final_length()
    }

    /// All of a message at once, into `out` of [`Cipher::once_length`] bytes; how long that is.
    ///
    /// # Errors
    /// As the mechanism has them.
    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let written = self.update(input, out)?;
        let room = out.len() - written;
        let last = self.final_length().min(room);
        Ok(written + self.finish(&mut out[written..written + last])?)
    }
}

/// Hashes.
pub trait Digester: Again + Send {
    /// Takes a part of the data.
    fn update(&mut self, data: &[u8]);

    /// The length of the result, in bytes.
    fn size(&self) -> usize;

    /// Writes the result.
    fn finish(&mut self, out: &mut [u8]);

    /// The saved state (C_GetOperationState); `None` for an operation that cannot be saved.
    fn state(&self) -> Option<Zeroizing<Vec<u8>>>;
}
