//! The key cache under threads.

use adjunct_coprocessor::cache::Cache;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A key that counts how many there are.
struct Key<'a> {
    blob: [u8; 8],
    domain: u8,
    alive: &'a AtomicUsize,
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, SeqCst);
    }
}

fn made(domain: u8, blob: [u8; 8], alive: &AtomicUsize) -> Result<(Key<'_>, usize), Infallible> {
    alive.fetch_add(1, SeqCst);
    Ok((Key { blob, domain, alive }, 100))
}

#[test]
fn threads_get_the_key_of_their_blob_and_all_goes_in_the_end() {
    let alive = AtomicUsize::new(0);
    let cache = Cache::new(600, 50_000);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (cache, alive) = (&cache, &alive);
            scope.spawn(move || {
                let mut number = thread;
                for turn in 0..20_000 {
                    number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let (domain, blob) = ((number >> 60) as u8 % 2, (number >> 33) % 1000);
                    let blob = blob.to_le_bytes();
                    let key = cache.get_or_make(domain, &blob, || made(domain, blob, alive)).unwrap();
                    assert_eq!((key.domain, key.blob), (domain, blob));
                    if thread == 0 && turn % 1000 == 999 {
                        cache.wipe();
                    }
                }
            });
        }
    });
    let report = cache.report();
    assert!(report.entries <= 500 && report.entries * 100 == report.bytes, "{report:?}");
    assert_eq!((report.entries, report.hits + report.misses), (alive.load(SeqCst), 80_000));
    assert!(report.hits > 0 && report.misses > 2000, "{report:?}");
    cache.wipe();
    assert_eq!((cache.report().entries, alive.load(SeqCst)), (0, 0));
}

#[test]
fn a_key_lives_as_long_as_it_is_used() {
    let alive = AtomicUsize::new(0);
    let cache = Cache::new(10, 1000);
    let key = cache.get_or_make(0, b"12345678", || made(0, *b"12345678", &alive)).unwrap();
    cache.wipe();
    assert_eq!((cache.report().entries, alive.load(SeqCst), key.blob), (0, 1, *b"12345678"));
    drop(key);
    assert_eq!(alive.load(SeqCst), 0);
    // Domains are apart.
    cache.get_or_make(0, b"same", || made(0, [0; 8], &alive)).unwrap();
    assert!(cache.get(1, b"same").is_none() && cache.get(0, b"same").is_some());
    // An error is nothing to keep.
    assert!(cache.get_or_make(0, b"error", || Err("no")).is_err() && cache.get(0, b"error").is_none());
}

/// A key that is being made while the master key goes, and the cache is wiped, is given to who asked for it, and not kept.
#[test]
fn what_is_made_while_the_cache_is_wiped_is_not_kept() {
    let cache = Cache::new(10, 1000);
    let wiped = AtomicBool::new(false);
    let key = cache.get_or_make(0, b"blob", || {
        cache.wipe();
        wiped.store(true, SeqCst);
        Ok::<_, Infallible>((7, 1))
    });
    assert!(wiped.load(SeqCst) && key.is_ok_and(|key| *key == 7));
    assert!(cache.get(0, b"blob").is_none());
}
