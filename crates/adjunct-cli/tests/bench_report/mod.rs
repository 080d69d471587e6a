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

fn row(name: &str, stock: f64) -> Value {
    json!({
        "name": name, "detail": "MAC umac-64-etm@openssh.com, 250 MB", "paper": {"mb_s": 417.9},
        "served": {"hardware": 123_456, "software": 12},
        "figures": {"mb_s": figure(stock), "cpu_s_gb": figure(200.0 / stock)},
    })
}

fn section(id: &str, title: &str, rows: &Value) -> Value {
    json!({
        "id": id, "title": title, "about": "scp of a file to /dev/null, \"as in the paper\" <& so on>.", "charts": ["mb_s", "cpu_s_gb"],
        "measures": [
            {"id": "mb_s", "title": "throughput", "unit": "MB/s", "decimals": 1, "more_is_better": true},
            {"id": "cpu_s_gb", "title": "CPU time of both sides", "unit": "CPU s for a GB", "decimals": 3, "more_is_better": false},
        ],
        "groups": [{"title": "Case 1", "rows": rows}, {"title": "Case 2", "rows": rows}],
    })
}

/// The report: names and figures as long as they come, and a row without figures.
pub fn report() -> Value {
    let rows = json!([
        row("chacha20-poly1305@openssh.com", 12345.6),
        row("aes128-cbc, hmac-sha2-512", 987.6),
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
        },
        "sections": [section("table2", "The algorithm matters", &rows), section("table3", "The key size matters", &rows)],
    })
}
