//! What has been read of a file: entries in, checked integrals out.
//!
//! Of unrestricted orbitals the blocks follow each other: an entry belongs to the block whose end has not been read yet.

use super::entries::{Entry, Place};
use super::{AGREEMENT, FcidumpError, FcidumpHeader};
use crate::integrals::{BetaIntegrals, Integrals, pair, triangle};

/// The blocks of a file of unrestricted orbitals, in its order.
pub(super) const BLOCKS: [&str; 5] =
    ["(ij|kl) of two α", "(ij|kl) of two β", "(ij|kl) of an α and a β electron", "h_ij of α", "h_ij of β"];

/// The integrals that have been read, with the line of each; line 0 if it was not read.
pub(super) struct Collected {
    pub(super) integrals: Integrals,
    core_line: u64,
    /// Lines of the lists of one-electron and of two-electron integrals, in the order of [`Integrals::lists`].
    one_line: Vec<Vec<u32>>,
    two_line: Vec<Vec<u32>>,
    /// Blocks of unrestricted orbitals that have ended.
    ended: usize,
}

impl Collected {
    pub(super) fn new(header: &FcidumpHeader) -> Collected {
        let mut integrals = Integrals::zero(header.orbitals);
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
        let pairs = triangle(self.integrals.orbitals);
        let Collected { integrals, one_line, two_line, ended, .. } = self;
        let Integrals { one, two, beta, .. } = integrals;
        let (held, held_line) = match (entry.place, beta) {
            (Place::OrbitalEnergy, _) => return Ok(()),
            (Place::Core, Some(_)) if *ended < BLOCKS.len() => return self.end_block(&entry, line),
            (Place::Core, _) => return self.set_core(&entry, line),
            (Place::One(i, j), None) => {
                let at = pair(i, j);
                (&mut one[at], &mut one_line[0][at])
            }
            (Place::Two(i, j, k, l), None) => {
                let at = pair(pair(i, j), pair(k, l));
                (&mut two[at], &mut two_line[0][at])
            }
            (Place::One(i, j), Some(beta)) if *ended > 2 => {
                let (at, is_beta) = (pair(i, j), *ended > 3);
                (&mut if is_beta { &mut beta.one } else { one }[at], &mut one_line[usize::from(is_beta)][at])
            }
            (Place::Two(i, j, k, l), Some(beta)) if *ended < 3 => {
                let (left, right) = (pair(i, j), pair(k, l));
                let at = if *ended == 2 { left * pairs + right } else { pair(left, right) };
                let list = [two, &mut beta.two, &mut beta.mixed].into_iter().nth(*ended);
                let list = list.unwrap_or_else(|| unreachable!("there are three blocks of two electrons"));
                (&mut list[at], &mut two_line[*ended][at])
            }
            (place, Some(_)) => {
                let (number, expected) = (*ended + 1, BLOCKS.get(*ended).copied().unwrap_or("the core energy"));
                return Err(FcidumpError::Block { line, name: place.to_string(), number, expected });
            }
        };
        if *held_line > 0 {
            let block = BLOCKS.get(*ended).filter(|_| unrestricted);
            let block = block.map_or(String::new(), |block| format!(" in block {}, {block}", *ended + 1));
            return agree(Some((*held, u64::from(*held_line))), &entry, line, &block);
        }
        // A file of over 4 billion lines contains repetitions; its later lines get the largest number.
        (*held, *held_line) = (entry.value, u32::try_from(line).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Goes on with the next block, after a line of zeros.
    fn end_block(&mut self, entry: &Entry, line: u64) -> Result<(), FcidumpError> {
        if entry.value != 0.0 {
            let (number, block) = (self.ended + 1, BLOCKS[self.ended]);
            return Err(FcidumpError::BlockEnd { line, value: entry.value, number, block });
        }
        self.ended += 1;
        Ok(())
    }

    fn set_core(&mut self, entry: &Entry, line: u64) -> Result<(), FcidumpError> {
        let old = (self.core_line > 0).then_some((self.integrals.core, self.core_line));
        agree(old, entry, line, "")?;
        if old.is_none() {
            (self.integrals.core, self.core_line) = (entry.value, line);
        }
        Ok(())
    }

    /// The integrals, after the last line.
    pub(super) fn finish(self, line: u64) -> Result<Integrals, FcidumpError> {
        match BLOCKS.get(self.ended).filter(|_| self.integrals.is_unrestricted()) {
            Some(block) => Err(FcidumpError::MissingBlocks { line, ended: self.ended, block }),
            None if self.core_line == 0 => Err(FcidumpError::Truncated { line }),
            None => Ok(self.integrals),
        }
    }
}

/// Refuses a value that differs from the one already read.
fn agree(old: Option<(f64, u64)>, entry: &Entry, second: u64, block: &str) -> Result<(), FcidumpError> {
    let Some((old, first)) = old else { return Ok(()) };
    let scale = old.abs().max(entry.value.abs()).max(1.0);
    if (old - entry.value).abs() > AGREEMENT * scale {
        let name = format!("{}{block}", entry.place);
        return Err(FcidumpError::Conflict { first, second, name, old, new: entry.value });
    }
    Ok(())
}
