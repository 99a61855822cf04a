//! Matrices side by side, each a sum of others, on a device: one launch, with one block of threads per part.

use super::tables::Tables;
use crate::device::{Arguments, Device, Kernel, Vector};
use crate::error::DeviceError;
use crate::records::{AssembledPart, Assembly, AssemblyTerm};
use eigenforge_templates::dmrg::{AssemblySizes, OperatorAssemblyPlan, PartWords, TermWords};

/// The compiled kernel.
pub(crate) struct Assembling {
    kernel: Kernel,
    plan: OperatorAssemblyPlan,
    tables: Tables,
    /// In place of the operators of an empty block.
    nothing: Vector<f64>,
}

/// A number for the table.
fn narrow(number: usize, what: &str) -> Result<u32, DeviceError> {
    u32::try_from(number).map_err(|_| DeviceError::Arguments {
        what: format!("{what} of operators side by side"),
        expected: "a number below 2^32".into(),
        found: number.to_string(),
    })
}

fn words_of_part(part: &AssembledPart) -> Result<[u64; PartWords::WORDS], DeviceError> {
    let of = |[one, other]: [usize; 2], what| Ok::<_, DeviceError>([narrow(one, what)?, narrow(other, what)?]);
    let size = of([part.rows, part.columns], "rows or columns")?;
    // An element's place within its column is a number of 32 bits.
    narrow(part.rows * part.count, "elements in a column")?;
    let matrices = of([part.height, part.count], "rows or number")?;
    let terms = of([part.terms.0, part.terms.1], "number of terms")?;
    Ok(PartWords { to: part.first as u64, size, matrices, terms }.words())
}

fn words_of_term(term: &AssemblyTerm) -> Result<[u64; TermWords::WORDS], DeviceError> {
    let list = [narrow(term.count, "number")?, narrow(term.list, "length of lists")?];
    Ok(TermWords { from: term.first as u64, list }.words())
}

impl Assembling {
    /// # Errors
    /// The compiler is missing.
    pub(crate) fn new(device: &Device) -> Result<Assembling, DeviceError> {
        let plan = OperatorAssemblyPlan::new(super::FAMILY);
        let (kernel, tables, nothing) = (device.compile(&plan.text()?)?, Tables::new(device), device.zeros(1)?);
        Ok(Assembling { kernel, plan, tables, nothing })
    }

    /// Queues the sums; every element of the output is set.
    ///
    /// # Errors
    /// A number is too large for the table; a vector is too short.
    pub(crate) fn run(
        &self,
        assembly: &Assembly,
        source: &Vector<f64>,
        output: &mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        if assembly.parts.is_empty() {
            return Ok(());
        }
        let lists = assembly.lists.starts.len().div_ceil(2) + 2 * assembly.lists.entries.len();
        let parts = PartWords::WORDS * assembly.parts.len() + TermWords::WORDS * assembly.terms.len();
        let mut words = Vec::with_capacity(parts + lists);
        for part in &assembly.parts {
            words.extend(words_of_part(part)?);
        }
        let terms_first = words.len();
        for term in &assembly.terms {
            words.extend(words_of_term(term)?);
        }
        let starts_first = words.len();
        let halves = |two: &[u32]| u64::from(two[0]) | two.get(1).map_or(0, |high| u64::from(*high) << 32);
        words.extend(assembly.lists.starts.chunks(2).map(halves));
        let entries_first = words.len();
        words.extend(
            assembly.lists.entries.iter().flat_map(|(number, coefficient)| [u64::from(*number), coefficient.to_bits()]),
        );
        let of_term = |part: &AssembledPart| -> usize {
            let most = |term: &AssemblyTerm| term.first + part.rows * part.columns * term.count;
            assembly.terms[part.terms.0..][..part.terms.1].iter().map(most).max().unwrap_or(0)
        };
        let source = if source.is_empty() { &self.nothing } else { source };
        let source_end = assembly.parts.iter().map(of_term).max().unwrap_or(0);
        let (output_end, parts) = (assembly.length as u64, assembly.parts.len() as u64);
        let sizes = AssemblySizes { source: source_end as u64, output: output_end, words: words.len() as u64, parts };
        let table = self.tables.upload(&words)?;
        let arguments = Arguments::new()
            .read("source", source)
            .write("output", output)
            .read("table", &*table)
            .i64("terms_first", terms_first as i64)
            .i64("starts_first", starts_first as i64)
            .i64("entries_first", entries_first as i64);
        self.kernel.launch(&self.plan.launch(&sizes)?, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{AssemblyLists, IDENTITY};
    use crate::seeded::vector;
    use crate::simulate::Schedule;
    use std::sync::Arc;

    /// Two blocks of three and of two matrices: parts of several terms, of none, with the identity; nothing of the output stays.
    fn assembly() -> Assembly {
        let lists = AssemblyLists {
            // Three matrices of one list, two of another, three of the identity.
            starts: vec![0, 2, 2, 3, 3, 5, 5, 5, 6, 7],
            entries: vec![(1, 0.5), (0, -2.0), (1, 3.0), (0, 1.5), (2, -0.25), (IDENTITY, 0.75), (IDENTITY, -1.0)],
        };
        let term = |first, count, list| AssemblyTerm { first, count, list };
        let part = |first, [rows, columns]: [usize; 2], height, count, terms| AssembledPart {
            first,
            rows,
            columns,
            height,
            count,
            terms,
        };
        Assembly {
            blocks: vec![(0, 0), (3, 7 * 3 * 5)],
            // 7 × 5: 4 rows and 3, of 5 columns, the second in two parts; 6 × 2.
            parts: vec![
                part(0, [4, 5], 7, 3, (0, 1)),
                part(4, [3, 3], 7, 3, (1, 2)),
                part(4 + 7 * 3 * 3, [3, 2], 7, 3, (3, 0)),
                part(7 * 3 * 5, [6, 2], 6, 2, (3, 1)),
            ],
            terms: vec![term(3, 2, 0), term(50, 2, 0), term(0, 1, 6), term(100, 3, 3)],
            lists: Arc::new(lists),
            length: 7 * 3 * 5 + 6 * 2 * 2,
        }
    }

    /// Element by element.
    fn expected(assembly: &Assembly, source: &[f64]) -> Vec<f64> {
        let mut output = vec![f64::NAN; assembly.length];
        for part in &assembly.parts {
            for (row, k, column) in (0..part.rows)
                .flat_map(|r| (0..part.count).map(move |k| (r, k)))
                .flat_map(|(r, k)| (0..part.columns).map(move |c| (r, k, c)))
            {
                let of_term = |term: &AssemblyTerm| -> f64 {
                    let [from, to] = [0, 1].map(|next| assembly.lists.starts[term.list + k + next] as usize);
                    let value = |(matrix, coefficient): &(u32, f64)| match *matrix {
                        IDENTITY => coefficient * f64::from(u8::from(row == column)),
                        a => coefficient * source[term.first + row + part.rows * (a as usize + term.count * column)],
                    };
                    assembly.lists.entries[from..to].iter().map(value).sum()
                };
                let terms = &assembly.terms[part.terms.0..][..part.terms.1];
                output[part.first + row + part.height * (k + part.count * column)] = terms.iter().map(of_term).sum();
            }
        }
        output
    }

    /// The name has compute-sanitizer run it.
    #[test]
    fn memcheck_operators_are_assembled_as_on_cores() {
        let (assembly, source) = (assembly(), vector(160, 4));
        let expected = expected(&assembly, &source);
        assert!(expected.iter().all(|value| value.is_finite()), "parts cover all blocks");
        let near = |found: &[f64]| {
            let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            apart.fold(0.0, |most: f64, apart| if apart.is_nan() { f64::NAN } else { most.max(apart) }) < 1e-14
        };
        let mut found = vec![f64::NAN; assembly.length];
        assembly.run(&source, &mut found);
        assert!(near(&found), "{found:?} is not {expected:?}");
        let Some(device) = crate::testing::card_or_simulated(Schedule::Reverse) else { return };
        let mut output = device.upload(&vec![f64::NAN; assembly.length]).unwrap();
        Assembling::new(&device).unwrap().run(&assembly, &device.upload(&source).unwrap(), &mut output).unwrap();
        let found = output.download().unwrap();
        assert!(near(&found), "{found:?} is not {expected:?}");
    }
}
