//! Elements or strengths in the layout of a plan, as in memory: no labels, 8 bytes per number.
//!
//! Little-endian: `EIGENSU3`, then u32 version (1), kind (0 elements, 1 strengths), N_max, channels (bit 0 pn, 1 pp, 2 nn), u64
//! numbers per channel, and the f64 of each channel in this order. The layout is [`super::plan`]'s; version 1 identifies
//! it.

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::plan::{Group, Plan};
use super::source::TensorSource;
use eigenforge_runtime::input_file::{FileKind, OpenedFile};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"EIGENSU3";
const VERSION: u32 = 1;
/// Bytes before the first number.
const HEADER: u64 = 32;

/// The kind of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// Matrix elements u between pairs of nucleons.
    Elements,
    /// Strengths C of SU(3) × SU(2) tensors.
    Strengths,
}

impl TensorKind {
    /// Its name in messages.
    pub fn word(self) -> &'static str {
        match self {
            TensorKind::Elements => "elements",
            TensorKind::Strengths => "strengths",
        }
    }
}

/// Whether a file begins like these.
pub(super) fn recognised(path: &Path) -> bool {
    let mut start = [0; 8];
    let opened = OpenedFile::open(path, FileKind::INTERACTION);
    opened.and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}

/// The bytes before the numbers.
pub(super) fn header(plan: &Plan, kind: TensorKind, channels: &[Channel]) -> [u8; HEADER as usize] {
    let bits = channels.iter().fold(0u32, |bits, channel| bits | 1 << (*channel as u32));
    let mut header = [0; HEADER as usize];
    header[..8].copy_from_slice(MAGIC);
    for (at, word) in [VERSION, kind as u32, plan.n_max, bits].into_iter().enumerate() {
        header[8 + 4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
    header[24..].copy_from_slice(&(plan.length as u64).to_le_bytes());
    header
}

/// Bytes of a whole file.
pub(super) fn size(plan: &Plan, channels: usize) -> u64 {
    HEADER + 8 * (channels * plan.length) as u64
}

/// Position of a group's numbers in the file's `at`-th channel.
pub(crate) fn position(plan: &Plan, group: &Group, at: usize) -> u64 {
    HEADER + 8 * (at * plan.length + group.start) as u64
}

/// Numbers as file bytes.
pub(super) fn bytes_of(numbers: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0; 8 * numbers.len()];
    bytes.chunks_exact_mut(8).zip(numbers).for_each(|(bytes, number)| bytes.copy_from_slice(&number.to_le_bytes()));
    bytes
}

/// Numbers from a file's bytes.
pub(super) fn numbers_of(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or([0; 8]))).collect()
}

/// Writes a whole file.
///
/// # Errors
///
/// I/O errors.
pub(super) fn write(out: &mut dyn Write, plan: &Plan, kind: TensorKind, numbers: &ByChannel) -> std::io::Result<()> {
    out.write_all(&header(plan, kind, &numbers.channels()))?;
    numbers.vectors.iter().try_for_each(|(_, vector)| out.write_all(&bytes_of(vector)))
}

/// A file whose groups are read on demand.
#[derive(Debug)]
pub(super) struct BinaryFile {
    path: PathBuf,
    file: OpenedFile,
    channels: Vec<Channel>,
    /// Numbers per channel.
    length: usize,
}

impl BinaryFile {
    /// Opens a file of this kind and N_max.
    ///
    /// # Errors
    ///
    /// A different header, a file shorter or longer than its header says.
    pub(super) fn open(path: &Path, plan: &Plan, kind: TensorKind) -> Result<BinaryFile, TableError> {
        let failed = |source| TableError::Read { path: path.to_path_buf(), source };
        let mut file = OpenedFile::open(path, FileKind::INTERACTION).map_err(failed)?;
        let bytes = file.size();
        let mut header = [0; HEADER as usize];
        file.read_exact(&mut header).map_err(failed)?;
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let length = u64::from(word(24)) | u64::from(word(28)) << 32;
        let channels: Vec<Channel> =
            Channel::ALL.into_iter().filter(|channel| word(20) >> *channel as u32 & 1 == 1).collect();
        for (name, expected, found) in [
            ("version", u64::from(VERSION), u64::from(word(8))),
            (&*format!("kind ({})", kind.word()), kind as u64, u64::from(word(12))),
            ("N_max", u64::from(plan.n_max), u64::from(word(16))),
            ("numbers per channel", plan.length as u64, length),
            ("bytes of the file", size(plan, channels.len()), bytes),
        ] {
            if expected != found {
                let (path, what) = (path.to_path_buf(), name.to_string());
                return Err(TableError::Binary { path, what, expected, found });
            }
        }
        Ok(BinaryFile { path: path.to_path_buf(), file, channels, length: plan.length })
    }

    fn bytes(&self, group: &Group, at: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; 8 * group.length];
        self.file.read_exact_at(&mut bytes, HEADER + 8 * (at * self.length + group.start) as u64)?;
        Ok(bytes)
    }
}

impl TensorSource for BinaryFile {
    fn channels(&self) -> Vec<Channel> {
        self.channels.clone()
    }

    fn group(&self, group: &Group) -> Result<Vec<Vec<f64>>, TableError> {
        let mut vectors = Vec::new();
        for (at, channel) in self.channels.iter().enumerate() {
            let bytes = self.bytes(group, at);
            let bytes = bytes.map_err(|source| TableError::Read { path: self.path.clone(), source })?;
            let numbers = numbers_of(&bytes);
            if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
                let (path, at) = (self.path.clone(), group.start + at);
                return Err(TableError::NotFinite { path, channel: channel.word(), at });
            }
            vectors.push(numbers);
        }
        Ok(vectors)
    }

    fn resident(&self) -> u64 {
        0
    }

    fn describe(&self) -> &'static str {
        "read group by group"
    }
}

#[cfg(test)]
mod tests {
    use super::super::space::OscillatorSpace;
    use super::*;

    #[test]
    fn numbers_come_back_and_faults_are_named() {
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let vector = |factor: f64| (0..plan.length).map(|i| factor / (i + 3) as f64).collect::<Vec<_>>();
        let numbers = ByChannel { vectors: vec![(Channel::Pn, vector(1.0)), (Channel::Nn, vector(-7.0))], left_out: 0 };
        let mut bytes = Vec::new();
        write(&mut bytes, &plan, TensorKind::Strengths, &numbers).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.bin");
        let read_bytes = |bytes: &[u8], kind| {
            std::fs::write(&path, bytes).unwrap();
            ByChannel::of_source(&plan, &BinaryFile::open(&path, &plan, kind)?)
        };
        assert_eq!(read_bytes(&bytes, TensorKind::Strengths).unwrap(), numbers);
        assert!(recognised(&path));
        let fault = |bytes: &[u8], kind| read_bytes(bytes, kind).unwrap_err().to_string();
        assert!(fault(&bytes, TensorKind::Elements).contains("kind (elements): expected 0, found 1"));
        assert!(fault(&bytes[..bytes.len() - 1], TensorKind::Strengths).contains("bytes of the file"));
        let mut wrong = bytes.clone();
        wrong[32..40].copy_from_slice(&f64::NAN.to_le_bytes());
        assert!(fault(&wrong, TensorKind::Strengths).contains("number 0 of channel pn"));
        wrong[8] = 9;
        assert!(fault(&wrong, TensorKind::Strengths).contains("version: expected 1, found 9"));
    }
}
