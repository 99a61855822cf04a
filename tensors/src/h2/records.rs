//! Binary H2 files: 4-byte integers and reals, little-endian, in Fortran records (each enclosed by two 4-byte lengths) or as a stream.
//!
//! | version | content |
//! |---|---|
//! | all | a record of the version |
//! | 0 | one record of species, N1b, N2b, size of like nucleons, size of pn |
//! | 15099 | records: numbers of orbitals; for each class n, l, 2j and weights; then the lines of the text |
//! | 15200 | a stream: numbers of orbitals; n, l, 2j, 2tz and weights of all; the lines of the text, sizes as 8-byte integers |
//!
//! Finally the values by sector, in the order of `order`, a record each or in the stream. Version 15200 is that of the description of
//! 06/03/19; the one before had records there too, and such files are refused by name.

use super::super::csv::TableError;
use super::super::element::{Collected, Orbital};
use super::header::{H2Version, Header, LARGEST_SHELL, MOST_ORBITALS, by_class, not_scalar};
use eigenforge_runtime::input_file::OpenedFile;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// The length of a record that holds one integer.
const ONE: [u8; 4] = 4i32.to_le_bytes();

/// Whether a file begins with such a record.
pub(super) fn recognised(start: &[u8]) -> bool {
    start.starts_with(&ONE)
}

/// A file's records, one after the other.
struct Records<'a> {
    path: &'a Path,
    file: BufReader<OpenedFile>,
    at: u64,
    /// Of the file.
    bytes: u64,
    /// Whether numbers are enclosed by lengths.
    framed: bool,
}

impl Records<'_> {
    fn fault(&self, reason: String) -> TableError {
        TableError::Content { path: self.path.to_path_buf(), reason }
    }

    /// The next 4 bytes.
    fn word(&mut self, what: &str) -> Result<[u8; 4], TableError> {
        let mut word = [0; 4];
        match self.file.read_exact(&mut word) {
            Ok(()) => {
                self.at += 4;
                Ok(word)
            }
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.fault(format!("{what}: expected a record, found the end of the file")))
            }
            Err(source) => Err(TableError::Read { path: self.path.to_path_buf(), source }),
        }
    }

    fn length(&mut self, what: &str) -> Result<u64, TableError> {
        Ok(u32::from_le_bytes(self.word(what)?).into())
    }

    /// Begins a record, which must have `numbers` numbers of 4 bytes, all within the file.
    fn begin(&mut self, what: &str, numbers: usize) -> Result<(), TableError> {
        let start = self.at;
        let expected = 4 * numbers as u64;
        let length = if self.framed { self.length(what)? } else { expected };
        if length != expected {
            let reason = format!("byte {start}, {what}: expected a record of {numbers} numbers, found {length} bytes");
            return Err(self.fault(reason));
        }
        let (end, have) = (start + length + if self.framed { 8 } else { 0 }, self.bytes);
        if end > have {
            let reason = format!(
                "byte {start}, {what}: they should end at byte {end}, but the file ends at {have}: it is cut off"
            );
            return Err(self.fault(reason));
        }
        Ok(())
    }

    /// Ends a record.
    fn end(&mut self, what: &str, numbers: usize) -> Result<(), TableError> {
        if !self.framed {
            return Ok(());
        }
        let (end, length) = (self.at, 4 * numbers as u64);
        let closing = self.length(what)?;
        if closing == length {
            return Ok(());
        }
        Err(self.fault(format!("byte {end}, {what}: the record began with length {length} and ends with {closing}")))
    }

    fn numbers<T>(&mut self, what: &str, numbers: usize, of: impl Fn([u8; 4]) -> T) -> Result<Vec<T>, TableError> {
        self.begin(what, numbers)?;
        let found = (0..numbers).map(|_| Ok(of(self.word(what)?))).collect::<Result<_, TableError>>()?;
        self.end(what, numbers)?;
        Ok(found)
    }

    fn integers(&mut self, what: &str, numbers: usize) -> Result<Vec<i64>, TableError> {
        self.numbers(what, numbers, |word| i32::from_le_bytes(word).into())
    }

    fn reals(&mut self, what: &str, numbers: usize) -> Result<Vec<f64>, TableError> {
        self.numbers(what, numbers, |word| f32::from_le_bytes(word).into())
    }

    /// Integers of 8 bytes.
    fn long_integers(&mut self, what: &str, numbers: usize) -> Result<Vec<i64>, TableError> {
        let words = self.numbers(what, 2 * numbers, |word| word)?;
        let long =
            |pair: &[[u8; 4]]| i64::from(u32::from_le_bytes(pair[0])) | i64::from(i32::from_le_bytes(pair[1])) << 32;
        Ok(words.chunks_exact(2).map(long).collect())
    }

    /// Refuses a version 15200 in records, as the description before the present one had it: the length of the numbers of orbitals is
    /// on both sides of them.
    fn refuse_records(&mut self) -> Result<(), TableError> {
        let mut start = [0; 16];
        let old = |start: &[u8]| start[..4] == 8i32.to_le_bytes() && start[12..] == 8i32.to_le_bytes();
        let found = self.file.get_ref().read_exact_at(&mut start, self.at);
        if found.is_ok() && old(&start) {
            return Err(self.fault(
                "this is version 15200 in Fortran records, as its description of 04/25/19 has it; since 06/03/19 a stream follows the version: \
                 write the file again, or as text"
                    .into(),
            ));
        }
        Ok(())
    }
}

/// Reads a file.
pub(super) fn read(path: &Path, collected: &mut Collected) -> Result<(), TableError> {
    let (file, bytes) = super::open(path)?;
    let mut records = Records { path, file, at: 0, bytes, framed: true };
    let mut start = [0; 2];
    if records.file.get_ref().read_exact_at(&mut start, 0).is_ok() && start == [0x1f, 0x8b] {
        return Err(records.fault("this is a gzip file of a binary one: unpack it with gunzip".into()));
    }
    let version = H2Version::from_number(records.integers("version", 1)?[0]).map_err(|reason| records.fault(reason))?;
    let header = match version {
        H2Version::V0 => header_of_shells(&mut records)?,
        H2Version::V15099 => header_of_classes(&mut records)?,
        H2Version::V15200 => {
            records.refuse_records()?;
            records.framed = false;
            header_of_orbitals(&mut records)?
        }
    };
    for (channel, count) in version.sectors().into_iter().zip(header.counts()) {
        let what = format!("the elements of {}", channel.word());
        records.begin(&what, count)?;
        let mut at = 0;
        header.for_each(channel, |four, j| {
            let value = f64::from(f32::from_le_bytes(records.word(&what)?));
            if !value.is_finite() {
                return Err(TableError::NotFinite { path: path.to_path_buf(), channel: channel.word(), at });
            }
            at += 1;
            let element = header.element(channel, four, j, value);
            let labels = || format!("element {:?}, J = {j} of {}: ", four.map(|place| place + 1), channel.word());
            collected.take(channel, &element).map_err(|reason| records.fault(labels() + &reason))
        })?;
        records.end(&what, count)?;
    }
    if records.at != bytes {
        let at = records.at;
        return Err(
            records.fault(format!("expected the end after the last sector, at byte {at}; the file has {bytes}"))
        );
    }
    Ok(())
}

/// A plausible non-negative integer.
fn non_negative(records: &Records, what: &str, number: i64, largest: u32) -> Result<u32, TableError> {
    let fits = u32::try_from(number).ok().filter(|number| *number <= largest);
    fits.ok_or_else(|| records.fault(format!("{what}: expected a number from 0 to {largest}, found {number}")))
}

fn sizes(records: &Records, header: &Header, found: &[i64]) -> Result<(), TableError> {
    let found: Vec<usize> = found.iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect();
    header.check_counts(&found).map_err(|reason| records.fault(reason))
}

fn header_of_shells(records: &mut Records) -> Result<Header, TableError> {
    let numbers = records.integers("the header", 5)?;
    if numbers[0] != 2 {
        return Err(records.fault(format!("expected 2 species, protons and neutrons, found {}", numbers[0])));
    }
    let one = non_negative(records, "N1b", numbers[1], LARGEST_SHELL)?;
    let two = non_negative(records, "N2b", numbers[2], 2 * LARGEST_SHELL)?;
    let header = Header::of_shells(H2Version::V0, one, two);
    sizes(records, &header, &[numbers[3], numbers[3], numbers[4]])?;
    Ok(header)
}

/// n, l, 2j and weights of some orbitals; `extra` is read between 2j and the weights.
fn columns<T>(
    records: &mut Records,
    count: usize,
    extra: impl FnOnce(&mut Records) -> Result<T, TableError>,
) -> Result<(Vec<Orbital>, T), TableError> {
    let [n, l, two_j] = ["n", "l", "2j"].map(|what| records.integers(&format!("{what} of the orbitals"), count));
    let (n, l, two_j) = (n?, l?, two_j?);
    let extra = extra(records)?;
    let weights = records.reals("the weights of the orbitals", count)?;
    let orbital = |at: usize| {
        let number =
            |what: &str, of: &[i64]| non_negative(records, &format!("{what} of orbital {}", at + 1), of[at], 2000);
        let (radial, l, two_j) = (number("n", &n)?, number("l", &l)?, number("2j", &two_j)?);
        let orbital = Orbital { radial, l, two_j, weight: weights[at] };
        orbital.check().map_err(|reason| records.fault(reason))?;
        Ok(orbital)
    };
    Ok(((0..count).map(orbital).collect::<Result<_, TableError>>()?, extra))
}

/// Numbers of orbitals of protons and of neutrons.
fn orbital_counts(records: &mut Records) -> Result<[usize; 2], TableError> {
    let counts = records.integers("the numbers of orbitals", 2)?;
    let count = |count: i64| non_negative(records, "orbitals", count, MOST_ORBITALS).map(|count| count as usize);
    Ok([count(counts[0])?, count(counts[1])?])
}

fn check_scalar(records: &mut Records) -> Result<(), TableError> {
    let symmetry = records.integers("J0 g0 Tz0", 3)?;
    match symmetry[..] {
        [0, 0, 0] => Ok(()),
        _ => Err(records.fault(not_scalar(&symmetry))),
    }
}

/// The largest weights of two nucleons, by channel.
fn two_body_weights(records: &mut Records, version: H2Version) -> Result<[f64; 3], TableError> {
    let weights = records.reals("the weights of two nucleons", 3)?;
    let mut two_body = [0.0; 3];
    version.sectors().into_iter().zip(weights).for_each(|(channel, weight)| two_body[channel as usize] = weight);
    Ok(two_body)
}

/// Version 15099: class by class.
fn header_of_classes(records: &mut Records) -> Result<Header, TableError> {
    let version = H2Version::V15099;
    let counts = orbital_counts(records)?;
    let mut orbitals = [Vec::new(), Vec::new()];
    for (class, count) in counts.into_iter().enumerate() {
        (orbitals[class], ()) = columns(records, count, |_| Ok(()))?;
    }
    check_scalar(records)?;
    let one_body = records.reals("the weights of one nucleon", 2)?;
    let two_body = two_body_weights(records, version)?;
    let header = Header::of_orbitals(version, orbitals, [one_body[0], one_body[1]], two_body);
    let found = records.integers("2Jmax", 3)?;
    let expected = version.sectors().map(|channel| i64::from(header.two_j_max(channel)));
    if found != expected {
        return Err(records.fault(format!("expected 2Jmax = {expected:?}, as the orbitals need, found {found:?}")));
    }
    let found = records.integers("the numbers of elements", 3)?;
    sizes(records, &header, &found)?;
    Ok(header)
}

/// Version 15200: all orbitals, with 2tz = 1 of protons and −1 of neutrons.
fn header_of_orbitals(records: &mut Records) -> Result<Header, TableError> {
    let version = H2Version::V15200;
    let counts = orbital_counts(records)?;
    let all = counts[0] + counts[1];
    let (listed, two_tz) = columns(records, all, |records| records.integers("2tz of the orbitals", all))?;
    let listed = listed.into_iter().zip(two_tz).collect();
    let (orbitals, numbers) = by_class(listed, counts).map_err(|reason| records.fault(reason))?;
    check_scalar(records)?;
    let two_body = two_body_weights(records, version)?;
    let header = Header { numbers, ..Header::of_orbitals(version, orbitals, [f64::INFINITY; 2], two_body) };
    let found = records.long_integers("the numbers of elements", 3)?;
    sizes(records, &header, &found)?;
    Ok(header)
}
