//! Tensor strengths as a table of labels.
//!
//! Columns: `channel,na,nb,nc,nd,lf,mf,li,mi,l0,m0,Sf,Si,S0,kappa0,rho0,value`: the strength of
//! [[a†(na 0) × a†(nb 0)]^{(lf mf) Sf} × [ã(0 nd) × ã(0 nc)]^{(li mi) Si}]^{ρ0 (l0 m0)}_{κ0 (S0 S0) 0}.

use super::channel::{self, ByChannel, Channel, TableNumbers};
use super::csv::{Reader, TableError};
use super::elements::{channel, pairs};
use super::plan::{Group, IrrepPair, Plan, SPINS, spins_of, tensor_labels};
use super::space::ShellPair;
use eigenforge_su3::Irrep;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// The columns of a file.
pub(super) const COLUMNS: [&str; 17] = [
    "channel", "na", "nb", "nc", "nd", "lf", "mf", "li", "mi", "l0", "m0", "Sf", "Si", "S0", "kappa0", "rho0", "value",
];

/// Labels of a strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// (na, nb), (nc, nd).
    pub pairs: [ShellPair; 2],
    /// (λf μf), (λi μi), (λ0 μ0).
    pub irreps: [Irrep; 3],
    /// Sf, Si, S0.
    pub spins: [u32; 3],
    /// κ0, from 1.
    pub kappa: u32,
    /// ρ0, from 1.
    pub rho: u32,
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([bra, ket], [x, y, z], [sf, si, s0]) = (self.pairs, self.irreps, self.spins);
        write!(f, "n = {} {} | {} {}, {x} {y} {z}, S = {sf} {si} {s0}", bra.a, bra.b, ket.a, ket.b)?;
        write!(f, ", kappa0 = {}, rho0 = {}", self.kappa, self.rho)
    }
}

impl Plan {
    /// Calls `visit(place, labels)` for every strength, in the order of the layout.
    pub fn for_each_strength(&self, mut visit: impl FnMut(usize, Label)) {
        for group in &self.groups {
            for_each_row(group, |first, row| {
                for (column, label) in row.labels(group).enumerate() {
                    visit(group.start + first + column, label);
                }
            });
        }
    }
}

/// Strengths of one (λf μf), (λi μi), S0, (λ0 μ0), κ0, ρ0: the columns of a [`super::plan::TensorBlock`].
#[derive(Clone, Copy)]
pub(super) struct TensorRow<'a> {
    product: &'a IrrepPair,
    pub s0: u32,
    /// (λ0 μ0).
    pub irrep: Irrep,
    kappa: u32,
    rho: u32,
}

impl TensorRow<'_> {
    /// Number of strengths.
    pub(super) fn length(&self) -> usize {
        self.product.tensors[self.s0 as usize].columns
    }

    /// The label of a column.
    pub(super) fn label(&self, group: &Group, column: usize) -> Label {
        let spins = spins_of(self.s0);
        let (quadruple, spin) = (column / spins.len(), spins[column % spins.len()]);
        let kets = &self.product.kets;
        let (bra, ket) = (self.product.bras[quadruple / kets.len()], kets[quadruple % kets.len()]);
        Label {
            pairs: [group.bras[bra], group.kets[ket]],
            irreps: [self.product.bra_irrep(), self.product.ket_irrep(), self.irrep],
            spins: SPINS[spin],
            kappa: self.kappa,
            rho: self.rho,
        }
    }

    fn labels<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = Label> + 'a {
        (0..self.length()).map(|column| self.label(group, column))
    }
}

/// Calls `visit(place of its first strength, row)` for every row of a group, in the order of the layout.
pub(super) fn for_each_row<'a>(group: &'a Group, mut visit: impl FnMut(usize, TensorRow<'a>)) {
    for product in &group.products {
        for s0 in 0..3u32 {
            let block = &product.tensors[s0 as usize];
            let labels = tensor_labels(product.bra_irrep(), product.ket_irrep(), s0);
            for (row, (irrep, kappa, rho)) in labels.into_iter().enumerate() {
                let place = product.offset + block.offset + row * block.columns;
                visit(place, TensorRow { product, s0, irrep, kappa, rho });
            }
        }
    }
}

/// The line of column names.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write_header(out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))
}

/// Writes a group quadruple by quadruple, the channels of one quadruple together, then by spins, irreps, κ0 and ρ0.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write(
    out: &mut dyn Write,
    group: &Group,
    channels: &[Channel],
    vectors: &[Vec<f64>],
) -> std::io::Result<()> {
    let labels: Vec<LabelsOf> = group.products.iter().map(LabelsOf::new).collect();
    for (b, bra) in group.bras.iter().enumerate() {
        for (k, ket) in group.kets.iter().enumerate() {
            for (channel, vector) in channels.iter().zip(vectors) {
                let head = format!("{},{},{},{},{}", channel.word(), bra.a, bra.b, ket.a, ket.b);
                for spin in 0..SPINS.len() {
                    for (product, labels) in group.products.iter().zip(&labels) {
                        write_product(out, &head, product, labels, [b, k, spin], vector)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Rows of one quadruple, product and spin.
fn write_product(
    out: &mut dyn Write,
    head: &str,
    product: &IrrepPair,
    labels: &LabelsOf,
    [b, k, spin]: [usize; 3],
    vector: &[f64],
) -> std::io::Result<()> {
    let [sf, si, s0] = SPINS[spin];
    let Some(column) = column(product, [b, k], spin) else { return Ok(()) };
    let block = &product.tensors[s0 as usize];
    let start = product.offset + block.offset;
    for (row, (irrep, kappa, rho)) in labels.by_s0[s0 as usize].iter().enumerate() {
        write!(out, "{head},{},{},{},{}", product.bra[0], product.bra[1], product.ket[0], product.ket[1])?;
        write!(out, ",{},{},{sf},{si},{s0},{kappa},{rho}", irrep.lambda, irrep.mu)?;
        writeln!(out, ",{:e}", vector[start + row * block.columns + column])?;
    }
    Ok(())
}

/// The column of a [`super::plan::TensorBlock`]; `None` if a pair does not contain the irrep.
fn column(product: &IrrepPair, [b, k]: [usize; 2], spin: usize) -> Option<usize> {
    let spins = spins_of(SPINS[spin][2]);
    let (bra, ket) = (product.bras.binary_search(&b).ok()?, product.kets.binary_search(&k).ok()?);
    Some((bra * product.kets.len() + ket) * spins.len() + spins.iter().position(|s| *s == spin)?)
}

/// Labels of the rows of a product's three blocks, and the reverse lookup.
struct LabelsOf {
    by_s0: [Vec<(Irrep, u32, u32)>; 3],
}

impl LabelsOf {
    fn new(product: &IrrepPair) -> LabelsOf {
        LabelsOf { by_s0: [0, 1, 2].map(|s0| tensor_labels(product.bra_irrep(), product.ket_irrep(), s0)) }
    }
}

/// Reads the strengths of a plan's space; strengths beyond it are ignored, and missing ones are NaN.
///
/// # Errors
///
/// An invalid field or label, a strength twice, a file that ends below N_max.
pub(super) fn read(path: &Path, plan: &Plan) -> Result<ByChannel, TableError> {
    let mut reader = Reader::open(path, &COLUMNS)?;
    let mut labels: HashMap<[Irrep; 2], LabelsOf> = HashMap::new();
    let mut numbers = TableNumbers::new(plan.length);
    while let Some(row) = reader.next_row()? {
        let channel = channel(&row, 0)?;
        let pairs = pairs(&row, 1)?;
        let irrep = |index: usize| Ok::<_, TableError>(Irrep::new(row.label(index)?, row.label(index + 1)?));
        let irreps = [irrep(5)?, irrep(7)?, irrep(9)?];
        let spins = [row.label(11)?, row.label(12)?, row.label(13)?];
        let label = Label { pairs, irreps, spins, kappa: row.label(14)?, rho: row.label(15)? };
        let value = row.real(16)?;
        let is_inside = pairs.iter().all(|pair| plan.space().contains(*pair));
        let no_tensor = || row.labels(format!("{label} is not a tensor of this space"));
        let place = is_inside.then(|| place(plan, &mut labels, &label).ok_or_else(no_tensor)).transpose()?;
        if !numbers.take(channel, pairs, place, value) {
            return Err(row.twice(label.to_string()));
        }
    }
    numbers.finish(path, plan.space())
}

/// Checks that no strength is missing.
///
/// # Errors
///
/// The first missing one of a channel.
pub(super) fn check_complete(path: &Path, plan: &Plan, read: &ByChannel) -> Result<(), TableError> {
    let labels = |missing: usize| {
        let mut found = String::new();
        plan.for_each_strength(|place, label| {
            if place == missing {
                found = format!("the tensor {label}");
            }
        });
        found
    };
    let all = &read.vectors;
    all.iter().try_for_each(|(channel, vector)| channel::check_complete(path, plan.space(), (*channel, vector), labels))
}

/// Position of a strength; `None` for labels of no tensor.
fn place(plan: &Plan, cache: &mut HashMap<[Irrep; 2], LabelsOf>, label: &Label) -> Option<usize> {
    let [f, i, zero] = label.irreps;
    let [bra, ket] = label.pairs;
    let group = plan.group(bra.quanta(), ket.quanta())?;
    let product = group.products.iter().find(|product| [product.bra_irrep(), product.ket_irrep()] == [f, i])?;
    let spin = SPINS.iter().position(|spins| *spins == label.spins)?;
    let (b, k) = (group.bras.binary_search(&bra).ok()?, group.kets.binary_search(&ket).ok()?);
    let column = column(product, [b, k], spin)?;
    let s0 = label.spins[2] as usize;
    let labels = cache.entry([f, i]).or_insert_with(|| LabelsOf::new(product));
    let row = labels.by_s0[s0].binary_search(&(zero, label.kappa, label.rho)).ok()?;
    let block = &product.tensors[s0];
    Some(group.start + product.offset + block.offset + row * block.columns + column)
}
