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
