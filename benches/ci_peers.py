#!/usr/bin/env python3
"""Full CI ground states on the CPU: eigenforge beside PySCF, same integrals, same cores, same run.

In:   FCIDUMP files of tests/data/ci and benches/ci, and a number of threads.
Out:  one table on the terminal, and with --output a JSON file with every number.
Runs: makes a virtual environment under target/ci_peers, installs pyscf (with --spins also pyscf-forge) from PyPI in
      it, restarts itself there, and calls target/release/eigenforge. With --here it uses the Python that runs it.
      Without pyscf-forge its rows are left out.

    python3 benches/ci_peers.py                                   # H2O and N2; about a minute after the installation
    python3 benches/ci_peers.py --case OH_631g_fc_0.97 --repeats 9
    python3 benches/ci_peers.py --spins --case N2_ccpvdz_10e_14o --threads 2 --repeats 1
    python3 benches/ci_peers.py --spins --case N2_ccpvdz_10e_16o --device cuda:0 --repeats 3

With --spins the rows are one singlet and one triplet in configuration state functions and in determinants, beside
fci.direct_spin1 and pyscf-forge's csf_fci; with --device of a card eigenforge's rows alone. A "product" is the mean of
our solve and the shortest of PySCF's contract_2e.

Both solve for the lowest state to a residual |Hx - Ex| of 1e-8 Hartree; PySCF's residual is computed here from its
vector. Each solve is a process of its own; programs take turns.

"solve" is from integrals in memory to the vector: eigenforge's own seconds of setup and solve, PySCF's kernel(). The
ratio is of these, since "process", from the start of each process to its end, is for PySCF partly Python's own start.
eigenforge does not search for missed states here (certify = false), as PySCF does not.
"""

import argparse
import importlib.util
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
DATA = [ROOT / "tests" / "data" / "ci", ROOT / "benches" / "ci"]
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
# The same of --spins.
SPIN_ROWS = {
    "eigenforge, functions, S = 0": ("eigenforge", {"basis": "csf", "two_s": 0}),
    "eigenforge, determinants": ("eigenforge", {}),
    "pyscf fci.direct_spin1": ("pyscf", {"module": "direct_spin1"}),
    "pyscf-forge csf_fci, S = 0": ("pyscf", {"module": "csf_fci", "two_s": 0}),
    "eigenforge, functions, S = 1": ("eigenforge", {"basis": "csf", "two_s": 2}),
    "pyscf-forge csf_fci, S = 1": ("pyscf", {"module": "csf_fci", "two_s": 2}),
}


# ---------------------------------------------------------------------------------- environment

def enter_environment(arguments):
    """Restarts this script inside the virtual environment, made and filled at the first call."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        print(f"making a virtual environment in {HOME.relative_to(ROOT)} ...", file=sys.stderr)
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
    # pyscf-forge is compiled as it is installed; where that fails its rows are left out.
    packages = [("pyscf", "pyscf"), ("pyscf-forge", "pyscf.csf_fci")]
    for package, module in packages if arguments.spins else packages[:1]:
        have = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True)
        if have.returncode != 0:
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", package], check=package == "pyscf")
    restart(python, arguments)


def restart(python, arguments):
    """Restarts this script in a Python, with the number of threads in the environment."""
    threads = str(arguments.threads)
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = dict(os.environ, EIGENFORGE_PEERS_INSIDE="1", **{name: threads for name in variables})
    os.execve(str(python), [str(python), str(pathlib.Path(__file__).resolve()), *sys.argv[1:]], environment)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", action="append", help=f"name of a file (default {' and '.join(CASES)})")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores at hand")
    parser.add_argument("--repeats", type=int, default=5, help="solves of each row (default %(default)s)")
    parser.add_argument("--spins", action="store_true", help="a singlet and a triplet, in functions and determinants")
    parser.add_argument("--row", action="append", help="a row by its name (default all); the first is what ratios are of")
    parser.add_argument("--device", default="cpu", help="eigenforge's (default %(default)s)")
    parser.add_argument("--here", action="store_true", help="with the packages of this Python")
    parser.add_argument("--program", default=ROOT / "target" / "release" / "eigenforge", type=pathlib.Path, help="eigenforge")
    parser.add_argument("--output", type=pathlib.Path, help="write every number to this JSON file")
    parser.add_argument("--pyscf", nargs=3, metavar=("FCIDUMP", "MODULE", "TWO_S"), help=argparse.SUPPRESS)
    return parser.parse_args()


# ---------------------------------------------------------------------------------- one solve

def solver_of(module, two_s):
    """PySCF's solver of a module, and the module itself."""
    import importlib

    if module == "csf_fci":
        from pyscf.csf_fci import csf

        return csf.FCISolver(smult=two_s + 1)
    fci = importlib.import_module(f"pyscf.fci.{module}")
    return fci.FCI() if module == "direct_spin1_symm" else fci.FCISolver()


def solve_pyscf(path, module, two_s):
    """The child process of a PySCF row: reads, solves, prints its numbers."""
    import numpy as np
    from pyscf import ao2mo
    from pyscf.tools import fcidump

    told = fcidump.read(path, verbose=False)
    orbitals, electrons, core = told["NORB"], told["NELEC"], told["ECORE"]
    two_sz = two_s if module == "csf_fci" else told["MS2"]
    spins = ((electrons + two_sz) // 2, (electrons - two_sz) // 2)
    two = ao2mo.restore(8, told["H2"], orbitals)
    solver = solver_of(module, two_s)
    solver.verbose, solver.max_cycle, solver.max_memory = 0, 300, 8000
    solver.conv_tol, solver.conv_tol_residual = 1e-12, TOLERANCE
    # Corrections whose squared norm is below this are dropped, which would end the search at a residual of 1e-7.
    solver.lindep = TOLERANCE**2 / 10
    more = {}
    if module == "direct_spin1_symm":
        # Molpro's numbers less one multiply by XOR, which is all that the module asks of orbsym.
        more = dict(orbsym=np.array(told["ORBSYM"]) - 1, wfnsym=0)
    products, shortest = 0, float("inf")
    contract = solver.contract_2e

    def counted(*given, **named):
        nonlocal products, shortest
        begun = time.perf_counter()
        product = contract(*given, **named)
        products, shortest = products + 1, min(shortest, time.perf_counter() - begun)
        return product

    solver.contract_2e = counted
    start = time.perf_counter()
    energy, vector = solver.kernel(told["H1"], two, orbitals, spins, ecore=core, **more)
    seconds = time.perf_counter() - start
    # The residual by the plain module, whatever solved it.
    from pyscf.fci import direct_spin1

    hamiltonian = direct_spin1.absorb_h1e(told["H1"], two, orbitals, spins, 0.5)
    vector = np.asarray(vector).ravel()
    dimension = vector.size
    if module == "csf_fci":
        dimension = solver.transformer.ncsf
    strings = [direct_spin1.cistring.num_strings(orbitals, spin) for spin in spins]
    if vector.size == strings[0] * strings[1]:
        sigma = direct_spin1.contract_2e(hamiltonian, vector.reshape(strings), orbitals, spins).ravel()
        residual = float(np.linalg.norm(sigma - (energy - core) * vector) / np.linalg.norm(vector))
    else:
        residual = None
    found = dict(energy=float(energy), seconds=seconds, residual=residual, products=products, product=shortest)
    print(json.dumps(dict(found, dimension=int(dimension))))


def run(command, **settings):
    start = time.perf_counter()
    child = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
    seconds = time.perf_counter() - start
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{child.stdout}{child.stderr}")
    return child.stdout, seconds


def solve(program, told, case, arguments, folder):
    """One solve in a process of its own."""
    path = next(path for path in (folder / f"{case}.FCIDUMP" for folder in DATA) if path.exists())
    if program == "pyscf":
        out, process = run([sys.executable, __file__, "--pyscf", path, told["module"], told.get("two_s", 0)])
        return dict(json.loads(out), process=process)
    file = folder / f"{case}_{'_'.join(map(str, told.values())) or 'all'}.toml"
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items())
    file.write_text(
        f'[ci]\nfcidump = "{path}"\nspace = "fci"\nstates = 1\naverages = false\n{keys}\n'
        '[solve]\nsolver = "davidson"\ncertify = false\n'
    )
    binary = arguments.program.resolve()
    if not binary.exists():
        raise SystemExit(f"{binary} is missing; build it first: cargo build --release")
    command = [binary, "solve", file, "--device", arguments.device, "--json", "--tolerance"]
    # The tolerance is a share of the norm of H, which any solve tells.
    norm = json.loads(run([*command, "0.5"])[0])["norm"]
    out, process = run([*command, str(TOLERANCE / norm)])
    record = json.loads(out)
    seconds = record["seconds"]["setup"] + record["seconds"]["solve"]
    return dict(energy=record["energies"][0], residual=record["residuals"][0], products=record["multiplies"],
                product=record["cost"]["seconds"], seconds=seconds, process=process, dimension=record["dimension"],
                storage=record["storage"])


# ---------------------------------------------------------------------------------- the table

def rows_of(arguments):
    """The rows that this machine and these arguments have."""
    peers = arguments.device == "cpu"
    forge = peers and importlib.util.find_spec("pyscf.csf_fci") is not None

    def is_wanted(name, program, told):
        is_here = program == "eigenforge" or (forge if told["module"] == "csf_fci" else peers)
        return is_here and (arguments.row is None or name in arguments.row)

    rows = SPIN_ROWS if arguments.spins else ROWS
    return {name: row for name, row in rows.items() if is_wanted(name, *row)}


def compare(case, arguments, folder):
    table = rows_of(arguments)
    rows = {name: [] for name in table}
    # The first of several rounds warms the disk's cache.
    warm = arguments.repeats > 1
    for repeat in range(arguments.repeats + warm):
        for name, (program, told) in table.items():
            found = solve(program, told, case, arguments, folder)
            if repeat >= warm:
                rows[name].append(dict(found, load=os.getloadavg()[0]))
    first = next(iter(rows))
    reference = rows[first][0]
    print(f"\n{case}: lowest energy {reference['energy']:.10f}\n")
    print("| program | dimension | product, s | solve, s (best) | products | residual | energy less the first row's "
          "| ratio of products | of solves | process, s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    median = {name: statistics.median(run["seconds"] for run in runs) for name, runs in rows.items()}
    for name, runs in rows.items():
        last, best = runs[-1], min(run["seconds"] for run in runs)
        residual = "–" if last["residual"] is None else f"{last['residual']:.1e}"
        process = statistics.median(run["process"] for run in runs)
        product = {name: min(run["product"] for run in runs) for name, runs in rows.items()}
        print(f"| {name} | {last['dimension']:,} | {product[name]:.4f} | {median[name]:.3f} ({best:.3f}) | {last['products']} "
              f"| {residual} | {last['energy'] - reference['energy']:+.1e} | {product[name] / product[first]:.2f} "
              f"| {median[name] / median[first]:.2f} | {process:.2f} |", flush=True)
    return rows


def main():
    arguments = parse_arguments()
    if os.environ.get("EIGENFORGE_PEERS_INSIDE") != "1":
        restart(sys.executable, arguments) if arguments.here else enter_environment(arguments)
    if arguments.pyscf:
        path, module, two_s = arguments.pyscf
        return solve_pyscf(path, module, int(two_s))
    import platform

    versions = dict(python=platform.python_version())
    if arguments.device == "cpu":
        import pyscf

        versions["pyscf"] = pyscf.__version__
    print(f"{arguments.threads} threads; {versions}; load {os.getloadavg()[0]:.1f}", flush=True)
    record = dict(threads=arguments.threads, versions=versions, tolerance=TOLERANCE, cases={})
    with tempfile.TemporaryDirectory() as folder:
        for case in arguments.case or CASES:
            record["cases"][case] = compare(case, arguments, pathlib.Path(folder))
    if arguments.output:
        arguments.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
