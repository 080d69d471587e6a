//! `export-key`: keys that leave the token for a file.

use super::select::{Counts, Found, ask};
use super::{Result, Stop, World, bad, pem, print, say};
use adjunct_pkcs11::der::{self, Attribute};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{PARTS, Rv};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use zeroize::Zeroizing;

/// What was written last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Pem,
    Binary,
}

impl World<'_> {
    /// The attributes that make a key.
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
    fn contents(&self, key: &Found) -> std::result::Result<Option<Zeroizing<Vec<u8>>>, Rv> {
        if !key.kind.pair {
            return self.session.attribute(key.object, CKA_VALUE).map(Some);
        }
        if key.class == CKO_PUBLIC_KEY || self.wanted.spki {
            return Ok(self.info(key).map(|der| pem::text("PUBLIC KEY", &der)));
        }
        let parts = self.parts(key)?;
        Ok(der::of_private_key(&parts).map(|der| pem::text("PRIVATE KEY", &der)))
    }

    /// Exports the keys.
    pub(super) fn export(&self) -> Result {
        let wanted = &self.wanted;
        let file = crate::escape::shown(wanted.file.as_os_str());
        if wanted.opaque {
            let words = if wanted.spki { "Either '-o'/'--opaque' or '-S'/'--spki' can be specified." } else { OPAQUE };
            return Err(bad(words));
        }
        let (mut counts, mut last) = (Counts::default(), Last::Nothing);
        for key in self.selected(false)? {
            let name = format!("{} key object \"{}\"", key.what, key.shown);
            if !counts.agreed(wanted.force, &format!("Are you sure you want to export {name}"))? {
                continue;
            }
            if wanted.spki && key.class != CKO_PRIVATE_KEY {
                say("The '-S'/'--spki' option can only be used with private keys.");
                counts.failed += 1;
                continue;
            }
            let mut fresh = last == Last::Nothing;
            if let Some(words) = clash(last, key.kind.pair) {
                print(words)?;
                fresh = true;
                let question = "Overwrite the previously exported key(s) [y/n]? ";
                if !wanted.force && ask(question, "yn")? == Some('n') {
                    counts.skipped += 1;
                    continue;
                }
            }
            let contents = match self.contents(&key) {
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
            // Nobody else's to read, where it is new.
            let mut how = OpenOptions::new();
            how.create(true).write(true).append(!fresh).truncate(fresh).mode(0o600);
            let written = how.open(&wanted.file).and_then(|mut to| to.write_all(&contents));
            if let Err(error) = written {
                let cause = crate::failure::cause(&error);
                say(&format!("Failed to open PEM file '{file}'."));
                say(&cause);
                return Err(Stop::Rv(CKR_ARGUMENTS_BAD));
            }
            print(&format!("Successfully exported {name} to file '{file}'.\n"))?;
            counts.done += 1;
            last = if key.kind.pair { Last::Pem } else { Last::Binary };
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
