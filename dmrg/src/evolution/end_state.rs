//! ψ at the end of an evolution, as a matrix-product state to take away.
//!
//! In: ψ at the first bond. Out: its tensors; of complex ψ, x + iy as (x, y) with an auxiliary site, those of the other sites, of which the
//! first is complex.

use crate::block::blocks::{Sectors, Side};
use crate::block::state::Isometry;
use crate::error::DmrgError;
use crate::matrix_product::MatrixProductState;
use crate::sweep::sweeper::Sweeper;
use faer::Mat;

/// e^(iα) ψ of a sweeper with ψ at the first bond; of a chain with an auxiliary site that of its other sites, α = `phase`, else ψ.
///
/// # Errors
/// Errors of the engine.
pub(super) fn end_state(sweeper: &Sweeper<'_>, phase: f64) -> Result<MatrixProductState, DmrgError> {
    let (chain, engine, references) = (sweeper.chain, sweeper.engine(), sweeper.references()?);
    let tensors = references[0].tensors();
    if !chain.is_complex() {
        return MatrixProductState::new(engine, chain, tensors);
    }
    // ψ = Σ_ak F[a, k] |a⟩ B[k, …] with a = 0 for its real and 1 for its imaginary part.
    let (auxiliary, site, rest) = (&tensors[0], &tensors[1], &tensors[2..]);
    let parts = &chain.enlarge(Side::Right, &site.kept, 1).parts[0];
    let behind = rest.first().map_or_else(Sectors::end, |next| next.kept.clone());
    let enlarged = chain.enlarge(Side::Right, &behind, 2).sectors;
    let (sin, cos) = phase.sin_cos();
    let part = |of_real: f64, of_imaginary: f64| {
        let column = |q: usize| {
            let block = site.block(q)?;
            let mut sum = Mat::zeros(block.rows, 1);
            for part in parts.iter().filter(|part| part.block == block.kept_sector) {
                let turn = if part.state == 0 { of_real } else { of_imaginary };
                for k in 0..part.dimension {
                    let factor = turn * auxiliary.data[part.first + k];
                    let own = &site.data[block.offset + k * block.rows..][..block.rows];
                    own.iter().enumerate().for_each(|(row, value)| sum[(row, 0)] += factor * value);
                }
            }
            Some(sum)
        };
        Isometry::new(&enlarged, &(0..enlarged.len()).map(column).collect::<Vec<_>>())
    };
    let whole = |first: Isometry| MatrixProductState::new(engine, chain, &[vec![first], rest.to_vec()].concat());
    let (mut state, imaginary) = (whole(part(cos, -sin))?, whole(part(sin, cos))?);
    state.imaginary = imaginary.tensors.into_iter().next().map_or_else(Vec::new, |first| first.values);
    if state.imaginary.iter().all(|value| *value == 0.0) {
        state.imaginary.clear();
    }
    Ok(state)
}
