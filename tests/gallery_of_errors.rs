//! What `#[gpu_operator]` says about wrong definitions: each file of `tests/ui/` is one mistake, its name the mistake,
//! the `.stderr` beside it the message with its place.
//!
//! `tests/ui/accepted.rs` holds definitions that look like mistakes and are none; it is compiled and run here.

#[test]
fn each_mistake_is_reported_at_the_term() {
    let gallery = trybuild::TestCases::new();
    gallery.compile_fail("tests/ui/refused/*.rs");
}

#[path = "ui/accepted.rs"]
mod accepted;
