//! H2 files as text.
//!
//! Lines: version; v0: `2` species, N1b, N2b, sizes of like nucleons and pn. 15099: numbers of orbitals, `index n l 2j
//! class weight` (class 1 protons, 2 neutrons), `J0 g0 Tz0`, weights of one and of two nucleons, 2Jmax and sizes of pp,
//! nn, pn. 15200: orbitals numbered consecutively with 2tz = ±1, `J0 g0 Tz0`, weights and sizes of pp, pn, nn. Then one
//! line per element: `a b c d 2J type value` (v0), `a b c d 2J 2J' type value` (15099; type 11, 22, 12), `a b c d 2J 2J'
//! value` (15200).

use super::super::channel::Channel;
use super::super::csv::TableError;
use super::super::element::{Collected, Element, Orbital};
use super::header::{ByClass, H2Version, Header, LARGEST_SHELL, MOST_ORBITALS, by_class, not_scalar};
use eigenforge_runtime::input_file::{self, FileKind, TextFile, real_number};
use std::io::{self, Write};
use std::path::Path;

/// Characters of the shortest line of an element: seven fields and a line feed.
const SHORTEST_LINE: u64 = 14;

/// Lines of the file with their numbers.
struct Lines<'a> {
    path: &'a Path,
    rest: input_file::Lines<TextFile>,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<(usize, &str)>, TableError> {
        let failed = |source| TableError::Read { path: self.path.to_path_buf(), source };
        let Some(line) = self.rest.next_filled().map_err(failed)? else { return Ok(None) };
        Ok(Some((line.number as usize, line.text().map_err(failed)?)))
    }

    fn fault(&self, line: usize, reason: String) -> TableError {
        TableError::Labels { path: self.path.to_path_buf(), line, reason }
    }

    /// The numbers of the next non-blank line, as many as there are names.
    fn numbers<T: std::str::FromStr>(&mut self, names: &str) -> Result<(usize, Vec<T>), TableError> {
        self.words(names, |word| word.parse().ok())
    }

    /// The same, real ones, as Fortran writes them too.
    fn reals(&mut self, names: &str) -> Result<(usize, Vec<f64>), TableError> {
        self.words(names, real_number)
    }

    fn words<T>(&mut self, names: &str, read: fn(&str) -> Option<T>) -> Result<(usize, Vec<T>), TableError> {
        let Some((at, line)) = self.next()? else {
            let last = self.rest.number() as usize;
            return Err(self.fault(last, format!("expected a line `{names}`, found the end of the file")));
        };
        let numbers: Vec<T> = line.split_whitespace().map_while(read).collect();
        if numbers.len() != names.split(' ').count() || line.split_whitespace().count() != numbers.len() {
            let found = shown(line);
            return Err(self.fault(at, format!("expected `{names}`, found `{found}`")));
        }
        Ok((at, numbers))
    }
}

/// A line for a message, shortened if long.
fn shown(line: &str) -> String {
    line.trim().chars().take(100).collect()
}

/// Reads a file's text.
pub(super) fn read(path: &Path, collected: &mut Collected) -> Result<(), TableError> {
    let failed = |source| TableError::Read { path: path.to_path_buf(), source };
    let file = TextFile::open(path, FileKind::INTERACTION).map_err(failed)?;
    let bytes = file.size();
    let mut lines = Lines { path, rest: input_file::Lines::new(file) };
    let (line, version) = lines.numbers::<i64>("version")?;
    let version = H2Version::from_number(version[0]).map_err(|reason| lines.fault(line, reason))?;
    let header = match version {
        H2Version::V0 => header_of_shells(&mut lines)?,
        _ => header_of_orbitals(&mut lines, version)?,
    };
    let counts = header.counts();
    let total: usize = counts.iter().sum();
    if total as u64 > bytes / SHORTEST_LINE {
        return Err(
            lines.fault(1, format!("the header announces {total} elements, too many for a file of {bytes} bytes"))
        );
    }
    let mut found = [0; 3];
    while found.iter().sum::<usize>() < total {
        let (line, channel, element) = element(&mut lines, &header)?;
        version.sectors().iter().zip(&mut found).filter(|(sector, _)| **sector == channel).for_each(|(_, n)| *n += 1);
        collected.take(channel, &element).map_err(|reason| lines.fault(line, reason))?;
    }
    if found != counts {
        let words = version.sectors().map(Channel::word).join(", ");
        return Err(
            lines.fault(1, format!("expected {counts:?} elements of {words}, as the header says, found {found:?}"))
        );
    }
    let Some((at, line)) = lines.next()? else { return Ok(()) };
    let found = shown(line);
    Err(lines.fault(at, format!("expected the end after {total} elements, found `{found}`")))
}

fn header_of_shells(lines: &mut Lines) -> Result<Header, TableError> {
    let (line, species) = lines.numbers::<u32>("species")?;
    if species != [2] {
        return Err(lines.fault(line, format!("expected 2 species, protons and neutrons, found {}", species[0])));
    }
    let (line, one) = lines.numbers::<u32>("N1b")?;
    let (_, two) = lines.numbers::<u32>("N2b")?;
    if one[0] > LARGEST_SHELL || two[0] > 2 * LARGEST_SHELL {
        return Err(lines.fault(line, format!("expected shells up to {LARGEST_SHELL}, found N1b = {}", one[0])));
    }
    let header = Header::of_shells(H2Version::V0, one[0], two[0]);
    let (line, sizes) = lines.numbers::<usize>("size(pp,nn) size(pn)")?;
    header.check_counts(&[sizes[0], sizes[0], sizes[1]]).map_err(|reason| lines.fault(line, reason))?;
    Ok(header)
}

fn header_of_orbitals(lines: &mut Lines, version: H2Version) -> Result<Header, TableError> {
    let (orbitals, numbers) = orbitals(lines, version)?;
    let (line, symmetry) = lines.numbers::<i64>("J0 g0 Tz0")?;
    if symmetry != [0, 0, 0] {
        return Err(lines.fault(line, not_scalar(&symmetry)));
    }
    let one_body = match version {
        H2Version::V15200 => [f64::INFINITY; 2],
        _ => {
            let (_, weights) = lines.reals("wp wn")?;
            [weights[0], weights[1]]
        }
    };
    let sectors = version.sectors().map(Channel::word);
    let (_, weights) = lines.reals(&sectors.map(|word| format!("w({word})")).join(" "))?;
    let mut two_body = [0.0; 3];
    version.sectors().into_iter().zip(weights).for_each(|(channel, weight)| two_body[channel as usize] = weight);
    let header = Header { numbers, ..Header::of_orbitals(version, orbitals, one_body, two_body) };
    if version != H2Version::V15200 {
        let (line, found) = lines.numbers::<u32>(&sectors.map(|word| format!("2Jmax({word})")).join(" "))?;
        let expected = version.sectors().map(|channel| header.two_j_max(channel));
        if found != expected {
            let reason = format!(
                "expected 2Jmax = {expected:?} for {}, as the orbitals need, found {found:?}",
                sectors.join(", ")
            );
            return Err(lines.fault(line, reason));
        }
    }
    let (line, sizes) = lines.numbers::<usize>(&sectors.map(|word| format!("size({word})")).join(" "))?;
    header.check_counts(&sizes).map_err(|reason| lines.fault(line, reason))?;
    Ok(header)
}

/// By class, protons and neutrons; and the class and index of each in the order of the file.
fn orbitals(lines: &mut Lines, version: H2Version) -> Result<ByClass, TableError> {
    let (line, counts) = lines.numbers::<usize>("orbitals(p) orbitals(n)")?;
    if counts.iter().any(|count| *count > MOST_ORBITALS as usize) {
        return Err(lines.fault(line, format!("expected up to {MOST_ORBITALS} orbitals of a class, found {counts:?}")));
    }
    let one_list = version == H2Version::V15200;
    let names = if one_list { "index n l 2j 2tz weight" } else { "index n l 2j class weight" };
    let mut listed = Vec::new();
    for number in 0..counts[0] + counts[1] {
        // In version 15099 each class is numbered from 1, and has the word 1 or 2.
        let neutrons = number >= counts[0];
        let index = if one_list || !neutrons { number + 1 } else { number - counts[0] + 1 };
        let (line, numbers) = lines.reals(names)?;
        let whole: Vec<u32> = numbers[..4].iter().map(|x| *x as u32).collect();
        let exact = whole.iter().zip(&numbers).all(|(whole, number)| f64::from(*whole) == *number);
        let word = if one_list { numbers[4].abs() == 1.0 } else { numbers[4] == if neutrons { 2.0 } else { 1.0 } };
        if !exact || whole[0] as usize != index || !word {
            let reason = format!("expected orbital {index} as `{names}`, found {numbers:?}");
            return Err(lines.fault(line, reason));
        }
        let orbital = Orbital { radial: whole[1], l: whole[2], two_j: whole[3], weight: numbers[5] };
        orbital.check().map_err(|reason| lines.fault(line, reason))?;
        let two_tz = if one_list { numbers[4] as i64 } else { 1 - 2 * i64::from(neutrons) };
        listed.push((orbital, two_tz));
    }
    by_class(listed, [counts[0], counts[1]]).map_err(|reason| lines.fault(line, reason))
}

/// Names of a line's fields.
fn names(version: H2Version) -> &'static str {
    match version {
        H2Version::V0 => "i1 i2 i3 i4 2J type value",
        H2Version::V15099 => "i1 i2 i3 i4 2J 2J' type value",
        H2Version::V15200 => "i1 i2 i3 i4 2J 2J' value",
    }
}

fn element(lines: &mut Lines, header: &Header) -> Result<(usize, Channel, Element), TableError> {
    let names = names(header.version);
    let (line, numbers) = lines.reals(names)?;
    let fault = |reason| lines.fault(line, reason);
    let (labels, value) = numbers.split_at(numbers.len() - 1);
    let whole: Vec<usize> = labels.iter().map(|x| *x as usize).collect();
    if !value[0].is_finite() || whole.iter().zip(labels).any(|(whole, number)| *whole as f64 != *number) {
        return Err(fault(format!("expected `{names}`, whole numbers and a finite value, found {numbers:?}")));
    }
    let two_j = if header.version == H2Version::V0 { [whole[4]; 2] } else { [whole[4], whole[5]] };
    if two_j[0] != two_j[1] || !two_j[0].is_multiple_of(2) || two_j[0] > 10_000 {
        return Err(fault(format!("expected 2J = 2J', even; found {} {}", two_j[0], two_j[1])));
    }
    let four = [whole[0], whole[1], whole[2], whole[3]];
    let (channel, four) = match header.version {
        H2Version::V15200 => by_number(header, four).map_err(fault)?,
        version => {
            let channel = match whole[if version == H2Version::V0 { 5 } else { 6 }] {
                11 => Channel::Pp,
                22 => Channel::Nn,
                12 => Channel::Pn,
                other => return Err(fault(format!("expected type 11, 22 or 12, found {other}"))),
            };
            (channel, in_class(header, channel, four).map_err(fault)?)
        }
    };
    Ok((line, channel, header.element(channel, four, (two_j[0] / 2) as u32, value[0])))
}

/// Indices of orbitals numbered by class.
fn in_class(header: &Header, channel: Channel, four: [usize; 4]) -> Result<[usize; 4], String> {
    let classes = Header::classes(channel);
    for (at, number) in four.into_iter().enumerate() {
        let count = header.orbitals[classes[at % 2]].len();
        if number == 0 || number > count {
            return Err(format!("expected orbitals from 1 to {count}, found {number}"));
        }
    }
    Ok(four.map(|number| number - 1))
}

/// Channel and indices of orbitals of one list.
fn by_number(header: &Header, four: [usize; 4]) -> Result<(Channel, [usize; 4]), String> {
    let all = header.numbers.len();
    if let Some(number) = four.into_iter().find(|number| *number == 0 || *number > all) {
        return Err(format!("expected orbitals from 1 to {all}, found {number}"));
    }
    let places = four.map(|number| header.numbers[number - 1]);
    let channel = match places.map(|[class, _]| class) {
        [0, 0, 0, 0] => Channel::Pp,
        [0, 1, 0, 1] => Channel::Pn,
        [1, 1, 1, 1] => Channel::Nn,
        _ => return Err("expected two protons, two neutrons, or a proton and a neutron, on both sides".into()),
    };
    Ok((channel, places.map(|[_, place]| place)))
}

/// Writes header and elements.
pub(super) fn write(
    out: &mut dyn Write,
    header: &Header,
    value: impl Fn(Channel, [usize; 4], u32) -> Result<f64, String>,
) -> io::Result<()> {
    write_header(out, header)?;
    for channel in header.version.sectors() {
        let classes = Header::classes(channel);
        let protons = header.orbitals[0].len();
        let shift = |class: usize| if header.version == H2Version::V15200 { 1 + class * protons } else { 1 };
        header.for_each(channel, |four, j| {
            let number = value(channel, four, j).map_err(io::Error::other)?;
            for (at, place) in four.into_iter().enumerate() {
                write!(out, " {:>3}", place + shift(classes[at % 2]))?;
            }
            let code = [12, 11, 22][channel as usize];
            match header.version {
                H2Version::V0 => write!(out, " {:>3} {code}", 2 * j)?,
                H2Version::V15099 => write!(out, " {0:>3} {0:>3} {code}", 2 * j)?,
                H2Version::V15200 => write!(out, " {0:>3} {0:>3}", 2 * j)?,
            }
            writeln!(out, "   {}", scientific(number))
        })?;
    }
    Ok(())
}

fn write_header(out: &mut dyn Write, header: &Header) -> io::Result<()> {
    let Header { version, orbitals, one_body, two_body, .. } = header;
    writeln!(out, "{:>10}", version.number())?;
    let counts = header.counts();
    if *version == H2Version::V0 {
        let [one, two] = [one_body[0], two_body[0]];
        return writeln!(out, "{:>10}\n{one:>10}\n{two:>10}\n{:>10} {:>10}", 2, counts[0], counts[2]);
    }
    writeln!(out, "{} {}", orbitals[0].len(), orbitals[1].len())?;
    let through = *version == H2Version::V15200;
    for (class, of_class) in orbitals.iter().enumerate() {
        let first = if through { 1 + class * orbitals[0].len() } else { 1 };
        let word = if through { [1, -1][class] } else { [1, 2][class] };
        for (at, Orbital { radial, l, two_j, weight }) in of_class.iter().enumerate() {
            writeln!(out, "{:>4} {radial:>3} {l:>3} {two_j:>3} {word:>3} {weight:>12.8}", first + at)?;
        }
    }
    writeln!(out, "0 0 0")?;
    let sectors = version.sectors();
    let words = |numbers: [String; 3]| numbers.join(" ");
    if !through {
        writeln!(out, "{} {}", plain(one_body[0]), plain(one_body[1]))?;
    }
    writeln!(out, "{}", words(sectors.map(|channel| plain(two_body[channel as usize]))))?;
    if !through {
        writeln!(out, "{}", words(sectors.map(|channel| header.two_j_max(channel).to_string())))?;
    }
    writeln!(out, "{}", words(counts.map(|count| count.to_string())))
}

/// `+9.5364666e+00`.
fn scientific(number: f64) -> String {
    with_exponent(format!("{number:+.7e}"))
}

/// `2.000000e+00`.
fn plain(number: f64) -> String {
    with_exponent(format!("{number:.6e}"))
}

/// Two digits and a sign, as C and Fortran print it.
fn with_exponent(text: String) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}
