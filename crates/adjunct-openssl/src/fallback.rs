//! Hands what the CPU library lacks to OpenSSL's default provider.
