//! Two servers with one wrapping key behind HAProxy with the configuration of `examples/grep11`: one is killed under load, and no client sees an error.

mod common;

use adjunct_grep11::pb::GenerateRandomRequest;
use adjunct_grep11::pb::crypto_client::CryptoClient;
use common::*;
use rustix::process::Signal;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tonic::transport::Endpoint;

struct HaProxy(Child);

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_killed_and_no_client_sees_it() {
    let there = Command::new("haproxy").arg("-v").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !there {
        println!("SKIPPED: haproxy is not installed");
        return;
    }
    let card = Card::start();
    let words = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0"];
    let servers = [Server::start(&card.folder(), &words), Server::start(&card.folder(), &words)];
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/grep11/haproxy.cfg");
    let mut text = std::fs::read_to_string(example).unwrap();
    text = text.replace("bind 127.0.0.1:9876 ", &format!("bind 127.0.0.1:{port} "));
    for (name, server) in ["server one 127.0.0.2:9876", "server two 127.0.0.3:9876"].into_iter().zip(&servers) {
        assert!(text.contains(name));
        let status = server.status.as_ref().unwrap().split(':').nth(1).unwrap();
        let place = &name[..10];
        text = text.replace(name, &format!("{place} {} port {status}", server.address));
    }
    let config = card.runtime.path().join("haproxy.cfg");
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new("haproxy");
    let child = command.arg("-db").arg("-f").arg(&config).stdout(Stdio::null()).spawn().unwrap();
    let _haproxy = HaProxy(child);
    let limit = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < limit, "HAProxy does not listen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let goes_on = Arc::new(AtomicBool::new(true));
    let mut clients = Vec::new();
    for _ in 0..6 {
        let channel = Endpoint::new(format!("http://127.0.0.1:{port}")).unwrap().connect().await.unwrap();
        let goes_on = goes_on.clone();
        clients.push(tokio::spawn(async move {
            let (mut client, mut done) = (CryptoClient::new(channel), 0_u64);
            while goes_on.load(Relaxed) {
                client
                    .generate_random(GenerateRandomRequest { len: 8 })
                    .await
                    .map_err(|status| format!("{status:?}"))?;
                done += 1;
            }
            Ok::<_, String>(done)
        }));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    servers[0].signal(Signal::KILL);
    tokio::time::sleep(Duration::from_secs(2)).await;
    goes_on.store(false, Relaxed);
    for client in clients {
        let done = client.await.unwrap();
        assert!(done.as_ref().is_ok_and(|done| *done > 0), "{done:?}");
    }
}
