//! stub
pub mod bench;
