//! An interaction as SU(3) × SU(2) tensors.

use super::plan::identity_of;
use super::{Family, PlanDetails, Problem};
use crate::input::Su3File;
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError};
use crate::su3::{
    DeviceCoefficients, DeviceTransform, Direction, Group, OscillatorSpace, Plan, Processes, TableCache, Tables,
    TensorSource, TransformError, describe_shares,
};
use crate::words::grouped;
use eigenforge_runtime::jit::{JitError, Settings};
use eigenforge_su3::Coupler;
use eigenforge_templates::su3::Ways;
use std::cell::{Cell, OnceCell};
use std::fmt::Write;

/// A file with `[su3]`. Its space and its interaction are opened when they are first needed: a run opens them beside its
/// device.
pub struct TensorProblem {
    /// The file.
    pub file: Su3File,
    /// The processes that share the work, taken by the run.
    pub(super) team: Cell<Option<Processes>>,
    opened: OnceCell<(Plan, Box<dyn TensorSource>)>,
}

impl TensorProblem {
    /// The problem of a file.
    pub fn new(file: Su3File) -> TensorProblem {
        TensorProblem { file, team: Cell::new(None), opened: OnceCell::new() }
    }

    /// The same with its work shared by the processes of a team, of which this one is the master.
    pub fn shared_by(self, team: Option<Processes>) -> TensorProblem {
        TensorProblem { team: Cell::new(team), ..self }
    }

    /// How its groups of quadruples would be divided among cards, none of which need be there.
    ///
    /// # Errors
    /// An interaction that cannot be read.
    pub fn sharing(&self, cards: usize) -> Result<String, StageError> {
        let (plan, source) = self.opened()?;
        Ok(describe_shares(plan, source.channels().len(), cards))
    }

    /// The layout of its numbers, and where they come from.
    fn opened(&self) -> Result<(&Plan, &dyn TensorSource), StageError> {
        if self.opened.get().is_none() {
            let spec = &self.file.su3;
            let plan = Plan::new(OscillatorSpace { n_max: spec.n_max });
            let source = spec.open(&plan, &cache()?)?;
            let _ = self.opened.set((plan, source));
        }
        let opened = self.opened.get().map(|(plan, source)| (plan, &**source));
        Ok(opened.unwrap_or_else(|| unreachable!("it was opened above")))
    }

    /// The problem, its channels and its groups.
    fn describe_numbers(&self) -> Result<String, StageError> {
        let (plan, source) = self.opened()?;
        let words: Vec<&str> = source.channels().iter().map(|channel| channel.word()).collect();
        Ok(format!(
            "{}numbers  channels {}, {}: {} a channel, {} groups of quadruples\n",
            self.describe(),
            words.join(", "),
            source.describe(),
            grouped(plan.length as u128),
            plan.groups.len()
        ))
    }
}

fn cache() -> Result<TableCache, JitError> {
    Settings::from_env().map(|settings| TableCache::open(&settings))
}

/// The numbers of a transformation.
struct TensorPlan {
    about: String,
    /// In, and as many out.
    numbers: u64,
    /// Of W0.
    w0: u64,
}

impl PlanDetails for TensorPlan {
    fn memory(&self) -> Vec<(String, u64)> {
        let bytes = [("numbers in", self.numbers), ("numbers out", self.numbers), ("W0", self.w0)];
        bytes.map(|(what, numbers)| (what.into(), 8 * numbers)).into()
    }

    fn cost_text(&self) -> String {
        let megabytes = |numbers: u64| 8e-6 * numbers as f64;
        format!(
            "{}{} numbers in and as many out, {:.3} MB each; {} numbers of W0, {:.3} MB\n",
            self.about,
            grouped(self.numbers.into()),
            megabytes(self.numbers),
            grouped(self.w0.into()),
            megabytes(self.w0)
        )
    }
}

impl Problem for TensorProblem {
    fn describe(&self) -> String {
        let spec = &self.file.su3;
        let (from, to) = (spec.direction.input().word(), spec.direction.output().word());
        let (n_max, interaction, output) = (spec.n_max, &spec.interaction, spec.output.display());
        let terms = spec.hamiltonian.map_or(String::new(), |terms| format!("{terms} + "));
        format!(
            "model    {from} of {terms}{interaction} into {to}\nspace    N_max = {n_max}: shells n <= {}, pairs na + nb <= {}\n\
             su3      a chain of matrix products; into {output}\n",
            n_max + 1,
            n_max + 2
        )
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let why = "an interaction is a table of matrix elements, written as it was read by `eigenforge su3 elements`";
        Err(StageError::NoStage { stage: Stage::IrRon, family: Family::Su3.to_string(), why: why.into() })
    }

    /// The bases of a transformation: the labels of both sides, and the chain of matrices.
    fn operator_text(&self) -> Result<String, StageError> {
        let mut out = self.describe_numbers()?;
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\nelements <a b; J || V || c d; J> -> strengths C of {{a+_a a+_b}} {{a~_d a~_c}} as (lf mf) (li mi) (l0 m0) Sf Si S0 k0 r0"
        );
        let _ = writeln!(
            out,
            "by jj -> LS, J -> S0, W^f (bra pairs), W^i (ket pairs), W0 (products of irreps), each orthogonal"
        );
        for group in &self.opened()?.0.groups {
            let _ = writeln!(
                out,
                "  na + nb = {}, nc + nd = {}: {} x {} pairs of shells, {} products of irreps, {} numbers",
                group.bra_quanta,
                group.ket_quanta,
                group.bras.len(),
                group.kets.len(),
                group.products.len(),
                grouped(group.length as u128)
            );
        }
        Ok(out)
    }

    fn identity(&self) -> Result<String, StageError> {
        let interaction = self.file.su3.fingerprint()?;
        Ok(identity_of(&[&self.describe(), &interaction]))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        let (plan, source) = self.opened()?;
        Ok(Box::new(TensorPlan {
            about: self.describe_numbers()?,
            numbers: plan.length as u64 * source.channels().len() as u64,
            w0: plan.groups.iter().map(Group::w0).sum(),
        }))
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let (plan, source) = self.opened()?;
        let (tables, channels) =
            (Tables::of_pairs(plan, cache()?).map_err(TransformError::Labels)?, source.channels().len());
        let ways = if self.file.su3.direction == Direction::Inverse { Ways::Back } else { Ways::Forward };
        let transform = DeviceTransform::plan_of(plan, &tables, channels, None);
        let coefficients = DeviceCoefficients::plan_of(plan, &Coupler::new());
        let largest = coefficients.classes.last().map(|class| coefficients.launch(class)).transpose()?;
        let launches = largest.into_iter().chain([coefficients.defect_launch()?]).collect();
        let (text, mut of_text) = (transform.text_of(ways)?, transform.launches()?);
        of_text.retain(|launch| text.entries.contains(&launch.entry));
        Ok(vec![
            GeneratedFile::new(text, of_text, Some(transform.cost())),
            GeneratedFile::new(coefficients.text()?, launches, None),
        ])
    }
}
