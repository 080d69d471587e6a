//! Which attributes libep11 knows. A blob says what its key is and may do; what PKCS #11 says of an object beside that (a label, whether it is sensitive) is not
//! in it.

use adjunct_ep11_wire::attributes::{bit, is_number};
use adjunct_ep11_wire::codes::attribute as a;

/// What the template of a key that comes wrapped need not say, because the key itself does: programs that import a clear key pass it here too, where it has
/// no use, and it is not to leave the process in clear.
pub const SAID_BY_KEY: [u32; 7] =
    [a::VALUE, a::MODULUS, a::EC_POINT, a::PUBLIC_KEY_INFO, a::PRIME, a::SUBPRIME, a::BASE];

/// What an attribute's value is in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// CK_BBOOL.
    Boolean,
    /// CK_ULONG.
    Number,
    /// Bytes as they are.
    Bytes,
    /// Bytes of a blob or of a public key with a MAC.
    Blob,
}

/// What an attribute's value is; `None` for one that libep11 does not know.
pub fn kind(of: u32) -> Option<Kind> {
    match of {
        // What a key comes of is not in its blob; programs that do not know it yet pass all ones.
        a::KEY_GEN_MECHANISM => None,
        of if bit(of).is_some() => Some(Kind::Boolean),
        of if is_number(of) => Some(Kind::Number),
        a::VALUE
        | a::MODULUS
        | a::PUBLIC_EXPONENT
        | a::PUBLIC_KEY_INFO
        | a::PRIME
        | a::SUBPRIME
        | a::BASE
        | a::EC_PARAMS
        | a::EC_POINT
        | a::IBM_CV
        | a::IBM_STRUCT_PARAMS
        | a::IBM_PQC_PARAMS
        | a::IBM_LOGIN_SESSION => Some(Kind::Bytes),
        a::IBM_MACKEY | a::IBM_MACED_PUBLIC_KEY_INFO => Some(Kind::Blob),
        _ => None,
    }
}
