//! The tables of a symmetry sector on a device: the bitmap and the list of representatives, made there by the sector's own kernels.

use super::SectorRows;
use crate::exact::tables::{STATE_TABLES, state_tables};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementArgument, Kernel, OnDevice, trace};
use eigenforge_templates::exact::{FlipTables, SymmetryPlan};
use std::sync::Arc;

/// A table.
pub(super) type Words = Arc<dyn OnDevice + Send + Sync>;

/// What `multiply` reads beside the vectors.
pub(in crate::exact) struct SymmetricTables {
    representatives: Words,
    has_stabiliser: Buffer<u32>,
    /// Bitmap, ranks and factors, by the names of the kernels' parameters, in their order.
    others: Vec<(&'static str, Words)>,
    /// The flips of H.
    flips: Vec<(&'static str, Words)>,
}

/// Words in the plan's type.
pub(super) fn words(plan: &SymmetryPlan, values: &[u64], device: &Device) -> Result<Words, DeviceError> {
    Ok(match plan.is_wide() {
        true => Arc::new(device.buffer(values)?),
        false => Arc::new(device.buffer(&values.iter().map(|word| *word as u32).collect::<Vec<_>>())?),
    })
}

impl SymmetricTables {
    /// Makes the list with the kernels of the multiply's text.
    ///
    /// # Errors
    /// The device's; another number of representatives than the group's traces have, which is a fault of eigenforge.
    pub(in crate::exact) fn new(
        rows: &SectorRows,
        kernel: &Kernel,
        device: &Device,
    ) -> Result<SymmetricTables, DeviceError> {
        let (plan, tables) = (rows.plan(), rows.tables());
        let part = STATE_TABLES.into_iter().zip(state_tables(tables, device)?);
        let part: Vec<(&'static str, Words)> = part.map(|(name, table)| (name, table as Words)).collect();
        let mut factors: Vec<(&'static str, Words)> = Vec::new();
        if plan.characters || plan.fermions {
            factors.push(("characters", Arc::new(device.buffer(&rows.characters())?)));
        }
        if plan.fermions {
            factors.push(("later", words(plan, &rows.later(), device)?));
        }
        if let Some(torus) = rows.torus() {
            let tables: [(&'static str, &[u32]); 3] =
                [("row_turns", &torus.turns), ("row_least", &torus.least), ("line_images", &torus.images)];
            for (name, table) in tables {
                factors.push((name, Arc::new(device.buffer(table)?)));
            }
        }
        let (bitmap, has_stabiliser, representatives) = listed(plan, &part, &factors, kernel, device)?;
        let ranks: Vec<(&'static str, Words)> = match &tables.direct {
            Some(direct) => vec![
                ("high_offset", Arc::new(device.buffer(&direct.high_offset)?)),
                ("low_index", Arc::new(device.buffer(&direct.low_index)?)),
            ],
            None => part,
        };
        let mut others: Vec<(&'static str, Words)> = vec![("bitmap", Arc::new(bitmap))];
        others.extend(ranks);
        others.extend(factors);
        let launches = plan.launches().map_err(DeviceError::from)?;
        let has = |name: &str| launches[0].parameters.iter().any(|parameter| parameter.name == name);
        let flips =
            flip_buffers(plan, &plan.flip_tables(), device)?.into_iter().filter(|(name, _)| has(name)).collect();
        Ok(SymmetricTables { representatives, has_stabiliser, others, flips })
    }

    /// Adds the tables of `multiply` after its vectors.
    pub(in crate::exact) fn pass<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        with(self.pass_ranks(vectors), &self.flips)
    }

    /// Adds the tables of `average` after its vector: all but those of the flips of H.
    pub(super) fn pass_ranks<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        let list = vectors.read("representatives", &*self.representatives);
        with(list.read("has_stabiliser", &self.has_stabiliser), &self.others)
    }

    /// The arguments of the diagonal as an element function.
    pub(in crate::exact) fn of_diagonal(&self) -> Vec<ElementArgument> {
        vec![ElementArgument::Memory(self.representatives.clone() as Arc<_>)]
    }
}

/// Flips and their terms, by the names of the kernels' parameters.
pub(super) fn flip_buffers(
    plan: &SymmetryPlan,
    tables: &FlipTables,
    device: &Device,
) -> Result<[(&'static str, Words); 6], DeviceError> {
    Ok([
        ("flip_masks", words(plan, &tables.flip, device)?),
        ("flip_start", Arc::new(device.buffer(&tables.start)?)),
        ("term_care", words(plan, &tables.care, device)?),
        ("term_pattern", words(plan, &tables.pattern, device)?),
        ("term_sign", words(plan, &tables.sign, device)?),
        ("term_amplitude", Arc::new(device.buffer(&tables.amplitude)?)),
    ])
}

/// The arguments with further tables.
pub(super) fn with<'a>(arguments: Arguments<'a>, tables: &'a [(&'static str, Words)]) -> Arguments<'a> {
    tables.iter().fold(arguments, |arguments, (name, table)| arguments.read(name, &**table))
}

/// The bitmap, a bit of each state that more than the identity leaves as it is, and the list.
fn listed(
    plan: &SymmetryPlan,
    part: &[(&'static str, Words)],
    factors: &[(&'static str, Words)],
    kernel: &Kernel,
    device: &Device,
) -> Result<(Buffer<u32>, Buffer<u32>, Words), DeviceError> {
    let _listing = trace::span("set up", "representatives on the device");
    let [mark, number] = plan.listing().map_err(DeviceError::from)?;
    let mut bitmap = device.empty_buffer::<u32>(plan.bitmap_words() as usize)?;
    let mut totals = device.empty_buffer::<u32>(plan.mark_blocks() as usize)?;
    let arguments = Arguments::new().write("bitmap", &mut bitmap).write("totals", &mut totals);
    kernel.launch(&mark, with(with(arguments, part), factors))?;
    let mut found = 0u64;
    let starts = totals.download()?.into_iter().map(|total| {
        let start = found;
        found += u64::from(total);
        start as u32
    });
    let starts: Vec<u32> = starts.collect();
    if found != plan.states {
        return Err(DeviceError::Arguments {
            what: "representatives of a symmetry sector".into(),
            expected: format!("{} by the traces of the group", plan.states),
            found: format!("{found} on the device, which is a fault of eigenforge: please report it"),
        });
    }
    let (starts, states) = (device.buffer(&starts)?, plan.states as usize);
    let mut has_stabiliser = device.buffer(&vec![0u32; plan.stabiliser_words() as usize])?;
    let mut numbered = |list: &mut (dyn OnDevice + 'static)| {
        let arguments = Arguments::new().write("bitmap", &mut bitmap).write("representatives", list);
        let arguments = arguments.write("has_stabiliser", &mut has_stabiliser).read("starts", &starts);
        kernel.launch(&number, with(arguments, part))
    };
    let list: Words = match plan.is_wide() {
        true => {
            let mut list = device.empty_buffer::<u64>(states)?;
            numbered(&mut list)?;
            Arc::new(list)
        }
        false => {
            let mut list = device.empty_buffer::<u32>(states)?;
            numbered(&mut list)?;
            Arc::new(list)
        }
    };
    Ok((bitmap, has_stabiliser, list))
}
