//! GREP11's server: EP11 coprocessors over gRPC, as clients of IBM's service know it.
//!
//! A call is translated into a request of [`adjunct_ep11_wire`] and goes to a domain as libep11's do ([`adjunct_ep11_client`]); the card does the rest.
//!
//! * [`pb`]: the messages, made of `proto/`. [`calls`]: each call. [`mechanism`], [`template`], [`keys`]: what their messages say, as requests and replies say it.
//! * [`engine`]: the domains that are asked. [`failure`]: why a call failed, as return value and as status.
//! * [`service`]: what surrounds a call: who may, how long, how many at once, what is counted and logged.
//! * [`cli`], [`config`], [`tls`], [`tokens`], [`listen`], [`server`]: the process.
//! * [`metrics`], [`health`]: what is seen from outside.
//!
//! No key is here: whatever is secret is a card's, and passes as a blob. What clients send to be encrypted or signed does pass.
#![forbid(unsafe_code)]

pub mod calls;
pub mod cli;
pub mod config;
pub mod engine;
pub mod failure;
pub mod health;
pub mod keys;
pub mod listen;
pub mod log;
pub mod mechanism;
pub mod metrics;
pub mod server;
pub mod service;
pub mod template;
pub mod tls;
pub mod tokens;

/// GREP11's messages and service.
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "made by tonic")]
pub mod pb {
    tonic::include_proto!("grep11");

    /// What describes them, for reflection.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/grep11.bin"));
}
