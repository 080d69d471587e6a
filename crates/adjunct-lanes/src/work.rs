//! A kind with its type erased, so that the leading thread can run the jobs of other threads.

use super::function::{self, Function};
use super::kind::Kind;
use super::own::{wipe, zero};
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{LANES, Queue};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// [`Work::run`] of one kind.
type Run = unsafe fn(&[*mut u8], bool, &dyn Fn() -> bool) -> Option<Done>;

/// How each of the jobs was done; `None` for one whose result was wrong.
pub(super) type Done = [Option<Outcome>; LANES];

/// The functions and sizes of a kind that a leader needs.
pub(super) struct Work {
    pub(super) queue: Queue,
    /// [`Kind::width`] and [`Kind::break_even`].
    width: fn() -> usize,
    break_even: fn() -> usize,
    size: usize,
    run: Run,
}

struct Of<K>(PhantomData<K>);

impl<K: Kind> Of<K> {
    const WORK: Work =
        Work { queue: K::QUEUE, width: K::width, break_even: K::break_even, size: size_of::<K::Job>(), run: run::<K> };
}

impl Work {
    /// The work of a kind of job.
    pub(super) fn of<K: Kind>() -> &'static Work {
        &Of::<K>::WORK
    }

    /// The most jobs of a batch.
    pub(super) fn width(&self) -> usize {
        (self.width)()
    }

    /// The fewest jobs for which lanes take less time than as many operations alone, where nothing is measured.
    pub(super) fn break_even(&self) -> usize {
        (self.break_even)()
    }

    /// Whether `count` jobs take less time in lanes than one after the other.
    pub(super) fn pays(&self, count: usize, measures: bool) -> bool {
        self.function().pays(count, self.width(), self.break_even(), measures)
    }

    /// The measurements of its function.
    pub(super) fn function(&self) -> &'static Function {
        function::function(self.queue)
    }

    /// Does the jobs at `places`, in lanes or one by one, and leaves them there done; `None` where there was no
    /// memory for lanes. Where `still` says no afterwards (a child was forked meanwhile and this is it, the places are not ours), nothing is left.
    ///
    /// # Safety
    /// At each of the places, at most [`LANES`], stands a job of this kind that is the caller's alone.
    pub(super) unsafe fn run(&self, places: &[*mut u8], lanes: bool, still: &dyn Fn() -> bool) -> Option<Done> {
        // SAFETY: the caller gives at most LANES places, each with a job of this kind that is the caller's alone; `run` belongs to this
        // kind.
        unsafe { (self.run)(places, lanes, still) }
    }

    /// Wipes the job at `place`.
    ///
    /// # Safety
    /// There stands a job of this kind that is the caller's alone.
    pub(super) unsafe fn wipe(&self, place: *mut u8) {
        // SAFETY: the caller gives a place with a job of this kind, which is `size` bytes long and the caller's alone.
        unsafe { zero(place, self.size) };
    }
}

/// Copies the jobs to this thread's stack, so that the kernel works on memory no one else ever touches, and back.
///
/// # Safety
/// At each place stands a job of kind `K` that belongs to the caller alone, for as long as `still` says so.
unsafe fn run<K: Kind>(places: &[*mut u8], lanes: bool, still: &dyn Fn() -> bool) -> Option<Done> {
    #[repr(C, align(64))]
    struct Copies<J>([MaybeUninit<J>; LANES]);
    let mut copies: Copies<K::Job> = Copies([const { MaybeUninit::uninit() }; LANES]);
    let count = places.len().min(LANES);
    for (copy, place) in copies.0.iter_mut().zip(places) {
        // SAFETY: at each place stands a job of kind K that is the caller's alone: so says `Work::run`, which has the function of its kind.
        copy.write(unsafe { place.cast::<K::Job>().read() });
    }
    // SAFETY: the first `count` have just been written.
    let jobs = unsafe { std::slice::from_raw_parts_mut(copies.0.as_mut_ptr().cast::<K::Job>(), count) };
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut done: Done = [None; LANES];
        if lanes {
            let right = K::lanes(jobs)?;
            done.iter_mut().enumerate().for_each(|(i, done)| *done = (right >> i & 1 == 1).then_some(Outcome::Lanes));
        } else {
            done.iter_mut().zip(&mut *jobs).for_each(|(done, job)| *done = Some(K::scalar(job)));
        }
        Some(done)
    }));
    if still() {
        for (job, place) in jobs.iter().zip(places) {
            // SAFETY: the place holds a job of kind K that is the caller's alone, and it still is the caller's, says `still`.
            unsafe { place.cast::<K::Job>().write(*job) };
        }
    }
    jobs.iter_mut().for_each(wipe);
    done.unwrap_or(Some([None; LANES]))
}
