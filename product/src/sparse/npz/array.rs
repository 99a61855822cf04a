//! One array of an archive: a member that holds a NumPy file (NEP 1), header and numbers.
//!
//! In: the bytes as they are inflated. Out: numbers, with memory allocated as their bytes arrive and not as the header
//! promises.

use std::io::Read;

/// Longest header that is read.
const HEADER_LIMIT: usize = 1 << 16;
/// Bytes read at a time.
const PIECE: usize = 1 << 16;

/// The contents of the header: `{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayHeader {
    /// `f`, `i`, `u`, `b` for real numbers, `c` for complex ones.
    kind: u8,
    big_endian: bool,
    /// Whether the first index of several runs fastest.
    by_columns: bool,
    /// Bytes of an element.
    size: u64,
    /// Elements.
    pub count: u64,
    /// Lengths of its dimensions.
    pub shape: Vec<u64>,
    /// Bytes of the header, including the magic number.
    length: u64,
}

impl ArrayHeader {
    /// Reads up to the first element.
    pub(super) fn read(source: &mut impl Read) -> Result<ArrayHeader, String> {
        let mut start = [0; 8];
        source.read_exact(&mut start).map_err(|_| "ends in its header")?;
        if &start[..6] != b"\x93NUMPY" {
            return Err("is no NumPy array".into());
        }
        let wide = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(format!("is a NumPy array of version {version}; expected 1 to 3")),
        };
        let mut length = [0; 4];
        source.read_exact(&mut length[..wide]).map_err(|_| "ends in its header")?;
        let length = u32::from_le_bytes(length) as usize;
        if length > HEADER_LIMIT {
            return Err(format!("has a header of {length} bytes; expected {HEADER_LIMIT} at most"));
        }
        let mut text = vec![0; length];
        source.read_exact(&mut text).map_err(|_| "ends in its header")?;
        let wrong = || format!("has the header `{}`", String::from_utf8_lossy(&text).trim());
        let text = std::str::from_utf8(&text).map_err(|_| wrong())?;
        let (kind, big_endian, size) = descr(text).ok_or_else(wrong)?;
        let shape = shape(text).ok_or_else(wrong)?;
        let count = shape.iter().try_fold(1u64, |product, length| product.checked_mul(*length)).ok_or_else(wrong)?;
        let by_columns = value(text, "fortran_order").is_some_and(|order| order.starts_with("True"));
        Ok(ArrayHeader { kind, big_endian, by_columns, size, count, shape, length: (8 + wide + length) as u64 })
    }

    /// Bytes of header and elements together; `None` past 64 bits.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.count.checked_mul(self.size)?.checked_add(self.length)
    }

    /// Integers.
    pub(super) fn integers(&self, source: impl Read) -> Result<Vec<i64>, String> {
        if !matches!((self.kind, self.size), (b'i' | b'u', 1 | 2 | 4 | 8)) {
            return Err("is not one of 32- or 64-bit integers".into());
        }
        let number = |raw| i64::try_from(self.integer(raw)).map_err(|_| "has a number past 63 bits".to_string());
        self.elements(source, number)
    }

    /// Real numbers, or integers that a double represents exactly.
    pub(super) fn reals(&self, source: impl Read) -> Result<Vec<f64>, String> {
        match (self.kind, self.size) {
            (b'f', 8) => self.elements(source, |raw| Ok(f64::from_bits(raw))),
            (b'f', 4) => self.elements(source, |raw| Ok(f64::from(f32::from_bits(raw as u32)))),
            (b'i' | b'u' | b'b', 1 | 2 | 4 | 8) => self.elements(source, |raw| {
                let whole = self.integer(raw);
                let real = whole as f64;
                if real as i128 == whole { Ok(real) } else { Err(format!("has {whole}, which no double is")) }
            }),
            _ => Err("is not one of real numbers (f64, f32 or integers)".into()),
        }
    }

    /// Real parts of each number, by its shape and type: 1 of (n,), 2 if these are complex, 4 of (n, 4).
    pub(super) fn parts(&self) -> Result<usize, String> {
        match (&self.shape[..], self.kind) {
            ([_], b'c') => Ok(2),
            ([_], _) => Ok(1),
            ([_, 4], kind) if kind != b'c' && !self.by_columns => Ok(4),
            ([_, 4], b'c') => Err("has complex numbers in rows of 4; quaternions are 4 real numbers each".into()),
            ([_, 4], _) => Err("has its columns one after the other; save numpy.ascontiguousarray(data)".into()),
            (shape, _) => {
                Err(format!("has the shape {shape:?}; expected (n,), or (n, 4) of quaternions a + b i + c j + d k"))
            }
        }
    }

    /// The parts of its numbers, number by number: complex numbers as two real ones, others as they are.
    pub(super) fn parts_in_turn(&self, source: impl Read) -> Result<Vec<f64>, String> {
        if self.kind != b'c' {
            return self.reals(source);
        }
        if ![8, 16].contains(&self.size) {
            return Err("is not one of complex128 or complex64".into());
        }
        let halves = ArrayHeader { kind: b'f', size: self.size / 2, count: 2 * self.count, ..self.clone() };
        halves.reals(source)
    }

    /// The characters of a single string, of one or four bytes each.
    pub(super) fn word(&self, source: impl Read) -> Result<String, String> {
        if self.count != 1 || !matches!(self.kind, b'S' | b'U') || self.size > 64 {
            return Err("is not one short word".into());
        }
        let mut bytes = Vec::new();
        source.take(self.size).read_to_end(&mut bytes).map_err(|error| format!("cannot be read ({error})"))?;
        Ok(bytes.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect())
    }

    /// An element's bytes as a number, sign extended.
    fn integer(&self, raw: u64) -> i128 {
        let unused = 64 - 8 * self.size as u32;
        if self.kind == b'i' { i128::from((raw << unused) as i64 >> unused) } else { i128::from(raw) }
    }

    /// All elements, and the rest of the source, where an archive checks its checksum.
    fn elements<T>(&self, mut source: impl Read, element: impl Fn(u64) -> Result<T, String>) -> Result<Vec<T>, String> {
        let size = self.size as usize;
        let (mut elements, mut piece, mut left) = (Vec::new(), [0; PIECE], self.count * self.size);
        while left > 0 {
            let piece = &mut piece[..left.min(PIECE as u64) as usize];
            source.read_exact(piece).map_err(|error| format!("cannot be read ({error})"))?;
            for bytes in piece.chunks_exact(size) {
                let mut raw = [0; 8];
                raw[..size].copy_from_slice(bytes);
                if self.big_endian {
                    raw[..size].reverse();
                }
                elements.push(element(u64::from_le_bytes(raw))?);
            }
            left -= piece.len() as u64;
        }
        match source.read(&mut [0]) {
            Ok(0) => Ok(elements),
            Ok(_) => Err("goes on behind its last number".into()),
            Err(error) => Err(format!("cannot be read ({error})")),
        }
    }
}

/// The value of a key.
fn value<'t>(header: &'t str, key: &str) -> Option<&'t str> {
    let (_, behind) = header.split_once(&format!("'{key}'"))?;
    Some(behind.trim_start().strip_prefix(':')?.trim_start())
}

/// Kind, byte order and bytes of `'<f8'`.
fn descr(header: &str) -> Option<(u8, bool, u64)> {
    let (descr, _) = value(header, "descr")?.strip_prefix('\'')?.split_once('\'')?;
    let (order, rest) = descr.split_at_checked(1)?;
    let (kind, size) = rest.split_at_checked(1)?;
    let kind = kind.as_bytes()[0];
    // Characters of U have four bytes.
    let size: u64 = size.parse::<u32>().ok()?.into();
    let size = if kind == b'U' { 4 * size } else { size };
    (["<", ">", "|", "="].contains(&order) && size > 0).then_some((kind, order == ">", size))
}

/// 2 and 3 of `(2, 3)`; nothing of `()`.
fn shape(header: &str) -> Option<Vec<u64>> {
    let (shape, _) = value(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let lengths = shape.split(',').map(str::trim).filter(|length| !length.is_empty());
    lengths.map(|length| length.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), bytes].concat()
    }

    fn reals(descr: &str, count: usize, bytes: &[u8]) -> Result<Vec<f64>, String> {
        let file = file(descr, &format!("({count},)"), bytes);
        let mut source = file.as_slice();
        let header = ArrayHeader::read(&mut source)?;
        assert_eq!(header.count, count as u64);
        header.reals(source)
    }

    #[test]
    fn numbers_of_every_type() {
        let halves = [1.5f64, -0.25];
        let of = |bytes: [[u8; 8]; 2]| bytes.concat();
        assert_eq!(reals("<f8", 2, &of(halves.map(f64::to_le_bytes))).unwrap(), halves);
        assert_eq!(reals(">f8", 2, &of(halves.map(f64::to_be_bytes))).unwrap(), halves);
        assert_eq!(reals("<f4", 1, &1.5f32.to_le_bytes()).unwrap(), [1.5]);
        assert_eq!(reals("<i4", 1, &(-7i32).to_le_bytes()).unwrap(), [-7.0]);
        assert_eq!(reals(">i2", 1, &(-7i16).to_be_bytes()).unwrap(), [-7.0]);
        assert_eq!(reals("|i1", 2, &[255, 1]).unwrap(), [-1.0, 1.0]);
        assert_eq!(reals("|u1", 1, &[255]).unwrap(), [255.0]);
        assert_eq!(reals("|b1", 2, &[1, 0]).unwrap(), [1.0, 0.0]);
        assert_eq!(reals("<i8", 1, &(1i64 << 60).to_le_bytes()).unwrap(), [(1u64 << 60) as f64]);
        assert!(reals("<i8", 1, &((1i64 << 60) + 1).to_le_bytes()).unwrap_err().contains("no double"));
        for other in ["<c16", "|O8", "<f2", "|S3"] {
            assert!(reals(other, 1, &[0; 16]).unwrap_err().contains("real numbers"), "{other}");
        }
    }

    #[test]
    fn numbers_of_several_parts() {
        let read = |descr: &str, shape: &str, bytes: &[u8]| {
            let file = file(descr, shape, bytes);
            let mut source = file.as_slice();
            let header = ArrayHeader::read(&mut source)?;
            Ok::<_, String>((header.parts()?, header.parts_in_turn(source)?))
        };
        let bytes = |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let four = [1.0, -2.0, 3.0, 0.5];
        assert_eq!(read("<f8", "(4,)", &bytes(&four)).unwrap(), (1, four.to_vec()));
        assert_eq!(read("<c16", "(2,)", &bytes(&four)).unwrap(), (2, four.to_vec()));
        let halves = four.iter().flat_map(|number| (*number as f32).to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(read(">c8", "(2,)", &halves).unwrap(), (2, four.to_vec()));
        assert_eq!(read("<f8", "(1, 4)", &bytes(&four)).unwrap(), (4, four.to_vec()));
        for (descr, shape) in [("<f8", "(4, 1)"), ("<f8", "(2, 2)"), ("<f8", "(1, 1, 4)"), ("<f8", "()")] {
            assert!(read(descr, shape, &bytes(&four)).unwrap_err().contains("expected (n,)"), "{shape}");
        }
        assert!(read("<c16", "(1, 4)", &bytes(&[0.0; 8])).unwrap_err().contains("4 real numbers each"));
        assert!(read("<c32", "(1,)", &bytes(&four)).unwrap_err().contains("complex128"));
    }

    #[test]
    fn promises_that_are_not_kept() {
        assert!(reals("<f8", 3, &[0; 16]).unwrap_err().contains("cannot be read"));
        assert!(reals("<f8", 1, &[0; 16]).unwrap_err().contains("goes on"));
        let read = |descr: &str, shape: &str| ArrayHeader::read(&mut file(descr, shape, &[]).as_slice());
        assert_eq!(read("<f8", "(2, 3)").unwrap().count, 6);
        assert_eq!(read("<f8", "()").unwrap().count, 1);
        assert_eq!(read("<f8", "(4611686018427387904,)").unwrap().bytes(), None);
        for (descr, shape) in [("<f8", "(18446744073709551615, 2)"), ("<f8", "(-1,)"), ("f", "(1,)"), ("<f0", "(1,)")] {
            assert!(read(descr, shape).unwrap_err().contains("has the header"), "{descr} {shape}");
        }
    }
}
