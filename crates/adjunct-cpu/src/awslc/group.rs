//! The groups of the curves. AWS-LC has P-224, P-256, P-384 and P-521 in code of their own and five Brainpool curves in its code for
//! any curve; the three of at most 192 bits are given to it by their parameters. All multiply by a scalar, and invert one, in constant
//! time.

use crate::curve::Group;
use adjunct_base::error::Error;
use aws_lc_sys as lc;
use std::ffi::CStr;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

impl Group {
    /// The base point's x and y, one after the other.
    pub(crate) fn base(self) -> Option<Vec<u8>> {
        let (group, mut out) = (self.raw().ok()?, vec![0; 1 + 2 * self.field_len()]);
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        // SAFETY: pointer and length describe the vector; the generator belongs to the group.
        let length = unsafe {
            let base = lc::EC_GROUP_get0_generator(group);
            lc::EC_POINT_point2oct(group, base, form, out.as_mut_ptr(), out.len(), null_mut())
        };
        out.remove(0);
        (length == out.len() + 1).then_some(out)
    }

    /// Immutable, and never freed.
    pub(super) fn raw(self) -> Result<*const lc::EC_GROUP, Error> {
        // SAFETY: the functions return immutable statics.
        unsafe {
            Ok(match self {
                Group::P192 => return P192.raw(),
                Group::P224 => lc::EC_group_p224(),
                Group::P256 => lc::EC_group_p256(),
                Group::P384 => lc::EC_group_p384(),
                Group::P521 => lc::EC_group_p521(),
                Group::BrainpoolP160r1 => return BRAINPOOL_160.raw(),
                Group::BrainpoolP192r1 => return BRAINPOOL_192.raw(),
                Group::BrainpoolP224r1 => lc::EC_group_brainpoolP224r1(),
                Group::BrainpoolP256r1 => lc::EC_group_brainpoolP256r1(),
                Group::BrainpoolP320r1 => lc::EC_group_brainpoolP320r1(),
                Group::BrainpoolP384r1 => lc::EC_group_brainpoolP384r1(),
                Group::BrainpoolP512r1 => lc::EC_group_brainpoolP512r1(),
            })
        }
    }
}

/// Builds what is built only once, so that no later call does: one of another thread could then stand still in a fork's child.
pub fn prime() {
    for group in Group::ALL {
        // Where memory runs out, the first call of the curve tries again.
        let _ = group.raw();
    }
}

/// A curve that the library does not know: its parameters in hexadecimal, and the group once it is made.
struct Custom {
    prime: &'static CStr,
    a: &'static CStr,
    b: &'static CStr,
    x: &'static CStr,
    y: &'static CStr,
    order: &'static CStr,
    made: OnceLock<Shared>,
}

struct Shared(*const lc::EC_GROUP);

// SAFETY: a finished group is only read.
unsafe impl Send for Shared {}
// SAFETY: a group is only read once it is made, so threads may share it.
unsafe impl Sync for Shared {}

/// secp192r1 (SEC 2, 2.2.2).
static P192: Custom = Custom {
    prime: c"fffffffffffffffffffffffffffffffeffffffffffffffff",
    a: c"fffffffffffffffffffffffffffffffefffffffffffffffc",
    b: c"64210519e59c80e70fa7e9ab72243049feb8deecc146b9b1",
    x: c"188da80eb03090f67cbf20eb43a18800f4ff0afd82ff1012",
    y: c"07192b95ffc8da78631011ed6b24cdd573f977a11e794811",
    order: c"ffffffffffffffffffffffff99def836146bc9b1b4d22831",
    made: OnceLock::new(),
};

/// RFC 5639, 3.1.
static BRAINPOOL_160: Custom = Custom {
    prime: c"e95e4a5f737059dc60dfc7ad95b3d8139515620f",
    a: c"340e7be2a280eb74e2be61bada745d97e8f7c300",
    b: c"1e589a8595423412134faa2dbdec95c8d8675e58",
    x: c"bed5af16ea3f6a4f62938c4631eb5af7bdbcdbc3",
    y: c"1667cb477a1a8ec338f94741669c976316da6321",
    order: c"e95e4a5f737059dc60df5991d45029409e60fc09",
    made: OnceLock::new(),
};

/// RFC 5639, 3.2.
static BRAINPOOL_192: Custom = Custom {
    prime: c"c302f41d932a36cda7a3463093d18db78fce476de1a86297",
    a: c"6a91174076b1e0e19c39c031fe8685c1cae040e5c69a28ef",
    b: c"469a28ef7c28cca3dc721d044f4496bcca7ef4146fbf25c9",
    x: c"c0a0647eaab6a48753b033c56cb0f0900a2f5c4853375fd6",
    y: c"14b690866abd5bb88b5f4828c1490002e6773fa2fa299b8f",
    order: c"c302f41d932a36cda7a3462f9e9e916b5be8f1029ac4acc1",
    made: OnceLock::new(),
};

impl Custom {
    fn raw(&'static self) -> Result<*const lc::EC_GROUP, Error> {
        if let Some(made) = self.made.get() {
            return Ok(made.0);
        }
        let built = self.build()?;
        Ok(self.made.get_or_init(|| Shared(std::mem::ManuallyDrop::new(built).get())).0)
    }

    fn build(&self) -> Result<Owned<lc::EC_GROUP>, Error> {
        let [prime, a, b, x, y, order] = [self.prime, self.a, self.b, self.x, self.y, self.order].map(|text| {
            let mut number = null_mut();
            // SAFETY: a string that ends; the number is made, or stays null.
            unsafe { lc::BN_hex2bn(&raw mut number, text.as_ptr()) };
            Owned::new(number, lc::BN_free)
        });
        let (prime, a, b, x, y, order) = (prime?, a?, b?, x?, y?, order?);
        // SAFETY: all numbers and objects live, and belong together.
        unsafe {
            let group = lc::EC_GROUP_new_curve_GFp(prime.get(), a.get(), b.get(), null_mut());
            let group = Owned::new(group, lc::EC_GROUP_free)?;
            let base = Owned::new(lc::EC_POINT_new(group.get()), lc::EC_POINT_free)?;
            let made = lc::EC_POINT_set_affine_coordinates_GFp(group.get(), base.get(), x.get(), y.get(), null_mut())
                == 1
                && lc::EC_GROUP_set_generator(group.get(), base.get(), order.get(), lc::BN_value_one()) == 1;
            if made { Ok(group) } else { Err(failed("EC_GROUP_set_generator")) }
        }
    }
}

/// An AWS-LC object that is freed on every way out.
pub(super) struct Owned<T>(NonNull<T>, unsafe extern "C" fn(*mut T));

impl<T> Owned<T> {
    pub(super) fn new(raw: *mut T, free: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, Error> {
        NonNull::new(raw).map(|raw| Owned(raw, free)).ok_or(Error::Failed("memory"))
    }

    pub(super) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the object was made by the library for us alone.
        unsafe { (self.1)(self.0.as_ptr()) }
    }
}

/// The error of a refusal; empties the library's own queue, which is not read.
#[cold]
pub(super) fn refused(what: &'static str) -> Error {
    clear();
    Error::InvalidKey(what)
}

#[cold]
pub(super) fn failed(what: &'static str) -> Error {
    clear();
    Error::Failed(what)
}

pub(super) fn clear() {
    // SAFETY: the queue is this thread's.
    unsafe { lc::ERR_clear_error() };
}
