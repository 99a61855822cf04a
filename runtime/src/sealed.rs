//! Records that detect a change of any byte: a RON text with its own blake3 hash in a last comment line.

use serde::Serialize;
use std::io;

const SEAL: &str = "\n// blake3 ";

/// The record as RON, sealed.
///
/// # Errors
/// RON cannot represent a record.
pub fn seal(record: &impl Serialize) -> io::Result<String> {
    ron::ser::to_string_pretty(record, ron::ser::PrettyConfig::default()).map(sealed).map_err(io::Error::other)
}

/// The record as compact RON, sealed.
///
/// # Errors
/// RON cannot represent a record.
pub fn seal_compactly(record: &impl Serialize) -> io::Result<String> {
    ron::to_string(record).map(sealed).map_err(io::Error::other)
}

fn sealed(text: String) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{text}{SEAL}{hash}\n")
}

/// The text under the seal; `None` if any byte of text or seal was changed.
pub fn unseal(sealed: &str) -> Option<&str> {
    let (text, hash) = sealed.strip_suffix('\n')?.rsplit_once(SEAL)?;
    (blake3::hash(text.as_bytes()).to_hex().as_str() == hash).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_missing_or_added_byte_is_noticed() {
        let record = (vec![1.5f64, -0.25], "a name".to_string(), Some(7u64));
        for good in [seal(&record).unwrap(), seal_compactly(&record).unwrap()] {
            let text = unseal(&good).unwrap();
            assert_eq!(ron::from_str::<(Vec<f64>, String, Option<u64>)>(text).unwrap(), record);
            for at in 0..good.len() {
                let mut bytes = good.clone().into_bytes();
                bytes[at] ^= 1;
                assert!(std::str::from_utf8(&bytes).ok().and_then(unseal).is_none(), "byte {at}");
                assert!(unseal(&good[..at]).is_none(), "{at} bytes");
            }
            assert!(unseal(&(good.clone() + "\n")).is_none() && unseal(&(" ".to_string() + &good)).is_none());
        }
    }
}
