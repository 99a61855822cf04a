//! The numbers of a saved state: kept states and ψ.
//!
//! In: a [`Sweeper`]. Out: `data.bin`, all numbers little-endian, and the tables that stand in the header of the state, with the blake3 sum
//! of the file; and back, if no byte has changed and the state fits the chain.

use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::restored::is_whole;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::input_file::{FileKind, read_bytes};
use eigenforge_runtime::state_folder::{self, NotWritten};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The file of the numbers.
pub(crate) const NUMBERS: &str = "data.bin";

/// What a header says of the numbers.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedTables {
    /// The states kept of each site, without numbers.
    pub(crate) kept: Vec<Option<Isometry>>,
    /// Elements of each ψ.
    pub(crate) waves: Vec<usize>,
    /// blake3 of the file.
    pub(crate) sum: String,
}

/// Identifies a model: its sites, charges, order, and the operator sum to the last bit.
pub(crate) fn identity(chain: &Chain) -> String {
    let mut hasher = blake3::Hasher::new();
    let operators: Vec<_> = (0..chain.sum.operators.len()).map(|id| chain.sum.operators.get(id)).collect();
    hasher.update(format!("{:?}{:?}{:?}", chain.local, chain.total, chain.order).as_bytes());
    hasher.update(format!("{:?}{:?}{operators:?}", chain.sum.sites, chain.units).as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Refuses a state of a run in which something else is another.
///
/// # Errors
/// What, here and there.
pub(crate) fn compare(folder: &Path, what: &str, expected: &str, found: &str) -> Result<(), DmrgError> {
    if expected == found {
        return Ok(());
    }
    let (folder, what) = (folder.into(), what.into());
    Err(DmrgError::OtherCheckpoint { folder, what, expected: expected.into(), found: found.into() })
}

/// The header of a state of a folder; `None` of a damaged one, which is passed over.
///
/// # Errors
/// A header of another version of the layout.
pub(crate) fn read_header<H: DeserializeOwned>(
    folder: &Path,
    state: &Path,
    schema: u32,
    first_sealed: u32,
) -> Result<Option<H>, DmrgError> {
    match state_folder::read_header(state, schema, first_sealed) {
        state_folder::Header::Whole(header) => Ok(Some(header)),
        state_folder::Header::OtherSchema(found) => {
            compare(folder, "version", &format!("schema {schema}"), &format!("schema {found}")).map(|()| None)
        }
        state_folder::Header::Damaged => {
            state_folder::pass_over(state, "header.ron");
            Ok(None)
        }
    }
}

/// Writes the numbers of a state piece by piece, so that they are never all in memory.
struct Numbers {
    file: File,
    hasher: blake3::Hasher,
}

impl Numbers {
    fn create(path: &Path) -> std::io::Result<Numbers> {
        Ok(Numbers { file: File::create(path)?, hasher: blake3::Hasher::new() })
    }

    fn write(&mut self, values: &[f64]) -> std::io::Result<()> {
        const CHUNK: usize = 1 << 16;
        let mut bytes = Vec::with_capacity(8 * CHUNK.min(values.len()));
        for chunk in values.chunks(CHUNK) {
            bytes.clear();
            chunk.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
            self.hasher.update(&bytes);
            self.file.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Flushes to disk and returns the sum.
    fn finish(self) -> std::io::Result<String> {
        self.file.sync_all()?;
        Ok(self.hasher.finalize().to_hex().to_string())
    }
}

/// Writes the numbers of a sweeper's state into a folder.
///
/// # Errors
/// The disk's; errors of the engine.
pub(crate) fn write_numbers<E: Engine>(
    folder: &Path,
    sweeper: &Sweeper<'_, E>,
) -> Result<SavedTables, NotWritten<DmrgError>> {
    let (path, engine) = (folder.join(NUMBERS), sweeper.engine());
    let mut numbers = Numbers::create(&path).map_err(NotWritten::disk_error(&path))?;
    let mut kept = Vec::new();
    for isometry in sweeper.isometries() {
        if let Some(isometry) = isometry {
            numbers.write(&downloaded(engine, &isometry.data)?).map_err(NotWritten::disk_error(&path))?;
        }
        kept.push(isometry.as_ref().map(Isometry::tables));
    }
    let mut waves = Vec::new();
    for wave in sweeper.waves() {
        let wave = downloaded(engine, wave)?;
        numbers.write(&wave).map_err(NotWritten::disk_error(&path))?;
        waves.push(wave.len());
    }
    let sum = numbers.finish().map_err(NotWritten::disk_error(&path))?;
    Ok(SavedTables { kept, waves, sum })
}

fn downloaded<'b, E: Engine>(engine: &E, data: &'b E::Buffer) -> Result<Cow<'b, [f64]>, NotWritten<DmrgError>> {
    engine.download(data).map_err(|error| NotWritten::Run(error.into()))
}

/// Kept states of all sites, and ψ of each state that shares them.
pub(crate) type SavedState = (Vec<Option<Isometry>>, Vec<Vec<f64>>);

/// Reads the numbers of a state with ψ at a bond; `None` if a byte has changed, or if they do not fit the chain.
pub(crate) fn read_numbers(folder: &Path, tables: SavedTables, chain: &Chain, bond: usize) -> Option<SavedState> {
    let SavedTables { mut kept, waves, sum } = tables;
    let bytes = read_bytes(&folder.join(NUMBERS), FileKind::STATE).ok()?;
    if blake3::hash(&bytes).to_hex().as_str() != sum || kept.len() != chain.sites {
        return None;
    }
    let mut numbers = bytes.chunks_exact(8).map(|chunk| chunk.iter().rev().fold(0u64, |x, b| x << 8 | u64::from(*b)));
    let mut take = |count: usize| -> Option<Vec<f64>> {
        let taken: Vec<f64> = numbers.by_ref().take(count).map(f64::from_bits).collect();
        (taken.len() == count).then_some(taken)
    };
    for isometry in kept.iter_mut().flatten() {
        isometry.data = take(isometry.blocks.iter().map(|block| block.rows * block.columns).sum())?;
    }
    let waves = waves.iter().map(|count| take(*count)).collect::<Option<Vec<_>>>()?;
    let whole = !waves.is_empty() && waves.iter().all(|wave| is_whole(chain, &kept, wave, bond));
    whole.then_some((kept, waves))
}
