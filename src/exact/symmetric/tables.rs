//! The tables of a symmetry sector on a device: the bitmap and the list of representatives, made there by the sector's own kernels.

use super::SectorRows;
use crate::exact::tables::{STATE_TABLES, state_tables};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementArgument, Kernel, OnDevice, trace};
use eigenforge_templates::exact::{FlipTables, SymmetryPlan};
use std::sync::Arc;

/// A table.
pub(super) type Words = Arc<dyn OnDevice + Send + Sync>;

/// A table or a number, by the name of the kernels' parameter.
pub(super) type Named = (&'static str, ElementArgument);

/// A table by its name.
pub(super) fn table(name: &'static str, memory: Words) -> Named {
    (name, ElementArgument::Memory(memory))
}

/// A number by its name.
fn number_of(name: &'static str, value: u64) -> Named {
    (name, ElementArgument::I64(value as i64))
}

/// A number of 32 bits by its name.
pub(super) fn number(name: &'static str, value: u32) -> Named {
    (name, ElementArgument::U32(value))
}

/// What `multiply` reads beside the vectors.
pub(in crate::exact) struct SymmetricTables {
    representatives: Words,
    /// How many they are, the list itself, its stabilisers and bitmap, ranks and factors, in the order of the kernels' parameters.
    own: Vec<Named>,
    /// The flips of H.
    flips: Vec<Named>,
    /// The number of representatives, if vectors have real and imaginary parts.
    complex: Option<i64>,
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
        let part: Vec<Named> = part.map(|(name, memory)| table(name, memory)).collect();
        let mut factors: Vec<Named> = Vec::new();
        if plan.characters || plan.fermions {
            factors.push(table("characters", Arc::new(device.buffer(&rows.characters())?)));
        }
        if plan.fermions {
            factors.push(table("later", words(plan, &rows.later(), device)?));
        }
        if let Some(torus) = rows.torus() {
            let tables: [(&'static str, &[u32]); 3] =
                [("row_turns", &torus.turns), ("row_least", &torus.least), ("line_images", &torus.images)];
            for (name, values) in tables {
                factors.push(table(name, Arc::new(device.buffer(values)?)));
            }
        }
        let (bitmap, has_stabiliser, representatives) = listed(plan, &part, &factors, kernel, device)?;
        let mut own = vec![
            number_of("states", plan.states),
            table("representatives", representatives.clone()),
            table("has_stabiliser", Arc::new(has_stabiliser)),
            table("bitmap", Arc::new(bitmap)),
        ];
        match &tables.direct {
            Some(direct) => own.extend([
                table("high_offset", Arc::new(device.buffer(&direct.high_offset)?)),
                table("low_index", Arc::new(device.buffer(&direct.low_index)?)),
            ]),
            None => {
                own.extend(part);
                own.extend([number_of("parts", plan.parts), number_of("words", plan.words)]);
            }
        }
        own.extend(factors);
        let launches = plan.launches().map_err(DeviceError::from)?;
        let has = |name: &str| launches[0].parameters.iter().any(|parameter| parameter.name == name);
        let flips =
            flip_buffers(plan, &plan.flip_tables(), device)?.into_iter().filter(|(name, _)| has(name)).collect();
        let complex = plan.complex.then_some(plan.states as i64);
        Ok(SymmetricTables { representatives, own, flips, complex })
    }

    /// Adds the arguments of `multiply` after its vectors.
    pub(in crate::exact) fn pass<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        with(self.pass_ranks(vectors), &self.flips)
    }

    /// Adds the arguments of `operator_average` after its vector: all but those of the flips of H.
    pub(super) fn pass_ranks<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        with(vectors, &self.own)
    }

    /// The arguments of the diagonal as an element function.
    pub(in crate::exact) fn of_diagonal(&self) -> Vec<ElementArgument> {
        let list = ElementArgument::Memory(self.representatives.clone());
        std::iter::once(list).chain(self.complex.map(ElementArgument::I64)).collect()
    }
}

/// Flips and their terms, by the names of the kernels' parameters.
pub(super) fn flip_buffers(
    plan: &SymmetryPlan,
    tables: &FlipTables,
    device: &Device,
) -> Result<[Named; 6], DeviceError> {
    Ok([
        table("flip_masks", words(plan, &tables.flip, device)?),
        table("flip_start", Arc::new(device.buffer(&tables.start)?)),
        table("term_care", words(plan, &tables.care, device)?),
        table("term_pattern", words(plan, &tables.pattern, device)?),
        table("term_sign", words(plan, &tables.sign, device)?),
        table("term_amplitude", Arc::new(device.buffer(&tables.amplitude)?)),
    ])
}

/// The arguments with further ones.
pub(super) fn with<'a>(arguments: Arguments<'a>, others: &'a [Named]) -> Arguments<'a> {
    others.iter().fold(arguments, |arguments, (name, argument)| match argument {
        ElementArgument::Memory(memory) => arguments.read(name, &**memory),
        ElementArgument::I64(number) => arguments.i64(name, *number),
        ElementArgument::U64(number) => arguments.u64(name, *number),
        ElementArgument::U32(number) => arguments.u32(name, *number),
        ElementArgument::F64(number) => arguments.f64(name, *number),
    })
}

/// The bitmap, a bit of each state that more than the identity leaves as it is, and the list.
fn listed(
    plan: &SymmetryPlan,
    part: &[Named],
    factors: &[Named],
    kernel: &Kernel,
    device: &Device,
) -> Result<(Buffer<u32>, Buffer<u32>, Words), DeviceError> {
    let _listing = trace::span("set up", "representatives on the device");
    let [mark, give_numbers] = plan.listing().map_err(DeviceError::from)?;
    // Cards share out both kernels, each its part of all three. Then each has the whole bitmap, and its part of the list.
    let mut bitmap = device.spread_buffer::<u32>(plan.bitmap_words() as usize)?;
    let mut totals = device.empty_buffer::<u32>(plan.mark_blocks() as usize)?;
    let counts = [number_of("ranks", plan.ranks), number_of("units", plan.units()), number_of("parts", plan.parts)];
    let arguments = Arguments::new().write("bitmap", &mut bitmap).write("totals", &mut totals);
    kernel.launch(&mark, with(with(with(arguments, &counts), part), factors))?;
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
    let mut has_stabiliser = device.spread_buffer::<u32>(plan.stabiliser_words() as usize)?;
    let mut numbered = |list: &mut (dyn OnDevice + 'static)| {
        let arguments = Arguments::new().write("bitmap", &mut bitmap).write("representatives", list);
        let arguments = arguments.write("has_stabiliser", &mut has_stabiliser).read("starts", &starts);
        kernel.launch(&give_numbers, with(with(arguments, &counts[1..]), part))
    };
    let list: Words = match plan.is_wide() {
        true => {
            let mut list = device.spread_buffer::<u64>(states)?;
            numbered(&mut list)?;
            Arc::new(list)
        }
        false => {
            let mut list = device.spread_buffer::<u32>(states)?;
            numbered(&mut list)?;
            Arc::new(list)
        }
    };
    Ok((bitmap.on_every_card()?, has_stabiliser.on_every_card()?, list))
}
