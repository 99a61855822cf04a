#!/usr/bin/env python3
"""The Hubbard ground state and multiply on one GPU: eigenforge beside CuPy's `eigsh`, and PyTorch, same card, same run.

In:   a case LXxLY:UP,DOWN (open boundaries, t = 1, U = 4, at most 16 sites).
Out:  one table; a program that is not installed gets a line that says so. Nothing is installed.
Runs: numpy, and of cupy, torch, scipy what there is; gpu/bin/eigenforge or target/release/eigenforge.

    python3 benches/gpu_peers.py                      # 4x4:5,5, dimension 19,079,424
    python3 benches/gpu_peers.py --case 3x4:5,5 --device cpu

Everyone multiplies in the Kronecker form, y = D*V + A_dn V + V A_up with V[down, up] and A in CSR (Yamada, Machida,
Imamura 2020, eq. 2; A_up is symmetric). x.x, x.Hx and |Hx| of one seeded vector must agree to 1e-12, energies to 1e-7.
`eigsh` of CuPy is a thick-restarted Lanczos; SciPy's is ARPACK with PyTorch's multiply and the vectors on the host.
All ground states start from a vector of random numbers in [-1, 1), and what is timed is the same: by a wall clock, from the prepared
operator to the eigenvector, each program's second solve (its first compiles kernels).
"""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", default="4x4:5,5", help="LXxLY:UP,DOWN, open boundaries (default %(default)s)")
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or cpu to try the script (default %(default)s)")
    parser.add_argument("--tolerance", type=float, default=1e-8, help="of the residual norm (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=21, help="timed multiplies (default %(default)s)")
    return parser.parse_args()


def installed(name):
    """The module, or None with a line that says why not."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation fails in many ways; each of them is "not here"
        print(f"  {name} is not here: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return None


# ---------------------------------------------------------------------------------- the problem

def hopping(states, bonds, popcount):
    """A of one spin species as (row offsets, columns, values): -(c+_i c_j + h.c.) with the fermion sign, t = 1."""
    import numpy as np

    rows, columns, values = [], [], []
    for i, j in bonds:
        between = ((1 << j) - 1) & ~((2 << i) - 1)
        pair = (1 << i) | (1 << j)
        hops = np.nonzero(popcount[states & pair] == 1)[0]
        rows.append(np.searchsorted(states, states[hops] ^ pair))
        columns.append(hops)
        values.append(2.0 * (popcount[states[hops] & between] & 1) - 1.0)
    rows, columns, values = (np.concatenate(part) for part in (rows, columns, values))
    order = np.lexsort((columns, rows))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(states)))])
    return offsets, columns[order], values[order]


class Problem:
    """The factors on the host, and the vector everyone multiplies."""

    def __init__(self, case):
        import numpy as np
        from cpu_peers import SEED_X, open_rectangle, seeded_vector

        shape, filling = case.split(":")
        lengths, electrons = [[int(n) for n in part.split(mark)] for part, mark in ((shape, "x"), (filling, ","))]
        sites = lengths[0] * lengths[1]
        if sites > 16 or max(electrons) > sites:
            raise SystemExit(f"--case {case}: expected LXxLY:UP,DOWN with at most 16 sites and at most one particle of a spin a site")
        self.case, self.lengths, self.electrons = case, lengths, electrons
        popcount = np.array([bin(word).count("1") for word in range(1 << sites)])
        up, down = (np.nonzero(popcount == n)[0] for n in electrons)
        bonds = [(min(pair), max(pair)) for pair in open_rectangle(*lengths)]
        self.up, self.down = hopping(up, bonds, popcount), hopping(down, bonds, popcount)
        self.shape = (len(down), len(up))  # V[down, up] in C order: the flat index is up + n_up * down
        self.diagonal = 4.0 * popcount[down[:, None] & up[None, :]]
        self.x = seeded_vector(len(up) * len(down), SEED_X)

    def check(self, y):
        """x.x, x.Hx, |Hx|."""
        return float(self.x @ self.x), float(self.x @ y), float(y @ y) ** 0.5


class Table:
    """Rows as they come; the first of a kind is what the others are held against."""

    def __init__(self, problem):
        self.problem, self.reference, self.energy, self.rows = problem, None, None, []

    def multiply(self, program, milliseconds, check):
        self.reference = self.reference or check
        x_x, x_hx, norm = self.reference
        error = max(abs(check[1] - x_hx) / (x_x**0.5 * norm), abs(check[2] - norm) / norm)
        if not error < 1e-12:
            raise SystemExit(f"{program}: H x differs from eigenforge's by {error:.1e} (relative); no time is reported")
        self.rows.append(f"| {program:<40} | multiply | {milliseconds:10.3f} ms | error {error:.0e} |")
        print(self.rows[-1], flush=True)

    def solve(self, program, seconds, energy, residual):
        self.energy = energy if self.energy is None else self.energy
        if not abs(energy - self.energy) < 1e-7:
            raise SystemExit(f"{program}: energy {energy:.12f}, eigenforge has {self.energy:.12f}; no time is reported")
        self.rows.append(f"| {program:<40} | ground state | {seconds:8.3f} s | residual {residual:.0e}, energy {energy:.10f} |")
        print(self.rows[-1], flush=True)


# ---------------------------------------------------------------------------------- the programs

def eigenforge(problem, table, arguments):
    program = next((p for p in (ROOT / "gpu/bin/eigenforge", ROOT / "target/release/eigenforge") if p.exists()), None)
    if program is None:
        raise SystemExit("no eigenforge: run `cargo xtask gpu-test-binaries` or `cargo build --release` first")

    def run(*words):
        # a process of its own, done before the others start: the card has one user at a time
        found = subprocess.run([str(program), *words, "--device", arguments.device, "--json"], capture_output=True, text=True)
        if found.returncode != 0:
            raise SystemExit(f"eigenforge {' '.join(words)} failed:\n{found.stderr}")
        return json.loads(found.stdout)

    bench = run("bench", "hubbard", "--case", problem.case, "--multiply-only", "--no-vendor", "--repeats", str(arguments.repeats))
    check = bench["check"]
    table.multiply("eigenforge", bench["multiply"]["milliseconds"], (check["x_x"], check["x_hx"], check["hx_norm"]))
    (length_x, length_y), (up, down) = problem.lengths, problem.electrons
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "peer.toml"
        model.write_text(
            f'[model]\nname = "hubbard"\nt = 1.0\nu = 4.0\n\n[lattice]\nkind = "square"\nsize = [{length_x}, {length_y}]\n'
            f'boundary = ["open", "open"]\n\n[sector]\nup = {up}\ndown = {down}\n\n[solve]\ncertify = false\nstart = "random"\n')
        solve = ["solve", str(model), "--solver", "lanczos", "--tolerance"]
        # Compiles and keeps the kernels; and tells the norm of H, which the tolerance is a share of.
        norm = run(*solve, "0.5")["norm"]
        report = run(*solve, str(arguments.tolerance / norm))
    table.solve("eigenforge, lanczos", report["seconds"]["solve"], report["energies"][0], report["residuals"][0])


def cupy_peer(cupy, problem, table, arguments):
    if not arguments.device.startswith("cuda"):
        print("  cupy runs on a GPU only: left out with --device cpu")
        return
    sparse, linalg = importlib.import_module("cupyx.scipy.sparse"), importlib.import_module("cupyx.scipy.sparse.linalg")
    cupy.cuda.Device(int(arguments.device.partition(":")[2] or 0)).use()
    factor = lambda a: sparse.csr_matrix((cupy.asarray(a[2]), cupy.asarray(a[1].astype("int32")), cupy.asarray(a[0].astype("int32"))), shape=(len(a[0]) - 1,) * 2)
    up, down, diagonal = factor(problem.up), factor(problem.down), cupy.asarray(problem.diagonal)

    def product(matrix, dense):
        """In slabs of columns: CuPy 14.2 ended in an illegal memory access when it multiplied 1e8 elements at once."""
        slab = max(1, (1 << 25) // dense.shape[0])
        return cupy.concatenate([matrix @ dense[:, k:k + slab] for k in range(0, dense.shape[1], slab)], axis=1)

    def multiply(x):
        v = x.reshape(problem.shape)
        return (diagonal * v + product(down, v) + product(up, v.T).T).reshape(-1)

    x = cupy.asarray(problem.x)
    check = problem.check(cupy.asnumpy(multiply(x)))
    start, end, times = cupy.cuda.Event(), cupy.cuda.Event(), []
    for _ in range(arguments.repeats):
        start.record()
        multiply(x)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    table.multiply(f"CuPy {cupy.__version__}, Kronecker form", statistics.median(times), check)
    n = problem.x.size
    h = linalg.LinearOperator((n, n), matvec=multiply, dtype=cupy.float64)
    for _ in range(2):
        cupy.cuda.Stream.null.synchronize()
        started = time.perf_counter()
        values, vectors = linalg.eigsh(h, k=1, which="SA", tol=arguments.tolerance, v0=x)
        cupy.cuda.Stream.null.synchronize()
        seconds = time.perf_counter() - started
    residual = float(cupy.linalg.norm(multiply(vectors[:, 0]) - values[0] * vectors[:, 0]))
    table.solve(f"CuPy {cupy.__version__}, eigsh", seconds, float(values[0]), residual)


def torch_peer(torch, problem, table, arguments):
    import numpy as np

    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print(f"  torch {torch.__version__} sees no GPU: left out")
        return
    device = torch.device(arguments.device)
    move = lambda array: torch.as_tensor(np.ascontiguousarray(array), device=device)
    factor = lambda a: torch.sparse_csr_tensor(move(a[0].astype(np.int32)), move(a[1].astype(np.int32)), move(a[2]), (len(a[0]) - 1,) * 2)
    up, down, diagonal = factor(problem.up), factor(problem.down), move(problem.diagonal)

    def multiply(x):
        v = x.reshape(problem.shape)
        return (diagonal * v + down @ v + (up @ v.T).T).reshape(-1)

    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    x, times = move(problem.x), []
    check = problem.check(multiply(x).cpu().numpy())
    for _ in range(arguments.repeats):
        wait()
        started = time.perf_counter()
        multiply(x)
        wait()
        times.append(1e3 * (time.perf_counter() - started))
    table.multiply(f"PyTorch {torch.__version__}, Kronecker form", statistics.median(times), check)

    if installed("scipy") is None:
        print("  no ground state by SciPy's eigsh over PyTorch's multiply")
        return
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, scale = problem.x.size, abs(table.energy)
    on_host = lambda x: multiply(move(x.reshape(-1))).cpu().numpy()
    h = LinearOperator((n, n), matvec=on_host, dtype=np.float64)
    for _ in range(2):
        started = time.perf_counter()
        # ARPACK's tolerance is relative to the energy.
        values, vectors = eigsh(h, k=1, which="SA", tol=arguments.tolerance / scale, v0=problem.x)
        seconds = time.perf_counter() - started
    residual = float(np.linalg.norm(on_host(vectors[:, 0]) - values[0] * vectors[:, 0]))
    table.solve("SciPy eigsh, PyTorch's multiply", seconds, float(values[0]), residual)


def main():
    arguments = parse_arguments()
    print(f"{arguments.case} on {arguments.device}, {os.cpu_count()} CPU cores")
    if installed("numpy") is None:
        raise SystemExit("numpy is needed to set up the problem: pip install numpy")
    problem = Problem(arguments.case)
    table = Table(problem)
    eigenforge(problem, table, arguments)
    for name, peer in (("cupy", cupy_peer), ("torch", torch_peer)):
        module = installed(name)
        if module is not None:
            peer(module, problem, table, arguments)
    print("\n" + "\n".join(table.rows))


if __name__ == "__main__":
    main()
