//! The reader of openssl.cnf beside OpenSSL's own: what one accepts the other does, and every value is the same.

use adjunct_openssl_conf::{Model, NoIncludes, Refused};
use libloading::{Library, Symbol};
use proptest::prelude::*;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};

type Pointer = *mut c_void;

/// OpenSSL's reader, by libcrypto found at run time.
struct Reader(Library);

impl Reader {
    fn new() -> Option<Reader> {
        // SAFETY: libcrypto's initialisers may run in any program.
        let found = ["libcrypto.so.3", "libcrypto.so.4"].iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        if found.is_none() {
            eprintln!("no libcrypto on this machine: not tested");
        }
        found.map(Reader)
    }

    /// The values of `names` in `sections` as OpenSSL reads them; `None` where it refuses the text.
    fn read(&self, text: &[u8], sections: &[&str], names: &[&str]) -> Option<Vec<Option<Vec<u8>>>> {
        // SAFETY: the symbols have the types of bio.h and conf.h; every object is freed once, after its last use; values
        // are copied before that.
        unsafe {
            let new_bio: Symbol<unsafe extern "C" fn(*const c_void, c_int) -> Pointer> =
                self.0.get(b"BIO_new_mem_buf\0").unwrap();
            let free_bio: Symbol<unsafe extern "C" fn(Pointer) -> c_int> = self.0.get(b"BIO_free\0").unwrap();
            let new_conf: Symbol<unsafe extern "C" fn(Pointer) -> Pointer> = self.0.get(b"NCONF_new\0").unwrap();
            let free_conf: Symbol<unsafe extern "C" fn(Pointer)> = self.0.get(b"NCONF_free\0").unwrap();
            let load: Symbol<unsafe extern "C" fn(Pointer, Pointer, *mut c_long) -> c_int> =
                self.0.get(b"NCONF_load_bio\0").unwrap();
            let value: Symbol<unsafe extern "C" fn(Pointer, *const c_char, *const c_char) -> *const c_char> =
                self.0.get(b"NCONF_get_string\0").unwrap();
            let clear: Symbol<unsafe extern "C" fn()> = self.0.get(b"ERR_clear_error\0").unwrap();

            let bio = new_bio(text.as_ptr().cast(), c_int::try_from(text.len()).unwrap());
            let conf = new_conf(std::ptr::null_mut());
            let mut line = 0;
            let values = (load(conf, bio, &mut line) > 0).then(|| {
                let pairs = sections.iter().flat_map(|s| names.iter().map(move |n| (*s, *n)));
                let get = |(section, name): (&str, &str)| {
                    let (section, name) = (CString::new(section).unwrap(), CString::new(name).unwrap());
                    let found = value(conf, section.as_ptr(), name.as_ptr());
                    (!found.is_null()).then(|| CStr::from_ptr(found).to_bytes().to_vec())
                };
                pairs.map(get).collect()
            });
            clear();
            free_conf(conf);
            free_bio(bio);
            values
        }
    }
}

const SECTIONS: &[&str] = &["default", "s", "t", "my sect", "", "a$b", "v"];
const NAMES: &[&str] = &["a", "b", "c", "a$b", "", "x.y", "s"];

/// Our values, in the same order; OpenSSL looks into the default section where the named one has no such entry.
fn ours(model: &Model) -> Vec<Option<Vec<u8>>> {
    let pairs = SECTIONS.iter().flat_map(|s| NAMES.iter().map(move |n| (s.as_bytes(), n.as_bytes())));
    let get = |(section, name): (&[u8], &[u8])| {
        model.entry(section, name).or_else(|| model.entry(b"default", name)).map(|e| e.value.clone())
    };
    pairs.map(get).collect()
}

fn compare(reader: &Reader, text: &[u8]) -> Result<(), TestCaseError> {
    let shown = String::from_utf8_lossy(text).into_owned();
    match (Model::read(text, &NoIncludes), reader.read(text, SECTIONS, NAMES)) {
        (Ok(model), Some(theirs)) => prop_assert_eq!(ours(&model), theirs, "{:?}", shown),
        (Ok(_), None) => prop_assert!(false, "only OpenSSL refuses {:?}", shown),
        // Ours is the stricter one: NUL bytes, stray carriage returns, included files.
        (Err(Refused::Include(..)), _) => {}
        (Err(refused), Some(_)) => {
            let strict = refused.to_string().contains("NUL byte");
            prop_assert!(strict, "only we refuse {:?}: {}", shown, refused);
        }
        (Err(_), None) => {}
    }
    Ok(())
}

/// A piece of a line: what has a meaning, alone or together.
fn piece() -> impl Strategy<Value = String> {
    let known = vec![
        "a",
        "b",
        "c",
        "s",
        "t",
        "x.y",
        "my sect",
        " ",
        "\t",
        "=",
        " = ",
        "[",
        "]",
        "[s]",
        "[ t ]",
        "[my sect]",
        "[$a]",
        "[]",
        "::",
        "s::",
        "$",
        "$a",
        "${a}",
        "$(b)",
        "$s::a",
        "${s::a}",
        "${a",
        "\\",
        "\\\\",
        "\\n",
        "\\#",
        "'",
        "\"",
        "`",
        "#",
        "# c",
        ";",
        "{",
        "}",
        "(",
        ")",
        ".pragma dollarid:on",
        ".pragma dollarid:off",
        ".pragma",
        ":on",
        "\\\n",
        "\\\r\n",
        "\n",
        "\r\n",
        "\r\r\n",
        "a = ",
        "b = $a",
        "[s]\n",
        "[default]\n",
        "a$b",
        "\u{e9}",
        "v",
    ];
    prop_oneof![9 => proptest::sample::select(known).prop_map(str::to_owned), 1 => "[ -~]{0,3}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_readers_see_the_same(pieces in proptest::collection::vec(piece(), 0..24), bom in 0..20) {
        thread_local!(static READER: Option<Reader> = Reader::new());
        let text = if bom == 0 { "\u{feff}" } else { "" }.to_owned() + &pieces.concat();
        READER.with(|reader| reader.as_ref().map_or(Ok(()), |r| compare(r, text.as_bytes())))?;
    }
}

#[test]
fn long_lines_are_read_as_one() {
    let Some(reader) = Reader::new() else { return };
    for length in (500..520).chain(1015..1030) {
        for end in ["\n", "\r\n", "", "\\\nx\n", "\\\\\n"] {
            let text = format!("a = {}{end}b = 1\n", "v".repeat(length));
            compare(&reader, text.as_bytes()).unwrap();
        }
    }
}
