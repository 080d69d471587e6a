//! `OSSL_PARAM` values of any type, width and content, read and written.
#![no_main]

use adjunct_ossl::param::{self, Param};
use libfuzzer_sys::fuzz_target;
use std::ffi::c_void;

const GUARD: u8 = 0xa5;

fuzz_target!(|input: (u8, u8, bool, Vec<u8>, u64, Vec<u8>)| {
    let (data_type, width, null, value, number, text) = input;
    let width = usize::from(width).min(64);
    let mut buffer = vec![GUARD; width + 16];
    let used = value.len().min(width);
    buffer[..used].copy_from_slice(&value[..used]);
    let pointer = matches!(u32::from(data_type), param::UTF8_PTR | param::OCTETS_PTR);
    // A pointer type's data is a pointer: what it points to is not for a fuzzer to make up.
    let mut target: *const u8 = buffer.as_ptr();
    let data: *mut c_void = match (null, pointer) {
        (true, _) => std::ptr::null_mut(),
        (_, true) => std::ptr::from_mut(&mut target).cast(),
        _ => buffer.as_mut_ptr().cast(),
    };
    let mut param = Param {
        key: c"fuzz".as_ptr(),
        data_type: data_type.into(),
        data,
        data_size: width,
        return_size: param::UNMODIFIED,
    };
    let unsigned = param.get_u64();
    if let (Some(unsigned), Some(signed)) = (unsigned, param.get_i64()) {
        assert_eq!(i64::try_from(unsigned).ok(), Some(signed));
    }
    let _ = param.get_usize();
    assert!(param.get_octets().is_none_or(|o| o.len() == width || o.is_empty()));
    assert!(param.get_str().is_none_or(|s| s.len() <= width));
    let _ = param.get_bignum();
    if pointer {
        return;
    }
    if param.set_u64(number) && !null {
        assert_eq!(param.get_u64(), Some(number));
    }
    let _ = param.set_octets(&text);
    let _ = param.set_utf8(&text);
    let _ = param.set_bignum(&text);
    assert!(buffer[width..].iter().all(|&b| b == GUARD), "written past the end");
});
