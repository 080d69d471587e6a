//! Objects and digests through the interface.

mod common;

use common::{Attributes, Mechanism, Session};
use cryptoki_sys::*;

#[test]
fn objects_are_made_read_changed_and_found() {
    let session = Session::open();
    let label = b"of objects_are_made";
    let key = session.create(&Attributes::secret(CKK_AES, &[7; 16]).bytes(CKA_LABEL, label)).unwrap();
    assert_eq!(session.attribute(key, CKA_VALUE), Ok(vec![7; 16]));
    assert_eq!((session.number(key, CKA_VALUE_LEN), session.flag(key, CKA_LOCAL)), (Ok(16), Ok(false)));
    let by_label = Attributes::new().bytes(CKA_LABEL, label);
    assert_eq!(session.find(&by_label), Ok(vec![key]));
    let copy = session.copy(key, &Attributes::new().flag(CKA_SENSITIVE, true)).unwrap();
    assert_eq!(session.attribute(copy, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
    session.set_attributes(copy, &Attributes::new().bytes(CKA_ID, b"2")).unwrap();
    assert_eq!(session.find(&by_label.clone().bytes(CKA_ID, b"2")), Ok(vec![copy]));
    session.destroy(copy).unwrap();
    assert_eq!(session.find(&by_label), Ok(vec![key]));
}

#[test]
fn digests_in_parts_are_those_at_once() {
    let session = Session::open();
    let sha256 = Mechanism::new(CKM_SHA256);
    let whole = session.digest(&sha256, b"abc").unwrap();
    assert_eq!(whole[..4], [0xba, 0x78, 0x16, 0xbf]);
    assert_eq!(session.digest_parts(&sha256, &[b"a", b"", b"bc"]), Ok(whole));
}
