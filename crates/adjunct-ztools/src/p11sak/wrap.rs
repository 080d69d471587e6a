//! `wrap-key` and `unwrap-key`: write keys into files, encrypted under another key of the token, and read them back.
//!
//! A key is wrapped by one mechanism. Mechanisms that encrypt it under a temporary AES key, and that under another key, are left out, because no
//! module here has them.

use super::kinds::{KeyKind, Selected};
use super::pem::text_with_headers;
use super::select::{Counts, Filter, Found, ask};
use super::tasks::{self, Task};
use super::{Result, Stop, World, bad, id, invalid, named, print, say};
use crate::pem::{Part, parts};
use crate::pkcsconf::show::mechanism_name;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{self as client, Rv};
use adjunct_tool::files;
use std::ffi::OsString;
use zeroize::Zeroizing;

/// The label of a wrapped key in a PEM file.
const LABEL: &str = "P11SAK WRAPPED KEY";
/// The header's word for the vector that the mechanism has where none is given.
const DEFAULT: &str = "[default]";
const NONE: &str = "[none]";
/// No wrapped key's file is longer.
const LONGEST: u64 = 1 << 20;

/// The kind of parameter that a mechanism takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Nothing,
    /// A vector of this many bytes; zeros where none is given.
    Vector(usize),
    /// A vector of this many bytes; the mechanism's own where none is given.
    OptionalVector(usize),
    Oaep,
}

/// A mechanism that wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mechanism {
    word: &'static str,
    kind: CK_MECHANISM_TYPE,
    parameter: Parameter,
    rsa: bool,
}

static MECHANISMS: [Mechanism; 5] = [
    Mechanism { word: "aes-cbc-pad", kind: CKM_AES_CBC_PAD, parameter: Parameter::Vector(16), rsa: false },
    Mechanism { word: "aeskw-kwp", kind: CKM_AES_KEY_WRAP_KWP, parameter: Parameter::OptionalVector(4), rsa: false },
    Mechanism {
        word: "aeskw-pkcs7",
        kind: CKM_AES_KEY_WRAP_PKCS7,
        parameter: Parameter::OptionalVector(8),
        rsa: false,
    },
    Mechanism { word: "rsa-pkcs", kind: CKM_RSA_PKCS, parameter: Parameter::Nothing, rsa: true },
    Mechanism { word: "rsa-oaep", kind: CKM_RSA_PKCS_OAEP, parameter: Parameter::Oaep, rsa: true },
];

/// The digests of OAEP: the digest's mechanism, and the mask generation function over it.
const DIGESTS: [(&str, CK_MECHANISM_TYPE, CK_RSA_PKCS_MGF_TYPE); 9] = [
    ("SHA-1", CKM_SHA_1, CKG_MGF1_SHA1),
    ("SHA224", CKM_SHA224, CKG_MGF1_SHA224),
    ("SHA256", CKM_SHA256, CKG_MGF1_SHA256),
    ("SHA384", CKM_SHA384, CKG_MGF1_SHA384),
    ("SHA512", CKM_SHA512, CKG_MGF1_SHA512),
    ("SHA3-224", CKM_SHA3_224, CKG_MGF1_SHA3_224),
    ("SHA3-256", CKM_SHA3_256, CKG_MGF1_SHA3_256),
    ("SHA3-384", CKM_SHA3_384, CKG_MGF1_SHA3_384),
    ("SHA3-512", CKM_SHA3_512, CKG_MGF1_SHA3_512),
];

fn digest(name: &str) -> Option<usize> {
    DIGESTS.iter().position(|(known, ..)| known.eq_ignore_ascii_case(name))
}

impl Mechanism {
    fn named(name: &str) -> Option<&'static Mechanism> {
        MECHANISMS.iter().find(|known| known.word.eq_ignore_ascii_case(name))
    }

    /// Name of the mechanism in the header of a file.
    fn name(self) -> String {
        self.word.to_ascii_uppercase()
    }

    /// The class of the key that wraps, or unwraps.
    fn class(self, wraps: bool) -> CK_OBJECT_CLASS {
        match (self.rsa, wraps) {
            (false, _) => CKO_SECRET_KEY,
            (true, true) => CKO_PUBLIC_KEY,
            (true, false) => CKO_PRIVATE_KEY,
        }
    }

    /// Whether the mechanism takes an option.
    fn takes(self, letter: char) -> bool {
        match self.parameter {
            Parameter::Nothing => false,
            Parameter::Oaep => letter != 'I',
            Parameter::Vector(_) | Parameter::OptionalVector(_) => letter == 'I',
        }
    }
}

/// The options about wrapping.
#[derive(Default)]
pub(super) struct Wanted {
    pub mechanism: Option<&'static Mechanism>,
    /// Label of the wrapping key.
    pub label: Option<String>,
    pub id: Option<String>,
    pub raw: bool,
    iv: Option<String>,
    hash: Option<usize>,
    mgf: Option<usize>,
    source: Option<String>,
}

impl Wanted {
    /// Takes an option of a mechanism's.
    pub(super) fn take(&mut self, letter: char, value: &str) -> Result {
        let name = match letter {
            'I' => "-I",
            tasks::HASH_ALG => "--hash-alg",
            tasks::MGF_ALG => "--mgf-alg",
            _ => "--source-data",
        };
        if !self.mechanism.is_some_and(|mechanism| mechanism.takes(letter)) {
            return Err(bad(&format!("Invalid option '{name}'")));
        }
        let known = || {
            let words = format!("Invalid argument '{}' for option '{name}'", adjunct_tool::escape::shown(value));
            digest(value).map(Some).ok_or_else(|| bad(&words))
        };
        match letter {
            'I' => self.iv = Some(value.to_owned()),
            tasks::HASH_ALG => self.hash = known()?,
            tasks::MGF_ALG => self.mgf = known()?,
            _ => self.source = Some(value.to_owned()),
        }
        Ok(())
    }
}

/// The mechanism that the first word names, where the task has one, and the other words.
pub(super) fn mechanism(task: Task, words: &[OsString]) -> Result<(Option<&'static Mechanism>, &[OsString])> {
    if !matches!(task, Task::Wrap | Task::Unwrap) {
        return Ok((None, words));
    }
    match words.split_first() {
        Some((word, rest)) => {
            let word = word.to_string_lossy();
            let known = Mechanism::named(&word).ok_or_else(|| invalid(&word, "WRAP-MECH"))?;
            Ok((Some(known), rest))
        }
        None if task == Task::Wrap => Err(bad("Argument 'WRAP-MECH' is required but not specified")),
        None => Ok((None, words)),
    }
}

/// A mechanism with its parameters.
struct Wrapping {
    mechanism: Mechanism,
    /// The IV; `None`: the mechanism's own.
    iv: Option<Vec<u8>>,
    hash: usize,
    mgf: usize,
    source: Option<Vec<u8>>,
}

impl Wrapping {
    /// Makes the wrapping of texts, as options and headers have them.
    fn of(
        mechanism: Mechanism,
        iv: Option<&str>,
        digests: (Option<usize>, Option<usize>),
        source: Option<&str>,
    ) -> Result<Wrapping> {
        let iv = match (mechanism.parameter, iv) {
            (Parameter::Vector(length), None) => Some(vec![0; length]),
            (Parameter::Vector(length) | Parameter::OptionalVector(length), Some(text)) => {
                let iv = id(text)?;
                if iv.len() != length {
                    let words = "Hex string specified as IV has an invalid length, expected";
                    return Err(bad(&format!("{words} {length} bytes.")));
                }
                Some(iv)
            }
            _ => None,
        };
        // One goes for the other, and both are SHA-256 where neither is named.
        let sha256 = 2;
        let (hash, mgf) = (digests.0.or(digests.1).unwrap_or(sha256), digests.1.or(digests.0).unwrap_or(sha256));
        Ok(Wrapping { mechanism, iv, hash, mgf, source: source.map(id).transpose()? })
    }

    /// The mechanism with its parameters, as the calls of PKCS #11 take it.
    fn call(&self) -> client::Mechanism<'_> {
        let kind = self.mechanism.kind;
        match (self.mechanism.parameter, &self.iv) {
            (Parameter::Oaep, _) => client::Mechanism::Oaep {
                hash: DIGESTS[self.hash].1,
                mgf: DIGESTS[self.mgf].2,
                source: self.source.as_deref(),
            },
            (_, Some(iv)) => client::Mechanism::Iv(kind, iv),
            (_, None) => client::Mechanism::Plain(kind),
        }
    }

    /// The headers of a PEM file.
    fn headers(&self, kind: &KeyKind) -> Vec<(&'static str, String)> {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut headers = vec![("KEY-TYPE", kind.name.to_owned()), ("WRAP-ALG", self.mechanism.name())];
        match self.mechanism.parameter {
            Parameter::Nothing => {}
            Parameter::Vector(_) | Parameter::OptionalVector(_) => {
                headers.push(("IV", self.iv.as_deref().map_or(DEFAULT.to_owned(), digits)));
            }
            Parameter::Oaep => {
                headers.push(("HASH-ALG", DIGESTS[self.hash].0.to_owned()));
                headers.push(("MGF-ALG", DIGESTS[self.mgf].0.to_owned()));
                headers.push(("SOURCE-DATA", self.source.as_deref().map_or(NONE.to_owned(), digits)));
            }
        }
        headers
    }
}

impl World<'_> {
    /// Whether the token's mechanism wraps, or unwraps.
    fn must_support(&self, mechanism: Mechanism, wraps: bool) -> Result {
        let slot = self.wanted.slot;
        let name = mechanism_name(mechanism.kind).unwrap_or("UNKNOWN");
        let info = self.module.mechanism_info(slot, mechanism.kind).map_err(|Rv(rv)| {
            say(&format!("Token in slot {slot} does not support mechanism {name}"));
            Stop::Rv(rv)
        })?;
        let (flag, what) = if wraps { (CKF_WRAP, "wrap") } else { (CKF_UNWRAP, "unwrap") };
        if info.flags & flag == 0 {
            say(&format!("Mechanism {name} does not support to {what} keys"));
            return Err(Stop::Rv(CKR_MECHANISM_INVALID));
        }
        Ok(())
    }

    /// Finds the key that wraps, or unwraps: the one that is named; of several, the one that the user agrees to.
    fn wrapping_key(&self, mechanism: Mechanism, wraps: bool) -> Result<CK_OBJECT_HANDLE> {
        let wanted = &self.wanted.wrap;
        if wanted.label.is_none() && wanted.id.is_none() {
            say("At least one of the following options must be specified:");
            return Err(bad("'-K'/'--kek-label', or '-k'/'--kek-id'"));
        }
        let key_type = if mechanism.rsa { CKK_RSA } else { CKK_AES };
        let kind = KeyKind::of(key_type).ok_or(Stop::Rv(CKR_KEY_TYPE_INCONSISTENT))?;
        let class = mechanism.class(wraps);
        let (label, id) = (wanted.label.as_deref(), wanted.id.as_deref());
        let filter = Filter { selected: Selected::Of(kind), label, id, attrs: None };
        let found: Vec<Found> = self.matching(&filter)?.into_iter().filter(|key| key.class == class).collect();
        match found.as_slice() {
            [one] => return Ok(one.object),
            [first, ..] if self.wanted.force => return Ok(first.object),
            _ => {}
        }
        for key in &found {
            let question = format!("Use {} as key encrypting key (KEK) [y/n/c]? ", key.name());
            match ask(&question, "ync")? {
                Some('y') => return Ok(key.object),
                Some('n') => {}
                _ => return Err(Stop::Rv(CKR_CANCEL)),
            }
        }
        let half = match class {
            CKO_PUBLIC_KEY => "public ",
            CKO_PRIVATE_KEY => "private ",
            _ => "",
        };
        Err(bad(&format!("No {half}{} key matched the specified KEK label or ID.", kind.name)))
    }

    /// Wraps the keys.
    pub(super) fn wrap(&self) -> Result {
        let wanted = &self.wanted.wrap;
        let mechanism = *wanted.mechanism.ok_or(Stop::Rv(CKR_ARGUMENTS_BAD))?;
        let file = adjunct_tool::escape::shown(self.wanted.file.as_os_str());
        let source = wanted.source.as_deref();
        let wrapping = Wrapping::of(mechanism, wanted.iv.as_deref(), (wanted.hash, wanted.mgf), source)?;
        self.must_support(mechanism, true)?;
        let under = self.wrapping_key(mechanism, true)?;
        let mut counts = Counts::default();
        for key in self.selected()?.into_iter().filter(|key| key.class != CKO_PUBLIC_KEY) {
            let name = key.name();
            if !counts.agreed(self.wanted.force, &format!("Are you sure you want to wrap {name}"))? {
                continue;
            }
            let mut fresh = counts.done == 0;
            if wanted.raw && !fresh {
                print(
                    "The last wrapped key was stored as raw binary wrapped key material, and the current\nkey is also to be stored \
                     as raw binary  wrapped key material.\nIt can not be appended to the previously wrapped key(s).\n",
                )?;
                fresh = true;
                let question = "Overwrite the previously wrapped key material [y/n]? ";
                if !self.wanted.force && ask(question, "yn")? != Some('y') {
                    counts.skipped += 1;
                    continue;
                }
            }
            let wrapped = match self.session.wrap(wrapping.call(), under, key.object) {
                Ok(wrapped) => wrapped,
                Err(rv) => {
                    let what = format!("Failed to wrap {} key \"{}\"", key.what, key.shown);
                    Self::lost(&mut counts, &what, rv);
                    match rv {
                        Rv(CKR_KEY_UNEXTRACTABLE) => say(&format!("{name} is unextractable and can not be wrapped.")),
                        Rv(CKR_KEY_NOT_WRAPPABLE) => say(&format!("{name} can not be wrapped.")),
                        _ => {}
                    }
                    continue;
                }
            };
            let contents =
                if wanted.raw { wrapped } else { text_with_headers(LABEL, &wrapping.headers(key.kind), &wrapped) };
            self.write(&contents, fresh)?;
            print(&format!("Successfully wrapped {name} to file '{file}'.\n"))?;
            counts.done += 1;
        }
        counts.report("key", "wrapped", "key", "wrap")
    }

    /// Unwraps a key.
    pub(super) fn unwrap(&self) -> Result {
        let (wanted, all) = (&self.wanted.wrap, &self.wanted);
        let file = adjunct_tool::escape::shown(all.file.as_os_str());
        let contents = files::read(&all.file, LONGEST).map(Zeroizing::new).map_err(|failure| {
            say(&format!("Failed to open file '{file}': {}", adjunct_tool::failure::cause(&failure)));
            Stop::Rv(CKR_ARGUMENTS_BAD)
        })?;
        let kind = match all.selected {
            Selected::Of(kind) => Some(kind),
            _ => None,
        };
        let (wrapping, kind, wrapped) = if wanted.raw {
            let lacks = |what: &str| bad(&format!("Argument '{what}' is required when '-R'/'--raw' is specified"));
            let mechanism = *wanted.mechanism.ok_or_else(|| lacks("WRAP-MECH"))?;
            let kind = kind.ok_or_else(|| lacks("KEYTYPE"))?;
            let source = wanted.source.as_deref();
            let wrapping = Wrapping::of(mechanism, wanted.iv.as_deref(), (wanted.hash, wanted.mgf), source)?;
            (wrapping, kind, contents)
        } else {
            let part = std::str::from_utf8(&contents).ok().and_then(parts).unwrap_or_default();
            let part = part.into_iter().find(|part| part.label == LABEL && !part.bytes.is_empty());
            let part = part.ok_or_else(|| {
                say(&format!("Failed to read PEM file '{file}': there is no wrapped key in it, or it is damaged"));
                Stop::Rv(CKR_FUNCTION_FAILED)
            })?;
            self.ignored(kind.is_some(), &file);
            let (wrapping, kind) = of_headers(&part, &file)?;
            (wrapping, kind, part.bytes)
        };
        self.must_support(wrapping.mechanism, false)?;
        let under = self.wrapping_key(wrapping.mechanism, false)?;
        let class = if kind.pair { CKO_PRIVATE_KEY } else { CKO_SECRET_KEY };
        let label = all.label.clone().unwrap_or_default();
        let mut template = self.template(kind, class, &label, all.attrs.as_deref())?;
        template.set(CKA_CLASS, &class.to_ne_bytes());
        template.set(CKA_KEY_TYPE, &kind.key_type.to_ne_bytes());
        let shown = adjunct_tool::escape::shown(&label);
        self.session.unwrap(wrapping.call(), under, &wrapped, &template).map_err(|Rv(rv)| {
            say(&format!("Failed to unwrap {} key \"{shown}\": {}", kind.name, named(rv)));
            Stop::Rv(rv)
        })?;
        print(&format!("Successfully unwrapped a {} key with label \"{shown}\".\n", kind.name))
    }

    /// Says what the command line says and the PEM file says anyway.
    fn ignored(&self, kind: bool, file: &str) {
        let wanted = &self.wanted.wrap;
        let given = [
            (wanted.mechanism.is_some(), "Argument 'WRAP-MECH'"),
            (kind, "Argument 'KEYTYPE'"),
            (wanted.iv.is_some(), "Option '-I'/'--iv'"),
            (wanted.hash.is_some(), "Option '--hash-alg'"),
            (wanted.mgf.is_some(), "Option '--mgf-alg'"),
            (wanted.source.is_some(), "Option '--source-data'"),
        ];
        for (_, what) in given.iter().filter(|(given, _)| *given) {
            say(&format!("{what} is ignored, using information from PEM file '{file}'."));
        }
    }
}

/// How a key of a PEM file was wrapped, and of which type it is.
fn of_headers(part: &Part, file: &str) -> Result<(Wrapping, &'static KeyKind)> {
    let header = |name: &str| {
        part.header(name).ok_or_else(|| bad(&format!("No '{name}' header line found in PEM file '{file}'")))
    };
    let wrong = |what: &str, text: &str| {
        bad(&format!("{what} '{}' from PEM file '{file}' is not valid", adjunct_tool::escape::shown(text)))
    };
    let name = header("WRAP-ALG")?;
    let mechanism = *Mechanism::named(name).ok_or_else(|| wrong("Wrap mechanism", name))?;
    let name = header("KEY-TYPE")?;
    let kind = KeyKind::named(name).ok_or_else(|| wrong("Key type", name))?;
    let iv = part.header("IV").filter(|iv| !iv.eq_ignore_ascii_case(DEFAULT));
    let of_digest = |header: &str, what: &str| match part.header(header) {
        None => Ok(None),
        Some(name) => digest(name).map(Some).ok_or_else(|| wrong(what, name)),
    };
    let digests = (of_digest("HASH-ALG", "Hash algorithm")?, of_digest("MGF-ALG", "MGF algorithm")?);
    let source = part.header("SOURCE-DATA").filter(|data| !data.eq_ignore_ascii_case(NONE));
    Ok((Wrapping::of(mechanism, iv, digests, source)?, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, &str)]) -> Option<(client::Mechanism<'static>, &'static str)> {
        let text = crate::pem::with_headers(LABEL, headers, &[1; 24]);
        let (wrapping, kind) = of_headers(&crate::pem::parts(&text).unwrap()[0], "file").ok()?;
        let wrapping: &'static Wrapping = Box::leak(Box::new(wrapping));
        Some((wrapping.call(), kind.name))
    }

    #[test]
    fn headers_tell_all_that_unwraps() {
        let with = |headers: &[(&'static str, &'static str)]| {
            let all = [&[("KEY-TYPE", "aes"), ("WRAP-ALG", headers[0].1)], &headers[1..]].concat();
            read(&all).map(|(mechanism, _)| format!("{mechanism:?}"))
        };
        let of = |word| ("", word);
        assert_eq!(with(&[of("AESKW-KWP"), ("IV", "[default]")]).unwrap(), format!("Plain({CKM_AES_KEY_WRAP_KWP})"));
        let vector = format!("Iv({CKM_AES_KEY_WRAP_KWP}, [1, 2, 3, 4])");
        assert_eq!(with(&[of("aeskw-kwp"), ("IV", "01020304")]).unwrap(), vector);
        assert!(with(&[of("AES-CBC-PAD")]).unwrap().ends_with("[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])"));
        let oaep = |hash, mgf, source| format!("Oaep {{ hash: {hash}, mgf: {mgf}, source: {source} }}");
        assert_eq!(with(&[of("RSA-OAEP")]).unwrap(), oaep(CKM_SHA256, CKG_MGF1_SHA256, "None"));
        assert_eq!(with(&[of("RSA-OAEP"), ("HASH-ALG", "sha384")]).unwrap(), oaep(CKM_SHA384, CKG_MGF1_SHA384, "None"));
        let both = [of("RSA-OAEP"), ("HASH-ALG", "SHA-1"), ("MGF-ALG", "SHA512"), ("SOURCE-DATA", "0a")];
        assert_eq!(with(&both).unwrap(), oaep(CKM_SHA_1, CKG_MGF1_SHA512, "Some([10])"));
        for wrong in
            [[of("AESKW-KWP"), ("IV", "0102")], [of("AESKW"), ("IV", "")], [of("RSA-OAEP"), ("MGF-ALG", "MD5")]]
        {
            assert_eq!(with(&wrong), None, "{wrong:?}");
        }
        assert!(read(&[("WRAP-ALG", "RSA-PKCS")]).is_none() && read(&[("KEY-TYPE", "RSA")]).is_none());
        assert!(read(&[("KEY-TYPE", "foo"), ("WRAP-ALG", "RSA-PKCS")]).is_none());
    }

    #[test]
    fn headers_are_written_as_they_are_read() {
        let aes = KeyKind::of(CKK_AES).unwrap();
        for mechanism in MECHANISMS.iter().copied() {
            let wrapping = Wrapping::of(mechanism, None, (Some(4), None), None).ok().unwrap();
            let headers = wrapping.headers(aes);
            let texts: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let (read, kind) = read(&texts).unwrap();
            assert_eq!((format!("{read:?}"), kind), (format!("{:?}", wrapping.call()), "AES"));
        }
    }
}
