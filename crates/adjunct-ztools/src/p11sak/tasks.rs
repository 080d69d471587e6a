//! The commands and their options, for getopt's ways and for the man page.

use super::{NAME, Result};
use adjunct_tool::getopt::Options;
use adjunct_tool::output;
use clap::{Arg, ArgAction, Command};

/// A command of p11sak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Generate,
    List,
    Remove,
    Set,
    Copy,
    Import,
    Export,
    Extract,
    Wrap,
    Unwrap,
    ListCert,
    RemoveCert,
    SetCert,
    CopyCert,
    ImportCert,
    ExportCert,
    ExtractCert,
}

/// The tasks, with their words and letters.
pub(super) const TASKS: [(Task, &[&str], &str); 17] = [
    (Task::Generate, &["generate-key", "gen-key", "gen"], "Make a key, or a key pair"),
    (Task::List, &["list-key", "ls-key", "ls"], "List keys"),
    (Task::Remove, &["remove-key", "rm-key", "rm"], "Remove keys"),
    (Task::Set, &["set-key-attr", "set-key", "set"], "Change attributes of keys"),
    (Task::Copy, &["copy-key", "copy", "cp"], "Copy keys"),
    (Task::Import, &["import-key", "import", "imp"], "Import a key from a file, binary or PEM"),
    (Task::Export, &["export-key", "export", "exp"], "Export keys to a file, binary or PEM"),
    (Task::Extract, &["extract-pubkey", "extr-pubkey", "expub"], "Make the public keys of private ones"),
    (Task::Wrap, &["wrap-key", "wrap"], "Export keys, wrapped under another key"),
    (Task::Unwrap, &["unwrap-key", "unwrap"], "Import a key that was wrapped"),
    (Task::ListCert, &["list-cert", "ls-cert", "lsc"], "List certificates"),
    (Task::RemoveCert, &["remove-cert", "rm-cert", "rmc"], "Remove certificates"),
    (Task::SetCert, &["set-cert-attr", "set-cert", "setc"], "Change attributes of certificates"),
    (Task::CopyCert, &["copy-cert", "copyc", "cpc"], "Copy certificates"),
    (Task::ImportCert, &["import-cert", "importc", "impc"], "Import a certificate from a file, PEM or DER"),
    (Task::ExportCert, &["export-cert", "exportc", "expc"], "Export certificates to a file, PEM or DER"),
    (Task::ExtractCert, &["extract-cert-pubkey", "extrc-pubkey", "excpub"], "Make the public keys of certificates"),
];

impl Task {
    pub(super) fn word(self) -> &'static str {
        TASKS.iter().find(|(task, ..)| *task == self).map_or("", |(_, words, _)| words[0])
    }

    pub(super) const fn writes(self) -> bool {
        !matches!(self, Task::List | Task::Export | Task::Wrap | Task::ListCert | Task::ExportCert)
    }

    /// Whether the task works on selected objects.
    pub(super) const fn selects(self) -> bool {
        !matches!(self, Task::Generate | Task::Import | Task::Unwrap | Task::ImportCert)
    }

    /// Whether the task is about certificates.
    pub(super) const fn of_certificates(self) -> bool {
        matches!(
            self,
            Task::ListCert
                | Task::RemoveCert
                | Task::SetCert
                | Task::CopyCert
                | Task::ImportCert
                | Task::ExportCert
                | Task::ExtractCert
        )
    }

    /// Whether the task has a file.
    pub(super) const fn has_file(self) -> bool {
        matches!(self, Task::Import | Task::Export | Task::Wrap | Task::Unwrap | Task::ImportCert | Task::ExportCert)
    }
}

// Long names without a letter.
pub(super) const FORCE_PIN_PROMPT: char = '\x01';
pub(super) const SO: char = '\x02';
pub(super) const DETAILED_URI: char = '\x03';
pub(super) const FORCE_PASSWORD_PROMPT: char = '\x04';
pub(super) const ENCRYPTED_PEM: char = '\x05';
pub(super) const HASH_ALG: char = '\x06';
pub(super) const MGF_ALG: char = '\x07';
pub(super) const SOURCE_DATA: char = '\x08';

/// Options: a colon behind each letter that takes a value, and long names; those that all tasks have are added.
macro_rules! options {
    ($short:literal, $(($long:literal, $letter:expr)),*) => {
        Options {
            short: concat!("s:p:Nhv\x01\x02L:a:i:", $short),
            long: &[
                ("slot", 's'),
                ("pin", 'p'),
                ("force-pin-prompt", FORCE_PIN_PROMPT),
                ("no-login", 'N'),
                ("so", SO),
                ("help", 'h'),
                ("version", 'v'),
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
                $(($long, $letter)),*
            ],
        }
    };
}

/// The options of a task.
pub(super) const fn options(task: Task) -> Options {
    match task {
        Task::Generate => options!("",),
        Task::List | Task::ListCert => {
            options!("\x03lS:", ("long", 'l'), ("detailed-uri", DETAILED_URI), ("sort", 'S'))
        }
        Task::Remove | Task::RemoveCert => options!("f", ("force", 'f')),
        Task::Set | Task::Copy | Task::Extract | Task::SetCert | Task::CopyCert | Task::ExtractCert => {
            options!("fA:l:I:", ("force", 'f'), ("new-attr", 'A'), ("new-label", 'l'), ("new-id", 'I'))
        }
        Task::Import => options!(
            "\x04F:P:o",
            ("file", 'F'),
            ("pem-password", 'P'),
            ("force-pem-pwd-prompt", FORCE_PASSWORD_PROMPT),
            ("opaque", 'o')
        ),
        Task::Export => options!(
            "\x04\x05fF:P:oSu",
            ("force", 'f'),
            ("file", 'F'),
            ("pem-password", 'P'),
            ("force-pem-pwd-prompt", FORCE_PASSWORD_PROMPT),
            ("encrypted-pem", ENCRYPTED_PEM),
            ("opaque", 'o'),
            ("spki", 'S'),
            ("uri-pem", 'u')
        ),
        Task::Wrap | Task::Unwrap => options!(
            "\x06:\x07:\x08:fF:K:k:I:R",
            ("force", 'f'),
            ("file", 'F'),
            ("kek-label", 'K'),
            ("kek-id", 'k'),
            ("raw", 'R'),
            ("iv", 'I'),
            ("hash-alg", HASH_ALG),
            ("mgf-alg", MGF_ALG),
            ("source-data", SOURCE_DATA)
        ),
        Task::ImportCert => options!("F:C", ("file", 'F'), ("ca-cert", 'C')),
        Task::ExportCert => options!("fF:Du", ("force", 'f'), ("file", 'F'), ("der", 'D'), ("uri-pem", 'u')),
    }
}

const NOTES: &str = "\
Commands: generate-key (gen) TYPE [SIZE...], list-key (ls), remove-key (rm), set-key-attr (set), copy-key (cp), import-key (imp) TYPE \
[public|private], export-key (exp), extract-pubkey (expub), each with [TYPE] to select keys where nothing else is said; wrap-key MECHANISM \
[TYPE], unwrap-key [MECHANISM] [TYPE]; and for certificates, each with [x509]: list-cert (lsc), remove-cert (rmc), set-cert-attr (setc), \
copy-cert (cpc), import-cert (impc), export-cert (expc), extract-cert-pubkey (excpub).

Types: 3des; generic BITS; sha-hmac, sha224-hmac, sha256-hmac, sha384-hmac, sha512-hmac, sha512-224-hmac, sha512-256-hmac, sha3-224-hmac, \
sha3-256-hmac, sha3-384-hmac, sha3-512-hmac BITS; aes 128|192|256; aes-xts 128|256; rsa BITS [EXPONENT]; ec CURVE; ec-edwards ed25519|ed448; \
ec-montgomery curve25519|curve448; ml-dsa 44|65|87; ml-kem 512|768|1024. To select: also public, private, secret, all.

Mechanisms to wrap with: aes-cbc-pad (-I IV), aeskw-kwp (-I IV), aeskw-pkcs7 (-I IV), rsa-pkcs, rsa-oaep (--hash-alg, --mgf-alg, \
--source-data). The key that wraps is named by -K or -k.

Attributes are letters, upper case for true and lower case for false: P private, M modifiable, B copyable, Y destroyable, R derive, E encrypt, \
D decrypt, G sign, C sign-recover, V verify, O verify-recover, W wrap, U unwrap, S sensitive, X extractable, T trusted, I wrap-with-trusted, \
H always-authenticate, J encapsulate, Q decapsulate; to look for also L local, A always-sensitive, N never-extractable. Of a key pair \
PUBLIC:PRIVATE. Certificates have P, M, B, Y and T.

The module is adjunct's own; PKCSLIB=PATH names another. The PIN may stand in PKCS11_USER_PIN or PKCS11_SO_PIN, the password of a PEM file in \
PKCS11_PEM_PASSWORD. The exit status is the low byte of the PKCS #11 return value, 255 where that would be 0; 7 where the command line is \
wrong.";

/// The command line's definition, for its man page and completions; it is read by getopt's ways.
pub(crate) fn command() -> Command {
    let flag = |letter: char, long: &'static str, help: &'static str| {
        Arg::new(long).short(letter).long(long).help(help).action(ArgAction::SetTrue)
    };
    let long = |long: &'static str, help: &'static str| Arg::new(long).long(long).help(help).action(ArgAction::SetTrue);
    let named = |long: &'static str, name: &'static str, help: &'static str| {
        Arg::new(long).long(long).value_name(name).help(help)
    };
    let value = |letter: char, long: &'static str, name: &'static str, help: &'static str| {
        named(long, name, help).short(letter)
    };
    let words: Vec<&str> = TASKS.iter().flat_map(|(_, words, _)| words.iter().copied()).collect();
    Command::new(NAME)
        .about("Make, list, change, import, export, wrap and remove keys and certificates of a PKCS #11 token")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .disable_help_flag(true)
        .after_help(NOTES)
        .args([
            Arg::new("COMMAND").help("What to do").value_parser(words),
            Arg::new("ARGS").help("The type of key, and what it wants").action(ArgAction::Append),
            value('s', "slot", "SLOT", "The slot's number"),
            value('p', "pin", "PIN", "The user's PIN, or the SO's with --so"),
            long("force-pin-prompt", "Ask for the PIN, whatever is given"),
            flag('N', "no-login", "Do not log in: only public objects are seen"),
            long("so", "Log in as the security officer"),
            value(
                'L',
                "label",
                "LABEL",
                "The label: of what is made (PUBLIC:PRIVATE), or to select objects, with * and ?",
            ),
            value('i', "id", "ID", "The identifier in hexadecimal"),
            value('a', "attr", "ATTRS", "Attribute letters"),
            flag('f', "force", "Do not ask before each object"),
            value('F', "file", "FILE", "The file to import or export"),
            value('P', "pem-password", "PASSWORD", "The password of the PEM file"),
            long("force-pem-pwd-prompt", "Ask for the password of the PEM file"),
            long("encrypted-pem", "Export private keys with a password"),
            flag('o', "opaque", "Keys are blobs of secure keys (IBM's modules only)"),
            long("spki", "Export the public key of private keys (-S)"),
            flag('u', "uri-pem", "Export URIs in PEM files, as OpenSSL's pkcs11-provider reads them"),
            flag('D', "der", "Export certificates as DER"),
            flag('C', "ca-cert", "The certificate is an authority's"),
            flag('l', "long", "List all attributes; for set, copy and extract: -l LABEL, the new label"),
            long("detailed-uri", "List URIs with the module and the slot"),
            value(
                'S',
                "sort",
                "FIELDS",
                "Sort by l(abel), k(ey type), c(lass), s(ize), certificates by l or n(ame), each with :a or :d",
            ),
            value('A', "new-attr", "ATTRS", "The new attributes"),
            named("new-label", "LABEL", "The new label (-l)"),
            value('I', "new-id", "ID", "The new identifier; of wrap-key and unwrap-key: --iv"),
            value('K', "kek-label", "LABEL", "The label of the key that wraps, with * and ?"),
            value('k', "kek-id", "ID", "The identifier of the key that wraps"),
            flag('R', "raw", "The file has the wrapped key's bytes and nothing else"),
            named("iv", "IV", "The initialization vector in hexadecimal (-I)"),
            named("hash-alg", "ALGORITHM", "OAEP's digest: SHA-1, SHA224 to SHA512, SHA3-224 to SHA3-512"),
            named("mgf-alg", "ALGORITHM", "The digest of OAEP's mask generation function"),
            named("source-data", "DATA", "OAEP's label in hexadecimal"),
            flag('h', "help", "Print help"),
            flag('v', "version", "Print the version"),
        ])
}

pub(super) fn version() -> Result {
    Ok(output::print(&format!("{NAME} version {}\n", env!("CARGO_PKG_VERSION")))?)
}

pub(super) fn help(task: Option<Task>) -> Result {
    let mut text = match task {
        None => format!("\nUsage: {NAME} COMMAND [ARGS] [OPTIONS]\n\nCOMMANDS:\n"),
        Some(task) => format!("\nUsage: {NAME} {} [ARGS] [OPTIONS]\n\nOPTIONS:\n", task.word()),
    };
    match task {
        None => TASKS.iter().for_each(|(_, words, about)| text += &format!("    {:<20} {about}.\n", words[0])),
        Some(task) => {
            let options = options(task);
            for (long, letter) in options.long {
                let value = options.short.find(*letter).is_some_and(|at| options.short[at + 1..].starts_with(':'));
                let short = if letter.is_ascii_graphic() { format!("-{letter}, ") } else { "    ".to_owned() };
                text += &format!("    {short}--{long}{}\n", if value { " VALUE" } else { "" });
            }
        }
    }
    Ok(output::print(&format!("{text}\n{NOTES}\n"))?)
}
