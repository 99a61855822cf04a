//! Writes binary H2 files; `records` says what they hold.

use super::super::channel::Channel;
use super::super::element::Orbital;
use super::header::{H2Version, Header};
use std::io::{self, Write};

/// A file that is being written.
struct Writer<'a> {
    out: &'a mut dyn Write,
    /// Whether numbers are enclosed by lengths.
    framed: bool,
}

/// Writes header and elements.
pub(super) fn write(
    out: &mut dyn Write,
    header: &Header,
    value: impl Fn(Channel, [usize; 4], u32) -> Result<f64, String>,
) -> io::Result<()> {
    let Header { version, orbitals, one_body, two_body, .. } = header;
    let sectors = version.sectors();
    let counts = header.counts();
    let mut file = Writer { out, framed: true };
    file.integers([version.number() as i32])?;
    match version {
        H2Version::V0 => {
            let [like, _, pn] = counts.map(short);
            file.integers([2, one_body[0] as i32, two_body[0] as i32, like?, pn?])?;
        }
        H2Version::V15099 => {
            file.integers([orbitals[0].len() as i32, orbitals[1].len() as i32])?;
            for of_class in orbitals {
                file.columns(of_class)?;
                file.reals(of_class.iter().map(|orbital| orbital.weight))?;
            }
            file.integers([0; 3])?;
            file.reals(*one_body)?;
            file.reals(sectors.map(|channel| two_body[channel as usize]))?;
            file.integers(sectors.map(|channel| header.two_j_max(channel) as i32))?;
            let [first, second, third] = counts.map(short);
            file.integers([first?, second?, third?])?;
        }
        H2Version::V15200 => {
            file.framed = false;
            file.integers([orbitals[0].len() as i32, orbitals[1].len() as i32])?;
            let all: Vec<Orbital> = orbitals.iter().flatten().copied().collect();
            file.columns(&all)?;
            file.integers((0..all.len()).map(|at| if at < orbitals[0].len() { 1 } else { -1 }))?;
            file.reals(all.iter().map(|orbital| orbital.weight))?;
            file.integers([0; 3])?;
            file.reals(sectors.map(|channel| two_body[channel as usize]))?;
            file.record(counts.iter().flat_map(|count| (*count as i64).to_le_bytes()).collect())?;
        }
    }
    for channel in sectors {
        let mut values = Vec::new();
        header.for_each(channel, |four, j| {
            values.push(value(channel, four, j).map_err(io::Error::other)?);
            Ok::<(), io::Error>(())
        })?;
        file.reals(values)?;
    }
    Ok(())
}

/// A number of elements in 4 bytes.
fn short(count: usize) -> io::Result<i32> {
    i32::try_from(count).map_err(|_| {
        io::Error::other(format!(
            "{count} elements are too many for the 4-byte sizes of this version: take h2-15200, or text"
        ))
    })
}

impl Writer<'_> {
    /// n, l and 2j.
    fn columns(&mut self, orbitals: &[Orbital]) -> io::Result<()> {
        let numbers: [fn(&Orbital) -> u32; 3] =
            [|orbital| orbital.radial, |orbital| orbital.l, |orbital| orbital.two_j];
        for number in numbers {
            self.integers(orbitals.iter().map(|orbital| number(orbital) as i32))?;
        }
        Ok(())
    }

    fn integers(&mut self, numbers: impl IntoIterator<Item = i32>) -> io::Result<()> {
        self.record(numbers.into_iter().flat_map(i32::to_le_bytes).collect())
    }

    fn reals(&mut self, numbers: impl IntoIterator<Item = f64>) -> io::Result<()> {
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
        self.record(bytes)
    }

    /// A record's length must fit a 4-byte integer.
    fn record(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        if !self.framed {
            return self.out.write_all(&bytes);
        }
        let too_long =
            |_| io::Error::other("a sector is too long for a Fortran record with a 4-byte length: write text");
        let length = i32::try_from(bytes.len()).map_err(too_long)?.to_le_bytes();
        self.out.write_all(&length)?;
        self.out.write_all(&bytes)?;
        self.out.write_all(&length)
    }
}
