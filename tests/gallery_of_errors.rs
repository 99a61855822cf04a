//! What `#[gpu_operator]` says about wrong definitions: each file of `tests/ui/` is one mistake, its name the mistake,
//! the `.stderr` beside it the message with its place.
//!
//! `tests/ui/accepted.rs` holds definitions that look like mistakes and are none; it is compiled and run here.

/// What trybuild gives rustc for the cases, one flag a line.
const FLAGS: &str = "--cfg\ntrybuild\n--verbose\n-A\ndead_code\n--diagnostic-width=140";

/// trybuild checks all dependencies once without the last flag and once with it, which takes minutes in a fresh clone. In a
/// process whose environment has the flags it does so once.
#[test]
fn each_mistake_is_reported_at_the_term() {
    let mut gallery = std::process::Command::new(std::env::current_exe().unwrap());
    gallery.args(["--exact", "gallery", "--ignored", "--nocapture"]);
    gallery.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.replace('\n', "\x1f")).env("CARGO_PROFILE_DEV_DEBUG", "false");
    assert!(gallery.status().unwrap().success(), "trybuild's report is above");
}

#[test]
#[ignore = "run by each_mistake_is_reported_at_the_term"]
fn gallery() {
    let gallery = trybuild::TestCases::new();
    gallery.compile_fail("tests/ui/refused/*.rs");
}

#[path = "ui/accepted.rs"]
mod accepted;
