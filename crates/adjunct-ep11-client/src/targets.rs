//! Targets: the domains and groups that a program has added, and lists of the form that libep11 had before its version 2.
//!
//! The target of a domain has the card in its upper word and the domain in its lower one, as programs take for granted (openCryptoki makes some itself). That of a
//! group has [`GROUP`] and a number from 1 on. Flags ([`flag`]) are added to both. Any other number is the address of a list.

use crate::error::Rv;
use adjunct_base::lock::Lock;
use adjunct_base::lock::Taken;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// "No target yet", in which [`Targets::add`] is asked for a new one.
pub const NONE: u64 = u64::MAX;
/// The most groups at a time.
pub const MOST: usize = 1024;
/// The mark of a group.
pub const GROUP: u64 = 0x1_0000;
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
    /// One.
    One(Member),
    /// Those of a group.
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
    added: Added,
    /// Whether a thread is at changing `added`: a child of fork that finds it so has lost all.
    changing: bool,
}

#[derive(Debug)]
struct Added {
    /// Domains, and how often each was added.
    domains: Vec<(Member, usize)>,
    /// Groups, by number from 1 on.
    groups: Vec<Vec<Member>>,
}

impl Added {
    const NONE: Added = Added { domains: Vec::new(), groups: Vec::new() };
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
            all: Lock::new(Table { added: Added::NONE, changing: false }),
            health: Health([const { AtomicU64::new(0) }; PLACES]),
            turn: AtomicU64::new(0),
        }
    }

    /// Reads what was added.
    fn read<R>(&self, body: impl FnOnce(&Added) -> R) -> R {
        self.all.hold_unnoted(|table, taken| body(table.sound(taken)))
    }

    /// Changes what was added.
    fn change<R>(&self, body: impl FnOnce(&mut Added) -> R) -> R {
        self.all.hold_unnoted(|table, taken| {
            table.sound(taken);
            table.changing = true;
            let done = body(&mut table.added);
            table.changing = false;
            done
        })
    }

    /// Adds a domain; its target.
    pub fn add(&self, member: Member) -> u64 {
        self.change(|added| match added.domains.iter_mut().find(|(of, _)| *of == member) {
            Some((_, count)) => *count += 1,
            None => added.domains.push((member, 1)),
        });
        u64::from(member.card) << 32 | u64::from(member.domain)
    }

    /// Adds domains to a group, or to a new one for [`NONE`]; its target. A domain is in a group once.
    ///
    /// # Errors
    /// [`Rv::TARGET`] for a target that is no group, and where there are [`MOST`].
    pub fn add_to_group(&self, target: u64, members: &[Member]) -> Result<u64, Rv> {
        self.change(|Added { groups, .. }| {
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
                match Named::of(target) {
                    Some(Named::Group(number)) if groups.get(number).is_some_and(|group| !group.is_empty()) => number,
                    _ => return Err(Rv::TARGET),
                }
            };
            let group = &mut groups[number];
            for member in members {
                if !group.contains(member) {
                    group.push(*member);
                }
            }
            Ok(GROUP | (number as u64 + 1))
        })
    }

    /// Removes domains from the group of a target, or all of it for `None`; without its last domain it is none any more. A domain is removed as often as it was
    /// added.
    ///
    /// # Errors
    /// [`Rv::TARGET`] for a target that is none.
    pub fn remove(&self, target: u64, members: Option<&[Member]>) -> Result<(), Rv> {
        self.change(|added| match Named::of(target) {
            Some(Named::Group(number)) => {
                let group = added.groups.get_mut(number).filter(|group| !group.is_empty()).ok_or(Rv::TARGET)?;
                match members {
                    Some(members) => group.retain(|member| !members.contains(member)),
                    None => *group = Vec::new(),
                }
                Ok(())
            }
            Some(Named::Domain(member)) => {
                let place = added.domains.iter().position(|(of, _)| *of == member).ok_or(Rv::TARGET)?;
                added.domains[place].1 -= 1;
                if added.domains[place].1 == 0 {
                    added.domains.swap_remove(place);
                }
                Ok(())
            }
            None => Err(Rv::TARGET),
        })
    }

    /// Removes all targets.
    pub fn clear(&self) {
        self.change(|added| *added = Added::NONE);
    }

    /// The domains of a target that is no list's address.
    ///
    /// # Errors
    /// [`Rv::TARGET`] for one that was not added.
    pub fn members(&self, named: Named) -> Result<Members, Rv> {
        let members = match named {
            Named::Group(number) => Members::Of(number),
            Named::Domain(member) => {
                let was_added = self.read(|added| added.domains.iter().any(|(of, _)| *of == member));
                return if was_added { Ok(Members::One(member)) } else { Err(Rv::TARGET) };
            }
        };
        if self.count(&members) == 0 { Err(Rv::TARGET) } else { Ok(members) }
    }

    /// How many domains there are now.
    pub fn count(&self, members: &Members) -> usize {
        match members {
            Members::One(_) => 1,
            Members::Of(number) => self.read(|added| added.groups.get(*number).map_or(0, Vec::len)),
            Members::List(list) => list.len(),
        }
    }

    /// One of the domains.
    fn at(&self, members: &Members, place: usize) -> Option<Member> {
        match members {
            Members::One(member) => Some(*member).filter(|_| place == 0),
            Members::Of(number) => self.read(|added| added.groups.get(*number)?.get(place).copied()),
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
    /// What was added; nothing where a fork has come between a change's begin and its end.
    fn sound(&mut self, taken: Taken) -> &Added {
        if taken.abandoned && self.changing {
            // What lies there may be half written: it is not dropped.
            std::mem::forget(std::mem::replace(&mut self.added, Added::NONE));
            self.changing = false;
        }
        &self.added
    }
}

/// What a target names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A domain of a card.
    Domain(Member),
    /// A group, by its place.
    Group(usize),
}

impl Named {
    /// What a target names, added or not; `None` for one that can only be an address, and for [`NONE`].
    pub fn of(target: u64) -> Option<Named> {
        let (card, low) = (u8::try_from(target >> 32).ok()?, target & u64::from(u32::MAX) & !flag::ALL);
        if let Ok(domain) = u8::try_from(low) {
            return Some(Named::Domain(Member { card, domain }));
        }
        let number = low & NUMBER;
        let is_group = card == 0 && low == GROUP | number && (1..=MOST as u64).contains(&number);
        is_group.then(|| Named::Group(number as usize - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Member = Member { card: 1, domain: 2 };
    const B: Member = Member { card: 3, domain: 4 };

    impl Targets {
        fn of(&self, target: u64) -> Result<Members, Rv> {
            Named::of(target).ok_or(Rv::TARGET).and_then(|named| self.members(named))
        }
    }

    #[test]
    fn groups_grow_and_shrink() {
        let targets = Targets::new();
        let group = targets.add_to_group(NONE, &[A]).unwrap();
        assert_eq!(targets.add_to_group(group, &[B, A]), Ok(group));
        let members = targets.of(group | flag::NO_SPLIT).unwrap();
        assert_eq!((targets.count(&members), targets.only(&members)), (2, None));
        targets.remove(group, Some(&[A])).unwrap();
        assert_eq!(targets.only(&members), Some(B));
        targets.remove(group, Some(&[B])).unwrap();
        for none in [group, 0, NONE, GROUP, GROUP + MOST as u64 + 1, group | 0x10_0000, 2, 1 << 32] {
            assert_eq!(targets.of(none), Err(Rv::TARGET));
            assert_eq!(targets.remove(none, None), Err(Rv::TARGET));
            assert_eq!(targets.add_to_group(none, &[A]).is_ok(), none == NONE);
        }
    }

    #[test]
    fn domains_are_there_as_often_as_they_were_added() {
        let targets = Targets::new();
        let target = targets.add(A);
        assert_eq!((target, targets.add(A), targets.add(B)), (1 << 32 | 2, target, 3 << 32 | 4));
        assert_eq!(targets.of(target | flag::CAPTURE), Ok(Members::One(A)));
        targets.remove(target, None).unwrap();
        assert_eq!(targets.of(target), Ok(Members::One(A)));
        targets.remove(target, Some(&[A])).unwrap();
        assert_eq!((targets.of(target), targets.remove(target, None)), (Err(Rv::TARGET), Err(Rv::TARGET)));
        assert_eq!(targets.only(&targets.of(3 << 32 | 4).unwrap()), Some(B));
        // Addresses, of a program's data or of its heap.
        for address in [0x0040_4040, 0x5555_5555_4000, 0x7fff_0000_0000, 0x100_0000_0003] {
            assert_eq!(Named::of(address), None);
        }
    }

    #[test]
    fn a_number_is_not_soon_another_groups() {
        let targets = Targets::new();
        let first = targets.add_to_group(NONE, &[A]).unwrap();
        targets.remove(first, None).unwrap();
        for _ in 1..MOST {
            assert_ne!(targets.add_to_group(NONE, &[A]).unwrap(), first);
        }
        assert_eq!(targets.add_to_group(NONE, &[A]), Ok(first));
        assert_eq!(targets.add_to_group(NONE, &[A]), Err(Rv::TARGET));
        targets.clear();
        assert_eq!(targets.add_to_group(NONE, &[A]), Ok(GROUP | 1));
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
