//! Control points: which functions a domain or a card allows. A point that is set allows.

/// 128 control points, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlPoints(u128);

impl ControlPoints {
    /// None is set.
    pub const NONE: ControlPoints = ControlPoints(0);
    /// All are set.
    pub const ALL: ControlPoints = ControlPoints(u128::MAX);

    /// Those of bytes as EP11 writes them: point 0 is the highest bit of the first byte.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> ControlPoints {
        ControlPoints(u128::from_be_bytes(bytes))
    }

    /// The bytes that [`ControlPoints::from_bytes`] reads.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    fn bit(point: u8) -> u128 {
        1_u128.rotate_right(1).checked_shr(point.into()).unwrap_or(0)
    }

    /// Whether a point is set; no point above 127 is.
    #[must_use]
    pub fn has(self, point: u8) -> bool {
        self.0 & Self::bit(point) != 0
    }

    /// With a point set. One above 127 changes nothing.
    #[must_use]
    pub fn with(self, point: u8) -> ControlPoints {
        ControlPoints(self.0 | Self::bit(point))
    }

    /// With a point not set.
    #[must_use]
    pub fn without(self, point: u8) -> ControlPoints {
        ControlPoints(self.0 & !Self::bit(point))
    }

    /// What is set in one or the other.
    #[must_use]
    pub fn union(self, other: ControlPoints) -> ControlPoints {
        ControlPoints(self.0 | other.0)
    }

    /// What is set in both.
    #[must_use]
    pub fn intersection(self, other: ControlPoints) -> ControlPoints {
        ControlPoints(self.0 & other.0)
    }

    /// What is set here and not in the other.
    #[must_use]
    pub fn difference(self, other: ControlPoints) -> ControlPoints {
        ControlPoints(self.0 & !other.0)
    }

    /// Whether all that is set in the other is set here.
    #[must_use]
    pub fn has_all(self, other: ControlPoints) -> bool {
        other.difference(self) == ControlPoints::NONE
    }

    /// The numbers of those that are set.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..128).filter(move |&point| self.has(point))
    }
}

impl FromIterator<u8> for ControlPoints {
    fn from_iter<I: IntoIterator<Item = u8>>(points: I) -> ControlPoints {
        points.into_iter().fold(ControlPoints::NONE, ControlPoints::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn point_0_is_the_first_bit_of_the_bytes() {
        let points: ControlPoints = [0, 9, 127, 200].into_iter().collect();
        let mut bytes = [0; 16];
        (bytes[0], bytes[1], bytes[15]) = (0x80, 0x40, 1);
        assert_eq!(points.to_bytes(), bytes);
        assert_eq!(ControlPoints::from_bytes(bytes).iter().collect::<Vec<_>>(), [0, 9, 127]);
        assert!(points.has(9) && !points.has(10) && !ControlPoints::ALL.has(128) && ControlPoints::ALL.has(127));
        assert!(ControlPoints::ALL.has_all(points) && !points.has_all(ControlPoints::ALL));
        assert_eq!(points.without(9).iter().collect::<Vec<_>>(), [0, 127]);
        assert_eq!(points.without(200), points);
    }
}
