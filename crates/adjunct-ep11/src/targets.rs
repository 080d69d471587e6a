//! Targets: the modules and groups that a program has added, by number, and lists of the form that libep11 had before its version 2.
//!
//! The low 16 bits of a target are its number, from 1 on; flags ([`flag`]) are added to it. A number above 32 bits is the address of a list.

use crate::error::Rv;
use adjunct_base::lock::Lock;
use adjunct_base::lock::Taken;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// "No target yet", in which [`Targets::add`] is asked for a new one.
pub const NONE: u64 = u64::MAX;
/// The most targets at a time.
pub const MOST: usize = 1024;
const NUMBER: u64 = 0xffff;

/// Flags that are added to a target.
#[allow(missing_docs)]
pub mod flag {
    pub const NO_LOCK: u64 = 0x0100_0000;
    /// Attributes that the interface does not know are refused.
    pub const CHECK_ATTRIBUTES: u64 = 0x0200_0000;
    pub const ADMIN_COMMAND: u64 = 0x0400_0000;
    /// A request is not done in parts.
    pub const NO_SPLIT: u64 = 0x0800_0000;
    /// The request is given out and not sent.
    pub const CAPTURE: u64 = 0x1000_0000;
    /// The request's size is given out.
    pub const CAPTURE_SIZE: u64 = 0x2000_0000;
    pub const SPECIAL_COMMAND: u64 = 0x4000_0000;
    pub const API_CHECKED: u64 = 0x8000_0000;
    pub const ALL: u64 = 0xff00_0000;
}

/// A domain of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The card.
    pub card: u8,
    /// The domain.
    pub domain: u8,
}

/// The domains of which one is to do a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// Those of a number.
    Of(usize),
    /// Those of a list.
    List(Vec<Member>),
}

/// Milliseconds for which a domain is passed over after it did not answer, while others do.
const PASSED_OVER: u64 = 1000;
const PLACES: usize = 256;

/// Which domains did not answer lately, and how long they are passed over, in places by the number of card and domain: two of one place are passed over
/// together at worst. Each is one word, so that a fork may come at any time.
#[derive(Debug)]
struct Health([AtomicU64; PLACES]);

impl Health {
    fn place(&self, member: Member) -> &AtomicU64 {
        &self.0[(usize::from(member.card) * 17 + usize::from(member.domain)) % PLACES]
    }
}

/// The targets of a program.
#[derive(Debug)]
pub struct Targets {
    all: Lock<Table>,
    health: Health,
    turn: AtomicU64,
}

#[derive(Debug)]
struct Table {
    /// By number, from 1 on.
    groups: Vec<Vec<Member>>,
    /// Whether a thread is at changing `groups`: a child of fork that finds it so has lost them.
    changing: bool,
}

impl Default for Targets {
    fn default() -> Targets {
        Targets::new()
    }
}

impl Targets {
    /// No target.
    pub const fn new() -> Targets {
        Targets {
            all: Lock::new(Table { groups: Vec::new(), changing: false }),
            health: Health([const { AtomicU64::new(0) }; PLACES]),
            turn: AtomicU64::new(0),
        }
    }

    /// Reads the groups.
    fn read<R>(&self, body: impl FnOnce(&[Vec<Member>]) -> R) -> R {
        self.all.hold_unnoted(|table, taken| body(table.sound(taken)))
    }

    /// Changes the groups.
    fn change<R>(&self, body: impl FnOnce(&mut Vec<Vec<Member>>) -> R) -> R {
        self.all.hold_unnoted(|table, taken| {
            table.sound(taken);
            table.changing = true;
            let done = body(&mut table.groups);
            table.changing = false;
            done
        })
    }

    /// Adds domains to the group of a target, or to a new one for [`NONE`]; the target. A domain is in a group once.
    ///
    /// # Errors
    /// [`Rv::TARGET`] for a target that is none, and where there are [`MOST`].
    pub fn add(&self, target: u64, members: &[Member]) -> Result<u64, Rv> {
        self.change(|groups| {
            let number = if target == NONE {
                // A number is used again when all others are taken: who still uses one that was removed finds none rather than another's.
                match groups.iter().position(Vec::is_empty) {
                    Some(free) if groups.len() == MOST => free,
                    None if groups.len() == MOST => return Err(Rv::TARGET),
                    _ => {
                        groups.push(Vec::new());
                        groups.len() - 1
                    }
                }
            } else {
                number(target)
                    .filter(|number| groups.get(*number).is_some_and(|group| !group.is_empty()))
                    .ok_or(Rv::TARGET)?
            };
            let group = &mut groups[number];
            for member in members {
                if !group.contains(member) {
                    group.push(*member);
                }
            }
            Ok(number as u64 + 1)
        })
    }

    /// Removes domains from the group of a target, or the target for `None`; without its last domain it is none any more.
    ///
    /// # Errors
    /// [`Rv::TARGET`] for a target that is none.
    pub fn remove(&self, target: u64, members: Option<&[Member]>) -> Result<(), Rv> {
        self.change(|groups| {
            let group = number(target).and_then(|number| groups.get_mut(number)).filter(|group| !group.is_empty());
            let group = group.ok_or(Rv::TARGET)?;
            match members {
                Some(members) => group.retain(|member| !members.contains(member)),
                None => *group = Vec::new(),
            }
            Ok(())
        })
    }

    /// Removes all targets.
    pub fn clear(&self) {
        self.change(|groups| *groups = Vec::new());
    }

    /// The domains of a target that is no list's address.
    ///
    /// # Errors
    /// [`Rv::TARGET`] for one that is none.
    pub fn members(&self, target: u64) -> Result<Members, Rv> {
        let number = number(target).ok_or(Rv::TARGET)?;
        let members = Members::Of(number);
        if self.count(&members) == 0 { Err(Rv::TARGET) } else { Ok(members) }
    }

    /// How many domains there are now.
    pub fn count(&self, members: &Members) -> usize {
        match members {
            Members::Of(number) => self.read(|groups| groups.get(*number).map_or(0, Vec::len)),
            Members::List(list) => list.len(),
        }
    }

    /// One of the domains.
    fn at(&self, members: &Members, place: usize) -> Option<Member> {
        match members {
            Members::Of(number) => self.read(|groups| groups.get(*number)?.get(place).copied()),
            Members::List(list) => list.get(place).copied(),
        }
    }

    /// The only domain; `None` where there are several.
    pub fn only(&self, members: &Members) -> Option<Member> {
        if self.count(members) == 1 { self.at(members, 0) } else { None }
    }

    /// The domains in the order in which they are to be asked: in turns, and those that did not answer lately last.
    pub fn order<'a>(&'a self, members: &'a Members, now: u64) -> impl Iterator<Item = Member> + 'a {
        let count = self.count(members);
        let first = if count > 1 { self.turn.fetch_add(1, Relaxed) as usize % count } else { 0 };
        let turn = move || (0..count).filter_map(move |place| self.at(members, (first + place) % count));
        let well = move |member: &Member| self.health.place(*member).load(Relaxed) <= now;
        let ill: Vec<Member> = if count > 1 { turn().filter(|member| !well(member)).collect() } else { Vec::new() };
        let known = ill.clone();
        turn().filter(move |member| !known.contains(member)).chain(ill)
    }

    /// Notes whether a domain has answered.
    pub fn note(&self, member: Member, answered: bool, now: u64) {
        let place = self.health.place(member);
        match answered {
            true if place.load(Relaxed) == 0 => {}
            true => place.store(0, Relaxed),
            false => place.store(now + PASSED_OVER, Relaxed),
        }
    }
}

impl Table {
    /// The groups; none where a fork has come between a change's begin and its end.
    fn sound(&mut self, taken: Taken) -> &[Vec<Member>] {
        if taken.abandoned && self.changing {
            // What lies there may be half written: it is not dropped.
            std::mem::forget(std::mem::take(&mut self.groups));
            self.changing = false;
        }
        &self.groups
    }
}

/// The place of a target's group.
fn number(target: u64) -> Option<usize> {
    let number = target & NUMBER;
    let fits = target & !(NUMBER | flag::ALL) == 0 && (1..=MOST as u64).contains(&number);
    fits.then(|| number as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Member = Member { card: 1, domain: 2 };
    const B: Member = Member { card: 3, domain: 4 };

    #[test]
    fn groups_grow_and_shrink() {
        let targets = Targets::new();
        let group = targets.add(NONE, &[A]).unwrap();
        assert_eq!(targets.add(group, &[B, A]), Ok(group));
        let members = targets.members(group | flag::NO_SPLIT).unwrap();
        assert_eq!((targets.count(&members), targets.only(&members)), (2, None));
        targets.remove(group, Some(&[A])).unwrap();
        assert_eq!(targets.only(&members), Some(B));
        targets.remove(group, Some(&[B])).unwrap();
        for none in [group, 0, NONE, 0x1_0000, group | 0x10_0000, 2] {
            assert_eq!(targets.members(none), Err(Rv::TARGET));
            assert_eq!(targets.remove(none, None), Err(Rv::TARGET));
        }
        assert_eq!(targets.add(group, &[A]), Err(Rv::TARGET));
    }

    #[test]
    fn a_number_is_not_soon_another_targets() {
        let targets = Targets::new();
        let first = targets.add(NONE, &[A]).unwrap();
        targets.remove(first, None).unwrap();
        for _ in 1..MOST {
            assert_ne!(targets.add(NONE, &[A]).unwrap(), first);
        }
        assert_eq!(targets.add(NONE, &[A]), Ok(first));
        assert_eq!(targets.add(NONE, &[A]), Err(Rv::TARGET));
        targets.clear();
        assert_eq!(targets.add(NONE, &[A]), Ok(1));
    }

    #[test]
    fn domains_take_turns_and_the_silent_ones_come_last() {
        let targets = Targets::new();
        let members = Members::List(vec![A, B]);
        let first = |now| targets.order(&members, now).next().unwrap();
        assert_ne!(first(0), first(0));
        targets.note(A, false, 0);
        for _ in 0..2 {
            assert_eq!(targets.order(&members, 1).collect::<Vec<_>>(), [B, A]);
        }
        assert_ne!(first(PASSED_OVER), first(PASSED_OVER));
        targets.note(A, false, 5000);
        targets.note(A, true, 5000);
        assert_ne!(first(5001), first(5001));
    }
}
