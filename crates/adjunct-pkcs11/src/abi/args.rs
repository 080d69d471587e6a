//! What callers pass, as references: checked as far as pointers can be.

use adjunct_mechanisms::object::attributes::{Attributes, Value};
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;

/// The most attributes of a template, and the deepest that templates may lie in templates.
const MOST_ATTRIBUTES: CK_ULONG = 1024;
const DEEPEST: usize = 4;
/// No buffer of a program is as long.
const LONGEST: CK_ULONG = 1 << 46;

/// What a pointer points to.
///
/// # Safety
/// Unless it is null, it is a `T` that lives, and is nobody else's, for as long as the result is used.
pub unsafe fn value<'a, T>(pointer: *mut T) -> Result<&'a mut T> {
    ensure(!pointer.is_null() && pointer.is_aligned(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: not null and aligned, both checked here; the caller guarantees a live `T` there, which nobody else uses as long as the result.
    Ok(unsafe { &mut *pointer })
}

/// A slice of `length` values; empty for a length of 0, whatever the pointer.
///
/// # Safety
/// Unless it is null or the length 0, so many `T` live there for as long as the result is used, which nobody changes.
pub unsafe fn slice<'a, T>(pointer: *const T, length: CK_ULONG) -> Result<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    ensure(!pointer.is_null() && pointer.is_aligned() && length < LONGEST, CKR_ARGUMENTS_BAD)?;
    // SAFETY: not null, aligned and not too long, all checked here; the caller guarantees `length` live values there, which nobody changes as
    // long as the result is used.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length as usize) })
}

/// A slice of `length` values to write to.
///
/// # Safety
/// Unless it is null or the length 0, so many `T` live there for as long as the result is used, and are nobody else's.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, length: CK_ULONG) -> Result<&'a mut [T]> {
    if length == 0 {
        return Ok(&mut []);
    }
    ensure(!pointer.is_null() && pointer.is_aligned() && length < LONGEST, CKR_ARGUMENTS_BAD)?;
    // SAFETY: not null, aligned and not too long, all checked here; the caller guarantees `length` live values there, which nobody else uses as
    // long as the result is used.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length as usize) })
}

/// The attributes of a template, copied.
///
/// # Safety
/// Unless it is null or the count 0, so many attributes live there, each with a value of the length that it states, and nobody changes them
/// during the call.
pub unsafe fn template(pointer: *const CK_ATTRIBUTE, count: CK_ULONG) -> Result<Attributes> {
    // SAFETY: the caller guarantees that `count` attributes live at `pointer`, each with a value of the length that it states.
    unsafe { template_within(pointer, count, 0) }
}

unsafe fn template_within(pointer: *const CK_ATTRIBUTE, count: CK_ULONG, depth: usize) -> Result<Attributes> {
    ensure(count <= MOST_ATTRIBUTES && depth < DEEPEST, CKR_ARGUMENTS_BAD)?;
    let mut attributes = Attributes::default();
    // SAFETY: the caller of `template` guarantees that `count` attributes live at `pointer`, and so does for each list that is a value.
    for attribute in unsafe { slice(pointer, count)? } {
        let invalid = |_| Rv(CKR_ATTRIBUTE_VALUE_INVALID);
        let value = if Attributes::is_template(attribute.type_) {
            let size = size_of::<CK_ATTRIBUTE>() as CK_ULONG;
            ensure(attribute.ulValueLen.is_multiple_of(size), CKR_ATTRIBUTE_VALUE_INVALID)?;
            let nested = attribute.pValue.cast::<CK_ATTRIBUTE>();
            // SAFETY: the caller of `template` guarantees that the value, here a list of attributes, is as long as the attribute states.
            Value::Template(Box::new(unsafe { template_within(nested, attribute.ulValueLen / size, depth + 1)? }))
        } else {
            // SAFETY: the caller of `template` guarantees that the value is as long as the attribute states.
            let bytes = unsafe { slice(attribute.pValue.cast::<u8>(), attribute.ulValueLen) }.map_err(invalid)?;
            Value::bytes(attribute.type_, bytes)?
        };
        ensure(attributes.insert(attribute.type_, value).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
    }
    Ok(attributes)
}

/// A caller's buffer for a result whose length the caller may only ask for.
#[derive(Debug)]
pub struct Out<'a> {
    buffer: *mut u8,
    /// Bytes of the caller's buffer.
    given: CK_ULONG,
    length: &'a mut CK_ULONG,
}

/// The room that the caller has.
#[derive(Debug)]
pub enum Room<'a> {
    /// The buffer for the result.
    Here(&'a mut [u8]),
    /// No buffer: the caller asked for the length, and has it.
    Asked,
}

impl<'a> Out<'a> {
    /// # Safety
    /// Unless they are null, `length` is a number that is nobody else's and `buffer` has room for as many bytes, for as long as the result is
    /// used.
    pub unsafe fn new(buffer: *mut u8, length: *mut CK_ULONG) -> Result<Out<'a>> {
        // SAFETY: the caller guarantees that `length` is null or leads to a number that nobody else uses as long as the result is used.
        let length = unsafe { value(length)? };
        Ok(Out { buffer, given: *length, length })
    }

    /// Room for a result of at most `needed` bytes. The caller's length becomes that.
    ///
    /// A caller that asks for the length of a result that will be empty is told one byte, which the standard allows (5.2: the number may exceed what
    /// is needed). A caller that is told 0 may allocate nothing and call again with a null pointer (an empty vector in C++): that would ask for the
    /// length again and give CKR_OK, and the tag of a message would not be checked.
    ///
    /// # Errors
    /// `CKR_BUFFER_TOO_SMALL`; the operation then stays active.
    pub fn room(&mut self, needed: usize) -> Result<Room<'_>> {
        self.room_or(needed, needed.max(1))
    }

    /// Room for a result of at most `needed` bytes; a caller that only asks for the length gets `asked`.
    ///
    /// # Errors
    /// As [`Out::room`].
    pub fn room_or(&mut self, needed: usize, asked: usize) -> Result<Room<'_>> {
        if self.buffer.is_null() {
            *self.length = asked as CK_ULONG;
            return Ok(Room::Asked);
        }
        *self.length = needed as CK_ULONG;
        if self.given < needed as CK_ULONG {
            return fail(CKR_BUFFER_TOO_SMALL);
        }
        // SAFETY: the caller of `new` guarantees room for `given` bytes at `buffer`, and `needed` is no more than that (checked above).
        Ok(Room::Here(unsafe { std::slice::from_raw_parts_mut(self.buffer, needed) }))
    }

    /// Says how much of the room was used.
    pub fn wrote(&mut self, length: usize) {
        *self.length = length as CK_ULONG;
    }

    /// Whether `data` and the room for at most `length` bytes share memory.
    pub fn overlaps(&self, data: &[u8], length: usize) -> bool {
        let (out, data_at) = (self.buffer.addr(), data.as_ptr().addr());
        !self.buffer.is_null() && out < data_at + data.len() && data_at < out + length
    }

    /// Writes a result that is computed already.
    ///
    /// # Errors
    /// As [`Out::room`].
    pub fn put(&mut self, result: &[u8]) -> Result {
        if let Room::Here(room) = self.room(result.len())? {
            room.copy_from_slice(result);
        }
        Ok(())
    }
}
