//! The PKCS #11 module in the real programs that load such modules, this machine's and newer ones: each makes, finds and uses keys of
//! a store token, and where it can do without a login, of the accelerator token.

mod documented;
mod engine;
mod gnutls;
mod nginx;
mod nss;
mod openssh;
mod p11_kit;
mod pkcs11_tool;
mod provider;
