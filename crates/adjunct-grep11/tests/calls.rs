//! Each call of GREP11 at least once, by a client over a server before a private coprocessor.

mod common;

use adjunct_grep11::pb::attribute_value::OneAttr;
use adjunct_grep11::pb::mechanism::Parameter;
use adjunct_grep11::pb::*;
use common::*;
use prost::Message;
use tonic::Code;

const AES_KEY_GEN: u64 = 0x1080;
const AES_CBC: u64 = 0x1082;
const AES_CBC_PAD: u64 = 0x1085;
const EC_KEY_PAIR_GEN: u64 = 0x1040;
const ECDSA: u64 = 0x1041;
const ECDSA_SHA256: u64 = 0x1044;
const ECDH1_DERIVE: u64 = 0x1050;
const RSA_KEY_PAIR_GEN: u64 = 0;
const RSA_OAEP: u64 = 9;
const RSA_PSS: u64 = 0xd;
const SHA256: u64 = 0x250;
const SHA256_HMAC: u64 = 0x251;
const SHA256_HMAC_GENERAL: u64 = 0x252;
const GENERIC_SECRET_KEY_GEN: u64 = 0x350;

const CLASS: u64 = 0;
const KEY_TYPE: u64 = 0x100;
const ENCRYPT: u64 = 0x104;
const DECRYPT: u64 = 0x105;
const WRAP: u64 = 0x106;
const UNWRAP: u64 = 0x107;
const SIGN: u64 = 0x108;
const VERIFY: u64 = 0x10a;
const DERIVE: u64 = 0x10c;
const MODULUS_BITS: u64 = 0x121;
const PUBLIC_EXPONENT: u64 = 0x122;
const VALUE_LEN: u64 = 0x161;
const EXTRACTABLE: u64 = 0x162;
const EC_PARAMS: u64 = 0x180;

const P256: [u8; 10] = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const IV: [u8; 16] = [7; 16];
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn number(value: i64) -> OneAttr {
    OneAttr::AttributeI(value)
}

async fn aes(client: &mut Client) -> GenerateKeyResponse {
    let template = attributes([
        (VALUE_LEN, number(32)),
        (ENCRYPT, yes()),
        (DECRYPT, yes()),
        (WRAP, yes()),
        (UNWRAP, yes()),
        (EXTRACTABLE, yes()),
    ]);
    let request = GenerateKeyRequest { mech: mechanism(AES_KEY_GEN), template };
    client.generate_key(request).await.unwrap().into_inner()
}

async fn ec(client: &mut Client, private: u64, public: u64) -> GenerateKeyPairResponse {
    let request = GenerateKeyPairRequest {
        mech: mechanism(EC_KEY_PAIR_GEN),
        priv_key_template: attributes([(private, yes())]),
        pub_key_template: attributes([(EC_PARAMS, OneAttr::AttributeB(P256.to_vec())), (public, yes())]),
    };
    client.generate_key_pair(request).await.unwrap().into_inner()
}

/// A call that is to succeed.
macro_rules! call {
    ($client:ident.$method:ident($request:ident { $($field:ident: $value:expr),* $(,)? })) => {
        $client.$method($request { $($field: $value,)* }).await.unwrap().into_inner()
    };
}

#[tokio::test]
async fn every_call_is_done() {
    let card = Card::start();
    let server = Server::start(&card.folder(), &["--listen", "127.0.0.1:0"]);
    let mut client = server.client().await;
    let c = &mut client;
    random_and_digests(c).await;
    encryption(c).await;
    signatures(c).await;
    macs_and_rsa(c).await;
    keys(c).await;
    queries(c).await;
}

async fn random_and_digests(c: &mut Client) {
    let one = call!(c.generate_random(GenerateRandomRequest { len: 32 })).rnd;
    let two = call!(c.generate_random(GenerateRandomRequest { len: 32 })).rnd;
    assert!(one.len() == 32 && one != two);
    assert_eq!(error(c.generate_random(GenerateRandomRequest { len: 1 << 40 }).await).code, 7);
    let single = call!(c.digest_single(DigestSingleRequest { mech: mechanism(SHA256), data: b"abc".to_vec() }));
    assert_eq!(hex(&single.digest), ABC);
    let state = call!(c.digest_init(DigestInitRequest { mech: mechanism(SHA256) })).state;
    let once = call!(c.digest(DigestRequest { state: state.clone(), data: b"abc".to_vec() }));
    assert_eq!(hex(&once.digest), ABC);
    let state = call!(c.digest_update(DigestUpdateRequest { state: state, data: b"ab".to_vec() })).state;
    let key = aes(c).await.key;
    let refused = error(c.digest_key(DigestKeyRequest { state: state.clone(), key }).await);
    assert!(refused.code != 0 && !refused.retry, "{refused:?}");
    let state = call!(c.digest_update(DigestUpdateRequest { state: state, data: b"c".to_vec() })).state;
    assert_eq!(hex(&call!(c.digest_final(DigestFinalRequest { state: state })).digest), ABC);
}

async fn encryption(c: &mut Client) {
    let made = aes(c).await;
    let key = made.key.clone();
    assert_eq!((made.key_bytes.len() % 16, made.check_sum.is_empty()), (0, false));
    assert_eq!(key.as_ref().unwrap().key_blobs, [made.key_bytes]);
    assert!(key.as_ref().unwrap().attributes.contains_key(&VALUE_LEN));
    let plain = b"sixteen bytes or more of them".to_vec();
    let mech = || with_bytes(AES_CBC_PAD, &IV);
    let single =
        call!(c.encrypt_single(EncryptSingleRequest { mech: mech(), plain: plain.clone(), key: key.clone() })).ciphered;
    assert_eq!(single.len(), 32);
    let state = call!(c.encrypt_init(EncryptInitRequest { mech: mech(), key: key.clone() })).state;
    let whole = call!(c.encrypt(EncryptRequest { state: state.clone(), plain: plain.clone() })).ciphered;
    assert_eq!(whole, single);
    let part = call!(c.encrypt_update(EncryptUpdateRequest { state: state, plain: plain.clone() }));
    let rest = call!(c.encrypt_final(EncryptFinalRequest { state: part.state })).ciphered;
    assert_eq!([part.ciphered, rest].concat(), single);
    let opened =
        call!(c.decrypt_single(DecryptSingleRequest { mech: mech(), ciphered: single.clone(), key: key.clone() }));
    assert_eq!(opened.plain, plain);
    let state = call!(c.decrypt_init(DecryptInitRequest { mech: mech(), key: key.clone() })).state;
    let whole = call!(c.decrypt(DecryptRequest { state: state.clone(), ciphered: single.clone() })).plain;
    assert_eq!(whole, plain);
    let part = call!(c.decrypt_update(DecryptUpdateRequest { state: state, ciphered: single.clone() }));
    let rest = call!(c.decrypt_final(DecryptFinalRequest { state: part.state })).plain;
    assert_eq!([part.plain, rest].concat(), plain);
    let other = aes(c).await.key;
    let again = call!(c.reencrypt_single(ReencryptSingleRequest {
        dec_mech: mech(),
        enc_mech: mech(),
        ciphered: single,
        dec_key: key,
        enc_key: other.clone(),
    }));
    let request = DecryptSingleRequest { mech: mech(), ciphered: again.reciphered, key: other };
    assert_eq!(c.decrypt_single(request).await.unwrap().into_inner().plain, plain);
}

async fn signatures(c: &mut Client) {
    let pair = ec(c, SIGN, VERIFY).await;
    assert_eq!(pair.priv_key.as_ref().unwrap().key_blobs[0], pair.priv_key_bytes);
    assert_eq!(pair.pub_key.as_ref().unwrap().key_blobs[0], pair.pub_key_bytes);
    let (private, public) = (pair.priv_key, pair.pub_key);
    let digest = vec![5; 32];
    let request = SignSingleRequest { mech: mechanism(ECDSA), data: digest.clone(), priv_key: private.clone() };
    let signature = c.sign_single(request).await.unwrap().into_inner().signature;
    assert_eq!(signature.len(), 64);
    let verify = |data: &[u8], signature: &[u8]| VerifySingleRequest {
        mech: mechanism(ECDSA),
        data: data.to_vec(),
        signature: signature.to_vec(),
        pub_key: public.clone(),
    };
    c.verify_single(verify(&digest, &signature)).await.unwrap();
    let wrong = c.verify_single(verify(&[6; 32], &signature)).await;
    assert_eq!(wrong.as_ref().unwrap_err().code(), Code::InvalidArgument);
    let wrong = error(wrong);
    assert_eq!((wrong.code, wrong.retry), (0xc0, false));
    assert!(wrong.detail.starts_with("CKR_SIGNATURE_INVALID"));
    // In parts and by a state.
    let mech = || mechanism(ECDSA_SHA256);
    let state = call!(c.sign_init(SignInitRequest { mech: mech(), priv_key: private })).state;
    let whole = call!(c.sign(SignRequest { state: state.clone(), data: b"abc".to_vec() })).signature;
    let state = call!(c.sign_update(SignUpdateRequest { state: state, data: b"ab".to_vec() })).state;
    let state = call!(c.sign_update(SignUpdateRequest { state: state, data: b"c".to_vec() })).state;
    let parts = call!(c.sign_final(SignFinalRequest { state: state })).signature;
    let state = call!(c.verify_init(VerifyInitRequest { mech: mech(), pub_key: public })).state;
    let request = VerifyRequest { state: state.clone(), data: b"abc".to_vec(), signature: parts };
    c.verify(request).await.unwrap();
    let state = call!(c.verify_update(VerifyUpdateRequest { state: state, data: b"abc".to_vec() })).state;
    c.verify_final(VerifyFinalRequest { state: state.clone(), signature: whole }).await.unwrap();
    assert_eq!(error(c.verify_final(VerifyFinalRequest { state, signature: vec![1; 64] }).await).code, 0xc0);
}

async fn macs_and_rsa(c: &mut Client) {
    let template = attributes([(VALUE_LEN, number(32)), (SIGN, yes()), (VERIFY, yes())]);
    let key =
        call!(c.generate_key(GenerateKeyRequest { mech: mechanism(GENERIC_SECRET_KEY_GEN), template: template })).key;
    let mac = |mech| SignSingleRequest { mech, data: b"data".to_vec(), priv_key: key.clone() };
    let whole = c.sign_single(mac(mechanism(SHA256_HMAC))).await.unwrap().into_inner().signature;
    let length = HmacGeneralParm { return_byte_count: 20 }.encode_to_vec();
    let cut = c.sign_single(mac(with_bytes(SHA256_HMAC_GENERAL, &length))).await.unwrap().into_inner().signature;
    assert_eq!((whole.len(), &cut[..]), (32, &whole[..20]));
    let request = GenerateKeyPairRequest {
        mech: mechanism(RSA_KEY_PAIR_GEN),
        priv_key_template: attributes([(SIGN, yes()), (DECRYPT, yes())]),
        pub_key_template: attributes([
            (MODULUS_BITS, number(2048)),
            (PUBLIC_EXPONENT, OneAttr::AttributeB(vec![1, 0, 1])),
            (VERIFY, yes()),
            (ENCRYPT, yes()),
        ]),
    };
    let pair = c.generate_key_pair(request).await.unwrap().into_inner();
    let pss = RsapssParm { hash_mech: SHA256, mgf: Mask::CkgMgf1Sha256.into(), salt_byte_count: 32 };
    let mech = || with(RSA_PSS, Parameter::RsapssParameter(pss));
    let request = SignSingleRequest { mech: mech(), data: vec![5; 32], priv_key: pair.priv_key.clone() };
    let signature = c.sign_single(request).await.unwrap().into_inner().signature;
    let request = VerifySingleRequest { mech: mech(), data: vec![5; 32], signature, pub_key: pair.pub_key.clone() };
    c.verify_single(request).await.unwrap();
    let oaep = |label: &[u8]| RsaoaepParm {
        hash_mech: SHA256,
        mgf: Mask::CkgMgf1Sha256.into(),
        encoding_parm_type: ParmType::CkzDataSpecifiied.into(),
        encoding_parm: label.to_vec(),
    };
    let mech = |label: &[u8]| with(RSA_OAEP, Parameter::RsaoaepParameter(oaep(label)));
    let request = EncryptSingleRequest { mech: mech(b"label"), plain: b"secret".to_vec(), key: pair.pub_key };
    let ciphered = c.encrypt_single(request).await.unwrap().into_inner().ciphered;
    let open = |label: &[u8]| DecryptSingleRequest {
        mech: mech(label),
        ciphered: ciphered.clone(),
        key: pair.priv_key.clone(),
    };
    assert_eq!(c.decrypt_single(open(b"label")).await.unwrap().into_inner().plain, b"secret");
    assert!(c.decrypt_single(open(b"other")).await.is_err());
}

async fn keys(c: &mut Client) {
    let (key, by) = (aes(c).await.key, aes(c).await.key);
    let mech = || with_bytes(AES_CBC_PAD, &IV);
    let wrapped = call!(c.wrap_key(WrapKeyRequest { mech: mech(), key: key.clone(), ke_k: by.clone(), mac_key: None }));
    let unwrapped = call!(c.unwrap_key(UnwrapKeyRequest {
        wrapped: wrapped.wrapped,
        mech: mech(),
        template: attributes([
            (CLASS, number(4)),
            (KEY_TYPE, number(0x1f)),
            (VALUE_LEN, number(32)),
            (ENCRYPT, yes()),
            (DECRYPT, yes()),
        ]),
        ke_k: by,
        mac_key: None,
    }));
    let request =
        |key: &Option<KeyBlob>| EncryptSingleRequest { mech: mech(), plain: b"plain".to_vec(), key: key.clone() };
    let one = c.encrypt_single(request(&key)).await.unwrap().into_inner().ciphered;
    let two = c.encrypt_single(request(&unwrapped.unwrapped)).await.unwrap().into_inner().ciphered;
    assert_eq!(one, two);
    assert!(!unwrapped.unwrapped_bytes.is_empty() && !unwrapped.check_sum.is_empty());
    // Two sides of a key agreement.
    let (a, b) = (ec(c, DERIVE, DERIVE).await, ec(c, DERIVE, DERIVE).await);
    let mut derived = Vec::new();
    for (own, other) in [(&a, &b), (&b, &a)] {
        // The point is the end of a SubjectPublicKeyInfo of 91 bytes.
        let public_data = other.pub_key_bytes[26..91].to_vec();
        let ecdh = Ecdh1DeriveParm { kdf: KeyDerivationFunction::CkdNull.into(), shared_data: vec![], public_data };
        let made = call!(c.derive_key(DeriveKeyRequest {
            mech: with(ECDH1_DERIVE, Parameter::Ecdh1DeriveParameter(ecdh)),
            data: vec![],
            template: attributes([
                (CLASS, number(4)),
                (KEY_TYPE, number(0x1f)),
                (VALUE_LEN, number(32)),
                (ENCRYPT, yes()),
                (DECRYPT, yes()),
            ]),
            base_key: own.priv_key.clone(),
        }));
        assert!(!made.new_key_bytes.is_empty());
        derived.push(c.encrypt_single(request(&made.new_key)).await.unwrap().into_inner().ciphered);
    }
    assert_eq!(derived[0], derived[1]);
    let refused = error(c.rewrap_key_blob(RewrapKeyBlobRequest { wrapped_key_bytes: vec![], wrapped_key: key }).await);
    assert_eq!(refused.code, 0x8001_0009, "{refused:?}");
}

async fn queries(c: &mut Client) {
    let all = call!(c.get_mechanism_list(GetMechanismListRequest {})).mechs;
    assert!(all.contains(&ECDSA) && all.contains(&AES_CBC) && all.len() > 50);
    let about = call!(c.get_mechanism_info(GetMechanismInfoRequest { mech: AES_KEY_GEN })).mech_info.unwrap();
    assert!(about.min_key_size <= about.max_key_size && about.flags != 0);
    assert_eq!(error(c.get_mechanism_info(GetMechanismInfoRequest { mech: 0x7fff_ffff }).await).code, 0x70);
    let pair = ec(c, SIGN, VERIFY).await;
    let question = |object: Vec<u8>| GetAttributeValueRequest {
        object,
        attributes_bytes: [(EXTRACTABLE, vec![])].into(),
        attributes: attributes([(SIGN, yes()), (KEY_TYPE, number(0))]),
    };
    let encoded = pair.priv_key.as_ref().unwrap().encode_to_vec();
    for object in [pair.priv_key_bytes.clone(), encoded] {
        let answer = c.get_attribute_value(question(object)).await.unwrap().into_inner();
        let value = |of: u64| answer.attributes[&of].one_attr.clone().unwrap();
        assert_eq!((value(SIGN), value(KEY_TYPE)), (yes(), number(3)));
        assert_eq!(answer.attributes_bytes[&KEY_TYPE], 3_u64.to_be_bytes());
        assert_eq!(answer.attributes_bytes[&SIGN], [1]);
        assert!(answer.attributes_bytes.contains_key(&EXTRACTABLE));
    }
    let changed = call!(c.set_attribute_value(SetAttributeValueRequest {
        object: pair.priv_key_bytes,
        attributes: attributes([(SIGN, OneAttr::AttributeTf(false))]),
    }));
    let request = SignSingleRequest { mech: mechanism(ECDSA), data: vec![5; 32], priv_key: key(&changed.object) };
    let refused = c.sign_single(request).await;
    assert_eq!(refused.as_ref().unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(error(refused).code, 0x68);
    let login = || LoginRequest { storeid: b"store".to_vec(), pin: b"12345678".to_vec() };
    assert_eq!(c.login(login()).await.unwrap().into_inner().pinblob.len(), 80);
    c.logout(LogoutRequest {}).await.unwrap();
    assert_eq!(error(c.login(LoginRequest { pin: b"1".to_vec(), ..login() }).await).code, 0xa2);
    // What is no mechanism, no key.
    assert_eq!(error(c.digest_init(DigestInitRequest { mech: None }).await).code, 0x8004_0006);
    let request = SignSingleRequest { mech: mechanism(ECDSA), data: vec![5; 32], priv_key: key(b"no blob") };
    assert!(error(c.sign_single(request).await).code != 0);
}

#[tokio::test]
async fn a_blob_goes_on_under_the_next_wrapping_key() {
    let card = Card::start();
    let server = Server::start(&card.folder(), &["--listen", "127.0.0.1:0"]);
    let mut c = server.client().await;
    let old = aes(&mut c).await.key;
    let plain = b"text".to_vec();
    let encrypt = |key: &Option<KeyBlob>| EncryptSingleRequest {
        mech: with_bytes(AES_CBC_PAD, &IV),
        plain: plain.clone(),
        key: key.clone(),
    };
    let before = c.encrypt_single(encrypt(&old)).await.unwrap().into_inner().ciphered;
    card.order(&["wk", "generate", "00.0000"]);
    card.order(&["wk", "commit"]);
    let request = RewrapKeyBlobRequest { wrapped_key_bytes: vec![], wrapped_key: old.clone() };
    let made = c.rewrap_key_blob(request).await.unwrap().into_inner();
    let both = made.rewrapped_key;
    assert_eq!(both.as_ref().unwrap().key_blobs.len(), 2);
    assert_eq!(both.as_ref().unwrap().key_blobs[0], made.rewrapped_key_bytes);
    // It is of use before and after the new key is the current one.
    assert_eq!(c.encrypt_single(encrypt(&both)).await.unwrap().into_inner().ciphered, before);
    card.order(&["wk", "finalize"]);
    assert_eq!(c.encrypt_single(encrypt(&both)).await.unwrap().into_inner().ciphered, before);
    let refused = c.encrypt_single(encrypt(&old)).await;
    assert_eq!(refused.as_ref().unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(error(refused).code, 0x8001_0001);
}
