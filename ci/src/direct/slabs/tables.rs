//! The tables of a product by slabs, and the matching plan.
//!
//! In: moves of the strings of both spins, classes, a card's shared memory. Out: a [`SlabPlan`] and its tables by name. A slab of β strings L
//! is reached by strings K through links; those of a slab are listed slice by slice of a warp of K, and each K in a slice is a lane of each
//! step. Within a slab those with most links come first, so that the lanes of a slice have about as many.

use super::super::super::integrals::triangle;
use super::super::super::strings::occupied;
use super::super::beta::{Single, density};
use super::super::device_tables::{Sources, push_slice};
use super::super::error::DirectError;
use super::cores::{Cores, doubles, exchanged};
use eigenforge_core::operator::Spin;
use eigenforge_product::sparse::Target;
use eigenforge_runtime::TableList;
use eigenforge_templates::ScalarType;
use eigenforge_templates::ci::{SlabCounts, SlabPlan, SlabShape, slab_groups};
use rayon::prelude::*;
use std::collections::HashMap;

/// No string.
const NOTHING: u32 = u32::MAX;

/// The plan, everything to upload, and a bound of the norm.
pub(super) struct SlabTables {
    pub plan: SlabPlan,
    /// Tables of the product, by the names of its parameters.
    pub product: TableList<'static>,
    /// Of its diagonal.
    pub diagonal: TableList<'static>,
    pub norm_bound: f64,
}

/// What a string K gathers from a slab: its links.
type Links = Vec<(u32, Vec<u16>)>;

impl Sources<'_> {
    /// The plan and its tables in a given shape, for so many cards that work as one device, or apart.
    pub(super) fn slab_tables(
        &self,
        name: &str,
        target: Target,
        shape: SlabShape,
        (cards, apart): (u32, bool),
    ) -> Result<SlabTables, DirectError> {
        let strings = self.strings(target);
        let irreps = strings.pairs.len() as u32;
        let (up, down) = (self.electrons(self.alpha), self.electrons(&self.down));
        let wanted = usize::from(self.classes.wanted);
        let of_alpha = |word| self.classes.class(word) ^ wanted;
        let alpha = Cores::new(up, self.irreps, irreps, of_alpha, |word| self.alpha_rank(word));
        let places: HashMap<u128, u32> = match down {
            0 | 1 => HashMap::new(),
            _ => (0..self.classes.count()).flat_map(|class| self.places(class)).collect(),
        };
        let beta =
            Cores::new(down, self.irreps, irreps, |word| self.classes.class(word), |word| places.get(&word).copied());
        let most = alpha.most().max(beta.most()) as u32;
        let beta_parents = self.beta_parents(&beta);
        let partner: Vec<usize> = self.alpha.iter().map(|word| self.classes.partner(*word)).collect();
        let members = self.members(&partner);
        let mut plan = SlabPlan {
            name: name.into(),
            scalar: ScalarType::F64,
            warp: strings.warp,
            orbitals: self.integrals.orbitals as u32,
            unrestricted: self.integrals.is_unrestricted(),
            up: up as u32,
            down: down as u32,
            alpha_strings: strings.alpha,
            classes: strings.classes.clone(),
            members: members.iter().map(|members| members.len() as u32).collect(),
            rows: self.rows,
            irreps,
            groups: slab_groups(&strings.pairs, shape.both_warps),
            both_warps: shape.both_warps,
            stages: shape.stages,
            alone_warps: SlabPlan::warps_alone(most, shape.alone_across),
            alone_across: shape.alone_across,
            panel: shape.panel,
            panels: panels(&members, strings.alpha, shape.panel, cards),
            cards,
            apart,
            piece: shape.piece,
            link_room: 0,
            counts: SlabCounts {
                cores: [alpha.len(), beta.len()],
                additions: [alpha.additions(), beta.additions()],
                products: [alpha.products(), beta.products()],
                most_additions: most,
                ..SlabCounts::default()
            },
        };
        plan.check()?;
        let columns = self.slab_columns(&plan);
        let mut product = self.move_tables(irreps, &mut plan.counts);
        product.push(("integrals", self.slab_integrals(&plan, &columns).into()));
        product.extend(self.slab_links(&mut plan, &columns));
        product.push(("alpha_member", members.concat().into()));
        let exchange = |spin| exchanged(self.integrals.of_spin(spin));
        let (exchanged, of_beta) = (exchange(Spin::Up), plan.unrestricted.then(|| exchange(Spin::Down)));
        let norm_bound = self.slab_norm_bound([&exchanged, of_beta.as_ref().unwrap_or(&exchanged)]);
        product.push(("exchanged", exchanged.into()));
        product.extend(of_beta.map(|table| ("beta_exchanged", table.into())));
        product.push(("alpha_parent", alpha.parents(self.alpha.len(), |_, _| 0).into()));
        product.push(("beta_parent", beta_parents.into()));
        product.extend(alpha.tables(["alpha_core_start", "alpha_core_class", "alpha_core_target", "alpha_core_word"]));
        product.extend(beta.tables(["beta_core_start", "beta_core_class", "beta_core_target", "beta_core_word"]));
        let plan = plan.fitting(u64::from(target.card.shared_bytes));
        plan.check()?;
        let diagonal = self.diagonal();
        Ok(SlabTables { plan, product, diagonal, norm_bound })
    }

    fn electrons(&self, words: &[u128]) -> usize {
        words.first().map_or(0, |word| word.count_ones() as usize)
    }

    fn alpha_rank(&self, word: u128) -> Option<u32> {
        self.alpha.binary_search(&word).ok().map(|rank| rank as u32)
    }

    /// β strings of a class with their places in it.
    fn places(&self, class: usize) -> impl Iterator<Item = (u128, u32)> + '_ {
        self.beta.class(class).zip(0..).map(|(k, place)| (self.down[k], place))
    }

    /// [`Cores::parents`] of β strings class by class, whose targets are places in their class.
    fn beta_parents(&self, cores: &Cores) -> Vec<u32> {
        let first = |class: usize| self.beta.class(class).start as u32;
        cores.parents(self.down.len(), |core, irrep| match self.classes.count() {
            1 => 0,
            _ => first(core ^ irrep),
        })
    }

    /// α strings beside the β strings of each class, ascending.
    fn members(&self, partner: &[usize]) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.classes.count()];
        partner.iter().zip(0..).for_each(|(class, rank)| members[*class].push(rank));
        members
    }

    /// Column of each pair of orbitals among the integrals, followed by that of the one-electron terms.
    fn slab_columns(&self, plan: &SlabPlan) -> Vec<u32> {
        let of_pair = self.pair_irreps();
        let mut columns = vec![0; of_pair.len() + 1];
        for irrep in 0..plan.irreps as usize {
            let groups = plan.groups.iter().zip(plan.group_starts()).filter(|(group, _)| group.irrep as usize == irrep);
            let places = groups.flat_map(|(group, start)| (start as u32..).take(group.pairs as usize));
            let one = (irrep == 0).then_some(of_pair.len());
            let pairs = of_pair.iter().enumerate().filter(|(_, of_pair)| **of_pair == irrep).map(|(pair, _)| pair);
            one.into_iter().chain(pairs).zip(places).for_each(|(pair, place)| columns[pair] = place);
        }
        columns
    }

    /// (kl|pq) with a row for each pq of an α electron, h_pq in the column of the one-electron terms, and h_kl of β electrons as the last row.
    fn slab_integrals(&self, plan: &SlabPlan, columns: &[u32]) -> Vec<f64> {
        let (width, pairs) = (plan.pair_columns() as usize, triangle(self.integrals.orbitals));
        let mut table = vec![0.0; (pairs + 1) * width];
        let [alpha, beta] = [Spin::Up, Spin::Down].map(|spin| self.integrals.of_spin(spin).one);
        for (left, row) in table.chunks_mut(width.max(1)).enumerate() {
            for (right, column) in columns.iter().enumerate() {
                row[*column as usize] = match (left < pairs, right < pairs) {
                    (true, true) => self.integrals.between(left, right),
                    (true, false) => alpha[left],
                    (false, true) => beta[right],
                    (false, false) => 0.0,
                };
            }
        }
        table
    }

    /// The links of the β strings of a class to each slab of a group.
    fn links_by_slab(
        &self,
        class: usize,
        irrep: usize,
        columns: &[u32],
        first: u32,
        pairs: u32,
        width: u32,
    ) -> Vec<Links> {
        let across = self.beta.class(self.classes.moved(class, irrep)).len() as u32;
        let mut slabs: Vec<Links> = vec![Vec::new(); across.div_ceil(width) as usize];
        let local = |pair: usize| Some(columns[pair].checked_sub(first)?).filter(|local| *local < pairs);
        let one = columns.len() - 1;
        for (k, own) in self.beta.class(class).zip(0u32..) {
            let mut add = |pair: usize, target: u32, odd: bool| {
                let Some(local) = local(pair) else { return };
                let word = SlabPlan::field_place(width, local, target % width) as u16 | u16::from(odd) << 15;
                let slab = &mut slabs[(target / width) as usize];
                match slab.last_mut() {
                    Some((last, words)) if *last == own => words.push(word),
                    _ => slab.push((own, vec![word])),
                }
            };
            let singles: &[Single] = self.beta.singles(k, irrep);
            singles.iter().for_each(|single| add(single.value as usize / 2, single.target, single.value & 1 == 1));
            if irrep == 0 {
                occupied(self.down[k]).for_each(|r| add(density(r), own, false));
                add(one, own, false);
            }
        }
        // Stable: of as many links the order of the strings.
        slabs.iter_mut().for_each(|slab| slab.sort_by_key(|(_, words)| std::cmp::Reverse(words.len())));
        slabs
    }

    fn slab_links(&self, plan: &mut SlabPlan, columns: &[u32]) -> TableList<'static> {
        let (lanes, nowhere) = (plan.warp.lanes() as usize, plan.field() as u16);
        let lists: Vec<(usize, usize)> = (0..plan.groups.len())
            .flat_map(|group| (0..self.classes.count()).map(move |class| (group, class)))
            .collect();
        let firsts = plan.group_starts();
        let made: Vec<Vec<Links>> = lists
            .par_iter()
            .map(|(number, class)| {
                let group = &plan.groups[*number];
                let (first, width) = (firsts[*number] as u32, plan.slab_width(group));
                self.links_by_slab(*class, group.irrep as usize, columns, first, group.pairs, width)
            })
            .collect();
        let (mut slab_first, mut slab_start, mut link_start) = (Vec::new(), vec![0u32; 2], vec![0u32]);
        let (mut targets, mut links) = (Vec::new(), Vec::new());
        for slab in made.into_iter().flat_map(|slabs| {
            slab_first.push(slabs.len() as u32);
            slabs
        }) {
            for slice in slab.chunks(lanes) {
                targets.extend((0..lanes).map(|lane| slice.get(lane).map_or(NOTHING, |(target, _)| *target)));
                let two = |words: &Vec<u16>| -> Vec<u32> {
                    let other = |pair: &[u16]| u32::from(pair.get(1).copied().unwrap_or(nowhere));
                    words.chunks(2).map(|pair| u32::from(pair[0]) | other(pair) << 16).collect()
                };
                let of_lane: Vec<Vec<u32>> = slice.iter().map(|(_, words)| two(words)).collect();
                push_slice(&mut links, &of_lane, lanes, u32::from(nowhere) * 0x1_0001);
                link_start.push((links.len() / lanes) as u32);
            }
            slab_start.extend([targets.len(), links.len()].map(|words| (words / lanes) as u32));
        }
        // Numbers of slabs → where each list begins.
        let mut sum = 0;
        slab_first.iter_mut().for_each(|first| sum += std::mem::replace(first, sum));
        let counts = &mut plan.counts;
        counts.slabs = slab_start.len() as u64 / 2 - 1;
        let words = |(before, after): (&[u32; 2], &[u32; 2])| {
            let [slices, steps] = [0, 1].map(|of| u64::from(after[of] - before[of]));
            lanes as u64 * (slices + steps) + slices + 1
        };
        let bounds = slab_start.as_chunks::<2>().0;
        counts.largest_links = bounds.iter().zip(&bounds[1..]).map(words).max().unwrap_or(0);
        (counts.slices, counts.link_steps) = (link_start.len() as u64 - 1, (links.len() / lanes) as u64);
        vec![
            ("slab_first", slab_first.into()),
            ("slab_start", slab_start.into()),
            ("link_start", link_start.into()),
            ("link_target", targets.into()),
            ("links", links.into()),
        ]
    }

    /// [`Sources::norm_bound`] where no double moves are listed.
    fn slab_norm_bound(&self, [alpha, beta]: [&[f64]; 2]) -> f64 {
        let orbitals = self.integrals.orbitals;
        let of = |words: &[u128], exchanged: &[f64]| -> Vec<f64> {
            words.par_iter().map(|word| doubles(exchanged, orbitals, *word)).collect()
        };
        self.norm_bound_with(&of(self.alpha, alpha), &of(&self.down, beta))
    }
}

/// Panels of each class on the card that has most of its α strings.
fn panels(members: &[Vec<u32>], strings: u32, panel: u32, cards: u32) -> Vec<u32> {
    let first = |card: u32| (u64::from(strings) * u64::from(card) / u64::from(cards)) as u32;
    let own = |members: &[u32], card: u32| {
        members.partition_point(|member| *member < first(card + 1))
            - members.partition_point(|member| *member < first(card))
    };
    let most = |members: &Vec<u32>| (0..cards).map(|card| own(members, card)).max().unwrap_or(0) as u32;
    members.iter().map(|members| most(members).div_ceil(panel)).collect()
}
