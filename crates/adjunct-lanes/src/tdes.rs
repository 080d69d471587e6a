//! CBC encryption by triple DES: streams that cannot be cut, of several threads side by side.
//!
//! A message goes to the gate in parts of `PART` bytes: each is a job that takes its caller longer than the least that is shared
//! (`function`). The caller does the rest of a message, and shorter messages. Asynchronous jobs are not paused: a symmetric operation runs
//! at once.

#![allow(unsafe_code)]

use super::{Asked, Kind, ask, pause};
use adjunct_base::catalogue::{Outcome, Queue};
use adjunct_cpu::cipher::des::{self, BLOCK, Chained, Des, Schedules};
use adjunct_kernels::{InOut, opaque_debug};

/// Bytes of a job. (The largest job has 2048.)
const PART: usize = 1600;

/// CBC encryption over whole blocks; `iv` becomes the last ciphertext block.
///
/// # Panics
/// If the length is not a multiple of the block.
pub fn cbc_encrypt(des: &Des, iv: &mut [u8; BLOCK], mut io: InOut<'_>) {
    if io.len() >= PART
        && let Some(schedules) = des.triple()
        && TdesCbc::available()
        && pause::caller().is_none()
    {
        while io.len() >= PART {
            let (mut part, later) = io.split_at(PART);
            match ask::<TdesCbc>(|| Part::new(schedules, iv, &part)) {
                Asked::Done(job, _) => {
                    job.to(&mut part);
                    *iv = job.iv;
                }
                Asked::Alone(alone) => alone.run(|| des.cbc(true, iv, part)),
            }
            io = later;
        }
    }
    des.cbc(true, iv, io);
}

/// CBC encryption by triple DES.
struct TdesCbc;

/// A part of a message.
#[derive(Clone, Copy)]
struct Part {
    schedules: Schedules,
    iv: [u8; BLOCK],
    data: [u8; PART],
}

opaque_debug!(Part);

impl Part {
    fn new(schedules: &Schedules, iv: &[u8; BLOCK], io: &InOut<'_>) -> Part {
        let mut part = Part { schedules: *schedules, iv: *iv, data: [0; PART] };
        assert_eq!(io.len(), PART);
        // SAFETY: the input has so many bytes, and is none of this.
        unsafe { std::ptr::copy_nonoverlapping(io.input(), part.data.as_mut_ptr(), PART) };
        part
    }

    fn to(&self, io: &mut InOut<'_>) {
        assert_eq!(io.len(), PART);
        // SAFETY: the output has so many bytes, and is none of this.
        unsafe { std::ptr::copy_nonoverlapping(self.data.as_ptr(), io.output(), PART) };
    }
}

impl Kind for TdesCbc {
    const QUEUE: Queue = Queue::TdesCbc;
    // A batch of one takes 1.2 times as long as the library, of eight 1.25 times.
    const BREAK_EVEN: usize = 2;
    type Job = Part;

    fn available() -> bool {
        des::has_streams()
    }

    fn scalar(job: &mut Part) -> Outcome {
        let Part { schedules, iv, data } = job;
        Des::from_schedules(schedules).cbc(true, iv, InOut::in_place(data));
        Outcome::Library
    }

    fn lanes(jobs: &mut [Part]) -> Option<u8> {
        let right = u8::MAX >> (u8::BITS as usize - jobs.len());
        des::encrypt_chained(jobs.iter_mut().map(|Part { schedules, iv, data }| Chained {
            schedules,
            iv,
            io: InOut::in_place(data),
        }));
        Some(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_base::catalogue::LANES;
    use adjunct_cpu::random;

    fn bytes<const N: usize>() -> [u8; N] {
        let mut bytes = [0; N];
        random(&mut bytes);
        bytes
    }

    #[test]
    fn lanes_give_what_the_scalar_path_gives() {
        if !TdesCbc::available() {
            return println!("SKIPPED: this CPU lacks AVX-512 with VBMI, BITALG and GFNI, or they are masked");
        }
        for count in 1..=LANES {
            let mut jobs: Vec<Part> = (0..count)
                .map(|_| {
                    let des = Des::new(&bytes::<24>()).expect("a key");
                    Part { schedules: *des.triple().expect("three keys"), iv: bytes(), data: bytes() }
                })
                .collect();
            let mut alone = jobs.clone();
            alone.iter_mut().for_each(|job| _ = TdesCbc::scalar(job));
            assert_eq!(TdesCbc::lanes(&mut jobs), Some(u8::MAX >> (LANES - count)), "{count} jobs");
            assert!(jobs.iter().zip(&alone).all(|(a, b)| a.data == b.data && a.iv == b.iv), "{count} jobs");
        }
    }

    #[test]
    fn a_message_in_parts_is_the_same() {
        for key in [&bytes::<24>()[..], &bytes::<8>()] {
            let des = Des::new(key).expect("a key");
            for length in [0, 8, PART - 8, PART, PART + 8, 4 * PART, 10_000] {
                let mut text = vec![0; length];
                random(&mut text);
                let (mut expected, mut ivs) = (text.clone(), [bytes::<BLOCK>(); 3]);
                des.cbc(true, &mut ivs[0], InOut::in_place(&mut expected));
                let mut there = vec![0; length];
                cbc_encrypt(&des, &mut ivs[1], InOut::apart(&text, &mut there));
                cbc_encrypt(&des, &mut ivs[2], InOut::in_place(&mut text));
                assert!(
                    text == expected && there == expected && ivs[1] == ivs[0] && ivs[2] == ivs[0],
                    "{length} bytes"
                );
            }
        }
    }
}
