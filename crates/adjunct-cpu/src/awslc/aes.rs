//! AES: the library's key schedule, and its modes. No mode looks at what is in a schedule before it uses it: that it was made by [`set`], for
//! the direction that is asked for, is the caller's word.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::private;
use adjunct_kernels::InOut;
use aws_lc_sys as lc;
use std::ffi::c_int;

/// A key schedule.
pub(crate) type Schedule = lc::AES_KEY;

type Block = [u8; 16];

/// Makes the schedule of a key of 16, 24 or 32 bytes for one direction; whether that was done.
///
/// # Safety
/// `schedule` is valid for writes.
pub(crate) unsafe fn set(schedule: *mut Schedule, key: &[u8], encrypt: bool) -> bool {
    let function = if encrypt { lc::AES_set_encrypt_key } else { lc::AES_set_decrypt_key };
    // SAFETY: the key has the length given; the caller says that the schedule may be written.
    unsafe { function(key.as_ptr(), key.len() as u32 * 8, schedule) == 0 }
}

/// Works on one block in place.
///
/// # Safety
/// `schedule` was made by [`set`] for that direction.
#[inline]
pub(crate) unsafe fn block(schedule: *const Schedule, encrypt: bool, block: &mut Block) {
    let (run, p) = (if encrypt { lc::AES_encrypt } else { lc::AES_decrypt }, block.as_mut_ptr());
    // SAFETY: one block in place; the caller says that the schedule was made.
    unsafe { run(p, p, schedule) };
}

/// ECB over whole blocks.
///
/// # Safety
/// `schedule` was made by [`set`] for that direction.
pub(crate) unsafe fn ecb(schedule: *const Schedule, encrypt: bool, io: InOut<'_>) {
    let run = if encrypt { lc::AES_encrypt } else { lc::AES_decrypt };
    for at in (0..io.len() / 16 * 16).step_by(16) {
        // SAFETY: one block within the buffers; the caller says that the schedule was made.
        unsafe { run(io.input().add(at), io.output().add(at), schedule) };
    }
}

/// CBC over whole blocks; `iv` becomes the last ciphertext block.
///
/// # Safety
/// `schedule` was made by [`set`] for that direction.
pub(crate) unsafe fn cbc(schedule: *const Schedule, encrypt: bool, iv: &mut Block, io: InOut<'_>) {
    // SAFETY: buffers of the length given, and a block; the caller says that the schedule was made.
    unsafe { lc::AES_cbc_encrypt(io.input(), io.output(), io.len(), schedule, iv.as_mut_ptr(), encrypt.into()) };
}

/// CTR with a big-endian counter of 128 bits; a begun block of `keystream` continues at byte `used`, which is below 16.
///
/// # Safety
/// `schedule` was made by [`set`] for encryption.
pub(crate) unsafe fn ctr(
    schedule: *const Schedule,
    counter: &mut Block,
    keystream: &mut Block,
    used: &mut u32,
    io: InOut<'_>,
) {
    let (input, output, length) = (io.input(), io.output(), io.len());
    // SAFETY: buffers of the length given, and blocks; the caller says that the schedule was made, and `used` below 16.
    unsafe {
        lc::AES_ctr128_encrypt(input, output, length, schedule, counter.as_mut_ptr(), keystream.as_mut_ptr(), used);
    }
}

/// CFB from the begin of a segment of a block.
///
/// # Safety
/// `schedule` was made by [`set`] for encryption.
pub(crate) unsafe fn cfb(schedule: *const Schedule, encrypt: bool, iv: &mut Block, io: InOut<'_>) {
    let (mut num, enc) = (0, c_int::from(encrypt));
    // SAFETY: buffers of the length given, and a block; the caller says that the schedule was made.
    unsafe { lc::AES_cfb128_encrypt(io.input(), io.output(), io.len(), schedule, iv.as_mut_ptr(), &mut num, enc) };
}

/// CFB with segments of 8 bits.
///
/// # Safety
/// `schedule` was made by [`set`] for encryption.
pub(crate) unsafe fn cfb8(schedule: *const Schedule, encrypt: bool, iv: &mut Block, io: InOut<'_>) {
    let (mut num, enc) = (0, c_int::from(encrypt));
    // SAFETY: buffers of the length given, and a block; the caller says that the schedule was made.
    unsafe { lc::AES_cfb8_encrypt(io.input(), io.output(), io.len(), schedule, iv.as_mut_ptr(), &mut num, enc) };
}

/// CFB with segments of one bit, over `bits` bits.
///
/// # Safety
/// `schedule` was made by [`set`] for encryption, and the buffers hold that many bits.
pub(crate) unsafe fn cfb1(schedule: *const Schedule, encrypt: bool, iv: &mut Block, bits: usize, io: InOut<'_>) {
    let (mut num, enc) = (0, c_int::from(encrypt));
    // SAFETY: a block; the caller says that the schedule was made, and that the buffers hold the bits.
    unsafe { lc::AES_cfb1_encrypt(io.input(), io.output(), bits, schedule, iv.as_mut_ptr(), &mut num, enc) };
}

/// OFB from the begin of a block of key stream.
///
/// # Safety
/// `schedule` was made by [`set`] for encryption.
pub(crate) unsafe fn ofb(schedule: *const Schedule, iv: &mut Block, io: InOut<'_>) {
    let mut num = 0;
    // SAFETY: buffers of the length given, and a block; the caller says that the schedule was made.
    unsafe { lc::AES_ofb128_encrypt(io.input(), io.output(), io.len(), schedule, iv.as_mut_ptr(), &mut num) };
}

/// ECB over whole blocks by AES-NI: the public function takes one block a call, a quarter of the speed.
///
/// # Safety
/// `schedule` is one of AES-NI for that direction, which is in force.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn ecb_by_instructions(schedule: *const Schedule, encrypt: bool, io: InOut<'_>) {
    // SAFETY: buffers of the length given; the caller says that the schedule was made and AES-NI is in force.
    unsafe { private::aes_hw_ecb_encrypt(io.input(), io.output(), io.len(), schedule, encrypt.into()) };
}

/// Decrypts whole blocks in CBC by AES-NI; `iv` becomes the last ciphertext block.
///
/// # Safety
/// `schedule` is one of AES-NI for decryption, which is in force.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn cbc_decrypt_by_instructions(schedule: *const Schedule, iv: &mut Block, io: InOut<'_>) {
    // SAFETY: buffers of the length given, and a block; the caller says that the schedule was made and AES-NI is in force.
    unsafe { private::aes_hw_cbc_encrypt(io.input(), io.output(), io.len(), schedule, iv.as_mut_ptr(), 0) };
}

/// XTS over one data unit of a block or more, by AES instructions. The public API has XTS behind EVP_CIPHER and with 256-bit keys only; these
/// private functions take every key size on x86-64 (the AVX-512 ones beside them do not), and on arm64 AES-256 alone.
///
/// # Safety
/// `data` is a schedule of AES instructions for that direction and `tweak` one for encryption; they are in force.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) unsafe fn xts_by_instructions(
    data: *const Schedule,
    tweak: *const Schedule,
    encrypt: bool,
    iv: &Block,
    io: InOut<'_>,
) {
    let run = if encrypt { private::aes_hw_xts_encrypt } else { private::aes_hw_xts_decrypt };
    // SAFETY: buffers of the length given, and a block; the caller says that the schedules were made and the instructions are in force.
    unsafe { run(io.input(), io.output(), io.len(), data, tweak, iv.as_ptr()) };
}
