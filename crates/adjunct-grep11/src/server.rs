//! The process: sockets, services, the end.

use crate::config::Settings;
use crate::engine::Engine;
use crate::health::Health;
use crate::listen::Listener;
use crate::log::{self, Level};
use crate::metrics::Metrics;
use crate::pb::crypto_server::CryptoServer;
use crate::service::{Door, Service};
use crate::tokens::Tokens;
use crate::{pb, tls};
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;

/// The longest headers of a call.
const HEADERS: u32 = 16 << 10;

fn tokens(path: &Path) -> Result<Arc<Tokens>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let all = Tokens::parse(&text).map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))?;
    Ok(Arc::new(all))
}

async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| format!("{address}: {error}"))
}

/// Ends with the first signal that asks for it.
fn asked_to_end() -> Result<impl Future<Output = ()> + Send + 'static, String> {
    let one = |kind| signal(kind).map_err(|error| format!("signals: {error}"));
    let (mut term, mut int) = (one(SignalKind::terminate())?, one(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}

/// What describes the services to clients that ask.
fn described() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(pb::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Whether other machines would be served in plaintext without having been told to.
fn refuse_plaintext(settings: &Settings) -> Result<(), String> {
    if settings.is_exposed() && !settings.insecure_plaintext {
        return Err(format!(
            "{}: plaintext is served on loopback only: set ep11crypto.connection.tls, or say --insecure-plaintext",
            settings.listen
        ));
    }
    Ok(())
}

/// Reads all that the settings name, and serves nothing.
///
/// # Errors
/// One line: what is wrong.
pub fn check(settings: &Settings) -> Result<(), String> {
    refuse_plaintext(settings)?;
    settings.tokens.as_deref().map(tokens).transpose()?;
    settings.tls.as_ref().map(tls::config).transpose()?;
    tell(&format!("the configuration is right: {}", settings.listen));
    Ok(())
}

/// Serves until a signal asks for the end.
///
/// # Errors
/// One line: why it does not serve.
pub async fn run(settings: Settings) -> Result<(), String> {
    let Settings { limits, listen, .. } = settings;
    refuse_plaintext(&settings)?;
    let tokens = settings.tokens.as_deref().map(self::tokens).transpose()?;
    let tls = settings.tls.as_ref().map(tls::config).transpose()?.map(TlsAcceptor::from);
    let metrics = Arc::new(Metrics::default());
    let engine = Arc::new(Engine::new(settings.domains.clone()));
    let health = Health::new(engine.clone());
    let ends = asked_to_end()?;
    let socket = bind(listen).await?;
    let address = socket.local_addr().map_err(|error| error.to_string())?;
    if let Some(status) = settings.status {
        let socket = bind(status).await?;
        let at = socket.local_addr().map_err(|error| error.to_string())?;
        let pages = health.pages(metrics.clone());
        tokio::spawn(async move { axum::serve(socket, pages).await });
        tell(&format!("health and metrics on {at}"));
    }
    let how = match &settings.tls {
        None => "plaintext",
        Some(tls) if tls.clients.is_some() => "mutual TLS",
        Some(_) => "TLS",
    };
    let who = if tokens.is_some() { ", bearer tokens" } else { "" };
    if settings.is_exposed() {
        log::always(&format!("{address}: plaintext: whoever is on the way reads and changes what is sent"));
    }
    if tokens.is_none() && settings.tls.as_ref().is_none_or(|tls| tls.clients.is_none()) && !listen.ip().is_loopback() {
        log::always(&format!("{address}: whoever connects may use the keys: set tokens or mutual TLS"));
    }
    let service = Service {
        engine,
        slots: Arc::new(Semaphore::new(limits.requests)),
        deadline: limits.deadline,
        metrics: metrics.clone(),
    };
    let service = CryptoServer::new(service)
        .max_decoding_message_size(limits.message)
        .max_encoding_message_size(limits.message.saturating_mul(2).max(4 << 20));
    let service = InterceptedService::new(service, Door { tokens, metrics: metrics.clone() });
    let (to, from) = mpsc::channel(16);
    let slots = Arc::new(Semaphore::new(limits.connections));
    let listening = tokio::spawn(Listener { socket, tls, slots, metrics }.run(to));
    let mut server = Server::builder()
        .max_concurrent_streams(limits.requests_per_connection)
        .http2_keepalive_interval(settings.keepalive.map(|(time, _)| time))
        .http2_keepalive_timeout(settings.keepalive.map(|(_, timeout)| timeout))
        .http2_max_header_list_size(HEADERS);
    let v1 = described().build_v1().map_err(|error| error.to_string())?;
    let alpha = described().build_v1alpha().map_err(|error| error.to_string())?;
    let router = server.add_service(service).add_service(health.service()).add_service(v1).add_service(alpha);
    tell(&format!("listening on {address}, {how}{who}"));
    // The first signal sends GOAWAY and lets calls end; then connections have so long.
    let (ended, mut end) = mpsc::channel::<()>(1);
    let stop = async move {
        ends.await;
        health.end();
        // The socket closes: who connects now is told at once, and goes elsewhere.
        listening.abort();
        log::line(Level::Warning, "it ends: no more calls are taken, and those that run are finished");
        drop(ended);
    };
    let serving = router.serve_with_incoming_shutdown(ReceiverStream::new(from), stop);
    let late = async {
        end.recv().await;
        tokio::time::sleep(limits.drain).await;
    };
    tokio::select! {
        served = serving => served.map_err(|error| error.to_string()),
        () = late => {
            log::line(Level::Warning, &format!("calls still ran after {} s and are given up", limits.drain.as_secs()));
            Ok(())
        }
    }
}

/// Runs the process.
///
/// # Errors
/// One line: why it does not serve.
pub fn start(settings: Settings) -> Result<(), String> {
    settings.level.set();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Those of calls, and some for health.
        .max_blocking_threads(settings.limits.requests + 8)
        .thread_keep_alive(Duration::from_secs(60))
        .build()
        .map_err(|error| format!("threads: {error}"))?;
    let served = runtime.block_on(run(settings));
    // Calls that were given up do not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(100));
    served
}

/// A line for who started it.
fn tell(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "adjunct-grep11: {text}").and_then(|()| out.flush());
}
