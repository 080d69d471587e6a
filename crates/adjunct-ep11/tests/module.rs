//! The interface as C programs see it, over the module that cards run.

#![cfg(target_os = "linux")]

mod common;

use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::{Kind, MasterKey};
use adjunct_coprocessor::roles::Rules;
use adjunct_ep11_module::admin::kept::{Kept, initial};
use adjunct_ep11_module::{Caller, Module, Settings};
use common::card::serve;
use common::{program, run};
use std::sync::Arc;

const DOMAIN: u8 = 3;

/// A card whose domain has a wrapping key.
fn module() -> Module {
    let keeper = Arc::new(Keeper::volatile(initial([DOMAIN]), None));
    let key = MasterKey::new(Kind::Wrapping, &[5; 32]).unwrap();
    let set = keeper.change(&Default::default(), Some(DOMAIN), "test", |state| {
        state.domain_mut(DOMAIN).unwrap().registers_mut(Kind::Wrapping).unwrap().set_current(key)
    });
    set.unwrap();
    Module::new(Arc::new(Kept::new(keeper, |_| Rules::default())), Settings::default())
}

#[test]
fn keys_work_and_a_wrapping_key_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let module = module();
    let answer = move |domain, request: &[u8]| Some(module.call(&Caller::default(), domain, request).to_vec());
    let _card = serve(folder.path(), 0, DOMAIN, Arc::new(answer));
    assert_eq!(run(&mut program("module", folder.path())), "good\n");
}
