//! From a plan and its coefficients to the tables and launches of generated kernels.
//!
//! In: [`Plan`], [`Tables`], the number of channels. Out: a [`TransformPlan`] and every table that it refers to.

use super::super::plan::{Plan, SPINS};
use super::super::tables::Tables;
use super::DeviceTransformError;
use super::pair_tables::ByPair;
use eigenforge_runtime::{Device, HostTable, TableList};
use eigenforge_su3::Irrep;
use eigenforge_templates::su3::{LAYOUT, LayoutTable, MOST_IN_TEXT, SlabClass, TableCounts, TileClass, TransformPlan};
use eigenforge_templates::{ScalarType, Warp};
use std::ops::Range;

/// Largest slabs, and threads of a block for them.
const SLAB_CLASSES: [(usize, u32); 4] = [(256, 64), (1024, 128), (4096, 256), (usize::MAX, 256)];
/// Most numbers of the product W^f Y that a block holds at once, if one matrix is not larger.
const HALF: usize = 2048;
/// Rows and columns of a tile, and of the part that a thread sums.
const TILES: [[u32; 4]; 3] = [[64, 64, 4, 4], [32, 32, 4, 2], [16, 16, 2, 2]];
/// A tile size is used if tiles are filled to this fraction.
const FILLED: f64 = 0.5;

/// Launches that transform a portion of the groups.
pub(super) struct Portion {
    pub slabs: Vec<SlabClass>,
    pub tiles: Vec<TileClass>,
}

/// A plan with its tables, by name.
pub(super) struct Layout {
    pub plan: TransformPlan,
    /// Launches of each portion.
    pub portions: Vec<Portion>,
    pub tables: TableList<'static>,
}

impl Layout {
    /// Layout tables are written into the text if they have at most `most_in_text` numbers.
    pub(super) fn new(plan: &Plan, tables: &Tables, channels: u32, most_in_text: Option<usize>) -> Layout {
        Layout::in_portions(plan, tables, channels, most_in_text, std::slice::from_ref(&(0..plan.groups.len())))
    }

    /// In portions of consecutive groups that cover all: the same kernels, with separate launches for each portion.
    pub(super) fn in_portions(
        plan: &Plan,
        tables: &Tables,
        channels: u32,
        most_in_text: Option<usize>,
        portions: &[Range<usize>],
    ) -> Layout {
        let pairs = ByPair::new(plan, tables);
        let quadruples = Quadruples::new(plan, &pairs);
        let blocks = Blocks::new(plan);
        let (slabs, slab_classes) = quadruples.sorted_slabs(&pairs);
        let portion_of_block = portions_of_blocks(plan, portions);
        let (tiles, tile_classes) = blocks.tiles(&portion_of_block);
        let portions = portions
            .iter()
            .enumerate()
            .map(|(at, groups)| {
                let before = |end: usize| plan.groups[..end].iter().map(|group| group.quadruples.len() as u32).sum();
                let quadruples: Range<u32> = before(groups.start)..before(groups.end);
                let slabs = slab_classes.iter().map(|class| {
                    let of_class = &slabs[class.first as usize..][..class.slabs as usize];
                    let place = |quadruple: u32| of_class.partition_point(|slab| slab.0 < quadruple) as u64;
                    let [first, end] = [quadruples.start, quadruples.end].map(place);
                    SlabClass { first: class.first + first, slabs: end - first, ..*class }
                });
                let tiles = tile_classes.iter().map(|class| {
                    let of_class = &tiles[class.first as usize..][..class.tiles as usize];
                    let place = |portion: usize| {
                        of_class.partition_point(|tile| portion_of_block[tile.0 as usize] < portion) as u64
                    };
                    let [first, end] = [at, at + 1].map(place);
                    TileClass { first: class.first + first, tiles: end - first, ..*class }
                });
                Portion {
                    slabs: slabs.filter(|class| class.slabs > 0).collect(),
                    tiles: tiles.filter(|class| class.tiles > 0).collect(),
                }
            })
            .collect();
        let (irreps, irrep_first, states_below) = irreps(plan);
        let mut layout: Vec<LayoutTable> = Vec::new();
        for (name, _, _) in LAYOUT {
            let values = match name {
                "order" => pairs.order.clone(),
                "first_state" => pairs.first_state.clone(),
                "matrix" => pairs.matrix.clone(),
                "shell" => pairs.pairs.iter().map(|pair| pair.a).collect(),
                "quanta" => pairs.pairs.iter().map(|pair| pair.quanta()).collect(),
                "jj_count" => pairs.jj_count.clone(),
                "bra_label" => pairs.bra_label.clone(),
                "ket_label" => pairs.ket_label.clone(),
                "states_below" => states_below.clone(),
                "irrep_first" => irrep_first.clone(),
                _ => group_first(plan),
            };
            layout.push(LayoutTable { name: name.into(), values });
        }
        let in_text = layout.iter().map(|table| table.values.len()).sum::<usize>();
        let in_text = in_text <= most_in_text.unwrap_or(MOST_IN_TEXT);
        let counts = TableCounts {
            pairs: pairs.pairs.len() as u64,
            irreps,
            states: pairs.bra_label.len() as u64,
            matrices: pairs.w_f.len() as u64,
            jj_states: pairs.back_o.len() as u64 / 4,
            quadruples: quadruples.bra.len() as u64,
            products: blocks.start.len() as u64 / 3,
            w0: blocks.w0,
            slabs: slabs.len() as u64,
            tiles: tiles.len() as u64,
        };
        let given = layout.iter().zip(LAYOUT).filter(|_| !in_text);
        let mut numbers: TableList<'static> =
            given.map(|(table, (name, element, _))| (name, HostTable::of_u32(element, table.values.clone()))).collect();
        let device_plan = TransformPlan {
            name: format!("su3_transform_n{}", plan.n_max),
            scalar: ScalarType::F64,
            warp: Warp::default(),
            n_max: plan.n_max,
            channels,
            numbers: plan.length as u64,
            widest: pairs.width_of.iter().copied().max().unwrap_or(0).into(),
            flops: quadruples.flops + blocks.flops(),
            slabs: slab_classes,
            tiles: tile_classes,
            counts,
            spin_factors: spin_factors(plan, tables),
            layout: if in_text { layout } else { Vec::new() },
        };
        numbers.extend([
            ("slab_quadruple", HostTable::U32(slabs.iter().map(|slab| slab.0).collect())),
            ("slab_l", HostTable::U16(slabs.iter().map(|slab| slab.1).collect())),
            ("tile_block", HostTable::U32(tiles.iter().map(|tile| tile.0).collect())),
            ("tile_row", HostTable::U16(tiles.iter().map(|tile| tile.1).collect())),
            ("tile_column", HostTable::U16(tiles.iter().map(|tile| tile.2).collect())),
        ]);
        numbers.extend(pairs.into_tables());
        numbers.extend(quadruples.into_tables());
        numbers.extend(blocks.into_tables());
        Layout { plan: device_plan, portions, tables: numbers }
    }

    /// Refuses a plan that does not fit in the device's memory.
    pub(super) fn check(&self, device: &Device) -> Result<(), DeviceTransformError> {
        let plan = &self.plan;
        plan.check()?;
        let bytes = 16 * plan.all_numbers() + plan.table_bytes();
        let what = format!(
            "{} channels of N_max = {}: twice {} numbers, and tables of {} bytes",
            plan.channels,
            plan.n_max,
            plan.all_numbers(),
            plan.table_bytes()
        );
        Ok(device.check_memory(&what, bytes)?)
    }
}

/// The portion of each product of irreps and S0.
fn portions_of_blocks(plan: &Plan, portions: &[Range<usize>]) -> Vec<usize> {
    let blocks =
        |groups: &Range<usize>| 3 * plan.groups[groups.clone()].iter().map(|g| g.products.len()).sum::<usize>();
    portions.iter().enumerate().flat_map(|(at, groups)| std::iter::repeat_n(at, blocks(groups))).collect()
}

/// Numbers of irreps, the first of each na + nb, and (κ, L') with L' < L of each.
pub(super) fn irreps(plan: &Plan) -> (u64, Vec<u32>, Vec<u32>) {
    let (mut first, mut below) = (Vec::new(), Vec::new());
    let mut count = 0;
    for quanta in 0..=plan.space().quanta_max() {
        first.push(count);
        for k in 0..=quanta / 2 {
            let irrep = Irrep::new(quanta - 2 * k, k);
            let mut sum = 0;
            for l in 0..plan.n_max + 3 {
                below.push(sum);
                sum += irrep.kappa_max(l);
            }
            below.push(sum);
            count += 1;
        }
    }
    (u64::from(count), first, below)
}

/// The first product of each (na + nb, nc + nd); zero where parities differ.
fn group_first(plan: &Plan) -> Vec<u32> {
    let quanta = plan.space().quanta_max() as usize + 1;
    let mut first = vec![0; quanta * quanta];
    let mut products = 0;
    for group in &plan.groups {
        first[group.bra_quanta as usize * quanta + group.ket_quanta as usize] = products;
        products += group.products.len() as u32;
    }
    first
}

/// At [((spins · L_COUNT + Lf) 5 + Li − Lf + 2) 3 + J − Lf + 1]; zero where labels do not couple.
pub(super) fn spin_factors(plan: &Plan, tables: &Tables) -> Vec<f64> {
    let l_count = plan.n_max + 3;
    let mut factors = Vec::with_capacity(SPINS.len() * l_count as usize * 15);
    for (spin, [sf, _, s0]) in SPINS.into_iter().enumerate() {
        for lf in 0..l_count {
            for near_l in 0..5 {
                for near_j in 0..3 {
                    let labels = (lf + near_l).checked_sub(2).zip((lf + near_j).checked_sub(1));
                    let couples = |(li, j): &(u32, u32)| {
                        *li < l_count
                            && lf.abs_diff(*li) <= s0
                            && lf + li >= s0
                            && lf.abs_diff(*j) <= sf
                            && *j <= lf + sf
                    };
                    let factor = labels.filter(couples).map_or(0.0, |(li, j)| tables.spins.get(spin, lf, li, j));
                    factors.push(factor);
                }
            }
        }
    }
    factors
}

/// Tables by quadruple of shells.
pub(super) struct Quadruples {
    pub bra: Vec<u16>,
    ket: Vec<u16>,
    start: Vec<u64>,
    pub j_offset: Vec<u32>,
    y_offset: Vec<u32>,
    flops: f64,
}

impl Quadruples {
    pub(super) fn new(plan: &Plan, pairs: &ByPair) -> Quadruples {
        let (bra, ket, start) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Quadruples { bra, ket, start, j_offset: Vec::new(), y_offset: Vec::new(), flops: 0.0 };
        for group in &plan.groups {
            let of = |shells: &[_]| shells.iter().map(|pair| pairs.position(*pair)).collect::<Vec<usize>>();
            let (bras, kets) = (of(&group.bras), of(&group.kets));
            for (at, quadruple) in group.quadruples.iter().enumerate() {
                let (bra, ket) = (bras[at / kets.len()], kets[at % kets.len()]);
                all.bra.push(bra as u16);
                all.ket.push(ket as u16);
                all.start.push((group.start + quadruple.offset) as u64);
                let mut offsets = vec![0; pairs.j_count()];
                quadruple.blocks.iter().for_each(|block| offsets[block.j as usize] = block.offset as u32);
                all.j_offset.extend(offsets);
                let mut offset = 0;
                for lf in 0..plan.n_max as usize + 3 {
                    all.y_offset.push(offset as u32);
                    let (rows, width) = (pairs.order(bra, lf), pairs.width(ket, lf));
                    offset += rows * width;
                    all.flops += slab_flops(pairs, rows, ket, lf, width);
                }
            }
        }
        all
    }

    /// (quadruple, Lf) by class of size, and the classes. Within a class the quadruples of one group are contiguous:
    /// their strengths are adjacent, so that caches combine the writes.
    fn sorted_slabs(&self, pairs: &ByPair) -> (Vec<(u32, u16)>, Vec<SlabClass>) {
        let (mut slabs, mut classes) = (Vec::new(), Vec::new());
        let mut least = 0;
        for (most, threads) in SLAB_CLASSES {
            let (first, mut largest, mut matrix) = (slabs.len(), 0, 0);
            for (quadruple, (bra, ket)) in self.bra.iter().zip(&self.ket).enumerate() {
                let (bra, ket) = (usize::from(*bra), usize::from(*ket));
                for lf in 0..self.y_offset.len() / self.bra.len() {
                    let rows = pairs.order(bra, lf);
                    let size = rows * pairs.width(ket, lf);
                    if size > least && size <= most {
                        slabs.push((quadruple as u32, lf as u16));
                        largest = largest.max(size);
                        matrix = matrix.max(rows * pairs.most_orbitals());
                    }
                }
            }
            least = most;
            if slabs.len() > first {
                let half = largest.min(matrix.max(HALF)) as u64;
                let (first, slabs) = (first as u64, (slabs.len() - first) as u64);
                classes.push(SlabClass { threads, first, slabs, numbers: largest as u64, half });
            }
        }
        (slabs, classes)
    }

    pub(super) fn into_tables(self) -> [(&'static str, HostTable<'static>); 5] {
        [
            ("quadruple_bra", self.bra.into()),
            ("quadruple_ket", self.ket.into()),
            ("quadruple_start", self.start.into()),
            ("j_offset", self.j_offset.into()),
            ("y_offset", self.y_offset.into()),
        ]
    }
}

/// Operations of one slab: 40 per sum of 4 × 4 jj states, then W^f and W^i.
fn slab_flops(pairs: &ByPair, rows: usize, ket: usize, lf: usize, width: usize) -> f64 {
    let mut flops = 2 * rows * rows * width;
    for near in 0..5 {
        let Some(li) = (lf + near).checked_sub(2) else { continue };
        let (states, sums) = (pairs.order(ket, li), [1, 4, 6, 4, 1][near]);
        let spins = [1, 4, 6, 4, 1][near];
        flops += rows * states * (40 * sums + 2 * spins * states);
    }
    flops as f64
}

/// The CPU's W⁰ in the order of [`Blocks`]; all groups must be loaded.
pub(super) fn w0_of_tables(plan: &Plan, tables: &Tables) -> Vec<f64> {
    let products = plan.groups.iter().flat_map(|group| &group.products);
    let squares = products.flat_map(|product| &tables.products[&[product.bra_irrep(), product.ket_irrep()]]);
    squares.flat_map(|square| square.values.iter().copied()).collect()
}

/// Tables by product of irreps and S0.
#[derive(Default)]
pub(super) struct Blocks {
    pub start: Vec<u64>,
    rows: Vec<u32>,
    columns: Vec<u32>,
    row_start: Vec<u32>,
    w0_start: Vec<u64>,
    /// Numbers W⁰.
    pub w0: u64,
}

impl Blocks {
    pub(super) fn new(plan: &Plan) -> Blocks {
        let (mut blocks, l_count) = (Blocks::default(), plan.n_max as usize + 3);
        let (_, irrep_first, states_below) = irreps(plan);
        let below = |irrep: u32| &states_below[irrep as usize * (l_count + 1)..][..l_count + 1];
        for group in &plan.groups {
            for product in &group.products {
                let bra = below(irrep_first[group.bra_quanta as usize] + product.bra[1]);
                let ket = below(irrep_first[group.ket_quanta as usize] + product.ket[0]);
                for (s0, block) in product.tensors.iter().enumerate() {
                    blocks.start.push((group.start + product.offset + block.offset) as u64);
                    blocks.rows.push(block.rows as u32);
                    blocks.columns.push(block.columns as u32);
                    blocks.w0_start.push(blocks.w0);
                    blocks.w0 += (block.rows * block.rows) as u64;
                    let mut row = 0;
                    for lf in 0..l_count {
                        blocks.row_start.push(row);
                        // κf Lf, each with the κi Li that couple with Lf to S0
                        let partners = ket[(lf + s0 + 1).min(l_count)] - ket[lf.abs_diff(s0).min(l_count)];
                        row += (bra[lf + 1] - bra[lf]) * partners;
                    }
                }
            }
        }
        blocks
    }

    /// (block, row of tiles, column of tiles) by class; ordered by portion, with products of many rows first in each.
    fn tiles(&self, portion_of_block: &[usize]) -> (Vec<(u32, u16, u16)>, Vec<TileClass>) {
        let filled = |tile: u32, rows: u32, columns: u32| {
            let taken = rows.next_multiple_of(tile) as f64 * columns.next_multiple_of(tile) as f64;
            f64::from(rows) * f64::from(columns) / taken >= FILLED
        };
        let class_of = |block: usize| {
            let fits = |tile: &[u32; 4]| filled(tile[0], self.rows[block], self.columns[block]);
            TILES.iter().position(fits).unwrap_or(TILES.len() - 1)
        };
        let mut by_rows: Vec<usize> = (0..self.rows.len()).filter(|block| self.rows[*block] > 0).collect();
        by_rows.sort_by_key(|block| (portion_of_block[*block], std::cmp::Reverse(self.rows[*block])));
        let (mut tiles, mut classes) = (Vec::new(), Vec::new());
        for (which, [rows, columns, deep, wide]) in TILES.into_iter().enumerate() {
            let first = tiles.len();
            for block in by_rows.iter().copied().filter(|block| class_of(*block) == which) {
                for row in 0..self.rows[block].div_ceil(rows) {
                    tiles.extend(
                        (0..self.columns[block].div_ceil(columns)).map(|c| (block as u32, row as u16, c as u16)),
                    );
                }
            }
            if tiles.len() > first {
                let (first, tiles) = (first as u64, (tiles.len() - first) as u64);
                classes.push(TileClass { rows, columns, deep, wide, first, tiles });
            }
        }
        (tiles, classes)
    }

    fn flops(&self) -> f64 {
        self.rows.iter().zip(&self.columns).map(|(p, b)| 2.0 * f64::from(*p) * f64::from(*p) * f64::from(*b)).sum()
    }

    pub(super) fn into_tables(self) -> [(&'static str, HostTable<'static>); 5] {
        [
            ("block_start", self.start.into()),
            ("block_rows", self.rows.into()),
            ("block_columns", self.columns.into()),
            ("row_start", self.row_start.into()),
            ("w0_start", self.w0_start.into()),
        ]
    }
}

impl ByPair {
    pub(super) fn into_tables(self) -> [(&'static str, HostTable<'static>); 10] {
        [
            ("w_f", self.w_f.into()),
            ("w_i", self.w_i.into()),
            ("w_i_transposed", self.w_i_transposed.into()),
            ("term_jj", self.term_jj.into()),
            ("term_a", self.term_a.into()),
            ("jj_first", self.jj_first.into()),
            ("back_o", self.back_o.into()),
            ("back_a", self.back_a.into()),
            ("column_of", self.column_of.into()),
            ("width_of", self.width_of.into()),
        ]
    }
}
