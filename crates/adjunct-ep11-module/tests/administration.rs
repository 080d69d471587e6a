//! Administration by messages: imprint mode, signatures and thresholds, wrapping keys and their change while programs work.

mod card;
mod signer;

use adjunct_ep11_module::admin::attributes::{mode, number, permission};
use adjunct_ep11_wire::admin::{Block, QUERY, command as c, query as q};
use adjunct_ep11_wire::blob;
use adjunct_ep11_wire::codes::{control, mechanism as m, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::mechanism::Parameter;
use card::{Card, DOMAIN, OTHER, mechanism, packed};
use signer::Signer;

const PERMS: u32 = permission::WK_IMPORT | permission::ONE_SIGNATURE | 0x8fff_0000 & !0xe00_0000;

/// Signs a block by each signer.
fn signed(card: &Card, number: u32, payload: &[u8], by: &[&Signer]) -> Result<Vec<u8>, u32> {
    let block = card.block(number, payload);
    let signatures: Vec<u8> = by.iter().flat_map(|signer| signer.sign(&block)).collect();
    card.send(&block, &signatures).1.map_err(|(_, reason)| reason)
}

/// Lets a domain make and import wrapping keys.
fn open_permissions(card: &Card) {
    let all = PERMS | permission::WK_RANDOM | permission::WK_ONE_PART | permission::WK_EXPORT;
    card.set_attributes(&[(number::PERMS, all)]).unwrap();
}

#[test]
fn a_wrapping_key_is_changed_while_programs_work() {
    let card = Card::empty();
    assert_eq!(card.query(q::WK, &[]), Err(49));
    assert_eq!(card.command(c::GEN_WK, &[]), Err(52), "not before it is permitted");
    open_permissions(&card);
    let first = card.command(c::GEN_WK, &[]).unwrap();
    assert_eq!((first.len(), card.query(q::WK, &[])), (32, Ok(first.clone())));
    let pin = card.one(Function::Login, &[b"12345678", b""]).unwrap();
    let (key, bound) = (card.aes(&[]), card.aes(&pin));
    let [private, public] = card.rsa();
    let cbc = mechanism(m::AES_CBC, Parameter::Bytes(&[1; 16]));
    let sha = mechanism(m::SHA256, Parameter::None);
    let encrypt = |key: &[u8]| card.one(Function::EncryptSingle, &[key, &cbc, &[5; 32]]);
    let expected = encrypt(&key).unwrap();
    let state = card.one(Function::EncryptInit, &[&cbc, &key]).unwrap();
    let mut begun = card.call(Function::EncryptUpdate, &[&state, &[5; 16]]).unwrap();
    let (state, begin) = (begun.remove(0), begun.remove(0));
    let digest = card.one(Function::DigestInit, &[&sha]).unwrap();
    let digest = card.one(Function::DigestUpdate, &[&digest, b"ab"]).unwrap();

    // The next key, uncommitted, opens nothing and takes nothing.
    let next = card.command(c::GEN_WK, &[]).unwrap();
    assert_eq!(card.command(c::GEN_WK, &[]), Err(53));
    assert_eq!(card.query(q::NEXT_WK, &[]), Ok(next.clone()));
    assert_eq!(card.command(c::REENCRYPT, &key), Err(64));
    assert_eq!(card.command(c::FINALIZE_WK, &next), Err(64));
    assert_eq!(card.command(c::COMMIT_WK, &first), Err(48));
    assert_eq!(card.command(c::COMMIT_WK, &next[..31]), Err(48));
    assert_eq!(card.command(c::COMMIT_WK, &next), Ok(next.clone()));

    // Both work, and blobs, public keys and states keep their lengths.
    let turned = |bytes: &[u8]| {
        let turned = card.command(c::REENCRYPT, bytes).unwrap();
        assert_eq!(turned.len(), bytes.len());
        turned
    };
    let [new_key, new_bound, new_private, new_public] = [&key, &bound, &private, &public].map(|blob| turned(blob));
    let (new_state, new_digest) = (turned(&state), turned(&digest));
    assert_eq!(blob::wkid(&new_key).unwrap()[..], next[..16]);
    assert_eq!((encrypt(&key), encrypt(&new_key)), (Ok(expected.clone()), Ok(expected.clone())));
    // Programs on little-endian machines get the form that they gave.
    let mut swapped = key.clone();
    blob::swap(&mut swapped);
    let mut again = turned(&swapped);
    assert!(blob::is_swapped(&again));
    blob::swap(&mut again);
    assert_eq!(encrypt(&again), Ok(expected.clone()));
    let mut broken = key.clone();
    broken[100] ^= 1;
    let block = card.block(c::REENCRYPT, &broken);
    assert_eq!(card.send(&block, &[]).1, Err((rv::IBM_BLOB_ERROR, 86)));
    assert_eq!(card.command(c::REENCRYPT, b"no blob"), Err(86));

    // The state of a key that was turned is under the next key from its begin.
    let late = card.one(Function::EncryptInit, &[&cbc, &new_key]).unwrap();
    assert_eq!(blob::wkid(&late), blob::wkid(&new_key));

    // After the end the old ones are refused.
    assert_eq!(card.command(c::FINALIZE_WK, &first), Err(48));
    assert_eq!(card.command(c::FINALIZE_WK, &next), Ok(next.clone()));
    assert_eq!((card.query(q::WK, &[]), card.query(q::NEXT_WK, &[])), (Ok(next), Err(50)));
    assert_eq!(encrypt(&key), Err(rv::IBM_WKID_MISMATCH));
    assert_eq!(card.call(Function::EncryptFinal, &[&state]), Err(rv::IBM_WKID_MISMATCH));
    assert_eq!(card.call(Function::DigestFinal, &[&digest]), Err(rv::IBM_WKID_MISMATCH));
    assert_eq!((encrypt(&new_key), encrypt(&new_bound)), (Ok(expected.clone()), encrypt(&new_bound)));
    assert!(encrypt(&new_bound).is_ok());
    let mut rest = card.call(Function::EncryptUpdate, &[&new_state, &[5; 16]]).unwrap();
    assert_eq!([begin, rest.remove(1)].concat(), expected.clone());
    assert_eq!(card.one(Function::Encrypt, &[&late, &[5; 32]]), Ok(expected.clone()));
    let whole = card.one(Function::DigestSingle, &[&sha, b"abc"]).unwrap();
    let new_digest = card.one(Function::DigestUpdate, &[&new_digest, b"c"]).unwrap();
    assert_eq!(card.one(Function::DigestFinal, &[&new_digest]), Ok(whole));
    let sign = mechanism(m::SHA256_RSA_PKCS, Parameter::None);
    let signature = card.one(Function::SignSingle, &[&new_private, &sign, b"data"]).unwrap();
    assert_eq!(card.call(Function::VerifySingle, &[&new_public, &sign, b"data", &signature]), Ok(Vec::new()));
    assert_eq!(card.call(Function::VerifySingle, &[&public, &sign, b"data", &signature]), Err(rv::IBM_WKID_MISMATCH));
}

#[test]
fn administrators_sign_and_thresholds_hold() {
    let card = Card::new();
    let (one, two, three) = (Signer::rsa(), Signer::p521(), Signer::rsa());
    // In imprint mode nothing is signed.
    assert_eq!(card.attribute(number::MODE) & mode::AUTHENTICATED, 0);
    for signer in [&one, &two] {
        assert_eq!(card.command(c::DOM_ADMIN_LOGIN, &signer.certificate), Ok(signer.ski.to_vec()));
    }
    assert_eq!(card.command(c::DOM_ADMIN_LOGIN, &one.certificate), Err(38));
    assert_eq!(card.command(c::DOM_ADMIN_LOGIN, b"no certificate"), Err(40));
    assert_eq!(card.query(q::DOMADMIN, &[]), Ok([one.ski, two.ski].concat()));
    assert_eq!(card.query(q::DOMADMIN, &two.ski), Ok(two.certificate.clone()));
    assert_eq!(card.query(q::DOMADMIN, &three.ski), Err(33));
    assert_eq!(card.query(q::DOMADMIN, &[1; 31]), Err(32));

    // A domain leaves imprint mode after the card, by a command that is signed as all that follow, with a revocation threshold.
    let thresholds = |sign, revoke| packed(&[(number::SIGN_THR, sign), (number::REVOKE_THR, revoke)]);
    let leave = |sign, revoke, by: &[&Signer]| signed(&card, c::DOM_SET_ATTR, &thresholds(sign, revoke), by);
    assert_eq!(leave(2, 1, &[&one, &two]), Err(85));
    card.command(c::ADMIN_LOGIN, &three.certificate).unwrap();
    assert_eq!(card.query(q::ADMIN, &[]), Ok(three.ski.to_vec()));
    signed(&card, c::SET_ATTR, &thresholds(1, 1), &[&three]).unwrap();
    assert_eq!(leave(3, 1, &[&one, &two]), Err(57));
    assert_eq!(leave(2, 3, &[&one, &two]), Err(58));
    assert_eq!(leave(2, 0, &[&one, &two]), Err(56));
    assert_eq!(leave(2, 1, &[&one]), Err(21));
    assert_eq!(leave(2, 1, &[&one, &one]), Err(21), "one administrator is one");
    assert!(leave(2, 1, &[&one, &two]).is_ok());
    assert_eq!(card.attribute(number::MODE) & mode::AUTHENTICATED, 1);

    // Now two sign, of whom the card's administrator may be one.
    let without = |points: &[u8]| {
        let mut mask = [0; 16];
        points.iter().for_each(|point| mask[usize::from(point / 8)] |= 0x80 >> (point % 8));
        mask
    };
    let remove = without(&[control::PQC]);
    assert_eq!(card.command(c::DOM_CTRLPOINT_DEL, &remove), Err(21));
    assert_eq!(signed(&card, c::DOM_CTRLPOINT_DEL, &remove, &[&one]), Err(21));
    assert_eq!(signed(&card, c::DOM_CTRLPOINT_DEL, &remove, &[&one, &Signer::p521()]), Err(22), "of nobody");
    let block = card.block(c::DOM_CTRLPOINT_DEL, &remove);
    let mut signatures = [one.sign(&block), two.sign(&block)].concat();
    *signatures.last_mut().unwrap() ^= 1;
    assert_eq!(card.send(&block, &signatures).1, Err((rv::SIGNATURE_INVALID, 22)));
    let other = card.block(c::DOM_CTRLPOINT_DEL, &without(&[control::EC]));
    assert_eq!(card.send(&block, &[one.sign(&other), two.sign(&other)].concat()).1.unwrap_err().1, 22);
    assert_eq!(card.send(&block, &[0x30, 0]).1.unwrap_err().1, 22);
    let after = signed(&card, c::DOM_CTRLPOINT_DEL, &remove, &[&one, &three]).unwrap();
    assert_eq!(card.query(q::DOM_CTRLPOINTS, &[]), Ok(after));
    // What was done once is not done twice, nor elsewhere.
    let block = card.block(c::DOM_CTRLPOINT_DEL, &without(&[control::EC]));
    let signatures = [one.sign(&block), two.sign(&block)].concat();
    assert!(card.send(&block, &signatures).1.is_ok());
    assert_eq!(card.send(&block, &signatures).1, Err((rv::ARGUMENTS_BAD, 19)));
    let elsewhere = card.call_in(OTHER, Function::Admin, &[&block, &signatures]).unwrap();
    let reply = adjunct_ep11_wire::admin::Reply::parse(&elsewhere[0]).unwrap();
    assert_eq!((reply.rv, reply.output), (rv::ARGUMENTS_BAD, &12_u32.to_be_bytes()[..]));

    // Undisturbed, the domain counts its own administrators alone.
    let perms = card.attribute(number::PERMS) | permission::DO_NOT_DISTURB;
    signed(&card, c::DOM_SET_ATTR, &packed(&[(number::PERMS, perms)]), &[&one, &three]).unwrap();
    assert_eq!(signed(&card, c::DOM_CTRLPOINT_DEL, &remove, &[&one, &three]), Err(22));

    // Revocation has its own threshold, and leaves as many as the thresholds ask.
    assert_eq!(signed(&card, c::DOM_ADMIN_LOGOUT, &one.ski, &[&two]), Err(66));
    let pair = adjunct_ep11_wire::message::sequence(&[&one.ski, &three.certificate]);
    assert_eq!(signed(&card, c::DOM_ADMIN_REPLACE, &pair, &[&one, &two]), Ok(three.ski.to_vec()));
    assert_eq!(signed(&card, c::DOM_SET_ATTR, &thresholds(1, 1), &[&one, &two]), Err(22));
    assert!(signed(&card, c::DOM_SET_ATTR, &thresholds(1, 1), &[&three, &two]).is_ok());
    assert_eq!(signed(&card, c::DOM_ADMIN_LOGOUT, &three.ski, &[&two]), Ok(Vec::new()));
    assert_eq!(signed(&card, c::DOM_ADMIN_LOGOUT, &two.ski, &[&two]), Err(68));
    assert_eq!(signed(&card, c::DOM_SET_ATTR, &packed(&[(number::SIGN_THR, 0)]), &[&two]), Err(76));

    // Zeroized, the domain is new: no key, no administrator, another instance.
    let before = card.ask(q::DOMADMIN, &[]).0;
    signed(&card, c::DOM_ZEROIZE, &[], &[&two]).unwrap();
    assert_eq!((card.query(q::WK, &[]), card.query(q::DOMADMIN, &[])), (Err(49), Ok(Vec::new())));
    assert_ne!(card.ask(q::DOMADMIN, &[]).0.instance, before.instance);
    let mut block = card.block(c::GEN_WK, &[]);
    let mut stale = Block::parse(&block).unwrap();
    stale.head.instance = before.instance;
    block = stale.to_bytes().to_vec();
    assert_eq!(card.send(&block, &[]).1.unwrap_err().1, 14);
}

#[test]
fn heads_are_checked_and_counters_count() {
    let card = Card::new();
    let (head, _) = card.ask(q::DOMADMIN, &[]);
    let wrong = |change: &dyn Fn(&mut Block<'_>)| {
        let bytes = card.block(c::DOM_CTRLPOINT_ADD, &[0; 16]);
        let mut block = Block::parse(&bytes).unwrap();
        change(&mut block);
        card.send(&block.to_bytes(), &[]).1.map_err(|(_, reason)| reason)
    };
    assert_eq!(wrong(&|block| block.head.counter[15] -= 1), Err(19));
    assert_eq!(wrong(&|block| block.head.counter[15] += 1), Err(19));
    assert_eq!(wrong(&|block| block.head.instance += 1), Err(14));
    assert_eq!(wrong(&|block| block.head.domain = OTHER.into()), Err(12));
    assert_eq!(wrong(&|block| block.head.domain = 1000), Err(12));
    assert_eq!(wrong(&|block| block.head.module[0] ^= 1), Err(17));
    assert_eq!(wrong(&|block| block.head.module[15] ^= 1), Err(16));
    assert_eq!(wrong(&|block| block.head.number = 99), Err(11));
    assert_eq!(wrong(&|block| block.head.number = c::SET_CLOCK), Err(11));
    assert_eq!(wrong(&|block| block.head.number = c::EXPORT_STATE), Err(11));
    assert_eq!(card.ask(q::DOMADMIN, &[]).0.counter, head.counter, "nothing was accepted");
    assert!(wrong(&|_| {}).is_ok());
    let after = card.ask(q::DOMADMIN, &[]).0.counter;
    assert_eq!(u128::from_be_bytes(after), u128::from_be_bytes(head.counter) + 1);
    assert_eq!(card.query(99, &[]), Err(11));
    assert_eq!(card.call(Function::Admin, &[b"no block", &[]]), Err(rv::ARGUMENTS_BAD));
    // Each unit has its own.
    card.command(c::CTRLPOINT_ADD, &[0; 16]).unwrap();
    assert_eq!(card.ask(q::DOMADMIN, &[]).0.counter, after);
    assert_eq!(u128::from_be_bytes(card.ask(q::ADMIN, &[]).0.counter), 1);
}

#[test]
fn attributes_and_control_points_have_rules() {
    let card = Card::new();
    let set = |all: &[(u32, u32)]| card.set_attributes(all);
    let perms = card.attribute(number::PERMS);
    assert_eq!(perms, PERMS);
    assert_eq!(card.command(c::DOM_SET_ATTR, &[0; 7]), Err(41));
    assert_eq!(card.command(c::DOM_SET_ATTR, &[]), Err(41));
    assert_eq!(set(&[(0, 1)]), Err(42));
    assert_eq!(set(&[(11, 1)]), Err(42));
    assert_eq!(set(&[(number::PERMS, perms), (number::PERMS, perms)]), Err(43));
    assert_eq!(set(&[(number::MODE, card.attribute(number::MODE) | mode::AUTHENTICATED)]), Err(72));
    assert_eq!(set(&[(number::STD, 0x1000)]), Err(72));
    assert_eq!(set(&[(number::PERMS, perms | permission::STATE_EXPORT)]), Err(72), "of the card alone");
    // A permission is frozen, and stays so.
    set(&[(number::PERMS, perms & !0x8_0000)]).unwrap();
    assert_eq!(set(&[(number::PERMS, perms & !0x8_0000 | permission::WK_RANDOM)]), Err(70));
    assert_eq!(set(&[(number::PERMS, perms)]), Err(69));
    assert_eq!(card.command(c::GEN_WK, &[]), Err(52));
    // Control points.
    let points = card.query(q::DOM_CTRLPOINTS, &[]).unwrap();
    assert_eq!(points.len(), 16);
    assert!(points[usize::from(control::NONSESSION / 8)] & 0x80 >> (control::NONSESSION % 8) != 0);
    assert_eq!(card.command(c::DOM_CTRLPOINT_SET, &[0; 15]), Err(44));
    assert_eq!(card.command(c::DOM_CTRLPOINT_SET, &[0xff; 16]), Err(90));
    let mut raw = points.clone();
    raw[usize::from(control::RAW_RSA / 8)] |= 0x80 >> (control::RAW_RSA % 8);
    assert_eq!(card.command(c::DOM_CTRLPOINT_SET, &raw), Err(45));
    assert_eq!(card.command(c::DOM_CTRLPOINT_SET, &points), Ok(points.clone()));
    // Without the point that adds, nothing is added; without the one that deletes, nothing goes.
    let mut bit = [0; 16];
    bit[0] = 0x80;
    card.command(c::DOM_CTRLPOINT_DEL, &bit).unwrap();
    assert_eq!(card.command(c::DOM_CTRLPOINT_ADD, &bit), Err(46));
    bit[0] = 0x40;
    card.command(c::DOM_CTRLPOINT_DEL, &bit).unwrap();
    bit[0] = 0x20;
    assert_eq!(card.command(c::DOM_CTRLPOINT_DEL, &bit), Err(47));
    // The card's are others.
    assert_ne!(card.query(q::CTRLPOINTS, &[]), card.query(q::DOM_CTRLPOINTS, &[]));
}

#[test]
fn the_settings_say_who_may() {
    use adjunct_coprocessor::roles::Rules;
    let rules = Rules { first: Some(10), last: Some(10), set: Some(11), ..Rules::default() };
    let mut card = Card::with(rules);
    open_permissions(&card);
    card.caller = adjunct_ep11_module::Caller { uid: 1000, gid: 1000, groups: vec![10] };
    assert_eq!(card.set_attributes(&[(number::MODE, 0x4_0202)]), Err(21), "unsigned, it is for who sets keys");
    let first = card.command(c::GEN_WK, &[]).unwrap();
    let next = card.command(c::GEN_WK, &[]).unwrap();
    assert_eq!(card.command(c::COMMIT_WK, &next), Err(21));
    card.caller.groups = vec![11];
    assert_eq!(card.command(c::COMMIT_WK, &next), Ok(next.clone()));
    assert_eq!(card.command(c::CLEAR_NEXT_WK, &[]), Ok(Vec::new()));
    assert_eq!(card.command(c::GEN_WK, &[]), Err(80));
    assert_eq!(card.query(q::WK, &[]), Ok(first));
    // Whoever has the socket may ask.
    card.caller = adjunct_ep11_module::Caller { uid: 5, gid: 5, groups: Vec::new() };
    assert!(card.query(q::DOM_ATTRS, &[]).is_ok());
    assert_eq!(card.command(c::DOM_ZEROIZE, &[]), Err(21));
    assert_eq!(card.command(c::ZEROIZE, &[]), Err(21));
    // Dual control: nobody loads a whole key.
    let card = Card::with(Rules { distinct: true, ..Rules::default() });
    open_permissions(&card);
    assert_eq!(card.command(c::GEN_WK, &[]), Err(80));
}

#[test]
fn whoever_has_another_domain_does_not_rule_the_card() {
    let card = Card::new();
    let block = card.block(c::ZEROIZE, &[]);
    let reply = card.call_in(OTHER, Function::Admin, &[&block, &[]]).unwrap();
    let reply = adjunct_ep11_wire::admin::Reply::parse(&reply[0]).unwrap();
    assert_eq!((reply.rv, reply.output), (rv::ARGUMENTS_BAD, &12_u32.to_be_bytes()[..]));
    assert!(card.query(q::WK, &[]).is_ok());
    // What the card's administrators have signed is taken from everywhere.
    let signer = Signer::rsa();
    card.command(c::ADMIN_LOGIN, &signer.certificate).unwrap();
    let thresholds = packed(&[(number::SIGN_THR, 1), (number::REVOKE_THR, 1)]);
    signed(&card, c::SET_ATTR, &thresholds, &[&signer]).unwrap();
    let block = card.block(c::ZEROIZE, &[]);
    let reply = card.call_in(OTHER, Function::Admin, &[&block, &signer.sign(&block)]).unwrap();
    assert_eq!(adjunct_ep11_wire::admin::Reply::parse(&reply[0]).unwrap().rv, 0);
    assert_eq!(card.query(q::WK, &[]), Err(49));
}

#[test]
fn keys_are_marked_as_trusted_by_administrators() {
    use adjunct_ep11_wire::codes::flag;
    let card = Card::new();
    let key = card.aes(&[]);
    let trusted = card.command(c::SET_TRUSTED, &key).unwrap();
    assert_eq!(blob::flags(&trusted), Some(blob::flags(&key).unwrap() | flag::TRUSTED));
    assert_eq!(trusted.len(), key.len());
    let [private, public] = card.rsa();
    assert_eq!(card.command(c::SET_TRUSTED, &private), Err(117));
    assert!(card.command(c::SET_TRUSTED, &public).is_ok());
    assert_eq!(card.command(c::SET_TRUSTED, &key[..100]), Err(117));
    assert_eq!(card.command(c::RK_REMOVE, &[]), Err(92));
}

#[test]
fn each_command_is_in_the_audit_log() {
    use adjunct_coprocessor::audit::{Log, verify};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let file = std::fs::File::options().read(true).append(true).create(true).open(&path).unwrap();
    let card = Card::logged(Log::open(file).unwrap());
    let signer = Signer::rsa();
    card.command(c::DOM_ADMIN_LOGIN, &signer.certificate).unwrap();
    assert_eq!(card.command(c::GEN_WK, &[]), Err(52));
    card.query(q::DOM_ATTRS, &[]).unwrap();
    let mut records = Vec::new();
    let reader = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let last = verify(reader, (0, [0; 32]), None, |record| records.push(record)).unwrap();
    let told: Vec<_> = records.iter().map(|one| (&one.event[..], one.domain, one.result == "done")).collect();
    assert_eq!(
        told,
        [("administrator-added", Some(DOMAIN), true), ("master-key-generated", Some(DOMAIN), false)],
        "queries change nothing"
    );
    assert!(records[0].detail["administrator"].as_str().unwrap().len() == 64);
    assert!(records[1].result.contains("reason 52"), "{}", records[1].result);
    let state = card.query(q::AUDIT_STATE, &[]).unwrap();
    assert_eq!((&state[..8], &state[8..]), (&last.0.to_be_bytes()[..], &last.1[..]));
}

#[test]
fn what_was_answered_is_in_the_vault() {
    use adjunct_coprocessor::keeper::Keeper;
    use adjunct_coprocessor::seal::Opener;
    use adjunct_ep11_module::admin::kept::initial;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let open = || {
        let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let opener = Opener::credential(b"a credential of systemd's").unwrap();
        Card::kept(Keeper::open(file, &opener, None, None, initial([DOMAIN, OTHER])).unwrap())
    };
    let (signer, cbc) = (Signer::p521(), mechanism(m::AES_CBC, Parameter::Bytes(&[1; 16])));
    let card = open();
    card.command(c::DOM_ZEROIZE, &[]).unwrap();
    card.command(c::DOM_ADMIN_LOGIN, &signer.certificate).unwrap();
    let importer = card.command(c::GEN_DOM_IMPORTER, &3_u32.to_be_bytes()).unwrap();
    // The first key comes in one part.
    open_permissions(&card);
    let head = Block::parse(&card.block(c::IMPORT_WK, &[])).unwrap().head;
    let payload = signer::part(&head, DOMAIN, &signer::recipient(&card, &importer, &[9; 32]));
    let block = Block { head, payload: &payload }.to_bytes();
    let pattern = card.send(&block, &[]).1.unwrap();
    assert_eq!(pattern, signer::sha256(&[&[1], &[9; 32]]));
    assert_eq!(card.call(Function::Login, &[b"12345678", b""]), Err(rv::IBM_WK_NOT_INITIALIZED), "not in use yet");
    card.command(c::COMMIT_WK, &pattern).unwrap();
    card.command(c::FINALIZE_WK, &pattern).unwrap();
    let key = card.aes(&[]);
    let state = card.one(Function::EncryptInit, &[&cbc, &key]).unwrap();
    let expected = card.one(Function::EncryptSingle, &[&key, &cbc, &[3; 16]]).unwrap();
    let before = card.ask(q::DOMADMIN, &[]);
    drop(card);
    let card = open();
    assert_eq!(card.ask(q::DOMADMIN, &[]), before);
    assert_eq!((card.query(q::WK, &[]), card.query(q::DOM_IMPORTER_CERT, &[])), (Ok(pattern), Ok(importer)));
    assert_eq!(card.one(Function::Encrypt, &[&state, &[3; 16]]), Ok(expected));
}

#[test]
fn keys_are_imported_in_parts_and_exported() {
    let card = Card::new();
    open_permissions(&card);
    assert_eq!(card.query(q::DOM_IMPORTER_CERT, &[]), Err(1));
    assert_eq!(card.command(c::GEN_DOM_IMPORTER, &[0; 3]), Err(54));
    assert_eq!(card.command(c::GEN_DOM_IMPORTER, &99_u32.to_be_bytes()), Err(55));
    let parts = [[1_u8; 32], [2; 32], [4; 32]];
    let key = [7_u8; 32];
    let pattern = signer::sha256(&[&[1], &key]);
    for (round, kind) in [0_u32, 3, 2].into_iter().enumerate() {
        let spki = card.command(c::GEN_DOM_IMPORTER, &kind.to_be_bytes()).unwrap();
        assert_eq!(card.query(q::DOM_IMPORTER_CERT, &[]), Ok(spki.clone()));
        // Each part in a block of its own, with the counter of the whole.
        let outer = card.block(c::IMPORT_WK, &[]);
        let head = Block::parse(&outer).unwrap().head;
        let envelope = |secret: &[u8]| signer::part(&head, DOMAIN, &signer::recipient(&card, &spki, secret));
        let import = |payload: &[u8]| {
            let block = Block { head, payload }.to_bytes();
            card.send(&block, &[]).1.map_err(|(_, reason)| reason)
        };
        let whole: Vec<u8> = parts.iter().flat_map(|part| envelope(part)).collect();
        assert_eq!(import(&[]), Err(2));
        assert_eq!(import(b"no parts"), Err(3));
        assert_eq!(import(&whole[..whole.len() - 1]), Err(3));
        assert_eq!(import(&envelope(&[1; 40])), Err(28));
        let mixed = [envelope(&parts[0]), envelope(&[parts[1], pattern].concat())].concat();
        assert_eq!(import(&mixed), Err(29));
        let wrong = [envelope(&[parts[0], pattern].concat()), envelope(&[parts[1], pattern].concat())].concat();
        assert_eq!(import(&wrong), Err(31));
        let told: Vec<u8> = parts.iter().flat_map(|part| envelope(&[*part, pattern].concat())).collect();
        assert_eq!(import(if round == 1 { &told } else { &whole }), Ok(pattern.to_vec()));
        let origins: Vec<u8> = parts.iter().flat_map(|part| signer::sha256(&[&[1], part])).collect();
        assert_eq!(card.query(q::WK_ORIGINS, &1_u32.to_be_bytes()), Ok(origins));
        card.command(c::CLEAR_NEXT_WK, &[]).unwrap();
    }
    // What policy does not allow.
    card.set_attributes(&[(number::PERMS, PERMS)]).unwrap();
    let spki = card.query(q::DOM_IMPORTER_CERT, &[]).unwrap();
    let head = Block::parse(&card.block(c::IMPORT_WK, &[])).unwrap().head;
    let one = signer::part(&head, DOMAIN, &signer::recipient(&card, &spki, &key));
    assert_eq!(card.command(c::IMPORT_WK, &one), Err(81));
    card.set_attributes(&[(number::PERMS, PERMS & !permission::WK_IMPORT)]).unwrap();
    assert_eq!(card.command(c::IMPORT_WK, &one), Err(80));
    assert_eq!(card.command(c::EXPORT_WK, &[]), Err(80));

    // Exported for holders of parts, and back together.
    open_permissions(&card);
    let holders = [Signer::rsa(), Signer::p521()];
    let certificates: Vec<&[u8]> = holders.iter().map(|holder| &holder.certificate[..]).collect();
    let current = card.query(q::WK, &[]).unwrap();
    let out = card.command(c::EXPORT_WK, &signer::export_request(&certificates)).unwrap();
    let mut sum = [0; 32];
    for (holder, info) in holders.iter().zip(signer::exported(&out)) {
        let part = holder.open(&info);
        assert_eq!(part[32..], current[..]);
        sum.iter_mut().zip(&part).for_each(|(sum, byte)| *sum ^= byte);
    }
    assert_eq!(sum, [DOMAIN + 1; 32]);
    assert_eq!(card.command(c::EXPORT_NEXT_WK, &signer::export_request(&certificates)), Err(50));
    assert_eq!(card.command(c::EXPORT_WK, b"no request"), Err(101));
}

#[test]
fn sessions_are_removed_and_extended_logins_work() {
    let card = Card::new();
    let pin = card.one(Function::Login, &[b"12345678", b"nonce"]).unwrap();
    let key = card.aes(&pin);
    let cbc = mechanism(m::AES_CBC, Parameter::Bytes(&[1; 16]));
    let encrypt = |key: &[u8]| card.call(Function::EncryptSingle, &[key, &cbc, &[5; 16]]).map(drop);
    assert_eq!(encrypt(&key), Ok(()));
    card.command(c::SESSION_REMOVE, &pin).unwrap();
    assert_eq!(encrypt(&key), Err(rv::SESSION_CLOSED));
    card.call(Function::Login, &[b"12345678", b"nonce"]).unwrap();
    card.command(c::SESSION_REMOVE, &[]).unwrap();
    assert_eq!(encrypt(&key), Err(rv::SESSION_CLOSED));

    // FIPS 2021: the PIN travels encrypted, and programs make the PIN blob.
    let importer = card.query(q::LOGIN_IMPORTER, &[]).unwrap();
    let blob = signer::login(&card, &importer, b"a longer PIN", b"nonce").unwrap();
    assert_eq!((blob.len(), blob[4]), (56, 0xab));
    let bound = card.aes(&blob);
    assert_eq!((bound[..32] == blob[..32], encrypt(&bound)), (true, Ok(())));
    // The same request again is refused; another counter gives the same session.
    let again = signer::login(&card, &importer, b"a longer PIN", b"nonce");
    assert_eq!(again, Err(rv::DATA_INVALID));
    let importer = card.query(q::LOGIN_IMPORTER, &[]).unwrap();
    assert_eq!(signer::login(&card, &importer, b"a longer PIN", b"nonce"), Ok(blob.clone()));
    // Who knows only what a key's blob shows has no PIN blob.
    let forged = [&bound[..32], &[0; 24]].concat();
    let template = adjunct_ep11_wire::attributes::Template::default().to_bytes();
    let generate = mechanism(m::AES_KEY_GEN, Parameter::None);
    assert_eq!(card.call(Function::GenerateKey, &[&generate, &template, &forged]).unwrap_err(), rv::PIN_INCORRECT);
    let importer = card.query(q::LOGIN_IMPORTER, &[]).unwrap();
    assert_eq!(signer::logout(&card, &importer, b"another PIN", b"nonce"), Err(rv::SESSION_CLOSED));
    let importer = card.query(q::LOGIN_IMPORTER, &[]).unwrap();
    assert_eq!(signer::logout(&card, &importer, b"a longer PIN", b"nonce"), Ok(()));
    assert_eq!(encrypt(&bound), Err(rv::SESSION_CLOSED));
}

#[test]
fn the_card_is_zeroized_and_commands_of_random_bytes_are_refused() {
    let card = Card::new();
    let counter = card.ask(q::ADMIN, &[]).0.counter;
    let mut mask = [0; 32];
    mask[usize::from(OTHER / 8)] |= 0x80 >> (OTHER % 8);
    assert_eq!(card.command(c::DOMAINS_ZEROIZE, &mask[1..]), Err(84));
    card.command(c::DOMAINS_ZEROIZE, &mask).unwrap();
    assert!(card.query(q::WK, &[]).is_ok());
    assert_eq!(card.call_in(OTHER, Function::Login, &[b"12345678", b""]), Err(rv::IBM_WK_NOT_INITIALIZED));
    // The card may keep administrators out of domains in imprint mode.
    let perms = card.query(q::ATTRS, &[]).unwrap()[20..24].try_into().map(u32::from_be_bytes).unwrap();
    card.command(c::SET_ATTR, &packed(&[(number::PERMS, perms | permission::NO_DOMAIN_IMPRINT)])).unwrap();
    assert_eq!(card.command(c::DOM_ADMIN_LOGIN, &Signer::p521().certificate), Err(34));
    card.command(c::SYSTEM_ZEROIZE, &[]).unwrap();
    assert_eq!(card.query(q::WK, &[]), Err(49));
    card.command(c::ZEROIZE, &[]).unwrap();
    card.command(c::DOM_ADMIN_LOGIN, &Signer::p521().certificate).unwrap();
    assert_eq!(u128::from_be_bytes(card.ask(q::ADMIN, &[]).0.counter), u128::from_be_bytes(counter) + 4);

    let mut seed = 17_u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    for _ in 0..3000 {
        let payload: Vec<u8> = (0..next(200)).map(|_| next(256) as u8).collect();
        let number = next(45) as u32 | if next(3) == 0 { QUERY } else { 0 };
        // Whatever it does, it answers, and says why not.
        let block = card.block(number, &payload);
        let (_, said) = card.send(&block, &payload);
        if let Err((rv, _)) = said {
            assert_ne!(rv, 0);
        }
        let mut broken = block.clone();
        let at = next(broken.len() as u64) as usize;
        broken[at] ^= 1 << next(8);
        let _ = card.call(Function::Admin, &[&broken, &payload]);
    }
}
