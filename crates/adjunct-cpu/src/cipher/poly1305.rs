//! Poly1305 (RFC 8439, 2.5) as it serves here: our kernel on x86-64, the library's code elsewhere.

#[cfg(not(target_arch = "x86_64"))]
pub use crate::awslc::poly1305::Poly1305;
#[cfg(target_arch = "x86_64")]
pub use kernel::Poly1305;

/// The key length in bytes.
pub const KEY: usize = 32;
/// The length of a block and of the tag in bytes.
pub const TAG: usize = 16;

#[cfg(target_arch = "x86_64")]
mod kernel {
    use super::{KEY, TAG};
    use crate::features;
    use adjunct_base::catalogue::Feature;
    use adjunct_kernels::poly1305;

    /// Poly1305 under a one-time key; wiped when dropped.
    #[derive(Debug, Clone)]
    pub struct Poly1305(poly1305::Poly1305);

    impl Default for Poly1305 {
        fn default() -> Poly1305 {
            Poly1305(poly1305::Poly1305::new(&[0; KEY]))
        }
    }

    impl Poly1305 {
        /// Begins anew, under another key.
        #[inline]
        pub fn restart(&mut self, key: &[u8; KEY]) {
            self.0.restart(key);
        }

        /// Takes in the next part of the message.
        #[inline]
        pub fn update(&mut self, data: &[u8]) {
            if data.len() < poly1305::WIDE {
                return self.0.update(data);
            }
            let features = features();
            if features.has(Feature::Ifma) {
                // SAFETY: IFMA is in force, and with it AVX-512.
                unsafe { self.0.update_wide(data) }
            } else if features.has(Feature::Avx2) {
                // SAFETY: AVX2 is in force.
                unsafe { self.0.update_avx2(data) }
            } else {
                self.0.update(data);
            }
        }

        /// Fills a begun block with zeros (RFC 8439, 2.8).
        #[inline]
        pub fn pad(&mut self) {
            self.0.pad();
        }

        /// Ends the message, and gives its tag. Call [`Poly1305::restart`] before the next message.
        #[inline]
        pub fn finish(&mut self) -> [u8; TAG] {
            self.0.finish()
        }
    }
}
