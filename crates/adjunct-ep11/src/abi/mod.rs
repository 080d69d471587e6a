//! The foreign layer: it turns C's pointers and lengths into slices and numbers, and results into return values. No panic leaves it.

pub mod administration;
pub mod attributes;
pub mod crypt;
pub mod der;
pub mod host;
pub mod keys;
pub mod mechanism;
pub mod modules;
pub mod orders;
pub mod session;
pub mod sign;
pub mod types;
pub mod wrapping;

use crate::error::Rv;
use crate::forms::{inward, outward};
use crate::library::{Library, Said, Target};
use crate::targets::{Member, Members, NONE, Named, flag};
use crate::transport::Sockets;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;
use adjunct_ossl::guard;
use std::ptr;
use types::{List, Ulong};

/// The library's state in this program.
pub(crate) static LIBRARY: Library<Sockets> = Library::new(Sockets);

/// The longest buffer that a caller may name.
const LONGEST: usize = i32::MAX as usize;

/// Runs a function that returns a CK_RV.
pub(crate) fn returns(body: impl FnOnce() -> Result<(), Rv>) -> Ulong {
    guard(Ulong::from(rv::IBM_INTERNAL_ERROR), || body().map_or_else(|failed| failed.0.into(), |()| 0))
}

/// A buffer to read. A null pointer is no buffer, whatever a length of 0 says.
///
/// # Errors
/// [`Rv::ARGUMENTS`] for a null pointer with a length, and for a length that no buffer has.
///
/// # Safety
/// The caller's buffer is readable for that length while the result lives.
pub(crate) unsafe fn input<'a>(data: *const u8, length: usize) -> Result<&'a [u8], Rv> {
    match length {
        0 => Ok(&[]),
        _ if data.is_null() || length > LONGEST => Err(Rv::ARGUMENTS),
        // SAFETY: the pointer is not null, and the caller's buffer is readable for that length while the result lives.
        _ => Ok(unsafe { std::slice::from_raw_parts(data, length) }),
    }
}

/// A structure or value to read; where it lies does not matter.
///
/// # Errors
/// [`Rv::ARGUMENTS`] for a null pointer.
///
/// # Safety
/// The pointer is null or leads to a `T`.
pub(crate) unsafe fn value<T: Copy>(pointer: *const T) -> Result<T, Rv> {
    if pointer.is_null() {
        return Err(Rv::ARGUMENTS);
    }
    // SAFETY: it is not null, so by the caller's word it leads to a `T`.
    Ok(unsafe { pointer.read_unaligned() })
}

/// A target.
///
/// # Errors
/// [`Rv::TARGET`] for one that is none.
///
/// # Safety
/// A target that names no domain and no group is the address of a list; one that is no address at all is found out where the system tells it.
pub(crate) unsafe fn target(target: u64) -> Result<Target, Rv> {
    if let Some(named) = Named::of(target) {
        return Ok(Target { flags: target & flag::ALL, members: LIBRARY.targets.members(named)? });
    }
    if target == NONE {
        return Err(Rv::TARGET);
    }
    let address = usize::try_from(target).map_err(|_| Rv::TARGET)?;
    // SAFETY: by the caller's word the list is readable, if it is one.
    let list = unsafe { list(address) }.ok_or(Rv::TARGET)?;
    // All domains that are there, where none is named.
    let List { length, pairs, .. } = list;
    let members = match usize::try_from(length).map_err(|_| Rv::TARGET)? {
        0 => LIBRARY.everybody(),
        count => {
            let pairs = pairs.get(..2 * count).ok_or(Rv::TARGET)?;
            let member = |pair: &[i16]| {
                let [card, domain] = [pair[0], pair[1]].map(|number| u8::try_from(number).map_err(|_| Rv::TARGET));
                Ok(Member { card: card?, domain: domain? })
            };
            pairs.chunks_exact(2).map(member).collect::<Result<_, Rv>>()?
        }
    };
    if members.is_empty() { Err(Rv::TARGET) } else { Ok(Target { flags: 0, members: Members::List(members) }) }
}

/// The list at an address; `None` where nothing is.
///
/// # Safety
/// A list is there, if the memory is readable at all.
unsafe fn list(address: usize) -> Option<List> {
    let mut list = List { format: 0, length: 0, pairs: [0; 512] };
    // Programs make lists as short as their count: only the head is sure to be there before it is known. The system copies, so that an address that is none is
    // no fault.
    let copy = |from: usize, to: *mut u8, bytes: usize| {
        let local = libc::iovec { iov_base: to.cast(), iov_len: bytes };
        let remote = libc::iovec { iov_base: from as *mut _, iov_len: bytes };
        // SAFETY: `to` has room for so many bytes; the other address is the system's to check.
        let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        match copied {
            -1 if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) => false,
            // A filter of system calls forbids it.
            -1 => {
                // SAFETY: by the caller's word a list is there, and `to` is memory of ours.
                unsafe { to.copy_from_nonoverlapping(from as *const u8, bytes) };
                true
            }
            copied => usize::try_from(copied) == Ok(bytes),
        }
    };
    const HEAD: usize = 4;
    copy(address, (&raw mut list).cast(), HEAD).then_some(())?;
    let length = list.length;
    let bytes = usize::try_from(length).ok().filter(|count| 2 * count <= 512)? * 4;
    copy(address.checked_add(HEAD)?, (&raw mut list.pairs).cast(), bytes).then_some(list)
}

/// A buffer of the caller's for a result, with its length.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    data: *mut u8,
    length: *mut usize,
    /// Results that programs see in the form of their machine.
    form: Form,
    /// The caller may pass no buffer and no length.
    optional: bool,
    /// A null buffer is an error, not a question for the length.
    no_question: bool,
}

/// In which form programs see a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Blob,
}

impl Out {
    /// A buffer for bytes that are alike on every machine.
    pub(crate) fn plain(data: *mut u8, length: *mut usize) -> Out {
        Out { data, length, form: Form::Plain, optional: false, no_question: false }
    }

    /// A buffer for a blob, a state or a public key.
    pub(crate) fn blob(data: *mut u8, length: *mut usize) -> Out {
        Out { form: Form::Blob, ..Out::plain(data, length) }
    }

    /// The caller may pass null for both.
    pub(crate) fn optional(self) -> Out {
        Out { optional: true, ..self }
    }

    /// A null buffer is an error.
    pub(crate) fn required(self) -> Out {
        Out { no_question: true, ..self }
    }

    fn is_left_out(self) -> bool {
        self.optional && self.length.is_null()
    }

    /// What can be told before anything is asked.
    ///
    /// # Safety
    /// As for [`Out::room`].
    unsafe fn check(self) -> Result<(), Rv> {
        let wrong = !self.is_left_out() && self.length.is_null() || self.no_question && self.data.is_null();
        // SAFETY: the caller's length.
        if wrong || unsafe { self.room() } > LONGEST && !self.data.is_null() { Err(Rv::ARGUMENTS) } else { Ok(()) }
    }

    /// Bytes that the caller has room for.
    ///
    /// # Safety
    /// The length is null or the caller's.
    pub(crate) unsafe fn room(self) -> usize {
        // SAFETY: the caller's length, where there is one.
        if self.length.is_null() { 0 } else { unsafe { self.length.read_unaligned() } }
    }

    /// Whether so many bytes fit, or nothing is to be written.
    ///
    /// # Safety
    /// As for [`Out::room`].
    unsafe fn fits(self, length: usize) -> bool {
        // SAFETY: the caller's length.
        self.is_left_out() || self.data.is_null() || length <= unsafe { self.room() }
    }

    /// Notes a length.
    ///
    /// # Safety
    /// As for [`Out::room`].
    unsafe fn note(self, length: usize) {
        if !self.length.is_null() {
            // SAFETY: the caller's length.
            unsafe { self.length.write_unaligned(length) };
        }
    }

    /// Writes a result that fits, and its length.
    ///
    /// # Safety
    /// The buffer is the caller's, of the length that it says.
    unsafe fn put(self, result: &[u8]) {
        // SAFETY: the result fits into the caller's buffer, as the caller of this has seen, and what a card has said is apart from it.
        unsafe {
            if !self.data.is_null() && !self.is_left_out() {
                ptr::copy_nonoverlapping(result.as_ptr(), self.data, result.len());
                if self.form == Form::Blob {
                    outward(std::slice::from_raw_parts_mut(self.data, result.len()));
                }
            }
            self.note(result.len());
        }
    }
}

/// Has a target do a function and writes the results to the caller's buffers: all of them, or, where one has no room, their lengths alone.
///
/// # Errors
/// What the card says, and what can be told without it; CKR_BUFFER_TOO_SMALL.
///
/// # Safety
/// The buffers are the caller's, of the lengths that they say.
pub(crate) unsafe fn call(target: &Target, function: Function, arguments: &[&[u8]], outs: &[Out]) -> Result<(), Rv> {
    // SAFETY: the caller's buffers.
    unsafe {
        outs.iter().try_for_each(|out| out.check())?;
        match LIBRARY.run(target, function, arguments)? {
            Said::Done(answer) => {
                let mut results = [&[][..]; 2];
                for (place, result) in results.iter_mut().enumerate().take(outs.len()) {
                    *result = answer.result(place)?;
                }
                give(outs, &results[..outs.len()])
            }
            said => captured(outs, said),
        }
    }
}

/// Has a target do a function that changes a state or an object of the caller's, which is the first argument and the first result, and keeps its length. It is
/// changed only where the other results fit too.
///
/// # Errors
/// As for [`call`]; [`Rv::DEVICE`] for one that does not keep its length.
///
/// # Safety
/// The state and the buffers are the caller's, of the lengths that they say.
pub(crate) unsafe fn change(
    target: &Target,
    function: Function,
    state: *mut u8,
    length: usize,
    arguments: &[&[u8]],
    outs: &[Out],
) -> Result<(), Rv> {
    // SAFETY: the caller's state and buffers; nothing refers to the state any more when it is written.
    unsafe {
        outs.iter().try_for_each(|out| out.check())?;
        let said = {
            let before = inward(input(state, length)?);
            let mut all: Vec<&[u8]> = vec![&before];
            all.extend_from_slice(arguments);
            LIBRARY.run(target, function, &all)?
        };
        let Said::Done(answer) = said else { return captured(outs, said) };
        let after = answer.result(0)?;
        if after.len() != length {
            return Err(Rv::DEVICE);
        }
        let results: Vec<&[u8]> = (0..outs.len()).map(|place| answer.result(place + 1)).collect::<Result<_, Rv>>()?;
        give(outs, &results)?;
        // Who asks for a length goes on with the state that there was.
        if outs.iter().all(|out| !out.data.is_null()) {
            let mut own = length;
            Out::blob(state, &raw mut own).put(after);
        }
        Ok(())
    }
}

/// Writes results.
///
/// # Errors
/// CKR_BUFFER_TOO_SMALL, and then no buffer is written to but all lengths are.
///
/// # Safety
/// The buffers are the caller's, of the lengths that they say.
pub(crate) unsafe fn give(outs: &[Out], results: &[&[u8]]) -> Result<(), Rv> {
    // SAFETY: the caller's buffers.
    unsafe {
        let fits = outs.iter().zip(results).all(|(out, result)| out.fits(result.len()));
        for (out, result) in outs.iter().zip(results) {
            if fits { out.put(result) } else { out.note(result.len()) }
        }
        if fits { Ok(()) } else { Err(Rv(rv::BUFFER_TOO_SMALL)) }
    }
}

/// Writes a request that was not to be sent to the first buffer.
///
/// # Errors
/// [`Rv::ARGUMENTS`] for a function without one; CKR_BUFFER_TOO_SMALL.
///
/// # Safety
/// The buffers are the caller's, of the lengths that they say.
pub(crate) unsafe fn captured(outs: &[Out], said: Said) -> Result<(), Rv> {
    let first = outs.first().ok_or(Rv::ARGUMENTS)?;
    // The request has no form.
    let first = Out { form: Form::Plain, ..*first };
    // SAFETY: the caller's buffers.
    unsafe {
        match said {
            Said::Captured(request) => give(&[first], &[&request]),
            Said::Length(length) => {
                first.note(length);
                Ok(())
            }
            Said::Done(_) => Err(Rv(rv::IBM_INTERNAL_ERROR)),
        }
    }
}
