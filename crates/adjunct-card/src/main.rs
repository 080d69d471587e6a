//! `adjunctd`.

fn main() {}
