#!/usr/bin/env python3
"""DMRG of a molecule on the CPU: eigenforge beside block2, the same integrals, order of orbitals, numbers of states, noise and sweeps.

In:   nothing, or a number of threads and the states of the last sweeps.
Out:  a table of both programs' sweeps on the terminal.
Runs: makes a virtual environment under target/dmrg_peers, installs block2 and TeNPy from PyPI in it, restarts itself there, and calls
      target/release/eigenforge.

    python3 benches/molecule_peers.py --threads 2 --states 500

N2 in cc-pVDZ, 10 electrons in 26 orbitals (benches/ci/dimers.py). Both keep both numbers of electrons and the irrep of D2h. A sweep is
there and back; block2's program is given two passes for each. Seconds are wall clock of a whole sweep. Starts differ: each
program's own. The bound on the residual of a bond's solve is 1e-3 in the first sweep and a tenth of the one before in each that
follows; block2's `thrds` are squares of it.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import dmrg_peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
FCIDUMP = ROOT / "benches" / "ci" / "N2_ccpvdz_10e_26o.FCIDUMP"
# By exchange integrals, as eigenforge orders them.
ORDER = [9, 8, 26, 12, 16, 10, 11, 15, 23, 13, 14, 3, 1, 2, 4, 5, 6, 7, 19, 20, 24, 25, 17, 18, 21, 22]
NOISE = [1e-3, 1e-4, 1e-5]


def schedule(states):
    """Numbers of states, noise and bounds of the residual, one a sweep."""
    states = [max(states // 4, 50), max(states // 2, 50), states, states, states]
    noise = NOISE + [0.0] * (len(states) - len(NOISE))
    return states, noise, [max(1e-9, 1e-3 * 0.1 ** sweep) for sweep in range(len(states))]


def solve_block2(states, noise, bounds, threads):
    import numpy
    from pyblock2.driver.core import DMRGDriver, SymmetryTypes

    twice = lambda values: [value for value in values for _ in range(2)]
    with tempfile.TemporaryDirectory() as scratch:
        driver = DMRGDriver(scratch=scratch, symm_type=SymmetryTypes.SZ, n_threads=threads, stack_mem=4 << 30)
        driver.read_fcidump(filename=str(FCIDUMP), pg="d2h", rescale=None)
        driver.initialize_system(n_sites=driver.n_sites, n_elec=driver.n_elec, spin=driver.spin, orb_sym=driver.orb_sym)
        order = numpy.array(ORDER) - 1
        mpo = driver.get_qc_mpo(h1e=driver.h1e, g2e=driver.g2e, ecore=driver.ecore, reorder=order, iprint=0)
        ket = driver.get_random_mps(tag="KET", bond_dim=states[0], nroots=1)
        # Its own clock, printed after each pass; the first pass includes the blocks at the start.
        driver.dmrg(mpo, ket, n_sweeps=2 * len(states), bond_dims=twice(states), noises=twice(noise),
                    thrds=twice([bound ** 2 for bound in bounds]), tol=0, iprint=1)
        energies = [float(min(energies)) for energies in driver._dmrg.energies]
        return [min(pair) for pair in zip(energies[::2], energies[1::2])]


def solve_eigenforge(states, noise, folder):
    file = pathlib.Path(folder) / "molecule.toml"
    file.write_text(
        f'[ci]\nfcidump = "{FCIDUMP}"\nirrep = 1\naverages = false\n[dmrg]\nstates = {states}\nnoise = {noise}\n'
        f"order = {ORDER}\nsweeps = {len(states)}\ntolerance = 1e-30\nimprovement = 0\ncheck = false\n"
    )
    binary = os.environ.get("EIGENFORGE_BIN", ROOT / "target" / "release" / "eigenforge")
    child = subprocess.run([binary, "solve", file, "--device", "cpu", "--json"], capture_output=True, text=True)
    if child.returncode not in (0, 3):
        raise SystemExit(child.stderr)
    record = json.loads(child.stdout)
    return dict(seconds=[sweep["seconds"] for sweep in record["sweeps"]],
                energies=[sweep["energy"] for sweep in record["sweeps"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2, help="default %(default)s")
    parser.add_argument("--states", type=int, default=500, help="of the last three sweeps (default %(default)s)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if os.environ.get("EIGENFORGE_PEERS_INSIDE") != "1":
        dmrg_peers.enter_environment(arguments.threads, __file__)
    states, noise, bounds = schedule(arguments.states)
    if arguments.child:
        return print(json.dumps(solve_block2(states, noise, bounds, arguments.threads)))
    with tempfile.TemporaryDirectory() as folder:
        ours = solve_eigenforge(states, noise, folder)
    child = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--child"], capture_output=True, text=True)
    if child.returncode != 0:
        raise SystemExit(child.stdout + child.stderr)
    clock = [0.0] + [float(seconds) for seconds in re.findall(r"Time elapsed = +([0-9.]+)", child.stdout)][1::2]
    seconds = [after - before for before, after in zip(clock, clock[1:])]
    theirs = dict(seconds=seconds, energies=json.loads(child.stdout.strip().splitlines()[-1]))
    print(f"{arguments.threads} threads; seconds of a sweep there and back, lowest energy of a bond\n")
    print("| sweep | states | noise | eigenforge, s | block2, s | ratio | eigenforge, hartree | block2, hartree |\n|---|---|---|---|---|---|---|---|")
    rows = zip(states, noise, ours["seconds"], theirs["seconds"], ours["energies"], theirs["energies"])
    for sweep, (m, n, own, other, energy, other_energy) in enumerate(rows):
        print(f"| {sweep} | {m} | {n:g} | {own:.2f} | {other:.2f} | {other / own:.2f} | {energy:.8f} | {other_energy:.8f} |")


if __name__ == "__main__":
    main()
