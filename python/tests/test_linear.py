"""y = H x for SciPy."""

import numpy as np
import pytest

import eigenforge as ef

scipy = pytest.importorskip("scipy")
linalg = pytest.importorskip("scipy.sparse.linalg")


def models():
    lattice = ef.Lattice.chain(8, boundary="periodic")
    real = ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)
    phases = ef.sum(np.exp(0.3j) * ef.sp(i) * ef.sm(j) + ef.hc for i, j, w in lattice.bonds) + 0.7 * ef.sz(0)
    hubbard = ef.Model(ef.Lattice.square(3, 2), name="hubbard", t=1.0, u=3.0, mu=0.4).sector(up=2, down=3)
    return [
        ef.Model(lattice, real).sector(two_sz=0),
        ef.Model(lattice, phases).sector(two_sz=2),
        hubbard,
        ef.Model(ef.Lattice.chain(3), ef.sum(ef.bdag(i) * ef.b(i + 1) + ef.hc for i in range(2)), site="boson 2"),
    ]


@pytest.mark.parametrize("number, device", [(0, "cpu"), (1, "cpu"), (2, "cpu"), (3, "cpu"), (0, "sim"), (1, "sim")])
def test_products_are_those_of_the_matrix(number, device):
    model = models()[number]
    H, A = model.linear_operator(device), model.to_scipy()
    rng = np.random.default_rng(number)
    n = H.shape[0]
    assert H.dtype == A.dtype and H.shape == A.shape
    tall = rng.standard_normal((2 * n, 11))
    real = [tall[::2, 0], tall[:n, :1], np.asfortranarray(tall[:n]), tall[:n, ::-2], np.arange(n), tall[:n, 0].astype("f4")]
    for x in [*real, *[x + 1j * rng.standard_normal(x.shape) for x in real], np.zeros((n, 0))]:
        y = H @ x
        assert y.shape == x.shape and np.allclose(y, A @ x, atol=1e-12), x.shape
    x = tall[:n, 0].astype(H.dtype)
    out = np.full(n, np.nan, H.dtype)
    assert H.matvec(x, out=out) is out and np.allclose(out, A @ x, atol=1e-12)
    x.flags.writeable = False
    assert np.allclose(H.H @ x, A @ x, atol=1e-12)


def test_what_no_product_takes():
    H = models()[0].linear_operator()
    x = np.zeros(70)
    for call, words in [
        (lambda: H.matvec(np.zeros(69)), r"shape \(70,\)"),
        (lambda: H.matmat(np.zeros((7, 70))), "columns"),
        (lambda: H.matvec(np.zeros(70, np.longdouble)), "found float128"),
        (lambda: H.matvec(np.array(["x"] * 70)), None),
        (lambda: H.matvec(x, out=x), "apart from x"),
        (lambda: H.matvec(x, out=np.zeros(70, complex)), "an `out` of shape"),
        (lambda: H.matvec(x, out=np.zeros(71)), "an `out` of shape"),
        (lambda: ef.Model(ef.Lattice.chain(4), ef.sz(0)).dmrg(states=[8]).linear_operator(), None),
    ]:
        with pytest.raises((ef.InputError, TypeError, ValueError), match=words):
            call()


def test_scipy_s_solvers_take_it():
    model = models()[0]
    H, energies = model.linear_operator(), model.solve(states=3).energies
    assert np.allclose(linalg.eigsh(H, k=3, which="SA")[0], energies, atol=1e-9)
    rng = np.random.default_rng(0)
    values = linalg.lobpcg(H, rng.standard_normal((70, 4)), largest=False, maxiter=200, tol=1e-9)[0]
    assert abs(min(values) - energies[0]) < 1e-6
    x = rng.standard_normal(70)
    exact = linalg.expm_multiply(-1j * model.to_scipy(), x)
    assert np.allclose(linalg.expm_multiply(-1j * H, x, traceA=0.0), exact, atol=1e-9)


def test_symmetry_sectors_multiply_too():
    lattice = ef.Lattice.chain(10, boundary="periodic")
    whole = ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)).sector(two_sz=0)
    for keys in ({"k": [0]}, {"k": [3]}):
        sector = whole.symmetry(**keys)
        H = sector.linear_operator()
        dense = H @ np.eye(H.shape[0])
        assert abs(dense - dense.conj().T).max() < 1e-12
        assert np.allclose(np.linalg.eigvalsh(dense)[:3], sector.solve(states=3).energies, atol=1e-9)
        with pytest.raises(ef.InputError):
            sector.to_scipy()


@pytest.mark.parametrize("storage", ["stored", "direct", "table"])
def test_symmetry_sectors_have_the_same_order_where_kernels_run(storage):
    ring = ef.Lattice.chain(8, boundary="periodic")
    spins = ef.Model(ring, ef.sum(ef.sdots(i, j) for i, j, w in ring.bonds) + ef.sum(0.1 * ef.sz(i) for i in ring.sites)).sector(two_sz=2)
    electrons = ef.Model(ef.Lattice.chain(5, boundary="periodic"), name="hubbard", t=1.0, u=3.0, mu=0.4).sector(up=2, down=2)
    rng = np.random.default_rng(3)
    for model, keys in [
        (spins, {"k": [0], "reflection": -1}),
        (spins, {"k": [3]}),
        (electrons, {"k": [1]}),
        (electrons, {"k": [0], "reflection": 1}),
    ]:
        sector = model.symmetry(**keys, storage=storage)
        expected, found = model.symmetry(**keys).linear_operator("cpu"), sector.linear_operator("sim")
        x = rng.standard_normal(expected.shape[0]) + 1j * rng.standard_normal(expected.shape[0])
        assert found.dtype == expected.dtype and np.allclose(found @ x, expected @ x, atol=1e-12)


def test_single_precision_is_that_of_the_model():
    for double in models()[:3]:
        H, A = double.section("solve", precision="f32").linear_operator(), double.to_scipy()
        assert H.dtype == (np.float32 if A.dtype == np.float64 else np.complex64)
        rng = np.random.default_rng(5)
        n = H.shape[0]
        x = rng.standard_normal((n, 3)) + 1j * rng.standard_normal((n, 3))
        for vector in [x.astype("c8"), *([x.real.astype("f4"), x[:, 1].real.astype("f4")] if A.dtype == float else [])]:
            y = H @ vector
            assert y.dtype == vector.dtype and np.allclose(y, A @ vector, atol=1e-4)
        with pytest.raises(ef.InputError, match="found"):
            H @ x


def hermitian(n, dtype, seed):
    rng = np.random.default_rng(seed)
    A = scipy.sparse.random(n, n, 0.1, random_state=rng, format="coo", dtype=np.float64).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        A.data = A.data + 1j * rng.standard_normal(A.nnz)
    return (A + A.conj().T).tocsr()


@pytest.mark.parametrize("dtype, device", [("f8", "cpu"), ("c16", "cpu"), ("f8", "sim"), ("c16", "sim")])
def test_a_matrix_of_one_s_own(dtype, device):
    n = 60
    A = hermitian(n, np.dtype(dtype), 3)
    matrix = ef.Matrix(A.tocoo())
    H = matrix.linear_operator(device)
    assert H.dtype == A.dtype
    rng = np.random.default_rng(4)
    tall = rng.standard_normal((2 * n, 11))
    for real in [tall[::2, 0], tall[:n, :1], np.asfortranarray(tall[:n]), tall[:n, ::-2]]:
        for x in [real, real + 1j * rng.standard_normal(real.shape)]:
            assert np.allclose(H @ x, A @ x, atol=1e-12)
    found = matrix.solve(states=3, device=device, vectors=True)
    assert np.allclose(found.energies, np.linalg.eigvalsh(A.toarray())[:3], atol=1e-9)
    for energy, vector in zip(found.energies, found.vectors, strict=True):
        assert abs(A @ vector - energy * vector).max() < 1e-7
    assert np.allclose(ef.Matrix(A.toarray()).solve(states="all").energies, np.linalg.eigvalsh(A.toarray()), atol=1e-9)


def test_what_no_matrix_is():
    A = hermitian(12, np.dtype("f8"), 0)
    for call, words in [
        (lambda: ef.Matrix(A[:5]), "expected a square matrix"),
        (lambda: ef.Matrix(np.arange(3.0)), "1 dimensions"),
        (lambda: ef.Matrix(A.toarray().astype(object)), "found object"),
        (lambda: ef.Matrix(A + scipy.sparse.eye(12, k=1)).solve(), "not conjugate|conjugate|Hermitian"),
        (lambda: ef.Matrix(np.diag([1.0, np.nan])).solve(), "NaN|nan|finite"),
        (lambda: ef.Matrix(np.array([[0.0, 1.0], [-1.0, 0.0]])).linear_operator(), "1j"),
        (lambda: ef.Matrix(A).solve(precision="f32"), "precision"),
        (lambda: ef.Matrix(A).sector(up=1).solve(), "sector"),
        (lambda: ef.Matrix(A).thermal(temperatures=[1.0]), "matrix"),
        (lambda: ef.Matrix(A).basis(), None),
    ]:
        with pytest.raises(ef.InputError, match=words):
            call()
