//! A server of one page by HTTP/1.1, for Prometheus: a request, an answer, and the connection is closed. The crate hyper reads and answers
//! requests, with limits of its own.
//!
//! Any client that can connect may do so. So no client keeps a place for long, and where all places are taken, a client that has not asked yet is
//! disconnected for a new one. A scrape asks as soon as it has connected, and is served whatever connections others hold open.

use super::families::Format;
use adjunct_tool::Failure;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, TcpListener};
use std::pin::Pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, LocalSet};
use tokio::time::{sleep, timeout};

/// Connections at a time.
const PLACES: usize = 64;
/// The longest head of a request, in bytes, and the most lines in it.
const HEAD: usize = 8 << 10;
const LINES: usize = 64;
/// How long the head of a request may take to come, and a connection in all.
const PATIENCE: Duration = Duration::from_secs(2);
const IN_ALL: Duration = Duration::from_secs(10);
/// What is still read of a client that was answered, and for how long, so that it sees the answer and not a broken connection.
const REST: usize = 64 << 10;
const RESTING: Duration = Duration::from_millis(500);

const HELP: &str = "adjunct exporter: the metrics are at /metrics\n";

/// The function that makes the page.
pub(super) type Page = Rc<dyn Fn(Format) -> Result<String, Failure>>;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The connection has not asked yet, or has been answered.
    Idle,
    /// The connection is being answered.
    Answered,
}

/// A connection that has a place.
struct Place {
    number: u64,
    stage: Rc<Cell<Stage>>,
    task: AbortHandle,
}

/// The connections, from the oldest.
type Places = Rc<RefCell<VecDeque<Place>>>;

/// Answers requests; does not return.
///
/// # Errors
/// [`Failure`] where the system has no means of waiting.
pub(super) fn serve(listener: TcpListener, page: Page) -> Result<ExitCode, Failure> {
    let only_here = listener.local_addr().is_ok_and(|at| at.ip().is_loopback());
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot serve: {}", adjunct_tool::failure::cause(&error)));
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    LocalSet::new().block_on(&runtime, async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let places = Places::default();
        for number in 0.. {
            match listener.accept().await {
                Ok((stream, _)) => take_in(number, stream, &places, &page, only_here),
                // No descriptor left, or a client that has gone: neither lasts.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
            // What it asked has often come with it: it is answered before the next comes in.
            tokio::task::yield_now().await;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Gives a connection a place: a free one, else that of the oldest idle connection, else that of the oldest.
fn take_in(number: u64, stream: TcpStream, places: &Places, page: &Page, only_here: bool) {
    let stage = Rc::new(Cell::new(Stage::Idle));
    let (of_task, all, page) = (Rc::clone(&stage), Rc::clone(places), Rc::clone(page));
    let task = tokio::task::spawn_local(async move {
        let _ = timeout(IN_ALL, connection(stream, &of_task, &page, only_here)).await;
        all.borrow_mut().retain(|place| place.number != number);
    });
    let mut places = places.borrow_mut();
    if places.len() >= PLACES {
        let idle = places.iter().position(|place| place.stage.get() == Stage::Idle).unwrap_or(0);
        if let Some(place) = places.remove(idle) {
            place.task.abort();
        }
    }
    places.push_back(Place { number, stage, task: task.abort_handle() });
}

/// Answers a request, and reads for a moment what else comes.
async fn connection(stream: TcpStream, stage: &Cell<Stage>, page: &Page, only_here: bool) {
    let service = service_fn(|request| {
        stage.set(Stage::Answered);
        let answer = of_request(&request, page, only_here);
        async { Ok::<_, Infallible>(answer) }
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).half_close(true).title_case_headers(true).max_headers(LINES).max_buf_size(HEAD);
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let mut connection = http.serve_connection(TokioIo::new(stream), service);
    let answered = Pin::new(&mut connection).await;
    if answered.is_err_and(|error| error.is_timeout()) {
        return;
    }
    let mut stream = connection.into_parts().io.into_inner();
    stage.set(Stage::Idle);
    let _ = stream.shutdown().await;
    let rest = async {
        let (mut buffer, mut read) = ([0; 4096], 0);
        while read < REST {
            match stream.read(&mut buffer).await {
                Ok(more @ 1..) => read += more,
                _ => return,
            }
        }
    };
    let _ = timeout(RESTING, rest).await;
}

fn answer(status: StatusCode, media_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let length = HeaderValue::from(body.len());
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let lines: [(HeaderName, HeaderValue); 4] = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_LENGTH, length),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    answer.headers_mut().extend(lines);
    answer
}

fn plain(status: StatusCode, body: impl Into<String>) -> Response<Full<Bytes>> {
    answer(status, "text/plain; charset=utf-8", body.into())
}

fn of_request(request: &Request<Incoming>, page: &Page, only_here: bool) -> Response<Full<Bytes>> {
    let line = |name| {
        let found = request.headers().get(name);
        found.and_then(|value| std::str::from_utf8(value.as_bytes()).ok()).unwrap_or_default()
    };
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "405 Method Not Allowed\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    // A browser on this machine can be led here by a name of somebody else's; what listens on loopback answers to its own alone.
    if only_here && !is_local(line(HOST)) {
        return plain(StatusCode::MISDIRECTED_REQUEST, "ask for 127.0.0.1 or localhost\n");
    }
    match request.uri().path() {
        "/metrics" => {
            let format = Format::accepted(line(ACCEPT));
            match page(format) {
                Ok(body) => answer(StatusCode::OK, format.media_type(), body),
                Err(failure) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{failure}\n")),
            }
        }
        "/" => plain(StatusCode::OK, HELP),
        _ => plain(StatusCode::NOT_FOUND, HELP),
    }
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
