//! What kernels read beside vectors: tables and numbers, each under the name of its parameter.
//!
//! In: memory with tables of the host, or that a kernel has filled; numbers. Out: [`NamedTables`], which `Arguments::tables` offers
//! to any launch. Its parameters say which of them it takes, and in which order.

use super::memory::{Buffer, OnDevice};
use crate::scalar::Pod;
use eigenforge_templates::launch::Parameter;
use std::sync::Arc;

/// A value for one parameter.
#[derive(Clone)]
pub enum ElementArgument {
    /// A table or vector in device memory, kept alive.
    Memory(SharedMemory),
    /// `i64`.
    I64(i64),
    /// `u64`.
    U64(u64),
    /// `u32`.
    U32(u32),
    /// `double`.
    F64(f64),
}

/// Memory of a device that several owners read.
pub type SharedMemory = Arc<dyn OnDevice + Send + Sync>;

/// Tables in the memory of a device and numbers, each under the name of a parameter. Clones share the memory.
#[derive(Clone, Default)]
pub struct NamedTables {
    given: Vec<(String, ElementArgument)>,
}

impl NamedTables {
    /// None yet.
    pub fn new() -> NamedTables {
        NamedTables::default()
    }

    /// Adds memory or a number; what had the name before is replaced.
    pub fn insert(&mut self, name: impl Into<String>, argument: ElementArgument) {
        let name = name.into();
        self.given.retain(|(known, _)| *known != name);
        self.given.push((name, argument));
    }

    /// Adds a count, which kernels take as `i64`.
    pub fn insert_count(&mut self, name: impl Into<String>, count: u64) {
        self.insert(name, ElementArgument::I64(count as i64));
    }

    /// Adds memory that a kernel has filled.
    pub fn insert_buffer<T: Pod>(&mut self, name: impl Into<String>, buffer: Buffer<T>) {
        self.insert(name, ElementArgument::Memory(Arc::new(buffer)));
    }

    /// Adds all of others.
    pub fn extend(&mut self, others: NamedTables) {
        others.given.into_iter().for_each(|(name, argument)| self.insert(name, argument));
    }

    /// What has this name.
    pub fn get(&self, name: &str) -> Option<&ElementArgument> {
        self.given.iter().find(|(known, _)| known == name).map(|(_, argument)| argument)
    }

    /// The arguments of a function of the element index with these parameters, in their order. Those that there are not are left out,
    /// which the program that calls the function refuses.
    pub fn arguments_of(&self, parameters: &[Parameter]) -> Vec<ElementArgument> {
        parameters.iter().filter_map(|parameter| self.get(&parameter.name).cloned()).collect()
    }
}
