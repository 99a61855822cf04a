//! The states of a block of sites by charge, and blocks enlarged by one site.
//!
//! In: lists of (charges, number of states). Out: where each sector of an enlarged block keeps the states of which
//! sector of the block and which state of the site. The wave function of two enlarged blocks is one flat buffer: a
//! column-major matrix (left states by right states) for each pair of sectors whose charges add up to the total.

use crate::chain::charges::Charges;
use crate::chain::reachable::Reachable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Charges and number of states of each sector, charges ascending, no sector empty.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Sectors {
    list: Vec<(Charges, usize)>,
}

impl Sectors {
    /// The end of a chain: one state without charges.
    pub fn end() -> Sectors {
        Sectors { list: vec![(Charges::default(), 1)] }
    }

    /// Sectors from a map; empty ones are left out.
    pub(crate) fn from_map(map: BTreeMap<Charges, usize>) -> Sectors {
        Sectors { list: map.into_iter().filter(|(_, dimension)| *dimension > 0).collect() }
    }

    /// Number of sectors.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Charges of a sector.
    pub fn charges(&self, sector: usize) -> Charges {
        self.list[sector].0
    }

    /// States of a sector.
    pub fn dimension(&self, sector: usize) -> usize {
        self.list[sector].1
    }

    /// All states.
    pub fn total(&self) -> usize {
        self.list.iter().map(|(_, dimension)| dimension).sum()
    }

    /// The sector of these charges.
    pub fn find(&self, charges: Charges) -> Option<usize> {
        self.list.binary_search_by_key(&charges, |(charges, _)| *charges).ok()
    }
}

/// States of an enlarged sector that come from one sector of the block and one state of the site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// State of the site.
    pub state: usize,
    /// Sector of the block.
    pub block: usize,
    /// Index of the first of them in the enlarged sector.
    pub first: usize,
    /// How many.
    pub dimension: usize,
}

/// A block and a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Enlarged {
    /// Its sectors.
    pub sectors: Sectors,
    /// The parts of each sector, in the order of their states.
    pub parts: Vec<Vec<Part>>,
    /// (sector, first state) of each (sector of the block, state of the site), where it is allowed.
    places: Vec<Option<(usize, usize)>>,
    states: usize,
}

/// Which end of the chain a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sites 0 … p−1.
    Left,
    /// Sites p … N−1.
    Right,
}

impl Enlarged {
    /// All states of block ⊗ site whose charges pass `allowed`.
    pub fn new(block: &Sectors, site: &[Charges], allowed: impl Fn(Charges) -> bool) -> Enlarged {
        let mut parts: BTreeMap<Charges, Vec<Part>> = BTreeMap::new();
        for (state, charge) in site.iter().enumerate() {
            for index in 0..block.len() {
                let charges = block.charges(index) + *charge;
                if !allowed(charges) {
                    continue;
                }
                let list = parts.entry(charges).or_default();
                let first = list.last().map_or(0, |part| part.first + part.dimension);
                list.push(Part { state, block: index, first, dimension: block.dimension(index) });
            }
        }
        let size = |list: &Vec<Part>| list.last().map_or(0, |part| part.first + part.dimension);
        let sectors = Sectors { list: parts.iter().map(|(charges, list)| (*charges, size(list))).collect() };
        let parts: Vec<Vec<Part>> = parts.into_values().collect();
        let mut places = vec![None; block.len() * site.len()];
        for (sector, list) in parts.iter().enumerate() {
            list.iter().for_each(|part| places[part.block * site.len() + part.state] = Some((sector, part.first)));
        }
        Enlarged { sectors, parts, places, states: site.len() }
    }

    /// The block that ends at cut `p`, enlarged by the site next to it; only charges that fit the chain's sector are
    /// kept.
    pub(crate) fn at_cut(
        block: &Sectors,
        site: &[Charges],
        side: Side,
        p: usize,
        total: Charges,
        reachable: &Reachable,
    ) -> Enlarged {
        match side {
            Side::Left => Enlarged::new(block, site, |charges| reachable.allows(p + 1, charges)),
            Side::Right => Enlarged::new(block, site, |charges| reachable.allows(p - 1, total - charges)),
        }
    }

    /// Number of states of the site.
    pub(crate) fn states(&self) -> usize {
        self.states
    }

    /// The enlarged sector, and the first state in it, of a block sector combined with a site state; `None` if not
    /// allowed.
    pub fn place(&self, block: usize, state: usize) -> Option<(usize, usize)> {
        self.places[block * self.states + state]
    }
}

/// A sector of the wave function: rows are states of a left sector, columns of the right sector that completes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedSector {
    /// Left sector.
    pub left: usize,
    /// Right sector.
    pub right: usize,
    /// Left states.
    pub rows: usize,
    /// Right states.
    pub columns: usize,
    /// First element of its column-major matrix.
    pub offset: usize,
}

/// How the wave function of two enlarged blocks is laid out in its buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct WaveLayout {
    /// Its sectors, left charges ascending.
    pub sectors: Vec<PairedSector>,
    /// Elements in all.
    pub length: usize,
    of_left: Vec<Option<usize>>,
}

impl WaveLayout {
    /// Pairs the sectors of two blocks.
    pub fn new(left: &Sectors, right: &Sectors, total: Charges) -> WaveLayout {
        let (mut sectors, mut length, mut of_left) = (Vec::new(), 0, vec![None; left.len()]);
        for (index, place) in of_left.iter_mut().enumerate() {
            if let Some(partner) = right.find(total - left.charges(index)) {
                let (rows, columns) = (left.dimension(index), right.dimension(partner));
                *place = Some(sectors.len());
                sectors.push(PairedSector { left: index, right: partner, rows, columns, offset: length });
                length += rows * columns;
            }
        }
        WaveLayout { sectors, length, of_left }
    }

    /// The layout of `count` such wave functions side by side, on the side away from the block that `grows`.
    pub(crate) fn stacked(&self, grows: Side, count: usize) -> WaveLayout {
        let mut length = 0;
        let stack = |sector: &PairedSector| {
            let (rows, columns) = match grows {
                Side::Left => (sector.rows, count * sector.columns),
                Side::Right => (count * sector.rows, sector.columns),
            };
            let offset = length;
            length += rows * columns;
            PairedSector { rows, columns, offset, ..*sector }
        };
        let sectors = self.sectors.iter().map(stack).collect();
        WaveLayout { sectors, length, of_left: self.of_left.clone() }
    }

    /// The sector of the wave function with this left sector.
    pub fn of_left(&self, left: usize) -> Option<usize> {
        self.of_left[left]
    }
}

/// Blocks whose sectors have these dimensions at charges 0, 1, 2, … on the left and their complements on the right.
#[cfg(test)]
pub(crate) fn facing(left: &[usize], right: &[usize]) -> (Enlarged, Enlarged, Charges) {
    let charge = |k: usize| {
        let mut charges = Charges::default();
        charges.0[0] = k as _;
        charges
    };
    let sectors = |dimensions: &[usize], of: &dyn Fn(usize) -> usize| {
        let map: BTreeMap<Charges, usize> =
            dimensions.iter().enumerate().map(|(k, dimension)| (charge(of(k)), *dimension)).collect();
        Sectors::from_map(map)
    };
    let total = left.len() - 1;
    let (left, right) = (sectors(left, &|k| k), sectors(right, &|k| total - k));
    let enlarged = |block: &Sectors| Enlarged::new(block, &[Charges::default()], |_| true);
    (enlarged(&left), enlarged(&right), charge(total))
}
