//! Link compatibility: both libraries export what libica 4.4 does, each symbol with its version, and nothing else.

#![cfg(target_os = "linux")]

mod common;

use common::{compiler, libraries, run, start};
use std::collections::BTreeSet;
use std::process::Command;

/// A line of `readelf --dyn-syms`.
struct Symbol {
    kind: String,
    weak: bool,
    /// The section; `UND` where another library has it.
    section: String,
    name: String,
}

fn readelf(option: &str, library: &str) -> String {
    run(Command::new("readelf").args(["-W", option]).arg(libraries().join(library)).env("LC_ALL", "C"))
}

fn symbols(library: &str) -> Vec<Symbol> {
    let text = readelf("--dyn-syms", library);
    let fields = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Num: Value Size Type Bind Vis [other] Ndx Name [(version)]
    let numbered = fields.filter(|f| f.len() >= 8 && f[0].trim_end_matches(':').parse::<u32>().is_ok());
    // A section's own symbol is local: nobody outside sees it.
    numbered
        .filter(|f| f[4] != "LOCAL")
        .map(|f| {
            let name = f.iter().rposition(|field| !field.starts_with('(')).expect("a name");
            Symbol {
                kind: f[3].to_owned(),
                weak: f[4] == "WEAK",
                section: f[name - 1].to_owned(),
                name: f[name].to_owned(),
            }
        })
        .collect()
}

/// The symbols of the committed list: names with versions, and their kind.
fn expected() -> BTreeSet<String> {
    let lines = include_str!("../symbols.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

const LIBRARIES: [&str; 2] = ["libica.so.4", "libica-cex.so.4"];

#[test]
fn the_exports_and_their_versions_are_libicas() {
    let expected = expected();
    assert_eq!(expected.len(), 122);
    for library in LIBRARIES {
        // The versions themselves are symbols, too, of no section.
        let all = symbols(library);
        let (versions, exported): (Vec<_>, Vec<_>) =
            all.iter().filter(|symbol| symbol.section != "UND").partition(|symbol| symbol.section == "ABS");
        let kind = |symbol: &Symbol| if symbol.kind == "OBJECT" { "D" } else { "T" };
        let exported: BTreeSet<_> = exported.iter().map(|symbol| format!("{} {}", kind(symbol), symbol.name)).collect();
        let missing: Vec<_> = expected.difference(&exported).collect();
        let beside: Vec<_> = exported.difference(&expected).collect();
        assert!(missing.is_empty() && beside.is_empty(), "{library}: missing {missing:?}, beside them {beside:?}");
        let used: BTreeSet<_> = expected.iter().filter_map(|line| line.split("@@").nth(1)).collect();
        let made: BTreeSet<_> = versions.iter().map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(made, used, "{library}");
    }
}

#[test]
fn only_the_c_library_and_the_compilers_are_needed() {
    for library in LIBRARIES {
        for symbol in symbols(library).iter().filter(|symbol| symbol.section == "UND" && symbol.name != "UND") {
            let of_them = ["@GLIBC_", "@GCC_"].iter().any(|version| symbol.name.contains(version));
            // What the compiler's start files and the CPU library's allocator ask for, and nobody has to have. The allocator's own
            // replacement, OPENSSL_memory_alloc, has to be in the library.
            let nobodys = ["__gmon_start__", "_ITM_", "sdallocx"];
            assert!(
                of_them || symbol.weak && nobodys.iter().any(|name| symbol.name.starts_with(name)),
                "{library}: {} is another library's",
                symbol.name
            );
        }
        let dynamic = readelf("-d", library);
        let named = |tag: &str| {
            let lines = dynamic.lines().filter(|line| line.contains(tag)).collect::<Vec<_>>();
            lines
                .iter()
                .filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(named("(SONAME)"), [library]);
        for needed in named("(NEEDED)") {
            let system = ["libc.so", "libm.so", "libgcc_s.so", "libpthread.so", "libdl.so", "ld-linux", "ld64"];
            assert!(system.iter().any(|name| needed.starts_with(name)), "{library} needs {needed}");
        }
        assert!(
            !dynamic.contains("(RPATH)") && !dynamic.contains("(RUNPATH)") && !dynamic.contains("(TEXTREL)"),
            "{dynamic}"
        );
    }
}

/// What a program was linked with years ago still finds each of its versions.
#[test]
fn a_program_of_every_version_is_linked_and_starts() {
    let source = libraries().join("versions.c");
    let named: Vec<_> = expected().iter().filter_map(|line| line.split([' ', '@']).nth(1).map(str::to_owned)).collect();
    let functions: String = named.iter().map(|name| format!("extern char {name}[];\n")).collect();
    let listed = named.join(", ");
    let program = format!(
        "{functions}int main(void) {{ char *const all[] = {{ {listed} }}; unsigned i; \
         for (i = 0; i < sizeof all / sizeof *all; i++) if (!all[i]) return 1; return 0; }}\n"
    );
    std::fs::write(&source, program).expect("a source file");
    for library in ["ica", "ica-cex"] {
        let out = libraries().join(format!("versions-{library}"));
        let mut link = compiler();
        link.args(["-Wno-builtin-declaration-mismatch", "-o"]).arg(&out).arg(&source).arg("-L").arg(libraries());
        run(link.arg(format!("-l{library}")));
        run(start(&out).env("LD_LIBRARY_PATH", libraries()).env("ADJUNCT_STATS", "off"));
    }
}
