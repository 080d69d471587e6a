//! The module in this process: whether it is initialized, and its slots.

use crate::handle::Handle;
use crate::init_state::InitState;
use crate::object::table::Table;
use crate::rv::{Result, Rv, ensure, fail};
use crate::session::{self, Using};
use crate::slot::{ACCELERATOR, GIVING_WAY};
use crate::state;
use crate::store::config;
use crate::token::{Slot, Token};
use adjunct::fork;
use cryptoki_sys::*;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};
use std::sync::atomic::{AtomicPtr, fence};

/// What C_Initialize has made. It stays in memory for good: calls of other threads may be inside when C_Finalize comes.
#[derive(Debug)]
pub struct Module {
    /// The process it is for, along a line of forks.
    process: u32,
    pub state: InitState,
    slots: Vec<Slot>,
    /// For the states of operations.
    pub state_keys: state::Keys,
}

static MODULE: AtomicPtr<Module> = AtomicPtr::new(null_mut());

fn current() -> Option<&'static Module> {
    // SAFETY: null, or a box that is never freed.
    unsafe { MODULE.load(Acquire).as_ref() }
}

/// The slots that the configuration gives. A child of fork has its parent's instead: its environment, by which the configuration is
/// found, may be another, as in nginx's workers, which start without one.
fn found() -> Vec<Slot> {
    let (stores, wrong) = config::stores();
    wrong.iter().for_each(|line| adjunct::diag::warn(line));
    // Sessions keep keys that they use again and again.
    let objects = || Table::telling(session::forget);
    let stores = stores.into_iter().map(|(id, store)| Slot { id, token: Token::kept(objects(), store) });
    std::iter::once(Slot { id: ACCELERATOR, token: Token::accelerator(objects()) }).chain(stores).collect()
}

impl Module {
    /// The module, where it is initialized. `inherited`: a child of fork goes on with its parent's.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    #[inline]
    pub fn get(inherited: bool) -> Result<&'static Module> {
        let module = current().filter(|module| module.state.is_initialized());
        let module = module.filter(|module| inherited || module.process == fork::generation());
        module.ok_or(Rv(CKR_CRYPTOKI_NOT_INITIALIZED))
    }

    /// Initializes it for this process.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
    pub fn initialize(inherited: bool) -> Result {
        adjunct::init();
        adjunct::counters::open_uses();
        let process = fork::generation();
        let old = MODULE.load(Acquire);
        // SAFETY: null, or a box that is never freed.
        if let Some(module) = unsafe { old.as_ref() }
            && (inherited || module.process == process)
        {
            return ensure(module.state.initialize(), CKR_CRYPTOKI_ALREADY_INITIALIZED);
        }
        // SAFETY: null, or a box that is never freed.
        let slots = unsafe { old.as_ref() }.map_or_else(found, |parent| {
            parent.slots.iter().map(|slot| Slot { id: slot.id, token: slot.token.anew() }).collect()
        });
        let module = Box::into_raw(Box::new(Module {
            process,
            state: InitState::initialized(),
            slots,
            state_keys: state::Keys::new(),
        }));
        if MODULE.compare_exchange(old, module, AcqRel, Acquire).is_err() {
            // SAFETY: made above, and seen by nobody.
            drop(unsafe { Box::from_raw(module) });
            return fail(CKR_CRYPTOKI_ALREADY_INITIALIZED);
        }
        Ok(())
    }

    /// Ends it: sessions close, and calls of other threads that come later fail. Those that are inside end as they would.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED` where another thread was first.
    pub fn finalize(&'static self) -> Result {
        ensure(self.state.finalize(), CKR_CRYPTOKI_NOT_INITIALIZED)?;
        // Sessions that are opened from now on see that it ended, and those before are seen here.
        fence(SeqCst);
        session::close_all(&self.state, None);
        for slot in &self.slots {
            let _ = slot.token.logout();
            slot.token.objects.remove_all(|place| place.session().is_some());
        }
        Ok(())
    }

    /// All slots.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A slot.
    ///
    /// # Errors
    /// `CKR_SLOT_ID_INVALID`.
    pub fn slot(&self, id: CK_SLOT_ID) -> Result<&Slot> {
        let id = if id == GIVING_WAY { ACCELERATOR } else { id };
        self.slots.iter().find(|slot| slot.id == id).ok_or(Rv(CKR_SLOT_ID_INVALID))
    }

    /// A session.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    #[inline]
    pub fn session(&'static self, handle: CK_SESSION_HANDLE) -> Result<Using> {
        session::find(&self.state, Handle::from(handle))
    }
}
