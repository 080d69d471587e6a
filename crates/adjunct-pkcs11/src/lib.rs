//! adjunct's PKCS #11 module: the interface of PKCS #11 3.2 (3.0, 2.40) over the core's operations, in the process that loads it: no daemon, no
//! thread, no libcrypto linked (one is looked for where Ed448 and X448 are asked for).
//!
//! * `abi`: the foreign layer.
//! * `module`, `session`, `state`: initialization (`init_state`), sessions, saved operations.
//! * `token`, `table`, `slot`: the tokens in slots, and their objects.
//! * `store`: the objects of tokens that stay when a program ends; [`admin`] is what administrators do with them.
//! * `objects`, `key_management`, `messages`: what sessions do with objects and keys.
//! * `uses` counts mechanisms; `libcrypto`: what a CPU without instructions for Ed448 and X448 computes them by.
//!
//! Mechanisms, attributes and keys are those of `adjunct-mechanisms`.

mod abi;
mod handle;
mod init_state;
mod key_management;
mod libcrypto;
mod messages;
mod module;
mod objects;
mod session;
mod slot;
mod state;
mod store;
mod table;
mod token;
mod uses;

pub use slot::{ACCELERATOR, GIVING_WAY};
pub use store::admin;

use cryptoki_sys::*;

/// The functions of PKCS #11 2.40.
///
/// # Safety
/// As PKCS #11 has it (5.4.4).
#[unsafe(no_mangle)]
#[allow(unsafe_code, non_snake_case)]
pub unsafe extern "C" fn C_GetFunctionList(ppFunctionList: *mut *mut CK_FUNCTION_LIST) -> CK_RV {
    // SAFETY: the calling program passes null or the address of a pointer that the call may write, as PKCS #11 5.4.4 demands.
    unsafe { abi::tables::C_GetFunctionList::<false>(ppFunctionList) }
}

/// Every interface.
///
/// # Safety
/// As PKCS #11 has it (5.4.5).
#[unsafe(no_mangle)]
#[allow(unsafe_code, non_snake_case)]
pub unsafe extern "C" fn C_GetInterfaceList(pInterfacesList: *mut CK_INTERFACE, pulCount: *mut CK_ULONG) -> CK_RV {
    // SAFETY: the calling program passes null or the address of a number as `pulCount`, and null or room for so many interfaces as
    // `pInterfacesList`, as PKCS #11 5.4.5 demands.
    unsafe { abi::tables::C_GetInterfaceList::<false>(pInterfacesList, pulCount) }
}

/// The interface of a name, a version and flags.
///
/// # Safety
/// As PKCS #11 has it (5.4.6).
#[unsafe(no_mangle)]
#[allow(unsafe_code, non_snake_case)]
pub unsafe extern "C" fn C_GetInterface(
    pInterfaceName: *mut CK_UTF8CHAR,
    pVersion: *mut CK_VERSION,
    ppInterface: *mut *mut CK_INTERFACE,
    flags: CK_FLAGS,
) -> CK_RV {
    // SAFETY: the calling program passes null or a terminated name, null or a version, and null or the address of a pointer that the call
    // may write, as PKCS #11 5.4.6 demands.
    unsafe { abi::tables::C_GetInterface::<false>(pInterfaceName, pVersion, ppInterface, flags) }
}
