//! What `m_get_xcp_info` answers. In messages every number has 8 bytes, big-endian, where libep11's structures have a CK_ULONG; all else is bytes.

/// Queries.
#[allow(missing_docs)]
pub mod number {
    pub const API: u32 = 0;
    pub const MODULE: u32 = 1;
    pub const DOMAINS: u32 = 2;
    pub const DOMAIN: u32 = 3;
    pub const SELFTEST: u32 = 4;
    pub const EXT_CAPS: u32 = 5;
    pub const EXT_CAPLIST: u32 = 6;
    pub const AUDITLOG: u32 = 8;
    pub const EC_CURVES: u32 = 10;
    pub const COMPAT: u32 = 11;
    pub const EC_CURVEGRPS: u32 = 12;
    pub const CP_BLACKLIST: u32 = 13;
    pub const PQC_STRENGTHS: u32 = 14;
    pub const LOGIN_IMPORTER: u32 = 15;
    pub const COMPAT_ADM: u32 = 16;
}

/// The structure of the query MODULE.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Module {
    pub firmware_api: u64,
    pub firmware_id: u64,
    /// Major and minor version.
    pub firmware_version: [u8; 2],
    pub csp_version: [u8; 2],
    pub firmware_config: [u8; 32],
    pub xcp_config: [u8; 32],
    pub csp_config: [u8; 32],
    /// Padded with blanks.
    pub serial: [u8; 16],
    /// YYYYMMDDhhmmss and two zeros, as digits.
    pub utc_time: [u8; 16],
    pub op_mode2: u64,
    pub op_mode1: u64,
    pub flags: u64,
    pub extended_flags: u64,
    pub domains: u64,
    pub symmetric_state_bytes: u64,
    pub digest_state_bytes: u64,
    pub pin_block_bytes: u64,
    pub symmetric_key_bytes: u64,
    pub spki_bytes: u64,
    pub private_key_bytes: u64,
    pub max_payload_bytes: u64,
    pub cp_profile_bytes: u64,
    pub control_points: u64,
}

/// Reads and writes the fields of a structure, in one order for both.
macro_rules! structure {
    ($name:ident, $($field:ident),*) => {
        impl $name {
            /// The bytes in a message.
            pub fn to_bytes(&self) -> Vec<u8> {
                let mut out = Vec::new();
                $(self.$field.put(&mut out);)*
                out
            }

            /// Reads a structure that is all of `bytes`.
            pub fn parse(bytes: &[u8]) -> Option<$name> {
                let mut rest = bytes;
                let all = $name { $($field: Part::take(&mut rest)?),* };
                rest.is_empty().then_some(all)
            }
        }
    };
}

/// A field.
trait Part: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(rest: &mut &[u8]) -> Option<Self>;
}

impl Part for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }

    fn take(rest: &mut &[u8]) -> Option<u64> {
        <[u8; 8]>::take(rest).map(u64::from_be_bytes)
    }
}

impl<const N: usize> Part for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(rest: &mut &[u8]) -> Option<[u8; N]> {
        let (bytes, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(*bytes)
    }
}

structure!(
    Module,
    firmware_api,
    firmware_id,
    firmware_version,
    csp_version,
    firmware_config,
    xcp_config,
    csp_config,
    serial,
    utc_time,
    op_mode2,
    op_mode1,
    flags,
    extended_flags,
    domains,
    symmetric_state_bytes,
    digest_state_bytes,
    pin_block_bytes,
    symmetric_key_bytes,
    spki_bytes,
    private_key_bytes,
    max_payload_bytes,
    cp_profile_bytes,
    control_points
);

/// Flags of [`Domain`].
#[allow(missing_docs)]
pub mod domain_flag {
    pub const ADMINISTERED: u64 = 1;
    pub const CURRENT_WK: u64 = 2;
    pub const NEXT_WK: u64 = 4;
    pub const COMMITTED_NEXT_WK: u64 = 8;
    pub const IMPRINTED: u64 = 0x10;
    pub const PROTKEY_ALLOWED: u64 = 0x20;
}

/// The structure of the query DOMAIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// The domain's number.
    pub domain: u64,
    /// The verification pattern of the current wrapping key, or zeros.
    pub wk: [u8; 32],
    /// The verification pattern of the next one, or zeros.
    pub next_wk: [u8; 32],
    /// [`domain_flag`].
    pub flags: u64,
    /// The compliance mode.
    pub mode: [u8; 8],
}

structure!(Domain, domain, wk, next_wk, flags, mode);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_come_as_they_were_sent() {
        let domain = Domain { domain: 5, wk: [1; 32], next_wk: [0; 32], flags: domain_flag::CURRENT_WK, mode: [0; 8] };
        let bytes = domain.to_bytes();
        assert_eq!((bytes.len(), Domain::parse(&bytes)), (88, Some(domain)));
        assert_eq!(Domain::parse(&bytes[1..]), None);
        assert_eq!(Domain::parse(&[&bytes[..], &[0]].concat()), None);
    }
}
