//! Tokens initialized, and their PINs.

use super::secret::{NewPin, Pins, Who, all_used, differ};
use super::{Token, Which, of_file, say};
use adjunct_pkcs11::admin;
use adjunct_tool::Failure;
use std::process::ExitCode;

/// Initialize a token: label, the security officer's PIN and the user's
///
/// The security officer (SO) initializes the token anew and gives the user a PIN, also when three wrong ones have locked it. The user's PIN
/// opens the objects.
#[derive(Debug, clap::Args)]
pub(super) struct Init {
    #[command(flatten)]
    which: Which,
    /// What programs find the token by, at most 32 bytes
    #[arg(short, long)]
    label: String,
    /// Seal both PINs by this machine's TPM 2.0: a copy of the file opens nowhere else, nor does a backup
    #[arg(long)]
    tpm: bool,
    /// Where there is a token: remove it with all its objects. The security officer's PIN is asked for, and becomes the new token's; then a new PIN
    /// of the user
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    pins: Pins,
}

const EXAMPLES: &str = "\
Examples:
  adjunct token pin change           the user's PIN: asks for the old one and the new one
  adjunct token pin unlock           after three wrong ones: asks for the security officer's PIN and a new one for the user
  adjunct token pin change --so      the security officer's own

With several tokens --slot names one (adjunct token list). 'adjunct token --help' tells how scripts give PINs.";

/// Set, change or unlock a PIN
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Command {
    /// Give the user a PIN, as the security officer
    Set(Set),
    /// Give the user a new PIN in place of one that is locked or forgotten, as the security officer
    Unlock(Set),
    /// Change the user's PIN, or with --so the security officer's, knowing the old one
    Change(Change),
}

#[derive(Debug, clap::Args)]
pub(super) struct Set {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    pins: Pins,
    #[command(flatten)]
    new: NewPin,
}

#[derive(Debug, clap::Args)]
pub(super) struct Change {
    #[command(flatten)]
    which: Which,
    /// The security officer's PIN
    #[arg(long)]
    so: bool,
    #[command(flatten)]
    pins: Pins,
    #[command(flatten)]
    new: NewPin,
}

fn padded(label: &str) -> Result<[u8; 32], Failure> {
    if label.len() > 32 {
        return Err(Failure::Words("--label: more than 32 bytes".to_owned()));
    }
    Ok(std::array::from_fn(|at| label.as_bytes().get(at).copied().unwrap_or(b' ')))
}

pub(super) fn init(args: &Init) -> Result<ExitCode, Failure> {
    let label = padded(&args.label)?;
    let token = args.which.configured()?;
    // Before any PIN is asked for; it is looked at again when the token is put in its place.
    let seen = admin::examine(&token);
    if let Some(trouble) = &seen.trouble {
        return Err(Failure::new(trouble.clone()));
    }
    if seen.exists && !args.replace {
        return Err(of_file(admin::already(&token, &seen)));
    }
    if token.read_only || !seen.writable {
        return Err(Failure::new(format!("{}: no token can be made there by this user", token.path.display())));
    }
    // That of a token that goes becomes that of the new one.
    let so_pin = if seen.exists { args.pins.get(Who::Officer) } else { args.pins.get_new(Who::Officer) }?;
    let user_pin = args.pins.get_new(Who::User)?;
    all_used()?;
    differ(&so_pin, &user_pin)?;
    let new = admin::New {
        so_pin: &so_pin,
        user_pin: &user_pin,
        label: &label,
        seal: args.tpm,
        // What was seen is what may go: a token that somebody else has made meanwhile is another.
        replace: args.replace && seen.exists,
    };
    admin::initialize(&token, &new).map_err(of_file)?;
    let sealed = if args.tpm || token.tpm.is_some() { ", sealed by the TPM" } else { "" };
    say(&format!("Slot {}: token {:?} in {}{sealed}", token.slot, args.label, token.path.display()));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Set(args) | Command::Unlock(args) => {
            let token = Token::open(&args.which)?;
            let session = token.session()?;
            let (officer, new) = (args.pins.get(Who::Officer)?, args.new.get(Who::User)?);
            all_used()?;
            differ(&officer, &new)?;
            session.login(Who::Officer.user_type(), &officer).map_err(|rv| token.failed(rv, Some(Who::Officer)))?;
            session.init_pin(&new).map_err(|rv| token.failed(rv, None))?;
            say("The user has a new PIN.");
        }
        Command::Change(args) => {
            let who = if args.so { Who::Officer } else { Who::User };
            let token = Token::open(&args.which)?;
            let session = token.session()?;
            let old = args.pins.get(who)?;
            let new = args.new.get(who)?;
            all_used()?;
            if args.so {
                // The officer's PIN is that of whoever is logged in.
                session.login(who.user_type(), &old).map_err(|rv| token.failed(rv, Some(who)))?;
            }
            session.set_pin(&old, &new).map_err(|rv| token.failed(rv, Some(who)))?;
            say(&format!("The {who}'s PIN is changed."));
        }
    }
    Ok(ExitCode::SUCCESS)
}
