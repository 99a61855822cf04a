//! H2 files of MFDn, version 15099 as text, taken to two-body elements.
//!
//! In: `15099`; numbers of proton and neutron orbitals; a line an orbital, `index n l 2j class weight` (n the radial number, class
//! 1 protons, 2 neutrons); `J0 g0 Tz0`; two lines of truncation weights; `2Jmax` and number of elements for pp, nn, pn; lines
//! `i1 i2 i3 i4 2J 2J' type value`, type 11, 22 or 12. Half of a symmetric matrix between normalised antisymmetric states, a
//! ≤ b for like nucleons; radial functions positive at the origin (specification: `doc/h2` of the shell project, MIT). Out: u
//! in the layout of a plan: both orders of every pair, √((1+δab)(1+δcd)), radial functions positive at infinity.
//!
//! ```text
//! |b a; J⟩ = −(−1)^{ja+jb−J} |a b; J⟩ for like nucleons
//! ```

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::elements::{StateIndex, complete, places};
use super::plan::Plan;
use super::space::{JjState, ShellPair};
use std::path::Path;

/// Whether a file begins as these do: with a version number alone in its first line, or as a Fortran record of one integer.
pub fn recognised(path: &Path) -> bool {
    let Ok(start) = beginning(path) else { return false };
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    start.starts_with(&BINARY) || (!line.is_empty() && line.iter().all(u8::is_ascii_digit))
}

/// The length of a Fortran record that holds one integer.
const BINARY: [u8; 4] = [4, 0, 0, 0];

fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(path)?.take(64).read_to_end(&mut start)?;
    Ok(start)
}

/// An orbital of one class of nucleon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Orbital {
    radial: u32,
    l: u32,
    two_j: u32,
}

impl Orbital {
    fn shell(self) -> u32 {
        2 * self.radial + self.l
    }
}

/// Lines of the file with their numbers.
struct Lines<'a> {
    path: &'a Path,
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
}

impl Lines<'_> {
    fn fault(&self, line: usize, reason: String) -> TableError {
        TableError::Labels { path: self.path.to_path_buf(), line, reason }
    }

    /// The numbers of the next line that is not blank, as many as there are names; reals are allowed where `T` is f64.
    fn numbers<T: std::str::FromStr>(&mut self, names: &str) -> Result<(usize, Vec<T>), TableError> {
        let Some((at, line)) = self.rest.by_ref().find(|(_, line)| !line.trim().is_empty()) else {
            return Err(self.fault(1, format!("expected a line `{names}`, found the end of the file")));
        };
        let numbers: Vec<T> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if numbers.len() != names.split(' ').count() || line.split_whitespace().count() != numbers.len() {
            return Err(self.fault(at + 1, format!("expected `{names}`, found `{}`", line.trim())));
        }
        Ok((at + 1, numbers))
    }
}

/// Reads the elements of a plan's space; those beyond it are left out.
///
/// # Errors
///
/// Another version, a line that does not have its fields, counts that disagree, an element missing or given two values, a file
/// that ends below N_max.
pub fn read(path: &Path, plan: &Plan) -> Result<ByChannel, TableError> {
    let failed = |source| TableError::Read { path: path.to_path_buf(), source };
    let fault = |line: usize, reason: String| TableError::Labels { path: path.to_path_buf(), line, reason };
    if beginning(path).map_err(failed)?.starts_with(&BINARY) {
        return Err(fault(1, "this is a binary H2 file; expected version 15099 as text".into()));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let mut lines = Lines { path, rest: text.lines().enumerate() };
    let (line, version) = lines.numbers::<u32>("version")?;
    if version != [15099] {
        return Err(fault(line, format!("expected H2 version 15099, found {}", version[0])));
    }
    let orbitals = orbitals(&mut lines)?;
    let (line, symmetry) = lines.numbers::<u32>("J0 g0 Tz0")?;
    if symmetry != [0, 0, 0] {
        return Err(fault(line, format!("expected a scalar, J0 g0 Tz0 = 0 0 0, found {symmetry:?}")));
    }
    lines.numbers::<f64>("wp wn")?;
    lines.numbers::<f64>("wpp wnn wpn")?;
    lines.numbers::<u32>("2Jmax(pp) 2Jmax(nn) 2Jmax(pn)")?;
    let (_, counts) = lines.numbers::<usize>("size(pp) size(nn) size(pn)")?;
    elements(&mut lines, plan, &orbitals, &counts)
}

/// By class, protons and neutrons; an orbital's number is its place and 1.
fn orbitals(lines: &mut Lines) -> Result<[Vec<Orbital>; 2], TableError> {
    let (_, counts) = lines.numbers::<usize>("orbitals(p) orbitals(n)")?;
    let mut orbitals = [Vec::new(), Vec::new()];
    for (class, count) in counts.into_iter().enumerate() {
        for index in 1..=count {
            let names = "index n l 2j class weight";
            let (line, numbers) = lines.numbers::<f64>(names)?;
            let whole: Vec<u32> = numbers[..5].iter().map(|x| *x as u32).collect();
            let exact = whole.iter().zip(&numbers).all(|(whole, number)| f64::from(*whole) == *number);
            let orbital = Orbital { radial: whole[1], l: whole[2], two_j: whole[3] };
            if !exact || whole[0] as usize != index || whole[4] as usize != class + 1 {
                let reason = format!("expected orbital {index} of class {} as `{names}`, found {numbers:?}", class + 1);
                return Err(lines.fault(line, reason));
            }
            if orbital.two_j + 1 != 2 * orbital.l && orbital.two_j != 2 * orbital.l + 1 || orbital.shell() > 1000 {
                return Err(
                    lines.fault(line, format!("n l 2j = {orbital:?} is no orbital: expected 2j = 2l − 1 or 2l + 1"))
                );
            }
            orbitals[class].push(orbital);
        }
    }
    Ok(orbitals)
}

fn elements(
    lines: &mut Lines,
    plan: &Plan,
    orbitals: &[Vec<Orbital>; 2],
    counts: &[usize],
) -> Result<ByChannel, TableError> {
    let states = StateIndex::new(plan);
    let mut vectors = Channel::ALL.map(|channel| (channel, vec![f64::NAN; plan.length]));
    let (mut left_out, mut largest, mut found) = (0, 0, [0; 3]);
    while found.iter().sum::<usize>() < counts.iter().sum() {
        let names = "i1 i2 i3 i4 2J 2J' type value";
        let (line, numbers) = lines.numbers::<f64>(names)?;
        let value = numbers[7];
        let whole: Vec<usize> = numbers[..7].iter().map(|x| *x as usize).collect();
        if !value.is_finite() || whole.iter().zip(&numbers).any(|(whole, number)| *whole as f64 != *number) {
            return Err(
                lines.fault(line, format!("expected `{names}`, whole numbers and a finite value, found {numbers:?}"))
            );
        }
        let (sector, channel, classes) = match whole[6] {
            11 => (0, Channel::Pp, [0, 0]),
            22 => (1, Channel::Nn, [1, 1]),
            12 => (2, Channel::Pn, [0, 1]),
            other => return Err(lines.fault(line, format!("expected type 11, 22 or 12, found {other}"))),
        };
        found[sector] += 1;
        if whole[4] != whole[5] || !whole[4].is_multiple_of(2) {
            return Err(lines.fault(line, format!("expected 2J = 2J', even; found {} {}", whole[4], whole[5])));
        }
        let orbital = |place: usize| {
            let of_class = &orbitals[classes[place % 2]];
            whole[place].checked_sub(1).and_then(|index| of_class.get(index)).copied().ok_or_else(|| {
                lines.fault(line, format!("expected orbitals from 1 to {}, found {}", of_class.len(), whole[place]))
            })
        };
        let four = [orbital(0)?, orbital(1)?, orbital(2)?, orbital(3)?];
        let element = Element { four, j: (whole[4] / 2) as u32, identical: channel != Channel::Pn, value };
        element.check().map_err(|reason| lines.fault(line, reason))?;
        largest = largest.max(four[0].shell() + four[1].shell()).max(four[2].shell() + four[3].shell());
        let inside = element.put(plan, &states, &mut vectors[channel as usize].1);
        match inside {
            Ok(inside) => left_out += usize::from(!inside),
            Err(()) => return Err(lines.fault(line, "this element has come before with another value".into())),
        }
    }
    if found[..] != *counts {
        return Err(lines.fault(1, format!("the header has {counts:?} elements of pp, nn, pn; found {found:?}")));
    }
    if let Some((at, line)) = lines.rest.find(|(_, line)| !line.trim().is_empty()) {
        return Err(lines.fault(
            at + 1,
            format!("expected the end after {} elements, found `{line}`", found.iter().sum::<usize>()),
        ));
    }
    if largest < plan.space().quanta_max() {
        return Err(TableError::Truncation { path: lines.path.to_path_buf(), n_max: plan.n_max, found: largest });
    }
    for (channel, vector) in &mut vectors {
        if *channel != Channel::Pn {
            fill_forbidden(plan, vector);
        }
        complete(lines.path, plan, *channel, vector)?;
    }
    Ok(ByChannel { vectors: vectors.into(), left_out })
}

/// One line.
struct Element {
    /// a, b, c, d.
    four: [Orbital; 4],
    j: u32,
    identical: bool,
    value: f64,
}

impl Element {
    /// What no state has.
    fn check(&self) -> Result<(), String> {
        for [a, b] in [[self.four[0], self.four[1]], [self.four[2], self.four[3]]] {
            if a.two_j.abs_diff(b.two_j) > 2 * self.j || 2 * self.j > a.two_j + b.two_j {
                return Err(format!("J = {} does not come from 2j = {} and {}", self.j, a.two_j, b.two_j));
            }
            if self.identical && a == b && self.j % 2 == 1 {
                return Err(format!("two like nucleons in one orbital have even J, found {}", self.j));
            }
        }
        let quanta: u32 = self.four.iter().map(|orbital| orbital.shell()).sum();
        if quanta % 2 == 1 { Err("bra and ket differ in parity".into()) } else { Ok(()) }
    }

    /// Puts u at all its places; whether they are in the space, or an error when another value is there.
    fn put(&self, plan: &Plan, states: &StateIndex, u: &mut [f64]) -> Result<bool, ()> {
        let [a, b, c, d] = self.four;
        let radial: u32 = self.four.iter().map(|orbital| orbital.radial).sum();
        let mut value = if radial.is_multiple_of(2) { self.value } else { -self.value };
        if self.identical {
            value *= f64::from((1 + u32::from(a == b)) * (1 + u32::from(c == d))).sqrt();
        }
        let mut inside = true;
        for [bra, ket] in [[[a, b], [c, d]], [[c, d], [a, b]]] {
            for (left, left_sign) in self.orders(bra) {
                for (right, right_sign) in self.orders(ket) {
                    let sides = [left, right].map(|[x, y]| {
                        let pair = ShellPair { a: x.shell(), b: y.shell() };
                        (pair, JjState { la: x.l, two_ja: x.two_j, lb: y.l, two_jb: y.two_j })
                    });
                    let [(bra, left), (ket, right)] = sides;
                    let Some(place) = states.place(plan, [bra, ket], [left, right], self.j) else {
                        inside = false;
                        continue;
                    };
                    let value = left_sign * right_sign * value;
                    if !u[place].is_nan() && u[place] != value {
                        return Err(());
                    }
                    u[place] = value;
                }
            }
        }
        Ok(inside)
    }

    /// The orders of a pair that are states of their own, and their signs.
    fn orders(&self, [x, y]: [Orbital; 2]) -> Vec<([Orbital; 2], f64)> {
        let mut orders = vec![([x, y], 1.0)];
        if self.identical && x != y {
            let sign = if ((x.two_j + y.two_j) / 2 + self.j).is_multiple_of(2) { -1.0 } else { 1.0 };
            orders.push(([y, x], sign));
        }
        orders
    }
}

/// Zero where two like nucleons in one orbital would have odd J.
fn fill_forbidden(plan: &Plan, u: &mut [f64]) {
    for (at, [bra, ket], j, left, right) in places(plan) {
        let same =
            |pair: ShellPair, state: JjState| pair.a == pair.b && (state.la, state.two_ja) == (state.lb, state.two_jb);
        if j % 2 == 1 && (same(bra, left) || same(ket, right)) && u[at].is_nan() {
            u[at] = 0.0;
        }
    }
}
