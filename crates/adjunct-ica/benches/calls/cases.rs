//! The rows: a function of the interface and the same work of the other sides.

use super::interface::Ica;
use super::openssl::OpenSsl;
use super::{Row, Run};
use adjunct::InOut;
use adjunct_cpu::cipher::aes::AesKey;
use adjunct_cpu::cipher::ccm::Ccm;
use adjunct_cpu::cipher::des::Des;
use adjunct_cpu::cipher::gcm::Gcm;
use adjunct_cpu::cipher::gcm_part::{self, State};
use adjunct_cpu::cipher::xts::Xts;
use adjunct_cpu::cmac::{BlockCipher, Cmac};
use adjunct_cpu::digest::{self, Digest, Method};
use std::ffi::{c_uint, c_ulong, c_void};
use std::ptr::null;

const KEY: [u8; 64] = {
    let mut key = [0; 64];
    let mut i = 0;
    while i < 64 {
        key[i] = (i * 29 + 3) as u8;
        i += 1;
    }
    key
};
const IV: [u8; 16] = [0x5a; 16];
const NONCE: [u8; 12] = [0xa5; 12];
const AAD: [u8; 13] = [0x17; 13];

/// A function of the interface.
pub struct Case {
    pub title: String,
    pub row: Box<dyn Fn(usize) -> Row>,
}

fn run(mut once: impl FnMut(&[u8], &mut [u8]) + 'static) -> Option<Run> {
    Some(Box::new(move |count, input, output| {
        for _ in 0..count {
            once(input, output);
        }
    }))
}

fn message(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 7 + i / 256) as u8).collect()
}

type Sides = [Option<Run>; 4];

fn case(title: String, sides: impl Fn(usize) -> Sides + 'static) -> Case {
    Case { title, row: Box::new(move |size| Row { input: message(size), sides: sides(size) }) }
}

/// Every row.
pub fn all(ica: &'static Ica, openssl: &'static OpenSsl) -> Vec<Case> {
    let mut all = Vec::new();
    for bits in [128, 256] {
        all.extend(modes(ica, openssl, bits));
        all.extend(authenticated(ica, openssl, bits));
    }
    all.extend(des(ica, openssl));
    all.extend(hashes(ica, openssl));
    all
}

fn aes(key: &[u8], encrypt: bool) -> AesKey {
    let mut aes = AesKey::default();
    if encrypt { aes.set_encrypt(key) } else { aes.set_decrypt(key) }.expect("a key");
    aes
}

fn io<'a>(input: &'a [u8], output: &'a mut [u8]) -> InOut<'a> {
    InOut::apart(input, &mut output[..input.len()])
}

/// A mode over a key schedule: `$call` of the interface, `$direct` of the core, and OpenSSL's name for it.
macro_rules! mode {
    ($all:ident, $openssl:ident, $bits:ident, $title:literal, $schedule:expr, $encrypt:expr, $evp:expr, $stealing:expr, $iv:expr,
     |$p:ident, $o:ident, $l:ident, $key:ident, $n:ident| $call:expr, |$aes:ident, $in:ident, $out:ident| $direct:expr) => {{
        $all.push(case(format!("AES-{} {}", $bits, $title), move |_| {
            let $key = &KEY[..$bits / 8];
            let $n = $key.len() as c_uint;
            let cipher: Option<&str> = $evp;
            let evp = cipher.map(|name| $openssl.cipher(&format!("AES-{}-{name}", $bits)));
            let prepared = aes($key, $schedule);
            [
                run(move |input, output| {
                    let ($p, $o, $l) = (input.as_ptr(), output.as_mut_ptr(), input.len() as c_ulong);
                    assert_eq!(unsafe { $call }, 0);
                }),
                run(move |$in, $out| {
                    let $aes = &aes($key, $schedule);
                    $direct;
                }),
                run(move |$in, $out| {
                    let $aes = &prepared;
                    $direct;
                }),
                evp.and_then(|evp| {
                    run(move |input, output| {
                        $openssl.message(evp, $stealing, $key, $iv, $encrypt, input, &mut output[..input.len() + 16])
                    })
                }),
            ]
        }));
    }};
}

fn modes(ica: &'static Ica, openssl: &'static OpenSsl, bits: usize) -> Vec<Case> {
    let mut all = Vec::new();
    for encrypt in [true, false] {
        let direction = c_uint::from(encrypt);
        if encrypt {
            mode!(
                all,
                openssl,
                bits,
                "ECB encrypt",
                true,
                true,
                Some("ECB"),
                None,
                None,
                |p, o, l, key, n| (ica.aes_ecb)(p, o, l, key.as_ptr(), n, direction),
                |aes, input, output| aes.ecb(true, io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "CBC encrypt",
                true,
                true,
                Some("CBC"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_cbc)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), direction),
                |aes, input, output| aes.cbc(true, &mut IV.clone(), io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "CFB encrypt",
                true,
                true,
                Some("CFB"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_cfb)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), 16, direction),
                |aes, input, output| aes.cfb(true, &mut IV.clone(), &mut 0, io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "CFB8 encrypt",
                true,
                true,
                Some("CFB8"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_cfb)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), 1, direction),
                |aes, input, output| aes.cfb8(true, &mut IV.clone(), io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "OFB",
                true,
                true,
                Some("OFB"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_ofb)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), direction),
                |aes, input, output| aes.ofb(&mut IV.clone(), &mut 0, io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "CTR",
                true,
                true,
                Some("CTR"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_ctr)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), 128, direction),
                |aes, input, output| aes.ctr(&mut IV.clone(), &mut [0; 16], &mut 0, io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "CTRLIST",
                true,
                true,
                None,
                None,
                None,
                |p, o, l, key, n| (ica.aes_ctrlist)(p, o, l, key.as_ptr(), n, LIST.as_ptr(), direction),
                |aes, input, output| aes.ctr_list(&LIST, io(input, output))
            );
        } else {
            mode!(
                all,
                openssl,
                bits,
                "ECB decrypt",
                false,
                false,
                Some("ECB"),
                None,
                None,
                |p, o, l, key, n| (ica.aes_ecb)(p, o, l, key.as_ptr(), n, direction),
                |aes, input, output| aes.ecb(false, io(input, output))
            );
            mode!(
                all,
                openssl,
                bits,
                "CBC decrypt",
                false,
                false,
                Some("CBC"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_cbc)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), direction),
                |aes, input, output| aes.cbc(false, &mut IV.clone(), io(input, output))
            );
            // The kernel is plain CBC: what the switched blocks cost stands in the ratio. Their bytes differ, so no proof by it.
            all.push(case(format!("AES-{bits} CBC-CS decrypt"), move |_| {
                let key = &KEY[..bits / 8];
                let evp = openssl.cipher(&format!("AES-{bits}-CBC-CTS"));
                [
                    run(move |input, output| {
                        let (p, o, l, n) =
                            (input.as_ptr(), output.as_mut_ptr(), input.len() as c_ulong, key.len() as c_uint);
                        let mut iv = IV;
                        assert_eq!(unsafe { (ica.aes_cbc_cs)(p, o, l, key.as_ptr(), n, iv.as_mut_ptr(), 0, 3) }, 0);
                    }),
                    None,
                    None,
                    run(move |input, output| {
                        openssl.message(
                            evp,
                            Some(c"CS3"),
                            key,
                            Some(&IV),
                            false,
                            input,
                            &mut output[..input.len() + 16],
                        )
                    }),
                ]
            }));
            mode!(
                all,
                openssl,
                bits,
                "CFB decrypt",
                true,
                false,
                Some("CFB"),
                None,
                Some(&IV),
                |p, o, l, key, n| (ica.aes_cfb)(p, o, l, key.as_ptr(), n, IV.clone().as_mut_ptr(), 16, direction),
                |aes, input, output| aes.cfb(false, &mut IV.clone(), &mut 0, io(input, output))
            );
        }
    }
    for encrypt in [true, false] {
        all.push(case(format!("AES-{bits} XTS {}", if encrypt { "encrypt" } else { "decrypt" }), move |_| {
            let (key, half) = (&KEY[..bits / 4], bits / 8);
            let fresh = move || {
                let mut xts = Xts::default();
                let (data, tweak) = key.split_at(key.len() / 2);
                xts.set_keys(data, tweak, encrypt).expect("a key");
                xts
            };
            let (prepared, evp) = (fresh(), openssl.cipher(&format!("AES-{bits}-XTS")));
            [
                run(move |input, output| {
                    let (p, o, l) = (input.as_ptr(), output.as_mut_ptr(), input.len() as c_ulong);
                    let (first, second) = key.split_at(half);
                    let (first, second) = (first.as_ptr(), second.as_ptr());
                    let done =
                        unsafe { (ica.aes_xts)(p, o, l, first, second, half as c_uint, IV.as_ptr(), encrypt.into()) };
                    assert_eq!(done, 0);
                }),
                run(move |input, output| fresh().unit(&IV, io(input, output)).expect("a unit")),
                run(move |input, output| prepared.unit(&IV, io(input, output)).expect("a unit")),
                run(move |input, output| {
                    openssl.message(evp, None, key, Some(&IV), encrypt, input, &mut output[..input.len() + 16])
                }),
            ]
        }));
    }
    all
}

/// A list of counters, as a program that needs one has it.
static LIST: [u8; 16384] = {
    let mut list = [0; 16384];
    let mut i = 0;
    while i < 16384 {
        list[i] = ((i / 16) >> (8 * (i % 2))) as u8;
        i += 1;
    }
    list
};

fn gcm(key: &[u8]) -> Gcm {
    let mut gcm = Gcm::default();
    gcm.set_key(key).expect("a key");
    gcm
}

fn seal(gcm: &mut Gcm, input: &[u8], output: &mut [u8]) {
    gcm.set_iv(&NONCE);
    gcm.aad(&AAD).expect("additional data");
    gcm.encrypt(io(input, output)).expect("a message");
    output[input.len()..][..16].copy_from_slice(&gcm.tag());
}

fn authenticated(ica: &'static Ica, openssl: &'static OpenSsl, bits: usize) -> Vec<Case> {
    let key = &KEY[..bits / 8];
    let n = key.len() as c_uint;
    let (aad, aad_length) = (AAD.as_ptr(), AAD.len() as c_ulong);
    let rest = move || -> [Option<Run>; 3] {
        let (mut prepared, evp) = (gcm(key), openssl.cipher(&format!("AES-{bits}-GCM")));
        [
            run(move |input, output| {
                let mut tag = [0; 16];
                Gcm::once(key, true, &NONCE, &AAD, io(input, output), &mut tag).expect("a message");
                output[input.len()..][..16].copy_from_slice(&tag);
            }),
            run(move |input, output| seal(&mut prepared, input, output)),
            run(move |input, output| openssl.seal(evp, false, key, &NONCE, &AAD, input, output)),
        ]
    };
    let with = move |first: Option<Run>| {
        let [second, third, fourth] = rest();
        [first, second, third, fourth]
    };
    vec![
        case(format!("AES-{bits} GCM"), move |_| {
            with(run(move |input, output| {
                let (p, o, l) = (input.as_ptr().cast_mut(), output.as_mut_ptr(), input.len());
                let done = unsafe {
                    let tag = o.add(l);
                    (ica.aes_gcm)(p, l as c_ulong, o, NONCE.as_ptr(), 12, aad, aad_length, tag, 16, key.as_ptr(), n, 1)
                };
                assert_eq!(done, 0);
            }))
        }),
        case(format!("AES-{bits} GCM stream"), move |_| {
            with(run(move |input, output| {
                let (p, o, l) = (input.as_ptr().cast_mut(), output.as_mut_ptr(), input.len());
                let (mut icb, mut ucb, mut subkey, mut tag) = ([0; 16], [0u8; 16], [0; 16], [0; 16]);
                let done = unsafe {
                    let (key, length) = (key.as_ptr(), l as c_ulong);
                    let (i, u, s) = (icb.as_mut_ptr(), ucb.as_mut_ptr(), subkey.as_mut_ptr());
                    (ica.gcm_initialize)(NONCE.as_ptr(), 12, key, n, i, u, s, 1)
                        | (ica.gcm_intermediate)(p, length, o, u, aad, aad_length, tag.as_mut_ptr(), 16, key, n, s, 1)
                        | (ica.gcm_last)(i, aad_length, length, tag.as_mut_ptr(), null(), 0, key, n, s, 1)
                };
                assert_eq!(done, 0);
                output[l..][..16].copy_from_slice(&tag);
            }))
        }),
        // One part of a long message: the beginning and the end, and with them OpenSSL's, are not in it.
        case(format!("AES-{bits} GCM stream part"), move |_| {
            let (mut prepared, mut subkey) = (gcm(key), [0; 16]);
            aes(key, true).encrypt_block(&mut subkey);
            [
                run(move |input, output| {
                    let (p, o, l) = (input.as_ptr().cast_mut(), output.as_mut_ptr(), input.len());
                    let (mut ucb, mut tag) = (IV, [0; 16]);
                    let done = unsafe {
                        let (key, u, t) = (key.as_ptr(), ucb.as_mut_ptr(), tag.as_mut_ptr());
                        (ica.gcm_intermediate)(p, l as c_ulong, o, u, null(), 0, t, 16, key, n, subkey.as_ptr(), 1)
                    };
                    assert_eq!(done, 0);
                    output[l..][..16].copy_from_slice(&tag);
                }),
                run(move |input, output| {
                    let mut state = State { counter: IV, hash: [0; 16], subkey };
                    gcm_part::part(key, &mut state, true, &[], io(input, output)).expect("a message");
                    output[input.len()..][..16].copy_from_slice(&state.hash);
                }),
                run(move |input, output| {
                    prepared.resume(&IV, &[0; 16]);
                    prepared.encrypt(io(input, output)).expect("a message");
                    output[input.len()..][..16].copy_from_slice(&prepared.progress().1);
                }),
                None,
            ]
        }),
        // A context serves many messages; so does the core's.
        case(format!("AES-{bits} GCM kma"), move |_| {
            let ctx = unsafe { (ica.kma_new)() };
            let mut kept = Gcm::default();
            let steps = run(move |input, output| {
                kept.set_key(key).expect("a key");
                seal(&mut kept, input, output);
            });
            let [_, third, fourth] = rest();
            let first = run(move |input, output| {
                let (p, o, l) = (input.as_ptr(), output.as_mut_ptr(), input.len());
                let done = unsafe {
                    (ica.kma_init)(1, NONCE.as_ptr(), 12, key.as_ptr(), n, ctx)
                        | (ica.kma_update)(p, o, l as c_ulong, aad, aad_length, 1, 1, ctx)
                        | (ica.kma_get_tag)(o.add(l), 16, ctx)
                };
                assert_eq!(done, 0);
            });
            [first, steps, third, fourth]
        }),
        case(format!("AES-{bits} CCM"), move |_| {
            let ccm = |ccm: &mut Ccm, input: &[u8], output: &mut [u8]| {
                ccm.start(&NONCE, 16, input.len()).expect("a nonce");
                let tag = ccm.whole(true, &AAD, io(input, output)).expect("a message");
                output[input.len()..][..16].copy_from_slice(&tag);
            };
            let (mut prepared, evp) = (Ccm::default(), openssl.cipher(&format!("AES-{bits}-CCM")));
            prepared.set_key(key).expect("a key");
            [
                run(move |input, output| {
                    let (p, o, l) = (input.as_ptr().cast_mut(), output.as_mut_ptr(), input.len() as c_ulong);
                    let (nonce, key) = (NONCE.as_ptr(), key.as_ptr());
                    let done = unsafe { (ica.aes_ccm)(p, l, o, 16, aad, aad_length, nonce, 12, key, n, 1) };
                    assert_eq!(done, 0);
                }),
                run(move |input, output| {
                    let mut fresh = Ccm::default();
                    fresh.set_key(key).expect("a key");
                    ccm(&mut fresh, input, output);
                }),
                run(move |input, output| ccm(&mut prepared, input, output)),
                run(move |input, output| openssl.seal(evp, true, key, &NONCE, &AAD, input, output)),
            ]
        }),
        case(format!("AES-{bits} CMAC"), move |_| {
            let fresh = move || {
                let mut cmac = Cmac::default();
                cmac.set_key(BlockCipher::Aes(bits / 8), key).expect("a key");
                cmac
            };
            let mac = |cmac: &mut Cmac, input: &[u8], output: &mut [u8]| {
                cmac.update(input);
                cmac.finish(output);
            };
            let (mut prepared, evp) = (fresh(), openssl.mac());
            let name = if bits == 128 { c"AES-128-CBC" } else { c"AES-256-CBC" };
            [
                run(move |input, output| {
                    let (p, l) = (input.as_ptr(), input.len() as c_ulong);
                    assert_eq!(unsafe { (ica.aes_cmac)(p, l, output.as_mut_ptr(), 16, key.as_ptr(), n, 1) }, 0);
                }),
                run(move |input, output| {
                    let mac = output.first_chunk_mut().expect("room for a MAC");
                    Cmac::once(BlockCipher::Aes(bits / 8), key, None, input, mac).expect("a key");
                }),
                run(move |input, output| {
                    prepared.reset();
                    mac(&mut prepared, input, output);
                }),
                run(move |input, output| openssl.cmac(evp, name, key, input, output)),
            ]
        }),
    ]
}

fn des(ica: &'static Ica, openssl: &'static OpenSsl) -> Vec<Case> {
    let key = &KEY[..24];
    let cbc = |des: &Des, input: &[u8], output: &mut [u8]| des.cbc(true, &mut [0x5a; 8], io(input, output));
    let fresh = move || Des::new(key).expect("a key");
    vec![
        case("3DES CBC encrypt".to_owned(), move |_| {
            let (prepared, evp) = (fresh(), openssl.cipher("DES-EDE3-CBC"));
            [
                run(move |input, output| {
                    let (p, o, l) = (input.as_ptr(), output.as_mut_ptr(), input.len() as c_ulong);
                    assert_eq!(unsafe { (ica.tdes_cbc)(p, o, l, key.as_ptr(), IV.clone().as_mut_ptr(), 1) }, 0);
                }),
                run(move |input, output| cbc(&fresh(), input, output)),
                run(move |input, output| cbc(&prepared, input, output)),
                run(move |input, output| {
                    openssl.message(evp, None, key, Some(&IV), true, input, &mut output[..input.len() + 16])
                }),
            ]
        }),
        case("3DES ECB encrypt".to_owned(), move |_| {
            let (prepared, evp) = (fresh(), openssl.cipher("DES-EDE3-ECB"));
            [
                run(move |input, output| {
                    let (p, o, l) = (input.as_ptr(), output.as_mut_ptr(), input.len() as c_ulong);
                    assert_eq!(unsafe { (ica.tdes_ecb)(p, o, l, key.as_ptr(), 1) }, 0);
                }),
                run(move |input, output| fresh().ecb(true, io(input, output))),
                run(move |input, output| prepared.ecb(true, io(input, output))),
                run(move |input, output| {
                    openssl.message(evp, None, key, None, true, input, &mut output[..input.len() + 16])
                }),
            ]
        }),
        case("DES CBC encrypt".to_owned(), move |_| {
            let key = &key[..8];
            let prepared = Des::new(key).expect("a key");
            [
                run(move |input, output| {
                    let (p, o, l) = (input.as_ptr(), output.as_mut_ptr(), input.len() as c_ulong);
                    assert_eq!(unsafe { (ica.des_cbc)(p, o, l, key.as_ptr(), IV.clone().as_mut_ptr(), 1) }, 0);
                }),
                run(move |input, output| cbc(&Des::new(key).expect("a key"), input, output)),
                run(move |input, output| cbc(&prepared, input, output)),
                None,
            ]
        }),
    ]
}

type Hash<L> = unsafe extern "C" fn(c_uint, L, *const u8, *mut c_void, *mut u8) -> c_uint;

fn hashes(ica: &'static Ica, openssl: &'static OpenSsl) -> Vec<Case> {
    fn one(
        method: &'static Method,
        openssl: &'static OpenSsl,
        call: impl Fn(&[u8], &mut [u8], *mut c_void) -> c_uint + Copy + 'static,
    ) -> Case {
        let length = if method.xof { 2 * method.size } else { method.size };
        let length = length.min(64);
        case(method.name.to_owned(), move |_| {
            let evp = openssl.md(method.name);
            [
                run(move |input, output| {
                    let mut context = [0u64; 32];
                    assert_eq!(call(input, &mut output[..length], context.as_mut_ptr().cast()), 0);
                }),
                run(move |input, output| Digest::once(method, input, &mut output[..length])),
                None,
                run(move |input, output| openssl.digest(evp, method.xof, input, &mut output[..length])),
            ]
        })
    }
    let short = |method, f: Hash<c_uint>| {
        one(method, openssl, move |input, output, context| unsafe {
            f(0, input.len() as c_uint, input.as_ptr(), context, output.as_mut_ptr())
        })
    };
    let long = |method, f: Hash<u64>| {
        one(method, openssl, move |input, output, context| unsafe {
            f(0, input.len() as u64, input.as_ptr(), context, output.as_mut_ptr())
        })
    };
    let shake = |method, f: unsafe extern "C" fn(c_uint, u64, *const u8, *mut c_void, *mut u8, c_uint) -> c_uint| {
        one(method, openssl, move |input, output, context| unsafe {
            f(0, input.len() as u64, input.as_ptr(), context, output.as_mut_ptr(), output.len() as c_uint)
        })
    };
    vec![
        short(&digest::SHA1, ica.sha1),
        short(&digest::SHA224, ica.sha224),
        short(&digest::SHA256, ica.sha256),
        long(&digest::SHA384, ica.sha384),
        long(&digest::SHA512, ica.sha512),
        long(&digest::SHA512_224, ica.sha512_224),
        long(&digest::SHA512_256, ica.sha512_256),
        short(&digest::SHA3_224, ica.sha3_224),
        short(&digest::SHA3_256, ica.sha3_256),
        long(&digest::SHA3_384, ica.sha3_384),
        long(&digest::SHA3_512, ica.sha3_512),
        shake(&digest::SHAKE128, ica.shake_128),
        shake(&digest::SHAKE256, ica.shake_256),
    ]
}
