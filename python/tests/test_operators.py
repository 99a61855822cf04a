"""Expressions: what they mean, and what is refused."""

import time

import numpy as np
import pytest

import eigenforge as ef


def dense(model: ef.Model) -> np.ndarray:
    return model.to_scipy().toarray()


def fermions(modes: int) -> list[np.ndarray]:
    """Jordan-Wigner matrices of annihilators; mode 0 is the least significant bit."""
    lower, sign, one = np.array([[0.0, 1], [0, 0]]), np.diag([1.0, -1]), np.eye(2)
    found = []
    for mode in range(modes):
        matrix = np.eye(1)
        for other in reversed(range(modes)):
            matrix = np.kron(matrix, lower if other == mode else sign if other < mode else one)
        found.append(matrix)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_electrons_have_the_levels_of_second_quantisation(seed):
    rng = np.random.default_rng(seed)
    sites = int(rng.integers(2, 4))
    matrices = fermions(2 * sites)
    lattice = ef.Lattice.from_edges(sites, [(0, 1)])
    mode = {("up", i): matrices[i] for i in range(sites)} | {("dn", i): matrices[sites + i] for i in range(sites)}
    H, oracle = ef.sum([]), np.zeros((4**sites, 4**sites), complex)
    for _ in range(8):
        value = complex(*rng.standard_normal(2))
        term, matrix, fermions_in_it = 1.0, np.eye(4**sites), 0
        while fermions_in_it == 0 or fermions_in_it % 2:
            i, s = int(rng.integers(sites)), ("up", "dn")[rng.integers(2)]
            match rng.integers(3):
                case 0:
                    factor, by, count = ef.cdag(i, s), mode[s, i].conj().T, 1
                case 1:
                    factor, by, count = ef.c(i, s), mode[s, i], 1
                case _:
                    factor, by, count = ef.n(i, s), mode[s, i].conj().T @ mode[s, i], 2
            term, matrix, fermions_in_it = factor * term, by @ matrix, fermions_in_it + count
        H, oracle = H + (value * term + ef.hc), oracle + value * matrix + (value * matrix).conj().T
    levels = np.linalg.eigvalsh(oracle)
    found = np.linalg.eigvalsh(dense(ef.Model(lattice, H, site="electron")))
    assert np.allclose(found, levels, atol=1e-10 * max(1, abs(levels).max()))


@pytest.mark.parametrize("seed", range(4))
def test_random_spins_have_the_levels_of_kronecker_products(seed):
    rng = np.random.default_rng(seed)
    two_s = int(rng.integers(1, 4))
    m = np.arange(-two_s, two_s + 1, 2) / 2
    sz = np.diag(m)
    sp = np.diag(np.sqrt(two_s / 2 * (two_s / 2 + 1) - m[:-1] * (m[:-1] + 1)), -1)
    words = {"S+": sp, "S-": sp.T, "Sz": sz, "Sx": (sp + sp.T) / 2, "Sy": (sp - sp.T) / 2j}

    def placed(matrix, site):
        whole = np.eye(1)
        for other in reversed(range(3)):
            whole = np.kron(whole, matrix if other == site else np.eye(two_s + 1))
        return whole

    H, oracle = 0.0, np.zeros(((two_s + 1) ** 3,) * 2, complex)
    for _ in range(6):
        value, term, matrix = complex(*rng.standard_normal(2)), 1.0, np.eye((two_s + 1) ** 3)
        for _ in range(int(rng.integers(1, 4))):
            word, site = list(words)[rng.integers(5)], int(rng.integers(3))
            term, matrix = term * ef.operator(word, site), matrix @ placed(words[word], site)
        H, oracle = H + (value * term + ef.hc), oracle + value * matrix + (value * matrix).conj().T
    model = ef.Model(ef.Lattice.chain(3), H, site=f"spin {two_s}/2")
    assert np.allclose(np.linalg.eigvalsh(dense(model)), np.linalg.eigvalsh(oracle), atol=1e-10)


def test_expressions_and_text_are_the_same_operator():
    lattice = ef.Lattice.chain(6, boundary="periodic")
    of_python = [
        ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds),
        sum(ef.sz(i) * ef.sz(j) + (ef.sp(i) * ef.sm(j) + ef.hc) / 2 for i, j, w in lattice.bonds),
        sum(ef.sx(i) * ef.sx(j) + ef.sy(i) * ef.sy(j) + ef.sz(i) * ef.sz(j) for i, j, w in lattice.bonds),
    ]
    text = dense(ef.Model(lattice, "sum(<i, j> in bonds; sdots(i, j))", site="spin 1/2"))
    for H in of_python:
        assert abs(dense(ef.Model(lattice, H)) - text).max() < 1e-14
    square = (ef.sz(0) + 2) ** 2 - (ef.sz(0) ** 2 + 4 * ef.sz(0) + 4)
    assert abs(dense(ef.Model(lattice, square + 0 * ef.sz(5)))).max() == 0
    chiral = ef.chirality(0, 1, 2)
    text = ef.Model(lattice, "sum(i in [0]; chirality(0, 1, 2))", site="spin 1/2")
    assert abs(dense(ef.Model(lattice, chiral)) - dense(text)).max() < 1e-14


def test_powers_of_spins_are_hermitian_however_long():
    lattice = ef.Lattice.chain(2)
    text = ef.Model(lattice, "sum(i in [0]; sdots(0, 1)^8)", site="spin 1")
    power = dense(ef.Model(lattice, ef.sdots(0, 1) ** 8, site="spin 1"))
    assert abs(power - dense(text)).max() < 1e-10
    assert np.allclose(np.linalg.eigvalsh(power)[[0, -1]], [1.0, 256.0], atol=1e-9)
    assert dense(ef.Model(lattice, (ef.sx(0) + ef.sz(0) ** 2) ** 5, site="spin 1")).shape == (9, 9)


def test_other_packages_operators():
    lattice = ef.Lattice.from_edges(2, [(0, 1)])

    class Openfermion:
        terms = {((0, "X"), (1, "Y")): 0.5, (): 0.25}

    class Qiskit:
        def to_list(self):
            return [("YX", 0.5 + 0j), ("II", 0.25 + 0j)]

    x, y = np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]])
    expected = 0.5 * np.kron(y, x) + 0.25 * np.eye(4)
    for operator in (ef.from_openfermion(Openfermion()), ef.from_qiskit(Qiskit())):
        assert abs(dense(ef.Model(lattice, operator)) - expected).max() == 0

    class Fermions:
        terms = {((0, 1), (2, 0)): 1.0, ((2, 1), (0, 0)): 1.0, ((1, 1), (1, 0)): 3.0}

    H = ef.cdag(0, ef.up) * ef.c(1, ef.up) + ef.hc + 3 * ef.n(0, ef.down)
    assert abs(dense(ef.Model(lattice, ef.from_openfermion(Fermions()))) - dense(ef.Model(lattice, H))).max() == 0
    lists = ef.quspin([["zz", [[1.0, 0, 1]]], ["x", [[0.5, 0], [0.5, 1]]]], pauli=0)
    H = ef.sz(0) * ef.sz(1) + 0.5 * (ef.sx(0) + ef.sx(1))
    assert abs(dense(ef.Model(lattice, lists, site="spin 1/2")) - dense(ef.Model(lattice, H))).max() == 0


def test_what_is_refused_names_what_to_do():
    lattice = ef.Lattice.chain(4)
    cases = [
        (lambda: ef.cdag(0) ^ 2, TypeError, r"\*\*"),
        (lambda: ef.hc + ef.sz(0), TypeError, "hc comes last"),
        (lambda: ef.sz(0) * ef.hc, TypeError, "hc is added"),
        (lambda: ef.sz(0) * float("nan"), ef.InputError, "finite"),
        (lambda: ef.sz(0) / 0, ef.InputError, "other than 0"),
        (lambda: ef.sum([ef.sz(0), "x"]), TypeError, "type str"),
        (lambda: ef.operator("Sq", 0), ef.InputError, "a word of"),
        (lambda: ef.cdag(0, "left"), ef.InputError, "up, down or a flavour"),
        (lambda: ef.Model(lattice, ef.n(0)), ef.InputError, "what a site carries"),
        (lambda: ef.Model(lattice, ef.sz(0) + ef.X(0)), ef.InputError, "site 0 has operators of"),
        (lambda: ef.Model(lattice), ef.InputError, "either a Hamiltonian or the name"),
        (lambda: ef.Model(lattice, ef.sz(9)).solve(), ef.InputError, "a site from 0 to 3"),
        (lambda: ef.Model(lattice, ef.sp(0)).solve(), ef.InputError, "not Hermitian"),
        (lambda: ef.Lattice.square(4), ef.InputError, "2 length"),
        (lambda: ef.Lattice(kind="square", size=[4, 4], boundry="open"), ef.InputError, "boundary"),
        (lambda: ef.Model(lattice, name="hubbard", t=float("inf"), u=1), ef.InputError, None),
        (lambda: ef.quspin([], pauli=3), ef.InputError, "pauli"),
    ]
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            result = call()
            if isinstance(result, ef.Model):
                result.solve()


def test_problems_have_their_places():
    model = ef.Model(ef.Lattice.chain(4), ef.sz(0)).section("solve", stats=2, tolerance=-1)
    with pytest.raises(ef.InputError) as caught:
        model.solve()
    lines = model.to_toml().splitlines()
    problems = caught.value.problems
    assert len(problems) == 2
    assert {lines[problem["line"] - 1].split(" ")[0] for problem in problems} == {"stats", "tolerance"}
    assert "states" in str(caught.value) and isinstance(caught.value, ValueError)


def test_ten_thousand_terms_are_built_quickly():
    lattice = ef.Lattice.chain(100)
    started = time.perf_counter()
    H = ef.sum(0.5 * (ef.sp(i) * ef.sm(j) + ef.hc) for i in lattice.sites for j in lattice.sites if i != j)
    model = ef.Model(lattice, H)
    seconds = time.perf_counter() - started
    assert len(H) == 19800 and "products" in model.to_toml()
    assert seconds < 1.0, seconds  # 0.05 s on a quiet machine
