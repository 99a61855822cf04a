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

    /// Writes the text of an FCIDUMP file: i ≥ j, k ≥ l, ij ≥ kl.
    pub fn write_to(&self, mut file: impl Write) -> std::io::Result<()> {
        writeln!(file, " &FCI NORB={},NELEC={},MS2={},", self.orbitals, self.electrons, self.two_sz)?;
        if !self.irreps.is_empty() {
            let irreps: Vec<String> = self.irreps.iter().map(u8::to_string).collect();
            writeln!(file, "  ORBSYM={},", irreps.join(","))?;
        }
        writeln!(file, "  ISYM=1,\n &END")?;
        let mut line = |value: f64, i: usize, j: usize, k: usize, l: usize| match value {
            0.0 => Ok(()),
            value => writeln!(file, "{value:>25E} {i:>4} {j:>4} {k:>4} {l:>4}"),
        };
        for i in 0..self.orbitals {
            for j in 0..=i {
                for k in 0..=i {
                    for l in (0..=k).take_while(|l| pair(k, *l) <= pair(i, j)) {
                        line(self.two(i, j, k, l), i + 1, j + 1, k + 1, l + 1)?;
                    }
                }
            }
        }
        for i in 0..self.orbitals {
            for j in 0..=i {
                line(self.one(i, j), i + 1, j + 1, 0, 0)?;
            }
        }
        writeln!(file, "{:>25E} {:>4} {:>4} {:>4} {:>4}", self.core, 0, 0, 0, 0)
    }
}
