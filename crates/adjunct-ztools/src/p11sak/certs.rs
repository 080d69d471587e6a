//! Certificates: listed, imported, exported. The rest is done to them as to keys.

use super::kinds::{CERTIFICATE_DETAILS, LETTERS, X509};
use super::list::{Order, order, value_of};
use super::select::{Counts, Found, ask};
use super::{Result, Stop, World, bad, id, named, pem, print, say, set_letters};
use crate::pem::parts;
use adjunct::ops::digest::{Part, SHA1, SHA256};
use adjunct_mechanisms::der::{self, Attribute, Certificate};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Rv, Template};
use adjunct_tool::files;
use std::cmp::Ordering;
use std::fmt::Write;
use zeroize::Zeroizing;

/// The widths of the types and of the names.
const TYPE: usize = 9;
const NAME: usize = 22;
/// No certificate's file is longer.
const LONGEST: u64 = 1 << 20;

/// A name in a cell: what does not fit is cut.
fn cell(name: &str) -> String {
    if name.len() > NAME { format!("{}...", &name[..NAME - 3]) } else { format!("{name:>NAME$}") }
}

/// Owner of a certificate: what stands behind CN, or the whole name.
fn common_name(value: &[u8]) -> String {
    let name = der::certificate(value).and_then(|certificate| der::one_line(certificate.subject));
    match name {
        Some(name) => name.split_once("/CN=").map_or(name.clone(), |(_, name)| name.to_owned()),
        None => "[not available]".to_owned(),
    }
}

fn compare(order: &Order, a: &(Found, String), b: &(Found, String)) -> Ordering {
    let of = |(field, descending): &(char, bool)| {
        let ordering = if *field == 'l' {
            a.0.label.as_bytes().cmp(b.0.label.as_bytes())
        } else {
            a.1.as_bytes().cmp(b.1.as_bytes())
        };
        if *descending { ordering.reverse() } else { ordering }
    };
    order.iter().map(of).find(|ordering| *ordering != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// The result of a digest.
fn digest(method: &'static adjunct::ops::digest::Method, data: &[u8]) -> Vec<u8> {
    let (mut digest, mut out) = (Part::new(method), vec![0; method.size]);
    digest.update(data);
    digest.finish(&mut out);
    out
}

impl World<'_> {
    /// Lists the certificates.
    pub(super) fn list_certificates(&self) -> Result {
        let order = self.wanted.sort.as_deref().map(|text| order(text, "ln")).transpose()?.unwrap_or_default();
        let letters = || LETTERS.iter().filter(|letter| letter.certificate);
        if !self.wanted.long {
            let names: String = letters().map(|letter| format!("{} ", letter.letter)).collect();
            let (rule, types, cns) = ("--".repeat(letters().count()), "-".repeat(TYPE), "-".repeat(NAME));
            print(&format!("| {names}| {:>TYPE$} | {:<NAME$} | LABEL\n", "CERT TYPE", "SUBJECT-CN"))?;
            print(&format!("|-{rule}+-{types}-+-{cns}-+-------------------------\n"))?;
        }
        let found = self.selected()?.into_iter();
        let mut found: Vec<(Found, String)> =
            found.map(|one| (self.bytes(one.object, CKA_VALUE), one)).map(|(v, one)| (one, common_name(&v))).collect();
        found.sort_by(|a, b| compare(&order, a, b));
        for (one, name) in &found {
            if self.wanted.long {
                print(&self.certificate_details(one)?)?;
                continue;
            }
            let cells: String = letters().map(|letter| self.flag_cell(one, letter.kind)).collect();
            print(&format!("| {cells}| {:>TYPE$} | {} | \"{}\"\n", one.what, cell(name), one.shown))?;
        }
        print(&format!("\n{} certificate(s) displayed\n", found.len()))
    }

    fn certificate_details(&self, one: &Found) -> Result<String> {
        let mut text = self.head(one)?;
        for (name, kind) in CERTIFICATE_DETAILS {
            let Ok(value) = self.session.attribute(one.object, *kind) else { continue };
            if let Some(shown) = value_of(*kind, &value) {
                let _ = writeln!(text, "        {name}: {shown}");
            }
        }
        Ok(text)
    }

    /// Imports a certificate.
    pub(super) fn import_certificate(&self) -> Result {
        let wanted = &self.wanted;
        let file = adjunct_tool::escape::shown(wanted.file.as_os_str());
        let bytes = files::read(&wanted.file, LONGEST).map_err(|failure| {
            say(&format!("Failed to open file '{file}': {}", adjunct_tool::failure::cause(&failure)));
            Stop::Rv(CKR_ARGUMENTS_BAD)
        })?;
        let of_pem = || {
            let labels = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];
            let parts = parts(std::str::from_utf8(&bytes).ok()?)?;
            parts.into_iter().find(|part| labels.contains(&part.label.as_str())).map(|part| part.bytes.to_vec())
        };
        let der = of_pem().unwrap_or_else(|| bytes.clone());
        let Some(read) = der::certificate(&der) else {
            say(&format!("Failed to read a certificate from file '{file}': it is neither PEM nor DER, or damaged"));
            return Err(Stop::Rv(CKR_FUNCTION_FAILED));
        };
        let label = wanted.label.clone().unwrap_or_default();
        let mut template = Template::new();
        template.set(CKA_CLASS, &CKO_CERTIFICATE.to_ne_bytes());
        template.set(CKA_LABEL, label.as_bytes());
        template.set_flag(CKA_TOKEN, true);
        let letters = wanted.attrs.as_deref().unwrap_or_default();
        set_letters(&mut template, letters, Some((&X509, CKO_CERTIFICATE)), wanted.so)?;
        if let Some(text) = &wanted.id {
            template.set(CKA_ID, &id(text)?);
        }
        certificate_of(&mut template, &read, &der, wanted.authority);
        let mut whole = template.clone();
        whole.set(CKA_CHECK_VALUE, &digest(&SHA1, &der)[..3]);
        let created = self.session.create(&whole).or_else(|rv| match rv.0 {
            // SoftHSM makes the check value itself, and refuses one.
            CKR_GENERAL_ERROR | CKR_ATTRIBUTE_TYPE_INVALID | CKR_ATTRIBUTE_READ_ONLY => self.session.create(&template),
            _ => Err(rv),
        });
        created.map_err(|Rv(rv)| {
            say(&format!("Certificate import of a {} certificate failed: {}", X509.name, named(rv)));
            Stop::Rv(rv)
        })?;
        let label = adjunct_tool::escape::shown(&label);
        print(&format!("Successfully imported a {} certificate with label \"{label}\".\n", X509.name))
    }

    /// Exports certificates.
    pub(super) fn export_certificates(&self) -> Result {
        let wanted = &self.wanted;
        if wanted.der && wanted.uri_pem {
            return Err(bad("Either '-D'/'--der' or '-u'/'--uri-pem' can be specified."));
        }
        let file = adjunct_tool::escape::shown(wanted.file.as_os_str());
        let mut counts = Counts::default();
        for one in self.selected()? {
            let name = one.name();
            if !counts.agreed(wanted.force, &format!("Are you sure you want to export {name}"))? {
                continue;
            }
            let mut fresh = counts.done == 0;
            if wanted.der && !fresh {
                print(
                    "The last exported and current certificate are both in binary form.\n\
                     It's not possible to write both into the same file.\n",
                )?;
                fresh = true;
                let question = "Overwrite the previously exported certificate(s) [y/n]? ";
                if !wanted.force && ask(question, "yn")? != Some('y') {
                    counts.skipped += 1;
                    continue;
                }
            }
            let value = match self.session.attribute(one.object, CKA_VALUE) {
                Ok(value) if der::certificate(&value).is_some() => value,
                Ok(_) => {
                    say(&format!("CKA_VALUE of {name} is no certificate."));
                    counts.failed += 1;
                    continue;
                }
                Err(rv) => {
                    Self::lost(&mut counts, &format!("Failed to retrieve attribute CKA_VALUE from {name}"), rv);
                    continue;
                }
            };
            let contents = match (wanted.uri_pem, wanted.der) {
                (true, _) => self.uri_pem(&one)?,
                (_, true) => value,
                (_, false) => pem::text("CERTIFICATE", &value),
            };
            self.write(&contents, fresh)?;
            print(&format!("Successfully exported {name} to file '{file}'.\n"))?;
            counts.done += 1;
        }
        counts.report("certificate", "exported", "certificate", "export")
    }

    /// The attributes that make an object of a certificate's public key.
    pub(super) fn key_of_certificate(&self, one: &Found) -> Option<Vec<Attribute>> {
        let value = self.bytes(one.object, CKA_VALUE);
        let read = der::certificate(&value)?;
        let mut key = der::public_key(read.key)?;
        key.push((CKA_SUBJECT, Zeroizing::new(read.subject.to_vec())));
        Some(key)
    }
}

/// Sets the attributes that a certificate's contents give.
fn certificate_of(template: &mut Template, read: &Certificate<'_>, der: &[u8], authority: bool) {
    template.set(CKA_CERTIFICATE_TYPE, &CKC_X_509.to_ne_bytes());
    if authority || read.authority {
        template.set(CKA_CERTIFICATE_CATEGORY, &CK_CERTIFICATE_CATEGORY_AUTHORITY.to_ne_bytes());
    }
    template.set(CKA_START_DATE, &read.days[0]);
    template.set(CKA_END_DATE, &read.days[1]);
    template.set(CKA_PUBLIC_KEY_INFO, read.key);
    template.set(CKA_SUBJECT, read.subject);
    template.set(CKA_ISSUER, read.issuer);
    template.set(CKA_SERIAL_NUMBER, read.serial);
    template.set(CKA_VALUE, der);
    template.set(CKA_NAME_HASH_ALGORITHM, &CKM_SHA256.to_ne_bytes());
    template.set(CKA_HASH_OF_SUBJECT_PUBLIC_KEY, &digest(&SHA256, read.key));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_their_cells() {
        assert_eq!(cell("web"), format!("{:>22}", "web"));
        assert_eq!(cell("0123456789012345678901"), "0123456789012345678901");
        assert_eq!(cell("01234567890123456789012"), "0123456789012345678...");
        assert_eq!(common_name(b"no certificate"), "[not available]");
    }
}
