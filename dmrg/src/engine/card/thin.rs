//! Kept states on a device by the density matrix of the other block, where that is smaller.
//!
//! A site of d states beside a bond of few more than m makes sectors of d m rows and about m columns. ψᵀψ = W Λ Wᵀ of the columns is
//! decomposed, and not ψψᵀ of the rows; the kept states are ψ W Λ^(−1/2), a step of a subspace iteration from the states of the other
//! block, made orthonormal by products (`block/orthonormal.rs`). Where the weights reach the rounding of a density matrix the rows are
//! decomposed as ever.

use super::factored::{Density, scaled_columns};
use super::truncate::{centre_of, density};
use crate::block::blocks::Side;
use crate::block::orthonormal::{SectorColumns, orthonormal};
use crate::block::state::Isometry;
use crate::block::thin::PRECISE;
use crate::block::truncate::{Centre, ROUNDING, Truncated, TruncationLimits, Wave, choose};
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::{Backend, DeviceBackend, MatrixSpectrum, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage};
use eigenforge_runtime::residency::PoolBuffer;

/// Rows of all sectors by columns from which on the columns are decomposed.
const TALL: f64 = 1.25;
/// Scaled columns are shorter than this, by which all are divided: they converge below √3.
const LONGEST: f64 = 1.1;

/// The best states of the block on `side`. `None` where its sectors are not tall, or weights reach rounding, or nothing is dropped.
pub(super) fn keep_best_thin(
    engine: &DeviceBackend,
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    limits: TruncationLimits,
) -> Result<Option<Truncated<PoolBuffer>>, DmrgError> {
    let (own, other) = (wave.sectors_of(side), if side == Side::Left { Side::Right } else { Side::Left });
    let size = |of: Side| {
        let rows = wave.layout.sectors.iter().map(|sector| if of == Side::Left { sector.rows } else { sector.columns });
        rows.sum::<usize>() as f64
    };
    if size(side) < TALL * size(other) {
        return Ok(None);
    }
    let (mut list, mut stage) = (Vec::new(), RecordStage::default());
    for sector in &wave.layout.sectors {
        let rows = if other == Side::Left { sector.rows } else { sector.columns };
        let record = density(other, sector.offset, sector.rows, sector.columns);
        list.push(Density { offset: stage.push(rows * rows, vec![record]), rows });
    }
    let input = Operands::default().set(OperandSpace::Input, wave.data);
    let mut vectors = engine.run(&stage, input)?;
    let places: Vec<(usize, usize)> = list.iter().map(|density| (density.offset, density.rows)).collect();
    let found = engine.decompose(&mut vectors, &places)?;
    let largest = found.iter().filter_map(|spectrum| spectrum.values.first()).fold(0.0f64, |a, b| a.max(*b));
    let (mut weights, mut index_of) = (vec![Vec::new(); own.len()], vec![0; own.len()]);
    for (index, (MatrixSpectrum { values, .. }, sector)) in found.iter().zip(&wave.layout.sectors).enumerate() {
        let q = wave.block_sector(side, index);
        let mut values = values.clone();
        values.truncate(sector.rows.min(sector.columns));
        values.iter_mut().filter(|w| **w < ROUNDING * largest).for_each(|w| *w = 0.0);
        (weights[q], index_of[q]) = (values, index);
    }
    let counts = choose(&weights.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits);
    let total: usize = counts.iter().sum();
    let stay = || weights.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(list, count)| list[count - 1]);
    if total == weights.iter().map(Vec::len).sum::<usize>()
        || !limits.are_reached_by(total)
        || stay().any(|weight| weight <= PRECISE * largest)
    {
        return Ok(None);
    }
    let _states = engine.span("states of tall sectors");
    let tables = Isometry::tables_of(own, &counts);
    let (mut scaled, mut stage, mut columns) = (RecordStage::default(), RecordStage::default(), Vec::new());
    for block in &tables.blocks {
        let index = index_of[block.enlarged_sector];
        let (Density { offset, rows: inner }, count) = (list[index], block.columns);
        let best = weights[block.enlarged_sector][..count].to_vec();
        let (first, ordered) = match found[index].ascending {
            true => (offset + (inner - count) * inner, best.into_iter().rev().collect()),
            false => (offset, best),
        };
        let at = scaled.push(inner * count, scaled_columns(first, inner, &ordered, -0.5));
        let sector = &wave.layout.sectors[index];
        let psi = Operand {
            space: OperandSpace::Left,
            offset: sector.offset,
            stride: sector.rows,
            transposed: side == Side::Right,
        };
        let w = Operand { space: OperandSpace::Input, offset: at, stride: inner, transposed: false };
        let action = Action::Product { a: psi, b: w, inner };
        let rows = block.rows;
        let record = Record { action, coefficient: 1.0 / LONGEST, first: 0, stride: rows, rows, columns: count };
        stage.push(rows * count, vec![record]);
        columns.push(SectorColumns { sector: block.enlarged_sector, offset: block.offset, rows, columns: count });
    }
    let scaled = engine.run(&scaled, Operands::default().set(OperandSpace::Left, &vectors))?;
    let tall =
        engine.run(&stage, Operands::default().set(OperandSpace::Left, wave.data).set(OperandSpace::Input, &scaled))?;
    let Some(data) = orthonormal(engine, tall, &columns, None)? else { return Ok(None) };
    let operands = input.set(OperandSpace::Left, &data);
    let (_, stage) = centre_of(wave, side, &tables, 1.0);
    let centre = engine.run(&stage, operands)?;
    let square = engine.dot(&centre, &centre)?;
    let (blocks, stage) = centre_of(wave, side, &tables, square.sqrt().recip());
    let centre = Centre { blocks, data: engine.run(&stage, operands)? };
    let mut stay: Vec<f64> = weights.iter().zip(&counts).flat_map(|(list, count)| list[..*count].to_vec()).collect();
    stay.sort_by(|a, b| b.total_cmp(a));
    let kept = tables.carried(|()| Ok::<_, BackendError>(data))?;
    Ok(Some(Truncated { kept, centre, discarded: (1.0 - square).max(0.0), weights: stay, spectrum: weights }))
}

#[cfg(test)]
mod tests {
    use super::super::truncate::keep_best;
    use super::*;
    use crate::block::blocks::{WaveLayout, facing};
    use eigenforge_runtime::seeded::vector;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::card_or_simulated;

    /// Sectors twice as tall as wide: what stays is orthonormal and discards what the rows' decomposition discards.
    #[test]
    fn memcheck_tall_sectors_keep_what_their_rows_keep() {
        let Some(device) = card_or_simulated(Schedule::Forward) else { return };
        let engine = DeviceBackend::new(&device).unwrap();
        for (side, left, right) in [(Side::Left, [26, 17], [12, 9]), (Side::Right, [12, 9], [26, 17])] {
            let (left, right, total) = facing(&left, &right);
            let layout = WaveLayout::new(&left.sectors, &right.sectors, total);
            let mut data: Vec<f64> = vector(layout.length, 3);
            // The narrow side's states fall in weight.
            for sector in &layout.sectors {
                for (i, j) in (0..sector.rows).flat_map(|i| (0..sector.columns).map(move |j| (i, j))) {
                    let narrow = if side == Side::Left { j } else { i };
                    data[sector.offset + i + j * sector.rows] *= 0.3f64.powi(narrow as i32);
                }
            }
            let norm = data.iter().map(|x| x * x).sum::<f64>().sqrt();
            let data = engine.upload(data.iter().map(|x| x / norm).collect()).unwrap();
            let wave = Wave { layout: &layout, data: &data, left: &left, right: &right };
            let limits = TruncationLimits { most: 12, least: 1, discarded: 0.0, factored: None };
            let host = |found: Truncated<PoolBuffer>| {
                found.carried(|data| engine.download(&data).map(std::borrow::Cow::into_owned)).unwrap()
            };
            let found = host(keep_best_thin(&engine, wave, side, limits).unwrap().unwrap());
            let expected = host(keep_best(&engine, wave, side, limits).unwrap());
            assert_eq!(found.kept.kept, expected.kept.kept, "{side:?}");
            assert!(expected.discarded > 1e-9 && (found.discarded - expected.discarded).abs() < 1e-13, "{side:?}");
            for block in &found.kept.blocks {
                let column = |j: usize| &found.kept.data[block.offset + j * block.rows..][..block.rows];
                for (i, j) in (0..block.columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let overlap: f64 = column(i).iter().zip(column(j)).map(|(a, b)| a * b).sum();
                    assert!((overlap - if i == j { 1.0 } else { 0.0 }).abs() < 1e-13, "{side:?} {i} {j}");
                }
            }
            let square: f64 = found.centre.data.iter().map(|x| x * x).sum();
            assert!((square - 1.0).abs() < 1e-13, "{square}");
            let other = if side == Side::Left { Side::Right } else { Side::Left };
            assert!(keep_best_thin(&engine, wave, other, limits).unwrap().is_none(), "not tall");
        }
    }
}
