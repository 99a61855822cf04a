//! One line of numbers, `value i j k l`: bytes in, a value and its position (orbitals from 0) out. A complex value is written `(re,im)`.

use super::FcidumpError;
use eigenforge_runtime::input_file::real_number;
use num_complex::Complex64;
use std::fmt;

/// The meaning of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// (ij|kl)
    Two(usize, usize, usize, usize),
    /// h_ij
    One(usize, usize),
    /// ε_i, which H does not need.
    OrbitalEnergy,
    /// Energy without electrons.
    Core,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Two(i, j, k, l) => write!(f, "({} {}|{} {})", i + 1, j + 1, k + 1, l + 1),
            Place::One(i, j) => write!(f, "h({}, {})", i + 1, j + 1),
            Place::OrbitalEnergy => write!(f, "an orbital energy"),
            Place::Core => write!(f, "the core energy"),
        }
    }
}

/// A value and its meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub value: Complex64,
    pub place: Place,
    /// Whether the value is written `(re,im)`.
    pub pair: bool,
}

impl Entry {
    /// Reads a line; `None` if it is blank.
    pub(super) fn parse(text: &[u8], line: u64, orbitals: usize) -> Result<Option<Entry>, FcidumpError> {
        let (in_brackets, rest) = brackets(text, line)?;
        let mut fields =
            rest.split(|byte| byte.is_ascii_whitespace() || *byte == b',').filter(|field| !field.is_empty());
        let value = match in_brackets {
            Some(value) => value,
            None => match fields.next() {
                Some(first) => number(first, line)?.into(),
                None => return Ok(None),
            },
        };
        let mut indices = [0; 4];
        for (read, index) in indices.iter_mut().enumerate() {
            let Some(field) = fields.next() else {
                return Err(FcidumpError::Fields { line, found: read + 1, text: shown(text) });
            };
            *index = orbital(field, line, orbitals)?;
        }
        let extra = fields.count();
        if extra > 0 {
            return Err(FcidumpError::Fields { line, found: 5 + extra, text: shown(text) });
        }
        let place = match indices {
            [0, 0, 0, 0] => Place::Core,
            [_, 0, 0, 0] => Place::OrbitalEnergy,
            [i, j, 0, 0] if i > 0 => Place::One(i - 1, j - 1),
            [i, j, k, l] if !indices.contains(&0) => Place::Two(i - 1, j - 1, k - 1, l - 1),
            _ => return Err(FcidumpError::Pattern { line, indices }),
        };
        Ok(Some(Entry { value, place, pair: in_brackets.is_some() }))
    }
}

/// The number of a value `(re,im)`, if the line begins with a bracket, and what follows it.
fn brackets(text: &[u8], line: u64) -> Result<(Option<Complex64>, &[u8]), FcidumpError> {
    let Some(start) = text.iter().position(|byte| !byte.is_ascii_whitespace()).filter(|start| text[*start] == b'(')
    else {
        return match text.contains(&b'(') {
            true => Err(FcidumpError::ComplexValue { line, text: shown(text) }),
            false => Ok((None, text)),
        };
    };
    let wrong = || FcidumpError::ComplexValue { line, text: shown(text) };
    let end = text.iter().position(|byte| *byte == b')').ok_or_else(wrong)?;
    let inside = text[start + 1..end].split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let [re, im] = inside.collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
    Ok((Some(Complex64::new(number(re, line)?, number(im, line)?)), &text[end + 1..]))
}

/// Text for a message, shortened if long.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// 0 to `orbitals`.
fn orbital(field: &[u8], line: u64, orbitals: usize) -> Result<usize, FcidumpError> {
    let wrong = || FcidumpError::Index { line, found: shown(field), orbitals };
    let mut value = 0usize;
    for byte in field {
        if !byte.is_ascii_digit() || value > orbitals {
            return Err(wrong());
        }
        value = 10 * value + usize::from(byte - b'0');
    }
    if value > orbitals { Err(wrong()) } else { Ok(value) }
}

/// A finite number.
fn number(field: &[u8], line: u64) -> Result<f64, FcidumpError> {
    let wrong = || FcidumpError::Number { line, found: shown(field) };
    let text = std::str::from_utf8(field).map_err(|_| wrong())?;
    let value = real_number(text).ok_or_else(wrong)?;
    if value.is_finite() { Ok(value) } else { Err(FcidumpError::NotFinite { line, found: shown(field) }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_fortran_writes_them() {
        let cases = [("-1.5E-3", -1.5e-3), ("+2.d+01", 20.0), ("1.5-103", 1.5e-103)];
        for (text, expected) in cases {
            assert_eq!(number(text.as_bytes(), 1).unwrap(), expected, "{text}");
        }
        for text in ["", "*****", "1.5x", "--1", "1e5e5", "0x10", "D"] {
            assert!(matches!(number(text.as_bytes(), 7), Err(FcidumpError::Number { line: 7, .. })), "{text}");
        }
        for text in ["nan", "NaN", "-inf", "Infinity", "1e400", "1D999"] {
            assert!(matches!(number(text.as_bytes(), 7), Err(FcidumpError::NotFinite { line: 7, .. })), "{text}");
        }
    }
}
