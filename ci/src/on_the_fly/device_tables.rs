//! The tables read by the generated kernel: positions of rows, moves of the strings of both spins, integrals; and the
//! plan.
//!
//! In: a [`CiHamiltonian`] of a space of products of strings, a card's multiprocessors. Out: a [`RowsPlan`] and its tables
//! by name.

use super::super::matrix::CiHamiltonian;
use super::super::non_zeros::Census;
use super::super::orbital_number::OrbitalNumber;
use super::super::string_table::StringTable;
use super::super::strings::{Strings, occupied};
use super::OnTheFlyError;
use eigenforge_product::sparse::Target;
use eigenforge_runtime::{HostTable, TableList};
use eigenforge_templates::ScalarType;
use eigenforge_templates::ci::{RowsCounts, RowsPlan};

/// Threads of a block, and blocks per multiprocessor: 64 warps hide the latency of dependent loads.
pub(super) const THREADS: u32 = 256;
const BLOCKS: u32 = 8;

/// The plan and everything to upload.
pub(super) struct DeviceTables {
    pub plan: RowsPlan,
    /// In the order of the plan's tables.
    pub tables: TableList<'static>,
}

/// Upper bound on the elements of H.
pub(super) fn elements<T: OrbitalNumber>(hamiltonian: &CiHamiltonian<T>) -> u64 {
    let census = Census::new(&hamiltonian.space, &hamiltonian.orbital_irreps);
    u64::try_from(census.non_zeros).unwrap_or(u64::MAX)
}

/// The plan and its tables, with the model's number of lanes or a given one.
pub(super) fn tables<T: OrbitalNumber>(
    hamiltonian: &CiHamiltonian<T>,
    name: &str,
    target: Target,
    lanes: Option<u32>,
) -> Result<DeviceTables, OnTheFlyError> {
    let space = &hamiltonian.space;
    let rows = space.len();
    let Some(places) = space.product_tables() else { return Err(OnTheFlyError::List { rows }) };
    let (alpha, beta) = (space.alpha(), space.beta());
    let irreps = hamiltonian.irreps.iter().max().map_or(1, |most| usize::from(*most) + 1).next_power_of_two();
    let runs = runs(&hamiltonian.beta, irreps, beta.words().len(), places.places);
    let [up_moves, down_moves] = [&hamiltonian.alpha, &hamiltonian.beta];
    let (alphas, betas) = (alpha.words().len() as u32, beta.words().len() as u32);
    let up = of_strings(up_moves, alphas);
    let up_doubles = doubles(up_moves, alphas);
    let down_doubles = doubles(down_moves, betas);
    let singles = [up.target.len() as u64, runs.place.len() as u64];
    let mean_run = runs.place.len() as f64 / runs.slot.len().max(1) as f64;
    let warps = rows.div_ceil(u64::from(THREADS / target.warp.lanes())).max(1);
    let plan = RowsPlan {
        name: name.into(),
        scalar: ScalarType::F64,
        warp: target.warp,
        orbitals: hamiltonian.orbitals as u32,
        up: alpha.electrons() as u32,
        down: beta.electrons() as u32,
        alpha_strings: alphas,
        beta_strings: betas,
        slots: places.slots as u32,
        irreps: irreps as u32,
        rows,
        elements: elements(hamiltonian),
        lanes: lanes.unwrap_or_else(|| RowsPlan::lanes_of(mean_run)),
        threads: THREADS,
        blocks: u32::try_from(warps).unwrap_or(u32::MAX).min(BLOCKS * target.card.multiprocessors.max(1)),
        counts: RowsCounts {
            singles,
            doubles: [up_doubles.target.len() as u64, down_doubles.target.len() as u64],
            runs: runs.slot.len() as u64,
        },
        table: false,
        unrestricted: hamiltonian.beta_repulsion.is_some(),
        complex: !T::KIND.is_real(),
    };
    plan.check()?;
    // With a lane for each α single the lanes of a warp have one β single at a time, so that they read one row.
    let coulomb = match plan.lanes {
        1 => numbers(&transposed(&hamiltonian.coulomb, hamiltonian.pairs)),
        _ => numbers(&hamiltonian.coulomb),
    };
    let ranks: Vec<(u32, u32)> = (0..rows).map(|row| space.ranks(row)).collect();
    let mut tables = vec![
        ("row_alpha", HostTable::U32(ranks.iter().map(|ranks| ranks.0).collect())),
        ("row_beta", HostTable::U32(ranks.iter().map(|ranks| ranks.1).collect())),
        ("first_row", places.first_row.to_vec().into()),
        ("beta_slot", HostTable::U16(places.places.iter().map(|place| place.0).collect())),
        ("beta_place", HostTable::U32(places.places.iter().map(|place| place.1).collect())),
        ("alpha_energy", up_moves.energy.clone().into()),
        ("beta_energy", down_moves.energy.clone().into()),
        ("alpha_orbital", orbitals(alpha).into()),
        ("beta_orbital", orbitals(beta).into()),
        ("alpha_single_start", up.start.into()),
        ("alpha_single", up.target.into()),
        ("alpha_pair", up.pair.into()),
        ("alpha_own", numbers(&up.own)),
        ("alpha_double_start", up_doubles.start.into()),
        ("alpha_double", up_doubles.target.into()),
        ("alpha_value", numbers(&up_doubles.value)),
        ("run_start", runs.start.into()),
        ("run_slot", runs.slot.into()),
        ("run_first", runs.first.into()),
        ("single_place", runs.place.into()),
        ("beta_pair", runs.pair.into()),
        ("beta_own", numbers(&runs.own)),
        ("beta_double_start", down_doubles.start.into()),
        ("beta_double", down_doubles.target.into()),
        ("beta_value", numbers(&down_doubles.value)),
        ("pair_irrep", HostTable::U16(hamiltonian.irreps.iter().map(|irrep| u16::from(*irrep)).collect())),
        ("coulomb", coulomb),
        ("repulsion", numbers(&hamiltonian.repulsion)),
    ];
    tables.extend(hamiltonian.beta_repulsion.as_ref().map(|table| ("beta_repulsion", numbers(table))));
    Ok(DeviceTables { plan, tables })
}

/// The real parts of numbers, one number after the other.
fn numbers<T: OrbitalNumber>(list: &[T]) -> HostTable<'static> {
    let mut parts = Vec::with_capacity(T::KIND.parts() * list.len());
    list.iter().for_each(|number| number.push(&mut parts));
    parts.into()
}

/// A square matrix of so many rows, with its columns as rows.
fn transposed<T: OrbitalNumber>(matrix: &[T], rows: usize) -> Vec<T> {
    (0..matrix.len()).map(|k| matrix[k % rows * rows + k / rows]).collect()
}

fn orbitals(strings: &Strings) -> Vec<u16> {
    strings.words().iter().flat_map(|word| occupied(*word).map(|p| p as u16)).collect()
}

/// Singles of all strings, one after another.
struct Singles<T> {
    start: Vec<u64>,
    target: Vec<u32>,
    pair: Vec<u16>,
    own: Vec<T>,
}

fn of_strings<T: OrbitalNumber>(table: &StringTable<T>, strings: u32) -> Singles<T> {
    let mut all = Singles { start: vec![0], target: Vec::new(), pair: Vec::new(), own: Vec::new() };
    for rank in 0..strings {
        let singles = table.singles(rank);
        all.target.extend_from_slice(singles.target);
        all.pair.extend_from_slice(singles.packed());
        all.own.extend_from_slice(singles.own);
        all.start.push(all.target.len() as u64);
    }
    all
}

/// Doubles of all strings.
struct Doubles<T> {
    start: Vec<u64>,
    target: Vec<u32>,
    value: Vec<T>,
}

fn doubles<T: OrbitalNumber>(table: &StringTable<T>, strings: u32) -> Doubles<T> {
    let mut all = Doubles { start: vec![0], target: Vec::new(), value: Vec::new() };
    for rank in 0..strings {
        let (targets, values) = table.doubles(rank);
        all.target.extend_from_slice(targets);
        all.value.extend_from_slice(values);
        all.start.push(all.target.len() as u64);
    }
    all
}

/// Singles of the β strings run by run, with indices instead of ranks.
struct Runs<T> {
    /// First run of each string and irrep.
    start: Vec<u64>,
    slot: Vec<u16>,
    /// First single of each run, followed by their number.
    first: Vec<u64>,
    place: Vec<u32>,
    pair: Vec<u16>,
    own: Vec<T>,
}

fn runs<T: OrbitalNumber>(table: &StringTable<T>, irreps: usize, strings: usize, places: &[(u16, u32)]) -> Runs<T> {
    let mut all =
        Runs { start: vec![0], slot: Vec::new(), first: vec![0], place: Vec::new(), pair: Vec::new(), own: Vec::new() };
    for rank in 0..strings as u32 {
        for irrep in 0..irreps {
            for run in table.runs(rank).iter().filter(|run| usize::from(run.irrep) == irrep) {
                let singles = table.run(rank, run);
                all.slot.push(run.slot);
                all.place.extend(singles.target.iter().map(|target| places[*target as usize].1));
                all.pair.extend_from_slice(singles.packed());
                all.own.extend_from_slice(singles.own);
                all.first.push(all.place.len() as u64);
            }
            all.start.push(all.slot.len() as u64);
        }
    }
    all
}
