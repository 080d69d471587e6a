//! Connections: taken in one by one, no more than the settings allow, with TLS or without.

use crate::log::{self, Level};
use crate::metrics::Metrics;
use crate::service::{Peer, Sessions};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// How long a client may take to shake hands, and then to begin with HTTP/2.
const BEGINS_IN: Duration = Duration::from_secs(10);
/// Bytes with which HTTP/2 begins.
const PREFACE: usize = 24;

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection.
pub struct Connection {
    stream: Stream,
    peer: Peer,
    /// Until the client has begun: how many bytes are still to come, and until when.
    beginning: Option<(usize, Pin<Box<Sleep>>)>,
    metrics: Arc<Metrics>,
    _slot: OwnedSemaphorePermit,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.metrics.connections.fetch_sub(1, Relaxed);
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        let before = buffer.filled().len();
        let read = match &mut connection.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        let Some((left, until)) = &mut connection.beginning else { return read };
        match read {
            Poll::Ready(read) => {
                *left = left.saturating_sub(buffer.filled().len() - before);
                if *left == 0 {
                    connection.beginning = None;
                }
                Poll::Ready(read)
            }
            Poll::Pending => {
                ready!(until.as_mut().poll(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        all: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, all),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, all),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}

/// What takes connections in.
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// TLS, where there is.
    pub tls: Option<TlsAcceptor>,
    /// One for each connection at a time.
    pub slots: Arc<Semaphore>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl Listener {
    /// Takes connections in and passes them on, until nobody takes them any more. While there are as many as may be, others wait in the system's queue.
    pub async fn run(self, to: mpsc::Sender<io::Result<Connection>>) {
        loop {
            let Ok(slot) = self.slots.clone().acquire_owned().await else { return };
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = to.closed() => return,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // A client that has gone already, or too many open files.
                    log::line(Level::Warning, &format!("a connection could not be taken in: {error}"));
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // Replies are short: none waits for more.
            let _ = stream.set_nodelay(true);
            self.metrics.connections.fetch_add(1, Relaxed);
            let connection = move |stream, metrics| Connection {
                stream,
                peer: Peer { address, sessions: Sessions::default() },
                beginning: Some((PREFACE, Box::pin(sleep(BEGINS_IN)))),
                metrics,
                _slot: slot,
            };
            match self.tls.clone() {
                None => {
                    if to.send(Ok(connection(Stream::Plain(stream), self.metrics.clone()))).await.is_err() {
                        return;
                    }
                }
                Some(tls) => {
                    let (to, metrics) = (to.clone(), self.metrics.clone());
                    tokio::spawn(async move {
                        match shaken(tls, stream, address).await {
                            Some(stream) => {
                                let _ = to.send(Ok(connection(Stream::Tls(Box::new(stream)), metrics))).await;
                            }
                            None => _ = metrics.connections.fetch_sub(1, Relaxed),
                        }
                    });
                }
            }
        }
    }
}

/// The stream after TLS's handshake.
async fn shaken(tls: TlsAcceptor, stream: TcpStream, address: SocketAddr) -> Option<TlsStream<TcpStream>> {
    let why = match timeout(BEGINS_IN, tls.accept(stream)).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took too long".to_owned(),
    };
    log::line(Level::Info, &format!("a connection from {address}: no TLS: {why}"));
    None
}
