//! The memory of a solve: what it needs, what would fit, and its refusal before anything is allocated.

use super::{Device, DeviceError, SPARE, Solve};
use eigenforge_product::Eigenproblem;
use eigenforge_runtime::machine::Card;
use eigenforge_runtime::solvers::{Solver, room_for_vectors};

/// Vectors that certification holds beside the states that were found.
const CERTIFYING: u64 = 4;

/// The device memory of the run: a name and the bytes of each item. Vectors that are kept only if there is room come last.
pub(super) fn plan(solve: &Solve<'_>, device: &Device) -> Vec<(String, u64)> {
    let rows = rows(solve, device);
    let kept = solve.optional_vectors(device, all_tables(solve, device));
    let rows = rows.map(|bytes| ("a table of partners, as far as there is room".into(), bytes));
    needed(solve, device).into_iter().chain(rows).chain(kept).collect()
}

/// Bytes of the rows that the multiply keeps; `None` where it keeps nothing.
fn rows(solve: &Solve<'_>, device: &Device) -> Option<u64> {
    let kept = solve.problem.model.in_real_gauge().kept_bytes(solve.scalar, device);
    room(solve, device).map(|room| room.min(kept))
}

/// Bytes of all that the multiply holds.
fn all_tables(solve: &Solve<'_>, device: &Device) -> u64 {
    let exchanged = solve.problem.model.in_real_gauge().exchanged(solve.scalar, device).map_or(0, |(_, bytes)| bytes);
    let rows = rows(solve, device).unwrap_or(0);
    table_bytes(solve, device).saturating_add(exchanged).saturating_add(rows)
}

/// Whether memory has no room for the basis of Lanczos, but for the vectors of LOBPCG beside all that the multiply keeps then.
pub(super) fn is_scarce(solve: &Solve<'_>, device: &Device) -> bool {
    let [lanczos, lobpcg] = [Solver::Lanczos, Solver::Lobpcg].map(|solver| solve.clone().solver(solver));
    let room = room_for_vectors(device, all_tables(&lanczos, device), solve.options.memory_limit);
    lanczos.lanczos_multiplies_twice(room)
        && rows(&lanczos, device) == rows(&lobpcg, device)
        && needed_bytes(&lobpcg, device).saturating_add(rows(&lobpcg, device).unwrap_or(0)) <= device.memory().free
}

/// The same on a card that need not be present, with all of its memory.
pub(super) fn is_scarce_on(solve: &Solve<'_>, card: &Card) -> bool {
    let model = solve.problem.model.in_real_gauge();
    let room = (card.memory_bytes - card.memory_bytes / SPARE).saturating_sub(model.way().forecast(model).0);
    let lobpcg = solve.clone().solver(Solver::Lobpcg);
    solve.lanczos_multiplies_twice(room) && lobpcg.resident(solve.problem.dimension()).1 <= room
}

/// The memory that it needs.
fn needed(solve: &Solve<'_>, device: &Device) -> Vec<(String, u64)> {
    let vectors = solve.resident(solve.problem.dimension());
    let tables = ("tables of the Hamiltonian".into(), table_bytes(solve, device));
    let exchanged = solve.problem.model.in_real_gauge().exchanged(solve.scalar, device);
    let exchanged = exchanged.map(|(what, bytes)| (what.into(), bytes));
    let of_ranks = solve.rank_plan(device);
    let of_ranks = of_ranks.map(|plan| (format!("what {} ranks exchange", plan.ranks), plan.kept_bytes(solve.scalar)));
    [vectors, tables].into_iter().chain(exchanged).chain(of_ranks).collect()
}

/// The bytes of all of it.
pub(super) fn needed_bytes(solve: &Solve<'_>, device: &Device) -> u64 {
    needed(solve, device).iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// Bytes of the tables of the multiply; on the CPU those of its blocks too.
fn table_bytes(solve: &Solve<'_>, device: &Device) -> u64 {
    let each = solve.problem.model.in_real_gauge().table_bytes_on(solve.scalar, device);
    // Every rank has all tables.
    each.saturating_mul(device.ranks().map_or(1, |ranks| ranks.count() as u64))
}

/// Bytes that the multiply may keep beside its tables: what the solver's vectors and those of certification leave of a card; `None`
/// where it keeps nothing.
pub(super) fn room(solve: &Solve<'_>, device: &Device) -> Option<u64> {
    let kept = solve.problem.model.in_real_gauge().kept_bytes(solve.scalar, device);
    (kept > 0).then(|| {
        let eigenforge_runtime::Memory { free, total } = device.memory();
        let vector = solve.problem.dimension().saturating_mul(solve.scalar.bytes() as u64);
        let states = CERTIFYING + solve.problem.real_states(solve.options.states) as u64;
        let certifying = vector.saturating_mul(if solve.options.certify { states } else { 0 });
        let certifying = certifying.saturating_sub(solve.resident(solve.problem.dimension()).1);
        let others = needed_bytes(solve, device).saturating_add(certifying).saturating_add(total / SPARE);
        solve.options.memory_limit.map_or(free, |limit| free.min(limit)).saturating_sub(others)
    })
}

/// Refuses averages of states on pairs of strings that do not fit beside the states that were found: they are taken in all states of
/// the sector without the exchange.
fn check_averages(solve: &Solve<'_>, device: &Device) -> Result<(), DeviceError> {
    let (averaged, solved) = (solve.problem.model.averaged(), solve.problem.dimension());
    if solve.problem.observables.is_empty() || averaged.dimension() == solved || averaged.symmetric().is_some() {
        return Ok(());
    }
    let bytes = solve.scalar.bytes() as u64;
    let whole = averaged.dimension().saturating_mul(bytes);
    let eigenforge_runtime::Memory { free, total } = device.memory();
    let host = Device::cpu().memory();
    // The host makes the whole vector of one that it fetched; where it is the device, beside the states.
    let needed = whole.saturating_add(solved.saturating_mul(bytes * solve.options.states.max(1) as u64));
    let (device, needed, free, total) = match (needed > free, device.runs_kernels()) {
        (true, _) => (device.name(), needed, free, total),
        (false, true) => ("host".into(), whole + solved * bytes, host.free, host.total),
        (false, false) => return Ok(()),
    };
    if needed <= free {
        return Ok(());
    }
    let what = "averages of the state without its parity under the exchange of spins".into();
    let fits = "energies alone fit: [observables] standard = false, and no observables of your own".into();
    Err(DeviceError::Memory { what, device, needed, free, total, fits })
}

/// Refuses a run whose vectors alone do not fit with any solver, before tables are made.
pub(super) fn check_vectors(solve: &Solve<'_>, device: &Device) -> Result<(), DeviceError> {
    let vectors = |solver| {
        let (name, bytes) = solve.clone().solver(solver).resident(solve.problem.dimension());
        (bytes, name)
    };
    let eigenforge_runtime::Memory { free, total } = device.memory();
    let solvers = [solve.solver, Solver::Lobpcg, Solver::Davidson, Solver::Olsen];
    let (needed, what) = vectors(Solver::Lanczos);
    if needed <= free || solvers.into_iter().any(|solver| vectors(solver).0 <= free) {
        return Ok(());
    }
    let fits = largest_sector(solve, free, needed);
    Err(DeviceError::Memory { what, device: device.name(), needed, free, total, fits })
}

/// How large a sector would fit in place of this one.
fn largest_sector(solve: &Solve<'_>, free: u64, needed: u64) -> String {
    let largest = free as f64 / needed as f64 * solve.problem.dimension() as f64;
    format!("a sector of about {} states would fit", largest as u64)
}

/// Refuses a run that does not fit, before anything is allocated, and says what would fit.
pub(super) fn check(solve: &Solve<'_>, device: &Device) -> Result<(), DeviceError> {
    check_vectors(solve, device)?;
    check_averages(solve, device)?;
    let (plan, needed) = (needed(solve, device), needed_bytes(solve, device));
    let eigenforge_runtime::Memory { free, total } = device.memory();
    if needed <= free {
        return Ok(());
    }
    let mut others = vec![(Solver::Lanczos, "Lanczos"), (Solver::Lobpcg, "LOBPCG")];
    if solve.options.states == 1 {
        others.push((Solver::Olsen, "Olsen, for a diagonal that varies,"));
    }
    let fits = |(solver, name): (Solver, &'static str)| {
        (needed_bytes(&solve.clone().solver(solver), device) <= free).then_some(name)
    };
    let alone = solve.clone().values_above(Some(0));
    let advice = match others.into_iter().find_map(fits) {
        _ if solve.solver == Solver::Dense && needed_bytes(&alone, device) <= free => {
            "energies alone fit: states = \"all\" with [observables] standard = false, and no observables of your own, entanglement or \
             vectors"
                .into()
        }
        Some(name) => format!("{name} fits: choose it with `solver`"),
        None => largest_sector(solve, free, needed),
    };
    let what: Vec<&str> = plan.iter().map(|(name, _)| name.as_str()).collect();
    let device = device.name();
    Err(DeviceError::Memory { what: what.join(" and "), device, needed, free, total, fits: advice })
}
