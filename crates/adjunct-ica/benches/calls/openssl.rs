//! The system's OpenSSL, as a program calls it that has no libica: a new context for each message.

#![allow(clippy::too_many_arguments, reason = "as OpenSSL's functions have")]

use super::interface::object;
use adjunct_ossl::param::Param;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

type Pointer = *mut c_void;

const SET_IV_LENGTH: c_int = 0x9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

adjunct_ossl::functions! {
    #[derive(Debug)]
    pub OpenSsl:
        version_text c"OpenSSL_version" (c_int) -> *const c_char;
        cipher_fetch c"EVP_CIPHER_fetch" (Pointer, *const c_char, *const c_char) -> Pointer;
        cipher_new c"EVP_CIPHER_CTX_new" () -> Pointer;
        cipher_free c"EVP_CIPHER_CTX_free" (Pointer);
        ctrl c"EVP_CIPHER_CTX_ctrl" (Pointer, c_int, c_int, *mut c_void) -> c_int;
        padding c"EVP_CIPHER_CTX_set_padding" (Pointer, c_int) -> c_int;
        cipher_init c"EVP_CipherInit_ex2" (Pointer, Pointer, *const u8, *const u8, c_int, *const Param) -> c_int;
        cipher_update c"EVP_CipherUpdate" (Pointer, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
        cipher_final c"EVP_CipherFinal_ex" (Pointer, *mut u8, *mut c_int) -> c_int;
        md_fetch c"EVP_MD_fetch" (Pointer, *const c_char, *const c_char) -> Pointer;
        md_new c"EVP_MD_CTX_new" () -> Pointer;
        md_free c"EVP_MD_CTX_free" (Pointer);
        md_init c"EVP_DigestInit_ex2" (Pointer, Pointer, *const Param) -> c_int;
        md_update c"EVP_DigestUpdate" (Pointer, *const u8, usize) -> c_int;
        md_final c"EVP_DigestFinal_ex" (Pointer, *mut u8, *mut c_uint) -> c_int;
        md_final_xof c"EVP_DigestFinalXOF" (Pointer, *mut u8, usize) -> c_int;
        mac_fetch c"EVP_MAC_fetch" (Pointer, *const c_char, *const c_char) -> Pointer;
        mac_new c"EVP_MAC_CTX_new" (Pointer) -> Pointer;
        mac_free c"EVP_MAC_CTX_free" (Pointer);
        mac_init c"EVP_MAC_init" (Pointer, *const u8, usize, *const Param) -> c_int;
        mac_update c"EVP_MAC_update" (Pointer, *const u8, usize) -> c_int;
        mac_final c"EVP_MAC_final" (Pointer, *mut u8, *mut usize, usize) -> c_int;
}

/// A parameter with a text, and the end of the array.
fn text(key: &'static CStr, value: &'static CStr) -> [Param; 2] {
    [Param::text(key, value), Param::END]
}

/// The system's libcrypto.
pub fn load() -> &'static OpenSsl {
    let object = [c"libcrypto.so.3", c"libcrypto.so.4"].iter().find_map(|name| object(name, c"OpenSSL_version"));
    Box::leak(Box::new(OpenSsl::find(object.expect("an OpenSSL")).expect("its functions")))
}

impl OpenSsl {
    pub fn version(&self) -> String {
        unsafe { CStr::from_ptr((self.version_text)(0)) }.to_string_lossy().into_owned()
    }

    pub fn cipher(&self, name: &str) -> Pointer {
        let name = CString::new(name).expect("a name");
        unsafe { (self.cipher_fetch)(null_mut(), name.as_ptr(), null()) }
    }

    pub fn md(&self, name: &str) -> Pointer {
        let name = CString::new(name).expect("a name");
        unsafe { (self.md_fetch)(null_mut(), name.as_ptr(), null()) }
    }

    /// Runs a message through a cipher without padding; with ciphertext stealing where that is named.
    #[inline]
    pub fn message(
        &self,
        cipher: Pointer,
        stealing: Option<&'static CStr>,
        key: &[u8],
        iv: Option<&[u8; 16]>,
        encrypt: bool,
        input: &[u8],
        output: &mut [u8],
    ) {
        let (mut done, mut last) = (0, 0);
        let params = stealing.map(|variant| text(c"cts_mode", variant));
        unsafe {
            let ctx = (self.cipher_new)();
            let (iv, params) = (iv.map_or(null(), |iv| iv.as_ptr()), params.as_ref().map_or(null(), |p| p.as_ptr()));
            assert_eq!((self.cipher_init)(ctx, cipher, key.as_ptr(), iv, encrypt.into(), params), 1);
            (self.padding)(ctx, 0);
            (self.cipher_update)(ctx, output.as_mut_ptr(), &mut done, input.as_ptr(), input.len() as c_int);
            (self.cipher_final)(ctx, output.as_mut_ptr().add(done as usize), &mut last);
            (self.cipher_free)(ctx);
        }
        assert_eq!((done + last) as usize, input.len());
    }

    /// Encrypts a message of an AEAD; its tag is behind it.
    #[inline]
    pub fn seal(
        &self,
        cipher: Pointer,
        ccm: bool,
        key: &[u8],
        iv: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) {
        let (mut done, length) = (0, input.len() as c_int);
        unsafe {
            let ctx = (self.cipher_new)();
            (self.cipher_init)(ctx, cipher, null(), null(), 1, null());
            if ccm {
                (self.ctrl)(ctx, SET_IV_LENGTH, 12, null_mut());
                (self.ctrl)(ctx, SET_TAG, 16, null_mut());
            }
            assert_eq!((self.cipher_init)(ctx, null_mut(), key.as_ptr(), iv.as_ptr(), 1, null()), 1);
            if ccm {
                (self.cipher_update)(ctx, null_mut(), &mut done, null(), length);
            }
            (self.cipher_update)(ctx, null_mut(), &mut done, aad.as_ptr(), aad.len() as c_int);
            (self.cipher_update)(ctx, output.as_mut_ptr(), &mut done, input.as_ptr(), length);
            assert_eq!(done, length);
            (self.cipher_final)(ctx, output.as_mut_ptr(), &mut done);
            (self.ctrl)(ctx, GET_TAG, 16, output[input.len()..].as_mut_ptr().cast());
            (self.cipher_free)(ctx);
        }
    }

    /// Hashes a message.
    #[inline]
    pub fn digest(&self, md: Pointer, xof: bool, input: &[u8], output: &mut [u8]) {
        unsafe {
            let ctx = (self.md_new)();
            assert_eq!((self.md_init)(ctx, md, null()), 1);
            (self.md_update)(ctx, input.as_ptr(), input.len());
            if xof {
                (self.md_final_xof)(ctx, output.as_mut_ptr(), output.len());
            } else {
                (self.md_final)(ctx, output.as_mut_ptr(), null_mut());
            }
            (self.md_free)(ctx);
        }
    }

    /// Computes a CMAC over AES.
    #[inline]
    pub fn cmac(&self, mac: Pointer, cipher: &'static CStr, key: &[u8], input: &[u8], output: &mut [u8]) {
        let params = text(c"cipher", cipher);
        let mut length = 0;
        unsafe {
            let ctx = (self.mac_new)(mac);
            assert_eq!((self.mac_init)(ctx, key.as_ptr(), key.len(), params.as_ptr()), 1);
            (self.mac_update)(ctx, input.as_ptr(), input.len());
            (self.mac_final)(ctx, output.as_mut_ptr(), &mut length, 16);
            (self.mac_free)(ctx);
        }
    }

    pub fn mac(&self) -> Pointer {
        unsafe { (self.mac_fetch)(null_mut(), c"CMAC".as_ptr(), null()) }
    }
}
