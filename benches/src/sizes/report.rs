//! What `bench hubbard --sizes` found, as one JSON object or as a table.
//!
//! Times in milliseconds, medians; bandwidths in GB/s (1e9 bytes, read and written).

use std::fmt;

use serde::Serialize;

use eigenforge::words::grouped;

/// Multiples of the floor of neighbouring sizes that differ by more than this are a cliff.
const CLIFF: f64 = 2.0;

/// What the floor of a size is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Five passes at the speed of memory.
    Memory,
    /// Five passes at the speed of copies that stay in a cache.
    Cache,
    /// The least time in which the device returns a number.
    Start,
}

/// The multiply of one sector.
#[derive(Clone, Debug, Serialize)]
pub struct SizeTime {
    /// LXxLY:UP,DOWN.
    pub case: String,
    /// n_up · n_dn.
    pub dimension: usize,
    /// The plan's shape.
    pub strategy: String,
    /// With x·y, median.
    pub milliseconds: f64,
    /// Of y alone, median.
    pub alone_milliseconds: f64,
    /// Smallest.
    pub best_milliseconds: f64,
    /// A vector's share of four multiplies at once, median; nothing where eight vectors do not fit.
    pub of_four_milliseconds: Option<f64>,
    /// The least that it could take.
    pub floor_milliseconds: f64,
    /// What that is made of.
    pub limit: Limit,
    /// The median over the floor.
    pub of_floor: f64,
    /// cuSPARSE and cuBLAS, median.
    pub vendor_milliseconds: Option<f64>,
    /// The same over the floor.
    pub vendor_of_floor: Option<f64>,
    /// Theirs over ours of y alone, which is what they make.
    pub faster: Option<f64>,
}

/// A sector that was not timed.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// LXxLY:UP,DOWN.
    pub case: String,
    /// n_up · n_dn.
    pub dimension: usize,
    /// Why.
    pub reason: String,
}

/// Two sizes next to each other, one of which is much farther from its floor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cliff {
    /// The smaller sector.
    pub from: String,
    /// The larger one.
    pub to: String,
    /// The larger sector's multiple of its floor over that of the smaller one, or the inverse: above 2.
    pub ratio: f64,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct SizesBench {
    /// Where ours ran.
    pub device: String,
    /// Threads of the CPU.
    pub threads: usize,
    /// Bytes read and written per second by a large copy.
    pub copy_gb_per_second: f64,
    /// The least time in which the device returns a number.
    pub least_milliseconds: f64,
    /// By dimension.
    pub sizes: Vec<SizeTime>,
    /// What did not fit or was not wanted.
    pub left_out: Vec<LeftOut>,
    /// Neighbours that differ by more than a factor of two.
    pub cliffs: Vec<Cliff>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// The cliffs between neighbours of a list that is sorted by dimension.
pub fn cliffs(sizes: &[SizeTime]) -> Vec<Cliff> {
    let between = |pair: &[SizeTime]| {
        let ratio = pair[1].of_floor / pair[0].of_floor;
        let ratio = ratio.max(1.0 / ratio);
        (ratio > CLIFF).then(|| Cliff { from: pair[0].case.clone(), to: pair[1].case.clone(), ratio })
    };
    sizes.windows(2).filter_map(between).collect()
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Limit::Memory => "memory",
            Limit::Cache => "cache",
            Limit::Start => "start",
        })
    }
}

impl fmt::Display for SizesBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {} CPU threads; copy {:.0} GB/s, {:.4} ms to return a number",
            self.device, self.threads, self.copy_gb_per_second, self.least_milliseconds
        )?;
        writeln!(
            f,
            "floor: 5 passes over a vector at the speed of copies of its size, out of memory or of the cache,"
        )?;
        writeln!(f, "or, where that is more, the time that the device takes to return a number")?;
        writeln!(f)?;
        writeln!(
            f,
            "| {:<9} | {:>13} | {:>10} | {:>10} | {:>10} | {:>19} | {:>8} | {:>13} | strategy |",
            "sector", "dimension", "ms", "y alone", "one of 4", "floor, ms", "of floor", "over cuSPARSE"
        )?;
        let rule = |f: &mut fmt::Formatter<'_>, width: usize| write!(f, "{:->width$}|", ":");
        write!(f, "|{:-<11}|", "")?;
        [15, 12, 12, 12, 21, 10, 15].into_iter().try_for_each(|width| rule(f, width))?;
        writeln!(f, "----------|")?;
        for size in &self.sizes {
            let faster = size.faster.map_or(String::new(), |faster| format!("{faster:.2} x"));
            let four = size.of_four_milliseconds.map_or(String::new(), |share| format!("{share:.4}"));
            let floor = format!("{:.4} {:>6}", size.floor_milliseconds, size.limit);
            writeln!(
                f,
                "| {:<9} | {:>13} | {:>10.4} | {:>10.4} | {four:>10} | {floor:>19} | {:>6.2} x | {faster:>13} | {} |",
                size.case,
                grouped(size.dimension as u128),
                size.milliseconds,
                size.alone_milliseconds,
                size.of_floor,
                size.strategy
            )?;
        }
        writeln!(f)?;
        for left in &self.left_out {
            writeln!(f, "left out: {}, dimension {}: {}", left.case, grouped(left.dimension as u128), left.reason)?;
        }
        for cliff in &self.cliffs {
            writeln!(
                f,
                "cliff: {} to {}, a factor of {:.1} in the multiple of the floor",
                cliff.from, cliff.to, cliff.ratio
            )?;
        }
        if self.cliffs.is_empty() {
            writeln!(
                f,
                "no cliff: neighbouring sizes differ by less than a factor of {CLIFF} in the multiple of the floor"
            )?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn size(case: &str, dimension: usize, of_floor: f64, vendor_of_floor: Option<f64>) -> SizeTime {
        SizeTime {
            case: case.into(),
            dimension,
            strategy: "tiles".into(),
            milliseconds: of_floor,
            alone_milliseconds: of_floor,
            best_milliseconds: of_floor,
            of_four_milliseconds: Some(0.5 * of_floor),
            floor_milliseconds: 1.0,
            limit: Limit::Memory,
            of_floor,
            vendor_milliseconds: vendor_of_floor,
            vendor_of_floor,
            faster: vendor_of_floor.map(|vendor| vendor / of_floor),
        }
    }

    /// Up and down count alike; a factor of exactly two is none.
    #[test]
    fn a_cliff_is_a_factor_above_two_between_neighbours() {
        let of_floor = [2.0, 4.0, 1.9, 2.5, 6.0];
        let sizes: Vec<SizeTime> =
            of_floor.iter().enumerate().map(|(k, f)| size(&format!("{k}"), 100 * (k + 1), *f, None)).collect();
        let found: Vec<_> = cliffs(&sizes).into_iter().map(|cliff| (cliff.from, cliff.to)).collect();
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(found, [pair("1", "2"), pair("3", "4")]);
        assert!((cliffs(&sizes)[0].ratio - 4.0 / 1.9).abs() < 1e-15);
    }
}
