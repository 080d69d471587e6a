//! What programs, GREP11's server and an EP11 coprocessor say to each other.
//!
//! A request is a DER SEQUENCE of OCTET STRINGs ([`message`]): the function, the domain, and the function's arguments in the order of libep11's
//! parameters ([`function`]). The same bytes are what `m_wire` takes and what Linux's `zcrypt_ep11misc` builds. Numbers in them are big-endian.
//!
//! * [`function`]: the functions with their arguments and results.
//! * [`mechanism`]: a mechanism with its parameter. [`attributes`]: a template.
//! * [`blob`]: the public part of a key's blob, and the form that programs on little-endian machines see. [`spki`]: public keys with a MAC.
//! * [`query`]: what `m_get_xcp_info` answers. [`admin`]: blocks of administration.
//! * [`codes`]: numbers: return values, attributes, mechanisms, control points, compliance modes.
#![forbid(unsafe_code)]

pub mod admin;
pub mod attributes;
pub mod blob;
pub mod codes;
pub mod function;
pub mod mechanism;
pub mod message;
pub mod query;
pub mod spki;
