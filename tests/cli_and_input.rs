//! The command and its input: one test binary, a module a subject.

#[path = "cli_and_input/gallery.rs"]
mod gallery;
