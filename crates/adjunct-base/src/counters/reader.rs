//! The command's side: lists the users with counters, reads, resets and removes counters, and finds what keeps programs from counting.
#![forbid(unsafe_code)]

use super::find::Sought;
use super::layout::{Head, WORDS, snapshot};
use super::memory::{self, Access, Stat, Wrong};
use super::owner::{Owner, Owners};
use super::proc;
use super::process;
use super::segment::Segment;
use super::settings::VARIABLE;
use super::slot::{Place, Slot};
use super::snapshot::Snapshot;
use super::switched::Switched;
use crate::environment::secure_env;
use crate::error::Error;
use crate::sandbox;
use rustix::thread::{CapabilitySet, capabilities};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// See [`super::key`].
pub(super) fn key(prefix: u32, uid: u32) -> i32 {
    Sought::of(prefix, uid).keys().next().unwrap_or_default()
}

fn describe(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Owner => "the place of these counters is taken by another user".into(),
        Wrong::Mode => "the counters' mode is not 0600".into(),
        Wrong::Size => "the counters have the wrong size".into(),
        Wrong::Content(found) => format!("the counters are damaged (they start with {found:#018x})"),
        Wrong::System(call, error) => format!("{call}: {error}"),
    }
}

fn words(found: &Stat, wrong: &Wrong) -> String {
    let Stat { id, key, uid, creator, mode, size, .. } = found;
    let what = describe(wrong);
    format!(
        "{what} (shared memory segment {id}, key {key:#010x}, owner {uid}, creator {creator}, mode {mode:04o}, {size} \
         bytes); remove it with 'ipcrm -m {id}'"
    )
}

/// Segments in the way that are told one by one.
const TOLD: usize = 3;

/// See [`super::remarks`].
pub(super) fn remarks(prefix: u32, uid: u32) -> Vec<Error> {
    let remark = |cause| Error::Counters { uid, cause };
    let mut remarks = Vec::new();
    let word = secure_env(VARIABLE).unwrap_or_default();
    if !["", "on", "off"].iter().any(|known| word.eq_ignore_ascii_case(known)) {
        let error = Error::UnknownWord { place: VARIABLE, word: word.clone(), known: "on off".to_owned() };
        remarks.push(remark(format!("{error}; counting is on")));
    }
    if sandbox::filtered() && !word.eq_ignore_ascii_case("on") {
        remarks.push(remark(
            "a filter of system calls is in force here (as in a container, or a service with SystemCallFilter=); what is \
             started under it counts only with ADJUNCT_STATS=on"
                .to_owned(),
        ));
    }
    let listed = match memory::segments() {
        Ok(listed) => listed,
        Err(error) => {
            remarks.push(remark(format!("the system's list of segments: {error}")));
            return remarks;
        }
    };
    remarks.extend(in_the_way(prefix, uid, &listed));
    let own = Sought::of(prefix, uid);
    if !own.is_in(&listed)
        && uid == memory::effective_user()
        && let Err(wrong) = memory::probe::<Segment>()
    {
        let cause = describe(&wrong);
        remarks.push(remark(format!("{cause}; see 'ipcs -lm' and 'ipcs -um' for the system's limits")));
    }
    remarks
}

/// The other segments that keep the programs of `uid` from counting in their first place.
fn in_the_way(prefix: u32, uid: u32, listed: &[Stat]) -> Vec<Error> {
    let remark = |cause| Error::Counters { uid, cause };
    let mut in_the_way = Sought::of(prefix, uid).in_the_way(listed);
    if uid == 0 {
        in_the_way.append(&mut Sought::switched(prefix).in_the_way(listed));
    }
    let rest = in_the_way.len().saturating_sub(TOLD);
    let mut remarks: Vec<Error> =
        in_the_way.iter().take(TOLD).map(|(found, wrong)| remark(words(found, wrong))).collect();
    if rest > 0 {
        remarks.push(remark(format!("{rest} more of their places are taken; 'ipcs -m' lists them")));
    }
    remarks
}

/// See [`super::obstacles`].
pub(super) fn obstacles(prefix: u32, uid: u32) -> Result<Vec<Error>, Error> {
    readable(uid)?;
    Ok(in_the_way(prefix, uid, &listed(uid)?))
}

pub(super) fn listed(uid: u32) -> Result<Vec<Stat>, Error> {
    memory::segments().map_err(|e| Error::Counters { uid, cause: format!("the system's list of segments: {e}") })
}

/// See [`super::users`].
pub(super) fn users(prefix: u32) -> Result<Vec<u32>, Error> {
    let (me, all) = (memory::effective_user(), reads_all());
    let listed = listed(me)?;
    let mut users: Vec<u32> = listed.iter().map(|s| s.uid).filter(|&uid| all || me == uid).collect();
    users.sort_unstable();
    users.dedup();
    users.retain(|&uid| Sought::of(prefix, uid).is_in(&listed));
    if all {
        let switched = Sought::switched(prefix).all(&listed, Access::Read);
        users.extend(switched.iter().flat_map(|s| s.users()));
        users.sort_unstable();
        users.dedup();
    }
    Ok(users)
}

/// See [`super::reads_all`].
pub(super) fn reads_all() -> bool {
    memory::effective_user() == 0 || capabilities(None).is_ok_and(|c| c.effective.contains(CapabilitySet::IPC_OWNER))
}

/// Whether this process may read the counters of `uid`.
pub(super) fn readable(uid: u32) -> Result<(), Error> {
    if reads_all() { Ok(()) } else { permitted(uid, "see or change") }
}

pub(super) fn permitted(uid: u32, what: &str) -> Result<(), Error> {
    let me = memory::effective_user();
    if me != 0 && me != uid {
        return Err(Error::Counters { uid, cause: format!("only root may {what} the counters of others") });
    }
    Ok(())
}

/// Adds up a user's own segments and those of switched users, which only a process that reads all may see; `None` where there are none.
fn sum(parts: impl Iterator<Item = Snapshot>) -> Option<Snapshot> {
    parts.reduce(|sum, part| sum.plus(&part))
}

/// The segments of switched users, for a process that may see all, with the counts for `uid`.
fn switched(prefix: u32, uid: u32, listed: &[Stat], access: Access) -> impl Iterator<Item = memory::Mapped<Switched>> {
    let may = memory::effective_user() == 0 || access == Access::Read && reads_all();
    let all = if may { Sought::switched(prefix).all(listed, access) } else { Vec::new() };
    all.into_iter().filter(move |s| s.users().contains(&uid))
}

/// See [`super::read`].
pub(super) fn read(prefix: u32, uid: u32) -> Result<Option<Snapshot>, Error> {
    readable(uid)?;
    let listed = listed(uid)?;
    let own = Sought::of(prefix, uid).all(&listed, Access::Read);
    let switched = switched(prefix, uid, &listed, Access::Read);
    Ok(sum(own.iter().map(|s| s.read(uid)).chain(switched.map(|s| s.read(uid)))))
}

/// See [`super::attached`].
pub(super) fn attached(prefix: u32, uid: u32) -> Result<u64, Error> {
    Ok(Sought::of(prefix, uid).own(&listed(uid)?).iter().map(|found| found.attached).sum())
}

/// See [`super::slots`].
pub(super) fn slots(prefix: u32, uid: u32) -> Result<Vec<Slot>, Error> {
    readable(uid)?;
    let listed = listed(uid)?;
    let here = proc::namespaces();
    let mut slots = Vec::new();
    let mut add = |segment: i32, owners: Owners<'_>, place: usize, words: Vec<u64>| {
        let counted = snapshot(uid, &words, &[0; WORDS]);
        slots.push(Slot::new(Place { segment, number: place }, owners.owner(place), here, counted));
    };
    let words = |block: &super::layout::Block| block.iter().map(|word| word.load(Relaxed)).collect();
    for segment in Sought::of(prefix, uid).all(&listed, Access::Read) {
        for place in segment.owners().used() {
            let Some(block) = segment.slot(place) else { continue };
            add(segment.id, segment.owners(), place, words(block));
        }
    }
    for segment in switched(prefix, uid, &listed, Access::Read) {
        for place in segment.places_of(uid) {
            let Some(block) = segment.slot(place) else { continue };
            add(segment.id, segment.owners(), place, words(block));
        }
    }
    Ok(slots)
}

/// How long others may hold the reset lock, which takes microseconds, before that is an error.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time after which a holder in another namespace, whose state cannot be found out, is assumed to have been killed while it held the lock.
const STRANGER: Duration = Duration::from_secs(3);
/// Resets that find another process resetting at the same time, though they hold the lock, before that is an error. In a sound segment this happens
/// only where a holder was wrongly assumed to be killed.
const DISTURBED: usize = 16;

/// See [`super::take`].
pub(super) fn take(prefix: u32, uid: u32) -> Result<Option<Snapshot>, Error> {
    permitted(uid, "see or change")?;
    let listed = listed(uid)?;
    let mut taken = Vec::new();
    for segment in Sought::of(prefix, uid).all(&listed, Access::Write) {
        taken.push(exclusively(segment.head(), uid, || segment.take(uid))?);
    }
    for segment in switched(prefix, uid, &listed, Access::Write) {
        taken.push(exclusively(segment.head(), uid, || Some(segment.take(uid)))?);
    }
    Ok(sum(taken.into_iter()))
}

/// Runs `work` with the reset lock held; again if another process reset all the same. It ends whatever others write there.
fn exclusively<R>(head: &Head, uid: u32, work: impl Fn() -> Option<R>) -> Result<R, Error> {
    let failed = |cause| Error::Counters { uid, cause };
    let call = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_micros() as u8);
    let me = process::holder(call).ok_or_else(|| failed("this process's number is no pid of Linux".into()))?.word();
    let start = Instant::now();
    let mut waiting: Option<(u64, Instant)> = None;
    let mut disturbed = 0;
    while disturbed < DISTURBED {
        let left =
            waiting.filter(|w| process::lives(Owner::from_word(w.0)).map_or(w.1.elapsed() > STRANGER, |lives| !lives));
        match head.lock_resets(left.map_or(0, |w| w.0), me) {
            Ok(()) => {
                let done = work();
                head.unlock_resets(me);
                if let Some(done) = done {
                    return Ok(done);
                }
                disturbed += 1;
            }
            Err(holder) => {
                if start.elapsed() > PATIENCE {
                    let pid = Owner::from_word(holder).pid();
                    let seconds = PATIENCE.as_secs();
                    return Err(failed(format!(
                        "process {pid} has been resetting them for {seconds} s; end it, or let it go on"
                    )));
                }
                if waiting.is_none_or(|w| w.0 != holder) {
                    waiting = Some((holder, Instant::now()));
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
    Err(failed("they are being changed by something else than adjunct; delete them".into()))
}

/// Removes a segment of `uid`, where it is still there.
pub(super) fn remove(uid: u32, id: std::ffi::c_int) -> Result<(), Error> {
    match memory::remove(id) {
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) && error.raw_os_error() != Some(libc::EIDRM) => {
            Err(Error::Counters { uid, cause: format!("shmctl: {error}") })
        }
        _ => Ok(()),
    }
}

/// See [`super::delete`].
pub(super) fn delete(prefix: u32, uid: u32) -> Result<(), Error> {
    permitted(uid, "remove")?;
    let listed = listed(uid)?;
    let remove = |id| remove(uid, id);
    for found in Sought::of(prefix, uid).own(&listed) {
        remove(found.id)?;
    }
    if memory::effective_user() != 0 {
        return Ok(());
    }
    let of_switched = Sought::switched(prefix);
    for segment in of_switched.all(&listed, Access::Write) {
        exclusively(segment.head(), uid, || Some(segment.take(uid)))?;
        // It has others' counters too. What programs have mapped they go on to count in; those of a test are the test's.
        let empty = segment.users().is_empty();
        if empty && (prefix != 0 || memory::alone(&segment, 1 + process::switched_mappings())) {
            remove(segment.id)?;
        }
    }
    if uid == 0 {
        let damaged = of_switched.own(&listed).into_iter().filter(|s| !of_switched.is_sound(s));
        for found in damaged {
            remove(found.id)?;
        }
    }
    Ok(())
}
