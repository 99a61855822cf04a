//! The variances of a run, by the cheaper of two ways.
//!
//! In: states with ψ at the first bond, the operations of their sweeps. Out: ⟨H²⟩ − ⟨H⟩² of each. The operator sum of H² gives it
//! where it takes at most [a tenth](PART) of the sweeps, or little more than the other way, counted by a dry run, and where its rounding
//! is small beside what truncation leaves of it; else the [residual](crate::measure::residual) in few vectors does, in which
//! nothing cancels.

use super::search::SearchResult;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::measure;
use crate::measure::residual::{self, RowLimits, Variance};
use crate::memory::counting::CountingEngine;
use crate::memory::shares::Shares;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::{DeviceError, trace};

/// How the sentence begins that says why there is no variance.
pub(super) const LEFT_OUT: &str = "the variance was left out";
/// Wider operator sums are not squared: planning pairs of operators would take longer than the run.
const WIDEST_SQUARE: usize = 40;
/// Part of the operations of the sweeps that H² may take.
const PART: f64 = 0.1;
/// Few vectors have to save this factor: with some hundred states they are no fewer than the states.
const FACTOR: f64 = 2.0;
/// Rounding of ⟨H²⟩ − ⟨H⟩² in squares of the norm of H.
const CANCELLED: f64 = 1e-14;
/// The variance of a truncated state in units of the weight that it discards, as a [warning](super::warnings) has it.
const OF_DISCARDED: f64 = 1e4;
/// Operations of sweeps, some seconds of a core, up to which H² may take any number.
const FEW: f64 = 1e11;

/// The variance of each state with ψ at the first bond and eigenvalues `energies` there (without the constant), after a search. The operators of all blocks are dropped. `None` where kept states are missing, and where there is no room in memory,
/// which a sentence in `left_out` says: what was found is not lost for it.
///
/// # Errors
/// An error of the engine.
pub(super) fn variances<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    energies: &[f64],
    searched: &SearchResult,
    left_out: &mut Vec<String>,
) -> Result<Option<Vec<Variance>>, DmrgError> {
    let mut variance = trace::span("dmrg", "variance");
    let rounding = CANCELLED * chain.units.norm * chain.units.norm;
    let is_cancelled = OF_DISCARDED * searched.last_sweep().truncation() < rounding;
    let are_kept = sweeper.isometries().iter().skip(2).all(Option::is_some);
    let found = if !are_kept {
        Ok(None)
    } else if !is_cancelled && is_square_cheap(chain, sweeper, searched.flops())? {
        variance.note("from", "the operator sum of H²");
        sweeper.drop_operators()?;
        sweeper.engine.pack()?;
        // What is below rounding may have either sign.
        let exact =
            |value: f64| Variance { value: if value < 0.0 { value.abs().max(rounding) } else { value }, error: None };
        measure::variances(chain, sweeper, energies).map(|found| found.map(|of| of.into_iter().map(exact).collect()))
    } else {
        variance.note("from", "the residual in few vectors");
        sweeper.engine.release();
        sweeper.engine.pack()?;
        residual::variances(chain, sweeper, RowLimits::FEW).map(|(found, _)| Some(found))
    };
    let found = match found {
        Err(DmrgError::Device(error @ DeviceError::Memory { .. })) => {
            left_out.push(format!("{LEFT_OUT}: {error}"));
            None
        }
        found => found?,
    };
    sweeper.drop_operators()?;
    Ok(found)
}

/// Whether the operator sum of H² can be contracted in a small part of what the sweeps took.
fn is_square_cheap<E: Engine>(chain: &Chain, sweeper: &Sweeper<'_, E>, swept: f64) -> Result<bool, DmrgError> {
    if chain.sum.width() > WIDEST_SQUARE {
        return Ok(false);
    }
    if swept <= FEW {
        return Ok(true);
    }
    let shares = Shares::measured(sweeper, 0);
    let mut counting = Sweeper::rehearsal(CountingEngine::free(chain, &shares), chain)?;
    let before = counting.engine.flops.get();
    measure::variances(chain, &mut counting, &[0.0])?;
    let squared = counting.engine.flops.get() - before;
    if squared <= PART * swept {
        return Ok(true);
    }
    let (_, few) = residual::variances(chain, &mut counting, RowLimits::FEW)?;
    Ok(squared <= FACTOR * few)
}
