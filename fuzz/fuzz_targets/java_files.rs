//! Files of Java's, as `adjunct java check` reads them: a SunPKCS11 configuration, security properties, a JVM's options.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| adjunct_cli::java::fuzz(bytes));
