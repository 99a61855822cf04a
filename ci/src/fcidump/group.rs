//! Point groups whose irreps all have dimension 1, and the numbers that programs give to their irreps.
//!
//! A product of irreps is the XOR of their numbers from 0, in Cotton's order (that of character tables, which PySCF uses) and in Molpro's
//! alike: the second is a linear map of the first over GF(2). Sources: Molpro's manual, "symmetry"; `pyscf/symm/param.py`
//! (`IRREP_ID_TABLE`, `IRREP_ID_MOLPRO`); `psi4/driver/p4util/fcidump.py` (`_irrep_map`: Psi4 writes Molpro's numbers).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A subgroup of D2h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AbelianGroup {
    /// No symmetry.
    C1,
    /// Inversion.
    Ci,
    /// A twofold axis.
    C2,
    /// A mirror.
    Cs,
    /// Three twofold axes.
    D2,
    /// A twofold axis in two mirrors.
    C2v,
    /// A twofold axis and a mirror across it.
    C2h,
    /// Three mirrors.
    D2h,
}

impl AbelianGroup {
    /// All, by name.
    pub const WORDS: [(&'static str, AbelianGroup); 8] = [
        ("C1", AbelianGroup::C1),
        ("Ci", AbelianGroup::Ci),
        ("C2", AbelianGroup::C2),
        ("Cs", AbelianGroup::Cs),
        ("D2", AbelianGroup::D2),
        ("C2v", AbelianGroup::C2v),
        ("C2h", AbelianGroup::C2h),
        ("D2h", AbelianGroup::D2h),
    ];

    /// Its irreps, in Molpro's order.
    pub fn irreps(self) -> &'static [&'static str] {
        match self {
            AbelianGroup::C1 => &["A"],
            AbelianGroup::Ci => &["Ag", "Au"],
            AbelianGroup::C2 => &["A", "B"],
            AbelianGroup::Cs => &["A'", "A\""],
            AbelianGroup::D2 => &["A", "B3", "B2", "B1"],
            AbelianGroup::C2v => &["A1", "B1", "B2", "A2"],
            AbelianGroup::C2h => &["Ag", "Au", "Bu", "Bg"],
            AbelianGroup::D2h => &["Ag", "B3u", "B2u", "B1g", "B1u", "B2g", "B3g", "Au"],
        }
    }

    /// Number of irreps.
    pub fn order(self) -> usize {
        self.irreps().len()
    }

    /// Molpro's number, from 1, of PySCF's irrep, which has a number from 0 below the order.
    pub(super) fn molpro_number(self, pyscf: u8) -> u8 {
        let numbers: &[u8] = match self {
            AbelianGroup::C1 => &[1],
            AbelianGroup::Ci | AbelianGroup::C2 | AbelianGroup::Cs => &[1, 2],
            AbelianGroup::D2 => &[1, 4, 3, 2],
            AbelianGroup::C2v | AbelianGroup::C2h => &[1, 4, 2, 3],
            AbelianGroup::D2h => &[1, 4, 6, 7, 8, 5, 3, 2],
        };
        numbers[usize::from(pyscf)]
    }

    /// Molpro's number of an irrep by name, whatever the case of its letters.
    pub fn number(self, name: &str) -> Option<u8> {
        let name = name.replace("''", "\"");
        let place = self.irreps().iter().position(|irrep| irrep.eq_ignore_ascii_case(&name))?;
        Some(place as u8 + 1)
    }
}

impl FromStr for AbelianGroup {
    type Err = ();

    /// By name, whatever the case of its letters; linear molecules have the group in which programs treat them.
    fn from_str(text: &str) -> Result<AbelianGroup, ()> {
        let text = match text.to_ascii_uppercase().as_str() {
            "DOOH" => "D2h",
            "COOV" => "C2v",
            _ => text,
        };
        let found = AbelianGroup::WORDS.into_iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        found.map(|(_, group)| group).ok_or(())
    }
}

impl fmt::Display for AbelianGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = AbelianGroup::WORDS.into_iter().find(|(_, group)| group == self);
        f.write_str(word.map_or("", |(word, _)| word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters under C2z, C2x and inversion (or the mirrors that a group has in their place), by Mulliken's rules.
    #[test]
    fn both_numberings_multiply_by_xor() {
        for (word, group) in AbelianGroup::WORDS {
            assert_eq!((word.to_ascii_uppercase().parse(), group.to_string().as_str()), (Ok(group), word));
            let order = group.order() as u8;
            let molpro = |pyscf: u8| group.molpro_number(pyscf) - 1;
            let mut all: Vec<u8> = (0..order).map(molpro).collect();
            for a in 0..order {
                for b in 0..order {
                    assert_eq!(molpro(a) ^ molpro(b), molpro(a ^ b), "{word}: {a} {b}");
                }
            }
            all.sort_unstable();
            assert_eq!(all, (0..order).collect::<Vec<_>>());
            for (place, name) in group.irreps().iter().enumerate() {
                assert_eq!(group.number(&name.to_lowercase()), Some(place as u8 + 1));
            }
        }
    }

    /// The order of character tables, which PySCF's numbers follow.
    #[test]
    fn names_in_the_order_of_character_tables() {
        let tables: [(AbelianGroup, &[&str]); 4] = [
            (AbelianGroup::D2, &["A", "B1", "B2", "B3"]),
            (AbelianGroup::C2v, &["A1", "A2", "B1", "B2"]),
            (AbelianGroup::C2h, &["Ag", "Bg", "Au", "Bu"]),
            (AbelianGroup::D2h, &["Ag", "B1g", "B2g", "B3g", "Au", "B1u", "B2u", "B3u"]),
        ];
        for (group, names) in tables {
            for (pyscf, name) in names.iter().enumerate() {
                assert_eq!(group.number(name), Some(group.molpro_number(pyscf as u8)), "{group} {name}");
            }
        }
    }
}
