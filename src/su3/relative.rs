//! Interactions in the oscillator basis of relative motion, `# RELATIVE LSJT` files, taken to two-body elements.
//!
//! In: isoscalar scalar elements ⟨N' L' S J T|V|N L S J T⟩ (header `version`, `J0 g0 T0min T0max mode`, `Nmax Jmax`; lines
//! `T0 N' L' S' J' T' N L S J T value`, half of a symmetric matrix, radial functions positive at the origin, MeV). Out: u of
//! all channels in the layout of a plan,
//!
//! ```text
//! u = M_N V_rel M_N'ᵀ,   M of `brackets`;   pn: T from L + S + T odd;   pp, nn: twice the part of T = 1
//! ```
//! Elements with J beyond the file's J_max are zero.

use super::brackets::{Brackets, RelativeState};
use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::matrices::{multiply, multiply_by_transpose};
use super::plan::{Group, Plan};
use eigenforge_su3::{Coupler, LabelError};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Whether a file begins as these do, with a line `# RELATIVE LSJT`.
pub fn recognised(path: &Path) -> bool {
    let mut start = [0; 10];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"# RELATIVE"
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
}

/// Reads a file.
///
/// # Errors
///
/// A line that does not have its fields, labels that do not belong together or lie beyond the header's, an element twice with
/// two values, parts that are not isoscalar.
pub fn read(path: &Path) -> Result<Relative, TableError> {
    let text = std::fs::read_to_string(path).map_err(|source| TableError::Read { path: path.to_path_buf(), source })?;
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.split_whitespace().collect::<Vec<_>>()));
    let mut lines = lines.by_ref().filter(|(_, words)| words.first().is_some_and(|word| !word.starts_with('#')));
    let fault = |line: usize, reason: String| TableError::Labels { path: path.to_path_buf(), line, reason };
    let mut header = |names: &[&'static str]| {
        let (line, words) =
            lines.next().ok_or_else(|| fault(1, format!("expected a line `{}`, found the end", names.join(" "))))?;
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
        let reason = "expected J0 = 0, g0 = 0, T0 = 0: only isoscalar scalars of even parity are served";
        return Err(fault(line, format!("{reason}; found J0 g0 T0min T0max = {:?}", &symmetry[..4])));
    }
    let (_, limits) = header(&["Nmax", "Jmax"])?;
    let mut relative = Relative { quanta_max: limits[0], j_max: limits[1], values: HashMap::new() };
    for (line, words) in lines {
        let element = element(&words, &relative).map_err(|reason| fault(line, reason))?;
        let ([n, l, s, j], [n2, l2], value) = element;
        for key in [[n, l, n2, l2, s, j], [n2, l2, n, l, s, j]] {
            let sign = if ((n - l) / 2 + (n2 - l2) / 2) % 2 == 0 { 1.0 } else { -1.0 };
            if relative.values.insert(key, sign * value).is_some_and(|old| old != sign * value) {
                let reason =
                    format!("the element N' L' N L S J = {n} {l} {n2} {l2} {s} {j} has come before with another value");
                return Err(fault(line, reason));
            }
        }
    }
    if relative.values.is_empty() {
        return Err(TableError::Empty { path: path.to_path_buf() });
    }
    Ok(relative)
}

/// ([N', L', S, J], [N, L], value) of a line.
type Element = ([u32; 4], [u32; 2], f64);

fn element(words: &[&str], limits: &Relative) -> Result<Element, String> {
    let expected = "T0 N' L' S' J' T' N L S J T value";
    let wrong =
        || format!("expected `{expected}`, ten whole numbers after T0 and a finite value, found `{}`", words.join(" "));
    let labels: Vec<u32> = words.iter().take(11).map_while(|word| word.parse().ok()).collect();
    let value = words.get(11).and_then(|word| word.parse().ok()).filter(|value: &f64| value.is_finite());
    let ([t0, n, l, s, j, t, n2, l2, s2, j2, t2], Some(value), 12) = (&labels[..], value, words.len()) else {
        return Err(wrong());
    };
    if *t0 != 0 || [s, j, t] != [s2, j2, t2] {
        return Err("expected T0 = 0 and the same S, J, T on both sides".into());
    }
    for (n, l) in [(n, l), (n2, l2)] {
        if l > n || (n - l) % 2 != 0 || *s > 1 || l.abs_diff(*j) > *s || (l + s + t) % 2 == 0 || *t > 1 {
            return Err(format!("N L S J T = {n} {l} {s} {j} {t} is no antisymmetric state of two nucleons"));
        }
        if *n > limits.quanta_max || *j > limits.j_max {
            let (quanta_max, j_max) = (limits.quanta_max, limits.j_max);
            return Err(format!("N = {n}, J = {j} is beyond the header's Nmax = {quanta_max}, Jmax = {j_max}"));
        }
    }
    if n % 2 != n2 % 2 {
        return Err(format!("N' = {n} and N = {n2} differ in parity"));
    }
    Ok(([*n, *l, *s, *j], [*n2, *l2], value))
}

impl Relative {
    /// Whether the file holds all that N_max needs.
    pub fn reaches(&self, plan: &Plan) -> bool {
        self.quanta_max >= plan.space().quanta_max()
    }

    /// u of pn, pp and nn.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond what the symbols serve.
    pub fn elements(&self, plan: &Plan) -> Result<ByChannel, LabelError> {
        let coupler = Coupler::new();
        let quanta: Vec<u32> = (0..=plan.space().quanta_max()).collect();
        let bases: Vec<Vec<Basis>> =
            quanta.par_iter().map(|n| Basis::of_quanta(&coupler, plan, *n)).collect::<Result<_, _>>()?;
        let mut vectors = vec![vec![0.0; plan.length]; 2];
        let [pn, pp] = &mut vectors[..] else { return Ok(ByChannel { vectors: Vec::new(), left_out: 0 }) };
        for group in &plan.groups {
            let [bra, ket] = [group.bra_quanta, group.ket_quanta].map(|n| &bases[n as usize]);
            let both: Vec<[Vec<f64>; 2]> = bra.par_iter().zip(ket).map(|(bra, ket)| self.rotated(bra, ket)).collect();
            for (total, [all, isovector]) in both.iter().enumerate() {
                put(group, total as u32, [&bra[total], &ket[total]], all, pn);
                put(group, total as u32, [&bra[total], &ket[total]], isovector, pp);
            }
        }
        pp.iter_mut().for_each(|u| *u *= 2.0);
        let pp = vectors.pop().unwrap_or_default();
        let pn = vectors.pop().unwrap_or_default();
        Ok(ByChannel { vectors: vec![(Channel::Pn, pn), (Channel::Pp, pp.clone()), (Channel::Nn, pp)], left_out: 0 })
    }

    /// M V Mᵀ of one J: with all T, and with T = 1 only.
    fn rotated(&self, bra: &Basis, ket: &Basis) -> [Vec<f64>; 2] {
        let (n, m) = (bra.states.len(), ket.states.len());
        let (rows, columns) = (bra.matrix.len() / n.max(1), ket.matrix.len() / m.max(1));
        [false, true].map(|isovector| {
            let mut v = vec![0.0; n * m];
            for (i, left) in bra.states.iter().enumerate() {
                for (k, right) in ket.states.iter().enumerate() {
                    // T = 1 has L + S even.
                    if !isovector || (left.l + left.s) % 2 == 0 {
                        v[i * m + k] = self.value(left, right);
                    }
                }
            }
            let (mut half, mut whole) = (vec![0.0; rows * m], vec![0.0; rows * columns]);
            multiply(&bra.matrix, &v, &mut half, [rows, n, m]);
            multiply_by_transpose(&half, &ket.matrix, &mut whole, [rows, m, columns]);
            whole
        })
    }

    fn value(&self, left: &RelativeState, right: &RelativeState) -> f64 {
        let same = left.centre == right.centre && (left.s, left.j) == (right.s, right.j);
        let key = [left.n, left.l, right.n, right.l, left.s, left.j];
        if same { self.values.get(&key).copied().unwrap_or(0.0) } else { 0.0 }
    }
}

/// jj states of some quanta and one J in relative motion.
struct Basis {
    states: Vec<RelativeState>,
    /// At [jj state, pair by pair][relative state].
    matrix: Vec<f64>,
    /// First jj state of each pair.
    first: Vec<usize>,
}

impl Basis {
    /// By J.
    fn of_quanta(coupler: &Coupler, plan: &Plan, quanta: u32) -> Result<Vec<Basis>, LabelError> {
        let brackets = Brackets::new(coupler, quanta);
        let pairs: Vec<_> = plan.space().pairs_of(quanta).collect();
        (0..=quanta + 1)
            .map(|total| {
                let states = brackets.relative_states(total);
                let matrix = brackets.to_relative(coupler, &pairs, total, &states)?;
                let mut first = vec![0];
                for pair in &pairs {
                    first.push(first.last().copied().unwrap_or(0) + pair.jj_states(total).len());
                }
                Ok(Basis { states, matrix, first })
            })
            .collect()
    }
}

/// Cuts the matrix of one J into the quadruples' blocks.
fn put(group: &Group, total: u32, [bra, ket]: [&Basis; 2], matrix: &[f64], u: &mut [f64]) {
    let width = ket.first.last().copied().unwrap_or(0);
    for (at, quadruple) in group.quadruples.iter().enumerate() {
        let (b, k) = (at / group.kets.len(), at % group.kets.len());
        let Ok(position) = quadruple.blocks.binary_search_by_key(&total, |block| block.j) else { continue };
        let block = &quadruple.blocks[position];
        let start = group.start + quadruple.offset + block.offset;
        for row in 0..block.rows {
            let source = &matrix[(bra.first[b] + row) * width + ket.first[k]..][..block.columns];
            u[start + row * block.columns..][..block.columns].copy_from_slice(source);
        }
    }
}
