//! Public-key operations, each with a context that is set up once and used again, as `openssl speed` does it.

use super::libcrypto::{Functions, Object, Owned, Param, Params, Side};
use super::measure::Work;
use crate::Error;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::sync::Arc;

const PUBLIC_KEY: c_int = 0x86;
const KEY_PAIR: c_int = 0x87;
const DIGEST_LENGTH: usize = 32;
// Enough that neither the branch predictor nor one short scalar decides.
const SIGNATURES: usize = 32;

/// An operation with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `EVP_PKEY_sign` of a SHA-256 value.
    Sign(Padding),
    /// `EVP_PKEY_verify` of a signature.
    Verify(Padding),
    /// `EVP_DigestSign` of 32 bytes: keys that hash the message themselves, others with SHA-256. These, and all in newer
    /// OpenSSL versions, take an init for every message.
    SignMessage,
    /// `EVP_DigestVerify` of a signature.
    VerifyMessage,
    /// `EVP_PKEY_encrypt` of 32 bytes.
    Encrypt(Padding),
    /// `EVP_PKEY_decrypt` of a ciphertext.
    Decrypt(Padding),
    /// `EVP_PKEY_derive` with a peer set before.
    Derive,
    /// `EVP_PKEY_generate`.
    Generate,
}

/// The padding of an RSA operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// No padding: the key is not RSA.
    None,
    /// PKCS#1 v1.5.
    Pkcs1,
    /// PSS with SHA-256 and a salt as long as the digest.
    Pss,
    /// OAEP with SHA-1, OpenSSL's default.
    Oaep,
}

/// A key type.
#[derive(Debug, Clone, Copy)]
pub struct KeyType {
    /// OpenSSL's name.
    name: &'static str,
    group: &'static str,
    bits: u32,
    title: &'static str,
}

impl KeyType {
    /// A kind of key: OpenSSL's `name`, the EC group (or none) and the bits (or 0); rows begin with `title`.
    pub const fn new(title: &'static str, name: &'static str, group: &'static str, bits: u32) -> KeyType {
        KeyType { name, group, bits, title }
    }

    /// Whether the key hashes the message by itself.
    fn hashes(self) -> bool {
        self.name == "ED25519"
    }

    fn parameters(self) -> Params {
        let mut parameters = Params::default();
        if self.bits != 0 {
            parameters = parameters.number(c"bits", self.bits);
        }
        if !self.group.is_empty() {
            parameters = parameters.text(c"group", self.group);
        }
        parameters
    }
}

/// A key, shared by the threads that use it, as a server's are.
#[derive(Debug, Clone)]
pub struct MeasuredKey(Arc<Shared>);

#[derive(Debug)]
struct Shared(Owned);

// SAFETY: OpenSSL lets several threads use one EVP_PKEY as long as none changes it; nothing here changes a key.
unsafe impl Send for Shared {}
// SAFETY: OpenSSL lets several threads use one EVP_PKEY as long as none changes it; nothing here changes a key.
unsafe impl Sync for Shared {}

impl MeasuredKey {
    fn new(key: Owned) -> MeasuredKey {
        MeasuredKey(Arc::new(Shared(key)))
    }

    fn get(&self) -> Object {
        self.0.0.get()
    }
}

/// One key on two sides.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The key on the side that is measured.
    pub key: MeasuredKey,
    /// The key on the side that made it, stock.
    pub original: MeasuredKey,
}

/// A row: a key type and what is done with it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The key.
    pub kind: KeyType,
    /// The operation.
    pub operation: Operation,
}

impl Row {
    /// Every public-key row, those of one key together.
    pub fn all() -> Vec<Row> {
        use Operation::{Decrypt, Derive, Encrypt, Generate, Sign, SignMessage, Verify, VerifyMessage};
        use Padding::{None, Oaep, Pkcs1, Pss};
        let mut all = Vec::new();
        for (title, bits) in [("RSA-2048", 2048), ("RSA-3072", 3072), ("RSA-4096", 4096)] {
            let kind = KeyType::new(title, "RSA", "", bits);
            for operation in [
                Sign(Pkcs1),
                Verify(Pkcs1),
                Sign(Pss),
                Verify(Pss),
                Encrypt(Pkcs1),
                Decrypt(Pkcs1),
                Encrypt(Oaep),
                Decrypt(Oaep),
            ] {
                all.push(Row { kind, operation });
            }
            if bits == 2048 {
                all.push(Row { kind, operation: Generate });
            }
        }
        for (ecdsa, ecdh, group) in [
            ("ECDSA P-256", "ECDH P-256", "P-256"),
            ("ECDSA P-384", "ECDH P-384", "P-384"),
            ("ECDSA P-521", "ECDH P-521", "P-521"),
        ] {
            let kind = KeyType::new(ecdsa, "EC", group, 0);
            all.extend([Sign(None), Verify(None)].map(|operation| Row { kind, operation }));
            let kind = KeyType::new(ecdh, "EC", group, 0);
            all.push(Row { kind, operation: Derive });
            let kind = KeyType::new(group, "EC", group, 0);
            all.push(Row { kind, operation: Generate });
        }
        // Keys that the default provider holds; verification is its own.
        for (title, group) in [
            ("ECDSA P-192", "P-192"),
            ("ECDSA brainpoolP256r1", "brainpoolP256r1"),
            ("ECDSA brainpoolP384r1", "brainpoolP384r1"),
            ("ECDSA brainpoolP512r1", "brainpoolP512r1"),
        ] {
            all.push(Row { kind: KeyType::new(title, "EC", group, 0), operation: Sign(None) });
        }
        let kind = KeyType::new("X25519", "X25519", "", 0);
        all.extend([Derive, Generate].map(|operation| Row { kind, operation }));
        let kind = KeyType::new("Ed25519", "ED25519", "", 0);
        all.extend([SignMessage, VerifyMessage, Generate].map(|operation| Row { kind, operation }));
        all
    }

    /// The row's name.
    pub fn title(self) -> String {
        let padding = |p| match p {
            Padding::None => "",
            Padding::Pkcs1 => " PKCS#1",
            Padding::Pss => " PSS",
            Padding::Oaep => " OAEP",
        };
        let verb = match self.operation {
            Operation::Sign(p) => format!("sign{}", padding(p)),
            Operation::Verify(p) => format!("verify{}", padding(p)),
            Operation::SignMessage => "sign".to_owned(),
            Operation::VerifyMessage => "verify".to_owned(),
            Operation::Encrypt(p) => format!("encrypt{}", padding(p)),
            Operation::Decrypt(p) => format!("decrypt{}", padding(p)),
            Operation::Derive => "derive".to_owned(),
            Operation::Generate => "keygen".to_owned(),
        };
        format!("{} {verb}", self.kind.title)
    }

    /// Whether single operations differ so much in length that only a mean over many says anything.
    pub fn uneven(self) -> bool {
        self.operation == Operation::Generate && self.kind.bits != 0
    }

    /// The work of this row on `side`; `None` where the side does not have it. Signatures and ciphertexts to be opened are
    /// `stock`'s; what `side` makes is opened by `stock`, so that a wrong result is an error and not a fast row.
    pub fn work(self, side: Side, stock: Side) -> Result<Option<Work>, Error> {
        if self.operation == Operation::Generate {
            return self.generate(side);
        }
        match self.keys(side, stock)? {
            Some(keys) => self.work_with(side, stock, keys),
            None => Ok(None),
        }
    }

    /// The row's key, made by `stock`; `None` where a side does not have the key type.
    pub fn keys(self, side: Side, stock: Side) -> Result<Option<Keys>, Error> {
        let Some(original) = new_key(stock, self.kind)? else { return Ok(None) };
        let key = copy(&original, stock, side, self.kind.name, KEY_PAIR)?;
        Ok(key.map(|key| Keys { key, original }))
    }

    /// Makes the row's keys from the data of [`to_der`], perhaps written by another process; `None` where a side does not have the key type.
    pub fn keys_of(self, der: &[u8], side: Side, stock: Side) -> Result<Option<Keys>, Error> {
        let original = from_der(stock, der)?;
        let key = copy(&original, stock, side, self.kind.name, KEY_PAIR)?;
        Ok(key.map(|key| Keys { key, original }))
    }

    /// Makes the row's work with `keys`, where [`Row::work`] would make new ones.
    pub fn work_with(self, side: Side, stock: Side, keys: Keys) -> Result<Option<Work>, Error> {
        match self.operation {
            Operation::Sign(p) | Operation::Verify(p) => self.signature(side, stock, keys, p),
            Operation::Encrypt(p) | Operation::Decrypt(p) => self.encryption(side, stock, keys, p),
            Operation::SignMessage | Operation::VerifyMessage => self.message(side, stock, keys),
            Operation::Derive => derive(side, self.kind.name, &keys.original, stock, keys.key),
            Operation::Generate => self.generate(side),
        }
    }

    fn generate(self, side: Side) -> Result<Option<Work>, Error> {
        generate(side, self.kind.name, self.kind.parameters())
    }

    fn signature(self, side: Side, stock: Side, keys: Keys, p: Padding) -> Result<Option<Work>, Error> {
        let Keys { key, original } = keys;
        let f = side.f;
        let Some(signer) = start(side, &key, f.EVP_PKEY_sign_init, p, true)? else { return Ok(None) };
        let Some(verifier) = start(side, &key, f.EVP_PKEY_verify_init, p, true)? else { return Ok(None) };
        let missing = || stock.failure(&self.title());
        let reference = start(stock, &original, stock.f.EVP_PKEY_sign_init, p, true)?.ok_or_else(missing)?;
        let judge = start(stock, &original, stock.f.EVP_PKEY_verify_init, p, true)?.ok_or_else(missing)?;
        let digest = [0x42; DIGEST_LENGTH];
        let mut made = vec![0; 1024];
        let good = sign(side.f, &signer, &mut made, &digest) && verify(stock.f, &judge, &made, &digest);
        if !good {
            return Err(side.failure(&format!("{}: stock does not accept it", self.title())));
        }
        if matches!(self.operation, Operation::Sign(_)) {
            return Ok(Some(Work::new(Vec::new(), move |n| {
                let _alive = &key;
                (0..n).all(|_| sign(f, &signer, &mut made, &digest))
            })));
        }
        let signatures = signatures(stock, &reference, self.title())?;
        Ok(Some(Work::new(Vec::new(), move |n| {
            let _alive = &key;
            (0..n).all(|i| verify(f, &verifier, &signatures[i as usize % SIGNATURES], &digest))
        })))
    }

    fn encryption(self, side: Side, stock: Side, keys: Keys, p: Padding) -> Result<Option<Work>, Error> {
        let Keys { key, original } = keys;
        let f = side.f;
        let Some(encrypter) = start(side, &key, f.EVP_PKEY_encrypt_init, p, false)? else { return Ok(None) };
        let Some(decrypter) = start(side, &key, f.EVP_PKEY_decrypt_init, p, false)? else { return Ok(None) };
        let missing = || stock.failure(&self.title());
        let judge = start(stock, &original, stock.f.EVP_PKEY_decrypt_init, p, false)?.ok_or_else(missing)?;
        let plain = [0x42; DIGEST_LENGTH];
        let (mut sealed, mut opened) = (vec![0; 1024], vec![0; 1024]);
        let good = transform(f.EVP_PKEY_encrypt, &encrypter, &plain, &mut sealed)
            && transform(stock.f.EVP_PKEY_decrypt, &judge, &sealed, &mut opened)
            && opened == plain;
        if !good {
            return Err(side.failure(&format!("{}: stock does not open it", self.title())));
        }
        Ok(Some(if matches!(self.operation, Operation::Encrypt(_)) {
            Work::new(Vec::new(), move |n| {
                let _alive = &key;
                (0..n).all(|_| transform(f.EVP_PKEY_encrypt, &encrypter, &plain, &mut sealed))
            })
        } else {
            Work::new(plain.to_vec(), move |n| {
                let _alive = &key;
                (0..n).all(|_| transform(f.EVP_PKEY_decrypt, &decrypter, &sealed, &mut opened)) && opened == plain
            })
        }))
    }

    fn message(self, side: Side, stock: Side, keys: Keys) -> Result<Option<Work>, Error> {
        let Keys { key, original } = keys;
        let f = side.f;
        let digest = (!self.kind.hashes()).then_some(c"SHA256");
        let Some(signer) = start_message(side, &key, digest, true) else { return Ok(None) };
        let Some(verifier) = start_message(side, &key, digest, false) else { return Ok(None) };
        // From OpenSSL 3.5 on a context signs or verifies once per init; the key stays.
        let again = move |context: &Owned, init: MessageInit| {
            // SAFETY: a context that was initialised with its key before.
            unsafe { init(context.get(), null_mut(), null(), null_mut(), null(), null_mut(), null()) == 1 }
        };
        let judge = start_message(stock, &original, digest, false).ok_or_else(|| stock.failure(&self.title()))?;
        let text = [0x42; DIGEST_LENGTH];
        let mut made = Vec::new();
        let sign = move |signer: &Owned, made: &mut Vec<u8>| {
            made.resize(1024, 0);
            let mut length = made.len();
            // SAFETY: a context started for signing; the buffers are as long as stated.
            let done =
                unsafe { (f.EVP_DigestSign)(signer.get(), made.as_mut_ptr(), &mut length, text.as_ptr(), text.len()) };
            made.truncate(length);
            done == 1
        };
        let verify = move |f: &Functions, verifier: &Owned, made: &[u8]| {
            // SAFETY: a context started for verification; the buffers are as long as stated.
            unsafe { (f.EVP_DigestVerify)(verifier.get(), made.as_ptr(), made.len(), text.as_ptr(), text.len()) == 1 }
        };
        if !sign(&signer, &mut made) || !verify(stock.f, &judge, &made) {
            return Err(side.failure(&format!("{}: stock does not accept it", self.title())));
        }
        // An ECDSA signature is random.
        let proof = if self.kind.name == "EC" { Vec::new() } else { made.clone() };
        let once = !self.kind.hashes() || !sign(&signer, &mut made);
        f.errors();
        Ok(Some(if self.operation == Operation::SignMessage {
            Work::new(proof, move |n| {
                let _alive = &key;
                (0..n).all(|_| (!once || again(&signer, f.EVP_DigestSignInit_ex)) && sign(&signer, &mut made))
            })
        } else {
            Work::new(proof, move |n| {
                let _alive = &key;
                (0..n).all(|_| (!once || again(&verifier, f.EVP_DigestVerifyInit_ex)) && verify(f, &verifier, &made))
            })
        }))
    }
}

/// A key of stock's, made once for each kind: the rows of one key use the same, and RSA keys take long.
fn new_key(stock: Side, kind: KeyType) -> Result<Option<MeasuredKey>, Error> {
    type Cache = Vec<(usize, String, *mut Param)>;
    thread_local!(static MADE: RefCell<Cache> = const { RefCell::new(Vec::new()) });
    let id = format!("{} {} {}", kind.name, kind.group, kind.bits);
    let found = MADE.with_borrow(|made| made.iter().find(|m| m.0 == stock.context as usize && m.1 == id).map(|m| m.2));
    if let Some(data) = found {
        return from_data(data, stock, kind.name, KEY_PAIR);
    }
    let Some(context) = key_context(stock, kind.name) else { return Ok(None) };
    let (mut key, mut data) = (null_mut(), null_mut());
    let f = stock.f;
    // SAFETY: the context is fresh; parameters live through the call.
    unsafe {
        stock.check(kind.title, (f.EVP_PKEY_keygen_init)(context.get()))?;
        stock.check(kind.title, (f.EVP_PKEY_CTX_set_params)(context.get(), kind.parameters().array()))?;
        stock.check(kind.title, (f.EVP_PKEY_generate)(context.get(), &mut key))?;
        let key = stock.own(key, f.EVP_PKEY_free).ok_or_else(|| stock.failure(kind.title))?;
        stock.check(kind.title, (f.EVP_PKEY_todata)(key.get(), KEY_PAIR, &mut data))?;
        MADE.with_borrow_mut(|made| made.push((stock.context as usize, id, data)));
        Ok(Some(MeasuredKey::new(key)))
    }
}

/// A private key as DER: RFC 8017 (RSA), RFC 5915 (EC), RFC 8410 (the others).
pub fn to_der(stock: Side, key: &MeasuredKey) -> Result<Vec<u8>, Error> {
    // SAFETY: with a null pointer it only says how long it would be; then it writes that much.
    unsafe {
        let length = (stock.f.i2d_PrivateKey)(key.get(), null_mut());
        let mut der = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut at = der.as_mut_ptr();
        match length > 0 && (stock.f.i2d_PrivateKey)(key.get(), &mut at) == length {
            true => Ok(der),
            false => Err(stock.failure("key as DER")),
        }
    }
}

/// The private key that [`to_der`] gave.
fn from_der(stock: Side, der: &[u8]) -> Result<MeasuredKey, Error> {
    let (mut at, length) = (der.as_ptr(), der.len() as c_long);
    // SAFETY: the length is that of the buffer; the query is a terminated string.
    let key =
        unsafe { (stock.f.d2i_AutoPrivateKey_ex)(null_mut(), &mut at, length, stock.context, stock.query.as_ptr()) };
    stock.own(key, stock.f.EVP_PKEY_free).map(MeasuredKey::new).ok_or_else(|| stock.failure("key from DER"))
}

/// Signatures of stock's, the same for both sides: some are faster to verify than others.
fn signatures(stock: Side, signer: &Owned, title: String) -> Result<Rc<[Vec<u8>; SIGNATURES]>, Error> {
    type Cache = Vec<(String, Rc<[Vec<u8>; SIGNATURES]>)>;
    thread_local!(static MADE: RefCell<Cache> = const { RefCell::new(Vec::new()) });
    if let Some(found) = MADE.with_borrow(|made| made.iter().find(|m| m.0 == title).map(|m| m.1.clone())) {
        return Ok(found);
    }
    let mut all = [const { Vec::new() }; SIGNATURES];
    for one in &mut all {
        if !sign(stock.f, signer, one, &[0x42; DIGEST_LENGTH]) {
            return Err(stock.failure(&title));
        }
    }
    let all = Rc::new(all);
    MADE.with_borrow_mut(|made| made.push((title, all.clone())));
    Ok(all)
}

/// A copy of the key within `to`; `None` where that side does not have the key type.
fn copy(key: &MeasuredKey, from: Side, to: Side, name: &str, selection: c_int) -> Result<Option<MeasuredKey>, Error> {
    let mut data: *mut Param = null_mut();
    // SAFETY: a live key; the array is freed below.
    from.check(name, unsafe { (from.f.EVP_PKEY_todata)(key.get(), selection, &mut data) })?;
    let copied = from_data(data, to, name, selection);
    // SAFETY: from EVP_PKEY_todata, freed once.
    unsafe { (from.f.OSSL_PARAM_free)(data) };
    copied
}

fn from_data(data: *mut Param, to: Side, name: &str, selection: c_int) -> Result<Option<MeasuredKey>, Error> {
    let Some(context) = key_context(to, name) else { return Ok(None) };
    let mut key = null_mut();
    // SAFETY: the array is one EVP_PKEY_todata made.
    unsafe {
        if (to.f.EVP_PKEY_fromdata_init)(context.get()) != 1 {
            to.f.errors();
            return Ok(None);
        }
        to.check(name, (to.f.EVP_PKEY_fromdata)(context.get(), &mut key, selection, data))?;
    }
    Ok(to.own(key, to.f.EVP_PKEY_free).map(MeasuredKey::new))
}

fn key_context(side: Side, name: &str) -> Option<Owned> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: terminated strings, a live library context.
    let context = unsafe { (side.f.EVP_PKEY_CTX_new_from_name)(side.context, name.as_ptr(), side.query.as_ptr()) };
    let context = side.own(context, side.f.EVP_PKEY_CTX_free);
    if context.is_none() {
        side.f.errors();
    }
    context
}

/// A context of `key`, started with `init` and given its padding; `None` where the side does not have the operation.
fn start(
    side: Side,
    key: &MeasuredKey,
    init: unsafe extern "C" fn(Object) -> c_int,
    padding: Padding,
    signature: bool,
) -> Result<Option<Owned>, Error> {
    let f = side.f;
    // SAFETY: a live key and library context; parameters live through the call.
    unsafe {
        let context = (f.EVP_PKEY_CTX_new_from_pkey)(side.context, key.get(), side.query.as_ptr());
        let Some(context) = side.own(context, f.EVP_PKEY_CTX_free) else {
            f.errors();
            return Ok(None);
        };
        if init(context.get()) != 1 {
            f.errors();
            return Ok(None);
        }
        let mut parameters = match padding {
            Padding::None => return Ok(Some(context)),
            Padding::Pkcs1 => Params::default().text(c"pad-mode", "pkcs1"),
            Padding::Pss => Params::default().text(c"pad-mode", "pss"),
            Padding::Oaep => Params::default().text(c"pad-mode", "oaep"),
        };
        if signature {
            parameters = parameters.text(c"digest", "SHA256");
        }
        if padding == Padding::Pss {
            parameters = parameters.text(c"saltlen", "digest");
        }
        side.check("padding", (f.EVP_PKEY_CTX_set_params)(context.get(), parameters.array()))?;
        Ok(Some(context))
    }
}

fn start_message(side: Side, key: &MeasuredKey, digest: Option<&'static CStr>, signing: bool) -> Option<Owned> {
    let f = side.f;
    let digest = digest.map_or(null(), CStr::as_ptr);
    let init = if signing { f.EVP_DigestSignInit_ex } else { f.EVP_DigestVerifyInit_ex };
    // SAFETY: a new context, a live key and library context.
    unsafe {
        let context = side.own((f.EVP_MD_CTX_new)(), f.EVP_MD_CTX_free)?;
        let query: &CStr = side.query;
        match init(context.get(), null_mut(), digest, side.context, query.as_ptr(), key.get(), null()) {
            1 => Some(context),
            _ => {
                f.errors();
                None
            }
        }
    }
}

type MessageInit =
    unsafe extern "C" fn(Object, *mut Object, *const c_char, Object, *const c_char, Object, *const Param) -> c_int;

/// Signs into `out`, which becomes as long as the signature.
fn sign(f: &Functions, context: &Owned, out: &mut Vec<u8>, digest: &[u8; DIGEST_LENGTH]) -> bool {
    out.resize(1024, 0);
    let mut length = out.len();
    // SAFETY: a context started for signing; the buffers are as long as stated.
    let done =
        unsafe { (f.EVP_PKEY_sign)(context.get(), out.as_mut_ptr(), &mut length, digest.as_ptr(), digest.len()) };
    out.truncate(length);
    done == 1
}

fn verify(f: &Functions, context: &Owned, signature: &[u8], digest: &[u8; DIGEST_LENGTH]) -> bool {
    // SAFETY: a context started for verification; the buffers are as long as stated.
    1 == unsafe {
        (f.EVP_PKEY_verify)(context.get(), signature.as_ptr(), signature.len(), digest.as_ptr(), digest.len())
    }
}

type Transform = unsafe extern "C" fn(Object, *mut u8, *mut usize, *const u8, usize) -> c_int;

/// Encrypts or decrypts into `out`, which becomes as long as the result.
fn transform(function: Transform, context: &Owned, input: &[u8], out: &mut Vec<u8>) -> bool {
    out.resize(1024, 0);
    let mut length = out.len();
    // SAFETY: a context started for this function; the buffers are as long as stated.
    let done = unsafe { function(context.get(), out.as_mut_ptr(), &mut length, input.as_ptr(), input.len()) };
    out.truncate(length);
    done == 1
}

/// Derives from a key and, as its peer, its own public half: the work is that of any peer, and the secret is the same on
/// both sides.
fn derive(
    side: Side,
    name: &str,
    original: &MeasuredKey,
    stock: Side,
    key: MeasuredKey,
) -> Result<Option<Work>, Error> {
    let f = side.f;
    let Some(peer) = copy(original, stock, side, name, PUBLIC_KEY)? else { return Ok(None) };
    let Some(context) = start(side, &key, f.EVP_PKEY_derive_init, Padding::None, false)? else { return Ok(None) };
    let mut secret = vec![0; 66];
    // SAFETY: live objects; the buffer holds every secret.
    side.check(name, unsafe { (f.EVP_PKEY_derive_set_peer)(context.get(), peer.get()) })?;
    let once = move |secret: &mut [u8]| {
        let _alive = (&key, &peer);
        let mut length = secret.len();
        // SAFETY: the context is live, started for derivation, and has its peer; OpenSSL writes no more than `length` bytes,
        // which is the length of the buffer.
        let done = unsafe { (f.EVP_PKEY_derive)(context.get(), secret.as_mut_ptr(), &mut length) };
        (done == 1).then_some(length)
    };
    let Some(length) = once(&mut secret) else { return Err(side.failure(name)) };
    let proof = secret[..length].to_vec();
    Ok(Some(Work::new(proof, move |n| (0..n).all(|_| once(&mut secret).is_some()))))
}

fn generate(side: Side, name: &str, mut parameters: Params) -> Result<Option<Work>, Error> {
    let f = side.f;
    let Some(context) = key_context(side, name) else { return Ok(None) };
    // SAFETY: a fresh context; parameters live through the call.
    unsafe {
        if (f.EVP_PKEY_keygen_init)(context.get()) != 1 {
            f.errors();
            return Ok(None);
        }
        side.check(name, (f.EVP_PKEY_CTX_set_params)(context.get(), parameters.array()))?;
    }
    Ok(Some(Work::new(Vec::new(), move |n| {
        (0..n).all(|_| {
            let mut key = null_mut();
            // SAFETY: a context started for generation; the key is freed at once.
            let done = unsafe { (f.EVP_PKEY_generate)(context.get(), &mut key) };
            side.own(key, f.EVP_PKEY_free).is_some() && done == 1
        })
    })))
}
