//! The tables of a symmetry sector on a device: the bitmap and the list of representatives, made there by the sector's own kernels.

use super::SectorRows;
use crate::basis::HighPart;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementArgument, Kernel, OnDevice, trace};
use eigenforge_templates::exact::SymmetryPlan;
use std::sync::Arc;

/// A table.
pub(super) type Words = Arc<dyn OnDevice + Send + Sync>;

/// What `multiply` reads beside the vectors.
pub(in crate::exact) struct SymmetricTables {
    representatives: Words,
    fixed: Buffer<u32>,
    /// By the names of the kernel's parameters, in their order.
    others: Vec<(&'static str, Words)>,
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
        let column = |of: fn(&HighPart) -> u64| device.buffer(&tables.parts.iter().map(of).collect::<Vec<u64>>());
        let part: [(&'static str, Words); 4] = [
            ("part_start", Arc::new(column(|part| part.start)?)),
            ("part_high", Arc::new(column(|part| part.high)?)),
            ("part_first_low", Arc::new(column(|part| part.first_low)?)),
            ("low_states", Arc::new(device.buffer(&tables.low_states)?)),
        ];
        let mut factors: Vec<(&'static str, Words)> = Vec::new();
        if plan.characters || plan.fermions {
            factors.push(("characters", Arc::new(device.buffer(&rows.characters())?)));
        }
        if plan.fermions {
            factors.push(("later", words(plan, &rows.later(), device)?));
        }
        let (bitmap, fixed, representatives) = listed(plan, &part, &factors, kernel, device)?;
        let ranks: Vec<(&'static str, Words)> = match &tables.direct {
            Some(direct) => vec![
                ("high_offset", Arc::new(device.buffer(&direct.high_offset)?)),
                ("low_index", Arc::new(device.buffer(&direct.low_index)?)),
            ],
            None => part.into(),
        };
        let (flips, start, care, pattern, sign, amplitude) = plan.flip_tables();
        let mut others: Vec<(&'static str, Words)> = vec![("bitmap", Arc::new(bitmap))];
        others.extend(ranks);
        others.extend(factors);
        let launches = plan.launches().map_err(DeviceError::from)?;
        let has = |name: &str| launches[0].parameters.iter().any(|parameter| parameter.name == name);
        if has("flip_masks") {
            others.push(("flip_masks", words(plan, &flips, device)?));
        }
        if has("flip_start") {
            others.push(("flip_start", Arc::new(device.buffer(&start)?)));
            others.push(("term_care", words(plan, &care, device)?));
            others.push(("term_pattern", words(plan, &pattern, device)?));
            others.push(("term_sign", words(plan, &sign, device)?));
            others.push(("term_amplitude", Arc::new(device.buffer(&amplitude)?)));
        }
        Ok(SymmetricTables { representatives, fixed, others })
    }

    /// Adds the tables of `multiply` after its vectors.
    pub(in crate::exact) fn pass<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        let arguments = vectors.read("representatives", &*self.representatives).read("fixed_states", &self.fixed);
        with(arguments, &self.others)
    }

    /// Adds the tables of `average` after its vector: all but those of the flips of H.
    pub(super) fn pass_ranks<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        let arguments = vectors.read("representatives", &*self.representatives).read("fixed_states", &self.fixed);
        let of_h = |name: &str| name.starts_with("flip_") || name.starts_with("term_");
        let ranks = self.others.iter().filter(|(name, _)| !of_h(name));
        ranks.fold(arguments, |arguments, (name, table)| arguments.read(name, &**table))
    }

    /// The arguments of the diagonal as an element function.
    pub(in crate::exact) fn of_diagonal(&self) -> Vec<ElementArgument> {
        vec![ElementArgument::Memory(self.representatives.clone() as Arc<_>)]
    }
}

/// The arguments with further tables.
fn with<'a>(arguments: Arguments<'a>, tables: &'a [(&'static str, Words)]) -> Arguments<'a> {
    tables.iter().fold(arguments, |arguments, (name, table)| arguments.read(name, &**table))
}

/// The bitmap and the list.
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
    let (starts, mut fixed) = (device.buffer(&starts)?, device.buffer(&vec![0u32; plan.fixed_words() as usize])?);
    let states = plan.states as usize;
    let list: Words = match plan.is_wide() {
        true => {
            let mut list = device.empty_buffer::<u64>(states)?;
            let arguments = Arguments::new()
                .write("bitmap", &mut bitmap)
                .write("representatives", &mut list)
                .write("fixed_states", &mut fixed)
                .read("starts", &starts);
            kernel.launch(&number, with(arguments, part))?;
            Arc::new(list)
        }
        false => {
            let mut list = device.empty_buffer::<u32>(states)?;
            let arguments = Arguments::new()
                .write("bitmap", &mut bitmap)
                .write("representatives", &mut list)
                .write("fixed_states", &mut fixed)
                .read("starts", &starts);
            kernel.launch(&number, with(arguments, part))?;
            Arc::new(list)
        }
    };
    Ok((bitmap, fixed, list))
}
