//! The Hubbard Hamiltonian as two sparse matrices and a diagonal: what the vendor's libraries are given,
//! and a plain multiply that shares no code with the generated ones.
//!
//! In: a Hubbard model as [`Hubbard`] holds it, or a model file.
//! Out: A_up and A_dn in compressed rows, the diagonal D, and y = D x + (I ⊗ A_up) x + (A_dn ⊗ I) x
//! (Yamada, Machida, Imamura 2020, eq. 2), index = up + n_up * down, bit strings ascending, site 0 the
//! least significant bit. A_ij = amplitude * (-1)^(occupied sites between i and j), amplitude = -t.

use rayon::prelude::*;

use eigenforge::basis::Sector;
use eigenforge::input::{ModelFile, ModelSpec};

/// A sparse matrix in compressed rows, square, with the 32-bit indices that cuSPARSE reads fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// Row r holds entries `offsets[r]..offsets[r + 1]`; length rows + 1.
    pub offsets: Vec<i32>,
    /// Column of each entry, ascending in a row.
    pub columns: Vec<i32>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

impl Csr {
    /// Rows, and columns.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Entries stored.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// The entries of one row as (column, value).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let entries = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        entries.map(|k| (self.columns[k] as usize, self.values[k]))
    }
}

/// Bit strings of `sites` bits with `particles` set, ascending.
pub fn species_states(sites: usize, particles: usize) -> Vec<u64> {
    if particles == 0 {
        return vec![0];
    }
    let (mut state, end) = ((1u64 << particles) - 1, 1u64 << sites);
    let mut states = Vec::new();
    while state < end {
        states.push(state);
        // the next larger number with as many bits set (Gosper)
        let lowest = state & state.wrapping_neg();
        let ripple = state + lowest;
        state = (((state ^ ripple) >> 2) / lowest) | ripple;
    }
    states
}

/// A of one spin species: the sum over bonds (i, j, amplitude) of amplitude * (c†_i c_j + c†_j c_i).
/// Entries that meet at one place are added; `states` must be ascending.
pub fn hopping_matrix(states: &[u64], bonds: &[(usize, usize, f64)]) -> Csr {
    let mut csr = Csr { offsets: vec![0], columns: Vec::new(), values: Vec::new() };
    let mut row: Vec<(usize, f64)> = Vec::new();
    for &state in states {
        row.clear();
        for &(i, j, amplitude) in bonds {
            let pair = 1u64 << i | 1u64 << j;
            if (state & pair).count_ones() != 1 {
                continue;
            }
            let (low, high) = (i.min(j), i.max(j));
            let between = state & ((1u64 << high) - 1) & !((2u64 << low) - 1);
            let sign = if between.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            if let Ok(column) = states.binary_search(&(state ^ pair)) {
                row.push((column, sign * amplitude));
            }
        }
        row.sort_by_key(|entry| entry.0);
        for &(column, value) in &row {
            let start = csr.offsets[csr.offsets.len() - 1] as usize;
            if csr.columns.len() > start && csr.columns[csr.columns.len() - 1] == column as i32 {
                let last = csr.values.len() - 1;
                csr.values[last] += value;
            } else {
                csr.columns.push(column as i32);
                csr.values.push(value);
            }
        }
        csr.offsets.push(csr.columns.len() as i32);
    }
    csr
}

/// -t Σ (c†c + h.c.) + Σ U_i n_iup n_idn + Σ ε_i n_i + Σ V_ij n_i n_j with `up` and `down` electrons.
#[derive(Clone, Debug, Default)]
pub struct Hubbard {
    /// What it is, for titles.
    pub title: String,
    /// (i, j, amplitude) with amplitude = -t w.
    pub hopping: Vec<(usize, usize, f64)>,
    /// U, one per site.
    pub interaction: Vec<f64>,
    /// ε - μ, one per site.
    pub potential: Vec<f64>,
    /// (i, j, V).
    pub neighbours: Vec<(usize, usize, f64)>,
    /// Up electrons.
    pub up: usize,
    /// Down electrons.
    pub down: usize,
}

impl Hubbard {
    /// The Hubbard model of a file; `None` if the file holds another model.
    pub fn from_file(file: &ModelFile) -> Option<Hubbard> {
        let (ModelSpec::Hubbard { t, u, potential, mu, v }, Sector::Fermions { up, down }) =
            (&file.model, &file.sector)
        else {
            return None;
        };
        let bonds = file.lattice.bonds();
        Some(Hubbard {
            title: format!("{}, {}, {}", file.lattice.describe(), file.sector, file.model.amplitudes()),
            hopping: bonds.iter().zip(t).map(|(bond, t)| (bond.i, bond.j, -t * bond.weight)).collect(),
            interaction: u.clone(),
            potential: potential.iter().map(|epsilon| epsilon - mu).collect(),
            neighbours: bonds
                .iter()
                .zip(v)
                .map(|(bond, v)| (bond.i, bond.j, *v))
                .filter(|bond| bond.2 != 0.0)
                .collect(),
            up: *up,
            down: *down,
        })
    }
}

/// One Hubbard sector in Kronecker form.
#[derive(Clone, Debug)]
pub struct KroneckerProblem {
    /// Hopping of the up electrons, n_up × n_up.
    pub up: Csr,
    /// Hopping of the down electrons, n_dn × n_dn.
    pub down: Csr,
    up_states: Vec<u64>,
    down_states: Vec<u64>,
    model: Hubbard,
}

impl KroneckerProblem {
    /// Lists the states and the hops.
    pub fn new(model: Hubbard) -> KroneckerProblem {
        let sites = model.interaction.len();
        let (up_states, down_states) = (species_states(sites, model.up), species_states(sites, model.down));
        KroneckerProblem {
            up: hopping_matrix(&up_states, &model.hopping),
            down: hopping_matrix(&down_states, &model.hopping),
            up_states,
            down_states,
            model,
        }
    }

    /// n_up · n_dn.
    pub fn dimension(&self) -> usize {
        self.up_states.len() * self.down_states.len()
    }

    /// States of one up species; the fast index.
    pub fn n_up(&self) -> usize {
        self.up_states.len()
    }

    /// States of one down species.
    pub fn n_down(&self) -> usize {
        self.down_states.len()
    }

    /// The diagonal of one down state, one value an up state.
    fn diagonal_column(&self, down: usize, out: &mut [f64]) {
        let Hubbard { interaction, potential, neighbours, .. } = &self.model;
        let down_state = self.down_states[down];
        let on_sites = |state: u64, values: &[f64]| -> f64 {
            values.iter().enumerate().filter(|(site, _)| state >> site & 1 == 1).map(|(_, value)| value).sum()
        };
        // the plain model needs no loop over the sites
        let uniform = interaction.first().copied().filter(|u| interaction.iter().all(|other| other == u));
        let plain = neighbours.is_empty() && potential.iter().all(|&value| value == 0.0);
        for (value, &up_state) in out.iter_mut().zip(&self.up_states) {
            let both = up_state & down_state;
            *value = match uniform {
                Some(u) => u * f64::from(both.count_ones()),
                None => on_sites(both, interaction),
            };
            if !plain {
                let electrons = |site: usize| ((up_state >> site & 1) + (down_state >> site & 1)) as f64;
                *value += on_sites(up_state, potential) + on_sites(down_state, potential);
                *value += neighbours.iter().map(|&(i, j, v)| v * electrons(i) * electrons(j)).sum::<f64>();
            }
        }
    }

    /// The whole diagonal, n_up · n_dn values.
    pub fn diagonal(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.dimension()];
        out.par_chunks_mut(self.n_up()).enumerate().for_each(|(down, column)| self.diagonal_column(down, column));
        out
    }

    /// y = H x by the text-book loops over compressed rows, the columns of V shared out over the cores.
    /// `diagonal` as [`KroneckerProblem::diagonal`] returns it.
    pub fn multiply(&self, diagonal: &[f64], x: &[f64], y: &mut [f64]) {
        let n_up = self.n_up();
        y.par_chunks_mut(n_up).enumerate().for_each(|(down, column)| {
            let own = down * n_up..(down + 1) * n_up;
            let (x_own, d_own) = (&x[own.clone()], &diagonal[own]);
            for (i, value) in column.iter_mut().enumerate() {
                let hops: f64 = self.up.row(i).map(|(k, a)| a * x_own[k]).sum();
                *value = d_own[i] * x_own[i] + hops;
            }
            for (other, a) in self.down.row(down) {
                let x_other = &x[other * n_up..(other + 1) * n_up];
                column.iter_mut().zip(x_other).for_each(|(value, from)| *value += a * from);
            }
        });
    }

    /// Bytes of D, A_up, A_dn and `vectors` vectors on a device.
    pub fn bytes(&self, vectors: usize) -> usize {
        let csr = |a: &Csr| 4 * a.offsets.len() + 12 * a.nonzeros();
        (vectors + 1) * 8 * self.dimension() + csr(&self.up) + csr(&self.down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge::lattice::Lattice;

    /// 4×4 open, 7 of 16: 11,440 states, 144,144 non-zeros (the paper's Table 1).
    #[test]
    fn the_papers_factor_has_144144_entries() {
        let bonds: Vec<_> = Lattice::square([4, 4]).bonds().iter().map(|bond| (bond.i, bond.j, -1.0)).collect();
        let states = species_states(16, 7);
        let a = hopping_matrix(&states, &bonds);
        assert_eq!((a.rows(), a.nonzeros()), (11_440, 144_144));
        for row in 0..a.rows() {
            for (column, value) in a.row(row) {
                assert_eq!(a.row(column).find(|entry| entry.0 == row), Some((row, value)), "not symmetric");
            }
        }
    }

    fn two_sites(hopping: f64, interaction: [f64; 2], potential: [f64; 2], v: f64) -> KroneckerProblem {
        KroneckerProblem::new(Hubbard {
            hopping: vec![(0, 1, -hopping)],
            interaction: interaction.to_vec(),
            potential: potential.to_vec(),
            neighbours: vec![(0, 1, v)],
            up: 1,
            down: 1,
            ..Hubbard::default()
        })
    }

    /// Two sites, one electron of each spin: E0 = U/2 - sqrt(U²/4 + 4 t²), its vector known.
    #[test]
    fn the_dimer_has_its_ground_state() {
        let u = 4.0;
        let problem = two_sites(1.0, [u; 2], [0.0; 2], 0.0);
        let energy = u / 2.0 - (u * u / 4.0 + 4.0f64).sqrt();
        // (site of up, site of down) = (0,0) (1,0) (0,1) (1,1): doubly (U - E) = 2 t singly
        let doubly = 2.0 / (u - energy);
        let x = [doubly, 1.0, 1.0, doubly];
        let mut y = [0.0; 4];
        problem.multiply(&problem.diagonal(), &x, &mut y);
        for (x, y) in x.iter().zip(&y) {
            assert!((y - energy * x).abs() < 1e-14, "{y} against {}", energy * x);
        }
    }

    /// The potential of a site counts once for every electron on it, U once for a pair, V once for n_0 n_1.
    #[test]
    fn the_diagonal_counts_electrons_and_pairs() {
        let problem = two_sites(1.0, [1.0, 10.0], [0.25, 0.5], 0.125);
        assert_eq!(problem.diagonal(), vec![1.0 + 0.5, 0.75 + 0.125, 0.75 + 0.125, 10.0 + 1.0]);
    }
}
