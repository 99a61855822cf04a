"""Runs: the numbers of the command, in every family and verb."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import eigenforge as ef


def heisenberg(sites: int, **keys) -> ef.Model:
    lattice = ef.Lattice.chain(sites, boundary="periodic")
    return ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds), **keys).sector(two_sz=0)


def run(command, *words, check=True):
    return subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=check)


def test_electrons_by_operators_and_by_name(root):
    lattice = ef.Lattice.square(3, 2, boundary="open")
    hops = ((i, j, s) for i, j, w in lattice.bonds for s in (ef.up, ef.down))
    H = ef.sum(-1.0 * (ef.cdag(i, s) * ef.c(j, s) + ef.hc) for i, j, s in hops)
    H += ef.sum(4.0 * ef.n(i, ef.up) * ef.n(i, ef.down) for i in lattice.sites)
    model = ef.Model(lattice, H).sector(up=2, down=3)
    found = model.solve(states=2)
    named = ef.Model(lattice, name="hubbard", t=1.0, u=4.0).sector(up=2, down=3).solve(states=2)
    assert np.allclose(found.energies, named.energies, atol=1e-10)
    assert found.converged and (found.residuals < 1e-8).all() and found.multiplicities.sum() >= 2
    occupancy = found.observables.double_occupancy
    assert np.allclose(occupancy, named.observables["double_occupancy"], atol=1e-10)
    # A model file in another sector, the rest as it is.
    assert ef.read(root / "examples" / "hubbard_4x4.toml").sector(up=1, down=1).solve(device="cpu").dimension == 256


def test_report_and_command_have_the_same_names_and_numbers(tmp_path, command):
    model = heisenberg(10)
    model.save(tmp_path / "ring.toml")
    of_command = json.loads(run(command, "solve", "--json", "--device", "cpu", tmp_path / "ring.toml").stdout)
    result = model.solve(device="cpu")
    assert result.to_dict().keys() == of_command.keys()
    assert result.to_dict()["energies"] == of_command["energies"]
    assert abs(result.energies[0] + 4.515446354492) < 1e-9  # Bethe ansatz
    for verb, keys in [
        ("spectrum", {"of": "Sz", "omega": {"from": 0.0, "to": 4.0, "points": 5}}),
        ("thermal", {"temperatures": [0.5, 1.0]}),
        ("evolve", {"start": {"levels": [0, 1] * 5}, "until": 0.5, "times": 3}),
    ]:
        asked = (model.without("sector") if verb == "thermal" else model).section(verb, **keys)
        asked.save(tmp_path / f"{verb}.toml")
        shown = run(command, verb, "--json", "--device", "cpu", tmp_path / f"{verb}.toml", check=False)
        assert shown.returncode in (0, 3), shown.stderr
        found = getattr(asked, verb)(device="cpu")
        assert found.to_dict().keys() == json.loads(shown.stdout).keys(), verb


def test_vectors_are_eigenvectors_in_the_basis():
    for model in (
        heisenberg(8),
        ef.Model(ef.Lattice.chain(4), name="hubbard", t=1.0, u=3.0).sector(up=2, down=2),
        ef.Model(
            ef.Lattice.chain(5, boundary="periodic"),
            "sum(<i, j> in bonds; exp(0.3 * I) * cdag(i) * c(j) + h.c.) + sum(i in sites; i * n(i))",
            site="spinless",
        ).sector(particles=2),
    ):
        found, matrix = model.solve(states=3), model.to_scipy()
        for energy, vector in zip(found.energies, found.vectors, strict=True):
            assert abs(matrix @ vector - energy * vector).max() < 1e-7
            assert abs(np.vdot(vector, vector) - 1) < 1e-12
        basis = model.basis()
        assert basis.keys() == found.basis.keys()
        assert all((basis[name] == found.basis[name]).all() for name in basis)


def test_density_matrices_of_sets_of_sites():
    found = heisenberg(8).entanglement(sites=[[0, 1, 2, 3], [0, 4]], weights=3).solve(states=2)
    half, pair = found.entanglement[:2]
    assert list(half.sites) == [0, 1, 2, 3] and half.level == 0 and len(half.weights) == 3
    # By the vector: rows of the sites 0 to 3, the lowest bits of a word.
    words, vector = found.basis["states"], found.vectors[0]
    psi = np.zeros((16, 16))
    psi[(words & 15).astype(int), (words >> 4).astype(int)] = vector
    weights = np.linalg.svd(psi, compute_uv=False) ** 2
    assert np.allclose(half.weights, weights[:3], atol=1e-9)
    weights = weights[weights > 0]
    assert np.isclose(half.von_neumann, -np.sum(weights * np.log(weights)), atol=1e-8)
    assert np.isclose(half.renyi_2, -np.log(np.sum(weights**2)), atol=1e-8)
    assert list(pair.sites) == [0, 4] and pair.von_neumann > 0


def test_families_sectors_and_sweeps(root, tmp_path):
    ring = heisenberg(12)
    whole = ring.solve(sectors="all", states=1)
    assert abs(min(np.concatenate([np.atleast_1d(p["energies"]) for p in whole.to_dict()["points"]])) + 5.387390917) < 1e-6
    chain = ef.Model(ef.Lattice.chain(20), ef.sum(ef.sdots(i, i + 1) for i in range(19))).sector(two_sz=0)
    assert abs(chain.dmrg(states=[64]).solve().energies[0] + 8.682473334399) < 1e-8  # Bethe ansatz
    lattice = ef.Lattice.chain(4)
    swept = ef.Model(lattice, name="hubbard", t=1.0, u=ef.sweep(0, 4)).sector(up=2, down=2).solve()
    assert abs(swept.points[0].energies[0] + 2 * np.sqrt(5)) < 1e-9
    water = ef.molecule(root / "tests" / "data" / "ci" / "H2O_631g_fc_0.96.FCIDUMP", space="cis").solve(states=2)
    assert water.vectors.shape == (2, water.dimension) and water.basis.keys() == {"alpha_states", "beta_states"}
    paths = ring.solve().save(tmp_path / "out")
    assert {path.name for path in paths} >= {"report.json", "vectors.npz"}
    assert (np.load(tmp_path / "out" / "vectors.npz")["vectors"].shape) == (1, 924)


def test_curves_of_a_sweep_are_those_of_its_points(tmp_path):
    def model(jz):
        return ef.Model(ef.Lattice.chain(6, boundary="periodic"), name="xxz", spin=0.5, jxy=1.0, jz=jz)

    omega = {"from": 0.0, "to": 3.0, "points": 7}
    for verb, table, rows, start, keys in [
        ("spectrum", "curves", 6 * 7, {"two_sz": 0}, {"of": "Sz", "omega": omega, "eta": 0.2}),
        ("thermal", "quantities", 2, None, {"temperatures": [0.5, 1.0]}),
        ("evolve", "times", 4, {"two_sz": 0}, {"start": {"up": [0, 2, 4]}, "until": 1.0, "times": 4, "record": ["energy", "echo"]}),
    ]:
        chosen = [model(jz).sector(**start) if start else model(jz) for jz in (ef.sweep(0.5, 1.5), 0.5, 1.5)]
        swept, *alone = [getattr(each, verb)(device="cpu", **keys) for each in chosen]
        assert swept.converged and [point["values"]["model.jz"] for point in swept.points] == [0.5, 1.5] and swept.figures == []
        found = ef.tables.table(swept.to_dict(), table)
        assert len(found) == 2 * rows and [row.pop("jz") for row in found] == [0.5] * rows + [1.5] * rows
        expected = [row for each in alone for row in ef.tables.table(each.to_dict(), table)]
        for one, other in zip(found, expected, strict=True):
            assert one.keys() == other.keys() and all(value == other[key] or abs(value - other[key]) < 1e-9 for key, value in one.items())
        # The rows of points are those of sweep.csv.
        paths = swept.save(tmp_path / verb)
        heading, *lines = (tmp_path / verb / "sweep.csv").read_text().splitlines()
        for line, row in zip(lines, ef.tables.table(swept.to_dict(), "points"), strict=True):
            assert list(row) == heading.split(",")
            assert np.allclose([float(cell) for cell in line.split(",")[:-1]], [value for key, value in row.items() if key != "converged"])
        assert sum(path.name == "report.json" for path in paths) == 2 and {"sweep.json", "curves.csv"} <= {path.name for path in paths}
    with pytest.raises(ef.InputError, match="one run"):
        model(ef.sweep(0.5, 1.5)).sector(two_sz=0).evolve(start={"up": [0, 2, 4]}, until=1.0, times=4, vectors=True)


def test_stages_plans_and_kernels():
    model = heisenberg(8)
    assert "__global__" in model.inspect("cuda")
    plan = model.plan()
    assert plan["machine"] == "NVIDIA H200" and plan["memory"][0] == {"what": "a vector", "bytes": 560} and plan["files"]
    assert "H200" not in model.plan("h100")["machine"]
    assert "S" in model.inspect("ir") and "dimension 70" in model.describe()
    with pytest.raises(ef.InputError, match="a stage of"):
        model.inspect("assembler")
    with pytest.raises(ef.InputError, match="a machine of"):
        model.plan("abacus")


def test_the_generated_kernels_give_the_same_numbers():
    model = heisenberg(8)
    cpu, sim = model.solve(device="cpu", solver="lobpcg"), model.solve(device="sim", solver="lobpcg")
    assert abs(cpu.energies - sim.energies).max() < 1e-10
    with pytest.raises(ef.RunError if not os.path.exists("/dev/nvidia0") else ef.InputError):
        model.solve(device="cuda:99")


def test_progress_and_convergence():
    seen = []
    lattice = ef.Lattice.chain(16, boundary="periodic")
    model = ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)).sector(two_sz=0)
    model.solve(solver="lobpcg", progress=seen.append, device="cpu")
    assert seen and {"phase", "iteration", "energies", "residual"} <= seen[-1].keys()
    with pytest.warns(ef.NotConvergedWarning):
        poor = model.solve(solver="lobpcg", max_iterations=2, device="cpu")
    assert not poor.converged
    without = model.solve(vectors=False, device="cpu")
    with pytest.raises(ef.InputError, match="vectors=True"):
        _ = without.vectors


def test_highest_nearest_and_all_states():
    model = heisenberg(8)
    whole = model.solve(states="all")
    assert len(whole.energies) == len(whole.vectors) == 70 and whole.to_dict()["level_statistics"]["levels"] < 70
    highest = model.solve(states=3, which="highest")
    assert np.allclose(highest.energies, whole.energies[::-1][:3])
    near = model.solve(states=2, near=0.31)
    assert np.allclose(near.energies, sorted(whole.energies, key=lambda energy: abs(energy - 0.31))[:2])
    with pytest.raises(ef.InputError, match="near"):
        model.solve(near=0.31, which="highest")


def test_results_are_pickled():
    found = heisenberg(8).solve(states=2)
    again = pickle.loads(pickle.dumps(found))
    assert (again.energies == found.energies).all() and (again.vectors == found.vectors).all()
    assert str(again) == str(found)
    with pytest.raises(ef.InputError, match="unpickled"):
        again.save("nowhere")
    error = pickle.loads(pickle.dumps(ef.InputError("a", "b", [{"line": 1}], "c")))
    assert (error.message, error.help, error.problems, error.excerpt) == ("a", "b", [{"line": 1}], "c")


def test_models_are_values(root):
    amplitudes, size = [1.0, 1.0, 1.0], [2, 2]
    lattice = ef.Lattice(kind="square", size=size)
    model = ef.Model(ef.Lattice.chain(4), name="hubbard", t=amplitudes, u=1.0).sector(up=1, down=1)
    before = model.to_toml()
    amplitudes[0], size[0] = 50.0, 3
    assert model.to_toml() == before and lattice.section["size"] == [2, 2]
    assert pickle.loads(pickle.dumps(model)).to_toml() == before
    assert copy.deepcopy(model).solve().energies[0] == model.solve().energies[0]
    H = 0.5 * ef.sp(0) * ef.sm(1) + ef.hc
    assert pickle.loads(pickle.dumps(H)).terms == H.terms
    again = pickle.loads(pickle.dumps(lattice))
    assert again.bonds == lattice.bonds
    further = ef.Lattice.square(2, 3, further=[0.5])
    assert len(further.bond_kinds) == len(further.bonds) and set(further.bond_kinds) == {"x", "y", ""}
    # A file whose lattice is swept, and one of Python's.
    assert len(ef.read(root / "examples" / "recipes" / "gap.toml").solve(device="cpu").points) > 1
    swept = ef.Model(ef.Lattice.chain(ef.sweep(4, 6)), name="xxz", spin=0.5, jxy=1.0, jz=1.0).sector(two_sz=0).solve()
    assert abs(swept.points[0].energies[0] + 1.6160254037844386) < 1e-9
    blocked = ef.Model(ef.Lattice.chain(4), ef.sum(ef.X(i) for i in range(4))).forbid(levels=[1, 1], on="bonds")
    assert len(blocked.basis()["states"]) == 8


def test_records_are_values():
    found = heisenberg(8).observables(corner=ef.sz(0) * ef.sz(1) + 0.5 * (ef.sp(0) * ef.sm(1) + ef.hc)).solve(states=2)
    assert abs(found.observables.corner - found.energies[0] / 8) < 1e-9
    assert found == copy.copy(found) and found != heisenberg(6).solve()
    again = pickle.loads(pickle.dumps(found.observables))
    assert again == found.observables and "sz" in dir(again)
    swept = ef.Model(ef.Lattice.chain(4), name="hubbard", t=1.0, u=ef.sweep(0, 4)).sector(up=2, down=2).solve()
    assert swept.points[1]["values"] is not None and not callable(swept.points[1].values)


def test_what_a_call_refuses():
    model = heisenberg(6)
    for keys, words in [
        ({"sectors": "All"}, "sectors"),
        ({"vectors": 1}, "vectors"),
        ({"device": None}, "device"),
        ({"progress": 3}, "progress"),
        ({"checkpoint_every": -1}, "checkpoint_every"),
        ({"resume": True}, "checkpoint"),
        ({"states": None}, "states"),
        ({"states": 2**70}, "64 bits"),
        ({"tolerance": float("nan")}, "finite"),
        ({"solver": b"dense"}, "bytes"),
    ]:
        with pytest.raises(ef.InputError, match=words):
            model.solve(**keys)

    def stop(progress):
        raise ZeroDivisionError("enough")

    lattice = ef.Lattice.chain(18, boundary="periodic")
    long = ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)).sector(two_sz=0)
    with pytest.raises(ZeroDivisionError):
        long.solve(solver="lobpcg", tolerance=1e-15, max_iterations=10**6, device="cpu", progress=stop)
    assert model.solve().converged
    for call in (lambda: ef.sz(-1), lambda: ef.sz(2**32), lambda: ef.Model(4, ef.sz(0)), lambda: ef.Model(lattice, 3)):
        with pytest.raises(ef.InputError):
            call()


def test_ctrl_c_ends_a_run_and_a_later_one_goes_on(tmp_path):
    lattice = ef.Lattice.chain(20, boundary="periodic")
    model = ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)).sector(two_sz=0)
    for keys in ({}, {"checkpoint": tmp_path / "state"}):
        pressed = []

        def press(progress, pressed=pressed):
            # While it iterates, by another thread, which the run knows nothing of.
            if not pressed:
                pressed.append(threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)))
                pressed[0].start()

        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            model.solve(solver="lobpcg", tolerance=1e-15, max_iterations=10**6, device="cpu", progress=press, **keys)
        assert time.monotonic() - started < 30
    assert heisenberg(8).solve().converged
    # The rest of the run that was saved.
    found = model.solve(solver="lobpcg", device="cpu", checkpoint=tmp_path / "state", resume=True, max_iterations=10**6)
    assert abs(found.energies[0] + 8.904386529876) < 1e-6


def test_threads_solve_beside_each_other():
    models = [heisenberg(8), heisenberg(10), heisenberg(12)]
    alone = [model.solve().energies[0] for model in models]
    found = [0.0] * 3

    def work(k):
        found[k] = models[k].solve().energies[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert np.allclose(found, alone, atol=1e-10)


PROGRAM = """
import os, sys, time
started = time.perf_counter()
import eigenforge as ef
seconds = time.perf_counter() - started
maps = open("/proc/self/maps").read()
assert "libcuda" not in maps and "nvrtc" not in maps, "CUDA was loaded at import"
assert seconds < 3, seconds  # 0.2 s on a quiet machine
H = ef.sum(ef.sdots(i, i + 1) for i in range(3))
model = ef.Model(ef.Lattice.chain(4), H)
model.solve(device="cpu")
child = os.fork()
if child == 0:
    try:
        model.solve(device="cpu")
    except ef.RunError as error:
        os._exit(0 if "fork" in str(error) else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
print("as it should be")
"""


def test_import_is_light_and_forks_are_refused():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ended.stdout.strip() == "as it should be", ended.stderr


def test_nothing_but_python_is_needed(root, command, tmp_path):
    bare = {"PATH": os.path.dirname(sys.executable), "HOME": str(tmp_path)}
    bare |= {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if name in os.environ}
    file = root / "examples" / "models" / "pxp.toml"
    ended = subprocess.run([*command, "solve", "--json", str(file)], capture_output=True, text=True, env=bare)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["energies"] == ef.read(file).solve().to_dict()["energies"]


def test_the_command_has_its_exit_codes(command, tmp_path):
    assert run(command, "--version").stdout.split()[0] == "eigenforge"
    missing = run(command, "solve", "--json", tmp_path / "missing.toml", check=False)
    assert missing.returncode == 2 and json.loads(missing.stdout)["kind"] == "input"
