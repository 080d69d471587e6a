//! Whether calls are done: gRPC's own question, and two pages of HTTP.

use crate::engine::Engine;
use crate::metrics::Metrics;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health as Question, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// The service that is asked for by name.
pub const SERVICE: &str = "grep11.Crypto";
/// How long an answer is good.
const GOOD_FOR: Duration = Duration::from_secs(1);
/// How often a watcher is told what has changed.
const WATCHED: Duration = Duration::from_secs(3);
/// The most watchers at a time.
const WATCHERS: usize = 64;

struct Inner {
    engine: Arc<Engine>,
    ends: AtomicBool,
    last: Mutex<Option<(Instant, bool)>>,
    watchers: Arc<tokio::sync::Semaphore>,
}

/// Whether calls are done.
#[derive(Clone)]
pub struct Health(Arc<Inner>);

impl Health {
    /// That of the domains.
    pub fn new(engine: Arc<Engine>) -> Health {
        let watchers = Arc::new(tokio::sync::Semaphore::new(WATCHERS));
        Health(Arc::new(Inner { engine, ends: AtomicBool::new(false), last: Mutex::default(), watchers }))
    }

    /// Says no from now on.
    pub fn end(&self) {
        self.0.ends.store(true, Relaxed);
    }

    /// Whether a call would be done now.
    pub async fn serves(&self) -> bool {
        if self.0.ends.load(Relaxed) {
            return false;
        }
        let last = *self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, serves)) = last.filter(|(at, _)| at.elapsed() < GOOD_FOR) {
            return serves;
        }
        let engine = self.0.engine.clone();
        let serves = tokio::task::spawn_blocking(move || engine.serves()).await.unwrap_or(false);
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), serves));
        serves
    }

    async fn status(&self) -> ServingStatus {
        if self.serves().await { ServingStatus::Serving } else { ServingStatus::NotServing }
    }

    /// The service.
    pub fn service(&self) -> HealthServer<Health> {
        HealthServer::new(self.clone())
    }

    /// The pages `/ready` and `/metrics`, and gRPC's question.
    pub fn pages(&self, metrics: Arc<Metrics>) -> Router {
        let health = self.clone();
        let ready = move || async move {
            match health.serves().await {
                true => (StatusCode::OK, "serving\n"),
                false => (StatusCode::SERVICE_UNAVAILABLE, "not serving: adjunct cards status\n"),
            }
        };
        let text = move || async move { ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.text()) };
        let grpc = tonic::service::Routes::new(self.service()).into_axum_router();
        grpc.route("/ready", get(ready)).route("/metrics", get(text))
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

fn is_known(name: &str) -> bool {
    name.is_empty() || name == SERVICE
}

#[tonic::async_trait]
impl Question for Health {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("no such service"));
        }
        Ok(Response::new(response(self.status().await)))
    }

    type WatchStream = ReceiverStream<Result<HealthCheckResponse, Status>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let slot = self.0.watchers.clone().try_acquire_owned();
        let slot = slot.map_err(|_| Status::resource_exhausted("too many watch already"))?;
        let (to, from) = mpsc::channel(1);
        let (health, known) = (self.clone(), is_known(&request.get_ref().service));
        tokio::spawn(async move {
            let _slot = slot;
            let mut last = None;
            loop {
                let status = if known { health.status().await } else { ServingStatus::ServiceUnknown };
                if last != Some(status) && to.send(Ok(response(status))).await.is_err() {
                    return;
                }
                last = Some(status);
                // A server that ends does not wait for who watches it.
                if health.0.ends.load(Relaxed) {
                    return;
                }
                tokio::select! {
                    () = tokio::time::sleep(WATCHED) => {}
                    () = to.closed() => return,
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(from)))
    }
}
