//! An interaction as SU(3) × SU(2) tensors.

use super::{Family, Problem};
use crate::input::Su3File;
use crate::path::{FamilyError, GeneratedFile, OperatorIr, Stage, StageError};
use crate::su3::device::{DeviceCoefficients, DevicePaper, DeviceTransform, DeviceTransformError};
use crate::su3::interaction::{self, InteractionError};
use crate::su3::source::Source;
use crate::su3::work::{Algorithm, Direction};
use crate::su3::{Plan, Space, TableCache, Tables};
use crate::words::grouped;
use eigenforge_runtime::DeviceError;
use eigenforge_runtime::jit::{JitError, Settings};
use eigenforge_su3::{Coupler, LabelError};
use eigenforge_templates::su3::Ways;
use std::fmt::Write;

impl FamilyError for DeviceTransformError {
    fn device(&self) -> Option<&DeviceError> {
        if let DeviceTransformError::Device(error) = self { Some(error) } else { None }
    }
}

impl FamilyError for InteractionError {
    fn is_of_the_input(&self) -> bool {
        true
    }
}

impl FamilyError for LabelError {}

/// A file with `[su3]`, its space and its interaction.
pub struct TensorProblem {
    /// The file.
    pub file: Su3File,
    /// The layout of its numbers.
    pub plan: Plan,
    source: Box<dyn Source>,
}

impl TensorProblem {
    /// Opens the interaction.
    ///
    /// # Errors
    /// A file that does not match its beginning, or does not cover the space.
    pub fn new(file: Su3File) -> Result<TensorProblem, StageError> {
        let plan = Plan::new(Space { n_max: file.su3.n_max });
        let source = interaction::open(&file.su3.interaction, &plan, file.su3.direction, &cache()?)?;
        Ok(TensorProblem { file, plan, source })
    }

    fn tables(&self) -> Result<Tables, StageError> {
        Ok(Tables::of_pairs(&self.plan, cache()?)?)
    }

    fn channels(&self) -> usize {
        self.source.channels().len()
    }
}

fn cache() -> Result<TableCache, JitError> {
    Settings::from_env().map(|settings| TableCache::open(&settings))
}

impl Problem for TensorProblem {
    fn describe(&self) -> String {
        let spec = &self.file.su3;
        let words: Vec<&str> = self.source.channels().iter().map(|channel| channel.word()).collect();
        let (from, to) = (spec.direction.input().word(), spec.direction.output().word());
        let algorithm = match spec.algorithm {
            Algorithm::Factorised => "a chain of matrix products",
            Algorithm::Paper => "the published sum over all labels at once",
        };
        format!(
            "model    {from} of {} into {to}, channels {}, {}\nspace    N_max = {}: {} numbers a channel, {} groups of quadruples\n\
             su3      {algorithm}; into {}\n",
            spec.interaction.display(),
            words.join(", "),
            self.source.describe(),
            spec.n_max,
            grouped(self.plan.length as u128),
            self.plan.groups.len(),
            spec.output.display()
        )
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let why = "an interaction is a table of matrix elements, written as it was read by `eigenforge su3 elements`";
        Err(StageError::NoStage { stage: Stage::IrRon, family: Family::Su3.to_string(), why: why.into() })
    }

    /// The bases of a transformation: the labels of both sides, and the chain of matrices.
    fn operator_text(&self) -> Result<String, StageError> {
        let mut out = self.describe();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\nelements <a b; J || V || c d; J> -> strengths C of {{a+_a a+_b}} {{a~_d a~_c}} as (lf mf) (li mi) (l0 m0) Sf Si S0 k0 r0"
        );
        let _ = writeln!(
            out,
            "by jj -> LS, J -> S0, W^f (bra pairs), W^i (ket pairs), W0 (products of irreps), each orthogonal"
        );
        for group in &self.plan.groups {
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

    fn cost_text(&self) -> Result<String, StageError> {
        let w0: u64 = self.plan.groups.iter().map(crate::su3::work::w0_of).sum();
        let numbers = self.plan.length as u64 * self.channels() as u64;
        Ok(format!(
            "{}{} numbers in and as many out, {:.3} MB each; {} numbers of W0, {:.3} MB\n",
            self.describe(),
            grouped(numbers.into()),
            8e-6 * numbers as f64,
            grouped(w0.into()),
            8e-6 * w0 as f64
        ))
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let mut tables = self.tables()?;
        if self.file.su3.algorithm == Algorithm::Paper {
            tables.load_groups(&self.plan.groups.iter().collect::<Vec<_>>());
            let paper = DevicePaper::plan_of(&self.plan, &tables, self.channels());
            return Ok(vec![GeneratedFile::new(paper.text()?, vec![paper.launch()?], None)]);
        }
        let ways = if self.file.su3.direction == Direction::Inverse { Ways::Back } else { Ways::Forward };
        let transform = DeviceTransform::plan_of(&self.plan, &tables, self.channels(), None);
        let coefficients = DeviceCoefficients::plan_of(&self.plan, &Coupler::new());
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
