//! A transformation being put together, its result in memory: `Transform::new(interaction, n_max).run(&device)?`.

use super::interaction::open_interaction;
use super::local::on_device;
use super::work::{FinishedGroup, Job};
use super::{ByChannel, Direction, OscillatorSpace, Plan, Summary, TableCache, Tables, TransformError};
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::{Device, DeviceError};
use std::path::PathBuf;

/// A transformation being put together: elements into strengths, unless [`Transform::inverse`] is called.
#[derive(Debug, Clone)]
pub struct Transform {
    interaction: PathBuf,
    n_max: u32,
    direction: Direction,
}

/// The result of a [`Transform`].
#[derive(Debug)]
pub struct TransformResult {
    /// Where every number is: [`Plan::for_each_strength`] gives the labels of the strengths.
    pub plan: Plan,
    /// Strengths, or elements of the inverse.
    pub numbers: ByChannel,
    /// Norms, the largest tensors.
    pub summary: Summary,
}

impl Transform {
    /// Of a file of any format, up to `n_max` quanta above two nucleons in the lowest shells.
    pub fn new(interaction: impl Into<PathBuf>, n_max: u32) -> Transform {
        Transform { interaction: interaction.into(), n_max, direction: Direction::Forward }
    }

    /// Strengths into elements; the file holds strengths.
    pub fn inverse(mut self) -> Self {
        self.direction = Direction::Inverse;
        self
    }

    /// Runs on a device: on a card or its simulation by generated kernels, otherwise on all cores of the CPU. The result
    /// takes 8 bytes a number and channel; `eigenforge su3 transform` writes results that memory does not hold.
    ///
    /// # Errors
    /// What cannot be read, compiled or held on the device; numbers that overflow.
    pub fn run(&self, device: &Device) -> Result<TransformResult, TransformError> {
        let plan = Plan::new(OscillatorSpace { n_max: self.n_max });
        let cache = || Settings::from_env().map(|settings| TableCache::open(&settings)).map_err(DeviceError::from);
        let source = open_interaction(&self.interaction, &plan, self.direction, &cache()?)?;
        let tables = Tables::of_pairs(&plan, cache()?)?;
        let (channels, groups) = (source.channels(), (0..plan.groups.len()).collect::<Vec<usize>>());
        let mut job = Job::new(&plan, &*source, tables, self.direction);
        let mut numbers = ByChannel {
            vectors: channels.iter().map(|channel| (*channel, Vec::with_capacity(plan.length))).collect(),
            left_out: source.left_out(),
        };
        let (mut shares, mut defect) = (Vec::new(), job.tables.defect);
        let mut keep = |finished: Vec<FinishedGroup>, _: Option<&str>| -> Result<(), TransformError> {
            for group in finished {
                numbers.vectors.iter_mut().zip(&group.vectors).for_each(|((_, all), part)| all.extend(part));
                shares.push(group.shares);
                defect = f64::max(defect, group.defect);
            }
            Ok(())
        };
        on_device(&mut job, &groups, device, u64::MAX, &mut keep)?;
        job.tables.cache().evict();
        let mut summary = Summary::new(&plan, &channels, shares.iter().map(Vec::as_slice));
        summary.check_finite()?;
        (summary.defect, summary.left_out) = (defect, numbers.left_out);
        Ok(TransformResult { plan, numbers, summary })
    }
}
