//! What a spectrum acts with, and the sectors that it leads to from that of the file.
//!
//! In: a model file with `[spectrum]`, its model. Out: momenta, the operator of each; the models in which chains are made, with their generated
//! files. Which other sectors have states of the level is known when it is solved.

use super::current::Current;
use super::operator::Excitation;
use super::path::{OnPath, momenta};
use crate::exact::Model;
use crate::input::{InputError, InputProblem, ModelFile, SpectrumSpec, Wrong};
use crate::lattice::Momenta;
use crate::operator::Operator;
use crate::path::{GeneratedFile, StageError};
use eigenforge_runtime::solvers::Course;

/// The operators of a spectrum.
pub(super) struct SpectrumPlan<'f> {
    pub excitation: Excitation<'f>,
    /// Momenta; one `None` where the operator has none.
    pub list: Vec<Option<OnPath>>,
    /// The operator at each.
    pub operators: Vec<Operator>,
    pub current: Option<Current>,
}

impl<'f> SpectrumPlan<'f> {
    /// Of a file and its model.
    ///
    /// # Errors
    /// An operator or a momentum that the lattice has not.
    pub(super) fn new(
        file: &'f ModelFile,
        model: &'f Model,
        spec: &'f SpectrumSpec,
    ) -> Result<SpectrumPlan<'f>, InputError> {
        let refused = |wrong: InputProblem| file.refused(wrong);
        let excitation = Excitation::new(file, model.operator(), spec).map_err(refused)?;
        let in_sectors = model.momentum().is_some();
        let list: Vec<Option<OnPath>> = match excitation.has_momentum() {
            true => momenta(file, spec, in_sectors).map_err(refused)?.into_iter().map(Some).collect(),
            false if spec.q_is_given => {
                let message = match spec.of.as_str() {
                    "current" => "`q` is given, and the current is that of q = 0: leave `q` out",
                    _ => {
                        "`q` is given, and the text has no `phase(i)`, e^(−iq·r_i)/√N: write it at each term, or leave `q` out"
                    }
                };
                let what = Wrong::Observable { name: "of".into(), message: message.into() };
                return Err(refused(InputProblem { what, span: spec.of_span.clone() }));
            }
            false => vec![None],
        };
        let mut operators = Vec::new();
        for q in &list {
            let q = q.as_ref().map(|(_, q)| q);
            let operator = excitation.operator(q).map_err(refused)?;
            if in_sectors && !excitation.is_of_momentum(&operator, q) {
                let message = "it is of no momentum: in a sector of `k` every translation must take it to a multiple of itself; leave [symmetry] out";
                let what = Wrong::Observable { name: "of".into(), message: message.into() };
                return Err(refused(InputProblem { what, span: spec.of_span.clone() }));
            }
            operators.push(operator);
        }
        let current = excitation.current().map_err(refused)?;
        if current.is_some() && spec.state > 0 {
            let (expected, found) = ("0: the conductivity is that of the lowest level".into(), spec.state.to_string());
            let what = Wrong::OutOfRange { key: "state".into(), expected, found };
            return Err(refused(InputProblem { what, span: spec.state_span.clone() }));
        }
        Ok(SpectrumPlan { excitation, list, operators, current })
    }
}

/// The momentum of what an operator at q makes of states of a model; `None` where those have none.
pub(super) fn target_momentum(
    file: &ModelFile,
    model: &Model,
    q: Option<&OnPath>,
    excitation: &Excitation<'_>,
) -> Option<Vec<i64>> {
    let (k, sign) = (model.momentum()?, excitation.sign());
    let q = q.map_or_else(|| vec![0; k.len()], |(_, q)| q.k.clone());
    let momenta = Momenta::new(&file.lattice);
    let all = k.iter().zip(&q).zip(momenta.orders());
    Some(all.map(|((k, q), order)| (k + sign * q).rem_euclid(*order)).collect())
}

/// What the chains of a spectrum launch in the sectors that the operator leads to from that of the file, each sector once.
///
/// # Errors
/// As of [`SpectrumPlan::new`]; a plan that cannot be made.
pub(crate) fn chain_files(
    file: &ModelFile,
    model: &Model,
    spec: &SpectrumSpec,
) -> Result<Vec<GeneratedFile>, StageError> {
    let SpectrumPlan { excitation, list, operators, .. } = SpectrumPlan::new(file, model, spec)?;
    let (mut known, mut files) = (Vec::new(), Vec::new());
    for (q, operator) in list.iter().zip(&operators) {
        let momentum = target_momentum(file, model, q.as_ref(), &excitation);
        for target in model.response_targets(operator, momentum.as_deref())? {
            let sector = (target.model.sector().charge_values(), momentum.clone());
            if !known.contains(&sector) {
                let (solved, course) = (target.model.in_own_conjugates(), Course::Chain { overlaps: false });
                files.extend(solved.course_files(course, "for the spectrum")?);
                known.push(sector);
            }
        }
    }
    Ok(files)
}
