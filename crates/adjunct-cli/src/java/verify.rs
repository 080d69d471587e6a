//! `adjunct java verify`: which provider serves each part of a TLS handshake in a JVM.
//!
//! Java's flight recorder says which provider Java asked (`jdk.SecurityProviderService`), the counters of the module what it did:
//! those of a run of its own, apart from the users'. `text` is the report for people.

mod text;

use super::finding::Findings;
use super::jdk::Jdk;
use super::lint::Judge;
use super::program::{self, Fields};
use super::security::{self, JavaFileKind};
use super::{cfg, choose, config};
use crate::counted::Counted;
use adjunct::catalogue::Function;
use adjunct::counters::Snapshot;
use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::output::Style;
use adjunct_tool::progress::Rows;
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, files, output, process, scratch};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct java verify                                    what 'adjunct java config' wrote into ./adjunct-java
  adjunct java verify --config /etc/java-adjunct/adjunct.security
  adjunct java verify --config cex.cfg --groups secp256r1    with the key exchange on P-256, not on x25519

Handshakes of TLS 1.2 and 1.3, with an RSA and an EC key from a file, are made in one JVM, which is server and client; 64 KiB go each \
way. 'asked' is whom Java asked first, 'served by' who did it; the module's counters say what ran in hardware and in software.

Exit status: 0 all that the configuration enables for TLS was served by it, 1 something went elsewhere without a word or a handshake \
failed, 2 the command line is wrong.";

/// Bytes that are sent each way.
const BYTES: usize = 65536;

/// Tell which provider and which hardware serve TLS in a JVM
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The JDK; by default that of JAVA_HOME or PATH
    #[arg(long, value_name = "HOME")]
    jdk: Option<PathBuf>,
    /// A SunPKCS11 configuration, or a file for -Djava.security.properties
    #[arg(long, value_name = "FILE", default_value = config::DEFAULT)]
    config: PathBuf,
    /// The groups that TLS may take for the key exchange (jdk.tls.namedGroups); by default Java's own, x25519 first
    #[arg(long, value_name = "NAMES")]
    groups: Option<String>,
    /// As root: load the modules that the configuration names though others than root could change them, or a folder above them
    #[arg(long)]
    trust_module: bool,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

/// The cryptographic parts of a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    Signature,
    Verification,
    KeyExchange,
    KeySchedule,
    Bulk,
    Digest,
    Random,
}

impl Part {
    const ALL: [Part; 7] = [
        Part::Signature,
        Part::Verification,
        Part::KeyExchange,
        Part::KeySchedule,
        Part::Bulk,
        Part::Digest,
        Part::Random,
    ];

    fn text(self) -> &'static str {
        match self {
            Part::Signature => "signature",
            Part::Verification => "verification",
            Part::KeyExchange => "key exchange",
            Part::KeySchedule => "key schedule",
            Part::Bulk => "bulk",
            Part::Digest => "digest",
            Part::Random => "random",
        }
    }

    /// The part that a service of Java's belongs to, if it does what TLS is about; a key or a list of parameters that is only taken
    /// apart does not.
    fn of(side: &str, kind: &str, algorithm: &str) -> Option<Part> {
        Some(match kind {
            "Signature" if side == "client" => Part::Verification,
            "Signature" => Part::Signature,
            "KeyAgreement" | "KeyPairGenerator" => Part::KeyExchange,
            "Mac" | "KDF" => Part::KeySchedule,
            "KeyGenerator" if algorithm.starts_with("SunTls") => Part::KeySchedule,
            "Cipher" => Part::Bulk,
            "MessageDigest" => Part::Digest,
            _ => return None,
        })
    }

    /// The part that a function of the module's counters belongs to.
    fn counted_in(function: Function) -> Option<Part> {
        use Function::*;
        Some(match function {
            RsaCrt | EcdsaSign | Ed25519Sign | Ed448Sign => Part::Signature,
            RsaMe | EcdsaVerify | Ed25519Verify | Ed448Verify => Part::Verification,
            EcKeygen | Ecdh | X25519Keygen | X25519Derive | X448Keygen | X448Derive => Part::KeyExchange,
            HmacSha1 | HmacSha2_256 | HmacSha2_512 | HmacSha3 | HmacMd5 => Part::KeySchedule,
            Sha1 | Sha224 | Sha256 | Sha384 | Sha512 => Part::Digest,
            Prng | DrbgSha512 => Part::Random,
            AesEcb | AesCbc | AesCtr | AesGcm | AesCcm | ChaCha20 | ChaCha20Poly1305 => Part::Bulk,
            _ => return None,
        })
    }
}

/// A service of Java's and the providers that serve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Service {
    part: Part,
    /// `TYPE.ALGORITHM`.
    service: String,
    /// The provider that Java asked first.
    asked: String,
    served: String,
    /// Whether the configuration enables it.
    offered: bool,
    calls: u64,
}

impl Service {
    /// Whether the configuration enables the service, but another provider served it.
    fn went_elsewhere(&self) -> bool {
        self.offered && !is_pkcs11(&self.served)
    }
}

fn is_pkcs11(provider: &str) -> bool {
    provider.starts_with("SunPKCS11-")
}

/// The module's counters for a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Count {
    part: Part,
    function: String,
    hardware: u64,
    software: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Handshake {
    name: String,
    /// The cipher suite; empty where the handshake failed.
    suite: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    services: Vec<Service>,
    counted: Vec<Count>,
}

#[derive(Debug, Serialize)]
struct VerifyReport {
    java: String,
    config: PathBuf,
    providers: Vec<String>,
    /// The provider of `new SecureRandom()`.
    random: String,
    handshakes: Vec<Handshake>,
    /// Services that are enabled and went to another provider, and handshakes that failed.
    wrong: Vec<String>,
    notes: Vec<String>,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`]: no such JDK or file, a provider that is absent.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let jdk = Jdk::find(args.jdk.as_deref())?;
    if let Some(why) = jdk.cannot_compile() {
        return Err(Failure::new(format!("{}: {why}", jdk.home.display())));
    }
    if args.groups.as_ref().is_some_and(|g| !g.bytes().all(|c| c.is_ascii_alphanumeric() || b",_-".contains(&c))) {
        return Err(Failure::Words("--groups takes names as x25519,secp256r1".to_owned()));
    }
    let folder = scratch::folder()?;
    let security = properties(args, &jdk, folder.path())?;
    let mut words = vec![BYTES.to_string().into()];
    // keytool, Java's start and each handshake take about the same time.
    let mut bar = Rows::new(KEYS.len() + 1 + KEYS.len() * PROTOCOLS.len());
    for (kind, words_of) in KEYS {
        bar.begin(&format!("a key: {}", kind.to_uppercase()));
        let file = key(&jdk, folder.path(), kind, words_of)?;
        bar.end();
        for protocol in PROTOCOLS {
            let name = format!("{} {}", protocol.replace("TLSv", "TLS "), kind.to_uppercase());
            words.extend([name.into(), protocol.into(), file.clone().into_os_string()]);
        }
    }
    let counted = Counted::apart("java-verify");
    let mut seen = Seen { counted: &counted, report: VerifyReport::of(&jdk, args), before: None, absent: false };
    let options = |command: &mut std::process::Command| {
        command.arg(format!("-Djava.security.properties={}", security.display()));
        if let Some(groups) = &args.groups {
            command.arg(format!("-Djdk.tls.namedGroups={groups}"));
        }
        command.envs(counted.environment().set);
    };
    bar.begin("Java starts");
    let done = program::run_source(&jdk, program::VERIFY, options, &words, |fields| {
        if let [kind, name] = fields.as_slice()
            && kind == "handshake"
        {
            bar.end();
            bar.begin(name);
        }
        seen.take(fields)
    });
    drop(bar);
    if done.is_err() {
        return partly(args, seen.report, Ended::of(done.map(drop)));
    }
    if seen.absent {
        return Err(Failure::new(format!(
            "{}: {} has no provider of it, and says nothing; this tells why: adjunct java check {}",
            args.config.display(),
            jdk.dialect,
            adjunct_tool::escape::word(&args.config)
        )));
    }
    let mut report = seen.report;
    report.judge();
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&text::whole(&report, Style::of_stdout()))?;
    }
    Ok(if report.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Shows the handshakes that were whole when the run was ended, as far as they are known then: Java's own recording comes at its end.
fn partly(args: &Args, mut report: VerifyReport, mut ended: Ended) -> Result<ExitCode, Failure> {
    report.handshakes.retain(|handshake| !handshake.suite.is_empty() || handshake.error.is_some());
    let shown = match (report.handshakes.is_empty(), args.json) {
        (true, _) => Ok(()),
        (false, true) => ended.write_json(Some(&Sink::Stdout), &report),
        (false, false) => output::print(&text::partly(&report, Style::of_stdout())),
    };
    ended.told(shown).map(|()| ExitCode::FAILURE)
}

/// The protocols that are tried with each key.
const PROTOCOLS: [&str; 2] = ["TLSv1.2", "TLSv1.3"];
/// The keys that the server has, and what keytool is told to make them.
const KEYS: [(&str, [&str; 4]); 2] =
    [("rsa", ["-keyalg", "RSA", "-keysize", "2048"]), ("ec", ["-keyalg", "EC", "-groupname", "secp256r1"])];

/// The file of a key of this kind.
fn key(jdk: &Jdk, folder: &Path, kind: &str, words: [&str; 4]) -> Result<PathBuf, Failure> {
    let file = folder.join(format!("{kind}.p12"));
    let done = jdk.make_key(&file, 2, &words)?;
    if !done.success {
        let why = process::last_line(&format!("{}\n{}", done.stderr, done.text())).to_owned();
        return Err(Failure::new(format!("{}: {why}", jdk.home.join("bin/keytool").display())));
    }
    Ok(file)
}

/// The file of security properties that the JVM is given: the one named, or one around the configuration named.
fn properties(args: &Args, jdk: &Jdk, folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |e: &std::io::Error| {
        let hint = if e.kind() == std::io::ErrorKind::NotFound && args.config == Path::new(config::DEFAULT) {
            "; 'adjunct java config' writes it, or name another by --config"
        } else {
            ""
        };
        Failure::new(format!("{}: {}{hint}", args.config.display(), cause(e)))
    };
    let bytes = files::config(&args.config).map_err(|e| failed(&e))?;
    let path = std::path::absolute(&args.config).map_err(|e| failed(&e))?;
    match JavaFileKind::of(&bytes) {
        JavaFileKind::Security { replaces } => {
            let judge = Judge { dialect: jdk.dialect, here: true };
            let mut findings = Findings::of(&path);
            for named in security::lint(&bytes, replaces, &jdk.providers()?, judge, &mut findings) {
                // One that cannot be read is not loaded either; what that means for TLS is told below.
                if let (JavaFileKind::Pkcs11, Ok(bytes)) = (named.kind, files::config(&named.path)) {
                    trusted(args, jdk, &named.path, &bytes)?;
                }
            }
            Ok(path)
        }
        JavaFileKind::Options => Err(Failure::new(format!(
            "{}: these are options of a JVM; name the file of security properties or the SunPKCS11 configuration",
            path.display()
        ))),
        JavaFileKind::Pkcs11 => {
            let refusals = cfg::parse(&bytes, jdk.dialect).refusals;
            if let Some(first) = refusals.first() {
                return Err(Failure::new(format!(
                    "{}:{}: {}; 'adjunct java check' tells all",
                    path.display(),
                    first.line,
                    first.text
                )));
            }
            trusted(args, jdk, &path, &bytes)?;
            let file = folder.join("verify.security");
            let text = choose::providers(jdk.dialect, &path, &jdk.providers()?);
            std::fs::write(&file, text).map_err(|e| cannot_write(&file, &e))?;
            Ok(file)
        }
    }
}

/// Sees to it that root has no module loaded that others could change, unless it is trusted.
fn trusted(args: &Args, jdk: &Jdk, config: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let parsed = cfg::parse(bytes, jdk.dialect);
    // NSS is named in other ways; and where there is no library Java loads none.
    let Some(library) = parsed.value("library") else { return Ok(()) };
    let named = |failure: Failure| Failure::new(format!("{}: {failure}", config.display()));
    if !Path::new(library).is_file() {
        return Ok(());
    }
    let choice = Choice { path: Some(Path::new(library)), trusted: args.trust_module };
    module::find_of(&Make::PKCS11_OF_JAVA, choice, Purpose::Run, || None).map(drop).map_err(named)
}

/// The program's output so far.
struct Seen<'a> {
    counted: &'a Counted,
    report: VerifyReport,
    before: Option<Snapshot>,
    absent: bool,
}

impl Seen<'_> {
    fn take(&mut self, fields: &Fields) -> Result<(), Failure> {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let handshakes = &mut self.report.handshakes;
        match (fields.as_slice(), handshakes.last_mut()) {
            (["absent"], _) => self.absent = true,
            (["provider", name, place], _) => self.report.providers.push(format!("{name} at place {place}")),
            (["random", name], _) => self.report.random = (*name).to_owned(),
            (["handshake", name], _) => handshakes.push(Handshake { name: (*name).to_owned(), ..Handshake::default() }),
            (["pause", "before", _], _) => self.before = Some(self.counted.sum()?),
            (["pause", "after", _], Some(handshake)) => {
                let after = self.counted.sum()?;
                handshake.counted = self.before.take().map_or_else(Vec::new, |before| counts(&after.since(&before)));
            }
            (["suite", suite], Some(handshake)) => {
                handshake.suite = (*suite).to_owned();
                // Java asks for a generator once, when it makes the context.
                let (service, asked) = ("SecureRandom".to_owned(), self.report.random.clone());
                let (served, offered) = (asked.clone(), is_pkcs11(&asked));
                handshake.add(Service { part: Part::Random, service, asked, served, offered, calls: 1 });
            }
            (["failed", why], Some(handshake)) => handshake.error = Some((*why).to_owned()),
            (["served", name, side, kind, algorithm, asked, served, offered, calls], _) => {
                let handshake = handshakes.iter_mut().find(|h| h.name == *name);
                if let (Some(part), Some(handshake)) = (Part::of(side, kind, algorithm), handshake) {
                    handshake.add(Service {
                        part,
                        service: format!("{kind}.{algorithm}"),
                        asked: (*asked).to_owned(),
                        served: (*served).to_owned(),
                        offered: *offered == "true",
                        calls: calls.parse().unwrap_or(0),
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Handshake {
    /// Server and client are told apart by their parts alone.
    fn add(&mut self, new: Service) {
        let same = |old: &&mut Service| Service { calls: 0, ..(**old).clone() } == Service { calls: 0, ..new.clone() };
        match self.services.iter_mut().find(same) {
            Some(old) => old.calls += new.calls,
            None => self.services.push(new),
        }
    }
}

fn counts(moved: &Snapshot) -> Vec<Count> {
    let mut all: Vec<Count> = Function::ALL
        .iter()
        .filter_map(|&function| {
            let counts = moved.function(function);
            let (hardware, software) = (counts.hardware_calls(), counts.software_calls());
            let part = Part::counted_in(function).filter(|_| hardware + software > 0)?;
            Some(Count { part, function: function.info().stats_name.to_owned(), hardware, software })
        })
        .collect();
    all.sort_by_key(|c| c.part);
    all
}

impl VerifyReport {
    fn of(jdk: &Jdk, args: &Args) -> VerifyReport {
        VerifyReport {
            java: jdk.shown(),
            config: args.config.clone(),
            providers: Vec::new(),
            random: String::new(),
            handshakes: Vec::new(),
            wrong: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Notes what is wrong in the handshakes, and what is merely useful to know.
    fn judge(&mut self) {
        let counts = self.handshakes.iter().any(|h| !h.counted.is_empty());
        for handshake in &mut self.handshakes {
            handshake.services.sort_by(|a, b| (a.part, &a.service).cmp(&(b.part, &b.service)));
            let name = &handshake.name;
            if let Some(error) = &handshake.error {
                self.wrong.push(format!("{name}: the handshake failed: {error}"));
                continue;
            }
            for service in &handshake.services {
                let Service { service: what, served, .. } = service;
                if service.went_elsewhere() {
                    self.wrong.push(format!("{name}: {what} is enabled, and went to {served} without a word"));
                }
            }
            // The events tell whom Java took, the counters what was done.
            // Random numbers are fetched ahead, many at once.
            for part in Part::ALL.into_iter().filter(|p| counts && *p != Part::Random) {
                let taken = handshake.services.iter().find(|s| s.part == part && is_pkcs11(&s.served));
                if let Some(service) = taken
                    && !handshake.counted.iter().any(|c| c.part == part)
                {
                    self.wrong.push(format!(
                        "{name}: Java took {} for {}, and the module's counters know nothing of it",
                        service.served, service.service
                    ));
                }
            }
        }
        if !counts {
            self.notes
                .push("the module has none of adjunct's counters: what its hardware did is not known here".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(part: Part, served: &str, offered: bool) -> Service {
        let service = "Signature.RSASSA-PSS".to_owned();
        Service { part, service, asked: "SunPKCS11-a".to_owned(), served: served.to_owned(), offered, calls: 1 }
    }

    fn report(services: Vec<Service>, counted: Vec<Count>) -> VerifyReport {
        let handshake =
            Handshake { name: "TLS 1.3 RSA".to_owned(), suite: "S".to_owned(), error: None, services, counted };
        let mut report = VerifyReport {
            java: "OpenJDK".to_owned(),
            config: PathBuf::from("a.cfg"),
            providers: vec!["SunPKCS11-a at place 1".to_owned()],
            random: "SUN".to_owned(),
            handshakes: vec![handshake],
            wrong: Vec::new(),
            notes: Vec::new(),
        };
        report.judge();
        report
    }

    fn count(part: Part) -> Count {
        Count { part, function: "RSA-CRT".to_owned(), hardware: 1, software: 0 }
    }

    #[test]
    fn what_went_elsewhere_is_told() {
        let signature = |served, offered| service(Part::Signature, served, offered);
        let good = report(vec![signature("SunPKCS11-a", true)], vec![count(Part::Signature)]);
        assert_eq!((good.wrong.len(), good.notes.len()), (0, 0));
        assert!(text::whole(&good, Style::PLAIN).contains("hardware: RSA-CRT 1\n"));
        let silent = report(vec![signature("SunRsaSign", true)], Vec::new());
        assert!(silent.wrong[0].ends_with("went to SunRsaSign without a word"), "{silent:?}");
        assert!(silent.notes[0].contains("none of adjunct's counters"));
        assert!(report(vec![signature("SunRsaSign", false)], Vec::new()).wrong.is_empty());
        // Java says that it took the module; the module says that it did something else.
        let claimed = report(vec![signature("SunPKCS11-a", true)], vec![count(Part::Bulk)]);
        assert!(claimed.wrong[0].contains("the module's counters know nothing of it"), "{claimed:?}");
    }
}
