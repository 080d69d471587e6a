//! The rows: operations, threads and objects that a module is measured with.

/// A kind of key pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// RSA with a modulus of this many bits.
    Rsa(u16),
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// Ed25519.
    Ed25519,
}

/// The attribute by which objects are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// CKA_LABEL, which one object has.
    Label,
    /// CKA_ID, which one object has.
    Id,
    /// CKA_CLASS, which all objects share: the first object is searched.
    Class,
}

/// The operation that a thread repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// C_SignInit and C_Sign with a key that stays in the token: RSA with SHA-256, ECDSA of a digest, Ed25519 of 32 bytes.
    Sign(Pair),
    /// C_EncryptInit and C_Encrypt with AES-256-GCM, of this many bytes.
    Gcm(usize),
    /// C_EncryptInit and C_Encrypt with AES-256-CBC without padding, of this many bytes.
    Cbc(usize),
    /// C_EncryptInit and C_Encrypt with AES-256-CTR, of this many bytes.
    Ctr(usize),
    /// C_SignInit and C_Sign with CMAC of AES-256.
    Cmac(usize),
    /// C_SignInit and C_Sign with HMAC-SHA256.
    Hmac(usize),
    /// C_DigestInit and C_Digest.
    Sha256(usize),
    /// C_GenerateRandom of 32 bytes.
    Random,
    /// C_GenerateKeyPair, and C_DestroyObject of the private key.
    Generate(Pair),
    /// C_GenerateKey and C_DestroyObject.
    GenerateAes,
    /// C_CreateObject of a key in the session, and C_DestroyObject.
    Create,
    /// C_CreateObject of an object that stays in the token, and C_DestroyObject.
    CreateToken,
    /// C_FindObjectsInit, C_FindObjects, C_FindObjectsFinal.
    Find(By),
    /// C_Logout and C_Login.
    Login,
    /// C_OpenSession and C_CloseSession.
    Session,
    /// C_Initialize and C_Finalize.
    Initialize,
    /// The module is loaded by a process for the first time: dlopen(3), C_Initialize, C_OpenSession, the search for an object of the token
    /// by its label.
    Start,
}

impl What {
    /// The name of the key that it works with, which rows share.
    pub fn key(self) -> Option<String> {
        match self {
            What::Sign(pair) => Some(format!("{pair:?}")),
            What::Gcm(_) | What::Cbc(_) | What::Ctr(_) => Some("AES".to_owned()),
            What::Cmac(_) => Some("CMAC".to_owned()),
            What::Hmac(_) => Some("HMAC".to_owned()),
            _ => None,
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The operation that the row measures.
    pub what: What,
    /// Threads at once, each in a session of its own.
    pub threads: u16,
    /// Each thread with a key of its own, instead of all with one.
    pub own_key: bool,
    /// Whether each operation opens a session for itself.
    pub new_session: bool,
    /// Number of other objects: of the session that logged in, or, with [`What::Start`], of the token.
    pub beside: usize,
}

impl Row {
    /// Title of the row, without the threads.
    pub fn title(&self) -> String {
        let pair = |pair| match pair {
            Pair::Rsa(bits) => format!("RSA-{bits}"),
            Pair::P256 => "P-256".to_owned(),
            Pair::P384 => "P-384".to_owned(),
            Pair::Ed25519 => "Ed25519".to_owned(),
        };
        let mut title = match self.what {
            What::Sign(key) => format!("{} sign", pair(key)),
            What::Gcm(size) => format!("AES-256-GCM {size}"),
            What::Cbc(size) => format!("AES-256-CBC {size}"),
            What::Ctr(size) => format!("AES-256-CTR {size}"),
            What::Cmac(size) => format!("AES-256-CMAC {size}"),
            What::Hmac(size) => format!("HMAC-SHA256 {size}"),
            What::Sha256(size) => format!("SHA-256 {size}"),
            What::Random => "random 32".to_owned(),
            What::Generate(key) => format!("{} key pair", pair(key)),
            What::GenerateAes => "AES-256 key".to_owned(),
            What::Create => "create session object".to_owned(),
            What::CreateToken => "create token object".to_owned(),
            What::Find(By::Label) => "find by label".to_owned(),
            What::Find(By::Id) => "find by id".to_owned(),
            What::Find(By::Class) => "find by class".to_owned(),
            What::Login => "login".to_owned(),
            What::Session => "open, close session".to_owned(),
            What::Initialize => "C_Initialize, C_Finalize".to_owned(),
            What::Start => "load to a first find".to_owned(),
        };
        if self.own_key {
            title += ", own key";
        }
        if self.new_session {
            title += ", new session";
        }
        if self.beside > 0 {
            title += &format!(" among {}", self.beside);
        }
        title
    }

    /// Whether the row needs a process of its own, which is of no use afterwards.
    pub fn apart(&self) -> bool {
        matches!(self.what, What::Login | What::Initialize | What::Start)
    }

    /// All rows, with `threads` threads each, `objects` objects of a session to find one among, and `stored` objects of the token. Rows that leave
    /// something behind come last.
    pub fn all(threads: &[u16], objects: usize, stored: usize) -> Vec<Row> {
        use Pair::{Ed25519, P256, P384, Rsa};
        let plain = |what, threads| Row { what, threads, own_key: false, new_session: false, beside: 0 };
        let mut rows = Vec::new();
        for what in [
            What::Sign(Rsa(2048)),
            What::Sign(Rsa(3072)),
            What::Sign(Rsa(4096)),
            What::Sign(P256),
            What::Sign(P384),
            What::Sign(Ed25519),
            What::Gcm(64),
            What::Gcm(16384),
            What::Cbc(64),
            What::Cbc(16384),
            What::Ctr(64),
            What::Ctr(16384),
            What::Cmac(64),
            What::Cmac(16384),
            What::Hmac(64),
            What::Hmac(16384),
            What::Sha256(64),
            What::Sha256(16384),
            What::Random,
            What::Session,
            What::GenerateAes,
            What::Generate(P256),
            What::Generate(Rsa(2048)),
            What::Create,
            What::CreateToken,
        ] {
            rows.extend(threads.iter().map(|threads| plain(what, *threads)));
        }
        for what in [What::Sign(P256), What::Gcm(64), What::Hmac(64)] {
            rows.extend(threads.iter().map(|threads| Row { own_key: true, ..plain(what, *threads) }));
            rows.extend(threads.iter().map(|threads| Row { new_session: true, ..plain(what, *threads) }));
        }
        if objects > 0 {
            for what in [What::Find(By::Label), What::Find(By::Id), What::Find(By::Class), What::Sign(P256)] {
                rows.push(Row { beside: objects, ..plain(what, 1) });
            }
        }
        rows.extend([What::Login, What::Initialize].map(|what| plain(what, 1)));
        if stored > 0 {
            rows.push(Row { beside: stored, ..plain(What::Start, 1) });
        }
        rows
    }
}
