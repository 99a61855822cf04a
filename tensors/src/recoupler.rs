//! Strengths in the layout of LSU3shell's recoupled operators.
//!
//! In: strengths of a group. Out: for each tensor a line `na nb nd nc   1 λf μf 2Sf   1 λi μi 2Si   ρ0max λ0 μ0 2S0` (the
//! irreps of creators and of annihilators with their multiplicity 1, (λi μi) as the annihilators have it), then for κ0 =
//! 1, …, and within it ρ0 = 1, …, ρ0max, a line `C_pp C_nn C_pn`. Tensors whose strengths are all zero are left out, as
//! in that code. The operator and the phases are those of [`super::forward`]: two of a kind with a factor ¼ and all
//! orders of shells.

use super::channel::Channel;
use super::plan::{Group, SPINS, spins_of, tensor_labels};
use std::io::{self, Write};

/// What LSU3shell's columns hold.
const COLUMNS: [Channel; 3] = [Channel::Pp, Channel::Nn, Channel::Pn];

/// Writes a group quadruple by quadruple.
///
/// # Errors
///
/// I/O errors; a missing channel.
pub(super) fn write(out: &mut dyn Write, group: &Group, channels: &[Channel], vectors: &[Vec<f64>]) -> io::Result<()> {
    let missing = |channel: &Channel| {
        let reason = format!("the recoupler format needs the channels pp, nn and pn; {} is missing", channel.word());
        io::Error::other(reason)
    };
    let column = |channel: &Channel| {
        let at = channels.iter().position(|found| found == channel).ok_or_else(|| missing(channel))?;
        Ok(&vectors[at])
    };
    let columns = COLUMNS.iter().map(column).collect::<io::Result<Vec<_>>>()?;
    for b in 0..group.bras.len() {
        for k in 0..group.kets.len() {
            write_quadruple(out, group, [b, k], &columns)?;
        }
    }
    Ok(())
}

fn write_quadruple(out: &mut dyn Write, group: &Group, [b, k]: [usize; 2], columns: &[&Vec<f64>]) -> io::Result<()> {
    let (bra, ket) = (group.bras[b], group.kets[k]);
    for product in &group.products {
        let (Ok(bra_at), Ok(ket_at)) = (product.bras.binary_search(&b), product.kets.binary_search(&k)) else {
            continue;
        };
        let [[lf, mf], [li, mi]] = [product.bra, product.ket];
        for s0 in 0..3u32 {
            let block = &product.tensors[s0 as usize];
            let labels = tensor_labels(product.bra_irrep(), product.ket_irrep(), s0);
            for (position, spin) in spins_of(s0).iter().enumerate() {
                let [sf, si, _] = SPINS[*spin];
                let at = (bra_at * product.kets.len() + ket_at) * block.spins + position;
                let place = |row: usize| product.offset + block.offset + row * block.columns + at;
                // Rows of one (λ0 μ0) are contiguous, by κ0 and then by ρ0: the order of the layout.
                for rows in (0..labels.len()).collect::<Vec<_>>().chunk_by(|a, b| labels[*a].0 == labels[*b].0) {
                    if rows.iter().all(|row| columns.iter().all(|vector| vector[place(*row)] == 0.0)) {
                        continue;
                    }
                    let irrep = labels[rows[0]].0;
                    let rho_max = rows.iter().map(|row| labels[*row].2).max().unwrap_or(0);
                    write!(out, "{} {} {} {}   1 {lf} {mf} {}", bra.a, bra.b, ket.b, ket.a, 2 * sf)?;
                    writeln!(out, "   1 {li} {mi} {}   {rho_max} {} {} {}", 2 * si, irrep.lambda, irrep.mu, 2 * s0)?;
                    for row in rows {
                        let [pp, nn, pn] = [0, 1, 2].map(|column| columns[column][place(*row)]);
                        writeln!(out, "{pp:+.16e} {nn:+.16e} {pn:+.16e}")?;
                    }
                }
            }
        }
    }
    Ok(())
}
