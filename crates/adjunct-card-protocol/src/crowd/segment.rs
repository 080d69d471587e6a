//! The page as a segment of SysV shared memory, which cannot be truncated under those who have it mapped, and needs neither a descriptor nor a
//! path in a chroot.

#![allow(unsafe_code)]

use super::{MAGIC, Page};
use std::io;
use std::path::Path;
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;

/// The key of the segment of the daemon with this folder: its FNV-1a hash, whatever way its path is written.
pub(super) fn key(folder: &Path) -> libc::key_t {
    use std::os::unix::ffi::OsStrExt;
    let parts = folder.components().flat_map(|part| [&b"/"[..], part.as_os_str().as_bytes()]);
    let layout = MAGIC.to_le_bytes();
    let bytes = [&b"adjunct cards"[..], &layout].into_iter().chain(parts).flatten();
    let hash = bytes.fold(0x811c_9dc5u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // 0 is no key.
    hash.max(1).cast_signed()
}

/// How often a segment that another user has made is removed.
const TRIES: u32 = 100;

impl Page {
    /// Finds the page of the daemon with this folder, with the uid of the user who made it. Calls shmget, shmctl, shmat and no other.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::InvalidData`] for a segment that is none of ours.
    pub fn find(folder: &Path) -> io::Result<(&'static Page, u32)> {
        map(key(folder), 0)
    }

    /// Finds or makes the page. It stays when the daemon ends, for programs that have it mapped. Any user can compute the key, so a segment of another user,
    /// or one that is no page, is removed where the system allows it: root may.
    ///
    /// # Errors
    /// As for [`Page::find`].
    pub fn make(folder: &Path) -> io::Result<(&'static Page, u32)> {
        let user = rustix::process::geteuid().as_raw();
        let made = || map(key(folder), libc::IPC_CREAT | 0o666);
        // Whoever made it may make it again at once, but not each time between two system calls.
        for _ in 0..TRIES {
            if let Ok((page, owner)) = made()
                && owner == user
            {
                return Ok((page, owner));
            }
            Page::remove(folder);
        }
        made()
    }

    /// Removes the page of the daemon with this folder. Programs that have it mapped go on.
    pub fn remove(folder: &Path) {
        // SAFETY: no pointers.
        unsafe {
            let id = libc::shmget(key(folder), 0, 0);
            if id >= 0 {
                libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
            }
        }
    }
}

fn map(key: libc::key_t, flags: libc::c_int) -> io::Result<(&'static Page, u32)> {
    let last = || io::Error::last_os_error();
    // SAFETY: the buffer has the size IPC_STAT writes, and all zeros is a valid value of it. The segment is at least as large as a page of
    // ours, is never unmapped, and consists of atomic words, for which any bytes are valid and which others may change.
    unsafe {
        let id = libc::shmget(key, size_of::<Page>(), flags);
        if id < 0 {
            return Err(last());
        }
        let mut stat = std::mem::zeroed::<libc::shmid_ds>();
        if libc::shmctl(id, libc::IPC_STAT, &raw mut stat) < 0 {
            return Err(last());
        }
        let (owner, maker, size) = (stat.shm_perm.uid, stat.shm_perm.cuid, stat.shm_segsz as usize);
        if owner != maker || size != size_of::<Page>() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let place = libc::shmat(id, null(), 0);
        if place as isize == -1 {
            return Err(last());
        }
        let page = &*place.cast::<Page>();
        if flags != 0 {
            let _ = page.magic.compare_exchange(0, MAGIC, Relaxed, Relaxed);
        }
        if page.magic.load(Relaxed) != MAGIC {
            libc::shmdt(place);
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok((page, maker))
    }
}
