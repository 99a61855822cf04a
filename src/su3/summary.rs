//! What a transformation did: norms, the largest tensors, where the norm sits.
//!
//! In: elements and strengths of each channel. Out: Σ (2J+1) u² and Σ C², which are equal (the map is orthogonal), the latter
//! also by S0 and by (λ0 μ0), and the largest strengths.

use super::channel::{ByChannel, Channel};
use super::plan::Plan;
use super::strengths::{Label, for_each};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Strengths shown.
const SHOWN: usize = 8;

/// Of all channels.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// N_max.
    pub n_max: u32,
    /// Elements a channel, and strengths.
    pub elements: usize,
    /// Coefficients W⁰ computed.
    pub w0: usize,
    /// The largest measured deviation of a coefficient matrix from orthogonality.
    pub defect: f64,
    /// Rows of the input beyond N_max, left out.
    pub left_out: usize,
    /// pn, pp, nn as the file has them.
    pub channels: Vec<ChannelSummary>,
}

/// Of one channel.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelSummary {
    /// Which.
    pub channel: Channel,
    /// Σ (2J+1) u².
    pub norm_of_elements: f64,
    /// Σ C².
    pub norm_of_strengths: f64,
    /// Σ C² by S0 = 0, 1, 2.
    pub norm_by_s0: [f64; 3],
    /// Σ C² by (λ0 μ0), the largest first; the sum of all others is left out.
    pub norm_by_irrep: Vec<IrrepNorm>,
    /// The largest |C|.
    pub largest: Vec<Strength>,
}

/// The share of an irrep.
#[derive(Debug, Clone, Serialize)]
pub struct IrrepNorm {
    /// λ0.
    pub lambda: u32,
    /// μ0.
    pub mu: u32,
    /// Σ C².
    pub norm: f64,
}

/// One strength.
#[derive(Debug, Clone, Serialize)]
pub struct Strength {
    /// Its labels.
    pub tensor: String,
    /// C.
    pub value: f64,
}

impl Summary {
    /// Of a transformation in either direction.
    pub fn new(plan: &Plan, elements: &ByChannel, strengths: &ByChannel, left_out: usize) -> Summary {
        let channels = elements.vectors.iter().zip(&strengths.vectors);
        let channels = channels.map(|((channel, u), (_, c))| ChannelSummary::new(plan, *channel, u, c)).collect();
        Summary { n_max: plan.n_max, elements: plan.length, w0: 0, defect: 0.0, left_out, channels }
    }
}

impl ChannelSummary {
    fn new(plan: &Plan, channel: Channel, u: &[f64], c: &[f64]) -> ChannelSummary {
        let mut norm_by_s0 = [0.0; 3];
        let mut by_irrep: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let mut largest: Vec<(f64, Label)> = Vec::new();
        for_each(plan, |place, label| {
            let value = c[place];
            norm_by_s0[label.spins[2] as usize] += value * value;
            *by_irrep.entry((label.irreps[2].lambda, label.irreps[2].mu)).or_default() += value * value;
            let smallest = largest.last().map_or(0.0, |(value, _)| value.abs());
            if value != 0.0 && (largest.len() < SHOWN || value.abs() > smallest) {
                let at = largest.partition_point(|(other, _)| other.abs() >= value.abs());
                largest.insert(at, (value, label));
                largest.truncate(SHOWN);
            }
        });
        let mut norm_by_irrep: Vec<IrrepNorm> =
            by_irrep.into_iter().map(|((lambda, mu), norm)| IrrepNorm { lambda, mu, norm }).collect();
        norm_by_irrep.sort_by(|a, b| b.norm.total_cmp(&a.norm));
        norm_by_irrep.truncate(SHOWN);
        ChannelSummary {
            channel,
            norm_of_elements: norm_of_elements(plan, u),
            norm_of_strengths: norm_by_s0.iter().sum(),
            norm_by_s0,
            norm_by_irrep,
            largest: largest.into_iter().map(|(value, label)| Strength { tensor: label.to_string(), value }).collect(),
        }
    }
}

/// Σ (2J+1) u².
fn norm_of_elements(plan: &Plan, u: &[f64]) -> f64 {
    let quadruples = plan.groups.iter().flat_map(|group| group.quadruples.iter().map(move |q| (group, q)));
    let blocks = quadruples.flat_map(|(group, q)| q.blocks.iter().map(move |block| (group.start + q.offset, block)));
    let of = |(start, block): (usize, &super::plan::JBlock)| {
        let elements = &u[start + block.offset..][..block.rows * block.columns];
        f64::from(2 * block.j + 1) * elements.iter().map(|u| u * u).sum::<f64>()
    };
    blocks.map(of).sum()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("Σ (2J+1) u²", (|c| c.norm_of_elements) as fn(&ChannelSummary) -> f64),
            ("Σ C²", |c| c.norm_of_strengths),
            ("  of S0 = 0", |c| c.norm_by_s0[0]),
            ("  of S0 = 1", |c| c.norm_by_s0[1]),
            ("  of S0 = 2", |c| c.norm_by_s0[2]),
        ];
        write!(f, "  {:<14}", "")?;
        self.channels.iter().try_for_each(|channel| write!(f, "{:>22}", channel.channel.word()))?;
        writeln!(f)?;
        for (name, value) in rows {
            write!(f, "  {name:<14}")?;
            self.channels.iter().try_for_each(|channel| write!(f, "{:>22.12e}", value(channel)))?;
            writeln!(f)?;
        }
        for channel in &self.channels {
            let share =
                |x: &IrrepNorm| format!("({} {}) {:.1} %", x.lambda, x.mu, 100.0 * x.norm / channel.norm_of_strengths);
            let shares: Vec<String> = channel.norm_by_irrep.iter().filter(|x| x.norm > 0.0).map(share).collect();
            writeln!(f, "\n  {}: where the norm sits in (λ0 μ0): {}", channel.channel.word(), shares.join(", "))?;
            for strength in &channel.largest {
                writeln!(f, "    {:>14.6}  {}", strength.value, strength.tensor)?;
            }
        }
        Ok(())
    }
}
