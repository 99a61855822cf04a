//! Interactions in the oscillator basis of relative motion, `# RELATIVE LSJT` files, converted to two-body elements.
//!
//! In: isoscalar scalar elements ⟨N' L' S J T|V|N L S J T⟩ (header `version`, `J0 g0 T0min T0max mode`, `Nmax Jmax`; lines
//! `T0 N' L' S' J' T' N L S J T value`, half of a symmetric matrix, radial functions positive at the origin, MeV). Out: the
//! operator by (N', L', N, L, S, J), which [`super::rotation`] makes two-body elements of. Elements with J beyond the file's
//! J_max are zero.

use super::brackets::RelativeState;
use super::channel::ByChannel;
use super::csv::{LARGEST_LABEL, TableError};
use super::plan::Plan;
use super::rotation::RotatedElements;
use super::space::momenta;
use super::table_cache::TableCache;
use eigenforge_runtime::input_file::{FileKind, Lines, TextFile, real_number};
use eigenforge_su3::LabelError;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// Whether a file begins like these, with a line `# RELATIVE LSJT`.
pub(super) fn recognised(path: &Path) -> bool {
    let mut start = Vec::new();
    let opened = TextFile::open(path, FileKind::INTERACTION);
    let first = |start: &[u8]| String::from_utf8_lossy(start).lines().next().map(str::to_owned).unwrap_or_default();
    opened.and_then(|file| file.take(64).read_to_end(&mut start)).is_ok()
        && first(&start).trim_start_matches('#').split_whitespace().next() == Some("RELATIVE")
        && start.starts_with(b"#")
}

/// An interaction in relative motion.
#[derive(Debug, Clone)]
pub struct Relative {
    /// The most quanta.
    pub quanta_max: u32,
    /// The largest J.
    pub j_max: u32,
    /// By (N', L', N, L, S, J), both orders; radial functions positive at infinity.
    values: HashMap<[u32; 6], f64>,
    /// What each quantum of the centre of mass costs.
    centre: f64,
}

impl Relative {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A line with wrong fields, labels that do not fit together or exceed the header's limits, an element with two values,
    /// parts that are not isoscalar.
    pub fn read(path: &Path) -> Result<Relative, TableError> {
        let unreadable = |source| TableError::Read { path: path.to_path_buf(), source };
        let fault = |line: usize, reason: String| TableError::Labels { path: path.to_path_buf(), line, reason };
        let file = TextFile::open(path, FileKind::INTERACTION).map_err(unreadable)?;
        let bytes = file.size();
        let mut lines = Lines::new(file);
        let mut next = || -> Result<Option<(usize, Vec<String>)>, TableError> {
            let filled = |line: &[u8]| !matches!(line.trim_ascii_start().first(), None | Some(b'#'));
            let Some(line) = lines.next_where(filled).map_err(unreadable)? else { return Ok(None) };
            let words = line.text().map_err(unreadable)?.split_whitespace().map(str::to_string).collect();
            Ok(Some((line.number as usize, words)))
        };
        let mut header = |names: &[&'static str]| {
            let (line, words) =
                next()?.ok_or_else(|| fault(1, format!("expected a line `{}`, found the end", names.join(" "))))?;
            let numbers: Vec<u32> = words.iter().map_while(|word| word.parse().ok()).collect();
            if numbers.len() != names.len() || words.len() != names.len() {
                let reason = format!("expected `{}` as whole numbers, found `{}`", names.join(" "), words.join(" "));
                return Err(fault(line, reason));
            }
            Ok((line, numbers))
        };
        let (line, version) = header(&["version"])?;
        if version != [1] {
            return Err(fault(line, format!("expected version 1, found {}", version[0])));
        }
        let (line, symmetry) = header(&["J0", "g0", "T0min", "T0max", "mode"])?;
        if symmetry[..2] != [0, 0] || symmetry[2] != 0 || symmetry[3] != 0 {
            let reason =
                "expected J0 = 0, g0 = 0, T0 = 0: only isoscalar scalar interactions of even parity are supported";
            return Err(fault(line, format!("{reason}; found J0 g0 T0min T0max = {:?}", &symmetry[..4])));
        }
        let (line, limits) = header(&["Nmax", "Jmax"])?;
        let mut relative = Relative { quanta_max: limits[0], j_max: limits[1], values: HashMap::new(), centre: 0.0 };
        check_promise(relative.quanta_max, relative.j_max, bytes).map_err(|reason| fault(line, reason))?;
        while let Some((line, words)) = next()? {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let element = element(&words, &relative).map_err(|reason| fault(line, reason))?;
            let ([n, l, s, j], [n2, l2], value) = element;
            for key in [[n, l, n2, l2, s, j], [n2, l2, n, l, s, j]] {
                let sign = if ((n - l) / 2 + (n2 - l2) / 2) % 2 == 0 { 1.0 } else { -1.0 };
                if relative.values.insert(key, sign * value).is_some_and(|old| old != sign * value) {
                    let reason = format!(
                        "the element N' L' N L S J = {n} {l} {n2} {l2} {s} {j} appears twice with different values"
                    );
                    return Err(fault(line, reason));
                }
            }
        }
        if relative.values.is_empty() {
            return Err(TableError::Empty { path: path.to_path_buf() });
        }
        let missing = relative.missing();
        match missing[..] {
            [] => Ok(relative),
            [[n, l, n2, l2, s, j], ..] => {
                let (count, quanta_max, j_max) = (missing.len(), relative.quanta_max, relative.j_max);
                let reason = format!(
                    "{count} elements (counting both orders) up to the header's Nmax = {quanta_max}, Jmax = {j_max} are missing, first \
                 N' L' N L S J = {n} {l} {n2} {l2} {s} {j}"
                );
                Err(TableError::Content { path: path.to_path_buf(), reason })
            }
        }
    }
}

/// Quanta and J beyond which a header is a typing error.
const MOST_QUANTA: u32 = 1000;
/// Elements that any header may promise.
const NAMED: u64 = 100_000;
/// Characters of the shortest line: twelve of one digit.
const SHORTEST_LINE: u64 = 24;

/// Refuses a header whose elements cannot fit in the file, before counting them one by one.
fn check_promise(quanta_max: u32, j_max: u32, bytes: u64) -> Result<(), String> {
    if quanta_max > MOST_QUANTA || j_max > MOST_QUANTA + 1 {
        let limits = format!("Nmax up to {MOST_QUANTA} and Jmax up to {}", MOST_QUANTA + 1);
        return Err(format!("expected {limits}, found {quanta_max} and {j_max}"));
    }
    // Half of the elements of a symmetric matrix are in a file. Up to some number the missing ones are listed.
    let most = NAMED + bytes / SHORTEST_LINE * 2;
    match keys(quanta_max, j_max).nth(most as usize) {
        None => Ok(()),
        Some(_) => Err(format!(
            "Nmax = {quanta_max}, Jmax = {j_max} need more than {most} elements, too many for a file of {bytes} bytes"
        )),
    }
}

/// (N', L', N, L, S, J) of all elements, both orders; T makes L + S + T odd.
fn keys(quanta_max: u32, j_max: u32) -> impl Iterator<Item = [u32; 6]> {
    let states = move |n: u32, s: u32, j: u32| momenta(n).filter(move |l| l.abs_diff(s) <= j && j <= l + s);
    let spins = (0..=j_max).flat_map(|j| [0, 1].map(|s| (s, j)));
    spins.flat_map(move |(s, j)| {
        let quanta = (0..=quanta_max).flat_map(move |n| (n % 2..=quanta_max).step_by(2).map(move |n2| (n, n2)));
        quanta.flat_map(move |(n, n2)| {
            states(n, s, j).flat_map(move |l| states(n2, s, j).map(move |l2| [n, l, n2, l2, s, j]))
        })
    })
}

/// ([N', L', S, J], [N, L], value) of a line.
type Element = ([u32; 4], [u32; 2], f64);

fn element(words: &[&str], limits: &Relative) -> Result<Element, String> {
    let expected = "T0 N' L' S' J' T' N L S J T value";
    let wrong =
        || format!("expected `{expected}`, ten whole numbers after T0 and a finite value, found `{}`", words.join(" "));
    let label = |word: &&str| word.parse().ok().filter(|label| *label <= LARGEST_LABEL);
    let labels: Vec<u32> = words.iter().take(11).map_while(label).collect();
    let value = words.get(11).and_then(|word| real_number(word)).filter(|value| value.is_finite());
    let ([t0, n, l, s, j, t, n2, l2, s2, j2, t2], Some(value), 12) = (&labels[..], value, words.len()) else {
        return Err(wrong());
    };
    if *t0 != 0 || [s, j, t] != [s2, j2, t2] {
        return Err("expected T0 = 0 and the same S, J, T on both sides".into());
    }
    for (n, l) in [(n, l), (n2, l2)] {
        if l > n || (n - l) % 2 != 0 || *s > 1 || l.abs_diff(*j) > *s || (l + s + t) % 2 == 0 || *t > 1 {
            return Err(format!(
                "N L S J T = {n} {l} {s} {j} {t} is not an antisymmetric two-nucleon state: expected L + S + T odd, |L - S| <= J <= L + S, N - L even"
            ));
        }
        if *n > limits.quanta_max || *j > limits.j_max {
            let (quanta_max, j_max) = (limits.quanta_max, limits.j_max);
            return Err(format!("N = {n}, J = {j} exceeds the header's Nmax = {quanta_max}, Jmax = {j_max}"));
        }
    }
    if n % 2 != n2 % 2 {
        return Err(format!("expected N' and N of the same parity, found {n} and {n2}"));
    }
    Ok(([*n, *l, *s, *j], [*n2, *l2], value))
}

impl Relative {
    /// From ⟨N' L' S J|V|N L S J⟩ with radial functions positive at infinity, for all antisymmetric states up to
    /// `quanta_max`.
    pub(super) fn of_formula(quanta_max: u32, value: impl Fn([u32; 2], [u32; 2], u32, u32) -> f64) -> Relative {
        let j_max = quanta_max + 1;
        let of = |key: [u32; 6]| {
            let [n, l, n2, l2, s, j] = key;
            (key, value([n, l], [n2, l2], s, j))
        };
        Relative { quanta_max, j_max, values: keys(quanta_max, j_max).map(of).collect(), centre: 0.0 }
    }

    /// ⟨N' L' S J|V|N L S J⟩ with functions positive at infinity, if present.
    pub fn element(&self, bra: [u32; 2], ket: [u32; 2], s: u32, j: u32) -> Option<f64> {
        self.values.get(&[bra[0], bra[1], ket[0], ket[1], s, j]).copied()
    }

    /// Labels without a line.
    fn missing(&self) -> Vec<[u32; 6]> {
        keys(self.quanta_max, self.j_max).filter(|key| !self.values.contains_key(key)).collect()
    }

    /// Whether it covers everything that N_max needs.
    pub fn reaches(&self, plan: &Plan) -> bool {
        self.quanta_max >= plan.space().quanta_max()
    }

    /// u of pn, pp and nn, all at once.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub fn elements(&self, plan: &Plan) -> Result<ByChannel, LabelError> {
        let rotated = RotatedElements::new(self.clone(), plan, &TableCache::off())?;
        // Computed numbers have no file that could fail.
        Ok(ByChannel::of_source(plan, &rotated).unwrap_or(ByChannel { vectors: Vec::new(), left_out: 0 }))
    }

    /// The same operator with an energy for each quantum of the centre of mass.
    pub(super) fn with_centre(self, centre: f64) -> Relative {
        Relative { centre, ..self }
    }

    /// Between states with the same centre of mass, S and j.
    pub(super) fn value(&self, left: &RelativeState, right: &RelativeState) -> f64 {
        let of_centre = if left == right { self.centre * f64::from(left.centre[0]) } else { 0.0 };
        let found = self.values.get(&[left.n, left.l, right.n, right.l, left.s, left.j]);
        found.copied().unwrap_or(0.0) + of_centre
    }
}
