//! A made-up measurement for `adjunct ssh tune --from`.

use serde_json::{Value, json};

/// A measurement in which AES-GCM is cheap, then AES-CTR with SHA-256, and ECDH on P-256 is the cheapest key exchange.
/// The error of each figure is this part of it.
pub fn figures_sure_to(part: f64) -> Value {
    let spread = |median: f64| json!({"median": median, "error": median * part, "count": 5});
    let pair = |cipher: &str, mac: Option<&str>, cpu: f64| {
        json!({"cipher": cipher, "mac": mac, "mb_s": spread(900.0 / cpu), "client_s_per_gb": spread(cpu * 0.4),
               "server_s_per_gb": spread(cpu * 0.6), "cpu_s_per_gb": spread(cpu)})
    };
    let mut pairs = vec![
        pair("chacha20-poly1305@openssh.com", None, 2.0),
        pair("aes128-gcm@openssh.com", None, 1.0),
        pair("aes256-gcm@openssh.com", None, 1.1),
    ];
    for (cipher, base) in [("aes128-ctr", 1.2), ("aes192-ctr", 1.3), ("aes256-ctr", 1.4), ("aes128-cbc", 0.5)] {
        for (mac, more) in [
            ("hmac-sha2-256-etm@openssh.com", 0.1),
            ("hmac-sha2-512-etm@openssh.com", 0.8),
            ("umac-128-etm@openssh.com", 0.5),
            ("hmac-sha1", 0.01),
        ] {
            pairs.push(pair(cipher, Some(mac), base + more));
        }
    }
    let login = |name: &str, cpu: f64| {
        json!({"algorithm": name, "seconds": spread(cpu * 2.0), "client_s": spread(cpu / 2.0),
               "server_s": spread(cpu / 2.0), "cpu_s": spread(cpu)})
    };
    json!({"survey": {
        "cpu": "made up", "openssh": "none", "openssl": "none", "adjunct": "", "measured": 0, "took": 1.0, "quick": false,
        "rsa_bits": 3072, "pairs": pairs, "host_keys": [], "user_keys": [], "skipped": [],
        "kex": [login("sntrup761x25519-sha512", 0.09), login("curve25519-sha256", 0.02), login("ecdh-sha2-nistp256", 0.01)],
    }})
}
