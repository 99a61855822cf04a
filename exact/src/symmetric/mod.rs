//! A symmetry sector: operators between states of representatives.
//!
//! In: a group with characters, a sector without symmetry, operators that the group leaves as they are. Out: the representatives
//! ([`WordActions::representatives`]) and the elements of operators between their states r̃,
//!
//! ⟨r̃'| O |r̃⟩ = Σ_s ⟨s| O |r⟩ σ_g(s) χ(g)* √(|S_r'| / |S_r|),   U_g |s⟩ = σ_g(s) |r'⟩,
//!
//! the sum over the states s of the orbit of r' (A. W. Sandvik, AIP Conf. Proc. 1297, 135 (2010), section 4.1). H is stored as a
//! sparse matrix of these elements, or its rows are made whenever they are multiplied (`orbits/`; on a device by generated
//! kernels that also make the list of representatives, `tables.rs`). It is real if all characters and H are; else vectors hold all real
//! parts and after them all imaginary parts, as those of any complex H. Solvers work on a complex sector of a real H in states that are
//! their own conjugates, where the lattice has them: half as many numbers (`conjugated.rs`). Elements then multiply amplitudes or the
//! conjugates of these.

mod conjugated;
mod orbits;
mod pairs;
mod partners;
mod strings;
mod torus;
mod walk;

pub(crate) use conjugated::Conjugated;
pub use orbits::SectorRows;
pub(super) use orbits::{OrbitsWay, averages, averages_on_device};
pub use pairs::PairRows;
pub(super) use pairs::PairsWay;
pub use partners::PartnerRows;
pub(crate) use partners::PartnersWay;
pub use strings::StringRows;
pub(crate) use strings::{ByStrings, StringsWay};

use eigenforge_core::basis::{Basis, FlipImages, Orbits, OtherPart, WordActions};
use eigenforge_core::operator::{
    Charge, DiagonalTerm, Factor, MatrixStorage, Operator, OperatorError, Product, SiteKind, SiteLayout, SymmetryError,
    SymmetryGroup, Transition, Word,
};
use eigenforge_core::words::grouped;
use eigenforge_product::Fit;
use eigenforge_runtime::Device;
use num_complex::Complex64;
use pairs::Pairs;
use std::sync::{Arc, OnceLock};
use strings::Strings;
use walk::{Walk, walk};

/// What is left of contributions that cancel, of their sum of magnitudes.
const ROUNDING: f64 = 1e-14;

/// Column and value.
const BYTES_OF_AN_ELEMENT: u64 = 12;

/// States that are looked at to know about how many elements a row has.
const SAMPLE: u64 = 1024;

/// States of the sector without symmetry from which on rows are made as they are multiplied, if the device can: a Heisenberg ring of 24
/// (2.7e6) takes the same time either way, of 28 (4.0e7) a fifth (docs/notes/symmetry-sectors.md).
const MANY: u64 = 1 << 22;

/// A group on the states of a sector.
#[derive(Debug)]
pub(crate) struct SymmetricSector {
    group: SymmetryGroup,
    orbits: Arc<Orbits>,
    /// Of words without a digit for imaginary parts.
    word: Word,
    /// The moving part of H.
    moves: Moves,
    /// Elements of a row, about.
    row_length: f64,
    /// Whether amplitudes have two parts.
    complex: bool,
    storage: MatrixStorage,
    /// The group as kernels walk it, found when it is first wanted.
    walk: OnceLock<Option<Walk>>,
    /// Where words are by species, the tables of the multiply by strings, made when they are first wanted.
    strings: OnceLock<Option<Arc<Strings>>>,
    /// The same of the multiply on pairs of strings.
    pairs: OnceLock<Option<Arc<Pairs>>>,
}

/// A moving part of an operator: transitions, and whether they are times i.
pub(super) type Moving = Vec<(Transition<u128>, bool)>;

/// The same with what of it is known for the words that one state leads to.
#[derive(Debug)]
pub(super) struct Moves {
    list: Moving,
    flips: OnceLock<Flips>,
}

/// The flips of a moving part, each once: their images by all elements, and which of them each transition makes.
#[derive(Debug)]
struct Flips {
    images: Option<FlipImages>,
    numbers: Vec<usize>,
}

impl Moves {
    pub(super) fn new(list: Moving) -> Moves {
        Moves { list, flips: OnceLock::new() }
    }

    fn flips(&self, actions: &WordActions) -> &Flips {
        self.flips.get_or_init(|| {
            let mut flips: Vec<u128> = self.list.iter().map(|(transition, _)| transition.flip).collect();
            flips.sort_unstable();
            flips.dedup();
            let number =
                |(transition, _): &(Transition<u128>, bool)| flips.partition_point(|flip| *flip < transition.flip);
            Flips { images: actions.flip_images(&flips), numbers: self.list.iter().map(number).collect() }
        })
    }
}

impl std::ops::Deref for Moves {
    type Target = Moving;

    fn deref(&self) -> &Moving {
        &self.list
    }
}

/// Contributions to one row or column: of a state, whether they multiply the conjugate of its amplitude, and a number.
#[derive(Debug, Default)]
pub(super) struct Contributions(Vec<(u32, bool, Complex64)>);

impl SymmetricSector {
    /// The sector. The layout is that of real vectors, also where `complex` asks for amplitudes of two parts.
    ///
    /// # Errors
    /// No state, or too many of them.
    pub(super) fn new(
        group: SymmetryGroup,
        operator: &Operator,
        (layout, charges): (&Arc<SiteLayout>, &[(Charge, i64)]),
        storage: MatrixStorage,
        complex: bool,
    ) -> Result<SymmetricSector, OperatorError> {
        let plain = Basis::on_sites(layout.clone(), charges.to_vec())?;
        let (dimension, elements) = (plain.dimension(), group.elements.len());
        let complex = complex || operator.is_complex() || !group.is_real() || group.conjugates();
        let moves = Moves::new(moving(operator.terms(), layout));
        let row_length = elements_of_a_row(&plain, &moves);
        let counted = layout.forbidden().is_empty().then(|| group.states(layout.kinds(), charges));
        let states = match (counted, group.conjugates()) {
            // Antiunitary elements join nearly all orbits by twos.
            (Some(counted), true) => counted / 2,
            (counted, _) => counted.unwrap_or(dimension / elements as u64),
        };
        if states > u32::MAX.into() && !pairs::are_for(&group, operator, layout, charges, storage) {
            return Err(SymmetryError::TooManyStates { states, complex: false }.into());
        }
        if counted.is_none() {
            let needed = states.saturating_mul(list_bytes()).saturating_add(WordActions::bytes(layout, elements));
            let free = Device::cpu().memory().free;
            if needed > free {
                let matrix = false;
                return Err(SymmetryError::NoRoom { states, plain: dimension, elements, matrix, needed, free }.into());
            }
        }
        let orbits = Arc::new(Orbits::new(&group, (layout, charges), plain, counted));
        if orbits.states() == 0 {
            let symmetry = group.describe();
            let sector = eigenforge_core::basis::Sector::Charges(charges.to_vec()).to_string();
            return Err(SymmetryError::NoStates { plain: dimension, sector, symmetry }.into());
        }
        let word = Word::Sites(layout.clone());
        let (walk, strings, pairs) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Ok(SymmetricSector { group, orbits, word, moves, row_length, complex, storage, walk, strings, pairs })
    }

    /// How it is stored, as it was asked for.
    pub(super) fn wanted_storage(&self) -> MatrixStorage {
        self.storage
    }

    /// The layout of its words.
    pub(super) fn layout(&self) -> &SiteLayout {
        let Word::Sites(layout) = &self.word else { unreachable!("made so") };
        layout
    }

    /// The group as kernels walk it; `None` where none does: words of more than 64 bits, states that are left out, groups that are not
    /// solvable.
    fn walk(&self) -> Option<&Walk> {
        self.walk.get_or_init(|| self.has_kernel_words().then(|| walk(&self.group, self.layout())).flatten()).as_ref()
    }

    /// Whether its words are those of kernels: of 64 bits at most, none left out.
    fn has_kernel_words(&self) -> bool {
        let layout = self.layout();
        (1..=u64::BITS).contains(&layout.bits()) && layout.forbidden().is_empty()
    }

    /// The tables of the multiply by strings; `None` where words are not by species, or it is not for their terms.
    fn strings(&self) -> Option<&Arc<Strings>> {
        let new = || {
            if pairs::is_exchange(&self.group) || self.asks_for_table() {
                None
            } else {
                Strings::new(self).map(Arc::new)
            }
        };
        self.strings.get_or_init(new).as_ref()
    }

    /// The tables of the multiply on pairs of strings; `None` where words are not by species, or it is not for their group or terms.
    fn pairs(&self) -> Option<&Arc<Pairs>> {
        let new = || if self.asks_for_table() { None } else { Pairs::new(self).map(Arc::new) };
        self.pairs.get_or_init(new).as_ref()
    }

    /// Whether it is multiplied on pairs of strings.
    pub(super) fn has_pairs(&self) -> bool {
        self.pairs().is_some()
    }

    /// Whether words have the electrons of one spin above those of the other.
    pub(super) fn is_by_species(&self) -> bool {
        self.layout().low_species().is_some()
    }

    /// The orbits, whose representatives are the states.
    pub(super) fn orbits(&self) -> &Arc<Orbits> {
        &self.orbits
    }

    /// Whether rows are made as they are multiplied where a device can, and no matrix is stored there.
    pub(super) fn makes_rows(&self) -> bool {
        match self.storage {
            MatrixStorage::Auto => self.plain() >= MANY,
            MatrixStorage::Stored => false,
            MatrixStorage::Direct | MatrixStorage::Table => true,
        }
    }

    /// Whether a way that makes rows is for it, as `fit` says; not for few words, nor where `storage` asks for a matrix, or for rows in a table
    /// of a way without one, or the other way round.
    fn fit_of_rows(&self, keeps_table: bool, fit: impl FnOnce() -> Fit) -> Fit {
        match self.storage {
            MatrixStorage::Auto if !self.makes_rows() => {
                let [words, many] = [self.plain(), MANY].map(|words| grouped(words.into()));
                Fit::Refuses(format!("{words} states without the symmetry; from {many} on it is quicker"))
            }
            MatrixStorage::Stored => Fit::other_storage("stored"),
            MatrixStorage::Direct if keeps_table => Fit::other_storage("direct"),
            MatrixStorage::Table if !keeps_table => Fit::other_storage("table"),
            _ => fit(),
        }
    }

    /// Whether all sites have electrons of both spins.
    fn is_of_electrons(&self) -> bool {
        self.layout().kinds().iter().all(|kind| *kind == SiteKind::Electrons)
    }

    /// Whether a table of partners was asked for by name.
    fn asks_for_table(&self) -> bool {
        self.storage == MatrixStorage::Table
    }

    /// Whether a matrix may be stored.
    pub(super) fn may_store(&self) -> bool {
        self.storage != MatrixStorage::Direct
    }

    /// Refuses more states than have numbers of 32 bits, which all multiplies but that on pairs of strings need.
    pub(super) fn check_numbers(&self) -> Result<(), OperatorError> {
        match self.orbits.states() {
            states if states > u32::MAX.into() => Err(SymmetryError::TooManyStates { states, complex: false }.into()),
            _ => Ok(()),
        }
    }

    /// Refuses a matrix that the host has no room for, or whose columns have no numbers.
    pub(super) fn check_matrix(&self) -> Result<(), OperatorError> {
        self.check_numbers()?;
        let (states, free) = (self.orbits.states(), Device::cpu().memory().free);
        if self.orbits.elements(self.complex) > u32::MAX.into() {
            return Err(SymmetryError::TooManyStates { states, complex: true }.into());
        }
        self.check_room(self.matrix_bytes(), free, true)
    }

    /// Refuses a list that the host has no room for.
    pub(super) fn check_list(&self) -> Result<(), OperatorError> {
        self.check_room(self.list_bytes(), Device::cpu().memory().free, false)
    }

    fn check_room(&self, needed: u64, free: u64, matrix: bool) -> Result<(), OperatorError> {
        let (states, plain, elements) = (self.orbits.states(), self.plain(), self.group.elements.len());
        match needed > free {
            true => Err(SymmetryError::NoRoom { states, plain, elements, matrix, needed, free }.into()),
            false => Ok(()),
        }
    }

    /// About what the list and the matrix take on the host.
    pub(super) fn matrix_bytes(&self) -> u64 {
        let matrix = self.about_elements().saturating_mul(BYTES_OF_AN_ELEMENT);
        self.list_bytes().saturating_add(matrix)
    }

    /// About what the list takes on the host while it is made, and the tables of the group.
    pub(super) fn list_bytes(&self) -> u64 {
        let tables = WordActions::bytes(self.layout(), self.group.elements.len());
        self.orbits.states().saturating_mul(list_bytes()).saturating_add(tables)
    }

    /// About how many elements the matrix has.
    pub(super) fn about_elements(&self) -> u64 {
        (self.orbits.states() as f64 * self.row_length * if self.complex { 4.0 } else { 1.0 }) as u64
    }

    /// The group.
    pub(super) fn group(&self) -> &SymmetryGroup {
        &self.group
    }

    /// States of the sector without symmetry.
    pub(super) fn plain(&self) -> u64 {
        self.orbits.plain().dimension()
    }

    /// Representatives.
    pub(super) fn states(&self) -> usize {
        self.orbits.states() as usize
    }

    /// Adds where an invariant operator takes a state: ⟨r̃'| O |r̃⟩ of every r' it reaches, those of one r' apart.
    fn reach(
        &self,
        basis: &Basis,
        (diagonal, moves): (&[DiagonalTerm<u128>], &Moves),
        state: usize,
        found: &mut Contributions,
    ) {
        let word = basis.state(state as u64);
        let stabilisers = self.orbits.stabilisers();
        let own = f64::from(stabilisers[state]);
        let values = diagonal.iter().map(|term| (state as u32, false, term.value(word, &self.word).into()));
        found.0.extend(values);
        let actions = self.orbits.actions();
        let flips = moves.flips(actions);
        let images = flips.images.as_ref().map(|flips| (flips, actions.word_images(word)));
        for ((transition, imaginary), number) in moves.iter().zip(&flips.numbers) {
            let Some(amplitude) = transition.amplitude_in(word) else { continue };
            let there = word ^ transition.flip;
            let reached = match &images {
                Some((flips, own)) => actions.reached_by(own, flips, *number, there),
                None => actions.reached(there),
            };
            // An orbit without a state in the sector is not in the list.
            let Some(place) = basis.index(reached.word) else { continue };
            let ratio = (f64::from(stabilisers[place as usize]) / own).sqrt();
            let amplitude = if *imaginary { Complex64::new(0.0, amplitude) } else { amplitude.into() };
            found.0.push((place as u32, reached.conjugates, amplitude * reached.factor * ratio));
        }
    }

    /// ⟨r̃'| O |r̃⟩ of H without its constant, with `shift` on the diagonal, for every r' that a state reaches, ascending; those that multiply
    /// conjugates apart.
    pub(super) fn column(
        &self,
        basis: &Basis,
        diagonal: &[DiagonalTerm<u128>],
        shift: f64,
        state: usize,
    ) -> Vec<(u32, bool, Complex64)> {
        let mut found = Contributions(vec![(state as u32, false, shift.into())]);
        self.reach(basis, (diagonal, &self.moves), state, &mut found);
        found.merged()
    }

    /// What a row's sum is multiplied by so that its real part is that of an element of a vector.
    pub(super) fn weight(&self, (state, imaginary): (usize, bool), elements: usize) -> Complex64 {
        match self.orbits.other_part(state, elements) {
            _ if imaginary => -Complex64::I,
            OtherPart::Along(direction) => direction.conj(),
            OtherPart::None | OtherPart::Imaginary(_) => Complex64::ONE,
        }
    }

    /// The elements of a row of H without its constant, with `shift` on the diagonal, columns ascending, in place of what is in the
    /// list. Of a complex sector the rows of real parts come first.
    pub(super) fn row(
        &self,
        basis: &Basis,
        diagonal: &[DiagonalTerm<u128>],
        shift: f64,
        row: u64,
        elements: &mut Vec<(u32, f64)>,
    ) {
        let vector = basis.dimension() as usize;
        let own = self.orbits.state_of(row as usize);
        let weight = self.weight(own, vector);
        elements.clear();
        // H is Hermitian, so a row is the conjugate of a column.
        for (column, conjugates, value) in self.column(basis, diagonal, shift, own.0) {
            let value = weight * value.conj();
            match self.orbits.other_part(column as usize, vector) {
                OtherPart::None => elements.push((column, value.re)),
                OtherPart::Along(direction) => {
                    let direction = if conjugates { direction.conj() } else { direction };
                    elements.push((column, (value * direction).re));
                }
                OtherPart::Imaginary(other) => {
                    elements.push((column, value.re));
                    elements.push((other as u32, if conjugates { value.im } else { -value.im }));
                }
            }
        }
        elements.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        elements.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            sum.1 += if same { next.1 } else { 0.0 };
            same
        });
        elements.retain(|(column, value)| *value != 0.0 || u64::from(*column) == row);
    }
}

impl Contributions {
    /// The sums by column, ascending; what is left by contributions that cancel is 0. Sums of equal contributions have equal bits.
    fn merged(mut self) -> Vec<(u32, bool, Complex64)> {
        let parts = |a: &Complex64, b: &Complex64| a.re.total_cmp(&b.re).then(a.im.total_cmp(&b.im));
        self.0.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| parts(&a.2, &b.2)));
        let sums = self.0.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(|same| {
            let sum: Complex64 = same.iter().map(|(.., value)| value).sum();
            let size: f64 = same.iter().map(|(.., value)| value.norm()).sum();
            let cut = |part: f64| if part.abs() <= ROUNDING * size { 0.0 } else { part };
            (same[0].0, same[0].1, Complex64::new(cut(sum.re), cut(sum.im)))
        });
        sums.collect()
    }
}

/// Bytes of a state while it is listed: pieces of the list are joined.
fn list_bytes() -> u64 {
    2 * (size_of::<u128>() + size_of::<u32>()) as u64
}

/// About how many elements a row of H has.
fn elements_of_a_row(plain: &Basis, moves: &Moving) -> f64 {
    let (states, sample) = (plain.dimension(), plain.dimension().min(SAMPLE));
    let of_state = |number: u64| {
        let word = plain.state((u128::from(number) * u128::from(states) / u128::from(sample)) as u64);
        moves.iter().filter(|(transition, _)| transition.amplitude_in(word).is_some()).count()
    };
    1.0 + (0..sample).map(of_state).sum::<usize>() as f64 / sample as f64
}

/// The moving terms of an operator on words of a layout for real vectors.
pub(super) fn moving<'a>(terms: impl Iterator<Item = (&'a [Factor], f64)>, layout: &SiteLayout) -> Moving {
    let parts = terms.flat_map(|(product, coefficient)| {
        let (product, imaginary) = match product {
            [factors @ .., Factor::ImaginaryUnit] => (factors, true),
            factors => (factors, false),
        };
        let transitions = layout.transitions(product, coefficient).into_iter();
        transitions.map(move |transition| (transition, imaginary)).collect::<Vec<_>>()
    });
    // Those that change no bit are terms of the diagonal, but for i times them.
    parts.filter(|(transition, imaginary)| transition.flip != 0 || *imaginary).collect()
}

/// An operator as terms that a group leaves as they are together: the mean of its images.
pub(super) type MeanTerms = std::collections::BTreeMap<Product, f64>;
