//! The default property query of a library context.

use crate::Opaque;
use crate::errors::Errors;
use std::ffi::{CStr, c_char, c_int};

crate::functions! {
    /// The function that sets the default properties; exists since OpenSSL 3.0.
    pub Properties { errors: Errors }:
    set c"EVP_set_default_properties" (Opaque, *const c_char) -> c_int;
}

impl Properties {
    /// Sets the default property query of a library context; says whether that was done.
    ///
    /// # Safety
    /// The context lives, and no other thread searches it for algorithms meanwhile: OpenSSL frees the query that was in force, without
    /// a lock.
    pub unsafe fn set(&self, context: Opaque, query: &CStr) -> bool {
        // SAFETY: the caller answers for the context being alive, and for no other thread searching it meanwhile; the query is a C string.
        self.errors.quietly(|| unsafe { (self.set)(context, query.as_ptr()) } == 1)
    }
}

/// `query` with the clause `from`, which is one of its own between commas, replaced by `to`; `None` where it has no such clause.
pub fn replaced(query: &str, from: &str, to: &str) -> Option<String> {
    let (mut quote, mut start, mut clauses) = (None, 0, Vec::new());
    for (at, c) in query.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (',', None) => {
                clauses.push(&query[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    clauses.push(&query[start..]);
    let is = |clause: &&str| clause.trim() == from;
    clauses.iter().any(&is).then(|| {
        let words: Vec<&str> = clauses.into_iter().map(|clause| if is(&clause) { to } else { clause }).collect();
        words.join(",")
    })
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn one_clause_is_replaced_and_no_other() {
        let to = |query: &str| replaced(query, "?provider=adjunct", "?provider!=default");
        assert_eq!(to("?provider=adjunct").as_deref(), Some("?provider!=default"));
        assert_eq!(to("?a=b, ?provider=adjunct,c=d").as_deref(), Some("?a=b,?provider!=default,c=d"));
        for none in ["", "fips=yes", "provider=adjunct", "?provider=adjuncts", "a='x,?provider=adjunct'"] {
            assert_eq!(to(none), None, "{none}");
        }
    }
}
