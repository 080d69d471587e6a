//! PKCS #11's mechanisms and attributes over the core's operations: what a key is by its attributes, what a mechanism with its parameters does with
//! it, and the attributes of keys that are made by keys. There are no sessions here, no tokens and no C structures: the module `adjunct-pkcs11` adds
//! those, and a service in a card adds its own.
//!
//! * [`mechanism`]: the registry, and the operations that mechanisms give ([`operation`]).
//! * [`object`]: attributes, and the keys made of them. An operation has its key as an [`object::Held`].
//! * [`keys`]: keys that are generated, wrapped, unwrapped, derived, encapsulated.
//! * [`names`], [`der`]: the standard's numbers and files of keys, for tools. [`rv`]: return values, by which everything here fails.
//! * [`curve448`]: which library has Ed448 and X448.
//!
//! Whether a key may be used by a mechanism ([`object::Object::permits`]), and by whom, is for the user of this crate to check before.
#![forbid(unsafe_code)]

pub mod curve448;
pub mod der;
pub mod keys;
pub mod mechanism;
pub mod names;
pub mod object;
pub mod operation;
pub mod rv;
