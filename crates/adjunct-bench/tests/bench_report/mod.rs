//! A made-up report of `adjunct ssh bench`, in the shape that `--json` writes: what its outputs are tested with where nothing
//! needs to be measured.

use serde_json::{Value, json};

fn stat(median: f64) -> Value {
    json!({"median": median, "low": median * 0.9, "high": median * 1.05, "values": [median, median * 0.9, median * 1.05]})
}

fn figure(stock: f64) -> Value {
    json!({
        "software": stat(stock / 3.0), "stock": stat(stock), "adjunct": stat(stock * 1.2),
        "adjunct_to_software": 3.6, "adjunct_to_stock": 1.2,
    })
}

/// Values of a measure where less is better.
fn less(stock: f64) -> Value {
    json!({
        "software": stat(stock * 3.0), "stock": stat(stock), "adjunct": stat(stock / 1.6),
        "adjunct_to_software": 0.21, "adjunct_to_stock": 0.62,
    })
}

fn row(name: &str, stock: f64) -> Value {
    json!({
        "name": name, "detail": "MAC umac-64-etm@openssh.com, 250 MB", "paper": {"mb_s": 417.9},
        "served": {"hardware": 123_456, "software": 12},
        "figures": {"mb_s": figure(stock), "s_gb": less(1000.0 / stock), "cpu_s_gb": less(2000.0 / stock)},
    })
}

/// A section of small copies: their time is told apart from bulk.
fn logins() -> Value {
    let row = |name: &str, ms: f64| {
        json!({"name": name, "detail": "rsa-sha2-512, curve25519-sha256", "served": {"hardware": 9, "software": 9},
            "figures": {"copies_s": same(1000.0 / ms), "cpu_ms": same(ms)}})
    };
    json!({
        "id": "small", "title": "Logins: small files", "about": "scp of 2 bytes.", "charts": ["cpu_ms"],
        "measures": [
            {"id": "copies_s", "title": "copies one after another", "unit": "copies/s", "decimals": 1, "more_is_better": true},
            {"id": "cpu_ms", "title": "CPU time of both sides for a copy", "unit": "CPU ms", "decimals": 1, "more_is_better": false},
        ],
        "groups": [{"title": "", "rows": [row("RSA-3072", 41.0), row("Ed25519", 12.5), row("ECDSA P-256", 14.5)]}],
    })
}

/// Values of sides that do not differ.
fn same(value: f64) -> Value {
    json!({"software": stat(value), "stock": stat(value * 1.01), "adjunct": stat(value), "adjunct_to_software": 1.0,
        "adjunct_to_stock": 0.99})
}

fn section(id: &str, title: &str, rows: &Value) -> Value {
    json!({
        "id": id, "title": title, "about": "scp of a file to /dev/null, \"as in the paper\" <& so on>.", "charts": ["mb_s", "cpu_s_gb"],
        "measures": [
            {"id": "mb_s", "title": "throughput", "unit": "MB/s", "decimals": 1, "more_is_better": true},
            {"id": "cpu_s_gb", "title": "CPU time of both sides", "unit": "CPU s for a GB", "decimals": 3, "more_is_better": false},
            {"id": "s_gb", "title": "time", "unit": "s for a GB", "decimals": 3, "more_is_better": false},
        ],
        "groups": [{"title": "Case 1", "rows": rows}, {"title": "Case 2", "rows": rows}],
    })
}

/// Marks a section as having rows of an earlier section.
fn again(mut section: Value) -> Value {
    section["again"] = true.into();
    section
}

/// The report: names and figures as long as they come, and a row without figures.
pub fn report() -> Value {
    let rows = json!([
        row("chacha20-poly1305@openssh.com", 12345.6),
        row("aes128-gcm@openssh.com", 23456.7),
        row("aes128-cbc", 987.6),
        row("3des-cbc", 9.8),
        {"name": "arcfour", "detail": "", "missing": "not available: OpenSSH_9.2p1 does not have it", "paper": {"mb_s": 202.4}},
    ]);
    json!({
        "format": 1,
        "header": {
            "cpu": "Some CPU <of> \"2026\"", "cpus": 2, "instructions": ["AES-NI", "VAES", "AVX-512 IFMA"], "system": "Linux 6.1",
            "openssh": "OpenSSH_9.2p1 Debian-2+deb12u7", "openssl": "OpenSSL 3.0.22 25 Aug 2026", "adjunct": "0.1.0",
            "engine": "RSA and EC, beside the provider", "date": "2026-01-31 12:00 UTC",
            "command": "adjunct ssh bench --size 250M --html a-file-with-a-name-that-is-longer-than-a-phone-is-wide.html",
            "data": "250 MB, a sparse file", "method": "medians of 3 runs", "mask": "OPENSSL_ia32cap=~0x200000200000000:~0x70020200000",
            "served": {"hardware": 1_234_567, "software": 89},
            "default_ciphers": ["chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com"], "estimated_s": 104.0, "took_s": 111.0,
            "busy": "The machine was busy while this was measured: others used 31 % of its processor time.",
        },
        "sections": [section("table2", "The algorithm matters", &rows), again(section("table3", "The key size matters", &rows)), logins()],
    })
}
