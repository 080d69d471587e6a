//! AWS-LC's table of object identifiers (`kObjects`, crypto/obj) is left out of every module. It is 40 KB of pointers, which the loader
//! relocates at each start of a program: ten pages that are copied, a seventh of the page faults that adjunct adds to a start.
//!
//! Its only users in a module are the decoders of keys in PKCS #8 and SubjectPublicKeyInfo, and parameters given as text
//! (`EVP_PKEY_CTX_ctrl_str`); adjunct calls neither, since OpenSSL decodes keys. The linker (`link/module.args`) gives those users the
//! functions below, which know no object, and then drops the table.

use super::private::symbol;
use std::ffi::{c_int, c_void};

/// `NID_undef`: no such object.
const UNKNOWN: c_int = 0;

// No module shows them to its program.
std::arch::global_asm!(
    concat!(".hidden __wrap_", symbol!(OBJ_cbs2nid)),
    concat!(".hidden __wrap_", symbol!(OBJ_ln2nid)),
    concat!(".hidden __wrap_", symbol!(OBJ_sn2nid)),
);

#[unsafe(export_name = concat!("__wrap_", symbol!(OBJ_cbs2nid)))]
extern "C" fn of_identifier(_identifier: *const c_void) -> c_int {
    UNKNOWN
}

#[unsafe(export_name = concat!("__wrap_", symbol!(OBJ_ln2nid)))]
extern "C" fn of_long_name(_name: *const c_void) -> c_int {
    UNKNOWN
}

#[unsafe(export_name = concat!("__wrap_", symbol!(OBJ_sn2nid)))]
extern "C" fn of_short_name(_name: *const c_void) -> c_int {
    UNKNOWN
}
