//! `export-key`: writes keys of the token into files.

use super::select::{Counts, Found, ask};
use super::{Result, Stop, World, bad, pem, print, say};
use crate::pem::encrypted;
use adjunct_mechanisms::der::{self, Attribute};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{PARTS, Rv};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use zeroize::Zeroizing;

/// The form of the key that was written last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Pem,
    Binary,
}

impl World<'_> {
    /// Reads the attributes that make a key.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_SENSITIVE` where one may not leave.
    fn parts(&self, key: &Found) -> std::result::Result<Vec<Attribute>, Rv> {
        let mut parts = Vec::new();
        for kind in std::iter::once(CKA_KEY_TYPE).chain(PARTS).filter(|kind| key.kind.has_detail(*kind, key.class)) {
            match self.session.attribute(key.object, kind) {
                Ok(value) if value.is_empty() => {}
                Ok(value) => parts.push((kind, value)),
                Err(Rv(CKR_ATTRIBUTE_SENSITIVE)) => return Err(Rv(CKR_ATTRIBUTE_SENSITIVE)),
                Err(_) => {}
            }
        }
        Ok(parts)
    }

    /// The public half's SubjectPublicKeyInfo.
    fn info(&self, key: &Found) -> Option<Vec<u8>> {
        let info = self.bytes(key.object, CKA_PUBLIC_KEY_INFO);
        if !info.is_empty() {
            return Some(info);
        }
        let private = key.class == CKO_PRIVATE_KEY;
        // What is public of a private key is no secret.
        let public = [CKA_KEY_TYPE, CKA_MODULUS, CKA_PUBLIC_EXPONENT, CKA_EC_PARAMS, CKA_EC_POINT, CKA_PARAMETER_SET];
        let value = if private { None } else { Some(CKA_VALUE) };
        let parts = public.into_iter().chain(value).filter_map(|kind| {
            let value = self.session.attribute(key.object, kind).ok().filter(|value| !value.is_empty());
            value.map(|value| (kind, value))
        });
        der::of_public_key(&parts.collect::<Vec<_>>(), false)
    }

    /// The attributes of a private key's public half.
    pub(super) fn public_half(&self, key: &Found) -> Option<Vec<Attribute>> {
        der::public_key(&self.info(key)?)
    }

    /// The file's contents for a key; none where it has no such form.
    fn contents(&self, key: &Found, password: Option<&[u8]>) -> std::result::Result<Option<Zeroizing<Vec<u8>>>, Rv> {
        if !key.kind.pair {
            return self.session.attribute(key.object, CKA_VALUE).map(Some);
        }
        if key.class == CKO_PUBLIC_KEY || self.wanted.spki {
            return Ok(self.info(key).map(|der| pem::text("PUBLIC KEY", &der)));
        }
        let parts = self.parts(key)?;
        let sealed = |der: Zeroizing<Vec<u8>>| match password {
            Some(password) => encrypted::seal(&der, password).map(|der| pem::text(encrypted::LABEL, &der)),
            None => Some(pem::text("PRIVATE KEY", &der)),
        };
        Ok(der::of_private_key(&parts).and_then(sealed))
    }

    /// The object's URI, as OpenSSL's pkcs11-provider reads it in the place of a key.
    pub(super) fn uri_pem(&self, found: &Found) -> Result<Zeroizing<Vec<u8>>> {
        const VERSION: &[u8] = b"PKCS#11 Provider URI v1.0";
        let uri = self.uri(found)?.to_string();
        let texts = [(0x1a, VERSION), (0x0c, uri.as_bytes())].map(|(tag, text)| der::tlv(tag, text));
        Ok(pem::text("PKCS#11 PROVIDER URI", &der::tlv(0x30, &texts.concat())))
    }

    /// Writes to the file, or behind what was written; a new file can be read by its user alone.
    pub(super) fn write(&self, contents: &[u8], fresh: bool) -> Result {
        let mut how = OpenOptions::new();
        how.create(true).write(true).append(!fresh).truncate(fresh).mode(0o600);
        // A pipe that nobody reads is an error, in place of a wait without end. What is written fits into one that is read.
        how.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        how.open(&self.wanted.file).and_then(|mut to| to.write_all(contents)).map_err(|error| {
            let file = adjunct_tool::escape::shown(self.wanted.file.as_os_str());
            say(&format!("Failed to write to file '{file}': {}", adjunct_tool::failure::cause(&error)));
            Stop::Rv(CKR_ARGUMENTS_BAD)
        })
    }

    /// Exports the keys.
    pub(super) fn export(&self) -> Result {
        let wanted = &self.wanted;
        let file = adjunct_tool::escape::shown(wanted.file.as_os_str());
        if wanted.opaque {
            let words = if wanted.spki { "Either '-o'/'--opaque' or '-S'/'--spki' can be specified." } else { OPAQUE };
            return Err(bad(words));
        }
        for (also, option) in [(wanted.spki, "'-S'/'--spki'"), (wanted.uri_pem, "'-u'/'--uri-pem'")] {
            if wanted.encrypted_pem && also {
                return Err(bad(&format!("Option '--encrypted-pem' is not allowed with {option}")));
            }
        }
        let keys = self.selected()?;
        let private = keys.iter().any(|key| key.class == CKO_PRIVATE_KEY);
        let password = if wanted.encrypted_pem && private { Some(self.password()?) } else { None };
        let password = password.as_ref().map(|password| password.as_slice());
        let (mut counts, mut last) = (Counts::default(), Last::Nothing);
        for key in keys {
            let name = key.name();
            if !counts.agreed(wanted.force, &format!("Are you sure you want to export {name}"))? {
                continue;
            }
            if wanted.spki && key.class != CKO_PRIVATE_KEY {
                say("The '-S'/'--spki' option can only be used with private keys.");
                counts.failed += 1;
                continue;
            }
            let mut fresh = last == Last::Nothing;
            let pem = key.kind.pair || wanted.uri_pem;
            if let Some(words) = clash(last, pem) {
                print(words)?;
                fresh = true;
                let question = "Overwrite the previously exported key(s) [y/n]? ";
                if !wanted.force && ask(question, "yn")? != Some('y') {
                    counts.skipped += 1;
                    continue;
                }
            }
            let contents = if wanted.uri_pem { Ok(Some(self.uri_pem(&key)?)) } else { self.contents(&key, password) };
            let contents = match contents {
                Ok(Some(contents)) => contents,
                Ok(None) => {
                    say(&format!("Failed to write {name} to PEM file '{file}'."));
                    counts.failed += 1;
                    continue;
                }
                Err(Rv(CKR_ATTRIBUTE_SENSITIVE)) => {
                    say(&format!("{name} is sensitive and can not be exported."));
                    counts.failed += 1;
                    continue;
                }
                Err(rv) => {
                    let what = format!("Failed to retrieve attribute CKA_VALUE from {name}");
                    Self::lost(&mut counts, &what, rv);
                    continue;
                }
            };
            self.write(&contents, fresh)?;
            print(&format!("Successfully exported {name} to file '{file}'.\n"))?;
            counts.done += 1;
            last = if pem { Last::Pem } else { Last::Binary };
        }
        counts.report("key", "exported", "key", "export")
    }
}

const OPAQUE: &str = "Keys of this kind of tokens are no opaque blobs of secure keys.";

/// Why a key cannot be appended to what was written last.
fn clash(last: Last, pem: bool) -> Option<&'static str> {
    Some(match (last, pem) {
        (Last::Binary, true) => {
            "The last exported key was a binary symmetric key, but the current\nkey is an asymmetric key to be exported in \
             PEM format.\nIt can not be appended to the previously exported key(s).\n"
        }
        (Last::Binary, false) => {
            "The last exported key was a binary symmetric key, and the current\nkey is also a symmetric key to be exported \
             in binary.\nIt can not be appended to the previously exported key(s).\n"
        }
        (Last::Pem, false) => {
            "The last exported key was an asymmetric key in PEM format, but the\ncurrent key is a symmetric key to be \
             exported in binary.\nIt can not be appended to the previously exported key(s).\n"
        }
        _ => return None,
    })
}
