//! A published way to multiply: its arrays on the host, its kernels, and the same multiply on the CPU from the same arrays.
//!
//! In: arrays, a text of benches/cuda, launches. Out: [`Baseline`]; [`Baseline::load`] puts it on a device that runs kernels,
//! [`Loaded::multiply`] launches y = A x. Values are f64, columns and positions 32 bits, as in the papers.

use eigenforge::sparse::Csr;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, OnDevice, Vector};
use eigenforge_templates::launch::{Access, Element, Parameter, ParameterKind};

use eigenforge_templates::{KernelText, Launch, Warp};

/// Threads of a block where the format does not say.
pub(super) const THREADS: u32 = 128;
/// A column that is none, in padding.
pub(super) const NONE: u32 = u32::MAX;

/// An array of a format, under the name of the kernels' parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Table {
    U32(Vec<u32>),
    F64(Vec<f64>),
}

impl Table {
    fn len(&self) -> usize {
        match self {
            Table::U32(values) => values.len(),
            Table::F64(values) => values.len(),
        }
    }

    fn element(&self) -> Element {
        match self {
            Table::U32(_) => Element::U32,
            Table::F64(_) => Element::F64,
        }
    }
}

/// One launch: the kernel, its blocks, and the tables that it writes.
pub(super) struct Step {
    pub entry: &'static str,
    pub blocks: u64,
    pub threads: u32,
    /// Parameters in order: names of tables, `x`, `y`.
    pub parameters: &'static [&'static str],
    /// Those of them that it writes, and whether it reads them too.
    pub writes: &'static [(&'static str, Access)],
}

/// y = A x from the arrays of a format on the CPU: `(tables, x, y)`.
pub(super) type HostMultiply = Box<dyn Fn(&[(&'static str, Table)], &[f64], &mut [f64]) + Send + Sync>;

/// A matrix as one published kernel wants it.
pub struct Baseline {
    /// The format's name, as the tables print it.
    pub name: String,
    /// Rows and columns.
    pub rows: usize,
    pub(super) tables: Vec<(&'static str, Table)>,
    pub(super) text: KernelText,
    pub(super) steps: Vec<Step>,
    pub(super) on_host: HostMultiply,
}

impl Baseline {
    /// The text of a kernel file after its constants: `constants` are pairs of name and value.
    pub(super) fn text(file: &str, source: &str, constants: &[(&str, u64)], entries: &[&'static str]) -> KernelText {
        let declared: String =
            constants.iter().map(|(name, value)| format!("constexpr u32 {name} = {value};\n")).collect();
        let plan: String = constants.iter().map(|(name, value)| format!(" {name}: {value},")).collect();
        KernelText {
            name: format!("baseline_{file}"),
            text: format!("{}\n{declared}\n{source}", Warp::NVIDIA.prelude()),
            plan: format!("({file}:{plan})"),
            entries: entries.iter().map(|entry| entry.to_string()).collect(),
        }
    }

    /// Bytes of all arrays, work space included.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|(_, table)| (table.len() * table.element().bytes()) as u64).sum()
    }

    /// y = A x on the cores of this machine, from the format's own arrays.
    pub fn multiply_on_host(&self, x: &[f64], y: &mut [f64]) {
        (self.on_host)(&self.tables, x, y);
    }

    /// The kernel file and its launches, for a check of the text alone.
    ///
    /// # Errors
    /// A matrix that needs a larger grid than CUDA has.
    pub fn launches(&self) -> Result<(KernelText, Vec<Launch>), DeviceError> {
        let vector = |name, access| Parameter::memory(name, Element::F64, access, self.rows as u64);
        let launch = |step: &Step| {
            let parameter = |name: &&'static str| {
                let access = step.writes.iter().find(|(written, _)| written == name).map_or(Access::In, |w| w.1);
                match self.tables.iter().find(|(table, _)| table == name) {
                    Some((_, table)) => Parameter::memory(*name, table.element(), access, table.len() as u64),
                    None => vector(*name, access),
                }
            };
            Launch::new(step.entry, step.blocks, step.threads, 0, step.parameters.iter().map(parameter).collect())
        };
        let launches = self.steps.iter().map(launch).collect::<Result<Vec<_>, _>>()?;
        Ok((self.text.clone(), launches))
    }

    /// Compiles the kernels and copies the arrays.
    ///
    /// # Errors
    /// The device's: it runs no kernels, or the arrays do not fit.
    pub fn load(&self, device: &Device) -> Result<Loaded, DeviceError> {
        device.check_memory(&format!("the matrix as {}", self.name), self.bytes())?;
        let (text, launches) = self.launches()?;
        let kernel = device.compile(&text)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let upload = |(name, table): &(&'static str, Table)| -> Result<(&'static str, Memory), DeviceError> {
            let memory: Memory = match table {
                Table::U32(values) => Box::new(device.buffer(values)?) as Box<Buffer<u32>>,
                Table::F64(values) => Box::new(device.buffer(values)?) as Box<Buffer<f64>>,
            };
            Ok((name, memory))
        };
        let tables = self.tables.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        Ok(Loaded { kernel, launches, tables })
    }
}

type Memory = Box<dyn OnDevice + Send + Sync>;

/// A baseline on a device.
pub struct Loaded {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Vec<(&'static str, Memory)>,
}

impl Loaded {
    /// Launches y = A x.
    ///
    /// # Errors
    /// The device's.
    pub fn multiply(&mut self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        (0..self.launches.len()).try_for_each(|step| self.step(step, x, y))
    }

    /// Launches one step of it.
    ///
    /// # Errors
    /// The device's.
    pub fn step(&mut self, step: usize, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        let launch = &self.launches[step];
        let mut places: Vec<(&str, Place<'_>)> =
            self.tables.iter_mut().map(|(name, memory)| (*name, Place::Table(memory))).collect();
        places.push(("x", Place::X(x)));
        places.push(("y", Place::Y(&mut *y)));
        let mut arguments = Arguments::new();
        for parameter in &launch.parameters {
            let Some(at) = places.iter().position(|(name, _)| *name == parameter.name) else { continue };
            let (name, place) = places.swap_remove(at);
            let read = matches!(parameter.kind, ParameterKind::Memory { access: Access::In, .. });
            arguments = match place {
                Place::X(x) => arguments.read(name, x),
                Place::Y(y) if read => arguments.read(name, &*y),
                Place::Y(y) => arguments.write(name, y),
                Place::Table(memory) if read => arguments.read(name, &**memory),
                Place::Table(memory) => arguments.write(name, &mut **memory),
            };
        }
        self.kernel.launch(launch, arguments)
    }
}

enum Place<'a> {
    X(&'a Vector<f64>),
    Y(&'a mut Vector<f64>),
    Table(&'a mut Memory),
}

/// The u32 array of that name.
pub(super) fn integers<'a>(tables: &'a [(&'static str, Table)], name: &str) -> &'a [u32] {
    match tables.iter().find(|table| table.0 == name) {
        Some((_, Table::U32(values))) => values,
        _ => &[],
    }
}

/// The f64 array of that name.
pub(super) fn real<'a>(tables: &'a [(&'static str, Table)], name: &str) -> &'a [f64] {
    match tables.iter().find(|table| table.0 == name) {
        Some((_, Table::F64(values))) => values,
        _ => &[],
    }
}

/// Row starts in 32 bits.
pub(super) fn row_start(matrix: &Csr) -> Vec<u32> {
    matrix.row_start().iter().map(|start| *start as u32).collect()
}

/// Length of each row.
pub(super) fn row_length(matrix: &Csr) -> Vec<u32> {
    matrix.row_start().windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect()
}
