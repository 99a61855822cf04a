//! Spaces that are lists: any pairs of strings, rows as listed.
//!
//! In: the α and β ranks of each row. Out: the row of a pair, by bisection among the β strings of its α string.

use super::SpaceError;

/// Bytes per determinant: its pair, and its index among those of its α string.
pub(super) const BYTES: u64 = 16;

/// A list of determinants.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pairs: Vec<(u32, u32)>,
    /// First entry of each α string's β strings.
    start: Vec<u64>,
    /// β ranks, ascending for each α string, and their rows.
    partners: Vec<(u32, u32)>,
}

impl Listed {
    /// From pairs of ranks, each once.
    pub(super) fn new(alpha: usize, pairs: Vec<(u32, u32)>) -> Result<Listed, SpaceError> {
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_unstable_by_key(|row| (pairs[*row as usize], *row));
        let same = order.windows(2).find(|rows| pairs[rows[0] as usize] == pairs[rows[1] as usize]);
        if let Some(rows) = same {
            return Err(SpaceError::Repeated { first: rows[0] as usize + 1, second: rows[1] as usize + 1 });
        }
        let partners: Vec<(u32, u32)> = order.iter().map(|row| (pairs[*row as usize].1, *row)).collect();
        let begin = |rank: u32| order.partition_point(|row| pairs[*row as usize].0 < rank) as u64;
        let start = (0..=alpha as u32).map(begin).collect();
        Ok(Listed { pairs, start, partners })
    }

    /// α and β ranks of each row.
    pub(super) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    fn partners(&self, alpha: u32) -> &[(u32, u32)] {
        &self.partners[self.start[alpha as usize] as usize..self.start[alpha as usize + 1] as usize]
    }

    pub(super) fn row(&self, alpha: u32, beta: u32) -> Option<u64> {
        let partners = self.partners(alpha);
        let at = partners.binary_search_by_key(&beta, |(beta, _)| *beta).ok()?;
        Some(u64::from(partners[at].1))
    }

    /// Calls `found(β, row)` for each row of α.
    pub(super) fn rows_of(&self, alpha: u32, mut found: impl FnMut(u32, u64)) {
        self.partners(alpha).iter().for_each(|(beta, row)| found(*beta, u64::from(*row)));
    }

    /// Calls `found(k, row)` for each β paired with α; `betas` ascend. The shorter list is looked up in the longer.
    pub(super) fn rows_among(&self, alpha: u32, betas: &[u32], mut found: impl FnMut(usize, u64)) {
        let partners = self.partners(alpha);
        if partners.len() < betas.len() {
            for (beta, row) in partners {
                if let Ok(k) = betas.binary_search(beta) {
                    found(k, u64::from(*row));
                }
            }
            return;
        }
        for (k, beta) in betas.iter().enumerate() {
            if let Ok(at) = partners.binary_search_by_key(beta, |(beta, _)| *beta) {
                found(k, u64::from(partners[at].1));
            }
        }
    }
}
