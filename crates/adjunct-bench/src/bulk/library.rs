//! AWS-LC by itself, as a program that links it would call it: for each mode the fastest of its public functions.

use super::subject::{Mode, Subject};
use crate::measure::Work;
use crate::symmetric::{AAD, IV, TAG, key};
use aws_lc_sys as lc;
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// The work on a message: `input`, and `tag` when an AEAD's message is opened. `None` where AWS-LC has no such function.
pub fn work(subject: Subject, input: Vec<u8>, tag: Vec<u8>) -> Option<Work> {
    // AWS-LC's dispatchers see the mask of ADJUNCT_CPU only after this.
    adjunct::cpu::features();
    let bits = subject.bits;
    match subject.mode {
        Mode::Ctr | Mode::Cbc | Mode::Cfb => low_level(subject, input),
        Mode::Ecb => through_evp(subject, input, if bits == 128 { lc::EVP_aes_128_ecb } else { lc::EVP_aes_256_ecb }),
        Mode::Xts if bits == 128 => None,
        Mode::Xts => through_evp(subject, input, lc::EVP_aes_256_xts),
        Mode::Gcm if bits == 128 => aead(subject, input, tag, lc::EVP_aead_aes_128_gcm),
        Mode::Gcm => aead(subject, input, tag, lc::EVP_aead_aes_256_gcm),
        Mode::ChaCha => aead(subject, input, tag, lc::EVP_aead_chacha20_poly1305),
        Mode::Sha512 => sha512(input),
    }
}

fn low_level(subject: Subject, input: Vec<u8>) -> Option<Work> {
    let key = key(subject.key_length());
    let mut schedule = Box::new(lc::AES_KEY { rd_key: [0; 60], rounds: 0 });
    let set = if subject.mode == Mode::Cbc { lc::AES_set_decrypt_key } else { lc::AES_set_encrypt_key };
    // SAFETY: the key has the length given.
    if unsafe { set(key.as_ptr(), key.len() as u32 * 8, &mut *schedule) } != 0 {
        return None;
    }
    let mut output = vec![0; input.len()];
    let once = move |output: &mut Vec<u8>| {
        let (mut iv, mut begun, mut used, mut at) = (IV, [0u8; 16], 0u32, 0 as c_int);
        let (from, to, length) = (input.as_ptr(), output.as_mut_ptr(), input.len());
        // SAFETY: the buffers have the length given; the schedule is set.
        unsafe {
            let (key, iv) = (&raw const *schedule, iv.as_mut_ptr());
            match subject.mode {
                Mode::Cbc => lc::AES_cbc_encrypt(from, to, length, key, iv, 0),
                Mode::Cfb => lc::AES_cfb128_encrypt(from, to, length, key, iv, &mut at, subject.encrypt.into()),
                _ => lc::AES_ctr128_encrypt(from, to, length, key, iv, begun.as_mut_ptr(), &mut used),
            }
        }
    };
    once(&mut output);
    Some(Work::new(output.clone(), move |n| {
        (0..n).for_each(|_| once(&mut output));
        true
    }))
}

struct EvpCipher(*mut lc::EVP_CIPHER_CTX);

impl Drop for EvpCipher {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once.
        unsafe { lc::EVP_CIPHER_CTX_free(self.0) }
    }
}

fn through_evp(
    subject: Subject,
    input: Vec<u8>,
    cipher: unsafe extern "C" fn() -> *const lc::EVP_CIPHER,
) -> Option<Work> {
    let key = key(subject.key_length());
    // SAFETY: key and IV are as long as the cipher wants them.
    let context = unsafe {
        let context = EvpCipher(lc::EVP_CIPHER_CTX_new());
        let encrypt = subject.encrypt.into();
        if lc::EVP_CipherInit_ex(context.0, cipher(), null_mut(), key.as_ptr(), IV.as_ptr(), encrypt) != 1 {
            return None;
        }
        lc::EVP_CIPHER_CTX_set_padding(context.0, 0);
        context
    };
    let mut output = vec![0; input.len() + 16];
    let once = move |output: &mut Vec<u8>| {
        let context = &context;
        let mut made = 0;
        // SAFETY: the context has its key; the output has room for a block more.
        unsafe {
            (subject.mode == Mode::Ecb
                || lc::EVP_CipherInit_ex(context.0, null(), null_mut(), null(), IV.as_ptr(), -1) == 1)
                && lc::EVP_CipherUpdate(context.0, output.as_mut_ptr(), &mut made, input.as_ptr(), input.len() as c_int)
                    == 1
                && made as usize == input.len()
        }
    };
    let done = once(&mut output);
    let proof = output[..output.len() - 16].to_vec();
    done.then(|| Work::new(proof, move |n| (0..n).all(|_| once(&mut output))))
}

struct Aead(*mut lc::EVP_AEAD_CTX);

impl Drop for Aead {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once.
        unsafe { lc::EVP_AEAD_CTX_free(self.0) }
    }
}

fn aead(
    subject: Subject,
    input: Vec<u8>,
    tag: Vec<u8>,
    algorithm: unsafe extern "C" fn() -> *const lc::EVP_AEAD,
) -> Option<Work> {
    let key = key(subject.key_length());
    // SAFETY: the key has the length given.
    let context = Aead(unsafe { lc::EVP_AEAD_CTX_new(algorithm(), key.as_ptr(), key.len(), TAG) });
    if context.0.is_null() {
        return None;
    }
    let (mut output, mut made) = (vec![0; input.len()], [0; TAG]);
    let once = move |output: &mut Vec<u8>, made: &mut [u8; TAG]| {
        let context = &context;
        let (from, to, length) = (input.as_ptr(), output.as_mut_ptr(), input.len());
        let (nonce, mut tag_length) = (IV.as_ptr(), 0);
        // SAFETY: all buffers have the lengths given.
        1 == unsafe {
            if subject.encrypt {
                let (tag, aad) = (made.as_mut_ptr(), AAD.as_ptr());
                lc::EVP_AEAD_CTX_seal_scatter(
                    context.0,
                    to,
                    tag,
                    &mut tag_length,
                    TAG,
                    nonce,
                    12,
                    from,
                    length,
                    null(),
                    0,
                    aad,
                    AAD.len(),
                )
            } else {
                let (tag, aad) = (tag.as_ptr(), AAD.as_ptr());
                lc::EVP_AEAD_CTX_open_gather(context.0, to, nonce, 12, from, length, tag, TAG, aad, AAD.len())
            }
        }
    };
    let done = once(&mut output, &mut made);
    let mut proof = output.clone();
    if subject.encrypt {
        proof.extend_from_slice(&made);
    }
    done.then(|| Work::new(proof, move |n| (0..n).all(|_| once(&mut output, &mut made))))
}

fn sha512(input: Vec<u8>) -> Option<Work> {
    let once = move |out: &mut [u8; 64]| {
        // SAFETY: the input has the length given, the output 64 bytes; init writes all of the state.
        unsafe {
            let mut state = std::mem::MaybeUninit::<lc::SHA512_CTX>::uninit();
            lc::SHA512_Init(state.as_mut_ptr()) == 1
                && lc::SHA512_Update(state.as_mut_ptr(), input.as_ptr().cast(), input.len()) == 1
                && lc::SHA512_Final(out.as_mut_ptr(), state.as_mut_ptr()) == 1
        }
    };
    let mut proof = [0; 64];
    once(&mut proof).then(|| Work::new(proof.to_vec(), move |n| (0..n).all(|_| once(&mut [0; 64]))))
}
