//! The transformation on a device, by generated kernels ([`eigenforge_templates::su3`]).
//!
//! In: a plan, its coefficients, a device that runs kernels. Out: strengths of all channels from their elements, in
//! place, and back; the same numbers as [`super::forward`] and [`super::inverse`] up to rounding, and always the same
//! bits.

mod coefficients;
mod layout;
mod pair_tables;
mod paper;
mod run;
mod slots;

use super::plan::Plan;
use super::tables::Tables;
pub use coefficients::{DeviceCoefficients, coefficients_on_cpu};
use eigenforge_runtime::{Arguments, Device, DeviceError, ElementArgument, Kernel, NamedTables, SharedMemory, Vector};
use eigenforge_templates::su3::{SlabClass, TileClass, TransformPlan, TransformPlanError, Ways};
use eigenforge_templates::{Cost, Launch, LaunchError, TextError};
use layout::{Layout, Portion, w0_of_tables};
pub use paper::DevicePaper;
#[cfg(test)]
pub(super) use run::BegunPortion;
pub(super) use run::{DeviceGroups, DeviceMemory, Layouts, memory_plan, part_of};
pub(super) use slots::Slots;
use std::sync::Arc;

/// The errors of a device transformation.
#[derive(Debug, thiserror::Error)]
pub enum DeviceTransformError {
    /// Error of the plan.
    #[error(transparent)]
    Plan(#[from] TransformPlanError),
    /// Error of its text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Error of its launches.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Error of the device.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A transformation that is ready to run.
pub struct DeviceTransform {
    device: Device,
    plan: TransformPlan,
    kernel: Kernel,
    tables: NamedTables,
    portions: Vec<Portion>,
}

impl DeviceTransform {
    /// Compiles the kernels and copies the tables.
    ///
    /// # Errors
    /// Not enough device memory, with the numbers; a device that compiles or runs no kernels.
    pub fn new(plan: &Plan, tables: &Tables, channels: usize, device: &Device) -> Result<Self, DeviceTransformError> {
        DeviceTransform::with_layout(plan, tables, channels, None, device)
    }

    /// With another limit of the numbers written into the text: the sums are the same.
    ///
    /// # Errors
    /// See [`DeviceTransform::new`].
    pub fn with_layout(
        plan: &Plan,
        tables: &Tables,
        channels: usize,
        most_in_text: Option<usize>,
        device: &Device,
    ) -> Result<Self, DeviceTransformError> {
        let layout = Layout::new(plan, tables, channels as u32, most_in_text);
        layout.check(device)?;
        let w0 = Arc::new(device.buffer(&w0_of_tables(plan, tables))?);
        DeviceTransform::of_layout(layout, Ways::Both, w0, device)
    }

    fn of_layout(layout: Layout, ways: Ways, w0: SharedMemory, device: &Device) -> Result<Self, DeviceTransformError> {
        let plan = TransformPlan { warp: device.warp(), ..layout.plan };
        let kernel = device.compile(&plan.text_of(ways)?)?;
        let mut tables = NamedTables::uploaded(device, layout.tables)?;
        tables.insert("w0", ElementArgument::Memory(w0));
        Ok(DeviceTransform { device: device.clone(), plan, kernel, tables, portions: layout.portions })
    }

    /// The plan of a transformation without a device, to inspect its text.
    pub fn plan_of(plan: &Plan, tables: &Tables, channels: usize, most_in_text: Option<usize>) -> TransformPlan {
        Layout::new(plan, tables, channels as u32, most_in_text).plan
    }

    /// The minimal work of a transformation.
    pub fn cost(&self) -> Cost {
        self.plan.cost()
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Numbers of all channels in each of the two vectors.
    pub fn numbers(&self) -> usize {
        self.plan.all_numbers() as usize
    }

    /// Transforms elements, one channel after another, into strengths. `work` has the same length.
    ///
    /// # Errors
    /// The device fails.
    pub fn forward(&self, numbers: &mut Vector<f64>, work: &mut Vector<f64>) -> Result<(), DeviceTransformError> {
        self.forward_by(&self.plan.slabs, &self.plan.tiles, numbers, work)
    }

    /// Transforms the groups of one portion; the others are unchanged.
    pub(super) fn forward_portion(
        &self,
        portion: usize,
        numbers: &mut Vector<f64>,
        work: &mut Vector<f64>,
    ) -> Result<(), DeviceTransformError> {
        let Portion { slabs, tiles } = &self.portions[portion];
        self.forward_by(slabs, tiles, numbers, work)
    }

    fn forward_by(
        &self,
        slabs: &[SlabClass],
        tiles: &[TileClass],
        numbers: &mut Vector<f64>,
        work: &mut Vector<f64>,
    ) -> Result<(), DeviceTransformError> {
        for class in slabs {
            let launch = self.plan.forward_launch(class)?;
            let scalars = [("first_slab", class.first as i64), ("half", class.half as i64)];
            self.start(&launch, numbers, work, &scalars)?;
        }
        self.couple(tiles, work, numbers, false)
    }

    /// Transforms strengths into elements.
    ///
    /// # Errors
    /// The device fails.
    pub fn inverse(&self, numbers: &mut Vector<f64>, work: &mut Vector<f64>) -> Result<(), DeviceTransformError> {
        self.couple(&self.plan.tiles, numbers, work, true)?;
        for class in &self.plan.slabs {
            let launch = self.plan.back_launch(class)?;
            let scalars = [("first_slab", class.first as i64), ("half", class.half as i64)];
            self.start(&launch, work, numbers, &scalars)?;
        }
        self.start(&self.plan.jj_launch()?, numbers, work, &[])?;
        std::mem::swap(numbers, work);
        Ok(())
    }

    /// C = W⁰ Z, or Z = W⁰ᵀ C.
    fn couple(
        &self,
        tiles: &[TileClass],
        from: &Vector<f64>,
        to: &mut Vector<f64>,
        back: bool,
    ) -> Result<(), DeviceTransformError> {
        for class in tiles {
            let launch = self.plan.couple_launch(class, back)?;
            self.start(&launch, from, to, &[("first_tile", class.first as i64)])?;
        }
        Ok(())
    }

    /// The first two parameters are the input and the output; the others are numbers and tables.
    fn start(
        &self,
        launch: &Launch,
        from: &Vector<f64>,
        to: &mut Vector<f64>,
        scalars: &[(&str, i64)],
    ) -> Result<(), DeviceTransformError> {
        let [input, output, ..] = &launch.parameters[..] else { unreachable!("a kernel of two vectors") };
        let vectors = Arguments::new().read(&input.name, from).write(&output.name, to);
        let arguments = scalars.iter().fold(vectors, |arguments, (name, value)| match *name {
            "half" => arguments.i32(name, *value as i32),
            _ => arguments.u32(name, *value as u32),
        });
        Ok(self.kernel.launch(launch, arguments.tables(&self.tables).needed(launch))?)
    }
}
