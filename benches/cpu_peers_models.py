"""Spin models and pair hopping on the CPU: eigenforge beside SciPy and QuSpin, from the terms to the ground state.

In:   names of cases (CASES), and numbers of threads.
Out:  for each case and number of threads a table of the seconds to construct H, the milliseconds of a multiply, the seconds of a
      ground state, and how much quicker eigenforge is; energies are compared first, and a difference ends the run.
Runs: by `benches/cpu_peers.py --models`, each program in a process of its own, so that its threads are set before it starts.

SciPy: compressed rows filled by numpy, `csr @ x` (one thread), `eigsh` (ARPACK).  QuSpin: `spin_basis_general` or
`spinful_fermion_basis_general`, `hamiltonian`, its `dot` and `eigsh`; and `quantum_LinearOperator`, without a matrix.
eigenforge: `solve --device cpu` without certification and averages, which the others do not have either; the whole process.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from cpu_peers import SEED_X, binary, hopping_matrix, measure, open_rectangle, seeded_vector, species_states

TOLERANCE = 1e-10
CALLS_WITHOUT_MATRIX = 3


# ---------------------------------------------------------------------------------- cases

def ring(sites, couplings):
    """Bonds (i, j, J) of a ring; couplings of the first, second, ... neighbours."""
    return [(i, (i + r) % sites, j) for r, j in enumerate(couplings, 1) for i in range(sites)]


def kagome(lx, ly):
    """Bonds of a kagome torus of lx x ly cells; site = b + 3 (x + lx y)."""
    def site(b, x, y):
        return b + 3 * (x % lx + lx * (y % ly))

    bonds = []
    for x, y in ((x, y) for y in range(ly) for x in range(lx)):
        a, b, c = (site(k, x, y) for k in range(3))
        bonds += [(a, b), (a, c), (b, c), (b, site(0, x + 1, y)), (c, site(0, x, y + 1)), (b, site(2, x + 1, y - 1))]
    return [(i, j, 1.0) for i, j in bonds]


class Spins:
    """Sum of J S.S over bonds at 2Sz = 0; bit i is site i, 1 is up, states ascending."""

    def __init__(self, name, sites, bonds):
        self.name, self.sites, self.bonds = name, sites, bonds

    def file(self):
        edges = ", ".join(f"[{i}, {j}, {weight}]" for i, j, weight in self.bonds)
        return (f"[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nsites = {self.sites}\nedges = [{edges}]\n"
                "[sector]\ntwo_sz = 0\n")

    def matrix(self):
        import numpy as np
        import scipy.sparse as sparse

        states = species_states(self.sites, self.sites // 2)
        rank = np.empty(1 << self.sites, dtype=np.int32)
        rank[states] = np.arange(len(states), dtype=np.int32)
        diagonal, rows, columns, values = np.zeros(len(states)), [], [], []
        for i, j, coupling in self.bonds:
            mask = np.uint32((1 << i) | (1 << j))
            flips = np.flatnonzero(np.bitwise_count(states & mask) == 1).astype(np.int32)
            diagonal += 0.25 * coupling
            diagonal[flips] -= 0.5 * coupling
            rows.append(rank[states[flips] ^ mask])
            columns.append(flips)
            values.append(np.full(len(flips), 0.5 * coupling))
        shape = (len(states), len(states))
        flipped = sparse.coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape)
        return (flipped.tocsr() + sparse.diags_array(diagonal)).tocsr()

    def quspin(self):
        from quspin.basis import spin_basis_general

        basis = spin_basis_general(self.sites, Nup=self.sites // 2, pauli=0)
        half, whole = ([[factor * j, a, b] for a, b, j in self.bonds] for factor in (0.5, 1.0))
        return basis, [["+-", half], ["-+", half], ["zz", whole]]


class PairHopping:
    """Electrons on an open rectangle: t = 1, U = 4, and pairs that hop with 0.6."""

    def __init__(self, name, lx, ly, up, down):
        self.name, self.size, self.up, self.down = name, (lx, ly), up, down
        self.sites, self.bonds = lx * ly, open_rectangle(lx, ly)

    def file(self):
        return ("[model]\nname = \"terms\"\nsite = \"electron\"\nH = \"\"\"\n"
                "sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.))\n"
                "+ sum(<i, j> in bonds; -0.6 * (cdag(i, Up) * cdag(i, Down) * c(j, Down) * c(j, Up) + h.c.))\n"
                "+ sum(i in sites; 4.0 * n(i, Up) * n(i, Down))\n\"\"\"\n"
                f"[lattice]\nkind = \"square\"\nsize = {list(self.size)}\nboundary = [\"open\", \"open\"]\n"
                f"[sector]\nup = {self.up}\ndown = {self.down}\n")

    def matrix(self):
        import numpy as np
        import scipy.sparse as sparse

        up, down = (species_states(self.sites, particles) for particles in (self.up, self.down))
        matrix = sparse.diags_array(4.0 * np.bitwise_count(down[:, None] & up[None, :]).astype(float).reshape(-1))
        one = [sparse.identity(len(states)) for states in (up, down)]
        matrix = matrix + sparse.kron(one[1], hopping_matrix(up, self.bonds, 1.0))
        matrix = (matrix + sparse.kron(hopping_matrix(down, self.bonds, 1.0), one[0])).tocsr()
        for i, j in self.bonds:
            # c+_i c_j of one species moves a bit from j to i: the part of the hops that end with site i occupied.
            moves = []
            for states in (up, down):
                hops = hopping_matrix(states, [(i, j)], -1.0)
                moves.append(sparse.diags_array(((states >> np.uint32(i)) & np.uint32(1)).astype(float)) @ hops)
            pair = sparse.kron(moves[1], moves[0])
            matrix = matrix - 0.6 * (pair + pair.T)
        return matrix.tocsr()

    def quspin(self):
        from quspin.basis import spinful_fermion_basis_general

        basis = spinful_fermion_basis_general(self.sites, Nf=(self.up, self.down))
        both = [(i, j) for bond in self.bonds for i, j in (bond, bond[::-1])]
        hops, pairs = [[-1.0, i, j] for i, j in both], [[-0.6, i, j, i, j] for i, j in both]
        return basis, [["+-|", hops], ["|+-", hops], ["+-|+-", pairs], ["n|n", [[4.0, i, i] for i in range(self.sites)]]]


CASES = [
    Spins("ring", 22, ring(22, [1.0])),
    Spins("J1-J2 ring", 22, ring(22, [1.0, 0.5])),
    Spins("kagome", 24, kagome(4, 2)),
    PairHopping("pair hopping", 4, 3, 6, 6),
]


# ---------------------------------------------------------------------------------- programs

def ground_state(matrix, dimension):
    """Energy and seconds of ARPACK."""
    started = time.perf_counter()
    energies = matrix.eigsh(k=1, which="SA", tol=TOLERANCE, v0=seeded_vector(dimension, SEED_X), return_eigenvectors=False)
    return float(energies[0]), time.perf_counter() - started


def row(variant, construct, multiply, solved=None):
    """One line; a program without a ground state has none."""
    energy, solve = solved or (None, None)
    return dict(variant=variant, construct=construct, milliseconds=multiply, solve=solve, energy=energy)


def scipy_rows(case, repeats):
    import scipy.sparse.linalg as linalg

    started = time.perf_counter()
    matrix = case.matrix()
    construct = time.perf_counter() - started
    x = seeded_vector(matrix.shape[0], SEED_X)
    multiply = measure(lambda: matrix @ x, repeats)["milliseconds"]

    class Arpack:
        def eigsh(self, **options):
            return linalg.eigsh(matrix, **options)

    return [row("compressed rows, eigsh", construct, multiply, ground_state(Arpack(), len(x)))]


def quspin_rows(case, repeats):
    import numpy as np
    import quspin.basis  # so that its import is not timed
    from quspin.operators import hamiltonian, quantum_LinearOperator

    checks = dict(dtype=np.float64, check_pcon=False, check_symm=False, check_herm=False)
    started = time.perf_counter()
    basis, static = case.quspin()
    matrix = hamiltonian(static, [], basis=basis, **checks)
    construct = time.perf_counter() - started
    x = seeded_vector(basis.Ns, SEED_X)
    multiply = measure(lambda: matrix.dot(x), repeats)["milliseconds"]
    rows = [row("hamiltonian", construct, multiply, ground_state(matrix, basis.Ns))]
    del matrix
    started = time.perf_counter()
    basis, static = case.quspin()
    operator = quantum_LinearOperator(static, basis=basis, **checks)
    construct = time.perf_counter() - started
    multiply = measure(lambda: operator.dot(x), min(repeats, CALLS_WITHOUT_MATRIX))["milliseconds"]
    return rows + [row("quantum_LinearOperator, no matrix", construct, multiply)]


def eigenforge_rows(case, repeats):
    """Three runs; the medians."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.toml"
        file.write_text(case.file() + f"[solve]\ncertify = false\ntolerance = {TOLERANCE}\n[observables]\nstandard = false\n")
        command = [str(binary()), "solve", str(file), "--device", "cpu", "--json"]
        runs = []
        for _ in range(3):
            started = time.perf_counter()
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode != 0:
                raise SystemExit(f"{' '.join(command)} failed:\n{run.stderr}")
            runs.append((time.perf_counter() - started, json.loads(run.stdout)))
    whole = statistics.median(seconds for seconds, _ in runs)
    solve = statistics.median(report["seconds"]["solve"] for _, report in runs)
    multiply = statistics.median(report["cost"]["seconds"] for _, report in runs) * 1e3
    return [row("solve, the whole process", whole - solve, multiply, (runs[0][1]["energies"][0], solve))]


PROGRAMS = {"scipy": scipy_rows, "quspin": quspin_rows, "eigenforge": eigenforge_rows}


def child(name, program, repeats):
    """One program in this process; its rows as JSON."""
    case = next(case for case in CASES if case.name == name)
    print(json.dumps(PROGRAMS[program](case, repeats)))


# ---------------------------------------------------------------------------------- the run

def in_process(case, program, threads, arguments):
    command = [sys.executable, os.path.abspath(sys.modules["cpu_peers"].__file__), "--models", case.name,
               "--program", program, "--threads", str(threads), "--repeats", str(arguments.repeats)]
    environment = {key: value for key, value in os.environ.items() if key != "EIGENFORGE_PEERS_INSIDE"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        raise SystemExit(f"{program} on {case.name} failed:\n{run.stderr}")
    rows = json.loads(run.stdout.strip().splitlines()[-1])
    return [dict(row, case=case.name, program=program, threads=threads, load=os.getloadavg()[0]) for row in rows]


def slower(first, second):
    """The worse number of each column of two runs of ours, one before and one after the peers."""
    worse = {key: max(first[key], second[key]) for key in ("construct", "milliseconds", "solve", "load")}
    return dict(first, **worse)


def measured(case, threads, arguments, chosen):
    """Rows of all programs with so many threads; ours before and after the others."""
    ours = in_process(case, "eigenforge", threads, arguments)[0]
    peers = []
    for program in ("scipy", "quspin"):
        # SciPy's product has one thread.
        if program in chosen and (program != "scipy" or threads == 1):
            peers += in_process(case, program, threads, arguments)
    ours = slower(ours, in_process(case, "eigenforge", threads, arguments)[0])
    for peer in peers:
        if peer["energy"] is not None and not abs(peer["energy"] - ours["energy"]) < 1e-8 * abs(ours["energy"]):
            raise SystemExit(f"{case.name}: {peer['program']} finds {peer['energy']}, eigenforge {ours['energy']}")
    return ours, peers


def run(arguments):
    names = [case.name for case in CASES] if arguments.models == "all" else arguments.models.split(",")
    unknown = [name for name in names if name not in [case.name for case in CASES]]
    if unknown:
        raise SystemExit(f"--models {unknown[0]}: expected all, or some of {', '.join(case.name for case in CASES)}")
    chosen, rows = set(arguments.only.split(",")), []
    print("| case | threads | program | construct, s | multiply, ms | ground state, s | eigenforge: multiply | whole | load |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in (case for case in CASES if case.name in names):
        for threads in sorted({1, arguments.threads}):
            ours, peers = measured(case, threads, arguments, chosen)
            for one in [ours, *peers]:
                multiply = whole = solve = "-"
                if one["solve"] is not None:
                    solve = f"{one['solve']:.2f}"
                if one is not ours:
                    multiply = f"{one['milliseconds'] / ours['milliseconds']:.1f} x"
                    if one["solve"] is not None:
                        whole = f"{(one['construct'] + one['solve']) / (ours['construct'] + ours['solve']):.1f} x"
                print(f"| {case.name} {case.sites} | {threads} | {one['program']}: {one['variant']} | {one['construct']:.2f} "
                      f"| {one['milliseconds']:.2f} | {solve} | {multiply} | {whole} | {one['load']:.1f} |", flush=True)
            rows += [ours, *peers]
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
