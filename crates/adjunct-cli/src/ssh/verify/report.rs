//! The report: a table for people, JSON for programs, and what to do about what is not hardware.

use super::judge::{Cause, Proof, Role, Served, Verdict, What};
use crate::ssh::tune::left;
use adjunct::cpu;
use adjunct::ops::choice::instructions;
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The report on a session.
#[derive(Debug, Serialize)]
pub(super) struct VerifyReport {
    /// The host that the session was with.
    pub host: String,
    /// `private`, `own` (this machine's sshd) or `host` (the one asked for).
    pub target: &'static str,
    /// The client's program, as it names itself.
    pub client: Option<String>,
    /// The server's.
    pub server: Option<String>,
    /// The modules the client had loaded; absent where that cannot be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_modules: Option<Vec<PathBuf>>,
    /// The modules the server's process had loaded; absent where that cannot be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_modules: Option<Vec<PathBuf>>,
    /// Bytes that went out and came back unchanged.
    pub bytes: u64,
    /// Whether the bulk path was hardware wherever it can be seen.
    pub bulk_in_hardware: bool,
    /// The verdicts.
    pub parts: Vec<Part>,
    /// Advice, a line each.
    pub advice: Vec<String>,
    /// Notes, a line each.
    pub notes: Vec<String>,
}

/// A part of the session.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    pub part: What,
    /// The negotiated algorithm.
    pub algorithm: Option<String>,
    pub client: Verdict,
    pub server: Verdict,
}

impl Part {
    fn ends(&self) -> [(Role, &Verdict); 2] {
        [(Role::Client, &self.client), (Role::Server, &self.server)]
    }
}

/// Whether the data's way was hardware at every end that can be seen.
pub(super) fn bulk_in_hardware(parts: &[Part]) -> bool {
    let fine = |served| matches!(served, Served::Hardware | Served::Nothing | Served::NotVisible);
    let bulk = || parts.iter().filter(|p| p.part.bulk());
    // The client is always seen, and a cipher of 'none' is nothing to be proud of.
    bulk().all(|p| p.ends().iter().all(|(_, v)| fine(v.served))) && bulk().any(|p| p.client.served == Served::Hardware)
}

/// Advice, a line for each thing that can be done about what is not hardware.
pub(super) fn advice(parts: &[Part]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        for (role, verdict) in part.ends() {
            if let Some(line) = advise(part, role, verdict)
                && !lines.contains(&line)
            {
                lines.push(line);
            }
        }
    }
    lines
}

fn advise(part: &Part, role: Role, verdict: &Verdict) -> Option<String> {
    let program = role.program();
    let name = part.algorithm.as_deref().unwrap_or_default();
    match verdict.cause? {
        Cause::NotEnabled => {
            let again = if role == Role::Server { ", then restart it" } else { "" };
            Some(format!("let {program} use adjunct: sudo adjunct openssl enable{again}"))
        }
        Cause::NotLoaded => Some(format!("find out why {program} does not load adjunct: adjunct openssl status")),
        Cause::NotCounted => Some("see which algorithms adjunct offers: adjunct openssl status".to_owned()),
        Cause::KeptByOpenssl => {
            Some("with OpenSSL 3.5 take aes256-gcm@openssh.com or aes128-ctr in place of aes256-ctr".to_owned())
        }
        Cause::NeedsEngine => Some(
            "enable adjunct's engine, too: by it alone OpenSSH reaches ECDH, and up to 9.8 RSA and ECDSA keys"
                .to_owned(),
        ),
        Cause::BuiltIn | Cause::NoInstruction if part.part.bulk() => Some(format!(
            "{name} has no hardware: {}; for one session -o Ciphers=aes128-gcm@openssh.com, which needs only AES instructions",
            left::advice()
        )),
        Cause::CpuLacks => {
            let function = verdict.function?;
            // What batches alone have instructions for is software in any login.
            let needed = Some(instructions(function)).filter(|needed| !needed.is_empty())?;
            let missing: Vec<&str> = needed.iter().filter(|&&f| !cpu::features().has(f)).map(|f| f.text()).collect();
            let what = if missing.is_empty() { "instruction".to_owned() } else { missing.join(" or ") };
            Some(format!(
                "this CPU has no {what} for {}, or OPENSSL_ia32cap hides it: see 'adjunct info'",
                function.info().name
            ))
        }
        Cause::Masked => Some(format!("ADJUNCT_CPU takes instructions away from {program}: unset it")),
        _ => None,
    }
}

/// The table.
pub(super) fn text(report: &VerifyReport, style: Style) -> String {
    let mut out = String::new();
    let unknown = "unknown";
    let session = match report.target {
        "private" => "with a private sshd on this machine's loopback".to_owned(),
        "own" => format!("with this machine's sshd ({})", shown(&report.host)),
        _ => format!("with {}", shown(&report.host)),
    };
    let mut line = |name: &str, value: &str| _ = writeln!(out, "{name:<9}{value}");
    line("session", &session);
    line("client", &end(report.client.as_deref().unwrap_or(unknown), report.client_modules.as_deref()));
    line("server", &end(report.server.as_deref().unwrap_or(unknown), report.server_modules.as_deref()));
    line("data", &format!("{} bytes there and back, compared", report.bytes));
    for part in &report.parts {
        let _ = writeln!(out, "\n{:<24}{}", style.strong(&format!("{:<24}", part.part.text())), name(part));
        if part.ends().iter().all(|(_, v)| v.served == Served::Nothing) && part.client.why == part.server.why {
            let _ = writeln!(out, "  {}", shown(&part.client.why));
            continue;
        }
        for (role, verdict) in part.ends() {
            let _ = writeln!(out, "  {:<9}{}  {}", role.name(), paint(verdict.served, style), shown(&words(verdict)));
        }
    }
    out.push('\n');
    let unseen = report.parts.iter().any(|p| p.part.bulk() && p.server.served == Served::NotVisible);
    let verdict = match (report.bulk_in_hardware, unseen) {
        (true, false) => style.good("the data were encrypted and authenticated in hardware, both ways, at both ends"),
        (true, true) => {
            style.good("the data were encrypted and authenticated in hardware, both ways, at the client's end")
        }
        (false, _) => style.notice("the data were not encrypted and authenticated in hardware throughout"),
    };
    let _ = writeln!(out, "verdict: {verdict}");
    for advice in &report.advice {
        let _ = writeln!(out, "advice:  {}", shown(advice));
    }
    for note in &report.notes {
        let _ = writeln!(out, "note:    {}", shown(note));
    }
    out
}

fn name(part: &Part) -> String {
    shown(part.algorithm.as_deref().unwrap_or("-"))
}

fn end(program: &str, modules: Option<&[PathBuf]>) -> String {
    let program = shown(program);
    match modules {
        None => program,
        Some([]) => format!("{program}; adjunct not loaded"),
        Some(paths) => {
            let paths: Vec<String> = paths.iter().map(shown).collect();
            format!("{program}; {}", paths.join(", "))
        }
    }
}

fn paint(served: Served, style: Style) -> String {
    let text = format!("{:<14}", served.text());
    match served {
        Served::Hardware => style.good(&text),
        Served::Nothing | Served::NotVisible => style.faint(&text),
        _ => style.notice(&text),
    }
}

/// Why, and the counters that moved.
fn words(verdict: &Verdict) -> String {
    let proofs = verdict.proof.iter().map(counted);
    let all: Vec<String> = proofs.chain((!verdict.why.is_empty()).then(|| verdict.why.clone())).collect();
    all.join("; ")
}

/// `AES GCM 128 enc: 92 calls, 2034556 bytes in hardware`.
fn counted(proof: &Proof) -> String {
    let mut out = proof.function.to_owned();
    if let Some(bits) = proof.bits {
        let _ = write!(out, " {bits}");
    }
    if let Some(direction) = proof.direction {
        let _ = write!(out, " {direction}");
    }
    let both = if proof.both_ways { " (both ways)" } else { "" };
    let mut sides = Vec::new();
    for (calls, bytes, side) in
        [(proof.hw_calls, proof.hw_bytes, "hardware"), (proof.sw_calls, proof.sw_bytes, "software")]
    {
        let s = if calls == 1 { "" } else { "s" };
        match (calls, bytes) {
            (0, 0) => {}
            (_, 0) => sides.push(format!("{calls} call{s} in {side}")),
            _ => sides.push(format!("{calls} call{s}, {bytes} bytes{both} in {side}")),
        }
    }
    format!("{out}: {}", sides.join(", "))
}
