//! Sessions: their token, their kind, and the operations that are active in them.

pub mod authentication;
pub mod ended;
pub mod running;

use crate::handle::Handle;
use crate::init_state::InitState;
use crate::messages;
use crate::table::search::Search;
use crate::table::{Found, Keeping, Version};
use crate::token::Slot;
use adjunct::lock::Lock;
use adjunct::slab::{Entry, Slab};
use adjunct::thread::AtEnd;
use adjunct_mechanisms::object::{Held, Owner};
use adjunct_mechanisms::operation::{Again, Cipher, Digester, Follows, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use authentication::{AtOnce, Pin};
use cryptoki_sys::*;
use ended::{AllEnded, Places};
use running::{Left, Run, Running};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

static SESSIONS: Slab<Session> = Slab::new();

/// A session.
#[derive(Debug)]
pub struct Session {
    /// [`InitState::number`] of the session's module.
    module: usize,
    slot: &'static Slot,
    read_write: bool,
    /// Whether operations that run give way to another ([`crate::slot::GIVING_WAY`]).
    gives_way: bool,
    /// Index of the counter where the token counts the session.
    shard: usize,
    /// Handle of the session, set before any other thread knows it.
    handle: AtomicU64,
    /// Whether there may be session objects, which end with the session.
    owns: AtomicBool,
    active: Lock<Active>,
    /// Whether a thread that has `active` works on an operation that it has taken out: the other operations are whole then.
    apart: AtomicBool,
}

/// The longest message, or part of one, in bytes, that is worked on while `active` is held. It takes a microsecond at most, and to take the
/// operation out and put it back another way would be one more write to memory that others may have.
const SHORT: usize = 1024;

/// A scope in which [`Session::apart`] is set.
struct Apart<'a>(&'a AtomicBool);

impl<'a> Apart<'a> {
    #[inline]
    fn new(apart: &'a AtomicBool) -> Apart<'a> {
        apart.store(true, Release);
        Apart(apart)
    }
}

impl Drop for Apart<'_> {
    #[inline]
    fn drop(&mut self) {
        // What is written next comes after it in memory too, for a child of fork.
        self.0.store(false, Relaxed);
        fence(Release);
    }
}

/// The operations of a session. A call takes the one it works on out, so that nothing is locked while it runs.
#[derive(Default)]
pub struct Active {
    /// The running search, in memory of its own: programs keep many sessions open, and few search.
    pub find: Option<Box<Search>>,
    pub encrypt: Option<Run<dyn Cipher>>,
    pub decrypt: Option<Run<dyn Cipher>>,
    pub digest: Option<Run<dyn Digester>>,
    pub sign: Option<Run<dyn Signer>>,
    pub verify: Option<Run<dyn Verifier>>,
    pub sign_recover: Option<Run<dyn Signer>>,
    pub verify_recover: Option<Run<dyn Cipher>>,
    /// A signature that C_VerifySignatureInit was given.
    pub signature: Option<Vec<u8>>,
    pub message_encrypt: Option<Box<messages::Ciphering>>,
    pub message_decrypt: Option<Box<messages::Ciphering>>,
    pub message_sign: Option<Box<messages::Signing<dyn Signer>>>,
    pub message_verify: Option<Box<messages::Signing<dyn Verifier>>>,
    at_once: AtOnce,
    /// Operations that wait for another message.
    pub ended: AllEnded,
    /// Keys that the session uses again and again.
    kept: [Used; KEPT],
    /// Index of the place that is used next for another key.
    next: usize,
}

/// Ended operations that a session keeps for reuse: one that encrypts and one MAC.
const KEPT: usize = 2;

/// A key that was used in a session.
#[derive(Debug, Default)]
struct Used {
    handle: CK_OBJECT_HANDLE,
    /// The key and its owner, from the second use on: a key that is used once is not kept.
    found: Option<(Found, Arc<Owner>)>,
}

impl std::fmt::Debug for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Active").finish_non_exhaustive()
    }
}

/// The place of a kind of operation in [`Active`].
pub type Field<O> = fn(&mut Active) -> &mut Option<O>;

/// The kind of a session: read-only or not, and whether operations give way to new ones.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    pub read_write: bool,
    /// Whether operations that run give way to another.
    pub gives_way: bool,
}

/// Opens a session, and gives its handle.
///
/// # Errors
/// `CKR_HOST_MEMORY`; `CKR_CRYPTOKI_NOT_INITIALIZED` where another thread ended the module meanwhile.
pub fn open(module: &'static InitState, slot: &'static Slot, opening: Opening) -> Result<Handle> {
    let Opening { read_write, gives_way } = opening;
    let shard = slot.token.opened(read_write);
    let (handle, owns, active) = (AtomicU64::new(0), AtomicBool::new(false), Lock::new(Active::default()));
    let apart = AtomicBool::new(false);
    let session = Session { module: module.number(), slot, read_write, gives_way, shard, handle, owns, active, apart };
    match SESSIONS.insert(session) {
        Ok(entry) => {
            let handle = Handle::of(entry.number());
            entry.handle.store(handle.get(), Release);
            SESSIONS.keep(entry);
            // C_Finalize ends the module and then looks for its sessions: one of the two sees the other.
            fence(SeqCst);
            if !module.is_initialized() {
                let _ = close(module, handle);
                return fail(CKR_CRYPTOKI_NOT_INITIALIZED);
            }
            Ok(handle)
        }
        Err(error) => {
            slot.token.closed(shard, read_write);
            Err(error.into())
        }
    }
}

/// Gives up what an ending thread has.
static AT_END: AtEnd = AtEnd::new(|| SESSIONS.end_last());

/// A session in use by a call. Its thread stays an owner until it uses another ([`Slab::put_last`]).
#[derive(Debug)]
pub struct Using(Option<Entry<Session>>);

impl Deref for Using {
    type Target = Session;

    #[inline]
    fn deref(&self) -> &Session {
        // There from `find` until `drop`.
        self.0.as_ref().expect("a session")
    }
}

impl Using {
    /// Ends the use, as dropping it does.
    #[inline(always)]
    pub fn leave(mut self) {
        self.end();
        // Nothing is left in it; to find that out would be a call.
        std::mem::forget(self);
    }

    #[inline(always)]
    fn end(&mut self) {
        // Who closes a session first sees to it that no number finds it, and then takes away what runs in it: what this call has left there
        // is taken away then, or goes with its last owner, here.
        if let Some(session) = self.0.take().filter(|session| !session.is_retired()) {
            SESSIONS.put_last(session, &AT_END);
        }
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        self.end();
    }
}

/// A session of this module.
///
/// # Errors
/// `CKR_SESSION_HANDLE_INVALID`.
#[inline]
pub fn find(module: &'static InitState, handle: Handle) -> Result<Using> {
    let same = |session: &Entry<Session>| session.handle() == handle && !session.is_retired();
    let session = SESSIONS.take_last().filter(same);
    let session = session.or_else(|| handle.number().and_then(|number| SESSIONS.get(number)));
    let session = session.filter(|session| session.module == module.number());
    session.map(|session| Using(Some(session))).ok_or(Rv(CKR_SESSION_HANDLE_INVALID))
}

/// Closes a session, with what runs in it and the objects that end with it. A call that is inside in another thread ends as it would.
///
/// # Errors
/// `CKR_SESSION_HANDLE_INVALID`.
pub fn close(module: &'static InitState, handle: Handle) -> Result {
    // This thread may have it as its last.
    drop(SESSIONS.take_last());
    let session = handle.number().and_then(|number| SESSIONS.retire(number)).ok_or(Rv(CKR_SESSION_HANDLE_INVALID))?;
    // One of a module that this process has not initialized can be used by nobody, and goes unseen.
    ensure(session.module == module.number(), CKR_SESSION_HANDLE_INVALID)?;
    session.end_objects();
    session.slot.token.closed(session.shard, session.read_write);
    if !session.is_last() {
        // A thread that used it stays its owner until it uses another: of what runs and what was kept there nothing is to be left.
        session.empty();
    }
    Ok(())
}

/// Removes an object that no longer exists, with its prepared key, from the sessions that keep it.
pub fn forget(handle: Handle, gone: &Version) {
    fence(SeqCst);
    let from = |session: &Session| {
        session.hold(|active| {
            active.kept.iter_mut().filter(|used| used.handle == handle.get()).for_each(|used| *used = Used::default());
            active.ended.forget(&gone.object);
        });
    };
    match gone.keepers() {
        Keeping::Some(sessions) => {
            for session in sessions {
                if let Some(session) = session.number().and_then(|number| SESSIONS.get(number)) {
                    from(&session);
                }
            }
        }
        Keeping::Many => SESSIONS.each(|session| from(&session)),
    }
}

/// Closes all sessions of the module, or of one slot.
pub fn close_all(module: &'static InitState, slot: Option<&Slot>) {
    let mut handles = Vec::new();
    SESSIONS.each(|session| {
        if session.module == module.number() && slot.is_none_or(|slot| std::ptr::eq(slot, session.slot)) {
            handles.push(Handle::of(session.number()));
        }
    });
    handles.into_iter().for_each(|handle| _ = close(module, handle));
}

impl Session {
    /// The session's slot.
    #[inline]
    pub fn slot(&self) -> &'static Slot {
        self.slot
    }

    /// Whether the session may change what stays in the token.
    pub fn is_read_write(&self) -> bool {
        self.read_write
    }

    /// Notes that objects end with the session.
    pub fn will_own(&self) {
        self.owns.store(true, Release);
    }

    #[inline]
    fn handle(&self) -> Handle {
        Handle::from(self.handle.load(Acquire))
    }

    /// Takes away the objects that end with it. The token's table is only locked where there may be some.
    fn end_objects(&self) {
        if self.owns.load(Acquire) {
            self.slot.token.objects.end_session(self.handle());
        }
    }

    /// Finds a key that was used before, or has `find` give it, unless the session is `busy`. A key that is used again and again is kept, so that the
    /// session's threads write to nothing that they share with others.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE`, and those of `find`.
    pub fn keeps(
        &self,
        handle: Handle,
        busy: impl FnOnce(&mut Active) -> bool,
        find: impl FnOnce() -> Result<Found>,
    ) -> Result<Held> {
        let (kept, again) = self.hold(|active| {
            ensure(!busy(active), CKR_OPERATION_ACTIVE)?;
            let Some(used) = active.kept.iter_mut().find(|used| used.handle == handle.get()) else {
                return Ok::<_, Rv>((None, false));
            };
            if let Some((found, object)) = &used.found
                && !found.is_current()
            {
                active.ended.forget(&object.0);
                *used = Used::default();
                return Ok::<_, Rv>((None, false));
            }
            Ok((used.found.as_ref().map(|(_, object)| Held::Kept(object.clone())), true))
        })?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let found = find()?;
        if !again {
            self.hold(|active| {
                let at = active.next;
                if let Some((_, object)) = &active.kept[at].found {
                    active.ended.forget(&object.0);
                }
                active.kept[at] = Used { handle: handle.get(), found: None };
                active.next = (at + 1) % KEPT;
            });
            return Ok(Held::Own(found.object));
        }
        let object = Arc::new(Owner(found.object.clone()));
        found.will_keep(self.handle());
        self.hold(|active| {
            if let Some(used) = active.kept.iter_mut().find(|used| used.handle == handle.get()) {
                // Who takes it away looks for its keepers afterwards: one of the two sees the other.
                fence(SeqCst);
                used.found = found.is_current().then(|| (found, object.clone()));
            }
        });
        Ok(Held::Kept(object))
    }

    /// Drops the session's running operations and the keys that it keeps.
    fn empty(&self) {
        let old = self.hold(std::mem::take);
        drop(old);
    }

    #[inline]
    fn hold<R>(&self, body: impl FnOnce(&mut Active) -> R) -> R {
        self.active.hold_unnoted(|active, taken| {
            if taken.abandoned {
                self.caught(active);
            }
            body(active)
        })
    }

    /// Ends the operations of a session whose thread, in the parent, was inside at the fork.
    #[cold]
    fn caught(&self, active: &mut Active) {
        if !self.apart.swap(false, Acquire) {
            // Half changed, and that is not safe to drop.
            std::mem::forget(std::mem::take(active));
        }
    }

    /// Takes an operation out, to work on it.
    ///
    /// # Errors
    /// `CKR_OPERATION_NOT_INITIALIZED` where there is none.
    pub fn take<O>(&self, field: Field<O>) -> Result<O> {
        self.hold(|active| field(active).take()).ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))
    }

    /// Puts an operation there, or back.
    pub fn put<O>(&self, field: Field<O>, operation: O) {
        let old = self.hold(|active| field(active).replace(operation));
        drop(old);
    }

    /// Puts an operation there that begins.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` where one runs.
    pub fn begin<O>(&self, field: Field<O>, operation: O) -> Result {
        self.hold(|active| {
            let place = field(active);
            ensure(place.is_none(), CKR_OPERATION_ACTIVE)?;
            *place = Some(operation);
            Ok(())
        })
    }

    /// Puts an operation there that begins with a message.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` where one runs; `CKR_HOST_MEMORY`.
    pub fn begin_running<O: ?Sized + Again>(
        &self,
        field: Field<Run<O>>,
        mechanism: CK_MECHANISM_TYPE,
        pin: Pin,
        operation: Box<O>,
    ) -> Result {
        self.begin(field, Running::begun(mechanism, pin, operation)?)
    }

    /// Replaces the active operations of the session by others, except a search, which stays active.
    pub fn replace(&self, mut operations: Active) {
        let old = self.hold(|active| {
            operations.find = active.find.take();
            operations.kept = std::mem::take(&mut active.kept);
            operations.ended = std::mem::take(&mut active.ended);
            std::mem::replace(active, operations)
        });
        drop(old);
    }

    /// Whether such an operation runs.
    pub fn runs<O>(&self, field: Field<O>) -> bool {
        self.hold(|active| field(active).is_some())
    }

    /// Ends an operation, if one runs.
    pub fn cancel<O>(&self, field: Field<O>) {
        let old = self.hold(|active| field(active).take());
        drop(old);
    }

    /// Ends an operation, as a mechanism that is null asks for (5.8.1 and its like, since version 3.0).
    ///
    /// # Errors
    /// `CKR_ARGUMENTS_BAD` where none runs: then the pointer is simply wrong, as before that version.
    pub fn end_running<O>(&self, field: Field<O>) -> Result {
        let old = self.hold(|active| field(active).take());
        ensure(old.is_some(), CKR_ARGUMENTS_BAD)
    }

    /// Works on an operation with `body`, and puts it back where the result is `Ok(Some(...))`: any other ends it. Where the caller only
    /// asked for a length, or has too little room, `body` gives it back as well.
    ///
    /// # Errors
    /// `CKR_OPERATION_NOT_INITIALIZED`, and what `body` says.
    pub fn work<O: ?Sized, R>(&self, field: Field<Run<O>>, body: impl FnOnce(Run<O>) -> Left<O, R>) -> Result<R> {
        let (back, result) = body(self.take(field)?);
        if let Some(back) = back.filter(|running| !running.over) {
            self.put(field, back);
        }
        result
    }

    /// Works with `body` on an operation that another message may follow, as [`Session::work`] does on others. `bytes` is how much `body` works
    /// on: where that is little, `body` runs while the session's operations are held, and uses the session in no other way then.
    ///
    /// # Errors
    /// As [`Session::work`].
    #[inline]
    pub fn work_again<O: ?Sized + Again, R>(
        &self,
        places: Places<O>,
        bytes: usize,
        body: impl FnOnce(Run<O>) -> Left<O, R>,
    ) -> Result<R> {
        let begun = self.hold(|active| {
            let place = (places.running)(active);
            let running = place.as_ref().ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))?;
            let short = bytes <= SHORT && running.follows != Follows::Never;
            let running = place.take().ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))?;
            if !short {
                return Ok::<_, Rv>(Begun::Long(running, body));
            }
            let apart = Apart::new(&self.apart);
            let (back, result) = body(running);
            drop(apart);
            Ok(Begun::Done(result, back.and_then(|back| active.put(places, back))))
        });
        match begun? {
            Begun::Done(result, old) => {
                drop(old);
                result
            }
            Begun::Long(running, body) => {
                let (back, result) = body(running);
                let old = back.and_then(|back| self.hold(|active| active.put(places, back)));
                drop(old);
                result
            }
        }
    }
}

/// The progress of [`Session::work_again`] while it held the operations.
enum Begun<O: ?Sized, B, R> {
    /// The work is done; with its result and the operation that is to be dropped.
    Done(Result<R>, Option<Run<O>>),
    /// The work is yet to be done, by this operation on this input, without holding the session's operations.
    Long(Run<O>, B),
}

impl Drop for Session {
    fn drop(&mut self) {
        let (active, abandoned) = self.active.get_mut();
        if abandoned {
            std::mem::forget(std::mem::take(active));
        }
        // Those that a call in another thread has made while the session was closed.
        self.end_objects();
    }
}
