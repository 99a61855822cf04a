//! Elements or strengths in the layout of a plan, as they stand in memory: no labels, 8 bytes a number.
//!
//! Little-endian: `EIGENSU3`, then u32 version (1), kind (0 elements, 1 strengths), N_max, channels (bit 0 pn, 1 pp, 2 nn), u64
//! numbers a channel, and the f64 of each channel in this order. The layout is [`super::plan`]'s; version 1 stands for it.

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::plan::Plan;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"EIGENSU3";
const VERSION: u32 = 1;

/// What the numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// u, see [`super::elements`].
    Elements,
    /// C, see [`super::strengths`].
    Strengths,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Elements => "elements",
            Kind::Strengths => "strengths",
        }
    }
}

/// Whether a file begins as these do.
pub fn recognised(path: &Path) -> bool {
    let mut start = [0; 8];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}

/// Writes.
///
/// # Errors
///
/// What the writer says.
pub fn write(out: &mut dyn Write, plan: &Plan, kind: Kind, numbers: &ByChannel) -> std::io::Result<()> {
    let channels = numbers.vectors.iter().fold(0u32, |bits, (channel, _)| bits | 1 << (*channel as u32));
    out.write_all(MAGIC)?;
    for word in [VERSION, kind as u32, plan.n_max, channels] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(&(plan.length as u64).to_le_bytes())?;
    for (_, vector) in &numbers.vectors {
        for number in vector {
            out.write_all(&number.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Reads a file of this kind and N_max.
///
/// # Errors
///
/// A header that says something else, a file that is shorter or longer than it, a number that is not finite.
pub fn read(path: &Path, plan: &Plan, kind: Kind) -> Result<ByChannel, TableError> {
    let failed = |source| TableError::Read { path: path.to_path_buf(), source };
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let bytes = file.get_ref().metadata().map_err(failed)?.len();
    let mut header = [0; 32];
    file.read_exact(&mut header).map_err(failed)?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let length = u64::from(word(24)) | u64::from(word(28)) << 32;
    let channels: Vec<Channel> =
        Channel::ALL.into_iter().filter(|channel| word(20) >> *channel as u32 & 1 == 1).collect();
    let expected = 32 + 8 * (channels.len() * plan.length) as u64;
    for (name, expected, found) in [
        ("version", u64::from(VERSION), u64::from(word(8))),
        (&*format!("kind ({})", kind.word()), kind as u64, u64::from(word(12))),
        ("N_max", u64::from(plan.n_max), u64::from(word(16))),
        ("numbers a channel", plan.length as u64, length),
        ("bytes of the file", expected, bytes),
    ] {
        if expected != found {
            let (path, what) = (path.to_path_buf(), name.to_string());
            return Err(TableError::Binary { path, what, expected, found });
        }
    }
    let mut vectors = Vec::new();
    for channel in channels {
        let mut vector = vec![0.0; plan.length];
        let mut number = [0; 8];
        for (at, value) in vector.iter_mut().enumerate() {
            file.read_exact(&mut number).map_err(failed)?;
            *value = f64::from_le_bytes(number);
            if !value.is_finite() {
                return Err(TableError::NotFinite { path: path.to_path_buf(), channel: channel.word(), at });
            }
        }
        vectors.push((channel, vector));
    }
    if vectors.is_empty() {
        return Err(TableError::Empty { path: path.to_path_buf() });
    }
    Ok(ByChannel { vectors, left_out: 0 })
}

#[cfg(test)]
mod tests {
    use super::super::space::Space;
    use super::*;

    #[test]
    fn numbers_come_back_and_faults_are_named() {
        let plan = Plan::new(Space { n_max: 1 });
        let vector = |factor: f64| (0..plan.length).map(|i| factor / (i + 3) as f64).collect::<Vec<_>>();
        let numbers = ByChannel { vectors: vec![(Channel::Pn, vector(1.0)), (Channel::Nn, vector(-7.0))], left_out: 0 };
        let mut bytes = Vec::new();
        write(&mut bytes, &plan, Kind::Strengths, &numbers).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.bin");
        let read_bytes = |bytes: &[u8], kind| {
            std::fs::write(&path, bytes).unwrap();
            read(&path, &plan, kind)
        };
        assert_eq!(read_bytes(&bytes, Kind::Strengths).unwrap(), numbers);
        assert!(recognised(&path));
        let fault = |bytes: &[u8], kind| read_bytes(bytes, kind).unwrap_err().to_string();
        assert!(fault(&bytes, Kind::Elements).contains("kind (elements): expected 0, found 1"));
        assert!(fault(&bytes[..bytes.len() - 1], Kind::Strengths).contains("bytes of the file"));
        let mut wrong = bytes.clone();
        wrong[32..40].copy_from_slice(&f64::NAN.to_le_bytes());
        assert!(fault(&wrong, Kind::Strengths).contains("number 0 of channel pn"));
        wrong[8] = 9;
        assert!(fault(&wrong, Kind::Strengths).contains("version: expected 1, found 9"));
    }
}
