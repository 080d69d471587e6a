//! The interface against bad input and in odd places: C programs that call every function (`tests/robust/`).

#![cfg(target_os = "linux")]

mod common;

use common::{PLAIN, is_good};

#[test]
fn nothing_beside_the_buffers_is_touched() {
    is_good("robust/guard", "");
    is_good("robust/guard", PLAIN);
}

#[test]
fn bad_input_gives_an_error_and_writes_nothing() {
    is_good("robust/errors", "");
    is_good("robust/errors", PLAIN);
}

#[test]
fn buffers_may_overlap() {
    is_good("robust/overlap", "");
    is_good("robust/overlap", PLAIN);
}
