//! The plan of each launch: kernel, grid, block, dynamic shared memory, and every parameter by name.
//!
//! A plan yields one [`Launch`] per kernel, in order. It is checked against the text's own declaration
//! ([`crate::signature::Signature::check`]), and so are the arguments of each launch, before anything runs.

use crate::ScalarType;
use crate::prototype::Prototype;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most blocks along each axis of a grid (CUDA C++ Programming Guide, table of compute capabilities).
pub const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Most threads of a block, on every architecture.
pub const MOST_THREADS: u32 = 1024;

/// Type of the elements of a vector or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Element {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Element {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::U16 => 2,
            Element::U32 | Element::F32 => 4,
            Element::U64 | Element::F64 => 8,
        }
    }

    /// The CUDA type.
    pub fn cuda(self) -> &'static str {
        match self {
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::U64 => "u64",
            Element::F32 => "float",
            Element::F64 => "double",
        }
    }

    /// The element type for a CUDA type of the generated texts.
    pub fn of_cuda(name: &str) -> Option<Element> {
        let all = [Element::U8, Element::U16, Element::U32, Element::U64, Element::F32, Element::F64];
        all.into_iter().find(|element| element.cuda() == name)
    }
}

/// How a kernel or program uses a vector or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Read, never written.
    In,
    /// Written before it is read.
    Out,
    /// Read, then written.
    InOut,
}

/// Type of a number passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Number {
    /// `i64`.
    I64,
    /// `u64`.
    U64,
    /// `int`.
    I32,
    /// `u32`.
    U32,
    /// `double`.
    F64,
    /// `float`.
    F32,
}

impl Number {
    /// The CUDA type.
    pub fn cuda(self) -> &'static str {
        match self {
            Number::I64 => "i64",
            Number::U64 => "u64",
            Number::I32 => "int",
            Number::U32 => "u32",
            Number::F64 => "double",
            Number::F32 => "float",
        }
    }
}

/// The kind of argument for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterKind {
    /// The address of a vector or table.
    Memory {
        /// Type of its elements.
        element: Element,
        /// How the kernel uses it.
        access: Access,
        /// Elements that the kernel may access; the argument has at least as many.
        len: u64,
    },
    /// A number.
    Number(Number),
}

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name in the text.
    pub name: String,
    /// The kind of its argument.
    pub kind: ParameterKind,
    /// Whether its elements are numbers of the problem's scalar type, which texts call `value_t`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_values: bool,
}

impl Parameter {
    /// A vector or table.
    pub fn memory(name: impl Into<String>, element: Element, access: Access, len: u64) -> Parameter {
        let kind = ParameterKind::Memory { element, access, len };
        Parameter { name: name.into(), kind, of_values: false }
    }

    /// A vector of the problem's numbers, declared as `value_t*`.
    pub fn values(name: impl Into<String>, scalar: ScalarType, access: Access, len: u64) -> Parameter {
        Parameter { of_values: true, ..Parameter::memory(name, scalar.element(), access, len) }
    }

    /// A vector or table that is only read.
    pub fn table(name: impl Into<String>, element: Element, len: u64) -> Parameter {
        Parameter::memory(name, element, Access::In, len)
    }

    /// A number.
    pub fn number(name: impl Into<String>, number: Number) -> Parameter {
        Parameter { name: name.into(), kind: ParameterKind::Number(number), of_values: false }
    }

    /// The type of its declaration: `const u32* __restrict__`, `value_t* __restrict__`, `i64`.
    pub fn cuda(&self) -> String {
        match self.kind {
            ParameterKind::Memory { element, access, .. } => {
                let constant = if access == Access::In { "const " } else { "" };
                let element = if self.of_values { "value_t" } else { element.cuda() };
                format!("{constant}{element}* __restrict__")
            }
            ParameterKind::Number(number) => number.cuda().into(),
        }
    }
}

impl fmt::Display for Parameter {
    /// As the text declares it, without `__restrict__`: `const double* x`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ParameterKind::Memory { element, access, .. } => {
                let constant = if access == Access::In { "const " } else { "" };
                write!(f, "{constant}{}* {}", element.cuda(), self.name)
            }
            ParameterKind::Number(number) => write!(f, "{} {}", number.cuda(), self.name),
        }
    }
}

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel.
    pub entry: String,
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block, along the first axis.
    pub block: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether its blocks wait for each other: a device that cannot hold all of them at once refuses the launch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// The parameters, in the order of the declaration.
    pub parameters: Vec<Parameter>,
}

impl Launch {
    /// Whether it has a parameter of this name.
    pub fn names(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// Whether it writes the memory of this name.
    pub fn writes(&self, name: &str) -> bool {
        let own = self.parameters.iter().find(|parameter| parameter.name == name);
        own.is_some_and(|own| matches!(own.kind, ParameterKind::Memory { access: Access::Out | Access::InOut, .. }))
    }

    /// A launch of `blocks` blocks along the first axis; an error if it exceeds CUDA's limits.
    pub fn new(
        entry: impl Into<String>,
        blocks: u64,
        block: u32,
        shared_bytes: u64,
        parameters: Vec<Parameter>,
    ) -> Result<Launch, LaunchError> {
        let entry = entry.into();
        let Some(blocks) = u32::try_from(blocks).ok().filter(|blocks| *blocks <= MOST_BLOCKS[0]) else {
            return Err(LaunchError::Grid { entry, axis: 'x', blocks, limit: MOST_BLOCKS[0] });
        };
        let Ok(shared_bytes) = u32::try_from(shared_bytes) else {
            return Err(LaunchError::SharedMemory {
                entry,
                dynamic: shared_bytes,
                fixed: 0,
                limit: u64::from(u32::MAX),
            });
        };
        let launch = Launch { entry, grid: [blocks, 1, 1], block, shared_bytes, together: false, parameters };
        launch.check_shape()?;
        Ok(launch)
    }

    /// Checks grid and block against CUDA's general limits. An empty grid is allowed.
    pub fn check_shape(&self) -> Result<(), LaunchError> {
        for ((blocks, limit), axis) in self.grid.iter().zip(MOST_BLOCKS).zip(['x', 'y', 'z']) {
            if *blocks > limit {
                return Err(LaunchError::Grid { entry: self.entry.clone(), axis, blocks: u64::from(*blocks), limit });
            }
        }
        self.check_threads(MOST_THREADS, "CUDA")
    }

    /// Checks the block against the limit that `by` sets.
    pub fn check_threads(&self, limit: u32, by: &'static str) -> Result<(), LaunchError> {
        if (1..=limit).contains(&self.block) {
            return Ok(());
        }
        Err(LaunchError::Threads { entry: self.entry.clone(), threads: self.block, limit, by })
    }

    /// Checks dynamic plus `fixed` (declared in the text) shared memory of a block against the device's limit, in bytes.
    pub fn check_shared(&self, fixed: u64, limit: u64) -> Result<(), LaunchError> {
        let dynamic = u64::from(self.shared_bytes);
        if dynamic + fixed <= limit {
            return Ok(());
        }
        Err(LaunchError::SharedMemory { entry: self.entry.clone(), dynamic, fixed, limit })
    }
}

/// A launch that no card would accept, or that does not fit the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Too many blocks.
    #[error(
        "kernel {entry} would take {blocks} blocks along {axis} and CUDA allows {limit}: the problem is too large for \
         this plan; give each block more rows"
    )]
    Grid {
        /// The kernel.
        entry: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// Blocks in the plan.
        blocks: u64,
        /// What CUDA allows.
        limit: u32,
    },
    /// Too many threads, or none.
    #[error(
        "kernel {entry}: expected a block of 1 to {limit} threads (the limit is of {by}), found {threads}; plan fewer"
    )]
    Threads {
        /// The kernel.
        entry: String,
        /// Threads of a block.
        threads: u32,
        /// The limit.
        limit: u32,
        /// The origin of the limit.
        by: &'static str,
    },
    /// Too much shared memory.
    #[error(
        "kernel {entry}: expected at most {limit} bytes of shared memory a block, found {} ({dynamic} dynamic and {fixed} \
         declared in the text); plan smaller tiles", dynamic + fixed
    )]
    SharedMemory {
        /// The kernel.
        entry: String,
        /// Bytes given at launch.
        dynamic: u64,
        /// Bytes that the text declares.
        fixed: u64,
        /// Bytes available to a block.
        limit: u64,
    },
    /// The text declares a different number of parameters.
    #[error(
        "kernel {entry}: the plan passes {planned} parameters and the text declares {declared}: template and plan disagree"
    )]
    ParameterCount {
        /// The kernel.
        entry: String,
        /// Parameters of the plan.
        planned: usize,
        /// Parameters of the text.
        declared: usize,
    },
    /// The text declares a different parameter.
    #[error(
        "kernel {entry}, parameter {position}: the plan passes `{planned}` and the text declares `{declared}`: template and \
         plan disagree"
    )]
    Parameter {
        /// The kernel.
        entry: String,
        /// Its position, from 1.
        position: usize,
        /// In the plan.
        planned: String,
        /// In the text.
        declared: String,
    },
}

/// Threads of each block of `multiply_finish`.
pub(crate) const FINISH_THREADS: u32 = 1024;

/// `multiply_finish` (`multiply_finish.cuh`): `vectors` blocks add `partials` numbers, as many for each vector, into `places`
/// results.
pub(crate) fn multiply_finish(vectors: u64, partials: u64, places: u64) -> Prototype {
    let access = if places > vectors { Access::InOut } else { Access::Out };
    let parameters = vec![
        Parameter::table("partials", Element::F64, partials),
        Parameter::number("count", Number::I64),
        Parameter::number("place", Number::I64),
        Parameter::memory("x_dot_y", Element::F64, access, places),
    ];
    Prototype::new("multiply_finish", parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_launches_are_named_with_their_numbers() {
        let launch = |blocks, block, shared| Launch::new("k", blocks, block, shared, vec![]);
        let text = |result: Result<Launch, LaunchError>| result.unwrap_err().to_string();
        assert!(launch(MOST_BLOCKS[0].into(), 1024, 0).is_ok());
        assert!(text(launch(1 << 31, 32, 0)).contains("2147483648 blocks along x and CUDA allows 2147483647"));
        assert!(text(launch((1 << 32) + 1, 32, 0)).contains("4294967297 blocks"), "not taken modulo 2^32");
        assert!(text(launch(1, 0, 0)).contains("1 to 1024 threads (the limit is of CUDA), found 0"));
        assert!(text(launch(1, 1025, 0)).contains("found 1025"));
        assert!(text(launch(1, 32, 1 << 32)).contains("4294967296 dynamic"));
        let high = Launch { grid: [1, 70_000, 1], ..launch(1, 32, 0).unwrap() };
        assert!(high.check_shape().unwrap_err().to_string().contains("70000 blocks along y and CUDA allows 65535"));
        let error = launch(1, 32, 200_000).unwrap().check_shared(40_000, 232_448).unwrap_err().to_string();
        assert!(
            error.contains("at most 232448 bytes") && error.contains("240000 (200000 dynamic and 40000"),
            "{error}"
        );
    }

    #[test]
    fn parameters_are_declared_as_the_texts_have_them() {
        let table = Parameter::table("up_states", Element::U32, 7);
        assert_eq!(
            (table.cuda().as_str(), table.to_string().as_str()),
            ("const u32* __restrict__", "const u32* up_states")
        );
        let sums = Parameter::memory("sums", Element::F64, Access::Out, 1);
        assert_eq!((sums.cuda().as_str(), sums.to_string().as_str()), ("double* __restrict__", "double* sums"));
        let values = Parameter::values("x", ScalarType::F32, Access::In, 1);
        assert_eq!(
            (values.cuda().as_str(), values.to_string().as_str()),
            ("const value_t* __restrict__", "const float* x")
        );
        assert_eq!(Parameter::number("n", Number::I64).to_string(), "i64 n");
        assert_eq!(Element::of_cuda("float"), Some(Element::F32));
        assert_eq!(Element::of_cuda("real"), None);
    }
}
