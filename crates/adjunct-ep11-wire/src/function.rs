//! The functions, with the names of their arguments and results in a message.

/// Declares the functions.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $number:literal ($($argument:literal),*) -> ($($result:literal),*);)*) => {
        /// A function, by its number in messages.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Function {
            $($(#[$doc])* $name = $number,)*
        }

        impl Function {
            /// Every function.
            pub const ALL: &'static [Function] = &[$(Function::$name),*];

            /// The name without libep11's `m_`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Function::$name => stringify!($name),)*
                }
            }

            /// The names of its arguments, in their order.
            pub fn arguments(self) -> &'static [&'static str] {
                match self {
                    $(Function::$name => &[$($argument),*],)*
                }
            }

            /// The names of its results, in their order.
            pub fn results(self) -> &'static [&'static str] {
                match self {
                    $(Function::$name => &[$($result),*],)*
                }
            }

            /// The function with a number.
            pub fn with_number(number: u16) -> Option<Function> {
                match number {
                    $($number => Some(Function::$name),)*
                    _ => None,
                }
            }
        }
    };
}

functions! {
    /// Opens a session.
    Login = 1 ("pin", "nonce") -> ("session");
    /// Ends a session.
    Logout = 2 ("session") -> ();
    /// Adds to the random generator's input.
    SeedRandom = 3 ("seed") -> ();
    /// Random bytes, as many as the number (4 bytes) says.
    GenerateRandom = 4 ("count") -> ("bytes");
    /// Begins a digest.
    DigestInit = 5 ("mechanism") -> ("state");
    /// Goes on with a digest.
    DigestUpdate = 6 ("state", "data") -> ("state");
    /// Digests a key; refused.
    DigestKey = 7 ("state", "key") -> ("state");
    /// Ends a digest.
    DigestFinal = 8 ("state") -> ("digest");
    /// A digest of one part, with a state.
    Digest = 9 ("state", "data") -> ("digest");
    /// A digest at once.
    DigestSingle = 10 ("mechanism", "data") -> ("digest");
    /// Begins to encrypt.
    EncryptInit = 11 ("mechanism", "key") -> ("state");
    /// Begins to decrypt.
    DecryptInit = 12 ("mechanism", "key") -> ("state");
    /// Goes on encrypting.
    EncryptUpdate = 13 ("state", "data") -> ("state", "data");
    /// Goes on decrypting.
    DecryptUpdate = 14 ("state", "data") -> ("state", "data");
    /// Ends encrypting.
    EncryptFinal = 15 ("state") -> ("data");
    /// Ends decrypting.
    DecryptFinal = 16 ("state") -> ("data");
    /// Encrypts one part, with a state.
    Encrypt = 17 ("state", "data") -> ("data");
    /// Decrypts one part, with a state.
    Decrypt = 18 ("state", "data") -> ("data");
    /// Encrypts at once.
    EncryptSingle = 19 ("key", "mechanism", "data") -> ("data");
    /// Decrypts at once.
    DecryptSingle = 20 ("key", "mechanism", "data") -> ("data");
    /// Makes a secret key.
    GenerateKey = 21 ("mechanism", "template", "session") -> ("key", "check value");
    /// Makes a pair of keys.
    GenerateKeyPair = 22 ("mechanism", "public template", "private template", "session") -> ("private key", "public key");
    /// Begins a signature.
    SignInit = 23 ("mechanism", "key") -> ("state");
    /// Goes on with a signature.
    SignUpdate = 24 ("state", "data") -> ("state");
    /// Ends a signature.
    SignFinal = 25 ("state") -> ("signature");
    /// Signs one part, with a state.
    Sign = 26 ("state", "data") -> ("signature");
    /// Begins to verify.
    VerifyInit = 27 ("mechanism", "key") -> ("state");
    /// Goes on verifying.
    VerifyUpdate = 28 ("state", "data") -> ("state");
    /// Ends verifying.
    VerifyFinal = 29 ("state", "signature") -> ();
    /// Verifies one part, with a state.
    Verify = 30 ("state", "data", "signature") -> ();
    /// Signs at once.
    SignSingle = 31 ("key", "mechanism", "data") -> ("signature");
    /// Verifies at once.
    VerifySingle = 32 ("key", "mechanism", "data", "signature") -> ();
    /// Wraps a key by another.
    WrapKey = 33 ("key", "wrapping key", "MAC key", "mechanism") -> ("wrapped key");
    /// Makes a key of one that is wrapped.
    UnwrapKey = 34 ("wrapped key", "wrapping key", "MAC key", "session", "mechanism", "template") -> ("key", "check value");
    /// Makes a key of another.
    DeriveKey = 35 ("mechanism", "template", "base key", "data", "session") -> ("key", "check value");
    /// The mechanisms: numbers of 4 bytes each.
    GetMechanismList = 36 () -> ("mechanisms");
    /// What a mechanism (4 bytes) is for: smallest and largest key, flags, 4 bytes each.
    GetMechanismInfo = 37 ("mechanism") -> ("information");
    /// A query and a subquery, 4 bytes each.
    GetInfo = 38 ("query", "subquery") -> ("information");
    /// Attributes of a key.
    GetAttributeValue = 39 ("object", "types") -> ("attributes");
    /// Changes attributes of a key.
    SetAttributeValue = 40 ("object", "attributes") -> ("object");
    /// Administration: a block and its signatures.
    Admin = 41 ("block", "signatures") -> ("block", "signatures");
    /// Decrypts by one key and encrypts by another.
    ReencryptSingle = 42 ("decrypting key", "encrypting key", "decrypting mechanism", "encrypting mechanism", "data") -> ("data");
    /// Opens a session whose PIN travels encrypted (FIPS 2021).
    LoginExtended = 43 ("pin", "nonce", "structure") -> ("session");
    /// Ends such a session.
    LogoutExtended = 44 ("session", "pin", "nonce", "structure") -> ();
}
