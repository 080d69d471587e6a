//! CSNBMKP: master keys in parts. Groups and dual control are checked here, in the card.

use crate::context::Context;
use crate::des;
use crate::error::{Result, ensure, fail};
use adjunct_cca_wire::code::Code;
use adjunct_coprocessor::keeper::Change;
use adjunct_coprocessor::registers::{Kind, Registers, Wrong};
use adjunct_coprocessor::roles::{Refused, Step};
use adjunct_coprocessor::state::State;
use std::fmt;
use zeroize::Zeroizing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    Clear,
    ClearOld,
    Load(Step),
    Random,
    Set,
}

/// The access control points of CLEAR, FIRST, MIDDLE and LAST, SET.
const fn points(kind: Kind) -> [u16; 4] {
    match kind {
        Kind::Sym => [0x0032, 0x0018, 0x0019, 0x001a],
        Kind::Asym => [0x0060, 0x0053, 0x0054, 0x0057],
        Kind::Apka => [0x031f, 0x0320, 0x0321, 0x0322],
        Kind::Aes | Kind::Wrapping => [0x0124, 0x0125, 0x0126, 0x0128],
    }
}

/// Why nothing was changed, for the caller and for the audit log.
#[derive(Debug)]
enum Why {
    Refused(Refused),
    Wrong(Wrong),
    Weak,
    Domain,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Refused(refused) => refused.fmt(f),
            Why::Wrong(wrong) => wrong.fmt(f),
            Why::Weak => f.write_str("a third of the key is a weak DES key"),
            Why::Domain => f.write_str("there is no such domain"),
        }
    }
}

impl Why {
    fn code(&self) -> Code {
        match self {
            Why::Refused(_) => Code::ACCESS,
            Why::Weak => Code::WEAK_MASTER_KEY,
            // IBM's books say that a key with the pattern of the current or the old one is refused, and name no reason.
            Why::Wrong(Wrong::Same) => Code::MASTER_KEY_PATTERN,
            Why::Wrong(Wrong::Key) => Code::KEY_LENGTH,
            Why::Wrong(Wrong::Empty) | Why::Domain => Code::NO_MASTER_KEY,
            Why::Wrong(_) => Code::KEYWORDS,
        }
    }
}

pub(super) fn process(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 2, 3)?;
    let kinds = [
        (b"SYM-MK  ", Kind::Sym),
        (b"ASYM-MK ", Kind::Asym),
        (b"AES-MK  ", Kind::Aes),
        (b"APKA-MK ", Kind::Apka),
        (b"ECC-MK  ", Kind::Apka),
    ];
    let kind = rules.needed(&kinds)?;
    let process = rules.needed(&[
        (b"CLEAR   ", Process::Clear),
        (b"CLR-OLD ", Process::ClearOld),
        (b"FIRST   ", Process::Load(Step::First)),
        (b"MIDDLE  ", Process::Load(Step::Middle)),
        (b"LAST    ", Process::Load(Step::Last)),
        (b"RANDOM  ", Process::Random),
        (b"SET     ", Process::Set),
    ])?;
    rules.one(&[(b"ADAPTER ", ()), (b"ADAPTER1", ())])?;
    rules.end()?;
    let [clear, first, combine, set] = points(kind);
    context.domain.allows(match process {
        Process::Clear | Process::ClearOld => clear,
        Process::Load(Step::First) | Process::Random => first,
        Process::Load(_) => combine,
        Process::Set => set,
    })?;
    let (part, odd) = part(context, kind, process)?;
    let rules = *context.module.masters().rules();
    let (caller, number) = (context.caller, context.number);
    let change = |state: &mut State| {
        let registers = state.domain_mut(number).and_then(|domain| domain.registers_mut(kind)).ok_or(Why::Domain)?;
        let loaders = registers.loaders();
        match process {
            // Who may load a first part may throw away what was loaded.
            Process::Clear | Process::ClearOld => rules.check(caller, Step::First, loaders).map_err(Why::Refused)?,
            Process::Load(step) => rules.check(caller, step, loaders).map_err(Why::Refused)?,
            Process::Random => rules.check_whole(caller).map_err(Why::Refused)?,
            Process::Set => rules.check(caller, Step::Set, loaders).map_err(Why::Refused)?,
        }
        run(registers, process, &part, caller.uid)
    };
    let event = format!("CSNBMKP {}", name(kind, process));
    let equal = match context.module.masters().keeper().change(caller, Some(number), &event, change) {
        // What is done is done; that the log could not be written shows in the keeper's findings.
        Ok(equal) => equal,
        Err(Change::Unlogged(_)) => false,
        Err(Change::Refused(why)) => return fail(why.code()),
        Err(_) => return fail(Code::INTERNAL),
    };
    Ok(match (equal, odd) {
        (true, _) => Code::EQUAL_THIRDS,
        (_, false) => Code::PART_PARITY,
        _ => Code::OK,
    })
}

fn name(kind: Kind, process: Process) -> String {
    let process = match process {
        Process::Clear => "CLEAR",
        Process::ClearOld => "CLR-OLD",
        Process::Load(step) => step.name(),
        Process::Random => "RANDOM",
        Process::Set => "SET",
    };
    format!("{kind:?} {process}").to_uppercase()
}

/// The part, and whether its bytes had odd parity. Those of a DES key are given a parity that leaves the sum's odd: odd in the first part, even in those after it.
fn part(context: &Context<'_>, kind: Kind, process: Process) -> Result<(Zeroizing<Vec<u8>>, bool)> {
    let Process::Load(step) = process else { return Ok((Zeroizing::new(Vec::new()), true)) };
    let mut part = Zeroizing::new(context.request.bytes(1).to_vec());
    ensure(part.len() == kind.length(), Code::LENGTH)?;
    if kind.length() == 32 {
        return Ok((part, true));
    }
    let odd = des::is_odd(&part);
    des::set_parity(&mut part, step == Step::First);
    Ok((part, odd))
}

/// Changes the registers; whether thirds of a new DES master key are equal.
fn run(registers: &mut Registers, process: Process, part: &[u8], uid: u32) -> std::result::Result<bool, Why> {
    match process {
        Process::Clear => registers.clear_next(),
        Process::ClearOld => registers.clear_old(),
        Process::Load(step) => registers.load(step, part, uid).map_err(Why::Wrong)?,
        Process::Random if registers.kind().length() == 32 => registers.generate_next(uid).map_err(Why::Wrong)?,
        Process::Random => {
            let mut key = Zeroizing::new([0; 24]);
            loop {
                adjunct::ops::cipher::des::random_key(&mut key[..]);
                if !is_weak(&key) {
                    break;
                }
            }
            registers.import_next([&key[..]], uid).map_err(Why::Wrong)?;
        }
        Process::Set => registers.set().map_err(Why::Wrong)?,
    }
    let new = registers.next().and_then(|next| next.key()).filter(|_| process == Process::Load(Step::Last));
    let Some(key) = new.and_then(|key| key.secret().first_chunk::<24>()).filter(|_| registers.kind().length() == 24)
    else {
        return Ok(false);
    };
    if is_weak(key) {
        Err(Why::Weak)
    } else {
        Ok(key[..8] == key[8..16] || key[8..16] == key[16..] || key[..8] == key[16..])
    }
}

fn is_weak(key: &[u8; 24]) -> bool {
    key.as_chunks().0.iter().any(des::is_weak)
}
