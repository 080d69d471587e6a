//! What is claimed as hardware runs the dedicated instruction, and what `ADJUNCT_CPU` masks does not.
//!
//! A foreign program does one operation through the provider; this test single-steps it, decodes every instruction it
//! executes and compares with what the catalogue claims for that function on this machine under that mask.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod foreign;

use adjunct::catalogue::Feature;
use adjunct::catalogue::Function;
use adjunct::catalogue::{Path as Route, Reason};
use adjunct::ops::choice as route;
use iced_x86::{CpuidFeature, Decoder, DecoderOptions, Mnemonic};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A function, its key's bits, the program's words for it, and what makes it hardware.
type Case = (Function, usize, &'static str, &'static [Work]);

/// Dedicated instructions and how often they must run, counted in lanes of 128 bits: a wide one does several's work.
type Work = (Feature, u64);

// The message is 1024 bytes: 64 blocks of AES, 16 of SHA. One instruction is a round (SHA-256: two; SHA-1: four).
const AES_128: &[Work] = &[(Feature::Aes, 64 * 10)];
const AES_192: &[Work] = &[(Feature::Aes, 64 * 12)];
const AES_256: &[Work] = &[(Feature::Aes, 64 * 14)];
const CCM_128: &[Work] = &[(Feature::Aes, 2 * 64 * 10)];
const GCM_128: &[Work] = &[(Feature::Aes, 64 * 10), (Feature::Pclmul, 64 * 3)];
const GCM_256: &[Work] = &[(Feature::Aes, 64 * 14), (Feature::Pclmul, 64 * 3)];
const SHA_1: &[Work] = &[(Feature::Sha, 16 * 20)];
const SHA_256: &[Work] = &[(Feature::Sha, 16 * 32)];
// Eight blocks and the last; an instruction is two rounds, on two lanes.
const SHA_512: &[Work] = &[(Feature::Sha512, 8 * 40 * 2)];
// A signature is 2048 squarings of at least 20 x 20 products of 52 bits, two to a lane; an eighth of them is traced.
const RSA_2048: &[Work] = &[(Feature::Ifma, 2048 * 200 / 8)];

// 256 bytes from AES-256 in counter mode.
const RANDOM: &[Work] = &[(Feature::Aes, 256 / 16 * 14)];

/// Steps after which a trace ends: only a signature is longer, and by then is deep in its exponentiation.
const LONGEST: u64 = 500_000;

/// The functions that the provider serves and that the catalogue calls hardware on x86-64.
const CASES: &[Case] = &[
    (Function::AesEcb, 128, "cipher AES-128-ECB", AES_128),
    (Function::AesEcb, 256, "decipher AES-256-ECB", AES_256),
    (Function::AesCbc, 128, "cipher AES-128-CBC", AES_128),
    (Function::AesCbc, 192, "decipher AES-192-CBC", AES_192),
    (Function::AesCtr, 128, "cipher AES-128-CTR", AES_128),
    (Function::AesCtr, 256, "cipher AES-256-CTR", AES_256),
    (Function::AesOfb, 128, "cipher AES-128-OFB", AES_128),
    (Function::AesCfb, 256, "cipher AES-256-CFB", AES_256),
    (Function::AesCfb, 128, "decipher AES-128-CFB", AES_128),
    (Function::AesXts, 256, "cipher AES-256-XTS", AES_256),
    (Function::AesGcm, 128, "cipher AES-128-GCM", GCM_128),
    (Function::AesGcm, 256, "decipher AES-256-GCM", GCM_256),
    (Function::AesCcm, 128, "cipher AES-128-CCM", CCM_128),
    (Function::AesCmac, 128, "mac CMAC AES-128-CBC", AES_128),
    (Function::Sha1, 0, "digest SHA1", SHA_1),
    (Function::Sha224, 0, "digest SHA2-224", SHA_256),
    (Function::Sha256, 0, "digest SHA2-256", SHA_256),
    (Function::Sha384, 0, "digest SHA2-384", SHA_512),
    (Function::Sha512, 0, "digest SHA2-512", SHA_512),
    (Function::HmacSha2_512, 0, "mac HMAC SHA2-512", SHA_512),
    (Function::HmacSha1, 0, "mac HMAC SHA1", SHA_1),
    (Function::HmacSha2_256, 0, "mac HMAC SHA2-256", SHA_256),
    (Function::RsaCrt, 2048, "rsa 2048", RSA_2048),
    (Function::Prng, 0, "random CTR-DRBG", RANDOM),
];

/// The instructions an operation executed, by the feature they belong to.
#[derive(Debug, Default)]
struct Trace {
    /// Lanes of 128 bits by feature.
    lanes: BTreeMap<&'static str, u64>,
    /// The most lanes of one instruction.
    widest: u64,
    steps: u64,
}

/// Tracing is not allowed here.
#[derive(Debug)]
struct NotAllowed(std::io::Error);

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| foreign::compile("instructions"))
}

/// Single-steps `operation` under `ADJUNCT_CPU=mask`, until it ends or all of `wanted` has been executed; the operation
/// counts in `counters`.
fn trace(operation: &str, mask: &str, counters: &Counters, wanted: &[Work]) -> Result<Trace, NotAllowed> {
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), "algorithms = ALL, ECB, RAND\n");
    let mut command = Command::new(program());
    command.arg(&config).arg(operation).env("ADJUNCT_CPU", mask).env("OPENSSL_CONF", "/dev/null");
    command.env("ADJUNCT_STATS_KEY", &counters.0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: one system call, safe after fork.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut child = match command.spawn() {
        Ok(child) => Traced { child },
        Err(error) => return Err(NotAllowed(error)),
    };
    assert_eq!(child.stopped(), Ok(libc::SIGTRAP), "the program starts");
    let trace = child.until(libc::SIGUSR1).and_then(|()| child.step_until(libc::SIGUSR2, wanted));
    Ok(trace.unwrap_or_else(|status| panic!("{operation} under '{mask}' ended with {status}: {}", child.output())))
}

/// A traced child; killed when dropped.
struct Traced {
    child: Child,
}

impl Traced {
    fn request(&self, request: u32, data: usize) {
        // SAFETY: the child is stopped; the request takes a number and no address.
        let result = unsafe { libc::ptrace(request, self.pid(), 0, data) };
        assert_eq!(result, 0, "ptrace: {}", std::io::Error::last_os_error());
    }

    fn pid(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// Waits for the next stop: its signal, or the exit status.
    fn stopped(&self) -> Result<i32, i32> {
        let mut status = 0;
        // SAFETY: our own child; the status is ours.
        let pid = unsafe { libc::waitpid(self.pid(), &mut status, 0) };
        assert_eq!(pid, self.pid(), "waitpid: {}", std::io::Error::last_os_error());
        match status {
            _ if libc::WIFSTOPPED(status) => Ok(libc::WSTOPSIG(status)),
            _ if libc::WIFEXITED(status) => Err(libc::WEXITSTATUS(status)),
            _ => Err(128 + libc::WTERMSIG(status)),
        }
    }

    /// Lets the stopped child run to the stop for `signal`.
    fn until(&self, signal: i32) -> Result<(), i32> {
        loop {
            self.request(libc::PTRACE_CONT, 0);
            if self.stopped()? == signal {
                return Ok(());
            }
        }
    }

    /// The instruction pointer.
    fn place(&self) -> u64 {
        let offset = std::mem::offset_of!(libc::user_regs_struct, rip);
        // SAFETY: the child is stopped; the result is the word itself.
        unsafe { libc::ptrace(libc::PTRACE_PEEKUSER, self.pid(), offset, 0) as u64 }
    }

    fn step_until(&self, signal: i32, wanted: &[Work]) -> Result<Trace, i32> {
        let memory = File::open(format!("/proc/{}/mem", self.pid())).expect("the child's memory");
        let mut known: HashMap<u64, Option<Dedicated>> = HashMap::new();
        let mut trace = Trace::default();
        loop {
            self.request(libc::PTRACE_SINGLESTEP, 0);
            match self.stopped()? {
                libc::SIGTRAP => {}
                stop if stop == signal => return Ok(trace),
                other => panic!("signal {other} in the operation"),
            }
            trace.steps += 1;
            let place = self.place();
            if let Some((name, lanes)) = *known.entry(place).or_insert_with(|| dedicated_at(&memory, place)) {
                *trace.lanes.entry(name).or_default() += lanes;
                trace.widest = trace.widest.max(lanes);
            }
            let done = !wanted.is_empty() && wanted.iter().all(|&work| trace.did(work));
            if done || trace.steps == LONGEST {
                return self.until(signal).map(|()| trace);
            }
        }
    }

    fn output(&mut self) -> String {
        let mut text = String::new();
        let pipes: [Option<Box<dyn std::io::Read>>; 2] =
            [self.child.stdout.take().map(|p| Box::new(p) as _), self.child.stderr.take().map(|p| Box::new(p) as _)];
        for pipe in pipes.into_iter().flatten() {
            let _ = std::io::Read::read_to_string(&mut { pipe }, &mut text);
        }
        text
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A dedicated instruction: its feature's name and its lanes.
type Dedicated = (&'static str, u64);

/// The dedicated instruction that stands at `place`, if it is one.
fn dedicated_at(memory: &File, place: u64) -> Option<Dedicated> {
    let mut bytes = [0; 15];
    let length = memory.read_at(&mut bytes, place).unwrap_or(0);
    let instruction = Decoder::with_ip(64, &bytes[..length], place, DecoderOptions::NONE).decode();
    assert!(!instruction.is_invalid(), "{:x?} at {place:x}", &bytes[..length]);
    let name = instruction.cpuid_features().iter().find_map(|&f| match f {
        CpuidFeature::AES => Some("aes"),
        CpuidFeature::VAES => Some("vaes"),
        CpuidFeature::PCLMULQDQ => Some("pclmul"),
        CpuidFeature::VPCLMULQDQ => Some("vpclmul"),
        CpuidFeature::SHA => Some("sha"),
        CpuidFeature::SHA512 => Some("sha512"),
        CpuidFeature::AVX512_IFMA | CpuidFeature::AVX_IFMA => Some("ifma"),
        _ => None,
    })?;
    // The rounds are what counts; schedules of keys and messages go uncounted, but do not go unseen.
    let schedule = matches!(
        instruction.mnemonic(),
        Mnemonic::Aeskeygenassist
            | Mnemonic::Vaeskeygenassist
            | Mnemonic::Aesimc
            | Mnemonic::Vaesimc
            | Mnemonic::Sha1msg1
            | Mnemonic::Sha1msg2
            | Mnemonic::Sha1nexte
            | Mnemonic::Sha256msg1
            | Mnemonic::Sha256msg2
            | Mnemonic::Vsha512msg1
            | Mnemonic::Vsha512msg2
    );
    Some((name, if schedule { 0 } else { instruction.op0_register().size() as u64 / 16 }))
}

impl Trace {
    /// The lanes of a feature's instructions; the wide forms do the narrow ones' work.
    fn lanes(&self, feature: Feature) -> Option<u64> {
        let wide = match feature {
            Feature::Aes => "vaes",
            Feature::Pclmul => "vpclmul",
            _ => "",
        };
        let lanes = [feature.name(), wide].map(|name| self.lanes.get(name).copied());
        lanes.into_iter().flatten().reduce(|a, b| a + b)
    }

    /// Whether the instructions of a feature did all of the work.
    fn did(&self, (feature, lanes): Work) -> bool {
        self.lanes(feature).is_some_and(|done| done >= lanes)
    }
}

/// Runs one of this program's ignored tests in a process of its own, with another mask or other counters, and gives the
/// lines it prints after `TELLS`, each cut at the tab.
fn ask(test: &str, variable: &str, value: &str) -> HashMap<String, String> {
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(variable, value)
        .output()
        .expect("this program runs");
    assert!(output.status.success(), "{test}: {}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().filter_map(|l| l.strip_prefix("TELLS ")?.split_once('\t'));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
#[ignore = "not a test: `ask` runs it under a mask"]
fn tells_its_claims() {
    adjunct::init();
    println!();
    for (function, bits, ..) in CASES {
        let claim = match route::path(*function, *bits) {
            Route::Hardware => "hardware",
            Route::Software(Reason::Masked) => "masked",
            Route::Software(_) => "software",
        };
        println!("TELLS {function:?} {bits}\t{claim}");
    }
}

#[test]
#[ignore = "not a test: `ask` runs it with the counters of an operation, which it removes"]
fn tells_its_counters() {
    // SAFETY: no arguments.
    let uid = unsafe { libc::geteuid() };
    let Some(counters) = adjunct::counters::read(uid).expect("the counters are sound") else { return };
    adjunct::counters::delete(uid).expect("the counters are removed");
    println!();
    for &function in Function::ALL {
        let counts = counters.function(function);
        let (hardware, software) = (counts.hardware_calls(), counts.software_calls());
        if hardware + software > 0 {
            let masked = counters.fallbacks(function, Reason::Masked).calls;
            let masked = if masked == software { "masked" } else { "not masked" };
            println!("TELLS {function:?}\t{hardware} hardware, {software} software, {masked}");
        }
    }
}

/// Counters that only one operation uses, by their key; removed when dropped.
struct Counters(String);

impl Counters {
    fn new() -> Counters {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Counters(format!("{:x}{:04x}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)))
    }

    /// What was counted, by function; it is removed.
    fn take(&self) -> HashMap<String, String> {
        ask("tells_its_counters", "ADJUNCT_STATS_KEY", &self.0)
    }

    /// Compares what an operation counted with how it was served.
    fn compare(&self, function: Function, hardware: bool) {
        let counted = self.take();
        if counted.is_empty() && adjunct::counters::users().is_err() {
            println!("counters not compared: this system gives no shared memory");
            return;
        }
        let line = counted.get(&format!("{function:?}")).map_or("nothing", String::as_str);
        let right = if hardware {
            !line.starts_with("0 hardware") && line.contains(" hardware, 0 software")
        } else {
            line.starts_with("0 hardware") && line.ends_with(" software, masked")
        };
        assert!(right, "{function:?} counted {line}; all: {counted:?}");
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.take();
        }
    }
}

/// Runs `check` on every case, unless the system allows no tracing, which it says.
fn for_every_case(check: impl Fn(&Case) -> Result<Trace, NotAllowed>) {
    for case in CASES {
        match check(case) {
            Ok(trace) => println!("{:<24} {:>8} instructions, dedicated: {:?}", case.2, trace.steps, trace.lanes),
            Err(NotAllowed(error)) => return println!("SKIPPED: tracing is not allowed here: {error}"),
        }
    }
}

#[test]
fn what_is_claimed_as_hardware_runs_the_instruction() {
    let claims = ask("tells_its_claims", "ADJUNCT_CPU", "");
    for_every_case(|(function, bits, operation, works)| {
        let claim = &claims[&format!("{function:?} {bits}")];
        let hardware = claim == "hardware";
        let counters = Counters::new();
        let trace = trace(operation, "", &counters, if hardware { works } else { &[] })?;
        let done = works.iter().all(|&work| trace.did(work));
        assert_eq!(done, hardware, "{operation}: {claim}: {trace:?}");
        if hardware {
            counters.compare(*function, true);
        }
        Ok(trace)
    });
}

#[test]
fn what_is_masked_does_not_run_it_and_is_software() {
    for_every_case(|(function, bits, operation, works)| {
        let mask = works.iter().map(|(f, _)| format!("-{}", f.name())).collect::<Vec<_>>().join(",");
        let claim = &ask("tells_its_claims", "ADJUNCT_CPU", &mask)[&format!("{function:?} {bits}")];
        // Where the CPU lacks the instruction there is nothing to mask.
        let lacks = works.iter().any(|&(f, _)| !adjunct::cpu::features().has(f));
        assert!(claim == "masked" || (lacks && claim == "software"), "{operation} under {mask}: {claim}");
        let counters = Counters::new();
        let trace = trace(operation, &mask, &counters, &[])?;
        for &(feature, _) in *works {
            assert_eq!(trace.lanes(feature), None, "{operation} under {mask}: {trace:?}");
        }
        if claim == "masked" {
            counters.compare(*function, false);
        }
        Ok(trace)
    });
}

#[test]
fn the_wide_forms_are_masked_apart() {
    let all = [Feature::Vaes, Feature::Vpclmul, Feature::Avx512].iter().all(|&f| adjunct::cpu::features().has(f));
    for (mask, widest, operation, works) in [
        ("", 4, "cipher AES-128-GCM", GCM_128),
        ("-avx512", 2, "cipher AES-128-GCM", GCM_128),
        ("-vaes", 1, "cipher AES-128-GCM", GCM_128),
        ("-vpclmul", 1, "cipher AES-128-GCM", GCM_128),
        ("-avx512", 2, "cipher AES-256-XTS", AES_256),
        ("-vaes", 1, "cipher AES-256-XTS", AES_256),
        ("", 4, "cipher AES-128-CTR", AES_128),
        ("-avx512", 2, "cipher AES-128-CTR", AES_128),
        ("-vaes", 1, "cipher AES-128-CTR", AES_128),
        ("-avx512", 2, "decipher AES-192-CBC", AES_192),
        ("-vaes", 1, "decipher AES-192-CBC", AES_192),
        ("-avx512", 2, "decipher AES-128-CFB", AES_128),
    ] {
        let Ok(trace) = trace(operation, mask, &Counters::new(), &[]) else { return };
        assert!(trace.widest == widest || (!all && trace.widest < widest), "{operation} under {mask}: {trace:?}");
        if let Some(gone) = mask.strip_prefix('-') {
            assert_eq!(trace.lanes.get(gone), None, "{operation} under {mask}: {trace:?}");
        }
        for &work in works.iter().filter(|work| adjunct::cpu::features().has(work.0)) {
            assert!(trace.did(work), "{operation} under {mask} is still hardware: {trace:?}");
        }
    }
}

/// ChaCha20-Poly1305 counts as software, for no instruction is made for its cipher; but IFMA multiplies in its MAC.
#[test]
fn what_helps_software_is_masked_too() {
    for (mask, helps) in [("", true), ("-ifma", false), ("-avx512", false)] {
        let counters = Counters::new();
        let Ok(trace) = trace("cipher ChaCha20-Poly1305", mask, &counters, &[]) else { return };
        let lanes = trace.lanes(Feature::Ifma).unwrap_or(0);
        // 36 vectors of 4 lanes for 256 bytes, and what prepares them.
        let right = if helps && adjunct::cpu::features().has(Feature::Ifma) { lanes > 3 * 36 * 4 } else { lanes == 0 };
        assert!(right, "under '{mask}': {trace:?}");
        if let Some(line) = counters.take().get(&format!("{:?}", Function::ChaCha20Poly1305)) {
            assert!(line.starts_with("0 hardware"), "under '{mask}': {line}");
        }
    }
}
