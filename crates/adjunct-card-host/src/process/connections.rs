//! The connections of a card: the limit for each user, and the connection that is closed where there are too many.
//!
//! A user may have a fixed number of connections, and no more than are still free for all users: so one user has at most half of all connections, two
//! have at most two thirds, and there is always room for another user. Programs keep connections that they do not use; where a user has as many as it
//! may have, a new connection replaces an idle one of the same user, the least recently used if that is found soon. The program of the closed
//! connection connects again at its next request. A new connection is refused only where all others have requests in progress.
#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};

/// Connections that a user may have whatever the number of other users, as long as there is room at all.
const FEW: usize = 8;
/// Connections of a user that are looked at for one that can go.
const LOOKS: usize = 16;

/// The decision on a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The connection is taken.
    Taken,
    /// The connection is taken once this one of the same user is let go.
    InPlaceOf(u64),
    /// The connection is refused.
    Refused,
}

/// The properties of a connection that decide whether it may be replaced.
pub trait Held {
    /// Whether the connection has a request under way.
    fn is_busy(&self) -> bool;
}

#[derive(Debug)]
struct Connection<T> {
    uid: u32,
    held: T,
    /// The connection was used since it was last looked at.
    used: bool,
}

/// The connections of a user, from the one that is looked at next; some are gone.
#[derive(Debug, Default)]
struct User {
    numbers: VecDeque<u64>,
    open: usize,
}

/// All connections.
#[derive(Debug)]
pub struct Connections<T> {
    all: HashMap<u64, Connection<T>>,
    users: HashMap<u32, User>,
    next: u64,
    each: usize,
    most: usize,
}

impl<T: Held> Connections<T> {
    /// Makes an empty set: `each` connections for a user at most, and `most` for all together.
    pub fn new(each: usize, most: usize) -> Connections<T> {
        Connections { all: HashMap::new(), users: HashMap::new(), next: 0, each, most }
    }

    /// Decides on a new connection of a user.
    pub fn admits(&mut self, uid: u32) -> Admission {
        let free = self.most.saturating_sub(self.all.len());
        let open = self.users.get(&uid).map_or(0, |user| user.open);
        if free > 0 && open < self.each.min(free.max(FEW)) {
            return Admission::Taken;
        }
        let Some(user) = self.users.get_mut(&uid) else { return Admission::Refused };
        let mut found = None;
        for _ in 0..LOOKS.min(user.numbers.len()) {
            let Some(number) = user.numbers.pop_front() else { break };
            let Some(connection) = self.all.get_mut(&number) else { continue };
            user.numbers.push_back(number);
            if connection.held.is_busy() {
                continue;
            }
            if !std::mem::take(&mut connection.used) {
                return Admission::InPlaceOf(number);
            }
            found = found.or(Some(number));
        }
        found.map_or(Admission::Refused, Admission::InPlaceOf)
    }

    /// Takes a connection in; its number.
    pub fn insert(&mut self, uid: u32, held: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.all.insert(number, Connection { uid, held, used: true });
        let user = self.users.entry(uid).or_default();
        user.open += 1;
        user.numbers.push_back(number);
        // Those that are gone are taken out when they are as many as those that are there.
        if user.numbers.len() > 2 * user.open + LOOKS {
            user.numbers.retain(|number| self.all.contains_key(number));
        }
        number
    }

    /// A connection that is about to be used, which counts as a use.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let connection = self.all.get_mut(&number)?;
        connection.used = true;
        Some(&mut connection.held)
    }

    /// Lets a connection go.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let Connection { uid, held, .. } = self.all.remove(&number)?;
        if let Some(user) = self.users.get_mut(&uid) {
            user.open -= 1;
            if user.open == 0 {
                self.users.remove(&uid);
            }
        }
        Some(held)
    }

    /// The numbers of the connections for which `holds` is true.
    pub fn which(&self, holds: impl Fn(&T) -> bool) -> Vec<u64> {
        self.all.iter().filter(|(_, connection)| holds(&connection.held)).map(|(number, _)| *number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A held value that says whether it is busy.
    impl Held for bool {
        fn is_busy(&self) -> bool {
            *self
        }
    }

    fn open(connections: &mut Connections<bool>, uid: u32, busy: bool, count: usize) -> Vec<u64> {
        let one = |_| {
            assert_eq!(connections.admits(uid), Admission::Taken);
            connections.insert(uid, busy)
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_user_that_is_busy_on_all_gets_no_more() {
        let mut connections = Connections::new(100, 10_000);
        let numbers = open(&mut connections, 1, true, 100);
        assert_eq!(connections.admits(1), Admission::Refused);
        assert_eq!(connections.admits(2), Admission::Taken);
        assert_eq!(connections.remove(numbers[7]), Some(true));
        assert_eq!(connections.admits(1), Admission::Taken);
    }

    #[test]
    fn what_is_not_used_goes_for_what_is_new() {
        let mut connections = Connections::new(LOOKS, 10_000);
        let numbers = open(&mut connections, 1, false, LOOKS);
        // All have been used: the first of them; then one that was not used since.
        assert_eq!(connections.admits(1), Admission::InPlaceOf(numbers[0]));
        connections.remove(numbers[0]);
        connections.insert(1, true);
        connections.get_mut(numbers[1]);
        assert_eq!(connections.admits(1), Admission::InPlaceOf(numbers[2]));
        // Another user's never.
        open(&mut connections, 2, true, LOOKS);
        assert_eq!(connections.admits(2), Admission::Refused);
    }

    #[test]
    fn room_is_left_for_others() {
        let mut connections = Connections::new(4096, 1000);
        let opened = |connections: &mut Connections<bool>, uid: u32| {
            let mut count = 0;
            while connections.admits(uid) == Admission::Taken {
                connections.insert(uid, true);
                count += 1;
            }
            count
        };
        assert_eq!(opened(&mut connections, 1), 500);
        assert_eq!(opened(&mut connections, 2), 250);
        assert_eq!(opened(&mut connections, 3), 125);
        let more: usize = (4..100).map(|uid| opened(&mut connections, uid)).sum();
        assert_eq!(more, 125, "all, and no more");
        assert_eq!(connections.admits(200), Admission::Refused);
    }

    #[test]
    fn nothing_is_kept_of_those_that_are_gone() {
        let mut connections = Connections::new(64, 1000);
        let stays = open(&mut connections, 1, true, 3);
        for _ in 0..10_000 {
            let number = connections.insert(1, false);
            connections.remove(number);
        }
        assert!(connections.users[&1].numbers.len() < 40 && connections.all.len() == stays.len());
        stays.into_iter().for_each(|number| _ = connections.remove(number));
        assert!(connections.users.is_empty());
    }
}
