//! Why ssh's order of ciphers is left as it is, where no policy is asked for.

use super::gain::{Brings, Choice, NOISY, Trial, Verdict};
use serde::{Deserialize, Serialize};

/// The reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// What ssh takes first is the best choice.
    Best,
    /// The figures vary too much to tell which order is faster.
    Unclear,
    /// The figures are sure, and there is no clear difference.
    Same,
    /// The other order costs more.
    Worse,
    /// Another line of ssh's configuration wins over adjunct's file.
    Overruled,
}

/// An order that is left as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// The reason.
    pub why: Why,
    /// The cipher that ssh and sshd agree on.
    pub first: String,
    /// The cipher that would come first; `None` where it is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// How far the figures may be from the true ones, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub varies: Option<f64>,
}

impl Left {
    /// Why the order of `now` stays, where `proposed` would bring this; `None` where the order changes.
    pub fn of(
        (now, proposed, then): (&Choice, Option<&Choice>, Option<&Choice>),
        trial: &Trial,
        brings: &Brings,
    ) -> Option<Left> {
        if then.is_none_or(|then| !then.copies_as(now)) {
            return None;
        }
        let instead = proposed.filter(|new| !new.copies_as(now));
        let why = match (instead, brings.copies) {
            (None, _) => Why::Best,
            (_, Some(Verdict::Better)) => Why::Overruled,
            (_, Some(Verdict::Worse)) => Why::Worse,
            (_, Some(Verdict::Same)) if trial.doubt() <= NOISY => Why::Same,
            // Not measured is not told, either.
            _ => Why::Unclear,
        };
        let varies = (why == Why::Unclear && trial.doubt().is_finite()).then(|| (trial.doubt() * 100.0).round());
        Some(Left { why, first: now.cipher.clone(), instead: instead.map(|new| new.cipher.clone()), varies })
    }

    /// The reason, in a sentence.
    pub fn text(&self) -> String {
        let first = &self.first;
        let instead = self.instead.as_deref().unwrap_or(first);
        match self.why {
            Why::Best => format!(
                "the order of ssh's ciphers stays: {first}, which comes first, is the best choice by the figures"
            ),
            Why::Unclear => {
                let varies = match self.varies {
                    Some(part) if part <= 100.0 => format!(" by {part} %"),
                    Some(_) => " by more than 100 %".to_owned(),
                    None => String::new(),
                };
                format!(
                    "the order of ssh's ciphers stays, {first} first: whether {instead} is faster could not be told, for the figures vary{varies} \
                     (the machine is busy, or the time was too short)"
                )
            }
            Why::Same => {
                format!("the order of ssh's ciphers stays, {first} first: {instead} makes no clear difference")
            }
            Why::Worse => format!("the order of ssh's ciphers stays, {first} first: {instead} costs more"),
            Why::Overruled => format!(
                "the order of ssh's ciphers stays, {first} first, though {instead} is faster: another line of ssh's configuration \
                 wins (see the notes)"
            ),
        }
    }

    /// What an administrator can do about it, a command with its meaning each.
    pub fn advice(&self) -> Vec<String> {
        match self.why {
            Why::Unclear => vec![MEASURE.to_owned(), POLICY.to_owned()],
            Why::Same => vec![POLICY.to_owned()],
            Why::Best | Why::Worse | Why::Overruled => Vec::new(),
        }
    }
}

/// Measures again.
const MEASURE: &str = "'sudo adjunct ssh tune --quick --time 180 --apply', once the machine is quiet, measures longer and puts the fastest first";
/// Writes an order without a clear gain.
const POLICY: &str = "'sudo adjunct setup --policy compat' puts ciphers that this CPU has instructions for first where the figures do not tell which \
                      is faster; nobody is refused by it";

/// What to do where ssh takes a cipher first that has no instructions, and it is not known why.
pub fn advice() -> String {
    format!(
        "'sudo adjunct ssh tune --quick --apply' measures, and puts the fastest first; where that cannot tell (a busy machine), --time 180 \
         measures longer, and {POLICY}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::gain::{Step, With};
    use super::*;
    use crate::ssh::measure::Spread;

    fn choice(cipher: &str) -> Choice {
        Choice { cipher: cipher.to_owned(), mac: None, kex: "x25519".to_owned() }
    }

    fn trial(error: f64) -> Trial {
        let spread = Spread { median: 1.0, error, count: 5 };
        let step = |cipher| Step {
            with: With::Stock,
            choice: choice(cipher),
            mb_s: spread,
            cpu_s_per_gb: spread,
            login_s: spread,
            login_cpu_s: spread,
        };
        Trial { on_already: false, steps: vec![step("chacha"), step("gcm")] }
    }

    #[test]
    fn busy_and_alike_are_told_apart() {
        let (now, new) = (choice("chacha"), choice("gcm"));
        let brings = |copies| Brings { copies, logins: None };
        let left =
            |then: &Choice, trial: &Trial, verdict| Left::of((&now, Some(&new), Some(then)), trial, &brings(verdict));
        let busy = left(&now, &trial(0.834), Some(Verdict::Same)).unwrap();
        assert_eq!((busy.why, busy.varies), (Why::Unclear, Some(83.0)));
        assert!(busy.text().contains("could not be told") && busy.text().contains("by 83 %"), "{}", busy.text());
        assert_eq!(busy.advice().len(), 2);
        let wild = left(&now, &trial(7.98), Some(Verdict::Same)).unwrap();
        assert!(wild.varies == Some(798.0) && wild.text().contains("by more than 100 %"), "{}", wild.text());
        let alike = left(&now, &trial(0.01), Some(Verdict::Same)).unwrap();
        assert_eq!((alike.why, alike.varies), (Why::Same, None));
        assert_eq!(left(&now, &trial(0.01), Some(Verdict::Worse)).unwrap().why, Why::Worse);
        assert_eq!(left(&now, &trial(0.01), Some(Verdict::Better)).unwrap().why, Why::Overruled);
        assert_eq!(left(&new, &trial(0.01), Some(Verdict::Better)), None, "the order changes");
        let best = Left::of((&now, Some(&now), Some(&now)), &trial(0.9), &brings(None)).unwrap();
        assert_eq!((best.why, best.instead), (Why::Best, None));
    }
}
