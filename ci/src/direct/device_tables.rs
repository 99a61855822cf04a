//! The tables read by the generated kernel: strings of both spins and integrals, and the matching plan.
//!
//! In: tables of moves ([`StringTable`], [`Beta`]), classes, a card's shared memory and multiprocessors. Out: a
//! [`FullCiPlan`] and its tables by name. β strings are stored class by class in slices of a warp of them; the data of a string are
//! its lane of each step of its slice, and shorter strings are padded with entries that add 0.

use super::super::integrals::{Integrals, triangle};
use super::super::string_table::StringTable;
use super::super::strings::{Occupation, occupied};
use super::beta::{Beta, Single, density};
use super::classes::Classes;
use super::error::DirectError;
use eigenforge_product::sparse::Target;
use eigenforge_runtime::{HostTable, TableList};
use eigenforge_templates::ScalarType;
use eigenforge_templates::ci::{FieldShape, FullCiPlan, SlabCounts, StringCounts, StringTableCounts};
use eigenforge_templates::exact::IndexWord;

/// The first element of the row of each α string, among the tables of a full-CI product.
pub(super) fn starts_of_rows(tables: &TableList<'_>) -> Vec<u64> {
    let starts = tables.iter().find_map(|(name, table)| match table {
        HostTable::U64(values) if *name == "row_start" => Some(values.to_vec()),
        _ => None,
    });
    starts.unwrap_or_default()
}

/// The plan and everything to upload.
pub(super) struct DeviceTables {
    pub plan: FullCiPlan,
    /// Tables of the product, in the order of its parameters.
    pub product: TableList<'static>,
    /// Of its diagonal.
    pub diagonal: TableList<'static>,
}

/// The inputs of the tables.
pub(super) struct Sources<'a> {
    pub integrals: &'a Integrals,
    /// Irreps of the orbitals from 0, as used by the tables of moves.
    pub irreps: &'a [u8],
    pub classes: &'a Classes,
    pub up: &'a StringTable,
    pub alpha: &'a [Occupation],
    pub beta: &'a Beta,
    /// β strings in the order of [`Beta`].
    pub down: Vec<Occupation>,
    pub rows: u64,
}

fn pair_irreps(irreps: &[u8]) -> Vec<usize> {
    (0..irreps.len()).flat_map(|p| (0..=p).map(move |q| usize::from(irreps[p] ^ irreps[q]))).collect()
}

/// So many α strings and β strings of each class, of so many electrons in orbitals of these irreps, on this kind of card.
pub(super) fn counts(
    irreps: &[u8],
    (alpha, classes): (u32, Vec<u32>),
    electrons: [u32; 2],
    target: Target,
) -> StringCounts {
    let of_pair = pair_irreps(irreps);
    let irreps = of_pair.iter().max().map_or(1, |most| most + 1).next_power_of_two();
    let count = |irrep: usize| of_pair.iter().filter(|of_pair| **of_pair == irrep).count() as u32;
    StringCounts {
        alpha,
        classes,
        electrons,
        pairs: (0..irreps).map(count).collect(),
        shared_bytes: u64::from(target.card.shared_bytes),
        multiprocessors: target.card.multiprocessors,
        warp: target.warp,
    }
}

impl Sources<'_> {
    /// Product of the irreps of each pair of orbitals, from 0.
    pub(super) fn pair_irreps(&self) -> Vec<usize> {
        pair_irreps(self.irreps)
    }

    /// The strings and pairs, for the choice of a shape.
    pub(super) fn strings(&self, target: Target) -> StringCounts {
        let classes = (0..self.classes.count()).map(|class| self.beta.class(class).len() as u32);
        let electrons = [self.alpha, &self.down].map(|words| words.first().map_or(0, |word| word.count_ones()));
        counts(self.irreps, (self.alpha.len() as u32, classes.collect()), electrons, target)
    }

    /// The plan and its tables in a given shape.
    pub(super) fn tables(&self, name: &str, target: Target, shape: FieldShape) -> Result<DeviceTables, DirectError> {
        let strings = self.strings(target);
        let orbitals = self.integrals.orbitals as u32;
        let mut plan = FullCiPlan {
            name: name.into(),
            scalar: ScalarType::F64,
            warp: strings.warp,
            orbitals,
            up: self.alpha.first().map_or(0, |word| word.count_ones()),
            alpha_strings: strings.alpha,
            classes: strings.classes.clone(),
            rows: self.rows,
            irreps: strings.pairs.len() as u32,
            groups: shape.groups(&strings),
            pair_tile: shape.pair_tile,
            columns: shape.columns,
            chunk: shape.chunk,
            threads: shape.threads,
            resident: shape.resident,
            link: IndexWord::U32,
            place: IndexWord::U32,
            counts: StringTableCounts::default(),
        };
        if plan.field() < 1 << 15 {
            plan.link = IndexWord::U16;
        }
        if plan.widest() <= 1 << 16 {
            plan.place = IndexWord::U16;
        }
        plan.check()?;
        let columns = self.columns(&plan);
        let alpha = self.alpha_tables(&mut plan);
        let integrals = self.integral_table(&plan, &columns);
        let links = self.links(&mut plan, &columns);
        let same = self.beta_same(&mut plan);
        plan.check()?;
        let diagonal = self.diagonal();
        let product = alpha.into_iter().chain([("integrals", integrals.into())]).chain(links).chain(same).collect();
        Ok(DeviceTables { plan, product, diagonal })
    }

    /// Column of each pair of orbitals among the integrals.
    fn columns(&self, plan: &FullCiPlan) -> Vec<u32> {
        let of_pair = self.pair_irreps();
        let mut columns = vec![0; of_pair.len()];
        for irrep in 0..plan.irreps as usize {
            let groups = plan.groups.iter().zip(plan.group_starts()).filter(|(group, _)| group.irrep as usize == irrep);
            let places = groups.flat_map(|(group, start)| (start as u32..).take(group.pairs as usize));
            let pairs = of_pair.iter().enumerate().filter(|(_, of_pair)| **of_pair == irrep);
            pairs.zip(places).for_each(|((pair, _), place)| columns[pair] = place);
        }
        columns
    }

    fn integral_table(&self, plan: &FullCiPlan, columns: &[u32]) -> Vec<f64> {
        let width = plan.pair_columns() as usize;
        let mut table = vec![0.0; columns.len() * width];
        for (left, row) in table.chunks_mut(width.max(1)).enumerate() {
            for (right, column) in columns.iter().enumerate() {
                row[*column as usize] = self.integrals.between(left, right);
            }
        }
        table
    }

    /// Rows, classes and moves of the α strings.
    pub(super) fn move_tables(&self, irreps: u32, counts: &mut SlabCounts) -> TableList<'static> {
        let class: Vec<u16> = self.alpha.iter().map(|word| self.classes.partner(*word) as u16).collect();
        let starts = class.iter().scan(0u64, |row, class| {
            let start = *row;
            *row += self.beta.class(usize::from(*class)).len() as u64;
            Some(start)
        });
        let starts: Vec<u64> = starts.collect();
        let (mut move_start, mut move_target, mut move_pair) = (vec![0u64], Vec::new(), Vec::new());
        for (rank, word) in (0u32..).zip(self.alpha) {
            for irrep in 0..irreps {
                let first = move_target.len();
                for run in self.up.runs(rank).iter().filter(|run| u32::from(run.irrep) == irrep) {
                    let singles = self.up.run(rank, run);
                    move_target.extend_from_slice(singles.target);
                    let word = |k| singles.pair(k) as u16 | u16::from(singles.sign(k) < 0.0) << 15;
                    move_pair.extend((0..singles.target.len()).map(word));
                }
                let moves = move_target.len() - first + usize::from(irrep == 0);
                counts.largest_moves = counts.largest_moves.max(moves as u32);
                if irrep == 0 {
                    move_target.extend(occupied(*word).map(|_| rank));
                    move_pair.extend(occupied(*word).map(|p| density(p) as u16));
                }
                move_start.push(move_target.len() as u64);
            }
        }
        counts.moves = move_target.len() as u64;
        vec![
            ("row_start", starts.into()),
            ("alpha_class", class.into()),
            ("move_start", move_start.into()),
            ("move_target", move_target.into()),
            ("move_pair", move_pair.into()),
        ]
    }

    /// The same, and elements of H_αα.
    fn alpha_tables(&self, plan: &mut FullCiPlan) -> TableList<'static> {
        let mut counts = SlabCounts::default();
        let mut tables = self.move_tables(plan.irreps, &mut counts);
        let (mut same_start, mut same_target, mut same_value) = (vec![0u64], Vec::new(), Vec::new());
        for rank in 0..self.alpha.len() as u32 {
            same_target.push(rank);
            same_value.push(self.up.energy[rank as usize]);
            for run in self.up.runs(rank).iter().filter(|run| run.irrep == 0) {
                let singles = self.up.run(rank, run);
                same_target.extend_from_slice(singles.target);
                same_value.extend_from_slice(singles.own);
            }
            let (targets, values) = self.up.doubles(rank);
            same_target.extend_from_slice(targets);
            same_value.extend_from_slice(values);
            same_start.push(same_target.len() as u64);
        }
        (plan.counts.moves, plan.counts.alpha_same) = (counts.moves, same_target.len() as u64);
        tables.extend([
            ("alpha_same_start", same_start.into()),
            ("alpha_same_target", same_target.into()),
            ("alpha_same_value", same_value.into()),
        ]);
        tables
    }

    /// Calls `found` with class and β strings of each slice, in order.
    fn slices(&self, lanes: usize, mut found: impl FnMut(usize, std::ops::Range<usize>)) {
        for class in 0..self.classes.count() {
            let strings = self.beta.class(class);
            for first in strings.clone().step_by(lanes) {
                found(class, first..(first + lanes).min(strings.end));
            }
        }
    }

    /// Targets of the moves and densities of each β string in the field of each group.
    fn links(&self, plan: &mut FullCiPlan, columns: &[u32]) -> TableList<'static> {
        let (mut start, mut links, nowhere) = (vec![0u32], Vec::new(), plan.field() as u32);
        let sign_bit = if plan.link == IndexWord::U16 { 1u32 << 15 } else { 1 << 31 };
        let firsts = plan.group_starts();
        let lanes = plan.warp.lanes() as usize;
        let mut of_lane: Vec<Vec<u32>> = vec![Vec::new(); lanes];
        for (group, ends) in plan.groups.iter().zip(firsts.windows(2)) {
            let (irrep, first) = (group.irrep as usize, ends[0] as u32);
            let local = |pair: usize| Some(columns[pair].checked_sub(first)?).filter(|local| *local < group.pairs);
            self.slices(lanes, |class, strings| {
                let across = self.beta.class(self.classes.moved(class, irrep)).len() as u32;
                of_lane.iter_mut().for_each(Vec::clear);
                for (lane, k) in of_lane.iter_mut().zip(strings) {
                    let link = |single: &Single| {
                        let sign = if single.value & 1 == 1 { sign_bit } else { 0 };
                        Some((local(single.value as usize / 2)? * across + single.target) | sign)
                    };
                    lane.extend(self.beta.singles(k, irrep).iter().filter_map(link));
                    if irrep == 0 {
                        let own = (k - self.beta.class(class).start) as u32;
                        lane.extend(occupied(self.down[k]).filter_map(|r| Some(local(density(r))? * across + own)));
                    }
                }
                push_slice(&mut links, &of_lane, lanes, nowhere);
                start.push((links.len() / lanes) as u32);
            });
        }
        plan.counts.link_steps = (links.len() / lanes) as u64;
        vec![("link_start", start.into()), ("links", HostTable::of_u32(plan.link.element(), links))]
    }

    /// Elements of H_ββ, the diagonal first.
    fn beta_same(&self, plan: &mut FullCiPlan) -> TableList<'static> {
        let (mut start, mut places, mut values) = (vec![0u32], Vec::new(), Vec::new());
        let lanes = plan.warp.lanes() as usize;
        let mut place_of_lane: Vec<Vec<u32>> = vec![Vec::new(); lanes];
        let mut value_of_lane: Vec<Vec<f64>> = vec![Vec::new(); lanes];
        self.slices(lanes, |class, strings| {
            place_of_lane.iter_mut().for_each(Vec::clear);
            value_of_lane.iter_mut().for_each(Vec::clear);
            for (lane, k) in strings.enumerate() {
                let same = self.beta.same_spin(k);
                place_of_lane[lane].push((k - self.beta.class(class).start) as u32);
                place_of_lane[lane].extend(same.iter().map(|same| same.0));
                value_of_lane[lane].push(self.beta.energy[k]);
                value_of_lane[lane].extend(same.iter().map(|same| same.1));
            }
            push_slice(&mut places, &place_of_lane, lanes, 0);
            push_slice(&mut values, &value_of_lane, lanes, 0.0);
            start.push((places.len() / lanes) as u32);
        });
        plan.counts.beta_same_steps = (places.len() / lanes) as u64;
        vec![
            ("beta_same_start", start.into()),
            ("beta_same_place", HostTable::of_u32(plan.place.element(), places)),
            ("beta_same_value", values.into()),
        ]
    }

    /// What ⟨I K|H|I K⟩ are computed from, except `row_start` and `alpha_class`, which the product has.
    pub(super) fn diagonal(&self) -> TableList<'static> {
        let (orbitals, classes) = (self.integrals.orbitals, self.classes.count());
        let felt = (0..orbitals).flat_map(|p| (0..classes).flat_map(move |class| self.beta.felt(density(p), class)));
        let occupied = self.alpha.iter().flat_map(|word| occupied(*word).map(|p| p as u16));
        vec![
            ("class_first", HostTable::U32((0..classes).map(|class| self.beta.class(class).start as u32).collect())),
            ("alpha_energy", self.up.energy.clone().into()),
            ("alpha_orbital", HostTable::U16(occupied.collect())),
            ("beta_energy", self.beta.energy.clone().into()),
            ("felt", HostTable::F64(felt.copied().collect())),
        ]
    }

    /// An upper bound of the largest row sum of |H| (Gershgorin 1931), as in [`super::bound`], with the diagonal bounded
    /// by its largest parts, so that no pass over the determinants is needed.
    pub(super) fn norm_bound(&self) -> f64 {
        let sum = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
        let alpha: Vec<f64> = (0..self.alpha.len() as u32).map(|rank| sum(self.up.doubles(rank).1)).collect();
        self.norm_bound_with(&alpha, &vec![0.0; self.down.len()])
    }

    /// The same with Σ |H| of the double moves of each string, α and β, beside what is listed.
    pub(super) fn norm_bound_with(&self, alpha_doubles: &[f64], beta_doubles: &[f64]) -> f64 {
        let pairs = triangle(self.integrals.orbitals);
        let of_pairs = self.beta.of_pairs(pairs, |left, right| self.integrals.between(left, right));
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let beta_energy = largest(&mut self.beta.energy.iter().map(|energy| energy.abs()));
        let strings = self.down.len();
        let beta = largest(
            &mut (0..strings)
                .map(|k| beta_doubles[k] + self.beta.same_spin(k).iter().map(|same| same.1.abs()).sum::<f64>()),
        );
        let of_string = |(rank, word): (u32, &Occupation)| {
            let singles = self.up.singles(rank);
            let same = alpha_doubles[rank as usize] + singles.own.iter().map(|value| value.abs()).sum::<f64>();
            let (both, felt) = (0..singles.target.len()).fold((0.0, 0.0), |(both, felt), k| {
                let (more, most) = of_pairs[singles.pair(k)];
                (both + more, felt + most)
            });
            let densities = occupied(*word).map(|p| of_pairs[density(p)].0 + of_pairs[density(p)].1).sum::<f64>();
            self.up.energy[rank as usize].abs() + same + both + felt + densities
        };
        beta_energy + beta + largest(&mut (0..).zip(self.alpha).map(of_string))
    }
}

/// Appends a slice of so many lanes: step by step, lanes side by side, short ones and those that are missing padded.
pub(super) fn push_slice<T: Copy>(out: &mut Vec<T>, lanes: &[Vec<T>], count: usize, filling: T) {
    let steps = lanes.iter().map(Vec::len).max().unwrap_or(0);
    for step in 0..steps {
        out.extend((0..count).map(|lane| lanes.get(lane).and_then(|lane| lane.get(step)).copied().unwrap_or(filling)));
    }
}
