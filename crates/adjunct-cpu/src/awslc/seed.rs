//! Seeds for AWS-LC's random generators, of which each thread has its own.
//!
//! AWS-LC asks the operating system for each seed. A filter of system calls that was made for OpenSSL may kill for that, since OpenSSL seeds a new
//! thread's generator by its process's. adjunct does the same: a generator of the process is seeded by the system when the module is loaded, and
//! gives the seeds. It is a ChaCha20 key that makes the next key and a seed, and is overwritten by the former, as in the Linux kernel: its present
//! state does not reveal earlier seeds. Its page is emptied in every child, which begins with a seed of the system's, and so does a virtual machine
//! that goes on from a copy, as far as AWS-LC notices it.
//!
//! Every module has it in place of AWS-LC's by the linker's `--wrap` (`link/module.args`). On processors with a random number
//! generator (RDRAND, RNDR), AWS-LC mixes bytes of that into each seed.

use super::locks::Lock;
use super::private::{CRYPTO_get_ube_generation_number, CRYPTO_sysrand_if_available, symbol};
use adjunct_base::fork;
use aws_lc_sys as lc;
use std::sync::OnceLock;
use zeroize::Zeroize;

/// Seeds that are made of one seed of the system's. AWS-LC takes one for 4096 requests; OpenSSL takes one of the system's for 256 of 65536 requests,
/// and every hour.
const SEEDS: u32 = 4096;

const KEY: usize = 32;

/// The process's generator. Zeros are one that is to be seeded, and it is zeros again in a child.
#[repr(C)]
struct Generator {
    key: [u8; KEY],
    /// The number by which AWS-LC tells copies of this process apart, at the time the key was seeded.
    copy: u64,
    /// Seeds to be made before the next seed of the system's.
    left: u32,
}

/// A generator in the page that a fork empties.
struct Page(*mut Generator);

// SAFETY: only who has LOCK uses what is there.
unsafe impl Send for Page {}
// SAFETY: threads share only the pointer; who has LOCK is the only one that uses what is there.
unsafe impl Sync for Page {}

static LOCK: Lock = Lock::new();

/// The page; `None` where the system has no page that is emptied in children.
fn page() -> Option<&'static Page> {
    static PAGE: OnceLock<Option<Page>> = OnceLock::new();
    PAGE.get_or_init(|| fork::room().map(|page| Page(page.cast()))).as_ref()
}

/// Bytes of the operating system.
fn of_the_system(out: &mut [u8]) {
    // SAFETY: the pointer and length describe `out`.
    if unsafe { CRYPTO_sysrand_if_available(out.as_mut_ptr(), out.len()) } == 1 {
        return;
    }
    // Just after the machine's start: getrandom(2) waits.
    let mut left = out;
    while !left.is_empty() {
        match rustix::rand::getrandom(&mut *left, rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => left = &mut left[count..],
            Err(rustix::io::Errno::INTR) => {}
            // As AWS-LC does: nothing may be encrypted with what is not random.
            Err(_) => std::process::abort(),
        }
    }
}

/// The number of this copy of the process, as far as AWS-LC can tell one from another: not after a fork alone.
fn copy() -> Option<u64> {
    let mut number = 0;
    // SAFETY: the call writes the number.
    (unsafe { CRYPTO_get_ube_generation_number(&raw mut number) } == 1).then_some(number)
}

impl Generator {
    /// Fills `out` and replaces the key.
    fn generate(&mut self, out: &mut [u8]) {
        let (mut next, key, nonce) = ([0; KEY], self.key.as_ptr(), [0; 12]);
        out.fill(0);
        // SAFETY: the pointers and lengths are those of the buffers, of the key and the nonce; either output may be its input.
        unsafe {
            lc::CRYPTO_chacha_20(next.as_mut_ptr(), next.as_ptr(), KEY, key, nonce.as_ptr(), 0);
            lc::CRYPTO_chacha_20(out.as_mut_ptr(), out.as_ptr(), out.len(), key, nonce.as_ptr(), 1);
        }
        self.key = next;
        next.zeroize();
    }
}

/// Fills `out` with a seed.
pub(super) fn fill(out: &mut [u8]) {
    let Some(page) = page() else { return of_the_system(out) };
    loop {
        let Some(copy) = copy() else { return of_the_system(out) };
        LOCK.lock(true);
        // SAFETY: the page is never unmapped, and this thread has its lock.
        let generator = unsafe { &mut *page.0 };
        if generator.left == 0 || generator.copy != copy {
            of_the_system(&mut generator.key);
            (generator.copy, generator.left) = (copy, SEEDS);
        }
        // A fork by a signal's handler here empties it in the child, which is seen below.
        generator.left = generator.left.wrapping_sub(1);
        generator.generate(out);
        LOCK.unlock();
        // In a child that was forked meanwhile this is the parent's seed, or one of an empty key.
        if self::copy() == Some(copy) {
            return;
        }
    }
}

// No module shows them to its program.
std::arch::global_asm!(
    concat!(".hidden __wrap_", symbol!(CRYPTO_sysrand)),
    concat!(".hidden __wrap_", symbol!(CRYPTO_get_fork_ube_generation)),
);

/// The number by which AWS-LC recognizes forks, in place of a page of its own, which each child would have to be given beside ours.
#[unsafe(export_name = concat!("__wrap_", symbol!(CRYPTO_get_fork_ube_generation)))]
extern "C" fn fork_generation() -> u64 {
    fork::generation_of_every_fork()
}

#[unsafe(export_name = concat!("__wrap_", symbol!(CRYPTO_sysrand)))]
unsafe extern "C" fn seed(out: *mut u8, length: usize) {
    // SAFETY: AWS-LC's own buffer, of that length.
    fill(unsafe { std::slice::from_raw_parts_mut(out, length) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::{Read, pipe};

    fn seeds(count: usize) -> Vec<[u8; 48]> {
        std::iter::repeat_with(|| {
            let mut seed = [0; 48];
            fill(&mut seed);
            seed
        })
        .take(count)
        .collect()
    }

    #[test]
    fn no_seed_comes_twice() {
        super::super::prime();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| seeds(SEEDS as usize))).collect();
        let all: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().expect("seeds")).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(!all.contains(&[0; 48]));
    }

    #[test]
    fn a_child_has_seeds_of_its_own() {
        super::super::prime();
        seeds(1);
        let (mut read, write) = pipe().expect("a pipe");
        // SAFETY: the child makes one seed, writes it and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let emptied = page().is_none_or(|page| {
                // SAFETY: a page that is never unmapped, of a child with one thread.
                let generator = unsafe { &*page.0 };
                generator.left == 0 && generator.key == [0; KEY]
            });
            let mut seed = [0u8; 48];
            fill(&mut seed);
            // SAFETY: the seed is as long; nothing of the parent's is flushed or freed.
            unsafe {
                use std::os::fd::AsRawFd;
                libc::write(write.as_raw_fd(), seed.as_ptr().cast(), seed.len());
                libc::_exit(if emptied { 0 } else { 1 });
            }
        }
        drop(write);
        let (mut theirs, mut status) = (Vec::new(), -1);
        read.read_to_end(&mut theirs).expect("the child's seed");
        // SAFETY: a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!((status, theirs.len()), (0, 48));
        assert!(!seeds(8).iter().any(|seed| seed[..] == theirs[..]));
    }

    /// ChaCha20's key stream of a known key, by another way to it: what comes is the stream after the next key.
    #[test]
    fn a_seed_is_key_stream_and_its_key_is_gone() {
        let mut generator = Generator { key: [7; KEY], copy: 0, left: 1 };
        let (mut stream, mut seed) = ([0u8; 64 + 48], [1; 48]);
        let zeros = [0u8; 64 + 48];
        // SAFETY: lengths as of the buffers.
        unsafe {
            lc::CRYPTO_chacha_20(
                stream.as_mut_ptr(),
                zeros.as_ptr(),
                stream.len(),
                [7; KEY].as_ptr(),
                [0; 12].as_ptr(),
                0,
            )
        };
        generator.generate(&mut seed);
        assert_eq!((&generator.key[..], &seed[..]), (&stream[..KEY], &stream[64..]));
    }
}
