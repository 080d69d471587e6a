//! A card with its state in memory, asked as programs ask: by messages.
#![allow(dead_code)]

use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::{Kind, MasterKey};
use adjunct_coprocessor::roles::Rules;
use adjunct_ep11_module::admin::kept::{Kept, initial};
use adjunct_ep11_module::{Caller, Module, Settings};
use adjunct_ep11_wire::admin::{Block, Head, QUERY, Reply, command, query};
use adjunct_ep11_wire::attributes::{Template, Value};
use adjunct_ep11_wire::codes::{attribute as a, mechanism as m};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use adjunct_ep11_wire::message;
use std::sync::Arc;

pub const DOMAIN: u8 = 3;
pub const OTHER: u8 = 7;

pub struct Card {
    pub module: Module,
    pub keeper: Arc<Keeper>,
    pub caller: Caller,
}

/// What a command's reply says: the head, and the output or the reason.
pub type Said = (Head, Result<Vec<u8>, (u32, u32)>);

impl Card {
    /// A card with two domains that have no wrapping key.
    pub fn empty() -> Card {
        Card::with(Rules::default())
    }

    pub fn with(rules: Rules) -> Card {
        let keeper = Arc::new(Keeper::volatile(initial([DOMAIN, OTHER]), None));
        let module = Module::new(Arc::new(Kept::new(keeper.clone(), move |_| rules)), Settings::default());
        Card { module, keeper, caller: Caller::default() }
    }

    /// A card with an audit log.
    pub fn logged(log: adjunct_coprocessor::audit::Log) -> Card {
        Card::kept(Keeper::volatile(initial([DOMAIN, OTHER]), Some(log)))
    }

    /// A card whose state is kept so.
    pub fn kept(keeper: Keeper) -> Card {
        let keeper = Arc::new(keeper);
        let module = Module::new(Arc::new(Kept::new(keeper.clone(), |_| Rules::default())), Settings::default());
        Card { module, keeper, caller: Caller::default() }
    }

    /// A card whose domains have wrapping keys.
    pub fn new() -> Card {
        let card = Card::empty();
        for domain in [DOMAIN, OTHER] {
            card.set_wk(domain, &[domain + 1; 32]);
        }
        card
    }

    /// Puts a wrapping key in use, by no command.
    pub fn set_wk(&self, domain: u8, secret: &[u8; 32]) {
        let key = MasterKey::new(Kind::Wrapping, secret).unwrap();
        let set = self.keeper.change(&Default::default(), Some(domain), "test", |state| {
            state.domain_mut(domain).unwrap().registers_mut(Kind::Wrapping).unwrap().set_current(key)
        });
        set.unwrap();
    }

    pub fn call_in(&self, domain: u8, function: Function, arguments: &[&[u8]]) -> Result<Vec<Vec<u8>>, u32> {
        let request = message::request(6, function, domain.into(), arguments);
        let reply = self.module.call(&self.caller, domain, &request);
        let reply = message::Reply::parse(&reply).expect("a reply");
        assert_eq!(reply.function, function);
        match reply.rv {
            0 => Ok(reply.results().iter().map(|result| result.to_vec()).collect()),
            error => Err(error),
        }
    }

    pub fn call(&self, function: Function, arguments: &[&[u8]]) -> Result<Vec<Vec<u8>>, u32> {
        self.call_in(DOMAIN, function, arguments)
    }

    /// The only result of a function.
    pub fn one(&self, function: Function, arguments: &[&[u8]]) -> Result<Vec<u8>, u32> {
        let mut results = self.call(function, arguments)?;
        assert_eq!(results.len(), 1);
        Ok(results.remove(0))
    }

    /// A key of AES of 32 bytes, for all that such keys do.
    pub fn aes(&self, session: &[u8]) -> Vec<u8> {
        self.secret(m::AES_KEY_GEN, 32, session)
    }

    pub fn secret(&self, kind: u32, length: u32, session: &[u8]) -> Vec<u8> {
        let mut template = Template::default();
        let crypts = kind != m::GENERIC_SECRET_KEY_GEN;
        for (kind, has) in [(a::ENCRYPT, crypts), (a::DECRYPT, crypts), (a::SIGN, true), (a::VERIFY, true)] {
            template.set_flag(kind, has).unwrap();
        }
        template.values.push((a::VALUE_LEN, Value::Number(length)));
        let mechanism = Mechanism::plain(kind).to_bytes();
        self.call(Function::GenerateKey, &[&mechanism, &template.to_bytes(), session]).unwrap().remove(0)
    }

    /// A pair: private, public.
    pub fn pair(&self, kind: u32, public: &[(u32, Value<'_>)], uses: [&[u32]; 2]) -> [Vec<u8>; 2] {
        let mut templates = [Template::default(), Template::default()];
        templates[0].values.extend_from_slice(public);
        for (template, uses) in templates.iter_mut().zip(uses) {
            uses.iter().for_each(|kind| template.set_flag(*kind, true).unwrap());
        }
        let [public, private] = templates.map(|template| template.to_bytes());
        let mechanism = Mechanism::plain(kind).to_bytes();
        let mut pair = self.call(Function::GenerateKeyPair, &[&mechanism, &public, &private, &[]]).unwrap();
        let public = pair.remove(1);
        [pair.remove(0), public]
    }

    pub fn rsa(&self) -> [Vec<u8>; 2] {
        let public = [(a::MODULUS_BITS, Value::Number(2048)), (a::PUBLIC_EXPONENT, Value::Bytes(&[1, 0, 1]))];
        self.pair(m::RSA_PKCS_KEY_PAIR_GEN, &public, [&[a::VERIFY, a::ENCRYPT], &[a::SIGN, a::DECRYPT]])
    }

    pub fn curve(&self, params: &[u8]) -> [Vec<u8>; 2] {
        let public = [(a::EC_PARAMS, Value::Bytes(params))];
        self.pair(m::EC_KEY_PAIR_GEN, &public, [&[a::VERIFY], &[a::SIGN]])
    }

    /// A block as it is sent.
    pub fn send(&self, bytes: &[u8], signatures: &[u8]) -> Said {
        let results = self.call(Function::Admin, &[bytes, signatures]).unwrap();
        let reply = Reply::parse(&results[0]).expect("a block");
        let said = match reply.rv {
            0 => Ok(reply.output.to_vec()),
            rv => Err((rv, u32::from_be_bytes(reply.output.try_into().unwrap()))),
        };
        (reply.head, said)
    }

    pub fn query(&self, number: u32, payload: &[u8]) -> Result<Vec<u8>, u32> {
        self.ask(number, payload).1.map_err(|(_, reason)| reason)
    }

    pub fn ask(&self, number: u32, payload: &[u8]) -> Said {
        let head =
            Head { number: number | QUERY, domain: DOMAIN.into(), instance: 0, module: [0; 16], counter: [0; 16] };
        self.send(&Block { head, payload }.to_bytes(), &[])
    }

    /// The block of a command that is right now.
    pub fn block(&self, number: u32, payload: &[u8]) -> Vec<u8> {
        let (mut head, _) = self.ask(if is_of_card(number) { query::ADMIN } else { query::DOMADMIN }, &[]);
        head.number = number;
        head.counter = (u128::from_be_bytes(head.counter) + 1).to_be_bytes();
        Block { head, payload }.to_bytes().to_vec()
    }

    /// A command that nobody signs; the reason where it is refused.
    pub fn command(&self, number: u32, payload: &[u8]) -> Result<Vec<u8>, u32> {
        self.send(&self.block(number, payload), &[]).1.map_err(|(_, reason)| reason)
    }

    pub fn set_attributes(&self, all: &[(u32, u32)]) -> Result<Vec<u8>, u32> {
        self.command(command::DOM_SET_ATTR, &packed(all))
    }

    /// The value of an attribute of the domain.
    pub fn attribute(&self, of: u32) -> u32 {
        let all = self.query(query::DOM_ATTRS, &[]).unwrap();
        let at = all.chunks(8).find(|pair| pair[..4] == of.to_be_bytes()).unwrap();
        u32::from_be_bytes(at[4..].try_into().unwrap())
    }
}

pub fn is_of_card(number: u32) -> bool {
    use command as c;
    matches!(
        number,
        c::ADMIN_LOGIN
            | c::ADMIN_LOGOUT
            | c::ADMIN_REPLACE
            | c::SET_ATTR
            | c::ZEROIZE
            | c::SYSTEM_ZEROIZE
            | c::DOMAINS_ZEROIZE
            | c::CTRLPOINT_SET
            | c::CTRLPOINT_ADD
            | c::CTRLPOINT_DEL
    )
}

pub fn packed(all: &[(u32, u32)]) -> Vec<u8> {
    all.iter().flat_map(|(of, value)| [*of, *value]).flat_map(u32::to_be_bytes).collect()
}

pub fn mechanism(kind: u32, parameter: Parameter<'_>) -> Vec<u8> {
    Mechanism { kind, parameter }.to_bytes()
}
