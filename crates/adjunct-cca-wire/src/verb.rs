//! The verbs, and the shapes of their parameters.
//!
//! In C a verb is a function of pointers alone: return code, reason code, exit data with their length, then what [`Verb::shape`] lists. There are the 101 names that
//! openCryptoki's CCA token looks for, in any of its versions, and four more.

/// A parameter of a verb, or a few that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A count and as many keywords of 8 characters.
    Rules,
    /// The same, and the coprocessor answers with keywords.
    RulesBoth,
    /// A number that is read.
    Long,
    /// A number that is written.
    LongOut,
    /// A number that is read and may be written.
    LongBoth,
    /// So many bytes that are read.
    In(u16),
    /// So many bytes that are written.
    Out(u16),
    /// So many bytes that are read and may be written.
    Both(u16),
    /// A length and bytes that are read.
    Pair,
    /// The size of a buffer, which becomes a length, and the buffer.
    PairOut,
    /// A length and bytes that are read and may be written.
    PairBoth,
    /// A length in bits and bytes that are read.
    Bits,
    /// A length and a text; the length may be written: that of the [`Parameter::TextOut`] behind it.
    Text,
    /// A buffer that has room for the text and 8 bytes.
    TextOut,
    /// The size of a buffer, which becomes a length, its length in bits, and the buffer.
    Signature,
    /// Bytes that are read, whose number is by the rule array: [`Verb::varying`].
    Varying,
    /// Bytes that are written, whose number is by the rule array.
    VaryingOut,
    /// Nobody reads or writes it.
    Reserved,
}

use Parameter::{
    Bits, Both, In, Long, LongBoth, LongOut, Out, Pair, PairBoth, PairOut, Reserved, Rules, RulesBoth, Signature, Text,
    TextOut, Varying, VaryingOut,
};

/// An identifier of 64 bytes: a label, or a token of fixed length, which may come back re-enciphered.
const KEY: Parameter = Both(64);

/// The most parameters that a shape has.
pub const MOST: usize = 16;

impl Parameter {
    /// How many pointers it is in C.
    #[must_use]
    pub const fn pointers(self) -> usize {
        match self {
            Rules | RulesBoth | Pair | PairOut | PairBoth | Bits | Text => 2,
            Signature => 3,
            Long | LongOut | LongBoth | In(_) | Out(_) | Both(_) | TextOut | Varying | VaryingOut | Reserved => 1,
        }
    }

    /// Whether a reply may have something for it.
    #[must_use]
    pub const fn is_written(self) -> bool {
        match self {
            RulesBoth | LongOut | LongBoth | Out(_) | Both(_) | PairOut | PairBoth | TextOut | Signature
            | VaryingOut => true,
            Rules | Long | In(_) | Pair | Bits | Text | Varying | Reserved => false,
        }
    }
}

macro_rules! verbs {
    ($($name:ident = $number:literal [$($shape:expr),*];)*) => {
        /// A verb, by its name in C.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "the names are IBM's")]
        pub enum Verb {
            $($name = $number,)*
        }

        impl Verb {
            /// All verbs.
            pub const ALL: &[Verb] = &[$(Verb::$name,)*];

            /// The name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Verb::$name => stringify!($name),)* }
            }

            /// The parameters after the four that all verbs have.
            #[must_use]
            pub const fn shape(self) -> &'static [Parameter] {
                match self { $(Verb::$name => &[$($shape),*],)* }
            }
        }
    };
}

verbs! {
    CSNBAKRC = 1 [Rules, In(64), Pair];
    CSNBCKI = 2 [In(8), KEY];
    CSNBCKM = 3 [Rules, PairBoth, KEY];
    CSNBCPA = 4 [KEY, KEY, Varying, In(12), Both(8), Rules, Long, In(48), Out(16)];
    CSNBCPE = 5 [KEY, Rules, In(16), Varying, In(12), Long, Both(8)];
    CSNBCSG = 6 [Rules, In(12), In(4), In(3), KEY, KEY, Varying];
    CSNBCSV = 7 [Rules, In(12), In(4), In(3), KEY, KEY, Varying];
    CSNBCTT2 = 8 [Rules, PairBoth, Pair, Pair, PairBoth, PairBoth, Pair, PairOut, Pair, Pair];
    CSNBCVE = 9 [KEY, Text, In(8), TextOut];
    CSNBCVG = 10 [In(8), Rules, Reserved, Out(16)];
    CSNBCVT = 11 [KEY, KEY, In(16), In(8), In(16), In(8), Rules, KEY];
    CSNBDEC = 12 [KEY, Text, In(8), Rules, Both(18), TextOut];
    CSNBDKG = 13 [Rules, KEY, Pair, KEY, KEY];
    CSNBDKM = 14 [KEY, KEY, KEY];
    CSNBDKX = 15 [KEY, KEY, KEY];
    CSNBENC = 16 [KEY, Text, In(8), Rules, Long, Both(18), TextOut];
    CSNBEPG = 17 [KEY, KEY, Rules, Long, In(48), Varying, In(12), Long, Both(8)];
    CSNBHMG = 18 [Rules, PairBoth, Pair, PairBoth, PairOut];
    CSNBHMV = 19 [Rules, PairBoth, Pair, PairBoth, Pair];
    CSNBKET = 20 [Rules, PairBoth, Pair, PairOut];
    CSNBKEX = 21 [In(8), KEY, KEY, KEY];
    CSNBKGN = 22 [In(4), In(8), In(8), In(8), KEY, KEY, KEY, KEY];
    CSNBKGN2 = 23 [Rules, LongBoth, In(8), In(8), Pair, Pair, Pair, Pair, PairBoth, PairBoth, PairBoth, PairBoth];
    CSNBKIM = 24 [In(8), KEY, KEY, KEY];
    CSNBKPI = 25 [Rules, Varying, KEY];
    CSNBKPI2 = 26 [Rules, Bits, PairBoth];
    CSNBKRC = 27 [In(64)];
    CSNBKRD = 28 [Rules, KEY];
    CSNBKRL = 29 [In(64), Pair, In(8)];
    CSNBKRR = 30 [In(64), KEY];
    CSNBKRW = 31 [KEY, In(64)];
    CSNBKSI = 32 [Rules, Pair, Pair, Varying];
    CSNBKTB = 33 [Both(64), In(8), Rules, Varying, Reserved, Reserved, Reserved, Both(16), Reserved, Reserved, Reserved, In(8)];
    CSNBKTB2 = 34 [Rules, Bits, Pair, Pair, Pair, Pair, PairBoth];
    CSNBKTC = 35 [Rules, KEY];
    CSNBKTC2 = 36 [Rules, PairBoth];
    CSNBKTP = 37 [Both(64), Both(8), Rules, Varying, Reserved, Reserved, Reserved, Both(16), Reserved, Reserved, Reserved, Both(8)];
    CSNBKTR = 38 [KEY, KEY, KEY, KEY];
    CSNBKTR2 = 39 [Rules, Pair, PairBoth, PairBoth, PairBoth];
    CSNBKYT = 40 [Rules, KEY, Both(8), Both(8)];
    CSNBKYT2 = 41 [Rules, PairBoth, PairBoth, Pair, PairBoth];
    CSNBKYTX = 42 [Rules, KEY, Both(8), Both(8), KEY];
    CSNBMDG = 43 [Pair, Rules, Both(18), Both(16)];
    CSNBMGN = 44 [KEY, Pair, Rules, Both(18), VaryingOut];
    CSNBMGN2 = 45 [Rules, PairBoth, Pair, PairBoth, PairOut];
    CSNBMKP = 46 [Rules, Varying];
    CSNBMVR = 47 [KEY, Pair, Rules, Both(18), Varying];
    CSNBMVR2 = 48 [Rules, PairBoth, Pair, PairBoth, Pair];
    CSNBOWH = 49 [Rules, Pair, PairBoth, PairOut];
    CSNBPCU = 50 [Rules, PairBoth, PairBoth, Pair, PairBoth, Varying, Varying, Varying, PairBoth, Varying, Varying, Varying, PairOut, Varying, PairOut];
    CSNBPEX = 51 [KEY];
    CSNBPEXX = 52 [KEY, KEY];
    CSNBPGN = 53 [KEY, Rules, Long, Long, In(48), Out(16)];
    CSNBPTR = 54 [KEY, KEY, Varying, In(12), In(8), Rules, Varying, In(12), Long, Out(8)];
    CSNBPVR = 55 [KEY, KEY, Varying, In(12), Both(8), Rules, Long, In(48)];
    CSNBRKA = 56 [Rules, PairBoth, PairBoth, Pair, Pair];
    CSNBRNG = 57 [In(8), Out(8)];
    CSNBRNGL = 58 [Rules, Pair, PairOut];
    CSNBSAD = 59 [Rules, PairBoth, PairBoth, Long, Pair, PairBoth, Pair, PairOut, PairBoth];
    CSNBSAE = 60 [Rules, PairBoth, PairBoth, Long, Pair, PairBoth, Pair, PairOut, PairBoth];
    CSNBSKY = 61 [Rules, KEY, KEY, KEY, Text, In(8), Long, Long, TextOut, Out(8)];
    CSNBSPN = 62 [Rules, In(8), KEY, Varying, In(12), KEY, Varying, In(12), Text, In(8), Long, Long, TextOut, Out(8)];
    CSNBTRV = 63 [Rules, PairBoth, Pair, Pair];
    CSNDDSG = 64 [Rules, PairBoth, Pair, Signature];
    CSNDDSV = 65 [Rules, PairBoth, Pair, Pair];
    CSNDEDH = 66 [Rules, PairBoth, PairBoth, PairBoth, PairBoth, Pair, LongBoth, Pair, Pair, Pair, Pair, Pair, PairBoth, PairBoth];
    CSNDKRC = 67 [Rules, In(64), Pair];
    CSNDKRD = 68 [Rules, KEY];
    CSNDKRL = 69 [Rules, In(64), Pair, In(8)];
    CSNDKRR = 70 [Rules, In(64), PairOut];
    CSNDKRW = 71 [Rules, In(64), Pair];
    CSNDKTC = 72 [Rules, PairBoth];
    CSNDPKB = 73 [Rules, Pair, Pair, Pair, Pair, Pair, Pair, Pair, PairOut];
    CSNDPKD = 74 [Rules, Pair, Pair, PairBoth, PairOut];
    CSNDPKE = 75 [Rules, Pair, Pair, PairBoth, PairOut];
    CSNDPKG = 76 [Rules, Pair, Pair, KEY, PairBoth];
    CSNDPKH = 77 [Rules, In(64), Pair];
    CSNDPKI = 78 [Rules, PairBoth, KEY, PairBoth];
    CSNDPKR = 79 [Rules, In(64), Pair];
    CSNDPKT = 80 [Rules, PairBoth, KEY, KEY, PairBoth];
    CSNDPKX = 81 [Rules, PairBoth, PairBoth];
    CSNDRKD = 82 [Rules, In(64)];
    CSNDRKL = 83 [Rules, In(64), LongOut, LongBoth, Varying];
    CSNDRKX = 84 [Rules, PairBoth, Pair, Pair, PairBoth, Pair, PairBoth, PairBoth, PairBoth, PairBoth, Pair, Pair, Pair];
    CSNDSBC = 85 [Rules, Both(1), Pair, Pair, Pair, In(8), PairBoth, PairBoth, PairBoth, Both(18), Varying];
    CSNDSBD = 86 [Rules, PairBoth, Pair, In(8), PairBoth, PairBoth, Both(1), Pair, Both(18), Varying, PairBoth];
    CSNDSYG = 87 [Rules, KEY, PairBoth, PairBoth, PairBoth];
    CSNDSYI = 88 [Rules, Pair, PairBoth, PairBoth];
    CSNDSYI2 = 89 [Rules, Pair, PairBoth, Pair, PairBoth];
    CSNDSYX = 90 [Rules, PairBoth, PairBoth, PairOut];
    CSNDTBC = 91 [Rules, PairBoth, KEY, PairBoth];
    CSUAACI = 92 [Rules, Pair, PairBoth];
    CSUAACM = 93 [Rules, In(8), PairBoth];
    CSUACFC = 94 [Rules, PairBoth];
    CSUACFQ = 95 [RulesBoth, PairBoth];
    CSUACFV = 96 [PairOut];
    CSUACRA = 97 [Rules, Pair];
    CSUACRD = 98 [Rules, Pair];
    CSUADHK = 99 [Rules, Varying, Varying, Varying, Pair, Long, Varying, Varying, Varying];
    CSUADHQ = 100 [Rules, Varying, Varying, Varying, Pair, Long, Varying, Varying, Varying];
    CSUALCT = 101 [Rules, In(8), Pair, PairBoth];
    CSUAMKD = 102 [Rules, Long, In(64), In(64), PairOut, PairBoth, Pair];
    CSUAPCV = 103 [Rules, PairBoth, Pair, PairOut];
    CSUAPRB = 104 [Rules, PairBoth, Pair, PairOut];
    CSUARNT = 105 [Rules];
}

impl Verb {
    /// The verb of a number.
    #[must_use]
    pub fn with_number(number: u16) -> Option<Verb> {
        Verb::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// How many bytes a [`Parameter::Varying`] has, by the keywords of the rule array; `None` for a verb whose service nobody has built, so that nothing may be read.
    #[must_use]
    pub fn varying(self, rules: &[u8]) -> Option<usize> {
        let has = |names: &[&[u8; 8]]| rules.chunks(8).any(|rule| names.iter().any(|name| rule == &name[..]));
        match self {
            Verb::CSNBMKP if !has(&[b"FIRST   ", b"MIDDLE  ", b"LAST    "]) => Some(0),
            Verb::CSNBMKP => Some(if has(&[b"AES-MK  ", b"APKA-MK ", b"ECC-MK  "]) { 32 } else { 24 }),
            Verb::CSNBMGN | Verb::CSNBMVR if has(&[b"HEX-9   "]) => Some(9),
            Verb::CSNBMGN | Verb::CSNBMVR if has(&[b"MACLEN8 ", b"HEX-8   "]) => Some(8),
            Verb::CSNBMGN | Verb::CSNBMVR if has(&[b"MACLEN6 "]) => Some(6),
            Verb::CSNBMGN | Verb::CSNBMVR => Some(4),
            _ => None,
        }
    }
}
