//! DES of blocks side by side: key schedules, chaining values and data are secret, lengths are not.

use super::{Case, call};
use adjunct::InOut;
use adjunct::catalogue::Feature;
use adjunct_kernels::des::{Kernel, Rounds, Schedule, Stream, encrypt_streams};

/// Three schedules of any bits.
fn schedules(bytes: &[u8; 384]) -> [Schedule; 3] {
    let word = |at: usize| u32::from_ne_bytes(bytes.as_chunks().0[at]);
    std::array::from_fn(|key| std::array::from_fn(|at| word(32 * key + at)))
}

pub fn cases() -> Vec<Case> {
    let message = |kernel: Kernel| {
        move |seed| {
            call(seed, move |keys: &[u8; 384], iv: &mut [u8; 8], data: &mut [u8; 1200]| {
                let schedules = schedules(keys);
                unsafe {
                    kernel.ecb(&Rounds::triple(&schedules, true), InOut::in_place(data));
                    kernel.cbc_decrypt(&Rounds::triple(&schedules, false), iv, InOut::in_place(&mut data[..400]));
                }
            })
        }
    };
    let streams = |seed| {
        call(seed, |keys: &[u8; 384], ivs: &mut [u8; 160], data: &mut [u8; 1200]| {
            let schedules = schedules(keys);
            let streams = ivs.as_chunks_mut::<8>().0.iter_mut().zip(data.chunks_mut(72));
            let streams = streams.map(|(iv, data)| Stream::cbc(&schedules, iv, InOut::in_place(data)));
            unsafe { encrypt_streams(streams) };
        })
    };
    let case = |name: &str, needs, memcheck, prepare| Case { name: name.into(), needs, memcheck, prepare };
    let bytes = &[Feature::Avx512, Feature::Ifma];
    let mut cases = vec![
        case("DES, bit slices, AVX-512", &[Feature::Avx512], false, Box::new(message(Kernel::Wide))),
        case("DES, bit slices, AVX2", &[Feature::Avx2], true, Box::new(message(Kernel::Avx2))),
    ];
    // No feature of its own: CPUs with IFMA have it, but for the first.
    if is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("gfni")
    {
        cases.push(case("DES, byte permutations, streams", bytes, false, Box::new(streams)));
        cases.push(case("DES, byte permutations and slices", bytes, false, Box::new(message(Kernel::Lookup))));
    }
    cases
}
