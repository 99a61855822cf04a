"""Verbs of the command as calls: each with its JSON as data."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import eigenforge as ef

#: Verbs that are methods of a model.
METHODS = {"solve", "spectrum", "thermal", "evolve"}
#: Times of this build beside the vendor's libraries, for its developers.
BENCHES = {verb for verb, _ in ef.VERBS if verb.startswith("bench ")}
#: Verbs without a call here, because they need a card, a compiler of kernels, or empty the user's cache.
ELSEWHERE = {"tune", "build", "cache clear"}

HUBBARD = """
[model]
name = "hubbard"
t = 1.0
u = 4.0
[lattice]
kind = "chain"
size = 4
[sector]
up = 2
down = 2
"""


@pytest.fixture
def calls(root, tmp_path):
    """A call of each other verb, with a part of what it finds."""
    model = ef.parse(HUBBARD)
    forces = {"interaction": root / "tests" / "data" / "su3" / "jisp16_Nmax20_hw20.0_rel.dat", "n_max": 1}
    (tmp_path / "6j.csv").write_text("type,twoj1,twoj2,twoj3,twoj4,twoj5,twoj6,twoj7,twoj8,twoj9\n6j,2,2,2,2,2,2,,,\n")
    labels = "lambda1,mu1,kappa1,L1,lambda2,mu2,kappa2,L2,lambda3,mu3,kappa3,L3,rho"
    (tmp_path / "so3.csv").write_text(f"{labels}\n1,0,1,1,1,0,1,1,2,0,1,0,1\n")
    matrix = ef.Matrix(np.diag([1.0, 2.0, 3.0]))
    (tmp_path / "vectors").mkdir()
    model.solve(device="cpu").save(tmp_path / "vectors")
    vectors = str(tmp_path / "vectors" / "vectors.npz")
    return {
        "inspect": (lambda: ef.command("inspect", model, stage="cost"), lambda found: found.memory[0]["what"] == "a vector"),
        "doctor": (lambda: ef.command("doctor"), lambda found: "cache" in found),
        "count": (lambda: ef.command("count", orbitals=19, electrons=10), lambda found: 30_046_752 in [level.functions for level in found["levels"]]),
        "cache list": (lambda: ef.command("cache", "list"), lambda found: isinstance(found, list)),
        "cache verify": (lambda: ef.command("cache", "verify"), lambda found: found.folder is None or len(found.damaged) == 0),
        "spmv": (lambda: ef.command("spmv", matrix, device="cpu", repeats=1, x=np.ones(3)), lambda found: found.statistics.non_zeros == 3),
        "overlap": (lambda: ef.command("overlap", vectors, vectors), lambda found: np.isclose(found["levels"][0].fidelity, 1)),
        "export": (lambda: model.export(tmp_path / "h.npz"), lambda found: (found.rows, found.complex) == (36, False)),
        "su3 transform": (lambda: ef.command("su3", "transform", output=tmp_path / "s.csv", **forces), lambda found: len(found.channels) == 3),
        "su3 solve": (lambda: ef.command("su3", "solve", hw=20, levels=3, **forces), lambda found: found.levels[0].j == 1),
        "su3 elements": (lambda: ef.command("su3", "elements", output=tmp_path / "e.csv", **forces), lambda found: found.elements == 580),
        "su3 coefficients": (lambda: ef.command("su3", "coefficients", table=tmp_path / "so3.csv"), lambda found: found.rows == 1),
        "su3 wigner": (lambda: ef.command("su3", "wigner", table=tmp_path / "6j.csv"), lambda found: found.difference is None),
        "su3 count": (lambda: ef.command("su3", "count", n_max=1), lambda found: found.elements == 580),
    }


def test_every_verb_is_a_call_with_data(calls):
    verbs = dict(ef.VERBS)
    assert set(verbs) == METHODS | BENCHES | ELSEWHERE | calls.keys(), "a verb without a call in Python"
    assert all(hasattr(ef.Model, verb) for verb in METHODS)
    assert [verb for verb, options in verbs.items() if "json" not in options and verb not in BENCHES] == []
    found = {}
    threads = [threading.Thread(target=lambda verb=verb: found.update({verb: calls[verb][0]()})) for verb in calls]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    wrong = [verb for verb, (_, holds) in calls.items() if not holds(found[verb])]
    assert not wrong, {verb: found[verb] for verb in wrong}
    assert found["su3 solve"].converged and found["su3 solve"].remarks == list(found["su3 solve"].warnings)


def test_options_of_runs_are_arguments_of_calls():
    """The options of `solve` and of curves that are not keys of the file, which models have: devices, checkpoints, edits."""
    import inspect

    keys = {"solver", "states", "tolerance", "max-iterations", "seed"}
    # Files of a run: Result.save, vectors and basis are the same as data; a tuned shape is left aside by an environment of its own.
    others = {"output", "json", "trace", "no-tune", "help", "version"}
    renamed = {"override": "overrides"}
    known = set(inspect.signature(ef.Model.solve).parameters)
    verbs = dict(ef.VERBS)
    missing = {renamed.get(option, option.replace("-", "_")) for option in verbs["solve"] if option not in keys | others} - known
    assert not missing, f"options of solve without an argument: {missing}"
    curves = {"device", "checkpoint", "checkpoint-every", "resume"}
    assert all(set(verbs[verb]) - others == curves for verb in ("spectrum", "thermal"))
    assert set(verbs["evolve"]) - others == curves | {"vectors"}


def test_curves_are_saved_and_go_on(tmp_path):
    ring = ef.Model(ef.Lattice.chain(8, boundary="periodic"), name="heisenberg", j=1.0)
    keys = {"temperatures": [0.5, 1.0], "device": "cpu", "checkpoint": tmp_path / "state", "checkpoint_every": 1e-9}
    first = ring.thermal(**keys)
    again = ring.thermal(resume=True, **keys)
    assert any((tmp_path / "state").iterdir()) and again.to_dict()["quantities"] == first.to_dict()["quantities"]
    with pytest.raises(ef.InputError, match="checkpoint"):
        ring.thermal(temperatures=[1.0], resume=True)


def test_chains_evolve_as_vectors_do(tmp_path):
    chain = ef.Model(ef.Lattice.chain(6), name="heisenberg", j=1.0).sector(two_sz=0)
    keys = {"start": {"levels": [0, 1] * 3}, "until": 0.4, "times": 3, "record": ["sz"], "device": "cpu"}
    exact, found = chain.evolve(**keys), chain.dmrg(states=16).evolve(**keys)
    assert np.allclose(found.averages[0]["values"], exact.averages[0]["values"], atol=1e-5)
    assert found.chain.cut_entropies.shape == (3, 5)
    chain.dmrg(states=16).evolve(vectors=True, **keys).save(tmp_path)
    later = chain.dmrg(states=16).evolve(**{**keys, "start": {"vectors": str(tmp_path / "mps.npz")}, "until": 0.2})
    there = chain.evolve(**{**keys, "until": 0.6})
    assert np.allclose(later.averages[0]["values"][-1], there.averages[0]["values"][-1], atol=1e-5)
    with pytest.raises(ef.InputError, match="matrix-product states"):
        chain.evolve(vectors=True, **keys)


def test_molecules_have_spectra(root):
    molecule = ef.molecule(root / "tests/data/ci/H2_sto3g_0.74.FCIDUMP")
    found = molecule.spectrum(of="remove_up", omega={"from": -2.0, "to": 0.0, "points": 201}, device="cpu")
    # One electron of each spin, of which one leaves.
    assert abs(found.curves[0]["moments"][0] - 1.0) < 1e-12


def test_what_is_refused(tmp_path):
    model = ef.parse(HUBBARD)
    for call, error, words in [
        (lambda: ef.command("solv", model), ef.InputError, "a verb of the command"),
        (lambda: ef.command("su3"), ef.InputError, "a verb of the command"),
        (lambda: ef.command("count", orbital=3), ef.InputError, "no option 'orbital'"),
        (lambda: ef.command("count", orbitals="three", electrons=2), ef.InputError, "whole number"),
        (lambda: ef.command("export", [1], output="h.npz"), ef.InputError, "found list"),
        (lambda: model.export(tmp_path / "h.txt"), ef.InputError, "format"),
        (lambda: ef.command("solve", tmp_path / "missing.toml"), ef.InputError, "missing.toml"),
        (lambda: ef.Matrix(np.eye(2)).export(tmp_path / "h.mtx"), ef.InputError, "toml|matrix"),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert not [name for name in os.listdir() if name.startswith(".") and name.endswith(".toml")]


def test_ctrl_c_ends_a_verb():
    ring = ef.Model(ef.Lattice.chain(24, boundary="periodic"), name="heisenberg", j=1.0).sector(two_sz=0)
    # A quarter of a minute on two cores.
    endless = ring.section("solve", solver="lobpcg", tolerance=1e-15, max_iterations=10**6)
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ef.command("solve", endless, device="cpu")
    assert time.monotonic() - started < 30
