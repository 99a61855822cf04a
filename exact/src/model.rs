//! A model: an operator in a sector, checked, with its basis and its structure. Where the path of one problem starts.

use super::gauged::Gauged;
use super::matrix::{self, MatrixTerms};
use super::renumber::Renumbered;
use super::structure::{ListedTerms, Moves, Structure};
use super::symmetric::{ByStrings, Conjugated, SymmetricSector};
use eigenforge_core::basis::{Basis, Down, LISTED_BITS, Sector, Up};
use eigenforge_core::operator::{
    Charge, Content, MatrixStorage, Operator, OperatorError, SiteKind, SiteLayout, Symmetry, SymmetryError,
    SymmetryGroup, Word, product_text, species_moves,
};
use eigenforge_product::Received;
use eigenforge_product::sparse::MadeRows;
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::CoefficientArguments;
use ndarray::Array2;
use std::sync::{Arc, OnceLock};

/// An operator restricted to one sector, ready to be planned for a device.
#[derive(Clone, Debug)]
pub struct Model {
    name: String,
    operator: Operator,
    sites: usize,
    basis: Basis,
    structure: Structure,
    /// How H is multiplied without a symmetry sector, which has a wish of its own.
    pub(super) storage: MatrixStorage,
    /// Which coefficients are arguments of the kernels, if other models share their text.
    shared: Option<Arc<CoefficientArguments>>,
    /// How it differs from the user's model, a line each.
    remarks: Vec<String>,
    /// What follows from the others.
    pub(super) found: Found,
}

/// What follows from a model, found when it is first wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The same in a gauge in which it is real.
    pub(super) in_gauge: OnceLock<Option<Arc<Gauged>>>,
    /// The same symmetry sector in states that are their own conjugates.
    pub(super) conjugated: OnceLock<Option<Arc<Conjugated>>>,
    /// The same with its sites in another order.
    pub(super) in_order: OnceLock<Option<Arc<Renumbered>>>,
    /// The same symmetry sector with its states in the order of strings.
    pub(super) in_strings: OnceLock<Option<Arc<ByStrings>>>,
    /// The place of the way to multiply in the list of ways.
    pub(super) way: OnceLock<usize>,
}

/// The largest sector whose dense matrix is made: 8192² doubles are 512 MiB.
pub const LARGEST_DENSE: u64 = 8192;

/// What makes a model of an operator: a sector of it.
pub trait InSector: Sized {
    /// The operator of fermions in the sector of `up` up and `down` down electrons.
    fn sector(self, up: Up, down: Down) -> Result<Model, OperatorError>;

    /// The operator of local moments in the sector of total 2Sᶻ = `two_sz`.
    fn two_sz(self, two_sz: i64) -> Result<Model, OperatorError>;

    /// The operator in the sector of these charges, on sites of any kind; without charges all states.
    ///
    /// # Errors
    /// A charge that a term does not conserve or that no site has; a sector without states; states of more than 128 bits, or too many
    /// of more than 64.
    fn charges(self, charges: &[(Charge, i64)]) -> Result<Model, OperatorError>;
}

impl InSector for Operator {
    fn sector(self, up: Up, down: Down) -> Result<Model, OperatorError> {
        Model::new(self, Sector::Fermions { up: up.0, down: down.0 })
    }

    fn two_sz(self, two_sz: i64) -> Result<Model, OperatorError> {
        Model::new(self, Sector::Spins { two_sz })
    }

    fn charges(self, charges: &[(Charge, i64)]) -> Result<Model, OperatorError> {
        Model::new(self, Sector::Charges(charges.to_vec()))
    }
}

/// The sector that has kernels of its own, for charges that say the same.
fn with_own_kernels(operator: &Operator, sector: Sector) -> Sector {
    let Sector::Charges(charges) = &sector else { return sector };
    let kinds = operator.kinds_or_implied();
    let Some(kind) = kinds.first().filter(|kind| operator.forbidden().is_empty() && kinds.iter().all(|k| k == *kind))
    else {
        return sector;
    };
    let mut sorted = charges.clone();
    sorted.sort_unstable();
    match (kind, &sorted[..]) {
        (SiteKind::Moments { .. }, [(Charge::TwoSz, two_sz)]) => Sector::Spins { two_sz: *two_sz },
        (SiteKind::Electrons, [(Charge::Up, up), (Charge::Down, down)]) => {
            match (usize::try_from(*up), usize::try_from(*down)) {
                (Ok(up), Ok(down)) => Sector::Fermions { up, down },
                _ => sector,
            }
        }
        _ => sector,
    }
}

/// Whether states of a sector with kernels of its own do not fit its words, so that they are listed.
fn needs_list(operator: &Operator, sector: &Sector) -> bool {
    let sites = operator.sites() as u64;
    match sector {
        // One word for both species where a term acts on both; each species by itself has 64 bits in any case.
        Sector::Fermions { .. } => 2 * sites > u64::BITS.into() && species_moves(operator).is_err(),
        Sector::Spins { .. } => {
            sites * u64::from(SiteKind::Moments { two_s: operator.two_s() }.bits()) > u64::BITS.into()
        }
        Sector::Charges(_) | Sector::Flavours(_) => false,
    }
}

impl Model {
    /// Checks the operator (finite, Hermitian, conserving the sector's numbers) and finds its structure.
    pub fn new(operator: Operator, sector: Sector) -> Result<Model, OperatorError> {
        if let Some(lattice) = operator.lattice() {
            lattice.check()?;
        }
        let mut operator = operator.reduced();
        if matches!(sector, Sector::Fermions { .. })
            && operator.content() == Content::Nothing
            && operator.kinds().is_none()
        {
            // Where all couplings are zero no term says what the sites carry.
            let kinds = vec![SiteKind::Electrons; operator.sites()];
            operator = operator.on_kinds(&kinds);
        }
        let sector = match operator.is_complex() || matches!(sector, Sector::Flavours(_)) {
            true => Sector::Charges(sector.charge_values()),
            false => with_own_kernels(&operator, sector),
        };
        operator.check(&sector.charges())?;
        if let Sector::Charges(charges) = sector {
            return Model::on_sites(operator, charges, false, false);
        }
        operator.refuse_other_sites("a sector of `up` and `down`, or of `two_sz` alone,")?;
        if operator.content() == Content::Flavours {
            let term = operator.terms().find(|(product, _)| product.iter().any(|f| f.flavour().is_some()));
            return Err(OperatorError::Flavours { term: term.map_or_else(String::new, |(p, _)| product_text(p)) });
        }
        let found = operator.content_name();
        match (&sector, operator.content()) {
            (Sector::Fermions { .. }, Content::Spins) => Err(OperatorError::WrongSector {
                found,
                expected: "fermions",
                advice: "use `.two_sz(…)`, or `two_sz` in the file's [sector]",
            }),
            (Sector::Spins { .. }, Content::Fermions) => Err(OperatorError::WrongSector {
                found,
                expected: "local moments",
                advice: "use `.sector(Up(…), Down(…))`, or `up` and `down` in the file's [sector]",
            }),
            _ => Ok(()),
        }?;
        if needs_list(&operator, &sector) {
            return Model::on_sites(operator, sector.charge_values(), false, false);
        }
        let sites = operator.sites();
        // Words that are too long are refused before the basis is listed.
        let structure = Structure::new(&operator, &Word::new(sites, operator.two_s(), &sector)?, &sector);
        let basis = Basis::new(sites, operator.two_s(), sector)?;
        let name = match basis.sector() {
            Sector::Fermions { up, down } => format!("fermions_{sites}sites_{up}up_{down}down"),
            Sector::Spins { two_sz } => format!("spins_{sites}sites_2sz_{two_sz}").replace('-', "m"),
            Sector::Charges(_) | Sector::Flavours(_) => unreachable!("made by `on_sites`"),
        };
        Ok(Model::of_parts(name, operator, basis, structure))
    }

    /// A checked operator on sites of any kind; its states are listed if they have more than 64 bits, or if asked for, and its vectors complex if
    /// it is, or if asked for.
    fn on_sites(
        operator: Operator,
        charges: Vec<(Charge, i64)>,
        listed: bool,
        complex: bool,
    ) -> Result<Model, OperatorError> {
        let kinds = operator.kinds_or_implied();
        let sites = kinds.len();
        let mut layout = SiteLayout::new(&kinds);
        if complex || operator.is_complex() {
            layout = layout.complex();
        }
        if layout.bits() > LISTED_BITS {
            return Err(OperatorError::TooManySites { sites, bits: layout.bits().into(), limit: LISTED_BITS });
        }
        operator.forbidden().iter().for_each(|states| layout.forbid(states));
        let layout = Arc::new(layout);
        let make = if listed { Basis::listed } else { Basis::on_sites };
        let basis = make(layout.clone(), charges.clone())?;
        let structure = match basis.is_listed() {
            true => Structure::listed(&operator, &layout, &charges),
            false => Structure::new(&operator, basis.word(), basis.sector()),
        };
        let name = format!("sites_{sites}_{}", basis.sector()).replace("+1", "even").replace("-1", "odd");
        let model = Model::of_parts(String::new(), operator, basis, structure);
        Ok(model.named(&name.replace(' ', "_").replace(['=', ','], "")))
    }

    fn of_parts(name: String, operator: Operator, basis: Basis, structure: Structure) -> Model {
        let (sites, remarks, shared) = (operator.kinds_or_implied().len(), Vec::new(), None);
        let storage = MatrixStorage::Auto;
        Model { name, operator, sites, basis, structure, storage, shared, remarks, found: Found::default() }
    }

    /// The same model with its states in a list and its matrix stored, as it is done for states of more than 64 bits.
    ///
    /// # Errors
    /// More states than are listed.
    pub fn with_listed_states(&self) -> Result<Model, OperatorError> {
        if self.basis.is_listed() {
            return Ok(self.clone());
        }
        let charges = self.sector().charge_values();
        Ok(Model::on_sites(self.operator.clone(), charges, true, self.is_complex())?.named(&self.name))
    }

    /// The same model on vectors of real and, after them, imaginary parts, as a complex H has them.
    ///
    /// # Errors
    /// States with one bit more do not fit; of a symmetry sector as of [`Model::symmetry`].
    pub(super) fn on_complex_vectors(&self) -> Result<Model, OperatorError> {
        if self.is_complex() {
            return Ok(self.clone());
        }
        if let Some(sector) = self.symmetric() {
            let made =
                self.in_sector(sector.group().clone(), sector.layout().clone(), sector.wanted_storage(), true)?;
            made.symmetric().into_iter().for_each(|own| own.orbits().adopt_list(sector.orbits()));
            return Ok(made);
        }
        // Every site says what it carries, also where no term acts on it.
        let operator = self.operator.clone().on_kinds(&self.site_kinds());
        let complex = Model::on_sites(operator, self.sector().charge_values(), self.basis.is_listed(), true)?;
        complex.named(&self.name).with_storage(self.storage)
    }

    /// The same model in a symmetry sector of it: states are those of representatives ([`eigenforge_core::basis`]), and H is a stored matrix, or
    /// in a large sector on a card its rows are made as they are multiplied ([`Symmetry::storage`]).
    ///
    /// # Errors
    /// A generator that is not a symmetry of H, characters that are no representation, a sector without states, too little memory.
    pub fn symmetry(&self, symmetry: &Symmetry) -> Result<Model, OperatorError> {
        if let Some(sector) = self.symmetric() {
            return Err(SymmetryError::Twice { symmetry: sector.group().describe() }.into());
        }
        let group = symmetry.group(&self.operator, &self.sector().charge_values())?;
        let model = self.in_group(group, symmetry.wanted_storage())?;
        let storage = model.symmetric().map_or(MatrixStorage::Auto, SymmetricSector::wanted_storage);
        if storage == MatrixStorage::Direct && model.by_strings().way().stores_matrix() {
            return Err(SymmetryError::NotDirect { bits: SiteLayout::new(&self.site_kinds()).bits() }.into());
        }
        Ok(model)
    }

    /// The same model in the symmetry sector of a group that leaves H as it is.
    ///
    /// # Errors
    /// A sector without states, too little memory.
    pub(super) fn in_group(&self, group: SymmetryGroup, storage: MatrixStorage) -> Result<Model, OperatorError> {
        let mut layout = SiteLayout::new(&self.site_kinds());
        self.operator.forbidden().iter().for_each(|states| layout.forbid(states));
        let model = self.in_sector(group, layout, self.storage_with(storage)?, false)?;
        Ok(model.named(&format!("{}_symmetric", self.name)))
    }

    /// The same model in the symmetry sector of a group of it, on words of a layout for real vectors; `complex` asks for amplitudes of two parts
    /// where H and the characters are real.
    ///
    /// # Errors
    /// A sector without states, too little memory.
    pub(super) fn in_sector(
        &self,
        group: SymmetryGroup,
        layout: SiteLayout,
        storage: MatrixStorage,
        complex: bool,
    ) -> Result<Model, OperatorError> {
        let charges = self.sector().charge_values();
        let complex = complex || self.operator.is_complex() || !group.is_real();
        let whole = if complex { layout.clone().complex() } else { layout.clone() };
        if whole.bits() > LISTED_BITS {
            let (sites, bits) = (self.sites, whole.bits().into());
            return Err(OperatorError::TooManySites { sites, bits, limit: LISTED_BITS });
        }
        let layout = Arc::new(layout);
        let sector = SymmetricSector::new(group, &self.operator, (&layout, &charges), storage, complex)?;
        let basis = Basis::of_orbits(Arc::new(whole), charges.clone(), sector.orbits().clone())?;
        let structure = Structure::symmetric(&self.operator, &layout, &charges, Arc::new(sector));
        let model = Model::of_parts(self.name.clone(), self.operator.clone(), basis, structure);
        Ok(Model { remarks: self.remarks.clone(), ..model })
    }

    /// The symmetry sector, if the model is in one.
    pub(super) fn symmetric(&self) -> Option<&SymmetricSector> {
        self.listed_terms()?.symmetric.as_deref()
    }

    /// Lists the states of the symmetry sector now, by the list of another model where their groups move words alike.
    ///
    /// # Errors
    /// No room for the list.
    pub fn prepare_states(&self, known: &Model) -> Result<(), OperatorError> {
        let Some(own) = self.symmetric() else { return Ok(()) };
        own.check_list()?;
        known.symmetric().into_iter().for_each(|known| own.orbits().adopt_list(known.orbits()));
        own.orbits().prepare();
        Ok(())
    }

    /// The group of the symmetry sector, and the states of the sector without it.
    pub fn symmetry_group(&self) -> Option<(&SymmetryGroup, u64)> {
        self.symmetric().map(|sector| (sector.group(), sector.plain()))
    }

    /// The momentum of the symmetry sector, if it has one.
    pub fn momentum(&self) -> Option<&[i64]> {
        self.symmetric()?.group().momentum()
    }

    /// The charges of the sector with its momentum, in words.
    pub fn sector_text(&self) -> String {
        let momentum = self.momentum().map_or(String::new(), |k| format!(", k = {k:?}"));
        format!("{}{momentum}", self.sector())
    }

    /// Elements of the group of the symmetry sector, and states of the sector without it; `None` if the model is in none.
    pub fn symmetry_size(&self) -> Option<(u64, u64)> {
        self.symmetry_group().map(|(group, plain)| (group.order() as u64, plain))
    }

    /// The generators of the symmetry sector with their eigenvalues, the order of the group, and the states of the sector without
    /// it; `None` if the model is in none.
    pub fn symmetry_text(&self) -> Option<String> {
        let sector = self.symmetric()?;
        let (elements, plain) = (sector.group().order(), sector.plain());
        let (states, about) = (self.states(), sector.group().describe());
        Some(format!(
            "{about}; group of {elements} elements, dimension {} of {}",
            eigenforge_core::words::grouped(states.into()),
            eigenforge_core::words::grouped(plain.into())
        ))
    }

    /// How often each level of the symmetry sector is there: the states of its irrep of the point group; 1 without one.
    pub fn symmetry_degeneracy(&self) -> usize {
        self.symmetric().map_or(1, |sector| sector.group().degeneracy())
    }

    /// What each of several cards receives from the others in a multiply of vectors of `scalar`, as
    /// [`working`](Model::working) has it; `None` where only a stored matrix knows.
    ///
    /// # Errors
    /// Too many states for tables.
    pub fn received(&self, scalar: ScalarType, cards: u32) -> Result<Option<Received>, OperatorError> {
        if cards < 2 {
            return Ok(Some(Received::nothing(cards)));
        }
        match self.working().way().stores_matrix() {
            true => Ok(None),
            false => self.received_with_matrix(scalar, cards),
        }
    }

    /// The same where the matrix is stored, which is made for it; `None` if it is too small to be divided.
    ///
    /// # Errors
    /// As of [`Model::received`]; no room for the matrix.
    pub fn received_with_matrix(&self, scalar: ScalarType, cards: u32) -> Result<Option<Received>, OperatorError> {
        if cards < 2 {
            return Ok(Some(Received::nothing(cards)));
        }
        Ok(self.working().multiply_without_constant(scalar)?.0.received(cards))
    }

    /// The same sector without the symmetry.
    pub(super) fn without_symmetry(&self) -> Result<Model, OperatorError> {
        Ok(Model::new(self.operator.clone(), self.sector().clone())?.named(&self.name))
    }

    /// Refuses a list of states that the host has no room for, which files of vectors need.
    ///
    /// # Errors
    /// A symmetry sector with too many states.
    pub fn check_list(&self) -> Result<(), OperatorError> {
        self.symmetric().map_or(Ok(()), SymmetricSector::check_list)
    }

    /// The terms of states that are listed; `None` where states have tables.
    pub(super) fn listed_terms(&self) -> Option<&ListedTerms> {
        match &self.structure.moves {
            Moves::Listed(terms) => Some(terms),
            _ => None,
        }
    }

    /// How many elements the matrix has, about, and its compressed bytes; `None` where states have tables and no matrix is stored.
    pub fn stored_elements(&self) -> Option<(u64, u64)> {
        let is_stored = self.listed_terms().is_some() || self.way().stores_matrix();
        let elements = is_stored.then(|| self.about_elements())?;
        Some((elements, MadeRows::compressed_bytes(self.dimension(), elements)))
    }

    /// The terms from which rows of the matrix of H are made.
    pub(super) fn matrix_terms(&self) -> MatrixTerms {
        MatrixTerms::new(&self.structure, self.basis.word())
    }

    /// About how many elements the matrix of H has.
    pub(super) fn about_elements(&self) -> u64 {
        matrix::about(&self.basis, &self.matrix_terms())
    }

    /// Gives the model a name, for kernels and reports: letters, digits and underscores.
    pub fn named(mut self, name: &str) -> Model {
        let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        self.name = name.chars().map(clean).collect();
        self.found = Found::default();
        self
    }

    /// Lets the kernels take these coefficients as arguments, where their text is the one that the arguments are of
    /// ([`SharedKernels`](super::SharedKernels)).
    pub fn share_arguments(&mut self, arguments: Option<Arc<CoefficientArguments>>) {
        self.found = Found::default();
        self.shared = arguments;
    }

    /// Which coefficients are arguments of the kernels.
    pub fn shared(&self) -> Option<&CoefficientArguments> {
        self.shared.as_deref()
    }

    /// The same model with another form of its operator; the remark says how it differs.
    pub(super) fn rewritten(&self, operator: Operator, remark: String) -> Result<Model, OperatorError> {
        let model = Model::new(operator, self.sector().clone())?.with_storage(self.storage)?;
        let remarks = self.remarks.iter().cloned().chain([remark]).collect();
        Ok(Model { shared: self.shared.clone(), remarks, ..model.named(&self.name) })
    }

    /// The same model with its states by the charge of their high part; `None` where they stand so, or cannot.
    pub(super) fn by_charge(&self) -> Option<Model> {
        let basis = self.basis.by_charge()?;
        Some(Model { basis, found: Found::default(), ..self.clone() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The normal-ordered operator.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// What its definition may mean otherwise than it was written ([`Operator::warnings`]); reports of a solve repeat it.
    pub fn warnings(&self) -> Vec<String> {
        self.operator.warnings()
    }

    /// Number of lattice sites.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// The sector.
    pub fn sector(&self) -> &Sector {
        self.basis.sector()
    }

    /// The basis of the sector.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Number of elements of a vector: the states of the sector, twice as many for a complex H ([`Model::is_complex`]).
    pub fn dimension(&self) -> u64 {
        self.basis.dimension()
    }

    /// Whether H is complex: vectors then hold all real parts and after them all imaginary parts.
    pub fn is_complex(&self) -> bool {
        matches!(self.basis.word(), Word::Sites(layout) if layout.is_complex())
    }

    /// Number of states of the sector.
    pub fn states(&self) -> u64 {
        if self.is_complex() { self.dimension() / 2 } else { self.dimension() }
    }

    /// What H adds to every state of the sector alike, such as −μN. Solvers work without it and add it to the energies
    /// afterwards, so that its size costs no digits.
    pub fn constant(&self) -> f64 {
        self.structure.constant
    }

    /// Diagonal and off-diagonal parts.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// Whether H is a Kronecker sum of one matrix for each spin species.
    pub fn is_kronecker(&self) -> bool {
        matches!(self.structure.moves, Moves::Kronecker { .. })
    }

    /// One line a `sum!` of the definition, for the head of generated files, and how a complex vector is stored.
    pub fn sources(&self) -> Vec<String> {
        let sums = self.operator.sums().iter().map(|sum| format!("{}:{}  {}", sum.file, sum.line, sum.text));
        let complex =
            "complex: H = A + iB as (A, -B; B, A), so x holds all real parts and after them all imaginary parts";
        sums.chain(self.is_complex().then(|| complex.into())).chain(self.remarks.iter().cloned()).collect()
    }

    /// H as a dense matrix in the order of the basis, in a symmetry sector between representatives: the oracle.
    ///
    /// # Errors
    /// More than 8,192 states.
    pub fn dense(&self) -> Result<Array2<f64>, OperatorError> {
        let dimension = self.dimension();
        if dimension > LARGEST_DENSE {
            return Err(OperatorError::TooLargeForDense { dimension, limit: LARGEST_DENSE });
        }
        let n = dimension as usize;
        let mut matrix = Array2::zeros((n, n));
        if self.symmetric().is_some() {
            let terms = self.matrix_terms();
            for row in 0..n {
                matrix::row(&self.basis, &terms, self.constant(), row as u64)
                    .into_iter()
                    .for_each(|(column, value)| matrix[[row, column as usize]] = value);
            }
            return Ok(matrix);
        }
        for column in 0..n {
            let state = self.basis.configuration(column as u64);
            let moved = match self.basis.word() {
                Word::Sites(layout) => self.operator.apply_on(layout, &state),
                _ => self.operator.apply(self.sites, &state),
            };
            for (reached, amplitude) in moved {
                if let Some(row) = self.basis.index_of(&reached) {
                    matrix[[row as usize, column]] += amplitude;
                }
            }
        }
        Ok(matrix)
    }
}
