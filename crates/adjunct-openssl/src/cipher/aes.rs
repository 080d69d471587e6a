//! AES in the simple modes.

use super::simple::Table;
use super::state::{Info, Mode, mode};
use crate::abi::Dispatch;
use adjunct::ops::cipher::aes;

macro_rules! modes {
    ($($name:ident $mode:ident $block:literal $iv:literal;)*) => {$(
        #[doc = concat!("AES by [`aes::", stringify!($name), "`].")]
        #[derive(Debug, Clone)]
        pub struct $name<const BITS: usize>;

        impl<const BITS: usize> Mode for $name<BITS> {
            type Cipher = aes::$name;
            const INFO: Info = Info::plain(mode::$mode, BITS / 8, $block, $iv);
        }
    )*};
}

modes! {
    Ecb ECB 16 0;
    Cbc CBC 16 16;
    Ctr CTR 1 16;
    Cfb CFB 1 16;
    Cfb8 CFB 1 16;
    Cfb1 CFB 1 16;
    Ofb OFB 1 16;
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
