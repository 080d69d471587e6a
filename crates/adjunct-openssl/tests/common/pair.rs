//! The same calls on a cipher of OpenSSL's default provider and on ours.

use super::*;
use std::ptr::{null, null_mut};

/// What each provider answered to the same call.
pub struct Pair {
    pub name: String,
    pub log: Vec<String>,
    pub stock: CipherCtx,
    pub ours: CipherCtx,
}

pub struct Fetched {
    pub stock: Cipher,
    pub ours: Cipher,
}

impl Drop for Fetched {
    fn drop(&mut self) {
        unsafe {
            EVP_CIPHER_free(self.stock);
            EVP_CIPHER_free(self.ours);
        }
    }
}

pub fn fetch(name: &str) -> Fetched {
    let c = CString::new(name).unwrap();
    unsafe {
        let stock = EVP_CIPHER_fetch(library().0, c.as_ptr(), DEFAULT.as_ptr());
        let ours = EVP_CIPHER_fetch(library().0, c.as_ptr(), ADJUNCT.as_ptr());
        assert!(!stock.is_null(), "{name}: {}", errors());
        assert!(!ours.is_null(), "{name} is not offered: {}", errors());
        Fetched { stock, ours }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        unsafe {
            EVP_CIPHER_CTX_free(self.stock);
            EVP_CIPHER_CTX_free(self.ours);
        }
    }
}

impl Pair {
    pub fn new(name: &str, seed: u64) -> Pair {
        let log = vec![format!("seed {seed}")];
        unsafe { Pair { name: name.to_owned(), log, stock: EVP_CIPHER_CTX_new(), ours: EVP_CIPHER_CTX_new() } }
    }

    /// Makes one call on both contexts and compares the results.
    pub fn both<T: PartialEq + std::fmt::Debug>(&mut self, what: String, call: impl Fn(CipherCtx) -> T) -> T {
        self.log.push(what);
        let stock = call(self.stock);
        let stock_errors = record::queue();
        let ours = call(self.ours);
        let our_errors = record::queue();
        assert!(
            stock == ours && stock_errors == our_errors,
            "{}: stock {stock:02x?} [{stock_errors}], ours {ours:02x?} [{our_errors}]\nafter {:#?}",
            self.name,
            self.log
        );
        ours
    }

    pub fn init(&mut self, fetched: Option<&Fetched>, key: Option<&[u8]>, iv: Option<&[u8]>, enc: c_int) -> c_int {
        let (stock, ours) = (self.stock, fetched.map(|f| (f.stock, f.ours)));
        self.both(format!("init cipher {} key {key:02x?} iv {iv:02x?} enc {enc}", fetched.is_some()), |ctx| unsafe {
            let cipher = ours.map_or(null_mut(), |(s, o)| if ctx == stock { s } else { o });
            let key = key.map_or(null(), <[u8]>::as_ptr);
            EVP_CipherInit_ex(ctx, cipher, null_mut(), key, iv.map_or(null(), <[u8]>::as_ptr), enc)
        })
    }

    pub fn update(&mut self, data: &[u8], in_place: bool) -> (c_int, Vec<u8>) {
        self.both(format!("update {} in place {in_place}", data.len()), |ctx| unsafe {
            let mut out = vec![0u8; data.len() + 32];
            let mut len = 0;
            let input = if in_place {
                out[..data.len()].copy_from_slice(data);
                out.as_ptr()
            } else {
                data.as_ptr()
            };
            let rc = EVP_CipherUpdate(ctx, out.as_mut_ptr(), &mut len, input, data.len() as c_int);
            out.truncate(if rc == 1 { len as usize } else { 0 });
            (rc, out)
        })
    }

    pub fn aad(&mut self, data: &[u8]) -> c_int {
        self.both(format!("aad {}", data.len()), |ctx| unsafe {
            let mut len = 0;
            EVP_CipherUpdate(ctx, null_mut(), &mut len, data.as_ptr(), data.len() as c_int)
        })
    }

    pub fn finish(&mut self) -> (c_int, Vec<u8>) {
        self.both("final".to_owned(), |ctx| unsafe {
            let mut out = vec![0u8; 64];
            let mut len = 0;
            let rc = EVP_CipherFinal_ex(ctx, out.as_mut_ptr(), &mut len);
            out.truncate(if rc == 1 { len as usize } else { 0 });
            (rc, out)
        })
    }

    pub fn cipher(&mut self, data: &[u8], in_place: bool) -> (c_int, Vec<u8>) {
        self.both(format!("EVP_Cipher {} in place {in_place}", data.len()), |ctx| unsafe {
            let mut out = vec![0u8; data.len() + 16];
            let input = if in_place {
                out[..data.len()].copy_from_slice(data);
                out.as_ptr()
            } else {
                data.as_ptr()
            };
            let rc = EVP_Cipher(ctx, out.as_mut_ptr(), input, data.len() as c_uint);
            out.truncate(if rc > 0 { data.len() } else { 0 });
            (rc, out)
        })
    }

    pub fn ctrl(&mut self, kind: c_int, arg: c_int, data: &[u8]) -> (c_int, Vec<u8>) {
        self.both(format!("ctrl {kind:#x} {arg} {data:02x?}"), |ctx| unsafe {
            let mut buffer = data.to_vec();
            let pointer = if data.is_empty() { null_mut() } else { buffer.as_mut_ptr().cast::<c_void>() };
            (EVP_CIPHER_CTX_ctrl(ctx, kind, arg, pointer), buffer)
        })
    }

    pub fn copy(&mut self) {
        self.both("copy".to_owned(), |_| ());
        for ctx in [&mut self.stock, &mut self.ours] {
            unsafe {
                let new = EVP_CIPHER_CTX_new();
                assert_eq!(EVP_CIPHER_CTX_copy(new, *ctx), 1, "{}", errors());
                EVP_CIPHER_CTX_free(*ctx);
                *ctx = new;
            }
        }
    }

    pub fn look(&mut self) {
        self.both("look".to_owned(), |ctx| unsafe {
            let mut ivs = [[0u8; 16]; 2];
            let a = EVP_CIPHER_CTX_get_updated_iv(ctx, ivs[0].as_mut_ptr().cast(), 16);
            let b = EVP_CIPHER_CTX_get_original_iv(ctx, ivs[1].as_mut_ptr().cast(), 16);
            let num = EVP_CIPHER_CTX_get_num(ctx);
            (a, b, ivs, num, EVP_CIPHER_CTX_get_key_length(ctx), EVP_CIPHER_CTX_get_iv_length(ctx))
        });
    }
}

pub const SET_IVLEN: c_int = 0x9;
pub const GET_TAG: c_int = 0x10;
pub const SET_TAG: c_int = 0x11;
pub const SET_IV_FIXED: c_int = 0x12;
pub const IV_GEN: c_int = 0x13;
pub const TLS1_AAD: c_int = 0x16;
pub const SET_IV_INV: c_int = 0x18;

pub const SIMPLE: &[&str] = &[
    "AES-128-ECB",
    "AES-192-ECB",
    "AES-256-ECB",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-256-CBC",
    "AES-128-CTR",
    "AES-192-CTR",
    "AES-256-CTR",
    "AES-128-CFB",
    "AES-192-CFB",
    "AES-256-CFB",
    "AES-128-CFB8",
    "AES-192-CFB8",
    "AES-256-CFB8",
    "AES-128-CFB1",
    "AES-192-CFB1",
    "AES-256-CFB1",
    "AES-128-OFB",
    "AES-192-OFB",
    "AES-256-OFB",
    "DES-EDE3-CBC",
    "ChaCha20",
];

pub const XTS: &[&str] = &["AES-128-XTS", "AES-256-XTS"];

pub const CCM: &[&str] = &["AES-128-CCM", "AES-192-CCM", "AES-256-CCM"];

pub const GCM: &[&str] = &["AES-128-GCM", "AES-192-GCM", "AES-256-GCM"];

/// Runs the other tests of this program with instructions taken away: the code for lesser CPUs gives the same. To be
/// called from a test whose name has `lesser` in it.
pub fn under_masks() {
    const MASK: &str = "ADJUNCT_CPU";
    if std::env::var_os(MASK).is_some() {
        return;
    }
    let runs = ["-avx512", "-vaes", "-vpclmul", "-aes,-pclmul", "-aes,-pclmul,-ssse3"].map(|mask| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let run = command.env(MASK, mask).args(["--skip", "lesser"]).output().unwrap();
        (mask, run)
    });
    for (mask, run) in runs {
        assert!(run.status.success(), "{mask}: {}", String::from_utf8_lossy(&run.stdout));
    }
}
