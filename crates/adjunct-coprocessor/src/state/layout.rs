//! The state as bytes. Numbers are little endian; lists are in ascending order of their numbers, so that each state has one form.
//!
//! ```text
//! state:      "ADST" | version (2) | mode (1) | 0 | identity (16) | audit number (8) | audit chain (32)
//!             | anchor: 0, or 1 number (4) base (8) authorization (32) | card: unit | domains (2) | each: number (1) domain
//! domain:     unit | for each kind of the mode: registers
//! registers:  what there is (1): 1 current, 2 next, 4 old | current: key | next | old: key
//! next:       stage (1): 1 partial, 2 full, 3 committed | loaders (1): 1 first, 2 middle, 4 last | each: uid (4) | key
//! unit:       control points (16) | counter (16) | attributes (2) | each: number (4) value (4)
//!             | settings (2) | each: number (4) type (1): 1 flag (1), 2 number (8), 3 length (2) bytes
//!             | keys (2) | each: number (4) length (2) bytes
//!             | administrators (1) | each: SKI (32) length (2) certificate
//! ```

use super::{Anchor, Domain, Mode, State};
use crate::control::ControlPoints;
use crate::crypt::boxed;
use crate::registers::{Kind, MasterKey, Next, Parts, Registers, Stage};
use crate::roles::Loaders;
use crate::unit::{Administrator, OwnKey, Setting, Unit};
use crate::vault::Contents;
use std::collections::BTreeMap;
use std::sync::Arc;
use zeroize::Zeroizing;

const MAGIC: &[u8; 4] = b"ADST";
const VERSION: u16 = 1;

/// Where bytes go.
trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

/// Counts them.
struct Count(usize);

impl Sink for Count {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Room for so many as were counted: it is never moved, which would leave a copy behind.
struct Room {
    bytes: Contents,
    at: usize,
}

impl Sink for Room {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

pub(super) fn encode(state: &State) -> Option<Contents> {
    let mut count = Count(0);
    write(state, &mut count);
    let mut room = Room { bytes: Zeroizing::new(Vec::new()), at: 0 };
    room.bytes.try_reserve_exact(count.0).ok()?;
    room.bytes.resize(count.0, 0);
    write(state, &mut room);
    Some(room.bytes)
}

fn write(state: &State, out: &mut impl Sink) {
    out.put(MAGIC);
    out.put(&VERSION.to_le_bytes());
    out.put(&[state.mode as u8, 0]);
    out.put(&state.identity);
    out.put(&state.audit.0.to_le_bytes());
    out.put(&state.audit.1);
    match &state.anchor {
        None => out.put(&[0]),
        Some(anchor) => {
            out.put(&[1]);
            out.put(&anchor.counter.to_le_bytes());
            out.put(&anchor.base.to_le_bytes());
            out.put(&anchor.auth[..]);
        }
    }
    unit(&state.card, out);
    out.put(&(state.domains.len() as u16).to_le_bytes());
    for (number, domain) in &state.domains {
        out.put(&[*number]);
        unit(&domain.unit, out);
        domain.registers.iter().for_each(|kind| registers(kind, out));
    }
}

fn registers(registers: &Registers, out: &mut impl Sink) {
    let there = |is: bool, bit: u8| if is { bit } else { 0 };
    let (current, next, old) = (&registers.current, &registers.next, &registers.old);
    out.put(&[there(current.is_some(), 1) | there(next.is_some(), 2) | there(old.is_some(), 4)]);
    if let Some(key) = current {
        out.put(key.secret());
    }
    if let Some(next) = next {
        let Loaders { first, middle, last } = next.loaders;
        let stage = match next.stage {
            Stage::Partial(_) => 1,
            Stage::Full(_) => 2,
            Stage::Committed(_) => 3,
        };
        out.put(&[stage, there(first.is_some(), 1) | there(middle.is_some(), 2) | there(last.is_some(), 4)]);
        [first, middle, last].into_iter().flatten().for_each(|uid| out.put(&uid.to_le_bytes()));
        match &next.stage {
            Stage::Partial(parts) => out.put(&parts.sum[..registers.kind().length()]),
            Stage::Full(key) | Stage::Committed(key) => out.put(key.secret()),
        }
    }
    if let Some(key) = old {
        out.put(key.secret());
    }
}

/// A list's length. The setters of units let none get longer than the number can say.
fn length(out: &mut impl Sink, length: usize) {
    out.put(&(length as u16).to_le_bytes());
}

fn sized(out: &mut impl Sink, bytes: &[u8]) {
    length(out, bytes.len());
    out.put(bytes);
}

fn unit(unit: &Unit, out: &mut impl Sink) {
    out.put(&unit.points().to_bytes());
    out.put(unit.counter());
    length(out, unit.attributes.len());
    for (number, value) in &unit.attributes {
        out.put(&number.to_le_bytes());
        out.put(&value.to_le_bytes());
    }
    length(out, unit.settings.len());
    for (number, setting) in &unit.settings {
        out.put(&number.to_le_bytes());
        match setting {
            Setting::Flag(flag) => out.put(&[1, u8::from(*flag)]),
            Setting::Number(number) => {
                out.put(&[2]);
                out.put(&number.to_le_bytes());
            }
            Setting::Bytes(bytes) => {
                out.put(&[3]);
                sized(out, bytes);
            }
        }
    }
    length(out, unit.keys.len());
    for (number, key) in &unit.keys {
        out.put(&number.to_le_bytes());
        sized(out, key.secret());
    }
    out.put(&[unit.administrators().len() as u8]);
    for administrator in unit.administrators() {
        out.put(administrator.ski());
        sized(out, administrator.certificate());
    }
}

/// Bytes that are read from the front.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn sized(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(length.into())
    }

    /// A list of numbered entries, each number above the one before.
    fn list(&mut self, mut each: impl FnMut(&mut Self, u32) -> Option<()>) -> Option<()> {
        let mut least = 0;
        for _ in 0..self.u16()? {
            let number = self.u32()?;
            if u64::from(number) < least {
                return None;
            }
            least = u64::from(number) + 1;
            each(self, number)?;
        }
        Some(())
    }
}

pub(super) fn parse(bytes: &[u8]) -> Option<State> {
    let mut rest = In(bytes);
    if rest.array()? != *MAGIC || rest.u16()? != VERSION {
        return None;
    }
    let mode = Mode::with_number(rest.u8()?)?;
    if rest.u8()? != 0 {
        return None;
    }
    let (identity, audit) = (rest.array()?, (rest.u64()?, rest.array()?));
    let anchor = match rest.u8()? {
        0 => None,
        1 => Some(Arc::new(Anchor { counter: rest.u32()?, base: rest.u64()?, auth: boxed(rest.take(32)?) })),
        _ => return None,
    };
    let card = Arc::new(parse_unit(&mut rest)?);
    let mut domains = BTreeMap::new();
    for _ in 0..rest.u16()? {
        let number = rest.u8()?;
        if domains.last_key_value().is_some_and(|(before, _)| *before >= number) {
            return None;
        }
        let unit = parse_unit(&mut rest)?;
        let registers = mode.kinds().iter().map(|&kind| parse_registers(&mut rest, kind)).collect::<Option<_>>()?;
        domains.insert(number, Arc::new(Domain { unit, registers }));
    }
    rest.0.is_empty().then_some(State { mode, identity, card, domains, audit, anchor })
}

fn parse_registers(rest: &mut In<'_>, kind: Kind) -> Option<Registers> {
    let key = |rest: &mut In<'_>| Some(Arc::new(MasterKey::new(kind, rest.take(kind.length())?)?));
    let there = rest.u8()?;
    if there > 7 || (there & 4 != 0 && !kind.keeps_old()) {
        return None;
    }
    let mut registers = Registers::new(kind);
    if there & 1 != 0 {
        registers.current = Some(key(rest)?);
    }
    if there & 2 != 0 {
        let (stage, by) = (rest.u8()?, rest.u8()?);
        if by > 7 {
            return None;
        }
        let mut uid = |bit| if by & bit != 0 { rest.u32().map(Some) } else { Some(None) };
        let loaders = Loaders { first: uid(1)?, middle: uid(2)?, last: uid(4)? };
        let stage = match stage {
            1 => Stage::Partial(Parts { sum: boxed(rest.take(kind.length())?) }),
            2 => Stage::Full(key(rest)?),
            3 => Stage::Committed(key(rest)?),
            _ => return None,
        };
        registers.next = Some(Next { stage, loaders });
    }
    if there & 4 != 0 {
        registers.old = Some(key(rest)?);
    }
    Some(registers)
}

fn parse_unit(rest: &mut In<'_>) -> Option<Unit> {
    let mut unit = Unit::new(ControlPoints::from_bytes(rest.array()?));
    unit.set_counter(rest.array()?);
    rest.list(|rest, number| unit.set_attribute(number, rest.u32()?).ok())?;
    rest.list(|rest, number| {
        let setting = match rest.u8()? {
            1 => Setting::Flag(match rest.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            }),
            2 => Setting::Number(rest.u64()?),
            3 => Setting::Bytes(rest.sized()?.to_vec()),
            _ => return None,
        };
        unit.set_setting(number, Some(setting)).ok()
    })?;
    rest.list(|rest, number| {
        let key = OwnKey::new(Zeroizing::new(rest.sized()?.to_vec()));
        unit.set_key(number, Some(key)).ok()
    })?;
    for _ in 0..rest.u8()? {
        let ski = rest.array()?;
        unit.add_administrator(Administrator::new(ski, rest.sized()?)?).ok()?;
    }
    Some(unit)
}
