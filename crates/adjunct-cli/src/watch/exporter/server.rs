//! A server of one page by HTTP/1.1, for Prometheus: a request, an answer, and the connection is closed. The crate httparse reads requests.

use super::families::Format;
use crate::Failure;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Requests that are answered at the same time; others wait in the system's queue.
const WORKERS: usize = 4;
/// The longest head of a request, in bytes.
const HEAD: usize = 8 << 10;
/// The most lines in it.
const LINES: usize = 64;
/// How long a request may take to come, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is still read of a client that was refused, so that it sees the answer and not a broken connection.
const REST: usize = 64 << 10;

const HELP: &str = "adjunct exporter: the metrics are at /metrics\n";

/// What gives the page.
pub(super) type Page<'a> = &'a (dyn Fn(Format) -> Result<String, Failure> + Sync);

/// Answers requests for ever.
///
/// # Errors
/// [`Failure`] where the system gives no thread.
pub(super) fn serve(listener: &TcpListener, page: Page<'_>) -> Result<ExitCode, Failure> {
    let only_here = listener.local_addr().is_ok_and(|at| at.ip().is_loopback());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            let worker = std::thread::Builder::new().name("http".to_owned());
            worker
                .spawn_scoped(scope, || {
                    loop {
                        match listener.accept() {
                            Ok((stream, _)) => answer(&stream, page, only_here),
                            // No descriptor left, or a client that has gone: neither lasts.
                            Err(_) => std::thread::sleep(Duration::from_millis(50)),
                        }
                    }
                })
                .map_err(|error| Failure::new(format!("no thread: {error}")))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// An answer.
struct Answer {
    status: &'static str,
    media_type: &'static str,
    /// A further line of the head.
    line: &'static str,
    body: String,
    /// The body is left out, as the client asked.
    head_only: bool,
}

impl Answer {
    fn plain(status: &'static str, body: impl Into<String>) -> Answer {
        Answer { status, media_type: "text/plain; charset=utf-8", line: "", body: body.into(), head_only: false }
    }

    fn refused(status: &'static str) -> Answer {
        Answer::plain(status, format!("{status}\n"))
    }
}

fn answer(mut stream: &TcpStream, page: Page<'_>, only_here: bool) {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::with_capacity(1 << 10);
    let Some(answer) = request(stream, &mut head, deadline, page, only_here) else { return };
    let (length, line) = (answer.body.len(), answer.line);
    let mut text = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {length}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n{line}\r\n",
        answer.status, answer.media_type
    );
    if !answer.head_only {
        text += &answer.body;
    }
    let _ = stream.set_write_timeout(Some(PATIENCE));
    if stream.write_all(text.as_bytes()).is_err() || stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let (mut buffer, mut read) = ([0; 4096], 0);
    while read < REST && wait(stream, Instant::now() + PATIENCE / 4) {
        match stream.read(&mut buffer) {
            Ok(more) if more > 0 => read += more,
            _ => return,
        }
    }
}

/// Has reads end at `deadline`; whether that is still to come.
fn wait(stream: &TcpStream, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    !left.is_zero() && stream.set_read_timeout(Some(left)).is_ok()
}

/// Reads a request and finds its answer; none for a client that went away.
fn request(
    mut stream: &TcpStream,
    head: &mut Vec<u8>,
    deadline: Instant,
    page: Page<'_>,
    only_here: bool,
) -> Option<Answer> {
    let mut buffer = [0; 1024];
    loop {
        if !wait(stream, deadline) {
            return Some(Answer::refused("408 Request Timeout"));
        }
        match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(more) => head.extend_from_slice(&buffer[..more]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => return None,
        }
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut request = httparse::Request::new(&mut lines);
        match request.parse(head) {
            Ok(httparse::Status::Complete(_)) => return Some(of_request(&request, page, only_here)),
            Ok(httparse::Status::Partial) if head.len() < HEAD => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Some(Answer::refused("431 Request Header Fields Too Large"));
            }
            Err(_) => return Some(Answer::refused("400 Bad Request")),
        }
    }
}

fn of_request(request: &httparse::Request<'_, '_>, page: Page<'_>, only_here: bool) -> Answer {
    let line = |name: &str| {
        let found = request.headers.iter().find(|line| line.name.eq_ignore_ascii_case(name));
        found.and_then(|line| std::str::from_utf8(line.value).ok()).unwrap_or_default()
    };
    let head_only = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Answer { line: "Allow: GET, HEAD\r\n", ..Answer::refused("405 Method Not Allowed") },
    };
    // A browser on this machine can be led here by a name of somebody else's; what listens on loopback answers to its own alone.
    if only_here && !is_local(line("Host")) {
        return Answer { head_only, ..Answer::plain("421 Misdirected Request", "ask for 127.0.0.1 or localhost\n") };
    }
    let path = request.path.unwrap_or_default();
    let answer = match path.split('?').next().unwrap_or_default() {
        "/metrics" => {
            let format = Format::accepted(line("Accept"));
            match page(format) {
                Ok(body) => Answer { media_type: format.media_type(), ..Answer::plain("200 OK", body) },
                Err(failure) => Answer::plain("500 Internal Server Error", format!("{failure}\n")),
            }
        }
        "/" => Answer::plain("200 OK", HELP),
        _ => Answer::plain("404 Not Found", HELP),
    };
    Answer { head_only, ..answer }
}

/// Whether the value of Host is this machine's loopback, with or without a port; HTTP/1.0 has none.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    host.is_empty()
        || name.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_loopback() {
        for host in ["", "localhost", "LOCALHOST:9978", "127.0.0.1:9978", "127.1.2.3", "[::1]:9978", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["example.org", "example.org:9978", "10.0.0.1:9978", "localhost.example.org", "127.0.0.1.example.org"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
