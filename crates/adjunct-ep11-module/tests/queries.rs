//! m_get_xcp_info, by messages: what openCryptoki's token and its tools ask for.

mod card;

use adjunct_ep11_wire::admin::command as c;
use adjunct_ep11_wire::codes::{control, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::fields;
use adjunct_ep11_wire::query::{Domain, Module, domain_flag, number as q};
use card::{Card, DOMAIN};

fn ask(card: &Card, query: u32, sub: u32) -> Result<Vec<u8>, u32> {
    card.one(Function::GetInfo, &[&query.to_be_bytes(), &sub.to_be_bytes()])
}

fn has(mask: &[u8], bit: u32) -> bool {
    mask[bit as usize / 8] & 0x80 >> (bit % 8) != 0
}

#[test]
fn the_module_says_what_it_is() {
    let card = Card::new();
    let module = Module::parse(&ask(&card, q::MODULE, 0).unwrap()).unwrap();
    assert_eq!((module.firmware_api, module.firmware_version), (6, [8, 40]));
    assert_eq!((module.domains, module.control_points), (2, control::LAST.into()));
    assert_eq!((module.digest_state_bytes, module.symmetric_state_bytes), (1024, 12_288));
    assert!(module.utc_time.iter().all(u8::is_ascii_digit) && module.utc_time[..2] == *b"20");
    // The number of the module in commands is the serial number here.
    let head = card.ask(adjunct_ep11_wire::admin::query::DOMADMIN, &[]).0;
    assert_eq!(head.module, module.serial);
    let api = ask(&card, q::API, 0).unwrap();
    assert_eq!((api.len(), &api[..8], &api[14..]), (16, &6_u64.to_be_bytes()[..], &[9, 6][..]));
    let functions = ask(&card, q::MODULE, 2).unwrap();
    assert_eq!(functions.len(), 16);
    // Those by which a token knows logins of FIPS 2021.
    assert!(has(&functions, 43) && has(&functions, 44) && has(&functions, 41) && !has(&functions, 7));
    let count = functions.iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert_eq!(ask(&card, q::MODULE, 3).unwrap(), count.to_be_bytes());
    assert_eq!(ask(&card, q::MODULE, 8).unwrap(), 10_u32.to_be_bytes());
    assert_eq!(ask(&card, q::MODULE, 99), Err(rv::ARGUMENTS_BAD));
    assert_eq!(ask(&card, 99, 0), Err(rv::ARGUMENTS_BAD));
    assert_eq!(card.call(Function::GetInfo, &[&[0; 3], &[0; 4]]), Err(rv::ARGUMENTS_BAD));
}

#[test]
fn a_domain_says_which_keys_it_has() {
    let card = Card::empty();
    let domain = || Domain::parse(&ask(&card, q::DOMAIN, 0).unwrap()).unwrap();
    let empty = domain();
    assert_eq!((empty.domain, empty.wk, empty.flags), (DOMAIN.into(), [0; 32], domain_flag::IMPRINTED));
    let permissions = card.attribute(3) | 8;
    card.set_attributes(&[(3, permissions)]).unwrap();
    let first = card.command(c::GEN_WK, &[]).unwrap();
    assert_eq!((domain().wk.to_vec(), domain().flags), (first, domain_flag::IMPRINTED | domain_flag::CURRENT_WK));
    let next = card.command(c::GEN_WK, &[]).unwrap();
    let pending = domain();
    assert_eq!((&pending.next_wk[..], pending.flags & domain_flag::NEXT_WK), (&next[..], domain_flag::NEXT_WK));
    assert_eq!(pending.flags & domain_flag::COMMITTED_NEXT_WK, 0);
    card.command(c::COMMIT_WK, &next).unwrap();
    assert_eq!(domain().flags & domain_flag::COMMITTED_NEXT_WK, domain_flag::COMMITTED_NEXT_WK);
    card.command(c::FINALIZE_WK, &next).unwrap();
    assert_eq!((domain().wk.to_vec(), domain().next_wk), (next, [0; 32]));
    assert_eq!(u64::from_be_bytes(domain().mode) & 1, 1);
}

#[test]
fn capabilities_curves_and_strengths_are_those_that_work() {
    let card = Card::new();
    let count = u32::from_be_bytes(ask(&card, q::EXT_CAPS, 0).unwrap().try_into().unwrap());
    let list = || -> Vec<(u32, u32)> {
        let bytes = ask(&card, q::EXT_CAPLIST, 0).unwrap();
        let word = |at: &[u8]| u32::from_be_bytes(at.try_into().unwrap());
        bytes.chunks(8).map(|pair| (word(&pair[..4]), word(&pair[4..]))).collect()
    };
    let value = |of: u32| list().into_iter().find(|(other, _)| *other == of).map(|(_, value)| value);
    assert_eq!(list().len(), count as usize);
    let (most, free) = (value(12).unwrap(), value(13).unwrap());
    assert_eq!(most, free);
    card.call(Function::Login, &[b"12345678", b""]).unwrap();
    assert_eq!((value(12), value(13)), (Some(most), Some(free - 1)));
    // FIPS 2021 with P-521.
    assert_eq!((value(18).unwrap() & 0x2000_0000, value(23).unwrap() & 0x2000_0000), (0x2000_0000, 0x2000_0000));
    let curves = ask(&card, q::EC_CURVES, 0).unwrap();
    assert!(
        [3, 4, 5, 12, 16, 18, 20, 26].iter().all(|curve| has(&curves, curve - 1))
            && has(&curves, 22)
            && has(&curves, 27)
    );
    let strengths = ask(&card, q::PQC_STRENGTHS, 0).unwrap();
    assert!((2..=6).chain(10..=15).all(|strength| has(&strengths, strength - 1)));
    let never = ask(&card, q::CP_BLACKLIST, 0).unwrap();
    assert!(has(&never, control::RAW_RSA.into()) && !has(&never, control::PQC.into()));
    assert_eq!(ask(&card, q::SELFTEST, 0), Ok(vec![0; 4]));
    assert_eq!(ask(&card, q::AUDITLOG, 0), Ok(vec![0; 40]), "there is no log");
}

#[test]
fn importers_of_pins_are_told() {
    let card = Card::new();
    for kind in [0_u32, 1, 2] {
        let told = ask(&card, q::LOGIN_IMPORTER, kind).unwrap();
        let told = fields(&told).unwrap();
        let [ski, spki, counter] = told.all() else { panic!("three fields") };
        assert_eq!((ski.len(), spki[0], *counter), (32, 0x30, &[0; 16][..]));
        assert!(spki.len() == if kind == 1 { 91 } else { 158 }, "{}", spki.len());
    }
    assert_eq!(ask(&card, q::LOGIN_IMPORTER, 3), Err(rv::ARGUMENTS_BAD));
}
