#!/usr/bin/env python3
"""y = H x from Python on a card: what a call costs, and arrays that do not lie as vectors of the card do.

In:   a card, CuPy, and where it is installed PyTorch; the package is installed already.
Out:  microseconds of `op.matvec(x, out=y)` and `op @ x` of 16 states, as the host sees it and with the card; milliseconds of a ring's multiply with
      real, complex and (N, 4) arrays in both orders, beside the least time that their bytes take.

    python3 benches/python_card.py                      # Heisenberg ring of 26: 10,400,600 states; a minute
    python3 benches/python_card.py --sites 22
"""

import argparse
import time
from functools import partial
from operator import matmul


def microseconds(call, wait, calls):
    """Of a call until it returns, and of one of many until the card is done; the least of five rounds."""
    rounds = []
    for _ in range(5):
        wait()
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        host = time.perf_counter() - begun
        wait()
        rounds.append((1e6 * host / calls, 1e6 * (time.perf_counter() - begun) / calls))
    return [min(values) for values in zip(*rounds, strict=True)]


def small(ef, cupy):
    model = ef.Model(ef.Lattice.square(2, 2), name="hubbard", t=1.0, u=4.0).sector(up=1, down=1)
    op = model.linear_operator("cuda")
    x = cupy.random.standard_normal(op.shape[0])
    arrays = [("CuPy", x, cupy.empty_like(x)), ("CuPy, complex", x + 1j * x, cupy.empty(op.shape[0], complex))]
    try:
        import torch

        own = torch.as_tensor(x.get(), device="cuda")
        arrays.append(("PyTorch", own, torch.empty_like(own)))
    except ImportError:
        print("PyTorch is not installed: left out")
    arrays.append(("NumPy", x.get(), x.get()))
    print(f"{op.shape[0]} states, microseconds of a call: the host's, with the card")
    for name, x, y in arrays:
        for text, call in [("op.matvec(x, out=y)", partial(op.matvec, x, out=y)), ("op @ x", partial(matmul, op, x))]:
            call()
            host, whole = microseconds(call, cupy.cuda.Device().synchronize, 2000)
            print(f"  {name:<14} {text:<20} {host:>7.2f} {whole:>7.2f}")


def large(ef, cupy, sites):
    lattice = ef.Lattice.chain(sites, boundary="periodic")
    op = ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, _ in lattice.bonds)).sector(two_sz=0).linear_operator("cuda")
    n = op.shape[0]
    x = cupy.random.standard_normal((n, 4))
    arrays = [
        ("real (N,)", x[:, 0].copy()),
        ("real (N,), every second number", cupy.random.standard_normal(2 * n)[::2]),
        ("complex (N,)", x[:, 0] + 1j * x[:, 1]),
        ("real (N, 4), columns", cupy.asfortranarray(x)),
        ("real (N, 4), rows", cupy.ascontiguousarray(x)),
        ("complex (N, 4), columns", cupy.asfortranarray(x + 1j * x[::-1])),
        ("complex (N, 4), rows", cupy.ascontiguousarray(x + 1j * x[::-1])),
    ]
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    print(f"{n} states, milliseconds of op.matvec(x, out=y) or op.matmat, and of a copy of x to y")

    def milliseconds(call):
        call()
        times = []
        for _ in range(5):
            start.record()
            for _ in range(10):
                call()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end) / 10)
        return min(times)

    for name, x in arrays:
        y = cupy.empty_like(x)
        multiply, copy = partial(op.matvec if x.ndim == 1 else op.matmat, x, out=y), partial(cupy.copyto, y, x)
        print(f"  {name:<32} {milliseconds(multiply):>8.3f} {milliseconds(copy):>8.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", type=int, default=26)
    chosen = parser.parse_args()
    import cupy

    import eigenforge as ef

    small(ef, cupy)
    large(ef, cupy, chosen.sites)


if __name__ == "__main__":
    main()
