//! The server as clients and administrators meet it: TLS, tokens, limits, health, counts, its end, and two servers with one wrapping key.

mod common;

use adjunct_grep11::pb::crypto_client::CryptoClient;
use adjunct_grep11::pb::*;
use common::*;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

const LOOPBACK: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn random() -> GenerateRandomRequest {
    GenerateRandomRequest { len: 8 }
}

/// A folder of certificates: a root, a server's and a client's of it.
fn certificates(folder: &Path) {
    let openssl = |words: &[&str]| {
        let made = Command::new("openssl").args(words).current_dir(folder).stderr(Stdio::null()).status().unwrap();
        assert!(made.success(), "{words:?}");
    };
    let new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    openssl(&[&["req", "-x509"], &new[..], &["-subj", "/CN=root", "-keyout", "root.key", "-out", "root.pem"]].concat());
    for name in ["server", "client"] {
        let (key, pem, subject) = (format!("{name}.key"), format!("{name}.pem"), format!("/CN={name}"));
        let own = ["-subj", &subject, "-keyout", &key, "-out", &pem, "-CA", "root.pem", "-CAkey", "root.key"];
        let names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"];
        openssl(&[&["req", "-x509"], &new[..], &own, &names].concat());
    }
}

fn tls(folder: &Path, mutual: bool) -> PathBuf {
    let file = folder.join(format!("mutual-{mutual}.yaml"));
    let at = |name: &str| folder.join(name).display().to_string();
    let text = format!(
        "ep11crypto:\n  enabled: true\n  connection:\n    address: 127.0.0.1\n    port: 0\n    tls:\n      enabled: true\n      \
         certfile: {}\n      keyfile: {}\n      mutual: {mutual}\n      cacert: {}\n  domain: \"00.0\"\n",
        at("server.pem"),
        at("server.key"),
        at("root.pem")
    );
    std::fs::write(&file, text).unwrap();
    file
}

async fn secured(folder: &Path, address: &str, identity: bool) -> Result<Client, tonic::transport::Error> {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read("root.pem")));
    if identity {
        config = config.identity(Identity::from_pem(read("client.pem"), read("client.key")));
    }
    let channel = Endpoint::new(format!("https://{address}")).unwrap().tls_config(config).unwrap().connect().await?;
    Ok(CryptoClient::new(channel))
}

#[tokio::test]
async fn clients_come_by_tls_and_with_certificates() {
    let card = Card::start();
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let config = tls(folder.path(), false);
    let server = Server::start(&card.folder(), &["--config", config.to_str().unwrap()]);
    let mut client = secured(folder.path(), &server.address, false).await.unwrap();
    assert_eq!(client.generate_random(random()).await.unwrap().into_inner().rnd.len(), 8);
    // Plaintext at a port of TLS.
    assert!(server.client().await.generate_random(random()).await.is_err());
    drop(server);
    let config = tls(folder.path(), true);
    let server = Server::start(&card.folder(), &["--config", config.to_str().unwrap()]);
    let mut client = secured(folder.path(), &server.address, true).await.unwrap();
    assert_eq!(client.generate_random(random()).await.unwrap().into_inner().rnd.len(), 8);
    // In TLS 1.3 a client learns with its first request that its certificate was wanted.
    let refused = match secured(folder.path(), &server.address, false).await {
        Ok(mut client) => client.generate_random(random()).await.is_err(),
        Err(_) => true,
    };
    assert!(refused);
    // A certificate of another root.
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    std::fs::copy(folder.path().join("root.pem"), other.path().join("root.pem")).unwrap();
    let refused = match secured(other.path(), &server.address, true).await {
        Ok(mut client) => client.generate_random(random()).await.is_err(),
        Err(_) => true,
    };
    assert!(refused);
}

/// Waits for a server's end, while clients answer it.
async fn ended(server: Server) -> (bool, String) {
    tokio::task::spawn_blocking(move || server.ended()).await.unwrap()
}

/// What a server says that does not serve.
fn refusal(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = program(folder.path(), words).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    text
}

#[test]
fn what_is_wrong_gets_one_line() {
    let text = refusal(&["--config", "/dev/null", "--listen", "0.0.0.0:0"]);
    assert!(text.contains("0.0.0.0:0: plaintext is served on loopback only") && text.contains("--insecure-plaintext"));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let config = file("bad.yaml", "ep11crypto:\n  connection:\n    port: x\n");
    assert!(refusal(&["--config", &config]).contains("bad.yaml:3: ep11crypto.connection.port: x is no port"));
    let none = file("none.pem", "nothing");
    let config = file(
        "tls.yaml",
        &format!("ep11crypto: {{connection: {{tls: {{enabled: true, certfile: {none}, keyfile: {none}}}}}}}"),
    );
    assert!(refusal(&["--config", &config]).contains("none.pem: no certificate in PEM form"));
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let config = file(
        "pair.yaml",
        &format!(
            "ep11crypto: {{connection: {{tls: {{enabled: true, certfile: {}, keyfile: {}}}}}}}",
            at("server.pem"),
            at("client.key")
        ),
    );
    assert!(refusal(&["--config", &config]).contains("server.pem and"));
    let tokens = file("tokens", "name\n");
    assert!(refusal(&["--config", "/dev/null", "--tokens", &tokens]).contains("tokens:1: not a name and 64"));
    assert!(refusal(&["--config", "/nowhere.yaml"]).contains("/nowhere.yaml: No such file"));
    assert!(refusal(&["--config", "/dev/null", "--domain", "x"]).contains("x is no card.domain"));
}

#[tokio::test]
async fn a_token_is_asked_for() {
    let card = Card::start();
    let made = program(&card.folder(), &["token", "backup"]).output().unwrap();
    let text = String::from_utf8(made.stdout).unwrap();
    let after = |words: &str| text.lines().find_map(|line| line.split_once(words)).unwrap().1.to_owned();
    let (token, line) = (after("once: "), after("file of tokens: "));
    let file = card.runtime.path().join("tokens");
    std::fs::write(&file, line).unwrap();
    let server = Server::start(&card.folder(), &[&LOOPBACK[..], &["--tokens", file.to_str().unwrap()]].concat());
    let mut client = server.client().await;
    let with = |token: &str| {
        let mut request = Request::new(random());
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request
    };
    assert!(client.generate_random(with(&token)).await.is_ok());
    for refused in [client.generate_random(random()).await, client.generate_random(with("wrong")).await] {
        assert_eq!(refused.as_ref().unwrap_err().code(), Code::Unauthenticated);
        assert_eq!(error(refused).code, 0x8004_0001);
    }
    // Whoever asks for health needs none.
    let channel = Endpoint::new(format!("http://{}", server.address)).unwrap().connect().await.unwrap();
    let health = HealthClient::new(channel).check(HealthCheckRequest { service: "grep11.Crypto".to_owned() }).await;
    assert_eq!(health.unwrap().into_inner().status(), ServingStatus::Serving);
    server.signal(Signal::TERM);
    drop(client);
    let (well, log) = ended(server).await;
    assert!(
        well && log.contains("no token") && log.contains("a token that nobody has") && !log.contains(&token),
        "{log}"
    );
}

#[tokio::test]
async fn limits_hold() {
    let card = Card::start();
    let config = card.runtime.path().join("limits.yaml");
    let text = "ep11crypto: {connection: {port: 0}}\n\
                adjunct: {limits: {message: 4096, connections: 2, requests: 1, requestsPerConnection: 2}}\n";
    std::fs::write(&config, text).unwrap();
    let server = Server::start(&card.folder(), &["--config", config.to_str().unwrap()]);
    let mut client = server.client().await;
    let digest = |length| DigestSingleRequest { mech: mechanism(0x250), data: vec![1; length] };
    client.digest_single(digest(4000)).await.unwrap();
    let long = client.digest_single(digest(5000)).await.unwrap_err();
    assert_eq!(long.code(), Code::OutOfRange);
    // Many calls of one connection wait for each other.
    let calls: Vec<_> = (0..50)
        .map(|_| {
            tokio::spawn({
                let mut client = client.clone();
                async move { client.generate_random(random()).await.is_ok() }
            })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap());
    }
    // The third connection is not taken in before another has gone.
    let second = server.client().await;
    let third = Endpoint::new(format!("http://{}", server.address)).unwrap().connect_lazy();
    let mut third = CryptoClient::new(third);
    let waits = tokio::time::timeout(Duration::from_millis(500), third.generate_random(random())).await;
    assert!(waits.is_err());
    drop(second);
    let done = tokio::time::timeout(Duration::from_secs(20), third.generate_random(random())).await;
    assert!(done.unwrap().is_ok());
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_counts_are_told() {
    let card = Card::start();
    let server = Server::start(&card.folder(), &[&LOOPBACK[..], &["--status", "127.0.0.1:0"]].concat());
    let status = server.status.clone().unwrap();
    let mut client = server.client().await;
    client.generate_random(random()).await.unwrap();
    _ = client.generate_random(GenerateRandomRequest { len: u64::MAX }).await.unwrap_err();
    let text = get(&status, "/metrics");
    for line in [
        "adjunct_grep11_calls_total{call=\"GenerateRandom\",code=\"OK\"} 1",
        "adjunct_grep11_calls_total{call=\"GenerateRandom\",code=\"INVALID_ARGUMENT\"} 1",
        "adjunct_grep11_connections 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    assert!(get(&status, "/ready").starts_with("HTTP/1.1 200"));
    let ask = |address: String, service: &'static str| async move {
        let channel = Endpoint::new(format!("http://{address}")).unwrap().connect().await.unwrap();
        HealthClient::new(channel).check(HealthCheckRequest { service: service.to_owned() }).await
    };
    for address in [&status, &server.address] {
        let answer = ask(address.clone(), "").await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
    assert_eq!(ask(status.clone(), "other").await.unwrap_err().code(), Code::NotFound);
    // Without a coprocessor it does not serve, and calls say so.
    drop(card);
    let limit = Instant::now() + Duration::from_secs(20);
    while get(&status, "/ready").starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < limit);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let refused = client.generate_random(random()).await;
    assert_eq!(refused.as_ref().unwrap_err().code(), Code::Unavailable);
    assert!(error(refused).retry);
}

#[tokio::test]
async fn a_server_that_is_ended_finishes_what_runs() {
    let card = Card::start();
    let server = Server::start(&card.folder(), &LOOPBACK);
    let mut client = server.client().await;
    client.generate_random(random()).await.unwrap();
    // A key of which the generation takes a while.
    let template = attributes([
        (0x121, attribute_value::OneAttr::AttributeI(4096)),
        (0x122, attribute_value::OneAttr::AttributeB(vec![1, 0, 1])),
        (0x10a, yes()),
    ]);
    let request = GenerateKeyPairRequest {
        mech: mechanism(0),
        priv_key_template: attributes([(0x108, yes())]),
        pub_key_template: template,
    };
    let call = tokio::spawn({
        let mut client = client.clone();
        async move { client.generate_key_pair(request).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.signal(Signal::TERM);
    assert!(call.await.unwrap().is_ok());
    drop(client);
    let began = Instant::now();
    let (well, log) = ended(server).await;
    assert!(well && log.contains("it ends") && began.elapsed() < Duration::from_secs(10), "{log}");
}

/// A client that goes to another server where one is not there, as gRPC's own policies do.
async fn with_another(servers: &[String], at: &mut usize, channel: &mut Option<Client>) -> bool {
    for _ in 0..20 {
        if channel.is_none() {
            *at = (*at + 1) % servers.len();
            let endpoint = Endpoint::new(format!("http://{}", servers[*at])).unwrap();
            *channel = endpoint.connect().await.ok().map(CryptoClient::<Channel>::new);
        }
        if let Some(client) = channel {
            match client.generate_random(random()).await {
                Ok(_) => return true,
                // What was not done, and what a server says that ends.
                Err(status)
                    if matches!(
                        status.code(),
                        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal
                    ) =>
                {
                    *channel = None;
                }
                Err(status) => panic!("{status}"),
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_servers_one_is_killed_and_no_call_is_lost() {
    let card = Card::start();
    let servers = [Server::start(&card.folder(), &LOOPBACK), Server::start(&card.folder(), &LOOPBACK)];
    let addresses: Vec<String> = servers.iter().map(|server| server.address.clone()).collect();
    let goes_on = Arc::new(AtomicBool::new(true));
    let clients: Vec<_> = (0..4)
        .map(|mut at| {
            let (addresses, goes_on) = (addresses.clone(), goes_on.clone());
            tokio::spawn(async move {
                let (mut channel, mut done) = (None, 0);
                while goes_on.load(Relaxed) {
                    assert!(with_another(&addresses, &mut at, &mut channel).await, "a call was lost");
                    done += 1;
                }
                done
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    servers[0].signal(Signal::KILL);
    tokio::time::sleep(Duration::from_secs(1)).await;
    goes_on.store(false, Relaxed);
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
}

#[tokio::test]
async fn one_command_starts_a_coprocessor_and_a_server() {
    let runtime = tempfile::tempdir().unwrap();
    let mut command = Command::new(beside("adjunct"));
    command.args(["grep11", "dev"]).env("XDG_RUNTIME_DIR", runtime.path()).env_remove("ADJUNCT_CARDS_DIR");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while !text.contains("GREP11: ") {
        assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
    }
    assert!(text.contains("no FIPS certificate") && text.contains("export ADJUNCT_CARDS_DIR="), "{text}");
    let address = text.lines().find_map(|line| line.strip_prefix("GREP11: ")?.strip_suffix(", plaintext")).unwrap();
    let channel = Endpoint::new(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = CryptoClient::new(channel);
    assert_eq!(client.generate_random(random()).await.unwrap().into_inner().rnd.len(), 8);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert!(status.success() && client.generate_random(random()).await.is_err());
}
