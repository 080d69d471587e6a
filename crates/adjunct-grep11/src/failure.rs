//! Why a call failed: a return value of PKCS #11 or EP11, which clients get twice, as a status of gRPC and as a Grep11Error in its details.

use crate::pb::Grep11Error;
use adjunct_ep11_client::error::Rv;
use adjunct_ep11_wire::codes::rv;
use prost::Message;
use std::borrow::Cow;
use tonic::{Code, Status};

/// The client has not said who it is, or nobody whom the server knows.
pub const NOT_AUTHENTICATED: u32 = 0x8004_0001;
/// A part of the message is missing.
pub const MISSING: u32 = 0x8004_0006;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The return value.
    pub rv: u32,
    /// What more there is to say; the return value's own words where this is empty.
    pub detail: Cow<'static, str>,
}

impl Failure {
    /// A failure in its own words.
    pub fn new(rv: u32, detail: impl Into<Cow<'static, str>>) -> Failure {
        Failure { rv, detail: detail.into() }
    }
}

impl From<Rv> for Failure {
    fn from(Rv(rv): Rv) -> Failure {
        Failure::new(rv, "")
    }
}

/// Return values with their names, and what they mean to who calls.
const NAMES: [(u32, &str, &str); 58] = [
    (rv::HOST_MEMORY, "CKR_HOST_MEMORY", "the server lacks memory"),
    (rv::GENERAL_ERROR, "CKR_GENERAL_ERROR", ""),
    (rv::FUNCTION_FAILED, "CKR_FUNCTION_FAILED", ""),
    (rv::ARGUMENTS_BAD, "CKR_ARGUMENTS_BAD", "a part of the request is missing or malformed"),
    (rv::ATTRIBUTE_READ_ONLY, "CKR_ATTRIBUTE_READ_ONLY", "this attribute of the key cannot be changed so"),
    (rv::ATTRIBUTE_SENSITIVE, "CKR_ATTRIBUTE_SENSITIVE", ""),
    (rv::ATTRIBUTE_TYPE_INVALID, "CKR_ATTRIBUTE_TYPE_INVALID", "the key has no such attribute"),
    (rv::ATTRIBUTE_VALUE_INVALID, "CKR_ATTRIBUTE_VALUE_INVALID", "an attribute's value is not of its type"),
    (rv::DATA_INVALID, "CKR_DATA_INVALID", ""),
    (rv::DATA_LEN_RANGE, "CKR_DATA_LEN_RANGE", "the data has a length that the mechanism does not take"),
    (rv::DEVICE_ERROR, "CKR_DEVICE_ERROR", "the coprocessor could not do it"),
    (rv::DEVICE_MEMORY, "CKR_DEVICE_MEMORY", "the coprocessor lacks memory"),
    (rv::DEVICE_REMOVED, "CKR_DEVICE_REMOVED", "the coprocessor has gone"),
    (rv::ENCRYPTED_DATA_INVALID, "CKR_ENCRYPTED_DATA_INVALID", ""),
    (rv::ENCRYPTED_DATA_LEN_RANGE, "CKR_ENCRYPTED_DATA_LEN_RANGE", ""),
    (rv::FUNCTION_CANCELED, "CKR_FUNCTION_CANCELED", "a control point of the domain does not allow it"),
    (rv::FUNCTION_NOT_SUPPORTED, "CKR_FUNCTION_NOT_SUPPORTED", ""),
    (rv::KEY_HANDLE_INVALID, "CKR_KEY_HANDLE_INVALID", "the key is no blob of a coprocessor"),
    (rv::KEY_SIZE_RANGE, "CKR_KEY_SIZE_RANGE", ""),
    (rv::KEY_TYPE_INCONSISTENT, "CKR_KEY_TYPE_INCONSISTENT", "the key is not of the mechanism's type"),
    (rv::KEY_NEEDED, "CKR_KEY_NEEDED", ""),
    (rv::KEY_FUNCTION_NOT_PERMITTED, "CKR_KEY_FUNCTION_NOT_PERMITTED", "the key's attributes do not allow it"),
    (rv::KEY_NOT_WRAPPABLE, "CKR_KEY_NOT_WRAPPABLE", ""),
    (rv::KEY_UNEXTRACTABLE, "CKR_KEY_UNEXTRACTABLE", "the key is not extractable"),
    (rv::MECHANISM_INVALID, "CKR_MECHANISM_INVALID", "the coprocessor lacks the mechanism, or it is not for this call"),
    (rv::MECHANISM_PARAM_INVALID, "CKR_MECHANISM_PARAM_INVALID", "the mechanism's parameter"),
    (rv::OBJECT_HANDLE_INVALID, "CKR_OBJECT_HANDLE_INVALID", "the object is no blob of a coprocessor"),
    (rv::OPERATION_ACTIVE, "CKR_OPERATION_ACTIVE", ""),
    (rv::OPERATION_NOT_INITIALIZED, "CKR_OPERATION_NOT_INITIALIZED", "the state is of another operation"),
    (rv::PIN_INCORRECT, "CKR_PIN_INCORRECT", ""),
    (rv::PIN_INVALID, "CKR_PIN_INVALID", ""),
    (rv::PIN_LEN_RANGE, "CKR_PIN_LEN_RANGE", "a PIN has 8 to 16 bytes"),
    (rv::SESSION_CLOSED, "CKR_SESSION_CLOSED", "the key's session has ended"),
    (rv::SIGNATURE_INVALID, "CKR_SIGNATURE_INVALID", "the signature is not that of the data"),
    (rv::SIGNATURE_LEN_RANGE, "CKR_SIGNATURE_LEN_RANGE", "no signature of the key has that length"),
    (rv::TEMPLATE_INCOMPLETE, "CKR_TEMPLATE_INCOMPLETE", "the template lacks an attribute"),
    (rv::TEMPLATE_INCONSISTENT, "CKR_TEMPLATE_INCONSISTENT", "attributes of the template contradict each other"),
    (rv::UNWRAPPING_KEY_TYPE_INCONSISTENT, "CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT", ""),
    (rv::USER_NOT_LOGGED_IN, "CKR_USER_NOT_LOGGED_IN", ""),
    (rv::WRAPPED_KEY_INVALID, "CKR_WRAPPED_KEY_INVALID", ""),
    (rv::WRAPPED_KEY_LEN_RANGE, "CKR_WRAPPED_KEY_LEN_RANGE", ""),
    (rv::WRAPPING_KEY_TYPE_INCONSISTENT, "CKR_WRAPPING_KEY_TYPE_INCONSISTENT", ""),
    (rv::CURVE_NOT_SUPPORTED, "CKR_CURVE_NOT_SUPPORTED", ""),
    (rv::IBM_WKID_MISMATCH, "CKR_IBM_WKID_MISMATCH", "the blob is under another wrapping key than the domain's"),
    (rv::IBM_INTERNAL_ERROR, "CKR_IBM_INTERNAL_ERROR", ""),
    (rv::IBM_TRANSPORT_ERROR, "CKR_IBM_TRANSPORT_ERROR", "the coprocessor is busy, or has gone during the call"),
    (rv::IBM_BLOB_ERROR, "CKR_IBM_BLOB_ERROR", "the blob or state is damaged"),
    (rv::IBM_BLOBKEY_CONFLICT, "CKR_IBM_BLOBKEY_CONFLICT", "the wrapping key changed during the call"),
    (rv::IBM_MODE_CONFLICT, "CKR_IBM_MODE_CONFLICT", ""),
    (
        rv::IBM_WK_NOT_INITIALIZED,
        "CKR_IBM_WK_NOT_INITIALIZED",
        "the domain has no wrapping key: adjunct ep11 wk generate",
    ),
    (rv::IBM_REQ_TIMEOUT, "CKR_IBM_REQ_TIMEOUT", "it was not done in time"),
    (rv::IBM_READONLY, "CKR_IBM_READONLY", ""),
    (rv::IBM_STATIC_POLICY, "CKR_IBM_STATIC_POLICY", ""),
    (rv::IBM_TRANSPORT_LIMIT, "CKR_IBM_TRANSPORT_LIMIT", "it is longer than the coprocessor takes: bulk in cards.conf"),
    (rv::IBM_TARGET_INVALID, "CKR_IBM_TARGET_INVALID", "no coprocessor serves this server: adjunct cards status"),
    (rv::IBM_PARAM_NOT_SUPPORTED, "CKR_IBM_PARAM_NOT_SUPPORTED", ""),
    (NOT_AUTHENTICATED, "CKR_IBM_GREP11_NOT_AUTHENTICATED", "authorization: Bearer with a token that the server knows"),
    (MISSING, "CKR_IBM_GREP11_MISSING", "a part of the request is missing"),
];

/// The status of gRPC for a return value.
fn code(of: u32) -> Code {
    match of {
        rv::IBM_TRANSPORT_ERROR | rv::IBM_TARGET_INVALID | rv::DEVICE_REMOVED => Code::Unavailable,
        rv::IBM_REQ_TIMEOUT => Code::DeadlineExceeded,
        rv::HOST_MEMORY | rv::DEVICE_MEMORY => Code::ResourceExhausted,
        rv::IBM_BLOBKEY_CONFLICT => Code::Aborted,
        NOT_AUTHENTICATED => Code::Unauthenticated,
        rv::FUNCTION_CANCELED
        | rv::KEY_FUNCTION_NOT_PERMITTED
        | rv::KEY_UNEXTRACTABLE
        | rv::ATTRIBUTE_SENSITIVE
        | rv::ATTRIBUTE_READ_ONLY
        | rv::IBM_READONLY
        | rv::IBM_STATIC_POLICY
        | rv::PIN_INCORRECT => Code::PermissionDenied,
        rv::FUNCTION_NOT_SUPPORTED => Code::Unimplemented,
        rv::IBM_WKID_MISMATCH | rv::IBM_WK_NOT_INITIALIZED | rv::SESSION_CLOSED | rv::IBM_ERROR_STATE => {
            Code::FailedPrecondition
        }
        rv::DEVICE_ERROR | rv::GENERAL_ERROR | rv::FUNCTION_FAILED | rv::IBM_INTERNAL_ERROR => Code::Internal,
        _ => Code::InvalidArgument,
    }
}

/// Whether the same call may succeed later.
fn may_be_retried(code: Code) -> bool {
    matches!(code, Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted | Code::Aborted)
}

/// google.rpc.Status.
#[derive(prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// google.protobuf.Any.
#[derive(prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes, tag = "2")]
    value: Vec<u8>,
}

const TYPE: &str = "type.googleapis.com/grep11.Grep11Error";

impl Failure {
    /// The name of the return value.
    pub fn name(&self) -> Cow<'static, str> {
        match NAMES.iter().find(|(of, ..)| *of == self.rv) {
            Some((_, name, _)) => Cow::Borrowed(name),
            None => Cow::Owned(format!("CKR 0x{:08x}", self.rv)),
        }
    }

    /// Name and words, in one line.
    pub fn line(&self) -> String {
        let own = NAMES.iter().find(|(of, ..)| *of == self.rv).map_or("", |(.., words)| words);
        match if self.detail.is_empty() { own } else { &self.detail } {
            "" => self.name().into_owned(),
            words => format!("{}: {words}", self.name()),
        }
    }

    /// The status.
    pub fn status(&self) -> Status {
        self.status_of(code(self.rv))
    }

    /// The status with a code of its own.
    pub fn status_of(&self, code: Code) -> Status {
        let line = self.line();
        let error = Grep11Error { code: self.rv.into(), detail: line.clone(), retry: may_be_retried(code) };
        let detail = Any { type_url: TYPE.to_owned(), value: error.encode_to_vec() };
        let details = RpcStatus { code: code as i32, message: line.clone(), details: vec![detail] };
        Status::with_details(code, line, details.encode_to_vec().into())
    }
}

/// The Grep11Error in a status' details.
pub fn grep11_error(status: &Status) -> Option<Grep11Error> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    let found = details.iter().find(|detail| detail.type_url == TYPE)?;
    Grep11Error::decode(&found.value[..]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_in_the_details_of_its_status() {
        let status = Failure::from(Rv(rv::SIGNATURE_INVALID)).status();
        assert_eq!(status.code(), Code::InvalidArgument);
        let error = grep11_error(&status).unwrap();
        assert_eq!((error.code, error.retry), (0xc0, false));
        assert_eq!(error.detail, "CKR_SIGNATURE_INVALID: the signature is not that of the data");
        let gone = Failure::from(Rv(rv::IBM_TRANSPORT_ERROR)).status();
        assert_eq!((gone.code(), grep11_error(&gone).unwrap().retry), (Code::Unavailable, true));
        assert_eq!(Failure::from(Rv(0x999)).line(), "CKR 0x00000999");
        assert_eq!(Failure::new(rv::ARGUMENTS_BAD, "Len").line(), "CKR_ARGUMENTS_BAD: Len");
    }

    #[test]
    fn no_return_value_has_two_names() {
        let mut all: Vec<_> = NAMES.iter().map(|(of, ..)| *of).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), NAMES.len());
    }
}
