//! Writes [`Integrals`] as an FCIDUMP file: every non-zero integral once, in the shortest digits that read back exactly.

use super::FcidumpError;
use crate::integrals::{Integrals, pair};
use std::io::{BufWriter, Write};
use std::path::Path;

impl Integrals {
    /// Writes an FCIDUMP file.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FcidumpError> {
        let failed = |source| FcidumpError::Io { path: path.as_ref().to_owned(), source };
        let mut file = BufWriter::new(std::fs::File::create(&path).map_err(failed)?);
        self.write_to(&mut file).and_then(|()| file.flush()).map_err(failed)
    }

    /// Writes the text of an FCIDUMP file: i ≥ j, k ≥ l, ij ≥ kl; of unrestricted orbitals block by block (`IUHF=1`).
    pub fn write_to(&self, mut file: impl Write) -> std::io::Result<()> {
        writeln!(file, " &FCI NORB={},NELEC={},MS2={},", self.orbitals, self.electrons, self.two_sz)?;
        if !self.irreps.is_empty() {
            let irreps: Vec<String> = self.irreps.iter().map(u8::to_string).collect();
            writeln!(file, "  ORBSYM={},", irreps.join(","))?;
        }
        let Integrals { orbitals, core, .. } = *self;
        let Some(beta) = &self.beta else {
            writeln!(file, "  ISYM=1,\n &END")?;
            write_two(&mut file, orbitals, true, |left, right| self.two[pair(left, right)])?;
            write_one(&mut file, orbitals, &self.one)?;
            return write_line(&mut file, core, [0; 4]);
        };
        writeln!(file, "  ISYM=1,IUHF=1,\n &END")?;
        for two in [&self.two, &beta.two] {
            write_two(&mut file, orbitals, true, |left, right| two[pair(left, right)])?;
            write_line(&mut file, 0.0, [0; 4])?;
        }
        write_two(&mut file, orbitals, false, |left, right| self.between(left, right))?;
        write_line(&mut file, 0.0, [0; 4])?;
        for one in [&self.one, &beta.one] {
            write_one(&mut file, orbitals, one)?;
            write_line(&mut file, 0.0, [0; 4])?;
        }
        write_line(&mut file, core, [0; 4])
    }
}

/// (ij|kl) by pairs, i ≥ j and k ≥ l, without zeros; those with ij ≥ kl if both pairs may be exchanged.
fn write_two(
    file: &mut impl Write,
    orbitals: usize,
    exchange: bool,
    value: impl Fn(usize, usize) -> f64,
) -> std::io::Result<()> {
    let pairs = || (0..orbitals).flat_map(|i| (0..=i).map(move |j| (i, j)));
    for (left, (i, j)) in pairs().enumerate() {
        for (right, (k, l)) in pairs().enumerate().take(if exchange { left + 1 } else { usize::MAX }) {
            if value(left, right) != 0.0 {
                write_line(file, value(left, right), [i + 1, j + 1, k + 1, l + 1])?;
            }
        }
    }
    Ok(())
}

/// h_ij with i ≥ j, without zeros.
fn write_one(file: &mut impl Write, orbitals: usize, one: &[f64]) -> std::io::Result<()> {
    for (i, j) in (0..orbitals).flat_map(|i| (0..=i).map(move |j| (i, j))) {
        if one[pair(i, j)] != 0.0 {
            write_line(file, one[pair(i, j)], [i + 1, j + 1, 0, 0])?;
        }
    }
    Ok(())
}

fn write_line(file: &mut impl Write, value: f64, [i, j, k, l]: [usize; 4]) -> std::io::Result<()> {
    writeln!(file, "{value:>25E} {i:>4} {j:>4} {k:>4} {l:>4}")
}
