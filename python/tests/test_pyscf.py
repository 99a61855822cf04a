"""The solver of CASCI and CASSCF, beside PySCF's own."""

import json
import pickle

import numpy as np
import pytest

pytest.importorskip("pyscf")

from pyscf import ao2mo, gto, mcscf, scf  # noqa: E402
from pyscf.fci import direct_spin1  # noqa: E402

import eigenforge as ef  # noqa: E402
import eigenforge.pyscf  # noqa: E402


def mean_field(case):
    molecule = gto.M(atom=case["atom"], basis=case["basis"], spin=case["spin_2S"], charge=case["charge"], verbose=0)
    method = scf.ROHF(molecule) if case["spin_2S"] else scf.RHF(molecule)
    return method.run(conv_tol=1e-12)


@pytest.fixture(scope="module")
def cases():
    from conftest import ROOT

    return json.loads((ROOT / "python" / "tests" / "data" / "casscf.json").read_text())["cases"]


def test_orbitals_are_optimised_to_the_same_energies(cases):
    for case in cases:
        mf = mean_field(case)
        casci = mcscf.CASCI(mf, case["ncas"], case["nelecas"])
        casci.fcisolver = ef.pyscf.FCISolver(mf.mol)
        assert abs(casci.kernel()[0] - case["E_casci_on_hf_orbitals"]) < 1e-9
        assert abs(casci.fcisolver.spin_square(casci.ci, casci.ncas, casci.nelecas)[0] - case["S2"]) < 1e-8
        casscf = mcscf.CASSCF(mf, case["ncas"], case["nelecas"])
        casscf.fcisolver = ef.pyscf.FCISolver(mf.mol)
        casscf.conv_tol = 1e-10
        assert abs(casscf.kernel()[0] - case["E_casscf"]) < 1e-8 and casscf.converged


def test_several_roots_averages_and_spins(cases):
    mf = mean_field(cases[0])
    found = []
    for own in (True, False):
        casci = mcscf.CASCI(mf, 6, 6)
        averaged = mcscf.CASSCF(mf, 6, 6)
        fixed = mcscf.CASCI(mf, 6, 6)
        if own:
            for method in (casci, averaged, fixed):
                method.fcisolver = ef.pyscf.FCISolver(mf.mol)
        casci.fcisolver.nroots = 3
        casci.kernel()
        averaged = averaged.state_average_([0.5, 0.5])
        averaged.kernel()
        fixed.fix_spin_(ss=2)
        if not own:
            fixed.fcisolver.max_cycle = 500
        found.append((casci.e_tot, averaged.e_states, fixed.kernel()[0]))
    assert np.allclose(found[0][0], found[1][0], atol=1e-7)
    assert np.allclose(found[0][1], found[1][1], atol=1e-6)
    # The lowest triplet is the second of the roots.
    assert abs(found[0][2] - found[0][0][1]) < 1e-7


def test_electrons_irreps_and_what_is_refused(cases):
    mf = mean_field(cases[1])
    casci = mcscf.CASCI(mf, 4, 4)
    h1, _ = casci.get_h1eff()
    h2 = casci.get_h2eff()
    for nelec, spin in [(3, None), (5, None), ((3, 1), None), ((2, 2), 2), (4, 2), ((4, 4), None), ((1, 0), None)]:
        energies = []
        for solver in (ef.pyscf.FCISolver(mf.mol), direct_spin1.FCISolver(mf.mol)):
            solver.spin = spin
            energies.append(solver.kernel(h1, h2, 4, nelec)[0])
        assert abs(energies[0] - energies[1]) < 1e-9, (nelec, spin)
    solver = ef.pyscf.FCISolver(mf.mol)
    for one, two, nelec in [(h1 * np.nan, h2, 4), (h1 + 0j, h2, 4), (h1, h2, 9), (h1, h2, (5, 0))]:
        with pytest.raises(ef.InputError):
            solver.kernel(one, two, 4, nelec)
    for atom in ("N 0 0 0; N 0 0 1.1", "O 0 0 0; H 0 -0.757 0.587; H 0 0.757 0.587"):
        method = scf.RHF(gto.M(atom=atom, basis="sto-3g", symmetry=True, verbose=0)).run()
        found = []
        for own in (True, False):
            symmetric = mcscf.CASCI(method, 5, 6)
            if own:
                symmetric.fcisolver = ef.pyscf.FCISolver(method.mol)
            found.append(symmetric.kernel()[0])
        assert abs(found[0] - found[1]) < 1e-9


def test_products_and_densities_are_pyscf_s(monkeypatch):
    monkeypatch.setattr(ef.pyscf, "MUCH", 0)
    own, rng = ef.pyscf.FCISolver(), np.random.default_rng(7)
    own.device = "cpu"
    for norb, nelec in [(5, (3, 2)), (6, (2, 4)), (4, (4, 1)), (3, (0, 2)), (1, (1, 0))]:
        h = rng.standard_normal((norb, norb))
        eri = rng.standard_normal((norb,) * 4)
        eri = eri + eri.transpose(1, 0, 2, 3)
        eri = eri + eri.transpose(0, 1, 3, 2)
        eri = eri + eri.transpose(2, 3, 0, 1)
        shape = tuple(direct_spin1.cistring.num_strings(norb, count) for count in nelec)
        state = 0.3 * rng.standard_normal(shape)
        g = ao2mo.restore(1, direct_spin1.absorb_h1e(h + h.T, eri, norb, nelec, 0.5), norb)
        skewed = g + 0.1 * np.einsum("pq,rs->pqrs", *[a + a.T for a in rng.standard_normal((2, norb, norb))])
        for integrals in (g, skewed):
            expected = direct_spin1.contract_2e(integrals, state, norb, nelec)
            found = own.contract_2e(integrals, state, norb, nelec)
            assert found.shape == state.shape and np.allclose(found, expected, atol=1e-11 * abs(expected).max())
        for name in ("make_rdm1", "make_rdm1s", "make_rdm12"):
            pairs = zip(getattr(own, name)(state, norb, nelec), getattr(direct_spin1.FCI(), name)(state, norb, nelec), strict=True)
            assert all(np.allclose(a, b, atol=1e-12) for a, b in pairs), name


@pytest.fixture(scope="module")
def hydrogens():
    """A ring of six hydrogen atoms, stretched: h, (pq|rs) over its orbitals, and the orbitals' energies of PySCF."""
    ring = [("H", (1.4 * np.cos(phase), 1.4 * np.sin(phase), 0.0)) for phase in 2 * np.pi * np.arange(6) / 6]
    method = scf.RHF(gto.M(atom=ring, basis="sto-3g", verbose=0)).run(conv_tol=1e-12)
    casci = mcscf.CASCI(method, 6, 6)
    return casci.get_h1eff()[0], casci.get_h2eff(), method


def test_searches_begin_with_vectors_of_the_caller(hydrogens, monkeypatch):
    h1, h2, _ = hydrogens
    monkeypatch.setattr(ef.pyscf, "MUCH", 0)
    rng = np.random.default_rng(3)
    solver = ef.pyscf.FCISolver()
    solver.device = "cpu"
    for nelec in [(3, 3), (4, 2), (1, 0), (6, 6)]:
        expected, vector = direct_spin1.FCISolver().kernel(h1, h2, 6, nelec, tol=1e-13)
        for start in (vector, [vector], vector.ravel() + 1e-3 * rng.standard_normal(vector.size), rng.standard_normal(vector.shape)):
            energy, found = solver.kernel(h1, h2, 6, nelec, ci0=start, tol=1e-12, ecore=0.5)
            assert abs(energy - 0.5 - expected) < 1e-10 and solver.converged and found.shape == vector.shape
    # A good start is quicker than one without it, and a start without any part in the lowest state finds it all the same.
    expected, vector = direct_spin1.FCISolver().kernel(h1, h2, 6, (3, 3), tol=1e-13)
    solver.kernel(h1, h2, 6, (3, 3), ci0=rng.standard_normal(vector.shape))
    far = solver.iterations
    solver.kernel(h1, h2, 6, (3, 3), ci0=vector + 1e-4 * rng.standard_normal(vector.shape))
    assert solver.iterations < 0.8 * far
    excited = direct_spin1.FCISolver().kernel(h1, h2, 6, (3, 3), nroots=3, tol=1e-13, max_cycle=300)[1][2]
    assert abs(solver.kernel(h1, h2, 6, (3, 3), ci0=excited)[0] - expected) < 1e-9
    # Without a certificate it finds the same state, where the start has a part of it, and knows less about its level.
    solver.certify = False
    assert abs(solver.kernel(h1, h2, 6, (3, 3), ci0=rng.standard_normal(vector.shape))[0] - expected) < 1e-9 and solver.converged
    solver.solver = "lobpcg"
    for solver.certify in (False, True):
        assert abs(solver.kernel(h1, h2, 6, (3, 3))[0] - expected) < 1e-9
        assert solver.result.levels[0]["complete"] is solver.certify
    solver.solver = None
    # What is no start is left aside: another size, zeros, NaN.
    for start in (np.ones(3), 0 * vector, np.nan * vector, None, [vector, vector]):
        assert abs(solver.kernel(h1, h2, 6, (3, 3), ci0=start)[0] - expected) < 1e-9
    # A few cycles are honoured, and say so.
    energy, _ = solver.kernel(h1, h2, 6, (3, 3), ci0=rng.standard_normal(vector.shape), max_cycle=2, tol=1e-12)
    assert not solver.converged and energy > expected
    assert pickle.loads(pickle.dumps(solver)).device == "cpu"


def test_what_pyscf_calls_of_a_solver(hydrogens, monkeypatch):
    h1, h2, method = hydrogens
    own, theirs = ef.pyscf.FCISolver(method.mol), direct_spin1.FCISolver(method.mol)
    for much in (0, ef.pyscf.MUCH):
        monkeypatch.setattr(ef.pyscf, "MUCH", much)
        _, (bra, ket) = own.kernel(h1, h2, 6, (3, 3), nroots=2, tol=1e-12)
        for name in ("trans_rdm1", "trans_rdm1s", "trans_rdm12"):
            pairs = zip(getattr(own, name)(bra, ket, 6, (3, 3)), getattr(theirs, name)(bra, ket, 6, (3, 3)), strict=True)
            assert all(np.allclose(a, b, atol=1e-12) for a, b in pairs), name
        assert abs(own.spin_square(ket, 6, (3, 3))[0] - theirs.spin_square(ket, 6, (3, 3))[0]) < 1e-12
        absorbed = own.absorb_h1e(h1, h2, 6, (3, 3), 0.5)
        energy = np.vdot(bra, own.contract_2e(absorbed, bra, 6, (3, 3)))
        assert abs(energy - own.eci[0]) < 1e-10
        assert abs(own.energy(h1, h2, bra, 6, (3, 3)) - own.eci[0]) < 1e-10
    solvers = []
    for solver in (own, theirs):
        casci = mcscf.CASCI(method, 6, 6)
        casci.fcisolver = solver
        casci.fcisolver.nroots, casci.fcisolver.conv_tol = 1, 1e-12
        solvers.append(casci)
    assert abs(solvers[0].kernel()[0] - solvers[1].kernel()[0]) < 1e-9
    # Natural orbitals and analysis go through the densities.
    assert np.allclose(solvers[0].cas_natorb()[2], solvers[1].cas_natorb()[2], atol=1e-6)


def test_states_of_an_irrep():
    method = scf.RHF(gto.M(atom="N 0 0 0; N 0 0 1.1", basis="sto-3g", symmetry="D2h", verbose=0)).run(conv_tol=1e-12)
    found = []
    for own in (True, False):
        casci = mcscf.CASCI(method, 6, 6)
        if own:
            casci.fcisolver = ef.pyscf.FCISolver(method.mol)
        casci.fcisolver.wfnsym, casci.fcisolver.conv_tol = "B1u", 1e-12
        found.append(casci.kernel()[0])
    assert abs(found[0] - found[1]) < 1e-9
