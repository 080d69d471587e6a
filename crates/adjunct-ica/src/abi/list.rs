//! The function list.

use super::code;
use crate::error::Errno;
use crate::list::{self, Element, LENGTH};
use std::ffi::c_uint;

/// # Safety
/// `length` is null or the caller's; `list`, if not null, has room for as many elements as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_get_functionlist(list: *mut Element, length: *mut c_uint) -> c_uint {
    code(|| {
        if length.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: `length` is not null, so by the caller's word a number; a `list` that is not null has room for as many elements as it
        // says, which is looked at.
        unsafe {
            if !list.is_null() {
                if (length.read_unaligned() as usize) < LENGTH {
                    return Err(Errno::INVALID);
                }
                for (place, element) in list::elements().enumerate() {
                    list.add(place).write_unaligned(element);
                }
            }
            length.write_unaligned(LENGTH as c_uint);
        }
        Ok(())
    })
}
