//! The slotwise command.
fn main() {}
