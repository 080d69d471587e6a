//! The options of `adjunct bench pkcs11`.

use super::seconds;
use adjunct_pkcs11_client::sys::CK_SLOT_ID;
use std::path::PathBuf;

const LONG: &str = "\
Measure PKCS #11 modules beside each other: signatures, encryption, hashes, keys, objects, sessions, by 1, 16 and 64 threads

The modules take turns in slices of wall time, in changing order; the table shows medians of the slices: operations a second of all \
threads together, and microseconds of CPU time for each. Each module is loaded in a process of its own: one that crashes or hangs is a \
row that says so, and not the end. ratio is the first module's rate over that of the fastest other (marked below 1.00).

Without --module, adjunct's own module is measured, beside those of SoftHSM and kryoptic where they are installed, and beside adjunct's \
provider for OpenSSL where there is one.

The provider's columns are the same operations through EVP with contexts that are kept, by as many threads, where EVP has them: what the \
interface of PKCS #11 costs. The column of it is the provider's CPU time over the first module's (1.00: the same).

What is one operation: C_SignInit and C_Sign (RSA with SHA-256, ECDSA of a digest, Ed25519 of 32 bytes) with a key that stays in the \
token; C_EncryptInit and C_Encrypt, C_SignInit and C_Sign (HMAC), C_DigestInit and C_Digest of so many bytes; C_GenerateRandom; a key \
pair, key or object made and destroyed; the three calls of a search; C_OpenSession and C_CloseSession; C_Logout and C_Login; C_Initialize \
and C_Finalize. Threads have a session each and one key together, unless the row's name says otherwise.

A module's token is made in a temporary folder, which is removed: so it is with adjunct's, SoftHSM and kryoptic. Of another module, as \
openCryptoki, whose tokens are the machine's, name a token that may be written to, and its user's PIN: --module \
/usr/lib/opencryptoki/libopencryptoki.so,slot=3,pin=12345678. Key pairs that rows make stay in that token.

The run counts into counters of its own, which are removed: the user's statistics do not show it.";

/// PKCS #11 modules side by side
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// A module to measure (may be given again); ",slot=N" and ",pin=PIN" behind it name a token
    #[arg(long = "module", value_name = "PATH[,slot=N][,pin=PIN]", value_parser = parse)]
    pub modules: Vec<Wanted>,
    /// Measure this provider of adjunct's too, through EVP [default without --module: the one beside this program or in OpenSSL's modules folder, if any]
    #[arg(long, value_name = "PATH")]
    pub provider: Option<PathBuf>,
    /// As root: load modules though others than root could change them, or a folder above them
    #[arg(long)]
    pub trust_module: bool,
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Threads that call at once
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        default_values_t = [1, 16, 64])]
    pub threads: Vec<u16>,
    /// Objects of a session among which one is looked for; 0: none
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub objects: u32,
    /// Objects of the token among which one is looked for by a process that has just loaded the module; 0: none
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub token_objects: u32,
    /// Time of a row for each module, in seconds
    #[arg(long, default_value_t = 0.5, value_parser = seconds::parse)]
    pub seconds: f64,
    /// A rough answer soon: 1 and 16 threads, 0.1 seconds a row
    #[arg(long, conflicts_with_all = ["threads", "seconds"])]
    pub quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure for another process of this command
    #[arg(long, hide = true)]
    pub worker: bool,
    /// Load the module, look for one of so many objects of its token, and say how long it took
    #[arg(long, hide = true, value_name = "N", requires = "worker")]
    pub first_find: Option<u32>,
}

impl Args {
    /// Numbers of threads.
    pub fn threads(&self) -> &[u16] {
        if self.quick { &[1, 16] } else { &self.threads }
    }

    /// What a worker is to know of the rows.
    pub fn passed_on(&self) -> Vec<String> {
        let threads: Vec<String> = self.threads().iter().map(u16::to_string).collect();
        let objects = [format!("--objects={}", self.objects), format!("--token-objects={}", self.token_objects)];
        [format!("--threads={}", threads.join(","))].into_iter().chain(objects).collect()
    }
}

/// The module and the token that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The module.
    pub path: PathBuf,
    /// The slot; without, a token is made in a folder of its own.
    pub slot: Option<CK_SLOT_ID>,
    /// The user's PIN there.
    pub pin: Option<String>,
}

/// Parses `--module`.
fn parse(text: &str) -> Result<Wanted, String> {
    let mut words = text.split(',');
    let path = PathBuf::from(words.next().unwrap_or_default());
    let mut wanted = Wanted { path, slot: None, pin: None };
    for word in words {
        match word.split_once('=') {
            Some(("slot", number)) => {
                wanted.slot = Some(number.parse().map_err(|_| format!("{number} is no number of a slot"))?);
            }
            Some(("pin", pin)) => wanted.pin = Some(pin.to_owned()),
            _ => return Err(format!("{word} is neither slot=N nor pin=PIN")),
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_named_with_its_token() {
        let named = parse("/a/b.so,slot=3,pin=1234").unwrap();
        assert_eq!((named.path, named.slot, named.pin.as_deref()), (PathBuf::from("/a/b.so"), Some(3), Some("1234")));
        assert_eq!(parse("/a/b.so").unwrap().slot, None);
        for wrong in ["/a,slot=x", "/a,pin", "/a,label=x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
