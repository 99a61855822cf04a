#!/usr/bin/env python3
"""DMRG ground states on the CPU: eigenforge beside block2 and TeNPy, on the same cores in the same run, two tables a case.

In:   nothing, or the names of cases, and a number of threads.
Out:  two tables a case on the terminal, and with --output a JSON file with every number.
Runs: makes a virtual environment under target/dmrg_peers, installs block2 and physics-tenpy from PyPI in it, restarts
      itself there, and calls target/release/eigenforge.

    python3 benches/dmrg_peers.py                         # both cases, one thread, all three programs
    python3 benches/dmrg_peers.py --case heisenberg --program eigenforge --program block2 --repeats 5

All use U(1) symmetries (Sz, or both particle numbers), two-site updates, the same list of states kept and of noise. A sweep
is there and back: block2's and TeNPy's programs are given the same number of passes.

Table 1, "the same sweeps": every program does every sweep of the list, none may stop before. The bound on the residual of a
bond's solve is the same for all, 1e-3 in the first sweep and a tenth of the one before in each that follows, down to 1e-9:
what eigenforge takes where its `tolerance` is tiny. block2's `thrds` are squares of it; TeNPy has a bound on (residual /
gap)^2, which gets the same number, so it solves a little less or more closely by its own estimate of the gap.

Table 2, "the same accuracy": each program does as few sweeps of that list as bring its energy to within `--error` of the
exact one. How many these are is found in table 1's runs; then programs are timed with so many.

"CPU s" is CPU time of all threads: of block2 and TeNPy within the optimisation alone, of eigenforge of the whole process,
set-up and measurements included. block2's energy is the lowest two-site one, as is ours; the error is against the Bethe
ansatz (tests/data/bethe_exact.json). Starts differ: a random state (eigenforge, block2), a Neel state (TeNPy).
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


def bounds(sweeps):
    """Bound on the residual of each bond's solve, one a sweep."""
    return [max(1e-9, 1e-3 * 0.1 ** sweep) for sweep in range(sweeps)]


# ---------------------------------------------------------------------------------- environment

def enter_environment(threads, script=__file__):
    """Restarts a script inside the virtual environment, made and filled at the first call."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        print(f"making a virtual environment in {HOME.relative_to(ROOT)} ...", file=sys.stderr)
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
    have = subprocess.run([str(python), "-c", "import pyblock2, tenpy"], capture_output=True)
    if have.returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "block2", "physics-tenpy"], check=True)
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = dict(os.environ, EIGENFORGE_PEERS_INSIDE="1", **{name: str(threads) for name in variables})
    os.execve(str(python), [str(python), str(pathlib.Path(script).resolve()), *sys.argv[1:]], environment)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", action="append", choices=list(CASES), help="default: all")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="default: all")
    parser.add_argument("--threads", type=int, default=1, help="default %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="solves of each row (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="write every number to this JSON file")
    parser.add_argument("--error", type=float, default=1e-8, help="energy error of table 2 (default %(default)s)")
    parser.add_argument("--child", nargs=3, metavar=("PROGRAM", "CASE", "SWEEPS"), help=argparse.SUPPRESS)
    return parser.parse_args()


# ---------------------------------------------------------------------------------- one solve

def timed(solve, energies):
    """CPU and wall seconds of `solve`, and the energy after each sweep."""
    wall, cpu = time.perf_counter(), time.process_time()
    solve()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return dict(energies=[float(energy) for energy in energies()], cpu=cpu, wall=wall)


def first(case, sweeps):
    """The case with only its first sweeps."""
    return dict(case, states=case["states"][:sweeps], noise=case["noise"][:sweeps])


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
        thresholds = twice([bound ** 2 for bound in bounds(len(case["states"]))])
        # A pass is a sweep of block2's; the lower energy of two is that of there and back.
        by_pass = lambda: [min(energies) for energies in driver._dmrg.energies]
        there_and_back = lambda: [min(pair) for pair in zip(by_pass()[::2], by_pass()[1::2])]
        return timed(lambda: driver.dmrg(mpo, ket, n_sweeps=len(states), bond_dims=states, noises=noise,
                                         thrds=thresholds, tol=0, iprint=0), there_and_back)


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
        min_sweeps=sweeps, max_sweeps=sweeps, N_sweeps_check=1, P_tol_to_trunc=None,
        lanczos_params=dict(N_max=20),
    )
    bound = bounds(sweeps)

    class Tightening(TwoSiteDMRGEngine):
        # TeNPy itself does one sweep more than max_sweeps.
        def stopping_criterion(self, iteration_start_time):
            return len(self.sweep_stats["E"]) >= sweeps

        def run_iteration(self):
            self.lanczos_params["P_tol"] = bound[len(self.sweep_stats["E"])] ** 2
            return super().run_iteration()

    engine = Tightening(psi, model, options)
    return timed(engine.run, lambda: engine.sweep_stats["E"])


def solve_eigenforge(case, folder):
    file = folder / f"{case['model']}.toml"
    if case["model"] == "heisenberg":
        model, sector = 'name = "xxz"\njxy = 1.0\njz = 1.0', "two_sz = 0"
    else:
        half = case["sites"] // 2
        model, sector = f'name = "hubbard"\nt = 1.0\nu = {case["u"]}', f"up = {half}\ndown = {half}"
    noise = [float(noise) for noise in case["noise"]]
    file.write_text(
        f'[model]\n{model}\n[lattice]\nkind = "chain"\nsize = {case["sites"]}\n[sector]\n{sector}\n'
        f'[dmrg]\nstates = {case["states"]}\nnoise = {noise}\nsweeps = {len(case["states"])}\ntolerance = 1e-30\nimprovement = 0\n'
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
    return dict(energies=[sweep["energy"] for sweep in record["sweeps"]], cpu=cpu, wall=record["seconds"]["solve"],
                variance=record["variances"][0])


def solve(program, name, sweeps, folder, threads):
    if program == "eigenforge":
        return solve_eigenforge(first(CASES[name], sweeps), folder)
    child = subprocess.run([sys.executable, __file__, "--threads", str(threads), "--child", program, name, str(sweeps)],
                           capture_output=True, text=True)
    if child.returncode != 0:
        raise SystemExit(f"{program} on {name} failed:\n{child.stdout}{child.stderr}")
    return json.loads(child.stdout.strip().splitlines()[-1])


# ---------------------------------------------------------------------------------- the table

def repeated(name, sweeps, arguments, folder):
    """Runs of every program, each with its number of sweeps; programs take turns."""
    runs = {program: [] for program in sweeps}
    for _ in range(arguments.repeats):
        for program, number in sweeps.items():
            found = solve(program, name, number, folder, arguments.threads)
            if len(found["energies"]) != number:
                raise SystemExit(f"{program} did {len(found['energies'])} sweeps of {name}, {number} were asked for")
            runs[program].append(dict(found, load=os.getloadavg()[0]))
    return runs


def table(title, case, runs):
    print(f"\n{title}\n")
    print("| program | sweeps | residual bound, first to last sweep | lowest two-site energy | error | CPU s, median (best) "
          "| wall, s | CPU time over ours |\n|---|---|---|---|---|---|---|---|")
    median = {program: statistics.median(run["cpu"] for run in of_program) for program, of_program in runs.items()}
    ours = median.get("eigenforge", float("nan"))
    for program, of_program in runs.items():
        best, wall = min(run["cpu"] for run in of_program), statistics.median(run["wall"] for run in of_program)
        energies = of_program[-1]["energies"]
        energy, bound = energies[-1], bounds(len(energies))
        print(f"| {program} | {len(energies)} | {bound[0]:.0e} to {bound[-1]:.0e} | {energy:.10f} "
              f"| {energy - case['exact']:.1e} | {median[program]:.2f} ({best:.2f}) | {wall:.2f} "
              f"| {median[program] / ours:.2f} |", flush=True)


def compare(name, arguments, folder):
    case, programs = CASES[name], arguments.program or PROGRAMS
    same = repeated(name, {program: len(case["states"]) for program in programs}, arguments, folder)
    print(f"\n{name}: {case['sites']} sites, states {case['states']}, noise {case['noise']}")
    table("the same sweeps", case, same)
    # The largest number of any run counts: TeNPy's and block2's random numbers differ from run to run.
    needed = lambda run: next((k + 1 for k, energy in enumerate(run["energies"])
                               if energy - case["exact"] <= arguments.error), None)
    needs = {program: [needed(run) for run in runs] for program, runs in same.items()}
    for program in [program for program, sweeps in needs.items() if None in sweeps]:
        print(f"\n{program} does not come within {arguments.error:g} in {len(case['states'])} sweeps")
        del needs[program]
    alike = repeated(name, {program: max(sweeps) for program, sweeps in needs.items()}, arguments, folder)
    table(f"the same accuracy: fewest sweeps to within {arguments.error:g} of the exact energy", case, alike)
    return dict(same_sweeps=same, same_accuracy=alike)


def main():
    arguments = parse_arguments()
    if os.environ.get("EIGENFORGE_PEERS_INSIDE") != "1":
        enter_environment(arguments.threads)
    if arguments.child:
        program, name, sweeps = arguments.child
        case = first(CASES[name], int(sweeps))
        solved = dict(block2=solve_block2, tenpy=solve_tenpy)[program](case, arguments.threads)
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
