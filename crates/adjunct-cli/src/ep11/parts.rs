//! `adjunct ep11 wk part` and `adjunct ep11 wk import`: a wrapping key of parts, each of which one administrator has in a file with a passphrase.
//!
//! A file has one part, PEM: `EP11 KEY PART`, PBES2 (RFC 8018) of SEQUENCE { OCTET STRING part (32) }. It takes the place of IBM's smart cards and of the key part
//! files of its Trusted Key Entry, whose form is not public.

use super::admins::Change;
use super::signer::{Signer, opened, part, ski};
use super::unit::{Unit, hex, is_in_imprint};
use super::{Which, unit_of};
use crate::cards::coprocessor::of_domain;
use adjunct::ops::ec::{EcKey, Form, Group, MAX_FIELD, MAX_POINT};
use adjunct_coprocessor::registers::{Kind, MasterKey};
use adjunct_ep11::admin::blocks;
use adjunct_ep11::admin::der::{Recipient, ec_value, recipient, shared_info};
use adjunct_ep11::library::API;
use adjunct_ep11_wire::admin::{command, query};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::{fields, request, sequence};
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::{Held, Object};
use adjunct_pkcs11_client::sys::{CKA_CLASS, CKA_KEY_TYPE, CKA_VALUE, CKK_AES, CKM_AES_KEY_WRAP, CKO_SECRET_KEY};
use adjunct_tool::escape::shown;
use adjunct_tool::{Failure, output};
use adjunct_ztools::pem::{self, encrypted};
use adjunct_ztools::pkcsconf::prompt;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use zeroize::Zeroizing;

const LABEL: &str = "EP11 KEY PART";
/// Bytes of a part, as of a wrapping key.
const PART: usize = 32;
/// The importer that parts are encrypted for: on P-521.
const IMPORTER: u32 = 3;
/// Bytes of random user key material.
const MATERIAL: usize = 40;

type Secret = Zeroizing<Vec<u8>>;

/// Make a part of a wrapping key, in a file that a passphrase protects
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each administrator makes a part, in a file of their own, with a passphrase of their own: who has fewer than all parts knows nothing of the key, which is their XOR. The \
part is random, unless --given reads one. The passphrase is read from the terminal without echo, or as one line from standard input; behind it the part.

Examples:
  adjunct ep11 wk part alice.part
  adjunct ep11 wk part bob.part --given

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.")]
pub(super) struct NewPart {
    /// The file, which is new
    file: PathBuf,
    /// Read the part, 64 hexadecimal digits, instead of making one
    #[arg(long)]
    given: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Import parts of a wrapping key, as the next one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The passphrase of each part is asked for: read from the terminal without echo, or one line each from standard input, in the order of the parts, after those of \
the keys. Where the domain has left imprint mode, each part is signed by one administrator: the first --key signs the first part, and so on; the last key those \
that are left. Parts go to the card encrypted for a key that it makes for them. Commit and finalize the key then. Several domains with the same parts open each \
other's keys.

Examples:
  adjunct ep11 wk import 01.0000 --part alice.part --part bob.part
  adjunct ep11 wk import 01.0000 --part a.part --part b.part --key alice.key --key bob.key

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.")]
pub(super) struct Import {
    /// A part (may be given again)
    #[arg(long = "part", value_name = "FILE", required = true)]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    which: Which,
}

/// The pattern of a key or part, the half of it that tools show.
fn pattern(bytes: &[u8]) -> Result<String, Failure> {
    let key = MasterKey::new(Kind::Wrapping, bytes).ok_or_else(|| Failure::new("the part is not 32 bytes long"))?;
    Ok(hex(&key.id()))
}

fn line(question: &str) -> Result<Secret, Failure> {
    if adjunct_tool::ask::somebody() {
        output::note(question);
    }
    let line = prompt::hidden_line()?.ok_or_else(|| Failure::new(format!("standard input ends before: {question}")))?;
    Ok(Zeroizing::new(line.to_vec()))
}

fn given() -> Result<Secret, Failure> {
    let text = line("Part (64 hexadecimal digits): ")?;
    let wrong = || Failure::new("a part is 64 hexadecimal digits");
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8).ok_or_else(wrong);
    if text.len() != 2 * PART {
        return Err(wrong());
    }
    let mut bytes = Zeroizing::new(vec![0; PART]);
    for (to, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *to = digit(&digits[0])? << 4 | digit(&digits[1])?;
    }
    Ok(bytes)
}

/// Runs `adjunct ep11 wk part`.
pub(super) fn new(args: &NewPart) -> Result<ExitCode, Failure> {
    let wrong = |why: &str| Failure::new(format!("{}: {why}", shown(&args.file)));
    if args.file.symlink_metadata().is_ok() {
        return Err(wrong("it is there already"));
    }
    let passphrase = line(&format!("New passphrase of {}: ", shown(&args.file)))?;
    if passphrase.is_empty() {
        return Err(Failure::new("the passphrase is empty"));
    }
    if adjunct_tool::ask::somebody() && line("Once more: ")? != passphrase {
        return Err(Failure::new("these are two passphrases: nothing is written"));
    }
    let part = if args.given { given()? } else { Zeroizing::new(MasterKey::random(Kind::Wrapping).secret().to_vec()) };
    let pattern = pattern(&part)?;
    let sealed = encrypted::seal(&sequence(&[&part]), &passphrase).ok_or_else(|| wrong("it cannot be encrypted"))?;
    let failed = |error: std::io::Error| wrong(&adjunct_tool::failure::cause(&error));
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&args.file).map_err(failed)?;
    let text = pem::of(LABEL, &sealed);
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    if args.json {
        output::print_json(&json!({ "file": args.file.to_string_lossy(), "pattern": pattern }))?;
    } else {
        output::print(&format!("{}  part {pattern}\n", shown(&args.file)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The part in a file.
fn read(path: &Path) -> Result<Secret, Failure> {
    let part = part(path, &[LABEL], "key part (adjunct ep11 wk part makes one)")?;
    let clear = opened(path, &part.bytes)?;
    let found = fields(&clear).and_then(|fields| match fields.all() {
        [part] if part.len() == PART => Some(Zeroizing::new(part.to_vec())),
        _ => None,
    });
    found.ok_or_else(|| Failure::new(format!("{}: it is no part of a wrapping key", shown(path))))
}

/// Runs `adjunct ep11 wk import`.
pub(super) fn import(args: &Import) -> Result<ExitCode, Failure> {
    let unit = unit_of(&args.which, false)?;
    let imprint = is_in_imprint(&unit.attributes()?);
    let what = format!("import a wrapping key of {} parts as the next one of {}", args.parts.len(), unit.name());
    if !args.change.go_on(&what, args.which.json)? {
        return Ok(ExitCode::SUCCESS);
    }
    let signers = Signer::all(&args.change.keys)?;
    if signers.is_empty() && !imprint {
        return Err(Failure::new(format!(
            "{}: each part has to be signed by an administrator: give a --key for it",
            unit.name()
        )));
    }
    let parts = args.parts.iter().map(|path| read(path)).collect::<Result<Vec<_>, Failure>>()?;
    for (at, part) in parts.iter().enumerate() {
        if let Some(other) = parts[..at].iter().position(|other| other == part) {
            let [one, two] = [other, at].map(|at| shown(&args.parts[at]));
            return Err(Failure::new(format!("{one} and {two} have the same part: the key would not have it")));
        }
    }
    let spki = unit.order(command::GEN_DOM_IMPORTER, &IMPORTER.to_be_bytes(), &signers)?;
    // All parts are for one state: who changes the domain meanwhile makes them worthless.
    let of = unit.now()?;
    let failed = || Failure::new(format!("{}: its key for parts is none", unit.name()));
    let mut payload = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let sealed = seal(&spki, part).ok_or_else(failed)?;
        let block = blocks::command(command::IMPORT_WK, &of, None, &sealed).map_err(|_| failed())?;
        let signer = signers.get(at).or(signers.last());
        let signature = signer.map(|signer| signer.info(&block)).transpose().map_err(|_| failed())?;
        let signature = signature.unwrap_or_default();
        payload.extend_from_slice(&request(API, Function::Admin, unit.domain.into(), &[&block, &signature]));
    }
    unit.order_for(command::IMPORT_WK, of, &payload)?;
    told(&unit, &args.which, &signers)
}

fn told(unit: &Unit, which: &Which, signers: &[Signer]) -> Result<ExitCode, Failure> {
    let half = |bytes: Option<Vec<u8>>| bytes.map(|bytes| hex(&bytes[..bytes.len().min(16)]));
    let current = half(unit.query_any(query::WK, &[])?);
    let next = half(unit.query_any(query::NEXT_WK, &[])?);
    let names: Vec<String> = signers.iter().map(Signer::name).collect();
    let mut answer = json!({ "domain": unit.domain, "current": current, "next": next, "next_state": "full" });
    let text = of_domain(unit.card, &answer);
    answer["signers"] = names.into();
    which.tell(&answer, &text)
}

/// A RecipientInfo of a part for the importer.
fn seal(spki: &[u8], part: &[u8]) -> Option<Vec<u8>> {
    let (_, point) = ec_value(spki).ok()?;
    let peer = EcKey::new(Group::P521, Some(point), None).ok()?;
    let own = EcKey::generate(Group::P521).ok()?;
    let mut room = Zeroizing::new([0; MAX_FIELD]);
    let shared = own.shared_secret(&peer, &mut room).ok()?;
    let mut material = [0; MATERIAL];
    adjunct::ops::random::random(&mut material);
    // ANSI X9.63's derivation: 32 bytes are one block of SHA-256.
    let info = shared_info(&material, 256, 0).ok()?;
    let with = Sha256::new().chain_update(shared).chain_update(1_u32.to_be_bytes()).chain_update(&info).finalize();
    let wrapped = wrap(&with, part)?;
    let mut room = [0; MAX_POINT];
    let origin = own.public(Form::Uncompressed, &mut room)?;
    recipient(IMPORTER, &Recipient { ski: &ski(spki)?, encrypted: &wrapped, origin: Some((origin, &material)) }).ok()
}

/// AES key wrap (RFC 3394).
fn wrap(key: &[u8], part: &[u8]) -> Option<Vec<u8>> {
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, CKO_SECRET_KEY).ok()?;
    attributes.set_number(CKA_KEY_TYPE, CKK_AES).ok()?;
    attributes.set(CKA_VALUE, key).ok()?;
    let held = Held::Own(Arc::new(Object::new(attributes)));
    let mut cipher = Mechanism::new(CKM_AES_KEY_WRAP, Params::None).cipher(held, true).ok()?;
    let mut out = vec![0; cipher.once_length(part.len())];
    let length = cipher.once(part, &mut out).ok()?;
    out.truncate(length);
    Some(out)
}
