//! Private keys with a password: PKCS #8 (RFC 5958, 3) by PBES2 (RFC 8018), and OpenSSL's older way, where headers tell the cipher.

use super::Part;
use crate::hex;
use adjunct::InOut;
use adjunct::ops::cipher::once::{self, Aes, TripleDes};
use adjunct::ops::digest::{self, MD5};
use pkcs5::der::asn1::{AnyRef, OctetStringRef};
use pkcs5::der::{Decode, Encode, Reader, SliceReader, Tag, Tagged};
use pkcs5::pbes2::{EncryptionScheme as Cipher, Kdf, Parameters, Pbkdf2Params};
use pkcs5::{EncryptionScheme, Error};
use zeroize::Zeroizing;

/// The label of an encrypted PKCS #8.
pub const LABEL: &str = "ENCRYPTED PRIVATE KEY";
/// Rounds of PBKDF2 for what is written: a tenth of a second and more.
const ROUNDS: u32 = 600_000;
/// The most rounds of PBKDF2: more would only keep the processor busy.
const MOST_ROUNDS: u32 = 20_000_000;
/// The most memory that scrypt may take, in bytes: more would only end the program.
const MOST_MEMORY: u64 = 1 << 30;

type Der = Zeroizing<Vec<u8>>;

/// Why a key cannot be decrypted.
#[derive(Debug, PartialEq, Eq)]
pub enum Why {
    /// The password, or the bytes.
    Wrong,
    /// A way of encryption that is not known here, or asks for too much.
    Unknown,
    /// The data is no encrypted key.
    Damaged,
}

impl Why {
    /// The reason in words.
    pub fn words(&self) -> &'static str {
        match self {
            Why::Wrong => "the password is wrong, or the key is damaged",
            Why::Unknown => {
                "it is encrypted in a way that is not known here (openssl pkcs8 -topk8 -v2 aes-256-cbc writes it in one that is)"
            }
            Why::Damaged => "it is damaged",
        }
    }
}

/// Whether a part is a key with a password.
pub fn is(part: &Part) -> bool {
    part.label == LABEL || part.header("Proc-Type").is_some_and(|kind| kind.contains("ENCRYPTED"))
}

/// The DER of a key with a password: PKCS #8, or what the label says in OpenSSL's older way.
///
/// # Errors
/// [`Why`].
pub fn open(part: &Part, password: &[u8]) -> Result<Der, Why> {
    let der = if part.label == LABEL { open_pkcs8(&part.bytes, password) } else { open_older(part, password) }?;
    // By chance, a wrong password leaves what looks like padding.
    let whole = AnyRef::from_der(&der).is_ok_and(|whole| whole.tag() == Tag::Sequence);
    if whole { Ok(der) } else { Err(Why::Wrong) }
}

fn open_pkcs8(der: &[u8], password: &[u8]) -> Result<Der, Why> {
    let parts = || {
        let whole = AnyRef::from_der(der).ok().filter(|whole| whole.tag() == Tag::Sequence)?;
        let mut reader = SliceReader::new(whole.value()).ok()?;
        let (algorithm, sealed) = (reader.tlv_bytes().ok()?, reader.tlv_bytes().ok()?);
        let sealed = <&OctetStringRef>::from_der(sealed).ok()?;
        reader.is_finished().then_some((algorithm, sealed.as_bytes()))
    };
    let (algorithm, sealed) = parts().ok_or(Why::Damaged)?;
    let scheme = EncryptionScheme::from_der(algorithm).map_err(|_| Why::Unknown)?;
    let parameters = scheme.pbes2().ok_or(Why::Unknown)?;
    let bearable = match &parameters.kdf {
        Kdf::Pbkdf2(kdf) => kdf.iteration_count <= MOST_ROUNDS,
        Kdf::Scrypt(kdf) => {
            let (cost, block) = (kdf.cost_parameter, u64::from(kdf.block_size));
            let memory = cost.saturating_mul(block).saturating_mul(128);
            memory <= MOST_MEMORY && memory.saturating_mul(u64::from(kdf.parallelization)) <= 4 * MOST_MEMORY
        }
        _ => false,
    };
    if !bearable {
        return Err(Why::Unknown);
    }
    scheme.decrypt(password, sealed).map(Zeroizing::new).map_err(|error| match error {
        Error::DecryptFailed | Error::EncryptFailed => Why::Wrong,
        _ => Why::Unknown,
    })
}

/// The key and the vector of OpenSSL's older way: MD5 of the password and the vector, as often as it takes.
fn older_key(password: &[u8], salt: &[u8], length: usize) -> Der {
    let mut key = Zeroizing::new(Vec::new());
    let mut last = Zeroizing::new([0; 16]);
    while key.len() < length {
        let mut part = digest::Part::new(&MD5);
        if !key.is_empty() {
            part.update(&*last);
        }
        part.update(password);
        part.update(&salt[..8]);
        part.finish(&mut *last);
        key.extend_from_slice(&*last);
    }
    key.truncate(length);
    key
}

fn open_older(part: &Part, password: &[u8]) -> Result<Der, Why> {
    let (name, vector) = part.header("DEK-Info").and_then(|info| info.split_once(',')).ok_or(Why::Damaged)?;
    let vector = hex::bytes(vector.trim()).ok_or(Why::Damaged)?;
    let length = match name {
        "AES-128-CBC" => 16,
        "AES-192-CBC" | "DES-EDE3-CBC" => 24,
        "AES-256-CBC" => 32,
        _ => return Err(Why::Unknown),
    };
    let block = if name == "DES-EDE3-CBC" { 8 } else { 16 };
    let mut der = part.bytes.clone();
    if vector.len() != block || der.is_empty() || !der.len().is_multiple_of(block) {
        return Err(Why::Damaged);
    }
    let key = older_key(password, &vector, length);
    let io = InOut::in_place(&mut der);
    let done = match block {
        8 => once::cbc::<TripleDes, 8>(&key, &mut vector.try_into().map_err(|_| Why::Damaged)?, false, io),
        _ => once::cbc::<Aes, 16>(&key, &mut vector.try_into().map_err(|_| Why::Damaged)?, false, io),
    };
    done.map_err(|_| Why::Unknown)?;
    let padding = usize::from(*der.last().ok_or(Why::Wrong)?);
    let rest = der.len().checked_sub(padding).filter(|_| (1..=block).contains(&padding)).ok_or(Why::Wrong)?;
    if der[rest..].iter().any(|byte| usize::from(*byte) != padding) {
        return Err(Why::Wrong);
    }
    der.truncate(rest);
    Ok(der)
}

/// A PKCS #8 with a password: AES-256-CBC, and a key by PBKDF2. None where the system has no random numbers.
pub fn seal(der: &[u8], password: &[u8]) -> Option<Vec<u8>> {
    let (mut salt, mut vector) = ([0; 16], [0; 16]);
    for random in [&mut salt, &mut vector] {
        rustix::rand::getrandom(random, rustix::rand::GetRandomFlags::empty()).ok()?;
    }
    let kdf = Kdf::Pbkdf2(Pbkdf2Params::hmac_sha256(ROUNDS, &salt).ok()?);
    let scheme = EncryptionScheme::Pbes2(Parameters { kdf, encryption: Cipher::Aes256Cbc { iv: vector } });
    let sealed = scheme.encrypt(password, der).ok()?;
    let parts = [scheme.to_der().ok()?, OctetStringRef::new(&sealed).ok()?.to_der().ok()?].concat();
    AnyRef::new(Tag::Sequence, &parts).ok()?.to_der().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pem;

    fn part(label: &str, bytes: &[u8]) -> Part {
        Part { label: label.to_owned(), headers: Vec::new(), bytes: Zeroizing::new(bytes.to_vec()) }
    }

    #[test]
    fn what_is_sealed_opens_with_its_password_alone() {
        let der = [&[0x30, 100][..], &[7; 100]].concat();
        let sealed = part(LABEL, &seal(&der, b"secret").unwrap());
        assert!(is(&sealed) && !is(&part("PRIVATE KEY", &der)));
        assert_eq!(*open(&sealed, b"secret").unwrap(), der);
        assert_eq!(open(&sealed, b"Secret").unwrap_err(), Why::Wrong);
        assert_ne!(*seal(&der, b"secret").unwrap(), **sealed.bytes);
        for end in 0..sealed.bytes.len() {
            assert_eq!(open(&part(LABEL, &sealed.bytes[..end]), b"secret").unwrap_err(), Why::Damaged, "{end}");
        }
    }

    #[test]
    fn what_would_take_for_ever_is_refused() {
        let kdf = Kdf::Pbkdf2(Pbkdf2Params::hmac_sha256(MOST_ROUNDS + 1, &[1; 16]).unwrap());
        let scheme = EncryptionScheme::Pbes2(Parameters { kdf, encryption: Cipher::Aes256Cbc { iv: [0; 16] } });
        let parts = [scheme.to_der().unwrap(), OctetStringRef::new(&[0; 16]).unwrap().to_der().unwrap()].concat();
        let der = AnyRef::new(Tag::Sequence, &parts).unwrap().to_der().unwrap();
        assert_eq!(open(&part(LABEL, &der), b"x").unwrap_err(), Why::Unknown);
    }

    #[test]
    fn broken_headers_are_said() {
        let of = |info: &str| {
            let headers = [("Proc-Type", "4,ENCRYPTED"), ("DEK-Info", info)];
            let text = pem::with_headers("RSA PRIVATE KEY", &headers, &[1; 32]);
            open(&pem::parts(&text).unwrap()[0], b"x").unwrap_err()
        };
        assert_eq!(of("AES-128-CBC"), Why::Damaged);
        assert_eq!(of("AES-128-CBC,00"), Why::Damaged);
        assert_eq!(of("AES-128-CBC,zz"), Why::Damaged);
        assert_eq!(of(&format!("CAMELLIA-128-CBC,{}", "00".repeat(16))), Why::Unknown);
        assert_eq!(of(&format!("AES-128-CBC,{}", "00".repeat(16))), Why::Wrong);
    }
}
