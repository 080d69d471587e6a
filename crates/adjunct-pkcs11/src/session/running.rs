//! Operations that run, and what the interface knows of them.

use crate::abi::args::{Out, Room};
use crate::operation::{Again, Follows};
use crate::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// An operation, and what the interface knows of it. In memory of its own: it is taken out of its session and put back with each call, and of
/// what was written in words a moment ago a move that reads more at once has to wait.
pub type Run<O> = Box<Running<O>>;

/// What [`Run`] is a box of.
pub struct Running<O: ?Sized> {
    pub mechanism: CK_MECHANISM_TYPE,
    /// The user is to give the PIN once more first (CKA_ALWAYS_AUTHENTICATE).
    pub locked: bool,
    /// Parts have come.
    pub parts: bool,
    /// The result, where it did not fit into what the caller had for it.
    pub ready: Option<Zeroizing<Vec<u8>>>,
    /// None once the result is ready.
    pub operation: Option<Box<O>>,
    /// The message has ended.
    pub over: bool,
    /// Whether another message may follow.
    pub follows: Follows,
}

impl<O: ?Sized + Again> Running<O> {
    /// One that begins.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn begun(mechanism: CK_MECHANISM_TYPE, locked: bool, operation: Box<O>) -> Result<Run<O>> {
        let follows = operation.follows();
        let (operation, parts, over) = (Some(operation), false, false);
        Ok(adjunct::memory::boxed(Running { mechanism, locked, parts, ready: None, operation, over, follows })?)
    }

    /// One that was saved.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn restored(mechanism: CK_MECHANISM_TYPE, parts: bool, operation: Box<O>) -> Result<Run<O>> {
        let mut running = Running::begun(mechanism, false, operation)?;
        running.parts = parts;
        Ok(running)
    }
}

/// What is left of an operation, with its message or without, and what the call comes to.
pub type Left<O, R = ()> = (Option<Run<O>>, Result<R>);

impl<O: ?Sized> Running<O> {
    /// The operation.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` where its result waits to be fetched.
    pub fn operation(&mut self) -> Result<&mut O> {
        self.operation.as_deref_mut().ok_or(Rv(CKR_OPERATION_ACTIVE))
    }

    /// Ends it: `produce` writes the result, of `needed` bytes at most, or of just as many where the operation is `exact`. Where the caller only asks for
    /// the length it goes on. Where there is less room, so it does if the length is exact; else the result is made, for it may be shorter, and
    /// is kept for the next call if it is not.
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
                    let Some(operation) = &mut self.operation else { return (None, fail(CKR_FUNCTION_FAILED)) };
                    return match produce(operation, room) {
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
