//! The namelist: lines up to &END or / in, numbers of orbitals and electrons and the orbitals' irreps out.

use super::entries::shown;
use super::group::AbelianGroup;
use super::orbsym::LARGEST;
use super::{FcidumpError, MAX_ORBITALS};
use eigenforge_runtime::input_file::Lines;
use std::io::BufRead;

/// The contents of the namelist, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FcidumpHeader {
    /// Spatial orbitals, from 1 to 256.
    pub orbitals: usize,
    /// Electrons.
    pub electrons: usize,
    /// n_α − n_β.
    pub two_sz: i64,
    /// ORBSYM as written, in the numbering of some program; empty if the file has none.
    pub orbsym: Vec<u32>,
    /// PNTGRP.
    pub point_group: Option<AbelianGroup>,
    /// IUHF: whether each spin has its own orbitals.
    pub unrestricted: bool,
    /// ICOMPLEX or COMPLEX: whether values may be complex in a file that begins with a real one.
    pub complex: bool,
}

/// Flags of other kinds of integrals, with their names.
const OTHER_KINDS: [(&str, &str); 4] = [
    ("UHF", "unrestricted or spin-orbital"),
    ("TREL", "relativistic spin-orbital"),
    ("GHF", "spin-orbital"),
    ("SPINORB", "spin-orbital"),
];

/// Keys written by other programs that do not affect the integrals.
const IGNORED: [&str; 5] = ["ISYM", "SYML", "SYMLZ", "NPROP", "PROPBITLEN"];

/// Most words of a namelist: some keys, and an irrep for each orbital.
const MAX_WORDS: usize = 16 * MAX_ORBITALS;

/// All of these, for a message.
const KNOWN: &str = "NORB, NELEC, MS2, ORBSYM, PNTGRP, ISYM, IUHF, UHF, ICOMPLEX, COMPLEX, TREL, GHF, SPINORB, SYML, SYMLZ, \
                     NPROP, PROPBITLEN are";

/// A word of the namelist and its line; `=` is a word.
struct Word {
    line: u64,
    text: String,
}

/// KEY = values.
struct Assignment {
    line: u64,
    key: String,
    values: Vec<String>,
}

impl FcidumpHeader {
    /// Reads up to the end of the namelist.
    pub(super) fn read_from(lines: &mut Lines<impl BufRead>) -> Result<FcidumpHeader, FcidumpError> {
        let assignments = assignments(words(lines)?)?;
        let find = |key: &str| assignments.iter().find(|one| one.key == key);
        for one in &assignments {
            one.check_kind()?;
        }
        let missing = |key, meaning| FcidumpError::MissingKey { key, meaning };
        let norb = find("NORB").ok_or(missing("NORB", "the number of spatial orbitals"))?.count()?;
        let electrons = find("NELEC").ok_or(missing("NELEC", "the number of electrons"))?.count()?;
        // Without MS2 as little spin as the electrons can have.
        let two_sz = find("MS2").map_or(Ok((electrons % 2) as i64), Assignment::integer)?;
        let orbitals = match usize::try_from(norb) {
            Ok(orbitals @ 1..=MAX_ORBITALS) => orbitals,
            _ => return Err(FcidumpError::Orbitals { found: norb }),
        };
        if electrons > 2 * norb {
            return Err(FcidumpError::TooManyElectrons { electrons, orbitals });
        }
        check_spins(orbitals, electrons, two_sz)?;
        let orbsym = find("ORBSYM").map_or(Ok(Vec::new()), |one| one.irreps(orbitals))?;
        let point_group = find("PNTGRP").map(Assignment::group).transpose()?;
        let flag = |key| find(key).map_or(Ok(false), Assignment::flag);
        let (unrestricted, complex) = (flag("IUHF")?, flag("ICOMPLEX")? || flag("COMPLEX")?);
        Ok(FcidumpHeader {
            orbitals,
            electrons: electrons as usize,
            two_sz,
            orbsym,
            point_group,
            unrestricted,
            complex,
        })
    }
}

/// Whether n_α and n_β are whole numbers that fit the orbitals.
pub(crate) fn check_spins(orbitals: usize, electrons: u64, two_sz: i64) -> Result<(), FcidumpError> {
    let both = two_sz.unsigned_abs().saturating_add(electrons);
    if two_sz.unsigned_abs() > electrons || !both.is_multiple_of(2) || both / 2 > orbitals as u64 {
        return Err(FcidumpError::Spin { electrons, two_sz, orbitals });
    }
    Ok(())
}

/// The words between &FCI and &END, commas and comments left out.
fn words(lines: &mut Lines<impl BufRead>) -> Result<Vec<Word>, FcidumpError> {
    let (mut words, mut begun) = (Vec::new(), 0);
    while let Some(line) = lines.next()? {
        let number = line.number;
        let text = line.bytes.split(|byte| *byte == b'!').next().unwrap_or_default();
        let spaced: Vec<u8> =
            text.iter().map(|byte| if *byte == b',' { b' ' } else { byte.to_ascii_uppercase() }).collect();
        let upper = String::from_utf8_lossy(&spaced).replace('=', " = ").replace('/', " / ");
        let upper = upper.replace("&END", " &END ").replace("$END", " $END ");
        let mut fields = upper.split_whitespace().peekable();
        if begun == 0 {
            match fields.next() {
                None => continue,
                Some("&FCI" | "$FCI") => begun = number,
                Some(_) => return Err(FcidumpError::NotFcidump { line: number, found: shown(line.bytes) }),
            }
        }
        while let Some(field) = fields.next() {
            if !["&END", "$END", "/", "&"].contains(&field) {
                words.push(Word { line: number, text: field.to_owned() });
                if words.len() > MAX_WORDS {
                    return Err(FcidumpError::EndlessHeader { line: begun });
                }
                continue;
            }
            return match fields.next() {
                None => Ok(words),
                Some(found) => Err(FcidumpError::HeaderSyntax { line: number, found: format!("{field} {found}") }),
            };
        }
    }
    if begun == 0 { Err(FcidumpError::Empty) } else { Err(FcidumpError::EndlessHeader { line: begun }) }
}

/// Groups words into KEY = values; a key is the word before `=`. KEY(k) = values go on from the k − 1 values that KEY has.
fn assignments(words: Vec<Word>) -> Result<Vec<Assignment>, FcidumpError> {
    let mut assignments: Vec<Assignment> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let key_follows = words.peek().is_some_and(|next| next.text == "=");
        if key_follows && word.text != "=" {
            words.next();
            let (key, first) = indexed(&word)?;
            match assignments.iter().position(|one| one.key == key) {
                None if first == 1 => assignments.push(Assignment { line: word.line, key, values: Vec::new() }),
                Some(place) if first > 1 && assignments[place].values.len() + 1 == first => {
                    let begun = assignments.remove(place);
                    assignments.push(begun);
                }
                Some(_) if first == 1 => return Err(FcidumpError::RepeatedKey { line: word.line, key }),
                found => {
                    let values = found.map_or(0, |place| assignments[place].values.len());
                    return Err(FcidumpError::HeaderIndex { line: word.line, key, found: first, expected: values + 1 });
                }
            }
            continue;
        }
        match assignments.last_mut() {
            Some(last) if word.text != "=" => last.add(word)?,
            _ => return Err(FcidumpError::HeaderSyntax { line: word.line, found: word.text }),
        }
    }
    Ok(assignments)
}

/// KEY, or KEY(k) with k from 1.
fn indexed(word: &Word) -> Result<(String, usize), FcidumpError> {
    let Some((key, index)) = word.text.split_once('(') else { return Ok((word.text.clone(), 1)) };
    let index = index.strip_suffix(')').and_then(|index| index.parse().ok());
    match index.filter(|index| (1..=MAX_ORBITALS).contains(index)) {
        Some(index) => Ok((key.to_owned(), index)),
        None => Err(FcidumpError::HeaderSyntax { line: word.line, found: word.text.clone() }),
    }
}

impl Assignment {
    /// Adds a value, or several as in `4*1`.
    fn add(&mut self, word: Word) -> Result<(), FcidumpError> {
        let Some((count, value)) = word.text.split_once('*') else {
            self.values.push(word.text);
            return Ok(());
        };
        match count.parse() {
            Ok(count @ 1..=MAX_ORBITALS) if self.values.len() + count <= MAX_WORDS => {
                self.values.extend(std::iter::repeat_n(value.to_owned(), count));
                Ok(())
            }
            _ => Err(FcidumpError::HeaderSyntax { line: word.line, found: word.text }),
        }
    }

    fn wrong(&self, expected: &'static str) -> FcidumpError {
        FcidumpError::HeaderValue { line: self.line, key: self.key.clone(), expected, found: self.values.join(",") }
    }

    fn integer(&self) -> Result<i64, FcidumpError> {
        match self.values.as_slice() {
            [value] => value.parse().map_err(|_| self.wrong("a whole number")),
            _ => Err(self.wrong("one whole number")),
        }
    }

    fn count(&self) -> Result<u64, FcidumpError> {
        u64::try_from(self.integer()?).map_err(|_| self.wrong("0 or more"))
    }

    fn irreps(&self, orbitals: usize) -> Result<Vec<u32>, FcidumpError> {
        let wrong = || self.wrong("irreps: from 1 to 8 in Molpro's numbering, from 0 to 7 in PySCF's");
        let irrep = |value: &String| value.parse().ok().filter(|irrep| *irrep <= LARGEST).ok_or_else(wrong);
        let irreps: Vec<u32> = self.values.iter().map(irrep).collect::<Result<_, _>>()?;
        if irreps.len() != orbitals {
            return Err(FcidumpError::IrrepCount { line: self.line, found: irreps.len(), orbitals });
        }
        Ok(irreps)
    }

    fn flag(&self) -> Result<bool, FcidumpError> {
        match self.values.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["0" | "F" | ".F." | "FALSE" | ".FALSE."] => Ok(false),
            ["1" | "T" | ".T." | "TRUE" | ".TRUE."] => Ok(true),
            _ => Err(self.wrong("0 or 1")),
        }
    }

    fn group(&self) -> Result<AbelianGroup, FcidumpError> {
        let expected = "C1, Ci, C2, Cs, D2, C2v, C2h or D2h";
        let [value] = self.values.as_slice() else { return Err(self.wrong(expected)) };
        value.trim_matches(['\'', '"']).parse().map_err(|()| self.wrong(expected))
    }

    /// Refuses unknown keys, and flags of other kinds of integrals if they are set.
    fn check_kind(&self) -> Result<(), FcidumpError> {
        let (line, key) = (self.line, self.key.clone());
        if let Some((_, kind)) = OTHER_KINDS.iter().find(|(name, _)| *name == key) {
            return match self.flag() {
                Ok(false) => Ok(()),
                _ => Err(FcidumpError::Kind { line, key, kind }),
            };
        }
        let read = ["NORB", "NELEC", "MS2", "ORBSYM", "PNTGRP", "IUHF", "ICOMPLEX", "COMPLEX"];
        match read.iter().chain(&IGNORED).any(|known| *known == key) {
            true => Ok(()),
            false => Err(FcidumpError::UnknownKey { line, key, known: KNOWN }),
        }
    }
}
