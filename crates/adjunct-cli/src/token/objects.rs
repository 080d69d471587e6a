//! Objects of a token: listed, shown, removed.

use super::secret::{Pins, Who};
use super::{Token, Which, say};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Rv, Session, Template};
use adjunct_tool::{Failure, output};
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;

/// What is seen of objects, and how it is shown.
#[derive(Debug, clap::Args)]
struct View {
    /// Only what everybody sees: no PIN is needed
    #[arg(long)]
    public: bool,
    #[command(flatten)]
    pins: Pins,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

impl View {
    /// Opens a session, logged in unless the objects are seen without a login.
    fn session<'a>(&self, token: &'a Token) -> Result<Session<'a>, Failure> {
        if self.public { token.session() } else { token.entered(Who::User, &self.pins) }
    }
}

/// List the objects of a token
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    view: View,
}

/// Show all attributes of an object but its secrets
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    #[command(flatten)]
    which: Which,
    /// The object: the beginning of its name in the first column of `objects`, its label, or its id (hexadecimal)
    object: String,
    #[command(flatten)]
    view: View,
}

/// Remove objects from a token, for good
#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    #[command(flatten)]
    which: Which,
    /// The object: the beginning of its name in the first column of `objects`, its label, or its id (hexadecimal)
    object: String,
    /// Where these are several: all of them, such as both keys of a pair
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pins: Pins,
}

/// An object as it is listed.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(skip)]
    pub handle: CK_OBJECT_HANDLE,
    pub name: String,
    pub class: String,
    pub kind: Option<String>,
    pub label: String,
    pub id: String,
    pub private: bool,
    pub sensitive: Option<bool>,
    pub extractable: Option<bool>,
}

/// A number as an attribute's value.
pub(super) fn number(number: CK_ULONG) -> zeroize::Zeroizing<Vec<u8>> {
    zeroize::Zeroizing::new(number.to_ne_bytes().to_vec())
}

/// A boolean as an attribute's value.
pub(super) fn flag(value: bool) -> zeroize::Zeroizing<Vec<u8>> {
    zeroize::Zeroizing::new(vec![if value { CK_TRUE } else { CK_FALSE }])
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn class_name(class: CK_OBJECT_CLASS) -> String {
    match class {
        CKO_DATA => "data".to_owned(),
        CKO_CERTIFICATE => "certificate".to_owned(),
        CKO_PUBLIC_KEY => "public key".to_owned(),
        CKO_PRIVATE_KEY => "private key".to_owned(),
        CKO_SECRET_KEY => "secret key".to_owned(),
        CKO_DOMAIN_PARAMETERS => "domain parameters".to_owned(),
        other => format!("{other:#x}"),
    }
}

fn kind_name(kind: CK_KEY_TYPE, bits: Option<usize>) -> String {
    let name = match kind {
        CKK_RSA => "RSA",
        CKK_EC => "EC",
        CKK_EC_EDWARDS => "Edwards",
        CKK_EC_MONTGOMERY => "Montgomery",
        CKK_AES => "AES",
        CKK_DES3 => "triple DES",
        CKK_CHACHA20 => "ChaCha20",
        CKK_GENERIC_SECRET => "generic secret",
        CKK_ML_DSA => "ML-DSA",
        CKK_ML_KEM => "ML-KEM",
        other => return format!("{other:#x}"),
    };
    bits.map_or_else(|| name.to_owned(), |bits| format!("{name} {bits}"))
}

/// The number of an attribute.
pub(super) fn number_of(session: &Session<'_>, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Option<CK_ULONG> {
    let value = session.attribute(object, kind).ok()?;
    value.as_slice().try_into().ok().map(CK_ULONG::from_ne_bytes)
}

/// The boolean of an attribute.
pub(super) fn flag_of(session: &Session<'_>, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Option<bool> {
    session.attribute(object, kind).ok().map(|value| **value == [CK_TRUE])
}

fn row(session: &Session<'_>, handle: CK_OBJECT_HANDLE) -> Result<Row, Rv> {
    let text = |kind| {
        session
            .attribute(handle, kind)
            .map_or_else(|_| String::new(), |text| String::from_utf8_lossy(&text).into_owned())
    };
    let class = number_of(session, handle, CKA_CLASS).ok_or(Rv(CKR_OBJECT_HANDLE_INVALID))?;
    let bits = || {
        let modulus = session.attribute(handle, CKA_MODULUS).ok().map(|modulus| modulus.len() * 8);
        let length = || number_of(session, handle, CKA_VALUE_LEN).and_then(|bytes| usize::try_from(bytes).ok());
        modulus.or_else(|| length().map(|bytes| bytes * 8))
    };
    let kind = number_of(session, handle, CKA_KEY_TYPE).filter(|_| class != CKO_CERTIFICATE);
    Ok(Row {
        handle,
        name: text(CKA_UNIQUE_ID),
        class: class_name(class),
        kind: kind.map(|kind| kind_name(kind, bits())),
        label: text(CKA_LABEL),
        id: session.attribute(handle, CKA_ID).map_or_else(|_| String::new(), |id| hex(&id)),
        private: flag_of(session, handle, CKA_PRIVATE).unwrap_or_default(),
        sensitive: flag_of(session, handle, CKA_SENSITIVE),
        extractable: flag_of(session, handle, CKA_EXTRACTABLE),
    })
}

/// The objects that stay in the token, but those that tell of the module itself.
fn rows(token: &Token, session: &Session<'_>) -> Result<Vec<Row>, Failure> {
    let found = session.find(&Template::new().with_flag(CKA_TOKEN, true)).map_err(|rv| token.failed(rv, None))?;
    let mut rows = Vec::new();
    for handle in found {
        match row(session, handle) {
            Ok(_) if number_of(session, handle, CKA_CLASS) == Some(CKO_PROFILE) => {}
            Ok(row) => rows.push(row),
            // Another program has just removed it.
            Err(Rv(CKR_OBJECT_HANDLE_INVALID)) => {}
            Err(rv) => return Err(token.failed(rv, None)),
        }
    }
    rows.sort_by(|one, other| (&one.label, &one.class, &one.name).cmp(&(&other.label, &other.class, &other.name)));
    Ok(rows)
}

/// The objects that a word selects: those whose name begins with it, else those with this label, else those with this id.
pub(super) fn chosen(token: &Token, session: &Session<'_>, word: &str) -> Result<Vec<Row>, Failure> {
    let lower = word.to_ascii_lowercase();
    let (mut named, mut labelled, mut identified) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows(token, session)? {
        if row.label == word {
            labelled.push(row);
        } else if lower.len() >= 4 && row.name.starts_with(&lower) {
            named.push(row);
        } else if !lower.is_empty() && row.id == lower {
            identified.push(row);
        }
    }
    let found = [labelled, named, identified].into_iter().find(|rows| !rows.is_empty());
    found.ok_or_else(|| Failure::new(format!("{word}: there is no such object; `adjunct token objects` lists all")))
}

/// Finds the one object that a word names; fails where there are several.
pub(super) fn one(token: &Token, session: &Session<'_>, word: &str) -> Result<Row, Failure> {
    let mut found = chosen(token, session, word)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(Failure::new(format!("{}; {ONE_OF_MANY}", several(word, &found)))),
    }
}

/// How one of several objects is named.
pub(super) const ONE_OF_MANY: &str = "name one by the first column of `adjunct token objects`, or its class by --type (certificate, public-key, private-key, secret-key)";

pub(super) fn several(word: &str, rows: &[Row]) -> Failure {
    let names: Vec<String> = rows.iter().map(|row| format!("{:.8} ({})", row.name, row.class)).collect();
    Failure::new(format!("{word}: {} objects: {}", rows.len(), names.join(", ")))
}

pub(super) fn list(args: &List) -> Result<ExitCode, Failure> {
    let token = Token::open(&args.which)?;
    let session = args.view.session(&token)?;
    let rows = rows(&token, &session)?;
    if args.view.json {
        output::print_json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{:<8}  {:<12} {:<16} {:<24} id\n", "name", "class", "type", "label");
    for row in &rows {
        let kind = row.kind.as_deref().unwrap_or("-");
        let _ = writeln!(text, "{:<8.8}  {:<12} {kind:<16} {:<24} {}", row.name, row.class, row.label, row.id);
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Attributes that are shown, in this order; of secrets none are asked for.
const SHOWN: &[(&str, CK_ATTRIBUTE_TYPE, Form)] = &[
    ("subject", CKA_SUBJECT, Form::Bytes),
    ("curve", CKA_EC_PARAMS, Form::Bytes),
    ("parameter-set", CKA_PARAMETER_SET, Form::Number),
    ("modulus-bits", CKA_MODULUS_BITS, Form::Number),
    ("public-exponent", CKA_PUBLIC_EXPONENT, Form::Bytes),
    ("value-len", CKA_VALUE_LEN, Form::Number),
    ("check-value", CKA_CHECK_VALUE, Form::Bytes),
    ("public-key-info", CKA_PUBLIC_KEY_INFO, Form::Bytes),
    ("encrypt", CKA_ENCRYPT, Form::Flag),
    ("decrypt", CKA_DECRYPT, Form::Flag),
    ("sign", CKA_SIGN, Form::Flag),
    ("verify", CKA_VERIFY, Form::Flag),
    ("wrap", CKA_WRAP, Form::Flag),
    ("unwrap", CKA_UNWRAP, Form::Flag),
    ("derive", CKA_DERIVE, Form::Flag),
    ("always-authenticate", CKA_ALWAYS_AUTHENTICATE, Form::Flag),
    ("always-sensitive", CKA_ALWAYS_SENSITIVE, Form::Flag),
    ("never-extractable", CKA_NEVER_EXTRACTABLE, Form::Flag),
    ("local", CKA_LOCAL, Form::Flag),
    ("trusted", CKA_TRUSTED, Form::Flag),
    ("modifiable", CKA_MODIFIABLE, Form::Flag),
    ("copyable", CKA_COPYABLE, Form::Flag),
    ("destroyable", CKA_DESTROYABLE, Form::Flag),
];

#[derive(Clone, Copy)]
enum Form {
    Bytes,
    Flag,
    Number,
}

pub(super) fn show(args: &Show) -> Result<ExitCode, Failure> {
    let token = Token::open(&args.which)?;
    let session = args.view.session(&token)?;
    let mut all = Vec::new();
    for row in chosen(&token, &session, &args.object)? {
        let handle = row.handle;
        let shown = serde_json::to_value(&row).map_err(|error| Failure::new(format!("JSON: {error}")))?;
        let serde_json::Value::Object(mut shown) = shown else { continue };
        for (name, kind, form) in SHOWN {
            let value: Option<serde_json::Value> = match form {
                Form::Bytes => session
                    .attribute(handle, *kind)
                    .ok()
                    .filter(|bytes| !bytes.is_empty())
                    .map(|bytes| hex(&bytes).into()),
                Form::Flag => flag_of(&session, handle, *kind).map(Into::into),
                Form::Number => {
                    number_of(&session, handle, *kind).filter(|n| *n != CK_UNAVAILABLE_INFORMATION).map(Into::into)
                }
            };
            if let Some(value) = value {
                shown.insert((*name).to_owned(), value);
            }
        }
        all.push(shown);
    }
    if args.view.json {
        output::print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (at, shown) in all.iter().enumerate() {
        if at > 0 {
            text += "\n";
        }
        for (name, value) in shown.iter().filter(|(_, value)| !value.is_null()) {
            let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            let _ = writeln!(text, "{name:<20} {value}");
        }
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn remove(args: &Remove) -> Result<ExitCode, Failure> {
    let token = Token::open(&args.which)?;
    let session = token.entered(Who::User, &args.pins)?;
    let found = chosen(&token, &session, &args.object)?;
    if found.len() > 1 && !args.all {
        return Err(Failure::new(format!("{}; --all removes them", several(&args.object, &found))));
    }
    for row in &found {
        session.destroy(row.handle).map_err(|rv| match rv.0 {
            CKR_ACTION_PROHIBITED => Failure::new(format!("{}: the object may not be removed", row.name)),
            _ => token.failed(rv, None),
        })?;
        say(&format!("Removed {} {:?} ({:.8})", row.class, row.label, row.name));
    }
    Ok(ExitCode::SUCCESS)
}
