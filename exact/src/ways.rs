//! The ways to multiply by H of a lattice model, a line each. A new way is a folder with a [`Way`] and a [`Multiply`](eigenforge_product::Multiply), and its line here.

use super::general::GeneralWay;
use super::kronecker::KroneckerWay;
use super::model::Model;
use super::stored_ways::{StoredWay, TableWay};
use super::symmetric::{OrbitsWay, PairsWay, PartnersWay, StringsWay};
use super::way::{Request, Way};
use eigenforge_core::operator::OperatorError;
use eigenforge_product::{Fit, Hamiltonian, MultiplyPlan, PlannedChoice, PlannedWay, PrepareError};
use eigenforge_runtime::{Device, trace};
use eigenforge_templates::ScalarType;

/// The first that is for a model is taken. Where none is, the last stands for it, and [`Model::symmetry`] refuses the storage by name.
const WAYS: [&dyn Way; 8] = [
    &KroneckerWay, // a Kronecker sum of one matrix for each spin
    &GeneralWay,   // any terms on states that have ranks
    &StringsWay,   // electrons in a symmetry sector, by strings of each spin
    &PairsWay,     // electrons in a sector of the exchange of spins, on pairs of strings
    &PartnersWay,  // a symmetry sector, from a table that a card makes once
    &OrbitsWay,    // a symmetry sector, by rows that are made as they are multiplied
    &TableWay,     // a table that the cores make once
    &StoredWay,    // a stored matrix
];

impl Model {
    /// The way to multiply by H, chosen when it is first wanted.
    pub(super) fn way(&self) -> &'static dyn Way {
        let first = || WAYS.iter().position(|way| matches!(way.fit(self), Fit::Takes)).unwrap_or(WAYS.len() - 1);
        WAYS[*self.found.way.get_or_init(first)]
    }

    /// How H is multiplied: all ways for such models with what they would take on one H200, which was taken, and why not the others.
    pub fn multiply_choice(&self) -> PlannedChoice {
        let model = self.by_strings();
        let taken = model.way();
        let (_, taken_seconds) = taken.forecast(model);
        let considered = |way: &&'static dyn Way| {
            let name = way.name().to_string();
            let declined = match way.fit(model) {
                Fit::Takes => None,
                Fit::Declines(why) => Some(why),
                Fit::Refuses(why) => return Some(PlannedWay::refused(name, why)),
                Fit::Foreign => return None,
            };
            let (bytes, seconds) = way.forecast(model);
            let slower = |own: f64, least: f64| format!("takes {:.1} times as long as {}", own / least, taken.name());
            let refused = (name != taken.name()).then(|| match (declined.clone(), seconds, taken_seconds) {
                (Some(why), ..) => why,
                (None, Some(own), Some(least)) if own >= 1.05 * least => slower(own, least),
                _ => format!("{} comes first", taken.name()),
            });
            // What another word forbids may not be planned at all, and nothing predicts it then.
            let bytes = (declined.is_none() || seconds.is_some()).then_some(bytes);
            Some(PlannedWay { name, bytes, seconds, refused })
        };
        PlannedChoice {
            of: "how H is multiplied: tables on one H200, seconds of a multiply of f64".into(),
            ways: WAYS.iter().filter_map(considered).collect(),
            chosen: Some(taken.name().into()),
            why: taken.words(model).unwrap_or_else(|| "the first in order that takes this model".into()),
        }
    }

    /// The multiply by all of H, the [constant](Model::constant) of the sector included, for vectors of `scalar`.
    ///
    /// # Errors
    /// A plan that cannot be made, such as one of a stored matrix that does not fit in memory.
    pub fn multiply(&self, scalar: ScalarType) -> Result<MultiplyPlan, OperatorError> {
        self.planned(&Request { scalar, constant: self.constant(), arguments: self.shared(), room: None })
    }

    /// The same without the constant, which solvers add to energies.
    ///
    /// # Errors
    /// As of [`Model::multiply`].
    pub fn multiply_without_constant(&self, scalar: ScalarType) -> Result<MultiplyPlan, OperatorError> {
        self.multiply_in_room(scalar, None)
    }

    /// The same where so many bytes may be kept beside what is needed.
    pub(super) fn multiply_in_room(
        &self,
        scalar: ScalarType,
        room: Option<u64>,
    ) -> Result<MultiplyPlan, OperatorError> {
        self.planned(&Request { scalar, constant: 0.0, arguments: self.shared(), room })
    }

    /// The multiply that a request asks for.
    pub(super) fn planned(&self, request: &Request<'_>) -> Result<MultiplyPlan, OperatorError> {
        let _planning = trace::span("generate", "plan");
        Ok(MultiplyPlan(self.way().plan(self, request)?))
    }

    /// H on a device by a given plan, which must be of this model. A plan by [`Model::multiply_without_constant`] leaves out the model's
    /// [constant](Model::constant), as solvers do.
    ///
    /// # Errors
    /// The device's.
    pub fn hamiltonian(&self, plan: MultiplyPlan, device: &Device) -> Result<Hamiltonian<'static>, PrepareError> {
        Ok(Hamiltonian::new(plan, self.name(), device)?.complex(self.is_complex()))
    }

    /// Bytes of the tables that a multiply needs on a card, and while they are made: packed neighbours of a Kronecker
    /// sum, Lin's tables of a general operator and about what its lists of elements take, or listed states and the stored matrix.
    pub fn table_bytes(&self) -> u64 {
        let model = self.by_strings();
        model.way().table_bytes(model, ScalarType::F64, None)
    }

    /// The same on all cards of a device.
    pub(super) fn table_bytes_on(&self, scalar: ScalarType, device: &Device) -> u64 {
        let model = self.by_strings();
        model.way().table_bytes(model, scalar, Some(device))
    }

    /// About the bytes that a multiply keeps beside its tables on a device, as far as there is room.
    pub(super) fn kept_bytes(&self, scalar: ScalarType, device: &Device) -> u64 {
        let model = self.by_strings();
        model.way().kept_bytes(model, scalar, device)
    }

    /// What cards hold of each other's in a multiply, and panels of rows, with its bytes over all of them.
    pub(super) fn exchanged(&self, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        let model = self.by_strings();
        model.way().exchanged(model, scalar, device)
    }

    /// How H of a symmetry sector is multiplied without a matrix, in words; `None` where a matrix is stored.
    pub fn rows_text(&self) -> Option<String> {
        let model = self.by_strings();
        model.way().words(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{hubbard, hubbard_operator, xxz};
    use crate::{InSector, Solve};
    use eigenforge_core::basis::{Down, Up};
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::operator::Spin::{self, Down as Lower, Up as Upper};
    use eigenforge_core::operator::{MatrixStorage, Operator, Symmetry, build};
    use eigenforge_runtime::solvers::Solver;

    /// The ways, each with why it was not taken, and the one that was.
    fn considered(model: &Model) -> (Vec<(String, Option<String>)>, String) {
        let choice = model.multiply_choice();
        let taken = choice.chosen.clone().unwrap();
        for way in &choice.ways {
            assert_eq!(way.refused.is_none(), way.name == taken, "{choice}");
        }
        (choice.ways.into_iter().map(|way| (way.name, way.refused)).collect(), taken)
    }

    fn refusal(model: &Model, name: &str) -> String {
        let (ways, _) = considered(model);
        let found = ways.iter().find(|(way, _)| way == name);
        found.and_then(|(_, refused)| refused.clone()).unwrap_or_else(|| panic!("{name} in {ways:?}"))
    }

    fn ring(sites: usize, storage: MatrixStorage) -> Model {
        let model = xxz(&Lattice::chain(sites).periodic(), 1.0, 1.0, 0);
        model.symmetry(&Symmetry::new().k(&[0]).reflection(1).storage(storage)).unwrap()
    }

    #[test]
    fn electrons_have_a_kronecker_sum_unless_a_term_acts_on_both_spins() {
        let chain = Lattice::chain(4);
        let (ways, taken) = considered(&hubbard(&chain, 4.0, 2, 2));
        assert_eq!((ways.len(), taken.as_str()), (3, "Kronecker sum"));
        assert!(ways[1..].iter().all(|(_, refused)| refused.as_ref().is_some_and(|why| why.contains("Kronecker sum"))));
        // Asked for by name, the others say so, with what they would take.
        let asked = hubbard(&chain, 4.0, 2, 2).with_storage(MatrixStorage::Table).unwrap();
        assert_eq!(considered(&asked).1, "table of partners");
        for way in asked.multiply_choice().ways.iter().filter(|way| way.name != "table of partners") {
            assert_eq!(way.refused.as_deref(), Some("storage = \"table\" was asked for"));
            assert!(way.bytes.is_some() && way.seconds.is_some());
        }
        let hop = |spin: Spin| build::cdag(0, spin) * build::c(1, spin);
        let pair: Operator = hop(Upper) * hop(Lower);
        let both = hubbard_operator(&chain, 4.0) + pair.clone() + pair.adjoint();
        let model = both.sector(Up(2), Down(2)).unwrap();
        assert_eq!(considered(&model).1, "term by term");
        assert!(refusal(&model, "Kronecker sum").contains("acts on electrons of both spins"));
    }

    #[test]
    fn sectors_say_why_rows_are_stored_made_or_kept() {
        let small = ring(12, MatrixStorage::Auto);
        assert_eq!(considered(&small).1, "stored matrix");
        for name in ["table of partners", "rows made anew"] {
            assert_eq!(refusal(&small, name), "924 states without the symmetry; from 4,194,304 on it is quicker");
        }
        let direct = ring(12, MatrixStorage::Direct);
        assert_eq!(considered(&direct).1, "rows made anew");
        for name in ["table of partners", "stored matrix"] {
            assert_eq!(refusal(&direct, name), "storage = \"direct\" was asked for");
        }
        let table = ring(12, MatrixStorage::Table);
        assert_eq!(considered(&table).1, "table of partners");
        assert_eq!(refusal(&table, "rows made anew"), "storage = \"table\" was asked for");
        // Both forecasts, of which the table's is the shorter.
        let large = ring(28, MatrixStorage::Auto);
        assert_eq!(considered(&large).1, "table of partners");
        let refused = refusal(&large, "rows made anew");
        assert!(refused.starts_with("takes ") && refused.ends_with(" times as long as table of partners"), "{refused}");
        let refused = refusal(&large, "stored matrix");
        assert!(refused.starts_with("takes ") && refused.ends_with(" times as long as table of partners"), "{refused}");
    }

    #[test]
    fn what_ran_is_in_the_report() {
        let cpu = Device::cpu();
        for (storage, taken) in [
            (MatrixStorage::Direct, "rows made anew"),
            (MatrixStorage::Stored, "stored matrix"),
            (MatrixStorage::Table, "table of partners"),
        ] {
            let choice = Solve::new(&ring(12, storage), Solver::Lanczos).run(&cpu).unwrap().multiply_choice();
            assert_eq!(choice.chosen.as_deref(), Some(taken));
        }
    }
}
