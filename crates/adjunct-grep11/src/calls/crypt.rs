//! Random bytes, digests, encryption and decryption.

use super::{bytes, calls};
use crate::failure::Failure;
use crate::keys::with;
use crate::mechanism::mechanism;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;

/// The most random bytes of a call, and of a request.
const RANDOM: u64 = 1 << 20;

calls! {
    GenerateRandom GenerateRandomRequest -> GenerateRandomResponse |call, engine| {
        let count = u32::try_from(call.len).ok().filter(|_| call.len <= RANDOM);
        let count = count.ok_or(Failure::new(rv::ARGUMENTS_BAD, "Len: more than 1048576 bytes"))?;
        let answer = engine.run(Function::GenerateRandom, &[&count.to_be_bytes()])?;
        Ok(Reply { rnd: bytes(&answer, 0)? })
    };
    DigestInit DigestInitRequest -> DigestInitResponse |call, engine| {
        let answer = engine.run(Function::DigestInit, &[&mechanism(&call.mech)?])?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    Digest DigestRequest -> DigestResponse |call, engine| {
        let answer = engine.run(Function::Digest, &[&call.state, &call.data])?;
        Ok(Reply { digest: bytes(&answer, 0)? })
    };
    DigestUpdate DigestUpdateRequest -> DigestUpdateResponse |call, engine| {
        let answer = engine.run(Function::DigestUpdate, &[&call.state, &call.data])?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    DigestKey DigestKeyRequest -> DigestKeyResponse |call, engine| {
        let answer = with(engine, [&call.key], |[key]| engine.run(Function::DigestKey, &[&call.state, key]))?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    DigestFinal DigestFinalRequest -> DigestFinalResponse |call, engine| {
        let answer = engine.run(Function::DigestFinal, &[&call.state])?;
        Ok(Reply { digest: bytes(&answer, 0)? })
    };
    DigestSingle DigestSingleRequest -> DigestSingleResponse |call, engine| {
        let answer = engine.run(Function::DigestSingle, &[&mechanism(&call.mech)?, &call.data])?;
        Ok(Reply { digest: bytes(&answer, 0)? })
    };
    EncryptInit EncryptInitRequest -> EncryptInitResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let answer = with(engine, [&call.key], |[key]| engine.run(Function::EncryptInit, &[&mechanism, key]))?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    DecryptInit DecryptInitRequest -> DecryptInitResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let answer = with(engine, [&call.key], |[key]| engine.run(Function::DecryptInit, &[&mechanism, key]))?;
        Ok(Reply { state: bytes(&answer, 0)? })
    };
    EncryptUpdate EncryptUpdateRequest -> EncryptUpdateResponse |call, engine| {
        let answer = engine.run(Function::EncryptUpdate, &[&call.state, &call.plain])?;
        Ok(Reply { state: bytes(&answer, 0)?, ciphered: bytes(&answer, 1)? })
    };
    DecryptUpdate DecryptUpdateRequest -> DecryptUpdateResponse |call, engine| {
        let answer = engine.run(Function::DecryptUpdate, &[&call.state, &call.ciphered])?;
        Ok(Reply { state: bytes(&answer, 0)?, plain: bytes(&answer, 1)? })
    };
    Encrypt EncryptRequest -> EncryptResponse |call, engine| {
        let answer = engine.run(Function::Encrypt, &[&call.state, &call.plain])?;
        Ok(Reply { ciphered: bytes(&answer, 0)? })
    };
    Decrypt DecryptRequest -> DecryptResponse |call, engine| {
        let answer = engine.run(Function::Decrypt, &[&call.state, &call.ciphered])?;
        Ok(Reply { plain: bytes(&answer, 0)? })
    };
    EncryptFinal EncryptFinalRequest -> EncryptFinalResponse |call, engine| {
        let answer = engine.run(Function::EncryptFinal, &[&call.state])?;
        Ok(Reply { ciphered: bytes(&answer, 0)? })
    };
    DecryptFinal DecryptFinalRequest -> DecryptFinalResponse |call, engine| {
        let answer = engine.run(Function::DecryptFinal, &[&call.state])?;
        Ok(Reply { plain: bytes(&answer, 0)? })
    };
    EncryptSingle EncryptSingleRequest -> EncryptSingleResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let run = |[key]: [&[u8]; 1]| engine.run(Function::EncryptSingle, &[key, &mechanism, &call.plain]);
        Ok(Reply { ciphered: bytes(&with(engine, [&call.key], run)?, 0)? })
    };
    DecryptSingle DecryptSingleRequest -> DecryptSingleResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let run = |[key]: [&[u8]; 1]| engine.run(Function::DecryptSingle, &[key, &mechanism, &call.ciphered]);
        Ok(Reply { plain: bytes(&with(engine, [&call.key], run)?, 0)? })
    };
    ReencryptSingle ReencryptSingleRequest -> ReencryptSingleResponse |call, engine| {
        let (from, to) = (mechanism(&call.dec_mech)?, mechanism(&call.enc_mech)?);
        let run = |[decrypting, encrypting]: [&[u8]; 2]| {
            engine.run(Function::ReencryptSingle, &[decrypting, encrypting, &from, &to, &call.ciphered])
        };
        Ok(Reply { reciphered: bytes(&with(engine, [&call.dec_key, &call.enc_key], run)?, 0)? })
    };
}
