//! The tables of the multiply by strings on a device.

use super::super::tables::{Named, number, table, with};
use super::{StringRows, Strings};
use eigenforge_runtime::{Arguments, Device, DeviceError, ElementArgument};
use num_complex::Complex64;
use std::sync::Arc;

/// What `multiply` reads beside the vectors, and the diagonal as an element function.
pub(in crate::exact) struct StringTables {
    /// In the order of the parameters of `multiply`.
    own: Vec<Named>,
    /// In the order of those of the diagonal.
    diagonal: Vec<ElementArgument>,
}

/// A table of 32 bits; at least one entry, as memory has.
fn words(name: &'static str, values: impl IntoIterator<Item = u32>, device: &Device) -> Result<Named, DeviceError> {
    let mut values: Vec<u32> = values.into_iter().collect();
    if values.is_empty() {
        values.push(0);
    }
    Ok(table(name, Arc::new(device.buffer(&values)?)))
}

impl StringTables {
    /// Uploads them.
    ///
    /// # Errors
    /// Memory of the device.
    pub(in crate::exact) fn new(rows: &StringRows, device: &Device) -> Result<StringTables, DeviceError> {
        let (plan, strings) = (rows.plan(), rows.strings());
        let Strings { rows, hops, classes, .. } = strings;
        let factors = |name: &'static str, values: &mut dyn Iterator<Item = Complex64>| {
            let parts = |value: Complex64| if plan.complex { vec![value.re, value.im] } else { vec![value.re] };
            let mut values: Vec<f64> = values.flat_map(parts).collect();
            if values.is_empty() {
                values.push(0.0);
            }
            Ok::<_, DeviceError>(table(name, Arc::new(device.buffer(&values)?)))
        };
        let class_ends = classes.iter().scan(0, |end, class| {
            *end += class.strings.len() as u32;
            Some(*end)
        });
        let row_words: Vec<u64> = rows.iter().map(|row| row.word << plan.sites).collect();
        let states = [
            table("row_word", Arc::new(device.buffer(&row_words)?)),
            words("row_start", rows.iter().map(|row| row.start), device)?,
            words("row_class", rows.iter().map(|row| row.class), device)?,
            words("string_word", strings.numbers.words.iter().map(|word| *word as u32), device)?,
            words("class_start", std::iter::once(0).chain(class_ends), device)?,
            words("class_strings", classes.iter().flat_map(|class| class.strings.iter().copied()), device)?,
        ];
        let complex = plan.complex.then_some(ElementArgument::I64(plan.states as i64));
        let of_state = |(_, argument): &Named| argument.clone();
        let number_of_rows = ElementArgument::U32(plan.rows as u32);
        let diagonal =
            std::iter::once(number_of_rows).chain(states.iter().map(of_state)).chain(complex.clone()).collect();
        let mut own: Vec<Named> = complex.map(|states| ("states", states)).into_iter().collect();
        own.extend([number("strings", plan.strings as u32), number("index_bits", plan.index_bits)]);
        own.extend(states);
        let (inner_start, inner_words) = strings.inner.slices(plan.warp);
        let hop_start = rows.iter().map(|row| row.first_hop).chain([hops.len() as u32]);
        let row_of = |row: u32| &rows[row as usize];
        own.extend([
            words("hop_start", hop_start, device)?,
            words("hop_cut", (0..rows.len()).map(|row| strings.first_cut(row)), device)?,
            words("hop_first", hops.iter().map(|hop| row_of(hop.row).start), device)?,
            words("hop_class", hops.iter().map(|hop| row_of(hop.row).class), device)?,
            words("hop_element", hops.iter().map(|hop| hop.element), device)?,
            factors("hop_factor", &mut hops.iter().map(|hop| hop.factor))?,
            table("images", Arc::new(device.buffer(&strings.images)?)),
            words("inner_start", inner_start, device)?,
            words("inner_words", inner_words, device)?,
            factors("inner_factor", &mut strings.inner.factors.iter().copied())?,
            words("class_words", classes.iter().flat_map(|class| class.words.iter().copied()), device)?,
            factors("class_factor", &mut strings.class_factors.iter().copied())?,
        ]);
        Ok(StringTables { own, diagonal })
    }

    /// Adds the arguments of `multiply` after its vectors.
    pub(in crate::exact) fn pass<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        with(vectors, &self.own)
    }

    /// The arguments of the diagonal as an element function.
    pub(in crate::exact) fn of_diagonal(&self) -> Vec<ElementArgument> {
        self.diagonal.clone()
    }
}
