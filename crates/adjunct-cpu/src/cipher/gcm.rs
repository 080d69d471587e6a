//! AES-GCM as a stream: additional data and message in any pieces, then the tag.

use super::aes::AesKey;
#[cfg(target_arch = "x86_64")]
use super::aes::wide;
use crate::awslc::gcm::AwsLcGcm;
use crate::cpacf::{self, Here};
use adjunct_base::catalogue::Feature;
use adjunct_base::error::Error;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::gcm::{Message, Table};
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::gcm_once;
use adjunct_kernels::opaque_debug;

/// The longest tag in bytes.
pub const TAG: usize = 16;

/// AES-GCM with its key and the state of one message; wiped when dropped.
#[derive(Clone)]
pub struct Gcm {
    key: AesKey,
    /// The message of [`Engine::Vector`]: beside the table, for what is moved into an enumeration costs as much as a short message.
    #[cfg(target_arch = "x86_64")]
    message: Message,
    engine: Engine,
}

/// What runs, chosen when the key is set. It lies in the one allocation of a context.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)]
enum Engine {
    /// No key yet.
    None,
    /// AWS-LC, with AES instructions or without.
    Library(AwsLcGcm),
    /// A kernel of adjunct's on vectors.
    #[cfg(target_arch = "x86_64")]
    Vector(Table),
    /// CPACF.
    Assist(Here, adjunct_kernels::cpacf::Gcm),
}

opaque_debug!(Gcm);

impl Default for Gcm {
    #[inline]
    fn default() -> Gcm {
        Gcm {
            key: AesKey::default(),
            #[cfg(target_arch = "x86_64")]
            message: Message::default(),
            engine: Engine::None,
        }
    }
}

/// The most bytes of one message and of its additional data (SP 800-38D 5.2.1.1).
const MOST: [u64; 2] = [(1 << 36) - 32, 1 << 61];

fn within(before: u64, more: usize, most: u64) -> bool {
    before.checked_add(more as u64).is_some_and(|all| all <= most)
}

/// Fills the table as far as a message of `bytes` bytes takes: a short message does not pay for the powers of a long one.
///
/// # Safety
/// The instructions of the key's level are in force.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn extend(key: &AesKey, table: &mut Table, bytes: usize) {
    if !table.has(bytes / 16) {
        // SAFETY: the caller has the instructions of the key's level in force, which are those of the kernel that `wide!` chooses.
        unsafe { wide!(key, gcm_extend(table, bytes / 16)) };
    }
}

impl Gcm {
    /// Sets the key.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set_encrypt(key)?;
        self.set_engine(key, None);
        Ok(())
    }

    /// Sets the key, and for hash key what is given, which need not be the key's own.
    ///
    /// # Errors
    /// As for [`Gcm::set_key`].
    #[inline]
    pub fn set_keys(&mut self, key: &[u8], subkey: &[u8; 16]) -> Result<(), Error> {
        self.key.set_encrypt(key)?;
        self.set_engine(key, Some(subkey));
        Ok(())
    }

    /// A whole message under a key of which nothing is kept, and its tag: of a few bytes in less time than with the steps one by one.
    /// Decrypting, what comes out is not authenticated until the tag has been compared.
    ///
    /// # Errors
    /// As for [`Gcm::set_key`], [`Gcm::aad`] and [`Gcm::encrypt`].
    ///
    /// # Panics
    /// If the IV is empty.
    #[inline]
    pub fn once(
        key: &[u8],
        encrypt: bool,
        iv: &[u8],
        aad: &[u8],
        io: InOut<'_>,
        tag: &mut [u8; TAG],
    ) -> Result<(), Error> {
        let mut gcm = Gcm::default();
        gcm.key.set_encrypt(key)?;
        #[cfg(target_arch = "x86_64")]
        if let Ok(iv) = iv.try_into()
            && aad.len().max(io.len()) <= gcm_once::MOST
            && gcm.key.vector()
        {
            // SAFETY: VPCLMULQDQ is in force, and with it PCLMULQDQ.
            *tag = unsafe { gcm_once::message(gcm.key.keys(), encrypt, iv, aad, io) };
            return Ok(());
        }
        gcm.set_engine(key, None);
        gcm.set_iv(iv);
        gcm.aad(aad)?;
        gcm.crypt(encrypt, io)?;
        *tag = gcm.tag();
        Ok(())
    }

    /// Makes all that a long message needs of the key, for [`Gcm::message`].
    pub fn prepare(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if let Engine::Vector(table) = &mut self.engine {
            // SAFETY: the instructions are in force.
            unsafe { extend(&self.key, table, usize::MAX) };
        }
    }

    /// A whole message under the key, which is only read: several may be under way at once. Decrypting, what comes out is not authenticated
    /// until the tag has been compared.
    ///
    /// # Errors
    /// As for [`Gcm::aad`] and [`Gcm::encrypt`].
    ///
    /// # Panics
    /// If no key is set or the IV is empty, and if the key was not [prepared](Gcm::prepare).
    #[inline]
    pub fn message(
        &self,
        encrypt: bool,
        iv: &[u8],
        aad: &[u8],
        io: InOut<'_>,
        tag: &mut [u8; TAG],
    ) -> Result<(), Error> {
        #[cfg(target_arch = "x86_64")]
        if let Engine::Vector(table) = &self.engine {
            assert!(table.has(usize::MAX) && !iv.is_empty());
            if let Ok(iv) = iv.try_into()
                && aad.len().max(io.len()) <= gcm_once::MOST
            {
                // SAFETY: VPCLMULQDQ is in force, and with it PCLMULQDQ.
                *tag = unsafe { gcm_once::message(self.key.keys(), encrypt, iv, aad, io) };
                return Ok(());
            }
            if !within(0, aad.len(), MOST[1]) || !within(0, io.len(), MOST[0]) {
                return Err(Error::Failed("AES-GCM"));
            }
            let mut message = Message::default();
            // SAFETY: the instructions are in force.
            unsafe {
                wide!(self.key, gcm_start(self.key.keys(), table, &mut message, iv));
                wide!(self.key, gcm_aad(table, &mut message, aad));
                wide!(self.key, gcm_crypt(self.key.keys(), encrypt, table, &mut message, io));
                *tag = wide!(self.key, gcm_tag(table, &mut message));
            }
            return Ok(());
        }
        // The other engines keep the message with the key's tables.
        let mut own = self.clone();
        own.set_iv(iv);
        own.aad(aad)?;
        own.crypt(encrypt, io)?;
        *tag = own.tag();
        Ok(())
    }

    /// Chooses what runs for the key that has been set, and makes the hash key where none is given.
    fn set_engine(&mut self, key: &[u8], subkey: Option<&[u8; 16]>) {
        #[cfg(target_arch = "x86_64")]
        if self.key.vector() {
            // Made where it stays: a copy on the stack would not be wiped, and costs as much as a short message.
            match &mut self.engine {
                Engine::Vector(_) => self.message = Message::default(),
                // SAFETY: nothing is to be dropped of what stands there.
                Engine::None => unsafe { (&raw mut self.engine).write(Engine::Vector(Table::default())) },
                Engine::Library(_) | Engine::Assist(..) => self.engine = Engine::Vector(Table::default()),
            }
            if let Engine::Vector(table) = &mut self.engine {
                // SAFETY: the instructions are in force.
                unsafe { wide!(self.key, gcm_table(self.key.keys(), subkey, table)) };
            }
            return;
        }
        if let Some(here) = cpacf::here()
            && let Some(mut gcm) = adjunct_kernels::cpacf::Gcm::new(&here, key)
        {
            if let Some(subkey) = subkey {
                gcm.set_subkey(subkey);
            }
            self.engine = Engine::Assist(here, gcm);
            return;
        }
        let features = crate::features();
        let hardware = features.has(Feature::Aes) || features.has(Feature::ArmAes);
        self.engine = Engine::Library(AwsLcGcm::new(hardware));
        if let Engine::Library(ctx) = &mut self.engine {
            // SAFETY: the schedule was just made, by the code that the context is for.
            unsafe { ctx.init(self.key.raw(), subkey) };
        }
    }

    /// Encrypts one block with the key.
    #[inline]
    pub fn encrypt_block(&self, block: &mut [u8; 16]) {
        self.key.encrypt_block(block);
    }

    /// Begins a message. The key must have been set.
    ///
    /// # Panics
    /// If no key is set or the IV is empty.
    #[inline]
    pub fn set_iv(&mut self, iv: &[u8]) {
        assert!(!iv.is_empty());
        match &mut self.engine {
            // SAFETY: the instructions are in force.
            #[cfg(target_arch = "x86_64")]
            Engine::Vector(table) => unsafe {
                if iv.len() != 12 {
                    extend(&self.key, table, iv.len());
                }
                wide!(self.key, gcm_start(self.key.keys(), table, &mut self.message, iv));
            },
            Engine::Assist(here, gcm) => assert!(gcm.start(here, iv).is_ok(), "AES-GCM by CPACF"),
            // SAFETY: the context has its key of this schedule.
            Engine::Library(ctx) => unsafe { ctx.set_iv(self.key.raw(), iv) },
            Engine::None => panic!("no key"),
        }
    }

    /// Adds additional data; all of it comes before the message.
    ///
    /// # Errors
    /// [`Error::Failed`] after the message has begun, or beyond 2^61 bytes.
    #[inline]
    pub fn aad(&mut self, data: &[u8]) -> Result<(), Error> {
        let done = match &mut self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Vector(table) => {
                let message = &mut self.message;
                let right = message.text() == 0 && within(message.aad(), data.len(), MOST[1]);
                if right {
                    // SAFETY: the instructions are in force.
                    unsafe {
                        extend(&self.key, table, data.len());
                        wide!(self.key, gcm_aad(table, message, data));
                    };
                }
                right
            }
            Engine::Assist(here, gcm) => {
                gcm.text_length() == 0 && within(gcm.aad_length(), data.len(), MOST[1]) && gcm.aad(here, data).is_ok()
            }
            // SAFETY: the context has a key.
            Engine::Library(ctx) => unsafe { ctx.aad(data) },
            Engine::None => false,
        };
        if done { Ok(()) } else { Err(Error::Failed("AES-GCM additional data")) }
    }

    /// Encrypts the next piece of the message.
    ///
    /// # Errors
    /// [`Error::Failed`] beyond 2^36 - 32 bytes.
    #[inline]
    pub fn encrypt(&mut self, io: InOut<'_>) -> Result<(), Error> {
        self.crypt(true, io)
    }

    /// Decrypts the next piece of the message. What comes out is not authenticated until the tag has been compared.
    ///
    /// # Errors
    /// [`Error::Failed`] beyond 2^36 - 32 bytes.
    #[inline]
    pub fn decrypt(&mut self, io: InOut<'_>) -> Result<(), Error> {
        self.crypt(false, io)
    }

    #[inline]
    fn crypt(&mut self, encrypting: bool, io: InOut<'_>) -> Result<(), Error> {
        let done = match &mut self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Vector(table) => {
                let message = &mut self.message;
                let right = within(message.text(), io.len(), MOST[0]);
                if right {
                    // SAFETY: the instructions are in force.
                    unsafe {
                        extend(&self.key, table, io.len());
                        wide!(self.key, gcm_crypt(self.key.keys(), encrypting, table, message, io));
                    };
                }
                right
            }
            Engine::Assist(here, gcm) => {
                within(gcm.text_length(), io.len(), MOST[0]) && gcm.crypt(here, encrypting, io).is_ok()
            }
            // SAFETY: the context has its key of this schedule.
            Engine::Library(ctx) => unsafe { ctx.crypt(self.key.raw(), encrypting, io) },
            Engine::None => false,
        };
        if done { Ok(()) } else { Err(Error::Failed("AES-GCM")) }
    }

    /// Goes on with a message of which the next counter block and the hash so far are known. Additional data may follow, then text;
    /// the lengths count from here, so that only [`Gcm::progress`] can end it.
    ///
    /// # Panics
    /// If no key is set.
    #[inline]
    pub fn resume(&mut self, counter: &[u8; 16], hash: &[u8; 16]) {
        match &mut self.engine {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instructions are in force.
            Engine::Vector(_) => unsafe { wide!(self.key, gcm_resume(&mut self.message, counter, hash)) },
            Engine::Assist(_, gcm) => gcm.resume(counter, hash),
            Engine::Library(ctx) => ctx.resume(counter, hash),
            Engine::None => panic!("no key"),
        }
    }

    /// The next counter block and the hash after whole blocks of additional data and text.
    ///
    /// # Panics
    /// If no key is set.
    #[inline]
    pub fn progress(&self) -> ([u8; 16], [u8; 16]) {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Vector(_) => {
                let (mut counter, mut hash) = ([0; 16], [0; 16]);
                // SAFETY: the instructions are in force.
                unsafe { wide!(self.key, gcm_progress(&self.message, &mut counter, &mut hash)) };
                (counter, hash)
            }
            Engine::Assist(_, gcm) => gcm.progress(),
            Engine::Library(ctx) => ctx.progress(),
            Engine::None => panic!("no key"),
        }
    }

    /// Ends the message and gives its tag.
    ///
    /// # Panics
    /// If no key is set.
    #[inline]
    pub fn tag(&mut self) -> [u8; TAG] {
        match &mut self.engine {
            // SAFETY: the instructions are in force.
            #[cfg(target_arch = "x86_64")]
            Engine::Vector(table) => unsafe {
                if self.message.begun() {
                    extend(&self.key, table, 32);
                }
                wide!(self.key, gcm_tag(table, &mut self.message))
            },
            Engine::Assist(here, gcm) => gcm.tag(here).expect("AES-GCM by CPACF"),
            // SAFETY: the context has a key.
            Engine::Library(ctx) => unsafe { ctx.tag() },
            Engine::None => panic!("no key"),
        }
    }
}
