//! Searches among the objects of a token.

use super::{List, Table};
use crate::handle::Handle;
use adjunct_mechanisms::object::attributes::{Attributes, Value};
use adjunct_mechanisms::object::{Object, check, schema};
use cryptoki_sys::CKA_CHECK_VALUE;

/// A search that is under way. It holds no object: what is destroyed meanwhile is not found any more, and what is made or changed meanwhile may be
/// found or not.
#[derive(Debug)]
pub struct Search {
    template: Attributes,
    /// The part that is still to be searched; `None` at the end.
    list: Option<List>,
    /// Handle of the last object that was looked at.
    last: Option<Handle>,
}

/// The fewest and the most objects that are taken from the index at a time: it is locked meanwhile.
const PAGE: (usize, usize) = (16, 1024);
/// The fewest objects that a search through all objects takes at a time: few of them match.
const PAGE_OF_ALL: usize = 256;

impl Search {
    /// Begins a search for the objects with these attributes. To begin takes as long among many as among few.
    pub fn new(table: &Table, template: Attributes) -> Search {
        let list = table.shortest(&template);
        Search { template, list, last: None }
    }

    /// The next objects, at most `most`; fewer at the end. Private ones only where `private`.
    pub fn next(&mut self, table: &Table, private: bool, most: usize) -> Vec<Handle> {
        let mut found = Vec::new();
        while found.len() < most
            && let Some(list) = self.list
        {
            let least = if list == List::All { PAGE_OF_ALL } else { PAGE.0 };
            let page = (most - found.len()).clamp(least, PAGE.1);
            let handles = table.page(list, self.last, page);
            let ends = handles.len() < page;
            for handle in handles {
                if found.len() == most {
                    return found;
                }
                self.last = Some(handle);
                if table.get(handle).is_ok_and(|place| fits(&place.object(), &self.template, private)) {
                    found.push(handle);
                }
            }
            if ends {
                self.list = None;
            }
        }
        found
    }
}

/// Finds all objects with these attributes; private ones only where `private`.
pub fn all(table: &Table, template: &Attributes, private: bool) -> Vec<Handle> {
    Search::new(table, template.clone()).next(table, private, usize::MAX)
}

/// Whether an object is seen, and has all attributes of a template; of secrets that do not leave it, none.
fn fits(object: &Object, template: &Attributes, private: bool) -> bool {
    (private || !object.is_private())
        && template.iter().all(|(kind, value): (_, &Value)| {
            let computed = kind == CKA_CHECK_VALUE && check::value(&object.attributes) == Ok(Some(value.clone()));
            let same = object.attributes.get(kind) == Some(value) || computed;
            same && !schema::is_secret(&object.attributes, kind)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cryptoki_sys::*;

    fn object(label: &[u8], private: bool) -> Object {
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, CKO_DATA).unwrap();
        attributes.set(CKA_LABEL, label).unwrap();
        attributes.set_bool(CKA_PRIVATE, private).unwrap();
        Object::new(attributes)
    }

    #[test]
    fn a_search_goes_on_where_it_was_whatever_goes_and_comes() {
        let table = Table::new();
        let mut class = Attributes::default();
        class.set_number(CKA_CLASS, CKO_DATA).unwrap();
        // Every third is private.
        let mut all: Vec<Handle> =
            (0..5000).map(|at| table.insert(object(b"one", at % 3 == 0), None).unwrap()).collect();
        let mut public: Vec<Handle> = all.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, it)| *it).collect();
        // They are found by handle, and places that other tests have left are taken again.
        all.sort_unstable();
        public.sort_unstable();
        for (private, expected) in [(true, &all), (false, &public)] {
            for most in [1, 7, 16, 17, 1000, 6000] {
                let mut search = Search::new(&table, class.clone());
                let mut found = Vec::new();
                loop {
                    let next = search.next(&table, private, most);
                    found.extend_from_slice(&next);
                    if next.len() < most {
                        break;
                    }
                }
                assert_eq!(&found, expected, "{most} at a time");
                assert_eq!(search.next(&table, private, most), [], "after the end");
            }
        }
        // Objects that are destroyed as they are found, as programs do, and others that are not yet found.
        let mut search = Search::new(&table, class.clone());
        let mut count = 0;
        loop {
            let next = search.next(&table, true, 3);
            if next.is_empty() {
                break;
            }
            count += next.len();
            next.into_iter().for_each(|handle| table.remove(handle).unwrap());
            if let Some(last) = table.page(List::All, None, 5000).last() {
                table.remove(*last).unwrap();
            }
        }
        assert!(table.page(List::All, None, 1).is_empty());
        assert!((3750..=3753).contains(&count), "{count}");
    }
}
