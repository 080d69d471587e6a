//! `remove-key`, `set-key-attr`, `copy-key`: keys that are there.

use super::select::{Counts, Found};
use super::{Result, Stop, World, bad, id, named, print, say, set_letters};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Rv, Template};

impl World<'_> {
    /// Removes the keys.
    pub(super) fn remove(&self) -> Result {
        let mut counts = Counts::default();
        for Found { object, what, shown, .. } in self.selected(false)? {
            let name = format!("{what} key object \"{shown}\"");
            if !counts.agreed(self.wanted.force, &format!("Are you sure you want to remove {name}"))? {
                continue;
            }
            match self.session.destroy(object) {
                Ok(()) => {
                    print(&format!("Successfully removed {name}.\n"))?;
                    counts.done += 1;
                }
                Err(rv) => Self::lost(&mut counts, &format!("Failed to remove {name}: C_DestroyObject"), rv),
            }
        }
        counts.report("key", "removed", "key", "remove")
    }

    /// What `-A`, `-l` and `-I` change of a key; none, and counted, where it is wrong or nothing.
    pub(super) fn news(&self, key: &Found, counts: &mut Counts) -> Result<Option<Template>> {
        let mut template = Template::new();
        if let Some(letters) = &self.wanted.new_attrs {
            set_letters(&mut template, letters, Some((key.kind, key.class)), self.wanted.so)
                .inspect_err(|_| counts.failed += 1)?;
            if template.is_empty() {
                let name = format!("{} key object \"{}\"", key.what, key.shown);
                say(&format!("None of the specified attributes apply to {name}."));
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

    /// Changes the keys.
    pub(super) fn set(&self) -> Result {
        let wanted = &self.wanted;
        if wanted.new_attrs.is_none() && wanted.new_label.is_none() && wanted.new_id.is_none() {
            say("At least one of the following options must be specified:");
            return Err(bad("'-A'/'--new-attr', '-l'/'--new-label', or '-I'/'--new-id'"));
        }
        let mut counts = Counts::default();
        for key in self.selected(false)? {
            let name = format!("{} key object \"{}\"", key.what, key.shown);
            if !counts.agreed(wanted.force, &format!("Are you sure you want to change {name}"))? {
                continue;
            }
            let Some(template) = self.news(&key, &mut counts)? else { continue };
            match self.session.change(key.object, &template) {
                Ok(()) => {
                    print(&format!("Successfully changed {name}.\n"))?;
                    counts.done += 1;
                }
                Err(rv) => Self::lost(&mut counts, &format!("Failed to change {name}: C_SetAttributeValue"), rv),
            }
        }
        counts.report("key", "updated", "key", "update")
    }

    /// Copies the keys.
    pub(super) fn copy(&self) -> Result {
        let mut counts = Counts::default();
        for key in self.selected(false)? {
            let name = format!("{} key object \"{}\"", key.what, key.shown);
            if !counts.agreed(self.wanted.force, &format!("Are you sure you want to copy {name}"))? {
                continue;
            }
            let Some(template) = self.news(&key, &mut counts)? else { continue };
            match self.session.copy(key.object, &template) {
                Ok(_) => {
                    print(&format!("Successfully copied {name}.\n"))?;
                    counts.done += 1;
                }
                Err(rv) => Self::lost(&mut counts, &format!("Failed to copy {name}: C_CopyObject"), rv),
            }
        }
        counts.report("key", "copied", "key", "copy")
    }

    /// Makes the public keys of private ones.
    pub(super) fn extract(&self) -> Result {
        let mut counts = Counts::default();
        for key in self.selected(true)? {
            let name = format!("{} key object \"{}\"", key.what, key.shown);
            let question = format!("Are you sure you want to extract the public key from {name}");
            if !counts.agreed(self.wanted.force, &question)? {
                continue;
            }
            let label = self.wanted.new_label.clone().unwrap_or_else(|| format!("{}_pubkey", key.label));
            let Some(public) = self.public_half(&key) else {
                say(&format!("Failed to retrieve attribute CKA_PUBLIC_KEY_INFO from {name}"));
                counts.failed += 1;
                continue;
            };
            let mut template = Template::new();
            template.set(CKA_CLASS, &CKO_PUBLIC_KEY.to_ne_bytes());
            template.set_flag(CKA_TOKEN, true);
            public.iter().for_each(|(kind, value)| template.set(*kind, value));
            template.set(CKA_LABEL, label.as_bytes());
            let id_of = self.bytes(key.object, CKA_ID);
            if !id_of.is_empty() {
                template.set(CKA_ID, &id_of);
            }
            if let Some(text) = &self.wanted.new_id {
                template.set(CKA_ID, &id(text)?);
            }
            if let Some(letters) = &self.wanted.new_attrs {
                set_letters(&mut template, letters, Some((key.kind, CKO_PUBLIC_KEY)), self.wanted.so)?;
            }
            match self.session.create(&template) {
                Ok(_) => {
                    let label = crate::escape::shown(&label);
                    print(&format!(
                        "Successfully extracted the public key from {name} into new token object \"{label}\".\n"
                    ))?;
                    counts.done += 1;
                }
                Err(Rv(rv)) => {
                    let kind = key.kind.name;
                    say(&format!("Public key extraction of a {kind} key failed: {}", named(rv)));
                    counts.failed += 1;
                }
            }
        }
        print(&format!("{} public key object(s) extracted.\n", counts.done))?;
        if counts.skipped > 0 {
            print(&format!("{} private key object(s) skipped.\n", counts.skipped))?;
        }
        if counts.failed > 0 {
            print(&format!("{} private key object(s) failed to export the public key.\n", counts.failed))?;
            return Err(Stop::Rv(CKR_FUNCTION_FAILED));
        }
        Ok(())
    }
}
