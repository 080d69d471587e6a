//! Numbers and layouts against those of OpenSSL's own headers, as the C compiler sees them.

use adjunct_ossl::dispatch::{Dispatch, OsslAlgorithm};
use adjunct_ossl::param::Param;
use adjunct_ossl::{id, param, reason};
use std::collections::HashMap;
use std::fmt::Write;
use std::mem::{align_of, offset_of, size_of};
use std::process::Command;

/// What the headers say of each expression.
fn ask_headers(expressions: &[&str]) -> HashMap<String, i64> {
    let text = expressions.iter().map(|e| print(e)).collect();
    run(text)
}

/// The line of C that prints an expression and its value.
fn print(expression: &str) -> String {
    format!("printf(\"%s\\t%lld\\n\", \"{expression}\", (long long)({expression}));\n")
}

/// Compiles and runs a program with the headers and these statements, which print `name value` a line.
fn run(statements: String) -> HashMap<String, i64> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("ask.c"), folder.path().join("ask"));
    let mut text = String::from(
        "#include <openssl/core.h>\n#include <openssl/core_dispatch.h>\n#include <openssl/params.h>\n\
         #include <openssl/err.h>\n#include <openssl/cryptoerr.h>\n#include <openssl/ecerr.h>\n\
         #include <openssl/evperr.h>\n#include <openssl/proverr.h>\n#include <openssl/rsaerr.h>\n\
         #include <stddef.h>\n#include <stdio.h>\n#define ALIGN(type) offsetof(struct { char c; type t; }, t)\n\
         int main(void) {\n",
    );
    text.push_str(&statements);
    text.push_str("return 0; }\n");
    std::fs::write(&source, text).expect("the source is written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(&compiler).arg(&source).arg("-o").arg(&program).output();
    let built = built.unwrap_or_else(|e| panic!("{compiler}: {e}; a C compiler is needed"));
    assert!(
        built.status.success(),
        "OpenSSL's headers (libssl-dev) are needed, or they lack a name:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let printed = Command::new(&program).output().expect("the program runs").stdout;
    String::from_utf8(printed)
        .expect("text")
        .lines()
        .map(|line| line.split_once('\t').expect("name and value"))
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

#[test]
fn every_number_is_the_headers() {
    let names: Vec<&str> = id::ALL.iter().map(|&(name, _)| name).collect();
    let headers = ask_headers(&names);
    assert!(names.len() > 100, "the table is whole");
    for &(name, ours) in id::ALL {
        assert_eq!(i64::from(ours), headers[name], "{name}");
    }
}

#[test]
fn every_reason_is_the_headers() {
    let libraries = [
        ("ERR_LIB_PROV", reason::prov::ALL),
        ("ERR_LIB_RSA", reason::rsa::ALL),
        ("ERR_LIB_EC", reason::ec::ALL),
        ("ERR_LIB_EVP", reason::evp::ALL),
        ("ERR_LIB_CRYPTO", reason::crypto::ALL),
    ];
    let packed = |library: &str, name: &str| format!("ERR_PACK({library}, 0, {name})");
    // The newest headers have more reasons than the oldest: those that these lack are left out.
    let mut statements = String::new();
    let mut ours = Vec::new();
    for (library, all) in libraries {
        for &(name, code) in all {
            let expression = packed(library, name);
            let _ = write!(statements, "#ifdef {name}\n{}#endif\n", print(&expression));
            ours.push((expression, code));
        }
    }
    let headers = run(statements);
    ours.retain(|(expression, _)| headers.contains_key(expression));
    assert!(ours.len() > 150, "the tables are whole");
    for (expression, code) in ours {
        assert_eq!(i64::from(code), headers[&expression], "{expression}");
    }
}

#[test]
fn every_reason_that_all_libraries_have_is_the_headers() {
    let packed = |library: &str, name: &str| format!("ERR_PACK({library}, 0, {name})");
    let general = [
        (reason::prov::MALLOC_FAILURE, "ERR_R_MALLOC_FAILURE"),
        (reason::prov::PASSED_NULL_PARAMETER, "ERR_R_PASSED_NULL_PARAMETER"),
        (reason::prov::INTERNAL_ERROR, "ERR_R_INTERNAL_ERROR"),
        (reason::prov::INIT_FAIL, "ERR_R_INIT_FAIL"),
        (reason::prov::PASSED_INVALID_ARGUMENT, "ERR_R_PASSED_INVALID_ARGUMENT"),
        (reason::prov::OPERATION_FAIL, "ERR_R_OPERATION_FAIL"),
        (reason::prov::UNSUPPORTED, "ERR_R_UNSUPPORTED"),
        (reason::prov::FETCH_FAILED, "ERR_R_FETCH_FAILED"),
        (reason::prov::UNABLE_TO_GET_WRITE_LOCK, "ERR_R_UNABLE_TO_GET_WRITE_LOCK"),
        (reason::prov::RSA_LIB, "ERR_R_RSA_LIB"),
        (reason::prov::EC_LIB, "ERR_R_EC_LIB"),
        (reason::prov::ECDSA_LIB, "ERR_R_ECDSA_LIB"),
        (reason::prov::CRYPTO_LIB, "ERR_R_CRYPTO_LIB"),
    ];
    let mut ours: Vec<_> = general.map(|(reason, name)| (packed("ERR_LIB_PROV", name), reason.code())).to_vec();
    ours.extend([
        (packed("ERR_LIB_RSA", "ERR_R_BN_LIB"), reason::rsa::BN_LIB.code()),
        (packed("ERR_LIB_EC", "ERR_R_EVP_LIB"), reason::ec::EVP_LIB.code()),
        (packed("ERR_LIB_EVP", "ERR_R_PROV_LIB"), reason::evp::PROV_LIB.code()),
    ]);
    let headers = ask_headers(&ours.iter().map(|o| o.0.as_str()).collect::<Vec<_>>());
    for (expression, code) in ours {
        assert_eq!(i64::from(code), headers[&expression], "{expression}");
    }
}

#[test]
fn parameter_types_are_the_headers() {
    let ours: [(&str, i64); 7] = [
        ("OSSL_PARAM_INTEGER", param::INTEGER.into()),
        ("OSSL_PARAM_UNSIGNED_INTEGER", param::UNSIGNED.into()),
        ("OSSL_PARAM_UTF8_STRING", param::UTF8.into()),
        ("OSSL_PARAM_OCTET_STRING", param::OCTETS.into()),
        ("OSSL_PARAM_UTF8_PTR", param::UTF8_PTR.into()),
        ("OSSL_PARAM_OCTET_PTR", param::OCTETS_PTR.into()),
        ("OSSL_PARAM_UNMODIFIED", param::UNMODIFIED as i64),
    ];
    let headers = ask_headers(&ours.map(|o| o.0));
    for (name, value) in ours {
        assert_eq!(headers[name], value, "{name}");
    }
}

#[test]
fn layouts_are_the_headers() {
    let mut ours: Vec<(&str, usize)> = Vec::new();
    macro_rules! layout {
        ($rust:ty, $size:literal, $align:literal $(, $field:ident: $offset:literal)*) => {
            ours.push(($size, size_of::<$rust>()));
            ours.push(($align, align_of::<$rust>()));
            $(ours.push(($offset, offset_of!($rust, $field)));)*
        };
    }
    layout!(Param, "sizeof(OSSL_PARAM)", "ALIGN(OSSL_PARAM)",
        key: "offsetof(OSSL_PARAM, key)",
        data_type: "offsetof(OSSL_PARAM, data_type)",
        data: "offsetof(OSSL_PARAM, data)",
        data_size: "offsetof(OSSL_PARAM, data_size)",
        return_size: "offsetof(OSSL_PARAM, return_size)");
    layout!(Dispatch, "sizeof(OSSL_DISPATCH)", "ALIGN(OSSL_DISPATCH)",
        id: "offsetof(OSSL_DISPATCH, function_id)",
        function: "offsetof(OSSL_DISPATCH, function)");
    layout!(OsslAlgorithm, "sizeof(OSSL_ALGORITHM)", "ALIGN(OSSL_ALGORITHM)");
    let headers = ask_headers(&ours.iter().map(|o| o.0).collect::<Vec<_>>());
    for (expression, value) in ours {
        assert_eq!(headers[expression], value as i64, "{expression}");
    }
}

#[test]
fn an_algorithm_stands_where_the_headers_say() {
    static TABLE: [Dispatch; 1] = [Dispatch::END];
    let (names, properties, description) = (c"A:B", c"provider=us", c"words");
    let entry = OsslAlgorithm::new(names, properties, &TABLE, description);
    let fields = ["algorithm_names", "property_definition", "implementation", "algorithm_description"];
    let expressions = fields.map(|f| format!("offsetof(OSSL_ALGORITHM, {f})"));
    let headers = ask_headers(&expressions.each_ref().map(String::as_str));
    let at = |field: usize| {
        let offset = headers[&expressions[field]] as usize;
        // SAFETY: the offset of a pointer field inside `entry`, whose size another test compares.
        unsafe { (&raw const entry).cast::<u8>().add(offset).cast::<usize>().read() }
    };
    assert_eq!(at(0), names.as_ptr() as usize);
    assert_eq!(at(1), properties.as_ptr() as usize);
    assert_eq!(at(2), TABLE.as_ptr() as usize);
    assert_eq!(at(3), description.as_ptr() as usize);
}
