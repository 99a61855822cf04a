#!/usr/bin/env python3
"""States in time and averages at temperatures: eigenforge beside QuSpin, in one process on the same cores.

In:   the number of threads. The package is installed already: `pip install target/wheels/eigenforge-*.whl numpy scipy quspin`.
Out:  a table on the terminal: seconds from the terms to the result, those of QuSpin without its basis and matrix, and how far results differ.

    python3 benches/dynamics_peers.py                     # two threads; some minutes
    python3 benches/dynamics_peers.py --only evolution

Evolution: a Heisenberg ring from the Neel state until t = 10, at 11 times. QuSpin has `expm_multiply_parallel`, whose error is that of rounding;
eigenforge takes 1e-8 of the state. |<psi(0)|psi(t)>|^2 is compared.
Temperatures: energies of a Heisenberg ring over all 2Sz, 10 random vectors of 60 steps in each sector. QuSpin has `lanczos_full` and
`FTLM_static_iteration` in the sectors 2Sz >= 0; eigenforge takes momenta too, and adds lowest levels. Both solve sectors of up to 500 states whole.
"""

import argparse
import os
import sys
import time

VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"]
SAMPLES, STEPS = 10, 60
# States of sectors that both solve whole.
WHOLE = 500


def model(ef, sites):
    lattice = ef.Lattice.chain(sites, boundary="periodic")
    return ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds))


def hamiltonian(sites, up):
    """QuSpin's basis and matrix of a ring with so many spins up."""
    import numpy as np
    from quspin.basis import spin_basis_general
    from quspin.operators import hamiltonian

    bonds = [[0.5, i, (i + 1) % sites] for i in range(sites)]
    terms = [["zz", [[1.0, i, j] for _, i, j in bonds]], ["+-", bonds], ["-+", bonds]]
    basis = spin_basis_general(sites, Nup=up, pauli=False)
    return basis, hamiltonian(terms, [], basis=basis, dtype=np.float64, check_herm=False, check_symm=False, check_pcon=False)


def evolution(ef, sites):
    import numpy as np
    from quspin.tools.evolution import expm_multiply_parallel

    begun = time.perf_counter()
    basis, H = hamiltonian(sites, sites // 2)
    made = time.perf_counter()
    step = expm_multiply_parallel(H.tocsr(), a=-1j * 1.0, dtype=np.complex128)
    psi = np.zeros(basis.Ns, complex)
    psi[basis.index("10" * (sites // 2))] = 1.0
    start, work, echoes = psi.copy(), np.zeros(2 * basis.Ns, complex), [1.0]
    for _ in range(10):
        step.dot(psi, work_array=work, overwrite_v=True)
        echoes.append(abs(np.vdot(start, psi)) ** 2)
    ended = time.perf_counter()
    # The echo is the same from either Neel state.
    found = model(ef, sites).sector(two_sz=0).evolve(
        start={"up": list(range(0, sites, 2))}, until=10.0, times=11, tolerance=1e-8, record=["echo"], device="cpu"
    )
    own = time.perf_counter() - ended
    differ = float(np.abs(np.asarray(found.echo) - echoes).max())
    return f"evolution, ring of {sites}", basis.Ns, ended - made, ended - begun, own, f"{differ:.0e}"


def ftlm(sites, temperatures):
    """Energies by QuSpin, and the seconds that its bases and matrices took."""
    import numpy as np
    from quspin.tools.lanczos import FTLM_static_iteration, lanczos_full

    rng, made = np.random.default_rng(1), 0.0
    sums = np.zeros((2, len(temperatures)))
    betas = 1.0 / temperatures
    # Each with the zero of energy of its own.
    parts = []
    for up in range(sites // 2, sites + 1):
        begun = time.perf_counter()
        basis, H = hamiltonian(sites, up)
        made += time.perf_counter() - begun
        times = 1 if 2 * up == sites else 2
        if basis.Ns <= WHOLE:
            E = H.eigvalsh()
            weights = np.exp(-np.outer(betas, E - E[0]))
            parts.append((E[0], times * np.array([weights.sum(axis=1), weights @ E])))
            continue
        for _ in range(SAMPLES):
            vector = rng.standard_normal(basis.Ns)
            E, V, Q = lanczos_full(H, vector / np.linalg.norm(vector), STEPS)
            _, unit = FTLM_static_iteration({}, E - E[0], V, Q, beta=betas)
            energies = np.exp(-np.outer(betas, E - E[0])) @ (V[0] ** 2 * E)
            parts.append((E[0], times * basis.Ns / SAMPLES * np.array([unit, energies])))
    lowest = min(shift for shift, _ in parts)
    for shift, part in parts:
        sums += part * np.exp(-betas * (shift - lowest))
    return sums[1] / sums[0], made


def temperatures(ef, sites):
    import numpy as np

    at = np.geomspace(0.2, 10.0, 30)
    begun = time.perf_counter()
    theirs, made = ftlm(sites, at)
    ended = time.perf_counter()
    found = model(ef, sites).thermal(temperatures=at.tolist(), device="cpu", samples=SAMPLES, steps=STEPS)
    own = time.perf_counter() - ended
    energy = next(quantity for quantity in found.quantities if quantity.name == "energy")
    differ = np.abs(theirs - np.array(energy.values)).max()
    text = f"energies by {differ:.1e}; standard error of eigenforge's {max(energy.errors):.1e}"
    return f"temperatures, ring of {sites}", f"2^{sites}", ended - begun - made, ended - begun, own, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["evolution", "temperatures"])
    parser.add_argument("--sites", type=int, default=20, help="sites of both rings, an even number (default %(default)s)")
    chosen = parser.parse_args()
    if any(os.environ.get(name) != str(chosen.threads) for name in VARIABLES):
        os.execve(sys.executable, [sys.executable, *sys.argv], dict(os.environ, **{name: str(chosen.threads) for name in VARIABLES}))
    import eigenforge as ef

    print(f"{chosen.threads} thread(s)\n\n| problem | states | QuSpin, s | with its basis and matrix, s | eigenforge, s | results differ by |")
    print("|---|---|---|---|---|---|")
    for case in (evolution, temperatures):
        if chosen.only in (None, case.__name__):
            name, states, theirs, whole, own, differ = case(ef, chosen.sites)
            print(f"| {name} | {states} | {theirs:.2f} | {whole:.2f} | {own:.2f} | {differ} |", flush=True)


if __name__ == "__main__":
    main()
