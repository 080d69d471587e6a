//! The verdict whether a program or process is served, in one sentence.

use super::Standing;
use crate::Cause;
use serde::Serialize;

/// Whether adjunct serves a program or process; the order is that of a report, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not served.
    NotServed,
    /// Unknown whether it is served.
    Unknown,
    /// Served in a plugin, or in another program that it starts.
    ServedThroughPlugin,
    /// Served.
    Served,
}

impl State {
    /// The state of several: not served if one is not, served if one is, else unknown.
    pub fn of_all(states: impl Iterator<Item = State> + Clone) -> State {
        match (states.clone().min(), states.max()) {
            (Some(State::NotServed), _) => State::NotServed,
            (_, Some(best)) => best,
            (_, None) => State::Unknown,
        }
    }

    /// The exit status of `adjunct doctor` for this state.
    pub fn code(self) -> u8 {
        match self {
            State::Served | State::ServedThroughPlugin => 0,
            State::NotServed => 1,
            State::Unknown => 2,
        }
    }
}

/// The verdict on a program or process: whether it is served, why not, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it is served.
    pub state: State,
    /// Why it is not served, in a word.
    pub cause: Option<Cause>,
    /// The module or library that serves it, or why it is not served.
    pub because: String,
    /// What the user can do to have it served.
    pub advice: Option<String>,
}

impl Verdict {
    /// Served by something.
    pub fn served(because: impl Into<String>) -> Verdict {
        Verdict { state: State::Served, cause: None, because: because.into(), advice: None }
    }

    /// Served by a plugin.
    pub fn through(because: impl Into<String>) -> Verdict {
        Verdict { state: State::ServedThroughPlugin, ..Verdict::served(because) }
    }

    /// Makes the verdict "not served".
    pub fn not(cause: Cause, because: impl Into<String>) -> Verdict {
        Verdict { state: State::NotServed, cause: Some(cause), because: because.into(), advice: remedy(cause) }
    }

    /// Not served for what stands in the configuration that was looked at, which the advice names where it is not the system's.
    pub fn not_in(standing: &Standing, cause: Cause, because: impl Into<String>) -> Verdict {
        let verdict = Verdict::not(cause, because);
        if standing.reach.by_environment {
            return verdict.advising(crate::trust::enabling(&standing.reach.config));
        }
        verdict
    }

    /// Makes the verdict that it cannot be told.
    pub fn unknown(cause: Cause, because: impl Into<String>) -> Verdict {
        Verdict { state: State::Unknown, ..Verdict::not(cause, because) }
    }

    /// Replaces the advice of the verdict.
    pub fn advising(self, advice: impl Into<String>) -> Verdict {
        Verdict { advice: Some(advice.into()), ..self }
    }

    /// The sentence, without whom it is about.
    pub fn sentence(&self) -> String {
        let begin = match self.state {
            State::Served => "served by ",
            State::ServedThroughPlugin => "served through ",
            State::NotServed => "not served: ",
            State::Unknown => "cannot be said: ",
        };
        let advice = self.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
        format!("{begin}{}{advice}", self.because)
    }
}

/// What to do about a cause, where that is the same for every program.
fn remedy(cause: Cause) -> Option<String> {
    let text = match cause {
        Cause::NotInForce => {
            "'adjunct openssl status' names what is wrong; 'sudo adjunct openssl enable' writes it anew"
        }
        Cause::ModuleReplaced | Cause::LibraryReplaced | Cause::StartedBefore => "start it again",
        Cause::EnvironmentConfig => "enable it there: adjunct openssl enable --config FILE",
        Cause::OtherConfig => {
            "enable it there (adjunct openssl enable --config FILE), or start it with OPENSSL_CONF naming yours"
        }
        Cause::NodeSection => {
            "'sudo adjunct openssl enable' writes that section where there is none, and node --openssl-shared-config reads what others do"
        }
        Cause::AppArmor => {
            "let the profile read the module and map it (file rule 'mr' in /etc/apparmor.d/local/), reload it, restart the program"
        }
        Cause::SeLinux => "see 'ausearch -m avc -ts recent'; the module needs the label lib_t (restorecon)",
        Cause::Chroot => {
            "copy module and openssl.cnf to the same paths below that root, or have it load OpenSSL before it changes its root"
        }
        Cause::Container => "install the package and enable it inside that container's image",
        Cause::Setuid => "only the system's openssl.cnf reaches it: sudo adjunct openssl enable",
        Cause::NotEnabled => "sudo adjunct openssl enable",
        Cause::OldOpenssl => "use a version of the program for OpenSSL 3.0 or newer",
        Cause::OtherMachine => "use the program's version for this machine's architecture",
        Cause::Wheel => {
            "use the distribution's package, or build it for the system's OpenSSL: pip install --no-binary NAME NAME"
        }
        Cause::Static => {
            "use a version that is linked with the system's libcrypto, or look at 'adjunct stats' while it works"
        }
        Cause::GnuTls => "use a version built with OpenSSL, where there is one; no GnuTLS program can be served",
        Cause::Nss => "NSS takes PKCS #11 modules: see docs/pkcs11.md",
        Cause::Java => "'adjunct java config' sets up PKCS #11 for it, where that is faster",
        Cause::Go => "nothing reaches Go's own code; put a TLS proxy that uses OpenSSL before it",
        Cause::Rustls | Cause::BoringSsl => {
            "nothing reaches it from outside; use a build with OpenSSL, where there is one"
        }
        Cause::OwnProvider | Cause::OwnSection | Cause::NotUsedYet => "look at 'adjunct stats' while it works",
        Cause::Script => "ask about the program that it starts",
        Cause::Permission if nix::unistd::geteuid().is_root() => {
            "root may not read it either: see what keeps it from that (a file system of another machine, a security module)"
        }
        Cause::Permission => "ask as root",
        Cause::PluginOff | Cause::LowLevel | Cause::OtherLibrary | Cause::NoCrypto => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let old = Verdict::not(Cause::StartedBefore, "it was started before adjunct was enabled");
        assert_eq!(old.sentence(), "not served: it was started before adjunct was enabled; start it again");
        let again = old.advising("systemctl restart nginx").sentence();
        assert!(again.ends_with("; systemctl restart nginx"), "{again}");
        assert_eq!(Verdict::through("_ssl").sentence(), "served through _ssl");
    }

    #[test]
    fn several_are_as_bad_as_one_that_is_not_served() {
        use State::{NotServed, Served, ServedThroughPlugin, Unknown};
        let of = |states: &[State]| State::of_all(states.iter().copied());
        assert_eq!(of(&[Served, NotServed, Unknown]), NotServed);
        assert_eq!(of(&[Unknown, Served]), Served);
        assert_eq!(of(&[Unknown, ServedThroughPlugin]).code(), 0);
        assert_eq!(of(&[]).code(), 2);
    }
}
