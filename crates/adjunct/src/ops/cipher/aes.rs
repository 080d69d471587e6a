//! AES in the modes of SP 800-38A, for [`super::Counted`].

use super::modes::{Read, Work};
use super::{Chain, Mode, Shared};
use crate::catalogue::Function;
use crate::error::Error;
use adjunct_card_protocol::secure;
use adjunct_cpu::cipher::aes::AesKey;
use adjunct_kernels::InOut;

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident $function:ident $block:literal [$($yes:ident)*] card [$($card:ident)?] decrypts $decrypts:literal,
       |$key:ident, $encrypt:ident, $chain:ident, $io:ident| $run:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $name(AesKey);

        impl Work for $name {
            #[inline]
            fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error> {
                let schedule = &mut self.0;
                if !encrypt && $decrypts { schedule.set_decrypt(key) } else { schedule.set_encrypt(key) }
            }

            #[inline(always)]
            fn run(&mut self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) {
                self.read(encrypt, chain, io);
            }
        }

        impl Read for $name {
            // So that a mode is given only what it uses of the chain: the rest need not go through memory.
            #[inline(always)]
            fn read(&self, $encrypt: bool, $chain: Chain<'_>, $io: InOut<'_>) {
                let $key = &self.0;
                $run
            }
        }

        impl Shared for $name {}

        impl Mode for $name {
            const FUNCTION: Function = Function::$function;
            const BLOCK: usize = $block;
            $(const $yes: bool = true;)*
            $(const CARD: Option<secure::Mode> = Some(secure::Mode::$card);)?
        }
    )*};
}

modes! {
    /// ECB.
    Ecb AesEcb 16 [] card [Ecb] decrypts true, |key, encrypt, _chain, io| key.ecb(encrypt, io);
    /// CBC.
    Cbc AesCbc 16 [] card [Cbc] decrypts true, |key, encrypt, chain, io| key.cbc(encrypt, chain.iv, io);
    /// CTR.
    Ctr AesCtr 1 [PARTIAL] card [Ctr] decrypts false, |key, _encrypt, chain, io| key.ctr(chain.iv, chain.stream, chain.used, io);
    /// CFB with segments of 128 bits.
    Cfb AesCfb 1 [PARTIAL] card [] decrypts false, |key, encrypt, chain, io| key.cfb(encrypt, chain.iv, chain.used, io);
    /// CFB with segments of 8 bits.
    Cfb8 AesCfb 1 [] card [] decrypts false, |key, encrypt, chain, io| key.cfb8(encrypt, chain.iv, io);
    /// CFB with segments of 1 bit.
    Cfb1 AesCfb 1 [IN_BITS] card [] decrypts false, |key, encrypt, chain, io| cfb1(key, encrypt, chain, io);
    /// OFB.
    Ofb AesOfb 1 [PARTIAL] card [] decrypts false, |key, _encrypt, chain, io| key.ofb(chain.iv, chain.used, io);
}

fn cfb1(key: &AesKey, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) {
    let bits = if chain.bits { io.len() } else { io.len() * 8 };
    let (io, _) = io.split_at(bits.div_ceil(8));
    key.cfb1(encrypt, chain.iv, bits, io);
}
