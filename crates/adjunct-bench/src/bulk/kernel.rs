//! adjunct's own code, called without OpenSSL: the core's functions, which the provider calls, over the kernels.

use super::subject::{Mode, Subject};
use crate::measure::Work;
use crate::symmetric::{AAD, IV, TAG, key};
use adjunct::InOut;
use adjunct_cpu::cipher::aes::AesKey;
use adjunct_cpu::cipher::chacha::ChaCha20Poly1305;
use adjunct_cpu::cipher::gcm::Gcm;
use adjunct_cpu::cipher::xts::Xts;
use adjunct_cpu::digest::{self, Digest};

/// The work on a message: `input`, and `tag` when an AEAD's message is opened. `None` where adjunct has no such kernel.
pub fn work(subject: Subject, input: Vec<u8>, tag: Vec<u8>) -> Option<Work> {
    let encrypt = subject.encrypt;
    let key = key(subject.key_length());
    match subject.mode {
        Mode::Ctr => {
            let aes = aes(&key, true)?;
            transform(input, move |io| {
                let (mut counter, mut begun, mut used) = (IV, [0; 16], 0);
                aes.ctr(&mut counter, &mut begun, &mut used, io);
                true
            })
        }
        Mode::Cbc => {
            let aes = aes(&key, encrypt)?;
            transform(input, move |io| {
                aes.cbc(encrypt, &mut IV.clone(), io);
                true
            })
        }
        Mode::Ecb => {
            let aes = aes(&key, encrypt)?;
            transform(input, move |io| {
                aes.ecb(encrypt, io);
                true
            })
        }
        Mode::Cfb => {
            let aes = aes(&key, true)?;
            transform(input, move |io| {
                aes.cfb(encrypt, &mut IV.clone(), &mut 0, io);
                true
            })
        }
        Mode::Xts => {
            let mut xts = Xts::default();
            let (data, tweak) = key.split_at(key.len() / 2);
            xts.set_keys(data, tweak, encrypt).ok()?;
            transform(input, move |io| xts.unit(&IV, io).is_ok())
        }
        Mode::Gcm => {
            let mut gcm = Gcm::default();
            gcm.set_key(&key).ok()?;
            authenticated(input, encrypt, tag, move |io| {
                gcm.set_iv(&IV[..12]);
                let done = gcm.aad(&AAD).and_then(|()| if encrypt { gcm.encrypt(io) } else { gcm.decrypt(io) });
                done.is_ok().then(|| gcm.tag())
            })
        }
        Mode::ChaCha => {
            let mut chacha = ChaCha20Poly1305::default();
            chacha.set_key(key.first_chunk()?);
            authenticated(input, encrypt, tag, move |io| {
                chacha.set_nonce(IV.first_chunk::<12>()?);
                chacha.aad(&AAD);
                chacha.message(encrypt, io);
                Some(chacha.tag())
            })
        }
        Mode::Sha512 => {
            let mut state = Digest::new(&digest::SHA512);
            let mut once = move || {
                let mut out = [0; 64];
                state.reset();
                state.update(&input);
                state.finish(&mut out);
                out
            };
            let proof = once().to_vec();
            Some(Work::new(proof, move |n| {
                (0..n).for_each(|_| {
                    std::hint::black_box(once());
                });
                true
            }))
        }
    }
}

fn aes(key: &[u8], encrypt: bool) -> Option<AesKey> {
    let mut aes = AesKey::default();
    if encrypt { aes.set_encrypt(key) } else { aes.set_decrypt(key) }.ok()?;
    Some(aes)
}

/// Work whose output is as long as its input.
fn transform(input: Vec<u8>, mut message: impl FnMut(InOut<'_>) -> bool + 'static) -> Option<Work> {
    let mut output = vec![0; input.len()];
    let done = message(InOut::apart(&input, &mut output));
    let proof = output.clone();
    done.then(|| Work::new(proof, move |n| (0..n).all(|_| message(InOut::apart(&input, &mut output)))))
}

/// Work whose output is as long as its input, with a tag that is appended to the proof, or compared.
fn authenticated(
    input: Vec<u8>,
    encrypt: bool,
    tag: Vec<u8>,
    mut message: impl FnMut(InOut<'_>) -> Option<[u8; TAG]> + 'static,
) -> Option<Work> {
    let mut output = vec![0; input.len()];
    let made = message(InOut::apart(&input, &mut output))?;
    let mut proof = output.clone();
    if encrypt {
        proof.extend_from_slice(&made);
    } else if made[..] != tag {
        return None;
    }
    Some(Work::new(proof, move |n| (0..n).all(|_| message(InOut::apart(&input, &mut output)) == Some(made))))
}
