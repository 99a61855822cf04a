//! Real numbers as C, Python and Fortran write them: a word in, its value out.

/// The value of a word: 1.5, .5, 1.5E-3, and Fortran's 1.5D-3 and 1.5-103, whose exponents of three digits have no letter. `None` if it is
/// no number; words such as `inf` are those of Rust.
pub fn real_number(word: &str) -> Option<f64> {
    word.parse().ok().or_else(|| fortran(word))
}

fn fortran(word: &str) -> Option<f64> {
    if !word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.dDeE".contains(&byte)) {
        return None;
    }
    if let Some(at) = word.find(['d', 'D']) {
        return format!("{}e{}", &word[..at], &word[at + 1..]).parse().ok();
    }
    let at = word.char_indices().skip(1).find(|(_, c)| "+-".contains(*c))?.0;
    format!("{}e{}", &word[..at], &word[at..]).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_fortran_writes_them() {
        let cases = [
            ("1.5", 1.5),
            (".5", 0.5),
            ("-1.5E-3", -1.5e-3),
            ("1.5D-3", 1.5e-3),
            ("+2.d+01", 20.0),
            ("1.5-103", 1.5e-103),
            ("-1.+100", -1e100),
        ];
        for (word, expected) in cases {
            assert_eq!(real_number(word), Some(expected), "{word}");
        }
        for word in ["", "*****", "1.5x", "--1", "1e5e5", "1d5d5", "1-2-3", "0x10", "D", "1d"] {
            assert_eq!(real_number(word), None, "{word}");
        }
    }
}
