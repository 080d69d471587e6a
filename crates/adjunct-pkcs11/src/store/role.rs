//! A role: how a PIN opens the token key.
//!
//! In version 2 of the format a PIN opens a secret of its role, and that the token key. The secret is the private half of a key pair (X25519). So one
//! role's holder, who has the token key, can also encrypt a new token key for the other role, without the other's PIN and without being able to read
//! what that role opens later. The public half is stored in the role, sealed under the token key: a file alone, without any PIN, gives no public key
//! to attack.
//!
//! In version 1 a PIN opens the token key itself. Such a role is kept as it is in version 2, because only its holder could make it anew: what its PIN
//! opens, the earlier token key, is then the secret, and is stored sealed under the current token key. The role gets a key pair when its PIN is
//! changed.

use super::format::{Version, number, u32_at};
use super::trouble::Trouble;
use adjunct_tpm::Sealed;

type Result<T> = std::result::Result<T, Trouble>;

/// A secret under a key: AES-256-GCM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapped {
    pub nonce: [u8; 12],
    pub sealed: [u8; 32],
    pub tag: [u8; 16],
}

impl Wrapped {
    const BYTES: usize = 60;

    fn encode(&self) -> Vec<u8> {
        [&self.nonce[..], &self.sealed, &self.tag].concat()
    }

    fn decode(bytes: &[u8], at: usize) -> Wrapped {
        Wrapped { nonce: number(bytes, at), sealed: number(bytes, at + 12), tag: number(bytes, at + 44) }
    }
}

/// How the role's secret opens the token key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grip {
    /// The public half of the pair that was made for this; zeros for a role of before.
    pub ephemeral: [u8; 32],
    /// The token key.
    pub token: Wrapped,
    /// The public half of the role's pair, or its secret, under the token key.
    pub peer: Wrapped,
}

impl Grip {
    const BYTES: usize = 32 + 2 * Wrapped::BYTES;
}

/// How a PIN opens the token key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Cost of Argon2id: KiB of memory, passes, lanes.
    pub cost: [u32; 3],
    pub salt: [u8; 32],
    /// The role's secret under the PIN's key.
    pub secret: Wrapped,
    /// The role's secret is one half of a pair.
    pub pair: bool,
    /// How the PIN opens the secret; `None` in version 1, where the secret is the token key.
    pub grip: Option<Grip>,
    /// The secret that is needed, too, where a TPM seals it.
    pub tpm: Option<Sealed>,
}

impl Role {
    const FRONT: usize = 48 + Wrapped::BYTES;
    /// The derivation. 1: Argon2id, version 0x13; 2: the same, and a secret that a TPM has sealed: behind the rest stand the storage key's
    /// point (64), and the public and the private area of the secret, each behind its length (2). 3 and 4: the same, of a role with a pair.
    const WITH_TPM: u32 = 1;
    const WITH_PAIR: u32 = 2;

    pub fn encode(&self) -> Vec<u8> {
        let bound = self.bound();
        let (front, behind) = bound.split_at(48);
        let mut bytes = [front, &self.secret.encode()].concat();
        if let Some(grip) = &self.grip {
            bytes.extend(grip.ephemeral);
            bytes.extend(grip.token.encode());
            bytes.extend(grip.peer.encode());
        }
        bytes.extend(behind);
        bytes
    }

    /// The bytes of a role that its derivation depends on.
    pub fn bound(&self) -> Vec<u8> {
        let with_tpm = if self.tpm.is_some() { Role::WITH_TPM } else { 0 };
        let with_pair = if self.pair { Role::WITH_PAIR } else { 0 };
        let numbers = [1 + with_tpm + with_pair, self.cost[0], self.cost[1], self.cost[2]];
        let mut bytes = [numbers.map(u32::to_le_bytes).as_flattened(), &self.salt].concat();
        if let Some(sealed) = &self.tpm {
            bytes.extend(sealed.parent);
            for area in [&sealed.public, &sealed.private] {
                bytes.extend((area.len() as u16).to_le_bytes());
                bytes.extend_from_slice(area);
            }
        }
        bytes
    }

    /// # Errors
    /// [`Trouble::Damaged`].
    pub fn decode(bytes: &[u8], version: Version) -> Result<Role> {
        let behind = bytes.get(Role::FRONT..).ok_or(Trouble::Damaged)?;
        let kind = u32_at(bytes, 0).wrapping_sub(1);
        let pair = kind & Role::WITH_PAIR != 0;
        if kind > 3 || (pair && version == Version::One) {
            return Err(Trouble::Damaged);
        }
        let (grip, behind) = match version {
            Version::One => (None, behind),
            Version::Two => {
                let (grip, behind) = behind.split_at_checked(Grip::BYTES).ok_or(Trouble::Damaged)?;
                let token = Wrapped::decode(grip, 32);
                let peer = Wrapped::decode(grip, 32 + Wrapped::BYTES);
                (Some(Grip { ephemeral: number(grip, 0), token, peer }), behind)
            }
        };
        let tpm = match kind & Role::WITH_TPM {
            0 if behind.is_empty() => None,
            0 => return Err(Trouble::Damaged),
            _ => Some(sealed(behind).ok_or(Trouble::Damaged)?),
        };
        Ok(Role {
            cost: [4, 8, 12].map(|at| u32_at(bytes, at)),
            salt: number(bytes, 16),
            secret: Wrapped::decode(bytes, 48),
            pair,
            grip,
            tpm,
        })
    }
}

/// The secret that a TPM has sealed, read from the bytes after a role.
fn sealed(bytes: &[u8]) -> Option<Sealed> {
    let (parent, mut rest) = bytes.split_at_checked(64)?;
    let mut areas = [Vec::new(), Vec::new()];
    for area in &mut areas {
        let (length, behind) = rest.split_at_checked(2)?;
        let (bytes, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(number(length, 0))))?;
        (*area, rest) = (bytes.to_vec(), behind);
    }
    let [public, private] = areas;
    rest.is_empty().then(|| Sealed { parent: number(parent, 0), public, private })
}
