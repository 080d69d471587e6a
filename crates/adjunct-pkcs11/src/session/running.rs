//! Active operations, with the data that the interface keeps for each.

use super::authentication::Pin;
use crate::abi::args::{Out, Room};
use adjunct_mechanisms::operation::{Again, Follows};
use adjunct_mechanisms::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// An operation with the interface's data about it, on the heap: it is taken out of its session and put back with each call, and a move that reads
/// several words at once has to wait for words written a moment ago.
pub type Run<O> = Box<Running<O>>;

/// An active operation, with the interface's data about it.
pub struct Running<O: ?Sized> {
    pub mechanism: CK_MECHANISM_TYPE,
    /// Whether the user is to give the PIN once more first.
    pub pin: Pin,
    /// Parts have come.
    pub parts: bool,
    /// The result, where it did not fit into the caller's buffer.
    pub ready: Option<Zeroizing<Vec<u8>>>,
    /// The operation; `None` once the result is ready.
    pub operation: Option<Box<O>>,
    /// The message has ended.
    pub over: bool,
    /// Whether another message may follow.
    pub follows: Follows,
}

impl<O: ?Sized + Again> Running<O> {
    /// Makes the state of an operation that begins.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn begun(mechanism: CK_MECHANISM_TYPE, pin: Pin, operation: Box<O>) -> Result<Run<O>> {
        let follows = operation.follows();
        let (operation, parts, over) = (Some(operation), false, false);
        Ok(adjunct::memory::boxed(Running { mechanism, pin, parts, ready: None, operation, over, follows })?)
    }

    /// Makes the state of an operation that was saved.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn restored(mechanism: CK_MECHANISM_TYPE, parts: bool, operation: Box<O>) -> Result<Run<O>> {
        let mut running = Running::begun(mechanism, Pin::NOT_WANTED, operation)?;
        running.parts = parts;
        Ok(running)
    }
}

/// The operation that is left, if any, and the result of the call.
pub type Left<O, R = ()> = (Option<Run<O>>, Result<R>);

impl<O: ?Sized> Running<O> {
    /// The operation, for work.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN` where the PIN was not given; `CKR_OPERATION_ACTIVE` where its result waits to be fetched.
    pub fn operation(&mut self) -> Result<&mut O> {
        self.pin.was_given()?;
        self.operation.as_deref_mut().ok_or(Rv(CKR_OPERATION_ACTIVE))
    }

    /// Ends the operation: `produce` writes the result, of `needed` bytes at most, or of just as many where the operation is `exact`. Where the
    /// caller only asks for the length, the operation goes on. Where the buffer is too short, it goes on if the length is exact; else the result is
    /// made, since it may be shorter, and is kept for the next call if it does not fit. An operation whose PIN was not given ends without a result.
    pub fn end(
        mut self: Box<Self>,
        out: &mut Out<'_>,
        needed: usize,
        exact: impl FnOnce(&O) -> bool,
        produce: impl FnOnce(&mut O, &mut [u8]) -> Result<usize>,
    ) -> Left<O> {
        if self.ready.is_none() {
            match out.room(needed) {
                Ok(Room::Asked) => return (Some(self), Ok(())),
                Ok(Room::Here(room)) => {
                    let made = self.operation().and_then(|operation| produce(operation, room));
                    return match made {
                        Ok(length) => {
                            out.wrote(length);
                            self.over = true;
                            (Some(self), Ok(()))
                        }
                        Err(error) => (None, Err(error)),
                    };
                }
                Err(error) if self.operation.as_deref().is_none_or(exact) => return (Some(self), Err(error)),
                Err(_) => {
                    if let Err(error) = self.pin.was_given() {
                        return (None, Err(error));
                    }
                    let Some(mut operation) = self.operation.take() else { return (None, fail(CKR_FUNCTION_FAILED)) };
                    let made = adjunct::memory::zeros(needed).map_err(Rv::from).and_then(|mut all| {
                        let length = produce(&mut operation, &mut all)?;
                        all.truncate(length);
                        Ok(all)
                    });
                    match made {
                        Ok(all) => self.ready = Some(all),
                        Err(error) => return (None, Err(error)),
                    }
                }
            }
        }
        let Some(ready) = &self.ready else { return (None, fail(CKR_FUNCTION_FAILED)) };
        match out.room(ready.len()) {
            Ok(Room::Asked) => (Some(self), Ok(())),
            Ok(Room::Here(room)) => {
                room.copy_from_slice(ready);
                (None, Ok(()))
            }
            Err(error) => (Some(self), Err(error)),
        }
    }
}
