//! A cipher's context of one provider, whose every call is recorded.

use super::record::Recorder;
use super::*;
use std::ptr::{null, null_mut};

/// A context of a provider's cipher and the record of what is done with it.
pub struct Subject<'a> {
    pub r: &'a mut Recorder,
    pub cipher: Cipher,
    pub ctx: CipherCtx,
    /// Whether the output of the cipher is random.
    pub random: bool,
}

/// A parameter as a cipher describes it.
struct Described {
    key: &'static CStr,
    data_type: c_uint,
    size: usize,
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        unsafe {
            EVP_CIPHER_CTX_free(self.ctx);
            EVP_CIPHER_free(self.cipher);
        }
    }
}

impl<'a> Subject<'a> {
    pub fn new(r: &'a mut Recorder, name: &str, query: &CStr) -> Subject<'a> {
        let c = CString::new(name).unwrap();
        let cipher = unsafe { EVP_CIPHER_fetch(library().0, c.as_ptr(), query.as_ptr()) };
        assert!(!cipher.is_null(), "{name}: {}", errors());
        Subject { r, cipher, ctx: unsafe { EVP_CIPHER_CTX_new() }, random: false }
    }

    pub fn key_length(&self) -> usize {
        unsafe { EVP_CIPHER_get_key_length(self.cipher) as usize }
    }

    pub fn out(&mut self, what: &str, bytes: &[u8]) {
        if !self.random {
            self.r.bytes(what, bytes);
        }
    }

    pub fn init(&mut self, cipher: bool, key: Option<&[u8]>, iv: Option<&[u8]>, enc: c_int) -> c_int {
        let (ctx, cipher) = (self.ctx, if cipher { self.cipher } else { null_mut() });
        let pointer = |bytes: Option<&[u8]>| bytes.map_or(null(), <[u8]>::as_ptr);
        let text = format!("init cipher {} key {} iv {} enc {enc}", !cipher.is_null(), key.is_some(), iv.is_some());
        self.r.call(text, || unsafe { EVP_CipherInit_ex(ctx, cipher, null_mut(), pointer(key), pointer(iv), enc) })
    }

    pub fn update(&mut self, data: &[u8]) -> c_int {
        let (ctx, mut out, mut n) = (self.ctx, vec![0u8; data.len() + 32], -7);
        let rc = self.r.call(format!("update {}", data.len()), || unsafe {
            EVP_CipherUpdate(ctx, out.as_mut_ptr(), &raw mut n, data.as_ptr(), data.len() as c_int)
        });
        self.r.value("length", n);
        self.out("out", if rc == 1 { &out } else { &[] });
        rc
    }

    pub fn aad(&mut self, data: &[u8]) {
        let (ctx, mut n) = (self.ctx, -7);
        self.r.call(format!("aad {}", data.len()), || unsafe {
            EVP_CipherUpdate(ctx, null_mut(), &raw mut n, data.as_ptr(), data.len() as c_int)
        });
        self.r.value("length", n);
    }

    pub fn message_length(&mut self, length: c_int) {
        let (ctx, mut n) = (self.ctx, -7);
        self.r.call(format!("message length {length}"), || unsafe {
            EVP_CipherUpdate(ctx, null_mut(), &raw mut n, null(), length)
        });
        self.r.value("length", n);
    }

    pub fn finish(&mut self) -> c_int {
        let (ctx, mut out, mut n) = (self.ctx, [0u8; 64], -7);
        let rc = self.r.call("final", || unsafe { EVP_CipherFinal_ex(ctx, out.as_mut_ptr(), &raw mut n) });
        self.r.value("length", n);
        self.out("out", &out);
        rc
    }

    pub fn cipher(&mut self, data: Option<&[u8]>) -> c_int {
        let (ctx, mut out) = (self.ctx, vec![0u8; data.map_or(0, <[u8]>::len) + 32]);
        let length = data.map_or(0, |d| d.len() as c_uint);
        let input = data.map_or(null(), <[u8]>::as_ptr);
        let rc = self.r.call(format!("EVP_Cipher {:?}", data.map(<[u8]>::len)), || unsafe {
            EVP_Cipher(ctx, out.as_mut_ptr(), input, length)
        });
        self.out("out", if rc > 0 { &out } else { &[] });
        rc
    }

    /// A record in place, by `EVP_Cipher`.
    pub fn record(&mut self, data: &[u8]) {
        let (ctx, mut out) = (self.ctx, data.to_vec());
        out.resize(data.len() + 64, 0);
        let p = out.as_mut_ptr();
        let rc =
            self.r.call(format!("record {}", data.len()), || unsafe { EVP_Cipher(ctx, p, p, data.len() as c_uint) });
        self.out("out", if rc > 0 { &out } else { &[] });
    }

    /// `None` passes a null pointer.
    pub fn ctrl(&mut self, kind: c_int, arg: c_int, data: Option<&[u8]>) -> c_int {
        let ctx = self.ctx;
        let mut buffer = data.unwrap_or(&[]).to_vec();
        buffer.resize(buffer.len().max(160), 0);
        let pointer = if data.is_some() { buffer.as_mut_ptr().cast::<c_void>() } else { null_mut() };
        let rc = self.r.call(format!("ctrl {kind:#x} {arg} {}", data.is_some()), || unsafe {
            EVP_CIPHER_CTX_ctrl(ctx, kind, arg, pointer)
        });
        self.out("buffer", &buffer);
        rc
    }

    pub fn number(&mut self, set: bool, key: &'static CStr, data_type: c_uint, size: usize, mut value: u64) {
        let ctx = self.ctx;
        let data = (&raw mut value).cast();
        let mut params = [
            OSSL_PARAM { key: key.as_ptr(), data_type, data, data_size: size, return_size: usize::MAX },
            OSSL_PARAM::END,
        ];
        self.params(format!("{key:?} as {data_type} of {size}"), set, ctx, &mut params);
        self.r.value("value", value);
    }

    pub fn octets(&mut self, set: bool, key: &'static CStr, data_type: c_uint, size: usize, null: bool) {
        let ctx = self.ctx;
        let mut buffer = [0x61u8; 600];
        let data = if null { null_mut() } else { buffer.as_mut_ptr().cast() };
        let mut params = [
            OSSL_PARAM { key: key.as_ptr(), data_type, data, data_size: size, return_size: usize::MAX },
            OSSL_PARAM::END,
        ];
        self.params(format!("{key:?} as {data_type} of {size}, null {null}"), set, ctx, &mut params);
        self.out("buffer", &buffer);
    }

    pub fn params(&mut self, what: String, set: bool, ctx: CipherCtx, params: &mut [OSSL_PARAM; 2]) {
        if set {
            self.r.call(format!("set {what}"), || unsafe { EVP_CIPHER_CTX_set_params(ctx, params.as_ptr()) });
        } else {
            let rc =
                self.r.call(format!("get {what}"), || unsafe { EVP_CIPHER_CTX_get_params(ctx, params.as_mut_ptr()) });
            // Of its tag OpenSSL's own ChaCha20-Poly1305 does not tell the size.
            let poly = unsafe { EVP_CIPHER_is_a(self.cipher, c"ChaCha20-Poly1305".as_ptr()) } == 1;
            if rc == 1 && !(poly && what.contains("\"tag\" as 5")) {
                self.r.value("return size", params[0].return_size as isize);
            }
        }
    }

    pub fn look(&mut self) {
        let ctx = self.ctx;
        for length in [16, 3] {
            let mut iv = [0u8; 16];
            self.r.call(format!("updated iv {length}"), || unsafe {
                EVP_CIPHER_CTX_get_updated_iv(ctx, iv.as_mut_ptr().cast(), length)
            });
            self.out("updated iv", &iv);
            let mut iv = [0u8; 16];
            self.r.call(format!("original iv {length}"), || unsafe {
                EVP_CIPHER_CTX_get_original_iv(ctx, iv.as_mut_ptr().cast(), length)
            });
            self.out("original iv", &iv);
        }
        self.r.call("num", || unsafe { EVP_CIPHER_CTX_get_num(ctx) });
        self.r.call("key length", || unsafe { EVP_CIPHER_CTX_get_key_length(ctx) });
        self.r.call("iv length", || unsafe { EVP_CIPHER_CTX_get_iv_length(ctx) });
        self.r.call("tag length", || unsafe { EVP_CIPHER_CTX_get_tag_length(ctx) });
    }

    /// Records every parameter that the default provider's cipher or ours says it answers, but those whose answer changes the context or is random,
    /// and the one that OpenSSL tells of late and ours always; as the type that is said, the IVs as pointers, too.
    pub fn answers(&mut self) {
        for Described { key, data_type, size } in self.described() {
            match data_type {
                1 | 2 => self.number(false, key, data_type, if size == 4 { 4 } else { 8 }, 0x5555_5555),
                5 => {
                    self.octets(false, key, 5, 16, false);
                    if key.to_bytes().ends_with(b"iv") {
                        self.pointed_at(key);
                    }
                }
                _ => self.pointed_at(key),
            }
        }
    }

    /// What an octet pointer is set to.
    fn pointed_at(&mut self, key: &'static CStr) {
        let (ctx, mut pointer) = (self.ctx, null::<u8>());
        let mut params = [OSSL_PARAM::octets_ptr(key, &mut pointer), OSSL_PARAM::END];
        // CCM asks whether there is room, of a pointer as well.
        params[0].data_size = 16;
        let rc = self.r.call(format!("get {key:?} as a pointer"), || unsafe {
            EVP_CIPHER_CTX_get_params(ctx, params.as_mut_ptr())
        });
        if rc == 1 && params[0].return_size != usize::MAX {
            let there = if pointer.is_null() { 0 } else { params[0].return_size };
            let bytes = unsafe { std::slice::from_raw_parts(if there == 0 { [].as_ptr() } else { pointer }, there) };
            self.out("pointed at", bytes);
        }
    }

    fn described(&self) -> Vec<Described> {
        let name = unsafe { CStr::from_ptr(EVP_CIPHER_get0_name(self.cipher)) };
        let mut all = Vec::<Described>::new();
        for query in [DEFAULT, ADJUNCT] {
            unsafe {
                let cipher = EVP_CIPHER_fetch(library().0, name.as_ptr(), query.as_ptr());
                let mut p = EVP_CIPHER_gettable_ctx_params(cipher);
                while !p.is_null() && !(*p).key.is_null() {
                    // The tables are statics of modules that stay loaded.
                    let key: &'static CStr = CStr::from_ptr((*p).key);
                    let changes = matches!(key.to_bytes(), b"tag" | b"tlsivgen" | b"randkey" | b"iv-generated");
                    if !changes && all.iter().all(|known| known.key != key) {
                        all.push(Described { key, data_type: (*p).data_type, size: (*p).data_size });
                    }
                    p = p.add(1);
                }
                EVP_CIPHER_free(cipher);
            }
        }
        all.sort_by_key(|described| described.key);
        all
    }

    pub fn copy(&mut self) {
        let new = unsafe { EVP_CIPHER_CTX_new() };
        let old = self.ctx;
        if self.r.call("copy", || unsafe { EVP_CIPHER_CTX_copy(new, old) }) == 1 {
            self.ctx = new;
            unsafe { EVP_CIPHER_CTX_free(old) };
        } else {
            unsafe { EVP_CIPHER_CTX_free(new) };
        }
    }
}
