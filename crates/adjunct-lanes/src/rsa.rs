//! RSA private operations by CRT (RFC 8017, 5.1.2 and 5.2.1) in the batch engine: 2048, 3072 and 4096 bits, two primes of half
//! the size each. Other keys, and every key where the CPU has no lanes, are AWS-LC's alone.

#![allow(unsafe_code)]

use super::{Alone, Asked, Kind, ask, available, own};
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{LANES, Queue};
use adjunct_base::error::Error;
use adjunct_base::registry::{self, Adapter};
use adjunct_base::slab::{Entry, Number, Slab};
use adjunct_cpu::rsa::{CpuRsaKey, Part};
use adjunct_cpu::{self as cpu, RsaLanes};
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// The largest modulus with lanes, in bytes.
const MAX_SIZE: usize = 512;

/// The keys that requests name.
static KEYS: Slab<Prepared> = Slab::new();

/// A key with what lanes need of it.
#[derive(Debug)]
pub struct Prepared {
    key: CpuRsaKey,
    queue: Queue,
    /// The modulus; inputs must be below it.
    n: Zeroizing<Vec<u8>>,
}

impl Prepared {
    /// Prepares a key; `None` where nothing could use it: the CPU has no lanes for it, nor are there cards that do without lanes. The lanes' form of
    /// the key is made when the first batch wants it, since most keys are loaded by programs that never have two operations at a time.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn new(key: &CpuRsaKey) -> Result<Option<Entry<Prepared>>, Error> {
        let queue = match key.bits() {
            2048 => Queue::Rsa2048,
            3072 => Queue::Rsa3072,
            4096 => Queue::Rsa4096,
            _ => return Ok(None),
        };
        let halves = [Part::P, Part::Q].iter().all(|&prime| 2 * key.bits_of(prime) == key.bits());
        let wanted = available() || registry::online(Adapter::Card);
        if key.by_primes().is_none() || !wanted || !halves || key.bits_of(Part::E) > 64 {
            return Ok(None);
        }
        let prepared = Prepared { key: key.clone(), queue, n: key.number(Part::N)?.unwrap_or_default() };
        KEYS.insert(prepared).map(Some)
    }

    /// The adapter that takes the key's operations.
    pub fn adapter(&self) -> Adapter {
        if available() { Adapter::Lanes } else { Adapter::Card }
    }

    /// The length of the modulus in bytes.
    pub fn size(&self) -> usize {
        self.n.len()
    }

    /// The key as the CPU has it.
    pub fn key(&self) -> &CpuRsaKey {
        &self.key
    }

    /// The queue of its requests.
    pub fn queue(&self) -> Queue {
        self.queue
    }

    /// Whether `out` is what the private operation makes of `input`.
    pub fn is_right(&self, input: &[u8], out: &[u8]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if available()
            && let Some(right) = self.key.is_right(input, out)
        {
            return right;
        }
        let mut again = [0; MAX_SIZE];
        let again = &mut again[..self.size()];
        self.key.public(out, again).is_ok() && again == input
    }
}

/// `input^d mod n` for a key that was prepared: in a batch, or else the caller's to do, who may have a card do it. `out` is as long as `input`.
/// `None` where something is wrong with the key or the input: the caller has the CPU do it then, which says what.
pub fn private(key: &Entry<Prepared>, input: &[u8], out: &mut [u8]) -> Option<Result<Outcome, Alone>> {
    if key.key.has_wrong_crt() || input.len() != key.n.len() || input >= &key.n[..] {
        return None;
    }
    let job = || Private::new(key, input);
    let asked = match key.queue {
        Queue::Rsa2048 => ask::<Rsa2048>(job),
        Queue::Rsa3072 => ask::<Rsa3072>(job),
        _ => ask::<Rsa4096>(job),
    };
    match asked {
        Asked::Alone(alone) => Some(Err(alone)),
        Asked::Done(job, outcome) => job.done.then(|| {
            out.copy_from_slice(&job.block[..out.len()]);
            Ok(outcome)
        }),
    }
}

/// A private operation.
#[derive(Clone, Copy)]
pub struct Private {
    key: Number,
    /// The input, then the output; as long as the modulus.
    block: [u8; MAX_SIZE],
    done: bool,
    /// The caller checks the output, so lanes need not.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    unchecked: bool,
}

opaque_debug!(Private);

impl Private {
    /// A request with an input no longer than the largest modulus.
    pub fn new(key: &Entry<Prepared>, input: &[u8]) -> Private {
        let mut job = Private { key: key.number(), block: [0; MAX_SIZE], done: false, unchecked: false };
        job.block[..input.len()].copy_from_slice(input);
        job
    }

    /// Marks the request as one whose output lanes need not check: they do not where all of a batch are marked.
    pub fn unchecked(self) -> Private {
        Private { unchecked: true, ..self }
    }

    /// The output of `size` bytes; `None` where it was not done.
    pub fn output(&self, size: usize) -> Option<&[u8]> {
        self.done.then_some(&self.block[..size])
    }

    /// Overwrites the request with zeros.
    pub fn wipe(&mut self) {
        own::wipe(self);
    }

    fn alone(&mut self) -> Outcome {
        let Some(key) = KEYS.get(self.key) else { return Outcome::Library };
        let mut out = Zeroizing::new([0; MAX_SIZE]);
        let ran = key.key.private(&self.block[..key.size()], &mut out[..key.size()]);
        (self.block, self.done) = (*out, ran.is_ok());
        ran.map_or(Outcome::Library, |ran| ran.outcome)
    }
}

macro_rules! kind {
    ($name:ident, $bits:literal, $break_even:literal, $form:ident, $scratches:ident, $of_four:ident, $of_digits:ident) => {
        #[doc = concat!("RSA private operations of ", $bits, " bits.")]
        pub struct $name;

        impl Kind for $name {
            const QUEUE: Queue = Queue::$name;
            const BREAK_EVEN: usize = $break_even;
            type Job = Private;

            fn available() -> bool {
                available()
            }

            fn width() -> usize {
                cpu::rsa_lanes().map_or(LANES, RsaLanes::width)
            }

            fn break_even() -> usize {
                match cpu::rsa_lanes() {
                    Some(RsaLanes::AvxIfma | RsaLanes::Fma) => BREAK_EVEN_OF_FOUR,
                    _ => Self::BREAK_EVEN,
                }
            }

            fn scalar(job: &mut Private) -> Outcome {
                job.alone()
            }

            #[cfg(target_arch = "x86_64")]
            fn lanes(jobs: &mut [Private]) -> Option<u8> {
                match cpu::rsa_lanes()? {
                    RsaLanes::Ifma => lanes::by_ifma(jobs, |forms| &forms.$form, &lanes::$scratches),
                    RsaLanes::AvxIfma => lanes::by_avx_ifma(jobs, |forms| &forms.$form, &lanes::$of_four),
                    RsaLanes::Fma => lanes::by_fma(jobs, |forms| &forms.$form, &lanes::$of_digits),
                }
            }

            #[cfg(not(target_arch = "x86_64"))]
            fn lanes(_: &mut [Private]) -> Option<u8> {
                None
            }
        }
    };
}

// A batch takes as long as 3.8, 4.9 and 5.2 operations alone on Zen 5.
kind!(Rsa2048, "2048", 4, of_2048, RSA_2048, FOUR_2048, FMA_2048);
kind!(Rsa3072, "3072", 5, of_3072, RSA_3072, FOUR_3072, FMA_3072);
kind!(Rsa4096, "4096", 6, of_4096, RSA_4096, FOUR_4096, FMA_4096);
/// Jobs from which a batch in four lanes pays: it takes as long as 1.3 to 2.7 operations alone.
const BREAK_EVEN_OF_FOUR: usize = 3;

#[cfg(target_arch = "x86_64")]
mod lanes {
    use super::*;
    use adjunct_base::memory::{Kept, room};
    use adjunct_cpu::forms::{Form, Forms};
    use adjunct_kernels::rsa::{self as kernel, PrivateJob, PrivateKey, Scratch, avx_ifma, fma};
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, Ordering};
    use zeroize::Zeroize;

    pub static FOUR_2048: Scratches<MaybeUninit<avx_ifma::Scratch2048>> = Scratches::new();
    pub static FOUR_3072: Scratches<MaybeUninit<avx_ifma::Scratch3072>> = Scratches::new();
    pub static FOUR_4096: Scratches<MaybeUninit<avx_ifma::Scratch4096>> = Scratches::new();
    pub static FMA_2048: Scratches<MaybeUninit<fma::Scratch2048>> = Scratches::new();
    pub static FMA_3072: Scratches<MaybeUninit<fma::Scratch3072>> = Scratches::new();
    pub static FMA_4096: Scratches<MaybeUninit<fma::Scratch4096>> = Scratches::new();
    pub static RSA_2048: Scratches<MaybeUninit<kernel::Scratch2048>> = Scratches::new();
    pub static RSA_3072: Scratches<MaybeUninit<kernel::Scratch3072>> = Scratches::new();
    pub static RSA_4096: Scratches<MaybeUninit<kernel::Scratch4096>> = Scratches::new();

    /// A place for a box. Without a lock: a fork in the middle leaves the child none that is held.
    #[derive(Debug)]
    struct Slot<T>(AtomicPtr<T>);

    // SAFETY: a box is moved in and out whole; `get` shares it.
    unsafe impl<T: Send + Sync> Sync for Slot<T> {}

    impl<T> Slot<T> {
        const fn new() -> Slot<T> {
            Slot(AtomicPtr::new(null_mut()))
        }

        /// Puts a box into the slot, or gives it back if one is there.
        fn put(&self, value: Box<T>) -> Option<Box<T>> {
            let value = Box::into_raw(value);
            match self.0.compare_exchange(null_mut(), value, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => None,
                // SAFETY: a box until a moment ago.
                Err(_) => Some(unsafe { Box::from_raw(value) }),
            }
        }

        fn take(&self) -> Option<Box<T>> {
            let value = self.0.swap(null_mut(), Ordering::AcqRel);
            // SAFETY: what `put` made of a box, taken by nobody else.
            (!value.is_null()).then(|| unsafe { Box::from_raw(value) })
        }
    }

    impl<T> Drop for Slot<T> {
        fn drop(&mut self) {
            drop(self.take());
        }
    }

    /// Working memory of leaders that are done, for the next ones: more than a stack may hold, and more than is nice to map
    /// for each batch. As many as there may be leaders on a middling machine; the others' is freed.
    pub struct Scratches<T>([Slot<T>; 16]);

    impl<T> Scratches<T> {
        const fn new() -> Self {
            Scratches([const { Slot::new() }; 16])
        }
    }

    impl<T> Scratches<MaybeUninit<T>> {
        fn take(&self) -> Result<Box<MaybeUninit<T>>, Error> {
            self.0.iter().find_map(Slot::take).map_or_else(room, Ok)
        }

        fn give(&self, scratch: Box<MaybeUninit<T>>) {
            // The one that is left over is dropped.
            let _ = self.0.iter().try_fold(scratch, |scratch, slot| slot.put(scratch));
        }
    }

    /// Does one to eight private operations: has `run` do those whose keys have a form, in an array whose free places repeat the first. `None`
    /// without the memory for it.
    fn private<K, S>(
        jobs: &mut [Private],
        size: usize,
        scratches: &Scratches<MaybeUninit<S>>,
        form: impl for<'k> Fn(&'k Forms, &'k CpuRsaKey) -> Option<Kept<'k, Box<K>>>,
        run: impl FnOnce([(&K, &[u8], &mut [u8]); LANES], usize, &mut MaybeUninit<S>, bool) -> u8,
    ) -> Option<u8> {
        let keys: [_; LANES] = std::array::from_fn(|i| jobs.get(i).and_then(|job| KEYS.get(job.key)));
        // A key that has no form for lanes after all is its owner's.
        let forms = keys.each_ref().map(|prepared| {
            let key = &prepared.as_ref()?.key;
            form(key.forms()?, key)
        });
        let fit = || forms.iter().enumerate().filter_map(|(place, form)| Some((place, &***form.as_ref()?)));
        let Some(first) = fit().next() else { return Some(0) };
        let mut scratch = scratches.take().ok()?;
        let (mut outputs, mut inputs) = ([[0; MAX_SIZE]; LANES], fit());
        let work = outputs.each_mut().map(|output| {
            let (place, key) = inputs.next().unwrap_or(first);
            (key, &jobs[place].block[..size], &mut output[..size])
        });
        let checked = !jobs.iter().all(|job| job.unchecked);
        let done = run(work, fit().count(), &mut scratch, checked);
        scratches.give(scratch);
        let mut right = 0;
        for (lane, (place, _)) in fit().enumerate() {
            if done >> lane & 1 == 1 {
                right |= 1 << place;
                (jobs[place].block, jobs[place].done) = (outputs[lane], true);
            }
        }
        outputs.zeroize();
        Some(right)
    }

    /// Runs private operations in eight lanes of AVX-512 IFMA.
    pub fn by_ifma<const P: usize, const M: usize, const W: usize, const D: usize, const E: usize>(
        jobs: &mut [Private],
        form: impl Fn(&Forms) -> &Form<P, M, W, D, E>,
        scratches: &Scratches<MaybeUninit<Scratch<P, M>>>,
    ) -> Option<u8> {
        private(
            jobs,
            PrivateKey::<P, M>::BYTES,
            scratches,
            |forms, key| form(forms).key(key),
            |work, count, scratch, checked| {
                let mut work = work.map(|(key, input, output)| PrivateJob { key, input, output });
                // SAFETY: these lanes are what the CPU has.
                unsafe {
                    match checked {
                        true => kernel::private(&mut work[..count], scratch),
                        false => kernel::private_unchecked(&mut work[..count], scratch),
                    }
                }
            },
        )
    }

    /// Runs private operations in four lanes of AVX-IFMA; more than four in two batches.
    pub fn by_avx_ifma<const P: usize, const M: usize, const W: usize, const D: usize, const E: usize>(
        jobs: &mut [Private],
        form: impl Fn(&Forms) -> &Form<P, M, W, D, E>,
        scratches: &Scratches<MaybeUninit<avx_ifma::Scratch<P, M>>>,
    ) -> Option<u8> {
        private(
            jobs,
            PrivateKey::<P, M>::BYTES,
            scratches,
            |forms, key| form(forms).key(key),
            |work, count, scratch, checked| {
                let mut work = work.map(|(key, input, output)| PrivateJob { key, input, output });
                let fours = work[..count].chunks_mut(avx_ifma::LANES).enumerate();
                fours.fold(0, |done, (at, work)| {
                    // SAFETY: these lanes are what the CPU has.
                    done | unsafe { avx_ifma::vex::private(work, scratch, checked) } << (avx_ifma::LANES * at)
                })
            },
        )
    }

    /// Runs private operations in four lanes of AVX2 and FMA; more than four in two batches.
    pub fn by_fma<const P: usize, const M: usize, const W: usize, const D: usize, const E: usize>(
        jobs: &mut [Private],
        form: impl Fn(&Forms) -> &Form<P, M, W, D, E>,
        scratches: &Scratches<MaybeUninit<fma::Scratch<P, M, D, E>>>,
    ) -> Option<u8> {
        private(
            jobs,
            PrivateKey::<P, M>::BYTES,
            scratches,
            |forms, key| form(forms).of_digits(key),
            |work, count, scratch, checked| {
                let mut work = work.map(|(key, input, output)| fma::PrivateJob { key, input, output });
                let fours = work[..count].chunks_mut(fma::LANES).enumerate();
                fours.fold(0, |done, (at, work)| {
                    // SAFETY: these lanes are what the CPU has.
                    done | unsafe { fma::private(work, scratch, checked) } << (fma::LANES * at)
                })
            },
        )
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use adjunct_cpu::rsa::{Crt, Numbers};

    const E: [u8; 3] = [1, 0, 1];

    /// A key and what lanes need of it.
    struct Ready {
        key: CpuRsaKey,
        prepared: Option<Entry<Prepared>>,
    }

    impl Ready {
        fn new(key: CpuRsaKey) -> Ready {
            Ready { prepared: Prepared::new(&key).unwrap(), key }
        }

        fn generate(bits: usize) -> Ready {
            Ready::new(CpuRsaKey::generate(bits, &E, None).unwrap().0)
        }

        /// Runs the operation in lanes where that can be, else by the CPU.
        fn private(&self, input: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
            match self.prepared.as_ref().and_then(|prepared| private(prepared, input, out)) {
                Some(Ok(outcome)) => Ok(outcome),
                _ => self.key.private(input, out).map(|ran| ran.outcome),
            }
        }
    }

    /// Random, and below any modulus of this size.
    fn input(key: &Ready) -> Vec<u8> {
        let mut input = vec![0; key.key.size()];
        adjunct_cpu::random(&mut input);
        input[0] &= 0x7F;
        input
    }

    fn job(of: &Ready, input: &[u8]) -> Private {
        let mut job = Private {
            key: of.prepared.as_ref().unwrap().number(),
            block: [0; MAX_SIZE],
            done: false,
            unchecked: false,
        };
        job.block[..input.len()].copy_from_slice(input);
        job
    }

    /// Checks that a kind's lanes and its single operation agree, for every number of jobs.
    fn both<K: Kind<Job = Private>>(keys: &[Ready]) {
        assert!(keys.iter().all(|key| key.prepared.as_ref().is_some_and(|p| p.queue == K::QUEUE)));
        for count in 1..=LANES {
            let mut jobs: Vec<_> = (0..count).map(|i| job(&keys[i % keys.len()], &input(&keys[0]))).collect();
            let mut alone = jobs.clone();
            alone.iter_mut().for_each(|job| _ = K::scalar(job));
            assert_eq!(K::lanes(&mut jobs), Some(u8::MAX >> (LANES - count)), "{count} jobs");
            assert!(jobs.iter().zip(&alone).all(|(a, b)| a.block == b.block && a.done && b.done), "{count} jobs");
        }
    }

    #[test]
    fn lanes_give_what_the_scalar_path_gives() {
        if crate::tests::for_rsa() {
            let keys = |bits, count| -> Vec<_> { (0..count).map(|_| Ready::generate(bits)).collect() };
            both::<Rsa2048>(&keys(2048, 3));
            both::<Rsa3072>(&keys(3072, 2));
            both::<Rsa4096>(&keys(4096, 1));
            assert!(keys(1024, 1)[0].prepared.is_none());
        }
    }

    /// The key again, some of its CRT values changed.
    fn changed(key: &CpuRsaKey, change: impl Fn(&mut [Vec<u8>; 5])) -> CpuRsaKey {
        let number = |part| key.number(part).unwrap().unwrap().to_vec();
        let mut crt = [Part::P, Part::Q, Part::Dp, Part::Dq, Part::Qinv].map(number);
        change(&mut crt);
        let [p, q, dp, dq, qinv] = &crt;
        let (n, e, d) = (number(Part::N), number(Part::E), number(Part::D));
        let crt = Crt { p, q, dp, dq, qinv };
        CpuRsaKey::new(&Numbers { n: &n, e: &e, d: Some(&d), crt: Some(crt) }).unwrap()
    }

    #[test]
    fn a_wrong_key_leaves_the_others_alone_and_is_kept_out() {
        if crate::tests::for_rsa() {
            let good = Ready::generate(2048);
            // OpenSSL takes a key with a wrong dp, and signs by d.
            let wrong = Ready::new(changed(&good.key, |crt| *crt[2].last_mut().unwrap() ^= 2));
            let inputs = [input(&good), input(&good), input(&good)];
            let mut jobs = [job(&good, &inputs[0]), job(&wrong, &inputs[1]), job(&good, &inputs[2])];
            assert_eq!(Rsa2048::lanes(&mut jobs), Some(0b101));
            for (i, key) in [(0, &good), (1, &wrong), (2, &good)] {
                let (mut out, mut expected) = (vec![0; 256], vec![0; 256]);
                key.private(&inputs[i], &mut out).unwrap();
                good.key.private(&inputs[i], &mut expected).unwrap();
                assert_eq!(out, expected);
            }
            let prepared = wrong.prepared.as_ref().unwrap();
            assert!(prepared.key.has_wrong_crt());
            assert!(private(prepared, &inputs[0], &mut [0; 256]).is_none());
        }
    }

    #[test]
    fn edge_values_are_the_scalar_paths_too() {
        let key = Ready::generate(2048);
        let n = key.key.number(Part::N).unwrap().unwrap().to_vec();
        let small = |value| [vec![0; 255], vec![value]].concat();
        let mut last = n.clone();
        last[255] -= 1;
        for own in [small(0), small(1), last] {
            let mut out = vec![0xAA; 256];
            key.private(&own, &mut out).unwrap();
            assert_eq!(out, own);
        }
        let mut out = vec![0xAA; 256];
        assert!(key.private(&n, &mut out).is_err());
        assert!(key.private(&[0xFF; 256], &mut out).is_err());
    }
}
