//! m_get_xcp_info: what the module is, what it can do, and in which state a domain is. Anybody may ask.

use crate::admin::{Administration, is_imprinted, login, module};
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, fail};
use crate::keys::WrappingKey;
use crate::{API, mechanisms, states};
use adjunct_ep11_wire::codes::{control, mechanism as m, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::number;
use adjunct_ep11_wire::query::{self as wire, domain_flag, number as q};
use std::time::{SystemTime, UNIX_EPOCH};

/// The ordinal of the interface's version.
const ORDINAL: u64 = 6;
/// The firmware of a CEX8P.
const FIRMWARE: [u8; 2] = [8, 40];
/// The most bytes of a request's data that is told to programs.
const PAYLOAD: u64 = 1 << 20;
/// The longest blob of a key of AES or triple DES.
const SYMMETRIC_BLOB: u64 = 320;
/// The longest certificate of an administrator.
const CERTIFICATE: u32 = 12_288;

/// Subqueries of MODULE.
mod part {
    pub const DESCRIPTION: u32 = 1;
    pub const FUNCTIONS: u32 = 2;
    pub const FUNCTION_COUNT: u32 = 3;
    pub const VERSION_1: u32 = 4;
    pub const ATTRIBUTES: u32 = 5;
    pub const ATTRIBUTE_BITS: u32 = 6;
    pub const VERSION_2: u32 = 7;
    pub const ATTRIBUTE_COUNT: u32 = 8;
}

/// Flags of the module that are not PKCS #11's.
mod extended {
    /// Events are logged.
    pub const AUDIT: u64 = 0x40;
    /// PKCS #1 v1.5's padding is no oracle.
    pub const IMPLICIT_REJECTION: u64 = 0x2000;
}

/// Extended capabilities.
mod capability {
    pub const MAX_MULTI_DATA: u32 = 6;
    pub const CERTIFICATE: u32 = 8;
    pub const MAX_SESSIONS: u32 = 12;
    pub const FREE_SESSIONS: u32 = 13;
    pub const BTC: u32 = 14;
    pub const ECDSA_OTHER: u32 = 15;
    pub const LOGIN_ALGORITHMS: u32 = 18;
    pub const LOGIN_ATTRIBUTES_0: u32 = 19;
    pub const LOGIN_ATTRIBUTES_1: u32 = 20;
    pub const LOGIN_KEYS: u32 = 23;
}

/// m_get_xcp_info.
pub(crate) fn information(context: &Context<'_>) -> Result<Results> {
    let bad = Rv(rv::ARGUMENTS_BAD);
    let query = number(context.argument(0)).ok_or(bad)?;
    let sub = number(context.argument(1)).ok_or(bad)?;
    let keeping = context.module.keys.administration();
    let answer = match (query, sub) {
        (q::API, _) => [ORDINAL.to_be_bytes(), u64::from(API).to_be_bytes()].concat(),
        (q::MODULE, 0 | part::VERSION_1 | part::VERSION_2) => the_module(keeping).to_bytes(),
        (q::MODULE, part::DESCRIPTION) => DESCRIPTION.as_bytes().to_vec(),
        (q::MODULE, part::FUNCTIONS) => functions(keeping).to_vec(),
        (q::MODULE, part::FUNCTION_COUNT) => count(functions(keeping).iter().map(|byte| byte.count_ones()).sum()),
        (q::MODULE, part::ATTRIBUTES) => mask::<4>(attributes(), 0).to_vec(),
        // Bytes of each attribute's supported bits.
        (q::MODULE, part::ATTRIBUTE_BITS) => attributes().map(|_| 32).collect(),
        (q::MODULE, part::ATTRIBUTE_COUNT) => count(attributes().count() as u32),
        (q::DOMAIN | q::DOMAINS, _) => domain(context, keeping).to_bytes(),
        (q::SELFTEST, _) => {
            context.module.self_test().or(fail(rv::IBM_ERROR_STATE))?;
            count(0)
        }
        (q::EXT_CAPS, _) => count(capabilities(context, keeping).len() as u32),
        (q::EXT_CAPLIST, _) => {
            let pairs = capabilities(context, keeping).into_iter().flat_map(|(of, value)| [of, value]);
            pairs.flat_map(u32::to_be_bytes).collect()
        }
        (q::AUDITLOG, _) => {
            let (number, chain) = keeping.and_then(Administration::last_audited).unwrap_or_default();
            [&number.to_be_bytes()[..], &chain].concat()
        }
        (q::EC_CURVES, _) => mask::<4>(curves(), 1).to_vec(),
        (q::CP_BLACKLIST, _) => {
            let never = (0..=control::LAST).filter(|point| !crate::admin::initial_points().has(*point));
            mask::<16>(never.map(u32::from), 0).to_vec()
        }
        (q::PQC_STRENGTHS, _) => mask::<4>(strengths(), 1).to_vec(),
        (q::LOGIN_IMPORTER, kind) => {
            let kind = if kind == 0 { login::P521 } else { kind };
            let keeping = keeping.ok_or(Rv(rv::FUNCTION_NOT_SUPPORTED))?;
            return Ok(vec![keeping.logins().importer(context.number, kind)?]);
        }
        _ => return fail(rv::ARGUMENTS_BAD),
    };
    Ok(vec![Bytes::new(answer)])
}

const DESCRIPTION: &str =
    "adjunct: emulation of an EP11 coprocessor in an isolated process, for development and test; not evaluated by FIPS";

fn count(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// A mask with bits set, the one of `first` the highest of the first byte. Bits beyond it are left out.
fn mask<const N: usize>(bits: impl Iterator<Item = u32>, first: u32) -> [u8; N] {
    let mut mask = [0; N];
    for bit in bits.filter_map(|bit| bit.checked_sub(first)) {
        if let Some(byte) = mask.get_mut(bit as usize / 8) {
            *byte |= 0x80 >> (bit % 8);
        }
    }
    mask
}

fn attributes() -> impl Iterator<Item = u32> {
    1..=crate::admin::attributes::number::LAST
}

/// The functions that are served.
fn functions(keeping: Option<&dyn Administration>) -> [u8; 16] {
    let administered = [Function::Admin, Function::LoginExtended, Function::LogoutExtended];
    let served = Function::ALL.iter().filter(|function| {
        // As on Z, no key is digested.
        **function != Function::DigestKey && (keeping.is_some() || !administered.contains(function))
    });
    mask::<16>(served.map(|function| *function as u32), 0)
}

/// The time, as 14 digits and two zeros.
fn time(now: SystemTime) -> [u8; 16] {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Days of the Gregorian calendar, whose year begins in March here.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let text = format!("{year:04}{month:02}{day:02}{:02}{:02}{:02}00", second / 3600, second / 60 % 60, second % 60);
    text.as_bytes().first_chunk().copied().unwrap_or([b'0'; 16])
}

fn the_module(keeping: Option<&dyn Administration>) -> wire::Module {
    let state = keeping.map(Administration::state);
    let text = |text: &str| {
        let mut all = [0; 32];
        all.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        all
    };
    let logged = keeping.and_then(Administration::last_audited).is_some();
    wire::Module {
        firmware_api: ORDINAL,
        firmware_id: API.into(),
        firmware_version: FIRMWARE,
        csp_version: [0, 0],
        // A name, which is no hash.
        firmware_config: text(concat!("adjunct ", env!("CARGO_PKG_VERSION"))),
        xcp_config: [0; 32],
        csp_config: [0; 32],
        serial: state.as_ref().map_or([b'0'; 16], |state| module(state)),
        utc_time: time(SystemTime::now()),
        op_mode2: 0,
        op_mode1: 0,
        // It has a random generator.
        flags: 1,
        extended_flags: extended::IMPLICIT_REJECTION | if logged { extended::AUDIT } else { 0 },
        domains: state.map_or(1, |state| state.domains().count() as u64),
        symmetric_state_bytes: states::LONGEST as u64,
        digest_state_bytes: states::LONGEST_DIGEST as u64,
        pin_block_bytes: crate::sessions::PIN_BLOB.max(login::PIN_BLOB) as u64,
        symmetric_key_bytes: SYMMETRIC_BLOB,
        spki_bytes: 4096,
        private_key_bytes: 8192,
        max_payload_bytes: PAYLOAD,
        cp_profile_bytes: 16,
        control_points: control::LAST.into(),
    }
}

fn domain(context: &Context<'_>, keeping: Option<&dyn Administration>) -> wire::Domain {
    let own = &context.domain;
    let state = keeping.map(Administration::state);
    let pattern = |key: Option<&WrappingKey>| key.map_or([0; 32], |key| *key.pattern());
    let administered = state
        .as_ref()
        .and_then(|state| state.domain(context.number))
        .is_some_and(|domain| !domain.unit.administrators().is_empty());
    let flags = [
        (administered, domain_flag::ADMINISTERED),
        (own.current.is_some(), domain_flag::CURRENT_WK),
        (own.next.is_some(), domain_flag::NEXT_WK),
        (own.next.is_some() && own.committed, domain_flag::COMMITTED_NEXT_WK),
        (state.is_some_and(|state| is_imprinted(&state, context.number)), domain_flag::IMPRINTED),
        (
            mechanisms::find(m::IBM_CPACF_WRAP).is_ok() && own.points.has(control::CPACF_PK),
            domain_flag::PROTKEY_ALLOWED,
        ),
    ];
    wire::Domain {
        domain: context.number.into(),
        wk: pattern(own.current.as_deref()),
        next_wk: pattern(own.next.as_deref()),
        flags: flags.iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag),
        mode: own.points.compliance().to_be_bytes(),
    }
}

/// The extended capabilities, with their values.
fn capabilities(context: &Context<'_>, keeping: Option<&dyn Administration>) -> Vec<(u32, u32)> {
    let sessions = &context.module.sessions;
    let (most, taken) = (sessions.most(), sessions.count(context.number));
    let has = |kind| u32::from(mechanisms::find(kind).is_ok());
    let mut all = vec![
        (capability::MAX_MULTI_DATA, 0),
        (capability::CERTIFICATE, CERTIFICATE),
        (capability::MAX_SESSIONS, most as u32),
        (capability::FREE_SESSIONS, most.saturating_sub(taken) as u32),
        (capability::BTC, has(m::IBM_BTC_DERIVE)),
        (capability::ECDSA_OTHER, has(m::IBM_ECDSA_OTHER)),
    ];
    if keeping.is_some() {
        let bit = |of: u32| 0x8000_0000 >> of;
        // FIPS 2021 is algorithm 2.
        all.push((capability::LOGIN_ALGORITHMS, bit(2)));
        all.push((capability::LOGIN_ATTRIBUTES_0, 0));
        all.push((capability::LOGIN_ATTRIBUTES_1, 0));
        all.push((capability::LOGIN_KEYS, bit(login::P256) | bit(login::P521)));
    }
    all
}

/// The numbers of curves that work.
fn curves() -> impl Iterator<Item = u32> {
    const NAMES: [(u32, &str); 18] = [
        (1, "secp192r1"),
        (2, "secp224r1"),
        (3, "secp256r1"),
        (4, "secp384r1"),
        (5, "secp521r1"),
        (6, "brainpoolP160r1"),
        (8, "brainpoolP192r1"),
        (10, "brainpoolP224r1"),
        (12, "brainpoolP256r1"),
        (14, "brainpoolP320r1"),
        (16, "brainpoolP384r1"),
        (18, "brainpoolP512r1"),
        (20, "X25519"),
        (23, "secp256k1"),
        (24, "Ed448"),
        (25, "X448"),
        (26, "Ed25519"),
        (28, ""),
    ];
    let works = |number: u32, name: &str| match number {
        24 => mechanisms::find(m::IBM_ED448_SHA3).is_ok(),
        25 => mechanisms::find(m::IBM_EC_X448).is_ok(),
        // secp256k1 and BLS12-381 are the module's own.
        23 | 28 => true,
        _ => adjunct_mechanisms::der::curve(name).is_some(),
    };
    NAMES.into_iter().filter(move |(number, name)| works(*number, name)).map(|(number, _)| number)
}

/// The numbers of strengths of lattices that work.
fn strengths() -> impl Iterator<Item = u32> {
    let of = |kind, numbers: std::ops::RangeInclusive<u32>| numbers.filter(move |_| mechanisms::find(kind).is_ok());
    of(m::IBM_DILITHIUM, 2..=6).chain(of(m::IBM_ML_DSA, 10..=12)).chain(of(m::IBM_ML_KEM, 13..=15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970010100000000"),
            (951_782_400, "2000022900000000"),
            (1_709_164_799, "2024022823595900"),
            (1_709_164_800, "2024022900000000"),
            (1_795_833_296, "2026112802345600"),
            (4_107_542_399, "2100022823595900"),
            (4_107_542_400, "2100030100000000"),
        ] {
            let time = time(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(std::str::from_utf8(&time).unwrap(), expected, "{seconds}");
        }
    }

    #[test]
    fn masks_begin_with_the_highest_bit() {
        assert_eq!(mask::<2>([1, 9, 16, 40].into_iter(), 1), [0x80, 0x81]);
        assert_eq!(mask::<2>([0, 15].into_iter(), 0), [0x80, 1]);
    }
}
