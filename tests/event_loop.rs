//! Servers with an event loop: OpenSSL's asynchronous jobs in `openssl speed`, and HAProxy with `ssl-mode-async`.

use adjunct_e2e::lab::{Counters, Lab, spawn};
use adjunct_e2e::listener::{Holding, until};
use adjunct_e2e::ports;
use adjunct_e2e::system::System;
use adjunct_e2e::tls::{Server, certificates};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

/// Whether this CPU has lanes.
fn lanes() -> bool {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| info.split_whitespace().any(|f| f == flag);
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512ifma"].iter().all(|flag| has(flag))
}

/// How many of a function's calls ran in lanes, of a hundred.
fn share(counters: &Counters, function: &str) -> u64 {
    let (lanes, alone) = counters.get(function).copied().unwrap_or_default();
    assert!(lanes + alone > 0, "{function} was not counted");
    lanes * 100 / (lanes + alone)
}

/// Sixteen jobs at a time fill the lanes, but for those that begin and end the second, which are many of the few that a loaded machine
/// has time for; one job at a time has none to share a batch with.
#[test]
fn speed_fills_lanes() {
    for system in System::all() {
        for (algorithm, function) in [("ecdhx25519", "X25519 Derive"), ("ecdhp384", "ECDH")] {
            let run = |jobs: &str| {
                let lab = Lab::new();
                let args = ["speed", "-seconds", "1", "-async_jobs", jobs, algorithm];
                lab.openssl(&system, lab.adjunct(), &args, b"");
                share(&lab.counters(), function)
            };
            let (many, one) = (run("16"), run("1"));
            println!("{}: {algorithm}: {many} % of 16 jobs' operations in lanes, {one} % of one job's", system.name);
            assert!(one == 0 && (!lanes() || many >= 60), "{}: {algorithm}: {many} %, {one} %", system.name);
        }
    }
}

/// What a client says first.
fn hello(lab: &Lab) -> Vec<u8> {
    let listener = ports::listener();
    let mut command = lab.command(&System::here(), "openssl", lab.stock());
    command.args(["s_client", "-connect", &listener.local_addr().expect("an address").to_string()]);
    let mut client = spawn(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let mut hello = vec![0; 4096];
    let length = listener.accept().and_then(|(mut stream, _)| stream.read(&mut hello)).expect("a hello");
    let _ = client.wait();
    hello.truncate(length);
    hello
}

/// Runs HAProxy with `global` in its configuration, under more connections than it has cores, some of which their clients leave in the middle of the
/// handshake; gives what it counted.
fn haproxy(global: &str, kind: &str) -> Counters {
    let (lab, here) = (Lab::new(), System::here());
    certificates(&lab);
    let read = |name: String| std::fs::read_to_string(lab.path(&name)).expect("a certificate");
    let pem = lab.write("both.pem", read(format!("{kind}.pem")) + &read(format!("{kind}.key")));
    let server = Server::start(&lab, |port| {
        let config = format!(
            "global\n maxconn 400\n nbthread 2\n {global}\ndefaults\n mode http\n timeout client 60s\n timeout connect \
             60s\n timeout server 60s\nfrontend f\n bind 127.0.0.1:{port} ssl crt {}\n http-request return status 200 \
             content-type text/plain string served\n",
            pem.display()
        );
        let mut command = lab.command(&here, "haproxy", lab.adjunct());
        command.arg("-db").arg("-f").arg(lab.write("haproxy.cfg", config));
        command
    });
    let client = |_| {
        let mut command = lab.command(&here, "openssl", lab.stock());
        command.args(["s_time", "-new", "-time", "3", "-connect", &format!("127.0.0.1:{}", server.port)]);
        spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    };
    let clients: Vec<_> = (0..16).map(client).collect();
    let hello = hello(&lab);
    for _ in 0..300 {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
        stream.write_all(&hello).expect("a hello");
    }
    for client in clients {
        let out = client.wait_with_output().expect("a client ends");
        let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && !said.contains("error"), "{said}{}", server.log());
    }
    let mut curl = lab.command(&here, "curl", lab.stock());
    let resolve = format!("localhost:{}:127.0.0.1", server.port);
    curl.args(["-sS", "--fail", "--noproxy", "*", "--resolve", &resolve, "--cacert"]).arg(lab.path("ca.pem"));
    let out = curl.arg(format!("https://localhost:{}/", server.port)).output().expect("curl runs");
    assert_eq!(out.stdout, b"served", "{}{}", String::from_utf8_lossy(&out.stderr), server.log());
    until("fewer than 60 descriptors are open", || (1..60).contains(&Holding::of(server.pid()).descriptors));
    drop(server);
    lab.counters()
}

#[test]
fn haproxy_fills_lanes_in_its_asynchronous_mode() {
    for (kind, function) in [("ecdsa", "ECDSA Sign"), ("ed25519", "Ed25519 Sign"), ("rsa", "X25519 Derive")] {
        let counters = haproxy("ssl-mode-async", kind);
        let many = share(&counters, function);
        println!("{kind}: {many} % of {function}, {} % of X25519 Derive in lanes", share(&counters, "X25519 Derive"));
        assert!(!lanes() || many >= 30, "{kind}: {many} %");
    }
}

/// HAProxy in its usual mode pauses no job; its two threads may still share a batch.
#[test]
fn haproxy_is_served_in_its_usual_mode() {
    assert!(haproxy("", "ecdsa").contains_key("ECDSA Sign"));
}
