//! KDSA: ECDSA (FIPS 186-5) and EdDSA (RFC 8032).

use super::block::Page;
use super::{Assist, Instruction, MODIFIER, Machine, Nist, Refused, Registers};

/// A curve of EdDSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edwards {
    /// Ed25519.
    Ed25519,
    /// Ed448.
    Ed448,
}

impl Edwards {
    /// The length of a key and of half a signature in bytes.
    pub const fn length(self) -> usize {
        match self {
            Edwards::Ed25519 => 32,
            Edwards::Ed448 => 57,
        }
    }

    /// The width of a field in the parameter block, in bytes.
    pub const fn width(self) -> usize {
        match self {
            Edwards::Ed25519 => 32,
            Edwards::Ed448 => 64,
        }
    }

    /// PCC's function code.
    pub const fn multiply_code(self) -> u8 {
        72 + self as u8
    }

    /// KDSA's function code to verify.
    pub const fn verify_code(self) -> u8 {
        match self {
            Edwards::Ed25519 => 32,
            Edwards::Ed448 => 36,
        }
    }

    /// KDSA's function code to sign.
    pub const fn sign_code(self) -> u8 {
        match self {
            Edwards::Ed25519 => 40,
            Edwards::Ed448 => 44,
        }
    }

    /// The base point of RFC 8032, big-endian.
    pub(super) const fn base(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Edwards::Ed25519 => (&ED25519.0, &ED25519.1),
            Edwards::Ed448 => (&ED448.0, &ED448.1),
        }
    }
}

/// Writes a constant down in hexadecimal.
pub(super) const fn hex<const N: usize>(text: &str) -> [u8; N] {
    let (text, mut out, mut i) = (text.as_bytes(), [0; N], 0);
    assert!(text.len() == 2 * N);
    while i < 2 * N {
        let digit = match text[i] {
            c @ b'0'..=b'9' => c - b'0',
            c => c - b'a' + 10,
        };
        out[i / 2] = out[i / 2] << 4 | digit;
        i += 1;
    }
    out
}

static ED25519: ([u8; 32], [u8; 32]) = (
    hex("216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a"),
    hex("6666666666666666666666666666666666666666666666666666666666666658"),
);

static ED448: ([u8; 56], [u8; 56]) = (
    hex(
        "4f1970c66bed0ded221d15a622bf36da9e146570470f1767ea6de324a3d3a46412ae1af72ab66511433b80e18b00938e2626a82bc70cc05e",
    ),
    hex(
        "693f46716eb6bc248876203756c9c7624bea73736ca3984087789c1e05a0c2d73ad3ff1ce67c39c4fdbd132c4ed7c8ad9808795bf230fa14",
    ),
);

impl<M: Machine> Assist<M> {
    /// Signs a digest, truncated to the order's size, with a nonce of the caller's; big-endian numbers of [`Nist::length`] bytes,
    /// as are r and s. The instruction's own nonces are not used, so that the same ones serve on every machine.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done. [`Refused::Condition`]: the private key or the nonce is not in range, or r or s
    /// would be zero.
    ///
    /// # Panics
    /// If a number has another length.
    pub fn ecdsa_sign(
        &self,
        curve: Nist,
        private: &[u8],
        digest: &[u8],
        nonce: &[u8],
        r: &mut [u8],
        s: &mut [u8],
    ) -> Result<(), Refused> {
        let (width, length) = (curve.width(), curve.length());
        assert!([private.len(), digest.len(), nonce.len(), r.len(), s.len()] == [length; 5]);
        let mut page = Page::default();
        page.set(width, 2, digest);
        page.set(width, 3, private);
        page.set(width, 4, nonce);
        let mut registers = Registers::new(u64::from(curve.sign_code()) | MODIFIER, &mut page);
        // SAFETY: digest, key and nonce in their block; the functions of ECDSA have no operands.
        unsafe { self.run_to_end(Instruction::Kdsa, &mut registers) }?;
        page.get(width, 0, r);
        page.get(width, 1, s);
        Ok(())
    }

    /// Whether (r, s) is a signature of a digest, truncated to the order's size, by the public key (x, y); big-endian numbers of
    /// [`Nist::length`] bytes.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If a number has another length.
    pub fn ecdsa_verify(
        &self,
        curve: Nist,
        public: [&[u8]; 2],
        digest: &[u8],
        signature: [&[u8]; 2],
    ) -> Result<bool, Refused> {
        let (width, length) = (curve.width(), curve.length());
        let fields = [signature[0], signature[1], digest, public[0], public[1]];
        assert!(fields.iter().all(|field| field.len() == length));
        let mut page = Page::default();
        fields.iter().enumerate().for_each(|(i, field)| page.set(width, i, field));
        let mut registers = Registers::new(curve.verify_code().into(), &mut page);
        // SAFETY: signature, digest and key in their block; the functions of ECDSA have no operands.
        Ok(unsafe { self.run(Instruction::Kdsa, &mut registers) }? == 0)
    }

    /// Signs a message with an EdDSA private key, as RFC 8032 writes it; `signature` is of twice [`Edwards::length`] bytes.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If one has another length.
    pub fn eddsa_sign(
        &self,
        curve: Edwards,
        private: &[u8],
        message: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Refused> {
        let (width, length) = (curve.width(), curve.length());
        assert!(private.len() == length && signature.len() == 2 * length);
        let mut page = Page::default();
        // The private key is a string of bytes, not a number.
        page.set(width, 2, private);
        let mut registers = Registers::new(curve.sign_code().into(), &mut page).source(message);
        // SAFETY: the key in its block; a message may be of any length.
        unsafe { self.run_to_end(Instruction::Kdsa, &mut registers) }?;
        let (r, s) = signature.split_at_mut(length);
        page.get_reversed(width, 0, r);
        page.get_reversed(width, 1, s);
        Ok(())
    }

    /// Whether `signature` is `public`'s of `message` by EdDSA, all encoded as in RFC 8032.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the key is not of [`Edwards::length`] bytes, or the signature not of twice as many.
    pub fn eddsa_verify(
        &self,
        curve: Edwards,
        public: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, Refused> {
        let (width, length) = (curve.width(), curve.length());
        assert!(public.len() == length && signature.len() == 2 * length);
        let mut page = Page::default();
        page.set_reversed(width, 0, &signature[..length]);
        page.set_reversed(width, 1, &signature[length..]);
        page.set_reversed(width, 2, public);
        let mut registers = Registers::new(curve.verify_code().into(), &mut page).source(message);
        // SAFETY: key and signature in their block; a message may be of any length.
        Ok(unsafe { self.run(Instruction::Kdsa, &mut registers) }? == 0)
    }
}
