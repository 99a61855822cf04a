"""y = H x on arrays of a card: CuPy's and PyTorch's, where they are."""

import time

import numpy as np
import pytest

import eigenforge as ef

cupy = pytest.importorskip("cupy")
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no card", allow_module_level=True)

from test_linear import hermitian, models  # noqa: E402


def operators():
    for model in models():
        yield model.linear_operator("cuda"), model.to_scipy()
    for model in models()[:3]:
        yield model.section("solve", precision="f32").linear_operator("cuda"), model.to_scipy()
    for dtype in ("f8", "c16"):
        A = hermitian(3000, np.dtype(dtype), 2)
        yield ef.Matrix(A).linear_operator("cuda"), A


def arrays(n, is_complex_only, single):
    """Vectors and columns in every order in memory."""
    rng = np.random.default_rng(n)
    tall = cupy.asarray(rng.standard_normal((2 * n + 64, 7)))
    shapes = [tall[: 2 * n : 2, 0], tall[1 : n + 1, 1].copy()[:n], tall[:n, :1], cupy.asfortranarray(tall[:n]), tall[3 : n + 3, ::2]]
    shapes.append(cupy.asarray(rng.standard_normal(n + 1))[1:])
    for x in shapes:
        real, both = ("f4", "c8") if single else ("f8", "c16")
        if not is_complex_only:
            yield x.astype(real) if single else x
        z = (x + 1j * x[::-1] ** 2).astype(both)
        yield z
        # Numbers that stand apart from each other, with others between.
        wide = cupy.zeros((2 * z.shape[0], *z.shape[1:]), both)
        wide[1::2] = z
        yield wide[1::2]
        if z.ndim == 2:
            yield cupy.asfortranarray(z)


def test_products_are_those_of_the_matrix():
    for H, A in operators():
        single = H.dtype in (np.float32, np.complex64)
        for x in arrays(H.shape[0], H.dtype.kind == "c", single):
            expected = A @ x.get()
            close = {"atol": 1e-3 if single else 1e-11 * max(1.0, abs(expected).max())}
            y = H @ x
            assert isinstance(y, cupy.ndarray) and y.shape == x.shape and y.dtype == x.dtype
            assert np.allclose(y.get(), expected, **close)
            for out in (cupy.full_like(x, np.nan), cupy.full((*x.shape, 2), np.nan, x.dtype)[..., 0]):
                assert (H.matvec if x.ndim == 1 else H.matmat)(x, out=out) is out
                assert np.allclose(out.get(), expected, **close)
            of_torch = torch.as_tensor(x, device="cuda")
            assert np.allclose((H @ of_torch).cpu().numpy(), expected, **close)


def test_the_caller_s_stream_orders_it_and_the_host_does_not_wait():
    ring = ef.Lattice.chain(16, boundary="periodic")
    model = ef.Model(ring, ef.sum(ef.sdots(i, j) for i, j, _ in ring.bonds)).sector(two_sz=0)
    H, A = model.linear_operator("cuda"), model.to_scipy()
    x = cupy.asarray(np.random.default_rng(0).standard_normal(H.shape[0]))
    y = cupy.full_like(x, np.nan)
    H.matvec(x, out=y)
    expected = y.get()
    assert np.allclose(expected, A @ x.get(), atol=1e-12)
    # CuPy compiles its own kernels when it first needs them.
    x *= 1.0
    z = 0.5 * y
    y[:] = np.nan
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.launch_host_func(lambda _: time.sleep(0.6), None)
        # What x holds is there only after the wait.
        x *= 2.0
        begun = time.perf_counter()
        H.matvec(x, out=y)
        z = 0.5 * y
        assert time.perf_counter() - begun < 0.3 and not stream.done
        with cupy.cuda.Stream(non_blocking=True):
            assert np.isnan(y.get()).all()
        stream.synchronize()
    assert np.allclose(z.get(), expected, atol=1e-12)
    side = torch.cuda.Stream()
    a = torch.as_tensor(x.get(), device="cuda")
    # So does PyTorch.
    a *= 1.0
    b = 1.0 * (H @ a)
    torch.cuda._sleep(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000_000)
        a *= 0.5
        b = 1.0 * (H @ a)
        assert not side.query()
    side.synchronize()
    assert np.allclose(b.cpu().numpy(), expected, atol=1e-12)


def test_symmetry_sectors_have_the_order_of_the_cores():
    ring = ef.Lattice.chain(12, boundary="periodic")
    spins = ef.Model(ring, ef.sum(ef.sdots(i, j) for i, j, _ in ring.bonds)).sector(two_sz=0)
    electrons = ef.Model(ef.Lattice.square(3, 2, boundary="periodic"), name="hubbard", t=1.0, u=3.0, mu=0.4).sector(up=2, down=3)
    rng = np.random.default_rng(2)
    for model, keys in [(spins, {"k": [0], "reflection": 1}), (spins, {"k": [5]}), (electrons, {"k": [1, 0]}), (electrons, {"k": [2, 1]})]:
        for storage in ("stored", "direct", "table"):
            expected = model.symmetry(**keys).linear_operator("cpu")
            found = model.symmetry(**keys, storage=storage).linear_operator("cuda")
            x = rng.standard_normal((expected.shape[0], 3)) + 1j * rng.standard_normal((expected.shape[0], 3))
            assert found.dtype == expected.dtype
            assert np.allclose((found @ cupy.asarray(x)).get(), expected @ x, atol=1e-11), (keys, storage)


def test_calls_from_several_streams_and_of_the_host_are_in_order():
    ring = ef.Lattice.chain(16, boundary="periodic")
    model = ef.Model(ring, ef.sum(ef.sdots(i, j) for i, j, _ in ring.bonds)).sector(two_sz=0)
    H, A = model.linear_operator("cuda"), model.to_scipy()
    rng = np.random.default_rng(1)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    given, found, expected = [], [], []
    for turn in range(60):
        x = rng.standard_normal((H.shape[0], 1 + turn % 3)) + 1j * rng.standard_normal((H.shape[0], 1 + turn % 3))
        expected.append(A @ x)
        if turn % 7 == 3:
            found.append(H @ x)
            continue
        with streams[turn % 3]:
            given.append(cupy.asarray(x))
            found.append(H @ given[-1])
    for stream in streams:
        stream.synchronize()
    for y, wanted in zip(found, expected, strict=True):
        assert np.allclose(y if isinstance(y, np.ndarray) else y.get(), wanted, atol=1e-11)


def test_a_graph_has_it():
    model = models()[2]
    H, A = model.linear_operator("cuda"), model.to_scipy()
    x = torch.randn(H.shape[0], dtype=torch.complex128, device="cuda")
    y = torch.empty_like(x)
    H.matvec(x, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        H.matvec(x, out=y)
        y *= 2.0
    for seed in range(3):
        x.copy_(torch.as_tensor(np.random.default_rng(seed).standard_normal(H.shape[0]), dtype=torch.complex128))
        graph.replay()
        torch.cuda.synchronize()
        assert np.allclose(y.cpu().numpy(), 2.0 * (A @ x.cpu().numpy()), atol=1e-11)
    assert np.allclose((H @ x).cpu().numpy(), A @ x.cpu().numpy(), atol=1e-11)


def test_nothing_is_allocated_or_copied():
    model = models()[2]
    H = model.linear_operator("cuda")
    x = cupy.random.standard_normal(H.shape[0])
    y, z = cupy.empty_like(x), cupy.empty(H.shape[0], complex)
    for out in (y, z):
        H.matvec(x.astype(out.dtype), out=out)
    cupy.cuda.Device().synchronize()
    x_complex = x.astype(complex)
    before = cupy.cuda.runtime.memGetInfo()[0], cupy.get_default_memory_pool().used_bytes()
    for _ in range(1000):
        H.matvec(x, out=y)
        H.matvec(x_complex, out=z)
    cupy.cuda.Device().synchronize()
    assert (cupy.cuda.runtime.memGetInfo()[0], cupy.get_default_memory_pool().used_bytes()) == before


def test_what_no_product_takes():
    H = models()[0].linear_operator("cuda")
    on_cores, complex_one = models()[0].linear_operator("cpu"), models()[1].linear_operator("cuda")
    n = H.shape[0]
    x = cupy.zeros(n)
    tensor = torch.zeros(n, dtype=torch.complex128, device="cuda")
    for call, words in [
        (lambda: H.matvec(cupy.zeros(n + 1)), "expected a vector of shape"),
        (lambda: H.matmat(cupy.zeros((2, n))), "columns"),
        (lambda: H.matvec(x.astype("f4")), "found float32"),
        (lambda: H.matvec(x.astype("i8")), "expected numbers"),
        (lambda: complex_one.matvec(cupy.zeros(complex_one.shape[0])), "found float64"),
        (lambda: H.matvec(x, out=np.zeros(n)), "on the card"),
        (lambda: H.matvec(np.zeros(n), out=x), "an `out` of shape"),
        (lambda: H.matvec(x, out=x), "apart from x"),
        (lambda: H.matvec(x, out=cupy.zeros(n, complex)), "an `out` of shape"),
        (lambda: H.matvec(x[::-1]), None),
        (lambda: H.matvec(cupy.broadcast_to(cupy.ones(1), (n,))), "strides|contiguous"),
        (lambda: H.matvec(tensor.conj()), None),
        (lambda: H.matvec(torch.zeros(n, dtype=torch.float64, device="cuda", requires_grad=True)), None),
        (lambda: on_cores.matvec(x), "expected it on a card"),
    ]:
        with pytest.raises((ef.EigenforgeError, BufferError, RuntimeError, ValueError), match=words):
            call()


def test_cupy_s_solvers_take_it():
    from cupyx.scipy.sparse import linalg

    model = models()[0]
    H = model.linear_operator("cuda")
    found = linalg.eigsh(linalg.aslinearoperator(H), k=2, which="SA", return_eigenvectors=False)
    assert np.allclose(np.sort(found.get()), model.solve(states=2).energies, atol=1e-8)
