//! Several processes with one token.

use super::*;

pub fn two_processes() {
    new_token();
    let session = entered();
    let mine = session.create(&data_object("mine", true)).unwrap();
    run("other", &data());
    assert_eq!(labelled(&session, "theirs").len(), 1);
    assert_eq!(labelled(&session, "changed"), [mine]);
    session.destroy(mine).unwrap();
    run("other_after", &data());
    assert_eq!(session.attribute(labelled(&session, "theirs")[0], CKA_VALUE).unwrap(), b"some bytes");
    // Many at once: all that was made is there.
    let writers: Vec<_> =
        (0..4).map(|at| command("many", &data()).env("NUMBER", at.to_string()).spawn().unwrap()).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(session.find(&Attributes::new().bytes(CKA_APPLICATION, b"many")).unwrap().len(), 100);
    assert_eq!((labelled(&session, "short"), labelled(&session, "shorter")), (vec![], vec![]));
    drop(session);
    // A new token, by another process, ends what was: whoever is logged in to the old one is not to this.
    let session = entered();
    run("initialize", &data());
    assert_eq!(session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap(), []);
    assert_eq!(session.create(&data_object("x", false)), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(logout(&session), Err(CKR_USER_NOT_LOGGED_IN));
}

pub fn other() {
    let session = entered();
    let theirs = labelled(&session, "mine")[0];
    session.set_attributes(theirs, &Attributes::new().bytes(CKA_LABEL, b"changed")).unwrap();
    session.create(&data_object("theirs", true)).unwrap();
}

pub fn other_after() {
    let session = entered();
    assert_eq!((labelled(&session, "changed").len(), labelled(&session, "theirs").len()), (0, 1));
}

pub fn many() {
    let session = entered();
    let number = std::env::var("NUMBER").unwrap();
    for at in 0..25 {
        session.create(&data_object(&format!("{number} {at}"), at % 2 == 0).bytes(CKA_APPLICATION, b"many")).unwrap();
        let short = session.create(&data_object("short", at % 2 == 1)).unwrap();
        session.set_attributes(short, &Attributes::new().bytes(CKA_LABEL, b"shorter")).unwrap();
        session.destroy(short).unwrap();
    }
}

pub fn initialize() {
    init_token(SO_PIN).unwrap();
}

#[test]
fn processes_see_each_others_objects() {
    run("two_processes", home().path());
}
