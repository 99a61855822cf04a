//! The tables of the multiply on pairs of strings.

use super::PairRows;
use crate::kronecker::run_tables;
use eigenforge_runtime::TableList;

/// What `multiply_panels` and the diagonal read beside vectors and panels, by name: the strings first, then the hops.
pub(super) fn pair_tables(rows: &PairRows) -> TableList<'_> {
    let pairs = rows.pairs();
    let words: Vec<u32> = pairs.hops.states.iter().map(|word| *word as u32).collect();
    let mut tables = vec![("string_word", words.into())];
    match rows.plan().run_tables() {
        Some(runs) => tables.extend(run_tables(runs)),
        None => {
            let starts: Vec<u32> = pairs.hops.row_start.iter().map(|start| *start as u32).collect();
            tables.extend([
                ("hop_start", starts.into()),
                ("hop_column", (&pairs.hops.columns).into()),
                ("hop_value", (&pairs.amplitudes).into()),
            ]);
        }
    }
    tables
}
