//! The state as bytes: what is written is read, and nothing else.

mod common;

use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::registers::{Kind, MasterKey, Place};
use adjunct_coprocessor::roles::{Loaders, Step};
use adjunct_coprocessor::state::{Mode, State};
use adjunct_coprocessor::unit::{Administrator, OwnKey, Setting};
use common::*;
use zeroize::Zeroizing;

/// An EP11 card with something of everything.
fn full() -> State {
    let mut state = new_state();
    set_key(&mut state, 0, 1).unwrap();
    set_key(&mut state, 255, 2).unwrap();
    let domain = state.domain_mut(255).unwrap();
    domain.registers_mut(Kind::Wrapping).unwrap().import_next([&[5; 32][..], &[6; 32]], 1000).unwrap();
    let pattern = *domain.registers(Kind::Wrapping).unwrap().next().unwrap().key().unwrap().pattern();
    domain.registers_mut(Kind::Wrapping).unwrap().commit(&pattern).unwrap();
    domain.unit.set_points([1, 2, 127].into_iter().collect());
    domain.unit.set_attribute(1, 2).unwrap();
    domain.unit.set_attribute(u32::MAX, 3).unwrap();
    domain.unit.set_setting(0, Some(Setting::Flag(true))).unwrap();
    domain.unit.set_setting(1, Some(Setting::Number(u64::MAX))).unwrap();
    domain.unit.set_setting(2, Some(Setting::Bytes(b"bytes".to_vec()))).unwrap();
    domain.unit.set_key(9, Some(OwnKey::new(Zeroizing::new(vec![0x42; 100])))).unwrap();
    domain.unit.add_administrator(Administrator::new([3; 32], b"certificate").unwrap()).unwrap();
    state.domain_or_new(7, ControlPoints::NONE).unit.count();
    state.card_mut().add_administrator(Administrator::new([4; 32], &[1; 12_288]).unwrap()).unwrap();
    state
}

#[test]
fn what_is_written_is_read_again() {
    let state = full();
    let bytes = state.encode().unwrap();
    let again = State::parse(&bytes).unwrap();
    assert_eq!(again.encode().unwrap(), bytes);
    assert_eq!((again.mode(), again.identity()), (Mode::Ep11, state.identity()));
    assert_eq!(again.domains().map(|(number, _)| number).collect::<Vec<_>>(), [0, 7, 255]);
    let domain = again.domain(255).unwrap();
    assert_eq!(domain.find(Kind::Wrapping, &key(2).id()).unwrap().0, Place::Current);
    let next = domain.find(Kind::Wrapping, &key(3).id()).unwrap();
    assert_eq!((next.0, next.1.secret()), (Place::Next { committed: true }, &[3; 32][..]));
    assert_eq!(domain.registers(Kind::Wrapping).unwrap().loaders(), Loaders::whole(1000));
    assert!(domain.registers(Kind::Aes).is_none());
    let unit = &domain.unit;
    assert_eq!(unit.points().iter().collect::<Vec<_>>(), [1, 2, 127]);
    assert_eq!(unit.attributes().collect::<Vec<_>>(), [(1, 2), (u32::MAX, 3)]);
    let bytes = Setting::Bytes(b"bytes".to_vec());
    let settings = [(0, &Setting::Flag(true)), (1, &Setting::Number(u64::MAX)), (2, &bytes)];
    assert_eq!(unit.settings().collect::<Vec<_>>(), settings);
    assert_eq!(unit.key(9).unwrap().secret(), [0x42; 100]);
    assert_eq!(unit.administrator(&[3; 32]).unwrap().certificate(), b"certificate");
    assert_eq!(again.domain(7).unwrap().unit.counter()[15], 1);
    assert_eq!(again.card().administrators()[0].certificate().len(), 12_288);
}

#[test]
fn parts_of_a_cca_key_are_read_again_and_go_on() {
    let mut state = State::new(Mode::Cca, ControlPoints::ALL);
    let domain = state.domain_or_new(3, ControlPoints::ALL);
    let sym = domain.registers_mut(Kind::Sym).unwrap();
    sym.load(Step::First, &[1; 24], 5).unwrap();
    sym.load(Step::Middle, &[2; 24], 6).unwrap();
    let aes = domain.registers_mut(Kind::Aes).unwrap();
    for byte in [1, 2] {
        aes.set_next(MasterKey::new(Kind::Aes, &[byte; 32]).unwrap(), 0).unwrap();
        aes.set().unwrap();
    }
    let mut again = State::parse(&state.encode().unwrap()).unwrap();
    let domain = again.domain_mut(3).unwrap();
    let aes = domain.registers(Kind::Aes).unwrap();
    assert_eq!((aes.current().unwrap().secret(), aes.old().unwrap().secret()), (&[2; 32][..], &[1; 32][..]));
    let sym = domain.registers_mut(Kind::Sym).unwrap();
    assert_eq!(sym.loaders(), Loaders { first: Some(5), middle: Some(6), last: None });
    sym.load(Step::Last, &[4; 24], 7).unwrap();
    sym.set().unwrap();
    assert_eq!(sym.current().unwrap().secret(), [7; 24]);
}

#[test]
fn all_else_is_none_or_has_a_form_of_its_own() {
    let mut state = full();
    // A long certificate says nothing more here.
    state.card_mut().remove_administrator(&[4; 32]).unwrap();
    let bytes = state.encode().unwrap().to_vec();
    for cut in 0..bytes.len() {
        assert!(State::parse(&bytes[..cut]).is_none(), "{cut}");
    }
    assert!(State::parse(&[&bytes[..], &[0]].concat()).is_none());
    for at in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut other = bytes.clone();
            other[at] ^= bit;
            if let Some(state) = State::parse(&other) {
                assert_eq!(state.encode().unwrap()[..], other, "{at}");
            }
        }
    }
}

/// A copy of the state shares what is not changed.
#[test]
fn a_domain_is_copied_when_it_is_changed() {
    let state = full();
    let mut copy = state.clone();
    let address = |state: &State, number| std::ptr::from_ref(state.domain(number).unwrap());
    assert_eq!(address(&state, 0), address(&copy, 0));
    set_key(&mut copy, 0, 9).unwrap();
    assert_eq!((current(&state), current(&copy)), (Some(1), Some(9)));
    assert_eq!(address(&state, 255), address(&copy, 255));
    assert!(copy.remove_domain(0) && !copy.remove_domain(0) && state.domain(0).is_some());
}
