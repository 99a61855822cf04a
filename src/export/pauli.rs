//! H as a sum of Pauli strings.
//!
//! In: a model whose sites are qubits, spins ½, hard-core bosons or fermions. Out: the strings of H on all states; the sector does not enter.
//!
//! * A site with one bit is the qubit of its number. The matrices act on the bit: |1⟩ is the upper state of a spin ½ (Sᶻ = −Z/2), a
//!   boson, or an occupied mode.
//! * Fermion modes are qubits by Jordan and Wigner's mapping, in the order of all states here: ↑ before ↓ (flavour by flavour),
//!   sites ascending. Mode m is qubit m = site + spin · sites, and c†_m = Z_0 … Z_{m−1} (X_m − iY_m)/2.
//!
//! A string is X^x Z^z with masks x and z, and Y = iXZ.

use super::{ExportError, ExportFormat, Written};
use crate::exact::Model;
use crate::files::{ReportError, publish};
use crate::operator::{Factor, SiteKind, kind_names};
use crate::words::grouped;
use num_complex::Complex64;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Bits of a mask.
const MOST: usize = u128::BITS as usize;

/// Coefficients of X^x Z^z by (x, z).
type Strings = BTreeMap<(u128, u128), Complex64>;

pub(super) fn write(model: &Model, format: ExportFormat, file: &Path) -> Result<Written, ExportError> {
    let qubits = Qubits::new(model)?;
    let strings = qubits.strings(model);
    let text = match format {
        ExportFormat::Qiskit => qubits.labels(&strings),
        _ => qubits.brackets(&strings),
    };
    let failed = |source| ReportError::Write { file: file.into(), source };
    let written = publish(file, |out| out.write_all(text.as_bytes()).map_err(failed))?;
    let (count, number) = (strings.len() as u64, qubits.number as u64);
    let contents = format!("{} Pauli strings on {number} qubits; {}", grouped(count.into()), qubits.meaning);
    Ok((written, number, count, contents))
}

/// Which qubit each degree of freedom is.
struct Qubits {
    number: usize,
    sites: usize,
    meaning: String,
}

impl Qubits {
    fn new(model: &Model) -> Result<Qubits, ExportError> {
        let operator = model.operator();
        if !operator.forbidden().is_empty() {
            return Err(ExportError::Constrained);
        }
        let kinds = operator.kinds_or_implied();
        let sites = model.sites();
        let modes = match kinds.first() {
            Some(kind @ (SiteKind::Electrons | SiteKind::Flavours(_))) if kinds.iter().all(|k| k == kind) => {
                kind.modes().len()
            }
            Some(_) if kinds.iter().all(|kind| kind.is_two_level()) => 0,
            _ => return Err(ExportError::NoQubits { kinds: kind_names(&kinds) }),
        };
        let meaning = match (modes, kinds.first()) {
            (0, _) => "qubit i is site i; |1> is the upper state of a spin, or a boson".into(),
            (1, _) => "Jordan-Wigner: qubit i is site i, |1> is occupied".into(),
            (_, Some(SiteKind::Electrons)) => {
                format!("Jordan-Wigner: qubit i is the up electron of site i, qubit {sites} + i its down electron")
            }
            _ => format!("Jordan-Wigner: qubit {sites} f + i is flavour f of site i"),
        };
        let number = sites * modes.max(1);
        if number > MOST {
            return Err(ExportError::TooManyQubits { qubits: number, most: MOST });
        }
        Ok(Qubits { number, sites, meaning })
    }

    /// A factor as a sum of strings.
    fn factor(&self, factor: Factor) -> Vec<((u128, u128), Complex64)> {
        let half = Complex64::new(0.5, 0.0);
        // |1><0| = (X − iY)/2 = (X + XZ)/2 and |0><1| = (X − XZ)/2.
        let ladder = |qubit: usize, string: u128, raises: bool| {
            let bit = 1u128 << qubit;
            vec![((bit, string), half), ((bit, string | bit), if raises { half } else { -half })]
        };
        match factor {
            Factor::Create(spin, site) | Factor::Annihilate(spin, site) => {
                let mode = spin.index() * self.sites + site;
                ladder(mode, (1 << mode) - 1, matches!(factor, Factor::Create(..)))
            }
            Factor::Raise(site) | Factor::CreateBoson(site) => ladder(site, 0, true),
            Factor::Lower(site) | Factor::AnnihilateBoson(site) => ladder(site, 0, false),
            Factor::Sz(site) => vec![((0, 1 << site), -half)],
            Factor::ImaginaryUnit => vec![((0, 0), Complex64::I)],
        }
    }

    /// H; strings that cancel but for rounding are left out.
    fn strings(&self, model: &Model) -> Strings {
        let (mut sum, mut sizes) = (Strings::new(), BTreeMap::<(u128, u128), f64>::new());
        for (product, coefficient) in model.operator().terms() {
            let mut partial = vec![((0u128, 0u128), Complex64::from(coefficient))];
            for factor in product {
                let of_factor = self.factor(*factor);
                let times = |((x, z), value): &((u128, u128), Complex64)| {
                    // Z^z X^x' = (−1)^|z & x'| X^x' Z^z.
                    let joined = |((x2, z2), value2): &((u128, u128), Complex64)| {
                        let odd = (z & x2).count_ones() % 2 == 1;
                        ((x ^ x2, z ^ z2), if odd { -value * value2 } else { value * value2 })
                    };
                    of_factor.iter().map(joined).collect::<Vec<_>>()
                };
                partial = partial.iter().flat_map(times).collect();
            }
            for (string, value) in partial {
                *sum.entry(string).or_default() += value;
                *sizes.entry(string).or_default() += value.norm();
            }
        }
        sum.retain(|string, value| value.norm() > 4.0 * f64::EPSILON * sizes[string]);
        sum
    }

    /// Letter of a qubit in a string.
    fn letter((x, z): (u128, u128), qubit: usize) -> char {
        match (x >> qubit & 1, z >> qubit & 1) {
            (0, 0) => 'I',
            (1, 0) => 'X',
            (0, _) => 'Z',
            _ => 'Y',
        }
    }

    /// The real coefficient of the Hermitian string: X^x Z^z = (−i)^|x & z| times its letters.
    fn coefficient((x, z): (u128, u128), value: Complex64) -> f64 {
        let turned = match (x & z).count_ones() % 4 {
            0 => value,
            1 => -Complex64::I * value,
            2 => -value,
            _ => Complex64::I * value,
        };
        turned.re
    }

    /// OpenFermion's text.
    fn brackets(&self, strings: &Strings) -> String {
        let line = |(string, value): (&(u128, u128), &Complex64)| {
            let letters = (0..self.number).map(|qubit| (qubit, Qubits::letter(*string, qubit)));
            let words: Vec<String> = letters
                .filter(|(_, letter)| *letter != 'I')
                .map(|(qubit, letter)| format!("{letter}{qubit}"))
                .collect();
            format!("{:?} [{}]", Qubits::coefficient(*string, *value), words.join(" "))
        };
        let lines: Vec<String> = strings.iter().map(line).collect();
        if lines.is_empty() { "0.0 []\n".into() } else { lines.join(" +\n") + "\n" }
    }

    /// Qiskit's labels.
    fn labels(&self, strings: &Strings) -> String {
        let line = |(string, value): (&(u128, u128), &Complex64)| {
            let label: String = (0..self.number).rev().map(|qubit| Qubits::letter(*string, qubit)).collect();
            format!("{label} {:?}\n", Qubits::coefficient(*string, *value))
        };
        let lines: String = strings.iter().map(line).collect();
        if lines.is_empty() { format!("{} 0.0\n", "I".repeat(self.number)) } else { lines }
    }
}
