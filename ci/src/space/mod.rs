//! Determinant spaces: which pairs of an α and a β string, in which order, and from a pair to its row and back.
//!
//! | space | order of rows |
//! |---|---|
//! | [`Space::full`]: every pair | α string, then β string (row = α rank × β strings + β rank) |
//! | [`Space::excitations`]: up to k electrons away from the reference, the lowest orbitals | k, α string, β string |
//! | [`Space::ras`]: restricted orbitals | holes in RAS1, electrons in RAS3, α string, β string |
//! | [`Space::from_file`]: a list | as listed |
//!
//! Strings ascend as numbers. Any of these spaces may be restricted to one irreducible representation
//! ([`Space::in_irrep`]): the product of the occupied orbitals' irreps, which for the abelian groups is the XOR of
//! (Molpro's number − 1).
//!
//! | file | question it answers |
//! |---|---|
//! | `blocks` | where is a pair in a space of products of strings? |
//! | `listed` | where is a pair in a list? |
//! | `restriction` | which determinants are left out, by level or by restricted orbitals? |
//! | `file` | what does a file of determinants contain? |
//! | `error` | what can be wrong? |

mod blocks;
mod error;
mod file;
mod listed;
mod restriction;

use super::strings::{self, MAX_ORBITALS, Occupation, Strings, occupied};
use blocks::{Blocks, Label};
use eigenforge_runtime::Device;
use eigenforge_runtime::input_file::{FileKind, TextFile};
use file::parse;
use listed::Listed;
use std::path::Path;
use std::sync::Arc;

pub use error::SpaceError;
pub use file::FileError;
pub use restriction::RestrictedActiveSpace;
pub(super) use restriction::Restriction;

/// How a space is built.
#[derive(Clone, Debug)]
enum Order {
    Blocks(Blocks),
    Listed(Listed),
}

/// How a space of products of strings finds rows: row of (α, β) = first row of (α, slot of β) + index of β.
pub(super) struct ProductTables<'a> {
    /// Slots of β strings.
    pub slots: usize,
    /// [α × slots + slot]; all bits set if the space has none.
    pub first_row: &'a [u64],
    /// Slot and index of each β string.
    pub places: &'a [(u16, u32)],
}

/// A determinant space. Clones share its strings and rows.
#[derive(Clone, Debug)]
pub struct Space {
    orbitals: usize,
    alpha: Arc<Strings>,
    beta: Arc<Strings>,
    /// What is left out; nothing of a list.
    restriction: Restriction,
    /// Irrep of each orbital, if the space has a single irrep.
    irreps: Option<Vec<u8>>,
    order: Arc<Order>,
}

impl Space {
    /// Full configuration interaction.
    pub fn full(orbitals: usize, up: usize, down: usize) -> Result<Space, SpaceError> {
        Space::of_strings(orbitals, up, down, Restriction::None)
    }

    /// All determinants up to `level` electrons away from the one of the lowest orbitals: 1 CIS, 2 CISD, and so on.
    pub fn excitations(orbitals: usize, up: usize, down: usize, level: usize) -> Result<Space, SpaceError> {
        let most = |electrons: usize| electrons.min(orbitals.saturating_sub(electrons));
        Space::of_strings(orbitals, up, down, Restriction::Level(level.min(most(up) + most(down))))
    }

    /// All determinants that restricted orbitals allow.
    ///
    /// # Errors
    /// Restricted orbitals that cannot be; no determinant.
    pub fn ras(orbitals: usize, up: usize, down: usize, ras: RestrictedActiveSpace) -> Result<Space, SpaceError> {
        ras.check(orbitals)?;
        let space = Space::of_strings(orbitals, up, down, Restriction::Ras(ras))?;
        if space.len() == 0 { Err(SpaceError::NoPlace { ras, orbitals, up, down }) } else { Ok(space) }
    }

    /// The determinants of a text file: on each line the α and the β occupation string, such as `1110 1100`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Space, SpaceError> {
        let path = path.as_ref();
        let file = TextFile::open(path, FileKind::DETERMINANTS)
            .map_err(|source| SpaceError::Io { path: path.to_owned(), source })?;
        let (orbitals, determinants) =
            parse(file).map_err(|source| SpaceError::File { path: path.to_owned(), source })?;
        Space::from_determinants(orbitals, &determinants)
    }

    /// These determinants, (α word, β word) each, in this order.
    pub fn from_determinants(orbitals: usize, determinants: &[(Occupation, Occupation)]) -> Result<Space, SpaceError> {
        let Some(first) = determinants.first() else { return Err(SpaceError::NoDeterminants) };
        check(orbitals, first.0.count_ones() as usize, first.1.count_ones() as usize)?;
        if u32::try_from(determinants.len()).is_err() {
            return Err(SpaceError::Rows { found: determinants.len() });
        }
        let inside = if orbitals == MAX_ORBITALS { Occupation::MAX } else { (1 << orbitals) - 1 };
        for (up, down) in determinants {
            let same = up.count_ones() == first.0.count_ones() && down.count_ones() == first.1.count_ones();
            if !same || (up | down) & !inside != 0 {
                let (up, down) = (up.count_ones() as usize, down.count_ones() as usize);
                return Err(SpaceError::Electrons { up, down, orbitals });
            }
        }
        let bytes = determinants.len() as u64 * (2 * strings::BYTES + listed::BYTES);
        Device::cpu().check_memory(&format!("a list of {} determinants", determinants.len()), bytes)?;
        let strings = |spin: fn(&(Occupation, Occupation)) -> Occupation| {
            Strings::new(spin(first).count_ones() as usize, determinants.iter().map(spin).collect())
        };
        let (alpha, beta) = (strings(|pair| pair.0), strings(|pair| pair.1));
        let rank = |(up, down): &(Occupation, Occupation)| alpha.rank(*up).zip(beta.rank(*down));
        let pairs: Vec<(u32, u32)> = determinants.iter().filter_map(rank).collect();
        let order = Order::Listed(Listed::new(alpha.words().len(), pairs)?);
        Ok(Space {
            orbitals,
            alpha: alpha.into(),
            beta: beta.into(),
            restriction: Restriction::None,
            irreps: None,
            order: order.into(),
        })
    }

    fn of_strings(orbitals: usize, up: usize, down: usize, restriction: Restriction) -> Result<Space, SpaceError> {
        check(orbitals, up, down)?;
        let mut bytes = 0u64;
        for electrons in [up, down] {
            let strings = count_strings(orbitals, electrons, restriction);
            match strings {
                Some(count) if count < u128::from(u32::MAX) => {
                    let segments = restriction.most().map(|most| most as u64 + 1).iter().product::<u64>();
                    bytes += count as u64 * (strings::BYTES + segments * blocks::BYTES);
                }
                strings => return Err(SpaceError::Strings { strings, electrons, orbitals }),
            }
        }
        Device::cpu().check_memory(&format!("strings of {up} and {down} electrons in {orbitals} orbitals"), bytes)?;
        let strings = |electrons| match restriction {
            Restriction::None => Strings::up_to_level(orbitals, electrons, orbitals),
            Restriction::Level(level) => Strings::up_to_level(orbitals, electrons, level),
            Restriction::Ras(ras) => Strings::new(electrons, ras.words(orbitals, electrons)),
        };
        let (alpha, beta) = (strings(up), strings(down));
        let label = |strings: &Strings| labels(strings, (restriction, orbitals), None);
        let order = Order::Blocks(Blocks::new(&label(&alpha), &label(&beta), restriction.most(), None));
        Ok(Space { orbitals, alpha: alpha.into(), beta: beta.into(), restriction, irreps: None, order: order.into() })
    }

    /// The determinants whose irrep is `irrep`, in the same order. `irreps` has one per orbital, from 1, in Molpro's
    /// numbering.
    pub fn in_irrep(self, irreps: &[u8], irrep: u8) -> Result<Space, SpaceError> {
        let orbitals = self.orbitals;
        if self.irreps.is_some() {
            return Err(SpaceError::Cut);
        }
        check_irreps(irreps, orbitals)?;
        if !(1..=8).contains(&irrep) {
            return Err(SpaceError::Irrep { found: irrep });
        }
        let space = match &*self.order {
            Order::Listed(listed) => {
                let words = listed.pairs().iter().map(|pair| self.words(*pair));
                let kept: Vec<(Occupation, Occupation)> =
                    words.filter(|pair| irrep_of(irreps, *pair) == irrep).collect();
                if kept.is_empty() {
                    return Err(SpaceError::Empty { irrep });
                }
                Space::from_determinants(orbitals, &kept)?
            }
            Order::Blocks(_) => {
                let slots = 8 * self.restriction.most().map(|most| most as u64 + 1).iter().product::<u64>();
                let bytes = self.alpha.words().len() as u64 * slots * 8;
                Device::cpu().check_memory(&format!("the rows of irrep {irrep}"), bytes)?;
                let label = |strings| labels(strings, (self.restriction, orbitals), Some(irreps));
                let most = self.restriction.most();
                let blocks = Blocks::new(&label(&self.alpha), &label(&self.beta), most, Some(irrep - 1));
                Space { order: Arc::new(Order::Blocks(blocks)), ..self }
            }
        };
        if space.len() == 0 {
            return Err(SpaceError::Empty { irrep });
        }
        Ok(Space { irreps: Some(irreps.to_vec()), ..space })
    }

    /// Irrep of the determinant of the lowest orbitals, in Molpro's numbering.
    pub fn reference_irrep(&self, irreps: &[u8]) -> Result<u8, SpaceError> {
        check_irreps(irreps, self.orbitals)?;
        let words = (strings::reference(self.alpha.electrons()), strings::reference(self.beta.electrons()));
        Ok(irrep_of(irreps, words))
    }

    /// The irrep of the space, in Molpro's numbering; `None` if it has determinants of all.
    pub fn irrep(&self) -> Option<u8> {
        self.irreps.as_ref().map(|irreps| irrep_of(irreps, self.determinant(0)))
    }

    /// Number of determinants.
    #[allow(clippy::len_without_is_empty)] // no space is empty
    pub fn len(&self) -> u64 {
        match &*self.order {
            Order::Blocks(blocks) => blocks.rows(),
            Order::Listed(listed) => listed.pairs().len() as u64,
        }
    }

    /// Hashes what identifies the space: every determinant of a list; for products of strings their parameters and the
    /// first determinant, which has the irrep.
    pub(super) fn identify(&self, hash: &mut blake3::Hasher) {
        let listed = matches!(*self.order, Order::Listed(_));
        let numbers = [self.orbitals, self.alpha.electrons(), self.beta.electrons()];
        let level = self.level().map_or(u64::MAX, |level| level as u64);
        let numbers = numbers.map(|number| number as u64);
        for number in numbers.into_iter().chain([level, self.len(), u64::from(listed)]) {
            hash.update(&number.to_le_bytes());
        }
        if let Restriction::Ras(ras) = self.restriction {
            for number in [ras.ras1, ras.holes, ras.ras3, ras.electrons] {
                hash.update(&(number as u64).to_le_bytes());
            }
        }
        hash.update(self.irreps.as_deref().unwrap_or_default());
        for row in 0..if listed { self.len() } else { 1 } {
            let (up, down) = self.determinant(row);
            hash.update(&up.to_le_bytes()).update(&down.to_le_bytes());
        }
    }

    /// Spatial orbitals.
    pub fn orbitals(&self) -> usize {
        self.orbitals
    }

    /// The α strings.
    pub fn alpha(&self) -> &Strings {
        &self.alpha
    }

    /// The β strings.
    pub fn beta(&self) -> &Strings {
        &self.beta
    }

    /// α electrons less β electrons.
    pub(super) fn two_sz(&self) -> i64 {
        self.alpha.electrons() as i64 - self.beta.electrons() as i64
    }

    /// Highest excitation level, if rows are ordered by level.
    pub fn level(&self) -> Option<usize> {
        if let Restriction::Level(level) = self.restriction { Some(level) } else { None }
    }

    /// Restricted orbitals, if the space has some.
    pub(super) fn restricted_orbitals(&self) -> Option<RestrictedActiveSpace> {
        if let Restriction::Ras(ras) = self.restriction { Some(ras) } else { None }
    }

    /// Whether it contains every determinant, or every one of its irrep, with rows by α string, then β string.
    pub fn is_complete(&self) -> bool {
        matches!(*self.order, Order::Blocks(_)) && self.restriction == Restriction::None
    }

    /// Whether it is a list of determinants.
    pub fn is_list(&self) -> bool {
        matches!(*self.order, Order::Listed(_))
    }

    /// The orbitals' irreps, if the space has a single irrep.
    pub fn irreps(&self) -> Option<&[u8]> {
        self.irreps.as_deref()
    }

    /// (α word, β word) of a row below [`Space::len`].
    pub fn determinant(&self, row: u64) -> (Occupation, Occupation) {
        self.words(self.ranks(row))
    }

    /// The row of a determinant, if it is in the space.
    pub fn row(&self, up: Occupation, down: Occupation) -> Option<u64> {
        self.row_of(self.alpha.rank(up)?, self.beta.rank(down)?)
    }

    /// Ranks of the α and the β string of a row.
    pub fn ranks(&self, row: u64) -> (u32, u32) {
        match &*self.order {
            Order::Blocks(blocks) => blocks.ranks(row),
            Order::Listed(listed) => listed.pairs()[row as usize],
        }
    }

    /// The row of a pair of strings by rank, if it is in the space.
    pub fn row_of(&self, alpha: u32, beta: u32) -> Option<u64> {
        match &*self.order {
            Order::Blocks(blocks) => blocks.row(alpha, beta),
            Order::Listed(listed) => listed.row(alpha, beta),
        }
    }

    /// Calls `found` with the β string and the row of each row of an α string.
    pub(super) fn rows_of(&self, alpha: u32, found: impl FnMut(u32, u64)) {
        match &*self.order {
            Order::Blocks(blocks) => blocks.rows_of(alpha, found),
            Order::Listed(listed) => listed.rows_of(alpha, found),
        }
    }

    /// The slot of each β string: strings of one slot are consecutive in rows. A list has one slot.
    pub(super) fn slot(&self, beta: u32) -> u16 {
        match &*self.order {
            Order::Blocks(blocks) => blocks.slot(beta),
            Order::Listed(_) => 0,
        }
    }

    /// Calls `found` with the row of (α, β) for each β of one slot that is in the space, and with β's index in the list.
    pub(super) fn rows_among(&self, alpha: u32, slot: u16, betas: &[u32], found: impl FnMut(usize, u64)) {
        match &*self.order {
            Order::Blocks(blocks) => blocks.rows_among(alpha, slot, betas, found),
            Order::Listed(listed) => listed.rows_among(alpha, betas, found),
        }
    }

    /// Row tables of a space that is not a list.
    pub(super) fn product_tables(&self) -> Option<ProductTables<'_>> {
        let Order::Blocks(blocks) = &*self.order else { return None };
        let (first_row, places) = blocks.tables();
        Some(ProductTables { slots: blocks.slots(), first_row, places })
    }

    fn words(&self, (alpha, beta): (u32, u32)) -> (Occupation, Occupation) {
        (self.alpha.words()[alpha as usize], self.beta.words()[beta as usize])
    }
}

/// Product of the occupied orbitals' irreps, Molpro's numbering.
pub(super) fn irrep_of(irreps: &[u8], (up, down): (Occupation, Occupation)) -> u8 {
    1 + (product(irreps, up) ^ product(irreps, down))
}

fn product(irreps: &[u8], word: Occupation) -> u8 {
    occupied(word).fold(0, |product, orbital| product ^ (irreps[orbital] - 1))
}

/// Counts and irrep of each string, as far as the space uses them.
fn labels(strings: &Strings, (restriction, orbitals): (Restriction, usize), irreps: Option<&[u8]>) -> Vec<Label> {
    let label = |word: &Occupation| Label {
        counts: restriction.of_string(*word, orbitals).map(|count| count as u8),
        irrep: irreps.map_or(0, |irreps| product(irreps, *word)),
    };
    strings.words().iter().map(label).collect()
}

/// Strings of one spin that a restriction leaves; `None` past 128 bits.
fn count_strings(orbitals: usize, electrons: usize, restriction: Restriction) -> Option<u128> {
    let most = electrons.min(orbitals - electrons);
    let up_to = |level: usize| {
        let counts = strings::by_level(orbitals, electrons, most.min(level))?;
        counts.iter().try_fold(0u128, |sum, count| sum.checked_add(*count))
    };
    match restriction {
        Restriction::None => up_to(most),
        Restriction::Level(level) => up_to(level),
        Restriction::Ras(ras) => ras.strings(orbitals, electrons),
    }
}

fn check(orbitals: usize, up: usize, down: usize) -> Result<(), SpaceError> {
    if orbitals > MAX_ORBITALS {
        return Err(SpaceError::Orbitals { found: orbitals });
    }
    if up.max(down) > orbitals {
        return Err(SpaceError::Electrons { up, down, orbitals });
    }
    Ok(())
}

/// Checks that there is one irrep per orbital, each from 1 to 8.
pub(super) fn check_irreps(irreps: &[u8], orbitals: usize) -> Result<(), SpaceError> {
    match irreps.len() {
        0 if orbitals > 0 => return Err(SpaceError::NoIrreps),
        found if found != orbitals => return Err(SpaceError::IrrepCount { found, orbitals }),
        _ => {}
    }
    match irreps.iter().find(|irrep| !(1..=8).contains(*irrep)) {
        Some(found) => Err(SpaceError::Irrep { found: *found }),
        None => Ok(()),
    }
}
