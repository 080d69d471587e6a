//! Changes of existing keys and certificates: removal, change, copy, and extraction of public keys.

use super::kinds::KeyKind;
use super::select::{Counts, Found, noun};
use super::{Result, Stop, World, bad, id, named, number, print, say, set_letters};
use adjunct_mechanisms::der::Attribute;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Rv, Template};

impl World<'_> {
    /// The word for the objects of this task: keys or certificates.
    fn noun(&self) -> &'static str {
        noun(self.wanted.task.of_certificates())
    }

    /// Removes the objects.
    pub(super) fn remove(&self) -> Result {
        let mut counts = Counts::default();
        for found in self.selected()? {
            let name = found.name();
            if !counts.agreed(self.wanted.force, &format!("Are you sure you want to remove {name}"))? {
                continue;
            }
            match self.session.destroy(found.object) {
                Ok(()) => {
                    print(&format!("Successfully removed {name}.\n"))?;
                    counts.done += 1;
                }
                Err(rv) => Self::lost(&mut counts, &format!("Failed to remove {name}: C_DestroyObject"), rv),
            }
        }
        counts.report(self.noun(), "removed", self.noun(), "remove")
    }

    /// What `-A`, `-l` and `-I` change of an object; none, and counted, where it is wrong or nothing.
    pub(super) fn news(&self, found: &Found, counts: &mut Counts) -> Result<Option<Template>> {
        let mut template = Template::new();
        if let Some(letters) = &self.wanted.new_attrs {
            set_letters(&mut template, letters, Some((found.kind, found.class)), self.wanted.so)
                .inspect_err(|_| counts.failed += 1)?;
            if template.is_empty() {
                say(&format!("None of the specified attributes apply to {}.", found.name()));
                counts.skipped += 1;
                return Ok(None);
            }
        }
        if let Some(label) = &self.wanted.new_label {
            template.set(CKA_LABEL, label.as_bytes());
        }
        if let Some(text) = &self.wanted.new_id {
            template.set(CKA_ID, &id(text)?);
        }
        Ok(Some(template))
    }

    /// Changes the objects.
    pub(super) fn set(&self) -> Result {
        let wanted = &self.wanted;
        if wanted.new_attrs.is_none() && wanted.new_label.is_none() && wanted.new_id.is_none() {
            say("At least one of the following options must be specified:");
            return Err(bad("'-A'/'--new-attr', '-l'/'--new-label', or '-I'/'--new-id'"));
        }
        let mut counts = Counts::default();
        for found in self.selected()? {
            let name = found.name();
            if !counts.agreed(wanted.force, &format!("Are you sure you want to change {name}"))? {
                continue;
            }
            let Some(template) = self.news(&found, &mut counts)? else { continue };
            match self.session.change(found.object, &template) {
                Ok(()) => {
                    print(&format!("Successfully changed {name}.\n"))?;
                    counts.done += 1;
                }
                Err(rv) => Self::lost(&mut counts, &format!("Failed to change {name}: C_SetAttributeValue"), rv),
            }
        }
        counts.report(self.noun(), "updated", self.noun(), "update")
    }

    /// Copies the objects.
    pub(super) fn copy(&self) -> Result {
        let mut counts = Counts::default();
        for found in self.selected()? {
            let name = found.name();
            if !counts.agreed(self.wanted.force, &format!("Are you sure you want to copy {name}"))? {
                continue;
            }
            let Some(template) = self.news(&found, &mut counts)? else { continue };
            match self.session.copy(found.object, &template) {
                Ok(_) => {
                    print(&format!("Successfully copied {name}.\n"))?;
                    counts.done += 1;
                }
                Err(rv) => Self::lost(&mut counts, &format!("Failed to copy {name}: C_CopyObject"), rv),
            }
        }
        counts.report(self.noun(), "copied", self.noun(), "copy")
    }

    /// Makes the public keys of private ones, or of certificates.
    pub(super) fn extract(&self) -> Result {
        let certificates = self.wanted.task.of_certificates();
        let of = if certificates { "certificate" } else { "private key" };
        let mut counts = Counts::default();
        for found in self.selected()?.iter().filter(|it| certificates || it.class == CKO_PRIVATE_KEY) {
            let name = found.name();
            let question = format!("Are you sure you want to extract the public key from {name}");
            if !counts.agreed(self.wanted.force, &question)? {
                continue;
            }
            let public = if certificates { self.key_of_certificate(found) } else { self.public_half(found) };
            let Some(public) = public else {
                say(&match certificates {
                    true => format!("The public key of {name} is of a kind that is not known here."),
                    false => format!("Failed to retrieve attribute CKA_PUBLIC_KEY_INFO from {name}"),
                });
                counts.failed += 1;
                continue;
            };
            let key_type = public.iter().find(|(kind, _)| *kind == CKA_KEY_TYPE).and_then(|(_, value)| number(value));
            let Some(kind) = key_type.and_then(KeyKind::of) else { return Err(Stop::Rv(CKR_KEY_TYPE_INCONSISTENT)) };
            let (label, template) = self.public_key(found, kind, &public)?;
            match self.session.create(&template) {
                Ok(_) => {
                    let label = adjunct_tool::escape::shown(&label);
                    print(&format!(
                        "Successfully extracted the public key from {name} into new token object \"{label}\".\n"
                    ))?;
                    counts.done += 1;
                }
                Err(Rv(rv)) => {
                    let what = found.kind.name;
                    say(&format!("Public key extraction of a {what} {} failed: {}", self.noun(), named(rv)));
                    counts.failed += 1;
                }
            }
        }
        print(&format!("{} public key object(s) extracted.\n", counts.done))?;
        if counts.skipped > 0 {
            print(&format!("{} {of} object(s) skipped.\n", counts.skipped))?;
        }
        if counts.failed > 0 {
            print(&format!("{} {of} object(s) failed to export the public key.\n", counts.failed))?;
            return Err(Stop::Rv(CKR_FUNCTION_FAILED));
        }
        Ok(())
    }

    /// The public key that is made of a private one or of a certificate, with its label.
    fn public_key(&self, of: &Found, kind: &KeyKind, public: &[Attribute]) -> Result<(String, Template)> {
        let wanted = &self.wanted;
        let label = wanted.new_label.clone().unwrap_or_else(|| format!("{}_pubkey", of.label));
        let mut template = Template::new();
        template.set(CKA_CLASS, &CKO_PUBLIC_KEY.to_ne_bytes());
        template.set_flag(CKA_TOKEN, true);
        public.iter().for_each(|(kind, value)| template.set(*kind, value));
        template.set(CKA_LABEL, label.as_bytes());
        let id_of = self.bytes(of.object, CKA_ID);
        if !id_of.is_empty() {
            template.set(CKA_ID, &id_of);
        }
        if let Some(text) = &wanted.new_id {
            template.set(CKA_ID, &id(text)?);
        }
        if let Some(letters) = &wanted.new_attrs {
            set_letters(&mut template, letters, Some((kind, CKO_PUBLIC_KEY)), wanted.so)?;
        }
        Ok((label, template))
    }
}
