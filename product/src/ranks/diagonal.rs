//! The diagonal of a rank's own rows as a table on its card.

use eigenforge_runtime::{Device, DeviceError, ElementArgument, ElementFunction};
use eigenforge_templates::ElementFunctionText;
use eigenforge_templates::launch::{Element, Number, Parameter};
use std::sync::Arc;

/// A diagonal of the elements from place `first` on, as a table on a card.
pub fn table_of_share(values: &[f64], first: usize, device: &Device) -> Result<ElementFunction, DeviceError> {
    let parameters =
        vec![Parameter::table("values", Element::F64, values.len() as u64), Parameter::number("first", Number::I64)];
    let text = ElementFunctionText::new("", "double", "diagonal", parameters, "values[i - first]");
    let arguments = vec![ElementArgument::Memory(Arc::new(device.buffer(values)?)), ElementArgument::I64(first as i64)];
    Ok(ElementFunction::of_text(text, arguments))
}
