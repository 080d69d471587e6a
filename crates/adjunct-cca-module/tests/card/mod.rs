//! A card in this process: master keys of a test set, verbs as a program would call them.

use adjunct_cca_module::Module;
use adjunct_cca_module::masters::Masters;
use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::{Reply, Value, request};
use adjunct_cca_wire::verb::Verb;
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::{Kind, MasterKey};
use adjunct_coprocessor::roles::{Caller, Rules};
use adjunct_coprocessor::state::{Mode, State};
use std::sync::Arc;

/// What came back: the code, and for each parameter what was written.
pub type Answer = (Code, Vec<Option<Vec<u8>>>);

pub struct Card {
    pub module: Module,
    pub keeper: Arc<Keeper>,
}

#[allow(dead_code, reason = "not every test needs all of it")]
impl Card {
    /// A card without master keys.
    pub fn empty(rules: Rules) -> Card {
        let mut state = State::new(Mode::Cca, ControlPoints::NONE);
        state.domain_or_new(0, ControlPoints::NONE);
        Card::of(state, rules)
    }

    fn of(state: State, rules: Rules) -> Card {
        let keeper = Arc::new(Keeper::volatile(state, None));
        Card { module: Module::new(Masters::new(keeper.clone(), rules)), keeper }
    }

    /// A card with master keys.
    pub fn ready() -> Card {
        let mut state = State::new(Mode::Cca, ControlPoints::NONE);
        let domain = state.domain_or_new(0, ControlPoints::NONE);
        for (number, kind) in (1..).zip(Mode::Cca.kinds()) {
            let key: Vec<u8> = (0..kind.length() as u8).map(|byte| byte.wrapping_mul(7) ^ number).collect();
            domain.registers_mut(*kind).unwrap().set_current(MasterKey::new(*kind, &key).unwrap()).unwrap();
        }
        Card::of(state, Rules::default())
    }

    pub fn call_as(&self, caller: &Caller, verb: Verb, values: &[Value<'_>]) -> Answer {
        let message = request(verb, values).expect("values of the verb's shape");
        let reply = self.module.call(caller, 0, &message);
        let reply = Reply::parse(&reply).expect("a reply");
        assert_eq!(reply.verb, verb);
        (reply.code, (0..verb.shape().len()).map(|at| reply.bytes(at).map(<[u8]>::to_vec)).collect())
    }

    pub fn call(&self, verb: Verb, values: &[Value<'_>]) -> Answer {
        self.call_as(&Caller::default(), verb, values)
    }

    /// The results of a call that is done, with its code.
    pub fn done(&self, verb: Verb, values: &[Value<'_>]) -> Vec<Option<Vec<u8>>> {
        let (code, results) = self.call(verb, values);
        assert_eq!(code.rc, 0, "{} {code:?}", verb.name());
        results
    }

    /// A DATA key made of clear bytes.
    pub fn des(&self, key: &[u8]) -> Vec<u8> {
        let values = [Value::Bytes(b"DES     "), Value::Bytes(key), Value::Bytes(&[0; 64])];
        self.done(Verb::CSNBCKM, &values)[2].clone().unwrap()
    }

    /// An AES DATA key made of clear bytes.
    pub fn aes(&self, key: &[u8]) -> Vec<u8> {
        let values = [Value::Bytes(b"AES     "), Value::Bytes(key), Value::Bytes(&[0; 64])];
        self.done(Verb::CSNBCKM, &values)[2].clone().unwrap()
    }

    /// The skeleton of a token of variable length.
    pub fn skeleton(&self, rules: &[u8]) -> Vec<u8> {
        let none = Value::Bytes(&[]);
        let values = [Value::Bytes(rules), Value::Bits(0, &[]), none, none, none, none, Value::Bytes(&[0; 725])];
        self.done(Verb::CSNBKTB2, &values)[6].clone().unwrap()
    }

    /// A key of parts, of which there is one: an HMAC key, or an AES CIPHER or MAC key.
    pub fn variable(&self, algorithm: &[u8; 8], skeleton: &[u8], key: &[u8]) -> Vec<u8> {
        let room = |token: &[u8]| [token, &vec![0; 725 - token.len()]].concat();
        let rules = [algorithm, &b"FIRST   MIN1PART"[..]].concat();
        let token = room(skeleton);
        let values = [Value::Bytes(&rules), Value::Bits(key.len() as u64 * 8, key), Value::Bytes(&token)];
        let token = room(&self.done(Verb::CSNBKPI2, &values)[2].clone().unwrap());
        let rules = [algorithm, &b"COMPLETE"[..]].concat();
        let values = [Value::Bytes(&rules), Value::Bits(0, &[]), Value::Bytes(&token)];
        self.done(Verb::CSNBKPI2, &values)[2].clone().unwrap()
    }

    /// Loads and sets a master key, in two parts.
    pub fn set(&self, class: &[u8; 8], parts: [&[u8]; 2]) {
        for (step, part) in [(b"FIRST   ", parts[0]), (b"LAST    ", parts[1]), (b"SET     ", &[])] {
            let rules = [class, &step[..]].concat();
            let (code, _) = self.call(Verb::CSNBMKP, &[Value::Bytes(&rules), Value::Bytes(part)]);
            assert_eq!(code.rc, 0, "{code:?}");
        }
    }

    pub fn registers(&self, kind: Kind) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let state = self.keeper.state();
        let registers = state.domain(0).unwrap().registers(kind).unwrap();
        let secret = |key: Option<&Arc<MasterKey>>| key.map(|key| key.secret().to_vec());
        (secret(registers.current()), secret(registers.old()))
    }
}

#[allow(dead_code, reason = "not every test needs it")]
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().filter_map(|digit| (digit as char).to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
