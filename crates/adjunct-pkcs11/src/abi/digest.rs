//! Hashes, and random numbers.

use super::args::{Out, slice, slice_mut};
use super::params::mechanism;
use super::{calls, module};
use crate::objects;
use crate::session::authentication::Pin;
use crate::session::ended::Places;
use crate::session::running::Run;
use crate::session::{Active, Session};
use crate::uses;
use adjunct::counters::Strength;
use adjunct::ops::random::Generator;
use adjunct_mechanisms::operation::Digester;
use adjunct_mechanisms::rv::{Result, ensure};
use cryptoki_sys::*;

type Hash = Run<dyn Digester>;

const DIGESTS: Places<dyn Digester> = Places { running: field, ended: |active| &mut active.ended.digest };

fn field(active: &mut Active) -> &mut Option<Hash> {
    &mut active.digest
}

/// Ends a hash into `out`, of `data` more.
fn end(session: &Session, data: Option<&[u8]>, out: &mut Out<'_>) -> Result {
    session.work_again(DIGESTS, data.map_or(0, <[u8]>::len), |mut running: Hash| {
        if data.is_some() && running.parts {
            return (Some(running), Err(adjunct_mechanisms::rv::Rv(CKR_OPERATION_ACTIVE)));
        }
        let Some(operation) = running.operation.as_mut() else { return (None, Ok(())) };
        let length = operation.size();
        running.end(
            out,
            length,
            |_| true,
            |operation, room| {
                operation.update(data.unwrap_or_default());
                operation.finish(room);
                Ok(length)
            },
        )
    })
}

calls! {
    /// PKCS #11 5.12.1. A mechanism that is null ends the one that runs.
    fn C_DigestInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        if pMechanism.is_null() {
            return session.end_running(field);
        }
        let mechanism = mechanism(pMechanism);
        let mechanism = mechanism.as_ref().map_err(|error| *error)?;
        if session.begin_again(DIGESTS, mechanism, 0)?.is_none() {
            session.begin_running(field, mechanism.kind, Pin::NOT_WANTED, mechanism.digester()?)?;
        }
        uses::count(&session, mechanism.kind, Strength::None);
        Ok(())
    }

    /// PKCS #11 5.12.2.
    fn C_Digest(
        hSession: CK_SESSION_HANDLE,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pDigest: *mut CK_BYTE,
        pulDigestLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pDigest, pulDigestLen).inspect_err(|_| session.cancel(field))?;
        let data = slice(pData, ulDataLen).inspect_err(|_| session.cancel(field))?;
        end(&session, Some(data), &mut out)
    }

    /// PKCS #11 5.12.3.
    fn C_DigestUpdate(hSession: CK_SESSION_HANDLE, pPart: *mut CK_BYTE, ulPartLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let part = slice(pPart, ulPartLen).inspect_err(|_| session.cancel(field))?;
        update(&session, part)
    }

    /// PKCS #11 5.12.4.
    fn C_DigestKey(hSession: CK_SESSION_HANDLE, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.runs(field), CKR_OPERATION_NOT_INITIALIZED)?;
        let key = objects::get(&session, hKey.into()).map_err(|_| adjunct_mechanisms::rv::Rv(CKR_KEY_HANDLE_INVALID))?;
        let value = key.value().map_err(|_| adjunct_mechanisms::rv::Rv(CKR_KEY_INDIGESTIBLE))?;
        update(&session, value)
    }

    /// PKCS #11 5.12.5.
    fn C_DigestFinal(hSession: CK_SESSION_HANDLE, pDigest: *mut CK_BYTE, pulDigestLen: *mut CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pDigest, pulDigestLen).inspect_err(|_| session.cancel(field))?;
        end(&session, None, &mut out)
    }

    /// PKCS #11 5.21.1: mixed into what the generator has, which needs it not.
    fn C_SeedRandom(hSession: CK_SESSION_HANDLE, pSeed: *mut CK_BYTE, ulSeedLen: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        slice(pSeed, ulSeedLen).map(drop)
    }

    /// PKCS #11 5.21.2.
    fn C_GenerateRandom(hSession: CK_SESSION_HANDLE, pRandomData: *mut CK_BYTE, ulRandomLen: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        Generator::new().generate(slice_mut(pRandomData, ulRandomLen)?);
        Ok(())
    }
}

/// Takes a part of the data that is hashed.
pub fn update(session: &Session, part: &[u8]) -> Result {
    session.work_again(DIGESTS, part.len(), |mut running: Hash| {
        running.parts = true;
        match running.operation() {
            Ok(operation) => {
                operation.update(part);
                (Some(running), Ok(()))
            }
            Err(error) => (None, Err(error)),
        }
    })
}
