//! The tables of moves for a device, cut into blocks of about the same work, and their upload.

use super::halves::Halves;
use super::moves::{MoveTables, Moved};
use eigenforge_runtime::{Device, DeviceError, HostTable, NamedTables, trace};
use eigenforge_templates::exact::{AveragesSizes, MOST_TERMS};
use rayon::prelude::*;

/// Blocks of `transition_sums` where the sector is large enough, on every card, so that sums have the same bits: fifteen on
/// each multiprocessor of an H200.
const BLOCKS: u64 = 2048;
/// Products from which there is another block.
const PRODUCTS_A_BLOCK: u64 = 1 << 14;

/// [`MoveTables`] with what only a device needs.
#[derive(Debug)]
pub(super) struct DeviceTables {
    pub moves: MoveTables,
    pub tasks: Vec<SumTask>,
    /// Pairs of rows in 16 bits each, if all rows have such numbers.
    short_rows: Option<Vec<u32>>,
}

impl DeviceTables {
    pub(super) fn new(halves: &Halves, products: &[Moved]) -> DeviceTables {
        let moves = MoveTables::new(halves, products);
        let short = |pair: &u64| *pair as u32 | (pair >> u32::BITS << u16::BITS) as u32;
        let is_short = halves.most_rows() <= 1 << u16::BITS;
        let short_rows = is_short.then(|| moves.row_pairs.par_iter().map(short).collect());
        DeviceTables { tasks: sum_tasks(halves, &moves), moves, short_rows }
    }
}

/// One block of `transition_sums`: some pairs of columns of one list and some of the terms that are sums over them.
#[derive(Debug)]
pub(super) struct SumTask {
    first: u32,
    last: u32,
    pub term: u32,
    pub terms: u32,
    pub sums: u32,
}

/// Cuts the terms, which are sorted by their lists of pairs of columns, into blocks of about the same work.
fn sum_tasks(halves: &Halves, tables: &MoveTables) -> Vec<SumTask> {
    // A product a row for each term, and a row copied.
    let work = |pair: u64, terms: usize| {
        let class = halves.columns[pair as u32 as usize].class;
        (halves.classes[class].lows.len() * (terms + 1)) as u64
    };
    let groups = || {
        let lists = tables.term_columns.chunk_by(|a, b| a == b);
        lists.flat_map(|terms| terms.chunks(MOST_TERMS)).scan(0, |first, terms| {
            let group = (*first, terms.len(), terms[0] as usize);
            *first += terms.len();
            Some(group)
        })
    };
    let pairs_of = |list: usize| tables.column_lists[list] as usize..tables.column_lists[list + 1] as usize;
    let of_group =
        |(_, terms, list)| tables.column_pairs[pairs_of(list)].iter().map(|pair| work(*pair, terms)).sum::<u64>();
    let whole: u64 = groups().map(of_group).sum();
    let share = (whole / BLOCKS).max(PRODUCTS_A_BLOCK);
    let (mut tasks, mut sums) = (Vec::new(), 0);
    for (term, terms, list) in groups() {
        let pairs = pairs_of(list);
        let (mut first, mut found) = (pairs.start, 0);
        for k in pairs.clone() {
            found += work(tables.column_pairs[k], terms);
            if found >= share || k + 1 == pairs.end {
                let [first_pair, last, term, terms] = [first, k + 1, term, terms].map(|n| n as u32);
                tasks.push(SumTask { first: first_pair, last, term, terms, sums });
                sums += terms;
                (first, found) = (k + 1, 0);
            }
        }
    }
    tasks
}

/// [`DeviceTables`] on the device.
pub(super) struct Moves<'t> {
    pub tables: &'t DeviceTables,
    pub named: NamedTables,
}

impl<'t> Moves<'t> {
    pub(super) fn new(device: &Device, staged: bool, tables: &'t DeviceTables) -> Result<Moves<'t>, DeviceError> {
        let _uploading = trace::span("observables", "upload of moves");
        let DeviceTables { moves, tasks, short_rows } = tables;
        let task = |number: fn(&SumTask) -> u32| tasks.iter().map(number).collect::<Vec<u32>>().into();
        // A plan that copies columns to shared memory has columns of few rows, with pairs of rows in 16 bits each.
        let row_pairs = match short_rows.as_ref().filter(|_| staged) {
            Some(short) => short.into(),
            None => (&moves.row_pairs).into(),
        };
        let given: [(&str, HostTable<'_>); 11] = [
            ("task_first", task(|task| task.first)),
            ("task_last", task(|task| task.last)),
            ("task_term", task(|task| task.term)),
            ("task_terms", task(|task| task.terms)),
            ("task_sums", task(|task| task.sums)),
            ("term_low", (&moves.term_low).into()),
            ("column_pairs", (&moves.column_pairs).into()),
            ("low_lists", (&moves.low_lists).into()),
            ("row_lists", (&moves.row_lists).into()),
            ("row_amplitude", (&moves.row_amplitude).into()),
            ("row_pairs", row_pairs),
        ];
        Ok(Moves { tables, named: NamedTables::uploaded(device, given)? })
    }

    pub(super) fn sizes(&self, halves: &Halves) -> AveragesSizes {
        let DeviceTables { moves: tables, tasks, .. } = self.tables;
        AveragesSizes {
            columns: halves.columns.len() as u64,
            most_rows: halves.most_rows(),
            terms: tables.term_low.len() as u64,
            sum_tasks: tasks.len() as u64,
            sums: tasks.iter().map(|task| u64::from(task.terms)).sum(),
            column_pairs: tables.column_pairs.len() as u64,
            low_cells: tables.low_lists.len() as u64 - 1,
            row_lists: tables.row_amplitude.len() as u64,
            row_pairs: tables.row_pairs.len() as u64,
            ..AveragesSizes::default()
        }
    }
}
