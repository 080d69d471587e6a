//! Users: the one who runs the command, and the one whose counters are asked for.

use adjunct::counters;
use adjunct_tool::Failure;
use nix::unistd;
use std::fmt;

/// A user of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user id.
    pub uid: u32,
    /// The name; the number where the system knows none.
    pub name: String,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The users whose counters a command line is about.
pub(super) enum Scope {
    One(User),
    All,
}

impl Scope {
    pub(super) fn users(self) -> Result<Vec<User>, Failure> {
        Ok(match self {
            Scope::One(user) => vec![user],
            Scope::All => counters::users().map_err(Failure::because)?.into_iter().map(User::from_uid).collect(),
        })
    }
}

impl User {
    /// The user with this id.
    pub fn from_uid(uid: u32) -> User {
        let known = unistd::User::from_uid(uid.into()).ok().flatten();
        User { uid, name: known.map_or_else(|| uid.to_string(), |u| u.name) }
    }

    /// The effective user: the one whose work is counted.
    pub fn myself() -> User {
        User::from_uid(unistd::geteuid().as_raw())
    }

    /// The user with this name, or with this number where no such name exists.
    ///
    /// # Errors
    /// [`Failure`] where the system knows no such user.
    pub fn from_name(name: &str) -> Result<User, Failure> {
        // A NUL byte cannot be part of a name, and the look-up would refuse it with words of its own.
        let found = if name.contains('\0') { None } else { unistd::User::from_name(name).ok().flatten() };
        match (found, name.parse::<u32>()) {
            (Some(user), _) => Ok(User { uid: user.uid.as_raw(), name: user.name }),
            (None, Ok(uid)) if uid != u32::MAX => Ok(User::from_uid(uid)),
            _ => Err(Failure::new(format!("user '{}' is not known on this system", name.escape_debug()))),
        }
    }

    /// All users together.
    pub(super) fn everyone() -> User {
        User { uid: u32::MAX, name: "(all users)".to_owned() }
    }
}

/// Refuses all but root.
///
/// # Errors
/// [`Failure`] that says so.
pub fn require_root(what: &str) -> Result<(), Failure> {
    if unistd::geteuid().is_root() {
        return Ok(());
    }
    Err(Failure::new(format!("only root may see or change {what}; try it with sudo")))
}

/// Refuses to all but root what is not their own.
pub(super) fn permitted(user: User) -> Result<User, Failure> {
    if user.uid != unistd::geteuid().as_raw() {
        require_root(&format!("the statistics of user {user}"))?;
    }
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_by_number() {
        assert_eq!(User::from_name("root").unwrap(), User { uid: 0, name: "root".into() });
        assert_eq!(User::from_name("0").unwrap().name, "root");
        assert_eq!(User::from_name("3999999999").unwrap().name, "3999999999");
        for unknown in ["", "no-such-user", "-1", "4294967295", "a\0b", "\u{1b}[31m"] {
            let line = User::from_name(unknown).unwrap_err().to_string();
            assert!(line.contains("is not known on this system"), "{line}");
            assert!(!line.contains(['\u{1b}', '\0']));
        }
    }
}
