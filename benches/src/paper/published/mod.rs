//! The numbers of the four papers, typed in as they are printed.
//!
//! A table is text: a line per row, cells between `|`, digits as in the paper. [`number`] reads a cell. What the paper does not
//! say and what does not fit together in its numbers stand beside each table.

mod ci;
mod dmrg;
mod hubbard;
mod su3;

/// A paper that eigenforge started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Paper {
    /// Yamada, Machida, Imamura 2020: LOBPCG for the Hubbard model on a GPU
    Hubbard,
    /// Mahmoud, Hoffmann, Reza 2018: sparse matrices of configuration interaction
    Ci,
    /// Nemes, Barcza, Nagy, Legeza, Szolgay 2014: DMRG on a GPU
    Dmrg,
    /// Oberhuber, Dytrych, Launey, Langr, Draayer 2021: interactions as SU(3) tensors
    Su3,
}

impl Paper {
    /// Authors and year.
    pub fn title(self) -> &'static str {
        match self {
            Paper::Hubbard => "Yamada, Machida, Imamura (2020)",
            Paper::Ci => "Mahmoud, Hoffmann, Reza (2018)",
            Paper::Dmrg => "Nemes, Barcza, Nagy, Legeza, Szolgay (2014)",
            Paper::Su3 => "Oberhuber, Dytrych, Launey, Langr, Draayer (2021)",
        }
    }
}

/// A table as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// Its paper.
    pub paper: Paper,
    /// Its number.
    pub number: u32,
    /// The figure that shows the same numbers.
    pub figure: Option<u32>,
    /// What it shows, in short.
    pub caption: &'static str,
    /// Section of the paper.
    pub place: &'static str,
    /// What the rows are.
    pub row_header: &'static str,
    /// Name and unit of each column.
    pub columns: &'static [(&'static str, &'static str)],
    /// A line per row: its name, then a cell per column.
    pub text: &'static str,
    /// What a reader would need and the paper does not say.
    pub unknown: &'static [&'static str],
    /// What does not fit together in the printed numbers.
    pub remarks: &'static [&'static str],
}

impl PublishedTable {
    /// Name and cells of each row.
    pub fn rows(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let line = |line: &'static str| {
            let mut cells = line.split('|').map(str::trim);
            (cells.next().unwrap_or(""), cells.collect())
        };
        self.text.lines().filter(|text| !text.trim().is_empty()).map(line).collect()
    }
}

/// The number of a cell, if it is one: `21,463,040`, `6.55`, `1.22E+014`, `2.82%`.
pub fn number(cell: &str) -> Option<f64> {
    let plain = cell.replace(',', "");
    plain.strip_suffix('%').unwrap_or(&plain).parse().ok()
}

/// The tables of a paper, in its order.
pub fn tables(paper: Paper) -> &'static [PublishedTable] {
    match paper {
        Paper::Hubbard => hubbard::TABLES,
        Paper::Ci => ci::TABLES,
        Paper::Dmrg => dmrg::TABLES,
        Paper::Su3 => su3::TABLES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(paper: Paper, table: usize, column: usize) -> Vec<f64> {
        tables(paper)[table - 1].rows().iter().filter_map(|(_, cells)| number(cells[column])).collect()
    }

    fn close(found: f64, printed: f64, rounding: f64) -> bool {
        (found - printed).abs() <= rounding
    }

    #[test]
    fn every_row_has_a_cell_per_column_and_tables_are_numbered() {
        for paper in [Paper::Hubbard, Paper::Ci, Paper::Dmrg, Paper::Su3] {
            for (k, table) in tables(paper).iter().enumerate() {
                assert_eq!((table.number as usize, table.paper), (k + 1, paper));
                for (name, cells) in table.rows() {
                    assert_eq!(cells.len(), table.columns.len(), "{paper:?} {}: {name}", table.number);
                    assert!(!name.is_empty(), "{paper:?} {}", table.number);
                }
            }
        }
        assert_eq!(number("1.22E+014"), Some(1.22e14));
        assert_eq!((number("–"), number(""), number("4,294,967")), (None, None, Some(4_294_967.0)));
    }

    /// Sums, averages and quotients that the papers print fit the numbers they are made of; where they do not, the table says so.
    #[test]
    fn printed_sums_averages_and_ratios_fit() {
        for by in 0..3 {
            let parts = column(Paper::Hubbard, 1, by);
            let (total, parts) = parts.split_last().unwrap();
            assert!(close(parts.iter().sum(), *total, 0.011), "{parts:?} {total}");
        }
        let average = |table, by| {
            let numbers = column(Paper::Ci, table, by);
            let (printed, numbers) = numbers.split_last().unwrap();
            (numbers.iter().sum::<f64>() / numbers.len() as f64, *printed)
        };
        for (table, by, rounding) in
            [(5, 1, 0.02), (5, 2, 0.02), (5, 3, 0.01), (9, 0, 1e-4), (9, 1, 1e-3), (10, 0, 1e-3)]
        {
            let (found, printed) = average(table, by);
            assert!(close(found, printed, rounding), "table {table}, column {by}: {found} {printed}");
        }
        let (found, printed) = average(9, 2);
        assert!((found - 3.4959).abs() < 1e-4 && printed == 3.3661, "the remark says so: {found}");
        let (reference, expansion, total) = (column(Paper::Ci, 3, 0), column(Paper::Ci, 3, 1), column(Paper::Ci, 3, 2));
        assert!((0..10).all(|k| reference[k] + expansion[k] == total[k]));
        for model in [3, 4] {
            let (time, speedup) = (column(Paper::Dmrg, model, 0), column(Paper::Dmrg, model, 1));
            assert!((0..4).all(|k| close(time[0] / time[k], speedup[k], 0.011)), "{time:?} {speedup:?}");
        }
        let (cpu, card, faster) = (column(Paper::Su3, 1, 0), column(Paper::Su3, 1, 2), column(Paper::Su3, 1, 3));
        assert!((0..cpu.len()).all(|k| close(cpu[k] / card[k], faster[k], 0.1)), "{cpu:?} {card:?} {faster:?}");
    }
}
