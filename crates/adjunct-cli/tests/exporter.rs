//! `adjunct exporter`: what it exports, how it answers, and Debian's Prometheus on the other side.

mod counted;
#[path = "../../adjunct-ztools/tests/zcrypt_stage/mod.rs"]
mod zcrypt_stage;

use counted::Counters;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An exporter on a port of the system's choice.
fn serving(mut command: Command) -> (Running, SocketAddr) {
    command.args(["exporter", "--listen", "0", "--interval", "1"]).stderr(Stdio::piped());
    let mut child = Running(command.spawn().unwrap());
    let mut lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| {
        let line = line.unwrap();
        line.strip_prefix("adjunct: the metrics are at http://")?.strip_suffix("/metrics")?.parse().ok()
    });
    // Nobody reads further; what it says later is to find a reader all the same.
    std::thread::spawn(move || lines.for_each(drop));
    (child, address.expect("it says where it listens"))
}

/// What is answered to these bytes.
fn asked(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn get(at: SocketAddr, path: &str, lines: &str) -> String {
    asked(at, &format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n{lines}\r\n"))
}

fn value(page: &str, series: &str) -> Option<u64> {
    page.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

const DELEGATED: &str = "adjunct_software_operations_total{function=\"RSA-CRT\",reason=\"delegated\"}";

fn gcm(page: &str) -> u64 {
    let on = |path| format!("adjunct_operations_total{{function=\"AES GCM\",direction=\"encrypt\",path=\"{path}\"}}");
    value(page, &on("hardware")).unwrap_or(0) + value(page, &on("software")).unwrap_or(0)
}

#[test]
fn it_exports_what_was_counted() {
    let counters = Counters::new("exported");
    let page = counters.prints(&["exporter", "--once"]);
    assert!(page.contains("\nadjunct_processes 0\n") && page.contains("\nadjunct_cards_up 0\n"), "{page}");
    counters.count();
    let page = counters.prints(&["exporter", "--once"]);
    assert_eq!((gcm(&page), value(&page, DELEGATED)), (3, Some(2)), "{page}");
    let stage = zcrypt_stage::Stage::new(zcrypt_stage::mixed());
    let mut command = counters.adjunct(&["exporter", "--once", "--by-user"]);
    let output = command.env("ADJUNCT_CARDS_DIR", stage.path()).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains(",user=\"") && page.contains("\nadjunct_cards_up 1\n"), "{page}");
    assert_eq!(value(&page, "adjunct_card_waiting{card=\"00\",domain=\"0005\"}"), Some(1));
    assert_eq!(value(&page, "adjunct_card_checkstopped{card=\"1f\",type=\"CEX8P\"}"), Some(1));
}

#[test]
fn a_file_is_replaced_whole_and_sums_outlive_the_users_they_were_made_of() {
    let counters = Counters::new("file");
    let file = counters.folder().join("adjunct.prom");
    let write = || counters.prints(&["exporter", "--once", "--textfile", file.to_str().unwrap()]);
    counters.count();
    write();
    assert_eq!(gcm(&fs::read_to_string(&file).unwrap()), 3);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&file.with_extension("prom.state"))), (0o644, 0o600));
    // Reset: to Prometheus nothing has fallen.
    counters.prints(&["stats", "--reset"]);
    write();
    assert_eq!(gcm(&fs::read_to_string(&file).unwrap()), 3);
    counters.count();
    write();
    assert_eq!(gcm(&fs::read_to_string(&file).unwrap()), 6);
    let left: Vec<_> = fs::read_dir(counters.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    for (name, words, status) in [("adjunct.txt", "end in .prom", 2), ("none/adjunct.prom", "No such file", 1)] {
        let path = counters.folder().join(name);
        let output = counters.adjunct(&["exporter", "--once", "--textfile", path.to_str().unwrap()]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(status) && said.contains(words) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn it_answers_as_it_should() {
    let counters = Counters::new("http");
    counters.count();
    let (_running, at) = serving(counters.adjunct(&[]));
    let page = get(at, "/metrics", "");
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        "{page}"
    );
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())) && gcm(body) == 3, "{page}");
    let open = get(at, "/metrics?x=1", "Accept: application/openmetrics-text; version=1.0.0\r\n");
    assert!(open.contains("application/openmetrics-text; version=1.0.0") && open.ends_with("\n# EOF\n"), "{open}");
    let head = asked(at, &format!("HEAD /metrics HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.ends_with("\r\n\r\n") && !head.contains("Length: 0"), "{head}");
    assert!(asked(at, "GET / HTTP/1.0\r\n\r\n").contains("the metrics are at /metrics"));
    let long = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    for (request, status) in [
        ("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", "405"),
        ("GET /metrics HTTP/1.1\r\nHost: rebound.example.org\r\n\r\n", "421"),
        ("\x16\x03\x01 no HTTP\r\n\r\n", "400"),
        (&long, "431"),
        (&many, "431"),
    ] {
        let answer = asked(at, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
    }
}

/// Clients that hold as many connections as they can, in every way: a scrape is served beside them all.
#[test]
fn hostile_clients_keep_no_scrape_waiting() {
    let counters = Counters::new("slow");
    counters.count();
    let (_running, at) = serving(counters.adjunct(&[]));
    let open = |count: usize, first: &[u8]| -> Vec<TcpStream> {
        let one = |_| {
            let mut stream = TcpStream::connect(at).unwrap();
            let _ = stream.write_all(first);
            stream
        };
        (0..count).map(one).collect()
    };
    let scraped = |beside: &str| {
        for _ in 0..5 {
            let page = get(at, "/metrics", "");
            assert!(page.starts_with("HTTP/1.1 200 OK") && gcm(&page) == 3, "beside {beside}: {page}");
        }
    };
    let silent = open(400, b"");
    scraped("400 that say nothing");
    let mut slow = open(150, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ");
    for _ in 0..20 {
        // A byte now and then, for ever.
        slow.iter_mut().for_each(|stream| _ = stream.write(b"x"));
        scraped("150 that send a byte at a time");
    }
    let _huge = open(50, &[b"GET / HTTP/1.1\r\n".as_slice(), &b"a".repeat(100_000)].concat());
    scraped("50 with a head that does not end");
    let many = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    let _deaf = open(150, &many);
    scraped("150 with 200 requests each, who take no answers");
    // One at last that asks for two at a time is answered once, and let go.
    let twice = asked(at, &"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2));
    assert_eq!(twice.matches("HTTP/1.1 ").count(), 1, "{twice}");
    // Whoever said nothing, or not enough, is let go, whether others came or not.
    for mut stream in silent.into_iter().chain(slow) {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut rest = Vec::new();
        let end = stream.read_to_end(&mut rest);
        assert!(!matches!(end, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "it is still open");
    }
}

#[test]
fn a_taken_port_is_said_in_one_line_and_a_signal_ends_it_at_once() {
    let counters = Counters::new("taken");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let output = counters.adjunct(&["exporter", "--listen", &at]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let line = said.lines().last().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(line.starts_with(&format!("adjunct: {at} is taken")) && line.contains("--listen"), "{said}");
    let (mut running, _) = serving(counters.adjunct(&[]));
    let pid = rustix::process::Pid::from_child(&running.0);
    let start = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(running.0.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// The exporter in the package's service, as an ordinary user with the one capability for reading others' shared memory, reads the counters of all.
#[test]
fn one_capability_in_place_of_root_reads_the_counters_of_all() {
    // SAFETY: no requirements.
    if unsafe { libc::geteuid() } != 0 || Command::new("setpriv").arg("--version").output().is_err() {
        return println!("SKIPPED: not root, or no setpriv here");
    }
    let counters = Counters::new("capability");
    counters.count();
    // Where everybody may start it.
    let folder = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir_in("/tmp").unwrap();
    let program = folder.path().join("adjunct");
    assert!(Command::new("cp").args([counted::ADJUNCT.as_ref(), program.as_path()]).status().unwrap().success());
    let exported = |capabilities: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
        let capabilities = ["--inh-caps=", "--ambient-caps="].map(|option| format!("{option}{capabilities}"));
        command.args(capabilities).arg(&program).args(["exporter", "--once"]);
        let output = counters.in_here(command).output().unwrap();
        let [page, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{said}");
        (page, said)
    };
    let (page, said) = exported("-all,+ipc_owner");
    assert_eq!((gcm(&page), said.as_str(), value(&page, "adjunct_reads_all_users")), (3, "", Some(1)), "{page}");
    let (page, said) = exported("-all");
    assert_eq!((gcm(&page), value(&page, "adjunct_reads_all_users")), (0, Some(0)), "{page}");
    assert!(said.contains("your own counters alone") && said.contains("CAP_IPC_OWNER"), "{said}");
}

/// A program of Prometheus': in PATH, or unpacked in the folder that ADJUNCT_TEST_PROMETHEUS names.
fn prometheus(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("ADJUNCT_TEST_PROMETHEUS").map(|folder| Path::new(&folder).join(name));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found =
        named.into_iter().chain(std::env::split_paths(&paths).map(|folder| folder.join(name))).find(|p| p.is_file());
    if found.is_none() {
        println!("SKIPPED: no {name} here (Debian's packages prometheus and prometheus-node-exporter)");
    }
    found
}

fn monitoring() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/monitoring")
}

#[test]
fn promtool_finds_nothing_wrong() {
    let Some(promtool) = prometheus("promtool") else { return };
    let counters = Counters::new("promtool");
    counters.count();
    let stage = zcrypt_stage::Stage::new(zcrypt_stage::mixed());
    for options in [&["exporter", "--once"][..], &["exporter", "--once", "--by-user"]] {
        let page = counters.adjunct(options).env("ADJUNCT_CARDS_DIR", stage.path()).output().unwrap().stdout;
        let mut command = Command::new(&promtool);
        let mut child =
            command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&page).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    for words in [["check", "rules", "adjunct.rules.yml"], ["test", "rules", "adjunct.rules.test.yml"]] {
        let output = Command::new(&promtool).args(words).current_dir(monitoring()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// Waits until `look` finds something, a minute at most.
fn awaited<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn prometheus_scrapes_it_and_node_exporter_reads_the_file() {
    let (Some(server), Some(node)) = (prometheus("prometheus"), prometheus("prometheus-node-exporter")) else { return };
    let counters = Counters::new("scraped");
    counters.count();
    let (_exporter, at) = serving(counters.adjunct(&[]));
    let folder = counters.folder();
    // By a link, as the service in the package has it.
    let (run, collected) = (folder.join("run"), folder.join("collected"));
    [&run, &collected].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let file = run.join("adjunct.prom");
    counters.prints(&["exporter", "--once", "--textfile", file.to_str().unwrap()]);
    std::os::unix::fs::symlink(&file, collected.join("adjunct.prom")).unwrap();
    let quiet = |program: &Path, args: &[String]| {
        Running(Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let [node_at, server_at] = [free_port(), free_port()].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let _node = quiet(
        &node,
        &[
            "--collector.disable-defaults".to_owned(),
            "--collector.textfile".to_owned(),
            format!("--collector.textfile.directory={}", collected.display()),
            format!("--web.listen-address={node_at}"),
        ],
    );
    let config = folder.join("prometheus.yml");
    let rules = monitoring().join("adjunct.rules.yml");
    let targets = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: ['{}']\nscrape_configs:\n\
         - {{ job_name: adjunct, static_configs: [{{ targets: ['{at}'] }}] }}\n\
         - {{ job_name: node, static_configs: [{{ targets: ['{node_at}'] }}] }}\n",
        rules.display()
    );
    fs::write(&config, targets).unwrap();
    let _server = quiet(
        &server,
        &[
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address={server_at}"),
        ],
    );
    let query = |expression: &str| -> Option<String> {
        let mut stream = TcpStream::connect(server_at).ok()?;
        let request = format!("GET /api/v1/query?query={expression} HTTP/1.0\r\nHost: {server_at}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let answer: serde_json::Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        Some(answer["data"]["result"][0]["value"][1].as_str()?.to_owned())
    };
    let delegated = |job: &str| {
        let series = format!("adjunct_software_operations_total%7Bjob=%22{job}%22,reason=%22delegated%22%7D");
        awaited(job, || query(&series))
    };
    assert_eq!((delegated("adjunct"), delegated("node")), ("2".to_owned(), "2".to_owned()));
    let up = awaited("up", || query("up%7Bjob=%22adjunct%22%7D"));
    assert_eq!(up, "1");
    // What is counted from now on is seen, by a rule of ours too.
    counters.count();
    awaited("the next count", || {
        query("adjunct_software_operations_total%7Bjob=%22adjunct%22%7D").filter(|value| value == "4")
    });
    // Of the two instances node_exporter's, whose file stays as it is, may come first.
    awaited("the rule", || query("max(instance:adjunct_operations:rate5m)").filter(|value| value != "0"));
}
