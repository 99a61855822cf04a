#!/usr/bin/env python3
"""The CPU: eigenforge beside SciPy and QuSpin, same cores, same run. The Hubbard multiply y = H x, or, with --models, spin models and
pair hopping from the terms to the ground state (cpu_peers_models.py).

In:   a case LXxLY:UP,DOWN (open boundaries, t = 1, U = 4) and a number of threads.
Out:  one table on the terminal, and with --output a JSON file with every number.
Runs: makes a virtual environment under target/cpu_peers, installs numpy, scipy, quspin and
      threadpoolctl from PyPI in it, restarts itself there, and calls target/release/eigenforge.

    python3 benches/cpu_peers.py                      # 4x4:5,5, dimension 19,079,424; about 5 minutes
    python3 benches/cpu_peers.py --case 3x4:5,5       # dimension 627,264; seconds
    python3 benches/cpu_peers.py --models all         # Heisenberg and J1-J2 rings, kagome, pair hopping; minutes

H = -t sum_{<ij>,s} (c+_is c_js + h.c.) + U sum_i n_iup n_idn as H v = D v + (I x A_up) v + (A_dn x I) v
(Yamada, Machida, Imamura 2020, eq. 2). Basis index = up + n_up * down, each species ascending in its
bit string, site 0 the least significant bit; site = x + LX * y.

Every program multiplies the same vector, x_i = splitmix64(seed + (i + 1) * golden) in [-1, 1), and four
numbers of the result are compared: x.x, x.Hx, z.Hx with another such vector z, and |Hx|.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "cpu_peers"
PACKAGES = ["numpy", "scipy", "quspin", "threadpoolctl"]
SEED_X, SEED_Z = 1, 2


# ---------------------------------------------------------------------------------- environment

def enter_environment(arguments, script=pathlib.Path(__file__)):
    """Restarts a script inside the virtual environment, made and filled at the first call."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        print(f"making a virtual environment in {HOME.relative_to(ROOT)} ...", file=sys.stderr)
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
    have = subprocess.run([str(python), "-c", "import numpy, scipy, quspin, threadpoolctl"], capture_output=True)
    if have.returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    threads = str(arguments.threads)
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = dict(os.environ, EIGENFORGE_PEERS_INSIDE="1", **{name: threads for name in variables})
    os.execve(str(python), [str(python), str(script.resolve()), *sys.argv[1:]], environment)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", default="4x4:5,5", help="LXxLY:UP,DOWN, open boundaries (default %(default)s)")
    parser.add_argument("--models", metavar="NAMES", help="all, or a comma-separated part of ring, J1-J2 ring, kagome, pair hopping")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores at hand")
    parser.add_argument("--repeats", type=int, default=7, help="timed calls of each variant (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="write every number to this JSON file")
    parser.add_argument("--only", default="scipy,quspin,eigenforge", help="comma-separated part of the list (default all)")
    return parser.parse_args()


# ---------------------------------------------------------------------------------- the problem

def open_rectangle(length_x, length_y):
    """Bonds of an open rectangle, site = x + length_x * y."""
    bonds = []
    for y in range(length_y):
        for x in range(length_x):
            site = x + length_x * y
            if x + 1 < length_x:
                bonds.append((site, site + 1))
            if y + 1 < length_y:
                bonds.append((site, site + length_x))
    return bonds


def species_states(sites, particles):
    """Bit strings with `particles` of `sites` bits set, ascending."""
    import numpy as np

    every = np.arange(1 << sites, dtype=np.uint32)
    return every[np.bitwise_count(every) == particles]


def hopping_matrix(states, bonds, hopping):
    """A of one spin species: -t (c+_i c_j + h.c.) with the sign of the occupied sites between i and j."""
    import numpy as np
    import scipy.sparse as sparse

    rows, columns, values = [], [], []
    everyone = np.arange(len(states))
    for i, j in bonds:
        low, high = min(i, j), max(i, j)
        between = np.uint32(((1 << high) - 1) & ~((1 << (low + 1)) - 1))
        mask = np.uint32((1 << i) | (1 << j))
        hops = np.bitwise_count(states & mask) == 1
        target = np.searchsorted(states, states[hops] ^ mask)
        sign = 1.0 - 2.0 * (np.bitwise_count(states[hops] & between) & 1)
        rows.append(target)
        columns.append(everyone[hops])
        values.append(-hopping * sign)
    shape = (len(states), len(states))
    if not rows:
        return sparse.csr_matrix(shape)
    return sparse.coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape).tocsr()


def seeded_vector(dimension, seed):
    """x_i = splitmix64(seed + (i + 1) * golden), mapped to [-1, 1) by its upper 53 bits."""
    import numpy as np

    out = np.empty(dimension)
    for start in range(0, dimension, 1 << 20):
        i = np.arange(start, min(start + (1 << 20), dimension), dtype=np.uint64)
        with np.errstate(over="ignore"):
            z = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
        out[start:start + len(i)] = (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    return out


class Problem:
    """One Hubbard sector with its Kronecker factors and the vector everyone multiplies."""

    def __init__(self, case, interaction=4.0, hopping=1.0):
        import numpy as np

        shape, filling = case.split(":")
        self.length = tuple(int(n) for n in shape.split("x"))
        self.up, self.down = (int(n) for n in filling.split(","))
        self.sites = self.length[0] * self.length[1]
        if len(self.length) != 2 or self.sites > 20 or max(self.up, self.down) > self.sites:
            raise SystemExit(f"--case {case}: expected LXxLY:UP,DOWN with at most 20 sites and at most one particle of a spin a site")
        self.interaction = interaction
        self.hopping = hopping
        self.bonds = open_rectangle(*self.length)
        self.up_states = species_states(self.sites, self.up)
        self.down_states = species_states(self.sites, self.down)
        self.a_up = hopping_matrix(self.up_states, self.bonds, hopping)
        self.a_down = hopping_matrix(self.down_states, self.bonds, hopping)
        self.n_up, self.n_down = len(self.up_states), len(self.down_states)
        self.dimension = self.n_up * self.n_down
        # as a matrix with one row a down state: C order, so that the flat index is up + n_up * down
        self.diagonal = interaction * np.bitwise_count(self.down_states[:, None] & self.up_states[None, :]).astype(float)
        self.x = seeded_vector(self.dimension, SEED_X)
        self.z = seeded_vector(self.dimension, SEED_Z)

    def fingerprint(self, y):
        """The numbers by which two programs' H x are compared."""
        import numpy as np

        return {
            "x_x": float(self.x @ self.x),
            "x_hx": float(self.x @ y),
            "z_hx": float(self.z @ y),
            "hx_norm": float(np.sqrt(y @ y)),
        }


# ---------------------------------------------------------------------------------- timing

def measure(multiply, repeats):
    """Median and best wall time and median processor time of `multiply()`, after one call to warm up."""
    y = multiply()
    del y
    wall, cpu = [], []
    for _ in range(repeats):
        w, c = time.perf_counter(), time.process_time()
        y = multiply()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
        del y
    return {
        "milliseconds": statistics.median(wall) * 1e3,
        "best_milliseconds": min(wall) * 1e3,
        "cpu_milliseconds": statistics.median(cpu) * 1e3,
        "load": os.getloadavg()[0],
    }


class Table:
    """Rows as they are measured; each checked against the first."""

    def __init__(self, problem):
        self.problem = problem
        self.rows = []
        self.reference = None

    def add(self, program, variant, threads, timing, fingerprint):
        if self.reference is None:
            self.reference = fingerprint
        norm_x, norm_y = math.sqrt(self.reference["x_x"]), self.reference["hx_norm"]
        error = max(
            abs(fingerprint["x_hx"] - self.reference["x_hx"]) / (norm_x * norm_y),
            abs(fingerprint["z_hx"] - self.reference["z_hx"]) / (norm_x * norm_y),
            abs(fingerprint["hx_norm"] - self.reference["hx_norm"]) / norm_y,
        )
        row = dict(program=program, variant=variant, threads=threads, relative_error=error, **timing, **fingerprint)
        self.rows.append(row)
        print(f"  {program:10} {variant:58} {threads:2} thr {timing['milliseconds']:9.1f} ms"
              f"   best {timing['best_milliseconds']:9.1f}   error {error:.1e}   load {timing['load']:.1f}", flush=True)
        if not error < 1e-12:
            raise SystemExit(f"{program}, {variant}: H x differs from the first row's by {error:.1e} (relative)")

    def time(self, program, variant, threads, multiply, repeats, back=lambda y: y):
        fingerprint = self.problem.fingerprint(back(multiply()).reshape(-1))
        self.add(program, variant, threads, measure(multiply, repeats), fingerprint)


# ---------------------------------------------------------------------------------- SciPy

def scipy_variants(problem, table, threads, repeats):
    """The natural spellings of D*V + A_up V + V A_dn^T, one thread as SciPy is, and rows or blocks on a thread pool."""
    import numpy as np
    from concurrent.futures import ThreadPoolExecutor

    c_order = problem.x.reshape(problem.n_down, problem.n_up)  # v[down, up], C order
    f_order = np.asfortranarray(c_order)
    d, d_f = problem.diagonal, np.asfortranarray(problem.diagonal)
    down_csr, up_csr = problem.a_down.tocsr(), problem.a_up.tocsr()
    down_csc, up_csc = down_csr.tocsc(), up_csr.tocsc()
    up_transposed = up_csr.T.tocsr()

    def transposed_twice(v):
        y = down_csr @ v
        y += (up_csr @ v.T).T
        y += d * v
        return y

    table.time("scipy", "D*V + Ad@V + (Au@V.T).T, CSR, C order", 1, lambda: transposed_twice(c_order), repeats)
    table.time("scipy", "D*V + Ad@V + (Au@V.T).T, CSR, F order", 1,
               lambda: down_csr @ f_order + (up_csr @ f_order.T).T + d_f * f_order, repeats, np.ascontiguousarray)
    table.time("scipy", "D*V + Ad@V + V@Au, CSR, C order", 1,
               lambda: down_csr @ c_order + c_order @ up_transposed + d * c_order, repeats, np.ascontiguousarray)
    table.time("scipy", "D*V + Ad@V + V@Au, CSC, C order", 1,
               lambda: down_csc @ c_order + c_order @ up_csc + d * c_order, repeats, np.ascontiguousarray)
    del f_order, d_f

    def blocked(block, pool):
        """Cache-sized blocks: rows of V for A_up (transposed within the block), rows of A_dn for A_dn."""
        starts = range(0, problem.n_down, block)
        pieces = [down_csr[s:s + block] for s in starts]

        def one(k):
            rows = slice(starts[k], min(starts[k] + block, problem.n_down))
            y[rows] = (up_csr @ np.ascontiguousarray(c_order[rows].T)).T
            y[rows] += pieces[k] @ c_order
            y[rows] += d[rows] * c_order[rows]

        y = np.empty_like(c_order)

        def multiply():
            list(pool.map(one, range(len(starts)))) if pool else [one(k) for k in range(len(starts))]
            return y

        return multiply

    def halves(pool):
        """Rows of both factors and of the sums in equal parts, one a thread."""
        cuts = np.linspace(0, problem.n_down, threads + 1).astype(int)
        cuts_up = np.linspace(0, problem.n_up, threads + 1).astype(int)
        down_parts = [down_csr[a:b] for a, b in zip(cuts, cuts[1:])]
        up_parts = [up_csr[a:b] for a, b in zip(cuts_up, cuts_up[1:])]
        turned = np.empty((problem.n_up, problem.n_down))
        half = np.empty((problem.n_up, problem.n_down))
        y = np.empty_like(c_order)

        def turn(k):
            turned[cuts_up[k]:cuts_up[k + 1]] = c_order[:, cuts_up[k]:cuts_up[k + 1]].T

        def up(k):
            half[cuts_up[k]:cuts_up[k + 1]] = up_parts[k] @ turned

        def down(k):
            rows = slice(cuts[k], cuts[k + 1])
            y[rows] = down_parts[k] @ c_order
            y[rows] += d[rows] * c_order[rows]
            y[rows] += half[:, rows].T

        def multiply():
            for step in (turn, up, down):
                list(pool.map(step, range(threads)))
            return y

        return multiply

    blocks = [block for block in (16, 64, 256) if block < problem.n_down]
    for block in blocks:
        table.time("scipy", f"blocks of {block} rows", 1, blocked(block, None), repeats)
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            table.time("scipy", "rows of both factors split over a thread pool", threads, halves(pool), repeats)
            for block in blocks:
                table.time("scipy", f"blocks of {block} rows on a thread pool", threads, blocked(block, pool), repeats)


# ---------------------------------------------------------------------------------- QuSpin

def kronecker_csr(problem):
    """The whole H as one CSR matrix, filled in place (no copies: about 12 bytes a non-zero)."""
    import numba
    import numpy as np
    import scipy.sparse as sparse

    up, down = problem.a_up, problem.a_down
    row_up, row_down = np.diff(up.indptr), np.diff(down.indptr)
    width = (row_down[:, None].astype(np.int64) + row_up[None, :] + 1).reshape(-1)
    nonzeros = int(width.sum())
    index = np.int32 if max(nonzeros, problem.dimension) < 2**31 else np.int64
    pointer = np.zeros(problem.dimension + 1, dtype=index)
    np.cumsum(width, out=pointer[1:])
    columns, values = np.empty(nonzeros, dtype=index), np.empty(nonzeros)

    @numba.njit(cache=False)
    def fill(n_up, n_down, up_ptr, up_col, up_val, down_ptr, down_col, down_val, diagonal, pointer, columns, values):
        for j in range(n_down):
            for i in range(n_up):
                at = pointer[i + n_up * j]
                placed = False
                for k in range(down_ptr[j], down_ptr[j + 1]):
                    if not placed and down_col[k] > j:
                        at = inner(i, j, n_up, at, up_ptr, up_col, up_val, diagonal, columns, values)
                        placed = True
                    columns[at] = i + n_up * np.int64(down_col[k])
                    values[at] = down_val[k]
                    at += 1
                if not placed:
                    inner(i, j, n_up, at, up_ptr, up_col, up_val, diagonal, columns, values)

    @numba.njit(cache=False)
    def inner(i, j, n_up, at, up_ptr, up_col, up_val, diagonal, columns, values):
        placed = False
        for k in range(up_ptr[i], up_ptr[i + 1]):
            if not placed and up_col[k] > i:
                columns[at] = i + n_up * j
                values[at] = diagonal[j, i]
                at += 1
                placed = True
            columns[at] = up_col[k] + n_up * j
            values[at] = up_val[k]
            at += 1
        if not placed:
            columns[at] = i + n_up * j
            values[at] = diagonal[j, i]
            at += 1
        return at

    up.sort_indices()
    down.sort_indices()
    fill(problem.n_up, problem.n_down, up.indptr, up.indices, up.data, down.indptr, down.indices, down.data,
         problem.diagonal, pointer, columns, values)
    matrix = sparse.csr_matrix((problem.dimension, problem.dimension))
    matrix.data, matrix.indices, matrix.indptr = values, columns, pointer
    return matrix


def quspin_basis_and_list(problem):
    """QuSpin's general spinful basis, its static list, and the place of each of its states in our order."""
    import numpy as np
    from quspin.basis import spinful_fermion_basis_general

    basis = spinful_fermion_basis_general(problem.sites, Nf=(problem.up, problem.down))
    t, u = problem.hopping, problem.interaction
    left = [[-t, i, j] for i, j in problem.bonds] + [[-t, j, i] for i, j in problem.bonds]
    static = [["+-|", left], ["|+-", left], ["n|n", [[u, i, i] for i in range(problem.sites)]]]
    # QuSpin: 2 * sites bits, up sites first; its site 0 is the most significant bit of each half
    states = basis.states.astype(np.uint64)
    half = np.uint64((1 << problem.sites) - 1)
    table = np.zeros(1 << problem.sites, dtype=np.uint32)
    for site in range(problem.sites):
        every = np.arange(1 << problem.sites, dtype=np.uint32)
        table |= ((every >> np.uint32(problem.sites - 1 - site)) & np.uint32(1)) << np.uint32(site)
    up = np.searchsorted(problem.up_states, table[(states >> np.uint64(problem.sites)) & half])
    down = np.searchsorted(problem.down_states, table[states & half])
    place = up.astype(np.int64) + problem.n_up * down.astype(np.int64)
    return basis, static, place


def free_memory():
    with open("/proc/meminfo") as lines:
        return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}["MemAvailable"]


def quspin_variants(problem, table, threads, repeats):
    """Its matrix-free multiply, its own matrix if small, and its parallel CSR multiply."""
    import numpy as np
    import quspin
    from quspin.operators import hamiltonian, quantum_LinearOperator
    from quspin.tools.matvec import matvec

    started = time.perf_counter()
    basis, static, place = quspin_basis_and_list(problem)
    x = problem.x[place]
    print(f"  quspin {quspin.__version__}: basis made in {time.perf_counter() - started:.1f} s", flush=True)
    checks = dict(check_pcon=False, check_symm=False, check_herm=False)

    def back(y):
        ours = np.empty_like(y)
        ours[place] = y
        return ours

    if problem.dimension <= 1_000_000:
        matrix = hamiltonian(static, [], basis=basis, dtype=np.float64, **checks)
        table.time("quspin", "hamiltonian.dot, its own matrix", threads, lambda: matrix.dot(x), repeats, back)
        del matrix
    operator = quantum_LinearOperator(static, basis=basis, dtype=np.float64, **checks)
    few = repeats if problem.dimension <= 1_000_000 else 2
    table.time("quspin", "quantum_LinearOperator.dot, matrix-free", threads, lambda: operator.dot(x), few, back)
    del operator, x, place, basis

    nonzeros = problem.n_up * problem.a_down.nnz + problem.n_down * problem.a_up.nnz + problem.dimension
    needed = nonzeros * 12 + 6 * 8 * problem.dimension
    if needed > 0.8 * free_memory():
        print(f"  quspin CSR left out: {needed / 1e9:.1f} GB needed, {free_memory() / 1e9:.1f} GB free")
        return
    started = time.perf_counter()
    matrix = kronecker_csr(problem)
    print(f"  whole matrix filled: {matrix.nnz:,} non-zeros in {time.perf_counter() - started:.1f} s", flush=True)
    out = np.empty(problem.dimension)

    def parallel_dot():
        return matvec(matrix, problem.x, out=out, overwrite_out=True)

    table.time("quspin", "tools.matvec, OpenMP CSR of the whole matrix", threads, parallel_dot, repeats)
    table.time("scipy", "CSR of the whole matrix @ x", 1, lambda: matrix @ problem.x, max(2, repeats // 2))


# ---------------------------------------------------------------------------------- eigenforge

def binary():
    """The program of the release build."""
    path = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "eigenforge"
    if not path.exists():
        raise SystemExit(f"{path} is missing; build it first: cargo build --release")
    return path


def eigenforge_row(case, table, threads, repeats):
    """Our multiply by the program's own bench, in a process of its own with the same number of threads."""
    command = [str(binary()), "bench", "hubbard", "--case", case, "--device", "cpu", "--json",
               "--multiply-only", "--repeats", str(repeats)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stderr}")
    record = json.loads(run.stdout)
    ours, check = record["multiply"], record["check"]
    timing = dict(milliseconds=ours["milliseconds"], best_milliseconds=ours["best_milliseconds"],
                  cpu_milliseconds=None, load=os.getloadavg()[0])
    table.add("eigenforge", "bench hubbard --device cpu", record["threads"], timing,
              {key: check[key] for key in ("x_x", "x_hx", "z_hx", "hx_norm")})
    return record


def main():
    arguments = parse_arguments()
    if os.environ.get("EIGENFORGE_PEERS_INSIDE") != "1":
        enter_environment(arguments)
    if arguments.models:
        sys.modules.setdefault("cpu_peers", sys.modules["__main__"])
        import cpu_peers_models

        if arguments.program:
            return cpu_peers_models.child(arguments.models, arguments.program, arguments.repeats)
        return cpu_peers_models.run(arguments)
    import numpy
    import scipy
    import importlib.metadata
    import platform

    chosen = set(arguments.only.split(","))
    problem = Problem(arguments.case)
    versions = dict(python=platform.python_version(), numpy=numpy.__version__, scipy=scipy.__version__,
                    quspin=importlib.metadata.version("quspin"))
    print(f"{arguments.case}: {problem.n_up:,} x {problem.n_down:,} = {problem.dimension:,}; {arguments.threads} threads; {versions}")
    table, ours = Table(problem), None
    if "scipy" in chosen:
        scipy_variants(problem, table, arguments.threads, arguments.repeats)
    # ours after each of the peers, so that a machine that grows quieter or busier favours nobody
    if "eigenforge" in chosen:
        ours = eigenforge_row(arguments.case, table, arguments.threads, arguments.repeats)
    if "quspin" in chosen:
        quspin_variants(problem, table, arguments.threads, arguments.repeats)
        if "eigenforge" in chosen:
            eigenforge_row(arguments.case, table, arguments.threads, arguments.repeats)

    print("\n| program | threads | fastest variant | ms | eigenforge is faster by |\n|---|---|---|---|---|")
    own = [row for row in table.rows if row["program"] == "eigenforge"]
    mine = max(own, key=lambda row: row["milliseconds"]) if own else None  # the slower of the two
    for program, threads in sorted({(row["program"], row["threads"]) for row in table.rows}):
        rows = [row for row in table.rows if (row["program"], row["threads"]) == (program, threads)]
        best = mine if program == "eigenforge" else min(rows, key=lambda row: row["milliseconds"])
        ratio = f"{best['milliseconds'] / mine['milliseconds']:.2f}" if mine else "–"
        print(f"| {program} | {threads} | {best['variant']} | {best['milliseconds']:.1f} | {ratio} |")
    if arguments.output:
        record = dict(case=arguments.case, dimension=problem.dimension, threads=arguments.threads, versions=versions,
                      rows=table.rows, eigenforge=ours)
        arguments.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
