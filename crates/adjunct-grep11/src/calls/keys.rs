//! Keys: made, wrapped, unwrapped, derived, and put under the next wrapping key. No key is bound to a session: calls of one client may go to several servers.

use super::{bytes, calls};
use crate::failure::{Failure, MISSING};
use crate::keys::{made, several, with};
use crate::mechanism::mechanism;
use crate::template::template;
use adjunct_ep11_client::template::SAID_BY_KEY;
use adjunct_ep11_wire::function::Function;

calls! {
    GenerateKey GenerateKeyRequest -> GenerateKeyResponse |call, engine| {
        let (mechanism, template) = (mechanism(&call.mech)?, template(&call.template, &[])?);
        let answer = engine.run(Function::GenerateKey, &[&mechanism, &template, &[]])?;
        let key_bytes = bytes(&answer, 0)?;
        let key = Some(made(&key_bytes, &call.template));
        Ok(Reply { key_bytes, check_sum: bytes(&answer, 1)?, key })
    };
    GenerateKeyPair GenerateKeyPairRequest -> GenerateKeyPairResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let (public, private) = (template(&call.pub_key_template, &[])?, template(&call.priv_key_template, &[])?);
        let answer = engine.run(Function::GenerateKeyPair, &[&mechanism, &public, &private, &[]])?;
        let (priv_key_bytes, pub_key_bytes) = (bytes(&answer, 0)?, bytes(&answer, 1)?);
        let priv_key = Some(made(&priv_key_bytes, &call.priv_key_template));
        let pub_key = Some(made(&pub_key_bytes, &call.pub_key_template));
        Ok(Reply { priv_key_bytes, pub_key_bytes, priv_key, pub_key })
    };
    WrapKey WrapKeyRequest -> WrapKeyResponse |call, engine| {
        let mechanism = mechanism(&call.mech)?;
        let run = |[key, by, mac]: [&[u8]; 3]| engine.run(Function::WrapKey, &[key, by, mac, &mechanism]);
        Ok(Reply { wrapped: bytes(&with(engine, [&call.key, &call.ke_k, &call.mac_key], run)?, 0)? })
    };
    UnwrapKey UnwrapKeyRequest -> UnwrapKeyResponse |call, engine| {
        let (mechanism, template) = (mechanism(&call.mech)?, template(&call.template, &SAID_BY_KEY)?);
        let run = |[by, mac]: [&[u8]; 2]| {
            engine.run(Function::UnwrapKey, &[&call.wrapped, by, mac, &[], &mechanism, &template])
        };
        let answer = with(engine, [&call.ke_k, &call.mac_key], run)?;
        let unwrapped_bytes = bytes(&answer, 0)?;
        let unwrapped = Some(made(&unwrapped_bytes, &call.template));
        Ok(Reply { unwrapped_bytes, check_sum: bytes(&answer, 1)?, unwrapped })
    };
    DeriveKey DeriveKeyRequest -> DeriveKeyResponse |call, engine| {
        let (mechanism, template) = (mechanism(&call.mech)?, template(&call.template, &[])?);
        let run = |[base]: [&[u8]; 1]| {
            engine.run(Function::DeriveKey, &[&mechanism, &template, base, &call.data, &[]])
        };
        let answer = with(engine, [&call.base_key], run)?;
        let new_key_bytes = bytes(&answer, 0)?;
        let new_key = Some(made(&new_key_bytes, &call.template));
        Ok(Reply { new_key_bytes, check_sum: bytes(&answer, 1)?, new_key })
    };
    RewrapKeyBlob RewrapKeyBlobRequest -> RewrapKeyBlobResponse |call, engine| {
        let given = call.wrapped_key.unwrap_or_default();
        let mut blobs = given.key_blobs;
        if blobs.is_empty() && !call.wrapped_key_bytes.is_empty() {
            blobs.push(call.wrapped_key_bytes);
        }
        let mut failure = Failure::new(MISSING, "WrappedKey");
        for place in 0..blobs.len() {
            match engine.rewrap(&blobs[place]) {
                Ok(new) => {
                    // The former one stays beside it: it is the one to use until the next wrapping key is finalized.
                    let old = blobs.swap_remove(place);
                    let both = if old == new { vec![new.clone()] } else { vec![new.clone(), old] };
                    return Ok(Reply { rewrapped_key_bytes: new, rewrapped_key: Some(several(both, given.attributes)) });
                }
                Err(refused) => failure = refused,
            }
        }
        Err(failure)
    };
}
