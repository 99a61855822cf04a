//! Files of one-electron operators, such as the dipole moment: text in, one matrix per component out.
//!
//! Lines as in an FCIDUMP file without its namelist, orbitals from 1; `value i j 0 0` is o_ij, real and symmetric, given
//! once or twice, 0 if not given; over complex orbitals `(re,im) i j 0 0`, Hermitian: o_ji = o_ij*; `value 0 0 0 0` is the contribution of nuclei (and frozen cores), and ends the
//! component. A dipole file has three components, x, y and z:
//!
//! ```text
//! -0.5     1 1 0 0
//!  0.25    2 1 0 0
//!  1.75    0 0 0 0
//! -0.125   2 2 0 0      the next component
//! …
//! ```
//!
//! o_ij is the operator acting on an electron: for a dipole −∫ φ_i x φ_j, with an electron's charge of −1, and Σ Z X for
//! the nuclei. Where each spin has its own orbitals, the components over those of β electrons follow those over α orbitals.
//! Then ⟨o⟩ = o_nuclei + Σ o_ij γ_ij, with no further sign. Dipoles are in e a₀.

use super::entries::{Entry, Place};
use super::{AGREEMENT, FcidumpError};
use crate::density::{DensityError, OneBody};
use crate::orbital_number::OrbitalNumber;
use eigenforge_runtime::input_file::{FileKind, Lines, TextFile};
use ndarray::Array2;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Most components of a file; a dipole has 3.
const MAX_COMPONENTS: usize = 64;

/// Why a file of one-electron operators is refused.
#[derive(Debug, thiserror::Error)]
pub enum OneElectronError {
    /// An invalid line, or a file that cannot be read.
    #[error(transparent)]
    Line(#[from] FcidumpError),
    /// The same, with the file's name.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<OneElectronError>,
    },
    /// An entry that is not a one-electron integral.
    #[error(
        "line {line}: {what} in a file of one-electron operators, where only `value i j 0 0` and `value 0 0 0 0` stand"
    )]
    Kind {
        /// The line.
        line: u64,
        /// What was found.
        what: String,
    },
    /// Two different values of one integral.
    #[error("lines {first} and {second} of one component disagree on {name}: {old} and {new}")]
    Conflict {
        /// Line of the first value.
        first: u64,
        /// Line of the second value.
        second: u64,
        /// Which integral.
        name: String,
        /// The first value.
        old: String,
        /// The second value.
        new: String,
    },
    /// A component without an end.
    #[error(
        "the file ends in line {line} within a component: each ends with what the nuclei contribute, `value 0 0 0 0`"
    )]
    Unfinished {
        /// The last line.
        line: u64,
    },
    /// A diagonal element with an imaginary part.
    #[error(
        "line {line}: {name} = {value} of a one-electron operator equals its conjugate, and must be real: it is not Hermitian"
    )]
    NotHermitian {
        /// The line.
        line: u64,
        /// Which integral.
        name: String,
        /// Its value.
        value: String,
    },
    /// Nuclei with an imaginary part.
    #[error("line {line}: the nuclei contribute {value}, and must contribute a real number")]
    ComplexNuclei {
        /// The line.
        line: u64,
        /// The contribution.
        value: String,
    },
    /// Too many components.
    #[error("line {line} ends component {}: a file of one-electron operators has {MAX_COMPONENTS} at most", MAX_COMPONENTS + 1)]
    Components {
        /// The line.
        line: u64,
    },
    /// The number of components is not three, as for a dipole.
    #[error(
        "a dipole has three components, x, y and z; the file has {found}: it seems cut off, or holds another operator"
    )]
    NoDipole {
        /// Components found.
        found: usize,
    },
    /// The number of components is not six, as for a dipole over orbitals of each spin.
    #[error(
        "a dipole of unrestricted orbitals has six components, x, y and z over the orbitals of α electrons, then over those of β electrons; the \
         file has {found}"
    )]
    NoUnrestrictedDipole {
        /// Components found.
        found: usize,
    },
    /// Nuclei of which both spins say something else.
    #[error(
        "the nuclei contribute {alpha} to component {component} over α orbitals and {beta} over β orbitals: they must be the same"
    )]
    Nuclei {
        /// The component, from 1.
        component: usize,
        /// Their contribution beside α orbitals.
        alpha: f64,
        /// Their contribution beside β orbitals.
        beta: f64,
    },
    /// An empty file.
    #[error("no operator in the file: expected lines `value i j 0 0`, and `value 0 0 0 0` after each component")]
    Empty,
}

/// A Hermitian one-electron operator, real symmetric over real orbitals.
#[derive(Clone, Debug, PartialEq)]
pub struct OneElectron<T = f64> {
    /// Spatial orbitals.
    pub orbitals: usize,
    /// Its value without electrons.
    pub nuclear: f64,
    /// o_pq at the number of the pair, for p ≥ q at [`pair`](crate::pair)`(p, q)`, over complex orbitals at p n + q; over the orbitals of
    /// α electrons if β electrons have others.
    pub values: Vec<T>,
    /// The same over the orbitals of β electrons, if these are others.
    pub beta: Option<Vec<T>>,
}

impl OneElectron {
    /// The zero operator.
    pub fn zero(orbitals: usize) -> OneElectron {
        OneElectron::zeros(orbitals)
    }

    /// o_pq.
    pub fn at(&self, p: usize, q: usize) -> f64 {
        self.values[f64::pair(self.orbitals, p, q)]
    }
}

impl<T: OrbitalNumber> OneElectron<T> {
    fn zeros(orbitals: usize) -> OneElectron<T> {
        OneElectron { orbitals, nuclear: 0.0, values: vec![T::default(); T::pairs(orbitals)], beta: None }
    }

    /// o_pq of α and of β electrons among some of the orbitals.
    pub fn submatrices(&self, orbitals: &[usize]) -> [Array2<T>; 2] {
        let matrix = |values: &[T]| {
            let element = |(p, q): (usize, usize)| values[T::pair(self.orbitals, orbitals[p], orbitals[q])];
            Array2::from_shape_fn((orbitals.len(), orbitals.len()), element)
        };
        [&self.values, self.beta.as_ref().unwrap_or(&self.values)].map(|values| matrix(values))
    }

    /// Reads the three components of a dipole; of unrestricted orbitals six, those over the orbitals of α electrons first.
    ///
    /// # Errors
    /// Errors of [`OneElectron::read`]; fewer or more components, for example in a file truncated after one of them; nuclei that differ
    /// between both spins.
    pub fn read_dipole(
        path: impl AsRef<Path>,
        orbitals: usize,
        unrestricted: bool,
    ) -> Result<Vec<OneElectron<T>>, OneElectronError> {
        let mut components = OneElectron::<T>::read(&path, orbitals)?;
        let in_file = |source| OneElectronError::File { path: path.as_ref().to_owned(), source: Box::new(source) };
        match (components.len(), unrestricted) {
            (3, false) => Ok(components),
            (6, true) => {
                let of_beta = components.split_off(3);
                for (component, (own, beta)) in components.iter_mut().zip(of_beta).enumerate() {
                    let [alpha, other] = [own.nuclear, beta.nuclear];
                    if (alpha - other).abs() > AGREEMENT * alpha.abs().max(1.0) {
                        return Err(in_file(OneElectronError::Nuclei { component: component + 1, alpha, beta: other }));
                    }
                    own.beta = Some(beta.values);
                }
                Ok(components)
            }
            (found, true) => Err(in_file(OneElectronError::NoUnrestrictedDipole { found })),
            (found, false) => Err(in_file(OneElectronError::NoDipole { found })),
        }
    }

    /// Reads the components of a file; `-` is standard input.
    pub fn read(path: impl AsRef<Path>, orbitals: usize) -> Result<Vec<OneElectron<T>>, OneElectronError> {
        let path = path.as_ref();
        let failed = |source| FcidumpError::Io { path: path.to_owned(), source };
        let file = TextFile::open(path, FileKind::OPERATORS).map_err(failed)?;
        OneElectron::read_from(file, orbitals)
            .map_err(|source| OneElectronError::File { path: path.to_owned(), source: Box::new(source) })
    }

    /// Reads the text of such a file.
    pub fn read_from(text: impl BufRead, orbitals: usize) -> Result<Vec<OneElectron<T>>, OneElectronError> {
        let mut lines = Lines::new(text);
        let mut components = Vec::new();
        let (mut component, mut given) = (OneElectron::zeros(orbitals), vec![0u64; T::pairs(orbitals)]);
        while let Some(line) = lines.next().map_err(FcidumpError::from)? {
            let number = line.number;
            let Some(Entry { value, place, pair: is_complex }) = Entry::parse(line.bytes, number, orbitals)? else {
                continue;
            };
            if is_complex && T::KIND.is_real() {
                let expected = "one-electron operators are over real orbitals, and have real values";
                return Err(FcidumpError::Complex { line: number, expected }.into());
            }
            let value = T::from_complex(value);
            let differ = |a: T, b: T| (a - b).size() > AGREEMENT * a.size().max(b.size()).max(1.0);
            match place {
                Place::One(i, j) => {
                    if i == j && differ(value, value.conjugate()) {
                        let (name, value) = (place.to_string(), value.text());
                        return Err(OneElectronError::NotHermitian { line: number, name, value });
                    }
                    let [own, turned] = [T::pair(orbitals, i, j), T::pair(orbitals, j, i)];
                    let (held, first) = (component.values[own], given[own]);
                    if first > 0 && differ(held, value) {
                        let (second, name, [old, new]) = (number, place.to_string(), [held, value].map(T::text));
                        return Err(OneElectronError::Conflict { first, second, name, old, new });
                    }
                    if first == 0 {
                        component.values[own] = value;
                        component.values[turned] = if i == j { value.real().into() } else { value.conjugate() };
                        [given[own], given[turned]] = [number; 2];
                    }
                }
                Place::Core => {
                    if differ(value, value.conjugate()) {
                        return Err(OneElectronError::ComplexNuclei { line: number, value: value.text() });
                    }
                    component.nuclear = value.real();
                    components.push(std::mem::replace(&mut component, OneElectron::zeros(orbitals)));
                    given.fill(0);
                    if components.len() > MAX_COMPONENTS {
                        return Err(OneElectronError::Components { line: number });
                    }
                }
                other => return Err(OneElectronError::Kind { line: number, what: other.to_string() }),
            }
        }
        if given.iter().any(|line| *line > 0) {
            return Err(OneElectronError::Unfinished { line: lines.number() });
        }
        if components.is_empty() { Err(OneElectronError::Empty) } else { Ok(components) }
    }

    /// o_nuclei ⟨bra|ket⟩ + Σ o_pq γ_pq: the expectation value of a state, or a transition moment.
    pub fn expectation(&self, density: &OneBody<T>) -> Result<T, DensityError> {
        let n = density.orbitals();
        if self.orbitals != n {
            let what = "the one-electron operator";
            return Err(DensityError::Orbitals { what, found: self.orbitals, expected: n });
        }
        let of_spin = |values: &[T], gamma: &Array2<T>| {
            gamma.indexed_iter().map(|((p, q), value)| values[T::pair(n, p, q)] * *value).sum::<T>()
        };
        let beta = self.beta.as_ref().unwrap_or(&self.values);
        let electrons = of_spin(&self.values, &density.alpha) + of_spin(beta, &density.beta);
        Ok(density.overlap * self.nuclear + electrons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<OneElectron>, OneElectronError> {
        OneElectron::read_from(text.as_bytes(), 2)
    }

    #[test]
    fn components_end_with_the_nuclei() {
        let text =
            "\n -0.5 1 1 0 0\n 0.25D0 2 1 0 0\n 0.25 1 2 0 0\n 1.75 0 0 0 0\n\n3.0, 2 2 0 0\n0.0 0 0 0 0\n-1 0 0 0 0\n";
        let components = read(text).unwrap();
        let expected = [(1.75, [-0.5, 0.25, 0.0]), (0.0, [0.0, 0.0, 3.0]), (-1.0, [0.0; 3])];
        assert_eq!(components.len(), 3);
        for (component, (nuclear, values)) in components.iter().zip(expected) {
            assert_eq!((component.nuclear, component.values.as_slice()), (nuclear, values.as_slice()));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let cases = [
            ("", "no operator"),
            ("1.0 1 1 0 0\n", "ends in line 1 within a component"),
            ("1.0 1 1 1 1\n", "(1 1|1 1) in a file of one-electron operators"),
            ("1.0 1 0 0 0\n", "orbital energy"),
            ("1.0 2 1 0 0\n1.5 1 2 0 0\n", "lines 1 and 2 of one component disagree on h(1, 2)"),
            ("1.0 3 1 0 0\n", "`3` is not an orbital"),
            ("nan 1 1 0 0\n", "not finite"),
            ("1.0 1 1\n", "3 fields"),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let error = OneElectron::<f64>::read("no/such/file", 2).unwrap_err().to_string();
        assert!(error.starts_with("no/such/file"), "{error}");
    }
}
