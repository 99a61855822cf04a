//! What a product of full CI would take, by counts alone.

use super::super::estimate::{Estimate, LAUNCHES, ProductKind, SECONDS_A_MOVE, StorageTarget};
use super::super::strings::binomial;
use super::super::way::Counted;
use super::super::{Space, Strings};
use eigenforge_runtime::machine::{Card, Processor};
use eigenforge_templates::ci::{SlabShape, StringCounts};

/// Bytes of L2 per operation of a direct product: full CI of water in 6-31G, all irreps and one irrep, 4.5 TFLOP/s on an
/// H200. A card of low double-precision rate is bound by that rate instead.
const L2_BYTES_AN_OPERATION: f64 = Card::H200.l2_rate / 4.5e12;
/// Fraction of a card's rate without tensor cores that a product by slabs reaches: 14 electrons in 15 orbitals without irreps, 18 TFLOP/s on an
/// H200 (docs/notes/configuration-interaction.md); with irreps less, since gathering counts there.
const OF_CARD: f64 = 18e12 / Card::H200.fp64_rate;
/// Fraction of a core's rate that a direct product reaches: 15 GFLOP/s of the Xeon's 72.
const OF_CORE: f64 = 1.5e10 / Processor::XEON.core_rate;

/// One-electron moves of the strings of each spin, with the densities.
fn moves(counted: &Counted<'_>) -> [u64; 2] {
    let spins = [counted.space.alpha(), counted.space.beta()];
    [0, 1].map(|spin| counted.census.singles[spin] + (spins[spin].words().len() * spins[spin].electrons()) as u64)
}

/// β strings of a class.
fn widest(counted: &Counted<'_>) -> u64 {
    let strings = counted.space.beta().words().len() as u64;
    if counted.space.irreps().is_some() { strings.div_ceil(counted.irreps) } else { strings }
}

/// Tables of strings and integrals.
pub(in super::super) fn by_strings(counted: &Counted<'_>, place: StorageTarget) -> Estimate {
    let Counted { census, space, irreps, .. } = *counted;
    let (pairs, parts) = (counted.pairs(), counted.parts());
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let (rows, moves) = (space.len(), moves(counted));
    // Links and elements of slices are padded to the longest string's.
    let tables = match place.card.is_some() {
        true => {
            6 * moves[0] + 12 * census.same[0] + 6 * moves[1] + 14 * census.same[1] + diagonal_bytes(space, strings)
        }
        false => {
            let same = (8 + 8 * parts) * (census.same[0] + census.same[1]);
            48 * moves[0] + same + 8 * moves[1] + 8 * parts * pairs * strings[1]
        }
    };
    let total = tables + 40 * (strings[0] + strings[1]) + 9 * parts * pairs * pairs;
    let listed = moves[0] + moves[1] + census.same[0] + census.same[1];
    let a_row = |table: u64, strings: u64| table as f64 / strings.max(1) as f64;
    let (up, down) = (a_row(moves[0], strings[0]), a_row(moves[1], strings[1]));
    let alone = a_row(census.same[0], strings[0]) + a_row(census.same[1], strings[1]) + 2.0;
    // The card multiplies moves by pairs, the CPU moves by moves.
    let both =
        if place.card.is_some() { up * (pairs as f64 / irreps as f64) + down } else { up * down / irreps as f64 };
    // A complex product is four real ones.
    let flops = 2.0 * (parts * parts * rows) as f64 * (alone + both);
    let product = match place.card {
        Some(card) => {
            let busy = (strings[0] as f64 / f64::from(card.multiprocessors.max(1))).min(1.0);
            let rate = (card.l2_rate / L2_BYTES_AN_OPERATION).min(card.fp64_rate);
            LAUNCHES * card.launch_seconds + flops / (rate * busy)
        }
        None => flops / (OF_CORE * place.processor.core_rate * place.cores()),
    };
    Estimate {
        way: ProductKind::Direct,
        what: "tables of strings and integrals".into(),
        bytes: total,
        exchanged: 0,
        host_bytes: if place.card.is_some() { total + 40 * listed } else { total },
        set_up: SECONDS_A_MOVE * listed as f64 / place.cores(),
        product,
    }
}

/// What a card computes the diagonal from: the occupied orbitals of each α string, the field of each orbital at each β string.
fn diagonal_bytes(space: &Space, [alpha, beta]: [u64; 2]) -> u64 {
    2 * alpha * space.alpha().electrons() as u64 + 8 * (space.orbitals() as u64 + 1) * beta
}

/// A full-CI product by slabs of β strings: moves and links, strings of two electrons fewer, panels of turned rows, the diagonal.
pub(super) fn by_slabs(counted: &Counted<'_>, place: StorageTarget) -> Estimate {
    let card = place.card.unwrap_or(Card::H200);
    let Counted { space, irreps, .. } = *counted;
    let (moves, widest) = (moves(counted), widest(counted));
    let (orbitals, rows) = (space.orbitals(), space.len());
    let pairs = (orbitals * (orbitals + 1) / 2) as u64;
    let of = |spin: &Strings| {
        let fewer = spin.electrons().checked_sub(2);
        let cores = fewer.and_then(|fewer| binomial(orbitals, fewer)).unwrap_or(0) as f64;
        let above = fewer.and_then(|fewer| binomial(orbitals - fewer, 2)).unwrap_or(0) as f64;
        // Strings above all, and operations of one column over the strings.
        (cores * above, 2.0 * cores * above * above / irreps as f64 / spin.words().len().max(1) as f64)
    };
    let spins = [of(space.alpha()), of(space.beta())];
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let counts = StringCounts {
        alpha: strings[0] as u32,
        classes: vec![widest as u32],
        electrons: [space.alpha(), space.beta()].map(|spin| spin.electrons() as u32),
        pairs: vec![pairs.div_ceil(irreps) as u32],
        shared_bytes: card.shared_bytes.into(),
        multiprocessors: card.multiprocessors,
        warp: place.warp,
    };
    let shape = SlabShape::choose(&counts);
    let panels = shape.panel_bytes(&counts);
    let additions = spins.iter().map(|spin| 10.0 * spin.0).sum::<f64>() as u64;
    let tables = 6 * moves[0] + 4 * moves[1] + additions + 40 * (strings[0] + strings[1]) + 16 * pairs * pairs;
    let tables = tables + diagonal_bytes(space, strings);
    let up = moves[0] as f64 / strings[0].max(1) as f64;
    let both = 2.0 * up * (pairs as f64 + 1.0) / irreps as f64;
    let flops = rows as f64 * (both + spins.iter().map(|spin| spin.1).sum::<f64>());
    let busy = (strings[0] as f64 / f64::from(card.multiprocessors.max(1))).min(1.0);
    let listed = moves[0] + moves[1] + additions / 10;
    let total = tables.saturating_add(panels);
    Estimate {
        way: ProductKind::Direct,
        what: "tables of strings and integrals".into(),
        bytes: total,
        exchanged: if place.ranks.is_some_and(|[ranks, _]| ranks > 1) {
            8 * strings[0] * u64::from(shape.piece)
        } else {
            0
        },
        host_bytes: tables + 40 * listed,
        set_up: SECONDS_A_MOVE * listed as f64 / place.cores(),
        product: LAUNCHES * card.launch_seconds + flops / (OF_CARD * card.fp64_rate * busy),
    }
}
