//! The `adjunct` command.

fn main() {}
