//! Edits of many shapes of configuration files.

use super::*;
use proptest::prelude::*;

fn edited(config: &str) -> String {
    let text = edit_enable(config.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{config}"));
    assert_eq!(strip(&text).unwrap().unwrap(), config.as_bytes(), "not undone:\n{config}");
    assert!(text.starts_with(config.as_bytes()));
    String::from_utf8(text).unwrap()
}

fn refused(config: &str) -> String {
    edit_enable(config.as_bytes()).map(|t| String::from_utf8_lossy(&t).into_owned()).unwrap_err().to_string()
}

fn block(config: &str) -> Vec<String> {
    let text = edited(config);
    let from = text.find("# BEGIN adjunct").unwrap();
    text[from..].lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect()
}

const WHOLE: &str = "\
[default]
openssl_conf = adjunct_init
[adjunct_init]
random = adjunct_random
providers = adjunct_providers
alg_section = adjunct_properties
[adjunct_providers]
default = adjunct_default
adjunct = adjunct_sect
[adjunct_default]
activate = 1
[adjunct_sect]
identity = adjunct
module = /usr/lib/ossl-modules/adjunct.so
activate = 1
algorithms = ALL
yield = yes
[adjunct_properties]
default_properties = ?provider=adjunct
[adjunct_random]
properties = adjunct.own!=yes";

#[test]
fn a_file_without_any_set_up_gets_a_whole_one() {
    for config in ["", "HOME = .\n[req]\nbits = 2048", "# only a comment \\", "\u{feff}a = b\r\n"] {
        assert_eq!(block(config).join("\n"), WHOLE);
    }
}

#[test]
fn the_stock_file_of_debian_is_served() {
    let Ok(stock) = std::fs::read("/etc/ssl/openssl.cnf") else { return };
    if contains_block(&stock) {
        return;
    }
    // Somebody's own may be one that is not edited.
    let Ok(edited) = edit_enable(&stock) else { return };
    assert_eq!(strip(&edited).unwrap().unwrap(), stock);
    assert_eq!(is_original(&edited, &stock), Some(true));
}

#[test]
fn what_is_set_up_is_added_to() {
    let config = "openssl_conf = init\n[init]\nproviders = list\nalg_section = evp\nrandom = rng\nssl_conf = ssl\n\
                  engines = eng\n[list]\ndefault = def\nlegacy = leg\n[def]\nactivate = 1\n[leg]\nactivate = 1\n\
                  [evp]\ndefault_properties = ?foo=bar\n[rng]\nrandom = HASH-DRBG\n[ssl]\n[eng]\n";
    assert_eq!(
        block(config),
        [
            "[list]",
            "adjunct = adjunct_sect",
            "[adjunct_sect]",
            "identity = adjunct",
            "module = /usr/lib/ossl-modules/adjunct.so",
            "activate = 1",
            "algorithms = ALL",
            "[evp]",
            "default_properties = ?foo=bar,?provider=adjunct",
            "[rng]",
            "properties = adjunct.own!=yes",
        ]
    );
}

#[test]
fn the_default_provider_is_always_activated_by_name() {
    let listed = "openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\n[d]\n# activate = 1\n";
    let lines = block(listed);
    let at = lines.iter().position(|l| l == "[d]").unwrap();
    assert_eq!(lines[at + 1], "activate = 1");
    let other = "openssl_conf = i\n[i]\nproviders = p\n[p]\nlegacy = l\n[l]\nactivate = 1\n";
    assert!(block(other).contains(&"default = adjunct_default".to_owned()));
    let renamed = "openssl_conf = i\n[i]\nproviders = p\n[p]\nx = d\n[d]\nidentity = default\nactivate = yes\n";
    assert!(!block(renamed).iter().any(|l| l.starts_with("default =")));
}

#[test]
fn adjunct_steps_back_only_where_nothing_was_activated() {
    let yields = |listed: &str| {
        let config = format!("openssl_conf = i\n[i]\nproviders = p\n{listed}");
        block(&config).contains(&"yield = yes".to_owned())
    };
    assert!(yields("[p]\ndefault = d\nlegacy = l\n[d]\n# activate = 1\n[l]\n"));
    assert!(!yields("[p]\ndefault = d\n[d]\nactivate = 1\n"));
    assert!(!yields("[p]\ndefault = d\ntpm2 = t\n[d]\nactivate = 1\n[t]\nactivate = 1\n"));
    // Before OpenSSL 3.2 this activates it.
    assert!(!yields("[p]\nlegacy = l\n[l]\nactivate = 0\n"));
}

#[test]
fn names_that_are_taken_are_left_alone() {
    let lines = block("[adjunct_sect]\na = b\n[adjunct_init]\n[adjunct_init_2]\n");
    assert!(lines.contains(&"adjunct = adjunct_sect_2".to_owned()));
    assert!(lines.contains(&"openssl_conf = adjunct_init_3".to_owned()));
}

#[test]
fn variables_are_followed() {
    let config =
        "name = list\nopenssl_conf = i\n[i]\nproviders = ${default::name}\n[list]\ndefault = d\n[d]\nactivate=1\n";
    assert!(block(config).contains(&"[list]".to_owned()));
    assert!(refused("openssl_conf = $ENV::INIT\n").contains("depends on the environment"));
}

#[test]
fn what_does_not_go_together_is_refused_with_its_line() {
    let init = |rest: &str| format!("openssl_conf = i\n[i]\n{rest}");
    for (config, words) in [
        (init("alg_section = e\n[e]\ndefault_properties = provider=default\n"), "line 5: the property query requires"),
        (init("alg_section = e\n[e]\ndefault_properties = fips=yes\n"), "adjunct is no FIPS module"),
        (init("alg_section = e\n[e]\nfips_mode = yes\n"), "FIPS mode is on"),
        (init("alg_section = e\n[e]\ndefault_properties = ?provider=other\n"), "speaks of providers already"),
        (init("alg_section = e\n[e]\ndefault_properties = a b=\n"), "cannot be understood"),
        (init("random = r\n[r]\nproperties = ?provider=other\n"), "random generator"),
        (init("providers = p\n[p]\nadjunct = a\n[a]\nactivate = 1\n"), "by hand"),
        (init("providers = p\n[p]\nx = a\n[a]\nidentity = adjunct\n"), "by hand"),
        (init("providers = p\n[p]\ndefault = d\n[d]\nactivate = 0\n"), "line 7: the default provider is switched off"),
        (init("providers = p\n[p]\ntpm2 = t\n[t]\nactivate = 1\n"), "'tpm2' is activated here and not after 'default'"),
        (
            init(
                "providers = p\n[p]\nlegacy = l\nfips = f\ndefault = d\n[l]\nactivate = 1\n[f]\nactivate = 1\n[d]\nactivate = 1\n",
            ),
            "line 6: 'fips' is activated here",
        ),
        (init("providers = p\nproviders.2 = q\n[p]\n[q]\n"), "more than one 'providers'"),
        (init("providers = i\n"), "serves two purposes"),
        (init("providers = my sect\n[my sect]\n"), "cannot be written back"),
        ("openssl_conf = default\n".to_owned(), "serves two purposes"),
        ("openssl_conf =\n".to_owned(), "cannot be written back"),
        ("[open\n".to_owned(), "line 1: OpenSSL cannot read this: missing close square bracket"),
        (".include /etc/x.cnf\n".to_owned(), "line 1: '/etc/x.cnf'"),
        ("a = $b\n".to_owned(), "variable has no value"),
        ("a = \0\n".to_owned(), "NUL"),
    ] {
        let line = refused(&config);
        assert!(line.contains(words), "{config}\n{line}");
        assert_eq!(line.lines().count(), 1);
    }
    assert_eq!(refused(&edited("a = b\n")), "adjunct is enabled in it already");
}

#[test]
fn a_random_generator_that_avoids_adjunct_already_is_left_alone() {
    for query in ["provider=default", "provider!=adjunct", "adjunct.own!=yes", "fips=no,provider=default"] {
        let config = format!("openssl_conf = i\n[i]\nrandom = r\n[r]\nproperties = {query}\n");
        assert!(!block(&config).contains(&"[r]".to_owned()), "{query}");
    }
}

#[test]
fn the_last_line_keeps_its_meaning() {
    for config in ["a = b \\", "a = b \\\n", "a = b \\\r\n", "a = 'b", "a = b\\\\", "[s]\na = b # c"] {
        let text = edited(config);
        let before = Model::read(config.as_bytes(), &NoIncludes).unwrap();
        let after = Model::read(text.as_bytes(), &NoIncludes).unwrap();
        for section in [&b"default"[..], b"s"] {
            let value = |m: &Model| m.entry(section, b"a").map(|e| e.value.clone());
            assert_eq!(value(&before), value(&after), "{config:?}");
        }
    }
}

#[test]
fn included_set_ups_are_added_to_in_the_file_itself() {
    struct Crypto;
    impl Includes for Crypto {
        fn read(&self, path: &std::path::Path) -> Result<Vec<(std::path::PathBuf, Vec<u8>)>, String> {
            let text = b"[i]\nproviders = p\n[p]\ndefault = d\n[d]\nactivate = 1\n".to_vec();
            Ok(vec![(path.to_owned(), text)])
        }
    }
    let config = b"openssl_conf = i\n.include /etc/crypto.cnf\n";
    let text = enable(config, &Options::new("/m.so", None), &Crypto).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\n[p]\nadjunct = adjunct_sect\n"), "{text}");
    assert!(text.contains("\n[d]\nactivate = 1\n"), "what another file activates is activated here too: {text}");
}

#[test]
fn odd_paths_are_written_so_that_they_read_back() {
    let path = "/opt/my $dir/a#b/'q'/ad\\junct.so";
    let text = enable(b"", &Options::new(path, Some("RSA,EC")), &NoIncludes).unwrap();
    let state = state(&Model::read(&text, &NoIncludes).unwrap());
    let adjunct = state.adjunct.unwrap();
    assert_eq!(adjunct.module.unwrap(), path.as_bytes());
    assert_eq!(adjunct.algorithms.unwrap(), b"RSA,EC");
}

#[test]
fn a_large_file_is_read_in_time() {
    let mut config = String::new();
    for i in 0..60_000 {
        config += &format!("n{i} = v\nsame = v\n");
    }
    edited(&config);
}

/// A line of a configuration file, sensible or not.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(&[
        "openssl_conf = i",
        "[i]",
        "[default]",
        "providers = p",
        "[p]",
        "default = d",
        "[d]",
        "activate = 1",
        "activate = 0",
        "legacy = l",
        "identity = x",
        "alg_section = e",
        "[e]",
        "default_properties = ?a=b",
        "default_properties = fips=yes",
        "random = r",
        "[r]",
        "properties = a=b",
        "x = $y",
        "y = 1",
        "y::z = ${y}",
        ".pragma dollarid:on",
        ".include /x",
        "# comment",
        "",
        "a = b \\",
        "a = 'b",
        "engines = g",
        "\u{feff}",
        "# END adjunct",
    ]);
    prop_oneof![
        6 => known.prop_map(|l| l.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => "[ -~\\t]{0,20}".prop_map(String::into_bytes),
    ]
}

fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let end = proptest::sample::select(vec![&b"\n"[..], b"\r\n", b"\r\r\n"]);
    (proptest::collection::vec((any_line(), end), 0..30), any_line()).prop_map(|(lines, last)| {
        let mut text: Vec<u8> = lines.into_iter().flat_map(|(line, end)| [line, end.to_vec()].concat()).collect();
        text.extend_from_slice(&last);
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn enable_then_disable_is_the_identity(config in any_file()) {
        if let Ok(edited) = edit_enable(&config) {
            prop_assert!(contains_block(&edited));
            prop_assert_eq!(strip(&edited).unwrap().unwrap(), config.clone());
            prop_assert_eq!(is_original(&edited, &config), Some(true));
            let state = state(&Model::read(&edited, &NoIncludes).unwrap());
            prop_assert!(state.works());
        }
    }

    #[test]
    fn nothing_panics(config in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = edit_enable(&config);
        let _ = edit_disable(&config);
    }
}

/// The block's lines for Node, of a file that is undone byte for byte.
fn for_node(config: &str) -> Vec<String> {
    let options = Options::new("/m/adjunct.so", None).with_node(true);
    let text = enable(config.as_bytes(), &options, &NoIncludes).unwrap_or_else(|e| panic!("{e}\n{config}"));
    assert_eq!(strip(&text).unwrap().unwrap(), config.as_bytes(), "not undone:\n{config}");
    assert!(state(&Model::read(&text, &NoIncludes).unwrap()).works());
    let text = String::from_utf8(text).unwrap();
    let from = text.rfind("[adjunct_nodejs").or_else(|| text.rfind("nodejs_conf")).unwrap_or(text.len());
    text[from..].lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn node_gets_a_section_of_its_own() {
    let state_of = |config: &str| {
        let options = Options::new("/m/adjunct.so", None).with_node(true);
        let text = enable(config.as_bytes(), &options, &NoIncludes).unwrap();
        state(&Model::read(&text, &NoIncludes).unwrap())
    };
    let own = [
        "[adjunct_nodejs]",
        "providers = adjunct_providers",
        "alg_section = adjunct_properties",
        "random = adjunct_random",
    ];
    for config in
        ["", "a = b", "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2\n"]
    {
        assert_eq!(for_node(config), own);
        assert!(state_of(config).node);
    }
    // Other providers are not Node's: it gets a list of its own.
    let others =
        "openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\nlegacy = l\n[d]\nactivate = 1\n[l]\nactivate = 1\n";
    assert_eq!(for_node(others), ["[adjunct_nodejs_providers]", "default = d", "adjunct = adjunct_sect"]);
    assert!(state_of(others).node);
    // What somebody has written for Node stays as it is.
    let by_hand = "nodejs_conf = mine\n[mine]\n";
    assert!(for_node(by_hand).iter().all(|line| !line.contains("adjunct_nodejs")), "{:?}", for_node(by_hand));
    assert!(!state_of(by_hand).node);
}
