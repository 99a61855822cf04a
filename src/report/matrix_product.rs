//! Matrix-product states for other programs: mps.npz.
//!
//! In: states of DMRG. Out: an uncompressed .npz of
//!
//! * `energies`, f64 \[k\], ascending; `sites`, i64 \[N\], the site of the lattice (the active orbital) at each position of the chain, from 0;
//! * `charges_P`, i64 \[d, c\], of position P: the charges of each state of the site;
//! * `bond_K_B`, i64 \[D, c\], of bond B of state K, 0 the left end: the charges of everything to its left in each state of the bond;
//! * `blocks_K_P`, i64 \[n, 6\], and `values_K_P`, f64: the tensor B\[l, s, r\] of position P of state K in blocks, a row (s, first l, number of l,
//!   first r, number of r, first value) each; values are row by row, l by r. Of a complex state `values_K_0` is of complex128.
//!
//! States are right-canonical, Σ_sr B\[l, s, r\] B\[l', s, r\] = δ_ll', and of length 1. Charges are those that the run fixes, in the order of its
//! `sector`, behind them the irrep if there is one. States of sites, and signs: dmrg/src/chain/site.rs.

use super::{ReportError, publish};
use crate::dmrg::{MatrixProductState, SiteTensor, SiteTensorBlock};
use ndarray::{Array1, Array2};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpzError, ReadableElement, WriteNpzError};
use num_complex::Complex64;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The name of the file in a run's folder.
pub const MATRIX_PRODUCTS: &str = "mps.npz";

fn table(rows: &[Vec<i32>]) -> Array2<i64> {
    let columns = rows.first().map_or(0, Vec::len);
    Array2::from_shape_fn((rows.len(), columns), |(row, column)| rows[row][column].into())
}

/// Writes the states of a run into a folder, and returns the path.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write_matrix_products(
    folder: &Path,
    energies: &[f64],
    states: &[MatrixProductState],
) -> Result<PathBuf, ReportError> {
    let path = folder.join(MATRIX_PRODUCTS);
    publish(&path, |file| {
        let written = || -> Result<(), WriteNpzError> {
            let mut npz = NpzWriter::new(BufWriter::new(file));
            npz.add_array("energies", &Array1::from(energies.to_vec()))?;
            for (k, state) in states.iter().enumerate() {
                if k == 0 {
                    let sites = state.tensors.iter().map(|tensor| tensor.site as i64);
                    npz.add_array("sites", &Array1::from_iter(sites))?;
                    for (p, tensor) in state.tensors.iter().enumerate() {
                        npz.add_array(format!("charges_{p}"), &table(&tensor.charges))?;
                    }
                }
                for (b, bond) in state.bonds.iter().enumerate() {
                    npz.add_array(format!("bond_{k}_{b}"), &table(bond))?;
                }
                for (p, tensor) in state.tensors.iter().enumerate() {
                    let row = |block: &SiteTensorBlock| {
                        let SiteTensorBlock { state, left, right, first } = block;
                        [*state, left.start, left.len(), right.start, right.len(), *first].map(|number| number as i64)
                    };
                    let rows: Vec<[i64; 6]> = tensor.blocks.iter().map(row).collect();
                    npz.add_array(format!("blocks_{k}_{p}"), &Array2::from(rows))?;
                    let name = format!("values_{k}_{p}");
                    if p == 0 && !state.imaginary.is_empty() {
                        let pairs = tensor.values.iter().zip(&state.imaginary);
                        let values = pairs.map(|(re, im)| Complex64::new(*re, *im));
                        npz.add_array(name, &Array1::from_iter(values))?;
                    } else {
                        npz.add_array(name, &Array1::from(tensor.values.clone()))?;
                    }
                }
            }
            npz.finish().map(drop)
        };
        written().map_err(|source| ReportError::Arrays { file: path.clone(), source })
    })
}

/// The states of a file.
///
/// # Errors
/// What is missing or wrong, in words.
pub(crate) fn read_matrix_products(npz: &mut NpzReader<File>) -> Result<Vec<MatrixProductState>, String> {
    let count = list::<f64>(npz, "energies")?.len();
    let sites = list::<i64>(npz, "sites")?;
    (0..count).map(|k| read_state(npz, &sites, k)).collect()
}

fn fault(name: &str) -> impl Fn(ReadNpzError) -> String {
    move |error| format!("its array `{name}`: {error}")
}

fn list<T: ReadableElement + Clone>(npz: &mut NpzReader<File>, name: &str) -> Result<Vec<T>, String> {
    npz.by_name::<ndarray::OwnedRepr<T>, ndarray::Ix1>(name).map(|array| array.to_vec()).map_err(fault(name))
}

fn rows(npz: &mut NpzReader<File>, name: &str) -> Result<Vec<Vec<i64>>, String> {
    let array = npz.by_name::<ndarray::OwnedRepr<i64>, ndarray::Ix2>(name).map_err(fault(name))?;
    Ok(array.rows().into_iter().map(|row| row.to_vec()).collect())
}

fn charges(npz: &mut NpzReader<File>, name: &str) -> Result<Vec<Vec<i32>>, String> {
    let of_row = |row: Vec<i64>| row.into_iter().map(|value| i32::try_from(value).ok()).collect();
    let read = rows(npz, name)?.into_iter().map(of_row).collect::<Option<Vec<Vec<i32>>>>();
    read.ok_or_else(|| format!("its array `{name}` has numbers that are no charges"))
}

fn read_state(npz: &mut NpzReader<File>, sites: &[i64], k: usize) -> Result<MatrixProductState, String> {
    let bonds = (0..=sites.len()).map(|b| charges(npz, &format!("bond_{k}_{b}")));
    let bonds = bonds.collect::<Result<Vec<_>, _>>()?;
    let (mut tensors, mut imaginary) = (Vec::new(), Vec::new());
    for (p, site) in sites.iter().enumerate() {
        let own = charges(npz, &format!("charges_{p}"))?;
        let name = format!("blocks_{k}_{p}");
        let of_values = format!("values_{k}_{p}");
        let values: Vec<f64> = match list::<Complex64>(npz, &of_values) {
            Ok(values) if p == 0 => {
                imaginary = values.iter().map(|value| value.im).collect();
                values.iter().map(|value| value.re).collect()
            }
            _ => list(npz, &of_values)?,
        };
        let block = |row: Vec<i64>| {
            let numbers = row.into_iter().map(|number| usize::try_from(number).ok()).collect::<Option<Vec<usize>>>()?;
            let [state, left, lefts, right, rights, first] = <[usize; 6]>::try_from(numbers).ok()?;
            let fits = state < own.len()
                && left.checked_add(lefts)? <= bonds[p].len()
                && right.checked_add(rights)? <= bonds[p + 1].len()
                && first.checked_add(lefts.checked_mul(rights)?)? <= values.len()
                && lefts > 0;
            fits.then(|| SiteTensorBlock { state, left: left..left + lefts, right: right..right + rights, first })
        };
        let blocks = rows(npz, &name)?.into_iter().map(block).collect::<Option<Vec<SiteTensorBlock>>>();
        let blocks = blocks.ok_or_else(|| format!("a row of its array `{name}` does not fit its bonds and values"))?;
        let site = usize::try_from(*site).map_err(|_| "its array `sites` has a negative number".to_string())?;
        tensors.push(SiteTensor { site, charges: own, blocks, values });
    }
    Ok(MatrixProductState { tensors, bonds, imaginary })
}
