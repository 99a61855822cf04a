//! Formats of what comes out, written group by group.
//!
//! In: numbers of groups in the order of the plan. Out: a file. Binary files are not here: a [`super::partial`] result is one.

use super::binary::Kind;
use super::channel::Channel;
use super::plan::{Group, Plan};
use super::{elements, strengths};
use std::io::{self, Write};

/// A text format of elements or strengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// A table of labels.
    Labels(Kind),
}

impl Text {
    /// What stands before the first group.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn write_header(self, out: &mut dyn Write, _: &Plan) -> io::Result<()> {
        match self {
            Text::Labels(Kind::Elements) => elements::write_header(out),
            Text::Labels(Kind::Strengths) => strengths::write_header(out),
        }
    }

    /// A group's numbers, a vector a channel.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn write(
        self,
        out: &mut dyn Write,
        group: &Group,
        channels: &[Channel],
        vectors: &[Vec<f64>],
    ) -> io::Result<()> {
        match self {
            Text::Labels(Kind::Elements) => elements::write(out, group, channels, vectors),
            Text::Labels(Kind::Strengths) => strengths::write(out, group, channels, vectors),
        }
    }
}
