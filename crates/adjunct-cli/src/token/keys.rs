//! Keys and certificates into a token, and out of it as far as they may leave it.

use super::objects::{self, Row, flag, flag_of, number, number_of};
use super::secret::{Password, Pins, Who};
use super::{Token, Which, files as own, say};
use adjunct_mechanisms::der::{self, Packed};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Attribute, PARTS, Rv, Session, Template};
use adjunct_tool::failure::cause;
use adjunct_tool::{Failure, files, output};
use adjunct_ztools::pem::{self, encrypted};
use adjunct_ztools::{hex, libcrypto};
use sha2::{Digest, Sha256};
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use zeroize::Zeroizing;

/// Bring keys and certificates into a token: PEM (PKCS #8, PKCS #1, SEC 1, X.509), or the bytes of an AES key
///
/// With a private key its public key is put there, too. The password of an encrypted key is asked for. Keys are sensitive, and never leave
/// the token again, unless --extractable says they may. Key and certificate that belong together get the same id.
#[derive(Debug, clap::Args)]
pub(super) struct Import {
    #[command(flatten)]
    which: Which,
    /// The file; what is in it stays there
    file: PathBuf,
    /// Label of the objects
    #[arg(short, long, default_value = "")]
    label: String,
    /// Identifier of the objects, hexadecimal; by default made of the public key
    #[arg(long, value_name = "HEX")]
    id: Option<String>,
    /// The file is the 16, 24 or 32 bytes of an AES key
    #[arg(long)]
    aes: bool,
    /// Import what the token has already once more
    #[arg(long)]
    again: bool,
    /// Let the keys be taken out of the token again
    #[arg(long)]
    extractable: bool,
    #[command(flatten)]
    password: Password,
    #[command(flatten)]
    pins: Pins,
}

/// Take a certificate, a public key, or an extractable key out of a token
///
/// Certificates and asymmetric keys are written as PEM, secret keys as their bytes.
#[derive(Debug, clap::Args)]
pub(super) struct Export {
    #[command(flatten)]
    which: Which,
    /// The object: the beginning of its name in the first column of `objects`, its label, or its id (hexadecimal)
    object: String,
    /// Of several objects that are called so the one of this class: certificate, public-key, private-key, secret-key
    #[arg(long = "type", value_name = "CLASS")]
    class: Option<String>,
    /// The new file, which nobody else may read; by default standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pins: Pins,
}

/// The identifier by which objects of a public key are found.
fn id_of(information: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(Sha256::digest(information)[..20].to_vec())
}

/// The state of an import: the token, the options, and the objects made so far.
struct Importer<'a> {
    token: &'a Token,
    session: &'a Session<'a>,
    args: &'a Import,
    id: Option<Vec<u8>>,
    made: Vec<CK_OBJECT_HANDLE>,
}

impl Importer<'_> {
    fn create(&mut self, attributes: &[Attribute]) -> Result<CK_OBJECT_HANDLE, Failure> {
        let handle = self.session.create(&attributes.iter().cloned().collect()).map_err(|rv| self.refused(rv))?;
        self.made.push(handle);
        Ok(handle)
    }

    /// Refuses what the token has already, unless that is what was asked for: an object of this class whose `kind` is `value`.
    fn is_new(&self, what: &str, class: CK_OBJECT_CLASS, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Result<(), Failure> {
        if self.args.again || value.is_empty() {
            return Ok(());
        }
        let same = Template::new().with_flag(CKA_TOKEN, true).with_number(CKA_CLASS, class).with(kind, value);
        let found = self.session.find(&same).map_err(|rv| self.refused(rv))?;
        let Some(there) = found.into_iter().find(|there| !self.made.contains(there)) else { return Ok(()) };
        let text =
            |kind| self.session.attribute(there, kind).map_or_else(|_| String::new(), |text| objects::text(&text));
        Err(Failure::new(format!(
            "{}: the token has this {what} already, {:.8} {:?}; --again imports it once more",
            self.args.file.display(),
            text(CKA_UNIQUE_ID),
            text(CKA_LABEL)
        )))
    }

    fn refused(&self, rv: Rv) -> Failure {
        match rv.0 {
            CKR_ATTRIBUTE_VALUE_INVALID | CKR_TEMPLATE_INCONSISTENT | CKR_CURVE_NOT_SUPPORTED | CKR_KEY_SIZE_RANGE => {
                Failure::new(format!(
                    "{}: a key that the token does not take ({})",
                    self.args.file.display(),
                    super::name(rv.0)
                ))
            }
            _ => self.token.failed(rv, None),
        }
    }

    /// The attributes that all imported objects get; `id` is used where none was given.
    fn own(&self, id: Zeroizing<Vec<u8>>, private: bool) -> Vec<Attribute> {
        let id = self.id.clone().map_or(id, Zeroizing::new);
        vec![
            (CKA_TOKEN, flag(true)),
            (CKA_PRIVATE, flag(private)),
            (CKA_LABEL, Zeroizing::new(self.args.label.clone().into_bytes())),
            (CKA_ID, id),
        ]
    }

    fn secrecy(&self) -> [Attribute; 2] {
        [(CKA_SENSITIVE, flag(true)), (CKA_EXTRACTABLE, flag(self.args.extractable))]
    }

    fn private_key(&mut self, bytes: &[u8], packed: Packed) -> Result<&'static str, Failure> {
        let numbers = der::private_key(bytes, packed).ok_or_else(|| {
            Failure::new(format!(
                "{}: a private key that is broken, or of a kind no token takes",
                self.args.file.display()
            ))
        })?;
        // Its public half first, as an object that ends with the session: the identifier is made of it.
        let mut template = numbers.clone();
        template.extend([(CKA_TOKEN, flag(false)), (CKA_PRIVATE, flag(true))]);
        let probe = self.session.create(&template.into_iter().collect()).map_err(|rv| self.refused(rv))?;
        let information = self.session.attribute(probe, CKA_PUBLIC_KEY_INFO).map_err(|rv| self.refused(rv));
        let _ = self.session.destroy(probe);
        let information = information?;
        self.is_new("key", CKO_PRIVATE_KEY, CKA_PUBLIC_KEY_INFO, &information)?;
        let mut private = numbers.clone();
        private.extend(self.own(id_of(&information), true));
        private.extend(self.secrecy());
        self.create(&private)?;
        if let Some(mut public) = der::public_key(&information) {
            public.extend(self.own(id_of(&information), false));
            self.create(&public)?;
        }
        Ok("key pair")
    }

    fn certificate(&mut self, bytes: &[u8]) -> Result<&'static str, Failure> {
        let broken = || Failure::new(format!("{}: a certificate that is broken", self.args.file.display()));
        let read = der::certificate(bytes).ok_or_else(broken)?;
        self.is_new("certificate", CKO_CERTIFICATE, CKA_VALUE, bytes)?;
        let value = |part: &[u8]| Zeroizing::new(part.to_vec());
        let mut template = vec![
            (CKA_CLASS, number(CKO_CERTIFICATE)),
            (CKA_CERTIFICATE_TYPE, number(CKC_X_509)),
            (CKA_SUBJECT, value(read.subject)),
            (CKA_ISSUER, value(read.issuer)),
            (CKA_SERIAL_NUMBER, value(read.serial)),
            (CKA_VALUE, value(bytes)),
        ];
        template.extend(self.own(id_of(read.key), false));
        self.create(&template)?;
        Ok("certificate")
    }

    fn aes_key(&mut self, bytes: &Zeroizing<Vec<u8>>) -> Result<&'static str, Failure> {
        let mut random = Zeroizing::new(vec![0; 8]);
        rustix::rand::getrandom(&mut **random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| Failure::new(format!("random bytes: {error}")))?;
        let mut template =
            vec![(CKA_CLASS, number(CKO_SECRET_KEY)), (CKA_KEY_TYPE, number(CKK_AES)), (CKA_VALUE, bytes.clone())];
        // The key's check value, of an object that ends with the session.
        let mut probe = template.clone();
        probe.extend([(CKA_TOKEN, flag(false)), (CKA_PRIVATE, flag(true))]);
        let probe = self.session.create(&probe.into_iter().collect()).map_err(|rv| self.refused(rv))?;
        let check = self.session.attribute(probe, CKA_CHECK_VALUE);
        let _ = self.session.destroy(probe);
        self.is_new("key", CKO_SECRET_KEY, CKA_CHECK_VALUE, &check.unwrap_or_default())?;
        template.extend(self.own(random, true));
        template.extend(self.secrecy());
        self.create(&template)?;
        Ok("AES key")
    }

    fn part(&mut self, part: &pem::Part) -> Result<&'static str, Failure> {
        let failed = |words: &str| Err(Failure::new(format!("{}: {words}", self.args.file.display())));
        let bytes = &part.bytes;
        match part.label.as_str() {
            _ if bytes.is_empty() => failed("what is in it is no PEM"),
            "PRIVATE KEY" => self.private_key(bytes, Packed::Pkcs8),
            "RSA PRIVATE KEY" => self.private_key(bytes, Packed::Pkcs1),
            "EC PRIVATE KEY" => self.private_key(bytes, Packed::Sec1),
            "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE" => self.certificate(bytes),
            // Beside the key that names its curve itself.
            "EC PARAMETERS" => Ok(""),
            other => failed(&format!("{other:?} is nothing that is imported")),
        }
    }
}

/// The parts of a file without their password, which is asked for where one has one.
fn opened(mut parts: Vec<pem::Part>, args: &Import) -> Result<Vec<pem::Part>, Failure> {
    if parts.iter().any(encrypted::is) {
        let password = args.password.get(&args.file)?;
        for part in parts.iter_mut().filter(|part| encrypted::is(part)) {
            part.bytes = encrypted::open(part, &password)
                .map_err(|why| Failure::new(format!("{}: {}", args.file.display(), why.words())))?;
            if part.label == encrypted::LABEL {
                part.label = "PRIVATE KEY".to_owned();
            }
        }
    }
    Ok(parts)
}

pub(super) fn import(args: &Import) -> Result<ExitCode, Failure> {
    let failed = |words: &str| Failure::new(format!("{}: {words}", args.file.display()));
    let id = match &args.id {
        Some(id) => Some(hex::bytes(id).ok_or_else(|| Failure::Words("--id: not hexadecimal".to_owned()))?),
        None => None,
    };
    let bytes = files::config(&args.file).map(Zeroizing::new).map_err(|error| failed(&cause(&error)))?;
    let parts = if args.aes {
        if !matches!(bytes.len(), 16 | 24 | 32) {
            return Err(failed("an AES key has 16, 24 or 32 bytes"));
        }
        Vec::new()
    } else {
        let text = std::str::from_utf8(&bytes).ok().and_then(pem::parts).filter(|parts| !parts.is_empty());
        let parts = text.ok_or_else(|| failed("no PEM; --aes takes the bytes of an AES key"))?;
        opened(parts, args)?
    };
    let token = Token::open(&args.which)?;
    let session = token.entered(Who::User, &args.pins)?;
    let mut importer = Importer { token: &token, session: &session, args, id, made: Vec::new() };
    let done = if args.aes {
        importer.aes_key(&bytes).map(|what| vec![what])
    } else {
        parts.iter().map(|part| importer.part(part)).collect()
    };
    match done {
        Ok(whats) => {
            whats.into_iter().filter(|what| !what.is_empty()).for_each(|what| say(&format!("Imported: {what}")))
        }
        Err(failure) => {
            // All of a file, or nothing.
            importer.made.iter().for_each(|made| _ = session.destroy(*made));
            return Err(failure);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A key whose value can be read: the object itself, or, where it is sensitive, a session object that was made of it by wrapping and unwrapping, as
/// PKCS #11 allows to any program that may take the key out.
fn readable(session: &Session<'_>, row: &Row, class: CK_OBJECT_CLASS) -> Result<CK_OBJECT_HANDLE, Rv> {
    if row.sensitive != Some(true) {
        return Ok(row.handle);
    }
    let under = session.generate(
        CKM_AES_KEY_GEN,
        &Template::new()
            .with_number(CKA_VALUE_LEN, 32)
            .with_flag(CKA_TOKEN, false)
            .with_flag(CKA_WRAP, true)
            .with_flag(CKA_UNWRAP, true),
    )?;
    let wrapped = session.wrap(CKM_AES_KEY_WRAP_KWP, under, row.handle)?;
    let kind = number_of(session, row.handle, CKA_KEY_TYPE).ok_or(Rv(CKR_KEY_TYPE_INCONSISTENT))?;
    let template = Template::new().with_number(CKA_CLASS, class).with_number(CKA_KEY_TYPE, kind);
    let template =
        template.with_flag(CKA_TOKEN, false).with_flag(CKA_SENSITIVE, false).with_flag(CKA_EXTRACTABLE, true);
    session.unwrap(CKM_AES_KEY_WRAP_KWP, under, &wrapped, &template)
}

fn private_key(session: &Session<'_>, row: &Row) -> Result<Option<Zeroizing<Vec<u8>>>, Rv> {
    let handle = readable(session, row, CKO_PRIVATE_KEY)?;
    let mut attributes = vec![(CKA_CLASS, number(CKO_PRIVATE_KEY))];
    attributes.extend(number_of(session, handle, CKA_KEY_TYPE).map(|kind| (CKA_KEY_TYPE, number(kind))));
    for kind in PARTS {
        if let Ok(value) = session.attribute(handle, kind)
            && !value.is_empty()
        {
            attributes.push((kind, value));
        }
    }
    libcrypto::offer();
    Ok(der::of_private_key(&attributes))
}

pub(super) fn export(args: &Export) -> Result<ExitCode, Failure> {
    let token = Token::open(&args.which)?;
    let session = token.entered(Who::User, &args.pins)?;
    let row = match &args.class {
        None => objects::one(&token, &session, &args.object)?,
        Some(class) => {
            let class = class.replace('-', " ");
            let found = objects::chosen(&token, &session, &args.object)?;
            let mut found: Vec<Row> = found.into_iter().filter(|row| row.class == class).collect();
            if found.len() > 1 {
                let several = objects::several(&args.object, &found);
                return Err(Failure::new(format!(
                    "{several}; name one by the first column of `adjunct token objects`"
                )));
            }
            found.pop().ok_or_else(|| Failure::new(format!("{}: no {class} is called so", args.object)))?
        }
    };
    let secret = matches!(row.class.as_str(), "private key" | "secret key");
    if secret && flag_of(&session, row.handle, CKA_EXTRACTABLE) != Some(true) {
        return Err(Failure::new(format!("{}: the key is not extractable, and never leaves the token", args.object)));
    }
    let failed = |rv: Rv| match rv.0 {
        CKR_KEY_NOT_WRAPPABLE | CKR_KEY_UNEXTRACTABLE => {
            Failure::new(format!("{}: the key leaves the token only wrapped by a trusted key", args.object))
        }
        _ => token.failed(rv, None),
    };
    let value = |kind| session.attribute(row.handle, kind).map_err(failed);
    let strange = || Failure::new(format!("{}: a {} has no form in a file", args.object, row.class));
    let out: Zeroizing<Vec<u8>> = match row.class.as_str() {
        "certificate" => Zeroizing::new(pem::of("CERTIFICATE", &value(CKA_VALUE)?).as_bytes().to_vec()),
        "public key" => {
            let information = value(CKA_PUBLIC_KEY_INFO)?;
            if information.is_empty() {
                return Err(strange());
            }
            Zeroizing::new(pem::of("PUBLIC KEY", &information).as_bytes().to_vec())
        }
        "private key" => {
            let der = private_key(&session, &row).map_err(failed)?.ok_or_else(strange)?;
            Zeroizing::new(pem::of("PRIVATE KEY", &der).as_bytes().to_vec())
        }
        "secret key" => {
            let handle = readable(&session, &row, CKO_SECRET_KEY).map_err(failed)?;
            session.attribute(handle, CKA_VALUE).map_err(failed)?
        }
        "data" => value(CKA_VALUE)?,
        _ => return Err(strange()),
    };
    match &args.out {
        Some(path) => own::write_new(path, &out)?,
        None if row.class == "secret key" && std::io::stdout().is_terminal() => {
            return Err(Failure::Words("the key's bytes are no text for a terminal: give --out".to_owned()));
        }
        None if secret || row.class == "data" => {
            let mut stdout = std::io::stdout().lock();
            let written = stdout.write_all(&out).and_then(|()| stdout.flush());
            written.map_err(|error| Failure::new(format!("standard output: {}", cause(&error))))?;
        }
        None => output::print(&String::from_utf8_lossy(&out))?,
    }
    Ok(ExitCode::SUCCESS)
}
