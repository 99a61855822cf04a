//! From a valid file to one that is nearly valid: our own mutator, deterministic by seed.
//!
//! Half of the changes know the structure of the files: numbers become extreme ones, lines come twice, vanish, trade places
//! or are cut, with a preference for the header, where promises stand. The others are blind: bytes flip, come and go.

/// Numbers at the edge of some type, and words that are read as numbers somewhere.
const EXTREMES: [&str; 34] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "127",
    "128",
    "255",
    "256",
    "257",
    "65535",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "1000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e-320",
    "1e400",
    "nan",
    "-inf",
    "0x10",
    "00000000000000000000000000000000001.5",
];

/// Splitmix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`; 0 of nothing.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    pub fn choose<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// One to four changes of a valid file.
pub fn mutate(random: &mut Random, valid: &[u8]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    let is_text = std::str::from_utf8(valid).is_ok();
    for _ in 0..=random.below(4) {
        match (is_text, random.below(8)) {
            (true, 0..=5) => change_text(random, &mut bytes),
            (false, 0..=3) => change_words(random, &mut bytes),
            _ => change_bytes(random, &mut bytes),
        }
    }
    bytes
}

/// Bytes flip, come, go, or the file ends.
fn change_bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    let length = 1 + random.below(16);
    match random.below(6) {
        0 => bytes.truncate(at),
        1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        3 => drop(bytes.drain(at..(at + length).min(bytes.len()))),
        4 => drop(bytes.splice(at..at, (0..length).map(|_| random.next() as u8).collect::<Vec<_>>())),
        _ => {
            let piece = bytes[at..(at + 64 * length).min(bytes.len())].to_vec();
            bytes.extend(piece);
        }
    }
}

/// A binary number of 2, 4 or 8 bytes becomes an extreme one, oftener near the beginning.
fn change_words(random: &mut Random, bytes: &mut [u8]) {
    let size = *random.choose(&[2, 4, 4, 8, 8]);
    if bytes.len() < size {
        return;
    }
    let most = if random.below(2) == 0 { bytes.len().min(128).max(size) } else { bytes.len() };
    let at = random.below(most - size + 1) / 2 * 2;
    let words = [0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, i32::MAX as u64, u64::from(u32::MAX), i64::MAX as u64, u64::MAX]
        .into_iter()
        .chain([f64::NAN, f64::INFINITY, 1e308, -1e308].map(f64::to_bits))
        .chain([f32::NAN, f32::INFINITY].map(|x| u64::from(x.to_bits())))
        .collect::<Vec<u64>>();
    let word = random.choose(&words).to_le_bytes();
    bytes[at..at + size].copy_from_slice(&word[..size]);
}

/// A line of a text changes, or a number in it.
fn change_text(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let most = if random.below(2) == 0 { lines.len().min(6) } else { lines.len() };
    let (at, other) = (random.below(most), random.below(lines.len()));
    match random.below(10) {
        0 => lines.insert(other, lines[at].clone()),
        1 => drop(lines.remove(at)),
        2 => lines.swap(at, other),
        3 => lines.truncate(at + 1),
        4 => {
            let end = random.below(lines[at].len());
            lines[at].truncate(end);
        }
        5 => {
            let from = lines[other].clone();
            let half = from.len() / 2;
            lines[at].extend_from_slice(&from[half..]);
        }
        _ => change_number(random, &mut lines[at]),
    }
    *bytes = lines.concat();
}

/// One of the numbers of a line, or a digit of it.
fn change_number(random: &mut Random, line: &mut Vec<u8>) {
    let part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let mut places = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let length = line[at..].iter().take_while(|byte| part(byte)).count();
        if line[at..at + length].iter().any(u8::is_ascii_digit) {
            places.push(at..at + length);
        }
        at += length.max(1);
    }
    if places.is_empty() {
        return;
    }
    let place = random.choose(&places).clone();
    if random.below(4) == 0 {
        line[place.start] = b'0' + random.below(10) as u8;
    } else {
        line.splice(place, random.choose(&EXTREMES).bytes());
    }
}

#[test]
fn a_seed_gives_one_file_and_files_differ() {
    let valid = b"3 3 2\n1 1 1.5\n2 2 -7e3\n".as_slice();
    let files: Vec<Vec<u8>> = (0..200).map(|seed| mutate(&mut Random(seed), valid)).collect();
    let again: Vec<Vec<u8>> = (0..200).map(|seed| mutate(&mut Random(seed), valid)).collect();
    assert_eq!(files, again);
    let different: std::collections::HashSet<&Vec<u8>> = files.iter().collect();
    assert!(different.len() > 150, "{}", different.len());
    let binary = mutate(&mut Random(1), &[0xFF; 64]);
    assert!(binary != [0xFF; 64]);
}
