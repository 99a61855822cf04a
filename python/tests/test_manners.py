"""What a guest in somebody's process must not do: hold Python's lock, write to arrays that are lent, lose values on the way."""

import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import eigenforge as ef


def ring(sites: int) -> ef.Model:
    return ef.Model(ef.Lattice.chain(sites, boundary="periodic"), name="heisenberg", j=1.0).sector(two_sz=0)


def lent(array):
    """Every second element of an array that cannot be written."""
    wide = np.zeros([2 * n for n in array.shape], array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    view.flags.writeable = False
    return view


def test_other_threads_run_beside_a_long_call():
    found = []
    worker = threading.Thread(target=lambda: found.append(ring(18).solve(solver="lobpcg", device="cpu", vectors=False)))
    worker.start()
    turns = 0
    while worker.is_alive():
        time.sleep(0.002)
        turns += 1
    assert found[0].converged and turns > 20, turns


def test_lent_arrays_are_read_only():
    u = lent(np.array([1.0, 2.0, 3.0, 4.0]))
    lattice = ef.Lattice.chain(4)
    model = ef.Model(lattice, name="hubbard", t=1.0, u=u).sector(up=2, down=2)
    same = ef.Model(lattice, name="hubbard", t=1.0, u=[1.0, 2.0, 3.0, 4.0]).sector(up=2, down=2)
    assert model.solve().energies[0] == same.solve().energies[0] and u.tolist() == [1.0, 2.0, 3.0, 4.0]
    rng = np.random.default_rng(5)
    dense = rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6))
    dense += dense.conj().T
    for array in (lent(dense), np.asfortranarray(dense), dense.T.conj()):
        before = array.copy()
        assert np.allclose(ef.Matrix(array).solve(states=6).energies, np.linalg.eigvalsh(dense)) and (array == before).all()
    with pytest.raises(ef.InputError, match="float64 or complex128"):
        ef.Matrix(dense.astype(np.clongdouble))


def test_results_of_all_kinds_are_pickled():
    count = ef.command("su3", "count", n_max=2)
    again = pickle.loads(pickle.dumps(count))
    assert again == count and again.converged and again.remarks == []
    chain = ef.Model(ef.Lattice.chain(6), name="heisenberg", j=1.0).sector(two_sz=0)
    for found in (chain.dmrg(states=8).solve(), chain.evolve(start={"levels": [0, 1] * 3}, until=0.1, times=2)):
        again = pickle.loads(pickle.dumps(found))
        assert again == found and str(again) == str(found)
    matrix = pickle.loads(pickle.dumps(ef.Matrix(np.diag([2.0, 1.0]))))
    assert matrix.solve().energies[0] == 1.0
    with pytest.raises(AttributeError, match="has no 'energie'"):
        _ = chain.solve().energie


FORKS = """
import os, sys
import eigenforge as ef
# Before the first call of its parent a fork is as good as any process; verbs run in processes of their own everywhere.
model = ef.Model(ef.Lattice.chain(4), name="heisenberg", j=1.0).sector(two_sz=0)
def child(work):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if work() else 1)
    return os.waitpid(pid, 0)[1] == 0
assert child(lambda: model.solve(device="cpu").converged)
assert model.solve(device="cpu").converged
assert child(lambda: ef.command("su3", "count", n_max=1).elements == 580)
print("as it should be")
"""


def test_forks_before_the_first_call_are_processes():
    ended = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True)
    assert ended.stdout.strip() == "as it should be", ended.stderr


@pytest.mark.parametrize("words", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]])
def test_checkers_have_nothing_to_say(words, root):
    pytest.importorskip("scipy")
    if importlib.util.find_spec(words[0]) is None:
        pytest.skip(f"needs {words[0]}")
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull, "RUFF_NO_CACHE": "true"}
    ended = subprocess.run([sys.executable, "-m", *words], cwd=root / "python", env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
