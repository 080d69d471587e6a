//! AES in the simple modes.

use super::simple::Table;
use super::state::{Info, Mode, State, mode};
use crate::abi::Dispatch;
use adjunct::InOut;
use adjunct::adapter::cpu::awslc::cipher::AesKey;
use adjunct::catalogue::Function;

macro_rules! modes {
    ($($name:ident $function:ident $mode:ident $block:literal $iv:literal $doc:literal,
       $key:ident($decrypts:expr), |$this:ident, $state:ident, $io:ident| $run:expr;)*) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Default)]
        pub struct $name<const BITS: usize>(AesKey);

        impl<const BITS: usize> Mode for $name<BITS> {
            const INFO: Info = Info::plain(mode::$mode, BITS / 8, $block, $iv);
            const FUNCTION: Function = Function::$function;
            const BITS: usize = BITS;

            fn set_key(&mut self, key: &[u8], encrypt: bool) -> bool {
                let done = if !encrypt && $decrypts { self.0.set_decrypt(key) } else { self.0.set_encrypt(key) };
                done.is_ok()
            }

            #[inline]
            fn run(&mut self, $state: &mut State, $io: InOut<'_>) {
                let $this = &self.0;
                $run
            }
        }
    )*};
}

modes! {
    Ecb AesEcb ECB 16 0 "AES-ECB.", aes(true), |key, state, io| key.ecb(state.encrypt, io);
    Cbc AesCbc CBC 16 16 "AES-CBC.", aes(true), |key, state, io| key.cbc(state.encrypt, &mut state.iv, io);
    Ctr AesCtr CTR 1 16 "AES-CTR.", aes(false),
        |key, state, io| key.ctr(&mut state.iv, &mut state.buffer, &mut state.num, io);
    Cfb AesCfb CFB 1 16 "AES-CFB with 128-bit segments.", aes(false),
        |key, state, io| key.cfb(state.encrypt, &mut state.iv, &mut state.num, io);
    Cfb8 AesCfb CFB 1 16 "AES-CFB with 8-bit segments.", aes(false),
        |key, state, io| key.cfb8(state.encrypt, &mut state.iv, io);
    Cfb1 AesCfb CFB 1 16 "AES-CFB with 1-bit segments.", aes(false), |key, state, io| cfb1(key, state, io);
    Ofb AesOfb OFB 1 16 "AES-OFB.", aes(false), |key, state, io| key.ofb(&mut state.iv, &mut state.num, io);
}

/// With `use-bits` the length a caller gives is in bits, and the buffers are as long as those need.
fn cfb1(key: &AesKey, state: &mut State, io: InOut<'_>) {
    let bits = if state.use_bits { io.len() } else { io.len() * 8 };
    // SAFETY: shorter than what was given.
    let io = unsafe { InOut::from_raw(io.input(), io.output(), bits.div_ceil(8)) };
    key.cfb1(state.encrypt, &mut state.iv, bits, io);
}

macro_rules! tables {
    ($($name:ident $table:ident $mode:ident $bits:literal;)*) => {
        $(pub(super) static $name: [Dispatch; 15] = Table::<$mode<$bits>>::$table;)*
    };
}

tables! {
    ECB128 BLOCK Ecb 128; ECB192 BLOCK Ecb 192; ECB256 BLOCK Ecb 256;
    CBC128 BLOCK Cbc 128; CBC192 BLOCK Cbc 192; CBC256 BLOCK Cbc 256;
    CFB128 STREAM Cfb 128; CFB192 STREAM Cfb 192; CFB256 STREAM Cfb 256;
    CFB8_128 STREAM Cfb8 128; CFB8_192 STREAM Cfb8 192; CFB8_256 STREAM Cfb8 256;
    CFB1_128 STREAM Cfb1 128; CFB1_192 STREAM Cfb1 192; CFB1_256 STREAM Cfb1 256;
    OFB128 STREAM Ofb 128; OFB192 STREAM Ofb 192; OFB256 STREAM Ofb 256;
    CTR128 STREAM Ctr 128; CTR192 STREAM Ctr 192; CTR256 STREAM Ctr 256;
}
