//! The DER AlgorithmIdentifier of a signature (RFC 8017, appendix A.2; RFC 4055; NIST's for SHA-3).

use adjunct::ops::rsa::{Method, oid};

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = vec![tag];
    if length >= 0x80 {
        // No identifier here comes near 256 bytes.
        out.push(0x81);
    }
    out.push(length as u8);
    parts.iter().for_each(|p| out.extend_from_slice(p));
    out
}

const SEQUENCE: u8 = 0x30;
const OID: u8 = 6;
const NULL: &[u8] = &[5, 0];

/// `1.2.840.113549.1.1.last`.
fn pkcs1(last: u8) -> [u8; 9] {
    [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, last]
}

/// The identifier of PKCS#1 v1.5 signatures with this digest.
pub fn pkcs1_signature(method: &Method) -> Option<Vec<u8>> {
    let id: Vec<u8> = match method.name {
        "MD5" => pkcs1(4).into(),
        "SHA1" => pkcs1(5).into(),
        "SHA2-224" => pkcs1(14).into(),
        "SHA2-256" => pkcs1(11).into(),
        "SHA2-384" => pkcs1(12).into(),
        "SHA2-512" => pkcs1(13).into(),
        "SHA2-512/224" => pkcs1(15).into(),
        "SHA2-512/256" => pkcs1(16).into(),
        "SHA3-224" => vec![0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 13],
        "SHA3-256" => vec![0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 14],
        "SHA3-384" => vec![0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 15],
        "SHA3-512" => vec![0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 16],
        _ => return None,
    };
    Some(tlv(SEQUENCE, &[&tlv(OID, &[&id]), NULL]))
}

/// The identifier of PSS signatures with these digests and a salt of this length; defaults are left out, as DER demands.
pub fn pss_signature(method: &Method, mgf1: &Method, salt: usize) -> Option<Vec<u8>> {
    let hash = |method: &Method| {
        // OpenSSL writes none for SHA-3 and MD5.
        let known = method.name == "SHA1" || method.name.starts_with("SHA2-");
        oid(method).filter(|_| known).map(|oid| tlv(SEQUENCE, &[&tlv(OID, &[oid]), NULL]))
    };
    let (digest, mask) = (hash(method)?, hash(mgf1)?);
    let mut params = Vec::new();
    if method.name != "SHA1" {
        params.extend(tlv(0xa0, &[&digest]));
    }
    if mgf1.name != "SHA1" {
        params.extend(tlv(0xa1, &[&tlv(SEQUENCE, &[&tlv(OID, &[&pkcs1(8)]), &mask])]));
    }
    if salt != 20 {
        let bytes = (salt as u16).to_be_bytes();
        let number: &[u8] = match bytes {
            [0, low] if low < 0x80 => &bytes[1..],
            [high, _] if high < 0x80 => &bytes,
            _ => return None,
        };
        params.extend(tlv(0xa2, &[&tlv(2, &[number])]));
    }
    Some(tlv(SEQUENCE, &[&tlv(OID, &[&pkcs1(10)]), &tlv(SEQUENCE, &[&params])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: Option<Vec<u8>>) -> String {
        bytes.expect("known").iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn identifiers_are_those_of_the_standards() {
        let [sha1, sha256, sha384] = ["SHA1", "SHA256", "SHA384"].map(|name| Method::from_name(name).expect("known"));
        assert_eq!(hex(pkcs1_signature(sha256)), "300d06092a864886f70d01010b0500");
        assert_eq!(hex(pss_signature(sha1, sha1, 20)), "300d06092a864886f70d01010a3000");
        // RFC 4055's sha256 with MGF1 over sha256, and a salt of 32, as certificates carry it.
        let id = "300d06096086480165030402010500";
        assert_eq!(
            hex(pss_signature(sha256, sha256, 32)),
            format!("304106092a864886f70d01010a3034a00f{id}a11c301a06092a864886f70d010108{id}a203020120")
        );
        assert!(hex(pss_signature(sha384, sha256, 200)).ends_with("a204020200c8"));
    }
}
