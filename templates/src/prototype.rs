//! The prototype of a kernel: its name and its parameters, listed once for the text and for every launch.
//!
//! In: a kernel's list of [`Parameter`]s. Out: its declaration in the text, `${ kernels.NAME }` of a template, and its
//! launches. What varies from launch to launch, such as the length of a vector, does not show in the declaration.

use crate::launch::{Launch, LaunchError, Parameter};
use serde::Serialize;
use std::collections::BTreeMap;

/// Most characters of a line of a parameter list.
const LINE: usize = 120;

/// A kernel's name and parameters.
#[derive(Clone, Debug)]
pub(crate) struct Prototype {
    entry: String,
    parameters: Vec<Parameter>,
}

impl Prototype {
    pub fn new(entry: impl Into<String>, parameters: Vec<Parameter>) -> Prototype {
        Prototype { entry: entry.into(), parameters }
    }

    /// The declaration: `scale(const double* __restrict__ x, i64 n)`, wrapped after the parenthesis.
    fn declaration(&self) -> String {
        let open = format!("{}(", self.entry);
        format!("{open}{})", declared(&self.parameters, open.len()))
    }

    /// The parameters, in their order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// A launch of `blocks` blocks; an error if it exceeds CUDA's limits.
    pub fn launch(self, blocks: u64, threads: u32, shared_bytes: u64) -> Result<Launch, LaunchError> {
        Launch::new(self.entry, blocks, threads, shared_bytes, self.parameters)
    }
}

/// The declarations of a text's kernels, by name.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Declarations(BTreeMap<String, String>);

impl<'a> FromIterator<&'a Prototype> for Declarations {
    fn from_iter<I: IntoIterator<Item = &'a Prototype>>(kernels: I) -> Declarations {
        Declarations(kernels.into_iter().map(|kernel| (kernel.entry.clone(), kernel.declaration())).collect())
    }
}

impl Declarations {
    /// The declaration of a kernel; empty if there is none of the name.
    pub fn get(&self, entry: &str) -> &str {
        self.0.get(entry).map_or("", String::as_str)
    }
}

/// The names of the kernels, in order.
pub(crate) fn entries(kernels: &[Prototype]) -> Vec<String> {
    kernels.iter().map(|kernel| kernel.entry.clone()).collect()
}

/// `const u32* __restrict__ a, i64 n`: the parameters as a text declares them, continued on lines that are indented by
/// `indent` spaces.
pub(crate) fn declared(parameters: &[Parameter], indent: usize) -> String {
    let items = parameters.iter().map(|parameter| format!("{} {},", parameter.cuda(), parameter.name));
    let list = filled(items, indent, LINE - indent);
    list.strip_suffix(',').unwrap_or(&list).into()
}

/// Items side by side, a space between, in lines of at most `width` characters; all lines but the first are indented.
pub(crate) fn filled(items: impl IntoIterator<Item = impl AsRef<str>>, indent: usize, width: usize) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for item in items {
        let item = item.as_ref();
        if column > 0 && column + 1 + item.len() > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(item);
        column += item.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Element, Number};
    use crate::signature;

    #[test]
    fn a_declaration_is_read_back_as_the_parameters_of_the_launch() {
        let names = ["first_column_of_each_run", "steps_of_each_run", "coefficient_of_each_step", "case_of_each_step"];
        let tables = names.map(|name| Parameter::table(name, Element::U32, 7));
        let parameters: Vec<Parameter> = tables.into_iter().chain([Parameter::number("n", Number::I64)]).collect();
        let kernel = Prototype::new("multiply", parameters.clone());
        let declaration = kernel.declaration();
        assert!(declaration.lines().count() > 1 && declaration.lines().all(|line| line.len() <= LINE), "{declaration}");
        let text = format!("extern \"C\" __global__ void __launch_bounds__(64)\n{declaration}\n{{\n}}\n");
        let signature = signature::Signature::read(&text, "multiply").unwrap();
        assert_eq!(signature.check(&kernel.launch(1, 64, 0).unwrap()), Ok(()));
    }

    #[test]
    fn items_fill_lines() {
        assert_eq!(filled(["1,", "2,", "3"], 4, 5), "1, 2,\n    3");
        assert_eq!(filled(["long item"], 4, 5), "long item");
        assert_eq!(filled([""; 0], 4, 5), "");
    }
}
