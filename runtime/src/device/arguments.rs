//! The named arguments of a launch, and their check against the plan's parameters before anything runs.

use super::memory::OnDevice;
use super::named_tables::{ElementArgument, NamedTables};
use super::place::MemoryPlace;
use crate::error::{DeviceError, Result};
use eigenforge_templates::Launch;
use eigenforge_templates::launch::{Access, Number, Parameter, ParameterKind};

/// The arguments of one launch, each under its parameter's name: in the order of the parameters, or in any order beside
/// [tables](Arguments::tables), of which a launch takes what it names.
///
/// ```
/// use eigenforge_runtime::{Arguments, Device};
///
/// # fn main() -> Result<(), eigenforge_runtime::DeviceError> {
/// let device = Device::cpu();
/// let (x, mut y) = (device.zeros::<f64>(100)?, device.zeros::<f64>(100)?);
/// let arguments = Arguments::new().read("x", &x).write("y", &mut y).i64("count", 100);
/// # let _ = arguments;
/// # Ok(()) }
/// ```
#[derive(Default)]
pub struct Arguments<'a> {
    given: Vec<(&'a str, Value<'a>)>,
    tables: Vec<&'a NamedTables>,
}

/// One argument.
pub(super) enum Value<'a> {
    Read(&'a (dyn OnDevice + 'static)),
    Write(&'a mut (dyn OnDevice + 'static)),
    Number(Number, [u8; 8]),
}

impl<'a> Value<'a> {
    fn of_table(argument: &'a ElementArgument) -> Value<'a> {
        match argument {
            ElementArgument::Memory(memory) => Value::Read(&**memory),
            ElementArgument::I64(value) => Value::Number(Number::I64, value.to_ne_bytes()),
            ElementArgument::U64(value) => Value::Number(Number::U64, value.to_ne_bytes()),
            ElementArgument::U32(value) => Value::Number(Number::U32, four(value.to_ne_bytes())),
            ElementArgument::F64(value) => Value::Number(Number::F64, value.to_ne_bytes()),
        }
    }

    pub(super) fn memory(&self) -> Option<&(dyn OnDevice + 'static)> {
        match self {
            Value::Read(memory) => Some(*memory),
            Value::Write(memory) => Some(&**memory),
            Value::Number(..) => None,
        }
    }
}

fn four(bytes: [u8; 4]) -> [u8; 8] {
    let [a, b, c, d] = bytes;
    [a, b, c, d, 0, 0, 0, 0]
}

impl<'a> Arguments<'a> {
    /// No arguments yet.
    pub fn new() -> Arguments<'a> {
        Arguments { given: Vec::with_capacity(16), tables: Vec::new() }
    }

    fn argument(mut self, name: &'a str, value: Value<'a>) -> Arguments<'a> {
        self.given.push((name, value));
        self
    }

    /// A vector or buffer that the kernel reads.
    pub fn read(self, name: &'a str, memory: &'a (dyn OnDevice + 'static)) -> Arguments<'a> {
        self.argument(name, Value::Read(memory))
    }

    /// A vector or buffer that the kernel writes.
    pub fn write(self, name: &'a str, memory: &'a mut (dyn OnDevice + 'static)) -> Arguments<'a> {
        self.argument(name, Value::Write(memory))
    }

    /// An `i64`.
    pub fn i64(self, name: &'a str, value: i64) -> Arguments<'a> {
        self.argument(name, Value::Number(Number::I64, value.to_ne_bytes()))
    }

    /// A `u64`.
    pub fn u64(self, name: &'a str, value: u64) -> Arguments<'a> {
        self.argument(name, Value::Number(Number::U64, value.to_ne_bytes()))
    }

    /// An `int`.
    pub fn i32(self, name: &'a str, value: i32) -> Arguments<'a> {
        self.argument(name, Value::Number(Number::I32, four(value.to_ne_bytes())))
    }

    /// A `u32`.
    pub fn u32(self, name: &'a str, value: u32) -> Arguments<'a> {
        self.argument(name, Value::Number(Number::U32, four(value.to_ne_bytes())))
    }

    /// A `double`.
    pub fn f64(self, name: &'a str, value: f64) -> Arguments<'a> {
        self.argument(name, Value::Number(Number::F64, value.to_ne_bytes()))
    }

    /// A `float`.
    pub fn f32(self, name: &'a str, value: f32) -> Arguments<'a> {
        self.argument(name, Value::Number(Number::F32, four(value.to_ne_bytes())))
    }

    /// Tables and numbers for the parameters that no other argument has.
    pub fn tables(mut self, tables: &'a NamedTables) -> Arguments<'a> {
        self.tables.push(tables);
        self
    }

    /// Only those that a launch has parameters for; memory to be written becomes memory to be read where the kernel only reads it. So
    /// one list serves all launches of a multiply.
    #[must_use]
    pub fn needed(mut self, launch: &Launch) -> Arguments<'a> {
        let needed = self.given.into_iter().filter_map(|(name, value)| {
            let parameter = launch.parameters.iter().find(|parameter| parameter.name == name)?;
            let value = match (value, &parameter.kind) {
                (Value::Write(memory), ParameterKind::Memory { access: Access::In, .. }) => Value::Read(memory),
                (value, _) => value,
            };
            Some((name, value))
        });
        self.given = needed.collect();
        self
    }

    /// The arguments in the order of a launch's parameters, completed from the tables. What is missing or too much is left for the
    /// check.
    pub(super) fn bound(mut self, launch: &'a Launch) -> Arguments<'a> {
        if self.tables.is_empty() {
            return self;
        }
        let mut bound = Vec::with_capacity(launch.parameters.len());
        for Parameter { name, .. } in &launch.parameters {
            match self.given.iter().position(|(given, _)| given == name) {
                Some(place) => bound.push(self.given.swap_remove(place)),
                None => {
                    let found = self.tables.iter().find_map(|tables| tables.get(name));
                    bound.extend(found.map(|argument| (name.as_str(), Value::of_table(argument))));
                }
            }
        }
        bound.append(&mut self.given);
        Arguments { given: bound, tables: Vec::new() }
    }

    /// Whether some memory is spread over the cards of a device, so that all of them work on it.
    pub(super) fn are_spread(&self) -> bool {
        self.given.iter().any(|(_, value)| value.memory().is_some_and(|memory| memory.is_spread()))
    }

    /// The eight bytes that card `card` of the device passes for each: an address there, or a number.
    pub(super) fn on_card(&self, card: usize) -> Result<Vec<u64>> {
        let values = self.given.iter().map(|(_, value)| match value {
            Value::Number(_, bytes) => Ok(u64::from_ne_bytes(*bytes)),
            Value::Read(memory) => memory.address_on(card),
            Value::Write(memory) => Ok(memory.address_to_write()),
        });
        values.collect()
    }

    /// The arguments in order.
    pub(super) fn values(&mut self) -> impl Iterator<Item = &mut Value<'a>> {
        self.given.iter_mut().map(|(_, value)| value)
    }

    /// Checks number, names, types, access, lengths and device against the plan; `own` is where the kernel's memory
    /// is.
    pub(super) fn check(&self, launch: &Launch, own: &MemoryPlace) -> Result<()> {
        if self.given.len() != launch.parameters.len() {
            let names = |names: Vec<&str>| format!("{} ({})", names.len(), names.join(", "));
            let expected = names(launch.parameters.iter().map(|parameter| parameter.name.as_str()).collect());
            let found = names(self.given.iter().map(|(name, _)| *name).collect());
            return Err(fault(launch, "arguments", expected, found));
        }
        for (k, ((name, value), parameter)) in self.given.iter().zip(&launch.parameters).enumerate() {
            if *name != parameter.name {
                let what = format!("argument {}", k + 1);
                return Err(fault(launch, &what, format!("`{parameter}`"), format!("`{name}`")));
            }
            check_value(launch, parameter, value, own)?;
        }
        Ok(())
    }
}

fn fault(launch: &Launch, what: &str, expected: String, found: String) -> DeviceError {
    DeviceError::Arguments { what: format!("kernel {}, {what}", launch.entry), expected, found }
}

fn check_value(launch: &Launch, parameter: &Parameter, value: &Value, own: &MemoryPlace) -> Result<()> {
    let wrong =
        |expected: String, found: String| Err(fault(launch, &format!("parameter {}", parameter.name), expected, found));
    let (memory, (element, access, len)) = match (value, &parameter.kind) {
        (Value::Number(found, _), ParameterKind::Number(expected)) if found == expected => return Ok(()),
        (Value::Number(found, _), _) => return wrong(format!("`{parameter}`"), format!("a number, {}", found.cuda())),
        (_, ParameterKind::Number(number)) => return wrong(format!("a number, {}", number.cuda()), "memory".into()),
        (Value::Read(memory), &ParameterKind::Memory { element, access, len }) => (*memory, (element, access, len)),
        (Value::Write(memory), &ParameterKind::Memory { element, access, len }) => (&**memory, (element, access, len)),
    };
    match (access, value) {
        (Access::In, Value::Write(_)) => {
            return wrong("memory that is read".into(), "memory to be written; bind it with `read`".into());
        }
        (Access::Out | Access::InOut, Value::Read(_)) => {
            return wrong("memory that is written".into(), "memory to be read; bind it with `write`".into());
        }
        _ => {}
    }
    if memory.element() != Some(element) {
        let found = memory.element().map_or("of another type", |found| found.cuda());
        return wrong(format!("elements {}", element.cuda()), format!("elements {found}"));
    }
    if (memory.elements() as u64) < len {
        return wrong(format!("{len} elements or more"), memory.elements().to_string());
    }
    if !own.is_same(&memory.place()) {
        return wrong("memory of the kernel's device".into(), format!("memory of {}", memory.place().name()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::memory::Contents;
    use super::*;
    use crate::{Device, HostTable, Vector};
    use eigenforge_templates::launch::Element;

    fn launch() -> Launch {
        let parameters = vec![
            Parameter::table("x", Element::F64, 2),
            Parameter::memory("y", Element::F64, Access::Out, 2),
            Parameter::table("start", Element::U16, 3),
            Parameter::number("count", Number::I64),
        ];
        Launch::new("multiply", 1, 32, 0, parameters).unwrap()
    }

    fn names(arguments: &Arguments<'_>) -> Vec<String> {
        arguments.given.iter().map(|(name, _)| (*name).to_string()).collect()
    }

    fn all<'a>(
        [x]: [&'a Vector<f64>; 1],
        [y, dots]: [&'a mut Vector<f64>; 2],
        tables: &'a NamedTables,
    ) -> Arguments<'a> {
        Arguments::new().write("y", y).write("x_dot_y", dots).read("x", x).tables(tables)
    }

    #[test]
    fn a_launch_takes_of_the_tables_what_it_names_in_its_order() {
        let (device, launch) = (Device::cpu(), launch());
        let place = device.zeros::<f64>(2).unwrap().place();
        let (x, mut y, mut dots) =
            (device.zeros::<f64>(2).unwrap(), device.zeros::<f64>(2).unwrap(), device.zeros::<f64>(1).unwrap());
        let mut tables = NamedTables::new();
        tables
            .upload(&device, "start", HostTable::narrowed(eigenforge_templates::exact::IndexWord::U16, vec![1, 2, 3]))
            .unwrap();
        tables.upload(&device, "unread", vec![0u32]).unwrap();
        tables.insert_count("count", 5);
        let bound = all([&x], [&mut y, &mut dots], &tables).needed(&launch).bound(&launch);
        assert_eq!(names(&bound), ["x", "y", "start", "count"]);
        bound.check(&launch, &place).unwrap();
        // What is too much or missing is refused by the check.
        let refused =
            all([&x], [&mut y, &mut dots], &tables).bound(&launch).check(&launch, &place).unwrap_err().to_string();
        assert!(refused.contains("x_dot_y"), "{refused}");
        let empty = NamedTables::new();
        let missing = Arguments::new().read("x", &x).write("y", &mut y).tables(&empty).bound(&launch);
        let refused = missing.check(&launch, &place).unwrap_err().to_string();
        assert!(refused.contains("4 (x, y, start, count)") && refused.contains("2 (x, y)"), "{refused}");
        // Memory to be written is read where the kernel only reads it; an empty table has an element in memory.
        let (mut x, mut y) = (x, y);
        Arguments::new()
            .write("x", &mut x)
            .write("y", &mut y)
            .tables(&tables)
            .needed(&launch)
            .bound(&launch)
            .check(&launch, &place)
            .unwrap();
        assert_eq!(HostTable::from(Vec::<f64>::new()).upload(&device).unwrap().elements(), 1);
        // A later table of a name replaces the earlier one.
        tables.insert_count("count", 7);
        let count = tables.arguments_of(&launch.parameters[3..]);
        assert!(matches!(count[..], [ElementArgument::I64(7)]));
    }
}
