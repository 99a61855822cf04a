"""The solver of CASCI and CASSCF, beside PySCF's own."""

import json

import numpy as np
import pytest

pytest.importorskip("pyscf")

import eigenforge as ef  # noqa: E402
import eigenforge.pyscf  # noqa: E402
from pyscf import ao2mo, gto, mcscf, scf  # noqa: E402
from pyscf.fci import direct_spin1  # noqa: E402


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
