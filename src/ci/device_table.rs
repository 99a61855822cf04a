//! Tables read by generated kernels: made on the host, uploaded once, passed by name.

use crate::ranks::ReadByRows;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Everywhere, OnDevice, Vector};
use eigenforge_templates::Launch;
use std::sync::Arc;

/// One table on the host.
pub(super) enum Table {
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

/// Tables on a device, by the names of their parameters.
pub(super) type Tables = Vec<(&'static str, Arc<dyn OnDevice + Send + Sync>)>;

/// The first element of the row of each α string, among the tables of a full-CI product.
pub(super) fn starts_of_rows(tables: &[(&'static str, Table)]) -> Vec<u64> {
    let starts = tables.iter().find_map(|(name, table)| match table {
        Table::U64(values) if *name == "row_start" => Some(values.clone()),
        _ => None,
    });
    starts.unwrap_or_default()
}

/// Uploads them, freeing each host copy as soon as it is uploaded.
pub(super) fn upload(device: &Device, tables: Vec<(&'static str, Table)>) -> Result<Tables, DeviceError> {
    let one = |(name, table): (&'static str, Table)| {
        let memory: Arc<dyn OnDevice + Send + Sync> = match table {
            Table::U16(values) => Arc::new(device.buffer(&values)?),
            Table::U32(values) => Arc::new(device.buffer(&values)?),
            Table::U64(values) => Arc::new(device.buffer(&values)?),
            Table::F64(values) => Arc::new(device.buffer(&values)?),
        };
        Ok((name, memory))
    };
    tables.into_iter().map(one).collect()
}

/// Adds all of them as read arguments.
pub(super) fn read_all<'a>(arguments: Arguments<'a>, tables: &'a Tables) -> Arguments<'a> {
    tables.iter().fold(arguments, |arguments, (name, memory)| arguments.read(name, &**memory))
}

/// The tables of a kernel that makes a rank's rows: what it reads before x, and after its vectors.
pub(super) struct RankTables {
    pub(super) before: Tables,
    pub(super) after: Tables,
}

impl ReadByRows for RankTables {
    fn arguments<'a>(
        &'a self,
        _: &Launch,
        x: &'a (dyn OnDevice + 'static),
        y: &'a mut (dyn OnDevice + 'static),
        partials: &'a mut Buffer<f64>,
    ) -> Arguments<'a> {
        let vectors = read_all(Arguments::new(), &self.before).read("x", x).write("y", y);
        read_all(vectors.write("partials", partials), &self.after)
    }
}

/// Adds x as a read argument: where cards have copies of it, those, made now.
pub(super) fn read_everywhere<'a>(
    arguments: Arguments<'a>,
    copies: &'a mut Option<Everywhere>,
    x: &'a Vector<f64>,
) -> Result<Arguments<'a>, DeviceError> {
    let Some(copies) = copies else { return Ok(arguments.read("x", x)) };
    copies.begin(x)?;
    copies.finish()?;
    Ok(arguments.read("x", &*copies))
}
