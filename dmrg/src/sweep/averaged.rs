//! Several states that share one set of kept states: state-averaged DMRG.
//!
//! In: the wave functions ψ_i of a bond and a weight w_i for each. Out: the kept states of ρ = Σ_i w_i ρ_i, and each ψ_i
//! in that basis (Hallberg, Adv. Phys. 55, 477 (2006), section 2.2, targeting several states). The states are searched
//! together, so that none of a group of close levels is missed and the kept states do not favour one of them.
//!
//! On one side, ρ equals the density matrix of a single wave function whose sectors hold all ψ_i, times √w_i, side by
//! side on the other side ([`Stack`]): Ψ = [√w_0 ψ_0, √w_1 ψ_1, …], Ψ Ψᵀ = Σ_i w_i ψ_i ψ_iᵀ. Every engine therefore
//! truncates Ψ as it truncates one ψ, with or without noise; each ψ_i is then extracted from the truncated Ψ.

use crate::block::blocks::{Side, WaveLayout};
use crate::block::start::Random;
use crate::block::truncate::{Centre, CentreBlock};
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::TwoStages;
use eigenforge_runtime::records::{
    Action, Operand, OperandSpace, Record, RecordGroup, RecordStage, SPACE_LIST, SPACES,
};
use eigenforge_runtime::solvers::lean::{BasisChoice, DavidsonLimits, DavidsonResult};

/// The states of a search above its first, and the weights of all states.
pub(crate) struct Averaged<B> {
    /// Weight of each state, the lowest first; they add up to 1.
    weights: Vec<f64>,
    /// The states above the first, as many as the bond has room for.
    pub(crate) others: Vec<B>,
    /// The energies of the last bond that was solved, without the constant of H.
    pub(crate) levels: Vec<f64>,
    random: Random,
    /// Whether they share a basis.
    pub(crate) basis: BasisChoice,
}

impl<B> Averaged<B> {
    /// Creates states with these weights, which need not be normalised.
    pub(crate) fn new(weights: &[f64], seed: u64, basis: BasisChoice) -> Averaged<B> {
        let sum: f64 = weights.iter().sum();
        let weights = weights.iter().map(|weight| weight / sum).collect();
        Averaged { weights, others: Vec::new(), levels: Vec::new(), random: Random::new(seed), basis }
    }

    /// Fills up to as many states as there are weights, or as a ψ of `length` elements has room for; missing states start
    /// as random vectors.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn complete<E: Engine<Buffer = B>>(&mut self, engine: &E, length: usize) -> Result<(), DmrgError> {
        let wanted = self.weights.len().min(length).saturating_sub(1);
        self.others.truncate(wanted);
        while self.others.len() < wanted {
            let random = &mut self.random;
            self.others.push(engine.upload((0..length).map(|_| random.number()).collect())?);
        }
        Ok(())
    }

    /// Σ w_i E_i of the last bond, in the units of `levels`; `None` where it had no room for all states.
    pub(crate) fn average(&self) -> Option<f64> {
        let whole = self.levels.len() == self.weights.len();
        whole.then(|| self.weights.iter().zip(&self.levels).map(|(weight, level)| weight * level).sum())
    }

    /// The weights of the states present at the bond, normalised to 1.
    fn present(&self) -> Vec<f64> {
        let weights = &self.weights[..1 + self.others.len()];
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// All states of a bond side by side, on the side away from the block that grows.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn stacked<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        layout: &WaveLayout,
        grows: Side,
        first: &B,
    ) -> Result<(Stack, B), DmrgError> {
        let stack = Stack::new(layout, grows, self.present());
        let waves: Vec<&B> = std::iter::once(first).chain(&self.others).collect();
        let data = stack.gather(engine, &waves)?;
        Ok((stack, data))
    }
}

/// How several wave functions are laid out as one.
pub(crate) struct Stack {
    grows: Side,
    weights: Vec<f64>,
    /// Layout of one of them.
    one: WaveLayout,
    /// Layout of all.
    pub layout: WaveLayout,
}

fn copy(a: Operand, coefficient: f64, first: usize, stride: usize, (rows, columns): (usize, usize)) -> Record {
    Record { action: Action::Copy { a }, coefficient, first, stride, rows, columns }
}

fn plain(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: false }
}

impl Stack {
    fn new(one: &WaveLayout, grows: Side, weights: Vec<f64>) -> Stack {
        Stack { grows, layout: one.stacked(grows, weights.len()), one: one.clone(), weights }
    }

    /// Gathers Ψ. Records read at most as many buffers as there are operand spaces, so more states than that take several
    /// passes.
    fn gather<E: Engine>(&self, engine: &E, waves: &[&E::Buffer]) -> Result<E::Buffer, DmrgError> {
        let (now, mut later) = waves.split_at(waves.len().min(SPACES));
        let mut gathered = self.turn(engine, None, 0, now)?;
        let mut done = now.len();
        while !later.is_empty() {
            let (now, rest) = later.split_at(later.len().min(SPACES - 1));
            gathered = self.turn(engine, Some(&gathered), done, now)?;
            (done, later) = (done + now.len(), rest);
        }
        Ok(gathered)
    }

    /// Combines what was gathered before, if anything, with the states from number `first` on.
    fn turn<E: Engine>(
        &self,
        engine: &E,
        before: Option<&E::Buffer>,
        first: usize,
        waves: &[&E::Buffer],
    ) -> Result<E::Buffer, DmrgError> {
        let spaces = &SPACE_LIST[usize::from(before.is_some())..];
        let mut operands = before.map_or(Operands::default(), |held| Operands::default().set(SPACE_LIST[0], held));
        for (space, wave) in spaces.iter().zip(waves) {
            operands = operands.set(*space, *wave);
        }
        let mut stage = RecordStage { groups: Vec::new(), length: self.layout.length };
        for (one, all) in self.one.sectors.iter().zip(&self.layout.sectors) {
            let mut records = Vec::new();
            if before.is_some() {
                // The part of the states before.
                let size = match self.grows {
                    Side::Left => (one.rows, first * one.columns),
                    Side::Right => (first * one.rows, one.columns),
                };
                records.push(copy(plain(SPACE_LIST[0], all.offset, all.rows), 1.0, 0, all.rows, size));
            }
            for (k, space) in spaces.iter().enumerate().take(waves.len()) {
                let place = match self.grows {
                    Side::Left => (first + k) * one.columns * all.rows,
                    Side::Right => (first + k) * one.rows,
                };
                let factor = self.weights[first + k].sqrt();
                let from = plain(*space, one.offset, one.rows);
                records.push(copy(from, factor, place, all.rows, (one.rows, one.columns)));
            }
            stage.groups.push(RecordGroup { offset: all.offset, length: all.rows * all.columns, records });
        }
        Ok(engine.run(&stage, operands)?)
    }

    /// Extracts each truncated state, of about norm 1, from the truncated Ψ.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn apart<E: Engine>(
        &self,
        engine: &E,
        centre: &Centre<E::Buffer>,
    ) -> Result<Vec<Centre<E::Buffer>>, DmrgError> {
        let of = |(state, weight): (usize, &f64)| {
            let (mut stage, mut blocks) = (RecordStage::default(), Vec::with_capacity(centre.blocks.len()));
            for (one, all) in self.one.sectors.iter().zip(&centre.blocks) {
                let Some(all) = all else {
                    blocks.push(None);
                    continue;
                };
                let (rows, columns, first) = match self.grows {
                    Side::Left => (all.rows, one.columns, state * one.columns * all.rows),
                    Side::Right => (one.rows, all.columns, state * one.rows),
                };
                let from = plain(OperandSpace::Input, all.offset + first, all.rows);
                let records = vec![copy(from, weight.sqrt().recip(), 0, rows, (rows, columns))];
                blocks.push(Some(CentreBlock { offset: stage.push(rows * columns, records), rows, columns }));
            }
            let data = engine.run(&stage, Operands::default().set(OperandSpace::Input, &centre.data))?;
            Ok(Centre { blocks, data })
        };
        self.weights.iter().enumerate().map(of).collect()
    }
}

/// Finds the lowest states of a superblock orthogonal to `below`, by energy: from a `common` basis if it has room, else one after the
/// other, each orthogonal to the previous ones.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn solve_all<E: Engine>(
    engine: &mut E,
    superblock: &TwoStages,
    operands: Operands<'_, E::Buffer>,
    diagonal: &E::Buffer,
    waves: &mut [&mut E::Buffer],
    (limits, is_common): (DavidsonLimits, bool),
    below: &[&E::Buffer],
) -> Result<Vec<DavidsonResult>, DmrgError> {
    if is_common && let Some(found) = engine.solve_together(superblock, operands, diagonal, waves, limits, below)? {
        return Ok(found);
    }
    let mut found: Vec<DavidsonResult> = Vec::with_capacity(waves.len());
    for state in 0..waves.len() {
        let (done, rest) = waves.split_at_mut(state);
        let against: Vec<&E::Buffer> = below.iter().copied().chain(done.iter().map(|wave| &**wave)).collect();
        let here = engine.solve(superblock, operands, diagonal, rest[0], limits, &against)?;
        found.push(here);
        // One that was missed before comes to its place.
        for k in (0..state).rev().take_while(|k| found[*k].value > here.value) {
            let (lower, higher) = waves.split_at_mut(k + 1);
            std::mem::swap(&mut *lower[k], &mut *higher[0]);
        }
        found.sort_by(|a, b| a.value.total_cmp(&b.value));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::blocks::facing;
    use crate::block::truncate::{TruncationLimits, Wave};
    use eigenforge_runtime::backend::HostBackend;
    use eigenforge_runtime::dense::View;
    use eigenforge_runtime::dense::eigen;
    use eigenforge_runtime::seeded::vector;

    /// The kept states are the eigenvectors of Σ w_i ρ_i with the largest weights, and each ψ_i comes back from what is left of
    /// it: nine states, so that gathering takes two turns.
    #[test]
    fn kept_states_are_those_of_the_averaged_density_matrix() {
        let (left, right, total) = facing(&[7, 5, 3], &[4, 6, 5]);
        let layout = WaveLayout::new(&left.sectors, &right.sectors, total);
        let engine = HostBackend::default();
        for (count, grows) in [(1, Side::Left), (3, Side::Left), (3, Side::Right), (9, Side::Left), (9, Side::Right)] {
            let weights: Vec<f64> = (0..count).map(|i| 1.0 / (1.0 + i as f64)).collect();
            let mut averaged = Averaged::new(&weights, 1, BasisChoice::Planned);
            let mut waves: Vec<Vec<f64>> = (0..count as u64).map(|i| vector(layout.length, 30 + i)).collect();
            for wave in &mut waves {
                let norm = wave.iter().map(|x| x * x).sum::<f64>().sqrt();
                wave.iter_mut().for_each(|x| *x /= norm);
            }
            averaged.others = waves[1..].to_vec();
            let (stack, data) = averaged.stacked(&engine, &layout, grows, &waves[0]).unwrap();
            let wave = Wave { layout: &stack.layout, data: &data, left: &left, right: &right };
            let limits = TruncationLimits { most: 6, least: 1, discarded: 0.0, factored: None };
            let truncated = engine.truncate(wave, grows, limits).unwrap();
            // The oracle: eigenvalues of Σ w_i ρ_i, sector by sector.
            let sum: f64 = weights.iter().sum();
            let mut expected = Vec::new();
            for sector in &layout.sectors {
                let (rows, columns) = (sector.rows, sector.columns);
                let d = if grows == Side::Left { rows } else { columns };
                let mut density = vec![0.0; d * d];
                for (wave, weight) in waves.iter().zip(&weights) {
                    let at = |i: usize, j: usize| match grows {
                        Side::Left => wave[sector.offset + i + j * rows],
                        Side::Right => wave[sector.offset + j + i * rows],
                    };
                    for (i, j) in (0..d).flat_map(|i| (0..d).map(move |j| (i, j))) {
                        let other = if grows == Side::Left { columns } else { rows };
                        density[i + j * d] += weight / sum * (0..other).map(|k| at(i, k) * at(j, k)).sum::<f64>();
                    }
                }
                expected.extend(eigen(View::new(&density, d, d)).unwrap().0);
            }
            expected.sort_by(|a, b| b.total_cmp(a));
            for (found, expected) in truncated.weights.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-13, "{count} {grows:?}: {found} is not {expected}");
            }
            let dropped: f64 = expected[6..].iter().sum();
            assert!((truncated.discarded - dropped).abs() < 1e-12, "{} is not {dropped}", truncated.discarded);
            // With everything kept each state comes back whole.
            let limits = TruncationLimits { most: 100, ..limits };
            let truncated = engine.truncate(wave, grows, limits).unwrap();
            let centres = stack.apart(&engine, &truncated.centre).unwrap();
            assert_eq!(centres.len(), count);
            for (state, (centre, wave)) in centres.iter().zip(&waves).enumerate() {
                for (index, sector) in layout.sectors.iter().enumerate() {
                    let own = if grows == Side::Left { sector.left } else { sector.right };
                    let (u, c) = (truncated.kept.block(own).unwrap(), centre.blocks[index].unwrap());
                    for (i, j) in (0..sector.rows).flat_map(|i| (0..sector.columns).map(move |j| (i, j))) {
                        let kept = |row: usize, k: usize| truncated.kept.data[u.offset + row + k * u.rows];
                        let value: f64 = (0..u.columns)
                            .map(|k| match grows {
                                Side::Left => kept(i, k) * centre.data[c.offset + k + j * c.rows],
                                Side::Right => kept(j, k) * centre.data[c.offset + i + k * c.rows],
                            })
                            .sum();
                        let expected = wave[sector.offset + i + j * sector.rows];
                        assert!((value - expected).abs() < 1e-12, "state {state}: {value} is not {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_more_states_than_a_bond_has_room_for() {
        let engine = HostBackend::default();
        let mut averaged: Averaged<Vec<f64>> = Averaged::new(&[2.0, 1.0, 1.0], 3, BasisChoice::Planned);
        averaged.complete(&engine, 2).unwrap();
        assert_eq!(averaged.others.len(), 1);
        averaged.levels = vec![-1.0, -0.5];
        assert_eq!(averaged.average(), None);
        averaged.complete(&engine, 7).unwrap();
        assert!(averaged.others.len() == 2 && averaged.others[1].len() == 7);
        averaged.levels.push(0.5);
        assert_eq!(averaged.average(), Some(-0.5));
        averaged.complete(&engine, 1).unwrap();
        assert!(averaged.others.is_empty());
    }
}
