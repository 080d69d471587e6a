//! Ten thousand objects.

use super::*;
use std::time::Instant;

pub fn fill() {
    new_token();
    let session = entered();
    let begin = Instant::now();
    for at in 0..10_000 {
        session.create(&data_object(&format!("object {at}"), at % 2 == 0)).unwrap();
    }
    println!("# 10,000 objects made one by one in {:?}", begin.elapsed());
}

pub fn filled() {
    let begin = Instant::now();
    common::functions();
    println!("# C_Initialize beside 10,000 objects: {:?}", begin.elapsed());
    let session = open(RW);
    let begin = Instant::now();
    assert_eq!(labelled(&session, "object 5001").len(), 1);
    println!("# first search, which reads the public ones: {:?}", begin.elapsed());
    let begin = Instant::now();
    login(&session, CKU_USER, PIN).unwrap();
    println!("# C_Login: {:?}", begin.elapsed());
    for label in ["object 5000", "object 77"] {
        let begin = Instant::now();
        assert_eq!(labelled(&session, label).len(), 1);
        println!("# search by label: {:?}", begin.elapsed());
    }
    let all = session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap();
    let begin = Instant::now();
    for object in all.iter().take(500) {
        session.destroy(*object).unwrap();
    }
    println!("# an object destroyed: {:?}", begin.elapsed() / 500);
    let begin = Instant::now();
    set_pin(&session, PIN, b"new pin").unwrap();
    println!("# the PIN changed, all written anew: {:?}", begin.elapsed());
    assert_eq!(session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap().len(), all.len() - 500);
    let begin = Instant::now();
    for _ in 0..100_000 {
        open(RO);
    }
    println!("# session opened and closed: {:?}", begin.elapsed() / 100_000);
}

#[test]
fn ten_thousand_objects() {
    // In memory where that can be: how long a disk takes is not of interest.
    let home = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| home());
    run("fill", home.path());
    run("filled", home.path());
}
