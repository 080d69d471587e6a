//! Signatures and MACs.

use super::{bytes, calls};
use crate::keys::with;
use crate::mechanism::mechanism;
use adjunct_ep11_wire::function::Function;

calls! {
    SignInit SignInitRequest -> SignInitResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let answer = with(engine, [&call.priv_key], |[key]| engine.run(Function::SignInit, &[&mechanism, key]))?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    VerifyInit VerifyInitRequest -> VerifyInitResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let answer = with(engine, [&call.pub_key], |[key]| engine.run(Function::VerifyInit, &[&mechanism, key]))?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    SignUpdate SignUpdateRequest -> SignUpdateResponse |call, engine| {
        let answer = engine.run(Function::SignUpdate, &[&call.state, &call.data])?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    VerifyUpdate VerifyUpdateRequest -> VerifyUpdateResponse |call, engine| {
        let answer = engine.run(Function::VerifyUpdate, &[&call.state, &call.data])?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    SignFinal SignFinalRequest -> SignFinalResponse |call, engine| {
        let answer = engine.run(Function::SignFinal, &[&call.state])?;
        Ok(Reply { signature: bytes(&answer, 0)? })
    };
    VerifyFinal VerifyFinalRequest -> VerifyFinalResponse |call, engine| {
        engine.run(Function::VerifyFinal, &[&call.state, &call.signature])?;
        Ok(Reply {})
    };
    Sign SignRequest -> SignResponse |call, engine| {
        let answer = engine.run(Function::Sign, &[&call.state, &call.data])?;
        Ok(Reply { signature: bytes(&answer, 0)? })
    };
    Verify VerifyRequest -> VerifyResponse |call, engine| {
        engine.run(Function::Verify, &[&call.state, &call.data, &call.signature])?;
        Ok(Reply {})
    };
    SignSingle SignSingleRequest -> SignSingleResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let run = |[key]: [&[u8]; 1]| engine.run(Function::SignSingle, &[key, &mechanism, &call.data]);
        Ok(Reply { signature: bytes(&with(engine, [&call.priv_key], run)?, 0)? })
    };
    VerifySingle VerifySingleRequest -> VerifySingleResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let run = |[key]: [&[u8]; 1]| {
            engine.run(Function::VerifySingle, &[key, &mechanism, &call.data, &call.signature])
        };
        with(engine, [&call.pub_key], run)?;
        Ok(Reply {})
    };
}
