//! The log of real sessions: OpenSSH 9.2 with OpenSSL 3.0, 10.0 with 3.5, 10.6 with 3.6; and what older ones print.

use super::*;

const OPENSSH_9_2: &str = include_str!("logs/9.2.log");
const OPENSSH_10_0: &str = include_str!("logs/10.0.log");
const OPENSSH_10_6: &str = include_str!("logs/10.6.log");

fn stream(cipher: &str, mac: Option<&str>) -> Option<Stream> {
    Some(Stream { cipher: cipher.to_owned(), mac: mac.map(str::to_owned) })
}

#[test]
fn openssh_9_2() {
    let log = Log::parse(OPENSSH_9_2);
    assert_eq!(log.client.as_deref(), Some("OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.22 25 Aug 2026"));
    assert_eq!(log.server.as_deref(), Some("OpenSSH_9.2p1 Debian-2+deb12u10"));
    assert_eq!(log.key_exchange.as_deref(), Some("sntrup761x25519-sha512"));
    assert_eq!(log.host_key.as_deref(), Some("ssh-ed25519"));
    assert_eq!(log.to_server, stream("chacha20-poly1305@openssh.com", None));
    assert_eq!(log.to_client, log.to_server);
    let key = log.user_key.clone().unwrap();
    assert_eq!((key.algorithm.as_deref(), key.kind.as_str()), (Some("ssh-ed25519"), "ED25519"));
    assert_eq!((key.name.as_str(), key.held_elsewhere), ("/home/me/.ssh/u_ed25519", false));
    assert_eq!(log.method.as_deref(), Some("publickey"));
    assert_eq!(log.transferred, Some((1_004_232, 1_004_788)));
    assert_eq!((log.last.as_deref(), log.host_key_changed, log.host_key_unknown), (None, false, false));
}

#[test]
fn openssh_10_0() {
    let log = Log::parse(OPENSSH_10_0);
    assert!(log.client.as_deref().unwrap().starts_with("OpenSSH_10.0p2 "));
    assert_eq!(log.key_exchange.as_deref(), Some("ecdh-sha2-nistp384"));
    assert_eq!(log.host_key.as_deref(), Some("ecdsa-sha2-nistp384"));
    assert_eq!(log.to_client, stream("aes256-ctr", Some("hmac-sha2-256-etm@openssh.com")));
    assert_eq!(log.to_server, log.to_client);
    assert_eq!(log.user_key.clone().unwrap().algorithm.as_deref(), Some("ecdsa-sha2-nistp384"));
    assert!(log.authenticated() && log.transferred.is_some() && log.last.is_none());
}

#[test]
fn openssh_10_6() {
    let log = Log::parse(OPENSSH_10_6);
    assert!(log.client.as_deref().unwrap().starts_with("OpenSSH_10.6p1 "));
    assert_eq!(log.key_exchange.as_deref(), Some("mlkem768x25519-sha256"));
    assert_eq!(log.server.as_deref(), Some("OpenSSH_10.6p1 Debian-1"));
    assert!(log.authenticated() && log.transferred.is_some() && log.last.is_none());
}

#[test]
fn older_words() {
    let text = "OpenSSH_6.6.1, OpenSSL 1.0.1f 6 Jan 2014\r\n\
                debug1: Remote protocol version 2.0, remote software version dropbear_2022.83\r\n\
                debug1: kex: server->client aes128-ctr hmac-md5 none\r\n\
                debug1: kex: client->server aes128-cbc hmac-sha1 none\r\n\
                debug1: Server accepts key: pkalg ssh-rsa blen 279\r\n\
                debug1: Authentication succeeded (publickey).\r\n";
    let log = Log::parse(text);
    assert_eq!(log.server.as_deref(), Some("dropbear_2022.83"));
    assert_eq!(log.to_client, stream("aes128-ctr", Some("hmac-md5")));
    assert_eq!(log.to_server, stream("aes128-cbc", Some("hmac-sha1")));
    assert_eq!(log.user_key.clone().unwrap().algorithm.as_deref(), Some("ssh-rsa"));
    assert_eq!(log.method.as_deref(), Some("publickey"));
}

#[test]
fn keys_of_an_agent_and_names_with_blanks() {
    let key = |line: &str| Log::parse(&format!("debug1: Server accepts key: {line}\n")).user_key;
    let held = key("me at home ED25519 SHA256:abc agent").unwrap();
    assert_eq!((held.name.as_str(), held.kind.as_str(), held.held_elsewhere), ("me at home", "ED25519", true));
    let file = key("/home/me/my key RSA-CERT SHA256:abc explicit").unwrap();
    assert_eq!((file.name.as_str(), file.kind.as_str(), file.held_elsewhere), ("/home/me/my key", "RSA-CERT", false));
    assert!(key("RSA MD5:00:11 explicit agent").unwrap().held_elsewhere);
    for broken in ["", "SHA256:abc", "nothing of use"] {
        assert_eq!(key(broken), None, "{broken}");
    }
}

#[test]
fn the_session_before_new_keys_counts() {
    let text = "debug1: kex: algorithm: a\ndebug1: kex: algorithm: b\ndebug1: kex: server->client cipher: c MAC: d compression: none\n\
                debug1: kex: server->client cipher: e MAC: f compression: none\n";
    let log = Log::parse(text);
    assert_eq!(log.key_exchange.as_deref(), Some("a"));
    assert_eq!(log.to_client, stream("c", Some("d")));
}

#[test]
fn what_the_other_side_says_reaches_no_terminal_unclean() {
    let log =
        Log::parse("debug1: Remote protocol version 2.0, remote software version x\x1b[2J\x07y\nbad\x1b]0;t\x07 end\n");
    assert_eq!(log.server.as_deref(), Some("x[2Jy"));
    assert_eq!(log.last.as_deref(), Some("bad]0;t end"));
}
