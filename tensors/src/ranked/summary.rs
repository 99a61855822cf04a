//! Summary of a transformation of rank J0: norms, where they sit, the largest tensors.
//!
//! In: elements and strengths of a group, then the next. Out: Σ X²/(2J0+1) and Σ C², which are equal, the latter also by (L0, S0) and by
//! (λ0 μ0).

use super::layout::{RankedGroup, RankedPlan};
use super::strengths::for_each;
use crate::summary::{IrrepNorm, Overflow, Strength};
use crate::{ByChannel, Channel, Direction};
use eigenforge_core::words::grouped;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Version of the fields.
const SCHEMA: u32 = 1;
/// Strengths and irreps shown.
const SHOWN: usize = 8;

/// What a transformation of an operator of rank J0 did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedSummary {
    /// Version of the fields.
    pub schema: u32,
    /// From elements to strengths, or back.
    pub direction: Direction,
    /// N_max.
    pub n_max: u32,
    /// J0.
    pub j0: u32,
    /// 1 if bra and ket have the same parity, −1 if not.
    pub parity: i32,
    /// Reduced elements per channel, and strengths.
    pub elements: usize,
    /// Coefficients W⁰ computed.
    pub w0: usize,
    /// The largest measured deviation of a coefficient matrix from orthogonality.
    pub defect: f64,
    /// Rows of the input beyond N_max, which are ignored.
    pub left_out: usize,
    /// pn, pp, nn, as in the file.
    pub channels: Vec<RankedChannel>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// Summary of one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedChannel {
    /// The channel.
    pub channel: Channel,
    /// Σ X²/(2J0+1).
    pub norm_of_elements: f64,
    /// Σ C².
    pub norm_of_strengths: f64,
    /// Σ C² by L0 and S0, the largest first; those without any are left out.
    pub norm_by_rank: Vec<RankNorm>,
    /// Σ C² by (λ0 μ0), the largest first; those without any are left out.
    pub norm_by_irrep: Vec<IrrepNorm>,
    /// The largest |C|.
    pub largest: Vec<Strength>,
}

/// The share of an orbital and a spin rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankNorm {
    /// L0.
    pub l0: u32,
    /// S0.
    pub s0: u32,
    /// Σ C².
    pub norm: f64,
}

impl RankedSummary {
    /// Of all numbers of a plan.
    ///
    /// # Errors
    ///
    /// Sums beyond doubles.
    pub(super) fn new(
        plan: &RankedPlan,
        direction: Direction,
        elements: &ByChannel,
        strengths: &ByChannel,
    ) -> Result<RankedSummary, Overflow> {
        let both = elements.vectors.iter().zip(&strengths.vectors);
        let channels = both.map(|((channel, x), (_, c))| RankedChannel::new(plan, *channel, x, c));
        Ok(RankedSummary {
            schema: SCHEMA,
            direction,
            n_max: plan.space.n_max,
            j0: plan.rank.j0,
            parity: if plan.rank.parity == 0 { 1 } else { -1 },
            elements: plan.length,
            w0: 0,
            defect: 0.0,
            left_out: elements.left_out.max(strengths.left_out),
            channels: channels.collect::<Result<_, _>>()?,
            seconds: 0.0,
        })
    }
}

impl RankedChannel {
    fn new(plan: &RankedPlan, channel: Channel, x: &[f64], c: &[f64]) -> Result<RankedChannel, Overflow> {
        let mut by_rank: BTreeMap<[u32; 2], f64> = BTreeMap::new();
        let mut by_irrep: BTreeMap<[u32; 2], f64> = BTreeMap::new();
        let mut largest = Vec::new();
        for group in &plan.groups {
            add_group(plan, group, c, &mut by_rank, &mut by_irrep, &mut largest);
        }
        let norm_of_elements = x.iter().map(|x| x * x).sum::<f64>() / f64::from(2 * plan.rank.j0 + 1);
        let norm_of_strengths = by_rank.values().sum::<f64>();
        let most = largest.first().map_or(0.0, |strength: &Strength| strength.value.abs());
        for (what, sum) in
            [("the norm of the elements", norm_of_elements), ("the norm of the strengths", norm_of_strengths)]
        {
            if !sum.is_finite() {
                return Err(Overflow { what, channel: channel.word(), largest: most });
            }
        }
        let norm_by_rank = descending(by_rank).map(|([s0, l0], norm)| RankNorm { l0, s0, norm }).collect();
        let norm_by_irrep = descending(by_irrep).map(|([lambda, mu], norm)| IrrepNorm { lambda, mu, norm }).collect();
        Ok(RankedChannel { channel, norm_of_elements, norm_of_strengths, norm_by_rank, norm_by_irrep, largest })
    }
}

fn add_group(
    plan: &RankedPlan,
    group: &RankedGroup,
    c: &[f64],
    by_rank: &mut BTreeMap<[u32; 2], f64>,
    by_irrep: &mut BTreeMap<[u32; 2], f64>,
    largest: &mut Vec<Strength>,
) {
    for_each(plan, group, |at, label| {
        let value = c[group.start + at];
        let irrep = label.irreps[2];
        *by_rank.entry([label.spins[2], label.l0]).or_default() += value * value;
        *by_irrep.entry([irrep.lambda, irrep.mu]).or_default() += value * value;
        let smallest = if largest.len() < SHOWN { 0.0 } else { largest.last().map_or(0.0, |last| last.value.abs()) };
        if value.abs() > smallest {
            let place = largest.partition_point(|other| other.value.abs() >= value.abs());
            largest.insert(place, Strength { tensor: label.to_string(), value });
            largest.truncate(SHOWN);
        }
    });
}

/// Sums that are not zero, the largest first.
fn descending(sums: BTreeMap<[u32; 2], f64>) -> impl Iterator<Item = ([u32; 2], f64)> {
    let mut sums: Vec<([u32; 2], f64)> = sums.into_iter().filter(|(_, norm)| *norm > 0.0).collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums.into_iter()
}

impl fmt::Display for RankedSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parity = if self.parity > 0 { "even" } else { "odd" };
        let (elements, w0) = (grouped(self.elements as u128), grouped(self.w0 as u128));
        writeln!(f, "operator of J0 = {}, {parity} parity, N_max = {}", self.j0, self.n_max)?;
        writeln!(f, "{elements} reduced elements per channel, as many strengths; {w0} W0, defect {:.1e}", self.defect)?;
        if self.left_out > 0 {
            writeln!(f, "{} rows beyond N_max are left out", grouped(self.left_out as u128))?;
        }
        write!(f, "\n  {:<18}", "")?;
        self.channels.iter().try_for_each(|channel| write!(f, "{:>22}", channel.channel.word()))?;
        for (name, value) in [
            ("Σ X² / (2 J0 + 1)", (|c| c.norm_of_elements) as fn(&RankedChannel) -> f64),
            ("Σ C²", |c| c.norm_of_strengths),
        ] {
            write!(f, "\n  {name:<18}")?;
            self.channels.iter().try_for_each(|channel| write!(f, "{:>22.12e}", value(channel)))?;
        }
        writeln!(f)?;
        for channel in &self.channels {
            let share = |norm: f64| 100.0 * norm / channel.norm_of_strengths;
            // Smaller ones are mostly rounding.
            let irreps = channel.norm_by_irrep.iter().take(SHOWN).filter(|x| share(x.norm) >= 0.05);
            let irreps = irreps.map(|x| format!("({} {}) {:.1} %", x.lambda, x.mu, share(x.norm)));
            let ranks = channel.norm_by_rank.iter().take(SHOWN).filter(|x| share(x.norm) >= 0.05);
            let ranks = ranks.map(|x| format!("{} {} {:.1} %", x.l0, x.s0, share(x.norm)));
            let [irreps, ranks] = [irreps.collect::<Vec<_>>(), ranks.collect()].map(|words| words.join(", "));
            let word = channel.channel.word();
            writeln!(f, "\n  {word}: where the norm sits in (λ0 μ0): {irreps}; in L0 S0: {ranks}")?;
            for strength in &channel.largest {
                writeln!(f, "    {:>14.6}  {}", strength.value, strength.tensor)?;
            }
        }
        writeln!(f, "\n{:.2} s", self.seconds)
    }
}
