//! The module in this process: whether it is initialized, and its slots.

use crate::handle::Handle;
use crate::init_state::InitState;
use crate::libcrypto;
use crate::session::{self, Session, Using};
use crate::slot::{ACCELERATOR, GIVING_WAY};
use crate::state;
use crate::store::config::{self, Stores};
use crate::table::Table;
use crate::token::{Slot, Token};
use adjunct::fork;
use adjunct_mechanisms::curve448;
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, fence};

/// What C_Initialize has made. It stays in memory for good: calls of other threads may be inside when C_Finalize comes.
#[derive(Debug)]
pub struct Module {
    /// Number of the process that the module is for, along a line of forks.
    process: u32,
    pub state: InitState,
    slots: Slots,
    /// Keys for the saved states of operations.
    pub state_keys: state::Keys,
    /// Standard error as it is when the module is initialized.
    errors: Option<adjunct::diag::StandardError>,
}

static MODULE: AtomicPtr<Module> = AtomicPtr::new(null_mut());

fn current() -> Option<&'static Module> {
    // SAFETY: null, or a box that is never freed.
    unsafe { MODULE.load(Acquire).as_ref() }
}

/// The slots.
#[derive(Debug)]
struct Slots {
    all: Vec<Slot>,
    /// Whether the order of the slots is the configuration's; else it goes by what tokens hold ([`crate::slot::Standing`]).
    in_order: bool,
}

impl Slots {
    /// Finds the slots that the configuration gives. A child of fork keeps its parent's slots instead ([`Slots::anew`]): the environment, by which
    /// the configuration is found, may differ, as in nginx's workers, which start without one.
    fn found() -> Slots {
        let Stores { mut stores, slots: said, wrong } = config::stores();
        wrong.iter().for_each(|line| adjunct::diag::warn(line));
        // Sessions keep keys that they use again and again.
        let objects = || Table::telling(session::forget);
        let in_order = said.is_some();
        let ids = said.unwrap_or_else(|| std::iter::once(ACCELERATOR).chain(stores.keys().copied()).collect());
        let mut token = |id| match id {
            ACCELERATOR => Some(Token::accelerator(objects(), tell_of_stores)),
            id => stores.remove(&id).map(|store| Token::kept(objects(), store)),
        };
        let all = ids.into_iter().filter_map(|id| Some(Slot { id, token: token(id)? })).collect();
        Slots { all, in_order }
    }

    /// Makes the slots of a child of fork, whose tokens have nothing that the parent has made of them.
    fn anew(&self) -> Slots {
        let all = self.all.iter().map(|slot| Slot { id: slot.id, token: slot.token.anew() }).collect();
        Slots { all, in_order: self.in_order }
    }
}

/// Says, once, which tokens keep objects, where a program wants that of the accelerator: the error that it gets names none.
fn tell_of_stores() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let Some(module) = current().filter(|_| !TOLD.swap(true, Relaxed)) else { return };
    let others = module.slots.all.iter().filter(|slot| slot.id != ACCELERATOR);
    let ready = others.clone().filter_map(|slot| {
        let info = slot.token.info(slot.id).ok().filter(|info| info.flags & CKF_TOKEN_INITIALIZED != 0)?;
        Some(format!("{:?} in slot {}", String::from_utf8_lossy(&info.label).trim_end(), slot.id))
    });
    let ready: Vec<String> = ready.collect();
    let others: Vec<String> = others.map(|slot| slot.id.to_string()).collect();
    let instead = match (&ready[..], &others[..]) {
        ([], []) => "tokens.conf gives no other".to_owned(),
        ([], [slot, ..]) => {
            format!("no other is initialized: 'adjunct token init --slot {slot} --label NAME' makes one")
        }
        ([one], _) => format!("the token {one} does: name it to the program"),
        (all, _) => format!("the tokens {} do: name one to the program", all.join(", ")),
    };
    adjunct::diag::warn_later(
        module.errors,
        &format!(
            "the token \"icatok\" in slot {ACCELERATOR} is an accelerator, keeps no objects and has no PINs; {instead}"
        ),
    );
}

impl Module {
    /// The module, if it is initialized. `inherited`: a child of fork goes on with its parent's.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    #[inline]
    pub fn get(inherited: bool) -> Result<&'static Module> {
        let module = current().filter(|module| module.state.is_initialized());
        let module = module.filter(|module| inherited || module.process == fork::generation());
        module.ok_or(Rv(CKR_CRYPTOKI_NOT_INITIALIZED))
    }

    /// Initializes the module for this process.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
    pub fn initialize(inherited: bool) -> Result {
        adjunct::init();
        curve448::use_library(&libcrypto::CURVE448);
        adjunct::counters::open_uses();
        adjunct::thread::ask_whether_alone();
        let process = fork::generation();
        let old = MODULE.load(Acquire);
        // SAFETY: null, or a box that is never freed.
        if let Some(module) = unsafe { old.as_ref() }
            && (inherited || module.process == process)
        {
            return ensure(module.state.initialize(), CKR_CRYPTOKI_ALREADY_INITIALIZED);
        }
        // SAFETY: null, or a box that is never freed.
        let slots = unsafe { old.as_ref() }.map_or_else(Slots::found, |parent| parent.slots.anew());
        let module = Box::into_raw(Box::new(Module {
            process,
            state: InitState::initialized(),
            slots,
            state_keys: state::Keys::new(),
            errors: adjunct::diag::standard_error(),
        }));
        if MODULE.compare_exchange(old, module, AcqRel, Acquire).is_err() {
            // SAFETY: the box was made by this call, and no other thread has its address: the exchange that would have shown it failed.
            drop(unsafe { Box::from_raw(module) });
            return fail(CKR_CRYPTOKI_ALREADY_INITIALIZED);
        }
        Ok(())
    }

    /// Finalizes the module: sessions close, and later calls of other threads fail. Calls under way end as they would.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED` where another thread was first.
    pub fn finalize(&'static self) -> Result {
        ensure(self.state.finalize(), CKR_CRYPTOKI_NOT_INITIALIZED)?;
        // Sessions that are opened from now on see that it ended, and those before are seen here.
        fence(SeqCst);
        session::close_all(&self.state, None);
        for slot in &self.slots.all {
            let _ = slot.token.logout();
            slot.token.objects.remove_all(|place| place.session().is_some());
        }
        Ok(())
    }

    /// The numbers of all slots, in the order in which programs see them. `again`: as tokens are now; else as they were when this was asked last.
    pub fn slots(&self, again: bool) -> Vec<CK_SLOT_ID> {
        let Slots { all, in_order } = &self.slots;
        let mut slots: Vec<&Slot> = all.iter().collect();
        if !in_order {
            slots.sort_by_cached_key(|slot| slot.token.standing(again));
        }
        slots.into_iter().map(|slot| slot.id).collect()
    }

    /// A slot.
    ///
    /// # Errors
    /// `CKR_SLOT_ID_INVALID`.
    pub fn slot(&self, id: CK_SLOT_ID) -> Result<&Slot> {
        let id = if id == GIVING_WAY { ACCELERATOR } else { id };
        self.slots.all.iter().find(|slot| slot.id == id).ok_or(Rv(CKR_SLOT_ID_INVALID))
    }

    /// A session.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    #[inline]
    pub fn session(&'static self, handle: CK_SESSION_HANDLE) -> Result<Using> {
        session::find(&self.state, Handle::from(handle))
    }

    /// Calls `body` with a session, as a call does that is short: it costs less than to drop what [`Module::session`] gives.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`, and those of `body`.
    #[inline(always)]
    pub fn in_session(&'static self, handle: CK_SESSION_HANDLE, body: impl FnOnce(&Session) -> Result) -> Result {
        let session = self.session(handle)?;
        let result = body(&session);
        session.leave();
        result
    }
}
