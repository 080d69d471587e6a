//! Secret keys as mechanisms take them: schedules, tables and states, kept beside the object once it is used more than once.
//!
//! A kept form is dropped with the object, and wipes itself. No thread waits for another: one that comes while a form is being put away, or when all
//! places are taken, makes a form for its own operation.

use super::{Held, Object};
use crate::rv::{Result, Rv, ensure, fail, key_size};
use adjunct::memory::{Kept, WriteOnce, boxed};
use adjunct::ops::aead::ccm::Ccm;
use adjunct::ops::aead::gcm_parts;
use adjunct::ops::cipher::xts::Xts;
use adjunct::ops::cipher::{Counted, Mode, aes, des};
use adjunct::ops::digest::Method;
use adjunct::ops::mac::{BlockCipher, Cmac, Hmac};
use cryptoki_sys::*;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use zeroize::Zeroizing;

/// The most forms that a key is kept in: enough for all that programs use one after the other.
const PLACES: usize = 8;

/// The forms of a key, in the order of their uses, from the second use of the key on: programs make many keys that they use once, and have
/// many of them at a time. Most objects have none, and memory for none.
#[derive(Debug, Default)]
pub struct Forms {
    /// Whether the key was used.
    used: AtomicBool,
    first: WriteOnce<Any>,
    others: WriteOnce<Box<[WriteOnce<Any>; PLACES - 1]>>,
}

/// A form that a mechanism takes keys in.
pub trait Form: Sized {
    /// The property that distinguishes forms of one type: the direction, the hash.
    type Of: Copy;

    /// Makes the form of a key.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
    fn make(key: &Object, of: Self::Of) -> Result<Box<Self>>;

    /// Converts the form into what is kept beside the object.
    fn any(self: Box<Self>, of: Self::Of) -> Any;

    /// The form that [`Form::any`] has wrapped.
    fn own(any: Any) -> Option<Box<Self>>;

    /// The prepared form in `any`, if it is of this type.
    fn within(any: &Any) -> Option<(&Self, Self::Of)>;

    /// Whether two are the same.
    fn same(one: Self::Of, other: Self::Of) -> bool;
}

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident($type:ty) of $of:ty, same by $same:expr, |$key:ident, $which:ident| $make:expr;)*) => {
        /// A form of any type.
        #[derive(Debug)]
        pub enum Any {
            $($(#[$doc])* $name(Box<$type>, $of),)*
        }

        $(impl Form for $type {
            type Of = $of;

            fn make($key: &Object, $which: $of) -> Result<Box<$type>> {
                $make
            }

            fn any(self: Box<$type>, of: $of) -> Any {
                Any::$name(self, of)
            }

            fn own(any: Any) -> Option<Box<$type>> {
                match any {
                    Any::$name(form, _) => Some(form),
                    _ => None,
                }
            }

            #[inline]
            fn within(any: &Any) -> Option<(&$type, $of)> {
                match any {
                    Any::$name(form, of) => Some((form, *of)),
                    _ => None,
                }
            }

            #[inline]
            fn same(one: $of, other: $of) -> bool {
                let same: fn($of, $of) -> bool = $same;
                same(one, other)
            }
        })*
    };
}

forms! {
    /// HMAC over a hash.
    Hmac(Hmac) of &'static Method, same by |one, other| std::ptr::eq(one, other), |key, hash| {
        Ok(boxed(Hmac::new(hash, key.value()?)?)?)
    };
    /// CMAC with AES or triple DES, as the key's type has it.
    Cmac(Cmac) of (), same by |(), ()| true, |key, _of| match key.key_type() {
        Some(CKK_DES2 | CKK_DES3) => Cmac::boxed(BlockCipher::TripleDes, &*des3(key)?).map_err(key_size),
        _ => {
            let value = secret(key, CKK_AES)?;
            Cmac::boxed(BlockCipher::Aes(value.len()), value).map_err(key_size)
        }
    };
    /// AES-GCM and GMAC.
    Gcm(gcm_parts::GcmMessageKey) of (), same by |(), ()| true, |key, _of| {
        gcm_parts::GcmMessageKey::boxed(secret(key, CKK_AES)?).map_err(key_size)
    };
    /// AES-CCM; each message works on a copy.
    Ccm(Ccm) of (), same by |(), ()| true, |key, _of| {
        let mut made = boxed(Ccm::default())?;
        made.set_key(secret(key, CKK_AES)?).map_err(key_size)?;
        Ok(made)
    };
    /// AES-XTS in a direction: whether it encrypts.
    Xts(Xts) of bool, same by |one, other| one == other, |key, encrypt| {
        let mut made = boxed(Xts::default())?;
        made.set_key(secret(key, CKK_AES_XTS)?, encrypt).map_err(key_size)?;
        Ok(made)
    };
    /// Modes of AES in a direction.
    Ecb(Counted<aes::Ecb>) of bool, same by |one, other| one == other, |key, encrypt| mode(secret(key, CKK_AES)?, encrypt);
    Cbc(Counted<aes::Cbc>) of bool, same by |one, other| one == other, |key, encrypt| mode(secret(key, CKK_AES)?, encrypt);
    Ctr(Counted<aes::Ctr>) of bool, same by |one, other| one == other, |key, encrypt| mode(secret(key, CKK_AES)?, encrypt);
    Ofb(Counted<aes::Ofb>) of bool, same by |one, other| one == other, |key, encrypt| mode(secret(key, CKK_AES)?, encrypt);
    Cfb(Counted<aes::Cfb>) of bool, same by |one, other| one == other, |key, encrypt| mode(secret(key, CKK_AES)?, encrypt);
    Cfb8(Counted<aes::Cfb8>) of bool, same by |one, other| one == other, |key, encrypt| mode(secret(key, CKK_AES)?, encrypt);
    /// Triple DES in CBC.
    Des3Cbc(Counted<des::Cbc>) of bool, same by |one, other| one == other, |key, encrypt| mode(&*des3(key)?, encrypt);
}

/// Makes a mode and sets its key where it stays: a value that is moved leaves a copy of the key behind.
fn mode<M: Mode>(key: &[u8], encrypt: bool) -> Result<Box<Counted<M>>> {
    let mut made = boxed(Counted::<M>::default())?;
    made.set_key(key, encrypt).map_err(key_size)?;
    Ok(made)
}

/// The bytes of a secret key of that type.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub fn secret(key: &Object, kind: CK_KEY_TYPE) -> Result<&[u8]> {
    ensure(key.key_type() == Some(kind), CKR_KEY_TYPE_INCONSISTENT)?;
    key.value()
}

/// The three keys of triple DES; of a double-length key the first is also the last.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub fn des3(key: &Object) -> Result<Zeroizing<[u8; 24]>> {
    let mut keys = Zeroizing::new([0; 24]);
    match (key.key_type(), key.value()?) {
        (Some(CKK_DES3), value) if value.len() == 24 => keys.copy_from_slice(value),
        (Some(CKK_DES2), value) if value.len() == 16 => {
            keys[..16].copy_from_slice(value);
            keys[16..].copy_from_slice(&value[..8]);
        }
        _ => return fail(CKR_KEY_TYPE_INCONSISTENT),
    }
    Ok(keys)
}

/// A form of a key, for as long as an operation needs it, with the object that it is of.
#[derive(Debug, Clone)]
pub struct Prepared<F> {
    key: Held,
    place: Place<F>,
}

/// Storage of a form.
#[derive(Debug, Clone)]
enum Place<F> {
    /// The form is kept beside the object.
    Kept(usize),
    /// Nowhere else.
    Own(Box<F>),
}

impl<F: Form> Prepared<F> {
    /// Finds or makes the form `of` of a key.
    ///
    /// # Errors
    /// Those of [`Form::make`].
    #[inline]
    pub fn new(key: Held, of: F::Of) -> Result<Prepared<F>> {
        let place = key.forms.place(&key, of)?;
        Ok(Prepared { key, place })
    }

    /// The form.
    ///
    /// # Errors
    /// None in fact: what is kept stays.
    #[inline]
    pub fn get(&self) -> Result<&F> {
        let form = match &self.place {
            Place::Kept(at) => self.key.forms.at(*at).and_then(F::within).map(|(form, _)| form),
            Place::Own(form) => Some(&**form),
        };
        form.ok_or(Rv(CKR_FUNCTION_FAILED))
    }

    /// The key.
    pub fn key(&self) -> &Held {
        &self.key
    }
}

impl Forms {
    #[inline]
    fn at(&self, at: usize) -> Option<&Any> {
        match at.checked_sub(1) {
            None => self.first.get(),
            Some(at) => self.others.get()?.get(at)?.get(),
        }
    }

    fn place<F: Form>(&self, key: &Object, of: F::Of) -> Result<Place<F>> {
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
            return Ok(Place::Own(F::make(key, of)?));
        }
        if let Some(place) = look(&self.first, 0, key, of) {
            return place;
        }
        let others = self.others.get_or_make(|| boxed(std::array::from_fn(|_| WriteOnce::default())))?;
        // Places that this operation alone would know are of no use.
        let Kept::There(others) = others else { return Ok(Place::Own(F::make(key, of)?)) };
        let mut places = others.iter().zip(1..);
        let found = places.find_map(|(place, at)| look(place, at, key, of));
        found.unwrap_or_else(|| Ok(Place::Own(F::make(key, of)?)))
    }
}

/// The form in a place, made where it is empty; `None` where another form is there.
#[inline]
fn look<F: Form>(place: &WriteOnce<Any>, at: usize, key: &Object, of: F::Of) -> Option<Result<Place<F>>> {
    match place.get() {
        Some(any) => F::within(any).is_some_and(|(_, kept)| F::same(kept, of)).then_some(Ok(Place::Kept(at))),
        None => Some(F::make(key, of).and_then(|form| put(place, at, form, of))),
    }
}

/// Keeps a form in a place that was empty a moment ago.
fn put<F: Form>(place: &WriteOnce<Any>, at: usize, form: Box<F>, of: F::Of) -> Result<Place<F>> {
    match place.keep(form.any(of)) {
        Kept::There(_) => Ok(Place::Kept(at)),
        Kept::Own(any) => F::own(any).map(Place::Own).ok_or(Rv(CKR_FUNCTION_FAILED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::attributes::Attributes;
    use adjunct::ops::digest::METHODS;
    use std::sync::Arc;

    fn key(kind: CK_KEY_TYPE, length: usize) -> Held {
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, CKO_SECRET_KEY).unwrap();
        attributes.set_number(CKA_KEY_TYPE, kind).unwrap();
        attributes.set(CKA_VALUE, &vec![7; length]).unwrap();
        Held::Own(Arc::new(Object::new(attributes)))
    }

    /// A key that was used once.
    fn used(kind: CK_KEY_TYPE, length: usize) -> Held {
        let key = key(kind, length);
        key.forms.used.store(true, Relaxed);
        key
    }

    fn kept<F: Form>(key: &Held, of: F::Of) -> Option<usize> {
        match Prepared::<F>::new(key.clone(), of).unwrap().place {
            Place::Kept(at) => Some(at),
            Place::Own(_) => None,
        }
    }

    #[test]
    fn a_form_is_kept_from_the_second_use_of_a_key_on() {
        let aes = key(CKK_AES, 32);
        assert_eq!((kept::<Cmac>(&aes, ()), aes.forms.at(0).is_some()), (None, false));
        assert_eq!(kept::<Counted<aes::Cbc>>(&aes, true), Some(0));
        assert_eq!(kept::<Counted<aes::Cbc>>(&aes, false), Some(1));
        assert_eq!(kept::<gcm_parts::GcmMessageKey>(&aes, ()), Some(2));
        assert_eq!(kept::<Cmac>(&aes, ()), Some(3));
        for _ in 0..2 {
            assert_eq!(kept::<Counted<aes::Cbc>>(&aes, false), Some(1));
            assert_eq!(kept::<Cmac>(&aes, ()), Some(3));
        }
        let one = Prepared::<gcm_parts::GcmMessageKey>::new(aes.clone(), ()).unwrap();
        let two = Prepared::<gcm_parts::GcmMessageKey>::new(aes, ()).unwrap();
        assert!(std::ptr::eq(one.get().unwrap(), two.get().unwrap()));
    }

    #[test]
    fn forms_beyond_the_places_serve_one_operation() {
        let hmac = used(CKK_GENERIC_SECRET, 20);
        for (at, method) in METHODS.iter().filter(|method| !method.xof).enumerate() {
            let expected = (at < PLACES).then_some(at);
            assert_eq!((kept::<Hmac>(&hmac, method), kept::<Hmac>(&hmac, method)), (expected, expected));
            let made = Prepared::<Hmac>::new(hmac.clone(), method).unwrap();
            assert!(std::ptr::eq(made.get().unwrap().method(), *method));
        }
    }

    #[test]
    fn keys_of_other_types_and_lengths_have_no_such_form() {
        let refused = |result: Result<Prepared<Counted<aes::Cbc>>>| result.map(drop).unwrap_err();
        assert_eq!(refused(Prepared::new(key(CKK_AES, 17), true)), Rv(CKR_KEY_SIZE_RANGE));
        assert_eq!(refused(Prepared::new(key(CKK_DES3, 24), true)), Rv(CKR_KEY_TYPE_INCONSISTENT));
        assert_eq!(kept::<Cmac>(&used(CKK_DES2, 16), ()), Some(0));
        // A failure leaves nothing behind.
        let short = used(CKK_AES, 17);
        assert!(Prepared::<Cmac>::new(short.clone(), ()).is_err() && short.forms.at(0).is_none());
    }

    #[test]
    fn threads_that_come_at_once_have_a_form_each_or_one_together() {
        let aes = &used(CKK_AES, 16);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for _ in 0..100 {
                        let form = Prepared::<Counted<aes::Ctr>>::new(aes.clone(), thread % 2 == 0).unwrap();
                        assert!(form.get().unwrap().has_key());
                    }
                });
            }
        });
        assert!(aes.forms.at(1).is_some() && aes.forms.at(2).is_none());
    }
}
