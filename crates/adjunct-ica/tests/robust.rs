//! The interface against bad input and in odd places: C programs that call every function (`tests/robust/`).

#![cfg(target_os = "linux")]

mod common;

use common::{PLAIN, here, is_good, libraries, natively, program, program_of, run};
use std::process::Command;

/// Whether the tests run on a kernel; an emulator has only an approximation of processes, signals and filters.
fn on_a_kernel() -> bool {
    natively("the processor is emulated, and with it the kernel's view of the process")
}

/// Once more without instructions, where the processor has them.
fn is_good_without_instructions(name: &str) {
    if natively("without instructions, since an emulator has hardly any") {
        is_good(name, PLAIN);
    }
}

#[test]
fn nothing_beside_the_buffers_is_touched() {
    is_good("robust/guard", "");
    is_good_without_instructions("robust/guard");
}

#[test]
fn bad_input_gives_an_error_and_writes_nothing() {
    is_good("robust/errors", "");
    is_good_without_instructions("robust/errors");
}

#[test]
fn buffers_may_overlap() {
    is_good("robust/overlap", "");
    is_good_without_instructions("robust/overlap");
}

/// Lengths that no message has are refused; with ADJUNCT_LONG=1 messages of more than 4 GB, which take minutes, are right.
#[test]
fn lengths_of_more_than_32_bits_are_what_they_say() {
    let all = std::env::var_os("ADJUNCT_LONG").is_some();
    let said = run(program("robust/long").args(all.then_some("all")));
    assert!(said.ends_with("good\n"), "{said}");
    if !all {
        println!("SKIPPED: messages of more than 4 GB, without ADJUNCT_LONG=1");
    }
}

/// The C programs, built under AddressSanitizer and UndefinedBehaviorSanitizer, find no fault in the buffers that they exchange with the library.
#[test]
fn sanitizers_find_nothing_in_the_programs() {
    if !on_a_kernel() {
        return;
    }
    // At a fixed address: where the kernel has 32 bits for random ones (vm.mmap_rnd_bits), every fourth position-independent program
    // would lie where AddressSanitizer's heap does.
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-no-pie"];
    let (tests, folder) = (here().join("tests"), libraries());
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let nothing = folder.join("sanitized.c");
    std::fs::write(&nothing, "int main(void) { return 0; }\n").expect("a source");
    let mut try_out = Command::new(&compiler);
    if !try_out.args(flags).arg("-o").arg(folder.join("sanitized")).arg(nothing).status().is_ok_and(|s| s.success()) {
        println!("SKIPPED: the C compiler has no AddressSanitizer");
        return;
    }
    let interface = ["ciphers", "curves", "drbg", "ecx", "hashes", "rsa"].map(|name| format!("interface/{name}.c"));
    let robust = ["guard", "overlap", "threads"].map(|name| format!("robust/{name}.c"));
    for source in interface.iter().chain(&robust).map(|name| tests.join(name)) {
        let program = folder.join(format!("sanitized-{}", source.file_stem().expect("a name").to_string_lossy()));
        let mut compile = Command::new(&compiler);
        compile.args(["-O1", "-g", "-pthread", "-I"]).arg(here().join("include")).args(flags).arg("-o").arg(&program);
        run(compile.arg(&source).arg("-L").arg(folder).args(["-lica", "-lcrypto"]));
        let mut program = Command::new(program);
        program.env("LD_LIBRARY_PATH", folder).env("ADJUNCT_STATS", "off").env("OPENSSL_CONF", "/dev/null");
        run(&mut program);
    }
}

/// Memory that runs out gives an error. Not under AddressSanitizer, which has an allocator of its own.
#[test]
fn memory_that_runs_out_is_an_error() {
    if !on_a_kernel() {
        return;
    }
    let said = run(&mut program("robust/memory"));
    if said.starts_with("SKIPPED") {
        println!("{said}");
    } else {
        assert_eq!(said, "good\n");
    }
}

#[test]
fn sixteen_threads_get_what_one_gets() {
    is_good("robust/threads", "");
}

#[test]
fn a_fork_at_any_moment_leaves_both_sides_whole() {
    if !on_a_kernel() {
        return;
    }
    is_good("robust/forks", "");
}

#[test]
fn it_opens_and_closes_a_thousand_times() {
    // Not linked with it: with the C library, which every program is.
    assert_eq!(run(&mut program_of("robust/loading", "c")), "good\n");
}

#[test]
fn it_works_before_main_and_after() {
    if !on_a_kernel() {
        return;
    }
    for how in ["", "thread", "quick"] {
        assert_eq!(run(program("robust/lifetime").arg(how)), "good\n", "{how}");
    }
}

/// A library whose constructor runs before libica's own and whose destructor after, or the other way round.
#[test]
fn it_works_before_its_own_constructor_and_after_its_destructors() {
    if !on_a_kernel() {
        return;
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let (source, folder) = (here().join("tests/robust/lifetime.c"), libraries());
    let mut library = Command::new(&compiler);
    library.args(["-O1", "-DLATE", "-shared", "-fPIC", "-pthread", "-I"]).arg(here().join("include")).arg(source);
    run(library.arg("-o").arg(folder.join("liblate.so")).arg("-lcrypto"));
    std::fs::write(folder.join("nothing.c"), "int main(void) { return 0; }\n").expect("a source");
    for order in [["-lica", "-llate"], ["-llate", "-lica"]] {
        let program = folder.join(format!("nothing{}", order[0]));
        let mut compile = Command::new(&compiler);
        compile.arg("-o").arg(&program).arg(folder.join("nothing.c")).arg("-L").arg(folder).arg("-Wl,--no-as-needed");
        run(compile.args(order));
        let mut program = Command::new(program);
        program.env("LD_LIBRARY_PATH", folder).env("ADJUNCT_STATS", "off").env("OPENSSL_CONF", "/dev/null");
        assert_eq!(run(&mut program), "good\n", "{order:?}");
    }
}

#[test]
fn it_works_where_nearly_nothing_is_left() {
    if !on_a_kernel() {
        return;
    }
    for how in ["closed", "chroot", "seccomp"] {
        let said = run(program("robust/confined").arg(how));
        if said.starts_with("SKIPPED") {
            println!("{how}: {said}");
        } else {
            assert_eq!(said, "good\n", "{how}");
        }
    }
}
