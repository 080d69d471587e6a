//! Mechanisms: GREP11's message becomes a request's ([`adjunct_ep11_wire::mechanism`]).

use crate::failure::{Failure, MISSING};
use crate::pb::mechanism::Parameter as Given;
use crate::pb::{HmacGeneralParm, Mechanism};
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::mechanism::{self as wire, Parameter, Shape};
use prost::Message;
use zeroize::Zeroizing;

/// What IBM's own numbers have in an enumeration, where no number is negative.
const VENDOR: u32 = 0x80_0000;

fn invalid(what: &'static str) -> Failure {
    Failure::new(rv::MECHANISM_PARAM_INVALID, what)
}

/// A number of an enumeration as EP11 has it.
fn enumerated(number: i32, what: &'static str) -> Result<u32, Failure> {
    let number = u32::try_from(number).map_err(|_| invalid(what))?;
    Ok(if number & VENDOR == 0 { number } else { 0x8000_0000 | (number & !VENDOR) })
}

/// A number that fits into a request.
fn narrow(number: u64, what: &'static str) -> Result<u32, Failure> {
    u32::try_from(number).map_err(|_| invalid(what))
}

/// The number in bytes: four or eight, big-endian, or an encoded HMACGeneralParm.
fn number(bytes: &[u8]) -> Result<u32, Failure> {
    const WHAT: &str = "ParameterB: a number of 4 or 8 bytes, big-endian, or an encoded HMACGeneralParm";
    match bytes.len() {
        4 => Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        8 => {
            let wide = u64::from_be_bytes(bytes.try_into().map_err(|_| invalid(WHAT))?);
            narrow(wide, WHAT)
        }
        _ => HmacGeneralParm::decode(bytes).map(|parm| parm.return_byte_count).map_err(|_| invalid(WHAT)),
    }
}

/// The bytes of a mechanism in a request.
///
/// # Errors
/// CKR_IBM_GREP11_MISSING, CKR_MECHANISM_INVALID and CKR_MECHANISM_PARAM_INVALID for what no request can have.
pub fn mechanism(given: &Option<Mechanism>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let given = given.as_ref().ok_or(Failure::new(MISSING, "Mech"))?;
    let kind = u32::try_from(given.mechanism).map_err(|_| Failure::new(rv::MECHANISM_INVALID, ""))?;
    let parameter = match &given.parameter {
        None => Parameter::None,
        Some(Given::ParameterB(bytes)) if bytes.is_empty() => Parameter::None,
        Some(Given::ParameterB(bytes)) if Shape::of(kind) == Shape::Number => Parameter::Number(number(bytes)?),
        // Of structures these are the bytes that a request has.
        Some(Given::ParameterB(bytes)) => Parameter::Bytes(bytes),
        Some(Given::RsaoaepParameter(of)) => Parameter::Oaep {
            hash: narrow(of.hash_mech, "RSAOAEPParameter.HashMech")?,
            mgf: enumerated(of.mgf, "RSAOAEPParameter.Mgf")?,
            source: enumerated(of.encoding_parm_type, "RSAOAEPParameter.EncodingParmType")?,
            label: &of.encoding_parm,
        },
        Some(Given::RsapssParameter(of)) => Parameter::Pss {
            hash: narrow(of.hash_mech, "RSAPSSParameter.HashMech")?,
            mgf: enumerated(of.mgf, "RSAPSSParameter.Mgf")?,
            salt: narrow(of.salt_byte_count, "RSAPSSParameter.SaltByteCount")?,
        },
        Some(Given::Ecdh1DeriveParameter(of)) => Parameter::Ecdh {
            kdf: enumerated(of.kdf, "ECDH1DeriveParameter.Kdf")?,
            shared: &of.shared_data,
            public: &of.public_data,
        },
        Some(Given::BtcDeriveParameter(of)) if of.version == 1 => Parameter::Btc {
            kind: enumerated(of.r#type, "BTCDeriveParameter.Type")?,
            child: narrow(of.child_key_index, "BTCDeriveParameter.ChildKeyIndex")?,
            chain_code: &of.chain_code,
        },
        Some(Given::BtcDeriveParameter(_)) => return Err(invalid("BTCDeriveParameter.Version: 1")),
        Some(Given::EcsgParameter(of)) => Parameter::Number(enumerated(of.r#type, "ECSGParameter.Type")?),
        Some(Given::KyberKemParameter(of)) if of.version == 0 => Parameter::Kem {
            mode: enumerated(of.mode, "KyberKEMParameter.Mode")?,
            kdf: enumerated(of.kdf, "KyberKEMParameter.Kdf")?,
            prepend: of.prepend,
            ciphertext: &of.cipher_text,
            shared: &of.shared_data,
            secret: &of.blob,
        },
        Some(Given::KyberKemParameter(_)) => return Err(invalid("KyberKEMParameter.Version: 0")),
        Some(Given::EcaggParameter(of)) if of.version == 0 => Parameter::Aggregate {
            mode: enumerated(of.mode, "ECAGGParameter.Mode")?,
            size: of.per_element_size,
            elements: &of.elements,
        },
        Some(Given::EcaggParameter(_)) => return Err(invalid("ECAGGParameter.Version: 0")),
    };
    let is_of_the_shape = match parameter {
        Parameter::None | Parameter::Bytes(_) => true,
        Parameter::Number(_) => Shape::of(kind) == Shape::Number,
        Parameter::Pss { .. } => Shape::of(kind) == Shape::Pss,
        Parameter::Oaep { .. } => Shape::of(kind) == Shape::Oaep,
        Parameter::Ecdh { .. } => Shape::of(kind) == Shape::Ecdh,
        Parameter::Kem { .. } => Shape::of(kind) == Shape::Kem,
        Parameter::Btc { .. } => Shape::of(kind) == Shape::Btc,
        Parameter::Eth { .. } => Shape::of(kind) == Shape::Eth,
        Parameter::Aggregate { .. } => Shape::of(kind) == Shape::Aggregate,
    };
    if !is_of_the_shape {
        return Err(invalid("the parameter is another mechanism's"));
    }
    Ok(Zeroizing::new(wire::Mechanism { kind, parameter }.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb;
    use adjunct_ep11_wire::codes::mechanism as m;

    fn of(kind: u32, parameter: Option<Given>) -> Result<Zeroizing<Vec<u8>>, Failure> {
        mechanism(&Some(Mechanism { mechanism: kind.into(), parameter }))
    }

    #[track_caller]
    fn is(kind: u32, given: Given, parameter: Parameter<'_>) {
        let bytes = of(kind, Some(given)).unwrap();
        assert_eq!(wire::Mechanism::parse(&bytes), Some(wire::Mechanism { kind, parameter }));
    }

    #[test]
    fn parameters_become_those_of_requests() {
        is(m::AES_CBC, Given::ParameterB(vec![7; 16]), Parameter::Bytes(&[7; 16]));
        is(m::AES_KEY_GEN, Given::ParameterB(vec![]), Parameter::None);
        let oaep =
            pb::RsaoaepParm { hash_mech: 0x250, mgf: 2, encoding_parm_type: 1, encoding_parm: b"label".to_vec() };
        let wanted = Parameter::Oaep { hash: 0x250, mgf: 2, source: 1, label: b"label" };
        is(m::RSA_PKCS_OAEP, Given::RsaoaepParameter(oaep), wanted);
        let pss = pb::RsapssParm { hash_mech: 0x2b0, mgf: 0x80_0002, salt_byte_count: 32 };
        let wanted = Parameter::Pss { hash: 0x2b0, mgf: 0x8000_0002, salt: 32 };
        is(m::RSA_PKCS_PSS, Given::RsapssParameter(pss), wanted);
        let ecdh = pb::Ecdh1DeriveParm { kdf: 1, shared_data: vec![], public_data: vec![4; 65] };
        let wanted = Parameter::Ecdh { kdf: 1, shared: b"", public: &[4; 65] };
        is(m::ECDH1_DERIVE, Given::Ecdh1DeriveParameter(ecdh), wanted);
        let btc = pb::BtcDeriveParm { r#type: 4, child_key_index: 1 << 31, chain_code: vec![1; 32], version: 1 };
        let wanted = Parameter::Btc { kind: 4, child: 1 << 31, chain_code: &[1; 32] };
        is(m::IBM_BTC_DERIVE, Given::BtcDeriveParameter(btc.clone()), wanted);
        assert!(
            of(m::IBM_BTC_DERIVE, Some(Given::BtcDeriveParameter(pb::BtcDeriveParm { version: 2, ..btc }))).is_err()
        );
        is(m::IBM_ECDSA_OTHER, Given::EcsgParameter(pb::EcsgParm { r#type: 3 }), Parameter::Number(3));
        let kem = pb::KyberKemParm {
            version: 0,
            mode: 2,
            kdf: 0x80_0001,
            prepend: true,
            cipher_text: b"c".to_vec(),
            shared_data: b"s".to_vec(),
            blob: b"blob".to_vec(),
        };
        let wanted = Parameter::Kem {
            mode: 2,
            kdf: 0x8000_0001,
            prepend: true,
            ciphertext: b"c",
            shared: b"s",
            secret: b"blob",
        };
        is(m::IBM_ML_KEM, Given::KyberKemParameter(kem), wanted);
        let sum = pb::EcaggParm { version: 0, mode: 1, per_element_size: 96, elements: vec![5; 192] };
        let wanted = Parameter::Aggregate { mode: 1, size: 96, elements: &[5; 192] };
        is(m::IBM_EC_AGGREGATE, Given::EcaggParameter(sum), wanted);
    }

    #[test]
    fn the_length_of_a_mac_has_several_forms() {
        for bytes in [
            20_u32.to_be_bytes().to_vec(),
            20_u64.to_be_bytes().to_vec(),
            HmacGeneralParm { return_byte_count: 20 }.encode_to_vec(),
        ] {
            is(m::SHA256_HMAC_GENERAL, Given::ParameterB(bytes), Parameter::Number(20));
        }
        assert!(of(m::SHA256_HMAC_GENERAL, Some(Given::ParameterB(vec![1, 2, 3]))).is_err());
        assert!(of(m::SHA256_HMAC_GENERAL, Some(Given::ParameterB(vec![0xff; 8]))).is_err());
    }

    #[test]
    fn what_no_request_can_have_is_refused() {
        assert_eq!(mechanism(&None).unwrap_err().rv, MISSING);
        let wide = Some(Mechanism { mechanism: 1 << 32, parameter: None });
        assert_eq!(mechanism(&wide).unwrap_err().rv, rv::MECHANISM_INVALID);
        let pss =
            |salt| Some(Given::RsapssParameter(pb::RsapssParm { hash_mech: 0x250, mgf: 2, salt_byte_count: salt }));
        assert_eq!(of(m::RSA_PKCS_PSS, pss(1 << 32)).unwrap_err().rv, rv::MECHANISM_PARAM_INVALID);
        assert_eq!(of(m::AES_CBC, pss(32)).unwrap_err().rv, rv::MECHANISM_PARAM_INVALID);
    }
}
