//! Spaces of products: each α string with all β strings of one label.
//!
//! In: label of each string (excitation level, or holes and electrons of restricted orbitals; irrep), the most of both counts that a
//! determinant has, the requested irrep. Out: row of (α, β) = start[α, slot of β] + rank of β within its slot, slots being the labels that
//! occur. Rows ascend by (total counts, α string, β string); without counts by (α string, β string).

/// The label of a string of one spin; what the space does not use is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Label {
    /// Both numbers of its restriction.
    pub counts: [u8; 2],
    /// From 0.
    pub irrep: u8,
}

/// Bytes per string and level: its segment and its start.
pub(super) const BYTES: u64 = 24;

/// No rows.
const NONE: u64 = u64::MAX;

/// Consecutive rows of one α string with the β strings of one slot.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    alpha: u32,
    slot: u16,
}

/// A space of products.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    segments: Vec<Segment>,
    /// First row of α with each slot.
    start: Vec<u64>,
    /// β strings of each slot, ascending.
    members: Vec<Vec<u32>>,
    /// Slot of each β string, and its index in it.
    places: Vec<(u16, u32)>,
    rows: u64,
}

impl Blocks {
    pub(super) fn new(alpha: &[Label], beta: &[Label], most: [usize; 2], irrep: Option<u8>) -> Blocks {
        let mut slots: Vec<Label> = beta.to_vec();
        slots.sort_unstable();
        slots.dedup();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); slots.len()];
        let mut places = Vec::with_capacity(beta.len());
        for (label, rank) in beta.iter().zip(0..) {
            let slot = slots.partition_point(|slot| slot < label);
            places.push((slot as u16, members[slot].len() as u32));
            members[slot].push(rank);
        }
        let (mut segments, mut rows) = (Vec::new(), 0);
        let mut start = vec![NONE; alpha.len() * slots.len()];
        for both in (0..=most[0]).flat_map(|first| (0..=most[1]).map(move |second| [first, second])) {
            for (rank, label) in alpha.iter().enumerate() {
                let rest = |at: usize| both[at].checked_sub(usize::from(label.counts[at]));
                let Some((first, second)) = rest(0).zip(rest(1)) else { continue };
                let irrep = irrep.map_or(0, |irrep| irrep ^ label.irrep);
                let counts = [first as u8, second as u8];
                let Ok(slot) = slots.binary_search(&Label { counts, irrep }) else { continue };
                segments.push(Segment { first: rows, alpha: rank as u32, slot: slot as u16 });
                start[rank * slots.len() + slot] = rows;
                rows += members[slot].len() as u64;
            }
        }
        Blocks { segments, start, members, places, rows }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn slot(&self, beta: u32) -> u16 {
        self.places[beta as usize].0
    }

    /// First row of each α string with each slot, [`NONE`] if there is none; slot and index of each β string.
    pub(super) fn tables(&self) -> (&[u64], &[(u16, u32)]) {
        (&self.start, &self.places)
    }

    /// Slots of β strings.
    pub(super) fn slots(&self) -> usize {
        self.members.len()
    }

    /// α and β ranks of a row.
    pub(super) fn ranks(&self, row: u64) -> (u32, u32) {
        let segment = self.segments[self.segments.partition_point(|segment| segment.first <= row) - 1];
        (segment.alpha, self.members[segment.slot as usize][(row - segment.first) as usize])
    }

    fn start(&self, alpha: u32, slot: u16) -> u64 {
        self.start[alpha as usize * self.members.len() + slot as usize]
    }

    pub(super) fn row(&self, alpha: u32, beta: u32) -> Option<u64> {
        let (slot, place) = self.places[beta as usize];
        let start = self.start(alpha, slot);
        (start != NONE).then(|| start + u64::from(place))
    }

    /// Calls `found(β, row)` for each row of α.
    pub(super) fn rows_of(&self, alpha: u32, mut found: impl FnMut(u32, u64)) {
        for (slot, members) in self.members.iter().enumerate() {
            let start = self.start(alpha, slot as u16);
            if start != NONE {
                members.iter().zip(start..).for_each(|(beta, row)| found(*beta, row));
            }
        }
    }

    /// Calls `found(k, row)` for each β of the slot; either all or none are in the space.
    pub(super) fn rows_among(&self, alpha: u32, slot: u16, betas: &[u32], mut found: impl FnMut(usize, u64)) {
        let start = self.start(alpha, slot);
        if start != NONE {
            let rows = betas.iter().map(|beta| start + u64::from(self.places[*beta as usize].1));
            rows.enumerate().for_each(|(k, row)| found(k, row));
        }
    }
}
