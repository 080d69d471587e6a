//! Whether adjunct is faster than OpenSSL on this CPU: by measurements made here, and by those made on CPUs of the same class.
//!
//! The classes are those that decide which kernels run: AVX-512 with IFMA and VAES, VAES alone, AES-NI alone, nothing. A figure is a ratio
//! to OpenSSL's default provider in `adjunct bench openssl`, one thread, 16 KB or one operation; where no figure is known, that is said.

use super::measured::Measured;
use adjunct::catalogue::{Arch, Feature, HERE};
use adjunct::cpu::Features;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;

/// A ratio from here on is a gain, and one below the other a loss; between them is what chance does.
const GAIN: f64 = 1.05;
const LOSS: f64 = 0.95;

/// CPUs on which the same kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// AVX-512 with IFMA and VAES: Ice Lake, Sapphire Rapids, Zen 4, Zen 5 and newer servers.
    Avx512Ifma,
    /// VAES on 256 bits: Zen 3, Alder Lake to Arrow Lake.
    Vaes,
    /// AES-NI: Haswell to Comet Lake, Zen 1 and 2.
    AesNi,
    /// An x86-64 CPU without AES instructions, or with those masked.
    NoAes,
    /// Arm with the crypto extension.
    Arm,
    /// IBM Z with CPACF.
    Z,
    /// Anything else.
    Other,
}

impl Class {
    /// The class of a CPU with these features.
    pub fn of(features: Features) -> Class {
        let all = |wanted: &[Feature]| wanted.iter().all(|&feature| features.has(feature));
        let vaes = [Feature::Aes, Feature::Vaes, Feature::Vpclmul, Feature::Avx2];
        match HERE {
            Some(Arch::X86) if all(&vaes) && all(&[Feature::Avx512, Feature::Ifma]) => Class::Avx512Ifma,
            Some(Arch::X86) if all(&vaes) => Class::Vaes,
            Some(Arch::X86) if all(&[Feature::Aes, Feature::Pclmul]) => Class::AesNi,
            Some(Arch::X86) => Class::NoAes,
            Some(Arch::Arm) => Class::Arm,
            Some(Arch::S390) => Class::Z,
            None => Class::Other,
        }
    }

    /// Name of the class for people.
    fn text(self) -> &'static str {
        match self {
            Class::Avx512Ifma => "AVX-512 IFMA and VAES",
            Class::Vaes => "VAES without AVX-512 IFMA",
            Class::AesNi => "AES-NI without VAES",
            Class::NoAes => "no AES instructions in force",
            Class::Arm => "Arm's crypto extension",
            Class::Z => "CPACF",
            Class::Other => "unknown",
        }
    }

    /// The answer in a sentence.
    fn answer(self) -> &'static str {
        match self {
            Class::Avx512Ifma => {
                "yes: AES (beside OpenSSL 3.0) and private keys gain, hashes and AES-CBC encryption do not"
            }
            Class::Vaes => "in part: AES and signatures on curves gain, RSA stays as it is",
            Class::AesNi => "not known: nobody has measured it on such a CPU; measure it before you enable it",
            Class::NoAes => "no: nothing here has instructions for AES; measure it before you enable it",
            Class::Arm | Class::Z => {
                "not known: it was tested for correctness on such a CPU, in an emulator, and not measured"
            }
            Class::Other => "no: there is no hardware path on this architecture",
        }
    }

    /// The machine on which the class's figures were measured.
    fn source(self) -> Option<&'static str> {
        match self {
            Class::Avx512Ifma => Some("Zen 5 and Sapphire Rapids, OpenSSL 3.0.22"),
            Class::Vaes => Some("Zen 3, OpenSSL 3.0.19"),
            _ => None,
        }
    }

    /// The figures that were measured on CPUs of this class.
    fn known(self) -> &'static [Known] {
        match self {
            Class::Avx512Ifma => AVX512_IFMA,
            Class::Vaes => VAES,
            _ => &[],
        }
    }
}

/// A figure of a class: the least and the greatest ratio that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Known {
    /// What.
    pub what: &'static str,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// The ratio beside OpenSSL 3.6, which has kernels for such CPUs itself; none where that was not measured.
    pub newest: Option<f64>,
}

const fn known(what: &'static str, least: f64, most: f64, newest: Option<f64>) -> Known {
    Known { what, least, most, newest }
}

/// Figures of CPUs with AVX-512 IFMA: README.md has those of Zen 5, docs/benchmarks.md those of Sapphire Rapids and those beside OpenSSL 3.6.
const AVX512_IFMA: &[Known] = &[
    known("AES-GCM", 2.72, 4.57, Some(1.01)),
    known("AES-CTR", 2.18, 3.94, Some(2.15)),
    known("AES-CBC decryption", 2.05, 3.78, Some(2.01)),
    known("AES-CBC encryption", 1.04, 1.04, None),
    known("AES-XTS", 2.23, 3.57, Some(1.0)),
    known("ChaCha20-Poly1305", 1.20, 1.26, Some(1.15)),
    known("SHA-256", 1.0, 1.0, None),
    known("SHA-512", 0.99, 1.05, Some(1.04)),
    known("RSA-2048 signatures", 1.79, 1.79, None),
    known("RSA-3072, RSA-4096 signatures", 4.36, 4.76, None),
    known("ECDSA P-256 signatures", 2.52, 2.52, None),
    known("ECDSA P-384, P-521 signatures", 7.66, 38.06, None),
    known("ECDH P-384", 5.20, 5.20, None),
    known("X25519", 1.43, 1.43, None),
    known("Ed25519 signatures", 4.23, 4.23, None),
];

const VAES: &[Known] = &[
    known("AES-GCM", 1.9, 2.26, None),
    known("AES-CTR", 1.8, 2.0, None),
    known("AES-CBC decryption", 1.1, 1.5, None),
    known("AES-XTS", 1.35, 1.6, None),
    known("RSA private keys", 0.96, 1.06, None),
    known("RSA public keys", 1.1, 1.27, None),
    known("ECDSA P-256 signatures", 1.5, 1.5, None),
    known("ECDSA P-384 signatures", 11.0, 11.0, None),
    known("ECDH P-256", 0.90, 1.04, None),
    known("X25519", 1.27, 1.27, None),
    known("Ed25519 signatures", 5.0, 5.0, None),
];

/// The direction of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Faster than OpenSSL.
    Gains,
    /// As fast as OpenSSL.
    Level,
    /// Slower.
    Loses,
}

impl Effect {
    /// The effect that ratios between `least` and `most` have.
    pub fn of(least: f64, most: f64) -> Effect {
        match ((least * most).sqrt(), least) {
            (mean, _) if mean < LOSS => Effect::Loses,
            (mean, least) if mean >= GAIN && least >= LOSS => Effect::Gains,
            _ => Effect::Level,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Effect::Gains => "gains",
            Effect::Level => "level",
            Effect::Loses => "loses",
        }
    }

    fn paint(self, text: &str, style: Style) -> String {
        match self {
            Effect::Gains => style.good(text),
            Effect::Level => text.to_owned(),
            Effect::Loses => style.notice(text),
        }
    }
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Pays {
    class: Class,
    answer: String,
    /// The machine and versions of the class's figures.
    source: Option<&'static str>,
    by_class: Vec<Figure>,
    /// The measurements on this machine.
    measured: Option<Measured>,
    /// Why an existing measurement is not taken; `None` where it is, or there is none.
    remark: Option<String>,
}

#[derive(Debug, Serialize)]
struct Figure {
    #[serde(flatten)]
    known: Known,
    effect: Effect,
}

impl Pays {
    /// The answer for a CPU, by a measurement of this machine if there is one.
    pub fn new(features: Features, measured: Result<Option<Measured>, String>) -> Pays {
        let class = Class::of(features);
        let (measured, remark) = match measured {
            Ok(measured) => (measured, None),
            Err(remark) => (None, Some(remark)),
        };
        let figure = |&known: &Known| Figure { known, effect: Effect::of(known.least, known.most) };
        Pays {
            class,
            answer: measured.as_ref().map_or_else(|| class.answer().to_owned(), Measured::answer),
            source: class.source(),
            by_class: class.known().iter().map(figure).collect(),
            measured,
            remark,
        }
    }

    /// Text for people.
    pub fn text(&self, style: Style) -> String {
        let mut text = format!("{}\n", style.strong("Does it pay on this CPU?"));
        let _ = writeln!(text, "  {}", adjunct_tool::escape::shown(&self.answer));
        if let Some(remark) = &self.remark {
            let _ = writeln!(text, "  {}", style.notice(&adjunct_tool::escape::shown(remark)));
        }
        if let Some(measured) = &self.measured {
            text += &measured.text(style);
            return text;
        }
        if let Some(source) = self.source {
            let _ = writeln!(
                text,
                "  times OpenSSL, on CPUs of this class ({}: {source}); beside OpenSSL 3.6 in brackets",
                self.class.text()
            );
        } else {
            let _ = writeln!(text, "  the class of this CPU: {}", self.class.text());
        }
        for figure in &self.by_class {
            text += &line(figure, style);
        }
        text + "  measured here in a minute: adjunct bench openssl --quick; 'adjunct info' then has this machine's figures\n"
    }
}

fn line(figure: &Figure, style: Style) -> String {
    let Figure { known, effect } = figure;
    let ratio = match (known.least, known.most) {
        (least, most) if least == most => short(most),
        (least, most) => format!("{} to {}", short(least), short(most)),
    };
    let newest = known.newest.map_or_else(String::new, |ratio| format!(" ({})", short(ratio)));
    let word = effect.paint(&format!("{:<6}", effect.word()), style);
    format!("    {word} {:<30} {ratio}{newest}\n", known.what)
}

/// A ratio in as many digits as mean something.
pub(super) fn short(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.0}") } else { format!("{ratio:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_told_by_the_figures() {
        assert_eq!(Effect::of(2.7, 4.6), Effect::Gains);
        assert_eq!(Effect::of(0.96, 1.06), Effect::Level);
        assert_eq!(Effect::of(0.90, 1.04), Effect::Level);
        assert_eq!(Effect::of(0.70, 0.82), Effect::Loses);
        assert_eq!([1.04, 4.57, 38.06, 0.7].map(short), ["1.0", "4.6", "38", "0.7"]);
    }

    /// The sentence of a class says what its figures say.
    #[test]
    fn answers_agree_with_the_figures() {
        for class in [Class::Avx512Ifma, Class::Vaes] {
            let effect = |what: &str| {
                let known = class.known().iter().find(|known| known.what.starts_with(what)).unwrap();
                Effect::of(known.least, known.most)
            };
            assert_eq!((effect("AES-GCM"), effect("AES-CTR")), (Effect::Gains, Effect::Gains));
            assert_eq!(effect("ECDSA P-256"), Effect::Gains);
        }
        let of = |what: &str| {
            let known = VAES.iter().find(|known| known.what.starts_with(what)).unwrap();
            Effect::of(known.least, known.most)
        };
        assert_eq!(of("RSA private"), Effect::Level);
        for class in [Class::AesNi, Class::NoAes, Class::Arm, Class::Z, Class::Other] {
            assert!(class.known().is_empty() && class.source().is_none(), "no figure without a measurement");
        }
    }

    /// The figures are those of the documents.
    #[test]
    fn figures_are_those_of_the_documents() {
        const README: &str = include_str!("../../../../README.md");
        let ratio = |row: &str| -> f64 {
            let line = README.lines().find(|line| line.starts_with(&format!("| {row} |"))).expect(row);
            line.trim_end_matches(" |").rsplit(' ').next().unwrap().parse().unwrap()
        };
        let most = |what: &str| AVX512_IFMA.iter().find(|known| known.what == what).unwrap().most;
        for (what, row) in [
            ("AES-GCM", "AES-128-GCM encrypt"),
            ("AES-CTR", "AES-128-CTR encrypt"),
            ("AES-CBC decryption", "AES-128-CBC decrypt"),
            ("AES-CBC encryption", "AES-128-CBC encrypt"),
            ("AES-XTS", "AES-256-XTS encrypt"),
            ("ChaCha20-Poly1305", "ChaCha20-Poly1305 encrypt"),
            ("RSA-2048 signatures", "RSA-2048 sign PKCS#1"),
            ("RSA-3072, RSA-4096 signatures", "RSA-4096 sign PKCS#1"),
            ("ECDSA P-256 signatures", "ECDSA P-256 sign"),
            ("ECDSA P-384, P-521 signatures", "ECDSA P-384 sign"),
            ("ECDH P-384", "ECDH P-384 derive"),
            ("X25519", "X25519 derive"),
            ("Ed25519 signatures", "Ed25519 sign"),
        ] {
            assert_eq!(most(what), ratio(row), "{what}");
        }
    }
}
