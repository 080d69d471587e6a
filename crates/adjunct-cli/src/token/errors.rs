//! `adjunct token explain ERROR...`: what return values mean when this module gives them, and what to do.

use adjunct_mechanisms::names;
use adjunct_pkcs11_client::sys::*;
use adjunct_tool::{Failure, output};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, Serialize)]
struct Explained {
    error: &'static str,
    value: CK_RV,
    /// When the module gives it; none where it never does.
    means: Option<&'static str>,
    /// The advice for the user.
    advice: Option<&'static str>,
}

/// The end of the range of the standard's return values.
const LAST: CK_RV = 0x1000;

/// Explains the values of these names or numbers.
pub(super) fn explain(errors: &[String], json: bool) -> Result<(), Failure> {
    let explained = errors.iter().map(|error| one(error)).collect::<Result<Vec<_>, _>>()?;
    if json {
        return output::print_json(&explained);
    }
    let mut text = String::new();
    for Explained { error, value, means, advice } in &explained {
        let means = means.unwrap_or("this module never returns it: another module did, or a program between");
        let _ = writeln!(text, "{error} ({value:#x})\n    {means}");
        if let Some(advice) = advice {
            let _ = writeln!(text, "    -> {advice}");
        }
    }
    output::print(&text)
}

/// Explains a value by its name, with or without `CKR_` and in any case, or by its number, decimal or 0x and hexadecimal.
fn one(error: &str) -> Result<Explained, Failure> {
    let upper = error.to_ascii_uppercase();
    let number = match upper.strip_prefix("0X") {
        Some(digits) => CK_RV::from_str_radix(digits, 16).ok(),
        None => upper.parse().ok(),
    };
    let value = number.or_else(|| {
        let name = if upper.starts_with("CKR_") { upper.clone() } else { format!("CKR_{upper}") };
        (CKR_OK..LAST).find(|value| names::return_value(*value) == Some(name.as_str()))
    });
    let known = value.and_then(|value| Some((value, names::return_value(value)?)));
    let Some((value, name)) = known else {
        return Err(Failure::new(format!(
            "'{}' is no return value of PKCS #11; it is a name like CKR_PIN_LOCKED, or a number like 0xa4",
            error.escape_debug()
        )));
    };
    let found = meaning(value);
    Ok(Explained {
        error: name,
        value,
        means: found.map(|(means, _)| means),
        advice: found.and_then(|(_, advice)| advice),
    })
}

/// When the module gives a value, and what to do.
fn meaning(value: CK_RV) -> Option<(&'static str, Option<&'static str>)> {
    let (means, advice) = match value {
        CKR_OK => ("it worked", None),
        CKR_HOST_MEMORY => ("the program's memory is used up, or the object table is full", None),
        CKR_SLOT_ID_INVALID => (
            "there is no slot of this number: 1 is the accelerator, 3 the user's own token, more are in tokens.conf",
            Some("`adjunct token list` shows the slots"),
        ),
        CKR_GENERAL_ERROR => (
            "a defect of the module, which it has stopped from spreading",
            Some("please report it, with ADJUNCT_PKCS11_TRACE's file"),
        ),
        CKR_FUNCTION_FAILED => (
            "the operation did not come to a result, and nothing was changed; of a token in a file: another process kept it locked for a minute",
            Some("`adjunct token explain` names a process that has a token locked"),
        ),
        CKR_ARGUMENTS_BAD => (
            "a pointer is null or misaligned, or a length is impossible",
            Some("ADJUNCT_PKCS11_TRACE=FILE shows the call"),
        ),
        CKR_CANT_LOCK => (
            "C_Initialize was given locks of the program's own and no leave to use the system's",
            Some("have the program set CKF_OS_LOCKING_OK"),
        ),
        CKR_CRYPTOKI_NOT_INITIALIZED => {
            ("C_Initialize was not called in this process; a child of fork has to call it again", None)
        }
        CKR_CRYPTOKI_ALREADY_INITIALIZED => {
            ("C_Initialize was called before in this process; the module works all the same", None)
        }
        CKR_PIN_INCORRECT => (
            "the PIN is wrong; three wrong ones in a row lock it",
            Some("`adjunct token explain` shows the tries left"),
        ),
        CKR_PIN_LOCKED => (
            "three wrong PINs were given",
            Some(
                "`adjunct token pin unlock`, as the security officer, gives the user a new one; nothing opens the officer's again",
            ),
        ),
        CKR_PIN_LEN_RANGE => ("a PIN has 4 to 255 bytes", None),
        CKR_USER_PIN_NOT_INITIALIZED => ("the token's user has no PIN yet", Some("`adjunct token pin set` gives one")),
        CKR_USER_NOT_LOGGED_IN => (
            "private objects, or changes of the token, want a login, and a key with CKA_ALWAYS_AUTHENTICATE wants one for each use",
            Some("have the program log in (CKU_CONTEXT_SPECIFIC for such a key); the accelerator token needs none"),
        ),
        CKR_USER_ALREADY_LOGGED_IN => ("this process has logged in to the token before", None),
        CKR_USER_ANOTHER_ALREADY_LOGGED_IN => {
            ("the other of user and security officer is logged in", Some("log out first"))
        }
        CKR_USER_TYPE_INVALID => {
            ("that user has no login here: CKU_USER, CKU_SO and CKU_CONTEXT_SPECIFIC have one", None)
        }
        CKR_TOKEN_NOT_INITIALIZED => {
            ("the slot's file is not there: it has no token yet", Some("`adjunct token init --label NAME` makes one"))
        }
        CKR_TOKEN_NOT_RECOGNIZED => {
            ("a newer version of adjunct has written the token", Some("update this one; the token is not changed"))
        }
        CKR_TOKEN_WRITE_PROTECTED => (
            "the token cannot be written to: it is the accelerator, in slot 1, which keeps no objects; or its file, or the folder, is not this \
             user's to change, or tokens.conf says read-only",
            Some(
                "name a token that keeps objects to the program, by its label or slot; `adjunct token explain` says what is wrong with one",
            ),
        ),
        CKR_DEVICE_ERROR => (
            "the token's file is damaged, others can write to it, or it cannot be read, or the TPM that seals it does not answer",
            Some("`adjunct token explain` says which; `adjunct token repair` keeps all that can be read"),
        ),
        CKR_DEVICE_MEMORY => ("the disk or the quota is full; nothing was changed", Some("make room, and do it again")),
        CKR_TOKEN_RESOURCE_EXCEEDED => {
            ("the key has generated as many initialization vectors as are safe", Some("take a new key"))
        }
        CKR_SESSION_HANDLE_INVALID => {
            ("the session was closed, or is of another process: children of fork have none", None)
        }
        CKR_SESSION_READ_ONLY => ("token objects are changed in sessions with CKF_RW_SESSION", None),
        CKR_SESSION_EXISTS => {
            ("a token is initialized while nobody has a session with it", Some("end the programs that use it"))
        }
        CKR_SESSION_READ_ONLY_EXISTS => ("the security officer logs in where all sessions are read-write", None),
        CKR_SESSION_READ_WRITE_SO_EXISTS => ("while the security officer is logged in, sessions are read-write", None),
        CKR_OBJECT_HANDLE_INVALID | CKR_KEY_HANDLE_INVALID => (
            "the object is gone, or private and the token not logged in to",
            Some("another process may have removed it: look for it again by its label or id"),
        ),
        CKR_KEY_TYPE_INCONSISTENT => ("the mechanism works with keys of another type", None),
        CKR_KEY_SIZE_RANGE => {
            ("the key is shorter or longer than the mechanism takes", Some("`pkcsconf -m -c SLOT` shows the sizes"))
        }
        CKR_KEY_FUNCTION_NOT_PERMITTED => (
            "the key's attributes (CKA_SIGN and so on) do not permit this use",
            Some("they are set when the key is made; `adjunct token show` shows them"),
        ),
        CKR_KEY_NOT_WRAPPABLE | CKR_KEY_UNEXTRACTABLE => {
            ("the key may not leave the token so (CKA_EXTRACTABLE, CKA_WRAP_WITH_TRUSTED)", None)
        }
        CKR_MECHANISM_INVALID => (
            "the module has no such mechanism, or the key not among its CKA_ALLOWED_MECHANISMS, or the call is not one of it",
            Some("`pkcsconf -m -c SLOT` lists the mechanisms"),
        ),
        CKR_MECHANISM_PARAM_INVALID => (
            "the mechanism's parameter is missing, of a wrong length, or out of range",
            Some("ADJUNCT_PKCS11_TRACE=FILE shows the call"),
        ),
        CKR_CURVE_NOT_SUPPORTED => (
            "the curve is none that the module has: those of NIST and Brainpool, Ed25519, X25519, and Ed448 and X448 where there is a libcrypto",
            None,
        ),
        CKR_DOMAIN_PARAMS_INVALID => ("the parameters name no curve", None),
        CKR_PARAMETER_SET_NOT_SUPPORTED => ("ML-DSA and ML-KEM have the parameter sets of FIPS 204 and 203 only", None),
        CKR_TEMPLATE_INCOMPLETE => ("an attribute is missing that the object needs", None),
        CKR_TEMPLATE_INCONSISTENT => {
            ("two attributes contradict each other, or one the mechanism or the other key", None)
        }
        CKR_ATTRIBUTE_TYPE_INVALID => ("objects of this class and type of key have no such attribute", None),
        CKR_ATTRIBUTE_VALUE_INVALID => ("an attribute's value has the wrong form, or is not possible", None),
        CKR_ATTRIBUTE_READ_ONLY => ("the attribute is the module's to set, or cannot be changed any more", None),
        CKR_ATTRIBUTE_SENSITIVE => ("the attribute is secret, and the key sensitive or not extractable", None),
        CKR_ACTION_PROHIBITED => {
            ("the object may not be copied, changed or removed (CKA_COPYABLE, CKA_MODIFIABLE, CKA_DESTROYABLE)", None)
        }
        CKR_DATA_INVALID | CKR_DATA_LEN_RANGE => ("the mechanism does not take input of this form or length", None),
        CKR_ENCRYPTED_DATA_INVALID | CKR_AEAD_DECRYPT_FAILED => {
            ("what is to be decrypted was changed, or made with another key or parameter", None)
        }
        CKR_ENCRYPTED_DATA_LEN_RANGE => ("what is to be decrypted has an impossible length", None),
        CKR_SIGNATURE_INVALID => ("the signature is not of these data by this key", None),
        CKR_SIGNATURE_LEN_RANGE => ("a signature by this key has another length", None),
        CKR_WRAPPED_KEY_INVALID | CKR_WRAPPED_KEY_LEN_RANGE => {
            ("what is to be unwrapped is no key, or was wrapped with another", None)
        }
        CKR_BUFFER_TOO_SMALL => {
            ("the output is longer than its buffer; the length was written, and the call can be made again", None)
        }
        CKR_OPERATION_ACTIVE => {
            ("the session is in another operation", Some("one operation of a kind a session; open another session"))
        }
        CKR_OPERATION_NOT_INITIALIZED => {
            ("the operation was not begun in this session, or has ended by an error", None)
        }
        CKR_STATE_UNSAVEABLE => ("only the state of digests and HMACs can be saved", None),
        CKR_SAVED_STATE_INVALID | CKR_KEY_CHANGED => ("the saved state is not this token's, or of another key", None),
        CKR_KEY_NEEDED => ("the saved state is of an HMAC: its key is to be given", None),
        CKR_KEY_NOT_NEEDED => ("the saved state is of a digest, which has no key", None),
        CKR_KEY_INDIGESTIBLE => ("only secret keys can be digested", None),
        CKR_NO_EVENT => ("slots never change here", None),
        CKR_FUNCTION_NOT_SUPPORTED => ("the module has no such function", None),
        CKR_FUNCTION_NOT_PARALLEL => ("no function runs in parallel, as since PKCS #11 2.0", None),
        CKR_SESSION_PARALLEL_NOT_SUPPORTED => ("sessions are opened with CKF_SERIAL_SESSION", None),
        CKR_SESSION_ASYNC_NOT_SUPPORTED => ("there are no asynchronous sessions", None),
        CKR_WRAPPING_KEY_HANDLE_INVALID | CKR_UNWRAPPING_KEY_HANDLE_INVALID => {
            ("the key to wrap with is gone, or private and the token not logged in to", None)
        }
        CKR_WRAPPING_KEY_TYPE_INCONSISTENT | CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT => {
            ("the mechanism wraps with keys of another type", None)
        }
        CKR_WRAPPING_KEY_SIZE_RANGE | CKR_UNWRAPPING_KEY_SIZE_RANGE => {
            ("the key to wrap with is too short or too long", None)
        }
        _ => return None,
    };
    Some((means, advice))
}
