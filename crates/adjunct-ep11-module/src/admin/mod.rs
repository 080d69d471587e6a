//! Administration (`m_admin`): commands, signed by administrators, that change what a domain or the card is, and queries of that.
//!
//! A command names the domain with its instance, the module, and the transaction counter plus one. It is done where all of them are right, where enough
//! administrators have signed it, and where the caller may do it by the card's settings (dual control for wrapping keys). In imprint mode nothing is signed, so
//! that then the settings alone decide. A change is on disk, and in the audit log, before it is answered ([`Administration::change`]).
//!
//! * `attributes`: thresholds, permissions, modes. `signers`: who has signed. `units`: administrators, control points, zeroize.
//! * `wk`: wrapping keys. `importer`: keys that their parts are encrypted for. `export`: parts that leave. `reencrypt`: blobs and states under the next one.
//! * `queries`. [`reason`]: why not. [`login`]: sessions whose PIN travels encrypted. [`kept`]: the state of a card, kept by its keeper.

pub mod attributes;
pub mod der;
mod export;
mod importer;
pub mod kept;
pub mod login;
mod queries;
pub mod reason;
mod reencrypt;
mod signers;
mod units;
mod wk;

use crate::context::{Bytes, Caller, Context, Results};
use crate::control::Points;
use crate::error::{Result, Rv};
use adjunct_coprocessor::audit::{Chain, Detail};
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::registers::{Kind, Registers};
use adjunct_coprocessor::roles::{self, Rules, Step};
use adjunct_coprocessor::state::{Domain, State};
use adjunct_coprocessor::unit::{Setting, Unit};
use adjunct_ep11_wire::admin::{Block, Head, QUERY, Reply, command as c};
use adjunct_ep11_wire::codes::{control, rv};
use attributes::{mode, number, permission};
use reason::{Done, Reason, Refused, demand, refuse};
use signers::Authority;
use std::cell::Cell;
use std::sync::Arc;

/// Control points of a new domain: all that there are, but those that no policy allows.
pub fn initial_points() -> Points {
    let all = (0..=control::LAST).filter(|point| !NEVER.contains(point));
    Points(all.collect::<ControlPoints>().to_bytes())
}

/// Control points that cannot be turned on.
const NEVER: [u8; 5] =
    [control::RAW_RSA, control::BELOW_80_BITS, control::HMAC_ANY, control::SKIP_KEYTESTS, control::NBSI2009];

/// Who keeps what administrators rule.
pub trait Administration: Send + Sync {
    /// The state as it is now.
    fn state(&self) -> Arc<State>;

    /// Changes the state: `change` works on a copy, and may say more for the audit log. When this returns, the change is on disk and in the audit log, as is the
    /// refusal of one.
    ///
    /// # Errors
    /// What `change` says; a return value without a reason where the change could not be kept.
    fn change(
        &self,
        caller: &Caller,
        domain: Option<u8>,
        event: &str,
        change: &mut dyn FnMut(&mut State, &mut Detail) -> Done,
    ) -> Done;

    /// Who may do what with a domain's wrapping keys.
    fn rules(&self, domain: u8) -> Rules;

    /// Whether commands of the card that nobody has signed are taken by a domain's socket: who has the socket of one domain does not rule the others.
    fn rules_card(&self, domain: u8) -> bool;

    /// Number and chain value of the audit log's last line, where there is one.
    fn last_audited(&self) -> Option<(u64, Chain)>;

    /// The importers of PINs, and who has used them.
    fn logins(&self) -> &login::Logins;
}

/// What a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Card,
    Domain,
}

/// How many signatures a command needs out of imprint mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signed {
    /// None: what it does needs none, or what is in it is signed.
    Not,
    /// The signature threshold.
    Sign,
    /// The revocation threshold.
    Revoke,
    /// Both: the higher one.
    Both,
    /// One where one is enough for control points, else the signature threshold.
    Points,
    /// One where one is enough to zeroize, else the signature threshold.
    Zeroize,
}

/// What the settings ask of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    /// To load a wrapping key whole.
    Whole,
    /// To set, commit, clear, export wrapping keys.
    Set,
    /// As for [`May::Set`] where nothing is signed.
    Unsigned,
}

/// What is known of a command.
struct Rule {
    of: Of,
    signed: Signed,
    may: May,
    event: &'static str,
}

/// The rule of a command that changes the state; `None` of another.
fn rule(number: u32) -> Option<Rule> {
    let rule = |of, signed, may, event| Some(Rule { of, signed, may, event });
    match number {
        c::ADMIN_LOGIN => rule(Of::Card, Signed::Sign, May::Unsigned, "administrator-added"),
        c::DOM_ADMIN_LOGIN => rule(Of::Domain, Signed::Sign, May::Unsigned, "administrator-added"),
        c::ADMIN_LOGOUT => rule(Of::Card, Signed::Revoke, May::Unsigned, "administrator-removed"),
        c::DOM_ADMIN_LOGOUT => rule(Of::Domain, Signed::Revoke, May::Unsigned, "administrator-removed"),
        c::ADMIN_REPLACE => rule(Of::Card, Signed::Both, May::Unsigned, "administrator-replaced"),
        c::DOM_ADMIN_REPLACE => rule(Of::Domain, Signed::Both, May::Unsigned, "administrator-replaced"),
        c::SET_ATTR => rule(Of::Card, Signed::Sign, May::Unsigned, "attributes-set"),
        c::DOM_SET_ATTR => rule(Of::Domain, Signed::Sign, May::Unsigned, "attributes-set"),
        c::GEN_DOM_IMPORTER => rule(Of::Domain, Signed::Sign, May::Unsigned, "importer-generated"),
        c::GEN_WK => rule(Of::Domain, Signed::Sign, May::Whole, "master-key-generated"),
        c::IMPORT_WK => rule(Of::Domain, Signed::Not, May::Whole, "master-key-imported"),
        c::EXPORT_WK | c::EXPORT_NEXT_WK => rule(Of::Domain, Signed::Sign, May::Set, "master-key-exported"),
        c::COMMIT_WK => rule(Of::Domain, Signed::Sign, May::Set, "master-key-committed"),
        c::FINALIZE_WK => rule(Of::Domain, Signed::Not, May::Set, "master-key-set"),
        c::CLEAR_WK => rule(Of::Domain, Signed::Sign, May::Set, "master-key-cleared"),
        c::CLEAR_NEXT_WK => rule(Of::Domain, Signed::Sign, May::Set, "next-master-key-cleared"),
        // There is no system key that the second one would leave.
        c::ZEROIZE | c::SYSTEM_ZEROIZE => rule(Of::Card, Signed::Zeroize, May::Set, "card-zeroized"),
        c::DOM_ZEROIZE => rule(Of::Domain, Signed::Zeroize, May::Set, "domain-zeroized"),
        c::DOMAINS_ZEROIZE => rule(Of::Card, Signed::Zeroize, May::Set, "domains-zeroized"),
        c::DOM_CTRLPOINT_SET | c::DOM_CTRLPOINT_ADD | c::DOM_CTRLPOINT_DEL => {
            rule(Of::Domain, Signed::Points, May::Unsigned, "control-points-set")
        }
        c::CTRLPOINT_SET | c::CTRLPOINT_ADD | c::CTRLPOINT_DEL => {
            rule(Of::Card, Signed::Points, May::Unsigned, "control-points-set")
        }
        c::SET_TRUSTED => rule(Of::Domain, Signed::Sign, May::Unsigned, "key-trusted"),
        c::SESSION_REMOVE => rule(Of::Domain, Signed::Sign, May::Unsigned, "sessions-removed"),
        _ => None,
    }
}

/// A command or query, with who asks.
struct Command<'a> {
    context: &'a Context<'a>,
    keeping: &'a dyn Administration,
    block: Block<'a>,
    /// The block as it came, which is what is signed.
    bytes: &'a [u8],
    signatures: &'a [u8],
    /// The reply's head, as it is right after a command: another may follow at once.
    done: Cell<Option<Head>>,
}

/// m_admin.
pub(crate) fn admin(context: &Context<'_>) -> Result<Results> {
    let keeping = context.module.keys.administration().ok_or(Rv(rv::FUNCTION_NOT_SUPPORTED))?;
    let (bytes, signatures) = (context.argument(0), context.argument(1));
    let block = Block::parse(bytes).ok_or(Rv(rv::ARGUMENTS_BAD))?;
    let command = Command { context, keeping, block, bytes, signatures, done: Cell::new(None) };
    let done = command.run();
    let reply = |rv, output: &[u8]| {
        let head = command.done.get().unwrap_or_else(|| command.head(&keeping.state()));
        Reply { head, rv, output }.to_bytes()
    };
    let block = match done {
        Ok(output) => reply(rv::OK, &output),
        Err(refused) => reply(refused.rv, &refused.reason.to_be_bytes()),
    };
    Ok(vec![block, Bytes::default()])
}

impl Command<'_> {
    fn run(&self) -> Done<Bytes> {
        let number = self.block.head.number;
        if number & QUERY != 0 {
            return queries::query(self, number & !QUERY);
        }
        match number {
            // Nothing of the domain changes: it may be asked for by whoever has the blob, as often as there are blobs.
            c::REENCRYPT => reencrypt::reencrypt(self),
            c::RK_REMOVE => refuse(Reason::RetainedKey),
            number => {
                let rule = rule(number).ok_or(Reason::Function)?;
                self.change(&rule)
            }
        }
    }

    /// The head of the reply: the counter as it is now.
    fn head(&self, state: &State) -> Head {
        let number = self.block.head.number;
        let card = match number & QUERY {
            0 => rule(number).is_some_and(|rule| rule.of == Of::Card),
            _ => queries::is_of_card(number & !QUERY),
        };
        let (domain, instance, unit) = match state.domain(self.context.number) {
            Some(domain) if !card => {
                (self.context.number.into(), instance(state, self.context.number), Some(&domain.unit))
            }
            _ => (0, 0, None),
        };
        let counter = *unit.unwrap_or(state.card()).counter();
        Head { number, domain, instance, module: module(state), counter }
    }

    /// Does a command that changes the state.
    fn change(&self, rule: &Rule) -> Done<Bytes> {
        let (mut output, mut head) = (Bytes::default(), None);
        let domain = (rule.of == Of::Domain).then_some(self.context.number);
        let done = self.keeping.change(self.context.caller, domain, rule.event, &mut |state, detail| {
            self.check(rule, state, detail)?;
            output = self.act(state, detail)?;
            if let Some(unit) = self.counted(rule, state) {
                unit.count();
            }
            head = Some(self.head(state));
            Ok(())
        });
        if head.is_some() {
            // Also where it was done, and its record could not be written.
            self.after();
        }
        done?;
        self.done.set(head);
        Ok(output)
    }

    /// What counts a command that was accepted.
    fn counted<'s>(&self, rule: &Rule, state: &'s mut State) -> Option<&'s mut Unit> {
        match rule.of {
            Of::Card => Some(state.card_mut()),
            Of::Domain => state.domain_mut(self.context.number).map(|domain| &mut domain.unit),
        }
    }

    /// Checks all that is the same for all commands.
    fn check(&self, rule: &Rule, state: &State, detail: &mut Detail) -> Done {
        let head = &self.block.head;
        let number = self.context.number;
        let domain = state.domain(number).ok_or(Reason::DomainRange)?;
        let unit = match rule.of {
            Of::Card => {
                demand(head.instance == 0, Reason::InstanceFormat)?;
                state.card()
            }
            Of::Domain => {
                demand(head.domain == u32::from(number), Reason::DomainRange)?;
                demand(head.instance == instance(state, number), Reason::Instance)?;
                &domain.unit
            }
        };
        let module = module(state);
        demand(head.module[..8] == module[..8], Reason::Module)?;
        demand(head.module[8..] == module[8..], Reason::ModuleInstance)?;
        demand(head.counter == next(unit), Reason::Counter)?;
        if head.number == c::DOM_ADMIN_LOGIN && attributes::in_imprint(unit, false) {
            let card = attributes::get(state.card(), true, number::PERMS);
            demand(card & permission::NO_DOMAIN_IMPRINT == 0, Reason::Imprint)?;
        }
        let needed = self.needed(rule, unit)?;
        let signers = self.authority(rule, state, domain).check(self.bytes, self.signatures, needed)?;
        let names: Vec<serde_json::Value> = signers.iter().map(|ski| hex(ski).into()).collect();
        if !names.is_empty() {
            detail.insert("signers".to_owned(), names.into());
        }
        if rule.of == Of::Card && needed == 0 {
            demand(self.keeping.rules_card(number), Reason::DomainRange)?;
        }
        self.may(rule.may, domain, needed > 0)
    }

    fn authority<'s>(&self, rule: &Rule, state: &'s State, domain: &'s Domain) -> Authority<'s> {
        match rule.of {
            Of::Card => Authority { unit: state.card(), above: None },
            Of::Domain => Authority::of_domain(&domain.unit, state.card(), rule.signed == Signed::Zeroize),
        }
    }

    /// How many signatures the command needs.
    fn needed(&self, rule: &Rule, unit: &Unit) -> Done<u32> {
        let card = rule.of == Of::Card;
        let get = |of| attributes::get(unit, card, of);
        let one = |permission: u32| if get(number::PERMS) & permission != 0 { 1 } else { get(number::SIGN_THR) };
        if attributes::in_imprint(unit, card) {
            // The command that ends imprint mode is signed as all that follow.
            if !matches!(self.block.head.number, c::SET_ATTR | c::DOM_SET_ATTR) {
                return Ok(0);
            }
            let all = attributes::unpack(self.block.payload)?;
            let threshold = all.iter().find(|(of, _)| *of == number::SIGN_THR).map_or(0, |(_, value)| *value);
            // That there are as many administrators is checked first: no signature helps.
            demand(threshold as usize <= unit.administrators().len(), Reason::TooFewSigners)?;
            return Ok(threshold);
        }
        Ok(match rule.signed {
            Signed::Not => 0,
            Signed::Sign => get(number::SIGN_THR),
            Signed::Revoke => get(number::REVOKE_THR),
            Signed::Both => get(number::SIGN_THR).max(get(number::REVOKE_THR)),
            Signed::Points => one(permission::POINTS_ONE_SIGNATURE),
            Signed::Zeroize => one(permission::ZEROIZE_ONE_SIGNATURE),
        })
    }

    /// Checks that the caller may do it by the card's settings.
    fn may(&self, may: May, domain: &Domain, signed: bool) -> Done {
        let (rules, caller) = (self.keeping.rules(self.context.number), role(self.context.caller));
        let loaded = domain.registers(Kind::Wrapping).map(Registers::loaders).unwrap_or_default();
        let allowed = match may {
            May::Whole => rules.check_whole(&caller),
            May::Set => rules.check(&caller, Step::Set, loaded),
            May::Unsigned if signed => Ok(()),
            May::Unsigned => rules.check(&caller, Step::Set, Default::default()),
        };
        let reason = if may == May::Whole { Reason::ImportProhibited } else { Reason::TooFewSignatures };
        allowed.or(refuse(reason))
    }

    /// Does the command on the state, which was checked.
    fn act(&self, state: &mut State, detail: &mut Detail) -> Done<Bytes> {
        let (number, payload) = (self.block.head.number, self.block.payload);
        let own = self.context.number;
        let card_imprint = attributes::in_imprint(state.card(), true);
        match number {
            c::ADMIN_LOGIN => units::login(state.card_mut(), true, payload, detail),
            c::ADMIN_LOGOUT => units::logout(state.card_mut(), true, payload, detail),
            c::ADMIN_REPLACE => units::replace(state.card_mut(), true, payload, detail),
            c::SET_ATTR => units::set_attributes(state.card_mut(), true, payload, card_imprint, detail),
            c::CTRLPOINT_SET | c::CTRLPOINT_ADD | c::CTRLPOINT_DEL => {
                units::points(state.card_mut(), number - c::CTRLPOINT_SET, payload, detail)
            }
            c::ZEROIZE | c::SYSTEM_ZEROIZE => units::zeroize_card(state),
            c::DOMAINS_ZEROIZE => units::zeroize_domains(state, payload, detail),
            c::DOM_ZEROIZE => units::zeroize(state, own),
            c::SESSION_REMOVE => self.remove_sessions(payload, detail),
            c::SET_TRUSTED => reencrypt::trust(self),
            number => {
                let domain = state.domain_mut(own).ok_or(Reason::DomainRange)?;
                self.act_on_domain(number, domain, card_imprint, detail)
            }
        }
    }

    fn act_on_domain(&self, number: u32, domain: &mut Domain, card_imprint: bool, detail: &mut Detail) -> Done<Bytes> {
        let (payload, uid) = (self.block.payload, self.context.caller.uid);
        let unit = &mut domain.unit;
        match number {
            c::DOM_ADMIN_LOGIN => units::login(unit, false, payload, detail),
            c::DOM_ADMIN_LOGOUT => units::logout(unit, false, payload, detail),
            c::DOM_ADMIN_REPLACE => units::replace(unit, false, payload, detail),
            c::DOM_SET_ATTR => units::set_attributes(unit, false, payload, card_imprint, detail),
            c::DOM_CTRLPOINT_SET | c::DOM_CTRLPOINT_ADD | c::DOM_CTRLPOINT_DEL => {
                units::points(unit, number - c::DOM_CTRLPOINT_SET, payload, detail)
            }
            c::GEN_DOM_IMPORTER => {
                let kind = payload.try_into().map(u32::from_be_bytes).or(refuse(Reason::ImporterFormat))?;
                Ok(Bytes::new(importer::Importer::generate(unit, kind)?.spki))
            }
            c::GEN_WK => wk::generate(domain, uid, detail),
            c::IMPORT_WK => wk::import(self, domain, uid, detail),
            c::EXPORT_WK => export::export(domain, false, payload, detail),
            c::EXPORT_NEXT_WK => export::export(domain, true, payload, detail),
            c::COMMIT_WK => wk::commit(domain, payload, detail),
            c::FINALIZE_WK => wk::finalize(domain, payload, detail),
            c::CLEAR_WK => wk::clear(domain),
            c::CLEAR_NEXT_WK => wk::clear_next(domain),
            _ => refuse(Reason::Function),
        }
    }

    /// Ends one session, by its identifier or its PIN blob, or all of the domain.
    fn remove_sessions(&self, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
        let (sessions, domain) = (&self.context.module.sessions, self.context.number);
        if payload.is_empty() {
            detail.insert("sessions".to_owned(), sessions.count(domain).into());
            sessions.remove_all(domain);
            return Ok(Bytes::default());
        }
        let id = payload.first_chunk().filter(|_| matches!(payload.len(), 32 | 80)).ok_or(Rv(rv::ARGUMENTS_BAD))?;
        if !sessions.remove(domain, id) {
            return Err(Rv(rv::SESSION_CLOSED).into());
        }
        Ok(Bytes::default())
    }

    /// What the module must forget after a change.
    fn after(&self) {
        let module = self.context.module;
        match self.block.head.number {
            c::ZEROIZE | c::SYSTEM_ZEROIZE | c::DOMAINS_ZEROIZE | c::DOM_ZEROIZE => {
                let gone = |domain: &u8| self.block.head.number != c::DOM_ZEROIZE || *domain == self.context.number;
                let mask = <&[u8; 32]>::try_from(self.block.payload).ok();
                let masked = |domain: &u8| {
                    self.block.head.number != c::DOMAINS_ZEROIZE
                        || mask.is_some_and(|mask| units::in_mask(mask, *domain))
                };
                (0..=u8::MAX).filter(gone).filter(masked).for_each(|domain| module.sessions.remove_all(domain));
                module.forget();
            }
            c::FINALIZE_WK | c::CLEAR_WK | c::CLEAR_NEXT_WK => module.forget(),
            _ => {}
        }
    }
}

/// The counter that the next command has.
fn next(unit: &Unit) -> [u8; 16] {
    u128::from_be_bytes(*unit.counter()).wrapping_add(1).to_be_bytes()
}

/// A caller as the coprocessor's rules have it.
fn role(caller: &Caller) -> roles::Caller {
    roles::Caller { uid: caller.uid, gid: caller.gid, groups: caller.groups.clone() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The module's number and instance: 8 characters each.
pub(crate) fn module(state: &State) -> [u8; 16] {
    let mut text = [0; 16];
    let digits = hex(&state.identity()[..8]).to_ascii_uppercase();
    text.copy_from_slice(digits.as_bytes().first_chunk::<16>().unwrap_or(&[b'0'; 16]));
    text
}

/// Where the card keeps the instances of its domains: 4 bytes each.
const INSTANCES: u32 = 0xe11_0001;

/// The instance of a domain: another each time that it is zeroized.
fn instance(state: &State, domain: u8) -> u32 {
    let at = usize::from(domain) * 4;
    match state.card().setting(INSTANCES) {
        Some(Setting::Bytes(all)) => {
            all.get(at..).and_then(<[u8]>::first_chunk).map_or(1, |one| u32::from_be_bytes(*one))
        }
        _ => 1,
    }
}

/// Gives a domain another instance.
fn renew_instance(state: &mut State, domain: u8) -> Done {
    let mut all: Vec<u8> = (0..=u8::MAX).flat_map(|domain| instance(state, domain).to_be_bytes()).collect();
    let next = instance(state, domain).wrapping_add(1).max(1);
    if let Some(one) = all.get_mut(usize::from(domain) * 4..).and_then(<[u8]>::first_chunk_mut) {
        *one = next.to_be_bytes();
    }
    let kept = state.card_mut().set_setting(INSTANCES, Some(Setting::Bytes(all)));
    kept.or(Err(Refused { rv: rv::DEVICE_MEMORY, reason: 0 }))
}

/// What [`mode::AUTHENTICATED`] says of a domain and the card, for queries.
pub(crate) fn is_imprinted(state: &State, domain: u8) -> bool {
    state
        .domain(domain)
        .is_some_and(|domain| attributes::get(&domain.unit, false, number::MODE) & mode::AUTHENTICATED == 0)
}
