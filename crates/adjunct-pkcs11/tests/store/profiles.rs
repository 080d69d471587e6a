//! The profiles that a token says it conforms to (PKCS #11 Profiles 3.2, 5): what each of them asks for is done.

use super::*;
use std::ptr::null_mut;

fn login_without_a_name(session: &Session) -> Result {
    check(p11!(C_LoginUser(session.0, CKU_USER, input(PIN), length(PIN), null_mut(), 0)))
}

pub fn profiles() {
    // They are there before the token is initialized, for whoever can open a session.
    new_token();
    let session = open(RW);
    let found = session.find(&Attributes::new().number(CKA_CLASS, CKO_PROFILE).flag(CKA_TOKEN, true)).unwrap();
    let mut ids: Vec<CK_PROFILE_ID> =
        found.iter().map(|profile| session.number(*profile, CKA_PROFILE_ID).unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [CKP_BASELINE_PROVIDER, CKP_EXTENDED_PROVIDER, CKP_AUTHENTICATION_TOKEN, CKP_HKDF_TLS_TOKEN]);
    for id in ids {
        let one = session.find(&Attributes::new().number(CKA_PROFILE_ID, id)).unwrap();
        assert_eq!(one.len(), 1);
        for kind in [CKA_PRIVATE, CKA_MODIFIABLE, CKA_DESTROYABLE] {
            assert!(!session.flag(one[0], kind).unwrap());
        }
        assert_eq!(session.attribute(one[0], CKA_UNIQUE_ID).unwrap().len(), 32);
        assert_eq!(session.destroy(one[0]), Err(CKR_ACTION_PROHIBITED));
    }
    extended(&session);
    authentication(&session);
    hkdf_tls(&session);
    // Nobody makes one.
    let mine = Attributes::new().number(CKA_CLASS, CKO_PROFILE).number(CKA_PROFILE_ID, CKP_COMPLETE_PROVIDER);
    assert!(session.create(&mine.flag(CKA_TOKEN, true)).is_err());
}

/// The extended profile: mechanisms are listed, and users log in and out, also by C_LoginUser with an empty name.
fn extended(session: &Session) {
    let mut count = 0;
    check(p11!(C_GetMechanismList(SLOT, null_mut(), &raw mut count))).unwrap();
    let mut list = vec![0; count as usize];
    check(p11!(C_GetMechanismList(SLOT, list.as_mut_ptr(), &raw mut count))).unwrap();
    assert_eq!(list.len(), count as usize);
    for mechanism in list {
        let mut info = CK_MECHANISM_INFO::default();
        check(p11!(C_GetMechanismInfo(SLOT, mechanism, &raw mut info))).unwrap();
        assert!(info.flags != 0 && info.ulMinKeySize <= info.ulMaxKeySize, "{mechanism:#x}");
    }
    login(session, CKU_USER, PIN).unwrap();
    logout(session).unwrap();
    login_without_a_name(session).unwrap();
    assert_eq!(login_without_a_name(session), Err(CKR_USER_ALREADY_LOGGED_IN));
    logout(session).unwrap();
}

/// Keys are found by label once the user is logged in, and sign.
fn authentication(session: &Session) {
    login_without_a_name(session).unwrap();
    ec_pair(session, "auth").unwrap();
    logout(session).unwrap();
    let of = |class| session.find(&Attributes::new().number(CKA_CLASS, class).bytes(CKA_LABEL, b"auth")).unwrap();
    assert_eq!((of(CKO_PUBLIC_KEY).len(), of(CKO_PRIVATE_KEY).len()), (1, 0));
    login_without_a_name(session).unwrap();
    sign(session, of(CKO_PRIVATE_KEY)[0], of(CKO_PUBLIC_KEY)[0]);
    logout(session).unwrap();
}

/// The initialization vectors of TLS 1.3 and of QUIC come out of a secret.
fn hkdf_tls(session: &Session) {
    login(session, CKU_USER, PIN).unwrap();
    let base = session.create(&Attributes::secret(CKK_GENERIC_SECRET, &[11; 32]).flag(CKA_DERIVE, true)).unwrap();
    for info in [&b"\x00\x0ctls iv\x00"[..], b"\x00\x0ctls quic iv\x00"] {
        let params = CK_HKDF_PARAMS {
            bExtract: CK_FALSE,
            bExpand: CK_TRUE,
            prfHashMechanism: CKM_SHA256,
            ulSaltType: CKF_HKDF_SALT_NULL,
            pSalt: null_mut(),
            ulSaltLen: 0,
            hSaltKey: 0,
            pInfo: input(info),
            ulInfoLen: length(info),
        };
        let derive = |kind, template: Attributes| {
            let derived = session.derive(&Mechanism::with(kind, params), base, &template.number(CKA_VALUE_LEN, 12));
            session.attribute(derived.unwrap(), CKA_VALUE).unwrap()
        };
        let vector = derive(CKM_HKDF_DATA, Attributes::new().number(CKA_CLASS, CKO_DATA));
        let key = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET);
        let key = derive(CKM_HKDF_DERIVE, key.flag(CKA_SENSITIVE, false).flag(CKA_EXTRACTABLE, true));
        assert_eq!(vector.len(), 12);
        assert_eq!(vector, key);
    }
    logout(session).unwrap();
}

#[test]
fn a_token_does_what_its_profiles_say() {
    run("profiles", home().path());
}
