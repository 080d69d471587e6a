//! Attributes of the card and its domains: thresholds, permissions, modes. A permission is changed only while its own bit allows that; a bit that allows is
//! only ever cleared.

use super::reason::{Done, Reason, demand, refuse};
use crate::control::Points;
use adjunct_coprocessor::unit::Unit;

/// Numbers.
#[allow(missing_docs)]
pub mod number {
    pub const SIGN_THR: u32 = 1;
    pub const REVOKE_THR: u32 = 2;
    pub const PERMS: u32 = 3;
    pub const MODE: u32 = 4;
    pub const STD: u32 = 5;
    pub const PERMS_EXT01: u32 = 6;
    pub const GEN_KTYPES: u32 = 7;
    pub const ECC_KTYPES: u32 = 8;
    pub const DIL_KTYPES: u32 = 9;
    pub const ADM_COMPL: u32 = 10;
    /// The highest.
    pub const LAST: u32 = ADM_COMPL;
}

/// Permissions.
#[allow(missing_docs)]
pub mod permission {
    pub const WK_IMPORT: u32 = 1;
    pub const WK_EXPORT: u32 = 2;
    /// A wrapping key may come and go in one part.
    pub const WK_ONE_PART: u32 = 4;
    pub const WK_RANDOM: u32 = 8;
    /// A threshold may be one.
    pub const ONE_SIGNATURE: u32 = 0x10;
    /// One signature is enough for control points.
    pub const POINTS_ONE_SIGNATURE: u32 = 0x20;
    /// One signature is enough to zeroize.
    pub const ZEROIZE_ONE_SIGNATURE: u32 = 0x40;
    pub const NO_DOMAIN_IMPRINT: u32 = 0x80;
    pub const STATE_IMPORT: u32 = 0x100;
    pub const STATE_EXPORT: u32 = 0x200;
    pub const STATE_ONE_PART: u32 = 0x400;
    /// Signatures of the card's administrators do not count for the domain.
    pub const DO_NOT_DISTURB: u32 = 0x2000;
    pub const CHANGE_SIGN_THR: u32 = 0x10_0000;
    pub const CHANGE_REVOKE_THR: u32 = 0x20_0000;

    /// Each permission with the bit that allows its change.
    pub(super) const CHANGES: [(u32, u32); 11] = [
        (WK_IMPORT, 0x1_0000),
        (WK_EXPORT, 0x2_0000),
        (WK_ONE_PART, 0x4_0000),
        (WK_RANDOM, 0x8_0000),
        (ONE_SIGNATURE, 0x40_0000),
        (POINTS_ONE_SIGNATURE, 0x80_0000),
        (ZEROIZE_ONE_SIGNATURE, 0x100_0000),
        (STATE_IMPORT, 0x200_0000),
        (STATE_EXPORT, 0x400_0000),
        (STATE_ONE_PART, 0x800_0000),
        (DO_NOT_DISTURB, 0x8000_0000),
    ];
    /// All bits that allow changes.
    pub(super) const CHANGE: u32 = 0x8fff_0000;
    /// Bits that only the card has, and only domains.
    const STATES: u32 = NO_DOMAIN_IMPRINT | STATE_IMPORT | STATE_EXPORT | STATE_ONE_PART | 0xe00_0000;
    const WKS: u32 = WK_IMPORT | WK_EXPORT | WK_ONE_PART | WK_RANDOM | POINTS_ONE_SIGNATURE | 0x8f_0000;
    const ALL: u32 = CHANGE | WKS | STATES | ONE_SIGNATURE | ZEROIZE_ONE_SIGNATURE | DO_NOT_DISTURB;

    /// The bits that a unit has.
    pub(super) const fn supported(card: bool) -> u32 {
        ALL & if card { !WKS } else { !STATES }
    }
}

/// Modes.
#[allow(missing_docs)]
pub mod mode {
    /// No longer in imprint mode.
    pub const AUTHENTICATED: u32 = 1;
    pub const EXTERNAL_WARNING: u32 = 2;
    pub const STRENGTH_112: u32 = 4;
    pub const STRENGTH_128: u32 = 8;
    pub const STRENGTH_160: u32 = 0x10;
    pub const STRENGTH_192: u32 = 0x20;
    pub const STRENGTH_256: u32 = 0x40;
    pub const API_ACTIVE: u32 = 0x200;
    pub const CHANGE_STRENGTH: u32 = 0x4_0000;
    pub(super) const STRENGTHS: u32 = STRENGTH_112 | STRENGTH_128 | STRENGTH_160 | STRENGTH_192 | STRENGTH_256;
}

/// The value of an attribute that was never set.
fn initial(card: bool, of: u32) -> u32 {
    match of {
        number::PERMS => {
            permission::supported(card) & (permission::WK_IMPORT | permission::ONE_SIGNATURE | permission::CHANGE)
        }
        number::MODE => mode::EXTERNAL_WARNING | mode::API_ACTIVE | mode::CHANGE_STRENGTH,
        // Signatures by RSA and curves; those of outer authorities there are none.
        number::PERMS_EXT01 => 4,
        number::GEN_KTYPES => 3,
        number::ECC_KTYPES => 1,
        _ => 0,
    }
}

/// An attribute of a unit.
pub(super) fn get(unit: &Unit, card: bool, of: u32) -> u32 {
    match of {
        number::STD => Points(unit.points().to_bytes()).compliance() as u32,
        of => unit.attribute(of).unwrap_or_else(|| initial(card, of)),
    }
}

/// Whether a unit is in imprint mode.
pub(super) fn in_imprint(unit: &Unit, card: bool) -> bool {
    get(unit, card, number::MODE) & mode::AUTHENTICATED == 0
}

/// All attributes of a unit, as the interface packs them: number and value, 4 bytes each.
pub(super) fn packed(unit: &Unit, card: bool) -> Vec<u8> {
    let pairs = (1..=number::LAST).flat_map(|of| [of, get(unit, card, of)]);
    pairs.flat_map(u32::to_be_bytes).collect()
}

/// The attributes of a command.
pub(super) fn unpack(payload: &[u8]) -> Done<Vec<(u32, u32)>> {
    let (pairs, rest) = payload.as_chunks::<8>();
    demand(rest.is_empty() && !pairs.is_empty(), Reason::AttributesFormat)?;
    let mut all: Vec<(u32, u32)> = Vec::new();
    for pair in pairs {
        let whole = u64::from_be_bytes(*pair);
        let (of, value) = ((whole >> 32) as u32, whole as u32);
        demand((1..=number::LAST).contains(&of), Reason::AttributeType)?;
        demand(all.iter().all(|(other, _)| *other != of), Reason::AttributeTwice)?;
        all.push((of, value));
    }
    Ok(all)
}

/// Whether attributes that are set end imprint mode: a signature threshold that is no longer zero.
pub(super) fn leaves_imprint(unit: &Unit, card: bool, all: &[(u32, u32)]) -> bool {
    in_imprint(unit, card) && all.iter().any(|(of, value)| *of == number::SIGN_THR && *value > 0)
}

/// Sets attributes; after an error nothing has changed that is kept. `card_imprint`: whether the card, of which `unit` is a domain, is in imprint mode.
pub(super) fn set(unit: &mut Unit, card: bool, all: &[(u32, u32)], card_imprint: bool) -> Done {
    let imprint = in_imprint(unit, card);
    let leaves = leaves_imprint(unit, card, all);
    let wanted = |of: u32| all.iter().find(|(other, _)| *other == of).map(|(_, value)| *value);
    let after = |of: u32, unit: &Unit| wanted(of).unwrap_or_else(|| get(unit, card, of));
    let permissions = after(number::PERMS, unit);
    for (of, value) in all {
        let before = get(unit, card, *of);
        match *of {
            _ if *value == before => continue,
            number::PERMS => permissions_change(card, before, *value)?,
            number::MODE => mode_change(before, *value)?,
            number::SIGN_THR | number::REVOKE_THR => {
                threshold(unit, *of == number::SIGN_THR, *value, get(unit, card, number::PERMS), permissions, imprint)?;
            }
            _ => return refuse(Reason::AttributeReadOnly),
        }
    }
    if leaves {
        demand(after(number::REVOKE_THR, unit) > 0, Reason::RevokeZero)?;
        demand(card || !card_imprint, Reason::CardImprint)?;
    }
    if leaves || !imprint {
        // Thresholds of before fit to what is now.
        let (sign, revoke) = (after(number::SIGN_THR, unit), after(number::REVOKE_THR, unit));
        let one = permissions & permission::ONE_SIGNATURE != 0;
        demand(one || sign != 1, Reason::SignersOne)?;
        demand(one || revoke != 1, Reason::RevokersOne)?;
        demand(revoke as usize <= unit.administrators().len(), Reason::TooFewRevokers)?;
    }
    let mut write = |of, value| unit.set_attribute(of, value).or(refuse(Reason::AttributePrevented));
    all.iter().try_for_each(|(of, value)| if *of == number::STD { Ok(()) } else { write(*of, *value) })?;
    if leaves {
        let mode = get(unit, card, number::MODE) | mode::AUTHENTICATED;
        unit.set_attribute(number::MODE, mode).or(refuse(Reason::AttributePrevented))?;
    }
    Ok(())
}

fn permissions_change(card: bool, before: u32, value: u32) -> Done {
    let changed = before ^ value;
    demand(changed & !permission::supported(card) == 0, Reason::AttributeReadOnly)?;
    demand(value & !before & permission::CHANGE == 0, Reason::AttributeReactivate)?;
    let protected = permission::CHANGES.iter().any(|(bit, allows)| changed & bit != 0 && before & allows == 0);
    demand(!protected, Reason::AttributeProtected)
}

fn mode_change(before: u32, value: u32) -> Done {
    let changed = before ^ value;
    demand(changed & !(mode::STRENGTHS | mode::CHANGE_STRENGTH) == 0, Reason::AttributeReadOnly)?;
    demand(value & !before & mode::CHANGE_STRENGTH == 0, Reason::AttributeReactivate)?;
    demand(changed & mode::STRENGTHS == 0 || before & mode::CHANGE_STRENGTH != 0, Reason::AttributeProtected)
}

/// Checks a new threshold: for signatures, or for revocations.
fn threshold(unit: &Unit, sign: bool, value: u32, before: u32, permissions: u32, imprint: bool) -> Done {
    let (allows, zero, one, many) = if sign {
        (permission::CHANGE_SIGN_THR, Reason::SignersZero, Reason::SignersOne, Reason::TooFewSigners)
    } else {
        (permission::CHANGE_REVOKE_THR, Reason::RevokersZero, Reason::RevokersOne, Reason::TooFewRevokers)
    };
    demand(before & allows != 0, Reason::ThresholdProtected)?;
    demand(value > 0 || imprint, zero)?;
    demand(value != 1 || permissions & permission::ONE_SIGNATURE != 0, one)?;
    demand(value as usize <= unit.administrators().len(), many)
}

/// The least strength of an administrator's key, in bits.
pub(super) fn least_strength(unit: &Unit, card: bool) -> u32 {
    let mode = get(unit, card, number::MODE);
    let bits = [
        (mode::STRENGTH_256, 256),
        (mode::STRENGTH_192, 192),
        (mode::STRENGTH_160, 160),
        (mode::STRENGTH_128, 128),
        (mode::STRENGTH_112, 112),
    ];
    bits.iter().find(|(bit, _)| mode & bit != 0).map_or(80, |(_, strength)| *strength)
}
