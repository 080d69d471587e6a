//! The width of a vector: what the modes need of 512 and of 256 bits, so that each mode is written once.
//!
//! A mode is a function over a [`Width`], inlined into the public functions of both widths; only those name the
//! instructions they need, as target features. So the methods here are safe where such a function called them, and
//! nothing else can: the trait does not leave this crate.

use std::arch::asm;
use std::arch::x86_64::*;

/// A vector of whole blocks of 16 bytes.
pub trait Width: Copy {
    /// Bytes of a vector.
    const BYTES: usize;
    /// Whether the exclusive or of three is one instruction.
    const XOR3: bool;

    /// All bits zero.
    fn zero() -> Self;
    /// A block in every lane.
    fn broadcast(block: __m128i) -> Self;
    /// Loads the blocks that begin at `from`.
    ///
    /// # Safety
    /// [`Width::BYTES`] can be read.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes the blocks to memory.
    ///
    /// # Safety
    /// [`Width::BYTES`] can be written.
    unsafe fn store(self, to: *mut u8);
    /// The first `len` bytes at `from`, whole blocks, at most a vector; zeros behind them.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn load_part(from: *const u8, len: usize) -> Self;
    /// The first `len` bytes to memory, whole blocks, at most a vector.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn store_part(self, to: *mut u8, len: usize);

    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Exclusive or of three.
    fn xor3(self, b: Self, c: Self) -> Self;
    /// The bits both have.
    fn and(self, other: Self) -> Self;
    /// Exclusive or with the bits that the other two both have.
    fn xor_and(self, b: Self, c: Self) -> Self;
    /// A round of encryption.
    fn enc(self, key: Self) -> Self;
    /// The last round of encryption.
    fn enc_last(self, key: Self) -> Self;
    /// A round of the equivalent inverse cipher.
    fn dec(self, key: Self) -> Self;
    /// The last round of the equivalent inverse cipher.
    fn dec_last(self, key: Self) -> Self;

    /// The vector that begins one block earlier: the last block of `before`, then this without its last.
    fn delayed(self, before: Self) -> Self;
    /// The bytes of each block in reverse order.
    fn reversed(self) -> Self;
    /// The halves of each block exchanged.
    fn halves_exchanged(self) -> Self;
    /// The lower halves of the blocks here, below those of the other's.
    fn lower_halves(self, other: Self) -> Self;
    /// The upper halves of the blocks here, below those of the other's.
    fn upper_halves(self, other: Self) -> Self;
    /// Sums of quarters: 32-bit words.
    fn add32(self, other: Self) -> Self;
    /// Sums of halves: 64-bit words.
    fn add64(self, other: Self) -> Self;
    /// Makes a vector of the first `halves`, as many as there is room for, the lowest first.
    fn of(halves: [i64; 8]) -> Self;
    /// Each block moved up by `N` bytes.
    fn up<const N: i32>(self) -> Self;
    /// Each block moved down by `N` bytes.
    fn down<const N: i32>(self) -> Self;
    /// Each half shifted up by as many bits as the same half of `by` says; 64 or more give zero.
    fn up_bits(self, by: Self) -> Self;
    /// Each half shifted down by as many bits as the same half of `by` says; 64 or more give zero.
    fn down_bits(self, by: Self) -> Self;
    /// Carry-less products of a half of each block of `self` (bit 0 of `HALVES`: the high one) and a half of the same block of `other` (bit 4).
    fn multiply<const HALVES: i32>(self, other: Self) -> Self;
    /// The exclusive or of all blocks.
    fn folded(self) -> __m128i;
    /// The first block.
    fn first(self) -> __m128i;
    /// A first block, zeros behind it.
    fn from_first(block: __m128i) -> Self;
    /// Makes a vector of the last of these blocks, as many as there is room for.
    fn joined(blocks: [__m128i; 4]) -> Self;
    /// The first `len` bytes, whole blocks, at most a vector; zeros behind them.
    fn keep(self, len: usize) -> Self;
    /// An empty barrier for the compiler: all of these are computed before it and used only after it, so that the order of instructions in the source
    /// is kept.
    fn pin(vectors: &mut [Self; 8], more: [&mut Self; 3]);
}

/// Writes the methods that are one instruction.
macro_rules! instructions {
    ($($name:ident($($argument:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $argument: Self)*) -> Self {
            // SAFETY: the public function that this method is inlined into has this instruction among its target features.
            unsafe { $intrinsic(self $(, $argument)*) }
        }
    )*};
}

impl Width for __m512i {
    const BYTES: usize = 64;
    const XOR3: bool = true;

    instructions! {
        xor(other) = _mm512_xor_si512;
        and(other) = _mm512_and_si512;
        enc(key) = _mm512_aesenc_epi128;
        enc_last(key) = _mm512_aesenclast_epi128;
        dec(key) = _mm512_aesdec_epi128;
        dec_last(key) = _mm512_aesdeclast_epi128;
        lower_halves(other) = _mm512_unpacklo_epi64;
        upper_halves(other) = _mm512_unpackhi_epi64;
        add32(other) = _mm512_add_epi32;
        add64(other) = _mm512_add_epi64;
        up_bits(by) = _mm512_sllv_epi64;
        down_bits(by) = _mm512_srlv_epi64;
    }

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    fn broadcast(block: __m128i) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_broadcast_i32x4(block) }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller gives 64 bytes to read; the load needs no alignment.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller gives 64 bytes to write; the store needs no alignment.
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const u8, len: usize) -> Self {
        // SAFETY: the caller gives `len` bytes to read; a masked load does not touch the words behind them.
        unsafe {
            if len == 64 {
                return Self::load(from);
            }
            _mm512_maskz_loadu_epi64(((1u32 << (len / 8)) - 1) as u8, from.cast())
        }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, len: usize) {
        // SAFETY: the caller gives `len` bytes to write; a masked store does not touch the words behind them.
        unsafe {
            // What is stored under a mask cannot be read before it has reached the cache.
            if len == 64 {
                return self.store(to);
            }
            _mm512_mask_storeu_epi64(to.cast(), ((1u32 << (len / 8)) - 1) as u8, self)
        }
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_ternarylogic_epi64::<0x96>(self, b, c) }
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_ternarylogic_epi64::<0x78>(self, b, c) }
    }
    #[inline(always)]
    fn delayed(self, before: Self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_alignr_epi64::<6>(self, before) }
    }
    #[inline(always)]
    fn reversed(self) -> Self {
        // SAFETY: the public function that this method is inlined into has these instructions among its target features.
        unsafe { _mm512_shuffle_epi8(self, Self::broadcast(REVERSE)) }
    }
    #[inline(always)]
    fn halves_exchanged(self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_shuffle_epi32::<0x4e>(self) }
    }
    #[inline(always)]
    fn of(halves: [i64; 8]) -> Self {
        // SAFETY: 64 bytes.
        unsafe { Self::load(halves.as_ptr().cast()) }
    }
    #[inline(always)]
    fn up<const N: i32>(self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_bslli_epi128::<N>(self) }
    }
    #[inline(always)]
    fn down<const N: i32>(self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_bsrli_epi128::<N>(self) }
    }
    #[inline(always)]
    fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_clmulepi64_epi128::<HALVES>(self, other) }
    }
    #[inline(always)]
    fn first(self) -> __m128i {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_castsi512_si128(self) }
    }
    #[inline(always)]
    fn from_first(block: __m128i) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_zextsi128_si512(block) }
    }
    #[inline(always)]
    fn joined([a, b, c, d]: [__m128i; 4]) -> Self {
        // SAFETY: the public function that this method is inlined into has these instructions among its target features.
        unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(_mm256_set_m128i(b, a)), _mm256_set_m128i(d, c)) }
    }
    #[inline(always)]
    fn keep(self, len: usize) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm512_maskz_mov_epi64(((1u32 << (len / 8)) - 1) as u8, self) }
    }
    #[inline(always)]
    fn pin(vectors: &mut [Self; 8], more: [&mut Self; 3]) {
        // SAFETY: the public function that this method is inlined into has AVX-512F among its target features, as `pin_512` needs.
        unsafe { pin_512(vectors, more) }
    }
    #[inline(always)]
    fn folded(self) -> __m128i {
        // SAFETY: the public function that this method is inlined into has these instructions among its target features.
        unsafe {
            let low = _mm512_castsi512_si256(self);
            Width::folded(_mm256_xor_si256(low, _mm512_extracti64x4_epi64::<1>(self)))
        }
    }
}

impl Width for __m256i {
    const BYTES: usize = 32;
    const XOR3: bool = false;

    instructions! {
        xor(other) = _mm256_xor_si256;
        and(other) = _mm256_and_si256;
        enc(key) = _mm256_aesenc_epi128;
        enc_last(key) = _mm256_aesenclast_epi128;
        dec(key) = _mm256_aesdec_epi128;
        dec_last(key) = _mm256_aesdeclast_epi128;
        lower_halves(other) = _mm256_unpacklo_epi64;
        upper_halves(other) = _mm256_unpackhi_epi64;
        add32(other) = _mm256_add_epi32;
        add64(other) = _mm256_add_epi64;
        up_bits(by) = _mm256_sllv_epi64;
        down_bits(by) = _mm256_srlv_epi64;
    }

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_setzero_si256() }
    }
    #[inline(always)]
    fn broadcast(block: __m128i) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_broadcastsi128_si256(block) }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller gives 32 bytes to read; the load needs no alignment.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller gives 32 bytes to write; the store needs no alignment.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const u8, len: usize) -> Self {
        // SAFETY: the caller gives `len` bytes to read: none, one block, or a vector of two.
        unsafe {
            match len / 16 {
                0 => Self::zero(),
                1 => _mm256_zextsi128_si256(_mm_loadu_si128(from.cast())),
                _ => Self::load(from),
            }
        }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, len: usize) {
        // SAFETY: the caller gives `len` bytes to write: none, one block, or a vector of two.
        unsafe {
            match len / 16 {
                0 => {}
                1 => _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(self)),
                _ => self.store(to),
            }
        }
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        self.xor(b.and(c))
    }
    #[inline(always)]
    fn delayed(self, before: Self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_permute2x128_si256::<0x21>(before, self) }
    }
    #[inline(always)]
    fn reversed(self) -> Self {
        // SAFETY: the public function that this method is inlined into has these instructions among its target features.
        unsafe { _mm256_shuffle_epi8(self, Self::broadcast(REVERSE)) }
    }
    #[inline(always)]
    fn halves_exchanged(self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_shuffle_epi32::<0x4e>(self) }
    }
    #[inline(always)]
    fn of(halves: [i64; 8]) -> Self {
        // SAFETY: the first 32 of 64 bytes.
        unsafe { Self::load(halves.as_ptr().cast()) }
    }
    #[inline(always)]
    fn up<const N: i32>(self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_bslli_epi128::<N>(self) }
    }
    #[inline(always)]
    fn down<const N: i32>(self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_bsrli_epi128::<N>(self) }
    }
    #[inline(always)]
    fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_clmulepi64_epi128::<HALVES>(self, other) }
    }
    #[inline(always)]
    fn first(self) -> __m128i {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_castsi256_si128(self) }
    }
    #[inline(always)]
    fn from_first(block: __m128i) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_zextsi128_si256(block) }
    }
    #[inline(always)]
    fn joined([_, _, c, d]: [__m128i; 4]) -> Self {
        // SAFETY: the public function that this method is inlined into has this instruction among its target features.
        unsafe { _mm256_set_m128i(d, c) }
    }
    #[inline(always)]
    fn keep(self, len: usize) -> Self {
        // One block or two.
        if len >= 32 { self } else { Self::from_first(self.first()) }
    }
    #[inline(always)]
    fn pin(vectors: &mut [Self; 8], more: [&mut Self; 3]) {
        // SAFETY: the public function that this method is inlined into has AVX2 among its target features, as `pin_256` needs.
        unsafe { pin_256(vectors, more) }
    }
    #[inline(always)]
    fn folded(self) -> __m128i {
        // SAFETY: the public function that this method is inlined into has these instructions among its target features.
        unsafe { _mm_xor_si128(_mm256_castsi256_si128(self), _mm256_extracti128_si256::<1>(self)) }
    }
}

/// Writes [`Width::pin`] as a function that names its instructions, as the registers of `asm!` need.
macro_rules! pin {
    ($name:ident, $vector:ident, $class:ident, $feature:literal) => {
        #[inline]
        #[target_feature(enable = $feature)]
        fn $name(vectors: &mut [$vector; 8], more: [&mut $vector; 3]) {
            let [a, b, c, d, e, f, g, h] = vectors;
            let [x, y, z] = more;
            // SAFETY: no instruction at all.
            unsafe {
                asm!(
                    "/* {} {} {} {} {} {} {} {} {} {} {} */",
                    inout($class) * a,
                    inout($class) * b,
                    inout($class) * c,
                    inout($class) * d,
                    inout($class) * e,
                    inout($class) * f,
                    inout($class) * g,
                    inout($class) * h,
                    inout($class) * x,
                    inout($class) * y,
                    inout($class) * z,
                    options(nomem, nostack, preserves_flags)
                );
            }
        }
    };
}
pin!(pin_512, __m512i, zmm_reg, "avx512f");
pin!(pin_256, __m256i, ymm_reg, "avx2");

/// The shuffle that reverses a block.
// SAFETY: 16 bytes either way.
pub const REVERSE: __m128i = unsafe { std::mem::transmute([15u8, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]) };
