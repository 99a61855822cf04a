//! A stage of operation records in one launch.
//!
//! In: a [`Stage`], the buffers its records read, on the device. Out: what [`records::run`](crate::dmrg::records::run)
//! gives on the CPU: every group's block is the sum of its records, everything else zero.
//!
//! ```no_run
//! # use eigenforge::dmrg::device::{DeviceBuffers, Products};
//! # use eigenforge::dmrg::records::{Space, Stage};
//! # use eigenforge::runtime::Device;
//! # fn main() -> Result<(), eigenforge::runtime::DeviceError> {
//! # let (device, stage) = (Device::cuda(0)?, Stage::default());
//! let products = Products::new(&device)?; // compiles, or finds the kernel
//! let prepared = products.prepare(&stage)?; // cuts the stage into tiles and uploads its table
//! let (blocks, x) = (device.zeros::<f64>(1000)?, device.zeros::<f64>(5000)?);
//! let mut y = device.zeros::<f64>(stage.length)?;
//! let buffers = DeviceBuffers::default().with(Space::Left, &blocks).with_from(Space::Input, &x, 2500);
//! products.run(&prepared, &buffers, &mut y)?; // queued
//! # Ok(()) }
//! ```

use super::table::Table;
use crate::dmrg::records::{SPACES, Space, Stage};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, Vector};
use eigenforge_templates::Launch;
use eigenforge_templates::dmrg::GroupedProductsPlan;
use eigenforge_templates::launch::{Access, ParameterKind};
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks of a grid where there is no card: a few, so that each takes several tiles.
const SIMULATED_BLOCKS: u32 = 3;
/// Words that a fresh table has room for, so that tables of other stages can use it again.
const LEAST_WORDS: usize = 1 << 13;

/// The compiled kernel on a device. Clones share it.
#[derive(Clone)]
pub struct Products {
    device: Device,
    kernel: Kernel,
    plan: GroupedProductsPlan,
    blocks: u32,
    nothing: Arc<Vector<f64>>,
    spare: Arc<Mutex<Vec<Buffer<u64>>>>,
}

/// A stage whose tables are on the device.
pub struct Prepared {
    launch: Launch,
    firsts: [i64; 3],
    /// There until it is dropped.
    table: Option<Buffer<u64>>,
    spare: Arc<Mutex<Vec<Buffer<u64>>>>,
    spaces: [usize; SPACES],
    length: usize,
    cycles: f64,
}

/// The buffers that records read: a vector for each space, and where in it the space begins.
#[derive(Clone, Copy, Default)]
pub struct DeviceBuffers<'a> {
    given: [Option<(&'a Vector<f64>, usize)>; SPACES],
}

impl<'a> DeviceBuffers<'a> {
    /// With a vector in its place.
    pub fn with(self, space: Space, vector: &'a Vector<f64>) -> DeviceBuffers<'a> {
        self.with_from(space, vector, 0)
    }

    /// With a vector in its place, whose element `first` is the first of the space.
    pub fn with_from(mut self, space: Space, vector: &'a Vector<f64>, first: usize) -> DeviceBuffers<'a> {
        self.given[space as usize] = Some((vector, first));
        self
    }

    /// The vector of a space, and where in it the space begins.
    pub fn get(&self, space: Space) -> Option<(&'a Vector<f64>, usize)> {
        self.given[space as usize]
    }
}

impl Products {
    /// Compiles the kernel for a device that runs kernels.
    ///
    /// # Errors
    /// On the CPU; a compiler that is missing.
    pub fn new(device: &Device) -> Result<Products, DeviceError> {
        Products::with_plan(device, GroupedProductsPlan::new("dmrg"))
    }

    /// The same with other numbers in the plan.
    ///
    /// # Errors
    /// A plan that cannot be, and those of [`Products::new`].
    pub fn with_plan(device: &Device, plan: GroupedProductsPlan) -> Result<Products, DeviceError> {
        plan.check().map_err(|error| DeviceError::Arguments {
            what: "a plan of grouped products".into(),
            expected: error.expected.into(),
            found: error.to_string(),
        })?;
        let kernel = device.compile(&plan.text()?)?;
        let blocks = match device {
            Device::Cuda(cuda) => cuda.multiprocessors(),
            Device::Cpu(_) | Device::Sim(_) => SIMULATED_BLOCKS,
        };
        let nothing = Arc::new(device.zeros(1)?);
        Ok(Products { device: device.clone(), kernel, plan, blocks, nothing, spare: Arc::default() })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Cuts a stage into tiles, deals them out, uploads the table.
    ///
    /// # Errors
    /// A record that is not a part of its group's block; numbers beyond 2³¹; a device that fails.
    pub fn prepare(&self, stage: &Stage) -> Result<Prepared, DeviceError> {
        let Table { mut words, firsts, sizes, cycles } = Table::new(stage, self.blocks)?;
        let launch = self.plan.launch(&sizes)?;
        self.kernel.check(&launch)?;
        let table = self.upload(&mut words)?;
        let (spaces, length) = (sizes.spaces.map(|len| len as usize), stage.length);
        Ok(Prepared { launch, firsts, table: Some(table), spare: self.spare.clone(), spaces, length, cycles })
    }

    /// A table in memory that was used before, if there is enough.
    fn upload(&self, words: &mut Vec<u64>) -> Result<Buffer<u64>, DeviceError> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (0..spare.len()).filter(|k| spare[*k].len() >= words.len()).min_by_key(|k| spare[*k].len());
        let found = fits.map(|k| spare.swap_remove(k));
        drop(spare);
        let room = words.len().next_power_of_two().max(LEAST_WORDS);
        words.resize(found.as_ref().map_or(room, Buffer::len), 0);
        match found {
            Some(mut table) => table.write(words).map(|()| table),
            None => self.device.buffer(words),
        }
    }

    /// Queues a stage: `output` is what its groups add up to, everything else zero.
    ///
    /// # Errors
    /// A vector that is missing, too short, or of another device.
    pub fn run(
        &self,
        stage: &Prepared,
        buffers: &DeviceBuffers<'_>,
        output: &mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        self.run_into(stage, buffers, output, 0)
    }

    /// The same into a longer vector, from its element `first` on; what lies before and behind stays.
    ///
    /// # Errors
    /// Those of [`Products::run`].
    pub fn run_into(
        &self,
        stage: &Prepared,
        buffers: &DeviceBuffers<'_>,
        output: &mut Vector<f64>,
        first: usize,
    ) -> Result<(), DeviceError> {
        let given: [(&Vector<f64>, usize); SPACES] =
            std::array::from_fn(|space| buffers.given[space].unwrap_or((&*self.nothing, 0)));
        let mut launch = stage.launch.clone();
        for (space, (vector, first)) in given.iter().enumerate() {
            let needed = stage.spaces[space];
            let first = if needed == 0 { 0 } else { *first };
            must_hold(&launch.parameters[space].name, vector.len(), first, needed)?;
            lengthen(&mut launch, space, first + needed, Access::In);
        }
        must_hold("output", output.len(), first, stage.length)?;
        let access = if first == 0 { Access::Out } else { Access::InOut };
        lengthen(&mut launch, 2 * SPACES, first + stage.length, access);
        let Some(table) = &stage.table else { return Ok(()) };
        let names: [&str; SPACES] = ["left", "left_sum", "right", "right_sum", "input", "between"];
        let firsts = ["left_first", "left_sum_first", "right_first", "right_sum_first", "input_first", "between_first"];
        let mut arguments = Arguments::new();
        for (name, (vector, _)) in names.into_iter().zip(given) {
            arguments = arguments.read(name, vector);
        }
        for (name, (_, first)) in firsts.into_iter().zip(given) {
            arguments = arguments.i64(name, first as i64);
        }
        let [records, touching, starts] = stage.firsts;
        let arguments = arguments.write("output", output).i64("output_first", first as i64).read("table", table);
        let arguments = arguments.i64("records_first", records).i64("touching_first", touching);
        self.kernel.launch(&launch, arguments.i64("starts_first", starts))
    }
}

fn must_hold(name: &str, length: usize, first: usize, needed: usize) -> Result<(), DeviceError> {
    if needed == 0 || first + needed <= length {
        return Ok(());
    }
    Err(DeviceError::Arguments {
        what: format!("the vector {name} of a stage"),
        expected: format!("at least {needed} elements from element {first} on"),
        found: format!("a vector of {length}"),
    })
}

/// Another length for a parameter of a launch.
fn lengthen(launch: &mut Launch, parameter: usize, length: usize, as_access: Access) {
    if let ParameterKind::Memory { len, access, .. } = &mut launch.parameters[parameter].kind {
        (*len, *access) = (length as u64, as_access);
    }
}

impl Prepared {
    /// Elements of the output.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Cycles that the longest share of a block of threads is predicted to take.
    pub fn predicted_cycles(&self) -> f64 {
        self.cycles
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(table) = self.table.take() {
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        }
    }
}
