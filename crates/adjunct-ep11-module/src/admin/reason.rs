//! Why a command of administration is refused: the reason codes of the interface, and the return value that goes with each here.

use crate::error::Rv;
use adjunct_ep11_wire::codes::rv;

/// A reason.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Reason {
    NoImporter = 1,
    NoKeyParts = 2,
    PartEnvelope = 3,
    PartFields = 4,
    PartFunction = 6,
    PartDomain = 7,
    PartNoSignature = 9,
    PartBlock = 10,
    Function = 11,
    DomainRange = 12,
    InstanceFormat = 13,
    Instance = 14,
    ModuleInstance = 16,
    Module = 17,
    Counter = 19,
    PartInstance = 20,
    TooFewSignatures = 21,
    Signature = 22,
    RecipientFormat = 23,
    RecipientSize = 24,
    RecipientPoint = 25,
    KeySize = 28,
    PartsMixed = 29,
    PartsPatterns = 30,
    PartsPattern = 31,
    SkiFormat = 32,
    SkiMissing = 33,
    Imprint = 34,
    NotImprint = 35,
    LeaveImprint = 36,
    SkiFound = 38,
    AdministratorsFull = 39,
    Certificate = 40,
    AttributesFormat = 41,
    AttributeType = 42,
    AttributeTwice = 43,
    PointsFormat = 44,
    PointsInconsistent = 45,
    PointsAdd = 46,
    PointsDelete = 47,
    WkMismatch = 48,
    WkMissing = 49,
    NextWkMissing = 50,
    RandomWk = 52,
    WksPresent = 53,
    ImporterFormat = 54,
    ImporterType = 55,
    RevokeZero = 56,
    TooFewSigners = 57,
    TooFewRevokers = 58,
    CertificateIndex = 60,
    FcvMissing = 61,
    NotCommitted = 64,
    LogoutThreshold = 66,
    LogoutSingle = 67,
    LogoutLast = 68,
    AttributeReactivate = 69,
    AttributeProtected = 70,
    ThresholdProtected = 71,
    AttributeReadOnly = 72,
    AttributePrevented = 74,
    ManyKeyParts = 75,
    SignersZero = 76,
    RevokersZero = 77,
    SignersOne = 78,
    RevokersOne = 79,
    ImportProhibited = 80,
    SingleKeyPart = 81,
    ImportFailed = 82,
    DomainMask = 84,
    CardImprint = 85,
    Blob = 86,
    ManySigners = 87,
    Points = 90,
    RetainedKey = 92,
    FileUnsupported = 94,
    ExportLimit = 96,
    ExportLimits = 98,
    ExportCounts = 99,
    ExportIndex = 101,
    ExportCertificate = 102,
    ExportSingle = 110,
    Trusted = 117,
}

/// A command that is refused: the return value, and the reason; without one where the fault is no command's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The return value, within the reply's block.
    pub rv: u32,
    /// The reason; 0 for none.
    pub reason: u32,
}

/// The result of a part of a command.
pub type Done<T = ()> = Result<T, Refused>;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "return value {:#x}, reason {}", self.rv, self.reason)
    }
}

impl From<Reason> for Refused {
    fn from(reason: Reason) -> Refused {
        use Reason as R;
        let rv = match reason {
            R::Signature => rv::SIGNATURE_INVALID,
            R::WkMismatch => rv::IBM_WKID_MISMATCH,
            R::NoImporter | R::WkMissing | R::NextWkMissing | R::NotCommitted => rv::IBM_WK_NOT_INITIALIZED,
            R::Blob | R::Trusted => rv::IBM_BLOB_ERROR,
            R::Function | R::FileUnsupported | R::RetainedKey | R::FcvMissing => rv::FUNCTION_NOT_SUPPORTED,
            R::Imprint
            | R::NotImprint
            | R::LeaveImprint
            | R::CardImprint
            | R::TooFewSignatures
            | R::PartNoSignature
            | R::PointsAdd
            | R::PointsDelete
            | R::RandomWk
            | R::ImportProhibited
            | R::SingleKeyPart
            | R::ExportSingle
            | R::LogoutThreshold
            | R::LogoutSingle
            | R::LogoutLast => rv::FUNCTION_CANCELED,
            R::AttributeReactivate
            | R::AttributeProtected
            | R::ThresholdProtected
            | R::AttributeReadOnly
            | R::AttributePrevented => rv::ATTRIBUTE_READ_ONLY,
            R::AdministratorsFull => rv::DEVICE_MEMORY,
            R::ImportFailed => rv::FUNCTION_FAILED,
            _ => rv::ARGUMENTS_BAD,
        };
        Refused { rv, reason: reason as u32 }
    }
}

impl From<Rv> for Refused {
    fn from(error: Rv) -> Refused {
        Refused { rv: error.0, reason: 0 }
    }
}

impl From<adjunct::Error> for Refused {
    fn from(error: adjunct::Error) -> Refused {
        Rv::from(error).into()
    }
}

/// `Err` with a reason.
pub(super) fn refuse<T>(reason: Reason) -> Done<T> {
    Err(reason.into())
}

/// `Ok` where `holds`.
///
/// # Errors
/// The reason.
pub(super) fn demand(holds: bool, reason: Reason) -> Done {
    if holds { Ok(()) } else { refuse(reason) }
}
