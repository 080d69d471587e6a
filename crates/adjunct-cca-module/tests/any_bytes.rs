//! Requests that make sense, changed at random: each gets a reply, and no defect shows.

mod card;

use adjunct_cca_wire::message::{Reply, Value, request};
use adjunct_cca_wire::verb::{Parameter, Verb};
use adjunct_coprocessor::roles::Caller;
use card::Card;

/// Numbers from a seed: what fails once fails again.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

const RULES: [&[u8]; 14] = [
    b"",
    b"CBC     INITIAL ",
    b"X9.23   CONTINUE",
    b"AES     CBC     KEYIDENTINITIAL ",
    b"AES     ECB     KEY-CLR CONTINUE",
    b"AES     GCM     KEYIDENTONLY    ",
    b"HMAC    SHA-256 FIRST   ",
    b"HMAC    SHA-512 LAST    ",
    b"EMVMACD MIDDLE  HEX-9   ",
    b"SHA3-256LAST    ",
    b"AES     CMAC    LAST    ",
    b"RTCMK   AES     ",
    b"HMAC    ADD-PART",
    b"INTERNALAES     NO-KEY  CIPHER  ANY-MODE",
];

#[test]
fn requests_changed_at_random_are_answered() {
    let card = Card::ready();
    let skeleton = card.skeleton(b"INTERNALNO-KEY  HMAC    MAC     GENERATE");
    let cipher = card.skeleton(b"INTERNALNO-KEY  AES     MAC     ");
    let pieces = [
        card.des(&[0x13; 8]),
        card.des(&[0x15; 16]),
        card.des(&[0x16; 24]),
        card.aes(&[5; 32]),
        card.variable(b"HMAC    ", &skeleton, &[3; 20]),
        card.variable(b"AES     ", &cipher, &[3; 16]),
        skeleton,
        vec![0x58; 128],
        vec![0; 64],
        b"TOKEN   DATA    KEYLN16 OP  ".to_vec(),
    ];
    let verbs: Vec<Verb> = Verb::ALL.iter().copied().filter(|verb| *verb != Verb::CSNBMKP).collect();
    let mut random = Random(39);
    let mut done = 0;
    for _ in 0..60_000 {
        let verb = verbs[random.next(verbs.len())];
        let given: Vec<Vec<u8>> = (verb.shape().iter())
            .map(|parameter| {
                let rules = matches!(parameter, Parameter::Rules | Parameter::RulesBoth);
                let mut piece = if rules {
                    RULES[random.next(RULES.len())].to_vec()
                } else {
                    pieces[random.next(pieces.len())].clone()
                };
                if !rules && random.next(3) == 0 {
                    piece.truncate(random.next(piece.len() + 1));
                }
                if !piece.is_empty() && random.next(4) == 0 {
                    let at = random.next(piece.len());
                    piece[at] ^= 1 << random.next(8);
                }
                piece
            })
            .collect();
        let sizes = [0, 8, 16, 64, 128, 5000, -1, i64::MIN, i64::MAX];
        let values: Vec<Value<'_>> = (verb.shape().iter().zip(&given))
            .map(|(parameter, bytes)| match parameter {
                Parameter::Long | Parameter::LongBoth => Value::Long(sizes[random.next(sizes.len())]),
                Parameter::PairOut | Parameter::Signature => Value::Room(sizes[random.next(sizes.len())] as u64),
                Parameter::Bits => Value::Bits(bytes.len() as u64 * 8 + random.next(2) as u64, bytes),
                Parameter::In(size) | Parameter::Both(size) => {
                    bytes.get(..usize::from(*size)).map_or(Value::None, Value::Bytes)
                }
                Parameter::Rules
                | Parameter::RulesBoth
                | Parameter::Pair
                | Parameter::PairBoth
                | Parameter::Text
                | Parameter::Varying => Value::Bytes(bytes),
                _ => Value::None,
            })
            .collect();
        let message = request(verb, &values).expect("values of the verb's shape");
        let reply = card.module.call(&Caller::default(), 0, &message);
        let reply = Reply::parse(&reply).expect("a reply");
        assert!(reply.code.rc < 16, "{} {:?}", verb.name(), reply.code);
        done += usize::from(reply.code.rc == 0);
    }
    assert!(done > 500, "{done} of them were done");
}
