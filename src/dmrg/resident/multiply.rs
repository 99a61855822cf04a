//! y = H x of a bond on the card, by the [strategy](Strategy) of the run.
//!
//! In: the superblock's two stages of records, the operators' buffers. Out: a product from one vector of a basis into another.

use super::super::device::{DeviceBuffers, LibraryProducts, LibraryStage, Prepared, Products};
use super::super::records::Space;
use super::super::strategy::Strategy;
use super::super::superblock::Superblock;
use super::{Held, Pool};
use eigenforge_runtime::{Device, DeviceError};
use std::sync::Arc;

/// Who runs records in solves.
pub(super) enum Multiplier {
    /// The generated kernel.
    Planned(Products),
    /// cuBLAS.
    Library(LibraryProducts),
}

/// Both stages of one bond, with who runs them.
enum Stages<'a> {
    Planned(&'a Products, Box<[Prepared; 2]>),
    Library(&'a LibraryProducts, [LibraryStage; 2]),
}

/// H of one bond.
pub(super) struct Multiply<'a> {
    stages: Stages<'a>,
    buffers: DeviceBuffers<'a>,
    between: Held,
    /// Elements that the first stage makes.
    made: usize,
}

impl Multiplier {
    pub(super) fn new(device: &Device, products: &Products, strategy: Strategy) -> Result<Multiplier, DeviceError> {
        Ok(match strategy {
            Strategy::Planned => Multiplier::Planned(products.clone()),
            _ => Multiplier::Library(LibraryProducts::new(device, strategy)?),
        })
    }

    /// Makes the records of a superblock ready.
    pub(super) fn prepare<'a>(
        &'a self,
        superblock: &Superblock,
        buffers: DeviceBuffers<'a>,
        pool: &Arc<Pool>,
    ) -> Result<Multiply<'a>, DeviceError> {
        let (first, second) = (&superblock.first, &superblock.second);
        let stages = match self {
            Multiplier::Planned(by) => Stages::Planned(by, Box::new([by.prepare(first)?, by.prepare(second)?])),
            Multiplier::Library(by) => {
                Stages::Library(by, [by.prepare(first, &buffers)?, by.prepare(second, &buffers)?])
            }
        };
        Ok(Multiply { stages, buffers, between: pool.take(first.length)?, made: first.length })
    }
}

impl Multiply<'_> {
    /// Queues `w` from element `to` on = H times `v` from element `from` on.
    pub(super) fn run(&mut self, v: &Held, from: usize, w: &mut Held, to: usize) -> Result<(), DeviceError> {
        let input = self.buffers.with_from(Space::Input, v.vector(), from);
        match &self.stages {
            Stages::Planned(by, stages) => {
                let [first, second] = &**stages;
                if self.made > 0 {
                    by.run(first, &input, self.between.vector_mut())?;
                }
                by.run_into(second, &input.with(Space::Between, self.between.vector()), w.vector_mut(), to)
            }
            Stages::Library(by, [first, second]) => {
                if self.made > 0 {
                    by.run_into(first, &input, self.between.vector_mut(), 0)?;
                }
                by.run_into(second, &input.with(Space::Between, self.between.vector()), w.vector_mut(), to)
            }
        }
    }
}
