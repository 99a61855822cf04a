//! A first guess of the lowest state: that of the configurations with the lowest energies, diagonalised by themselves.
//!
//! In: integrals and a space. Out: up to [`MOST`] rows and their coefficients.

use super::CsfSpace;
use super::blocks::{Blocks, Coupled};
use crate::integrals::Integrals;
use eigenforge_runtime::solvers::symmetric_eigen;
use rayon::prelude::*;

/// Most rows of a guess.
const MOST: usize = 400;

impl CsfSpace {
    /// Places of the configurations of a guess, ascending.
    fn lowest(&self, blocks: &Blocks<'_>) -> Vec<usize> {
        let energy = |(place, word): (usize, &_)| (blocks.energy(*word), place);
        let mut all: Vec<(f64, usize)> = self.configurations.words.par_iter().enumerate().map(energy).collect();
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if all.len() > MOST {
            all.select_nth_unstable_by(MOST, order);
            all.truncate(MOST);
        }
        all.sort_unstable_by(order);
        let mut rows = 0;
        let fits = |(_, place): &(f64, usize)| {
            rows += self.configurations.functions(*place);
            rows <= MOST
        };
        let mut found: Vec<usize> = all.into_iter().take_while(fits).map(|(_, place)| place).collect();
        found.sort_unstable();
        found
    }

    /// How many rows a guess has.
    pub(crate) fn guess_rows(&self, integrals: &Integrals) -> usize {
        let blocks = Blocks::new(integrals, self);
        self.lowest(&blocks).into_iter().map(|place| self.configurations.functions(place)).sum()
    }

    /// Rows, ascending, and coefficients; none where there is no finite matrix.
    pub(crate) fn guess(&self, integrals: &Integrals) -> Option<Vec<(u64, f64)>> {
        let blocks = Blocks::new(integrals, self);
        let places = self.lowest(&blocks);
        let mut starts = vec![0];
        for place in &places {
            starts.push(starts.last().copied().unwrap_or(0) + self.configurations.functions(*place));
        }
        let n = starts.last().copied().filter(|n| *n > 0)?;
        let mut matrix = vec![0.0; n * n];
        let mut coupled = Coupled::default();
        for (at, place) in places.iter().enumerate() {
            blocks.coupled(*place, &mut coupled, |other| places.binary_search(&other).is_ok());
            let rows = &mut matrix[starts[at] * n..starts[at + 1] * n];
            for found in &coupled.found {
                let column = places.binary_search(&(found.0 as usize)).ok()?;
                blocks.add(coupled.terms(*found), rows, n, starts[column]);
            }
        }
        let (_, mut states) = symmetric_eigen(n, &matrix).ok()?;
        let state = states.swap_remove(0);
        let rows =
            places.iter().flat_map(|place| self.configurations.first[*place]..self.configurations.first[place + 1]);
        Some(rows.zip(state).collect())
    }
}
