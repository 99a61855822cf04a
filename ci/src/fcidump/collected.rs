//! What has been read of a file: entries in, checked integrals out.
//!
//! Of unrestricted orbitals the blocks follow each other: an entry belongs to the block whose end has not been read yet.

use super::entries::{Entry, Place};
use super::{AGREEMENT, FcidumpError, FcidumpHeader};
use crate::integrals::{BetaIntegrals, Integrals, pair};
use crate::orbital_number::OrbitalNumber;
use num_complex::Complex64;

/// The blocks of a file of unrestricted orbitals, in its order.
pub(super) const BLOCKS: [&str; 5] =
    ["(ij|kl) of two α", "(ij|kl) of two β", "(ij|kl) of an α and a β electron", "h_ij of α", "h_ij of β"];

/// The integrals that have been read, with the line of each; line 0 if it was not read.
pub(super) struct Collected<T> {
    integrals: Integrals<T>,
    core_line: u64,
    /// Lines of the lists of one-electron and of two-electron integrals, in the order of [`Integrals::lists`].
    one_line: Vec<Vec<u32>>,
    two_line: Vec<Vec<u32>>,
    /// Blocks of unrestricted orbitals that have ended.
    ended: usize,
}

/// Lists of numbers with the line of each.
type List<'c, T> = (&'c mut [T], &'c mut [u32]);

impl<T: OrbitalNumber> Collected<T> {
    pub(super) fn new(header: &FcidumpHeader) -> Collected<T> {
        let mut integrals = Integrals::zeros(header.orbitals);
        integrals.electrons = header.electrons;
        integrals.two_sz = header.two_sz;
        integrals.beta = header.unrestricted.then(|| Box::new(BetaIntegrals::zero(header.orbitals)));
        let [one_line, two_line] =
            integrals.lists().map(|lists| lists.iter().map(|list| vec![0; list.len()]).collect());
        Collected { integrals, core_line: 0, one_line, two_line, ended: 0 }
    }

    pub(super) fn add(&mut self, entry: Entry, line: u64) -> Result<(), FcidumpError> {
        let unrestricted = self.integrals.is_unrestricted();
        if unrestricted && self.core_line > 0 {
            return Err(FcidumpError::AfterCore { line, name: entry.place.to_string(), core: self.core_line });
        }
        let n = self.integrals.orbitals;
        let (number, count) = (|p, q| T::pair(n, p, q), T::pairs(n));
        // The place of the integral, and that of its conjugate.
        let (list, places) = match entry.place {
            Place::OrbitalEnergy => return Ok(()),
            Place::Core if unrestricted && self.ended < BLOCKS.len() => return self.end_block(&entry, line),
            Place::Core => return self.set_core(&entry, line),
            Place::One(i, j) if !unrestricted || matches!(self.ended, 3 | 4) => {
                (self.one_list(), [number(i, j), number(j, i)])
            }
            Place::Two(i, j, k, l) if !unrestricted || self.ended < 3 => {
                let is_mixed = unrestricted && self.ended == 2;
                let place = |left, right| if is_mixed { left * count + right } else { pair(left, right) };
                let places = [place(number(i, j), number(k, l)), place(number(j, i), number(l, k))];
                (self.two_list(), places)
            }
            place => {
                let (number, expected) = (self.ended + 1, BLOCKS.get(self.ended).copied().unwrap_or("the core energy"));
                return Err(FcidumpError::Block { line, name: place.to_string(), number, expected });
            }
        };
        let value = T::from_complex(entry.value);
        put(list, places, value, &entry, line).map_err(|error| match error {
            FcidumpError::Conflict { first, second, name, .. }
                if !unrestricted && (first..second).contains(&self.core_line) =>
            {
                FcidumpError::Blocks { first, second, name, core: self.core_line }
            }
            FcidumpError::Conflict { first, second, name, old, new } => {
                let block = BLOCKS.get(self.ended).filter(|_| unrestricted);
                let block = block.map_or(String::new(), |block| format!(" in block {}, {block}", self.ended + 1));
                FcidumpError::Conflict { first, second, name: name + &block, old, new }
            }
            other => other,
        })
    }

    /// The one-electron integrals that entries now belong to.
    fn one_list(&mut self) -> List<'_, T> {
        let is_beta = usize::from(self.ended > 3);
        let own = match &mut self.integrals.beta {
            Some(beta) if is_beta > 0 => &mut beta.one,
            _ => &mut self.integrals.one,
        };
        (own, &mut self.one_line[is_beta])
    }

    /// The two-electron integrals that entries now belong to.
    fn two_list(&mut self) -> List<'_, T> {
        let own = match (&mut self.integrals.beta, self.ended) {
            (Some(beta), 1) => &mut beta.two,
            (Some(beta), 2) => &mut beta.mixed,
            _ => &mut self.integrals.two,
        };
        (own, &mut self.two_line[self.ended])
    }

    /// Goes on with the next block, after a line of zeros.
    fn end_block(&mut self, entry: &Entry, line: u64) -> Result<(), FcidumpError> {
        if entry.value != Complex64::ZERO {
            let (number, block) = (self.ended + 1, BLOCKS[self.ended]);
            return Err(FcidumpError::BlockEnd { line, value: text(entry.value), number, block });
        }
        self.ended += 1;
        Ok(())
    }

    fn set_core(&mut self, entry: &Entry, line: u64) -> Result<(), FcidumpError> {
        if entry.value.im != 0.0 {
            return Err(FcidumpError::NotHermitian { line, name: entry.place.to_string(), value: text(entry.value) });
        }
        let old = (self.core_line > 0).then_some((self.integrals.core, self.core_line));
        agree(old, entry.value.re, entry, line)?;
        if old.is_none() {
            (self.integrals.core, self.core_line) = (entry.value.re, line);
        }
        Ok(())
    }

    /// The integrals, after the last line.
    pub(super) fn finish(self, line: u64) -> Result<(Integrals<T>, Vec<Vec<u32>>), FcidumpError> {
        match BLOCKS.get(self.ended).filter(|_| self.integrals.is_unrestricted()) {
            Some(block) => Err(FcidumpError::MissingBlocks { line, ended: self.ended, block }),
            None if self.core_line == 0 => Err(FcidumpError::Truncated { line }),
            None => Ok((self.integrals, self.two_line)),
        }
    }
}

/// Writes a number, and its conjugate at the place of that, or compares them with those that are there.
fn put<T: OrbitalNumber>(
    (values, lines): List<'_, T>,
    [own, mirrored]: [usize; 2],
    value: T,
    entry: &Entry,
    line: u64,
) -> Result<(), FcidumpError> {
    if own == mirrored && (value - value.conjugate()).size() > AGREEMENT * value.size().max(1.0) {
        return Err(FcidumpError::NotHermitian { line, name: entry.place.to_string(), value: text(entry.value) });
    }
    for (place, value) in [(own, value), (mirrored, value.conjugate())] {
        let held = lines[place];
        if held > 0 {
            agree(Some((values[place], u64::from(held))), value, entry, line)?;
        } else {
            // A file of over 4 billion lines contains repetitions; its later lines get the largest number.
            (values[place], lines[place]) = (value, u32::try_from(line).unwrap_or(u32::MAX));
        }
    }
    Ok(())
}

/// A number for a message.
fn text(value: Complex64) -> String {
    if value.im == 0.0 { value.re.to_string() } else { format!("({},{})", value.re, value.im) }
}

/// Refuses a value that differs from the one already read.
fn agree<T: OrbitalNumber>(old: Option<(T, u64)>, new: T, entry: &Entry, second: u64) -> Result<(), FcidumpError> {
    let Some((old, first)) = old else { return Ok(()) };
    let scale = old.size().max(new.size()).max(1.0);
    if (old - new).size() > AGREEMENT * scale {
        let name = entry.place.to_string();
        return Err(FcidumpError::Conflict { first, second, name, old: old.text(), new: new.text() });
    }
    Ok(())
}
