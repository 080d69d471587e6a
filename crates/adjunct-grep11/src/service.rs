//! What surrounds a call: who may, how many at once and how long, what is counted and logged.

use crate::calls::{Call, Caller};
use crate::engine::Engine;
use crate::failure::{Failure, NOT_AUTHENTICATED};
use crate::log::{self, Level};
use crate::metrics::Metrics;
use crate::pb::crypto_server::Crypto;
use crate::tokens::Tokens;
use adjunct_ep11_wire::codes::rv;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tonic::service::Interceptor;
use tonic::{Code, Request, Response, Status};

/// The most sessions that a connection opens.
const MOST_SESSIONS: usize = 16;

/// The sessions that a connection has opened: the message that ends them names none.
#[derive(Debug, Clone, Default)]
pub struct Sessions(Arc<Mutex<Vec<Vec<u8>>>>);

impl Sessions {
    fn all<R>(&self, body: impl FnOnce(&mut Vec<Vec<u8>>) -> R) -> R {
        body(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether one more may be opened.
    ///
    /// # Errors
    /// CKR_FUNCTION_FAILED.
    pub fn room(&self) -> Result<(), Failure> {
        let full = self.all(|all| all.len() >= MOST_SESSIONS);
        if full {
            Err(Failure::new(rv::FUNCTION_FAILED, "too many sessions of one connection: Logout"))
        } else {
            Ok(())
        }
    }

    /// Notes one that was opened.
    pub fn add(&self, session: &[u8]) {
        self.all(|all| {
            if !all.iter().any(|other| other == session) {
                all.push(session.to_vec());
            }
        });
    }

    /// Takes all.
    pub fn take(&self) -> Vec<Vec<u8>> {
        self.all(std::mem::take)
    }
}

/// The other side of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// The sessions it has opened.
    pub sessions: Sessions,
}

/// Who has shown a token.
#[derive(Debug, Clone)]
struct User(Arc<str>);

/// Looks at a request's token before its message is read.
#[derive(Clone)]
pub struct Door {
    /// The tokens; none where every caller may.
    pub tokens: Option<Arc<Tokens>>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl Interceptor for Door {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let Some(tokens) = &self.tokens else { return Ok(request) };
        let header = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        if let Some(name) = header.and_then(|header| tokens.user(header)) {
            request.extensions_mut().insert(User(name));
            return Ok(request);
        }
        let failure = Failure::new(NOT_AUTHENTICATED, "");
        self.metrics.refused();
        let from =
            request.extensions().get::<Peer>().map_or_else(String::new, |peer| format!(" from {}", peer.address));
        let why = if header.is_some() { "a token that nobody has" } else { "no token" };
        log::line(Level::Warning, &format!("a call{from}: {why}"));
        Err(failure.status())
    }
}

/// The service.
pub struct Service {
    /// The domains.
    pub engine: Arc<Engine>,
    /// One for each call that may run at a time.
    pub slots: Arc<Semaphore>,
    /// The longest that a call takes.
    pub deadline: Duration,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl Service {
    async fn serve<C: Call>(&self, request: Request<C>) -> Result<Response<C::Reply>, Status> {
        let until = Instant::now() + self.deadline;
        let running = self.metrics.begin(C::NAME);
        let peer = request.extensions().get::<Peer>().cloned();
        let user = request.extensions().get::<User>().cloned();
        let done = self.within(until, peer.as_ref(), request.into_inner()).await;
        let code = done.as_ref().map_or_else(Status::code, |_| Code::Ok);
        let took = running.end(code);
        let level = if code == Code::Ok { Level::Debug } else { Level::Info };
        if log::shows(level) {
            let from = peer.map_or_else(|| "?".to_owned(), |peer| peer.address.to_string());
            let by = user.map_or_else(String::new, |User(name)| format!(" ({name})"));
            let what = done.as_ref().map_or_else(|status| status.message().to_owned(), |_| "done".to_owned());
            log::line(level, &format!("{} from {from}{by}: {what}, {} us", C::NAME, took.as_micros()));
        }
        done.map(Response::new)
    }

    /// Does a call until then. One that is given up runs to its end, and has its slot until then.
    async fn within<C: Call>(&self, until: Instant, peer: Option<&Peer>, call: C) -> Result<C::Reply, Status> {
        let late = |_| Failure::new(rv::IBM_REQ_TIMEOUT, "").status();
        let slot = timeout_at(until, self.slots.clone().acquire_owned()).await.map_err(late)?;
        let slot = slot.map_err(|_| Status::unavailable("the server ends"))?;
        let sessions = peer.map(|peer| peer.sessions.clone()).unwrap_or_default();
        let caller = Caller { engine: self.engine.clone(), sessions };
        let job = tokio::task::spawn_blocking(move || {
            let done = call.run(&caller);
            drop(slot);
            done
        });
        let done = timeout_at(until, job).await.map_err(late)?;
        let done = done.map_err(|_| Failure::new(rv::GENERAL_ERROR, "the server has a fault").status())?;
        done.map_err(|failure| failure.status())
    }
}

/// Each call of the service is done by its message.
macro_rules! service {
    ($($method:ident $request:ident -> $reply:ident;)*) => {
        #[tonic::async_trait]
        impl Crypto for Service {$(
            async fn $method(
                &self,
                request: Request<crate::pb::$request>,
            ) -> Result<Response<crate::pb::$reply>, Status> {
                self.serve(request).await
            }
        )*}

        /// The calls' names.
        pub const CALLS: &[&str] = &[$(<crate::pb::$request as Call>::NAME),*];
    };
}

service! {
    generate_random GenerateRandomRequest -> GenerateRandomResponse;
    digest_init DigestInitRequest -> DigestInitResponse;
    digest DigestRequest -> DigestResponse;
    digest_update DigestUpdateRequest -> DigestUpdateResponse;
    digest_key DigestKeyRequest -> DigestKeyResponse;
    digest_final DigestFinalRequest -> DigestFinalResponse;
    digest_single DigestSingleRequest -> DigestSingleResponse;
    encrypt_init EncryptInitRequest -> EncryptInitResponse;
    decrypt_init DecryptInitRequest -> DecryptInitResponse;
    encrypt_update EncryptUpdateRequest -> EncryptUpdateResponse;
    decrypt_update DecryptUpdateRequest -> DecryptUpdateResponse;
    encrypt EncryptRequest -> EncryptResponse;
    decrypt DecryptRequest -> DecryptResponse;
    encrypt_final EncryptFinalRequest -> EncryptFinalResponse;
    decrypt_final DecryptFinalRequest -> DecryptFinalResponse;
    encrypt_single EncryptSingleRequest -> EncryptSingleResponse;
    decrypt_single DecryptSingleRequest -> DecryptSingleResponse;
    sign_init SignInitRequest -> SignInitResponse;
    verify_init VerifyInitRequest -> VerifyInitResponse;
    sign_update SignUpdateRequest -> SignUpdateResponse;
    verify_update VerifyUpdateRequest -> VerifyUpdateResponse;
    sign_final SignFinalRequest -> SignFinalResponse;
    verify_final VerifyFinalRequest -> VerifyFinalResponse;
    sign SignRequest -> SignResponse;
    verify VerifyRequest -> VerifyResponse;
    sign_single SignSingleRequest -> SignSingleResponse;
    verify_single VerifySingleRequest -> VerifySingleResponse;
    reencrypt_single ReencryptSingleRequest -> ReencryptSingleResponse;
    generate_key GenerateKeyRequest -> GenerateKeyResponse;
    generate_key_pair GenerateKeyPairRequest -> GenerateKeyPairResponse;
    wrap_key WrapKeyRequest -> WrapKeyResponse;
    unwrap_key UnwrapKeyRequest -> UnwrapKeyResponse;
    derive_key DeriveKeyRequest -> DeriveKeyResponse;
    get_mechanism_list GetMechanismListRequest -> GetMechanismListResponse;
    get_mechanism_info GetMechanismInfoRequest -> GetMechanismInfoResponse;
    get_attribute_value GetAttributeValueRequest -> GetAttributeValueResponse;
    set_attribute_value SetAttributeValueRequest -> SetAttributeValueResponse;
    login LoginRequest -> LoginResponse;
    logout LogoutRequest -> LogoutResponse;
    rewrap_key_blob RewrapKeyBlobRequest -> RewrapKeyBlobResponse;
}
