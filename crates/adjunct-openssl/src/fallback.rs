//! Hands operations that the CPU library lacks to the default provider of the libcrypto that loaded this module, which never calls this module back.

pub use adjunct_ossl::default_provider::{
    Algorithm, AlgorithmContext, Cache, ExportCallback, Generation, Library, Mac, OperationKind, Output, Template,
    forward, library, reachable,
};

use adjunct::memory::Shared;
use adjunct_ossl::default_provider;

/// A key of the default provider. A clone refers to the same key.
pub type Key = Shared<default_provider::DefaultKey>;

/// A public-key operation of the default provider.
pub type Operation = default_provider::Operation<Key>;

/// Shares a new key; `None` where there is no memory for that.
pub fn shared(key: default_provider::DefaultKey) -> Option<Key> {
    Shared::new(key).ok()
}
