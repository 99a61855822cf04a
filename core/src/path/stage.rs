//! The stages between a problem and machine code, by name.

use serde::Serialize;
use std::fmt;

/// A stage between problem and machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Stage {
    /// The normal-ordered operator, the sector, and its structure.
    Ir,
    /// The same as RON, which [`OperatorIr::parse`](super::OperatorIr::parse) reads back.
    IrRon,
    /// Every fixed number, as RON.
    Plan,
    /// The generated text.
    Cuda,
    /// NVRTC's PTX.
    Ptx,
    /// Machine code, disassembled.
    Sass,
    /// Registers, spills, shared memory, occupancy and instructions of each kernel.
    Resources,
    /// Flops and bytes of each kernel.
    Cost,
}

impl Stage {
    /// All of them, in order, with their names on the command line.
    pub const WORDS: [(&'static str, Stage); 8] = [
        ("ir", Stage::Ir),
        ("ir-ron", Stage::IrRon),
        ("plan", Stage::Plan),
        ("cuda", Stage::Cuda),
        ("ptx", Stage::Ptx),
        ("sass", Stage::Sass),
        ("resources", Stage::Resources),
        ("cost", Stage::Cost),
    ];

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        Stage::WORDS.iter().find(|(_, stage)| *stage == self).map_or("", |(word, _)| word)
    }

    /// What it shows, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Stage::Ir => "The normal-ordered operator, its sector and the structure found",
            Stage::IrRon => "The same as data that can be read back",
            Stage::Plan => "Every fixed number",
            Stage::Cuda => "The generated CUDA",
            Stage::Ptx => "NVRTC's PTX",
            Stage::Sass => "Machine code",
            Stage::Resources => "Registers, spills, shared memory, occupancy, instructions by class",
            Stage::Cost => "Flops and bytes",
        }
    }

    /// Whether it is made from the text, and so from an edited text if there is one.
    pub fn is_of_the_text(self) -> bool {
        matches!(self, Stage::Cuda | Stage::Ptx | Stage::Sass | Stage::Resources)
    }

    /// Whether it depends on the card's architecture.
    pub fn is_compiled(self) -> bool {
        self.is_of_the_text() && self != Stage::Cuda
    }

    /// Whether it is shown separately for each generated file.
    pub fn is_by_file(self) -> bool {
        self.is_of_the_text() || matches!(self, Stage::Plan | Stage::Cost)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
