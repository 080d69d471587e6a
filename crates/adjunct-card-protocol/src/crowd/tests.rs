use super::decision::{GAIN, KEPT, LAST_PAUSE};
use super::*;
use std::path::Path;

/// RSA-2048 on a Zen 5: 193 microseconds, a batch 428.
fn page(cpus: usize) -> Page {
    let page = Page::default();
    page.set_cards(1, cpus);
    page.set_times(Kind::Rsa2048, 193_000, 428_000);
    page
}

/// Simulates `programs` programs that each do one operation after the other, alone, for 64 milliseconds from `begin`.
fn load(page: &Page, programs: u64, begin: u64) -> u64 {
    (begin..begin + 64).for_each(|now| page.ended(Kind::Rsa2048, now, programs * 1000));
    begin + 63
}

#[test]
fn what_is_under_way_is_known_from_what_has_ended() {
    let page = page(2);
    for (programs, begin) in [(16, 1_000_000), (1, 2_000_000), (400, 3_000_000)] {
        let now = load(&page, programs, begin);
        let found = page.under_way(Kind::Rsa2048, now);
        assert!((found - programs as f32).abs() < 0.1 * programs as f32, "{found} for {programs}");
    }
    assert_eq!(page.under_way(Kind::Rsa2048, 4_000_000), 0.0);
    assert_eq!(page.under_way(Kind::Rsa3072, 3_000_063), 0.0);
}

/// How many times as fast cards are, by what is under way.
fn gain(page: &Page, now: u64) -> f32 {
    page.gain(Kind::Rsa2048, now, page.under_way(Kind::Rsa2048, now))
}

#[test]
fn a_crowded_machine_asks_cards_at_once() {
    for (programs, cpus, expected) in [
        (0, 2, false),
        (1, 2, false),
        (2, 2, false),
        (4, 2, false),
        (8, 2, true),
        (16, 2, true),
        (64, 2, true),
        (16, 16, false),
    ] {
        let page = page(cpus);
        let now = load(&page, programs, 1 << 20);
        assert_eq!(gain(&page, now) > GAIN, expected, "{programs} programs, {cpus} CPUs");
        page.set_cards(0, cpus);
        assert!(!page.pays(Kind::Rsa2048, now, true), "no card");
    }
}

/// Simulates programs that do one operation after the other and together keep half a CPU busy: nothing is under way at a time, though many programs
/// run.
fn servers(page: &Page, begin: u64) -> u64 {
    (begin..begin + 64).for_each(|now| page.ended(Kind::Rsa2048, now, 500));
    begin + 63
}

#[test]
fn cards_are_tried_and_kept_while_they_are_faster() {
    let page = page(2);
    let now = servers(&page, 1 << 20);
    assert!(gain(&page, now) == 0.0 && page.pays(Kind::Rsa2048, now, true), "a trial");
    assert!(page.pays(Kind::Rsa2048, now + 1, true), "all of the trial");
    // Of batches of three, on a machine all of whose CPUs have something to do.
    (0..8).for_each(|_| page.found(Kind::Rsa2048, now + 5, 3, 428_000, 15_000, 9));
    assert!(page.pays(Kind::Rsa2048, now + 5 + KEPT - 1, true));
    // Those that have to connect first would be slower, unless that costs little.
    assert!(!page.pays(Kind::Rsa2048, now + 5 + KEPT - 1, false));
    page.daemon_is_free();
    [Side::Program, Side::Card].into_iter().for_each(|side| page.connected(side, 5000));
    assert!(page.connecting() == 10_001 && page.pays(Kind::Rsa2048, now + 5 + KEPT - 1, false));
    // Nothing is heard any more: the next trial.
    let later = servers(&page, now + 200);
    assert!(page.pays(Kind::Rsa2048, later, true) && measured(&page).next.load(Relaxed) > later);
    // A load that takes no notable part of a CPU is not tried.
    let now = later + 100_000;
    (now..now + 64).for_each(|now| page.ended(Kind::Rsa2048, now, 100));
    assert!(!page.pays(Kind::Rsa2048, now + 63, true));
}

fn measured(page: &Page) -> &Measured {
    &page.measured[Kind::Rsa2048 as usize]
}

#[test]
fn trials_cost_less_than_the_noise() {
    // Whether cards say that they are slower or nothing at all.
    for said in [true, false] {
        let page = page(2);
        let (begin, mut sent, mut now) = (1u64 << 20, 0, 1u64 << 20);
        while now < begin + 60_000 {
            page.ended(Kind::Rsa2048, now, 500);
            let on_card = page.pays(Kind::Rsa2048, now, true);
            sent += u64::from(on_card);
            if said && on_card {
                page.found(Kind::Rsa2048, now, 3, 3 * 193_000, 30_000, 2);
            }
            now += 1;
        }
        assert!(sent > 10 && sent < if said { 60 } else { 400 }, "{sent} of 60000 ms");
        // A load that is another one is tried soon.
        let pause = measured(&page).next.load(Relaxed).saturating_sub(now);
        assert!(pause > 3000, "{pause}");
        let tried = (now..now + pause).find(|&now| {
            page.ended(Kind::Rsa2048, now, 1500);
            page.pays(Kind::Rsa2048, now, true)
        });
        assert!(tried.is_some_and(|tried| tried < now + 100), "{tried:?} {now}");
    }
}

#[test]
fn cards_that_leave_cpus_idle_are_slower() {
    let page = page(2);
    let now = servers(&page, 1 << 20);
    assert!(page.pays(Kind::Rsa2048, now, true));
    (0..6).for_each(|_| page.found(Kind::Rsa2048, now, 4, 428_000, 30_000, 1));
    assert!(!page.pays(Kind::Rsa2048, now + 1, true));
}

#[test]
fn cards_that_are_slower_are_left_for_a_while_and_longer_each_time() {
    let page = page(2);
    let (mut now, mut pauses) = (1 << 20, Vec::new());
    for _ in 0..12 {
        now = load(&page, 16, now);
        assert!(page.pays(Kind::Rsa2048, now, true));
        page.found(Kind::Rsa2048, now, 64, 64 * 250_000, 10_000, 2);
        let until = measured(&page).until.load(Relaxed);
        pauses.push(until - now);
        assert!(!page.pays(Kind::Rsa2048, now, true));
        now = until;
    }
    assert!(pauses[..3] == [50, 100, 200] && pauses[11] == LAST_PAUSE, "{pauses:?}");
    // Those that are faster are not left.
    now = load(&page, 16, now);
    page.found(Kind::Rsa2048, now, 64, 64 * 54_000, 10_000, 2);
    assert!(page.pays(Kind::Rsa2048, now, true));
}

#[test]
fn where_nobody_is_one_asks_again_each_second() {
    let page = page(2);
    let asks = |from: u64, to: u64| (from..to).filter(|&now| !page.is_out(now)).count();
    assert_eq!(asks(5000, 5010), 10);
    page.nobody(6000);
    assert_eq!(asks(6000, 7000), 0);
    // The first that asks after a second is to find out; if it does not come back, the next one.
    assert_eq!(asks(7000, 8000), 1);
    assert_eq!(asks(8000, 9000), 1);
    // A card that answers anybody is there, whatever somebody found before; and so is a daemon that starts.
    page.found(Kind::Rsa2048, 9001, 1, 1, 1, 2);
    assert_eq!(asks(9001, 9011), 10);
    page.nobody(9020);
    page.set_cards(1, 2);
    assert_eq!(asks(9021, 9031), 10);
}

#[test]
fn a_page_is_made_once_and_found() {
    let folder = Path::new("/nonexistent/adjunct").join(std::process::id().to_string());
    assert!(Page::find(&folder).is_err());
    let (made, _) = Page::make(&folder).unwrap();
    made.set_cards(3, 2);
    let (found, owner) = Page::find(&folder).unwrap();
    let same = found.cards.load(Relaxed) == 3;
    Page::remove(&folder);
    assert!(same && owner == rustix::process::geteuid().as_raw());
    assert!(Page::find(&folder).is_err());
}

/// Makes a segment of that size in the place of a folder's page, as that user.
fn squat(folder: &std::path::Path, size: usize, user: libc::uid_t) {
    let key = segment::key(folder);
    // SAFETY: the child calls what may be called after a fork, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let made =
                libc::setuid(user) == 0 && libc::shmget(key, size, libc::IPC_CREAT | libc::IPC_EXCL | 0o666) >= 0;
            libc::_exit(i32::from(!made));
        }
        let mut status = 1;
        assert!(libc::waitpid(child, &raw mut status, 0) == child && status == 0);
    }
}

#[test]
fn a_segment_in_the_place_of_the_page_is_removed() {
    let me = rustix::process::geteuid().as_raw();
    let others = if me == 0 { vec![0, 65534] } else { vec![me] };
    let folder = std::env::temp_dir().join(format!("adjunct squatted {}", std::process::id()));
    for user in others {
        for size in [1, size_of::<Page>(), 2 * size_of::<Page>()] {
            squat(&folder, size, user);
            let (page, owner) = Page::make(&folder).unwrap();
            assert_eq!((owner, page.cards()), (me, 0));
            Page::remove(&folder);
        }
    }
    assert!(Page::find(&folder).is_err());
}
