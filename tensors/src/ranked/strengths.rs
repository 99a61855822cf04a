//! Strengths of an operator of rank J0 as a table of labels.
//!
//! Columns: `channel,na,nb,nc,nd,lf,mf,li,mi,l0,m0,Sf,Si,S0,kappa0,L0,J0,rho0,value`: the strength of
//! [[a†(na 0) × a†(nb 0)]^{(lf mf) Sf} × [ã(0 nd) × ã(0 nc)]^{(li mi) Si}]^{ρ0 (l0 m0)}_{κ0 (L0 S0) J0}.

use super::elements::check_rank;
use super::layout::{RankedGroup, RankedPlan, RankedProduct, TensorRank};
use crate::channel::{ByChannel, Channel, TableNumbers, check_complete};
use crate::csv::{Reader, TableError};
use crate::elements::{channel, pairs};
use crate::plan::tensor_labels;
use crate::space::ShellPair;
use eigenforge_su3::Irrep;
use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::path::Path;

/// The columns of a file.
pub(super) const COLUMNS: [&str; 19] = [
    "channel", "na", "nb", "nc", "nd", "lf", "mf", "li", "mi", "l0", "m0", "Sf", "Si", "S0", "kappa0", "L0", "J0",
    "rho0", "value",
];

/// Labels of a strength; J0 is the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankedLabel {
    pub(super) pairs: [ShellPair; 2],
    /// (λf μf), (λi μi), (λ0 μ0).
    pub(super) irreps: [Irrep; 3],
    /// Sf, Si, S0.
    pub(super) spins: [u32; 3],
    pub(super) kappa: u32,
    pub(super) l0: u32,
    pub(super) rho: u32,
}

/// (λ0 μ0), κ0, ρ0.
type TensorLabel = (Irrep, u32, u32);
/// Those of (λf μf), (λi μi) and L0, ascending.
type LabelCache = HashMap<([Irrep; 2], u32), Vec<TensorLabel>>;

impl fmt::Display for RankedLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bra, ket], [x, y, z], [sf, si, s0]) = (self.pairs, self.irreps, self.spins);
        write!(f, "n = {} {} | {} {}, {x} {y} {z}, S = {sf} {si} {s0}", bra.a, bra.b, ket.a, ket.b)?;
        write!(f, ", kappa0 = {}, L0 = {}, rho0 = {}", self.kappa, self.l0, self.rho)
    }
}

/// Calls `visit(place from the group's start, labels)` for every strength of a group, in the order of the layout.
pub(super) fn for_each(plan: &RankedPlan, group: &RankedGroup, mut visit: impl FnMut(usize, RankedLabel)) {
    for product in &group.products {
        let [f, i] = product.irreps;
        for (rank, [first, _]) in plan.tensors.iter().zip(&product.tensors) {
            let mut at = product.offset + first;
            for (irrep, kappa, rho) in tensor_labels(f, i, rank.l0) {
                for [b, k] in product.bras.iter().flat_map(|b| product.kets.iter().map(move |k| [*b, *k])) {
                    for [sf, si] in rank.spins() {
                        let (pairs, irreps) = ([group.bras[b], group.kets[k]], [f, i, irrep]);
                        let spins = [sf, si, rank.s0];
                        visit(at, RankedLabel { pairs, irreps, spins, kappa, l0: rank.l0, rho });
                        at += 1;
                    }
                }
            }
        }
    }
}

/// Writes header and all strengths.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write(out: &mut dyn Write, plan: &RankedPlan, numbers: &ByChannel) -> std::io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for group in &plan.groups {
        let mut written = Ok(());
        for_each(plan, group, |at, label| {
            for (channel, vector) in &numbers.vectors {
                if written.is_ok() {
                    written = write_row(out, *channel, &label, plan.rank.j0, vector[group.start + at]);
                }
            }
        });
        written?;
    }
    Ok(())
}

fn write_row(out: &mut dyn Write, channel: Channel, label: &RankedLabel, j0: u32, value: f64) -> std::io::Result<()> {
    let RankedLabel { pairs: [bra, ket], irreps, spins: [sf, si, s0], kappa, l0, rho } = label;
    write!(out, "{},{},{},{},{}", channel.word(), bra.a, bra.b, ket.a, ket.b)?;
    irreps.iter().try_for_each(|irrep| write!(out, ",{},{}", irrep.lambda, irrep.mu))?;
    writeln!(out, ",{sf},{si},{s0},{kappa},{l0},{j0},{rho},{value:e}")
}

/// Reads the strengths of a space; those beyond it are ignored.
///
/// # Errors
///
/// An invalid field or label, a strength twice or missing, a file that ends below N_max.
pub(super) fn read(path: &Path, plan: &RankedPlan) -> Result<ByChannel, TableError> {
    let mut reader = Reader::open(path, &COLUMNS)?;
    let mut cache = LabelCache::new();
    let mut numbers = TableNumbers::new(plan.length);
    while let Some(row) = reader.next_row()? {
        let channel = channel(&row, 0)?;
        let pairs = pairs(&row, 1)?;
        let irrep = |index: usize| Ok::<_, TableError>(Irrep::new(row.label(index)?, row.label(index + 1)?));
        let irreps = [irrep(5)?, irrep(7)?, irrep(9)?];
        let spins = [row.label(11)?, row.label(12)?, row.label(13)?];
        check_rank(&row, plan.rank, pairs, 16)?;
        let label =
            RankedLabel { pairs, irreps, spins, kappa: row.label(14)?, l0: row.label(15)?, rho: row.label(17)? };
        let value = row.real(18)?;
        let is_inside = pairs.iter().all(|pair| plan.space.contains(*pair));
        let no_tensor = || row.labels(format!("{label} is not a tensor of J0 = {} in this space", plan.rank.j0));
        let place = is_inside.then(|| place(plan, &mut cache, &label).ok_or_else(no_tensor)).transpose()?;
        if !numbers.take(channel, pairs, place, value) {
            return Err(row.twice(label.to_string()));
        }
    }
    let read = numbers.finish(path, plan.space)?;
    let missing = |place: usize| {
        let (group, mut found) = (plan.group_of(place), String::new());
        for_each(plan, group, |at, label| {
            if group.start + at == place {
                found = format!("the tensor {label}");
            }
        });
        found
    };
    for (channel, vector) in &read.vectors {
        check_complete(path, plan.space, (*channel, vector), missing)?;
    }
    Ok(read)
}

/// Position of a strength; `None` for labels of no tensor.
fn place(plan: &RankedPlan, cache: &mut LabelCache, label: &RankedLabel) -> Option<usize> {
    let ([f, i, zero], [sf, si, s0]) = (label.irreps, label.spins);
    let (group, quadruple) = plan.quadruple(label.pairs)?;
    let product = group.products.iter().find(|product| product.irreps == [f, i])?;
    let at = plan.tensors.iter().position(|rank| [rank.s0, rank.l0] == [s0, label.l0])?;
    let column = column(product, plan.tensors[at], quadruple, group.kets.len(), [sf, si])?;
    let labels = cache.entry(([f, i], label.l0)).or_insert_with(|| tensor_labels(f, i, label.l0));
    let row = labels.binary_search(&(zero, label.kappa, label.rho)).ok()?;
    let columns = product.columns(plan.tensors[at]);
    Some(group.start + product.offset + product.tensors[at][0] + row * columns + column)
}

/// The column of a quadruple and of (Sf, Si); `None` if a pair does not contain the irrep.
fn column(product: &RankedProduct, rank: TensorRank, quadruple: usize, kets: usize, spins: [u32; 2]) -> Option<usize> {
    let b = product.bras.binary_search(&(quadruple / kets)).ok()?;
    let k = product.kets.binary_search(&(quadruple % kets)).ok()?;
    let spin = rank.spins().position(|found| found == spins)?;
    Some((b * product.kets.len() + k) * rank.spins().len() + spin)
}
