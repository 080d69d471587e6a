//! Key encapsulation as TLS 1.3 has it: ML-KEM alone (draft-ietf-tls-mlkem), or beside a key exchange on a curve, one after the other in
//! every share and secret (draft-ietf-tls-ecdhe-mlkem).
//!
//! What is done counts by its parts: ML-KEM as ML-KEM, a key pair and a key agreement on the curve as those, each by what ran it.

use super::ec;
use super::ecx::{Private, x25519};
use super::mlkem::{self, RANDOM, SECRET, SEED, Set};
use crate::error::Error;
use adjunct_card_protocol::reference;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// The longest shared secret, in bytes.
pub const MAX_SECRET: usize = SECRET + 48;

/// The kind of a key: ML-KEM's set, and the curve beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the IANA registry of TLS's supported groups")]
pub enum KemGroup {
    MlKem512,
    MlKem768,
    MlKem1024,
    X25519MlKem768,
    SecP256r1MlKem768,
    SecP384r1MlKem1024,
}

/// A curve beside ML-KEM.
#[derive(Clone, Copy)]
enum Curve {
    X25519,
    Nist(ec::Curve),
}

impl Curve {
    const fn public(self) -> usize {
        match self {
            Curve::X25519 => x25519::KEY,
            Curve::Nist(curve) => 1 + 2 * curve.field_len(),
        }
    }

    /// The length of a private key, and of a shared secret.
    const fn private(self) -> usize {
        match self {
            Curve::X25519 => x25519::KEY,
            Curve::Nist(curve) => curve.field_len(),
        }
    }
}

impl KemGroup {
    /// The parameter set of ML-KEM.
    pub const fn set(self) -> Set {
        match self {
            KemGroup::MlKem512 => Set::MlKem512,
            KemGroup::MlKem768 | KemGroup::X25519MlKem768 | KemGroup::SecP256r1MlKem768 => Set::MlKem768,
            KemGroup::MlKem1024 | KemGroup::SecP384r1MlKem1024 => Set::MlKem1024,
        }
    }

    const fn curve(self) -> Option<Curve> {
        match self {
            KemGroup::MlKem512 | KemGroup::MlKem768 | KemGroup::MlKem1024 => None,
            KemGroup::X25519MlKem768 => Some(Curve::X25519),
            KemGroup::SecP256r1MlKem768 => Some(Curve::Nist(ec::Curve::P256)),
            KemGroup::SecP384r1MlKem1024 => Some(Curve::Nist(ec::Curve::P384)),
        }
    }

    /// Whether there is a curve beside ML-KEM.
    pub const fn is_hybrid(self) -> bool {
        self.curve().is_some()
    }

    /// The length of a public key, the share of a client, in bytes.
    pub const fn public(self) -> usize {
        match self.curve() {
            None => self.set().public(),
            Some(curve) => self.set().public() + curve.public(),
        }
    }

    /// The length of a private key, in bytes.
    pub const fn private(self) -> usize {
        match self.curve() {
            None => self.set().private(),
            Some(curve) => self.set().private() + curve.private(),
        }
    }

    /// The length of a ciphertext, the share of a server, in bytes.
    pub const fn ciphertext(self) -> usize {
        match self.curve() {
            None => self.set().ciphertext(),
            Some(curve) => self.set().ciphertext() + curve.public(),
        }
    }

    /// The length of a shared secret, in bytes.
    pub const fn secret(self) -> usize {
        match self.curve() {
            None => SECRET,
            Some(curve) => SECRET + curve.private(),
        }
    }

    /// Positions of ML-KEM's part and the curve's part in a key or ciphertext, for parts of `mlkem` and `curve` bytes. ML-KEM is first beside X25519
    /// and last beside the NIST curves (the draft's 4.1 to 4.3).
    fn parts(self, mlkem: usize, curve: usize) -> [std::ops::Range<usize>; 2] {
        match self.curve() {
            Some(Curve::Nist(_)) => [curve..curve + mlkem, 0..curve],
            _ => [0..mlkem, mlkem..mlkem + curve],
        }
    }

    fn public_parts(self) -> [std::ops::Range<usize>; 2] {
        self.parts(self.set().public(), self.curve().map_or(0, Curve::public))
    }

    fn private_parts(self) -> [std::ops::Range<usize>; 2] {
        self.parts(self.set().private(), self.curve().map_or(0, Curve::private))
    }

    fn ciphertext_parts(self) -> [std::ops::Range<usize>; 2] {
        self.parts(self.set().ciphertext(), self.curve().map_or(0, Curve::public))
    }

    fn secret_parts(self) -> [std::ops::Range<usize>; 2] {
        self.parts(SECRET, self.curve().map_or(0, Curve::private))
    }
}

/// A key: the public half, and the private one if there is one. Immutable; threads share it.
#[derive(Clone)]
pub struct KemKey {
    kind: KemGroup,
    mlkem: mlkem::MlKemKey,
    curve: Option<OnCurve>,
    /// The seed that the key pair was made of, for ML-KEM alone and never of a card's key.
    seed: Option<Zeroizing<[u8; SEED]>>,
}

opaque_debug!(KemKey);

/// The half on a curve.
#[derive(Clone)]
enum OnCurve {
    X25519 { public: [u8; x25519::KEY], private: Option<Private<{ x25519::KEY }>> },
    Nist(ec::EcKey),
}

impl OnCurve {
    fn generate(curve: Curve) -> Result<OnCurve, Error> {
        Ok(match curve {
            Curve::X25519 => {
                let (private, public) = x25519::generate();
                OnCurve::X25519 { public, private: Some(private) }
            }
            Curve::Nist(curve) => OnCurve::Nist(ec::EcKey::generate(curve)?),
        })
    }

    /// The public key of a share, and nothing else than such: no point at infinity, none in another form, none of small order.
    fn public_only(curve: Curve, public: &[u8]) -> Result<OnCurve, Error> {
        match curve {
            Curve::X25519 => {
                let public = public.try_into().map_err(|_| Error::InvalidKey("not an X25519 public key"))?;
                if x25519::is_of_small_order(&public) {
                    return Err(Error::InvalidKey("a point of small order"));
                }
                Ok(OnCurve::X25519 { public, private: None })
            }
            Curve::Nist(_) if public.first() != Some(&4) => Err(Error::InvalidKey("not an uncompressed point")),
            Curve::Nist(curve) => Ok(OnCurve::Nist(ec::EcKey::new(curve, Some(public), None)?)),
        }
    }

    fn private(curve: Curve, private: &[u8], public: Option<&[u8]>) -> Result<OnCurve, Error> {
        match curve {
            Curve::X25519 => {
                let mut place = None;
                let bytes = private.try_into().map_err(|_| Error::InvalidKey("not an X25519 private key"))?;
                Private::put(&mut place, bytes);
                let public = place.as_ref().map(x25519::other_half).transpose()?.unwrap_or_default();
                Ok(OnCurve::X25519 { public, private: place })
            }
            Curve::Nist(curve) => {
                let public = public.ok_or(Error::InvalidKey("a private key on a NIST curve without its public key"))?;
                let key = ec::EcKey::new(curve, Some(public), Some(private))?;
                if !key.is_pair() {
                    return Err(Error::InvalidKey("the halves do not belong together"));
                }
                Ok(OnCurve::Nist(key))
            }
        }
    }

    fn without_private(&self) -> Result<OnCurve, Error> {
        Ok(match self {
            &OnCurve::X25519 { public, .. } => OnCurve::X25519 { public, private: None },
            OnCurve::Nist(key) => OnCurve::Nist(key.public_only()?),
        })
    }

    /// Writes the public key, which fills `out`.
    fn write_public(&self, out: &mut [u8]) {
        match self {
            OnCurve::X25519 { public, .. } => out.copy_from_slice(public),
            OnCurve::Nist(key) => {
                let mut point = [0; ec::MAX_POINT];
                if let Some(point) = key.public(ec::Form::Uncompressed, &mut point) {
                    out.copy_from_slice(point);
                }
            }
        }
    }

    fn private_bytes(&self) -> Option<&[u8]> {
        match self {
            OnCurve::X25519 { private, .. } => private.as_ref()?.bytes().map(|bytes| &bytes[..]),
            OnCurve::Nist(key) => key.private(),
        }
    }

    /// Computes the shared secret of this private and another's public key, which fills `out`.
    fn agree(&self, peer: &OnCurve, out: &mut [u8]) -> Result<(), Error> {
        match (self, peer) {
            (OnCurve::X25519 { private, .. }, OnCurve::X25519 { public, .. }) => {
                let private = private.as_ref().ok_or(NO_PRIVATE)?;
                out.copy_from_slice(&x25519::shared_secret(private, public)?[..]);
            }
            (OnCurve::Nist(key), OnCurve::Nist(peer)) => {
                let mut secret = Zeroizing::new([0; ec::MAX_FIELD]);
                out.copy_from_slice(key.shared_secret(peer, &mut secret)?);
            }
            _ => return Err(Error::InvalidKey("curves differ")),
        }
        Ok(())
    }
}

const NO_PRIVATE: Error = Error::InvalidKey("no private half");

fn length(what: &'static str, got: usize, expected: usize) -> Result<(), Error> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, got, expected: "the kind's" }) }
}

impl KemKey {
    /// Generates a key pair.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] where the library fails.
    pub fn generate(kind: KemGroup) -> Result<KemKey, Error> {
        let (mlkem, seed) = mlkem::MlKemKey::generate(kind.set())?;
        let curve = kind.curve().map(OnCurve::generate).transpose()?;
        // Hybrids are not known by a seed.
        let seed = curve.is_none().then_some(seed);
        Ok(KemKey { kind, mlkem, curve, seed })
    }

    /// Generates the key pair of a seed that is given, of ML-KEM alone: for known answers.
    ///
    /// # Errors
    /// As for [`KemKey::generate`]; and [`Error::Unsupported`] for a hybrid.
    pub fn generate_of(kind: KemGroup, seed: &[u8; SEED]) -> Result<KemKey, Error> {
        KemKey::with_seed(kind, seed, mlkem::MlKemKey::generate_of)
    }

    /// The key pair of a seed, of ML-KEM alone. A part of an import, which counts nothing.
    ///
    /// # Errors
    /// As for [`KemKey::generate_of`].
    pub fn of_seed(kind: KemGroup, seed: &[u8; SEED]) -> Result<KemKey, Error> {
        KemKey::with_seed(kind, seed, mlkem::MlKemKey::of_seed)
    }

    fn with_seed(
        kind: KemGroup,
        seed: &[u8; SEED],
        make: impl FnOnce(Set, &[u8; SEED]) -> Result<mlkem::MlKemKey, Error>,
    ) -> Result<KemKey, Error> {
        if kind.is_hybrid() {
            return Err(Error::Unsupported("a seed of a hybrid"));
        }
        let mlkem = make(kind.set(), seed)?;
        let mut copy = Zeroizing::new([0; SEED]);
        copy.copy_from_slice(seed);
        Ok(KemKey { kind, mlkem, curve: None, seed: Some(copy) })
    }

    /// Makes a public key, each half checked as its specification requires for data of a peer.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::InvalidKey`] where a half is none; [`Error::Memory`].
    pub fn public_only(kind: KemGroup, public: &[u8]) -> Result<KemKey, Error> {
        length("public key", public.len(), kind.public())?;
        let [mlkem, on_curve] = kind.public_parts();
        let curve = kind.curve().map(|curve| OnCurve::public_only(curve, &public[on_curve])).transpose()?;
        Ok(KemKey { kind, mlkem: mlkem::MlKemKey::public_only(kind.set(), &public[mlkem])?, curve, seed: None })
    }

    /// A private key, checked, with its public key: that of ML-KEM and X25519 follows from the private one, and that on a NIST curve has
    /// to be given. A reference to a card's key ([`crate::ops::reference`]) may stand for the private key of ML-KEM alone.
    ///
    /// # Errors
    /// As for [`KemKey::public_only`]; those of a card's key.
    pub fn private(kind: KemGroup, private: &[u8], public: Option<&[u8]>) -> Result<KemKey, Error> {
        if reference::begins(private) {
            if kind.is_hybrid() {
                return Err(Error::CardKey("it is no key of a hybrid"));
            }
            let mlkem = mlkem::MlKemKey::private(kind.set(), private)?;
            return Ok(KemKey { kind, mlkem, curve: None, seed: None });
        }
        length("private key", private.len(), kind.private())?;
        length("public key", public.map_or(kind.public(), <[u8]>::len), kind.public())?;
        let [mlkem, on_curve] = kind.private_parts();
        let [_, public_on_curve] = kind.public_parts();
        let public_on_curve = public.map(|public| &public[public_on_curve]);
        let curve =
            kind.curve().map(|curve| OnCurve::private(curve, &private[on_curve], public_on_curve)).transpose()?;
        let key = KemKey { kind, mlkem: mlkem::MlKemKey::private(kind.set(), &private[mlkem])?, curve, seed: None };
        // The hash in it vouches for the public key, and nothing for the rest.
        if !key.mlkem.is_pair()? {
            return Err(Error::InvalidKey("the halves do not belong together"));
        }
        Ok(key)
    }

    /// The public key of this key alone.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] where memory runs out.
    pub fn without_private(&self) -> Result<KemKey, Error> {
        let curve = self.curve.as_ref().map(OnCurve::without_private).transpose()?;
        Ok(KemKey { kind: self.kind, mlkem: self.mlkem.without_private()?, curve, seed: None })
    }

    /// The kind of the key.
    pub fn kind(&self) -> KemGroup {
        self.kind
    }

    /// Whether the key has its private half.
    pub fn has_private(&self) -> bool {
        self.mlkem.has_private()
    }

    /// Whether the private half gives back what the public half hides. A check of a key, which counts nothing.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] where the library fails.
    pub fn is_pair(&self) -> Result<bool, Error> {
        Ok(self.mlkem.is_pair()?
            && match &self.curve {
                None => true,
                Some(OnCurve::X25519 { public, private }) => {
                    private.as_ref().is_some_and(|private| x25519::other_half(private).as_ref() == Ok(public))
                }
                Some(OnCurve::Nist(key)) => key.is_pair(),
            })
    }

    /// Whether both have the same public key.
    pub fn same_public(&self, other: &KemKey) -> bool {
        self.kind == other.kind
            && self.mlkem.public_bytes() == other.mlkem.public_bytes()
            && match (&self.curve, &other.curve) {
                (None, None) => true,
                (Some(OnCurve::X25519 { public: a, .. }), Some(OnCurve::X25519 { public: b, .. })) => a == b,
                (Some(OnCurve::Nist(a)), Some(OnCurve::Nist(b))) => a.same_public(b) == Some(true),
                _ => false,
            }
    }

    /// Writes the public key into `out`, of [`KemGroup::public`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for an `out` of another length.
    pub fn write_public(&self, out: &mut [u8]) -> Result<(), Error> {
        length("public key", out.len(), self.kind.public())?;
        let [mlkem, on_curve] = self.kind.public_parts();
        out[mlkem].copy_from_slice(self.mlkem.public_bytes());
        if let Some(curve) = &self.curve {
            curve.write_public(&mut out[on_curve]);
        }
        Ok(())
    }

    /// Writes the private key into `out`, of [`KemGroup::private`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for an `out` of another length; [`Error::InvalidKey`] where there is none, or it is not given.
    pub fn write_private(&self, out: &mut [u8]) -> Result<(), Error> {
        length("private key", out.len(), self.kind.private())?;
        let [mlkem, on_curve] = self.kind.private_parts();
        out[mlkem].copy_from_slice(self.mlkem.private_bytes().ok_or(NO_PRIVATE)?);
        if let Some(curve) = &self.curve {
            out[on_curve].copy_from_slice(curve.private_bytes().ok_or(NO_PRIVATE)?);
        }
        Ok(())
    }

    /// The seed, where the key pair is known by one.
    pub fn seed(&self) -> Option<&[u8; SEED]> {
        self.seed.as_deref()
    }

    /// Makes a new shared secret, which fills `secret` ([`KemGroup::secret`] bytes), and in `out` ([`KemGroup::ciphertext`] bytes) the ciphertext that gives
    /// it to the owner of the private key. With random bytes, for ML-KEM alone: for known answers. After an error nothing of a secret is left in
    /// `secret`.
    ///
    /// # Errors
    /// [`Error::Length`] for buffers of other lengths; [`Error::InvalidKey`] for a peer of small order; [`Error::Memory`];
    /// [`Error::Failed`] where the library fails.
    pub fn encapsulate(&self, random: Option<&[u8; RANDOM]>, out: &mut [u8], secret: &mut [u8]) -> Result<(), Error> {
        length("ciphertext", out.len(), self.kind.ciphertext())?;
        length("shared secret", secret.len(), self.kind.secret())?;
        let ([mlkem, on_curve], [mlkem_secret, curve_secret]) =
            (self.kind.ciphertext_parts(), self.kind.secret_parts());
        if let (Some(peer), Some(curve)) = (&self.curve, self.kind.curve()) {
            let own = OnCurve::generate(curve)?;
            own.agree(peer, &mut secret[curve_secret.clone()])?;
            own.write_public(&mut out[on_curve]);
        }
        match self.mlkem.encapsulate_of(random, &mut out[mlkem]) {
            Ok(found) => secret[mlkem_secret].copy_from_slice(&found[..]),
            Err(error) => {
                secret[curve_secret].fill(0);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The shared secret of a ciphertext, which fills `secret` ([`KemGroup::secret`] bytes). After an error nothing of a secret is left there.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key, and for a ciphertext whose half on the curve is no public key; [`Error::Length`] for
    /// buffers of other lengths; [`Error::Failed`] where the library fails.
    pub fn decapsulate(&self, ciphertext: &[u8], secret: &mut [u8]) -> Result<(), Error> {
        length("ciphertext", ciphertext.len(), self.kind.ciphertext())?;
        length("shared secret", secret.len(), self.kind.secret())?;
        let ([mlkem, on_curve], [mlkem_secret, curve_secret]) =
            (self.kind.ciphertext_parts(), self.kind.secret_parts());
        if let (Some(own), Some(curve)) = (&self.curve, self.kind.curve()) {
            let peer = OnCurve::public_only(curve, &ciphertext[on_curve])?;
            own.agree(&peer, &mut secret[curve_secret.clone()])?;
        }
        match self.mlkem.decapsulate(&ciphertext[mlkem]) {
            Ok(found) => secret[mlkem_secret].copy_from_slice(&found[..]),
            Err(error) => {
                secret[curve_secret].fill(0);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [KemGroup; 6] = [
        KemGroup::MlKem512,
        KemGroup::MlKem768,
        KemGroup::MlKem1024,
        KemGroup::X25519MlKem768,
        KemGroup::SecP256r1MlKem768,
        KemGroup::SecP384r1MlKem1024,
    ];

    fn public(key: &KemKey) -> Vec<u8> {
        let mut out = vec![0; key.kind().public()];
        key.write_public(&mut out).unwrap();
        out
    }

    fn private(key: &KemKey) -> Vec<u8> {
        let mut out = vec![0; key.kind().private()];
        key.write_private(&mut out).unwrap();
        out
    }

    /// The sizes of the draft's tables (4.1 to 4.3).
    #[test]
    fn shares_have_the_sizes_of_the_draft() {
        let sizes = |kind: KemGroup| (kind.public(), kind.ciphertext(), kind.secret());
        assert_eq!(sizes(KemGroup::X25519MlKem768), (1216, 1120, 64));
        assert_eq!(sizes(KemGroup::SecP256r1MlKem768), (1249, 1153, 64));
        assert_eq!(sizes(KemGroup::SecP384r1MlKem1024), (1665, 1665, 80));
        assert_eq!(sizes(KemGroup::MlKem512), (800, 768, 32));
        assert!(ALL.iter().all(|kind| kind.secret() <= MAX_SECRET));
    }

    #[test]
    fn both_sides_have_the_secret_and_nobody_else() {
        for kind in ALL {
            let key = KemKey::generate(kind).unwrap();
            let peer = KemKey::public_only(kind, &public(&key)).unwrap();
            let again = KemKey::private(kind, &private(&key), Some(&public(&key))).unwrap();
            assert!(key.is_pair().unwrap() && again.is_pair().unwrap() && !peer.is_pair().unwrap());
            assert!(key.same_public(&peer) && !key.same_public(&KemKey::generate(kind).unwrap()));
            assert!(!key.without_private().unwrap().has_private() && key.has_private() && !peer.has_private());
            assert_eq!(public(&again), public(&key));
            assert_eq!(key.seed().is_some(), !kind.is_hybrid());
            let (mut ciphertext, mut secret) = (vec![0; kind.ciphertext()], vec![0; kind.secret()]);
            peer.encapsulate(None, &mut ciphertext, &mut secret).unwrap();
            for key in [&key, &again] {
                let mut found = vec![0; kind.secret()];
                key.decapsulate(&ciphertext, &mut found).unwrap();
                assert_eq!(found, secret, "{kind:?}");
            }
            // Both halves matter, and each half of the secret is its own.
            let [mlkem, on_curve] = kind.ciphertext_parts();
            let [mlkem_secret, curve_secret] = kind.secret_parts();
            let mut other = ciphertext.clone();
            other[mlkem.start + 3] ^= 1;
            let mut found = vec![0; kind.secret()];
            key.decapsulate(&other, &mut found).unwrap();
            assert_ne!(found[mlkem_secret.clone()], secret[mlkem_secret.clone()]);
            assert_eq!(found[curve_secret.clone()], secret[curve_secret.clone()]);
            if kind.is_hybrid() {
                let fresh = KemKey::generate(kind).unwrap();
                let mut other = ciphertext.clone();
                fresh.curve.as_ref().unwrap().write_public(&mut other[on_curve]);
                key.decapsulate(&other, &mut found).unwrap();
                assert_eq!(found[mlkem_secret.clone()], secret[mlkem_secret]);
                assert_ne!(found[curve_secret.clone()], secret[curve_secret]);
                assert!(KemKey::generate_of(kind, &[1; SEED]).is_err());
            } else {
                assert!(KemKey::of_seed(kind, key.seed().unwrap()).unwrap().same_public(&key));
            }
            assert!(peer.decapsulate(&ciphertext, &mut found).is_err());
            assert!(key.decapsulate(&ciphertext[1..], &mut found).is_err());
            assert!(KemKey::public_only(kind, &public(&key)[1..]).is_err());
        }
    }

    #[test]
    fn shares_that_are_none_are_refused_and_leave_no_secret() {
        for kind in ALL {
            let key = KemKey::generate(kind).unwrap();
            let (mut ciphertext, mut secret) = (vec![0; kind.ciphertext()], vec![0; kind.secret()]);
            key.encapsulate(None, &mut ciphertext, &mut secret).unwrap();
            let (good, [mlkem, on_curve]) = (public(&key), kind.public_parts());
            // A number that is not reduced (FIPS 203, 7.2).
            let mut wrong = good.clone();
            wrong[mlkem.start..mlkem.start + 3].fill(0xff);
            assert!(KemKey::public_only(kind, &wrong).is_err());
            let mut points: Vec<Vec<u8>> = Vec::new();
            match kind.curve() {
                None => {}
                Some(Curve::X25519) => points.extend([vec![0; 32], [&[1][..], &[0; 31]].concat()]),
                Some(Curve::Nist(_)) => {
                    let point = &good[on_curve.clone()];
                    // Off the curve, in the hybrid form, at infinity.
                    let mut off = point.to_vec();
                    *off.last_mut().unwrap() ^= 1;
                    let form = 6 | point[point.len() - 1] & 1;
                    points.extend([off, [&[form], &point[1..]].concat(), vec![0; point.len()]]);
                }
            }
            for point in points {
                let mut wrong = good.clone();
                wrong[on_curve.clone()].copy_from_slice(&point);
                assert!(KemKey::public_only(kind, &wrong).is_err(), "{kind:?}");
                let mut wrong = ciphertext.clone();
                wrong[kind.ciphertext_parts()[1].clone()].copy_from_slice(&point);
                let mut found = vec![0; kind.secret()];
                assert!(key.decapsulate(&wrong, &mut found).is_err(), "{kind:?}");
                assert!(found.iter().all(|&b| b == 0));
            }
            let mut halves = private(&key);
            let at = kind.private_parts()[0].start;
            halves[at] ^= 1;
            assert!(KemKey::private(kind, &halves, Some(&good)).is_err(), "{kind:?}");
        }
    }
}
