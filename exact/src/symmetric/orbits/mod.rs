//! H of a symmetry sector by rows that are made as they are multiplied: its plan for devices, and the multiply on the host.

mod averages;
mod exchanges;
mod tables;

pub(crate) use averages::{averages, averages_on_device};

use super::torus::Torus;
use super::{SymmetricSector, Transition};
use crate::matrix::MatrixTerms;
use crate::model::Model;
use crate::norm;
use crate::stored::matrix_of_terms;
use crate::structure::{ListedTerms, by_flip, diagonal, sizes_of};
use crate::way::{Request, Way, cards_for};
use eigenforge_core::basis::{Basis, LinTables, OtherPart, StateLine};
use eigenforge_core::operator::{DiagonalTerm, MatrixStorage, OperatorError, SiteLayout};
use eigenforge_product::ranks::{joined, part_range};
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, HostRows, Multiply, MultiplyPlan, NormBounds, PrepareError,
    Traffic, answers_of_plan, launches_of_plan,
};
use eigenforge_runtime::{Device, Everywhere, NamedTables, Scalar};
use eigenforge_templates::exact::{FlipGroup, LineCounts, SymmetryPlan, TableSizes};
use eigenforge_templates::{Launch, LaunchError, ScalarType, Warp};
use num_complex::Complex64;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
pub(super) use tables::symmetric_tables;

/// Words that are looked at to know about how many slots a row has.
const SAMPLE: u64 = 1024;
/// Standard deviations of the number of slots by which the longest row of a slice exceeds the mean: rings of 28 to 40 and tori of 36
/// sites have 0.7 to 0.9, since rows that follow each other are alike.
const LONGEST: f64 = 0.85;
/// The name of this way in plans and reports.
const NAME: &str = "rows made anew";

/// Difference of directions that are the same but for rounding.
const SAME_DIRECTION: f64 = 1e-12;

/// Rows a task works on, so that the number of threads changes no bit.
const ROWS: usize = 1 << 10;

/// The multiply of a symmetry sector without a stored matrix.
#[derive(Clone)]
pub struct SectorRows {
    plan: Arc<SymmetryPlan>,
    host: HostOrbits,
    /// The numbers of the states that are lines, once a device has found them.
    line_states: Arc<OnceLock<Vec<u32>>>,
}

impl SectorRows {
    /// Rows of H with a multiple of 1 added; `None` where no kernel makes them: words of more than 64 bits, states that are left out,
    /// groups that are not solvable, very long operators.
    pub(crate) fn new(
        name: &str,
        basis: &Basis,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
        sources: Vec<String>,
    ) -> Option<SectorRows> {
        let sector = terms.symmetric.clone()?;
        let (walk, layout, bits) = (sector.walk()?, sector.layout(), sector.layout().bits());
        let moves = |imaginary: bool| {
            let own = sector.moves.iter().filter(|(_, times_i)| *times_i == imaginary);
            let own: Vec<Transition> = own.map(|(transition, _)| transition.narrow()).collect();
            by_flip(&own)
        };
        let (groups, imaginary) = (moves(false), moves(true));
        if !SymmetryPlan::is_short(&walk.steps, &groups, &imaginary) {
            return None;
        }
        let on_diagonal: Vec<DiagonalTerm> = terms.diagonal.iter().map(|term| term.clone().narrow()).collect();
        let mut diagonal = diagonal(&on_diagonal, &sector.word);
        diagonal.constant += shift;
        let tables = sector.orbits.plain().own_tables()?;
        let TableSizes { low_bits, parts, low_states, high_parts } = sizes_of(tables);
        let plan = SymmetryPlan {
            name: name.into(),
            scalar,
            warp: Warp::default(),
            bits,
            low_bits,
            parts,
            low_states,
            high_parts,
            words: tables.dimension(),
            ranks: ranks(layout, tables, bits, walk.mixes),
            states: sector.orbits.states(),
            complex: sector.complex,
            lines: LineTables::new(&sector).map(|tables| tables.counts()),
            extremes: [0, u64::MAX >> (u64::BITS - bits)].iter().any(|word| tables.checked_index(*word).is_some()),
            characters: sector.group.characters().iter().any(|character| (character - 1.0).norm() > 1e-12),
            fermions: layout.digits().iter().any(|digit| digit.mode.is_some()),
            steps: walk.steps.clone(),
            torus: walk.torus.as_ref().map(|torus| torus.rows.clone()),
            diagonal,
            groups,
            imaginary,
            sources,
        };
        let host = HostOrbits { sector, basis: basis.clone(), diagonal: terms.diagonal.clone(), shift };
        Some(SectorRows { plan: Arc::new(plan), host, line_states: Arc::default() })
    }

    /// The plan.
    pub fn plan(&self) -> &SymmetryPlan {
        &self.plan
    }

    /// The sector.
    pub(crate) fn sector(&self) -> &SymmetricSector {
        &self.host.sector
    }

    /// The ranks of the sector without symmetry.
    pub(super) fn tables(&self) -> &LinTables {
        let tables = self.host.sector.orbits.plain().own_tables();
        tables.unwrap_or_else(|| unreachable!("the plan is made of them"))
    }

    /// The states that are lines.
    fn lines(&self) -> LineTables {
        LineTables::new(&self.host.sector).unwrap_or_default()
    }

    /// The tables of the rows of a torus.
    pub(super) fn torus(&self) -> Option<&Torus> {
        self.host.sector.walk()?.torus.as_ref()
    }

    /// The number in the group of each element of the plan's walk.
    fn order(&self) -> &[usize] {
        self.host.sector.walk().map_or(&[], |walk| &walk.order)
    }

    /// Sets the width of a warp.
    pub(super) fn set_warp(&mut self, warp: Warp) {
        Arc::make_mut(&mut self.plan).warp = warp;
    }

    /// About how many slots a row of a slice has: those of words without symmetry, which are as many as representatives but for short orbits.
    pub(super) fn row_slots(&self) -> f64 {
        let (plan, words) = (self.plan(), self.tables());
        let sample = words.dimension().min(SAMPLE);
        let acts = |word: u64, group: &&FlipGroup| group.terms.iter().any(|term| word & term.care == term.pattern);
        let slots = |number: u64| {
            let word = words.state((u128::from(number) * u128::from(words.dimension()) / u128::from(sample)) as u64);
            plan.groups.iter().chain(&plan.imaginary).filter(|group| acts(word, group)).count() as f64
        };
        let all: Vec<f64> = (0..sample).map(slots).collect();
        let mean = all.iter().sum::<f64>() / sample as f64;
        let variance = all.iter().map(|slots| (slots - mean).powi(2)).sum::<f64>() / sample as f64;
        let flips = (plan.groups.len() + plan.imaginary.len()) as f64;
        (mean + LONGEST * variance.sqrt()).min(flips)
    }

    /// The same H as a matrix, its states in the same order.
    ///
    /// # Errors
    /// No room for the matrix.
    pub(super) fn matrix(&self, storage: MatrixStorage) -> Result<Arc<dyn Multiply>, OperatorError> {
        let HostOrbits { sector, basis, diagonal, shift } = &self.host;
        let terms = ListedTerms { diagonal: diagonal.clone(), moves: Vec::new(), symmetric: Some(sector.clone()) };
        matrix_of_terms(&self.plan.name, basis, MatrixTerms::Listed(terms), (self.plan.scalar, *shift), storage)
    }

    /// Whether this device makes the rows, or a matrix is stored instead: on CPU cores, which are slower without, where it fits.
    pub(crate) fn are_made_on(&self, device: &Device) -> bool {
        let sector = &self.host.sector;
        device.runs_kernels() || !sector.may_store() || sector.check_matrix().is_err()
    }

    /// The characters of the walk's elements, of complex vectors their imaginary parts after them, and with antiunitary elements −1 for each
    /// of these, else 1.
    pub(super) fn characters(&self) -> Vec<f64> {
        let all = self.host.sector.group.characters();
        let part =
            |of: fn(&Complex64) -> f64| self.order().iter().map(|number| of(&all[*number])).collect::<Vec<f64>>();
        let imaginary = if self.plan.complex { part(|character| character.im) } else { Vec::new() };
        let turn = |number: &usize| if self.host.sector.group.elements[*number].conjugates { -1.0 } else { 1.0 };
        let turns = if self.plan.lines.is_some() { self.order().iter().map(turn).collect() } else { Vec::new() };
        [part(|character| character.re), imaginary, turns].concat()
    }

    /// Of each element of the walk and each bit, the bits that change the sign together with it: those that the element takes from behind
    /// to before it, and itself if it does so alone.
    pub(super) fn later(&self) -> Vec<u64> {
        let (bits, actions) = (self.plan.bits as usize, self.host.sector.orbits.actions());
        let mut table = vec![0; bits * self.order().len()];
        for (number, own) in self.order().iter().zip(table.chunks_exact_mut(bits)) {
            for (bit, later) in actions.inverted(*number) {
                own[bit.trailing_zeros() as usize] = *later as u64;
            }
        }
        table
    }
}

/// The states that are lines, as kernels read them.
#[derive(Default)]
struct LineTables {
    /// Words, ascending.
    words: Vec<u64>,
    /// Of each the number of its direction.
    numbers: Vec<u32>,
    /// Real and imaginary parts of the directions.
    directions: Vec<f64>,
}

impl LineTables {
    /// `None` without antiunitary elements.
    fn new(sector: &SymmetricSector) -> Option<LineTables> {
        let mut tables = LineTables::default();
        for StateLine { word, direction } in sector.orbits.lines()? {
            let known = |own: &[f64]| (Complex64::new(own[0], own[1]) - direction).norm() < SAME_DIRECTION;
            let number = tables.directions.chunks_exact(2).position(known).unwrap_or_else(|| {
                tables.directions.extend([direction.re, direction.im]);
                tables.directions.len() / 2 - 1
            });
            tables.words.push(*word as u64);
            tables.numbers.push(number as u32);
        }
        Some(tables)
    }

    fn counts(&self) -> LineCounts {
        LineCounts { lines: self.words.len() as u64, directions: (self.directions.len() / 2) as u64 }
    }
}

/// Why rows are not made.
pub(super) const NO_WALK: &str =
    "words of more than 64 bits, states that are left out, a group that is not solvable, or too long a text";

/// Symmetry sectors whose rows are made as they are multiplied.
pub(crate) struct OrbitsWay;

impl Way for OrbitsWay {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, model: &Model) -> Fit {
        let rows = || model.made_rows(ScalarType::F64);
        match model.symmetric() {
            None => Fit::Foreign,
            Some(sector) if !sector.has_kernel_words() => Fit::Refuses(NO_WALK.into()),
            Some(sector) => sector.fit_of_rows(false, || Fit::takes_if(rows(), NO_WALK)),
        }
    }

    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        let rows = model.made_rows(ScalarType::F64);
        let seconds = rows.map(|rows| 1e-3 * rows.plan().predicted_milliseconds(rows.plan().states, rows.row_slots()));
        (self.table_bytes(model, ScalarType::F64, None), seconds)
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        if let Some(sector) = model.symmetric() {
            sector.check_numbers()?;
        }
        Ok(Arc::new(model.orbit_rows(request).unwrap_or_else(|| unreachable!("it is for this model"))))
    }

    /// On cores the list of states, or the matrix that is stored there.
    fn table_bytes(&self, model: &Model, scalar: ScalarType, device: Option<&Device>) -> u64 {
        let Some((rows, sector)) = model.made_rows(scalar).zip(model.symmetric()) else { return 0 };
        match device {
            Some(device) if !device.runs_kernels() => match rows.are_made_on(device) {
                true => sector.list_bytes(),
                false => sector.matrix_bytes(),
            },
            _ => rows.plan().device_bytes(cards_for(device, rows.plan().dimension(), scalar)),
        }
    }

    fn exchanged(&self, model: &Model, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        copies_of_x(model, scalar, device)
    }

    fn words(&self, model: &Model) -> Option<String> {
        let (rows, sector) = (model.made_rows(ScalarType::F64)?, model.symmetric()?);
        let tables = eigenforge_core::words::size(rows.plan().device_bytes(1));
        let elsewhere = match (sector.may_store(), eigenforge_core::words::grouped(sector.about_elements().into())) {
            (true, elements) => format!("; elsewhere a stored matrix of about {elements} elements where it fits"),
            (false, _) => String::new(),
        };
        Some(format!("on a card without a matrix: {}, {tables} of tables{elsewhere}", rows.plan().shape()))
    }
}

/// A copy of x on each of several cards.
pub(super) fn copies_of_x(model: &Model, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
    let vector = model.dimension().saturating_mul(scalar.bytes() as u64);
    let is_shared = device.cards_for(vector).is_ok_and(|cards| cards > 1);
    let bytes = is_shared.then(|| Everywhere::bytes_for(device, vector).ok().flatten()).flatten();
    bytes.map(|bytes| ("a copy of x on each card", bytes))
}

impl Model {
    /// The rows of H that kernels of a device make as they are multiplied; `None` where a matrix is stored.
    pub(crate) fn rows_on(&self, scalar: ScalarType, device: &Device) -> Option<SectorRows> {
        device.runs_kernels().then(|| self.made_rows(scalar)).flatten()
    }

    /// The same on any device with kernels.
    pub(crate) fn made_rows(&self, scalar: ScalarType) -> Option<SectorRows> {
        self.orbit_rows(&Request::counting(scalar))
    }

    /// The same with a constant on the diagonal.
    pub(super) fn orbit_rows(&self, request: &Request<'_>) -> Option<SectorRows> {
        let terms = self.listed_terms()?;
        terms.symmetric.as_ref().filter(|sector| sector.makes_rows())?;
        let Request { scalar, constant, .. } = *request;
        SectorRows::new(self.name(), self.basis(), terms, scalar, constant, self.sources())
    }
}

impl From<SectorRows> for MultiplyPlan {
    fn from(way: SectorRows) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl Multiply for SectorRows {
    answers_of_plan!(SymmetryPlan);

    fn way_name(&self) -> &'static str {
        NAME
    }

    fn dimension(&self) -> usize {
        self.plan.dimension() as usize
    }

    fn shape(&self) -> String {
        self.plan.shape()
    }

    fn work(&self) -> f64 {
        self.plan.cost().flops * self.plan.elements() as f64
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        // The list of states.
        self.host.sector.orbits.prepare();
        Ok(Box::new(self.host.clone()))
    }

    fn norm_bounds(&self) -> NormBounds {
        let groups = self.plan.groups.iter().chain(&self.plan.imaginary);
        norm::bounds(self, &self.plan.diagonal, [u32::MAX; 2], groups.map(FlipGroup::norm_bound).sum())
    }

    fn with_warp(&self, warp: Warp) -> Option<Arc<dyn Multiply>> {
        (self.plan.warp != warp).then(|| {
            let mut own = self.clone();
            own.set_warp(warp);
            Arc::new(own) as Arc<dyn Multiply>
        })
    }

    fn replacement(&self, device: &Device) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        if self.are_made_on(device) {
            return Ok(None);
        }
        let Some(stored) = self.stored()? else { return Ok(None) };
        Ok(Some(stored.replacement(device)?.unwrap_or(stored)))
    }

    fn stored(&self) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        self.matrix(MatrixStorage::Stored).map(Some)
    }
}

impl GeneratedKernels for SectorRows {
    launches_of_plan!();

    /// Those that make the list of states, and that of averages.
    fn set_up_launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let average = self.plan.average([1; 3])?.into_iter().take(1);
        Ok(self.plan.set_up()?.into_iter().chain(average).collect())
    }

    fn partials(&self) -> u64 {
        self.plan.partials()
    }

    fn tables(&self, compile: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        Ok(symmetric_tables(self, &compile()?, device)?)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Copies(self.plan.dimension() as usize, self.plan.scalar, "multiply")
    }

    /// Blocks of states, in turns of the grid; of complex vectors the same states of both parts.
    fn rows_of_card(&self, multiply: &Launch, card: usize, cards: usize) -> Option<Vec<Range<usize>>> {
        let (grid, threads) = (multiply.grid[0] as usize, multiply.block as usize);
        let (states, blocks) = (self.plan.states as usize, part_range(grid, card, cards));
        let [first, end] = [blocks.start, blocks.end].map(|block| block * threads);
        let turn = |turn: usize| (turn + first).min(states)..(turn + end).min(states);
        let runs: Vec<Range<usize>> = (0..states).step_by((grid * threads).max(1)).map(turn).collect();
        let imaginary = if self.plan.complex { &runs[..] } else { &[] };
        let lines = self.line_states.get().map_or(&[][..], Vec::as_slice);
        let behind = |place: usize| states + place - lines.partition_point(|line| (*line as usize) < place);
        let imaginary = imaginary.iter().map(|run| behind(run.start)..behind(run.end));
        Some(joined(runs.iter().cloned().chain(imaginary).collect()))
    }
}

/// How many words of the sector may be representatives: where all bits can be moved to the highest and no state has all bits set, the
/// least word of an orbit has a zero there.
fn ranks(layout: &SiteLayout, tables: &LinTables, bits: u32, mixes: bool) -> u64 {
    let all = u64::MAX >> (u64::BITS - bits);
    let has_zero = layout.digits().iter().all(|digit| digit.top == 1) && tables.checked_index(all).is_none();
    if !mixes || !has_zero || tables.low_bits >= bits {
        return tables.dimension();
    }
    let top = bits - 1 - tables.low_bits;
    let first = tables.parts.iter().find(|part| part.high >> top & 1 == 1);
    first.map_or(tables.dimension(), |part| part.start)
}

/// The multiply on the host.
#[derive(Clone)]
struct HostOrbits {
    sector: Arc<SymmetricSector>,
    basis: Basis,
    diagonal: Vec<DiagonalTerm<u128>>,
    shift: f64,
}

impl HostRows for HostOrbits {
    fn dimension(&self) -> usize {
        self.basis.dimension() as usize
    }

    /// A state whose parts are both asked for is looked up once.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let (orbits, states) = (self.sector.orbits(), self.sector.states());
        // H is Hermitian: a row is the conjugate of a column.
        let row = |state: usize| -> Complex64 {
            let column = self.sector.column(&self.basis, &self.diagonal, self.shift, state).into_iter();
            let element = |(to, conjugates, value): (u32, bool, Complex64)| {
                let there = orbits.amplitude(x, to as usize);
                value.conj() * if conjugates { there.conj() } else { there }
            };
            column.map(element).sum()
        };
        let part = |own: (usize, bool), sum: Complex64| (self.sector.weight(own, x.len()) * sum).re;
        let dots: Vec<f64> = if y.len() == x.len() && x.len() > states {
            let (y_re, mut rest) = y.split_at_mut(states);
            let mut first = 0;
            let tasks = y_re.chunks_mut(ROWS).enumerate().map(|(k, re)| {
                let end = orbits.imaginary_before(k * ROWS + re.len());
                let (im, others) = std::mem::take(&mut rest).split_at_mut(end - first);
                (first, rest) = (end, others);
                (k, re, im)
            });
            let tasks: Vec<(usize, &mut [T], &mut [T])> = tasks.collect();
            let task = |(k, re, im): (usize, &mut [T], &mut [T])| {
                let (mut im, mut dot) = (im.iter_mut(), 0.0);
                for (place, re) in re.iter_mut().enumerate() {
                    let state = k * ROWS + place;
                    let sum = row(state);
                    *re = T::from_f64(part((state, false), sum));
                    if let OtherPart::Imaginary(_) = orbits.other_part(state, x.len()) {
                        im.next().into_iter().for_each(|im| *im = T::from_f64(sum.im));
                    }
                    dot += (sum * orbits.amplitude(x, state).conj()).re;
                }
                dot
            };
            tasks.into_par_iter().map(task).collect()
        } else {
            let task = |(k, y): (usize, &mut [T])| {
                let of_row = |(place, y): (usize, &mut T)| {
                    let index = first + k * ROWS + place;
                    let own = orbits.state_of(index);
                    let sum = part(own, row(own.0));
                    *y = T::from_f64(sum);
                    sum * x[index].to_f64()
                };
                y.iter_mut().enumerate().map(of_row).sum()
            };
            y.par_chunks_mut(ROWS).enumerate().map(task).collect()
        };
        dots.iter().sum()
    }

    fn diagonal(&self, index: usize) -> f64 {
        let word = self.sector.orbits().words()[self.sector.orbits().state_of(index).0];
        self.shift + self.diagonal.iter().map(|term| term.value(word, &self.sector.word)).sum::<f64>()
    }
}
