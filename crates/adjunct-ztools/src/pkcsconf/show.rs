//! What `pkcsconf` prints of a module, a slot, a token and a mechanism, byte for byte as openCryptoki's.
//!
//! Only the control characters in a module's texts are written out: a label must not drive the administrator's terminal.

use super::uri::Uri;
use adjunct_mechanisms::names;
use adjunct_pkcs11_client::sys::*;
use adjunct_tool::escape::shown;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Flags with their names, in the order they are printed.
type Names = [(&'static str, CK_FLAGS)];

macro_rules! names {
    ($($flag:ident)*) => {
        &[$((stringify!($flag), $flag)),*]
    };
}

const SLOT: &Names = names!(CKF_TOKEN_PRESENT CKF_REMOVABLE_DEVICE CKF_HW_SLOT);
const TOKEN: &Names = names!(
    CKF_RNG CKF_WRITE_PROTECTED CKF_LOGIN_REQUIRED CKF_USER_PIN_INITIALIZED CKF_RESTORE_KEY_NOT_NEEDED CKF_CLOCK_ON_TOKEN
    CKF_PROTECTED_AUTHENTICATION_PATH CKF_DUAL_CRYPTO_OPERATIONS CKF_TOKEN_INITIALIZED CKF_SECONDARY_AUTHENTICATION
    CKF_USER_PIN_COUNT_LOW CKF_USER_PIN_FINAL_TRY CKF_USER_PIN_LOCKED CKF_USER_PIN_TO_BE_CHANGED CKF_SO_PIN_COUNT_LOW
    CKF_SO_PIN_FINAL_TRY CKF_SO_PIN_LOCKED CKF_SO_PIN_TO_BE_CHANGED CKF_ERROR_STATE CKF_SEED_RANDOM_REQUIRED
    CKF_ASYNC_SESSION_SUPPORTED
);
const MECHANISM: &Names = names!(
    CKF_HW CKF_MESSAGE_ENCRYPT CKF_MESSAGE_DECRYPT CKF_MESSAGE_SIGN CKF_MESSAGE_VERIFY CKF_MULTI_MESSAGE CKF_FIND_OBJECTS
    CKF_ENCRYPT CKF_DECRYPT CKF_DIGEST CKF_SIGN CKF_SIGN_RECOVER CKF_VERIFY CKF_VERIFY_RECOVER CKF_GENERATE
    CKF_GENERATE_KEY_PAIR CKF_WRAP CKF_UNWRAP CKF_DERIVE CKF_EC_F_P CKF_EC_F_2M CKF_EC_ECPARAMETERS CKF_EC_OID
    CKF_EC_UNCOMPRESS CKF_EC_COMPRESS CKF_EC_CURVENAME CKF_ENCAPSULATE CKF_DECAPSULATE CKF_EXTENSION
);

/// A text of a module in a field of fixed width, with its padding; it ends with the field, or with the first zero byte.
pub fn text(field: &[u8]) -> String {
    let length = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    shown(OsStr::from_bytes(&field[..length]))
}

fn version(version: CK_VERSION) -> String {
    format!("{}.{}", version.major, version.minor)
}

/// The words of `flags`, each with a bar behind it, the last taken back by a backspace.
fn words(names: &Names, flags: CK_FLAGS) -> String {
    let set = names.iter().filter(|(_, flag)| flags & flag != 0);
    let words: String = set.map(|(name, _)| format!("{}|", name.trim_start_matches("CKF_"))).collect();
    format!("({words}\x08)")
}

/// The name of a return value in messages.
pub fn return_value(rv: CK_RV) -> &'static str {
    names::return_value(rv).unwrap_or("UNKNOWN")
}

/// The name of a mechanism: the standard's, or IBM's own.
pub fn mechanism_name(mechanism: CK_MECHANISM_TYPE) -> Option<&'static str> {
    let ibm = || {
        Some(match mechanism.checked_sub(CKM_VENDOR_DEFINED)? {
            0x10001 => "CKM_IBM_SHA3_224",
            0x10002 => "CKM_IBM_SHA3_256",
            0x10003 => "CKM_IBM_SHA3_384",
            0x10004 => "CKM_IBM_SHA3_512",
            0x10007 => "CKM_IBM_CMAC",
            0x1001b => "CKM_IBM_EC_X25519",
            0x1001c => "CKM_IBM_ED25519_SHA512",
            0x1001e => "CKM_IBM_EC_X448",
            0x1001f => "CKM_IBM_ED448_SHA3",
            0x10023 => "CKM_IBM_DILITHIUM",
            0x10024 => "CKM_IBM_KYBER",
            0x10025 => "CKM_IBM_SHA3_224_HMAC",
            0x10026 => "CKM_IBM_SHA3_256_HMAC",
            0x10027 => "CKM_IBM_SHA3_384_HMAC",
            0x10028 => "CKM_IBM_SHA3_512_HMAC",
            _ => return None,
        })
    };
    names::mechanism(mechanism).or_else(ibm)
}

/// `-i`.
pub(super) fn module(info: &CK_INFO) -> String {
    let uri = Uri::new()
        .text("library-description", &info.libraryDescription)
        .text("library-manufacturer", &info.manufacturerID)
        .version("library-version", info.libraryVersion);
    format!(
        "PKCS#11 Info\n\tVersion {} \n\tManufacturer: {} \n\tFlags: 0x{:X}  \n\tLibrary Description: {} \n\
         \tLibrary Version: {} \n\tURI: {uri}\n",
        version(info.cryptokiVersion),
        text(&info.manufacturerID),
        info.flags,
        text(&info.libraryDescription),
        version(info.libraryVersion),
    )
}

/// `-s`.
pub(super) fn slot(slot: CK_SLOT_ID, info: &CK_SLOT_INFO) -> String {
    let uri = Uri::new()
        .number("slot-id", slot)
        .text("slot-description", &info.slotDescription)
        .text("slot-manufacturer", &info.manufacturerID);
    let flags = if info.flags == 0 { " ".to_owned() } else { words(SLOT, info.flags) };
    format!(
        "Slot #{slot} Info\n\tDescription: {}\n\tManufacturer: {}\n\tFlags: 0x{:X} {flags}\n\tHardware Version: {}\n\
         \tFirmware Version: {}\n\tURI: {uri}\n",
        text(&info.slotDescription),
        text(&info.manufacturerID),
        info.flags,
        version(info.hardwareVersion),
        version(info.firmwareVersion),
    )
}

/// `-l`.
pub(super) fn slot_line(slot: CK_SLOT_ID, info: &CK_SLOT_INFO) -> String {
    format!("{slot}:\tDescription: {}\n", text(&info.slotDescription))
}

/// `-t`.
pub(super) fn token(slot: CK_SLOT_ID, info: &CK_TOKEN_INFO) -> String {
    const UNAVAILABLE: &str = "[information unavailable]";
    let count = |value: CK_ULONG| match value {
        CK_UNAVAILABLE_INFORMATION => UNAVAILABLE.to_owned(),
        value => value.to_string(),
    };
    let most = |value: CK_ULONG| match value {
        CK_EFFECTIVELY_INFINITE => "[effectively infinite]".to_owned(),
        value => count(value),
    };
    let memory = |value: CK_ULONG| match value {
        CK_UNAVAILABLE_INFORMATION => UNAVAILABLE.to_owned(),
        value => format!("0x{value:X}"),
    };
    let uri = Uri::new()
        .text("manufacturer", &info.manufacturerID)
        .text("model", &info.model)
        .text("serial", &info.serialNumber)
        .text("token", &info.label);
    let lines = [
        format!("Token #{slot} Info:"),
        format!("\tLabel: {}", text(&info.label)),
        format!("\tManufacturer: {}", text(&info.manufacturerID)),
        format!("\tModel: {}", text(&info.model)),
        format!("\tSerial Number: {}", text(&info.serialNumber)),
        format!("\tFlags: 0x{:X} {}", info.flags, words(TOKEN, info.flags)),
        format!("\tSessions: {}/{}", count(info.ulSessionCount), most(info.ulMaxSessionCount)),
        format!("\tR/W Sessions: {}/{}", count(info.ulRwSessionCount), most(info.ulMaxRwSessionCount)),
        format!("\tPIN Length: {}-{}", info.ulMinPinLen, info.ulMaxPinLen),
        format!("\tPublic Memory: {}/{}", memory(info.ulFreePublicMemory), memory(info.ulTotalPublicMemory)),
        format!("\tPrivate Memory: {}/{}", memory(info.ulFreePrivateMemory), memory(info.ulTotalPrivateMemory)),
        format!("\tHardware Version: {}", version(info.hardwareVersion)),
        format!("\tFirmware Version: {}", version(info.firmwareVersion)),
        format!("\tTime: {}", text(&info.utcTime)),
        format!("\tURI: {uri}"),
    ];
    lines.map(|line| line + "\n").concat()
}

/// `-m`, of the mechanism at this place of the token's list.
pub(super) fn mechanism(place: usize, mechanism: CK_MECHANISM_TYPE, info: &CK_MECHANISM_INFO) -> String {
    let name = mechanism_name(mechanism).map_or_else(String::new, |name| format!("({name})"));
    let set: Vec<_> = MECHANISM.iter().filter(|(_, flag)| info.flags & flag != 0).map(|(name, _)| *name).collect();
    let flags = if set.is_empty() { String::new() } else { format!("({})", set.join("|")) };
    format!(
        "Mechanism #{place}\n\tMechanism: 0x{mechanism:X} {name}\n\tKey Size: {}-{}\n\tFlags: 0x{:X} {flags}\n",
        info.ulMinKeySize, info.ulMaxKeySize, info.flags
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` in a field, with blanks behind.
    fn field<const N: usize>(text: &str) -> [u8; N] {
        std::array::from_fn(|i| text.as_bytes().get(i).copied().unwrap_or(b' '))
    }

    fn version(major: u8, minor: u8) -> CK_VERSION {
        CK_VERSION { major, minor }
    }

    #[test]
    fn the_module_as_opencryptoki_shows_it() {
        let info = CK_INFO {
            cryptokiVersion: version(3, 2),
            manufacturerID: field("IBM"),
            flags: 0,
            libraryDescription: field("openCryptoki"),
            libraryVersion: version(3, 27),
        };
        let (ibm, name) = (format!("{:<32}", "IBM"), format!("{:<32}", "openCryptoki"));
        let expected = format!(
            "PKCS#11 Info\n\tVersion 3.2 \n\tManufacturer: {ibm} \n\tFlags: 0x0  \n\tLibrary Description: {name} \n\
             \tLibrary Version: 3.27 \n\tURI: pkcs11:library-description=openCryptoki;library-manufacturer=IBM;\
             library-version=3.27\n"
        );
        assert_eq!(module(&info), expected);
    }

    #[test]
    fn slots_as_opencryptoki_shows_them() {
        let info = CK_SLOT_INFO {
            slotDescription: field("Linux"),
            manufacturerID: field("IBM"),
            flags: CKF_TOKEN_PRESENT,
            hardwareVersion: version(0, 0),
            firmwareVersion: version(0, 0),
        };
        let (linux, ibm) = (format!("{:<64}", "Linux"), format!("{:<32}", "IBM"));
        let expected = |flags: &str| {
            format!(
                "Slot #3 Info\n\tDescription: {linux}\n\tManufacturer: {ibm}\n\tFlags: {flags}\n\tHardware Version: 0.0\n\
                 \tFirmware Version: 0.0\n\tURI: pkcs11:slot-id=3;slot-description=Linux;slot-manufacturer=IBM\n"
            )
        };
        assert_eq!(slot(3, &info), expected("0x1 (TOKEN_PRESENT|\x08)"));
        assert_eq!(slot(3, &CK_SLOT_INFO { flags: 0, ..info }), expected("0x0  "));
        assert_eq!(slot(3, &CK_SLOT_INFO { flags: 6, ..info }), expected("0x6 (REMOVABLE_DEVICE|HW_SLOT|\x08)"));
        assert_eq!(slot_line(3, &info), format!("3:\tDescription: {linux}\n"));
    }

    fn soft_token() -> CK_TOKEN_INFO {
        CK_TOKEN_INFO {
            label: field("softtok"),
            manufacturerID: field("IBM"),
            model: field("Soft"),
            serialNumber: field(""),
            flags: 0x88_0245,
            ulMaxSessionCount: 0,
            ulSessionCount: 0,
            ulMaxRwSessionCount: 0,
            ulRwSessionCount: 0,
            ulMaxPinLen: 8,
            ulMinPinLen: 4,
            ulTotalPublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulTotalPrivateMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePrivateMemory: CK_UNAVAILABLE_INFORMATION,
            hardwareVersion: version(3, 0),
            firmwareVersion: version(3, 0),
            utcTime: *b"2026112300174700",
        }
    }

    #[test]
    fn tokens_as_opencryptoki_shows_them() {
        let blank = |text: &str, width: usize| format!("{text:<width$}");
        let expected = format!(
            "Token #3 Info:\n\tLabel: {}\n\tManufacturer: {}\n\tModel: {}\n\tSerial Number: {}\n\
             \tFlags: 0x880245 (RNG|LOGIN_REQUIRED|CLOCK_ON_TOKEN|DUAL_CRYPTO_OPERATIONS|USER_PIN_TO_BE_CHANGED|\
             SO_PIN_TO_BE_CHANGED|\x08)\n\
             \tSessions: 0/[effectively infinite]\n\tR/W Sessions: 0/[effectively infinite]\n\tPIN Length: 4-8\n\
             \tPublic Memory: [information unavailable]/[information unavailable]\n\
             \tPrivate Memory: [information unavailable]/[information unavailable]\n\tHardware Version: 3.0\n\
             \tFirmware Version: 3.0\n\tTime: 2026112300174700\n\
             \tURI: pkcs11:manufacturer=IBM;model=Soft;token=softtok\n",
            blank("softtok", 32),
            blank("IBM", 32),
            blank("Soft", 16),
            blank("", 16),
        );
        assert_eq!(token(3, &soft_token()), expected);
    }

    #[test]
    fn what_a_token_says_of_sizes_and_flags() {
        let shown = |info: &CK_TOKEN_INFO| token(0, info);
        let info = CK_TOKEN_INFO {
            ulSessionCount: 3,
            ulMaxSessionCount: 256,
            ulRwSessionCount: CK_UNAVAILABLE_INFORMATION,
            ulMaxRwSessionCount: CK_UNAVAILABLE_INFORMATION,
            ulTotalPublicMemory: 0x1_0000,
            ulFreePublicMemory: 0,
            flags: CKF_TOKEN_INITIALIZED | CKF_SO_PIN_LOCKED | CKF_ERROR_STATE | CKF_ASYNC_SESSION_SUPPORTED,
            ..soft_token()
        };
        for line in [
            "\tSessions: 3/256\n",
            "\tR/W Sessions: [information unavailable]/[information unavailable]\n",
            "\tPublic Memory: 0x0/0x10000\n",
            "\tFlags: 0x5400400 (TOKEN_INITIALIZED|SO_PIN_LOCKED|ERROR_STATE|ASYNC_SESSION_SUPPORTED|\x08)\n",
        ] {
            assert!(shown(&info).contains(line), "{line}{}", shown(&info));
        }
        // The papers' tokens: initialised, with a user PIN.
        let flags = |flags| shown(&CK_TOKEN_INFO { flags, ..info }).lines().nth(5).unwrap().to_owned();
        let ready = "(RNG|LOGIN_REQUIRED|USER_PIN_INITIALIZED|CLOCK_ON_TOKEN|";
        assert_eq!(flags(0x44d), format!("\tFlags: 0x44D {ready}TOKEN_INITIALIZED|\x08)"));
        assert_eq!(flags(0x64d), format!("\tFlags: 0x64D {ready}DUAL_CRYPTO_OPERATIONS|TOKEN_INITIALIZED|\x08)"));
    }

    #[test]
    fn mechanisms_as_opencryptoki_shows_them() {
        let info = CK_MECHANISM_INFO { ulMinKeySize: 16, ulMaxKeySize: 32, flags: 0x6_0300 };
        let expected = "Mechanism #0\n\tMechanism: 0x1082 (CKM_AES_CBC)\n\tKey Size: 16-32\n\
                        \tFlags: 0x60300 (CKF_ENCRYPT|CKF_DECRYPT|CKF_WRAP|CKF_UNWRAP)\n";
        assert_eq!(mechanism(0, CKM_AES_CBC, &info), expected);
        let none = CK_MECHANISM_INFO { ulMinKeySize: 0, ulMaxKeySize: 0, flags: 0 };
        let unknown = "Mechanism #12\n\tMechanism: 0x8F000001 \n\tKey Size: 0-0\n\tFlags: 0x0 \n";
        assert_eq!(mechanism(12, 0x8f00_0001, &none), unknown);
        assert!(mechanism(1, CKM_VENDOR_DEFINED + 0x10007, &none).contains("0x80010007 (CKM_IBM_CMAC)\n"));
    }

    #[test]
    fn texts_end_with_a_zero_byte_and_drive_no_terminal() {
        assert_eq!(text(b"a b \0xyz"), "a b ");
        assert_eq!(text(b"\x1b[2J \xc3\xa9"), "\\u{1b}[2J \u{e9}");
        assert_eq!(return_value(0xa4), "CKR_PIN_LOCKED");
        assert_eq!(return_value(0x9999), "UNKNOWN");
    }
}
