//! Output formats.
//!
//! In: a complete result. Out: a file in the format given by its name or the user. Tables of labels and the recoupler's
//! layout are written group by group; the elements of an H2 or me2j file have an order of their own and are held in memory.

use super::binary::{self, TensorKind};
use super::channel::{ByChannel, Channel};
use super::h2::{self, Encoding, H2Version};
use super::hermitian::HermitianNorms;
use super::plan::{Group, Plan};
use super::source::TensorSource;
use super::{elements, me2j, recoupler, strengths};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::io::{self, Write};
use std::path::Path;

/// A format of elements or strengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorFormat {
    /// A table of labels.
    Labels,
    /// A table of the labels of strengths with na + nb ≥ nc + nd, of a Hermitian operator.
    HermitianHalf,
    /// 8-byte numbers in the layout of the plan.
    Binary,
    /// LSU3shell's format, for strengths.
    Recoupler,
    /// MFDn's format, for elements; records if the name ends in .bin.
    H2(H2Version),
    /// The Darmstadt group's format, for elements; gzip or 4-byte numbers if the name ends in .gz or .bin.
    Me2j,
}

impl Serialize for TensorFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for TensorFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TensorFormat, D::Error> {
        let word = String::deserialize(deserializer)?;
        let found = TensorFormat::WORDS.iter().find(|(known, _)| *known == word).map(|(_, format)| *format);
        found.ok_or_else(|| de::Error::custom(format!("{word:?} is no format of tensors")))
    }
}

/// All numbers of a source, checked to be finite.
fn all(plan: &Plan, source: &dyn TensorSource) -> io::Result<ByChannel> {
    let numbers = ByChannel::of_source(plan, source).map_err(io::Error::other)?;
    numbers.vectors.iter().try_for_each(|(channel, vector)| check_finite(&[*channel], std::slice::from_ref(vector)))?;
    Ok(numbers)
}

/// Refuses numbers that overflowed: a force of 1e308 MeV has elements beyond doubles.
fn check_finite(channels: &[Channel], vectors: &[Vec<f64>]) -> io::Result<()> {
    let infinite = |(_, vector): &(&Channel, &Vec<f64>)| vector.iter().any(|number| !number.is_finite());
    match channels.iter().zip(vectors).find(infinite) {
        None => Ok(()),
        Some((channel, _)) => Err(io::Error::other(format!(
            "a number of channel {} overflows: all must be below 1e308; scale the interaction down",
            channel.word()
        ))),
    }
}

impl TensorFormat {
    /// Their names in the command.
    pub const WORDS: [(&'static str, TensorFormat); 8] = [
        ("labels", TensorFormat::Labels),
        ("labels-half", TensorFormat::HermitianHalf),
        ("binary", TensorFormat::Binary),
        ("recoupler", TensorFormat::Recoupler),
        ("h2-0", TensorFormat::H2(H2Version::V0)),
        ("h2-15099", TensorFormat::H2(H2Version::V15099)),
        ("h2-15200", TensorFormat::H2(H2Version::V15200)),
        ("me2j", TensorFormat::Me2j),
    ];

    /// The format implied by a file name: .bin binary, .recoupler the recoupler's layout, .dat H2 15099 and .me2j,
    /// .me2j.gz, .me2j.bin me2j for elements, else labels.
    pub(super) fn of_name(path: &Path, kind: TensorKind) -> TensorFormat {
        match (path.extension().and_then(|ending| ending.to_str()), kind) {
            (_, TensorKind::Elements) if me2j::is_name(path) => TensorFormat::Me2j,
            (Some("bin"), _) => TensorFormat::Binary,
            (Some("recoupler"), TensorKind::Strengths) => TensorFormat::Recoupler,
            (Some("dat"), TensorKind::Elements) => TensorFormat::H2(H2Version::V15099),
            _ => TensorFormat::Labels,
        }
    }

    /// The only kind it can hold, if there is one.
    pub(super) fn kind(self) -> Option<TensorKind> {
        match self {
            TensorFormat::Labels | TensorFormat::Binary => None,
            TensorFormat::HermitianHalf | TensorFormat::Recoupler => Some(TensorKind::Strengths),
            TensorFormat::H2(_) | TensorFormat::Me2j => Some(TensorKind::Elements),
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        TensorFormat::WORDS.iter().find(|(_, format)| *format == self).map_or("", |(word, _)| word)
    }

    /// Writes all numbers of a source.
    ///
    /// # Errors
    ///
    /// Errors of the writer or the source; numbers that the format cannot hold.
    pub fn write(
        self,
        out: &mut dyn Write,
        path: &Path,
        plan: &Plan,
        kind: TensorKind,
        source: &dyn TensorSource,
    ) -> io::Result<()> {
        let channels = source.channels();
        let records = path.extension().is_some_and(|ending| ending == "bin");
        match self {
            TensorFormat::Binary => binary::write(out, plan, kind, &all(plan, source)?),
            TensorFormat::H2(version) => {
                let encoding = if records { Encoding::Records } else { Encoding::Text };
                h2::write(out, plan, version, encoding, &all(plan, source)?)
            }
            TensorFormat::Me2j => me2j::write(out, path, plan, &all(plan, source)?),
            TensorFormat::Labels | TensorFormat::HermitianHalf | TensorFormat::Recoupler => {
                match (self, kind) {
                    (TensorFormat::Recoupler, _) => {}
                    (_, TensorKind::Elements) => elements::write_header(out)?,
                    (_, TensorKind::Strengths) => strengths::write_header(out)?,
                }
                let mut norms = HermitianNorms::default();
                plan.groups.iter().try_for_each(|group| {
                    let vectors = source.group(group).map_err(io::Error::other)?;
                    check_finite(&channels, &vectors)?;
                    if self == TensorFormat::HermitianHalf && !norms.keeps(group, &vectors)? {
                        return Ok(());
                    }
                    self.write_group(out, group, kind, &channels, &vectors)
                })
            }
        }
    }

    fn write_group(
        self,
        out: &mut dyn Write,
        group: &Group,
        kind: TensorKind,
        channels: &[Channel],
        vectors: &[Vec<f64>],
    ) -> io::Result<()> {
        match (self, kind) {
            (TensorFormat::Recoupler, _) => recoupler::write(out, group, channels, vectors),
            (_, TensorKind::Elements) => elements::write(out, group, channels, vectors),
            (_, TensorKind::Strengths) => strengths::write(out, group, channels, vectors),
        }
    }
}
