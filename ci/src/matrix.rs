//! The matrix of H in a determinant space, row by row from string tables.
//!
//! In: integrals, a space, the threshold up to which elements are left out. Out: one row, the number of non-zeros of
//! each row, or the whole [`Csr`]; without the core energy, in Hartree. Row (α, β) couples to (Handy 1980; Olsen, Roos,
//! Jørgensen and Jensen 1988):
//!
//! | columns | element |
//! |---|---|
//! | (α, β) | E(α) + E(β) + Σ_{p in α, q in β} (pp\|qq) |
//! | (α′, β) single of α; (α, β′) alike | ± [own part of the table + Σ_{r in β} (pq\|rr)] |
//! | (α″, β) double of α; (α, β″) alike | the table's |
//! | (α′, β′) singles of both | ± ± (pq\|rs) |

use super::integrals::{Integrals, triangle};
use super::orbital_number::OrbitalNumber;
use super::space::Space;
use super::string_table::{Rules, Singles, StringTable, pieces, starts};
use super::strings::occupied;
use eigenforge_core::operator::Spin;
use eigenforge_product::sparse::{Csr, CsrError};
use eigenforge_runtime::{Device, DeviceError};
use rayon::prelude::*;
use std::iter::once;
use std::ops::Range;

/// Default threshold below which elements are dropped, in units of [`Integrals::unit`].
pub const THRESHOLD: f64 = 1e-12;

/// Forbidden integrals up to this are rounding errors of the program that wrote them, in units of [`Integrals::unit`].
pub(super) const FORBIDDEN: f64 = 1e-8;

/// Rows per task.
const CHUNK: usize = 128;

/// Bytes of the column of a non-zero.
const COLUMN_BYTES: u64 = 4;

/// Why the matrix cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// Integrals and space belong to different molecules.
    #[error("the integrals have {integrals} orbitals, but the space has {space}; build both for the same molecule")]
    Orbitals {
        /// Orbitals of the integrals.
        integrals: usize,
        /// Orbitals of the space.
        space: usize,
    },
    /// Integrals built by hand with inconsistent parts.
    #[error(
        "integrals of {orbitals} orbitals have {one} one-electron and {two} two-electron values and an irrep from 1 to 8 \
         for each orbital or none; these have {found:?} values and irreps",
        one = triangle(*orbitals), two = triangle(triangle(*orbitals))
    )]
    Integrals {
        /// Their stated number of orbitals.
        orbitals: usize,
        /// Values of one and two electrons, irreps.
        found: [usize; 3],
    },
    /// Columns are 32-bit numbers.
    #[error(
        "{rows} determinants: a stored matrix has at most {limit} rows; cut the space by level or irrep",
        limit = u32::MAX
    )]
    Rows {
        /// Determinants of the space.
        rows: u64,
    },
    /// A threshold that is negative or not finite.
    #[error("threshold {found}: expected 0 or a small positive number, such as 1e-12")]
    Threshold {
        /// What was given.
        found: f64,
    },
    /// The space has one irrep, but the integrals do not obey irreps.
    #[error(
        "a space of one irrep needs integrals that keep it, but one that the orbitals' irreps forbid is {largest:e} \
         (at most {limit:e} of the largest integral is taken for rounding): ORBSYM does not fit the integrals; take the space without irrep",
        limit = FORBIDDEN
    )]
    Irreps {
        /// The largest forbidden integral.
        largest: f64,
    },
    /// Not enough memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// An integral was not finite.
    #[error(transparent)]
    Csr(#[from] CsrError),
}

/// H in a determinant space, able to return any row.
pub struct CiHamiltonian<T = f64> {
    pub(super) space: Space,
    threshold: f64,
    /// Rows and columns of `coulomb` and `repulsion`.
    pub(super) pairs: usize,
    pub(super) orbitals: usize,
    /// (pq|rs), all pairs pq of an α and rs of a β electron: in a row are the couplings of one single of α to the singles of β.
    pub(super) coulomb: Vec<T>,
    /// (pq|rr), pairs pq of an α electron and orbitals r of a β electron.
    pub(super) repulsion: Vec<T>,
    /// The same with pq of a β and r of an α electron, if each spin has its own orbitals.
    pub(super) beta_repulsion: Option<Vec<T>>,
    /// Product of irreps of each pair of orbitals, from 0; all 0 if the integrals do not obey them.
    pub(super) irreps: Vec<u8>,
    /// Irrep of each orbital, from 0, likewise.
    pub(super) orbital_irreps: Vec<u8>,
    pub(super) alpha: StringTable<T>,
    pub(super) beta: StringTable<T>,
}

/// A determinant: ranks of its strings, and the orbitals they occupy.
struct Pair {
    alpha: u32,
    beta: u32,
    up: Vec<usize>,
    down: Vec<usize>,
}

/// The matrix of H in a space, without the core energy; elements up to `threshold` times [`Integrals::unit`] (see
/// [`THRESHOLD`]) are dropped.
pub fn matrix<T: OrbitalNumber>(integrals: &Integrals<T>, space: &Space, threshold: f64) -> Result<Csr, MatrixError> {
    check(integrals, space.orbitals(), None)?;
    check_rows(space)?;
    CiHamiltonian::new(integrals, space, threshold)?.matrix()
}

/// Checks that 32 bits tell the rows apart.
fn check_rows(space: &Space) -> Result<u64, MatrixError> {
    let rows = space.len();
    if rows > u64::from(u32::MAX) { Err(MatrixError::Rows { rows }) } else { Ok(rows) }
}

/// Checks that integrals fit a space of so many orbitals, and that they keep its irreps where it has a single one.
pub(super) fn check<T: OrbitalNumber>(
    integrals: &Integrals<T>,
    space: usize,
    irreps: Option<&[u8]>,
) -> Result<(), MatrixError> {
    let orbitals = integrals.orbitals;
    if orbitals != space {
        return Err(MatrixError::Orbitals { integrals: orbitals, space });
    }
    if !integrals.is_whole() {
        let found = [integrals.one.len(), integrals.two.len(), integrals.irreps.len()];
        return Err(MatrixError::Integrals { orbitals, found });
    }
    irreps.map_or(Ok(()), |irreps| integrals.check_irreps(irreps))
}

impl<T: OrbitalNumber> Integrals<T> {
    /// Checks that what irreps of the orbitals forbid is rounding.
    ///
    /// # Errors
    /// [`MatrixError::Irreps`].
    pub fn check_irreps(&self, irreps: &[u8]) -> Result<(), MatrixError> {
        let largest = self.largest_forbidden(irreps);
        if largest > FORBIDDEN * self.unit() { Err(MatrixError::Irreps { largest }) } else { Ok(()) }
    }
}

impl<T: OrbitalNumber> CiHamiltonian<T> {
    /// Lists the excitations of the space's strings.
    pub fn new(integrals: &Integrals<T>, space: &Space, threshold: f64) -> Result<CiHamiltonian<T>, MatrixError> {
        let orbitals = integrals.orbitals;
        check(integrals, space.orbitals(), space.irreps())?;
        if !(threshold >= 0.0 && threshold.is_finite()) {
            return Err(MatrixError::Threshold { found: threshold });
        }
        let threshold = threshold * integrals.unit();
        let pairs = T::pairs(orbitals);
        let bytes = (size_of::<T>() * pairs * pairs) as u64;
        Device::cpu().check_memory("integrals as a square matrix", bytes)?;
        let of_orbital: Vec<u8> = match integrals.obey_irreps() {
            true => integrals.irreps.iter().map(|irrep| irrep - 1).collect(),
            false => vec![0; orbitals],
        };
        let (irreps, level, listed) = (of_orbital.as_slice(), space.level(), space.is_list());
        let rules = |spin| Rules { integrals: integrals.of_spin(spin), irreps, level, listed, threshold };
        let alpha = StringTable::new(space.alpha(), &rules(Spin::Up), |_| 0)?;
        let beta = StringTable::new(space.beta(), &rules(Spin::Down), |rank| space.slot(rank))?;
        let coulomb = (0..pairs * pairs).into_par_iter().map(|k| integrals.between(k / pairs, k % pairs));
        let repulsion = |spin| -> Vec<T> {
            let by_orbital = |pq| (0..orbitals).map(move |r| integrals.felt(spin, pq, once(r)));
            (0..pairs).flat_map(by_orbital).collect()
        };
        Ok(CiHamiltonian {
            space: space.clone(),
            threshold,
            pairs,
            orbitals,
            coulomb: coulomb.collect(),
            repulsion: repulsion(Spin::Up),
            beta_repulsion: integrals.is_unrestricted().then(|| repulsion(Spin::Down)),
            irreps: T::pair_list(orbitals).into_iter().map(|(p, q)| of_orbital[p] ^ of_orbital[q]).collect(),
            orbital_irreps: of_orbital.clone(),
            alpha,
            beta,
        })
    }

    /// The diagonal element of a row.
    pub fn diagonal(&self, row: u64) -> f64 {
        self.energy(&self.pair_of(row))
    }

    fn pair_of(&self, row: u64) -> Pair {
        let (alpha, beta) = self.space.ranks(row);
        let orbitals = |word| Vec::from_iter(occupied(word));
        let (up, down) = (self.space.alpha().words()[alpha as usize], self.space.beta().words()[beta as usize]);
        Pair { alpha, beta, up: orbitals(up), down: orbitals(down) }
    }

    fn energy(&self, pair: &Pair) -> f64 {
        let felt = |p: &usize| self.felt(&self.repulsion, T::pair(self.orbitals, *p, *p), &pair.down).real();
        let between = pair.up.iter().map(felt).sum::<f64>();
        self.alpha.energy[pair.alpha as usize] + self.beta.energy[pair.beta as usize] + between
    }

    /// Σ_r (pq|rr) of the electrons r of the other spin.
    fn felt(&self, repulsion: &[T], pair: usize, orbitals: &[usize]) -> T {
        let row = &repulsion[pair * self.orbitals..(pair + 1) * self.orbitals];
        orbitals.iter().map(|r| row[*r]).sum()
    }

    /// Calls `found` with column and value of each element of a row above the threshold, in any order.
    pub fn for_each(&self, row: u64, mut found: impl FnMut(u64, T)) {
        let pair = self.pair_of(row);
        let (alpha, beta) = (pair.alpha, pair.beta);
        let mut keep = |column, value: T| {
            if value.size() > self.threshold {
                found(column, value);
            }
        };
        keep(row, self.energy(&pair).into());
        let [up, down] = [&self.repulsion, self.beta_repulsion.as_ref().unwrap_or(&self.repulsion)];
        self.one_spin((&self.alpha, up), alpha, &pair.down, |other| self.space.row_of(other, beta), &mut keep);
        self.one_spin((&self.beta, down), beta, &pair.up, |other| self.space.row_of(alpha, other), &mut keep);
        let singles = self.alpha.singles(alpha);
        for (k, other) in singles.target.iter().enumerate() {
            self.both_spins(&singles, k, *other, beta, &mut keep);
        }
    }

    /// Singles and doubles of one string, including the field of the other spin's electrons.
    fn one_spin(
        &self,
        (table, repulsion): (&StringTable<T>, &[T]),
        rank: u32,
        onlookers: &[usize],
        row: impl Fn(u32) -> Option<u64>,
        keep: &mut impl FnMut(u64, T),
    ) {
        let singles = table.singles(rank);
        for (k, target) in singles.target.iter().enumerate() {
            if let Some(column) = row(*target) {
                keep(column, singles.own[k] + self.felt(repulsion, singles.pair(k), onlookers) * singles.sign(k));
            }
        }
        let (targets, values) = table.doubles(rank);
        for (target, value) in targets.iter().zip(values) {
            if let Some(column) = row(*target) {
                keep(column, *value);
            }
        }
    }

    /// One single of α with all singles of β.
    fn both_spins(&self, alpha: &Singles<'_, T>, k: usize, other: u32, beta: u32, keep: &mut impl FnMut(u64, T)) {
        let (pair, sign) = (alpha.pair(k), alpha.sign(k));
        let felt = &self.coulomb[pair * self.pairs..(pair + 1) * self.pairs];
        for run in self.beta.runs(beta).iter().filter(|run| run.irrep == self.irreps[pair]) {
            let singles = self.beta.run(beta, run);
            self.space.rows_among(other, run.slot, singles.target, |m, column| {
                keep(column, felt[singles.pair(m)] * (sign * singles.sign(m)));
            });
        }
    }

    /// Non-zeros of each row.
    pub fn row_lengths(&self) -> Vec<u64> {
        self.lengths_of(&(0..self.space.len() as usize))
    }

    /// The same, of some rows; 0 of the others.
    fn lengths_of(&self, rows: &Range<usize>) -> Vec<u64> {
        let length = |row: usize| {
            let mut length = 0;
            if !rows.contains(&row) {
                return length;
            }
            self.for_each(row as u64, |_, _| length += 1);
            length
        };
        (0..self.space.len() as usize).into_par_iter().with_min_len(CHUNK).map(length).collect()
    }

    /// The whole matrix: counted, checked against memory, then filled.
    pub fn matrix(&self) -> Result<Csr, MatrixError> {
        self.matrix_of(0..self.space.len() as usize)
    }

    /// Some of its rows; the others are empty.
    pub(super) fn matrix_of(&self, wanted: Range<usize>) -> Result<Csr, MatrixError> {
        let rows = check_rows(&self.space)?;
        Device::cpu().check_memory(&format!("row lengths of {rows} determinants"), 16 * rows)?;
        let start = starts(&self.lengths_of(&wanted));
        let non_zeros = start[rows as usize];
        let what = format!("a matrix of {rows} determinants and {non_zeros} non-zeros");
        let bytes = COLUMN_BYTES + size_of::<T>() as u64;
        Device::cpu().check_memory(&what, non_zeros * bytes)?;
        let mut columns = vec![0u32; non_zeros as usize];
        let parts = T::KIND.parts();
        let mut values = vec![0.0; non_zeros as usize * parts];
        let part_start: Vec<u64> = start.iter().map(|start| start * parts as u64).collect();
        let tasks: Vec<_> =
            pieces(&start, CHUNK, &mut columns).into_iter().zip(pieces(&part_start, CHUNK, &mut values)).collect();
        tasks.into_par_iter().enumerate().for_each(|(task, (columns, values))| {
            let (mut row, mut filled, mut own) = (Vec::new(), 0, Vec::new());
            for at in (task * CHUNK) as u64..((task + 1) * CHUNK).min(rows as usize) as u64 {
                row.clear();
                if !wanted.contains(&(at as usize)) {
                    continue;
                }
                self.for_each(at, |column, value| row.push((column as u32, value)));
                row.sort_unstable_by_key(|(column, _)| *column);
                for (column, value) in &row {
                    own.clear();
                    value.push(&mut own);
                    columns[filled] = *column;
                    values[filled * parts..(filled + 1) * parts].copy_from_slice(&own);
                    filled += 1;
                }
            }
        });
        Ok(Csr::of_numbers(T::KIND, start, columns, values)?)
    }
}
