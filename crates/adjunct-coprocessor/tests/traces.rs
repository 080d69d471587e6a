//! No secret is left in memory that was given back: an allocator that looks into what it takes back.

mod common;

use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::Kind;
use adjunct_coprocessor::roles::Step;
use adjunct_coprocessor::state::State;
use adjunct_coprocessor::unit::OwnKey;
use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use zeroize::Zeroizing;

/// Bytes of a secret, in a form that the program's own constant does not have.
const HIDDEN: [u8; 16] = *b"\x5a\x1b\xc4\x77\x90\x2e\xd3\x68\x0f\xa5\x39\xec\x81\x46\xbd\x12";

fn secret() -> [u8; 32] {
    std::array::from_fn(|at| HIDDEN[at % 16] ^ 0xff)
}

static FOUND: AtomicUsize = AtomicUsize::new(0);

struct Looking;

// SAFETY: the system's allocator does what is asked; its memory is read while it is still this program's.
unsafe impl GlobalAlloc for Looking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller upholds.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: all of it was written, with zeros at first, and the caller uses it no more.
        let bytes = unsafe { std::slice::from_raw_parts(pointer, layout.size()) };
        let is = |part: &[u8]| part.iter().zip(&HIDDEN).all(|(byte, hidden)| *byte == hidden ^ 0xff);
        if bytes.windows(16).any(is) {
            FOUND.fetch_add(1, Relaxed);
        }
        // SAFETY: as the caller upholds.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static LOOKING: Looking = Looking;

/// How often a secret was in memory that was given back meanwhile.
fn found(body: impl FnOnce()) -> usize {
    let before = FOUND.load(Relaxed);
    body();
    FOUND.load(Relaxed) - before
}

/// One test: it counts what all threads do.
#[test]
fn master_keys_leave_no_copy_behind() {
    assert_eq!(found(|| drop(std::hint::black_box(secret().to_vec()))), 1, "it is seen");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let all = || {
        let keeper = keeper(folder);
        let load = |state: &mut State| {
            let domain = state.domain_or_new(0, adjunct_coprocessor::control::ControlPoints::ALL);
            let own = Zeroizing::new(secret().to_vec());
            domain.unit.set_key(1, Some(OwnKey::new(own))).map_err(|error| error.to_string())?;
            let wrapping = domain.registers_mut(Kind::Wrapping).unwrap();
            let mut load = |step, part: &[u8]| wrapping.load(step, part, 0).map_err(|error| error.to_string());
            load(Step::First, &[1; 32])?;
            load(Step::Middle, &secret())?;
            load(Step::Last, &[1; 32])
        };
        keeper.change(&caller(0), Some(0), "load", load).unwrap();
        let pattern = *keeper
            .state()
            .domain(0)
            .unwrap()
            .registers(Kind::Wrapping)
            .unwrap()
            .next()
            .unwrap()
            .key()
            .unwrap()
            .pattern();
        let refused = keeper.change(&caller(0), Some(0), "refused", |_| Err::<(), _>("no"));
        assert!(refused.is_err());
        let commit = |state: &mut State| {
            let wrapping = state.domain_mut(0).unwrap().registers_mut(Kind::Wrapping).unwrap();
            wrapping.commit(&pattern).and_then(|()| wrapping.finalize(&pattern))
        };
        keeper.change(&caller(0), Some(0), "commit", commit).unwrap();
        drop(keeper);
        let again = common::keeper(folder);
        assert_eq!(
            again.state().domain(0).unwrap().registers(Kind::Wrapping).unwrap().current().unwrap().secret(),
            secret()
        );
        let clear = |state: &mut State| state.remove_domain(0).then_some(()).ok_or("no domain");
        Keeper::change(&again, &caller(0), Some(0), "clear", clear).unwrap();
        drop(again);
        std::fs::remove_file(folder.join("vault")).unwrap();
        std::fs::remove_file(folder.join("audit")).unwrap();
    };
    assert_eq!(found(all), 0);
}
