//! A conserved sum over sites with a number for each: momenta of orbitals, 2m of angular momenta, irreps of a group of order two.
//!
//! In: a name, one number q_i per site, a modulus or none. Out: Q = Σ_i q_i n_i, where n_i is the number of fermions or bosons of site i, its
//! level m + S, or its bit. Sums are kept for the life of the program and compared by content, so that they are copied as other charges are.

use super::SiteKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Σ_i q_i n_i, modulo a number if one is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteSum(&'static Content);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    name: String,
    values: Vec<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modulo: Option<i64>,
}

/// The sums so far.
static KNOWN: Mutex<BTreeSet<&'static Content>> = Mutex::new(BTreeSet::new());

impl SiteSum {
    /// The largest magnitude of a number of a site, and the largest modulus: sums over all sites stay far below 2⁶³.
    pub const LARGEST: i64 = 1_000_000;

    /// A sum by its numbers, site by site; sites beyond have 0. A modulus is at least 2.
    pub fn new(name: &str, values: &[i64], modulo: Option<i64>) -> SiteSum {
        SiteSum::intern(Content { name: name.into(), values: values.to_vec(), modulo })
    }

    /// The one sum with this content.
    fn intern(content: Content) -> SiteSum {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&content) {
            return SiteSum(found);
        }
        let kept: &'static Content = Box::leak(Box::new(content));
        known.insert(kept);
        SiteSum(kept)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// The numbers of the sites.
    pub fn values(self) -> &'static [i64] {
        &self.0.values
    }

    /// What it is taken modulo.
    pub fn modulo(self) -> Option<i64> {
        self.0.modulo
    }

    /// Its part in a local state of a site.
    pub(super) fn part(self, kind: SiteKind, site: usize, state: u64) -> i64 {
        let number = if kind.modes().is_empty() { state as i64 } else { i64::from(state.count_ones()) };
        self.0.values.get(site).copied().unwrap_or(0) * number
    }
}

impl Serialize for SiteSum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SiteSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SiteSum, D::Error> {
        Content::deserialize(deserializer).map(SiteSum::intern)
    }
}
