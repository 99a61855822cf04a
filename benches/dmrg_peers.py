#!/usr/bin/env python3
"""DMRG ground states on the CPU: eigenforge beside block2 and TeNPy, same states, same sweeps, same cores, same run.

In:   nothing, or the names of cases, and a number of threads.
Out:  one table a case on the terminal, and with --output a JSON file with every number.
Runs: makes a virtual environment under target/dmrg_peers, installs block2 and physics-tenpy from PyPI in it, restarts
      itself there, and calls target/release/eigenforge.

    python3 benches/dmrg_peers.py                         # both cases, one thread, all three programs
    python3 benches/dmrg_peers.py --case heisenberg --program eigenforge --program block2 --repeats 5

All use U(1) symmetries (Sz, or both particle numbers), two-site updates, the same list of states kept and of noise, and
no more. A sweep is there and back: block2's and TeNPy's programs are given the same number of passes. "sweeps, s" is
CPU time of all threads within the optimisation alone; "wall, s" its wall-clock time. block2's energy is the lowest
two-site one, as is the last column of ours; the error is against the Bethe ansatz (tests/data/bethe_exact.json).
Each solve is a process of its own; programs take turns.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "dmrg_peers"
PROGRAMS = ["eigenforge", "block2", "tenpy"]

# Energies: Bethe ansatz. `states` and `noise` are one a sweep.
CASES = {
    "heisenberg": dict(model="heisenberg", sites=100, states=[32, 32, 64, 64, 128, 128, 128],
                       noise=[1e-4, 1e-5, 1e-6, 0, 0, 0, 0], exact=-44.12773989329624),
    "hubbard": dict(model="hubbard", sites=40, u=8.0, states=[64, 64, 128, 128, 256, 256, 256],
                    noise=[1e-4, 1e-5, 1e-6, 0, 0, 0, 0], exact=-12.895145041173327),
}


# ---------------------------------------------------------------------------------- environment

def enter_environment(arguments):
    """Restarts this script inside the virtual environment, made and filled at the first call."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        print(f"making a virtual environment in {HOME.relative_to(ROOT)} ...", file=sys.stderr)
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
    have = subprocess.run([str(python), "-c", "import pyblock2, tenpy"], capture_output=True)
    if have.returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "block2", "physics-tenpy"], check=True)
    threads = str(arguments.threads)
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = dict(os.environ, EIGENFORGE_PEERS_INSIDE="1", **{name: threads for name in variables})
    os.execve(str(python), [str(python), str(pathlib.Path(__file__).resolve()), *sys.argv[1:]], environment)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", action="append", choices=list(CASES), help="default: all")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="default: all")
    parser.add_argument("--threads", type=int, default=1, help="default %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="solves of each row (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="write every number to this JSON file")
    parser.add_argument("--child", nargs=2, metavar=("PROGRAM", "CASE"), help=argparse.SUPPRESS)
    return parser.parse_args()


# ---------------------------------------------------------------------------------- one solve

def timed(solve):
    wall, cpu = time.perf_counter(), time.process_time()
    energy = solve()
    return dict(energy=float(energy), cpu=time.process_time() - cpu, wall=time.perf_counter() - wall)


def solve_block2(case, threads):
    import numpy as np
    from pyblock2.driver.core import DMRGDriver, SymmetryTypes

    sites = case["sites"]
    pairs = np.array([[i, i + 1] for i in range(sites - 1)])
    both = np.array([[i, i + 1, i + 1, i] for i in range(sites - 1)])
    with tempfile.TemporaryDirectory() as scratch:
        heisenberg = case["model"] == "heisenberg"
        symmetry = SymmetryTypes.SGB if heisenberg else SymmetryTypes.SZ
        driver = DMRGDriver(scratch=scratch, symm_type=symmetry, n_threads=threads)
        if heisenberg:
            driver.initialize_system(n_sites=sites, heis_twos=1, heis_twosz=0)
            builder = driver.expr_builder()
            builder.add_term("PM", both.ravel(), 0.5)
            builder.add_term("ZZ", pairs.ravel(), 1.0)
        else:
            driver.initialize_system(n_sites=sites, n_elec=sites, spin=0)
            builder = driver.expr_builder()
            builder.add_term("cd", both.ravel(), -1.0)
            builder.add_term("CD", both.ravel(), -1.0)
            builder.add_term("cdCD", np.array([[i] * 4 for i in range(sites)]).ravel(), case["u"])
        mpo = driver.get_mpo(builder.finalize(), iprint=0)
        # Without average occupations its random state has the electrons at one end, and most sweeps go on moving them.
        where = {} if heisenberg else dict(occs=[1.0] * sites)
        ket = driver.get_random_mps(tag="KET", bond_dim=case["states"][0], nroots=1, **where)
        twice = lambda values: [value for value in values for _ in range(2)]
        states, noise = twice(case["states"]), twice(case["noise"])
        # Squares of residual norms: 1e-3 at first, 3e-6 at the end, as ours.
        thresholds = [max(1e-11, 1e-6 * 0.01 ** (k // 2)) for k in range(len(states))]
        return timed(lambda: driver.dmrg(mpo, ket, n_sweeps=len(states), bond_dims=states, noises=noise,
                                         thrds=thresholds, tol=0, iprint=0))


def solve_tenpy(case, threads):
    import warnings

    warnings.filterwarnings("ignore")
    from tenpy.algorithms.dmrg import TwoSiteDMRGEngine
    from tenpy.networks.mps import MPS

    sites = case["sites"]
    if case["model"] == "heisenberg":
        from tenpy.models.spins import SpinChain
        model = SpinChain(dict(L=sites, S=0.5, Jx=1.0, Jy=1.0, Jz=1.0, bc_MPS="finite", conserve="Sz"))
        product = ["up", "down"] * (sites // 2)
    else:
        from tenpy.models.hubbard import FermiHubbardChain
        model = FermiHubbardChain(dict(L=sites, t=1.0, U=case["u"], bc_MPS="finite", cons_N="N", cons_Sz="Sz"))
        product = ["up", "down"] * (sites // 2)
    psi = MPS.from_product_state(model.lat.mps_sites(), product, bc="finite")
    sweeps = len(case["states"])
    options = dict(
        mixer=True, mixer_params=dict(amplitude=1e-4, decay=10.0, disable_after=3), trunc_params=dict(svd_min=1e-14),
        chi_list={k: states for k, states in enumerate(case["states"])}, max_E_err=1e-30, max_S_err=1e-30,
        min_sweeps=sweeps, max_sweeps=sweeps, N_sweeps_check=1,
    )
    engine = TwoSiteDMRGEngine(psi, model, options)
    return timed(lambda: engine.run()[0])


def solve_eigenforge(case, folder, threads):
    file = folder / f"{case['model']}.toml"
    if case["model"] == "heisenberg":
        model, sector = 'name = "xxz"\njxy = 1.0\njz = 1.0', "two_sz = 0"
    else:
        half = case["sites"] // 2
        model, sector = f'name = "hubbard"\nt = 1.0\nu = {case["u"]}', f"up = {half}\ndown = {half}"
    noise = [float(noise) for noise in case["noise"]]
    file.write_text(
        f'[model]\n{model}\n[lattice]\nkind = "chain"\nsize = {case["sites"]}\n[sector]\n{sector}\n'
        f'[dmrg]\nstates = {case["states"]}\nnoise = {noise}\nsweeps = {len(case["states"])}\ntolerance = 1e-9\n'
    )
    binary = pathlib.Path(os.environ.get("EIGENFORGE_BIN", ROOT / "target" / "release" / "eigenforge"))
    if not binary.exists():
        raise SystemExit("target/release/eigenforge is missing; build it first: cargo build --release")
    before = os.times()
    child = subprocess.run([binary, "solve", file, "--json"], capture_output=True, text=True)
    after = os.times()
    if child.returncode not in (0, 3):
        raise SystemExit(child.stderr)
    record = json.loads(child.stdout)
    # CPU time of the whole process, measurements of the state included: an upper bound of that of the sweeps.
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return dict(energy=record["sweeps"][-1]["energy"], cpu=cpu, wall=record["seconds"]["sweeps"],
                sweeps=len(record["sweeps"]), variance=record["variance"])


def solve(program, name, folder, threads):
    if program == "eigenforge":
        return solve_eigenforge(CASES[name], folder, threads)
    child = subprocess.run([sys.executable, __file__, "--threads", str(threads), "--child", program, name],
                           capture_output=True, text=True)
    if child.returncode != 0:
        raise SystemExit(f"{program} on {name} failed:\n{child.stdout}{child.stderr}")
    return json.loads(child.stdout.strip().splitlines()[-1])


# ---------------------------------------------------------------------------------- the table

def compare(name, arguments, folder):
    case = CASES[name]
    rows = {program: [] for program in arguments.program or PROGRAMS}
    for _ in range(arguments.repeats):
        for program in rows:
            found = solve(program, name, folder, arguments.threads)
            rows[program].append(dict(found, load=os.getloadavg()[0]))
    print(f"\n{name}: {case['sites']} sites, states {case['states']}, noise {case['noise']}\n")
    print("| program | sweeps, CPU s, median (best) | wall, s | lowest two-site energy | error | CPU time over ours |")
    print("|---|---|---|---|---|---|")
    median = {program: statistics.median(run["cpu"] for run in runs) for program, runs in rows.items()}
    ours = median.get("eigenforge", float("nan"))
    for program, runs in rows.items():
        best, wall = min(run["cpu"] for run in runs), statistics.median(run["wall"] for run in runs)
        energy = runs[-1]["energy"]
        print(f"| {program} | {median[program]:.2f} ({best:.2f}) | {wall:.2f} | {energy:.10f} "
              f"| {energy - case['exact']:.1e} | {median[program] / ours:.2f} |")
    return rows


def main():
    arguments = parse_arguments()
    if os.environ.get("EIGENFORGE_PEERS_INSIDE") != "1":
        enter_environment(arguments)
    if arguments.child:
        program, name = arguments.child
        solved = dict(block2=solve_block2, tenpy=solve_tenpy)[program](CASES[name], arguments.threads)
        return print(json.dumps(solved))
    import importlib.metadata
    import platform

    versions = {name: importlib.metadata.version(name) for name in ["block2", "physics-tenpy", "numpy"]}
    versions["python"] = platform.python_version()
    print(f"{arguments.threads} threads; {versions}; load {os.getloadavg()[0]:.1f}", flush=True)
    record = dict(threads=arguments.threads, versions=versions, cases={})
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.case or CASES:
            record["cases"][name] = compare(name, arguments, pathlib.Path(folder))
    if arguments.output:
        arguments.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
