//! Numbers as people read them.

/// Bytes: "812.0 KiB", "1.50 GiB".
pub fn size(bytes: u64) -> String {
    let b = bytes as f64;
    match bytes {
        0..1048576 => format!("{:.1} KiB", b / 1024.0),
        1048576..1073741824 => format!("{:.1} MiB", b / 1048576.0),
        _ => format!("{:.2} GiB", b / 1073741824.0),
    }
}

/// Seconds: 5 s, 12 min, 3 h, 4 d.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "?".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

/// A count: 130873600 → "130,873,600".
pub fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_suits_them() {
        assert_eq!([span(5.2), span(720.0), span(7200.0), span(f64::NAN)], ["5 s", "12 min", "2 h", "?"]);
    }
}
