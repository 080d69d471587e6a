//! Return and reason codes, as IBM's books number them. A reason is unique to its return code.

/// A return code with its reason code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// 0 done, 4 done with a warning or a "no", 8 the application's error, 12 set-up or environment, 16 internal.
    pub rc: u32,
    /// The reason.
    pub reason: u32,
}

impl Code {
    const fn new(rc: u32, reason: u32) -> Code {
        Code { rc, reason }
    }

    /// Whether outputs come with it: they do with return codes 0 and 4.
    #[must_use]
    pub const fn has_results(self) -> bool {
        self.rc < 8
    }
}

macro_rules! codes {
    ($($name:ident $rc:literal $reason:literal $doc:literal)*) => {
        impl Code {$(
            #[doc = $doc]
            pub const $name: Code = Code::new($rc, $reason);
        )*}
    };
}

codes! {
    OK 0 0 "Done."
    PARITY 0 2 "Done; the parity of a DES key is not odd."
    MAC_LENGTH 0 151 "Done; the length of the MAC was taken by default."
    EQUAL_THIRDS 0 701 "Done; thirds of the new master key are equal."
    PART_PARITY 0 702 "Done; a part of a master key had bytes of even parity."
    OLD_MASTER_KEY 0 10001 "Done; a key was wrapped by the old master key. Its token is given back, wrapped by the current one."
    NOT_VERIFIED 4 1 "The verification failed: of a key, a MAC, an HMAC."
    LENGTH_RULE 4 195 "The keyword of a length is not that of the key."
    BAD_SIGNATURE 4 429 "The signature was not verified."
    EXTERNAL_TVV 8 12 "The token validation value of an external token is wrong."
    TEXT_LENGTH 8 25 "The length of a text is wrong."
    INTERNAL_TVV 8 29 "The token validation value of an internal token is wrong."
    LABEL 8 30 "There is no key of such a label."
    NOT_DATA 8 31 "The control vector is not that of a DATA key."
    KEYWORD 8 33 "A keyword of the rule array is unknown."
    KEYWORDS 8 34 "Keywords of the rule array do not go together."
    KEYWORD_COUNT 8 35 "The rule array has too few or too many keywords."
    CONTROL_VECTOR 8 39 "The control vector, or the usage fields, of a key do not allow the service."
    KEY_FORM 8 41 "The key form is not valid."
    KEY_LENGTH 8 43 "The length of a key is not valid."
    TOKEN 8 47 "A token is not valid."
    MASTER_KEY_PATTERN 8 48 "No master key has the verification pattern of the token."
    TOKEN_VERSION 8 49 "The version of a token is not supported."
    PADDING 8 66 "PKCS #1 padding is wrong."
    LENGTH 8 72 "A length is too small or too large."
    ACCESS 8 90 "Access control refuses the service. So is answered, too, what the coprocessor has not got."
    RSA_SIZE 8 121 "The size, or the public exponent, of an RSA key is not allowed."
    WEAK_MASTER_KEY 8 703 "A third of the new master key is a weak DES key."
    PKA_TOKEN 8 770 "A field of a PKA token is not valid, or its size is not supported."
    CURVE 8 874 "The curve is not supported."
    OAEP 8 2053 "OAEP decoding failed."
    NO_EXPORT 8 2143 "The key may not be exported."
    GCM_TAG 8 2947 "The tag of GCM is wrong."
    NO_MASTER_KEY 12 764 "The master key is not loaded."
    INTERNAL 16 336 "A defect."
    MESSAGE 16 339 "The message between library and coprocessor is none."
}
