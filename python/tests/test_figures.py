"""Tables and figures of results: what is drawn are the numbers of the report."""

import numpy as np
import pytest

import eigenforge as ef
from eigenforge import tables, zone
from eigenforge.figures import structure_factor_at

TRIANGLE = np.array([[1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def test_cells_have_the_volume_of_the_lattice():
    rng = np.random.default_rng(3)
    for vectors in [np.eye(2), TRIANGLE, np.array([[1.0, 0.0], [7.0, 0.3]]), *rng.standard_normal((20, 2, 2))]:
        corners = zone.cell_polygon(vectors)
        assert np.isclose(area(corners), abs(np.linalg.det(vectors)), rtol=1e-9)
    assert len(zone.cell_polygon(TRIANGLE)) == 6 and len(zone.cell_polygon(np.eye(2))) == 4
    # A corner of the hexagon belongs to three cells, an edge's middle to two.
    b = 2 * np.pi * np.linalg.inv(TRIANGLE).T
    places, numbers = zone.copies_in_cell(np.array([[0.0, 0.0], (b[0] + 2 * b[1]) / 3, b[0] / 2]), b)
    assert np.bincount(numbers).tolist() == [1, 3, 2]
    turns = (places - np.array([[0.0, 0.0], (b[0] + 2 * b[1]) / 3, b[0] / 2])[numbers]) @ np.linalg.inv(b)
    assert np.allclose(turns, np.round(turns))


def test_lattices_are_arrays():
    lattice = ef.Lattice(kind="triangular", size=[[2, 4], [-2, 2]], boundary="periodic")
    assert lattice.bond_sites.shape == (36, 2) and (lattice.bond_weights == 1).all()
    assert [tuple(pair) for pair in lattice.bond_sites] == [bond[:2] for bond in lattice.bonds]
    assert lattice.periods.tolist() == [[2, 4], [-2, 2]]
    assert np.allclose(lattice.primitive_vectors @ lattice.reciprocal_vectors.T, 2 * np.pi * np.eye(2))
    # A wave of every momentum is the same after a period.
    turns = lattice.wavevectors @ (lattice.periods @ lattice.primitive_vectors).T / (2 * np.pi)
    assert lattice.wavevectors.shape == (12, 2) and np.allclose(turns, np.round(turns))
    assert np.allclose([momentum.cartesian for momentum in lattice.record.momenta], lattice.wavevectors)
    edges = ef.Lattice.from_edges(3, [(0, 1), (1, 2, 0.5)])
    assert edges.periods.shape == (0, 2) and edges.bond_weights.tolist() == [1.0, 0.5]


def ring(sites=8, **sector):
    return ef.Model(ef.Lattice.chain(sites, boundary="periodic"), name="heisenberg", j=1.0).sector(**sector or {"two_sz": 0})


@pytest.fixture(scope="module")
def runs():
    """One of each kind."""
    square = ef.Model(ef.Lattice.square(2, 4, boundary="periodic"), name="heisenberg", j=1.0).sector(two_sz=0)
    hubbard = ef.Model(ef.Lattice.chain(3), name="hubbard", t=1.0, u=ef.sweep(0, 2, 4)).sector(up=1, down=1)
    line = ef.Model(ef.Lattice.chain(6), name="heisenberg", j=1.0).sector(two_sz=0)
    start = {"levels": [0, 1] * 3}
    omega = {"from": 0.0, "to": 5.0, "points": 11}
    return {
        "tower": ring().solve(sectors="all", states=3, device="cpu"),
        "swept": hubbard.solve(states=2, device="cpu"),
        "square": square.solve(states=2, solver="lobpcg", device="cpu"),
        "magnetised": ring(two_sz="all").solve(device="cpu"),
        "chain": line.dmrg(states=16).solve(device="cpu"),
        "spectrum": ring().spectrum(of="Sz", omega=omega, eta=0.1, device="cpu"),
        "thermal": ring().without("sector").thermal(temperatures=[0.5, 1.0, 20.0], device="cpu"),
        "evolved": line.evolve(start=start, until=1.0, times=4, record=["energy", "sz"], entropy=[[0, 1]], device="cpu"),
        "evolved_chain": line.dmrg(states=8).evolve(start=start, until=0.2, times=3, record=["sz"], device="cpu"),
    }


def test_structure_factors_of_cells_with_several_sites():
    # Neighbours of kagome sites lie within a cell too: S(q) is not the same a reciprocal vector further, but after a turn by 60 degrees.
    kagome = ef.Lattice.kagome(2, 2, boundary="periodic")
    found = ef.Model(kagome, name="heisenberg", j=1.0).sector(two_sz=0).solve(device="cpu", vectors=False, solver="lobpcg").to_dict()
    q = np.array([entry["cartesian"] for entry in found["structure_factor"]["values"]])
    expected = [entry["value"] for entry in found["structure_factor"]["values"]]
    assert np.allclose(structure_factor_at(found, q), expected, atol=1e-9)
    places, numbers = zone.copies_in_cell(q, kagome.reciprocal_vectors)
    turn = np.array([[0.5, -np.sqrt(3) / 2], [np.sqrt(3) / 2, 0.5]])
    assert np.allclose(structure_factor_at(found, places), structure_factor_at(found, places @ turn.T), atol=1e-8)


def test_tables_have_every_number(runs):
    levels = tables.table(runs["tower"].to_dict(), "levels")
    # Levels that fit into the sectors, with the momenta that share them.
    assert {(row["k"], row["s"]) for row in levels} >= {(0, 0.0), (4, 1.0), (3, 1.0), (5, 1.0)}
    assert all(row["s_s_plus_1"] == row["s"] * (row["s"] + 1) and row["above"] >= 0 for row in levels)
    swept = tables.table(runs["swept"].to_dict(), None)
    assert [row["u"] for row in swept] == [0, 2, 4]
    assert [row["energy_1"] for row in swept] == [point.energies[1] for point in runs["swept"].points]
    assert tables.table(runs["square"].to_dict(), None)[1]["energy"] == runs["square"].energies[1]
    assert len(tables.table(runs["square"].to_dict(), "history")) == len(runs["square"].history)
    assert [row["left_sites"] for row in tables.table(runs["chain"].to_dict(), "cuts")] == [1, 2, 3, 4, 5]
    spectrum = tables.table(runs["spectrum"].to_dict(), None)
    assert len(spectrum) == 11 * len(runs["spectrum"].curves) and spectrum[11]["value"] == runs["spectrum"].curves[1].curve[0]
    thermal = tables.table(runs["thermal"].to_dict(), None)
    assert [row["temperature"] for row in thermal] == [0.5, 1.0, 20.0] and {"energy", "energy_error"} <= thermal[0].keys()
    evolved = tables.table(runs["evolved"].to_dict(), None)
    assert evolved[0]["sz_0"] == -0.5 and {"t", "energy", "S_0_1"} <= evolved[0].keys()
    with pytest.raises(ef.InputError, match="a table of points"):
        tables.table(runs["swept"].to_dict(), "rows")


def test_notebooks_show_results(runs):
    for result in runs.values():
        assert result._repr_html_().startswith("<pre>") and "<th" in ef.Record(result.to_dict())._repr_html_()
    assert "&lt;" in ef.Record({"a": "<b>", "list": [[1], [2, 3]], "none": None})._repr_html_()
    assert "chain" in ring()._repr_html_() and "chain" in ef.Lattice.chain(3)._repr_html_()


def test_frames_are_the_tables(runs):
    pytest.importorskip("pandas")
    frame = runs["tower"].to_pandas("levels")
    assert np.allclose(frame["s_s_plus_1"], frame["s"] * (frame["s"] + 1))
    assert list(runs["evolved"].to_pandas()["t"]) == list(runs["evolved"].times)


def test_figures_show_the_numbers(runs):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    expected = {
        "tower": ["dispersion", "tower"],
        "swept": ["energies"],
        "square": ["energies", "tower", "structure_factor", "convergence"],
        "magnetised": ["magnetisation", "energies"],
        "chain": ["convergence", "entropies", "energies"],
        "spectrum": ["spectrum"],
        "thermal": ["thermal"],
        "evolved": ["evolution"],
        "evolved_chain": ["evolution"],
    }
    assert {name: result.figures for name, result in runs.items()} == expected
    for result in runs.values():
        for figure in result.figures:
            for ax in np.ravel(result.plot(figure)):
                ax.figure.canvas.draw()
        pyplot.close("all")
    tower = runs["tower"].plot("tower")
    drawn = {float(y) for line in tower.lines for y in line.get_ydata()}
    assert drawn == {level.energy for level in runs["tower"].levels}
    lines = runs["swept"].plot().lines
    assert [list(line.get_ydata()) for line in lines] == [[point.energies[k] for point in runs["swept"].points] for k in (0, 1)]
    ladder = ef.Model(ef.Lattice.ladder(4, 2, boundary="periodic"), name="heisenberg", j=1.0).sector(two_sz=0).solve(device="cpu")
    lines = ladder.plot("structure_factor").lines
    assert [list(line.get_xdata()) for line in lines] == [[0.0, 0.5, 1.0, 1.5]] * 2
    assert np.isclose(max(lines[1].get_ydata()), lines[1].get_ydata()[2])  # at (π, π)
    own = pyplot.subplots()[1]
    assert runs["chain"].plot("entropies", own) is own and list(own.lines[0].get_ydata()) == [cut.entropy for cut in runs["chain"].cuts]
    assert ef.Lattice.square(3, 2, boundary="periodic").plot().figure is not None
    for name, words in (("orbitals", "a figure of"), ("tower", "no figure")):
        with pytest.raises(ef.InputError, match=words):
            runs["swept"].plot(name)
    with pytest.raises(ef.InputError, match="no positions"):
        ef.Lattice.from_edges(2, [(0, 1)]).plot()


def test_progress_is_a_line_or_a_bar(capsys, monkeypatch):
    model = ring(16)
    assert model.solve(solver="lobpcg", device="cpu", progress=True).converged
    line = capsys.readouterr().err
    assert "lobpcg" in line and "E = " in line and line.endswith("\r")
    model.solve(solver="lobpcg", device="cpu", progress=False)
    model.solve(solver="lobpcg", device="cpu")
    assert not capsys.readouterr().err
    pytest.importorskip("tqdm")
    monkeypatch.setattr("eigenforge.progress.is_notebook", lambda: True)
    model.solve(solver="lobpcg", device="cpu", progress=True)
    assert "lobpcg" in capsys.readouterr().err
