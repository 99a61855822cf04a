#!/usr/bin/env python3
"""Symmetry sectors on the CPU: eigenforge beside QuSpin, same cores, same run. The list of states, H as a matrix, a multiply, the
ground state of Heisenberg models with 2Sz = 0 in the sector of zero momentum that is even under the other symmetries.

In:   names of cases and a number of threads.
Out:  one table on the terminal, and with --output a JSON file with every number. Dimensions and energies are compared.
Runs: in the virtual environment of cpu_peers.py, and target/release/eigenforge.

    python3 benches/symmetry_peers.py                    # rings of 24 and 28, square 6 x 4; minutes
    python3 benches/symmetry_peers.py --only "ring 24"   # seconds
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

import cpu_peers

CASES = {
    "ring 24": ("chain", [24]),
    "ring 28": ("chain", [28]),
    "square 6 x 4": ("square", [6, 4]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", help="one of " + ", ".join(CASES))
    parser.add_argument("--program", default=str(cpu_peers.ROOT / "target" / "release" / "eigenforge"), help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores at hand")
    parser.add_argument("--repeats", type=int, default=7, help="timed multiplies (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="write every number to this JSON file")
    return parser.parse_args()


def bonds(size):
    """Nearest neighbours with periodic boundaries, site = x + length_x * y."""
    if len(size) == 1:
        return [(i, (i + 1) % size[0]) for i in range(size[0])]
    x, y = size
    right = [(i + x * j, (i + 1) % x + x * j) for j in range(y) for i in range(x)]
    return right + [(i + x * j, i + x * ((j + 1) % y)) for j in range(y) for i in range(x)]


def permutations(size):
    """Translations and, of a ring, its mirror image; of a torus the rotation by 180 degrees."""
    sites = range(size[0] if len(size) == 1 else size[0] * size[1])
    if len(size) == 1:
        return {"t": [(i + 1) % size[0] for i in sites], "p": [size[0] - 1 - i for i in sites]}
    x, y = size
    return {
        "tx": [(i % x + 1) % x + x * (i // x) for i in sites],
        "ty": [i % x + x * ((i // x + 1) % y) for i in sites],
        "p": [(-(i % x)) % x + x * ((-(i // x)) % y) for i in sites],
    }


def eigenforge(kind, size, arguments):
    """Seconds of the list, of the matrix, of a multiply and of the whole command; dimension and energy."""
    irrep = "reflection = 1" if kind == "chain" else 'irrep = "A"\npoint_group = "C2"'
    where = f"size = {size[0] if kind == 'chain' else size}\nboundary = \"periodic\""
    text = f"""[model]
name = "xxz"
jxy = 1.0
jz = 1.0
[lattice]
kind = "{kind}"
{where}
[sector]
two_sz = 0
[symmetry]
k = {0 if kind == "chain" else [0, 0]}
{irrep}
spin_inversion = 1
[solve]
certify = false
[observables]
standard = false
"""
    with tempfile.TemporaryDirectory() as folder:
        path, trace = pathlib.Path(folder, "model.toml"), pathlib.Path(folder, "trace.json")
        path.write_text(text)
        command = [arguments.program, "solve", str(path), "--device", "cpu", "--json", "--trace", str(trace)]
        started = time.perf_counter()
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        whole = time.perf_counter() - started
        report, events = json.loads(output), json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    seconds = lambda name: sum(event.get("dur", 0.0) for event in events if event["name"] == name) * 1e-6
    return {
        "list": seconds("representatives"),
        "matrix": seconds("matrix elements"),
        "multiply": report["cost"]["seconds"],
        "whole": whole,
        "states": report["dimension"],
        "energy": report["energies"][0],
    }


def quspin(size, arguments):
    """The same of spin_basis_general and hamiltonian; its multiply by the parallel product of CSR matrices."""
    import numpy as np
    import scipy.sparse.linalg
    from quspin.basis import spin_basis_general
    from quspin.operators import hamiltonian
    from quspin.tools.matvec import matvec

    started = time.perf_counter()
    maps = permutations(size)
    sites = len(maps["p"])
    blocks = {f"{name}block": (np.array(image), 0) for name, image in maps.items()}
    basis = spin_basis_general(sites, Nup=sites // 2, zblock=(-(np.arange(sites) + 1), 0), pauli=False, **blocks)
    listed = time.perf_counter()
    static = [[word, [[factor, i, j] for i, j in bonds(size)]] for word, factor in (("+-", 0.5), ("-+", 0.5), ("zz", 1.0))]
    checks = dict(check_pcon=False, check_symm=False, check_herm=False)
    matrix = hamiltonian(static, [], basis=basis, dtype=np.float64, static_fmt="csr", **checks).tocsr()
    made = time.perf_counter()
    x = np.random.default_rng(1).standard_normal(basis.Ns)
    y, times = np.empty_like(x), []
    for _ in range(arguments.repeats + 1):
        before = time.perf_counter()
        matvec(matrix, x, out=y)
        times.append(time.perf_counter() - before)
    solving = time.perf_counter()
    energy = scipy.sparse.linalg.eigsh(matrix, k=1, which="SA", return_eigenvectors=False)[0]
    ended = time.perf_counter()
    return {
        "list": listed - started,
        "matrix": made - listed,
        "multiply": statistics.median(times[1:]),
        "whole": made - started + ended - solving,
        "states": int(basis.Ns),
        "energy": float(energy),
    }


def main():
    arguments = parse_arguments()
    if "EIGENFORGE_PEERS_INSIDE" not in os.environ:
        cpu_peers.enter_environment(arguments, pathlib.Path(__file__))
    if arguments.only and arguments.only not in CASES:
        sys.exit(f"--only {arguments.only}: there are " + ", ".join(CASES))
    print(f"{arguments.threads} threads; seconds, of a multiply milliseconds")
    print("| sector | states | | list | H | multiply, ms | terms to energy |\n|---|---|---|---|---|---|---|")
    found = {}
    for name, (kind, size) in CASES.items():
        if arguments.only in (None, name):
            ours, theirs = eigenforge(kind, size, arguments), quspin(size, arguments)
            if ours["states"] != theirs["states"] or abs(ours["energy"] - theirs["energy"]) > 1e-8:
                sys.exit(f"{name}: eigenforge has {ours}, QuSpin {theirs}")
            for program, times in (("eigenforge", ours), ("QuSpin", theirs)):
                row = f"{times['list']:.3f} | {times['matrix']:.3f} | {1e3 * times['multiply']:.3f} | {times['whole']:.2f}"
                print(f"| {name} | {times['states']:,} | {program} | {row} |", flush=True)
            ratios = [theirs[key] / ours[key] for key in ("list", "matrix", "multiply", "whole")]
            print(f"| {name} | | QuSpin / eigenforge | " + " | ".join(f"{ratio:.1f} ×" for ratio in ratios) + " |", flush=True)
            found[name] = {"eigenforge": ours, "quspin": theirs}
    if arguments.output:
        arguments.output.write_text(json.dumps({"threads": arguments.threads, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
