//! AES in the simple modes.

use super::simple::Table;
use super::state::{Info, Mode, State, mode};
use crate::abi::Dispatch;
use adjunct::InOut;
use adjunct::awslc::cipher::AesKey;
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
}

macro_rules! tables {
    ($($name:ident $table:ident $mode:ident $bits:literal;)*) => {
        $(pub(super) static $name: [Dispatch; 15] = Table::<$mode<$bits>>::$table;)*
    };
}

tables! {
    ECB128 BLOCK Ecb 128; ECB192 BLOCK Ecb 192; ECB256 BLOCK Ecb 256;
    CBC128 BLOCK Cbc 128; CBC192 BLOCK Cbc 192; CBC256 BLOCK Cbc 256;
    CTR128 STREAM Ctr 128; CTR192 STREAM Ctr 192; CTR256 STREAM Ctr 256;
}
