#!/usr/bin/env python3
"""Full CI ground states on the CPU: eigenforge beside PySCF, same integrals, same cores, same run.

In:   FCIDUMP files of tests/data/ci and a number of threads.
Out:  one table on the terminal, and with --output a JSON file with every number.
Runs: makes a virtual environment under target/ci_peers, installs pyscf from PyPI in it, restarts itself there,
      and calls target/release/eigenforge.

    python3 benches/ci_peers.py                                   # H2O and N2; about a minute after the installation
    python3 benches/ci_peers.py --case OH_631g_fc_0.97 --repeats 9

Both solve for the lowest state to a residual |Hx - Ex| of 1e-8 Hartree; PySCF's residual is computed here from its
vector. Each solve is a process of its own; programs take turns.

"solve" is from integrals in memory to the vector: eigenforge's own seconds of setup and solve, PySCF's kernel(). The
ratio is of these, since "process", from the start of each process to its end, is for PySCF partly Python's own start.
eigenforge does not search for missed states here (certify = false), as PySCF does not.
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
HOME = ROOT / "target" / "ci_peers"
DATA = ROOT / "tests" / "data" / "ci"
CASES = ["H2O_631g_fc_0.96", "N2_631g_fc_cas10o_1.8"]
TOLERANCE = 1e-8

# Name of the row → (program, what it is told). The peers' symmetries are used as far as they have them.
ROWS = {
    "eigenforge": ("eigenforge", {}),
    "pyscf fci.direct_spin1": ("pyscf", {"module": "direct_spin1"}),
    "pyscf fci.direct_spin0, singlets only": ("pyscf", {"module": "direct_spin0"}),
    "eigenforge, irrep 1": ("eigenforge", {"irrep": 1}),
    "pyscf fci.direct_spin1_symm, irrep 1": ("pyscf", {"module": "direct_spin1_symm"}),
}


# ---------------------------------------------------------------------------------- environment

def enter_environment(arguments):
    """Restarts this script inside the virtual environment, made and filled at the first call."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        print(f"making a virtual environment in {HOME.relative_to(ROOT)} ...", file=sys.stderr)
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
    have = subprocess.run([str(python), "-c", "import pyscf"], capture_output=True)
    if have.returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "pyscf"], check=True)
    threads = str(arguments.threads)
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = dict(os.environ, EIGENFORGE_PEERS_INSIDE="1", **{name: threads for name in variables})
    os.execve(str(python), [str(python), str(pathlib.Path(__file__).resolve()), *sys.argv[1:]], environment)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", action="append", help=f"name of a file in tests/data/ci (default {' and '.join(CASES)})")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores at hand")
    parser.add_argument("--repeats", type=int, default=5, help="solves of each row (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="write every number to this JSON file")
    parser.add_argument("--pyscf", nargs=2, metavar=("FCIDUMP", "MODULE"), help=argparse.SUPPRESS)
    return parser.parse_args()


# ---------------------------------------------------------------------------------- one solve

def solve_pyscf(path, module):
    """The child process of a PySCF row: reads, solves, prints its numbers."""
    import importlib

    import numpy as np
    from pyscf import ao2mo
    from pyscf.tools import fcidump

    fci = importlib.import_module(f"pyscf.fci.{module}")
    told = fcidump.read(path, verbose=False)
    orbitals, electrons, core = told["NORB"], told["NELEC"], told["ECORE"]
    spins = ((electrons + told["MS2"]) // 2, (electrons - told["MS2"]) // 2)
    two = ao2mo.restore(8, told["H2"], orbitals)
    solver = fci.FCISolver() if module != "direct_spin1_symm" else fci.FCI()
    solver.verbose, solver.max_cycle, solver.max_memory = 0, 300, 8000
    solver.conv_tol, solver.conv_tol_residual = 1e-12, TOLERANCE
    # Corrections whose squared norm is below this are dropped, which would end the search at a residual of 1e-7.
    solver.lindep = TOLERANCE**2 / 10
    more = {}
    if module == "direct_spin1_symm":
        # Molpro's numbers less one multiply by XOR, which is all that the module asks of orbsym.
        more = dict(orbsym=np.array(told["ORBSYM"]) - 1, wfnsym=0)
    products = 0
    contract = solver.contract_2e

    def counted(*given, **named):
        nonlocal products
        products += 1
        return contract(*given, **named)

    solver.contract_2e = counted
    start = time.perf_counter()
    energy, vector = solver.kernel(told["H1"], two, orbitals, spins, ecore=core, **more)
    seconds = time.perf_counter() - start
    # The residual by the plain module, whatever solved it.
    from pyscf.fci import direct_spin1

    hamiltonian = direct_spin1.absorb_h1e(told["H1"], two, orbitals, spins, 0.5)
    vector = np.asarray(vector).ravel()
    strings = [direct_spin1.cistring.num_strings(orbitals, spin) for spin in spins]
    if vector.size == strings[0] * strings[1]:
        sigma = direct_spin1.contract_2e(hamiltonian, vector.reshape(strings), orbitals, spins).ravel()
        residual = float(np.linalg.norm(sigma - (energy - core) * vector) / np.linalg.norm(vector))
    else:
        residual = None
    print(json.dumps(dict(energy=float(energy), seconds=seconds, residual=residual, products=products)))


def run(command, **settings):
    start = time.perf_counter()
    child = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
    seconds = time.perf_counter() - start
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{child.stdout}{child.stderr}")
    return child.stdout, seconds


def solve(program, told, case, folder):
    """One solve in a process of its own."""
    path = DATA / f"{case}.FCIDUMP"
    if program == "pyscf":
        out, process = run([sys.executable, __file__, "--pyscf", path, told["module"]])
        return dict(json.loads(out), process=process)
    file = folder / f"{case}_{told.get('irrep', 'all')}.toml"
    irrep = f"irrep = {told['irrep']}\n" if "irrep" in told else ""
    file.write_text(
        f'[ci]\nfcidump = "{path}"\nspace = "fci"\nstates = 1\n{irrep}\n'
        '[solve]\nsolver = "davidson"\ncertify = false\n'
    )
    binary = ROOT / "target" / "release" / "eigenforge"
    if not binary.exists():
        raise SystemExit("target/release/eigenforge is missing; build it first: cargo build --release")
    command = [binary, "solve", file, "--device", "cpu", "--json", "--tolerance"]
    # The tolerance is a share of the norm of H, which any solve tells.
    norm = json.loads(run([*command, "0.5"])[0])["norm"]
    out, process = run([*command, str(TOLERANCE / norm)])
    record = json.loads(out)
    seconds = record["seconds"]["setup"] + record["seconds"]["solve"]
    return dict(energy=record["energies"][0], residual=record["residuals"][0], products=record["multiplies"],
                seconds=seconds, process=process, dimension=record["dimension"], storage=record["storage"])


# ---------------------------------------------------------------------------------- the table

def compare(case, arguments, folder):
    rows = {name: [] for name in ROWS}
    for repeat in range(arguments.repeats + 1):
        for name, (program, told) in ROWS.items():
            found = solve(program, told, case, folder)
            # The first round warms the disk's cache.
            if repeat > 0:
                rows[name].append(dict(found, load=os.getloadavg()[0]))
    reference = rows["eigenforge"][0]
    print(f"\n{case}: {reference['dimension']:,} determinants, lowest energy {reference['energy']:.10f}\n")
    print("| program | solve, s (best) | products | residual | energy less the first row's | ratio of solve | process, s |")
    print("|---|---|---|---|---|---|---|")
    median = {name: statistics.median(run["seconds"] for run in runs) for name, runs in rows.items()}
    for name, runs in rows.items():
        last, best = runs[-1], min(run["seconds"] for run in runs)
        residual = "–" if last["residual"] is None else f"{last['residual']:.1e}"
        process = statistics.median(run["process"] for run in runs)
        print(f"| {name} | {median[name]:.3f} ({best:.3f}) | {last['products']} | {residual} "
              f"| {last['energy'] - reference['energy']:+.1e} | {median[name] / median['eigenforge']:.2f} | {process:.2f} |")
    return rows


def main():
    arguments = parse_arguments()
    if os.environ.get("EIGENFORGE_PEERS_INSIDE") != "1":
        enter_environment(arguments)
    if arguments.pyscf:
        return solve_pyscf(*arguments.pyscf)
    import importlib.metadata
    import platform

    versions = dict(python=platform.python_version(), pyscf=importlib.metadata.version("pyscf"))
    print(f"{arguments.threads} threads; {versions}; load {os.getloadavg()[0]:.1f}", flush=True)
    record = dict(threads=arguments.threads, versions=versions, tolerance=TOLERANCE, cases={})
    with tempfile.TemporaryDirectory() as folder:
        for case in arguments.case or CASES:
            record["cases"][case] = compare(case, arguments, pathlib.Path(folder))
    if arguments.output:
        arguments.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
