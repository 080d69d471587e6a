//! The calls, a file a family: each takes its message, and says by which request of EP11 it is done.

mod crypt;
mod keys;
mod queries;
mod sign;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::service::Sessions;
use adjunct_ep11_client::library::Answer;
use std::ops::Deref;
use std::sync::Arc;

/// Who calls: the way to the coprocessor, and what the connection keeps.
pub struct Caller {
    /// The domains.
    pub engine: Arc<Engine>,
    /// Sessions that were opened by this connection.
    pub sessions: Sessions,
}

impl Deref for Caller {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

/// A call's message.
pub trait Call: Send + 'static {
    /// The call's name.
    const NAME: &'static str;
    /// What it gives.
    type Reply: Send + 'static;

    /// Does it.
    ///
    /// # Errors
    /// What the coprocessor says, or why it was not asked.
    fn run(self, engine: &Caller) -> Result<Self::Reply, Failure>;
}

/// The result at a place, as bytes of a message.
fn bytes(answer: &Answer, place: usize) -> Result<Vec<u8>, Failure> {
    Ok(answer.result(place)?.to_vec())
}

/// Declares calls: the message, the reply, and a function of the message and the engine.
macro_rules! calls {
    ($($name:ident $request:ident -> $reply:ident |$call:ident, $engine:ident| $body:expr;)*) => {$(
        impl super::Call for crate::pb::$request {
            const NAME: &'static str = stringify!($name);
            type Reply = crate::pb::$reply;

            fn run(self, $engine: &super::Caller) -> Result<Self::Reply, crate::failure::Failure> {
                use crate::pb::$reply as Reply;
                let $call = self;
                $body
            }
        }
    )*};
}
use calls;
