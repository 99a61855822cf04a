"""The code of the pages runs as it is written, on smaller lattices."""

import importlib.util
import re

import numpy as np
import pytest

import eigenforge as ef


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def smaller(code: str) -> str:
    return code.replace("square(4, 4", "square(2, 2").replace("up=4, down=4", "up=2, down=2")


class Pauli:
    """As OpenFermion's QubitOperator."""

    terms = {((0, "X"), (1, "X")): 1.0}


def test_the_models_of_the_pages(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    ways = next(block for block in blocks(root / "docs" / "python.md") if "from_openfermion" in block)
    for code in (blocks(root / "README.md")[0], blocks(root / "python" / "README.md")[0]):
        names: dict = {}
        exec(smaller(code), names)
        assert names["r"].converged and abs(names["r"].vectors[0] @ names["r"].vectors[0] - 1) < 1e-12
    molecule = "tests/data/ci/H2O_631g_fc_0.96.FCIDUMP"
    lists = [["zz", [[1.0, 0, 1]]]]
    exec(ways.replace("h2o.FCIDUMP", molecule), {"ef": ef, "lat": ef.Lattice.chain(4), "operator": Pauli(), "static_list": lists})


def test_the_ten_cells(root, monkeypatch):
    page = (root / "docs" / "python.md").read_text()
    section = page[page.index("## Ten cells") :]
    cells = re.findall(r"```python\n(.*?)```", section[: section.index("\n## ")], re.S)
    assert len(cells) == 10
    if importlib.util.find_spec("matplotlib"):
        pytest.importorskip("matplotlib").use("Agg")
    names: dict = {}
    for cell in cells:
        for package, word in (("matplotlib", ".plot("), ("pandas", ".to_pandas("), ("scipy", "scipy")):
            if importlib.util.find_spec(package) is None:
                cell = "".join(line for line in cell.splitlines(keepends=True) if word not in line)
        exec(smaller(cell), names)
    assert abs(names["ground"].energies[0] + 13.997315618) < 1e-6  # Bethe ansatz
    assert abs(names["tower"].levels[0].energy + 3.651093408937) < 1e-9
    assert np.isclose(names["r"].observables.neighbours, names["tower"].levels[0].energy / 8)


def test_the_operator_of_the_page(root):
    pytest.importorskip("scipy")
    code = next(block for block in blocks(root / "docs" / "python.md") if "op.matvec(x, out=y)" in block)
    lattice = ef.Lattice.chain(8)
    model = ef.Model(lattice, ef.sum(ef.sdots(i, j) for i, j, w in lattice.bonds)).sector(two_sz=0)
    x = np.ones(70)
    names = {"model": model, "x": x, "y": np.empty(70)}
    exec(code, names)
    assert np.allclose(names["y"], model.to_scipy() @ x)


def test_the_molecule_of_the_page(root):
    pytest.importorskip("pyscf")
    code = next(block for block in blocks(root / "docs" / "python.md") if "FCISolver" in block)
    names: dict = {}
    exec(code.replace("cc-pvdz", "sto-3g"), names)
    assert names["mc"].converged
