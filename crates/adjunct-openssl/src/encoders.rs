//! The default provider's encoders, offered by this module for its own keys.

use crate::abi::{self, Dispatch, OsslAlgorithm};
use crate::fallback::{Library, Template};
use std::ffi::{CStr, CString};

/// The encoders offered.
#[derive(Debug)]
pub struct Encoders {
    templates: Vec<Template>,
    /// The strings that `list` points to.
    _properties: Vec<CString>,
    list: Vec<OsslAlgorithm>,
}

// SAFETY: nothing changes a value once it is made; its pointers lead to statics of libcrypto and of this crate, and to texts that it owns.
unsafe impl Send for Encoders {}
// SAFETY: nothing changes a value once it is made; its pointers lead to statics of libcrypto and of this crate, and to texts that it owns.
unsafe impl Sync for Encoders {}

impl Encoders {
    /// Offers the encoders that this libcrypto's default provider has for keys called `name`, for keys of ours called `names`, by `tables`, one for
    /// each: encoders beyond the last table are left out. `None` where there is no memory for it.
    pub fn of(
        library: &Library,
        name: &CStr,
        names: &'static CStr,
        tables: &'static [[Dispatch; 7]],
        description: &'static CStr,
    ) -> Option<Encoders> {
        let mut templates = Vec::new();
        templates.try_reserve_exact(tables.len()).ok()?;
        templates.extend(library.encoders(name).take(tables.len()));
        let (mut properties, mut list) = (Vec::new(), Vec::new());
        properties.try_reserve_exact(templates.len()).ok()?;
        list.try_reserve_exact(templates.len() + 1).ok()?;
        for (template, table) in templates.iter().zip(tables) {
            let text = ours(template.properties)?;
            list.push(OsslAlgorithm::new(names, &text, table, description));
            properties.push(text);
        }
        list.push(OsslAlgorithm::END);
        Some(Encoders { templates, _properties: properties, list })
    }

    /// The default provider's encoder of that index.
    pub fn template(&self, index: usize) -> Option<Template> {
        self.templates.get(index).copied()
    }

    /// The list OpenSSL reads.
    pub fn list(&self) -> *const OsslAlgorithm {
        self.list.as_ptr()
    }
}

/// The default provider's properties of an encoder, made adjunct's.
fn ours(theirs: &CStr) -> Option<CString> {
    const PROVIDER: &[u8] = b"provider=adjunct";
    let mut text = Vec::new();
    text.try_reserve_exact(PROVIDER.len() + theirs.count_bytes() + 2).ok()?;
    text.extend_from_slice(PROVIDER);
    for property in theirs.to_bytes().split(|&b| b == b',') {
        if property.starts_with(b"output=") || property.starts_with(b"structure=") {
            text.push(b',');
            text.extend_from_slice(property);
        }
    }
    abi::c_string(&text)
}
