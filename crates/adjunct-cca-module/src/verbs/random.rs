//! CSNBRNG and CSNBRNGL: random numbers.

use crate::context::Context;
use crate::des;
use crate::error::{Result, ensure, fail};
use adjunct::ops::random::Generator;
use adjunct_cca_wire::code::Code;

/// The longest random number.
const LONGEST: usize = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Random,
    Odd,
    Even,
}

const FORMS: [(&[u8; 8], Form); 3] = [(b"RANDOM  ", Form::Random), (b"ODD     ", Form::Odd), (b"EVEN    ", Form::Even)];

fn number(form: Form, out: &mut [u8]) {
    Generator::new().generate(out);
    if form != Form::Random {
        des::set_parity(out, form == Form::Odd);
    }
}

pub(super) fn eight(context: &mut Context<'_>) -> Result<Code> {
    let form = context.fixed::<8>(0)?;
    let Some((_, form)) = FORMS.iter().find(|(name, _)| *name == form) else { return fail(Code::KEYWORD) };
    let mut out = [0; 8];
    number(*form, &mut out);
    context.results.set_bytes(1, &out);
    Ok(Code::OK)
}

pub(super) fn long(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 1)?;
    let form = rules.needed(&FORMS)?;
    rules.end()?;
    let length = context.request.room(2);
    ensure(context.request.bytes(1).is_empty() && (1..=LONGEST).contains(&length), Code::LENGTH)?;
    let mut out = adjunct::memory::zeros(length)?;
    number(form, &mut out);
    context.give(2, out)?;
    Ok(Code::OK)
}
