//! The operator and the model of a model file.

use super::{InputError, InputProblem, ModelFile, ModelSpec, sectors};
use crate::basis::Sector;
use crate::exact::Model;
use crate::models::{hubbard, spin_hubbard, xxz};
use crate::operator::{Operator, OperatorError};

impl ModelFile {
    /// The operator of the file's model on its lattice.
    pub fn operator(&self) -> Operator {
        let operator = match &self.model {
            ModelSpec::Hubbard { t, u, potential, mu, v } => hubbard(&self.lattice, t, u, potential, *mu, v),
            ModelSpec::SpinHubbard { two_f, t, u, potential, mu } => {
                spin_hubbard(&self.lattice, *two_f as usize + 1, t, u, potential, *mu)
            }
            ModelSpec::Xxz { two_s, jxy, jz, field, single_ion } => {
                xxz(&self.lattice, jxy, jz, field, single_ion).spin(*two_s)
            }
            ModelSpec::Terms(terms) => terms.operator.clone().on_lattice(&self.lattice),
        };
        operator.built_in(self.model.name())
    }

    /// The same, reduced, with what each site carries also where no term says it.
    pub(crate) fn declared_operator(&self) -> Operator {
        self.operator().on_kinds(&self.model.site_kinds(self.lattice.sites().len())).reduced()
    }

    /// Model, lattice and sector in letters, digits and underscores.
    pub fn problem_name(&self) -> String {
        let lengths = || self.lattice.size().iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let periods = |rows: [[i64; 2]; 2]| rows.concat().iter().map(i64::to_string).collect::<Vec<_>>().join("_");
        let size = self.lattice.tilt().map_or_else(lengths, periods).replace('-', "m");
        let place = match size.is_empty() {
            true => format!("{}sites", self.lattice.sites().len()),
            false => format!("{}_{size}", self.lattice.kind().name()),
        };
        let sector = match &self.sector {
            Sector::Flavours(flavours) => {
                let numbers: Vec<String> = flavours.iter().map(usize::to_string).collect();
                format!("flavours_{}", numbers.join("_"))
            }
            Sector::Fermions { up, down } => format!("{up}up_{down}dn"),
            Sector::Spins { two_sz } => format!("2sz_{two_sz}").replace('-', "m"),
            Sector::Charges(_) => {
                let text = self.sector.to_string().replace("+1", "even").replace("-1", "odd").replace('-', "m");
                text.replace([',', '='], "").split_whitespace().collect::<Vec<_>>().join("_")
            }
        };
        format!("{}_{place}_{sector}", self.model.name())
    }

    /// A problem at a place of the file.
    pub(crate) fn refused(&self, problem: InputProblem) -> InputError {
        InputError::at_place((&self.name, &self.text), problem)
    }

    /// Symmetries that H has and that the file does not name, by their keys: `["exchange"]`.
    pub(crate) fn unused_symmetries(&self) -> Vec<&'static str> {
        sectors::unused(&[self], &self.text).0
    }

    /// The model in its sector, and in its symmetry sector if the file has one.
    ///
    /// # Errors
    /// An operator that cannot be diagonalised there: flavours, words that are too long; a symmetry sector without states or too large.
    pub fn to_model(&self) -> Result<Model, OperatorError> {
        let operator = match self.sector {
            Sector::Flavours(_) => return Err(OperatorError::Flavours { term: "the hopping of flavour 0".into() }),
            // Sites of an ensemble's sector may be those of a model without terms.
            Sector::Charges(_) if self.thermal.is_some() => self.declared_operator(),
            _ => self.operator(),
        };
        let model = Model::new(operator, self.sector.clone())?.named(&self.problem_name());
        let model = model.with_storage(self.solve.storage())?;
        match &self.symmetry {
            Some(symmetry) => model.symmetry(symmetry),
            None => Ok(model),
        }
    }
}
