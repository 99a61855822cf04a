//! Operators of other programs against dense matrices made here as Kronecker products, and integrals against `[ci]`.
//!
//! In: texts as QuSpin and XDiag write them. Out: H on all states, against sums of products of small matrices. A fermion mode is a factor
//! of the product with a string of Z on the modes before it, ↑ before ↓, sites ascending.

use super::models::root;
use super::{free, ours};
use eigenforge::ci::Integrals;
use eigenforge::exact::Model;
use eigenforge::input::{MatrixSource, ModelFile};
use eigenforge::sparse::Triangle;
use num_complex::Complex64;
use std::ops::{Add, Mul};

/// A dense complex matrix.
#[derive(Clone)]
struct Matrix(Vec<Vec<Complex64>>);

impl Matrix {
    fn real<const N: usize>(rows: [[f64; N]; N]) -> Matrix {
        Matrix(rows.iter().map(|row| row.iter().map(|value| Complex64::from(*value)).collect()).collect())
    }

    fn one(size: usize) -> Matrix {
        let element = |i: usize, j: usize| Complex64::from(f64::from(u8::from(i == j)));
        Matrix((0..size).map(|i| (0..size).map(|j| element(i, j)).collect()).collect())
    }

    /// self ⊗ other: the other is the lower part of an index.
    fn kron(&self, other: &Matrix) -> Matrix {
        let (n, m) = (self.0.len(), other.0.len());
        let element = |i: usize, j: usize| self.0[i / m][j / m] * other.0[i % m][j % m];
        Matrix((0..n * m).map(|i| (0..n * m).map(|j| element(i, j)).collect()).collect())
    }

    fn dagger(&self) -> Matrix {
        let n = self.0.len();
        Matrix((0..n).map(|i| (0..n).map(|j| self.0[j][i].conj()).collect()).collect())
    }

    fn times(&self, factor: impl Into<Complex64>) -> Matrix {
        let factor = factor.into();
        Matrix(self.0.iter().map(|row| row.iter().map(|value| factor * value).collect()).collect())
    }
}

impl Add for Matrix {
    type Output = Matrix;
    fn add(self, other: Matrix) -> Matrix {
        let rows = self.0.into_iter().zip(other.0);
        Matrix(rows.map(|(a, b)| a.into_iter().zip(b).map(|(a, b)| a + b).collect()).collect())
    }
}

impl Mul for &Matrix {
    type Output = Matrix;
    fn mul(self, other: &Matrix) -> Matrix {
        let n = self.0.len();
        let element = |i: usize, j: usize| (0..n).map(|k| self.0[i][k] * other.0[k][j]).sum();
        Matrix((0..n).map(|i| (0..n).map(|j| element(i, j)).collect()).collect())
    }
}

/// A small matrix at one of `number` factors; `string` stands on the factors below it.
fn embedded(place: usize, number: usize, small: &Matrix, string: &Matrix) -> Matrix {
    let size = small.0.len();
    (0..number).fold(Matrix::one(1), |product, k| {
        let factor = match k.cmp(&place) {
            std::cmp::Ordering::Less => string.clone(),
            std::cmp::Ordering::Equal => small.clone(),
            std::cmp::Ordering::Greater => Matrix::one(size),
        };
        factor.kron(&product)
    })
}

/// c of mode m of `modes`.
fn annihilator(m: usize, modes: usize) -> Matrix {
    embedded(m, modes, &Matrix::real([[0.0, 1.0], [0.0, 0.0]]), &Matrix::real([[1.0, 0.0], [0.0, -1.0]]))
}

/// Sx, Sy, Sz of a spin ½ whose state 1 is ↑.
fn spin(site: usize, sites: usize) -> [Matrix; 3] {
    let raising = embedded(site, sites, &Matrix::real([[0.0, 0.0], [1.0, 0.0]]), &Matrix::one(2));
    let lowering = raising.dagger();
    let z = embedded(site, sites, &Matrix::real([[-0.5, 0.0], [0.0, 0.5]]), &Matrix::one(2));
    [(raising.clone() + lowering.clone()).times(0.5), (raising + lowering.times(-1.0)).times(-0.5 * Complex64::I), z]
}

fn model(site: &str, key: &str, text: &str, sites: usize, parameters: &str) -> Model {
    let file = format!(
        "[model]\nname = \"terms\"\nsite = \"{site}\"\n{key} = '''\n{text}'''\n[parameters]\n{parameters}\n[lattice]\nsites = {sites}\nedges = []\n"
    );
    ModelFile::parse("m.toml", &file).unwrap_or_else(|error| panic!("{error:?}")).to_model().unwrap()
}

/// H of a model on all states is this matrix, whose index is that of a state after `word`.
fn agrees(model: &Model, expected: &Matrix, word: impl Fn(usize) -> usize) {
    let (dense, half) = (ours::dense(model), model.states() as usize);
    assert_eq!(half, expected.0.len());
    for (i, row) in dense.iter().take(half).enumerate() {
        for (j, re) in row.iter().take(half).enumerate() {
            let im = if model.is_complex() { dense[half + i][j] } else { 0.0 };
            let (found, value) = (Complex64::new(*re, im), expected.0[word(i)][word(j)]);
            assert!((found - value).norm() < 1e-13, "({i}, {j}): {found} and {value}");
        }
    }
}

/// Of a word of electrons, bits 2i and 2i + 1 for site i, the word of modes, ↑ before ↓.
fn modes(word: usize, sites: usize) -> usize {
    (0..2 * sites).filter(|bit| word >> bit & 1 == 1).fold(0, |modes, bit| modes | 1 << (bit % 2 * sites + bit / 2))
}

#[test]
fn xdiags_types_on_electrons_are_their_kronecker_products() {
    let text = "Interactions = [\n['t', 'Hop', 0, 1],\n[0.7, 'Hopup', 1, 2],\n['td', 'Hopdn', 2, 0],\n[[0.0, 0.3], 'HopAsym', 0, 2],\n\
                [2.5, 'HubbardU'],\n[0.4, 'Nup', 1],\n[-0.2, 'Ndn', 2],\n[0.15, 'Ntot', 0],\n[0.6, 'NtotNtot', 0, 1],\n\
                [0.11, 'NupNdn', 1, 2],\n[0.9, 'SdotS', 1, 2],\n[0.5, 'Exchange', 0, 1],\n[[0, 0.25], 'ExchangeAsym', 0, 2],\n\
                [0.35, 'tJSdotS', 0, 2],\n[0.45, 'tJSzSz', 1, 0],\n[0.13, 'Sx', 1],\n[0.21, 'Nupdn', 2],\n[0.3, 'Id'],\n]\n\
                [Params]\nt = 3.0\ntd = 0.8\n";
    let model = model("electron", "xdiag", text, 3, "t = 1.1");
    let c: Vec<Matrix> = (0..6).map(|mode| annihilator(mode, 6)).collect();
    let (up, down) = c.split_at(3);
    let n = |mode: &Matrix| &mode.dagger() * mode;
    let hop = |species: &[Matrix], i: usize, j: usize| &species[i].dagger() * &species[j];
    let both = |species: &[Matrix], i: usize, j: usize| hop(species, i, j) + hop(species, j, i);
    let all = |i: usize| n(&up[i]) + n(&down[i]);
    let z = |i: usize| (n(&up[i]) + n(&down[i]).times(-1.0)).times(0.5);
    let raise = |i: usize| &up[i].dagger() * &down[i];
    let flip = |i: usize, j: usize| &raise(i) * &raise(j).dagger();
    let exchange = |i: usize, j: usize| (flip(i, j) + flip(j, i)).times(0.5);
    let product = |a: Matrix, b: Matrix| &a * &b;
    let mut h =
        (both(up, 0, 1) + both(down, 0, 1)).times(-1.1) + both(up, 1, 2).times(-0.7) + both(down, 2, 0).times(-0.8);
    for species in [up, down] {
        h = h + (hop(species, 0, 2) + hop(species, 2, 0).times(-1.0)).times(-0.3 * Complex64::I);
    }
    for i in 0..3 {
        h = h + product(n(&up[i]), n(&down[i])).times(2.5 + if i == 2 { 0.21 } else { 0.0 });
    }
    h = h + n(&up[1]).times(0.4) + n(&down[2]).times(-0.2) + all(0).times(0.15) + product(all(0), all(1)).times(0.6);
    h = h + product(n(&up[1]), n(&down[2])).times(0.11) + (exchange(1, 2) + product(z(1), z(2))).times(0.9);
    h = h + exchange(0, 1).times(0.5) + (flip(0, 2) + flip(2, 0).times(-1.0)).times(0.125 * Complex64::I);
    h = h + (exchange(0, 2) + product(z(0), z(2)) + product(all(0), all(2)).times(-0.25)).times(0.35);
    h = h + (product(z(1), z(0)) + product(all(1), all(0)).times(-0.25)).times(0.45);
    h = h + (raise(1) + raise(1).dagger()).times(0.065) + Matrix::one(64).times(0.3);
    agrees(&model, &h, |word| modes(word, 3));
}

#[test]
fn xdiags_types_on_spins_and_its_older_files() {
    let text = "Interactions = [\n['J', 'SdotS', 0, 1],\n[0.4, 'SzSz', 1, 2],\n[0.7, 'Exchange', 2, 3],\n['Jchi', 'ScalarChirality', 0, 2, 3],\n\
                [0.2, 'Sy', 1],\n[0.3, 'TotalSz'],\n]\n";
    let found = model("spin 1/2", "xdiag", text, 4, "J = 1.3\nJchi = 0.6");
    let s: Vec<[Matrix; 3]> = (0..4).map(|site| spin(site, 4)).collect();
    let pair = |i: usize, j: usize, axes: &[usize]| {
        let product = |axis: &usize| &s[i][*axis] * &s[j][*axis];
        axes.iter().map(product).reduce(Add::add).unwrap()
    };
    let mut h = pair(0, 1, &[0, 1, 2]).times(1.3) + pair(1, 2, &[2]).times(0.4) + pair(2, 3, &[0, 1]).times(0.7);
    for (a, b, c) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
        let triple = |b: usize, c: usize| &(&s[0][a] * &s[2][b]) * &s[3][c];
        h = h + (triple(b, c) + triple(c, b).times(-1.0)).times(0.6);
    }
    h = h + s[1][1].times(0.2);
    for spin in &s {
        h = h + spin[2].times(0.3);
    }
    agrees(&found, &h, |word| word);

    let older = "# a lattice\n[Dimension]=1\n[Sites]=3\n0.0\n1.0\n2.0\n[Interactions]=3\nHB J 0 1\nHB J 1 2\nISING 0.5 0 2\n[SymmetryOps]=1\n[S0] 0 1 2\n";
    let newer = "Interactions = [['J', 'SdotS', 0, 1], ['J', 'SdotS', 1, 2], [0.5, 'SzSz', 0, 2]]\n";
    let [older, newer] = [older, newer].map(|text| model("spin 1/2", "xdiag", text, 3, "J = 0.9"));
    assert_eq!(older.operator(), newer.operator());
}

#[test]
fn quspins_lists_on_electrons_are_their_kronecker_products() {
    let text = r#"[["+-|", [[[-1.0, 0.2], 0, 1]]], ["-+|", [[[1.0, 0.2], 0, 1]]],
                   ["|+-", [[-0.7, 1, 2]]], ["|-+", [[0.7, 1, 2]]],
                   ["n|n", [[2.0, 0, 0], [1.5, 2, 2]]], ["z|", [[0.3, 1]]], ["|zz", [[0.25, 0, 2]]],
                   ["+|-", [[0.4, 1, 2]]], ["-|+", [[-0.4, 1, 2]]], ["x|x", [[[0.0, 0.6], 0, 1]]], ["|", [[0.125]]]]
"#;
    let model = model("electron", "quspin", text, 3, "");
    let c: Vec<Matrix> = (0..6).map(|mode| annihilator(mode, 6)).collect();
    let (up, down) = c.split_at(3);
    let n = |mode: &Matrix| &mode.dagger() * mode;
    let z = |mode: &Matrix| n(mode) + Matrix::one(64).times(-0.5);
    let x = |mode: &Matrix| mode.clone() + mode.dagger();
    // "-+" is c_i c†_j = −c†_j c_i.
    let hop = |a: &Matrix, b: &Matrix, t: Complex64| (&a.dagger() * b).times(t) + (&b.dagger() * a).times(t.conj());
    let h = hop(&up[0], &up[1], Complex64::new(-1.0, 0.2))
        + hop(&down[1], &down[2], Complex64::from(-0.7))
        + (&n(&up[0]) * &n(&down[0])).times(2.0)
        + (&n(&up[2]) * &n(&down[2])).times(1.5)
        + z(&up[1]).times(0.3)
        + (&z(&down[0]) * &z(&down[2])).times(0.25)
        + hop(&up[1], &down[2], Complex64::from(0.4))
        + (&x(&up[0]) * &x(&down[1])).times(0.6 * Complex64::I)
        + Matrix::one(64).times(0.125);
    agrees(&model, &h, |word| modes(word, 3));
}

/// The integrals of a file as an operator have the spectrum of the matrix of `[ci]`, in the sector of the file or of `[sector]`.
#[test]
fn integrals_as_an_operator_have_the_spectrum_of_configuration_interaction() {
    let folder = tempfile::tempdir().unwrap();
    for (molecule, orbitals, sector) in [
        ("H2_sto3g_0.74", 2, ""),
        ("H4_square_sto3g_1.2", 4, ""),
        ("H4_square_sto3g_1.2", 4, "[sector]\nup = 2\ndown = 2\n"),
        ("H4_square_sto3g_1.2", 4, "[sector]\nparticles = 4\ntwo_sz = 0\n"),
    ] {
        let path = root().join(format!("tests/data/ci/{molecule}.FCIDUMP"));
        let file = folder.path().join("terms.toml");
        let text = format!(
            "[model]\nname = \"terms\"\nsite = \"electron\"\nfcidump = {path:?}\n[lattice]\nsites = {orbitals}\nedges = []\n{sector}"
        );
        std::fs::write(&file, text).unwrap();
        let found = free::eigenvalues(ours::dense(&ModelFile::read(&file).unwrap().to_model().unwrap()));
        let file = folder.path().join("ci.toml");
        std::fs::write(&file, format!("[ci]\nfcidump = {path:?}\n")).unwrap();
        let matrix = MatrixSource::Molecule(file).read(Triangle::Full).unwrap();
        let mut dense = vec![vec![0.0; matrix.rows()]; matrix.rows()];
        for (row, elements) in dense.iter_mut().enumerate() {
            let (columns, values) = matrix.row(row);
            columns.iter().zip(values).for_each(|(column, value)| elements[*column as usize] = *value);
        }
        let expected = free::eigenvalues(dense);
        assert!(
            !expected.is_empty() && expected.len() <= found.len(),
            "{molecule}: {} and {}",
            found.len(),
            expected.len()
        );
        // The matrix of [ci] is without the energy of the nuclei, and may be of one irreducible representation.
        let core = Integrals::read(&path).unwrap().core;
        for energy in expected.into_iter().map(|energy| energy + core) {
            let nearest = found.iter().map(|value| (value - energy).abs()).fold(f64::INFINITY, f64::min);
            assert!(nearest < 1e-10, "{molecule}: {energy}");
        }
        assert!(found[0] < 0.0);
    }
}
