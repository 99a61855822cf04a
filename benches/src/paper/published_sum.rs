//! The published sum over all labels at once as a whole run: Algorithm 4 of Oberhuber et al. (2021), from a file of matrix elements
//! to a file of strengths.
//!
//! In: a file of elements, N_max, a device. Out: the strengths as 8-byte numbers, little-endian, one channel after the other, and how
//! often the innermost term was added (on a device 0: its kernel does not count). `bench paper su3` starts it in a process of its own,
//! by a hidden option of itself, so that its wall time can stand beside those of `su3 transform`.

use super::PaperError;
use eigenforge::su3::{
    ByChannel, DevicePaper, Direction, OscillatorSpace, Plan, TableCache, Tables, open_interaction, published_sum,
};
use eigenforge_runtime::Device;
use std::fmt::Display;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Transforms the elements of a file and writes their strengths; the number of innermost terms.
///
/// # Errors
/// A file that cannot be read or written, a device that fails.
pub(super) fn transform(elements: &Path, n_max: u32, output: &Path, device: &Device) -> Result<u64, PaperError> {
    let plan = Plan::new(OscillatorSpace { n_max });
    let source = open_interaction(elements, &plan, Direction::Forward, &TableCache::off()).map_err(failed)?;
    let input = ByChannel::of_source(&plan, &*source).map_err(failed)?;
    let channels: Vec<&[f64]> = input.vectors.iter().map(|(_, vector)| &vector[..]).collect();
    let tables = Tables::new(&plan).map_err(failed)?;
    let (strengths, terms) = match device.runs_kernels() {
        true => (on_device(&plan, &tables, &channels, device)?, 0),
        false => on_cores(&plan, &tables, &channels),
    };
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(output)?);
    strengths.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))?;
    file.flush()?;
    Ok(terms)
}

/// All channels; one that equals an earlier one, as nn equals pp without the Coulomb force, is copied.
fn on_cores(plan: &Plan, tables: &Tables, channels: &[&[f64]]) -> (Vec<f64>, u64) {
    let (mut strengths, mut terms) = (Vec::with_capacity(channels.len() * plan.length), 0);
    for (at, elements) in channels.iter().enumerate() {
        match channels[..at].iter().position(|earlier| earlier == elements) {
            Some(same) => strengths.extend_from_within(same * plan.length..(same + 1) * plan.length),
            None => {
                let (found, added) = published_sum(plan, tables, elements);
                strengths.extend(found);
                terms += added;
            }
        }
    }
    (strengths, terms)
}

fn on_device(plan: &Plan, tables: &Tables, channels: &[&[f64]], device: &Device) -> Result<Vec<f64>, PaperError> {
    let sum = DevicePaper::new(plan, tables, channels.len(), device).map_err(failed)?;
    let elements = device.upload(&channels.concat())?;
    let mut strengths = device.zeros(elements.len())?;
    sum.forward(&elements, &mut strengths).map_err(failed)?;
    Ok(strengths.download()?)
}

fn failed(error: impl Display) -> PaperError {
    PaperError::Run { what: "the published sum".into(), said: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge::su3::forward;

    /// A force without the Coulomb force has equal channels pp and nn: their terms are added once. The file has the strengths of the
    /// chain of products.
    #[test]
    fn the_file_has_the_strengths_of_the_chain_of_products() {
        let folder = tempfile::tempdir().unwrap();
        let (force, output) = (folder.path().join("force.toml"), folder.path().join("strengths.bin"));
        std::fs::write(&force, "[force]\nhw = 20.0\nminnesota = {}\n").unwrap();
        let terms = transform(&force, 1, &output, &Device::cpu()).unwrap();
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let (tables, cache) = (Tables::new(&plan).unwrap(), TableCache::off());
        let source = open_interaction(&force, &plan, Direction::Forward, &cache).unwrap();
        let input = ByChannel::of_source(&plan, &*source).unwrap();
        let expected: Vec<f64> = input.vectors.iter().flat_map(|(_, u)| forward(&plan, &tables, u)).collect();
        let once: u64 = input.vectors[..2].iter().map(|(_, u)| published_sum(&plan, &tables, u).1).sum();
        assert_eq!((input.vectors.len(), terms), (3, once));
        let bytes = std::fs::read(&output).unwrap();
        let found = bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap()));
        let largest = expected.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
        assert!(bytes.len() == 8 * expected.len() && largest > 0.1);
        let worst = found.zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-12 * largest, "{worst:e} of {largest:e}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let output = std::env::temp_dir().join("never-written.bin");
        let error = transform(Path::new("nowhere.bin"), 1, &output, &Device::cpu()).unwrap_err().to_string();
        assert!(error.contains("the published sum") && error.contains("nowhere.bin"), "{error}");
    }
}
