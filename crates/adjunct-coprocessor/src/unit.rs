//! What administrators rule: the card, and each of its domains. Control points, attributes, settings, administrators, a counter of commands, and keys that
//! the unit itself uses (to import parts of master keys, for logins).

use crate::control::ControlPoints;
use std::collections::BTreeMap;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The most administrators of a unit.
pub const MOST_ADMINISTRATORS: usize = 8;
/// The longest certificate of an administrator, in bytes.
pub const LONGEST_CERTIFICATE: usize = 12_288;
/// The most attributes, the most settings and the most keys of a unit.
pub const MOST_ENTRIES: usize = 256;
/// The longest setting of bytes, and the longest key, in bytes.
pub const LONGEST_ENTRY: usize = 8192;

/// Subject key identifier: SHA-256 of an administrator's public key.
pub type Ski = [u8; 32];

/// An administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Administrator {
    ski: Ski,
    certificate: Arc<[u8]>,
}

impl Administrator {
    /// An administrator; `None` for a certificate that is too long. What is in it is the caller's to check.
    #[must_use]
    pub fn new(ski: Ski, certificate: &[u8]) -> Option<Administrator> {
        (certificate.len() <= LONGEST_CERTIFICATE).then(|| Administrator { ski, certificate: certificate.into() })
    }

    /// The identifier of the public key.
    #[must_use]
    pub fn ski(&self) -> &Ski {
        &self.ski
    }

    /// The certificate.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(u64),
    /// Bytes, nothing secret.
    Bytes(Vec<u8>),
}

/// A key of a unit's own: private, wiped when the last that holds it goes.
#[derive(Clone)]
pub struct OwnKey(Arc<Zeroizing<Vec<u8>>>);

adjunct::opaque_debug!(OwnKey);

impl OwnKey {
    /// A key of such bytes.
    #[must_use]
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> OwnKey {
        OwnKey(Arc::new(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        &self.0
    }
}

/// Why a unit does not take something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// There is no room for another, or it is too long.
    #[error("no room: too many, or too long")]
    Room,
    /// An administrator with that key is there already.
    #[error("an administrator with that key is there already")]
    Exists,
    /// No administrator has that key.
    #[error("no administrator has that key")]
    Missing,
}

/// The card, or a domain, as administrators see it.
#[derive(Debug, Clone)]
pub struct Unit {
    points: ControlPoints,
    counter: [u8; 16],
    pub(crate) attributes: BTreeMap<u32, u32>,
    pub(crate) settings: BTreeMap<u32, Setting>,
    pub(crate) keys: BTreeMap<u32, OwnKey>,
    administrators: Vec<Administrator>,
}

impl Unit {
    /// A unit with such control points, and nothing else.
    #[must_use]
    pub fn new(points: ControlPoints) -> Unit {
        let (attributes, settings, keys) = Default::default();
        Unit { points, counter: [0; 16], attributes, settings, keys, administrators: Vec::new() }
    }

    /// The control points.
    #[must_use]
    pub fn points(&self) -> ControlPoints {
        self.points
    }

    /// Sets the control points.
    pub fn set_points(&mut self, points: ControlPoints) {
        self.points = points;
    }

    /// The counter of commands that were accepted, big endian.
    #[must_use]
    pub fn counter(&self) -> &[u8; 16] {
        &self.counter
    }

    /// Sets the counter.
    pub fn set_counter(&mut self, counter: [u8; 16]) {
        self.counter = counter;
    }

    /// Counts a command that was accepted; after the highest number comes zero.
    pub fn count(&mut self) {
        self.counter = u128::from_be_bytes(self.counter).wrapping_add(1).to_be_bytes();
    }

    /// An attribute (thresholds, permissions, modes), by its number.
    #[must_use]
    pub fn attribute(&self, number: u32) -> Option<u32> {
        self.attributes.get(&number).copied()
    }

    /// All attributes.
    pub fn attributes(&self) -> impl Iterator<Item = (u32, u32)> {
        self.attributes.iter().map(|(number, value)| (*number, *value))
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// [`Full::Room`].
    pub fn set_attribute(&mut self, number: u32, value: u32) -> Result<(), Full> {
        insert(&mut self.attributes, number, value)
    }

    /// A setting, by its number.
    #[must_use]
    pub fn setting(&self, number: u32) -> Option<&Setting> {
        self.settings.get(&number)
    }

    /// All settings.
    pub fn settings(&self) -> impl Iterator<Item = (u32, &Setting)> {
        self.settings.iter().map(|(number, value)| (*number, value))
    }

    /// Sets or removes a setting.
    ///
    /// # Errors
    /// [`Full::Room`].
    pub fn set_setting(&mut self, number: u32, value: Option<Setting>) -> Result<(), Full> {
        match value {
            None => self.settings.remove(&number).map_or((), drop),
            Some(Setting::Bytes(bytes)) if bytes.len() > LONGEST_ENTRY => return Err(Full::Room),
            Some(value) => insert(&mut self.settings, number, value)?,
        }
        Ok(())
    }

    /// A key of the unit's own, by its number.
    #[must_use]
    pub fn key(&self, number: u32) -> Option<&OwnKey> {
        self.keys.get(&number)
    }

    /// Sets or removes a key of the unit's own.
    ///
    /// # Errors
    /// [`Full::Room`].
    pub fn set_key(&mut self, number: u32, key: Option<OwnKey>) -> Result<(), Full> {
        match key {
            None => self.keys.remove(&number).map_or((), drop),
            Some(key) if key.secret().len() > LONGEST_ENTRY => return Err(Full::Room),
            Some(key) => insert(&mut self.keys, number, key)?,
        }
        Ok(())
    }

    /// The administrators, in the order in which they came.
    #[must_use]
    pub fn administrators(&self) -> &[Administrator] {
        &self.administrators
    }

    /// The administrator of a key.
    #[must_use]
    pub fn administrator(&self, ski: &Ski) -> Option<&Administrator> {
        self.administrators.iter().find(|administrator| administrator.ski == *ski)
    }

    /// Adds an administrator.
    ///
    /// # Errors
    /// [`Full::Exists`]; [`Full::Room`] where there are eight.
    pub fn add_administrator(&mut self, administrator: Administrator) -> Result<(), Full> {
        if self.administrator(&administrator.ski).is_some() {
            return Err(Full::Exists);
        }
        if self.administrators.len() >= MOST_ADMINISTRATORS {
            return Err(Full::Room);
        }
        self.administrators.push(administrator);
        Ok(())
    }

    /// Removes an administrator.
    ///
    /// # Errors
    /// [`Full::Missing`].
    pub fn remove_administrator(&mut self, ski: &Ski) -> Result<(), Full> {
        let at = self.administrators.iter().position(|administrator| administrator.ski == *ski).ok_or(Full::Missing)?;
        self.administrators.remove(at);
        Ok(())
    }

    /// Puts an administrator in the place of another.
    ///
    /// # Errors
    /// [`Full::Missing`]; [`Full::Exists`] where the new one is there already, in another place.
    pub fn replace_administrator(&mut self, ski: &Ski, by: Administrator) -> Result<(), Full> {
        let at = self.administrators.iter().position(|administrator| administrator.ski == *ski).ok_or(Full::Missing)?;
        if by.ski != *ski && self.administrator(&by.ski).is_some() {
            return Err(Full::Exists);
        }
        self.administrators[at] = by;
        Ok(())
    }
}

fn insert<T>(map: &mut BTreeMap<u32, T>, number: u32, value: T) -> Result<(), Full> {
    if map.len() >= MOST_ENTRIES && !map.contains_key(&number) {
        return Err(Full::Room);
    }
    map.insert(number, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_eight_administrators_each_once() {
        let mut unit = Unit::new(ControlPoints::ALL);
        let one = |number: u8| Administrator::new([number; 32], &[number; 100]).unwrap();
        for number in 0..8 {
            unit.add_administrator(one(number)).unwrap();
        }
        assert_eq!(unit.add_administrator(one(7)), Err(Full::Exists));
        assert_eq!(unit.add_administrator(one(8)), Err(Full::Room));
        assert_eq!(unit.replace_administrator(&[0; 32], one(7)), Err(Full::Exists));
        unit.replace_administrator(&[0; 32], one(9)).unwrap();
        unit.remove_administrator(&[1; 32]).unwrap();
        assert_eq!(unit.remove_administrator(&[1; 32]), Err(Full::Missing));
        assert_eq!(unit.replace_administrator(&[1; 32], one(1)), Err(Full::Missing));
        assert_eq!(unit.administrators().iter().map(|a| a.ski()[0]).collect::<Vec<_>>(), [9, 2, 3, 4, 5, 6, 7]);
        assert!(Administrator::new([0; 32], &[0; LONGEST_CERTIFICATE]).is_some());
        assert!(Administrator::new([0; 32], &[0; LONGEST_CERTIFICATE + 1]).is_none());
    }

    #[test]
    fn the_counter_is_of_sixteen_bytes() {
        let mut unit = Unit::new(ControlPoints::NONE);
        unit.set_counter([0xff; 16]);
        unit.count();
        assert_eq!(unit.counter(), &[0; 16]);
        unit.set_counter(0xff_u128.to_be_bytes());
        unit.count();
        assert_eq!(unit.counter()[14..], [1, 0]);
    }

    #[test]
    fn room_is_bounded() {
        let mut unit = Unit::new(ControlPoints::NONE);
        for number in 0..MOST_ENTRIES as u32 {
            unit.set_attribute(number, 1).unwrap();
            unit.set_setting(number, Some(Setting::Flag(true))).unwrap();
            unit.set_key(number, Some(OwnKey::new(Zeroizing::new(vec![1])))).unwrap();
        }
        assert_eq!(unit.set_attribute(1000, 1), Err(Full::Room));
        unit.set_attribute(5, 2).unwrap();
        assert_eq!((unit.attribute(5), unit.attribute(1000)), (Some(2), None));
        assert_eq!(unit.set_setting(1000, Some(Setting::Number(1))), Err(Full::Room));
        assert_eq!(unit.set_setting(5, Some(Setting::Bytes(vec![0; LONGEST_ENTRY + 1]))), Err(Full::Room));
        unit.set_setting(5, None).unwrap();
        unit.set_setting(1000, Some(Setting::Number(1))).unwrap();
        assert_eq!((unit.setting(5), unit.setting(1000)), (None, Some(&Setting::Number(1))));
        let long = OwnKey::new(Zeroizing::new(vec![1; LONGEST_ENTRY + 1]));
        assert_eq!(unit.set_key(5, Some(long)), Err(Full::Room));
        unit.set_key(5, None).unwrap();
        assert!(unit.key(5).is_none() && unit.key(6).unwrap().secret() == [1]);
    }
}
