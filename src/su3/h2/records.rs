//! H2 files as Fortran records: each enclosed by two 4-byte lengths, with 4-byte integers and reals, little-endian.
//!
//! The version; v0: one record of species, N1b, N2b, size of like nucleons, size of pn; 15099 and 15200: numbers of
//! orbitals, then for each class n, l, 2j and weights, then the lines of the text. Finally the values, a record per
//! sector, in the order of `order`.

use super::super::channel::Channel;
use super::super::csv::TableError;
use super::Collected;
use super::header::{H2Version, Header, LARGEST_SHELL, MOST_ORBITALS, Orbital};
use super::place::Element;
use eigenforge_runtime::input_file::OpenedFile;
use std::io::{self, BufReader, Read, Write};
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
        let length = self.length(what)?;
        if length != 4 * numbers as u64 {
            let reason = format!("byte {start}, {what}: expected a record of {numbers} numbers, found {length} bytes");
            return Err(self.fault(reason));
        }
        let (end, have) = (start + 8 + length, self.bytes);
        if end > have {
            let reason = format!(
                "byte {start}, {what}: the record should end at byte {end}, but the file ends at {have}: it is cut off"
            );
            return Err(self.fault(reason));
        }
        Ok(())
    }

    /// Ends a record.
    fn end(&mut self, what: &str, numbers: usize) -> Result<(), TableError> {
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
}

/// Reads a file.
pub(super) fn read(path: &Path, collected: &mut Collected) -> Result<(), TableError> {
    let (file, bytes) = super::open(path)?;
    let mut records = Records { path, file, at: 0, bytes };
    let version = H2Version::from_number(records.integers("version", 1)?[0]).map_err(|reason| records.fault(reason))?;
    let header = match version {
        H2Version::V0 => header_of_shells(&mut records)?,
        _ => header_of_orbitals(&mut records, version)?,
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
            let element = Element::new(&header, channel, four, j, value);
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
fn whole(records: &Records, what: &str, number: i64, largest: u32) -> Result<u32, TableError> {
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
    let one = whole(records, "N1b", numbers[1], LARGEST_SHELL)?;
    let two = whole(records, "N2b", numbers[2], 2 * LARGEST_SHELL)?;
    let header = Header::of_shells(H2Version::V0, one, two);
    sizes(records, &header, &[numbers[3], numbers[3], numbers[4]])?;
    Ok(header)
}

fn header_of_orbitals(records: &mut Records, version: H2Version) -> Result<Header, TableError> {
    let counts = records.integers("the numbers of orbitals", 2)?;
    let mut orbitals = [Vec::new(), Vec::new()];
    for (class, count) in counts.into_iter().enumerate() {
        let count = whole(records, "orbitals", count, MOST_ORBITALS)? as usize;
        let [n, l, two_j] = ["n", "l", "2j"].map(|what| records.integers(&format!("{what} of the orbitals"), count));
        let (n, l, two_j) = (n?, l?, two_j?);
        let weights = records.reals("the weights of the orbitals", count)?;
        for at in 0..count {
            let number =
                |what: &str, of: &[i64]| whole(records, &format!("{what} of orbital {}", at + 1), of[at], 2000);
            let (radial, l, two_j) = (number("n", &n)?, number("l", &l)?, number("2j", &two_j)?);
            let orbital = Orbital { radial, l, two_j, weight: weights[at] };
            orbital.check().map_err(|reason| records.fault(reason))?;
            orbitals[class].push(orbital);
        }
    }
    let symmetry = records.integers("J0 g0 Tz0", 3)?;
    if symmetry != [0, 0, 0] {
        return Err(records.fault(format!("expected a scalar, J0 g0 Tz0 = 0 0 0, found {symmetry:?}")));
    }
    let one_body = match version {
        H2Version::V15200 => vec![f64::INFINITY; 2],
        _ => records.reals("the weights of one nucleon", 2)?,
    };
    let weights = records.reals("the weights of two nucleons", 3)?;
    let mut two_body = [0.0; 3];
    version.sectors().into_iter().zip(weights).for_each(|(channel, weight)| two_body[channel as usize] = weight);
    let header = Header { version, orbitals, one_body: [one_body[0], one_body[1]], two_body };
    if version != H2Version::V15200 {
        let found = records.integers("2Jmax", 3)?;
        let expected = version.sectors().map(|channel| i64::from(header.two_j_max(channel)));
        if found != expected {
            return Err(records.fault(format!("expected 2Jmax = {expected:?}, as the orbitals need, found {found:?}")));
        }
    }
    let found = records.integers("the numbers of elements", 3)?;
    sizes(records, &header, &found)?;
    Ok(header)
}

/// Writes header and elements.
pub(super) fn write(
    out: &mut dyn Write,
    header: &Header,
    value: impl Fn(Channel, [usize; 4], u32) -> Result<f64, String>,
) -> io::Result<()> {
    let Header { version, orbitals, one_body, two_body } = header;
    let sectors = version.sectors();
    let counts = header.counts().map(|count| count as i32);
    integers(out, [version.number() as i32])?;
    if *version == H2Version::V0 {
        integers(out, [2, one_body[0] as i32, two_body[0] as i32, counts[0], counts[2]])?;
    } else {
        integers(out, [orbitals[0].len() as i32, orbitals[1].len() as i32])?;
        for of_class in orbitals {
            let column = |number: fn(&Orbital) -> u32| of_class.iter().map(move |orbital| number(orbital) as i32);
            integers(out, column(|orbital| orbital.radial))?;
            integers(out, column(|orbital| orbital.l))?;
            integers(out, column(|orbital| orbital.two_j))?;
            reals(out, of_class.iter().map(|orbital| orbital.weight))?;
        }
        integers(out, [0; 3])?;
        if *version == H2Version::V15099 {
            reals(out, *one_body)?;
        }
        reals(out, sectors.map(|channel| two_body[channel as usize]))?;
        if *version == H2Version::V15099 {
            integers(out, sectors.map(|channel| header.two_j_max(channel) as i32))?;
        }
        integers(out, counts)?;
    }
    for channel in sectors {
        let mut values = Vec::new();
        header.for_each(channel, |four, j| {
            values.push(value(channel, four, j).map_err(io::Error::other)?);
            Ok::<(), io::Error>(())
        })?;
        reals(out, values)?;
    }
    Ok(())
}

fn integers(out: &mut dyn Write, numbers: impl IntoIterator<Item = i32>) -> io::Result<()> {
    record(out, numbers.into_iter().flat_map(i32::to_le_bytes).collect())
}

fn reals(out: &mut dyn Write, numbers: impl IntoIterator<Item = f64>) -> io::Result<()> {
    let mut bytes = Vec::new();
    for number in numbers {
        let single = number as f32;
        if !single.is_finite() {
            return Err(io::Error::other(format!(
                "{number:e} is too large for the 4-byte numbers of this format: write text, or another --format"
            )));
        }
        bytes.extend(single.to_le_bytes());
    }
    record(out, bytes)
}

/// A record's length must fit a 4-byte integer.
fn record(out: &mut dyn Write, bytes: Vec<u8>) -> io::Result<()> {
    let too_long = |_| io::Error::other("a sector is too long for a Fortran record with a 4-byte length: write text");
    let length = i32::try_from(bytes.len()).map_err(too_long)?.to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&bytes)?;
    out.write_all(&length)
}
