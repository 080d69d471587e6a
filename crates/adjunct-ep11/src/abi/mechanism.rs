//! Mechanisms: C's structures become [`adjunct_ep11_wire::mechanism`]'s.

use super::types::{Aggregate, Btc, Ecdh, Eth, Kem, Mechanism, Oaep, Pss, Ulong};
use super::{input, value};
use crate::error::Rv;
use crate::forms::inward;
use adjunct_ep11_wire::codes::{mechanism as m, rv};
use adjunct_ep11_wire::mechanism::{self as wire, Parameter, Shape};
use zeroize::Zeroizing;

const INVALID: Rv = Rv(rv::MECHANISM_PARAM_INVALID);

/// A number that fits into a message.
fn number(number: Ulong) -> Result<u32, Rv> {
    u32::try_from(number).map_err(|_| INVALID)
}

/// The structure that a parameter is.
///
/// # Safety
/// The mechanism is the caller's, with a parameter of the length that it says.
unsafe fn structure<T: Copy>(mechanism: &Mechanism) -> Result<T, Rv> {
    if mechanism.length != size_of::<T>() {
        return Err(INVALID);
    }
    // SAFETY: the parameter is null, or has the structure's length.
    unsafe { value(mechanism.parameter.cast()) }
}

/// The bytes of a mechanism in a message.
///
/// # Errors
/// [`Rv::ARGUMENTS`] for null pointers; CKR_MECHANISM_INVALID and CKR_MECHANISM_PARAM_INVALID for what no message can have.
///
/// # Safety
/// The pointer is null or the caller's, and what it leads to is as long as it says.
pub(crate) unsafe fn mechanism(pointer: *const Mechanism) -> Result<Zeroizing<Vec<u8>>, Rv> {
    // SAFETY: the caller's mechanism.
    let mechanism = unsafe { value(pointer) }?;
    let kind = u32::try_from(mechanism.kind).map_err(|_| Rv(rv::MECHANISM_INVALID))?;
    let give = |parameter: Parameter<'_>| Ok(Zeroizing::new(wire::Mechanism { kind, parameter }.to_bytes()));
    // Programs leave the fields of a parameter that there is none of as they are: they may be anything.
    if !wire::has_parameter(kind) {
        return give(Parameter::None);
    }
    // SAFETY: the caller's parameter has that length.
    let bytes = unsafe { input(mechanism.parameter.cast(), mechanism.length) }?;
    if kind == m::IBM_WIRETEST {
        // The parameter is what a message has.
        return Ok(Zeroizing::new(bytes.to_vec()));
    }
    if bytes.is_empty() {
        return give(Parameter::None);
    }
    // SAFETY: the caller's structures, whose pointers lead to what their lengths say.
    unsafe {
        match Shape::of(kind) {
            // The number of the signature's kind goes as an enumeration of C, as four bytes, big-endian, or as a CK_ULONG. All of them are small.
            Shape::Number if bytes.len() == 4 && kind == m::IBM_ECDSA_OTHER => {
                let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
                let native = u32::from_ne_bytes(bytes);
                give(Parameter::Number(if native < 1 << 16 { native } else { u32::from_be_bytes(bytes) }))
            }
            Shape::Number => give(Parameter::Number(number(structure::<Ulong>(&mechanism)?)?)),
            Shape::Pss => {
                let Pss { hash, mgf, salt } = structure(&mechanism)?;
                give(Parameter::Pss { hash: number(hash)?, mgf: number(mgf)?, salt: number(salt)? })
            }
            Shape::Oaep => {
                let Oaep { hash, mgf, source, label, label_length } = structure(&mechanism)?;
                let label = input(label, label_length)?;
                give(Parameter::Oaep { hash: number(hash)?, mgf: number(mgf)?, source: number(source)?, label })
            }
            // The other side's public value may stand alone; no curve has one of the structure's length.
            Shape::Ecdh if bytes.len() == size_of::<Ecdh>() => {
                let Ecdh { kdf, shared_length, shared, public_length, public } = structure(&mechanism)?;
                let (shared, public) = (input(shared, shared_length)?, input(public, public_length)?);
                give(Parameter::Ecdh { kdf: number(kdf)?, shared, public })
            }
            Shape::Kem => {
                let kem: Kem = structure(&mechanism)?;
                if kem.version != 0 || kem.prepend > 1 {
                    return Err(INVALID);
                }
                give(Parameter::Kem {
                    mode: number(kem.mode)?,
                    kdf: number(kem.kdf)?,
                    prepend: kem.prepend != 0,
                    ciphertext: input(kem.ciphertext, kem.ciphertext_length)?,
                    shared: input(kem.shared, kem.shared_length)?,
                    secret: &inward(input(kem.blob, kem.blob_length)?),
                })
            }
            Shape::Btc => {
                let Btc { kind, child, chain_code, chain_code_length, version } = structure(&mechanism)?;
                if version != 1 {
                    return Err(INVALID);
                }
                let chain_code = input(chain_code, chain_code_length)?;
                give(Parameter::Btc { kind: number(kind)?, child: number(child)?, chain_code })
            }
            Shape::Eth => {
                let Eth { version, signature, kind, child, key_info, key_info_length } = structure(&mechanism)?;
                if version != 1 {
                    return Err(INVALID);
                }
                let (signature, kind, child) = (number(signature)?, number(kind)?, number(child)?);
                give(Parameter::Eth { signature, kind, child, key_info: input(key_info, key_info_length)? })
            }
            Shape::Aggregate => {
                let Aggregate { version, mode, size, elements, elements_length } = structure(&mechanism)?;
                if version != 0 {
                    return Err(INVALID);
                }
                let (elements, mode, size) = (input(elements, elements_length)?, number(mode)?, number(size)?);
                // Public keys are in the form that programs on this machine see.
                let turned = (mode == 2 && size > 0).then(|| {
                    elements.chunks(size as usize).flat_map(|one| inward(one).into_owned()).collect::<Vec<u8>>()
                });
                give(Parameter::Aggregate { mode, size, elements: turned.as_deref().unwrap_or(elements) })
            }
            // Contexts of signatures have no form in messages.
            Shape::Bytes if matches!(kind, m::IBM_ML_DSA | m::IBM_DILITHIUM) => Err(Rv(rv::IBM_PARAM_NOT_SUPPORTED)),
            Shape::Bytes | Shape::Ecdh => give(Parameter::Bytes(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    fn of<T>(kind: u32, parameter: &T) -> Result<Zeroizing<Vec<u8>>, Rv> {
        of_length(kind, parameter, size_of::<T>())
    }

    fn of_length<T>(kind: u32, parameter: &T, length: usize) -> Result<Zeroizing<Vec<u8>>, Rv> {
        let parameter = (&raw const *parameter).cast::<c_void>();
        // SAFETY: the structures of these tests.
        unsafe { mechanism(&Mechanism { kind: kind.into(), parameter, length }) }
    }

    fn is(bytes: Result<Zeroizing<Vec<u8>>, Rv>, kind: u32, parameter: Parameter<'_>) {
        assert_eq!(wire::Mechanism::parse(&bytes.unwrap()), Some(wire::Mechanism { kind, parameter }));
    }

    #[test]
    fn structures_become_messages() {
        is(of(m::AES_CBC, &[7_u8; 16]), m::AES_CBC, Parameter::Bytes(&[7; 16]));
        is(of_length(m::SHA256, &0_u8, 0), m::SHA256, Parameter::None);
        is(of(m::SHA256_HMAC_GENERAL, &20_u64), m::SHA256_HMAC_GENERAL, Parameter::Number(20));
        is(of(m::IBM_ECDSA_OTHER, &[0_u8, 0, 0, 6]), m::IBM_ECDSA_OTHER, Parameter::Number(6));
        is(of(m::IBM_ECDSA_OTHER, &5_u32), m::IBM_ECDSA_OTHER, Parameter::Number(5));
        is(of(m::IBM_ECDSA_OTHER, &6_u64), m::IBM_ECDSA_OTHER, Parameter::Number(6));
        let pss = Pss { hash: 0x250, mgf: 2, salt: 32 };
        is(of(m::RSA_PKCS_PSS, &pss), m::RSA_PKCS_PSS, Parameter::Pss { hash: 0x250, mgf: 2, salt: 32 });
        let oaep = Oaep { hash: 0x250, mgf: 2, source: 1, label: b"label".as_ptr(), label_length: 5 };
        is(
            of(m::RSA_PKCS_OAEP, &oaep),
            m::RSA_PKCS_OAEP,
            Parameter::Oaep { hash: 0x250, mgf: 2, source: 1, label: b"label" },
        );
        let point = [4_u8; 65];
        let ecdh =
            Ecdh { kdf: 1, shared_length: 0, shared: std::ptr::null(), public_length: 65, public: point.as_ptr() };
        let wanted = Parameter::Ecdh { kdf: 1, shared: b"", public: &point };
        is(of(m::ECDH1_DERIVE, &ecdh), m::ECDH1_DERIVE, wanted);
        is(of(m::ECDH1_DERIVE, &point), m::ECDH1_DERIVE, Parameter::Bytes(&point));
        let btc = Btc { kind: 4, child: 1 << 31, chain_code: point.as_ptr(), chain_code_length: 32, version: 1 };
        let wanted = Parameter::Btc { kind: 4, child: 1 << 31, chain_code: &point[..32] };
        is(of(m::IBM_BTC_DERIVE, &btc), m::IBM_BTC_DERIVE, wanted);
        assert_eq!(of(m::IBM_BTC_DERIVE, &Btc { version: 2, ..btc }), Err(INVALID));
        let eth = Eth { version: 1, signature: 4, kind: 3, child: 9, key_info: std::ptr::null(), key_info_length: 0 };
        is(
            of(m::IBM_ETH_DERIVE, &eth),
            m::IBM_ETH_DERIVE,
            Parameter::Eth { signature: 4, kind: 3, child: 9, key_info: b"" },
        );
        let sum = Aggregate { version: 0, mode: 1, size: 32, elements: point.as_ptr(), elements_length: 64 };
        let wanted = Parameter::Aggregate { mode: 1, size: 32, elements: &point[..64] };
        is(of(m::IBM_EC_AGGREGATE, &sum), m::IBM_EC_AGGREGATE, wanted);
        let kem = Kem {
            version: 0,
            mode: 2,
            kdf: 1,
            prepend: 0,
            ciphertext: point.as_ptr(),
            ciphertext_length: 65,
            shared: std::ptr::null(),
            shared_length: 0,
            blob: std::ptr::null(),
            blob_length: 0,
        };
        let wanted = Parameter::Kem { mode: 2, kdf: 1, prepend: false, ciphertext: &point, shared: b"", secret: b"" };
        is(of(m::IBM_ML_KEM, &kem), m::IBM_ML_KEM, wanted);
        assert_eq!(of(m::IBM_WIRETEST, &[1_u8, 2, 3]).unwrap()[..], [1, 2, 3]);
    }

    #[test]
    fn a_mechanism_that_makes_keys_has_no_parameter_whatever_its_fields_say() {
        for (parameter, length) in [(1 << 12, 16), (0, 1 << 40), (0, 7)] {
            let parameter = std::ptr::without_provenance(parameter);
            // SAFETY: no parameter of these mechanisms is read.
            let bytes = unsafe { mechanism(&Mechanism { kind: m::AES_KEY_GEN.into(), parameter, length }) };
            is(bytes, m::AES_KEY_GEN, Parameter::None);
        }
    }

    #[test]
    fn what_no_message_can_have_is_refused() {
        assert_eq!(of(m::RSA_PKCS_PSS, &[0_u8; 16]), Err(INVALID));
        assert_eq!(of(m::RSA_PKCS_PSS, &Pss { hash: 1 << 32, mgf: 2, salt: 32 }), Err(INVALID));
        assert_eq!(of(m::SHA256_HMAC_GENERAL, &(1_u64 << 32 | 20)), Err(INVALID));
        assert_eq!(of(m::SHA256_HMAC_GENERAL, &20_u32), Err(INVALID));
        let oaep = Oaep { hash: 0x250, mgf: 2, source: 1, label: std::ptr::null(), label_length: 5 };
        assert_eq!(of(m::RSA_PKCS_OAEP, &oaep), Err(Rv::ARGUMENTS));
        assert_eq!(of(m::IBM_ML_DSA, &[0_u64; 3]), Err(Rv(rv::IBM_PARAM_NOT_SUPPORTED)));
        // SAFETY: a null pointer, and mechanisms of these tests.
        unsafe {
            assert_eq!(mechanism(std::ptr::null()), Err(Rv::ARGUMENTS));
            let long = Mechanism { kind: 1 << 32, parameter: std::ptr::null(), length: 0 };
            assert_eq!(mechanism(&long), Err(Rv(rv::MECHANISM_INVALID)));
            let without = Mechanism { kind: m::AES_CBC.into(), parameter: std::ptr::null(), length: 16 };
            assert_eq!(mechanism(&without), Err(Rv::ARGUMENTS));
            let absurd = Mechanism { length: usize::MAX, parameter: (&raw const long).cast(), ..without };
            assert_eq!(mechanism(&absurd), Err(Rv::ARGUMENTS));
        }
    }
}
