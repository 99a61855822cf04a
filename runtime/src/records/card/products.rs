//! A stage of operation records in one launch.
//!
//! In: a [`RecordStage`], the buffers its records read, on the device. Out: what [`records::run`](crate::records::run)
//! gives on the CPU: every group's block is the sum of its records; everything else is zero.
//!
//! ```no_run
//! # use eigenforge_runtime::records::card::{DeviceBuffers, Products};
//! # use eigenforge_runtime::records::{OperandSpace, RecordStage};
//! # use eigenforge_runtime::{Device, DeviceError};
//! # fn main() -> Result<(), DeviceError> {
//! # let (device, stage) = (Device::cuda(0)?, RecordStage::default());
//! let products = Products::new(&device)?; // compiles, or finds the kernel
//! let prepared = products.prepare(&stage)?; // cuts the stage into tiles and uploads its table
//! let (blocks, x) = (device.zeros::<f64>(1000)?, device.zeros::<f64>(5000)?);
//! let mut y = device.zeros::<f64>(stage.length)?;
//! let buffers = DeviceBuffers::default().set(OperandSpace::Left, &blocks).with_from(OperandSpace::Input, &x, 2500);
//! products.run(&prepared, &buffers, &mut y)?; // queued
//! # Ok(()) }
//! ```

use super::copies::{Copies, Copying};
use super::cutting::Loads;
use super::streams::{Layout, Streams};
use super::table::Table;
use super::tables::{Tables, Uploaded};
use super::{FAMILY, arguments_of_spaces};
use crate::device::{Buffer, Device, Kernel, Vector};
use crate::error::DeviceError;
use crate::records::{OperandSpace, RecordStage, SPACES};
use crate::residency::{Spare, locked};
use eigenforge_templates::Launch;
use eigenforge_templates::dmrg::{GroupedProductsPlan, StreamedProductsPlan};
use eigenforge_templates::launch::{Access, ParameterKind};
use std::sync::{Arc, Mutex};

/// Blocks of the grid without a card: few, so that each takes several tiles.
const SIMULATED_BLOCKS: u32 = 3;

/// Below this, streaming is not considered.
const FEW_FLOPS: f64 = 2e8;

/// The compiled kernels on a device. Clones share them.
#[derive(Clone)]
pub struct Products {
    device: Device,
    kernel: Kernel,
    plan: GroupedProductsPlan,
    streaming: Option<Streaming>,
    /// Forces one kind of loads.
    always: Option<Loads>,
    blocks: u32,
    nothing: Arc<Vector<f64>>,
    tables: Tables,
    spare: SpareCopies,
    /// Allocator for copies of operands; `None` for the device's own memory.
    memory: Option<Room>,
}

/// Allocates memory for a number of elements.
type Room = Arc<dyn Fn(usize) -> Result<Vector<f64>, DeviceError> + Send + Sync>;

/// What operands that stream need.
#[derive(Clone)]
struct Streaming {
    kernel: Kernel,
    plan: StreamedProductsPlan,
    copying: Copying,
}

/// Copies of dropped stages, kept for reuse.
type SpareCopies = Arc<Spare<Vector<f64>>>;

/// A stage whose tables are on the device.
pub struct PreparedStage {
    launch: Launch,
    firsts: [i64; 3],
    table: Uploaded,
    spaces: [usize; SPACES],
    length: usize,
    streams: Streams,
    /// The mapping of the last run.
    mapped: Mutex<Option<Mapped>>,
}

/// The operands of a stage, mapped for certain buffers.
struct Mapped {
    /// Where the buffers begin: address and first element.
    places: [(Option<u64>, usize); SPACES],
    maps: Uploaded,
    /// Copies of vectors, made in each run.
    vectors: Copies,
    parts: Option<Uploaded>,
    /// Copies of blocks and of vectors; present until dropped.
    copies: Option<[Vector<f64>; 2]>,
    /// Where their memory goes for reuse.
    spare: Option<SpareCopies>,
}

/// The buffers that records read: for each space, a vector and the element where the space begins.
#[derive(Clone, Copy, Default)]
pub struct DeviceBuffers<'a> {
    given: [Option<(&'a Vector<f64>, usize)>; SPACES],
}

impl<'a> DeviceBuffers<'a> {
    /// Sets the vector of a space.
    pub fn set(self, space: OperandSpace, vector: &'a Vector<f64>) -> DeviceBuffers<'a> {
        self.with_from(space, vector, 0)
    }

    /// Sets the vector of a space that begins at its element `first`.
    pub fn with_from(mut self, space: OperandSpace, vector: &'a Vector<f64>, first: usize) -> DeviceBuffers<'a> {
        self.given[space as usize] = Some((vector, first));
        self
    }

    /// The vector of a space, and the element where the space begins.
    pub(crate) fn get(&self, space: OperandSpace) -> Option<(&'a Vector<f64>, usize)> {
        self.given[space as usize]
    }
}

impl Products {
    /// Compiles the kernel for a device that runs kernels.
    ///
    /// # Errors
    /// The device is the CPU; the compiler is missing.
    pub fn new(device: &Device) -> Result<Products, DeviceError> {
        Products::with_plan(device, GroupedProductsPlan::new(FAMILY))
    }

    /// The same with other parameters in the plan.
    ///
    /// # Errors
    /// An impossible plan; the errors of [`Products::new`].
    pub fn with_plan(device: &Device, plan: GroupedProductsPlan) -> Result<Products, DeviceError> {
        plan.check().map_err(|error| DeviceError::Arguments {
            what: "a plan of grouped products".into(),
            expected: error.expected.into(),
            found: error.to_string(),
        })?;
        let kernel = device.compile(&plan.text()?)?;
        let accelerated = match device {
            Device::Cuda(cuda) => cuda.has_tensor_memory_accelerator(),
            Device::Cpu(_) | Device::Sim(_) => false,
        };
        let streaming = if accelerated { Some(Products::streaming(device, &plan)?) } else { None };
        let blocks = match device {
            Device::Cuda(cuda) => cuda.multiprocessors(),
            Device::Cpu(_) | Device::Sim(_) => SIMULATED_BLOCKS,
        };
        let nothing = Arc::new(device.zeros(1)?);
        let (device, tables, spare) = (device.clone(), Tables::new(device), SpareCopies::default());
        let (always, memory) = (None, None);
        Ok(Products { device, kernel, plan, streaming, always, blocks, nothing, tables, spare, memory })
    }

    fn streaming(device: &Device, plan: &GroupedProductsPlan) -> Result<Streaming, DeviceError> {
        let plan = StreamedProductsPlan::new(&plan.name);
        Ok(Streaming { kernel: device.compile(&plan.text()?)?, copying: Copying::new(device, &plan.name)?, plan })
    }

    /// Uses one kind of loads for all stages, for tests and comparisons.
    ///
    /// # Errors
    /// The compiler is missing; the card has no tensor memory accelerator.
    pub fn always(self, loads: Loads) -> Result<Products, DeviceError> {
        let streaming = match self.streaming {
            None if loads == Loads::Streamed => Some(Products::streaming(&self.device, &self.plan)?),
            found => found,
        };
        Ok(Products { streaming, always: Some(loads), ..self })
    }

    /// Puts copies of operands in memory that the caller counts.
    pub fn with_memory(
        self,
        room: impl Fn(usize) -> Result<Vector<f64>, DeviceError> + Send + Sync + 'static,
    ) -> Products {
        Products { memory: Some(Arc::new(room)), ..self }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Cuts a stage into tiles, distributes them, and uploads the table.
    ///
    /// # Errors
    /// A record is not a part of its group's block; a number exceeds 2³¹; the device fails.
    pub fn prepare(&self, stage: &RecordStage) -> Result<PreparedStage, DeviceError> {
        let kinds: &[Loads] = match (self.always, &self.streaming) {
            (Some(Loads::Streamed), _) => &[Loads::Streamed],
            (None, Some(_)) if stage.flops() >= FEW_FLOPS => &[Loads::Carried, Loads::Streamed],
            _ => &[Loads::Carried],
        };
        let Table { words, firsts, sizes, streams } = Table::new(stage, self.blocks, kinds)?;
        let launch = match &self.streaming {
            Some(streaming) if streams.any() => streaming.plan.launch(&sizes, streams.count())?,
            _ => self.plan.launch(&sizes)?,
        };
        self.kernel_of(&streams).check(&launch)?;
        let table = self.tables.upload(&words)?;
        let (spaces, length) = (sizes.spaces.map(|len| len as usize), stage.length);
        Ok(PreparedStage { launch, firsts, table, spaces, length, streams, mapped: Mutex::default() })
    }

    fn kernel_of(&self, streams: &Streams) -> &Kernel {
        match &self.streaming {
            Some(streaming) if streams.any() => &streaming.kernel,
            _ => &self.kernel,
        }
    }

    /// Memory of at least `length` elements, reused or new.
    fn copies(&self, length: usize) -> Result<Vector<f64>, DeviceError> {
        if let Some(room) = &self.memory {
            return room(length.max(1));
        }
        if let Some(kept) = self.spare.take(length, Vector::len) {
            return Ok(kept);
        }
        // Memory too short for this stage will hardly suffice for the next.
        self.spare.clear();
        self.device.zeros(length.max(1))
    }

    /// The stage's operands mapped for these buffers; blocks are copied where necessary.
    fn mapped(
        &self,
        stage: &PreparedStage,
        streaming: &Streaming,
        given: &[(&Vector<f64>, usize); SPACES],
    ) -> Result<Mapped, DeviceError> {
        let layout = stage.streams.layout(given.map(|(_, first)| first));
        let Layout { copies: [blocks, vectors], .. } = &layout;
        let mut copies = [self.copies(blocks.length)?, self.copies(vectors.length)?];
        if blocks.length > 0 {
            let parts = self.tables.upload(&blocks.table())?;
            streaming.copying.run(blocks, &parts, given, stage.spaces, &mut copies[0])?;
        }
        let parts = if vectors.length > 0 { Some(self.tables.upload(&vectors.table())?) } else { None };
        let maps = match &self.device {
            Device::Cuda(_) => stage.streams.maps(&layout, given, [&copies[0], &copies[1]])?,
            // Operands are read where they are.
            Device::Cpu(_) | Device::Sim(_) => vec![0; StreamedProductsPlan::MAP_WORDS * stage.streams.count()],
        };
        let maps = self.tables.upload(&maps)?;
        let places = given.map(|(vector, first)| (vector.address(), first));
        let [_, vectors] = layout.copies;
        let spare = self.memory.is_none().then(|| self.spare.clone());
        Ok(Mapped { places, maps, vectors, parts, copies: Some(copies), spare })
    }

    /// Queues a stage: every block of `output` is the sum of its group's records, everything else zero. Blocks must not
    /// change after the first run with these vectors, because some may have been copied then; x and intermediates may
    /// change from run to run.
    ///
    /// # Errors
    /// A vector is missing, too short, or on another device.
    pub fn run(
        &self,
        stage: &PreparedStage,
        buffers: &DeviceBuffers<'_>,
        output: &mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        self.run_into(stage, buffers, output, 0)
    }

    /// The same into a longer vector, from its element `first` on; other elements are untouched.
    ///
    /// # Errors
    /// See [`Products::run`].
    pub fn run_into(
        &self,
        stage: &PreparedStage,
        buffers: &DeviceBuffers<'_>,
        output: &mut Vector<f64>,
        first: usize,
    ) -> Result<(), DeviceError> {
        let given: [(&Vector<f64>, usize); SPACES] =
            std::array::from_fn(|space| buffers.given[space].unwrap_or((&*self.nothing, 0)));
        let Some(streaming) = self.streaming.as_ref().filter(|_| stage.streams.any()) else {
            return self.run_of(stage, &given, output, first, None);
        };
        for (space, (vector, first)) in given.iter().enumerate() {
            must_hold(&stage.launch.parameters[space].name, vector.len(), *first, stage.spaces[space])?;
        }
        let mut held = locked(&stage.mapped);
        let mapped = match held.take().filter(|mapped| mapped.still(&given)) {
            Some(mapped) => held.insert(mapped),
            None => held.insert(self.mapped(stage, streaming, &given)?),
        };
        if let (Some(parts), Some([_, to])) = (&mapped.parts, &mut mapped.copies) {
            streaming.copying.run(&mapped.vectors, parts, &given, stage.spaces, to)?;
        }
        self.run_of(stage, &given, output, first, Some(&mapped.maps))
    }

    fn run_of(
        &self,
        stage: &PreparedStage,
        given: &[(&Vector<f64>, usize); SPACES],
        output: &mut Vector<f64>,
        first: usize,
        maps: Option<&Buffer<u64>>,
    ) -> Result<(), DeviceError> {
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
        let [records, touching, starts] = stage.firsts;
        let arguments = arguments_of_spaces(given)
            .write("output", output)
            .i64("output_first", first as i64)
            .read("table", &*stage.table);
        let arguments = arguments.i64("records_first", records).i64("touching_first", touching);
        let mut arguments = arguments.i64("starts_first", starts);
        if let Some(maps) = maps {
            arguments = arguments.read("maps", maps);
        }
        self.kernel_of(&stage.streams).launch(&launch, arguments)
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

/// Changes the length of one launch parameter.
fn lengthen(launch: &mut Launch, parameter: usize, length: usize, as_access: Access) {
    if let ParameterKind::Memory { len, access, .. } = &mut launch.parameters[parameter].kind {
        (*len, *access) = (length as u64, as_access);
    }
}

impl Mapped {
    /// Whether the mapping is valid for these buffers. The place of x may change because x is copied.
    fn still(&self, given: &[(&Vector<f64>, usize); SPACES]) -> bool {
        let input = OperandSpace::Input as usize;
        (0..SPACES).all(|k| k == input || self.places[k] == (given[k].0.address(), given[k].1))
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let (Some(copies), Some(spare)) = (self.copies.take(), &self.spare) {
            spare.give_back(copies);
        }
    }
}
