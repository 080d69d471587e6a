//! `adjunct ep11 admins` and `adjunct ep11 cps`: who rules a domain or its card, and what it does.

use super::names::{name, point};
use super::signer::{Signer, certificate, named};
use super::unit::{Unit, attribute, hex, is_in_imprint};
use super::{Which, unit_of};
use adjunct_ep11_wire::admin::{command, query};
use adjunct_tool::ask::consented;
use adjunct_tool::escape::shown;
use adjunct_tool::{Failure, output};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// What all changes take.
#[derive(Debug, clap::Args)]
pub(super) struct Change {
    /// Sign as an administrator: a PEM file with a private key, PKCS #8 (may be given again)
    #[arg(long = "key", value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Say what would be done, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
}

impl Change {
    /// Whether a change is to be made: asks, or says what it would be.
    pub(super) fn go_on(&self, what: &str, json: bool) -> Result<bool, Failure> {
        if self.dry_run {
            if json {
                output::print_json(&json!({ "would": what }))
            } else {
                output::print(&format!("would {what}; nothing was changed\n"))
            }?;
            return Ok(false);
        }
        consented(&format!("{what}?"), self.yes, json).map(|()| true)
    }
}

/// Show control points, or switch them on and off
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A control point allows one kind of use. They are named as in IBM's header, with or without XCP_CPB_, or by number. Those of a domain count; those of the card are kept.

Examples:
  adjunct ep11 cps 01.0000
  adjunct ep11 cps 01.0000 --off alg_ec_bpoolcrv --off 24 --yes
  adjunct ep11 cps 01.0000 --on alg_ec_bpoolcrv --key admin1.pem --key admin2.pem

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.")]
pub(super) struct Cps {
    /// Switch this control point on (may be given again)
    #[arg(long, value_name = "POINT", value_parser = point)]
    on: Vec<u8>,
    /// Switch this control point off (may be given again)
    #[arg(long, value_name = "POINT", value_parser = point)]
    off: Vec<u8>,
    /// Those of the card, not of the domain
    #[arg(long)]
    card: bool,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    which: Which,
}

/// Show, add and remove administrators, and set thresholds
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A new domain, and a new card, is in imprint mode: who may use the domain's socket and passes the groups of cards.conf changes it without signatures. It leaves that \
mode for good when its signature threshold is set: from then on each change has to be signed by so many of its administrators, or of its card's. A domain leaves it \
after its card.

An administrator is a certificate of RSA (2048 bits and more) or of P-256, P-384 or P-521. openssl makes one with its key:
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 3650 -subj /CN=alice -keyout alice.key -out alice.pem

Examples:
  adjunct ep11 admins add alice.pem --card --yes
  adjunct ep11 admins add bob.pem --card --yes
  adjunct ep11 admins thresholds --card --sign 2 --revoke 2 --key alice.key --key bob.key
  adjunct ep11 admins list --card
  adjunct ep11 admins remove bob.pem --card --key alice.key --key carol.key

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.")]
pub(super) struct Admins {
    #[command(subcommand)]
    command: AdminsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AdminsCommand {
    /// Show administrators, thresholds, and whether it is in imprint mode
    List(List),
    /// Add an administrator
    Add(Add),
    /// Remove an administrator
    Remove(Remove),
    /// Set how many administrators have to sign; the first time, that ends imprint mode
    Thresholds(Thresholds),
}

#[derive(Debug, clap::Args)]
struct List {
    /// Those of the card, not of the domain
    #[arg(long)]
    card: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Add {
    /// The administrator's certificate, a PEM file
    #[arg(value_name = "CERTIFICATE")]
    certificate: PathBuf,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    change: Change,
}

#[derive(Debug, clap::Args)]
struct Remove {
    /// The administrator's certificate, a PEM file, or the identifier that 'list' shows
    #[arg(value_name = "CERTIFICATE|IDENTIFIER")]
    administrator: String,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    change: Change,
}

#[derive(Debug, clap::Args)]
struct Thresholds {
    /// Signatures that a change takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=8))]
    sign: Option<u32>,
    /// Signatures that the removal of an administrator takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=8))]
    revoke: Option<u32>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    change: Change,
}

/// The control points of a unit.
fn points(unit: &Unit) -> Result<Vec<u8>, Failure> {
    let number = if unit.of_domain { query::DOM_CTRLPOINTS } else { query::CTRLPOINTS };
    let bytes = unit.query(number, &[])?;
    let is_on = |point: &u8| bytes.get(usize::from(point / 8)).is_some_and(|byte| byte & 0x80 >> (point % 8) != 0);
    Ok((0..128).filter(is_on).collect())
}

/// Runs `adjunct ep11 cps`.
pub(super) fn cps(args: &Cps) -> Result<ExitCode, Failure> {
    let unit = unit_of(&args.which, args.card)?;
    let json = args.which.json;
    if let Some(both) = args.on.iter().find(|point| args.off.contains(point)) {
        return Err(Failure::Words(format!("control point {both} is to be on and off")));
    }
    if args.on.is_empty() && args.off.is_empty() {
        return told_points(&unit, &points(&unit)?, json);
    }
    let names = |points: &[u8]| points.iter().map(|point| words(*point)).collect::<Vec<_>>().join(", ");
    let mut what = format!("change control points of {}:", unit.name());
    if !args.on.is_empty() {
        what += &format!(" on {}", names(&args.on));
    }
    if !args.off.is_empty() {
        what += &format!("{} off {}", if args.on.is_empty() { "" } else { ";" }, names(&args.off));
    }
    if !args.change.go_on(&what, json)? {
        return Ok(ExitCode::SUCCESS);
    }
    let signers = Signer::all(&args.change.keys)?;
    let mut now = points(&unit)?;
    // In one command, as all of them: never some alone.
    let mut bytes = [0; 16];
    now.retain(|point| !args.off.contains(point));
    now.extend(&args.on);
    now.iter().for_each(|point| bytes[usize::from(point / 8)] |= 0x80 >> (point % 8));
    let number = if unit.of_domain { command::DOM_CTRLPOINT_SET } else { command::CTRLPOINT_SET };
    unit.order(number, &bytes, &signers)?;
    told_points(&unit, &points(&unit)?, json)
}

fn words(point: u8) -> String {
    name(point).map_or_else(|| point.to_string(), |name| format!("{point} ({name})"))
}

fn told_points(unit: &Unit, on: &[u8], json: bool) -> Result<ExitCode, Failure> {
    let is_on = |point: &u8| on.contains(point);
    if json {
        let all: Vec<Value> = super::names::POINTS
            .iter()
            .map(|(number, name)| json!({ "number": number, "name": name, "on": is_on(number) }))
            .collect();
        let domain = unit.of_domain.then_some(unit.domain);
        output::print_json(&json!({ "card": unit.card, "domain": domain, "on": on, "points": all }))?;
    } else {
        let line = |(number, name): &(u8, &str)| {
            format!("{number:>3}  {:<3}  {name}\n", if is_on(number) { "on" } else { "off" })
        };
        output::print(&super::names::POINTS.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `adjunct ep11 admins`.
pub(super) fn admins(args: &Admins) -> Result<ExitCode, Failure> {
    match &args.command {
        AdminsCommand::List(list) => told(&unit_of(&list.which, list.card)?, list.which.json),
        AdminsCommand::Add(Add { certificate: path, list, change }) => {
            let unit = unit_of(&list.which, list.card)?;
            let (certificate, ski) = certificate(path)?;
            let what = format!("add administrator {} ({}) to {}", subject(&certificate), hex(&ski), unit.name());
            let number = if unit.of_domain { command::DOM_ADMIN_LOGIN } else { command::ADMIN_LOGIN };
            changed(&unit, list.which.json, change, &what, number, &certificate)
        }
        AdminsCommand::Remove(Remove { administrator, list, change }) => {
            let unit = unit_of(&list.which, list.card)?;
            let ski = named(administrator)?;
            let what = format!("remove administrator {} from {}", hex(&ski), unit.name());
            let number = if unit.of_domain { command::DOM_ADMIN_LOGOUT } else { command::ADMIN_LOGOUT };
            changed(&unit, list.which.json, change, &what, number, &ski)
        }
        AdminsCommand::Thresholds(Thresholds { sign, revoke, list, change }) => {
            let unit = unit_of(&list.which, list.card)?;
            let wanted = [(attribute::SIGN_THRESHOLD, *sign), (attribute::REVOKE_THRESHOLD, *revoke)];
            let pairs: Vec<u32> = wanted.iter().filter_map(|(of, value)| Some([*of, (*value)?])).flatten().collect();
            if pairs.is_empty() {
                return Err(Failure::Words("give --sign N, --revoke N or both".to_owned()));
            }
            let leaves = is_in_imprint(&unit.attributes()?) && sign.is_some_and(|count| count > 0);
            let of = |count: &Option<u32>| count.map_or_else(|| "as before".to_owned(), |count| count.to_string());
            let mut what =
                format!("set thresholds of {}: signatures {}, revocation {}", unit.name(), of(sign), of(revoke));
            if leaves {
                what += ", which ends its imprint mode for good";
            }
            let payload: Vec<u8> = pairs.iter().flat_map(|number| number.to_be_bytes()).collect();
            let number = if unit.of_domain { command::DOM_SET_ATTR } else { command::SET_ATTR };
            changed(&unit, list.which.json, change, &what, number, &payload)
        }
    }
}

/// Makes a change, and shows what there is then.
fn changed(
    unit: &Unit,
    json: bool,
    change: &Change,
    what: &str,
    number: u32,
    payload: &[u8],
) -> Result<ExitCode, Failure> {
    if change.go_on(what, json)? {
        unit.order(number, payload, &Signer::all(&change.keys)?)?;
        return told(unit, json);
    }
    Ok(ExitCode::SUCCESS)
}

/// The subject of a certificate.
fn subject(certificate: &[u8]) -> String {
    let named = adjunct_mechanisms::der::certificate(certificate)
        .and_then(|certificate| adjunct_mechanisms::der::one_line(certificate.subject));
    named.map_or_else(|| "?".to_owned(), |name| shown(&name))
}

fn told(unit: &Unit, json: bool) -> Result<ExitCode, Failure> {
    let number = if unit.of_domain { query::DOMADMIN } else { query::ADMIN };
    let all = unit.query(number, &[])?;
    let mut administrators = Vec::new();
    for ski in all.chunks_exact(32) {
        administrators.push((hex(ski), subject(&unit.query(number, ski)?)));
    }
    let attributes = unit.attributes()?;
    let of = |number| attributes.get(&number).copied().unwrap_or_default();
    let (sign, revoke) = (of(attribute::SIGN_THRESHOLD), of(attribute::REVOKE_THRESHOLD));
    let imprint = is_in_imprint(&attributes);
    if json {
        let list: Vec<Value> =
            administrators.iter().map(|(ski, name)| json!({ "ski": ski, "subject": name })).collect();
        let domain = unit.of_domain.then_some(unit.domain);
        output::print_json(&json!({
            "card": unit.card, "domain": domain, "imprint": imprint, "sign": sign, "revoke": revoke,
            "permissions": of(attribute::PERMISSIONS), "administrators": list,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mode = match imprint {
        true => "imprint mode: changes take no signatures".to_owned(),
        false => format!("changes take {sign} signatures, the removal of an administrator {revoke}"),
    };
    let mut text = format!("{}: {mode}\n", unit.name());
    if administrators.is_empty() {
        text += "no administrators\n";
    }
    administrators.iter().for_each(|(ski, name)| text += &format!("{ski}  {name}\n"));
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
