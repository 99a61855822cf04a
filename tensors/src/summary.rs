//! Summary of a transformation: norms, the largest tensors, the distribution of the norm.
//!
//! In: elements and strengths of a group, then all groups' shares. Out: Σ (2J+1) u² and Σ C², which are equal (the map is
//! orthogonal), the latter also by S0 and by (λ0 μ0), and the largest strengths. Shares are added in the order of the
//! groups, whoever computed them, so that the sums have the same bits.

use super::channel::Channel;
use super::plan::{Group, Plan};
use super::strengths::{TensorRow, for_each_row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Strengths and irreps shown.
const SHOWN: usize = 8;

/// Summary of all channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// N_max.
    pub n_max: u32,
    /// Elements per channel, and strengths.
    pub elements: usize,
    /// Coefficients W⁰ used, computed or read.
    pub w0: usize,
    /// The largest measured deviation of a coefficient matrix from orthogonality.
    pub defect: f64,
    /// Rows of the input beyond N_max, which are ignored.
    pub left_out: usize,
    /// pn, pp, nn, as in the file.
    pub channels: Vec<ChannelSummary>,
}

/// Summary of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelSummary {
    /// The channel.
    pub channel: Channel,
    /// Σ (2J+1) u².
    pub norm_of_elements: f64,
    /// Σ C².
    pub norm_of_strengths: f64,
    /// Σ C² by S0 = 0, 1, 2.
    pub norm_by_s0: [f64; 3],
    /// Σ C² by (λ0 μ0), the largest first.
    pub norm_by_irrep: Vec<IrrepNorm>,
    /// The largest |C|.
    pub largest: Vec<Strength>,
}

/// The share of an irrep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IrrepNorm {
    /// λ0.
    pub lambda: u32,
    /// μ0.
    pub mu: u32,
    /// Σ C².
    pub norm: f64,
}

/// One strength.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    /// Its labels.
    pub tensor: String,
    /// C.
    pub value: f64,
}

/// The contribution of one group to one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Share {
    norm_of_elements: f64,
    norm_by_s0: [f64; 3],
    norm_by_irrep: Vec<IrrepNorm>,
    largest: Vec<Strength>,
}

impl Share {
    /// From elements and strengths, both relative to the group's start.
    pub(super) fn new(group: &Group, elements: &[f64], strengths: &[f64]) -> Share {
        let mut norm_by_s0 = [0.0; 3];
        let mut by_irrep: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let mut largest = Vec::new();
        for_each_row(group, |first, row| {
            let values = &strengths[first..][..row.length()];
            let norm: f64 = values.iter().map(|c| c * c).sum();
            norm_by_s0[row.s0 as usize] += norm;
            *by_irrep.entry((row.irrep.lambda, row.irrep.mu)).or_default() += norm;
            take_largest(&row, values, &mut largest);
        });
        let irreps = by_irrep.into_iter().map(|((lambda, mu), norm)| IrrepNorm { lambda, mu, norm });
        let largest = largest.into_iter().map(|(value, row, column): (f64, TensorRow, usize)| Strength {
            tensor: row.label(group, column).to_string(),
            value,
        });
        Share {
            norm_of_elements: norm_of_elements(group, elements),
            norm_by_s0,
            norm_by_irrep: irreps.collect(),
            largest: largest.collect(),
        }
    }
}

/// Keeps the largest strengths; the first of equal ones.
fn take_largest<'a>(row: &TensorRow<'a>, values: &[f64], largest: &mut Vec<(f64, TensorRow<'a>, usize)>) {
    for (column, value) in values.iter().enumerate() {
        let smallest = if largest.len() < SHOWN { 0.0 } else { largest.last().map_or(0.0, |(value, ..)| value.abs()) };
        if value.abs() > smallest {
            let at = largest.partition_point(|(other, ..)| other.abs() >= value.abs());
            largest.insert(at, (*value, *row, column));
            largest.truncate(SHOWN);
        }
    }
}

/// Σ (2J+1) u².
fn norm_of_elements(group: &Group, u: &[f64]) -> f64 {
    let blocks = group.quadruples.iter().flat_map(|q| q.blocks.iter().map(move |block| (q.offset, block)));
    let of = |(start, block): (usize, &super::plan::JBlock)| {
        let elements = &u[start + block.offset..][..block.rows * block.columns];
        f64::from(2 * block.j + 1) * elements.iter().map(|u| u * u).sum::<f64>()
    };
    blocks.map(of).sum()
}

impl Summary {
    /// From the shares of all groups in order, each with one entry per channel.
    pub(super) fn new<'a>(plan: &Plan, channels: &[Channel], shares: impl Iterator<Item = &'a [Share]>) -> Summary {
        let mut sums: Vec<ChannelSummary> = channels.iter().map(|channel| ChannelSummary::empty(*channel)).collect();
        for shares in shares {
            sums.iter_mut().zip(shares).for_each(|(sum, share)| sum.add(share));
        }
        sums.iter_mut().for_each(ChannelSummary::finish);
        let w0 = plan.groups.iter().map(|group| group.w0() as usize).sum();
        Summary { n_max: plan.n_max, elements: plan.length, w0, defect: 0.0, left_out: 0, channels: sums }
    }
}

/// Numbers too large to be squared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{what} of channel {channel} overflows (the largest strength is {largest:e}): the squares of the elements and their sums \
     must stay below 1e308; scale the interaction down"
)]
pub struct Overflow {
    /// Name of the sum.
    pub what: &'static str,
    /// pn, pp or nn.
    pub channel: &'static str,
    /// The largest |C| found.
    pub largest: f64,
}

impl Summary {
    /// Refuses infinite or NaN sums: the transformation or its summary has overflowed.
    ///
    /// # Errors
    ///
    /// The first of them.
    pub(super) fn check_finite(&self) -> Result<(), Overflow> {
        for channel in &self.channels {
            let largest = channel.largest.iter().fold(0.0, |largest: f64, of| largest.max(of.value.abs()));
            let sums = [
                ("the norm of the elements", channel.norm_of_elements),
                ("the norm of the strengths", channel.norm_of_strengths),
                ("a strength", largest),
            ];
            if let Some((what, _)) = sums.into_iter().find(|(_, sum)| !sum.is_finite()) {
                return Err(Overflow { what, channel: channel.channel.word(), largest });
            }
        }
        Ok(())
    }
}

impl ChannelSummary {
    fn empty(channel: Channel) -> ChannelSummary {
        ChannelSummary {
            channel,
            norm_of_elements: 0.0,
            norm_of_strengths: 0.0,
            norm_by_s0: [0.0; 3],
            norm_by_irrep: Vec::new(),
            largest: Vec::new(),
        }
    }

    fn add(&mut self, share: &Share) {
        self.norm_of_elements += share.norm_of_elements;
        self.norm_by_s0.iter_mut().zip(share.norm_by_s0).for_each(|(sum, norm)| *sum += norm);
        for of in &share.norm_by_irrep {
            let known = &mut self.norm_by_irrep;
            match known.binary_search_by_key(&(of.lambda, of.mu), |x| (x.lambda, x.mu)) {
                Ok(at) => known[at].norm += of.norm,
                Err(at) => known.insert(at, of.clone()),
            }
        }
        self.largest.extend(share.largest.iter().cloned());
        self.largest.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs())); // stable: the first of equal ones stays
        self.largest.truncate(SHOWN);
    }

    fn finish(&mut self) {
        self.norm_of_strengths = self.norm_by_s0.iter().sum();
        self.norm_by_irrep.sort_by(|a, b| b.norm.total_cmp(&a.norm));
    }
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
            let shares: Vec<String> =
                channel.norm_by_irrep.iter().filter(|x| x.norm > 0.0).take(SHOWN).map(share).collect();
            writeln!(f, "\n  {}: where the norm sits in (λ0 μ0): {}", channel.channel.word(), shares.join(", "))?;
            for strength in &channel.largest {
                writeln!(f, "    {:>14.6}  {}", strength.value, strength.tensor)?;
            }
        }
        Ok(())
    }
}
