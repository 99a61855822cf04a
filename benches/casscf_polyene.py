#!/usr/bin/env python3
"""CASSCF(n, n) of the π orbitals of an all-trans polyene C_n H_(n+2), by PySCF with eigenforge's solver.

In:   the carbon atoms, the basis, the device. PySCF and the package are installed already; nothing is fetched.
Out:  a line for each macro-iteration (energy, change, gradient, seconds of the solver and in all), the thresholds, the last state's certified
      energy and ⟨S²⟩; with --pyscf the seconds of one CASCI, or of one multiply, of PySCF's own solver on the same integrals and the same host,
      beside the same by eigenforge.

    python3 benches/casscf_polyene.py --device cuda                          # C16H18, cc-pVDZ: CASSCF(16, 16), 165,636,900 determinants
    python3 benches/casscf_polyene.py --device cuda --pyscf multiply         # and a multiply of PySCF: a minute on 16 cores
    python3 benches/casscf_polyene.py --device cuda --macro 1 --pyscf casci  # and one CASCI of PySCF: half an hour on 16 cores
    python3 benches/casscf_polyene.py --atoms 6 --device cpu --pyscf casci   # seconds on two cores

Macro-iterations run without certificates (`fcisolver.certify = False`), each from the last one's vector; at the end one CASCI over the final
orbitals is certified. Thresholds are PySCF's own: `conv_tol` 1e-7 Hartree, `conv_tol_grad` its square root.
"""

import argparse
import os
import time


def polyene(atoms):
    """Positions in Å of an all-trans chain in the plane z = 0, bonds of 1.36 and 1.45 Å in turn."""
    carbons, x = [], 0.0
    for number in range(atoms):
        carbons.append((x, 0.35 * (-1) ** number, 0.0))
        x += ((1.36, 1.45)[number % 2] ** 2 - 0.7**2) ** 0.5
    hydrogens = [(x, y + 1.09 * (-1) ** number, 0.0) for number, (x, y, _) in enumerate(carbons)]
    last = (-1) ** (atoms - 1)
    hydrogens.append((carbons[0][0] - 0.94, carbons[0][1] - 0.54, 0.0))
    hydrogens.append((carbons[-1][0] + 0.94, carbons[-1][1] - 0.54 * last, 0.0))
    return [("C", place) for place in carbons] + [("H", place) for place in hydrogens]


def pi_orbitals(mol, coefficients, count):
    """The count / 2 highest occupied and lowest empty orbitals that are π: at least half of p_z functions of carbon."""
    import numpy as np

    labels = mol.ao_labels(fmt=None)
    functions = [i for i, (_, element, shell, kind) in enumerate(labels) if element == "C" and shell.endswith("p") and kind == "z"]
    overlap = mol.intor("int1e_ovlp")
    weights = np.einsum("pi,pq,qi->i", coefficients[functions], overlap[np.ix_(functions, functions)], coefficients[functions])
    pi = [i for i, weight in enumerate(weights) if weight > 0.5]
    occupied = mol.nelectron // 2
    chosen = [i for i in pi if i < occupied][-count // 2 :] + [i for i in pi if i >= occupied][: count // 2]
    if len(chosen) != count:
        raise SystemExit(f"expected {count} π orbitals, found {len(chosen)}: take a larger basis")
    return chosen


def timed_solver(mol, device):
    """eigenforge's solver, with the seconds of each of its calls."""
    import eigenforge.pyscf

    class Timed(eigenforge.pyscf.FCISolver):
        _keys = {"calls"}

        def __init__(self, mol):
            super().__init__(mol)
            self.calls = []

        def _timed(self, name, *arguments, **keys):
            begun = time.perf_counter()
            found = getattr(super(), name)(*arguments, **keys)
            self.calls.append((name, time.perf_counter() - begun))
            return found

        def kernel(self, *arguments, **keys):
            return self._timed("kernel", *arguments, **keys)

        def make_rdm12(self, *arguments, **keys):
            return self._timed("make_rdm12", *arguments, **keys)

        def contract_2e(self, *arguments, **keys):
            return self._timed("contract_2e", *arguments, **keys)

        def spin_square(self, *arguments, **keys):
            return self._timed("spin_square", *arguments, **keys)

        def seconds(self):
            """By call, with how many there were; the list begins anew."""
            names = list(dict.fromkeys(name for name, _ in self.calls))
            listed = [(name, [seconds for own, seconds in self.calls if own == name]) for name in names]
            self.calls = []
            return ", ".join(f"{name} {sum(each):.2f}" + (f" ({len(each)})" if len(each) > 1 else "") for name, each in listed)

    solver = Timed(mol)
    solver.device = device
    return solver


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--atoms", type=int, default=16, help="carbon atoms, electrons and orbitals; even")
    parser.add_argument("--basis", default="cc-pvdz")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--macro", type=int, default=50, help="most macro-iterations")
    parser.add_argument("--steps", type=int, choices=(1, 2), default=2, help="PySCF's mc1step or mc2step; one step takes more density matrices")
    parser.add_argument("--stepsize", type=float, help="the largest turn of orbitals in a step (default PySCF's)")
    parser.add_argument("--pyscf", choices=("multiply", "casci"), help="also one multiply, or one CASCI, of PySCF's own solver")
    chosen = parser.parse_args()
    import numpy as np
    from pyscf import gto, lib, mcscf, scf
    from pyscf.fci import direct_spin1

    atoms = chosen.atoms
    if atoms < 2 or atoms % 2:
        raise SystemExit(f"expected an even number of carbon atoms, found {atoms}")
    print(f"{os.cpu_count()} cores, {lib.num_threads()} threads of PySCF")
    mol = gto.M(atom=polyene(atoms), basis=chosen.basis, verbose=0)
    begun = time.perf_counter()
    mf = scf.RHF(mol).density_fit().run()
    print(f"C{atoms}H{atoms + 2}, {chosen.basis}, {mol.nao} functions: E(RHF) = {mf.e_tot:.8f}, {time.perf_counter() - begun:.1f} s")

    mc = mcscf.CASSCF(mf, atoms, atoms)
    mc.fcisolver = timed_solver(mol, chosen.device)
    mc.fcisolver.certify = False
    mc.natorb, mc.max_cycle_macro = False, chosen.macro
    mc.max_stepsize = chosen.stepsize or mc.max_stepsize
    gradient = mc.conv_tol_grad or mc.conv_tol**0.5
    print(f"CASSCF({atoms}, {atoms}) on {chosen.device}: conv_tol {mc.conv_tol:g}, conv_tol_grad {gradient:g}, max_stepsize {mc.max_stepsize:g}")
    seen = {"energy": None, "time": time.perf_counter(), "macro": 0}

    def report(environment):
        if not any(name == "kernel" for name, _ in mc.fcisolver.calls):
            # A step of the orbitals alone.
            return
        energy, now = environment["e_tot"], time.perf_counter()
        change = "" if seen["energy"] is None else f", dE {energy - seen['energy']:.2e}"
        norm = environment.get("norm_gorb0", environment.get("norm_gorb"))
        norm = "" if norm is None else f", |g| {norm:.2e}"
        spent = mc.fcisolver.seconds()
        print(f"  macro {seen['macro']:>2}: E {energy:.10f}{change}{norm}, {now - seen['time']:.1f} s: {spent}", flush=True)
        seen.update(energy=energy, time=now, macro=seen["macro"] + 1)

    mc.callback = report
    begun = time.perf_counter()
    optimise = mc.mc1step if chosen.steps == 1 else mc.mc2step
    optimise(mc.sort_mo([i + 1 for i in pi_orbitals(mol, mf.mo_coeff, atoms)]))
    print(f"E(CASSCF) = {mc.e_tot:.10f}, converged: {mc.converged}, {time.perf_counter() - begun:.1f} s")

    mc.fcisolver.calls = []
    h1, core = mc.get_h1eff()
    eri = mc.get_h2eff()
    electrons, own = mc.nelecas, mc.fcisolver
    own.certify = True
    begun = time.perf_counter()
    energy, vector = own.kernel(h1, eri, atoms, electrons, ci0=mc.ci, ecore=core, tol=own.conv_tol)
    print(f"certified CASCI over these orbitals, from the last vector: {energy:.10f}, {time.perf_counter() - begun:.1f} s")
    square = own.spin_square(vector, atoms, electrons)[0]
    print(f"<S2> = {square:.8f}; {own.seconds()}")
    peer = direct_spin1.FCISolver(mol)
    if chosen.pyscf == "multiply":
        absorbed = own.absorb_h1e(h1, eri, atoms, electrons, 0.5)
        for name, solver in ((f"eigenforge on {chosen.device}", own), (f"PySCF on {lib.num_threads()} threads", peer)):
            begun = time.perf_counter()
            product = solver.contract_2e(absorbed, vector, atoms, electrons)
            print(f"one multiply, {name}: E {np.vdot(vector, product) + core:.10f}, {time.perf_counter() - begun:.2f} s", flush=True)
    if chosen.pyscf != "casci":
        return
    begun = time.perf_counter()
    alone = own.kernel(h1, eri, atoms, electrons, ecore=core, tol=own.conv_tol)[0]
    print(f"one CASCI, eigenforge on {chosen.device}, certified, without a start: {alone:.10f}, {time.perf_counter() - begun:.1f} s", flush=True)
    begun = time.perf_counter()
    expected = peer.kernel(h1, eri, atoms, electrons, ecore=core, tol=own.conv_tol)[0]
    print(f"one CASCI, PySCF on {lib.num_threads()} threads:  {np.min(expected):.10f}, {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
