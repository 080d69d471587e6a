//! A token's file as a whole: backup, restore, repair.

use super::secret::{Pins, Who, all_used};
use super::{Which, of_file, say};
use adjunct_pkcs11::admin::{self, Repaired};
use adjunct_tool::failure::cannot_write;
use adjunct_tool::{Failure, files};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// No token's file is longer.
const LONGEST: u64 = 1 << 32;

/// Write a token into one file, sealed as it is: no PIN is needed
///
/// It may be made while programs use the token. It opens with the PINs that the token has now, and a token sealed by a TPM only on this
/// machine.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    #[command(flatten)]
    which: Which,
    /// The file, which must not be there yet
    file: PathBuf,
}

/// Put the token of a backup in its place
///
/// The backup is checked first, to the last byte and with a PIN of its own; what is there is replaced at once, or not at all.
#[derive(Debug, clap::Args)]
pub(super) struct Restore {
    #[command(flatten)]
    which: Which,
    /// The backup
    file: PathBuf,
    /// Where there is a token: replace it
    #[arg(long)]
    replace: bool,
    /// Check with the security officer's PIN instead of the user's
    #[arg(long)]
    so: bool,
    #[command(flatten)]
    pins: Pins,
}

/// Make a damaged token's file whole: keeps all that can be read
///
/// The damaged file stays beside it under another name.
#[derive(Debug, clap::Args)]
pub(super) struct Repair {
    #[command(flatten)]
    which: Which,
    /// With the security officer's PIN instead of the user's
    #[arg(long)]
    so: bool,
    #[command(flatten)]
    pins: Pins,
}

/// Writes a new file that only its user may read, to the disk; removes it again if it could be written in part alone.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::new(format!(
            "{}: there is a file already (File exists), and none is overwritten: name another, or remove it first",
            path.display()
        )),
        _ => cannot_write(path, error),
    };
    let mut file =
        File::options().write(true).create_new(true).mode(0o600).open(path).map_err(|error| failed(&error))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = std::fs::remove_file(path);
        failed(&error)
    })
}

pub(super) fn backup(args: &Backup) -> Result<ExitCode, Failure> {
    let token = args.which.configured()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let bytes = admin::backup(&token, now).map_err(of_file)?;
    write_new(&args.file, &bytes)?;
    let seen = admin::examine(&token);
    let (label, objects) = (seen.label.unwrap_or_default(), counted(seen.objects.unwrap_or_default(), "object"));
    say(&format!("Token {label:?} with {objects} written to {}", args.file.display()));
    if seen.users.iter().any(|user| user.sealed) {
        say("The token is sealed by this machine's TPM: the backup opens here alone.");
    }
    Ok(ExitCode::SUCCESS)
}

fn who(so: bool) -> Who {
    if so { Who::Officer } else { Who::User }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn restore(args: &Restore) -> Result<ExitCode, Failure> {
    let token = args.which.configured()?;
    let failed = |words: &str| Failure::new(format!("{}: {words}", args.file.display()));
    let bytes = files::read(&args.file, LONGEST).map_err(|error| failed(&adjunct_tool::failure::cause(&error)))?;
    let refused = |admin::Error(line)| match line.strip_prefix("the file ") {
        Some(words) => failed(words),
        None if line.ends_with("already") => Failure::new(format!("{line}; --replace puts the backup in its place")),
        None => Failure::new(line),
    };
    // Before a PIN is asked for, which could not be right for another file.
    admin::restorable(&token, &bytes, args.replace).map_err(refused)?;
    let pin = args.pins.get(who(args.so))?;
    all_used()?;
    let restored = admin::restore(&token, &bytes, args.so, &pin, args.replace).map_err(refused)?;
    let newer = restored.newer.map_or_else(String::new, |more| {
        format!("; what was there was the same token, {} later", counted(usize::try_from(more).unwrap_or(0), "change"))
    });
    say(&format!("{} restored to {}{newer}", counted(restored.contents.objects, "object"), token.path.display()));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn repair(args: &Repair) -> Result<ExitCode, Failure> {
    let token = args.which.configured()?;
    let pin = args.pins.get(who(args.so))?;
    all_used()?;
    match admin::repair(&token, args.so, &pin).map_err(of_file)? {
        Repaired::Whole(contents) => {
            say(&format!("Nothing to repair: {}, all of them whole.", counted(contents.objects, "object")));
        }
        Repaired::Anew { kept, lost, without_user, officer_as_given, aside } => {
            let lost =
                if lost > 0 { format!("; {} could not be read", counted(lost, "object")) } else { String::new() };
            say(&format!("{} kept{lost}. The damaged file is {} now.", counted(kept, "object"), aside.display()));
            if without_user {
                say("The user's PIN could not be read; `adjunct token pin set` gives a new one.");
            }
            if officer_as_given {
                say(
                    "The security officer's PIN could not be read: it is now the user's; `adjunct token pin change --so` changes it.",
                );
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
