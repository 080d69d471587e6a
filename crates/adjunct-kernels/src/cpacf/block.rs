//! Parameter blocks, as the Principles of Operation lay them out. All fields are bytes: big-endian numbers, keys, chaining
//! values. A key that is not the longest fills the beginning of its field, which is the block's last.

use crate::opaque_debug;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The longest key in bytes.
pub(super) const MAX_KEY: usize = 32;
/// The longest block of a cipher in bytes.
const MAX_BLOCK: usize = 16;

/// KM, KMCTR: the key alone.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct KeyBlock {
    /// The key of DES (8 bytes), triple DES (24) or AES (16, 24, 32).
    pub key: [u8; MAX_KEY],
}

/// Parameter block of KMC, KMF, KMO and KMAC: a chaining value, as long as the cipher's block, which the instruction replaces by the next one; and
/// the key right behind it.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct ChainBlock([u8; MAX_BLOCK + MAX_KEY]);

impl ChainBlock {
    /// Makes the block of a chaining value and a key.
    pub fn new(chain: &[u8], key: &[u8]) -> ChainBlock {
        let mut block = ChainBlock([0; MAX_BLOCK + MAX_KEY]);
        block.0[..chain.len()].copy_from_slice(chain);
        block.0[chain.len()..][..key.len()].copy_from_slice(key);
        block
    }

    /// The chaining value, of `length` bytes.
    pub fn chain(&self, length: usize) -> &[u8] {
        &self.0[..length]
    }
}

/// KM for XTS: the key of the data, `K` bytes, and the parameter that a block is masked with.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct XtsBlock<const K: usize> {
    /// The key of the data.
    pub key: [u8; K],
    /// The XTS parameter of the first block; becomes that of the next.
    pub parameter: [u8; 16],
}

/// PCC for XTS: computes the parameter of a block of a data unit.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct XtsParameterBlock<const K: usize> {
    /// The key of the tweak.
    pub key: [u8; K],
    /// The data unit's number, the tweak.
    pub tweak: [u8; 16],
    /// The number of the block within the unit.
    pub block: [u8; 16],
    /// How far the work has come; zero at the beginning.
    pub bit: [u8; 16],
    /// The XTS parameter.
    pub parameter: [u8; 16],
}

/// PCC for CMAC: the last block of a message, which may be short, or empty.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct CmacBlock<const B: usize> {
    /// How many bits of `message` there are.
    pub length: u8,
    /// Zeros.
    pub reserved: [u8; 7],
    /// The last block, from the left.
    pub message: [u8; B],
    /// The chaining value of the blocks before; becomes the MAC.
    pub chain: [u8; B],
    /// The key.
    pub key: [u8; MAX_KEY],
}

/// KMA for AES-GCM.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct GcmBlock {
    /// Zeros.
    pub reserved: [u8; 12],
    /// The counter of the block before the next, its lowest 32 bits.
    pub counter: [u8; 4],
    /// The hash so far; becomes the tag.
    pub tag: [u8; 16],
    /// The hash subkey.
    pub subkey: [u8; 16],
    /// The length of all additional data in bits.
    pub aad_bits: [u8; 8],
    /// The length of all text in bits.
    pub text_bits: [u8; 8],
    /// The first counter block, J0.
    pub first: [u8; 16],
    /// The key.
    pub key: [u8; MAX_KEY],
}

/// KIMD for SHA-1 (20 bytes of state), SHA-256 (32), SHA-512 (64), SHA-3 and SHAKE (200). The state of the latter is in the
/// order of FIPS 202's bytes.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct DigestBlock<const S: usize> {
    /// The state.
    pub state: [u8; S],
}

/// KLMD for SHA-1, SHA-256 and SHA-512: the state, and the message's length in bits in 8, 8 or 16 bytes. For SHA-3 there are
/// none.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct LastDigestBlock<const S: usize, const L: usize> {
    /// The state; becomes the digest.
    pub state: [u8; S],
    /// The whole message's length in bits.
    pub bits: [u8; L],
}

/// KIMD for GHASH.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct GhashBlock {
    /// The hash so far.
    pub hash: [u8; 16],
    /// The hash subkey.
    pub subkey: [u8; 16],
}

/// PRNO's Hash_DRBG over SHA-512 (SP 800-90A, 10.1.1).
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C)]
pub struct DrbgBlock {
    /// Zeros.
    pub reserved: [u8; 4],
    /// The number of the next request since the last seed, from 1.
    pub reseed_counter: [u8; 4],
    /// How many bytes there were.
    pub stream_bytes: [u8; 8],
    /// V, 111 bytes after one of zero.
    pub value: [u8; 112],
    /// C, 111 bytes after one of zero.
    pub constant: [u8; 112],
}

impl DrbgBlock {
    /// Makes the block of a seeded generator whose next request has the number `request`.
    pub fn new(value: &[u8; 111], constant: &[u8; 111], request: u32) -> DrbgBlock {
        let mut block = DrbgBlock {
            reserved: [0; 4],
            reseed_counter: request.to_be_bytes(),
            stream_bytes: [0; 8],
            value: [0; 112],
            constant: [0; 112],
        };
        block.value[1..].copy_from_slice(value);
        block.constant[1..].copy_from_slice(constant);
        block
    }
}

/// The blocks of public-key functions: fields of one width from the beginning (PCC: the result's x and y, the point's x and y,
/// the scalar; KDSA: r, s, the digest, and the private key and the nonce or the public key's x and y), and the state of an
/// interrupted computation behind them, zeros at first.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(8))]
pub struct Page([u8; 4096]);

impl Default for Page {
    fn default() -> Page {
        Page([0; 4096])
    }
}

opaque_debug!(KeyBlock, ChainBlock, XtsBlock<const K>, XtsParameterBlock<const K>, CmacBlock<const B>, GcmBlock);
opaque_debug!(DigestBlock<const S>, LastDigestBlock<const S, const L>, GhashBlock, DrbgBlock, Page);

impl Page {
    /// The field of `width` bytes at place `index`.
    pub fn field(&self, width: usize, index: usize) -> &[u8] {
        &self.0[width * index..][..width]
    }

    /// Fills the right end of the field at place `index` with a big-endian number no longer than it.
    pub fn set(&mut self, width: usize, index: usize, number: &[u8]) {
        self.0[width * (index + 1) - number.len()..][..number.len()].copy_from_slice(number);
    }

    /// Fills the right end of the field with a little-endian number.
    pub fn set_reversed(&mut self, width: usize, index: usize, number: &[u8]) {
        let field = &mut self.0[width * (index + 1) - number.len()..][..number.len()];
        field.iter_mut().zip(number.iter().rev()).for_each(|(to, from)| *to = *from);
    }

    /// Works on a field in place.
    pub fn change(&mut self, width: usize, index: usize, work: impl FnOnce(&mut [u8])) {
        work(&mut self.0[width * index..][..width]);
    }

    /// The right end of the field, a big-endian number.
    pub fn get(&self, width: usize, index: usize, number: &mut [u8]) {
        number.copy_from_slice(&self.field(width, index)[width - number.len()..]);
    }

    /// The right end of the field as a little-endian number.
    pub fn get_reversed(&self, width: usize, index: usize, number: &mut [u8]) {
        self.get(width, index, number);
        number.reverse();
    }
}

const _: () = {
    assert!(size_of::<KeyBlock>() == 32);
    assert!(size_of::<ChainBlock>() == 16 + 32);
    assert!(size_of::<XtsBlock<16>>() == 32 && size_of::<XtsBlock<32>>() == 48);
    assert!(size_of::<XtsParameterBlock<16>>() == 80 && size_of::<XtsParameterBlock<32>>() == 96);
    assert!(size_of::<CmacBlock<8>>() == 24 + 32 && size_of::<CmacBlock<16>>() == 40 + 32);
    assert!(size_of::<GcmBlock>() == 80 + 32);
    assert!(size_of::<DigestBlock<200>>() == 200);
    assert!(size_of::<LastDigestBlock<20, 8>>() == 28);
    assert!(size_of::<LastDigestBlock<32, 8>>() == 40);
    assert!(size_of::<LastDigestBlock<64, 16>>() == 80);
    assert!(size_of::<GhashBlock>() == 32);
    assert!(size_of::<DrbgBlock>() == 240);
    assert!(size_of::<Page>() == 4096);
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn fields_lie_where_the_instructions_look_for_them() {
        assert_eq!(ChainBlock::new(&[1; 8], &[2; 24]).0, [[1; 8], [2; 8], [2; 8], [2; 8], [0; 8], [0; 8]].concat()[..]);
        assert_eq!(ChainBlock::new(&[1; 16], &[2; 32]).0, [[1; 16], [2; 16], [2; 16]].concat()[..]);
        assert_eq!(offset_of!(XtsBlock<16>, parameter), 16);
        assert_eq!(offset_of!(XtsBlock<32>, parameter), 32);
        assert_eq!(offset_of!(XtsParameterBlock<16>, tweak), 16);
        assert_eq!(offset_of!(XtsParameterBlock<32>, parameter), 80);
        assert_eq!(offset_of!(CmacBlock<8>, message), 8);
        assert_eq!(offset_of!(CmacBlock<8>, chain), 16);
        assert_eq!(offset_of!(CmacBlock<8>, key), 24);
        assert_eq!(offset_of!(CmacBlock<16>, chain), 24);
        assert_eq!(offset_of!(CmacBlock<16>, key), 40);
        assert_eq!(offset_of!(GcmBlock, counter), 12);
        assert_eq!(offset_of!(GcmBlock, tag), 16);
        assert_eq!(offset_of!(GcmBlock, subkey), 32);
        assert_eq!(offset_of!(GcmBlock, aad_bits), 48);
        assert_eq!(offset_of!(GcmBlock, text_bits), 56);
        assert_eq!(offset_of!(GcmBlock, first), 64);
        assert_eq!(offset_of!(GcmBlock, key), 80);
        assert_eq!(offset_of!(LastDigestBlock<64, 16>, bits), 64);
        assert_eq!(offset_of!(GhashBlock, subkey), 16);
        assert_eq!(offset_of!(DrbgBlock, stream_bytes), 8);
        assert_eq!(offset_of!(DrbgBlock, value), 16);
        assert_eq!(offset_of!(DrbgBlock, constant), 128);
    }

    #[test]
    fn a_page_takes_numbers_at_the_right_end_of_a_field() {
        let mut page = Page::default();
        page.set(80, 1, &[1, 2, 3]);
        assert_eq!(page.field(80, 1)[76..], [0, 1, 2, 3]);
        assert_eq!(page.0[157..160], [1, 2, 3]);
        page.set_reversed(64, 3, &[9, 8]);
        assert_eq!(page.0[254..256], [8, 9]);
        let mut number = [0; 2];
        page.get(64, 3, &mut number);
        assert_eq!(number, [8, 9]);
        page.get_reversed(64, 3, &mut number);
        assert_eq!(number, [9, 8]);
    }
}
