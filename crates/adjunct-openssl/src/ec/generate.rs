//! Elliptic-curve keys on the NIST curves: generation of keys and parameters.

use super::params::{self, NOT_NATIVE, NotNative};
use super::{Delegated, KEYPAIR, Native, State, curve_of, key, key_of};
use crate::abi::build::Builder;
use crate::abi::param::{self, Param};
use crate::abi::{self, guard, id};
use crate::fallback::{self, ExportCallback};
use crate::provider::{Provider, provider};
use adjunct::catalogue::{Direction, Function};
use adjunct::ops;
use adjunct::ops::ec::{Curve, EcKey, Form};
use std::ffi::{c_int, c_void};

struct Generation {
    provider: &'static Provider,
    selection: c_int,
    /// The settings so far; the curve in them has no meaning until one is chosen.
    plan: Native,
    chosen: bool,
    /// Once something was set that is not for us, the default provider has it all.
    delegated: Option<fallback::Generation>,
}

pub(super) unsafe extern "C" fn init(provctx: *mut c_void, selection: c_int, params: *const Param) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        if selection & (KEYPAIR | id::KEYMGMT_SELECT_DOMAIN_PARAMETERS) == 0 {
            return std::ptr::null_mut();
        }
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        let plan = Native::new(Curve::P256, None);
        let mut generation = Generation { provider, selection, plan, chosen: false, delegated: None };
        // SAFETY: the array is OpenSSL's.
        match unsafe { generation.set(params) } {
            true => abi::give(generation),
            false => std::ptr::null_mut(),
        }
    })
}

pub(super) unsafe extern "C" fn cleanup(context: *mut c_void) {
    // SAFETY: OpenSSL frees a context once.
    guard((), || unsafe { abi::free::<Generation>(context) });
}

pub(super) unsafe extern "C" fn settable_params(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    params::GENERATION.as_ptr()
}

pub(super) unsafe extern "C" fn set_params(context: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's and its array.
        unsafe { abi::context::<Generation>(context).map_or(0, |g| c_int::from(g.set(params))) }
    })
}

pub(super) unsafe extern "C" fn set_template(context: *mut c_void, template: *mut c_void) -> c_int {
    guard(0, || {
        // SAFETY: a context and a key of OpenSSL's.
        let (generation, template) = unsafe { (abi::context::<Generation>(context), key(template)) };
        let (Some(generation), Some(template)) = (generation, template) else { return 0 };
        if let (None, State::Native(native)) = (&generation.delegated, &*template.state) {
            // Only the group is taken over, and the form it came with; a key starts with the default one.
            generation.plan = Native::new(native.curve, None);
            generation.plan.group_form = native.group_form;
            generation.chosen = true;
            return 1;
        }
        let Some(key) = template.state.delegated(template.provider) else { return 0 };
        let key = key.object.raw();
        // SAFETY: a key of the default provider's, made as the generation is by that of this libcrypto.
        generation.delegate().map_or(0, |theirs| unsafe { theirs.set_template(key) })
    })
}

pub(super) unsafe extern "C" fn run(
    context: *mut c_void,
    callback: Option<ExportCallback>,
    argument: *mut c_void,
) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: a context of OpenSSL's.
        let Some(generation) = (unsafe { abi::context::<Generation>(context) }) else { return std::ptr::null_mut() };
        let provider = generation.provider;
        match generation.run(callback, argument) {
            Some(state) => key_of(provider, state),
            None => std::ptr::null_mut(),
        }
    })
}

impl Generation {
    /// Sets parameters; those that adjunct does not serve move the generation to the default provider, with what was set before.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set(&mut self, params: *const Param) -> bool {
        if self.delegated.is_none() {
            // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
            if let Ok((plan, chosen)) = unsafe { self.planned(params) } {
                (self.plan, self.chosen) = (plan, chosen);
                return true;
            }
        }
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        self.delegate().is_some_and(|theirs| unsafe { theirs.set_params(params) } == 1)
    }

    /// What `params` make of the plan, and whether a curve is chosen then.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn planned(&self, params: *const Param) -> Result<(Native, bool), NotNative> {
        let (mut plan, mut chosen) = (self.plan.with_key(None), self.chosen);
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            match p.name().to_bytes() {
                b"group" => {
                    plan.curve = p.get_str().and_then(curve_of).ok_or(NOT_NATIVE)?;
                    chosen = true;
                }
                // -1 is "not set".
                b"use-cofactor-flag" if matches!(p.get_i64(), Some(0 | -1)) => {}
                b"use-cofactor-flag" => return Err(NOT_NATIVE),
                b"group-check" => params::setting(&mut plan, p, true)?,
                // A curve by its parameters, which a name given later would override: not worth following here.
                b"p" | b"a" | b"b" | b"generator" | b"order" | b"cofactor" | b"field-type" => {
                    return Err(NOT_NATIVE);
                }
                // A key derived from keying material (RFC 9180; OpenSSL 3.2).
                b"dhkem-ikm" => return Err(NOT_NATIVE),
                _ => params::setting(&mut plan, p, false)?,
            }
        }
        Ok((plan, chosen))
    }

    /// Moves the generation to the default provider.
    fn delegate(&mut self) -> Option<&mut fallback::Generation> {
        if self.delegated.is_none() {
            let mut builder = Builder::default();
            if self.chosen {
                builder.utf8(c"group", super::name_of(self.plan.curve));
            }
            if self.plan.group_form != Form::Uncompressed {
                builder.utf8(c"point-format", super::form_name(self.plan.group_form));
            }
            let (library, params) = (self.provider.fallback()?, builder.finish()?);
            // SAFETY: the array ends and lives through the call.
            self.delegated = unsafe { fallback::Generation::new(library, c"EC", self.selection, params) };
        }
        self.delegated.as_mut()
    }

    fn run(&mut self, callback: Option<ExportCallback>, argument: *mut c_void) -> Option<State> {
        let keys = self.selection & KEYPAIR != 0;
        if !self.chosen {
            // What a key without a curve is, OpenSSL says.
            self.delegate()?;
        }
        if let Some(theirs) = &mut self.delegated {
            // SAFETY: the callback and its argument are OpenSSL's.
            let object = unsafe { theirs.run(callback, argument) }?.into_object();
            let key = Delegated::own(self.provider, object);
            if keys {
                ops::Delegated::new(Function::EcKeygen, key.bits).done(Direction::Encrypt, 0);
            }
            return Some(State::Delegated(key));
        }
        let curve = self.plan.curve;
        if !keys {
            return Some(State::Native(self.plan.with_key(None)));
        }
        Some(State::Native(self.plan.with_key(Some(EcKey::generate(curve).ok()?))))
    }
}
