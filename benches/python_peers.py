#!/usr/bin/env python3
"""The Python package beside QuSpin: from Python objects to H, and to its lowest state, in one process on the same cores.

In:   the number of threads. The package is installed already: `pip install target/wheels/eigenforge-*.whl numpy scipy quspin`.
Out:  a table on the terminal: seconds to make H (basis and matrix of QuSpin; model and multiply of eigenforge), seconds to the lowest state
      from H (QuSpin's eigsh) and from the model (eigenforge, with certificates and averages), and both energies.

    python3 benches/python_peers.py                     # two threads; a minute
    python3 benches/python_peers.py --threads 1
"""

import argparse
import os
import sys
import time

VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"]


def ring(ef, sites):
    lattice = ef.Lattice.chain(sites, boundary="periodic")
    return ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)).sector(two_sz=0)


def ring_terms(sites):
    bonds = [[0.5, i, (i + 1) % sites] for i in range(sites)]
    return [["zz", [[1.0, i, j] for _, i, j in bonds]], ["+-", bonds], ["-+", bonds]]


def square(ef, up, down):
    lattice = ef.Lattice.square(4, 3)
    hops = ef.sum(-1.0 * (ef.cdag(i, s) * ef.c(j, s) + ef.hc) for i, j, w in lattice.bonds for s in (ef.up, ef.down))
    onsite = ef.sum(4.0 * ef.n(i, ef.up) * ef.n(i, ef.down) for i in lattice.sites)
    return ef.Model(lattice, hops + onsite).sector(up=up, down=down)


def square_terms(ef):
    bonds = [(i, j) for i, j, w in ef.Lattice.square(4, 3).bonds]
    plus, minus = [[-1.0, i, j] for i, j in bonds], [[1.0, i, j] for i, j in bonds]
    spins = [[f"{s[0]}+-{s[1]}", plus] for s in (("", "|"), ("|", ""))] + [[f"{s[0]}-+{s[1]}", minus] for s in (("", "|"), ("|", ""))]
    return [*spins, ["n|n", [[4.0, i, i] for i in range(12)]]]


def cases(ef):
    """Name, model of eigenforge, and what makes H in QuSpin."""
    import numpy as np
    from quspin.basis import spin_basis_1d, spinful_fermion_basis_general
    from quspin.operators import hamiltonian

    quiet = dict(check_symm=False, check_herm=False, check_pcon=False, dtype=np.float64)

    def spins(sites, **keys):
        basis = lambda: spin_basis_1d(sites, m=0.0, pauli=False, **keys)  # noqa: E731
        return lambda: hamiltonian(ring_terms(sites), [], basis=basis(), **quiet)

    def electrons(up, down):
        return lambda: hamiltonian(square_terms(ef), [], basis=spinful_fermion_basis_general(12, Nf=(up, down)), **quiet)

    symmetric = dict(k=[0], reflection=1, spin_inversion=1)
    return [
        ("Heisenberg ring of 20, Sz = 0", ring(ef, 20), spins(20)),
        ("Heisenberg ring of 24, k = 0, both parities even", ring(ef, 24).symmetry(**symmetric), spins(24, kblock=0, pblock=1, zblock=1)),
        ("Heisenberg ring of 28, k = 0, both parities even", ring(ef, 28).symmetry(**symmetric), spins(28, kblock=0, pblock=1, zblock=1)),
        ("Hubbard 4 x 3, 4 up, 4 down", square(ef, 4, 4), electrons(4, 4)),
    ]


def timed(call):
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    threads = str(parser.parse_args().threads)
    if any(os.environ.get(name) != threads for name in VARIABLES):
        os.execve(sys.executable, [sys.executable, *sys.argv], dict(os.environ, **{name: threads for name in VARIABLES}))
    import eigenforge as ef

    print(f"{threads} thread(s)\n\n| problem | states | H, QuSpin | H, eigenforge | lowest state, QuSpin | eigenforge | energies differ by |")
    print("|---|---|---|---|---|---|---|")
    for name, model, make in cases(ef):
        theirs, made = timed(make)
        values, solved = timed(lambda H=theirs: H.eigsh(k=1, which="SA", return_eigenvectors=True)[0])
        ours, own_made = timed(lambda model=model: model.linear_operator())
        result, own_solved = timed(lambda model=model: model.solve(device="cpu"))
        differ = abs(result.energies[0] - values[0])
        columns = [f"{seconds:.3f} s" for seconds in (made, own_made, solved, own_solved)]
        print(f"| {name} | {ours.shape[0]:,} | {' | '.join(columns)} | {differ:.0e} |", flush=True)


if __name__ == "__main__":
    main()
