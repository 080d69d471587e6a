//! Keys and parameters on every curve that the `openssl` command lists: made with adjunct, they are written as stock OpenSSL
//! writes them, in every form. Without `ADJUNCT_DEEP` one curve of each kind is tried.

use adjunct_e2e::deep;
use adjunct_e2e::lab::Lab;
use adjunct_e2e::system::System;

/// Served here; served by the default provider over prime and binary fields; refused by its import under the name EC (SM2);
/// without an object identifier, so that nothing can be written.
const EACH_KIND: [&str; 6] = ["prime256v1", "secp521r1", "secp256k1", "sect163k1", "SM2", "Oakley-EC2N-3"];

/// A system, and a lab on it.
struct Bench {
    system: System,
    lab: Lab,
}

/// How a command ended: its status, output, and errors.
#[derive(PartialEq, Eq)]
struct End {
    status: Option<i32>,
    out: Vec<u8>,
    said: Vec<String>,
}

impl Bench {
    fn run(&self, adjunct: bool, args: &[&str], input: &[u8]) -> End {
        let conf = if adjunct { self.lab.adjunct() } else { self.lab.stock() };
        let out = self.lab.try_openssl(&self.system, conf, args, input);
        // The number of the thread that leads each line of an error differs, and so does the line of the source in the key
        // management that refused.
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let error = |line: &str| match line.split_once(":error:") {
            Some((_, rest)) => rest.split(':').take(4).collect::<Vec<_>>().join(":"),
            None => line.to_owned(),
        };
        // What progress of a search for primes or a generation looks like is of no interest.
        let said = said.lines().map(error).filter(|line| !line.trim_matches(['.', '+']).is_empty()).collect();
        End { status: out.status.code(), out: out.stdout, said }
    }

    /// What is the same whatever the key: with adjunct and without it, the end is the same. The output.
    fn same(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let (ours, stock) = (self.run(true, args, input), self.run(false, args, input));
        self.judge(args, &ours, &stock, ours.out == stock.out);
        ours.out
    }

    fn judge(&self, args: &[&str], ours: &End, stock: &End, output: bool) {
        let said =
            format!("{} openssl {}: {:#?}; stock: {:#?}", self.system.name, args.join(" "), ours.said, stock.said);
        assert_eq!(ours.status, stock.status, "{said}");
        assert_eq!(ours.said, stock.said, "{said}");
        let (one, two) = (String::from_utf8_lossy(&ours.out), String::from_utf8_lossy(&stock.out));
        assert!(output, "{said}\n{one}\n{two}");
    }

    /// A new key written by `args` with adjunct, in the same form as stock's own; what `again` of stock makes of it is the same.
    fn new_key(&self, args: &[&str], again: &[&str]) -> Vec<u8> {
        let (ours, stock) = (self.run(true, args, b""), self.run(false, args, b""));
        self.judge(args, &ours, &stock, form(&ours.out) == form(&stock.out));
        if ours.status == Some(0) {
            let back = self.run(false, again, &ours.out);
            assert_eq!(back.status, Some(0), "{} {args:?} {again:?}: {:?}", self.system.name, back.said);
            let (one, two) = (String::from_utf8_lossy(&ours.out), String::from_utf8_lossy(&back.out));
            assert!(ours.out == back.out, "{} {args:?} {again:?}:\n{one}\n{two}", self.system.name);
        }
        ours.out
    }

    /// A new key in DER, which versions of OpenSSL write in one structure or the other.
    fn new_der(&self, args: &[&str]) {
        let (ours, stock) = (self.run(true, args, b""), self.run(false, args, b""));
        self.judge(args, &ours, &stock, form(&ours.out) == form(&stock.out));
        if ours.status == Some(0) {
            let again: &[&str] = match version(&ours.out) {
                Some(1) => &["pkey", "-inform", "DER", "-outform", "DER", "-traditional"],
                _ => &["pkey", "-inform", "DER", "-outform", "DER"],
            };
            let back = self.run(false, again, &ours.out);
            assert_eq!(back.status, Some(0), "{} {args:?} {again:?}: {:?}", self.system.name, back.said);
            assert!(ours.out == back.out, "{} {args:?}: {:02x?}, {:02x?}", self.system.name, ours.out, back.out);
        }
    }
}

/// What does not depend on the key: of text the lines that are neither Base64 nor hexadecimal, of DER what a private key
/// begins with, the version of its structure.
fn form(output: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(output) else { return vec![format!("DER {:?}", version(output))] };
    let kept =
        |line: &&str| line.starts_with("-----") || !line.starts_with(' ') && line.contains(": ") || line.ends_with(':');
    text.lines().filter(kept).filter(|line| !line.starts_with(' ')).map(str::to_owned).collect()
}

/// The version that the structure of a private key in DER begins with: 0 of PKCS #8, 1 of an EC key by itself (RFC 5915).
fn version(der: &[u8]) -> Option<u8> {
    let length = usize::from(*der.get(1)?);
    let header = if length < 0x80 { 2 } else { 2 + (length & 0x7f) };
    der.get(header..)?.strip_prefix(&[2, 1])?.first().copied()
}

/// The curves to try, as the command lists them: `  secp256k1 : SECG curve over a 256 bit prime field`.
fn curves(bench: &Bench) -> Vec<String> {
    let listed = bench.run(false, &["ecparam", "-list_curves"], b"").out;
    let listed = String::from_utf8(listed).expect("names in ASCII");
    let names = listed.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned());
    let mut names: Vec<String> = names.filter(|name| !name.is_empty() && !name.contains(' ')).collect();
    assert!(names.len() > 5, "{listed}");
    names.retain(|name| deep() || EACH_KIND.contains(&name.as_str()));
    assert!(names.iter().any(|name| name == "SM2"), "{names:?}");
    names
}

#[test]
fn every_curve_is_written_as_stock_writes_it() {
    for system in System::all() {
        let bench = Bench { system, lab: Lab::new() };
        for curve in curves(&bench) {
            one_curve(&bench, &curve);
        }
    }
}

fn one_curve(bench: &Bench, curve: &str) {
    let group = format!("ec_paramgen_curve:{curve}");
    for encoding in ["named_curve", "explicit"] {
        let encoding = format!("ec_param_enc:{encoding}");
        let of_curve = ["-algorithm", "EC", "-pkeyopt", &group, "-pkeyopt", &encoding];
        let command = |more: &[&'static str]| [&["genpkey"], &of_curve[..], more].concat();

        // Parameters, which have nothing random in them.
        let parameters = bench.same(&command(&["-genparam"]), b"");
        bench.same(&command(&["-genparam", "-outform", "DER"]), b"");
        bench.same(&command(&["-genparam", "-text"]), b"");

        let key = bench.new_key(&command(&[]), &["pkey"]);
        bench.new_der(&command(&["-outform", "DER"]));
        bench.new_key(&command(&["-text"]), &["pkey", "-text"]);
        if !parameters.is_empty() {
            let file = bench.lab.write("parameters.pem", &parameters);
            bench.new_key(&["genpkey", "-paramfile", file.to_str().expect("a path in ASCII")], &["pkey"]);
        }
        if !key.is_empty() {
            for how in [
                &["pkey", "-text"][..],
                &["pkey", "-pubout"],
                &["pkey", "-pubout", "-outform", "DER"],
                &["pkey", "-traditional"],
                &["pkey", "-text_pub", "-noout"],
                &["pkey", "-check", "-noout"],
                &["ec", "-text"],
                &["ec", "-conv_form", "compressed", "-outform", "DER"],
            ] {
                bench.same(how, &key);
            }
            let aes = [&of_curve[..], &["-aes-128-cbc", "-pass", "pass:secret"]].concat();
            let locked = bench.run(true, &[&["genpkey"], &aes[..]].concat(), b"");
            assert_eq!(locked.status, Some(0), "{curve}: {:?}", locked.said);
            bench.same(&["pkey", "-passin", "pass:secret", "-text"], &locked.out);
        }
    }
    // `ecparam` gives a key of type SM2, which is not written in the form of an EC key.
    let again = if curve == "SM2" { "pkey" } else { "ec" };
    bench.new_key(&["ecparam", "-name", curve, "-genkey", "-noout"], &[again]);
    bench.same(&["ecparam", "-name", curve, "-text", "-param_enc", "explicit"], b"");
}
