//! What the session at the end proves, and where it was not encrypted in hardware: why, and what to do.

use crate::ssh::tune::left::{Left, Why};
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use serde::Serialize;
use serde_json::Value;

/// The kind of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reason {
    /// ssh's order was left because the figures did not tell which is faster.
    OrderUnclear,
    /// ssh's order was left for another reason.
    OrderLeft,
    /// The policy that was asked for has this cipher first.
    Policy,
    /// The session took a suite that should be served, and it was not.
    NotServed,
}

/// Why a session was not encrypted in hardware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct NotInHardware {
    pub reason: Reason,
    /// The cipher that the session took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
    /// The reason, in a sentence or two.
    pub why: String,
    /// What to do, a line each.
    pub advice: Vec<String>,
}

/// Causes of `ssh verify` that only another suite can help with.
const NO_HARDWARE: [&str; 3] = ["no-instruction", "cpu-lacks", "built-in"];

impl NotInHardware {
    /// Reads the reason from the report of `ssh verify`, why ssh's order was left, and the policy; `None` where the session was hardware.
    pub fn of(verified: &Value, left: Option<&Left>, policy: Option<&str>) -> Option<NotInHardware> {
        if verified["bulk_in_hardware"].as_bool() != Some(false) {
            return None;
        }
        let parts = || verified["parts"].as_array().into_iter().flatten();
        let named = |name: &str| parts().find(|part| part["part"].as_str() == Some(name));
        let cipher = named("cipher-to-server").and_then(|part| part["algorithm"].as_str()).map(str::to_owned);
        let bulk = parts().filter(|part| {
            part["part"].as_str().is_some_and(|name| name.starts_with("cipher-") || name.starts_with("mac-"))
        });
        let ends = bulk.flat_map(|part| [&part["client"], &part["server"]]);
        let mut causes = ends
            .filter(|end| !matches!(end["served"].as_str(), Some("hardware" | "nothing" | "not-visible")))
            .map(|end| end["cause"].as_str().unwrap_or_default());
        let suite = causes.all(|cause| NO_HARDWARE.contains(&cause));
        let taken = cipher.as_deref().unwrap_or("no cipher that it names");
        let lacks = format!("it took {taken}, which this CPU has no instructions for, or OpenSSH computes itself");
        let (reason, why, advice) = match (left.filter(|left| Some(&left.first) == cipher.as_ref()), policy) {
            (Some(left), _) if suite => {
                let reason = if left.why == Why::Unclear { Reason::OrderUnclear } else { Reason::OrderLeft };
                (reason, format!("{lacks}; {}", left.text()), left.advice())
            }
            (_, Some(policy)) if suite => {
                (Reason::Policy, format!("{lacks}; policy {policy} has it first"), Vec::new())
            }
            _ => {
                let advice = verified["advice"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let all =
                    advice.map(str::to_owned).chain(["'adjunct ssh verify' shows who computed each part".to_owned()]);
                (
                    Reason::NotServed,
                    format!("it took {taken}, and adjunct did not serve all of that in hardware"),
                    all.collect(),
                )
            }
        };
        Some(NotInHardware { reason, cipher, why, advice })
    }

    /// For people.
    pub fn text(&self, style: Style) -> String {
        let said = format!("a session over loopback was not encrypted in hardware: {}", shown(&self.why));
        let said = if self.reason == Reason::NotServed { style.bad(&said) } else { style.notice(&said) };
        self.advice.iter().fold(format!("{said}\n"), |text, line| format!("{text}to do: {}\n", shown(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verified(cipher: &str, served: &str, cause: Option<&str>) -> Value {
        let end = json!({"served": served, "cause": cause});
        let mac = json!({"served": "nothing", "cause": "authenticated"});
        json!({"bulk_in_hardware": served == "hardware", "advice": ["let ssh use adjunct"], "parts": [
            {"part": "key-exchange", "algorithm": "x", "client": {"served": "not-by-adjunct", "cause": "not-enabled"}, "server": end},
            {"part": "cipher-to-server", "algorithm": cipher, "client": end, "server": end},
            {"part": "mac-to-server", "algorithm": null, "client": mac, "server": mac},
        ]})
    }

    fn left(why: Why) -> Left {
        Left { why, first: "chacha20".to_owned(), instead: Some("gcm".to_owned()), varies: Some(83.0) }
    }

    #[test]
    fn an_order_that_was_left_is_told_from_a_failure() {
        let software = verified("chacha20", "software", Some("no-instruction"));
        let unclear = NotInHardware::of(&software, Some(&left(Why::Unclear)), None).unwrap();
        assert_eq!((unclear.reason, unclear.cipher.as_deref()), (Reason::OrderUnclear, Some("chacha20")));
        assert!(unclear.why.contains("could not be told") && unclear.why.contains("vary by 83 %"), "{}", unclear.why);
        assert!(unclear.advice.iter().any(|line| line.contains("ssh tune --quick --time 180 --apply")), "{unclear:?}");
        assert!(unclear.advice.iter().any(|line| line.contains("setup --policy compat")), "{unclear:?}");
        let reason =
            |report: &Value, left: Option<&Left>, policy| NotInHardware::of(report, left, policy).unwrap().reason;
        assert_eq!(reason(&software, Some(&left(Why::Worse)), None), Reason::OrderLeft);
        assert_eq!(reason(&software, None, Some("mine.toml")), Reason::Policy);
        // A suite that should be hardware; and one that is not the first that was measured, as by a user's own ssh_config.
        let failed = verified("gcm", "not-by-adjunct", Some("not-loaded"));
        assert_eq!(reason(&failed, None, None), Reason::NotServed);
        assert_eq!(reason(&failed, Some(&left(Why::Unclear)), None), Reason::NotServed);
        assert_eq!(reason(&failed, None, Some("compat")), Reason::NotServed);
        let not_loaded = verified("chacha20", "not-by-adjunct", Some("not-loaded"));
        let failed = NotInHardware::of(&not_loaded, Some(&left(Why::Unclear)), None).unwrap();
        assert_eq!(failed.reason, Reason::NotServed, "the order alone would not help");
        assert!(failed.advice.contains(&"let ssh use adjunct".to_owned()), "{failed:?}");
        assert_eq!(NotInHardware::of(&verified("gcm", "hardware", None), None, None), None);
    }
}
